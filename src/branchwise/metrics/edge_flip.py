"""The fewest edges to add and to remove that make one topology the other."""

from typing import Any

import numpy as np

from .._compat import kernel
from .._typing import Bools, Ints
from ..data.checks import check_count
from .topology import Topology, topologies

# Nodes beyond which no search has a prospect of coming to an end.
MAX_NODES = 500


def edge_flip(truth: Any, found: Any, max_steps: int = 10_000_000) -> float:
    """Similarity of two topologies: one minus the part of their edges that has to be changed.

    Both graphs are reduced to their tips, forks and the paths between them; a loop is broken up
    into three edges, each of several edges between two nodes into two, and so is the edge of
    a graph that has only one. With m and m' edges, of which at most c coincide, whichever node is
    taken for which,

        edge_flip = 1 − (m + m' − 2c) / (m + m')

    where m + m' − 2c is the least number of edges to add and to remove. This is the score
    "edge flip" of Saelens et al. (2019). (Their program divides by m + m' − 2, and gives up at more
    than five changes, where it returns 0.)

    Parameters
    ----------
    truth, found : Placement, or object with a Placement as its ``placement_`` or ``truth``
        Only the graphs matter, not their lengths or the points on them.
    max_steps : int, default=10_000_000
        Steps of the search, which is exhaustive, so that their number may grow exponentially with
        the size of the smaller graph. Ten million last less than a second; they were enough for
        random trees of up to about 25 nodes, and graphs with cycles of up to about 20.

    Returns
    -------
    score : float
        From 0 to 1, exact; 1 if all edges coincide, 0 only if one of two graphs has no edges. NaN
        if max_steps were not enough to prove which number of changes is the least, or if a graph
        has more than 500 nodes: never an estimate. Nodes without edges are not seen. Symmetric.

    References
    ----------
    Saelens, Cannoodt, Todorov, Saeys (2019), "A comparison of single-cell trajectory inference
    methods", Nature Biotechnology 37, 547-554, doi:10.1038/s41587-019-0071-9.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.metrics import edge_flip
    >>> none = np.array([], dtype=int), np.array([])
    >>> star = Placement(4, np.array([[0, 1], [0, 2], [0, 3]]), np.ones(3), *none)
    >>> line = Placement(4, np.array([[0, 1], [0, 2], [2, 3]]), np.ones(3), *none)
    >>> edge_flip(star, line)  # the line is two edges, to which one is added
    0.8
    """
    small, large = sorted(topologies(truth, found), key=lambda graph: graph.n_nodes)
    check_count(max_steps, "max_steps")
    n_edges = len(small.edges) + len(large.edges)
    if len(small.edges) == 0 or len(large.edges) == 0:
        return float(n_edges == 0)
    if large.n_nodes > MAX_NODES:
        return float("nan")
    n_common = _most_common_edges(small, large, max_steps)
    return float("nan") if n_common < 0 else 2 * n_common / n_edges


def _most_common_edges(small: Topology, large: Topology, max_steps: int) -> int:
    """The most edges of one graph that can be laid over edges of another, node by node.

    −1 if it takes more steps than that to be sure.
    """
    A, B = _adjacency(small), _adjacency(large)
    order = _search_order(A)
    A = A[np.ix_(order, order)]
    by_degree = np.argsort(-B.sum(axis=1), kind="stable")
    B = B[np.ix_(by_degree, by_degree)]
    # No more than if each node met the one of its rank among the degrees.
    degree_a, degree_b = (-np.sort(-M.sum(axis=1)) for M in (A, B))
    bound = int(np.minimum(degree_a, degree_b[: len(degree_a)]).sum()) // 2
    return int(_search(A, B, _previous_twin(A), _previous_twin(B), bound, max_steps))


def _adjacency(graph: Topology) -> Bools:
    matrix = np.zeros((graph.n_nodes, graph.n_nodes), dtype=bool)
    i, j = graph.edges.T
    matrix[i, j] = matrix[j, i] = True
    return matrix


def _search_order(A: Bools) -> Ints:
    """Nodes with many neighbours before them come early, and then those with many at all."""
    degree = A.sum(axis=1)
    order: list[int] = []
    left = np.ones(len(A), dtype=bool)
    while left.any():
        rank = A[:, order].sum(axis=1) * (len(A) + 1) + degree
        order.append(int(np.argmax(np.where(left, rank, -1))))
        left[order[-1]] = False
    return np.array(order, dtype=np.intp)


def _previous_twin(A: Bools) -> Ints:
    """The last node before each that has the same other neighbours, or −1."""
    n = len(A)
    twin = np.full(n, -1)
    for v in range(n):
        for u in range(v):
            differs = A[u] != A[v]
            differs[[u, v]] = False
            if not differs.any():
                twin[v] = u
    return twin


@kernel
def _search(A: Bools, B: Bools, twin_a: Ints, twin_b: Ints, bound: int, max_steps: int) -> int:
    """Lay the nodes of A over those of B one after the other, in all ways that may be best.

    Of ways that differ by a swap of twins, the first is tried. Edges still to come are at most
    those at nodes already laid, the fewer of both sides, and those between nodes not yet laid.
    """
    n_a, n_b = len(A), len(B)
    image, next_ = np.full(n_a, -1), np.zeros(n_a, dtype=np.int64)
    common = np.zeros(n_a + 1, dtype=np.int64)
    is_used = np.zeros(n_b, dtype=np.bool_)
    open_b = np.zeros(n_b, dtype=np.int64)  # neighbours not in use
    for v in range(n_b):
        open_b[v] = np.sum(B[v])
    inner_b = np.sum(open_b) // 2  # edges between nodes not in use
    open_a = np.zeros((n_a + 1, n_a), dtype=np.int64)  # neighbours from k on
    inner_a = np.zeros(n_a + 1, dtype=np.int64)
    for k in range(n_a + 1):
        for u in range(n_a):
            open_a[k, u] = np.sum(A[u, k:])
        inner_a[k] = np.sum(open_a[k, k:]) // 2
    best, k = -1, 0
    for _ in range(max_steps):
        v = next_[k]
        if image[k] >= 0:  # back from all that followed it
            u = image[k]
            image[k] = -1
            is_used[u] = False
            for w in range(n_b):
                if B[u, w]:
                    open_b[w] += 1
            inner_b += open_b[u]
        if v == n_b:
            if k == 0:
                return best
            k -= 1
            continue
        next_[k] = v + 1
        if is_used[v] or (twin_b[v] >= 0 and not is_used[twin_b[v]]):
            continue
        if twin_a[k] >= 0 and v < image[twin_a[k]]:
            continue
        total = common[k]
        for l in range(k):
            total += A[k, l] and B[v, image[l]]
        image[k] = v
        is_used[v] = True
        for w in range(n_b):
            if B[v, w]:
                open_b[w] -= 1
        inner_b -= open_b[v]
        limit = total + min(inner_a[k + 1], inner_b)
        for l in range(k + 1):
            limit += min(open_a[k + 1, l], open_b[image[l]])
        if k + 1 == n_a:
            best = max(best, total)
            if best == bound:
                return best
        elif limit > best:
            common[k + 1] = total
            k += 1
            next_[k] = 0
    return -1
