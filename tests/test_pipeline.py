import warnings
from dataclasses import replace

import dask
import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import branchwise
from branchwise import SPL, DDRTree, DRTree, Preparation
from branchwise._messages import for_command_line
from branchwise.data.columns import column
from branchwise.data.table import as_table
from branchwise.datasets import make_tree
from branchwise.io import Table, read_table
from branchwise.io.lazy import Rows
from branchwise.persistence.format import ModelFileError, read_state, write_state
from branchwise.pipeline import features_of, fit_pipeline

# These tables have one wide column, so that it is clear where samples come to lie.
pytestmark = pytest.mark.filterwarnings("ignore:'(a|age)' carries")


@pytest.fixture(scope="module")
def frame():
    """Simulated."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) * [5.0, 1.0, 1.0, 1.0]
    frame = pd.DataFrame(X, columns=list("abcd"), index=[f"s{k}" for k in range(60)])
    return frame.assign(age=rng.uniform(20, 80, size=60), site=rng.choice(["x", "y"], size=60))


PREPARED = Preparation(adjust=["age", "site"], standardize=True)


def test_what_is_adjusted_for_is_no_feature(frame):
    made = fit_pipeline(frame, DDRTree(2, random_state=0), PREPARED)
    assert made.features == list("abcd")
    X = PREPARED.fit_transform(frame[list("abcd")], covariates=frame[["age", "site"]])
    expected = DDRTree(2, random_state=0).fit_transform(np.asarray(X))
    np.testing.assert_allclose(made.transform(frame), expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:Time starts where")  # labels by lot
def test_the_file_places_as_the_pipeline_does(frame, tmp_path):
    root = {"column": "site", "value": "x"}
    made = fit_pipeline(frame, DDRTree(2, random_state=0), PREPARED, root=root)
    made.save(tmp_path / "model.branchwise")
    again = branchwise.load(tmp_path / "model.branchwise")
    new = frame.iloc[::-1].assign(a=frame["a"] + 0.1)[["site", "d", "c", "b", "a", "age"]]
    pd.testing.assert_frame_equal(again.place(new), made.place(new))
    assert again.is_rooted
    assert again.reading == made.reading


def test_rows_are_placed_one_by_one(frame):
    made = fit_pipeline(frame, DDRTree(2, random_state=0), PREPARED, root={"node": "T1"})
    new = frame.assign(a=frame["a"] * 1.01)
    together = made.place(new)
    alone = pd.concat([made.place(new.iloc[[k]]) for k in range(5)])
    pd.testing.assert_frame_equal(alone, together.iloc[:5])


def test_equal_names_of_new_samples_stay_apart(frame):
    made = fit_pipeline(frame, DDRTree(2, random_state=0), Preparation(adjust=["age"]))
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
    made = fit_pipeline(table, DDRTree(2, random_state=0), prepared)
    dense = pd.DataFrame(counts, columns=table.features, index=names)
    expected = fit_pipeline(dense, DDRTree(2, random_state=0), prepared)
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
    made = fit_pipeline(dense, DDRTree(2, random_state=0), Preparation(log1p=True))
    names = [f"c{k}" for k in range(80)]
    table = Table(
        X=sparse.csr_array(counts),
        features=list(dense.columns),
        samples=names,
        annotations=pd.DataFrame(index=names),
        source="simulated counts",
    )
    np.testing.assert_array_equal(made.transform(table), made.transform(dense))


@pytest.mark.parametrize("fitted_to", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("model", [DDRTree(2, random_state=0), DRTree(), SPL(gamma=1.0)], ids=repr)
def test_scaled_samples_have_one_place_however_they_are_stored(fitted_to, model):
    """What was learned from a sparse matrix places the rows of a CSV file, and the reverse."""
    rng = np.random.default_rng(1)
    # No whole numbers, of which neighbours may be equally near.
    values = rng.gamma(2.0, size=(80, 6)) * (rng.random((80, 6)) < 0.8)
    names = [f"c{k}" for k in range(80)]

    def table(X):
        about = pd.DataFrame(index=names)
        return Table(X, [f"g{k}" for k in range(6)], names, about, "simulated values")

    made = fit_pipeline(table(fitted_to(values)), model, Preparation(standardize=True))
    assert np.ptp(made.embedding, axis=0).min() > 0.1
    for rows in (values, values + 0.5):
        dense, scarce = (
            made.transform(table(kind(rows))) for kind in (np.asarray, sparse.csr_array)
        )
        np.testing.assert_allclose(dense, scarce, rtol=0, atol=1e-9)


def test_incomplete_rows_are_dropped_if_asked(frame):
    gaps = frame.copy()
    gaps.loc["s3", "b"] = np.nan
    gaps.loc["s9", "site"] = None
    made = fit_pipeline(
        gaps, DDRTree(2, random_state=0), Preparation(impute="drop", adjust=["site"])
    )
    assert len(made.estimator.embedding_) == 58
    with pytest.raises(ValueError, match="1 missing value in 1 column: 'site' 1 of 60; the fit"):
        made.transform(gaps)
    known = gaps.drop(index="s9")  # new rows with gaps in what is measured are placed
    assert made.transform(known).loc["s3"].notna().all()
    gaps["b"] = np.nan
    with pytest.raises(
        ValueError, match="Every row lacks a value: the DataFrame has 60 missing values"
    ):
        fit_pipeline(gaps, preparation=Preparation(impute="drop"))


# Encoded columns


@pytest.fixture(scope="module")
def clinic(frame):
    """Simulated: with a category, one of numbers, an ordered one, and dates."""
    rng = np.random.default_rng(1)
    seen = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, 60), "D")
    return frame.assign(
        group=rng.integers(1, 4, 60),
        grade=rng.choice(["low", "high"], 60),
        seen=seen.strftime("%Y-%m-%d"),
        born=pd.Timestamp("1960-01-01") + pd.to_timedelta(rng.integers(0, 9000, 60), "D"),
    )


CODED = Preparation(
    categorical=["gr?up", "site"],
    ordinal={"grade": ["low", "high"]},
    dates=["seen"],
    ages={"years": ("born", "seen")},
    adjust=["age"],
    standardize=True,
)


def test_what_is_encoded_is_a_feature_wherever_the_table_keeps_it(clinic, tmp_path):
    made = fit_pipeline(clinic, DDRTree(2, random_state=0), CODED, root={"node": "T1"})
    assert made.features == [*"abcd", "group", "site", "grade", "seen", "born"]
    assert made.numbers == list("abcd")
    X = clone(CODED).fit_transform(clinic[made.features], covariates=clinic)
    expected = DDRTree(2, random_state=0).fit_transform(X)
    np.testing.assert_allclose(made.transform(clinic), expected, rtol=1e-9)
    made.save(tmp_path / "model.branchwise")
    again = branchwise.load(tmp_path / "model.branchwise")
    new = clinic.iloc[::-1, ::-1].assign(a=clinic["a"] + 0.1, note="x")
    pd.testing.assert_frame_equal(again.place(new), made.place(new))
    assert again.numbers == made.numbers
    clinic.to_csv(tmp_path / "clinic.csv", index_label="id")
    encoded = [*made.features[4:]]
    table = read_table(tmp_path / "clinic.csv", annotate=encoded, exclude=["age"])
    pd.testing.assert_frame_equal(again.place(table), made.place(clinic), rtol=1e-9)


def test_categories_alone_are_a_table(clinic, tmp_path):
    preparation = Preparation(categorical=["site", "grade", "group"])
    table = clinic[["site", "grade", "group"]]
    made = fit_pipeline(table, DDRTree(2, random_state=0), preparation)
    assert made.numbers == []
    table.to_csv(tmp_path / "words.csv", index_label="id")
    read = read_table(tmp_path / "words.csv", annotate=["site", "grade", "group"])
    pd.testing.assert_frame_equal(made.place(read), made.place(table))


def test_rows_that_lack_a_category_are_dropped_if_asked(clinic):
    gaps = clinic.copy()
    gaps.loc["s3", "b"] = np.nan
    gaps.loc["s5", "grade"] = " "
    gaps.loc["s7", "born"] = None
    gaps.loc["s9", "age"] = None
    dropping = clone(CODED).set_params(impute="drop")
    made = fit_pipeline(gaps, DDRTree(2, random_state=0), dropping)
    lost = {"s3", "s5", "s7", "s9"}
    assert set(clinic.index) - set(made.trajectory.names_) == lost
    # New rows with gaps are placed; what is adjusted for has to be known.
    placed = made.place(gaps.assign(age=clinic["age"]))
    assert placed.index.tolist() == clinic.index.tolist()
    assert placed.loc[["s3", "s5", "s7", "s9"], "missing"].tolist() == [1, 1, 1, 0]
    assert placed["distance"].notna().all()
    with pytest.raises(ValueError, match="'age' 1 of 60; the fit adjusts for these"):
        made.place(gaps)
    message = (
        r"Every row lacks a value: the DataFrame has 64 missing values in 5 columns: 'site' 60"
    )
    with pytest.raises(ValueError, match=message):
        fit_pipeline(gaps.assign(site=None), DDRTree(2, random_state=0), dropping)


def test_a_column_is_not_encoded_and_adjusted_for(clinic):
    both = clone(CODED).set_params(adjust=["site"])
    with pytest.raises(
        ValueError, match="'site' cannot be adjusted for and be a feature; leave it"
    ):
        fit_pipeline(clinic, DDRTree(2, random_state=0), both)


def test_encoding_needs_a_table_in_memory(clinic):
    X = sparse.csr_array(np.abs(clinic[list("abcd")].to_numpy()))
    samples = clinic.index.tolist()
    table = Table(X, list("abcd"), samples, clinic[["site"]], "cells.mtx")
    coded = Preparation(categorical=["site"])
    with pytest.raises(ValueError, match="holds a sparse matrix; leave categorical"):
        fit_pipeline(table, DDRTree(2), coded)
    lazy = replace(table, X=da.from_array(X.toarray(), chunks=(20, 4)))
    with pytest.raises(ValueError, match="is read chunk by chunk; leave categorical"):
        fit_pipeline(lazy, DDRTree(2), coded)
    made = fit_pipeline(clinic[["a", "b", "c", "d", "site"]], DDRTree(2, random_state=0), coded)
    with pytest.raises(
        ValueError, match=r"cells.mtx is read chunk by chunk; read it into memory \("
    ):
        made.transform(lazy)


def test_stages_are_told(frame):
    told = []
    fit_pipeline(frame, DDRTree(2, random_state=0), PREPARED, on_stage=told.append)
    assert told == ["prepare", "fit", "trajectory", "trust"]


@pytest.mark.parametrize(
    ("root", "says"),
    [
        ({"column": "age", "value": "old"}, "value 'old' in column 'age' must be a number"),
        ({"column": "grade", "value": "3"}, "root: the DataFrame has no column 'grade'"),
        (
            {"column": "site", "value": "z"},
            "'z' is none of the labels in column 'site'; they are '[xy]', '[xy]'",
        ),
    ],
    ids=["number", "column", "value"],
)
def test_wrong_roots(root, says, frame):
    with pytest.raises(ValueError, match=says):
        fit_pipeline(frame, DDRTree(2, random_state=0), PREPARED, root=root)


@pytest.mark.parametrize(
    ("root", "meant"),
    [
        ("site=x", "{'column': 'site', 'value': 'x'}"),
        ({"site": "x"}, "{'column': 'site', 'value': 'x'}"),
        ({"milestone": "T1"}, "{'node': 'T1'}"),
        ("T1", "{'node': 'T1'}"),
        (3, "{'node': 3}"),
        ({"column": "site"}, None),
    ],
)
def test_roots_that_are_written_otherwise_are_told_before_the_fit(root, meant, frame):
    told = []
    says = rf"must be 'auto', .*of yours\){f'; do you mean {meant}' if meant else '.$'}"
    with pytest.raises(ValueError, match=says):
        fit_pipeline(frame, DDRTree(2), PREPARED, root=root, on_stage=told.append)
    assert told == ["prepare"]


@pytest.mark.parametrize("root", ["auto", {}])
def test_time_starts_at_the_first_tip_if_no_other_root_is_chosen(root, frame):
    made = fit_pipeline(frame, DDRTree(2, random_state=0), PREPARED, root=root)
    assert made.is_rooted
    assert repr(made).endswith("rooted at T1>")


@pytest.mark.parametrize("preparation", [PREPARED, Preparation(categorical="site")])
def test_of_no_rows_there_are_no_places(preparation, frame):
    made = fit_pipeline(frame, DDRTree(2, random_state=0), preparation, root="auto")
    expected = made.place(frame)
    for empty in (frame.iloc[:0], pd.DataFrame(columns=frame.columns)):
        places = made.place(empty)
        assert len(places) == 0
        pd.testing.assert_series_equal(places.dtypes, expected.dtypes)
        assert made.transform(empty).shape == (0, 2)


@pytest.mark.parametrize(
    ("new", "says"),
    [
        (lambda frame: frame.iloc[0], r"data is a Series .*such as new\.iloc\[\[0\]\] for"),
        (lambda frame: frame.iloc[0].to_dict(), r"a dict .*pass pandas\.DataFrame\(\[data\]\)"),
        (lambda frame: frame.to_dict("list"), r"a dict .*pass pandas\.DataFrame\(data\)"),
        (lambda frame: "new.csv", r"a path .*pass branchwise\.io\.read_table\('new\.csv'\)"),
        (lambda frame: frame.to_numpy(), "an array .*columns=names"),
    ],
    ids=["series", "row", "lists", "path", "array"],
)
def test_what_is_not_a_table_is_told_with_a_way_to_one(new, says, frame):
    made = fit_pipeline(frame, DDRTree(2, random_state=0), PREPARED)
    with pytest.raises(TypeError, match=says):
        made.place(new(frame))


def test_errors_in_roots_are_told_before_the_fit(frame):
    told = []
    with pytest.raises(ValueError, match="sample='Q' is not a sample; the names are s0"):
        fit_pipeline(frame, DDRTree(2), PREPARED, root={"sample": "Q"}, on_stage=told.append)
    assert told == ["prepare"]


def test_a_root_is_an_inner_node_where_the_label_is_not_at_a_tip():
    """The label is frequent in the middle of a line of simulated samples, and rare at its ends."""
    rng = np.random.default_rng(0)
    time = np.sort(rng.uniform(size=200))
    X = np.column_stack([10 * time, 0.1 * rng.normal(size=(200, 2))])
    stage = np.where(np.abs(time - 0.5) < 0.2, "I", "II")
    stage[[0, 5]] = "I"
    table = pd.DataFrame(X, columns=list("abc")).assign(stage=stage)
    root = {"column": "stage", "value": "I"}
    made = fit_pipeline(table, DDRTree(2, random_state=0), Preparation(), root=root)
    assert abs(time[made.trajectory.pseudotime_.argmin()] - 0.5) < 0.1
    tip = {**root, "at": "tip"}
    with pytest.warns(UserWarning, match=r"first samples only \d+ have that label; look at the"):
        fit_pipeline(table, DDRTree(2, random_state=0), Preparation(), root=tip)
    table["stage"] = np.where(np.abs(time - 0.5) < 0.2, "I", "II")
    with pytest.raises(ValueError, match=r"No tip has a sample labelled 'I' .*pass at='auto'"):
        fit_pipeline(table, DDRTree(2, random_state=0), Preparation(), root=tip)


def test_a_rare_label_at_the_root_is_no_reason_to_warn():
    rng = np.random.default_rng(0)
    time = np.sort(rng.uniform(size=400))
    X = np.column_stack([10 * time, 0.1 * rng.normal(size=(400, 2))])  # simulated
    table = pd.DataFrame(X, columns=list("abc")).assign(stage=["I"] * 4 + ["II"] * 396)
    made = fit_pipeline(
        table,
        DDRTree(2, random_state=0),
        Preparation(),
        root={"column": "stage", "value": "I"},
    )
    assert made.trajectory.pseudotime_[:4].max() < 0.5


def test_roots_by_truth(frame):
    table = frame.assign(healthy=frame["a"] > frame["a"].median())
    made = fit_pipeline(
        table, DDRTree(2, random_state=0), PREPARED, root={"column": "healthy", "value": "True"}
    )
    early = made.trajectory.pseudotime_ < np.median(made.trajectory.pseudotime_)
    assert table["healthy"][early].mean() > 0.7


def test_missing_values_are_told_with_all_ways_to_fill_them(frame):
    table = frame.copy()
    table.iloc[3, 1] = np.nan
    says = (
        r"1 missing value in 1 column: 'b' 1 of 60; .*'model' or impute='median' or impute='drop'"
    )
    with pytest.raises(ValueError, match=says):
        fit_pipeline(table, DDRTree(2), PREPARED)
    assert fit_pipeline(table, DDRTree(2), PREPARED, exclude="b").features == ["a", "c", "d"]


def test_sparse_tables_with_categories_are_told_a_way_in_the_words_of_who_asks(frame):
    table = as_table(frame)
    table = replace(table, X=sparse.csr_array(table.X))
    asked = Preparation(categorical="site")
    with pytest.raises(ValueError, match=r"leave categorical, .* out, or pass a DataFrame"):
        features_of(table, asked, [])
    with (
        for_command_line(),
        pytest.raises(ValueError, match=r"leave --categorical, .* out, or give it as CSV or Parq"),
    ):
        features_of(table, asked, [])


def test_arrays_have_no_names(frame):
    with pytest.raises(TypeError, match="must be a pandas DataFrame, whose columns have names"):
        fit_pipeline(frame.to_numpy(), DDRTree(2), PREPARED)


def test_polars_tables(frame):
    made = fit_pipeline(pl.from_pandas(frame), DDRTree(2, random_state=0), PREPARED)
    expected = fit_pipeline(frame, DDRTree(2, random_state=0), PREPARED)
    new = frame.assign(a=frame["a"] * 1.01)
    np.testing.assert_array_equal(made.transform(pl.from_pandas(new)), expected.transform(new))


def test_a_column_that_is_called_alike_is_named(frame):
    made = fit_pipeline(frame, DDRTree(2, random_state=0), PREPARED)
    with pytest.warns(UserWarning, match=r"Is 'b' the column 'B '\? Then give it that name\."):
        made.place(frame.rename(columns={"b": "B "}))


@pytest.fixture(scope="module")
def dated(frame):
    """Simulated: the frame with two dates."""
    days = pd.Timestamp("1960-01-01") + pd.to_timedelta(np.arange(len(frame)) * 97, unit="D")
    later = pd.Timestamp("2024-05-01") + pd.to_timedelta(np.arange(len(frame)) * 13 % 90, unit="D")
    return frame.assign(born=days, seen=later)


YEARS = {"years": ("born", "seen")}


def test_an_age_of_which_a_date_is_not_there_counts_as_one_feature(dated):
    preparation = Preparation(standardize=True, ages=YEARS)
    made = fit_pipeline(dated, DDRTree(2, random_state=0), preparation)
    assert (len(made.features), made.n_features) == (7, 6)
    assert repr(made).startswith("<Pipeline: DDRTree, 6 features, ")
    said = r"no values of 1 of the 6 features: 'years' \(from 'born' and 'seen'\); its samples"
    without = [dated.drop(columns="born"), dated.assign(born=None)]
    for new in [*without, without[0].iloc[:1], dated.drop(columns=["born", "seen"])]:
        with pytest.warns(UserWarning, match=said):
            places = made.place(new)
        assert (places["missing"] == 1).all()


def test_a_date_that_is_a_feature_and_makes_an_age_counts_twice(dated):
    preparation = Preparation(standardize=True, dates=["seen"], ages=YEARS)
    made = fit_pipeline(dated, DDRTree(2, random_state=0), preparation)
    assert made.n_features == 7
    said = r"no values of 2 of the 7 features: 'seen', 'years' \(from 'born' and 'seen'\);"
    new = dated.drop(columns="seen")
    for table in [new, new.iloc[:1], dated.assign(seen=None)]:
        with pytest.warns(UserWarning, match=said):
            places = made.place(table)
        assert (places["missing"] == 2).all()


def test_an_age_that_is_there_ready_made_is_told_to_be_computed(dated):
    preparation = Preparation(standardize=True, ages=YEARS)
    made = fit_pipeline(dated, DDRTree(2, random_state=0), preparation)
    said = "The age 'years' is computed from 'born' and 'seen', and the column 'Years' is not used."
    with pytest.warns(UserWarning, match=said):
        made.place(dated.drop(columns=["born", "seen"]).assign(Years=50.0))
    with pytest.warns(UserWarning, match="Is 'seen' the column 'Seen'") as told:
        made.place(dated.rename(columns={"seen": "Seen"}))
    assert "computed" not in str(told[0].message)


def test_an_age_of_absent_dates_is_filled_by_the_tree_and_not_by_a_median(dated):
    """As any other feature whose column the table does not have."""
    preparation = Preparation(impute="median", standardize=True, ages=YEARS)
    made = fit_pipeline(dated, preparation=preparation)
    with pytest.warns(UserWarning, match="1 of the 6 features: 'years'"):
        empty = made.place(dated.assign(born=None))
    with pytest.warns(UserWarning, match="1 of the 6 features: 'years'"):
        absent = made.place(dated.drop(columns="born"))
    assert (absent["projection0"] != empty["projection0"]).any()


def test_what_is_left_out_is_no_feature_as_well(frame):
    table = frame.assign(sex=np.where(frame["a"] > 0, "f", "m"))
    with pytest.raises(ValueError, match=r"exclude leaves out .*: 'sex' \(categorical\); name it"):
        fit_pipeline(table, preparation=Preparation(categorical=["sex"]), exclude=["sex"])


def test_a_table_without_any_value_is_placed_nowhere(frame):
    made = fit_pipeline(frame, DDRTree(2, random_state=0), PREPARED)
    with pytest.warns(UserWarning, match=r"no value of any of the 4 features; nothing is placed"):
        places = made.place(frame.assign(**dict.fromkeys("abcd", np.nan)))
    assert places["distance"].isna().all()


def test_one_row_without_any_value_is_placed_nowhere(frame):
    made = fit_pipeline(frame, DDRTree(2, random_state=0), PREPARED)
    one = frame[:1].assign(a=np.nan, b=np.nan, c=np.nan).drop(columns="d")
    with pytest.warns(UserWarning, match=r"no value of any of the 4 features; nothing is placed"):
        assert made.place(one)["distance"].isna().all()


def test_a_table_of_other_columns_lacks_every_feature(dated):
    preparation = Preparation(standardize=True, dates=["seen"], ages=YEARS)
    made = fit_pipeline(dated, DDRTree(2, random_state=0), preparation)
    other = pd.DataFrame({"Seen": ["2024-01-01"], "site": ["x"]})
    said = r"lacks 7 of the 7 features of the model: .* 'years' \(from 'born' and 'seen'\); add"
    with pytest.raises(ValueError, match=said) as told:
        made.place(other)
    assert str(told.value).endswith("Is 'seen' the column 'Seen'? Then give it that name.")


def test_a_root_that_is_a_sample_or_a_column_is_told(frame):
    table = frame.set_axis([f"P{k:03}" for k in range(len(frame))])
    for node, hint in (
        ("P003", r"It is a sample: root={'sample': 'P003'}\."),
        ("b", r"It is a column: name a label in it, root={'column': 'b', 'value': …}\."),
        ("T99", r"milestones T1, [^.]*\.$"),
    ):
        with pytest.raises(ValueError, match=f"node='{node}' is not a node of the graph.*{hint}"):
            fit_pipeline(table, DDRTree(2, random_state=0), PREPARED, root={"node": node})


def test_lacking_features_are_listed(frame):
    made = fit_pipeline(frame, DDRTree(2, random_state=0), PREPARED)
    said = "has no values of 2 of the 4 features: 'b', 'd'; its samples are placed by the others"
    with pytest.warns(UserWarning, match=said):
        places = made.place(frame.drop(columns=["b", "d"]))
    assert (places["missing"] == 2).all()
    with pytest.raises(ValueError, match=r"lacks 4 of the 4 features of the model: 'a', 'b'"):
        made.transform(frame.drop(columns=list("abcd")))
    with pytest.raises(
        ValueError, match=r"in 1 column \('b'\): 60 of 60 cells, the first 'high' in"
    ):
        made.transform(frame.assign(b="high"))


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
    made = fit_pipeline(frame, DDRTree(2, random_state=0), PREPARED)
    made.save(tmp_path / "model.branchwise")
    state = read_state(tmp_path / "model.branchwise")
    write_state(tmp_path / "bad.branchwise", {**state, **change})
    with pytest.raises(ModelFileError, match="holds a pipeline"):
        branchwise.load(tmp_path / "bad.branchwise")


def test_a_damaged_preparation_is_refused_by_the_name_of_the_file(frame, tmp_path):
    made = fit_pipeline(frame, DDRTree(2, random_state=0), PREPARED)
    made.save(tmp_path / "model.branchwise")
    state = read_state(tmp_path / "model.branchwise")
    state["preparation"]["steps"]["standardize"]["mean"][0] = np.nan
    write_state(tmp_path / "bad.branchwise", state)
    with pytest.raises(ModelFileError, match=r"bad.branchwise holds a pipeline whose preparation"):
        branchwise.load(tmp_path / "bad.branchwise")


def test_an_estimator_of_other_features_is_refused(frame, tmp_path):
    made = fit_pipeline(frame, DDRTree(2, random_state=0), Preparation(pca=3))
    made.save(tmp_path / "model.branchwise")
    state = read_state(tmp_path / "model.branchwise")
    other = fit_pipeline(frame, DDRTree(2, random_state=0), Preparation(pca=2))
    other.save(tmp_path / "other.branchwise")
    state["trajectory"] = read_state(tmp_path / "other.branchwise")["trajectory"]
    write_state(tmp_path / "bad.branchwise", state)
    with pytest.raises(ModelFileError, match="with 5 features, but its parts have others"):
        branchwise.load(tmp_path / "bad.branchwise")


def test_durations_are_no_features(frame):
    stayed = frame.assign(stay=pd.to_timedelta(np.arange(60), "D"))
    assert fit_pipeline(stayed, DDRTree(2, random_state=0), PREPARED).features == list("abcd")


def test_columns_of_one_name_are_an_error(frame):
    twice = frame.rename(columns={"b": "a"})
    with pytest.raises(ValueError, match="columns of the DataFrame must be unique, but 'a' is rep"):
        fit_pipeline(twice, DDRTree(2), PREPARED)


# Tables that stay in their files


@pytest.fixture
def lazy_chunks():
    """Chunks of eight rows of four features."""
    with dask.config.set({"array.chunk-size": 8 * 4 * 8, "scheduler": "threads"}):
        yield


@pytest.fixture
def parquet(frame, tmp_path):
    path = tmp_path / "table.parquet"
    frame.to_parquet(path, row_group_size=8)
    return path


ROOT = {"column": "site", "value": "x"}


@pytest.mark.filterwarnings("ignore:Time starts where")
@pytest.mark.parametrize(
    "preparation",
    [Preparation(), Preparation(standardize=True), Preparation(standardize=True, pca=3)],
    ids=["plain", "standardized", "pca"],
)
def test_lazy_table_is_fitted_as_the_one_in_memory(parquet, preparation, lazy_chunks, tmp_path):
    model = DDRTree(2, n_centers=12, random_state=0)
    whole, lazy = read_table(parquet), read_table(parquet, lazy=True)
    assert len(lazy.X.chunks[0]) > 5
    expected = fit_pipeline(whole, model, preparation, root=ROOT)
    made = fit_pipeline(lazy, model, preparation, root=ROOT)
    assert isinstance(made.estimator.embedding_, np.ndarray)
    assert isinstance(made.estimator.labels_, np.ndarray)
    np.testing.assert_allclose(
        made.estimator.embedding_, expected.estimator.embedding_, rtol=0, atol=1e-6
    )
    pd.testing.assert_frame_equal(
        made.trajectory.samples_, expected.trajectory.samples_, rtol=0, atol=1e-6
    )
    made.save(tmp_path / "lazy.branchwise")
    again = branchwise.load(tmp_path / "lazy.branchwise")
    pd.testing.assert_frame_equal(again.place(whole), made.place(whole))


@pytest.mark.filterwarnings("ignore:Time starts where")
def test_new_rows_of_a_lazy_table_are_placed_as_those_in_memory(parquet, frame, lazy_chunks):
    """Also by a preparation that only a table in memory can teach."""
    for preparation in (PREPARED, Preparation(impute="median"), Preparation(impute="drop")):
        made = fit_pipeline(frame, DDRTree(2, random_state=0), preparation, root=ROOT)
        options = {"features": made.features, "exclude": list(preparation.adjust or ())}
        whole, lazy = (read_table(parquet, lazy=lazy, **options) for lazy in (False, True))
        pd.testing.assert_frame_equal(made.place(lazy), made.place(whole))
        parts = list(made.place_chunks(lazy))
        assert [len(part) for part in parts] == list(lazy.X.chunks[0])
        reversed_ = read_table(parquet, lazy=True, **options)
        order = np.arange(len(made.features))[::-1]
        reversed_ = replace(
            reversed_, X=reversed_.X[:, order], features=[made.features[j] for j in order]
        )
        pd.testing.assert_frame_equal(made.place(reversed_), made.place(whole))


def test_rows_of_a_lazy_table_that_miss_a_value_are_placed(frame, tmp_path, lazy_chunks):
    made = fit_pipeline(frame, DDRTree(2, random_state=0), Preparation())
    holes = frame.copy()
    holes.iloc[[3, 20], 1] = np.nan
    holes.iloc[24:32, 0] = np.nan  # all of a chunk
    holes.to_parquet(tmp_path / "holes.parquet", row_group_size=8)
    table = read_table(tmp_path / "holes.parquet", lazy=True, features=made.features)
    assert table.X.chunks[0][3] == 8
    pd.testing.assert_frame_equal(made.place(table), made.place(holes), rtol=1e-9)
    assert [len(part) for part in made.place_chunks(table)] == [8, 8, 8, 8, 8, 8, 8, 4]


@pytest.mark.parametrize(
    ("steps", "value", "message"),
    [
        ({}, np.inf, r"has inf in 'b' of sample 's20', row 20 \(row 4 of chunk 2\), but every"),
        ({"impute": "drop"}, -np.inf, r"has -inf in 'b' of sample 's20', row 20"),
        ({"log1p": True}, -2, r"X holds -2 in 'b', row 20 \(row 4 of chunk 2\), but log1p"),
        ({"log1p": True, "impute": "median"}, -2, r"X holds -2 in 'b', row 20"),
    ],
)
@pytest.mark.parametrize("as_sparse", [False, True])
def test_values_that_cannot_be_placed_are_told_by_row_and_feature(
    frame, tmp_path, lazy_chunks, steps, value, message, as_sparse
):
    features = frame[list("abcd")].abs()
    made = fit_pipeline(features, DDRTree(2, random_state=0), Preparation(**steps))
    features.iloc[20, 1] = value
    if "impute" in steps:
        features.iloc[2, 3] = np.nan
    features.to_parquet(tmp_path / "new.parquet", row_group_size=8)
    table = read_table(tmp_path / "new.parquet", lazy=True)
    if as_sparse:
        table = replace(table, X=table.X.map_blocks(sparse.csr_array))
    with pytest.raises(ValueError, match=message):
        made.transform(table)


def test_names_of_columns_cause_no_warning_whichever_of_both_tables_has_them(
    parquet, lazy_chunks, monkeypatch
):
    """Not even one that is ignored, as threads share what ignores it."""
    whole, lazy = read_table(parquet), read_table(parquet, lazy=True)
    sparse_ = replace(whole, X=sparse.csr_array(whole.X))
    models = [
        fit_pipeline(table, DDRTree(2, n_centers=12, random_state=0), Preparation())
        for table in (whole, lazy, sparse_)
    ]
    caused = []
    monkeypatch.setattr(warnings, "warn", lambda *given, **options: caused.append(given))
    for made in models:
        for table in (whole, lazy, sparse_):
            made.transform(table)
    assert not caused


def test_what_only_a_table_in_memory_can_teach(parquet, lazy_chunks):
    lazy = read_table(parquet, lazy=True)
    for preparation in (Preparation(impute="drop"), Preparation(rank_normalize=True)):
        with pytest.raises(ValueError, match="is for tables in memory, but X is a Dask array"):
            fit_pipeline(lazy, DDRTree(2, random_state=0), preparation)


def test_columns_of_a_lazy_table(parquet, frame, lazy_chunks):
    lazy = read_table(parquet, lazy=True)
    np.testing.assert_array_equal(column(lazy, "age"), frame["age"])
    assert column(lazy, "site").tolist() == frame["site"].tolist()


def test_prepared_rows_are_read_once_for_all_iterations_if_they_fit(
    parquet, lazy_chunks, monkeypatch
):
    read = []

    def spy(self, block, call=Rows.__call__):
        read.append(block[0, 0][0])
        return call(self, block)

    monkeypatch.setattr(Rows, "__call__", spy)
    model = DDRTree(2, n_centers=12, max_iter=3, tol=0.0, random_state=0)
    counts = []
    for times in (4, 1e18):
        monkeypatch.setattr("branchwise.pipeline.HELD", times)
        read.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fit_pipeline(read_table(parquet, lazy=True), model, Preparation())
        counts.append(read.count(0))
    # Once by the preparation, and once for the fit.
    assert counts[0] == 2
    assert counts[1] > 5


def test_fit_goes_on_from_a_checkpoint(parquet, lazy_chunks, tmp_path):
    lazy = read_table(parquet, lazy=True)
    model = DDRTree(2, n_centers=12, random_state=0, checkpoint=tmp_path / "fit.branchwise")
    whole = fit_pipeline(lazy, model, Preparation())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit_pipeline(lazy, clone(model).set_params(max_iter=2), Preparation())
    seen = []
    model.set_params(callback=lambda progress: seen.append(progress.iteration))
    made = fit_pipeline(lazy, model, Preparation(), resume=True)
    assert min(seen) > 2
    np.testing.assert_allclose(made.estimator.embedding_, whole.estimator.embedding_, atol=1e-9)


# Advice


def warned(frame, preparation):
    """What a fit warns of."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fit_pipeline(frame, DDRTree(n_components=2), preparation)
    return [str(each.message) for each in said]


@pytest.fixture(scope="module")
def mixed():
    """Simulated patients on a tree in one unit, with a group, a date and a wide column."""
    data = make_tree(120, 6, topology="bifurcation", noise=0.05, random_state=0)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(data.X, columns=[f"lab{k}" for k in range(6)])
    frame["sex"] = rng.choice(["f", "m"], size=120)
    frame["dead"] = rng.choice(["yes", "no"], size=120)
    frame["seen"] = pd.date_range("2020-01-01", periods=120)
    frame["wbc"] = rng.normal(7000, 500, size=120)
    return frame


def test_categories_are_not_units(mixed):
    plain = mixed.drop(columns=["wbc", "dead", "seen"])
    assert warned(plain, Preparation(categorical=["sex"])) == []
    said = warned(plain.assign(wbc=mixed["wbc"]), Preparation(categorical=["sex"]))
    assert len(said) == 1
    assert said[0].startswith("'wbc' carries nearly all of the variance of all 7 numeric features")


def test_dates_have_a_unit_and_axes_do_not_hide_it(mixed):
    frame = mixed.drop(columns=["wbc", "dead", "sex"])
    (said,) = warned(frame, Preparation(dates=["seen"], pca=3))
    assert said.startswith("'seen' carries")
    assert warned(frame, Preparation(dates=["seen"], pca=3, standardize=True)) == []


def test_an_outcome_is_one_as_a_category_too(mixed):
    frame = mixed.drop(columns=["wbc", "seen", "sex"])
    (said,) = warned(frame, Preparation(categorical=["dead"]))
    assert said.startswith("'dead' looks like an outcome")


@pytest.mark.parametrize("pca", [None, 3])
def test_gaps_that_a_tree_fills_do_not_disturb_advice(pca, mixed):
    frame = mixed.drop(columns=["dead", "seen"]).mask(
        np.random.default_rng(0).random((120, 8)) < 0.05
    )
    (said,) = warned(frame, Preparation(categorical=["sex"], impute="model", pca=pca))
    assert said.startswith("'wbc' carries nearly all")
    ready = Preparation(categorical=["sex"], impute="model", pca=pca, standardize=True)
    assert warned(frame, ready) == []


# Names of samples, and columns that a table lacks


def test_names_of_samples_may_be_repeated_where_categories_are_encoded(clinic):
    twice = pd.concat([clinic, clinic[:5]])
    preparation = Preparation(categorical=["site"], impute="median")
    made = fit_pipeline(twice, DDRTree(2, random_state=0), preparation)
    plain = fit_pipeline(twice.reset_index(drop=True), DDRTree(2, random_state=0), preparation)
    np.testing.assert_array_equal(made.embedding, plain.embedding)


def test_a_lazy_table_may_lack_columns(frame, tmp_path, lazy_chunks):
    made = fit_pipeline(frame, DDRTree(2, random_state=0), Preparation(standardize=True))
    few = frame.drop(columns="c")
    few.to_parquet(tmp_path / "few.parquet", row_group_size=8)
    lazy = read_table(tmp_path / "few.parquet", lazy=True)
    said = "no values of 1 of the 5 features: 'c'; its samples are placed by the others"
    with pytest.warns(UserWarning, match=said):
        placed = made.place(lazy)
    with pytest.warns(UserWarning, match=said):
        expected = made.place(few)
    pd.testing.assert_frame_equal(placed, expected, rtol=1e-9)
    none = frame[["site"]].assign(other=1.0)
    none.to_parquet(tmp_path / "none.parquet", row_group_size=8)
    with pytest.raises(ValueError, match="lacks 5 of the 5 features"):
        made.place(read_table(tmp_path / "none.parquet", lazy=True))


@pytest.mark.filterwarnings("ignore:'b' .* has numbers with a unit")
@pytest.mark.parametrize("lazy", [False, True])
def test_words_in_the_place_of_numbers_are_no_gaps(lazy, frame, tmp_path, lazy_chunks):
    made = fit_pipeline(frame, DDRTree(2, random_state=0), Preparation())
    words = frame.astype({"b": object, "d": object})
    words["b"], words["d"] = "13 g/dl", None
    words["c"] = ["low"] * 30 + ["high"] * 30
    words.to_parquet(tmp_path / "words.parquet", row_group_size=8)
    table = read_table(tmp_path / "words.parquet", lazy=True) if lazy else words
    said = "(?s)2 columns are .*1 column .'b'.: 60 of 60 .*'13 g/dl' in data row 1.* 'low' in data"
    if lazy:
        said = "'b' of .* must hold numbers, as in the fit, but has '13 g/dl' in data row 1, 'c' of"
    with pytest.raises(ValueError, match=said):
        made.place(table)


def test_long_codes_of_a_data_frame_keep_their_digits(frame):
    codes = pd.array(np.resize([2**53 + 1, 2**53, 7], len(frame)), dtype="Int64")
    codes[0] = pd.NA
    for given in (codes, codes.astype(object)):
        table = frame.assign(code=given, empty=pd.array([None] * len(frame), dtype="Int64"))
        made = fit_pipeline(
            table,
            DDRTree(2, random_state=0),
            Preparation(categorical=["code"], impute="median"),
            exclude=["empty"],
        )
        step = made.preparation.steps_["encode"]
        assert step.levels[step.columns.index("code")] == ["7", *map(str, (2**53, 2**53 + 1))]


@pytest.mark.parametrize(
    "reading",
    [
        None,
        {"id": "@/etc/hosts"},
        {"id": ["a"]},
        {"include": "@genes.txt"},
        {"exclude": ["a", "@genes.txt"]},
        {"features": [3]},
        {"sheet": 3},
        {"date_order": ["dmy"]},
        {"date_order": {"seen": "ymd"}},
    ],
    ids=str,
)
def test_a_model_sends_nobody_to_other_files(reading, frame, tmp_path):
    made = fit_pipeline(frame, DDRTree(2, random_state=0), Preparation())
    made.save(tmp_path / "model.branchwise")
    state = read_state(tmp_path / "model.branchwise")
    for fine in ({}, {"id": "@@home", "sheet": None, "exclude": ["@@a"], "features": None}):
        write_state(tmp_path / "fine.branchwise", state | {"reading": fine})
        branchwise.load(tmp_path / "fine.branchwise")
    write_state(tmp_path / "bad.branchwise", state | {"reading": reading})
    with pytest.raises(ModelFileError):
        branchwise.load(tmp_path / "bad.branchwise")


# Which columns of a DataFrame


def test_columns_are_chosen_as_on_the_command_line(frame, tmp_path):
    (tmp_path / "labs.txt").write_text("# the panel\na\n[bc]\n")
    model, root = DDRTree(2, random_state=0), {"column": "age", "value": frame["age"].iloc[3]}
    made = fit_pipeline(frame, model, include=f"@{tmp_path / 'labs.txt'}", exclude="c", root=root)
    assert made.features == ["a", "b"]
    expected = fit_pipeline(frame[["a", "b", "age"]], model, exclude=["a*e"])
    np.testing.assert_array_equal(made.embedding, expected.embedding)
    pd.testing.assert_frame_equal(made.transform(frame), expected.transform(frame))
    assert fit_pipeline(frame, model, PREPARED, exclude=["[cd]"]).features == ["a", "b"]
    coded = fit_pipeline(frame, model, Preparation(categorical=["site"]), include=["a", "b"])
    assert coded.features == ["a", "b", "site"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            {"include": ["aa", "z*"]},
            r"lacks 2 of .* include 'aa' .did you mean 'a'\?., 'z.' .no column fits",
        ),
        ({"exclude": "ag"}, "^exclude: the DataFrame has no column 'ag'; did you mean 'age'"),
        (
            {
                "include": ["aa", "b"],
                "exclude": "z*",
                "preparation": Preparation(adjust="agee", categorical=["sitt"]),
                "root": {"column": "sits", "value": "x"},
            },
            r"lacks 5 of .* include 'aa' .*; exclude 'z\*' .*; categorical 'sitt' .*; "
            r"adjust 'agee' .*; root 'sits' .did you mean 'site'",
        ),
        ({"include": ["a", "site"]}, "include names 'site', which the DataFrame has among the ann"),
    ],
    ids=str,
)
def test_columns_that_cannot_be_chosen_are_told(given, says, frame):
    with pytest.raises(ValueError, match=says):
        fit_pipeline(frame, DDRTree(2), **given)


def test_a_table_without_numbers_left_is_told(frame):
    with pytest.raises(ValueError, match="has no column to learn from; give it columns of numbers"):
        fit_pipeline(frame, DDRTree(2), exclude="*")


def test_a_pipeline_is_shown_in_one_line(frame):
    numbers = frame[["a", "b", "c", "d"]]
    shown = repr(fit_pipeline(numbers, DDRTree(2, random_state=0)))
    assert shown.startswith("<Pipeline: DDRTree, 4 features, 60 samples, ")
    assert shown.endswith(" tips, without a root>")
    rooted = fit_pipeline(numbers, DDRTree(2, random_state=0), root={"node": "T1"})
    assert repr(rooted).endswith(" tips, rooted at T1>")


def test_a_folder_of_results_is_loaded_by_its_name(frame, tmp_path):
    made = fit_pipeline(frame[["a", "b", "c", "d"]], DDRTree(2, random_state=0))
    with pytest.raises(ValueError, match=r"is a folder that holds no model\.branchwise; pass"):
        branchwise.load(tmp_path)
    made.save(tmp_path / "model.branchwise")
    assert branchwise.load(tmp_path).features == made.features


def test_a_sparse_table_is_placed_by_a_model_with_categories(clinic):
    """It cannot have the categories, which are missing then."""
    frame = clinic[list("abcd")].abs()
    fitted = frame.assign(sex=["f", "m"] * (len(frame) // 2))
    made = fit_pipeline(fitted, preparation=Preparation(categorical=["sex"]))
    dense = as_table(frame)
    told = "has no values of 1 of the 5 features: 'sex'"
    with pytest.warns(UserWarning, match=told):
        places = made.place(dense)
    with pytest.warns(UserWarning, match=told):
        again = made.place(replace(dense, X=sparse.csr_array(dense.X)))
    pd.testing.assert_frame_equal(places, again)
