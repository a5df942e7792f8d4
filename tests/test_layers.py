"""Five layers: a module imports only from its own layer or from one above it."""

import ast
from pathlib import Path

import branchwise

LAYERS = {
    "foundations": [
        "_compat", "_typing", "_messages", "_parallel", "_memory", "_kdtree", "_writing", "data",
    ],
    "mathematics": ["linalg", "neighbors", "graph", "structures", "solvers"],
    "estimators": ["estimators", "preprocessing", "model_selection", "metrics", "datasets"],
    "analysis": ["trajectory", "pipeline"],
    "interfaces": [
        "io", "persistence", "plotting", "report", "scverse", "cli", "__main__",
    ],
}  # fmt: skip
NUMBER = {module: k for k, modules in enumerate(LAYERS.values()) for module in modules}
PACKAGE = Path(branchwise.__file__).parent
# What people look for on the object itself (`save`, `to_html`, `checkpoint=`): these methods hand
# their object to a layer below, and import it when they are called. Nothing else may.
FACADES = {
    "estimators/_base": {"report", "persistence"},
    "estimators/ddrtree": {"persistence"},
    "estimators/ddrtree_dask": {"persistence"},
    "preprocessing/core": {"persistence"},
    "trajectory/export": {"report", "persistence"},
    "pipeline": {"persistence"},
}


def modules_of(path):
    """The parts of a file's dotted name within the package, and how deep its package lies."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts, len(parts)


def imported_modules(path):
    """Top-level modules of the package that a file imports, anywhere in it."""
    depth = modules_of(path)[1]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            module = (node.module or "").split(".")[0]
            yield from [module] if module else [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("branchwise."):
            yield node.module.split(".")[1]


def test_every_module_has_a_layer():
    modules = {p.stem for p in PACKAGE.glob("*.py")} | {
        p.parent.name for p in PACKAGE.glob("*/*.py")
    }
    assert modules - {"__init__", PACKAGE.name} == set(NUMBER)


def test_modules_import_only_from_their_own_layer_or_above():
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        parts, _ = modules_of(path)
        if parts == ("__init__",):
            continue
        for module in imported_modules(path):
            if module == "__version__" or module in FACADES.get("/".join(parts), ()):
                continue
            if NUMBER[module] > NUMBER[parts[0]]:
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
