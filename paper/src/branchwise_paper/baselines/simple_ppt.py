"""SimplePPT: a principal tree in the space of the features."""

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from branchwise import _kdtree as kdtree
from branchwise._compat import Interval, StrOptions
from branchwise._typing import Floats, Ints, Sparse
from branchwise.data.checks import resolve_n_centers
from branchwise.graph import adjacency, euclidean_spanning_tree, graph_solver
from branchwise.solvers.assignments import assign
from branchwise.solvers.convergence import Monitor
from branchwise.solvers.initialization import spread_around

from ._base import Baseline


def update_centers(Y: Floats, C: Floats, R: Sparse, edges: Ints, lam: float) -> Floats:
    """Minimiser over C of Σ r_ik‖y_i − c_k‖² + λ·Tr(CᵀLC): C = (Γ + λL)⁻¹RᵀY, Γ = diag(1ᵀR).

    Without a tree, λ = 0, these are the means of a step of soft k-means; a centre that has no
    samples then stays where it is.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.simple_ppt import update_centers
    >>> Y = np.array([[0.0], [3.0]])
    >>> update_centers(Y, Y, np.eye(2), np.array([[0, 1]]), 1.0).round(12).ravel()
    array([1., 2.])
    """
    counts, sums = np.asarray(R.sum(axis=0)).ravel(), R.T @ Y
    if lam == 0:
        unused = counts == 0
        counts = counts + unused
        sums = sums + unused[:, np.newaxis] * C
    return graph_solver(edges, lam, counts)(sums)


def simple_ppt(
    Y: Floats, C: Floats, *, lam: float, sigma: float, max_iter: int, tol: float
) -> tuple[Floats, Monitor]:
    """Minimise over centres C, assignments R and spanning trees with Laplacian L.

        Σ r_ik‖y_i − c_k‖² + σ·Σ r_ik log r_ik + λ·Tr(CᵀLC),    rows of R sum to one

    Three exact steps in turn: the tree is the minimum spanning tree of the centres, r_ik is
    proportional to exp(−‖y_i − c_k‖²/σ), and the centres solve a linear system on the tree in
    time linear in their number.

    Parameters
    ----------
    Y : array of shape (n_samples, n_features)
        Centred.
    C : array of shape (n_centers, n_features)
        Starting centres.
    lam, sigma : float
        Weight of the tree (λ ≥ 0) and width of the assignments (σ > 0).
    max_iter, tol
        See `Monitor`.

    Returns
    -------
    C : array of shape (n_centers, n_features)
    monitor : Monitor
        The record of the run.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.simple_ppt import simple_ppt
    >>> Y = np.random.default_rng(0).normal(size=(20, 3))
    >>> C, monitor = simple_ppt(Y, Y[:8], lam=1.0, sigma=0.5, max_iter=5, tol=0.0)
    >>> C.shape, bool((np.diff(monitor.history) <= 1e-10).all())
    ((8, 3), True)
    """
    energy = float(np.vdot(Y, Y))
    monitor = Monitor(scale=energy, tol=tol, max_iter=max_iter)
    while not monitor.is_over:
        edges = euclidean_spanning_tree(C)
        rows = assign(Y, kdtree.build(C), sigma)
        R = rows.matrix(len(C))
        C = update_centers(Y, C, R, edges, lam)
        # At these centres the quadratic terms are ‖Y‖² − Tr(CᵀRᵀY) in all.
        monitor.note(energy - np.vdot(C, R.T @ Y) + sigma * rows.negative_entropy)
    return C, monitor


class SimplePPT(Baseline):
    """A principal tree in the space of the features, with as many nodes as samples or fewer.

    Minimises over centres c_k, assignments r_ik ≥ 0 with Σ_k r_ik = 1, and spanning trees

        Σ_ik r_ik‖x_i − c_k‖² + σ·Σ_ik r_ik log r_ik + λ·Σ_(k,l)∈tree ‖c_k − c_l‖²

    (Mao, Yang, Wang, Goodison & Sun 2015). It is the reversed graph embedding (`op:dimred-graph`)
    from which the paper sets out: no dimension is reduced, and `DDRTree` adds what does so.
    ``DDRTree(n_components=None, lam=gamma*lam, gamma=gamma)`` tends to it as gamma tends to 0; this
    is the limit itself. Choose it for data of few features whose tree is to lie among them.

    Parameters
    ----------
    n_centers : int, "auto" or None, default=None
        Number of nodes of the tree. None: one per sample, which start there, as in the original.
        A number: they start at the means of k-means. "auto": a number as in `DDRTree`.
    lam : float or "auto", default="auto"
        Weight λ ≥ 0 of the tree; it has no unit. "auto" is 0.01·n_samples, to which the default
        of `DDRTree` corresponds. 0: no tree, that is soft k-means or, with one centre per sample,
        a mean shift of all of them at once.
    sigma : float or "auto", default="auto"
        Width σ > 0 of the assignments, in squared units of the data: that of a Gaussian noise of
        variance σ/2. "auto" is as in `DDRTree`.
    max_iter : int, default=100
        Most iterations to run.
    tol : float, default=1e-5
        Stop when the objective changes by at most ``tol`` times the energy of the centred data from
        one iteration to the next; 0 runs all ``max_iter`` iterations.
    random_state : int, RandomState or None, default=None
        For k-means.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_features)
        Where the samples lie near the tree, Σ_k r_ik·c_k: denoised, in the space of the features.
    centers_ : array of shape (n_centers, n_features)
    tree_ : sparse array of shape (n_centers, n_centers)
        Adjacency matrix of the minimum spanning tree of ``centers_``.
    assignments_ : sparse array of shape (n_samples, n_centers)
        The r_ik of ``centers_``.
    labels_ : array of shape (n_samples,)
        The centre nearest to each sample.
    lam_, sigma_ : float
        The parameters used.
    objective_ : float
    objective_history_ : array of shape (n_iter_,)
        Objective after each iteration; it never rises.
    n_iter_ : int
    converged_ : bool

    Notes
    -----
    **What was hard.** What to return: the method moves no sample, it only assigns it. The point
    Σ_k r_ik·c_k is where the objective expects sample i, and it has a row per sample, as other
    embeddings have; there is no ``n_components``. Without a tree (λ = 0) a centre can lose all
    of its samples to rounding: it then stays put. The tree's edges are few beside the samples if
    the centres are: a λ that does not grow with the number of samples would mean less and less.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise_paper.baselines import SimplePPT
    >>> model = SimplePPT(n_centers=20, random_state=0).fit(load_iris().data)
    >>> model.embedding_.shape, model.centers_.shape, model.tree_.nnz // 2
    ((150, 4), (20, 4), 19)
    """

    # No dimension is reduced, so that there are never too few samples for it.
    n_components = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_centers": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "lam": [Interval(Real, 0, 1e12, closed="both"), StrOptions({"auto"})],
        "sigma": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": Baseline._parameter_constraints["random_state"],
    }

    def __init__(
        self,
        n_centers: int | str | None = None,
        *,
        lam: float | str = "auto",
        sigma: float | str = "auto",
        max_iter: int = 100,
        tol: float = 1e-5,
        random_state: Any = None,
    ):
        self.n_centers = n_centers
        self.lam = lam
        self.sigma = sigma
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _fit(self, X: Floats) -> None:
        mean = X.mean(axis=0)
        Y = X - mean
        self.lam_ = 0.01 * len(X) if isinstance(self.lam, str) else float(self.lam)
        with threadpool_limits(limits=1):
            start = self._starting_centers(Y)
            self.sigma_ = self._resolve_sigma(Y, start)
            C, monitor = simple_ppt(
                Y, start, lam=self.lam_, sigma=self.sigma_, max_iter=self.max_iter, tol=self.tol
            )
        if self.tol > 0 and not monitor.converged:
            warnings.warn(
                f"SimplePPT stopped after {self.max_iter} of max_iter={self.max_iter} iterations "
                f"with a relative change of the objective of {monitor.change:.1e}, above "
                f"tol={self.tol:.1e}; raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.centers_ = C + mean
        self.tree_ = adjacency(euclidean_spanning_tree(C), len(C))
        self.assignments_ = assign(Y, kdtree.build(C), self.sigma_).matrix(len(C))
        self.embedding_ = self.assignments_ @ C + mean
        self.labels_ = kdtree.nearest(kdtree.build(C), Y)
        self.objective_history_ = np.array(monitor.history)
        self.objective_ = monitor.history[-1]
        self.n_iter_, self.converged_ = len(monitor.history), monitor.converged

    def _starting_centers(self, Y: Floats) -> Floats:
        n_centers = resolve_n_centers(self.n_centers, len(Y))
        if n_centers == len(Y):
            return Y
        seed = check_random_state(self.random_state)
        means = KMeans(n_centers, n_init=1, random_state=seed)
        with warnings.catch_warnings():
            # Fewer distinct samples than centres: some centres start together.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return np.asarray(means.fit(Y).cluster_centers_)

    def _resolve_sigma(self, Y: Floats, C: Floats) -> float:
        if not isinstance(self.sigma, str):
            return float(self.sigma)
        spread, directions = spread_around(Y, C)
        # Samples without any spread leave nothing to tell centres apart by.
        return spread / max(2.0, directions) or 1.0
