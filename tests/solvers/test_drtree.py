import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.data.centering import CentredRows
from branchwise.graph import euclidean_spanning_tree, laplacian
from branchwise.solvers.drtree import drtree, objective, update_embedding
from branchwise.solvers.pca import principal_axes

from .. import oracles
from ..conftest import branching


@pytest.mark.parametrize("n_features", [5, 90], ids=["D<N", "D>N"])
@pytest.mark.parametrize("lam", [0.5, 20.0])
def test_drtree_matches_the_dense_formulas(n_features, lam):
    X = branching(50, n_features)
    Y = CentredRows(X)
    W, _ = principal_axes(Y, 2)
    result = drtree(Y, W, lam=lam, max_iter=10, tol=0)
    oW, oZ, edges, history = oracles.drtree_alternation(X - X.mean(axis=0), 2, lam=lam, n_iter=10)
    np.testing.assert_allclose(result.Z, oracles.align(result.Z, oZ), atol=1e-8)
    np.testing.assert_allclose(Y.lift(result.W), oracles.align(Y.lift(result.W), oW), atol=1e-8)
    np.testing.assert_allclose(result.history, history, rtol=1e-10)
    assert set(map(tuple, result.edges)) == set(map(tuple, edges))


@given(
    n_samples=st.integers(3, 40),
    n_features=st.integers(2, 60),
    lam=st.floats(0, 1e4),
    seed=st.integers(0, 1000),
)
def test_drtree_objective_never_rises(n_samples, n_features, lam, seed):
    Y = CentredRows(np.random.default_rng(seed).normal(size=(n_samples, n_features)))
    W, rank = principal_axes(Y, 2)
    result = drtree(Y, W[:, :rank], lam=lam, max_iter=8, tol=0)
    assert (np.diff(result.history) <= 1e-10 * Y.energy).all()


def test_drtree_with_lam_zero_is_pca():
    X = branching(60, 6)
    Y = CentredRows(X)
    W, _ = principal_axes(Y, 3)
    result = drtree(Y, W, lam=0.0, max_iter=3, tol=0)
    U, values, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    scores = U[:, :3] * values[:3]
    np.testing.assert_allclose(result.Z, oracles.align(result.Z, scores), atol=1e-8)
    assert result.history[-1] == pytest.approx(np.sum(values[3:] ** 2))


def test_no_perturbation_of_w_and_z_improves_the_objective(rng):
    X = branching(40, 6)
    dense, Y = X - X.mean(axis=0), CentredRows(X)
    W, _ = principal_axes(Y, 2)
    edges = euclidean_spanning_tree(Y.project(W))
    W, Z, captured = update_embedding(Y, W, 2, edges, 5.0)
    W = W[:, :2]
    L = laplacian(edges, 40).toarray()
    best = oracles.drtree_objective(dense, W, Z, L, 5.0)
    assert best == pytest.approx(objective(Y.energy - captured, lam=5.0), rel=1e-12)
    for _ in range(300):
        size = 10.0 ** rng.uniform(-4, 0)
        W_other = np.linalg.qr(W + size * rng.normal(size=W.shape))[0]
        Z_other = Z + size * rng.normal(size=Z.shape)
        assert oracles.drtree_objective(dense, W_other, Z, L, 5.0) >= best - 1e-9
        assert oracles.drtree_objective(dense, W, Z_other, L, 5.0) >= best - 1e-9
