"""The flat drawing: true lengths, true distances, nothing across."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.trajectory import Trajectory
from branchwise.trajectory.axes import tree_axes
from branchwise.trajectory.flat import flat_tree

from ..plotting import scenes


def random_tree(seed, n_nodes, n_components, rounded):
    """A tree of random shape in space with samples anywhere, also on a coarse grid."""
    rng = np.random.default_rng(seed)
    nodes = rng.normal(size=(n_nodes, n_components)) * 3
    points = rng.normal(size=(40, n_components)) * 3
    if rounded:
        nodes, points = nodes.round(), points.round()
    parents = [int(rng.integers(k)) for k in range(1, n_nodes)]
    edges = np.column_stack([parents, np.arange(1, n_nodes)])
    return Trajectory(edges, nodes, points), rng


def cross(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def crossing(one, other, slack):
    """Whether the inner parts of two segments cross, by four turns: slow and plain."""
    (a, b), (c, d) = one, other
    turns = [cross(a, b, c), cross(a, b, d), cross(c, d, a), cross(c, d, b)]
    if any(abs(turn) <= slack for turn in turns):
        return False
    return turns[0] * turns[1] < 0 and turns[2] * turns[3] < 0


trees = st.builds(
    random_tree,
    st.integers(0, 10_000),
    st.integers(2, 25),
    st.integers(1, 6),
    st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(trees)
def test_lengths_are_true_and_branches_do_not_cross(made):
    path, rng = made
    path = path.rooted(node=int(rng.integers(len(path.nodes_))))
    drawn = flat_tree(path)
    ends = drawn.nodes[drawn.edges]
    np.testing.assert_array_equal(drawn.edges, path.edges_)
    lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    np.testing.assert_allclose(lengths, path.lengths_, atol=1e-9)
    slack = 1e-9 * (1 + path.lengths_.sum()) ** 2
    for k, one in enumerate(ends):
        assert not any(crossing(one, other, slack) for other in ends[:k])


@settings(max_examples=60, deadline=None)
@given(trees)
def test_every_sample_lies_at_its_place_and_at_its_distance(made):
    path, _ = made
    drawn = flat_tree(path)
    start, end = drawn.nodes[drawn.edges[path.placement_.edge]].transpose(1, 0, 2)
    foot = start + path.placement_.position[:, np.newaxis] * (end - start)
    offset = drawn.samples - foot
    np.testing.assert_allclose(np.linalg.norm(offset, axis=1), path.distance_, atol=1e-9)
    # Straight beside its edge, or beyond a tip.
    along = np.einsum("ij,ij->i", offset, end - start)
    inside = (path.placement_.position > 1e-6) & (path.placement_.position < 1 - 1e-6)
    np.testing.assert_allclose(along[inside], 0.0, atol=1e-8 * (1 + path.lengths_.sum()) ** 2)


@settings(max_examples=30, deadline=None)
@given(trees)
def test_branches_are_straight(made):
    path, _ = made
    first = flat_tree(path)
    inner = np.bincount(path.edges_.ravel(), minlength=len(path.nodes_)) == 2
    for node in np.flatnonzero(inner):
        a, b = (edge[edge != node] for edge in path.edges_ if node in edge)
        one, other = first.nodes[a[0]] - first.nodes[node], first.nodes[b[0]] - first.nodes[node]
        size = np.linalg.norm(one) * np.linalg.norm(other)
        assert abs(one @ other + size) <= 1e-9 * (1 + size)


def test_samples_beyond_a_tip_keep_their_angle():
    path = Trajectory([[0, 1]], [[0.0, 0, 0], [2.0, 0, 0]], [[5.0, 0, 4.0], [2.0, 3.0, 0.0]])
    np.testing.assert_allclose(flat_tree(path).samples, [[5.0, 4.0], [2.0, 3.0]])


def test_a_root_that_is_a_tip_is_on_the_left_and_its_branch_level():
    path = scenes.tree().rooted(node="T3")
    drawn = flat_tree(path)
    root = path.milestones_.node["T3"]
    assert drawn.nodes[:, 0].min() == drawn.nodes[root, 0]
    neighbour = path.edges_[(path.edges_ == root).any(axis=1)].sum() - root
    assert drawn.nodes[neighbour, 1] == pytest.approx(drawn.nodes[root, 1])


def test_a_root_inside_a_branch_does_not_turn_it_or_move_samples_to_the_other_side():
    nodes = np.column_stack([np.arange(5.0), *np.zeros((2, 5))])
    points = nodes[[0, 1, 3, 4]] + [0, 0.5, 0.5]
    path = Trajectory([[k, k + 1] for k in range(4)], nodes, points).rooted(node=2)
    drawn = flat_tree(path)
    np.testing.assert_allclose(drawn.nodes[:, 1], 0.0, atol=1e-12)
    assert len(np.unique(np.sign(drawn.samples[:, 1].round(9)))) == 1


def turns(places, fork, back, ways):
    """How far one turns anticlockwise at a fork, from the way back to each way on."""
    angle = [np.arctan2(*(places[node] - places[fork])[::-1]) for node in (back, *ways)]
    return np.mod(np.array(angle[1:]) - angle[0], 2 * np.pi)


@pytest.mark.parametrize("mirrored", [1, -1])
def test_branches_follow_one_another_as_in_the_linear_axes(mirrored):
    nodes = np.array([[0.0, 0, 0], [2, 0, 0], [3, 2, 0], [3.5, 0.2, 0], [3, -2, 0]])
    nodes[:, 1] *= mirrored
    path = Trajectory([[0, 1], [1, 2], [1, 3], [1, 4]], nodes).rooted(node=0)
    plane = nodes @ tree_axes(nodes, path.edges_, nodes, 0).axes
    drawn, there = (turns(places, 1, 0, (2, 3, 4)) for places in (flat_tree(path).nodes, plane))
    assert np.argsort(drawn).tolist() == np.argsort(there).tolist()
    np.testing.assert_allclose(np.sort(drawn), np.pi + np.array([-1, 0, 1]) * np.pi * 4 / 9)


@pytest.mark.parametrize("name", ["ring", "cyclic"])
def test_a_cycle_is_cut_once_and_lengths_stay_true(name):
    path = getattr(scenes, name)()
    drawn = flat_tree(path)
    assert len(drawn.closings) == 1
    assert len(drawn.nodes) == len(path.nodes_) + 1
    ends = drawn.nodes[drawn.edges]
    np.testing.assert_allclose(np.linalg.norm(np.diff(ends, axis=1)[:, 0], axis=1), path.lengths_)
    own, node = drawn.closings[0]
    edge = np.flatnonzero((drawn.edges != path.edges_).any(axis=1))
    assert path.edges_[edge[0], 1] == node
    assert drawn.edges[edge[0], 1] == own


def test_parts_lie_apart():
    path = scenes.forest()
    drawn = flat_tree(path)
    nodes = drawn.nodes[: len(path.nodes_)]
    of_sample = path.view.parts[path.edges_[path.placement_.edge, 0]]
    for part in range(3):
        here = np.vstack([nodes[path.view.parts == part], drawn.samples[of_sample == part]])
        rest = np.vstack([nodes[path.view.parts != part], drawn.samples[of_sample != part]])
        low, high = here[:, 1].min(), here[:, 1].max()
        assert not ((rest[:, 1] > low - 1e-9) & (rest[:, 1] < high + 1e-9)).any()


def test_one_node_and_one_component():
    alone = flat_tree(
        Trajectory(np.empty((0, 2), dtype=int), [[1.0, 2.0]], [[1.0, 2.0], [4.0, 6.0]])
    )
    assert np.linalg.norm(alone.samples - alone.nodes[0], axis=1).tolist() == [0.0, 5.0]
    line = flat_tree(Trajectory([[0, 1]], [[0.0], [4.0]], [[1.0], [6.0]]))
    np.testing.assert_allclose(line.samples, [[1.0, 0.0], [6.0, 0.0]])


# Axes


def by_many_points(nodes, edges):
    """Principal axes of points set evenly along the edges: slow and obviously right."""
    part = (np.arange(2000) + 0.5)[:, np.newaxis] / 2000
    places, weights = [], []
    for a, b in nodes[edges]:
        places.append((1 - part) * a + part * b)
        weights += [np.linalg.norm(b - a) / 2000] * 2000
    places, weights = np.vstack(places), np.array(weights) / np.sum(weights)
    about = places - weights @ places
    return np.linalg.eigh((weights[:, np.newaxis] * about).T @ about)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(3, 12), st.integers(2, 6))
def test_axes_are_those_of_an_even_mass_on_the_tree(seed, n_nodes, d):
    rng = np.random.default_rng(seed)
    nodes = rng.normal(size=(n_nodes, d)) * np.geomspace(1, 4, d)
    edges = np.column_stack([[int(rng.integers(k)) for k in range(1, n_nodes)], range(1, n_nodes)])
    found = tree_axes(nodes, edges, rng.normal(size=(30, d)), n_axes=2)
    values, vectors = by_many_points(nodes, edges)
    share = values[::-1][:2].clip(0) / values.sum()
    np.testing.assert_allclose(found.shares, share, atol=1e-4)
    np.testing.assert_allclose(found.axes.T @ found.axes, np.eye(2), atol=1e-9)
    if values[-1] > 1.2 * values[-2]:
        assert abs(vectors[:, -1] @ found.axes[:, 0]) == pytest.approx(1.0, abs=1e-3)


def test_noise_does_not_turn_the_axes_to_it(rng):
    nodes = np.array([[0.0, 0, 0], [2, 0, 0], [2, 1, 0]])
    points = rng.normal(size=(500, 3)) * [0.1, 0.1, 50.0]
    found = tree_axes(nodes, np.array([[0, 1], [1, 2]]), points)
    np.testing.assert_allclose(found.axes[2], 0.0, atol=1e-3)
    assert found.shares.sum() == pytest.approx(1.0)


def test_samples_choose_where_the_tree_is_a_straight_line(rng):
    nodes = np.array([[0.0, 0, 0], [2, 0, 0]])
    points = rng.normal(size=(500, 3)) * [0.1, 0.2, 3.0]
    found = tree_axes(nodes, np.array([[0, 1]]), points)
    np.testing.assert_allclose(np.abs(found.axes), [[1, 0], [0, 0], [0, 1]], atol=1e-1)
    np.testing.assert_allclose(found.shares, [1.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("start", [0, 1])
def test_the_start_is_on_the_left(start):
    nodes = np.array([[0.0, 1.0], [5.0, 0.0]])
    axes = tree_axes(nodes, np.array([[0, 1]]), nodes, start).axes
    assert (nodes[start] - nodes[1 - start]) @ axes[:, 0] < 0


def test_a_tree_without_extent_has_the_axes_of_the_samples(rng):
    points = rng.normal(size=(100, 3)) * [1, 5, 2]
    found = tree_axes(np.ones((2, 3)), np.array([[0, 1]]), points)
    assert np.abs(found.axes).argmax(axis=0).tolist() == [1, 2]
    assert found.shares.tolist() == [0.0, 0.0]
