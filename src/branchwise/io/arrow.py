"""Tables of Arrow, which Parquet and Feather hold, as data frames."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._compat import import_extra
from ..data.errors import InputError


def frame_of(table: Any, names: Sequence[str]) -> Any:
    """The columns under these names, without what pandas has noted about its index."""
    arrow = import_extra("pyarrow", "reading Parquet", "cli")
    for j, field in enumerate(table.schema):
        if arrow.types.is_decimal(field.type):
            table = table.set_column(j, field.name, table[j].cast(arrow.float64()))
    return table.to_pandas(ignore_metadata=True).set_axis(list(names), axis=1)


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
