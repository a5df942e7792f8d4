"""With a kernel, the rows of the kernel matrix are the data."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import branchwise._memory
import branchwise.data.kernels
from branchwise import SPL, DDRTree, DRTree

from ..conftest import branching

ESTIMATORS = {
    "DDRTree": DDRTree(2, n_centers=15, random_state=0),
    # Equal samples tie; with these weights what rounding chose is forgotten before the fit ends.
    "DDRTree K=N": DDRTree(2, n_centers=None, gamma=10.0, lam=8.0),
    "DDRTree hard": DDRTree(2, n_centers=15, assignment="hard", random_state=0),
    "DRTree": DRTree(),
    "SPL": SPL(),
    "SPL gamma=0": SPL(gamma=0.0),
    "SPL sparse": SPL(solver="sparse"),
    "SPL sketch": SPL(solver="sketch", tol=1e-4, random_state=0),
}


def laplacian_kernel(A, B, width=2.0):
    A, B = (M.toarray() if sparse.issparse(M) else M for M in (A, B))
    return np.exp(-np.abs(A[:, None] - B).sum(axis=2) / width)


KERNELS = {
    "linear": ("linear", None, lambda A, B: A @ B.T),
    "rbf": ("rbf", None, lambda A, B: rbf_kernel(A, B, gamma=1 / 6)),
    "rbf gamma": ("rbf", {"gamma": 0.4}, lambda A, B: rbf_kernel(A, B, gamma=0.4)),
    "callable": (laplacian_kernel, None, laplacian_kernel),
    "callable width": (
        laplacian_kernel,
        {"width": 4.0},
        lambda A, B: laplacian_kernel(A, B, width=4.0),
    ),
}


@pytest.fixture(params=ESTIMATORS)
def estimator(request):
    return clone(ESTIMATORS[request.param])


@pytest.fixture
def X():
    return branching(80, 6)


@pytest.fixture
def fresh():
    return branching(20, 6, seed=1)


def adjacency_of(model):
    return (model.graph_ if isinstance(model, SPL) else model.tree_).toarray()


def assert_same(model, expected, atol=1e-8):
    size = np.abs(expected.embedding_).max()
    np.testing.assert_allclose(model.embedding_ / size, expected.embedding_ / size, atol=atol)
    np.testing.assert_allclose(model.components_, expected.components_, atol=atol)
    np.testing.assert_allclose(model.mean_, expected.mean_, rtol=1e-10)
    np.testing.assert_allclose(adjacency_of(model), adjacency_of(expected), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", KERNELS)
def test_fitting_a_kernel_is_fitting_its_matrix(estimator, X, fresh, name):
    kernel, params, formula = KERNELS[name]
    model = clone(estimator).set_params(kernel=kernel, kernel_params=params).fit(X)
    expected = clone(estimator).fit(formula(X, X))
    assert_same(model, expected)
    assert model.n_features_in_ == 6
    size = np.abs(expected.embedding_).max()
    np.testing.assert_allclose(
        model.transform(fresh) / size, expected.transform(formula(fresh, X)) / size, atol=1e-8
    )
    np.testing.assert_allclose(
        model.inverse_transform(model.embedding_),
        expected.inverse_transform(expected.embedding_),
        atol=1e-7 * np.abs(formula(X, X)).max(),
    )
    np.testing.assert_array_equal(model.transform(X), model.embedding_)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_precomputed_kernel_is_the_data(estimator, X, fresh, container):
    K, K_fresh = rbf_kernel(X), rbf_kernel(fresh, X)
    model = clone(estimator).set_params(kernel="precomputed").fit(container(K))
    expected = clone(estimator).fit(container(K))
    np.testing.assert_array_equal(model.embedding_, expected.embedding_)
    np.testing.assert_array_equal(
        model.transform(container(K_fresh)), expected.transform(container(K_fresh))
    )
    np.testing.assert_array_equal(model.transform(container(K)), model.embedding_)
    assert model.n_features_in_ == 80


@pytest.mark.parametrize("kernel", ["linear", "rbf", laplacian_kernel, "precomputed"])
def test_permuting_the_samples_permutes_the_result(estimator, X, fresh, kernel, rng):
    """To rounding: the columns of the data are permuted, too."""
    order = rng.permutation(len(X))
    model = clone(estimator).set_params(kernel=kernel)
    permuted = clone(model)
    if kernel == "precomputed":
        K = rbf_kernel(X)
        model.fit(K), permuted.fit(K[np.ix_(order, order)])
    else:
        model.fit(X), permuted.fit(X[order])
        np.testing.assert_allclose(permuted.transform(fresh), model.transform(fresh), atol=1e-7)
    size = np.abs(model.embedding_).max()
    np.testing.assert_allclose(
        permuted.embedding_ / size, model.embedding_[order] / size, atol=1e-7
    )
    np.testing.assert_allclose(permuted.components_, model.components_[:, order], atol=1e-7)


def test_same_result_whatever_n_jobs(estimator, X, fresh, monkeypatch):
    monkeypatch.setattr(branchwise.data.kernels, "MAX_BLOCK", 1000)
    one, three = (
        clone(estimator).set_params(kernel="rbf", n_jobs=n_jobs).fit(X) for n_jobs in (1, 3)
    )
    np.testing.assert_array_equal(one.embedding_, three.embedding_)
    np.testing.assert_array_equal(one.transform(fresh), three.transform(fresh))


@pytest.mark.parametrize("kernel", ["linear", "rbf", laplacian_kernel])
def test_sparse_samples_give_the_dense_result(estimator, X, fresh, kernel):
    X, fresh = np.where(X > 0.2, X, 0.0), np.where(fresh > 0.2, fresh, 0.0)
    dense, model = (
        clone(estimator).set_params(kernel=kernel).fit(container(X))
        for container in (np.asarray, sparse.csr_array)
    )
    size = np.abs(dense.embedding_).max()
    np.testing.assert_allclose(model.embedding_ / size, dense.embedding_ / size, atol=1e-5)
    for container in (np.asarray, sparse.csc_array):
        np.testing.assert_allclose(
            model.transform(container(fresh)) / size, dense.transform(fresh) / size, atol=1e-5
        )


def test_single_precision_in_single_precision_out(estimator, X, fresh):
    X = X.astype(np.float32)
    model = clone(estimator).set_params(kernel="rbf").fit(X)
    for array in (model.embedding_, model.components_, model.mean_):
        assert array.dtype == np.float32
    assert model.transform(fresh).dtype == np.float64
    assert model.transform(fresh.astype(np.float32)).dtype == np.float32
    double = clone(estimator).set_params(kernel="rbf").fit(X.astype(np.float64))
    size = np.abs(double.embedding_).max()
    np.testing.assert_allclose(model.embedding_ / size, double.embedding_ / size, atol=1e-4)


def test_transform_places_each_row_by_itself(estimator, X, fresh):
    model = estimator.set_params(kernel="rbf").fit(X)
    together = model.transform(fresh)
    alone = np.vstack([model.transform(row[None]) for row in fresh])
    np.testing.assert_allclose(together, alone, atol=1e-12)


def test_new_samples_land_near_those_like_them(estimator):
    X = branching(300, 6, noise=0.05)
    model = estimator.set_params(kernel="rbf").fit(X)
    fresh = X[:60] + 0.01 * np.random.default_rng(5).normal(size=(60, 6))
    shift = np.linalg.norm(model.transform(fresh) - model.embedding_[:60], axis=1)
    spread = np.linalg.norm(model.embedding_ - model.embedding_.mean(axis=0), axis=1).mean()
    assert np.median(shift) < 0.1 * spread


def test_all_components_of_a_kernel(estimator, X):
    """W = I in the space of kernel values."""
    model = estimator.set_params(kernel="rbf", n_components=None).fit(X)
    np.testing.assert_array_equal(model.components_, np.eye(80))
    assert model.embedding_.shape == (80, 80)
    assert model.transform(X[:3] + 0.1).shape == (3, 80)


def test_float_n_components_keeps_that_fraction_of_the_kernel_s_energy(estimator, X):
    parameters = {"kernel": "rbf", "kernel_params": {"gamma": 5.0}, "n_components": 0.95}
    model = estimator.set_params(**parameters).fit(X)
    expected = PCA(n_components=0.95).fit(rbf_kernel(X, gamma=5.0)).n_components_
    assert len(model.components_) == expected > 6


def test_equal_samples_are_equal_for_a_kernel(X):
    """With C = ∞ a distance of zero must be zero and not rounding."""
    for kernel in ("linear", "rbf"):
        model = SPL(kernel=kernel, C=np.inf).fit(np.repeat(X, 2, axis=0))
        assert model.converged_


def test_features_keep_their_names(estimator, X):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = estimator.set_params(kernel="rbf").set_output(transform="pandas").fit(frame)
    assert list(model.feature_names_in_) == list("abcdef")
    assert list(model.transform(frame).columns) == list(model.get_feature_names_out())


def test_a_model_with_a_kernel_survives_pickling_and_pipelines(estimator, X, fresh):
    model = make_pipeline(StandardScaler(), estimator.set_params(kernel="rbf")).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(fresh), model.transform(fresh))


def test_changing_the_samples_after_a_fit_does_not_change_the_model(estimator, X, fresh):
    samples = X.copy()
    model = estimator.set_params(kernel="rbf").fit(samples)
    before = model.transform(fresh)
    samples[:] = 0
    np.testing.assert_array_equal(model.transform(fresh), before)


def test_an_interrupted_fit_leaves_the_earlier_one_as_it_was(estimator, X, fresh):
    def interrupt(progress):
        raise KeyboardInterrupt

    model = estimator.set_params(kernel="rbf").fit(X)
    before = model.transform(np.vstack([X[:5], fresh]))
    with pytest.raises(KeyboardInterrupt):
        model.set_params(callback=interrupt).fit(2 * X[:50])
    np.testing.assert_array_equal(model.transform(np.vstack([X[:5], fresh])), before)


def test_cross_validation_takes_rows_and_columns_of_a_precomputed_kernel(X):
    shapes = []

    def score(model, K, y=None):
        shapes.append((model.embedding_.shape, K.shape, model.transform(K).shape))
        return 0.0

    folds = KFold(4)
    cross_val_score(DRTree(kernel="precomputed"), rbf_kernel(X), cv=folds, scoring=score)
    assert shapes == [((60, 2), (20, 60), (20, 2))] * 4
    shapes.clear()
    cross_val_score(DRTree(kernel="rbf"), X, cv=folds, scoring=score)
    assert shapes == [((60, 2), (20, 6), (20, 2))] * 4


def test_a_kernel_matrix_that_does_not_fit_into_memory_is_refused(estimator, X, monkeypatch):
    monkeypatch.setattr(branchwise._memory, "available_bytes", lambda: 10)
    name = type(estimator).__name__
    message = rf"{name} with the kernel matrix of 80 samples needs .*; take fewer samples or set k"
    with pytest.raises(MemoryError, match=message):
        estimator.set_params(kernel="rbf").fit(X)
