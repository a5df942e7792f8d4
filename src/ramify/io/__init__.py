"""Files <-> arrays and names."""

from ._table import InputError, Table, UnknownNameError
from .anndata_files import read_anndata
from .hashing import file_hash
from .states import ModelFileError, Unsound, read_state, write_state
from .tables import missing_by_column, missing_message, read_table
from .writing import replacing, replacing_bytes, write_table

__all__ = [
    "InputError",
    "ModelFileError",
    "Table",
    "UnknownNameError",
    "Unsound",
    "file_hash",
    "missing_by_column",
    "missing_message",
    "read_anndata",
    "read_state",
    "read_table",
    "replacing",
    "replacing_bytes",
    "write_state",
    "write_table",
]
