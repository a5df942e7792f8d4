"""PPCA and linear GPLVM, from which the model starts, are solved by principal axes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from branchwise.data import centering as rows
from branchwise.data.centering import CentredRows
from branchwise.solvers import pca
from branchwise.solvers.pca import n_components_for, principal_axes

from ..conftest import branching

FRACTIONS = [0.05, 0.3, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999]


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """As in the estimators: for small matrices more threads only wait for each other."""
    with threadpool_limits(limits=1):
        yield


@pytest.fixture(params=["formed", "applied"])
def gram(request, monkeypatch):
    """The Gram matrix is formed for few features, and only applied for many."""
    if request.param == "applied":
        for module in (rows, pca):
            monkeypatch.setattr(module, "MAX_GRAM", 3)
        monkeypatch.setattr(CentredRows, "gram", lambda self: pytest.fail("formed"))
    return request.param


def decaying(n_rows, n_features, *, seed=0):
    """Random data whose singular values are well apart, with a mean."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) * 0.7 ** np.arange(n_features)
    return X @ np.linalg.qr(rng.normal(size=(n_features, n_features)))[0] + 5.0


def svd(X):
    _, s, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return s, Vt.T


def assert_orthonormal(W):
    np.testing.assert_allclose(W.T @ W, np.eye(W.shape[1]), atol=1e-12)


# principal_axes


@pytest.mark.parametrize("shape", [(100, 8), (30, 29), (9, 9)])
@pytest.mark.parametrize("n_components", [1, 3, 8])
def test_principal_axes_are_the_right_singular_vectors(shape, n_components, gram):
    X = decaying(*shape)
    W, rank = principal_axes(CentredRows(X), n_components)
    _, V = svd(X)
    assert W.shape == (shape[1], n_components)
    assert rank == n_components
    assert_orthonormal(W)
    cosine = np.abs(np.sum(W * V[:, :n_components], axis=0))
    np.testing.assert_allclose(cosine, 1.0, rtol=1e-12)


@pytest.mark.parametrize("shape", [(8, 20), (12, 200)])
def test_principal_axes_of_wide_data_are_the_right_singular_vectors(shape, gram):
    X = decaying(*shape)
    Y = CentredRows(X)
    W, rank = principal_axes(Y, 4)
    _, V = svd(X)
    assert rank == 4
    np.testing.assert_allclose(np.abs(np.sum(Y.lift(W) * V[:, :4], axis=0)), 1.0, rtol=1e-12)


@pytest.mark.parametrize("container", [sparse.csr_array, lambda X: X.astype(np.float32)])
@pytest.mark.parametrize("max_copied", [100, 2**24])
def test_principal_axes_are_the_same_for_every_container(container, max_copied, gram, monkeypatch):
    monkeypatch.setattr(rows, "MAX_COPIED", max_copied)
    X = decaying(100, 8).astype(np.float32).astype(np.float64)
    W, rank = principal_axes(CentredRows(container(X)), 3)
    _, V = svd(X)
    assert rank == 3
    np.testing.assert_allclose(np.abs(np.sum(W * V[:, :3], axis=0)), 1.0, rtol=1e-12)


@given(n=st.integers(1, 20), D=st.integers(1, 20), d=st.integers(1, 20), seed=st.integers(0, 2**31))
def test_principal_axes_keep_the_most_energy_that_d_axes_can(n, D, d, seed):
    X = np.random.default_rng(seed).normal(size=(n, D))
    Y = CentredRows(X)
    d = min(d, Y.n_dims)
    W, rank = principal_axes(Y, d)
    s, _ = svd(X)
    assert W.shape == (Y.n_dims, d)
    assert_orthonormal(W)
    assert rank == min(d, n - 1, D)
    kept = np.sum(Y.project(W) ** 2)
    assert kept == pytest.approx(np.sum(s[:d] ** 2), rel=1e-10, abs=1e-20)


@pytest.mark.parametrize("true_rank", [1, 2, 5])
def test_principal_axes_beyond_the_rank_complete_an_orthonormal_set(true_rank, gram, rng):
    X = rng.normal(size=(60, true_rank)) @ rng.normal(size=(true_rank, 12)) + 3.0
    Y = CentredRows(X)
    W, rank = principal_axes(Y, 8)
    assert rank == true_rank
    assert W.shape == (12, 8)
    assert_orthonormal(W)
    scale = np.sqrt(Y.energy)
    np.testing.assert_allclose(Y.project(W)[:, rank:], 0.0, atol=1e-12 * scale)
    np.testing.assert_allclose(np.sum(Y.project(W) ** 2), Y.energy, rtol=1e-12)


def test_principal_axes_of_wide_data_carry_variance_up_to_one_less_than_the_rows(gram, rng):
    Y = CentredRows(rng.normal(size=(6, 40)))
    W, rank = principal_axes(Y, 6)
    assert rank == 5
    assert_orthonormal(Y.lift(W))


def test_principal_axes_of_wide_data_are_at_most_as_many_as_its_rows(gram, rng):
    Y = CentredRows(rng.normal(size=(6, 40)))
    W, rank = principal_axes(Y, 10)
    assert (W.shape, rank) == ((6, 6), 5)


def test_principal_axes_of_constant_data_carry_nothing(gram):
    W, rank = principal_axes(CentredRows(np.full((10, 5), 2.5)), 3)
    assert (W.shape, rank) == ((5, 3), 0)
    assert_orthonormal(W)


@pytest.mark.parametrize(("spread", "expected"), [(1e-6, 2), (1e-8, 1)])
def test_principal_axes_count_what_rounding_cannot_have_made(spread, expected):
    # The square of a spread of 1e-8 is where rounding errors of YᵀY begin.
    X = np.vstack([np.eye(3), -np.eye(3)]) * [1.0, spread, 0.0]
    W, rank = principal_axes(CentredRows(X), 3)
    assert rank == expected
    np.testing.assert_allclose(np.abs(W[:, 0]), [1, 0, 0], atol=1e-12)


def test_principal_axes_of_data_with_a_large_mean_are_those_of_the_centred_data(gram):
    # Multiples of 2⁻²⁰, so that adding 1e8 is exact.
    X = np.round(decaying(200, 6) * 2**20) / 2**20
    W, rank = principal_axes(CentredRows(X + 1e8), 3)
    _, V = svd(X)
    assert rank == 3
    np.testing.assert_allclose(np.abs(np.sum(W * V[:, :3], axis=0)), 1.0, rtol=1e-12)


def test_principal_axes_with_equal_variances_span_the_leading_subspace(gram, rng):
    U, _ = np.linalg.qr(np.column_stack([np.ones(50), rng.normal(size=(50, 6))]))
    V, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    X = (U[:, 1:] * [3.0, 3.0, 3.0, 1.0, 1.0, 0.5]) @ V.T
    W, rank = principal_axes(CentredRows(X), 3)
    assert rank == 3
    np.testing.assert_allclose(W @ W.T, V[:, :3] @ V[:, :3].T, atol=1e-9)


# n_components_for


@pytest.mark.parametrize("fraction", FRACTIONS)
@pytest.mark.parametrize("shape", [(200, 10), (60, 59), (15, 40)])
def test_n_components_for_a_fraction_is_that_of_scikit_learn(fraction, shape, gram):
    for X in (np.random.default_rng(1).normal(size=shape), decaying(*shape)):
        expected = PCA(n_components=fraction, svd_solver="full").fit(X).n_components_
        assert n_components_for(CentredRows(X), fraction) == expected


@pytest.mark.parametrize("fraction", FRACTIONS)
def test_n_components_for_a_fraction_may_exceed_the_first_block(fraction, gram):
    # Nearly equal variances: 0.99 takes nearly all of the 80 features, far more than 32.
    X = np.random.default_rng(2).normal(size=(2000, 80))
    expected = PCA(n_components=fraction, svd_solver="full").fit(X).n_components_
    assert n_components_for(CentredRows(X), fraction) == expected


@given(
    n=st.integers(3, 30),
    D=st.integers(2, 12),
    fraction=st.floats(0.01, 0.99),
    seed=st.integers(0, 2**31),
)
def test_n_components_for_is_the_smallest_number_that_keeps_more(n, D, fraction, seed):
    X = np.random.default_rng(seed).normal(size=(n, D)) * np.geomspace(10, 0.1, D)
    energy = svd(X)[0] ** 2
    d = n_components_for(CentredRows(X), fraction)
    assert energy[:d].sum() > fraction * energy.sum() * (1 - 1e-12)
    assert energy[: d - 1].sum() <= fraction * energy.sum() * (1 + 1e-12)


def test_n_components_for_equal_parts_is_the_number_of_parts_needed(gram):
    # Four directions with a quarter of the energy each.
    X = np.vstack([np.eye(8)[:, :4], -np.eye(8)[:, :4]])
    assert n_components_for(CentredRows(X), 0.5 - 1e-9) == 2
    assert n_components_for(CentredRows(X), 0.5 + 1e-9) == 3


def test_n_components_for_a_fraction_that_is_met_exactly_keeps_one_more():
    X = np.vstack([np.eye(2), -np.eye(2)])
    assert n_components_for(CentredRows(X), 0.5) == 2


def test_n_components_for_nearly_everything_is_the_rank(gram, rng):
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 12)) + 3.0
    assert n_components_for(CentredRows(X), 1 - 1e-9) == 3


def test_n_components_for_constant_data_is_within_their_dimensions(gram):
    assert 1 <= n_components_for(CentredRows(np.full((10, 5), 2.5)), 0.9) <= 5


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
