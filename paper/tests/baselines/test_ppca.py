import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.decomposition import PCA

from branchwise import SPL
from branchwise_paper.baselines import PPCA

from ..conftest import branching


def normal_log_likelihood(X, covariance):
    return multivariate_normal(X.mean(axis=0), covariance).logpdf(X).sum()


def eigenvalues(X):
    return np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]


@pytest.mark.parametrize("d", [1, 2, 4, 5, 7])
@pytest.mark.parametrize("noise_variance", [None, 0.3, 2.0])
def test_likelihood_is_that_of_the_normal_distribution(d, noise_variance):
    """Also with as many components as features, and more."""
    X = branching(60, 5)
    model = PPCA(d, noise_variance=noise_variance).fit(X)
    W = model.components_.T
    covariance = W @ W.T + model.noise_variance_ * np.eye(5)
    np.testing.assert_allclose(model.get_covariance(), covariance, rtol=1e-12)
    expected = normal_log_likelihood(X, covariance)
    assert model.log_likelihood_ == pytest.approx(expected, rel=1e-10)
    assert model.score(X) == pytest.approx(expected / 60, rel=1e-10)
    new = branching(20, 5, seed=1)
    density = multivariate_normal(X.mean(axis=0), covariance).logpdf(new)
    np.testing.assert_allclose(model.score_samples(new), density, rtol=1e-9)


@pytest.mark.parametrize("d", [1, 3])
def test_noise_is_the_mean_of_the_discarded_eigenvalues(d):
    X = branching(60, 5)
    model = PPCA(d).fit(X)
    values = eigenvalues(X)
    assert model.noise_variance_ == pytest.approx(values[d:].mean(), rel=1e-12)
    implied = np.linalg.eigvalsh(model.get_covariance())[::-1]
    np.testing.assert_allclose(implied[:d], values[:d], rtol=1e-12)
    np.testing.assert_allclose(implied[d:], model.noise_variance_, rtol=1e-12)


def test_discarded_eigenvalues_that_are_zero_count():
    """With fewer samples than features."""
    X = branching(8, 20)
    values = eigenvalues(X)
    assert PPCA(3).fit(X).noise_variance_ == pytest.approx(values[3:].sum() / 17, rel=1e-12)


def test_likelihood_is_scikit_learns_for_the_same_covariance():
    X, n = branching(60, 5), 60
    theirs = PCA(2).fit(X)
    model = PPCA(2).fit(X)
    assert model.log_likelihood_ > n * theirs.score(X)  # of a covariance with N − 1
    theirs.explained_variance_ *= (n - 1) / n
    theirs.noise_variance_ *= (n - 1) / n
    assert model.score(X) == pytest.approx(theirs.score(X), rel=1e-10)


@pytest.mark.parametrize("noise_variance", [None, 0.2])
def test_no_other_parameters_are_likelier(noise_variance, rng):
    X = branching(60, 5)
    model = PPCA(2, noise_variance=noise_variance).fit(X)

    def log_likelihood(W, log_noise, mean):
        covariance = W @ W.T + np.exp(log_noise) * np.eye(5)
        return multivariate_normal(mean, covariance).logpdf(X).sum()

    W, log_noise = model.components_.T, np.log(model.noise_variance_)
    free = noise_variance is None
    gradient, step = [], 1e-5
    for i in range(10):
        E = step * (np.arange(10) == i).reshape(5, 2)
        gradient += [
            log_likelihood(W + E, log_noise, model.mean_)
            - log_likelihood(W - E, log_noise, model.mean_)
        ]
    if free:
        gradient += [
            log_likelihood(W, log_noise + step, model.mean_)
            - log_likelihood(W, log_noise - step, model.mean_)
        ]
    assert np.abs(gradient).max() / (2 * step) < 1e-4  # of a likelihood of hundreds
    for _ in range(300):
        size = 10.0 ** rng.uniform(-3, 1)
        other = log_likelihood(
            W + size * rng.normal(size=W.shape),
            log_noise + free * min(size, 1.0) * rng.normal(),
            model.mean_ + size * rng.normal(size=5) * rng.integers(2),
        )
        assert other <= model.log_likelihood_ + 1e-9


def test_embedding_is_the_posterior_mean():
    """By conditioning the joint normal distribution of x and y."""
    X = branching(60, 5)
    model = PPCA(2).fit(X)
    gain = model.components_ @ np.linalg.inv(model.get_covariance())
    np.testing.assert_allclose(model.embedding_, (X - X.mean(axis=0)) @ gain.T, atol=1e-10)
    new = branching(20, 5, seed=1)
    np.testing.assert_allclose(model.transform(new), (new - X.mean(axis=0)) @ gain.T, atol=1e-10)
    np.testing.assert_array_equal(clone(model).fit_transform(X), model.embedding_)


def test_embedding_spans_the_principal_scores():
    X = branching(60, 5)
    ours, scores = PPCA(2).fit_transform(X), PCA(2).fit_transform(X)
    correlation = np.corrcoef(ours.T, scores.T)[:2, 2:]
    np.testing.assert_allclose(np.abs(correlation), np.eye(2), atol=1e-10)


def test_spl_without_edges_is_ppca_where_the_leading_variances_are_those_of_its_prior():
    """Orthonormal W is the likeliest where λ = 1 + 1/γ; elsewhere a free W is likelier."""
    gamma, d = 4.0, 2
    X = branching(60, 5)
    U, _, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    far = np.array([1 + 1 / gamma, 1 + 1 / gamma, 0.2, 0.1, 0.05])
    Y = U * np.sqrt(60 * far) @ Vt
    spl = SPL(d, gamma=gamma, scale=None, C=1e-12, n_neighbors=3).fit(Y)
    ppca = PPCA(d, noise_variance=1 / gamma).fit(Y)
    assert spl.log_evidence_ == pytest.approx(ppca.log_likelihood_, rel=1e-8)
    np.testing.assert_allclose(
        spl.embedding_ @ spl.embedding_.T, ppca.embedding_ @ ppca.embedding_.T, atol=1e-8
    )
    spl = SPL(d, gamma=gamma, scale=None, C=1e-12, n_neighbors=3).fit(3 * Y)
    ppca = PPCA(d, noise_variance=1 / gamma).fit(3 * Y)
    assert spl.log_evidence_ < ppca.log_likelihood_ - 1.0


def test_more_components_are_likelier():
    X = branching(60, 5)
    values = [PPCA(d).fit(X).log_likelihood_ for d in range(1, 7)]
    assert (np.diff(values) >= -1e-9).all()
    # From D − 1 on the covariance is that of the samples.
    np.testing.assert_allclose(values[3:], values[-1], rtol=1e-10)
    assert values[-1] == pytest.approx(normal_log_likelihood(X, np.cov(X.T, bias=True)), rel=1e-10)


def test_components_beyond_the_features_are_zero():
    X = branching(60, 3)
    model = PPCA(5).fit(X)
    assert model.noise_variance_ == 0
    assert model.embedding_.shape == (60, 5)
    assert not model.embedding_[:, 3:].any()
    assert not model.components_[3:].any()
    np.testing.assert_allclose(np.cov(model.embedding_[:, :3].T, bias=True), np.eye(3), atol=1e-10)


def test_directions_below_a_given_noise_are_zero():
    X = branching(60, 5)
    values = eigenvalues(X)
    model = PPCA(4, noise_variance=(values[1] + values[2]) / 2).fit(X)
    assert model.components_[:2].any(axis=1).all()
    assert not model.components_[2:].any()
    assert not model.embedding_[:, 2:].any()


@pytest.mark.parametrize("d", [2, 3])
def test_samples_in_too_few_dimensions_have_no_density(d):
    X = branching(60, 3)[:, :2] @ np.random.default_rng(0).normal(size=(2, 6))
    model = PPCA(d).fit(X)
    assert model.log_likelihood_ == np.inf
    assert model.noise_variance_ == 0
    assert np.isfinite(model.embedding_).all()
    np.testing.assert_allclose(np.cov(model.embedding_[:, :2].T, bias=True), np.eye(2), atol=1e-8)
    with pytest.raises(ValueError, match=rf"n_components={d} must be less .* lower n_components"):
        model.score(X)
    assert np.isfinite(PPCA(d, noise_variance=0.1).fit(X).score(X))


@pytest.mark.parametrize("value", [7.0, 0.1])  # with 0.1, rounding leaves something of the mean
def test_constant_samples_are_at_the_origin(value):
    model = PPCA(2).fit(np.full((25, 3), value))
    assert not model.embedding_.any()
    assert model.log_likelihood_ == np.inf


def test_noise_must_be_positive():
    with pytest.raises(ValueError, match="'noise_variance' parameter of PPCA must be a float"):
        PPCA(noise_variance=0.0).fit(branching(10, 3))


def test_sparse_samples_are_taken():
    X = np.maximum(branching(40, 5), 0)
    dense, thin = PPCA().fit(X), PPCA().fit(sparse.csr_array(X))
    assert thin.log_likelihood_ == dense.log_likelihood_
    np.testing.assert_array_equal(thin.transform(sparse.csr_array(X)), dense.embedding_)


@settings(max_examples=20)
@given(
    seed=st.integers(0, 100),
    d=st.integers(1, 6),
    factor=st.sampled_from([1e-6, 0.1, 30.0, 1e8]),
    shift=st.sampled_from([0.0, 1.0]),
)
def test_units_only_shift_the_likelihood(seed, d, factor, shift):
    X = branching(30, 6, seed=seed)
    one, other = PPCA(d).fit(X), PPCA(d).fit(factor * (X + shift))
    gap = 30 * 6 * np.log(factor)
    assert other.log_likelihood_ == pytest.approx(one.log_likelihood_ - gap, abs=1e-6)
    np.testing.assert_allclose(other.embedding_, one.embedding_, atol=1e-6)
