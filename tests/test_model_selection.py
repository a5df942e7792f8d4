import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats
from scipy.special import logsumexp
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, KFold, ParameterGrid
from sklearn.pipeline import make_pipeline

import branchwise.model_selection
from branchwise import SPL, DDRTree, DRTree, held_out_log_likelihood, select
from branchwise.model_selection import (
    default_grid,
    mixture_log_likelihood,
    stability,
    tree_distances,
)

from .conftest import branching

IRIS = load_iris().data
ESTIMATORS = [SPL(gamma=1.0), DRTree(), DDRTree(2, random_state=0)]


def ring(n_samples=200, n_features=6, noise=0.1, seed=0):
    """Simulated: a circle of radius 3 in two of the dimensions."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, n_samples)
    clean = np.zeros((n_samples, n_features))
    clean[:, :2] = 3 * np.column_stack([np.cos(angle), np.sin(angle)])
    return clean, clean + noise * rng.normal(size=clean.shape)


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, pd.DataFrame])
def test_score_is_the_density_of_the_mixture_of_the_nodes(model, make):
    train, test = make(IRIS[::2]), make(IRIS[1::2])
    model.fit(train)
    score = held_out_log_likelihood(model, test)
    if isinstance(model, SPL):
        nodes, weights = model.skeleton_, np.full(75, 1 / 75)
    else:
        nodes, weights = model.centers_, np.asarray(model.assignments_.mean(axis=0)).ravel()
    places = nodes @ model.components_ + model.mean_

    def mean_log(noise):
        logs = [stats.multivariate_normal(r, noise * np.eye(4)).logpdf(IRIS[1::2]) for r in places]
        return np.mean(logsumexp(logs, b=weights[:, None], axis=0))

    grid = [mean_log(noise) for noise in np.geomspace(0.02, 0.4, 60)]
    assert score == pytest.approx(max(grid), abs=1e-2)
    assert score >= max(grid) - 1e-9


def test_score_of_a_sparse_matrix_needs_no_dense_one():
    X = sparse.random(300, 20_000, density=1e-3, format="csr", random_state=0)
    model = DRTree(max_iter=2, tol=0).fit(X[:200])
    tracemalloc.start()
    score = held_out_log_likelihood(model, X[200:])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * 20_000 * 8 / 4
    assert score == pytest.approx(held_out_log_likelihood(model, X[200:].toarray()), rel=1e-10)


def test_score_follows_the_units():
    small, large = (SPL(gamma=1.0).fit(unit * IRIS[::2]) for unit in (1, 1000))
    difference = held_out_log_likelihood(small, IRIS[1::2]) - held_out_log_likelihood(
        large, 1000 * IRIS[1::2]
    )
    assert difference == pytest.approx(4 * np.log(1000))


@pytest.mark.parametrize("noise", [0.1, 0.3])
def test_spl_chooses_the_dimension_of_a_ring_and_finds_its_noise(noise):
    clean, X = ring(300, noise=noise)
    grid = {"n_components": [1, 2, 3], "n_neighbors": [5, 10], "gamma": [0.1, 10.0]}
    selection = select(SPL(C=1.0, tol=1e-3), X, grid)
    assert selection.best_params_["n_components"] == 2
    assert selection.results_["noise"][selection.best_index_] == pytest.approx(noise, rel=0.1)

    def error(model):
        return np.sqrt(np.mean((model.skeleton_ @ model.components_ + model.mean_ - clean) ** 2))

    errors = [
        error(SPL(C=1.0, tol=1e-3, **parameters).fit(X)) for parameters in ParameterGrid(grid)
    ]
    assert error(selection.best_estimator_) <= 1.2 * min(errors)


def test_leaving_out_given_the_graph_favours_too_many_components():
    """The graph has seen the sample: why `select` fits without it."""
    _, X = ring()
    models = [SPL(d, gamma=100.0, tol=1e-2).fit(X) for d in (2, 3, 4)]
    assert np.argmax([model.loo_log_likelihood_.mean() for model in models]) == 2
    outside = select(SPL(gamma=100.0, tol=1e-2), X, {"n_components": [2, 3, 4]})
    assert outside.best_params_ == {"n_components": 2}


def test_evidence_falls_with_every_constraint_and_sees_the_dimension():
    """It compares γ and d; more neighbours can only lower it, whatever the data."""
    _, X = ring()
    wider = [SPL(gamma=100.0, scale=0.5, n_neighbors=k).fit(X).log_evidence_ for k in (3, 6, 12)]
    assert (np.diff(wider) < 0).all()
    by_dimension = [SPL(d, gamma=400.0, scale=0.5).fit(X).log_evidence_ for d in (1, 2, 3, 4)]
    assert np.argmax(by_dimension) == 1


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_ddrtree_chooses_a_tree_almost_as_good_as_any(seed):
    """By the distances along it, of which the truth is known."""
    rng = np.random.default_rng(seed)
    branch, time = rng.integers(3, size=300), 3 * rng.uniform(size=300)
    X = time[:, None] * np.eye(8)[branch] + 0.25 * rng.normal(size=(300, 8))
    i, j = np.triu_indices(300, 1)
    same = branch[i] == branch[j]
    true = np.where(same, np.abs(time[i] - time[j]), time[i] + time[j])

    def quality(model):
        return np.corrcoef(tree_distances(model, X), true)[0, 1]

    grid = {"n_centers": [20, 60], "lam": [0.3, 3.0, 30.0, 1500.0]}
    estimator = DDRTree(3, random_state=0)
    selection = select(estimator, X, grid)
    every = [quality(DDRTree(3, random_state=0, **p).fit(X)) for p in ParameterGrid(grid)]
    assert quality(selection.best_estimator_) > max(every) - 0.02
    assert max(every) - min(every) > 0.06  # so that there was something to choose


def test_the_most_stable_of_the_most_likely_trees_is_chosen():
    X = branching(200, 6)
    result = select(DDRTree(2, random_state=0), X, {"lam": [0.1, 1.0, 10.0, 100.0]})
    table = pd.DataFrame(result.results_)
    best = table.log_likelihood.idxmax()
    near = table[
        table.log_likelihood >= table.log_likelihood[best] - 2 * table.log_likelihood_error[best]
    ]
    assert result.best_index_ == near.stability.idxmax()
    assert table.stability.between(-1, 1).all()


def test_table_names_every_combination_and_estimator_is_fitted_to_all_samples():
    result = select(SPL(gamma=1.0), IRIS, {"n_neighbors": [5, 10], "C": [1.0, np.inf]})
    table = pd.DataFrame(result.results_)
    assert len(table) == 4
    assert {"param_C", "param_n_neighbors", "log_likelihood", "noise", "error"} <= set(table)
    assert table.stability.isna().all()
    assert (table.error == "").all()
    assert table.loc[result.best_index_, "param_C"] == result.best_params_["C"]
    assert result.best_estimator_.embedding_.shape == (150, 2)
    assert result.best_index_ == table.log_likelihood.idxmax()


def test_the_scores_are_those_of_scikit_learn_s_search():
    grid, folds = {"n_components": [1, 2, 3]}, KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(SPL(gamma=1.0), grid, scoring=held_out_log_likelihood, cv=folds)
    theirs = search.fit(IRIS).cv_results_["mean_test_score"]
    ours = select(SPL(gamma=1.0), IRIS, grid).results_["log_likelihood"]
    np.testing.assert_allclose(ours, theirs)  # the parts are equally large


@pytest.mark.parametrize("lam", [9.0, 9, np.int64(9), np.float32(9)])
def test_lam_is_meant_for_all_samples(lam):
    X = branching(90, 5)
    result = select(DRTree(), X, {"lam": [lam]}, n_folds=3)
    by_hand = [
        held_out_log_likelihood(DRTree(lam=6.0).fit(X[train]), X[test])
        for train, test in KFold(3, shuffle=True, random_state=0).split(X)
    ]
    assert result.results_["log_likelihood"][0] == pytest.approx(np.mean(by_hand))
    assert result.best_estimator_.lam_ == 9.0


def test_a_combination_that_cannot_be_fitted_loses_nothing():
    X = branching(40, 4)
    result = select(SPL(), X, {"n_neighbors": [5, 35]})
    assert result.best_params_ == {"n_neighbors": 5}
    assert "n_neighbors=35 must be less than" in result.results_["error"][1]
    with pytest.raises(ValueError, match="No combination of parameters could be fitted: n_neigh"):
        select(SPL(), X, {"n_neighbors": [35, 36]})


def test_a_combination_that_needs_too_much_memory_loses_nothing():
    class Huge:
        def best_graph(self, points):
            raise MemoryError("needs about 9,000 GiB of memory")

    result = select(DRTree(), branching(40, 4), {"structure": [Huge(), "tree"]})
    assert result.best_params_ == {"structure": "tree"}
    assert "9,000 GiB" in result.results_["error"][0]


def test_selection_does_not_depend_on_processes_and_follows_the_seed():
    X, grid = branching(60, 4), {"n_components": [1, 2]}
    one, two = (select(SPL(), X, grid, n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.results_["log_likelihood"], two.results_["log_likelihood"])
    other = select(SPL(), X, grid, random_state=1)
    assert (one.results_["log_likelihood"] != other.results_["log_likelihood"]).all()


def test_tree_distances_are_lengths_along_the_tree():
    X = np.arange(8.0)[:, None] * [1.0, 0.0]
    model = DRTree(1, lam=0.0).fit(X)
    i, j = np.triu_indices(8, 1)
    np.testing.assert_allclose(tree_distances(model, X), j - i, atol=1e-9)
    folded = DRTree(1, lam=0.0).fit(np.vstack([X, X]))  # edges of length zero are edges
    np.testing.assert_allclose(tree_distances(folded, X), j - i, atol=1e-9)


def test_stability_of_trees_shrunk_to_a_point_is_zero():
    assert stability([np.zeros(3), np.arange(3.0)]) == 0


@pytest.mark.parametrize("model", [*ESTIMATORS, DDRTree(2, assignment="hard")])
@pytest.mark.parametrize("shape", [(12, 2), (300, 5)])
def test_every_combination_of_the_default_grid_can_be_fitted(model, shape):
    X = np.random.default_rng(0).normal(size=shape)
    grid = list(ParameterGrid(default_grid(model, X)))
    assert len(grid) >= 5
    for parameters in grid[:: len(grid) - 1]:
        type(model)(**{**parameters, "max_iter": 1, "tol": 0}).fit(X)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (
            {"n_folds": 1},
            ValueError,
            "n_folds=1 must be at least 2 and at most half of n_samples=150",
        ),
        ({"n_folds": 76}, ValueError, "n_folds=76 must be at least 2"),
        ({"n_folds": 2.0}, ValueError, "n_folds=2.0 must be a positive integer"),
        (
            {"param_grid": {"sigma": [1]}},
            ValueError,
            "param_grid names 'sigma', but",
        ),
        ({"param_grid": {"C": 3.0}}, TypeError, "param_grid must map names of parameters to lists"),
        ({"param_grid": {"C": []}}, ValueError, "param_grid must map names of parameters to lists"),
        ({"param_grid": 3}, TypeError, "param_grid must map names of parameters to lists"),
        ({"param_grid": []}, ValueError, "param_grid is empty, but must have a combination"),
        (
            {"param_grid": {"kernel": [None, "rbf"]}},
            ValueError,
            "several values of 'kernel', but the likelihood is that of kernel values and compar",
        ),
        (
            {"param_grid": [{"kernel_params": [{"gamma": 1.0}]}, {"C": [1.0]}]},
            ValueError,
            "several values of 'kernel_params', but the likelihood is that of kernel values",
        ),
    ],
)
def test_bad_searches_are_refused(options, kind, message):
    with pytest.raises(kind, match=message):
        select(SPL(), IRIS, **{"param_grid": {"C": [1.0]}, **options})


def test_dask_arrays_are_not_loaded_unasked():
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    chunks = da.ones((60, 3), chunks=20)
    with pytest.raises(
        ValueError, match=r"^X is a Dask array, but .*pass X.compute\(\) if .*X\[::10\].compute"
    ):
        select(DDRTree(2), chunks)
    with pytest.raises(ValueError, match=r"^X is a Dask DataFrame, but .*sample\(frac=0.1\).comp"):
        select(DDRTree(2), dd.from_dask_array(chunks))


def test_other_estimators_are_refused():
    message = "estimator must be an SPL, DRTree or DDRTree object, got {}; pass one of these"
    for grid in (None, {"n_components": [1]}):
        with pytest.raises(TypeError, match=message.format("PCA")):
            select(PCA(), IRIS, grid)
    with pytest.raises(TypeError, match=message.format("SPL")):
        select(SPL, IRIS)
    with pytest.raises(TypeError, match=message.format("Pipeline")):
        held_out_log_likelihood(make_pipeline(DRTree()).fit(IRIS), IRIS)


def test_complaints_name_the_rows_of_all_samples():
    X = IRIS.copy()
    X[77, 2] = np.nan
    with pytest.raises(ValueError, match=r"X\[77, 2\] is NaN, but every value must be finite"):
        select(DRTree(), X)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
        select(SPL(), X[:, 0])


@pytest.mark.parametrize(
    "make", [sparse.coo_array, sparse.csc_array, pd.DataFrame, np.ndarray.tolist]
)
def test_any_table_can_be_searched(make):
    X = branching(30, 4)
    for model in ESTIMATORS:
        ours, theirs = (select(model, table, {"n_components": [1, 2]}) for table in (make(X), X))
        np.testing.assert_allclose(
            ours.results_["log_likelihood"], theirs.results_["log_likelihood"], rtol=1e-6
        )


def test_default_grid_keeps_the_number_of_starting_centres():
    X = branching(60, 4)
    selection = select(DDRTree(2, init=X[:7, :2], random_state=0), X)
    assert len(selection.best_estimator_.centers_) == 7


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_kernels_are_selected_with_columns_of_the_training_samples(model):
    X = IRIS[::3]
    grid = {"n_components": [1, 2]}
    of_samples = select(type(model)(kernel="linear"), X, grid)
    of_matrix = select(type(model)(kernel="precomputed"), X @ X.T, grid)
    np.testing.assert_allclose(
        of_samples.results_["log_likelihood"], of_matrix.results_["log_likelihood"], rtol=1e-6
    )


# The density of a mixture


def mixture(y, nodes, weights, noise):
    """Σ_k π_k N(y | r_k, τ²I), one normal at a time."""
    D = y.shape[1]
    return sum(
        w * stats.multivariate_normal(r, noise * np.eye(D)).pdf(y)
        for r, w in zip(nodes, weights, strict=True)
    )


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 30),
    n_nodes=st.integers(1, 10),
    d=st.integers(1, 3),
)
def test_density_is_that_of_the_mixture_at_the_best_noise(seed, n, n_nodes, d):
    rng = np.random.default_rng(seed)
    y, nodes = rng.normal(size=(n, 4)), rng.normal(size=(n_nodes, d))
    weights = rng.dirichlet(np.ones(n_nodes)) * rng.integers(0, 2, size=n_nodes)
    weights[0] += 0.1
    weights /= weights.sum()
    across = np.sum(y[:, d:] ** 2, axis=1)
    logs, noise = mixture_log_likelihood(y[:, :d], across, nodes, weights, 4)
    in_space = np.hstack([nodes, np.zeros((n_nodes, 4 - d))])
    expected = np.log(mixture(y, in_space, weights, noise))
    np.testing.assert_allclose(logs, expected, rtol=1e-8, atol=1e-10)
    for factor in (0.99, 1.01):
        other = np.log(mixture(y, in_space, weights, noise * factor))
        assert other.mean() <= logs.mean() + 1e-7


def test_density_in_blocks_is_the_same(rng, monkeypatch):
    y, nodes = rng.normal(size=(50, 2)), rng.normal(size=(8, 2))
    whole, noise = mixture_log_likelihood(y, np.zeros(50), nodes, np.full(8, 1 / 8), 2)
    monkeypatch.setattr(branchwise.model_selection, "MAX_HELD", 100)
    parts, of_some = mixture_log_likelihood(y, np.zeros(50), nodes, np.full(8, 1 / 8), 2)
    assert of_some == pytest.approx(noise, rel=0.5)  # from every fifth sample
    expected = np.log(mixture(y, nodes, np.full(8, 1 / 8), of_some))
    np.testing.assert_allclose(parts, expected)
    assert whole.mean() >= parts.mean()


def test_samples_on_the_nodes_have_a_finite_density():
    y = np.zeros((3, 1))
    logs, noise = mixture_log_likelihood(y, np.zeros(3), y[:1], np.ones(1), 1)
    assert noise > 0
    assert np.isfinite(logs).all()
