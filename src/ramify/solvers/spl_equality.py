"""SPL that keeps every distance: weights of either sign, by Newton's method."""

import time
from dataclasses import replace

import numpy as np
from scipy import linalg

from .._typing import Floats
from ..graph.inverse import Invert, dense_inverse
from .record import Callback, Progress
from .spl import SPLProblem, SPLResult, SPLState, evaluate, gap_scale, start

# Part of the slope that an accepted step must realise, and the shortest step to try.
ARMIJO, MIN_STEP = 1e-4, 1e-10
# A tree has |s_e|·φ_e ≤ d/4. Weights so many times larger make the posterior flat: its thinnest
# direction has less than a thousandth of the distance between neighbours.
MAX_WEIGHT = 1e6


def spl_equality(
    problem: SPLProblem, *, max_iter: int, tol: float, callback: Callback | None = None
) -> SPLResult:
    """Maximise `op:ebi-SW` over all s with Q positive definite: E‖x_i − x_j‖² = φ_e on every edge.

    This is `con:preserve` of maximum variance unfolding, in expectation. logdet Q is the
    barrier of the feasible set, so that the problem has no bounds; Newton's steps with the
    Hessian at the present W are shortened until they raise f.

    Stops when the certified gap is at most `tol` times `gap_scale`. Raises ValueError where f
    has no maximum because no posterior keeps all distances.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.solvers.spl import SPLProblem
    >>> from ramify.solvers.spl_equality import spl_equality
    >>> Y = np.array([[-1.0], [0.0], [2.0]])
    >>> problem = SPLProblem(
    ...     Y, np.array([[0, 1], [1, 2]]), np.array([1.0, 4.0]), 1, 1e-3, np.inf, -np.inf
    ... )
    >>> result = spl_equality(problem, max_iter=100, tol=1e-12)
    >>> result.state.expected.round(4), result.state.s.round(2)
    (array([1., 4.]), array([ 0.17, -0.08]))
    """
    start_time = time.perf_counter()
    invert = dense_inverse(problem.edges, len(problem.Y))
    history: list[float] = []
    n_evaluations = 1
    state = evaluate(problem, start(problem), invert)
    while True:
        step, decrement = newton_step(problem, state, invert)
        gap = self_concordant_gap(problem, decrement)
        relative = gap / gap_scale(problem, state.s, state.logdet)
        history.append(state.objective)
        n_iter = len(history) - 1
        if callback is not None:
            elapsed = time.perf_counter() - start_time
            callback(Progress(n_iter, max_iter, state.objective, relative, elapsed))
        if relative <= tol or n_iter == max_iter:
            break
        # Where f has a maximum the decrement falls below one on the way; else it never does.
        if decrement > 0.5:
            check_weights(problem, state.s)
        following, n_tried = line_search(problem, state, step, invert)
        n_evaluations += n_tried
        if following is None:
            if decrement > 0.5 and problem.gamma > 0:
                # Where eigenvalues tie, W turns about and f has an edge. Whether the distances
                # can be kept at all does not depend on γ.
                spl_equality(replace(problem, gamma=0.0), max_iter=max_iter, tol=1.0)
            break
        state = following
    return SPLResult(state, gap, history, n_iter, n_evaluations, relative, bool(relative <= tol))


def newton_step(problem: SPLProblem, state: SPLState, invert: Invert) -> tuple[Floats, float]:
    """Newton's step for F_W(s) = d/2·logdet Q − 2φ·s − γ²/8·Tr(WᵀYᵀQ⁻¹YW), and its decrement.

    With k_ef = b_eᵀQ⁻¹b_f and X = Q⁻¹YW its Hessian is −d/2·k_ef² − γ²/4·(b_eᵀX)(Xᵀb_f)·k_ef. f is
    the least of the F_W, and has the gradient of the one that touches it. The decrement is
    that of −2F_W/d, which is self-concordant.
    """
    d, (i, j) = problem.n_components, problem.edges.T
    inverse = invert(state.s, problem.ridge).solve(np.eye(len(problem.Y)))
    columns = inverse[:, i] - inverse[:, j]
    k = columns[i] - columns[j]
    hessian = d / 2 * k**2
    if problem.gamma > 0:
        difference = state.QinvYW[i] - state.QinvYW[j]
        hessian += problem.gamma**2 / 4 * (difference @ difference.T) * k
    scale = 1 / np.sqrt(np.diag(hessian))
    hessian *= scale
    hessian *= scale[:, None]
    try:
        factor = linalg.cho_factor(hessian, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError as error:
        raise ValueError(infeasible_message(problem)) from error
    step = scale * linalg.cho_solve(factor, scale * state.gradient)
    return step, float(np.sqrt(max(2 / d * (state.gradient @ step), 0.0)))


def self_concordant_gap(problem: SPLProblem, decrement: float) -> float:
    """An upper bound on f(s*) − f(s): the self-concordant F_W lies above f and touches it at s."""
    if decrement >= 1:
        return np.inf
    return problem.n_components / 2 * (-decrement - np.log1p(-decrement))


def line_search(
    problem: SPLProblem, state: SPLState, step: Floats, invert: Invert
) -> tuple[SPLState | None, int]:
    """The first of s + step, s + step/2, … that raises f enough, if any; evaluations made."""
    slope, length, n_tried = float(state.gradient @ step), 1.0, 0
    while length >= MIN_STEP:
        n_tried += 1
        try:
            following = evaluate(problem, state.s + length * step, invert)
        except linalg.LinAlgError:  # Q is not positive definite there
            following = None
        if following and following.objective > state.objective + ARMIJO * length * slope:
            return following, n_tried
        length /= 2
    return None, n_tried


def check_weights(problem: SPLProblem, s: Floats) -> None:
    """Raise ValueError if the weights have grown beyond those of any sound posterior."""
    if np.max(np.abs(s) * problem.phi, initial=0.0) > MAX_WEIGHT * problem.n_components:
        raise ValueError(infeasible_message(problem))


def infeasible_message(problem: SPLProblem) -> str:
    """Why there is no optimum, and what to do."""
    return (
        f"No posterior keeps the distances along all {len(problem.edges):,} edges between "
        f"{len(problem.Y):,} samples of {problem.Y.shape[1]:,} features, as loss='equality' asks: "
        "they leave the samples no room; lower n_neighbors, at best below the number of "
        "features, or set loss='hard' or 'squared'."
    )
