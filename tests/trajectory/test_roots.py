"""Roots: what they change and what they leave."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.trajectory import Trajectory

from .drawn import same_partition, slow_segments, slow_times, trajectory
from .test_core import forests, graphs

seeds = st.integers(0, 2**32 - 1)
NODES = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 2.0], [3.0, -1.0]])
FORK = [[0, 1], [1, 2], [1, 3]]


def some_roots(found, seed):
    """Arguments of `rooted`, drawn by lot."""
    rng = np.random.default_rng(seed)
    n_nodes, names = len(found.nodes_), [name for name in found.milestones_.index if name[0] != "R"]
    choices = [
        {"node": int(rng.integers(n_nodes))},
        {"node": rng.integers(n_nodes, size=2)},
        {"sample": int(rng.integers(len(found.names_)))},
        {"sample": rng.integers(len(found.names_), size=3)},
        {},
    ]
    if names:
        choices.append({"node": str(rng.choice(names))})
    return choices[rng.integers(len(choices))]


@given(graphs, seeds)
def test_time_runs_from_any_roots(settings, seed):
    found = trajectory(**settings)
    roots = some_roots(found, seed)
    rooted = found.rooted(**roots)
    np.testing.assert_allclose(rooted.pseudotime_, slow_times(rooted), atol=1e-12)
    if "sample" in roots:
        np.testing.assert_array_equal(rooted.pseudotime_[roots["sample"]], 0)
    parts = list(nx.connected_components(nx.Graph(rooted.edges_.tolist())))
    for part in parts:
        assert part & set(rooted.roots_.tolist())
    table = rooted.milestones_
    assert set(table["node"][table["is_root"]]) == set(rooted.roots_.tolist())


@given(graphs, seeds)
def test_a_root_leaves_distances_segments_and_names(settings, seed):
    found = trajectory(**settings)
    rooted = found.rooted(**some_roots(found, seed))
    np.testing.assert_array_equal(rooted.distance_, found.distance_)
    i, j = np.indices((len(found.names_),) * 2)
    np.testing.assert_allclose(rooted.geodesic(i, j), found.geodesic(i, j), atol=1e-12)
    old, new = found.milestones_, rooted.milestones_
    names = [name for name in old.index if name[0] != "R"]
    assert [name for name in new.index if name[0] != "R"] == names
    assert new.loc[names, "node"].tolist() == old.loc[names, "node"].tolist()
    segment = slow_segments(rooted.edges_, len(rooted.nodes_), rooted.roots_)
    assert same_partition(rooted.branches_.tolist(), segment[rooted.placement_.edge].tolist())


@given(graphs, seeds)
def test_parents_lead_back_to_the_given_root(settings, seed):
    found = trajectory(**settings)
    rooted = found.rooted(**some_roots(found, seed))
    table, milestones = rooted.branch_table_, rooted.milestones_
    for name in table.index:
        seen = [name]
        while parent := table.loc[seen[-1], "parent"]:
            assert table.loc[parent, "end"] == table.loc[seen[-1], "start"]
            assert parent not in seen
            seen.append(parent)
        assert milestones.loc[table.loc[seen[-1], "start"], "is_root"]


@given(forests, seeds)
def test_time_is_that_of_the_branch_and_that_on_the_branch(settings, seed):
    found = trajectory(**settings)
    sample = np.random.default_rng(seed).integers(len(found.names_))
    rooted = found.rooted(sample=sample)
    start = rooted.branch_table_.loc[rooted.branches_, "start_time"]
    np.testing.assert_allclose(rooted.pseudotime_, start + rooted.branch_time_, atol=1e-12)
    i = np.flatnonzero(np.isfinite(found.geodesic(sample, np.arange(len(found.names_)))))
    np.testing.assert_allclose(rooted.pseudotime_[i], found.geodesic(sample, i), atol=1e-12)


@given(graphs, seeds, seeds)
def test_only_the_last_root_counts(settings, one, other):
    found = trajectory(**settings)
    last = some_roots(found, other)
    direct, by_way = found.rooted(**last), found.rooted(**some_roots(found, one)).rooted(**last)
    assert direct.samples_.equals(by_way.samples_)
    assert direct.milestones_.equals(by_way.milestones_)
    assert direct.branch_table_.equals(by_way.branch_table_)


@given(forests, seeds)
def test_progress_is_where_the_path_leaves_the_way(settings, seed):
    settings = settings | {"n_cut": 0, "doubled": 0, "n_nodes": max(settings["n_nodes"], 3)}
    found = trajectory(**settings)
    start, end = np.random.default_rng(seed).choice(len(found.nodes_), size=2, replace=False)
    rooted = found.rooted(node=int(start), end=int(end))
    G = nx.Graph()
    for (a, b), length in zip(rooted.edges_.tolist(), rooted.lengths_, strict=True):
        G.add_edge(a, b, weight=length)
    way = nx.dijkstra_path(G, int(start), int(end))
    whole = nx.path_weight(G, way, "weight")
    steps = [G.edges[edge]["weight"] for edge in pairwise(way)]
    leaves = dict(zip(way, np.cumsum([0.0, *steps]), strict=True))
    for i, (edge, position) in enumerate(
        zip(rooted.placement_.edge, rooted.placement_.position, strict=True)
    ):
        a, b = rooted.edges_[edge].tolist()
        if a in leaves and b in leaves:
            expected = (1 - position) * leaves[a] + position * leaves[b]
        else:
            near = nx.dijkstra_path(G, a, int(start))
            expected = leaves[next(node for node in near if node in leaves)]
        assert np.isclose(rooted.progress_[i], expected / whole, atol=1e-9)


def test_progress_is_missing_on_other_parts():
    nodes = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 9.0], [3.0, 9.0]])
    found = Trajectory([[0, 1], [2, 3]], nodes).rooted(node=0, end=1)
    np.testing.assert_array_equal(found.progress_, [0, 1, np.nan, np.nan])


def test_an_end_needs_a_root_elsewhere_in_its_part():
    nodes = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 9.0], [3.0, 9.0]])
    found = Trajectory([[0, 1], [2, 3]], nodes)
    with pytest.raises(ValueError, match="end=3 is not connected with the root; choose both in"):
        found.rooted(node=0, end=3)
    np.testing.assert_array_equal(found.rooted(end=3).progress_[2:], [0, 1])
    with pytest.raises(ValueError, match="end=0 is the root itself; choose another"):
        found.rooted(node="T3", end=0)
    with pytest.raises(ValueError, match="end=0 is the root itself; choose another"):
        found.rooted(sample=0, end=0)


def test_an_end_may_become_the_root_by_pruning():
    nodes = np.array([[0.0, 0.0], [5.0, 0.0], [9.0, 0.0], [5.0, 0.5]])
    found = Trajectory(FORK, nodes).rooted(node=1, end=3).prune(min_length=1.0)
    with pytest.raises(AttributeError, match="progress_ needs an end apart from the root"):
        _ = found.progress_


def test_no_end_no_progress():
    with pytest.raises(AttributeError, match="progress_ needs an end; call rooted"):
        _ = Trajectory(FORK, NODES).progress_


def test_several_roots():
    path = Trajectory([[k, k + 1] for k in range(4)], np.arange(5.0)[:, np.newaxis])
    np.testing.assert_array_equal(path.rooted(node=["T1", 4]).pseudotime_, [0, 1, 2, 1, 0])
    np.testing.assert_array_equal(path.rooted(sample=[1, 1, 3]).pseudotime_, [1, 0, 1, 0, 1])


def test_samples_at_one_place_make_one_root():
    found = Trajectory([[0, 1]], [[0.0, 0.0], [4.0, 0.0]], [[1.0, 1.0], [1.0, -1.0], [3.0, 0.0]])
    rooted = found.rooted(sample=[0, 1])
    assert len(rooted.roots_) == 1
    np.testing.assert_array_equal(rooted.pseudotime_, [0, 0, 2])


def test_a_root_by_name_of_a_sample():
    found = Trajectory(FORK, NODES, names=["a", "b", "c", "d"])
    np.testing.assert_array_equal(found.rooted(sample="c").roots_, [2])
    np.testing.assert_array_equal(found.rooted(sample=["c", "d"]).roots_, [2, 3])
    np.testing.assert_array_equal(found.rooted(sample=np.str_("a")).roots_, [0])


def test_the_root_of_another_tree_is_no_end():
    nodes = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 9.0], [3.0, 9.0]])
    found = Trajectory([[0, 1], [2, 3]], nodes)
    with pytest.raises(ValueError, match="end='T3' is not connected with the root; choose both in"):
        found.rooted("T1", end="T3")
