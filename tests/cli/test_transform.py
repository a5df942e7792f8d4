import io
import json

import anndata
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
    assert code == 0
    assert "no values of" not in err
    places = pd.read_csv(io.StringIO(out), index_col=0)
    assert places.index.tolist() == [f"N{k}" for k in range(40)]
    own = pd.read_csv(fitted / "samples.csv", index_col=0).iloc[:40]
    moved = np.abs(places["pseudotime"].to_numpy() - own["pseudotime"].to_numpy())
    assert np.median(moved) < 0.1 * own["pseudotime"].max()
    assert (places["branch"].to_numpy() == own["branch"].to_numpy()).mean() > 0.9


def test_the_model_in_python_says_the_same(fitted, new_cohort, branchwise):
    _, out, _ = branchwise("transform", fitted / "model.branchwise", new_cohort, "--full-precision")
    model = package.load(fitted / "model.branchwise")
    frame = pd.read_csv(new_cohort, index_col="patient")
    places = model.place(frame)
    printed = pd.read_csv(io.StringIO(out), index_col=0).fillna({"drivers": "", "out_of_range": ""})
    assert printed.columns[len(places.columns) :].tolist() == ["sex", "age", "ward"]
    printed = printed[places.columns].astype(places.dtypes)
    pd.testing.assert_frame_equal(places, printed, check_names=False, rtol=1e-12)
    embedding = model.transform(frame)
    pd.testing.assert_frame_equal(embedding, places[[f"ddrtree{k}" for k in range(6)]])


def test_rows_of_the_fit_keep_their_places(fitted, table, branchwise):
    _, out, _ = branchwise("transform", fitted, table, "--full-precision")
    places = pd.read_csv(io.StringIO(out), index_col=0)
    embedding = pd.read_csv(fitted / "samples.csv", index_col=0)
    times = pd.read_csv(fitted / "samples.csv", index_col=0)
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
    given += ["--standardize", "--pca", "3", "--full-precision"]
    assert branchwise("fit", table, "-o", out, *given)[0] == 0
    men = simulated[simulated["sex"] == "m"].copy()
    men.loc[men.index[0], "lab2"] = np.nan
    men.to_csv(tmp_path / "men.csv", index=False)
    code, text, _ = branchwise("transform", out, tmp_path / "men.csv", "--full-precision")
    assert code == 0
    places = pd.read_csv(io.StringIO(text), index_col=0)
    embedding = pd.read_csv(out / "samples.csv", index_col=0)
    complete = places.iloc[1:]
    np.testing.assert_allclose(
        complete["ddrtree0"], embedding.loc[complete.index, "ddrtree0"], rtol=1e-9
    )
    median = simulated.copy()
    median.loc[men.index[0], "lab2"] = simulated["lab2"].median()
    expected = package.load(out / "model.branchwise").transform(median.set_index("patient"))
    first = places.index[0]
    np.testing.assert_allclose(places.loc[first, "ddrtree0"], expected.loc[first, "ddrtree0"])


def test_rows_with_gaps_are_placed_whatever_the_fit_did_with_its_own(
    simulated, table, tmp_path, branchwise
):
    out = tmp_path / "out"
    branchwise("fit", table, "-o", out, "--id", "patient", "--impute", "drop", "--figure", "none")
    new = simulated.iloc[:5].copy()
    new.loc[2, "lab0"] = np.nan
    new.loc[3, [*(f"lab{k}" for k in range(6)), "age"]] = np.nan
    new.to_csv(tmp_path / "new.csv", index=False)
    code, text, err = branchwise("transform", out, tmp_path / "new.csv")
    assert code == 0
    assert "1 row has no value of any feature and is placed nowhere: 'P003'." in err
    places = pd.read_csv(io.StringIO(text), index_col=0)
    assert places["missing"].tolist() == [0, 0, 1, 7, 0]
    assert places["pseudotime"].notna().tolist() == [True, True, True, False, True]
    assert places["sex"].tolist() == new["sex"].tolist()


def test_a_wrong_unit_is_flagged_and_named(fitted, simulated, tmp_path, branchwise):
    new = simulated.iloc[:5].copy()
    new.loc[1, "lab2"] = 10 * np.abs(simulated["lab2"]).max()
    new.to_csv(tmp_path / "new.csv", index=False)
    code, text, err = branchwise("transform", fitted, tmp_path / "new.csv")
    assert code == 0
    assert "1 of 5 rows (20 %; 5 % are usual) lies farther from the tree" in err
    assert "1 of 5 rows has values beyond the range of the rows of the fit." in err
    assert "Columns most often to blame (look at their units): 'lab2' (1)." in err
    row = pd.read_csv(io.StringIO(text), index_col=0).iloc[1]
    assert row["p"] <= 0.05
    assert row["drivers"].startswith("lab2 ")
    assert row["out_of_range"].startswith("lab2 ")
    facts = json.loads(branchwise("transform", fitted, tmp_path / "new.csv", "--json")[1])
    assert (facts["far"], facts["out_of_range"], facts["blamed"]) == (1, 1, {"lab2": 1})


def test_numbers_have_digits_that_a_person_can_read(fitted, new_cohort, tmp_path, branchwise):
    _, short, _ = branchwise("transform", fitted, new_cohort)
    _, full, _ = branchwise("transform", fitted, new_cohort, "--full-precision")
    short, full = (
        pd.read_csv(io.StringIO(text), index_col=0, float_precision="round_trip")
        for text in (short, full)
    )
    assert (short["age"] == full["age"]).all()  # as it was read
    times = [f"{time:.5g}" for time in full["pseudotime"]]
    assert [float(time) for time in times] == short["pseudotime"].tolist()
    assert (short["pseudotime"] != full["pseudotime"]).any()
    branchwise("transform", fitted, new_cohort, "-o", tmp_path / "new.parquet")
    whole = pd.read_parquet(tmp_path / "new.parquet")
    np.testing.assert_array_equal(whole["pseudotime"], full["pseudotime"])


def test_fit_and_transform_write_the_same_columns(fitted, table, branchwise):
    _, text, _ = branchwise("transform", fitted, table)
    placed = text.splitlines()[0].split(",")
    assert placed[:14] == [
        *("id", "branch", "position", "pseudotime", "distance", "p", "misfit"),
        *("pseudotime_lower", "pseudotime_upper", "branch_probability", "likeliest_branch"),
        *("out_of_range", "drivers", "missing"),
    ]
    assert (fitted / "samples.csv").read_text("utf-8").splitlines()[0].split(",") == placed


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
    assert found["places"][0]["id"] == "N0"


def test_dates_as_json_are_those_of_the_file(fitted, new_cohort, tmp_path, branchwise):
    days = pd.date_range("1960-09-07", periods=40).strftime("%Y-%m-%d")
    pd.read_csv(new_cohort).assign(born=[None, *days[1:]]).to_csv(tmp_path / "a.csv", index=False)
    _, text, _ = branchwise("transform", fitted, tmp_path / "a.csv", "--json")
    assert [row["born"] for row in json.loads(text)["places"]] == [None, *days[1:]]


def test_what_cannot_be_read_of_new_rows_may_be_removed(simulated, tmp_path, branchwise):
    """There is no option to leave a column out, and no need of one."""
    days = pd.date_range("2020-01-01", periods=len(simulated)).strftime("%Y-%m-%d")
    simulated.assign(seen=days).to_csv(tmp_path / "t.csv", index=False)
    few = ["--figure", "none", "--no-report", "--no-support", "--date", "seen"]
    few += ["--id", "patient", "-o", tmp_path / "out"]
    assert branchwise("fit", tmp_path / "t.csv", *few)[0] == 0
    new = simulated.assign(seen=["soon", *days[1:]])
    new.to_csv(tmp_path / "new.csv", index=False)
    code, _, err = branchwise("transform", tmp_path / "out", tmp_path / "new.csv")
    assert code == 1
    assert "or leave the column out" not in err
    assert "or remove the column from the file: the rows are then placed without it" in err
    new.drop(columns="seen").to_csv(tmp_path / "new.csv", index=False)
    assert branchwise("transform", tmp_path / "out", tmp_path / "new.csv")[0] == 0


def test_a_table_that_lacks_columns_is_placed_and_told_once(
    fitted, simulated, tmp_path, branchwise
):
    simulated.drop(columns=["lab1", "lab3"]).to_csv(tmp_path / "new.csv", index=False)
    code, text, err = branchwise("transform", fitted, tmp_path / "new.csv")
    assert code == 0
    said = "new.csv has no values of 2 of the 6 features: 'lab1', 'lab3'; its samples are placed"
    assert err.count(said) == 1
    places = pd.read_csv(io.StringIO(text), index_col=0)
    assert (places["missing"] == 2).all()
    whole = pd.read_csv(fitted / "samples.csv", index_col=0)
    is_in = whole["pseudotime"].between(places["pseudotime_lower"], places["pseudotime_upper"])
    assert is_in.mean() > 0.9


def test_a_table_without_any_feature_is_an_error(fitted, simulated, tmp_path, branchwise):
    simulated[["patient", "age"]].to_csv(tmp_path / "new.csv", index=False)
    code, _, err = branchwise("transform", fitted, tmp_path / "new.csv")
    assert code == 1
    assert "lacks 6 of the 6 features of the model: 'lab0', 'lab1'" in err
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
    given = ["--adjust", "age", "--figure", "none", "--full-precision"]
    assert branchwise("fit", tmp_path / "old.npz", "-o", out, *given)[0] == 0
    new = simulated[["age", *labs]].assign(other=np.nan)
    write(new, tmp_path / "new.npz")
    code, text, err = branchwise("transform", out, tmp_path / "new.npz", "--full-precision")
    assert code == 0
    assert "no values of" not in err
    places = pd.read_csv(io.StringIO(text), index_col=0)
    embedding = pd.read_csv(out / "samples.csv", index_col=0)
    np.testing.assert_allclose(places["ddrtree0"], embedding["ddrtree0"], rtol=1e-9)


def test_a_cohort_without_the_column_of_names_is_placed_and_told(
    fitted, simulated, tmp_path, branchwise
):
    simulated.iloc[:5].drop(columns="patient").to_csv(tmp_path / "new.csv", index=False)
    code, text, err = branchwise("transform", fitted, tmp_path / "new.csv")
    assert code == 0
    assert "has no column 'patient' as in the fit; --id names another one." in err
    assert [line.split(",")[0] for line in text.splitlines()] == ["id", *"01234"]
    code, _, err = branchwise("transform", fitted, tmp_path / "new.csv", "--id", "case")
    assert code == 1
    assert "has no column 'case'" in err


def test_a_column_of_units_in_a_new_table_is_told_and_not_taken_for_gaps(
    fitted, simulated, tmp_path, branchwise
):
    new = simulated.iloc[:5].copy()
    new["lab2"] = [f"{value:.2f} mg/l" for value in new["lab2"]]
    new.to_csv(tmp_path / "new.csv", index=False)
    code, out, err = branchwise("transform", fitted, tmp_path / "new.csv")
    assert (code, out) == (1, "")
    assert "units in 1 column ('lab2'): 5 of 5 cells, the first '" in err
    assert "mg/l' in data row 1. Write the number alone." in err
    assert "--exclude" not in err


@pytest.mark.parametrize(
    ("cell", "says"),
    [("<5", "limits such as '<5' in 1 column"), ("1e999", "beyond 1.8e308 in 1 column")],
)
def test_what_a_model_needs_cannot_be_excluded(cell, says, fitted, simulated, tmp_path, branchwise):
    new = simulated.iloc[:5].astype({"lab2": object})
    new.loc[1, "lab2"] = cell
    new.to_csv(tmp_path / "new.csv", index=False)
    code, _, err = branchwise("transform", fitted, tmp_path / "new.csv")
    assert code == 1
    assert says in err
    assert "--exclude" not in err
    new["lab3"] = new["lab2"]
    new.to_csv(tmp_path / "new.csv", index=False)
    _, _, err = branchwise("transform", fitted, tmp_path / "new.csv")
    assert "in 2 columns ('lab2', 'lab3')" in err
    assert "--exclude" not in err


def test_codes_among_the_features_of_a_model_are_numbers(fitted, simulated, tmp_path, branchwise):
    """A column was numbers in the fit: 07 is 7 then."""
    new = simulated.iloc[:3].copy()
    new["lab2"] = ["0", "1", "2"]
    new.to_csv(tmp_path / "plain.csv", index=False)
    new["lab2"] = ["00", "01", "02"]
    new.to_csv(tmp_path / "zeros.csv", index=False)
    plain = branchwise("transform", fitted, tmp_path / "plain.csv")
    assert branchwise("transform", fitted, tmp_path / "zeros.csv") == plain
    assert plain[0] == 0


def test_names_with_semicolons_are_blamed_as_they_are(simulated, tmp_path, branchwise):
    named = simulated.rename(columns={"lab2": "crp; serum (mg/l)"}).drop(columns="age")
    named.to_csv(tmp_path / "old.csv", index=False)
    out = tmp_path / "out"
    given = ["--id", "patient", "--no-support", "--figure", "none", "--no-report"]
    assert branchwise("fit", tmp_path / "old.csv", "-o", out, *given)[0] == 0
    named["crp; serum (mg/l)"] *= 50
    named.to_csv(tmp_path / "new.csv", index=False)
    _, text, _ = branchwise("transform", out, tmp_path / "new.csv", "--json")
    assert "crp; serum (mg/l)" in json.loads(text)["blamed"]
    assert not {"crp", "serum"} & set(json.loads(text)["blamed"])


def test_arguments_in_the_wrong_order_are_told(fitted, table, branchwise):
    for model in (fitted, fitted / "model.branchwise"):
        code, _, err = branchwise("transform", table, model)
        assert code == 2
        assert f"the model comes first: branchwise transform {model} {table}" in err


def test_what_the_fit_adjusts_for_is_asked_for_by_that_name(simulated, tmp_path, branchwise):
    path, out = tmp_path / "a.csv", tmp_path / "out"
    simulated.to_csv(path, index=False)
    given = ["--figure", "none", "--no-report", "--no-support", "--adjust", "age,sex"]
    assert branchwise("fit", path, "-o", out, *given)[0] == 0
    simulated.rename(columns={"age": "Age"}).drop(columns="sex").to_csv(path, index=False)
    code, _, err = branchwise("transform", out, path)
    assert code == 1
    assert "lacks 'age', 'sex', which the fit adjusts for; add these columns, with a value" in err
    simulated.rename(columns={"age": "Age"}).to_csv(path, index=False)
    assert "lacks 'age', which the fit adjusts for; add this column" in (
        told := branchwise("transform", out, path)[2]
    )
    assert told.strip().endswith("in every row; is it 'Age'?")


@pytest.mark.parametrize("command", ["info", "fit", "transform"])
def test_standard_input_is_no_table(command, fitted, tmp_path, branchwise):
    given = {"info": ["-"], "fit": ["-", "-o", tmp_path / "out"], "transform": [fitted, "-"]}
    code, _, err = branchwise(command, *given[command])
    assert code == 1
    assert "a table is not read from standard input (-)" in err
    assert len(err.splitlines()) == 1


def test_one_row_is_one_row(simulated, fitted, tmp_path, branchwise):
    simulated[:1].to_csv(tmp_path / "a.csv", index=False)
    _, out, _ = branchwise("transform", fitted, tmp_path / "a.csv", "-o", tmp_path / "placed.csv")
    assert out.startswith("1 row placed in ")


def test_where_nothing_is_placed_that_alone_is_told(simulated, fitted, tmp_path, branchwise):
    labs = [f"lab{k}" for k in range(6)]
    for n_rows in (1, 3):
        simulated[:n_rows].assign(**dict.fromkeys(labs)).to_csv(tmp_path / "a.csv", index=False)
        code, _, err = branchwise("transform", fitted, tmp_path / "a.csv")
        assert code == 1
        assert "has a value of any feature; nothing was placed." in err
        assert len(err.splitlines()) == 1


def test_a_table_of_names_alone_lacks_every_feature(simulated, tmp_path, branchwise):
    dated = simulated.assign(seen=pd.Timestamp("2024-01-01") + pd.to_timedelta(range(150), "D"))
    dated.to_csv(tmp_path / "old.csv", index=False)
    out = tmp_path / "out"
    given = ("--date", "seen", "--no-support", "--figure", "none", "--no-report")
    assert branchwise("fit", tmp_path / "old.csv", "-o", out, *given, "--standardize")[0] == 0
    (tmp_path / "a.csv").write_text("patient\nN1\nN2\n")
    code, _, err = branchwise("transform", out, tmp_path / "a.csv")
    assert code == 1
    assert "lacks 8 of the 8 features of the model: 'lab0'," in err
    assert err.strip().endswith("add these columns.")
    (tmp_path / "a.csv").write_text("patient,Lab 0,SEEN\nN1,1,2024-01-01\nN2,2,2024-01-01\n")
    code, _, err = branchwise("transform", out, tmp_path / "a.csv")
    assert code == 1
    assert "Is 'lab0' the column 'Lab 0' and 'seen' the column 'SEEN'? Then give them" in err


def test_what_is_no_model_says_what_to_pass(fitted, table, branchwise):
    code, _, err = branchwise("transform", fitted / "samples.csv", table)
    assert code == 1
    assert "is not a model file; pass OUT, the folder of a fit, or OUT/model.branchwise." in err


def test_one_row_that_lies_far_is_one(simulated, fitted, tmp_path, branchwise):
    far = simulated[:1].copy()
    far["lab2"] = 10 * np.abs(simulated["lab2"]).max()
    far.to_csv(tmp_path / "a.csv", index=False)
    assert (
        "; look at it before you trust its place."
        in (branchwise("transform", fitted, tmp_path / "a.csv")[2])
    )


def test_a_lone_row_has_the_decimal_sign_of_the_fit(tmp_path, branchwise):
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame({"plt": rng.integers(90_000, 400_000, 60), "hb": rng.normal(12, 2, 60)})
    text = numbers.assign(plt=[f"{x:,}".replace(",", ".") for x in numbers["plt"]])
    text["hb"] = [f"{x:.1f}".replace(".", ",") for x in numbers["hb"]]
    text.to_csv(tmp_path / "old.csv", sep=";", index=False)
    quick = ["--standardize", "--no-support", "--no-report", "--figure", "none"]
    out = tmp_path / "out"
    assert branchwise("fit", tmp_path / "old.csv", "-o", out, *quick)[0] == 0
    assert package.load(out).reading["decimal"] == ","
    (tmp_path / "one.csv").write_text("plt;hb\n236.200;12\n")
    (tmp_path / "two.csv").write_text("plt;hb\n236.200;12\n236.200;12,5\n")
    (tmp_path / "point.csv").write_text("plt;hb\n236200;12\n236200;12.5\n")
    names = ("one.csv", "two.csv", "point.csv")
    said = [branchwise("transform", out, tmp_path / name)[1] for name in names]
    rows = [text.splitlines()[1] for text in said]
    assert rows[0] == rows[1] == rows[2]


@pytest.mark.filterwarnings("ignore:Writing zarr v2")
def test_a_folder_of_cells_is_read_as_in_the_fit_whatever_its_name(simulated, tmp_path, branchwise):
    labs = simulated[[f"lab{k}" for k in range(6)]].to_numpy()
    cells = anndata.AnnData(np.ones((len(labs), 1)), obsm={"X_pca": labs})
    for name in ("cells", "cells2"):
        cells.write_zarr(tmp_path / name)
    quick = ["--use-rep", "X_pca", "--no-support", "--no-report", "--figure", "none"]
    out = tmp_path / "out"
    assert branchwise("fit", tmp_path / "cells", "-o", out, *quick)[0] == 0
    code, text, err = branchwise("transform", out, tmp_path / "cells2")
    assert code == 0, err
    assert len(text.splitlines()) == 151
