import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg

import branchwise.graph.inverse
from branchwise.graph.inverse import (
    add_remainder,
    dense_inverse,
    plan_elimination,
    reflect,
    selected_inverse,
    take,
)
from branchwise.neighbors import neighbor_edges

from .. import oracles
from .test_dissection import grid, random_edges

pytestmark = pytest.mark.usefixtures("one_thread")


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
