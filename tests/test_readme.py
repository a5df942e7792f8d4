"""What the README shows is what the commands in it do."""

import re
import shlex
from pathlib import Path

import dask.array as da
import numpy as np
import pandas as pd
import pytest

from branchwise.cli import main
from branchwise.datasets import make_tree

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text("utf-8")


def block(language):
    return re.search(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)[1]


def test_python_example_runs():
    names = {}
    exec(block("python"), names)
    assert names["places"].shape == (569, 2)
    assert list(names["places"].index) == list(names["table"].data.index)
    assert names["tree"].nnz == 2 * (names["tree"].shape[0] - 1)
    assert names["new"].shape == (3, 2)


def test_trajectory_example_prints_what_follows_it(capsys):
    names = {}
    exec(re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)[1], names)
    assert_alike(capsys.readouterr().out, block("text"))


def test_the_page_of_the_default_prints_what_follows_its_example(capsys):
    text = (ROOT / "docs/answer.md").read_text("utf-8")
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], {})
    assert_alike(capsys.readouterr().out, re.search(r"```text\n(.*?)```", text, re.DOTALL)[1])


def assert_alike(printed, shown):
    """The same words, and numbers whose last digits may differ from processor to processor."""
    number = re.compile(r"(?<!\w)\d+(?:\.\d+)?")
    assert [number.sub("#", line).split() for line in printed.splitlines()] == [
        number.sub("#", line).split() for line in shown.splitlines()
    ]
    found, expected = (list(map(float, number.findall(text))) for text in (printed, shown))
    assert found == pytest.approx(expected, abs=0.02, rel=0.02)


def test_posterior_example_prints_what_its_comment_says(capsys):
    third = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)[2]
    names = {}
    exec(third, names)
    assert capsys.readouterr().out.strip() in third
    assert names["model"].posterior_std_.shape == (200,)


def test_python_example_has_at_most_ten_lines():
    assert len(block("python").strip().splitlines()) <= 10


def test_demo_prints_what_the_readme_shows(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main(["demo"])
    printed = capsys.readouterr().out.splitlines()
    shown = block("").splitlines()
    assert printed[0] == shown[0]
    # Times differ from run to run, last digits from processor to processor.
    number = re.compile(r"\d+(\.\d+)?")
    assert [number.sub("#", line) for line in printed] == [number.sub("#", line) for line in shown]
    nodes = re.compile(r"\d+ nodes, \d+ edges")
    assert nodes.search(printed[2])[0] == nodes.search(shown[2])[0]


def test_scaling_example_and_command_run(tmp_path, capsys, monkeypatch):
    text = (ROOT / "docs/scaling.md").read_text("utf-8")
    names = {}
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], names)
    assert names["places"].shape == (10_000, 2)
    assert capsys.readouterr().out.strip() == "(100, 2)"
    monkeypatch.chdir(tmp_path)
    names["da"].to_zarr(names["counts"][:500], "counts.zarr")
    for given in commands(text):
        assert main(given) == 0, given


def commands(text):
    """Indented lines that call branchwise, with those that they are continued on."""
    joined = re.sub(r"\\\n\s*", "", text)
    return [
        shlex.split(line, comments=True)[1:]
        for line in re.findall(r"^    (branchwise [^\n]*)", joined, re.MULTILINE)
    ]


@pytest.fixture
def cohort(tmp_path, monkeypatch):
    """Simulated patients, as the commands expect them."""
    data = make_tree(120, 4, topology="bifurcation", noise=0.05, random_state=0)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(data.X, columns=["crp", "hb", "alb", "ldh"])
    frame.insert(0, "patient", [f"P{k}" for k in range(120)])
    early = data.pseudotime < 0.4 * data.pseudotime.max()
    frame = frame.assign(
        age=rng.integers(30, 80, size=120),
        sex=rng.choice(["f", "m"], size=120),
        stage=np.where(early, "I", "II"),
        outcome=rng.choice(["alive", "dead"], size=120),
    )
    frame.loc[3, "hb"] = np.nan
    monkeypatch.chdir(tmp_path)
    frame.to_csv("patients.csv", index=False)
    for name in ("new.csv", "new_patients.csv"):
        frame.iloc[:20].to_csv(name, index=False)
    for name in ("atlas.zarr", "new.zarr"):
        da.from_array(data.X, chunks=(50, 4)).to_zarr(name)


def test_reports_on_their_page_can_be_made(cohort, capsys):
    text = (ROOT / "docs/report.md").read_text("utf-8")
    fit = ["fit", "patients.csv", "-o", "out", "--impute", "median", "--exclude", "outcome"]
    assert main([*fit, "--standardize"]) == 0
    for given in commands(text):
        assert given[:2] == ["report", "out"]
        assert main(given) == 0, given
    assert capsys.readouterr().err == ""
    names = {}
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], names)
    assert names["html"].startswith("<!doctype html>")
    assert {"cohort.html", "iris.html"} <= {path.name for path in Path.cwd().iterdir()}


@pytest.mark.parametrize("page", ["README.md", "docs/command-line.md"])
def test_commands_on_the_page_run(page, cohort, capsys):
    found = commands((ROOT / page).read_text("utf-8"))
    assert [given[0] for given in found[:2]] == ["fit", "transform"]
    for given in found:
        assert main(given) == 0, given
        assert "error" not in capsys.readouterr().err
