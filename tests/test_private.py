"""No package reads the underscored attributes of another one's objects."""

import ast
from collections import Counter, defaultdict

from .house import PACKAGE

# Parts of a NamedTuple's public interface.
NAMED_TUPLE = {"_replace", "_asdict", "_fields", "_make"}

# What differs between versions of libraries is done here, also what they keep to themselves.
HOME_OF_VERSIONS = "_compat"

# Reads that are still there. No line may be added.
LEFT = {
    ("cli/completion.py", "_actions"): 2,
    ("cli/completion.py", "_SubParsersAction"): 1,
    ("cli/fit.py", "_parameter_constraints"): 1,
    ("persistence/checkpoints.py", "_parameter_constraints"): 1,
    ("persistence/estimators.py", "_known_keys"): 2,
    ("persistence/estimators.py", "_evaluates_kernel"): 4,
    ("persistence/estimators.py", "_kernel_samples"): 4,
    ("persistence/estimators.py", "_known_rows"): 1,
    ("persistence/estimators.py", "_is_precomputed"): 1,
    ("persistence/estimators.py", "_set_keys"): 1,
    ("persistence/estimators.py", "_set_tree"): 1,
    ("persistence/estimators.py", "_searches_sparse"): 1,
    ("persistence/estimators.py", "_index"): 1,
    ("persistence/estimators.py", "_search"): 2,
    ("persistence/estimators.py", "_training_data"): 1,
    ("persistence/preprocessing.py", "_names"): 1,
    ("pipeline.py", "_for_workers"): 1,
    ("pipeline.py", "_meta"): 1,
    ("preprocessing/dask.py", "_meta"): 3,
    ("report/embedded_model.py", "_kernel_samples"): 3,
    ("report/embedded_model.py", "_known_keys"): 7,
    ("report/embedded_model.py", "_known_rows"): 3,
    ("report/embedded_model.py", "_searches_sparse"): 1,
    ("report/embedded_model.py", "_search"): 2,
    ("report/embedded_model.py", "_edge_share"): 1,
}


def is_private(name):
    return name.startswith("_") and not name.startswith("__") and name not in NAMED_TUPLE


def package_of(path):
    """The sub-package of a file, or the module at the top."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def defined(tree):
    """Underscored names that a file gives to functions, classes and attributes."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_own(node):
            names.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return {name for name in names if is_private(name)}


def is_own(node):
    return isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}


def reads(tree):
    """Underscored attributes that a file reads or sets, of anything but `self` and `cls`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and not is_own(node):
            yield node.attr


def test_no_package_reads_private_attributes_of_another():
    trees = {path: ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}
    own = defaultdict(set)
    for path, tree in trees.items():
        own[package_of(path)] |= defined(tree)
    found = Counter(
        (str(path.relative_to(PACKAGE)), name)
        for path, tree in trees.items()
        for name in reads(tree)
        if package_of(path) != HOME_OF_VERSIONS and name not in own[package_of(path)]
    )
    assert {key: n for key, n in found.items() if n > LEFT.get(key, 0)} == {}
