"""The SPL estimator."""

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import linalg, sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from .._compat import Interval, StrOptions, effective_n_jobs, fitted_rows
from .._docs import documented
from .._typing import Floats, Ints, Matrix, Sparse
from ..data.centering import CentredRows
from ..data.checks import check_n_neighbors, check_neighbors
from ..data.row_order import canonical_order, unit_free
from ..graph import adjacency, squared_distances
from ..linalg import kernel_pca
from ..losses import NAMES, as_loss
from ..neighbors import graph_edges, neighbor_edges
from ..solvers.convergence import Callback
from ..solvers.pca import principal_axes
from ..solvers.posterior import kernel_pca_scores, posterior_covariance
from ..solvers.spl import (
    SPLProblem,
    SPLState,
    edge_share,
    edge_violation,
    without_zero_distances,
)
from ..solvers.spl_solver import Solver, choose_solver, solve_spl, spl_bytes
from ._posterior import PosteriorMixin
from .base import ESTIMATORS, LANDMARKS, StructureLearner, TrainingRecord, all_or_nothing
from .chunks import landmarks_of
from .progress import run_solver


@documented(ESTIMATORS)
class SPL(PosteriorMixin, StructureLearner):
    """Structured projection learning: a smooth skeleton, at the global optimum.

    Learns a posterior over the embedding X of the centred samples Y. Under it neighbours
    are expected to be no farther apart than they are in the data:

        min KL(q(X) | prior) − E_q[log p(Y | X, W)] + C·Σ ξ_ij²
        subject to E_q‖x_i − x_j‖² ≤ ‖y_i − y_j‖² + ξ_ij for all neighbours i, j

    over q, slacks ξ and orthonormal W (`op:ebi-W` of the paper); ``loss`` chooses another price
    of the slacks. The dual variables are the weights of a sparse graph; the dual `op:ebi-SW` is
    concave and is solved to its global optimum, with a certificate, or approximated where that
    would take too long. Choose it for curves, rings and skeletons of any shape; for an
    explicit tree choose `DDRTree`.

    Parameters
    ----------
    n_components : int, float or None, default=2
        Dimension d of the embedding; a float in (0, 1) is the fraction of energy (total
        variance) that principal components of that number keep, as in scikit-learn's PCA. None:
        W is the identity, a skeleton in the space of the features.
    n_neighbors : int, default=10
        Neighbours per sample; an edge joins two samples if either is a neighbour of the other.
    C : float, default=1e3
        Price of a slack, for data times ``scale_``. ``np.inf`` forbids slack and is the same as
        ``loss="hard"``; "hard" and "equality" do not use it.
    loss : {"squared", "absolute", "hard", "equality"}, default="squared"
        What a slack costs (Sec. 3.2 of the paper); s is the weight of an edge in ``graph_``.

        - "squared": C·ξ², as above. Every active edge gives way a little, by ξ = s/(2C).
        - "absolute": C·|ξ|, so that 0 ≤ s ≤ C. Edges with a weight below C do not give way at
          all, and those at C by as much as it takes. Choose it where the shortest distances,
          which have the largest weights, should not count for more than others; with
          ``scale="auto"`` the median weight is 2 to 5. With ``gamma=0`` it is the structure
          learning of Lake and Tenenbaum (`op:sl`).
        - "hard": no slack; expected distances never exceed those of the data.
        - "equality": E‖x_i − x_j‖² = ‖y_i − y_j‖² for all neighbours, the constraint of maximum
          variance unfolding (`con:preserve`) in expectation; s has either sign. Choose it
          where neighbours must not be drawn together, which the others allow. It needs
          dense matrices of n_edges × n_edges, and few neighbours: with more of them than
          features, as a rule, no posterior keeps all distances, and an error says so. For
          shapeless data and ``gamma`` of ten or more it may end without a proof, with a
          warning.

        But for "squared" with a finite C, distances of zero between neighbours count as one
        hundredth of the median distance, here and in all fitted attributes.
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
        some tenths of a percent short of the optimum, some percent where ``gamma`` is a hundred
        or more, and proves nothing. "auto" takes "exact"
        for a few hundred samples, then "sparse" while an iteration takes some five seconds at
        most or, with many samples, while it takes no longer than a sketch, and "sketch" beyond;
        ``loss="equality"`` knows "exact" only.
    {kernel}
    {kernel_params}
    max_iter : int, default=500
        Most iterations to run.
    tol : float, default=1e-6
        Stop when the optimum is proven to be no farther than ``tol``, relative to the larger
        of |objective| (without its data term) and n_components·n_samples/2. A sketch stops
        when an iteration changes the objective by no more than the larger of ``tol`` and 1e-5,
        relative to the same, by an estimate.
    random_state : int, RandomState or None, default=None
        Seed of the sketch's random vectors, and of the choice of landmarks; nothing else uses
        random numbers.
    n_landmarks : int, default=5000
        Used for Dask arrays only. A Dask array is not fitted whole: so many of its rows are chosen
        and fitted in memory, and `transform` places all rows by these. Half of them follow the
        density, half go to what is not covered yet
        (`branchwise.data.landmarks.choose_landmarks`, four passes over the data). ``embedding_``
        and all other attributes are those of the landmarks, whose number is n_samples there. An
        array of no more rows than that is fitted whole.
        benchmarks/landmarks.md says how far the result is from that of all rows.
    n_jobs : int or None, default=None
        Number of threads; None is one, -1 is as many as there are processors. The result does
        not depend on it.
    {verbose}
    {callback}

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        Posterior mean X = γ/4·Q⁻¹YW, where Q = L + (γ+1)/4·I. With ``n_components=None``, here
        and below, n_components is n_features, and coordinates are the centred features (but for
        γ = 0, where those of a kernel PCA have no relation to them).
    projection_ : array of shape (n_samples, n_components)
        Wᵀ(y − mean) for the samples of the fit, as `project` gives it: where a trajectory has
        them.
    skeleton_ : array of shape (n_samples, n_components)
        Z = (γ+1)/γ·X: the same shape in units of the data.
    components_ : array of shape (n_components, n_features)
        Wᵀ, orthonormal rows. Components beyond the rank of the data are arbitrary, and the
        skeleton is zero along them. The identity for ``n_components=None``.
    mean_ : array of shape (n_features,)
    graph_ : sparse array of shape (n_samples, n_samples)
        Learned weights S, positive on the active edges (of the data times ``scale_``); with
        ``loss="equality"`` negative on edges that would else be too short. After a sketch,
        edges that should be inactive have small weights, not zero.
    edges_ : array of shape (n_edges, 2)
        All candidate edges, active or not.
    scale_, gamma_ : float
        Factor by which the data were multiplied, and the γ used.
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
        units of the data; zero at the exact optimum, NaN after a sketch. ξ is s/(2C) for the
        squared loss; for the absolute one, zero where s < C and the whole excess where s = C;
        zero for the others. With ``loss="equality"``, the largest |E‖x_i − x_j‖² − ‖y_i − y_j‖²|.
    posterior_std_ : array of shape (n_samples,)
        Standard deviation √Σ_ii of each sample in every column of the embedding, where
        Σ = (4L + (γ+1)I)⁻¹ (`eq:post`), in units of the data. See also `posterior_covariance`,
        `expected_squared_distances` and `sample_posterior`.
    posterior_std_error_ : array of shape (n_samples,)
        Standard error of ``posterior_std_``: zero but for a sketch, which states that of its
        estimate from 64 random vectors (at most 9 %).
    log_evidence_ : float
        Regularised evidence of the data: minus the optimum of `op:ebi-W` with all constants, that
        is N·D/2·log(γ/2π) − γ/2·‖Y‖² − d·N/2·log 4 − ``objective_``, plus N·D·log ``scale_`` for a
        density in units of the data. Without edges it is the log-likelihood of probabilistic PCA.
        It falls with every distance to be kept, and so compares ``gamma`` and ``n_components``,
        not neighbour graphs. −∞ for ``gamma=0``; an estimate after a sketch.
    loo_log_likelihood_ : array of shape (n_samples,)
        log p(y_i | all other samples) given the learned graph and components, in units of the
        data: normal with precision k_i = γ − γ²Σ_ii and deviation γ(Wᵀy_i − x_i)/k_i in each
        component, with precision γ across them. The graph has seen y_i; to choose parameters
        by samples that were left out altogether, see `branchwise.select`. −∞ for ``gamma=0``; an
        estimate after a sketch.
    n_iter_, n_evaluations_ : int
        Iterations, and evaluations of the objective and its gradient.
    converged_ : bool
    landmarks_ : array of shape (n_samples,)
        After a fit to a Dask array, the numbers of its rows that were fitted.
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise import SPL
    >>> model = SPL(n_components=2, n_neighbors=10).fit(load_iris().data)
    >>> model.skeleton_.shape, model.converged_
    ((150, 2), True)
    >>> bool(model.optimality_gap_ <= 1e-6 * abs(model.objective_))
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StructureLearner._parameter_constraints,
        "n_landmarks": LANDMARKS,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="right")],
        "loss": [StrOptions(set(NAMES))],
        "gamma": [Interval(Real, 0, 1e12, closed="both")],
        "scale": [Interval(Real, 1e-100, 1e100, closed="both"), StrOptions({"auto"}), None],
        "solver": [StrOptions({"auto", "exact", "sparse", "sketch"})],
    }

    def __init__(
        self,
        n_components: int | float | str | None = 2,
        *,
        n_neighbors: int = 10,
        C: float = 1e3,
        loss: str = "squared",
        gamma: float = 1e-3,
        scale: float | str | None = "auto",
        solver: str = "auto",
        kernel: Any = None,
        kernel_params: dict[str, Any] | None = None,
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: Any = None,
        n_landmarks: int = 5000,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.C = C
        self.loss = loss
        self.gamma = gamma
        self.scale = scale
        self.solver = solver
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_landmarks = n_landmarks
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, *, neighbors: Sparse | None = None) -> Self:
        """Learn the posterior, its graph and the projection.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask array of shape (n_samples, n_features)
        y : ignored
        neighbors : sparse matrix of shape (n_samples, n_samples) or None, default=None
            Candidate edges, one per stored entry in either direction, instead of the
            ``n_neighbors`` nearest neighbours; the values are not used.

        Returns
        -------
        self
        """
        samples = self._validated(landmarks_of(self, X, None if neighbors is None else "neighbors"))
        self._check_solver()
        X = self._training_data(samples)
        n_jobs = effective_n_jobs(self.n_jobs)
        order = canonical_order(X)
        with threadpool_limits(limits=1):
            Y = CentredRows(X[order], n_jobs=n_jobs)
            d = self._resolve_n_components(Y)
            problem, self.scale_ = self._problem(Y, self._candidate_edges(X, order, neighbors), d)
            solver = self._choose_solver(Y, problem)
            seed = check_random_state(self.random_state).randint(2**31 - 1)
            result = run_solver(
                self,
                lambda stopping: solve_spl(
                    problem,
                    solver,
                    rng=np.random.default_rng(seed),
                    n_jobs=n_jobs,
                    **stopping,
                ),
            )
            state = result.state
            rank = d if self.n_components is None else max(principal_axes(Y, d)[1], 1)
            along_components = self._set_axes(Y, state.W[:, :rank], d, X.dtype)
            Z = problem.ridge * state.QinvYW[:, :rank] @ along_components / self.scale_
            embedding = self._embedding(problem, solver, state, Z)
        self._remember_rows(samples)
        self.projection_ = self._by_blocks(X, self._project)
        self.skeleton_, self.embedding_ = np.empty((2, *Z.shape), dtype=X.dtype)
        self.skeleton_[order], self.embedding_[order] = Z, embedding
        self.gamma_, self.solver_ = problem.gamma, solver.name
        self.n_evaluations_ = result.n_evaluations
        self.objective_error_, self.optimality_gap_ = result.objective_error, result.gap
        self._set_graph(problem, state, order)
        self._set_posterior(problem, state, order, Y.n_features)
        self._index(X if sparse.issparse(X) else X - self.mean_, min(self.n_neighbors, len(order)))
        self._edge_share = edge_share(problem)
        if not state.s.any():
            self._warn_inactive(problem)
        return self

    def _check_solver(self) -> None:
        if as_loss(self.loss, float(self.C)).signed and self.solver not in {"auto", "exact"}:
            raise ValueError(
                f"solver={self.solver!r} cannot find the negative weights of loss={self.loss!r}, "
                "which needs dense matrices; set solver='auto' or 'exact', or loss='hard'."
            )

    def _problem(self, Y: CentredRows, edges: Ints, d: int) -> tuple[SPLProblem, float]:
        """What is to be solved, and the factor by which its data are multiplied."""
        points = Y.dense(slice(None))
        phi = squared_distances(points, edges)
        scale = self._resolve_scale(phi, d)
        loss = as_loss(self.loss, float(self.C))
        problem = SPLProblem(points * scale, edges, phi * scale**2, d, float(self.gamma), loss)
        return without_zero_distances(problem), scale

    def _choose_solver(self, Y: CentredRows, problem: SPLProblem) -> Solver:
        """The way to solve it, if it fits into memory."""
        solver = choose_solver(problem, self.solver)
        remedy = {
            "exact": "set solver='auto'",
            "sparse": "set solver='sketch'",
            "sketch": "lower n_neighbors or take fewer samples",
        }
        kind = "sketch" if problem.loss.signed else solver.name
        self._check_memory(Y, spl_bytes(solver, problem), remedy[kind])
        return solver

    def _embedding(self, problem: SPLProblem, solver: Solver, state: SPLState, Z: Floats) -> Floats:
        """The posterior mean or, for γ = 0, the kernel PCA of the posterior covariance."""
        if self.gamma > 0:
            return self.gamma / (self.gamma + 1) * Z
        # A centred covariance of N samples has N − 1 directions.
        embedding, rank = np.zeros(Z.shape), min(Z.shape[1], len(Z) - 1)
        if solver.name == "exact":
            scores = kernel_pca(posterior_covariance(problem, state.s), rank)
        else:
            n_jobs = effective_n_jobs(self.n_jobs)
            scores = kernel_pca_scores(problem, solver, state.s, n_jobs=n_jobs)
        embedding[:, :rank] = scores / self.scale_
        return embedding

    def _set_graph(self, problem: SPLProblem, state: SPLState, order: Ints) -> None:
        """Set edges_, graph_ and edge_violation_."""
        active = state.s != 0
        self.edges_ = relabel(problem.edges, order)
        self.graph_ = adjacency(order[problem.edges[active]], len(order), state.s[active])
        # The largest of a sketch's noisy estimates would say more about their noise.
        violation = edge_violation(problem, state)
        largest = float(np.max(violation, initial=0.0)) if self.solver_ != "sketch" else np.nan
        self.edge_violation_ = largest / self.scale_**2

    @property
    def training_record(self) -> TrainingRecord:
        """What `transform` needs of the training samples; assigned when a model is loaded."""
        return replace(
            super().training_record,
            search_rows=fitted_rows(self._search),
            n_ties=self._search.n_neighbors,
            edge_share=self._edge_share,
        )

    @training_record.setter
    def training_record(self, record: TrainingRecord) -> None:
        rows = record.search_rows
        if rows is None:
            assert record.kernel_samples is not None
            rows = self._training_data(record.kernel_samples) - self.mean_
        self._record = TrainingRecord(record.sorted_keys, record.order, record.kernel_samples)
        self._edge_share = record.edge_share
        self._index(rows, record.n_ties)

    def _index(self, rows: Matrix, n_neighbors: int) -> None:
        """Prepare the training data, centred unless sparse, for searches by new samples."""
        self._search = NearestNeighbors(n_neighbors=n_neighbors).fit(rows)
        self._searches_sparse = sparse.issparse(rows)

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
            stacklevel=4,
        )

    def nodes(self) -> tuple[Floats, Floats]:
        """The points of the skeleton along the components, of equal weight."""
        check_is_fitted(self)
        return self.skeleton_.astype(np.float64), np.ones(len(self.skeleton_))

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
        loss = as_loss(self.loss, float(self.C))
        if not loss.bears_zero_distances:
            phi = np.maximum(phi, np.finfo(float).tiny ** 0.5)
        share = len(self.components_) / 2 * self._edge_share
        s = loss.weights(np.full(phi.shape, share), phi)
        pull = np.einsum("ik,ikj->ij", s, self.embedding_[index].astype(np.float64))
        total = 4 * s.sum(axis=1, keepdims=True) + self.gamma_ + 1
        return (4 * pull + self.gamma_ * projected) / total

    def _reconstruction(self) -> Floats:
        """Skeleton per unit of embedding, times Wᵀ; fitted by least squares when γ = 0."""
        if self.gamma_ > 0:
            return (self.gamma_ + 1) / self.gamma_ * self.components_
        return linalg.lstsq(self.embedding_, self.skeleton_)[0] @ self.components_


def relabel(edges: Ints, names: Ints) -> Ints:
    """Edges between renamed nodes, each with its smaller end first, sorted."""
    edges = np.sort(names[edges], axis=1)
    return edges[np.lexsort((edges[:, 1], edges[:, 0]))]
