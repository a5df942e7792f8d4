"""n_components=None: W is the identity, and the structure lies in the space of the features."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.datasets import load_iris

import branchwise._memory
import branchwise.data.centering
from branchwise import SPL, DDRTree, DRTree
from branchwise.graph import count_branches
from branchwise.solvers.initialization import spread_around

from .. import oracles
from ..conftest import branching

ESTIMATORS = {
    "DDRTree": DDRTree(None, n_centers=15, random_state=0),
    "DDRTree K=N": DDRTree(None, n_centers=None),
    "DDRTree hard": DDRTree(None, n_centers=15, assignment="hard", random_state=0),
    "DRTree": DRTree(None),
    "SPL": SPL(None),
    "SPL gamma=0": SPL(None, gamma=0.0),
    "SPL sparse": SPL(None, solver="sparse", gamma=1.0),
    "SPL sketch": SPL(None, solver="sketch", tol=1e-4, random_state=0),
}
SHAPES = [(60, 5), (30, 80), (40, 40)]


@pytest.fixture(params=ESTIMATORS)
def estimator(request):
    return clone(ESTIMATORS[request.param])


def adjacency_of(model):
    return (model.graph_ if isinstance(model, SPL) else model.tree_).toarray()


def as_edges(tree):
    return set(zip(*np.nonzero(np.triu(tree.toarray())), strict=True))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("lam", [0.5, 20.0])
def test_drtree_is_reversed_graph_embedding(shape, lam):
    X = branching(*shape)
    model = DRTree(None, lam=lam, max_iter=8, tol=0).fit(X)
    F, edges, history = oracles.reversed_graph_embedding(X - X.mean(axis=0), lam=lam, n_iter=8)
    np.testing.assert_allclose(model.embedding_, F, atol=1e-8)
    np.testing.assert_allclose(model.objective_history_, history, rtol=1e-10)
    np.testing.assert_allclose(model.inverse_transform(model.centers_), F + X.mean(axis=0))
    assert as_edges(model.tree_) == set(map(tuple, edges))


@pytest.mark.parametrize("shape", [(80, 4), (30, 60)])
def test_ddrtree_with_small_gamma_is_simple_ppt(shape):
    """‖y − z‖²/γ + Σ r_k‖z − c_k‖² tends to Σ r_k‖y − c_k‖², with an error of order γ."""
    X = branching(*shape)
    Y = X - X.mean(axis=0)
    start, weight, sigma = Y[::4], 3.0, 0.3 * shape[1] / 4
    C, edges, history = oracles.simple_ppt(Y, start, lam=weight, sigma=sigma, n_iter=6)
    assert (np.diff(history) <= 1e-10).all()
    errors = []
    for gamma in (1e-3, 1e-4, 1e-5):
        model = DDRTree(
            None, init=start, lam=gamma * weight, gamma=gamma, sigma=sigma, max_iter=6, tol=0
        ).fit(X)
        assert as_edges(model.tree_) == set(map(tuple, edges))
        in_features = model.inverse_transform(model.centers_) - X.mean(axis=0)
        off = np.abs(model.objective_history_ / gamma - history)
        errors.append([np.abs(in_features - C).max(), off.max() / history[0]])
    assert max(errors[0]) < 0.01
    np.testing.assert_allclose(errors[1], np.array(errors[0]) / 10, rtol=0.02)
    np.testing.assert_allclose(errors[2], np.array(errors[0]) / 100, rtol=0.02)


def test_all_components_are_the_identity_up_to_a_rotation(estimator):
    X = branching(60, 5)
    model = clone(estimator).fit(X)
    # sigma="auto" alone differs.
    sigma = {"sigma": model.sigma_} if getattr(model, "sigma_", 0) > 0 else {}
    rotated = clone(estimator).set_params(n_components=5, **sigma).fit(X)
    np.testing.assert_array_equal(model.components_, np.eye(5))
    assert model.objective_ == pytest.approx(rotated.objective_, rel=1e-9)
    np.testing.assert_allclose(adjacency_of(model), adjacency_of(rotated), atol=1e-9)
    for name in ("embedding_", "centers_", "skeleton_"):
        if hasattr(model, name):
            one, two = getattr(model, name), getattr(rotated, name)
            np.testing.assert_allclose(pdist(one), pdist(two), atol=1e-9 * np.abs(two).max())
    if getattr(model, "gamma", 1) > 0:
        np.testing.assert_allclose(
            model.inverse_transform(model.embedding_),
            rotated.inverse_transform(rotated.embedding_),
            atol=1e-8,
        )


@pytest.mark.parametrize("shape", SHAPES)
def test_coordinates_are_the_centred_features(estimator, shape):
    X = branching(*shape)
    model = estimator.fit(X)
    np.testing.assert_array_equal(model.components_, np.eye(shape[1]))
    assert model.embedding_.shape == shape
    assert len(model.get_feature_names_out()) == shape[1]
    np.testing.assert_allclose(model.mean_, X.mean(axis=0))
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    fresh = branching(7, shape[1], seed=1)
    placed = model.transform(fresh)
    assert placed.shape == fresh.shape
    if isinstance(model, DRTree):
        nearest = ((fresh - model.mean_)[:, None] - model.centers_) ** 2
        node = model.centers_[nearest.sum(axis=2).argmin(axis=1)]
        expected = (fresh - model.mean_ + model.lam_ * node) / (1 + model.lam_)
        np.testing.assert_allclose(placed, expected, atol=1e-12)
    if isinstance(model, SPL) and model.gamma == 0:
        return  # its embedding has coordinates of its own
    structure = model.skeleton_ if isinstance(model, SPL) else model.embedding_
    back = model.inverse_transform(model.embedding_)
    np.testing.assert_allclose(back - model.mean_, structure, atol=1e-8)


@pytest.mark.parametrize("gamma", [1e-3, 1.0])
@pytest.mark.parametrize("shape", [(40, 5), (20, 50)])
def test_spl_skeleton_solves_for_the_features_themselves(shape, gamma):
    """d = D in `op:ebi-SW`, whatever the rank of the data, and Z = (γ+1)/4·Q⁻¹Y."""
    X = branching(*shape)
    model = SPL(None, n_neighbors=5, gamma=gamma, scale=None, tol=1e-8).fit(X)
    Y = X - X.mean(axis=0)
    i, j = model.edges_.T
    s = np.asarray(model.graph_[i, j]).ravel()
    phi = np.sum((Y[i] - Y[j]) ** 2, axis=1)
    printed = oracles.spl_objective(Y, model.edges_, phi, s, shape[1], gamma, 1e3)
    assert model.objective_ + np.prod(shape) / 2 * np.log(4) == pytest.approx(printed, rel=1e-10)
    ridge = (gamma + 1) / 4
    Q = oracles.dense_laplacian(model.edges_, len(X), s) + ridge * np.eye(len(X))
    np.testing.assert_allclose(model.skeleton_, ridge * np.linalg.solve(Q, Y), atol=1e-8)
    np.testing.assert_allclose(model.embedding_ * (gamma + 1) / gamma, model.skeleton_)


def test_directions_without_variance_and_of_little_stay_as_they_are(estimator):
    """Nothing is cut off below a rank: a feature in tiny units keeps its place."""
    X = branching(50, 4)
    X = np.column_stack([X, X[:, :2].sum(axis=1), np.full(50, 3.0), 1e-9 * X[:, 0]])
    if isinstance(estimator, SPL) and estimator.gamma == 0:
        estimator.set_params(gamma=1e-3)
    model = estimator.fit(X)
    structure = model.skeleton_ if isinstance(model, SPL) else model.centers_
    size = np.abs(structure).max()
    np.testing.assert_allclose(structure[:, 4], structure[:, :2].sum(axis=1), atol=1e-9 * size)
    np.testing.assert_allclose(structure[:, 5], 0, atol=1e-12 * size)
    np.testing.assert_allclose(structure[:, 6], 1e-9 * structure[:, 0], atol=1e-13 * size)


def test_order_and_threads_do_not_matter(estimator, rng):
    X = branching(80, 6)
    order = rng.permutation(80)
    model, permuted = clone(estimator).fit(X), clone(estimator).set_params(n_jobs=2).fit(X[order])
    np.testing.assert_array_equal(permuted.embedding_, model.embedding_[order])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_large_and_sparse_data_give_the_same_result(estimator, container, monkeypatch):
    X = branching(60, 6)
    X = np.where(X > 0.2, X, 0.0)
    small = clone(estimator).fit(X)
    monkeypatch.setattr(branchwise.data.centering, "MAX_COPIED", 200)
    large = clone(estimator).fit(container(X))
    size = np.abs(small.embedding_).max()
    np.testing.assert_allclose(large.embedding_ / size, small.embedding_ / size, atol=1e-5)
    fresh = X[:5] + 0.01 * (X[:5] > 0)
    np.testing.assert_allclose(
        large.transform(container(fresh)) / size, small.transform(fresh) / size, atol=1e-4
    )


def test_single_precision_in_single_precision_out(estimator):
    X = branching(60, 6).astype(np.float32)
    model = estimator.fit(X)
    for array in (model.embedding_, model.components_, model.mean_, model.transform(X[:3] + 1)):
        assert array.dtype == np.float32


@pytest.mark.parametrize("n_features", [4, 20, 50])
def test_noise_in_many_features_does_not_draw_the_tree_into_a_point(n_features):
    """Simulated data: three branches have three tips and one fork."""
    X = branching(1000, n_features)
    model = DDRTree(None, gamma=10.0, lam=100.0, random_state=0).fit(X)
    assert count_branches(model.tree_) == (3, 1, 3)
    assert np.ptp(model.centers_, axis=0).max() > 1
    # The defaults draw less, and may leave twigs beside the branches.
    assert np.ptp(DDRTree(None).fit(X).centers_, axis=0).max() > 1


@given(
    n_points=st.integers(2, 60),
    n_centers=st.integers(1, 8),
    n_dims=st.integers(1, 12),
    seed=st.integers(0, 1000),
)
def test_directions_are_counted_by_the_spread_in_each(n_points, n_centers, n_dims, seed):
    rng = np.random.default_rng(seed)
    Z, C = rng.normal(size=(n_points, n_dims)), rng.normal(size=(n_centers, n_dims))
    squared = ((Z[:, None] - C) ** 2).sum(axis=2)
    nearest = np.argsort(squared, axis=1)[:, 1 if n_centers == n_points else 0]
    variances = np.linalg.svd(Z - C[nearest], compute_uv=False) ** 2
    expected = variances.sum() ** 2 / (variances**2).sum()
    assert spread_around(Z, C)[1] == pytest.approx(expected, rel=1e-9)
    assert 1 - 1e-9 <= expected <= min(n_dims, n_points) + 1e-9


@given(
    n_samples=st.integers(3, 30),
    n_features=st.integers(1, 40),
    weight=st.floats(0, 1e3),
    seed=st.integers(0, 1000),
)
def test_objectives_never_rise(n_samples, n_features, weight, seed):
    X = np.random.default_rng(seed).normal(size=(n_samples, n_features))
    energy = np.sum((X - X.mean(axis=0)) ** 2)
    for tree in (DRTree(None, lam=weight), DDRTree(None, lam=weight, n_centers=None)):
        history = tree.set_params(max_iter=6, tol=0).fit(X).objective_history_
        assert (np.diff(history) <= 1e-10 * energy).all()


def test_starting_centres_are_given_in_the_centred_features():
    X = load_iris().data
    Y = X - X.mean(axis=0)
    parameters = {"lam": 5.0, "gamma": 10.0, "sigma": 0.1}
    model = DDRTree(None, init=Y[::7], max_iter=5, tol=0, **parameters).fit(X)
    axes = np.linalg.svd(Y, full_matrices=False)[2].T
    W, Z, C, _, history = oracles.ddrtree_algorithm_2(Y, 4, Y[::7] @ axes, n_iter=5, **parameters)
    np.testing.assert_allclose(model.centers_, C @ W.T, atol=1e-8)
    np.testing.assert_allclose(model.embedding_, Z @ W.T, atol=1e-8)
    np.testing.assert_allclose(model.objective_history_, history, rtol=1e-10)


def test_an_identity_that_does_not_fit_into_memory_is_refused(estimator, monkeypatch):
    monkeypatch.setattr(branchwise._memory, "available_bytes", lambda: 10)
    message = r"on 60 samples of 5 features needs .*; set n_components, or reduce the features"
    with pytest.raises(MemoryError, match=message):
        estimator.fit(branching(60, 5))
