"""The branches of a rooted graph: named, and all running away from the root."""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from .._typing import Floats, Ints, Sparse
from ..graph.placement import (
    Placement,
    Segments,
    degrees,
    length_matrix,
    on_segments,
    rearranged,
    segments,
)


class Branches(NamedTuple):
    """The graph of milestones and the branches between them, from the root outwards."""

    milestones: list[str]  # names
    names: Any  # (n_branches,): array of strings
    found: Segments  # the nodes of the milestones, and the edges of the branches
    placed: Placement  # the samples on the graph of milestones
    start_time: Floats  # (n_branches,): pseudotime at the start
    parents: list[str]  # the branch that leads to the start of each; empty at a root


def outward_branches(
    placement: Placement, roots: Ints, named: dict[int, str], node_time: Floats
) -> Branches:
    """The segments between tips, forks and roots, each from its earlier end to its later one.

    Branches that start earlier come first, and then those with the more important end.

    Parameters
    ----------
    placement : Placement
    roots : array of nodes
    named : dict
        Names of tips and forks, by node; roots elsewhere become R1, R2, …
    node_time : array of shape (n_nodes,)

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.graph.placement import Placement
    >>> from ramify.trajectory.branches import outward_branches
    >>> path = Placement(3, np.array([[0, 1], [1, 2]]), np.ones(2), np.array([0]), np.array([0.2]))
    >>> found = outward_branches(path, np.array([1]), {0: "T1", 2: "T2"}, np.array([1.0, 0, 1]))
    >>> found.names.tolist(), found.placed.position
    (['R1-T1', 'R1-T2'], array([0.8]))
    """
    found = segments(placement.edges, placement.lengths, placement.n_nodes, roots)
    elsewhere = [node for node in found.milestones.tolist() if node not in named]
    named = named | {node: f"R{k}" for k, node in enumerate(elsewhere, 1)}
    milestones = [named[node] for node in found.milestones.tolist()]
    rank = np.empty(placement.n_nodes, dtype=np.intp)
    rank[sorted(named, key=lambda node: importance(named[node]))] = np.arange(len(named))
    start, end = found.ends.T
    later = node_time[start] - node_time[end]
    # The ends of a branch without length have the same time: it still leads away from the root.
    before = came_from(found, roots)
    backwards = np.where(before[start] == end, True, rank[start] > rank[end])
    turned = (later > 0) | ((later == 0) & (before[end] != start) & backwards)
    start, end = np.where(turned, end, start), np.where(turned, start, end)
    order = np.lexsort((rank[end], rank[start], node_time[start]))
    found = rearranged(found, order, turned)
    start, end = found.ends.T
    names = distinct([f"{named[a]}-{named[b]}" for a, b in found.ends.tolist()])
    # The branch that reaches a milestone first, by the path that gave it its time.
    arrives: dict[int, int] = {}
    for branch in np.argsort(node_time[start] + found.lengths, kind="stable")[::-1].tolist():
        if start[branch] != end[branch]:
            arrives[int(end[branch])] = branch
    at_root = set(np.asarray(roots).tolist())
    parents = ["" if a in at_root else names[arrives[a]] for a in start.tolist()]
    return Branches(
        milestones,
        np.array(names),
        found,
        on_segments(placement, found),
        node_time[start],
        parents,
    )


def came_from(found: Segments, roots: Ints) -> Ints:
    """The milestone before each milestone on the way from the nearest root, by node; else −1.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.graph.placement import segments
    >>> from ramify.trajectory.branches import came_from
    >>> edges = np.array([[0, 1], [1, 2], [1, 3]])
    >>> came_from(segments(edges, np.array([1.0, 0.0, 2.0]), 4), np.array([0]))
    array([-1,  0,  1,  1])
    """
    nodes = found.milestones
    matrix = length_matrix(np.searchsorted(nodes, found.ends), found.lengths, len(nodes))
    _, before, _ = dijkstra(
        matrix,
        directed=False,
        indices=np.searchsorted(nodes, roots),
        min_only=True,
        return_predecessors=True,
    )
    result = np.full(int(nodes.max()) + 1, -1, dtype=np.intp)
    known = before >= 0
    result[nodes[known]] = nodes[before[known]]
    return result


def shares(edges: Ints, found: Segments, n_nodes: int) -> Sparse:
    """The part of each node that belongs to each branch: a milestone has equal parts in its own.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.graph.placement import segments
    >>> from ramify.trajectory.branches import shares
    >>> edges = np.array([[0, 1], [1, 2], [1, 3]])
    >>> shares(edges, segments(edges, np.ones(3), 4), 4).toarray().round(2)[:2]
    array([[1.  , 0.  , 0.  ],
           [0.33, 0.33, 0.33]])
    """
    node, branch = edges.ravel(), np.repeat(found.of_edge, 2)
    part = 1 / degrees(edges, n_nodes)[node]
    shape = (n_nodes, len(found.ends))
    return sparse.coo_array((part, (node, branch)), shape=shape).tocsr()


def importance(name: str) -> tuple[int, int]:
    """Key that sorts R1 before T1 before T2 before T10 before F1.

    Examples
    --------
    >>> from ramify.trajectory.branches import importance
    >>> sorted(["F1", "T10", "T2", "R1"], key=importance)
    ['R1', 'T2', 'T10', 'F1']
    """
    return "RTF".index(name[0]), int(name[1:])


def distinct(names: list[str]) -> list[str]:
    """Equal names (of branches between the same two milestones) with numbers.

    Examples
    --------
    >>> from ramify.trajectory.branches import distinct
    >>> distinct(["F1-F2", "F1-T1", "F1-F2"])
    ['F1-F2.1', 'F1-T1', 'F1-F2.2']
    """
    count, seen = Counter(names), Counter[str]()
    result = []
    for name in names:
        seen[name] += 1
        result.append(name if count[name] == 1 else f"{name}.{seen[name]}")
    return result
