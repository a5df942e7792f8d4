"""MEU: the likelihood is that of its Gaussian, and expected distances are those of the data."""

import numpy as np
import pytest
from scipy import optimize, stats
from sklearn.exceptions import ConvergenceWarning

from branchwise import SPL
from branchwise.graph import squared_distances
from branchwise.linalg import kernel_pca
from branchwise.neighbors import neighbor_edges
from branchwise_paper.baselines import MEU
from branchwise_paper.baselines.meu import unfold

from .. import oracles
from ..conftest import branching

pytestmark = pytest.mark.usefixtures("one_thread")


def covariance(model):
    """(L + λI)⁻¹ from the public attributes alone."""
    S = model.graph_.toarray()
    return np.linalg.inv(np.diag(S.sum(axis=0)) - S + model.lam_ * np.eye(len(S)))


def expected_distances(model, n_features):
    K = covariance(model)
    i, j = model.edges_.T
    return n_features * (np.diag(K)[i] + np.diag(K)[j] - 2 * K[i, j])


def test_objective_is_the_log_likelihood_of_the_gaussian():
    X = branching(30, 6)
    model = MEU(n_neighbors=4).fit(X)
    features = (X - X.mean(axis=0)).T
    density = stats.multivariate_normal(np.zeros(30), covariance(model))
    assert model.objective_ == pytest.approx(density.logpdf(features).sum(), rel=1e-9)


@pytest.mark.parametrize("lam", [1e-3, 1e-2, 1.0])
def test_expected_distances_are_those_of_the_data_on_active_edges_and_exceed_none(lam):
    X = branching(60, 5)
    model = MEU(n_neighbors=6, lam=lam, tol=1e-7).fit(X)
    phi = squared_distances(X, model.edges_)
    expected = expected_distances(model, 5)
    np.testing.assert_allclose(expected, model.expected_squared_distances_, rtol=1e-8)
    active = model.graph_[model.edges_[:, 0], model.edges_[:, 1]] > 0
    assert 0 < active.sum() < len(active)
    # Weights that are zero at the optimum may be tiny here, and their edges then a bit short.
    clearly = model.graph_[model.edges_[:, 0], model.edges_[:, 1]] > 1e-4 * model.graph_.max()
    np.testing.assert_allclose(expected[clearly], phi[clearly], rtol=1e-6)
    assert (expected <= phi * (1 + 1e-6)).all()


def test_signed_weights_keep_every_distance():
    X = branching(40, 8)
    model = MEU(n_neighbors=4, signed=True, tol=1e-12).fit(X)
    phi = squared_distances(X, model.edges_)
    np.testing.assert_allclose(expected_distances(model, 8), phi, rtol=1e-6)
    assert model.graph_.min() < 0
    # Fewer densities keep all distances than exceed none: the dual has the larger maximum.
    assert model.objective_ > MEU(n_neighbors=4, tol=1e-7).fit(X).objective_ + 1e-3


def test_optimum_is_that_of_an_independent_solver():
    """SLSQP on the likelihood as printed, with numerical derivatives."""
    rng = np.random.default_rng(2)
    Y = rng.normal(size=(9, 4))
    Y -= Y.mean(axis=0)
    edges = neighbor_edges(Y, 3)
    lam = 0.2

    def negative(s):
        P = oracles.dense_laplacian(edges, 9, s) + lam * np.eye(9)
        return -(4 / 2 * np.linalg.slogdet(P)[1] - np.trace(P @ Y @ Y.T) / 2)

    slow = optimize.minimize(
        negative,
        np.full(len(edges), 0.1),
        method="SLSQP",
        bounds=[(0, None)] * len(edges),
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    fast = unfold(edges, squared_distances(Y, edges), 9, 4, lam=lam, tol=1e-7)
    assert negative(fast.s) == pytest.approx(slow.fun, abs=1e-7)
    np.testing.assert_allclose(fast.s, slow.x, atol=1e-3)
    assert fast.converged


def test_embedding_is_the_kernel_pca_of_the_covariance(monkeypatch):
    X = branching(120, 5)
    model = MEU(3, n_neighbors=8).fit(X)
    np.testing.assert_allclose(model.embedding_, kernel_pca(covariance(model), 3), atol=1e-7)
    monkeypatch.setattr("branchwise.solvers.spl_solver.MAX_EXACT", 50)
    monkeypatch.setattr("branchwise_paper.baselines.meu.MAX_DENSE", 0)
    sparse = MEU(3, n_neighbors=8).fit(X)
    np.testing.assert_allclose(sparse.embedding_, kernel_pca(covariance(sparse), 3), atol=1e-7)
    np.testing.assert_allclose(sparse.embedding_, model.embedding_, atol=1e-4)


def test_meu_is_spl_without_a_noise_model_in_the_dimension_of_the_data():
    X = branching(50, 3)
    model = MEU(2, n_neighbors=5, tol=1e-7).fit(X)
    spl = SPL(3, n_neighbors=5, gamma=0.0, loss="hard", scale=np.sqrt(model.lam_), tol=1e-7).fit(X)
    difference = 4 * model.lam_ * spl.graph_ - model.graph_
    assert abs(difference).max() < 1e-3 * model.graph_.max()
    np.testing.assert_allclose(model.embedding_, spl.embedding_[:, :2], atol=1e-4)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_do_not_matter(factor):
    X = branching(40, 4)
    model, other = MEU().fit(X), MEU().fit(factor * X)
    np.testing.assert_allclose(other.embedding_ / factor, model.embedding_, atol=1e-5)
    assert other.lam_ * factor**2 == pytest.approx(model.lam_)


def test_components_of_the_graph_lie_apart():
    """Two clouds without an edge between them: the first column tells them apart, by ~1/√λ."""
    X = np.vstack([branching(20, 3), branching(20, 3, seed=1) + 100])
    model = MEU(n_neighbors=4).fit(X)
    first = model.embedding_[:, 0]
    assert np.ptp(first) > 10 * max(np.ptp(first[:20]), np.ptp(first[20:]))
    expected = 2 / np.sqrt(model.lam_ * 40)  # ±1/√N each, times 1/√λ
    assert abs(first[:20].mean() - first[20:].mean()) == pytest.approx(expected, rel=1e-2)


def test_on_a_regular_ring_the_embedding_is_that_of_the_laplacian():
    """All weights are equal by symmetry: L has the circle's eigenvectors, whatever λ."""
    angle = 2 * np.pi * np.arange(40) / 40
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    model = MEU(2, n_neighbors=2, tol=1e-6).fit(X)
    weights = model.graph_.data
    np.testing.assert_allclose(weights, weights[0], rtol=1e-4)
    radius = np.linalg.norm(model.embedding_, axis=1)
    np.testing.assert_allclose(radius, radius[0], rtol=1e-4)


def test_copies_of_a_sample_stay_together():
    X = branching(30, 3)
    X[1] = X[0]
    model = MEU(n_neighbors=5).fit(X)
    assert np.isfinite(model.embedding_).all()
    apart = np.linalg.norm(model.embedding_[0] - model.embedding_[1])
    assert apart < 0.05 * np.ptp(model.embedding_)


def test_more_neighbours_than_samples_are_all_others():
    X = branching(8, 3)
    one, two = MEU(n_neighbors=7).fit(X), MEU(n_neighbors=50).fit(X)
    np.testing.assert_array_equal(one.embedding_, two.embedding_)


def test_distances_that_no_density_keeps_are_an_error():
    with pytest.raises(ValueError, match=r"No density keeps the .* lower n_neighbors, at best"):
        MEU(n_neighbors=10, signed=True).fit(branching(40, 3))


def test_distances_that_rounding_cannot_hold_together_are_an_error():
    X = np.vstack([branching(25, 4), np.full((1, 4), 1e9)])
    with pytest.raises(ValueError, match=r"The longest distance .* leave out samples that are far"):
        MEU(n_neighbors=3).fit(X)


def test_equal_samples_are_an_error():
    with pytest.raises(ValueError, match=r"5 samples that are all equal.*pass samples that differ"):
        MEU().fit(np.full((5, 3), 1e6 / 3))


def test_few_iterations_warn():
    with pytest.warns(ConvergenceWarning, match=r"MEU stopped after 2 of max_iter=2 .* raise max_"):
        MEU(max_iter=2, tol=1e-9).fit(branching(40, 4))


def test_edges_beyond_memory_are_an_error(monkeypatch):
    monkeypatch.setattr("branchwise._memory.available_bytes", lambda: 1000)
    with pytest.raises(MemoryError, match=r"MEU with .* edges .* set signed=False or lower n_nei"):
        MEU(signed=True).fit(branching(40, 20))
