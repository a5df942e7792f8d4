import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from branchwise.data import row_order
from branchwise.data.row_order import canonical_order, first_alike, row_keys, unit_free

from .test_centering import KINDS, N, numbers


@pytest.fixture(params=list(KINDS))
def kind(request):
    return KINDS[request.param]


# Keys


def test_row_keys_follow_a_permutation_of_the_rows(kind, rng):
    X = numbers()
    order = rng.permutation(N)
    np.testing.assert_array_equal(row_keys(kind(X[order])), row_keys(kind(X))[order])


def test_row_keys_are_the_same_for_every_container_and_precision(kind):
    X = numbers()
    np.testing.assert_array_equal(row_keys(kind(X)), row_keys(X))


def test_row_keys_of_a_row_do_not_depend_on_the_other_rows(kind):
    X = numbers()
    X[17] = 0.0
    whole = row_keys(kind(X))
    for i in (0, 17, N - 1):
        np.testing.assert_array_equal(row_keys(kind(X[i : i + 1])), whole[i : i + 1])


def test_row_keys_ignore_explicit_zeros():
    X = numbers()
    row, column = (index.ravel() for index in np.indices(X.shape))
    explicit = sparse.csr_array((X.ravel(), (row, column)), shape=X.shape)
    assert explicit.nnz == X.size
    np.testing.assert_array_equal(row_keys(explicit), row_keys(X))


def test_row_keys_add_up_repeated_entries_and_leave_their_matrix_unchanged():
    data, columns = np.array([1.0, 2.0, 3.0, 5.0]), np.array([1, 1, 2, 0])
    X = sparse.csr_array((data, columns, np.array([0, 2, 4])), shape=(2, 3))
    np.testing.assert_array_equal(
        row_keys(X), row_keys(np.array([[0.0, 3.0, 0.0], [5.0, 0.0, 3.0]]))
    )
    np.testing.assert_array_equal(X.data, [1, 2, 3, 5])
    np.testing.assert_array_equal(X.indices, [1, 1, 2, 0])
    np.testing.assert_array_equal(X.indptr, [0, 2, 4])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.coo_array])
def test_row_keys_take_minus_zero_for_zero(kind):
    X = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(row_keys(kind(np.where(X == 0, -0.0, X))), row_keys(X))
    row, column = (index.ravel() for index in np.indices(X.shape))
    negative = sparse.csr_array((np.where(X == 0, -0.0, X).ravel(), (row, column)), shape=X.shape)
    assert np.signbit(negative.data).sum() == 5
    np.testing.assert_array_equal(row_keys(negative), row_keys(X))


def test_row_keys_of_empty_sparse_rows_are_those_of_zeros():
    X = sparse.csr_array((4, 3))
    np.testing.assert_array_equal(row_keys(X), row_keys(np.zeros((4, 3))))


@given(
    X=hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 20), st.integers(1, 4)),
        elements=st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 1e-300, 5e-324, 1e300]),
    )
)
def test_row_keys_are_equal_exactly_where_rows_are_equal(X):
    keys = row_keys(X)
    equal = (X[:, np.newaxis] == X[np.newaxis]).all(axis=2)
    np.testing.assert_array_equal(keys[:, np.newaxis] == keys, equal)


@pytest.mark.parametrize("n_columns", [1, 2, 20])
def test_row_keys_of_many_random_rows_are_distinct(n_columns, rng):
    X = rng.normal(size=(100_000, n_columns))
    assert len(np.unique(row_keys(X))) == len(X)


@pytest.mark.parametrize("value", [1.0, -1.0, 2.0, 3.0, 0.5, 1024.0])
def test_row_keys_tell_in_which_column_a_value_stands(value):
    assert len(np.unique(row_keys(value * sparse.eye_array(5000, format="csr")))) == 5000


@pytest.mark.parametrize("step", [1.0, 2.0, -0.5, 256.0])
@pytest.mark.parametrize(("n_values", "n_columns"), [(2, 16), (10, 5)])
def test_row_keys_of_all_rows_of_small_integers_are_distinct(step, n_values, n_columns):
    X = step * np.array(list(itertools.product(range(n_values), repeat=n_columns)))
    assert len(np.unique(row_keys(X))) == n_values**n_columns


def test_row_keys_of_sparse_counts_are_distinct_where_rows_are(rng):
    X = rng.poisson(0.3, size=(50_000, 12)).astype(np.float64)
    assert len(np.unique(row_keys(X))) == len(np.unique(X, axis=0))


# Order


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("unit", [1000.0, 1e-3, 2.54, 1e100])
def test_canonical_order_depends_on_neither_row_order_nor_units(rng, container, unit):
    X = np.round(rng.normal(size=(300, 4)), 1)
    X = np.unique(X, axis=0)
    shuffle = rng.permutation(len(X))
    order = canonical_order(container(X))
    other = canonical_order(container(unit * X[shuffle]))
    np.testing.assert_array_equal(X[order], X[shuffle][other])
    np.testing.assert_array_equal(np.sort(order), np.arange(len(X)))


def test_canonical_order_by_blocks_is_the_same(rng, monkeypatch):
    X = rng.normal(size=(100, 3))
    order = canonical_order(X)
    monkeypatch.setattr(row_order, "MAX_BLOCK", 60)
    np.testing.assert_array_equal(canonical_order(X), order)


def test_canonical_order_of_sparse_data_is_that_of_dense(rng):
    X = np.where(rng.random((200, 5)) < 0.5, rng.normal(size=(200, 5)), 0.0)
    np.testing.assert_array_equal(canonical_order(X), canonical_order(sparse.csr_array(X)))


def test_unit_free_values_are_equal_where_the_data_are(rng):
    X = np.round(rng.normal(size=(50, 3)), 1)
    np.testing.assert_array_equal(unit_free(X), unit_free(0.3 * X + 7))
    assert np.ptp(unit_free(X), axis=0).max() == pytest.approx(1.0)
    np.testing.assert_array_equal(unit_free(np.full((4, 2), 3.0)), np.zeros((4, 2)))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_equal_rows_are_found_in_canonical_order(form):
    X = np.random.default_rng(0).integers(3, size=(40, 2)).astype(float)
    X = X[canonical_order(X)]
    expected = [next(j for j in range(i + 1) if (X[j] == X[i]).all()) for i in range(40)]
    np.testing.assert_array_equal(first_alike(form(X)), expected)
