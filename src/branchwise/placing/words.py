"""Which columns make a row far, or lie beyond the training table, in words for a table."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._typing import Floats, Ints
from ..solvers.conditional import TreeModel
from .trust import beyond, expected_of, residuals_of

# So many columns are named of a row.
N_NAMED = 3
# Dates further away are told as numbers of days: about a thousand years.
MOST_DAYS = 4e5


def to_name(tree: TreeModel, rows: Floats, usual: float) -> tuple[Ints, Ints, Floats]:
    """Rows and columns with a residual larger than usual, and what is expected in their place.

    Of each row the column with the largest residual is taken out, and again, at most three times,
    until none is larger than usual: a wrong value makes others look wrong. What is expected is what
    the columns that are left say, in prepared units.

    Examples
    --------
    A row that agrees with the first of two places but for its last column.

    >>> import numpy as np
    >>> from branchwise.placing.words import to_name
    >>> from branchwise.solvers.conditional import TreeModel
    >>> axes, ends = np.array([[0.6, 0.0, 0.8]]), np.array([[0.0], [10.0]])
    >>> half = np.ones(2) / 2
    >>> tree = TreeModel(axes, np.zeros(3), ends, half, np.eye(1), np.ones(3))
    >>> to_name(tree, np.array([[0.0, 0.0, 90.0]]), 3.0)
    (array([0]), array([2]), array([0.]))
    """
    left, named = rows.copy(), []
    active = np.arange(len(rows))
    for _ in range(min(N_NAMED, rows.shape[1] - 1)):
        size = np.abs(residuals_of(tree, left[active]).scaled)
        worst = size.argmax(axis=1)
        is_large = size[np.arange(len(active)), worst] > usual
        active, worst = active[is_large], worst[is_large]
        if not len(active):
            break
        left[active, worst] = np.nan
        named.append((active, worst))
    if not named:
        nothing = np.empty(0, dtype=np.intp)
        return nothing, nothing, np.empty(0)
    at, columns = (np.concatenate(part) for part in zip(*named, strict=True))
    order = np.argsort(at, kind="stable")
    at, columns = at[order], columns[order]
    return at, columns, expected_of(tree, left)[at, columns]


def driver_words(
    n: int,
    rows: Ints,
    columns: Ints,
    names: Sequence[str],
    values: Floats,
    expected: Floats,
    day_zero: Sequence[str | None],
) -> Any:
    """The columns of each of n rows that are to be named, with what the other columns let expect.

    Parameters
    ----------
    n : int
    rows, columns : arrays of int, shape (n_named,)
        As `to_name` gives them.
    names : sequence of str, of length n_columns
    values, expected : arrays of shape (n_named,)
        In the units of the table; NaN where a column has no number.
    day_zero : sequence of (str or None), of length n_columns
        The date of day 0 of columns of days.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.placing.words import driver_words
    >>> one, values, expected = np.array([1]), np.array([135.0]), np.array([13.24])
    >>> driver_words(2, one, one, ["age", "hb"], values, expected, [None, None]).tolist()
    ['', 'hb 135 (expected 13.24)']
    """
    told: list[list[str]] = [[] for _ in range(n)]
    for i, j, value, wanted in zip(rows, columns, values, expected, strict=True):
        first = day_zero[j]
        rest = f"expected {written(wanted, first)}"
        told[i].append(column_word(names[j], value, rest, wanted, first=first))
    # A category has several columns.
    said = ["; ".join(dict.fromkeys(words)) for words in told]
    return np.array(said or [""], dtype=object)[:n]


def column_word(
    name: str, value: float, rest: str, *needed: float, first: str | None = None
) -> str:
    """A column with its value and a remark, or its name alone where these are not numbers."""
    if np.isnan([value, *needed]).any():
        return name
    return f"{name} {written(value, first)} ({rest})"


def written(value: float, first: str | None = None) -> str:
    """A value with four digits; days since a first one as a date, if it is in our times.

    Examples
    --------
    >>> from branchwise.placing.words import written
    >>> written(1234.56), written(31.0, "2024-01-01"), written(-1e9, "2024-01-01")
    ('1235', '2024-02-01', '-1e+09')
    """
    if first is None or not abs(value) <= MOST_DAYS:
        return f"{value:.4g}"
    return str((np.datetime64(first, "s") + round(86400 * value)).astype("datetime64[D]"))


def between(low: float, high: float, first: str | None) -> str:
    """A range in words."""
    if low == high:
        return f"always {written(low, first)} in the fit"
    return f"{written(low, first)} to {written(high, first)}"


def range_words(
    X: Floats,
    low: Floats,
    high: Floats,
    room: float,
    names: Sequence[str],
    day_zero: Sequence[str | None],
) -> Any:
    """The columns that lie beyond the range of the training table by more than this part of it.

    The farthest ones, at most three, and how many more.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.placing.words import range_words
    >>> low, high = np.array([8.1, 20.0]), np.array([17.2, 90.0])
    >>> X = np.array([[135.0, 40.0], [9.0, np.nan]])
    >>> range_words(X, low, high, 0.1, ["hb", "age"], [None, None]).tolist()
    ['hb 135 (8.1 to 17.2)', '']
    """
    is_beyond = beyond(X, low, high, room)
    words = np.full(len(X), "", dtype=object)
    for i in np.flatnonzero(is_beyond.any(axis=1)):
        columns = np.flatnonzero(is_beyond[i])
        away = np.maximum(low[columns] - X[i, columns], X[i, columns] - high[columns])
        width = (high - low)[columns]
        away = np.where(width > 0, away / np.where(width > 0, width, 1.0), np.inf)
        columns = columns[np.argsort(-away, kind="stable")]
        told = [
            column_word(names[j], X[i, j], between(low[j], high[j], day_zero[j]), first=day_zero[j])
            for j in columns[:N_NAMED]
        ]
        more = len(columns) - N_NAMED
        words[i] = "; ".join(told + [f"and {more} more"] * (more > 0))
    return words
