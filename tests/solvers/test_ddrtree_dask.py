"""Sums over chunks against dense formulas, and points that follow from the steps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from branchwise.data.centering import CentredRows
from branchwise.data.moments import merge_moments
from branchwise.solvers.ddrtree import Points, Saved, Step, ddrtree, solve
from branchwise.solvers.ddrtree_dask import (
    ChunkedPoints,
    ChunkedRows,
    chunk_moments,
    spread_of_points,
    start_points,
)
from branchwise.solvers.initialization import spread_around
from branchwise.structures import as_structure

from ..conftest import branching
from ..oracles import align, ddrtree_algorithm_2, hard_assignments, soft_assignments

da = pytest.importorskip("dask.array")

D, K = 4, 6
SIMULATED = branching(90, D)
Y = SIMULATED - SIMULATED.mean(axis=0)
W = np.linalg.svd(Y, full_matrices=False)[2][:2].T
C = (Y @ W)[:: 90 // K]
GAMMA, LAM = 3.0, 5.0

cuts = st.lists(st.integers(0, 90), max_size=6)


def divided(cuts, X=SIMULATED):
    sizes = tuple(np.diff([0, *sorted(cuts), len(X)]).tolist())
    return da.from_array(X, chunks=X.shape).rechunk((sizes, X.shape[1]))


def chunked_points(cuts, sigma):
    rows = ChunkedRows(divided(cuts))
    placed, _ = start_points(rows, W, np.zeros(D), 1.0, 0)
    return ChunkedPoints(rows, placed, GAMMA, sigma)


# Moments


@given(cuts, st.sampled_from([0.0, 1e8, -1e8]), st.sampled_from([np.asarray, sparse.csr_array]))
def test_moments_are_those_of_all_rows(cuts, shift, kind):
    if kind is sparse.csr_array:
        shift = 0.0  # the rows of sparse data have no mean worth the name
    X = SIMULATED + shift
    rows = ChunkedRows(divided(cuts, X).map_blocks(kind))
    # The shift itself rounds the values; sums are then exact to the digits that are left.
    centred = (X.astype(np.longdouble) - X.astype(np.longdouble).mean(axis=0)).astype(float)
    np.testing.assert_allclose(rows.mean, X.mean(axis=0), rtol=1e-14, atol=1e-14)
    energy = (centred**2).sum()
    np.testing.assert_allclose(rows.gram(), centred.T @ centred, rtol=0, atol=1e-13 * energy)
    assert rows.energy == pytest.approx(energy, rel=1e-13)
    np.testing.assert_array_equal(rows.low, X.min(axis=0))
    np.testing.assert_array_equal(rows.high, X.max(axis=0))
    np.testing.assert_allclose(rows.apply_gram(W), rows.gram() @ W, rtol=0, atol=1e-12)


def test_moments_can_be_merged_in_any_grouping():
    parts = [
        chunk_moments(x, index=0, starts=[0], n_features=D)
        for x in np.split(SIMULATED, [1, 20, 70])
    ]
    left = merge_moments(merge_moments(merge_moments(*parts[:2]), parts[2]), parts[3])
    right = merge_moments(parts[0], merge_moments(parts[1], merge_moments(*parts[2:])))
    assert left.n_rows == right.n_rows == 90
    np.testing.assert_allclose(left.products, right.products, rtol=1e-12)
    np.testing.assert_allclose(left.products, Y.T @ Y, rtol=0, atol=1e-11)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "bool", "float16", "float32"])
def test_moments_are_summed_in_double_precision(dtype):
    X = np.repeat((4 * SIMULATED).round().clip(0, 9).astype(dtype), 40, axis=0)
    rows = ChunkedRows(da.from_array(X, chunks=(700, D)))
    exact = X.astype(float) - X.astype(float).mean(axis=0)
    np.testing.assert_allclose(rows.gram(), exact.T @ exact, rtol=1e-10, atol=1e-9)


# One iteration


@given(cuts, st.sampled_from([0.0, 0.02, 0.5, 50.0]))
def test_sums_of_the_assignments_are_those_of_the_formula(cuts, sigma):
    points = chunked_points(cuts, sigma)
    R = soft_assignments(Y @ W, C, sigma) if sigma else hard_assignments(Y @ W, C)
    sums = points.assign(C)
    close = {"rtol": 0, "atol": 1e-10}
    np.testing.assert_allclose(sums.counts, R.sum(axis=0), **close)
    np.testing.assert_allclose(sums.RtY, R.T @ Y, **close)
    np.testing.assert_allclose(sums.overlap_matrix, R.T @ R, **close)
    np.testing.assert_allclose(sums.overlap(C), R.T @ R @ C, **close)
    entropy = np.sum(R[R > 0] * np.log(R[R > 0]))
    assert sums.negative_entropy == pytest.approx(entropy, rel=1e-10, abs=1e-10)


@given(cuts, st.sampled_from([0.0, 0.3]))
def test_iterations_on_chunks_are_those_of_the_paper(cuts, sigma):
    points = chunked_points(cuts, sigma)
    found = solve(
        points,
        W,
        C,
        lam=LAM,
        gamma=GAMMA,
        sigma=sigma,
        max_iter=3,
        tol=0,
        structure=as_structure("tree"),
        callback=None,
    )
    _, Z, centres, _, history = ddrtree_algorithm_2(
        Y, 2, C_of_oracle(), lam=LAM, gamma=GAMMA, sigma=sigma, n_iter=3
    )
    np.testing.assert_allclose(found.history, history, rtol=1e-8)
    settled = points.settled(np.eye(2), np.float64).compute()
    # Up to a rotation in the plane: distances are what the model is about.
    np.testing.assert_allclose(settled @ settled.T, Z @ Z.T, rtol=0, atol=1e-7)
    np.testing.assert_allclose(found.C @ found.C.T, centres @ centres.T, rtol=0, atol=1e-7)


def C_of_oracle():
    """The oracle takes the axes from its own decomposition: of the same signs here."""
    np.testing.assert_array_equal(np.linalg.svd(Y, full_matrices=False)[2][:2].T, W)
    return C


# Points follow from the steps


def run(points, start=C, *, max_iter, sigma, saved=None, save=None):
    return solve(
        points,
        W,
        start,
        lam=LAM,
        gamma=GAMMA,
        sigma=sigma,
        max_iter=max_iter,
        tol=0,
        structure=as_structure("tree"),
        callback=None,
        saved=saved,
        save=save,
    )


def record(sigma, n_iter):
    """A run in memory, with what it saved after each iteration, and where the points ended."""
    rows, states = CentredRows(SIMULATED), []
    result = ddrtree(
        rows,
        W,
        C,
        lam=LAM,
        gamma=GAMMA,
        sigma=sigma,
        max_iter=n_iter,
        tol=0,
        save=lambda saved: states.append(saved._replace(steps=list(saved.steps))),
    )
    return result, states


@pytest.mark.parametrize("sigma", [0.0, 0.3])
def test_many_steps_at_once_lead_where_the_run_led(sigma):
    result, states = record(sigma, 8)
    steps = states[-1].steps
    assert len(steps) == 8
    rows = CentredRows(SIMULATED)
    points = Points(rows, rows.project(W), GAMMA, sigma)
    points.move(steps[:3])
    points.move([])
    points.move(steps[3:])
    np.testing.assert_allclose(points.Z, result.Z, rtol=0, atol=1e-13)
    elsewhere = chunked_points([10, 10, 55], sigma)
    elsewhere.move(steps[:5])
    elsewhere.move(steps[5:])
    settled = elsewhere.settled(np.eye(2), np.float64).compute()
    np.testing.assert_allclose(settled, result.Z, rtol=0, atol=1e-12)


def test_a_step_is_the_formula():
    rng = np.random.default_rng(0)
    step = Step(C, np.linalg.qr(rng.normal(size=(D, 2)))[0], rng.normal(size=(K, 2)))
    points = chunked_points([33], 0.3)
    points.move([step])
    R = soft_assignments(Y @ W, C, 0.3)
    expected = (Y @ step.W + R @ step.A) / (1 + GAMMA)
    B = rng.normal(size=(2, 3))
    np.testing.assert_allclose(
        points.settled(B, np.float64).compute(), expected @ B, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("n_done", [1, 3, 6])
@pytest.mark.parametrize("sigma", [0.0, 0.3])
def test_going_on_from_what_was_saved_is_going_on(n_done, sigma):
    whole, states = record(sigma, 6)
    saved = states[n_done - 1]
    assert isinstance(saved, Saved)
    assert len(saved.history) == n_done
    later = []
    points = chunked_points([20, 60], sigma)
    result = run(points, max_iter=6, sigma=sigma, saved=saved, save=later.append)
    np.testing.assert_allclose(result.history, whole.history, rtol=1e-12)
    # The solver leaves the signs of the axes to rounding.
    np.testing.assert_allclose(align(whole.C, result.C), whole.C, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(result.edges, whole.edges)
    assert len(later) == 6 - n_done
    settled = points.settled(np.eye(2), np.float64).compute()
    np.testing.assert_allclose(align(whole.Z, settled), whole.Z, rtol=0, atol=1e-12)
    # What was given is left as it was.
    assert len(saved.steps) == n_done


# The start


@given(cuts, st.integers(1, 12))
def test_the_spread_around_centres_does_not_depend_on_the_chunks(cuts, n_centers):
    rows = ChunkedRows(divided(cuts))
    placed, _ = start_points(rows, W, np.zeros(D), 1.0, 0)
    centres = (Y @ W)[:n_centers]
    expected = spread_around(Y @ W, centres)
    assert spread_of_points(placed, centres, 90) == pytest.approx(expected, rel=1e-10)


@given(cuts, st.integers(1, 100))
def test_candidates_do_not_depend_on_the_chunks(cuts, n_kept):
    whole, parts = (
        start_points(ChunkedRows(divided(c)), W, np.zeros(D), 1.0, n_kept)[1] for c in ([], cuts)
    )
    np.testing.assert_array_equal(parts.keys, whole.keys)
    np.testing.assert_array_equal(parts.counts, whole.counts)
    np.testing.assert_allclose(parts.Z, whole.Z, rtol=0, atol=1e-13)
    assert len(parts.keys) == min(n_kept, 90)
