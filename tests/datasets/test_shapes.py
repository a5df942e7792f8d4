"""The paper's shapes and helix: formula, lengths against dense polylines, and how they look."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial import cKDTree

from branchwise.datasets import make_helix, make_shape
from branchwise.datasets.shapes import SHAPES, measure, positions

# Steps of a polyline between two knots: its length is right to 1e-9 or better.
N_STEPS = 100_000


def polyline(curve):
    """Parameters, points and lengths along a curve, from nothing but its points."""
    t = np.unique(
        np.concatenate(
            [
                np.linspace(a, b, N_STEPS + 1)
                for a, b in zip(curve.knots[:-1], curve.knots[1:], strict=True)
            ]
        )
    )
    points = curve.point(t)
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    return t, points, np.append(0.0, np.cumsum(steps))


@pytest.mark.parametrize("name", SHAPES)
def test_lengths_and_positions_match_dense_polylines(name):
    made = make_shape(name, 300, noise=0, random_state=0)
    np.testing.assert_array_equal(made.X, made.clean)
    for e, curve in enumerate(SHAPES[name].curves):
        t, points, walked = polyline(curve)
        np.testing.assert_allclose(made.truth.lengths[e], walked[-1], rtol=1e-8)
        some = np.linspace(0, len(t) - 1, 500).astype(int)
        found = positions(curve, measure(curve), t[some])
        np.testing.assert_allclose(found, walked[some] / walked[-1], rtol=0, atol=1e-8)
        # Every sample is on the curve, where the truth says.
        on_it = made.branch == e
        distance, nearest = cKDTree(points).query(made.clean[on_it])
        step = np.diff(walked).max()
        assert distance.max() <= step
        along = made.truth.position[on_it] * made.truth.lengths[e]
        np.testing.assert_allclose(along, walked[nearest], rtol=0, atol=2 * step)


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "three_clusters"])
def test_samples_of_shapes_are_uniform_over_the_length(name):
    made = make_shape(name, 40_000, random_state=0)
    expected = 40_000 * made.truth.lengths / made.truth.lengths.sum()
    np.testing.assert_allclose(np.bincount(made.branch), expected, atol=450)
    tenths = np.histogram(made.truth.position, np.linspace(0, 1, 11))[0]
    # Five standard errors of a count of 4,000.
    np.testing.assert_allclose(tenths, 4000, atol=5 * np.sqrt(4000))


def test_three_clusters_hold_a_third_each_and_have_weak_connections():
    made = make_shape("three_clusters", 30_000, random_state=0)
    at_node = np.isin(made.truth.position, [0, 1])
    # 94 %, with a standard error of 0.14 %.
    assert abs(at_node.mean() - 0.94) < 0.007
    end = made.truth.edges[made.branch[at_node], made.truth.position[at_node].astype(int)]
    np.testing.assert_allclose(np.bincount(end) / at_node.sum(), 1 / 3, atol=0.015)


def test_two_moons_are_a_forest_of_half_circles():
    made = make_shape("two_moons", 100, noise=0, random_state=0)
    assert made.root.tolist() == [0, 2]
    np.testing.assert_allclose(made.truth.lengths, np.pi)
    for e, centre in enumerate([(0, 0), (1.1, 0.3)]):
        radius = np.linalg.norm(made.X[made.branch == e] - centre, axis=1)
        np.testing.assert_allclose(radius, 1)


def test_the_noise_of_a_shape_can_be_chosen():
    for noise in (None, 0.5):
        made = make_shape("spiral", 20_000, noise=noise, random_state=0)
        wanted = SHAPES["spiral"].noise if noise is None else noise
        assert abs((made.X - made.clean).std() / wanted - 1) < 0.02
        assert f"standard deviation {wanted:g}" in made.description


@pytest.mark.parametrize(("full_turn", "stop"), [(True, 2 * np.pi), (False, 1.0)])
def test_helix_follows_the_formula_and_its_length(full_turn, stop):
    made = make_helix(200, noise=0, full_turn=full_turn, random_state=0)
    x, y, z = made.X.T
    p = np.mod(np.arctan2(y, x), 2 * np.pi)  # the first two features are a radius times (cos, sin)
    assert p.max() <= stop
    radius = 2 + np.cos(8 * p)
    np.testing.assert_allclose(x, radius * np.cos(p), atol=1e-12)
    np.testing.assert_allclose(y, radius * np.sin(p), atol=1e-12)
    np.testing.assert_allclose(z, np.sin(8 * p), atol=1e-11)

    def speed(p):
        r, dr = 2 + np.cos(8 * p), -8 * np.sin(8 * p)
        dx, dy = dr * np.cos(p) - r * np.sin(p), dr * np.sin(p) + r * np.cos(p)
        return np.sqrt(dx**2 + dy**2 + (8 * np.cos(8 * p)) ** 2)

    length = quad(speed, 0, stop, epsabs=1e-11, limit=500)[0]
    np.testing.assert_allclose(made.truth.lengths, [length], rtol=1e-10)
    walked = [quad(speed, 0, end, epsabs=1e-11, limit=500)[0] for end in p]
    np.testing.assert_allclose(made.truth.position * length, walked, rtol=0, atol=1e-8)
    by_shorter_way = np.minimum(walked, length - np.array(walked)) if full_turn else walked
    np.testing.assert_allclose(made.pseudotime, by_shorter_way, rtol=0, atol=1e-8)


def test_helix_has_a_uniform_parameter():
    made = make_helix(40_000, noise=0, random_state=0)
    p = np.mod(np.arctan2(made.X[:, 1], made.X[:, 0]), 2 * np.pi)
    tenths = np.histogram(p, np.linspace(0, 2 * np.pi, 11))[0]
    np.testing.assert_allclose(tenths, 4000, atol=5 * np.sqrt(4000))


@pytest.mark.parametrize(
    ("make", "change", "message"),
    [
        (make_shape, {"name": "star"}, "name='star' must be one of 'distorted_s', .*'two_moons'"),
        (make_shape, {"name": None}, "name=None must be one of"),
        (make_shape, {"name": "tree", "n_samples": 0}, "n_samples=0 must be a positive integer"),
        (make_shape, {"name": "tree", "noise": -1}, "noise=-1 must be a finite number"),
        (make_helix, {"n_samples": 0}, "n_samples=0 must be a positive integer"),
        (make_helix, {"noise": -1}, "noise=-1 must be a finite number"),
        (make_helix, {"full_turn": "yes"}, "full_turn='yes' must be True or False"),
    ],
)
def test_bad_arguments_of_shapes_get_one_clear_sentence(make, change, message):
    with pytest.raises(ValueError, match=message):
        make(**change)
