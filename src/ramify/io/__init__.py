"""Files <-> arrays and names."""

from .states import ModelFileError, Unsound, read_state, write_state
from .writing import replacing, replacing_bytes, write_table

__all__ = [
    "ModelFileError",
    "Unsound",
    "read_state",
    "replacing",
    "replacing_bytes",
    "write_state",
    "write_table",
]
