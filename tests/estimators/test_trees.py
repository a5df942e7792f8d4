import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA

from branchwise import DDRTree, DRTree
from branchwise.data.checks import resolve_n_centers
from branchwise.graph import count_branches
from branchwise.solvers.initialization import spread_around

from .. import oracles
from ..conftest import branching


@pytest.mark.parametrize("shape", [(120, 8), (60, 200)])
def test_ddrtree_with_explicit_parameters_is_algorithm_2(shape):
    """The settings at which the R package DDRTree 0.1.5 runs by default, 20 iterations."""
    X = branching(*shape)
    N = len(X)
    Y = X - X.mean(axis=0)
    parameters = {"lam": 5.0 * N, "gamma": 10.0, "sigma": 1e-3}
    model = DDRTree(2, n_centers=None, max_iter=20, tol=0, **parameters).fit(Y)
    W, Z, C, edges, history = oracles.ddrtree_algorithm_2(Y, 2, None, n_iter=20, **parameters)
    np.testing.assert_allclose(model.embedding_, oracles.align(model.embedding_, Z), atol=1e-8)
    np.testing.assert_allclose(model.centers_, oracles.align(model.centers_, C), atol=1e-8)
    np.testing.assert_allclose(
        model.components_.T, oracles.align(model.components_.T, W), atol=1e-8
    )
    np.testing.assert_allclose(model.objective_history_, history, rtol=1e-10)
    L = oracles.dense_laplacian(edges, N)
    np.testing.assert_array_equal(model.tree_.toarray(), np.diag(np.diag(L)) - L)


@pytest.mark.parametrize(
    "estimator",
    [
        DDRTree(2, random_state=0),
        DDRTree(2, n_centers=None),
        DDRTree(2, assignment="hard", random_state=0),
        DRTree(),
    ],
)
@pytest.mark.parametrize("n_components", [1, 2, 4])
def test_tree_spans_the_centres_and_the_objective_never_rises(estimator, n_components):
    X = load_iris().data
    model = estimator.set_params(n_components=n_components, max_iter=50, tol=0).fit(X)
    K = len(model.centers_)
    tree = model.tree_
    assert sparse.issparse(tree)
    assert tree.shape == (K, K)
    assert tree.nnz == 2 * (K - 1)
    assert (tree != tree.T).nnz == 0
    assert connected_components(tree)[0] == 1
    history = model.objective_history_
    assert len(history) == model.n_iter_ == 50
    assert (np.diff(history) <= 1e-10 * np.abs(history[:-1])).all()


@pytest.mark.parametrize(
    "estimator", [DDRTree(2, random_state=0), DDRTree(2, n_centers=None, tol=1e-3), DRTree()]
)
def test_after_convergence_the_tree_is_the_minimum_spanning_tree_of_the_centres(estimator):
    model = estimator.fit(branching(150, 6))
    assert model.converged_
    L = oracles.dense_laplacian(oracles.kruskal(model.centers_), len(model.centers_))
    np.testing.assert_array_equal(model.tree_.toarray(), np.diag(np.diag(L)) - L)


def test_tips_are_those_of_the_simulated_branches():
    """Simulated data: three branches have three tips and one fork."""
    model = DDRTree(2, gamma=10.0, lam=100.0, random_state=0).fit(branching(1000, 20))
    degree = model.tree_.sum(axis=0)
    assert (degree == 1).sum() == 3
    assert (degree > 2).sum() == 1


def test_assignments_and_labels_fit_the_embedding():
    model = DDRTree(2, random_state=0).fit(load_iris().data)
    R = model.assignments_
    assert sparse.issparse(R)
    assert R.shape == (150, len(model.centers_))
    np.testing.assert_allclose(R.sum(axis=1), 1.0)
    expected = oracles.soft_assignments(model.embedding_, model.centers_, model.sigma_)
    np.testing.assert_allclose(R.toarray(), expected, atol=1e-14)
    np.testing.assert_array_equal(model.labels_, expected.argmax(axis=1))


def test_hard_assignments_are_one_at_the_nearest_centre():
    model = DDRTree(2, assignment="hard", random_state=0).fit(load_iris().data)
    R = model.assignments_.toarray()
    np.testing.assert_array_equal(R.argmax(axis=1), model.labels_)
    np.testing.assert_array_equal(np.unique(R), [0.0, 1.0])


def test_drtree_is_its_own_centre():
    model = DRTree().fit(load_iris().data)
    np.testing.assert_array_equal(model.centers_, model.embedding_)
    np.testing.assert_array_equal(model.labels_, np.arange(150))
    assert (model.assignments_ != sparse.eye_array(150)).nnz == 0


def test_drtree_with_lam_zero_is_scikit_learn_s_pca():
    X = load_iris().data
    scores = PCA(n_components=2).fit_transform(X)
    model = DRTree(lam=0.0).fit(X)
    np.testing.assert_allclose(model.embedding_, oracles.align(model.embedding_, scores), atol=1e-8)
    np.testing.assert_allclose(
        model.transform(X[:9] + 1.0), (X[:9] + 1.0 - model.mean_) @ model.components_.T, atol=1e-12
    )


def test_automatic_parameters_are_documented_values():
    X = branching(300, 6)
    model = DDRTree().fit(X)
    assert (model.gamma_, model.lam_) == (2.0, 60.0)
    assert model.embedding_.shape == (300, 6)
    assert DDRTree(gamma=0.5).fit(X).lam_ == 15.0
    assert len(model.centers_) == resolve_n_centers("auto", 300) == 111
    assert DRTree().fit(X).lam_ == 30.0
    full = DDRTree(2, n_centers=None).fit(X)
    scores = PCA(n_components=2).fit_transform(X)
    squared = ((scores[:, None] - scores) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    assert full.sigma_ == pytest.approx(squared.min(axis=1).mean() / 2)


@pytest.mark.parametrize(
    ("n_samples", "expected"),
    [(50, 50), (100, 100), (101, 100), (1000, 120), (10_000, 133), (1_000_000, 150)],
)
def test_automatic_number_of_centres(n_samples, expected):
    assert resolve_n_centers("auto", n_samples) == expected


def test_spread_is_the_mean_squared_distance_when_centres_have_many_points(rng):
    Z = np.concatenate([rng.normal(size=(5000, 2)), rng.normal(size=(5000, 2)) + 100])
    C = np.array([[0.0, 0.0], [100.0, 100.0]])
    assert spread_around(Z, C)[0] == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize("n_components", [2, 5, 12, None])
def test_automatic_sigma_does_not_draw_the_tree_into_a_point(n_components):
    """The noise of many components adds up, the room between centres does not grow with it."""
    X = branching(400, 15, noise=0.3, n_branches=5)
    model = DDRTree(n_components, random_state=0).fit(X)
    spread = [np.sqrt(np.sum(np.var(points, axis=0))) for points in (model.centers_, X)]
    assert spread[0] > 0.4 * spread[1]
    assert count_branches(model.tree_).tips <= 7


def test_automatic_sigma_is_the_spread_in_one_direction_at_most_half():
    X = branching(80, 6)
    for d, at_least in [(1, 2.0), (2, 2.0), (5, 3.0)]:
        model = DDRTree(d, n_centers=None, max_iter=1, tol=0).fit(X)
        Z = PCA(d).fit_transform(X)
        spread, directions = spread_around(Z, Z)
        share = max(2.0, directions)
        assert share >= at_least
        assert model.sigma_ == pytest.approx(spread / share)


def test_starting_centres_can_be_given():
    X = branching(200, 6)
    scores = PCA(n_components=2).fit(X)
    axes = (
        scores.components_
        * np.sign(scores.components_[[0, 1], np.abs(scores.components_).argmax(axis=1)])[:, None]
    )
    init = ((X - X.mean(axis=0)) @ axes.T)[:30]
    model = DDRTree(init=init, gamma=10.0, lam=20.0, max_iter=5, tol=0).fit(X)
    assert len(model.centers_) == 30
    # In the oracle's signs.
    Y = X - X.mean(axis=0)
    signs = np.sign(np.sum(np.linalg.svd(Y, full_matrices=False)[2][:2] * axes, axis=1))
    _, Z, C, _, _ = oracles.ddrtree_algorithm_2(
        Y, 2, init * signs, lam=20.0, gamma=10.0, sigma=model.sigma_, n_iter=5
    )
    np.testing.assert_allclose(model.embedding_, oracles.align(model.embedding_, Z), atol=1e-8)
    np.testing.assert_allclose(model.centers_, oracles.align(model.centers_, C), atol=1e-8)


def test_transform_is_the_fixed_point_of_the_update():
    X = branching(200, 6)
    model = DDRTree(2, gamma=10.0, random_state=0).fit(X)
    fresh = branching(50, 6, seed=9)
    Z = model.transform(fresh)
    R = oracles.soft_assignments(Z, model.centers_, model.sigma_)
    projected = (fresh - model.mean_) @ model.components_.T
    np.testing.assert_allclose(Z, (projected + 10 * R @ model.centers_) / 11, atol=1e-8)


def test_transform_minimises_a_new_point_s_own_objective(rng):
    X = branching(200, 6)
    model = DDRTree(2, random_state=0).fit(X)
    fresh = branching(20, 6, seed=9)
    projected = (fresh - model.mean_) @ model.components_.T

    def cost(Z):
        squared = ((Z[:, None] - model.centers_) ** 2).sum(axis=2)
        nearest = squared.min(axis=1)
        free = nearest - model.sigma_ * np.log(
            np.exp((nearest[:, None] - squared) / model.sigma_).sum(axis=1)
        )
        return ((projected - Z) ** 2).sum(axis=1) + model.gamma * free

    Z = model.transform(fresh)
    best = cost(Z)
    assert (best <= cost(projected) + 1e-12).all()
    for _ in range(100):
        assert (best <= cost(Z + 1e-3 * rng.normal(size=Z.shape)) + 1e-9).all()


def test_hard_transform_is_the_best_centre(rng):
    X = branching(200, 6)
    model = DDRTree(2, gamma=10.0, assignment="hard", random_state=0).fit(X)
    fresh = branching(20, 6, seed=9)
    projected = (fresh - model.mean_) @ model.components_.T
    candidates = (projected[:, None] + 10 * model.centers_) / 11
    cost = ((projected[:, None] - candidates) ** 2).sum(axis=2) + 10 * (
        (candidates - model.centers_) ** 2
    ).sum(axis=2)
    expected = candidates[np.arange(20), cost.argmin(axis=1)]
    np.testing.assert_allclose(model.transform(fresh), expected, atol=1e-12)


def test_drtree_hangs_a_new_point_where_it_costs_least():
    X = branching(100, 6)
    model = DRTree(lam=2.0).fit(X)
    fresh = branching(20, 6, seed=9)
    projected = (fresh - model.mean_) @ model.components_.T
    candidates = (projected[:, None] + 2 * model.centers_) / 3
    cost = ((projected[:, None] - candidates) ** 2).sum(axis=2) + 2 * (
        (candidates - model.centers_) ** 2
    ).sum(axis=2)
    expected = candidates[np.arange(20), cost.argmin(axis=1)]
    np.testing.assert_allclose(model.transform(fresh), expected, atol=1e-12)


def edges_and_places(model, unit=1.0):
    return np.column_stack(model.tree_.nonzero()), model.centers_ / unit


@pytest.mark.parametrize("n_samples", [80, 150])
@pytest.mark.parametrize("kind", ["iris", "rounded", "counts", "answers"])
def test_without_a_seed_units_offsets_and_order_change_nothing(kind, n_samples):
    """Tables with many equal distances; 80 samples have a centre each."""
    rng = np.random.default_rng(5)
    X = {
        "iris": load_iris().data,
        "rounded": rng.normal(size=(150, 6)).round(1),
        "counts": rng.poisson(3, size=(150, 6)).astype(float),
        "answers": rng.integers(1, 6, size=(150, 6)).astype(float),
    }[kind][:n_samples]
    edges, places = edges_and_places(DDRTree(2, gamma=1.0).fit(X))
    for other, unit in [(3 * X, 3), (10 * X, 10), (1000 * X, 1000), (X + 273.15, 1)]:
        found, elsewhere = edges_and_places(DDRTree(2, gamma=1.0).fit(other), unit)
        np.testing.assert_allclose(elsewhere, places, atol=1e-6)
        np.testing.assert_array_equal(found, edges)
    order = rng.permutation(len(X))
    shuffled = DDRTree(2, gamma=1.0).fit(X[order])
    at = np.argsort(order)
    np.testing.assert_allclose(
        shuffled.embedding_[at], DDRTree(2, gamma=1.0).fit(X).embedding_, atol=1e-6
    )


def test_a_seed_starts_from_k_means_and_none_from_clusters_without_chance():
    X = branching(400, 6)
    a, b, seeded = DDRTree(2).fit(X), DDRTree(2).fit(X), DDRTree(2, random_state=0).fit(X)
    np.testing.assert_array_equal(a.centers_, b.centers_)
    assert not np.allclose(a.centers_, seeded.centers_)


def test_fewer_different_samples_than_centres_have_a_width_in_units_of_the_data():
    X = np.random.default_rng(0).poisson(20, size=(300, 1)).astype(float)
    model = DDRTree(1).fit(X)
    assert DDRTree(1).fit(1000 * X).sigma_ == pytest.approx(1e6 * model.sigma_)
    assert 0.001 < model.sigma_ < 0.1  # neighbours are 1 apart
