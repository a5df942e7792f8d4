import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist

import branchwise.neighbors
from branchwise.neighbors import along_principal_axes, fraction_within, graph_edges, neighbor_edges


def brute_force(X, n_neighbors):
    """Pairs of which one is among the nearest of the other, from all distances."""
    distance = cdist(X, X)
    np.fill_diagonal(distance, np.inf)
    nearest = np.argsort(distance, axis=1)[:, :n_neighbors]
    return sorted({(min(i, j), max(i, j)) for i, row in enumerate(nearest.tolist()) for j in row})


@pytest.mark.parametrize("n_neighbors", [1, 4, 39])
@pytest.mark.parametrize("n_features", [1, 3, 20])
@pytest.mark.parametrize("container", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_neighbor_edges_match_brute_force(n_neighbors, n_features, container, rng):
    X = rng.normal(size=(40, n_features))
    edges = neighbor_edges(container(X), n_neighbors)
    assert edges.tolist() == [list(edge) for edge in brute_force(X, n_neighbors)]


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 30), n_neighbors=st.integers(1, 29))
def test_neighbor_edges_of_any_distinct_distances_match_brute_force(seed, n, n_neighbors):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    n_neighbors = min(n_neighbors, n - 1)
    edges = neighbor_edges(X, n_neighbors)
    assert edges.tolist() == [list(edge) for edge in brute_force(X, n_neighbors)]


def test_neighbor_edges_of_all_neighbours_are_all_pairs(rng):
    edges = neighbor_edges(rng.normal(size=(12, 2)), 11)
    assert edges.tolist() == [[i, j] for i in range(12) for j in range(i + 1, 12)]


def test_neighbor_edges_join_a_far_point_to_its_nearest():
    # Nobody has the last point among its nearest; the union keeps its edges all the same.
    X = np.array([[0.0], [1.0], [2.5], [100.0]])
    assert neighbor_edges(X, 1).tolist() == [[0, 1], [1, 2], [2, 3]]


@pytest.mark.parametrize("n_features", [2, 20])
def test_neighbor_edges_of_duplicates_have_no_loops_and_stay_among_them(n_features, rng):
    site = np.repeat(np.arange(4), 5)
    X = 100 * rng.normal(size=(4, n_features))[site]
    edges = neighbor_edges(X, 3)
    assert (edges[:, 0] < edges[:, 1]).all()
    assert (site[edges[:, 0]] == site[edges[:, 1]]).all()
    assert (np.bincount(edges.ravel(), minlength=20) >= 3).all()


def test_neighbor_edges_of_single_precision_match_double_precision(rng):
    X = rng.normal(size=(60, 3)).astype(np.float32)
    np.testing.assert_array_equal(neighbor_edges(X, 4), neighbor_edges(X.astype(np.float64), 4))


FORMATS = [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix]


@pytest.mark.parametrize("container", FORMATS)
def test_graph_edges_count_an_edge_in_either_direction_once(container):
    graph = container(np.array([[0, 1, 0, 0], [1, 0, 0, 3], [0, 2, 0, 0], [0, 0, 0, 0]]))
    assert graph_edges(graph).tolist() == [[0, 1], [1, 2], [1, 3]]


@pytest.mark.parametrize("container", FORMATS)
def test_graph_edges_leave_out_loops(container):
    graph = container(np.array([[5, 0, 1], [0, 7, 0], [0, 0, 0]]))
    assert graph_edges(graph).tolist() == [[0, 2]]


def test_graph_edges_count_explicit_zeros():
    # In a graph of distances, zero is the distance between duplicates.
    data, row, column = np.array([0.0, 2.0, 0.0]), np.array([2, 1, 1]), np.array([0, 2, 1])
    graph = sparse.coo_array((data, (row, column)), shape=(3, 3))
    for same in (graph, graph.tocsr(), graph.tocsc()):
        assert graph_edges(same).tolist() == [[0, 2], [1, 2]]


def test_graph_edges_count_repeated_entries_once():
    row, column = np.array([2, 2, 0, 0]), np.array([0, 0, 1, 2])
    # Two entries that add up to zero are an edge, too.
    graph = sparse.coo_array((np.array([1.0, -1.0, 1.0, 1.0]), (row, column)), shape=(3, 3))
    assert graph_edges(graph).tolist() == [[0, 1], [0, 2]]
    assert graph.nnz == 4


@pytest.mark.parametrize("shape", [(1, 1), (5, 5)])
def test_graph_edges_of_an_empty_graph_are_none(shape):
    edges = graph_edges(sparse.csr_array(shape))
    assert edges.shape == (0, 2)
    assert np.issubdtype(edges.dtype, np.integer)


def test_graph_edges_tell_pairs_apart_in_large_graphs():
    # (5, 10) and (42954, 67306) have numbers i·n + j that differ by 2³².
    index = np.array([[5, 42_954, 99_999], [10, 67_306, 0]], dtype=np.int32)
    graph = sparse.coo_array((np.ones(3), tuple(index)), shape=(100_000, 100_000))
    assert graph.row.dtype == np.int32
    assert graph_edges(graph).tolist() == [[0, 99_999], [5, 10], [42_954, 67_306]]


@given(
    entries=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40),
)
def test_graph_edges_of_any_entries_are_their_sorted_pairs(entries):
    index = np.array(entries, dtype=np.int32).reshape(-1, 2)
    graph = sparse.coo_array((np.ones(len(index)), index.T), shape=(10, 10))
    expected = sorted({(min(i, j), max(i, j)) for i, j in entries if i != j})
    assert graph_edges(graph).tolist() == [list(edge) for edge in expected]


@pytest.fixture(params=["products", "tree"])
def blocked(request, monkeypatch):
    """As if a few dozen samples were many, with either kind of search."""
    monkeypatch.setattr(branchwise.neighbors, "MIN_BLOCKED", 10)
    monkeypatch.setattr(branchwise.neighbors, "BLOCK", 16)
    monkeypatch.setattr(branchwise.neighbors, "N_PILOTS", 5)
    fraction = {"products": -1.0, "tree": 2.0}[request.param]
    monkeypatch.setattr(branchwise.neighbors, "MAX_FRACTION", fraction)


@pytest.mark.parametrize("n_neighbors", [1, 4, 39])
@pytest.mark.parametrize("n_features", [3, 20])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_neighbours_of_many_samples_match_brute_force(
    blocked, n_neighbors, n_features, container, rng
):
    X = rng.normal(size=(41, n_features))
    for n_jobs in (1, 2):
        edges = neighbor_edges(container(X), n_neighbors, n_jobs)
        assert edges.tolist() == [list(edge) for edge in brute_force(X, n_neighbors)]


@pytest.mark.parametrize("n_features", [2, 20])
def test_duplicates_among_many_samples_have_no_loops(blocked, n_features, rng):
    site = np.repeat(np.arange(8), 5)
    X = 100 * rng.normal(size=(8, n_features))[site]
    edges = neighbor_edges(X, 3)
    assert (edges[:, 0] < edges[:, 1]).all()
    assert (site[edges[:, 0]] == site[edges[:, 1]]).all()
    assert (np.bincount(edges.ravel(), minlength=40) >= 3).all()


def test_leading_axes_tell_points_of_a_surface_apart_but_not_points_of_a_cloud(rng):
    flat = np.zeros((3000, 30))
    flat[:, :2] = rng.uniform(size=(3000, 2))
    cloud = rng.normal(size=(3000, 30))
    fractions = []
    for X in (flat, cloud):
        rotated = along_principal_axes(X - X.mean(axis=0))
        reach = np.sort(cdist(rotated[:5], rotated), axis=1)[:, 10]
        fractions.append(fraction_within(rotated, slice(5), reach))
    assert fractions[0] < 0.01
    assert fractions[1] > 0.5
