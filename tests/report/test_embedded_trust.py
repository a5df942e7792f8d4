"""What a page holds to say how much to trust a place."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from branchwise import DDRTree, Preparation, learn_trajectory
from branchwise.pipeline import fit_pipeline
from branchwise.report import embedded_model
from branchwise.report.content import report_state
from branchwise.report.embedded_trust import held_out_columns, trust_state
from branchwise.trajectory import Trajectory

from .trust_cases import PATH, cases


@pytest.fixture(scope="module")
def flowers():
    X = load_iris(as_frame=True).data.rename(index="F{}".format)
    return X, fit_pipeline(X, DDRTree(random_state=0), Preparation(standardize=True), root={})


def test_the_page_is_tested_with_what_python_says():
    for kept, found in zip(json.loads(PATH.read_text("utf-8")), cases(), strict=True):
        rows = (np.array(of["rows"], dtype=float) for of in (kept, found))
        np.testing.assert_allclose(*rows, rtol=1e-12)  # exp differs in the last bit by processor
        np.testing.assert_allclose(kept["branches"], found["branches"], atol=1e-6)
        assert kept["said"].keys() == found["said"].keys()
        for name, values in found["said"].items():
            if isinstance(values[0], str):
                assert kept["said"][name] == values
            else:
                np.testing.assert_allclose(kept["said"][name], values, rtol=1e-6, atol=1e-6)


def points_of(path, state):
    """The places of a tree."""
    ends = path.nodes_[path.edges_[state["edge"]]]
    return ends[:, 0] + state["position"][:, np.newaxis] * (ends[:, 1] - ends[:, 0])


@pytest.mark.parametrize("root", [{"node": "T2"}, {"sample": "F7"}], ids=str)
def test_places_are_the_same_whatever_the_root_of_the_page(flowers, root):
    _, made = flowers
    path = made.trajectory
    one, two = (trust_state(each, made.reference) for each in (path, path.rooted(**root)))
    found = points_of(path.rooted(**root), two)
    np.testing.assert_allclose(found, points_of(path, one), atol=1e-9)
    np.testing.assert_array_equal(one["weights"], two["weights"])


def test_it_tells_misfit_and_p_of_samples_that_were_held_out(flowers):
    X, made = flowers
    columns = {column["name"]: column for column in report_state(made)["columns"]}
    wanted = made.training_places(X)
    for name in ("misfit", "p"):
        found = columns[f"{name} when held out"]
        assert found["group"] == "computed"
        np.testing.assert_allclose(found["values"], wanted[name], rtol=1e-6)


def test_samples_that_were_not_held_out_have_none(flowers):
    _, made = flowers
    one = made.reference
    few = replace(one, rows=one.rows[:10], misfit=one.misfit[:10], n_known=one.n_known[:10])
    misfit, p = held_out_columns(made.trajectory, few)
    for column in (misfit, p):
        assert (~np.isnan(column.values)).sum() == 10
    assert len(report_state(replace(made, reference=few))["model"]["trust"]["scores"]) == 10


def test_without_a_reference_nothing_is_said(flowers):
    X, made = flowers
    kernel = fit_pipeline(X, DDRTree(2, kernel="rbf", random_state=0), Preparation())
    graph = Trajectory(made.trajectory.edges_, made.trajectory.nodes_)
    fitted = Trajectory.from_estimator(DDRTree(random_state=0).fit(X))
    # That of a trajectory is about the rows that it was learned from, not those before.
    preparation = Preparation(standardize=True)
    learned = learn_trajectory(preparation.fit_transform(X), support=0)
    assert learned.reference_ is not None
    assert report_state(learned)["model"]["trust"] is not None
    assert report_state(learned, preparation=preparation)["model"]["trust"] is None
    for result in (kernel, fitted):
        state = report_state(result)
        assert state["model"]["trust"] is None
        assert not [c for c in state["columns"] if "held out" in c["name"]]
    assert "reason" in report_state(graph)["model"]


def test_where_there_is_no_room_for_it_samples_are_placed_without(flowers, monkeypatch):
    _, made = flowers
    monkeypatch.setattr(embedded_model, "MAX_MODEL_BYTES", 600)
    model = report_state(made)["model"]
    assert model["trust"] is None
    assert model["features"] == made.features


def test_it_knows_the_range_of_each_feature_before_the_preparation(flowers):
    X, made = flowers
    found = report_state(made)["model"]["trust"]
    pd.testing.assert_series_equal(pd.Series(found["low"], X.columns), X.min())
    pd.testing.assert_series_equal(pd.Series(found["high"], X.columns), X.max())
