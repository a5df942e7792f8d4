import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import config
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from branchwise.graph import adjacency, tour
from branchwise.graph.tour import short_tour, tour_edges, with_equals_in_order


@pytest.fixture(scope="module", autouse=True)
def fewer_cuts_if_uncompiled():
    """What takes milliseconds as machine code takes minutes as plain Python."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tour, "N_CUTS", 10 if config.DISABLE_JIT else tour.N_CUTS)
        yield


def cost(points, order, closed):
    steps = np.diff(points[np.append(order, order[:1]) if closed else order], axis=0)
    return np.sum(steps**2)


def least_cost(points, closed):
    """By trying every order."""
    squared, n = cdist(points, points, "sqeuclidean"), len(points)
    first = [0] if closed else range(n)
    rest = (itertools.permutations(set(range(n)) - {a}) for a in first)
    orders = np.array([(a, *p) for a, tail in zip(first, rest, strict=True) for p in tail])
    total = squared[orders[:, :-1], orders[:, 1:]].sum(axis=1)
    return (total + closed * squared[orders[:, -1], orders[:, 0]]).min()


@pytest.mark.parametrize("closed", [True, False], ids=["ring", "curve"])
@pytest.mark.parametrize("n_points", [4, 5, 6, 7])
def test_small_tours_are_the_cheapest(closed, n_points, rng):
    """The search proves nothing, but on few points it finds the best."""
    for n_dims in (1, 2, 3, 3, 2):
        points = rng.normal(size=(n_points, n_dims))
        found = cost(points, short_tour(points, closed=closed), closed)
        assert found == pytest.approx(least_cost(points, closed), rel=1e-12)


@pytest.mark.parametrize("closed", [True, False], ids=["ring", "curve"])
@given(
    n_points=st.integers(1, 60),
    n_dims=st.integers(1, 4),
    decimals=st.sampled_from([0, 1, 8]),
    seed=st.integers(0, 1000),
)
def test_a_tour_visits_every_point_once(closed, n_points, n_dims, decimals, seed):
    """Also where points coincide or distances are equal."""
    points = np.random.default_rng(seed).normal(size=(n_points, n_dims)).round(decimals)
    order = short_tour(points, closed=closed)
    assert sorted(order) == list(range(n_points))
    edges = tour_edges(order, closed=closed)
    degree = np.bincount(edges.ravel(), minlength=n_points)
    if closed and n_points > 2:
        assert (degree == 2).all()
    else:
        assert len(edges) == n_points - 1
        assert degree.max(initial=0) <= 2
    assert connected_components(adjacency(edges, n_points))[0] == 1


@given(n_points=st.integers(5, 50), closed=st.booleans(), seed=st.integers(0, 1000))
def test_improving_a_tour_never_makes_it_dearer(n_points, closed, seed):
    rng = np.random.default_rng(seed)
    points, start = rng.normal(size=(n_points, 2)), rng.permutation(n_points)
    order = short_tour(points, closed=closed, start=start)
    assert cost(points, order, closed) <= cost(points, start, closed) * (1 + 1e-12)


@pytest.mark.parametrize("closed", [True, False], ids=["ring", "curve"])
def test_no_2_opt_move_between_near_points_is_left(closed, rng):
    points = rng.normal(size=(11, 2))  # all of them are near
    order = short_tour(points, closed=closed)
    best = cost(points, order, closed)
    for a, b in itertools.combinations(range(12), 2):
        other = np.concatenate([order[:a], order[a:b][::-1], order[b:]])
        assert cost(points, other, closed) >= best * (1 - 1e-9)


def test_points_on_a_ring_are_visited_in_their_order(rng):
    angle = np.sort(rng.uniform(0, 2 * np.pi, size=300))
    points = np.column_stack([np.cos(angle), np.sin(angle)])
    shuffled = rng.permutation(300)
    edges = np.sort(shuffled[tour_edges(short_tour(points[shuffled], closed=True), closed=True)])
    gap = edges[:, 1] - edges[:, 0]
    assert set(gap) == {1, 299}


def test_cutting_a_tour_at_random_makes_it_cheaper(monkeypatch, rng):
    points = rng.uniform(size=(150, 2))
    with_cuts = cost(points, short_tour(points, closed=True), True)
    monkeypatch.setattr(tour, "N_CUTS", 0)
    assert with_cuts < cost(points, short_tour(points, closed=True), True)


@pytest.mark.parametrize("closed", [True, False])
def test_order_of_equal_points_is_the_same_whichever_way_the_tour_was_found(closed):
    rng = np.random.default_rng(0)
    points = np.sort(rng.integers(6, size=(20, 1)), axis=0).astype(float)
    tours = set()
    for _ in range(20):
        # All orders of equal points, in both directions.
        given_tour = np.lexsort((rng.random(20), points[:, 0]))[:: rng.choice([-1, 1])]
        found = with_equals_in_order(points, given_tour, closed)
        assert sorted(found) == list(range(20))
        np.testing.assert_array_equal(points[found], points[given_tour])
        tours.add(tuple(map(tuple, tour_edges(found, closed=closed))))
    assert len(tours) == 1
