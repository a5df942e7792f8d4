"""Names and labels of real tables: those that we write ourselves, and those with odd signs."""

import json

import numpy as np
import pandas as pd
import pytest

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


@pytest.mark.parametrize("name", ["center", "sample", "ddrtree0"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_column_named_like_one_of_ours_is_kept(
    name, ending, simulated, with_column, tmp_path, branchwise
):
    out = tmp_path / "out"
    given = ("--color", name, "--root", "T1", "--format", ending)
    path = with_column(name, simulated["stage"])
    assert branchwise("fit", path, "-o", out, *ID, *given)[0] == 0
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet}[ending]
    found = read(out / f"embedding.{ending}").reset_index()
    assert found[name].tolist() == simulated["stage"].tolist()
    assert {"sample", "ddrtree0", "ddrtree1", "center", f"{name}_"} <= set(found.columns)
    assert found[f"{name}_" if name == "sample" else "sample"][0] == "P000"
    assert branchwise("plot", out, "--color", name)[0] == 0
    assert branchwise("score", out, "--labels", name)[0] == 0


def test_pseudotime_is_that_of_the_tree_whatever_the_table_holds(
    with_column, tmp_path, branchwise, monkeypatch
):
    import branchwise.cli.fit as fit

    shown = []
    draw = fit.plot_embedding

    def watched(*given, color, **options):
        shown.append(color)
        return draw(*given, color=color, **options)

    monkeypatch.setattr(fit, "plot_embedding", watched)
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
    assert read_rows(out / "embedding.csv")[1][0][0] == "P000"


def test_a_column_without_a_value_is_named(with_column, tmp_path, branchwise):
    path = with_column("crp", np.nan)
    code, _, err = branchwise("fit", path, "-o", tmp_path / "out", *ID, "--impute", "median")
    assert code == 1
    assert "has none in crp; leave such columns out with --exclude." in err


def test_missing_values_of_new_rows_get_advice_that_transform_can_follow(
    fitted, simulated, tmp_path, branchwise
):
    simulated.assign(lab1=np.nan).to_csv(tmp_path / "new.csv", index=False)
    code, _, err = branchwise("transform", fitted, tmp_path / "new.csv")
    assert code == 1
    assert "fill them in, or run branchwise fit with --impute median" in err


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
    assert (code, err) == (0, "")
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
    assert json.loads(text)["annotations"]["codes"] == "1 values, 0 missing"
    assert branchwise("fit", path, "-o", out, *ID)[0] == 0
    assert branchwise("fit", path, "-o", out, *ID, "--color", "visit", "--force")[0] == 0
    assert "visit (days)" in (out / "figure.svg").read_text(encoding="utf-8")
