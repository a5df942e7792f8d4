"""A row becomes what it becomes whatever stands around it, in any container."""

import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from branchwise import DDRTree, Preparation

ALL = {"impute": "median", "log1p": True, "rank_normalize": True, "standardize": True}


def cohort(seed, n_samples, n_features=4):
    """Simulated: positive values with gaps and ties, and two covariates."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(2.0, size=(n_samples, n_features))
    X[:, 0] = np.round(X[:, 0])
    X[rng.random(X.shape) < 0.05] = np.nan
    X[0] = 1.0
    about = {"age": rng.normal(size=n_samples), "site": rng.choice(["a", "b"], size=n_samples)}
    about["site"][:2] = ["a", "b"]
    return X, about


def rows_of(about, rows):
    return {name: column[rows] for name, column in about.items()}


options = st.fixed_dictionaries(
    {
        "impute": st.just("median"),
        "log1p": st.booleans(),
        "rank_normalize": st.booleans(),
        "adjust": st.sampled_from([None, ["age"], ["site", "age"]]),
        "standardize": st.booleans(),
        "pca": st.sampled_from([None, 1, 3]),
    }
)


@given(options, st.integers(0, 2**32 - 1), st.integers(8, 40))
def test_a_row_does_not_depend_on_the_others(chosen, seed, n_samples):
    X, about = cohort(seed, n_samples)
    model = Preparation(**chosen)
    learned = model.fit_transform(X, covariates=about)
    np.testing.assert_array_equal(model.transform(X, covariates=about), learned)
    rows = np.random.default_rng(seed).permutation(n_samples)[: n_samples // 2]
    some = model.transform(X[rows], covariates=rows_of(about, rows))
    np.testing.assert_array_equal(some, learned[rows])
    alone = model.transform(X[rows[:1]], covariates=rows_of(about, rows[:1]))
    np.testing.assert_array_equal(alone, learned[rows[:1]])
    fortran = model.transform(np.asfortranarray(X), covariates=about)
    np.testing.assert_array_equal(fortran, learned)


@given(options, st.integers(0, 2**32 - 1))
def test_the_order_of_the_training_rows_does_not_matter(chosen, seed):
    X, about = cohort(seed, 30)
    order = np.random.default_rng(seed).permutation(30)
    first = Preparation(**chosen).fit(X, covariates=about)
    second = Preparation(**chosen).fit(X[order], covariates=rows_of(about, order))
    np.testing.assert_allclose(
        second.transform(X, covariates=about), first.transform(X, covariates=about), atol=1e-9
    )


@given(options, st.integers(0, 2**32 - 1), st.sampled_from([pd.DataFrame, pl.DataFrame]))
def test_columns_are_found_by_name(chosen, seed, frame):
    X, about = cohort(seed, 20)
    table = dict(zip("abcd", X.T, strict=True))
    model = Preparation(**chosen).fit(frame(table), covariates=frame(about))
    order = np.random.default_rng(seed).permutation(list("abcd")).tolist()
    moved = {"note": ["text"] * 20} | {name: table[name] for name in order}
    found = model.transform(frame(moved), covariates=frame(about))
    expected = model.transform(frame(table), covariates=about)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("pca", [None, 2])
def test_many_rows_are_worked_on_in_blocks(pca, monkeypatch):
    X, about = cohort(0, 50)
    model = Preparation(**ALL, adjust=["age"], pca=pca).fit(X, covariates=about)
    whole = model.transform(X, covariates=about)
    monkeypatch.setattr("branchwise.preprocessing.core.BLOCK", 7)
    np.testing.assert_array_equal(model.transform(X, covariates=about), whole)
    counts = sparse.csr_array(np.nan_to_num(X) * (np.nan_to_num(X) > 2))
    sparse_model = Preparation(log1p=True, standardize=True, pca=pca).fit(counts)
    in_blocks = sparse_model.transform(counts)
    monkeypatch.undo()
    at_once = sparse_model.transform(counts)
    np.testing.assert_array_equal(
        *(found.toarray() if sparse.issparse(found) else found for found in (in_blocks, at_once))
    )


def test_sparse_rows_do_not_depend_on_the_others(rng):
    X = sparse.csr_array(rng.random((40, 30)) * (rng.random((40, 30)) < 0.3))
    model = Preparation(log1p=True, standardize=True, pca=4)
    learned = model.fit_transform(X)
    np.testing.assert_array_equal(model.transform(X), learned)
    np.testing.assert_array_equal(model.transform(X[[5, 3]]), learned[[5, 3]])


def test_entries_of_a_sparse_matrix_may_come_in_parts_and_in_any_order(rng):
    X = rng.gamma(2.0, size=(12, 5)) * (rng.random((12, 5)) < 0.7)
    halves = sparse.csr_array(X / 2)
    ends = itertools.pairwise(halves.indptr)
    twice = np.concatenate([np.r_[stop:start:-1, stop:start:-1] - 1 for start, stop in ends])
    doubled = sparse.csr_array(
        (halves.data[twice], halves.indices[twice], 2 * halves.indptr), shape=X.shape
    )
    given = doubled.copy()
    for options in ({"log1p": True, "standardize": True, "pca": 2}, {"log1p": True}):
        found, expected = (
            Preparation(**options).fit_transform(table) for table in (doubled, sparse.csr_array(X))
        )
        assert abs(found - expected).max() == 0
    assert doubled.nnz == given.nnz


@pytest.mark.parametrize("chosen", [{}, ALL, ALL | {"pca": 2}], ids=["none", "most", "all"])
def test_single_precision_stays_single(chosen):
    X, _ = cohort(0, 30)
    X = np.nan_to_num(X)
    model = Preparation(**chosen)
    single = model.fit_transform(X.astype(np.float32))
    assert single.dtype == np.float32
    assert model.fit_transform(X).dtype == np.float64
    assert model.fit_transform(X.astype(int)).dtype == np.float64
    assert model.fit(X).transform(X.astype(np.float32)).dtype == np.float32


def test_nothing_given_is_changed():
    X, about = cohort(0, 30)
    given = X.copy()
    table = sparse.csr_array(np.nan_to_num(X))
    stored = table.copy()
    Preparation(**ALL, adjust=["age"]).fit_transform(X, covariates=about)
    Preparation(log1p=True, standardize=True).fit_transform(table)
    np.testing.assert_array_equal(X, given)
    np.testing.assert_array_equal(table.toarray(), stored.toarray())


def test_a_failed_fit_leaves_the_old_one():
    X, _ = cohort(0, 30)
    model = Preparation(impute="median", standardize=True).fit(X)
    before = model.transform(X)
    with pytest.raises(ValueError, match="pca=9"):
        model.set_params(pca=9).fit(X)
    np.testing.assert_array_equal(model.transform(X), before)


def test_parameters_set_after_the_fit_wait_for_the_next_one():
    X, _ = cohort(0, 30)
    model = Preparation(impute="median").fit(X)
    before = model.transform(X)
    np.testing.assert_array_equal(model.set_params(standardize=True).transform(X), before)


def test_copies_and_pickles():
    X, about = cohort(0, 30)
    model = Preparation(**ALL, adjust=["site"], pca=2).fit(X, covariates=about)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        again.transform(X, covariates=about), model.transform(X, covariates=about)
    )
    assert clone(model).get_params() == model.get_params()


def test_an_estimator_knows_training_rows_again_after_preparation():
    """Its transform recognises them by their bits, which must not depend on the batch."""
    X = np.nan_to_num(cohort(0, 60, 12)[0])
    preparation = Preparation(**ALL, pca=5)
    model = DDRTree(2, random_state=0).fit(preparation.fit_transform(X))
    placed = np.vstack([model.transform(preparation.transform(x[np.newaxis])) for x in X])
    np.testing.assert_array_equal(placed, model.embedding_)
