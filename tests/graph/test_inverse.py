import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg
from scipy.sparse.csgraph import maximum_bipartite_matching

import branchwise.graph.inverse
from branchwise.graph import adjacency
from branchwise.graph.inverse import (
    add_remainder,
    bisect,
    dense_inverse,
    nested_dissection,
    plan_elimination,
    reflect,
    selected_inverse,
    take,
    vertex_separator,
)
from branchwise.neighbors import neighbor_edges

from .. import oracles

pytestmark = pytest.mark.usefixtures("one_thread")


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


def ring(n):
    return np.sort(np.column_stack([np.arange(n), np.roll(np.arange(n), 1)]), axis=1)


def star(n):
    return np.column_stack([np.zeros(n - 1, dtype=int), np.arange(1, n)])


def binary_tree(n):
    child = np.arange(1, n)
    return np.column_stack([(child - 1) // 2, child])


def duplicates(n):
    points = np.repeat(np.random.default_rng(0).normal(size=(n // 4, 3)), 4, axis=0)
    return neighbor_edges(points, 6)


GRAPHS = {
    "grid": (grid(20), 400),
    "path": (np.column_stack([np.arange(299), np.arange(1, 300)]), 300),
    "ring": (ring(300), 300),
    "star": (star(250), 250),
    "tree": (binary_tree(511), 511),
    "complete": (np.column_stack(np.triu_indices(120, 1)), 120),
    "pieces": (np.concatenate([ring(200), ring(150) + 200, [[350, 351]]]), 360),
    "no edge": (np.empty((0, 2), dtype=int), 5),
    "one node": (np.empty((0, 2), dtype=int), 1),
    "duplicates": (duplicates(400), 400),
    "plane": (neighbor_edges(np.random.default_rng(1).uniform(size=(600, 2)), 8), 600),
    "six dimensions": (neighbor_edges(np.random.default_rng(1).normal(size=(400, 6)), 8), 400),
}


def assert_is_the_inverse(inverse, edges, n, s, ridge, rtol=1e-8):
    """Against the inverse of the matrix as it stands in the paper."""
    Q = oracles.dense_laplacian(edges, n, s) + ridge * np.eye(n)
    Z = np.linalg.inv(Q)
    B = np.random.default_rng(3).normal(size=(n, 3))
    i, j = edges.T
    size = np.abs(Z).max()
    assert inverse.logdet == pytest.approx(np.linalg.slogdet(Q)[1], rel=rtol, abs=1e-10)
    np.testing.assert_allclose(inverse.diagonal, np.diag(Z), rtol=rtol)
    resistance = Z[i, i] + Z[j, j] - 2 * Z[i, j]
    np.testing.assert_allclose(inverse.resistance, resistance, rtol=rtol, atol=1e-12 * size)
    np.testing.assert_allclose(inverse.solve(B), Z @ B, rtol=rtol, atol=1e-10 * size)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("ridge", [0.25, 1e-3, 100.0])
def test_selected_inverse_is_the_inverse(name, ridge, rng):
    edges, n = GRAPHS[name]
    s = rng.exponential(size=len(edges)) * rng.integers(0, 2, size=len(edges))
    inverse = selected_inverse(plan_elimination(edges, n))(s, ridge)
    assert_is_the_inverse(inverse, edges, n, s, ridge)
    assert_is_the_inverse(dense_inverse(edges, n)(s, ridge), edges, n, s, ridge)


@given(
    n=st.integers(1, 50),
    density=st.floats(0, 3),
    leaf=st.integers(1, 10),
    size=st.floats(1e-3, 1e3),
    seed=st.integers(0, 999),
)
def test_selected_inverse_of_any_graph_is_the_inverse(n, density, leaf, size, seed):
    rng = np.random.default_rng(seed)
    edges = random_edges(n, int(density * n), rng)
    s = size * rng.exponential(size=len(edges)) * rng.integers(0, 2, size=len(edges))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(branchwise.graph.inverse, "LEAF", leaf)
        plan = plan_elimination(edges, n, rng.uniform(size=len(edges)))
    assert_is_the_inverse(selected_inverse(plan)(s, 0.25), edges, n, s, 0.25)


def test_one_plan_serves_all_weights(rng):
    edges, n = GRAPHS["plane"]
    invert = selected_inverse(plan_elimination(edges, n))
    for _ in range(3):
        s = rng.exponential(size=len(edges))
        assert_is_the_inverse(invert(s, 0.25), edges, n, s, 0.25)


def test_foster_s_theorem(rng):
    """Σ s_e·b_eᵀQ⁻¹b_e + c·Tr Q⁻¹ = N."""
    edges, n = GRAPHS["six dimensions"]
    s = rng.exponential(size=len(edges))
    inverse = selected_inverse(plan_elimination(edges, n))(s, 0.25)
    assert s @ inverse.resistance + 0.25 * inverse.diagonal.sum() == pytest.approx(n)


def test_a_plan_of_a_plane_keeps_a_small_part_of_the_inverse(rng):
    n = 3000
    plan = plan_elimination(neighbor_edges(rng.uniform(size=(n, 2)), 8), n)
    assert plan.n_entries < n * n / 10
    assert plan.n_flops < n**3 / 100


def test_a_plan_of_a_complete_graph_counts_the_dense_inverse():
    plan = plan_elimination(*GRAPHS["complete"])
    assert (plan.n_entries, plan.n_flops) == (120**2, 120**3)


def test_what_is_not_positive_definite_is_refused():
    invert = selected_inverse(plan_elimination(*GRAPHS["ring"]))
    with pytest.raises(linalg.LinAlgError, match="not positive definite"):
        invert(np.full(300, -1.0), 0.25)


def test_kernel_of_remainders_matches_numpy(rng):
    n_own, n_later = 4, 5
    rows = np.array([0, 2, 3, 5, 8])
    child = rng.normal(size=(5, 5))
    F = rng.normal(size=(9, 9))
    PP, UP, UU = F[:n_own, :n_own].copy(), F[n_own:, :n_own].copy(), F[n_own:, n_own:].copy()
    add_remainder(child, rows, PP, UP, UU)
    F[np.ix_(rows, rows)] += np.tril(child)
    np.testing.assert_array_equal(np.tril(PP), np.tril(F[:n_own, :n_own]))
    np.testing.assert_array_equal(UP, F[n_own:, :n_own])
    np.testing.assert_array_equal(np.tril(UU), np.tril(F[n_own:, n_own:]))
    assert UU.shape == (n_later, n_later)


def test_kernels_that_copy_match_numpy(rng):
    parent, Z = rng.normal(size=(6, 6)), np.zeros((5, 5))
    rows = np.array([1, 2, 5])
    take(parent, rows, 2, Z)
    np.testing.assert_array_equal(Z[2:, 2:], parent[np.ix_(rows, rows)])
    A = rng.normal(size=(4, 4))
    lower = np.tril(A)
    reflect(A)
    np.testing.assert_array_equal(A, lower + np.tril(lower, -1).T)
