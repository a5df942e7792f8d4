import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import maximum_bipartite_matching

import branchwise.graph.inverse
from branchwise.graph import adjacency
from branchwise.graph.inverse import bisect, nested_dissection, vertex_separator
from branchwise.neighbors import neighbor_edges


def random_edges(n, n_edges, rng):
    """At most n_edges distinct pairs, each with its smaller node first."""
    pairs = np.sort(rng.integers(n, size=(n_edges, 2)), axis=1)
    return np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0)


def grid(side):
    number = np.arange(side * side).reshape(side, side)
    right = np.column_stack([number[:, :-1].ravel(), number[:, 1:].ravel()])
    down = np.column_stack([number[:-1].ravel(), number[1:].ravel()])
    return np.concatenate([right, down])


def ancestors(parts, f):
    while f >= 0:
        yield f
        f = parts[f].parent


def assert_is_a_dissection(parts, edges, n):
    """Every node once; an edge joins a part to itself or to one of its ancestors."""
    nodes = np.concatenate([part.nodes for part in parts])
    np.testing.assert_array_equal(np.sort(nodes), np.arange(n))
    home = np.empty(n, dtype=int)
    for f, part in enumerate(parts):
        assert part.parent == -1 or part.parent > f
        home[part.nodes] = f
    for a, b in np.sort(home[edges], axis=1):
        assert b in ancestors(parts, a)


@given(
    n=st.integers(1, 60), density=st.floats(0, 3), leaf=st.integers(1, 20), seed=st.integers(0, 999)
)
def test_no_edge_joins_two_branches_of_the_dissection(n, density, leaf, seed):
    edges = random_edges(n, int(density * n), np.random.default_rng(seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(branchwise.graph.inverse, "LEAF", leaf)
        parts = nested_dissection(edges, n)
    assert_is_a_dissection(parts, edges, n)


def test_a_grid_is_cut_across_by_about_one_row():
    parts = nested_dissection(grid(30), 900)
    assert_is_a_dissection(parts, grid(30), 900)
    assert len(parts[-1].nodes) <= 45
    assert max(len(part.nodes) for part in parts) <= 96


def test_a_complete_graph_is_one_part():
    edges = np.column_stack(np.triu_indices(150, 1))
    assert [len(part.nodes) for part in nested_dissection(edges, 150)] == [150]


def test_components_are_eliminated_apart():
    path = np.column_stack([np.arange(199), np.arange(1, 200)])
    parts = nested_dissection(np.concatenate([path, path + 200]), 400)
    roots = [part for part in parts if part.parent == -1]
    assert len(roots) == 2
    assert all(len(part.nodes) == 1 for part in roots)


def test_thousands_of_isolated_nodes_are_no_obstacle():
    parts = nested_dissection(np.array([[0, 1]]), 3000)
    assert_is_a_dissection(parts, np.array([[0, 1]]), 3000)


def test_lengths_of_zero_are_edges(rng):
    edges = neighbor_edges(np.repeat(rng.normal(size=(150, 2)), 3, axis=0), 5)
    parts = nested_dissection(edges, 450, np.zeros(len(edges)))
    assert_is_a_dissection(parts, edges, 450)


@given(n=st.integers(2, 40), density=st.floats(0, 4), seed=st.integers(0, 999))
def test_separator_is_a_smallest_cover_of_the_cut_edges(n, density, seed):
    rng = np.random.default_rng(seed)
    edges = random_edges(n, int(density * n), rng)
    left = rng.integers(2, size=n).astype(bool)
    graph = adjacency(edges, n)
    separator = vertex_separator(graph, left)
    cut = left[edges[:, 0]] != left[edges[:, 1]]
    assert separator[edges[cut]].any(axis=1).all()
    matching = maximum_bipartite_matching(graph[left][:, ~left])
    assert separator.sum() == (matching >= 0).sum()


def test_halves_of_a_connected_graph_are_of_similar_size(rng):
    edges = neighbor_edges(rng.normal(size=(1000, 2)), 8)
    halves, separator = bisect(adjacency(edges, 1000))
    assert sum(map(len, halves)) + len(separator) == 1000
    assert min(map(len, halves)) >= 400
