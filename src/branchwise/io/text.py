"""CSV and its kin: separators, headers, missing values and what can be wrong with them."""

import csv
import gzip
import hashlib
import re
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from io import BufferedReader, RawIOBase, TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

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

# Bytes that are read at a time.
PIECE = 2**20


def read_text_table(
    path: Path, *, id: str | None, exclude: Sequence[str], features: Sequence[str] | None = None
) -> Table:
    """Read a table of text, by name comma-separated (.csv) or tab-separated (.tsv, .txt)."""
    with opened(path) as text:
        frame, names = read_frame(text, id, exclude)
        sha256 = text.raw.finish()
    frame = without_empty_end(frame)
    if not len(frame):
        raise InputError(f"{path} has a header but no rows; it needs at least one sample.")
    frame = without_empty_unnamed(frame, names, path)
    table = table_from_frame(
        frame, str(path), id=id, exclude=exclude, features=features, typed=False
    )
    return replace(table, sha256=sha256)


def read_frame(text: "Text", id: str | None, exclude: Sequence[str]) -> tuple[Any, list[str]]:
    """The cells as a data frame whose columns are numbers, and the names of these."""
    pandas, path = pandas_for_tables(), text.path
    check_encoding(text)
    try:
        names, separator, decimal = sniff(text)
        known = [name for name in names if name]
        check_known([*exclude, *([] if id is None else [id])], known, str(path))
        frame = pandas.read_csv(
            text.from_start(),
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
            f"line {first_undecodable_line(text)} of {path} is not UTF-8 text (perhaps Latin-1 or "
            "Windows-1252); save the file as UTF-8."
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            f"{path} cannot be unpacked ({error}); it is cut short or no gzip file: copy it again."
        ) from error
    except pandas.errors.ParserError as error:
        check_rows(text, names, separator)
        raise untabular(path, error) from error
    # The parser fills short rows up with missing values.
    if len(frame) and frame[len(names) - 1].isna().any():
        check_rows(text, names, separator)
    return frame, names


class HashedFile(RawIOBase):
    """A file whose SHA-256 is taken of its bytes when they are first read."""

    def __init__(self, path: Path):
        self._file = path.open("rb", buffering=0)
        self._hash = hashlib.sha256()
        self._n_hashed = 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes."""
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go back to what has been read, or on from there."""
        return self._file.seek(offset, whence)

    def readinto(self, buffer: Any) -> int:
        """Read on; what is read again is not hashed again."""
        start = self._file.tell()
        count = self._file.readinto(buffer) or 0
        if start + count > self._n_hashed:
            self._hash.update(memoryview(buffer)[self._n_hashed - start : count])
            self._n_hashed = start + count
        return count

    def finish(self) -> str:
        """Read what a parser has left, and return the hash."""
        self.seek(self._n_hashed)
        while self.read(PIECE):
            pass
        return self._hash.hexdigest()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


class Text(NamedTuple):
    """An open file of text, of which any part can be read again."""

    path: Path
    raw: HashedFile
    unpacked: BinaryIO

    def from_start(self) -> BinaryIO:
        """The unpacked bytes, from the first one on."""
        self.unpacked.seek(0)
        return self.unpacked

    def records(self, separator: str) -> Generator[tuple[int, list[str]], None, None]:
        """Rows of cells that are not blank, each with the number of its last line."""
        lines = TextIOWrapper(self.from_start(), encoding="utf-8-sig", newline="")
        reader = csv.reader(lines, delimiter=separator)
        try:
            for row in reader:
                if row and (len(row) > 1 or row[0].strip()):
                    yield reader.line_num, row
        except csv.Error as error:
            raise untabular(self.path, error) from error
        finally:
            lines.detach()  # or it would close the file

    def first_rows(self, separator: str, count: int) -> list[list[str]]:
        """So many rows of cells, or fewer if there are no more."""
        with closing(self.records(separator)) as rows:
            return [row for _, row in islice(rows, count)]


@contextmanager
def opened(path: Path) -> Iterator[Text]:
    """Open a file of text, once for all that is looked for in it."""
    with HashedFile(path) as raw, BufferedReader(raw, PIECE) as file:
        unpacked = gzip.GzipFile(fileobj=file) if is_packed(path) else file
        yield Text(path, raw, cast(BinaryIO, unpacked))


def text_columns(names: Sequence[str], id: str | None) -> list[int]:
    """Which columns may name samples."""
    if id is not None:
        return [names.index(id)]
    return [0] if is_unnamed(names[0]) or ID_NAME.fullmatch(names[0].lower()) else []


def is_packed(path: Path) -> bool:
    """Whether the name says that the file is gzipped."""
    return path.suffix.lower() == ".gz"


def check_encoding(text: Text) -> None:
    """Text in two bytes a character, or no text at all, is better told at once."""
    path = text.path
    try:
        start = text.from_start().read(4096)
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


def first_undecodable_line(text: Text) -> int:
    """Where the text stops being UTF-8."""
    for number, line in enumerate(text.from_start(), start=1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            return number
    return 1


def untabular(path: Path, error: Exception) -> InputError:
    """What makes a parser give up is mostly one sign."""
    return InputError(
        f"{path} cannot be read as a table ({str(error).strip()}); "
        "look for a quotation mark without its partner."
    )


def sniff(text: Text) -> tuple[list[str], str, str]:
    """Names of the columns, separator and decimal sign, from the first rows."""
    separator = choose_separator(text)
    # Only where a comma does not separate can it be a decimal sign, for which to look further.
    rows = text.first_rows(separator, 2 if separator == "," else N_SNIFFED + 1)
    names = [name.strip() for name in rows[0]]
    if len(rows) > 1:
        extra = len(rows[1]) - len(names)
        # R writes row names without a name for their column.
        if extra == 1 and rows[1][-1].strip():
            names = ["", *names]
    check_header(names, text.path)
    return names, separator, choose_decimal(rows[1:], separator)


def choose_separator(text: Text) -> str:
    """The separator of the file's name, unless the header has another one in its place."""
    usual = SEPARATORS[text.path.suffixes[-2 if is_packed(text.path) else -1].lower()]
    width = {sign: len(text.first_rows(sign, 1)[0]) for sign in (",", ";", "\t")}
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


def check_rows(text: Text, names: Sequence[str], separator: str) -> None:
    """Every row must have as many cells as the header has names."""
    with closing(text.records(separator)) as records:
        for i, (line, row) in enumerate(records):
            if i and len(row) != len(names):
                raise InputError(
                    f"line {line} of {text.path} has {len(row)} values, but the header names "
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
