"""Methods of a trajectory that look at values of its samples."""

import numpy as np
import pytest

from branchwise.trajectory import Trajectory
from branchwise.trajectory.association import (
    associated_features,
    branch_differences,
    branch_markers,
)
from branchwise.trajectory.summaries import branch_summaries
from branchwise.trajectory.trends import pseudotimes, tree_trends

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore:Time starts where")  # labels by lot

NODES = np.array([[0.0, 0.0], [4.0, 0.0], [8.0, 3.0], [7.0, -3.0]])
EDGES = [[0, 1], [1, 2], [1, 3]]
FEATURES = ["up", "down"]


def named(n_samples=90, seed=0):
    """Samples with names on a fork, simulated values and an outcome."""
    rng = np.random.default_rng(seed)
    edge, t = rng.integers(3, size=n_samples), rng.random((n_samples, 1))
    a, b = NODES[np.array(EDGES)[edge]].transpose(1, 0, 2)
    names = [f"patient {k}" for k in rng.permutation(n_samples)]
    points = pd.DataFrame((1 - t) * a + t * b, index=names)
    values = pd.DataFrame(rng.normal(size=(n_samples, 2)), index=names, columns=FEATURES)
    data = pd.DataFrame({"relapse": rng.random(n_samples) < 0.3}, index=names)
    return Trajectory(EDGES, NODES, points), values, data


CALLS = {
    "trends": lambda found, values, data: found.trends(values, n_points=3, n_knots=20),
    "associated": lambda found, values, data: found.associated_features(values),
    "differences": lambda found, values, data: found.branch_differences("F1", values),
    "markers": lambda found, values, data: found.branch_markers(values),
    "summary": lambda found, values, data: found.summary(data, n_bins=2),
    "labels": lambda found, values, data: (
        found.rooted(labels=data["relapse"], value=True).milestones_
    ),
}


def test_methods_are_the_functions_on_the_branches():
    found, values, data = named()
    branches = found.view.branches
    where = branches.placed, branches.start_time
    fork = branches.milestones.index("F1")
    for table, expected in (
        (
            found.trends(values, n_points=3, n_knots=20),
            tree_trends(*where, branches.names, values, n_points=3, n_knots=20),
        ),
        (found.associated_features(values, df=3), associated_features(*where, values, df=3)),
        (
            found.branch_differences("F1", values, df=2),
            branch_differences(*where, branches.names, values, fork=fork, df=2),
        ),
        (found.branch_markers(values), branch_markers(where[0], branches.names, values)),
        (found.summary(data, n_bins=2), branch_summaries(*where, branches.names, data, n_bins=2)),
    ):
        pd.testing.assert_frame_equal(table, expected)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_names_in_another_order_are_told_from_those_of_the_samples(call):
    found, values, data = named()
    expected = call(found, values, data)
    order = np.random.default_rng(1).permutation(len(values))
    with pytest.raises(ValueError, match=r"has 'patient \d+' in row 0, where .* has 'patient \d+'"):
        call(found, values.iloc[order], data.iloc[order])
    names = found.names_
    pd.testing.assert_frame_equal(
        call(found, values.iloc[order].loc[names], data.iloc[order].loc[names]), expected
    )


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_other_names_and_numbers_are_taken_in_order(call):
    found, values, data = named()
    expected = call(found, values, data)
    other = [f"visit {k}" for k in range(len(values))]
    for index in (other, range(len(values))):
        again = call(found, values.set_axis(index), data.set_axis(index))
        pd.testing.assert_frame_equal(again, expected)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_samples_without_names_are_in_order(call):
    found, values, data = named()
    plain = Trajectory(EDGES, NODES, found.view.points)
    rows = np.random.default_rng(1).permutation(len(values))
    expected = call(plain, values, data)
    again = call(plain, values.set_axis(rows), data.set_axis(rows))
    pd.testing.assert_frame_equal(again, expected)


def test_forks_are_named_in_messages():
    found, values, _ = named()
    assert found.branch_differences(1, values).equals(found.branch_differences("F1", values))
    rule = "must be a milestone at which several branches start"
    for fork in ("T1", 0):
        with pytest.raises(ValueError, match=f"fork={fork!r} {rule}; choose from F1"):
            found.branch_differences(fork, values)
    with pytest.raises(ValueError, match=r"milestones T1, T2, T3, F1\."):
        found.branch_differences("F2", values)
    path = Trajectory([[0, 1]], NODES[:2], found.view.points)
    with pytest.raises(ValueError, match=f"fork='T2' {rule}, but there is none; root the tree"):
        path.branch_differences("T2", values)


@pytest.mark.parametrize(
    "root", [{}, {"sample": 3}, {"sample": [3, 40]}, {"node": [0, 4]}], ids=str
)
@pytest.mark.parametrize(
    "edges", [[[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]], [[0, 1], [1, 2], [1, 3], [3, 4], [4, 1]]]
)
def test_pseudotime_in_tables_is_that_of_samples(edges, root):
    """Also where a branch is reached from both ends, on a ring or between two roots."""
    rng = np.random.default_rng(0)
    nodes = rng.normal(size=(5, 2))
    found = Trajectory(edges, nodes, rng.normal(size=(60, 2))).rooted(**root)
    placed, times = (
        found.view.branches.placed,
        (found.view.branches.start_time, found.view.branches.end_time),
    )
    time = pseudotimes(placed, *times, placed.edge, placed.position)
    np.testing.assert_allclose(time, found.pseudotime_, atol=1e-12)
    trends = found.trends(np.zeros((60, 1)), n_points=2, n_knots=20)
    summary = found.summary(pd.DataFrame({"x": np.zeros(60)}), n_bins=1)
    summary = summary[summary.bin == "all"].set_index("branch")
    table = found.branch_table_
    for column, position, expected in (
        ("from_pseudotime", 0, table.start_time),
        ("to_pseudotime", 1, table.end_time),
    ):
        ends = trends[trends.position == position].set_index("branch").pseudotime
        np.testing.assert_allclose(ends.loc[table.index], expected, atol=1e-12)
        np.testing.assert_allclose(summary.loc[table.index, column], expected, atol=1e-12)
    values = rng.normal(size=(60, 1))
    correlation = np.corrcoef(found.pseudotime_, values[:, 0])[0, 1]
    assert found.associated_features(values).correlation.item() == pytest.approx(correlation)


def test_missing_values_of_nullable_columns():
    found, values, _ = named()
    values = values.round()
    values.iloc[::7, 0] = np.nan
    for call in (found.associated_features, found.branch_markers):
        pd.testing.assert_frame_equal(call(values.astype("Int64")), call(values))


def test_a_single_feature_is_a_column():
    found, values, _ = named()
    for one in (values["up"], values["up"].to_numpy()):
        with pytest.raises(ValueError, match=r"values has shape \(90,\) but must have two dim"):
            found.trends(one)


def test_end_times_are_one_per_branch():
    found, values, _ = named()
    branches = found.view.branches
    where = branches.placed, branches.start_time, branches.names
    with pytest.raises(ValueError, match=r"end_time has shape \(1,\) but must have one value for"):
        tree_trends(*where, values, end_time=[1.0])
