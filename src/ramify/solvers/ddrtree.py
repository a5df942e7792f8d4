"""DDRTree: a tree on soft cluster centres (Algorithm 2, `op:dimred-kmeans-relax-tree`)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from .._typing import Floats, Ints
from ..graph import euclidean_spanning_tree, laplacian, tree_solver
from ..linalg import N_GUARDS, block_cg, top_eigenvectors
from ..rows import CentredRows
from .assignments import MAX_DENSE, Assignments, Rows, update_assignments
from .record import Callback, TreeResult, Watch


def ddrtree(
    Y: CentredRows,
    W: Floats,
    C: Floats | None,
    *,
    lam: float,
    gamma: float,
    sigma: float,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
) -> TreeResult:
    """Algorithm 2: minimise over W, Z, C, a tree S and assignments R.

        ‖Y − ZWᵀ‖² + λ·Tr(CᵀLC) + γ·[Σ r_ik‖z_i − c_k‖² + σ·Σ r_ik log r_ik]

    Parameters
    ----------
    Y : CentredRows
    W : array of shape (n_dims, d)
        Orthonormal start, the principal axes; Z starts at YW.
    C : array of shape (K, d), or None
        Starting centres; None means K = N and C = Z.
    lam, gamma : float
        Weights of the tree (λ ≥ 0) and of the clusters (γ > 0).
    sigma : float
        Width of the soft assignments; 0 assigns each point to its nearest centre, which is
        the hard form `op:dimred-kmeans-tree`.
    max_iter, tol, callback
        See `Watch`.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.rows import CentredRows
    >>> from ramify.solvers.ddrtree import ddrtree
    >>> Y = CentredRows(np.random.default_rng(0).normal(size=(20, 3)))
    >>> result = ddrtree(Y, np.eye(3)[:, :2], None, lam=1.0, gamma=10.0, sigma=0.1,
    ...                  max_iter=5, tol=0)
    >>> len(result.edges), bool((np.diff(result.history) <= 1e-10).all())
    (19, True)
    """
    axes = Axes(W, None)
    Z = Y.project(W)
    C = Z.copy() if C is None else C
    watch = Watch(scale=Y.energy, tol=tol, max_iter=max_iter, callback=callback)
    for _ in range(max_iter):
        edges = euclidean_spanning_tree(C)
        R = update_assignments(Y, Z, C, sigma)
        axes, Z, C, captured = update_embedding(Y, axes, C, R, edges, lam, gamma)
        if watch.has_converged(Y.energy - captured + gamma * sigma * R.negative_entropy):
            break
    if watch.converged:
        edges = euclidean_spanning_tree(C)
    W = axes.block[:, : W.shape[1]]
    return TreeResult(W, Z, C, edges, watch.history, watch.change, watch.converged)


def working_bytes(n_rows: int, n_dims: int, n_centers: int, d: int, n_jobs: int) -> int:
    """Memory that a fit takes at least, besides the data.

    The sums RᵀY and RᵀR once for each thread, once in waiting and once in total; some ten
    arrays of d columns, and guards, for points and centres.
    """
    sums = n_centers * n_dims + (n_centers**2 if n_centers <= MAX_DENSE else 0)
    return 8 * (sums * (n_jobs + 2) + 10 * (n_rows + n_centers) * (d + N_GUARDS))


@dataclass(frozen=True)
class Axes:
    """W, followed by the guards of the eigensolver, and M⁻¹(RᵀY) times them if known.

    Both are where the next iteration starts from.
    """

    block: Floats
    solved: Floats | None


def update_embedding(
    Y: CentredRows,
    axes: Axes,
    C: Floats,
    R: Assignments,
    edges: Ints,
    lam: float,
    gamma: float,
) -> tuple[Axes, Floats, Floats, float]:
    """Minimiser over W, Z and C for fixed S and R (`prop:ddr-WZY`), without the N×N matrix Q.

    With P = λ/γ·L + Γ and M = (1+γ)/γ·P − RᵀR (`lemma:psd`),

        YᵀQY = [YᵀY + (RᵀY)ᵀM⁻¹(RᵀY)]/(1+γ),   Z = [YW + R·A]/(1+γ),   C = P⁻¹RᵀZ = A/γ

    where A = M⁻¹(RᵀY)W; the last equation holds because RᵀR·A = (1+γ)/γ·PA − (RᵀY)W. At the
    minimum the quadratic part of the objective is ‖Y‖² − Tr(WᵀYᵀQYW); the trace is
    the fourth value returned.
    """
    d = C.shape[1]
    # A centre that nobody uses, with no tree to hold it, stays where it is in the data space.
    unused = (R.counts == 0) & (lam == 0)
    solve_M = centre_solver(R, R.counts + unused, edges, lam, gamma)
    solved: list[Floats] = []

    def apply(V: Floats, accuracy: float) -> Floats:
        guess = axes.solved if not solved else None
        solved.append(solve_M(R.RtY @ V, guess, accuracy))
        return (Y.apply_gram(V) + R.RtY.T @ solved[-1]) / (1 + gamma)

    values, block, coefficients = top_eigenvectors(apply, axes.block, d)
    A_block = np.hstack(solved) @ coefficients
    W, A = block[:, :d], A_block[:, :d]  # A = M⁻¹(RᵀY)W
    Z = np.empty((Y.n_rows, d))

    def place(rows: slice, R_rows: Rows) -> None:
        Z[rows] = (Y.project(W, rows) + R_rows @ A) / (1 + gamma)

    R.for_each(place)
    held = unused[:, np.newaxis] * (C @ (axes.block[:, :d].T @ W))
    return Axes(block, A_block), Z, A / gamma + held, float(values.sum())


def centre_solver(
    R: Assignments, counts: Floats, edges: Ints, lam: float, gamma: float
) -> Callable[[Floats, Floats | None, float], Floats]:
    """Map (B, guess, accuracy) ↦ M⁻¹B.

    Rows of R sum to one, hence 0 ⪯ Γ − RᵀR ⪯ Γ. With Γ in the place of RᵀR, M becomes
    T = (1+γ)/γ·λ/γ·L + Γ/γ, a tree plus a diagonal that is solved exactly. The eigenvalues of
    T⁻¹M lie in [1, 1+γ] whatever the data, most of them near 1, because RᵀR averages over
    neighbours: conjugate gradients need few steps.
    """
    n_centers, diagonal = len(counts), (1 + gamma) / gamma * counts
    weight = (1 + gamma) / gamma * lam / gamma
    if R.overlap_matrix is not None:
        degree = np.bincount(edges.ravel(), minlength=n_centers)
        M = np.diag(diagonal + weight * degree) - R.overlap_matrix
        i, j = edges.T
        M[i, j] -= weight
        M[j, i] -= weight
        factor = linalg.cho_factor(M, overwrite_a=True)
        return lambda B, guess, accuracy: linalg.cho_solve(factor, B)
    tree = weight * laplacian(edges, n_centers) + sparse.diags_array(diagonal)
    precondition = tree_solver(edges, weight, counts / gamma)

    def apply_M(V: Floats) -> Floats:
        return tree @ V - R.overlap(V)

    return lambda B, guess, accuracy: block_cg(apply_M, B, precondition, guess=guess, rtol=accuracy)
