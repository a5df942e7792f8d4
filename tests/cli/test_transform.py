import io
import json

import numpy as np
import pandas as pd
import pytest

import branchwise as package


@pytest.fixture
def new_cohort(simulated, tmp_path):
    """Other simulated patients: columns in another order, no stage, one column more."""
    rng = np.random.default_rng(1)
    frame = simulated.iloc[:40].copy()
    frame["patient"] = [f"N{k}" for k in range(40)]
    labs = [f"lab{k}" for k in range(6)]
    frame[labs] += 0.02 * rng.normal(size=(40, 6))
    frame = frame[[*labs[::-1], "patient", "sex", "age"]].assign(ward=3)
    path = tmp_path / "new.csv"
    frame.to_csv(path, index=False)
    return path


def test_new_rows_are_placed_by_column_names(fitted, new_cohort, simulated, branchwise):
    code, out, err = branchwise("transform", fitted, new_cohort)
    assert (code, err) == (0, "")
    places = pd.read_csv(io.StringIO(out), index_col=0)
    assert places.index.tolist() == [f"N{k}" for k in range(40)]
    own = pd.read_csv(fitted / "pseudotime.csv", index_col=0).iloc[:40]
    moved = np.abs(places["pseudotime"].to_numpy() - own["pseudotime"].to_numpy())
    assert np.median(moved) < 0.1 * own["pseudotime"].max()
    assert (places["branch"].to_numpy() == own["branch"].to_numpy()).mean() > 0.9


def test_the_model_in_python_says_the_same(fitted, new_cohort, branchwise):
    _, out, _ = branchwise("transform", fitted / "model.branchwise", new_cohort)
    model = package.load(fitted / "model.branchwise")
    frame = pd.read_csv(new_cohort, index_col="patient")
    places = model.place(frame)
    printed = pd.read_csv(io.StringIO(out), index_col=0)
    pd.testing.assert_frame_equal(places, printed, check_names=False, rtol=1e-12)
    embedding = model.transform(frame)
    pd.testing.assert_frame_equal(embedding, places[[f"ddrtree{k}" for k in range(6)]])


def test_rows_of_the_fit_keep_their_places(fitted, table, branchwise):
    _, out, _ = branchwise("transform", fitted, table)
    places = pd.read_csv(io.StringIO(out), index_col=0)
    embedding = pd.read_csv(fitted / "embedding.csv", index_col=0)
    times = pd.read_csv(fitted / "pseudotime.csv", index_col=0)
    np.testing.assert_allclose(places["ddrtree0"], embedding["ddrtree0"], rtol=1e-12)
    np.testing.assert_allclose(places["pseudotime"], times["pseudotime"], rtol=1e-9, atol=1e-9)
    assert places["branch"].tolist() == times["branch"].tolist()


def test_without_a_root_there_are_no_times(table, tmp_path, branchwise):
    out = tmp_path / "out"
    branchwise("fit", table, "-o", out, "--id", "patient", "--method", "ddrtree")
    _, text, _ = branchwise("transform", out, table)
    header = text.splitlines()[0].split(",")
    assert "distance" in header
    assert "pseudotime" not in header
    assert "branch" not in header


def test_covariates_and_medians_are_those_of_the_fit(simulated, table, tmp_path, branchwise):
    """A cohort of men only, older and with gaps, is adjusted by what the fit learned."""
    out = tmp_path / "out"
    given = ["--id", "patient", "--adjust", "age,sex", "--impute", "median", "--rank-normalize"]
    assert branchwise("fit", table, "-o", out, *given, "--standardize", "--pca", "3")[0] == 0
    men = simulated[simulated["sex"] == "m"].copy()
    men.loc[men.index[0], "lab2"] = np.nan
    men.to_csv(tmp_path / "men.csv", index=False)
    code, text, _ = branchwise("transform", out, tmp_path / "men.csv")
    assert code == 0
    places = pd.read_csv(io.StringIO(text), index_col=0)
    embedding = pd.read_csv(out / "embedding.csv", index_col=0)
    complete = places.iloc[1:]
    np.testing.assert_allclose(
        complete["ddrtree0"], embedding.loc[complete.index, "ddrtree0"], rtol=1e-9
    )
    median = simulated.copy()
    median.loc[men.index[0], "lab2"] = simulated["lab2"].median()
    expected = package.load(out / "model.branchwise").transform(median.set_index("patient"))
    first = places.index[0]
    np.testing.assert_allclose(places.loc[first, "ddrtree0"], expected.loc[first, "ddrtree0"])


def test_rows_with_gaps_are_dropped_as_in_the_fit_and_named(simulated, table, tmp_path, branchwise):
    out = tmp_path / "out"
    branchwise("fit", table, "-o", out, "--id", "patient", "--impute", "drop", "--figure", "none")
    new = simulated.iloc[:5].copy()
    new.loc[2, "lab0"] = np.nan
    new.to_csv(tmp_path / "new.csv", index=False)
    code, text, err = branchwise("transform", out, tmp_path / "new.csv")
    assert code == 0
    assert "1 of 5 rows miss a value and were dropped, as in the fit: P002." in err
    assert len(text.splitlines()) == 1 + 4


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_places_go_to_files(ending, fitted, new_cohort, tmp_path, branchwise):
    out = tmp_path / f"placed.{ending}"
    code, text, _ = branchwise("transform", fitted, new_cohort, "-o", out)
    assert (code, text) == (0, f"40 rows placed in {out}\n")
    read = {"csv": pd.read_csv, "tsv": pd.read_table, "parquet": pd.read_parquet}[ending]
    found = read(out, **({} if ending == "parquet" else {"index_col": 0}))
    assert found.index[0] == "N0"
    code, _, err = branchwise("transform", fitted, new_cohort, "-o", out)
    assert code == 1
    assert "exists; choose another -o, or add --force" in err
    assert branchwise("transform", fitted, new_cohort, "-o", out, "--force")[0] == 0


def test_places_as_json(fitted, new_cohort, branchwise):
    code, text, _ = branchwise("transform", fitted, new_cohort, "--json")
    assert code == 0
    found = json.loads(text)
    assert found["n_samples"] == 40
    assert found["places"][0]["sample"] == "N0"


def test_missing_features_are_named(fitted, simulated, tmp_path, branchwise):
    simulated.drop(columns=["lab1", "lab3"]).to_csv(tmp_path / "new.csv", index=False)
    code, _, err = branchwise("transform", fitted, tmp_path / "new.csv")
    assert code == 1
    assert "lab1, lab3" in err.replace("'", "")
    assert len(err.splitlines()) == 1


def test_a_file_that_is_no_model_is_said_to_be_none(table, new_cohort, branchwise):
    code, _, err = branchwise("transform", table, new_cohort)
    assert code == 1
    assert "patients.csv" in err
    assert len(err.splitlines()) == 1


def test_an_estimator_alone_has_no_names(tmp_path, new_cohort, branchwise):
    X = np.random.default_rng(0).normal(size=(30, 6))
    package.DDRTree(2, random_state=0).fit(X).save(tmp_path / "bare.branchwise")
    code, _, err = branchwise("transform", tmp_path / "bare.branchwise", new_cohort)
    assert code == 1
    assert "holds a DDRTree without the names of its features" in err


def test_other_endings_are_wrong_usage(fitted, new_cohort, tmp_path, branchwise):
    code, _, err = branchwise("transform", fitted, new_cohort, "-o", tmp_path / "places.xlsx")
    assert code == 2
    assert "must end in .csv, .tsv, .parquet" in err


def test_further_columns_of_arrays_do_not_matter_either(simulated, tmp_path, branchwise):
    """A column that is adjusted for is found, and another one may have gaps."""
    labs = [f"lab{k}" for k in range(6)]

    def write(frame, path):
        np.savez(path, X=frame.to_numpy(float), features=np.array(frame.columns, dtype=str))

    write(simulated[[*labs, "age"]], tmp_path / "old.npz")
    out = tmp_path / "out"
    given = ["--adjust", "age", "--figure", "none"]
    assert branchwise("fit", tmp_path / "old.npz", "-o", out, *given)[0] == 0
    new = simulated[["age", *labs]].assign(other=np.nan)
    write(new, tmp_path / "new.npz")
    code, text, err = branchwise("transform", out, tmp_path / "new.npz")
    assert (code, err) == (0, "")
    places = pd.read_csv(io.StringIO(text), index_col=0)
    embedding = pd.read_csv(out / "embedding.csv", index_col=0)
    np.testing.assert_allclose(places["ddrtree0"], embedding["ddrtree0"], rtol=1e-9)


def test_a_cohort_without_the_column_of_names_is_placed_and_told(
    fitted, simulated, tmp_path, branchwise
):
    simulated.iloc[:5].drop(columns="patient").to_csv(tmp_path / "new.csv", index=False)
    code, text, err = branchwise("transform", fitted, tmp_path / "new.csv")
    assert code == 0
    assert "has no column 'patient' as in the fit; --id names another one." in err
    assert [line.split(",")[0] for line in text.splitlines()] == ["sample", *"01234"]
    code, _, err = branchwise("transform", fitted, tmp_path / "new.csv", "--id", "case")
    assert code == 1
    assert "has no column 'case'" in err
