import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

from ramify.graph import euclidean_spanning_tree, spanning_tree
from ramify.graph.spanning_tree import (
    MAX_KDTREE_DIM,
    acyclic,
    boruvka,
    first_outside,
    nearest_per_component,
    prim,
    search_outside,
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


@pytest.fixture
def searches(monkeypatch):
    """Records, for each exact search of a run, which points ask and how large trees are built."""
    asked, built = [], []

    def recording_search(kdtree, component, found, target, asks):
        asked.append(int(asks.sum()))
        search_outside(kdtree, component, found, target, asks)

    def recording_kdtree(data):
        built.append(len(data))
        return KDTree(data)

    monkeypatch.setattr(spanning_tree, "search_outside", recording_search)
    monkeypatch.setattr(spanning_tree, "KDTree", recording_kdtree)
    return asked, built


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


@pytest.mark.parametrize("n_dims", [1, 2, MAX_KDTREE_DIM, MAX_KDTREE_DIM + 1, 30])
def test_spanning_tree_of_one_point_has_no_edge(n_dims):
    edges = euclidean_spanning_tree(np.ones((1, n_dims)))
    assert edges.shape == (0, 2)
    assert np.issubdtype(edges.dtype, np.integer)


@pytest.mark.parametrize("n_dims", [1, 2, MAX_KDTREE_DIM, MAX_KDTREE_DIM + 1, 30])
def test_spanning_tree_of_two_points_is_their_edge(n_dims):
    points = np.vstack([np.ones(n_dims), np.zeros(n_dims)])
    np.testing.assert_array_equal(euclidean_spanning_tree(points), [[0, 1]])


# Distinct distances: the tree is unique


@pytest.mark.parametrize("routine", ROUTINES)
@pytest.mark.parametrize("n_dims", [1, 2, 3, 6, MAX_KDTREE_DIM, MAX_KDTREE_DIM + 1, 30])
def test_spanning_tree_of_points_at_distinct_distances_is_kruskals(routine, n_dims, rng):
    points = rng.normal(size=(150, n_dims))
    assert as_set(routine(points)) == as_set(kruskal(points))


def test_boruvka_agrees_with_prim_on_many_points(rng):
    points = rng.normal(size=(3000, 2))
    assert as_set(boruvka(points)) == as_set(prim(points))


def test_spanning_tree_edges_are_sorted_pairs(rng):
    for n_dims in (2, MAX_KDTREE_DIM + 1):
        edges = euclidean_spanning_tree(rng.normal(size=(100, n_dims)))
        assert (edges[:, 0] < edges[:, 1]).all()
        assert edges.tolist() == sorted(edges.tolist())


def test_spanning_tree_follows_a_permutation_of_the_points(rng):
    points = rng.normal(size=(200, 3))
    order = rng.permutation(200)
    moved = euclidean_spanning_tree(points[order])
    assert as_set(order[moved]) == as_set(euclidean_spanning_tree(points))


def test_spanning_tree_ignores_empty_dimensions(rng):
    points = rng.normal(size=(200, 2))
    padded = np.hstack([points, np.zeros((200, MAX_KDTREE_DIM))])
    np.testing.assert_array_equal(euclidean_spanning_tree(padded), euclidean_spanning_tree(points))


@pytest.mark.parametrize("scale", [2.0**-300, 2.0**300])
def test_spanning_tree_does_not_depend_on_the_unit_of_length(scale, rng):
    for n_dims in (2, MAX_KDTREE_DIM + 1):
        points = rng.normal(size=(200, n_dims))
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


# The exact search of Borůvka's algorithm


@pytest.mark.parametrize(
    "sizes", [(12, 12), (20, 20, 20), (100, 90, 70), (150, 150, 200), (300, 5)]
)
def test_boruvka_searches_where_neighbour_lists_end_inside_clusters(sizes, searches):
    points, label = clusters(sizes, distance=1e3)
    edges = boruvka(points)
    asked, _ = searches
    assert max(asked) > 0
    assert_minimal(points, edges)
    assert (label[edges[:, 0]] != label[edges[:, 1]]).sum() == len(sizes) - 1


@pytest.mark.parametrize("n_clusters", [2, 3, 4, 7])
def test_boruvka_joins_clusters_larger_than_its_longest_lists(n_clusters, searches):
    points, _ = clusters([140] * n_clusters, distance=1e3, seed=n_clusters)
    edges = boruvka(points)
    asked, built = searches
    assert sum(asked) >= 140
    assert len(built) > 1  # the search for large components builds trees of its own
    assert_minimal(points, edges, reference=prim)


def test_boruvka_settles_small_components_without_new_trees(searches):
    points, _ = clusters([20] * 10, distance=1e3)
    assert_minimal(points, boruvka(points))
    asked, built = searches
    assert max(asked) > 0
    assert built == [200]


def test_boruvka_never_searches_when_lists_hold_all_points(searches, rng):
    for n_points in range(2, 10):
        points = rng.integers(0, 2, size=(n_points, 2)).astype(float)
        assert_minimal(points, boruvka(points))
    assert searches[0] == []


def test_boruvka_joins_large_clusters_of_duplicates(searches):
    site = np.repeat([0, 1, 2], [200, 150, 400])
    points = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 3.0]])[site]
    edges = boruvka(points)
    assert sum(searches[0]) > 0
    assert_spans(edges, len(points))
    assert sorted(lengths(points, edges))[-3:] == [0, 1, 3]


def closest_outside(points, component):
    """For each component, its distance to the rest, by brute force."""
    distance = cdist(points, points)
    distance[component[:, np.newaxis] == component] = np.inf
    return np.array([distance[component == c].min() for c in range(component.max() + 1)])


@given(
    sizes=st.lists(st.integers(1, 160), min_size=2, max_size=6),
    distance=st.sampled_from([0.0, 1.0, 100.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_search_outside_finds_the_nearest_point_of_another_component(sizes, distance, seed):
    points, component = clusters(sizes, distance=distance, seed=seed)
    found = np.full(len(points), np.inf)
    target = np.full(len(points), -1)
    search_outside(KDTree(points), component, found, target, np.ones(len(points), dtype=bool))
    best = np.full(len(sizes), np.inf)
    np.minimum.at(best, component, found)
    np.testing.assert_allclose(best, closest_outside(points, component), rtol=1e-12)
    answered = np.isfinite(found)
    assert (component[target[answered]] != component[answered]).all()
    np.testing.assert_allclose(
        np.linalg.norm(points[answered] - points[target[answered]], axis=1),
        found[answered],
        rtol=1e-12,
    )


def test_search_outside_answers_only_the_points_that_ask():
    points, component = clusters([140, 20, 200], distance=10.0)
    asks = component != 2
    found = np.full(len(points), np.inf)
    target = np.full(len(points), -1)
    search_outside(KDTree(points), component, found, target, asks)
    assert np.isinf(found[~asks]).all()
    assert (target[~asks] == -1).all()
    best = [found[component == c].min() for c in (0, 1)]
    np.testing.assert_allclose(best, closest_outside(points, component)[:2], rtol=1e-12)


def test_search_outside_keeps_better_answers_that_it_was_given():
    points, component = clusters([150, 150], distance=10.0)
    expected = closest_outside(points, component)
    distance = cdist(points, points)
    distance[component[:, np.newaxis] == component] = np.inf
    known = distance.min(axis=1).argmin()
    found = np.full(len(points), np.inf)
    target = np.full(len(points), -1)
    found[known], target[known] = distance[known].min(), distance[known].argmin()
    search_outside(KDTree(points), component, found, target, np.isinf(found))
    assert found[known] == distance[known].min()
    assert target[known] == distance[known].argmin()
    np.testing.assert_allclose([found[component == c].min() for c in (0, 1)], expected, rtol=1e-12)


# Steps of Borůvka's algorithm


def test_first_outside_is_the_first_neighbour_of_another_component():
    distance = np.array([[0.0, 1.0, 2.0], [0.0, 1.0, 4.0], [0.0, 2.0, 3.0]])
    neighbour = np.array([[0, 1, 2], [1, 0, 2], [2, 0, 1]])
    component = np.array([0, 0, 1])
    found, target = first_outside(distance, neighbour, component, component)
    np.testing.assert_array_equal(found, [2.0, 4.0, 2.0])
    np.testing.assert_array_equal(target, [2, 2, 0])


def test_first_outside_is_infinitely_far_where_the_list_holds_none():
    distance = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 5.0]])
    neighbour = np.array([[0, 1], [1, 0], [2, 1]])
    component = np.array([0, 0, 1])
    found, target = first_outside(distance, neighbour, component, component)
    np.testing.assert_array_equal(found, [np.inf, np.inf, 5.0])
    assert target[2] == 1


def test_first_outside_compares_with_the_components_of_the_rows():
    distance, neighbour = np.array([[0.5, 1.0, 2.0]]), np.array([[3, 1, 0]])
    component = np.array([0, 1, 2, 2])
    found, target = first_outside(distance, neighbour, component, own=np.array([2]))
    assert (found[0], target[0]) == (1.0, 1)


def test_nearest_per_component_is_the_smallest_and_the_first_of_equals():
    found = np.array([3.0, 1.0, 2.0, 2.0, np.inf])
    component = np.array([0, 0, 1, 1, 2])
    np.testing.assert_array_equal(nearest_per_component(found, component), [1, 2, 4])


def test_acyclic_keeps_one_of_two_components_that_choose_each_other():
    np.testing.assert_array_equal(acyclic(np.array([[0, 1], [1, 0], [2, 1]]), 3), [0, 2])


def test_acyclic_drops_the_last_join_of_a_cycle():
    joins = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [4, 0]])
    np.testing.assert_array_equal(acyclic(joins, 5), [0, 1, 2, 4])


@given(
    joins=hnp.arrays(
        np.int64, st.tuples(st.integers(1, 40), st.just(2)), elements=st.integers(0, 14)
    ).filter(lambda joins: (joins[:, 0] != joins[:, 1]).all())
)
def test_acyclic_keeps_the_earliest_spanning_forest(joins):
    root = list(range(15))
    expected = []
    for position, (a, b) in enumerate(joins):
        if root[a] != root[b]:
            root = [root[a] if r == root[b] else r for r in root]
            expected.append(position)
    np.testing.assert_array_equal(acyclic(joins, 15), expected)


def test_acyclic_tells_joins_apart_among_more_components_than_32_bits_can_pair():
    # 5·n + 10 and 42954·n + 67306 differ by 2³².
    n_components = 100_000
    joins = np.array([[5, 10], [42_954, 67_306]], dtype=np.int32)
    assert np.diff(joins.astype(np.int64) @ [n_components, 1]) == 2**32
    np.testing.assert_array_equal(acyclic(joins, n_components), [0, 1])
