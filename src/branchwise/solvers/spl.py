"""SPL: structured projection learning, solved to its global optimum (`op:ebi-SW`)."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize

from .._typing import Floats, Ints
from ..graph import laplacian, squared_distances
from ..graph.inverse import Invert, Solve, dense_inverse
from ..linalg import complete_basis, largest_eigenpairs, top_eigenvectors
from .convergence import Callback, Progress

# With no slack a distance of zero would need an infinite weight: this part of the median
# squared distance stands in for it.
ZERO_DISTANCE = 1e-4

# Steps from within twice the root of a cubic to the last digit.
N_NEWTON = 8

# Q⁻¹Y is computed up to this many numbers and columns; beyond, Q⁻¹ meets as few as it can.
MAX_SOLVED, MAX_GRAM = 2**25, 1024


@dataclass(frozen=True)
class SPLProblem:
    """The data of `op:ebi-SW`: points Y, candidate edges, the constants d and γ, and the loss.

    The paper's sums run over ordered pairs; here every edge has one weight s_e. What the paper
    calls U (Sec. 3.2) leaves three numbers in the dual: `slack`, the scalar C of a squared
    slack, and the bounds of s_e (see `dual_of_loss`).
    """

    Y: Floats
    edges: Ints
    phi: Floats  # φ_e = ‖y_i − y_j‖²
    n_components: int
    gamma: float
    slack: float
    lower: float = 0.0  # of every s_e; −∞ stands for all s with Q positive definite
    upper: float = np.inf

    @property
    def ridge(self) -> float:
        """The c in Q = L + c·I."""
        return (self.gamma + 1) / 4


def dual_of_loss(loss: str, C: float) -> tuple[float, float, float]:
    """(slack, lower, upper) of a loss, whose price for the slack ξ_e of an edge is U(ξ_e).

    The multiplier of E‖x_i − x_j‖² ≤ φ_e + ξ_e is 2s_e, and min over ξ of U(ξ) − 2sξ is what the
    loss adds to the dual. "squared", U = 2Cξ²: −s²/(2C). "absolute", U = 2C|ξ|: zero for
    s ≤ C, and −∞ beyond. "hard", no slack: zero. "equality" binds E‖x_i − x_j‖² = φ_e from both
    sides, so that s may have either sign.

    Examples
    --------
    >>> from branchwise.solvers.spl import dual_of_loss
    >>> dual_of_loss("absolute", 10.0)
    (inf, 0.0, 10.0)
    """
    return {
        "squared": (C, 0.0, np.inf),
        "absolute": (np.inf, 0.0, C),
        "hard": (np.inf, 0.0, np.inf),
        "equality": (np.inf, -np.inf, np.inf),
    }[loss]


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


def evaluate(problem: SPLProblem, s: Floats, invert: Invert | None = None) -> SPLState:
    """Objective of `op:ebi-SW` and its gradient (`eq:subgradient`), with W at its optimum.

    f(s) = d/2·logdet Q − 2Σφ_e s_e − Σs_e²/(2·slack) − γ²/8·(d largest eigenvalues of YᵀQ⁻¹Y)

    which equals the paper's up to the constant d/2·N·log 4. The derivative by s_e is
    2(E‖x_i − x_j‖² − φ_e − ξ_e), with the slack ξ_e = s_e/(2·slack) of `prop:ebi-W`.

    `invert` is the way to the entries of Q⁻¹ that this needs, by default a dense one.
    """
    Y, d = problem.Y, problem.n_components
    if invert is None:
        invert = dense_inverse(problem.edges, len(Y))
    logdet, diagonal, resistance, solve = invert(s, problem.ridge)

    return assemble(problem, s, logdet, diagonal, resistance, projection(Y, solve, d))


def assemble(
    problem: SPLProblem,
    s: Floats,
    logdet: float,
    diagonal: Floats,
    resistance: Floats,
    projected: "Projection",
) -> SPLState:
    """Objective and gradient from what is known of Q⁻¹."""
    d, gamma = problem.n_components, problem.gamma
    W, QinvYW, captured, _ = projected
    expected = d / 4 * resistance + gamma**2 / 16 * squared_distances(QinvYW, problem.edges)
    objective = structure_terms(problem, s, logdet) - gamma**2 / 8 * captured
    gradient = 2 * (expected - problem.phi) - s / problem.slack
    return SPLState(
        s, objective, gradient, logdet, diagonal, resistance, W, QinvYW, captured, expected
    )


def structure_terms(problem: SPLProblem, s: Floats, logdet: float) -> float:
    """The objective without its data term."""
    costs = 2 * float(problem.phi @ s) + float(s @ s) / (2 * problem.slack)
    return problem.n_components / 2 * logdet - costs


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


def optimality_gap(problem: SPLProblem, state: SPLState) -> float:
    """An upper bound on f(s*) − f(s), from the concavity of f.

    The smaller of two bounds. The quadratic model with curvature −1/slack, or the tangent
    plane where no slack is squared, lies above f, and its maximum over the weights is explicit.
    For any slack, a scaled copy of the posterior at s is a feasible point of the primal
    problem `op:ebi-W`, whose value bounds every dual value (weak duality).

    Both are for s ≥ 0; weights of either sign have their own (`spl_equality.self_concordant_gap`).
    """
    bounds = (_strong_concavity_bound(problem, state), _weak_duality_bound(problem, state))
    # Rounding may leave a bound just below zero; one that is not a number proves nothing.
    return max(min(bound if bound == bound else np.inf for bound in bounds), 0.0)


def _strong_concavity_bound(problem: SPLProblem, state: SPLState) -> float:
    g, s = state.gradient, state.s
    if np.isinf(problem.slack):
        # No curvature: the tangent plane is highest at a corner of the box.
        return float(g @ np.where(g > 0, problem.upper - s, -s))
    # The model's maximum is a step of slack·g away from s, or at zero if that comes first.
    reaches_zero = g <= -s / problem.slack
    free, bounded = g[~reaches_zero], s[reaches_zero]
    gain = free * problem.slack * free / 2
    loss = -g[reaches_zero] * bounded - bounded / problem.slack * bounded / 2
    return float(gain.sum() + loss.sum())


def _weak_duality_bound(problem: SPLProblem, state: SPLState) -> float:
    """Bound from the posterior with mean √α·X and covariance α·Σ, at the best α.

    For every s' ≥ 0: logdet Q' ≤ logdet(Q/α) + α·Tr(Q⁻¹Q') − N, and for U = √α·Q⁻¹YW
    Tr(WᵀYᵀQ'⁻¹YW) ≥ 2Tr(UᵀYW) − Tr(UᵀQ'U). What remains is linear in s' but for the slack,
    with slope 2(α·E‖x_i − x_j‖² − φ_e), and is maximised edge by edge.
    """
    is_hard = np.isinf(problem.slack) and np.isinf(problem.upper)
    n, d, c = len(problem.Y), problem.n_components, problem.ridge
    weight = problem.gamma**2 / 8
    norm = float(np.vdot(state.QinvYW, state.QinvYW))

    def bound(alpha: float) -> float:
        slope = np.maximum(2 * (alpha * state.expected - problem.phi), 0.0)
        if is_hard:
            excess = np.inf if (slope > 0).any() else 0.0
        elif np.isinf(problem.slack):
            excess = problem.upper * float(slope.sum())
        else:
            excess = problem.slack / 2 * float(slope @ slope)
        volume = d / 2 * (state.logdet - n * np.log(alpha) + alpha * c * state.trace - n)
        fit = weight * (2 * np.sqrt(alpha) * state.captured - alpha * c * norm)
        return volume - fit + excess - state.objective

    # Edges at the upper bound may be longer than φ.
    shrink = problem.phi / np.maximum(state.expected, np.finfo(float).tiny)
    feasible = float(np.min(shrink, where=state.s < problem.upper, initial=1.0))
    candidates = [a for a in (1.0, min(feasible, 1.0) * (1 - 1e-15)) if a > 0]
    if not is_hard:
        low = np.log(max(min(feasible, 0.5), 1e-6))
        best = optimize.minimize_scalar(lambda t: bound(np.exp(t)), bounds=(low, 0.0))
        candidates.append(float(np.exp(best.x)))
    return min((bound(a) for a in candidates), default=np.inf)


@dataclass(frozen=True)
class SPLResult:
    """The best state met, its certificate, and the record of the run."""

    state: SPLState
    gap: float
    history: list[float]
    n_iter: int
    n_evaluations: int
    change: float
    converged: bool
    criterion: str = "certified distance to the optimum"
    objective_error: float = 0.0  # standard error of the objective, where it is an estimate


def spl(
    problem: SPLProblem,
    *,
    max_iter: int,
    tol: float,
    invert: Invert | None = None,
    callback: Callback | None = None,
) -> SPLResult:
    """Maximise `op:ebi-SW` over 0 ≤ s ≤ upper by L-BFGS-B in scaled variables.

    Algorithm 1 takes subgradient steps of length 1/t, for want of convexity; but f is
    concave, so that any ascent reaches the global optimum and can prove it. The scaling
    s_e = u_e/√(d/2·(4φ_e/d)² + 1/slack) makes the Hessian's diagonal about one where the edge
    is active; 4φ_e/d is its resistance, or more where the upper bound forbids so small a one.

    Stops when the certified gap is at most `tol` times `gap_scale`. `invert` is as in `evaluate`.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.solvers.spl import SPLProblem, spl
    >>> Y = np.array([[-1.0], [0.0], [1.0]])
    >>> problem = SPLProblem(Y, np.array([[0, 1], [1, 2]]), np.ones(2), 1, 1e-3, 1e3)
    >>> result = spl(problem, max_iter=100, tol=1e-9)
    >>> result.converged, result.state.expected.round(3)
    (True, array([1., 1.]))
    """
    d = problem.n_components
    # √(d/2) times the resistance of an edge that takes an equal share at its upper bound.
    least = np.sqrt(d / 2) * edge_share(problem) / problem.upper
    curvature = np.maximum(np.sqrt(8 / d) * problem.phi, least)
    scaling = 1 / np.hypot(curvature, 1 / np.sqrt(problem.slack))
    top = problem.upper / scaling
    start_time = time.perf_counter()
    history: list[float] = []
    n_evaluations = 0
    best: SPLState | None = None
    gap = relative = np.inf

    def negative(u: Floats) -> tuple[float, Floats]:
        nonlocal best, n_evaluations
        # At the bound exactly, for the conditions of optimality differ there.
        state = evaluate(problem, np.where(u < top, scaling * u, problem.upper), invert)
        n_evaluations += 1
        if best is None or state.objective > best.objective:
            best = state
        return -state.objective, -scaling * state.gradient

    def is_certified() -> bool:
        nonlocal gap, relative
        assert best is not None
        gap = optimality_gap(problem, best)
        relative = gap / gap_scale(problem, best.s, best.logdet)
        history.append(best.objective)
        if callback is not None:
            elapsed = time.perf_counter() - start_time
            callback(Progress(len(history) - 1, max_iter, best.objective, relative, elapsed))
        return relative <= tol

    def after_iteration(intermediate_result: optimize.OptimizeResult) -> None:
        if is_certified():
            raise StopIteration  # SciPy's way to end a minimisation

    u = start(problem) / scaling
    negative(u)
    if not is_certified():
        optimize.minimize(
            negative,
            u,
            jac=True,
            method="L-BFGS-B",
            bounds=optimize.Bounds(0.0, top),
            callback=after_iteration,
            options={
                "maxiter": max_iter,
                "maxfun": 20 * max_iter,
                "maxcor": 20,
                "ftol": 0.0,
                "gtol": 0.0,
            },
        )
    assert best is not None
    return SPLResult(
        best, gap, history, len(history) - 1, n_evaluations, relative, bool(relative <= tol)
    )


def without_zero_distances(problem: SPLProblem) -> SPLProblem:
    """Without a squared slack, the problem with distances of zero lifted off zero."""
    median = float(np.median(problem.phi)) if len(problem.phi) else 0.0
    zero = problem.phi <= 1e-12 * median
    if np.isfinite(problem.slack) or not zero.any():
        return problem
    return replace(problem, phi=np.where(zero, ZERO_DISTANCE * (median or 1.0), problem.phi))


def gap_scale(problem: SPLProblem, s: Floats, logdet: float) -> float:
    """What a gap is measured against: the larger of |f| without its data term and dN/2.

    The data term grows with the units of the data and with a single outlier; beside it,
    any gap might look small.
    """
    half = problem.n_components / 2
    return max(abs(structure_terms(problem, s, logdet)), half * len(problem.Y))


def start(problem: SPLProblem) -> Floats:
    """Weights that would be optimal if every edge took an equal share of the resistance.

    Zero where that is the optimum, which a search from elsewhere might not reach exactly.
    """
    if is_zero_optimal(problem):
        return np.zeros(len(problem.phi))
    a = np.full(len(problem.phi), problem.n_components / 2 * edge_share(problem))
    return maximise_edgewise(a, problem.phi, problem.slack, upper=problem.upper)


def is_zero_optimal(problem: SPLProblem) -> bool:
    """Whether at s = 0, where X is a multiple of the principal components, no edge is too long."""
    Y, d, c = problem.Y, problem.n_components, problem.ridge
    spread = squared_distances(projection(Y, lambda B: B, d).QinvYW, problem.edges)
    expected = d / (2 * c) + (problem.gamma / (4 * c)) ** 2 * spread
    return bool((expected <= problem.phi).all())


def edge_share(problem: SPLProblem) -> float:
    """The mean of s_e·b_eᵀQ⁻¹b_e over the edges, at most (N − 1)/E by Foster's theorem."""
    return (len(problem.Y) - 1) / max(len(problem.phi), 1)


def maximise_edgewise(
    a: Floats,
    phi: Floats,
    slack: float,
    kappa: Floats | None = None,
    *,
    upper: float = np.inf,
) -> Floats:
    """Maximiser over 0 < s ≤ upper of a·log s − κ/s − 2φs − s²/(2·slack); κ = 0 if not given."""
    s = a / (2 * phi) if np.isinf(slack) else a / (phi + np.hypot(phi, np.sqrt(a / slack)))
    if kappa is None:
        return np.minimum(s, upper)
    # The root of s³/slack + 2φs² − as − κ, which is convex. It lies between the larger of the
    # roots without κ and without a, and their sum: from there Newton's steps lead down to it.
    with np.errstate(divide="ignore", invalid="ignore"):
        s = s + np.fmin(np.sqrt(kappa / (2 * phi)), np.cbrt(kappa * slack))
    for _ in range(N_NEWTON):
        value = ((s / slack + 2 * phi) * s - a) * s - kappa
        slope = (3 * s / slack + 4 * phi) * s - a
        s = s - np.divide(value, slope, out=np.zeros_like(s), where=slope > 0)
    return np.minimum(s, upper)  # the function is concave


def edge_violation(problem: SPLProblem, state: SPLState) -> Floats:
    """By how much the constraint of each edge is broken: E‖x_i − x_j‖² − φ_e − ξ_e.

    An absolute slack has ξ_e = 0, but for weights at the upper bound: there it is whatever the
    constraint needs. An equality is broken from either side.
    """
    excess = state.expected - problem.phi - state.s / (2 * problem.slack)
    return np.abs(excess) if problem.lower < 0 else np.where(state.s < problem.upper, excess, 0.0)


def posterior_covariance(problem: SPLProblem, s: Floats) -> Floats:
    """Row covariance Σ = (4L + (γ+1)I)⁻¹ of the posterior (`eq:post`)."""
    L = laplacian(problem.edges, len(problem.Y), s).toarray()
    precision = 4 * L + (problem.gamma + 1) * np.eye(len(L))
    return linalg.cho_solve(linalg.cho_factor(precision), np.eye(len(L)))
