"""Smoothness of skeletons: known angles, a sum over nodes, and what may not change it."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from branchwise.graph import adjacency, count_branches
from branchwise.metrics import skeleton_smoothness


def path(n):
    return adjacency(np.column_stack([np.arange(n - 1), np.arange(1, n)]), n)


def ring(n):
    return adjacency(np.column_stack([np.arange(n), (np.arange(n) + 1) % n]), n)


def random_tree(seed, n_nodes):
    rng = np.random.default_rng(seed)
    parent = [rng.integers(max(0, k - 3), k) for k in range(1, n_nodes)]
    edges = np.column_stack([np.arange(1, n_nodes), np.array(parent, dtype=int)]).reshape(-1, 2)
    return adjacency(edges, n_nodes), rng.normal(size=(n_nodes, 3))


def angle(a, b):
    return np.arccos(np.clip(a @ b / np.sqrt((a @ a) * (b @ b)), -1, 1))


@pytest.mark.parametrize(
    ("nodes", "turning", "smoothness"),
    [
        ([[0, 0], [1, 0], [3, 0], [4, 0]], 0, 1),
        ([[0, 0], [1, 0], [1, 1], [2, 1]], np.pi, 0.5),
        ([[0, 0], [1, 0], [0, 0], [1, 0]], 2 * np.pi, 0),
        ([[0, 0], [0, 0], [0, 0], [0, 0]], 0, 1),
        ([[0, 0], [1, 0], [1, 0], [1, 1]], np.pi / 2, 0.5),  # an edge without length
    ],
)
def test_smoothness_of_paths(nodes, turning, smoothness):
    found = skeleton_smoothness(path(4), nodes)
    np.testing.assert_allclose(found.turning, [turning], atol=1e-12)
    np.testing.assert_allclose(found.smoothness, [smoothness], atol=1e-12)
    assert np.isclose(found.mean, smoothness)


@pytest.mark.parametrize("n", [3, 4, 50])
def test_a_regular_polygon_turns_once(n):
    t = 2 * np.pi * np.arange(n) / n
    found = skeleton_smoothness(ring(n), np.column_stack([np.cos(t), np.sin(t)]))
    np.testing.assert_allclose(found.turning, [2 * np.pi])
    np.testing.assert_allclose(found.smoothness, [1 - 2 / n])
    np.testing.assert_allclose(found.lengths, [2 * n * np.sin(np.pi / n)])


@given(st.integers(0, 2**32 - 1), st.integers(3, 30))
def test_a_closed_curve_turns_at_least_once(seed, n):
    nodes = np.random.default_rng(seed).normal(size=(n, 3))
    assert skeleton_smoothness(ring(n), nodes).turning[0] >= 2 * np.pi - 1e-9


def test_forks_do_not_turn():
    star = adjacency(np.array([[0, 1], [1, 2], [0, 3], [0, 4]]), 5)
    nodes = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 1.0], [-1.0, 0.0], [0.0, 2.0]])
    found = skeleton_smoothness(star, nodes)
    assert found.ends.tolist() == [[0, 2], [0, 3], [0, 4]]
    np.testing.assert_allclose(found.smoothness, [0.75, 1, 1])
    long = 1 + np.sqrt(2)
    assert np.isclose(found.mean, (0.75 * long + 1 + 2) / (long + 3))


def test_a_loop_at_a_fork_does_not_turn_there():
    lollipop = adjacency(np.array([[0, 1], [1, 2], [2, 0], [0, 3]]), 4)
    nodes = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    found = skeleton_smoothness(lollipop, nodes)
    np.testing.assert_allclose(np.sort(found.turning), [0, 2 * 0.75 * np.pi])


@given(st.integers(0, 2**32 - 1), st.integers(2, 30))
def test_turning_is_the_sum_over_nodes_with_two_neighbours(seed, n_nodes):
    tree, nodes = random_tree(seed, n_nodes)
    G = nx.from_scipy_sparse_array(tree)
    expected = 0.0
    for v in G:
        if G.degree(v) == 2:
            a, b = G[v]
            expected += angle(nodes[v] - nodes[a], nodes[b] - nodes[v])
    found = skeleton_smoothness(tree, nodes)
    assert np.isclose(found.turning.sum(), expected, atol=1e-6)
    assert len(found.turning) == count_branches(tree).branches
    assert np.isclose(
        found.lengths.sum(), sum(np.linalg.norm(nodes[a] - nodes[b]) for a, b in G.edges)
    )
    assert np.all((found.smoothness >= 0) & (found.smoothness <= 1))


@given(st.integers(0, 2**32 - 1), st.integers(2, 30))
def test_smoothness_depends_on_neither_names_nor_place_nor_scale(seed, n_nodes):
    tree, nodes = random_tree(seed, n_nodes)
    rng = np.random.default_rng(seed)
    order = rng.permutation(n_nodes)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    found = skeleton_smoothness(tree, nodes)
    other = skeleton_smoothness(
        sparse.csr_array(tree)[order][:, order], 7 * nodes[order] @ turn + 3
    )
    np.testing.assert_allclose(np.sort(found.smoothness), np.sort(other.smoothness), atol=1e-9)
    assert np.isclose(found.mean, other.mean)


def test_dense_and_half_matrices_are_taken():
    nodes = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
    whole = skeleton_smoothness(path(3), nodes)
    for tree in (path(3).toarray(), sparse.triu(path(3)), 5 * path(3)):
        np.testing.assert_array_equal(skeleton_smoothness(tree, nodes).smoothness, whole.smoothness)


def test_a_skeleton_of_one_node_is_smooth():
    assert skeleton_smoothness(np.zeros((1, 1)), [[0.0]]).mean == 1.0


def test_bad_input_is_told():
    with pytest.raises(ValueError, match=r"tree has shape \(4, 4\) and nodes 3 rows; pass"):
        skeleton_smoothness(path(4), np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"nodes\[1, 0\] is NaN"):
        skeleton_smoothness(path(2), [[0.0], [np.nan]])
