"""Where a graph has samples, and where it leads through empty space.

A graph may join groups of samples by long edges with nothing on them. Pseudotime counts their
length, but nobody has seen what a feature does there.

A gap leads along a branch from one sample to the next, or to a tip; at a fork it goes on to the
nearest sample beyond. It is too long for chance if it is longer than the longest gap between
samples that are spread evenly over its branch, and than that of samples spread evenly over the
whole graph: of n points drawn evenly on a length L, one of the n + 1 gaps is longer than g with a
probability of at most (n + 1)·(1 − g/L)ⁿ, and g is the length at which this is one percent, about
L·log(100·n)/n. Such a gap is empty but for its ends: a sample stands for a two-hundredth of the
graph's length to either side, one percent in all. Gaps that meet at a fork farther than this from
all samples are one: if one of them is empty, all are.

So a rare branch may have wide gaps if they are alike, few samples make few claims, and
many that crowd at some places leave the rest empty. Near a fork the samples of all its branches
count, and a root within a branch changes nothing.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from .._typing import Bools, Floats, Ints
from ..graph.placement import Placement, Segments, degrees, distances_from, on_segments, segments

if TYPE_CHECKING:
    from .core import Trajectory

# The part of the graph's length, to either side, that every sample stands for.
NEAR = 1 / 200
# The probability of a gap as long as the shortest that is empty, if samples were spread evenly.
CHANCE = 0.01
# Below this part of the graph's length with samples, people are told; but so few samples as this
# fill no tree, and everybody knows.
LITTLE, FEW = 0.5, 10
# Branches on one line, each from 0 to 1: apart, so that a stretch ends with its branch.
APART = 2.0


class EmptyStretches(NamedTuple):
    """The empty stretches of a graph, along the paths between its tips and forks."""

    found: Segments  # these paths
    start: Floats  # (n_stretches,): APART times the path, and the part of it before the stretch
    stop: Floats  # (n_stretches,): the same of its end; both ascend


class _Gaps(NamedTuple):
    """Stretches between neighbours on a path: samples, and the milestones at its ends."""

    path: Ints
    start: Floats  # along the path
    length: Floats
    ends: Ints  # (n_gaps, 2): the milestones where it starts and stops; −1: a sample

    def those(self, which: Bools) -> "_Gaps":
        """Some of them."""
        return _Gaps(*(part[which] for part in self))

    def at_ends(self, of_milestones: Floats) -> Floats:
        """Distances (n_gaps, 2) at the ends, given those at milestones: at a sample 0."""
        return np.where(self.ends < 0, 0.0, of_milestones[self.ends])


def empty_stretches(placement: Placement) -> EmptyStretches:
    """The stretches of a graph that are empty, as the head of this file says.

    Parameters
    ----------
    placement : Placement
        The samples on the graph.

    Examples
    --------
    Two groups of samples at the ends of a path:

    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.trajectory.occupancy import empty_stretches
    >>> position = np.concatenate([np.linspace(0, 0.2, 50), np.linspace(0.7, 1, 50)])
    >>> path = Placement(2, np.array([[0, 1]]), np.array([8.0]), np.zeros(100, int), position)
    >>> found = empty_stretches(path)
    >>> found.start.round(3), found.stop.round(3)
    (array([0.205]), array([0.695]))
    """
    found = segments(placement.edges, placement.lengths, placement.n_nodes)
    placed = on_segments(placement, found)
    whole = float(placed.lengths.sum())
    near = NEAR * whole
    to_sample = distances_to_samples(placed)
    gaps = _gaps(placed)
    # Where the ways to the nearest samples on both sides are as long, they are longest.
    gaps = gaps.those(gaps.length + gaps.at_ends(to_sample).sum(axis=1) > 2 * near)
    count = np.bincount(placed.edge, minlength=len(placed.lengths))
    by_chance = np.maximum(
        longest_gap(placed.lengths, count), longest_gap(whole, np.array(len(placed.edge)))
    )
    is_tip = degrees(placed.edges, placed.n_nodes) == 1
    beyond = np.where(is_tip & np.isfinite(to_sample), 0.0, to_sample)
    is_long = gaps.length + gaps.at_ends(beyond).sum(axis=1) > by_chance[gaps.path]
    gaps = gaps.those(_joined(gaps, to_sample > near, is_long))
    distance = gaps.at_ends(to_sample)
    ends = np.column_stack([gaps.start, gaps.start + gaps.length])
    ends += np.maximum(near - distance, 0.0) * [1, -1]
    length = placed.lengths[gaps.path]
    ends /= np.where(length > 0, length, 1.0)[:, None]
    # A milestone within an empty stretch is part of it.
    ends = np.where(distance > near, [-0.5, 1.5], ends)
    return EmptyStretches(found, *(APART * gaps.path + ends.T))


def longest_gap(length: Any, count: Ints) -> Floats:
    """The length that a gap between so many even samples exceeds with probability `CHANCE`.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.occupancy import longest_gap
    >>> longest_gap(1.0, np.array([0, 1, 10, 1000])).round(3)
    array([0.   , 0.995, 0.504, 0.011])
    """
    n = np.maximum(count, 1)
    return np.where(count > 0, length * (1 - (CHANCE / (n + 1)) ** (1 / n)), 0.0)


def distances_to_samples(placed: Placement) -> Floats:
    """Of each node, along the graph, to the nearest sample; infinite where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.trajectory.occupancy import distances_to_samples
    >>> distances_to_samples(Placement(3, np.array([[0, 1], [1, 2]]), np.array([4.0, 2.0]),
    ...                                np.array([0]), np.array([0.25])))
    array([1., 3., 5.])
    """
    length = placed.lengths[placed.edge]
    along = placed.position * length
    nearest = np.full(placed.n_nodes, np.inf)
    np.minimum.at(nearest, placed.edges[placed.edge, 0], along)
    np.minimum.at(nearest, placed.edges[placed.edge, 1], length - along)
    # One node more stands for all samples.
    known = np.flatnonzero(np.isfinite(nearest))
    samples = np.full(len(known), placed.n_nodes)
    graph = placed._replace(
        n_nodes=placed.n_nodes + 1,
        edges=np.vstack([placed.edges, np.column_stack([samples, known])]),
        lengths=np.concatenate([placed.lengths, nearest[known]]),
    )
    return distances_from(graph, [placed.n_nodes])[0][:-1]


def _gaps(placed: Placement) -> _Gaps:
    """All of them, path by path."""
    n_paths, n_samples = len(placed.edges), len(placed.edge)
    paths = np.arange(n_paths)
    path = np.concatenate([paths, placed.edge, paths])
    along = placed.position * placed.lengths[placed.edge]
    along = np.concatenate([np.zeros(n_paths), along, placed.lengths])
    none = np.full(n_samples, -1)
    milestone = np.concatenate([placed.edges[:, 0], none, placed.edges[:, 1]])
    kind = np.repeat([0, 1, 2], [n_paths, n_samples, n_paths])
    order = np.lexsort((along, kind, path))
    path, along, milestone = path[order], along[order], milestone[order]
    within = np.flatnonzero(path[1:] == path[:-1])
    return _Gaps(
        path[within],
        along[within],
        along[within + 1] - along[within],
        np.column_stack([milestone[within], milestone[within + 1]]),
    )


def _joined(gaps: _Gaps, is_far: Bools, is_long: Bools) -> Bools:
    """Which gaps are long, or go on through a milestone far from samples in one that is."""
    n_gaps, n_nodes = len(gaps.path), len(is_far)
    gap, end = np.nonzero((gaps.ends >= 0) & is_far[gaps.ends])
    links = sparse.coo_array(
        (np.ones(len(gap)), (gap, n_gaps + gaps.ends[gap, end])),
        shape=(n_gaps + n_nodes, n_gaps + n_nodes),
    )
    n_joined, joined = connected_components(links, directed=False)
    any_long = np.zeros(n_joined, dtype=bool)
    any_long[joined[:n_gaps][is_long]] = True
    return any_long[joined[:n_gaps]]


def is_empty(empty: EmptyStretches, places: Placement) -> Bools:
    """Whether each place lies on an empty stretch of the same graph.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.trajectory.occupancy import empty_stretches, is_empty
    >>> path = Placement(2, np.array([[0, 1]]), np.array([8.0]), np.zeros(50, int),
    ...                  np.linspace(0.0, 0.2, 50))
    >>> is_empty(empty_stretches(path), path._replace(edge=np.zeros(3, int),
    ...                                               position=np.array([0.0, 0.2, 0.6])))
    array([False, False,  True])
    """
    on_path = on_segments(places, empty.found)
    at = APART * on_path.edge + on_path.position
    before = np.searchsorted(empty.start, at)
    stop = np.append(-np.inf, empty.stop)
    return np.asarray(at < stop[before])


def occupied_parts(empty: EmptyStretches, graph: Placement) -> Floats:
    """The part of each edge of the same graph that is not empty, from 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.trajectory.occupancy import empty_stretches, occupied_parts
    >>> path = Placement(3, np.array([[0, 1], [1, 2]]), np.array([8.0, 2.0]),
    ...                  np.zeros(50, int), np.linspace(0, 1, 50))
    >>> occupied_parts(empty_stretches(path), path)
    array([1.   , 0.025])
    """
    edge = np.arange(len(graph.edges))
    ends = [
        on_segments(graph._replace(edge=edge, position=np.full(len(edge), end)), empty.found)
        for end in (0.0, 1.0)
    ]
    at = np.sort([APART * placed.edge + placed.position for placed in ends], axis=0)
    # Empty length before a place, as parts of the paths.
    corners = np.column_stack([empty.start, empty.stop]).ravel()
    sums = np.cumsum(empty.stop - empty.start)
    level = np.column_stack([np.append(0.0, sums[:-1]), sums]).ravel() if len(sums) else corners
    first, last = np.interp(at, corners, level) if len(sums) else at * 0.0
    extent = at[1] - at[0]
    middle = graph._replace(edge=edge, position=np.full(len(edge), 0.5))
    point = 1.0 - is_empty(empty, middle)  # of an edge without length
    part = 1 - (last - first) / np.where(extent > 0, extent, 1.0)
    return np.where(extent > 0, np.clip(part, 0.0, 1.0), point)


def occupancy_message(trajectory: "Trajectory", *, is_default: bool = False) -> str | None:
    """What to tell people if less than half of the graph has samples; else nothing.

    Of the default way, which has chosen its parameters, no other ones are recommended.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory import Trajectory
    >>> from branchwise.trajectory.occupancy import occupancy_message
    >>> groups = np.repeat([[0.0], [5.0], [9.0]], 30, axis=0)
    >>> print(occupancy_message(Trajectory([[0, 1]], [[0.0], [9.0]], groups)))
    only 2 % of the tree's length has samples: they stand in groups, and the times between groups \
are distances that no sample has gone; compare groups rather than times, or fit again with a \
smaller gamma, which spreads samples along the tree.
    >>> occupancy_message(Trajectory([[0, 1]], [[0.0], [9.0]], np.arange(10.0)[:, None])) is None
    True
    """
    share = trajectory.occupied_
    if share >= LITTLE or len(trajectory.names_) < FEW:
        return None
    remedy = ", or fit again with a smaller gamma, which spreads samples along the tree"
    return (
        f"only {100 * share:.0f} % of the tree's length has samples: they stand in groups, and the "
        "times between groups are distances that no sample has gone; compare groups rather than "
        f"times{'' if is_default else remedy}."
    )
