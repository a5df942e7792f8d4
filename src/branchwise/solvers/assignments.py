"""Soft assignments of points to centres, sparse to machine precision (`prop:R`)."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from .. import _kdtree as kdtree
from .._compat import kernel
from .._memory import Workspace, fits
from .._parallel import ordered, ordered_map
from .._typing import Floats, Ints, Sparse
from ..data.centering import CentredRows
from ..linalg import Apply

# exp(-36) is 2e-16: a centre farther than the nearest one by this many σ (in squared
# distance) has a weight that double precision cannot tell from zero.
CUTOFF = 36.0
# Up to this many centres a matrix of size K×K may be formed and factorised.
MAX_DENSE = 4000
# R of more entries than this is recomputed where it is needed once (48 MiB) ...
MAX_KEPT = 2**22
# ... or in every step of an iterative solver (1.5 GiB).
MAX_KEPT_FOR_STEPS = 2**27
# A product with fewer entries of R than this is left to one thread.
MIN_SHARED = 2**19
# Points that tell how many entries a row of R has.
N_SAMPLED = 256
# Columns that the kernels take at a time, so that they stay in registers.
WIDTH = 4


class Rows(NamedTuple):
    """Some rows of R: row i has weights[indptr[i]:indptr[i + 1]] at those centres."""

    indptr: Ints
    centres: Ints
    weights: Floats
    negative_entropy: float  # Σ r log r

    def matrix(self, n_centers: int) -> Sparse:
        """These rows of R as a sparse array."""
        shape = (len(self.indptr) - 1, n_centers)
        centres = self.centres.view(np.int32)
        return sparse.csr_array((self.weights, centres, self.indptr), shape=shape)

    def __matmul__(self, B: Floats) -> Floats:
        """These rows of R, times B."""
        V = padded(B)
        out = np.empty((len(self.indptr) - 1, V.shape[1]))
        multiply(self.indptr, self.centres, self.weights, V, out)
        return out[:, : B.shape[1]]


@dataclass(frozen=True)
class Assignments:
    """What the updates need of R: its sums over the points, and its products."""

    counts: Floats  # Γ = diag(1ᵀR)
    RtY: Floats  # RᵀY
    negative_entropy: float  # Σ r log r
    overlap: Apply  # B ↦ RᵀR·B
    overlap_matrix: Floats | None  # RᵀR, where forming it is cheaper than applying it
    # Calls a function with every block of rows, as a slice and as rows of R, and with space for
    # what it makes of them, on several threads; None where the rows are elsewhere.
    for_each: Callable[[Callable[[slice, Rows, Workspace], None]], None] | None = None


def assign(
    Z: Floats, centres: kdtree.KDTree, sigma: float, workspace: Workspace | None = None
) -> Rows:
    """r_ik ∝ exp(−‖z_i − c_k‖²/σ) (`op:2-R`); one at the nearest centre when σ = 0.

    Entries that cannot be told from zero beside the largest of their row are left out. What lies
    in a workspace stays until the next assignment.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise import _kdtree as kdtree
    >>> from branchwise.solvers.assignments import assign
    >>> points = np.array([[0.0], [1.0]])
    >>> assign(points, kdtree.build(points), 1.0).weights.round(3)
    array([0.731, 0.269, 0.269, 0.731])
    """
    if sigma == 0:
        nearest = kdtree.nearest(centres, Z)
        return Rows(np.arange(len(Z) + 1), nearest.view(np.uint32), np.ones(len(Z)), 0.0)
    indptr, near, excess = kdtree.within(centres, Z, CUTOFF * sigma, workspace=workspace)
    excess /= -sigma
    weights = (workspace or Workspace()).take("weights", len(excess))[: len(excess)]
    np.exp(excess, out=weights)
    # Unsigned, so that the kernels need not ask whether an index counts from the end.
    return Rows(indptr, near.view(np.uint32), weights, normalise(indptr, excess, weights))


@kernel
def normalise(indptr: Ints, logarithms: Floats, weights: Floats) -> float:
    """Make the weights of each row sum to one; return Σ r log r."""
    negative_entropy = 0.0
    for i in range(len(indptr) - 1):
        total = mean = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += weights[p]
            mean += weights[p] * logarithms[p]
        for p in range(indptr[i], indptr[i + 1]):
            weights[p] /= total
        negative_entropy += mean / total - np.log(total)
    return negative_entropy


def update_assignments(
    Y: CentredRows, Z: Floats, C: Floats, sigma: float, *, sums_only: bool = False
) -> Assignments:
    """Optimal R for given Z and C (`prop:R`), and its products with the data in one pass.

    RᵀR is formed where that is cheaper than applying it, or where nothing but sums is wanted; no
    row of R is kept then.
    """
    n_centers = len(C)
    centres = kdtree.build(C)
    per_row = entries_per_row(Z, centres, sigma)
    forms_matrix = sums_only or prefers_matrix(len(Z), n_centers, Z.shape[1], per_row)
    limit = MAX_KEPT if forms_matrix else MAX_KEPT_FOR_STEPS
    keeps = not sums_only and per_row * len(Z) <= limit and fits(2 * 12 * per_row * len(Z))
    parts = Y.parts(n_centers)

    def blocks(part: slice) -> Iterator[slice]:
        return Y.blocks(part, math.ceil(per_row))

    def accumulate(part: slice) -> tuple[Floats, Floats, Floats | None, float, list[Rows]]:
        counts, RtY = np.zeros(n_centers), np.zeros((n_centers, Y.n_dims))
        RtR = np.zeros((n_centers, n_centers)) if forms_matrix else None
        negative_entropy, kept, workspace = 0.0, [], Workspace()
        for rows in blocks(part):
            R = assign(Z[rows], centres, sigma, None if keeps else workspace)
            negative_entropy += R.negative_entropy
            add_counts(R.centres, R.weights, counts)
            add_sums(R, Y, rows, RtY, RtR, workspace)
            if keeps:
                kept.append(R)
        return counts, RtY, RtR, negative_entropy, kept

    counts, RtY = np.zeros(n_centers), np.zeros((n_centers, Y.n_dims))
    overlap_matrix = np.zeros((n_centers, n_centers)) if forms_matrix else None
    negative_entropy = 0.0
    kept: dict[int, list[Rows]] = {}
    for part, sums in zip(parts, ordered(accumulate, parts, Y.n_jobs), strict=True):
        counts += sums[0]
        RtY += sums[1]
        if overlap_matrix is not None and sums[2] is not None:
            overlap_matrix += sums[2]
        negative_entropy += sums[3]
        kept[part.start] = sums[4]
    if overlap_matrix is not None:
        overlap_matrix += overlap_matrix.T.copy()

    def rows_of(part: slice, workspace: Workspace) -> Iterable[Rows]:
        if keeps:
            return kept[part.start]
        return (assign(Z[rows], centres, sigma, workspace) for rows in blocks(part))

    def overlap(B: Floats) -> Floats:
        if overlap_matrix is not None:
            return overlap_matrix @ B
        V = padded(B)

        def product(part: slice) -> Floats:
            out = np.zeros_like(V)
            for R in rows_of(part, Workspace()):
                add_overlap(R.indptr, R.centres, R.weights, V, out)
            return out

        # To start threads takes longer than a small product.
        n_threads = Y.n_jobs if per_row * len(Z) > MIN_SHARED else 1
        return np.asarray(sum(ordered(product, parts, n_threads)))[:, : B.shape[1]]

    def for_each(function: Callable[[slice, Rows, Workspace], None]) -> None:
        def visit(part: slice) -> None:
            workspace = Workspace()
            for rows, R in zip(blocks(part), rows_of(part, workspace), strict=True):
                function(rows, R, workspace)

        ordered_map(visit, parts, Y.n_jobs)

    return Assignments(counts, RtY, negative_entropy, overlap, overlap_matrix, for_each)


def entries_per_row(Z: Floats, centres: kdtree.KDTree, sigma: float) -> float:
    """How many entries a row of R has, on average over some of them."""
    sample = assign(Z[:: -(-len(Z) // N_SAMPLED)], centres, sigma)
    return len(sample.weights) / (len(sample.indptr) - 1)


def prefers_matrix(n_points: int, n_centers: int, n_components: int, per_row: float) -> bool:
    """Whether forming RᵀR costs less than applying R and Rᵀ in every step of the solver.

    In nanoseconds, as measured: a sparse product adds an entry in 1, a dense one in 1/30; an
    iteration takes about 25 applications of R and Rᵀ to WIDTH columns at a time.
    """
    if n_centers > MAX_DENSE:
        return False
    form = n_points * min(per_row**2, n_centers**2 / 30) + n_centers**3 / 50
    return form < 25 * 4 * n_points * per_row * np.ceil((n_components + 2) / WIDTH)


def add_sums(
    R: Rows, Y: CentredRows, rows: slice, RtY: Floats, RtR: Floats | None, workspace: Workspace
) -> None:
    """Add RᵀY of some rows to RtY, and to RtR, if there is one, a half of RᵀR.

    The other half is its transpose.
    """
    n_rows, n_centers = len(R.indptr) - 1, len(RtY)
    if RtR is not None and len(R.weights) > n_rows * n_centers / 4:
        dense = R.matrix(n_centers).toarray()
        RtY += Y.weigh(dense, rows)
        RtR += dense.T @ dense / 2
        return
    if Y.is_sparse:
        RtY += Y.weigh(R.matrix(n_centers), rows)
    else:
        add_weighted(R.indptr, R.centres, R.weights, Y.dense(rows, workspace), RtY)
    if RtR is not None:
        add_products(R.indptr, R.centres, R.weights, RtR)


def padded(B: Floats) -> Floats:
    """B with columns of zeros up to a multiple of WIDTH."""
    V = np.zeros((len(B), -(-B.shape[1] // WIDTH) * WIDTH))
    V[:, : B.shape[1]] = B
    return V


@kernel
def add_counts(centres: Ints, weights: Floats, out: Floats) -> None:
    """Add Rᵀ1."""
    for p in range(len(centres)):
        out[centres[p]] += weights[p]


@kernel
def add_weighted(indptr: Ints, centres: Ints, weights: Floats, Y: Floats, out: Floats) -> None:
    """Add RᵀY."""
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            k, r = centres[p], weights[p]
            for j in range(Y.shape[1]):
                out[k, j] += r * Y[i, j]


@kernel
def add_products(indptr: Ints, centres: Ints, weights: Floats, out: Floats) -> None:
    """Add half of RᵀR: each pair of centres in one order, and half of the diagonal."""
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            k, r = centres[p], weights[p]
            out[k, k] += r * r / 2
            for q in range(p + 1, indptr[i + 1]):
                out[k, centres[q]] += r * weights[q]


@kernel
def row_product(
    begin: int, end: int, centres: Ints, weights: Floats, V: Floats, j: int
) -> tuple[float, float, float, float]:
    """One row of R times WIDTH columns of V, from column j on."""
    a = b = c = d = 0.0
    for p in range(begin, end):
        k, r = centres[p], weights[p]
        a += r * V[k, j]
        b += r * V[k, j + 1]
        c += r * V[k, j + 2]
        d += r * V[k, j + 3]
    return a, b, c, d


@kernel
def multiply(indptr: Ints, centres: Ints, weights: Floats, V: Floats, out: Floats) -> None:
    """Set out to RV."""
    for i in range(len(indptr) - 1):
        for j in range(0, V.shape[1], WIDTH):
            product = row_product(indptr[i], indptr[i + 1], centres, weights, V, j)
            for m in range(WIDTH):
                out[i, j + m] = product[m]


@kernel
def add_overlap(indptr: Ints, centres: Ints, weights: Floats, V: Floats, out: Floats) -> None:
    """Add RᵀRV."""
    for i in range(len(indptr) - 1):
        for j in range(0, V.shape[1], WIDTH):
            a, b, c, d = row_product(indptr[i], indptr[i + 1], centres, weights, V, j)
            for p in range(indptr[i], indptr[i + 1]):
                k, r = centres[p], weights[p]
                out[k, j] += r * a
                out[k, j + 1] += r * b
                out[k, j + 2] += r * c
                out[k, j + 3] += r * d
