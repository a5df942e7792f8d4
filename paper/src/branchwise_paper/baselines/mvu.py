"""Maximum variance unfolding."""

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from branchwise._compat import Interval
from branchwise._typing import Floats
from branchwise.linalg import column_signs

from ._base import Baseline
from ._mvu_certificate import dual_feasible
from ._mvu_graph import framework
from ._mvu_solver import Unfolding, unfold
from .spectral import connected_neighbors

# Columns of the factor, beyond twice the number of neighbours. With fewer than the rank of the
# optimum little variance is lost, but the dual bound is no longer near.
SPARE = 15

# Entries of the factor times iterations that are affordable.
WORK = 2.5e8


class MVU(Baseline):
    """Maximum variance unfolding: samples as far apart as their neighbours let them.

        max Tr(K) over positive semidefinite K of sum zero
        subject to K_ii + K_jj − 2K_ij = ‖y_i − y_j‖² for all neighbours i, j

    (`op:mvu`, `con:preserve` and `con:origin` of the paper; Weinberger, Sha and Saul 2004); the
    embedding is the kernel PCA of K. Choose it where neighbours lie on a surface that is curved but
    not torn, with little noise: it is the one method that keeps the distances between neighbours
    exactly. It does not tolerate noise, nor edges that short-cut the surface.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding. Components beyond the rank of K are zero.
    n_neighbors : int, default=10
        Neighbours per sample, at most n_samples − 1 of them; the distance between two samples is
        kept if either is a neighbour of the other.
    tol : float, default=1e-2
        Stop when the root mean squared relative violation of the constraints, the relative residual
        ‖LR − R‖/‖R‖ of the optimality condition, where K = RRᵀ, and the relative difference between
        primal and dual objective are all at most this.
    max_iter : int or None, default=None
        Most iterations to run. None is as many as take about two minutes for 3,500 samples:
        between 1,000 and 20,000, fewer for more samples or neighbours.
    random_state : int, RandomState or None, default=None
        Seed of the small displacements that let the samples leave the space of the data.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
    factor_ : array of shape (n_samples, n_columns)
        R with K = RRᵀ, columns in descending order of variance.
    edges_ : array of shape (n_edges, 2)
        The pairs whose distances are kept.
    weights_ : array of shape (n_edges,)
        The best w found that is feasible for the dual `op:dual-mvu`, min Σ w·φ subject to
        λ_{N−1}(L(w)) ≥ 1. An edge under tension has a positive one. Edges between copies of a
        sample, and edges that repeat one between copies of its ends, have zero.
    objective_ : float
        Tr(K).
    dual_bound_ : float
        Σ w·φ: no K that meets the constraints has a larger trace.
    duality_gap_ : float
        (dual_bound_ − objective_)/objective_: no K that meets the constraints has a trace larger by
        more than this part. It is negative if violated constraints give K more variance than any
        that meets them; the optimum is then smaller by at least that part.
    violation_ : float
        Largest |K_ii + K_jj − 2K_ij − φ_ij|/φ_ij of any edge, φ_ij = ‖y_i − y_j‖².
    rms_violation_ : float
        Root of the mean squared relative violation.
    residual_ : float
        ‖LR − R‖/‖R‖.
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int

    Notes
    -----
    **What was hard.** The problem is convex in K, which has n² entries. Here K = RRᵀ with a few
    more columns than neighbours (Burer and Monteiro 2003), an augmented Lagrangian for the
    constraints, and L-BFGS, whose line search is exact because the function is a quartic along a
    line. That is no longer convex, but with enough columns it has no optima that the convex problem
    has not, and the dual bound says in each case whether it was so. The stretched samples are as
    ill-conditioned as a chain of springs; a Laplacian weighted by the present tensions and
    stiffness of the edges, factored anew with each update of the multipliers, takes care of that.

    Where more than n_features + 1 samples are all neighbours of each other, no K in the interior of
    the cone keeps their distances; the dual then need not have a solution, multipliers grow without
    end and the last percent of the variance depends on the last tenths of a percent of the
    distances. There ``tol`` may be missed, with a warning.

    The multipliers after the last update are a poor point of the dual: λ_{N−1}(L) is often
    negative, because directions that hardly matter to R are not finished. Their mean over the
    second half of the updates, with the negative part shrunk by a few percents, is a far better
    one: for COIL-20 and five neighbours it proves 0.1 % where the last ones without their negative
    part prove 18 %.

    Decided where the paper is silent: the parts of a graph that is not connected could be moved
    apart without end, so they are joined by the edges of the minimum spanning tree between them,
    which are kept as well. Copies of a sample whose distance of zero is to be kept are one point
    with several times the mass. "Neighbours" are the pairs of `con:preserve`; Weinberger and Saul
    also keep the distances between two neighbours of the same sample.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines import MVU
    >>> angle = np.linspace(0, np.pi, 30)
    >>> arc = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> model = MVU(n_components=1, n_neighbors=1, tol=1e-5).fit(arc)
    >>> float(np.ptp(model.embedding_).round(2))  # the length of the arc
    3.14
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Baseline._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 10,
        tol: float = 1e-2,
        max_iter: int | None = None,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, X: Floats) -> None:
        rng = check_random_state(self.random_state)
        Y = X - X.mean(axis=0)
        self.edges_, _ = connected_neighbors(Y, min(self.n_neighbors, len(Y) - 1))
        # In units in which no square over- or underflows.
        unit = np.abs(Y).max() or 1.0
        bars = framework(Y / unit, self.edges_)
        if len(bars.phi) == 0:
            w = np.zeros(0)
            found = Unfolding(np.zeros((1, 1)), w, w, w, 0.0, 0.0, 0, True)
        else:
            n_columns = min(len(bars.mass) - 1, 2 * self.n_neighbors + SPARE)
            _, first = np.unique(bars.node, return_index=True)
            start = leading_columns(Y[first] / unit, n_columns)
            # At right angles to the data the variance has no slope: a push, too small to matter.
            push = 1e-2 * np.sqrt(np.median(bars.phi) / n_columns)
            start += push * rng.normal(size=start.shape)
            affordable = int(np.clip(WORK / start.size, 1000, 20_000))
            max_iter = self.max_iter or affordable
            found = unfold(bars, start, max_iter=max_iter, tol=self.tol)
            w = dual_feasible(bars, [found.w, found.w_mean])
        self.factor_ = found.R[bars.node] * unit
        self.weights_ = np.zeros(len(self.edges_))
        self.weights_[bars.edge] = w
        self.objective_ = float(np.vdot(self.factor_, self.factor_))
        self.dual_bound_ = float(w @ bars.phi) * unit**2
        self.duality_gap_ = self.dual_bound_ / self.objective_ - 1 if self.objective_ else 0.0
        self.violation_ = float(np.abs(found.violation).max(initial=0.0))
        self.rms_violation_ = float(np.sqrt(np.mean(found.violation**2))) if len(bars.phi) else 0.0
        self.residual_, self.n_iter_ = found.residual, found.n_iter
        self.converged_ = found.converged
        if not found.converged:
            warnings.warn(
                f"MVU stopped after {found.n_iter} iterations: the largest of violation, "
                f"residual and difference of the objectives is {found.change:.2g}, above "
                f"tol={self.tol:g}; "
                "raise max_iter or tol, or lower n_neighbors.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.embedding_ = np.zeros((len(Y), self.n_components))
        d = min(self.n_components, self.factor_.shape[1])
        self.embedding_[:, :d] = self.factor_[:, :d]
        self.embedding_ *= column_signs(self.embedding_)


def leading_columns(Y: Floats, n_columns: int) -> Floats:
    """Y in its leading principal coordinates, with columns of zeros if it has fewer.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.mvu import leading_columns
    >>> np.abs(leading_columns(np.array([[3.0], [-3.0]]), 2))
    array([[3., 0.],
           [3., 0.]])
    """
    small = Y.shape[1] <= Y.shape[0]
    values, vectors = np.linalg.eigh(Y.T @ Y if small else Y @ Y.T)
    kept = min(n_columns, len(values))
    start = np.zeros((len(Y), n_columns))
    leading = vectors[:, ::-1][:, :kept]
    start[:, :kept] = (
        Y @ leading if small else leading * np.sqrt(np.maximum(values[::-1][:kept], 0))
    )
    return start
