"""Scores of where points lie: against dense definitions, by hand, and what may not change them."""

import itertools
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from branchwise.graph.placement import Placement
from branchwise.metrics import f1_branches, f1_milestones, tree_correlation

from .graphs import (
    FOREST,
    FORK,
    LINE,
    NAMES,
    POINT,
    RING,
    SHAPES,
    random_graph,
    relabelled,
    subdivided,
    with_points,
)

SCORES = [tree_correlation, f1_branches, f1_milestones]
graphs = st.builds(
    random_graph,
    st.integers(0, 2**32 - 1),
    n_nodes=st.integers(2, 9),
    extra=st.integers(0, 3),
    n_cut=st.integers(0, 2),
)


def dense_distances(placement):
    """All pairs, by breaking the graph up at the points; unconnected ones twice the largest."""
    G = nx.MultiGraph()
    G.add_nodes_from(range(placement.n_nodes))
    for e, (a, b) in enumerate(placement.edges):
        on_it = sorted(np.flatnonzero(placement.edge == e), key=lambda i: placement.position[i])
        stops = [a, *(("p", i) for i in on_it), b]
        places = [0.0, *placement.position[on_it], 1.0]
        for (u, x), (v, y) in itertools.pairwise(zip(stops, places, strict=True)):
            G.add_edge(u, v, weight=placement.lengths[e] * (y - x))
    reached = dict(nx.all_pairs_dijkstra_path_length(G))
    n = len(placement.edge)
    D = np.array([[reached["p", i].get(("p", j), np.inf) for j in range(n)] for i in range(n)])
    return np.where(np.isfinite(D), D, 2 * (D[np.isfinite(D)].max() or 0.5))


def f1_by_sets(a, b):
    """The definition, over sets of points."""
    A, B = ([{*np.flatnonzero(x == g)} for g in np.unique(x)] for x in (a, b))
    J = np.array([[len(s & t) / len(s | t) for t in B] for s in A])
    recovery, relevance = J.max(axis=1).mean(), J.max(axis=0).mean()
    return 2 * recovery * relevance / (recovery + relevance)


@given(graphs, graphs)
def test_correlation_is_that_of_all_distances(a, b):
    i, j = np.triu_indices(len(a.edge), 1)
    x, y = (dense_distances(p)[i, j] for p in (a, b))
    x, y = np.round(x, 9), np.round(y, 9)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert tree_correlation(a, b) == tree_correlation(a, b, method="pearson") == 0.0
        return
    assert np.isclose(tree_correlation(a, b), spearmanr(x, y).statistic, atol=1e-8)
    pearson = tree_correlation(a, b, method="pearson")
    assert np.isclose(pearson, pearsonr(x, y).statistic, atol=1e-8)


def test_correlation_with_waypoints_is_that_of_their_distances(monkeypatch):
    monkeypatch.setattr("branchwise.metrics.ordering.PAIRS", 100)
    a, b = (random_graph(seed, n_nodes=9, extra=1, n_points=60) for seed in (0, 1))
    chosen = np.random.RandomState(3).choice(60, 7, replace=False)
    others = chosen[:, None] != np.arange(60)
    x, y = (dense_distances(p)[chosen][others] for p in (a, b))
    found = tree_correlation(a, b, n_waypoints=7, random_state=3)
    assert np.isclose(found, spearmanr(np.round(x, 9), np.round(y, 9)).statistic, atol=1e-8)
    assert found != tree_correlation(a, b, n_waypoints=7, random_state=4)


@given(graphs, graphs)
def test_f1_of_branches_is_that_of_sets(a, b):
    """With every node a tip or fork, branches are edges and milestones nodes."""
    a, b = (all_milestones(p) for p in (a, b))
    assert np.isclose(f1_branches(a, b), f1_by_sets(a.edge, b.edge), atol=1e-12)
    nearest = [np.where(p.position > 0.5, *p.edges[p.edge].T[::-1]) for p in (a, b)]
    assert np.isclose(f1_milestones(a, b), f1_by_sets(*nearest), atol=1e-12)


def all_milestones(placement):
    """Two more tips, with no points near them, at every node that has two edge ends."""
    degree = np.bincount(placement.edges.ravel(), minlength=placement.n_nodes)
    nodes = np.repeat(np.flatnonzero(degree == 2), 2)
    tips = placement.n_nodes + np.arange(len(nodes))
    return placement._replace(
        n_nodes=placement.n_nodes + len(nodes),
        edges=np.vstack([placement.edges, np.column_stack([nodes, tips])]),
        lengths=np.append(placement.lengths, np.ones(len(nodes))),
    )


@pytest.mark.parametrize("score", SCORES)
@given(graphs, graphs, st.integers(0, 2**32 - 1))
def test_scores_are_symmetric_bounded_and_see_only_the_shape(score, a, b, seed):
    rng = np.random.default_rng(seed)
    value = score(a, b)
    assert (-1 if score is tree_correlation else 0) <= value <= 1
    assert np.isclose(score(b, a), value, atol=1e-12)
    assert np.isclose(score(a, relabelled(b, rng)), value, atol=1e-8)
    assert np.isclose(score(a, subdivided(b, rng)), value, atol=1e-8)
    assert np.isclose(score(a, b._replace(lengths=3 * b.lengths)), value, atol=1e-8)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
def test_the_same_places_score_one(score, shape):
    rng = np.random.default_rng(0)
    placed = with_points(shape, rng, 30)
    expected = 0.0 if shape is POINT and score is tree_correlation else 1.0
    assert score(placed, placed) == expected
    assert np.isclose(score(placed, subdivided(relabelled(placed, rng), rng)), expected)


def test_correlation_by_hand():
    """On a line 0, 1, 3 are 1, 3, 2 apart; on a star of legs 0, 1, 3 they are 1, 3, 4 apart."""
    line = LINE._replace(
        lengths=np.array([3.0]), edge=np.zeros(3, dtype=int), position=np.array([0.0, 1 / 3, 1.0])
    )
    star = Placement(
        4,
        np.array([[0, 1], [0, 2], [0, 3]]),
        np.array([1.0, 1.0, 3.0]),
        np.array([0, 1, 2]),
        np.array([0.0, 1.0, 1.0]),
    )
    assert np.isclose(tree_correlation(line, star), 0.5)
    expected = np.corrcoef([1, 3, 2], [1, 3, 4])[0, 1]
    assert np.isclose(tree_correlation(line, star, method="pearson"), expected)


def test_unconnected_points_are_farther_than_connected_ones():
    """Two lines of two points: 1 and 2 within, 4 between."""
    forest = Placement(
        4,
        np.array([[0, 1], [2, 3]]),
        np.array([1.0, 2.0]),
        np.array([0, 0, 1, 1]),
        np.array([0.0, 1.0, 0.0, 1.0]),
    )
    line = LINE._replace(edge=np.zeros(4, dtype=int), position=np.array([0.0, 0.1, 0.3, 1.0]))
    expected = np.corrcoef([1, 4, 4, 4, 4, 2], [1, 3, 10, 2, 9, 7])[0, 1]
    assert np.isclose(tree_correlation(forest, line, method="pearson"), expected)


def test_points_apart_from_each_other_are_told_from_points_together():
    apart = Placement(2, np.array([[0, 0], [1, 1]]), np.zeros(2), np.array([0, 0, 1]), np.zeros(3))
    line = LINE._replace(edge=np.zeros(3, dtype=int), position=np.array([0.0, 0.0, 1.0]))
    assert tree_correlation(apart, line) == 1.0


def test_equal_distances_score_zero():
    together = with_points(POINT, np.random.default_rng(0), 5)
    assert tree_correlation(together, with_points(FORK, np.random.default_rng(0), 5)) == 0.0


def test_rounding_does_not_break_ties():
    """The same places on equal legs, whose computed distances differ in the last digit."""
    position = np.array([0.1, 0.2, 0.3, 0.7] * 3)
    star = FORK._replace(edge=np.repeat([0, 1, 2], 4), position=position)
    for seed in range(5):
        other = subdivided(star, np.random.default_rng(seed))
        assert np.isclose(tree_correlation(star, other), 1.0, atol=1e-12)


def test_f1_by_hand():
    """Three legs of two points; the third leg is found as a part of the second."""
    edge, position = np.array([0, 0, 1, 1, 2, 2]), np.array([0.2, 0.9] * 3)
    star = FORK._replace(edge=edge, position=position)
    bent = Placement(
        5, np.array([[0, 1], [0, 2], [2, 3], [0, 4]]), np.ones(4), edge, position
    )  # the last leg is empty
    recovery, relevance = (1 + 0.5 + 0.5) / 3, (1 + 0.5) / 2
    assert np.isclose(f1_branches(star, bent), 2 / (1 / recovery + 1 / relevance))


def test_branches_without_points_do_not_count():
    rng = np.random.default_rng(0)
    fork = with_points(FORK, rng, 30)
    longer = fork._replace(n_nodes=5, edges=np.vstack([fork.edges, [[0, 4]]]), lengths=np.ones(4))
    assert f1_branches(fork, longer) == 1.0


def test_objects_with_a_placement_are_taken():
    placed = with_points(FOREST, np.random.default_rng(0), 10)
    assert f1_branches(SimpleNamespace(truth=placed), SimpleNamespace(placement_=placed)) == 1.0


@pytest.mark.parametrize("score", SCORES)
def test_bad_input_is_told(score):
    ring = with_points(RING, np.random.default_rng(0), 10)
    fewer = ring._replace(edge=ring.edge[:9], position=ring.position[:9])
    with pytest.raises(ValueError, match="truth has 10 points and found 9; place the same points"):
        score(ring, fewer)
    with pytest.raises(TypeError, match="found is of type int, but must be a Placement"):
        score(ring, 3)
    with pytest.raises(ValueError, match="have 0 points, but need at least"):
        score(RING, RING)
    wrong = {
        "edges of truth must be pairs of nodes from 0 to 1": ring._replace(n_nodes=2),
        "lengths of truth must be finite": ring._replace(lengths=np.array([1.0, np.nan, 1.0])),
        "edge of truth must be an edge from 0 to 2": ring._replace(edge=ring.edge + 1),
        "position of truth must be a part from 0 to 1": ring._replace(position=ring.position - 1),
    }
    for message, placement in wrong.items():
        with pytest.raises(ValueError, match=message):
            score(placement, ring)


def test_bad_choices_are_told():
    ring = with_points(RING, np.random.default_rng(0), 10)
    with pytest.raises(ValueError, match="method='kendall' is not one of 'spearman', 'pearson'"):
        tree_correlation(ring, ring, method="kendall")
    with pytest.raises(ValueError, match="n_waypoints=0"):
        tree_correlation(ring, ring, n_waypoints=0)
