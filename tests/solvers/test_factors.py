"""Factor analysis with gaps, and axes around given places, against dense algebra row by row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.solvers.conditional import condition, fill
from branchwise.solvers.factors import (
    fit_axes,
    fit_factors,
    maximised_axes,
    objective,
    second_moment,
    starting_factors,
)

from .test_conditional import by_dense_gaussians, random_model, random_rows, rows_of


def dense_objective(model, rows):
    M = sum(p * np.outer(c, c) for p, c in zip(model.weights, model.places, strict=True))
    M = M + model.spread
    total = sum(by_dense_gaussians(model, row)[-1] for row in rows)
    for a, noise in zip(model.axes.T, model.noise, strict=True):
        total -= len(a) * a @ M @ a / (2 * noise)
    return total


def dense_update(model, rows, least):
    """Each column regressed on z and a constant, row by row from dense Gaussians."""
    d = len(model.axes)
    M = second_moment(model)
    axes, mean, noise = model.axes.copy(), model.mean.copy(), model.noise.copy()
    found = [by_dense_gaussians(model, row) for row in rows]
    for j in range(len(mean)):
        H, r, square, count = np.zeros((d + 1, d + 1)), np.zeros(d + 1), 0.0, 0
        H[:d, :d] = d * M
        for row, (_, z, covariance, *_) in zip(rows, found, strict=True):
            if not np.isnan(row[j]):
                one = np.append(z, 1.0)
                H += np.outer(one, one)
                H[:d, :d] += covariance
                r += row[j] * one
                square, count = square + row[j] ** 2, count + 1
        beta = np.linalg.solve(H, r)
        axes[:, j], mean[j] = beta[:d], beta[d]
        noise[j] = max((square - beta @ r) / count, least[j])
    return axes, mean, noise


@pytest.mark.parametrize("n_places", [1, 4])
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_objective_and_update_are_those_of_dense_gaussians(n_places, missing):
    rng = np.random.default_rng(0)
    model = random_model(rng, n_places=n_places)
    rows = random_rows(rng, model, n=30, missing=missing)
    found, least = condition(model, rows), np.full(5, 0.3)
    assert objective(model, found) == pytest.approx(dense_objective(model, rows), rel=1e-8)
    updated = maximised_axes(model, rows, found, least)
    for values, expected in zip(
        (updated.axes, updated.mean, updated.noise), dense_update(model, rows, least), strict=True
    ):
        np.testing.assert_allclose(values, expected, rtol=1e-8, atol=1e-8)
    assert updated.noise.min() >= 0.3


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(1, 3),
    missing=st.sampled_from([0.0, 0.3, 0.6]),
    decimals=st.sampled_from([None, 1, 0]),
)
def test_no_round_lowers_the_objective(seed, d, missing, decimals):
    rng = np.random.default_rng(seed)
    model = random_model(rng, d=d, n_columns=6)
    rows = rows_of(model, rng, 40, missing)
    rows[np.arange(6), np.arange(6)] = 1.0  # every column has a known value
    rows = rows if decimals is None else np.round(rows, decimals)
    least = np.full(6, 1e-3)
    now, before = starting_factors(rows, d), -np.inf
    for _ in range(15):
        found = condition(now, rows)
        value = objective(now, found)
        assert value >= before - 1e-9 * abs(value)
        before, now = value, maximised_axes(now, rows, found, least)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), power=st.integers(-3, 3))
def test_a_column_in_another_unit_changes_nothing_else(seed, power):
    rng = np.random.default_rng(seed)
    model = random_model(rng, n_columns=6)
    rows = rows_of(model, rng, 60, 0.2)
    rows[np.arange(6), np.arange(6)] = 1.0
    units = np.ones(6)
    units[2] = 10.0**power
    filled = [
        fill(found, values, condition(found, values)) / by
        for values, by in ((rows, np.ones(6)), (rows * units, units))
        for found in [fit_factors(values, 2)]
    ]
    np.testing.assert_allclose(filled[1], filled[0], rtol=1e-6, atol=1e-6)


def test_simulated_gaps_are_filled_about_as_well_as_by_the_truth():
    rng = np.random.default_rng(0)
    model = random_model(rng, d=2, n_columns=10, n_places=1)
    whole = rows_of(model, rng, 2000, 0.0)
    is_gap = rng.random(whole.shape) < 0.2
    rows = np.where(is_gap, np.nan, whole)
    errors = [
        np.mean((fill(of, rows, condition(of, rows)) - whole)[is_gap] ** 2)
        for of in (model, fit_factors(rows, 2))
    ]
    assert errors[1] <= 1.02 * errors[0]


def test_more_columns_than_rows_and_constant_columns_are_no_trouble():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(8, 40))
    rows[:, 3] = 5.0
    rows[rng.random(rows.shape) < 0.2] = np.nan
    rows[0, 3] = np.nan
    found = fit_factors(rows, 4)
    assert all(np.isfinite(values).all() for values in found)
    assert fill(found, rows, condition(found, rows))[0, 3] == pytest.approx(5.0)


def test_places_weights_and_spread_stay():
    rng = np.random.default_rng(0)
    model = random_model(rng)
    found = fit_axes(model, rows_of(model, rng, 50, 0.0))
    for name in ("places", "weights", "spread"):
        assert getattr(found, name) is getattr(model, name)
