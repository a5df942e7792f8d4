"""A tree fills the gaps of the rows that it is learned from."""

import numpy as np
import pytest

from branchwise.datasets import make_tree
from branchwise.placing import filling
from branchwise.placing.filling import learn_filling
from branchwise.solvers.filling import fill_rows
from branchwise.trajectory.learning import learn


def with_gaps(X, share, seed=0):
    is_gap = np.random.default_rng(seed).random(X.shape) < share
    return np.where(is_gap, np.nan, X), is_gap


def tree(n=300):
    return make_tree(n, 12, topology="bifurcation", noise=0.03, random_state=0).X


def check_equal(found, again):
    for first, second in zip(found.model, again.model, strict=True):
        np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(found.low, again.low)
    np.testing.assert_array_equal(found.high, again.high)


@pytest.mark.parametrize("times", [30.0, -1000.0])
def test_values_of_a_wrong_unit_do_not_bend_what_is_filled(times):
    """One value in a hundred: they stay themselves, and the gaps are filled as without them."""
    X = tree()
    rows, is_gap = with_gaps(X, 0.2)
    is_wrong = ~is_gap & (np.random.default_rng(1).random(X.shape) < 0.01)
    spoilt = np.where(is_wrong, times * rows, rows)
    errors = []
    for given in (rows, spoilt):
        filled = fill_rows(given, *learn_filling(given))
        np.testing.assert_array_equal(filled[~is_gap], given[~is_gap])
        errors.append(np.sqrt(np.mean((filled - X)[is_gap] ** 2)))
    assert errors[1] < 1.25 * errors[0]


def test_columns_of_mostly_one_value_and_of_two_levels_have_no_far_values():
    rows = np.zeros((100, 2))
    rows[:3, 0], rows[:30, 1] = 9.0, 1.0
    low, high = filling.usual_range(rows)
    assert (low[0], high[0]) == (-np.inf, np.inf)
    assert low[1] < 0 < 1 < high[1]


def test_filled_values_are_nearer_than_medians_and_the_fork_is_kept():
    X = tree()
    rows, is_gap = with_gaps(X, 0.2)
    filled = fill_rows(rows, *learn_filling(rows))
    medians = np.where(is_gap, np.nanmedian(rows, axis=0), rows)
    errors = [np.sqrt(np.mean((of - X)[is_gap] ** 2)) for of in (filled, medians)]
    assert errors[0] < 0.4 * errors[1]
    assert len(learn(filled).branch_table_) == len(learn(X).branch_table_) == 3


@pytest.mark.parametrize("seed", range(3))
def test_gaps_in_a_round_cloud_make_no_fork(seed):
    cloud = np.random.default_rng(seed).normal(size=(300, 15))
    rows, _ = with_gaps(cloud, 0.2, seed)
    assert len(learn(fill_rows(rows, *learn_filling(rows))).branch_table_) == 1


def test_the_order_of_rows_leaves_no_trace():
    rows, _ = with_gaps(np.round(tree(150), 1), 0.2)
    order = np.random.default_rng(1).permutation(len(rows))
    check_equal(learn_filling(rows), learn_filling(rows[order]))


def test_rows_of_which_nothing_is_known_leave_no_trace():
    rows, _ = with_gaps(tree(150), 0.2)
    more = np.vstack([np.full((3, 12), np.nan), rows])
    check_equal(learn_filling(rows), learn_filling(more))


def test_a_table_without_gaps_gives_a_model_for_later_ones():
    X = tree()
    rows, is_gap = with_gaps(tree(), 0.3)
    filled = fill_rows(rows, *learn_filling(X))
    assert np.corrcoef(filled[is_gap], X[is_gap])[0, 1] > 0.9


def test_of_many_rows_some_tell_the_model(monkeypatch):
    monkeypatch.setattr(filling, "MAX_ROWS", 100)
    rows, _ = with_gaps(tree(), 0.2)
    few = filling.some_rows(rows)
    assert few.shape == (100, 12)
    given = {row.tobytes() for row in rows}
    assert all(row.tobytes() in given for row in few)


@pytest.mark.parametrize("n_columns", [1, 2])
def test_one_or_two_columns_are_enough(n_columns):
    rows, _ = with_gaps(tree()[:, :n_columns], 0.2)
    assert np.isfinite(fill_rows(rows, *learn_filling(rows))).all()
