"""DRTree: an embedding whose points form a spanning tree (`op:dimred-tree`)."""

import numpy as np

from .._typing import Floats, Ints
from ..graph import euclidean_spanning_tree, tree_solver
from ..linalg import top_eigenvectors
from ..rows import CentredRows
from .record import Callback, TreeResult, Watch


def drtree(
    Y: CentredRows,
    W: Floats,
    *,
    lam: float,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
) -> TreeResult:
    """Minimise ‖Y − ZWᵀ‖² + λ·Tr(ZᵀLZ) over orthonormal W, points Z and spanning trees.

    `op:dimred-tree` has λ/2 times a sum over ordered pairs, which is λ·Tr(ZᵀLZ).
    Two alternating steps, each exact: the tree for Z, then W and Z for the tree.

    Parameters
    ----------
    Y : CentredRows
    W : array of shape (n_dims, d)
        Orthonormal start, the principal axes.
    lam : float
        Weight of the tree. At 0 the solution is PCA.
    max_iter, tol, callback
        See `Watch`.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.rows import CentredRows
    >>> from ramify.solvers.drtree import drtree
    >>> Y = CentredRows(np.random.default_rng(0).normal(size=(20, 3)))
    >>> result = drtree(Y, np.eye(3)[:, :2], lam=1.0, max_iter=5, tol=0)
    >>> len(result.edges), bool((np.diff(result.history) <= 1e-10).all())
    (19, True)
    """
    d = W.shape[1]
    Z = Y.project(W)
    watch = Watch(scale=Y.energy, tol=tol, max_iter=max_iter, callback=callback)
    for _ in range(max_iter):
        edges = euclidean_spanning_tree(Z)
        W, Z, captured = update_embedding(Y, W, d, edges, lam)
        if watch.has_converged(Y.energy - captured):
            break
    if watch.converged:
        edges = euclidean_spanning_tree(Z)
    return TreeResult(W[:, :d], Z, Z, edges, watch.history, watch.change, watch.converged)


def update_embedding(
    Y: CentredRows, W: Floats, d: int, edges: Ints, lam: float
) -> tuple[Floats, Floats, float]:
    """Minimiser over W and Z for a fixed tree (`prop:transform`).

    W: top eigenvectors of Yᵀ(I + λL)⁻¹Y; Z = (I + λL)⁻¹YW. At the minimum the objective
    is ‖Y‖² minus the sum of the eigenvalues, which is the third value returned. Columns of W
    beyond the first d are guards of the eigensolver (`top_eigenvectors`).
    """
    solve = tree_solver(edges, lam, np.ones(Y.n_rows))
    solved: list[Floats] = []

    def apply(V: Floats, accuracy: float) -> Floats:
        solved.append(solve(Y.project(V)))
        return Y.weigh(solved[-1]).T

    values, W, coefficients = top_eigenvectors(apply, W, d)
    return W, np.hstack(solved) @ coefficients[:, :d], float(values.sum())
