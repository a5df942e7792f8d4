from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import branchwise.graph.inverse
import branchwise.solvers.spl
import branchwise.solvers.spl_solver
from branchwise.graph.inverse import plan_elimination, selected_inverse
from branchwise.losses import Equality, Hard, Squared
from branchwise.neighbors import neighbor_edges
from branchwise.solvers.spl import (
    SPLProblem,
    evaluate,
    gap_scale,
    optimality_gap,
    squared_distances,
)
from branchwise.solvers.spl_equality import spl_equality
from branchwise.solvers.spl_sketch import spl_sketch
from branchwise.solvers.spl_solver import Solver, choose_solver, solve_spl, spl_bytes

from .. import oracles
from ..conftest import branching
from .test_spl import problem, random_weights, with_loss
from .test_spl_equality import equality
from .test_spl_sketch import scaled, surface

pytestmark = pytest.mark.usefixtures("one_thread")


def invert_sparsely(p):
    return selected_inverse(plan_elimination(p.edges, len(p.Y), np.sqrt(p.phi)))


def assert_same_state(sparse, dense):
    for name in ("objective", "logdet", "trace", "captured"):
        assert getattr(sparse, name) == pytest.approx(getattr(dense, name), rel=1e-8, abs=1e-8)
    for name in ("gradient", "resistance", "expected"):
        expected = getattr(dense, name)
        size = np.abs(expected).max(initial=1)
        np.testing.assert_allclose(getattr(sparse, name), expected, rtol=1e-8, atol=1e-8 * size)
    np.testing.assert_allclose(
        sparse.QinvYW, oracles.align(sparse.QinvYW, dense.QinvYW), rtol=1e-6, atol=1e-8
    )


@given(
    n=st.integers(6, 40),
    k=st.integers(1, 5),
    gamma=st.sampled_from([0.0, 1e-3, 1.0]),
    slack=st.sampled_from([10.0, np.inf]),
    seed=st.integers(0, 999),
)
def test_sparse_evaluation_is_the_dense_one(n, k, gamma, slack, seed):
    p = problem(n=n, k=k, gamma=gamma, slack=slack, seed=seed)
    s = random_weights(p, np.random.default_rng(seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(branchwise.graph.inverse, "LEAF", 4)
        invert = invert_sparsely(p)
    sparse, dense = evaluate(p, s, invert), evaluate(p, s)
    assert_same_state(sparse, dense)
    gap = optimality_gap(p, dense)
    assert optimality_gap(p, sparse) == pytest.approx(gap, rel=1e-6)


def test_sparse_evaluation_of_duplicates_and_pieces_is_the_dense_one(rng):
    X = np.repeat(rng.normal(size=(60, 3)), 3, axis=0)
    X[90:] += 100.0
    Y = X - X.mean(axis=0)
    edges = neighbor_edges(Y, 5)
    p = SPLProblem(Y, edges, squared_distances(Y, edges), 2, 1e-3, Squared(1e3))
    for s in (random_weights(p, rng), np.zeros(len(edges)), np.full(len(edges), 1e3)):
        assert_same_state(evaluate(p, s, invert_sparsely(p)), evaluate(p, s))


def test_sparse_optimum_is_the_dense_one():
    p = scaled(surface(400))
    dense, sparse = (
        solve_spl(p, choose_solver(p, name), max_iter=200, tol=1e-9, rng=np.random.default_rng(0))
        for name in ("exact", "sparse")
    )
    assert sparse.converged
    assert sparse.state.objective == pytest.approx(dense.state.objective, rel=1e-8)
    assert sparse.gap <= 1e-9 * abs(sparse.state.objective)


@pytest.mark.parametrize("limit", ["MAX_SOLVED", "MAX_GRAM"])
def test_projection_of_many_features_needs_few_columns(limit, rng, monkeypatch):
    p = scaled(branching(100, 60))
    s = random_weights(p, rng)
    full = evaluate(p, s)
    monkeypatch.setattr(branchwise.solvers.spl, limit, 50)
    few = evaluate(p, s)
    assert few.captured == pytest.approx(full.captured, rel=1e-10)
    np.testing.assert_allclose(few.W, oracles.align(few.W, full.W), atol=1e-7)
    np.testing.assert_allclose(few.QinvYW, oracles.align(few.QinvYW, full.QinvYW), atol=1e-6)


def test_automatic_choice_goes_by_size_and_entanglement(monkeypatch):
    small, large = scaled(surface(300)), scaled(surface(900))
    assert choose_solver(small) == Solver("exact", None)
    assert choose_solver(large).name == "sparse"
    monkeypatch.setattr(branchwise.solvers.spl_solver, "MAX_FLOPS", 1e3)
    monkeypatch.setattr(branchwise.solvers.spl_solver, "MAX_FLOPS_PER_SAMPLE", 1.0)
    assert choose_solver(small).name == "exact"
    assert choose_solver(large) == Solver("sketch", None)


@pytest.mark.parametrize("name", ["exact", "sparse", "sketch"])
def test_a_named_solver_is_taken(name):
    for p in (problem(), scaled(surface(600))):
        solver = choose_solver(p, name)
        assert solver.name == name
        assert (solver.plan is not None) == (name == "sparse")


def test_memory_grows_with_the_square_only_on_the_dense_path():
    paths = {}
    for n in (1000, 4000):
        p = scaled(surface(n))
        for name in ("exact", "sparse", "sketch"):
            needed = spl_bytes(choose_solver(p, name), p)
            paths.setdefault(name, []).append(needed)
    growth = {name: large / small for name, (small, large) in paths.items()}
    assert growth["exact"] > 11
    assert growth["sparse"] < 6
    assert growth["sketch"] < 4.5
    assert paths["exact"][1] >= 3 * 8 * 4000**2


def test_paths_agree_on_a_problem_without_slack():
    p = replace(scaled(surface(300)), loss=Hard())
    runs = [
        solve_spl(p, choose_solver(p, name), max_iter=500, tol=1e-5, rng=np.random.default_rng(0))
        for name in ("exact", "sparse")
    ]
    assert runs[0].state.objective == pytest.approx(runs[1].state.objective, rel=2e-5)


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
