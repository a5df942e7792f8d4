"""Tips, forks and branches of a graph: their names, their order, and the twigs."""

import heapq
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from .._compat import inlined, kernel
from .._typing import Bools, Floats, Ints, Sparse
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
from .geometry import Geometry


class Branches(NamedTuple):
    """The graph of milestones and the branches between them, from the root outwards."""

    milestones: list[str]  # names
    names: Any  # (n_branches,): array of strings
    found: Segments  # the nodes of the milestones, and the edges of the branches
    placed: Placement  # the samples on the graph of milestones
    start_time: Floats  # (n_branches,): pseudotime at the start
    end_time: Floats  # (n_branches,): at the end, by the shortest path
    parents: list[str]  # the branch that leads to the start of each; empty at a root


class Twigs(NamedTuple):
    """The twigs of a graph, in the order in which they are cut off."""

    tips: Ints  # the node at the end of each
    forks: Ints  # the node that each was cut from
    sizes: Floats  # the weight of each when it was cut
    owner: Ints  # (n_edges,): the twig that each edge was cut off with; −1 for what is left


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
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.trajectory.branches import outward_branches
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
    """The milestone before each milestone on the path from the nearest root, by node; else −1.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import segments
    >>> from branchwise.trajectory.branches import came_from
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
    >>> from branchwise.graph.placement import segments
    >>> from branchwise.trajectory.branches import came_from, leading_branches
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
    """How many milestones come before each on its path from the roots."""
    reached = np.flatnonzero(before >= 0)
    paths = adjacency(np.column_stack([before[reached], reached]), len(before))
    return dijkstra(paths, directed=False, unweighted=True, indices=roots, min_only=True)


def lineages(found: Branches) -> dict[str, list[str]]:
    """The branches that lead to each tip from its root, in order.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory import Trajectory
    >>> from branchwise.trajectory.branches import lineages
    >>> nodes = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 2.0], [3.0, -1.0]])
    >>> lineages(Trajectory([[0, 1], [1, 2], [1, 3]], nodes).view.branches)
    {'T2': ['T1-F1', 'F1-T2'], 'T3': ['T1-F1', 'F1-T3']}
    """
    names = found.names.tolist()
    parent = dict(zip(names, found.parents, strict=True))
    ends = [found.milestones[k] for k in found.placed.edges[:, 1]]
    result = {}
    for end, branch in sorted(zip(ends, names, strict=True), key=lambda x: importance(x[0])):
        if end.startswith("T"):
            path = [branch]
            while parent[path[0]]:
                path.insert(0, parent[path[0]])
            result[end] = path
    return result


def shares(edges: Ints, found: Segments, n_nodes: int) -> Sparse:
    """The part of each node that belongs to each branch: a milestone has equal parts in its own.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import segments
    >>> from branchwise.trajectory.branches import shares
    >>> edges = np.array([[0, 1], [1, 2], [1, 3]])
    >>> shares(edges, segments(edges, np.ones(3), 4), 4).toarray().round(2)[:2]
    array([[1.  , 0.  , 0.  ],
           [0.33, 0.33, 0.33]])
    """
    node, branch = edges.ravel(), np.repeat(found.of_edge, 2)
    part = 1 / degrees(edges, n_nodes)[node]
    shape = (n_nodes, len(found.ends))
    return sparse.coo_array((part, (node, branch)), shape=shape).tocsr()


def name_milestones(geometry: Geometry) -> dict[int, str]:
    """Tips T1, T2, … and forks F1, F2, … of a graph, by node, the most important first.

    The first two tips of a tree are the ends of its longest path, T1 being the one whose
    coordinates come first in the order of a dictionary. The other tips follow by the length of the
    twig that would be cut off with them (`rank_twigs`), the longest first; a fork follows
    by the first tip, T3 or later, that branches off there. Forks of cycles, which are forks
    without any twig, come first. So pruning the last tips leaves the names of the others as they
    were.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.branches import name_milestones
    >>> from branchwise.trajectory.geometry import place
    >>> nodes = np.array([[3.0, 0.0], [3.0, 1.0], [0.0, 0.0], [5.0, 0.0]])
    >>> name_milestones(place(nodes, np.array([[0, 1], [0, 2], [0, 3]]), nodes))
    {2: 'T1', 3: 'T2', 1: 'T3', 0: 'F1'}
    """
    edges, lengths, n_nodes = geometry.edges, geometry.lengths, len(geometry.nodes)
    twigs = rank_twigs(edges, lengths, n_nodes)
    degree, parts = degrees(edges, n_nodes), geometry.parts
    left = np.bincount(parts[edges[:, 0]], weights=np.where(twigs.owner < 0, lengths, 0.0))
    tips = np.setdiff1d(np.flatnonzero(degree == 1), twigs.tips)
    tips = tips[np.lexsort((*_in_reading_order(geometry.nodes[tips]), -left[parts[tips]]))]
    forks = np.flatnonzero(degrees(edges[twigs.owner < 0], n_nodes) > 2)
    forks = forks[np.lexsort(_in_reading_order(geometry.nodes[forks]))]
    # A fork is as important as the last twig that is cut from it.
    cut, first = np.unique(twigs.forks[::-1], return_index=True)
    cut = cut[np.argsort(first)]
    forks = np.concatenate([forks, cut[~np.isin(cut, forks)]])
    tips = np.concatenate([tips, twigs.tips[::-1]])
    names = {int(node): f"T{k}" for k, node in enumerate(tips, 1)}
    return names | {int(node): f"F{k}" for k, node in enumerate(forks, 1)}


def default_roots(geometry: Geometry, names: dict[int, str]) -> Ints:
    """For each connected part its first tip or, on a ring, the node that comes first in reading.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.branches import default_roots, name_milestones
    >>> from branchwise.trajectory.geometry import place
    >>> path = place(np.array([[0.0], [1.0], [3.0]]), np.array([[0, 1], [1, 2]]), np.zeros((1, 1)))
    >>> default_roots(path, name_milestones(path))
    array([0])
    """
    parts = geometry.parts
    first = np.full(len(parts), len(parts))
    for rank, (node, name) in enumerate(names.items()):
        if name.startswith("T"):
            first[node] = rank
    order = np.lexsort((*_in_reading_order(geometry.nodes), first, parts))
    return order[np.unique(parts[order], return_index=True)[1]]


def _in_reading_order(points: Floats) -> list[Floats]:
    """Keys for np.lexsort: the first column counts most."""
    return list(points.T[::-1])


def importance(name: str) -> tuple[int, int]:
    """Key that sorts R1 before T1 before T2 before T10 before F1.

    Examples
    --------
    >>> from branchwise.trajectory.branches import importance
    >>> sorted(["F1", "T10", "T2", "R1"], key=importance)
    ['R1', 'T2', 'T10', 'F1']
    """
    return "RTF".index(name[0]), int(name[1:])


def distinct(names: list[str]) -> list[str]:
    """Equal names (of branches between the same two milestones) with numbers.

    Examples
    --------
    >>> from branchwise.trajectory.branches import distinct
    >>> distinct(["F1-F2", "F1-T1", "F1-F2"])
    ['F1-F2.1', 'F1-T1', 'F1-F2.2']
    """
    count, seen = Counter(names), Counter[str]()
    result = []
    for name in names:
        seen[name] += 1
        result.append(name if count[name] == 1 else f"{name}.{seen[name]}")
    return result


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
    >>> from branchwise.trajectory.branches import rank_twigs
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
