"""DDRTree: a tree on soft cluster centres (Algorithm 2, `op:dimred-kmeans-relax-tree`)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

from .._typing import Floats, Ints, Matrix, Sparse
from ..graph import euclidean_spanning_tree, laplacian, tree_solver
from ..linalg import Apply, block_cg, top_eigenvectors
from ..rows import CentredRows
from .record import Callback, TreeResult, Watch

# exp(-36) is 2e-16: a centre farther than the nearest one by this many σ (in squared
# distance) has a weight that double precision cannot tell from zero.
CUTOFF = 36.0
# Up to this many centres a matrix of size K×K may be formed and factorised.
MAX_DENSE = 4000
# Up to this many centres all distances are computed; beyond, a k-d tree finds the near ones.
MAX_CDIST = 4000
# Up to this many centres assignments are dense.
MIN_SPARSE = 64
# Assignments of more than this many entries are recomputed instead of kept (256 MiB).
MAX_KEPT = 2**25


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


@dataclass(frozen=True)
class Assignments:
    """What the updates need of R: its sums over the points, and R itself block by block."""

    counts: Floats  # Γ = diag(1ᵀR)
    RtY: Floats  # RᵀY
    negative_entropy: float  # Σ r log r
    overlap: Apply  # B ↦ RᵀR·B
    overlap_matrix: Matrix | None  # RᵀR, where forming it is cheaper than applying it
    blocks: list[slice]
    block: Callable[[slice], Matrix]


def update_assignments(Y: CentredRows, Z: Floats, C: Floats, sigma: float) -> Assignments:
    """Optimal R for given Z and C (`prop:R`), and its products with the data in one pass."""
    n_centers = len(C)
    kdtree = KDTree(C) if n_centers > MAX_CDIST else None
    blocks = list(Y.blocks(MIN_SPARSE if kdtree else n_centers))
    kept: dict[int, Matrix] = {}
    counts, RtY = np.zeros(n_centers), np.zeros((n_centers, Y.n_dims))
    overlap_matrix: Matrix | None = None
    negative_entropy, n_kept, forms_matrix = 0.0, 0, False
    for rows in blocks:
        R = assign(Z[rows], C, sigma, kdtree)
        if rows.start == 0:
            per_row = R.size / (rows.stop - rows.start)
            forms_matrix = prefers_matrix(len(Z), n_centers, Z.shape[1], per_row)
        if forms_matrix:
            product = R.T @ R
            overlap_matrix = product if overlap_matrix is None else overlap_matrix + product
        counts += np.asarray(R.sum(axis=0)).ravel()
        RtY += Y.weigh(R, rows)
        weights = R.data if sparse.issparse(R) else R[R > 0]
        negative_entropy += float(weights @ np.log(weights))
        n_kept += R.size
        if n_kept <= MAX_KEPT:
            kept[rows.start] = R

    def block(rows: slice) -> Matrix:
        return kept[rows.start] if rows.start in kept else assign(Z[rows], C, sigma, kdtree)

    def overlap(B: Floats) -> Floats:
        if overlap_matrix is not None:
            return np.asarray(overlap_matrix @ B)
        return np.asarray(sum(R.T @ (R @ B) for R in map(block, blocks)))

    return Assignments(counts, RtY, negative_entropy, overlap, overlap_matrix, blocks, block)


def prefers_matrix(n_points: int, n_centers: int, n_components: int, per_row: float) -> bool:
    """Whether forming RᵀR costs less than applying R and Rᵀ in every step of the solver.

    Counted in multiplications: a dense product does about 25 in the time in which a sparse
    one does one; an iteration takes some 100 applications to n_components + 2 columns.
    """
    if n_centers > MAX_DENSE:
        return False
    form = n_points * n_centers * min(n_centers / 25, per_row)
    return form + n_centers**3 / 75 < 200 * (n_components + 2) * n_points * per_row


def assign(Z: Floats, C: Floats, sigma: float, kdtree: KDTree | None = None) -> Matrix:
    """r_ik ∝ exp(−‖z_i − c_k‖²/σ) (`op:2-R`); one at the nearest centre when σ = 0.

    Entries that cannot be told from zero beside the largest of their row are left out of
    a sparse result. It is dense where few would be left out. With a k-d tree of the
    centres, distances to far centres are not computed at all.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.solvers.ddrtree import assign
    >>> assign(np.array([[0.0], [1.0]]), np.array([[0.0], [1.0]]), 1.0).round(3)
    array([[0.731, 0.269],
           [0.269, 0.731]])
    """
    if sigma == 0:
        nearest = (kdtree or KDTree(C)).query(Z)[1]
        ones, rows = np.ones(len(Z)), np.arange(len(Z) + 1)
        return sparse.csr_array((ones, nearest, rows), shape=(len(Z), len(C)))
    if kdtree is not None:
        return assign_sparse(Z, kdtree, sigma)
    excess = cdist(Z, C, "sqeuclidean")
    excess -= excess.min(axis=1, keepdims=True)
    excess /= sigma
    counts = np.count_nonzero(excess <= CUTOFF, axis=1)
    if counts.sum() > excess.size / 4 or len(C) <= MIN_SPARSE:
        R = np.exp(-excess)
        return R / R.sum(axis=1, keepdims=True)
    flat = np.flatnonzero(excess <= CUTOFF)
    starts = np.concatenate([[0], np.cumsum(counts)])
    weights = np.exp(-excess.ravel()[flat])
    weights /= np.repeat(np.add.reduceat(weights, starts[:-1]), counts)
    return sparse.csr_array((weights, flat % len(C), starts), shape=(len(Z), len(C)))


def assign_sparse(Z: Floats, kdtree: KDTree, sigma: float) -> Sparse:
    """The rows of R with entries below exp(−36) of the row's largest left out."""
    n_points, n_centers = len(Z), kdtree.n
    todo = np.arange(n_points)
    parts: list[tuple[Ints, Ints, Floats]] = []
    length = min(16, n_centers)
    while len(todo):
        distance, index = kdtree.query(Z[todo], k=np.arange(1, length + 1))
        excess = (distance**2 - distance[:, :1] ** 2) / sigma
        done = (excess[:, -1] > CUTOFF) | (length == n_centers)
        kept = (excess <= CUTOFF) & done[:, np.newaxis]
        R = np.where(kept, np.exp(-excess), 0.0)
        R = R / np.maximum(R.sum(axis=1, keepdims=True), 1.0)
        row, column = np.nonzero(kept)
        parts.append((todo[row], index[row, column], R[row, column]))
        todo = todo[~done]
        length = min(2 * length, n_centers)
    row, column, value = (np.concatenate(part) for part in zip(*parts, strict=True))
    return sparse.csr_array((value, (row, column)), shape=(n_points, n_centers))


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

        YᵀQY = [YᵀY + (RᵀY)ᵀM⁻¹(RᵀY)]/(1+γ),   Z = [YW + R·M⁻¹(RᵀY)W]/(1+γ),   C = P⁻¹RᵀZ.

    At the minimum the quadratic part of the objective is ‖Y‖² − Tr(WᵀYᵀQYW); the trace is
    the fourth value returned.
    """
    d = C.shape[1]
    # A centre that nobody uses, with no tree to hold it, stays where it is in the data space.
    unused = (R.counts == 0) & (lam == 0)
    solve_P, solve_M = centre_solvers(R, R.counts + unused, edges, lam, gamma)
    solved: list[Floats] = []

    def apply(V: Floats) -> Floats:
        guess = axes.solved if not solved else None
        solved.append(solve_M(R.RtY @ V, guess))
        return (Y.apply_gram(V) + R.RtY.T @ solved[-1]) / (1 + gamma)

    values, block, coefficients = top_eigenvectors(apply, axes.block, d)
    A_block = np.hstack(solved) @ coefficients
    W, A = block[:, :d], A_block[:, :d]  # A = M⁻¹(RᵀY)W
    Z = np.empty((Y.n_rows, d))
    for rows in R.blocks:
        Z[rows] = (Y.project(W, rows) + R.block(rows) @ A) / (1 + gamma)
    RtZ = (R.RtY @ W + R.overlap(A)) / (1 + gamma)
    held = unused[:, np.newaxis] * (C @ (axes.block[:, :d].T @ W))
    return Axes(block, A_block), Z, solve_P(RtZ + held), float(values.sum())


def centre_solvers(
    R: Assignments, counts: Floats, edges: Ints, lam: float, gamma: float
) -> tuple[Apply, Callable[[Floats, Floats | None], Floats]]:
    """Maps B ↦ P⁻¹B and (B, guess) ↦ M⁻¹B.

    RᵀR ⪯ Γ ⪯ P, so the eigenvalues of P⁻¹M lie in [1/γ, (1+γ)/γ] whatever the data: with P, a
    tree plus a diagonal that is solved exactly, conjugate gradients need few steps.
    """
    solve_P = tree_solver(edges, lam / gamma, counts)
    P = lam / gamma * laplacian(edges, len(counts)) + sparse.diags_array(counts)
    weighted = (1 + gamma) / gamma * P
    if R.overlap_matrix is None:

        def apply_M(V: Floats) -> Floats:
            return weighted @ V - R.overlap(V)

        return solve_P, lambda B, guess: block_cg(apply_M, B, solve_P, guess=guess)
    M = weighted.toarray() - R.overlap_matrix
    factor = linalg.cho_factor(M, overwrite_a=True)
    return solve_P, lambda B, guess: linalg.cho_solve(factor, B)
