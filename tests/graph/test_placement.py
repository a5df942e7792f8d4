"""Points on graphs: segments, and distances along the graph, against slow independent ones."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.graph import adjacency, count_branches
from branchwise.graph.placement import (
    Placement,
    distances_between,
    distances_from,
    is_forest,
    on_segments,
    segments,
    to_points,
)


def random_placement(seed, *, n_nodes=12, extra=0, n_cut=0, n_points=15):
    """A random forest with some more edges, loops and doubles, and points on it."""
    rng = np.random.default_rng(seed)
    parent = np.array([rng.integers(k) for k in range(1, n_nodes)], dtype=int)
    edges = np.column_stack([np.arange(1, n_nodes), parent])
    edges = np.delete(edges, rng.choice(n_nodes - 1, n_cut, replace=False), axis=0)
    edges = np.vstack([edges, rng.integers(n_nodes, size=(extra, 2))])
    lengths = rng.choice([0.0, 1.0, 2.5, rng.uniform()], size=len(edges))
    alone = np.flatnonzero(np.bincount(edges.ravel(), minlength=n_nodes) == 0)
    edges = np.vstack([edges, np.column_stack([alone, alone])]).astype(int)
    lengths = np.append(lengths, np.zeros(len(alone)))
    flip = rng.uniform(size=len(edges)) < 0.5
    edges[flip] = edges[flip, ::-1]
    order = rng.permutation(len(edges))
    edge = rng.integers(len(edges), size=n_points)
    position = rng.choice([0.0, 1.0, *rng.uniform(size=3)], size=n_points)
    return Placement(n_nodes, edges[order], lengths[order], edge, position)


def with_points(placement):
    """The graph with its edges broken up at the points, node ("p", i) being point i."""
    G = nx.MultiGraph()
    G.add_nodes_from(range(placement.n_nodes))
    for e, (a, b) in enumerate(placement.edges):
        on_it = np.flatnonzero(placement.edge == e)
        on_it = on_it[np.argsort(placement.position[on_it])]
        stops = [a, *(("p", i) for i in on_it), b]
        places = placement.lengths[e] * np.concatenate([[0], placement.position[on_it], [1]])
        for u, v, w in zip(stops[:-1], stops[1:], np.diff(places), strict=True):
            G.add_edge(u, v, weight=w)
    return G


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 14),
    st.integers(0, 4),
    st.integers(0, 3),
)
def test_distances_are_those_of_the_graph_broken_up_at_the_points(seed, n_nodes, extra, n_cut):
    n_cut = min(n_cut, n_nodes - 1)
    placement = random_placement(seed, n_nodes=n_nodes, extra=extra, n_cut=n_cut)
    reached = dict(nx.all_pairs_dijkstra_path_length(with_points(placement)))
    n = len(placement.edge)
    expected = [[reached["p", i].get(("p", j), np.inf) for j in range(n)] for i in range(n)]
    i, j = np.indices((n, n))
    np.testing.assert_allclose(distances_between(placement, i, j), expected, atol=1e-12)

    sources = np.arange(0, n_nodes, 3)
    distance, source = distances_from(placement, sources)
    nearest = [min(reached[s].get(("p", i), np.inf) for s in sources) for i in range(n)]
    np.testing.assert_allclose(to_points(placement, distance), nearest, atol=1e-12)
    for node in np.flatnonzero(source >= 0):
        assert np.isclose(reached[source[node]][node], distance[node], atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(1, 14), st.integers(0, 4), st.integers(0, 3))
def test_segments_keep_lengths_milestones_and_distances(seed, n_nodes, extra, n_cut):
    n_cut = min(n_cut, n_nodes - 1)
    placement = random_placement(seed, n_nodes=n_nodes, extra=extra, n_cut=n_cut)
    keep = [0]
    found = segments(placement.edges, placement.lengths, n_nodes, keep)
    degree = np.bincount(placement.edges.ravel(), minlength=n_nodes)
    assert set(np.flatnonzero(degree != 2)) | set(keep) <= set(found.milestones)
    # Any other milestone is the only one of a ring.
    inner = np.setdiff1d(found.milestones, [*np.flatnonzero(degree != 2), *keep])
    for node in inner:
        (ring,) = np.flatnonzero((found.ends == node).any(axis=1))
        assert (found.ends[ring] == node).all()
    assert set(found.of_edge) == set(range(len(found.ends)))
    assert np.isclose(found.lengths.sum(), placement.lengths.sum())
    placed = on_segments(placement, found)
    i, j = np.indices((len(placement.edge),) * 2)
    np.testing.assert_allclose(
        distances_between(placed, i, j), distances_between(placement, i, j), atol=1e-12
    )
    assert is_forest(placed) == is_forest(placement)


def test_segments_run_as_their_first_edges_do():
    edges = np.array([[2, 1], [0, 1], [2, 3]])
    found = segments(edges, np.array([1.0, 2.0, 3.0]), 4)
    assert found.ends.tolist() == [[3, 0]]
    np.testing.assert_array_equal(found.start, [3.0, 6.0, 3.0])
    np.testing.assert_array_equal(found.sign, [1, -1, -1])


def test_many_pairs_on_a_long_path_and_on_a_random_tree():
    rng = np.random.default_rng(0)
    n = 20_000
    for parent in (np.arange(n - 1), rng.integers(np.arange(1, n))):
        edges = np.column_stack([np.arange(1, n), parent])
        placement = Placement(
            n, edges, rng.uniform(size=n - 1), rng.integers(n - 1, size=n), rng.uniform(size=n)
        )
        i, j = rng.integers(n, size=(2, 50))
        found = distances_between(placement, i[:, np.newaxis], j)
        for row, k in enumerate(i[:3]):
            a, b = edges[placement.edge[k]]
            part, length = placement.position[k], placement.lengths[placement.edge[k]]
            by_ends = [
                to_points(placement, distances_from(placement, [node])[0]) + offset
                for node, offset in ((a, part * length), (b, (1 - part) * length))
            ]
            expected = np.minimum(*by_ends)[j]
            same = placement.edge[j] == placement.edge[k]
            expected[same] = np.abs(placement.position[j] - part)[same] * length
            np.testing.assert_allclose(found[row], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("edges", "forest"), [([[0, 1]], True), ([[0, 1], [1, 0]], False)])
def test_double_edges_are_a_cycle(edges, forest):
    none = np.array([], dtype=int), np.array([])
    edges = np.array(edges)
    assert is_forest(Placement(2, edges, np.ones(len(edges)), *none)) is forest


@pytest.mark.parametrize(
    ("edges", "n_nodes", "expected"),
    [
        ([], 1, (0, 0, 0)),
        ([(0, 1)], 2, (2, 0, 1)),
        ([(0, 1), (1, 2), (2, 3)], 4, (2, 0, 1)),
        ([(0, 1), (0, 2), (0, 3)], 4, (3, 1, 3)),
        ([(0, 1), (0, 2), (0, 3), (3, 4), (4, 5), (4, 6)], 7, (4, 2, 5)),
    ],
)
def test_tips_forks_and_branches(edges, n_nodes, expected):
    tree = adjacency(np.array(edges, dtype=int).reshape(-1, 2), n_nodes)
    assert tuple(count_branches(tree)) == expected
