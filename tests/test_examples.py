"""Every example runs as a program of its own and leaves the picture that it promises."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("plot_*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_draws_its_picture(path, tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    picture = tmp_path / "picture.png"
    subprocess.run([sys.executable, path, picture], check=True)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_there_are_examples():
    assert EXAMPLES
