"""Less of a graph: without twigs, and with forks that are almost one made one."""

from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

from .._typing import Floats, Ints
from ..graph import adjacency
from ..graph.placement import Segments, degrees, segments
from .twigs import Twigs, rank_twigs


class Reduced(NamedTuple):
    """What is left of a graph."""

    nodes: Floats  # (n_nodes, n_dims)
    edges: Ints  # (n_edges, 2)
    became: Ints  # what each node of the whole graph has become

    @property
    def lengths(self) -> Floats:
        """Of the edges."""
        return np.linalg.norm(self.nodes[self.edges[:, 1]] - self.nodes[self.edges[:, 0]], axis=1)


def whole(nodes: Floats, edges: Ints) -> Reduced:
    """A graph that nothing has been taken from yet."""
    return Reduced(nodes, edges, np.arange(len(nodes)))


def without_twigs(graph: Reduced, twigs: Twigs, n_cut: int) -> Reduced:
    """The graph without the first twigs of a ranking; their nodes become the forks they hung from.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.trajectory.pruning import whole, without_twigs
    >>> from ramify.trajectory.twigs import rank_twigs
    >>> edges = np.array([[0, 1], [1, 2], [1, 3]])
    >>> graph = whole(np.array([[0.0, 0], [2, 0], [5, 0], [2, 1]]), edges)
    >>> less = without_twigs(graph, rank_twigs(edges, graph.lengths, 4), 1)
    >>> less.edges.tolist(), less.became
    ([[0, 1], [1, 2]], array([0, 1, 2, 1]))
    """
    if n_cut == 0:
        return graph
    n_nodes = len(graph.nodes)
    is_kept = (twigs.owner < 0) | (twigs.owner >= n_cut)
    left = np.unique(graph.edges[is_kept])
    target = np.arange(n_nodes)
    # The last twig that went with a node led on; others may have been cut from it before.
    last = np.full(n_nodes, -1, dtype=np.intp)
    np.maximum.at(last, graph.edges.ravel(), np.repeat(twigs.owner, 2))
    gone = np.setdiff1d(target, left)
    target[gone] = twigs.forks[last[gone]]
    # A fork may have gone with a later twig, whose fork is met next.
    while not np.array_equal(further := target[target], target):
        target = further
    edges = np.searchsorted(left, graph.edges[is_kept])
    return Reduced(graph.nodes[left], edges, np.searchsorted(left, target)[graph.became])


def without_short_twigs(graph: Reduced, weights: Floats, least: float, keep: Ints) -> Reduced:
    """The graph without twigs that weigh less; nodes of the whole graph to keep are given."""
    twigs = rank_twigs(graph.edges, weights, len(graph.nodes), graph.became[keep])
    return without_twigs(graph, twigs, int(np.searchsorted(twigs.sizes, least)))


def inner_segments(graph: Reduced, found: Segments) -> Ints:
    """Segments that lead from a fork to another one."""
    degree = degrees(graph.edges, len(graph.nodes))[found.ends]
    is_inner = (degree > 2).all(axis=1) & (found.ends[:, 0] != found.ends[:, 1])
    return np.flatnonzero(is_inner)


def nearest_forks_joined(graph: Reduced) -> Reduced | None:
    """The graph with its two nearest forks made one, in the middle; None if there are no two.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.trajectory.pruning import nearest_forks_joined, whole
    >>> nodes = np.array([[0.0, 0], [2, 0], [3, 0], [6, 1], [7, -1], [2, 4]])
    >>> graph = whole(nodes, np.array([[0, 1], [1, 2], [2, 3], [2, 4], [1, 5]]))
    >>> nearest_forks_joined(graph).nodes[1]
    array([2.5, 0. ])
    """
    found = segments(graph.edges, graph.lengths, len(graph.nodes))
    inner = inner_segments(graph, found)
    if not len(inner):
        return None
    return contracted(graph, found, inner[[np.argmin(found.lengths[inner])]])


def near_forks_joined(graph: Reduced, reach: float) -> Reduced | None:
    """Forks nearer than `reach`, and nearer to each other than to any other, made one.

    None if there are none.
    """
    found = segments(graph.edges, graph.lengths, len(graph.nodes))
    inner = inner_segments(graph, found)
    inner = inner[found.lengths[inner] < reach]
    if not len(inner):
        return None
    inner = inner[np.argsort(found.lengths[inner], kind="stable")]
    # The place in that order of the shortest way from each fork.
    first = np.full(len(graph.nodes), len(inner))
    np.minimum.at(first, found.ends[inner].ravel(), np.repeat(np.arange(len(inner)), 2))
    is_first = (first[found.ends[inner]] == np.arange(len(inner))[:, np.newaxis]).all(axis=1)
    return contracted(graph, found, inner[is_first])


def contracted(graph: Reduced, found: Segments, chosen: Ints) -> Reduced:
    """Every one of some segments that share no end as a node in its middle."""
    is_chosen = np.zeros(len(found.ends), dtype=bool)
    is_chosen[chosen] = True
    within = np.flatnonzero(is_chosen[found.of_edge])
    nodes = graph.nodes.copy()
    n_nodes = len(nodes)
    number = connected_components(adjacency(graph.edges[within], n_nodes), directed=False)[1]
    middles = middle_points(graph, found, within)
    left = np.unique(number, return_index=True)[1]
    nodes = nodes[left]
    nodes[number[found.ends[chosen, 0]]] = middles[chosen]
    edges = number[np.delete(graph.edges, within, axis=0)]
    # An edge parallel to a chosen segment has no length any more.
    edges = edges[edges[:, 0] != edges[:, 1]]
    return Reduced(nodes, edges, number[graph.became])


def middle_points(graph: Reduced, found: Segments, within: Ints) -> Floats:
    """The middle of each segment that the given edges are of, by the length along it."""
    segment, lengths = found.of_edge[within], graph.lengths[within]
    # As a part of each edge: from 0 to 1 on the edge where it is, but for rounding.
    ahead = (found.lengths[segment] / 2 - found.start[within]) * found.sign[within]
    outside = np.maximum(-ahead, ahead - lengths)
    order = np.lexsort((outside, segment))
    best = order[np.unique(segment[order], return_index=True)[1]]
    part = np.clip(ahead[best] / np.where(lengths[best] > 0, lengths[best], 1.0), 0.0, 1.0)
    a, b = graph.nodes[graph.edges[within[best]]].transpose(1, 0, 2)
    middles = np.full((len(found.ends), graph.nodes.shape[1]), np.nan)
    middles[segment[best]] = a + part[:, np.newaxis] * (b - a)
    return middles


def believable(graph: Reduced, least: float, keep: Ints) -> Reduced:
    """The graph without twigs, and without ways between forks, that are shorter."""
    while True:
        graph = without_short_twigs(graph, graph.lengths, least, keep)
        joined = near_forks_joined(graph, least)
        if joined is None:
            return graph
        # What is left of a twig that ends at a joined fork may be too short now.
        graph = joined
