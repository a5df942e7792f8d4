"""Places along a tree."""

import numpy as np
import pytest

from branchwise.placing.places import places_of, stretches_of
from branchwise.trajectory import Trajectory


@pytest.fixture
def fork():
    rng = np.random.default_rng(0)
    nodes = np.array([[0.0, 0.0], [5.0, 0.0], [9.0, 3.0], [9.0, -3.0]])
    edges = [[0, 1], [1, 2], [1, 3]]
    ends = nodes[np.array(edges)][rng.integers(3, size=600)]
    part = rng.random((600, 1))
    points = ends[:, 0] + part * (ends[:, 1] - ends[:, 0]) + 0.1 * rng.normal(size=(600, 2))
    return Trajectory(edges, nodes, points)


def test_they_lie_on_the_tree_and_know_where(fork):
    found = places_of(fork.view)
    again = fork.project(found.points)
    np.testing.assert_allclose(again["distance"], 0, atol=1e-12)
    np.testing.assert_allclose(again["pseudotime"], found.pseudotime, atol=1e-12)
    assert again["branch"].tolist() == fork.view.branches.names[found.branch].tolist()
    assert found.weights.sum() == pytest.approx(1)


def test_their_weights_are_the_shares_of_the_branches(fork):
    found = places_of(fork.view)
    for k, name in enumerate(fork.view.branches.names):
        share = np.mean(fork.branches_ == name)
        assert found.weights[found.branch == k].sum() == pytest.approx(share)


@pytest.mark.parametrize("n", [1, 5, 50])
def test_each_stretch_has_one(fork, n):
    found = places_of(fork.view, n)
    length = fork.lengths_.sum()
    assert len(found.points) <= n + 3
    for k in range(3):
        times = np.sort(found.pseudotime[found.branch == k])
        assert np.all(np.diff(times) < 2 * length / n + 0.2)


def test_the_order_of_the_samples_does_not_matter(fork):
    order = np.random.default_rng(1).permutation(600)
    view = fork.view
    other = Trajectory(fork.edges_, fork.nodes_, view.points[order])
    one, two = places_of(view), places_of(other.view)
    assert (order[two.sample] == one.sample).all()
    for name in ("points", "weights", "branch", "pseudotime"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name))


def test_a_tree_without_length_has_one_place():
    found = places_of(Trajectory([[0, 1]], np.zeros((2, 2))).view)
    np.testing.assert_array_equal(found.points, [[0, 0]])
    assert found.weights.tolist() == [1.0]


def test_roots_inside_a_branch_are_known(fork):
    found = places_of(fork.rooted(sample=3).view)
    again = fork.rooted(sample=3).project(found.points)
    np.testing.assert_allclose(again["pseudotime"], found.pseudotime, atol=1e-12)


@pytest.mark.parametrize("root", [{"node": "T3"}, {"node": "F1"}, {"sample": 3}], ids=str)
def test_they_are_the_same_wherever_time_starts(fork, root):
    one, two = places_of(fork.view), places_of(fork.rooted(**root).view)
    np.testing.assert_array_equal(one.sample, two.sample)
    np.testing.assert_array_equal(one.points, two.points)
    np.testing.assert_array_equal(one.weights, two.weights)
    assert (fork.rooted(**root).pseudotime_[two.sample] == two.pseudotime).all()


@pytest.mark.parametrize(
    "root", [{}, {"node": 3}, {"node": "F1"}, {"sample": 3}, {"sample": [3, 5, 8]}], ids=str
)
@pytest.mark.parametrize("edges", [[[0, 1], [1, 2], [3, 1]], [[0, 1], [2, 1], [3, 2], [3, 1]]])
def test_times_of_a_stretch_are_those_along_it(fork, root, edges):
    """On a tree and on a ring with a tail, of which edges run either way."""
    path = Trajectory(edges, fork.nodes_, fork.view.points)
    path = path.rooted(**root) if root else path
    found, stretches = places_of(path.view, 40), stretches_of(path.view, 40)
    assert stretches.counts.sum() == len(path.view.points)
    for t, length in enumerate(stretches.lengths):
        ends = path.nodes_[path.edges_[stretches.edge[:, t]]]
        part = stretches.position[:, t, np.newaxis]
        first, last = ends[:, 0] + part * (ends[:, 1] - ends[:, 0])
        if np.linalg.norm(last - first) < length - 1e-9:
            continue  # it turns at a node
        times = path.project(np.linspace(first, last, 50))["pseudotime"]
        low, high, room = found.earliest[t], found.latest[t], 2 * length / 49
        assert low <= times.min() + 1e-9
        assert high >= times.max() - 1e-9
        if len(path.view.all_roots) == 1 or times.min() > length:
            assert times.min() - room < low
            assert high < times.max() + room


def test_tips_are_within(fork):
    path = fork.rooted(node="T1")
    found = places_of(path.view)
    assert found.earliest.min() == 0
    assert found.latest.max() == pytest.approx(path.view.node_time.max())
