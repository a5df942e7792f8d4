"""What estimators keep of their samples, and how their parameters are checked."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import NotFittedError

from branchwise import SPL, DDRTree, DRTree
from branchwise.data.row_order import row_keys
from branchwise.estimators import TrainingRecord

from ..conftest import branching

X = branching(30, 4)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=20), st.lists(st.integers(0, 9)))
def test_equal_samples_are_found_as_the_first_of_them(keys, wanted):
    record = TrainingRecord.of(np.array(keys, dtype=np.uint64), None)
    assert len(record) == len(keys)
    assert record.keys.tolist() == keys
    known, rows = record.find(np.array(wanted, dtype=np.uint64))
    assert known.tolist() == [key in keys for key in wanted]
    assert rows.tolist() == [keys.index(key) for key in wanted if key in keys]


@pytest.mark.parametrize("model", [DDRTree(2, random_state=0), DRTree(), SPL(n_neighbors=5)])
def test_the_record_has_the_samples_by_their_keys_and_does_not_change(model):
    record = model.fit(X).training_record
    np.testing.assert_array_equal(record.keys, row_keys(X))
    assert record.kernel_samples is None
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.n_ties = 3


def test_the_record_of_a_kernel_has_the_samples_that_it_is_evaluated_with():
    record = DRTree(kernel="rbf").fit(X).training_record
    np.testing.assert_array_equal(record.kernel_samples, X)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_record_of_spl_has_the_data_that_new_samples_are_tied_to(kind):
    model = SPL(n_neighbors=5).fit(kind(X))
    record = model.training_record
    expected = X if kind is sparse.csr_array else X - model.mean_
    rows = (
        record.search_rows.toarray() if sparse.issparse(record.search_rows) else record.search_rows
    )
    np.testing.assert_array_equal(rows, expected)
    assert record.n_ties == 5


def test_only_a_fitted_model_has_a_record():
    for model in (DDRTree(2), DRTree(), SPL()):
        with pytest.raises(NotFittedError):
            _ = model.training_record


def test_some_parameters_can_be_checked_alone():
    model = DDRTree(2, tol=-1.0, checkpoint=3)
    model.check_parameters("max_iter", "gamma")
    with pytest.raises(ValueError, match="The 'checkpoint' parameter of DDRTree must be"):
        model.check_parameters("checkpoint")
    with pytest.raises(ValueError, match="The 'tol' parameter of DDRTree must be"):
        model.check_parameters("tol", "checkpoint")
