import sys

import matplotlib.image
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

import branchwise
from branchwise import Preparation
from branchwise.cli import main

from .conftest import read_run


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "new" / "folder"
    assert main(["demo", "--out", str(out)]) == 0
    return out


def test_demo_is_a_fit(demo):
    run = read_run(demo)
    assert (run["input"]["n_samples"], run["input"]["n_features"]) == (569, 30)
    assert run["preparation"]["standardize"] is True
    assert branchwise.load(demo / "model.branchwise").features[0] == "mean radius"


def test_demo_tree_separates_the_diagnoses(demo):
    """Most centres hold tumours of one kind only, and time runs from benign to malignant."""
    samples = pd.read_csv(demo / "samples.csv", index_col=0)
    center = branchwise.load(demo / "model.branchwise").estimator.labels_
    by_center = pd.crosstab(center, samples["diagnosis"].to_numpy())
    assert by_center.max(axis=1).sum() / len(samples) > 0.9
    times = pd.read_csv(demo / "samples.csv", index_col=0)["pseudotime"]
    median = times.groupby(samples["diagnosis"]).median()
    assert median["benign"] < median["malignant"]


@pytest.mark.filterwarnings("ignore:Time starts where")
def test_the_demo_is_what_python_gives(demo):
    """The tree, the branches and the times of `learn_trajectory` of the same table."""
    table = load_breast_cancer(as_frame=True)
    X = Preparation(standardize=True).fit_transform(table.data)
    path = branchwise.learn_trajectory(X, support=0)
    path = path.rooted(labels=table.target.to_numpy(), value=1)
    found = branchwise.load(demo / "model.branchwise").trajectory
    np.testing.assert_array_equal(found.nodes_, path.nodes_)
    np.testing.assert_array_equal(found.edges_, path.edges_)
    np.testing.assert_array_equal(found.pseudotime_, path.pseudotime_)
    assert found.branches_.tolist() == path.branches_.tolist()


def test_demo_picture_is_not_empty(demo):
    picture = matplotlib.image.imread(demo / "figure.png")
    assert picture.shape[0] > 500
    assert picture.std() > 0.05


def test_demo_prints_a_summary_and_may_be_run_again(tmp_path, capsys):
    for _ in range(2):
        assert main(["demo", "-o", str(tmp_path / "out")]) == 0
        out, err = capsys.readouterr()
        assert err.startswith(
            "branchwise: warning: Time starts where 'benign' comes first, at T1, "
        )
        assert len(err.splitlines()) == 1
        assert [line.split()[0] for line in out.splitlines() if line[0] != " "] == [
            "data",
            "prepared",
            "tree",
            "branches",
            "found",
            "objective",
            "time",
            "written",
        ]
        assert "569 samples x 30 features" in out


def test_demo_leaves_other_folders_alone(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    assert main(["demo", "-o", str(tmp_path)]) == 1
    assert "is not a result of branchwise fit; choose another -o." in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


def test_demo_into_a_file_fails_with_one_line(tmp_path, capsys):
    (tmp_path / "taken").write_text("")
    assert main(["demo", "-o", str(tmp_path / "taken")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("branchwise demo: ")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("library", ["matplotlib", "pandas"])
def test_without_its_libraries_it_says_what_to_install(library, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    assert main(["demo", "-o", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        f"branchwise demo: branchwise demo needs {library}; "
        "run: pip install '.[cli]' in a clone of branchwise\n"
    )


def test_wrong_usage_exits_with_two(capsys):
    for arguments in ([], ["grow"], ["demo", "--nonsense"], ["fit"], ["fit", "a.csv"]):
        assert main(arguments) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("branchwise")
        assert err.endswith(" --help.\n")
        assert len(err.splitlines()) == 1


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"branchwise {branchwise.__version__}\n"
