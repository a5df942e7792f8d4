import numpy as np
import pytest
from scipy import linalg

from branchwise.graph.inverse import plan_elimination, selected_inverse
from branchwise.graph.sketch import (
    advance,
    conjugate_gradients,
    edge_energy,
    laplacian_solver,
    log_form,
    random_sides,
    redirect,
    scaled_laplacian,
    sketch,
)

from .. import oracles
from .test_inverse import GRAPHS

pytestmark = pytest.mark.usefixtures("one_thread")


def weighted(name, rng):
    edges, n = GRAPHS[name]
    s = rng.exponential(size=len(edges)) * rng.integers(0, 2, size=len(edges))
    return edges, n, s


def exact(edges, n, s):
    return selected_inverse(plan_elimination(edges, n))(s, 0.25)


@pytest.mark.parametrize("name", ["grid", "star", "pieces", "no edge", "six dimensions"])
def test_conjugate_gradients_solve(name, rng):
    edges, n, s = weighted(name, rng)
    Q = scaled_laplacian(edges, n, s, 0.25)
    B = rng.normal(size=(n, 11))
    B[:, 3] = 0.0
    expected = np.linalg.solve(oracles.dense_laplacian(edges, n, s) + 0.25 * np.eye(n), B)
    for n_jobs in (1, 2):
        X = laplacian_solver(Q, n_jobs=n_jobs)(B, 1e-13)
        np.testing.assert_allclose(X, expected, atol=1e-10)


@pytest.mark.parametrize("name", ["plane", "tree", "pieces", "duplicates", "six dimensions"])
def test_sketched_resistances_are_right_to_their_noise(name, rng):
    edges, n, s = weighted(name, rng)
    Q, q = scaled_laplacian(edges, n, s, 0.25), 400
    estimate = sketch(edges, s, Q, 0.25, rng, n_columns=q)
    ratio = estimate.resistance / exact(edges, n, s).resistance
    assert ratio.mean() == pytest.approx(1, abs=0.02)
    assert np.sqrt(np.mean((ratio - 1) ** 2)) < 1.2 * np.sqrt(2 / q)


@pytest.mark.parametrize("name", ["plane", "tree", "pieces", "duplicates", "six dimensions"])
def test_sketched_logdet_is_within_its_standard_error(name, rng):
    edges, n, s = weighted(name, rng)
    Q = scaled_laplacian(edges, n, s, 0.25)
    estimate = sketch(edges, s, Q, 0.25, rng, n_columns=200)
    assert 0 < estimate.logdet_error < 0.05 * n
    assert abs(estimate.logdet - exact(edges, n, s).logdet) < 4 * estimate.logdet_error


@pytest.mark.parametrize("name", ["plane", "complete", "grid"])
def test_diagonal_is_estimated_within_its_stated_error(rng, name):
    edges, n, s = weighted(name, rng)
    Q, q = scaled_laplacian(edges, n, s, 0.25), 64
    truth = exact(edges, n, s).diagonal
    error = np.sqrt(2 / q) * (truth - 1 / Q.root**2)
    known = error < 1e-12  # nodes without neighbours
    z = []
    for _ in range(100):
        estimate = sketch(edges, s, Q, 0.25, rng, n_columns=q)
        np.testing.assert_allclose(estimate.diagonal[known], truth[known])
        # No worse than the plain mean of squares, whose relative error is √(2/q).
        assert (estimate.diagonal_error <= np.sqrt(2 / q) * estimate.diagonal).all()
        np.testing.assert_allclose(estimate.diagonal_error, error, rtol=1.0, atol=1e-12)
        z.extend((estimate.diagonal - truth)[~known] / error[~known])
    assert abs(np.mean(z)) < 0.25
    assert 0.8 < np.std(z) < 1.2


def test_quadrature_is_exact_when_conjugate_gradients_end(rng):
    """bᵀ[A⁻¹log A]b from the recurrence, A = D^{-1/2}QD^{-1/2}."""
    edges, n, s = weighted("complete", rng)
    Q = scaled_laplacian(edges, n, s, 0.25)
    B = rng.normal(size=(n, 3))
    _, recurrence = conjugate_gradients(Q, B, rtol=1e-14)
    values, vectors = linalg.eigh(Q.matrix.toarray())
    b = vectors.T @ (B / Q.root[:, None])
    forms = np.einsum("ij,i,ij->j", b, np.log(values) / values, b)
    np.testing.assert_allclose(log_form(recurrence), forms, rtol=1e-8)


def test_a_graph_without_edges_is_estimated_exactly(rng):
    edges, n, s = weighted("no edge", rng)
    estimate = sketch(edges, s, scaled_laplacian(edges, n, s, 0.25), 0.25, rng, n_columns=8)
    assert len(estimate.resistance) == 0
    assert estimate.logdet == pytest.approx(n * np.log(0.25))
    assert estimate.logdet_error == pytest.approx(0)


def test_sketch_depends_on_the_seed_and_not_on_the_threads(rng):
    edges, n, s = weighted("plane", rng)
    Q = scaled_laplacian(edges, n, s, 0.25)
    one, two, other = (
        sketch(edges, s, Q, 0.25, np.random.default_rng(seed), n_columns=20, n_jobs=n_jobs)
        for seed, n_jobs in [(0, 1), (0, 2), (1, 1)]
    )
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)
    assert (one.resistance != other.resistance).all()


def test_kernels_of_conjugate_gradients_match_numpy(rng):
    alpha, rho = rng.uniform(size=(2, 3))
    step, Q_step, X, residual = rng.normal(size=(4, 7, 3))
    moved, left = X + alpha * step, residual - alpha * Q_step
    norms = rho + (left**2).sum(axis=0)
    advance(alpha, step, Q_step, X, residual, rho)
    np.testing.assert_allclose(X, moved)
    np.testing.assert_allclose(residual, left)
    np.testing.assert_allclose(rho, norms)
    turned = residual + alpha * step
    redirect(alpha, residual, step)
    np.testing.assert_allclose(step, turned)


def test_kernel_of_random_sides_matches_numpy(rng):
    edges, n = GRAPHS["grid"]
    roots = rng.uniform(size=len(edges))
    bits = [rng.integers(256, size=m).astype(np.uint8) for m in (len(edges), n)]
    on_edges, on_nodes = (2.0 * ((b[:, None] >> np.arange(5)) & 1) - 1 for b in bits)
    expected = 0.5 * on_nodes
    np.add.at(expected, edges[:, 0], roots[:, None] * on_edges)
    np.subtract.at(expected, edges[:, 1], roots[:, None] * on_edges)
    B = np.empty((n, 5))
    random_sides(edges[:, 0], edges[:, 1], roots, bits[0], 0.5, bits[1], B)
    np.testing.assert_allclose(B, expected, atol=1e-14)


def test_kernel_of_edge_energies_matches_numpy(rng):
    edges, n = GRAPHS["grid"]
    X = rng.normal(size=(n, 3))
    expected = ((X[edges[:, 0]] - X[edges[:, 1]]) ** 2).sum(axis=1)
    np.testing.assert_allclose(edge_energy(edges, np.asfortranarray(X)), expected)
