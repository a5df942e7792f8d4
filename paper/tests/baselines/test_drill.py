"""DRILL: its optimum is that of other solvers, and satisfies the conditions of optimality."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from sklearn.covariance import graphical_lasso
from sklearn.exceptions import ConvergenceWarning

from branchwise.linalg import kernel_pca
from branchwise_paper.baselines import DRILL
from branchwise_paper.baselines.drill import cost, dual_bound, sparse_precision

from ..conftest import branching

pytestmark = pytest.mark.usefixtures("one_thread")


def printed_objective(P, Y, lam, alpha):
    """`op:drill`, with α in front of the norm, at Λ = P − λI."""
    D = Y.shape[1]
    norm = np.abs(P - lam * np.eye(len(P))).sum()
    return D / 2 * np.linalg.slogdet(P)[1] - np.trace(P @ Y @ Y.T) / 2 - alpha * norm


@pytest.mark.parametrize("lam", [0.0, 1e-2, 1.0, 5.0])
@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_conditions_of_optimality(alpha, lam):
    """D/2·K − ½YYᵀ = α·sign(Λ) where Λ ≠ 0, and within ±α elsewhere, on the diagonal too."""
    X = branching(25, 6)
    model = DRILL(alpha=alpha, lam=lam, tol=1e-11, max_iter=20_000).fit(X)
    Y = X - X.mean(axis=0)
    Lam = model.precision_ - model.lam_ * np.eye(25)
    Lam[np.abs(Lam) < 1e-12 / np.var(Y)] = 0.0  # the diagonal's zeros, after a division
    slope = (6 / 2 * np.linalg.inv(model.precision_) - Y @ Y.T / 2) / model.alpha_
    assert np.abs(slope).max() <= 1 + 1e-4
    np.testing.assert_allclose(slope[Lam != 0], np.sign(Lam[Lam != 0]), atol=1e-4)
    off_diagonal = Lam[np.triu_indices(25, 1)]
    assert 0 < (off_diagonal != 0).sum() < len(off_diagonal)


def test_a_narrow_base_density_leaves_zeros_on_the_diagonal():
    """At λ beyond what the data ask for, Λ_ii ≤ 0: the case that no graphical lasso covers."""
    X = branching(25, 6)
    model = DRILL(lam=1.0, tol=1e-9, max_iter=5000).fit(X)
    diagonal = np.diag(model.precision_) / model.lam_ - 1
    assert (np.abs(diagonal) < 1e-12).any()
    assert (diagonal > 1e-3).any()
    narrow = np.diag(DRILL(lam=5.0, tol=1e-9, max_iter=5000).fit(X).precision_)
    assert (narrow < 5 / np.var(X - X.mean(axis=0)) * (1 - 1e-3)).any()


def test_objective_is_the_printed_one_and_falls_wherever_one_goes():
    X = branching(15, 4)
    model = DRILL(alpha=0.3, tol=1e-10, max_iter=5000).fit(X)
    Y = X - X.mean(axis=0)
    optimum = printed_objective(model.precision_, Y, model.lam_, model.alpha_)
    assert model.objective_ == pytest.approx(optimum, rel=1e-9)
    rng = np.random.default_rng(0)
    scale = np.abs(model.precision_).max()
    for size in (1e-4, 1e-2):
        for _ in range(20):
            step = rng.normal(size=(15, 15)) * (rng.uniform(size=(15, 15)) < 0.2)
            P = model.precision_ + size * scale * (step + step.T)
            if np.linalg.eigvalsh(P)[0] > 0:
                assert printed_objective(P, Y, model.lam_, model.alpha_) < optimum + 1e-7


def test_optimum_is_that_of_an_independent_solver():
    """SLSQP with the positive and negative parts of Λ as variables, numerical derivatives."""
    rng = np.random.default_rng(1)
    n, D, alpha, lam = 5, 4, 0.5, 0.3
    Y = rng.normal(size=(n, D))
    Y -= Y.mean(axis=0)
    index = np.triu_indices(n)
    twice = np.where(index[0] == index[1], 1.0, 2.0)

    def negative(parts):
        positive, minus = np.split(parts, 2)
        P = np.zeros((n, n))
        P[index] = positive - minus
        P = P + np.triu(P, 1).T + lam * np.eye(n)
        if np.linalg.eigvalsh(P)[0] <= 0:
            return 1e6
        likelihood = D / 2 * np.linalg.slogdet(P)[1] - np.trace(P @ Y @ Y.T) / 2
        return alpha * (twice @ (positive + minus)) - likelihood

    start = np.concatenate([np.eye(n)[index], np.zeros(len(twice))])
    slow = optimize.minimize(
        negative,
        start,
        method="SLSQP",
        bounds=[(0, None)] * len(start),
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    fast = sparse_precision(Y @ Y.T / D, 2 * alpha / D, lam, tol=1e-11)
    assert -D / 2 * fast.cost == pytest.approx(-slow.fun, abs=1e-6)


def test_with_a_broad_base_density_it_is_the_graphical_lasso_and_lam_drops_out():
    Y = branching(20, 8)
    Y = Y - Y.mean(axis=0)
    S = Y @ Y.T / 8
    S /= np.diag(S).mean()
    penalty = 0.5
    wide, wider = (sparse_precision(S, penalty, lam, tol=1e-11).P for lam in (0.1, 1e-6))
    assert 1 / (np.diag(S).max() + penalty) > 0.1
    np.testing.assert_allclose(wide, wider, atol=1e-6)
    _, theirs = graphical_lasso(S + penalty * np.eye(20), penalty, tol=1e-6, enet_tol=1e-9)
    np.testing.assert_allclose(wide, theirs, atol=1e-5)


@settings(max_examples=20)
@given(
    seed=st.integers(0, 1000),
    penalty=st.floats(0.05, 2.0),
    lam=st.sampled_from([0.0, 0.1, 3.0]),
    size=st.floats(0.01, 1.0),
)
def test_no_point_of_the_dual_exceeds_any_of_the_primal(seed, penalty, lam, size):
    rng = np.random.default_rng(seed)
    Y, A = rng.normal(size=(2, 6, 4))
    S = Y @ Y.T / 4
    P = size * A @ A.T + 0.1 * np.eye(6)
    U = penalty * rng.uniform(-1, 1, size=(6, 6))
    bound = dual_bound(U + U.T + penalty * np.eye(6), S, penalty, lam)
    found = sparse_precision(S, penalty, lam, tol=1e-8)
    assert bound <= found.cost + 1e-9
    assert found.cost <= cost(P, S, penalty, lam) + 1e-9
    assert found.converged


def test_embedding_is_the_kernel_pca_of_the_covariance_and_the_graph_what_is_not_zero():
    model = DRILL(3, alpha=0.2).fit(branching(30, 5))
    K = np.linalg.inv(model.precision_)
    np.testing.assert_allclose(model.embedding_, kernel_pca(K, 3), atol=1e-8)
    graph = model.graph_.toarray()
    np.testing.assert_array_equal(np.diag(graph), 0)
    np.testing.assert_array_equal(graph, graph.T)
    off_diagonal = ~np.eye(30, dtype=bool)
    np.testing.assert_array_equal(graph[off_diagonal], -model.precision_[off_diagonal])
    assert model.graph_.nnz == np.count_nonzero(graph)


def test_a_large_penalty_joins_nothing():
    X = branching(20, 5)
    Y = X - X.mean(axis=0)
    model = DRILL(alpha=100).fit(X)
    assert model.graph_.nnz == 0
    expected = 1 / ((Y**2).sum(axis=1) / 5 + 2 * model.alpha_ / 5)
    np.testing.assert_allclose(np.diag(model.precision_), expected, rtol=1e-3)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_do_not_matter(factor):
    X = branching(20, 4)
    model, other = DRILL().fit(X), DRILL().fit(factor * X)
    np.testing.assert_allclose(other.embedding_ / factor, model.embedding_, atol=1e-8)
    assert other.alpha_ / factor**2 == pytest.approx(model.alpha_)


def test_copies_of_a_sample_are_embedded_alike():
    X = branching(20, 4)
    X[1] = X[0]
    model = DRILL(alpha=0.1, tol=1e-8, max_iter=5000).fit(X)
    np.testing.assert_allclose(model.embedding_[0], model.embedding_[1], atol=1e-4)


def test_equal_samples_are_an_error():
    with pytest.raises(ValueError, match=r"5 samples that are all equal"):
        DRILL().fit(np.ones((5, 3)))


def test_few_iterations_warn():
    with pytest.warns(ConvergenceWarning, match=r"DRILL stopped after 3 of max_iter=3 .* raise m"):
        DRILL(alpha=0.1, max_iter=3).fit(branching(20, 4))


def test_more_samples_than_memory_are_an_error(monkeypatch):
    monkeypatch.setattr("branchwise._memory.available_bytes", lambda: 1000)
    with pytest.raises(MemoryError, match=r"DRILL on 20 samples needs .* take fewer samples"):
        DRILL().fit(branching(20, 4))


def test_a_fit_without_any_proof_says_so():
    with pytest.warns(ConvergenceWarning, match=r"optimum that is not known to be within tol="):
        DRILL(alpha=1e-10, max_iter=5).fit(branching(25, 4))
