"""Structure learning: its optimum is that of other solvers, over all graphs, and certified."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from sklearn.exceptions import ConvergenceWarning

from branchwise.graph import squared_distances
from branchwise.graph.inverse import dense_inverse
from branchwise.linalg import kernel_pca
from branchwise.losses import Hard
from branchwise.solvers.spl import SPLProblem, spl
from branchwise_paper.baselines import StructureLearning
from branchwise_paper.baselines.structure_learning import learn_structure, optimality_gap

from .. import oracles
from ..conftest import branching

pytestmark = pytest.mark.usefixtures("one_thread")


def pairs(n):
    return np.column_stack(np.triu_indices(n, 1))


def covariance(model):
    """Q⁻¹ from the public attributes alone."""
    S = model.graph_.toarray()
    return np.linalg.inv(np.diag(S.sum(axis=0)) - S + np.eye(len(S)) / model.sigma2_)


@pytest.mark.parametrize("beta", [0.05, 0.5, 3.0])
def test_optimum_is_that_of_an_independent_solver(beta):
    """SLSQP on the printed problem, over all pairs and σ² itself, with numerical derivatives."""
    rng = np.random.default_rng(4)
    Y = rng.normal(size=(8, 5))
    Y -= Y.mean(axis=0)
    edges = pairs(8)

    def negative(x):
        return -oracles.structure_learning_objective(Y, edges, x[:-1], x[-1], beta)

    slow = optimize.minimize(
        negative,
        np.append(np.full(len(edges), 0.1), 1.0),
        method="SLSQP",
        bounds=[(0, None)] * len(edges) + [(1e-3, None)],
        options={"ftol": 1e-14, "maxiter": 2000},
    )
    fast = learn_structure(Y, beta, tol=1e-6)
    assert fast.converged
    assert fast.objective == pytest.approx(-slow.fun, abs=1e-6)
    weights = dict(zip(map(tuple, edges.tolist()), slow.x[:-1], strict=True))
    theirs = [weights[tuple(edge)] for edge in fast.edges.tolist()]
    np.testing.assert_allclose(fast.s, theirs, atol=2e-3)
    assert 1 / fast.inverse_sigma2 == pytest.approx(slow.x[-1], rel=1e-3)
    again = oracles.structure_learning_objective(
        Y, fast.edges, fast.s, 1 / fast.inverse_sigma2, beta
    )
    assert fast.objective == pytest.approx(again, rel=1e-10)


@pytest.mark.parametrize("beta", [0.01, 0.3])
def test_expected_distances_are_those_of_the_data_plus_a_tolerance_on_edges_and_no_more_elsewhere(
    beta,
):
    X = branching(60, 5)
    model = StructureLearning(beta=beta, tol=3e-6).fit(X)
    K = covariance(model)
    i, j = pairs(60).T
    expected = 5 * (np.diag(K)[i] + np.diag(K)[j] - 2 * K[i, j])
    allowed = squared_distances(X, pairs(60)) + 2 * model.beta_
    assert (expected <= allowed * (1 + 1e-5)).all()
    active = model.graph_.toarray()[i, j] > 1e-3 * model.graph_.max()
    assert 30 < active.sum() < 300
    np.testing.assert_allclose(expected[active], allowed[active], rtol=1e-5)
    energy = np.square(X - X.mean(axis=0)).sum() / 5
    assert np.trace(K) == pytest.approx(energy, rel=1e-5)


def test_objective_is_the_printed_one_in_the_units_of_the_data():
    X = 30 * branching(20, 4)
    model = StructureLearning().fit(X)
    Y = X - X.mean(axis=0)
    weights = model.graph_.toarray()[tuple(pairs(20).T)]
    printed = oracles.structure_learning_objective(
        Y, pairs(20), weights, model.sigma2_, model.beta_
    )
    assert model.objective_ == pytest.approx(printed, rel=1e-9)
    assert model.objective_ == model.objective_history_[-1]


def test_pairs_beyond_the_first_neighbours_are_found(monkeypatch):
    Y = branching(40, 5)
    Y = Y - Y.mean(axis=0)
    many = learn_structure(Y, 0.5, tol=1e-6)
    monkeypatch.setattr("branchwise_paper.baselines.structure_learning.N_NEIGHBORS", 1)
    few = learn_structure(Y, 0.5, tol=1e-6)
    assert len(few.history) > 2
    assert (np.diff(few.history) > 0).all()
    assert few.objective == pytest.approx(many.objective, abs=1e-6)


def test_at_its_own_sigma_it_is_spl_with_no_slack_and_no_noise_model():
    """φ' = c(φ + 2β)/D for c = 1/σ² and d = 1: SPL's weights are those here, over 4c."""
    Y = branching(15, 4)
    Y = Y - Y.mean(axis=0)
    beta = 0.2
    found = learn_structure(Y, beta, tol=1e-6)
    c, edges = found.inverse_sigma2, pairs(15)
    phi = c * (squared_distances(Y, edges) + 2 * beta) / 4
    problem = SPLProblem(np.zeros((15, 1)), edges, phi, 1, 0.0, Hard())
    theirs = np.zeros((15, 15))
    theirs[tuple(edges.T)] = 4 * c * spl(problem, max_iter=2000, tol=1e-7).state.s
    ours = np.zeros((15, 15))
    ours[tuple(found.edges.T)] = found.s
    np.testing.assert_allclose(ours, theirs, atol=1e-3 * ours.max())
    assert ours.max() > 0


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), size=st.floats(0.05, 5.0), beta=st.floats(0.05, 2.0))
def test_gap_bounds_the_distance_to_the_optimum_anywhere(seed, size, beta):
    rng = np.random.default_rng(seed)
    n, D = 7, 4
    Y = rng.normal(size=(n, D))
    Y -= Y.mean(axis=0)
    best = learn_structure(Y, beta, tol=1e-6).objective
    edges = pairs(n)
    s = size * rng.exponential(size=len(edges)) * rng.integers(0, 2, size=len(edges))
    c = size * rng.exponential() + 0.01
    costs, energy = (squared_distances(Y, edges) + 2 * beta) / D, np.square(Y).sum() / D
    inverse = dense_inverse(edges, n)(s, c)
    spent = float(costs @ s) + energy * c
    gap = optimality_gap(spent, (inverse.resistance / costs).max(), inverse, energy)
    assert inverse.logdet - spent <= best + 1e-8
    assert inverse.logdet - spent + gap >= best - 1e-8


def test_embedding_is_the_kernel_pca_of_the_covariance():
    model = StructureLearning(3).fit(branching(40, 5))
    np.testing.assert_allclose(model.embedding_, kernel_pca(covariance(model), 3), atol=1e-8)
    assert model.graph_.min() >= 0
    assert (model.graph_.data > 0).all()


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_do_not_matter(factor):
    X = branching(30, 4)
    model, other = StructureLearning().fit(X), StructureLearning().fit(factor * X)
    np.testing.assert_allclose(other.embedding_ / factor, model.embedding_, atol=1e-5)
    assert other.sigma2_ / factor**2 == pytest.approx(model.sigma2_, rel=1e-4)


def test_copies_of_a_sample_are_embedded_alike():
    """φ = 0 is no obstacle: the tolerance 2β keeps the weight finite."""
    X = branching(25, 4)
    X[1] = X[0]
    model = StructureLearning(tol=1e-6).fit(X)
    np.testing.assert_allclose(model.embedding_[0], model.embedding_[1], atol=1e-3)


def test_two_samples_are_enough():
    model = StructureLearning(1).fit([[0.0], [1.0]])
    assert model.embedding_[0] == pytest.approx(-model.embedding_[1])


def test_equal_samples_are_an_error():
    with pytest.raises(ValueError, match=r"5 samples that are all equal"):
        StructureLearning().fit(np.ones((5, 3)))


def test_few_iterations_warn():
    with pytest.warns(ConvergenceWarning, match=r"StructureLearning stopped after 3 of max_iter=3"):
        StructureLearning(max_iter=3).fit(branching(25, 4))


def test_more_samples_than_memory_are_an_error(monkeypatch):
    monkeypatch.setattr("branchwise._memory.available_bytes", lambda: 1000)
    with pytest.raises(MemoryError, match=r"StructureLearning on 20 samples .* take fewer samples"):
        StructureLearning().fit(branching(20, 4))
