"""Where DDRTree starts: centres by k-means on some of the points, and the width around them.

Which points k-means looks at, and in which order, depends neither on how the table is sorted, nor
on its units, nor on how it is divided into chunks.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import KDTree
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from .._typing import Floats, Ints

# K-means looks at up to this many samples per centre.
SAMPLES_PER_CENTER = 50
# Points that are no farther apart than this, against the largest coordinate, differ by rounding.
TOGETHER = 1e-13


@dataclass(frozen=True)
class Candidates:
    """Points of the rows with the smallest keys, each different row once, at most so many."""

    keys: Ints
    Z: Floats
    counts: Ints
    n_kept: int


def candidates(keys: Ints, Z: Floats, n_kept: int) -> Candidates:
    """The points that k-means looks at: keys are as good as random, and the same in any order.

    Equal rows have equal keys: they come once, with their number, or one of many would fill the
    whole sample.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.solvers.initialization import candidates
    >>> drawn = candidates(np.array([7, 3, 7, 9]), np.array([[1.0], [2.0], [1.0], [4.0]]), 2)
    >>> drawn.Z.ravel(), drawn.counts
    (array([2., 1.]), array([1, 2]))
    """
    keys, first, counts = np.unique(keys, return_index=True, return_counts=True)
    return Candidates(keys[:n_kept], Z[first[:n_kept]], counts[:n_kept], n_kept)


def merge_candidates(a: Candidates, b: Candidates) -> Candidates:
    """The candidates among two sets: none of them can be missing from both."""
    keys, first, inverse = np.unique(
        np.concatenate([a.keys, b.keys]), return_index=True, return_inverse=True
    )
    counts = np.zeros(len(keys), dtype=np.int64)
    np.add.at(counts, inverse.ravel(), np.concatenate([a.counts, b.counts]))
    n_kept, Z = a.n_kept, np.concatenate([a.Z, b.Z])
    return Candidates(keys[:n_kept], Z[first[:n_kept]], counts[:n_kept], n_kept)


def starting_centers(drawn: Candidates, n_rows: int, n_centers: int, seed: Any) -> Floats:
    """K-means on the candidates, or on all rows if these are no more.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.solvers.initialization import candidates, starting_centers
    >>> drawn = candidates(np.arange(4), np.array([[0.0], [1.0], [10.0], [11.0]]), 4)
    >>> np.sort(starting_centers(drawn, 4, 2, np.random.RandomState(0)).ravel())
    array([ 0.5, 10.5])
    """
    Z, weights = drawn.Z, drawn.counts
    if len(Z) <= n_centers:
        # No more distinct samples than centres: some centres start, and may stay, together. K-means
        # would leave it to rounding which.
        return Z[np.argsort(Z[:, 0], kind="stable")][np.arange(n_centers) % len(Z)]
    if weights.sum() == n_rows and n_rows <= drawn.n_kept:
        Z, weights = np.repeat(Z, weights, axis=0), np.ones(n_rows, dtype=np.int64)
    # K-means draws by position.
    order = np.argsort(Z[:, 0], kind="stable")
    means = KMeans(n_centers, n_init=1, max_iter=100, random_state=seed)
    with warnings.catch_warnings():
        # Fewer distinct samples than centres: some centres start, and may stay, together.
        warnings.simplefilter("ignore", ConvergenceWarning)
        means.fit(Z[order], sample_weight=weights[order])
    return np.asarray(means.cluster_centers_)


def spread_around(Z: Floats, C: Floats, n_jobs: int = 1) -> tuple[float, float]:
    """How far points spread around the centres, and in how many directions.

    First, the mean squared distance to the nearest centre that stands without the point. A
    centre is the mean of the m points nearest to it; without one of them it would be m/(m−1)
    times as far from that point. For many points per centre this is the plain mean squared
    distance to the nearest centre; for one point per centre, to the nearest other point.

    Second, Tr(G)²/Tr(G²) for the covariance G of the differences to the nearest centre, that of
    another point where every point has its own: D for equal spread in D directions, near 1 if
    one direction outweighs the others.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.solvers.initialization import spread_around
    >>> points = np.array([[0.0], [1.0], [3.0]])
    >>> spread_around(points, points)  # (1 + 1 + 4)/3
    (2.0, 1.0)
    """
    near = nearest_two(Z, C, n_jobs)
    return spread_per_point(spread_sums(Z, C, near, nearest_sizes(near, len(C)), len(Z)), len(Z))


Near = tuple[Floats, Ints]


def nearest_two(Z: Floats, C: Floats, n_jobs: int = 1) -> Near:
    """Distances of each point to its two nearest centres, and which these are."""
    distance, index = KDTree(C).query(Z, k=[1, 2], workers=n_jobs)
    # Points of equal rows are together, wherever they were computed.
    distance[distance <= TOGETHER * np.abs(C).max()] = 0
    return distance, index


def nearest_sizes(near: Near, n_centers: int) -> Ints:
    """How many points each centre is nearest to."""
    return np.bincount(near[1][:, 0], minlength=n_centers)


@dataclass
class SpreadSums:
    """Of some points: squared distances, and products of the differences to the centres."""

    squared: float
    products: Floats


def spread_sums(Z: Floats, C: Floats, near: Near, sizes: Ints, n_points: int) -> SpreadSums:
    """What `spread_around` needs of some of n_points points, `sizes` being those of all."""
    distance, index = near
    size = sizes[index[:, 0]]
    factor = np.divide(size, size - 1, out=np.full(len(Z), np.inf), where=size > 1)
    with np.errstate(invalid="ignore"):
        own = np.nan_to_num(factor * distance[:, 0], nan=np.inf)
    squared = float((np.minimum(own, distance[:, 1]) ** 2).sum())
    apart = Z - C[index[:, 1 if len(C) == n_points else 0]]
    is_wide = n_points == len(Z) < apart.shape[1]
    return SpreadSums(squared, apart @ apart.T if is_wide else apart.T @ apart)


def merge_spread(a: SpreadSums, b: SpreadSums) -> SpreadSums:
    """Of both."""
    return SpreadSums(a.squared + b.squared, a.products + b.products)


def spread_per_point(sums: SpreadSums, n_points: int) -> tuple[float, float]:
    """The mean squared distance, and the number of directions."""
    mean, G = sums.squared / n_points, sums.products
    trace = float(np.trace(G))
    if trace == 0:
        return mean, 1.0
    G = G / trace  # its squares might overflow
    return mean, min(1 / float(np.vdot(G, G)), float(len(G)))
