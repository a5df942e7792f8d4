"""Which tips matter: the order in which a graph loses them, the least first."""

import heapq
from typing import Any, NamedTuple

import numpy as np

from .._compat import inlined, kernel
from .._typing import Bools, Floats, Ints
from ..graph.placement import degrees


class Twigs(NamedTuple):
    """The twigs of a graph, in the order in which they are cut off."""

    tips: Ints  # the node at the end of each
    forks: Ints  # the node that each was cut from
    sizes: Floats  # the weight of each when it was cut
    owner: Ints  # (n_edges,): the twig that each edge was cut off with; −1 for what is left


def rank_twigs(edges: Ints, weights: Floats, n_nodes: int, keep: Any = ()) -> Twigs:
    """Cut off the lightest twig, again and again.

    A twig leads from a tip to the nearest fork, and weighs as much as its edges. When a fork loses
    a twig and has two edges left, it is a fork no longer, and what remains becomes longer: the twig
    that a tip is on can only grow. With lengths for weights, two tips of a tree are left: the ends
    of its longest path. Every other tip ends a path that branches off the paths of tips that are
    cut later, and is as long as what would be lost with it. Of equal weights the twig of the higher
    node goes first.

    Parameters
    ----------
    edges : array of shape (n_edges, 2)
        Of any graph; what has no tips stays.
    weights : array of shape (n_edges,)
    n_nodes : int
    keep : array-like of nodes
        Tips that are not cut off.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.trajectory.twigs import rank_twigs
    >>> edges = np.array([[0, 1], [1, 2], [2, 3], [2, 4], [1, 5]])
    >>> twigs = rank_twigs(edges, np.array([5.0, 1.0, 2.0, 3.0, 1.0]), 6)
    >>> twigs.tips, twigs.forks, twigs.sizes
    (array([5, 3]), array([1, 2]), array([1., 2.]))
    >>> twigs.owner
    array([-1, -1,  1, -1,  0])
    """
    n_edges = len(edges)
    degree = degrees(edges, n_nodes)
    # The sum of the edges at a node: less one of two, it is the other.
    there = np.zeros(n_nodes, dtype=np.intp)
    np.add.at(there, edges.ravel(), np.repeat(np.arange(n_edges), 2))
    is_kept = np.zeros(n_nodes, dtype=bool)
    is_kept[np.asarray(keep, dtype=np.intp)] = True
    tip_of_edge, rank = np.full(n_edges, -1, dtype=np.intp), np.full(n_nodes, -1, dtype=np.intp)
    fork, size = np.full(n_nodes, -1, dtype=np.intp), np.zeros(n_nodes)
    cut_off(edges, weights.astype(float), degree, there, is_kept, tip_of_edge, rank, fork, size)
    tips = np.flatnonzero(rank >= 0)
    tips = tips[np.argsort(rank[tips])]
    owner = np.where(tip_of_edge >= 0, rank[tip_of_edge], -1)
    return Twigs(tips, fork[tips], size[tips], owner)


@kernel
def cut_off(
    edges: Ints,
    weights: Floats,
    degree: Ints,
    there: Ints,
    is_kept: Bools,
    tip_of_edge: Ints,
    rank: Ints,
    fork: Ints,
    size: Floats,
) -> None:
    """Number the tips in `rank`, each with its fork and the size of its twig at that time."""
    n_nodes = len(degree)
    n_waiting, waiting = np.zeros(n_nodes, dtype=np.int64), np.zeros(n_nodes, dtype=np.int64)
    reached = np.zeros(n_nodes, dtype=np.int64)  # the last edge of each tip's twig
    n_cut = 0
    heap = [(0.0, 0) for _ in range(0)]
    for tip in range(n_nodes):
        if degree[tip] == 1 and not is_kept[tip]:
            reached[tip], fork[tip] = there[tip], tip
            walk_on(edges, weights, degree, there, tip, tip_of_edge, reached, fork, size)
            if degree[fork[tip]] > 2:
                n_waiting[fork[tip]] += 1
                waiting[fork[tip]] += tip
                heapq.heappush(heap, (size[tip], -tip))
    while len(heap):
        weight, negative = heapq.heappop(heap)
        tip = -negative
        node = fork[tip]
        # Some twigs have grown since, or are all that is left.
        if rank[tip] >= 0 or weight != size[tip] or degree[node] < 3:
            continue
        rank[tip] = n_cut
        n_cut += 1
        degree[node] -= 1
        there[node] -= reached[tip]
        n_waiting[node] -= 1
        waiting[node] -= tip
        if degree[node] == 2 and n_waiting[node] == 1:
            tip = waiting[node]
            reached[tip] = there[node] - reached[tip]
            walk_on(edges, weights, degree, there, tip, tip_of_edge, reached, fork, size)
            if degree[fork[tip]] > 2:
                n_waiting[fork[tip]] += 1
                waiting[fork[tip]] += tip
                heapq.heappush(heap, (size[tip], -tip))


@inlined
def walk_on(
    edges: Ints,
    weights: Floats,
    degree: Ints,
    there: Ints,
    tip: int,
    tip_of_edge: Ints,
    reached: Ints,
    fork: Ints,
    size: Floats,
) -> None:
    """Lengthen the twig of a tip, from where it ends and by the edge `reached`, to a fork."""
    edge, node = reached[tip], fork[tip]
    while True:
        tip_of_edge[edge] = tip
        size[tip] += weights[edge]
        node = edges[edge, 1] if edges[edge, 0] == node else edges[edge, 0]
        if degree[node] != 2:
            break
        edge = there[node] - edge
    reached[tip], fork[tip] = edge, node
