"""Trees, forests and rings: the points are where the truth says, and the noise is as asked."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import branchwise.datasets as datasets
from branchwise.datasets import (
    TOPOLOGIES,
    make_cells,
    make_forest,
    make_helix,
    make_ring,
    make_shape,
    make_tree,
    random_tree_topology,
)
from branchwise.datasets.topologies import Arcs, on_arcs
from branchwise.graph.placement import distances_from, is_forest, to_points

GENERATORS = {
    "tree": lambda seed: make_tree(60, 4, topology="binary", random_state=seed),
    "bent tree": lambda seed: make_tree(60, 20, curvature=2.0, random_state=seed),
    "forest": lambda seed: make_forest(60, 3, random_state=seed),
    "ring": lambda seed: make_ring(60, 3, random_state=seed),
    "helix": lambda seed: make_helix(60, random_state=seed),
    "open helix": lambda seed: make_helix(60, full_turn=False, random_state=seed),
    "cells": lambda seed: make_cells(60, 30, random_state=seed),
    **{
        f"shape {name}": lambda seed, name=name: make_shape(name, 60, random_state=seed)
        for name in ("distorted_s", "spiral", "zigzag", "three_clusters", "tree", "two_moons")
    },
}


def slow_pseudotime(made):
    """From the nearest root, through a graph that is broken up at each sample in turn."""
    truth, roots = made.truth, np.atleast_1d(made.root)
    result = []
    for edge, position in zip(truth.edge, truth.position, strict=True):
        G = nx.MultiGraph()
        G.add_nodes_from(range(truth.n_nodes))
        for e, ((a, b), length) in enumerate(zip(truth.edges, truth.lengths, strict=True)):
            if e == edge:
                G.add_edge(a, "sample", weight=position * length)
                G.add_edge("sample", b, weight=(1 - position) * length)
            else:
                G.add_edge(a, b, weight=length)
        result.append(nx.multi_source_dijkstra_path_length(G, set(roots.tolist()))["sample"])
    return np.array(result)


@pytest.mark.parametrize("name", GENERATORS)
def test_the_record_is_complete_and_consistent(name):
    made = GENERATORS[name](0)
    truth = made.truth
    n_features = made.X.shape[1]
    assert made.X.shape == made.clean.shape == (60, n_features)
    assert made.milestones.shape == (truth.n_nodes, n_features)
    assert len(made.names) == len(set(made.names)) == truth.n_nodes
    assert made.description.startswith("simulated")
    assert (truth.lengths > 0).all()
    assert ((truth.position >= 0) & (truth.position <= 1)).all()
    assert made.branch is truth.edge
    assert made.branch.dtype.kind == "i"
    np.testing.assert_allclose(made.pseudotime, slow_pseudotime(made), rtol=0, atol=1e-12)
    from_root = distances_from(truth, np.atleast_1d(made.root))[0]
    np.testing.assert_array_equal(made.pseudotime, to_points(truth, from_root))
    assert np.isfinite(made.pseudotime).all()
    assert is_forest(truth) == (name not in ("ring", "helix"))
    for curve, ends in zip(made.curve, truth.edges, strict=True):
        np.testing.assert_allclose(curve[[0, -1]], made.milestones[ends], rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", GENERATORS)
def test_seeds_are_honoured(name):
    first, again, other = GENERATORS[name](7), GENERATORS[name](7), GENERATORS[name](8)
    generator = GENERATORS[name](np.random.default_rng(7))
    for made in (again, generator):
        np.testing.assert_array_equal(made.X, first.X)
        np.testing.assert_array_equal(made.truth.position, first.truth.position)
    assert not np.array_equal(first.X, other.X)


# The lengths of cells' trees are those of a logarithm, and tested in test_cells.py.
@pytest.mark.parametrize("name", [name for name in GENERATORS if name != "cells"])
def test_the_curves_are_as_long_as_the_truth_says(name):
    made = GENERATORS[name](0)
    drawn = [np.linalg.norm(np.diff(c, axis=0), axis=1).sum() for c in made.curve]
    np.testing.assert_allclose(drawn, made.truth.lengths, rtol=2e-3)
    assert (np.array(drawn) <= made.truth.lengths * (1 + 1e-12)).all()


@settings(max_examples=40)
@given(st.integers(1, 12), st.integers(2, 30), st.integers(0, 2**32 - 1), st.floats(0, np.pi))
def test_random_trees_hold_what_they_promise(n_tips, n_features, seed, curvature):
    topology = random_tree_topology(n_tips, seed)
    made = make_tree(50, n_features, topology=topology, curvature=curvature, random_state=seed)
    truth = made.truth
    np.testing.assert_array_equal(truth.edges, topology)
    assert is_forest(truth)
    ends = truth.edges[truth.edge]
    # A chord is ℓ·sinc of half the angle between its ends.
    for end, part in ((0, truth.position), (1, 1 - truth.position)):
        chord = np.linalg.norm(made.clean - made.milestones[ends[:, end]], axis=1)
        expected = part * truth.lengths[truth.edge] * np.sinc(curvature * part / (2 * np.pi))
        np.testing.assert_allclose(chord, expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(made.milestones[made.root], np.zeros(n_features))


@pytest.mark.parametrize("n_features", [2, 5, 40])
def test_on_straight_branches_distances_are_differences_of_positions(n_features):
    made = make_tree(200, n_features, topology="complex", lengths=2.5, random_state=1)
    for edge in range(12):
        on_it = made.branch == edge
        position = made.truth.position[on_it, None]
        np.testing.assert_allclose(
            cdist(made.clean[on_it], made.clean[on_it]), 2.5 * cdist(position, position), atol=1e-7
        )
    np.testing.assert_array_equal(made.truth.lengths, np.full(12, 2.5))


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.5, np.pi, 2 * np.pi])
def test_arcs_have_constant_speed(angle):
    rng = np.random.default_rng(0)
    along, across = np.linalg.qr(rng.normal(size=(4, 2)))[0].T[:, None]
    arcs = Arcs(rng.normal(size=(1, 4)), along, across, np.array([1.7]), angle)
    t, step = np.linspace(0.05, 0.95, 19), 1e-5
    edge = np.zeros(19, dtype=int)
    velocity = (on_arcs(arcs, edge, t + step) - on_arcs(arcs, edge, t - step)) / (2 * step)
    np.testing.assert_allclose(np.linalg.norm(velocity, axis=1), 1.7, rtol=1e-8)
    # The direction turns by the angle, towards `across`.
    turned = np.arctan2(velocity @ across[0], velocity @ along[0])
    expected = np.angle(np.exp(1j * angle * t))
    np.testing.assert_allclose(turned, expected, atol=1e-8)


@pytest.mark.parametrize(("curvature", "n_features"), [(0.0, 7), (1.0, 14)])
def test_directions_are_orthonormal_if_there_are_enough_features(curvature, n_features):
    made = make_tree(10, n_features, topology="binary", curvature=curvature, random_state=0)
    steps = made.milestones[made.truth.edges[:, 1]] - made.milestones[made.truth.edges[:, 0]]
    gram = steps @ steps.T
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-12)


def crosses(p, q, r, s):
    """Whether two segments in the plane cross, their ends apart."""

    def turn(a, b, c):
        return np.linalg.det([b - a, c - a])

    return turn(p, q, r) * turn(p, q, s) < 0 and turn(r, s, p) * turn(r, s, q) < 0


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("seed", range(5))
def test_named_trees_do_not_cross_themselves_in_the_plane(topology, seed):
    made = make_tree(10, 2, topology=topology, random_state=seed)
    for a, first in enumerate(made.curve):
        for b, second in enumerate(made.curve[:a]):
            if not set(made.truth.edges[a]) & set(made.truth.edges[b]):
                assert not crosses(*first, *second)
    # Branches at one milestone are apart by an angle.
    steps = np.array([c[1] - c[0] for c in made.curve])
    steps /= np.linalg.norm(steps, axis=1, keepdims=True)
    for a, (i, j) in enumerate(made.truth.edges):
        for b, (k, m) in enumerate(made.truth.edges[:a]):
            if {i, j} & {k, m}:
                away = 1 if i == k else -1
                assert away * steps[a] @ steps[b] < np.cos(np.radians(15))


def test_the_noise_has_the_standard_deviation_asked_for():
    made = make_tree(20_000, 5, noise=0.3, random_state=0)
    error = made.X - made.clean
    # 100,000 values: the standard error of the deviation is 0.3/√200000, 0.0007.
    assert abs(error.std() - 0.3) < 0.003
    assert np.abs(error.mean(axis=0)).max() < 4 * 0.3 / np.sqrt(20_000)
    # Isotropic, and independent of the place.
    np.testing.assert_allclose(np.cov(error.T), 0.09 * np.eye(5), atol=0.005)
    exact = make_tree(50, 5, noise=0, random_state=0)
    np.testing.assert_array_equal(exact.X, exact.clean)


def test_samples_are_uniform_over_the_length():
    made = make_tree(30_000, 3, lengths=[1, 2, 5], random_state=0)
    counts = np.bincount(made.branch)
    # Standard errors of the binomial counts are at most √(30000/4), 87.
    np.testing.assert_allclose(counts, 30_000 * np.array([1, 2, 5]) / 8, atol=350)
    per_decile = np.histogram(made.truth.position[made.branch == 2], np.linspace(0, 1, 11))[0]
    np.testing.assert_allclose(per_decile, counts[2] / 10, atol=4 * np.sqrt(counts[2] / 10))


def test_uneven_sampling_follows_weights_and_gradients():
    weights, gradient = np.array([0, 1, 4]), np.array([0.0, 1.0, -0.6])
    made = make_tree(50_000, 3, weights=weights, gradient=gradient, random_state=0)
    counts = np.bincount(made.branch, minlength=3)
    assert counts[0] == 0
    np.testing.assert_allclose(counts[1:], [10_000, 40_000], atol=400)
    edges = np.linspace(0, 1, 11)
    for e in (1, 2):
        # The integral of 1 + g(2t − 1).
        cumulated = edges + gradient[e] * (edges**2 - edges)
        expected = counts[e] * np.diff(cumulated)
        found = np.histogram(made.truth.position[made.branch == e], edges)[0]
        np.testing.assert_allclose(found, expected, atol=5 * np.sqrt(counts[e] / 10))


def test_a_forest_has_a_root_and_a_gap_for_each_tree():
    topologies = ["binary", "linear", [1, -1, 1, 1], "linear"]
    for n_features, curvature in ((2, 0.0), (2, 2.0), (30, 1.0)):
        made = make_forest(
            400,
            n_features,
            topologies=topologies,
            separation=0.5,
            curvature=curvature,
            noise=0,
            random_state=3,
        )
        truth = made.truth
        graph = nx.Graph(truth.edges.tolist())
        trees = [sorted(c) for c in nx.connected_components(graph)]
        assert [len(tree) for tree in trees] == [8, 2, 4, 2]
        assert made.root.tolist() == [0, 8, 10 + 1, 14]
        assert [made.names[r] for r in made.root] == ["root 1", "root 2", "root 3", "root 4"]
        tree_of = np.repeat(np.arange(4), [8, 2, 4, 2])[truth.edges[truth.edge, 0]]
        for a in range(4):
            for b in range(a):
                between = cdist(made.clean[tree_of == a], made.clean[tree_of == b])
                assert between.min() >= 0.5


def test_the_gap_of_a_forest_is_a_slab_of_that_width():
    made = make_forest(10, 2, topologies=["binary"] * 3, separation=0.7, random_state=0)
    step = made.milestones[made.root[1]] - made.milestones[made.root[0]]
    along = made.milestones @ (step / np.linalg.norm(step))
    bounds = [(part.min(), part.max()) for part in along.reshape(3, 8)]
    np.testing.assert_allclose(bounds[1][0] - bounds[0][1], 0.7, rtol=1e-12)
    np.testing.assert_allclose(bounds[2][0] - bounds[1][1], 0.7, rtol=1e-12)


@given(st.integers(2, 20), st.floats(0.01, 100), st.integers(0, 2**32 - 1))
def test_a_ring_is_a_circle(n_features, radius, seed):
    made = make_ring(40, n_features, radius=radius, noise=0, random_state=seed)
    np.testing.assert_allclose(np.linalg.norm(made.X, axis=1), radius, rtol=1e-9)
    np.testing.assert_allclose(made.truth.lengths, 2 * np.pi * radius)
    # The angle from the root, by the shorter way.
    cosine = made.X @ made.milestones[0] / radius**2
    angle = np.arccos(np.clip(cosine, -1, 1))
    np.testing.assert_allclose(made.pseudotime, radius * angle, atol=1e-6 * radius)
    assert np.linalg.matrix_rank(made.X, tol=1e-9 * radius) == 2


@pytest.mark.parametrize("n_samples", [1, 2, 3])
def test_few_samples_do(n_samples):
    assert make_tree(n_samples, 2, topology="complex", random_state=0).X.shape == (n_samples, 2)
    assert make_forest(n_samples, 2, random_state=0).X.shape == (n_samples, 2)
    assert make_ring(n_samples, random_state=0).X.shape == (n_samples, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_samples": 0}, "n_samples=0 must be a positive integer"),
        ({"n_samples": 2.5}, "n_samples=2.5 must be a positive integer"),
        ({"n_features": 1}, "n_features=1 must be at least 2"),
        ({"n_features": 0}, "n_features=0 must be a positive integer"),
        ({"noise": -0.1}, "noise=-0.1 must be a finite number of at least 0; pass 0"),
        ({"noise": np.nan}, "noise=nan must be a finite number"),
        ({"noise": 10**400}, "noise=1000.* must be a finite number"),
        ({"noise": "much"}, "noise='much' must be a finite number"),
        ({"curvature": 4.0}, "curvature=4.0 must be a number from 0 to 3.14159; pass 0"),
        ({"lengths": 0}, "lengths holds 0, but each value must be a finite number above 0"),
        ({"lengths": [1, 2]}, r"lengths has shape \(2,\), but there are 3 branches"),
        ({"lengths": [1, 2, np.inf]}, "lengths holds inf"),
        ({"lengths": "long"}, "lengths='long' must hold numbers"),
        ({"weights": [0, 0, 0]}, "weights are all 0, but at least one must be positive"),
        ({"weights": [1, -1, 0]}, "weights holds -1, but each value must be"),
        ({"gradient": 1.5}, "gradient holds 1.5, but each value must be a number from -1 to 1"),
        ({"random_state": -1}, "random_state=-1 must be None, an integer of at least 0"),
        ({"random_state": "a"}, "random_state='a' must be None"),
        ({"topology": "bush"}, "topology='bush' must be one of"),
    ],
)
def test_bad_arguments_of_a_tree_get_one_clear_sentence(change, message):
    with pytest.raises(ValueError, match=message):
        make_tree(**change)


@pytest.mark.parametrize(
    ("make", "change", "message"),
    [
        (make_forest, {"topologies": "linear"}, "topologies='linear' must be a list"),
        (make_forest, {"topologies": []}, "topologies=.* must be a list of at least one"),
        (make_forest, {"topologies": ["oak"]}, "topology='oak' must be one of"),
        (make_forest, {"separation": -1}, "separation=-1 must be a finite number of at least 0"),
        (make_forest, {"n_features": 1}, "n_features=1 must be at least 2"),
        (make_ring, {"radius": 0}, "radius=0 must be a finite number above 0; pass 1"),
        (make_ring, {"n_features": 1}, "n_features=1 must be at least 2"),
        (make_ring, {"n_samples": 0}, "n_samples=0 must be a positive integer"),
        (make_ring, {"gradient": [0, 0]}, r"gradient has shape \(2,\), but there are 1 branches"),
    ],
)
def test_bad_arguments_of_forests_and_rings_get_one_clear_sentence(make, change, message):
    with pytest.raises(ValueError, match=message):
        make(**change)


def test_every_public_name_exists():
    for name in datasets.__all__:
        assert getattr(datasets, name).__doc__
