"""SMCE: codes against optimality conditions and other solvers, graphs, embeddings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, optimize, sparse
from sklearn.exceptions import ConvergenceWarning

from branchwise.neighbors import neighbor_edges
from branchwise_paper.baselines import SMCE
from branchwise_paper.baselines._sparse_codes import (
    distinct_rows,
    eigenmap_by_components,
    share_among_copies,
)
from branchwise_paper.baselines.smce import affine_sparse_code, directions


def unit_columns(seed, n_rows, n_columns, *, whole=False):
    """Random directions and penalties; with `whole`, on a grid, with many ties."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    if whole:
        X = X.round()
        X[0, ~X.any(axis=0)] = 1.0
    length = np.linalg.norm(X, axis=0)
    return X / length, length / length.sum()


def conditions(G, penalty, c):
    """Largest violation of Σc = 1, (Gc)_j + p_j·sign(c_j) = ν on the support, |Gc − ν| ≤ p."""
    gradient, chosen = G @ c, c != 0
    balance = gradient[chosen] + penalty[chosen] * np.sign(c[chosen])
    nu = balance[0]
    excess = np.abs(gradient - nu) - penalty
    return max(abs(c.sum() - 1), np.abs(balance - nu).max(), excess.max())


def objective(X, penalty, c):
    return penalty @ np.abs(c) + np.sum((X @ c) ** 2) / 2


def rings(*, gap=None):
    """Two rings of 40 samples: one above the other, at a gap, or linked like those of a chain."""
    t = 2 * np.pi * np.arange(40) / 40
    first = np.column_stack([np.cos(t), np.sin(t), np.zeros(40)])
    second = first[:, [0, 2, 1]] + [1.0, 0.0, 0.0]
    if gap is not None:
        second = np.column_stack([np.cos(t + 0.05), np.sin(t + 0.05), np.full(40, gap)])
    return np.vstack([first, second]), np.repeat([0, 1], 40)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_rows=st.sampled_from([1, 2, 3, 8, 60]),
    n_columns=st.integers(1, 40),
    log_lam=st.integers(-4, 3),
    whole=st.booleans(),
)
def test_codes_meet_the_optimality_conditions(seed, n_rows, n_columns, log_lam, whole):
    X, q = unit_columns(seed, n_rows, n_columns, whole=whole)
    penalty = 10.0**log_lam * q
    c, violation, _ = affine_sparse_code(X.T @ X, penalty)
    assert violation <= 1e-9
    assert conditions(X.T @ X, penalty, c) <= 1e-8
    # Fewer features than candidates: a vertex of the set of solutions.
    assert np.count_nonzero(c) <= n_rows + 1


@pytest.mark.parametrize("lam", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("n_rows", [2, 15])
def test_codes_cost_no_more_than_those_of_slsqp(lam, n_rows):
    X, q = unit_columns(3, n_rows, 8)
    p = lam * q
    signs = np.hstack([np.eye(8), -np.eye(8)])  # c = positive part − negative part
    found = optimize.minimize(
        lambda s: p @ (s[:8] + s[8:]) + np.sum((X @ signs @ s) ** 2) / 2,
        np.full(16, 1 / 8) * np.repeat([1, 0], 8),
        jac=lambda s: np.tile(p, 2) + signs.T @ (X.T @ (X @ signs @ s)),
        bounds=[(0, None)] * 16,
        constraints={
            "type": "eq",
            "fun": lambda s: signs.sum(axis=0) @ s - 1,
            "jac": lambda s: signs.sum(axis=0),
        },
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    ours = objective(X, p, affine_sparse_code(X.T @ X, p)[0])
    assert found.success
    assert ours == pytest.approx(found.fun, abs=1e-8)
    assert ours <= found.fun + 1e-12


@pytest.mark.parametrize(("lam", "n_rows"), [(0.1, 40), (10.0, 40), (1.0, 4)])
def test_codes_are_those_of_clarabel(lam, n_rows):
    clarabel = pytest.importorskip("clarabel")
    X, q = unit_columns(5, n_rows, 25)
    n, p = 25, lam * q
    # Variables (c, t): |c| ≤ t.
    P = sparse.triu(sparse.block_diag([X.T @ X, np.zeros((n, n))])).tocsc()
    eye = sparse.identity(n)
    A = sparse.vstack(
        [
            sparse.csc_matrix(np.concatenate([np.ones(n), np.zeros(n)])[None]),
            sparse.hstack([eye, -eye]),
            sparse.hstack([-eye, -eye]),
        ]
    ).tocsc()
    b = np.concatenate([[1.0], np.zeros(2 * n)])
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)]
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-12
    cost = np.concatenate([np.zeros(n), p])
    theirs = clarabel.DefaultSolver(P, cost, A, b, cones, options).solve()
    ours = affine_sparse_code(X.T @ X, p)[0]
    np.testing.assert_allclose(ours, np.array(theirs.x)[:n], atol=1e-6)
    assert objective(X, p, ours) == pytest.approx(theirs.obj_val, abs=1e-8)


def test_weights_of_the_fit_follow_the_formula():
    X = np.random.default_rng(0).normal(size=(30, 3))
    model = SMCE(lam=1.0, n_candidates=12).fit(X)
    W = np.zeros((30, 30))
    for i in range(30):
        distances = np.linalg.norm(X - X[i], axis=1)
        near = np.argsort(distances)[1:13]
        units, r = directions(X, i, near)
        np.testing.assert_allclose(r, distances[near])
        c = model.codes_[[i]].toarray().ravel()
        assert set(np.flatnonzero(c)) <= set(near)
        assert conditions(units @ units.T, r / r.sum(), c[near]) <= 1e-8
        W[i, near] = np.abs(c[near]) / r / (np.abs(c[near]) / r).sum()
    np.testing.assert_allclose(model.graph_.toarray(), np.maximum(W, W.T), atol=1e-9)
    assert model.converged_


def test_the_embedding_are_the_bottom_eigenvectors_of_the_normalised_laplacian():
    X = np.random.default_rng(1).normal(size=(60, 3))
    model = SMCE(n_components=4, lam=1.0).fit(X)
    assert model.n_connected_components_ == 1
    W = model.graph_.toarray()
    np.testing.assert_array_equal(W, W.T)
    degree = W.sum(axis=1)
    values, _ = linalg.eigh(np.diag(degree) - W, np.diag(degree))
    np.testing.assert_allclose(model.eigenvalues_, values[1:5], atol=1e-10)
    V = model.embedding_
    np.testing.assert_allclose(
        degree[:, None] * V - W @ V, degree[:, None] * V * values[1:5], atol=1e-9
    )
    np.testing.assert_allclose(V.T @ (degree[:, None] * V), degree.sum() * np.eye(4), atol=1e-8)


def test_sparse_and_dense_eigenvectors_agree(monkeypatch):
    W = sparse.random_array((200, 200), density=0.05, rng=np.random.default_rng(0))
    W = sparse.csr_array(W + W.T)
    W.setdiag(0)
    W.eliminate_zeros()
    dense = eigenmap_by_components(W, 5)
    monkeypatch.setattr("branchwise_paper.baselines._sparse_codes.MAX_DENSE", 0)
    for ours, theirs in zip(eigenmap_by_components(W, 5), dense, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-8)


@pytest.mark.parametrize(
    ("gap", "lam"), [(1.0, 0.01), (1.0, 1.0), (1.0, 10.0), (0.2, 10.0), (None, 10.0)]
)
def test_no_edge_joins_manifolds(gap, lam):
    X, which = rings(gap=gap)
    model = SMCE(lam=lam, n_candidates=60, n_clusters=2, random_state=0).fit(X)
    row, column = model.graph_.nonzero()
    assert (which[row] == which[column]).all()
    assert len({*zip(which, model.labels_, strict=True)}) == 2
    if gap == 0.2:
        # Neighbours by distance alone do join these.
        found = neighbor_edges(X, 5)
        assert (which[found[:, 0]] != which[found[:, 1]]).any()


def test_ends_of_curves_may_be_joined_with_what_is_far():
    t = np.linspace(0, 2, 40)
    arc = np.column_stack([np.cos(t), np.sin(t)])
    X, which = np.vstack([arc, -arc - 2.0]), np.repeat([0, 1], 40)
    row, column = SMCE().fit(X).codes_.nonzero()
    joined = set(row[which[row] != which[column]] % 40)
    assert joined
    assert joined <= {0, 39}
    row, column = SMCE(lam=200).fit(X).codes_.nonzero()
    assert (which[row] == which[column]).all()


def test_pieces_of_the_graph_are_told_apart_first():
    X, which = rings(gap=1.0)
    X[40:, :2] *= 1.5
    X += 1e-3 * np.random.default_rng(0).normal(size=X.shape)
    model = SMCE(n_components=4, lam=10.0).fit(X)
    assert model.n_connected_components_ == 2
    assert model.eigenvalues_[0] == 0
    assert (model.eigenvalues_[1:] > 1e-6).all()
    assert len(np.unique(model.embedding_[:, 0])) == 2
    assert len({*zip(which, model.embedding_[:, 0], strict=True)}) == 2
    # Further columns live on one piece each.
    for column in model.embedding_.T[1:]:
        assert {(column[which == k] == 0).all() for k in (0, 1)} == {True, False}
    # They are eigenvectors of the whole graph all the same.
    W, V = model.graph_.toarray(), model.embedding_
    degree = W.sum(axis=1)
    error = degree[:, None] * V * (1 - model.eigenvalues_) - W @ V
    assert np.abs(error).max() <= 1e-9
    np.testing.assert_allclose(V.T @ (degree[:, None] * V), degree.sum() * np.eye(4), atol=1e-8)


def test_many_pieces_are_contrasted_by_size():
    W = sparse.block_diag([np.ones((k, k)) - np.eye(k) for k in (2, 4, 3)]).tocsr()
    W = sparse.csr_array(sparse.block_diag([W, np.zeros((1, 1))]))  # and a node without edges
    W.eliminate_zeros()
    values, V = eigenmap_by_components(W, 12)
    assert len(values) == 8  # nine nodes with edges, without the constant
    np.testing.assert_allclose(values[:2], 0)
    assert not V[:, 8:].any()
    assert not V[9].any()
    assert len(np.unique(V[[2, 6], 0])) == 2  # the piece of four against that of three
    assert not V[:2, 0].any()
    degree = np.asarray(W.sum(axis=1)).ravel()
    np.testing.assert_allclose(
        V[:, :8].T @ (degree[:, None] * V[:, :8]), degree.sum() * np.eye(8), atol=1e-10
    )
    np.testing.assert_allclose(degree @ V, 0, atol=1e-10)


def test_a_sample_of_a_line_uses_its_two_neighbours():
    t = np.sort(np.random.default_rng(0).uniform(size=30))
    model = SMCE(n_components=1, lam=0.1).fit(t[:, None] * [[1.0, 2.0]])
    codes = model.codes_.toarray()
    for i in range(1, 29):
        assert np.flatnonzero(codes[i]).tolist() == [i - 1, i + 1]
        # Neighbours on opposite sides cancel best with about half of the weight each.
        assert codes[i].min() >= 0
    assert abs(np.diff(np.argsort(model.embedding_[:, 0]))).max() == 1


def test_rotation_translation_and_scale_change_nothing():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 4))
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    model = SMCE(lam=1.0, n_candidates=20).fit(X)
    for other in (X @ turn, X + np.arange(4), 1e-3 * X, 1e150 * X, X[:, ::-1]):
        again = SMCE(lam=1.0, n_candidates=20).fit(other)
        np.testing.assert_allclose(again.codes_.toarray(), model.codes_.toarray(), atol=1e-8)
        np.testing.assert_allclose(again.embedding_, model.embedding_, atol=1e-6)


def test_a_large_lam_leaves_the_nearest_neighbour_and_a_small_one_adds_more():
    X = np.random.default_rng(3).normal(size=(40, 10))
    counts = [SMCE(lam=lam).fit(X).codes_.nnz for lam in (1e-2, 1.0, 100.0, 1e6)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 2 * counts[2]
    codes = SMCE(lam=1e6).fit(X).codes_
    distances = np.linalg.norm(X[:, None] - X, axis=2) + np.diag(np.full(40, np.inf))
    assert codes.nnz == 40
    np.testing.assert_array_equal(codes.indices, distances.argmin(axis=1))


def test_copies_of_a_sample_are_one_node():
    X = np.random.default_rng(4).normal(size=(30, 3))
    rows = np.concatenate([np.arange(30), [3, 3, 7]])
    model, plain = SMCE(lam=1.0).fit(X[rows]), SMCE(lam=1.0).fit(X)
    np.testing.assert_allclose(model.embedding_, plain.embedding_[rows], atol=1e-8)
    W, V = model.graph_.toarray(), model.embedding_
    assert W[3, 30] == W[3, 31] == W[7, 32] == 0
    # The repeated eigenvectors are eigenvectors of the graph of all samples.
    degree = W.sum(axis=1)
    error = degree[:, None] * V * (1 - plain.eigenvalues_) - W @ V
    assert np.abs(error).max() <= 1e-9
    np.testing.assert_allclose(model.codes_.sum(axis=1), 1)


def test_distinct_rows_and_shares():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -0.0], [0.0, 1.0 + 1e-14]])
    assert distinct_rows(X).node.tolist() == [0, 1, 0, 2]
    distinct = distinct_rows(X, 12)
    assert distinct.node.tolist() == [0, 1, 0, 1]
    W = sparse.csr_array([[0.0, 4.0], [4.0, 0.0]])
    shared = share_among_copies(W, distinct, rows=True).toarray()
    np.testing.assert_array_equal(shared, [[0, 1, 0, 1], [1, 0, 1, 0]] * 2)


def test_constant_data_stay_together():
    model = SMCE().fit(np.full((5, 3), 7.0))
    assert not model.embedding_.any()
    assert model.graph_.nnz == 0
    assert model.n_connected_components_ == 1
    assert len(model.eigenvalues_) == 0


def test_two_places_take_one_column():
    model = SMCE().fit([[0.0], [1.0], [1.0], [0.0]])
    assert (model.embedding_[:, 1] == 0).all()
    np.testing.assert_allclose(np.abs(model.embedding_[:, 0]), 1)


def test_the_seed_matters_for_clusters_only():
    X = np.random.default_rng(5).normal(size=(40, 3))
    first, second = (SMCE(n_clusters=3, random_state=0).fit(X) for _ in range(2))
    np.testing.assert_array_equal(first.labels_, second.labels_)
    assert set(first.labels_) == {0, 1, 2}
    np.testing.assert_array_equal(first.embedding_, SMCE(random_state=1).fit(X).embedding_)
    assert not hasattr(SMCE().fit(X), "labels_")


def test_too_few_steps_warn_with_the_knob():
    X = np.random.default_rng(6).normal(size=(40, 5))
    with pytest.warns(ConvergenceWarning, match=r"40 samples .* max_iter=1 .* raise max_iter"):
        model = SMCE(lam=0.1, max_iter=1).fit(X)
    assert not model.converged_
    np.testing.assert_allclose(model.codes_.sum(axis=1), 1)


def test_errors_name_value_constraint_and_remedy():
    with pytest.raises(ValueError, match=r"n_clusters=3 must be at most 2, .* lower n_clusters"):
        SMCE(1, n_clusters=3).fit([[0.0], [1.0], [1.0]])
    with pytest.raises(ValueError, match=r"'lam' parameter of SMCE must be a float"):
        SMCE(lam=0).fit([[0.0], [1.0], [2.0]])
