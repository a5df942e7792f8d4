"""The paper's Algorithm 1 against a dense formula, and below the optimum."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from branchwise import SPL
from branchwise.graph import squared_distances
from branchwise.linalg import kernel_pca
from branchwise.losses import Squared
from branchwise.neighbors import neighbor_edges
from branchwise.solvers.spl import SPLProblem
from branchwise_paper.baselines import PrintedSPL
from branchwise_paper.baselines.printed_spl import algorithm_1

from .. import oracles

IRIS = load_iris().data


def by_matrices(Y, S, *, d, gamma, slack, n_steps):
    """Algorithm 1 as it is printed, with matrices; S has ones where edges are."""
    candidates, S = S, np.zeros_like(S)
    n = len(Y)
    phi = ((Y[:, None] - Y[None]) ** 2).sum(axis=2)
    for t in range(1, n_steps + 2):
        L = np.diag(S.sum(axis=1)) - S
        Qinv = np.linalg.inv(L + (gamma + 1) / 4 * np.eye(n))
        U = np.linalg.eigh(Y.T @ Qinv @ Y)[1][:, ::-1][:, :d]
        if t > n_steps:
            return gamma / 4 * Qinv @ Y @ U
        QYW = Qinv @ Y @ U
        G = d * Qinv + gamma**2 / 4 * QYW @ QYW.T
        diagonal = np.diag(G)
        gradient = (diagonal[:, None] + diagonal - 2 * G) / 2 - S / slack - 2 * phi
        S = np.maximum(S + gradient / t, 0) * candidates
    raise AssertionError


@pytest.mark.parametrize("n_neighbors", [4, 10])
def test_steps_are_those_of_the_printed_algorithm(n_neighbors):
    X = IRIS[::3]
    Y = X - X.mean(axis=0)
    candidates = np.zeros((len(X), len(X)))
    i, j = neighbor_edges(X, n_neighbors).T
    candidates[i, j] = candidates[j, i] = 1
    expected = by_matrices(Y, candidates, d=2, gamma=0.5, slack=10.0, n_steps=7)
    model = PrintedSPL(n_neighbors=n_neighbors, gamma=0.5, C=10.0, n_steps=7)
    found = model.fit_transform(X)
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found, expected * signs, atol=1e-8)


def test_algorithm_stays_below_the_optimum_that_spl_proves():
    best = SPL(scale=None, tol=1e-8).fit(IRIS)
    objectives = [PrintedSPL(n_steps=n).fit(IRIS).objective_ for n in (1, 20, 200)]
    assert all(one < best.objective_ - best.optimality_gap_ for one in objectives)
    assert objectives == sorted(objectives)


def test_a_single_edge_converges_to_the_kept_distance():
    Y = np.array([[-0.5], [0.5]])
    edges = np.array([[0, 1]])
    problem = SPLProblem(Y, edges, squared_distances(Y, edges), 1, 1e-3, Squared(1e6))
    assert algorithm_1(problem, None, 3000).expected == pytest.approx(1.0, abs=0.02)


def test_without_noise_model_the_embedding_is_kernel_pca_of_the_posterior():
    X = IRIS[::3]
    found = PrintedSPL(3, gamma=0.0, n_steps=5).fit_transform(X)
    edges = neighbor_edges(X, 10)
    Y = X - X.mean(axis=0)
    problem = SPLProblem(Y, edges, squared_distances(Y, edges), 3, 0.0, Squared(1e3))
    L = oracles.dense_laplacian(edges, len(X), algorithm_1(problem, None, 5).s)
    covariance = np.linalg.inv(4 * L + np.eye(len(X)))
    np.testing.assert_allclose(found, kernel_pca(covariance, 3), atol=1e-8)


def test_too_many_neighbors_are_refused():
    with pytest.raises(ValueError, match="n_neighbors=10"):
        PrintedSPL(n_neighbors=10).fit(IRIS[:5])
