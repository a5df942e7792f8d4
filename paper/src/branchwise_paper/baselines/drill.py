"""DRILL: a sparse inverse covariance between the samples (`op:drill`)."""

from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import linalg, sparse

from branchwise._compat import Interval
from branchwise._memory import check_memory
from branchwise._typing import Floats, Sparse
from branchwise.linalg import kernel_pca

from ._base import Baseline
from ._gaussian import centred_with_variance, warn_unconverged

# Over-relaxation of the averaged iterate; iterations between two looks at the gap.
RELAXATION, N_BETWEEN = 1.6, 5
# The weight of the coupling is corrected in early iterations only, as convergence needs.
N_ADAPTED, MAX_CORRECTION = 200, 5.0
# Matrices of N × N numbers that a fit holds at a time.
N_MATRICES = 12


class Precision(NamedTuple):
    """The best precision matrix met, and how far it is from the optimum."""

    P: Floats
    cost: float
    gap: float  # relative to the larger of |cost| and N, at most
    n_iter: int
    converged: bool


def sparse_precision(
    S: Floats, penalty: float, lam: float, *, max_iter: int = 1000, tol: float = 1e-5
) -> Precision:
    """Minimise g(P) = −logdet P + Tr(PS) + ρ‖P − λI‖₁ over positive definite P.

    The norm is over all entries, also those of the diagonal. By alternating directions: P for the
    smooth part, from the eigenvectors of a matrix; Z for the norm, with exact zeros; and a
    multiplier V of P = Z, whose weight τ balances the relative change of Z against the relative
    distance of P to Z.

    Every multiplier satisfies |τV_ij| ≤ ρ, and for every such U = τV is
    logdet(S + U) + N − λ·Tr U ≤ min g. Stops when the least g met is within `tol` of the largest
    such bound, relative to the larger of |g| and N.

    Parameters
    ----------
    S : array of shape (n, n)
        Symmetric positive semidefinite, with entries of about one.
    penalty, lam : float
        ρ, positive, and λ.
    max_iter, tol : int, float

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.drill import sparse_precision
    >>> S = np.array([[1.0, 0.6, 0.1], [0.6, 1.0, 0.1], [0.1, 0.1, 1.0]])
    >>> found = sparse_precision(S, 0.2, 0.01, tol=1e-10)
    >>> np.linalg.inv(found.P).round(4)
    array([[1.2, 0.4, 0. ],
           [0.4, 1.2, 0. ],
           [0. , 0. , 1.2]])
    """
    n = len(S)
    start = 1 / (np.diag(S) + penalty)  # the solution, if no entry off the diagonal exceeds ρ
    Z, V = np.diag(start), np.clip(-S, -penalty, penalty)
    np.fill_diagonal(V, penalty)
    tau = 0.1 / float(np.mean(start)) ** 2
    V /= tau
    best, best_cost, bound = Z, cost(Z, S, penalty, lam), dual_bound(tau * V, S, penalty, lam)
    n_iter = 0
    while True:
        gap = max(best_cost - bound, 0.0) / max(abs(best_cost), float(n))
        if gap <= tol or n_iter == max_iter:
            break
        for _ in range(min(N_BETWEEN, max_iter - n_iter)):
            n_iter += 1
            values, Q = linalg.eigh(tau * (Z - V) - S, driver="evd", check_finite=False)
            # The positive root of τp − 1/p = value, without cancellation.
            root = np.sqrt(values**2 + 4 * tau)
            p = np.where(values > 0, (root + values) / (2 * tau), 2 / (root + np.abs(values)))
            half = Q * np.sqrt(p)
            P = half @ half.T
            relaxed = RELAXATION * P + (1 - RELAXATION) * Z
            moved = relaxed + V
            following = soft_threshold(moved, penalty / tau, lam)
            V = moved - following
            apart = float(np.linalg.norm(P - following) / np.linalg.norm(p))
            change = tau * float(np.linalg.norm(following - Z) / np.linalg.norm(1 / p))
            Z = following
            if n_iter % 10 == 0 and n_iter <= N_ADAPTED and apart > 0 and change > 0:
                limited = np.clip(apart / change, MAX_CORRECTION**-2, MAX_CORRECTION**2)
                tau, V = tau * np.sqrt(limited), V / np.sqrt(limited)
        bound = max(bound, dual_bound(tau * V, S, penalty, lam))
        present = cost(Z, S, penalty, lam)
        if present < best_cost:
            best, best_cost = Z, present
    return Precision(best, best_cost, gap, n_iter, bool(gap <= tol))


def soft_threshold(M: Floats, threshold: float, lam: float) -> Floats:
    """The minimiser Z of ½‖Z − M‖² + threshold·‖Z − λI‖₁.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.drill import soft_threshold
    >>> soft_threshold(np.array([[3.0, -0.5], [-0.5, 1.2]]), 1.0, 1.0)
    array([[2., 0.],
           [0., 1.]])
    """
    identity = lam * np.eye(len(M))
    away = M - identity
    return np.copysign(np.maximum(np.abs(away) - threshold, 0.0), away) + identity


def cost(P: Floats, S: Floats, penalty: float, lam: float) -> float:
    """g(P); infinite where P is not positive definite."""
    norm = float(np.abs(P - lam * np.eye(len(P))).sum())
    return float(np.vdot(P, S)) - logdet(P) + penalty * norm


def dual_bound(U: Floats, S: Floats, penalty: float, lam: float) -> float:
    """A lower bound on min g from U, whose entries are clipped to [−ρ, ρ]; −∞ if it proves none."""
    U = np.clip(U, -penalty, penalty)
    return logdet(S + U) + len(S) - lam * float(np.trace(U))


def logdet(P: Floats) -> float:
    """Log-determinant, −∞ where P is not positive definite."""
    try:
        factor = linalg.cholesky(P, lower=True, check_finite=False)
    except linalg.LinAlgError:
        return -np.inf
    return 2 * float(np.log(np.diag(factor)).sum())


class DRILL(Baseline):
    """Dimensionality reduction by a regularised inverse covariance between the samples.

    Lawrence (2012) takes each of the D features for a draw from a Gaussian over the N samples
    and learns its inverse covariance, made sparse by an ℓ1 penalty (`op:drill`):

        max D/2·logdet(Λ + λI) − ½·Tr((Λ + λI)YYᵀ) − α‖Λ‖₁   over symmetric Λ

    for the centred data Y. The embedding is the kernel PCA of K = (Λ + λI)⁻¹. It is the graphical
    lasso with samples in the place of variables: no neighbour graph is given, the graph is what
    remains of Λ. Choose it to compare with, for up to a thousand samples: unlike the weights of
    `StructureLearning` or `MEU`, entries of Λ may have either sign, and rows do not sum to zero.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    alpha : float, default=1.0
        Penalty α, as a multiple of the mean variance of the features, so that units do not
        matter. The paper has 1, and data of unspecified scale.
    lam : float, default=0.01
        Precision λ of the base density times the mean variance of the features. Without influence
        on the embedding unless large, see the notes.
    max_iter : int, default=1000
        Most iterations.
    tol : float, default=1e-5
        Stop when the optimum is proven to be no farther than this, relative to the larger of
        |objective| and n_samples·n_features/2.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        In units of a single feature.
    precision_ : array of shape (n_samples, n_samples)
        Λ + λI.
    graph_ : sparse array of shape (n_samples, n_samples)
        −Λ without its diagonal, so that samples that attract each other have positive weights, as
        in a Laplacian. It has no entries where Λ is zero.
    alpha_, lam_ : float
        α and λ in the units of the data.
    objective_ : float
        The maximum above.
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int

    Notes
    -----
    What was hard:

    - *What λ does.* K_ii = (YYᵀ)_ii/D + 2α/D wherever Λ_ii > 0, and (Λ + λI)_ii ≥ 1/K_ii. So if
      λ ≤ 1/max K_ii, the whole diagonal of Λ is positive, its penalty is linear, and λ drops out:
      the problem is the usual graphical lasso for YYᵀ/D + (2α/D)·I with the penalty 2α/D off the
      diagonal, as scikit-learn solves it. Only a λ beyond that, a base density narrower than the
      data, has an influence; diagonal entries of Λ may then be zero or negative. The solver
      treats both.
    - *Many features make α small.* D features are D draws, against which the penalty stays what
      it is: at D = 1,000 and α = 1, Λ is dense, and as ill-conditioned as YYᵀ is nearly
      singular. Raise ``alpha`` with D for a sparse graph.
    - *Ill-conditioning.* With N samples of little noise YYᵀ is nearly singular. Coordinate
      descent, as in scikit-learn's graphical lasso, breaks down on such matrices ("non SPD
      result"), and steps by second-order models crawl. Alternating directions, which invert
      the smooth part exactly by eigenvectors, do not mind, and come with a bound that proves how
      far the optimum is.
    - *Cost.* An iteration is an eigendecomposition. With one thread and ``alpha=1``, 200
      images of 256 pixels take 500 iterations and 2 s, 500 of them 700 iterations and 25 s; with
      ``alpha=10`` they take a tenth of that. At 1,000 an iteration takes 0.2 s, and ``alpha=10``
      half a minute: more is not practical.
    - Samples far from the mean that no other resembles, and all samples for a large α, are joined
      to nothing: K is then diagonal there, and the leading components belong to those with the
      largest entries. The embedding says little in that case.

    References
    ----------
    N. D. Lawrence (2012). A unifying probabilistic perspective for spectral dimensionality
    reduction: insights and new models. Journal of Machine Learning Research 13, 1609–1638.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise_paper.baselines import DRILL
    >>> model = DRILL(alpha=0.1).fit(load_iris().data[::3])
    >>> model.embedding_.shape, model.converged_
    ((50, 2), True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Baseline._parameter_constraints,
        "alpha": [Interval(Real, 1e-10, 1e10, closed="both")],
        "lam": [Interval(Real, 0, 1e10, closed="both")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    graph_: Sparse

    def __init__(
        self,
        n_components: int = 2,
        *,
        alpha: float = 1.0,
        lam: float = 1e-2,
        max_iter: int = 1000,
        tol: float = 1e-5,
    ):
        self.n_components = n_components
        self.alpha = alpha
        self.lam = lam
        self.max_iter = max_iter
        self.tol = tol

    def _fit(self, X: Floats) -> None:
        Y, variance = centred_with_variance(X)
        n, D = Y.shape
        check_memory(8 * N_MATRICES * n**2, f"DRILL on {n:,} samples", "take fewer samples")
        # Solved in units of the variance, where numbers are about one.
        found = sparse_precision(
            Y @ Y.T / (D * variance),
            2 * self.alpha / D,
            self.lam,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        covariance = linalg.cho_solve(linalg.cho_factor(found.P), np.eye(n)) * variance
        self.embedding_ = kernel_pca(covariance, self.n_components)
        self.precision_ = found.P / variance
        off_diagonal = np.where(np.eye(n, dtype=bool), 0.0, -self.precision_)
        self.graph_ = sparse.csr_array(off_diagonal)
        self.alpha_, self.lam_ = self.alpha * variance, self.lam / variance
        # The determinant is that of the precision times the variance.
        self.objective_ = -D / 2 * (found.cost + n * float(np.log(variance)))
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        if not found.converged and self.tol > 0:
            warn_unconverged("DRILL", found.n_iter, self.max_iter, found.gap, self.tol)
