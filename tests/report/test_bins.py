"""Samples that are too many to draw: what a bin says is true of its samples."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.report import bins as module
from branchwise.report.bins import binned_places, bins_of
from branchwise.report.content import report_state
from branchwise.report.encoding import decode, encode
from branchwise.trajectory import Trajectory

from .placed import matrix, times

NODES = np.array([[0.0, 0.0], [1.0, 0.2], [2.0, 0.0], [4.0, 2.0], [3.0, -1.0], [3.5, -2.0]])
EDGES = [[1, 0], [1, 2], [2, 3], [4, 2], [4, 5]]
RING = [[0, 1], [1, 2], [2, 4], [4, 5], [5, 0]]


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(module, "MAX_POINTS", 300)
    monkeypatch.setattr(module, "MAX_BINS", 100)


def simulated(edges=EDGES, n_samples=2000, dims=2, seed=0):
    rng = np.random.default_rng(seed)
    nodes = np.hstack([NODES, np.zeros((len(NODES), dims - 2))]) if dims > 1 else NODES[:, :1]
    edge = rng.integers(len(edges), size=n_samples)
    a, b = nodes[np.array(edges)[edge, 0]], nodes[np.array(edges)[edge, 1]]
    points = a + rng.random((n_samples, 1)) * (b - a)
    points += 0.1 * rng.standard_normal(points.shape)
    return Trajectory(edges, nodes, points, names=[f"s{k}" for k in range(n_samples)])


PATHS = {
    "tree": simulated(),
    "other root": simulated().rooted(node="T2"),
    "root between nodes": simulated().rooted(sample=17),
    "two roots": simulated().rooted(node=["T1", "T2"]),
    "ring": simulated(RING),
    "rooted ring": simulated(RING).rooted(sample=5),
    "forest": simulated([[0, 1], [2, 3], [4, 5]]),
    "a line": simulated([[0, 1], [1, 2]], dims=1),
    "five dimensions": simulated(dims=5),
}


@pytest.mark.parametrize("name", PATHS)
def test_the_time_of_a_bin_is_the_mean_of_its_samples_times(name):
    path = PATHS[name]
    state = decode(encode(report_state(path)))
    samples, of = state["samples"], state["bins"]["of"]
    n_bins = len(samples["edge"])
    assert 10 < n_bins <= 100
    found = times(state, samples["edge"], samples["position"])
    by_bin = pd.Series(path.pseudotime_).groupby(of)
    np.testing.assert_allclose(found, by_bin.mean(), rtol=1e-9, atol=1e-9)
    # A bin is on the branch of its samples.
    branch = path.view.branches.names[path.view.branches.found.of_edge[samples["edge"]]]
    assert (branch[of] == path.branches_).all()


@pytest.mark.parametrize("name", ["tree", "a line", "five dimensions"])
def test_points_and_distances_are_means_and_every_sample_counts_once(name):
    path = PATHS[name]
    state = decode(encode(report_state(path)))
    bins, samples, dims = state["bins"], state["samples"], state["dims"]
    assert samples["ids"] is None
    assert bins["ids"] == path.names_.tolist()
    assert bins["count"].sum() == state["n_samples"] == len(path.names_)
    np.testing.assert_array_equal(np.bincount(bins["of"]), bins["count"])
    points = path.view.points[:, :dims]
    means = pd.DataFrame(points).groupby(bins["of"]).mean()
    np.testing.assert_allclose(matrix(samples["points"], dims), means, rtol=1e-5, atol=1e-6)
    distance = pd.Series(path.distance_).groupby(bins["of"]).mean()
    np.testing.assert_allclose(samples["distance"], distance, rtol=1e-6)
    # What is drawn together lies together.
    drawn = points
    if path.nodes_.shape[1] > 2:
        drawn = path.view.points @ matrix(state["views"]["axes"]["matrix"], dims)
    spread = pd.DataFrame(drawn).groupby(bins["of"]).agg(np.ptp)
    assert (spread.to_numpy() <= bins["cell"]).all()


def test_numbers_are_means_of_what_is_known_and_categories_are_counted():
    path = PATHS["tree"]
    rng = np.random.default_rng(1)
    annotations = pd.DataFrame(
        {
            "age": np.where(rng.random(2000) < 0.3, np.nan, rng.integers(20, 90, size=2000)),
            "sex": rng.choice(["f", "m", None], size=2000),
            "clone": [f"c{k}" for k in rng.zipf(1.5, size=2000) % 40],
            "never": [np.nan] * 2000,
        }
    )
    state = decode(encode(report_state(path, annotations=annotations)))
    of = state["bins"]["of"]
    age, sex, clone, never = state["columns"][:4]
    expected = annotations["age"].groupby(of).mean()
    np.testing.assert_allclose(age["values"], expected, rtol=1e-6)
    np.testing.assert_array_equal(age["known"], annotations["age"].groupby(of).count())
    counts = pd.crosstab(of, annotations["sex"].fillna("?")).reindex(columns=["f", "m"])
    np.testing.assert_array_equal(matrix(sex["counts"], 2), counts)
    assert np.isnan(never["values"]).all()
    assert len(clone["labels"]) == 16
    assert clone["labels"][-1] == f"other: {annotations['clone'].nunique() - 15} categories"
    largest = annotations["clone"].value_counts().index[:15]
    found = matrix(clone["counts"], 16)
    for label in largest:
        number = (annotations["clone"] == label).groupby(of).sum()
        np.testing.assert_array_equal(found[:, clone["labels"].index(label)], number)
    np.testing.assert_array_equal(found.sum(axis=1), state["bins"]["count"])


def test_features_are_means_and_their_trends_those_of_all_samples():
    path = PATHS["tree"]
    values = np.column_stack([path.pseudotime_, np.random.default_rng(0).random(2000)])
    state = decode(encode(report_state(path, features=values, feature_names=["time", "noise"])))
    column = next(c for c in state["columns"] if c["name"] == "time")
    mean = pd.Series(path.pseudotime_).groupby(state["bins"]["of"]).mean()
    np.testing.assert_allclose(column["values"], mean, rtol=1e-6, atol=1e-6)
    trends = path.trends(values[:, [0]], n_points=state["trends"]["n_points"])["mean"]
    np.testing.assert_allclose(state["trends"]["mean"][: len(trends)], trends, 1e-5, 1e-9)


def test_the_note_says_what_is_drawn():
    state = report_state(PATHS["tree"])
    n_bins = len(state["bins"]["count"])
    [note] = state["notes"]
    assert note.startswith(f"2,000 samples are drawn as {n_bins} bins of those that lie together")
    assert "the mean of their numbers, or their most frequent category" in note
    assert note.endswith("the area of a disc tells the number of its samples.")


def test_names_of_very_many_samples_are_left_out(monkeypatch):
    monkeypatch.setattr(module, "MAX_IDS", 1000)
    state = report_state(PATHS["tree"])
    assert state["bins"]["ids"] is None
    assert state["bins"]["of"] is None
    told = "The names of the samples are left out: a page holds at most 1,000."
    assert state["notes"][1:] == [told]


def test_few_samples_are_drawn_one_by_one(monkeypatch):
    monkeypatch.setattr(module, "MAX_POINTS", 2000)
    state = report_state(PATHS["tree"])
    assert state["bins"] is None
    assert state["notes"] == []
    np.testing.assert_array_equal(state["samples"]["edge"], PATHS["tree"].placement_.edge)


def test_samples_in_one_place():
    nodes = np.array([[0.0, 0.0], [1.0, 0.0]])
    path = Trajectory([[0, 1]], nodes, np.full((400, 2), 0.5))
    state = report_state(path)
    assert state["bins"]["count"].tolist() == [400]
    np.testing.assert_array_equal(state["samples"]["points"], [[0.5, 0.5]])


def test_more_branches_than_bins_end_the_search(monkeypatch):
    monkeypatch.setattr(module, "MAX_BINS", 1)
    found = bins_of(PATHS["tree"], PATHS["tree"].view.points)
    assert len(found.sizes) == len(np.unique(PATHS["tree"].branches_))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["tree", "ring", "forest"]))
def test_places_of_bins_lie_between_those_of_their_samples(seed, kind):
    edges = {"tree": EDGES, "ring": RING, "forest": [[0, 1], [2, 3], [4, 5]]}[kind]
    path = simulated(edges, n_samples=400, seed=seed)
    bins = bins_of(path, path.view.points[:, :2])
    edge, position = binned_places(path, bins)
    assert ((position >= 0) & (position <= 1)).all()
    found, placed = path.view.branches.found, path.view.branches.placed
    along = found.start[edge] + found.sign[edge] * position * path.lengths_[edge]
    samples = pd.Series(placed.position * placed.lengths[placed.edge]).groupby(bins.of)
    assert (along >= samples.min() - 1e-9).all()
    assert (along <= samples.max() + 1e-9).all()


@given(
    values=st.lists(st.floats(-1e6, 1e6) | st.just(float("nan")), min_size=2, max_size=40),
    seed=st.integers(0, 9),
)
def test_means_and_squares_of_bins_give_the_variance_of_any_of_them(values, seed):
    values = np.array(values)
    of = np.random.default_rng(seed).integers(4, size=len(values))
    bins = module.Bins(of, np.bincount(of, minlength=4), 1.0)
    means, squares = bins.mean(values), bins.squares(values)
    some = np.isin(of, [0, 2]) & ~np.isnan(values)
    if some.sum() < 2:
        return
    n = np.bincount(of[some], minlength=4)
    mean = np.nansum(n * means) / n.sum()
    total = squares[[0, 2]].sum() + np.nansum(n * (means - mean) ** 2)
    np.testing.assert_allclose(total, ((values[some] - mean) ** 2).sum(), rtol=1e-9, atol=1e-3)


def test_only_features_of_bins_have_squares():
    path = PATHS["tree"]
    about = {"age": np.arange(2000.0)}
    state = report_state(path, features=path.view.points, annotations=about)
    has = {column["name"]: "squares" in column for column in state["columns"]}
    assert not has["age"]
    assert not has["density"]
    assert has["x0"]
