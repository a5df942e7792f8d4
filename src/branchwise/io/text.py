"""CSV and its kin: separators, headers, missing values and what can be wrong with them."""

import codecs
import csv
import gzip
import hashlib
import re
import warnings
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from io import BufferedReader, RawIOBase, TextIOBase, TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np

from .._messages import counted, parameter, setting
from ..data.categories import INEXACT, MISSING, is_blank
from ..data.cells import CODE
from ..data.composed import composed
from ..data.errors import InputError
from ..data.judging import ID_NAME, is_unnamed
from ..data.selection import Selection
from ..data.table import check_unique, pandas_for_tables
from .frames import Framed
from .grouped import read_groups, warn_of_groups

SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*")
DECIMAL_POINT = re.compile(r"\s*[+-]?\d+\.\d+([eE][+-]?\d+)?\s*")
THOUSANDS = re.compile(r"\s*[+-]?\d{1,3}(,\d{3})+\s*")
# With points between thousands: maybe, and without doubt.
MAYBE_GROUPED = re.compile(r"\s*[+-]?[1-9]\d{0,2}(\.\d{3})+\s*")
GROUPED_COMMA = re.compile(r"\s*[+-]?[1-9]\d{0,2}(\.\d{3})+,\d+\s*")
DECIMALS = (".", ",")
N_SNIFFED = 200

# Bytes that are read at a time.
PIECE = 2**20
# The start of a file, which tells how its lines end.
START = 2**16
# Cells of columns that are looked through again for codes, at a time.
MOST_CELLS = 20_000_000
UTF_8 = "utf-8-sig"


def frame_of_text(
    path: Path, selection: Selection, *, encoding: str | None = None, decimal: str | None = None
) -> Framed:
    """Read a table of text, by name comma-separated (.csv) or tab-separated (.tsv, .txt)."""
    if decimal not in (None, *DECIMALS):
        raise InputError(
            f"decimal={decimal!r} must be '.' or ',', the decimal sign where the file leaves it "
            "open; leave it out for points."
        )
    with opened(path, encoding) as text:
        framed = read_frame(text, selection, decimal or ".")
        sha256 = text.raw.finish()
    if not len(framed.frame):
        raise InputError(f"{path} has a header but no rows; it needs at least one sample.")
    return framed._replace(sha256=sha256)


def read_frame(text: "Text", selection: Selection, usual: str = ".") -> Framed:
    """The cells as a data frame; columns of codes, such as 07766, are text.

    `usual` is the decimal sign of a file that does not tell.
    """
    pandas, path = pandas_for_tables(), text.path
    check_encoding(text)
    try:
        head = sniff(text, usual)
        names = head.names
        if head.is_ragged:
            check_rows(text, names, head.separator)
        if head.is_shifted:
            warn_of_row_names(names, path)
        selection = selection.among([name for name in names if name], str(path))
        characters = Characters(text.from_start(), text.encoding, ord(head.separator))
        options: dict[str, Any] = {
            "sep": head.separator,
            "decimal": head.decimal,
            "header": 0,
            "names": list(range(len(names))),
            "index_col": False,
            "keep_default_na": False,
            "na_values": sorted(MISSING),
            "low_memory": False,
            # Left alone, pandas reads a line twice that begins with a blank after a lone return.
            "lineterminator": "\r" if head.has_returns else None,
        }
        # As text, so that names such as 007 stay what they are.
        as_text = dict.fromkeys(text_columns(names, selection.id), str)
        with warnings.catch_warnings():
            # Of empty cells at the ends of rows, which are not lost.
            warnings.simplefilter("ignore", pandas.errors.ParserWarning)
            frame = pandas.read_csv(
                characters, dtype=as_text, float_precision="round_trip", **options
            )
        annotated = [names.index(name) for name in selection.annotate]
        for name, cells in read_long(text, frame, annotated, options).items():
            frame[name] = cells
        if characters.has_code:
            for name, codes in read_codes(text, frame, options).items():
                frame[name] = codes
    except UnicodeError as error:
        raise undecodable(text) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            f"{path} cannot be unpacked ({error}); it is cut short or not a gzip file: copy it "
            "again."
        ) from error
    except pandas.errors.ParserError as error:
        check_rows(text, names, head.separator)
        raise untabular(path, error) from error
    # The parser fills short rows up with missing values.
    if len(frame) and frame[len(names) - 1].isna().any():
        check_rows(text, names, head.separator)
    frame = without_empty_end(frame)
    spared = {*annotated, *text_columns(names, selection.id)}
    groups = read_groups(frame, head.decimal, head.separator, spared)
    for name, plain in groups.items():
        frame[name] = plain.values
    warn_of_groups({names[name]: plain for name, plain in groups.items()}, path, head.decimal)
    frame = without_empty_unnamed(frame, names, path)
    return Framed(frame, typed=False, decimal=head.decimal)


def read_long(
    text: "Text", frame: Any, columns: Sequence[int], options: dict[str, Any]
) -> dict[int, Any]:
    """Those of these columns, as text, whose numbers have more digits than decimals keep.

    A gap in a column of whole numbers makes decimals of them.
    """
    wanted = [
        name
        for name in columns
        if frame[name].dtype.kind == "f" and (np.abs(frame[name].to_numpy()) >= INEXACT).any()
    ]
    if not wanted:
        return {}
    characters = Characters(text.from_start(), text.encoding)
    cells = pandas_for_tables().read_csv(characters, usecols=wanted, dtype=str, **options)
    return {name: cells[name].str.strip() for name in wanted}


def read_codes(text: "Text", frame: Any, options: dict[str, Any]) -> dict[int, Any]:
    """Columns with a whole number that begins with a zero, as text; they were read as numbers."""
    pandas = pandas_for_tables()
    found: dict[int, Any] = {}
    maybe = []
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        if dtype.kind in "iuf":
            numbers = frame[name].to_numpy()
            if ((numbers >= 0) & (numbers == np.floor(numbers))).any():
                maybe.append(name)
    step = max(1, MOST_CELLS // len(frame))
    for start in range(0, len(maybe), step):
        some = maybe[start : start + step]
        characters = Characters(text.from_start(), text.encoding)
        cells = pandas.read_csv(characters, usecols=some, dtype=str, **options)
        for name in some:
            known = cells[name].notna().to_numpy()
            texts = cells[name].to_numpy(object)
            if any("0" in cell[:2] and CODE.fullmatch(cell) for cell in texts[known]) or any(
                cell[0].isspace() and CODE.fullmatch(cell) for cell in texts[known]
            ):
                found[name] = cells[name].str.strip()
    return found


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


class Characters(TextIOBase):
    r"""The characters of a file, in which codes such as 07766 are looked for on the way.

    Without a separator they are not looked for.

    Examples
    --------
    >>> from io import BytesIO
    >>> from branchwise.io.text import Characters
    >>> text = Characters(BytesIO(b"zip,a\n07766,1\n"), "utf-8", ord(","))
    >>> text.read(5), text.has_code, text.read(100), text.read(100), text.has_code
    ('zip,a', False, '\n07766,1\n', '', True)
    """

    # Longer than any code.
    TAIL = 64

    def __init__(self, file: Any, encoding: str, separator: int | None = None):
        super().__init__()
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._separator = separator
        self._tail = b"\n"
        self.has_code = False

    def readable(self) -> bool:
        """Yes."""
        return True

    def read(self, size: int | None = -1, /) -> str:
        """About so many characters; none at the end only."""
        text = ""
        while not text:
            piece = self._file.read(-1 if size is None else size)
            text = self._decoder.decode(piece, final=not piece)
            self._look(text, is_end=not piece)
            if not piece:
                break
        return text

    def _look(self, text: str, *, is_end: bool) -> None:
        if self._separator is None or self.has_code:
            return
        data = self._tail + text.encode("utf-8", "surrogatepass") + b"\n" * is_end
        self.has_code = find_code(data, self._separator)
        self._tail = data[-self.TAIL :]


# After a code, blanks and the mark that closes a quotation.
AFTER_CODE = re.compile(rb'0\d+ *"? *(.)', re.DOTALL)


def find_code(data: bytes, separator: int) -> bool:
    """Whether a cell seems to be a whole number that begins with a zero and has more digits.

    A word of a longer text may, too: `read_codes` looks at whole cells.

    Examples
    --------
    >>> from branchwise.io.text import find_code
    >>> [find_code(b"a," + cell + b",b", ord(",")) for cell in (b"07766", b"0.5", b"00:30", b"0")]
    [True, False, False, False]
    """
    cells = np.frombuffer(data, dtype=np.uint8)
    before, here, after = cells[:-2], cells[1:-1], cells[2:]
    begins = here == 48
    begins &= (after - 48) < 10
    if not begins.any():
        return False
    begins &= (before == separator) | (before == 34) | (before == 32) | (before < 14)
    ends = {separator, 9, 10, 13}
    for start in np.flatnonzero(begins).tolist():
        found = AFTER_CODE.match(data, start + 1)
        if found and found[1][0] in ends:
            return True
    return False


class Text(NamedTuple):
    """An open file of text, of which any part can be read again."""

    path: Path
    raw: HashedFile
    unpacked: BinaryIO
    encoding: str = UTF_8

    def from_start(self) -> BinaryIO:
        """The unpacked bytes, from the first one on."""
        self.unpacked.seek(0)
        return self.unpacked

    def records(self, separator: str) -> Generator[tuple[int, list[str]], None, None]:
        """Rows of cells that are not blank, each with the number of its last line."""
        lines = TextIOWrapper(self.from_start(), encoding=self.encoding, newline="")
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
def opened(path: Path, encoding: str | None = None) -> Iterator[Text]:
    """Open a file of text, once for all that is looked for in it."""
    encoding = known_encoding(encoding)
    with HashedFile(path) as raw, BufferedReader(raw, PIECE) as file:
        unpacked = gzip.GzipFile(fileobj=file) if is_packed(path) else file
        yield Text(path, raw, cast(BinaryIO, unpacked), encoding)


def known_encoding(name: str | None) -> str:
    """An encoding as Python calls it.

    Examples
    --------
    >>> from branchwise.io.text import known_encoding
    >>> known_encoding(None), known_encoding("Latin-1")
    ('utf-8-sig', 'iso8859-1')
    """
    try:
        found = UTF_8 if name is None else codecs.lookup(name).name
        "a".encode(found)  # not all of them are for text
    except (LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"encoding={name!r} is not the name of an encoding of text; utf-8, latin-1, cp1252 "
            "(Windows) and utf-16 are the usual ones."
        ) from error
    return UTF_8 if found == "utf-8" else found


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
            f"{path} cannot be unpacked ({error}); it is cut short or not a gzip file: copy it "
            "again."
        ) from error
    if not start.removeprefix(b"\xef\xbb\xbf").strip():
        raise InputError(f"{path} is empty; a table has a header and at least one row.")
    if text.encoding != UTF_8:
        return
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(
            f"{path} is UTF-16 text; read it with {setting('encoding', 'utf-16')}, or save it as "
            "UTF-8."
        )
    if b"\0" in start:
        line = start[: start.index(b"\0")].count(b"\n") + 1
        raise InputError(
            f"line {line} of {path} holds a zero byte, which text does not (it is damaged, UTF-16, "
            "or a binary file under a wrong name); save it as CSV in UTF-8."
        )


def undecodable(text: Text) -> InputError:
    """Say where the text stops being what it should be, and what it may be."""
    line = first_undecodable_line(text)
    if text.encoding == UTF_8:
        return InputError(
            f"line {line} of {text.path} is not UTF-8 text (perhaps Latin-1 or Windows-1252); read "
            f"it with {setting('encoding', 'latin-1')} or {setting('encoding', 'cp1252')}, or save "
            "the file as UTF-8."
        )
    return InputError(
        f"line {line} of {text.path} is not text in the encoding {text.encoding}; name another "
        f"one by {parameter('encoding')}, or leave it out for UTF-8."
    )


def first_undecodable_line(text: Text) -> int:
    """Where the text stops being in its encoding, whatever lines end with."""
    decoder = codecs.getincrementaldecoder(text.encoding)()
    n_lines, last = 1, ""
    file = text.from_start()
    while piece := file.read(START):
        try:
            good = decoder.decode(piece)
        except UnicodeError as error:
            good = piece[: getattr(error, "start", 0)].decode(text.encoding, "ignore")
            piece = b""
        whole = last + good
        n_lines += whole.count("\n") + whole.count("\r") - whole.count("\r\n")
        # Half of a line end may come with the next piece.
        last = "\r" if whole.endswith("\r") else ""
        n_lines -= len(last)
        if not piece:
            break
    return n_lines + len(last)


def untabular(path: Path, error: Exception) -> InputError:
    """What makes a parser give up is mostly one sign."""
    if "field limit" in str(error):
        return InputError(
            f"{path} has a cell of more than {csv.field_size_limit():,} characters among its first "
            "rows; look for a quotation mark without its partner, or shorten the cell."
        )
    return InputError(
        f"{path} cannot be read as a table ({str(error).strip()}); "
        "look for a quotation mark without its partner."
    )


class Head(NamedTuple):
    """What the first rows tell: names of the columns, separator, decimal sign, and line ends."""

    names: list[str]
    separator: str
    decimal: str
    has_returns: bool  # and nothing else, at the ends of lines
    is_shifted: bool  # the first cells of rows have no name
    is_ragged: bool  # rows may have more cells than names, which a parser does not tell


def sniff(text: Text, usual: str = ".") -> Head:
    """Look at the first rows."""
    separator = choose_separator(text)
    # Only where a comma does not separate can it be a decimal sign, for which to look further.
    rows = text.first_rows(separator, 2 if separator == "," else N_SNIFFED + 1)
    names = [composed(name.strip()) for name in rows[0]]
    first = rows[1] if len(rows) > 1 else []
    is_shifted = has_row_names(names, first)
    names = ["", *names] if is_shifted else names
    check_header(names, text.path)
    decimal = choose_decimal(rows[1:], separator, usual)
    is_ragged = len(first) > len(names)
    return Head(names, separator, decimal, has_returns(text), is_shifted, is_ragged)


def has_row_names(names: Sequence[str], first: Sequence[str]) -> bool:
    """Whether rows begin with a cell that the header does not name, as R writes names of rows.

    Where the header begins with a name of such a column, or has one name only, a cell too many is
    something else: a decimal comma, for instance.

    Examples
    --------
    >>> from branchwise.io.text import has_row_names
    >>> row = ["P1", "71", "12"]
    >>> has_row_names(["age", "hb"], row), has_row_names(["patient", "age"], row)
    (True, False)
    """
    if len(first) != len(names) + 1 or not first[-1].strip():
        return False
    return len(names) > 1 and not (is_unnamed(names[0]) or ID_NAME.fullmatch(names[0].lower()))


def warn_of_row_names(names: Sequence[str], path: Path) -> None:
    """Say that the names of columns were taken for those of the cells after the first."""
    warnings.warn(
        f"rows of {path} have {len(names)} cells, but the header has {len(names) - 1} names; the "
        "first cell of each row was taken as its name, as R writes them: give that column a name, "
        "or mend the header or the rows if this is wrong.",
        stacklevel=2,
    )


def has_returns(text: Text) -> bool:
    """Whether lines end with a return alone, as on old Macintoshes, outside of quotations."""
    start = codecs.getincrementaldecoder(text.encoding)().decode(text.from_start().read(START))
    bare = re.sub('"[^"]*("|$)', "", start)
    return "\r" in bare and "\n" not in bare


def choose_separator(text: Text) -> str:
    """The separator of the file's name, unless the header has another one in its place."""
    usual = SEPARATORS[text.path.suffixes[-2 if is_packed(text.path) else -1].lower()]
    rows = {sign: text.first_rows(sign, 1) for sign in (",", ";", "\t")}
    if not all(rows.values()):
        raise InputError(f"{text.path} is empty; a table has a header and at least one row.")
    width = {sign: len(first) for sign, [first] in rows.items()}
    return usual if width[usual] > 1 else max(width, key=lambda separator: width[separator])


def choose_decimal(rows: Sequence[Sequence[str]], separator: str, usual: str = ".") -> str:
    """A comma, if it is not a separator and numbers are written with it and never with a point.

    Commas that may all stand between thousands decide nothing, nor do such points. 1.234,5 does.
    Where nothing decides it is the usual sign.

    Examples
    --------
    >>> from branchwise.io.text import choose_decimal
    >>> [choose_decimal([[cell, "236.200"]], ";", ",") for cell in ("12,5", "12.5", "12")]
    [',', '.', ',']
    """
    if separator == ",":
        return "."
    cells = [cell for row in rows for cell in row]
    if any(DECIMAL_POINT.fullmatch(cell) and not MAYBE_GROUPED.fullmatch(cell) for cell in cells):
        return "."
    commas = [cell for cell in cells if DECIMAL_COMMA.fullmatch(cell)]
    is_clear = not all(THOUSANDS.fullmatch(cell) for cell in commas)
    return "," if is_clear or any(map(GROUPED_COMMA.fullmatch, cells)) else usual


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
    """Every row must have as many cells as the header has names; empty ones may follow."""
    with closing(text.records(separator)) as records:
        for i, (line, row) in enumerate(records):
            extra = row[len(names) :]
            if i and (len(row) < len(names) or any(cell.strip() for cell in extra)):
                columns = counted(len(names), "column")
                raise InputError(
                    f"line {line} of {text.path} has {counted(len(row), 'value')}, but the header "
                    f"names {columns}; {maybe_title(names)}add or remove separators, or quote the "
                    "text."
                )


def maybe_title(names: Sequence[str]) -> str:
    """What to do if the first line is no header.

    Examples
    --------
    >>> from branchwise.io.text import maybe_title
    >>> maybe_title(["Ward 3, 2024", "", ""])
    'the first line may be a title: remove what stands above the names of the columns, or '
    """
    if sum(map(bool, names)) > 1:
        return ""
    return "the first line may be a title: remove what stands above the names of the columns, or "


def without_empty_end(frame: Any) -> Any:
    """The frame without the rows of separators, or of blanks, that spreadsheets leave there."""
    if not len(frame) or not is_blank(frame.iloc[-1].astype(object)).all():
        return frame
    is_filled = np.zeros(len(frame), dtype=bool)
    for name in frame.columns:
        is_filled |= ~is_blank(frame[name])
    filled = np.flatnonzero(is_filled)
    return frame.iloc[: filled[-1] + 1 if len(filled) else 0].copy()


def without_empty_unnamed(frame: Any, names: Sequence[str], path: Path) -> Any:
    """The frame with its names; columns without a name must be empty, but for the first."""
    kept = []
    for j, name in enumerate(names):
        if j and not name:
            if frame[j].notna().any():
                raise InputError(
                    f"column {j + 1} of {path} has no name; {maybe_title(names)}give it one."
                )
        else:
            kept.append(j)
    frame = frame[kept] if len(kept) < len(names) else frame
    frame.columns = [names[j] for j in kept]
    return frame
