"""The posterior of a fitted SPL, in units of the data and the order of the samples."""

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

from branchwise import SPL

from .. import oracles
from ..conftest import branching

IRIS = load_iris().data
pytestmark = pytest.mark.usefixtures("one_thread")


def row_covariance(model):
    """Σ in units of the data, from the fitted graph alone."""
    n = len(model.embedding_)
    L = oracles.dense_laplacian(model.edges_, n, model.graph_[tuple(model.edges_.T)])
    return np.linalg.inv(4 * L + (model.gamma + 1) * np.eye(n)) / model.scale_**2


@pytest.mark.parametrize("solver", ["exact", "sparse"])
@pytest.mark.parametrize("gamma", [0.0, 1e-3, 5.0])
def test_posterior_is_the_inverse_of_the_fitted_graph(rng, solver, gamma):
    model = SPL(gamma=gamma, solver=solver).fit(IRIS)
    Sigma = row_covariance(model)
    np.testing.assert_allclose(model.posterior_std_, np.sqrt(np.diag(Sigma)), rtol=1e-8)
    assert (model.posterior_std_error_ == 0).all()
    i, j = rng.integers(150, size=(2, 4, 6))
    np.testing.assert_allclose(model.posterior_covariance(i, j), Sigma[i, j], rtol=1e-8)
    mean = model.embedding_ if gamma > 0 else np.zeros((150, 2))
    spread = np.diag(Sigma)[i] + np.diag(Sigma)[j] - 2 * Sigma[i, j]
    expected = ((mean[i] - mean[j]) ** 2).sum(axis=-1) + 2 * spread
    found = model.expected_squared_distances(i, j)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-12)


def test_sketch_states_the_error_of_its_standard_deviations():
    X = branching(500, 10, noise=0.5)
    model = SPL(solver="sketch", random_state=0).fit(X)
    truth = np.sqrt(np.diag(row_covariance(model)))
    assert (model.posterior_std_error_ > 0).all()
    assert (model.posterior_std_error_ < 0.09 * model.posterior_std_).all()
    z = (model.posterior_std_ - truth) / model.posterior_std_error_
    assert np.sqrt(np.mean(z**2)) < 1.5
    # Chosen pairs are solved for, to full accuracy.
    np.testing.assert_allclose(model.posterior_covariance(7, 7), truth[7] ** 2, rtol=1e-8)


@pytest.mark.parametrize("solver", ["exact", "sparse", "sketch"])
def test_samples_have_the_posterior_s_moments(solver):
    X = branching(40, 5)
    model = SPL(gamma=2.0, n_neighbors=5, solver=solver, random_state=0).fit(X)
    drawn = model.sample_posterior(4000, random_state=1)
    assert drawn.shape == (4000, 40, 2)
    Sigma = row_covariance(model)
    std = np.sqrt(np.diag(Sigma))
    error = (drawn.mean(axis=0) - model.embedding_) / std[:, None]
    assert np.abs(error).max() < 4.5 / np.sqrt(4000)
    centred = (drawn - model.embedding_) / std[:, None]
    found = np.einsum("sid,sjd->ij", centred, centred) / 8000
    assert np.abs(found - Sigma / np.outer(std, std)).max() < 4.5 * np.sqrt(2 / 8000)
    across = np.mean(centred[:, :, 0] * centred[:, :, 1], axis=0)  # columns are independent
    assert np.abs(across).max() < 4.5 / np.sqrt(4000)
    i, j = model.edges_.T
    distances = np.mean(np.sum((drawn[:, i] - drawn[:, j]) ** 2, axis=2), axis=0)
    np.testing.assert_allclose(distances, model.expected_squared_distances(i, j), rtol=0.1)


def test_posterior_of_weights_of_either_sign():
    X = branching(60, 8)
    model = SPL(loss="equality", n_neighbors=3, gamma=1.0, tol=1e-10).fit(X)
    assert model.graph_.min() < 0
    Sigma = row_covariance(model)
    np.testing.assert_allclose(model.posterior_std_, np.sqrt(np.diag(Sigma)), rtol=1e-8)
    i, j = model.edges_.T
    kept = model.expected_squared_distances(i, j)
    np.testing.assert_allclose(kept, ((X[i] - X[j]) ** 2).sum(axis=1), rtol=1e-4)
    drawn = model.sample_posterior(4000, random_state=0)
    spread = (drawn - model.embedding_) / model.posterior_std_[:, None]
    np.testing.assert_allclose(spread.std(axis=(0, 2)), 1, atol=0.05)


def test_samples_follow_the_seed_and_the_precision_of_the_data():
    model = SPL().fit(IRIS.astype(np.float32))
    one, two, other = (model.sample_posterior(2, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()
    assert one.dtype == np.float32


def test_samples_with_gamma_zero_scatter_about_zero():
    model = SPL(gamma=0.0).fit(IRIS)
    drawn = model.sample_posterior(2000, random_state=0)
    z = drawn.mean(axis=0) / model.posterior_std_[:, None] * np.sqrt(2000)
    assert np.abs(z).max() < 4.5


def test_one_pair_gives_a_number_and_pairs_broadcast():
    model = SPL().fit(IRIS)
    assert isinstance(model.posterior_covariance(3, 4), float)
    assert isinstance(model.expected_squared_distances(3, np.int64(4)), float)
    assert model.expected_squared_distances(3, 3) == pytest.approx(0, abs=1e-12)
    rows = np.arange(10)
    table = model.posterior_covariance(rows[:, None], rows)
    assert table.shape == (10, 10)
    np.testing.assert_allclose(table, table.T)
    assert model.posterior_covariance([], []).shape == (0,)


def test_posterior_follows_the_units_and_the_order_of_the_samples(rng):
    X, order = branching(150, 4), rng.permutation(150)
    model, other = SPL(gamma=1.0).fit(X), SPL(gamma=1.0).fit(1000 * X[order])
    np.testing.assert_allclose(other.posterior_std_, 1000 * model.posterior_std_[order])
    shift = 4 * np.log(1000)
    np.testing.assert_allclose(other.loo_log_likelihood_, model.loo_log_likelihood_[order] - shift)
    assert other.log_evidence_ == pytest.approx(model.log_evidence_ - 150 * shift)
    np.testing.assert_allclose(
        other.posterior_covariance(2, np.arange(5)),
        1e6 * model.posterior_covariance(order[2], order[:5]),
    )


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_without_active_edges_the_evidence_is_that_of_ppca(scale):
    """In units of the data: loadings of size 1/scale, noise of precision γ·scale²."""
    gamma, far = 3.0, 1000 * branching(60, 4)
    with pytest.warns(UserWarning, match="No edge is active"):
        model = SPL(gamma=gamma, scale=scale).fit(far)
    W = PCA(2).fit(far).components_.T
    covariance = (W @ W.T + np.eye(4) / gamma) / scale**2
    density = stats.multivariate_normal(far.mean(axis=0), covariance).logpdf(far)
    assert model.log_evidence_ == pytest.approx(density.sum(), rel=1e-9)
    np.testing.assert_allclose(model.loo_log_likelihood_, density, rtol=1e-9)


def test_more_features_than_samples_leave_the_density_in_all_of_them():
    X = branching(15, 40)
    wide = SPL(gamma=2.0, n_neighbors=4).fit(X)
    Y = (X - X.mean(axis=0)) * wide.scale_
    T = Y @ wide.components_.T
    Sigma = row_covariance(wide) * wide.scale_**2
    k = 2.0 - 4.0 * np.diag(Sigma)
    along = np.sum((2.0 * (T - 2.0 * Sigma @ T)) ** 2, axis=1) / k
    across = 2.0 * (np.sum(Y**2, axis=1) - np.sum(T**2, axis=1))
    logs = 2 * np.log(k) + 38 * np.log(2.0) - 40 * np.log(2 * np.pi)
    expected = (logs - along - across) / 2 + 40 * np.log(wide.scale_)
    np.testing.assert_allclose(wide.loo_log_likelihood_, expected, rtol=1e-8)


@pytest.mark.parametrize("method", ["posterior_covariance", "expected_squared_distances"])
@pytest.mark.parametrize(
    ("i", "j", "kind", "message"),
    [
        (150, 0, ValueError, r"^i holds 150, but must hold row numbers from 0 to 149; the model"),
        (0, [3, -1], ValueError, r"^j holds -1, but must hold row numbers"),
        (0.5, 0, TypeError, r"^i must hold row numbers, got float64; pass integers from 0 to 149"),
        ([True], 0, TypeError, r"^i must hold row numbers, got bool"),
        ([1, 2, 3], [1, 2], ValueError, r"^i has shape \(3,\) and j has shape \(2,\)"),
    ],
)
def test_pairs_that_are_none_are_refused(method, i, j, kind, message):
    with pytest.raises(kind, match=message):
        getattr(SPL().fit(IRIS), method)(i, j)


@pytest.mark.parametrize("n_samples", [0, -1, 2.5, "3", True])
def test_numbers_of_samples_that_are_none_are_refused(n_samples):
    with pytest.raises(ValueError, match=r"n_samples=.* must be a positive integer; pass 1"):
        SPL().fit(IRIS).sample_posterior(n_samples)


def test_an_unfitted_model_has_no_posterior():
    for ask in (
        lambda model: model.posterior_covariance(0, 1),
        lambda model: model.expected_squared_distances(0, 1),
        lambda model: model.sample_posterior(1),
    ):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            ask(SPL())


def test_too_many_samples_are_refused_before_they_are_drawn(monkeypatch):
    model = SPL().fit(IRIS)
    monkeypatch.setattr("branchwise._memory.available_bytes", lambda: 10**6)
    with pytest.raises(MemoryError, match=r"Drawing 1,000 embeddings of 150 samples .* draw fewer"):
        model.sample_posterior(1000)


def test_parameters_set_after_a_fit_wait_for_the_next():
    model = SPL(gamma=2.0).fit(IRIS)
    ask = (
        lambda: model.posterior_covariance(0, 1),
        lambda: model.sample_posterior(1, random_state=0),
        lambda: model.transform(IRIS[:5] + 0.1),
        lambda: model.inverse_transform(model.embedding_),
    )
    before = [question() for question in ask]
    model.set_params(gamma=7.0)
    for question, answer in zip(ask, before, strict=True):
        np.testing.assert_array_equal(question(), answer)
