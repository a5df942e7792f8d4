import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.graph import graph_solver
from branchwise.graph.solve import forest_solver, root_forest

from ..oracles import dense_laplacian


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
def test_graph_solver_matches_a_dense_solve(n_nodes, n_edges, weighted, seed):
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
