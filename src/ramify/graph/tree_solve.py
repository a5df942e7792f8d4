"""Exact solves with a tree's Laplacian plus a diagonal, in linear time and memory."""

from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order
from scipy.sparse.linalg import splu

from .._typing import Floats, Ints
from .laplacian import adjacency


def tree_solver(edges: Ints, weight: float, diagonal: Floats) -> Callable[[Floats], Floats]:
    """Factorise P = weight·L + diag(diagonal) over a tree; return the map B ↦ P⁻¹B.

    A node is eliminated after all of its children, so that the factor has exactly one
    off-diagonal entry per edge: nothing fills in.

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
    n_nodes = len(diagonal)
    if weight == 0 or n_nodes == 1:
        return lambda B: B / diagonal[:, np.newaxis]
    S = adjacency(edges, n_nodes)
    leaves_first = breadth_first_order(S, 0, directed=False, return_predecessors=False)[::-1]
    rank = np.empty(n_nodes, dtype=np.intp)
    rank[leaves_first] = np.arange(n_nodes)
    degree = np.asarray(S.sum(axis=1)).ravel()
    P = adjacency(rank[edges], n_nodes, np.full(len(edges), -weight)) + sparse.diags_array(
        (weight * degree + diagonal)[leaves_first]
    )
    factor = splu(
        sparse.csc_matrix(P),
        permc_spec="NATURAL",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )

    def solve(B: Floats) -> Floats:
        X = np.empty_like(B, dtype=np.float64)
        X[leaves_first] = factor.solve(np.ascontiguousarray(B[leaves_first], dtype=np.float64))
        return X

    return solve
