import json

import numpy as np
import pandas as pd
import pytest

from branchwise.cli.profiles import describe_table
from branchwise.data.profile import profile_columns
from branchwise.datasets import make_tree


@pytest.fixture
def clinic(tmp_path):
    """A simulated table with everything that a clinic can bring."""
    rng, n = np.random.default_rng(0), 60
    frame = pd.DataFrame(
        {
            "patient": [f"P{k}" for k in range(n)],
            "age": rng.integers(20, 90, size=n),
            "crp": np.r_[rng.exponential(9, size=n - 3).round(1), [-999] * 3],
            "visit": pd.date_range("2020-01-01", periods=n).strftime("%d.%m.%Y"),
            "bmi": [f"{value:.1f} kg/m2" for value in rng.normal(26, 3, size=n)],
            "nothing": None,
            "same": 4,
            "dead": rng.integers(0, 2, size=n),
            "hb": ["<5", *(f"{value:.1f}" for value in rng.normal(13, 1, size=n - 1))],
            "smoker": rng.choice(["yes", "no"], size=n),
            "case": range(1, n + 1),
        }
    )
    genes = pd.DataFrame(rng.normal(size=(n, 200)), columns=[f"gene{k}" for k in range(200)])
    found = pd.DataFrame({f"g{k}_mut": ["0"] * (n - 1) + [f"R{k}H"] for k in range(50)})
    path = tmp_path / "clinic.csv"
    pd.concat([frame, genes, found], axis=1).to_csv(path, index=False)
    return path


def test_problems_come_first_then_what_is_odd_then_the_rest(clinic, branchwise):
    code, text, err = branchwise("info", clinic)
    assert (code, err) == (0, "")
    lines = text.splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 80
    told = [
        "samples    60, named by patient",
        "would stop: 51 columns are meant as numbers",
        "The fit stops here. Leave the column out with --exclude",
        "nothing                     no value at all",
        "The fit stops here. Limits such as '<5': write a number in their place",
        "--exclude hb.",
        "hb                          1 cell is not a number: '<5' in data row 1",
        "The fit stops here. Words among numbers: leave the cells empty",
        "--exclude '*_mut'.",
        "*_mut (50)                  1 cell is not a number, such as 'R0H'",
        "Codes for missing values?",
        "crp                         -999 in 3 cells",
        "Outcomes or times of follow-up?",
        "dead                        2 values, 0 to 1",
        "Names rather than measurements?",
        "case                        60 values, 1 to 60",
        "The same value in every cell",
        "same                        1 value, 4",
        "Numbers with units",
        "bmi                         kg/m2, such as '",
        "Features ",
        "age ",
        "gene0 … ge…199 (200) number ",
        "Others ",
        "patient ",
        "visit            date",
        "smoker           yes/no",
    ]
    places = [text.index(each) for each in told]
    assert places == sorted(places)


def test_json_has_an_object_for_each_column(clinic, branchwise):
    code, text, _ = branchwise("info", clinic, "--json")
    assert code == 0
    facts = json.loads(text)
    columns = {column["name"]: column for column in facts["columns"]}
    assert len(columns) == 11 + 200 + 50
    assert columns["crp"]["sentinels"] == [{"value": -999.0, "n_cells": 3}]
    assert columns["hb"]["unreadable"] == {"cell": "<5", "row": 1, "n_cells": 1, "kind": "limit"}
    assert columns["visit"]["minimum"] == "2020-01-01"
    assert columns["dead"]["is_outcome_like"] is True
    assert columns["bmi"]["units"] == ["kg/m2"]
    assert facts["id"] == "patient"
    assert len(facts["stops"]) == 52
    assert facts["fit"].startswith("51 columns are meant as numbers")
    assert "--exclude '*_mut'" in facts["fit"]


def test_options_of_reading_are_heeded(clinic, branchwise):
    out = ["--exclude", "hb,nothing", "--id", "case", "--json"]
    columns = {c["name"]: c for c in json.loads(branchwise("info", clinic, *out)[1])["columns"]}
    fates = [columns[name]["fate"] for name in ("hb", "nothing", "case", "patient")]
    assert fates == ["excluded", "excluded", "id", "annotation"]


def test_categories_dates_and_ages_are_features(tmp_path, branchwise):
    path = tmp_path / "t.csv"
    path.write_text(
        "hb,sex,er_status,grade,born,seen\n"
        "13.5,f,neg,low,1950-01-31,2020-01-31\n12.1,m,pos,high,1960-02-01,2020-02-28\n"
        "11.9,f,,low,1970-03-01,2020-03-15\n"
    )
    given = ["--categorical", "sex,*_status", "--ordinal", "grade=low,high"]
    given += ["--age", "age=born:seen", "--date", "seen"]
    # Lines are wrapped where the name of the file has them end.
    text = " ".join(branchwise("info", path, *given)[1].split())
    assert "6: 6 features" in text
    assert "1 value, in 1 column" in text
    assert "'er_status' 1 of 3" in text
    assert "as category: f, m" in text
    assert "as ordered category: low" in text
    assert "for an age" in text
    facts = json.loads(branchwise("info", path, *given, "--json")[1])
    said = {column["name"]: column.get("encoding") for column in facts["columns"]}
    assert said["seen"] == "date"
    assert said["hb"] is None
    wrong = ["--categorical", "sex", "--ordinal", "sex=f,m"]
    assert "encoded in one way" in " ".join(branchwise("info", path, *wrong)[1].split())


def test_an_ambiguous_date_is_told_once(tmp_path, branchwise):
    path = tmp_path / "t.csv"
    path.write_text("hb,seen\n13.5,02/01/2020\n12.1,03/01/2020\n")
    code, text, err = branchwise("info", path)
    assert (code, err) == (0, "")
    assert " ".join(text.split()).count("with the day first") == 1
    assert "2020-01-02 … 2020-01-03" in text
    text = branchwise("info", path, "--date-order", "mdy")[1]
    assert "day first" not in " ".join(text.split())
    assert "2020-02-01 … 2020-03-01" in text


def test_missing_values_are_told_as_by_a_fit(tmp_path, branchwise):
    path = tmp_path / "t.csv"
    path.write_text("crp,hb\n1,\n2,3\n,4\n")
    text = branchwise("info", path)[1]
    assert "missing    2 values, in 2 columns of features" in text
    assert "would stop:" in text
    assert "--impute median" in text
    said = json.loads(branchwise("info", path, "--json")[1])["fit"]
    assert said in branchwise("fit", path, "-o", tmp_path / "out")[2]


def test_advice_is_given_before_the_fit(tmp_path, branchwise):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * [1, 1, 100]
    frame = pd.DataFrame(np.c_[X, 2 * X[:, 0] + 1], columns=["hb", "crp", "wbc", "again"])
    frame.to_csv(tmp_path / "t.csv", index=False)
    text = " ".join(branchwise("info", tmp_path / "t.csv")[1].split())
    assert "'wbc' carries nearly all of the variance" in text
    assert "'again' of 'hb'" in text
    for value in (2000, 999):
        frame.loc[7, "crp"] = value
        frame.to_csv(tmp_path / "t.csv", index=False)
        text = " ".join(branchwise("info", tmp_path / "t.csv")[1].split())
        assert f"'crp' ({value} in data row 8, elsewhere" in text


@pytest.mark.parametrize("cell", ["<5", "inf"])
def test_advice_is_given_where_a_fit_would_stop(cell, tmp_path, branchwise):
    """Of the columns that can be read, which is when one asks."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * [1, 1, 100]
    frame = pd.DataFrame(np.c_[X, 2 * X[:, 0] + 1], columns=["hb", "crp", "wbc", "again"])
    frame.loc[7, "crp"] = 2000
    frame.loc[9, "crp"] = np.nan
    frame["ldh"] = [cell, *map(str, range(39))]
    frame.to_csv(tmp_path / "t.csv", index=False)
    text = squeezed(branchwise("info", tmp_path / "t.csv")[1])
    assert "would stop:" in text
    assert "'crp' (2000 in data row 8, elsewhere" in text
    assert "'again' of 'hb'" in text
    assert "of the variance of all" in text


def test_missing_values_beside_unreadable_cells_are_told_as_by_a_fit(tmp_path, branchwise):
    path = tmp_path / "t.csv"
    path.write_text("hb,crp\n" + "".join(f"{k},{k * k}\n" for k in range(9)) + ",<5\n")
    text = squeezed(branchwise("info", path)[1])
    assert "cannot be read as such. Besides, " in text
    assert "1 missing value in 1 column: 'hb' 1 of 10; pass --impute model" in text


def test_what_the_tree_may_be_to_explain_is_asked(tmp_path, branchwise):
    path = tmp_path / "t.csv"
    path.write_text("crp,target\n" + "".join(f"{k / 3},{k % 2}\n" for k in range(9)))
    text = branchwise("info", path)[1]
    assert "What the tree is to explain? If so, leave it out with --exclude" in text
    genes = ",".join(f"g{k}" for k in range(101))
    path.write_text(f"EFS,{genes}\n" + f"1{',2' * 101}\n" + f"0{',3' * 101}\n")
    assert "Outcomes" not in branchwise("info", path)[1]


def test_few_whole_numbers_may_be_names_of_groups(tmp_path, branchwise):
    path = tmp_path / "t.csv"
    rows = "".join(f"{k / 3},{k % 3 + 1},{k % 5},{k % 2},{k % 7}\n" for k in range(20))
    path.write_text(f"crp,stage,site,sex,score\n{rows}")
    text = squeezed(branchwise("info", path)[1])
    assert "hint 'stage', 'site' have 3 to 5 different whole numbers, taken as measurem" in text
    text = squeezed(branchwise("info", path, "--categorical", "site")[1])
    assert "hint 'stage' has 3 to 5 different whole numbers, taken as a measurement; if" in text
    path.write_text("crp,n\n1.5,1\n2.5,2\n3.5,3\n")
    assert "hint" not in branchwise("info", path)[1]


def test_signs_that_a_terminal_obeys_are_not_printed(tmp_path, branchwise):
    path = tmp_path / "t.csv"
    path.write_text('x,"a\x1b[2Jb",w\n1,"\x1b[31mred",2\n2,"u\nv",3\n', newline="")
    text = branchwise("info", path)[1]
    assert "\x1b" not in text
    assert "u v" in text


@pytest.mark.parametrize("width", [60, 80, 110])
@pytest.mark.parametrize("n_columns", [0, 1, 40, 3000])
def test_the_screen_is_never_full(width, n_columns):
    rng = np.random.default_rng(0)
    cells = {
        f"{'xyz'[k % 3]}{'' if k % 7 else 'long name ' * 9}{k}": (
            rng.normal(size=3) if k % 2 else ["a", "b", "c"]
        )
        for k in range(n_columns)
    }
    facts = {"table": "t", "samples": 3, "sample names": [], "id": None, "fit": None}
    lines = describe_table(facts, profile_columns(pd.DataFrame(cells)), width).splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= width


# The same advice is warned of by a fit


@pytest.fixture
def measured(tmp_path):
    """Simulated patients on a tree, in one unit."""
    data = make_tree(120, 6, topology="bifurcation", noise=0.05, random_state=0)
    frame = pd.DataFrame(data.X, columns=[f"lab{k}" for k in range(6)])

    def write(**columns):
        path = tmp_path / "t.csv"
        frame.assign(**columns).to_csv(path, index=False)
        return path

    return write


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"wbc": np.arange(120) * 97.0 % 120}, "'wbc' carries"),
        ({"death": [0.0, 0.01] * 60}, "'death' looks like an outcome"),
        ({"lab9": [-999.0] + [1.0, 0.5] * 59 + [0.1]}, "'lab9' (-999 in 1) has a value far"),
    ],
    ids=["units", "outcome", "code"],
)
def test_a_fit_warns_and_keeps_the_warning(columns, says, measured, tmp_path, branchwise):
    given = ["--figure", "none", "--no-report", "--support", "0"]
    code, _, err = branchwise("fit", measured(**columns), "-o", tmp_path / "out", *given)
    assert code == 0
    assert f"branchwise: warning: {says}" in err
    kept = json.loads((tmp_path / "out" / "run.json").read_text("utf-8"))["warnings"]
    assert any(each.startswith(says) for each in kept)


def test_a_fit_of_like_measurements_warns_of_nothing(measured, tmp_path, branchwise):
    given = ["--figure", "none", "--no-report", "--support", "0"]
    assert branchwise("fit", measured(), "-o", tmp_path / "out", *given)[2] == ""


def test_remedies_are_heeded(measured, tmp_path, branchwise):
    path = measured(wbc=np.arange(120) * 97.0 % 120, death=[0.0, 0.01] * 60)
    given = ["--figure", "none", "--no-report", "--support", "0"]
    given += ["--standardize", "--exclude", "death"]
    assert branchwise("fit", path, "-o", tmp_path / "out", *given)[2] == ""


def test_copies_are_warned_of(measured, tmp_path, branchwise):
    path = measured()
    frame = pd.read_csv(path).assign(again=lambda table: 3 * table["lab2"] - 1)
    frame.to_csv(path, index=False)
    given = ["--figure", "none", "--no-report", "--support", "0", "--standardize"]
    code, _, err = branchwise("fit", path, "-o", tmp_path / "out", *given)
    assert code == 0
    assert "1 feature is a copy of another" in err
    assert "'again' of 'lab2'" in err


def test_axes_are_a_remedy_for_too_many_features(tmp_path, branchwise):
    X = np.random.default_rng(0).normal(size=(20, 210))
    np.save(tmp_path / "X.npy", X)
    given = ["--figure", "none", "--no-report", "--support", "0"]
    err = branchwise("fit", tmp_path / "X.npy", "-o", tmp_path / "out", *given)[2]
    assert "There are 210 features of 20 samples, 10 to 1" in err
    given += ["--pca", "5", "--force"]
    err = branchwise("fit", tmp_path / "X.npy", "-o", tmp_path / "out", *given)[2]
    assert "There are" not in err


def test_of_matrices_in_a_model_only_the_shape_is_told(measured, tmp_path, branchwise):
    given = ["fit", measured(), "-o", tmp_path / "out", "--figure", "none", "--no-report"]
    assert branchwise(*given, "--no-support")[0] == 0
    _, text, _ = branchwise("info", tmp_path / "out")
    assert "init=ndarray of " in text
    assert "structure=csr_array of " in text
    assert len(text.splitlines()) < 20
    _, text, _ = branchwise("info", tmp_path / "out", "--json")
    assert json.loads(text)["parameters"]["init"].startswith("ndarray of ")


def test_an_age_is_one_feature_of_a_model(tmp_path, branchwise):
    rng, n = np.random.default_rng(0), 60
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["hb", "crp", "alb"])  # simulated
    frame["born"] = pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 9000, n), "D")
    frame["seen"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")
    frame.to_csv(tmp_path / "t.csv", index=False)
    few = ("--no-support", "--figure", "none", "--no-report", "--standardize")
    given = ("fit", tmp_path / "t.csv", "-o", tmp_path / "out", "--age", "age=born:seen")
    assert branchwise(*given, *few)[0] == 0
    facts = json.loads(branchwise("info", tmp_path / "out", "--json")[1])
    assert facts["features"] == 4
    assert facts["feature names"] == ["hb", "crp", "alb", "age"]


def test_a_fit_that_would_stop_at_the_encoding_is_not_said_to_start(tmp_path, branchwise):
    rows = [f"{k},{k % 7 / 3:.2f},2024-01-{k % 28 + 1:02},{'fm'[k % 2]}" for k in range(40)]
    rows[5] = "5,1.5,soon,f"
    text = "\n".join(["nr,crp,seen,sex", *rows])
    (tmp_path / "a.csv").write_text(text)
    code, out, _ = branchwise("info", tmp_path / "a.csv", "--date", "seen")
    assert code == 0
    assert (
        "holds 'soon' in data row 6, which is not a date (39 of 40 values are dates)"
        in squeezed(out)
    )
    plain = squeezed(branchwise("info", tmp_path / "a.csv")[1])
    assert "holds dates in 39 of 40 cells with a value, but 'soon' in data row 6" in plain
    given = ("info", tmp_path / "a.csv", "--ordinal", "sex=f,w", "--date", "seen")
    out = squeezed(branchwise(*given)[1])
    assert "that --ordinal does not name: 'sex' has 'm' in 19 rows" in out
    assert "holds 'soon'" in out


def squeezed(text):
    return " ".join(text.split())


@pytest.mark.parametrize(
    "given",
    [["--date", "seen"], ["--age", "age=born:seen"], ["--date", "seen", "--categorical", "sex"]],
)
def test_units_of_what_is_encoded_are_told_as_by_a_fit(given, tmp_path, branchwise):
    rng, n = np.random.default_rng(0), 40
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["hb", "crp", "alb"])  # simulated
    frame["sex"] = rng.choice(["f", "m"], n)
    frame["born"] = pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 9000, n), "D")
    frame["seen"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")
    frame.to_csv(tmp_path / "t.csv", index=False)
    advice = json.loads(branchwise("info", tmp_path / "t.csv", *given, "--json")[1])["advice"]
    few = ("--no-support", "--figure", "none", "--no-report")
    branchwise("fit", tmp_path / "t.csv", "-o", tmp_path / "out", *few, *given)
    warned = json.loads((tmp_path / "out" / "run.json").read_text("utf-8"))["warnings"]
    [told] = [text for text in warned if "of the variance" in text]
    assert [text for text in advice if "of the variance" in text] == [told]
