"""Files and tables that are written whole or not at all."""

import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO


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


def write_table(path: str | Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file, whole or not at all.

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
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
