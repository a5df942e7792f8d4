"""The DDRTree estimator."""

import os
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from .. import _kdtree as kdtree
from .._compat import Interval, StrOptions, effective_n_jobs
from .._docs import documented
from .._typing import Floats, Ints, Matrix, Sparse
from ..data.centering import CentredRows
from ..data.checks import check_fixed_graph, check_init, check_n_components, resolve_n_centers
from ..data.dask import is_dask
from ..data.moments import extremes
from ..data.row_order import canonical_keys, shift_and_range
from ..solvers.assignments import assign
from ..solvers.convergence import Callback
from ..solvers.ddrtree import ddrtree, working_bytes
from ..solvers.initialization import (
    MAX_WARD,
    SAMPLES_PER_CENTER,
    WARD_PER_CENTER,
    Candidates,
    candidates,
    on_grid,
    spread_around,
    starting_centers,
    ward_centers,
)
from ..structures import FixedGraph, as_structure, in_order
from .base import ESTIMATORS, STRUCTURES, StructureLearner, all_or_nothing, tree_and_parts
from .progress import run_solver

# A new point has reached its place when it moves by less than this part of the largest
# coordinate of a centre.
FIXED_POINT_RTOL = 1e-10
MAX_FIXED_POINT_STEPS = 1000
# A mean squared distance this small, against the squares of the centres, is that to their grid.
TOGETHER = 1e-10
# The part of the squared distance between different samples that leaves them apart.
APART = 0.01
# lam="auto" is this times γ times the number of samples.
LAM = 0.1


def equal_rows_in_order(places: Ints, keys: Ints) -> Ints:
    """The places with those of equal keys in ascending order, whatever made them come otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.estimators.ddrtree import equal_rows_in_order
    >>> equal_rows_in_order(np.array([2, 1, 0]), np.array([7, 5, 7]))
    array([0, 1, 2])
    """
    where = np.argsort(keys[places], kind="stable")
    sorted_places = np.empty_like(places)
    sorted_places[where] = places[np.lexsort((places, keys[places]))]
    return sorted_places


@documented(ESTIMATORS)
class DDRTree(StructureLearner):
    """Dimensionality reduction onto a tree, or another graph, of cluster centres.

    This is the model by itself. For branches, pseudotime and how sure they are:
    `branchwise.learn_trajectory`.

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
    n_components : int, float, "auto" or None, default="auto"
        Dimension d of the embedding. "auto" is 10, or as many as the data spread in (at most the
        features, or the samples less one), or columns of ``init``: a tree with many branches needs
        more than two linear dimensions. A float in (0, 1) is the fraction of energy (total
        variance) that the components have to keep, as in scikit-learn's PCA. None: W is the
        identity, a principal tree in the space of the features, whose nodes there are
        ``inverse_transform(centers_)``. With
        ``lam=gamma*weight`` and a small ``gamma`` it is SimplePPT's, the tree having that weight.
    n_centers : int, None or "auto", default="auto"
        Number K of nodes of the graph. None is one per sample. "auto" is one per sample up to
        100 samples and 200·log(n)/(log(n) + log(100)) beyond: 120 for a thousand samples, 150
        for a million; for a fixed graph, its number of nodes.
    lam : float or "auto", default="auto"
        Weight λ ≥ 0 of the tree; it has no unit. "auto" is 0.1·gamma·n_samples. Larger values
        make a shorter, smoother tree and lose branches.
    {structure}
        A symmetric matrix of non-negative weights, sparse or dense, is a fixed graph: node k is
        row k of ``init`` or, with ``n_centers=None``, starts at sample k.
    gamma : float, default=2.0
        Weight γ > 0 of the clusters. A sample moves γ/(1 + γ) of the way to its centres: a large γ
        draws the samples into clumps. The paper's values are ``gamma=10``, ``lam=0.1*n_samples``.
        On iris, breast tumours, METABRIC, cells of blood and a noisy line, ``embedding_`` then lies
        along the tree with an evenness of 21, 16, 15, 20 and 32 of 100; with the defaults, which
        were chosen from 15 settings, of 41, 41, 49, 57 and 82, and branches are found as well.
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
        starts from Ward's clusters, from k-means if ``random_state`` is given, or with one centre
        per sample from the samples.
    {kernel}
    {kernel_params}
    max_iter : int, default=200
        Most iterations to run.
    tol : float, default=1e-5
        Stop when the objective changes by at most ``tol`` times the energy of the data from
        one iteration to the next; 0 runs all ``max_iter`` iterations.
    random_state : int, RandomState or None, default=None
        None starts from Ward's clusters of the samples, or of 3,000 of them that are chosen by
        their values: there is no chance in it. A seed starts from k-means instead, for other local
        optima. The result depends neither on the order of the samples nor on units and offsets;
        with a seed, that is so but for tables of rounded numbers, where many distances are equal
        and their last bits choose among them.
    n_jobs : int or None, default=None
        Number of threads; None is one, -1 is as many as there are processors. The result does
        not depend on it. For Dask arrays their scheduler decides.
    {verbose}
    {callback}
    checkpoint : path or None, default=None
        A file to write after every iteration; ``fit(X, resume=True)`` goes on from there. It
        takes 8·n_components·(n_features + 2·n_centers) bytes per iteration, however many samples
        there are.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        The points Z; for ``n_components=None``, in the centred features. After a fit to a Dask
        array it is a Dask array, held by the workers as long as they live: ``compute()`` it, or
        write it with ``to_zarr``.
    projection_ : array of shape (n_samples, n_components)
        Wᵀ(y − mean) for the samples of the fit, as `project` gives it: where a trajectory has
        them. A Dask array where ``embedding_`` is one.
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
        Index of the nearest centre; lazy after a fit to a Dask array.
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
    >>> from branchwise import DDRTree
    >>> X = load_iris().data
    >>> model = DDRTree(n_components=2).fit(X)
    >>> model.embedding_.shape, model.tree_.nnz // 2 == len(model.centers_) - 1
    ((150, 2), True)
    >>> model.transform([[5.0, 3.4, 1.5, 0.2]]).shape  # one more flower
    (1, 2)
    >>> DDRTree(kernel="rbf").fit(X).components_.shape  # of kernel values
    (10, 150)
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
        "checkpoint": [str, os.PathLike, None],
    }

    def __init__(
        self,
        n_components: int | float | str | None = "auto",
        *,
        n_centers: int | str | None = "auto",
        lam: float | str = "auto",
        structure: Any = "tree",
        gamma: float = 2.0,
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
        checkpoint: str | os.PathLike[str] | None = None,
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
        self.checkpoint = checkpoint

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, *, resume: bool = False) -> Self:
        """Learn the embedding, the centres and their graph.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask array of shape (n_samples, n_features)
            A Dask array, or DataFrame, is read once per iteration, and a few times before and
            after; its samples stay on the workers, and only sums over them are gathered. The
            result is that of the same samples in memory, but for rounding.
        y : ignored
        resume : bool, default=False
            Go on from the last iteration in the file ``checkpoint``, if there is one.

        Returns
        -------
        self
        """
        from ..persistence.checkpoints import Checkpoint

        checkpoint = Checkpoint.of(self, resume)
        if is_dask(X):
            from .ddrtree_dask import fit_chunks

            return fit_chunks(self, X, checkpoint)
        samples = self._validated(X)
        X = self._training_data(samples)
        lam, n_jobs = self._resolve_lam(X.shape[0]), effective_n_jobs(self.n_jobs)
        keys = canonical_keys(X, *shift_and_range(*extremes(X)), n_jobs)
        order = np.argsort(keys, kind="stable")
        with threadpool_limits(limits=1):
            Y = CentredRows(X, order, n_jobs)
            d, W = self._principal_axes(Y)
            structure = as_structure(self.structure)
            n_centers = self._resolve_n_centers(Y.n_rows, structure)
            self._check_memory(
                Y,
                working_bytes(Y.n_rows, Y.n_dims, n_centers, W.shape[1], Y.n_jobs),
                f"lower n_centers={n_centers:,} or the number of features, for instance with "
                "sklearn.decomposition.PCA or TruncatedSVD",
            )
            run = checkpoint.begin(self, Y, d, n_centers, lam)
            W = W if run.begun is None else run.begun.W
            Z = Y.project(W)
            # Near one another in memory as in space: what a point needs is in the cache.
            places = kdtree.build(Z).order
            if self.init is None and n_centers == len(Z):
                places = equal_rows_in_order(places, keys[order])
            Y.reorder(places)
            order, Z = order[places], Z[places]
            # One centre per sample: they follow the samples back to where these stood.
            is_own = self.init is None and n_centers == len(Z)
            nodes = order if is_own else np.arange(n_centers)
            if run.begun is not None:
                C, sigma = run.begun.C, run.begun.sigma
            else:
                n_drawn = 0 if is_own or self.init is not None else self._n_drawn(n_centers)
                drawn = candidates(keys[order], Z, n_drawn)
                if not is_own:
                    C = self._starting_centers(drawn, len(Z), n_centers, d, Y, W)
                elif self.n_centers == "auto":
                    steps, step = on_grid(Z)
                    C = steps * step
                else:
                    C = Z
                sigma = self._resolve_sigma(lambda: spread_around(Z, C, n_jobs), C)
            result = run_solver(
                self,
                lambda stopping: ddrtree(
                    Y,
                    W,
                    C,
                    lam=lam,
                    gamma=float(self.gamma),
                    sigma=sigma,
                    structure=in_order(structure, nodes),
                    saved=run.saved,
                    save=run.writer(W, sigma),
                    **stopping,
                ),
            )
        along_components = self._set_axes(Y, result.W, d, X.dtype)
        self.embedding_ = np.empty((X.shape[0], d), dtype=X.dtype)
        self.embedding_[order] = result.Z @ along_components
        self._set_centers(result, nodes, along_components, lam, sigma, X.dtype)
        self.labels_ = kdtree.nearest(kdtree.build(self.centers_), self.embedding_, Y.n_jobs)
        self._remember_rows(samples)
        self.projection_ = self._by_blocks(X, self._project)
        return self

    @property
    def assignments_(self) -> Sparse:
        """R for the final points and centres (`prop:R`)."""
        Z, C = np.asarray(self.embedding_, dtype=np.float64), self.centers_.astype(np.float64)
        return assign(Z, kdtree.build(C), self.sigma_).matrix(len(C))

    def nodes(self) -> tuple[Floats, Floats]:
        """The centres along the components, and how much of the samples each has (1ᵀR)."""
        check_is_fitted(self)
        weights = np.asarray(self.assignments_.sum(axis=0)).ravel()
        return self.centers_.astype(np.float64), weights

    def _resolve_n_components(self, Y: Any) -> int:
        if isinstance(self.n_components, str) and np.ndim(self.init) == 2:
            n_components = int(np.shape(self.init)[1])
            check_n_components(n_components, Y.n_rows, Y.n_features)
            return n_components
        return super()._resolve_n_components(Y)

    def _resolve_n_centers(self, n_samples: int, structure: Any) -> int:
        if self.init is not None:
            return len(np.atleast_1d(self.init))
        if isinstance(structure, FixedGraph):
            return check_fixed_graph(structure.n_nodes, self.n_centers, n_samples)
        return resolve_n_centers(self.n_centers, n_samples)

    def _resolve_lam(self, n_samples: int) -> float:
        return LAM * self.gamma * n_samples if isinstance(self.lam, str) else float(self.lam)

    def _n_drawn(self, n_centers: int) -> int:
        """How many samples the start looks at."""
        if self.random_state is None:
            return max(MAX_WARD, WARD_PER_CENTER * n_centers)
        return SAMPLES_PER_CENTER * n_centers

    def _starting_centers(
        self,
        drawn: Candidates,
        n_samples: int,
        n_centers: int,
        n_components: int,
        Y: Any,
        W: Floats,
    ) -> Floats:
        """Centres in the principal components W."""
        if self.init is not None:
            init = check_init(self.init, self.n_centers, n_samples, n_components)
            return init @ Y.lift(W) if self.n_components is None else init[:, : W.shape[1]]
        if self.random_state is None:
            return ward_centers(drawn, n_centers)
        seed = check_random_state(self.random_state)
        return starting_centers(drawn, n_samples, n_centers, seed)

    def _resolve_sigma(self, spread: Callable[[], tuple[float, float]], C: Floats) -> float:
        if self.assignment == "hard":
            return 0.0
        if isinstance(self.sigma, str):
            squared, directions = spread()
            is_grid = self.random_state is None and self.init is None
            if is_grid and squared <= TOGETHER * float(np.vdot(C, C)) / len(C):
                # Fewer different samples than centres: every sample is at one, but for the grid.
                different = np.unique(C, axis=0)
                is_one = len(different) == 1  # the grid of equal samples is one of rounding
                squared, directions = (0, 1) if is_one else spread_around(different, different)
                squared *= APART
            # Points without any spread leave nothing to tell centres apart by.
            return squared / max(2.0, directions) or 1.0
        return float(self.sigma)

    def _set_centers(
        self, result: Any, nodes: Ints, along: Floats, lam: float, sigma: float, dtype: Any
    ) -> None:
        """Set the centres, their graph and the numbers of the model."""
        self.lam_, self.gamma_, self.sigma_ = lam, float(self.gamma), sigma
        self.centers_ = np.empty((len(result.C), along.shape[1]), dtype=dtype)
        self.centers_[nodes] = result.C @ along
        self.tree_, self.n_trees_ = tree_and_parts(result.graph, nodes)

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
