"""CSV and its kin: separators, headers, missing values and what can be wrong with them."""

import csv
import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO, cast

import numpy as np

from ..data.table import InputError, Table, check_known, check_unique, pandas_for_tables
from .frames import ID_NAME, is_unnamed, table_from_frame

SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}

# Missing in every column; frames.MISSING_AMONG_NUMBERS are so among numbers only.
MISSING = ["", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "<NA>"]

DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*")

DECIMAL_POINT = re.compile(r"\s*[+-]?\d+\.\d+([eE][+-]?\d+)?\s*")

THOUSANDS = re.compile(r"\s*[+-]?\d{1,3}(,\d{3})+\s*")

N_SNIFFED = 200


def read_text_table(
    path: Path, *, id: str | None, exclude: Sequence[str], features: Sequence[str] | None = None
) -> Table:
    """Read a table of text, by name comma-separated (.csv) or tab-separated (.tsv, .txt)."""
    pandas = pandas_for_tables()
    check_encoding(path)
    try:
        names, separator, decimal = sniff(path)
        known = [name for name in names if name]
        check_known([*exclude, *([] if id is None else [id])], known, str(path))
        frame = pandas.read_csv(
            path,
            sep=separator,
            decimal=decimal,
            header=0,
            names=list(range(len(names))),
            index_col=False,
            # As text, so that names such as 007 stay what they are.
            dtype=dict.fromkeys(text_columns(names, id), str),
            keep_default_na=False,
            na_values=MISSING,
            float_precision="round_trip",
            low_memory=False,
            encoding="utf-8-sig",
        )
    except UnicodeDecodeError as error:
        raise InputError(
            f"line {first_undecodable_line(path)} of {path} is not UTF-8 text (perhaps Latin-1 or "
            "Windows-1252); save the file as UTF-8."
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            f"{path} cannot be unpacked ({error}); it is cut short or no gzip file: copy it again."
        ) from error
    except pandas.errors.ParserError as error:
        check_rows(path, names, separator)
        raise untabular(path, error) from error
    # The parser fills short rows up with missing values.
    if len(frame) and frame[len(names) - 1].isna().any():
        check_rows(path, names, separator)
    frame = without_empty_end(frame)
    if not len(frame):
        raise InputError(f"{path} has a header but no rows; it needs at least one sample.")
    frame = without_empty_unnamed(frame, names, path)
    return table_from_frame(
        frame, str(path), id=id, exclude=exclude, features=features, typed=False
    )


def text_columns(names: Sequence[str], id: str | None) -> list[int]:
    """Which columns may name samples."""
    if id is not None:
        return [names.index(id)]
    return [0] if is_unnamed(names[0]) or ID_NAME.fullmatch(names[0].lower()) else []


def open_text(path: Path) -> TextIO:
    """The file as text, unpacked."""
    if is_packed(path):
        return cast(TextIO, gzip.open(path, "rt", encoding="utf-8-sig", newline=""))
    return path.open(encoding="utf-8-sig", newline="")


def open_bytes(path: Path) -> Any:
    """The file as bytes, unpacked."""
    return gzip.open(path, "rb") if is_packed(path) else path.open("rb")


def is_packed(path: Path) -> bool:
    """Whether the name says that the file is gzipped."""
    return path.suffix.lower() == ".gz"


def check_encoding(path: Path) -> None:
    """Text in two bytes a character, or no text at all, is better told at once."""
    try:
        with open_bytes(path) as file:
            start = file.read(4096)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            f"{path} cannot be unpacked ({error}); it is cut short or no gzip file: copy it again."
        ) from error
    if not start.removeprefix(b"\xef\xbb\xbf").strip():
        raise InputError(f"{path} is empty; a table has a header and at least one row.")
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path} is UTF-16 text; save it as UTF-8.")
    if b"\0" in start:
        raise InputError(
            f"{path} is no UTF-8 text (it holds zero bytes: UTF-16, or a binary file under a "
            "wrong name); save it as CSV in UTF-8."
        )


def first_undecodable_line(path: Path) -> int:
    """Where the text stops being UTF-8."""
    with open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 1


def records(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Rows of cells that are not blank, each with the number of its last line."""
    with open_text(path) as file:
        reader = csv.reader(file, delimiter=separator)
        try:
            for row in reader:
                if row and (len(row) > 1 or row[0].strip()):
                    yield reader.line_num, row
        except csv.Error as error:
            raise untabular(path, error) from error


def untabular(path: Path, error: Exception) -> InputError:
    """What makes a parser give up is mostly one sign."""
    return InputError(
        f"{path} cannot be read as a table ({str(error).strip()}); "
        "look for a quotation mark without its partner."
    )


def sniff(path: Path) -> tuple[list[str], str, str]:
    """Names of the columns, separator and decimal sign, from the first rows."""
    separator = choose_separator(path)
    rows = []
    # Only where a comma does not separate can it be a decimal sign, for which to look further.
    for _, row in records(path, separator):
        rows.append(row)
        if len(rows) > (1 if separator == "," else N_SNIFFED):
            break
    names = [name.strip() for name in rows[0]]
    if len(rows) > 1:
        extra = len(rows[1]) - len(names)
        # R writes row names without a name for their column.
        if extra == 1 and rows[1][-1].strip():
            names = ["", *names]
    check_header(names, path)
    return names, separator, choose_decimal(rows[1:], separator)


def choose_separator(path: Path) -> str:
    """The separator of the file's name, unless the header has another one in its place."""
    usual = SEPARATORS[path.suffixes[-2 if is_packed(path) else -1].lower()]
    width = {}
    for separator in (",", ";", "\t"):
        width[separator] = len(next(records(path, separator))[1])
    return usual if width[usual] > 1 else max(width, key=lambda separator: width[separator])


def choose_decimal(rows: Sequence[Sequence[str]], separator: str) -> str:
    """A comma, if it is no separator and numbers are written with it and never with a point.

    Commas that may all stand between thousands decide nothing.
    """
    if separator == ",":
        return "."
    cells = [cell for row in rows for cell in row]
    commas = [cell for cell in cells if DECIMAL_COMMA.fullmatch(cell)]
    points = any(DECIMAL_POINT.fullmatch(cell) for cell in cells)
    clear = not all(THOUSANDS.fullmatch(cell) for cell in commas)
    return "," if commas and clear and not points else "."


def check_header(names: Sequence[str], path: Path) -> None:
    """The first line must name the columns."""
    numbers = [as_number(name) for name in names]
    # 0, 1, 2, … is what pandas writes for columns without names.
    headless = None not in numbers and numbers != list(range(len(names)))
    if names[0] and numbers[0] is None and len(names) > 2 and None not in numbers[1:]:
        # Names such as 1234 (a gene) or 400.5, 401 (a spectrum) are fine; 0.31, 0.27 are values.
        values = np.array(numbers[1:], dtype=float)
        headless = bool((values != np.round(values)).any() and (np.diff(values) <= 0).any())
    if headless:
        raise InputError(
            f"the first line of {path} holds numbers where names of columns should be; "
            "add a header line."
        )
    check_unique([name for name in names if name], f"column names of {path}", "rename them")


def as_number(text: str) -> float | None:
    """The number that the text spells, if any."""
    try:
        return float(text)
    except ValueError:
        return None


def check_rows(path: Path, names: Sequence[str], separator: str) -> None:
    """Every row must have as many cells as the header has names."""
    for i, (line, row) in enumerate(records(path, separator)):
        if i and len(row) != len(names):
            raise InputError(
                f"line {line} of {path} has {len(row)} values, but the header names "
                f"{len(names)} columns; add or remove separators, or quote the text."
            )


def without_empty_end(frame: Any) -> Any:
    """The frame without the rows of separators that spreadsheets leave at the end."""
    if not len(frame) or frame.iloc[-1].notna().any():
        return frame
    filled = np.flatnonzero(frame.notna().any(axis=1).to_numpy())
    return frame.iloc[: filled[-1] + 1 if len(filled) else 0].copy()


def without_empty_unnamed(frame: Any, names: Sequence[str], path: Path) -> Any:
    """The frame with its names; columns without a name must be empty, but for the first."""
    kept = []
    for j, name in enumerate(names):
        if j and not name:
            if frame[j].notna().any():
                raise InputError(f"column {j + 1} of {path} has no name; give it one.")
        else:
            kept.append(j)
    frame = frame[kept] if len(kept) < len(names) else frame
    frame.columns = [names[j] for j in kept]
    return frame
