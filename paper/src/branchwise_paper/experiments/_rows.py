"""Rows of numbers, as Markdown and as CSV."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from branchwise._writing import replacing


def shown(value: Any, digits: int = 3) -> str:
    """A number as a person wants to read it; anything else as it is.

    Examples
    --------
    >>> from branchwise_paper.experiments._rows import shown
    >>> shown(0.98765), shown(2.0), shown(1234), shown(None), shown("tree")
    ('0.988', '2', '1,234', '', 'tree')
    """
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or value == round(value):
        return f"{value:,.0f}"
    return f"{value:.{digits}f}" if abs(value) >= 0.01 else f"{value:.2g}"


def escaped(text: str) -> str:
    r"""A text for a place of a table in Markdown.

    Examples
    --------
    >>> from branchwise_paper.experiments._rows import escaped
    >>> print(escaped("a|b"))
    a\|b
    """
    return text.replace("|", "\\|")


def markdown(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table.

    Examples
    --------
    >>> from branchwise_paper.experiments._rows import markdown
    >>> print(markdown(["graph", "share"], [["tree", 0.5]]))
    | graph | share |
    | --- | --- |
    | tree | 0.500 |
    """
    table = [[escaped(shown(value)) for value in row] for row in (header, *rows)]
    lines = [table[0], ["---"] * len(header), *table[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table as a file, with numbers as they are."""
    with replacing(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(["" if value is None else value for value in row] for row in rows)
