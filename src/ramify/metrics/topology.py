"""Tips, forks and the paths between them: graphs as their shapes."""

from typing import Any, NamedTuple

import numpy as np

from .._typing import Bools, Floats, Ints
from ..graph.placement import Placement, degrees, segments
from ._given import placement_of


class Topology(NamedTuple):
    """A simple graph: its tips, its forks, and what keeps loops and double edges apart."""

    n_nodes: int
    edges: Ints  # (n_edges, 2)
    lengths: Floats  # (n_edges,)


def topology(placement: Placement) -> Topology:
    """Tips, forks and the paths between them, as a graph without loops and double edges.

    A loop becomes three edges, each of several edges between two nodes becomes two, and so does
    the edge of a graph that has only one.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.graph.placement import Placement
    >>> from ramify.metrics.topology import topology
    >>> ring = Placement(2, np.array([[0, 1], [1, 0]]), np.ones(2), np.array([0]), np.array([0.5]))
    >>> topology(ring).edges.tolist()
    [[0, 1], [1, 2], [2, 0]]
    """
    # A loop of length zero is only there for points to lie on.
    is_edge = (placement.edges[:, 0] != placement.edges[:, 1]) | (placement.lengths > 0)
    found = segments(placement.edges[is_edge], placement.lengths[is_edge], placement.n_nodes)
    ends = np.searchsorted(found.milestones, found.ends)
    _, pair, count = np.unique(
        np.sort(ends, axis=1), axis=0, return_inverse=True, return_counts=True
    )
    n_parts = np.where(count[pair.ravel()] > 1, 2, 1)
    n_parts[ends[:, 0] == ends[:, 1]] = 3
    if len(ends) == 1:
        n_parts = np.maximum(n_parts, 2)
    # Part k of an edge leads from its inner node k − 1 to its inner node k.
    part_of = np.repeat(np.arange(len(ends)), n_parts)
    last = np.cumsum(n_parts)
    k = np.arange(len(part_of)) - (last - n_parts)[part_of]
    inner = len(found.milestones) + (last - n_parts - np.arange(len(ends)))[part_of] + k
    left = np.where(k == 0, ends[part_of, 0], inner - 1)
    right = np.where(k == n_parts[part_of] - 1, ends[part_of, 1], inner)
    n_nodes = len(found.milestones) + int((n_parts - 1).sum())
    return Topology(n_nodes, np.column_stack([left, right]), (found.lengths / n_parts)[part_of])


def topologies(truth: Any, found: Any) -> tuple[Topology, Topology]:
    """The shapes of two graphs with points on them."""
    return topology(placement_of(truth, "truth")), topology(placement_of(found, "found"))


def isomorphic(truth: Any, found: Any) -> bool:
    """Whether two graphs have the same shape once nodes with two neighbours are dissolved.

    Lengths and points do not matter; unlike for `him` and `edge_flip`, nodes without edges do.

    Parameters
    ----------
    truth, found : Placement, or object with a Placement as its ``placement_`` or ``truth``

    Returns
    -------
    same : bool
        Whether the nodes of one graph can be renamed so that it becomes the other.

    Notes
    -----
    Nodes get colours that are refined until nodes of one colour have neighbours of the same
    colours. Forests are the same exactly if their colours are (Immerman, Lander 1990, "Describing
    graphs: a first-order approach to graph canonization", doi:10.1007/978-1-4612-4478-3_5). Among
    the nodes between which cycles lead, those of one colour are told apart by trial.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.graph.placement import Placement
    >>> from ramify.metrics import isomorphic
    >>> none = np.array([], dtype=int), np.array([])
    >>> star = Placement(4, np.array([[0, 1], [0, 2], [0, 3]]), np.ones(3), *none)
    >>> line = Placement(4, np.array([[0, 1], [0, 2], [2, 3]]), np.ones(3), *none)
    >>> isomorphic(star, star), isomorphic(star, line)
    (True, False)
    """
    one, other = topologies(truth, found)
    if (one.n_nodes, len(one.edges)) != (other.n_nodes, len(other.edges)):
        return False
    both = np.vstack([one.edges, one.n_nodes + other.edges])
    neighbors: list[list[int]] = [[] for _ in range(2 * one.n_nodes)]
    for a, b in both.tolist():
        neighbors[a].append(b)
        neighbors[b].append(a)
    return _can_be_matched(neighbors, [0] * len(neighbors), _on_cycles(both, len(neighbors)))


def _can_be_matched(neighbors: list[list[int]], colors: list[int], on_cycles: Bools) -> bool:
    """Whether the first half of the nodes can be matched with the second, colour by colour."""
    colors, half = _refined(neighbors, colors), len(neighbors) // 2
    if sorted(colors[:half]) != sorted(colors[half:]):
        return False
    count = np.bincount(colors[:half], minlength=1)
    open_ = [v for v in range(half) if on_cycles[v] and count[colors[v]] > 1]
    if not open_:
        return True
    chosen, new = open_[0], max(colors) + 1
    for v in range(half, 2 * half):
        if colors[v] == colors[chosen]:
            trial = list(colors)
            trial[chosen] = trial[v] = new
            if _can_be_matched(neighbors, trial, on_cycles):
                return True
    return False


def _refined(neighbors: list[list[int]], colors: list[int]) -> list[int]:
    """Colours such that nodes of one colour have neighbours of the same colours."""
    n_colors = len(set(colors))
    while True:
        around = [
            (color, *sorted(colors[w] for w in near))
            for color, near in zip(colors, neighbors, strict=True)
        ]
        number = {key: k for k, key in enumerate(sorted(set(around)))}
        if len(number) == n_colors:
            return [number[key] for key in around]
        colors, n_colors = [number[key] for key in around], len(number)


def _on_cycles(edges: Ints, n_nodes: int) -> Bools:
    """Nodes that are left when tips are taken away until there are none."""
    while True:
        degree = degrees(edges, n_nodes)
        inner = (degree[edges] > 1).all(axis=1)
        if inner.all():
            return degree > 0
        edges = edges[inner]
