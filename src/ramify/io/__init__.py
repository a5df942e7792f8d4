"""Files <-> arrays and names."""

from .writing import replacing, write_table

__all__ = ["replacing", "write_table"]
