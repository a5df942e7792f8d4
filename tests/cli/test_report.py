"""`branchwise report`, and the page that every fit writes."""

import json
import os
import shutil

import numpy as np
import pandas as pd
import pytest
from scipy import io, sparse

from branchwise.cli import main, pages
from branchwise.report import read_report

from .conftest import read_run


def column(state, name):
    [found] = [c for c in state["columns"] if c["name"] == name]
    return found


def groups(state, group):
    return [c["name"] for c in state["columns"] if c["group"] == group]


# Of every fit


def test_every_fit_writes_a_page(fitted, simulated):
    state = read_report(fitted / "report.html")
    run = read_run(fitted)
    assert run["files"]["report"] == "report.html"
    assert run["seconds"]["report"] > 0
    assert state["title"] == "patients.csv"
    assert state["samples"]["ids"] == simulated["patient"].tolist()
    assert state["is_rooted"]
    assert state["color"] == "stage"
    assert groups(state, "annotation") == ["age", "sex", "stage"]
    assert sorted(groups(state, "feature")) == [f"lab{k}" for k in range(6)]
    np.testing.assert_array_equal(
        column(state, "lab3")["values"], simulated["lab3"].to_numpy(np.float32)
    )
    assert state["model"]["features"] == [f"lab{k}" for k in range(6)]
    table = pd.read_csv(fitted / "branches.csv", index_col=0)
    assert state["trends"]["branches"] == table.index.tolist()
    assert state["notes"] == []


def test_the_page_says_nothing_of_the_machine(fitted, table):
    """It is mailed."""
    facts = read_report(fitted / "report.html")["facts"]
    run = read_run(fitted)
    assert facts["input"] == {
        "name": "patients.csv",
        "n_samples": 150,
        "n_features": 6,
        "n_annotations": 3,
        "dropped": 0,
        "sha256": run["input"]["sha256"],
    }
    assert facts["parameters"]["n_components"] == 6
    assert facts["root"] == "stage=early"
    for name in ("objective", "n_iter", "converged", "graph", "versions", "started", "warnings"):
        assert facts[name] == run[name], name
    assert {"read", "fit", "write"} <= set(facts["seconds"])
    text = json.dumps(facts)
    assert str(table.parent) not in text
    assert run["platform"] not in text
    assert "command" not in facts


def test_a_fit_may_do_without(table, tmp_path, branchwise):
    out = tmp_path / "out"
    given = ["--id", "patient", "--exclude", "age", "--figure", "none", "--no-report"]
    code, text, err = branchwise("fit", table, "-o", out, *given)
    assert (code, err) == (0, "")
    assert "report.html" not in text
    assert not (out / "report.html").exists()
    assert "report" not in read_run(out)["files"]
    assert "report" not in read_run(out)["seconds"]


def test_a_fit_is_not_lost_for_its_page(table, tmp_path, branchwise, monkeypatch):
    def fail(*args, **options):
        raise RuntimeError("no\npage today")

    monkeypatch.setattr(pages, "write_report", fail)
    out = tmp_path / "out"
    given = ["--id", "patient", "--exclude", "age", "--figure", "none"]
    code, text, err = branchwise("fit", table, "-o", out, *given)
    assert code == 0
    assert err == (
        "branchwise: warning: the report could not be made (RuntimeError: no page today); all "
        f"other results are complete, and branchwise report {out} tries again.\n"
    )
    assert "report.html" not in text
    assert (out / "model.branchwise").exists()
    assert read_run(out)["warnings"] == [err.removeprefix("branchwise: warning: ").strip()]
    monkeypatch.undo()
    # The page is there, so that it says neither that, nor where.
    run = read_run(out)
    run["warnings"] += [f"{out} is nearly full", f"{table} has gaps"]
    (out / "run.json").write_text(json.dumps(run))
    assert branchwise("report", out)[0] == 0
    facts = read_report(out / "report.html")["facts"]
    assert facts["warnings"] == ["out is nearly full", "patients.csv has gaps"]
    assert str(out) not in json.dumps(facts)


def test_dropped_rows_and_features_as_colours(simulated, tmp_path, branchwise):
    frame = simulated.copy()
    frame.loc[[3, 70], "lab2"] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    given = ["--id", "patient", "--impute", "drop", "--standardize", "--color", "lab2"]
    code, _, err = branchwise("fit", tmp_path / "t.csv", "-o", tmp_path / "out", *given)
    assert (code, err) == (0, "")
    state = read_report(tmp_path / "out" / "report.html")
    assert len(state["samples"]["ids"]) == 148
    assert "P003" not in state["samples"]["ids"]
    assert state["facts"]["input"]["dropped"] == 2
    assert state["color"] == "lab2"
    assert groups(state, "annotation") == ["sex", "stage"]
    assert "lab2" in groups(state, "feature")
    assert state["model"]["drops_missing"]
    again = tmp_path / "again.html"
    assert branchwise("report", tmp_path / "out", "-o", again)[0] == 0
    state["facts"].pop("seconds")
    other = read_report(again)
    other["facts"].pop("seconds")
    np.testing.assert_equal(other, state)


def test_a_fit_is_replaced_with_its_page(table, tmp_path, branchwise):
    out = tmp_path / "out"
    given = ["--id", "patient", "--figure", "none"]
    assert branchwise("fit", table, "-o", out, *given)[0] == 0
    assert branchwise("fit", table, "-o", out, *given, "--force")[0] == 0
    (out / "notes.html").write_text("mine")
    code, _, err = branchwise("fit", table, "-o", out, *given, "--force")
    assert code == 1
    assert "holds notes.html, which branchwise fit did not write" in err


def test_sparse_tables(tmp_path, branchwise):
    rng = np.random.default_rng(0)
    counts = rng.poisson(np.exp(np.outer(rng.random(60), rng.normal(size=70)))).astype(float)
    io.mmwrite(tmp_path / "counts.mtx", sparse.csr_array(counts))
    given = ["--log1p", "--standardize", "--figure", "none"]
    code, _, err = branchwise("fit", tmp_path / "counts.mtx", "-o", tmp_path / "out", *given)
    assert (code, err) == (0, "")
    state = read_report(tmp_path / "out" / "report.html")
    assert len(groups(state, "feature")) == 60
    assert state["notes"][0].startswith("60 of 70 features are in this page")
    assert "reason" not in state["model"]


def test_tables_read_chunk_by_chunk_have_no_features_in_the_page(simulated, tmp_path, branchwise):
    simulated.to_parquet(tmp_path / "t.parquet", index=False)
    out = tmp_path / "out"
    given = ["--id", "patient", "--scheduler", "threads", "--n_centers", "25", "--figure", "none"]
    assert branchwise("fit", tmp_path / "t.parquet", "-o", out, *given)[0] == 0
    state = read_report(out / "report.html")
    assert groups(state, "feature") == []
    assert state["notes"] == [
        "Features are not in this page: the table was read chunk by chunk (--scheduler)."
    ]
    assert state["trends"] is None
    code, _, err = branchwise("report", out)
    assert code == 0
    assert "warning: the report is without features: " in err
    assert "was read chunk by chunk (--scheduler)" in err
    assert str(tmp_path) not in read_report(out / "report.html")["notes"][0]


# Again


def test_a_page_with_another_root_colour_title_and_more(fitted, tmp_path, branchwise):
    out = tmp_path / "page.html"
    given = ["--root", "T2", "--color", "lab1", "--title", "<b>Mine</b>", "--feature", "age"]
    code, text, err = branchwise("report", fitted, *given, "-o", out)
    assert (code, text, err) == (0, f"report written in {out}\n", "")
    state = read_report(out)
    assert state["title"] == "<b>Mine</b>"
    assert "<title>&lt;b&gt;Mine&lt;/b&gt;</title>" in out.read_text("utf-8")
    assert state["color"] == "lab1"
    assert groups(state, "feature")[:2] == ["age", "lab1"]
    assert groups(state, "annotation") == ["sex", "stage"]
    assert state["facts"]["root"] == "T2"
    names = dict(zip(state["graph"]["named"]["node"], state["graph"]["named"]["name"], strict=True))
    assert [names[node] for node in state["graph"]["wanted"]] == ["T2"]
    trends = state["trends"]
    assert len(trends["mean"]) == 7 * len(trends["branches"]) * trends["n_points"]
    assert state["model"]["features"] == [f"lab{k}" for k in range(6)]


@pytest.mark.parametrize(
    ("root", "n_nodes"), [("sample=P010", 1), ("sex=f", 0), ("auto", 0)], ids=str
)
def test_roots(root, n_nodes, fitted, tmp_path, branchwise):
    before = read_report(fitted / "report.html")["graph"]
    assert branchwise("report", fitted, "--root", root, "-o", tmp_path / "p.html")[0] == 0
    state = read_report(tmp_path / "p.html")
    assert state["is_rooted"]
    assert len(state["graph"]["nodes"]) - len(before["nodes"]) == 6 * n_nodes


def test_the_page_in_the_folder_is_replaced_and_others_are_not(fitted, tmp_path, branchwise):
    before = read_report(fitted / "report.html")
    code, text, _ = branchwise("report", fitted, "--json")
    assert code == 0
    found = json.loads(text)
    assert found["out"] == str(fitted / "report.html")
    assert found["bytes"] == os.path.getsize(found["out"])
    after = read_report(fitted / "report.html")
    for state in (before, after):
        state["facts"].pop("seconds")
    np.testing.assert_equal(after, before)
    (tmp_path / "mine.html").write_text("mine")
    code, _, err = branchwise("report", fitted, "-o", tmp_path / "mine.html")
    assert code == 1
    assert "mine.html exists; choose another -o, or add --force to replace it." in err
    assert branchwise("report", fitted, "-o", tmp_path / "mine.html", "--force")[0] == 0


def test_without_the_input_the_page_says_so(simulated, tmp_path, branchwise):
    path, out = tmp_path / "t.csv", tmp_path / "out"
    simulated.to_csv(path, index=False)
    assert branchwise("fit", path, "-o", out, "--id", "patient", "--figure", "none")[0] == 0
    with path.open("a") as file:
        file.write("P999,1,1,1,1,1,1,50,f,late\n")
    before = (out / "report.html").read_bytes()
    code, _, err = branchwise("report", out)
    assert code == 1
    assert "has features, and the page in its place would be without; put the input back" in err
    assert (out / "report.html").read_bytes() == before
    code, _, err = branchwise("report", out, "--force")
    assert code == 0
    assert err == (
        f"branchwise: warning: the report is without features: the input {path} has changed since "
        "the fit; run branchwise fit again.\n"
    )
    state = read_report(out / "report.html")
    assert state["notes"] == [
        "Features are not in this page: the input t.csv has changed since the fit; run branchwise "
        "fit again."
    ]
    assert groups(state, "feature") == []
    assert groups(state, "annotation") == ["sex", "stage"]
    assert "reason" not in state["model"]
    for given in (["--feature", "lab3"], ["--color", "lab3"]):
        code, _, err = branchwise("report", out, *given)
        assert code == 1
        assert err == (
            f"branchwise report: the report cannot have 'lab3': the input {path} has changed since "
            "the fit; run branchwise fit again.\n"
        )


def test_the_demo_has_its_features_without_a_file(tmp_path, branchwise):
    out = tmp_path / "demo"
    code, text, _ = branchwise("demo", "-o", out)
    assert code == 0
    assert "figure.svg, report.html, run.json in" in text
    state = read_report(out / "report.html")
    assert state["title"] == "scikit-learn's breast-cancer table"
    assert state["color"] == "diagnosis"
    assert len(groups(state, "feature")) == 30
    code, _, err = branchwise("report", out, "--color", "pseudotime")
    assert (code, err) == (0, "")
    assert len(groups(read_report(out / "report.html"), "feature")) == 30


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            ["--color", "staeg"],
            "has no column 'staeg'; did you mean 'stage'",
        ),
        (["--root", "sample=Q"], "--root sample=Q is not a sample; they are P000"),
        (["--root", "T77"], "is not a node of the graph"),
        (["--feature", "lab9"], "--feature: "),
        (["--feature", "stage"], "--feature 'stage' is not a column of numbers; name another one."),
    ],
    ids=["color", "sample", "root", "feature", "words"],
)
def test_errors_are_one_line(given, says, fitted, tmp_path, branchwise):
    code, _, err = branchwise("report", fitted, *given, "-o", tmp_path / "p.html")
    assert code == 1
    assert says in err
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["density", "distance from the tree", "uncertainty"])
def test_what_is_computed_can_be_coloured_by(name, fitted, tmp_path, branchwise):
    assert branchwise("report", fitted, "--color", name, "-o", tmp_path / "p.html")[0] == 0
    assert read_report(tmp_path / "p.html")["color"] == name


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (
            lambda run: run["input"].pop("dropped"),
            "is damaged ('dropped'); run branchwise fit again.",
        ),
        (lambda run: run.update(warnings=[1]), "is damaged (its warnings are not a list of text);"),
        (lambda run: run.update(warnings="x"), "is damaged (its warnings are not a list of text);"),
        (lambda run: run.update(input=None), "is damaged ("),
    ],
    ids=["dropped", "number", "text", "input"],
)
def test_a_damaged_record(damage, says, fitted, tmp_path, branchwise):
    out = tmp_path / "out"
    shutil.copytree(fitted, out)
    run = read_run(out)
    damage(run)
    (out / "run.json").write_text(json.dumps(run))
    code, _, err = branchwise("report", out)
    assert code == 1
    assert f"branchwise report: {out} {says}" in err


def test_wrong_usage(fitted, tmp_path, branchwise):
    code, _, err = branchwise("report", fitted, "-o", tmp_path / "page.pdf")
    assert code == 2
    assert "page.pdf must end in .html." in err
    code, _, err = branchwise("report", tmp_path)
    assert code == 1
    assert "is not a result of branchwise fit: it has no run.json; run branchwise fit first." in err


def test_completion_knows_the_command(capsys):
    assert main(["completion", "bash"]) == 0
    assert "--no-report" in capsys.readouterr().out
