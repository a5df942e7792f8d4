"""The posterior of SPL, entry by entry and in samples, and what it says of the data (`eq:post`).

q(X) is matrix normal: mean X = γ/4·Q⁻¹YW, covariance Σ = Q⁻¹/4 between rows, identity between
columns. Nothing but `posterior_covariance` forms Σ unless the fit did.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from .._typing import Floats, Ints
from ..graph import laplacian
from ..graph.inverse import Solve, elimination_solver, plan_elimination, selected_inverse
from ..graph.sketch import laplacian_solver, scaled_laplacian
from ..linalg import column_signs, complete_basis, top_eigenvectors
from .spl import SPLProblem, SPLState
from .spl_solver import Solver

# Columns of Σ that are computed at a time.
BLOCK = 64
# Accuracy of conjugate gradients, to be well below what anyone reads off a covariance.
RTOL = 1e-12


class Precision(NamedTuple):
    """Q = L + ridge·I over a graph, and the way in which the fit has met it."""

    edges: Ints
    weights: Floats
    n_nodes: int
    ridge: float
    solver: str  # "exact", "sparse" or "sketch"
    n_jobs: int = 1

    def dense(self) -> Floats:
        """Q as an array."""
        L = laplacian(self.edges, self.n_nodes, self.weights)
        return L.toarray() + self.ridge * np.eye(self.n_nodes)


def precision_solver(Q: Precision) -> Solve:
    """The map B ↦ Q⁻¹B: by a dense factor, by elimination, or by conjugate gradients."""
    if Q.solver == "exact":
        factor = linalg.cho_factor(Q.dense(), lower=True)
        return lambda B: linalg.cho_solve(factor, B)
    if Q.solver == "sparse":
        return elimination_solver(plan_elimination(Q.edges, Q.n_nodes), Q.weights, Q.ridge)
    solve = laplacian_solver(
        scaled_laplacian(Q.edges, Q.n_nodes, Q.weights, Q.ridge), n_jobs=Q.n_jobs
    )
    return lambda B: solve(B, RTOL)


def covariances(Q: Precision, i: Ints, j: Ints) -> Floats:
    """Σ_ij = [Q⁻¹]_ij/4 for pairs of rows, from the columns that they need.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.solvers.posterior import Precision, covariances
    >>> Q = Precision(np.array([[0, 1]]), np.ones(1), 2, 0.25, "exact")
    >>> covariances(Q, np.array([0, 0]), np.array([0, 1])).round(3)  # of [[5, −4], [−4, 5]]⁻¹
    array([0.556, 0.444])
    """
    if len(np.unique(j)) < len(np.unique(i)):
        i, j = j, i
    entries = np.empty(len(i))
    solve = precision_solver(Q)
    order = np.argsort(i, kind="stable")
    nodes, first = np.unique(i[order], return_index=True)
    bounds = np.append(first, len(i))
    for start in range(0, len(nodes), BLOCK):
        block = nodes[start : start + BLOCK]
        unit = np.zeros((Q.n_nodes, len(block)))
        unit[block, np.arange(len(block))] = 1.0
        columns = solve(unit)
        pairs = order[bounds[start] : bounds[start + len(block)]]
        entries[pairs] = columns[j[pairs], np.searchsorted(block, i[pairs])] / 4
    return entries


def expected_squared_distances(Q: Precision, mean: Floats, i: Ints, j: Ints) -> Floats:
    """E‖x_i − x_j‖² = ‖m_i − m_j‖² + d·(Σ_ii + Σ_jj − 2Σ_ij) for pairs of rows."""
    nodes, place = np.unique(np.concatenate([i, j]), return_inverse=True)
    variance = covariances(Q, nodes, nodes)[place]
    spread = variance[: len(i)] + variance[len(i) :] - 2 * covariances(Q, i, j)
    difference = mean[i] - mean[j]
    return np.einsum("ij,ij->i", difference, difference) + mean.shape[1] * spread


def sample_rows(Q: Precision, n_columns: int, rng: np.random.Generator) -> Floats:
    """Independent columns with mean zero and covariance Σ = Q⁻¹/4.

    Q = BᵀSB + c·I is the covariance of BᵀS^{1/2}v₁ + √c·v₂ for standard normal v₁ on the edges
    and v₂ on the nodes, so that Q⁻¹ times this has covariance Q⁻¹. Weights of either sign, which
    only the dense path has, need a Cholesky factor.
    """
    if Q.solver == "exact":
        factor = linalg.cholesky(Q.dense(), lower=True)
        v = rng.standard_normal((Q.n_nodes, n_columns))
        return linalg.solve_triangular(factor, v, lower=True, trans="T") / 2
    solve = precision_solver(Q)
    (i, j), roots = Q.edges.T, np.sqrt(Q.weights)
    X = np.empty((Q.n_nodes, n_columns))
    for column in range(n_columns):
        v = roots * rng.standard_normal(len(roots))
        side = np.sqrt(Q.ridge) * rng.standard_normal(Q.n_nodes)
        X[:, column] = side + np.bincount(i, v, Q.n_nodes) - np.bincount(j, v, Q.n_nodes)
    for start in range(0, n_columns, BLOCK):
        X[:, start : start + BLOCK] = solve(X[:, start : start + BLOCK]) / 2
    return X


def posterior_covariance(problem: SPLProblem, s: Floats) -> Floats:
    """Row covariance Σ = (4L + (γ+1)I)⁻¹ of the posterior (`eq:post`), all of it."""
    L = laplacian(problem.edges, len(problem.Y), s).toarray()
    precision = 4 * L + (problem.gamma + 1) * np.eye(len(L))
    return linalg.cho_solve(linalg.cho_factor(precision), np.eye(len(L)))


def kernel_pca_scores(problem: SPLProblem, solver: Solver, s: Floats, *, n_jobs: int = 1) -> Floats:
    """Kernel PCA of the posterior covariance Σ = Q⁻¹/4, without forming it.

    L has the eigenvectors of Σ, and its null vector is what centring takes away. The inverse of
    L + c'·I, with c' much smaller than the ridge c, tells the wanted ones far better apart.
    """
    n, shift = len(problem.Y), 1e-3 * problem.ridge
    d = min(problem.n_components, n - 1)
    if solver.plan is None:
        solve = laplacian_solver(scaled_laplacian(problem.edges, n, s, shift), n_jobs=n_jobs)
    else:
        exact = selected_inverse(solver.plan)(s, shift).solve

        def solve(B: Floats, accuracy: float) -> Floats:
            return exact(B)

    def apply(V: Floats, accuracy: float) -> Floats:
        X = solve(V - V.mean(axis=0), accuracy)
        return X - X.mean(axis=0)

    start = complete_basis(np.zeros((n, 0)), d)
    values, vectors, _ = top_eigenvectors(apply, start, d)
    variance = 1 / (4 * (1 / values - shift + problem.ridge))
    scores = vectors[:, :d] * np.sqrt(variance)
    return scores * column_signs(scores)


def log_evidence(problem: SPLProblem, state: SPLState, n_features: int) -> float:
    """Regularised evidence: minus the optimum of `op:ebi-W`, with all its constants.

    By `prop:ebi-W` the optimum is −log ∫ π(X)·p(Y | X, W)·exp(−2Σ s_e‖x_i − x_j‖²) dX, less what
    the distances cost:

        ND/2·log(γ/2π) − γ/2·‖Y‖² − d/2·logdet 4Q + γ²/8·Tr(WᵀYᵀQ⁻¹YW) + 2Σφ_e s_e + cost(s).

    Without edges it is the log-likelihood of probabilistic PCA with axes W of unit length. It is
    −∞ for γ = 0, noise of infinite variance.
    """
    n, d, gamma = len(problem.Y), problem.n_components, problem.gamma
    if gamma == 0:
        return -np.inf
    energy = float(np.vdot(problem.Y, problem.Y))
    likelihood = n * n_features / 2 * np.log(gamma / (2 * np.pi)) - gamma / 2 * energy
    return likelihood - state.objective - d / 2 * n * np.log(4)


def loo_log_likelihood(problem: SPLProblem, state: SPLState, n_features: int) -> Floats:
    """Log p(y_i | all other samples), the graph S and the axes W given, for every i.

    Given S the prior of X has row covariance (4L + I)⁻¹. Hence each column t of YW is normal with
    covariance K = (4L + I)⁻¹ + γ⁻¹I over the rows, and the complement of W is noise of variance
    γ⁻¹. The precision of t_i given the others is [K⁻¹]_ii, its deviation from what they predict
    [K⁻¹t]_i/[K⁻¹]_ii, and by Woodbury's identity

        K⁻¹ = γI − γ²Σ,      K⁻¹YW = γ(YW − X):

    both are known from the fit.
    """
    Y, d, gamma = problem.Y, problem.n_components, problem.gamma
    if gamma == 0:
        return np.full(len(Y), -np.inf)
    projected = Y @ state.W
    precision = gamma - gamma**2 * state.diagonal / 4
    deviation = gamma * (projected - gamma / 4 * state.QinvYW)
    along = np.einsum("ij,ij->i", deviation, deviation) / precision
    across = np.einsum("ij,ij->i", Y, Y) - np.einsum("ij,ij->i", projected, projected)
    logs = d * np.log(precision) + (n_features - d) * np.log(gamma) - n_features * np.log(2 * np.pi)
    return (logs - along - gamma * np.maximum(across, 0.0)) / 2
