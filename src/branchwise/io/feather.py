"""Feather: a table of Arrow in one file (of the second version of the format)."""

from pathlib import Path
from typing import Any

from .._compat import import_extra
from ..data.errors import InputError
from ..data.selection import Selection
from ..data.table import check_has_rows, check_unique, pandas_for_tables
from .arrow import frame_of, readable
from .frames import Framed
from .safety import check_stored


def frame_of_feather(path: Path, selection: Selection) -> Framed:
    """Read a Feather file; what is a number there is a feature."""
    pandas_for_tables()
    with readable(path, "Feather", "formats"):
        table = read_arrow(path)
        check_unique(table.column_names, f"column names of {path}", "rename them")
        check_has_rows(table.num_rows, str(path))
        frame = frame_of(table, table.column_names)
    return Framed(frame)


def read_arrow(path: Path) -> Any:
    """The table, batch by batch, as long as its size is plausible."""
    arrow = import_extra("pyarrow", "reading Feather", "formats")
    batches, size, stored = [], 0, path.stat().st_size
    with arrow.OSFile(str(path)) as file, arrow.ipc.open_file(file) as reader:
        for k in range(reader.num_record_batches):
            batch = reader.get_batch(k)
            size += batch.nbytes
            check_stored((size,), 1, stored, str(path))
            batches.append(batch)
        if not batches:
            raise InputError(f"{path} has no samples; it needs at least one row of values.")
        return arrow.Table.from_batches(batches, reader.schema)
