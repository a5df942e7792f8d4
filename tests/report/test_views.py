"""The views that a page holds are those of the pictures."""

import numpy as np
import pandas as pd
import pytest

from branchwise.report import bins as binning
from branchwise.report.content import report_state
from branchwise.report.encoding import decode, encode
from branchwise.trajectory import Trajectory
from branchwise.trajectory.axes import tree_axes
from branchwise.trajectory.flat import flat_tree

EDGES = np.array([[0, 1], [1, 2], [3, 1]])


@pytest.fixture
def path(rng):
    nodes = 4 * rng.normal(size=(4, 5))
    start, end = nodes[EDGES[rng.integers(3, size=300)]].transpose(1, 0, 2)
    points = start + rng.random((300, 1)) * (end - start) + 0.3 * rng.normal(size=(300, 5))
    return Trajectory(EDGES, nodes, points).rooted(node="T2")


def views(path):
    return decode(encode(report_state(path)))["views"]


def matrix(flat, n_columns):
    return np.asarray(flat, dtype=float).reshape(-1, n_columns)


def test_axes_and_flat_drawing_are_those_of_the_pictures(path):
    found = views(path)
    axes = tree_axes(path.nodes_, path.edges_, path.view.points, int(path.roots_[0]), 3)
    assert found["axes"]["names"] == ["tree axis 1", "tree axis 2", "tree axis 3"]
    np.testing.assert_allclose(found["axes"]["shares"], axes.shares)
    np.testing.assert_array_equal(matrix(found["axes"]["matrix"], 3), axes.axes)
    places = path.view.points @ axes.axes
    np.testing.assert_allclose(matrix(found["axes"]["points"], 3), places, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        matrix(found["axes"]["nodes"], 3), path.nodes_ @ axes.axes, rtol=1e-6, atol=1e-6
    )
    drawn = flat_tree(path)
    np.testing.assert_allclose(
        matrix(found["flat"]["points"], 2), drawn.samples, rtol=1e-6, atol=1e-6
    )
    ends = drawn.nodes[drawn.edges].reshape(-1, 4)
    np.testing.assert_allclose(matrix(found["flat"]["ends"], 4), ends, rtol=1e-6, atol=1e-6)
    assert found["flat"]["sides"].tolist() == drawn.sides.tolist()


def test_two_components_are_drawn_as_they_are(path):
    assert views(Trajectory(EDGES, path.nodes_[:, :2], path.view.points[:, :2])) is None


def test_a_graph_with_a_cycle_has_no_flat_drawing(path):
    edges = [*EDGES.tolist(), [2, 3]]
    found = views(Trajectory(edges, path.nodes_, path.view.points))
    assert found["flat"] is None
    assert len(found["axes"]["names"]) == 3


def test_nor_has_a_forest_with_a_cycle_in_one_part(path):
    nodes = np.vstack([path.nodes_, path.nodes_[:3] + 20])
    edges = [*EDGES.tolist(), [2, 3], [4, 5], [5, 6]]
    assert views(Trajectory(edges, nodes, path.view.points))["flat"] is None
    edges.remove([2, 3])
    assert views(Trajectory(edges, nodes, path.view.points))["flat"] is not None


def test_bins_stand_at_the_mean_places_of_their_samples(path, monkeypatch):
    monkeypatch.setattr(binning, "MAX_POINTS", 100)
    monkeypatch.setattr(binning, "MAX_BINS", 60)
    state = decode(encode(report_state(path)))
    of = state["bins"]["of"]
    assert state["bins"]["count"].max() > 1
    means = pd.DataFrame(flat_tree(path).samples).groupby(of).mean()
    drawn = matrix(state["views"]["flat"]["points"], 2)
    np.testing.assert_allclose(drawn, means, rtol=1e-5, atol=1e-5)
