"""What the README shows is what the commands in it do."""

import re
from pathlib import Path

import pytest

from ramify.cli import main

TEXT = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


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
    printed, shown = capsys.readouterr().out.splitlines(), block("text").splitlines()
    assert printed[0] == shown[0]
    for line, expected in zip(printed[1:], shown[1:], strict=True):
        # Last digits may differ from processor to processor.
        branch, *numbers = line.split()
        assert branch == expected.split()[0]
        assert list(map(float, numbers)) == pytest.approx(
            list(map(float, expected.split()[1:])), abs=0.02, rel=0.02
        )


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
    centres = re.compile(r"\d+ centres, \d+ edges")
    assert centres.search(printed[1])[0] == centres.search(shown[1])[0]
