"""The parts of the benchmarks that measure no time."""

import json
import re
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from branchwise import DDRTree
from branchwise.neighbors import neighbor_edges
from branchwise.solvers.spl import squared_distances

from . import oracles
from .conftest import branching

FOLDER = Path(__file__).parents[1] / "benchmarks"
sys.path.append(str(FOLDER))
cases, data, programs, render, run = map(
    import_module, ("cases", "data", "programs", "render", "run")
)
real = import_module("real")
imputation, conformal = import_module("imputation"), import_module("conformal")
measures, objective, subgradient, targets = map(
    import_module, ("measures", "objective", "subgradient", "targets")
)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_branching_data_are_those_of_the_tests(monkeypatch, dtype):
    monkeypatch.setattr(data, "BLOCK", 7)  # several blocks
    simulated = data.simulate("branching", 30, n_features=5, seed=3, dtype=dtype)
    assert simulated.X.dtype == dtype
    np.testing.assert_array_equal(simulated.X, branching(30, 5, seed=3).astype(dtype))


@pytest.mark.parametrize("name", ["branching", "surface", "intrinsic10"])
def test_data_are_the_same_every_time(name):
    first, second = (data.simulate(name, 40, n_features=12).X for _ in range(2))
    assert first.shape == (40, 12)
    np.testing.assert_array_equal(first, second)


def test_unknown_data_are_reported():
    with pytest.raises(
        ValueError, match=r"no simulated data called 'moons'; choose from \['branch"
    ):
        data.simulate("moons", 10)


def test_objective_is_the_oracle_s_at_the_best_assignments(rng):
    Y, C = rng.normal(size=(20, 4)), rng.normal(size=(6, 2))
    W, Z = np.linalg.qr(rng.normal(size=(4, 2)))[0], rng.normal(size=(20, 2))
    edges = oracles.kruskal(C)
    L, R = oracles.dense_laplacian(edges, 6), oracles.soft_assignments(Z, C, 0.3)
    expected = oracles.ddrtree_objective(Y, W, Z, C, L, R, 2.0, 10.0, 0.3)
    found = objective.ddrtree_objective(Y, W, Z, C, edges, lam=2.0, gamma=10.0, sigma=0.3)
    assert found == pytest.approx(expected, rel=1e-12)


def test_objective_of_a_fit_is_at_most_the_last_of_its_history():
    X = branching(60, 5)
    model = DDRTree(n_components=2, n_centers=15, tol=0, max_iter=200, random_state=0).fit(X)
    found = objective.ddrtree_objective(
        X - X.mean(axis=0),
        model.components_.T,
        model.embedding_,
        model.centers_,
        np.column_stack(sparse.triu(model.tree_).nonzero()),
        lam=model.lam_,
        gamma=model.gamma_,
        sigma=model.sigma_,
    )
    assert found <= model.objective_ * (1 + 1e-12)
    assert found == pytest.approx(model.objective_, rel=1e-6)


def test_slope_is_the_exponent():
    sizes = [10, 100, 1000]
    assert measures.loglog_slope(sizes, [3 * n**1.25 for n in sizes]) == pytest.approx(1.25)


def test_share_that_grows():
    assert measures.share_growing([100, 1000], [1 + 100, 1 + 1000]) == pytest.approx(1000 / 1001)
    assert measures.share_growing([100, 1000], [5.0, 5.0]) == 0


def test_distances_along_a_tree():
    """A cross with arms of length 2; points are moved to it at right angles."""
    nodes = np.array([[0, 0], [2, 0], [-2, 0], [0, 2], [0, -2]], dtype=float)
    edges = np.array([[0, 1], [2, 0], [0, 3], [4, 0]])
    points = np.array([[1, 0.1], [1.5, -0.1], [0.1, 1], [3, 0], [-0.5, 0]], dtype=float)
    expected = [[0, 0.5, 2, 1, 1.5], [0.5, 0, 2.5, 0.5, 2], [2, 2.5, 0, 3, 1.5]]
    found = measures.tree_distances(points, nodes, edges)
    np.testing.assert_allclose(found[:3], expected, atol=1e-12)
    np.testing.assert_allclose(found, found.T)


def test_the_true_tree_has_correlation_one():
    simulated = data.simulate("branching", 300, n_features=6, noise=0.0)
    rows = measures.sampled_rows(300)
    ends = [
        simulated.X[b := simulated.truth["branch"] == k][simulated.truth["time"][b].argmax()]
        for k in range(3)
    ]
    nodes = np.vstack([np.zeros(6), *ends])
    edges = np.array([[0, 1], [0, 2], [0, 3]])
    true = data.true_tree_distances(simulated.truth, rows)
    found = measures.tree_correlation(simulated.X[rows], nodes, edges, true)
    assert found["pearson"] == pytest.approx(1)
    assert found["spearman"] == pytest.approx(1)


def test_procrustes_correlation_ignores_rotation_scale_and_shift(rng):
    A = rng.normal(size=(30, 2))
    turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    assert measures.procrustes_correlation(A, 5 * A @ turn + 3) == pytest.approx(1)
    assert measures.procrustes_correlation(A, rng.normal(size=(30, 2))) < 0.7


def test_algorithm_1_is_the_oracle_s(rng):
    Y = 0.3 * rng.normal(size=(25, 3))
    Y -= Y.mean(axis=0)
    edges = neighbor_edges(Y, 4)
    phi = squared_distances(Y, edges)
    found = subgradient.algorithm_1(
        Y, edges, phi, d=2, gamma=0.5, slack=1e3, target=np.inf, max_seconds=60, max_steps=20
    )
    expected = oracles.spl_algorithm_1(Y, edges, phi, 2, 0.5, 1e3, 20) - 25 * np.log(4)
    assert found["objective"] == pytest.approx(expected, rel=1e-9)
    assert (found["steps"], found["reached"]) == (20, False)


@pytest.mark.parametrize("quick", [False, True])
def test_cases_can_be_run(quick):
    for group in cases.GROUPS.values():
        listed = group.cases(quick)
        names = [case.name for case in listed]
        assert len(set(names)) == len(names)
        for case in listed:
            assert case.program in programs.PROGRAMS
            job = json.loads(json.dumps(run.job_of(case, case.pilot)))
            assert "5N" not in job["params"].values()


def target(bound, at_least, measured):
    return targets.Target("t", lambda results: measured, bound, at_least=at_least).check({})


def test_targets_hold_or_do_not():
    assert target(5, True, targets.Measured(6, "6×"))["holds"] is True
    assert target(5, True, targets.Measured(4, "4×"))["holds"] is False
    assert target(5, False, targets.Measured(4, "4"))["holds"] is True


def test_a_target_without_a_measurement_is_open():
    row = target(5, True, None)
    assert (row["holds"], row["shown"]) == (None, "not measured")


def test_a_lower_bound_proves_a_target_but_does_not_refute_it():
    assert target(5, True, targets.Measured(6, "", is_lower_bound=True))["holds"] is True
    assert target(5, True, targets.Measured(4, "", is_lower_bound=True))["holds"] is None


def test_every_target_is_open_without_results():
    assert {row.check({})["holds"] for row in targets.TARGETS} == {None}


def test_only_the_part_between_the_markers_is_replaced():
    page = f"before\n{render.BEGIN}\nold\n{render.END}\nafter\n"
    assert render.between_markers(page, "new").split() == [
        "before",
        *render.BEGIN.split(),
        "new",
        *render.END.split(),
        "after",
    ]
    with pytest.raises(ValueError, match=r"README.md needs the lines '<!-- begin generated"):
        render.between_markers("no markers", "new")


@pytest.mark.parametrize(
    ("name", "program", "expected"),
    [
        ("branchwise.DDRTree N=500", "branchwise.DDRTree", ""),
        ("branchwise, own defaults", "branchwise.DDRTree", "own defaults"),
        ("surface N=10000, neighbour search", "scikit-learn", "neighbour search"),
    ],
)
def test_a_case_is_labelled_by_what_its_row_does_not_say(name, program, expected):
    case = {"name": name, "program": program, "data": {"name": "surface"}}
    assert render.setting_cell(case) == expected


def test_the_readme_shows_the_results():
    text = (FOLDER / "README.md").read_text("utf-8")
    generated = render.generated(render.load(FOLDER / "results"), quick=False)
    assert render.between_markers(text, generated) == text


def test_results_name_no_folder_of_a_machine():
    for path in (FOLDER / "results").glob("*.json"):
        # A file within a repository (github:owner/name) is not one of this machine.
        assert re.search(r"(?<!\w)(/[\w.-]+){2,}|[A-Z]:\\", path.read_text("utf-8")) is None, path


def test_paths_are_taken_out_of_messages():
    message = "OSError: cannot read /some/where/else/table.csv"
    assert run.without_paths(message) == "OSError: cannot read …/table.csv"


def test_page_on_selection_shows_its_results():
    selection = import_module("selection")
    cases = json.loads((FOLDER / "results" / "selection.json").read_text("utf-8"))
    assert (FOLDER / "selection.md").read_text("utf-8") == selection.render(cases)


def test_page_on_landmarks_shows_its_results():
    landmarks = import_module("landmarks")
    document = json.loads((FOLDER / "results" / "landmarks.json").read_text("utf-8"))
    assert (FOLDER / "landmarks.md").read_text("utf-8") == landmarks.render(document)


def test_page_on_imputation_shows_its_results():
    document = json.loads((FOLDER / "results" / "imputation.json").read_text("utf-8"))
    assert (FOLDER / "imputation.md").read_text("utf-8") == imputation.page_of(document)


def test_page_on_trust_shows_its_results():
    document = json.loads((FOLDER / "results" / "conformal.json").read_text("utf-8"))
    assert (FOLDER / "conformal.md").read_text("utf-8") == conformal.page_of(document)
    usual = re.compile(r"(\d+\.\d) to (\d+\.\d) % have p of 0.05 or less; of rows with 20")
    text = (FOLDER.parent / "docs" / "placing.md").read_text("utf-8")
    means = [100 * np.mean([run["usual"] for run in t["splits"]]) for t in document["tables"]]
    assert usual.search(text).groups() == (f"{min(means):.1f}", f"{max(means):.1f}")


def test_trust_is_measured_with_answers_and_categories_too(rng):
    assert set(np.unique(conformal.likert())) == {1, 2, 3, 4, 5}
    table = conformal.mixed()
    assert conformal.words_of(table) == ["grade", "site", "kind"]
    nowhere = conformal.anywhere(table, 50, rng)
    assert nowhere.shape == (50, 8)
    assert set(nowhere["kind"]) <= {"k", "l", "m"}


def test_page_on_trust_tells_visits_of_the_same_patients():
    table = {"name": "iris", "rows": 100, "columns": 4, "splits": [{"usual": 0.02}] * 2}
    document = {"n_splits": 2, "tables": [table], "cohorts": []}
    page = conformal.page_of(document | {"visits": {"3": [0.3, 0.5], "1": [0.05]}})
    assert "- 3 visits of each: 40.0 ± 10.0 %\n- one visit of each: 5.0 %\n" in page


def test_points_turned_scaled_and_shifted_are_no_error(rng):
    landmarks = import_module("landmarks")
    Z, turn = rng.normal(size=(50, 3)), np.linalg.qr(rng.normal(size=(3, 3)))[0]
    is_rare = np.arange(50) == 7
    scores = landmarks.against_full(2 * Z @ turn + 5, Z, is_rare)
    assert scores["Procrustes"] == pytest.approx(1)
    assert scores["error"] == pytest.approx(0, abs=1e-8)
    moved = Z.copy()
    moved[7] += 1
    scores = landmarks.against_full(moved, Z, is_rare)
    assert scores["Procrustes"] < 1
    # One row in fifty carries nearly all of the error.
    assert scores["error on the rare tip"] > 5 * scores["error"]


def test_page_on_real_data_shows_its_results():
    document = json.loads((FOLDER / "results" / "real.json").read_text("utf-8"))
    assert (FOLDER / "real.md").read_text("utf-8") == real.render(document)
