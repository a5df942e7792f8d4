"""Dates in columns of any type, as microseconds since 1970 began."""

from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import numpy as np

from .._typing import Bools, Floats
from .categories import as_text, column_values, distinct, is_no_number
from .dates import ORDERS, moment, orders_of, spelt

MICROSECONDS = 86_400_000_000  # of a day
# Beyond these years a date is a slip of the pen, or stands for one that is not known.
FIRST_YEAR, LAST_YEAR = 1800, 2199
EPOCH = datetime(1970, 1, 1)
# "dmy" or "mdy", what 03/04/2024 means; None: nobody knows.
Order = str | None


class Instants(NamedTuple):
    """A column of dates in microseconds since 1970, NaN where missing; and cells that will not do.

    In an open one nobody can tell the day from the month.
    """

    values: Floats
    is_wrong: Bools
    is_open: Bools


def instants(column: Any, order: Order = None) -> Instants:
    """The dates in a column of any type, in UTC.

    Examples
    --------
    >>> from branchwise.data.instants import instants
    >>> instants(["1970-01-02", None, "soon", "03/04/2024"])
    Instants(values=array([8.64e+10,      nan,      nan,      nan]),
             is_wrong=array([False, False,  True, False]),
             is_open=array([False, False, False,  True]))
    """
    values = column_values(column)
    if values.dtype.kind == "M":
        known = ~np.isnat(values)
        # Of the others, microseconds might overflow.
        is_meant = known & has_meant_year(values)
        found = np.full(len(values), np.nan)
        found[is_meant] = values[is_meant].astype("datetime64[us]").astype(np.int64)
        return Instants(found, known & ~is_meant, np.zeros(len(values), dtype=bool))
    codes, cells = distinct(np.where(is_undated(values), None, values.astype(object)))
    read = [instant(cell, order) for cell in cells]
    # One more, for cells without a value.
    each = np.array([*(np.inf if value is None else value for value in read), np.nan])
    found = each[codes]
    is_wrong, is_open = np.isinf(found), np.isnan(found) & (codes >= 0)
    return Instants(np.where(is_wrong, np.nan, found), is_wrong, is_open)


def has_meant_year(values: Any) -> Any:
    """Which dates of NumPy, in whatever unit, are of a year that can be meant.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.instants import has_meant_year
    >>> has_meant_year(np.array(["1799-12-31", "1800-01-01", "2200-01-01"], "datetime64[s]"))
    array([False,  True, False])
    """
    years = values.astype("datetime64[Y]").astype(np.int64) + EPOCH.year
    return (years >= FIRST_YEAR) & (years <= LAST_YEAR)


def is_undated(values: Any) -> Bools:
    """Which cells are text that says that there is no date."""
    return np.array([is_no_number(value) for value in values], dtype=bool)


def instant(cell: Any, order: Order = None) -> float | None:
    """Microseconds since 1970 of one cell; NaN if day and month may be either, None if not a date.

    Examples
    --------
    >>> from branchwise.data.instants import instant
    >>> instant("1970-01-02"), instant("1970-01-01T02:00+02:00"), instant("soon")
    (86400000000.0, 0.0, None)
    >>> instant("03/04/2024"), instant("03/04/2024", "dmy"), instant("03.04.2024")
    (nan, 1712102400000000.0, 1712102400000000.0)
    >>> instant("31/03/2024", "mdy") is None
    True
    """
    if isinstance(cell, datetime):
        return since_epoch((cell.astimezone(UTC) if cell.tzinfo else cell).replace(tzinfo=None))
    if isinstance(cell, date):
        return since_epoch(datetime(cell.year, cell.month, cell.day))
    parts = spelt(as_text(cell))
    if parts is None:
        return None
    found = [moment(parts, way) for way in (ORDERS if order is None else (order,))]
    values = [since_epoch(when) for when in found if when is not None]
    if not values:
        return None
    return values[0] if all(value == values[0] for value in values) else np.nan


def since_epoch(when: datetime) -> float | None:
    """Microseconds since 1970, of a year that can be meant."""
    if not FIRST_YEAR <= when.year <= LAST_YEAR:
        return None
    passed = when - EPOCH
    return float(passed.days * MICROSECONDS + passed.seconds * 1_000_000 + passed.microseconds)


def is_beyond(cell: Any) -> bool:
    """Whether a cell is a date, but of a year that cannot be meant.

    Examples
    --------
    >>> from branchwise.data.instants import is_beyond
    >>> is_beyond("01/01/0217"), is_beyond("9999-12-31"), is_beyond("2020-12-31"), is_beyond("soon")
    (True, True, False, False)
    """
    if instant(cell) is not None:
        return False
    if isinstance(cell, date | np.datetime64):
        return True
    parts = spelt(as_text(cell))
    return parts is not None and any(moment(parts, way) is not None for way in ORDERS)


def order_in(column: Any) -> Order:
    """What the dates of a column say of others such as 03/04/2024: the first day above 12 tells.

    Examples
    --------
    >>> from branchwise.data.instants import order_in
    >>> order_in(["03/04/2024", "31/05/2024"]), order_in(["03/04/2024"])
    ('dmy', None)
    """
    values = column_values(column)
    if values.dtype.kind not in "OUT":
        return None
    for cell in distinct(values)[1]:
        fits = orders_of(cell)
        if len(fits) == 1:
            return fits[0]
    return None


def are_dates(column: Any) -> bool:
    """Whether a column holds dates: as such, or as text that can be nothing else.

    Examples
    --------
    >>> from branchwise.data.instants import are_dates
    >>> are_dates(["2024-03-01", None]), are_dates(["a", "b"]), are_dates([20240301])
    (True, False, False)
    """
    values = column_values(column)
    if values.dtype.kind not in "OUT":
        return bool(values.dtype.kind == "M")
    _, known = distinct(values[~is_undated(values)])
    if not known or not all(isinstance(value, str | date) for value in known):
        return False
    # Most columns of text are told by their first cell.
    return instant(known[0]) is not None and not instants(known).is_wrong.any()


def as_written(cell: Any) -> str:
    """A cell for a message: a date without the time of midnight.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.instants import as_written
    >>> as_written(np.datetime64("0217-01-01", "us")), as_written("soon")
    ('0217-01-01', 'soon')
    """
    if not isinstance(cell, np.datetime64):
        return as_text(cell)
    if np.isnat(cell) or not has_meant_year(cell):
        return str(cell.astype("datetime64[D]"))
    return as_iso(int(cell.astype("datetime64[us]").astype(np.int64)))


def as_iso(value: float) -> str:
    """Microseconds since 1970 as text that `instant` reads again.

    Examples
    --------
    >>> from branchwise.data.instants import as_iso
    >>> as_iso(86400000000.0), as_iso(90061500000.0)
    ('1970-01-02', '1970-01-02T01:01:01.500000')
    """
    text = str(np.datetime64(int(value), "us"))
    return text.removesuffix("T00:00:00.000000").removesuffix(".000000")
