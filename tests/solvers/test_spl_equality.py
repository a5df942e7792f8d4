"""Weights of either sign: Newton's steps, their certificate, and which distances can be kept."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg, optimize

from branchwise.graph.inverse import dense_inverse
from branchwise.solvers.spl import evaluate, spl
from branchwise.solvers.spl_equality import newton_step, self_concordant_gap, spl_equality

from .. import oracles
from .test_spl import complete, parts, problem, with_loss
from .test_spl_sketch import scaled

pytestmark = pytest.mark.usefixtures("one_thread")


def equality(n=20, D=6, d=2, *, k=3, gamma=1e-3, seed=0):
    return with_loss(problem(n=n, D=D, d=d, k=k, gamma=gamma, seed=seed), "equality")


@pytest.mark.parametrize("gamma", [0.0, 1e-3, 1.0])
def test_equality_optimum_is_that_of_an_independent_solver(gamma):
    """BFGS on the printed objective from s = 0, infinite where Q is not positive definite."""
    p = equality(n=10, D=4, k=2, gamma=gamma)
    ours = spl_equality(p, max_iter=100, tol=1e-13)
    assert ours.converged

    def negative(s):
        A = 4 * oracles.dense_laplacian(p.edges, len(p.Y), s) + (gamma + 1) * np.eye(len(p.Y))
        if np.linalg.eigvalsh(A)[0] <= 0:
            return 1e6
        return -oracles.spl_objective(*parts(p), s, p.n_components, gamma, np.inf)

    run = optimize.minimize(negative, np.zeros(len(p.phi)), method="BFGS", options={"gtol": 1e-6})
    constant = p.n_components / 2 * len(p.Y) * np.log(4)
    assert ours.state.objective + constant == pytest.approx(-run.fun, rel=1e-8)
    np.testing.assert_allclose(ours.state.s, run.x, rtol=1e-3, atol=1e-3)
    assert (ours.state.s < 0).any()


@pytest.mark.parametrize("gamma", [0.0, 1e-3, 0.1])
@pytest.mark.parametrize(("D", "k"), [(6, 2), (6, 4), (25, 8)])
def test_equality_keeps_every_distance(gamma, D, k):
    p = equality(n=25, D=D, k=k, gamma=gamma, seed=1)
    result = spl_equality(p, max_iter=500, tol=1e-13)
    assert result.converged
    expected = oracles.posterior_distances(p.Y, p.edges, result.state.s, 2, gamma)
    np.testing.assert_allclose(expected, p.phi, rtol=1e-5)
    hard = spl(with_loss(p, "hard"), max_iter=1000, tol=1e-8)
    # Fewer posteriors keep all distances than exceed none.
    assert result.state.objective > hard.state.objective + 1e-5


def test_history_rises_to_the_objective():
    runs = {
        "absolute": spl(with_loss(problem(n=60), "absolute"), max_iter=200, tol=1e-9),
        "equality": spl_equality(equality(n=60, D=8, k=5), max_iter=200, tol=1e-9),
    }
    for result in runs.values():
        assert result.converged
        assert (np.diff(result.history) >= 0).all()
        assert result.history[0] < result.history[-1] == result.state.objective
        assert len(result.history) == result.n_iter + 1 <= result.n_evaluations


def test_newton_s_iterations_are_reported_and_limited():
    seen = []
    p = equality(n=60, D=8, k=5)
    result = spl_equality(p, max_iter=2, tol=1e-9, callback=seen.append)
    assert not result.converged
    assert result.n_iter == 2
    assert [record.iteration for record in seen] == [0, 1, 2]
    assert [record.objective for record in seen] == result.history
    assert seen[-1].change == result.change > 1e-9


def test_newton_ends_where_rounding_stops_it():
    p = equality(n=25, D=6, k=3)
    result = spl_equality(p, max_iter=500, tol=0.0)
    assert not result.converged
    assert result.n_iter < 30
    assert result.gap < 1e-10


def test_newton_says_so_where_tied_eigenvalues_leave_no_proof():
    """A round cloud and large γ: at the optimum no single W has a gradient of zero."""
    p = equality(n=25, D=25, k=8, gamma=10.0)
    result = spl_equality(p, max_iter=500, tol=1e-6)
    assert not result.converged
    assert (np.diff(result.history) > 0).all()
    assert result.gap > 1e-3


@given(
    gamma=st.sampled_from([0.0, 1e-3, 1.0]),
    size=st.floats(1e-3, 10.0),
    seed=st.integers(0, 10_000),
)
def test_self_concordant_gap_bounds_the_distance_to_the_optimum_anywhere(gamma, size, seed):
    p = equality(n=12, gamma=gamma, seed=seed % 7)
    optimum = spl_equality(p, max_iter=500, tol=1e-10).state
    direction = optimum.s * np.random.default_rng(seed).normal(size=len(p.phi))
    invert = dense_inverse(p.edges, len(p.Y))
    gap = np.inf
    while np.isinf(gap):  # approach the optimum until Q is positive definite and there is a bound
        size /= 2
        Q = oracles.dense_laplacian(p.edges, len(p.Y), optimum.s + size * direction)
        if np.linalg.eigvalsh(Q)[0] > -0.9 * p.ridge:
            state = evaluate(p, optimum.s + size * direction, invert)
            gap = self_concordant_gap(p, newton_step(p, state, invert)[1])
    assert gap >= optimum.objective - state.objective - 1e-9


def test_self_concordant_gap_is_tight_near_the_optimum():
    p = equality(n=12)
    optimum = spl_equality(p, max_iter=500, tol=1e-14).state
    invert = dense_inverse(p.edges, len(p.Y))
    state = evaluate(p, 1.003 * optimum.s, invert)
    gap = self_concordant_gap(p, newton_step(p, state, invert)[1])
    true_gap = optimum.objective - state.objective
    assert 1e-5 < true_gap < gap < 1.05 * true_gap


@given(gamma=st.sampled_from([0.0, 1e-3, 1.0, 10.0]), seed=st.integers(0, 10_000))
def test_the_objective_at_fixed_w_is_self_concordant(gamma, seed):
    """|h'''| ≤ 2·h''^(3/2) for h = −2F_W/d along any line s + tv."""
    rng = np.random.default_rng(seed)
    n, d = 8, 2
    edges = np.column_stack(np.triu_indices(n, 1))
    root = np.linalg.cholesky(
        oracles.dense_laplacian(edges, n, rng.exponential(size=len(edges)))
        + (gamma + 1) / 4 * np.eye(n)
    )
    L = oracles.dense_laplacian(edges, n, rng.normal(size=len(edges)))
    # x are the eigenvalues of Q^(−½)·L(v)·Q^(−½)
    x, V = np.linalg.eigh(linalg.solve(root, linalg.solve(root, L).T))
    weight = np.sum((V.T @ linalg.solve(root, rng.normal(size=(n, d)))) ** 2, axis=1)
    data = gamma**2 / (4 * d) * weight
    # h(t) = −Σ log(1 + t·x) + Σ data/(1 + t·x) + linear terms, at t = 0
    second = np.sum(x**2) + 2 * np.sum(data * x**2)
    third = -2 * np.sum(x**3) - 6 * np.sum(data * x**3)
    assert abs(third) <= 2 * second**1.5 * (1 + 1e-12)


@pytest.mark.parametrize("gamma", [0.0, 1e-3, 1.0, 10.0])
def test_newton_s_step_undoes_the_gradient(rng, gamma):
    """Along the step the gradient falls at the rate at which it would vanish after one step.

    With as many components as features, so that W does not matter.
    """
    p = equality(n=12, D=2, gamma=gamma)
    state = evaluate(p, rng.uniform(0.1, 1, size=len(p.phi)))
    step, decrement = newton_step(p, state, dense_inverse(p.edges, len(p.Y)))
    ahead, behind = (evaluate(p, state.s + h * step).gradient for h in (1e-6, -1e-6))
    np.testing.assert_allclose((ahead - behind) / 2e-6, -state.gradient, rtol=1e-5, atol=1e-6)
    assert decrement == pytest.approx(np.sqrt(2 / p.n_components * state.gradient @ step))


def test_weights_of_a_tree_have_closed_form():
    """γ = 0: each edge of a path adds its own variance, and s·φ tends to d/4 for φ ≪ 1."""
    Y = np.cumsum(np.full(6, 1e-3))[:, None]
    p = complete(Y, 1, gamma=0.0)
    chain = p.edges[:, 1] == p.edges[:, 0] + 1
    p = replace(p, edges=p.edges[chain], phi=p.phi[chain])
    s = spl_equality(p, max_iter=100, tol=1e-14).state.s
    np.testing.assert_allclose(s * p.phi, 1 / 4, rtol=1e-4)


FEASIBLE = {
    "chain": (12, 1, 1),
    "few neighbours": (30, 6, 3),
    "all pairs of few points in many dimensions": (8, 12, 7),
    "a simplex": (6, 5, 5),
}


INFEASIBLE = {
    "a line with two neighbours": (25, 1, 2),
    "a plane with three neighbours": (25, 2, 3),
    "three dimensions with ten neighbours": (40, 3, 10),
    "all pairs in the plane": (4, 2, 3),
    "one point more than a simplex": (7, 5, 6),
}


@pytest.mark.parametrize("name", FEASIBLE)
@pytest.mark.parametrize("spread", [0.01, 0.3, 10.0])
def test_distances_that_leave_room_are_kept(name, spread):
    n, D, k = FEASIBLE[name]
    p = with_loss(problem(n=n, D=D, d=min(D, 2), k=k, spread=spread), "equality")
    result = spl_equality(p, max_iter=200, tol=1e-13)
    assert result.converged
    np.testing.assert_allclose(result.state.expected, p.phi, rtol=1e-5)


@pytest.mark.parametrize("name", INFEASIBLE)
@pytest.mark.parametrize("gamma", [0.0, 1e-3, 10.0])
def test_distances_that_leave_no_room_are_refused(name, gamma):
    n, D, k = INFEASIBLE[name]
    p = with_loss(problem(n=n, D=D, d=min(D, 2), k=k, gamma=gamma), "equality")
    message = r"No posterior keeps the distances along all \d+ edges .*; lower n_neighbors"
    with pytest.raises(ValueError, match=message):
        spl_equality(p, max_iter=200, tol=1e-6)


def test_where_no_posterior_keeps_the_distances_the_objective_has_no_bound(rng):
    """A positive semidefinite stress, L(v)Y = 0, costs nothing and enlarges Q."""
    Y = rng.normal(size=(5, 3))
    Y -= Y.mean(axis=0)
    p = complete(Y)
    dependence = linalg.null_space(np.vstack([Y.T, np.ones(5)]))[:, 0]
    v = -dependence[p.edges[:, 0]] * dependence[p.edges[:, 1]]
    L = oracles.dense_laplacian(p.edges, 5, v)
    np.testing.assert_allclose(L, np.outer(dependence, dependence), atol=1e-12)
    assert p.phi @ v == pytest.approx(0, abs=1e-12)
    values = [evaluate(p, t * v).objective for t in (1e2, 1e4, 1e6)]
    growth = p.n_components / 2 * np.log(100)
    np.testing.assert_allclose(np.diff(values), growth, rtol=0.05)


@pytest.mark.parametrize(("thickness", "is_kept"), [(0.1, True), (1e-2, True), (1e-5, False)])
def test_a_posterior_may_be_thin_but_not_flat(thickness, is_kept, rng):
    Y = rng.normal(size=(4, 3)) * [1, 1, thickness]
    p = complete(Y)
    if is_kept:
        result = spl_equality(p, max_iter=200, tol=1e-12)
        np.testing.assert_allclose(result.state.expected, p.phi, rtol=1e-4)
    else:
        with pytest.raises(ValueError, match="No posterior keeps the distances"):
            spl_equality(p, max_iter=200, tol=1e-12)


@pytest.mark.parametrize(("spread", "is_stretched"), [(30.0, True), (3e3, False), (1e150, False)])
def test_edges_are_stretched_a_hundred_times_at_most(spread, is_stretched):
    p = with_loss(problem(D=6, k=3, gamma=0.0, spread=spread), "equality")
    if is_stretched:
        result = spl_equality(p, max_iter=200, tol=1e-9)
        assert result.converged
        np.testing.assert_allclose(result.state.expected, p.phi, rtol=1e-2)
        assert (result.state.s < 0).mean() > 0.5
    else:
        with pytest.raises(ValueError, match=r"times what the model without.*; set scale='auto'"):
            spl_equality(p, max_iter=200, tol=1e-9)


def test_a_far_sample_is_kept_at_its_distance(rng):
    Y = rng.normal(size=(30, 6))
    Y[0] += 30.0
    p = with_loss(scaled(Y, k=3), "equality")
    result = spl_equality(p, max_iter=200, tol=1e-12)
    assert result.converged
    np.testing.assert_allclose(result.state.expected, p.phi, rtol=1e-3)
