"""Nested dissection: an order of elimination in which a sparse graph fills in little."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import (
    connected_components,
    dijkstra,
    maximum_bipartite_matching,
)

from .._typing import Bools, Floats, Ints, Sparse
from .laplacian import adjacency

# A part of this many nodes is eliminated at once, as a dense block.
LEAF = 96
# A separator with a larger part of the nodes is not worth having: dense blocks are faster.
WORST_SEPARATOR = 0.4


class Part(NamedTuple):
    """Nodes that are eliminated together, and the part that they leave their mark on."""

    nodes: Ints
    parent: int  # −1 for none


def nested_dissection(edges: Ints, n_nodes: int, length: Floats | None = None) -> list[Part]:
    """Parts in the order of their elimination, children before their parents.

    A connected graph is cut in two halves by a set of nodes that no path from one to the other
    avoids; the halves are cut likewise. The set is eliminated after both halves, which
    therefore never meet: on graphs with small cuts, as those of points of low intrinsic
    dimension, most of the inverse's entries are never touched.

    `length` of an edge tells near from far; the cuts run across the long side of the graph.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.graph.dissection import nested_dissection
    >>> path = np.column_stack([np.arange(299), np.arange(1, 300)])
    >>> [(len(part.nodes), part.parent) for part in nested_dissection(path, 300)]
    [(73, 2), (75, 2), (1, 6), (74, 5), (75, 5), (1, 6), (1, -1)]
    """
    if length is None:
        length = np.ones(len(edges))
    # Sparse graphs read a length of zero as no edge; also, many steps count as far.
    longer = length + 0.1 * (float(length.mean()) if len(length) else 0.0)
    graph = adjacency(edges, n_nodes, np.where(longer > 0, longer, 1.0))
    parts: list[Part] = []  # parents before children, as they are found
    stack: list[tuple[Ints, Sparse, int]] = [(np.arange(n_nodes), graph, -1)]
    while stack:
        nodes, subgraph, parent = stack.pop()
        halves: list[Ints] = []
        separator: Ints = np.arange(len(nodes))
        if len(nodes) > LEAF:
            cut = bisect(subgraph)
            if len(cut.separator) <= WORST_SEPARATOR * len(nodes):
                halves, separator = cut
        if len(separator):
            parts.append(Part(nodes[separator], parent))
            parent = len(parts) - 1
        for half in halves:
            if len(half):
                stack.append((nodes[half], subgraph[half][:, half], parent))
    last = len(parts) - 1
    return [Part(p.nodes, last - p.parent if p.parent >= 0 else -1) for p in reversed(parts)]


class Cut(NamedTuple):
    """Two halves without an edge between them, and the separator that is left out of both."""

    halves: list[Ints]
    separator: Ints


def bisect(graph: Sparse) -> Cut:
    """Cut a graph in two: between its components, or across its long side."""
    n_components, component = connected_components(graph, directed=False)
    if n_components > 1:
        return Cut(pack(component), np.empty(0, dtype=np.intp))
    across = long_axis(graph)
    left = np.zeros(graph.shape[0], dtype=bool)
    left[np.argsort(across, kind="stable")[: len(left) // 2]] = True
    separator = vertex_separator(graph, left)
    halves: list[Ints] = [np.flatnonzero(left & ~separator), np.flatnonzero(~left & ~separator)]
    return Cut(halves, np.flatnonzero(separator))


def pack(component: Ints) -> list[Ints]:
    """Nodes of whole components in two sets, as equal in size as the largest allows."""
    size = np.bincount(component)
    largest_first = np.argsort(-size, kind="stable")
    before = np.cumsum(size[largest_first]) - size[largest_first]
    is_first = np.empty(len(size), dtype=bool)
    is_first[largest_first] = before < len(component) / 2
    if is_first.all():
        is_first[largest_first[-1]] = False
    return [np.flatnonzero(is_first[component]), np.flatnonzero(~is_first[component])]


def long_axis(graph: Sparse) -> Floats:
    """A coordinate along a connected graph: distance to one far node minus to another.

    Its level sets cross the graph at right angles to a longest path. That of the distance to
    one end alone would bend around it.
    """
    far = int(np.argmax(dijkstra(graph, indices=0)))
    from_far = dijkstra(graph, indices=far)
    return from_far - dijkstra(graph, indices=int(np.argmax(from_far)))


def vertex_separator(graph: Sparse, left: Bools) -> Bools:
    """The fewest nodes that meet every edge between the left half and the rest.

    By König's theorem: a minimum vertex cover of the cut edges, from a maximum matching.
    """
    rows, columns = np.flatnonzero(left), np.flatnonzero(~left)
    cut = sparse.csr_array(graph[rows][:, columns])
    matched_row = maximum_bipartite_matching(cut, perm_type="row")  # of each column
    has_cut = np.diff(cut.indptr) > 0
    reached_row = has_cut.copy()
    reached_row[matched_row[matched_row >= 0]] = False
    reached_column = np.zeros(len(columns), dtype=bool)
    fresh = reached_row
    # Alternating paths from the rows without a partner: any edge out, the matching back.
    while fresh.any():
        hit = np.zeros(len(columns), dtype=bool)
        hit[cut[np.flatnonzero(fresh)].indices] = True
        hit &= ~reached_column
        reached_column |= hit
        fresh = np.zeros(len(rows), dtype=bool)
        fresh[matched_row[hit]] = True
        fresh &= ~reached_row
        reached_row |= fresh
    separator = np.zeros(len(left), dtype=bool)
    separator[rows[has_cut & ~reached_row]] = True
    separator[columns[reached_column]] = True
    return separator
