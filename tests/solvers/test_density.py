import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import branchwise.solvers.density
from branchwise.solvers.density import mixture_log_likelihood


def mixture(y, nodes, weights, noise):
    """Σ_k π_k N(y | r_k, τ²I), one normal at a time."""
    D = y.shape[1]
    return sum(
        w * stats.multivariate_normal(r, noise * np.eye(D)).pdf(y)
        for r, w in zip(nodes, weights, strict=True)
    )


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 30),
    n_nodes=st.integers(1, 10),
    d=st.integers(1, 3),
)
def test_density_is_that_of_the_mixture_at_the_best_noise(seed, n, n_nodes, d):
    rng = np.random.default_rng(seed)
    y, nodes = rng.normal(size=(n, 4)), rng.normal(size=(n_nodes, d))
    weights = rng.dirichlet(np.ones(n_nodes)) * rng.integers(0, 2, size=n_nodes)
    weights[0] += 0.1
    weights /= weights.sum()
    across = np.sum(y[:, d:] ** 2, axis=1)
    logs, noise = mixture_log_likelihood(y[:, :d], across, nodes, weights, 4)
    in_space = np.hstack([nodes, np.zeros((n_nodes, 4 - d))])
    expected = np.log(mixture(y, in_space, weights, noise))
    np.testing.assert_allclose(logs, expected, rtol=1e-8, atol=1e-10)
    for factor in (0.99, 1.01):
        other = np.log(mixture(y, in_space, weights, noise * factor))
        assert other.mean() <= logs.mean() + 1e-7


def test_density_in_blocks_is_the_same(rng, monkeypatch):
    y, nodes = rng.normal(size=(50, 2)), rng.normal(size=(8, 2))
    whole, noise = mixture_log_likelihood(y, np.zeros(50), nodes, np.full(8, 1 / 8), 2)
    monkeypatch.setattr(branchwise.solvers.density, "MAX_HELD", 100)
    parts, of_some = mixture_log_likelihood(y, np.zeros(50), nodes, np.full(8, 1 / 8), 2)
    assert of_some == pytest.approx(noise, rel=0.5)  # from every fifth sample
    expected = np.log(mixture(y, nodes, np.full(8, 1 / 8), of_some))
    np.testing.assert_allclose(parts, expected)
    assert whole.mean() >= parts.mean()


def test_samples_on_the_nodes_have_a_finite_density():
    y = np.zeros((3, 1))
    logs, noise = mixture_log_likelihood(y, np.zeros(3), y[:1], np.ones(1), 1)
    assert noise > 0
    assert np.isfinite(logs).all()
