import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from branchwise.graph import adjacency, laplacian

from ..oracles import dense_laplacian

NO_EDGES = np.empty((0, 2), dtype=np.intp)


@st.composite
def graphs(draw):
    """Any simple graph: edges in both orientations, and one positive weight for each."""
    n_nodes = draw(st.integers(1, 12))
    pairs = [(i, j) for i in range(n_nodes) for j in range(i)]
    kept = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    edges = [pair[::-1] if draw(st.booleans()) else pair for pair in kept]
    weights = draw(
        st.lists(st.floats(0.01, 100), min_size=len(edges), max_size=len(edges)).map(np.array)
    )
    return np.array(edges, dtype=np.intp).reshape(-1, 2), n_nodes, weights


@given(graph=graphs())
def test_adjacency_holds_each_weight_at_both_ends_of_its_edge(graph):
    edges, n_nodes, weights = graph
    expected = np.zeros((n_nodes, n_nodes))
    for (i, j), weight in zip(edges, weights, strict=True):
        expected[i, j] = expected[j, i] = weight
    S = adjacency(edges, n_nodes, weights)
    np.testing.assert_array_equal(S.toarray(), expected)
    assert S.nnz == 2 * len(edges)


@given(graph=graphs())
def test_adjacency_without_weights_counts_every_edge_once(graph):
    edges, n_nodes, _ = graph
    S = adjacency(edges, n_nodes).toarray()
    assert set(np.unique(S)) <= {0.0, 1.0}
    assert S.sum() == 2 * len(edges)
    assert (S[edges[:, 0], edges[:, 1]] == 1).all()
    np.testing.assert_array_equal(S, S.T)


@given(graph=graphs())
def test_laplacian_matches_its_dense_definition(graph):
    edges, n_nodes, weights = graph
    np.testing.assert_array_equal(
        laplacian(edges, n_nodes).toarray(), dense_laplacian(edges, n_nodes)
    )
    np.testing.assert_allclose(
        laplacian(edges, n_nodes, weights).toarray(),
        dense_laplacian(edges, n_nodes, weights),
        rtol=1e-14,
    )


@given(graph=graphs(), seed=st.integers(0, 2**32 - 1))
def test_laplacian_trace_sums_weighted_squared_edge_lengths(graph, seed):
    edges, n_nodes, weights = graph
    Z = np.random.default_rng(seed).normal(size=(n_nodes, 2))
    expected = sum(w * np.sum((Z[i] - Z[j]) ** 2) for (i, j), w in zip(edges, weights, strict=True))
    trace = np.trace(Z.T @ (laplacian(edges, n_nodes, weights) @ Z))
    # Each term is a difference of numbers of the size of the weights.
    assert trace == pytest.approx(expected, rel=1e-10, abs=1e-12 * (1 + weights.sum()))


@given(graph=graphs())
def test_laplacian_is_positive_semidefinite_with_one_zero_per_connected_part(graph):
    edges, n_nodes, _ = graph
    values = np.linalg.eigvalsh(laplacian(edges, n_nodes).toarray())
    n_parts, _ = sparse.csgraph.connected_components(adjacency(edges, n_nodes))
    assert values.min() > -1e-12
    assert (values < 1e-9).sum() == n_parts


def test_adjacency_keeps_edges_of_weight_zero():
    S = adjacency(np.array([[0, 1], [1, 2]]), 3, np.array([0.0, 2.0]))
    assert S.nnz == 4
    np.testing.assert_array_equal(S.toarray(), [[0, 0, 0], [0, 0, 2], [0, 2, 0]])


def test_laplacian_of_one_node_is_zero():
    assert adjacency(NO_EDGES, 1).shape == (1, 1)
    np.testing.assert_array_equal(laplacian(NO_EDGES, 1).toarray(), [[0.0]])


def test_laplacian_of_isolated_nodes_is_zero_around_them():
    L = laplacian(np.array([[1, 3]]), 5).toarray()
    assert np.flatnonzero(np.abs(L).sum(axis=1)).tolist() == [1, 3]


def test_laplacian_and_adjacency_are_csr_arrays():
    edges = np.array([[0, 1], [2, 1]])
    for matrix in (adjacency(edges, 3), laplacian(edges, 3)):
        assert isinstance(matrix, sparse.csr_array)
        assert matrix.dtype == np.float64


def test_laplacian_leaves_edges_and_weights_unchanged():
    edges, weights = np.array([[2, 1], [0, 1]]), np.array([2.0, 3.0])
    laplacian(edges, 3, weights)
    np.testing.assert_array_equal(edges, [[2, 1], [0, 1]])
    np.testing.assert_array_equal(weights, [2.0, 3.0])
