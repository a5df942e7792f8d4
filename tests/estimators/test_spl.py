import warnings

import numpy as np
import pytest
from scipy import optimize, sparse
from scipy.spatial import procrustes
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA, KernelPCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import kneighbors_graph

import branchwise._memory
from branchwise import SPL
from branchwise.losses import Squared, as_loss
from branchwise.neighbors import neighbor_edges
from branchwise.solvers.posterior import posterior_covariance
from branchwise.solvers.spl import (
    SPLProblem,
    evaluate,
    spl,
    squared_distances,
)

from .. import oracles
from ..conftest import branching

IRIS = load_iris().data


def weights(model):
    i, j = model.edges_.T
    return np.asarray(model.graph_[i, j]).ravel()


@pytest.mark.parametrize("C", [10.0, 1e3, 1e5])
@pytest.mark.parametrize("scale", ["auto", None])
def test_iris_reaches_the_optimum_within_sixty_evaluations(C, scale):
    model = SPL(n_neighbors=10, C=C, scale=scale).fit(IRIS)
    assert model.n_evaluations_ <= 60
    Y = (IRIS - IRIS.mean(axis=0)) * model.scale_
    problem = SPLProblem(
        Y, model.edges_, squared_distances(Y, model.edges_), 2, 1e-3, as_loss("squared", C)
    )
    optimum = spl(problem, max_iter=5000, tol=1e-11).state.objective
    gap = optimum - model.objective_
    assert gap <= 1e-6 * abs(optimum)
    assert gap <= model.optimality_gap_ + 1e-9
    assert model.optimality_gap_ <= 1e-6 * max(abs(model.objective_), 150)


def test_raw_model_is_the_paper_s():
    model = SPL(scale=None, n_neighbors=5).fit(IRIS)
    assert model.scale_ == 1.0
    Y = IRIS - IRIS.mean(axis=0)
    edges = neighbor_edges(IRIS, 5)
    phi = squared_distances(Y, edges)
    printed = oracles.spl_objective(Y, edges, phi, weights(model), 2, 1e-3, 1e3)
    assert model.objective_ + 150 * np.log(4) == pytest.approx(printed, rel=1e-10)
    Q = oracles.dense_laplacian(edges, 150, weights(model)) + 1.001 / 4 * np.eye(150)
    X = 1e-3 / 4 * np.linalg.solve(Q, Y @ model.components_.T)
    np.testing.assert_allclose(model.embedding_, X, atol=1e-10)
    np.testing.assert_allclose(model.skeleton_, X * 1001, atol=1e-7)


def test_scale_one_is_scale_none_and_a_number_multiplies_the_data():
    raw, one = SPL(scale=None).fit(IRIS), SPL(scale=1.0).fit(IRIS)
    np.testing.assert_array_equal(raw.embedding_, one.embedding_)
    half, halved = SPL(scale=0.5).fit(IRIS), SPL(scale=None).fit(IRIS / 2)
    np.testing.assert_allclose(half.skeleton_ / 2, halved.skeleton_, atol=1e-8)
    assert half.objective_ == pytest.approx(halved.objective_)


def test_automatic_scale_sets_the_median_neighbour_distance():
    model = SPL(n_components=3).fit(IRIS)
    phi = squared_distances(IRIS, model.edges_)
    assert np.median(phi[phi > 0]) * model.scale_**2 == pytest.approx(3 / 40)


@pytest.mark.parametrize("C", [10.0, 1e3])
def test_edge_violation_is_the_largest_excess_in_squared_units_of_the_data(C):
    model = SPL(C=C, tol=1e-10).fit(IRIS)
    Y = (IRIS - IRIS.mean(axis=0)) * model.scale_
    problem = SPLProblem(
        Y, model.edges_, squared_distances(Y, model.edges_), 2, 1e-3, as_loss("squared", C)
    )
    state = evaluate(problem, weights(model))
    excess = state.expected - problem.phi - state.s / (2 * C)
    assert model.edge_violation_ == pytest.approx(max(excess.max(), 0) / model.scale_**2)
    assert 0 <= model.edge_violation_ < 1e-3


def test_graph_is_symmetric_sparse_and_non_negative():
    model = SPL().fit(IRIS)
    assert sparse.issparse(model.graph_)
    assert model.graph_.shape == (150, 150)
    assert (model.graph_ != model.graph_.T).nnz == 0
    assert model.graph_.data.min() > 0
    assert 0 < model.graph_.nnz / 2 < len(model.edges_)


@pytest.mark.parametrize("C", [1e3, np.inf])
@pytest.mark.parametrize("gamma", [0.0, 1e-3])
def test_infinite_slack_price_and_zero_gamma_are_supported(C, gamma):
    X = branching(60, 5)
    model = SPL(C=C, gamma=gamma).fit(X)
    assert model.converged_
    assert np.isfinite(model.optimality_gap_)
    assert np.ptp(model.embedding_, axis=0).min() > 0
    assert np.isfinite(model.transform(X + 0.01)).all()


def test_gamma_zero_is_the_kernel_pca_of_the_posterior_covariance():
    X = branching(60, 5)
    model = SPL(gamma=0.0).fit(X)
    Y = (X - X.mean(axis=0)) * model.scale_
    problem = SPLProblem(Y, model.edges_, squared_distances(Y, model.edges_), 2, 0.0, Squared(1e3))
    Sigma = posterior_covariance(problem, weights(model))
    scores = KernelPCA(n_components=2, kernel="precomputed").fit_transform(Sigma)
    np.testing.assert_allclose(
        model.embedding_, oracles.align(model.embedding_, scores) / model.scale_, atol=1e-8
    )


def test_neighbours_can_be_given_as_a_graph():
    own = SPL(n_neighbors=6, scale=None).fit(IRIS)  # scikit-learn's neighbours, ties and all
    for graph in (kneighbors_graph(IRIS, 6), kneighbors_graph(IRIS, 6, mode="distance").tocoo()):
        given = SPL(n_neighbors=6, scale=None).fit(IRIS, neighbors=graph)
        np.testing.assert_array_equal(given.embedding_, own.embedding_)
    ring = sparse.coo_array((np.ones(150), (np.arange(150), np.roll(np.arange(150), 1))))
    model = SPL().fit(IRIS, neighbors=ring)
    assert len(model.edges_) == 150


def test_disconnected_graph_keeps_its_parts_apart():
    X = np.concatenate([branching(40, 4), branching(40, 4, seed=1) + 100.0])
    model = SPL(n_neighbors=5).fit(X)
    assert model.converged_
    assert model.graph_[:40, 40:].nnz == 0
    gap = np.linalg.norm(model.skeleton_[:40].mean(axis=0) - model.skeleton_[40:].mean(axis=0))
    assert gap > 100


def test_without_an_active_edge_spl_is_pca_and_says_so():
    X = 1000 * branching(60, 5)
    with pytest.warns(UserWarning, match=r"No edge is active.*set scale='auto'"):
        model = SPL(scale=None).fit(X)
    assert model.graph_.nnz == 0
    pca = PCA(n_components=2).fit(X)
    np.testing.assert_allclose(
        model.skeleton_, oracles.align(model.skeleton_, pca.transform(X)), rtol=1e-6, atol=1e-6
    )


def test_solver_is_chosen_by_size_and_reported():
    assert SPL().fit(IRIS).solver_ == "exact"
    assert SPL(tol=1e-3).fit(branching(450, 5)).solver_ == "sparse"


@pytest.mark.parametrize("gamma", [0.0, 1e-3])
@pytest.mark.parametrize("C", [1e3, np.inf])
def test_solvers_agree(gamma, C):
    X = branching(150, 8)
    models = {
        solver: SPL(solver=solver, gamma=gamma, C=C, random_state=0).fit(X)
        for solver in ("exact", "sparse", "sketch")
    }
    exact = models["exact"]
    for solver, model in models.items():
        assert model.solver_ == solver
        assert model.converged_
        np.testing.assert_array_equal(model.edges_, exact.edges_)
        assert 1 - procrustes(exact.embedding_, model.embedding_)[2] > 0.99
        assert 1 - procrustes(exact.skeleton_, model.skeleton_)[2] > 0.99
    sparse_one = models["sparse"]
    assert sparse_one.objective_ == pytest.approx(exact.objective_, rel=2e-6)
    assert sparse_one.optimality_gap_ <= 1e-6 * abs(exact.objective_)
    assert sparse_one.objective_error_ == exact.objective_error_ == 0
    sketch = models["sketch"]
    assert abs(sketch.objective_ - exact.objective_) < 0.01 * exact.objective_ + 4 * (
        sketch.objective_error_
    )


def test_a_sketch_claims_no_proof():
    model = SPL(solver="sketch", random_state=0).fit(IRIS)
    assert model.converged_
    assert np.isnan(model.optimality_gap_)
    assert np.isnan(model.edge_violation_)
    assert 0 < model.objective_error_ < 0.02 * model.objective_
    assert model.n_evaluations_ == model.n_iter_ + 1 == len(model.objective_history_)


def test_a_sketch_depends_on_its_seed_alone():
    one, two, other = (SPL(solver="sketch", random_state=seed).fit(IRIS) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.embedding_, two.embedding_)
    assert (one.embedding_ != other.embedding_).any()
    state = np.random.RandomState(0)
    moving = [SPL(solver="sketch", random_state=state, tol=1e-3).fit(IRIS) for _ in range(2)]
    assert (moving[0].embedding_ != moving[1].embedding_).any()


def test_a_sketch_that_is_cut_off_says_so():
    with pytest.warns(ConvergenceWarning, match=r"change of the objective of .*raise max_iter"):
        SPL(solver="sketch", max_iter=5, random_state=0).fit(IRIS)


# Losses


LOSSES = {
    "squared": SPL(),
    "absolute": SPL(loss="absolute", C=5.0),
    "hard": SPL(loss="hard"),
    "equality": SPL(loss="equality", n_neighbors=3),
}


@pytest.mark.parametrize("gamma", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_each_loss_keeps_its_promise(loss, gamma):
    """Distances under the posterior, from the fitted attributes alone."""
    X = branching(80, 6)
    model = clone(LOSSES[loss]).set_params(gamma=gamma, tol=1e-10, max_iter=2000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # rounding may forbid the last digit
        model.fit(X)
    Y, s = (X - X.mean(axis=0)) * model.scale_, weights(model)
    assert model.optimality_gap_ <= 1e-6 * abs(model.objective_)
    phi = squared_distances(Y, model.edges_)
    excess = (oracles.posterior_distances(Y, model.edges_, s, 2, gamma) - phi) / np.median(phi)
    if loss == "squared":
        excess -= s / (2 * model.C) / np.median(phi)
    if loss == "absolute":
        assert (s <= 5).all()
        assert excess[s == 5].min() >= -1e-4
        assert excess[s == 5].max() > 1e-2
        excess, s = excess[s < 5], s[s < 5]
    if loss == "equality":
        assert (s < 0).any()
        s = np.abs(s)
    else:
        assert (s >= 0).all()
        assert (s == 0).any()
    assert excess.max() <= 1e-4
    np.testing.assert_allclose(excess[s > 1e-3], 0, atol=1e-4)
    assert model.edge_violation_ <= 1e-4 * np.median(phi) / model.scale_**2


def test_squared_loss_is_the_default_and_without_slack_it_is_the_hard_one():
    assert SPL().loss == "squared"
    hard, infinite, absolute = (
        SPL(**params).fit(IRIS)
        for params in ({"loss": "hard"}, {"C": np.inf}, {"C": np.inf, "loss": "absolute"})
    )
    np.testing.assert_array_equal(hard.embedding_, infinite.embedding_)
    np.testing.assert_array_equal(hard.embedding_, absolute.embedding_)
    fresh = IRIS[:5] + 0.03
    np.testing.assert_array_equal(hard.transform(fresh), infinite.transform(fresh))


def test_absolute_loss_at_gamma_zero_is_structure_learning():
    """`op:sl` with β = 0 and σ² = 4, over all pairs, for a scale of √(d/4D)."""
    X = np.random.default_rng(0).normal(size=(8, 5))
    model = SPL(n_neighbors=7, loss="absolute", C=1e3, gamma=0.0, scale=np.sqrt(2 / 20), tol=1e-7)
    model.fit(X)
    Y = X - X.mean(axis=0)
    run = optimize.minimize(
        lambda s: -oracles.structure_learning_objective(Y, model.edges_, s, 4.0, 0.0),
        np.full(28, 0.3),
        method="SLSQP",
        bounds=[(0, None)] * 28,
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    np.testing.assert_allclose(weights(model), run.x, atol=1e-3)
    reached = oracles.structure_learning_objective(Y, model.edges_, weights(model), 4.0, 0.0)
    assert reached == pytest.approx(-run.fun, abs=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_new_samples_are_tied_by_weights_of_the_loss(loss):
    """The posterior mean given s = min(a/2φ, C), or the root with a slack; a sample on its own."""
    X = branching(80, 6)
    model = clone(LOSSES[loss]).fit(X)
    y = X[:1] + 0.05
    k, share = model.n_neighbors, 79 / len(model.edges_)
    distance = np.linalg.norm(X - y, axis=1)
    near = np.argsort(distance)[:k]
    phi = (distance[near] * model.scale_) ** 2
    if loss == "squared":
        s = model.C * (-phi + np.sqrt(phi**2 + share / model.C))
    else:
        s = share / (2 * phi)
    s = np.minimum(s, 5.0) if loss == "absolute" else s
    projected = (y - model.mean_) @ model.components_.T
    mean = (4 * s @ model.embedding_[near] + 1e-3 * projected) / (4 * s.sum() + 1.001)
    np.testing.assert_allclose(model.transform(y), mean, rtol=1e-6)


def test_equality_takes_the_dense_path_however_many_samples():
    model = SPL(loss="equality", n_neighbors=2).fit(branching(450, 8))
    assert model.converged_
    assert model.solver_ == "exact"
    assert model.graph_.data.min() < 0
    assert model.graph_.nnz == 2 * len(model.edges_)


def test_equality_does_not_depend_on_order_threads_or_units(rng):
    X = branching(120, 8)
    model = SPL(loss="equality", n_neighbors=3).fit(X)
    order = rng.permutation(120)
    permuted = SPL(loss="equality", n_neighbors=3, n_jobs=2).fit(X[order])
    np.testing.assert_array_equal(permuted.embedding_, model.embedding_[order])
    assert (permuted.graph_ != model.graph_[order][:, order]).nnz == 0
    other = SPL(loss="equality", n_neighbors=3).fit(1000 * X)
    np.testing.assert_allclose(other.embedding_ / 1000, model.embedding_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("loss", ["absolute", "hard"])
def test_a_sketch_of_each_loss_is_near_the_exact_one(loss):
    X = branching(150, 8)
    exact, sketch = (
        SPL(loss=loss, C=5.0, solver=solver, random_state=0).fit(X)
        for solver in ("exact", "sketch")
    )
    assert abs(sketch.objective_ - exact.objective_) < 0.01 * abs(exact.objective_) + 4 * (
        sketch.objective_error_
    )
    assert 1 - procrustes(exact.embedding_, sketch.embedding_)[2] > 0.99


def test_unknown_solver_lists_the_known_ones():
    with pytest.raises(ValueError, match="'solver' parameter of SPL must be") as error:
        SPL(solver="dense").fit(IRIS)
    assert all(f"'{name}'" in str(error.value) for name in ("auto", "exact", "sparse", "sketch"))


@pytest.mark.parametrize(
    ("params", "remedy"),
    [
        ({"solver": "exact"}, "set solver='auto'"),
        ({"solver": "sparse"}, "set solver='sketch'"),
        ({"solver": "sketch"}, "lower n_neighbors"),
        ({"loss": "equality"}, "lower n_neighbors"),
    ],
)
def test_a_fit_that_does_not_fit_into_memory_says_what_to_set(params, remedy, monkeypatch):
    monkeypatch.setattr(branchwise._memory, "available_bytes", lambda: 10)
    with pytest.raises(MemoryError, match=f"SPL on 150 samples of 4 features needs.*{remedy}"):
        SPL(**params).fit(IRIS)


@pytest.mark.parametrize("solver", ["sparse", "sketch"])
def test_disconnected_graph_keeps_its_parts_apart_on_every_path(solver):
    X = np.concatenate([branching(40, 4), branching(40, 4, seed=1) + 100.0])
    model = SPL(n_neighbors=5, solver=solver, random_state=0).fit(X)
    assert model.graph_[:40, 40:].nnz == 0
    gap = np.linalg.norm(model.skeleton_[:40].mean(axis=0) - model.skeleton_[40:].mean(axis=0))
    assert gap > 100
