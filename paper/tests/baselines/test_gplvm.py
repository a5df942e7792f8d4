import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal, ortho_group
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from branchwise_paper.baselines import GPLVM
from branchwise_paper.baselines.gplvm import (
    Latent,
    maximise_rbf,
    principal_start,
    rbf_log_likelihood,
)

from ..conftest import branching

pytestmark = pytest.mark.usefixtures("one_thread")


def log_likelihood(Y, K):
    """`eq:gplvm`: every feature is normal with covariance K."""
    return multivariate_normal(np.zeros(len(Y)), K).logpdf(Y.T).sum()


def rbf(latent):
    signal = latent.variance * np.exp(-(cdist(latent.X, latent.X) ** 2) / 2 / latent.lengthscale**2)
    return signal + latent.noise_variance * np.eye(len(latent.X))


def centred(n, D, **options):
    X = branching(n, D, **options)
    return X - X.mean(axis=0)


def random_latent(rng, n, d):
    return Latent(rng.normal(size=(n, d)), 1.7, 0.8, 0.3)


def arc(n, D, *, noise=0.05, seed=0):
    """A bent line in D dimensions, and where on it the points are."""
    rng = np.random.default_rng(seed)
    t = np.sort(rng.uniform(0, 1.5 * np.pi, size=n))
    plane = np.linalg.qr(rng.normal(size=(D, 2)))[0].T
    return np.column_stack([np.cos(t), np.sin(t)]) @ plane + noise * rng.normal(size=(n, D)), t


@pytest.fixture(scope="module")
def gpy():
    with warnings.catch_warnings():
        # Those of its own old syntax, heard when it is first compiled.
        warnings.simplefilter("ignore")
        return pytest.importorskip(
            "GPy", reason="GPy is the independent implementation to compare with"
        )


# GPy adds this to the noise, always.
JITTER = 1e-8


def gpy_model(gpy, Y, latent):
    d = latent.X.shape[1]
    kernel = gpy.kern.RBF(d, latent.variance, latent.lengthscale)
    model = gpy.models.GPLVM(Y, d, X=latent.X.copy(), kernel=kernel)
    model.likelihood.variance = latent.noise_variance - JITTER
    return model


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("noise_variance", [None, 0.4])
def test_linear_likelihood_is_that_of_normal_features(d, noise_variance):
    Y = centred(30, 8)
    model = GPLVM(d, noise_variance=noise_variance).fit(Y + 5.0)
    K = model.embedding_ @ model.embedding_.T + model.noise_variance_ * np.eye(30)
    assert model.log_likelihood_ == pytest.approx(log_likelihood(Y, K), rel=1e-9)
    assert (model.n_iter_, model.converged_) == (0, True)


@pytest.mark.parametrize("noise_variance", [None, 0.2])
def test_no_other_linear_points_are_likelier(noise_variance, rng):
    Y = centred(20, 8)
    model = GPLVM(2, noise_variance=noise_variance).fit(Y)
    free = noise_variance is None

    def value(parameters):
        X = parameters[:-1].reshape(20, 2)
        return log_likelihood(Y, X @ X.T + np.exp(parameters[-1]) * np.eye(20))

    best = np.append(model.embedding_, np.log(model.noise_variance_))
    gradient = approx_fprime(best, value, 1e-6)[: None if free else -1]
    # One-sided differences are off by half the step times the curvature.
    assert np.abs(gradient).max() < 1e-3 * abs(value(best))
    for _ in range(300):
        step = 10.0 ** rng.uniform(-4, 0) * rng.normal(size=len(best))
        assert value(best + step * np.append(np.ones(40), free)) <= value(best) + 1e-9


def test_linear_noise_is_the_mean_of_the_discarded_eigenvalues():
    Y = centred(20, 8)
    values = np.linalg.eigvalsh(Y @ Y.T / 8)[::-1]
    model = GPLVM(3).fit(Y)
    assert model.noise_variance_ == pytest.approx(values[3:].mean(), rel=1e-10)
    np.testing.assert_allclose(
        np.linalg.norm(model.embedding_, axis=0) ** 2, values[:3] - values[3:].mean(), rtol=1e-10
    )


def test_linear_points_are_principal_scores_up_to_the_scale_of_columns():
    X = branching(60, 5)
    ours, scores = GPLVM(2).fit_transform(X), PCA(2).fit_transform(X)
    correlation = np.corrcoef(ours.T, scores.T)[:2, 2:]
    np.testing.assert_allclose(np.abs(correlation), np.eye(2), atol=1e-10)


def test_linear_points_in_as_many_dimensions_as_the_data_have_an_infinite_likelihood():
    Y = centred(30, 3)
    for d in (3, 4):
        model = GPLVM(d).fit(Y)
        assert model.log_likelihood_ == np.inf
        assert model.noise_variance_ == 0
        X = model.embedding_
        assert X.shape == (30, d)
        np.testing.assert_allclose(X @ X.T, Y @ Y.T / 3, atol=1e-10)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_rbf_likelihood_is_that_of_normal_features(d, rng):
    Y, latent = centred(25, 6), random_latent(rng, 25, d)
    value = rbf_log_likelihood(Y, 6, latent)[0]
    assert value == pytest.approx(log_likelihood(Y, rbf(latent)), rel=1e-10)


@settings(max_examples=10)
@given(seed=st.integers(0, 1000), d=st.integers(1, 3), noise=st.sampled_from([1e-3, 0.3, 3.0]))
def test_rbf_gradient_matches_finite_differences(seed, d, noise):
    rng = np.random.default_rng(seed)
    Y, latent = rng.normal(size=(8, 4)), random_latent(rng, 8, d)._replace(noise_variance=noise)

    def value(parameters):
        X = parameters[:-3].reshape(8, d)
        return rbf_log_likelihood(Y, 4, Latent(X, *np.exp(parameters[-3:])))[0]

    at = np.append(latent.X, np.log(latent[1:]))
    _, by_points, by_logarithms = rbf_log_likelihood(Y, 4, latent)
    steps = 1e-5 * np.eye(len(at))
    numeric = [(value(at + step) - value(at - step)) / 2e-5 for step in steps]
    analytic = np.append(by_points, by_logarithms)
    np.testing.assert_allclose(numeric, analytic, atol=1e-6 * np.abs(analytic).max())


def test_rbf_likelihood_and_gradient_are_those_of_gpy(gpy, rng):
    Y, latent = centred(40, 6), random_latent(rng, 40, 2)
    theirs = gpy_model(gpy, Y, latent)
    value, by_points, by_logarithms = rbf_log_likelihood(Y, 6, latent)
    assert value == pytest.approx(theirs.log_likelihood(), rel=1e-8)
    np.testing.assert_allclose(by_points, theirs.X.gradient, rtol=1e-8, atol=1e-8)
    chained = [
        theirs.kern.variance * theirs.kern.variance.gradient,
        theirs.kern.lengthscale * theirs.kern.lengthscale.gradient,
        latent.noise_variance * theirs.likelihood.variance.gradient,
    ]
    np.testing.assert_allclose(by_logarithms, np.ravel(chained), rtol=1e-8)


@pytest.mark.parametrize("data", ["arc", "branches"])
def test_rbf_optimum_is_no_worse_than_that_of_gpy(gpy, data):
    Y = arc(60, 6)[0] if data == "arc" else branching(60, 6)
    Y = (Y - Y.mean(axis=0)) / Y.std()
    start = principal_start(Y, 2)
    theirs = gpy_model(gpy, Y, start)
    assert theirs.log_likelihood() == pytest.approx(rbf_log_likelihood(Y, 6, start)[0], rel=1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs.optimize("lbfgsb", max_iters=1000)
    ours = maximise_rbf(Y, 6, start, max_iter=1000, tol=1e-9)
    # Elsewhere they may end in different local maxima, now the one and now the other higher.
    assert ours.history[-1] >= theirs.log_likelihood() - 1e-6 * abs(theirs.log_likelihood())


def test_rbf_likelihood_never_falls_and_is_that_of_the_points():
    Y = centred(50, 6)
    model = GPLVM(2, kernel="rbf", max_iter=500).fit(Y)
    assert model.converged_
    assert len(model.objective_history_) == model.n_iter_ + 1
    assert (np.diff(model.objective_history_) >= 0).all()
    found = Latent(model.embedding_, model.variance_, model.lengthscale_, model.noise_variance_)
    assert model.log_likelihood_ == pytest.approx(log_likelihood(Y, rbf(found)), rel=1e-8)
    assert model.log_likelihood_ == model.objective_history_[-1]


@settings(max_examples=10)
@given(seed=st.integers(0, 1000))
def test_rbf_likelihood_ignores_rotation_shift_and_common_scale(seed):
    rng = np.random.default_rng(seed)
    Y, latent = rng.normal(size=(12, 4)), random_latent(rng, 12, 3)
    turn = ortho_group(3, seed=rng).rvs()
    value, by_points, _ = rbf_log_likelihood(Y, 4, latent)
    moved = Latent(3 * latent.X @ turn + 5.0, latent.variance, 3 * latent.lengthscale, 0.3)
    other, by_moved, _ = rbf_log_likelihood(Y, 4, moved)
    assert other == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(3 * by_moved, by_points @ turn, atol=1e-8 * np.abs(by_points).max())


def test_rbf_unrolls_an_arc_in_one_dimension():
    """The first principal score folds three quarters of a circle."""
    Y, t = arc(80, 10)
    model = GPLVM(1, kernel="rbf", max_iter=500).fit(Y)
    assert model.log_likelihood_ > GPLVM(1).fit(Y).log_likelihood_
    assert model.noise_variance_ == pytest.approx(0.05**2, rel=0.2)
    ranks = [np.argsort(np.argsort(v)) for v in (model.embedding_[:, 0], t)]
    assert abs(np.corrcoef(ranks)[0, 1]) > 0.9


def test_rbf_with_more_features_than_samples_is_the_same_as_without_reduction():
    Y = centred(20, 50)
    Y /= np.sqrt(np.mean(Y**2))
    model = GPLVM(2, kernel="rbf", max_iter=5, tol=0).fit(Y)
    direct = maximise_rbf(Y, 50, principal_start(Y, 2), max_iter=5, tol=0)
    assert model.n_iter_ == 5
    np.testing.assert_allclose(model.objective_history_, direct.history, rtol=1e-8)


@pytest.mark.parametrize("factor", [1e-5, 1e5])
def test_units_only_shift_the_rbf_likelihood(factor):
    Y = centred(30, 5)
    one = GPLVM(2, kernel="rbf", max_iter=20, tol=0).fit(Y)
    other = GPLVM(2, kernel="rbf", max_iter=20, tol=0).fit(factor * Y)
    gap = 30 * 5 * np.log(factor)
    assert other.log_likelihood_ == pytest.approx(one.log_likelihood_ - gap, rel=1e-5)
    assert other.noise_variance_ == pytest.approx(factor**2 * one.noise_variance_, rel=1e-3)


def test_a_given_noise_is_kept():
    model = GPLVM(2, kernel="rbf", noise_variance=0.1, max_iter=500).fit(centred(30, 5))
    assert model.noise_variance_ == pytest.approx(0.1, rel=1e-12)


def test_points_are_centred_and_along_their_principal_axes():
    for kernel in ("linear", "rbf"):
        X = GPLVM(3, kernel=kernel, max_iter=20, tol=0).fit_transform(centred(30, 5))
        np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-10)
        gram = X.T @ X
        np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-8 * gram[0, 0])
        assert (np.diff(np.diag(gram)) <= 0).all()


def test_copies_of_samples_and_few_features_are_no_obstacle():
    X = np.repeat(np.linspace(-1, 1, 10), 3)[:, None]
    model = GPLVM(2, kernel="rbf", max_iter=50, tol=0).fit(X)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.log_likelihood_)


@pytest.mark.parametrize("value", [7.0, 0.1])  # with 0.1, rounding leaves something of the mean
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_constant_samples_are_at_the_origin(kernel, value):
    model = GPLVM(2, kernel=kernel).fit(np.full((25, 3), value))
    assert not model.embedding_.any()
    assert model.log_likelihood_ == np.inf
    assert model.converged_


def test_too_few_iterations_are_told():
    match = r"GPLVM stopped after 3 of max_iter=3 iterations .* above tol=1.0e-06; raise max_iter"
    with pytest.warns(ConvergenceWarning, match=match):
        model = GPLVM(2, kernel="rbf", max_iter=3).fit(branching(30, 5))
    assert not model.converged_
    assert model.n_iter_ == 3


def test_noise_too_small_for_a_factorisation_is_refused():
    with pytest.raises(ValueError, match=r"noise_variance=1e-12 must be at least .* raise it, or"):
        GPLVM(kernel="rbf", noise_variance=1e-12).fit(branching(30, 5))


def test_unknown_kernels_are_refused():
    with pytest.raises(ValueError, match="'kernel' parameter of GPLVM must be a str among"):
        GPLVM(kernel="cubic").fit(branching(30, 5))
