"""`ramify reproduce` at the command line."""

import json
import sys
import types

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from ramify.cli.arguments import EXPERIMENTS as OFFERED
from ramify.experiments import report
from ramify.experiments.settings import Check, Outcome, Settings


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    X, y = load_iris(return_X_y=True)
    np.savez(folder / "flowers.npz", X=X, y=y)
    return folder


def test_table_is_written_and_told(ramify, data, tmp_path):
    out = tmp_path / "new" / "out"
    given = ["table1", "--data-dir", data, "-o", out, "--quick", "--processes", 1]
    given += ["--datasets", "flowers", "--methods", "PCA,KPCA"]
    code, told, err = ramify("reproduce", *given)
    assert (code, err) == (0, "")
    assert f"read {out / 'report.md'}" in told
    found = pd.read_csv(out / "table1.csv")
    assert found["method"].tolist() == ["PCA", "KPCA"]
    assert "## Table 1" in (out / "report.md").read_text("utf-8")

    code, told, err = ramify("reproduce", *given, "--json")
    assert code == 0
    assert json.loads(told)["table1"]["files"] == [
        str(out / name) for name in ("table1.csv", "table1_fits.csv", "table1.png")
    ]
    assert err == "ramify: table1: 3 of 3 cells were computed before.\n"


def test_folder_of_data_may_come_from_the_environment(ramify, data, tmp_path, monkeypatch):
    monkeypatch.setenv("RAMIFY_DATA", str(data))
    given = ["table1", "-o", tmp_path / "out", "--quick", "--methods", "PCA"]
    code, _, err = ramify("reproduce", *given, "--processes", 1, "--datasets", "flowers")
    assert (code, err) == (0, "")


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--methods", "MDS"], 2, "--methods: there is no method 'MDS'; choose from LLE"),
        (["--processes", "0"], 2, "--processes 0 must be at least 1"),
        (["--data-dir", "nowhere"], 1, "nowhere is no folder of data sets"),
        (["--datasets", "unheard"], 1, "unheard"),
        (["--datasets", "a,,b"], 2, "has an empty name between its commas"),
    ],
)
def test_wrong_calls_get_one_sentence(ramify, data, tmp_path, options, code, message):
    given = ["table1", "--data-dir", data, "-o", tmp_path / "out", *options]
    found, told, err = ramify("reproduce", *given)
    assert (found, told) == (code, "")
    assert err.startswith("ramify reproduce: ")
    assert message in err
    assert err.count("\n") == 1


def test_unknown_experiment_lists_the_known_ones(ramify):
    code, _, err = ramify("reproduce", "table2")
    assert code == 2
    assert "sensitivity" in err


def test_other_folders_are_left_alone(ramify, data, tmp_path):
    (data / "mine.txt").write_text("mine")
    code, _, err = ramify("reproduce", "table1", "--data-dir", data, "-o", data)
    assert code == 1
    assert "exists and is no result of ramify reproduce" in err
    code, _, err = ramify("reproduce", "table1", "-o", data / "mine.txt")
    assert code == 1
    assert "is a file" in err


def test_every_experiment_is_offered():
    assert tuple(report.EXPERIMENTS) == OFFERED


def test_claims_that_fail_are_told_and_kept(tmp_path, ramify, data, monkeypatch):
    from ramify.cli import reproduce

    checks = [Check("a | b", 1.0, ">=", 2.0, "simulated"), Check("holds", 1.0, "==", 1.0)]
    outcome = Outcome("faces", "Faces", "Text.", checks, ["faces.png"])

    def instead(names, settings):
        settings.out.mkdir()
        report.write_report(settings.out, [outcome])
        return [outcome]

    monkeypatch.setattr(reproduce, "reproduce", instead)
    code, told, _ = ramify("reproduce", "faces", "-o", tmp_path / "out")
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
        monkeypatch.setitem(sys.modules, f"ramify.experiments.{name}", fake(name))
    report.reproduce(["real", "faces"], Settings(out=tmp_path / "out"))
    text = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert text.index("## Real") < text.index("## Faces")
    assert (tmp_path / "out" / "real.md").read_text("utf-8") == "# Real\n\nAbout real.\n"
