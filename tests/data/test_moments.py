"""Moments of columns: those of parts, merged, are those of the whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from branchwise.data.moments import Moments, extremes, have_variety, merge_moments


def moments(X, *, with_products=True, keeps_lost=False):
    mean = X.mean(axis=0)
    Y = X - mean
    products = Y.T @ Y if with_products else (Y**2).sum(axis=0)
    return Moments(len(X), mean, products, *extremes(X), Y.mean(axis=0) if keeps_lost else None)


@given(
    cut=st.integers(1, 29),
    with_products=st.booleans(),
    keeps_lost=st.booleans(),
    shift=st.sampled_from([0.0, 1e6]),
)
def test_merged_moments_are_those_of_all_rows(cut, with_products, keeps_lost, shift):
    X = np.random.default_rng(0).normal(size=(30, 3)) + shift
    options = {"with_products": with_products, "keeps_lost": keeps_lost}
    both = merge_moments(moments(X[:cut], **options), moments(X[cut:], **options))
    whole = moments(X, **options)
    assert both.n_rows == 30
    np.testing.assert_allclose(both.mean, whole.mean, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(both.products, whole.products, rtol=0, atol=1e-8 if shift else 1e-12)
    np.testing.assert_array_equal(both.low, whole.low)
    np.testing.assert_array_equal(both.high, whole.high)
    assert (both.lost is None) is not keeps_lost


def test_squares_are_the_same_with_products_and_without():
    X = np.random.default_rng(0).normal(size=(20, 4))
    squares = moments(X, with_products=False).squares()
    np.testing.assert_allclose(moments(X).squares(), squares, rtol=1e-14)


@pytest.mark.parametrize("with_products", [True, False])
def test_powers_of_two_change_no_digit(with_products):
    X, factor = np.random.default_rng(0).normal(size=(20, 3)), np.array([0.25, 1.0, 8.0])
    options = {"with_products": with_products, "keeps_lost": True}
    for found, wanted in zip(
        moments(X, **options).times(factor), moments(X * factor, **options), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_extremes_have_the_zeros_of_a_sparse_matrix(kind):
    low, high = extremes(kind(np.array([[1.0, 0.0], [2.0, -3.0]])))
    np.testing.assert_array_equal(low, [1.0, -3.0])
    np.testing.assert_array_equal(high, [2.0, 0.0])


@given(
    X=arrays(
        np.float64,
        st.tuples(st.integers(0, 14), st.integers(1, 3)),
        elements=st.sampled_from([0.0, 1.0, 2.0, np.nan]),
    )
)
def test_variety_is_five_values_beside_the_most_frequent_one(X):
    wanted = []
    for column in X.T:
        known = column[~np.isnan(column)]
        most = np.unique(known, return_counts=True)[1].max(initial=0)
        wanted.append(len(known) - most >= 5)
    assert have_variety(X).tolist() == wanted
