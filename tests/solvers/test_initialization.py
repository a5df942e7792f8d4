"""Which points the start looks at, their clusters, and how far points spread around centres."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris

from branchwise.solvers import initialization
from branchwise.solvers.initialization import (
    candidates,
    divided,
    merge_candidates,
    merge_spread,
    nearest_sizes,
    nearest_two,
    on_grid,
    spread_around,
    spread_per_point,
    spread_sums,
    starting_centers,
    ward,
    ward_centers,
)

keys = st.lists(st.integers(0, 12), max_size=30)


def drawn(keys, n_kept):
    """Candidates of rows that are told apart by their keys."""
    keys = np.array(keys, dtype=np.uint64)
    return candidates(keys, 10.0 * keys[:, np.newaxis], n_kept)


def assert_same(a, b):
    for name in ("keys", "Z", "counts"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert a.n_kept == b.n_kept


@given(keys, st.integers(1, 15))
def test_candidates_are_the_smallest_keys_with_their_numbers(keys, n_kept):
    expected = sorted(set(keys))[:n_kept]
    found = drawn(keys, n_kept)
    assert found.keys.tolist() == expected
    assert found.Z.ravel().tolist() == [10.0 * key for key in expected]
    assert found.counts.tolist() == [keys.count(key) for key in expected]


@given(keys, keys, keys, st.integers(1, 15))
def test_candidates_of_parts_are_those_of_the_whole(a, b, c, n_kept):
    """In any grouping and any order: none that is needed is ever thrown away."""
    whole = drawn(a + b + c, n_kept)
    x, y, z = (drawn(part, n_kept) for part in (a, b, c))
    assert_same(merge_candidates(merge_candidates(x, y), z), whole)
    assert_same(merge_candidates(x, merge_candidates(y, z)), whole)
    assert_same(merge_candidates(merge_candidates(z, x), y), whole)


def test_equal_rows_weigh_as_much_as_they_are_many():
    """Fewer candidates than rows: ninety equal rows still pull a centre to their place."""
    rows = [0] * 90 + [1, 2, 3]
    found = drawn(rows, 4)
    centres = starting_centers(found, len(rows), 2, np.random.RandomState(0))
    assert centres.min() == pytest.approx(0.0, abs=0.2)


@given(st.permutations(range(20)), st.integers(0, 3))
def test_starting_centres_do_not_depend_on_the_order(order, seed):
    rng = np.random.default_rng(0)
    Z, keys = rng.normal(size=(20, 2)), rng.permutation(20)
    order = np.array(order)
    a, b = (
        starting_centers(candidates(keys[o], Z[o], 20), 20, 4, np.random.RandomState(seed))
        for o in (np.arange(20), order)
    )
    np.testing.assert_array_equal(a, b)


def slow_spread(Z, C):
    """As `spread_around` says it, point by point."""
    distance = cdist(Z, C)
    nearest = distance.argmin(axis=1)
    total, apart = 0.0, []
    for i, k in enumerate(nearest):
        m = (nearest == k).sum()
        others = np.delete(distance[i], k)
        own = m / (m - 1) * distance[i, k] if m > 1 else np.inf
        total += min(own, others.min(initial=np.inf)) ** 2
        other = np.where(np.arange(len(C)) == k, np.inf, distance[i]).argmin()
        apart.append(Z[i] - C[other if len(C) == len(Z) else k])
    G = np.array(apart).T @ np.array(apart)
    return total / len(Z), np.trace(G) ** 2 / np.sum(G**2)


@pytest.mark.parametrize("n_centers", [1, 2, 9, 30])
def test_the_spread_is_that_of_the_formula(n_centers):
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(30, 3)) * [3, 1, 0.2]
    C = Z if n_centers == 30 else rng.normal(size=(n_centers, 3))
    assert spread_around(Z, C) == pytest.approx(slow_spread(Z, C), rel=1e-12)


@given(st.integers(1, 29), st.integers(1, 9))
def test_the_spread_of_parts_adds_up(cut, n_centers):
    rng = np.random.default_rng(2)
    Z, C = rng.normal(size=(30, 3)), rng.normal(size=(n_centers, 3))
    parts = Z[:cut], Z[cut:]
    sizes = sum(nearest_sizes(nearest_two(part, C), n_centers) for part in parts)
    sums = [spread_sums(part, C, nearest_two(part, C), sizes, 30) for part in parts]
    found = spread_per_point(merge_spread(*sums), 30)
    assert found == pytest.approx(spread_around(Z, C), rel=1e-12)


def test_points_without_spread_have_none():
    assert spread_around(np.ones((5, 2)), np.ones((1, 2))) == (0.0, 1.0)


def test_no_more_distinct_rows_than_centres_start_a_centre_each():
    """Those that are left start with them, whatever the seed: rounding has no say."""
    found = drawn([5, 5, 5, 2, 9, 2], 100)
    for seed in range(3):
        centres = starting_centers(found, 6, 5, np.random.RandomState(seed))
        np.testing.assert_array_equal(centres.ravel(), [20.0, 50.0, 90.0, 20.0, 50.0])
        centres = starting_centers(found, 6, 3, np.random.RandomState(seed))
        np.testing.assert_array_equal(centres.ravel(), [20.0, 50.0, 90.0])


def test_points_that_differ_by_rounding_have_no_spread():
    Z = np.array([[3.0, 1.0], [3.0, 1.0], [7.0, 2.0], [7.0, 2.0]])
    nearly = Z * (1 + np.array([[0], [4e-16], [0], [-4e-16]]))
    assert spread_around(nearly, Z[[0, 2]])[0] == 0.0


def sets_of(label):
    """The clusters as sets of points."""
    return {frozenset(np.flatnonzero(label == k).tolist()) for k in np.unique(label)}


def clusters_by_linkage(P, n_clusters):
    """Ward's clusters by SciPy: its cheapest joins, one after the other."""
    clusters = [frozenset([i]) for i in range(len(P))]
    for a, b, *_ in linkage(P, "ward"):
        clusters.append(clusters[int(a)] | clusters[int(b)])
    gone = {int(k) for row in linkage(P, "ward")[: len(P) - n_clusters] for k in row[:2]}
    return {c for k, c in enumerate(clusters[: 2 * len(P) - n_clusters]) if k not in gone}


@pytest.mark.parametrize("n_clusters", [1, 2, 7, 40])
def test_ward_gives_the_clusters_of_scipy(rng, n_clusters):
    P = rng.normal(size=(40, 3))
    assert sets_of(ward(P, np.ones(40), n_clusters)) == clusters_by_linkage(P, n_clusters)


def test_weights_are_as_good_as_equal_points(rng):
    P, weights = rng.normal(size=(30, 2)), rng.integers(1, 5, size=30)
    repeated = ward(np.repeat(P, weights, axis=0), np.ones(weights.sum()), 6)
    firsts = np.cumsum(weights) - weights
    assert sets_of(ward(P, weights.astype(float), 6)) == sets_of(repeated[firsts])


def as_drawn(Z):
    keys = np.arange(len(Z), dtype=np.uint64)
    return candidates(keys, Z, len(Z))


@pytest.mark.parametrize("unit", [3.0, 10.0, 1000.0])
@pytest.mark.parametrize("kind", ["iris", "rounded", "counts", "answers"])
def test_clusters_are_the_same_in_any_unit_and_order(rng, kind, unit):
    """Many equal distances: the last bits must not say which are joined."""
    Z = {
        "iris": load_iris().data,
        "rounded": rng.normal(size=(200, 3)).round(1),
        "counts": rng.poisson(4, size=(200, 3)).astype(float),
        "answers": rng.integers(1, 6, size=(200, 4)).astype(float),
    }[kind]
    Z = np.unique(Z, axis=0)
    Z -= Z.mean(axis=0)
    centres = ward_centers(as_drawn(Z), 40)
    order = rng.permutation(len(Z))
    np.testing.assert_allclose(ward_centers(as_drawn(unit * Z[order]), 40) / unit, centres)
    np.testing.assert_array_equal(on_grid(Z)[0], on_grid(unit * Z)[0])


def test_a_sample_far_out_does_not_make_the_grid_coarse(rng):
    Z = rng.normal(size=(50, 2))
    Z[0] = 1e9
    steps, step = on_grid(Z)
    np.testing.assert_allclose(steps[1:] * step, Z[1:], atol=2e-6)


def test_no_more_different_points_than_centres():
    centres = ward_centers(as_drawn(np.array([[0.0], [3.0]])), 5)
    np.testing.assert_allclose(np.unique(centres), [0, 3], atol=1e-5)
    assert (ward_centers(as_drawn(np.zeros((1, 2))), 3) == 0).all()


def test_many_points_are_divided_before_they_are_clustered(rng, monkeypatch):
    monkeypatch.setattr(initialization, "MAX_WARD", 20)
    P = rng.normal(size=(101, 2))
    parts = divided(P, np.arange(101), 33)
    assert sorted(np.concatenate([rows for rows, _ in parts]).tolist()) == list(range(101))
    assert sum(n for _, n in parts) == 33
    assert all(n <= len(rows) <= 20 for rows, n in parts)
    assert len(np.unique(ward_centers(as_drawn(P), 33), axis=0)) == 33
