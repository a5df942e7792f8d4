"""Is a branch there? Whether samples leave a gap between it and what it branches off from."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import bdtr

from .._typing import Floats, Ints
from ..graph.placement import Placement, Segments, degrees, on_segments
from .view import View

# A branch is kept if a gap as empty as its own has at most this probability without a branch.
LEVEL = 0.05
# Of two arms further apart than 120° none can be taken for the other.
WIDE = -0.5
# An arm is told by the samples beyond this part of its length, and by so many at least.
FAR, LEAST = 0.5, 10
# Samples nearer to the fork than this part of the arms are on all of them at once.
NEAR, OUTER = 0.7, 2.0
# Half the width of the three stretches that are compared, from −1 at one arm to 1 at the other.
HALF_WIDTH = 1 / 3
# Directions in which samples hardly scatter count as if they did so by this part of the mean.
LEAST_SPREAD = 0.1
# A graph with more tips has to be pruned before anything can be said of its branches.
MOST_TIPS = 50


# Cosine of the angle between two arms; samples at the first, in the middle, at the second.
Between = tuple[float, tuple[int, int, int]]


class Way(NamedTuple):
    """A path from a fork to a tip, and the samples on it."""

    tip: int
    arm: int  # its first segment
    length: float
    rows: Ints  # the nearest to the fork first
    distance: Floats  # from the fork


class Gap(NamedTuple):
    """What lies between two ways that leave the same fork."""

    fork: int
    ways: tuple[Way, Way]
    cosine: float  # of the angle between them
    counts: tuple[int, int, int]  # samples at the first, in the middle, at the second
    p: float


def gap_between(at_first: Ints, at_second: Ints, rows: Ints, points: Floats) -> Between:
    """How many samples lie at each of two arms and in the middle between them.

    Let a and b be the means of the samples on the far parts of two arms, seen from the fork.
    A sample x ≈ αa + βb lies at v = (α − β)/(α + β) between b (−1) and a (1). In a stretch that is
    filled evenly all v are equally frequent, so that fewer samples in the middle than at either
    arm tell that these are two. The sample itself is left out of a and b.

    Parameters
    ----------
    at_first, at_second : arrays of rows
        The samples on the far part of each arm.
    rows : array of rows
        All samples on both arms, in ascending order.
    points : array of shape (n_samples, n_dims)
        As seen from the fork.

    Returns
    -------
    cosine : float
        Of the angle between a and b.
    counts : tuple of three int
        Samples near v = 1, 0 and −1.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.evidence import gap_between
    >>> points = np.array([[1.0, 0.0], [1.2, 0.0], [0.0, 1.0], [0.0, 1.2], [0.6, 0.6]])
    >>> gap_between(np.array([0, 1]), np.array([2, 3]), np.arange(5), points)
    (0.0, (2, 1, 2))
    """
    X = points[rows]
    means = [points[one].mean(axis=0) for one in (at_first, at_second)]
    a, b = (without(X, rows, *one) for one in zip((at_first, at_second), means, strict=True))
    aa, bb, ab = (np.einsum("ij,ij->i", *pair) for pair in ((a, a), (b, b), (a, b)))
    ax, bx = np.einsum("ij,ij->i", a, X), np.einsum("ij,ij->i", b, X)
    # Of arms in one line nothing lies between: both sums are 0 then, but for rounding.
    determinant = np.maximum(aa * bb - ab**2, np.finfo(float).tiny)
    with np.errstate(all="ignore"):
        alpha, beta = (bb * ax - ab * bx) / determinant, (aa * bx - ab * ax) / determinant
        total = alpha + beta
        v = (alpha - beta) / total
    v = v[(total >= NEAR) & (total <= OUTER)]
    first, middle, second = (int((np.abs(v - at) < HALF_WIDTH).sum()) for at in (1, 0, -1))
    norms = np.linalg.norm(means[0]) * np.linalg.norm(means[1])
    cosine = float(means[0] @ means[1] / norms) if norms > 0 else 1.0
    return cosine, (first, middle, second)


def without(X: Floats, rows: Ints, group: Ints, mean: Floats) -> Floats:
    """For each sample the mean of a group, without the sample itself if it is in it."""
    n = len(group)
    return np.where(np.isin(rows, group)[:, np.newaxis], (n * mean - X) / (n - 1), mean)


def gap_p(counts: tuple[int, int, int]) -> float:
    """Probability of so few samples in the middle if they were as dense there as at either arm.

    Against each arm the number in the middle is at least binomial with probability ½; the branch
    must stand out from both, so that the larger probability counts.

    Examples
    --------
    >>> from branchwise.trajectory.evidence import gap_p
    >>> round(gap_p((10, 0, 8)), 6), round(gap_p((10, 9, 40)), 6)
    (0.003906, 0.5)
    """
    first, middle, second = counts
    if min(first, second) == 0:
        return 1.0
    return float(max(bdtr(middle, middle + n, 0.5) for n in (first, second)))


def all_gaps(view: View, *, twigs_only: bool = False) -> list[Gap]:
    """The gap between every two ways that leave a fork by different arms.

    Parameters
    ----------
    view : View
        Of a graph without cycles.
    twigs_only : bool, default=False
        Leave out those of which neither is a twig.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory import Trajectory
    >>> from branchwise.trajectory.evidence import all_gaps
    >>> nodes = np.array([[0.0, 0.0], [4.0, 0.0], [6.0, 3.0], [6.0, -3.0]])
    >>> t = np.linspace(0, 1, 20)[:, np.newaxis]
    >>> points = np.vstack([t * nodes[1], *(nodes[1] + t * (tip - nodes[1]) for tip in nodes[2:])])
    >>> gaps = all_gaps(Trajectory([[0, 1], [1, 2], [1, 3]], nodes, points).view)
    >>> sorted({gap.counts[1] for gap in gaps})
    [0]
    """
    base, found = view.base, view.base_segments
    nodes, points = whitened(view)
    degree = degrees(base.edges, len(base.nodes))
    gaps = []
    for fork in np.flatnonzero(degree > 2).tolist():
        ways = list(ways_from(view, fork))
        seen = points - nodes[fork]
        for k, one in enumerate(ways):
            for other in ways[k + 1 :]:
                is_twig = [degree[found.ends[way.arm]].min() == 1 for way in (one, other)]
                if one.arm != other.arm and (any(is_twig) or not twigs_only):
                    gaps.append(gap_of_ways(fork, one, other, seen))
    return gaps


def gap_of_ways(fork: int, one: Way, other: Way, points: Floats) -> Gap:
    """The gap between two ways, as far from the fork as the shorter of them leads."""
    reach = min(one.length, other.length)
    parts = [reached(way, reach) for way in (one, other)]
    far = [rows[n_near:] for rows, n_near in parts]
    if min(len(rows) for rows in far) < 3:
        return Gap(fork, (one, other), 0.0, (len(far[0]), 0, len(far[1])), 1.0)
    rows = np.union1d(parts[0][0], parts[1][0])
    cosine, counts = gap_between(far[0], far[1], rows, points)
    return Gap(fork, (one, other), cosine, counts, gap_p(counts))


def reached(way: Way, reach: float) -> tuple[Ints, int]:
    """The samples of a way within reach of its fork, and how many of them are near to it.

    Beyond a stretch that has hardly any, the next ones are taken.
    """
    n_near = int(np.searchsorted(way.distance, FAR * reach))
    n_in_reach = int(np.searchsorted(way.distance, reach, side="right"))
    return way.rows[: max(n_in_reach, n_near + LEAST)], n_near


def ways_from(view: View, fork: int) -> Iterator[Way]:
    """All paths from a fork of a tree to its tips."""
    base, found = view.base, view.base_segments
    placed = on_segments(base.placement, found)
    at: dict[int, list[tuple[int, int]]] = {}
    for segment, (a, b) in enumerate(found.ends.tolist()):
        at.setdefault(a, []).append((segment, b))
        at.setdefault(b, []).append((segment, a))
    todo = [(node, [segment]) for segment, node in at[fork]]
    while todo:
        node, path = todo.pop()
        further = [(end, [*path, segment]) for segment, end in at[node] if segment != path[-1]]
        todo += further
        if not further:
            yield on_way(placed, found, fork, path, node)


def on_way(placed: Placement, found: Segments, fork: int, path: list[int], tip: int) -> Way:
    """The samples on the segments of a path, by their distance from its start."""
    parts, distances, length, node = [], [], 0.0, fork
    for segment in path:
        on_it = np.flatnonzero(placed.edge == segment)
        start, end = found.ends[segment]
        position = placed.position[on_it] if start == node else 1 - placed.position[on_it]
        parts.append(on_it)
        distances.append(length + position * found.lengths[segment])
        length += float(found.lengths[segment])
        node = end if start == node else start
    rows, distance = np.concatenate(parts), np.concatenate(distances)
    order = np.argsort(distance, kind="stable")
    return Way(tip, path[0], length, rows[order], distance[order])


def whitened(view: View) -> tuple[Floats, Floats]:
    """Nodes and samples in units of the samples' scatter around the graph, in each direction."""
    apart = view.residuals
    values, axes = np.linalg.eigh(apart.T @ apart / len(apart))
    least = LEAST_SPREAD * values.mean()
    scale = axes / np.sqrt(np.maximum(values, least)) if least > 0 else axes
    return view.base.nodes @ scale, view.points @ scale


def near_gaps(gaps: list[Gap]) -> list[Gap]:
    """Those between arms that one may be taken for: up to 120°, and the nearest of each fork."""
    nearest: dict[int, float] = {}
    for gap in gaps:
        nearest[gap.fork] = max(gap.cosine, nearest.get(gap.fork, -1.0))
    return [gap for gap in gaps if gap.cosine > WIDE or gap.cosine == nearest[gap.fork]]


def can_be_tested(view: View) -> bool:
    """Whether the graph is a tree, or several, with few enough tips."""
    base = view.base
    degree = degrees(base.edges, len(base.nodes))
    is_loop = base.edges[:, 0] == base.edges[:, 1]
    n_parts = int(base.parts.max()) + 1
    is_forest = (~is_loop).sum() == len(base.nodes) - n_parts
    return bool(is_forest and (degree == 1).sum() <= MOST_TIPS)


def tip_to_cut(view: View, level: float = LEVEL) -> int | None:
    """The tip of the shortest twig that the samples give no evidence of; None if there is none."""
    found, degree = view.base_segments, degrees(view.base.edges, len(view.base.nodes))
    is_twig = (degree[found.ends] == 1).any(axis=1)
    for twigs_only in (True, False):
        failing = [gap for gap in near_gaps(all_gaps(view, twigs_only=twigs_only)) if gap.p > level]
        arms = {
            (found.lengths[way.arm], way.tip)
            for gap in failing
            for way in gap.ways
            if is_twig[way.arm]
        }
        if not arms:
            # Two arms that fork again are one: the shorter of their last twigs goes.
            twig_of = {int(end): k for k, ends in enumerate(found.ends) for end in ends}
            arms = {
                (found.lengths[twig_of[way.tip]], way.tip) for gap in failing for way in gap.ways
            }
        if arms:
            return int(min(arms)[1])
    return None


def segment_p(view: View) -> Floats:
    """For each segment of the graph the largest p of the gaps beside it; NaN if untested.

    Without a fork there is nothing to tell apart.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory import Trajectory
    >>> from branchwise.trajectory.evidence import segment_p
    >>> segment_p(Trajectory([[0, 1]], np.array([[0.0], [1.0]])).view)
    array([nan])
    """
    found = view.base_segments
    largest = np.full(len(found.ends), np.nan)
    if not can_be_tested(view):
        return largest
    gaps = near_gaps(all_gaps(view))
    at_fork: dict[int, float] = {}
    for gap in gaps:
        at_fork[gap.fork] = max(gap.p, at_fork.get(gap.fork, 0.0))
        for way in gap.ways:
            largest[way.arm] = np.fmax(largest[way.arm], gap.p)
    # An arm that lies opposite to all others is as sure as its fork.
    for segment in np.flatnonzero(np.isnan(largest)).tolist():
        forks = [at_fork[end] for end in found.ends[segment].tolist() if end in at_fork]
        largest[segment] = max(forks, default=np.nan)
    return largest


def branch_p(view: View) -> Floats:
    """The same for each branch of the view: a root may split a segment into two."""
    return segment_p(view)[segment_of_branch(view)]


def segment_of_branch(view: View) -> Ints:
    """The segment of the graph without roots that each branch is a part of."""
    first = np.unique(view.branches.found.of_edge, return_index=True)[1]
    return segment_of_edge(view)[first]


def segment_of_edge(view: View) -> Ints:
    """The same for each edge of the graph with its roots."""
    of_edge = list(range(len(view.base.edges)))
    for edge, _ in view.inserted:
        of_edge.append(of_edge[edge])
    return view.base_segments.of_edge[np.array(of_edge)]
