"""Text files and tables that are written whole or not at all."""

import csv
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """A text file that is written beside its final place and then moved there: never half of it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ramify.io import replacing
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with replacing(folder / "tree.nwk") as file:
    ...     _ = file.write("(T1:1,T2:2)F1;")
    >>> [path.name for path in folder.iterdir()]
    ['tree.nwk']
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is no folder to write {path.name} into; make it.")
    aside = path.with_name(f".{path.name}.part")
    try:
        with aside.open("w", newline="", encoding="utf-8") as file:
            yield file
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def write_table(path: str | Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file, whole or not at all.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ramify.io import write_table
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> write_table(folder / "tree.csv", ["source", "target"], [(0, 1), (1, 2)])
    >>> (folder / "tree.csv").read_text().split()
    ['source,target', '0,1', '1,2']
    """
    with replacing(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
