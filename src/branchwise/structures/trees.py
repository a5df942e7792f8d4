"""Spanning trees, and forests of several trees."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np

from .._compat import kernel
from .._typing import Floats, Ints
from ..graph import euclidean_spanning_tree, squared_distances
from ..graph.spanning_tree import find_root
from .base import Graph

# Nodes of a group, at least, as a part of all: fewer are strays.
MIN_GROUP = 0.03
# This part of a tree's edges are not gaps, whatever their lengths.
COMMON = 0.8
# How much the ratio of gaps to other edges must exceed that of these other edges to their median.
MIN_GAP = 1.2


@dataclass(frozen=True)
class Tree:
    """Spanning trees (`op:RelaxLP`); the cheapest is computed exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.structures import Tree
    >>> Tree().best_graph(np.array([[0.0], [5.0], [1.0]])).edges
    array([[0, 2],
           [1, 2]])
    """

    def best_graph(self, points: Floats) -> Graph:
        """The minimum spanning tree."""
        return Graph.unweighted(euclidean_spanning_tree(points))


@dataclass(frozen=True)
class Forest:
    """Forests of a fixed number of trees, for groups that are to stay unconnected.

    The cheapest forest is the minimum spanning tree without its longest edges: exact, because
    forests are a matroid and the greedy choice is the best. A fit begins with the forest that cuts
    off no strays: whose trees have 3 % of the nodes each, where possible.

    Parameters
    ----------
    n_trees : int or "auto", default="auto"
        The number of trees. "auto" looks for gaps (`count_groups`) between the starting nodes.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.structures import Forest
    >>> points = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> Forest(n_trees=2).best_graph(points).edges
    array([[0, 1],
           [2, 3]])
    """

    n_trees: int | str = "auto"

    def prepare(self, points: Floats) -> "Grove":
        """Settle the number of trees, and the forest to begin with."""
        n_nodes = len(points)
        n_trees = count_groups(points) if self.n_trees == "auto" else self.n_trees
        if not isinstance(n_trees, Integral) or not 1 <= n_trees <= n_nodes:
            raise ValueError(
                f"n_trees={n_trees!r} must be an integer from 1 to the number of nodes, {n_nodes}, "
                'or "auto"; lower n_trees or raise n_centers.'
            )
        edges, lengths, sizes = merges(points)
        # Edges between groups are cut before edges to strays, and the longest first.
        order = np.lexsort((lengths, sizes >= group_size(n_nodes)))
        kept = np.sort(order[: n_nodes - int(n_trees)])
        return Grove(int(n_trees), Graph.unweighted(edges[kept]))

    def best_graph(self, points: Floats) -> Graph:
        """The cheapest forest."""
        return cheapest_forest(points, self.prepare(points).n_trees)


class Grove:
    """The forests of so many trees, and the one to begin with."""

    def __init__(self, n_trees: int, first: Graph):
        self.n_trees = n_trees
        self.first: Graph | None = first

    def best_graph(self, points: Floats) -> Graph:
        """The cheapest forest; at first the one to begin with."""
        graph, self.first = self.first, None
        return graph or cheapest_forest(points, self.n_trees)


def cheapest_forest(points: Floats, n_trees: int) -> Graph:
    """The minimum spanning tree without its n_trees − 1 longest edges."""
    edges = euclidean_spanning_tree(points)
    order = np.argsort(squared_distances(points, edges), kind="stable")
    return Graph.unweighted(edges[np.sort(order[: len(points) - n_trees])])


def count_groups(points: Floats) -> int:
    """The number of groups that gaps separate.

    Grow the minimum spanning tree from its shortest edge to its longest. An edge that joins two
    groups, of at least 3 % of the points each, is a possible gap if it is longer than 80 % of all
    edges. Sorted by length, those before the largest ratio of two successive lengths are gaps,
    if that ratio is above 1.2·q/m, where q is the length that 80 % of the edges do not exceed and m
    their median: the more uneven the edges, the wider a gap has to be.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.structures.trees import count_groups
    >>> line = np.arange(20.0)[:, np.newaxis]
    >>> count_groups(line), count_groups(np.concatenate([line, line + 25, line + 50]))
    (1, 3)
    """
    _, lengths, sizes = merges(points)
    median, common = np.quantile(lengths, [0.5, COMMON]) if len(lengths) else (0.0, 0.0)
    if median == 0:
        return 1
    gaps = np.sort(lengths[sizes >= group_size(len(points))])[::-1]
    gaps = np.append(gaps[gaps > common], common)
    ratios = gaps[:-1] / gaps[1:]
    if ratios.max(initial=0.0) <= MIN_GAP * common / median:
        return 1
    return int(np.argmax(ratios)) + 2


def group_size(n_points: int) -> float:
    """Points that make a group."""
    return max(2, MIN_GROUP * n_points)


def merges(points: Floats) -> tuple[Ints, Floats, Ints]:
    """The edges of the minimum spanning tree, their lengths, and the smaller parts they join."""
    edges = euclidean_spanning_tree(points)
    lengths = np.sqrt(squared_distances(points, edges))
    sizes = np.empty(len(edges), dtype=np.intp)
    join_by_length(edges, np.argsort(lengths, kind="stable"), len(points), sizes)
    return edges, lengths, sizes


@kernel
def join_by_length(edges: Ints, order: Ints, n_points: int, sizes: Ints) -> None:
    """For each edge, in that order, the size of the smaller part that it joins to the other."""
    parent, size = np.arange(n_points), np.ones(n_points, dtype=np.int64)
    for e in order:
        a, b = find_root(parent, edges[e, 0]), find_root(parent, edges[e, 1])
        if size[a] < size[b]:
            a, b = b, a
        sizes[e] = size[b]
        parent[b] = a
        size[a] += size[b]
