"""Maximum variance unfolding by low-rank factors and an augmented Lagrangian.

With K = RRᵀ, nodes of mass m (N in all), bars e = (i, j) of squared length φ_e and multipliers w:

    max Σ_i m_i·‖r_i − r̄‖²   subject to   ‖r_i − r_j‖² = φ_e for all bars     (`op:mvu`)
    min Σ_e w_e·φ_e          subject to   L(w) ⪰ J = diag(m) − mmᵀ/N           (`op:dual-mvu`)

where r̄ = Σ m_i·r_i/N. At the optimum L(w)R = JR: the bars' tensions balance the pull outwards.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from branchwise._compat import kernel
from branchwise._typing import Floats, Ints
from branchwise.graph import laplacian

from ._mvu_graph import Framework

# Pairs that L-BFGS remembers, and its iterations between two updates of the multipliers.
MEMORY, INNER = 8, 100

# Stiffness of the bars at the start, in units of the mean tension of the data.
STIFFNESS = 100.0

# A bar shorter than the median is stiffer per relative violation, by at most this factor.
MAX_STIFFER = 4.0

# The columns that hold this part of the variance have a preconditioner of their own.
LEADING = 0.97

# Columns with less than this part of the variance are dropped, but for a few.
NEGLIGIBLE, N_SPARE = 1e-12, 4

Solve: TypeAlias = Callable[[Floats], Floats]


class Unfolding(NamedTuple):
    """Where the solver ended."""

    R: Floats
    """Centred factor of the kernel, columns in descending order of variance."""
    w: Floats
    """Multipliers of the bars."""
    w_mean: Floats
    """Their mean over the second half of the updates: noise of unfinished minimisations cancels."""
    violation: Floats
    """(‖r_i − r_j‖² − φ)/φ of each bar."""
    residual: float
    """‖L(w)R − JR‖/‖JR‖."""
    change: float
    """The largest of residual, root mean squared violation and |Σ w·φ − variance|/variance."""
    n_iter: int
    converged: bool


@kernel
def bar_products(R: Floats, D: Floats, edges: Ints, cross: Floats, square: Floats) -> None:
    """(r_i − r_j)·(d_i − d_j) and ‖d_i − d_j‖² of every bar; four sums, so that they vectorise."""
    whole = R.shape[1] - R.shape[1] % 4
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        c0 = c1 = c2 = c3 = 0.0
        s0 = s1 = s2 = s3 = 0.0
        for k in range(0, whole, 4):
            d0, d1 = D[i, k] - D[j, k], D[i, k + 1] - D[j, k + 1]
            d2, d3 = D[i, k + 2] - D[j, k + 2], D[i, k + 3] - D[j, k + 3]
            c0 += d0 * (R[i, k] - R[j, k])
            c1 += d1 * (R[i, k + 1] - R[j, k + 1])
            c2 += d2 * (R[i, k + 2] - R[j, k + 2])
            c3 += d3 * (R[i, k + 3] - R[j, k + 3])
            s0 += d0 * d0
            s1 += d1 * d1
            s2 += d2 * d2
            s3 += d3 * d3
        for k in range(whole, R.shape[1]):
            d0 = D[i, k] - D[j, k]
            c0 += d0 * (R[i, k] - R[j, k])
            s0 += d0 * d0
        cross[e] = (c0 + c1) + (c2 + c3)
        square[e] = (s0 + s1) + (s2 + s3)


class Bars:
    """A framework with what its products need: the pattern of its Laplacian, and room."""

    def __init__(self, bars: Framework):
        self.mass, self.phi = bars.mass, bars.phi
        self.edges = np.ascontiguousarray(bars.edges, dtype=np.int32)
        i, j = self.edges.T
        n_nodes, n_bars = len(self.mass), len(self.phi)
        index = np.tile(np.arange(n_bars), 2)
        ends = (np.concatenate([i, j]), np.concatenate([j, i]))
        self._pattern = sparse.csr_array((index + 1, ends), shape=(n_nodes, n_nodes))
        self._pattern.sort_indices()  # now, or SciPy may do it later and move the entries
        self._source = self._pattern.data - 1
        self._pattern = self._pattern.astype(np.float64)

    def products(self, R: Floats, D: Floats) -> tuple[Floats, Floats]:
        """(r_i − r_j)·(d_i − d_j) and ‖d_i − d_j‖² of every bar."""
        cross, square = np.empty(len(self.phi)), np.empty(len(self.phi))
        bar_products(R, D, self.edges, cross, square)
        return cross, square

    def laplacian_times(self, w: Floats, R: Floats) -> Floats:
        """L(w)·R."""
        self._pattern.data[:] = w[self._source]
        degree = np.asarray(self._pattern.sum(axis=1))
        return np.asarray(degree[:, np.newaxis] * R - self._pattern @ R)

    def pull(self, R: Floats) -> Floats:
        """J·R: the masses times the distances from their centre."""
        centre = self.mass @ R / self.mass.sum()
        return self.mass[:, np.newaxis] * (R - centre)


def unfold(bars: Framework, start: Floats, *, max_iter: int, tol: float) -> Unfolding:
    """Maximise the variance of the nodes while all bars keep their length.

    The augmented Lagrangian −Tr(RᵀJR) + Σ w_e·c_e + σ/2·Σ s_e·c_e², where c_e = ‖r_i − r_j‖² − φ_e,
    is minimised over R by L-BFGS; then w ← w + σ·s·c. It is a quartic along any line, whose first
    minimum is the step.

    Parameters
    ----------
    bars : Framework
    start : array of shape (n_nodes, n_columns)
        Where to begin; not more columns are used.
    max_iter : int
        Most iterations of L-BFGS in all.
    tol : float
        Stop when residual, root mean squared relative violation and relative difference
        between dual and primal objective are at most this.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines._mvu_graph import framework
    >>> from branchwise_paper.baselines._mvu_solver import unfold
    >>> corner = np.array([[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    >>> bars = framework(corner, np.array([[0, 1], [1, 2]]))
    >>> found = unfold(bars, corner, max_iter=500, tol=1e-9)
    >>> float((found.R**2).sum().round(6)), found.w.round(6)
    (2.0, array([1., 1.]))
    """
    model = Bars(bars)
    phi = model.phi
    R, w = np.ascontiguousarray(start), np.zeros(len(phi))
    s = np.minimum(np.sqrt(np.median(phi) / phi), MAX_STIFFER) / phi
    variance = float(np.vdot(start, model.pull(start)))
    sigma = STIFFNESS * variance / phi.sum()
    c = model.products(R, R)[1] - phi
    history: list[Floats] = []
    spread, change, residual, n_iter = np.inf, np.inf, np.inf, 0
    while n_iter < max_iter and change > tol:
        R = principal(R, model)
        accuracy = min(0.1, max(0.3 * spread, 0.3 * tol))
        steps = min(INNER, max_iter - n_iter)
        R, c, residual, used = minimise(model, R, w, sigma, s, accuracy, steps)
        n_iter += used
        w = w + sigma * s * c
        history.append(w)
        variance = float(np.vdot(R, model.pull(R)))
        before, spread = spread, float(np.sqrt(np.mean((c / phi) ** 2)))
        change = max(spread, residual, abs(float(w @ phi) - variance) / variance)
        if residual <= accuracy and spread > 0.5 * before:
            sigma *= 2.0
    R = principal(R, model)
    w_mean = np.mean(history[len(history) // 2 :], axis=0)
    return Unfolding(R, w, w_mean, c / phi, residual, change, n_iter, change <= tol)


def principal(R: Floats, model: Bars) -> Floats:
    """R centred, in coordinates of descending variance, without most of those that have none."""
    centred = R - model.mass @ R / model.mass.sum()
    values, axes = np.linalg.eigh(centred.T @ (model.mass[:, np.newaxis] * centred))
    n_kept = int((values > NEGLIGIBLE * values.sum()).sum()) + N_SPARE
    return np.ascontiguousarray(centred @ axes[:, : -n_kept - 1 : -1])


def minimise(
    model: Bars, R: Floats, w: Floats, sigma: float, s: Floats, accuracy: float, max_iter: int
) -> tuple[Floats, Floats, float, int]:
    """Minimise the augmented Lagrangian over R by preconditioned L-BFGS.

    Returns R, the violations c, ‖L(y)R − JR‖/‖JR‖ for y = w + σ·s·c, and the number of steps.
    """
    c = model.products(R, R)[1] - model.phi
    solve = preconditioner(model, R, w + sigma * s * c, 2 * sigma * s)
    pairs: list[tuple[Floats, Floats, float]] = []
    pull = model.pull(R)
    gradient = 2 * (model.laplacian_times(w + sigma * s * c, R) - pull)
    for step in range(max_iter + 1):
        residual = float(np.linalg.norm(gradient) / (2 * np.linalg.norm(pull)))
        if residual <= accuracy or step == max_iter:
            break
        D = -two_loops(gradient, pairs, solve)
        cross, square = model.products(R, D)
        cross *= 2
        slope = float(np.vdot(gradient, D))
        bend = float(w @ square - np.vdot(D, model.pull(D)))
        bend += sigma / 2 * float(s @ (cross * cross + 2 * c * square))
        t = first_minimum(
            slope, bend, sigma * float(s @ (cross * square)), sigma / 2 * float(s @ square**2)
        )
        if t == 0.0:
            break
        D *= t
        R = R + D
        c = c + t * cross + t * t * square
        pull = model.pull(R)
        after = 2 * (model.laplacian_times(w + sigma * s * c, R) - pull)
        # A step to a minimum along the line: s·y = −t·slope, positive.
        pairs = [*pairs[-MEMORY + 1 :], (D, after - gradient, -1 / (t * slope))]
        gradient = after
    return R, c, residual, step


def first_minimum(c1: float, c2: float, c3: float, c4: float) -> float:
    """The first minimum at t > 0 of c1·t + c2·t² + c3·t³ + c4·t⁴, or 0.

    Examples
    --------
    >>> from branchwise_paper.baselines._mvu_solver import first_minimum
    >>> float(round(first_minimum(-4.0, 0.0, 0.0, 1.0), 6))
    1.0
    >>> first_minimum(1.0, 1.0, 0.0, 1.0)
    0.0
    """
    if not (c1 < 0 and c4 > 0 and np.isfinite([c2, c3, c4]).all()):
        return 0.0
    roots = np.roots([4 * c4, 3 * c3, 2 * c2, c1])
    real = roots.real[(np.abs(roots.imag) <= 1e-8 * np.abs(roots)) & (roots.real > 0)]
    return float(real.min(initial=np.inf)) if len(real) else 0.0


def two_loops(gradient: Floats, pairs: list[tuple[Floats, Floats, float]], solve: Solve) -> Floats:
    """The inverse Hessian of L-BFGS times the gradient."""
    v, weights = gradient.copy(), []
    for s, y, rho in reversed(pairs):
        weights.append(rho * float(np.vdot(s, v)))
        v -= weights[-1] * y
    v = solve(v)
    for (s, y, rho), weight in zip(pairs, reversed(weights), strict=True):
        v += (weight - rho * float(np.vdot(y, v))) * s
    return v


def preconditioner(model: Bars, R: Floats, y: Floats, stiffness: Floats) -> Solve:
    """Solves with Laplacians that stand for the Hessian, one for each of two groups of columns.

    The Hessian is twice L(y) − J in each column, plus 4σ·s·(r_i − r_j)(r_i − r_j)ᵀ on each bar. The
    second term is spread evenly over the columns of a group. It is stiff in the columns that hold
    the variance, in the others not, which would hardly move with one Laplacian for all. Single
    precision will do.
    """
    energy = np.cumsum(np.einsum("ij,ij,i->j", R, R, model.mass))
    cut = int(np.searchsorted(energy, LEADING * energy[-1])) + 1
    groups = [slice(0, cut), slice(cut, R.shape[1])]
    factors = []
    for group in groups:
        columns = np.ascontiguousarray(R[:, group])
        share = model.products(columns, columns)[1] / max(columns.shape[1], 1)
        weight = np.maximum(y, 1e-3 * stiffness * model.phi) + stiffness * share
        factors.append(cholesky(model, weight))

    def solve(G: Floats) -> Floats:
        single = G.astype(np.float32)
        solved = [
            lapack.spotrs(factor, np.asfortranarray(single[:, group]), lower=1)[0]
            for factor, group in zip(factors, groups, strict=True)
            if group.start < single.shape[1]
        ]
        return np.hstack(solved, dtype=np.float64)

    return solve


def cholesky(model: Bars, weight: Floats) -> Floats:
    """Single-precision factor of twice a Laplacian, made regular along the constant vector."""
    n_nodes = len(model.mass)
    L = 2 * laplacian(model.edges, n_nodes, weight).toarray()
    diagonal = L.diagonal().copy()
    L += diagonal.mean() / n_nodes
    ridge, info = 1e-7, 1
    while info:
        ridge *= 10
        L[np.diag_indices(n_nodes)] = diagonal * (1 + ridge) + diagonal.mean() / n_nodes
        factor, info = lapack.spotrf(np.asfortranarray(L, dtype=np.float32), lower=1)
    return np.asarray(factor)
