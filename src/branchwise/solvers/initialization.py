"""Where DDRTree starts: centres of clusters of some of the points, and the width around them.

Which points are looked at, and in which order, depends neither on how the table is sorted, nor on
its units, nor on how it is divided into chunks. Ward's clusters need no chance and are those of
coordinates on a grid, on which two units differ in nothing; k-means is for who asks for a seed.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from .._compat import kernel
from .._typing import Floats, Ints

# K-means looks at up to this many samples per centre.
SAMPLES_PER_CENTER = 50
# Ward's clusters are made of up to so many samples, or so many per centre if that is more; more
# than MAX_WARD at a time are divided first, since their time grows with the square.
MAX_WARD, WARD_PER_CENTER = 3000, 3
# Their distances are measured along so many principal components at most.
WARD_COMPONENTS = 50
# The grid has 2²⁰ steps to a length that is not a round number of anything: what would lie halfway
# between two of its points in one unit, and not in another, lies there by accident only.
GRID_STEP = 0.7390851332151607 * 2.0**-20
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
    """The points that the start looks at: keys are as good as random, and the same in any order.

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


def on_grid(Z: Floats) -> tuple[Floats, float]:
    """Whole numbers of steps of a grid, and its step: a millionth of how far the points spread.

    The last bits, in which units, offsets and the order of sums differ, are gone. Where many
    distances are equal, as in tables of rounded numbers or counts, those between points of the grid
    are not, for almost all of them, and what follows does not hang on rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.solvers.initialization import on_grid
    >>> Z = np.array([[-0.1], [0.0], [0.1]])
    >>> bool((on_grid(Z)[0] == on_grid(3 * Z)[0]).all())
    True
    """
    norms = np.sqrt(np.einsum("ij,ij->i", Z, Z))
    # Of the middle one: a few samples that lie far out do not make the grid coarse for all others.
    spread = float(np.median(norms)) or float(norms.max())
    if spread == 0:
        return np.zeros_like(Z), 1.0
    step = GRID_STEP * spread
    return np.round(Z / step), step


def ward_centers(drawn: Candidates, n_centers: int) -> Floats:
    """Means of Ward's clusters of the candidates: bit for bit the same clusters in any unit.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.solvers.initialization import candidates, ward_centers
    >>> drawn = candidates(np.arange(4), np.array([[0.0], [1.0], [10.0], [11.0]]), 4)
    >>> np.sort(ward_centers(drawn, 2).ravel()).round(4)
    array([ 0.5, 10.5])
    """
    P, step = on_grid(drawn.Z)
    order = np.lexsort(P.T[::-1])
    P, weights = P[order], drawn.counts[order].astype(np.float64)
    if len(P) <= n_centers:
        # No more distinct samples than centres: some centres start, and may stay, together.
        return P[np.arange(n_centers) % len(P)] * step
    label = np.empty(len(P), dtype=np.int64)
    n_labels = 0
    for rows, n_parts in divided(P[:, :WARD_COMPONENTS], np.arange(len(P)), n_centers):
        label[rows] = n_labels + ward(P[rows, :WARD_COMPONENTS], weights[rows], n_parts)
        n_labels += n_parts
    total = np.bincount(label, weights)
    sums = [np.bincount(label, weights * column) for column in P.T]
    return np.column_stack(sums) / total[:, np.newaxis] * step


def divided(P: Floats, rows: Ints, n_clusters: int) -> list[tuple[Ints, int]]:
    """Parts of at most MAX_WARD rows, halved along their widest side, and clusters for each."""
    if len(rows) <= MAX_WARD or n_clusters < 2:
        return [(rows, n_clusters)]
    widest = int(np.argmax(np.ptp(P[rows], axis=0)))
    rows = rows[np.argsort(P[rows, widest], kind="stable")]
    half, n_half = len(rows) // 2, n_clusters // 2
    return divided(P, rows[:half], n_half) + divided(P, rows[half:], n_clusters - n_half)


def ward(P: Floats, weights: Floats, n_clusters: int) -> Ints:
    """The number of the cluster of each point, in the order of their first points.

    Ward's clusters: those two are joined that add least to the squared distances of the points,
    which have weights, to the means of their clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.solvers.initialization import ward
    >>> ward(np.array([[0.0], [9.0], [1.0], [5.0]]), np.ones(4), 2).tolist()
    [0, 1, 0, 1]
    """
    n_points = len(P)
    joins, cost = np.empty((n_points - 1, 2), dtype=np.int64), np.empty(n_points - 1)
    join_nearest(P.copy(), weights.copy(), np.arange(n_points), joins, cost)
    cheapest = joins[np.argsort(cost, kind="stable")[: n_points - n_clusters]]
    graph = sparse.coo_array((np.ones(len(cheapest)), cheapest.T), shape=(n_points, n_points))
    return connected_components(graph, directed=False)[1]


@kernel
def join_nearest(mean: Floats, weight: Floats, left: Ints, joins: Ints, cost: Floats) -> None:
    """Join clusters that are each other's nearest, until there is one.

    A chain leads from a cluster to its nearest, to the nearest of that one, and so on; what was
    joined elsewhere never makes a link of it wrong, so that it is gone along only once. Of equally
    near ones the first is taken, and before it the one that the chain came from.
    """
    chain = np.empty(len(mean), dtype=np.int64)
    length, n_left = 0, len(mean)
    while n_left > 1:
        if length == 0:
            chain[0], length = left[0], 1
        own = chain[length - 1]
        came_from = chain[length - 2] if length > 1 else -1
        nearest, least = -1, np.inf
        for place in range(n_left):
            other = left[place]
            if other == own:
                continue
            apart = 0.0
            for axis in range(mean.shape[1]):
                apart += (mean[own, axis] - mean[other, axis]) ** 2
            apart *= weight[own] * weight[other] / (weight[own] + weight[other])
            is_first = other == came_from or (other < nearest and nearest != came_from)
            if apart < least or (apart == least and is_first):
                nearest, least = other, apart
        if nearest != came_from:
            chain[length] = nearest
            length += 1
            continue
        n_left -= 1
        length -= 2
        done = len(mean) - 1 - n_left
        joins[done, 0], joins[done, 1], cost[done] = own, nearest, least
        total = weight[own] + weight[nearest]
        for axis in range(mean.shape[1]):
            both = weight[own] * mean[own, axis] + weight[nearest] * mean[nearest, axis]
            mean[nearest, axis] = both / total
        weight[nearest] = total
        for place in range(n_left):
            if left[place] == own:
                left[place] = left[n_left]


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
