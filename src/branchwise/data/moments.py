"""Moments of columns, merged from chunk to chunk so that no large mean costs digits."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from .._typing import Bools, Floats, Matrix


class Moments(NamedTuple):
    """Number, mean and products about it of some rows, and the extremes of the columns."""

    n_rows: int
    mean: Floats
    products: Floats  # of centred columns, summed: (D,) with themselves, or (D, D)
    low: Floats
    high: Floats
    # What rounding has taken from the mean, or None if nobody keeps it: where the mean is large,
    # differences between chunks have few digits without it.
    lost: Floats | None = None

    def squares(self) -> Floats:
        """Sums of squares of the centred columns."""
        return self.products.diagonal() if self.products.ndim == 2 else self.products

    def times(self, factor: Floats) -> "Moments":
        """Moments of the columns times a power of two each, which is exact."""
        low, high = self.low * factor, self.high * factor
        lost = None if self.lost is None else self.lost * factor
        products = self.products * square(factor, self.products.ndim)
        return Moments(self.n_rows, self.mean * factor, products, low, high, lost)


def merge_moments(a: Moments, b: Moments) -> Moments:
    """Moments of two sets of rows together (Chan, Golub and LeVeque).

    Differences of means are taken first, so that large means cost no digits.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.moments import Moments, merge_moments
    >>> a = Moments(1, np.array([1.0]), np.array([0.0]), np.array([1.0]), np.array([1.0]))
    >>> b = Moments(2, np.array([4.0]), np.array([8.0]), np.array([2.0]), np.array([6.0]))
    >>> both = merge_moments(a, b)  # of 1, 2 and 6
    >>> both.mean, both.products  # (1 - 3)² + (2 - 3)² + (6 - 3)²
    (array([3.]), array([14.]))
    """
    n_rows = a.n_rows + b.n_rows
    low, high = np.minimum(a.low, b.low), np.maximum(a.high, b.high)
    with np.errstate(over="ignore", invalid="ignore"):
        apart = b.mean - a.mean
        if a.lost is None or b.lost is None:
            weight = a.n_rows * b.n_rows / n_rows
            mean, lost = a.mean + apart * (b.n_rows / n_rows), None
        else:
            apart = apart + (b.lost - a.lost)
            # The same number, rounded twice: fits on Dask arrays have always had it so, and their
            # last digits would change with it.
            weight = a.n_rows / n_rows * b.n_rows
            shift = a.lost + apart * (b.n_rows / n_rows)
            mean = a.mean + shift
            lost = shift - (mean - a.mean)
        products = a.products + b.products + weight * square(apart, a.products.ndim)
    return Moments(n_rows, mean, products, low, high, lost)


def square(x: Floats, n_dims: int) -> Floats:
    """The products of all pairs of numbers for two dimensions, their squares for one."""
    return np.outer(x, x) if n_dims == 2 else x**2


# Rows that differ from the most frequent value of a column: with fewer, little is known of it.
LEAST_VARIED = 5


def have_variety(X: Floats) -> Bools:
    """Which columns have at least five known values that differ from the most frequent one.

    The others are nearly constant: rare mutations, rare levels.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.moments import have_variety
    >>> rare, usual = np.zeros(20), np.arange(20.0)
    >>> rare[:4] = 1
    >>> have_variety(np.column_stack([rare, usual]))
    array([False,  True])
    """
    n_known = (~np.isnan(X)).sum(axis=0)
    ordered, at = np.sort(X, axis=0), np.arange(X.shape[1])  # NaN comes last
    found = n_known > LEAST_VARIED
    # All but four are equal if, in order, one of the first five is the one that is so much later.
    for first in range(min(LEAST_VARIED, len(X))):
        last = np.maximum(first + n_known - LEAST_VARIED, 0)
        found &= ordered[first] != ordered[np.minimum(last, len(X) - 1), at]
    return found


def extremes(X: Matrix) -> tuple[Floats, Floats]:
    """The least and the largest value of each column, with the zeros of a sparse matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.moments import extremes
    >>> extremes(np.array([[1.0, 5.0], [3.0, 4.0]]))
    (array([1., 4.]), array([3., 5.]))
    """
    low, high = (
        np.asarray(extreme.toarray() if sparse.issparse(extreme) else extreme, dtype=np.float64)
        for extreme in (X.min(axis=0), X.max(axis=0))
    )
    return low.ravel(), high.ravel()
