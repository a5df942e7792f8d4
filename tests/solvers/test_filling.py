"""Gaps filled row by row: the same numbers as in batches, and the same bits in any company."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.solvers.conditional import condition, fill
from branchwise.solvers.filling import fill_rows

from .test_conditional import random_model, random_rows


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(1, 4),
    n_places=st.integers(1, 9),
    decimals=st.sampled_from([None, 0]),
)
def test_is_what_batches_give(seed, d, n_places, decimals):
    rng = np.random.default_rng(seed)
    model = random_model(rng, d=d, n_columns=6, n_places=n_places)
    rows = random_rows(rng, model)
    rows[0] = np.nan
    rows = rows if decimals is None else np.round(rows, decimals)
    expected = fill(model, rows, condition(model, rows))
    np.testing.assert_allclose(fill_rows(rows, model), expected, rtol=1e-8, atol=1e-8)


def test_values_beyond_the_limits_stay_but_tell_nothing():
    rng = np.random.default_rng(0)
    model = random_model(rng, n_columns=6)
    rows = random_rows(rng, model)
    is_far = np.abs(rows) > 2
    expected = fill_rows(np.where(is_far, np.nan, rows), model)
    assert is_far.any()
    found = fill_rows(rows, model, -2.0, np.full(6, 2.0))
    np.testing.assert_array_equal(found, np.where(is_far, rows, expected))


def test_a_row_is_the_same_to_the_last_bit_in_any_company():
    rng = np.random.default_rng(0)
    model = random_model(rng, d=3, n_columns=30, n_places=50)
    rows = random_rows(rng, model, n=200)
    filled = fill_rows(rows, model)
    order = rng.permutation(200)
    np.testing.assert_array_equal(fill_rows(rows[order], model), filled[order])
    for i in (0, 7, 199):
        np.testing.assert_array_equal(fill_rows(rows[i : i + 1], model)[0], filled[i])


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_that_are_given_stay_as_they_are(order):
    rng = np.random.default_rng(0)
    model = random_model(rng)
    rows = np.array(random_rows(rng, model), order=order)
    before = rows.copy()
    filled = fill_rows(rows, model)
    np.testing.assert_array_equal(rows, before)
    known = ~np.isnan(rows)
    np.testing.assert_array_equal(filled[known], rows[known])


def test_a_flat_scatter_and_places_of_no_weight_are_no_trouble():
    rng = np.random.default_rng(0)
    model = random_model(rng)._replace(
        spread=np.diag([2.0, 0.0]), weights=np.array([0.5, 0.0, 0.5, 0.0])
    )
    rows = random_rows(rng, model)
    with np.errstate(divide="ignore"):
        expected = fill(model, rows, condition(model, rows))
    np.testing.assert_allclose(fill_rows(rows, model), expected, rtol=1e-8, atol=1e-8)
