import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning

from branchwise import DDRTree
from branchwise_paper.baselines import SimplePPT
from branchwise_paper.baselines.simple_ppt import simple_ppt, update_centers

from .. import oracles
from ..conftest import branching


@pytest.mark.parametrize("shape", [(80, 3), (25, 40)])
@pytest.mark.parametrize("every", [1, 4])
def test_simple_ppt_is_that_of_dense_matrices(shape, every):
    Y = branching(*shape)
    Y = Y - Y.mean(axis=0)
    sigma = 0.3 * shape[1] / 4
    expected, _, history = oracles.simple_ppt(Y, Y[::every], lam=3.0, sigma=sigma, n_iter=8)
    C, monitor = simple_ppt(Y, Y[::every], lam=3.0, sigma=sigma, max_iter=8, tol=0.0)
    np.testing.assert_allclose(C, expected, atol=1e-8)
    np.testing.assert_allclose(monitor.history, history, atol=1e-8 * np.vdot(Y, Y))


@given(
    seed=st.integers(0, 10**6),
    log_lam=st.floats(-4, 4),
    log_sigma=st.floats(-3, 2),
    n_centers=st.integers(1, 30),
)
def test_objective_never_rises(seed, log_lam, log_sigma, n_centers):
    Y = branching(30, 3, seed=seed)
    Y = Y - Y.mean(axis=0)
    start = Y[:n_centers]
    _, monitor = simple_ppt(
        Y, start, lam=10.0**log_lam, sigma=10.0**log_sigma, max_iter=15, tol=0.0
    )
    assert (np.diff(monitor.history) <= 1e-10 * np.vdot(Y, Y)).all()


@pytest.mark.parametrize("n_centers", [None, "auto", 12])
def test_the_tree_spans_the_centers(n_centers):
    X = branching(150, 4)
    model = SimplePPT(n_centers, random_state=0).fit(X)
    n = len(model.centers_)
    assert n == {None: 150, "auto": 104, 12: 12}[n_centers]
    assert model.tree_.nnz == 2 * (n - 1)
    assert connected_components(model.tree_)[0] == 1
    assert model.converged_
    np.testing.assert_allclose(model.assignments_.sum(axis=1), 1)
    np.testing.assert_allclose(model.embedding_, model.assignments_ @ model.centers_)
    distance = np.linalg.norm(X[:, None] - model.centers_, axis=2)
    np.testing.assert_array_equal(model.labels_, distance.argmin(axis=1))


def test_without_a_tree_centers_are_where_mean_shift_stops(rng):
    """λ = 0: every centre is the mean of the samples, weighted as in `prop:R`."""
    X = rng.normal(size=(60, 2)) + 8 * rng.integers(2, size=(60, 1))
    model = SimplePPT(lam=0.0, sigma=2.0, tol=1e-14, max_iter=5000).fit(X)
    R = oracles.soft_assignments(X, model.centers_, 2.0)
    means = R.T @ X / R.sum(axis=0)[:, None]
    np.testing.assert_allclose(model.centers_, means, atol=1e-5)
    assert len(np.unique(model.centers_.round(1), axis=0)) < 10  # they have met at few modes


def test_a_small_weight_of_the_tree_is_as_good_as_none():
    X = branching(60, 3)
    centers = [
        SimplePPT(10, lam=lam, sigma=0.2, random_state=0).fit(X).centers_ for lam in (0.0, 1e-9)
    ]
    np.testing.assert_allclose(*centers, atol=1e-6)


def test_a_heavy_tree_is_drawn_together():
    X = branching(60, 3)
    model = SimplePPT(10, lam=1e9, sigma=0.2, random_state=0).fit(X)
    np.testing.assert_allclose(model.centers_, X.mean(axis=0) + np.zeros((10, 3)), atol=1e-5)


def test_a_center_without_samples_stays_put_if_there_is_no_tree():
    Y, C = np.array([[0.0], [2.0]]), np.array([[1.0], [50.0]])
    R = np.array([[1.0, 0.0], [1.0, 0.0]])
    new = update_centers(Y, C, R, np.array([[0, 1]]), 0.0)
    np.testing.assert_allclose(new, [[1.0], [50.0]])


def test_ddrtree_tends_to_simple_ppt():
    X = branching(60, 3)
    start = (X - X.mean(axis=0))[::4]
    C, _ = simple_ppt(X - X.mean(axis=0), start, lam=2.0, sigma=0.3, max_iter=5, tol=0.0)
    gamma = 1e-6
    options = {"gamma": gamma, "lam": 2 * gamma, "sigma": 0.3, "max_iter": 5, "tol": 0}
    limit = DDRTree(None, init=start, **options).fit(X)
    np.testing.assert_allclose(limit.centers_, C, atol=1e-4)


def test_centers_follow_the_branches_and_samples_lose_their_noise():
    X = branching(300, 5, noise=0.2)
    clean = branching(300, 5, noise=0.0)
    Z = SimplePPT(n_centers=40, random_state=0).fit_transform(X)
    # Branches and times are drawn before the noise: rows of both agree.
    assert np.mean((Z - clean) ** 2) < 0.5 * np.mean((X - clean) ** 2)


def test_the_seed_decides():
    X = branching(80, 3)
    one, two = (SimplePPT(15, random_state=4).fit_transform(X) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_too_few_iterations_are_reported():
    with pytest.warns(ConvergenceWarning, match="SimplePPT stopped after 2 of max_iter=2 .* raise"):
        SimplePPT(max_iter=2, tol=1e-12).fit(branching(50, 3))


def test_too_many_centers_are_named():
    with pytest.raises(ValueError, match="n_centers=51 must be at most n_samples=50; lower"):
        SimplePPT(51).fit(branching(50, 3))


@pytest.mark.parametrize("n_centers", [None, 5])
@pytest.mark.parametrize("kind", ["copies", "constant", "one feature", "far from the origin"])
def test_odd_data_give_finite_trees(n_centers, kind, rng):
    X = rng.normal(size=(24, 4))
    if kind == "copies":
        X = np.repeat(X[:3], 8, axis=0)
    elif kind == "constant":
        X = np.ones_like(X)
    elif kind == "one feature":
        X = X[:, :1]
    else:
        X = X + 1e6
    model = SimplePPT(n_centers, random_state=0).fit(X)
    assert np.isfinite(model.embedding_).all()
    assert model.tree_.nnz == 2 * (len(model.centers_) - 1)
