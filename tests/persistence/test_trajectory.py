import numpy as np
import pandas as pd
import pytest

import branchwise
from branchwise.datasets import make_forest, make_tree
from branchwise.persistence.format import ModelFileError, read_state, write_state
from branchwise.persistence.trajectory import trajectory_state
from branchwise.trajectory import Trajectory, learn_trajectory

DATA = make_tree(200, 6, topology="bifurcation", noise=0.05, random_state=0)  # simulated


def saved(path, file):
    path.save(file)
    return branchwise.load(file)


@pytest.fixture(scope="module")
def found():
    return learn_trajectory(DATA.X, support=0)


@pytest.mark.parametrize(
    "root",
    [{}, {"node": "T3"}, {"node": 5}, {"sample": 17}, {"sample": [3, 90]}, {"end": "T2"}],
    ids=["default", "tip", "node", "sample", "samples", "end"],
)
def test_what_was_saved_places_new_samples_as_before(root, found, tmp_path):
    path = found.rooted(**root)
    again = saved(path, tmp_path / "tree.branchwise")
    new = DATA.X + 0.01
    pd.testing.assert_frame_equal(again.place(new), path.place(new))
    pd.testing.assert_frame_equal(again.milestones_, path.milestones_)
    pd.testing.assert_frame_equal(again.branch_table_, path.branch_table_)
    pd.testing.assert_frame_equal(again.branch_probabilities(), path.branch_probabilities())
    np.testing.assert_array_equal(again.pseudotime_, path.pseudotime_)
    assert repr(again) == repr(path)
    if "end" in root:
        np.testing.assert_array_equal(again.progress_, path.progress_)


@pytest.mark.parametrize(
    "model",
    [
        branchwise.SPL(),
        branchwise.SPL(gamma=1.0),
        branchwise.DRTree(),
        branchwise.DDRTree(2, structure="ring"),
    ],
    ids=["spl", "scaled", "drtree", "ring"],
)
def test_every_estimator(model, tmp_path):
    path = Trajectory.from_estimator(model.set_params(random_state=0).fit(DATA.X))
    again = saved(path, tmp_path / "tree.branchwise")
    pd.testing.assert_frame_equal(again.place(DATA.X + 0.01), path.place(DATA.X + 0.01))


def test_a_forest_without_an_estimator(tmp_path):
    forest = make_forest(120, 3, random_state=0)  # simulated
    nodes = forest.milestones
    path = Trajectory(forest.truth.edges, nodes, forest.X, names=[f"s{k}" for k in range(120)])
    again = saved(path, tmp_path / "forest.branchwise")
    np.testing.assert_array_equal(again.pseudotime_, path.pseudotime_)
    pd.testing.assert_frame_equal(again.project(forest.X), path.project(forest.X))
    assert again.names_.tolist() == list(range(120))


def test_names_of_samples_are_not_in_the_file(tmp_path):
    names = [f"patient-{k}" for k in range(200)]
    path = Trajectory.from_estimator(branchwise.DDRTree(2, random_state=0).fit(DATA.X), names=names)
    path.save(tmp_path / "tree.branchwise")
    assert "patient-" not in str(read_state(tmp_path / "tree.branchwise"))


def test_it_can_be_rooted_again_but_not_resampled(found, tmp_path):
    again = saved(found, tmp_path / "tree.branchwise")
    np.testing.assert_array_equal(
        again.rooted(node="T2").pseudotime_, found.rooted(node="T2").pseudotime_
    )
    for path in (again, again.rooted(node="T2"), again.prune()):
        with pytest.raises(ValueError, match="does not remember how it was pruned"):
            path.support(DATA.X, n_resamples=2)


def wrong(**changes):
    return lambda state: {**state, **changes}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (wrong(roots=[["node", 10**9]]), "node 1000000000 of"),
        (wrong(roots=[["sample", -1]]), "sample -1 of 200"),
        (wrong(roots=[["planet", 1]]), "not as branchwise writes it"),
        (wrong(roots=3), "not as branchwise writes it"),
        (wrong(end=10**6), "node 1000000 of"),
        (wrong(edges=np.array([[0, 10**6]])), "names node 1000000"),
        (wrong(edges=np.array([0, 1])), "not as branchwise writes it"),
        (wrong(edges=np.array([[0.5, 1.0]])), "must hold node numbers"),
        (wrong(nodes=np.array([[np.nan, 1.0]])), "nodes"),
        (wrong(points=np.zeros((4, 7))), r"7 column\(s\)"),
        (wrong(estimator={}), "bad.branchwise"),
        (
            lambda state: {k: v for k, v in state.items() if k != "sigma"},
            "not as branchwise writes it",
        ),
    ],
    ids=[
        "node",
        "sample",
        "kind",
        "roots",
        "end",
        "edges",
        "flat",
        "halves",
        "nan",
        "points",
        "estimator",
        "missing",
    ],
)
def test_damaged_states_are_refused(change, says, found, tmp_path):
    write_state(tmp_path / "bad.branchwise", change(trajectory_state(found)))
    with pytest.raises(ModelFileError, match=says):
        branchwise.load(tmp_path / "bad.branchwise")


# Support


@pytest.fixture(scope="module")
def sure(found):
    return found.with_support(found.support(DATA.X, n_resamples=3, random_state=0))


@pytest.mark.parametrize("root", [{}, {"node": "T3"}, {"node": 5}])
def test_support_is_kept(sure, root, tmp_path):
    path = sure.rooted(**root)
    again = saved(path, tmp_path / "tree.branchwise")
    pd.testing.assert_frame_equal(again.branch_table_, path.branch_table_)
    pd.testing.assert_frame_equal(again.support_.milestones_, path.support_.milestones_)
    pd.testing.assert_frame_equal(again.support_.branches_, path.support_.branches_)
    pd.testing.assert_series_equal(again.support_.n_tips_, path.support_.n_tips_)
    assert again.describe() == path.describe()
    assert again.support_.pseudotime_.empty, "times of samples are not in the file"


def test_a_file_without_support_is_read_as_before(sure, tmp_path):
    state = trajectory_state(sure)
    del state["support"]
    write_state(tmp_path / "old.branchwise", state)
    assert branchwise.load(tmp_path / "old.branchwise").support_ is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s["branches"].update(support=np.array([2.0, 0, 0])), "not a part of the res"),
        (lambda s: s["branches"].update(support=np.array([1.0])), "columns of several lengths"),
        (lambda s: s["branches"].update(name=["a", 1, "c"]), "in place of 3 names"),
        (lambda s: s["milestones"].pop("kind"), "not as branchwise writes it"),
        (lambda s: s.update(n_resamples=-1), "numbers of resamples that are not counts"),
        (lambda s: s.update(n_tips=[[3, True]]), "in place of a number of tips"),
        (lambda s: s.update(n_tips=[3]), "not as branchwise writes it"),
    ],
)
def test_a_support_that_cannot_be_is_refused(sure, change, message, tmp_path):
    state = trajectory_state(sure)
    change(state["support"])
    write_state(tmp_path / "bad.branchwise", state)
    with pytest.raises(ModelFileError, match=message):
        branchwise.load(tmp_path / "bad.branchwise")


def test_a_support_that_is_an_array_is_refused(sure, tmp_path):
    state = trajectory_state(sure) | {"support": np.zeros(3)}
    write_state(tmp_path / "bad.branchwise", state)
    with pytest.raises(ModelFileError, match="a support that is not a record, but ndarray"):
        branchwise.load(tmp_path / "bad.branchwise")
