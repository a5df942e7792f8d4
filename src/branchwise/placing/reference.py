"""What placing has to know of the training table besides the tree: how far its rows lie from it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._messages import counted
from .._typing import Bools, Floats, Ints
from ..solvers.conditional import TreeModel
from .places import Places


@dataclass(frozen=True, eq=False, repr=False)
class Reference:
    """How rows scatter around a tree, and how far from it those lay that it was not learned from.

    Attributes
    ----------
    spread : array of shape (d, d)
        The scatter around the tree along the axes, in prepared units, of rows that the tree was not
        learned from.
    noise : array of shape (n_prepared,)
        The variance that each prepared column of these has beside, before any pca.
    varies : array of bool, shape (n_prepared,)
        Columns that have a say in how far a row is: at least five rows of the training table
        differ from the most frequent value.
    low, high : arrays of shape (n_prepared,)
        The range of each of these in the training table, in its units: dates in days, ages in
        years; all numbers for the columns that do not vary.
    rows : array of int, shape (n_scored,)
        The training rows that were held out and scored, in order; none if that cannot be done.
    misfit : array of shape (n_scored,)
        Of each, √(squared Mahalanobis distance to the nearest place / its known columns).
    n_known : array of shape (n_scored,)
        The known columns of each.
    usual : float
        The largest residual of a column that 95 % of the rows held out stay below, in units of
        what is expected of it; a column beyond is named (`branchwise.placing.trust`).
    room : float
        How far values lie beyond the range of their column before that is told, as a part of the
        range: at least a tenth, and so far that 95 % of the rows held out have no such value.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.placing.reference import Reference
    >>> one, misfit = np.ones(1), np.linspace(0.5, 2, 19)
    >>> known = np.full(19, 10)
    >>> varies, low, rows = one > 0, 0 * one, np.arange(19)
    >>> found = Reference(np.eye(1), one, varies, low, one, rows, misfit, known, 3.0, 0.1)
    >>> found
    <Reference: 19 rows held out, 1 column>
    >>> found.p_values(np.array([2.5, 1.0]), np.array([10, 10]))
    array([0.05, 0.7 ])
    """

    spread: Floats
    noise: Floats
    varies: Bools
    low: Floats
    high: Floats
    rows: Ints
    misfit: Floats
    n_known: Ints
    usual: float
    room: float

    def __repr__(self) -> str:
        rows, columns = counted(len(self.rows), "row"), counted(len(self.noise), "column")
        return f"<Reference: {rows} held out, {columns}>"

    @cached_property
    def calibration(self) -> tuple[float, float]:
        """The usual cube root of a mean square, and its variance beyond that of a χ².

        A mean of the squares of m standard normal numbers has a cube root that is nearly normal
        with mean 1 − 2/(9m) and variance 2/(9m) (Wilson and Hilferty). Rows of a real table
        have another mean, and differ by more.
        """
        if not len(self.misfit):
            return 1.0, 0.0
        root, chance = np.cbrt(self.misfit**2), 2 / (9 * self.n_known)
        quarters = np.percentile(root, [25, 75])
        variance = ((quarters[1] - quarters[0]) / 1.349) ** 2
        return float(np.median(root + chance)), max(0.0, float(variance - np.median(chance)))

    def scores(self, misfit: Floats, n_known: Any) -> Floats:
        """Misfits on one scale, however many columns were known: higher is farther."""
        center, beyond = self.calibration
        with np.errstate(divide="ignore", invalid="ignore"):
            chance = 2 / (9 * np.asarray(n_known, dtype=np.float64))
            found = (np.cbrt(misfit**2) + chance - center) / np.sqrt(chance + beyond)
        return np.where(np.asarray(n_known) > 0, found, np.nan)

    @cached_property
    def sorted_scores(self) -> Floats:
        """Of the rows that were held out."""
        return np.sort(self.scores(self.misfit, self.n_known))

    def p_values(self, misfit: Floats, n_known: Any) -> Floats:
        """Conformal: (1 + held-out scores at least as large)/(1 + held-out scores)."""
        scores, n = self.scores(misfit, n_known), len(self.sorted_scores)
        if n == 0:
            return np.full(len(scores), np.nan)
        larger = n - np.searchsorted(self.sorted_scores, scores, side="left")
        return np.where(np.isnan(scores), np.nan, (1 + larger) / (1 + n))

    @cached_property
    def own_p(self) -> Floats:
        """Of the rows that were held out, among themselves."""
        n, scores = len(self.rows), self.scores(self.misfit, self.n_known)
        return (n - np.searchsorted(self.sorted_scores, scores, side="left")) / max(n, 1)

    def tree(self, axes: Floats, mean: Floats, places: Places) -> TreeModel:
        """The distribution of prepared rows."""
        return TreeModel(axes, mean, places.points, places.weights, self.spread, self.noise)


def axes_of(model: Any, pca: Any = None) -> tuple[Floats, Floats]:
    """The axes and the mean of an estimator in the space before a pca that it comes behind.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise import DDRTree
    >>> from branchwise.placing.reference import axes_of
    >>> from branchwise.preprocessing.steps import Axes
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> pca = Axes.fit(X, 3)
    >>> model = DDRTree(2).fit(pca.apply(X))
    >>> axes, mean = axes_of(model, pca)
    >>> bool(np.allclose((X - mean) @ axes.T, model.projection_))
    True
    """
    axes, mean = model.components_.astype(np.float64), model.mean_.astype(np.float64)
    if pca is None:
        return axes, mean
    return axes @ pca.components, pca.mean + mean @ pca.components
