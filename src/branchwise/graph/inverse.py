"""Exact entries of (L + c·I)⁻¹ on the edges of a graph: dense, or by nested dissection.

With the nodes of one part P eliminated last among those that it touches, and U the later nodes
that its elimination joins, the matrix is, on P and U, what the children of the part have left:

    F = [F_PP  F_UPᵀ]      G = F_UP F_PP⁻¹,      F_UU − G F_UPᵀ goes to the parent.
        [F_UP  F_UU ]

On the way back the inverse Z is known on U, which lies among the parent's nodes, and follows on P
(Takahashi's recursion, by blocks):

    Z_UP = −Z_UU G,      Z_PP = F_PP⁻¹ − Gᵀ Z_UP.

Every edge lies within one part and its U, so that all resistances are exact, and most of Z is
never computed. The parts come from nested dissection, which is at the end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components, dijkstra, maximum_bipartite_matching

from .._compat import kernel
from .._typing import Bools, Floats, Ints, Sparse
from .laplacian import adjacency

Solve = Callable[[Floats], Floats]

# A part of this many nodes is eliminated at once, as a dense block.
LEAF = 96
# A separator with a larger part of the nodes is not worth having: dense blocks are faster.
WORST_SEPARATOR = 0.4


class GraphInverse(NamedTuple):
    """What is known of the inverse of Q = L + c·I."""

    logdet: float  # of Q
    diagonal: Floats  # of Q⁻¹
    resistance: Floats  # b_eᵀQ⁻¹b_e for every edge
    solve: Solve  # B ↦ Q⁻¹B


# From the weights of the edges, and c, to the inverse.
Invert = Callable[[Floats, float], GraphInverse]


def dense_inverse(edges: Ints, n_nodes: int) -> Invert:
    """The inverse as a dense matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.inverse import dense_inverse
    >>> invert = dense_inverse(np.array([[0, 1]]), 2)
    >>> invert(np.array([1.0]), 0.5).resistance  # two in parallel: 1 and 2·2
    array([0.8])
    """
    i, j = edges[:, 0], edges[:, 1]

    def invert(s: Floats, ridge: float) -> GraphInverse:
        Q = np.zeros((n_nodes, n_nodes))
        Q[i, j] = Q[j, i] = -s
        Q[np.diag_indices(n_nodes)] = ridge - Q.sum(axis=1)
        factor = linalg.cholesky(Q, lower=True, overwrite_a=True, check_finite=False)
        logdet = 2 * float(np.log(np.diag(factor)).sum())
        Z, _ = linalg.lapack.dpotri(factor, lower=1, overwrite_c=True)
        Z = np.tril(Z) + np.tril(Z, -1).T
        diagonal = np.diag(Z)
        resistance = diagonal[i] + diagonal[j] - 2 * Z[i, j]
        return GraphInverse(logdet, diagonal, resistance, lambda B: Z @ B)

    return invert


# Elimination by parts


class Front(NamedTuple):
    """One part of a dissection with the later nodes that its elimination joins."""

    first: int  # its own nodes are first, …, last − 1 in the order of elimination
    last: int
    update: Ints  # the later nodes, in the order of elimination
    children: list[int]
    parent_rows: Ints  # where the later nodes stand among the parent's own and later ones
    edges: slice  # the edges whose earlier node is its own, in the plan's order of edges
    row: Ints  # of each of these: the later node among own and later nodes,
    column: Ints  # the earlier one among its own


@dataclass(frozen=True)
class Plan:
    """What the pattern of a graph says about its elimination, whatever the weights."""

    fronts: list[Front]  # children before parents
    node_order: Ints
    edge_order: Ints
    edges: Ints
    n_nodes: int

    @property
    def n_entries(self) -> int:
        """Numbers kept: the blocks F_PP⁻¹ and G of every front."""
        return sum(own * (own + later) for own, later in self._sizes())

    @property
    def n_working(self) -> int:
        """Numbers held besides them at worst: fronts of a path to the root, thrice."""
        depth: list[int] = [0] * len(self.fronts)
        for f in reversed(range(len(self.fronts))):
            front = self.fronts[f]
            depth[f] += (front.last - front.first + len(front.update)) ** 2
            for child in front.children:
                depth[child] = depth[f]
        return 3 * max(depth, default=0)

    @property
    def n_flops(self) -> float:
        """Multiplications and additions of one inversion."""
        return sum(p**3 + 5.0 * p * p * u + 3.0 * p * u * u for p, u in self._sizes())

    def _sizes(self) -> list[tuple[int, int]]:
        return [(front.last - front.first, len(front.update)) for front in self.fronts]


def plan_elimination(edges: Ints, n_nodes: int, length: Floats | None = None) -> Plan:
    """Order the nodes by nested dissection and find which later nodes each part joins.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.inverse import plan_elimination
    >>> path = np.column_stack([np.arange(299), np.arange(1, 300)])
    >>> plan = plan_elimination(path, 300)
    >>> [len(front.update) for front in plan.fronts]
    [1, 2, 1, 2, 1, 1, 0]
    """
    parts = nested_dissection(edges, n_nodes, length)
    node_order = np.concatenate([part.nodes for part in parts])
    rank = np.empty(n_nodes, dtype=np.intp)
    rank[node_order] = np.arange(n_nodes)
    ranked = np.sort(rank[edges], axis=1)
    edge_order = np.lexsort((ranked[:, 1], ranked[:, 0]))
    earlier, later = ranked[edge_order].T

    ends = np.cumsum([len(part.nodes) for part in parts])
    starts = ends - [len(part.nodes) for part in parts]
    bounds = np.searchsorted(earlier, np.append(starts, n_nodes))
    children: list[list[int]] = [[] for _ in parts]
    updates: list[Ints] = []
    for f, part in enumerate(parts):
        seen = [later[bounds[f] : bounds[f + 1]], *(updates[child] for child in children[f])]
        joined = np.unique(np.concatenate(seen))
        updates.append(joined[joined >= ends[f]])
        if part.parent >= 0:
            children[part.parent].append(f)

    def position(f: int, nodes: Ints) -> Ints:
        """Among the own and later nodes of front f."""
        beyond = ends[f] - starts[f] + np.searchsorted(updates[f], nodes)
        return np.where(nodes < ends[f], nodes - starts[f], beyond)

    fronts = []
    for f, part in enumerate(parts):
        inside = slice(int(bounds[f]), int(bounds[f + 1]))
        fronts.append(
            Front(
                int(starts[f]),
                int(ends[f]),
                updates[f],
                children[f],
                position(part.parent, updates[f]) if part.parent >= 0 else updates[f],
                inside,
                position(f, later[inside]),
                earlier[inside] - starts[f],
            )
        )
    return Plan(fronts, node_order, edge_order, edges, n_nodes)


def selected_inverse(plan: Plan) -> Invert:
    """The inverse on the edges and the diagonal, by the plan's elimination.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.inverse import plan_elimination, selected_inverse
    >>> invert = selected_inverse(plan_elimination(np.array([[0, 1]]), 2))
    >>> invert(np.array([1.0]), 0.5).resistance.round(12)
    array([0.8])
    """
    i, j = plan.edges[:, 0], plan.edges[:, 1]

    def invert(s: Floats, ridge: float) -> GraphInverse:
        factors, logdet = factorise(plan, s, ridge)
        in_order = entries_of_inverse(plan, factors)
        diagonal, between = np.empty(plan.n_nodes), np.empty(len(s))
        diagonal[plan.node_order], between[plan.edge_order] = in_order
        resistance = diagonal[i] + diagonal[j] - 2 * between
        return GraphInverse(logdet, diagonal, resistance, lambda B: solve(plan, factors, B))

    return invert


class Factor(NamedTuple):
    """F_PP⁻¹ and G of one front."""

    own: Floats
    later: Floats


def elimination_solver(plan: Plan, s: Floats, ridge: float) -> Solve:
    """The map B ↦ Q⁻¹B, without any entry of Q⁻¹.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.inverse import elimination_solver, plan_elimination
    >>> solve = elimination_solver(plan_elimination(np.array([[0, 1]]), 2), np.ones(1), 0.5)
    >>> solve(np.ones((2, 1))).ravel().round(12)  # L1 = 0
    array([2., 2.])
    """
    factors, _ = factorise(plan, s, ridge)
    return lambda B: solve(plan, factors, B)


def factorise(plan: Plan, s: Floats, ridge: float) -> tuple[list[Factor], float]:
    """The factors of Q for the weights s, and logdet Q."""
    i, j = plan.edges[:, 0], plan.edges[:, 1]
    degree = np.bincount(i, s, plan.n_nodes) + np.bincount(j, s, plan.n_nodes)
    return eliminate(plan, s[plan.edge_order], degree[plan.node_order] + ridge)


def eliminate(plan: Plan, weight: Floats, diagonal: Floats) -> tuple[list[Factor], float]:
    """From the leaves to the roots: the factors of every front, and logdet Q."""
    factors: list[Factor] = []
    remainders: dict[int, Floats] = {}
    logdet = 0.0
    for f, front in enumerate(plan.fronts):
        n_own, n_later = front.last - front.first, len(front.update)
        PP = np.zeros((n_own, n_own), order="F")
        UP = np.zeros((n_later, n_own), order="F")
        UU = np.zeros((n_later, n_later), order="F")
        PP[np.diag_indices(n_own)] = diagonal[front.first : front.last]
        inside = front.row < n_own
        s = weight[front.edges]
        PP[front.row[inside], front.column[inside]] = -s[inside]
        UP[front.row[~inside] - n_own, front.column[~inside]] = -s[~inside]
        for child in front.children:
            if child in remainders:
                rows = plan.fronts[child].parent_rows
                add_remainder(remainders.pop(child), rows, PP, UP, UU)
        cholesky, failed = linalg.lapack.dpotrf(PP, lower=1, clean=0, overwrite_a=1)
        if failed:
            raise linalg.LinAlgError("The weighted Laplacian plus c·I is not positive definite.")
        logdet += 2 * float(np.log(np.diag(cholesky)).sum())
        if n_later:
            triangular = {"side": 1, "lower": 1, "overwrite_b": 1}
            UP = linalg.blas.dtrsm(1.0, cholesky, UP, trans_a=1, **triangular)
            remainders[f] = linalg.blas.dsyrk(-1.0, UP, 1.0, UU, lower=1, overwrite_c=1)
            UP = linalg.blas.dtrsm(1.0, cholesky, UP, **triangular)
        own, _ = linalg.lapack.dpotri(cholesky, lower=1, overwrite_c=1)
        reflect(own)
        factors.append(Factor(own, UP))
    return factors, logdet


def entries_of_inverse(plan: Plan, factors: list[Factor]) -> tuple[Floats, Floats]:
    """From the roots to the leaves: the diagonal of Q⁻¹, and its entries on the edges."""
    diagonal, between = np.empty(plan.n_nodes), np.empty(len(plan.edges))
    roots = [f for f, front in enumerate(plan.fronts) if len(front.update) == 0]
    stack: list[tuple[int, Floats]] = [(f, np.empty((0, 0))) for f in roots]
    while stack:
        f, parent = stack.pop()
        front, (own, G) = plan.fronts[f], factors[f]
        n_own = len(own)
        Z = np.empty((n_own + len(G), n_own + len(G)), order="F")
        if len(G):
            take(parent, front.parent_rows, n_own, Z)
            Z_UP = -(Z[n_own:, n_own:] @ G)
            Z[n_own:, :n_own] = Z_UP
            Z[:n_own, n_own:] = Z_UP.T
            Z[:n_own, :n_own] = own - G.T @ Z_UP
        else:
            Z[:] = own
        diagonal[front.first : front.last] = np.diag(Z)[:n_own]
        between[front.edges] = Z[front.row, front.column]
        stack.extend((child, Z) for child in front.children if len(plan.fronts[child].update))
    return diagonal, between


def solve(plan: Plan, factors: list[Factor], B: Floats) -> Floats:
    """Q⁻¹B."""
    X = np.asarray(B, dtype=np.float64)[plan.node_order]
    for front, (_, G) in zip(plan.fronts, factors, strict=True):
        if len(G):
            X[front.update] -= G @ X[front.first : front.last]
    for front, (own, G) in zip(reversed(plan.fronts), reversed(factors), strict=True):
        x = own @ X[front.first : front.last]
        X[front.first : front.last] = x - G.T @ X[front.update] if len(G) else x
    solution = np.empty_like(X)
    solution[plan.node_order] = X
    return solution


@kernel
def add_remainder(child: Floats, rows: Ints, PP: Floats, UP: Floats, UU: Floats) -> None:
    """Add the lower triangle of a child's remainder to the blocks of its parent."""
    n_own = PP.shape[0]
    for b in range(len(rows)):
        column = rows[b]
        for a in range(b, len(rows)):
            row = rows[a]
            if row < n_own:
                PP[row, column] += child[a, b]
            elif column < n_own:
                UP[row - n_own, column] += child[a, b]
            else:
                UU[row - n_own, column - n_own] += child[a, b]


@kernel
def take(parent: Floats, rows: Ints, offset: int, Z: Floats) -> None:
    """Z[offset:, offset:] = parent[rows][:, rows]."""
    for b in range(len(rows)):
        for a in range(len(rows)):
            Z[offset + a, offset + b] = parent[rows[a], rows[b]]


@kernel
def reflect(A: Floats) -> None:
    """Copy the lower triangle of A over its upper one."""
    for b in range(A.shape[0]):
        for a in range(b):
            A[a, b] = A[b, a]


# Nested dissection


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
    >>> from branchwise.graph.inverse import nested_dissection
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
