"""DRTree and DDRTree on graphs other than trees (`op:spl-graph`)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.data.centering import CentredRows
from branchwise.solvers import assignments
from branchwise.solvers.ddrtree import ddrtree
from branchwise.solvers.drtree import drtree
from branchwise.solvers.pca import principal_axes
from branchwise.structures import FixedGraph, Forest, Graph, as_structure

from .. import oracles
from ..conftest import branching


class ExactForest:
    """The cheapest forest from the first iteration on, as the oracle has it."""

    def __init__(self, n_trees):
        self.n_trees = n_trees

    def best_graph(self, points):
        return Forest(self.n_trees).best_graph(points)


def weighted_graph(n_nodes, n_edges, rng):
    i, j = np.triu_indices(n_nodes, 1)
    chosen = np.sort(rng.permutation(len(i))[:n_edges])
    edges, weights = np.column_stack([i[chosen], j[chosen]]), rng.uniform(0.1, 3, n_edges)
    return (
        edges,
        weights,
        np.diag(np.diag(L := oracles.dense_laplacian(edges, n_nodes, weights))) - L,
    )


def in_our_signs(Y, dense, C):
    """Starting centres in the signs of the oracle's principal axes."""
    W, _ = principal_axes(Y, 2)
    axes = np.linalg.svd(dense, full_matrices=False)[2][:2].T
    return W, C * np.sign(np.sum(axes * Y.lift(W), axis=0))


@pytest.mark.parametrize("lam", [0.5, 20.0])
def test_drtree_with_a_forest_matches_the_dense_formulas(lam):
    X = branching(50, 5)
    Y = CentredRows(X)
    result = drtree(
        Y, principal_axes(Y, 2)[0], lam=lam, max_iter=8, tol=0, structure=ExactForest(3)
    )
    _, Z, edges, history = oracles.drtree_alternation(
        X - X.mean(axis=0), 2, lam=lam, n_iter=8, best_graph=lambda Z: oracles.forest(Z, 3)
    )
    np.testing.assert_allclose(result.Z, oracles.align(result.Z, Z), atol=1e-8)
    np.testing.assert_allclose(result.history, history, rtol=1e-10)
    assert set(map(tuple, result.edges)) == set(map(tuple, edges))


@pytest.mark.parametrize("n_edges", [20, 49, 120])
def test_drtree_with_a_fixed_graph_matches_the_dense_formulas(n_edges, rng):
    X = branching(50, 5)
    Y = CentredRows(X)
    edges, weights, S = weighted_graph(50, n_edges, rng)
    result = drtree(Y, principal_axes(Y, 2)[0], lam=3.0, max_iter=3, tol=0, structure=FixedGraph(S))
    _, Z, _, history = oracles.drtree_alternation(
        X - X.mean(axis=0), 2, lam=3.0, n_iter=3, best_graph=lambda Z: edges, weights=weights
    )
    np.testing.assert_allclose(result.Z, oracles.align(result.Z, Z), atol=1e-8)
    np.testing.assert_allclose(result.history, history, rtol=1e-10)
    np.testing.assert_array_equal(result.graph.weights, weights)


@pytest.mark.parametrize("max_dense", [4000, 1], ids=["matrix", "operator"])
@pytest.mark.parametrize("sigma", [0.1, 0.0], ids=["soft", "hard"])
@pytest.mark.parametrize("kind", ["forest", "sparse graph", "dense graph"])
def test_ddrtree_on_other_graphs_is_algorithm_2(kind, sigma, max_dense, monkeypatch, rng):
    monkeypatch.setattr(assignments, "MAX_DENSE", max_dense)
    X = branching(60, 5)
    dense, Y = X - X.mean(axis=0), CentredRows(X)
    start = Y.project(principal_axes(Y, 2)[0])[:15]
    W, C = in_our_signs(Y, dense, start)
    edges, weights, S = weighted_graph(15, 12 if kind == "sparse graph" else 40, rng)
    structure, options = FixedGraph(S), {"best_graph": lambda C: edges, "weights": weights}
    if kind == "forest":
        structure, options = ExactForest(3), {"best_graph": lambda C: oracles.forest(C, 3)}
    parameters = {"lam": 6.0, "gamma": 10.0, "sigma": sigma}
    result = ddrtree(Y, W, start, max_iter=8, tol=0, structure=structure, **parameters)
    _, Z, C, _, history = oracles.ddrtree_algorithm_2(
        dense, 2, C, n_iter=8, **parameters, **options
    )
    np.testing.assert_allclose(result.Z, oracles.align(result.Z, Z), atol=1e-8)
    np.testing.assert_allclose(result.C, oracles.align(result.C, C), atol=1e-8)
    np.testing.assert_allclose(result.history, history, rtol=1e-10)


class Erratic:
    """A search that finds something else every time, good or bad."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def best_graph(self, points):
        n_nodes = len(points)
        _, _, S = weighted_graph(n_nodes, self.rng.integers(n_nodes), self.rng)
        return S


STRUCTURES = {
    **{name: lambda K, seed, name=name: as_structure(name) for name in ("forest", "ring", "curve")},
    "graph": lambda K, seed: as_structure("graph"),
    "two trees": lambda K, seed: Forest(min(2, K)),
    "fixed": lambda K, seed: FixedGraph(
        weighted_graph(K, K * (K - 1) // 4, np.random.default_rng(seed))[2]
    ),
    "erratic": lambda K, seed: Erratic(seed),
}


@pytest.mark.parametrize("kind", STRUCTURES)
@given(
    n_samples=st.integers(3, 30),
    n_features=st.integers(2, 10),
    lam=st.floats(0, 1e4),
    seed=st.integers(0, 1000),
)
def test_drtree_objective_never_rises_on_any_graph(kind, n_samples, n_features, lam, seed):
    Y = CentredRows(np.random.default_rng(seed).normal(size=(n_samples, n_features)))
    W, rank = principal_axes(Y, 2)
    structure = STRUCTURES[kind](n_samples, seed)
    result = drtree(Y, W[:, :rank], lam=lam, max_iter=8, tol=0, structure=structure)
    scale = np.maximum(np.abs(result.history[:-1]), Y.energy)
    assert (np.diff(result.history) <= 1e-10 * scale).all()
    W, Z = result.W, result.Z
    L = oracles.dense_laplacian(result.edges, n_samples, result.graph.weights)
    expected = oracles.drtree_objective(Y.dense(slice(None)), W, Z, L, lam)
    expected += lam * result.graph.penalty
    assert result.history[-1] == pytest.approx(expected, rel=1e-8, abs=1e-8 * Y.energy)


@pytest.mark.parametrize("kind", STRUCTURES)
@pytest.mark.parametrize("max_dense", [4000, 1], ids=["matrix", "operator"])
@given(
    n_samples=st.integers(4, 30),
    n_features=st.integers(2, 10),
    n_centers=st.one_of(st.none(), st.integers(1, 4)),
    lam=st.floats(0, 1e4),
    gamma=st.floats(1e-2, 1e3),
    sigma=st.one_of(st.just(0.0), st.floats(1e-6, 1e3)),
    seed=st.integers(0, 1000),
)
def test_ddrtree_objective_never_rises_on_any_graph(
    kind, max_dense, n_samples, n_features, n_centers, lam, gamma, sigma, seed
):
    Y = CentredRows(np.random.default_rng(seed).normal(size=(n_samples, n_features)))
    W, rank = principal_axes(Y, 2)
    W = W[:, :rank]
    C = None if n_centers is None else Y.project(W)[:n_centers]
    structure = STRUCTURES[kind](n_centers or n_samples, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assignments, "MAX_DENSE", max_dense)
        result = ddrtree(
            Y, W, C, lam=lam, gamma=gamma, sigma=sigma, max_iter=8, tol=0, structure=structure
        )
    scale = np.maximum(np.abs(result.history[:-1]), Y.energy)
    assert (np.diff(result.history) <= 1e-10 * scale).all()
    assert np.isfinite(result.C).all()


@pytest.mark.parametrize("max_dense", [4000, 1], ids=["matrix", "operator"])
@pytest.mark.parametrize("lam", [1e6, 1e9])
def test_parts_of_a_forest_keep_their_places_however_large_the_weight(max_dense, lam, monkeypatch):
    """Each tree shrinks to a point, the mean of its samples."""
    monkeypatch.setattr(assignments, "MAX_DENSE", max_dense)
    X = np.concatenate([branching(40, 3), branching(30, 3, seed=1) + 8])
    Y = CentredRows(X)
    W, _ = principal_axes(Y, 2)
    C = Y.project(W)[::5]
    result = ddrtree(
        Y, W, C, lam=lam, gamma=10.0, sigma=0.0, max_iter=6, tol=0, structure=Forest(2)
    )
    assert (np.diff(result.history) <= 1e-12 * Y.energy).all()
    for rows, nodes in ((slice(40), slice(8)), (slice(40, None), slice(8, None))):
        mean = np.broadcast_to(result.Z[rows].mean(axis=0), result.C[nodes].shape)
        np.testing.assert_allclose(result.C[nodes], mean, rtol=0, atol=1e3 / lam)


def test_history_counts_the_penalty():
    X = branching(60, 5)
    Y = CentredRows(X)
    W, _ = principal_axes(Y, 2)

    class Dear:
        def best_graph(self, points):
            return Graph(oracles.kruskal(points), np.ones(len(points) - 1), 7.0)

    options = {"lam": 6.0, "max_iter": 4, "tol": 0}
    plain, dear = drtree(Y, W, **options), drtree(Y, W, structure=Dear(), **options)
    np.testing.assert_allclose(np.subtract(dear.history, plain.history), 42.0)
    options |= {"gamma": 10.0, "sigma": 0.1}
    plain = ddrtree(Y, W, None, **options)
    dear = ddrtree(Y, W, None, structure=Dear(), **options)
    np.testing.assert_allclose(np.subtract(dear.history, plain.history), 42.0)


@pytest.mark.parametrize("max_dense", [4000, 1], ids=["matrix", "operator"])
def test_unused_part_of_the_graph_is_drawn_together_where_it_is(max_dense, monkeypatch):
    monkeypatch.setattr(assignments, "MAX_DENSE", max_dense)
    Y = CentredRows(branching(30, 2, n_branches=2))
    W, _ = principal_axes(Y, 2)
    C = np.array([[0.0, 0.0], [0.5, 0.0], [100.0, 100.0], [102.0, 100.0]])
    result = ddrtree(
        Y, W, C, lam=5.0, gamma=10.0, sigma=0.0, max_iter=4, tol=0, structure=ExactForest(2)
    )
    np.testing.assert_array_equal(result.edges, [[0, 1], [2, 3]])
    for k in (2, 3):
        np.testing.assert_allclose(result.W @ result.C[k], W @ [101.0, 100.0])
    assert (np.diff(result.history) <= 1e-10 * Y.energy).all()


def test_hardly_used_part_of_the_graph_does_no_harm():
    """The far pair's share of the samples is lost in rounding beside the pull of its edge."""
    rng = np.random.default_rng(0)
    Y = CentredRows(rng.normal(size=(40, 2)))
    sigma = 1.0
    for distance in (5.0, 5.5, 5.9, 6.0, 6.5):
        C = np.array([[0.0, 0.0], [0.5, 0.0], [distance, 3.0], [distance, 3.1]])
        result = ddrtree(
            Y,
            np.eye(2),
            C,
            lam=1e9,
            gamma=1.0,
            sigma=sigma,
            max_iter=5,
            tol=0,
            structure=FixedGraph(np.kron(np.eye(2), [[0, 1], [1, 0]])),
        )
        assert np.isfinite(result.C).all()
        assert np.abs(result.C).max() < 20
        scale = np.maximum(np.abs(result.history[:-1]), Y.energy)
        assert (np.diff(result.history) <= 1e-9 * scale).all()
