"""The losses of Sec. 3.2: each dual, its conditions of optimality and its certificate."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg, optimize

from branchwise.graph.inverse import dense_inverse
from branchwise.losses import Absolute, Equality, Hard, Squared, as_loss
from branchwise.solvers.spl import (
    SPLProblem,
    edge_violation,
    evaluate,
    gap_scale,
    optimality_gap,
    spl,
    squared_distances,
    without_zero_distances,
)
from branchwise.solvers.spl_equality import newton_step, self_concordant_gap, spl_equality
from branchwise.solvers.spl_sketch import spl_sketch
from branchwise.solvers.spl_solver import Solver, choose_solver, solve_spl, spl_bytes

from .. import oracles
from ..conftest import branching
from .test_spl import parts, problem
from .test_spl_sketch import exact_steps, scaled

pytestmark = pytest.mark.usefixtures("one_thread")


def with_loss(p, loss, C=1.0):
    return replace(p, loss=as_loss(loss, C))


def equality(n=20, D=6, d=2, *, k=3, gamma=1e-3, seed=0):
    return with_loss(problem(n=n, D=D, d=d, k=k, gamma=gamma, seed=seed), "equality")


def complete(Y, d=2, *, gamma=1e-3, loss="equality", C=1.0):
    """All pairs of points are edges."""
    Y = Y - Y.mean(axis=0)
    edges = np.column_stack(np.triu_indices(len(Y), 1))
    p = SPLProblem(Y, edges, squared_distances(Y, edges), d, gamma, Hard())
    return with_loss(p, loss, C)


# The duals


@pytest.mark.parametrize("s", [0.0, 0.3, 0.99, 1.01, 4.0])
def test_each_loss_leaves_in_the_dual_what_its_slack_does(s):
    """min over ξ of U(ξ) − 2sξ, U being 2Cξ² or 2C|ξ| for both orders of a pair, on a wide grid."""
    C, reach = 1.0, 100.0
    xi = np.linspace(-reach, reach, 2_000_001)
    least = (2 * C * xi**2 - 2 * s * xi).min()
    assert least == pytest.approx(-Squared(C).cost(np.array([s])), abs=1e-8)
    least, absolute = (2 * C * np.abs(xi) - 2 * s * xi).min(), Absolute(C)
    assert absolute.cost(np.array([s])) == 0
    assert np.isinf(absolute.slack)
    assert least == pytest.approx(0 if s <= absolute.upper else -2 * (s - C) * reach, abs=1e-8)


def test_no_slack_at_any_price_is_the_hard_loss():
    assert as_loss("squared", np.inf) == as_loss("absolute", np.inf) == as_loss("hard", 1.0)


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


# Conditions of optimality, with expected distances from the posterior itself


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


def test_violation_is_that_of_each_loss(rng):
    p = problem()
    s = rng.choice([0.0, 0.4, 1.5], size=len(p.phi))
    state = evaluate(with_loss(p, "hard"), s)
    excess = state.expected - p.phi
    expected = {
        "squared": excess - s / 3,
        "absolute": np.where(s == 1.5, 0, excess),
        "hard": excess,
        "equality": np.abs(excess),
    }
    for loss, violation in expected.items():
        np.testing.assert_allclose(edge_violation(with_loss(p, loss, 1.5), state), violation)


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


# Histories and paths


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


def test_weights_of_either_sign_take_the_dense_path_whatever_their_number():
    large = scaled(branching(500, 10), k=4)
    assert choose_solver(large).name == "sparse"
    assert choose_solver(with_loss(large, "equality")) == Solver("exact", None)
    p = equality()
    result = solve_spl(p, choose_solver(p), max_iter=100, tol=1e-9, rng=np.random.default_rng(0))
    assert result.state.objective == spl_equality(p, max_iter=100, tol=1e-9).state.objective


def test_memory_of_weights_of_either_sign_grows_with_the_square_of_the_edges():
    def needed(n_edges, loss):
        edges = np.zeros((n_edges, 2), dtype=int)
        p = SPLProblem(np.zeros((100, 10)), edges, np.ones(n_edges), 2, 1e-3, loss)
        return spl_bytes(Solver("exact", None), p)

    plain, few, many = needed(1000, Hard()), needed(1000, Equality()), needed(4000, Equality())
    assert few > plain + 3 * 8 * 1000**2
    assert many > 14 * few


def test_paths_agree_on_an_absolute_slack():
    p = with_loss(scaled(branching(250, 8)), "absolute", 5.0)
    exact, sparse = (
        solve_spl(p, choose_solver(p, name), max_iter=500, tol=1e-7, rng=np.random.default_rng(0))
        for name in ("exact", "sparse")
    )
    assert exact.converged
    assert sparse.converged
    assert exact.state.objective == pytest.approx(sparse.state.objective, rel=2e-7)
    sketch = spl_sketch(p, max_iter=500, tol=1e-6, rng=np.random.default_rng(0))
    assert sketch.converged
    assert sketch.state.s.max() == 5.0
    reached = evaluate(p, sketch.state.s).objective
    scale = gap_scale(p, exact.state.s, exact.state.logdet)
    assert -1e-6 * scale < exact.state.objective - reached < 7e-3 * scale


@given(
    gamma=st.sampled_from([0.0, 1e-3, 1.0, 10.0]),
    C=st.sampled_from([0.1, 1.0, 10.0]),
    seed=st.integers(0, 10_000),
)
def test_an_exact_step_in_the_box_never_lowers_the_objective(gamma, C, seed):
    p = with_loss(problem(n=20, D=2, gamma=gamma, seed=seed % 11), "absolute", C)
    s = np.minimum(np.random.default_rng(seed).exponential(size=len(p.phi)), C)
    before = evaluate(p, s).objective
    for following in exact_steps(p, s, 1):
        assert following.max() <= C
        assert evaluate(p, following).objective >= before - 1e-10 * max(1, abs(before))


@pytest.mark.parametrize("kappa", [None, 0.3])
def test_edgewise_maximiser_in_the_box_is_the_maximum(kappa):
    a, phi, upper = 0.7, 0.2, 1.0
    data = None if kappa is None else np.array([kappa])
    args = np.array([a]), np.array([phi]), data
    assert Hard().weights(*args)[0] > upper
    s = Absolute(upper).weights(*args)[0]
    grid = np.linspace(1e-3, upper, 10_001)
    values = a * np.log(grid) - (kappa or 0.0) / grid - 2 * phi * grid
    assert s == grid[values.argmax()]


# Certificates


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


# Which distances can be kept


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


# Structure learning


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
