import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from branchwise.data import centering as rows
from branchwise.data.centering import CentredRows

N, D = 50, 6
# Blocks of seven rows: 50 is not a multiple.
SMALL = 7 * D

KINDS = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "csr_array": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csr_float32": lambda X: sparse.csr_array(X.astype(np.float32)),
    "csc_array": sparse.csc_array,
}


@pytest.fixture(params=["copied", "in blocks"])
def limit(request, monkeypatch):
    """Data up to MAX_COPIED numbers are centred once, larger ones block by block."""
    if request.param == "in blocks":
        monkeypatch.setattr(rows, "MAX_COPIED", SMALL)
        monkeypatch.setattr(rows, "MAX_BLOCK", SMALL)
    return request.param


@pytest.fixture(params=list(KINDS))
def kind(request):
    return KINDS[request.param]


def numbers(n_rows=N, n_columns=D, *, seed=0):
    """Numbers that single precision holds exactly, a third of them zero."""
    rng = np.random.default_rng(seed)
    X = 3 * rng.normal(size=(n_rows, n_columns)) + 1
    X[rng.uniform(size=X.shape) < 1 / 3] = 0.0
    return X.astype(np.float32).astype(np.float64)


def centred(X):
    """Y with the mean of exactly rounded sums."""
    return X - np.array([math.fsum(column) / len(X) for column in X.T])


def close(actual, expected):
    """Equal up to rounding in double precision: single precision is six digits away."""
    actual = np.asarray(actual)
    assert actual.dtype == np.float64
    scale = max(np.abs(expected).max(), 1.0)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-13 * scale)


def whole(Y, n_columns=0):
    """The blocks of all rows."""
    return list(Y.blocks(slice(0, Y.n_rows), n_columns))


# The products


def test_centred_rows_know_shape_mean_and_energy(kind, limit):
    X = numbers()
    Y = CentredRows(kind(X))
    assert (Y.n_rows, Y.n_features, Y.n_dims) == (N, D, D)
    assert Y.mean.shape == (D,)
    close(Y.mean, X.mean(axis=0))
    assert isinstance(Y.energy, float)
    close(Y.energy, np.sum(centred(X) ** 2))


def test_project_is_the_product_with_centred_rows(kind, limit, rng):
    X, W = numbers(), rng.normal(size=(D, 3))
    close(CentredRows(kind(X)).project(W), centred(X) @ W)


@pytest.mark.parametrize("chosen", [slice(0, 7), slice(7, 30), slice(48, 50), slice(None, None, 5)])
def test_project_of_some_rows_is_those_rows_of_the_product(chosen, kind, limit, rng):
    X, W = numbers(), rng.normal(size=(D, 3))
    close(CentredRows(kind(X)).project(W, chosen), centred(X)[chosen] @ W)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_weigh_is_the_transposed_product_with_centred_rows(container, kind, limit, rng):
    X, V = numbers(), rng.normal(size=(N, 4))
    V[rng.uniform(size=V.shape) < 0.5] = 0.0
    close(CentredRows(kind(X)).weigh(container(V)), V.T @ centred(X))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("chosen", [slice(0, 7), slice(7, 30), slice(48, 50)])
def test_weigh_of_some_rows_uses_those_rows_only(chosen, container, kind, limit, rng):
    X = numbers()
    V = rng.normal(size=(len(range(*chosen.indices(N))), 4))
    close(CentredRows(kind(X)).weigh(container(V), chosen), V.T @ centred(X)[chosen])


def test_weigh_of_blocks_adds_up_to_weigh(kind, limit, rng):
    X, V = numbers(), rng.normal(size=(N, 4))
    Y = CentredRows(kind(X))
    close(sum(Y.weigh(V[block], block) for block in whole(Y)), V.T @ centred(X))


def test_dense_rows_are_centred(kind, limit):
    X = numbers()
    Y = CentredRows(kind(X))
    for chosen in (slice(None), slice(3, 20), np.array([5, 0, 5, 49])):
        close(Y.dense(chosen), centred(X)[chosen])


def test_gram_is_the_product_of_centred_rows(kind, limit):
    X = numbers()
    Y = CentredRows(kind(X))
    close(Y.gram(), centred(X).T @ centred(X))
    assert Y.gram() is Y.gram()


@pytest.mark.parametrize("max_gram", [2, 1000])
def test_apply_gram_is_the_product_with_the_gram_matrix(max_gram, kind, limit, monkeypatch, rng):
    monkeypatch.setattr(rows, "MAX_GRAM", max_gram)
    X, V = numbers(), rng.normal(size=(D, 3))
    close(CentredRows(kind(X)).apply_gram(V), centred(X).T @ (centred(X) @ V))


def test_apply_gram_does_not_form_a_large_gram_matrix(kind, limit, monkeypatch, rng):
    def fails(self):
        raise AssertionError("the Gram matrix is too large to be formed")

    monkeypatch.setattr(CentredRows, "gram", fails)
    monkeypatch.setattr(rows, "MAX_GRAM", D - 1)
    X, V = numbers(), rng.normal(size=(D, 3))
    close(CentredRows(kind(X)).apply_gram(V), centred(X).T @ (centred(X) @ V))


def test_centred_rows_leave_their_data_unchanged(kind, limit, rng):
    X = kind(numbers())
    before = X.copy()
    Y = CentredRows(X)
    Y.gram()
    Y.project(rng.normal(size=(D, 2)))
    Y.weigh(rng.normal(size=(N, 2)))
    assert X.dtype == before.dtype
    difference = X - before
    assert abs(difference).max() == 0


@given(
    X=hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 12), st.integers(1, 12)),
        elements=st.floats(-100, 100, width=32) | st.just(0.0),
    ),
    max_copied=st.sampled_from([1, 20, 2**24]),
    kind=st.sampled_from(sorted(KINDS)),
    seed=st.integers(0, 2**32 - 1),
)
def test_products_of_any_data_are_those_of_the_centred_matrix(X, max_copied, kind, seed):
    rng = np.random.default_rng(seed)
    W, V = rng.normal(size=(X.shape[1], 2)), rng.normal(size=(X.shape[0], 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "MAX_COPIED", max_copied)
        Y = CentredRows(KINDS[kind](X))
        projected, energy = Y.project(Y.lower(W)), Y.energy
        weighed, gram = Y.lift(Y.weigh(V).T).T, Y.lift(Y.lift(Y.gram()).T)
    expected = centred(X)
    scale = 1 + np.abs(X).max()
    np.testing.assert_allclose(projected, expected @ W, atol=1e-12 * scale)
    np.testing.assert_allclose(weighed, V.T @ expected, atol=1e-12 * scale)
    np.testing.assert_allclose(gram, expected.T @ expected, atol=1e-12 * scale**2)
    assert energy == pytest.approx(np.sum(expected**2), rel=1e-12, abs=1e-12 * scale**2)


# Blocks


@pytest.mark.parametrize("n_columns", [0, 1, 10, 10_000])
def test_blocks_cover_each_row_once_and_stay_small(n_columns, kind, limit):
    Y = CentredRows(kind(numbers()))
    blocks = whole(Y, n_columns)
    covered = np.concatenate([np.arange(N)[block] for block in blocks])
    np.testing.assert_array_equal(covered, np.arange(N))
    for block in blocks:
        n_rows = block.stop - block.start
        assert n_rows == 1 or n_rows * (D + n_columns) <= rows.MAX_BLOCK


def test_large_data_are_read_in_several_blocks(monkeypatch):
    monkeypatch.setattr(rows, "MAX_BLOCK", SMALL)
    blocks = whole(CentredRows(numbers()))
    assert [block.stop - block.start for block in blocks] == 7 * [7] + [1]


@pytest.mark.parametrize("n_rows", [1, 511, 1024, 5000, 100_000])
def test_parts_cover_each_row_once_whatever_the_number_of_threads(n_rows):
    X = np.zeros((n_rows, 1))
    parts = CentredRows(X).parts()
    assert parts == CentredRows(X, n_jobs=7).parts()
    covered = np.concatenate([np.arange(n_rows)[part] for part in parts])
    np.testing.assert_array_equal(covered, np.arange(n_rows))
    assert len(parts) <= rows.N_PARTS
    assert len(parts) == 1 or min(p.stop - p.start for p in parts) >= rows.MIN_PART


def test_sums_have_the_same_digits_from_any_number_of_threads(kind, limit, rng):
    X, V = numbers(), rng.normal(size=(N, 3))
    one, three = CentredRows(kind(X)), CentredRows(kind(X), n_jobs=3)
    np.testing.assert_array_equal(one.mean, three.mean)
    np.testing.assert_array_equal(one.gram(), three.gram())
    np.testing.assert_array_equal(one.weigh(V), three.weigh(V))
    np.testing.assert_array_equal(one.project(V[:D]), three.project(V[:D]))
    assert one.energy == three.energy


def test_rows_are_taken_in_the_given_order(kind, limit, rng):
    X, order, places = numbers(), rng.permutation(N), rng.permutation(N)
    Y = CentredRows(kind(X), order)
    close(Y.dense(slice(None)), centred(X)[order])
    Y.reorder(places)
    close(Y.dense(slice(None)), centred(X)[order[places]])
    close(Y.dense(np.array([3, 0])), centred(X)[order[places[[3, 0]]]])
    V = rng.normal(size=(N, 2))
    close(Y.weigh(V), V.T @ centred(X)[order[places]])


# More features than rows


def test_wide_data_are_rewritten_in_a_basis_of_their_row_space(kind, rng):
    X = numbers(5, 12)
    Y = CentredRows(kind(X))
    assert (Y.n_rows, Y.n_features, Y.n_dims) == (5, 12, 5)
    close(Y.lift(np.eye(5)).T @ Y.lift(np.eye(5)), np.eye(5))
    close(Y.dense(slice(None)) @ Y.lift(np.eye(5)).T, centred(X))
    close(Y.energy, np.sum(centred(X) ** 2))


def test_wide_data_have_the_same_products_in_their_basis(kind, rng):
    X = numbers(5, 12)
    Y = CentredRows(kind(X))
    W, V = rng.normal(size=(12, 2)), rng.normal(size=(5, 2))
    close(Y.project(Y.lower(W)), centred(X) @ W)
    close(Y.lift(Y.weigh(V).T).T, V.T @ centred(X))
    close(Y.lift(Y.apply_gram(Y.lower(W))), centred(X).T @ (centred(X) @ W))
    close(Y.project(Y.lower(W), slice(1, 3)), centred(X)[1:3] @ W)
    assert Y.gram().shape == (5, 5)


def test_lower_undoes_lift(kind, rng):
    Y = CentredRows(kind(numbers(5, 12)))
    W = rng.normal(size=(5, 2))
    close(Y.lower(Y.lift(W)), W)


def test_lift_and_lower_of_other_data_change_nothing(kind, limit, rng):
    Y = CentredRows(kind(numbers()))
    W = rng.normal(size=(D, 2))
    np.testing.assert_array_equal(Y.lift(W), W)
    np.testing.assert_array_equal(Y.lower(W), W)


def test_wide_data_in_blocks_keep_their_features(kind, monkeypatch, rng):
    monkeypatch.setattr(rows, "MAX_COPIED", 2 * 12)
    monkeypatch.setattr(rows, "MAX_BLOCK", 2 * 12)
    X, W, V = numbers(9, 12), rng.normal(size=(12, 2)), rng.normal(size=(9, 2))
    Y = CentredRows(kind(X))
    assert Y.n_dims == 12
    np.testing.assert_array_equal(Y.lift(W), W)
    np.testing.assert_array_equal(Y.lower(W), W)
    close(Y.project(W), centred(X) @ W)
    close(Y.weigh(V), V.T @ centred(X))
    close(Y.gram(), centred(X).T @ centred(X))
    close(Y.energy, np.sum(centred(X) ** 2))


# Digits


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray])
def test_a_large_mean_costs_dense_data_no_digits(kind, limit, rng):
    # The noise is a multiple of 2⁻²⁰, so that X − 1e8 is exact.
    noise = np.round(rng.normal(size=(2000, 3)) * 2**20) / 2**20
    X = kind(1e8 + noise)
    Y, expected = CentredRows(X), centred(noise)
    W, V = rng.normal(size=(3, 2)), rng.normal(size=(2000, 2))
    # A double near 1e8 ends 1.5e-8 after the point, and so does the mean.
    np.testing.assert_allclose(Y.mean, 1e8 + noise.mean(axis=0), rtol=0, atol=1e-7)
    np.testing.assert_allclose(Y.project(W), expected @ W, rtol=0, atol=1e-6)
    np.testing.assert_allclose(Y.weigh(V), V.T @ expected, rtol=0, atol=1e-5)
    np.testing.assert_allclose(Y.gram(), expected.T @ expected, rtol=0, atol=1e-9)
    assert Y.energy == pytest.approx(np.sum(expected**2), rel=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_single_precision_data_are_summed_in_double_precision(kind, limit, rng):
    X = rng.uniform(1, 2, size=(5000, 3)).astype(np.float32)
    Y, expected = CentredRows(kind(X)), centred(X.astype(np.float64))
    np.testing.assert_allclose(Y.mean, X.astype(np.float64).mean(axis=0), rtol=1e-13)
    assert Y.energy == pytest.approx(np.sum(expected**2), rel=1e-12)
    np.testing.assert_allclose(Y.gram(), expected.T @ expected, rtol=0, atol=1e-9)


def test_energy_of_constant_rows_is_zero(kind, limit):
    X = np.tile([0.0, 1.0, -2.5, 3.0, 0.25, 1024.0], (64, 1))
    assert CentredRows(kind(X)).energy == 0.0


def test_energy_adds_up_repeated_entries_of_a_sparse_matrix(limit):
    data, columns = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1, 1, 0, 1])
    X = sparse.csr_array((data, columns, np.array([0, 2, 3, 4] + 97 * [4])), shape=(100, 2))
    assert not X.has_canonical_format
    Y = CentredRows(X)
    assert Y.energy == pytest.approx(np.sum(centred(X.toarray()) ** 2), rel=1e-13)
    assert X.nnz == 4
