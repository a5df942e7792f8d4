"""How much to trust a place: how far a row is, how sure its time and branch, and which columns."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .._typing import Bools, Floats, Ints
from ..solvers.conditional import (
    Sums,
    TreeModel,
    apply,
    products,
    shares_of_places,
    squared_distances,
    sums_over_columns,
)
from .places import Places

# The part of a row's distribution over the tree that lies in its interval.
LEVEL = 0.95
# Numbers that are held at a time.
BLOCK = 2**22


class Trust(NamedTuple):
    """What a tree says of rows, one entry for each.

    Where nothing is known of a row, all of it is NaN.
    """

    misfit: Floats  # √(squared distance to the nearest place / known columns)
    n_known: Ints  # columns
    lower: Floats  # pseudotime
    upper: Floats
    branches: Floats  # (n, n_branches): probabilities
    largest: Floats  # the largest residual, without its sign


class Residuals(NamedTuple):
    """Of each column given the others, for the place nearest to the row; 0 where not known."""

    scaled: Floats  # (n, D): in units of its standard deviation given the other columns


def trust_of(tree: TreeModel, places: Places, n_branches: int, rows: Floats) -> Trust:
    """How much to trust the places of prepared rows, NaN where a value is not known.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.placing.places import Places
    >>> from branchwise.placing.trust import trust_of
    >>> from branchwise.solvers.conditional import TreeModel
    >>> axes, ends = np.array([[0.6, 0.8]]), np.array([[0.0], [10.0]])
    >>> half, one = np.ones(2) / 2, np.ones(1)
    >>> tree = TreeModel(axes, np.zeros(2), ends, half, np.eye(1), np.ones(2))
    >>> both, times = np.array([0, 1]), np.array([0.0, 10.0])
    >>> places = Places(ends, half, np.array([0, 0]), times, both, times - 1, times + 1)
    >>> found = trust_of(tree, places, 1, np.array([[6.0, 8.0], [3.0, np.nan]]))
    >>> found.n_known, found.lower, found.upper
    (array([2, 1]), array([ 9., -1.]), array([11., 11.]))
    """
    order = np.argsort(places.pseudotime, kind="stable")
    # A row may be anywhere in a stretch, not only at the place that stands for it.
    earliest, latest = places.earliest[order], places.latest[order]
    tails = (1 - LEVEL) / 2
    of_branch = np.zeros((len(order), n_branches))
    of_branch[np.arange(len(order)), places.branch] = 1.0
    parts = []
    for block in blocks(tree, rows):
        sums = sums_over_columns(tree, block)
        squared = squared_distances(tree, sums)
        shares, _ = shares_of_places(tree, squared)
        n_known = sums.known.sum(axis=1)
        nearest = squared.argmin(axis=1)
        mean_square = squared[np.arange(len(block)), nearest] / np.maximum(n_known, 1)
        below = np.cumsum(shares[:, order], axis=1)
        ends = (below >= tails).argmax(axis=1), (below < 1 - tails).sum(axis=1)
        lower, upper = earliest[ends[0]], latest[np.minimum(ends[1], len(order) - 1)]
        largest = np.abs(residuals(tree, block, sums, nearest).scaled).max(axis=1)
        is_empty = n_known == 0
        columns = np.column_stack([np.sqrt(mean_square), lower, upper, largest, shares @ of_branch])
        columns[is_empty] = np.nan
        parts.append((columns, n_known))
    columns = np.vstack([part for part, _ in parts] or [np.empty((0, 4 + n_branches))])
    n_known = np.concatenate([part for _, part in parts] or [np.empty(0, dtype=np.intp)])
    misfit, lower, upper, largest = columns[:, :4].T
    return Trust(misfit, n_known, lower, upper, columns[:, 4:], largest)


def residuals_of(tree: TreeModel, rows: Floats) -> Residuals:
    """Of each column, given the other columns and the place that is nearest to all of them.

    Examples
    --------
    A row that agrees with the first of two places but for its last column.

    >>> import numpy as np
    >>> from branchwise.placing.trust import residuals_of
    >>> from branchwise.solvers.conditional import TreeModel
    >>> axes, ends = np.array([[0.6, 0.8, 0.0]]), np.array([[0.0], [10.0]])
    >>> half = np.ones(2) / 2
    >>> tree = TreeModel(axes, np.zeros(3), ends, half, np.eye(1), np.ones(3))
    >>> residuals_of(tree, np.array([[0.0, 0.0, 7.0]])).scaled.round(1) + 0
    array([[0., 0., 7.]])
    """
    sums = sums_over_columns(tree, rows)
    return residuals(tree, rows, sums, squared_distances(tree, sums).argmin(axis=1))


def expected_of(tree: TreeModel, rows: Floats) -> Floats:
    """What the known columns let expect of all, for the place that is nearest to them.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.placing.trust import expected_of
    >>> from branchwise.solvers.conditional import TreeModel
    >>> axes, ends = np.array([[0.6, 0.8]]), np.array([[0.0], [10.0]])
    >>> tree = TreeModel(axes, np.zeros(2), ends, np.ones(2) / 2, np.eye(1), np.ones(2))
    >>> expected_of(tree, np.array([[6.0, np.nan]])).round(3)
    array([[6., 8.]])
    """
    sums = sums_over_columns(tree, rows)
    c = tree.places[squared_distances(tree, sums).argmin(axis=1)]
    return tree.mean + (c + apply(sums.K, sums.b - apply(sums.G, c))) @ tree.axes


def residuals(tree: TreeModel, rows: Floats, sums: Sums, nearest: Ints) -> Residuals:
    """The same when the sums and the nearest places are known.

    With the precision Λ of the known columns given a place t, and e = y − mean − Aᵀc_t, the
    residual of column j given the others is (Λe)_j/Λ_jj and has the variance 1/Λ_jj.
    """
    A, psi = tree.axes, tree.noise
    c = tree.places[nearest]
    e = np.where(sums.known, rows - tree.mean - c @ A, 0.0)
    w = apply(sums.K, sums.b - apply(sums.G, c))
    precise = np.where(sums.known, (e - w @ A) / psi, 0.0)  # Λe
    flat = sums.K.reshape(len(sums.K), -1)
    own = (1 - (flat @ products(A.T).T) / psi) / psi  # Λ_jj
    own = np.maximum(own, np.finfo(np.float64).tiny)
    return Residuals(precise / np.sqrt(own))


def blocks(tree: TreeModel, rows: Floats) -> Iterator[Floats]:
    """Some rows at a time; with gaps each has matrices of its own, so that they go by themselves.

    What is said of a row does not depend on the others, but for rounding.
    """
    d = len(tree.axes)
    n_rows = max(1, BLOCK // max(rows.shape[1], len(tree.places), d * d))
    for start in range(0, len(rows), n_rows):
        yield rows[start : start + n_rows]


def beyond(X: Floats, low: Floats, high: Floats, room: float) -> Bools:
    """Which values lie beyond the range by more than this part of it; none that is not known.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.placing.trust import beyond
    >>> beyond(np.array([[1.05, 1.2, np.nan]]), np.zeros(3), np.ones(3), 0.1)
    array([[False,  True, False]])
    """
    width = room * (high - low)
    return ~np.isnan(X) & ~((low - width <= X) & (high + width >= X))


def farthest(X: Floats, low: Floats, high: Floats) -> Floats:
    """How far the farthest value of each row lies beyond its range, as a part of it.

    Columns that are constant, or that are not numbers, have no say.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.placing.trust import farthest
    >>> X = np.array([[1.5, 9.0, 0.5], [0.5, np.nan, 0.5]])
    >>> farthest(X, np.array([0.0, 9.0, 0.0]), np.array([1.0, 9.0, 1.0]))
    array([0.5, 0. ])
    """
    has_range = (low < high) & np.isfinite(high - low)
    X, low, high = X[:, has_range], low[has_range], high[has_range]
    away = np.maximum(low - X, X - high) / (high - low)
    return np.asarray(np.fmax(away, 0.0).max(axis=1, initial=0.0))
