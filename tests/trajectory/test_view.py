"""New samples on the graph, and the probabilities of branches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from branchwise import DDRTree
from branchwise.trajectory import Trajectory

from ..conftest import branching
from ..graph.test_nearest_edge import all_edges
from .drawn import drawn, slow_segments
from .test_core import graphs
from .test_roots import some_roots

seeds = st.integers(0, 2**32 - 1)
PATH = [[0, 1]], np.array([[0.0, 0.0], [4.0, 0.0]])


@given(graphs, seeds)
def test_the_samples_themselves_are_placed_where_they_are(settings, seed):
    edges, nodes, points = drawn(**settings)
    found = Trajectory(edges, nodes, points)
    found = found.rooted(**some_roots(found, seed))
    places, samples = found.project(points), found.samples_
    np.testing.assert_array_equal(places["edge"], found.placement_.edge)
    np.testing.assert_array_equal(places["position"], found.placement_.position)
    np.testing.assert_array_equal(places[["source", "target"]], found.edges_[places["edge"]])
    for column in ("distance", "branch", "branch_position", "pseudotime", "pseudotime_scaled"):
        np.testing.assert_array_equal(places[column], samples[column])


@given(graphs, seeds)
def test_new_points_lie_at_the_nearest_place_whatever_the_root(settings, seed):
    edges, nodes, points = drawn(**settings)
    found = Trajectory(edges, nodes, points)
    rooted = found.rooted(**some_roots(found, seed))
    new = np.random.default_rng(seed).normal(size=(9, settings["n_dims"]))
    places = rooted.project(new)
    np.testing.assert_allclose(
        places["distance"], all_edges(new, found.nodes_, found.edges_).min(axis=1), atol=1e-12
    )
    a, b = rooted.nodes_[places["source"]], rooted.nodes_[places["target"]]
    foot = a + places["position"].to_numpy()[:, np.newaxis] * (b - a)
    np.testing.assert_allclose(np.linalg.norm(new - foot, axis=1), places["distance"], atol=1e-9)
    alone = Trajectory(edges, nodes, new).rooted(node=0)
    np.testing.assert_array_equal(found.rooted(node=0).project(new)["branch"], alone.branches_)
    np.testing.assert_array_equal(
        found.rooted(node=0).project(new)["pseudotime"], alone.pseudotime_
    )


@given(graphs, seeds, st.sampled_from([0.05, 0.5, 4.0]))
def test_probabilities_by_the_dense_formula(settings, seed, sigma):
    """Weights exp(−‖z − c‖²/σ), normalised; a node's go to the branches of its edges."""
    edges, nodes, points = drawn(**settings)
    found = Trajectory(edges, nodes, points, sigma=sigma)
    roots = some_roots(found, seed)
    found = found.rooted(**roots)
    squared = ((points[:, np.newaxis] - nodes) ** 2).sum(axis=2)
    weights = softmax(-squared / sigma, axis=1)
    segment = slow_segments(found.edges_, len(found.nodes_), found.roots_)
    expected = np.zeros((len(points), segment.max() + 1))
    for node in range(len(nodes)):
        ends = [k for k, edge in enumerate(found.edges_.tolist()) for end in edge if end == node]
        for k in ends:
            expected[:, segment[k]] += weights[:, node] / len(ends)
    probabilities = found.branch_probabilities()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-12)
    # Segments in the order of the branches: each sample's own tells which is which.
    np.testing.assert_allclose(
        np.sort(probabilities, axis=1), np.sort(expected, axis=1), atol=1e-12
    )
    for i, name in enumerate(found.branches_):
        own = expected[i, segment[found.placement_.edge[i]]]
        assert np.isclose(probabilities[name].iloc[i], own, atol=1e-12)
    assert probabilities.index.tolist() == found.names_.tolist()
    assert probabilities.columns.tolist() == found.branch_table_.index.tolist()


@given(graphs)
def test_hard_assignments_are_certain(settings):
    edges, nodes, points = drawn(**settings)
    found = Trajectory(edges, nodes, points)
    for probabilities in (found.branch_probabilities(), found.branch_probabilities(points)):
        np.testing.assert_array_equal(probabilities.sum(axis=1), 1)
        assert probabilities.idxmax(axis=1).tolist() == found.branches_.tolist()


def test_the_likeliest_branch_is_mostly_the_nearest():
    model = DDRTree(2, random_state=0).fit(branching(300, 5, noise=0.05))
    found = Trajectory.from_estimator(model).prune()
    likeliest = found.branch_probabilities().idxmax(axis=1)
    assert np.mean(likeliest == found.branches_) > 0.9


def test_the_index_of_a_table_is_kept():
    pandas = pytest.importorskip("pandas")
    found = Trajectory(*PATH)
    index = pandas.MultiIndex.from_product([["a"], [1, 2]], names=["u", "v"])
    for labels in (pandas.Index(["p", "q"], name="patient"), index):
        table = pandas.DataFrame([[1.0, 1.0], [3.0, 0.0]], columns=["x", "y"], index=labels)
        assert found.project(table).index.equals(labels)
        assert found.project(table).index.names == labels.names
        assert found.branch_probabilities(table).index.equals(labels)


@pytest.mark.parametrize("method", ["project", "branch_probabilities"])
@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[1.0]], r"new_embedding has 1 column\(s\), but the nodes lie in 2 dimension\(s\); pass"),
        (
            [1.0, 2.0],
            r"new_embedding must be an array .*: Expected 2D array, got 1D array instead\.$",
        ),
        (np.empty((0, 2)), r"new_embedding must be .*Found array with 0 sample\(s\)"),
        ([[np.nan, 1.0]], r"new_embedding\[0, 0\] is NaN, but every value must be finite"),
        (
            [[1e200, 1.0]],
            r"new_embedding holds a value of size 1e\+200, but values must be at most",
        ),
        ([["a", "b"]], r"new_embedding must be an array of numbers .*could not convert"),
    ],
)
def test_points_are_checked(method, points, message):
    with pytest.raises(ValueError, match=message):
        getattr(Trajectory(*PATH), method)(points)


def test_new_samples_by_the_estimator():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(branching(80, 4), columns=list("abcd"))
    X.index = [f"cell {k}" for k in range(80)]
    model = DDRTree(2, n_centers=15, random_state=0).fit(X[:60])
    found = Trajectory.from_estimator(model, names=X.index[:60])
    places = found.place(X[60:])
    assert places.index.equals(X.index[60:])
    expected = found.project(model.project(X[60:])).set_axis(X.index[60:])
    same = ["branch", "pseudotime", "distance"]
    assert places[same].equals(expected[same])
    with pytest.raises(ValueError, match="feature names should match"):
        found.place(X[["b", "a", "c", "d"]])
    # Views know the estimator as well.
    assert found.rooted(sample="cell 3").prune().place(X[60:]).index.equals(X.index[60:])


def test_without_an_estimator_there_is_nothing_to_place_by():
    with pytest.raises(AttributeError, match="place needs the estimator; make the trajectory with"):
        Trajectory(*PATH).place([[1.0, 2.0]])


def test_a_long_list_of_branches_needs_no_square_table():
    n_tips = 20_000
    rng = np.random.default_rng(0)
    nodes = np.vstack([np.zeros((1, 3)), rng.normal(size=(n_tips, 3))])
    edges = np.column_stack([np.zeros(n_tips, dtype=int), np.arange(1, n_tips + 1)])
    found = Trajectory(edges, nodes, nodes[1:6])
    np.testing.assert_array_equal(found.branch_probabilities().sum(axis=1), 1)
