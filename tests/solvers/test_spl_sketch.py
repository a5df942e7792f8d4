import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize
from scipy.spatial import procrustes

from branchwise.losses import as_loss
from branchwise.neighbors import neighbor_edges
from branchwise.solvers.spl import (
    SPLProblem,
    evaluate,
    gap_scale,
    spl,
    squared_distances,
    start,
)
from branchwise.solvers.spl_sketch import MIN_TOL, ascend, renumber, spl_sketch

from .. import oracles
from ..conftest import branching
from .test_spl import problem, with_loss

pytestmark = pytest.mark.usefixtures("one_thread")


def scaled(X, d=2, *, gamma=1e-3, slack=1e3, k=10):
    """The problem with the estimator's automatic scale."""
    Y = X - X.mean(axis=0)
    edges = neighbor_edges(Y, k)
    phi = squared_distances(Y, edges)
    unit = np.sqrt(d / 40 / np.median(phi))
    return SPLProblem(unit * Y, edges, unit**2 * phi, d, gamma, as_loss("squared", slack))


def surface(n, noise=0.02, seed=0):
    rng = np.random.default_rng(seed)
    angle, height = 1.5 * np.pi * (1 + 2 * rng.uniform(size=n)), 21 * rng.uniform(size=n)
    points = np.column_stack([angle * np.cos(angle), height, angle * np.sin(angle)])
    axes = np.linalg.qr(rng.normal(size=(20, 3)))[0].T
    return points @ axes + noise * rng.normal(size=(n, 20))


def exact_steps(p, s, n_steps):
    """Weights after each step with exact resistances and the average data term."""
    spread = 0.0
    for step in range(n_steps):
        state = evaluate(p, s)
        now = squared_distances(state.QinvYW, p.edges)
        spread = spread + 2 / (step + 2) * (now - spread)
        s = ascend(p, s, state.resistance, spread if p.gamma > 0 else None)
        yield s


@given(
    gamma=st.sampled_from([0.0, 1e-3, 1.0, 10.0, 100.0]),
    slack=st.sampled_from([0.1, 10.0, 1e3, np.inf]),
    spread=st.sampled_from([0.03, 0.3, 3.0]),
    seed=st.integers(0, 10_000),
)
def test_an_exact_step_never_lowers_the_objective(gamma, slack, spread, seed):
    """From anywhere; with as many components as features, so that W does not matter."""
    p = problem(n=20, D=2, d=2, gamma=gamma, slack=slack, spread=spread, seed=seed % 11)
    s = np.random.default_rng(seed).exponential(size=len(p.phi))
    for _ in range(3):
        before = evaluate(p, s).objective
        (s,) = exact_steps(p, s, 1)
        assert evaluate(p, s).objective >= before - 1e-10 * max(1, abs(before))


@pytest.mark.parametrize("gamma", [0.0, 1e-3])
@pytest.mark.parametrize("slack", [10.0, 1e3, np.inf])
def test_exact_steps_never_lower_the_objective(gamma, slack):
    """Also where W follows the weights, with little to say about them."""
    p = problem(n=60, D=5, d=2, k=6, gamma=gamma, slack=slack)
    history = [evaluate(p, s).objective for s in exact_steps(p, start(p), 60)]
    assert (np.diff(history) >= -1e-10 * abs(history[-1])).all()


@pytest.mark.parametrize("gamma", [0.0, 1.0, 10.0])
def test_exact_steps_lead_to_the_optimum(gamma):
    """Also where eigenvalues tie at the optimum, as they do for a round cloud and large γ."""
    p = problem(n=60, D=5, d=2, k=6, gamma=gamma, slack=10.0)
    optimum = spl(p, max_iter=500, tol=1e-8).state
    *_, s = exact_steps(p, start(p), 150)
    gap = optimum.objective - evaluate(p, s).objective
    assert gap < 5e-5 * gap_scale(p, optimum.s, optimum.logdet)


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


CASES = {
    "surface": scaled(surface(500)),
    "surface, no slack": scaled(surface(300), slack=np.inf),
    "branches": scaled(branching(300, 20)),
    "ten dimensions": scaled(np.random.default_rng(0).uniform(size=(400, 10)), d=5),
    "large gamma": scaled(branching(250, 20), gamma=10.0),
    "gamma zero": scaled(branching(250, 20), gamma=0.0),
    "own units": problem(n=250, D=5, k=10, spread=1.0),
}


@pytest.mark.parametrize("name", CASES)
def test_sketch_comes_within_one_percent_of_the_optimum(name):
    p = CASES[name]
    optimum = spl(p, max_iter=1000, tol=1e-6).state
    result = spl_sketch(p, max_iter=500, tol=1e-6, rng=np.random.default_rng(0))
    assert result.converged
    reached = evaluate(p, result.state.s)
    scale = gap_scale(p, optimum.s, optimum.logdet)
    assert optimum.objective - reached.objective < 7e-3 * scale
    assert 1 - procrustes(optimum.QinvYW, result.state.QinvYW)[2] > 0.995**2
    np.testing.assert_allclose(result.state.captured, reached.captured, rtol=1e-6)
    assert abs(result.state.objective - reached.objective) < 4 * result.objective_error
    assert 0 < result.objective_error < 0.02 * scale


def test_more_iterations_come_closer():
    p = CASES["ten dimensions"]
    optimum = spl(p, max_iter=1000, tol=1e-6).state.objective
    few, many = (
        evaluate(
            p, spl_sketch(p, max_iter=n, tol=0, rng=np.random.default_rng(0)).state.s
        ).objective
        for n in (15, 90)
    )
    assert optimum - many < 0.5 * (optimum - few)


def test_history_ends_with_the_estimate_at_the_average():
    seen = []
    result = spl_sketch(
        CASES["branches"],
        max_iter=7,
        tol=1e-9,
        rng=np.random.default_rng(0),
        callback=seen.append,
    )
    assert not result.converged
    assert (result.n_iter, result.n_evaluations, len(result.history)) == (7, 8, 8)
    assert result.history[-1] == result.state.objective
    assert [record.objective for record in seen] == result.history
    assert [record.iteration for record in seen] == list(range(8))
    assert result.change == seen[-1].change > 1e-9
    assert np.isnan(result.gap)


def test_a_higher_tolerance_stops_earlier():
    runs = [
        spl_sketch(CASES["branches"], max_iter=500, tol=tol, rng=np.random.default_rng(0))
        for tol in (1e-3, 1e-5, 1e-9)
    ]
    assert runs[0].n_iter < runs[1].n_iter == runs[2].n_iter
    assert runs[0].change <= 1e-3
    assert runs[1].change <= MIN_TOL


def test_sketch_depends_on_the_seed_and_not_on_the_threads():
    one, two, other = (
        spl_sketch(
            CASES["ten dimensions"],
            max_iter=5,
            tol=0,
            rng=np.random.default_rng(seed),
            n_jobs=n_jobs,
        ).state
        for seed, n_jobs in [(0, 1), (0, 2), (1, 1)]
    )
    np.testing.assert_array_equal(one.s, two.s)
    np.testing.assert_array_equal(one.QinvYW, two.QinvYW)
    assert (one.s != other.s).any()


def test_sketch_without_active_edges_is_pca():
    p = problem(spread=100.0)
    result = spl_sketch(p, max_iter=100, tol=1e-6, rng=np.random.default_rng(0))
    assert result.converged
    assert (result.state.s == 0).all()
    assert result.state.objective == pytest.approx(evaluate(p, result.state.s).objective)


def test_minoriser_lies_below_the_objective(rng):
    """The function that a step maximises, at random weights around those where it touches f."""
    p = problem(n=15, D=2, d=2, gamma=3.0)
    s = rng.exponential(size=len(p.phi)) + 0.05
    state = evaluate(p, s)
    a = p.n_components / 2 * s * state.resistance
    kappa = p.gamma**2 / 8 * s**2 * squared_distances(state.QinvYW, p.edges)

    def minoriser(t):
        return float(np.sum(a * np.log(t) - kappa / t - 2 * p.phi * t - t**2 / (2 * p.loss.slack)))

    offset = state.objective - minoriser(s)
    for size in (0.01, 0.3, 2.0):
        t = s * np.exp(size * rng.normal(size=len(s)))
        assert minoriser(t) + offset <= evaluate(p, t).objective + 1e-9
    best = ascend(p, s, state.resistance, squared_distances(state.QinvYW, p.edges))
    run = optimize.minimize(lambda u: -minoriser(np.exp(u)), np.log(s), method="L-BFGS-B")
    assert minoriser(best) >= -run.fun - 1e-9


def test_renumbering_changes_no_value():
    p = CASES["ten dimensions"]
    renumbered = renumber(p)
    s = np.random.default_rng(0).exponential(size=len(p.phi))
    restored = renumbered.restore(evaluate(renumbered.problem, s[renumbered.edges]))
    direct = evaluate(p, s)
    assert restored.objective == pytest.approx(direct.objective)
    for name in ("s", "gradient", "resistance", "expected"):
        np.testing.assert_allclose(getattr(restored, name), getattr(direct, name), atol=1e-10)
    np.testing.assert_allclose(
        restored.QinvYW, oracles.align(restored.QinvYW, direct.QinvYW), atol=1e-8
    )


def test_renumbering_depends_on_the_points_alone(rng):
    p = CASES["branches"]
    order = rng.permutation(len(p.Y))
    rank = np.argsort(order)
    edges = np.sort(rank[p.edges], axis=1)
    other = SPLProblem(p.Y[order], edges, p.phi, p.n_components, p.gamma, p.loss)
    one, two = renumber(p).problem, renumber(other).problem
    np.testing.assert_allclose(one.Y, two.Y)
    np.testing.assert_array_equal(one.edges, two.edges)
