"""Exact entries of (L + c·I)⁻¹ on the edges of a graph: dense, or by nested dissection.

With the nodes of one part P eliminated last among those that it touches, and U the later nodes
that its elimination joins, the matrix is, on P and U, what the children of the part have left:

    F = [F_PP  F_UPᵀ]      G = F_UP F_PP⁻¹,      F_UU − G F_UPᵀ goes to the parent.
        [F_UP  F_UU ]

On the way back the inverse Z is known on U, which lies among the parent's nodes, and follows on P
(Takahashi's recursion, by blocks):

    Z_UP = −Z_UU G,      Z_PP = F_PP⁻¹ − Gᵀ Z_UP.

Every edge lies within one part and its U, so that all resistances are exact, and most of Z is
never computed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg

from .._compat import kernel
from .._typing import Floats, Ints
from .dissection import nested_dissection

Solve = Callable[[Floats], Floats]


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
    >>> from ramify.graph.inverse import dense_inverse
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
    >>> from ramify.graph.inverse import plan_elimination
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
    >>> from ramify.graph.inverse import plan_elimination, selected_inverse
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
    >>> from ramify.graph.inverse import elimination_solver, plan_elimination
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
