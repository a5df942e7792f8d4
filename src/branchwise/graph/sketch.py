"""Resistances and logdet of a large graph, estimated from a few random solutions.

Q = BᵀSB + c·I is the covariance of b = BᵀS^{1/2}v₁ + √c·v₂ for random signs v₁ on the edges and v₂
on the nodes. Hence x = Q⁻¹b has covariance Q⁻¹, and

    b_eᵀQ⁻¹b_e = E(x_i − x_j)²,      logdet Q = E bᵀ[Q⁻¹log Q]b.

The first is averaged over q solutions x, with a relative error of √(2/q). The diagonal of Q⁻¹, the
variance of each x_i, is what its neighbours leave open, 1/Q_ii, and the variance of what they say
of it; only the second part has to be averaged. The logarithm needs nothing more than the
coefficients of the conjugate gradients that find x: they are the Lanczos matrix of Q for the start
b, which gives the quadratic form by Gauss quadrature.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse

from .._compat import kernel
from .._parallel import ordered_map
from .._typing import Floats, Ints, Sparse
from .laplacian import adjacency

# Columns that are solved for together, by one thread: as many as fill a line of memory.
BLOCK = 8
MAX_STEPS = 5000


class ScaledLaplacian(NamedTuple):
    """D^{-1/2}QD^{-1/2} for the diagonal D of Q = L + c·I: Jacobi's preconditioner, built in."""

    matrix: Sparse
    root: Floats  # D^{1/2}


def scaled_laplacian(edges: Ints, n_nodes: int, s: Floats, ridge: float) -> ScaledLaplacian:
    """Q = L + ridge·I for the weights s, scaled to a diagonal of ones."""
    i, j = edges[:, 0], edges[:, 1]
    root = np.sqrt(np.bincount(i, s, n_nodes) + np.bincount(j, s, n_nodes) + ridge)
    weights = s / (root[i] * root[j])
    return ScaledLaplacian(
        sparse.csr_array(sparse.eye_array(n_nodes) - adjacency(edges, n_nodes, weights)), root
    )


class Recurrence(NamedTuple):
    """The coefficients of conjugate gradients, one row per step and one column per solution."""

    energy: Floats  # ‖b‖², scaled
    alpha: Floats
    beta: Floats


def conjugate_gradients(Q: ScaledLaplacian, B: Floats, *, rtol: float) -> tuple[Floats, Recurrence]:
    """Q⁻¹B, with residuals of at most `rtol` of B in the norm of D⁻¹."""
    root = Q.root[:, np.newaxis]
    residual = B / root
    X = np.zeros_like(residual)
    step = residual.copy()
    energy = rho = np.einsum("ij,ij->j", residual, residual)
    alphas: list[Floats] = []
    betas: list[Floats] = []
    while (rho > rtol**2 * energy).any() and len(alphas) < MAX_STEPS:
        Q_step = Q.matrix @ step
        curvature = np.einsum("ij,ij->j", step, Q_step)
        alpha = np.divide(rho, curvature, out=np.zeros_like(rho), where=curvature > 0)
        rho_new = np.zeros_like(rho)
        advance(alpha, step, Q_step, X, residual, rho_new)
        beta = np.divide(rho_new, rho, out=np.zeros_like(rho), where=rho > 0)
        redirect(beta, residual, step)
        rho = rho_new
        alphas.append(alpha)
        betas.append(beta)
    shape = (len(alphas), B.shape[1])
    return X / root, Recurrence(energy, np.reshape(alphas, shape), np.reshape(betas, shape))


def laplacian_solver(Q: ScaledLaplacian, *, n_jobs: int = 1) -> Callable[[Floats, float], Floats]:
    """The map from B and an accuracy to Q⁻¹B, by conjugate gradients on a few columns at a time."""

    def solve(B: Floats, rtol: float) -> Floats:
        blocks = np.array_split(B, range(BLOCK, B.shape[1], BLOCK), axis=1)
        return np.hstack(
            ordered_map(lambda block: conjugate_gradients(Q, block, rtol=rtol)[0], blocks, n_jobs)
        )

    return solve


class Sketch(NamedTuple):
    """Estimates of b_eᵀQ⁻¹b_e for every edge; of diag Q⁻¹ and logdet Q, with standard errors."""

    resistance: Floats
    diagonal: Floats
    diagonal_error: Floats
    logdet: float
    logdet_error: float


def sketch(
    edges: Ints,
    s: Floats,
    Q: ScaledLaplacian,
    ridge: float,
    rng: np.random.Generator,
    *,
    n_columns: int,
    rtol: float = 1e-3,
    n_jobs: int = 1,
) -> Sketch:
    """Resistances and logdet from `n_columns` random solutions; see the module's docstring.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.sketch import scaled_laplacian, sketch
    >>> edges, s, rng = np.array([[0, 1]]), np.ones(1), np.random.default_rng(0)
    >>> Q = scaled_laplacian(edges, 2, s, 0.5)
    >>> estimate = sketch(edges, s, Q, 0.5, rng, n_columns=8000)
    >>> estimate.resistance.round(1), round(estimate.logdet, 1)  # 0.8 and log 1.25
    (array([0.8]), 0.2)
    """
    i, j = edges[:, 0], edges[:, 1]
    n_nodes, roots = len(Q.root), np.sqrt(s)
    # A byte holds the signs of one edge or node in the columns of a block.
    blocks = [
        (min(BLOCK, n_columns - first), rng.bytes(len(s)), rng.bytes(n_nodes))
        for first in range(0, n_columns, BLOCK)
    ]

    def solve_block(block: tuple[int, bytes, bytes]) -> tuple[Floats, Floats, Floats]:
        width, *signs = block
        on_edges, on_nodes = (np.frombuffer(sign, dtype=np.uint8) for sign in signs)
        B = np.empty((n_nodes, width))
        random_sides(i, j, roots, on_edges, np.sqrt(ridge), on_nodes, B)
        X, recurrence = conjugate_gradients(Q, B, rtol=rtol)
        root = Q.root[:, np.newaxis]
        told = X - Q.matrix @ (X * root) / root  # E[x_i | its neighbours]
        return edge_energy(edges, X), np.einsum("ij,ij->i", told, told), log_form(recurrence)

    energies, told, forms = zip(*ordered_map(solve_block, blocks, n_jobs), strict=True)
    resistance = np.sum(energies, axis=0) / n_columns
    from_neighbours = np.sum(told, axis=0) / n_columns
    form = np.concatenate(forms)
    return Sketch(
        resistance,
        1 / Q.root**2 + from_neighbours,
        np.sqrt(2 / n_columns) * from_neighbours,
        2 * float(np.log(Q.root).sum()) + float(form.mean()),
        float(form.std(ddof=1) / np.sqrt(n_columns)),
    )


def log_form(recurrence: Recurrence) -> Floats:
    """bᵀ[A⁻¹log A]b for each column: Gauss quadrature with the Lanczos matrix of the recurrence."""
    forms = np.zeros(len(recurrence.energy))
    for column, energy in enumerate(recurrence.energy):
        alpha, beta = recurrence.alpha[:, column], recurrence.beta[:, column]
        n = int(np.argmin(alpha > 0)) if (alpha <= 0).any() else len(alpha)
        if n == 0:
            continue
        diagonal = 1 / alpha[:n]
        diagonal[1:] += beta[: n - 1] / alpha[: n - 1]
        values, vectors = linalg.eigh_tridiagonal(diagonal, np.sqrt(beta[: n - 1]) / alpha[: n - 1])
        forms[column] = energy * float(vectors[0] ** 2 @ (np.log(values) / values))
    return forms


@kernel
def advance(
    alpha: Floats, step: Floats, Q_step: Floats, X: Floats, residual: Floats, rho: Floats
) -> None:
    """Go alpha steps: move X and the residual, and add up the squares of the latter in rho."""
    for row in range(X.shape[0]):
        for column in range(X.shape[1]):
            X[row, column] += alpha[column] * step[row, column]
            residual[row, column] -= alpha[column] * Q_step[row, column]
            rho[column] += residual[row, column] * residual[row, column]


@kernel
def redirect(beta: Floats, residual: Floats, step: Floats) -> None:
    """Set step to residual + beta·step."""
    for row in range(step.shape[0]):
        for column in range(step.shape[1]):
            step[row, column] = residual[row, column] + beta[column] * step[row, column]


@kernel
def random_sides(
    i: Ints, j: Ints, roots: Floats, edge_bits: Ints, root: float, node_bits: Ints, B: Floats
) -> None:
    """BᵀS^{1/2}v₁ + √c·v₂, with one bit of a byte for the sign in each column."""
    for node in range(B.shape[0]):
        for column in range(B.shape[1]):
            B[node, column] = root if (node_bits[node] >> column) & 1 else -root
    for e in range(len(i)):
        for column in range(B.shape[1]):
            v = roots[e] if (edge_bits[e] >> column) & 1 else -roots[e]
            B[i[e], column] += v
            B[j[e], column] -= v


def edge_energy(edges: Ints, X: Floats) -> Floats:
    """‖x_i − x_j‖² for every edge."""
    energy = np.empty(len(edges))
    add_up_differences(edges[:, 0], edges[:, 1], np.ascontiguousarray(X), energy)
    return energy


@kernel
def add_up_differences(i: Ints, j: Ints, X: Floats, energy: Floats) -> None:
    """Set energy to Σ_k (x_ik − x_jk)² for every edge."""
    for e in range(len(i)):
        total = 0.0
        for column in range(X.shape[1]):
            difference = X[i[e], column] - X[j[e], column]
            total += difference * difference
        energy[e] = total
