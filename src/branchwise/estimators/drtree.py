"""The DRTree estimator."""

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.spatial import KDTree
from threadpoolctl import threadpool_limits

from .. import _kdtree as kdtree
from .._compat import Interval, StrOptions, effective_n_jobs
from .._docs import documented
from .._typing import Floats, Matrix
from ..data.centering import CentredRows
from ..data.row_order import canonical_order, first_alike
from ..solvers.convergence import Callback
from ..solvers.drtree import drtree
from ..structures import FixedGraph, as_structure, in_order
from .base import (
    ESTIMATORS,
    LANDMARKS,
    STRUCTURES,
    StructureLearner,
    all_or_nothing,
    tree_and_parts,
)
from .chunks import landmarks_of
from .progress import run_solver


@documented(ESTIMATORS)
class DRTree(StructureLearner):
    """Dimensionality reduction onto a tree, or another graph, with one node per sample.

    Minimises over orthonormal W, points z_i and spanning trees on these points

        Σ_i ‖y_i − Wz_i‖² + λ·Σ_(i,j)∈tree ‖z_i − z_j‖²

    where y_i are the centred samples (`op:dimred-tree` of the paper). Choose it for data
    with little noise whose every sample is to be a node, such as ordered images. With noise,
    `DDRTree` gives a cleaner tree; for a smooth skeleton with a global optimum, `SPL`.
    ``structure`` puts rings, curves, forests or other graphs in the place of trees.

    Parameters
    ----------
    n_components : int, float or None, default=2
        Dimension d of the embedding; a float in (0, 1) is the fraction of energy (total
        variance) that the components have to keep, as in scikit-learn's PCA. None: W is the
        identity, a principal tree in the space of the features (reversed graph embedding,
        `op:dimred-graph`), whose nodes there are ``inverse_transform(centers_)``.
    lam : float or "auto", default="auto"
        Weight λ ≥ 0 of the tree; it has no unit. "auto" is 0.1·n_samples, the paper's choice
        for images. 0 gives PCA.
    {structure}
        A symmetric matrix of non-negative weights, sparse or dense, is a fixed graph: node k is
        sample k.
    {kernel}
    {kernel_params}
    max_iter : int, default=100
        Most iterations to run.
    tol : float, default=1e-6
        Stop when the objective changes by at most ``tol`` times the energy of the data from
        one iteration to the next; 0 runs all ``max_iter`` iterations.
    random_state : int, RandomState or None, default=None
        Seed of the choice of landmarks; the method itself uses no random numbers.
    n_landmarks : int, default=5000
        Used for Dask arrays only. A Dask array is not fitted whole: so many of its rows are chosen
        and fitted in memory, and `transform` places all rows by these. Half of them follow the
        density, half go to what is not covered yet
        (`branchwise.data.landmarks.choose_landmarks`, four passes over the data). ``embedding_``
        and all other attributes are those of the landmarks, and ``lam="auto"`` goes by their
        number. An array of no more rows than that is fitted whole.
        benchmarks/landmarks.md says how far the result is from that of all rows.
    n_jobs : int or None, default=None
        Number of threads; None is one, -1 is as many as there are processors. The result does
        not depend on it.
    {verbose}
    {callback}

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        The points Z; for ``n_components=None``, in the centred features.
    projection_ : array of shape (n_samples, n_components)
        Wᵀ(y − mean) for the samples of the fit, as `project` gives it: where a trajectory has
        them.
    centers_ : array of shape (n_samples, n_components)
        The nodes of the tree, here the points themselves.
    tree_ : sparse array of shape (n_samples, n_samples)
        Symmetric adjacency matrix S of the graph: ones on its edges (n_samples − 1 of them for
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
    assignments_ : sparse array of shape (n_samples, n_samples)
        The identity: every sample is its own node.
    labels_ : array of shape (n_samples,)
        Index of the node of each sample.
    lam_ : float
        The λ used.
    objective_ : float
        Objective after the last iteration.
    objective_history_ : array of shape (n_iter_,)
        Objective after each iteration; it never rises, but for rounding of the order of
        1e-16 times the energy of the data.
    n_iter_ : int
    converged_ : bool
    landmarks_ : array of shape (n_samples,)
        After a fit to a Dask array, the numbers of its rows that were fitted.
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise import DRTree
    >>> model = DRTree(n_components=2).fit(load_iris().data)
    >>> model.embedding_.shape, model.tree_.nnz // 2
    ((150, 2), 149)
    >>> ring = DRTree(structure="ring").fit(load_iris().data)
    >>> bool((ring.tree_.sum(axis=0) == 2).all())  # every sample has two neighbours
    True
    >>> tree = DRTree(n_components=None).fit(load_iris().data)  # in the space of the features
    >>> tree.inverse_transform(tree.centers_).shape
    (150, 4)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StructureLearner._parameter_constraints,
        "n_landmarks": LANDMARKS,
        "lam": [Interval(Real, 0, 1e12, closed="both"), StrOptions({"auto"})],
        "structure": STRUCTURES,
    }

    def __init__(
        self,
        n_components: int | float | str | None = 2,
        *,
        lam: float | str = "auto",
        structure: Any = "tree",
        kernel: Any = None,
        kernel_params: dict[str, Any] | None = None,
        max_iter: int = 100,
        tol: float = 1e-6,
        random_state: Any = None,
        n_landmarks: int = 5000,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ):
        self.n_components = n_components
        self.lam = lam
        self.structure = structure
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
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the embedding and its graph.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask array of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        is_graph = not isinstance(self.structure, str) and (
            not hasattr(self.structure, "best_graph") or isinstance(self.structure, FixedGraph)
        )
        samples = self._validated(landmarks_of(self, X, "structure's graph" if is_graph else None))
        X = self._training_data(samples)
        lam = 0.1 * X.shape[0] if isinstance(self.lam, str) else float(self.lam)
        order = canonical_order(X, effective_n_jobs(self.n_jobs))
        with threadpool_limits(limits=1):
            Y = CentredRows(X, order, effective_n_jobs(self.n_jobs))
            d, W = self._principal_axes(Y)
            # Equal rows start at equal points: rounding, which differs from row to row in products
            # of matrices, is not to decide which of them comes first.
            Z = Y.project(W)[first_alike(X[order])]
            # Near one another in memory as in space: what a point needs is in the cache.
            places = kdtree.build(Z).order
            Y.reorder(places)
            order = order[places]
            structure = in_order(as_structure(self.structure), order)
            result = run_solver(
                self,
                lambda stopping: drtree(
                    Y,
                    W,
                    start=Z[places],
                    lam=lam,
                    structure=structure,
                    **stopping,
                ),
            )
        self.lam_ = lam
        along_components = self._set_axes(Y, result.W, d, X.dtype)
        self.embedding_ = np.empty((X.shape[0], d), dtype=X.dtype)
        self.embedding_[order] = result.Z @ along_components
        self.centers_ = self.embedding_
        self.tree_, self.n_trees_ = tree_and_parts(result.graph, order)
        self.labels_ = np.arange(len(order))
        self.assignments_ = sparse.eye_array(len(order), format="csr")
        self._remember_rows(samples)
        self.projection_ = self._by_blocks(X, self._project)
        return self

    def _place(self, projected: Floats, X: Matrix) -> Floats:
        """The best place for one more leaf of the tree, all other points staying put.

        Hanging at node j it is z = (Wᵀy + λz_j)/(1 + λ), at a cost of λ/(1 + λ)·‖Wᵀy − z_j‖²: the
        node nearest to Wᵀy is the best.
        """
        nearest = KDTree(self.centers_).query(projected)[1]
        return (projected + self.lam_ * self.centers_[nearest]) / (1 + self.lam_)
