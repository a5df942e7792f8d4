"""Solves with P = L + diagonal over a graph: trees in linear time, others by a sparse factor."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from .._compat import kernel
from .._typing import Floats, Ints
from .laplacian import adjacency, laplacian


def graph_solver(
    edges: Ints, weight: float | Floats, diagonal: Floats
) -> Callable[[Floats], Floats]:
    """Factorise P = L + diag(diagonal); return the map B ↦ P⁻¹B.

    A graph without cycles is eliminated exactly and in linear time (`forest_solver`), any other
    by SciPy's sparse factorisation, nodes of few neighbours first.

    Parameters
    ----------
    edges : array of shape (n_edges, 2)
    weight : float or array of shape (n_edges,)
        Non-negative weight of every edge, or of each.
    diagonal : array of shape (n_nodes,)
        Non-negative, with at least one positive entry in every part of the graph that
        edges of positive weight hold together.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph import graph_solver
    >>> solve = graph_solver(np.array([[0, 1], [1, 2], [0, 2]]), 1.0, np.ones(3))
    >>> solve(np.array([[4.0], [0.0], [0.0]])).ravel().round(12)
    array([2., 1., 1.])
    """
    n_nodes = len(diagonal)
    forest = root_forest(edges, weight, n_nodes)
    if len(edges) == n_nodes - forest.n_trees:
        return forest_solver(forest, diagonal)
    weights = np.broadcast_to(np.asarray(weight, float), len(edges))
    P = laplacian(edges, n_nodes, weights) + sparse.diags_array(diagonal)
    # Symmetric and diagonally dominant: the diagonal is the pivot, in any order.
    factor = splu(
        sparse.csc_array(P),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    return lambda B: factor.solve(np.asarray(B, dtype=np.float64))


class RootedForest(NamedTuple):
    """A forest with a root in each of its trees; in any other graph, one that spans it."""

    order: Ints  # the nodes, each after its parent
    parent: Ints  # of each node; −1 for a root
    weight: Floats  # of the edge from each node to its parent; 0 for a root
    n_trees: int


def root_forest(edges: Ints, weight: float | Floats, n_nodes: int) -> RootedForest:
    """Order the nodes breadth first, from the first node of every connected part."""
    S = adjacency(edges, n_nodes, np.broadcast_to(np.asarray(weight, float), len(edges)))
    order, parent = np.empty(n_nodes, dtype=np.intp), np.full(n_nodes, -1, dtype=np.intp)
    up = np.zeros(n_nodes)
    return RootedForest(order, parent, up, walk(S.indptr, S.indices, S.data, order, parent, up))


def forest_solver(forest: RootedForest, diagonal: Floats) -> Callable[[Floats], Floats]:
    """Factorise P = L + diag(diagonal) over a forest; return the map B ↦ P⁻¹B.

    A node is eliminated after all of its children, so that the factor has exactly one
    off-diagonal entry per edge: nothing fills in. Nothing is subtracted either, so that no
    digits are lost however large the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.solve import forest_solver, root_forest
    >>> solve = forest_solver(root_forest(np.array([[0, 1], [1, 2]]), 2.0, 3), np.ones(3))
    >>> solve(np.array([[1.0], [1.0], [1.0]])).ravel()  # L1 = 0
    array([1., 1., 1.])
    """
    order, parent, weight, _ = forest
    excess = np.array(diagonal, dtype=np.float64)
    eliminate(order, parent, weight, excess)

    def solve(B: Floats) -> Floats:
        X = np.array(B, dtype=np.float64, order="C")
        substitute(order, parent, weight, excess, X)
        return X

    return solve


@kernel
def walk(
    indptr: Ints, indices: Ints, weights: Floats, order: Ints, parent: Ints, up: Floats
) -> int:
    """Breadth first through every part; return how many parts there are."""
    seen = np.zeros(len(order), dtype=np.bool_)
    n_trees = n_found = 0
    for root in range(len(order)):
        if seen[root]:
            continue
        n_trees += 1
        t, seen[root], order[n_found] = n_found, True, root
        n_found += 1
        while t < n_found:
            node = order[t]
            for p in range(indptr[node], indptr[node + 1]):
                child = indices[p]
                if not seen[child]:
                    seen[child], parent[child], up[child] = True, node, weights[p]
                    order[n_found] = child
                    n_found += 1
            t += 1
    return n_trees


@kernel
def eliminate(order: Ints, parent: Ints, weight: Floats, excess: Floats) -> None:
    """Pivots of the elimination from the leaves to the roots, less the weight of the edge up.

    A node with excess e passes w − w²/(w + e) = we/(w + e) on to its parent.
    """
    for t in range(len(order) - 1, 0, -1):
        node = order[t]
        w = weight[node]
        if w > 0:
            excess[parent[node]] += w * (excess[node] / (w + excess[node]))


@kernel
def substitute(order: Ints, parent: Ints, weight: Floats, excess: Floats, X: Floats) -> None:
    """Replace the columns of X by P⁻¹X: up the trees, then down again."""
    for t in range(len(order) - 1, 0, -1):
        node = order[t]
        if parent[node] >= 0:
            share = weight[node] / (weight[node] + excess[node])
            for j in range(X.shape[1]):
                X[parent[node], j] += share * X[node, j]
    for t in range(len(order)):
        node = order[t]
        if parent[node] < 0:
            for j in range(X.shape[1]):
                X[node, j] /= excess[node]
        else:
            w = weight[node]
            for j in range(X.shape[1]):
                X[node, j] = (X[node, j] + w * X[parent[node], j]) / (w + excess[node])
