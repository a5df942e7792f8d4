from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from branchwise.graph import laplacian
from branchwise.losses import Hard, as_loss
from branchwise.neighbors import neighbor_edges
from branchwise.solvers.posterior import posterior_covariance
from branchwise.solvers.spl import (
    SPLProblem,
    evaluate,
    optimality_gap,
    spl,
    squared_distances,
    start,
    without_zero_distances,
)

from .. import oracles


def problem(n=25, D=3, d=2, *, k=4, gamma=1e-3, slack=1e3, spread=0.3, seed=0):
    rng = np.random.default_rng(seed)
    Y = spread * rng.normal(size=(n, D))
    Y -= Y.mean(axis=0)
    edges = neighbor_edges(Y, k)
    return SPLProblem(Y, edges, squared_distances(Y, edges), d, gamma, as_loss("squared", slack))


def with_loss(p, loss, C=1.0):
    return replace(p, loss=as_loss(loss, C))


def complete(Y, d=2, *, gamma=1e-3, loss="equality", C=1.0):
    """All pairs of points are edges."""
    Y = Y - Y.mean(axis=0)
    edges = np.column_stack(np.triu_indices(len(Y), 1))
    p = SPLProblem(Y, edges, squared_distances(Y, edges), d, gamma, Hard())
    return with_loss(p, loss, C)


def parts(p):
    return p.Y, p.edges, p.phi


def random_weights(p, rng):
    return rng.exponential(size=len(p.phi)) * rng.integers(0, 2, size=len(p.phi))


@pytest.mark.parametrize("gamma", [0.0, 1e-3, 1.0, 5.0])
@pytest.mark.parametrize("slack", [0.1, 1e3, np.inf])
def test_objective_is_the_paper_s_up_to_a_constant(rng, gamma, slack):
    p = problem(gamma=gamma, slack=slack)
    constant = p.n_components / 2 * len(p.Y) * np.log(4)
    for _ in range(5):
        s = random_weights(p, rng)
        printed = oracles.spl_objective(*parts(p), s, p.n_components, gamma, slack)
        assert evaluate(p, s).objective + constant == pytest.approx(printed, rel=1e-10)


@pytest.mark.parametrize("gamma", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("slack", [0.1, 1e3, np.inf])
def test_prop_1_gradient_matches_finite_differences(rng, gamma, slack):
    p = problem(gamma=gamma, slack=slack)
    s = rng.exponential(size=len(p.phi)) + 0.1
    gradient = evaluate(p, s).gradient
    for e in rng.choice(len(s), size=10, replace=False):
        step = np.zeros_like(s)
        step[e] = 1e-5
        slope = (evaluate(p, s + step).objective - evaluate(p, s - step).objective) / 2e-5
        assert gradient[e] == pytest.approx(slope, rel=1e-5, abs=1e-6)


@given(
    gamma=st.floats(0, 10),
    slack=st.one_of(st.floats(1e-2, 1e5), st.just(np.inf)),
    seed=st.integers(0, 10_000),
    size=st.floats(1e-3, 1e3),
)
def test_objective_is_concave(gamma, slack, seed, size):
    """The paper calls the problem non-convex; f is concave in S."""
    rng = np.random.default_rng(seed)
    p = problem(n=12, gamma=gamma, slack=slack, seed=seed)
    a, b = size * random_weights(p, rng), size * random_weights(p, rng)
    ends = (evaluate(p, a).objective + evaluate(p, b).objective) / 2
    middle = evaluate(p, (a + b) / 2).objective
    assert middle >= ends - 1e-9 * max(1.0, abs(ends))


@pytest.mark.parametrize("gamma", [0.0, 1e-3, 1.0])
def test_expected_distances_are_those_of_the_posterior(rng, gamma):
    """q(X) is matrix normal with mean γ·Σ·YW and row covariance Σ (`eq:post`)."""
    p = problem(gamma=gamma)
    state = evaluate(p, random_weights(p, rng))
    Sigma = posterior_covariance(p, state.s)
    X = gamma * Sigma @ p.Y @ state.W
    i, j = p.edges.T
    variance = Sigma[i, i] + Sigma[j, j] - 2 * Sigma[i, j]
    expected = p.n_components * variance + ((X[i] - X[j]) ** 2).sum(axis=1)
    np.testing.assert_allclose(state.expected, expected, rtol=1e-10)
    np.testing.assert_allclose(gamma / 4 * state.QinvYW, X, atol=1e-12)


def test_expected_distances_agree_with_samples(rng):
    p = problem(n=10, gamma=1.0)
    state = evaluate(p, random_weights(p, rng))
    Sigma = posterior_covariance(p, state.s)
    mean = Sigma @ p.Y @ state.W
    draws = mean + np.linalg.cholesky(Sigma) @ rng.normal(size=(40_000, 10, 2))
    i, j = p.edges.T
    sampled = ((draws[:, i] - draws[:, j]) ** 2).sum(axis=2).mean(axis=0)
    np.testing.assert_allclose(state.expected, sampled, rtol=0.05)


@pytest.mark.parametrize("gamma", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("slack", [10.0, 1e3])
def test_prop_1_optimum_keeps_expected_distances(gamma, slack):
    """E‖x_i − x_j‖² ≤ φ + ξ with equality on active edges, ξ = s/(2·slack)."""
    p = problem(gamma=gamma, slack=slack)
    result = spl(p, max_iter=2000, tol=1e-12)
    assert result.converged
    xi = result.state.s / (2 * slack)
    excess = result.state.expected - p.phi - xi
    active = result.state.s > 1e-6
    assert active.any()
    assert not active.all()
    assert excess.max() <= 1e-5
    np.testing.assert_allclose(excess[active], 0, atol=1e-5)


def test_hard_constraints_hold_without_slack():
    p = problem(slack=np.inf)
    result = spl(p, max_iter=2000, tol=1e-7)
    assert result.converged
    excess = result.state.expected - p.phi
    assert excess.max() <= 1e-6
    np.testing.assert_allclose(excess[result.state.s > 1e-3], 0, atol=1e-6)


@pytest.mark.parametrize("gamma", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("slack", [10.0, 1e3, 1e5, np.inf])
def test_optimum_is_that_of_an_independent_solver(gamma, slack):
    """BFGS on the printed objective with s = t², finite differences, three starts."""
    p = problem(n=10, k=3, gamma=gamma, slack=slack)
    ours = spl(p, max_iter=3000, tol=1e-10)

    def negative(t):
        s = t**2  # non-negative without bounds, and without a gradient of ours
        return -oracles.spl_objective(*parts(p), s, p.n_components, gamma, slack)

    best = -np.inf
    for seed in range(3):
        t = np.random.default_rng(seed).uniform(0.5, 2, size=len(p.phi))
        run = optimize.minimize(negative, t, method="BFGS", options={"maxiter": 2000})
        best = max(best, -run.fun)
    constant = p.n_components / 2 * len(p.Y) * np.log(4)
    assert ours.state.objective + constant >= best - 1e-7 * abs(best)
    assert ours.state.objective + constant == pytest.approx(best, rel=1e-4)


@given(
    gamma=st.sampled_from([0.0, 1e-3, 1.0, 10.0]),
    slack=st.sampled_from([0.1, 10.0, 1e3, 1e5, np.inf]),
    size=st.floats(1e-3, 1e2),
    seed=st.integers(0, 10_000),
)
def test_gap_bounds_the_distance_to_the_optimum_anywhere(gamma, slack, size, seed):
    p = problem(n=15, gamma=gamma, slack=slack, seed=seed % 7)
    optimum = spl(p, max_iter=2000, tol=1e-9)
    state = evaluate(p, size * random_weights(p, np.random.default_rng(seed)))
    true_gap = optimum.state.objective - state.objective
    assert optimality_gap(p, state) >= true_gap - 1e-8 * max(1, abs(true_gap))


@pytest.mark.parametrize("slack", [1e100, 1e200, 1e300])
def test_gap_at_an_enormous_slack_is_that_of_no_slack(slack):
    hard = spl(problem(slack=np.inf), max_iter=1000, tol=1e-6)
    result = spl(problem(slack=slack), max_iter=1000, tol=1e-6)
    assert result.state.objective == pytest.approx(hard.state.objective, rel=1e-6)
    true_gap = hard.state.objective + hard.gap - result.state.objective
    assert 0 < result.gap <= 1.1 * true_gap + 1e-3


def test_distances_of_zero_are_lifted_only_where_no_slack_is_allowed():
    p = problem()
    phi = p.phi.copy()
    phi[:2] = 0.0, 1e-8
    soft = replace(p, phi=phi)
    assert without_zero_distances(soft) is soft
    lifted = without_zero_distances(replace(soft, loss=Hard())).phi
    assert lifted[0] == pytest.approx(1e-4 * np.median(phi))
    np.testing.assert_array_equal(lifted[1:], phi[1:])


@pytest.mark.parametrize("slack", [10.0, 1e3, 1e5, np.inf])
def test_gap_closes_as_the_iterations_go_on(slack):
    p = problem(n=60, D=5, k=6, slack=slack)
    result = spl(p, max_iter=1000, tol=1e-7)
    assert result.converged
    assert result.gap <= 1e-7 * max(abs(result.state.objective), len(p.Y))


def test_history_rises_to_the_objective():
    result = spl(problem(n=60), max_iter=200, tol=1e-9)
    assert (np.diff(result.history) >= 0).all()
    assert result.history[0] < result.history[5] < result.history[-1]
    assert result.history[-1] == result.state.objective
    assert evaluate(problem(n=60), result.state.s).objective == result.state.objective
    assert len(result.history) == result.n_iter + 1


def test_algorithm_1_stays_below_the_optimum():
    """The paper's subgradient steps approach the same optimum from below, slowly."""
    p = problem(n=20, slack=10.0, spread=1.0)
    constant = p.n_components / 2 * len(p.Y) * np.log(4)
    optimum = spl(p, max_iter=1000, tol=1e-10).state.objective + constant
    few, many = (
        oracles.spl_algorithm_1(*parts(p), p.n_components, p.gamma, 10.0, n) for n in (10, 300)
    )
    assert few < many <= optimum + 1e-9
    assert optimum - many < 0.5 * (optimum - few)


def test_without_active_edges_spl_is_pca():
    p = problem(spread=100.0)
    result = spl(p, max_iter=100, tol=1e-10)
    assert result.state.s.max() < 1e-12
    values = np.linalg.eigvalsh(p.Y.T @ p.Y)[::-1][:2]
    assert result.state.captured == pytest.approx(values.sum() / p.ridge)
    axes = np.linalg.svd(p.Y, full_matrices=False)[2][:2].T
    np.testing.assert_allclose(result.state.W, oracles.align(result.state.W, axes), atol=1e-6)


def test_start_is_positive_and_within_foster_s_bound():
    p = problem(slack=np.inf)
    s = start(p)
    assert (s > 0).all()
    state = evaluate(p, s)
    assert s @ state.resistance <= len(p.Y) - 1 + 1e-9


def test_distances_from_differences_keep_their_digits():
    Y = np.array([[1e8], [1e8 + 1e-6]])
    phi = squared_distances(Y, np.array([[0, 1]]))
    assert phi[0] == pytest.approx((Y[1, 0] - Y[0, 0]) ** 2, rel=1e-12)


# Weights with an upper bound: the absolute loss


@pytest.mark.parametrize("gamma", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("C", [0.5, 3.0])
def test_absolute_optimum_is_that_of_an_independent_solver(gamma, C):
    """BFGS on the printed objective with s = C·sin²t, finite differences, three starts."""
    p = with_loss(problem(n=10, k=3, gamma=gamma), "absolute", C)
    ours = spl(p, max_iter=3000, tol=1e-8)
    assert ours.converged

    def negative(t):
        s = C * np.sin(t) ** 2
        return -oracles.spl_objective(*parts(p), s, p.n_components, gamma, np.inf)

    runs = [
        optimize.minimize(
            negative, np.random.default_rng(seed).uniform(0.3, 1.2, size=len(p.phi)), method="BFGS"
        )
        for seed in range(3)
    ]
    best = -min(run.fun for run in runs)
    constant = p.n_components / 2 * len(p.Y) * np.log(4)
    assert ours.state.objective + constant >= best - 1e-7 * abs(best)
    assert ours.state.objective + constant == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("gamma", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("k", [4, 8])
def test_absolute_slack_is_needed_only_at_the_upper_bound(gamma, k):
    """E ≤ φ where s = 0, E = φ where 0 < s < C, and E ≥ φ where s = C."""
    C = 1.5
    p = with_loss(problem(k=k, gamma=gamma), "absolute", C)
    s = spl(p, max_iter=3000, tol=1e-13).state.s
    excess = oracles.posterior_distances(p.Y, p.edges, s, 2, gamma) - p.phi
    zero, full = s == 0, s == C
    assert zero.any()
    assert full.any()
    assert not (zero | full).all()
    assert excess[zero].max() <= 1e-6
    np.testing.assert_allclose(excess[~zero & ~full], 0, atol=1e-6)
    assert excess[full].min() >= -1e-6
    assert excess[full].max() > 1e-3


def test_a_bound_that_no_weight_reaches_changes_nothing():
    p = problem()
    hard = spl(with_loss(p, "hard"), max_iter=1000, tol=1e-9).state
    bound = 1.01 * hard.s.max()
    wide, tight = (
        spl(with_loss(p, "absolute", C), max_iter=1000, tol=1e-9).state for C in (bound, bound / 2)
    )
    assert wide.objective == pytest.approx(hard.objective, rel=1e-8)
    assert tight.objective < hard.objective - 1e-3


def test_weights_at_the_bound_are_exactly_there():
    p = with_loss(problem(), "absolute", 0.1)
    s = spl(p, max_iter=100, tol=1e-9).state.s
    np.testing.assert_array_equal(s, 0.1)


@pytest.mark.parametrize("loss", ["absolute", "hard", "equality"])
def test_distances_of_zero_are_lifted_where_no_slack_is_squared(loss):
    p = problem()
    phi = np.where(np.arange(len(p.phi)) == 0, 0.0, p.phi)
    lifted = without_zero_distances(with_loss(replace(p, phi=phi), loss)).phi
    assert lifted[0] == pytest.approx(1e-4 * np.median(phi))
    np.testing.assert_array_equal(lifted[1:], phi[1:])


@given(
    gamma=st.sampled_from([0.0, 1e-3, 1.0, 10.0]),
    C=st.sampled_from([0.1, 1.0, 10.0, 1e3]),
    size=st.floats(1e-3, 1e2),
    seed=st.integers(0, 10_000),
)
def test_gap_in_the_box_bounds_the_distance_to_the_optimum_anywhere(gamma, C, size, seed):
    p = with_loss(problem(n=15, gamma=gamma, seed=seed % 7), "absolute", C)
    optimum = spl(p, max_iter=2000, tol=1e-9)
    rng = np.random.default_rng(seed)
    s = np.minimum(size * rng.exponential(size=len(p.phi)) * rng.integers(0, 2, len(p.phi)), C)
    state = evaluate(p, s)
    true_gap = optimum.state.objective - state.objective
    gap = optimality_gap(p, state)
    assert gap >= true_gap - 1e-8 * max(1, abs(true_gap))
    assert np.isfinite(gap)


@pytest.mark.parametrize("C", [0.3, 1.0, 10.0, 1e3, 1e6, 1e100, 1e300])
def test_gap_in_the_box_closes_as_the_iterations_go_on(C):
    p = with_loss(problem(n=60, D=5, k=6), "absolute", C)
    result = spl(p, max_iter=1000, tol=1e-7)
    assert result.converged
    assert result.gap <= 1e-7 * max(abs(result.state.objective), len(p.Y))


@pytest.mark.parametrize("beta", [0.0, 0.4])
@pytest.mark.parametrize("C", [np.inf, 0.7])
def test_structure_learning_is_the_absolute_loss_at_gamma_zero(beta, C):
    """`op:sl` at σ² = 4, bounded by C, is f for φ' = d/(4D)·(φ + 2β): same optimum, same values."""
    rng = np.random.default_rng(3)
    n, D, d = 9, 5, 2
    Y = rng.normal(size=(n, D))
    Y -= Y.mean(axis=0)
    p = complete(Y, d, gamma=0.0, loss="absolute", C=C)
    distances = p.phi
    p = replace(p, phi=d / (4 * D) * (distances + 2 * beta))
    for _ in range(3):
        one, two = rng.exponential(size=(2, len(p.phi)))
        ours = evaluate(p, one).objective - evaluate(p, two).objective
        theirs = [
            oracles.structure_learning_objective(Y, p.edges, s, 4.0, beta) for s in (one, two)
        ]
        assert ours == pytest.approx(d / 2 * (theirs[0] - theirs[1]), abs=1e-9)

    start = np.full(len(p.phi), 0.3)
    slow = optimize.minimize(
        lambda s: -oracles.structure_learning_objective(Y, p.edges, s, 4.0, beta),
        start,
        method="SLSQP",
        bounds=[(0, C)] * len(start),
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    result = spl(p, max_iter=2000, tol=1e-11)
    fast = oracles.structure_learning_objective(Y, p.edges, result.state.s, 4.0, beta)
    assert fast >= -slow.fun - 1e-9
    assert fast == pytest.approx(-slow.fun, abs=1e-7)
    np.testing.assert_allclose(result.state.s, slow.x, atol=2e-3)
    assert 0 < (result.state.s > 0).sum() < len(start)
    assert (result.state.s == C).any() == np.isfinite(C)


# The paper's statements about W and Z for a given S, as corrected in docs/equations.md.


def given_weights(rng, gamma):
    p = problem(gamma=gamma)
    s = random_weights(p, rng)
    L = laplacian(p.edges, len(p.Y), s).toarray()
    return p, evaluate(p, s), L


def test_map_estimate_needs_a_minus_sign(rng):
    """`op:MAP` prints +γ Tr(XᵀYW); its stated solution minimises the form with −γ."""
    gamma = 0.7
    p, state, L = given_weights(rng, gamma)
    X = gamma / 4 * state.QinvYW

    def objective(X):
        quadratic = np.trace(X.T @ (4 * L + (gamma + 1) * np.eye(len(L))) @ X) / 2
        return quadratic - gamma * np.trace(X.T @ p.Y @ state.W)

    for _ in range(50):
        assert objective(X) <= objective(X + 0.1 * rng.normal(size=X.shape))


def test_prop_2_as_corrected(rng):
    """min over Z, W of the criterion equals −h/γ² (printed: −h)."""
    gamma = 0.7
    p, state, L = given_weights(rng, gamma)
    h = gamma**2 / 8 * state.captured
    Z, W = p.ridge * state.QinvYW, state.W

    def criterion(Z, W):
        return (
            np.sum((p.Y - Z @ W.T) ** 2) / (2 * (gamma + 1))
            + 2 / (gamma + 1) ** 2 * np.trace(Z.T @ L @ Z)
            - np.sum(p.Y**2) / (2 * (gamma + 1))
        )

    assert criterion(Z, W) == pytest.approx(-h / gamma**2, rel=1e-10)
    for _ in range(50):
        other = np.linalg.qr(W + 0.1 * rng.normal(size=W.shape))[0]
        assert criterion(Z, W) <= criterion(Z + 0.1 * rng.normal(size=Z.shape), W)
        assert criterion(Z, W) <= criterion(Z, other)


def test_max_min_form_as_corrected(rng):
    """`op:maxmin-linear` is f with the signs of its first three terms reversed as printed.

    By Prop. 2 the last two, which are right, are −h plus the constant γ²‖Y‖²/(2(γ+1)).
    """
    gamma = 0.7
    p, state, L = given_weights(rng, gamma)
    Z, W = p.ridge * state.QinvYW, state.W
    structure = (
        p.n_components / 2 * np.linalg.slogdet(L + p.ridge * np.eye(len(L)))[1]
        - 2 * p.phi @ state.s
        - state.s @ state.s / (2 * p.loss.slack)
    )
    data = gamma**2 / (2 * (gamma + 1)) * np.sum((p.Y - Z @ W.T) ** 2) + 2 * gamma**2 / (
        gamma + 1
    ) ** 2 * np.trace(Z.T @ L @ Z)
    constant = gamma**2 / (2 * (gamma + 1)) * np.sum(p.Y**2)
    assert structure + data - constant == pytest.approx(state.objective, rel=1e-10)
    assert -structure + data - constant != pytest.approx(-state.objective, rel=1e-3)


def test_embedding_is_the_skeleton_shrunk(rng):
    """Algorithm 1: X = γ/(γ+1)·Z."""
    gamma = 0.7
    p, state, _ = given_weights(rng, gamma)
    X, Z = gamma / 4 * state.QinvYW, p.ridge * state.QinvYW
    np.testing.assert_allclose(X, gamma / (gamma + 1) * Z)


def test_graph_criterion_is_drtree_with_lam_four_over_gamma(rng):
    """`op:spl-graph` times 2γ is DRTree's objective with λ = 4/γ (printed: 8/γ)."""
    gamma = 0.7
    p, state, L = given_weights(rng, gamma)
    Z, W = rng.normal(size=(len(L), 2)), state.W
    criterion = np.sum((p.Y - Z @ W.T) ** 2) / (2 * gamma) + 2 / gamma**2 * np.trace(Z.T @ L @ Z)
    tree = oracles.drtree_objective(p.Y, W, Z, L, 4 / gamma)
    assert 2 * gamma * criterion == pytest.approx(tree, rel=1e-12)
