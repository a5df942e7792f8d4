"""Tables out of files."""

from typing import Any

from ..data.table import InputError, Table, UnknownNameError
from .tables import file_hash, read_table

__all__ = ["InputError", "Table", "UnknownNameError", "file_hash", "read_anndata", "read_table"]


def __getattr__(name: str) -> Any:
    """Only whoever reads a whole AnnData file needs the module for it."""
    if name == "read_anndata":
        from .anndata import read_anndata

        return read_anndata
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
