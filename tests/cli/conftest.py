import csv
import json

import numpy as np
import pandas as pd
import pytest

from branchwise.cli import main
from branchwise.datasets import make_tree


@pytest.fixture(scope="session")
def simulated():
    """Simulated patients on a tree with three branches, by name, with age, sex and a stage."""
    data = make_tree(150, 6, topology="bifurcation", noise=0.05, random_state=0)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(data.X, columns=[f"lab{k}" for k in range(6)])
    frame.insert(0, "patient", [f"P{k:03}" for k in range(150)])
    frame["age"] = rng.uniform(30, 80, size=150).round()
    frame["sex"] = rng.choice(["f", "m"], size=150)
    frame["stage"] = np.where(data.pseudotime < 0.4 * data.pseudotime.max(), "early", "late")
    return frame


@pytest.fixture(scope="session")
def table(simulated, tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "patients.csv"
    simulated.to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def fitted(table, tmp_path_factory):
    """A rooted fit of the simulated patients."""
    out = tmp_path_factory.mktemp("fitted") / "out"
    given = ["fit", str(table), "-o", str(out), "--id", "patient", "--exclude", "age"]
    given += ["--standardize", "--root", "stage=early", "--support", "3", "--color", "stage"]
    given += ["--full-precision"]
    assert main(given) == 0
    return out


@pytest.fixture
def branchwise(capsys):
    """Run a command; return its exit code, standard output and standard error."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


def read_rows(path):
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    return header, rows


def read_run(out):
    return json.loads((out / "run.json").read_text("utf-8"))
