"""No package reads the underscored attributes of another one's objects."""

import ast
from collections import defaultdict

from .house import PACKAGE

# Parts of a NamedTuple's public interface.
NAMED_TUPLE = {"_replace", "_asdict", "_fields", "_make"}

# What differs between versions of libraries is done here, also what they keep to themselves.
HOME_OF_VERSIONS = "_compat"

# argparse has no public list of commands and options, which the completion of a shell is made from.
LIBRARIES = {("cli/completion.py", "_actions"), ("cli/completion.py", "_SubParsersAction")}


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
    found = [
        (str(path.relative_to(PACKAGE)), name)
        for path, tree in trees.items()
        for name in reads(tree)
        if package_of(path) != HOME_OF_VERSIONS and name not in own[package_of(path)]
    ]
    assert [read for read in found if read not in LIBRARIES] == []
