"""Gaps between branches: by slow formulas, on shapes with and without forks, and by chance."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from branchwise.trajectory import Trajectory
from branchwise.trajectory import evidence as module
from branchwise.trajectory.evidence import (
    all_gaps,
    branch_p,
    gap_between,
    gap_p,
    segment_p,
    tip_to_cut,
    ways_from,
    whitened,
)
from branchwise.trajectory.learning import learn

from .drawn import drawn, trajectory

seeds = st.integers(0, 2**32 - 1)
FORK = [[0, 1], [1, 2], [1, 3]]
FORK_NODES = np.array([[-4.0, 0.0], [0.0, 0.0], [4.0, 3.0], [4.0, -3.0]])


def slow_gap(at_first, at_second, rows, points):
    """Coefficients by least squares, one sample after the other."""
    counts = [0, 0, 0]
    for row in rows:
        a, b = (
            np.mean([points[k] for k in group if k != row], axis=0)
            for group in (at_first, at_second)
        )
        alpha, beta = np.linalg.lstsq(np.column_stack([a, b]), points[row], rcond=None)[0]
        if 0.7 <= alpha + beta <= 2:
            v = (alpha - beta) / (alpha + beta)
            for k, middle in enumerate((1, 0, -1)):
                counts[k] += abs(v - middle) < 1 / 3
    first, second = points[at_first].mean(axis=0), points[at_second].mean(axis=0)
    cosine = first @ second / np.sqrt((first @ first) * (second @ second))
    return cosine, tuple(counts)


@given(seeds, st.integers(2, 6), st.integers(3, 20), st.integers(3, 20))
def test_what_lies_between_two_arms(seed, n_dims, n_first, n_second):
    rng = np.random.default_rng(seed)
    arms = rng.normal(size=(2, n_dims))
    n = 2 * (n_first + n_second)
    points = rng.uniform(0, 1.5, size=(n, 2)) @ arms + 0.1 * rng.normal(size=(n, n_dims))
    order = rng.permutation(n)
    far = order[:n_first], order[n_first : n_first + n_second]
    rows = np.sort(order[: n - 2])
    cosine, counts = gap_between(*far, rows, points)
    expected, wanted = slow_gap(*far, rows, points)
    assert abs(cosine - expected) < 1e-8
    assert counts == wanted


def test_arms_in_one_line_have_nothing_between_them():
    points = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [-1.0, 0.0], [-2.0, 0.0], [-3.0, 0.0]])
    cosine, (_, middle, _) = gap_between(np.arange(3), np.arange(3, 6), np.arange(6), points)
    assert cosine == -1
    assert middle == 0


@given(st.tuples(*[st.integers(0, 200)] * 3))
def test_the_probability_of_a_gap(counts):
    first, middle, second = counts
    expected = 1.0
    if first and second:
        expected = max(binom.cdf(middle, middle + n, 0.5) for n in (first, second))
    assert abs(gap_p(counts) - expected) < 1e-8


@given(seeds, st.integers(4, 14))
def test_ways_from_a_fork(seed, n_nodes):
    view = trajectory(seed, n_nodes=n_nodes, n_points=30).view
    base = view.base
    G = nx.Graph()
    for k, (a, b) in enumerate(base.edges.tolist()):
        G.add_edge(a, b, number=k, weight=base.lengths[k])
    tips = {node for node in G if G.degree(node) == 1}
    for fork in [node for node in G if G.degree(node) > 2]:
        found = {way.tip: way for way in ways_from(view, fork)}
        assert set(found) == tips
        for tip, way in found.items():
            nodes = nx.shortest_path(G, fork, tip)
            places, length = {}, 0.0
            for a, b in pairwise(nodes):
                k = G.edges[a, b]["number"]
                for row in np.flatnonzero(base.edge == k).tolist():
                    part = base.position[row] if base.edges[k, 0] == a else 1 - base.position[row]
                    places[row] = length + part * base.lengths[k]
                length += base.lengths[k]
            assert abs(way.length - length) < 1e-8
            assert sorted(way.rows.tolist()) == sorted(places)
            np.testing.assert_allclose(way.distance, sorted(places.values()), atol=1e-8)
            np.testing.assert_allclose(way.distance, [places[k] for k in way.rows], atol=1e-8)


def test_samples_scatter_alike_in_all_directions_once_whitened():
    rng = np.random.default_rng(0)
    t = rng.uniform(size=(2000, 1))
    points = t * [10.0, 0, 0] + rng.normal(size=(2000, 3)) * [0.0, 3.0, 1.5]
    found = Trajectory([[0, 1]], [[0.0, 0, 0], [10.0, 0, 0]], points)
    nodes, samples = whitened(found.view)
    # The graph runs along the first direction, in which nothing scatters.
    np.testing.assert_allclose(np.sort(samples.std(axis=0))[:2], 1, atol=0.05)
    back = np.linalg.lstsq(points, samples, rcond=None)[0]
    np.testing.assert_allclose(found.view.base.nodes @ back, nodes, atol=1e-8)


def on_fork(seed=0, n=60, width=0.3):
    """Samples along three clean arms."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(size=(n, 1))
    arms = [t * FORK_NODES[k] for k in (0, 2, 3)]
    return np.vstack(arms) + width * rng.normal(size=(3 * n, 2))


def in_sector(seed=0, n=60):
    """The same stem, but a filled triangle in the place of two arms."""
    rng = np.random.default_rng(seed)
    stem = rng.uniform(size=(n, 1)) * FORK_NODES[0]
    x = 4 * np.sqrt(rng.uniform(size=2 * n))
    sector = np.column_stack([x, 0.75 * x * rng.uniform(-1, 1, size=2 * n)])
    return np.vstack([stem, sector]) + 0.3 * rng.normal(size=(3 * n, 2))


def p_of_arms(points):
    found = Trajectory(FORK, FORK_NODES, points)
    return found, found.branch_table_["p"]


@pytest.mark.parametrize("seed", range(5))
def test_clean_arms_are_there(seed):
    found, p = p_of_arms(on_fork(seed))
    assert len(p) == 3
    assert (p < 0.05).all()
    assert tip_to_cut(found.view) is None


@pytest.mark.parametrize("seed", range(5))
def test_arms_in_a_filled_sector_are_not(seed):
    found, p = p_of_arms(in_sector(seed))
    assert (p[["F1-T2", "F1-T3"]] > 0.05).all() or (p.drop("T1-F1") > 0.05).all()
    assert tip_to_cut(found.view) in (2, 3)


@pytest.mark.parametrize("n_arms", [3, 4])
def test_arms_in_a_disk_are_not_there(n_arms):
    rng = np.random.default_rng(0)
    angle, radius = 2 * np.pi * rng.uniform(size=300), np.sqrt(rng.uniform(size=300))
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    turn = 2 * np.pi * np.arange(n_arms) / n_arms
    nodes = np.vstack([[0.0, 0.0], np.column_stack([np.cos(turn), np.sin(turn)])])
    edges = [[0, k] for k in range(1, n_arms + 1)]
    assert segment_p(Trajectory(edges, nodes, points).view).max() > 0.05


def test_the_shortest_of_twigs_without_evidence_goes_first():
    rng = np.random.default_rng(0)
    x = rng.uniform(-4, 4, size=200)
    points = np.column_stack([x, 0.5 * rng.normal(size=200)])
    nodes = np.array([[-4.0, 0], [-1, 0], [1, 0], [4, 0], [-0.5, 0.4], [1.5, 0.8]])
    found = Trajectory([[0, 1], [1, 2], [2, 3], [1, 4], [2, 5]], nodes, points)
    assert tip_to_cut(found.view) == 4


def test_a_gap_counts_whatever_the_unit_and_the_root():
    points = on_fork(1)
    found, p = p_of_arms(points)
    larger = Trajectory(FORK, 7 * FORK_NODES, 7 * points)
    np.testing.assert_allclose(segment_p(larger.view), segment_p(found.view), atol=1e-8)
    turned = found.rooted(node="T3").branch_table_["p"]
    assert turned["T3-F1"] == p["F1-T3"]
    assert turned["F1-T1"] == p["T1-F1"]


def test_both_parts_of_a_branch_with_a_root_in_it_have_its_p():
    # Two forks, of which one is not there.
    points = np.vstack([on_fork(2), [-4.0, 0.0] - in_sector(3)])
    nodes = np.vstack([FORK_NODES, [[-8.0, 3.0], [-8.0, -3.0]]])
    found = Trajectory([*FORK, [0, 4], [0, 5]], nodes, points)
    p = found.branch_table_["p"]
    assert p.min() < 0.05 < p.max()
    between = {frozenset(name.split("-")): value for name, value in p.items()}
    for name in p.index:
        sample = int(np.flatnonzero(found.branches_ == name)[len(points) // 20])
        rooted = found.rooted(sample=sample)
        table = rooted.branch_table_
        assert "R1" in table["start"].tolist()
        ends = set(table.query("start == 'R1'")["end"])
        assert ends == set(name.split("-"))
        for branch, value in table["p"].items():
            one, other = branch.split("-")
            whole = set(name.split("-")) if "R1" in (one, other) else {one, other}
            assert value == between[frozenset(whole)]
        assert branch_p(rooted.view).tolist() == table["p"].tolist()


def star(n_tips):
    turn = 2 * np.pi * np.arange(n_tips) / n_tips
    nodes = np.vstack([[0.0, 0.0], np.column_stack([np.cos(turn), np.sin(turn)])])
    return Trajectory([[0, k] for k in range(1, n_tips + 1)], nodes)


def test_too_many_tips_are_not_tested(monkeypatch):
    monkeypatch.setattr(module, "MOST_TIPS", 6)
    assert not np.isnan(segment_p(star(6).view)).any()
    assert np.isnan(segment_p(star(7).view)).all()
    assert star(7).branch_table_["p"].isna().all()


def test_rings_are_not_tested():
    nodes = np.array([[0.0, 0.0], [1, 0], [1, 1], [0, 1], [-1, -1]])
    ring = Trajectory([[0, 1], [1, 2], [2, 3], [3, 0], [0, 4]], nodes)
    assert np.isnan(segment_p(ring.view)).all()


def test_parts_of_a_forest_are_tested_one_by_one():
    points = on_fork(0)
    alone = segment_p(Trajectory(FORK, FORK_NODES, points).view)
    nodes = np.vstack([FORK_NODES, FORK_NODES[:2] + np.array([0.0, 50.0])])
    both = Trajectory([*FORK, [4, 5]], nodes, np.vstack([points, nodes[4:]]))
    found = segment_p(both.view)
    assert np.isnan(found).sum() == 1
    assert len(all_gaps(both.view)) == 3
    assert (found[~np.isnan(found)] < 0.05).all() == (alone < 0.05).all()


@settings(max_examples=50)
@given(seeds, st.integers(2, 12), st.integers(1, 40), st.integers(1, 3), st.integers(0, 1))
def test_tied_and_rounded_points_have_a_probability_or_none(seed, n_nodes, n, n_dims, decimals):
    edges, nodes, points = drawn(seed, n_nodes=n_nodes, n_points=n, n_dims=n_dims, doubled=2)
    for where in (nodes, nodes.round(decimals)):
        found = Trajectory(edges, where, points.round(decimals))
        p = segment_p(found.view)
        assert ((p >= 0) & (p <= 1) | np.isnan(p)).all()
        assert (
            found.branch_table_["p"].between(0, 1).sum() == (~np.isnan(branch_p(found.view))).sum()
        )


def without_branches(kind, seed):
    rng = np.random.default_rng(seed)
    if kind == "round":
        return rng.normal(size=(300, 5))
    if kind == "stretched":
        return rng.normal(size=(300, 5)) * [4.0, 2.0, 1.0, 0.5, 0.5]
    if kind == "disk":
        angle, radius = 2 * np.pi * rng.uniform(size=300), np.sqrt(rng.uniform(size=300))
        flat = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), np.zeros((300, 3))])
        return flat + 0.05 * rng.normal(size=(300, 5))
    t = rng.uniform(0, np.pi, size=300)
    curve = np.column_stack([np.cos(t), np.sin(t), t / 2, np.zeros((300, 2))])
    return curve + 0.1 * rng.normal(size=(300, 5))


@pytest.mark.parametrize("kind", ["round", "stretched", "disk", "curve"])
def test_at_most_one_in_ten_has_a_fork_where_nothing_forks(kind):
    forked = [len(learn(without_branches(kind, seed)).branch_table_) > 1 for seed in range(10)]
    assert sum(forked) <= 1
