"""The SPL estimator."""

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import linalg, sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from .._compat import Interval, StrOptions, effective_n_jobs
from .._typing import Floats, Ints, Matrix, Sparse
from .._validation import check_n_neighbors, check_neighbors
from ..graph import adjacency, squared_distances
from ..linalg import column_signs
from ..neighbors import graph_edges, neighbor_edges
from ..rows import CentredRows, canonical_order, unit_free
from ..solvers.pca import principal_axes
from ..solvers.record import Callback
from ..solvers.spl import (
    SPLProblem,
    edge_share,
    maximise_edgewise,
    posterior_covariance,
    without_zero_distances,
)
from ..solvers.spl_paths import Path, choose_path, kernel_pca_scores, solve_spl, spl_bytes
from ._base import StructureLearner


class SPL(StructureLearner):
    """Structured projection learning: a smooth skeleton, at the global optimum.

    Learns a posterior over the embedding X of the centred samples Y. Under it neighbours
    are expected to be no farther apart than they are in the data:

        min KL(q(X) | prior) − E_q[log p(Y | X, W)] + C·Σ ξ_ij²
        subject to E_q‖x_i − x_j‖² ≤ ‖y_i − y_j‖² + ξ_ij for all neighbours i, j

    over q, slacks ξ and orthonormal W (`op:ebi-W` of the paper). The dual variables are the
    weights of a sparse graph; the dual `op:ebi-SW` is concave and is solved to its global
    optimum, with a certificate, or approximated where that would take too long. Choose it for
    curves, rings and skeletons of any shape; for an explicit tree choose `DDRTree`.

    Parameters
    ----------
    n_components : int or float, default=2
        Dimension d of the embedding; a float in (0, 1) is the fraction of energy (total
        variance) that principal components of that number keep, as in scikit-learn's PCA.
    n_neighbors : int, default=10
        Neighbours per sample; an edge joins two samples if either is a neighbour of the other.
    C : float, default=1e3
        Price of a slack. ``np.inf`` forbids slack; distances of zero between neighbours then
        count as one hundredth of the median distance, here and in all fitted attributes.
    gamma : float, default=1e-3
        Precision γ of the noise in y = Wx + noise. With 0 the embedding is the kernel PCA
        of the posterior covariance.
    scale : float, "auto" or None, default="auto"
        Factor by which the data are multiplied before they meet the prior, which has unit
        variance; all outputs in units of the data are divided by it again. "auto" makes the
        median squared distance of neighbours n_components/40, and breaks ties between
        neighbours in the same way in all units, so that results do not depend on the units
        of the data. None is 1, the paper's raw model, with scikit-learn's neighbours.
    solver : {"auto", "exact", "sparse", "sketch"}, default="auto"
        "exact" inverts a dense matrix of n_samples × n_samples. "sparse" finds the same optimum
        and the same proof without such a matrix, by nested dissection of the neighbour graph:
        near-linear in time and memory where the samples lie near a curve or a surface, with
        noise no larger than the distance between neighbours. "sketch" estimates the
        resistances of the edges from random vectors, in linear time whatever the graph; it ends
        some tenths of a percent short of the optimum and proves nothing. "auto" takes "exact"
        for a few hundred samples, then "sparse" while an iteration takes some five seconds at
        most or, with many samples, while it takes no longer than a sketch, and "sketch" beyond.
    max_iter : int, default=500
        Most iterations to run.
    tol : float, default=1e-6
        Stop when the optimum is proven to be no farther than ``tol``, relative to the larger
        of |objective| (without its data term) and n_components·n_samples/2. A sketch stops
        when an iteration changes the objective by no more than the larger of ``tol`` and 1e-5,
        relative to the same, by an estimate.
    random_state : int, RandomState or None, default=None
        Seed of the sketch's random vectors; the other solvers use no random numbers.
    n_jobs : int or None, default=None
        Number of threads; None is one, -1 is as many as there are processors. The result does
        not depend on it.
    verbose : int, default=0
        Show one line of progress when positive.
    callback : callable or None, default=None
        Called after every iteration with its record (`ramify.solvers.record.Progress`).

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        Posterior mean X = γ/4·Q⁻¹YW, where Q = L + (γ+1)/4·I.
    skeleton_ : array of shape (n_samples, n_components)
        Z = (γ+1)/γ·X: the same shape in units of the data.
    components_ : array of shape (n_components, n_features)
        Wᵀ, orthonormal rows. Components beyond the rank of the data are arbitrary, and the
        skeleton is zero along them.
    mean_ : array of shape (n_features,)
    graph_ : sparse array of shape (n_samples, n_samples)
        Learned weights S, positive on the active edges (of the data times ``scale_``). After a
        sketch, edges that should be inactive have small weights, not zero.
    edges_ : array of shape (n_edges, 2)
        All candidate edges, active or not.
    scale_ : float
        Factor by which the data were multiplied.
    solver_ : str
        The solver that was used: "exact", "sparse" or "sketch".
    objective_ : float
        The dual objective `op:ebi-SW`, up to a constant, to be maximised; an estimate after a
        sketch.
    objective_error_ : float
        Standard error of ``objective_``: zero but for a sketch.
    objective_history_ : array of shape (n_iter_ + 1,)
        Its best value at the start and after each iteration. In a sketch, estimates of its
        value in each iteration and, last, at the average of the iterations, which is the result.
    optimality_gap_ : float
        Proven upper bound on how far ``objective_`` is from the global optimum; NaN after a
        sketch.
    edge_violation_ : float
        Largest amount by which E‖x_i − x_j‖² exceeds ‖y_i − y_j‖² + ξ_ij on any edge, in squared
        units of the data; zero at the exact optimum, NaN after a sketch.
    n_iter_, n_evaluations_ : int
        Iterations, and evaluations of the objective and its gradient.
    converged_ : bool
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ramify import SPL
    >>> model = SPL(n_components=2, n_neighbors=10).fit(load_iris().data)
    >>> model.skeleton_.shape, model.converged_
    ((150, 2), True)
    >>> bool(model.optimality_gap_ <= 1e-6 * abs(model.objective_))
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StructureLearner._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="right")],
        "gamma": [Interval(Real, 0, 1e12, closed="both")],
        "scale": [Interval(Real, 1e-100, 1e100, closed="both"), StrOptions({"auto"}), None],
        "solver": [StrOptions({"auto", "exact", "sparse", "sketch"})],
    }

    def __init__(
        self,
        n_components: int | float = 2,
        *,
        n_neighbors: int = 10,
        C: float = 1e3,
        gamma: float = 1e-3,
        scale: float | str | None = "auto",
        solver: str = "auto",
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.C = C
        self.gamma = gamma
        self.scale = scale
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any = None, *, neighbors: Sparse | None = None) -> Self:
        """Learn the posterior, its graph and the projection.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored
        neighbors : sparse matrix of shape (n_samples, n_samples) or None, default=None
            Candidate edges, one per stored entry in either direction, instead of the
            ``n_neighbors`` nearest neighbours; the values are not used.

        Returns
        -------
        self
        """
        X = self._validated(X)
        n_samples, n_jobs = X.shape[0], effective_n_jobs(self.n_jobs)
        order = canonical_order(X)
        with threadpool_limits(limits=1):
            Y = CentredRows(X[order], n_jobs=n_jobs)
            d = self._resolve_n_components(Y)
            edges = self._candidate_edges(X, order, neighbors)
            points = Y.dense(slice(None))
            phi = squared_distances(points, edges)
            scale = self._resolve_scale(phi, d)
            problem = without_zero_distances(
                SPLProblem(
                    points * scale, edges, phi * scale**2, d, float(self.gamma), float(self.C)
                )
            )
            path = self._choose_path(Y, problem)
            seed = check_random_state(self.random_state).randint(2**31 - 1)
            result = self._run(
                lambda report: solve_spl(
                    problem,
                    path,
                    max_iter=self.max_iter,
                    tol=self.tol,
                    rng=np.random.default_rng(seed),
                    n_jobs=n_jobs,
                    callback=report,
                )
            )
            state = result.state
            rank = max(principal_axes(Y, d)[1], 1)
            signs = self._set_axes(Y, state.W[:, :rank], d, X.dtype)
            Z: Floats = np.zeros((n_samples, d))
            Z[:, :rank] = problem.ridge * state.QinvYW[:, :rank] * signs / scale
            if self.gamma > 0:
                embedding = self.gamma / (self.gamma + 1) * Z
            elif path.name == "exact":
                embedding = kernel_pca(posterior_covariance(problem, state.s), d) / scale
            else:
                embedding = kernel_pca_scores(problem, path, state.s, n_jobs=n_jobs) / scale
        self._remember_rows(X)
        self.skeleton_, self.embedding_ = np.empty((2, n_samples, d), dtype=X.dtype)
        self.skeleton_[order], self.embedding_[order] = Z, embedding
        active = state.s > 0
        self.edges_ = relabel(edges, order)
        self.graph_ = adjacency(order[edges[active]], n_samples, state.s[active])
        self.scale_, self.solver_ = scale, path.name
        self.n_evaluations_ = result.n_evaluations
        self.objective_error_, self.optimality_gap_ = result.objective_error, result.gap
        # The largest of a sketch's noisy estimates would say more about their noise.
        violation = state.expected - problem.phi - state.s / (2 * problem.slack)
        largest = np.nan if path.name == "sketch" else float(np.max(violation, initial=0.0))
        self.edge_violation_ = largest / scale**2
        self._search = NearestNeighbors(n_neighbors=min(self.n_neighbors, n_samples))
        self._search.fit(X if sparse.issparse(X) else X - self.mean_)
        self._searches_sparse = sparse.issparse(X)
        self._edge_share = edge_share(problem)
        if not active.any():
            self._warn_inactive(problem)
        return self

    def _choose_path(self, Y: CentredRows, problem: SPLProblem) -> Path:
        """The way to solve it, if it fits into memory."""
        path = choose_path(problem, self.solver)
        remedy = {
            "exact": "set solver='auto'",
            "sparse": "set solver='sketch'",
            "sketch": "lower n_neighbors or take fewer samples",
        }
        needed = spl_bytes(path, len(problem.Y), problem.Y.shape[1], len(problem.edges))
        self._check_memory(Y, needed, remedy[path.name])
        return path

    def _candidate_edges(self, X: Matrix, order: Ints, neighbors: Sparse | None) -> Ints:
        """Edges between the rows of X[order].

        With an automatic scale, ties between distances are broken in the same way in all
        units. Otherwise the neighbours are scikit-learn's for X as it is.
        """
        if neighbors is not None:
            edges = graph_edges(check_neighbors(neighbors, X.shape[0]))
            return relabel(edges, np.argsort(order))
        check_n_neighbors(self.n_neighbors, X.shape[0])
        n_jobs = effective_n_jobs(self.n_jobs)
        if isinstance(self.scale, str):
            dense = X.toarray() if sparse.issparse(X) else X
            return neighbor_edges(unit_free(dense)[order], self.n_neighbors, n_jobs)
        return relabel(neighbor_edges(X, self.n_neighbors, n_jobs), np.argsort(order))

    def _resolve_scale(self, phi: Floats, n_components: int) -> float:
        if self.scale is None:
            return 1.0
        if not isinstance(self.scale, str):
            return float(self.scale)
        positive = phi[phi > 0]
        return float(np.sqrt(n_components / 40 / np.median(positive))) if len(positive) else 1.0

    def _warn_inactive(self, problem: SPLProblem) -> None:
        reach = np.sqrt(2 * problem.n_components / (problem.gamma + 1)) / self.scale_
        nearest = np.sqrt(problem.phi.min()) / self.scale_
        remedy = "lower gamma" if self.scale == "auto" else "set scale='auto'"
        warnings.warn(
            "No edge is active, so that the embedding is plain PCA: "
            f"with scale={self.scale!r} only neighbours nearer than about {reach:.3g} can be held "
            f"together, and the nearest are {nearest:.3g} apart; {remedy}.",
            UserWarning,
            stacklevel=3,
        )

    def _place(self, projected: Floats, X: Matrix) -> Floats:
        """Posterior mean of one more sample, tied to its nearest training samples.

        These stay put. The weight of each tie is the optimal one for a sample whose edges take
        an equal share of the resistance, as they do on average in the learned graph.
        """
        if not self._searches_sparse:
            # A large mean would cost the distances their digits.
            X = (X.toarray() if sparse.issparse(X) else X) - self.mean_
        distance, index = self._search.kneighbors(X)
        phi = (distance.astype(np.float64) * self.scale_) ** 2
        if np.isinf(self.C):
            phi = np.maximum(phi, np.finfo(float).tiny ** 0.5)
        share = len(self.components_) / 2 * self._edge_share
        s = maximise_edgewise(np.full(phi.shape, share), phi, float(self.C))
        pull = np.einsum("ik,ikj->ij", s, self.embedding_[index].astype(np.float64))
        total = 4 * s.sum(axis=1, keepdims=True) + self.gamma + 1
        return (4 * pull + self.gamma * projected) / total

    def _reconstruction(self) -> Floats:
        """Skeleton per unit of embedding, times Wᵀ; fitted by least squares when γ = 0."""
        if self.gamma > 0:
            return (self.gamma + 1) / self.gamma * self.components_
        return linalg.lstsq(self.embedding_, self.skeleton_)[0] @ self.components_


def relabel(edges: Ints, names: Ints) -> Ints:
    """Edges between renamed nodes, each with its smaller end first, sorted."""
    edges = np.sort(names[edges], axis=1)
    return edges[np.lexsort((edges[:, 1], edges[:, 0]))]


def kernel_pca(K: Floats, n_components: int) -> Floats:
    """Scores of kernel PCA: leading eigenvectors of the centred kernel, times √eigenvalue."""
    centred = K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()
    n = len(K)
    values, vectors = linalg.eigh(centred, subset_by_index=(n - n_components, n - 1))
    scores = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0))
    return scores * column_signs(scores)
