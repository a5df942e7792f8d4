"""What is in a page, against direct computation."""

import datetime
import subprocess
import sys

import anndata
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

import branchwise
from branchwise import SPL, DDRTree, DRTree, Preparation
from branchwise.data.categories import numbered
from branchwise.datasets import make_tree
from branchwise.pipeline import fit_pipeline
from branchwise.report import facts, features, report_html
from branchwise.report.columns import density
from branchwise.report.content import report_state
from branchwise.report.encoding import DATA, decode, encode
from branchwise.trajectory import Trajectory, learn_trajectory
from branchwise.trajectory.branches import default_roots

from .placed import matrix, times


@pytest.fixture(scope="module")
def data():
    return make_tree(300, 8, noise=0.1, random_state=0)  # simulated


@pytest.fixture(scope="module")
def path(data):
    return learn_trajectory(data.X, support=0)


def page(result, **options):
    return decode(encode(report_state(result, **options)))


def column(state, name, group=None):
    [found] = [c for c in state["columns"] if c["name"] == name and group in (None, c["group"])]
    return found


# The graph and the samples


@pytest.mark.parametrize(
    "root", [{}, {"node": "T2"}, {"sample": 5}, {"node": ["T1", "T2"]}], ids=str
)
def test_graph_and_places(root, path):
    rooted = path.rooted(**root) if root else path
    state = page(rooted)
    graph, samples = state["graph"], state["samples"]
    np.testing.assert_array_equal(matrix(graph["nodes"], 8), rooted.nodes_)
    np.testing.assert_array_equal(matrix(graph["edges"], 2), rooted.edges_)
    np.testing.assert_array_equal(graph["lengths"], rooted.lengths_)
    np.testing.assert_array_equal(graph["roots"], rooted.roots_)
    assert graph["wanted"].tolist() == list(rooted.view.chosen_roots)
    np.testing.assert_array_equal(
        graph["default_roots"], default_roots(path.view.base, path.view.milestone_names)
    )
    named = dict(zip(graph["named"]["node"].tolist(), graph["named"]["name"], strict=True))
    assert list(named.items()) == list(rooted.view.milestone_names.items())
    assert state["is_rooted"] is bool(root)
    assert state["color"] == ("pseudotime" if root else "branch")
    found = times(state, samples["edge"], samples["position"])
    np.testing.assert_allclose(found, rooted.pseudotime_, atol=1e-9)
    np.testing.assert_allclose(samples["distance"], rooted.distance_, rtol=1e-6)
    expected = rooted.view.points[:, :3].astype(np.float32)
    np.testing.assert_array_equal(matrix(samples["points"], 3), expected)
    assert samples["ids"] == [str(k) for k in range(300)]


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_up_to_three_dimensions_are_drawn(d, data):
    path = Trajectory.from_estimator(DDRTree(n_components=d, random_state=0).fit(data.X))
    state = page(path)
    assert (state["n_components"], state["dims"]) == (d, min(d, 3))
    assert state["axes"] == [f"ddrtree{k}" for k in range(d)]
    assert state["graph"]["node_dims"] == d
    assert len(state["samples"]["points"]) == 300 * min(d, 3)


def test_coordinates_of_spl_are_in_units_of_the_data(data):
    model = SPL(gamma=0.5).fit(data.X[:100])
    state = page(Trajectory.from_estimator(model))
    for found, expected in (
        (state["samples"]["points"], model.projection_),
        (state["graph"]["nodes"], model.skeleton_),
    ):
        np.testing.assert_allclose(matrix(found, 2), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(state["objective_history"], model.objective_history_)


def test_a_graph_without_a_model():
    path = Trajectory([[0, 1], [1, 2]], np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 2.0]]))
    state = page(path)
    assert state["title"] == "graph of 3 samples"
    assert state["method"] == "Trajectory"
    assert state["axes"] == ["component 1", "component 2"]
    assert state["facts"]["graph"]["tips"] == 2
    assert "parameters" not in state["facts"]
    assert len(state["objective_history"]) == 0


def test_numbers_too_large_for_single_precision_stay_double():
    nodes = np.array([[0.0, 0.0], [2e100, 0.0]])
    state = page(Trajectory([[0, 1]], nodes, nodes + 1e99))
    assert state["samples"]["points"].dtype == np.float64
    assert np.isfinite(state["samples"]["points"]).all()


# Computed columns


def test_distance_and_density(path):
    state = page(path)
    distance = column(state, "distance from the tree")
    assert (distance["group"], distance["unit"]) == ("computed", "units of the data")
    np.testing.assert_allclose(distance["values"], path.distance_, rtol=1e-6)
    drawn = path.view.points[:, :3]
    volume = 4 / 3 * np.pi * np.sort(cdist(drawn, drawn), axis=1)[:, 30] ** 3
    density = column(state, "density")
    assert density["unit"] == "log₁₀ of samples per unit of volume"
    np.testing.assert_allclose(density["values"], np.log10(30 / volume), rtol=1e-5)


def test_density_of_equal_samples_is_finite():
    nodes = np.array([[0.0], [1.0]])
    points = np.concatenate([np.zeros(40), np.linspace(0, 1, 10)])[:, None]
    density = column(page(Trajectory([[0, 1]], nodes, points)), "density")
    assert np.isfinite(density["values"]).all()
    assert density["values"][0] == density["values"].max()
    alike = page(Trajectory([[0, 1]], nodes, np.zeros((5, 1))))
    assert "density" not in [c["name"] for c in alike["columns"]]


def test_density_of_samples_of_which_many_are_equal():
    rng = np.random.default_rng(0)
    points = rng.integers(0, 9, size=(400, 2)).astype(float)
    points[:100] = 3.0
    radius = np.sort(cdist(points, points), axis=1)[:, 30]
    radius = np.maximum(radius, radius[radius > 0].min())
    expected = np.log10(30 / (np.pi * radius**2))
    np.testing.assert_allclose(density(points).values, expected)
    many = np.vstack([np.zeros((1_000_000, 2)), points])  # would take hours if all were looked at
    assert np.isfinite(density(many).values).all()


def test_uncertainty_is_what_the_model_tells(data, path):
    soft = column(page(path), "uncertainty")
    expected = 1 - path.branch_probabilities().to_numpy().max(axis=1)
    np.testing.assert_allclose(soft["values"], expected, atol=1e-6)
    assert soft["unit"] == "1 − probability of the branch"
    spl = SPL(gamma=0.5).fit(data.X[:100])
    spread = column(page(Trajectory.from_estimator(spl)), "uncertainty")
    np.testing.assert_allclose(spread["values"], 3 * spl.posterior_std_, rtol=1e-6)
    assert spread["unit"] == "standard deviation, in units of the data"
    for model in (DRTree(), DDRTree(2, assignment="hard", random_state=0), SPL(gamma=0.0)):
        made = Trajectory.from_estimator(model.fit(data.X[:100]))
        assert "uncertainty" not in [c["name"] for c in page(made)["columns"]]


# Annotations

TINY = Trajectory([[0, 1]], np.array([[0.0], [4.0]]), np.array([[0.0], [1.0], [2.0], [3.0]]))
KINDS = {
    "truth": [True, False, None, True],
    "text": ["day 10", "day 2", None, "day 2"],
    "ordered": pd.Categorical(["late", "early", None, "late"], ["early", "late", "never"]),
    "counts": [1, 2, 3, 4],
    "numbers": [0.5, np.nan, 2.5, 3.5],
    "nullable": pd.array([1, None, 3, 4], dtype="Int64"),
    "large": [2**24 + 1, 2, 3, 4],
    "visit": pd.to_datetime(["2020-01-03 12:00", "2020-01-01 06:00", None, "2020-03-01 00:00"]),
    "zone": pd.to_datetime(["2020-01-03", "2020-01-01", None, "2020-01-02"]).tz_localize("CET"),
    "birthday": [datetime.date(1990, 1, 2), None, datetime.date(1990, 1, 1), None],
    "stay": pd.to_timedelta([1.5, None, 3, 4], unit="D"),
    "mixed": [1, "a", 2.0, None],
    "lists": [[1], [2, 3], [1], None],
    "complex": [1j, 2j, 1j, 2j],
    "empty": [None] * 4,
    "old": [datetime.date(1, 1, 2), None, datetime.date(1, 1, 1), None],
}


@pytest.fixture(scope="module")
def annotated():
    return page(TINY, annotations=pd.DataFrame(KINDS))


def codes_of(state, name):
    found = column(state, name)
    assert found["kind"] == "category"
    assert found["codes"].dtype == np.uint8
    labels = [*found["labels"], *[None] * (256 - len(found["labels"]))]
    return found["labels"], [labels[code] for code in found["codes"]]


@pytest.mark.parametrize(
    ("name", "labels", "values"),
    [
        ("truth", ["False", "True"], ["True", "False", None, "True"]),
        ("text", ["day 2", "day 10"], ["day 10", "day 2", None, "day 2"]),
        ("ordered", ["early", "late", "never"], ["late", "early", None, "late"]),
        ("mixed", ["1", "2", "a"], ["1", "a", "2", None]),
        ("lists", ["[1]", "[2, 3]"], ["[1]", "[2, 3]", "[1]", None]),
        ("complex", ["1j", "2j"], ["1j", "2j", "1j", "2j"]),
        ("empty", [], [None] * 4),
    ],
)
def test_categories(name, labels, values, annotated):
    assert codes_of(annotated, name) == (labels, values)


@pytest.mark.parametrize(
    ("name", "values", "unit", "dtype"),
    [
        ("counts", [1, 2, 3, 4], "", "f4"),
        ("numbers", [0.5, np.nan, 2.5, 3.5], "", "f4"),
        ("nullable", [1, np.nan, 3, 4], "", "f4"),
        ("large", [16777217, 2, 3, 4], "", "f8"),
        ("visit", [2.5, 0.25, np.nan, 60], "days since 2020-01-01", "f4"),
        ("birthday", [1, np.nan, 0, np.nan], "days since 1990-01-01", "f4"),
        ("stay", [1.5, np.nan, 3, 4], "days", "f4"),
    ],
)
def test_numbers_and_dates(name, values, unit, dtype, annotated):
    found = column(annotated, name)
    assert (found["kind"], found["unit"], found["values"].dtype) == ("number", unit, dtype)
    np.testing.assert_array_equal(found["values"], values)


def test_dates_with_a_zone_and_dates_that_pandas_may_not_know(annotated):
    zone = column(annotated, "zone")
    np.testing.assert_allclose(np.diff(zone["values"][[1, 3, 0]]), 1, rtol=1e-6)
    assert zone["unit"].startswith("days since ")
    old = column(annotated, "old")
    if old["kind"] == "number":  # newer versions of pandas know them
        assert old["unit"] == "days since 0001-01-01"
        np.testing.assert_array_equal(old["values"], [1, np.nan, 0, np.nan])
    else:
        days = ["0001-01-01", "0001-01-02"]
        assert codes_of(annotated, "old") == (days, [days[1], None, days[0], None])


def test_many_dates_that_are_text_are_days_and_few_are_categories():
    path = Trajectory([[0, 1]], np.array([[0.0], [9.0]]), np.linspace(0, 9, 40)[:, np.newaxis])
    days = pd.date_range("2021-03-01", periods=40).strftime("%Y-%m-%d").tolist()
    notes = {"visit": [*days[:39], None], "site": [f"{day}x" for day in days]}
    notes["round"] = [days[k % 3] for k in range(40)]
    state = page(path, annotations=notes)
    visit = column(state, "visit")
    assert visit["unit"] == "days since 2021-03-01"
    np.testing.assert_array_equal(visit["values"], [*range(39), np.nan])
    assert [column(state, name)["kind"] for name in ("site", "round")] == ["category"] * 2


def test_labels_and_numbers_of_any_length():
    digits = "9" * 5000
    labels, _ = codes_of(page(TINY, annotations={"id": ["a2", f"a{digits}", "a10", "a02"]}), "id")
    assert labels == ["a02", "a2", "a10", f"a{digits}"]
    large = np.array([1, 10**400, None, -(10**400)], dtype=object)
    state = page(TINY, annotations={"n": large})
    np.testing.assert_array_equal(column(state, "n")["values"], [1, np.nan, np.nan, np.nan])
    assert state["notes"] == ["2 infinite values of 'n' are shown as missing."]
    with pytest.raises(ValueError, match="annotations holds a number that pandas cannot hold"):
        report_state(TINY, annotations={"n": large.tolist()})


def test_categories_that_are_numbers():
    about = {"dose": pd.Categorical([2.0, 0.5, None, 2.0], [2.0, 0.5, 1.0])}
    expected = (["2", "0.5", "1"], ["2", "0.5", None, "2"])
    assert codes_of(page(TINY, annotations=about), "dose") == expected
    codes, labels = numbered(np.array([2.0, 0.5]), [2.0, 0.5, 1.0])
    assert (codes.tolist(), labels) == ([0, 1], ["2", "0.5", "1"])


def test_infinite_numbers_are_missing_and_told():
    state = page(TINY, annotations={"dose": [1.0, np.inf, -np.inf, 2.0]})
    np.testing.assert_array_equal(column(state, "dose")["values"], [1, np.nan, np.nan, 2])
    assert state["notes"] == ["2 infinite values of 'dose' are shown as missing."]


@pytest.mark.parametrize(("n", "dtype"), [(255, "u1"), (256, "u2"), (65535, "u2"), (65536, "i4")])
def test_codes_are_as_small_as_can_be(n, dtype, monkeypatch):
    monkeypatch.setattr("branchwise.report.bins.MAX_POINTS", 100_000)
    points = np.linspace(0, 4, n + 1)[:, None]
    path = Trajectory([[0, 1]], np.array([[0.0], [4.0]]), points)
    found = column(page(path, annotations={"id": [*map(str, range(n)), None]}), "id")
    assert found["codes"].dtype == dtype
    np.testing.assert_array_equal(found["codes"][:-1], np.arange(n))
    assert found["codes"][-1] == {"u1": 255, "u2": 65535, "i4": -1}[dtype]


def test_names_of_columns_are_the_users_and_differ():
    frame = pd.DataFrame(np.zeros((4, 4)), columns=["pseudotime", "density", 1, "1"])
    state = page(TINY, annotations=frame, features=np.ones((4, 2)), feature_names=["1", "branch"])
    names = [(c["group"], c["name"]) for c in state["columns"]]
    assert names[:4] == [("annotation", n) for n in ("pseudotime", "density", "1", "1 (2)")]
    assert set(names[4:6]) == {("feature", "1 (3)"), ("feature", "branch")}
    assert ("computed", "density") in names
    assert state["color"] == "branch"


@pytest.mark.parametrize(
    "annotations",
    [
        {"sex": list("fmfm")},
        pd.Series(list("fmfm"), name="sex"),
        pd.DataFrame({"sex": list("fmfm")}),
        pl.DataFrame({"sex": list("fmfm")}),
    ],
    ids=["dict", "Series", "DataFrame", "polars"],
)
def test_annotations_in_any_table(annotations):
    assert codes_of(page(TINY, annotations=annotations), "sex")[1] == list("fmfm")


def test_wrong_annotations():
    with pytest.raises(ValueError, match="annotations has 2 rows, but there are 4 samples"):
        report_state(TINY, annotations={"a": [1, 2]})
    with pytest.raises(TypeError, match="annotations is a ndarray, but must be a DataFrame"):
        report_state(TINY, annotations=np.zeros((4, 1)))
    path = Trajectory([[0, 1]], np.array([[0.0], [4.0]]), names=["a", "b"])
    frame = pd.DataFrame({"x": [1, 2]}, index=["b", "a"])
    with pytest.raises(ValueError, match="annotations has 'b' in row 0, where the trajectory has"):
        report_state(path, annotations=frame)
    with pytest.raises(ValueError, match="features has 'b' in row 0, where the trajectory has 'a'"):
        report_state(path, features=frame)


def test_colours():
    about = {"age": [1, 2, 3, 4], "sex": list("fmfm")}
    assert report_state(TINY, annotations=about)["color"] == "sex"
    assert report_state(TINY, annotations=about, color="age")["color"] == "age"
    assert report_state(TINY.rooted("T2"), annotations=about)["color"] == "pseudotime"
    assert report_state(TINY, color="density")["color"] == "density"
    message = (
        "color='bmi' is not a column of this page; the columns are pseudotime, branch, age, sex,"
    )
    with pytest.raises(ValueError, match=message):
        report_state(TINY, annotations=about, color="bmi")


def test_names_of_samples():
    assert report_state(TINY, names=list("abcd"))["samples"]["ids"] == list("abcd")
    with pytest.raises(ValueError, match=r"names has shape \(2,\), but there are 4 samples"):
        report_state(TINY, names=["a", "b"])
    assert TINY.names_.tolist() == [0, 1, 2, 3]


def test_samples_are_called_as_the_annotations_are_if_nothing_else_has_names(data):
    about = pd.DataFrame({"sex": ["f", "m"] * 150}, index=[f"P{k}" for k in range(300)])
    model = DDRTree(2, random_state=0).fit(data.X)
    path = Trajectory.from_estimator(model, names=about.index)
    expected = report_html(path.rooted(sample="P7"), features=data.X, annotations=about)
    assert model.to_html(X=data.X, annotations=about, root={"sample": "P7"}) == expected
    state = report_state(Trajectory.from_estimator(model), annotations=about)
    assert state["samples"]["ids"] == about.index.tolist()
    state = report_state(path, annotations=about.reset_index(drop=True))
    assert state["samples"]["ids"] == about.index.tolist()
    named = pd.DataFrame(data.X, index=[f"Q{k}" for k in range(300)])
    text = model.to_html(X=named.rename(columns=str), annotations=about)
    assert decode(DATA.search(text)[1])["samples"]["ids"] == named.index.tolist()


def test_other_results_are_refused():
    with pytest.raises(
        TypeError, match="made of a Trajectory or a Pipeline, not of a DDRTree; call"
    ):
        report_state(DDRTree(2))


# Features


def test_features_are_as_in_the_input_and_those_that_change_most_come_first(data):
    frame = pd.DataFrame(data.X * 3 + 50, columns=[f"lab {k}" for k in range(8)])
    frame.iloc[3, 2] = np.nan
    made = fit_pipeline(
        frame, DDRTree(2, random_state=0), Preparation(impute="median", standardize=True)
    )
    state = page(made, features=frame)
    tests = made.trajectory.associated_features(frame.to_numpy(), list(frame.columns))
    found = [c for c in state["columns"] if c["group"] == "feature"]
    assert [c["name"] for c in found] == tests["feature"].tolist()
    for c in found:
        np.testing.assert_array_equal(c["values"], frame[c["name"]].to_numpy(np.float32))
    n_points = 300 // len(made.trajectory.branch_table_)
    trends = made.trajectory.trends(frame[tests["feature"]].to_numpy(), n_points=n_points)
    assert state["trends"]["branches"] == made.trajectory.branch_table_.index.tolist()
    assert state["trends"]["n_points"] == n_points
    assert state["trends"]["level"] == 0.95
    for name in ("mean", "lower", "upper"):
        np.testing.assert_allclose(state["trends"][name], trends[name], rtol=1e-5, atol=1e-5)
    assert state["notes"] == []


def test_of_many_features_those_that_change_most_are_there(path, data):
    rng = np.random.default_rng(0)
    values = np.hstack([rng.standard_normal((300, 92)), data.X])
    names = [f"g{k}" for k in range(100)]
    state = page(path, features=values, feature_names=names)
    found = [c["name"] for c in state["columns"] if c["group"] == "feature"]
    assert len(found) == 60
    assert set(names[92:]) <= set(found[:10])
    assert state["notes"] == [
        "60 of 100 features are in this page: those that change most along the tree. Others can be "
        "added by name: branchwise report OUT --feature NAME, or show=[…] in Python."
    ]
    last = path.associated_features(values, names)["feature"].tolist()[-1]
    state = page(path, features=values, feature_names=names, show=[last])
    found = [c["name"] for c in state["columns"] if c["group"] == "feature"]
    assert found[0] == last
    assert len(found) == 61
    assert (
        "61 of 100 features are in this page: those that were asked for, and" in state["notes"][0]
    )
    colored = page(path, features=values, feature_names=names, color=last)
    assert colored["color"] == last
    assert [c["name"] for c in colored["columns"] if c["group"] == "feature"] == found


def test_features_with_p_values_of_zero_are_told_apart():
    rng = np.random.default_rng(0)
    time = np.linspace(0, 4, 4000)
    path = Trajectory([[0, 1]], np.array([[0.0], [4.0]]), time[:, None])
    noise = [0.3, 0.1, 0.2, 0.05]
    values = time[:, None] + noise * rng.standard_normal((4000, 4))
    assert (path.associated_features(values)["p_value"] == 0).all()
    found = [c["name"] for c in page(path, features=values)["columns"]]
    assert found[:4] == ["x3", "x1", "x2", "x0"]


def test_sparse_features_stay_sparse_but_for_those_shown(path, monkeypatch):
    rng = np.random.default_rng(0)
    dense = rng.poisson(0.3, size=(300, 500)).astype(float)
    expected = page(path, features=dense)
    real, sizes = sparse.csc_array.toarray, []

    def toarray(self, *args, **options):
        sizes.append(self.shape[1])
        return real(self, *args, **options)

    monkeypatch.setattr(sparse.csc_array, "toarray", toarray)
    monkeypatch.setattr("branchwise.trajectory.checks.MAX_BLOCK", 300 * 50)
    found = page(path, features=sparse.csr_array(dense))
    assert max(sizes) < 500
    for one, other in zip(found["columns"], expected["columns"], strict=True):
        assert one["name"] == other["name"]
        np.testing.assert_array_equal(one["values"], other["values"])


def test_a_page_holds_so_many_numbers_and_no_more(path, data, monkeypatch):
    monkeypatch.setattr(features, "MAX_FEATURE_VALUES", 900)
    state = page(path, features=data.X)
    assert len([c for c in state["columns"] if c["group"] == "feature"]) == 3
    message = "show names 4 features of 300 values each, but a page holds at most 900 such numbers"
    with pytest.raises(ValueError, match=message):
        report_state(path, features=data.X, show=["x0", "x1", "x2", "x3"])
    with pytest.raises(ValueError, match="show names 'x9', which is not a feature; did you mean"):
        report_state(path, features=data.X, show=["x9"])


def test_options_that_need_features_are_refused_without_them():
    with pytest.raises(ValueError, match="show names features, but there are none; pass their val"):
        report_state(TINY, show=["x0"])
    with pytest.raises(ValueError, match="feature_names names features, but there are none; pass"):
        report_state(TINY, feature_names=["x0"])


def test_a_note_is_one_note():
    assert report_state(TINY, notes="hello")["notes"] == ["hello"]


def test_features_in_a_table_of_polars(data):
    X = pl.DataFrame(data.X, schema=[f"g{k}" for k in range(8)])
    path = Trajectory.from_estimator(DDRTree(2, random_state=0).fit(X))
    state = page(path, features=X)
    np.testing.assert_array_equal(column(state, "g3")["values"], data.X[:, 3].astype(np.float32))
    assert state["model"]["features"] == X.columns
    message = r"features is a polars LazyFrame, but .* in memory here; pass features\.collect\(\)\."
    with pytest.raises(TypeError, match=message):
        report_state(path, features=X.lazy())


def test_what_is_not_in_memory_is_not_loaded_unasked(data):
    chunks = da.from_array(data.X, chunks=(100, 8))
    model = DDRTree(2, random_state=0).fit(data.X)
    with pytest.raises(ValueError, match=r"X is a Dask array, but .*; pass X\.compute\(\) if it"):
        model.to_html(X=chunks)
    path = Trajectory.from_estimator(model)
    with pytest.raises(ValueError, match=r"features is a Dask array, but its values are needed in"):
        path.to_html(features=chunks)
    about = dd.from_pandas(pd.DataFrame({"sex": ["f", "m"] * 150}), npartitions=2)
    with pytest.raises(ValueError, match="annotations is a Dask DataFrame, but its values are"):
        model.to_html(annotations=about)


def test_objects_that_hold_features(data):
    adata = anndata.AnnData(data.X)
    model = DDRTree(2, random_state=0).fit(data.X)
    message = r"features is an AnnData, but must be an array, .*; pass features\.to_df\(\), or"
    with pytest.raises(TypeError, match=message):
        model.to_html(X=adata)


def test_wrong_features(path, data):
    with pytest.raises(ValueError, match=r"features has shape \(9, 8\) but must be \(n_samples"):
        path.estimator_.to_html(X=pd.DataFrame(data.X[:9], index=list("abcdefghi")))
    with pytest.raises(ValueError, match=r"features has shape \(299, 8\) but must be \(n_samples"):
        report_state(path, features=data.X[:-1])
    with pytest.raises(ValueError, match="feature_names has 2 names, but features has 8 columns"):
        report_state(path, features=data.X, feature_names=["a", "b"])
    with pytest.raises(TypeError, match="features must hold numbers, but could not convert string"):
        report_state(TINY, features=pd.DataFrame({"a": list("wxyz")}))


def test_graphs_of_many_branches_have_no_trends(data, monkeypatch):
    path = Trajectory.from_estimator(DRTree(lam=0.1).fit(data.X))
    assert len(path.branch_table_) > 60
    monkeypatch.setattr(features, "MAX_FEATURES", 4)
    values = np.hstack([np.random.default_rng(0).standard_normal((300, 4)), path.view.points])
    state = page(path, features=values)
    assert state["trends"] is None
    found = [c["name"] for c in state["columns"] if c["group"] == "feature"]
    assert set(found[:2]) == {"x4", "x5"}
    first, second = state["notes"]
    assert first.startswith("4 of 6 features are in this page: those that change most across the")
    n_branches = len(path.branch_table_)
    assert second == (
        f"Trends of features are left out: the graph has {n_branches} branches, of which at most "
        "60 are drawn; remove those that cannot be told from noise first (branchwise fit --prune, "
        "or Trajectory.prune in Python)."
    )


def test_features_that_are_missing_everywhere_come_last(path):
    values = np.column_stack([np.full(300, np.nan), path.pseudotime_, np.ones(300)])
    state = page(path, features=values, feature_names=["never", "time", "constant"])
    assert state["columns"][0]["name"] == "time"


# Facts


def test_facts_of_the_model(data):
    preparation = Preparation(standardize=True)
    model = DDRTree(2, init=None, random_state=3, callback=print, n_jobs=2, checkpoint=None)
    made = fit_pipeline(
        pd.DataFrame(data.X, columns=list("abcdefgh")), model.set_params(callback=None), preparation
    )
    facts = page(made, facts={"study": "of 2024", "where": {"ward": 3}})["facts"]
    fitted = made.estimator
    assert facts["method"] == "DDRTree"
    assert facts["seed"] == facts["parameters"]["random_state"] == 3
    assert facts["objective"] == fitted.objective_
    assert facts["n_iter"] == fitted.n_iter_
    assert facts["fitted"]["lam_"] == fitted.lam_
    assert facts["preparation"]["standardize"] is True
    assert facts["versions"]["numpy"] == np.__version__
    assert facts["study"] == "of 2024"
    assert facts["where"] == {"ward": 3}
    assert not {"callback", "checkpoint", "n_jobs", "verbose"} & set(facts["parameters"])
    facts = page(TINY, facts={"C": np.inf, "least": -np.inf, "gap": np.nan})["facts"]
    assert (facts["C"], facts["least"], facts["gap"]) == ("inf", "-inf", None)


def test_parameters_of_any_kind_are_told_in_words(data, tmp_path):
    start = data.X[:20, :2]
    model = DDRTree(init=start, checkpoint=tmp_path / "fit", random_state=np.random.RandomState(0))
    facts = page(Trajectory.from_estimator(model.fit(data.X)))["facts"]
    assert facts["parameters"]["init"] == "array of shape (20, 2)"
    assert facts["seed"] == "RandomState"
    assert str(tmp_path) not in str(facts)


# From the objects themselves


def test_to_html_of_every_estimator(data, static, tmp_path):
    X = pd.DataFrame(data.X[:120], index=[f"P{k}" for k in range(120)]).rename(
        columns="lab {}".format
    )
    about = pd.DataFrame({"stage": ["I", "II"] * 60}, index=X.index)
    for model in (DDRTree(2, random_state=0), DRTree(), SPL()):
        model.fit(X)
        text = model.to_html(X=X, annotations=about, root="T2", color="stage", title="Cohort")
        assert text.startswith("<!doctype html>")
        out = tmp_path / f"{type(model).__name__}.html"
        assert (
            model.to_html(out, X=X, annotations=about, root="T2", color="stage", title="Cohort")
            is None
        )
        assert out.read_text("utf-8") == text
        state = branchwise.report.read_report(out)
        assert state["title"] == "Cohort"
        assert state["samples"]["ids"][0] == "P0"
        assert state["is_rooted"]
        assert state["model"]["features"] == [f"lab {k}" for k in range(8)]
        path = Trajectory.from_estimator(model, names=X.index)
        assert (
            path.rooted("T2").to_html(features=X, annotations=about, color="stage", title="Cohort")
            == text
        )


def test_roots_and_names_of_to_html(data, static):
    model = DDRTree(2, random_state=0).fit(data.X)
    stage = np.where(data.pseudotime < np.median(data.pseudotime), "early", "late")
    by_label = model.to_html(root={"labels": stage, "value": "early"})
    path = Trajectory.from_estimator(model).rooted(labels=stage, value="early")
    assert by_label == report_html(path)
    names = [f"s{k}" for k in range(300)]
    named = model.to_html(names=names, root={"sample": "s7"})
    assert named == report_html(Trajectory.from_estimator(model, names=names).rooted(sample="s7"))
    with pytest.raises(ValueError, match="root has the key 'foo', but its keys are arguments of"):
        model.to_html(root={"foo": 3})
    with pytest.raises(ValueError, match="node='T99' is not a node of the graph"):
        model.to_html(root="T99")
    with pytest.raises(ValueError, match="is not fitted yet"):
        DDRTree(2).to_html()


def test_what_needs_pandas_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="a report with features needs pandas; run: pip install"):
        report_state(TINY, features=np.zeros((4, 2)))
    with pytest.raises(ImportError, match="a report with annotations needs pandas; run: pip inst"):
        report_state(TINY, annotations={"sex": list("fmfm")})


def test_the_report_needs_no_matplotlib():
    code = (
        "import sys; sys.modules['matplotlib'] = None; import branchwise.report; "
        "print('dask' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# How sure branches are


def test_evidence_and_support_are_those_of_the_trajectory():
    data = make_tree(300, 10, noise=0.05, random_state=0)  # simulated
    path = learn_trajectory(data.X, support=2)
    evidence = page(path)["evidence"]
    of_edge = path.view.branches.found.of_edge
    table = path.branch_table_
    first = [int(np.flatnonzero(of_edge == k)[0]) for k in range(len(table))]
    np.testing.assert_allclose(evidence["p"][evidence["segment"][first]], table["p"])
    np.testing.assert_allclose(evidence["support"][evidence["piece"][first]], table["support"])
    length = np.bincount(of_edge, path.lengths_)
    occupied = np.bincount(of_edge, evidence["occupied"] * path.lengths_) / length
    np.testing.assert_allclose(occupied, table["occupied"])
    assert evidence["n_resamples"] == 2
    assert evidence["found"] == path.describe().splitlines()


def test_other_names_of_the_samples_leave_the_support():
    data = make_tree(120, 10, noise=0.05, random_state=0)  # simulated
    path = learn_trajectory(data.X, support=2)
    names = [f"s{k}" for k in range(120)]
    assert page(path, names=names)["evidence"]["n_resamples"] == 2


def test_without_resamples_there_is_no_support():
    evidence = page(TINY)["evidence"]
    assert evidence["support"] is None
    assert evidence["n_resamples"] is None


def test_of_one_sample_and_of_many_nodes_nothing_is_said(monkeypatch):
    one = Trajectory(TINY.edges_, TINY.nodes_, TINY.view.points[:1])
    assert page(one)["evidence"]["found"] == []
    assert page(TINY)["evidence"]["found"] != []
    monkeypatch.setattr(facts, "MOST_NODES", 1)
    assert page(TINY)["evidence"]["found"] == []


def test_gaps_of_a_ring_are_not_looked_at():
    ring = Trajectory([[0, 1], [1, 2], [2, 0]], np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    evidence = page(ring)["evidence"]
    assert not evidence["is_tested"]
    assert np.isnan(evidence["p"]).all()
