"""How much to trust a place, against dense Gaussians."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.placing.places import Places
from branchwise.placing.trust import beyond, expected_of, farthest, residuals_of, trust_of
from branchwise.placing.words import driver_words, range_words, to_name
from branchwise.solvers.conditional import TreeModel

T, D, N_AXES = 7, 6, 2


def made(seed):
    """A tree of a few places, and rows of which some values are not known."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.normal(size=(D, N_AXES)))[0].T
    root = rng.normal(size=(N_AXES, N_AXES))
    weights = rng.dirichlet(np.ones(T))
    points = 3 * rng.normal(size=(T, N_AXES))
    spread, noise = root @ root.T, rng.uniform(0.2, 2, size=D)
    tree = TreeModel(axes, rng.normal(size=D), points, weights, spread, noise)
    branch, times = rng.integers(3, size=T), rng.uniform(0, 9, size=T)
    half = rng.uniform(0, 1, size=T)  # of a stretch
    places = Places(points, weights, branch, times, np.arange(T), times - half, times + half)
    rows = 3 * rng.normal(size=(5, D))
    rows[rng.random(rows.shape) < 0.3] = np.nan
    return tree, places, rows


def dense(tree, row):
    """Known columns, the inverse of their covariance, and their deviations from each place."""
    known = ~np.isnan(row)
    covariance = tree.axes.T @ tree.spread @ tree.axes + np.diag(tree.noise)
    precision = np.linalg.inv(covariance[np.ix_(known, known)])
    return known, precision, (row - tree.mean - tree.places @ tree.axes)[:, known]


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 1000))
def test_it_is_what_dense_gaussians_say(seed):
    tree, places, rows = made(seed)
    found, residuals = trust_of(tree, places, 3, rows), residuals_of(tree, rows).scaled
    expected = expected_of(tree, rows)
    for i, row in enumerate(rows):
        known, precision, apart = dense(tree, row)
        assert found.n_known[i] == known.sum()
        if not known.any():
            assert np.isnan(found.misfit[i])
            continue
        squared = np.einsum("ti,ij,tj->t", apart, precision, apart)
        np.testing.assert_allclose(found.misfit[i], np.sqrt(squared.min() / known.sum()), atol=1e-8)
        density = tree.weights * np.exp(-(squared - squared.min()) / 2)
        shares = density / density.sum()
        np.testing.assert_allclose(
            found.branches[i], [shares[places.branch == k].sum() for k in range(3)], atol=1e-8
        )
        order = np.argsort(places.pseudotime)
        below = np.cumsum(shares[order])
        first, last = (np.flatnonzero(below >= part)[0] for part in (0.025, 0.975 - 1e-12))
        assert found.lower[i] == places.earliest[order][first]
        assert found.upper[i] == places.latest[order][last]
        # One column given all others, from the covariance without it.
        nearest = apart[squared.argmin()]
        covariance = np.linalg.inv(precision)
        for k, j in enumerate(np.flatnonzero(known)):
            rest = np.arange(known.sum()) != k
            weights = np.linalg.solve(covariance[np.ix_(rest, rest)], covariance[rest, k])
            left = nearest[k] - weights @ nearest[rest]
            variance = covariance[k, k] - weights @ covariance[rest, k]
            np.testing.assert_allclose(residuals[i, j], left / np.sqrt(variance), atol=1e-8)
        c = tree.places[squared.argmin()]
        z = c + tree.spread @ tree.axes[:, known] @ precision @ nearest
        np.testing.assert_allclose(expected[i], tree.mean + z @ tree.axes, atol=1e-8)
    assert (residuals[np.isnan(rows)] == 0).all()


@pytest.mark.parametrize("seed", range(20))
def test_a_wrong_unit_is_named_first_and_what_it_should_be(seed):
    rng = np.random.default_rng(seed)
    tree, _, _ = made(seed)
    z = tree.places[rng.integers(T)] + rng.multivariate_normal(np.zeros(N_AXES), tree.spread)
    row = tree.mean + z @ tree.axes + np.sqrt(tree.noise) * rng.normal(size=D)
    column = int(rng.integers(D))
    sd = np.sqrt(np.diag(tree.axes.T @ np.cov(tree.places.T) @ tree.axes) + tree.noise)
    row[column] += 40 * sd[column]
    at, columns, expected = to_name(tree, row[np.newaxis], 4.0)
    assert (at[0], columns[0]) == (0, column)
    gap = np.where(np.arange(D) == column, np.nan, row)
    if len(columns) == 1:
        np.testing.assert_allclose(expected, expected_of(tree, gap[np.newaxis])[:, column])


def test_a_value_is_out_of_range_beyond_so_large_a_part_of_it():
    low, high = np.array([0.0, 5.0, -np.inf]), np.array([10.0, 5.0, np.inf])
    rows = np.array([[11.0, 5.0, 1e9], [11.1, 5.1, np.nan], [-1.1, np.nan, 0.0]])
    is_beyond = beyond(rows, low, high, 0.1)
    assert is_beyond.tolist() == [[False] * 3, [True, True, False], [True, False, False]]
    wider = beyond(rows, low, high, 0.2)
    assert wider.tolist() == [[False] * 3, [False, True, False], [False] * 3]
    words = range_words(rows, low, high, 0.1, ["a", "b", "c"], [None] * 3).tolist()
    assert words == ["", "b 5.1 (always 5 in the fit); a 11.1 (0 to 10)", "a -1.1 (0 to 10)"]


def test_at_most_three_columns_are_named():
    rows, low, high = np.full((1, 5), 9.0), np.zeros(5), np.arange(1.0, 6.0)
    words = range_words(rows, low, high, 0.1, list("abcde"), [None] * 5)
    assert words[0] == "a 9 (0 to 1); b 9 (0 to 2); c 9 (0 to 3); and 2 more"


def test_how_far_the_farthest_value_is_goes_by_the_range_of_its_column():
    low, high = np.array([0.0, 5.0, -np.inf, 0.0]), np.array([10.0, 5.0, np.inf, 1.0])
    rows = np.array([[12.0, 9.0, 1e9, -0.3], [5.0, np.nan, 0.0, np.nan], [np.nan] * 4])
    np.testing.assert_allclose(farthest(rows, low, high), [0.3, 0, 0])


def test_days_are_told_as_dates():
    low, high = np.array([0.0, 20.0]), np.array([30.5, 90.0])
    first = ["2024-01-01T12:00:00", None]
    words = range_words(np.array([[-36525.25, 99.0]]), low, high, 0.1, ["seen", "age"], first)
    assert words[0] == "seen 1924-01-01 (2024-01-01 to 2024-02-01); age 99 (20 to 90)"
    one = np.array([0])
    told = driver_words(1, one, one, ["seen"], np.array([1e9]), np.array([3.0]), first)
    assert told[0] == "seen 1e+09 (expected 2024-01-04)"
