"""What every estimator of the package promises."""

import pickle
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

import branchwise.data.centering
from branchwise import SPL, DDRTree, DRTree
from branchwise.structures import Forest

from ..conftest import branching

ESTIMATORS = {
    "DDRTree": DDRTree(2, n_centers=15, random_state=0),
    "DDRTree K=N": DDRTree(2, n_centers=None),
    "DDRTree hard": DDRTree(2, n_centers=15, assignment="hard", random_state=0),
    "DDRTree graph": DDRTree(2, n_centers=None, structure="graph"),
    "DDRTree curve": DDRTree(2, n_centers=15, structure="curve", random_state=0),
    "DRTree": DRTree(),
    "DRTree ring": DRTree(structure="ring"),
    "DRTree forest": DRTree(structure=Forest(2)),
    "SPL": SPL(),
    "SPL gamma=0": SPL(gamma=0.0),
    "SPL absolute": SPL(loss="absolute", C=5.0),
    # Any distances can be kept along a forest.
    "SPL equality": SPL(loss="equality", n_neighbors=1),
    "SPL sparse": SPL(solver="sparse"),
    "SPL sketch": SPL(solver="sketch", tol=1e-4, random_state=0),
    "SPL sketch gamma=0": SPL(solver="sketch", gamma=0.0, tol=1e-4, random_state=0),
}


@pytest.fixture(params=ESTIMATORS)
def estimator(request):
    return clone(ESTIMATORS[request.param])


@pytest.fixture
def X():
    return branching(80, 6)


def adjacency_of(model):
    return (model.graph_ if isinstance(model, SPL) else model.tree_).toarray()


def test_permuting_the_rows_permutes_the_result(estimator, X, rng):
    """To the last bit: the fit works in an order that the permutation does not change."""
    order = rng.permutation(len(X))
    model, permuted = clone(estimator).fit(X), clone(estimator).fit(X[order])
    np.testing.assert_array_equal(permuted.embedding_, model.embedding_[order])
    np.testing.assert_array_equal(permuted.components_, model.components_)
    if len(adjacency_of(model)) == len(X):
        np.testing.assert_array_equal(
            adjacency_of(permuted), adjacency_of(model)[np.ix_(order, order)]
        )
    else:
        np.testing.assert_array_equal(permuted.centers_, model.centers_)
        np.testing.assert_array_equal(adjacency_of(permuted), adjacency_of(model))


def test_same_result_whatever_the_number_of_threads(estimator):
    X = branching(300, 40)
    results = []
    for n_threads in (1, 2):
        with threadpool_limits(limits=n_threads):
            results.append(clone(estimator).fit(X))
    one, two = results
    np.testing.assert_array_equal(one.embedding_, two.embedding_)
    np.testing.assert_array_equal(adjacency_of(one), adjacency_of(two))


def test_same_seed_same_result(estimator, X):
    one, two = (clone(estimator).fit(X) for _ in range(2))
    np.testing.assert_array_equal(one.embedding_, two.embedding_)
    np.testing.assert_array_equal(one.components_, two.components_)


@pytest.mark.parametrize("unit", [1000.0, 1e-3])
def test_results_do_not_depend_on_the_units(estimator, X, unit):
    model, other = clone(estimator).fit(X), clone(estimator).fit(unit * X)
    size = np.abs(model.embedding_).max()
    np.testing.assert_allclose(other.embedding_ / unit / size, model.embedding_ / size, atol=1e-6)
    np.testing.assert_allclose(other.components_, model.components_, atol=1e-6)
    np.testing.assert_allclose(adjacency_of(other), adjacency_of(model), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("unit", [1000.0, 0.3937])
def test_results_do_not_depend_on_the_units_where_distances_tie(estimator, unit):
    """Iris has one decimal, so that many distances are equal and rounding might decide."""
    X = load_iris().data
    model, other = clone(estimator).fit(X), clone(estimator).fit(unit * X)
    size = np.abs(model.embedding_).max()
    np.testing.assert_allclose(other.embedding_ / unit / size, model.embedding_ / size, atol=1e-9)
    np.testing.assert_allclose(adjacency_of(other), adjacency_of(model), rtol=1e-6, atol=1e-9)


def test_permuting_tied_rows_permutes_the_result(estimator, rng):
    """Equal rows are the exception: which of them stands where is a matter of their order."""
    X = np.unique(load_iris().data, axis=0)
    order = rng.permutation(len(X))
    model, permuted = clone(estimator).fit(X), clone(estimator).fit(X[order])
    np.testing.assert_array_equal(permuted.embedding_, model.embedding_[order])


def test_equal_rows_share_out_the_same_places(estimator, rng):
    X = np.repeat(branching(30, 4), 2, axis=0)
    order = rng.permutation(len(X))
    model, permuted = clone(estimator).fit(X), clone(estimator).fit(X[order])
    places, permuted_places = (
        sorted(map(tuple, m.embedding_.round(10))) for m in (model, permuted)
    )
    assert places == permuted_places


def test_shifting_the_data_only_shifts_the_mean(estimator, X):
    model, other = clone(estimator).fit(X), clone(estimator).fit(X + 7.0)
    size = np.abs(model.embedding_).max()
    np.testing.assert_allclose(other.embedding_ / size, model.embedding_ / size, atol=1e-5)
    np.testing.assert_allclose(other.mean_, model.mean_ + 7.0)


def test_single_precision_in_single_precision_out(estimator, X):
    model = estimator.fit(X.astype(np.float32))
    for array in (model.embedding_, model.components_, model.mean_, model.transform(X[:3])):
        expected = np.float64 if array.shape == (3, 2) else np.float32
        assert array.dtype == expected
    assert model.transform(X[:3].astype(np.float32)).dtype == np.float32
    assert model.inverse_transform(model.embedding_).dtype == np.float32
    double = clone(estimator).fit(X.astype(np.float32).astype(np.float64))
    size = np.abs(double.embedding_).max()
    np.testing.assert_allclose(model.embedding_ / size, double.embedding_ / size, atol=1e-5)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_input_gives_the_dense_result(estimator, X, container):
    X = np.where(X > 0.2, X, 0.0)
    dense, model = clone(estimator).fit(X), clone(estimator).fit(container(X))
    size = np.abs(dense.embedding_).max()
    np.testing.assert_allclose(model.embedding_ / size, dense.embedding_ / size, atol=1e-5)
    fresh = X[:5] + 0.01 * (X[:5] > 0)
    np.testing.assert_allclose(
        model.transform(container(fresh)) / size, dense.transform(fresh) / size, atol=1e-4
    )


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_data_too_large_to_copy_give_the_same_result(estimator, X, container, monkeypatch):
    """Of equal rows rounding decides which comes first on a ring, so there are none."""
    X = np.unique(np.where(X > 0.2, X, 0.0), axis=0)
    small = clone(estimator).fit(X)
    monkeypatch.setattr(branchwise.data.centering, "MAX_COPIED", 200)
    large = clone(estimator).fit(container(X))
    size = np.abs(small.embedding_).max()
    np.testing.assert_allclose(large.embedding_ / size, small.embedding_ / size, atol=1e-5)


def test_components_are_orthonormal_with_fixed_signs(estimator, X):
    components = estimator.fit(X).components_
    np.testing.assert_allclose(components @ components.T, np.eye(2), atol=1e-8)
    assert (components[[0, 1], np.abs(components).argmax(axis=1)] > 0).all()


def test_float_n_components_keeps_that_fraction_of_energy(estimator, X):
    for fraction in (0.5, 0.8, 0.95):
        model = clone(estimator).set_params(n_components=fraction, max_iter=1, tol=0).fit(X)
        assert len(model.components_) == PCA(n_components=fraction).fit(X).n_components_
        assert model.embedding_.shape[1] == len(model.components_)


def test_one_component_works(estimator, X):
    model = estimator.set_params(n_components=1).fit(X)
    assert model.embedding_.shape == (80, 1)
    assert np.ptp(model.embedding_) > 0
    assert model.transform(X[:2] + 0.01).shape == (2, 1)


def test_fit_transform_is_fit_then_transform(estimator, X):
    model = clone(estimator)
    embedding = model.fit_transform(X)
    np.testing.assert_array_equal(embedding, model.embedding_)
    np.testing.assert_array_equal(embedding, model.transform(X))


def test_transform_places_each_row_by_itself(estimator, X):
    model = estimator.fit(X)
    fresh = branching(40, 6, seed=1)
    together = model.transform(fresh)
    alone = np.vstack([model.transform(row[None]) for row in fresh])
    np.testing.assert_allclose(together, alone, atol=1e-12)
    np.testing.assert_allclose(model.transform(fresh[::-1]), together[::-1], atol=1e-12)


def test_transform_places_new_samples_near_those_like_them(estimator):
    """Samples that are nearly training samples land nearly where these are."""
    X = branching(300, 6, noise=0.05)
    model = estimator.fit(X)
    fresh = X[:60] + 0.01 * np.random.default_rng(5).normal(size=(60, 6))
    shift = np.linalg.norm(model.transform(fresh) - model.embedding_[:60], axis=1)
    spread = np.linalg.norm(model.embedding_ - model.embedding_.mean(axis=0), axis=1).mean()
    assert np.median(shift) < 0.1 * spread


def test_inverse_transform_returns_to_the_neighbourhood_of_the_data(estimator):
    X = branching(200, 6, noise=0.05, n_branches=2)
    model = estimator.fit(X)
    back = model.inverse_transform(model.embedding_)
    assert back.shape == X.shape
    unexplained = np.sum((back - X) ** 2) / np.sum((X - X.mean(axis=0)) ** 2)
    assert unexplained < 0.35


def test_dataframes_keep_their_index_and_name_their_columns(estimator, X):
    frame = pd.DataFrame(X, index=[f"patient {i}" for i in range(80)], columns=list("abcdef"))
    model = estimator.set_output(transform="pandas").fit(frame)
    placed = model.transform(frame)
    prefix = type(model).__name__.lower()
    assert list(placed.columns) == [f"{prefix}0", f"{prefix}1"]
    assert list(placed.index) == list(frame.index)
    assert list(model.get_feature_names_out()) == list(placed.columns)
    assert list(model.feature_names_in_) == list("abcdef")
    learned = clone(estimator).set_output(transform="pandas").fit_transform(frame)
    assert list(learned.index) == list(frame.index)


def test_polars_in_polars_out(estimator, X):
    frame = pl.DataFrame(X, schema=list("abcdef"))
    placed = estimator.set_output(transform="polars").fit_transform(frame)
    assert isinstance(placed, pl.DataFrame)
    assert placed.shape == (80, 2)


def test_works_in_a_pipeline_and_survives_pickling(estimator, X):
    model = make_pipeline(StandardScaler(), estimator).fit(X)
    fresh = branching(5, 6, seed=3)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(fresh), model.transform(fresh))


def test_stopping_early_warns_with_the_knob_to_turn(X):
    for estimator in (DDRTree(2, max_iter=2, tol=1e-12), SPL(max_iter=2, tol=1e-14)):
        with pytest.warns(ConvergenceWarning, match=r"max_iter=2.*raise max_iter or tol") as seen:
            model = estimator.fit(X)
        assert seen[0].filename == __file__  # it points at the user's line
        assert not model.converged_
        assert model.n_iter_ == 2


def test_tol_zero_runs_all_iterations_without_a_warning(X):
    for estimator in (DDRTree(2, max_iter=3, tol=0), DRTree(max_iter=3, tol=0)):
        assert estimator.fit(X).n_iter_ == 3


def test_callback_receives_every_iteration(estimator, X):
    records = []
    model = estimator.set_params(callback=records.append).fit(X)
    assert len(records) == len(model.objective_history_)
    assert records[-1].objective == model.objective_
    assert records[-1].iteration == model.n_iter_
    assert records[-1].elapsed >= records[0].elapsed >= 0


@pytest.mark.parametrize("n_samples", [80, 3000])
def test_same_result_whatever_n_jobs(estimator, n_samples, monkeypatch):
    """To the last bit, for data that are copied and for data that are read in blocks."""
    if isinstance(estimator, SPL) and n_samples > 80:
        estimator.set_params(max_iter=2, tol=0)
        if estimator.loss == "equality":
            n_samples = 1700  # a dense path
    X, fresh = branching(n_samples, 6), branching(20, 6, seed=1)
    monkeypatch.setattr(branchwise.data.centering, "MAX_COPIED", 10_000)
    monkeypatch.setattr(branchwise.data.centering, "MIN_PART", 200)
    one, three = (clone(estimator).set_params(n_jobs=n).fit(X) for n in (1, 3))
    np.testing.assert_array_equal(one.embedding_, three.embedding_)
    np.testing.assert_array_equal(one.components_, three.components_)
    np.testing.assert_array_equal(one.transform(fresh), three.transform(fresh))


@pytest.mark.parametrize("n_jobs", [0, 1.5, "all"])
def test_n_jobs_is_checked(estimator, X, n_jobs):
    with pytest.raises(ValueError, match="The 'n_jobs' parameter"):
        estimator.set_params(n_jobs=n_jobs).fit(X)


INTERRUPTED = """
import sys
from branchwise import {name}
from tests.conftest import branching

def report(progress):
    print("iteration", progress.iteration, flush=True)

{name}({options}, tol=0, max_iter=10**6, verbose=1, n_jobs=2, callback=report).fit(
    branching(1500, 5)
)
"""


@pytest.mark.parametrize(
    ("name", "options"),
    [("DDRTree", "n_centers=None"), ("DDRTree", "n_centers=50"), ("DRTree", ""), ("SPL", "")],
)
def test_ctrl_c_ends_a_fit(name, options):
    code = INTERRUPTED.format(name=name, options=options).replace("(, ", "(")
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline().startswith("iteration")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert f"{name} was interrupted." in err
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert process.returncode != 0


def test_an_interrupted_fit_leaves_the_earlier_one_as_it_was(estimator, X):
    def interrupt(progress):
        raise KeyboardInterrupt

    model = estimator.fit(X)
    fresh = branching(5, 6, seed=3)
    before = model.transform(np.vstack([X[:5], fresh]))
    with pytest.raises(KeyboardInterrupt):
        model.set_params(callback=interrupt).fit(2 * X[:50])
    np.testing.assert_array_equal(model.transform(np.vstack([X[:5], fresh])), before)


def test_a_refused_fit_leaves_the_earlier_one_as_it_was(estimator, X):
    """Also where the refusal comes after the number of features was counted."""
    model = estimator.fit(X)
    before = vars(model).copy()
    with pytest.raises(ValueError, match="n_components=7 must be at most"):
        model.set_params(n_components=7).fit(X[:, :4])
    changed = {name for name, value in vars(model).items() if value is not before.get(name)}
    assert changed <= {"n_components"}
    new = clone(model)
    with pytest.raises(ValueError, match="n_components=7 must be at most"):
        new.fit(X[:, :4])
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        check_is_fitted(new)


def test_warnings_point_at_the_line_that_fits(X):
    with pytest.warns(ConvergenceWarning) as caught:
        DRTree(max_iter=1).fit(X)
    assert caught[0].filename == __file__


def test_verbose_reports_on_stderr_and_silence_is_silent(estimator, X, capsys):
    clone(estimator).fit(X)
    assert capsys.readouterr() == ("", "")
    estimator.set_params(verbose=1).fit(X)
    out, err = capsys.readouterr()
    assert out == ""
    assert f"{type(estimator).__name__} converged after" in err
    assert "objective" in err
