"""Columns by name, pattern or file on the command line, from a table to pictures."""

import json

import numpy as np
import pandas as pd
import pytest

from branchwise import load
from branchwise.cli import main
from branchwise.cli.results import read_result

PLAIN = ["--figure", "none", "--no-report", "--no-support"]


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """A simulated clinical table with a little of everything."""
    rng, n = np.random.default_rng(0), 60
    genes = pd.DataFrame(rng.normal(size=(n, 6)), columns=[f"gene{k}" for k in range(6)])
    table = genes.assign(
        patient_id=[f"P{k}" for k in range(n)],
        zip=[f"{z:05d}" for z in rng.integers(0, 20_000, n)],
        seen=pd.date_range("2020-01-28", periods=n).strftime("%d.%m.%Y"),
        pam50_subtype=rng.choice(["LumA", "Her2"], n),
        pam50_score=rng.normal(size=n),
        status=rng.integers(0, 2, n),
        age=rng.integers(30, 80, n),
    )
    for k in range(4):
        table[f"g{k}_mut"] = ["R1C", *["0"] * (n - 1)]
    folder = tmp_path_factory.mktemp("clinic")
    table = table[["patient_id", *table.columns.drop("patient_id")]]
    table.to_csv(folder / "clinic.csv.gz", index=False)
    (folder / "genes.txt").write_text("# measured\ngene?\n")
    return folder


def fit(clinic, out, *options):
    return main(["fit", str(clinic / "clinic.csv.gz"), "-o", str(out), *map(str, options)])


@pytest.fixture(scope="module")
def result(clinic, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "out"
    chosen = ["--include", f"@{clinic / 'genes.txt'}", "--adjust", "ag*"]
    colors = ["--color", "pam50*", "seen", "--color", "status", "--figure", "png", "--no-support"]
    assert fit(clinic, out, "--id", "patient_i?", *chosen, *colors) == 0
    return out


def test_patterns_and_files_choose_features_colors_and_covariates(result):
    run = json.loads((result / "run.json").read_text())
    genes = [f"gene{k}" for k in range(6)]
    made = load(result / "model.branchwise")
    assert made.features == genes
    assert made.preparation.adjust == ["age"]
    assert made.reading["id"] == "patient_id"
    assert made.reading["include"] == genes
    assert made.reading["exclude"] == ["age"]
    assert run["command"]["color"] == ["pam50_subtype", "pam50_score", "seen", "status"]
    assert run["columns"]["dates"] == ["seen"]
    assert "zip" in run["columns"]["text"]


def test_codes_and_dates_come_back_from_what_is_written(clinic, result):
    samples = read_result(result).samples
    given = pd.read_csv(clinic / "clinic.csv.gz", dtype=str).set_index("patient_id")
    assert samples["zip"].tolist() == given["zip"].tolist()
    assert samples["seen"].dtype.kind == "M"
    assert samples["seen"].dt.strftime("%d.%m.%Y").tolist() == given["seen"].tolist()


def test_dates_of_a_result_are_numbers_in_pictures_and_pages(result, tmp_path):
    from branchwise.report import read_report

    assert main(["plot", str(result), "--color", "se*", "-o", str(tmp_path / "a.png")]) == 0
    page = tmp_path / "page.html"
    assert main(["report", str(result), "--color", "se*", "-o", str(page)]) == 0
    [column] = [c for c in read_report(page)["columns"] if c["name"] == "seen"]
    assert (column["kind"], column["unit"]) == ("number", "days since 2020-01-28")


def test_a_date_may_be_the_label_that_the_root_has(clinic, tmp_path):
    chosen = ["--id", "patient_id", "--include", "gene*", "--root", "seen=2020-02-01"]
    assert fit(clinic, tmp_path / "out", *chosen, *PLAIN) == 0


def test_patterns_where_results_are_drawn_and_scored(result, tmp_path, capsys):
    picture = ["-o", str(tmp_path / "a.png")]
    assert main(["plot", str(result), "--color", "pam50*", *picture]) == 0
    assert main(["plot", str(result), "--color", "x*", "stat", *picture, "--force"]) == 1
    told = capsys.readouterr().err
    assert "lacks 2 of the columns that were named: --color 'x*' (no column fits" in told
    assert "'stat' (did you mean 'status'?)" in told
    assert main(["report", str(result), "--color", "pam50*", "-o", str(tmp_path / "a.html")]) == 2
    assert "fits 2 columns ('pam50_subtype', 'pam50_score')" in capsys.readouterr().err
    assert main(["score", str(result), "--labels", "pam50_su*", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == ["pam50_subtype"]
    assert main(["score", str(result), "--labels", "stag*"]) == 1
    assert "--labels: " in capsys.readouterr().err


def test_features_may_be_patterns_and_all_that_are_not_there_are_told(result, tmp_path, capsys):
    picture = ["-o", str(tmp_path / "a.png"), "--force", "--kind", "trends"]
    assert main(["plot", str(result), *picture, "--feature", "gene[01]", "gene0"]) == 0
    page = ["report", str(result), "-o", str(tmp_path / "a.html")]
    for command in (["plot", str(result), *picture], page):
        assert main([*command, "--feature", "gene77", "zz*", "gene0"]) == 1
        told = capsys.readouterr().err
        assert "lacks 2 of the columns that were named: --feature 'gene77' (did you mean" in told
        assert "'zz*' (no column fits this pattern)" in told


def test_commas_separate_colors_where_no_column_has_them_in_its_name(result, tmp_path, capsys):
    for name in ("status,seen", "status, seen"):
        picture = ["-o", str(tmp_path / f"{len(name)}.png")]
        assert main(["plot", str(result), "--color", name, *picture]) == 0
    assert main(["score", str(result), "--labels", "status,pam50_subtype", "--json"]) == 0
    found = json.loads(capsys.readouterr().out.rpartition("drawn")[2].partition("\n")[2])
    assert list(found) == ["status", "pam50_subtype"]


def test_colors_of_a_fit_may_have_commas_between_them(clinic, tmp_path, capsys):
    chosen = ["--include", "gene*", "--color", "status,pam50_subtype", *PLAIN]
    assert fit(clinic, tmp_path / "out", *chosen) == 0
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert run["command"]["color"] == ["status", "pam50_subtype"]
    assert fit(clinic, tmp_path / "no", "--include", "gene*", "--color", "status,sen") == 1
    assert "--color: " in (told := capsys.readouterr().err)
    assert "has no column 'sen'" in told


def test_a_report_of_a_fit_with_patterns_opens_with_its_first_color(result, tmp_path):
    assert main(["report", str(result), "-o", str(tmp_path / "a.html")]) == 0


def test_all_that_is_wrong_with_a_table_is_told_in_one_run(clinic, tmp_path, capsys):
    table = pd.read_csv(clinic / "clinic.csv.gz", dtype=str)
    table.loc[3, "gene1"] = None
    table.to_csv(tmp_path / "holes.csv", index=False)
    assert main(["fit", str(tmp_path / "holes.csv"), "-o", str(tmp_path / "out"), *PLAIN]) == 1
    first, words, gaps = capsys.readouterr().err.strip().splitlines()
    assert first.startswith("branchwise fit: 4 columns are meant as numbers in ")
    assert "leave the columns out: --exclude '*_mut'." in words
    assert gaps.startswith("Besides, the rest has 1 missing value in 1 column: 'gene1' 1 of 60; ")
    assert "--impute model" in gaps
    chosen = ["--exclude", "*_mut", "--impute", "median"]
    assert (
        main(["fit", str(tmp_path / "holes.csv"), "-o", str(tmp_path / "out"), *chosen, *PLAIN])
        == 0
    )


def test_misspelt_names_of_all_options_are_told_at_once(clinic, tmp_path, capsys):
    wrong = ["--id", "patientid", "--exclude", "z*q", "--adjust", "agee", "--color", "statuss"]
    wrong += ["--categorical", "zipp", "--date", "sen", "--ordinal", "grad=a,b"]
    wrong += ["--age", "age2=born:seen", "--root", "stats=I"]
    assert fit(clinic, tmp_path / "out", *wrong) == 1
    told = capsys.readouterr().err
    for each in (
        "lacks 9 of the columns that were named",
        "--id 'patientid' (did you mean 'patient_id'?)",
        "--exclude 'z*q' (no column fits this pattern)",
        "--adjust 'agee' (did you mean 'age'",
        "--categorical 'zipp' (did you mean 'zip'?)",
        "--date 'sen' (did you mean",
        "--ordinal 'grad'",
        "--age 'born'",
        "--color 'statuss' (did you mean 'status'?)",
        "--root 'stats' (did you mean 'status'?)",
    ):
        assert each in told


@pytest.mark.parametrize(
    "given",
    [
        ["--id", "patientid"],
        ["--include", "gene0,gene1", "--exclude", "patientid"],
        ["--adjust", "patientid"],
        ["--color", "patientid"],
        ["--categorical", "patientid"],
        ["--ordinal", "patientid=a,b"],
        ["--date", "patientid"],
        ["--age", "age2=patientid:seen"],
        ["--root", "patientid=a"],
    ],
    ids=lambda given: given[-2],
)
def test_a_misspelt_name_is_told_with_the_option_that_has_it(clinic, tmp_path, given, capsys):
    plain = [] if given[0] == "--include" else ["--include", "gene*"]
    assert fit(clinic, tmp_path / "out", *given, *plain) == 1
    told = capsys.readouterr().err
    assert f"branchwise fit: {given[-2]}: " in told
    assert "has no column 'patientid'; did you mean 'patient_id'?" in told
    if given[0] not in {"--adjust", "--color", "--root"}:
        assert main(["info", str(clinic / "clinic.csv.gz"), "--json", *given]) == 0
        assert json.loads(capsys.readouterr().out)["fit"].startswith(f"{given[-2]}: ")


def test_the_root_may_be_a_sample_by_the_name_of_the_id_column(clinic, tmp_path):
    names = pd.read_csv(clinic / "clinic.csv.gz", dtype=str)["patient_id"]
    chosen = ["--include", "gene*", "--root", f"patient_id={names[3]}"]
    assert fit(clinic, tmp_path / "out", *chosen, *PLAIN) == 0
    samples = read_result(tmp_path / "out").samples
    assert samples["pseudotime"].loc[names[3]] == pytest.approx(samples["pseudotime"].min(), abs=1)


def test_new_samples_are_read_as_the_first_were(clinic, result, tmp_path):
    table = pd.read_csv(clinic / "clinic.csv.gz", dtype=str)
    path = tmp_path / "new.csv"
    path.write_bytes(table.assign(ort="Köln").to_csv(index=False).encode("latin-1"))
    out = tmp_path / "placed.csv"
    assert main(["transform", str(result), str(path), "-o", str(out), "--encoding", "latin-1"]) == 0
    assert len(pd.read_csv(out)) == 60


def test_a_sheet_and_an_encoding_by_options(clinic, tmp_path):
    table = pd.read_csv(clinic / "clinic.csv.gz")[["patient_id", "gene0", "gene1", "gene2"]]
    with pd.ExcelWriter(tmp_path / "a.xlsx") as book:
        table[:3].to_excel(book, sheet_name="first", index=False)
        table.to_excel(book, sheet_name="second", index=False)
    out = tmp_path / "out"
    assert main(["fit", str(tmp_path / "a.xlsx"), "-o", str(out), "--sheet", "second", *PLAIN]) == 0
    assert load(out / "model.branchwise").reading["sheet"] == "second"
    placed = tmp_path / "placed.csv"
    assert main(["transform", str(out), str(tmp_path / "a.xlsx"), "-o", str(placed)]) == 0
    assert len(pd.read_csv(placed)) == 60
