"""Files and tables that are written whole or not at all."""

import csv
import io
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO

# What spreadsheets take for a formula, or skip before they look for one; apostrophes may precede.
FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
GUARDED = re.compile(r"'+[=+\-@\t\r\n]")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@contextmanager
def replacing_bytes(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file that is written beside its final place and then moved there: never half of it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from branchwise._writing import replacing_bytes
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with replacing_bytes(folder / "numbers.bin") as file:
    ...     _ = file.write(bytes([1, 2, 3]))
    >>> [path.name for path in folder.iterdir()]
    ['numbers.bin']
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{path.parent} is not a folder to write {path.name} into; make it."
        )
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with aside.open("wb") as file:
            yield file
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """A text file that is written whole or not at all, like `replacing_bytes`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from branchwise._writing import replacing
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with replacing(folder / "tree.nwk") as file:
    ...     _ = file.write("(T1:1,T2:2)F1;")
    >>> [path.name for path in folder.iterdir()]
    ['tree.nwk']
    """
    with (
        replacing_bytes(path) as raw,
        io.TextIOWrapper(raw, encoding="utf-8", newline="") as file,
    ):
        yield file


def guarded(cell: Any) -> Any:
    """A cell that spreadsheets take as text: an apostrophe before what might be a formula.

    Numbers stay as they are. Text that looks guarded already gets one apostrophe more, so that
    `unguarded` gives back every text.

    Examples
    --------
    >>> from branchwise._writing import guarded
    >>> [guarded(cell) for cell in ("=1+1", "-2.5", "-", "'@x", "P01", 7)]
    ["'=1+1", '-2.5', "'-", "''@x", 'P01', 7]
    """
    if not isinstance(cell, str) or not FORMULA.match(cell) or NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}"


def unguarded(cell: Any) -> Any:
    """The text that `guarded` was given.

    Examples
    --------
    >>> from branchwise._writing import unguarded
    >>> [unguarded(cell) for cell in ("'=1+1", "-2.5", "''@x", "'quoted'")]
    ['=1+1', '-2.5', "'@x", "'quoted'"]
    """
    return cell[1:] if isinstance(cell, str) and GUARDED.match(cell) else cell


def write_table(path: str | Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file, whole or not at all, in which no text is a formula to spreadsheets.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from branchwise._writing import write_table
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> write_table(folder / "tree.csv", ["source", "target"], [(0, 1), (1, 2)])
    >>> (folder / "tree.csv").read_text().split()
    ['source,target', '0,1', '1,2']
    """
    with replacing(path) as file:
        # A return that is not quoted would begin a new row, and a new cell.
        usual, quoted = (
            csv.writer(file, lineterminator="\n", quoting=quoting)
            for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC)
        )
        for row in itertools.chain([header], rows):
            has_return = any("\r" in cell for cell in row if isinstance(cell, str))
            (quoted if has_return else usual).writerow([guarded(cell) for cell in row])
