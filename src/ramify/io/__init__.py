"""Files <-> arrays and names."""

from ._table import InputError, Table
from .anndata_files import read_anndata
from .hashing import file_hash
from .tables import missing_by_column, missing_message, read_table
from .writing import replacing, write_table

__all__ = [
    "InputError",
    "Table",
    "file_hash",
    "missing_by_column",
    "missing_message",
    "read_anndata",
    "read_table",
    "replacing",
    "write_table",
]
