"""Three ways to solve SPL, and the choice between them."""

from typing import NamedTuple

import numpy as np

from .._typing import Floats
from ..graph.inverse import Plan, dense_inverse, plan_elimination, selected_inverse
from ..graph.sketch import laplacian_solver, scaled_laplacian
from ..linalg import column_signs, complete_basis, top_eigenvectors
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


class Path(NamedTuple):
    """How a problem is to be solved."""

    name: str  # "exact", "sparse" or "sketch"
    plan: Plan | None  # of the elimination, for "sparse"


def choose_path(problem: SPLProblem, solver: str = "auto") -> Path:
    """The path of that name; for "auto" the fastest, but a proven optimum where it can be had.

    Weights of either sign are found by dense matrices only.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.solvers.spl import SPLProblem
    >>> from branchwise.solvers.spl_paths import choose_path
    >>> Y = np.array([[-1.0], [0.0], [1.0]])
    >>> problem = SPLProblem(Y, np.array([[0, 1], [1, 2]]), np.ones(2), 1, 1e-3, 1e3)
    >>> choose_path(problem).name
    'exact'
    """
    n = len(problem.Y)
    if solver == "exact" or (solver == "auto" and (n <= MAX_EXACT or problem.lower < 0)):
        return Path("exact", None)
    if solver == "sketch":
        return Path("sketch", None)
    plan = plan_elimination(problem.edges, n, np.sqrt(problem.phi))
    if solver == "auto" and plan.n_flops > max(MAX_FLOPS, MAX_FLOPS_PER_SAMPLE * n):
        return Path("sketch", None)
    return Path("sparse", plan)


def spl_bytes(
    path: Path, n_samples: int, n_features: int, n_edges: int, *, signed: bool = False
) -> int:
    """Memory that a path takes at its peak, besides the data; `signed` as `spl_equality` needs."""
    if path.name == "sketch":
        return 8 * (6 * N_COLUMNS * n_samples + 2 * n_features * n_samples + 24 * n_edges)
    n_numbers = 3 * n_samples**2 if path.plan is None else path.plan.n_entries + path.plan.n_working
    if signed:
        n_numbers += n_edges * (N_HESSIANS * n_edges + n_samples)
    return 8 * (n_numbers + 4 * n_features * n_samples + N_SEARCH * n_edges)


def solve_spl(
    problem: SPLProblem,
    path: Path,
    *,
    max_iter: int,
    tol: float,
    rng: np.random.Generator,
    n_jobs: int = 1,
    callback: Callback | None = None,
) -> SPLResult:
    """The problem's optimum by the chosen path."""
    if path.name == "sketch":
        return spl_sketch(
            problem, max_iter=max_iter, tol=tol, rng=rng, n_jobs=n_jobs, callback=callback
        )
    if problem.lower < 0:
        return spl_equality(problem, max_iter=max_iter, tol=tol, callback=callback)
    if path.plan is None:
        invert = dense_inverse(problem.edges, len(problem.Y))
    else:
        invert = selected_inverse(path.plan)
    return spl(problem, max_iter=max_iter, tol=tol, invert=invert, callback=callback)


def kernel_pca_scores(problem: SPLProblem, path: Path, s: Floats, *, n_jobs: int = 1) -> Floats:
    """Kernel PCA of the posterior covariance Σ = Q⁻¹/4, without forming it.

    L has the eigenvectors of Σ, and its null vector is what centring takes away. The inverse of
    L + c'·I, with c' much smaller than the ridge c, tells the wanted ones far better apart.
    """
    n, shift = len(problem.Y), 1e-3 * problem.ridge
    d = min(problem.n_components, n - 1)
    if path.plan is None:
        solve = laplacian_solver(scaled_laplacian(problem.edges, n, s, shift), n_jobs=n_jobs)
    else:
        exact = selected_inverse(path.plan)(s, shift).solve

        def solve(B: Floats, accuracy: float) -> Floats:
            return exact(B)

    def apply(V: Floats, accuracy: float) -> Floats:
        X = solve(V - V.mean(axis=0), accuracy)
        return X - X.mean(axis=0)

    start = complete_basis(np.zeros((n, 0)), d)
    values, vectors, _ = top_eigenvectors(apply, start, d)
    variance = 1 / (4 * (1 / values - shift + problem.ridge))
    scores = vectors[:, :d] * np.sqrt(variance)
    return scores * column_signs(scores)
