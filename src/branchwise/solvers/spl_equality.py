"""SPL that keeps every distance: weights of either sign, by Newton's method."""

from dataclasses import replace

import numpy as np
from scipy import linalg

from .._typing import Floats
from ..graph.inverse import Invert, dense_inverse
from .convergence import Callback
from .spl import Record, SPLProblem, SPLResult, SPLState, evaluate, gap_scale, start

# Parts of the slope that a full and a shortened step must realise, and the shortest to try.
GOOD, ARMIJO, MIN_STEP = 0.25, 1e-4, 1e-10
# The thinnest direction of the posterior may have a thousandth of the distance between
# neighbours, about the root of this. Where rounding fails, flatness is the reason if it exceeds
# the other number.
MAX_FLATNESS, FLAT = 1e6, 1e3
# Longest edge, in units of √(d/2c), which the posterior expects with all weights zero.
MAX_STRETCH = 100.0


def spl_equality(
    problem: SPLProblem, *, max_iter: int, tol: float, callback: Callback | None = None
) -> SPLResult:
    """Maximise `op:ebi-SW` over all s with Q positive definite: E‖x_i − x_j‖² = φ_e on every edge.

    This is `con:preserve` of maximum variance unfolding, in expectation. logdet Q is the
    barrier of the feasible set, so that the problem has no bounds; Newton's steps with the
    Hessian at the present W are shortened until they raise f.

    Stops when the certified gap is at most `tol` times `gap_scale`. Raises ValueError where f
    has no maximum because no posterior keeps all distances, or where some are too long.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.losses import Equality
    >>> from branchwise.solvers.spl import SPLProblem
    >>> from branchwise.solvers.spl_equality import spl_equality
    >>> Y, edges = np.array([[-1.0], [0.0], [2.0]]), np.array([[0, 1], [1, 2]])
    >>> problem = SPLProblem(Y, edges, np.array([1.0, 4.0]), 1, 1e-3, Equality())
    >>> result = spl_equality(problem, max_iter=100, tol=1e-12)
    >>> result.state.expected.round(4), result.state.s.round(2)
    (array([1., 4.]), array([ 0.17, -0.08]))
    """
    check_stretch(problem)
    record = Record(max_iter, callback)
    invert = dense_inverse(problem.edges, len(problem.Y))
    n_evaluations = 1
    state = evaluate(problem, start(problem), invert)
    while True:
        step, decrement = newton_step(problem, state, invert)
        gap = self_concordant_gap(problem, decrement)
        relative = gap / gap_scale(problem, state.s, state.logdet)
        record.note(state.objective, relative)
        if relative <= tol or record.n_iter == max_iter:
            break
        # Where f has a maximum the decrement falls below one on the way; else it never does.
        if decrement > 0.5 and flatness(problem, state.s) > MAX_FLATNESS:
            raise ValueError(infeasible_message(problem))
        following, n_tried = line_search(problem, state, step, decrement, invert)
        n_evaluations += n_tried
        if following is None:
            break
        state = following
    if problem.gamma > 0 and decrement > 0.5:
        # Eigenvalues tie, and W turns about. Whether distances can be kept does not depend on γ.
        spl_equality(replace(problem, gamma=0.0), max_iter=max_iter, tol=1.0)
    return SPLResult(state, gap, record.history, n_evaluations, relative, bool(relative <= tol))


def newton_step(problem: SPLProblem, state: SPLState, invert: Invert) -> tuple[Floats, float]:
    """Newton's step for F_W(s) = d/2·logdet Q − 2φ·s − γ²/8·Tr(WᵀYᵀQ⁻¹YW), and its decrement.

    With k_ef = b_eᵀQ⁻¹b_f and X = Q⁻¹YW its Hessian is −d/2·k_ef² − γ²/4·(b_eᵀX)(Xᵀb_f)·k_ef. f is
    the least of the F_W, and has the gradient of the one that touches it. The decrement is
    that of −2F_W/d, which is self-concordant; infinite where rounding leaves the Hessian singular.
    """
    d, (i, j) = problem.n_components, problem.edges.T
    inverse = invert(state.s, problem.ridge).solve(np.eye(len(problem.Y)))
    columns = inverse[:, i] - inverse[:, j]
    k = columns[i] - columns[j]
    hessian = np.square(k)
    hessian *= d / 2
    if problem.gamma > 0:
        difference = state.QinvYW[i] - state.QinvYW[j]
        k *= difference @ difference.T
        k *= problem.gamma**2 / 4
        hessian += k
    scale = 1 / np.sqrt(np.diag(hessian))
    hessian *= scale
    hessian *= scale[:, None]
    try:
        factor = linalg.cho_factor(hessian, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        if flatness(problem, state.s) > FLAT:
            raise ValueError(infeasible_message(problem)) from None
        return np.zeros_like(state.s), np.inf
    step = scale * linalg.cho_solve(factor, scale * state.gradient)
    return step, float(np.sqrt(max(2 / d * (state.gradient @ step), 0.0)))


def self_concordant_gap(problem: SPLProblem, decrement: float) -> float:
    """An upper bound on f(s*) − f(s): the self-concordant F_W lies above f and touches it at s."""
    if decrement >= 1:
        return np.inf
    return problem.n_components / 2 * (-decrement - np.log1p(-decrement))


def line_search(
    problem: SPLProblem, state: SPLState, step: Floats, decrement: float, invert: Invert
) -> tuple[SPLState | None, int]:
    """A state further along the step with a larger f, if there is one; evaluations made.

    All of the step if that gains about what it promises. Else 1/(1 + decrement) of it, which
    cannot fail while W stays put: halved until f rises, or doubled while it rises further.
    """
    slope, n_tried = float(state.gradient @ step), 0
    if np.isinf(decrement):
        return None, n_tried

    def ahead(length: float) -> tuple[float, SPLState | None]:
        nonlocal n_tried
        n_tried += 1
        try:
            following = evaluate(problem, state.s + length * step, invert)
        except linalg.LinAlgError:  # Q is not positive definite there
            return -np.inf, None
        return following.objective - state.objective, following

    gain, best = ahead(1.0)
    if gain > GOOD * slope:
        return best, n_tried
    length = 1 / (1 + decrement)
    gain, best = ahead(length)
    while gain <= ARMIJO * length * slope:
        length /= 2
        if length < MIN_STEP / (1 + decrement):
            return None, n_tried
        gain, best = ahead(length)
    while 2 * length < 1:
        length *= 2
        larger, following = ahead(length)
        if larger <= gain:
            break
        gain, best = larger, following
    return best, n_tried


def check_stretch(problem: SPLProblem) -> None:
    """Raise ValueError for edges so long that Q would be singular but for rounding."""
    longest = float(np.max(problem.phi, initial=0.0)) * 2 * problem.ridge / problem.n_components
    if longest > MAX_STRETCH**2:
        raise ValueError(
            f"The longest distance between neighbours is {np.sqrt(longest):.3g} times what the "
            "model without edges expects, but loss='equality' can stretch it "
            f"{MAX_STRETCH:.0f} times at most; set scale='auto', lower gamma, leave out samples "
            "that are far from all others, or set loss='hard'."
        )


def flatness(problem: SPLProblem, s: Floats) -> float:
    """How many times thinner than neighbours are apart the posterior is somewhere, squared.

    The diagonal of L, which is at most the inverse of its least variance, in units of the
    shortest edge of each sample or of the prior, if that is shorter. About one for sound
    weights; without bound on the way to a stress L(v) ⪰ 0 with L(v)Y = 0, along which f has no
    maximum.
    """
    n, d, (i, j) = len(problem.Y), problem.n_components, problem.edges.T
    diagonal = np.bincount(i, s, n) + np.bincount(j, s, n)
    shortest = np.full(n, d / problem.ridge)
    np.minimum.at(shortest, i, problem.phi)
    np.minimum.at(shortest, j, problem.phi)
    return float(np.max(diagonal * shortest)) / d


def infeasible_message(problem: SPLProblem) -> str:
    """Why there is no optimum, and what to do."""
    return (
        f"No posterior keeps the distances along all {len(problem.edges):,} edges between "
        f"{len(problem.Y):,} samples, as loss='equality' asks, unless it is flat to a thousandth "
        "of them; lower n_neighbors, at best below the number of features, or set loss='hard' "
        "or 'squared'."
    )
