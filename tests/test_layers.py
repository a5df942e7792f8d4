"""Data flow downwards: a module imports only from layers above its own."""

import ast
from pathlib import Path

import ramify

LAYERS = [
    "_compat",
    "_typing",
    "_messages",
    "parallel",
    "memory",
    "kdtree",
    "io",
    "rows",
    "_validation",
    "chunks",
    "landmarks",
    "kernels",
    "neighbors",
    "graph",
    "datasets",
    "linalg",
    "structures",
    "solvers",
    "estimators",
    "baselines",
    "model_selection",
    "preparation",
    "categories",
    "metrics",
    "trajectory",
    "workflow",
    "loading",
    "report",
    "plotting",
    "scverse",
    "experiments",
    "cli",
    "__main__",
]
PACKAGE = Path(ramify.__file__).parent
# Methods of these files hand their object to a layer below, and import it when they are called:
# `to_html`, which pandas has taught people to look for on the object itself. Nothing else may.
FACADES = {"estimators/_base": {"report"}, "trajectory/export": {"report"}}


def imported_layers(path):
    """Top-level modules of the package that a file imports, anywhere in it."""
    depth = len(path.relative_to(PACKAGE).parts)
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            module = (node.module or "").split(".")[0]
            yield from [module] if module else [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ramify."):
            yield node.module.split(".")[1]


def test_every_module_has_a_layer():
    modules = {p.stem for p in PACKAGE.glob("*.py")} | {
        p.parent.name for p in PACKAGE.glob("*/*.py")
    }
    assert modules - {"__init__", PACKAGE.name} == set(LAYERS)


def test_modules_import_only_from_layers_above():
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts == ("__init__",):
            continue
        for layer in imported_layers(path):
            if layer == "__version__" or layer in FACADES.get("/".join(parts), ()):
                continue
            if LAYERS.index(layer) > LAYERS.index(parts[0]):
                wrong.append(f"{'/'.join(parts)} imports {layer}")
    assert wrong == []


def test_solvers_do_not_print_plot_or_know_estimators():
    for path in [
        p for layer in ("graph", "structures", "solvers") for p in PACKAGE.glob(f"{layer}/*.py")
    ]:
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
