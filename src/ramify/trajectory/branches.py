"""The branches of a rooted graph: named, and all running away from the root."""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from .._typing import Floats, Ints, Sparse
from ..graph import adjacency
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
    end_time: Floats  # (n_branches,): at the end, by the shortest way there
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
    before = came_from(found, roots)
    step = _steps(before, roots)
    # Times alone do not tell the direction of a branch without length.
    later = np.sign(node_time[start] - node_time[end])
    later[before[start] == end] = 1
    later[before[end] == start] = -1
    turned = (later > 0) | ((later == 0) & (rank[start] > rank[end]))
    start, end = np.where(turned, end, start), np.where(turned, start, end)
    order = np.lexsort((rank[end], rank[start], step[start], node_time[start]))
    found = rearranged(found, order, turned)
    start, end = found.ends.T
    names = distinct([f"{named[a]}-{named[b]}" for a, b in found.ends.tolist()])
    leading = {node: names[branch] for node, branch in leading_branches(found, before).items()}
    parents = [leading.get(a, "") for a in start.tolist()]
    return Branches(
        milestones,
        np.array(names),
        found,
        on_segments(placement, found),
        node_time[start],
        node_time[end],
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


def leading_branches(found: Segments, before: Ints) -> dict[int, int]:
    """The branch by which time reaches each milestone, by node; roots have none.

    Of several branches between two milestones, the shortest leads on.

    Parameters
    ----------
    found : Segments
        Each from its earlier end to its later one.
    before : array
        What `came_from` returns.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.graph.placement import segments
    >>> from ramify.trajectory.branches import came_from, leading_branches
    >>> edges = np.array([[0, 1], [1, 2], [1, 3]])
    >>> found = segments(edges, np.array([1.0, 0.0, 2.0]), 4)
    >>> leading_branches(found, came_from(found, np.array([0])))
    {3: 2, 1: 0, 2: 1}
    """
    start, end = found.ends.T
    longest_first = np.argsort(-found.lengths)
    leads = longest_first[before[end[longest_first]] == start[longest_first]]
    return dict(zip(end[leads].tolist(), leads.tolist(), strict=True))


def _steps(before: Ints, roots: Ints) -> Floats:
    """How many milestones come before each on its way from the roots."""
    reached = np.flatnonzero(before >= 0)
    ways = adjacency(np.column_stack([before[reached], reached]), len(before))
    return dijkstra(ways, directed=False, unweighted=True, indices=roots, min_only=True)


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
