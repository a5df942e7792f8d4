"""Maximum variance unfolding, against an interior-point solver and what its problem promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import linalg, sparse
from sklearn.exceptions import ConvergenceWarning

from branchwise.graph import laplacian, squared_distances
from branchwise.linalg import kernel_pca
from branchwise_paper.baselines import MVU
from branchwise_paper.baselines.mvu import (
    Bars,
    bar_products,
    dual_feasible,
    first_minimum,
    framework,
    minimise,
    smallest_ratio,
)


def interior_point(edges, phi, n_nodes):
    """The optimal kernel by Clarabel.

    K = VZVᵀ with orthonormal V, Vᵀ1 = 0, because no K of sum zero is in the interior of the cone. Z
    is a vector, column by column, with off-diagonals times √2.
    """
    clarabel = pytest.importorskip("clarabel", reason="the semidefinite solver to compare with")
    V = linalg.null_space(np.ones((1, n_nodes)))
    column, row = np.tril_indices(n_nodes - 1)
    scale = np.where(row == column, 1.0, np.sqrt(2.0))
    difference = V[edges[:, 0]] - V[edges[:, 1]]
    keep = difference[:, row] * difference[:, column] * scale
    A = sparse.csc_matrix(np.vstack([keep, -np.eye(len(row))]))
    b = np.concatenate([phi, np.zeros(len(row))])
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_rel = options.tol_gap_abs = options.tol_feas = 1e-9
    cones = [clarabel.ZeroConeT(len(edges)), clarabel.PSDTriangleConeT(n_nodes - 1)]
    quadratic = sparse.csc_matrix((len(row), len(row)))
    cost = -(row == column).astype(float)
    solution = clarabel.DefaultSolver(quadratic, cost, A, b, cones, options).solve()
    Z = np.zeros((n_nodes - 1, n_nodes - 1))
    Z[row, column] = Z[column, row] = np.array(solution.x) / scale
    return V @ Z @ V.T


def distances(K):
    return np.diag(K)[:, np.newaxis] + np.diag(K) - 2 * K


def normal(n_samples, n_features, seed=0):
    return np.random.default_rng(seed).normal(size=(n_samples, n_features))


def accurate(X, n_neighbors, **given):
    return MVU(
        **{"tol": 1e-6, "max_iter": 10_000, "random_state": 0, **given}, n_neighbors=n_neighbors
    ).fit(X)


@pytest.mark.parametrize(("n_samples", "n_features", "k"), [(40, 10, 5), (30, 3, 20)])
def test_mvu_is_the_optimum_of_the_semidefinite_program(n_samples, n_features, k):
    """Where the rank grows, and where it stays that of the data."""
    X = normal(n_samples, n_features, n_samples + k)
    model = accurate(X, k)
    K = interior_point(model.edges_, squared_distances(X, model.edges_), n_samples)
    assert model.converged_
    assert model.objective_ == pytest.approx(np.trace(K), rel=3e-6)
    ours = model.factor_ @ model.factor_.T
    assert_allclose(distances(ours), distances(K), atol=1e-4 * distances(K).max())


@pytest.mark.parametrize("seed", range(3))
def test_objective_and_bound_enclose_that_of_the_semidefinite_program(seed):
    """Where several kernels are optimal, say because a sample hangs on too few others."""
    X = normal(25, 5, seed)
    model = accurate(X, 4)
    best = np.trace(interior_point(model.edges_, squared_distances(X, model.edges_), len(X)))
    assert model.objective_ == pytest.approx(best, rel=1e-5)
    assert best * (1 - 1e-6) <= model.dual_bound_ <= best * (1 + 1e-4)
    assert abs(model.duality_gap_) < 1e-4


def test_rigid_graph_leaves_the_data_as_they_are():
    """Only the data themselves keep the distances: an interior point method has nowhere to go."""
    X = normal(30, 2, 38)
    model = accurate(X, 8)
    centred = X - X.mean(axis=0)
    assert_allclose(model.factor_ @ model.factor_.T, centred @ centred.T, atol=1e-4)
    assert abs(model.duality_gap_) < 1e-5


def test_arc_unrolls_to_a_line_of_its_length():
    angle = np.cumsum(np.random.default_rng(0).uniform(0.02, 0.1, size=60))
    arc = np.column_stack([np.cos(angle), np.sin(angle)])
    model = accurate(arc, 1, n_components=2)
    steps = np.linalg.norm(np.diff(arc, axis=0), axis=1)
    line = np.concatenate([[0.0], np.cumsum(steps)])
    along = model.embedding_[:, 0] * np.sign(model.embedding_[-1, 0] - model.embedding_[0, 0])
    assert_allclose(along, line - line.mean(), atol=2e-4 * line[-1])
    assert_allclose(model.embedding_[:, 1], 0, atol=1e-3 * line[-1])


def test_multipliers_of_a_line_are_known():
    """Tension in the k-th of n − 1 equal bars: the pull of all samples beyond, k(n − k)/2."""
    X = np.arange(9.0)[:, np.newaxis]
    model = accurate(X, 1)
    k = np.arange(1, 9)
    order = np.argsort(model.edges_[:, 0])
    assert_allclose(model.weights_[order], k * (9 - k) / 2, rtol=1e-4)
    assert model.objective_ == pytest.approx(60.0, rel=1e-5)


@settings(max_examples=10, deadline=None)
@given(st.integers(8, 40), st.integers(1, 8), st.integers(2, 6), st.integers(0, 10**6))
@pytest.mark.filterwarnings("ignore:MVU stopped after")
def test_neighbours_keep_their_distances_and_the_variance_grows(n_samples, n_features, k, seed):
    X = normal(n_samples, n_features, seed)
    model = MVU(n_neighbors=k, random_state=0).fit(X)
    i, j = model.edges_.T
    K = model.factor_ @ model.factor_.T
    kept = K[i, i] + K[j, j] - 2 * K[i, j]
    given = squared_distances(X, model.edges_)
    assert_allclose(np.abs(kept / given - 1).max(), model.violation_, atol=1e-7)
    assert np.sqrt(np.mean((kept / given - 1) ** 2)) == pytest.approx(
        model.rms_violation_, abs=1e-7
    )
    assert model.rms_violation_ < 0.05
    variance = ((X - X.mean(axis=0)) ** 2).sum()
    assert model.objective_ >= variance * (1 - 5 * model.rms_violation_)
    assert model.dual_bound_ >= variance * (1 - 1e-8)
    L = laplacian(model.edges_, n_samples, model.weights_).toarray()
    assert np.linalg.eigvalsh(L + np.trace(L) / n_samples)[0] >= 1 - 1e-5
    assert model.dual_bound_ == pytest.approx(model.weights_ @ given)
    assert_allclose(K.sum(), 0, atol=1e-8 * np.trace(K))


def test_dual_bound_holds_for_any_multipliers():
    X = normal(30, 6)
    best = accurate(X, 4)
    bars = framework(X, best.edges_)
    rng = np.random.default_rng(1)
    for spread in (0.0, 0.3, 3.0):
        w = np.abs(best.weights_).mean() * rng.normal(1.0, spread, size=len(bars.phi))
        feasible = dual_feasible(bars, [w])
        assert smallest_ratio(bars, feasible) == pytest.approx(1, abs=1e-5)
        assert feasible @ bars.phi >= best.objective_ * (1 - 1e-4)


def test_unfinished_multipliers_still_prove_percents():
    X = normal(80, 6)
    best = accurate(X, 5, tol=1e-4)
    bars = framework(X, best.edges_)
    noise = np.random.default_rng(0).normal(size=len(bars.phi))
    w = best.weights_ - 0.02 * np.abs(best.weights_).mean() * np.abs(noise)
    w[best.weights_ < 0] *= 1.1
    bound = dual_feasible(bars, [w]) @ bars.phi
    assert best.dual_bound_ * (1 - 1e-6) <= bound < 1.1 * best.dual_bound_
    assert smallest_ratio(bars, w) < 0.9


@pytest.mark.parametrize("sign", [-1.0, 0.0, 1.0])
def test_smallest_ratio_is_the_eigenvalue_of_the_laplacian_beside_the_constant(sign):
    X = normal(40, 3)
    bars = framework(np.vstack([X, X[:7]]), np.vstack([neighbour_ring(40), copies(40, 7)]))
    w = np.random.default_rng(0).normal(2 * sign, 1.0, size=len(bars.phi))
    N = bars.mass.sum()
    L = laplacian(bars.edges, len(bars.mass), w).toarray()
    J = np.diag(bars.mass) - np.outer(bars.mass, bars.mass) / N
    off_constant = linalg.null_space(np.ones((1, len(J))))
    values = linalg.eigh(
        off_constant.T @ L @ off_constant, off_constant.T @ J @ off_constant, eigvals_only=True
    )
    assert smallest_ratio(bars, w) == pytest.approx(values[0], rel=1e-5, abs=1e-7)


def neighbour_ring(n):
    return np.vstack(
        [np.column_stack([np.arange(n), (np.arange(n) + step) % n]) for step in (1, 2)]
    )


def copies(n, n_copies):
    return np.column_stack([np.arange(n_copies), n + np.arange(n_copies)])


def test_copies_are_one_point_with_their_mass():
    """As if the constraint K_ii + K_jj − 2K_ij = 0 of each pair of copies had been kept."""
    X = normal(25, 4)
    X = np.vstack([X, X[:6]])
    model = accurate(X, 5)
    assert_allclose(model.embedding_[:6], model.embedding_[25:])
    phi = squared_distances(X, model.edges_)
    assert (phi == 0).any()
    # Bars as good as zero: the interior point method needs an interior.
    best = np.trace(interior_point(model.edges_, np.maximum(phi, 1e-9), len(X)))
    assert model.objective_ == pytest.approx(best, rel=1e-3)
    assert model.duality_gap_ < 1e-4


def test_parts_are_joined_by_the_shortest_edge_between_them():
    X = np.array([[0.0, 0], [1, 0], [1, 1], [9, 0], [10, 0], [10, 1]])
    model = accurate(X, 1, max_iter=2000)
    assert [1, 3] in model.edges_.tolist()
    assert len(model.edges_) == 5
    # A tree unrolls to a line: 1 + 1 + 8 + 1 + 1, but for branches.
    assert np.isfinite(model.dual_bound_)
    assert_allclose(np.linalg.norm(model.factor_[1] - model.factor_[3]), 8, rtol=1e-4)


def test_rolled_strip_is_unrolled():
    rng = np.random.default_rng(0)
    along, across = (A.ravel() for A in np.meshgrid(np.linspace(0, 5, 40), np.linspace(0, 0.5, 5)))
    along = along + rng.uniform(-0.02, 0.02, size=len(along))
    model = MVU(n_components=2, n_neighbors=5, tol=1e-2, random_state=0).fit(
        np.column_stack([np.cos(along), across, np.sin(along)])
    )
    assert abs(np.corrcoef(model.embedding_[:, 0], along)[0, 1]) > 0.999
    assert_allclose(np.ptp(model.embedding_[:, 0]), np.ptp(along), rtol=0.05)


def test_embedding_is_the_kernel_pca_of_the_kernel():
    model = MVU(n_components=3, n_neighbors=5, random_state=0).fit(normal(40, 6))
    assert_allclose(
        model.embedding_, kernel_pca(model.factor_ @ model.factor_.T, 3), rtol=1e-6, atol=1e-6
    )


def test_more_components_than_rank_are_zero():
    model = MVU(n_components=30, n_neighbors=2, random_state=0).fit(normal(40, 3))
    assert model.embedding_.shape == (40, 30)
    rank = model.factor_.shape[1]  # with a few columns that rounding may leave something in
    assert 3 < rank < 30
    assert_allclose(model.embedding_[:, rank:], 0)
    variance = np.sum(model.embedding_**2, axis=0)
    assert variance[rank - 4 : rank].max() < 1e-11 * variance.sum()


def test_result_scales_with_the_units_of_the_data():
    X = normal(40, 5)
    one = MVU(n_neighbors=4, random_state=0).fit(X)
    for unit in (2.0**-400, 2.0**400):
        other = MVU(n_neighbors=4, random_state=0).fit(unit * X)
        assert_allclose(other.embedding_ / unit, one.embedding_, rtol=1e-9, atol=1e-9)
        assert other.duality_gap_ == pytest.approx(one.duality_gap_, abs=1e-9)


def test_same_seed_gives_the_same_embedding():
    X = normal(40, 5)
    first = MVU(n_neighbors=4, random_state=3).fit_transform(X)
    assert_allclose(MVU(n_neighbors=4, random_state=3).fit_transform(X), first, rtol=0)


def test_constant_data_stay_in_one_point():
    model = MVU(n_components=2, n_neighbors=3).fit(np.ones((10, 4)))
    assert_allclose(model.embedding_, 0)
    assert model.converged_
    assert model.violation_ == model.duality_gap_ == 0.0


def test_missed_tolerance_warns():
    with pytest.warns(ConvergenceWarning, match=r"3 iterations.*above tol=0\.001; raise max_iter"):
        model = MVU(n_neighbors=4, tol=1e-3, max_iter=3, random_state=0).fit(normal(40, 5))
    assert model.n_iter_ == 3
    assert not model.converged_


def lagrangian(R, w, sigma, s, bars):
    c = squared_distances(R, bars.edges) - bars.phi
    centred = R - bars.mass @ R / bars.mass.sum()
    return -(bars.mass @ centred**2).sum() + w @ c + sigma / 2 * s @ c**2


def test_inner_minimiser_finds_a_stationary_point_below_the_start():
    X = normal(30, 4)
    bars = framework(np.vstack([X, X[:3]]), np.vstack([neighbour_ring(30), copies(30, 3)]))
    rng = np.random.default_rng(0)
    start = rng.normal(size=(30, 8))
    w, s, sigma = rng.normal(size=len(bars.phi)), 1 / bars.phi, 10.0
    R, c, residual, n_steps = minimise(Bars(bars), start, w, sigma, s, 1e-8, 3000)
    assert residual <= 1e-8
    assert 0 < n_steps < 3000
    assert_allclose(c, squared_distances(R, bars.edges) - bars.phi, atol=1e-8)
    assert lagrangian(R, w, sigma, s, bars) < lagrangian(start, w, sigma, s, bars)
    direction = rng.normal(size=R.shape)
    ahead, behind = (lagrangian(R + t * direction, w, sigma, s, bars) for t in (1e-5, -1e-5))
    assert abs(ahead - behind) / 2e-5 < 1e-4 * np.linalg.norm(R)


def test_inner_minimiser_never_climbs():
    bars = framework(normal(30, 4), neighbour_ring(30))
    start = normal(30, 6, 1)
    w, s = np.zeros(len(bars.phi)), 1 / bars.phi
    values = [
        lagrangian(minimise(Bars(bars), start, w, 5.0, s, 0.0, n)[0], w, 5.0, s, bars)
        for n in range(12)
    ]
    assert (np.diff(values) < 0).all()


def test_bar_products_match_numpy():
    edges = neighbour_ring(20).astype(np.int32)
    for n_columns in (1, 4, 7):
        R, D = normal(20, n_columns), normal(20, n_columns, 1)
        cross, square = np.empty(len(edges)), np.empty(len(edges))
        bar_products(R, D, edges, cross, square)
        r, d = (A[edges[:, 0]] - A[edges[:, 1]] for A in (R, D))
        assert_allclose(cross, (r * d).sum(axis=1), atol=1e-12)
        assert_allclose(square, (d * d).sum(axis=1), atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.floats(-5, -0.1), st.floats(-5, 5), st.floats(-5, 5), st.floats(0.1, 5))
def test_first_minimum_of_a_quartic(c1, c2, c3, c4):
    t = first_minimum(c1, c2, c3, c4)
    grid = np.linspace(0, t, 200)
    values = c1 * grid + c2 * grid**2 + c3 * grid**3 + c4 * grid**4
    assert t > 0
    assert (np.diff(values) < 1e-9).all()


@pytest.mark.parametrize("given", [{"n_neighbors": 0}, {"tol": 0.0}, {"max_iter": 0}])
def test_parameters_are_checked(given):
    with pytest.raises(ValueError, match=f"The '{next(iter(given))}' parameter of MVU must be"):
        MVU(**given).fit(normal(10, 2))


def test_few_samples_have_fewer_neighbours():
    model = MVU(n_components=1, n_neighbors=10, random_state=0).fit([[0.0], [1.0], [3.0]])
    assert len(model.edges_) == 3
    assert_allclose(np.ptp(model.embedding_), 3, rtol=1e-2)
