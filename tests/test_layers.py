"""Five layers: a module imports only from its own layer or from one above it."""

import ast
import re
from pathlib import Path

from .house import LAYER, LAYERS, PACKAGE, PICTURE, drawn, files, imported

ROOT = Path(__file__).parents[1]
# What people look for on the object itself (`save`, `to_html`, `checkpoint=`): these methods hand
# their object to a layer below, and import it when they are called. Nothing else may.
FACADES = {
    "estimators/base": {"report", "persistence"},
    "estimators/ddrtree": {"persistence"},
    "estimators/ddrtree_dask": {"persistence"},
    "preprocessing/core": {"persistence", "placing"},
    "trajectory/core": {"report", "persistence"},
    "pipeline": {"persistence"},
}


def test_every_module_has_a_layer():
    modules = {p.stem for p in PACKAGE.glob("*.py")} | {
        p.parent.name for p in PACKAGE.glob("*/*.py")
    }
    assert modules - {"__init__", PACKAGE.name} == set(LAYER)


def test_modules_import_only_from_their_own_layer_or_above():
    wrong = []
    for path, parts in files():
        if parts == ("__init__",):
            continue
        for module in imported(path):
            if module == "__version__" or module in FACADES.get("/".join(parts), ()):
                continue
            if LAYER[module] > LAYER[parts[0]]:
                wrong.append(f"{'/'.join(parts)} imports {module}")
    assert wrong == []


def test_solvers_do_not_print_plot_or_know_estimators():
    for path in [p for name in LAYERS["mathematics"] for p in PACKAGE.glob(f"{name}/*.py")]:
        tree = ast.parse(path.read_text("utf-8"))
        calls = {
            n.func.id
            for n in ast.walk(tree)
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
        }
        assert "print" not in calls, path
        names = {
            a.name.split(".")[0]
            for n in ast.walk(tree)
            if isinstance(n, ast.Import)
            for a in n.names
        }
        assert "matplotlib" not in names, path


def test_the_map_shows_the_house_as_it_is():
    """If it does not: `make map` draws it again."""
    assert PICTURE.read_text("utf-8") == drawn()


def test_contributing_names_files_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = set(re.findall(r"`((?:[\w.]+/)+(?:[\w.]+\.(?:py|js|md))?)`", text))
    assert len(named) > 40
    named.discard("web/src/panels/NAME.js")  # of a panel that is yet to be written
    homes = [ROOT, PACKAGE, ROOT / "web" / "src", ROOT / "paper" / "src" / "branchwise_paper"]
    wrong = [name for name in named if not any((home / name).exists() for home in homes)]
    assert wrong == []
