"""Points on the edges of a graph: the common form of truths, learned trees and their rivals."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import dijkstra

from .._compat import kernel
from .._typing import Bools, Floats, Ints, Sparse
from .laplacian import adjacency
from .solve import root_forest

# Sources of a search through a graph with cycles at a time.
BLOCK = 256


class Placement(NamedTuple):
    """A graph with lengths, and a place on it for each point.

    A point lies on edge ``edge``, at the part ``position`` of its length from the edge's first end
    to its second. Two nodes may have several edges between them, and an edge may lead from
    a node back to itself; a node without neighbours has such a loop, of length zero, for points to
    lie on.
    """

    n_nodes: int
    edges: Ints  # (n_edges, 2)
    lengths: Floats  # (n_edges,)
    edge: Ints  # (n_points,)
    position: Floats  # (n_points,): from 0 to 1


class Segments(NamedTuple):
    """A graph whose nodes of degree two were dissolved into the segments between the others."""

    milestones: Ints  # the nodes that are left, ascending
    ends: Ints  # (n_segments, 2): nodes of the graph
    lengths: Floats  # (n_segments,)
    of_edge: Ints  # (n_edges,): the segment that each edge is part of
    start: Floats  # (n_edges,): from the segment's first end to the edge's first end
    sign: Ints  # (n_edges,): −1 where the edge runs against its segment


def degrees(edges: Ints, n_nodes: int) -> Ints:
    """Number of edge ends at each node; a loop has two.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import degrees
    >>> degrees(np.array([[0, 1], [1, 2], [3, 3]]), 4)
    array([1, 2, 1, 2])
    """
    return np.bincount(edges.ravel(), minlength=n_nodes)


class BranchCount(NamedTuple):
    """Nodes with one edge, nodes with three or more, and the paths between these."""

    tips: int
    forks: int
    branches: int


def count_branches(tree: Sparse) -> BranchCount:
    """Count the tips, forks and branches of a tree given by its adjacency matrix.

    A branch is a path whose ends are tips or forks and whose inner nodes are neither.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph import adjacency, count_branches
    >>> star = adjacency(np.array([[0, 1], [0, 2], [0, 3], [3, 4]]), 5)
    >>> count_branches(star)
    BranchCount(tips=3, forks=1, branches=3)
    """
    degree = np.diff(tree.tocsr().indptr)
    tips, forks = int((degree == 1).sum()), int((degree > 2).sum())
    return BranchCount(tips, forks, max(tips + forks - 1, 0))


def segments(edges: Ints, lengths: Floats, n_nodes: int, keep: Any = ()) -> Segments:
    """The segments between tips and forks, and between them and the nodes to `keep`.

    A ring without any of these gets its first node as a milestone, and is one segment from there
    to there. Segments come in the order of their first edges, and run as these do.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import segments
    >>> found = segments(np.array([[0, 1], [1, 2], [2, 3], [2, 4]]), np.ones(4), 5)
    >>> found.ends.tolist(), found.lengths
    ([[0, 2], [2, 3], [2, 4]], array([2., 1., 1.]))
    """
    n_edges = len(edges)
    is_milestone = degrees(edges, n_nodes) != 2
    is_milestone[np.asarray(keep, dtype=np.intp)] = True
    indptr, half = _half_edges(edges, n_nodes)
    of_edge, sign = np.full(n_edges, -1, dtype=np.intp), np.zeros(n_edges, dtype=np.intp)
    start, ends = np.zeros(n_edges), np.zeros((n_edges, 2), dtype=np.intp)
    n = _trace(indptr, half, edges, lengths, is_milestone, of_edge, start, sign, ends)
    first = np.full(n, n_edges)
    np.minimum.at(first, of_edge, np.arange(n_edges))
    total = np.bincount(of_edge, weights=lengths, minlength=n)
    traced = Segments(np.flatnonzero(is_milestone), ends[:n], total, of_edge, start, sign)
    return rearranged(traced, np.argsort(first), sign[first] < 0)


def rearranged(found: Segments, order: Ints, turned: Bools) -> Segments:
    """The segments in another order, and some of them in the other direction.

    Parameters
    ----------
    found : Segments
    order : array of shape (n_segments,)
        The segment that comes at each place.
    turned : array of shape (n_segments,)
        Which of the segments, in their old order, get the other direction.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import rearranged, segments
    >>> path = segments(np.array([[0, 1], [1, 2]]), np.array([1.0, 3.0]), 3)
    >>> rearranged(path, np.array([0]), np.array([True])).start
    array([4., 3.])
    """
    ends = np.where(turned[:, np.newaxis], found.ends[:, ::-1], found.ends)
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    flip, length = turned[found.of_edge], found.lengths[found.of_edge]
    start = np.where(flip, length - found.start, found.start)
    sign = np.where(flip, -found.sign, found.sign)
    return Segments(
        found.milestones, ends[order], found.lengths[order], rank[found.of_edge], start, sign
    )


def on_segments(placement: Placement, found: Segments) -> Placement:
    """The same points on the graph of segments, whose node k is milestone k.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement, on_segments, segments
    >>> path = Placement(3, np.array([[0, 1], [2, 1]]), np.array([1.0, 3.0]),
    ...                  np.array([0, 1]), np.array([0.5, 0.5]))
    >>> on_segments(path, segments(path.edges, path.lengths, 3)).position
    array([0.125, 0.625])
    """
    edge = placement.edge
    along = placement.position * placement.lengths[edge]
    along = found.start[edge] + found.sign[edge] * along
    length = found.lengths[found.of_edge[edge]]
    position = np.clip(along / np.where(length > 0, length, 1.0), 0.0, 1.0)
    ends = np.searchsorted(found.milestones, found.ends)
    return Placement(len(found.milestones), ends, found.lengths, found.of_edge[edge], position)


def on_edges(found: Segments, lengths: Floats, segment: Ints, along: Floats) -> tuple[Ints, Floats]:
    """Edges, and positions on them, of places on segments: the way back from `on_segments`.

    Parameters
    ----------
    found : Segments
    lengths : array of shape (n_edges,)
    segment : array of shape (n,)
    along : array of shape (n,)
        The length from the segment's first end.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import on_edges, segments
    >>> lengths = np.array([1.0, 3.0])
    >>> found = segments(np.array([[0, 1], [2, 1]]), lengths, 3)
    >>> on_edges(found, lengths, np.array([0, 0]), np.array([0.5, 1.75]))
    (array([0, 1]), array([0.5 , 0.75]))
    """
    low = np.where(found.sign < 0, found.start - lengths, found.start)
    order = np.lexsort((low, found.of_edge))
    last = np.cumsum(np.bincount(found.of_edge, minlength=len(found.lengths))) - 1
    first = np.concatenate([[0], last[:-1] + 1])
    # All segments behind one another, so that one search finds the edges.
    offset = np.concatenate([[0.0], np.cumsum(found.lengths)])
    at = np.searchsorted((offset[found.of_edge] + low)[order], offset[segment] + along, "right")
    edge = order[np.clip(at - 1, first[segment], last[segment])]
    length = lengths[edge]
    position = np.clip((along - low[edge]) / np.where(length > 0, length, 1.0), 0.0, 1.0)
    return edge, np.where(found.sign[edge] < 0, 1 - position, position)


def length_matrix(edges: Ints, lengths: Floats, n_nodes: int) -> Sparse:
    """Symmetric sparse matrix of the lengths; of several edges between two nodes, the shortest.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import length_matrix
    >>> edges = np.array([[0, 1], [1, 0], [1, 1]])
    >>> length_matrix(edges, np.array([3.0, 2.0, 5.0]), 2).toarray()
    array([[0., 2.],
           [2., 0.]])
    """
    ends = np.sort(edges, axis=1)
    order = np.lexsort((lengths, ends[:, 1], ends[:, 0]))
    order = order[ends[order, 0] != ends[order, 1]]
    ends = ends[order]
    is_first = np.ones(len(ends), dtype=bool)
    is_first[1:] = (ends[1:] != ends[:-1]).any(axis=1)
    # SciPy would read a length of zero as no edge.
    positive = np.maximum(lengths[order][is_first], np.finfo(float).tiny)
    return adjacency(ends[is_first], n_nodes, positive)


def distances_from(placement: Placement, sources: Any) -> tuple[Floats, Ints]:
    """Distance of each node to the nearest of some nodes, and which node that is.

    Infinity, and −1, where no path leads. Time grows with the number of edges (times its
    logarithm), however many sources there are.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement, distances_from
    >>> path = Placement(3, np.array([[0, 1], [1, 2]]), np.array([1.0, 3.0]),
    ...                  np.array([], dtype=int), np.array([]))
    >>> distances_from(path, [0, 2])
    (array([0., 1., 0.]), array([0, 0, 2]))
    """
    matrix = length_matrix(placement.edges, placement.lengths, placement.n_nodes)
    distance, _, source = dijkstra(
        matrix, directed=False, indices=sources, min_only=True, return_predecessors=True
    )
    # What stood for lengths of zero adds up to no more than this.
    distance[distance <= placement.n_nodes * np.finfo(float).tiny] = 0.0
    return distance, np.where(np.isfinite(distance), source, -1).astype(np.intp)


def to_points(placement: Placement, from_nodes: Floats) -> Floats:
    """Distance of each point, given that of each node: by the shorter way.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement, to_points
    >>> path = Placement(2, np.array([[0, 1]]), np.array([4.0]), np.array([0]), np.array([0.25]))
    >>> to_points(path, np.array([0.0, 4.0]))
    array([1.])
    """
    ends, length = placement.edges[placement.edge], placement.lengths[placement.edge]
    by_first = from_nodes[ends[:, 0]] + placement.position * length
    by_second = from_nodes[ends[:, 1]] + (1 - placement.position) * length
    return np.minimum(by_first, by_second)


def is_forest(placement: Placement) -> bool:
    """Whether no path leads back to where it began.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement, is_forest
    >>> none = np.array([], dtype=int), np.array([])
    >>> is_forest(Placement(3, np.array([[0, 1], [1, 2], [2, 0]]), np.ones(3), *none))
    False
    """
    edges, lengths = placement.edges, placement.lengths
    loops = edges[:, 0] == edges[:, 1]
    if np.any(lengths[loops] > 0):
        return False
    n_trees = root_forest(edges[~loops], 1.0, placement.n_nodes).n_trees
    return placement.n_nodes - n_trees == int(np.sum(~loops))


def distances_between(placement: Placement, i: Any, j: Any) -> Floats:
    """Distances along the graph between points i and points j, pair by pair (broadcast).

    Infinity between unconnected parts. On a forest the time is about linear in the nodes and in
    the pairs; with cycles there is one search per milestone next to a point of i.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement, distances_between
    >>> star = Placement(4, np.array([[0, 1], [0, 2], [0, 3]]), np.ones(3),
    ...                  np.array([0, 1, 1]), np.array([0.5, 0.25, 1.0]))
    >>> distances_between(star, 0, [0, 1, 2])
    array([0.  , 0.75, 1.5 ])
    """
    i, j = np.broadcast_arrays(np.asarray(i, dtype=np.intp), np.asarray(j, dtype=np.intp))
    shape, i, j = i.shape, i.ravel(), j.ravel()
    between = _through_ancestors if is_forest(placement) else _through_milestones
    return between(placement, i, j).reshape(shape)


def _through_ancestors(placement: Placement, i: Ints, j: Ints) -> Floats:
    """On a forest: t_i + t_j − 2·t of the place where the ways to the root meet."""
    n_nodes = placement.n_nodes
    real = placement.edges[:, 0] != placement.edges[:, 1]
    forest = root_forest(placement.edges[real], placement.lengths[real], n_nodes)
    depth, level = np.zeros(n_nodes), np.zeros(n_nodes, dtype=np.intp)
    root, head = np.zeros(n_nodes, dtype=np.intp), np.zeros(n_nodes, dtype=np.intp)
    _descend(forest.order, forest.parent, forest.weight, depth, level, root, head)
    ends = placement.edges[placement.edge]
    lower = np.where(forest.parent[ends[:, 0]] == ends[:, 1], ends[:, 0], ends[:, 1])
    time = to_points(placement, depth)
    a, b = lower[i], lower[j]
    connected = root[a] == root[b]
    meeting = a.copy()
    meeting[connected] = _common_ancestors(a[connected], b[connected], forest.parent, level, head)
    # Of two points on one way to the root, the upper one is where the ways meet.
    shared = np.minimum(depth[meeting], np.minimum(time[i], time[j]))
    return np.where(connected, time[i] + time[j] - 2 * shared, np.inf)


def _common_ancestors(a: Ints, b: Ints, parent: Ints, level: Ints, head: Ints) -> Ints:
    """Lowest common ancestors: jump from the top of one heavy path to the next.

    A way to the root meets no more heavy paths than the number of nodes has binary digits.
    """
    a, b = a.copy(), b.copy()
    moving = np.flatnonzero(head[a] != head[b])
    while len(moving):
        x, y = a[moving], b[moving]
        first = level[head[x]] >= level[head[y]]
        a[moving] = np.where(first, parent[head[x]], x)
        b[moving] = np.where(first, y, parent[head[y]])
        moving = moving[head[a[moving]] != head[b[moving]]]
    return np.where(level[a] <= level[b], a, b)


def _through_milestones(placement: Placement, i: Ints, j: Ints) -> Floats:
    """On any graph: the shortest of the four ways by the ends of the two segments, or along one."""
    found = segments(placement.edges, placement.lengths, placement.n_nodes)
    placed = on_segments(placement, found)
    matrix = length_matrix(placed.edges, placed.lengths, placed.n_nodes)
    ends, along = placed.edges[placed.edge], placed.position * placed.lengths[placed.edge]
    rest = placed.lengths[placed.edge] - along
    result = np.where(placed.edge[i] == placed.edge[j], np.abs(along[i] - along[j]), np.inf)
    for end, offset in ((0, along), (1, rest)):
        order = np.argsort(ends[i, end], kind="stable")
        sources, first = np.unique(ends[i[order], end], return_index=True)
        bounds = np.append(first, len(order))
        for start in range(0, len(sources), BLOCK):
            stop = min(start + BLOCK, len(sources))
            between = dijkstra(matrix, directed=False, indices=sources[start:stop])
            pairs = order[bounds[start] : bounds[stop]]
            row = np.searchsorted(sources, ends[i[pairs], end]) - start
            target = j[pairs]
            far = np.minimum(
                between[row, ends[target, 0]] + along[target],
                between[row, ends[target, 1]] + rest[target],
            )
            result[pairs] = np.minimum(result[pairs], offset[i[pairs]] + far)
    return result


def _half_edges(edges: Ints, n_nodes: int) -> tuple[Ints, Ints]:
    """The edges at each node, as bounds and a list."""
    order = np.argsort(edges.ravel(), kind="stable")
    indptr = np.zeros(n_nodes + 1, dtype=np.intp)
    np.cumsum(degrees(edges, n_nodes), out=indptr[1:])
    return indptr, order // 2


@kernel
def _trace(
    indptr: Ints,
    half: Ints,
    edges: Ints,
    lengths: Floats,
    is_milestone: Bools,
    of_edge: Ints,
    start: Floats,
    sign: Ints,
    ends: Ints,
) -> int:
    """Walk along every segment from one of its ends; first those with ends, then the rings."""
    n_found = 0
    for rings in (False, True):
        for node in range(len(indptr) - 1):
            if is_milestone[node] == rings:
                continue
            for p in range(indptr[node], indptr[node + 1]):
                edge, here, walked = half[p], node, 0.0
                if of_edge[edge] >= 0:
                    continue
                is_milestone[node] = True
                while of_edge[edge] < 0:
                    of_edge[edge] = n_found
                    forward = edges[edge, 0] == here
                    sign[edge] = 1 if forward else -1
                    start[edge] = walked if forward else walked + lengths[edge]
                    walked += lengths[edge]
                    here = edges[edge, 1] if forward else edges[edge, 0]
                    if is_milestone[here]:
                        break
                    edge = (
                        half[indptr[here]] if half[indptr[here]] != edge else half[indptr[here] + 1]
                    )
                ends[n_found, 0], ends[n_found, 1] = node, here
                n_found += 1
    return n_found


@kernel
def _descend(
    order: Ints, parent: Ints, weight: Floats, depth: Floats, level: Ints, root: Ints, head: Ints
) -> None:
    """Depth, level and root of each node, and the top of the heavy path that it is on."""
    size = np.ones(len(order), dtype=np.int64)
    heavy = np.full(len(order), -1, dtype=np.int64)
    for t in range(len(order) - 1, -1, -1):
        node, above = order[t], parent[order[t]]
        if above >= 0:
            size[above] += size[node]
            if heavy[above] < 0 or size[node] > size[heavy[above]]:
                heavy[above] = node
    for t in range(len(order)):
        node, above = order[t], parent[order[t]]
        if above < 0:
            depth[node], level[node], root[node], head[node] = 0.0, 0, node, node
        else:
            depth[node] = depth[above] + weight[node]
            level[node], root[node] = level[above] + 1, root[above]
            head[node] = head[above] if heavy[above] == node else node
