from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from branchwise import _kdtree as kdtree
from branchwise._memory import Workspace

# Coordinates of few values make duplicates and ties; the others are arbitrary.
COORDINATES = st.sampled_from(
    [st.integers(0, 2), st.just(0.1), st.floats(-1e3, 1e3, allow_subnormal=False)]
)


@st.composite
def points_and_queries(draw):
    n_dims = draw(st.integers(1, 10))
    elements = draw(COORDINATES)
    points, Z = (
        draw(hnp.arrays(np.float64, (draw(st.integers(low, 60)), n_dims), elements=elements))
        for low in (1, 0)
    )
    return points, Z


def squared_distances(Z, points):
    """Summed dimension by dimension, as the kernels do: equal to the last bit."""
    total = np.zeros((len(Z), len(points)))
    for z, c in zip(Z.T, points.T, strict=True):
        total += (z[:, np.newaxis] - c) ** 2
    return total


def within_reference(points, Z, extra):
    """For each row, {point: excess}."""
    squared = squared_distances(Z, points)
    least = squared.min(axis=1, keepdims=True)
    rows = zip(squared - least, squared <= least + extra, strict=True)
    return [dict(zip(np.flatnonzero(near), excess[near], strict=True)) for excess, near in rows]


def as_rows(indptr, indices, excess):
    rows = [slice(*ends) for ends in pairwise(indptr)]
    return [dict(zip(indices[row], excess[row], strict=True)) for row in rows]


# The tree


@given(points_and_queries())
def test_nodes_halve_the_points_and_have_tight_boxes(both):
    points, _ = both
    tree = kdtree.build(points)
    np.testing.assert_array_equal(np.sort(tree.order), np.arange(len(points)))
    np.testing.assert_array_equal(tree.points, points[tree.order])
    n_nodes = len(tree.start)
    for node in range(n_nodes):
        inside = slice(tree.start[node], tree.stop[node])
        np.testing.assert_array_equal(tree.low[node], tree.points[inside].min(axis=0))
        np.testing.assert_array_equal(tree.high[node], tree.points[inside].max(axis=0))
        assert tree.first[node] == tree.order[inside].min()
        left, right = 2 * node + 1, 2 * node + 2
        if right < n_nodes:
            assert tree.start[left] == tree.start[node]
            assert tree.stop[left] == tree.start[right]
            assert tree.stop[right] == tree.stop[node]
            sizes = (tree.stop - tree.start)[[left, right]]
            assert 0 <= sizes[1] - sizes[0] <= 1
            widest = np.argmax(tree.high[node] - tree.low[node])
            assert tree.high[left, widest] <= tree.low[right, widest]
        else:
            assert 1 <= tree.stop[node] - tree.start[node] <= kdtree.LEAF_SIZE
    assert (tree.start[0], tree.stop[0]) == (0, len(points))


@given(
    values=hnp.arrays(np.float64, st.integers(1, 50), elements=st.integers(0, 9)),
    data=st.data(),
)
def test_select_matches_numpy(values, data):
    middle = data.draw(st.integers(0, len(values) - 1))
    points = np.column_stack([np.arange(len(values)), values])
    order = np.arange(len(values))
    kdtree.select(points, order, 0, len(values) - 1, middle, 1)
    assert points[middle, 1] == np.partition(values, middle)[middle]
    assert (points[:middle, 1] <= points[middle, 1]).all()
    assert (points[middle:, 1] >= points[middle, 1]).all()
    np.testing.assert_array_equal(points, np.column_stack([order, values[order]]))


def test_select_leaves_rows_outside_its_range():
    points = np.array([[9.0], [3.0], [2.0], [1.0], [0.0]])
    kdtree.select(points, np.arange(5), 1, 3, 2, 0)
    np.testing.assert_array_equal(points.ravel(), [9, 1, 2, 3, 0])


def test_tree_depends_on_the_values_alone(rng):
    points = rng.normal(size=(300, 3))
    wide = np.zeros((600, 6))
    wide[::2, ::2] = points
    before = points.copy()
    expected = kdtree.build(points)
    for same in (points, np.asfortranarray(points), wide[::2, ::2]):
        for array, other in zip(expected, kdtree.build(same), strict=True):
            np.testing.assert_array_equal(array, other)
    np.testing.assert_array_equal(points, before)


def test_points_that_are_not_finite_are_refused():
    points = np.array([[0.0, 1.0], [np.nan, 0.0]])
    with pytest.raises(ValueError, match=r"points\[1\]=\[nan  0\.\] must be finite; remove"):
        kdtree.build(points)


# Distances


@given(points_and_queries())
def test_squared_gap_matches_numpy_and_is_below_all_distances_in_the_box(both):
    points, Z = both
    low, high = points.min(axis=0), points.max(axis=0)
    distances = squared_distances(Z, points)
    for row in range(len(Z)):
        gap = kdtree.squared_gap(low[np.newaxis], high[np.newaxis], 0, Z, row)
        np.testing.assert_allclose(gap, np.sum((Z[row] - np.clip(Z[row], low, high)) ** 2))
        assert gap <= distances[row].min()


@given(points_and_queries())
def test_squared_distance_matches_numpy_and_is_symmetric(both):
    points, Z = both
    expected = squared_distances(Z, points)
    for row in range(len(Z)):
        assert kdtree.squared_distance(points, 0, Z, row) == expected[row, 0]
        assert kdtree.squared_distance(Z, row, points, 0) == expected[row, 0]


# Searches


@given(points_and_queries(), st.sampled_from([0.0, 1e-3, 1.0, 2.0, 1e4, np.inf]))
def test_within_matches_brute_force(both, extra):
    points, Z = both
    found = kdtree.within(kdtree.build(points), Z, extra)
    assert [array.dtype for array in found] == [np.int64, np.int32, np.float64]
    assert len(found[0]) == len(Z) + 1
    assert as_rows(*found) == within_reference(points, Z, extra)


@given(points_and_queries())
def test_nearest_is_the_first_of_the_nearest(both):
    points, Z = both
    found = kdtree.nearest(kdtree.build(points), Z)
    np.testing.assert_array_equal(found, squared_distances(Z, points).argmin(axis=1))


@pytest.mark.parametrize("n_points", [1, 300])
def test_nearest_among_equal_points_is_the_first(n_points):
    tree = kdtree.build(np.ones((n_points, 2)))
    Z = np.array([[1.0, 1.0], [0.0, 5.0]])
    np.testing.assert_array_equal(kdtree.nearest(tree, Z), [0, 0])
    np.testing.assert_array_equal(np.diff(kdtree.within(tree, Z, 0.0)[0]), [n_points, n_points])


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_searches_among_many_points_match_brute_force(offset, rng):
    points, Z = offset + rng.normal(size=(500, 2)), offset + rng.normal(size=(40, 2))
    tree = kdtree.build(points)
    expected = squared_distances(Z, points)
    np.testing.assert_array_equal(kdtree.nearest(tree, Z), expected.argmin(axis=1))
    assert as_rows(*kdtree.within(tree, Z, 0.1)) == within_reference(points, Z, 0.1)


def test_within_makes_room_for_any_number_of_results(rng):
    points, Z = rng.normal(size=(150, 2)), rng.normal(size=(20, 2))
    indptr, indices, _ = kdtree.within(kdtree.build(points), Z, np.inf)
    np.testing.assert_array_equal(np.diff(indptr), 150)
    np.testing.assert_array_equal(
        np.sort(indices.reshape(20, 150), axis=1), np.tile(np.arange(150), (20, 1))
    )


def test_what_lay_in_a_room_before_does_not_matter(rng):
    tree, workspace = kdtree.build(rng.normal(size=(150, 2))), Workspace()
    for n_queries, extra in ((5, 0.1), (40, np.inf), (60, 0.3), (0, 1.0), (7, 2.0)):
        Z = rng.normal(size=(n_queries, 2))
        alone, found = (
            kdtree.within(tree, Z, extra),
            kdtree.within(tree, Z, extra, workspace=workspace),
        )
        for array, other in zip(alone, found, strict=True):
            np.testing.assert_array_equal(array, other)


def test_rows_of_within_do_not_depend_on_each_other(rng):
    points, Z = rng.normal(size=(200, 2)), rng.normal(size=(15, 2))
    tree = kdtree.build(points)
    indptr, indices, excess = kdtree.within(tree, Z, 0.5)
    for i in range(len(Z)):
        row = slice(indptr[i], indptr[i + 1])
        _, alone, alone_excess = kdtree.within(tree, Z[[i]], 0.5)
        np.testing.assert_array_equal(indices[row], alone)
        np.testing.assert_array_equal(excess[row], alone_excess)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_searches_do_not_depend_on_blocks_and_threads(n_jobs, monkeypatch, rng):
    points, Z = rng.normal(size=(100, 3)), rng.normal(size=(50, 3))
    tree = kdtree.build(points)
    expected, index = kdtree.within(tree, Z, 1.0), kdtree.nearest(tree, Z)
    monkeypatch.setattr(kdtree, "BLOCK", 7)
    for array, other in zip(expected, kdtree.within(tree, Z, 1.0, n_jobs), strict=True):
        np.testing.assert_array_equal(array, other)
        assert array.dtype == other.dtype
    np.testing.assert_array_equal(kdtree.nearest(tree, Z, n_jobs), index)


def test_queries_may_have_any_memory_layout_and_precision(rng):
    points = rng.normal(size=(50, 2))
    Z = rng.normal(size=(20, 2)).astype(np.float32).astype(np.float64)
    tree = kdtree.build(points)
    for same in (Z.astype(np.float32), np.asfortranarray(Z)):
        np.testing.assert_array_equal(kdtree.nearest(tree, same), kdtree.nearest(tree, Z))
        for array, other in zip(
            kdtree.within(tree, Z, 1), kdtree.within(tree, same, 1), strict=True
        ):
            np.testing.assert_array_equal(array, other)
