"""The conditional distribution against dense Gaussians, and its expectation–maximisation."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from branchwise.solvers.conditional import (
    TreeModel,
    condition,
    condition_on,
    fill,
    fit_tree_model,
    maximised,
    starting_model,
    sums_over_columns,
)

TOLD_TO_THE_PAGE = Path(__file__).parents[2] / "web" / "test" / "model" / "conditional.json"


def random_model(rng, d=2, n_columns=5, n_places=4):
    axes = np.linalg.qr(rng.normal(size=(n_columns, d)))[0].T
    root = rng.normal(size=(d, d))
    return TreeModel(
        axes,
        rng.normal(size=n_columns),
        3 * rng.normal(size=(n_places, d)),
        rng.dirichlet(np.ones(n_places)),
        root @ root.T,
        rng.uniform(0.1, 2.0, size=n_columns),
    )


def random_rows(rng, model, n=12, missing=0.4):
    rows = model.mean + 3 * rng.normal(size=(n, len(model.mean)))
    gaps = rng.random(rows.shape) < missing
    gaps[np.arange(n), rng.integers(len(model.mean), size=n)] = False
    return np.where(gaps, np.nan, rows)


def by_dense_gaussians(model, row):
    """Place, z and log density of one row from its joint covariance with z, place by place."""
    known = np.flatnonzero(~np.isnan(row))
    A = model.axes[:, known]
    covariance = A.T @ model.spread @ A + np.diag(model.noise[known])
    gain = model.spread @ A @ np.linalg.inv(covariance)
    logs, means, squared = [], [], []
    for weight, place in zip(model.weights, model.places, strict=True):
        center = model.mean[known] + A.T @ place
        apart = row[known] - center
        logs.append(np.log(weight) + multivariate_normal(center, covariance).logpdf(row[known]))
        means.append(place + gain @ apart)
        squared.append(apart @ np.linalg.solve(covariance, apart))
    total = logsumexp(logs)
    p, means = np.exp(np.array(logs) - total), np.array(means)
    mean = p @ means
    within = model.spread - gain @ A.T @ model.spread
    apart = means - mean
    return p, mean, within + (apart * p[:, None]).T @ apart, min(squared), total


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_is_what_dense_gaussians_say(d, missing):
    rng = np.random.default_rng(0)
    model = random_model(rng, d=d)
    rows = random_rows(rng, model, missing=missing)
    found = condition(model, rows)
    for i, row in enumerate(rows):
        p, mean, covariance, squared, log_density = by_dense_gaussians(model, row)
        np.testing.assert_allclose(found.probabilities[i], p, atol=1e-8)
        np.testing.assert_allclose(found.mean[i], mean, atol=1e-8)
        np.testing.assert_allclose(found.covariance[i], covariance, atol=1e-8)
        np.testing.assert_allclose(found.squared[i], squared, rtol=1e-8)
        np.testing.assert_allclose(found.log_density[i], log_density, rtol=1e-8)
        assert found.n_known[i] == np.sum(~np.isnan(row))


def test_a_scatter_that_is_flat_is_no_trouble():
    rng = np.random.default_rng(0)
    model = random_model(rng)._replace(spread=np.diag([2.0, 0.0]))
    rows = random_rows(rng, model)
    found = condition(model, rows)
    for i, row in enumerate(rows):
        p, mean, covariance, *_ = by_dense_gaussians(model, row)
        np.testing.assert_allclose(found.probabilities[i], p, atol=1e-8)
        np.testing.assert_allclose(found.mean[i], mean, atol=1e-8)
        np.testing.assert_allclose(found.covariance[i], covariance, atol=1e-8)


def test_without_any_column_what_remains_is_the_tree_itself():
    model = random_model(np.random.default_rng(0))
    found = condition(model, np.full((1, 5), np.nan))
    np.testing.assert_allclose(found.probabilities[0], model.weights)
    np.testing.assert_allclose(found.mean[0], model.weights @ model.places)


def rows_of(model, rng, n, missing):
    t = rng.choice(len(model.places), size=n, p=model.weights)
    z = model.places[t] + rng.multivariate_normal(np.zeros(len(model.axes)), model.spread, size=n)
    rows = (
        model.mean + z @ model.axes + np.sqrt(model.noise) * rng.normal(size=(n, len(model.mean)))
    )
    return np.where(rng.random(rows.shape) < missing, np.nan, rows)


def test_the_parameters_of_simulated_rows_are_found():
    rng = np.random.default_rng(0)
    model = random_model(rng, d=2, n_columns=12)
    rows = rows_of(model, rng, 6000, 0.2)
    found = fit_tree_model(rows, model.axes, model.mean, model.places, model.weights)
    np.testing.assert_allclose(found.spread, model.spread, rtol=0.1, atol=0.1)
    np.testing.assert_allclose(found.noise, model.noise, rtol=0.1)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(1, 3),
    missing=st.sampled_from([0.0, 0.3, 0.6]),
    decimals=st.sampled_from([None, 1, 0]),
)
def test_no_round_makes_the_known_values_less_likely(seed, d, missing, decimals):
    rng = np.random.default_rng(seed)
    model = random_model(rng, d=d, n_columns=6)
    rows = rows_of(model, rng, 40, missing)
    rows = rows if decimals is None else np.round(rows, decimals)
    least = np.full(6, 1e-3)
    now = starting_model(rows, model.axes, model.mean, model.places, model.weights)
    before = -np.inf
    for _ in range(15):
        sums = sums_over_columns(now, rows)
        found = condition_on(now, sums)
        likely = found.log_density.sum()
        assert likely >= before - 1e-9 * abs(likely)
        before, now = likely, maximised(now, rows, sums, found, least)


def test_filled_rows_keep_what_is_known():
    rng = np.random.default_rng(0)
    model = random_model(rng)
    rows = random_rows(rng, model)
    filled = fill(model, rows, condition(model, rows))
    assert np.isfinite(filled).all()
    known = ~np.isnan(rows)
    np.testing.assert_array_equal(filled[known], rows[known])


def test_the_page_is_tested_against_what_this_says_today():
    for case in json.loads(TOLD_TO_THE_PAGE.read_text("utf-8")):
        model = TreeModel(**{name: np.array(of) for name, of in case["model"].items()})
        rows = np.array(case["rows"], dtype=np.float64)
        found = condition(model, rows)
        says = {
            "probabilities": found.probabilities,
            "mean": found.mean,
            "covariance": found.covariance,
            "squared": found.squared,
            "nKnown": found.n_known,
            "filled": fill(model, rows, found),
        }
        assert set(says) == set(case["said"])
        for name, values in says.items():
            np.testing.assert_allclose(values, case["said"][name], rtol=1e-9, atol=1e-9)
