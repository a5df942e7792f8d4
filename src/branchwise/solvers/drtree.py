"""DRTree: an embedding whose points form a tree (`op:dimred-tree`), or another graph."""

from typing import Any, Unpack

import numpy as np

from .._typing import Floats, Ints
from ..data.centering import CentredRows
from ..graph import graph_solver
from ..linalg import top_eigenvectors
from ..structures import Tree, choose_graph, prepare
from .convergence import Monitor, Stopping, TreeResult


def drtree(
    Y: CentredRows,
    W: Floats,
    *,
    lam: float,
    structure: Any = Tree(),  # noqa: B008
    start: Floats | None = None,
    **stopping: Unpack[Stopping],
) -> TreeResult:
    """Minimise ‖Y − ZWᵀ‖² + λ·Tr(ZᵀLZ) over orthonormal W, points Z and a set of graphs.

    `op:dimred-tree` has λ/2 times a sum over ordered pairs, which is λ·Tr(ZᵀLZ).
    Two alternating steps: the graph for Z, then W and Z for the graph. The second is exact, the
    first as far as the structure's search is; a graph that would cost more is not taken. A
    structure's own penalty counts λ times as well.

    Parameters
    ----------
    Y : CentredRows
    W : array of shape (n_dims, d)
        Orthonormal start, the principal axes.
    lam : float
        Weight of the graph. At 0 the solution is PCA.
    structure : object
        The set of graphs, see `branchwise.structures.Structure`.
    start : array of shape (n_rows, d) or None
        Points to choose the first graph by; if None, the projections YW.
    **stopping
        max_iter, tol, callback: see `Monitor`.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.centering import CentredRows
    >>> from branchwise.solvers.drtree import drtree
    >>> Y = CentredRows(np.random.default_rng(0).normal(size=(20, 3)))
    >>> result = drtree(Y, np.eye(3)[:, :2], lam=1.0, max_iter=5, tol=0)
    >>> len(result.edges), bool((np.diff(result.history) <= 1e-10).all())
    (19, True)
    """
    d = W.shape[1]
    Z = Y.project(W) if start is None else start
    structure, graph = prepare(structure, Z), None
    monitor = Monitor(scale=Y.energy, **stopping)
    while not monitor.is_over:
        graph = choose_graph(structure, Z, graph)  # S, and with it L
        W, Z, captured = update_embedding(Y, W, d, graph.edges, lam, graph.weights)
        monitor.note(objective(Y.energy - captured, graph.penalty, lam=lam))
    if graph is None or monitor.converged:
        graph = choose_graph(structure, Z, graph)
    return TreeResult(W[:, :d], Z, Z, graph, monitor.history, monitor.change, monitor.converged)


def objective(quadratic: float, penalty: float = 0.0, *, lam: float) -> float:
    """What DRTree minimises (`op:dimred-tree`), from the sums that it is made of.

    Parameters
    ----------
    quadratic : float
        ‖Y − ZWᵀ‖² + λ·Tr(ZᵀLZ). Where W and Z are the best for S that is
        ‖Y‖² − Tr(WᵀYᵀ(I + λL)⁻¹YW), which the update knows.
    penalty : float
        That of the graph, see `branchwise.structures.Graph`.

    Examples
    --------
    >>> from branchwise.solvers.drtree import objective
    >>> objective(7.0, 2.0, lam=0.5)
    8.0
    """
    return quadratic + lam * penalty


def update_embedding(
    Y: CentredRows, W: Floats, d: int, edges: Ints, lam: float, weights: Floats | None = None
) -> tuple[Floats, Floats, float]:
    """Minimiser over W and Z for a fixed graph (`prop:transform`).

    W: top eigenvectors of Yᵀ(I + λL)⁻¹Y; Z = (I + λL)⁻¹YW. At the minimum the objective
    is ‖Y‖² minus the sum of the eigenvalues, which is the third value returned. Columns of W
    beyond the first d are guards of the eigensolver (`top_eigenvectors`).
    """
    weight = lam if weights is None else lam * weights
    solve = graph_solver(edges, weight, np.ones(Y.n_rows))
    solved: list[Floats] = []

    def apply(V: Floats, accuracy: float) -> Floats:
        solved.append(solve(Y.project(V)))
        return Y.weigh(solved[-1]).T

    values, W, coefficients = top_eigenvectors(apply, W, d)
    return W, np.hstack(solved) @ coefficients[:, :d], float(values.sum())
