"""Tables out of files."""

from ..data.table import InputError, Table, UnknownNameError
from .anndata import read_anndata
from .tables import file_hash, read_table

__all__ = ["InputError", "Table", "UnknownNameError", "file_hash", "read_anndata", "read_table"]
