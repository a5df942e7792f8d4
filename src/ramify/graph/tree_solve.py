"""Exact solves with a tree's Laplacian plus a diagonal, in linear time and memory."""

from collections.abc import Callable

import numpy as np
from scipy.sparse.csgraph import breadth_first_order

from .._compat import kernel
from .._typing import Floats, Ints
from .laplacian import adjacency


def tree_solver(edges: Ints, weight: float, diagonal: Floats) -> Callable[[Floats], Floats]:
    """Factorise P = weight·L + diag(diagonal) over a tree; return the map B ↦ P⁻¹B.

    A node is eliminated after all of its children, so that the factor has exactly one
    off-diagonal entry per edge: nothing fills in. Nothing is subtracted either, so that no
    digits are lost however large the weight.

    Parameters
    ----------
    edges : array of shape (n_nodes - 1, 2)
        The edges of a spanning tree.
    weight : float
        Non-negative weight of every edge.
    diagonal : array of shape (n_nodes,)
        Non-negative, with at least one positive entry when ``weight > 0``; all positive
        when ``weight == 0``.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.graph import tree_solver
    >>> solve = tree_solver(np.array([[0, 1], [1, 2]]), 2.0, np.ones(3))
    >>> solve(np.array([[1.0], [1.0], [1.0]])).ravel()  # L1 = 0
    array([1., 1., 1.])
    """
    order, parent = breadth_first_order(adjacency(edges, len(diagonal)), 0, directed=False)
    excess = np.array(diagonal, dtype=np.float64)
    eliminate(order, parent, weight, excess)

    def solve(B: Floats) -> Floats:
        X = np.array(B, dtype=np.float64, order="C")
        substitute(order, parent, weight, excess, X)
        return X

    return solve


@kernel
def eliminate(order: Ints, parent: Ints, weight: float, excess: Floats) -> None:
    """Pivots of the elimination from the leaves to the root, less the weight of the edge up.

    A node with excess e passes w − w²/(w + e) = we/(w + e) on to its parent.
    """
    for t in range(len(order) - 1, 0, -1):
        node = order[t]
        if weight > 0:
            excess[parent[node]] += weight * (excess[node] / (weight + excess[node]))


@kernel
def substitute(order: Ints, parent: Ints, weight: float, excess: Floats, X: Floats) -> None:
    """Replace the columns of X by P⁻¹X: up the tree, then down again."""
    root = order[0]
    for t in range(len(order) - 1, 0, -1):
        node = order[t]
        share = weight / (weight + excess[node])
        for j in range(X.shape[1]):
            X[parent[node], j] += share * X[node, j]
    for j in range(X.shape[1]):
        X[root, j] /= excess[root]
    for t in range(1, len(order)):
        node = order[t]
        for j in range(X.shape[1]):
            X[node, j] = (X[node, j] + weight * X[parent[node], j]) / (weight + excess[node])
