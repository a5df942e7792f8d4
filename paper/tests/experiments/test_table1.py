"""The paper's table on small data: what is run, what is written, what is said."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA

from branchwise_paper.experiments import table1
from branchwise_paper.experiments._table1_report import (
    ACCURACIES,
    SETS,
    Fit,
    Problem,
    best_rows,
    checks_of,
    differences,
    misprint,
    text_of,
    why,
)
from branchwise_paper.experiments.cells import Computed
from branchwise_paper.experiments.methods import METHODS, chosen_methods
from branchwise_paper.experiments.settings import Settings

COLUMNS = ["dataset", "method", "accuracy", "printed", "seconds", "parameters"]


@pytest.fixture
def folder(tmp_path):
    """A set that the paper knows, one that it does not, one without labels, and one sample."""
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    path = tmp_path / "data"
    path.mkdir()
    np.savez(path / "iris.npz", X=X, y=y)
    centres = rng.normal(size=(3, 6))
    labels = np.repeat(["a", "b", "c"], 20)
    mine = centres[np.repeat([0, 1, 2], 20)] + 0.1 * rng.normal(size=(60, 6))
    np.savez(path / "mine.npz", X=mine, y=labels)
    np.savez(path / "bare.npz", X=mine)
    np.savez(path / "alone.npz", X=mine[:1], y=labels[:1])
    return path


def settings(tmp_path, folder, **options):
    return Settings(out=tmp_path / "out", data_dir=folder, n_processes=1, **options)


@pytest.fixture
def out(tmp_path):
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def test_table_of_a_named_set_that_the_paper_does_not_know(tmp_path, folder, out):
    some = settings(tmp_path, folder, datasets=("mine",), methods=("PCA", "spl-auto"))
    outcome = table1.run(some)
    found = pd.read_csv(out / "table1.csv")
    assert list(found.columns) == COLUMNS
    assert found["dataset"].tolist() == ["mine", "mine"]
    assert found["printed"].isna().all()
    assert (found["accuracy"] == 1.0).all()  # the three groups are far apart
    assert (found["seconds"] > 0).all()
    assert outcome.checks == []
    assert "| mine |" in outcome.text
    assert "| the features themselves | 1.0000 |" in outcome.text
    assert {path.name for path in out.iterdir()} == {"cells", *outcome.files}


def test_best_of_the_grid_is_reported(tmp_path, folder, out):
    table1.run(settings(tmp_path, folder, datasets=("iris",), methods=("LLE",)))
    [best] = pd.read_csv(out / "table1.csv").itertuples()
    every = pd.read_csv(out / "table1_fits.csv")
    assert len(every) == 6
    assert best.accuracy == every["accuracy"].max()
    chosen = every[every["parameters"] == best.parameters].iloc[0]
    assert chosen["accuracy"] == best.accuracy
    assert best.printed == 0.9467


def test_paper_sets_in_the_folder_are_found_and_the_others_told(tmp_path, folder, out):
    outcome = table1.run(settings(tmp_path, folder, methods=("PCA",)))
    assert pd.read_csv(out / "table1.csv")["dataset"].tolist() == ["iris"]
    assert "Sets of the paper that were not found" in outcome.text
    assert "letter.npz" in outcome.text


def test_pca_at_the_paper_s_dimension_gives_its_linear_gplvm_row(tmp_path, folder, out):
    table1.run(settings(tmp_path, folder, datasets=("iris",), methods=("PCA",)))
    [row] = pd.read_csv(out / "table1.csv").itertuples()
    assert row.accuracy == pytest.approx(ACCURACIES["iris", "GPLVM"], abs=0.5e-4)


def test_other_units_are_tried_where_spl_falls_short(tmp_path, folder, out, monkeypatch):
    few = METHODS["SPL"]._replace(grid=METHODS["SPL"].grid[:1])
    units = METHODS["SPL-units"]._replace(grid=METHODS["SPL-units"].grid[:3])
    monkeypatch.setitem(METHODS, "SPL", few)
    monkeypatch.setitem(METHODS, "SPL-units", units)
    outcome = table1.run(settings(tmp_path, folder, datasets=("iris",), methods=("SPL",)))
    every = pd.read_csv(out / "table1_fits.csv")
    assert every["method"].tolist() == ["SPL", *["SPL-units"] * 3]
    assert pd.read_csv(out / "table1.csv")["method"].tolist() == ["SPL"]
    assert "The unit of the data is a parameter of SPL" in outcome.text


def test_quick_run_says_so_and_claims_nothing(tmp_path, folder, out):
    quick = settings(tmp_path, folder, datasets=("iris",), methods=("SPL",), quick=True)
    outcome = table1.run(quick)
    assert "quick run" in outcome.text
    assert outcome.checks == []
    assert len(pd.read_csv(out / "table1_fits.csv")) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"datasets": ("bare",)}, "bare has no labels y, which the table needs"),
        ({"datasets": ("alone",)}, "alone has only one sample"),
        ({"datasets": ("nonsense",)}, "nonsense"),
        ({"methods": ("nonsense",)}, "there is no method 'nonsense'; choose from"),
    ],
)
def test_bad_names_are_told(tmp_path, folder, out, options, message):
    with pytest.raises(ValueError, match=message):
        table1.run(settings(tmp_path, folder, **options))


def test_a_folder_without_the_paper_s_sets_says_what_is_there(tmp_path, folder, out):
    (folder / "iris.npz").unlink()
    with pytest.raises(ValueError, match="none of the paper's data sets was found"):
        table1.chosen_problems(settings(tmp_path, folder))


def test_components_keep_95_percent_of_the_variance():
    X = np.random.default_rng(0).normal(size=(50, 8)) * np.arange(1, 9)
    kept = np.cumsum(PCA().fit(X).explained_variance_ratio_)
    n = table1.components_of_energy(X, 0.95)
    assert kept[n - 1] >= 0.95 > kept[n - 2]


def test_neighbors_beyond_the_samples_are_not_tried():
    tried = table1.tried(METHODS["LLE"], 18, quick=False)
    assert [one["n_neighbors"] for one in tried] == [5, 10, 15]
    assert table1.tried(METHODS["LLE"], 4, quick=False) == [{"n_neighbors": 3}]


def test_paper_s_grids_are_whole():
    assert {name: len(METHODS[name].grid) for name in ("LLE", "MVU", "SMCE", "SPL")} == {
        "LLE": 6,
        "MVU": 6,
        "SMCE": 4,
        "SPL": 24,
    }
    assert [m.name for m in chosen_methods(())][:9] == list(
        dict.fromkeys(method for _, method in ACCURACIES)
    )
    assert len(ACCURACIES) == 9 * len(SETS)


def fit_of(problem, method, accuracy, error="", **parameters):
    result = {} if error else {"accuracy": accuracy, "seconds": 1.0, "objective": 5.0}
    return Fit(problem, method, parameters, Computed(result, 1.0, [], error))


@pytest.fixture
def iris():
    from branchwise_paper.datasets import fetch_iris

    return Problem("iris", fetch_iris(), 2, 150)


def test_a_shortfall_is_a_failed_check_and_is_explained(iris):
    rows = best_rows(
        [
            fit_of(iris, "SPL", 0.9533, C=10),
            fit_of(iris, "SPL-printed", 0.96, n_neighbors=10),
            fit_of(iris, "PCA", 0.9333),
        ]
    )
    [check] = checks_of(rows, quick=False)
    assert not check.passed
    others = [fit_of(iris, "SPL-units", a, scale=u) for u, a in ((2, 0.94), (2, 0.95), (4, 0.96))]
    told = " ".join(why({"iris": 0.9533}, [iris], rows, others))
    assert "1 of 150 samples" in told
    assert "Algorithm 1 gives 0.9600 (n_neighbors=10)" in told
    assert "is stopped far from its optimum" in told
    assert "but for a common factor, the data are the paper's" in told
    assert "0.9500 for 2, 0.9600 for 4; so the printed number is within the model's reach" in told


def test_differences_of_other_methods_are_told_with_a_reason(iris):
    rows = best_rows([fit_of(iris, "KPCA", 0.9), fit_of(iris, "GPLVM", 0.95)])
    told = differences([METHODS["KPCA"], METHODS["GPLVM"]], rows)[1].splitlines()
    assert told[0] == "- KPCA: as printed."
    assert told[1].startswith("- GPLVM: Iris +0.0167. At its maximum")


def test_sizes_that_the_paper_misprints_are_told(iris):
    assert misprint(iris) == ""
    segment = iris._replace(data=iris.data._replace(name="segment", title="Segment"))
    assert misprint(segment) == "231 samples for Segment, which has 2,310"


def test_no_excuse_where_none_is_needed(iris):
    rows = best_rows([fit_of(iris, "SPL", 0.96), fit_of(iris, "PCA", 0.9333)])
    assert checks_of(rows, quick=False)[0].passed
    assert why({"iris": 0.9533}, [iris], rows, []) == []


def test_failed_fits_are_told_and_do_not_count(iris):
    fits = [fit_of(iris, "LLE", 0.0, "ValueError: no"), fit_of(iris, "LLE", 0.5, n_neighbors=9)]
    fits.append(fit_of(iris, "LE", 0.0, "MemoryError: much"))
    rows = best_rows(fits)
    assert rows[0].accuracy == 0.5
    assert json.dumps(rows[0].parameters) == '{"n_neighbors": 9}'
    assert np.isnan(rows[1].accuracy)
    text = text_of(
        {"iris": 0.9}, [iris], [METHODS["LLE"], METHODS["LE"]], rows, [], [], quick=False
    )
    assert "- LE on Iris: MemoryError: much" in text
    assert "| LE | failed (0.9133) |" in text


def test_a_set_of_the_paper_without_labels_is_left_out(tmp_path, folder, out):
    np.savez(folder / "vehicle.npz", X=np.random.default_rng(0).normal(size=(20, 18)))
    problems, absent = table1.chosen_problems(settings(tmp_path, folder))
    assert [problem.name for problem in problems] == ["iris"]
    assert "Vehicle has no labels y, which the table needs." in absent


def test_names_are_drawn_and_written_as_they_are(tmp_path, folder, out):
    (folder / "mine.npz").rename(folder / "x$y_z^$|b.npz")
    named = settings(tmp_path, folder, datasets=("x$y_z^$|b",), methods=("PCA",))
    outcome = table1.run(named)
    assert r"|  | x$y_z^$\|b |" in outcome.text
    assert (out / "table1.png").stat().st_size > 0


def test_only_what_was_tried_is_told(tmp_path, folder, out):
    small = settings(tmp_path, folder, datasets=("iris",), methods=("LLE",), quick=True)
    assert "- LLE: n_neighbors ∈ {5, 50};" in table1.run(small).text


@pytest.mark.parametrize("n", [200, 201, 203, 300])
def test_samples_of_a_quick_run_are_of_all_classes(n):
    y = np.arange(n + 1) % 3
    chosen = table1.some_of(y, 200)
    assert len(np.unique(chosen)) == 200
    assert set(y[chosen]) == {0, 1, 2}
