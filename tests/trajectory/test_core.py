"""Places, times, distances, branches and milestones, against slow independent answers."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import ortho_group

from branchwise.trajectory import Trajectory

from ..graph.test_nearest_edge import all_edges
from .drawn import drawn, same_partition, slow_distances, slow_segments, slow_times, trajectory

graphs = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "n_nodes": st.integers(1, 14),
        "extra": st.integers(0, 4),
        "n_cut": st.integers(0, 3),
        "n_points": st.integers(1, 15),
        "n_dims": st.integers(1, 3),
        "doubled": st.integers(0, 3),
    }
)
forests = graphs.map(lambda settings: settings | {"extra": 0})
# Edges in one dimension, or at the same place, overlap: which is nearest is a matter of rounding.
in_general_position = graphs.map(
    lambda settings: settings | {"doubled": 0, "n_dims": max(settings["n_dims"], 2)}
)
trees = forests.map(lambda settings: settings | {"n_cut": 0})


@given(graphs)
def test_samples_lie_at_the_nearest_place_of_any_edge(settings):
    edges, nodes, points = drawn(**settings)
    found = Trajectory(edges, nodes, points)
    apart = all_edges(points, nodes, found.edges_)
    np.testing.assert_allclose(found.distance_, apart.min(axis=1), atol=1e-12)
    placed = found.placement_
    a, b = nodes[placed.edges[placed.edge]].transpose(1, 0, 2)
    foot = a + placed.position[:, np.newaxis] * (b - a)
    np.testing.assert_allclose(np.linalg.norm(points - foot, axis=1), found.distance_, atol=1e-12)
    across = max(settings["n_dims"] - 1, 1)
    assert np.isclose(found.noise_, np.sqrt(np.mean(found.distance_**2) / across), atol=1e-12)


@given(graphs)
def test_time_is_the_shortest_way_from_the_roots(settings):
    found = trajectory(**settings)
    np.testing.assert_allclose(found.pseudotime_, slow_times(found), atol=1e-12)
    scaled, latest = found.pseudotime_scaled_, found.pseudotime_.max()
    np.testing.assert_allclose(scaled * latest, found.pseudotime_, atol=1e-12)
    assert scaled.min() >= 0
    assert scaled.max() == (1 if latest > 0 else 0)


@given(graphs)
def test_every_connected_part_has_one_root(settings):
    found = trajectory(**settings)
    G = nx.Graph(found.edges_.tolist())
    for part in nx.connected_components(G):
        assert len(part & set(found.roots_.tolist())) == 1
        here = found.milestones_[found.milestones_["node"].isin(part)]
        assert here["part"].nunique() == 1


@given(graphs)
def test_distances_between_samples_are_those_along_the_graph(settings):
    found = trajectory(**settings)
    i, j = np.indices((len(found.names_),) * 2)
    distance = found.geodesic(i, j)
    np.testing.assert_allclose(distance, slow_distances(found), atol=1e-12)
    np.testing.assert_array_equal(np.diag(distance), 0)
    np.testing.assert_allclose(distance, distance.T, rtol=1e-12)
    by_another = distance[:, :, np.newaxis] + distance
    assert (distance[:, np.newaxis] <= by_another + 1e-9).all()
    earlier, time = found.samples_["part"].to_numpy(), found.pseudotime_
    together = earlier[i] == earlier[j]
    np.testing.assert_array_equal(np.isfinite(distance), together)
    assert (np.abs(time[i] - time[j])[together] <= distance[together] + 1e-12).all()


@given(forests)
def test_time_is_that_of_the_branch_and_that_on_the_branch(settings):
    found = trajectory(**settings)
    table = found.branch_table_.loc[found.branches_]
    np.testing.assert_allclose(
        found.pseudotime_, table["start_time"] + found.branch_time_, atol=1e-12
    )
    np.testing.assert_allclose(
        found.branch_time_, found.branch_position_ * table["length"], atol=1e-12
    )
    table = found.branch_table_
    np.testing.assert_allclose(table["end_time"], table["start_time"] + table["length"], atol=1e-12)


@given(graphs)
def test_branches_are_the_segments_between_milestones(settings):
    found = trajectory(**settings)
    n_nodes = len(found.nodes_)
    segment = slow_segments(found.edges_, n_nodes, found.roots_)
    edge = found.placement_.edge
    assert same_partition(found.branches_.tolist(), segment[edge].tolist())
    table = found.branch_table_
    assert len(table) == len(set(segment.tolist()))
    assert table.index.is_unique
    np.testing.assert_allclose(
        sorted(table["length"]), sorted(np.bincount(segment, weights=found.lengths_)), atol=1e-12
    )
    counts = dict(zip(*np.unique(found.branches_, return_counts=True), strict=True))
    assert table["n_samples"].to_dict() == {name: counts.get(name, 0) for name in table.index}


@given(graphs)
def test_parents_lead_back_to_a_root(settings):
    found = trajectory(**settings)
    table, milestones = found.branch_table_, found.milestones_
    seen = []
    for name, branch in table.iterrows():
        if branch["parent"]:
            parent = table.loc[branch["parent"]]
            assert parent["end"] == branch["start"]
            assert np.isclose(
                parent["start_time"] + parent["length"], branch["start_time"], atol=1e-12
            )
            assert branch["parent"] in seen  # from the root outwards
        else:
            assert milestones.loc[branch["start"], "is_root"]
        seen.append(name)
    assert (table["start_time"] <= table["end_time"]).all()


@given(graphs)
def test_milestones_are_tips_forks_and_roots(settings):
    found = trajectory(**settings)
    table = found.milestones_
    degree = np.bincount(found.edges_.ravel(), minlength=len(found.nodes_))
    kinds = {1: "tip", 2: "root"}
    assert [kinds.get(degree[node], "fork") for node in table["node"]] == table["kind"].tolist()
    np.testing.assert_array_equal(table["n_branches"], degree[table["node"]])
    assert set(table["node"]) == set(np.flatnonzero(degree != 2)) | set(found.roots_.tolist())
    assert set(table["node"][table["is_root"]]) == set(found.roots_.tolist())
    for kind, group in table.groupby("kind"):
        assert group.index.tolist() == [f"{kind[0].upper()}{k}" for k in range(1, len(group) + 1)]
    assert (table["pseudotime"][table["is_root"]] == 0).all()


@given(trees)
def test_t1_and_t2_are_the_ends_of_the_longest_path(settings):
    found = trajectory(**(settings | {"doubled": 0, "n_nodes": max(settings["n_nodes"], 2)}))
    G = nx.Graph()
    for (a, b), length in zip(found.edges_.tolist(), found.lengths_, strict=True):
        G.add_edge(a, b, weight=length)
    reach = dict(nx.all_pairs_dijkstra_path_length(G))
    longest = max(max(lengths.values()) for lengths in reach.values())
    first, second = found.milestones_["node"][["T1", "T2"]]
    assert np.isclose(reach[first][second], longest)
    assert found.nodes_[first].tolist() < found.nodes_[second].tolist()
    assert found.roots_.tolist() == [first]


@given(forests)
def test_a_lineage_is_the_way_from_the_root_to_a_tip(settings):
    found = trajectory(**settings)
    table, milestones = found.branch_table_, found.milestones_
    tips = milestones.index[(milestones["kind"] == "tip") & ~milestones["is_root"]]
    assert list(found.lineages_) == tips.tolist()
    for tip, branches in found.lineages_.items():
        way = table.loc[branches]
        assert milestones.loc[way["start"].iloc[0], "is_root"]
        assert way["start"].tolist()[1:] == way["end"].tolist()[:-1]
        assert way["end"].iloc[-1] == tip
        assert np.isclose(way["length"].sum(), milestones.loc[tip, "pseudotime"], atol=1e-12)


@given(graphs, st.integers(0, 2**32 - 1))
def test_permuting_the_samples_permutes_the_results(settings, seed):
    edges, nodes, points = drawn(**settings)
    order = np.random.default_rng(seed).permutation(len(points))
    found = Trajectory(edges, nodes, points).samples_
    moved = Trajectory(edges, nodes, points[order], names=order).samples_
    assert moved.equals(found.loc[order])


@given(in_general_position, st.integers(0, 2**32 - 1))
def test_numbering_the_nodes_and_turning_the_edges_changes_only_the_numbering(settings, seed):
    edges, nodes, points = drawn(**settings)
    rng = np.random.default_rng(seed)
    number = rng.permutation(len(nodes))
    moved_nodes = np.empty_like(nodes)
    moved_nodes[number] = nodes
    moved_edges = number[edges[rng.permutation(len(edges))]]
    turn = rng.uniform(size=len(edges)) < 0.5
    moved_edges[turn] = moved_edges[turn, ::-1]
    one, other = Trajectory(edges, nodes, points), Trajectory(moved_edges, moved_nodes, points)
    np.testing.assert_allclose(one.pseudotime_, other.pseudotime_, atol=1e-12)
    np.testing.assert_allclose(one.distance_, other.distance_, atol=1e-12)
    names = [name for name in one.milestones_.index if name[0] != "R"]  # numbered as the nodes
    old = one.milestones_.loc[names, "node"]
    assert number[old].tolist() == other.milestones_.loc[names, "node"].tolist()
    # A sample at a fork is on the first of its edges.
    inside = (one.placement_.position > 0) & (one.placement_.position < 1)
    if not one.milestones_.index.str.startswith("R").any():
        no_number = [name.partition(".")[0] for name in one.branches_[inside]]
        assert no_number == [name.partition(".")[0] for name in other.branches_[inside]]


@given(in_general_position, st.sampled_from([0.125, 8.0, 3.7]))
def test_scaling_and_moving_and_turning_the_space(settings, factor):
    edges, nodes, points = drawn(**settings)
    one = Trajectory(edges, nodes, points)
    larger = Trajectory(edges, factor * nodes, factor * points)
    np.testing.assert_allclose(larger.pseudotime_, factor * one.pseudotime_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(larger.lengths_, factor * one.lengths_, rtol=1e-12)
    assert larger.milestones_.index.equals(one.milestones_.index)
    turn = ortho_group.rvs(nodes.shape[1], random_state=0)
    turned = Trajectory(edges, nodes @ turn + 5, points @ turn + 5)
    np.testing.assert_allclose(turned.lengths_, one.lengths_, atol=1e-12)
    np.testing.assert_allclose(turned.distance_, one.distance_, atol=1e-12)
    i, j = np.indices((len(points),) * 2)
    np.testing.assert_allclose(turned.geodesic(i, j), one.geodesic(i, j), atol=1e-9)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_change_nothing(n_jobs):
    edges, nodes, points = drawn(3, n_nodes=60, n_points=20_000)
    one = Trajectory(edges, nodes, points, sigma=0.1)
    other = Trajectory(edges, nodes, points, sigma=0.1, n_jobs=n_jobs)
    assert one.samples_.equals(other.samples_)
    assert one.prune(0.5).samples_.equals(other.prune(0.5).samples_)


@pytest.mark.parametrize(
    "as_tree",
    [
        lambda S: S,
        sparse.csr_array,
        sparse.coo_matrix,
        lambda S: S > 0,
        lambda S: np.argwhere(np.triu(S)),
        lambda S: np.argwhere(S).tolist(),
        lambda S: np.argwhere(np.triu(S)).astype(np.uint8),
    ],
)
def test_a_matrix_and_a_list_of_edges_are_the_same_graph(as_tree):
    S = np.zeros((4, 4))
    S[[0, 1, 1], [1, 2, 3]] = [1.0, 0.5, 2.0]
    nodes = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 2.0], [3.0, -1.0]])
    found = Trajectory(as_tree(S + S.T), nodes)
    assert found.edges_.tolist() == [[0, 1], [1, 2], [1, 3]]


@pytest.mark.parametrize("tree", [[], np.empty((0, 2)), np.zeros((1, 1)), [[0, 0]]])
def test_one_node(tree):
    found = Trajectory(tree, [[1.0, 2.0]], [[1.0, 5.0], [1.0, 2.0]])
    np.testing.assert_array_equal(found.pseudotime_, 0)
    np.testing.assert_array_equal(found.pseudotime_scaled_, 0)
    np.testing.assert_array_equal(found.distance_, [3, 0])
    assert found.branches_.tolist() == ["R1-R1", "R1-R1"]
    assert found.lineages_ == {}
    assert found.geodesic(0, 1) == 0
    assert len(found.prune().branch_table_) == len(found.merge(1).branch_table_) == 1
    np.testing.assert_array_equal(found.branch_probabilities(), 1)


def test_a_tree_in_one_place():
    found = Trajectory([[0, 1], [1, 2], [1, 3]], np.zeros((4, 2)), np.ones((2, 2)))
    np.testing.assert_array_equal(found.pseudotime_, 0)
    np.testing.assert_array_equal(found.pseudotime_scaled_, 0)
    assert len(found.branch_table_) == 3
    for node in found.milestones_.index:
        np.testing.assert_array_equal(found.rooted(node=node).pseudotime_scaled_, 0)
        table = found.rooted(node=node).branch_table_
        assert (table["start"][table["parent"] == ""] == node).all()


def test_a_ring_starts_where_reading_starts():
    angle = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    nodes = np.column_stack([np.cos(angle), np.sin(angle)])
    edges = np.column_stack([np.arange(12), (np.arange(12) + 1) % 12])
    found = Trajectory(edges, nodes)
    assert found.roots_.tolist() == [6]
    assert found.branch_table_.index.tolist() == ["R1-R1"]
    step = found.lengths_[0]
    away = np.minimum((np.arange(12) - 6) % 12, (6 - np.arange(12)) % 12)
    np.testing.assert_allclose(found.pseudotime_, away * step)


def test_names_of_samples_come_from_the_index():
    pandas = pytest.importorskip("pandas")
    points = pandas.DataFrame([[0.0, 1.0], [1.0, 0.0]], index=["a", "b"], columns=["x", "y"])
    found = Trajectory([[0, 1]], [[0.0, 0.0], [2.0, 0.0]], points)
    assert found.samples_.index.tolist() == ["a", "b"]
    assert found.samples_.index.name == "sample"
    assert found.geodesic("a", "b") == 1
    assert found.branch_probabilities().index.tolist() == ["a", "b"]
    named = Trajectory([[0, 1]], [[0.0, 0.0], [2.0, 0.0]], points, names=["c", "d"])
    assert named.samples_.index.tolist() == ["c", "d"]


def test_a_polars_table_has_no_index():
    polars = pytest.importorskip("polars")
    points = polars.DataFrame({"x": [0.0, 1.0], "y": [1.0, 0.0]})
    found = Trajectory([[0, 1]], [[0.0, 0.0], [2.0, 0.0]], points, names=polars.Series(["a", "b"]))
    assert found.samples_.index.tolist() == ["a", "b"]
    np.testing.assert_array_equal(found.pseudotime_, [0, 1])
    assert found.project(points).index.tolist() == [0, 1]


def test_branches_between_the_same_milestones_have_numbers():
    nodes = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0], [1.0, -3.0], [-1.0, 0.0]])
    found = Trajectory([[0, 2], [2, 1], [0, 3], [3, 1], [0, 4]], nodes)
    assert found.branch_table_.index.tolist() == ["T1-F1", "F1-F1"]
    eight = Trajectory([[0, 2], [2, 1], [0, 3], [3, 1], [0, 4], [0, 1]], nodes)
    table = eight.branch_table_
    assert table.index.tolist() == ["T1-F1", "F1-F2.1", "F1-F2.2", "F1-F2.3"]
    assert table["parent"].tolist() == ["", "T1-F1", "T1-F1", "T1-F1"]


def test_a_trajectory_counts_one_branch_as_one():
    line = Trajectory([[0, 1]], np.array([[0.0], [1.0]]))
    assert repr(line) == "<Trajectory: 2 samples, 1 branch, 2 tips, rooted at T1>"


def test_a_trajectory_tells_its_roots_by_name():
    path = Trajectory([[0, 1], [1, 2], [3, 4]], np.arange(10.0).reshape(5, 2))
    assert repr(path) == "<Trajectory: 5 samples, 2 branches, 4 tips, rooted at T1, T3>"
    rooted = "<Trajectory: 5 samples, 3 branches, 4 tips, rooted at R1, T3>"
    assert repr(path.rooted(node=1)) == rooted
