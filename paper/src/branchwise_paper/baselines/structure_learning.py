"""Structure learning of Lake and Tenenbaum (`op:sl`): a sparse graph among all pairs of samples."""

from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import linalg, optimize

from branchwise._compat import Interval
from branchwise._memory import check_memory
from branchwise._typing import Floats, Ints, Sparse
from branchwise.graph import adjacency, laplacian, squared_distances
from branchwise.graph.inverse import GraphInverse, dense_inverse
from branchwise.linalg import kernel_pca
from branchwise.neighbors import neighbor_edges

from ._base import Baseline
from ._gaussian import centred_with_variance, warn_unconverged

# Neighbours among which the first edges are sought; edges per sample to add in each round.
N_NEIGHBORS, N_ADDED = 10, 2
# The part of the tolerance to which the problem among the present edges is solved.
INNER = 0.3
# Matrices of N × N numbers that a fit holds at a time.
N_MATRICES = 8


class Structure(NamedTuple):
    """The graph found, and how far it is from the optimum over all graphs."""

    edges: Ints  # that were tried
    s: Floats  # their weights
    inverse_sigma2: float
    objective: float
    gap: float  # relative to the larger of |objective| and N, at most
    history: list[float]  # of the objective, after every round
    n_iter: int  # of the searches of all rounds
    converged: bool


def learn_structure(
    Y: Floats, beta: float, *, max_iter: int = 2000, tol: float = 1e-4
) -> Structure:
    """Maximise logdet(L + cI) − Σ a_e s_e − a_0 c over s ≥ 0 on all pairs, and c = 1/σ² > 0.

    This is `op:sl`: a_e = (φ_e + 2β)/D, for ‖S‖₁ counts every pair twice, and a_0 = ‖Y‖²/D. The
    problem is concave in (s, c). It is solved among the edges of a neighbour graph; then the pairs
    that would gain most from an edge are added, until none would.

    Stops when the optimum over all pairs is proven to be within `tol`, relative to the larger of
    |objective| and N.

    Parameters
    ----------
    Y : array of shape (n_samples, n_features)
        Centred samples, whose features vary by about one.
    beta : float
        β, positive.
    max_iter, tol : int, float

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.structure_learning import learn_structure
    >>> Y = np.array([[-1.0, -1.2], [-1.0, -0.8], [1.0, 0.8], [1.0, 1.2]])
    >>> found = learn_structure(Y, 0.01)
    >>> found.edges[found.s > 0].tolist()
    [[0, 1], [2, 3]]
    """
    n, D = Y.shape
    edges = neighbor_edges(Y, min(N_NEIGHBORS, n - 1))
    energy = float(np.vdot(Y, Y)) / D
    # Variables in units of what they cost: u_e = a_e·s_e and w = a_0·c. At the optimum their sum
    # is N, and Tr Q⁻¹ = a_0 with 1/c ≤ Tr Q⁻¹ ≤ N/c shows that 1 ≤ w ≤ N.
    u, w = np.full(len(edges), n / (2 * len(edges))), n / 2
    squares = np.einsum("ij,ij->i", Y, Y)
    all_costs = (np.add.outer(squares, squares) - 2 * Y @ Y.T + 2 * beta) / D
    history: list[float] = []
    n_iter = 0
    while True:
        costs = (squared_distances(Y, edges) + 2 * beta) / D
        u, w, inverse, n_new = search(edges, costs, energy, n, u, w, max_iter - n_iter, INNER * tol)
        n_iter += n_new
        objective = inverse.logdet - float(u.sum()) - w
        history.append(objective)
        K = inverse.solve(np.eye(n))
        ratio = np.add.outer(inverse.diagonal, inverse.diagonal) - 2 * K
        ratio /= np.maximum(all_costs, 2 * beta / D)  # rounding may bring distances below zero
        np.fill_diagonal(ratio, 0.0)
        gap = optimality_gap(float(u.sum()) + w, ratio.max(), inverse, energy)
        gap /= max(abs(objective), float(n))
        if gap <= tol or n_iter >= max_iter:
            break
        ratio[edges[:, 0], edges[:, 1]] = 0.0
        added = most_wanted(np.triu(ratio), N_ADDED * n)
        if len(added) == 0:  # rounding has ended the search
            break
        edges, u = np.vstack([edges, added]), np.append(u, np.zeros(len(added)))
    return Structure(
        edges, u / costs, w / energy, objective, gap, history, n_iter, bool(gap <= tol)
    )


def search(
    edges: Ints,
    costs: Floats,
    energy: float,
    n: int,
    u: Floats,
    w: float,
    max_iter: int,
    tol: float,
) -> tuple[Floats, float, GraphInverse, int]:
    """The optimum over the weights of some edges and σ² by L-BFGS-B, from (u, w)."""
    invert = dense_inverse(edges, n)
    best: tuple[float, Floats, GraphInverse] | None = None

    def negative(x: Floats) -> tuple[float, Floats]:
        nonlocal best
        inverse = invert(x[:-1] / costs, x[-1] / energy)
        value = inverse.logdet - float(x.sum())
        if best is None or value > best[0]:
            best = value, x.copy(), inverse
        slope = np.append(inverse.resistance / costs, inverse.diagonal.sum() / energy) - 1
        return -value, -slope

    def after_iteration(intermediate_result: optimize.OptimizeResult) -> None:
        assert best is not None
        value, x, inverse = best
        worst = float(np.max(inverse.resistance / costs, initial=0.0))
        if optimality_gap(float(x.sum()), worst, inverse, energy) <= tol * max(abs(value), n):
            raise StopIteration  # SciPy's way to end a minimisation

    result = optimize.minimize(
        negative,
        np.append(u, w),
        jac=True,
        method="L-BFGS-B",
        bounds=optimize.Bounds(
            np.append(np.zeros(len(u)), 1.0), np.append(np.full(len(u), np.inf), n)
        ),
        callback=after_iteration,
        options={
            "maxiter": max(max_iter, 1),
            "maxfun": 20 * max(max_iter, 1),
            "maxcor": 20,
            "ftol": 0.0,
            "gtol": 0.0,
        },
    )
    assert best is not None
    _, x, inverse = best
    return x[:-1], float(x[-1]), inverse, int(result.nit)


def optimality_gap(spent: float, worst: float, inverse: GraphInverse, energy: float) -> float:
    """An upper bound on how far the optimum is above logdet Q − `spent`, by weak duality.

    If all b_eᵀKb_e ≤ a_e and Tr K ≤ a_0, no Q of the model has a value above −logdet K − N. The
    largest multiple αQ⁻¹ that satisfies this is taken; `worst` is the largest b_eᵀQ⁻¹b_e/a_e.
    """
    n = len(inverse.diagonal)
    alpha = 1 / max(worst, float(inverse.diagonal.sum()) / energy)
    return max(spent - n - n * float(np.log(alpha)), 0.0)


def most_wanted(ratio: Floats, n_pairs: int) -> Ints:
    """The pairs with the largest ratios above one, at most so many.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.structure_learning import most_wanted
    >>> most_wanted(np.array([[0.0, 3.0, 0.5], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]]), 1)
    array([[0, 1]])
    """
    i, j = np.nonzero(ratio > 1)
    order = np.argsort(-ratio[i, j], kind="stable")[:n_pairs]
    return np.column_stack([i[order], j[order]])


class StructureLearning(Baseline):
    """Structure learning of Lake and Tenenbaum: a sparse graph of attraction among all samples.

    Each of the D features is a draw from a Gaussian over the N samples whose precision is a graph
    Laplacian plus a diagonal. Weights and diagonal are learned under an ℓ1 penalty (`op:sl`):

        max logdet Q − Tr(QYYᵀ)/D − β/D·‖S‖₁,   Q = diag(S1) − S + I/σ²,   S ≥ 0,   σ² > 0

    for the centred data Y and all symmetric S without a diagonal. The embedding is the kernel PCA
    of Q⁻¹. Choose it to compare with, where no neighbour graph should be given and weights should
    mean similarity; up to some two thousand samples. With a neighbour graph it is close to `MEU`,
    and to `SPL` at γ = 0, whose ridge is not learned.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    beta : float, default=1.0
        Penalty β, as a multiple of the mean variance of the features, so that units do not
        matter. It acts as 2β added to all squared distances.
    max_iter : int, default=2000
        Most iterations, of all searches together.
    tol : float, default=1e-4
        Stop when the optimum over all graphs is proven to be no farther than this, relative to
        the larger of |objective| and n_samples; expected distances are then right to about as
        much. The objective itself is nearer by far, and rounding ends the search at proofs of
        1e-5 to 1e-7.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        In units of a single feature.
    graph_ : sparse array of shape (n_samples, n_samples)
        S, where it is not zero.
    sigma2_ : float
        σ².
    beta_ : float
        β in the units of the data.
    objective_ : float
        The maximum above.
    objective_history_ : array
        Its value after each round of the search, in which more pairs take part than before.
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int

    Notes
    -----
    At the optimum D·(Q⁻¹_ii + Q⁻¹_jj − 2Q⁻¹_ij), the squared distance that the model expects, is
    φ_ij + 2β wherever s_ij > 0 and no more elsewhere, and Tr Q⁻¹ = ‖Y‖²/D: the model has the total
    variance of the data.

    What was hard:

    - *N(N − 1)/2 weights.* Few of them are positive, some three to ten per sample. The
      search begins with the ten nearest neighbours and adds the pairs that violate the condition
      above, with a proof for all pairs in the end.
    - *σ² and S are learned together.* In 1/σ² the problem is concave, and the two conditions of the
      optimum bound it: D/‖Y‖² ≤ 1/σ² ≤ N·D/‖Y‖². The search never leaves that interval.
    - *Ambiguities.* ‖S‖₁ is taken over ordered pairs, as it is printed. The data are centred
      feature by feature, which distances do not see but σ² does. The paper calls the problem
      equivalent to SPL with an absolute slack and γ = 0; it is at a given σ², not with a learned
      one.
    - *Cost.* An evaluation inverts an N × N matrix, and 100 to 300 are needed: with one
      thread 500 samples take 1 to 2 s, 1,000 take 6 to 13 s, and 2,000 take 40 s.

    References
    ----------
    B. M. Lake and J. B. Tenenbaum (2010). Discovering structure by learning sparse graphs.
    Proceedings of the 32nd Annual Conference of the Cognitive Science Society, 778–784.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise_paper.baselines import StructureLearning
    >>> model = StructureLearning().fit(load_iris().data[::3])
    >>> model.embedding_.shape, model.converged_
    ((50, 2), True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Baseline._parameter_constraints,
        "beta": [Interval(Real, 1e-10, 1e10, closed="both")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    graph_: Sparse

    def __init__(
        self,
        n_components: int = 2,
        *,
        beta: float = 1.0,
        max_iter: int = 2000,
        tol: float = 1e-4,
    ):
        self.n_components = n_components
        self.beta = beta
        self.max_iter = max_iter
        self.tol = tol

    def _fit(self, X: Floats) -> None:
        Y, variance = centred_with_variance(X)
        n = len(Y)
        task = f"StructureLearning on {n:,} samples"
        check_memory(8 * N_MATRICES * n**2, task, "take fewer samples")
        found = learn_structure(
            Y / np.sqrt(variance), self.beta, max_iter=self.max_iter, tol=self.tol
        )
        Q = laplacian(found.edges, n, found.s).toarray() + found.inverse_sigma2 * np.eye(n)
        K = linalg.cho_solve(linalg.cho_factor(Q), np.eye(n))
        self.embedding_ = kernel_pca(K * variance, self.n_components)
        active = found.s > 0
        self.graph_ = adjacency(found.edges[active], n, found.s[active] / variance)
        self.sigma2_ = variance / found.inverse_sigma2
        self.beta_ = self.beta * variance
        # The determinant is that of Q times the variance.
        shift = n * float(np.log(variance))
        self.objective_history_ = np.array(found.history) - shift
        self.objective_ = found.objective - shift
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        if not found.converged and self.tol > 0:
            warn_unconverged("StructureLearning", found.n_iter, self.max_iter, found.gap, self.tol)
