"""The nearest place on an edge, against all edges one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.graph.nearest_edge import nearest_on_edges


def all_edges(points, nodes, edges):
    """Distances of every point from every edge."""
    a, step = nodes[edges[:, 0]], nodes[edges[:, 1]] - nodes[edges[:, 0]]
    squared = np.einsum("ij,ij->i", step, step)
    along = np.einsum("pej,ej->pe", points[:, np.newaxis] - a, step)
    t = np.clip(along / np.where(squared > 0, squared, 1.0), 0, 1)
    foot = a + t[..., np.newaxis] * step
    return np.linalg.norm(points[:, np.newaxis] - foot, axis=2)


@given(
    st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 5), st.sampled_from([1e-3, 1, 9])
)
def test_no_edge_is_nearer(seed, n_edges, n_dims, spread):
    rng = np.random.default_rng(seed)
    n_nodes = int(rng.integers(1, n_edges + 2))
    nodes = rng.normal(size=(n_nodes, n_dims))
    nodes[rng.integers(n_nodes)] = nodes[0]  # an edge may have length zero
    edges = rng.integers(n_nodes, size=(n_edges, 2))
    points = np.vstack([spread * rng.normal(size=(20, n_dims)), nodes[edges].mean(axis=1)])
    edge, position, distance = nearest_on_edges(points, nodes, edges)
    apart = all_edges(points, nodes, edges)
    np.testing.assert_allclose(distance, apart.min(axis=1), atol=1e-13)
    np.testing.assert_allclose(apart[np.arange(len(points)), edge], distance, atol=1e-13)
    a, b = nodes[edges[edge, 0]], nodes[edges[edge, 1]]
    foot = a + position[:, np.newaxis] * (b - a)
    np.testing.assert_allclose(np.linalg.norm(points - foot, axis=1), distance, atol=1e-13)
    assert ((position >= 0) & (position <= 1)).all()


def test_a_node_is_met_exactly_on_its_first_edge():
    rng = np.random.default_rng(0)
    nodes = rng.normal(size=(3000, 4))
    edges = np.column_stack([np.arange(2999), np.arange(1, 3000)])
    edge, position, distance = nearest_on_edges(nodes, nodes, edges)
    np.testing.assert_array_equal(distance, 0)
    np.testing.assert_array_equal(edge, np.maximum(np.arange(3000) - 1, 0))
    np.testing.assert_array_equal(position, np.arange(3000) > 0)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_change_nothing(n_jobs):
    rng = np.random.default_rng(1)
    nodes, points = rng.normal(size=(300, 3)), rng.normal(size=(20_000, 3))
    edges = rng.integers(300, size=(400, 2))
    alone = nearest_on_edges(points, nodes, edges)
    for one, other in zip(alone, nearest_on_edges(points, nodes, edges, n_jobs), strict=True):
        np.testing.assert_array_equal(one, other)
