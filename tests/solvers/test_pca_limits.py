"""PPCA and linear GPLVM, from which the model starts, are solved by principal axes."""

import numpy as np

from branchwise.data.centering import CentredRows
from branchwise.solvers.pca import principal_axes

from ..conftest import branching


def test_ppca_likelihood_is_largest_at_the_principal_axes(rng):
    """`op:mll` over orthonormal W, with covariance WWᵀ + I/γ."""
    X = branching(60, 5)
    Y, gamma = X - X.mean(axis=0), 4.0
    W, _ = principal_axes(CentredRows(X), 2)

    def log_likelihood(W):
        covariance = W @ W.T + np.eye(5) / gamma
        quadratic = np.sum(Y * np.linalg.solve(covariance, Y.T).T)
        return -(60 * np.linalg.slogdet(covariance)[1] + quadratic) / 2

    best = log_likelihood(W)
    for _ in range(200):
        step = 10.0 ** rng.uniform(-3, 1)
        other = np.linalg.qr(W + step * rng.normal(size=W.shape))[0]
        assert log_likelihood(other) <= best + 1e-9


def test_linear_gplvm_is_stationary_at_scaled_principal_scores(rng):
    """`eq:gplvm`: X = U(Λ/D − I/γ)^½, from eigenpairs of YYᵀ, maximises the likelihood."""
    X = branching(30, 8)
    Y, gamma, D = X - X.mean(axis=0), 10.0, 8
    W, _ = principal_axes(CentredRows(X), 2)
    scores = Y @ W
    length = np.linalg.norm(scores, axis=0)
    latent = scores / length * np.sqrt(length**2 / D - 1 / gamma)

    def log_likelihood(X):
        kernel = X @ X.T + np.eye(30) / gamma
        return -(D * np.linalg.slogdet(kernel)[1] + np.sum(Y * np.linalg.solve(kernel, Y))) / 2

    best = log_likelihood(latent)
    for _ in range(200):
        step = 10.0 ** rng.uniform(-3, 0)
        assert log_likelihood(latent + step * rng.normal(size=latent.shape)) <= best + 1e-9
