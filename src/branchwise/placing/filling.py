"""Gaps filled by the tree itself: the model that `Preparation(impute="model")` learns.

1. Factor analysis of the known values (`branchwise.solvers.factors`) fills the gaps for a start.
2. A tree is learned from the filled rows, the default way (`branchwise.trajectory.learning`).
3. Around it the scatter S, and then the axes, the mean and the noise, are fitted to the rows with
   their gaps, and the gaps are filled again with what the tree makes likely.

2 and 3 go round until filled values move little. Each expectation–maximisation, that of 1 and the
two of 3, never makes the known values less likely (the axes': with their prior). A round as a whole
may: its tree is learned from filled rows, by other means.

Outlying values of a column, such as those in a wrong unit, stay in the table, but
are unknown to the model: one in a hundred would bend what is put in the gaps of all rows. Levels of
categories are never outlying, however rare.

Nothing is drawn by chance, and the order of the rows leaves no trace.
"""

from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from .._messages import setting
from .._typing import Bools, Floats
from ..data.row_order import row_keys
from ..solvers.conditional import (
    TreeModel,
    column_variances,
    condition,
    fill,
    fit_tree_model,
)
from ..solvers.factors import TOL, fit_axes, fit_factors
from ..trajectory.learning import N_COMPONENTS, learn
from .places import places_of

# The model is learned from so many rows at most.
MAX_ROWS = 2000
# A value of a column is outlying if it is so many times as far beyond the middle nine
# tenths of them as these are wide. One, two, three and five were tried, and distances from the
# median of 5, 10 and 20 times the usual one (benchmarks/imputation.md).
TAIL, OUTLYING = 0.05, 3.0
# Products of values that are all smaller have no digits.
SMALLEST = 1e-153
# Rounds, and how far filled values may move in the last one: the root mean square, in standard
# deviations of their columns.
MAX_ROUNDS, SETTLED = 3, 0.05


class Filling(NamedTuple):
    """What fills gaps: the distribution of rows, and the values that it goes by."""

    model: TreeModel
    low: Floats  # (D,)
    high: Floats


def learn_filling(rows: Floats, is_contrast: Bools | None = None) -> Filling:
    """The distribution of rows around a tree that is learned from rows with gaps.

    Parameters
    ----------
    rows : array of shape (n, D)
        NaN where a value is not known; every column has some that are.
    is_contrast : array of bool, shape (D,), or None
        The columns of categories; none of them if it is not given.

    Examples
    --------
    A simulated tree, of which every fifth value is missing.

    >>> import numpy as np
    >>> from branchwise.datasets import make_tree
    >>> from branchwise.placing.filling import learn_filling
    >>> from branchwise.solvers.filling import fill_rows
    >>> X = make_tree(300, 10, topology="bifurcation", noise=0.02, random_state=0).X
    >>> is_gap = np.random.default_rng(0).random(X.shape) < 0.2
    >>> rows = np.where(is_gap, np.nan, X)
    >>> filled = fill_rows(rows, *learn_filling(rows))
    >>> apart, spread = np.abs(filled - X)[is_gap], np.abs(X - X.mean(axis=0))[is_gap]
    >>> bool(apart.mean() < 0.25 * spread.mean())
    True
    """
    # One thread, as in the fits: more get in each other's way on a busy machine.
    with threadpool_limits(limits=1):
        some = some_rows(rows)
        check_enough(some, len(rows))
        low, high = usual_range(some, is_contrast)
        is_outlying = (some < low) | (some > high)
        return Filling(filled_in_rounds(np.where(is_outlying, np.nan, some)), low, high)


def check_enough(some: Floats, n_rows: int) -> None:
    """A tree is learned from two rows or more, of values whose squares are numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.placing.filling import check_enough
    >>> check_enough(np.array([[1.0, np.nan]]), 9)
    Traceback (most recent call last):
    ...
    ValueError: impute='model' learns a tree, which needs two rows or more with a known value, but 1
    of 9 rows has one; fill more of them in, or leave columns with gaps out.
    """
    if len(some) < 2:
        raise ValueError(
            f"{setting('impute', 'model')} learns a tree, which needs two rows or more with a "
            f"known value, but {len(some)} of {n_rows:,} rows has one; fill more of them in, or "
            "leave columns with gaps out."
        )
    size = float(np.nanmax(np.abs(some)))
    if 0 < size < SMALLEST:
        raise ValueError(
            f"{setting('impute', 'model')} needs values of at least {SMALLEST} in size, as their "
            f"squares vanish otherwise, but the largest has {size:.3g}; standardise them "
            f"({setting('standardize')}), or multiply them by {1 / size:.0e}."
        )


def usual_range(rows: Floats, is_contrast: Bools | None = None) -> tuple[Floats, Floats]:
    """The values of each column that are not outlying; any if most are equal, or of categories.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.placing.filling import usual_range
    >>> hb = np.r_[np.linspace(8, 17, 91), np.nan, 135]  # g/dl, and one in g/l
    >>> low, high = usual_range(np.c_[hb, hb > 50])
    >>> low.round(1), high.round(1)
    (array([-16.1,  -inf]), array([41.2,  inf]))
    """
    lower, upper = np.nanquantile(rows, [TAIL, 1 - TAIL], axis=0)
    has_tails = upper > lower if is_contrast is None else (upper > lower) & ~is_contrast
    room = np.where(has_tails, OUTLYING * (upper - lower), np.inf)
    return lower - room, upper + room


def filled_in_rounds(rows: Floats) -> TreeModel:
    """Fill, learn the tree, fit around it, until what is filled in settles."""
    is_gap = np.isnan(rows)
    if not is_gap.any():
        return around_tree(rows, rows)
    model = fit_factors(rows, n_factors(rows))
    filled = fill(model, rows, condition(model, rows))
    units = np.broadcast_to(np.sqrt(column_variances(rows)), rows.shape)[is_gap]
    for _ in range(MAX_ROUNDS):
        model = around_tree(filled, rows)
        before, filled = filled, fill(model, rows, condition(model, rows))
        moved = (filled - before)[is_gap] / units
        if np.sqrt(np.mean(moved**2)) < SETTLED:
            break
    return model


def around_tree(filled: Floats, rows: Floats) -> TreeModel:
    """The tree of filled rows, and what rows with gaps say of what lies around it."""
    path = learn(filled)
    places, estimator = places_of(path.view), path.estimator_
    given = (estimator.components_, estimator.mean_, places.points, places.weights)
    return fit_axes(fit_tree_model(rows, *given, tol=TOL * rows.shape[1]), rows)


def some_rows(rows: Floats) -> Floats:
    """Those of which anything is known, in an order of their own; some of many."""
    known = ~np.isnan(rows)
    rows = rows[known.any(axis=1)]
    keys = row_keys(np.where(np.isnan(rows), 0.0, rows))
    return rows[np.argsort(keys, kind="stable")[:MAX_ROWS]]


def n_factors(rows: Floats) -> int:
    """As many as a tree has components; fewer than there are rows or columns."""
    return max(1, min(N_COMPONENTS, rows.shape[1] - 1, rows.shape[0] - 1))
