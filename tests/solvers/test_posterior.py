import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from branchwise.graph import laplacian
from branchwise.graph.inverse import plan_elimination, selected_inverse
from branchwise.linalg import kernel_pca
from branchwise.solvers.posterior import (
    Precision,
    covariances,
    expected_squared_distances,
    kernel_pca_scores,
    log_evidence,
    loo_log_likelihood,
    posterior_covariance,
    sample_rows,
)
from branchwise.solvers.spl import evaluate, spl
from branchwise.solvers.spl_equality import spl_equality
from branchwise.solvers.spl_solver import choose_solver

from .. import oracles
from ..conftest import branching
from .test_spl import problem, random_weights, with_loss
from .test_spl_sketch import scaled

pytestmark = pytest.mark.usefixtures("one_thread")
PATHS = ["exact", "sparse", "sketch"]


def precision(p, s, solver="exact"):
    return Precision(p.edges, s, len(p.Y), p.ridge, solver)


def row_covariance(p, s):
    """Σ = (4L + (γ+1)I)⁻¹, as printed."""
    n = len(p.Y)
    return np.linalg.inv(4 * oracles.dense_laplacian(p.edges, n, s) + (p.gamma + 1) * np.eye(n))


@pytest.mark.parametrize("solver", PATHS)
def test_covariances_of_pairs_are_those_of_the_inverse(rng, solver):
    p = problem(n=150, gamma=0.5)
    s = 10 * random_weights(p, rng)
    Sigma = row_covariance(p, s)
    for size in (0, 1, 40, 5000):
        i, j = rng.integers(150, size=(2, size))
        found = covariances(precision(p, s, solver), i, j)
        np.testing.assert_allclose(found, Sigma[i, j], rtol=1e-9, atol=1e-12)
    few, many = np.zeros(150, dtype=int), np.arange(150)
    for i, j in [(few, many), (many, few)]:
        np.testing.assert_allclose(
            covariances(precision(p, s, solver), i, j), Sigma[0], rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("solver", PATHS)
def test_expected_distances_of_pairs_are_those_of_the_edges_and_of_the_formula(rng, solver):
    p = problem(n=60, gamma=2.0)
    s = random_weights(p, rng)
    state = evaluate(p, s)
    mean, Q = p.gamma / 4 * state.QinvYW, precision(p, s, solver)
    on_edges = expected_squared_distances(Q, mean, *p.edges.T)
    np.testing.assert_allclose(on_edges, state.expected, rtol=1e-9)
    i, j = rng.integers(60, size=(2, 100))
    Sigma = row_covariance(p, s)
    spread = np.diag(Sigma)[i] + np.diag(Sigma)[j] - 2 * Sigma[i, j]
    expected = ((mean[i] - mean[j]) ** 2).sum(axis=1) + 2 * spread
    found = expected_squared_distances(Q, mean, i, j)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("solver", PATHS)
def test_moments_of_samples_are_those_of_the_posterior(rng, solver):
    p = problem(n=12)
    s = random_weights(p, rng)
    Sigma, n_draws = row_covariance(p, s), 40_000
    X = sample_rows(precision(p, s, solver), n_draws, rng)
    assert X.shape == (12, n_draws)
    deviation = np.sqrt(np.outer(np.diag(Sigma), np.diag(Sigma)) / n_draws)
    assert (np.abs(X.mean(axis=1)) < 4.5 * np.sqrt(np.diag(Sigma) / n_draws)).all()
    assert (np.abs(X @ X.T / n_draws - Sigma) < 4.5 * np.sqrt(2) * deviation).all()
    standardised = np.linalg.solve(np.linalg.cholesky(Sigma), X).ravel()
    assert stats.kstest(standardised, "norm").pvalue > 1e-3


def test_samples_with_weights_of_either_sign(rng):
    """As long as Q is positive definite."""
    p = problem(n=12)
    s = 0.02 * rng.normal(size=len(p.phi))
    Sigma = row_covariance(p, s)
    assert np.linalg.eigvalsh(Sigma).min() > 0
    assert s.min() < 0
    X = sample_rows(precision(p, s), 40_000, rng)
    np.testing.assert_allclose(X @ X.T / 40_000, Sigma, atol=0.05)


def primal(p, state):
    """`op:ebi-W` at the posterior of s, term by term, over ordered pairs."""
    n, d, gamma = len(p.Y), p.n_components, p.gamma
    D = p.Y.shape[1]
    Sigma, mean = row_covariance(p, state.s), gamma / 4 * state.QinvYW
    divergence = 0.5 * (
        d * np.trace(Sigma) + np.sum(mean**2) - n * d - d * np.linalg.slogdet(Sigma)[1]
    )
    error = np.sum((p.Y - mean @ state.W.T) ** 2) + d * np.trace(Sigma)
    likelihood = n * D / 2 * np.log(gamma / (2 * np.pi)) - gamma / 2 * error
    excess = np.maximum(state.expected - p.phi, 0)
    price = p.loss.slack * excess**2 if np.isfinite(p.loss.slack) else 0.0
    price = p.loss.upper * excess if np.isfinite(p.loss.upper) else price
    return divergence - likelihood + 2 * np.sum(price)


@pytest.mark.parametrize("gamma", [1e-3, 0.1, 3.0])
@pytest.mark.parametrize("slack", [1.0, 1e3])
def test_log_evidence_is_minus_the_optimum_of_prop_1(gamma, slack):
    p = problem(gamma=gamma, slack=slack)
    result = spl(p, max_iter=2000, tol=1e-11)
    evidence = log_evidence(p, result.state, p.Y.shape[1])
    assert -evidence == pytest.approx(primal(p, result.state), rel=1e-6)


@pytest.mark.parametrize(("loss", "tol"), [("absolute", 1e-8), ("hard", 1e-8), ("equality", 1e-13)])
def test_log_evidence_of_every_loss_is_minus_its_optimum(loss, tol):
    p = with_loss(problem(n=15, D=6, k=3, gamma=0.1), loss, 0.5)
    solve = spl_equality if loss == "equality" else spl
    result = solve(p, max_iter=2000, tol=tol)
    assert result.converged
    assert -log_evidence(p, result.state, 6) == pytest.approx(primal(p, result.state), rel=1e-6)


@given(gamma=st.floats(1e-2, 10), slack=st.floats(0.1, 1e3), seed=st.integers(0, 1000))
def test_no_posterior_beats_the_log_evidence(gamma, slack, seed):
    """Weak duality: at any s the dual bounds the primal at any other from below."""
    rng = np.random.default_rng(seed)
    p = problem(n=10, gamma=gamma, slack=slack, seed=seed)
    a, b = (evaluate(p, random_weights(p, rng)) for _ in range(2))
    value = primal(p, b)
    # The W of `a` is the worst for it, so the bound holds for every W.
    assert -log_evidence(p, a, 3) <= value + 1e-9 * abs(value)


def test_log_evidence_without_edges_is_the_likelihood_of_ppca(rng):
    p = problem(gamma=2.0)
    state = evaluate(p, np.zeros(len(p.phi)))
    covariance = state.W @ state.W.T + np.eye(3) / 2.0
    normal = stats.multivariate_normal(np.zeros(3), covariance)
    assert log_evidence(p, state, 3) == pytest.approx(normal.logpdf(p.Y).sum())


def joint_covariance(p, s, W):
    """Of all entries of Y, the graph and W given: prior of X, loadings, noise."""
    n, D = p.Y.shape
    prior = np.linalg.inv(4 * oracles.dense_laplacian(p.edges, n, s) + np.eye(n))
    return np.kron(prior, W @ W.T) + np.eye(n * D) / p.gamma


@pytest.mark.parametrize("gamma", [1e-2, 1.0, 30.0])
def test_loo_is_the_conditional_density_of_each_sample(rng, gamma):
    """Against brute force: leave a sample out of the joint normal density and predict it."""
    p = problem(n=9, gamma=gamma)
    state = evaluate(p, random_weights(p, rng))
    K, D = joint_covariance(p, state.s, state.W), 3
    y = p.Y.ravel()
    expected = []
    for i in range(9):
        own = np.zeros(9 * D, dtype=bool)
        own[i * D : (i + 1) * D] = True
        weights = np.linalg.solve(K[np.ix_(~own, ~own)], K[np.ix_(~own, own)]).T
        mean = weights @ y[~own]
        covariance = K[np.ix_(own, own)] - weights @ K[np.ix_(~own, own)]
        expected.append(stats.multivariate_normal(mean, covariance).logpdf(y[own]))
    np.testing.assert_allclose(loo_log_likelihood(p, state, D), expected, rtol=1e-8)


def test_loo_is_that_of_refits_without_the_sample(rng):
    """The posterior of the others, by (4L' + I)⁻¹ without row i, predicts y_i the same way."""
    p = problem(n=9, gamma=4.0)
    state = evaluate(p, random_weights(p, rng))
    prior = np.linalg.inv(4 * oracles.dense_laplacian(p.edges, 9, state.s) + np.eye(9))
    T = p.Y @ state.W
    across = np.sum(p.Y**2, axis=1) - np.sum(T**2, axis=1)
    for i, found in enumerate(loo_log_likelihood(p, state, 3)):
        rest = np.arange(9) != i
        # Precision of the others' x: what is left of the prior, and their own noise.
        posterior = np.linalg.inv(np.linalg.inv(prior[np.ix_(rest, rest)]) + 4.0 * np.eye(8))
        link = np.linalg.solve(prior[np.ix_(rest, rest)], prior[rest, i])
        mean = link @ (4.0 * posterior @ T[rest])
        variance = prior[i, i] - link @ prior[rest, i] + link @ posterior @ link + 1 / 4.0
        along = stats.norm(mean, np.sqrt(variance)).logpdf(T[i]).sum()
        noise = 0.5 * np.log(4.0 / (2 * np.pi)) - 4.0 / 2 * across[i]
        assert found == pytest.approx(along + noise, rel=1e-8)


def test_loo_and_evidence_count_the_features_that_the_data_do_not_use(rng):
    """Data in a basis of fewer dimensions: the others are noise of which none was seen."""
    p = problem(gamma=2.0)
    state = evaluate(p, random_weights(p, rng))
    more = np.log(2.0 / (2 * np.pi)) / 2
    np.testing.assert_allclose(
        loo_log_likelihood(p, state, 8), loo_log_likelihood(p, state, 3) + 5 * more
    )
    assert log_evidence(p, state, 8) == pytest.approx(
        log_evidence(p, state, 3) + 5 * more * len(p.Y)
    )


def test_gamma_zero_has_no_density():
    p = problem(gamma=0.0)
    state = evaluate(p, np.zeros(len(p.phi)))
    assert log_evidence(p, state, 3) == -np.inf
    assert (loo_log_likelihood(p, state, 3) == -np.inf).all()


def test_sparse_diagonal_is_the_dense_one(rng):
    p = problem(n=200)
    s = random_weights(p, rng)
    invert = selected_inverse(plan_elimination(p.edges, 200))
    np.testing.assert_allclose(
        evaluate(p, s, invert).diagonal / 4, np.diag(row_covariance(p, s)), rtol=1e-10
    )


def test_posterior_covariance_inverts_the_precision(rng):
    p = problem(gamma=0.5)
    s = random_weights(p, rng)
    precision = 4 * laplacian(p.edges, len(p.Y), s).toarray() + 1.5 * np.eye(len(p.Y))
    np.testing.assert_allclose(posterior_covariance(p, s) @ precision, np.eye(25), atol=1e-10)


@pytest.mark.parametrize("name", ["sparse", "sketch"])
def test_kernel_pca_of_the_posterior_needs_no_dense_matrix(name):
    p = scaled(branching(200, 6), gamma=0.0)
    s = spl(p, max_iter=200, tol=1e-6).state.s
    expected = kernel_pca(posterior_covariance(p, s), 2)
    scores = kernel_pca_scores(p, choose_solver(p, name), s)
    np.testing.assert_allclose(scores, expected, atol=1e-8)


def test_kernel_pca_of_two_pieces_tells_them_apart(rng):
    X = np.concatenate([branching(60, 4), branching(60, 4, seed=1) + 100.0])
    p = scaled(X, gamma=0.0, k=5)
    s = rng.exponential(size=len(p.phi))
    scores = kernel_pca_scores(p, choose_solver(p, "sparse"), s)
    expected = kernel_pca(posterior_covariance(p, s), 2)
    # All entries of the first column have the same size: rounding picks the sign.
    np.testing.assert_allclose(scores, oracles.align(scores, expected), atol=1e-8)
    assert np.ptp(scores[:60, 0]) < 1e-8
    assert scores[:60, 0].mean() * scores[60:, 0].mean() < 0
