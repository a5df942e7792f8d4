import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.cluster import KMeans

from branchwise import _kdtree as kdtree
from branchwise.data import centering as rows
from branchwise.data.centering import CentredRows
from branchwise.graph import euclidean_spanning_tree, laplacian
from branchwise.solvers import assignments
from branchwise.solvers.assignments import assign, update_assignments
from branchwise.solvers.ddrtree import (
    Axes,
    Points,
    Step,
    centre_solver,
    ddrtree,
    objective,
    update_centers,
)
from branchwise.solvers.drtree import drtree
from branchwise.solvers.pca import principal_axes

from .. import oracles
from ..conftest import branching

PATHS = {
    "matrix": {},
    "operator": {"MAX_DENSE": 1},
    "recomputed": {"MAX_KEPT": 0},
    "recomputed operator": {"MAX_DENSE": 1, "MAX_KEPT_FOR_STEPS": 0},
}


@pytest.fixture(params=PATHS)
def path(request, monkeypatch):
    """Every way through the solver that the size of a problem may choose, in several blocks."""
    monkeypatch.setattr(rows, "MIN_PART", 7)
    monkeypatch.setattr(rows, "MAX_BLOCK", 300)
    for name, value in PATHS[request.param].items():
        monkeypatch.setattr(assignments, name, value)


def update_embedding(Y, axes, C, R, edges, lam, gamma):
    """W, Z and C as one update."""
    axes, A, C, captured = update_centers(Y.apply_gram, axes, C, R, edges, lam, gamma)
    Z = np.empty((Y.n_rows, C.shape[1]))

    def place(rows, R_rows, workspace):
        Z[rows] = (Y.project(axes.block[:, : C.shape[1]], rows) + R_rows @ A) / (1 + gamma)

    R.for_each(place)
    return axes, Z, C, captured


def problem(n_samples, n_features, n_centers, *, seed=0):
    X = branching(n_samples, n_features, seed=seed)
    Y = CentredRows(X)
    W, _ = principal_axes(Y, 2)
    C = None
    if n_centers is not None:
        C = KMeans(n_centers, n_init=1, random_state=0).fit(Y.project(W)).cluster_centers_
    return X - X.mean(axis=0), Y, W, C


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("sigma", [0.1, 1e-3, 0.0], ids=["soft", "narrow", "hard"])
@pytest.mark.parametrize("n_centers", [None, 12], ids=["K=N", "K<N"])
@pytest.mark.parametrize("n_features", [5, 90], ids=["D<N", "D>N"])
@pytest.mark.parametrize("lam", [3.0, 40.0])
def test_ddrtree_is_algorithm_2(n_features, n_centers, sigma, lam):
    dense, Y, W, C = problem(50, n_features, n_centers)
    parameters = {"lam": lam, "gamma": 10.0, "sigma": sigma}
    result = ddrtree(Y, W, C, max_iter=10, tol=0, **parameters)

    # The oracle's principal axes may have other signs than ours.
    axes = np.linalg.svd(dense, full_matrices=False)[2][:2].T
    flips = np.sign(np.sum(axes * Y.lift(W), axis=0))
    oW, oZ, oC, edges, history = oracles.ddrtree_algorithm_2(
        dense, 2, None if C is None else C * flips, n_iter=10, **parameters
    )
    np.testing.assert_allclose(result.Z, oracles.align(result.Z, oZ), atol=1e-8)
    np.testing.assert_allclose(result.C, oracles.align(result.C, oC), atol=1e-8)
    np.testing.assert_allclose(Y.lift(result.W), oracles.align(Y.lift(result.W), oW), atol=1e-8)
    np.testing.assert_allclose(result.history, history, rtol=1e-10)
    assert set(map(tuple, result.edges)) == set(map(tuple, edges))


@pytest.mark.usefixtures("path")
@given(
    n_samples=st.integers(4, 40),
    n_features=st.integers(2, 50),
    n_centers=st.one_of(st.none(), st.integers(1, 4)),
    lam=st.floats(0, 1e4),
    gamma=st.floats(1e-2, 1e3),
    sigma=st.one_of(st.just(0.0), st.floats(1e-6, 1e3)),
    seed=st.integers(0, 1000),
)
def test_ddrtree_objective_never_rises(n_samples, n_features, n_centers, lam, gamma, sigma, seed):
    X = np.random.default_rng(seed).normal(size=(n_samples, n_features))
    Y = CentredRows(X)
    W, rank = principal_axes(Y, 2)
    W = W[:, :rank]
    C = None if n_centers is None else Y.project(W)[:n_centers]
    result = ddrtree(Y, W, C, lam=lam, gamma=gamma, sigma=sigma, max_iter=8, tol=0)
    scale = np.maximum(np.abs(result.history[:-1]), Y.energy)
    assert (np.diff(result.history) <= 1e-10 * scale).all()
    np.testing.assert_allclose(result.W.T @ result.W, np.eye(rank), atol=1e-9)
    assert len(result.edges) == len(result.C) - 1


def test_history_is_the_objective_at_the_last_iterates():
    dense, Y, W, C = problem(60, 5, 15)
    parameters = {"lam": 6.0, "gamma": 10.0, "sigma": 0.1}
    before = ddrtree(Y, W, C, max_iter=4, tol=0, **parameters)
    result = ddrtree(Y, W, C, max_iter=5, tol=0, **parameters)
    R = oracles.soft_assignments(before.Z, before.C, 0.1)
    L = oracles.dense_laplacian(result.edges, 15)
    expected = oracles.ddrtree_objective(dense, result.W, result.Z, result.C, L, R, 6.0, 10.0, 0.1)
    assert result.history[-1] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("sigma", [0.0, 0.1])
def test_the_objective_of_an_update_is_the_formula_at_its_w_z_and_c(sigma):
    dense, Y, W, C = problem(60, 5, 15)
    edges, R = oracles.kruskal(C), update_assignments(Y, Y.project(W), C, sigma)
    axes, A, centres, captured = update_centers(Y.apply_gram, Axes(W, None), C, R, edges, 6.0, 10.0)
    W_new, points = axes.block[:, :2], Points(Y, Y.project(W), 10.0, sigma)
    points.assign(C)
    points.move([Step(C, W_new, A)])
    found = objective(
        Y.energy - captured, R.negative_entropy, 3.0, lam=6.0, gamma=10.0, sigma=sigma
    )
    assign_all = (
        oracles.soft_assignments if sigma else lambda Z, C, _: oracles.hard_assignments(Z, C)
    )
    expected = oracles.ddrtree_objective(
        dense,
        W_new,
        points.Z,
        centres,
        oracles.dense_laplacian(edges, 15),
        assign_all(Y.project(W), C, sigma),
        6.0,
        10.0,
        sigma,
    )
    assert found == pytest.approx(expected + 6.0 * 3.0, rel=1e-12)


@pytest.mark.parametrize("n_centers", [1, 7, 90])
def test_assignments_match_the_formula(n_centers, rng):
    Z, C = rng.normal(size=(200, 3)), rng.normal(size=(n_centers, 3))
    for sigma in (1e-3, 0.05, 5.0):
        R = assign(Z, kdtree.build(C), sigma)
        expected = oracles.soft_assignments(Z, C, sigma)
        np.testing.assert_allclose(R.matrix(n_centers).toarray(), expected, atol=1e-14)
        entropy = np.sum(expected * np.log(np.maximum(expected, 1e-300)))
        assert R.negative_entropy == pytest.approx(entropy, rel=1e-10, abs=1e-10)
    hard = assign(Z, kdtree.build(C), 0.0)
    np.testing.assert_array_equal(hard.matrix(n_centers).toarray(), oracles.hard_assignments(Z, C))
    assert hard.negative_entropy == 0


@pytest.mark.parametrize("sigma", [0.0, 0.01, 0.5, 50.0])
def test_sums_of_a_part_match_numpy_in_blocks_of_any_size(sigma, monkeypatch, rng):
    """Every block is worked on in the room of the one before, whatever their numbers of entries."""
    X, C = rng.normal(size=(90, 4)), rng.normal(size=(12, 2))
    order = np.lexsort(X.T)
    Y = CentredRows(X, order, mean=X.mean(axis=0), is_part=True)
    Z, dense = X[order, :2], X[order] - X.mean(axis=0)
    R = assign(Z, kdtree.build(C), sigma).matrix(12).toarray()
    for size in (1, 50, 400, 10**6):
        monkeypatch.setattr("branchwise.data.centering.MAX_BLOCK", size)
        found = update_assignments(Y, Z, C, sigma, sums_only=True)
        np.testing.assert_allclose(found.counts, R.sum(axis=0), atol=1e-13)
        np.testing.assert_allclose(found.RtY, R.T @ dense, atol=1e-13)
        np.testing.assert_allclose(found.overlap_matrix, R.T @ R, atol=1e-13)
        moved = np.full((90, 2), np.nan)

        def move(rows, R_rows, workspace, moved=moved):
            moved[rows] = Y.project(np.eye(4)[:, :2], rows, workspace) + R_rows @ C

        found.for_each(move)
        np.testing.assert_allclose(moved, dense[:, :2] + R @ C, atol=1e-13)


@pytest.mark.parametrize("n_columns", [1, 2, 4, 7])
def test_kernels_of_assignments_match_numpy(n_columns, rng):
    Z, C = rng.normal(size=(60, 2)), rng.normal(size=(20, 2))
    R = assign(Z, kdtree.build(C), 0.1)
    dense, csr = R.matrix(20).toarray(), (R.indptr, R.centres, R.weights)
    B, Y = rng.normal(size=(20, n_columns)), rng.normal(size=(60, n_columns))
    np.testing.assert_allclose(R @ B, dense @ B, atol=1e-13)
    out = assignments.padded(B)
    assignments.add_overlap(*csr, assignments.padded(B), out)
    np.testing.assert_allclose(out[:, :n_columns], B + dense.T @ dense @ B, atol=1e-13)
    assert not out[:, n_columns:].any()
    counts = np.ones(20)
    assignments.add_counts(*csr[1:], counts)
    np.testing.assert_allclose(counts, 1 + dense.sum(axis=0), atol=1e-13)
    out = np.ones((20, n_columns))
    assignments.add_weighted(*csr, Y, out)
    np.testing.assert_allclose(out, 1 + dense.T @ Y, atol=1e-13)
    out = np.ones((20, 20))
    assignments.add_products(*csr, out)
    np.testing.assert_allclose(out + out.T, 2 + dense.T @ dense, atol=1e-13)


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("sigma", [3.0, 0.02, 0.0])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_sums_over_assignments_do_not_depend_on_the_number_of_threads(
    container, sigma, monkeypatch, rng
):
    monkeypatch.setattr(rows, "MAX_COPIED", 100)  # as large data are treated
    X = rng.normal(size=(100, 4))
    Y, C = CentredRows(container(X)), rng.normal(size=(15, 2))
    Z = Y.project(np.eye(4)[:, :2])
    one, three = (
        update_assignments(CentredRows(container(X), n_jobs=n_jobs), Z, C, sigma)
        for n_jobs in (1, 3)
    )
    R = oracles.soft_assignments(Z, C, sigma) if sigma else oracles.hard_assignments(Z, C)
    np.testing.assert_allclose(one.counts, R.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(one.RtY, R.T @ (X - X.mean(axis=0)), atol=1e-12)
    B = rng.normal(size=(15, 3))
    np.testing.assert_allclose(one.overlap(B), R.T @ R @ B, atol=1e-12)
    np.testing.assert_array_equal(one.counts, three.counts)
    np.testing.assert_array_equal(one.RtY, three.RtY)
    np.testing.assert_array_equal(one.overlap(B), three.overlap(B))
    assert one.negative_entropy == three.negative_entropy


def test_lemma_1_assignments_are_optimal(rng):
    Z, C, sigma = rng.normal(size=(20, 2)), rng.normal(size=(6, 2)), 0.7
    squared = ((Z[:, None] - C) ** 2).sum(axis=2)

    def cost(R):
        return np.sum(R * squared) + sigma * np.sum(R * np.log(R))

    best = assign(Z, kdtree.build(C), sigma).matrix(6).toarray()
    for _ in range(200):
        other = rng.dirichlet(np.ones(6), size=20)
        step = rng.uniform()
        assert cost(best) <= cost((1 - step) * best + step * other) + 1e-12


def test_prop_3_centre_update_is_the_mean_shift_step():
    _, Y, W, _ = problem(40, 4, None)
    Z, sigma = Y.project(W), 0.3
    R = update_assignments(Y, Z, Z, sigma)
    edges = euclidean_spanning_tree(Z)
    _, Z_new, C_new, _ = update_embedding(Y, Axes(W, None), Z, R, edges, 0.0, 10.0)
    # Mean shift from c_k, each sample weighted by the inverse of its kernel density.
    kernel = np.exp(-((Z[:, None] - Z) ** 2).sum(axis=2) / sigma)
    weight = kernel / kernel.sum(axis=1, keepdims=True)
    for k in range(40):
        shifted = (weight[:, k] @ Z_new) / weight[:, k].sum()
        np.testing.assert_allclose(C_new[k], shifted, atol=1e-10)


def test_prop_4_small_sigma_reaches_the_hard_model():
    _, Y, W, C = problem(60, 5, 12)
    hard = ddrtree(Y, W, C, lam=6.0, gamma=10.0, sigma=0.0, max_iter=10, tol=0)
    distance = []
    for sigma in (1e-1, 1e-2, 1e-6):
        soft = ddrtree(Y, W, C, lam=6.0, gamma=10.0, sigma=sigma, max_iter=10, tol=0)
        distance.append(np.abs(soft.Z - hard.Z).max())
    assert distance[0] > distance[2]
    assert distance[2] < 1e-8
    assert soft.history[-1] == pytest.approx(hard.history[-1], rel=1e-8)


@given(
    n_samples=st.integers(3, 30),
    n_centers=st.integers(2, 30),
    lam=st.floats(1e-3, 1e4),
    gamma=st.floats(1e-2, 1e3),
    sigma=st.floats(1e-2, 1e2),
    seed=st.integers(0, 1000),
)
def test_lemma_2_preconditioned_spectrum(n_samples, n_centers, lam, gamma, sigma, seed):
    rng = np.random.default_rng(seed)
    Z, C = rng.normal(size=(n_samples, 2)), rng.normal(size=(n_centers, 2))
    R = oracles.soft_assignments(Z, C, sigma)
    L = laplacian(euclidean_spanning_tree(C), n_centers).toarray()
    P = lam / gamma * L + np.diag(R.sum(axis=0))
    M = (1 + gamma) / gamma * P - R.T @ R
    T = (1 + gamma) / gamma * P - np.diag(R.sum(axis=0))
    root = np.linalg.cholesky(T)
    spectrum = np.linalg.eigvalsh(np.linalg.solve(root, np.linalg.solve(root, M).T))
    assert spectrum.min() >= 1 - 1e-6
    assert spectrum.max() <= (1 + gamma) * (1 + 1e-6)
    assert np.linalg.eigvalsh(M).min() > 0  # so that the inverse exists


@pytest.mark.usefixtures("path")
def test_centre_solver_inverts_m(rng):
    _, Y, W, C = problem(60, 5, 20)
    R = update_assignments(Y, Y.project(W), C, 0.1)
    edges = euclidean_spanning_tree(C)
    solve_M = centre_solver(R, R.counts, edges, 6.0, 10.0)
    dense = oracles.soft_assignments(Y.project(W), C, 0.1)
    P = 0.6 * oracles.dense_laplacian(edges, 20) + np.diag(dense.sum(axis=0))
    M = 1.1 * P - dense.T @ dense
    B = rng.normal(size=(20, 3))
    np.testing.assert_allclose(
        solve_M(B, None, 1e-12), np.linalg.solve(M, B), rtol=1e-9, atol=1e-10
    )


@pytest.mark.parametrize("sigma", [0.1, 0.0])
def test_prop_5_no_perturbation_of_w_z_c_improves_the_objective(rng, sigma):
    dense, Y, W, C = problem(40, 6, 10)
    Z = Y.project(W)
    edges = euclidean_spanning_tree(C)
    R_dense = oracles.soft_assignments(Z, C, sigma) if sigma else oracles.hard_assignments(Z, C)
    R = update_assignments(Y, Z, C, sigma)
    axes, Z, C, captured = update_embedding(Y, Axes(W, None), C, R, edges, 4.0, 10.0)
    W = axes.block[:, :2]
    L = oracles.dense_laplacian(edges, 10)

    def objective(W, Z, C):
        return oracles.ddrtree_objective(dense, W, Z, C, L, R_dense, 4.0, 10.0, sigma)

    best = objective(W, Z, C)
    assert best == pytest.approx(Y.energy - captured + 10.0 * sigma * R.negative_entropy, rel=1e-12)
    for _ in range(300):
        size = 10.0 ** rng.uniform(-4, 0)
        W_other = np.linalg.qr(W + size * rng.normal(size=W.shape))[0]
        Z_other = Z + size * rng.normal(size=Z.shape)
        C_other = C + size * rng.normal(size=C.shape)
        assert objective(W_other, Z, C) >= best - 1e-9
        assert objective(W, Z_other, C) >= best - 1e-9
        assert objective(W, Z, C_other) >= best - 1e-9
        assert objective(W_other, Z_other, C_other) >= best - 1e-9


def test_prop_5_w_spans_the_leading_eigenvectors():
    dense, Y, W, C = problem(40, 6, 10)
    Z = Y.project(W)
    edges = euclidean_spanning_tree(C)
    R_dense = oracles.soft_assignments(Z, C, 0.1)
    P = 0.4 * oracles.dense_laplacian(edges, 10) + np.diag(R_dense.sum(axis=0))
    M = 1.1 * P - R_dense.T @ R_dense
    Q = (np.eye(40) + R_dense @ np.linalg.solve(M, R_dense.T)) / 11
    R = update_assignments(Y, Z, C, 0.1)
    axes, _, _, captured = update_embedding(Y, Axes(W, None), C, R, edges, 4.0, 10.0)
    W = axes.block[:, :2]
    T = dense.T @ Q @ dense
    np.testing.assert_allclose(
        np.linalg.eigvalsh(W.T @ T @ W)[::-1], np.linalg.eigvalsh(T)[::-1][:2], rtol=1e-10
    )
    assert captured == pytest.approx(np.linalg.eigvalsh(T)[::-1][:2].sum(), rel=1e-12)


def test_drtree_is_ddrtree_with_one_centre_per_sample_and_large_gamma():
    """With γ → ∞ every centre sits on its point (the paper prints z_i = y_i)."""
    _, Y, W, _ = problem(40, 5, None)
    tree = drtree(Y, W, lam=4.0, max_iter=10, tol=0)
    limit = ddrtree(Y, W, None, lam=4.0, gamma=1e8, sigma=1e-9, max_iter=10, tol=0)
    np.testing.assert_allclose(limit.C, limit.Z, atol=1e-6)
    np.testing.assert_allclose(limit.Z, oracles.align(limit.Z, tree.Z), atol=1e-5)
    np.testing.assert_array_equal(limit.edges, tree.edges)


def test_unused_centre_without_a_tree_stays_where_it_is():
    _, Y, W, _ = problem(30, 4, None)
    C = np.array([[0.0, 0.0], [100.0, 100.0]])
    result = ddrtree(Y, W, C, lam=0.0, gamma=10.0, sigma=0.0, max_iter=5, tol=0)
    # The axes may turn or flip within the plane; the place in the data space is the same.
    np.testing.assert_allclose(result.W @ result.C[1], W @ C[1])
    assert np.isfinite(result.Z).all()


def test_unused_centre_on_a_tree_moves_to_its_neighbours():
    _, Y, W, _ = problem(30, 4, None)
    C = np.array([[0.0, 0.0], [100.0, 100.0]])
    result = ddrtree(Y, W, C, lam=5.0, gamma=10.0, sigma=0.0, max_iter=1, tol=0)
    np.testing.assert_allclose(result.C[1], result.C[0], atol=1e-8)
