"""The DDRTree estimator."""

import math
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.spatial import KDTree
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from .. import kdtree
from .._compat import Interval, StrOptions, effective_n_jobs
from .._typing import Floats, Matrix, Sparse
from .._validation import check_fixed_graph, check_init, resolve_n_centers
from ..rows import CentredRows, canonical_order
from ..solvers.assignments import assign
from ..solvers.ddrtree import ddrtree, working_bytes
from ..solvers.record import Callback
from ..structures import FixedGraph, as_structure, in_order
from ._base import STRUCTURES, StructureLearner, all_or_nothing

# K-means looks at up to this many samples per centre.
SAMPLES_PER_CENTER = 50
# A new point has reached its place when it moves by less than this part of the largest
# coordinate of a centre.
FIXED_POINT_RTOL = 1e-10
MAX_FIXED_POINT_STEPS = 1000


class DDRTree(StructureLearner):
    """Dimensionality reduction onto a tree, or another graph, of cluster centres.

    Minimises over orthonormal W, points z_i, centres c_k, spanning trees on the centres, and
    assignments r_ik ≥ 0 with Σ_k r_ik = 1

        Σ_i ‖y_i − Wz_i‖² + λ·Σ_(k,l)∈tree ‖c_k − c_l‖²
            + γ·[Σ_ik r_ik‖z_i − c_k‖² + σ·Σ_ik r_ik log r_ik]

    where y_i are the centred samples (`op:dimred-kmeans-relax-tree`, Algorithm 2 of the
    paper). Choose it for noisy samples of a branching process: patients, cells. `DRTree`
    makes every sample a node; `SPL` learns a smooth skeleton of any shape. ``structure`` puts
    rings, curves, forests or other graphs in the place of trees.

    Parameters
    ----------
    n_components : int, float or None, default=2
        Dimension d of the embedding; a float in (0, 1) is the fraction of energy (total
        variance) that the components have to keep, as in scikit-learn's PCA. A tree with many
        branches needs more than two linear dimensions. None: W is the identity, a principal tree
        in the space of the features, whose nodes there are ``inverse_transform(centers_)``. With
        ``lam=gamma*weight`` and a small ``gamma`` it is SimplePPT's, the tree having that weight.
    n_centers : int, None or "auto", default="auto"
        Number K of nodes of the graph. None is one per sample. "auto" is one per sample up to
        100 samples and 200·log(n)/(log(n) + log(100)) beyond: 120 for a thousand samples, 150
        for a million; for a fixed graph, its number of nodes.
    lam : float or "auto", default="auto"
        Weight λ ≥ 0 of the tree; it has no unit. "auto" is 0.1·n_samples. Larger values make
        a shorter, smoother tree and lose branches.
    structure : str, matrix or object, default="tree"
        The set of graphs to choose from (`op:spl-graph`). By name:

        - "tree": spanning trees; the best is computed exactly;
        - "forest": several trees, for groups that are to stay unconnected. How many is
          seen from the gaps between the starting centres, or is given as
          ``ramify.structures.Forest(n_trees=3)``; exact;
        - "ring": closed curves. The best one is searched for, from scratch in the first
          iteration and then from the last one's ring: a heuristic;
        - "curve": curves from end to end, without branches; a heuristic like "ring";
        - "graph": trees with cycles where a long way round ends near its beginning
          (`ramify.structures.SparseGraph`); a heuristic.

        A symmetric matrix of non-negative weights, sparse or dense, is a fixed graph: node k is
        row k of ``init`` or, with ``n_centers=None``, starts at sample k. Any object with a
        method ``best_graph(points)`` will do as well (`ramify.structures.Structure`). The
        objective never rises with any of them: a graph that costs more than the last one is not
        taken.
    gamma : float, default=10.0
        Weight γ > 0 of the clusters.
    sigma : float or "auto", default="auto"
        Width σ > 0 of the assignments, in squared units of the data. "auto" is a share of the
        mean squared distance, in the principal components that the fit starts from, of the
        samples to their nearest starting centre (`spread_around`); with one centre per sample,
        to the nearest other sample. The share is that of one of the directions in which they
        spread, at most half: the noise of many components would add up to
        a width that draws the tree into a point.
    assignment : "soft" or "hard", default="soft"
        "hard" gives every sample to its nearest centre (`op:dimred-kmeans-tree`); ``sigma`` is
        then not used.
    init : array of shape (n_centers, n_components) or None, default=None
        Starting centres in the principal components (signs as in ``components_``: the entry of
        largest size is positive), or in the centred features if ``n_components`` is None. None
        starts from k-means, or with one centre per sample from the samples.
    kernel : {"linear", "rbf", "precomputed"}, callable or None, default=None
        None fits the samples as they are. Otherwise the rows of the kernel matrix between the
        samples and the training samples are the data, whatever the kernel, as in the paper's
        experiments with images: "linear" fits X·Xᵀ as it would fit X. "rbf" is
        exp(−g·‖x − x'‖²). "precomputed" takes the matrix itself, (n_samples, n_samples) in `fit`
        and (n_new_samples, n_samples) in `transform`. A callable takes two arrays of samples,
        of n_a and n_b rows, and returns an array of shape (n_a, n_b). ``mean_``, ``components_``
        and `inverse_transform` then refer to kernel values, one per training sample, in the
        place of features. The order of the samples matters by rounding only.
    kernel_params : dict or None, default=None
        ``{"gamma": g}`` for "rbf", by default 1/n_features, the paper's for standardised
        features; keyword arguments of a callable.
    max_iter : int, default=200
        Most iterations to run.
    tol : float, default=1e-5
        Stop when the objective changes by at most ``tol`` times the energy of the data from
        one iteration to the next; 0 runs all ``max_iter`` iterations.
    random_state : int, RandomState or None, default=None
        Seeds k-means. The result does not depend on the order of the samples.
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
        The points Z; for ``n_components=None``, in the centred features.
    centers_ : array of shape (n_centers, n_components)
        The nodes C of the tree; with one centre per sample, in the order of the samples.
    tree_ : sparse array of shape (n_centers, n_centers)
        Symmetric adjacency matrix S of the graph: ones on its edges (n_centers − 1 of them for
        a tree), or the weights of a fixed graph. It is the best graph for ``centers_`` that
        the structure finds or, if ``max_iter`` cut the fit off, the graph of the last
        iteration, from which ``centers_`` were computed.
    n_trees_ : int
        The number of connected parts of ``tree_``.
    components_ : array of shape (n_components, n_features)
        Wᵀ, orthonormal rows. Components beyond the rank of the data are arbitrary, and the
        embedding is zero along them; a direction in which the data spread less than 1e-7 times
        as far as in the widest counts as beyond. The identity for ``n_components=None``.
    mean_ : array of shape (n_features,)
    assignments_ : sparse array of shape (n_samples, n_centers)
        R for the final points and centres; rows sum to one. Computed when asked for.
    labels_ : array of shape (n_samples,)
        Index of the nearest centre.
    lam_, gamma_, sigma_ : float
        The λ, γ and σ used (σ = 0 when the assignment is hard).
    objective_ : float
        Objective after the last iteration.
    objective_history_ : array of shape (n_iter_,)
        Objective after each iteration; it never rises, but for rounding of the order of
        1e-16 times the energy of the data.
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ramify import DDRTree
    >>> X = load_iris().data
    >>> model = DDRTree(n_components=2, random_state=0).fit(X)
    >>> model.embedding_.shape, model.tree_.nnz // 2 == len(model.centers_) - 1
    ((150, 2), True)
    >>> model.transform([[5.0, 3.4, 1.5, 0.2]]).shape  # one more flower
    (1, 2)
    >>> DDRTree(kernel="rbf", random_state=0).fit(X).components_.shape  # of kernel values
    (2, 150)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StructureLearner._parameter_constraints,
        "n_centers": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "lam": [Interval(Real, 0, 1e12, closed="both"), StrOptions({"auto"})],
        "gamma": [Interval(Real, 0, 1e12, closed="right")],
        "sigma": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "assignment": [StrOptions({"soft", "hard"})],
        "structure": STRUCTURES,
        "init": ["array-like", None],
    }

    def __init__(
        self,
        n_components: int | float | None = 2,
        *,
        n_centers: int | str | None = "auto",
        lam: float | str = "auto",
        structure: Any = "tree",
        gamma: float = 10.0,
        sigma: float | str = "auto",
        assignment: str = "soft",
        init: Any = None,
        kernel: Any = None,
        kernel_params: dict[str, Any] | None = None,
        max_iter: int = 200,
        tol: float = 1e-5,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ):
        self.n_components = n_components
        self.n_centers = n_centers
        self.lam = lam
        self.structure = structure
        self.gamma = gamma
        self.sigma = sigma
        self.assignment = assignment
        self.init = init
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the embedding, the centres and their graph.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        samples = self._validated(X)
        X = self._training_data(samples)
        lam = 0.1 * X.shape[0] if isinstance(self.lam, str) else float(self.lam)
        order = canonical_order(X, effective_n_jobs(self.n_jobs))
        with threadpool_limits(limits=1):
            Y, d, W = self._principal_start(X, order)
            Z = Y.project(W)
            # Near one another in memory as in space: what a point needs is in the cache.
            places = kdtree.build(Z).order
            Y.reorder(places)
            order, Z = order[places], Z[places]
            structure = as_structure(self.structure)
            n_centers = self._resolve_n_centers(len(Z), structure)
            self._check_memory(
                Y,
                working_bytes(len(Z), Y.n_dims, n_centers, W.shape[1], Y.n_jobs),
                f"lower n_centers={n_centers:,} or the number of features, for instance with "
                "sklearn.decomposition.PCA or TruncatedSVD",
            )
            C = self._starting_centers(Z, n_centers, d, Y, W)
            # One centre per sample: they follow the samples back to where these stood.
            nodes = np.arange(n_centers) if C is not None else order
            sigma = self._resolve_sigma(Z, Z if C is None else C)
            result = self._run(
                lambda report: ddrtree(
                    Y,
                    W,
                    C,
                    lam=lam,
                    gamma=float(self.gamma),
                    sigma=sigma,
                    max_iter=self.max_iter,
                    tol=self.tol,
                    structure=in_order(structure, nodes),
                    callback=report,
                )
            )
        self.lam_, self.gamma_, self.sigma_ = lam, float(self.gamma), sigma
        along_components = self._set_axes(Y, result.W, d, X.dtype)
        self.embedding_ = np.empty((X.shape[0], d), dtype=X.dtype)
        self.embedding_[order] = result.Z @ along_components
        self.centers_ = np.empty((len(result.C), d), dtype=X.dtype)
        self.centers_[nodes] = result.C @ along_components
        self._set_tree(result.graph, nodes)
        self.labels_ = kdtree.nearest(kdtree.build(self.centers_), self.embedding_, Y.n_jobs)
        self._remember_rows(samples)
        return self

    @property
    def assignments_(self) -> Sparse:
        """R for the final points and centres (`prop:R`)."""
        Z, C = self.embedding_.astype(np.float64), self.centers_.astype(np.float64)
        return assign(Z, kdtree.build(C), self.sigma_).matrix(len(C))

    def _nodes(self) -> tuple[Floats, Floats]:
        weights = np.asarray(self.assignments_.sum(axis=0)).ravel()
        return self.centers_.astype(np.float64), weights

    def _resolve_n_centers(self, n_samples: int, structure: Any) -> int:
        if self.init is not None:
            return len(np.atleast_1d(self.init))
        if isinstance(structure, FixedGraph):
            return check_fixed_graph(structure.n_nodes, self.n_centers, n_samples)
        return resolve_n_centers(self.n_centers, n_samples)

    def _starting_centers(
        self, Z: Floats, n_centers: int, n_components: int, Y: CentredRows, W: Floats
    ) -> Floats | None:
        """Centres in the principal components W; None for one per sample."""
        if self.init is not None:
            init = check_init(self.init, self.n_centers, len(Z), n_components)
            return init @ Y.lift(W) if self.n_components is None else init[:, : Z.shape[1]]
        if n_centers == len(Z):
            return None
        # Along the first component the order of the samples depends neither on how the table
        # is sorted nor on its units; k-means draws from it by position.
        order = np.argsort(Z[:, 0], kind="stable")
        sample = Z[order[:: math.ceil(len(Z) / (SAMPLES_PER_CENTER * n_centers))]]
        seed = check_random_state(self.random_state)
        means = KMeans(n_centers, n_init=1, max_iter=100, random_state=seed)
        with warnings.catch_warnings():
            # Fewer distinct samples than centres: some centres start, and may stay, together.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return np.asarray(means.fit(sample).cluster_centers_)

    def _resolve_sigma(self, Z: Floats, C: Floats) -> float:
        if self.assignment == "hard":
            return 0.0
        if isinstance(self.sigma, str):
            spread, directions = spread_around(Z, C, effective_n_jobs(self.n_jobs))
            # Points without any spread leave nothing to tell centres apart by.
            return spread / max(2.0, directions) or 1.0
        return float(self.sigma)

    def _place(self, projected: Floats, X: Matrix) -> Floats:
        """Minimiser of a new point's own terms of the objective, W and C staying put.

        z = [Wᵀy + γ·Σ_k r_k(z)·c_k]/(1 + γ), iterated from Wᵀy; every step lowers the objective.
        With hard assignments the centre nearest to Wᵀy gives the minimum at once.
        """
        C, gamma = self.centers_.astype(np.float64), self.gamma_
        centres = kdtree.build(C)
        Z = projected.copy()
        scale = FIXED_POINT_RTOL * max(float(np.abs(C).max()), np.sqrt(self.sigma_))
        moving = np.arange(len(Z))
        for _ in range(MAX_FIXED_POINT_STEPS if self.sigma_ > 0 else 1):
            pull = assign(Z[moving], centres, self.sigma_) @ C
            new = (projected[moving] + gamma * pull) / (1 + gamma)
            far = np.abs(new - Z[moving]).max(axis=1) > scale
            Z[moving] = new
            moving = moving[far]
            if len(moving) == 0:
                break
        return Z


def spread_around(Z: Floats, C: Floats, n_jobs: int = 1) -> tuple[float, float]:
    """How far points spread around the centres, and in how many directions.

    First, the mean squared distance to the nearest centre that stands without the point. A
    centre is the mean of the m points nearest to it; without one of them it would be m/(m−1)
    times as far from that point. For many points per centre this is the plain mean squared
    distance to the nearest centre; for one point per centre, to the nearest other point.

    Second, Tr(G)²/Tr(G²) for the covariance G of the differences to the nearest centre, that of
    another point where every point has its own: D for equal spread in D directions, near 1 if
    one direction outweighs the others.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.estimators.ddrtree import spread_around
    >>> points = np.array([[0.0], [1.0], [3.0]])
    >>> spread_around(points, points)  # (1 + 1 + 4)/3
    (2.0, 1.0)
    """
    distance, index = KDTree(C).query(Z, k=[1, 2], workers=n_jobs)
    size = np.bincount(index[:, 0], minlength=len(C))[index[:, 0]]
    factor = np.divide(size, size - 1, out=np.full(len(Z), np.inf), where=size > 1)
    with np.errstate(invalid="ignore"):
        own = np.nan_to_num(factor * distance[:, 0], nan=np.inf)
    spread = float(np.mean(np.minimum(own, distance[:, 1]) ** 2))

    apart = Z - C[index[:, 1 if len(C) == len(Z) else 0]]
    G = apart @ apart.T if len(apart) < apart.shape[1] else apart.T @ apart
    trace = float(np.trace(G))
    if trace == 0:
        return spread, 1.0
    G = G / trace  # its squares might overflow
    return spread, min(1 / float(np.vdot(G, G)), float(Z.shape[1]))
