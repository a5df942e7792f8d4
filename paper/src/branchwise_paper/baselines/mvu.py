"""Maximum variance unfolding by low-rank factors and an augmented Lagrangian.

With K = RRᵀ, nodes of mass m (N in all), bars e = (i, j) of squared length φ_e and multipliers w:

    max Σ_i m_i·‖r_i − r̄‖²   subject to   ‖r_i − r_j‖² = φ_e for all bars     (`op:mvu`)
    min Σ_e w_e·φ_e          subject to   L(w) ⪰ J = diag(m) − mmᵀ/N           (`op:dual-mvu`)

where r̄ = Σ m_i·r_i/N. At the optimum L(w)R = JR: the bars' tensions balance the pull outwards.
"""

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from scipy.linalg import lapack
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from branchwise._compat import Interval, kernel
from branchwise._typing import Floats, Ints
from branchwise.graph import adjacency, laplacian, squared_distances
from branchwise.linalg import column_signs

from ._base import Baseline
from .spectral import connected_neighbors


class Framework(NamedTuple):
    """Nodes with masses, and bars of given length between them."""

    node: Ints
    """The node of each sample; copies that an edge of length zero joined share one."""
    mass: Floats
    """The number of samples of each node."""
    edges: Ints
    phi: Floats
    """Squared lengths of the edges, all positive."""
    edge: Ints
    """Which of the edges between samples they are."""


def framework(Y: Floats, edges: Ints) -> Framework:
    """Nodes and bars of a graph between samples.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.mvu import framework
    >>> bars = framework(np.array([[0.0], [0.0], [2.0]]), np.array([[0, 1], [0, 2], [1, 2]]))
    >>> bars.mass, bars.edges.tolist(), bars.phi
    (array([2., 1.]), [[0, 1]], array([4.]))
    """
    phi = squared_distances(Y, edges)
    # Shorter than what rounding leaves of the distance between two copies.
    none = phi <= (1e-14 * np.abs(Y).max(initial=0.0)) ** 2 * Y.shape[1]
    node = connected_components(adjacency(edges[none], len(Y)), directed=False)[1]
    ends = np.sort(node[edges[~none]], axis=1)
    ends, first = np.unique(ends, axis=0, return_index=True)
    proper = ends[:, 0] < ends[:, 1]
    edge = np.flatnonzero(~none)[first][proper]
    mass = np.bincount(node).astype(np.float64)
    return Framework(node, mass, ends[proper], phi[edge], edge)


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
    >>> from branchwise_paper.baselines.mvu import framework
    >>> from branchwise_paper.baselines.mvu import unfold
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
    >>> from branchwise_paper.baselines.mvu import first_minimum
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


# Parts of the negative multipliers to take away.
PARTS = (1.0, 0.3, 0.1, 0.03, 0.01)


def dual_feasible(bars: Framework, candidates: list[Floats]) -> Floats:
    """The best point of the dual that some multipliers lead to.

    If μ is the smallest value of xᵀL(w)x/xᵀJx over the x that are not constant, and positive, w/μ
    is feasible for the dual, and Σ w·φ/μ is an upper bound on the variance of any unfolding.
    Multipliers of either sign that are not quite optimal may have a negative μ. Without their
    negative part it is positive; to take away a few percents of that part is mostly enough, and
    costs the bound much less. The last candidate is tried in that way, too.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.mvu import dual_feasible
    >>> from branchwise_paper.baselines.mvu import framework
    >>> bars = framework(np.arange(3.0)[:, np.newaxis], np.array([[0, 1], [1, 2]]))
    >>> dual_feasible(bars, [np.array([5.0, 5.0])]).round(6)
    array([1., 1.])
    """
    w = candidates[-1]
    # Bars without tension hold nothing together, and the graph of the others may fall apart.
    taut = np.maximum(w, 1e-3 * (np.abs(w).mean() or 1.0))
    blends = [w + part * (taut - w) for part in PARTS]
    tried = [(w, smallest_ratio(bars, w)) for w in candidates + blends]
    return min((w / mu for w, mu in tried if mu > 0), key=lambda w: float(w @ bars.phi))


def smallest_ratio(bars: Framework, w: Floats) -> float:
    """The smallest xᵀL(w)x/xᵀJx, which is λ_{N−1}(L) where all masses are one.

    Found by Lanczos iterations on the inverse of a matrix shifted to be barely positive definite,
    which its Cholesky factor proves it to be.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.mvu import smallest_ratio
    >>> from branchwise_paper.baselines.mvu import framework
    >>> bars = framework(np.arange(3.0)[:, np.newaxis], np.array([[0, 1], [1, 2]]))
    >>> round(smallest_ratio(bars, np.array([1.0, 1.0])), 6)
    1.0
    """
    root = np.sqrt(bars.mass)
    n_nodes = len(root)
    A = laplacian(bars.edges, n_nodes, w).toarray() / np.outer(root, root)
    # The constant vector becomes the root of the masses: out of the way.
    A += (1 + np.abs(A).sum(axis=1).max()) * np.outer(root, root) / (root @ root)
    for shift in shifts(float(np.abs(A).sum(axis=1).max())):
        shifted = A.copy(order="F")
        shifted[np.diag_indices(n_nodes)] -= shift
        factor, info = lapack.dpotrf(shifted, lower=1, overwrite_a=1)
        if info == 0:
            break

    def solve(v: Floats) -> Floats:
        return np.asarray(lapack.dpotrs(factor, v, lower=1)[0])

    if n_nodes <= 10:
        return float(np.linalg.eigvalsh(A)[0])
    inverse = LinearOperator((n_nodes, n_nodes), matvec=solve, dtype=np.float64)
    start = np.random.default_rng(0).normal(size=n_nodes)
    largest = eigsh(inverse, k=1, which="LA", v0=start, tol=1e-6, return_eigenvectors=False)
    # Lanczos iterations err upwards in the value sought, by about their tolerance.
    return float(shift + (1 - 1e-6) / largest[0])


def shifts(radius: float) -> list[float]:
    """Shifts to try, in descending order: near the value one that is hoped for, then farther."""
    below = [0.99, 0.9, 0.5, 0.0]
    while below[-1] > -radius:
        below.append(min(-1.0, 4 * below[-1]))
    return below


# Columns of the factor, beyond twice the number of neighbours. With fewer than the rank of the
# optimum little variance is lost, but the dual bound is no longer near.
SPARE = 15
# Entries of the factor times iterations that are affordable.
WORK = 2.5e8


class MVU(Baseline):
    """Maximum variance unfolding: samples as far apart as their neighbours let them.

        max Tr(K) over positive semidefinite K of sum zero
        subject to K_ii + K_jj − 2K_ij = ‖y_i − y_j‖² for all neighbours i, j

    (`op:mvu`, `con:preserve` and `con:origin` of the paper; Weinberger, Sha and Saul 2004); the
    embedding is the kernel PCA of K. Choose it where neighbours lie on a surface that is curved but
    not torn, with little noise: it is the one method that keeps the distances between neighbours
    exactly. It does not tolerate noise, nor edges that short-cut the surface.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding. Components beyond the rank of K are zero.
    n_neighbors : int, default=10
        Neighbours per sample, at most n_samples − 1 of them; the distance between two samples is
        kept if either is a neighbour of the other.
    tol : float, default=1e-2
        Stop when the root mean squared relative violation of the constraints, the relative residual
        ‖LR − R‖/‖R‖ of the optimality condition, where K = RRᵀ, and the relative difference between
        primal and dual objective are all at most this.
    max_iter : int or None, default=None
        Most iterations to run. None is as many as take about two minutes for 3,500 samples:
        between 1,000 and 20,000, fewer for more samples or neighbours.
    random_state : int, RandomState or None, default=None
        Seed of the small displacements that let the samples leave the space of the data.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
    factor_ : array of shape (n_samples, n_columns)
        R with K = RRᵀ, columns in descending order of variance.
    edges_ : array of shape (n_edges, 2)
        The pairs whose distances are kept.
    weights_ : array of shape (n_edges,)
        The best w found that is feasible for the dual `op:dual-mvu`, min Σ w·φ subject to
        λ_{N−1}(L(w)) ≥ 1. An edge under tension has a positive one. Edges between copies of a
        sample, and edges that repeat one between copies of its ends, have zero.
    objective_ : float
        Tr(K).
    dual_bound_ : float
        Σ w·φ: no K that meets the constraints has a larger trace.
    duality_gap_ : float
        (dual_bound_ − objective_)/objective_: no K that meets the constraints has a trace larger by
        more than this part. It is negative if violated constraints give K more variance than any
        that meets them; the optimum is then smaller by at least that part.
    violation_ : float
        Largest |K_ii + K_jj − 2K_ij − φ_ij|/φ_ij of any edge, φ_ij = ‖y_i − y_j‖².
    rms_violation_ : float
        Root of the mean squared relative violation.
    residual_ : float
        ‖LR − R‖/‖R‖.
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int

    Notes
    -----
    **What was hard.** The problem is convex in K, which has n² entries. Here K = RRᵀ with a few
    more columns than neighbours (Burer and Monteiro 2003), an augmented Lagrangian for the
    constraints, and L-BFGS, whose line search is exact because the function is a quartic along a
    line. That is no longer convex, but with enough columns it has no optima that the convex problem
    has not, and the dual bound says in each case whether it was so. The stretched samples are as
    ill-conditioned as a chain of springs; a Laplacian weighted by the present tensions and
    stiffness of the edges, factored again with each update of the multipliers, takes care of that.

    Where more than n_features + 1 samples are all neighbours of each other, no K in the interior of
    the cone keeps their distances; the dual then need not have a solution, multipliers grow without
    end and the last percent of the variance depends on the last tenths of a percent of the
    distances. There ``tol`` may be missed, with a warning.

    The multipliers after the last update are a poor point of the dual: λ_{N−1}(L) is often
    negative, because directions that hardly matter to R are not finished. Their mean over the
    second half of the updates, with the negative part shrunk by a few percents, is a far better
    one: for COIL-20 and five neighbours it proves 0.1 % where the last ones without their negative
    part prove 18 %.

    Decided where the paper is silent: the parts of a graph that is not connected could be moved
    apart without end, so they are joined by the edges of the minimum spanning tree between them,
    which are kept as well. Copies of a sample whose distance of zero is to be kept are one point
    with several times the mass. "Neighbours" are the pairs of `con:preserve`; Weinberger and Saul
    also keep the distances between two neighbours of the same sample.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines import MVU
    >>> angle = np.linspace(0, np.pi, 30)
    >>> arc = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> model = MVU(n_components=1, n_neighbors=1, tol=1e-5).fit(arc)
    >>> float(np.ptp(model.embedding_).round(2))  # the length of the arc
    3.14
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Baseline._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 10,
        tol: float = 1e-2,
        max_iter: int | None = None,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, X: Floats) -> None:
        rng = check_random_state(self.random_state)
        Y = X - X.mean(axis=0)
        self.edges_, _ = connected_neighbors(Y, min(self.n_neighbors, len(Y) - 1))
        # In units in which no square over- or underflows.
        unit = np.abs(Y).max() or 1.0
        bars = framework(Y / unit, self.edges_)
        if len(bars.phi) == 0:
            w = np.zeros(0)
            found = Unfolding(np.zeros((1, 1)), w, w, w, 0.0, 0.0, 0, True)
        else:
            n_columns = min(len(bars.mass) - 1, 2 * self.n_neighbors + SPARE)
            _, first = np.unique(bars.node, return_index=True)
            start = leading_columns(Y[first] / unit, n_columns)
            # At right angles to the data the variance has no slope: a push, too small to matter.
            push = 1e-2 * np.sqrt(np.median(bars.phi) / n_columns)
            start += push * rng.normal(size=start.shape)
            affordable = int(np.clip(WORK / start.size, 1000, 20_000))
            max_iter = self.max_iter or affordable
            found = unfold(bars, start, max_iter=max_iter, tol=self.tol)
            w = dual_feasible(bars, [found.w, found.w_mean])
        self.factor_ = found.R[bars.node] * unit
        self.weights_ = np.zeros(len(self.edges_))
        self.weights_[bars.edge] = w
        self.objective_ = float(np.vdot(self.factor_, self.factor_))
        self.dual_bound_ = float(w @ bars.phi) * unit**2
        self.duality_gap_ = self.dual_bound_ / self.objective_ - 1 if self.objective_ else 0.0
        self.violation_ = float(np.abs(found.violation).max(initial=0.0))
        self.rms_violation_ = float(np.sqrt(np.mean(found.violation**2))) if len(bars.phi) else 0.0
        self.residual_, self.n_iter_ = found.residual, found.n_iter
        self.converged_ = found.converged
        if not found.converged:
            warnings.warn(
                f"MVU stopped after {found.n_iter} iterations: the largest of violation, "
                f"residual and difference of the objectives is {found.change:.2g}, above "
                f"tol={self.tol:g}; "
                "raise max_iter or tol, or lower n_neighbors.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.embedding_ = np.zeros((len(Y), self.n_components))
        d = min(self.n_components, self.factor_.shape[1])
        self.embedding_[:, :d] = self.factor_[:, :d]
        self.embedding_ *= column_signs(self.embedding_)


def leading_columns(Y: Floats, n_columns: int) -> Floats:
    """Y in its leading principal coordinates, with columns of zeros if it has fewer.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.mvu import leading_columns
    >>> np.abs(leading_columns(np.array([[3.0], [-3.0]]), 2))
    array([[3., 0.],
           [3., 0.]])
    """
    small = Y.shape[1] <= Y.shape[0]
    values, vectors = np.linalg.eigh(Y.T @ Y if small else Y @ Y.T)
    kept = min(n_columns, len(values))
    start = np.zeros((len(Y), n_columns))
    leading = vectors[:, ::-1][:, :kept]
    start[:, :kept] = (
        Y @ leading if small else leading * np.sqrt(np.maximum(values[::-1][:kept], 0))
    )
    return start
