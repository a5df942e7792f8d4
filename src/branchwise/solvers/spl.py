"""SPL: structured projection learning, solved to its global optimum (`op:ebi-SW`).

    max over s of f(s) = d/2·logdet Q − 2Σφ_e s_e − cost(s) − γ²/8·max over W of Tr(WᵀYᵀQ⁻¹YW)

with Q = L + (γ+1)/4·I, L the Laplacian of the weights s, orthonormal W and the cost of a loss
(`branchwise.losses`). Here are the problem, its objective with the gradient, the bound on how far
the optimum can be, and the search for it. Too large for that search: `spl_sketch`; weights of
either sign: `spl_equality`; which of them to take: `spl_solver`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import optimize

from .._typing import Floats, Ints
from ..graph import squared_distances
from ..graph.inverse import Invert, Solve, dense_inverse
from ..linalg import complete_basis, largest_eigenpairs, top_eigenvectors
from ..losses import Loss
from .convergence import Callback, Progress

# Where a distance of zero would need an infinite weight, this part of the median squared distance
# stands in for it.
ZERO_DISTANCE = 1e-4

# Q⁻¹Y is computed up to this many numbers and columns; beyond, Q⁻¹ meets as few as it can.
MAX_SOLVED, MAX_GRAM = 2**25, 1024


@dataclass(frozen=True)
class SPLProblem:
    """The data of `op:ebi-SW`: points Y, candidate edges, the constants d and γ, and the loss.

    The paper's sums run over ordered pairs; here every edge has one weight s_e.
    """

    Y: Floats
    edges: Ints
    phi: Floats  # φ_e = ‖y_i − y_j‖²
    n_components: int
    gamma: float
    loss: Loss  # what the paper calls U (Sec. 3.2)

    @property
    def ridge(self) -> float:
        """The c in Q = L + c·I."""
        return (self.gamma + 1) / 4


@dataclass(frozen=True)
class SPLState:
    """Everything that `op:ebi-SW` says at one s."""

    s: Floats
    objective: float
    gradient: Floats
    logdet: float
    diagonal: Floats  # of Q⁻¹
    resistance: Floats  # b_eᵀQ⁻¹b_e
    W: Floats  # D×d
    QinvYW: Floats  # N×d
    captured: float  # Tr(WᵀYᵀQ⁻¹YW)
    expected: Floats  # E‖x_i − x_j‖² under the posterior
    diagonal_error: Floats | float = 0.0  # standard error of the diagonal, where it is an estimate

    @property
    def trace(self) -> float:
        """Tr Q⁻¹."""
        return float(self.diagonal.sum())


@dataclass(frozen=True)
class SPLResult:
    """The best state met, its certificate, and the record of the run."""

    state: SPLState
    gap: float
    history: list[float]
    n_evaluations: int
    change: float
    converged: bool
    criterion: str = "certified distance to the optimum"
    objective_error: float = 0.0  # standard error of the objective, where it is an estimate

    @property
    def n_iter(self) -> int:
        """Number of iterations; the history begins before the first."""
        return len(self.history) - 1


# The objective


def objective(problem: SPLProblem, s: Floats, logdet: float, captured: float) -> float:
    """f(s) of `op:ebi-SW`, from logdet Q and Tr(WᵀYᵀQ⁻¹YW) at the best W.

    It equals the paper's up to the constant d/2·N·log 4.
    """
    return structure_terms(problem, s, logdet) - problem.gamma**2 / 8 * captured


def structure_terms(problem: SPLProblem, s: Floats, logdet: float) -> float:
    """The objective without its data term."""
    costs = 2 * float(problem.phi @ s) + problem.loss.cost(s)
    return problem.n_components / 2 * logdet - costs


def evaluate(problem: SPLProblem, s: Floats, invert: Invert | None = None) -> SPLState:
    """Objective of `op:ebi-SW` and its gradient (`eq:subgradient`), with W at its optimum.

    `invert` is the way to the entries of Q⁻¹ that this needs, by default a dense one.
    """
    if invert is None:
        invert = dense_inverse(problem.edges, len(problem.Y))
    logdet, diagonal, resistance, solve = invert(s, problem.ridge)
    projected = projection(problem.Y, solve, problem.n_components)
    return assemble(problem, s, logdet, diagonal, resistance, projected)


def assemble(
    problem: SPLProblem,
    s: Floats,
    logdet: float,
    diagonal: Floats,
    resistance: Floats,
    projected: "Projection",
) -> SPLState:
    """Objective and gradient from what is known of Q⁻¹.

    The derivative by s_e is 2(E‖x_i − x_j‖² − φ_e − ξ_e), with the slack ξ_e = cost'(s_e)/2 of
    `prop:ebi-W`.
    """
    d, gamma = problem.n_components, problem.gamma
    W, QinvYW, captured, _ = projected
    expected = d / 4 * resistance + gamma**2 / 16 * squared_distances(QinvYW, problem.edges)
    value = objective(problem, s, logdet, captured)
    gradient = 2 * (expected - problem.phi) - problem.loss.slope(s)
    return SPLState(s, value, gradient, logdet, diagonal, resistance, W, QinvYW, captured, expected)


def edge_violation(problem: SPLProblem, state: SPLState) -> Floats:
    """By how much the constraint of each edge is broken: E‖x_i − x_j‖² − φ_e − ξ_e."""
    return problem.loss.violation(state.expected - problem.phi, state.s)


# The update of W


class Projection(NamedTuple):
    """W at its optimum for a given Q."""

    W: Floats  # top-d eigenvectors of YᵀQ⁻¹Y
    QinvYW: Floats
    captured: float  # the sum of their eigenvalues
    basis: Floats  # W and guards: where to start for a nearby Q


def projection(Y: Floats, solve: Solve, d: int) -> Projection:
    """W from Q⁻¹Y or, where that is large, from Q⁻¹ times a few columns at a time."""
    D = Y.shape[1]
    d = min(d, D)
    if 8 * d < D and (Y.size > MAX_SOLVED or D > MAX_GRAM):
        start = complete_basis(np.zeros((D, 0)), d)
        return tracked_projection(Y, lambda B, _: solve(B), d, start)
    QinvY = solve(Y)
    T = Y.T @ QinvY
    values, W = largest_eigenpairs((T + T.T) / 2, d)
    W = W[:, ::-1]
    return Projection(W, QinvY @ W, float(values.sum()), W)


def tracked_projection(
    Y: Floats,
    solve: Callable[[Floats, float], Floats],
    d: int,
    start: Floats,
    *,
    rtol: float = 1e-10,
) -> Projection:
    """W by iterations from `start`; `solve` takes a right-hand side and an accuracy."""
    solutions = []

    def apply(V: Floats, accuracy: float) -> Floats:
        solutions.append(solve(Y @ V, accuracy))
        return Y.T @ solutions[-1]

    values, basis, coefficients = top_eigenvectors(apply, start, d, rtol=rtol)
    QinvYW = np.hstack(solutions) @ coefficients[:, :d]
    return Projection(basis[:, :d], QinvYW, float(values.sum()), basis)


# The certificate


def optimality_gap(problem: SPLProblem, state: SPLState) -> float:
    """An upper bound on f(s*) − f(s), from the concavity of f.

    The smaller of two bounds. The cost, subtracted from a tangent plane, lies above f, and the
    loss knows its maximum over the weights. And for any loss a scaled copy of the posterior at s
    is a feasible point of the primal problem `op:ebi-W`, whose value bounds every dual value
    (weak duality).

    Both are for s ≥ 0; weights of either sign have their own (`spl_equality.self_concordant_gap`).
    """
    bounds = (
        problem.loss.possible_gain(state.gradient, state.s),
        _weak_duality_bound(problem, state),
    )
    # Rounding may leave a bound just below zero; one that is not a number proves nothing.
    return max(min(bound if bound == bound else np.inf for bound in bounds), 0.0)


def _weak_duality_bound(problem: SPLProblem, state: SPLState) -> float:
    """Bound from the posterior with mean √α·X and covariance α·Σ, at the best α.

    For every s' ≥ 0: logdet Q' ≤ logdet(Q/α) + α·Tr(Q⁻¹Q') − N, and for U = √α·Q⁻¹YW
    Tr(WᵀYᵀQ'⁻¹YW) ≥ 2Tr(UᵀYW) − Tr(UᵀQ'U). What remains is linear in s' but for the cost,
    with slope 2(α·E‖x_i − x_j‖² − φ_e), and is maximised edge by edge.
    """
    n, d, c = len(problem.Y), problem.n_components, problem.ridge
    weight = problem.gamma**2 / 8
    norm = float(np.vdot(state.QinvYW, state.QinvYW))

    def bound(alpha: float) -> float:
        slope = np.maximum(2 * (alpha * state.expected - problem.phi), 0.0)
        volume = d / 2 * (state.logdet - n * np.log(alpha) + alpha * c * state.trace - n)
        fit = weight * (2 * np.sqrt(alpha) * state.captured - alpha * c * norm)
        return volume - fit + problem.loss.conjugate(slope) - state.objective

    # Edges at the upper bound may be longer than φ.
    shrink = problem.phi / np.maximum(state.expected, np.finfo(float).tiny)
    feasible = float(np.min(shrink, where=state.s < problem.loss.upper, initial=1.0))
    candidates = [a for a in (1.0, min(feasible, 1.0) * (1 - 1e-15)) if a > 0]
    if not problem.loss.forbids_slack:
        low = np.log(max(min(feasible, 0.5), 1e-6))
        best = optimize.minimize_scalar(lambda t: bound(np.exp(t)), bounds=(low, 0.0))
        candidates.append(float(np.exp(best.x)))
    return min((bound(a) for a in candidates), default=np.inf)


def gap_scale(problem: SPLProblem, s: Floats, logdet: float) -> float:
    """What a gap is measured against: the larger of |f| without its data term and dN/2.

    The data term grows with the units of the data and with a single outlier; beside it,
    any gap might look small.
    """
    half = problem.n_components / 2
    return max(abs(structure_terms(problem, s, logdet)), half * len(problem.Y))


# The start


def start(problem: SPLProblem) -> Floats:
    """Weights that would be optimal if every edge took an equal share of the resistance.

    Zero where that is the optimum, which a search from elsewhere might not reach exactly.
    """
    if is_zero_optimal(problem):
        return np.zeros(len(problem.phi))
    a = np.full(len(problem.phi), problem.n_components / 2 * edge_share(problem))
    return problem.loss.weights(a, problem.phi)


def is_zero_optimal(problem: SPLProblem) -> bool:
    """Whether at s = 0, where X is a multiple of the principal components, no edge is too long."""
    Y, d, c = problem.Y, problem.n_components, problem.ridge
    spread = squared_distances(projection(Y, lambda B: B, d).QinvYW, problem.edges)
    expected = d / (2 * c) + (problem.gamma / (4 * c)) ** 2 * spread
    return bool((expected <= problem.phi).all())


def edge_share(problem: SPLProblem) -> float:
    """The mean of s_e·b_eᵀQ⁻¹b_e over the edges, at most (N − 1)/E by Foster's theorem."""
    return (len(problem.Y) - 1) / max(len(problem.phi), 1)


def without_zero_distances(problem: SPLProblem) -> SPLProblem:
    """The problem with distances of zero lifted off zero, where its loss needs that."""
    median = float(np.median(problem.phi)) if len(problem.phi) else 0.0
    zero = problem.phi <= 1e-12 * median
    if problem.loss.bears_zero_distances or not zero.any():
        return problem
    return replace(problem, phi=np.where(zero, ZERO_DISTANCE * (median or 1.0), problem.phi))


# The search


class Record:
    """Objectives at the start and after each iteration, each reported as it comes."""

    def __init__(self, max_iter: int, callback: Callback | None):
        self.history: list[float] = []
        self.max_iter, self.callback = max_iter, callback
        self._start = time.perf_counter()

    @property
    def n_iter(self) -> int:
        """Number of finished iterations."""
        return len(self.history) - 1

    def note(self, objective: float, change: float) -> None:
        """Keep an objective; `change` is what the stopping rule compares with `tol`."""
        self.history.append(objective)
        if self.callback is not None:
            elapsed = time.perf_counter() - self._start
            self.callback(Progress(self.n_iter, self.max_iter, objective, change, elapsed))


def spl(
    problem: SPLProblem,
    *,
    max_iter: int,
    tol: float,
    invert: Invert | None = None,
    callback: Callback | None = None,
) -> SPLResult:
    """Maximise `op:ebi-SW` over 0 ≤ s ≤ upper by L-BFGS-B in scaled variables u.

    Algorithm 1 takes subgradient steps of length 1/t, for want of convexity; but f is
    concave, so that any ascent reaches the global optimum and can prove it.

    Stops when the certified gap is at most `tol` times `gap_scale`. `invert` is as in `evaluate`.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.losses import Squared
    >>> from branchwise.solvers.spl import SPLProblem, spl
    >>> Y = np.array([[-1.0], [0.0], [1.0]])
    >>> problem = SPLProblem(Y, np.array([[0, 1], [1, 2]]), np.ones(2), 1, 1e-3, Squared(1e3))
    >>> result = spl(problem, max_iter=100, tol=1e-9)
    >>> result.converged, result.state.expected.round(3)
    (True, array([1., 1.]))
    """
    scaling, upper = edge_scaling(problem), problem.loss.upper
    top = upper / scaling
    record = Record(max_iter, callback)
    n_evaluations = 0
    best: SPLState | None = None
    gap = relative = np.inf

    def negative(u: Floats) -> tuple[float, Floats]:
        nonlocal best, n_evaluations
        # At the bound exactly, for the conditions of optimality differ there.
        state = evaluate(problem, np.where(u < top, scaling * u, upper), invert)
        n_evaluations += 1
        if best is None or state.objective > best.objective:
            best = state
        return -state.objective, -scaling * state.gradient

    def is_certified() -> bool:
        nonlocal gap, relative
        assert best is not None
        gap = optimality_gap(problem, best)
        relative = gap / gap_scale(problem, best.s, best.logdet)
        record.note(best.objective, relative)
        return relative <= tol

    def after_iteration(intermediate_result: optimize.OptimizeResult) -> None:
        if is_certified():
            raise StopIteration  # SciPy's way to end a minimisation

    u = start(problem) / scaling
    negative(u)
    if not is_certified():
        limits = {"maxiter": max_iter, "maxfun": 20 * max_iter, "ftol": 0.0, "gtol": 0.0}
        optimize.minimize(
            negative,
            u,
            jac=True,
            method="L-BFGS-B",
            bounds=optimize.Bounds(0.0, top),
            callback=after_iteration,
            options={"maxcor": 20, **limits},
        )
    assert best is not None
    return SPLResult(best, gap, record.history, n_evaluations, relative, bool(relative <= tol))


def edge_scaling(problem: SPLProblem) -> Floats:
    """The factors s_e/u_e that make the Hessian's diagonal about one where the edge is active.

    1/√(d/2·r_e² + cost''), where r_e = 4φ_e/d is the resistance of an active edge, or more where
    the upper bound forbids so small a one.
    """
    d, loss = problem.n_components, problem.loss
    # √(d/2) times the resistance of an edge that takes an equal share at its upper bound.
    least = np.sqrt(d / 2) * edge_share(problem) / loss.upper
    curvature = np.maximum(np.sqrt(8 / d) * problem.phi, least)
    return np.asarray(1 / np.hypot(curvature, 1 / np.sqrt(loss.slack)))
