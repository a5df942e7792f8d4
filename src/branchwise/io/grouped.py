"""Numbers of text with a sign between thousands: 12.345,6 or 12,345.6."""

import re
import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .._messages import listed
from ..data.categories import is_no_number

# By the sign between thousands; a number below 1 has none, so that 0.567 is never 567.
GROUPED = {
    ".": re.compile(r"[+-]?(?:\d+|[1-9]\d{0,2}(?:\.\d{3})+)(?:,\d*)?"),
    ",": re.compile(r"[+-]?(?:\d+|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d*)?"),
}
N_NAMED = 5


class Plain(NamedTuple):
    """A column of text with its numbers as programs write them.

    Attributes
    ----------
    values : Series of str
    cell : str
        The first that had a sign between thousands; "" if none had.
    number : str
        What it was read as.
    """

    values: Any
    cell: str
    number: str


def without_groups(column: Any, sign: str) -> Plain | None:
    """A column of text of which every number may have this sign between thousands, without it.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.io.grouped import without_groups
    >>> without_groups(pd.Series(["1.234", "5,5", None]), ".")[0].tolist()
    ['1234', '5.5', None]
    >>> without_groups(pd.Series(["3,360", "950"]), ",")[1:]
    ('3,360', '3360')
    >>> without_groups(pd.Series(["3,360", "3,36"]), ",") is None
    True
    """
    decimal = "," if sign == "." else "."
    known = column.notna().to_numpy()
    cells = column.to_numpy(object)[known]
    fits = GROUPED[sign].fullmatch
    # Most columns of text are told by their first cell; truth values beside gaps are not text.
    first = next((cell for cell in cells if not is_no_number(cell)), None)
    if not isinstance(first, str) or not fits(first.strip()):
        return None
    words = [cell.strip() for cell in cells if not is_no_number(cell)]
    if not all(map(fits, words)):
        return None
    if not any(mark in word for word in words for mark in ".,"):
        return None

    def plain(cell: str) -> str:
        return cell if is_no_number(cell) else cell.replace(sign, "").replace(decimal, ".")

    cell = next((word for word in words if sign in word), "")
    return Plain(column.map(plain, na_action="ignore"), cell, plain(cell))


def read_groups(
    frame: Any, decimal: str, separator: str, spared: Collection[Any]
) -> dict[Any, Plain]:
    """Columns of a file of text that are numbers once signs between thousands are left out.

    Points are such signs where decimals have commas. Commas are so where they separate cells, in
    quoted ones; elsewhere they may be decimal signs.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.io.grouped import read_groups
    >>> frame = pd.DataFrame({"cost": ["3,360", "950"], "code": ["1,000", "7"], "n": [1, 2]})
    >>> read_groups(frame, ".", ",", ["code"])["cost"].values.tolist()
    ['3360', '950']
    """
    if decimal == "." and separator != ",":
        return {}
    sign = "." if decimal == "," else ","
    kinds = zip(frame.columns, frame.dtypes, strict=True)
    words = [name for name, dtype in kinds if dtype.kind == "O" and name not in spared]
    found = {name: without_groups(frame[name], sign) for name in words}
    return {name: plain for name, plain in found.items() if plain is not None}


def warn_of_groups(columns: Mapping[str, Plain], path: Path, decimal: str) -> None:
    """Say which columns have signs between thousands, and what to do if they have not."""
    shown = {name: plain for name, plain in columns.items() if plain.cell}
    if not shown:
        return
    signs, remedy = (
        ("points", "write all decimals of the file with points")
        if decimal == ","
        else ("commas", "write points")
    )
    first = next(iter(shown.values()))
    warnings.warn(
        f"{listed(map(repr, shown), N_NAMED)} of {path} {'has' if len(shown) == 1 else 'have'} "
        f"{signs} between thousands: {first.cell!r} was read as {first.number}; if these are "
        f"decimal signs, {remedy}.",
        stacklevel=2,
    )
