"""Tables of Arrow, which Parquet and Feather hold, as data frames."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._compat import assigned, import_extra
from ..data.categories import INEXACT
from ..data.errors import InputError


def frame_of(table: Any, names: Sequence[str]) -> Any:
    """The columns under these names, without what pandas has noted about its index."""
    arrow = import_extra("pyarrow", "reading Parquet", "cli")
    for j, field in enumerate(table.schema):
        if arrow.types.is_decimal(field.type):
            table = table.set_column(j, field.name, table[j].cast(arrow.float64()))
    frame = table.to_pandas(ignore_metadata=True).set_axis(list(names), axis=1)
    long = {names[j]: table[j] for j in range(table.num_columns) if is_long(table[j])}
    objects = {name: column.to_pandas(integer_object_nulls=True) for name, column in long.items()}
    return assigned(frame, objects)


def is_long(column: Any) -> bool:
    """Whether a column of whole numbers has gaps, and more digits than decimals keep.

    Examples
    --------
    >>> import pyarrow
    >>> from branchwise.io.arrow import is_long
    >>> is_long(pyarrow.chunked_array([[1, None]])), is_long(pyarrow.chunked_array([[2**53, None]]))
    (False, True)
    """
    arrow = import_extra("pyarrow", "reading Parquet", "cli")
    compute = import_extra("pyarrow.compute", "reading Parquet", "cli")
    if not column.null_count or not arrow.types.is_integer(column.type):
        return False
    ends = compute.min_max(column).as_py().values()
    return any(abs(end or 0) >= INEXACT for end in ends)


@contextmanager
def readable(path: Path, kind: str, extra: str) -> Iterator[None]:
    """One sentence for the many ways in which a file can be damaged."""
    arrow = import_extra("pyarrow", f"reading {kind}", extra)
    try:
        yield
    except InputError:
        raise
    except (arrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).split("\n")[0].rstrip(". ")
        raise InputError(
            f"{path} cannot be read as {kind} ({reason}); it is cut short, damaged or of another "
            "format: write it again."
        ) from error
