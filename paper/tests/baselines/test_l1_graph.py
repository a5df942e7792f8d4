"""The ℓ1 graph: linear programmes proved by duality, subspaces, copies and zeros."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg
from scipy.optimize import linprog

from branchwise_paper.baselines import L1Graph, l1_graph
from branchwise_paper.baselines.l1_graph import l1_code


def unit_rows(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def cost(A, y, x):
    return np.abs(x).sum() + np.abs(y - A.T @ x).sum()


def subspaces(seed, n_each=15, n_features=12, dims=(2, 3)):
    """Samples of independent linear subspaces, and which they are from."""
    rng = np.random.default_rng(seed)
    parts = [rng.normal(size=(n_each, d)) @ rng.normal(size=(d, n_features)) for d in dims]
    return np.vstack(parts), np.repeat(np.arange(len(dims)), n_each)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 120),
    n_features=st.sampled_from([1, 2, 5, 20]),
    whole=st.booleans(),
)
def test_codes_are_optimal_by_duality(seed, n, n_features, whole):
    rng = np.random.default_rng(seed)
    A, y = rng.normal(size=(n, n_features)), rng.normal(size=n_features)
    if whole:
        A, y = A.round() + np.eye(1, n_features), y.round()
    code = l1_code(A, y)
    # Feasible for the dual: its value is a lower bound on every cost.
    assert np.abs(code.u).max() <= 1 + 1e-8
    assert np.abs(A @ code.u).max() <= 1 + 1e-8
    assert cost(A, y, code.x) == pytest.approx(y @ code.u, abs=1e-8)
    assert code.cost == pytest.approx(cost(A, y, code.x), abs=1e-12)
    assert -1e-12 <= code.gap <= 1e-8


def test_codes_cost_what_one_large_programme_costs():
    rng = np.random.default_rng(0)
    A, y = unit_rows(rng.normal(size=(300, 10))), unit_rows(rng.normal(size=(1, 10)))[0]
    # Another form, by interior points: |x| ≤ s and |y − Aᵀx| ≤ t.
    n, d = A.shape
    zero, eyes = np.zeros((n, d)), (np.eye(n), np.eye(d))
    constraints = np.block(
        [
            [eyes[0], -eyes[0], zero],
            [-eyes[0], -eyes[0], zero],
            [A.T, zero.T, -eyes[1]],
            [-A.T, zero.T, -eyes[1]],
        ]
    )
    bounds = np.concatenate([np.zeros(2 * n), y, -y])
    costs = np.concatenate([np.zeros(n), np.ones(n + d)])
    free = [(None, None)] * (2 * n + d)
    found = linprog(costs, constraints, bounds, bounds=free, method="highs-ipm")
    code = l1_code(A, y)
    assert code.cost == pytest.approx(found.fun, abs=1e-8)
    assert 1 < code.n_iter < 20


def test_the_batch_changes_the_way_and_not_the_cost(monkeypatch):
    rng = np.random.default_rng(1)
    A, y = rng.normal(size=(150, 6)), rng.normal(size=6)
    expected = l1_code(A, y)
    monkeypatch.setattr(l1_graph, "BATCH", 2)
    again = l1_code(A, y)
    assert again.cost == pytest.approx(expected.cost, abs=1e-9)
    assert again.n_iter > expected.n_iter


@pytest.mark.parametrize("seed", [0, 1])
def test_samples_of_independent_subspaces_are_written_by_their_own(seed):
    X, which = subspaces(seed)
    model = L1Graph().fit(X)
    codes = model.codes_.tocoo()
    assert (which[codes.row] == which[codes.col]).all()
    # As many as the dimension, for a vertex of the set of solutions, and without errors.
    counts = np.diff(model.codes_.indptr)
    assert (counts <= np.array([2, 3])[which]).all()
    np.testing.assert_allclose(model.codes_ @ unit_rows(X), unit_rows(X), atol=1e-8)
    assert model.n_connected_components_ >= 2
    assert model.duality_gap_ <= 1e-8


def test_a_wrong_feature_is_an_error_and_changes_no_neighbour():
    X, which = subspaces(2, n_features=40)
    X = unit_rows(X)
    X[0, 7] += 0.5
    codes = L1Graph().fit(X).codes_[[0]].toarray().ravel()
    assert (which[np.flatnonzero(codes)] == 0).all()
    Y = unit_rows(X)
    error = Y[0] - codes @ Y
    assert np.flatnonzero(np.abs(error) > 1e-8).tolist() == [7]


def test_the_graph_and_the_embedding_follow_the_codes():
    X = np.random.default_rng(3).normal(size=(40, 5))
    model = L1Graph(n_components=3).fit(X)
    Y = unit_rows(X)
    x = model.codes_.toarray()
    assert not x.diagonal().any()
    W = np.maximum(np.abs(x), np.abs(x).T)
    np.testing.assert_array_equal(model.graph_.toarray(), W)
    minima = [l1_code(np.delete(Y, i, axis=0), Y[i]).cost for i in range(40)]
    assert model.objective_ == pytest.approx(sum(minima), abs=1e-8)
    assert np.abs(x).sum() + np.abs(Y - x @ Y).sum() == pytest.approx(sum(minima), abs=1e-8)
    degree = W.sum(axis=1)
    values = linalg.eigh(np.diag(degree) - W, np.diag(degree), eigvals_only=True)
    np.testing.assert_allclose(model.eigenvalues_, values[1:4], atol=1e-10)
    V = model.embedding_
    error = degree[:, None] * V * (1 - values[1:4]) - W @ V
    assert np.abs(error).max() <= 1e-9


def test_lengths_and_the_order_of_features_change_nothing():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 5))
    plain = L1Graph().fit(X)
    lengths = rng.uniform(0.1, 10, size=(30, 1))
    for other in (lengths * X, 1e-200 * X, 1e100 * X, X[:, ::-1], -X):
        again = L1Graph().fit(other)
        np.testing.assert_allclose(again.codes_.toarray(), plain.codes_.toarray(), atol=1e-8)


def test_copies_and_multiples_are_one_node():
    X = np.random.default_rng(5).normal(size=(20, 4))
    plain, model = L1Graph().fit(X), L1Graph().fit(np.vstack([X, X[:1], 3.7 * X[:1]]))
    rows = [*range(20), 0, 0]
    np.testing.assert_allclose(model.embedding_, plain.embedding_[rows], atol=1e-7)
    W = model.graph_.toarray()
    assert not W[np.ix_([0, 20, 21], [0, 20, 21])].any()
    np.testing.assert_allclose(
        W[[0, 20, 21]].sum(axis=0)[:20], plain.graph_.toarray()[0], atol=1e-9
    )


def test_zero_rows_are_at_the_origin_and_in_no_code():
    X = np.random.default_rng(6).normal(size=(20, 4))
    plain = L1Graph().fit(X)
    model = L1Graph().fit(np.vstack([X, np.zeros((2, 4))]))
    assert not model.embedding_[20:].any()
    assert not model.graph_[20:].nnz
    np.testing.assert_allclose(model.embedding_[:20], plain.embedding_, atol=1e-9)
    assert model.n_connected_components_ == plain.n_connected_components_ + 1


def test_data_without_directions_have_no_edges():
    for X in (np.zeros((4, 3)), np.arange(1.0, 5.0)[:, None]):
        model = L1Graph().fit(X)
        assert not model.embedding_.any()
        assert model.graph_.nnz == 0
        assert len(model.eigenvalues_) == 0


def test_a_failed_programme_says_so(monkeypatch):
    failed = SimpleNamespace(success=False, status=4, message="numerical difficulties")
    monkeypatch.setattr(l1_graph, "linprog", lambda *args, **options: failed)
    with pytest.raises(RuntimeError, match=r"status 4 .*numerical difficulties.* scale features"):
        L1Graph().fit(np.random.default_rng(0).normal(size=(5, 3)))
