"""Which solver for which problem: by dense, sparse or sketched inverses, or Newton's method."""

from typing import NamedTuple

import numpy as np

from ..graph.inverse import Plan, dense_inverse, plan_elimination, selected_inverse
from .convergence import Callback
from .spl import SPLProblem, SPLResult, spl
from .spl_equality import spl_equality
from .spl_sketch import N_COLUMNS, spl_sketch

# Below this many samples a dense inverse is as fast as any.
MAX_EXACT = 400
# An exact inversion may cost so many operations, some five seconds, or so many for each sample:
# then a certified optimum takes about as long as a sketch.
MAX_FLOPS, MAX_FLOPS_PER_SAMPLE = 1.5e11, 1e6
# Vectors of E numbers that the search for the optimum keeps.
N_SEARCH = 60
# Matrices of E × E numbers that a Newton step holds at a time.
N_HESSIANS = 4


class Solver(NamedTuple):
    """How a problem is to be solved."""

    name: str  # "exact", "sparse" or "sketch"
    plan: Plan | None  # of the elimination, for "sparse"


def choose_solver(problem: SPLProblem, name: str = "auto") -> Solver:
    """The solver of that name; for "auto" the fastest, but a proven optimum where it can be had.

    Weights of either sign are found by dense matrices only.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.losses import Hard
    >>> from branchwise.solvers.spl import SPLProblem
    >>> from branchwise.solvers.spl_solver import choose_solver
    >>> Y = np.array([[-1.0], [0.0], [1.0]])
    >>> problem = SPLProblem(Y, np.array([[0, 1], [1, 2]]), np.ones(2), 1, 1e-3, Hard())
    >>> choose_solver(problem).name
    'exact'
    """
    n = len(problem.Y)
    if name == "exact" or (name == "auto" and (n <= MAX_EXACT or problem.loss.signed)):
        return Solver("exact", None)
    if name == "sketch":
        return Solver("sketch", None)
    plan = plan_elimination(problem.edges, n, np.sqrt(problem.phi))
    if name == "auto" and plan.n_flops > max(MAX_FLOPS, MAX_FLOPS_PER_SAMPLE * n):
        return Solver("sketch", None)
    return Solver("sparse", plan)


def spl_bytes(solver: Solver, problem: SPLProblem) -> int:
    """Memory that a solver takes at its peak, besides the data."""
    (n_samples, n_features), n_edges = problem.Y.shape, len(problem.edges)
    if solver.name == "sketch":
        return 8 * (6 * N_COLUMNS * n_samples + 2 * n_features * n_samples + 24 * n_edges)
    plan = solver.plan
    n_numbers = 3 * n_samples**2 if plan is None else plan.n_entries + plan.n_working
    if problem.loss.signed:
        n_numbers += n_edges * (N_HESSIANS * n_edges + n_samples)
    return 8 * (n_numbers + 4 * n_features * n_samples + N_SEARCH * n_edges)


def solve_spl(
    problem: SPLProblem,
    solver: Solver,
    *,
    max_iter: int,
    tol: float,
    rng: np.random.Generator,
    n_jobs: int = 1,
    callback: Callback | None = None,
) -> SPLResult:
    """The problem's optimum by the chosen solver."""
    if solver.name == "sketch":
        return spl_sketch(
            problem, max_iter=max_iter, tol=tol, rng=rng, n_jobs=n_jobs, callback=callback
        )
    if problem.loss.signed:
        return spl_equality(problem, max_iter=max_iter, tol=tol, callback=callback)
    if solver.plan is None:
        invert = dense_inverse(problem.edges, len(problem.Y))
    else:
        invert = selected_inverse(solver.plan)
    return spl(problem, max_iter=max_iter, tol=tol, invert=invert, callback=callback)
