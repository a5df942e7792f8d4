"""`branchwise reproduce` at the command line."""

import importlib
import json
import subprocess
import sys
import types

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from branchwise_paper.datasets import DatasetNotFound
from branchwise_paper.experiments import report
from branchwise_paper.experiments.settings import EXPERIMENTS, Check, Outcome, Settings


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    X, y = load_iris(return_X_y=True)
    np.savez(folder / "flowers.npz", X=X, y=y)
    return folder


def test_table_is_written_and_told(branchwise, data, tmp_path):
    out = tmp_path / "new" / "out"
    given = ["table1", "--data-dir", data, "-o", out, "--quick", "--processes", 1]
    given += ["--datasets", "flowers", "--methods", "PCA,KPCA"]
    code, told, err = branchwise("reproduce", *given)
    assert (code, err) == (0, "")
    assert f"read {out / 'report.md'}" in told
    found = pd.read_csv(out / "table1.csv")
    assert found["method"].tolist() == ["PCA", "KPCA"]
    assert "## Table 1" in (out / "report.md").read_text("utf-8")

    code, told, err = branchwise("reproduce", *given, "--json")
    assert code == 0
    assert json.loads(told)["table1"]["files"] == [
        str(out / name) for name in ("table1.csv", "table1_fits.csv", "table1.png")
    ]
    assert err == "branchwise: table1: 3 of 3 cells were computed before.\n"


def test_folder_of_data_may_come_from_the_environment(branchwise, data, tmp_path, monkeypatch):
    monkeypatch.setenv("BRANCHWISE_DATA", str(data))
    given = ["table1", "-o", tmp_path / "out", "--quick", "--methods", "PCA"]
    code, _, err = branchwise("reproduce", *given, "--processes", 1, "--datasets", "flowers")
    assert (code, err) == (0, "")


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--methods", "MDS"], 2, "--methods: there is no method 'MDS'; choose from LLE"),
        (["--processes", "0"], 2, "--processes 0 must be at least 1"),
        (["--data-dir", "nowhere"], 1, "nowhere is not a folder of data sets"),
        (["--datasets", "unheard"], 1, "unheard"),
        (["--datasets", "a,,b"], 2, "has an empty name between its commas"),
    ],
)
def test_wrong_calls_get_one_sentence(branchwise, data, tmp_path, options, code, message):
    given = ["table1", "--data-dir", data, "-o", tmp_path / "out", *options]
    found, told, err = branchwise("reproduce", *given)
    assert (found, told) == (code, "")
    assert err.startswith("branchwise reproduce: ")
    assert message in err
    assert err.count("\n") == 1


def test_unknown_experiment_lists_the_known_ones(branchwise):
    code, _, err = branchwise("reproduce", "table2")
    assert code == 2
    assert "sensitivity" in err


def test_other_folders_are_left_alone(branchwise, data, tmp_path):
    (data / "mine.txt").write_text("mine")
    code, _, err = branchwise("reproduce", "table1", "--data-dir", data, "-o", data)
    assert code == 1
    assert "exists and is not a result of branchwise reproduce" in err
    code, _, err = branchwise("reproduce", "table1", "-o", data / "mine.txt")
    assert code == 1
    assert "is a file" in err


def test_every_experiment_is_offered(branchwise):
    _, _, err = branchwise("reproduce", "table2")
    for name in EXPERIMENTS:
        assert f"'{name}'" in err
        assert callable(importlib.import_module(f"branchwise_paper.experiments.{name}").run)


def test_help_comes_without_the_libraries_of_a_fit():
    code = (
        "import sys; from branchwise.cli.arguments import build_parser, find_plugins\n"
        "print(build_parser(find_plugins()).parse_args(['reproduce', 'all']).quick)\n"
        "print([m for m in ('sklearn', 'pandas', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["False", "[]"]


def test_claims_that_fail_are_told_and_kept(tmp_path, branchwise, data, monkeypatch):
    checks = [Check("a | b", 1.0, ">=", 2.0, "simulated"), Check("holds", 1.0, "==", 1.0)]
    outcome = Outcome("faces", "Faces", "Text.", checks, ["faces.png"])

    def instead(names, settings):
        settings.out.mkdir()
        report.write_report(settings.out, [outcome])
        return [outcome]

    monkeypatch.setattr(report, "reproduce", instead)
    code, told, _ = branchwise("reproduce", "faces", "-o", tmp_path / "out")
    assert code == 0
    assert "faces        1 of 2 claims hold: faces.png" in told
    assert "falls short: a | b; 1, wanted >= 2" in told
    assert "1 of 2 claims" in (tmp_path / "out" / "report.md").read_text("utf-8")
    table = pd.read_csv(tmp_path / "out" / "checks.csv")
    assert table["holds"].tolist() == [False, True]


def test_report_grows_with_each_experiment(tmp_path, monkeypatch):
    def fake(name):
        def run(settings):
            return Outcome(name, name.title(), f"About {name}.", [], [])

        return types.SimpleNamespace(run=run)

    for name in ("real", "faces"):
        monkeypatch.setitem(sys.modules, f"branchwise_paper.experiments.{name}", fake(name))
    report.reproduce(["real", "faces"], Settings(out=tmp_path / "out"))
    text = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert text.index("## Real") < text.index("## Faces")
    assert (tmp_path / "out" / "real.md").read_text("utf-8") == "# Real\n\nAbout real.\n"


def test_a_report_without_claims_says_so(tmp_path):
    report.write_report(tmp_path, [Outcome("real", "Real", "About it.", [], [])], quick=True)
    text = (tmp_path / "report.md").read_text("utf-8")
    assert "No claim was checked by a number." in text
    assert "**A quick run**" in text


def test_names_do_not_break_tables():
    assert r"| a \| b | d\|e | 1 |" in report.check_table([Check("a | b", 1.0, "==", 1.0, "d|e")])


@pytest.fixture
def experiments(monkeypatch):
    """Every experiment tells its data sets; there are no teapots."""
    seen = {}

    def fake(name):
        def run(settings):
            if name in ("real", "teapot"):
                raise DatasetNotFound("Teapot is not here.")
            seen[name] = settings.datasets
            return Outcome(name, name.title(), f"About {name}.", [], [])

        return types.SimpleNamespace(run=run)

    for name in EXPERIMENTS:
        monkeypatch.setitem(sys.modules, f"branchwise_paper.experiments.{name}", fake(name))
    return seen


def test_experiments_without_their_data_do_not_stop_the_others(branchwise, experiments, tmp_path):
    code, _, err = branchwise("reproduce", "all", "-o", tmp_path / "out")
    assert code == 0
    assert list(experiments) == [n for n in EXPERIMENTS if n not in ("real", "teapot")]
    assert "teapot is left out: Teapot is not here." in err
    text = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert "Left out for want of data:\n\n- real: Teapot is not here." in text

    code, _, err = branchwise("reproduce", "teapot", "-o", tmp_path / "other")
    assert (code, err) == (1, "branchwise reproduce: Teapot is not here.\n")


def test_each_experiment_gets_its_own_of_the_named_sets(branchwise, experiments, tmp_path):
    given = ["all", "-o", tmp_path / "out", "--datasets", "mine,Two moons,METABRIC"]
    code, _, err = branchwise("reproduce", *given)
    assert code == 0
    assert experiments == {
        "table1": ("mine",),
        "synthetic": ("Two moons",),
        "cancer": ("METABRIC",),
    }
    assert "none of --datasets belongs to sensitivity, real, teapot, faces, left out." in err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["synthetic", "--datasets", "iris"], "synthetic has no data set 'iris'; choose from spir"),
        (["real", "--datasets", "teapot,ones"], "real has no data set 'ones'; choose from teapot"),
        (["faces", "--methods", "PCA"], "--methods is for table1 and synthetic; faces has"),
    ],
)
def test_filters_that_mean_nothing_are_refused(branchwise, experiments, tmp_path, given, message):
    code, _, err = branchwise("reproduce", *given, "-o", tmp_path / "out")
    assert code == 2
    assert message in err
    assert not experiments
    assert not (tmp_path / "out").exists()


def test_sets_of_the_figures_are_theirs():
    from branchwise_paper.experiments._shapes import SHAPES
    from branchwise_paper.experiments.real import FETCH

    assert report.FIGURES["synthetic"] == SHAPES
    assert report.FIGURES["real"] == tuple(FETCH)
    assert ["table1", *report.FIGURES] == list(EXPERIMENTS)


def test_an_interrupted_run_says_that_it_can_go_on(branchwise, data, tmp_path, monkeypatch):
    def interrupted(names, settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "reproduce", interrupted)
    code, _, err = branchwise("reproduce", "table1", "--data-dir", data, "-o", tmp_path / "out")
    assert code == 130
    assert "interrupted; the same command goes on from here" in err
