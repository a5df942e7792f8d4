import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import ramify
from ramify import DDRTree, Preparation
from ramify.io import ModelFileError, Table, read_state, write_state
from ramify.workflow import learn_workflow


@pytest.fixture(scope="module")
def frame():
    """Simulated."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) * [5.0, 1.0, 1.0, 1.0]
    frame = pd.DataFrame(X, columns=list("abcd"), index=[f"s{k}" for k in range(60)])
    return frame.assign(age=rng.uniform(20, 80, size=60), site=rng.choice(["x", "y"], size=60))


PREPARED = Preparation(adjust=["age", "site"], standardize=True)


def test_what_is_adjusted_for_is_no_feature(frame):
    made = learn_workflow(frame, DDRTree(random_state=0), PREPARED)
    assert made.features == list("abcd")
    X = PREPARED.fit_transform(frame[list("abcd")], covariates=frame[["age", "site"]])
    expected = DDRTree(random_state=0).fit_transform(np.asarray(X))
    np.testing.assert_allclose(made.transform(frame), expected, rtol=1e-12)


def test_the_file_places_as_the_workflow_does(frame, tmp_path):
    root = {"column": "site", "value": "x"}
    made = learn_workflow(frame, DDRTree(random_state=0), PREPARED, root=root)
    made.save(tmp_path / "model.ramify")
    again = ramify.load(tmp_path / "model.ramify")
    new = frame.iloc[::-1].assign(a=frame["a"] + 0.1)[["site", "d", "c", "b", "a", "age"]]
    pd.testing.assert_frame_equal(again.place(new), made.place(new))
    assert again.is_rooted
    assert again.reading == made.reading


def test_rows_are_placed_one_by_one(frame):
    made = learn_workflow(frame, DDRTree(random_state=0), PREPARED, root={"node": "T1"})
    new = frame.assign(a=frame["a"] * 1.01)
    together = made.place(new)
    alone = pd.concat([made.place(new.iloc[[k]]) for k in range(5)])
    pd.testing.assert_frame_equal(alone, together.iloc[:5])


def test_equal_names_of_new_samples_stay_apart(frame):
    made = learn_workflow(frame, DDRTree(random_state=0), Preparation(adjust=["age"]))
    twice = frame.iloc[[0, 1, 0]]
    places = made.place(twice)
    assert places.index.tolist() == ["s0", "s1", "s0"]
    assert len(places) == 3


def test_sparse_tables(frame):
    counts = np.random.default_rng(1).poisson(1.0, size=(80, 20)).astype(float)
    names = [f"c{k}" for k in range(80)]
    table = Table(
        X=sparse.csr_array(counts),
        features=[f"g{k}" for k in range(20)],
        samples=names,
        annotations=pd.DataFrame(index=names),
        source="simulated counts",
    )
    prepared = Preparation(log1p=True, pca=5)
    made = learn_workflow(table, DDRTree(random_state=0), prepared)
    dense = pd.DataFrame(counts, columns=table.features, index=names)
    expected = learn_workflow(dense, DDRTree(random_state=0), prepared)
    np.testing.assert_allclose(made.transform(table), expected.transform(dense), atol=1e-6)
    some, order = [5, 0, 7], np.arange(20)[::-1]
    shuffled = Table(
        X=table.X[some][:, order],
        features=[table.features[k] for k in order],
        samples=[names[k] for k in some],
        annotations=pd.DataFrame(index=some),
        source="some of them",
    )
    np.testing.assert_array_equal(made.transform(shuffled), made.transform(table).iloc[some])


def test_sparse_tables_after_a_dense_one():
    counts = np.random.default_rng(1).poisson(1.0, size=(80, 20)).astype(float)
    dense = pd.DataFrame(counts, columns=[f"g{k}" for k in range(20)])
    made = learn_workflow(dense, DDRTree(random_state=0), Preparation(log1p=True))
    names = [f"c{k}" for k in range(80)]
    table = Table(
        X=sparse.csr_array(counts),
        features=list(dense.columns),
        samples=names,
        annotations=pd.DataFrame(index=names),
        source="simulated counts",
    )
    np.testing.assert_array_equal(made.transform(table), made.transform(dense))


def test_incomplete_rows_are_dropped_if_asked(frame):
    gaps = frame.copy()
    gaps.loc["s3", "b"] = np.nan
    gaps.loc["s9", "site"] = None
    made = learn_workflow(
        gaps, DDRTree(random_state=0), Preparation(impute="drop", adjust=["site"])
    )
    assert len(made.estimator.embedding_) == 58
    assert "s3" not in made.transform(gaps).index
    gaps["b"] = np.nan
    with pytest.raises(
        ValueError, match="Every row lacks a value: the DataFrame has 60 missing values"
    ):
        made.transform(gaps)


def test_stages_are_told(frame):
    told = []
    learn_workflow(frame, DDRTree(random_state=0), PREPARED, on_stage=told.append)
    assert told == ["prepare", "fit", "trajectory"]


@pytest.mark.parametrize(
    ("root", "says"),
    [
        ({"column": "age", "value": "old"}, "value 'old' in column 'age' must be a number"),
        ({"column": "grade", "value": "3"}, "'grade' is no column of the DataFrame"),
        (
            {"column": "site", "value": "z"},
            "'z' is none of the labels in column 'site'; they are '[xy]', '[xy]'",
        ),
    ],
    ids=["number", "column", "value"],
)
def test_wrong_roots(root, says, frame):
    with pytest.raises(ValueError, match=says):
        learn_workflow(frame, DDRTree(random_state=0), PREPARED, root=root)


def test_errors_in_roots_are_told_before_the_fit(frame):
    told = []
    with pytest.raises(ValueError, match="sample='Q' is no sample; the names are s0"):
        learn_workflow(frame, DDRTree(), PREPARED, root={"sample": "Q"}, on_stage=told.append)
    assert told == ["prepare"]


def test_a_root_among_other_labels_is_warned_of():
    """The label is frequent in the middle of a line of simulated samples, and rare at its ends."""
    rng = np.random.default_rng(0)
    time = np.sort(rng.uniform(size=200))
    X = np.column_stack([10 * time, 0.1 * rng.normal(size=(200, 2))])
    stage = np.where(np.abs(time - 0.5) < 0.2, "I", "II")
    stage[[0, 5]] = "I"
    table = pd.DataFrame(X, columns=list("abc")).assign(stage=stage)
    root = {"column": "stage", "value": "I"}
    with pytest.warns(UserWarning, match=r"of the 10 first samples only \d+% have that label"):
        learn_workflow(table, DDRTree(random_state=0), Preparation(), root=root)
    learn_workflow(table, DDRTree(random_state=0), Preparation(), root={**root, "at": "node"})


def test_a_rare_label_at_the_root_is_no_reason_to_warn():
    rng = np.random.default_rng(0)
    time = np.sort(rng.uniform(size=400))
    X = np.column_stack([10 * time, 0.1 * rng.normal(size=(400, 2))])  # simulated
    table = pd.DataFrame(X, columns=list("abc")).assign(stage=["I"] * 4 + ["II"] * 396)
    made = learn_workflow(
        table,
        DDRTree(random_state=0),
        Preparation(),
        root={"column": "stage", "value": "I"},
    )
    assert made.trajectory.pseudotime_[:4].max() < 0.5


def test_roots_by_truth(frame):
    table = frame.assign(healthy=frame["a"] > frame["a"].median())
    made = learn_workflow(
        table, DDRTree(random_state=0), PREPARED, root={"column": "healthy", "value": "True"}
    )
    early = made.trajectory.pseudotime_ < np.median(made.trajectory.pseudotime_)
    assert table["healthy"][early].mean() > 0.7


def test_arrays_have_no_names(frame):
    with pytest.raises(TypeError, match="must be a pandas DataFrame, whose columns have names"):
        learn_workflow(frame.to_numpy(), DDRTree(), PREPARED)


def test_polars_tables(frame):
    made = learn_workflow(pl.from_pandas(frame), DDRTree(random_state=0), PREPARED)
    expected = learn_workflow(frame, DDRTree(random_state=0), PREPARED)
    new = frame.assign(a=frame["a"] * 1.01)
    np.testing.assert_array_equal(made.transform(pl.from_pandas(new)), expected.transform(new))


def test_lacking_features_are_listed(frame):
    made = learn_workflow(frame, DDRTree(random_state=0), PREPARED)
    with pytest.raises(
        ValueError, match=r"lacks 2 of the 4 features of the model as numbers: b, d"
    ):
        made.transform(frame.drop(columns=["b", "d"]))


@pytest.mark.parametrize(
    "change",
    [
        {"features": ["a"]},
        {"features": 4},
        {"features": [1, 2, 3, 4]},
        {"features": [*"aabb"]},
        {"features": [*"dcba"]},
        {"reading": None},
        {"is_rooted": 1},
        {"preparation": None},
        {"trajectory": []},
    ],
    ids=[
        "fewer",
        "number",
        "no names",
        "repeats",
        "order",
        "reading",
        "rooted",
        "preparation",
        "trajectory",
    ],
)
def test_damaged_files_are_refused(change, frame, tmp_path):
    made = learn_workflow(frame, DDRTree(random_state=0), PREPARED)
    made.save(tmp_path / "model.ramify")
    state = read_state(tmp_path / "model.ramify")
    write_state(tmp_path / "bad.ramify", {**state, **change})
    with pytest.raises(ModelFileError, match="holds a workflow"):
        ramify.load(tmp_path / "bad.ramify")


def test_a_damaged_preparation_is_refused_by_the_name_of_the_file(frame, tmp_path):
    made = learn_workflow(frame, DDRTree(random_state=0), PREPARED)
    made.save(tmp_path / "model.ramify")
    state = read_state(tmp_path / "model.ramify")
    state["preparation"]["steps"]["standardize"]["mean"][0] = np.nan
    write_state(tmp_path / "bad.ramify", state)
    with pytest.raises(ModelFileError, match=r"bad.ramify holds a workflow whose preparation"):
        ramify.load(tmp_path / "bad.ramify")


def test_an_estimator_of_other_features_is_refused(frame, tmp_path):
    made = learn_workflow(frame, DDRTree(random_state=0), Preparation(pca=3))
    made.save(tmp_path / "model.ramify")
    state = read_state(tmp_path / "model.ramify")
    other = learn_workflow(frame, DDRTree(random_state=0), Preparation(pca=2))
    other.save(tmp_path / "other.ramify")
    state["trajectory"] = read_state(tmp_path / "other.ramify")["trajectory"]
    write_state(tmp_path / "bad.ramify", state)
    with pytest.raises(ModelFileError, match="with 5 features, but its parts have others"):
        ramify.load(tmp_path / "bad.ramify")


def test_durations_are_no_features(frame):
    stayed = frame.assign(stay=pd.to_timedelta(np.arange(60), "D"))
    assert learn_workflow(stayed, DDRTree(random_state=0), PREPARED).features == list("abcd")


def test_columns_of_one_name_are_an_error(frame):
    twice = frame.rename(columns={"b": "a"})
    with pytest.raises(ValueError, match="columns of the DataFrame must be unique, but 'a' is rep"):
        learn_workflow(twice, DDRTree(), PREPARED)
