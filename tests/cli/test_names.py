"""Names and labels of real tables: those that we write ourselves, and those with odd signs."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from branchwise._writing import guarded, unguarded
from branchwise.cli.results import read_samples, with_text, write_frame

from .conftest import read_rows, read_run

ID = ("--id", "patient")


@pytest.fixture
def with_column(simulated, tmp_path):
    """Write the simulated patients with one column more."""

    def write(name, values):
        path = tmp_path / "table.csv"
        simulated.assign(**{name: values}).to_csv(path, index=False)
        return path

    return write


@pytest.mark.parametrize("name", ["p", "id", "ddrtree0"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_column_named_like_one_of_ours_is_kept(
    name, ending, simulated, with_column, tmp_path, branchwise
):
    out = tmp_path / "out"
    given = ("--color", name, "--root", "T1", "--format", ending)
    path = with_column(name, simulated["stage"])
    assert branchwise("fit", path, "-o", out, *ID, *given)[0] == 0
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet}[ending]
    found = read(out / f"samples.{ending}").reset_index()
    assert found[name].tolist() == simulated["stage"].tolist()
    assert {"id", "ddrtree0", "ddrtree1", "p", f"{name}_"} <= set(found.columns)
    assert found[f"{name}_" if name == "id" else "id"][0] == "P000"
    assert branchwise("plot", out, "--color", name)[0] == 0
    assert branchwise("score", out, "--labels", name)[0] == 0


def test_pseudotime_is_that_of_the_tree_whatever_the_table_holds(
    with_column, tmp_path, branchwise, monkeypatch
):
    import branchwise.cli.pages as pages

    shown = []
    draw = pages.plot_embedding

    def watched(*given, color, **options):
        shown.append(color)
        return draw(*given, color=color, **options)

    monkeypatch.setattr(pages, "plot_embedding", watched)
    path = with_column("pseudotime", "unknown so far")
    assert branchwise("fit", path, "-o", tmp_path / "out", *ID, "--root", "T1")[0] == 0
    assert shown == ["pseudotime", "branch"]


def test_names_with_commas_and_equals_signs(simulated, tmp_path, branchwise):
    frame = simulated.rename(columns={"age": "dose, mg", "stage": "grade=new"})
    frame.to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "out"
    given = ("--exclude", '"dose, mg"', "--root", "grade=new=early")
    assert branchwise("fit", tmp_path / "t.csv", "-o", out, *ID, *given)[0] == 0
    assert read_run(out)["input"]["n_features"] == 6
    assert branchwise("plot", out, "--root", "grade=new=late", "--kind", "layout")[0] == 0


def test_labels_are_read_again_as_they_were(simulated, with_column, tmp_path, branchwise):
    """None is a therapy: it is not missing."""
    therapies = np.where(simulated["stage"] == "early", "None", "surgery")
    out = tmp_path / "out"
    given = ("--root", "therapy=None", "--figure", "none")
    assert branchwise("fit", with_column("therapy", therapies), "-o", out, *ID, *given)[0] == 0
    code, text, _ = branchwise("score", out, "--labels", "therapy", "--json")
    assert code == 0
    assert json.loads(text)["therapy"]["samples with a label"] == 150
    assert branchwise("plot", out, "--root", "therapy=surgery")[0] == 0


def test_codes_with_leading_zeros_stay_categories(simulated, tmp_path, branchwise):
    from branchwise.cli.results import read_result

    frame = simulated.assign(code=np.where(simulated["sex"] == "f", "01", "02"))
    frame.to_parquet(tmp_path / "t.parquet")
    out = tmp_path / "out"
    assert branchwise("fit", tmp_path / "t.parquet", "-o", out, *ID, "--figure", "none")[0] == 0
    assert set(read_result(out).samples["code"]) == {"01", "02"}
    assert read_rows(out / "samples.csv")[1][0][0] == "P000"


def test_a_column_without_a_value_is_named(with_column, tmp_path, branchwise):
    path = with_column("crp", np.nan)
    code, _, err = branchwise("fit", path, "-o", tmp_path / "out", *ID, "--impute", "median")
    assert code == 1
    assert "leave it out: --exclude crp." in err


def test_new_rows_without_a_feature_are_placed_and_that_is_told(
    fitted, simulated, tmp_path, branchwise
):
    simulated.assign(lab1=np.nan).to_csv(tmp_path / "new.csv", index=False)
    code, text, err = branchwise("transform", fitted, tmp_path / "new.csv", *ID)
    assert code == 0
    assert "has no values of 1 of the " in err
    assert "features: 'lab1'; its samples are placed by the others" in err
    assert len(text.splitlines()) == 151


def test_models_of_a_layer_take_other_formats(simulated, tmp_path, branchwise):
    anndata = pytest.importorskip("anndata")
    labs = simulated.set_index("patient").filter(like="lab")
    data = anndata.AnnData(labs)
    data.layers["raw"] = labs.to_numpy()
    data.write_h5ad(tmp_path / "a.h5ad")
    out = tmp_path / "out"
    given = ("--layer", "raw", "--figure", "none")
    assert branchwise("fit", tmp_path / "a.h5ad", "-o", out, *given)[0] == 0
    labs.to_csv(tmp_path / "new.csv")
    code, text, err = branchwise("transform", out, tmp_path / "new.csv")
    assert code == 0
    assert "lacks" not in err
    assert "missing" not in err
    assert len(text.splitlines()) == 151


def test_missing_covariates_are_counted_with_what_to_do(simulated, tmp_path, branchwise):
    frame = simulated.copy()
    frame.loc[[3, 5], "sex"] = None
    path, out = tmp_path / "t.csv", tmp_path / "out"
    frame.to_csv(path, index=False)
    given = ("fit", path, "-o", out, *ID, "--adjust", "age,sex", "--figure", "none")
    code, _, err = branchwise(*given, "--impute", "median")
    assert code == 1
    assert "2 missing values in 1 column: 'sex' 2 of 150; --adjust needs known values" in err
    assert branchwise(*given, "--impute", "drop")[0] == 0
    assert read_run(out)["input"]["dropped"] == ["P003", "P005"]


def test_dates_and_lists_of_parquet_are_annotations(simulated, tmp_path, branchwise):
    """Dates are coloured by days, and neither they nor lists are taken for groups."""
    frame = simulated.drop(columns=["sex", "stage"]).assign(
        codes=[[1, 2]] * 150,
        visit=pd.Timestamp("2024-01-01") + pd.to_timedelta([0, 7, 9] * 50, "D"),
    )
    path, out = tmp_path / "t.parquet", tmp_path / "out"
    frame.to_parquet(path)
    code, text, _ = branchwise("info", path, *ID, "--json")
    assert code == 0
    found = {column["name"]: column for column in json.loads(text)["columns"]}
    assert (found["codes"]["distinct"], found["codes"]["missing"]) == (1, 0)
    assert (found["visit"]["type"], found["visit"]["maximum"]) == ("date", "2024-01-10")
    assert {found[name]["fate"] for name in ("codes", "visit")} == {"annotation"}
    assert branchwise("fit", path, "-o", out, *ID)[0] == 0
    assert branchwise("fit", path, "-o", out, *ID, "--color", "visit", "--force")[0] == 0
    assert "visit (days since 2024-01-01)" in (out / "figure.svg").read_text(encoding="utf-8")


LABELS = st.text(st.sampled_from("=+-@\t\r\n'1.5ea, \""), min_size=1, max_size=4)


@settings(max_examples=60, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    names=st.lists(LABELS, min_size=3, max_size=3, unique=True),
    rows=st.lists(st.tuples(LABELS, LABELS, LABELS), min_size=1, max_size=4),
)
@example(names=["-", "a\r=1", "b"], rows=[("x\r=cmd", "'-5", "-5"), ("'", "\r", "\n")])
def test_tables_come_back_as_they_were_and_hold_no_formula(names, rows, tmp_path_factory):
    frame = pd.DataFrame(rows, columns=names).set_index(names[0])
    frame["number"] = -np.arange(len(rows)) - 0.5
    path = tmp_path_factory.mktemp("round") / "samples.csv"
    write_frame(frame, path)
    header, written = read_rows(path)
    assert {len(row) for row in [header, *written]} == {4}
    for cell in (cell for row in [header, *written] for cell in row):
        assert not cell.startswith(tuple("=+-@\t\r\n")) or np.isfinite(float(cell))
    found = read_samples(path, names[1:])
    assert found.index.tolist() == frame.index.tolist()
    assert found.index.name == names[0]
    assert found.columns.tolist() == [*names[1:], "number"]
    for name in frame:
        assert found[name].tolist() == frame[name].tolist()


def test_values_that_are_not_text_are_written_as_ever(tmp_path):
    frame = pd.DataFrame(
        {
            "whole": np.array([-1, None], dtype=object),
            "kind": pd.Categorical(["=a", "b"]),
            "since": pd.to_timedelta(["-1 days", None]),
            "day": pd.to_datetime(["2020-01-01", None]),
            "infinite": [-np.inf, np.nan],
            "flag": pd.array([True, None], dtype="boolean"),
        },
        index=["-x", "2"],
    )
    write_frame(frame, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().splitlines() == [
        ",whole,kind,since,day,infinite,flag",
        "'-x,-1,'=a,'-1 days,2020-01-01,-inf,True",
        "2,,b,,,,",
    ]
    again = with_text(with_text(frame, guarded), unguarded)
    pd.testing.assert_frame_equal(again.drop(columns="since"), frame.drop(columns="since"))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_formulas_in_names_and_labels_are_text_to_spreadsheets(
    ending, simulated, tmp_path, branchwise
):
    labels = np.where(np.arange(len(simulated)) % 2, "=HYPERLINK(1)", "'-plain")
    table = simulated.assign(**{"@stage": labels})
    table["patient"] = [f"-{name}" for name in table["patient"]]
    path, out = tmp_path / "table.csv", tmp_path / "out"
    table.to_csv(path, index=False)
    given = ("--color", "@@stage", "--root", "T1", "--format", ending)
    assert branchwise("fit", path, "-o", out, *ID, *given)[0] == 0
    if ending == "csv":
        header, rows = read_rows(out / "samples.csv")
        assert "'@stage" in header
        column = header.index("'@stage")
        assert {row[column] for row in rows} == {"'=HYPERLINK(1)", "''-plain"}
        assert {row[0][:3] for row in rows} == {"'-P"}
    samples = read_samples(out / f"samples.{ending}", ["@stage"])
    assert samples.index.tolist() == table["patient"].tolist()
    assert samples["@stage"].tolist() == labels.tolist()
    for command in (
        ["plot", out, "--color", "@@stage"],
        ["plot", out, "--root", "sample=-P010", "--kind", "layout"],
        ["plot", out, "--root", "@stage='-plain", "--kind", "layout"],
        ["plot", out, "--kind", "trends"],
        ["score", out, "--labels", "@@stage"],
        ["report", out, "-o", tmp_path / "page.html"],
    ):
        code, _, err = branchwise(*command)
        assert code == 0, err
    code, text, err = branchwise("transform", out, path)
    assert code == 0, err
    assert {line.split(",")[0][:3] for line in text.splitlines()[1:]} == {"'-P"}
    code, _, err = branchwise("transform", out, path, "-o", tmp_path / "placed.tsv")
    assert code == 0, err
    lines = (tmp_path / "placed.tsv").read_text().splitlines()
    assert {line.split("\t")[0][:3] for line in lines[1:]} == {"'-P"}
