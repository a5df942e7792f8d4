"""Categories, ordered ones, dates and ages as options, from a fit to new rows."""

import io
import json

import numpy as np
import pandas as pd
import pytest

import branchwise as package
from branchwise.cli import main


@pytest.fixture(scope="module")
def clinic(simulated):
    """Simulated: the patients with a grade, a yes/no column, a group by number, and dates."""
    rng = np.random.default_rng(1)
    seen = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, 150), "D")
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 9000, 150), "D")
    frame = simulated.assign(
        grade=rng.choice(["low", "mid", "high, or so"], 150),
        smoker=rng.choice(["yes", "no"], 150),
        group=rng.integers(1, 4, 150),
        seen=seen.strftime("%Y-%m-%d"),
        born=born.strftime("%d.%m.%Y"),
    )
    frame.loc[[3, 5], "sex"] = None
    frame.loc[4, "lab1"] = None
    return frame


ENCODED = [
    *("--id", "patient", "--categorical", "sex,sm*,group", "--date", "seen"),
    *("--ordinal", 'grade=low,mid,"high, or so"', "--age", "years=born:seen"),
]


@pytest.fixture(scope="module")
def path(clinic, tmp_path_factory):
    path = tmp_path_factory.mktemp("clinic") / "clinic.csv"
    clinic.drop(columns=["age", "stage"]).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def coded(path, tmp_path_factory):
    out = tmp_path_factory.mktemp("coded") / "out"
    given = ["fit", str(path), "-o", str(out), *ENCODED, "--impute", "median", "--standardize"]
    given += ["--full-precision"]
    assert main([*given, "--no-support", "--figure", "none", "--root", "auto"]) == 0
    return out


def test_the_record_names_what_was_encoded(coded, branchwise):
    run = json.loads((coded / "run.json").read_text("utf-8"))
    assert run["preparation"]["categorical"] == ["sex", "smoker", "group"]
    assert run["preparation"]["ordinal"] == {"grade": ["low", "mid", "high, or so"]}
    assert run["preparation"]["dates"] == ["seen"]
    assert run["preparation"]["ages"] == {"years": ["born", "seen"]}
    assert run["input"]["n_features"] == 12
    assert run["warnings"] == []
    _, out, _ = branchwise("info", coded)
    assert "categorical=sex, smoker and group, ordinal=grade (low, mid, high, or so)" in out
    assert "dates=seen, ages=years (born, seen), impute=median" in out


def test_the_summary_counts_what_was_encoded(path, tmp_path, branchwise):
    # Days have by far the widest spread: without the last option that is a warning.
    given = [*ENCODED, "--impute", "drop", "--no-support", "--no-report", "--figure", "none"]
    code, out, err = branchwise("fit", path, "-o", tmp_path / "out", *given, "--standardize")
    assert (code, err) == (0, "")
    assert "prepared   3 categories, 1 ordered category, 1 date, 1 age, impute, standardize" in out
    assert "150 samples, 3 dropped x 12 features" in out


def test_new_rows_are_encoded_as_the_first(coded, path, clinic, tmp_path, branchwise):
    new = clinic.iloc[:30, ::-1].copy()
    new["group"] = new["group"].astype(float)
    new.to_csv(tmp_path / "new.csv", index=False)
    given = ("transform", coded, tmp_path / "new.csv", "--id", "patient", "--full-precision")
    code, out, err = branchwise(*given)
    assert code == 0
    assert not err or "1 of 30 rows" in err  # of those of the fit one in twenty has p <= 0.05
    placed = pd.read_csv(io.StringIO(out), index_col=0)
    own = pd.read_csv(coded / "samples.csv", index_col=0).iloc[:30]
    names = [name for name in own if name.startswith("projection")]
    np.testing.assert_allclose(placed[names], own[names], rtol=1e-9)
    dates = new.assign(born=pd.to_datetime(new["born"], format="%d.%m.%Y"), seen=new["seen"])
    model = package.load(coded / "model.branchwise")
    places = model.place(dates.set_index("patient"))
    np.testing.assert_allclose(places[names], own[names], rtol=1e-9)


def test_unseen_levels_are_one_line(coded, clinic, tmp_path, branchwise):
    clinic.iloc[:9].assign(smoker="maybe").to_csv(tmp_path / "new.csv", index=False)
    code, out, err = branchwise("transform", coded, tmp_path / "new.csv", "--id", "patient")
    assert (code, out) == (1, "")
    assert len(err.splitlines()) == 1
    assert "9 of 9 rows have levels that the fit did not know: 'smoker' has 'maybe' in 9" in err


def test_gaps_of_categories_are_counted_before_the_fit(path, tmp_path, branchwise):
    code, _, err = branchwise("fit", path, "-o", tmp_path / "out", *ENCODED)
    assert code == 1
    assert "has 3 missing values in 2 columns: 'sex' 2 of 150, 'lab1' 1 of 150; pass --imp" in err


def test_page_and_pictures_are_made_again(coded, branchwise):
    code, _, err = branchwise("report", coded, "--force", "--feature", "lab2")
    assert (code, err) == (0, "")
    assert "New samples cannot be placed" not in (coded / "report.html").read_text("utf-8")
    code, _, err = branchwise("plot", coded, "--kind", "heatmap", "--force")
    assert (code, err) == (0, "")
    code, _, err = branchwise("report", coded, "--force", "--feature", "sex")
    assert code == 1
    assert "sex" in err


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--ordinal", "grade"], "'grade' must be COLUMN=LEVEL,LEVEL,…, for instance grade=low,m"),
        (["--ordinal", "grade="], "'grade=' must be COLUMN=LEVEL"),
        (["--ordinal", "grade=low"], "--ordinal gives 'grade' the levels 'low', but must give two"),
        (["--ordinal", "g=a,b", "--ordinal", "g=b,c"], "--ordinal is given twice for 'g'; leave"),
        (["--age", "years=born"], "'years=born' must be NAME=START:END, a new name and two colum"),
        (["--age", "years=a:b:c"], "must be NAME=START:END"),
        (["--age", "y=a:b", "--age", "y=a:c"], "--age is given twice for 'y'"),
        (["--categorical", "sex", "--scheduler", "threads"], "--categorical needs all rows of the"),
        (["--ordinal", "g=a,b", "--scheduler", "threads"], "--ordinal needs all rows of the table"),
        (["--date", "seen", "--scheduler", "threads"], "--date needs all rows of the table"),
        (["--age", "y=a:b", "--scheduler", "threads"], "--age needs all rows of the table"),
        (["--date", "seen", "--kernel", "precomputed"], "--date is for features, not for a kernel"),
    ],
    ids=range(12),
)
def test_wrong_options_are_wrong_usage(given, says, path, tmp_path, branchwise):
    code, out, err = branchwise("fit", path, "-o", tmp_path / "out", *given)
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--categorical", "sexx"], "has no column 'sexx'; did you mean 'sex'"),
        (["--categorical", "born"], "categorical names 'born', which holds dates, and dates are"),
        (
            ["--ordinal", "grade=low,mid"],
            "rows have levels that --ordinal does not name: 'grade' has",
        ),
        (["--date", "grade"], "which is not a date"),
        (
            ["--age", "y=born:*n"],
            "--age has the pattern '*n', which fits 2 columns ('seen', 'born')",
        ),
    ],
    ids=range(5),
)
def test_what_does_not_fit_the_table_is_one_line(given, says, path, tmp_path, branchwise):
    options = ["--id", "patient", "--impute", "median", *given]
    code, out, err = branchwise("fit", path, "-o", tmp_path / "out", *options)
    assert (code, out) == (1, "")
    assert says in err
    assert len(err.splitlines()) == 1


def test_a_new_table_may_lack_columns_that_were_encoded(coded, clinic, tmp_path, branchwise):
    new = clinic.iloc[:30].drop(columns=["sex", "seen", "lab2"])
    new.to_csv(tmp_path / "new.csv", index=False)
    code, out, err = branchwise("transform", coded, tmp_path / "new.csv")
    assert code == 0
    # The age is between two dates, one of which is not there.
    assert "no values of 4 of the 12 features: 'lab2', 'sex', 'seen', 'years' (from" in err
    placed = pd.read_csv(io.StringIO(out), index_col=0)
    assert (placed["missing"] >= 4).all()
    assert placed["pseudotime"].notna().all()


@pytest.mark.parametrize("spelt", ["{:.1f}", "{}", " {}"])
def test_a_level_is_the_same_however_its_number_is_written(
    spelt, coded, clinic, tmp_path, branchwise
):
    """Words beside the numbers, in another row, change how a file is read."""
    own = pd.read_csv(coded / "samples.csv", index_col=0)
    new = clinic.iloc[:20].astype({"group": object})
    new["group"] = [spelt.format(level) for level in new["group"]]
    new.to_csv(tmp_path / "new.csv", index=False)
    given = ("transform", coded, tmp_path / "new.csv", "--full-precision")
    code, out, err = branchwise(*given)
    assert (code, err) == (0, "")
    placed = pd.read_csv(io.StringIO(out), index_col=0)
    np.testing.assert_allclose(placed["projection0"], own["projection0"].iloc[:20], rtol=1e-9)


def test_the_order_of_day_and_month_goes_with_the_model(clinic, tmp_path, branchwise):
    """The dates of the fit tell it; those of one new patient may not."""
    frame = clinic.drop(columns=["age", "stage", "sex", "grade", "smoker", "group", "born"])
    frame["seen"] = pd.to_datetime(frame["seen"]).dt.strftime("%m/%d/%Y")
    frame.to_csv(tmp_path / "old.csv", index=False)
    out = tmp_path / "out"
    given = ["--id", "patient", "--date", "seen", "--standardize", "--impute", "median"]
    given += ["--no-support", "--no-report", "--figure", "none", "--full-precision"]
    assert branchwise("fit", tmp_path / "old.csv", "-o", out, *given)[0] == 0
    model = package.load(out / "model.branchwise")
    assert model.reading["date_order"] == {"seen": "mdy"}
    assert model.preparation.steps_["encode"].orders.count("mdy") == 1
    both_ways = frame[frame["seen"].str[3:5].astype(int) <= 12].iloc[:2]
    both_ways.to_csv(tmp_path / "new.csv", index=False)
    code, text, err = branchwise("transform", out, tmp_path / "new.csv", "--full-precision")
    assert (code, err) == (0, "")
    placed = pd.read_csv(io.StringIO(text), index_col=0)
    own = pd.read_csv(out / "samples.csv", index_col=0).loc[both_ways["patient"]]
    np.testing.assert_allclose(placed["projection0"], own["projection0"], rtol=1e-9)
    places = model.place(both_ways.set_index("patient"))
    np.testing.assert_allclose(places["projection0"], own["projection0"], rtol=1e-9)
    frame.iloc[:2].assign(seen=["01/02/2020", "13/04/2020"]).to_csv(tmp_path / "new.csv")
    code, _, err = branchwise("transform", out, tmp_path / "new.csv")
    assert code != 0
    assert "column 'seen' holds '13/04/2020' in data row 2, which is not a date with the m" in err
    assert err.count("13/04/2020") == 1


def test_a_category_without_a_value_is_not_to_be_excluded(tmp_path, branchwise):
    frame = pd.DataFrame({"a": [1.0, 2, 3], "b": [3.0, 1, 2], "sex": [None] * 3})
    frame.to_csv(tmp_path / "a.csv", index=False)
    given = ["fit", tmp_path / "a.csv", "-o", tmp_path / "out", "--categorical", "sex"]
    code, _, err = branchwise(*given, "--impute", "median")
    assert code == 1
    assert "has no value at all in 'sex'; leave it out of --categorical, --ordinal, --d" in err


def test_columns_of_one_table_may_have_their_dates_in_different_orders(
    clinic, tmp_path, branchwise
):
    frame = clinic[["patient", "lab1", "lab2", "seen"]].copy()
    seen = pd.to_datetime(frame["seen"])
    frame["seen"], frame["born"] = seen.dt.strftime("%d/%m/%Y"), seen.dt.strftime("%m/%d/%Y")
    frame.to_csv(tmp_path / "old.csv", index=False)
    out = tmp_path / "out"
    given = ["--id", "patient", "--date", "born,seen", "--standardize", "--impute", "median"]
    given += ["--no-support", "--no-report", "--figure", "none"]
    assert branchwise("fit", tmp_path / "old.csv", "-o", out, *given)[0] == 0
    model = package.load(out / "model.branchwise")
    assert model.reading["date_order"] == {"born": "mdy", "seen": "dmy"}
    step = model.preparation.steps_["encode"]
    orders = dict(zip(step.columns, step.orders, strict=True))
    assert (orders["born"], orders["seen"]) == ("mdy", "dmy")


def test_names_like_patterns_mean_themselves_in_a_model(simulated, tmp_path, branchwise):
    rng = np.random.default_rng(0)
    frame = simulated[["patient", "lab1", "lab2"]].assign(
        **{
            "se[x]": rng.choice(["f", "m"], len(simulated)),
            "site*": rng.choice(["a", "b"], len(simulated)),
            "seen?": "2024-01-01",
        }
    )
    frame.loc[::2, "seen?"] = "2024-02-01"
    frame.to_csv(tmp_path / "old.csv", index=False)
    out = tmp_path / "out"
    given = ["--id", "patient", "--categorical", "se[x],site*", "--date", "seen?", "--standardize"]
    given += ["--no-support", "--no-report", "--figure", "none"]
    assert branchwise("fit", tmp_path / "old.csv", "-o", out, *given)[0] == 0
    new = frame.iloc[:9].rename(columns={"se[x]": "sex"}).assign(site1=1.5, seen2="words")
    new.to_csv(tmp_path / "new.csv", index=False)
    code, text, err = branchwise("transform", out, tmp_path / "new.csv")
    assert code == 0
    assert "se[x]" in err
    assert len(text.splitlines()) == 10
    assert "sex" in text.splitlines()[0]


@pytest.mark.parametrize("command", ["fit", "info"])
@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--exclude", "sex", "--categorical", "sex"], "'sex' (--categorical); name it in one of"),
        (
            ["--exclude", "s[e]*", "--date", "seen", "--ordinal", "sex=f,m"],
            "'sex' (--ordinal), 'seen' (--date); name each of them in one of the two.",
        ),
    ],
)
def test_what_is_left_out_is_no_feature_as_well(command, given, says, path, tmp_path, branchwise):
    out = ["-o", tmp_path / "out", "--impute", "median"] if command == "fit" else ["--json"]
    code, text, err = branchwise(command, path, "--id", "patient", *out, *given)
    told = err if command == "fit" else json.loads(text)["fit"]
    assert code == (1 if command == "fit" else 0)
    assert "--exclude leaves out what is to be a feature: " + says in told


def test_a_date_that_is_left_out_still_makes_an_age(path, tmp_path, branchwise):
    given = ["--id", "patient", "--exclude", "seen", "--age", "years=born:seen", "--impute", "drop"]
    few = ["--no-support", "--no-report", "--figure", "none", "--standardize"]
    assert branchwise("fit", path, "-o", tmp_path / "out", *given, *few)[0] == 0


@pytest.mark.parametrize("command", ["fit", "info"])
def test_the_names_of_the_samples_are_not_encoded(command, path, tmp_path, branchwise):
    out = ["-o", tmp_path / "out", "--impute", "median"] if command == "fit" else ["--json"]
    code, text, err = branchwise(command, path, *out, "--categorical", "patient")
    told = err if command == "fit" else json.loads(text)["fit"]
    assert code == (2 if command == "fit" else 0)
    assert "--categorical: 'patient' is the column with the names of the samples of" in told


def test_a_root_that_is_a_sample_or_a_column_is_told(path, tmp_path, branchwise):
    given = ["fit", path, "-o", tmp_path / "out", "--impute", "median", "--no-support"]
    for root, hint in (("P003", "sample: --root sample=P003."), ("sex", "--root sex=LABEL.")):
        code, _, err = branchwise(*given, "--root", root)
        assert code == 1
        assert f"node='{root}' is not a node of the graph;" in err
        assert hint in err


@pytest.mark.parametrize(
    ("cells", "gap", "says"),
    [
        (
            {4: "not done"},
            "",
            ["'seen' 1 of", "Also: column 'seen' holds 'not done' in data"],
        ),
        ({4: "01/01/0217"}, None, ["'01/01/0217' in data row 5, whose year is not between 1800"]),
        ({4: "01/01/9999"}, None, ["'01/01/9999' in data row 5, whose year is not between 1800"]),
    ],
    ids=range(3),
)
def test_cells_that_are_not_dates_are_told_at_once(cells, gap, says, tmp_path, branchwise):
    days = pd.date_range("2020-01-01", periods=60)
    frame = pd.DataFrame({"crp": np.arange(60) % 7, "alb": np.arange(60) % 11 + 0.5})
    frame["seen"] = days.strftime("%d/%m/%Y").to_numpy(object)
    frame.loc[list(cells), "seen"] = list(cells.values())
    frame.loc[9, "seen"] = frame.loc[9, "seen"] if gap is None else gap
    frame.to_csv(tmp_path / "a.csv", index=False)
    code, _, err = branchwise("fit", tmp_path / "a.csv", "-o", tmp_path / "out", "--date", "seen")
    assert code == 1
    for words in says:
        assert words in err
