"""Tools for AnnData objects: they read and write slots in place, as scanpy's do."""

from ._association import test_association
from ._bootstrap import bootstrap
from ._fit import ddrtree, drtree, spl
from ._order import branches, pseudotime
from ._place import place
from ._trajectory import trajectory

__all__ = [
    "bootstrap",
    "branches",
    "ddrtree",
    "drtree",
    "place",
    "pseudotime",
    "spl",
    "test_association",
    "trajectory",
]
