"""Files <-> arrays and names."""

import csv
import os
from collections.abc import Iterable, Sequence
from pathlib import Path


def write_table(path: str | Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file beside its final place, then move it there: never half a table.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ramify.io import write_table
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> write_table(folder / "tree.csv", ["source", "target"], [(0, 1), (1, 2)])
    >>> (folder / "tree.csv").read_text().split()
    ['source,target', '0,1', '1,2']
    """
    path = Path(path)
    aside = path.with_name(f".{path.name}.part")
    with aside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    os.replace(aside, path)
