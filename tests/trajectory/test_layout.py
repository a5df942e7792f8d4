"""Layouts as rooted trees: what a reader of the picture takes for granted holds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.trajectory import Trajectory
from branchwise.trajectory.layout import REACH, graph_in_space, spread, stepwise_graph, tree_layout

from .drawn import trajectory

ANY_GRAPH = st.builds(
    trajectory,
    st.integers(0, 10_000),
    n_nodes=st.integers(1, 14),
    extra=st.integers(0, 3),
    n_cut=st.integers(0, 3),
    n_points=st.integers(1, 30),
    doubled=st.integers(0, 2),
)


def arm_before(found):
    """For each arm the one that leads to the milestone that it leaves, else −1."""
    leading = np.full(len(found.names), -1)
    leading[found.end[found.end >= 0]] = np.flatnonzero(found.end >= 0)
    return leading[found.start]


@given(ANY_GRAPH)
def test_every_sample_has_its_pseudotime_and_lies_in_the_room_of_its_arm(path):
    found = tree_layout(path)
    x, y = found.samples.T
    assert np.array_equal(x, path.pseudotime_)
    assert np.all(np.abs(y - found.across[found.arm]) <= REACH)
    low, high = found.room[found.arm].T
    assert np.all((low < y) & (y < high))
    first, last = found.times[found.arm].T
    slack = 1e-9 * (1 + x)
    assert np.all((first - slack <= x) & (x <= last + slack))
    assert np.array_equal(found.branch[found.arm], path.view.branches.placed.edge)


@given(ANY_GRAPH)
def test_rooms_of_arms_that_do_not_follow_each_other_never_overlap(path):
    found = tree_layout(path)
    before = arm_before(found)
    for k, (low, high) in enumerate(found.room):
        assert high - low >= 1
        ancestors, up = {k}, before[k]
        while up >= 0:
            assert found.room[up, 0] <= low
            assert high <= found.room[up, 1]
            ancestors.add(up)
            up = before[up]
        for other in range(k):
            if other not in ancestors:
                apart = found.room[other, 1] <= low or high <= found.room[other, 0]
                assert apart or k in lineage(before, other)


def lineage(before, arm):
    above = set()
    while arm >= 0:
        above.add(arm)
        arm = before[arm]
    return above


@given(ANY_GRAPH)
def test_an_arm_lies_in_the_middle_of_those_that_follow(path):
    found = tree_layout(path)
    for k, milestone in enumerate(found.end):
        following = found.across[found.start == milestone]
        if milestone >= 0 and len(following):
            assert found.across[k] == pytest.approx((following.min() + following.max()) / 2)
    for root in np.searchsorted(path.view.branches.found.milestones, path.roots_):
        following = found.across[found.start == root]
        middle = (following.min() + following.max()) / 2
        assert found.milestones[root, 1] == pytest.approx(middle)


@given(ANY_GRAPH)
def test_arms_run_forward_from_milestone_to_milestone(path):
    found = tree_layout(path)
    time = found.milestones[:, 0]
    slack = 1e-9 * (1 + time.max())
    assert np.all(found.times[:, 0] <= found.times[:, 1] + slack)
    assert found.times[:, 0] == pytest.approx(time[found.start])
    whole = found.end >= 0
    assert found.times[whole, 1] == pytest.approx(time[found.end[whole]])
    assert found.milestones[found.end[whole], 1] == pytest.approx(found.across[whole])
    # Each milestone but the roots is reached by one arm.
    assert len(np.unique(found.end[whole])) == whole.sum() == len(found.names) - len(path.roots_)


@given(ANY_GRAPH)
def test_halves_of_a_cut_branch_meet_at_one_time_and_have_its_length(path):
    found = tree_layout(path)
    table = path.branch_table_
    for branch, (one, other) in zip(found.closing_branch, found.closings, strict=True):
        assert one[0] == pytest.approx(other[0])
        halves = np.flatnonzero(found.branch == branch)
        assert len(halves) in (1, 2)
        assert one.tolist() == [found.times[halves[0], 1], found.across[halves[0]]]
        length = np.diff(found.times[halves], axis=1).sum()
        assert length == pytest.approx(table.length.iloc[branch])
    n_alone = ((table.start == table.end) & (table.length == 0)).sum()
    n_leading = len(path.milestones_) - len(path.roots_)
    assert len(found.closings) == len(table) - n_leading - n_alone


def test_a_ring_is_two_arms_of_half_its_length():
    angle = 2 * np.pi * np.arange(8) / 8
    nodes = np.column_stack([np.cos(angle), np.sin(angle)])
    path = Trajectory([[k, (k + 1) % 8] for k in range(8)], nodes)
    found = tree_layout(path)
    half = path.lengths_.sum() / 2
    assert found.closings[0] == pytest.approx(np.array([[half, 1.5], [half, 0.5]]))
    assert found.times[:, 1] == pytest.approx(half)
    assert np.bincount(found.arm).tolist() == [4, 4]


def test_of_two_equal_ways_to_a_fork_one_leads_and_the_other_ends_there():
    nodes = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 1.0], [2.0, -1.0], [3.0, 0.0], [5.0, 0.0]])
    path = Trajectory([[0, 1], [1, 2], [1, 3], [2, 4], [3, 4], [4, 5]], nodes).rooted(node=0)
    found = tree_layout(path)
    assert len(found.across) == len(path.branch_table_)
    fork = found.names.index(path.milestones_.query("node == 4").index[0])
    assert found.closings[0, 1].tolist() == found.milestones[fork].tolist()


def test_parts_lie_side_by_side_with_a_gap():
    nodes = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 5.0], [1.0, 5.0], [9.0, 9.0]])
    path = Trajectory([[0, 1], [2, 3]], nodes)
    found = tree_layout(path)
    order = np.argsort(path.branch_table_.part.to_numpy())
    assert found.room[order].tolist() == [[3, 4], [1.5, 2.5], [0, 1]]
    assert found.times[order].tolist() == [[0, 1], [0, 1], [0, 0]]
    assert found.end[order[2]] == -1
    assert len(found.closings) == 0


def test_a_long_comb_needs_no_recursion():
    n = 3000
    spine = np.column_stack([np.arange(n), np.zeros(n)])
    edges = [[k, k + 1] for k in range(n - 1)] + [[k, n + k - 1] for k in range(1, n - 1)]
    path = Trajectory(edges, np.vstack([spine, spine[1:-1] + np.array([0, 0.5])]))
    found = tree_layout(path.rooted(node=0))
    assert len(found.across) == 2 * (n - 2) + 1
    tips = [name.startswith("T") and name != "T1" for name in found.names]
    assert np.diff(np.sort(found.milestones[tips, 1])) == pytest.approx(1)


def test_offsets_are_wider_where_samples_are_denser():
    rng = np.random.default_rng(0)
    arm = np.repeat([0, 1], [4000, 400])
    time = rng.uniform(size=4400)
    offset = np.abs(spread(arm, time, np.array([[0.0, 1.0], [0.0, 1.0]])))
    assert offset[:4000].max() == pytest.approx(REACH, rel=0.01)
    assert offset[4000:].max() == pytest.approx(REACH / 10, rel=0.35)
    assert offset[:4000].mean() == pytest.approx(REACH / 2, rel=0.1)


def test_one_sample_lies_on_its_arm():
    path = Trajectory([[0, 1]], [[0.0, 0.0], [2.0, 0.0]], [[1.0, 1.0]])
    assert tree_layout(path).samples.tolist() == [[1.0, 0.5]]


@given(ANY_GRAPH)
def test_a_graph_by_steps_has_every_branch_once_and_runs_forward(path):
    found, tree = stepwise_graph(path), tree_layout(path)
    assert len(np.unique(found.branches, axis=0)) == len(path.branch_table_)
    assert np.all(found.lines[:, 0, 0] < found.lines[:, 1, 0])
    whole = np.flatnonzero(tree.end >= 0)
    step = found.milestones[tree.end[whole], 0] - found.milestones[tree.start[whole], 0]
    assert np.all(step == 1)
    drawn = np.append(found.line_branch, found.curve_branch)
    is_alone = (path.branch_table_.start == path.branch_table_.end) & (
        path.branch_table_.length == 0
    )
    assert np.array_equal(np.bincount(drawn), np.where(is_alone, 1, 2))


@given(st.builds(trajectory, st.integers(0, 10_000), extra=st.integers(0, 3)))
def test_discs_in_space_are_at_the_middle_of_their_branch(path):
    found = graph_in_space(path)
    table = path.branch_table_
    # The same places as samples, which know how far along their branch they are.
    again = path.project(found.branches)
    assert again.distance.to_numpy() == pytest.approx(0, abs=1e-7)
    # Branches may cross in the plane, and a disc may be where they do.
    certain = again.branch.to_numpy() == table.index
    assert certain.mean() > 0.5
    assert again.branch_position[certain].to_numpy() == pytest.approx(0.5, abs=1e-6)
