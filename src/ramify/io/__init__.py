"""Files <-> arrays and names."""

from .states import ModelFileError, read_state, write_state
from .writing import replacing, replacing_bytes, write_table

__all__ = [
    "ModelFileError",
    "read_state",
    "replacing",
    "replacing_bytes",
    "write_state",
    "write_table",
]
