"""One lineage, and features along it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.trajectory import Trajectory
from branchwise.trajectory.checks import choose_features
from branchwise.trajectory.lineage import lineage_to, standardized, trends_along

from .drawn import trajectory

pytestmark = pytest.mark.usefixtures("one_thread")


def fork(n_samples=200, seed=0):
    """Samples on a stem with two branches; simulated."""
    rng = np.random.default_rng(seed)
    nodes = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 2.0], [3.0, -1.0]])
    edges = np.array([[0, 1], [1, 2], [1, 3]])
    ends, part = edges[rng.integers(3, size=n_samples)], rng.random((n_samples, 1))
    return Trajectory(edges, nodes, (1 - part) * nodes[ends[:, 0]] + part * nodes[ends[:, 1]])


def ring(n_samples=100):
    angle = 2 * np.pi * np.arange(12) / 12
    nodes = np.column_stack([np.cos(angle), np.sin(angle)])
    around = 2 * np.pi * np.random.default_rng(0).random(n_samples)
    points = np.column_stack([np.cos(around), np.sin(around)])
    return Trajectory([[k, (k + 1) % 12] for k in range(12)], nodes, points)


@given(st.integers(0, 10_000), st.integers(2, 14))
def test_ways_are_the_lineages_and_end_at_their_tips(seed, n_nodes):
    path = trajectory(seed, n_nodes=n_nodes)
    names = path.branch_table_.index
    for tip, branches in path.lineages_.items():
        lineage = lineage_to(path, tip)
        assert names[lineage.branches].tolist() == branches
        assert lineage.is_shortest
        assert lineage.borders[-1] == pytest.approx(path.milestones_.pseudotime[tip])


def test_the_first_tip_that_is_not_the_root_is_the_default():
    path = fork()
    assert lineage_to(path).to == "T2"
    assert lineage_to(path.rooted("T2")).to == "T1"


def test_ways_lead_to_forks_and_branches_too():
    path = fork()
    assert lineage_to(path, "F1").branches.tolist() == [0]
    assert lineage_to(path, "F1-T3").branches.tolist() == lineage_to(path, "T3").branches.tolist()


def test_a_way_around_a_ring_has_its_whole_length():
    path = ring()
    lineage = lineage_to(path)
    assert lineage.to == "R1-R1"
    assert not lineage.is_shortest
    assert lineage.borders.tolist() == pytest.approx([0, path.lengths_.sum()])


def test_unknown_tips_and_the_root_are_told_apart():
    with pytest.raises(ValueError, match=r"to='T9' is not a tip; choose one of T2, T3, another"):
        lineage_to(fork(), "T9")
    with pytest.raises(ValueError, match=r"to='T1' is the root itself; .* T2, T3\."):
        lineage_to(fork(), "T1")
    with pytest.raises(ValueError, match=r"to=3 is not a tip"):
        lineage_to(fork(), 3)
    with pytest.raises(ValueError, match=r"to='T1' is not a tip; choose one of R1-R1"):
        lineage_to(ring(), "T1")


def test_features_come_in_the_order_of_their_peaks():
    path = fork(400)
    time, end = path.pseudotime_, path.milestones_.pseudotime["T2"]
    peaks = {"late": 0.8, "early": 0.15, "middle": 0.5}
    values = np.column_stack([np.exp(-20 * (time / end - p) ** 2) for p in peaks.values()])
    values = np.column_stack([np.full(400, 3.7), values])  # simulated
    found = trends_along(path, values, ["constant", *peaks], to="T2")
    assert found.features == ["early", "middle", "late", "constant"]
    at = found.position[found.values[:3].argmax(axis=1)] / end
    assert at == pytest.approx([0.15, 0.5, 0.8], abs=0.05)
    assert found.is_flat.tolist() == [False, False, False, True]
    assert np.all(found.values[3] == 0)
    assert found.values[:3].mean(axis=1) == pytest.approx(0, abs=1e-9)
    assert found.values[:3].std(axis=1) == pytest.approx(1)


def test_values_are_those_of_the_trends():
    path = fork(300)
    values = np.sin(path.pseudotime_)[:, np.newaxis]
    found = trends_along(path, values, to="T3", n_bins=40, standardize=False)
    table = path.trends(values)
    for row, name in enumerate(["T1-F1", "F1-T3"]):
        here = found.branch == row
        one = table[table.branch == name]
        expected = np.interp(found.position[here], one.pseudotime, one["mean"])
        assert found.values[0, here] == pytest.approx(expected, abs=0.01)


def test_a_missing_feature_stays_missing():
    path = fork(50)
    values = np.column_stack([path.pseudotime_, np.full(50, np.nan)])
    found = trends_along(path, values, ["time", "nothing"], n_bins=5)
    assert np.isnan(found.values[found.features.index("nothing")]).all()


def test_too_few_bins_are_told():
    with pytest.raises(ValueError, match="n_bins=1 must be at least 2"):
        trends_along(fork(20), np.ones((20, 1)), n_bins=1)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("GATA", r"features names 'GATA', which is not a feature; did you mean 'GATA1'\?"),
        (["xyz"], r"features names 'xyz', which is not a feature; there are 'GATA1', 'SPI1'\."),
        (7, r"features names 7, which is not a feature"),
        ([["GATA1"]], r"features names \['GATA1'\], which is not a feature"),
        ([], r"features is empty"),
    ],
    ids=["close", "far", "number", "nested", "empty"],
)
def test_unknown_features_are_told_with_those_alike(features, message):
    with pytest.raises(ValueError, match=message):
        choose_features(["GATA1", "SPI1"], features)


def test_features_are_chosen_once_and_in_order():
    assert choose_features(["a", "b", "c"], ["c", "a", "c"]) == [2, 0]
    assert choose_features([0, 1, 2], 1) == [1]


def test_rounding_is_no_trend():
    trend = 3.7 + 1e-16 * np.arange(10)
    assert standardized(trend[np.newaxis])[1].tolist() == [True]
