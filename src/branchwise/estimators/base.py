"""What the three estimators share: input, output types, known rows, and the way back."""

import functools
import os
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from .._compat import (
    HasMethods,
    Interval,
    RealNotInt,
    StrOptions,
    effective_n_jobs,
    validate_parameter_constraints,
)
from .._memory import check_memory
from .._parallel import ordered_map
from .._typing import Bools, Floats, Ints, Matrix, Sparse
from ..data.centering import CentredRows
from ..data.checks import (
    auto_components,
    check_embedding,
    check_embedding_shape,
    check_kernel_params,
    check_n_components,
    check_not_tiny,
    check_samples,
    check_square,
)
from ..data.dask import as_chunks, chunk_starts, is_dask
from ..data.dask_passes import map_chunks
from ..data.kernels import (
    block_rows,
    is_evaluated,
    is_precomputed,
    kernel_matrix,
    kernel_rows,
)
from ..data.row_order import canonical_order, row_keys
from ..graph import adjacency
from ..linalg import column_signs, complete_basis
from ..solvers.convergence import Callback
from ..solvers.pca import n_components_for, principal_axes
from ..structures import DESCRIPTIONS, NAMES, Graph
from .chunks import (
    checked_chunks,
    dask_as_it_is,
    float_type,
    light_copy,
    map_back,
    place_chunk,
    project_chunk,
)

Fit = TypeVar("Fit", bound=Callable[..., Any])

# Rows per block of a transform.
BLOCK = 8192
# What DRTree and SPL accept as `n_landmarks`.
LANDMARKS = [Interval(Integral, 2, None, closed="left")]
# What DRTree and DDRTree accept as `structure`.
STRUCTURES = [StrOptions(set(NAMES)), HasMethods("best_graph"), "array-like", "sparse matrix"]


# Of the estimators: parameters that all of them have.
ESTIMATORS = {
    "structure": DESCRIPTIONS,
    "kernel": """
kernel : {"linear", "rbf", "precomputed"}, callable or None, default=None
    None fits the samples as they are. Otherwise the rows of the kernel matrix between the
    samples and the training samples are the data, whatever the kernel, as in the paper's
    experiments with images: "linear" fits X·Xᵀ as it would fit X. "rbf" is
    exp(−g·‖x − x'‖²). "precomputed" takes the matrix itself, (n_samples, n_samples) in `fit`
    and (n_new_samples, n_samples) in `transform`. A callable takes two arrays of samples,
    of n_a and n_b rows, and returns an array of shape (n_a, n_b). ``mean_``, ``components_``
    and `inverse_transform` then refer to kernel values, one per training sample, in the
    place of features. The order of the samples matters by rounding only.
""",
    "kernel_params": """
kernel_params : dict or None, default=None
    ``{"gamma": g}`` for "rbf", by default 1/n_features, the paper's for standardised
    features; keyword arguments of a callable.
""",
    "verbose": """
verbose : int, default=0
    Show one line of progress when positive.
""",
    "callback": """
callback : callable or None, default=None
    Called after every iteration with its record (`branchwise.solvers.convergence.Progress`).
""",
}


def all_or_nothing(fit: Fit) -> Fit:
    """A fit that fails, or is interrupted, leaves the estimator as it was."""

    @functools.wraps(fit)
    def guarded(self: Any, *args: Any, **options: Any) -> Any:
        before = vars(self).copy()
        try:
            return fit(self, *args, **options)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast(Fit, guarded)


@dataclass(frozen=True, eq=False)
class TrainingRecord:
    """What a fitted estimator keeps of its training samples, besides its fitted attributes.

    Enough to know the samples again, and to place others by them. With this and the fitted
    attributes, a model file or a page places samples as the estimator does.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise import SPL
    >>> record = SPL(n_neighbors=5).fit(load_iris().data).training_record
    >>> len(record), record.n_ties
    (150, 5)
    """

    sorted_keys: Ints  # one number per sample; none are kept of a Dask array
    order: Ints  # the sample that each key is of, equal ones in their order
    kernel_samples: Matrix | None  # what a kernel is evaluated with
    # Of SPL alone: the samples that a new one is tied to are searched for among these data, which
    # are centred unless sparse; how many they are, and the share of the resistance of each tie.
    search_rows: Matrix | None = None
    n_ties: int = 0
    edge_share: float = 0.0

    @classmethod
    def of(cls, keys: Ints, kernel_samples: Matrix | None) -> "TrainingRecord":
        """The record of samples with these keys, in their order."""
        order = np.argsort(keys, kind="stable")
        return cls(keys[order], order, kernel_samples)

    def __len__(self) -> int:
        return len(self.sorted_keys)

    @property
    def keys(self) -> Ints:
        """The keys in the order of the samples."""
        keys = np.empty_like(self.sorted_keys)
        keys[self.order] = self.sorted_keys
        return keys

    def find(self, keys: Ints) -> tuple[Bools, Ints]:
        """Which of these keys are those of samples, and of which; of equal ones, the first."""
        position = np.minimum(np.searchsorted(self.sorted_keys, keys), len(self) - 1)
        known = self.sorted_keys[position] == keys
        return known, self.order[position[known]]


class StructureLearner(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, metaclass=ABCMeta
):
    """Base of SPL, DRTree and DDRTree.

    A subclass implements `fit`, and `_place(projected, X)`, which maps new samples row by row. Its
    X are the data: the samples themselves or, with a kernel, rows of the kernel matrix.
    """

    components_: Floats
    embedding_: Floats
    mean_: Floats
    projection_: Floats
    n_components: Any
    kernel: Any
    kernel_params: dict[str, Any] | None
    max_iter: int
    tol: float
    verbose: int
    callback: Callback | None
    n_jobs: int | None
    n_landmarks: int
    random_state: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            StrOptions({"auto"}),
            None,
        ],
        "kernel": [StrOptions({"linear", "rbf", "precomputed"}), callable, None],
        "kernel_params": [dict, None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
            None,
        ],
        "verbose": ["verbose"],
        "callback": [callable, None],
    }

    def check_parameters(self, *names: str) -> None:
        """Raise an error if a parameter has a value that it cannot have, as `fit` would.

        Parameters
        ----------
        *names : str
            Which parameters; by default all.

        Examples
        --------
        >>> from branchwise import DRTree
        >>> DRTree(tol=-1.0).check_parameters("max_iter")
        >>> DRTree(tol=-1.0).check_parameters()
        Traceback (most recent call last):
        ...
        sklearn.utils._param_validation.InvalidParameterError: The 'tol' parameter of DRTree ...
        """
        given = self.get_params(deep=False)
        given = {name: given[name] for name in names or given}
        constraints = {name: self._parameter_constraints[name] for name in given}
        validate_parameter_constraints(constraints, given, type(self).__name__)

    def _validated(self, X: Any) -> Matrix:
        """Parameters and training data, checked."""
        self.check_parameters()
        check_kernel_params(self.kernel, self.kernel_params)
        X = check_samples(self, X, ensure_min_samples=2, must_count=True)
        if is_precomputed(self.kernel):
            check_square(X)
        return X

    def _training_data(self, X: Matrix) -> Matrix:
        """The data to fit: X as it is or, with a kernel, the kernel matrix of its rows."""
        if not is_evaluated(self.kernel):
            return X
        n_samples = X.shape[0]
        check_memory(
            (8 + 2 * X.dtype.itemsize) * n_samples**2,
            f"{type(self).__name__} with the kernel matrix of {n_samples:,} samples",
            "take fewer samples or set kernel=None",
        )
        with threadpool_limits(limits=1):
            n_jobs = effective_n_jobs(self.n_jobs)
            K = kernel_matrix(X, self.kernel, self.kernel_params, n_jobs)
        check_not_tiny(K, "the kernel matrix")
        return K

    def _new_data(self, X: Matrix) -> Matrix:
        """Some new samples as rows of data: X as it is, or its kernel with the training samples."""
        samples = self._record.kernel_samples
        return X if samples is None else kernel_rows(X, samples, self.kernel, self.kernel_params)

    def _check_memory(self, Y: CentredRows, needed: float, remedy: str) -> None:
        """Say at once that a fit cannot fit."""
        task = f"{type(self).__name__} on {Y.n_rows:,} samples of {Y.n_features:,} features"
        check_memory(needed, task, remedy)

    def _resolve_n_components(self, Y: CentredRows) -> int:
        """The number of components: as given, by rule, all, or enough for a fraction of energy."""
        if self.n_components is None:
            self._check_memory(
                Y,
                # components_, and some square matrices in the basis that a fit works in.
                8 * (2 * Y.n_features**2 + 6 * Y.n_dims**2),
                "set n_components, or reduce the features first, for instance with "
                "sklearn.decomposition.PCA: a rotation changes nothing",
            )
            return Y.n_features
        if isinstance(self.n_components, str):
            return auto_components(Y.n_rows, Y.n_features)
        if not isinstance(self.n_components, Integral):
            return n_components_for(Y, float(self.n_components))
        check_n_components(
            int(self.n_components), Y.n_rows, Y.n_features, is_kernel=self.kernel is not None
        )
        return int(self.n_components)

    @abstractmethod
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from the samples X."""

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Floats:
        """Learn the embedding and return it.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask array of shape (n_samples, n_features)
        y : ignored
        **fit_params
            Further parameters of `fit`.

        Returns
        -------
        embedding : array of shape (n_samples, n_components)
            For a Dask array a Dask array, in chunks of the same rows.
        """
        learned = self.fit(X, **fit_params).embedding_
        # Of landmarks only, if it is in memory.
        return self.transform(X) if is_dask(X) and not is_dask(learned) else learned

    def transform(self, X: Any) -> Floats:
        """Place samples in the learned space.

        Each row is placed by itself: its image does not depend on the others. A row that
        was part of the training data keeps the place it has in ``embedding_``; of equal rows
        that have several places there, the place of the first.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask array of shape (n_samples, n_features)
            With ``kernel="precomputed"`` the kernel between these samples, one row each, and the
            training samples, one column each.

        Returns
        -------
        embedding : array of shape (n_samples, n_components)
            For a Dask array or DataFrame a lazy Dask array, in chunks of the same rows; nothing
            is computed yet, but for the number of rows of a DataFrame. `set_output` does not
            apply to it.
        """
        check_is_fitted(self)
        if is_dask(X):
            return self._map_chunks(checked_chunks(self, X, reset=False), place_chunk)
        X = check_samples(self, X, reset=False)
        with threadpool_limits(limits=1):
            return self._placed(X)

    def project(self, X: Any) -> Floats:
        """Samples along the components: Wᵀ(x − mean), without any pull to the learned structure.

        A trajectory has its samples there, old and new ones alike: what is nearly the same is
        nearly at the same place. `transform` instead draws samples to the structure.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask array of shape (n_samples, n_features)
            As for `transform`. With a kernel, its values with the training samples are projected.

        Returns
        -------
        projection : array of shape (n_samples, n_components)
            ``projection_`` for the samples of the fit. For a Dask array or DataFrame a lazy Dask
            array, in chunks of the same rows.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from branchwise import DDRTree
        >>> X = load_iris().data
        >>> model = DDRTree(random_state=0).fit(X)
        >>> bool(np.allclose(model.project(X), (X - model.mean_) @ model.components_.T))
        True
        >>> bool((model.project(X) == model.projection_).all())
        True
        """
        check_is_fitted(self)
        if is_dask(X):
            return self._map_chunks(checked_chunks(self, X, reset=False), project_chunk)
        X = check_samples(self, X, reset=False)
        with threadpool_limits(limits=1):
            return self._projected(X)

    def starting_axes(self, X: Any) -> tuple[Floats, Floats]:
        """The mean and the principal axes of samples, in which a fit to them starts.

        Starting centres (``init`` of `DDRTree`) are given along these axes.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask array of shape (n_samples, n_features)

        Returns
        -------
        mean : array of shape (n_features,)
        axes : array of shape (n_axes, n_features)
            As many as ``n_components``, or fewer if the samples span no more.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from branchwise import DDRTree
        >>> X = load_iris().data
        >>> mean, axes = DDRTree(n_components=2).starting_axes(X)
        >>> centers = ((X - mean) @ axes.T)[::15]
        >>> DDRTree(n_components=2, init=centers).fit(X).centers_.shape
        (10, 2)
        """
        model = clone(self)
        if is_dask(X):
            from ..solvers.ddrtree_dask import ChunkedRows

            Y: Any = ChunkedRows(checked_chunks(model, X, reset=True))
        else:
            X = model._training_data(model._validated(X))
            n_jobs = effective_n_jobs(self.n_jobs)
            Y = CentredRows(X, canonical_order(X, n_jobs), n_jobs)
        with threadpool_limits(limits=1):
            _, W = model._principal_axes(Y)
            return Y.mean, Y.lift(W).T

    def _projected(self, X: Matrix) -> Floats:
        """Coordinates of samples that have been checked."""
        return self._by_blocks(X, lambda rows: self._project(self._new_data(rows)))

    def _by_blocks(self, X: Matrix, along: Callable[[Matrix], Floats]) -> Floats:
        """What a function makes of some rows of X at a time, one place for each."""
        out = np.empty((X.shape[0], len(self.components_)), dtype=X.dtype)
        has_kernel = self._record.kernel_samples is not None
        step = min(BLOCK, block_rows(len(self.mean_))) if has_kernel else BLOCK

        def fill(start: int) -> None:
            rows = slice(start, start + step)
            out[rows] = along(X[rows])

        ordered_map(fill, range(0, len(out), step), effective_n_jobs(self.n_jobs))
        return out

    def _placed(self, X: Matrix) -> Floats:
        """Places of samples that have been checked."""

        def place(rows: Matrix) -> Floats:
            data = self._new_data(rows)
            return self._place(self._project(data), data)

        placed = self._by_blocks(X, place)
        if len(self._record):
            known, rows = self._record.find(row_keys(X, effective_n_jobs(self.n_jobs)))
            placed[known] = self.embedding_[rows]
        return placed

    def _map_chunks(self, X: Any, function: Callable[..., Floats]) -> Any:
        """What a function makes of the rows of a Dask array, lazily."""
        return map_chunks(
            X,
            function,
            len(self.components_),
            float_type(X.dtype),
            numbered=True,
            model=self.for_workers(),
            starts=chunk_starts(X),
        )

    def for_workers(self) -> Self:
        """A copy that can place samples, and has little else to carry to other processes."""
        return light_copy(self)

    def inverse_transform(self, X: Any) -> Floats:
        """Map points of the learned space back to the space of the data.

        That is the space of the features or, with a kernel, of its values with the training
        samples, from which there is no way back to the features.

        Parameters
        ----------
        X : array-like or Dask array of shape (n_samples, n_components)

        Returns
        -------
        X_original : array of shape (n_samples, n_features)
            With a kernel, (n_samples, n_training_samples). For a Dask array a lazy Dask array.
        """
        check_is_fitted(self)
        back, mean = self._reconstruction(), self.mean_
        if not is_dask(X):
            X = check_embedding(X, len(back))
            return (X @ back + mean).astype(X.dtype, copy=False)
        X = as_chunks(X)
        check_embedding_shape(X.shape, len(back))
        dtype, first = float_type(X.dtype), chunk_starts(X)
        return map_chunks(
            X, map_back, len(mean), dtype, numbered=True, back=back, mean=mean, starts=first
        )

    def save(self, path: str | os.PathLike[str], *, include_training: Any = False) -> None:
        """Write the fitted model to a file, which `branchwise.load` reads.

        The file holds numbers and text only, never pickled objects, and is written whole or not
        at all (docs/model-files.md). A loaded model is equal to the saved one in parameters and
        fitted attributes, and its `transform` in every digit. A ``callback`` is not kept: the
        loaded model has none. A callable ``kernel``, a ``structure`` of your own class and a
        ``RandomState`` cannot be kept, and are refused.

        Per sample the file takes 8 bytes, a row of ``embedding_`` and of ``projection_``, and the
        edges of the graph. `SPL` places a new sample by the training samples nearest to it, and a
        kernel is evaluated with the training samples: these files hold the training data in any
        case. The points of
        a `DDRTree` fitted to a Dask array stay with the workers: the loaded model places samples,
        and its ``embedding_``, ``projection_`` and ``labels_`` have no rows; write them with
        ``to_zarr``, or set ``model.embedding_ = model.embedding_.compute()``, and ``projection_``
        likewise, first.

        Parameters
        ----------
        path : str or path
            By custom it ends in ".branchwise".
        include_training : False or X, default=False
            The X that was passed to `fit`, to be kept in the file as well: the loaded model has
            it as ``training_data_``. The model itself keeps no copy, hence no True.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from sklearn.datasets import load_iris
        >>> import branchwise
        >>> X = load_iris().data
        >>> model = branchwise.DDRTree(random_state=0).fit(X)
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "iris.branchwise"
        >>> model.save(path)
        >>> bool((branchwise.load(path).transform(X + 1) == model.transform(X + 1)).all())
        True
        """
        from ..persistence.estimators import estimator_state
        from ..persistence.format import write_state

        write_state(path, estimator_state(self, include_training))

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        X: Any = None,
        annotations: Any = None,
        names: Any = None,
        root: Any = None,
        show: Any = (),
        preparation: Any = None,
        color: str | None = None,
        title: str | None = None,
    ) -> str | None:
        """An interactive report: one HTML file that works without a network (docs/report.md).

        It shows the embedding with its graph, lets time run from any root, draws features along the
        branches, and places new samples as a trajectory does (`project`).

        Parameters
        ----------
        path : str, path or None, default=None
            Where to write it; None returns it as text.
        X : array, sparse matrix or DataFrame of shape (n_samples, n_features), optional
            The samples that the model was fitted to, in the same order, for features to colour by
            and to draw along the branches. A DataFrame brings the names of features and samples.
            The values are in the page: mail it only to those who may see them.
        annotations : DataFrame, Series or dict of columns, optional
            What else is known of the samples, one row for each: numbers, categories, dates.
        names : sequence of length n_samples, optional
            Names of the samples; by default the index of X or of annotations, or 0, 1, 2, …
        root : int, str, sequence or dict, optional
            Where time starts: a node or milestone such as "T2", or a dict with the arguments of
            `branchwise.trajectory.Trajectory.rooted`.
        show : sequence of str, optional
            Features to have in the page besides the 60 that change most along the tree.
        preparation : Preparation, optional
            What was done to X before the fit, if X is the table before it.
        color : str, optional
            The column to colour by at first, also one that is computed: "pseudotime", "branch",
            "density", …
        title : str, optional

        Returns
        -------
        html : str, or None if it was written to a file

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sklearn.datasets import load_iris
        >>> from branchwise import DDRTree
        >>> data = load_iris(as_frame=True)
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "iris.html"
        >>> model = DDRTree(random_state=0).fit(data.data)
        >>> model.to_html(path, X=data.data, annotations=data.target, root="T2")
        >>> path.stat().st_size > 10_000
        True
        """
        from ..report.page import estimator_to_html

        check_is_fitted(self)
        return estimator_to_html(
            self,
            path,
            X=X,
            names=names,
            root=root,
            annotations=annotations,
            show=show,
            preparation=preparation,
            color=color,
            title=title,
        )

    def _project(self, X: Matrix) -> Floats:
        """(X − mean)W, by the same sums for one row as for many."""
        if self.n_components is None:
            return (X.toarray() if hasattr(X, "tocsr") else X) - self.mean_.astype(np.float64)
        W = self.components_.T.astype(np.float64)
        if hasattr(X, "tocsr"):
            return np.asarray(X @ W - self.mean_.astype(np.float64) @ W)
        return np.einsum("ij,jk->ik", X - self.mean_.astype(np.float64), W)

    def nodes(self) -> tuple[Floats, Floats]:
        """The nodes of the learned structure along the components, and the weight of each.

        Returns
        -------
        nodes : array of shape (n_nodes, n_components)
        weights : array of shape (n_nodes,)
            In proportion to the samples that belong to each.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from branchwise import DDRTree
        >>> nodes, weights = DDRTree(n_centers=20).fit(load_iris().data).nodes()
        >>> nodes.shape, weights.shape
        ((20, 4), (20,))
        """
        check_is_fitted(self)
        return self.embedding_.astype(np.float64), np.ones(len(self.embedding_))

    def coordinates(self, X: Any) -> tuple[Floats, Floats]:
        """Samples along the components, and their squared distances from these.

        Unlike `transform`, which draws samples to the learned structure.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        coordinates : array of shape (n_samples, n_components)
        across : array of shape (n_samples,)

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from branchwise import DDRTree
        >>> X = load_iris().data
        >>> coordinates, across = DDRTree(n_centers=20).fit(X).coordinates(X)
        >>> total = np.sum((X - X.mean(axis=0)) ** 2)
        >>> bool(np.isclose(np.sum(coordinates**2) + np.sum(across), total))
        True
        """
        check_is_fitted(self)
        data = self._new_data(check_samples(self, X, reset=False))
        projected, mean = self._project(data), self.mean_.astype(np.float64)
        if hasattr(data, "tocsr"):
            squares = data.astype(np.float64).power(2).sum(axis=1)
            length = np.asarray(squares).ravel() - 2 * (data @ mean) + mean @ mean
        else:
            centred = data - mean
            length = np.einsum("ij,ij->i", centred, centred)
        across = length - np.einsum("ij,ij->i", projected, projected)
        return projected, np.maximum(across, 0.0)

    @abstractmethod
    def _place(self, projected: Floats, X: Matrix) -> Floats:
        """Images of new samples, row by row, from (X − mean)W and X."""

    def _reconstruction(self) -> Floats:
        return self.components_

    def _remember_rows(self, X: Matrix) -> None:
        """Keep the keys of the training rows, sorted, to recognise them by, and what kernels need.

        They are the rows that the user passed, whatever the kernel made of them.
        """
        self.__dict__.pop("training_data_", None)  # of a model that was loaded and is fitted again
        keys = row_keys(X, effective_n_jobs(self.n_jobs))
        self._record = TrainingRecord.of(keys, X.copy() if is_evaluated(self.kernel) else None)

    def _forget_rows(self) -> None:
        """Of a fit to a Dask array no rows are known again."""
        self.__dict__.pop("training_data_", None)
        self._record = TrainingRecord.of(np.empty(0, dtype=np.uint64), None)

    def _principal_axes(self, Y: Any) -> tuple[int, Floats]:
        """The number of components, and the principal axes that carry variance.

        All axes if W is to be the identity: a tree in all dimensions of the data is the same in
        any axes, and `_set_axes` leads back to the features.
        """
        d = self._resolve_n_components(Y)
        W, rank = principal_axes(Y, d)
        if self.n_components is not None:
            W = W[:, : max(rank, 1)]
        if isinstance(self.n_components, str) and getattr(self, "init", None) is None:
            d = W.shape[1]  # no arbitrary components that nobody asked for
        return d, W * column_signs(Y.lift(W))

    def _set_axes(self, Y: CentredRows, W: Floats, n_components: int, dtype: Any) -> Floats:
        """Set mean_ and components_; return Wᵀ·components_ᵀ, from coordinates in W to theirs.

        The components are W, completed, with signs fixed; or the identity, which needs a W
        that spans all data.
        """
        self.mean_ = Y.mean.astype(dtype)
        if self.n_components is None:
            self.components_ = np.eye(n_components, dtype=dtype)
            return Y.lift(W).T
        axes = complete_basis(Y.lift(W), n_components)
        signs = column_signs(axes)
        self.components_ = np.ascontiguousarray((axes * signs).T, dtype=dtype)
        return np.eye(W.shape[1], n_components) * signs

    @property
    def training_record(self) -> TrainingRecord:
        """What `transform` needs of the training samples; assigned when a model is loaded."""
        check_is_fitted(self)
        return self._record

    @training_record.setter
    def training_record(self, record: TrainingRecord) -> None:
        self._record = record

    # Kept as plain arrays: who reads a skops file has no class to trust but the estimator's.
    @property
    def _record(self) -> TrainingRecord:
        return TrainingRecord(self._sorted_keys, self._order, self._kernel_samples)

    @_record.setter
    def _record(self, record: TrainingRecord) -> None:
        self._sorted_keys, self._order = record.sorted_keys, record.order
        self._kernel_samples = record.kernel_samples

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def tree_and_parts(graph: Graph, nodes: Ints) -> tuple[Sparse, int]:
    """``tree_`` and ``n_trees_``, with node k of the graph at place nodes[k]."""
    tree = adjacency(nodes[graph.edges], len(nodes), graph.weights)
    return tree, int(connected_components(tree, directed=False)[0])


# After the class: scikit-learn wraps its methods when it is made.
for _name in ("transform", "fit_transform"):
    setattr(StructureLearner, _name, dask_as_it_is(getattr(StructureLearner, _name)))


def without_checkpoint(model: Any) -> Any:
    """A clone that is fitted to something else than its user's data must not write to their file.

    Examples
    --------
    >>> from branchwise import DDRTree
    >>> from branchwise.estimators.base import without_checkpoint
    >>> without_checkpoint(DDRTree(checkpoint="fit.branchwise")).checkpoint is None
    True
    """
    return model.set_params(checkpoint=None) if hasattr(model, "checkpoint") else model
