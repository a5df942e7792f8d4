import numpy as np
import pytest

from branchwise.graph import adjacency
from branchwise_paper.datasets import fetch_toy
from branchwise_paper.experiments import _shapes, synthetic
from branchwise_paper.experiments._scores import (
    n_components,
    noise,
    order,
    scores_of,
    separated,
    shape,
    thickness,
)
from branchwise_paper.experiments._truth import arc_angle, spiral_angle, truth_of
from branchwise_paper.experiments.cells import Computed
from branchwise_paper.experiments.settings import Settings

RNG = np.random.default_rng(0)
SHUFFLE = np.random.default_rng(1).permutation


def zigzag(n=200, noise=0.0):
    """Points on the corners' polyline, and how far along it each is."""
    y = np.sort(np.random.default_rng(0).uniform(0, 1, n))
    x = 0.25 - np.abs((y % 0.5) - 0.25)
    X = np.column_stack([x, y])
    return X + noise * np.random.default_rng(2).standard_normal(X.shape), y


def test_truth_of_zigzag_is_height_times_a_constant():
    X, y = zigzag()
    position = truth_of("zigzag", X).position
    assert np.allclose(position, np.sqrt(2) * y)


def test_spiral_angle_is_unwrapped_under_noise():
    t = RNG.uniform(-2, 11, 200)
    radius = 0.14 + 0.077 * t
    clean = radius[:, None] * np.column_stack([np.cos(t), -np.sin(t)])
    found = spiral_angle(clean + 0.01 * RNG.standard_normal(clean.shape))
    away = radius > 0.1  # an angle means little at the centre
    assert np.abs(np.median(found - t) - (found - t))[away].max() < 0.3


def test_arc_angle_does_not_jump():
    t = np.linspace(-4, 0, 50)  # across the cut of arctan2
    found = arc_angle(3 + 2 * np.column_stack([np.cos(t), np.sin(t)]))
    assert np.allclose(np.diff(found), np.diff(t))


def test_truth_of_tree_has_five_branches_and_six_tips():
    data = fetch_toy("tree", data_dir=None)
    truth = truth_of("tree", data.X)
    assert len(np.unique(truth.branch)) == 5
    assert len(truth.tips) == 6
    assert np.isfinite(truth.distances(truth.tips)).all()


def test_ways_between_moons_are_infinite():
    moons = fetch_toy("two_moons")
    truth = truth_of("two_moons", moons.X, y=moons.y)
    ways = truth.distances(truth.tips)
    assert len(truth.tips) == 4
    assert np.array_equal(np.isinf(ways), truth.part[truth.tips][:, None] != truth.part)


def test_ring_is_closed():
    helix = fetch_toy("helix")
    truth = truth_of("helix", helix.X, t=helix.extras["t"])
    assert truth.distances(truth.tips).max() <= np.pi + 1e-9


def test_unknown_shape():
    with pytest.raises(ValueError, match=r"name='pretzel' has no known true structure"):
        truth_of("pretzel", np.zeros((3, 2)))


def test_scores_of_a_clean_curve_are_perfect():
    X, _ = zigzag()
    scores = scores_of(X, X, truth_of("zigzag", X))
    assert scores.order > 0.999
    assert scores.shape == pytest.approx(1)
    assert scores.noise < 1e-3
    assert scores.trustworthiness == 1


def test_scores_reject_a_shuffled_embedding():
    X, _ = zigzag()
    truth = truth_of("zigzag", X)
    own = scores_of(X, X, truth)
    bad = scores_of(X, X[SHUFFLE(len(X))], truth)
    assert bad.order < 0.5
    assert bad.shape < 0.5
    assert bad.trustworthiness < 0.7
    assert not _shapes.keeps_structure(bad, own)


def test_shape_is_affine_and_sees_a_lost_direction():
    X, y = zigzag()
    truth = truth_of("zigzag", X)
    mapped = X @ np.array([[2.0, 1.0], [0.5, -3.0]]) + 7
    assert shape(X, mapped, truth) == pytest.approx(1)
    assert shape(X, np.column_stack([y, y]), truth) == 0
    assert shape(X, np.column_stack([y, y**2]), truth) < 0.5


def test_order_does_not_mind_stretching():
    X, y = zigzag()
    stretched = np.column_stack([np.exp(3 * y), np.zeros_like(y)])
    assert order(stretched, truth_of("zigzag", X)) > 0.999


def test_thickness_sees_noise_and_not_bends():
    t = np.linspace(0, 2 * np.pi, 1000, endpoint=False)
    flower = (2 + np.cos(8 * t))[:, None] * np.column_stack([np.cos(t), np.sin(t)])
    assert thickness(flower) < 1e-5
    assert thickness(flower + 0.05 * RNG.standard_normal(flower.shape)) > 0.05
    assert thickness(RNG.standard_normal((500, 2))) == pytest.approx(0.25, abs=0.1)
    assert thickness(np.ones((30, 2))) == 0


def test_noise_of_clusters_is_the_variance_within():
    X = np.repeat([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]], 20, axis=0)
    X += 0.3 * np.random.default_rng(0).standard_normal(X.shape)
    truth = truth_of("three_clusters", X)
    assert np.bincount(truth.part).tolist() == [20, 20, 20]
    within = sum(((X[truth.part == k] - X[truth.part == k].mean(0)) ** 2).sum() for k in range(3))
    assert noise(X, truth) == pytest.approx(within / ((X - X.mean(0)) ** 2).sum())
    assert separated(X, truth) == 1
    assert separated(X[SHUFFLE(60)], truth) < 0.5


def test_number_of_components_counts_lonely_nodes():
    assert n_components(adjacency(np.array([[0, 1], [2, 3]]), 5)) == 3


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    settings = Settings(
        out=tmp_path_factory.mktemp("synthetic"), quick=True, methods=("LE", "SPL"), n_processes=1
    )
    return settings, synthetic.run(settings)


def test_quick_run_writes_its_files(quick):
    settings, outcome = quick
    for name in outcome.files:
        assert (settings.out / name).stat().st_size > 0
        assert name in outcome.text
    assert "quick run" in outcome.text
    lines = (settings.out / "synthetic.csv").read_text("utf-8").splitlines()
    assert len(lines) == 1 + 2 * 2


def test_quick_run_has_the_checks_of_both_shapes(quick):
    values = {check.claim: check.value for check in quick[1].checks}
    assert -1 <= values["spiral: Spearman correlation of SPL's order with the true angle"] <= 1
    assert values["two moons: connected parts of the graph that SPL learns"] in (1, 2)


def test_an_evenly_sampled_spiral_keeps_its_order():
    t = np.sqrt(np.linspace(3, 110, 200))  # even in length
    X = (0.1 + 0.09 * t[:, None]) * np.column_stack([np.cos(t), np.sin(t)])
    X += 0.02 * np.random.default_rng(0).standard_normal(X.shape)
    found = _shapes.embed_shape(X, method="SPL", parameters={})
    assert order(found["embedding"], truth_of("spiral", X, t=t)) >= 0.99


def test_moons_that_are_apart_stay_apart():
    moons = fetch_toy("two_moons")
    apart = moons.X + 2.0 * moons.y[:, None]
    found = _shapes.embed_shape(apart, method="SPL", parameters={})
    truth = truth_of("two_moons", apart, y=moons.y)
    assert found["graph_parts"] == 2
    assert separated(found["embedding"], truth) == 1


def test_checks_fail_for_shuffled_embeddings(quick):
    settings, _ = quick
    toys = _shapes.chosen_toys(settings)
    rows = []
    for toy in toys:
        found = _shapes.embed_shape(toy.data.X, method="SPL", parameters={})
        found["embedding"] = found["embedding"][SHUFFLE(len(toy.data.X))]
        found["graph_parts"] = 1
        computed = Computed(found, 0.0, [])
        rows.append(_shapes.row_of(toy, "SPL", {}, computed))
    checks = synthetic.checks_of(toys, rows)
    assert checks
    assert not any(check.passed for check in checks)


def test_a_method_that_fails_is_reported(quick):

    settings, _ = quick
    toy = _shapes.chosen_toys(settings)[0]
    good = _shapes.embed_shape(toy.data.X, method="SPL", parameters={})
    rows = [
        _shapes.row_of(toy, "SPL", {}, Computed(good, 0.0, [])),
        _shapes.row_of(toy, "MVU", {}, Computed({}, 0.0, [], "ValueError: no luck")),
    ]
    methods = synthetic.chosen_methods(("SPL", "MVU"))
    synthetic.draw(settings.out / "failed.png", [toy], methods, rows)
    text = synthetic.text_of([toy], methods, rows, synthetic.checks_of([toy], rows), quick=True)
    assert "MVU on spiral: ValueError: no luck" in text
    assert (settings.out / "failed.png").exists()


def test_of_several_parameters_the_best_is_shown():
    toy = _shapes.chosen_toys(Settings(out=None, quick=True))[0]

    X = toy.data.X
    rows = [
        _shapes.row_of(toy, "SMCE", {"lam": lam}, Computed({"embedding": E, "seconds": 1.0}, 1, []))
        for lam, E in ((0.1, X[SHUFFLE(len(X))]), (1, X), (10, X[SHUFFLE(len(X))]))
    ]
    (best,) = _shapes.selected(rows)
    assert best.parameters == {"lam": 1}


def test_shapes_are_chosen_by_any_of_their_names(tmp_path):
    toys = _shapes.chosen_toys(Settings(out=tmp_path, datasets=("2moons", "Spiral")))
    assert [toy.data.name for toy in toys] == ["spiral", "two_moons"]
