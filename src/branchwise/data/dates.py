"""Dates as people write them."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from .._compat import assigned, import_pandas
from .._messages import setting
from .categories import column_values, is_no_number
from .errors import InputError

ORDERS = ("dmy", "mdy")
FIRST = {"dmy": "day", "mdy": "month"}
TIME = r"(?:(?:T|\s+)(\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)\s*(Z|[+-]\d{2}:?\d{2})?)?"
YEAR_FIRST = re.compile(rf"(\d{{4}})([-/.])(\d{{1,2}})\2(\d{{1,2}}){TIME}")
YEAR_LAST = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}){TIME}")
NAMED = re.compile(rf"(\d{{1,2}})([- ]?)([A-Za-z]{{3,9}})\.?\2(\d{{4}}){TIME}")
# A column is told by its first cells, and if so many cells are dates, those that are not are told.
N_FIRST, NEARLY_ALL = 3, 0.9
MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)


class Dates(NamedTuple):
    """A column of dates, and what there is to say about it.

    Attributes
    ----------
    values : Series of datetime64, or None if not all known cells are dates
    note : str
        How dates were read that can be read in two ways, or why there are none; maybe empty.
    order : {"dmy", "mdy"} or None
        What comes first, where that makes a difference.
    """

    values: Any
    note: str = ""
    order: str | None = None


class Spelt(NamedTuple):
    """One cell: two numbers of which one is the day, or a date without doubt."""

    year: int
    first: int
    second: int
    sign: str  # "" without doubt: first is the month
    time: str
    zone: str


def as_dates(column: Any, order: str | None = None) -> Dates:
    """A column of text as dates, if all known cells are dates.

    Dates are written as 2020-01-31, 2020/01/31, 31.01.2020, 31/01/2020, 01/31/2020 or 31-Jan-2020,
    each maybe with a time. With points the day is first. Otherwise `order` tells; without one the
    values do, and if they fit both ways the day is first.

    Parameters
    ----------
    column : Series of text
    order : {"dmy", "mdy"} or None, default=None
        It binds: if a value does not fit, there are no dates.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.data.dates import as_dates
    >>> as_dates(pd.Series(["31/01/2020", None])).values.tolist()
    [Timestamp('2020-01-31 00:00:00'), NaT]
    >>> as_dates(pd.Series(["2/1/2020", "3/1/2020"])).note
    'day first: 2/1/2020 is the 2nd day of the 1st month'
    >>> as_dates(pd.Series(["2020", "II"])).values is None
    True
    """
    pandas = import_pandas()
    known = column.notna().to_numpy()
    # Most columns of text are told by their first cells.
    begin = (cell for cell in column.to_numpy(object)[known] if not is_no_number(cell))
    if all(spelt(cell) is None for cell in islice(begin, N_FIRST)):
        return Dates(None)
    known &= [not is_no_number(cell) for cell in column]
    cells = column.to_numpy(object)[known]
    if not all(isinstance(cell, str) for cell in cells):
        return Dates(None)
    codes, texts = pandas.factorize(cells)
    found = [spelt(text) for text in texts]
    is_other = np.array([each is None for each in found])[codes]
    if is_other.any():
        is_near = np.mean(~is_other) >= NEARLY_ALL
        return Dates(None, nearly(cells, is_other, np.flatnonzero(known)) if is_near else "")
    parts = [each for each in found if each is not None]
    fits = {way: [moment(each, way) for each in parts] for way in ORDERS}
    good = [way for way in ORDERS if None not in fits[way]]
    if order is not None and order not in good:
        k = fits[order].index(None)
        is_date = any(fits[way][k] is not None for way in ORDERS)
        row = np.flatnonzero(known)[codes.tolist().index(k)] + 1
        note = (
            f"{texts[k].strip()!r} in data row {row}, which is not a date with the {FIRST[order]} "
            "first"
        )
        return Dates(None, note if is_date else "")
    if not good:
        both = all(any(fits[way][k] is not None for way in ORDERS) for k in range(len(parts)))
        return Dates(None, f"{mixed_orders(column)}; write them all as 2020-01-31" if both else "")
    way = order or good[0]
    note = ""
    if len(good) == 2 and order is None and fits["dmy"] != fits["mdy"]:
        k = next(k for k in range(len(parts)) if fits["dmy"][k] != fits["mdy"][k])
        day, month = ordinal(parts[k].first), ordinal(parts[k].second)
        note = f"day first: {str(texts[k]).strip()} is the {day} day of the {month} month"
    moments = np.array(fits[way], dtype="datetime64[us]")
    values = np.full(len(column), np.datetime64("NaT"), dtype="datetime64[us]")
    values[known] = moments[codes]
    series = pandas.Series(in_usual_unit(values), index=column.index, name=column.name)
    return Dates(series, note, way if fits["dmy"] != fits["mdy"] else None)


def mixed_orders(column: Any) -> str:
    """That some dates of a column can only have the day first, others only the month, if so.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.data.dates import mixed_orders
    >>> mixed_orders(pd.Series(["1/2/2020", "31/1/2020", "1/30/2020"]))
    "dates of which some can only have the day first ('31/1/2020' in data row 2), others only the
    month first ('1/30/2020' in data row 3)"
    >>> mixed_orders(pd.Series(["1/2/2020", "31/1/2020"]))
    ''
    """
    codes, cells = import_pandas().factorize(column_values(column).astype(object))
    only: dict[str, int] = {}
    for k, cell in enumerate(cells):
        ways = orders_of(cell)
        if len(ways) == 1:
            only.setdefault(ways[0], k)
    if len(only) < 2:
        return ""
    day, month = (
        f"({cells[only[way]].strip()!r} in data row {codes.tolist().index(only[way]) + 1:,})"
        for way in ORDERS
    )
    return (
        f"dates of which some can only have the day first {day}, others only the month first "
        f"{month}"
    )


def orders_of(cell: Any) -> list[str]:
    """The orders in which a cell is a date; none where it is not one, or where they are the same.

    Examples
    --------
    >>> from branchwise.data.dates import orders_of
    >>> orders_of("31/01/2020"), orders_of("1/2/2020"), orders_of("31.01.2020")
    (['dmy'], ['dmy', 'mdy'], [])
    """
    parts = spelt(cell)
    if parts is None or parts.sign in ("", "."):
        return []
    return [way for way in ORDERS if moment(parts, way) is not None]


def nearly(cells: Any, is_other: Any, rows: Any) -> str:
    """What to say of a column of dates with a few other cells.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.dates import nearly
    >>> nearly(["2020-01-31", "soon"], np.array([False, True]), [0, 4])
    "dates in 1 of 2 cells with a value, but 'soon' in data row 5, which is not one"
    """
    k, n = int(is_other.argmax()), len(is_other)
    return (
        f"dates in {n - int(is_other.sum()):,} of {n:,} cells with a value, but "
        f"{cells[k].strip()!r} in data row {rows[k] + 1}, which is not one"
    )


def in_usual_unit(moments: Any) -> Any:
    """An array of times in nanoseconds, as pandas has them, unless one is beyond these.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.dates import in_usual_unit
    >>> days = np.array(["2020-01-31", "9999-12-31"], dtype="datetime64[us]")
    >>> in_usual_unit(days[:1]).dtype, in_usual_unit(days).dtype
    (dtype('<M8[ns]'), dtype('<M8[us]'))
    """
    known = moments[~np.isnat(moments)].astype("datetime64[us]").astype(np.int64)
    fits = bool((np.abs(known) < np.iinfo(np.int64).max // 1000).all())
    return moments.astype("datetime64[ns]") if fits else moments


def spelt(cell: Any) -> Spelt | None:
    """The parts of a date, if it is one."""
    if not isinstance(cell, str):
        return None
    text = cell.strip()
    if not text[:1].isdecimal():
        return None
    if found := YEAR_FIRST.fullmatch(text):
        year, _, month, day, time, zone = found.groups()
        return Spelt(int(year), int(month), int(day), "", time or "", zone or "")
    if found := YEAR_LAST.fullmatch(text):
        first, sign, second, year, time, zone = found.groups()
        return Spelt(int(year), int(first), int(second), sign, time or "", zone or "")
    if found := NAMED.fullmatch(text):
        day, _, name, year, time, zone = found.groups()
        number = month_number(name)
        if number is not None:
            return Spelt(int(year), number, int(day), "", time or "", zone or "")
    return None


def month_number(name: str) -> int | None:
    """The number of a month by its English name, of three letters or whole.

    Examples
    --------
    >>> from branchwise.data.dates import month_number
    >>> month_number("JAN"), month_number("sept"), month_number("mad")
    (1, 9, None)
    """
    low = name.lower()
    fits = [k for k, month in enumerate(MONTHS, start=1) if month.startswith(low)]
    return fits[0] if len(fits) == 1 else None


def moment(date: Spelt, order: str) -> datetime | None:
    """The time in UTC, or None if there is no such day; with points the day always comes first."""
    month, day = date.first, date.second
    if date.sign == "." or (date.sign and order == "dmy"):
        month, day = day, month
    hour, minute, second, micro = 0, 0, 0, 0
    if date.time:
        whole, _, part = date.time.partition(".")
        hour, minute, *rest = (int(number) for number in whole.split(":"))
        second, micro = rest[0] if rest else 0, int(part.ljust(6, "0")) if part else 0
    try:
        found = datetime(date.year, month, day, hour, minute, second, micro)
        if date.zone and date.zone != "Z":
            zone = datetime.strptime(date.zone, "%z").tzinfo
            found = found.replace(tzinfo=zone).astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None
    return found


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th.

    Examples
    --------
    >>> from branchwise.data.dates import ordinal
    >>> [ordinal(k) for k in (1, 2, 3, 4, 11, 12, 13, 21)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '21st']
    """
    last = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else last}"


# Of all columns, or of each by its name.
DateOrder = str | Mapping[str, str] | None


def order_of(orders: DateOrder, name: str) -> str | None:
    """What is known of the order in one column.

    Examples
    --------
    >>> from branchwise.data.dates import order_of
    >>> order_of("mdy", "seen"), order_of({"born": "dmy"}, "seen")
    ('mdy', None)
    """
    return orders.get(name) if isinstance(orders, Mapping) else orders


def check_order(order: DateOrder) -> None:
    """Day or month first, or whatever the values say."""
    told = order.values() if isinstance(order, Mapping) else [order]
    if not all(each in (None, *ORDERS) for each in told):
        raise InputError(
            f"{setting('date_order', order)} must be 'dmy' (31/01/2020) or 'mdy' (01/31/2020), of "
            "all columns or in a dict by column; leave it out to let the values decide."
        )


def with_dates(frame: Any, names: Sequence[str]) -> Any:
    """A table that was written as text with these columns as dates again.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.data.dates import with_dates
    >>> with_dates(pd.DataFrame({"seen": ["2020-01-31", None]}), ["seen"])["seen"].dtype.kind
    'M'
    """
    read = {name: as_dates(frame[name]).values for name in names if name in frame}
    return assigned(frame, {name: dates for name, dates in read.items() if dates is not None})
