"""SPL on graphs too entangled to invert: minorise–maximise steps with estimated resistances."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from .._typing import Floats, Ints
from ..graph import adjacency, squared_distances
from ..graph.sketch import laplacian_solver, scaled_laplacian, sketch
from ..linalg import column_signs
from .convergence import Callback
from .spl import (
    Record,
    SPLProblem,
    SPLResult,
    SPLState,
    assemble,
    gap_scale,
    objective,
    projection,
    start,
    tracked_projection,
)

# Random solutions for each step, and for the estimates at the end.
N_COLUMNS, N_FINAL = 16, 64
# The least change of the objective that the noise of the steps lets one see.
MIN_TOL = 1e-5

# Accuracy of the random solutions in the steps, to be well below their noise, and of W in the
# steps and at the end.
SKETCH_RTOL = 1e-2
PROJECTION_RTOL, FINAL_PROJECTION_RTOL = 1e-3, 1e-8
# The data term holds neighbours together by about γ² as much as the graph does. Below this γ
# its W need not be renewed in every step.
SMALL_GAMMA = 1e-2


def spl_sketch(
    problem: SPLProblem,
    *,
    max_iter: int,
    tol: float,
    rng: np.random.Generator,
    n_jobs: int = 1,
    callback: Callback | None = None,
) -> SPLResult:
    """Maximise `op:ebi-SW` by steps that need no line search, so that noise cannot break them.

    Every step takes fresh random signs. Its resistances are right to √(2/16), 35 %, but the
    errors of different steps cancel in the average of their weights, later steps counting
    more; f is concave, so that the average is better than the weights are on average.

    Stops when a step changes the objective at the average by at most `tol` or `MIN_TOL`,
    whichever is larger, relative to `gap_scale` and estimated to second order. The history holds
    estimates of the objective at each step and, last, at the average.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.losses import Squared
    >>> from branchwise.solvers.spl import SPLProblem
    >>> from branchwise.solvers.spl_sketch import spl_sketch
    >>> Y = np.array([[-1.0], [0.0], [1.0]])
    >>> problem = SPLProblem(Y, np.array([[0, 1], [1, 2]]), np.ones(2), 1, 1e-3, Squared(1e3))
    >>> result = spl_sketch(problem, max_iter=200, tol=0, rng=np.random.default_rng(0))
    >>> result.state.s.round(1)  # 0.108 at the optimum
    array([0.1, 0.1])
    """
    renumbered = renumber(problem)
    problem = renumbered.problem
    d = min(problem.n_components, problem.Y.shape[1])
    record = Record(max_iter, callback)
    change, converged = np.inf, False
    s = average = start(problem)
    spread: Floats | None = None
    captured = 0.0
    basis = projection(problem.Y, lambda B: B, d).basis
    for step in range(1, max_iter + 1):
        weight = 2 / (step + 1)  # of this step in the averages of all
        Q = scaled_laplacian(problem.edges, len(problem.Y), s, problem.ridge)
        estimate = sketch(
            problem.edges,
            s,
            Q,
            problem.ridge,
            rng,
            n_columns=N_COLUMNS,
            rtol=SKETCH_RTOL,
            n_jobs=n_jobs,
        )
        if is_projected(problem.gamma, step):
            solve = laplacian_solver(Q, n_jobs=n_jobs)
            projected = tracked_projection(problem.Y, solve, d, basis, rtol=PROJECTION_RTOL)
            basis, captured = projected.basis, projected.captured
            now = squared_distances(projected.QinvYW, problem.edges)
            spread = now if spread is None else spread + weight * (now - spread)
        record.note(objective(problem, s, estimate.logdet, captured), change)
        s = ascend(problem, s, estimate.resistance, spread)
        moved = weight * (s - average)
        average = average + moved
        scale = gap_scale(problem, average, estimate.logdet)
        change = estimated_change(problem, moved, estimate.resistance, spread) / scale
        converged = tol > 0 and change <= max(tol, MIN_TOL)
        if converged:
            break
    state, error = estimate_state(problem, average, basis, rng, n_jobs)
    record.note(state.objective, change)
    return SPLResult(
        renumbered.restore(state),
        np.nan,
        record.history,
        len(record.history),
        change,
        converged,
        "change of the objective",
        error,
    )


def is_projected(gamma: float, step: int) -> bool:
    """Whether a step computes W again: always for a large γ, else in steps 1, 2, 4, 8 and so on."""
    is_power_of_two = step & (step - 1) == 0
    return gamma > SMALL_GAMMA or (gamma > 0 and is_power_of_two)


def estimated_change(
    problem: SPLProblem, moved: Floats, resistance: Floats, spread: Floats | None
) -> float:
    """How much the objective changes near its maximum when the weights move, to second order.

    By the diagonal of the Hessian only.
    """
    curvature = problem.n_components / 2 * resistance**2 + 1 / problem.loss.slack
    if spread is not None:
        curvature += problem.gamma**2 / 4 * spread * resistance
    return float(curvature @ moved**2) / 2


class Renumbered(NamedTuple):
    """A problem with its samples and edges in another order, and where they stood before."""

    problem: SPLProblem
    samples: Ints
    edges: Ints

    def restore(self, state: SPLState) -> SPLState:
        """The state of the problem as it was given."""
        rank, place = np.argsort(self.edges), np.argsort(self.samples)
        return replace(
            state,
            diagonal=state.diagonal[place],
            diagonal_error=np.broadcast_to(state.diagonal_error, len(place))[place],
            s=state.s[rank],
            gradient=state.gradient[rank],
            resistance=state.resistance[rank],
            expected=state.expected[rank],
            QinvYW=state.QinvYW[place],
        )


def renumber(problem: SPLProblem) -> Renumbered:
    """Put neighbours near each other in memory, in an order that depends on their geometry alone.

    Most of the time goes into adding up rows of neighbours. And the same random signs go to the
    same samples, whatever the order and the origin of the data.
    """
    n = len(problem.Y)
    axis = projection(problem.Y, lambda B: B, 1).W
    along = np.argsort(problem.Y @ (axis * column_signs(axis))[:, 0], kind="stable")
    rank = np.empty(n, dtype=np.intp)
    rank[along] = np.arange(n)
    graph = sparse.csr_matrix(adjacency(rank[problem.edges], n))
    graph.sort_indices()  # SciPy visits neighbours in the order in which they are stored
    samples = along[reverse_cuthill_mckee(graph, symmetric_mode=True)]
    rank[samples] = np.arange(n)
    ends = np.sort(rank[problem.edges], axis=1)
    edges = np.lexsort((ends[:, 1], ends[:, 0]))
    renumbered = replace(problem, Y=problem.Y[samples], edges=ends[edges], phi=problem.phi[edges])
    return Renumbered(renumbered, samples, edges)


def ascend(
    problem: SPLProblem, s: Floats, resistance: Floats, spread: Floats | None = None
) -> Floats:
    """Maximiser of a function that lies below f, touches it at s, and is a sum over the edges.

    logdet Q is convex in log s and lies above its tangent Σ s_e·b_eᵀQ⁻¹b_e·log s'_e. For any U,
    Tr(UᵀQ'⁻¹U) ≤ Σ s_e²‖b_eᵀQ⁻¹U‖²/s'_e + c·‖Q⁻¹U‖², because the inverse of a sum of matrices A_e
    lies below Σ M_eᵀA_e⁻¹M_e wherever the M_e add up to the identity.

    `spread` is ‖b_eᵀQ⁻¹YW‖². The touching function is that of the present W, and where the d-th
    eigenvalue ties with the next, W would turn back and forth between steps. The average of
    `spread` over the steps stands for the mixture of subspaces that is optimal there.
    """
    a = problem.n_components / 2 * s * resistance
    kappa = None if spread is None else problem.gamma**2 / 8 * s**2 * spread
    return problem.loss.weights(a, problem.phi, kappa)


def estimate_state(
    problem: SPLProblem, s: Floats, basis: Floats, rng: np.random.Generator, n_jobs: int
) -> tuple[SPLState, float]:
    """What `evaluate` says at s, with logdet and resistances estimated; error of the objective."""
    Q = scaled_laplacian(problem.edges, len(problem.Y), s, problem.ridge)
    estimate = sketch(problem.edges, s, Q, problem.ridge, rng, n_columns=N_FINAL, n_jobs=n_jobs)
    d = min(problem.n_components, problem.Y.shape[1])
    solve = laplacian_solver(Q, n_jobs=n_jobs)
    projected = tracked_projection(problem.Y, solve, d, basis, rtol=FINAL_PROJECTION_RTOL)
    state = assemble(problem, s, estimate.logdet, estimate.diagonal, estimate.resistance, projected)
    state = replace(state, diagonal_error=estimate.diagonal_error)
    return state, problem.n_components / 2 * estimate.logdet_error
