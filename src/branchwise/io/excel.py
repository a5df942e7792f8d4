"""Sheets of Excel: typed cells, of formulas their values."""

import datetime
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .._compat import import_extra
from .._messages import listed, setting
from ..data.categories import SPREADSHEET_ERRORS
from ..data.cells import look_at_text
from ..data.dates import in_usual_unit
from ..data.errors import InputError
from ..data.selection import Selection
from ..data.table import check_known, check_unique, pandas_for_tables
from .frames import Framed
from .safety import check_stored, check_zip


def frame_of_excel(path: Path, selection: Selection, *, sheet: str | None = None) -> Framed:
    """Read one sheet, by default the first; its first row that is not empty names the columns."""
    source, rows = rows_of_excel(path, sheet)
    # Numbers stored as text are a slip there, and no type that somebody chose.
    return Framed(frame_of_rows(rows, source, path), typed=False)


def rows_of_excel(path: Path, sheet: str | None) -> tuple[str, list[list[Any]]]:
    """The name of a sheet and the file, and the rows that are not empty."""
    pandas_for_tables()
    check_zip(path)
    with opened(path) as book:
        names = book.sheetnames
        name = names[0] if sheet is None else sheet
        check_known([name], names, str(path), "sheet")
        # What the file says of its size is not to be trusted.
        book[name].reset_dimensions()
        rows = [trimmed(row) for row in book[name].iter_rows(values_only=True)]
    if sheet is None and len(names) > 1:
        warnings.warn(
            f"{path} has {len(names)} sheets, and the first, {name!r}, was read; another one "
            f"is read with {setting('sheet', names[1])}: {listed(map(repr, names[1:]), 10)}.",
            stacklevel=2,
        )
    return f"sheet {name!r} of {path}", [row for row in rows if row]


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The sheets of a file; what is damaged becomes one sentence."""
    openpyxl = import_extra("openpyxl", "reading .xlsx", "formats")
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            # Of styles, pictures and rules that are not read.
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
            yield book
            book.close()
    except (InputError, ImportError):
        raise
    # A damaged file fails anywhere in openpyxl, with errors of any type.
    except Exception as error:
        reason = " ".join(str(error).split())[:200].rstrip(". ") or type(error).__name__
        raise InputError(
            f"{path} cannot be read as an Excel file ({reason}); it is cut short, damaged or of "
            "another format: save it again as .xlsx, or as CSV."
        ) from error


def trimmed(row: Sequence[Any]) -> list[Any]:
    """The cells of a row up to the last that is not empty."""
    cells = [None if cell in SPREADSHEET_ERRORS else cell for cell in row]
    while cells and (cells[-1] is None or (isinstance(cells[-1], str) and not cells[-1].strip())):
        cells.pop()
    return cells


def frame_of_rows(rows: list[list[Any]], source: str, path: Path) -> Any:
    """The rows below the header as columns of their types."""
    if not rows:
        raise InputError(f"{source} is empty; a table has a header and at least one row.")
    header, *cells = rows
    if not cells:
        raise InputError(f"{source} has a header but no rows; it needs at least one sample.")
    width = max(map(len, cells))
    # One cell far off would ask for room for all between.
    check_stored((len(cells), width), 8, path.stat().st_size, source)
    numbers = [cell for cell in header if isinstance(cell, int | float)]
    if len(numbers) == len(header) and numbers != list(range(len(numbers))):
        raise InputError(
            f"the first row of {source} holds numbers where names of columns should be; add a "
            "row with names."
        )
    names = ["" if cell is None else str(cell).strip() for cell in header]
    names += [""] * (width - len(names))
    columns = {}
    check_unique([name for name in names if name], f"column names of {source}", "rename them")
    for j, name in enumerate(names):
        values = [row[j] if j < len(row) else None for row in cells]
        if name or (j == 0 and any(value is not None for value in values)):
            columns[name] = typed_column(values)
        elif any(value is not None for value in values):
            raise InputError(
                f"column {j + 1} of {source} has no name; give it one. The first row that is not "
                "empty names the columns: remove titles and remarks above it."
            )
    return pandas_for_tables().DataFrame(columns)


def typed_column(values: list[Any]) -> Any:
    """Cells as numbers, truth values, dates or text, whichever they are.

    Numbers beside text are text, of which most may still be meant as numbers.

    Examples
    --------
    >>> from branchwise.io.excel import typed_column
    >>> [typed_column(cells).dtype.kind for cells in ([1, 2.5, None], [True, None], [1, "<5"])]
    ['f', 'O', 'O']
    """
    series = pandas_for_tables().Series
    blank = [isinstance(value, str) and not value.strip() for value in values]
    values = [None if empty else value for value, empty in zip(values, blank, strict=True)]
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int} and None not in values and max(map(abs, values)) < 2**53:
        return series(values, dtype=np.int64)  # names of samples, maybe
    if kinds <= {int, float}:
        return series([np.nan if value is None else float(value) for value in values])
    if kinds <= {bool}:
        return series(values, dtype=bool if None not in values else object)
    if kinds <= {datetime.datetime, datetime.date}:
        return series(in_usual_unit(np.array(values, dtype="datetime64[us]")))
    texts = series([None if value is None else as_text(value) for value in values], dtype=object)
    if kinds == {str}:
        return texts
    numbers = look_at_text(texts, typed=False).numbers
    return texts if numbers is None else series(numbers)


def as_text(value: Any) -> str:
    """A cell as it would be in a text file."""
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ").removesuffix(" 00:00:00")
    return value if isinstance(value, str) else str(value)
