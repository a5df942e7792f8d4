import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist

from branchwise._kdtree import build
from branchwise.graph import euclidean_spanning_tree, spanning_tree
from branchwise.graph.spanning_tree import (
    boruvka,
    find_shared,
    join,
    pair_of,
    precedes,
    prim,
    recall,
    search,
)

from ..oracles import kruskal

ROUTINES = [boruvka, prim, euclidean_spanning_tree]


def lengths(points, edges):
    return np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)


def as_set(edges):
    return {(min(i, j), max(i, j)) for i, j in edges.tolist()}


def assert_spans(edges, n_points):
    """n − 1 edges that connect n points have no cycle."""
    assert edges.shape == (n_points - 1, 2)
    assert np.issubdtype(edges.dtype, np.integer)
    graph = csr_array((np.ones(n_points - 1), edges.T), shape=(n_points, n_points))
    assert connected_components(graph, directed=False, return_labels=False) == 1


def assert_minimal(points, edges, reference=kruskal):
    """All minimum spanning trees share one multiset of edge lengths."""
    assert_spans(edges, len(points))
    expected = np.sort(lengths(points, reference(points)))
    # Below 1e-150 squares of coordinate differences underflow.
    np.testing.assert_allclose(np.sort(lengths(points, edges)), expected, rtol=1e-12, atol=1e-150)


def clusters(sizes, *, distance, seed=0, n_dims=2):
    """Standard normal clusters at the corners of a growing staircase, in random order."""
    rng = np.random.default_rng(seed)
    label = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    corner = distance * (label**2)[:, np.newaxis] * np.ones(n_dims)
    return corner + rng.normal(size=(len(label), n_dims)), label


# Arbitrary points


@pytest.mark.parametrize("routine", ROUTINES)
@given(
    points=hnp.arrays(
        np.float64,
        st.tuples(st.integers(2, 40), st.integers(1, 4)),
        elements=st.floats(-1e3, 1e3, allow_subnormal=False),
    )
)
def test_spanning_tree_of_any_points_is_minimal(routine, points):
    assert_minimal(points, routine(points))


@pytest.mark.parametrize("routine", ROUTINES)
@given(
    points=hnp.arrays(
        np.float64, st.tuples(st.integers(2, 60), st.integers(1, 3)), elements=st.integers(0, 3)
    )
)
def test_spanning_tree_of_integer_grid_points_is_minimal(routine, points):
    assert_minimal(points, routine(points))


@pytest.mark.parametrize("routine", ROUTINES)
@given(seed=st.integers(0, 2**32 - 1), n_points=st.integers(2, 80), n_dims=st.integers(1, 3))
def test_spanning_tree_next_to_tiny_distances_is_minimal(routine, seed, n_points, n_dims):
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 3, size=(n_points, n_dims))
    points = coarse + 1e-12 * rng.integers(0, 6, size=(n_points, n_dims))
    assert_minimal(points, routine(points))


@pytest.mark.parametrize("routine", ROUTINES)
@given(
    position=hnp.arrays(np.float64, st.integers(2, 50), elements=st.floats(-10, 10, width=16)),
    n_dims=st.integers(1, 4),
)
def test_spanning_tree_of_collinear_points_is_as_long_as_their_span(routine, position, n_dims):
    points = position[:, np.newaxis] * np.arange(1.0, n_dims + 1)
    edges = routine(points)
    assert_spans(edges, len(points))
    step = np.linalg.norm(np.arange(1.0, n_dims + 1))
    assert lengths(points, edges).sum() == pytest.approx(np.ptp(position) * step, rel=1e-12)


@pytest.mark.parametrize("routine", ROUTINES)
@given(
    sizes=st.lists(st.integers(1, 30), min_size=2, max_size=4),
    distance=st.sampled_from([1e2, 1e6]),
    seed=st.integers(0, 2**32 - 1),
)
def test_spanning_tree_of_clusters_far_apart_is_minimal(routine, sizes, distance, seed):
    points, label = clusters(sizes, distance=distance, seed=seed)
    edges = routine(points)
    assert_minimal(points, edges)
    assert (label[edges[:, 0]] != label[edges[:, 1]]).sum() == len(sizes) - 1


@pytest.mark.parametrize("routine", ROUTINES)
@pytest.mark.parametrize("n_points", [2, 9, 10, 33, 300])
def test_spanning_tree_of_identical_points_has_zero_length(routine, n_points):
    points = np.full((n_points, 2), 0.1)
    edges = routine(points)
    assert_spans(edges, n_points)
    assert (lengths(points, edges) == 0).all()


@pytest.mark.parametrize("n_dims", [1, 2, 30])
def test_spanning_tree_of_one_point_has_no_edge(n_dims):
    edges = euclidean_spanning_tree(np.ones((1, n_dims)))
    assert edges.shape == (0, 2)
    assert np.issubdtype(edges.dtype, np.integer)


@pytest.mark.parametrize("n_dims", [1, 2, 30])
def test_spanning_tree_of_two_points_is_their_edge(n_dims):
    points = np.vstack([np.ones(n_dims), np.zeros(n_dims)])
    np.testing.assert_array_equal(euclidean_spanning_tree(points), [[0, 1]])


# Distinct distances: the tree is unique


@pytest.mark.parametrize("routine", ROUTINES)
@pytest.mark.parametrize("n_dims", [1, 2, 3, 6, 10, 30])
def test_spanning_tree_of_points_at_distinct_distances_is_kruskals(routine, n_dims, rng):
    points = rng.normal(size=(150, n_dims))
    assert as_set(routine(points)) == as_set(kruskal(points))


@pytest.mark.parametrize(("n_dims", "offset"), [(2, 0.0), (2, 1e9), (5, 0.0)])
def test_boruvka_agrees_with_prim_on_many_points(n_dims, offset, rng):
    points = offset + rng.normal(size=(600, n_dims))
    assert as_set(boruvka(points)) == as_set(prim(points))


@pytest.mark.parametrize("routine", ROUTINES)
def test_spanning_tree_is_as_long_as_scipys(routine, rng):
    points = rng.normal(size=(300, 3))
    expected = minimum_spanning_tree(cdist(points, points)).sum()
    assert lengths(points, routine(points)).sum() == pytest.approx(expected, rel=1e-12)


def test_spanning_tree_edges_are_sorted_pairs(rng):
    for routine in ROUTINES:
        edges = routine(rng.normal(size=(100, 3)))
        assert (edges[:, 0] < edges[:, 1]).all()
        assert edges.tolist() == sorted(edges.tolist())


def test_spanning_tree_follows_a_permutation_of_the_points(rng):
    points = rng.normal(size=(200, 3))
    order = rng.permutation(200)
    moved = euclidean_spanning_tree(points[order])
    assert as_set(order[moved]) == as_set(euclidean_spanning_tree(points))


def test_spanning_tree_ignores_empty_dimensions(rng):
    points = rng.normal(size=(200, 2))
    padded = np.hstack([points, np.zeros((200, 10))])
    np.testing.assert_array_equal(euclidean_spanning_tree(padded), euclidean_spanning_tree(points))


@pytest.mark.parametrize("scale", [2.0**-1000, 2.0**-300, 2.0**300, 2.0**1000])
@pytest.mark.parametrize("limit", [0, 10**6])
def test_spanning_tree_does_not_depend_on_the_unit_of_length(scale, limit, monkeypatch, rng):
    monkeypatch.setattr(spanning_tree, "MIN_KDTREE", limit)
    points = rng.normal(size=(200, 2))
    np.testing.assert_array_equal(
        euclidean_spanning_tree(scale * points), euclidean_spanning_tree(points)
    )


def test_spanning_tree_accepts_any_memory_layout_and_precision(rng):
    points = rng.normal(size=(100, 3)).astype(np.float32).astype(np.float64)
    expected = euclidean_spanning_tree(points)
    wide = np.zeros((200, 6))
    wide[::2, ::2] = points
    for same in (points.astype(np.float32), np.asfortranarray(points), wide[::2, ::2]):
        np.testing.assert_array_equal(euclidean_spanning_tree(same), expected)


@pytest.mark.parametrize("routine", ROUTINES)
def test_spanning_tree_leaves_its_points_unchanged(routine, rng):
    points = rng.normal(size=(50, 2))
    before = points.copy()
    routine(points)
    np.testing.assert_array_equal(points, before)


# Duplicates and near-duplicates


@pytest.mark.parametrize("routine", ROUTINES)
def test_spanning_tree_of_duplicates_has_zero_length_edges(routine):
    points = np.array([[0.0], [5.0], [1.0], [1.0], [5.0]])
    edges = routine(points)
    assert_spans(edges, 5)
    assert {(1, 4), (2, 3)} <= as_set(edges)
    assert sorted(lengths(points, edges)) == [0, 0, 1, 4]


@pytest.mark.parametrize("routine", ROUTINES)
@pytest.mark.parametrize(("n_sites", "n_copies"), [(3, 12), (2, 200), (40, 15), (5, 140)])
def test_spanning_tree_of_many_copies_joins_the_copies_first(routine, n_sites, n_copies):
    rng = np.random.default_rng(0)
    sites = rng.normal(size=(n_sites, 2))
    site = rng.permutation(np.repeat(np.arange(n_sites), n_copies))
    edges = routine(sites[site])
    assert_spans(edges, len(site))
    length = lengths(sites[site], edges)
    assert (length == 0).sum() == len(site) - n_sites
    assert as_set(site[edges[length > 0]]) == as_set(kruskal(sites))


@pytest.mark.parametrize("routine", ROUTINES)
@pytest.mark.parametrize("gap", [1e-10, 1e-14, 1e-100])
def test_spanning_tree_of_nearly_coincident_points_takes_the_short_edges(routine, gap):
    # A routine that takes a small distance for a missing edge leaves the first three points
    # unconnected, or connects them through the others.
    points = np.array([[0, 0], [gap, 0], [3 * gap, 0], [1, 0], [0, 2], [0, 5.0]])
    edges = routine(points)
    assert_minimal(points, edges)
    assert {(0, 1), (1, 2)} <= as_set(edges)


@pytest.mark.parametrize("routine", ROUTINES)
def test_spanning_tree_of_nearly_coincident_pairs_is_kruskals(routine, rng):
    sites = rng.uniform(size=(60, 2))
    offset = rng.normal(size=(60, 2))
    points = rng.permutation(np.vstack([sites, sites + 1e-10 * offset]))
    edges = routine(points)
    assert as_set(edges) == as_set(kruskal(points))
    assert (lengths(points, edges) < 1e-8).sum() == 60


# Components far apart


@pytest.mark.parametrize(
    "sizes", [(12, 12), (20, 20, 20), (100, 90, 70), (150, 150, 200), (300, 5), (40,) * 7]
)
@pytest.mark.parametrize("n_dims", [2, 5])
def test_boruvka_joins_clusters_by_their_closest_points(sizes, n_dims):
    points, label = clusters(sizes, distance=1e3, n_dims=n_dims)
    edges = boruvka(points)
    assert as_set(edges) == as_set(prim(points))
    assert (label[edges[:, 0]] != label[edges[:, 1]]).sum() == len(sizes) - 1


def test_boruvka_joins_large_clusters_of_duplicates():
    site = np.repeat([0, 1, 2], [200, 150, 400])
    points = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 3.0]])[site]
    edges = boruvka(points)
    assert_spans(edges, len(points))
    assert sorted(lengths(points, edges))[-3:] == [0, 1, 3]


# Edges of equal length: the one of lower indices comes first


@pytest.mark.parametrize("routine", ROUTINES)
@given(
    points=hnp.arrays(
        np.float64, st.tuples(st.integers(2, 60), st.integers(1, 3)), elements=st.integers(0, 3)
    )
)
def test_spanning_tree_among_ties_is_kruskals(routine, points):
    # The oracle keeps equal lengths in the order of their indices.
    assert as_set(routine(points)) == as_set(kruskal(points))


@pytest.mark.parametrize("routine", ROUTINES)
def test_spanning_tree_of_equal_points_is_a_star_around_the_first(routine):
    edges = routine(np.full((50, 2), 0.1))
    assert as_set(edges) == {(0, j) for j in range(1, 50)}


def test_spanning_tree_of_a_shuffled_grid_is_the_same_from_both_algorithms(rng):
    points = rng.permutation(np.stack(np.meshgrid(*[np.arange(20.0)] * 2), -1).reshape(-1, 2))
    assert as_set(boruvka(points)) == as_set(prim(points))


# Steps of the algorithms


@pytest.mark.parametrize("n_dims", [1, 2, 10])
def test_spanning_tree_is_the_same_on_both_sides_of_the_limit(n_dims, monkeypatch, rng):
    points = rng.normal(size=(60, n_dims))
    trees = []
    for limit in (0, 10**6):
        monkeypatch.setattr(spanning_tree, "MIN_KDTREE", limit)
        trees.append(euclidean_spanning_tree(points))
    np.testing.assert_array_equal(*trees)


@pytest.mark.parametrize("n_dims", [1, 3, 10])
def test_algorithm_depends_on_the_number_of_points_and_dimensions(n_dims, monkeypatch):
    limit = int(np.ceil(spanning_tree.MIN_KDTREE * 2 ** (n_dims / 2)))
    called = []
    for name in ("prim", "boruvka"):
        monkeypatch.setattr(spanning_tree, name, lambda points, name=name: called.append(name))
    euclidean_spanning_tree(np.zeros((limit - 1, n_dims)))
    euclidean_spanning_tree(np.zeros((limit, n_dims)))
    assert called == ["prim", "boruvka"]


@given(
    edge=st.tuples(st.integers(0, 3), st.integers(0, 20), st.integers(0, 20)),
    other=st.tuples(st.integers(0, 3), st.integers(0, 20), st.integers(0, 20)),
)
def test_precedes_orders_edges_by_length_and_then_by_indices(edge, other):
    expected = (edge[0], sorted(edge[1:])) < (other[0], sorted(other[1:]))
    pair, other_pair = pair_of(*edge[1:], 21), pair_of(*other[1:], 21)
    assert precedes(float(edge[0]), pair, float(other[0]), other_pair) == expected


components = st.integers(0, 3).flatmap(
    lambda last: hnp.arrays(np.int64, st.integers(4, 60), elements=st.integers(0, last))
)


@given(component=components)
def test_find_shared_matches_numpy(component):
    tree = build(np.random.default_rng(0).normal(size=(len(component), 2)))
    shared = np.empty(len(tree.start), dtype=np.int64)
    find_shared(tree.start, tree.stop, component, shared)
    for node, (start, stop) in enumerate(zip(tree.start, tree.stop, strict=True)):
        inside = np.unique(component[start:stop])
        assert shared[node] == (inside[0] if len(inside) == 1 else -1)


@given(
    component=components.filter(lambda component: len(np.unique(component)) > 1),
    n_values=st.sampled_from([3, 1000]),
    seed=st.integers(0, 2**32 - 1),
)
def test_search_finds_the_first_edge_out_of_each_component(component, n_values, seed):
    n_points = len(component)
    points = np.random.default_rng(seed).integers(n_values, size=(n_points, 2)).astype(float)
    tree = build(points)
    shared = np.empty(len(tree.start), dtype=np.int64)
    find_shared(tree.start, tree.stop, component, shared)
    best, best_pair = np.full(n_points, np.inf), np.zeros(n_points, dtype=np.int64)
    known, known_pair = np.full(n_points, -1.0), np.zeros(n_points, dtype=np.int64)
    target = np.arange(n_points)
    recall(tree.points, tree.order, component, known, known_pair, target, best, best_pair)
    offered = best.copy()
    search(*tree, component, shared, known, known_pair, target, best, best_pair)

    length = cdist(tree.points, tree.points, "sqeuclidean")
    pair = np.minimum.outer(tree.order, tree.order) * n_points + np.maximum.outer(
        tree.order, tree.order
    )
    for c in np.unique(component):
        leaves = (component[:, np.newaxis] == c) & (component != c)
        first = np.lexsort((pair[leaves], length[leaves]))[0]
        assert (best[c], best_pair[c]) == (length[leaves][first], pair[leaves][first])
        assert best[c] <= offered[c]
    # What the points know is a bound, and exact where it comes with a target.
    outside = np.where(component[:, np.newaxis] != component, length, np.inf)
    assert (known <= outside.min(axis=1)).all()
    found = np.flatnonzero(target != np.arange(n_points))
    np.testing.assert_array_equal(outside[found, target[found]], known[found])
    np.testing.assert_array_equal(outside[found].min(axis=1), known[found])


def test_recall_offers_known_edges_only_while_they_lead_outside():
    points, order = np.array([[0.0], [1.0], [3.0]]), np.arange(3)
    known, known_pair, target = np.array([1.0, 1.0, 4.0]), np.array([1, 1, 5]), np.array([1, 0, 1])
    component = np.array([0, 0, 2])
    best, best_pair = np.full(3, np.inf), np.zeros(3, dtype=np.int64)
    recall(points, order, component, known, known_pair, target, best, best_pair)
    np.testing.assert_array_equal(best, [4, np.inf, 4])
    np.testing.assert_array_equal(best_pair[[0, 2]], [5, 5])


def test_join_adds_the_edge_that_two_components_share_once():
    best, best_pair = np.array([1.0, 1.0, 2.0, np.inf]), np.array([1, 1, 6, 0])
    parent, component, pairs = np.arange(4), np.array([0, 1, 2, 2]), np.zeros(3, dtype=np.int64)
    assert join(np.arange(4), best, best_pair, parent, component, pairs, 0) == 2
    np.testing.assert_array_equal(pairs, [1, 6, 0])
    np.testing.assert_array_equal(component, [0, 0, 0, 0])


def test_points_that_are_not_finite_are_refused(monkeypatch):
    monkeypatch.setattr(spanning_tree, "MIN_KDTREE", 0)
    with pytest.raises(ValueError, match="must be finite"):
        euclidean_spanning_tree(np.array([[0.0], [np.inf]]))


def test_points_may_be_images():
    points = np.zeros((3, 23_028))
    points[:, 5] = [0.0, 9.0, 4.0]
    np.testing.assert_array_equal(euclidean_spanning_tree(points), [[0, 2], [1, 2]])
