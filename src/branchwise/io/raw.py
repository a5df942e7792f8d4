"""The cells of a table as they are in the file, whatever they are: for a look before a fit."""

import csv
import gzip
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np

from .._compat import import_extra
from ..data.categories import is_empty
from ..data.cells import Odd
from ..data.composed import composed
from ..data.dates import DateOrder
from ..data.errors import InputError, UnknownNameError
from ..data.judging import (
    ODD,
    Column,
    dates_among,
    look_at_columns,
    name_column,
    unvarying,
    worth_telling,
)
from ..data.profile import (
    ANNOTATION,
    EXCLUDED,
    FEATURE,
    ID,
    STOPS,
    ColumnProfile,
    Unreadable,
    Verdict,
    profile_columns,
    profile_matrix,
)
from ..data.selection import EVERYTHING, Selection, selection
from ..data.table import Table, id_names, pandas_for_tables, unique_names
from ..data.unreadable import remedy_of, warn_of_dates, what_of
from . import excel, feather, parquet
from .arrow import frame_of, readable
from .frames import Framed, table_from_frame, warn_of_first, warn_of_words
from .safety import check_path
from .tables import EXCEL, FEATHER, PARQUET, TEXT, Format, find_format, read_frame, read_table
from .text import (
    DECIMAL_COMMA,
    N_SNIFFED,
    Text,
    choose_decimal,
    choose_separator,
    opened,
)
from .text import read_frame as read_text

# Bytes that are read at a time, and looked at for what kind of text it is.
SMALL_PIECE, N_LOOKED_AT = 2**13, 2**16


class Cells(NamedTuple):
    """What is in a file: a frame of cells, or a matrix of numbers with names."""

    source: str
    frame: Any  # None: of a matrix
    X: Any  # None: of a frame
    features: list[str]  # of X
    annotations: Any  # beside X
    verdicts: list[Verdict]  # of the columns of the frame, or of the annotations
    error: InputError | None  # that a fit would stop at
    table: Table | None  # what a fit would see
    notes: list[str]  # of the reader: other sheets, dates that can be read in two ways

    @property
    def names(self) -> list[str]:
        """All columns."""
        if self.frame is not None:
            return [str(name) for name in self.frame.columns]
        beside = [] if self.annotations is None else map(str, self.annotations.columns)
        return [*self.features, *beside]

    @property
    def problem(self) -> str | None:
        """Why a fit would stop."""
        return None if self.error is None else str(self.error)


def read_cells(path: str | Path, **reading: Any) -> Cells:
    r"""Read all cells of a table, also one that `read_table` refuses for what is in it.

    Parameters
    ----------
    path : path
        As for `branchwise.io.read_table`.
    **reading
        The arguments of `read_table`.

    Returns
    -------
    Cells
        An error only where the file cannot be opened at all.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from branchwise.io.raw import read_cells
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "patients.csv"
    >>> _ = path.write_text("crp,crp\n3.5,low\n<5\n")
    >>> found = read_cells(path)
    >>> found.frame.columns.tolist()
    ['crp', 'crp-1']
    >>> found.problem
    "column names of ...patients.csv must be unique, but 'crp' is repeated; rename them."
    """
    path = check_path(path)
    given = {
        name: reading.get(name) for name in ("use_rep", "layer", "sheet", "encoding", "decimal")
    }
    kind = find_format(path, given)
    if not kind.is_frame:
        return read_matrix(path, reading)
    names = ("id", "include", "exclude", "annotate")
    wanted, order = [reading.get(name) for name in names], reading.get("date_order")
    chosen = selection(wanted[0], wanted[1], wanted[2] or (), wanted[3] or (), None)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        framed, error = read_anyhow(path, kind, chosen, given)
        has_names = error is None or isinstance(error, UnknownNameError)
        verdicts, notes = judge(framed, str(path), chosen, order, has_names=has_names)
        asked = chosen.present([str(name) for name in framed.frame.columns])
        warn_of_dates(worth_telling(notes, asked), str(path))
    # Not those of pandas, on rows that are longer than the header by empty cells.
    notes_of = [str(each.message) for each in said if each.category is UserWarning]
    table = None
    if error is None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the same once more, and units: see the columns
                copy = framed._replace(frame=framed.frame.copy(deep=False))
                table = table_from_frame(copy, str(path), chosen, date_order=order)
        except InputError as refused:
            error = refused
    return Cells(str(path), framed.frame, None, [], None, verdicts, error, table, notes_of)


def profile_cells(cells: Cells, encoded: Mapping[str, str] | None = None) -> list[ColumnProfile]:
    r"""The profile of every column, with what a fit would do with it.

    `encoded` has the columns that become features although they are not numbers, and as what.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from branchwise.io.raw import profile_cells, read_cells
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "patients.csv"
    >>> _ = path.write_text("patient,crp,ward\nP1,3.5,A\nP2,<5,B\nP3,1,A\n")
    >>> for found in profile_cells(read_cells(path)):
    ...     print(found.name, found.type, found.fate, found.unreadable)
    patient text id None
    crp mixed stops Unreadable(cell='<5', row=2, n_cells=1, kind='limit')
    ward category annotation None
    """
    encoded = encoded or {}
    frame = cells.frame if cells.frame is not None else cells.annotations
    beside = []
    if frame is not None:
        verdicts = [
            verdict._replace(fate=FEATURE, encoding=encoded[str(name)])
            if str(name) in encoded and verdict.fate in (ANNOTATION, EXCLUDED)
            else verdict
            for name, verdict in zip(frame.columns, cells.verdicts, strict=True)
        ]
        beside = profile_columns(frame, verdicts)
    if cells.X is None:
        return beside
    features = profile_matrix(cells.X, cells.features)
    return [*features, *(replace(p, position=p.position + len(features)) for p in beside)]


# What a fit would do


def judge(
    framed: Framed,
    source: str,
    chosen: Selection,
    date_order: DateOrder,
    *,
    has_names: bool = True,
) -> tuple[list[Verdict], dict[str, str]]:
    """What becomes of each column of a frame, and what there is to say about its dates.

    `has_names` says that the columns can be named in options as they are called here.
    """
    frame = framed.frame
    names = [composed(str(name)) for name in frame.columns]
    frame = frame.set_axis(names, axis=1)
    known = chosen.present([name for name in names if name])
    id = name_column(frame, names, known)
    columns = look_at_columns(frame, names, known, id, typed=framed.typed)
    words = [each.name for each in columns if each.fate == ANNOTATION]
    dates, notes, _ = dates_among(frame[words], date_order)
    odd = [each.looked.odd for each in columns if each.looked.odd is not None and each.fate == ODD]
    fine = [each.name for each in columns if each.fate != ODD]
    odd, same = [main_part(each) for each in odd], unvarying(frame) if odd else []
    remedies = remedies_of(odd, fine if has_names else None, same)
    warn_of_words(columns, source)
    if id is None:
        warn_of_first(frame, names, source, known)
    verdicts = [
        Verdict(ID, judge_id(frame[each.name], each.name, source))
        if each.fate == ID
        else verdict_of(each, dates.get(each.name), remedies, known)
        for each in columns
    ]
    return [v._replace(fate=STOPS) if v.fate == ID and v.remedy else v for v in verdicts], notes


def verdict_of(
    column: Column, dates: Any, remedies: Mapping[str, str], chosen: Selection
) -> Verdict:
    """A column in the words of its profile."""
    looked, unreadable = column.looked, None
    odd = None if looked.odd is None else main_part(looked.odd)
    fate = {ODD: STOPS}.get(column.fate, column.fate)
    if column.name in chosen.exclude:
        fate = EXCLUDED
    if odd is not None and fate == STOPS:
        unreadable = Unreadable(odd.first, odd.row, odd.n_bad, odd.kind)
    return Verdict(
        fate,
        remedies.get(column.name, ""),
        looked.numbers,
        dates,
        looked.is_code,
        () if looked.unit is None else tuple(looked.unit.units),
        unreadable,
    )


def main_part(odd: Odd) -> Odd:
    """A column under the kind that most of its odd cells have.

    Examples
    --------
    >>> from branchwise.data.cells import Odd
    >>> from branchwise.io.raw import main_part
    >>> odd = Odd("crp", "word", 3, 9, "hemolyzed", 1, 9)
    >>> parts = (odd._replace(n_bad=1), odd._replace(kind="limit", n_bad=2, first="<5", row=4))
    >>> main_part(odd._replace(parts=parts))[:6]
    ('crp', 'limit', 3, 9, '<5', 4)
    """
    if not odd.parts:
        return odd
    return max(odd.parts, key=lambda part: part.n_bad)._replace(n_bad=odd.n_bad)


def remedies_of(
    odd: Sequence[Odd], others: Sequence[str] | None, same: Sequence[str] = ()
) -> dict[str, str]:
    """What to do about each column that cannot be read, the same for all of a kind.

    `others` are the columns that are fine, of which some are the `same` in all rows; None: no
    option helps.
    """
    groups: dict[str, list[Odd]] = {}
    for each in odd:
        groups.setdefault(each.kind, []).append(each)
    return {
        each.name: remedy
        for group in groups.values()
        for remedy in [f"{what_of(group)}: {remedy_of(group, others, same)}"]
        for each in group
    }


def judge_id(column: Any, name: str, source: str) -> str:
    """Why a column cannot name the samples; "" if it can."""
    try:
        id_names(column, name, source)
    except InputError as error:
        return str(error)
    return ""


# Matrices


def read_matrix(path: Path, reading: dict[str, Any]) -> Cells:
    """A matrix of numbers as its reader makes it; or its parts, if they do not fit together."""
    table, error = None, None
    try:
        table = read_table(path, **reading)
        X, names, beside = table.X, table.features, table.annotations
    except InputError as refused:
        if refused.parts is None:
            raise
        error = refused
        X, features, beside = refused.parts
        if len(np.shape(X)) != 2 or getattr(X, "dtype", np.dtype(object)).kind not in "biuf":
            X, names = None, []
        else:
            names = [str(n) for n in (range(X.shape[1]) if features is None else features)]
            names = names[: X.shape[1]]
            names += [f"column {j + 1}" for j in range(len(names), X.shape[1])]
            X = X.astype(np.float64)
    known = [] if beside is None else [str(name) for name in beside.columns]
    chosen = selection(reading.get("id"), None, reading.get("exclude") or (), (), None)
    chosen = chosen.present(known)
    fates = [
        ID if n == chosen.id else EXCLUDED if n in chosen.exclude else ANNOTATION for n in known
    ]
    verdicts = [Verdict(fate) for fate in fates]
    return Cells(str(path), None, X, names, beside, verdicts, error, table, [])


# Frames


def read_anyhow(
    path: Path, kind: Format, chosen: Selection, given: Mapping[str, Any]
) -> tuple[Framed, InputError | None]:
    """The frame that a file holds, and what is wrong with it as a whole."""
    problem: InputError | None = None
    # Names that the table does not have are no reason not to look at it.
    for each in (chosen, EVERYTHING):
        try:
            return read_frame(path, kind, each, given), problem
        except InputError as error:
            problem = problem or error
            if not isinstance(error, UnknownNameError):
                break
    if problem is None or kind not in MENDED:
        raise problem or AssertionError
    return MENDED[kind](path, given, problem), problem


def mended_parquet(path: Path, given: Mapping[str, Any], problem: InputError) -> Framed:
    """The first of the files, with names that are unique."""
    arrow = import_extra("pyarrow.parquet", "reading Parquet", "cli")
    with (
        readable(path, "Parquet", "cli"),
        arrow.ParquetFile(parquet.parquet_files(path)[0]) as file,
    ):
        table = file.read()
        return Framed(frame_of(table, unique_names(table.column_names)))


def mended_feather(path: Path, given: Mapping[str, Any], problem: InputError) -> Framed:
    """The columns of a file with names that are unique."""
    with readable(path, "Feather", "formats"):
        table = feather.read_arrow(path)
        return Framed(frame_of(table, unique_names(table.column_names)))


def mended_excel(path: Path, given: Mapping[str, Any], problem: InputError) -> Framed:
    """The cells of a sheet, whatever its header looks like."""
    _, rows = excel.rows_of_excel(path, given["sheet"])
    header, *body = rows or [[]]
    names = ["" if cell is None else str(cell).strip() for cell in header]
    return Framed(frame_of_lists(names, body, excel.typed_column, None), typed=False)


def mended_text(path: Path, given: Mapping[str, Any], problem: InputError) -> Framed:
    """The cells of a file that is not as it should be; the problem, if there are none."""
    with opened(path) as text:
        words = decoded(unpacked(text))
        if words is None or (not words.strip() and "cannot be unpacked" in str(problem)):
            raise problem
        whole = Text(text.path, text.raw, cast(BinaryIO, BytesIO(words.encode("utf-8"))))
        try:
            return read_text(whole, EVERYTHING, given.get("decimal") or ".")
        except InputError:
            return Framed(cells_of(whole), typed=False)


MENDED = {
    TEXT: mended_text,
    PARQUET: mended_parquet,
    FEATHER: mended_feather,
    EXCEL: mended_excel,
}


# Signs that text does not hold, but for a damaged cell.
NO_TEXT = bytes(sorted({*range(32)} - {*b"\t\n\v\f\r\x1b"}))


def unpacked(text: Text) -> bytes:
    """All bytes, of a packed file as far as it can be unpacked."""
    file, pieces = text.from_start(), []
    try:
        # What is read together is lost together.
        while piece := file.read(SMALL_PIECE):
            pieces.append(piece)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        pass  # what has been unpacked may be of use
    return b"".join(pieces)


def decoded(data: bytes) -> str | None:
    """The text, in UTF-8, UTF-16 or Windows-1252, without a few zero bytes; None if it is none."""
    start = data[:N_LOOKED_AT]
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    if b"\0" in start:
        for zeros, encoding in ((start[1::2], "utf-16-le"), (start[::2], "utf-16-be")):
            if zeros.count(0) > 0.4 * len(zeros):
                return data.decode(encoding, errors="replace")
        if sum(map(start.count, NO_TEXT)) > 0.01 * len(start) + 1:
            return None
    data = data.replace(b"\0", b"")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def cells_of(text: Text) -> Any:
    """Rows of any length as a frame of text."""
    words = text.from_start().read().decode("utf-8")
    if not words.strip():
        return pandas_for_tables().DataFrame()
    separator = choose_separator(text)
    header, *body = parsed(words, separator)
    if choose_decimal(body[:N_SNIFFED], separator) == ",":
        body = [
            [cell.replace(",", ".") if DECIMAL_COMMA.fullmatch(cell) else cell for cell in row]
            for row in body
        ]

    def as_column(cells: list[str]) -> Any:
        column = pandas_for_tables().Series(cells, dtype=object)
        return column.mask(np.array([is_empty(cell) for cell in cells], dtype=bool), np.nan)

    return frame_of_lists([name.strip() for name in header], body, as_column, "")


def frame_of_lists(
    header: list[str], body: Sequence[list[Any]], as_column: Callable[[list[Any]], Any], blank: Any
) -> Any:
    """Rows of any length as a frame: short ones are filled up, the header too.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.io.raw import frame_of_lists
    >>> frame_of_lists(["a", "a"], [[1], [2, 3, 4]], pd.Series, 0)
       a  a-1  column 3
    0  1    0         0
    1  2    3         4
    """
    pandas = pandas_for_tables()
    width = max(map(len, [header, *body]))
    named = [*header, *[""] * (width - len(header))]
    names = unique_names(name or f"column {j + 1}" if j else name for j, name in enumerate(named))
    columns = {
        name: as_column([row[j] if j < len(row) else blank for row in body])
        for j, name in enumerate(names)
    }
    return pandas.DataFrame(columns, columns=names)


def parsed(words: str, separator: str) -> list[list[str]]:
    """Rows that are not blank.

    A quotation mark without its partner would swallow all lines after it: then all are taken as
    they are.
    """
    lines = words.splitlines()
    before = csv.field_size_limit(len(words) + 1)
    try:
        rows = list(csv.reader(words.splitlines(keepends=True), delimiter=separator))
        if words.count('"') % 2:
            raise csv.Error("a quotation mark without its partner")
    except csv.Error:
        rows = [line.split(separator) for line in lines]
    finally:
        csv.field_size_limit(before)
    return [row for row in rows if any(cell.strip() for cell in row)] or [[""]]
