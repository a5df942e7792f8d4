"""SPL as the paper prints it: Algorithm 1, which stops before the optimum."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from branchwise._compat import Interval
from branchwise._typing import Floats
from branchwise.data.checks import check_n_neighbors
from branchwise.graph import squared_distances
from branchwise.graph.inverse import dense_inverse, selected_inverse
from branchwise.linalg import column_signs
from branchwise.losses import as_loss
from branchwise.neighbors import neighbor_edges
from branchwise.solvers.posterior import kernel_pca_scores
from branchwise.solvers.spl import SPLProblem, SPLState, evaluate
from branchwise.solvers.spl_solver import choose_solver

from ._base import Baseline


def algorithm_1(problem: SPLProblem, invert: Any, n_steps: int) -> SPLState:
    """Where subgradient steps of length 1/t from S = 0 are after `n_steps` (`alg:spl`).

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.printed_spl import algorithm_1
    >>> from branchwise.losses import Squared
    >>> from branchwise.solvers.spl import SPLProblem
    >>> Y = np.array([[-1.0], [0.0], [1.0]])
    >>> problem = SPLProblem(Y, np.array([[0, 1], [1, 2]]), np.ones(2), 1, 1e-3, Squared(1e3))
    >>> algorithm_1(problem, None, 100).expected.round(3)  # so small a problem it solves
    array([1., 1.])
    """
    s = np.zeros(len(problem.edges))
    for t in range(1, n_steps + 1):
        s = np.maximum(s + evaluate(problem, s, invert).gradient / t, 0.0)
    return evaluate(problem, s, invert)


class PrintedSPL(Baseline):
    """Structured projection learning by the paper's Algorithm 1.

    The problem is that of `branchwise.SPL` with ``scale=None``:

        max over S ≥ 0 of  d/2·logdet Q − 2Σφ_e s_e − Σs_e²/(2C)
                           − γ²/8·(sum of the d largest eigenvalues of YᵀQ⁻¹Y)

    with Q = L + (γ+1)/4·I on a neighbour graph. The paper takes it for non-convex and follows
    subgradients by steps of length 1/t; `branchwise.SPL` reaches the global optimum and proves it.
    This class is here to tell what the paper's figures owe to the model, and what to stopping
    early.

    Parameters
    ----------
    n_components : int, default=2
    n_neighbors : int, default=10
    C : float, default=1e3
        Price of a slack.
    gamma : float, default=1e-3
        Precision of the noise. With 0 the embedding is the kernel PCA of the posterior covariance.
    n_steps : int, default=20
        The paper prints no number, and no rule by which its steps have converged.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
    objective_ : float
        Comparable with that of ``SPL(scale=None)``.
    n_features_in_ : int

    Notes
    -----
    What was hard: the first step, from S = 0, is as long as the gradient, and 1/t soon leaves no
    way to go far from there. The weights after one step and after hundreds are much alike,
    and nearly all of them are positive, where the optimum has zeros. So the number of steps, which
    the paper does not tell, hardly matters; that it is no optimum does.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise import SPL
    >>> from branchwise_paper.baselines import PrintedSPL
    >>> X = load_iris().data
    >>> best = SPL(scale=None).fit(X).objective_
    >>> bool(PrintedSPL().fit(X).objective_ < best)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Baseline._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="right")],
        "gamma": [Interval(Real, 0, 1e12, closed="both")],
        "n_steps": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 10,
        C: float = 1e3,
        gamma: float = 1e-3,
        n_steps: int = 20,
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.C = C
        self.gamma = gamma
        self.n_steps = n_steps

    def _fit(self, X: Floats) -> None:
        check_n_neighbors(self.n_neighbors, len(X))
        edges = neighbor_edges(X, self.n_neighbors)
        Y = X - X.mean(axis=0)
        phi = squared_distances(Y, edges)
        gamma = float(self.gamma)
        loss = as_loss("squared", float(self.C))
        problem = SPLProblem(Y, edges, phi, self.n_components, gamma, loss)
        solver = choose_solver(problem)
        plan = solver.plan
        invert = dense_inverse(edges, len(X)) if plan is None else selected_inverse(plan)
        state = algorithm_1(problem, invert, self.n_steps)
        self.objective_ = state.objective
        self.embedding_ = np.zeros((len(X), self.n_components))
        if gamma > 0:
            found = gamma / 4 * state.QinvYW * column_signs(state.W)
        else:
            found = kernel_pca_scores(problem, solver, state.s)
        self.embedding_[:, : found.shape[1]] = found
