"""What every structure promises, and what each of them says is the best graph."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import connected_components, shortest_path
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs

from branchwise.graph import adjacency, laplacian
from branchwise.structures import (
    NAMES,
    Curve,
    FixedGraph,
    Forest,
    Graph,
    Ring,
    SparseGraph,
    Tree,
    as_structure,
    choose_graph,
    in_order,
    prepare,
)
from branchwise.structures.sparse import CycleSearch, longest_path
from branchwise.structures.trees import count_groups

from .. import oracles
from ..conftest import branching

FIXED = np.triu(np.random.default_rng(0).uniform(size=(9, 9)) > 0.6, 1) * 1.0


def ring(n_points, *, noise=0.05, seed=0):
    """Simulated points around a circle, evenly spread."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * (np.arange(n_points) + rng.uniform(-0.2, 0.2, n_points)) / n_points
    return np.column_stack([np.cos(angle), np.sin(angle)]) + noise * rng.normal(size=(n_points, 2))


def n_cycles(graph, n_nodes):
    parts = connected_components(adjacency(graph.edges, n_nodes))[0]
    return len(graph.edges) - n_nodes + parts


@pytest.mark.parametrize("structure", [*NAMES.values(), Forest(2), FixedGraph(FIXED + FIXED.T)])
def test_graphs_are_simple_and_structures_can_be_copied(structure, rng):
    points = rng.normal(size=(9, 2))
    again = pickle.loads(pickle.dumps(deepcopy(structure)))
    graph, other = (choose_graph(prepare(s, points), points, None) for s in (structure, again))
    np.testing.assert_array_equal(graph.edges, other.edges)
    assert (graph.edges[:, 0] < graph.edges[:, 1]).all()
    assert len(np.unique(graph.edges, axis=0)) == len(graph.edges)
    assert (graph.weights > 0).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_nodes", [1, 2, 3])
def test_few_nodes(name, n_nodes, rng):
    points = rng.normal(size=(n_nodes, 2))
    graph = choose_graph(prepare(as_structure(name), points), points, None)
    assert len(graph.edges) in ({3, 2} if n_nodes == 3 else {n_nodes - 1})


@pytest.mark.parametrize("name", NAMES)
def test_coincident_nodes(name):
    points = np.repeat([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]], 7, axis=0)
    graph = choose_graph(prepare(as_structure(name), points), points, None)
    assert np.isfinite(graph.terms(points)).all()


def test_names_are_short_for_the_default_structures():
    assert [as_structure(name) for name in ("tree", "forest", "ring", "curve", "graph")] == [
        Tree(),
        Forest(),
        Ring(),
        Curve(),
        SparseGraph(),
    ]


def test_unknown_names_are_told_the_known_ones():
    with pytest.raises(
        ValueError, match="structure='star' must be one of 'tree', 'forest', 'ring'"
    ):
        as_structure("star")


def test_a_dearer_graph_is_not_taken(rng):
    points = rng.normal(size=(12, 2))
    best = Tree().best_graph(points)
    worse = Graph.unweighted(np.column_stack([np.arange(11), np.arange(1, 12)]))

    class Stubborn:
        def best_graph(self, points):
            return worse

    assert choose_graph(Stubborn(), points, best) is best
    assert choose_graph(Stubborn(), points, None) is worse
    assert choose_graph(Tree(), points, worse) is not worse


def test_the_penalty_counts_when_graphs_are_compared(rng):
    points = rng.normal(size=(12, 2))
    best = Tree().best_graph(points)
    long_way = np.column_stack([np.arange(11), np.arange(1, 12)])

    class Rewarded:
        def best_graph(self, points):
            return Graph(long_way, np.ones(11), -1e3)

    assert choose_graph(Rewarded(), points, best).penalty == -1e3


# Forests


@given(
    n_points=st.integers(2, 30),
    n_trees=st.integers(1, 5),
    decimals=st.sampled_from([1, 8]),
    seed=st.integers(0, 1000),
)
def test_forest_is_the_cheapest_of_its_number_of_trees(n_points, n_trees, decimals, seed):
    points = np.random.default_rng(seed).normal(size=(n_points, 2)).round(decimals)
    n_trees = min(n_trees, n_points)
    graph = Forest(n_trees).best_graph(points)
    assert connected_components(adjacency(graph.edges, n_points))[0] == n_trees
    assert n_cycles(graph, n_points) == 0
    expected = Graph.unweighted(oracles.forest(points, n_trees))
    np.testing.assert_allclose(graph.terms(points), expected.terms(points), rtol=1e-12)


def test_number_of_trees_is_seen_from_the_gaps():
    corners = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    for seed in range(5):
        blobs = make_blobs(200, centers=corners, random_state=seed)[0]
        assert count_groups(blobs) == 3
        assert count_groups(branching(200, 2, n_branches=2, seed=seed)) == 1
    assert count_groups(ring(100)) == 1


def test_strays_are_not_groups():
    line = np.arange(40.0)[:, np.newaxis]
    stray = np.array([[60.0]])
    assert count_groups(np.concatenate([line, stray])) == 1
    groups = np.concatenate([line, stray, line + 80])
    assert count_groups(groups) == 2
    first = prepare(Forest(), groups).best_graph(groups)
    parts = connected_components(adjacency(first.edges, len(groups)))[1]
    assert sorted(np.bincount(parts)) == [40, 41]


def test_number_of_trees_does_not_depend_on_the_units():
    points = np.concatenate([branching(60, 2, n_branches=2), branching(60, 2, n_branches=2) + 9])
    assert [count_groups(unit * points) for unit in (1e-9, 1.0, 1e9)] == [2, 2, 2]


def test_groups_of_coincident_points_are_one():
    assert count_groups(np.zeros((20, 2))) == 1
    assert count_groups(np.repeat([[0.0], [1.0]], 10, axis=0)) == 1


# Cycles


def log_spanning_trees(graph, n_nodes):
    L = laplacian(graph.edges, n_nodes).toarray()
    return np.linalg.slogdet(L + 1 / n_nodes**2)[1]


@given(n_points=st.integers(3, 40), scale=st.floats(0, 100), seed=st.integers(0, 1000))
def test_penalty_is_the_price_of_edges_less_the_logarithm_of_spanning_trees(n_points, scale, seed):
    points = np.random.default_rng(seed).normal(size=(n_points, 2))
    search = CycleSearch(5, scale, 0.7 * scale)
    graph = search.best_graph(points)
    n_extra = n_cycles(graph, n_points)
    assert n_extra == len(graph.edges) - n_points + 1  # connected
    expected = search.beta * n_extra - scale * log_spanning_trees(graph, n_points)
    assert graph.penalty == pytest.approx(expected, rel=1e-8, abs=1e-8 * scale)


@given(n_points=st.integers(4, 25), scale=st.floats(0.1, 100), seed=st.integers(0, 1000))
def test_no_further_edge_pays(n_points, scale, seed):
    points = np.random.default_rng(seed).normal(size=(n_points, 2))
    search = CycleSearch(n_points, scale, 0.7 * scale)
    graph = search.best_graph(points)
    best = sum(graph.terms(points))
    present = set(map(tuple, graph.edges))
    for pair in zip(*np.triu_indices(n_points, 1), strict=True):
        if pair not in present:
            more = Graph.unweighted(np.vstack([graph.edges, pair]))
            extra = search.beta * n_cycles(more, n_points)
            other = more.terms(points)[0] + extra - scale * log_spanning_trees(more, n_points)
            assert other >= best - 1e-9 * (abs(best) + scale)


def test_cycles_of_the_data_are_found():
    angle = np.linspace(0, 2 * np.pi, 120, endpoint=False)
    eight = np.column_stack([np.sin(angle), np.sin(2 * angle) / 1.5])
    for points, expected in ((ring(100, noise=0.03), 1), (branching(100, 2, n_branches=2), 0)):
        assert n_cycles(SparseGraph().best_graph(points), len(points)) == expected
    assert n_cycles(SparseGraph(min_cycle=0.2).best_graph(eight), 120) == 2


@given(n_points=st.integers(2, 30), seed=st.integers(0, 1000))
def test_longest_path_is_that_of_all_pairs(n_points, seed):
    tree = Tree().best_graph(np.random.default_rng(seed).normal(size=(n_points, 2))).edges
    between = shortest_path(adjacency(tree, n_points), unweighted=True)
    assert longest_path(tree, n_points) == between.max() + 1


# A fixed graph, and nodes in another order


@pytest.mark.parametrize("container", [np.array, sparse.csr_matrix, sparse.coo_array, list])
def test_fixed_graph_is_the_one_that_was_given(container):
    S = FIXED + FIXED.T
    graph = as_structure(container(S)).best_graph(np.zeros((9, 2)))
    np.testing.assert_array_equal(adjacency(graph.edges, 9, graph.weights).toarray(), S)


def test_diagonal_and_zeros_of_a_fixed_graph_are_no_edges():
    S = sparse.csr_array(([2.0, 2.0, 0.0, 0.0, 5.0], ([0, 1, 1, 2, 0], [1, 0, 2, 1, 0])), (3, 3))
    graph = FixedGraph(S).best_graph(np.zeros((3, 1)))
    np.testing.assert_array_equal(graph.edges, [[0, 1]])
    np.testing.assert_array_equal(graph.weights, [2.0])


def test_nodes_in_another_order_get_the_same_graph(rng):
    points, order = rng.normal(size=(9, 2)), rng.permutation(9)
    S = FIXED + FIXED.T
    graph = prepare(in_order(FixedGraph(S), order), points).best_graph(points)
    expected = S[np.ix_(order, order)]
    np.testing.assert_array_equal(adjacency(graph.edges, 9, graph.weights).toarray(), expected)


def test_own_structures_see_the_nodes_in_their_own_order(rng):
    points, order = rng.normal(size=(9, 2)), rng.permutation(9)
    seen = []

    class Watching:
        def best_graph(self, points):
            seen.append(points)
            return FIXED + FIXED.T

    in_order(Watching(), order).best_graph(points[order])
    np.testing.assert_array_equal(seen[0], points)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (np.zeros((3, 4)), r"has shape \(3, 4\) but must have shape \(4, 4\); give one row"),
        (np.zeros((5, 5)), r"has shape \(5, 5\) but must have shape \(4, 4\)"),
        (np.zeros(4), r"has 1 dimension\(s\) and type float64 but must be a square matrix"),
        (np.full((4, 4), "x"), r"type <U1 but must be a square matrix of numbers"),
        (-np.ones((4, 4)), r"an edge of weight -1.0 but weights must be finite and non-negative"),
        (np.full((4, 4), np.nan), r"an edge of weight nan but weights must be finite"),
        (np.full((4, 4), np.inf), r"an edge of weight inf but weights must be finite"),
        (np.triu(np.ones((4, 4))), r"is not symmetric but must be: .* pass \(S \+ S.T\) / 2"),
    ],
)
def test_what_is_no_graph_is_refused(returned, message):
    class Own:
        def best_graph(self, points):
            return returned

    with pytest.raises(ValueError, match="best_graph's graph .*" + message):
        choose_graph(Own(), np.zeros((4, 2)), None)
    with pytest.raises(ValueError, match="structure's graph .*" + message):
        FixedGraph(returned).prepare(np.zeros((4, 2)))


@pytest.mark.parametrize("n_trees", [0, 6, 1.5, "two", None])
def test_number_of_trees_out_of_range_is_refused(n_trees):
    message = rf"n_trees={n_trees!r} must be an integer from 1 to the number of nodes, 5, or .auto."
    with pytest.raises(ValueError, match=message):
        Forest(n_trees).prepare(np.arange(5.0)[:, np.newaxis])


@pytest.mark.parametrize("options", [{"n_neighbors": 0}, {"min_cycle": 0.0}, {"scale": -1.0}])
def test_sparse_graph_with_parameters_out_of_range_is_refused(options):
    with pytest.raises(ValueError, match=r"must be at least 1, min_cycle=.*; set scale=0 for a"):
        SparseGraph(**options).prepare(np.zeros((5, 2)))


def test_scale_zero_is_a_tree():
    points = ring(60)
    graph = SparseGraph(scale=0.0).best_graph(points)
    np.testing.assert_array_equal(graph.edges, Tree().best_graph(points).edges)
    squared = cdist(points, points, "sqeuclidean")[tuple(graph.edges.T)]
    assert graph.terms(points) == (pytest.approx(squared.sum()), 0.0)
