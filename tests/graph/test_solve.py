import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from branchwise.graph import graph_solver, laplacian
from branchwise.graph.solve import forest_solver, root_forest

from ..oracles import dense_laplacian

KINDS = ["chain", "star", "random"]


def tree_edges(kind, n_nodes, rng):
    """Edges of a tree whose nodes are numbered at random, in random order and orientation."""
    child = np.arange(1, n_nodes)
    parent = {
        "chain": child - 1,
        "star": np.zeros_like(child),
        "random": rng.integers(child) if n_nodes > 1 else child,
    }[kind]
    edges = rng.permutation(n_nodes)[np.column_stack([child, parent])]
    flip = rng.integers(2, size=len(edges), dtype=bool)
    edges[flip] = edges[flip, ::-1]
    return rng.permutation(edges)


def dense_P(edges, weight, diagonal):
    return weight * dense_laplacian(edges, len(diagonal)) + np.diag(diagonal)


def assert_solves(P, X, B):
    """The residual is rounding error of the products that it is made of."""
    error = np.abs(P @ X - B).max()
    assert error <= 1e-14 * np.abs(P).sum(axis=1).max() * np.abs(X).max()


@pytest.mark.parametrize("kind", KINDS)
@given(
    n_nodes=st.integers(1, 40),
    weight=st.floats(0.01, 100),
    n_columns=st.integers(1, 4),
    seed=st.integers(0, 2**32 - 1),
)
def test_graph_solver_matches_a_dense_solve(kind, n_nodes, weight, n_columns, seed):
    rng = np.random.default_rng(seed)
    edges = tree_edges(kind, n_nodes, rng)
    diagonal = rng.uniform(0.1, 10.0, size=n_nodes)
    B = rng.normal(size=(n_nodes, n_columns))
    X = graph_solver(edges, weight, diagonal)(B)
    assert X.shape == B.shape
    np.testing.assert_allclose(
        X, np.linalg.solve(dense_P(edges, weight, diagonal), B), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("kind", KINDS)
@given(
    n_nodes=st.integers(2, 30),
    weight=st.floats(0.1, 10),
    n_positive=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_graph_solver_allows_zeros_on_the_diagonal(kind, n_nodes, weight, n_positive, seed):
    rng = np.random.default_rng(seed)
    edges = tree_edges(kind, n_nodes, rng)
    diagonal = np.zeros(n_nodes)
    diagonal[rng.integers(n_nodes, size=n_positive)] = rng.uniform(0.5, 2.0, size=n_positive)
    B = rng.normal(size=(n_nodes, 2))
    X = graph_solver(edges, weight, diagonal)(B)
    expected = np.linalg.solve(dense_P(edges, weight, diagonal), B)
    np.testing.assert_allclose(X, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("kind", KINDS)
def test_graph_solver_leaves_no_residual_at_any_weight(kind, rng):
    for weight in (1e-8, 1e-3, 1.0, 1e3, 1e6):
        edges = tree_edges(kind, 100, rng)
        diagonal = rng.uniform(0.5, 2.0, size=100)
        B = rng.normal(size=(100, 2))
        X = graph_solver(edges, weight, diagonal)(B)
        assert_solves(dense_P(edges, weight, diagonal), X, B)


@pytest.mark.parametrize("kind", KINDS)
def test_graph_solver_of_weight_zero_divides_by_the_diagonal(kind, rng):
    diagonal = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    B = rng.normal(size=(5, 3))
    X = graph_solver(tree_edges(kind, 5, rng), 0.0, diagonal)(B)
    np.testing.assert_array_equal(X, B / diagonal[:, np.newaxis])


@pytest.mark.parametrize("weight", [0.0, 3.0])
def test_graph_solver_of_one_node_divides_by_its_diagonal(weight):
    solve = graph_solver(np.empty((0, 2), dtype=np.intp), weight, np.array([4.0]))
    np.testing.assert_array_equal(solve(np.array([[2.0, 8.0]])), [[0.5, 2.0]])


def test_graph_solver_maps_counts_to_ones(rng):
    # P1 = weight·L1 + Γ1 = Γ1.
    edges = tree_edges("random", 50, rng)
    counts = rng.integers(0, 4, size=50).astype(float)
    X = graph_solver(edges, 7.0, counts)(counts[:, np.newaxis])
    np.testing.assert_allclose(X, 1.0, rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", [1e8, 1e16, 1e30])
def test_graph_solver_keeps_its_digits_however_large_the_weight(kind, weight, rng):
    # Pivots taken as differences would leave nothing of a diagonal that is 1e16 times smaller.
    edges = tree_edges(kind, 300, rng)
    diagonal = rng.uniform(0.5, 2.0, size=300)
    X = graph_solver(edges, weight, diagonal)(diagonal[:, np.newaxis])
    np.testing.assert_allclose(X, 1.0, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_graph_solver_of_many_nodes_leaves_no_residual(kind, rng):
    n_nodes, weight = 20_000, 5.0
    edges = tree_edges(kind, n_nodes, rng)
    diagonal = rng.uniform(0.5, 2.0, size=n_nodes)
    B = rng.normal(size=(n_nodes, 2))
    X = graph_solver(edges, weight, diagonal)(B)
    P = weight * laplacian(edges, n_nodes) + sparse.diags_array(diagonal)
    assert_solves(P, X, B)


def test_graph_solver_is_reusable_and_leaves_its_input_unchanged(rng):
    edges = tree_edges("random", 30, rng)
    diagonal = rng.uniform(0.5, 2.0, size=30)
    B = rng.normal(size=(30, 3))
    inputs = [array.copy() for array in (edges, diagonal, B)]
    solve = graph_solver(edges, 2.0, diagonal)
    np.testing.assert_array_equal(solve(B), solve(B))
    np.testing.assert_allclose(solve(-2 * B), -2 * solve(B), rtol=1e-12)
    for array, before in zip((edges, diagonal, B), inputs, strict=True):
        np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("weight", [0.0, 2.0])
def test_graph_solver_accepts_any_memory_layout_and_number_type(weight, rng):
    edges = tree_edges("random", 30, rng)
    solve = graph_solver(edges, weight, np.full(30, 2.0))
    B = rng.integers(-5, 5, size=(30, 3)).astype(float)
    wide = np.zeros((60, 6))
    wide[::2, ::2] = B
    for same in (np.asfortranarray(B), wide[::2, ::2], B.astype(np.float32), B.astype(int)):
        X = solve(same)
        assert X.dtype == np.float64
        np.testing.assert_array_equal(X, solve(B))


@given(
    n_nodes=st.integers(1, 40),
    n_cut=st.integers(0, 10),
    seed=st.integers(0, 2**32 - 1),
)
def test_graph_solver_of_a_forest_with_weights_matches_a_dense_solve(n_nodes, n_cut, seed):
    rng = np.random.default_rng(seed)
    edges = tree_edges("random", n_nodes, rng)
    edges = edges[min(n_cut, len(edges)) :]
    weights = 10 ** rng.uniform(-3, 3, size=len(edges))
    diagonal = rng.uniform(0.1, 10.0, size=n_nodes)
    B = rng.normal(size=(n_nodes, 2))
    P = dense_laplacian(edges, n_nodes, weights) + np.diag(diagonal)
    X = graph_solver(edges, weights, diagonal)(B)
    np.testing.assert_allclose(X, np.linalg.solve(P, B), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("weight", [1e8, 1e30])
def test_every_tree_of_a_forest_keeps_its_digits(weight, rng):
    edges = np.concatenate([tree_edges("random", 50, rng), 50 + tree_edges("chain", 50, rng)])
    diagonal = np.where(np.arange(100) < 50, 1e-9, 1.0)
    X = graph_solver(edges, weight, diagonal)(diagonal[:, np.newaxis])
    np.testing.assert_allclose(X, 1.0, rtol=1e-12)


def random_graph(n_nodes, n_edges, rng):
    i, j = np.triu_indices(n_nodes, 1)
    chosen = rng.permutation(len(i))[:n_edges]
    return np.column_stack([i[chosen], j[chosen]])


@given(
    n_nodes=st.integers(1, 30),
    n_edges=st.integers(0, 60),
    weighted=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_graph_solver_on_any_graph_matches_a_dense_solve(n_nodes, n_edges, weighted, seed):
    """With and without cycles, in one part and in many."""
    rng = np.random.default_rng(seed)
    edges = random_graph(n_nodes, n_edges, rng)
    weight = rng.uniform(0.1, 10, size=len(edges)) if weighted else 3.0
    diagonal = rng.uniform(0.1, 10, size=n_nodes)
    B = rng.normal(size=(n_nodes, 2))
    P = dense_laplacian(edges, n_nodes, np.broadcast_to(weight, len(edges))) + np.diag(diagonal)
    X = graph_solver(edges, weight, diagonal)(B)
    np.testing.assert_allclose(X, np.linalg.solve(P, B), rtol=1e-8, atol=1e-10)


def test_a_graph_without_cycles_is_solved_as_a_forest(rng):
    edges = np.array([[0, 1], [1, 2], [3, 4]])
    diagonal, B = rng.uniform(0.5, 2, size=5), rng.normal(size=(5, 3))
    solve = forest_solver(root_forest(edges, 2.0, 5), diagonal)
    np.testing.assert_array_equal(graph_solver(edges, 2.0, diagonal)(B), solve(B))


@pytest.mark.parametrize("extra", [[0, 2], [3, 5]])
def test_as_many_edges_as_a_tree_may_still_have_a_cycle(extra, rng):
    edges = np.array([[0, 1], [1, 2], [3, 4], [4, 5], extra])
    B = rng.normal(size=(6, 1))
    P = dense_laplacian(edges, 6) + np.eye(6)
    np.testing.assert_allclose(graph_solver(edges, 1.0, np.ones(6))(B), np.linalg.solve(P, B))
