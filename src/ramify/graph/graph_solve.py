"""Solves with any graph's Laplacian plus a diagonal."""

from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from .._typing import Floats, Ints
from .laplacian import laplacian
from .tree_solve import forest_solver, root_forest


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
    >>> from ramify.graph import graph_solver
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
