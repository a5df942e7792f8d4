"""MEU: maximum entropy unfolding."""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from branchwise._compat import Interval
from branchwise._memory import check_memory
from branchwise._typing import Floats, Ints, Sparse
from branchwise.graph import adjacency, squared_distances
from branchwise.linalg import kernel_pca
from branchwise.losses import Equality, Hard
from branchwise.neighbors import neighbor_edges
from branchwise.solvers.posterior import kernel_pca_scores, posterior_covariance
from branchwise.solvers.spl import SPLProblem, without_zero_distances
from branchwise.solvers.spl_solver import Solver, choose_solver, solve_spl, spl_bytes

from ._base import Baseline
from ._gaussian import centred_with_variance, warn_unconverged

# With fewer samples per component than this a dense eigensolver is the faster one, as long as the
# matrix is no larger than that.
SAMPLES_PER_COMPONENT, MAX_DENSE = 40, 10_000


class Unfolding(NamedTuple):
    """The density found, and how far it is from the optimum."""

    s: Floats  # weights of the edges
    expected: Floats  # E‖y_i − y_j‖² on every edge
    logdet: float  # of L + λI
    gap: float  # relative to the larger of |objective| and ND/2, at most
    n_iter: int
    converged: bool
    problem: SPLProblem
    solver: Solver


def as_spl(
    edges: Ints, phi: Floats, n_samples: int, n_features: int, lam: float, *, signed: bool = False
) -> SPLProblem:
    """The SPL problem at γ = 0 whose weights are those of MEU, divided by 4λ.

    With s = 4λs' is L + λI = 4λ(L' + I/4), the Q of SPL at γ = 0. So

        D/2·logdet(L + λI) − ½Σφ_e s_e = D/2·logdet(L' + I/4) − 2Σ(λφ_e)s'_e + ND/2·log(4λ),

    which is f of `op:ebi-SW` in D dimensions for the data times √λ. No term of SPL's data model
    is left at γ = 0, and the data themselves are not needed: zeros stand for them.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.meu import as_spl
    >>> as_spl(np.array([[0, 1]]), np.array([3.0]), 2, 5, 0.1).phi.round(3)
    array([0.3])
    """
    loss = Equality() if signed else Hard()
    unused = np.zeros((n_samples, 1))
    return without_zero_distances(SPLProblem(unused, edges, lam * phi, n_features, 0.0, loss))


def unfold(
    edges: Ints,
    phi: Floats,
    n_samples: int,
    n_features: int,
    *,
    lam: float,
    signed: bool = False,
    max_iter: int = 500,
    tol: float = 1e-4,
    seed: int = 0,
) -> Unfolding:
    """Maximise D/2·logdet(L + λI) − ½Σφ_e s_e over the weights s of the edges.

    Parameters
    ----------
    edges : array of shape (n_edges, 2)
    phi : array of shape (n_edges,)
        φ, the squared distances along them.
    n_samples, n_features : int
        N and D.
    lam : float
        λ, positive.
    signed : bool
        Whether weights may be negative.
    max_iter, tol : int, float
        Most iterations, and the relative distance to the optimum at which to stop.
    seed : int
        For graphs too large and too entangled to invert, which random vectors estimate.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.meu import unfold
    >>> edges, phi = np.array([[0, 1], [1, 2]]), np.array([1.0, 4.0])
    >>> unfold(edges, phi, 3, 2, lam=0.01, tol=1e-9).expected.round(6)
    array([1., 4.])
    """
    problem = as_spl(edges, phi, n_samples, n_features, lam, signed=signed)
    solver = choose_solver(problem)
    remedy = "set signed=False or lower n_neighbors" if signed else "lower n_neighbors"
    check_memory(
        spl_bytes(solver, problem),
        f"MEU with {len(edges):,} edges between {n_samples:,} samples",
        remedy,
    )
    rng = np.random.default_rng(seed)
    try:
        result = solve_spl(problem, solver, max_iter=max_iter, tol=tol, rng=rng)
    except ValueError as error:
        if not signed:
            longest, shortest = np.sqrt([phi.max(), phi[phi > 0].min()])
            raise ValueError(
                f"The longest distance between neighbours, {longest:.3g}, is too much beside the "
                f"shortest, {shortest:.3g}: rounding leaves no density with both; leave out "
                "samples that are far from all others, or raise lam."
            ) from error
        raise ValueError(
            f"No density keeps the {len(edges):,} distances between neighbours exactly, as "
            "signed=True asks, within the limits of rounding; lower n_neighbors, at best below "
            f"n_features={n_features}, lower lam, or set signed=False."
        ) from error
    state = result.state
    return Unfolding(
        4 * lam * state.s,
        state.expected / lam,
        state.logdet + n_samples * float(np.log(4 * lam)),
        result.change,
        result.n_iter,
        result.converged,
        problem,
        solver,
    )


def embedding(found: Unfolding, n_components: int, lam: float) -> Floats:
    """Kernel PCA of (L + λI)⁻¹, which is 1/λ times the posterior covariance of the SPL problem."""
    s, n = found.s / (4 * lam), len(found.problem.Y)
    is_many = n < SAMPLES_PER_COMPONENT * n_components and n <= MAX_DENSE
    if found.solver.name == "exact" or is_many:
        scores = kernel_pca(posterior_covariance(found.problem, s), n_components)
    else:
        narrow = replace(found.problem, n_components=n_components)
        scores = kernel_pca_scores(narrow, found.solver, s)
    return scores / np.sqrt(lam)


class MEU(Baseline):
    """Maximum entropy unfolding: the least committed Gaussian that keeps neighbours' distances.

    Lawrence (2012) seeks the density p(Y) nearest to a broad Gaussian m(Y) of precision λ whose
    expected squared distances between neighbours are those of the data:

        min KL(p | m)   subject to   E‖y_i − y_j‖² = φ_ij = ‖y_i − y_j‖² for all neighbours i, j.

    It is Gaussian, with independent features and the precision L + λI between samples, where L is
    the Laplacian of a graph whose weights s are the multipliers of the constraints. They maximise
    the likelihood of the data,

        D/2·logdet(L + λI) − ½·Tr((L + λI)YYᵀ) − ND/2·log 2π,

    and the embedding is the kernel PCA of K = (L + λI)⁻¹. Choose it to compare with: it is `SPL`
    without a noise model, at γ = 0 and ``loss="hard"``, in the dimension of the data instead of
    that of the embedding.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    n_neighbors : int, default=10
        Neighbours per sample, at most n_samples − 1; an edge joins two samples if either is a
        neighbour of the other.
    lam : float, default=0.01
        Precision of the base density times the mean variance of the features: with 0.01 it is ten
        times as wide as the data, in whatever units.
    signed : bool, default=False
        Whether weights may be negative. If not, the constraints are E‖y_i − y_j‖² ≤ φ_ij, with
        equality wherever the weight is positive. If so, all distances are kept exactly; that is
        possible for few neighbours only, as a rule fewer than features, and needs memory for
        n_edges² numbers.
    max_iter : int, default=500
        Most iterations of the search for the weights.
    tol : float, default=1e-4
        Stop when the optimum is proven to be no farther than this, relative to the larger of
        |objective| and n_samples·n_features/2; expected distances are then right to about as
        much.
    random_state : int, RandomState or None, default=None
        Seed of the estimates for graphs that are too large to invert; unused up to some ten
        thousand samples.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        In units of a single feature: its squared distances are, as far as ``n_components``
        allows, 1/n_features of those in the data.
    graph_ : sparse array of shape (n_samples, n_samples)
        Weights s of the edges where they are not zero.
    edges_ : array of shape (n_edges, 2)
        All edges of the neighbour graph.
    expected_squared_distances_ : array of shape (n_edges,)
        E‖y_i − y_j‖² along them.
    lam_ : float
        λ in the units of the data.
    objective_ : float
        The log-likelihood above; an estimate for graphs that are too large to invert.
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int

    Notes
    -----
    What was hard:

    - *The signs of the weights.* Equality constraints have multipliers of either sign, but
      Lawrence's own program keeps them positive, which makes L + λI positive definite by
      itself. It is the default here, too: with more neighbours than features no density keeps all
      distances, the likelihood then has no maximum over signed weights, and the comparisons
      of the SPL paper use up to 50 neighbours for data of 4 to 19 features.
    - *Its λ.* "Very broad" is all that is said, and a number has units. As λ → 0 the
      embedding has a limit if the neighbour graph is connected, while the equations become
      singular along the constant vector; 0.01 is near that limit, and small distances keep ten
      digits.
    - *A disconnected graph.* Nothing ties its components to each other but the base density, so
      that their distances are about 1/√λ_, and the leading columns of the embedding tell them
      apart. That is what the model says; a larger ``lam`` moves them closer.
    - *Copies of a sample.* A distance of zero would need an infinite weight; it counts as a
      hundredth of the median distance.

    References
    ----------
    N. D. Lawrence (2012). A unifying probabilistic perspective for spectral dimensionality
    reduction: insights and new models. Journal of Machine Learning Research 13, 1609–1638.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise_paper.baselines import MEU
    >>> model = MEU(n_components=2, n_neighbors=5).fit(load_iris().data[::3])
    >>> model.embedding_.shape, model.converged_
    ((50, 2), True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Baseline._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "lam": [Interval(Real, 1e-10, 1e10, closed="both")],
        "signed": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    graph_: Sparse

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 10,
        lam: float = 1e-2,
        signed: bool = False,
        max_iter: int = 500,
        tol: float = 1e-4,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.lam = lam
        self.signed = signed
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _fit(self, X: Floats) -> None:
        Y, variance = centred_with_variance(X)
        n, D = Y.shape
        lam = self.lam / variance
        edges = neighbor_edges(Y, min(self.n_neighbors, n - 1))
        phi = squared_distances(Y, edges)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        found = unfold(
            edges,
            phi,
            n,
            D,
            lam=lam,
            signed=self.signed,
            max_iter=self.max_iter,
            tol=self.tol,
            seed=seed,
        )
        self.embedding_ = embedding(found, self.n_components, lam)
        active = found.s != 0
        self.graph_ = adjacency(edges[active], n, found.s[active])
        self.edges_, self.expected_squared_distances_ = edges, found.expected
        self.lam_, self.n_iter_, self.converged_ = lam, found.n_iter, found.converged
        exponent = float(phi @ found.s) + lam * n * D * variance
        volume = D * (found.logdet - n * float(np.log(2 * np.pi)))
        self.objective_ = (volume - exponent) / 2
        if not found.converged and self.tol > 0:
            warn_unconverged("MEU", found.n_iter, self.max_iter, found.gap, self.tol)
