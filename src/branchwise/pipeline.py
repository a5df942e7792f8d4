"""From a table to an answer: preparation, estimator and trajectory together."""

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from ._compat import import_pandas
from ._memory import fits
from ._messages import listed
from ._typing import Bools, Floats, Matrix
from .data.dask import (
    as_chunks,
    chunk_starts,
    current_client,
    has_sparse_blocks,
    import_dask,
    is_dask,
)
from .data.dask_errors import ChunkError, failures_in_words, first_cell
from .data.dask_passes import as_rows, computed
from .data.table import (
    Table,
    as_table,
    column,
    columns,
    missing_by_column,
    missing_message,
    named_columns,
    rows_of_table,
)
from .preprocessing import Preparation, complete_rows
from .preprocessing.dask import check_logarithms
from .trajectory.core import Trajectory
from .trajectory.evidence import LEVEL
from .trajectory.learning import learn
from .trajectory.occupancy import occupancy_message

# Resamples without being asked: enough to see that they disagree.
N_RESAMPLES = 20
# Prepared rows are kept by the workers if they have so many times the memory.
HELD = 4


def fit_pipeline(
    data: Any,
    estimator: Any = None,
    preparation: Preparation | None = None,
    *,
    learning: dict[str, Any] | None = None,
    support: int = 0,
    random_state: Any = 0,
    root: dict[str, Any] | None = None,
    end: Any = None,
    prune: bool = False,
    resume: bool = False,
    reading: dict[str, Any] | None = None,
    on_stage: Callable[[str], None] = lambda name: None,
) -> "Pipeline":
    """Prepare a table, fit an estimator to it, and place its rows on the graph.

    Parameters
    ----------
    data : DataFrame or Table
        Numeric columns are features, but for those that the preparation adjusts for. A table that
        was read lazily stays with the workers, but for the embedding, which is gathered; a model
        of landmarks places all of its rows.
    estimator : SPL, DRTree, DDRTree or None, default=None
        Not fitted; a clone is. None: the default way of `learn_trajectory`.
    preparation : Preparation or None, default=None
        Not fitted; a clone is. None: the features are taken as they are.
    learning : dict or None, default=None
        Without an estimator: further arguments of `branchwise.trajectory.learning.learn`.
    support : int, default=0
        Resamples to learn again from, for the ``support_`` of the trajectory; none for a table
        that was read lazily.
    random_state : int, RandomState or None, default=0
        Seeds the resamples.
    root : dict or None, default=None
        ``{"node": …}``, ``{"sample": …}``, or ``{"column": …, "value": …}`` for the label ``value``
        in a column of the table, and if wanted ``"at"``: see
        `branchwise.trajectory.Trajectory.rooted`.
    end : int or str, optional
        Node or milestone at which the way ends.
    prune : bool, default=False
        Remove twigs that cannot be told from noise.
    resume : bool, default=False
        Go on from the file ``checkpoint`` of a DDRTree.
    reading : dict or None, default=None
        How the table was read, to be kept.
    on_stage : callable
        Called with "prepare", "fit", "trajectory" and, if wanted, "support" when these begin.

    Returns
    -------
    pipeline : Pipeline

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from branchwise import Preparation
    >>> from branchwise.pipeline import fit_pipeline
    >>> table = load_breast_cancer(as_frame=True).data
    >>> made = fit_pipeline(table, preparation=Preparation(standardize=True))
    >>> len(made.features), made.estimator.embedding_.shape
    (30, (569, 10))
    """
    on_stage("prepare")
    table = as_table(data)
    preparation = Preparation() if preparation is None else clone(preparation)
    adjusted = set(preparation.adjust or ())
    features = [name for name in table.features if name not in adjusted]
    table = drop_incomplete(table, features, preparation)
    start = start_of(table, root or {})
    X = preparation.fit_transform(
        named_columns(table, features), covariates=covariates(table, preparation)
    )
    on_stage("fit")
    X = held(X) if is_dask(X) else X
    names = np.array(table.samples)
    if estimator is None:
        path = learn(X, names=names, **(learning or {}))
        model = path.estimator_
    else:
        model = clone(estimator).fit(X, **({"resume": True} if resume else {}))
    on_stage("trajectory")
    points, embedding = gather_places(model, X) if is_dask(X) else (None, model.embedding_)
    if estimator is not None:
        path = Trajectory.from_estimator(model, points=points, names=names, n_jobs=model.n_jobs)
    if prune:
        path = path.prune()
    if root is not None or end is not None:
        path = path.rooted(**start, end=end)
    if support:
        on_stage("support")
        options = {"random_state": random_state, "n_jobs": model.n_jobs}
        path = resampled(path, X, support, **options)
    return Pipeline(features, preparation, path, root is not None, reading or {}, embedding)


def drop_incomplete(table: Table, features: Sequence[str], preparation: Preparation) -> Table:
    """The table without rows that miss a value, if the preparation wants it so.

    It complains itself of a table that is not in memory.
    """
    if preparation.impute != "drop" or is_dask(table.X):
        return table
    keep = complete_rows(columns(table, features), covariates(table, preparation))
    if not keep.any():
        raise ValueError(
            "Every row lacks a value: "
            + missing_message(
                missing_by_column(table),
                len(keep),
                table.source,
                "impute medians or exclude columns",
            )
        )
    return table if keep.all() else rows_of_table(table, keep)


def covariates(table: Table, preparation: Preparation) -> Any:
    """What the preparation adjusts for."""
    if not preparation.adjust:
        return None
    return import_pandas().DataFrame({name: column(table, name) for name in preparation.adjust})


def start_of(table: Table, root: dict[str, Any]) -> dict[str, Any]:
    """A root as arguments of `Trajectory.rooted`."""
    if "sample" in root and root["sample"] not in table.samples:
        raise ValueError(
            f"sample={root['sample']!r} is no sample; the names are {listed(table.samples)}."
        )
    if "column" not in root:
        return root
    labels, value, at = column(table, root["column"]), root["value"], root.get("at", "auto")
    types = import_pandas().api.types
    if types.is_numeric_dtype(labels.dtype) and not types.is_bool_dtype(labels.dtype):
        try:
            value = float(value)
        except ValueError as error:
            raise ValueError(
                f"The root's value {value!r} in column {root['column']!r} must be a number, as all "
                "values there are."
            ) from error
        labels = labels.astype(np.float64)
    else:
        labels, value = labels.astype(object).map(str, na_action="ignore"), str(value)
    if not (labels == value).any():
        present = [repr(label) for label in labels.dropna().unique()]
        raise ValueError(
            f"The root's value {value!r} is none of the labels in column {root['column']!r}; they "
            f"are {listed(present)}."
        )
    return {"labels": labels.to_numpy(), "value": value, "at": at}


def held(X: Any) -> Any:
    """Prepared rows that are few enough are kept by the workers, rather than read every time."""
    client = current_client()
    if client is None:
        fits_in = fits(HELD * X.nbytes)
    else:
        # Newer versions describe some of the workers only.
        workers = client.scheduler_info().get("workers", {})  # none once the scheduler is gone
        limits = [w["memory_limit"] or 0 for w in workers.values()]
        fits_in = HELD * X.nbytes <= len(client.nthreads()) * float(np.mean(limits or [0]))
    return computed(X) if fits_in and not has_sparse_blocks(X) else X


def gather_places(model: Any, X: Any) -> tuple[Floats | None, Floats]:
    """Let a model that was fitted to a Dask array have its samples in memory.

    A model of landmarks knows only these: linear coordinates and embedding of all rows are
    returned.
    """
    dask, _ = import_dask()
    with failures_in_words(X, X):
        if is_dask(model.embedding_):
            lazy = model.embedding_, model.projection_, model.labels_
            model.embedding_, model.projection_, model.labels_ = dask.compute(*lazy)
            return None, model.embedding_
        return dask.compute(model.project(X), model.transform(X))


@dataclass(frozen=True)
class Pipeline:
    """A fitted preparation, estimator and trajectory, which place the rows of new tables.

    Made by `fit_pipeline` or `branchwise fit`; `branchwise.load` reads what `save` has written.

    Attributes
    ----------
    features : list of str
        Columns that the estimator learned from, before the preparation. New tables may have them
        in any order, and further columns.
    preparation : Preparation
        Frozen: new rows are treated as the first ones were.
    trajectory : Trajectory
        On the graph of ``estimator``; without a root given, from its default one.
    is_rooted : bool
        Whether a root was given, so that pseudotime means something.
    reading : dict
        How the table was read: the arguments of `branchwise.io.read_table`.
    embedding : array of shape (n_samples, n_components)
        The estimator's embedding of all samples of the table, also if it learned from landmarks;
        of a pipeline from a file, of the samples that it learned from.
    """

    features: list[str]
    preparation: Preparation
    trajectory: Trajectory
    is_rooted: bool
    reading: dict[str, Any]
    embedding: Floats

    @property
    def estimator(self) -> Any:
        """The fitted SPL, DRTree or DDRTree."""
        return self.trajectory.estimator_

    def transform(self, data: Any) -> Any:
        """Place samples in the learned space.

        Parameters
        ----------
        data : DataFrame or Table
            With the columns ``features``, and those that the preparation adjusts for. The rows
            of a table that was read lazily are placed by the workers, chunk by chunk.

        Returns
        -------
        embedding : DataFrame
            One row per sample, without rows that ``impute="drop"`` drops.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from branchwise import DDRTree, Preparation
        >>> from branchwise.pipeline import fit_pipeline
        >>> X = load_iris(as_frame=True).data
        >>> made = fit_pipeline(X, DDRTree(2), Preparation(standardize=True))
        >>> made.transform(X.iloc[:2, ::-1]).columns.tolist()  # columns go by their names
        ['ddrtree0', 'ddrtree1']
        """
        table = as_table(data)
        return self._embedded(table).iloc[:, : len(self.estimator.components_)]

    def _embedded(self, table: Table) -> Any:
        """Embedding and linear coordinates of the rows of a table."""
        if is_dask(table.X):
            return import_pandas().concat(list(self._embedded_chunks(table)))
        return embedded(table, self.features, self.preparation, self.estimator)

    def place(self, data: Any) -> Any:
        """The embedding of samples, and their places on the graph.

        Places go by linear coordinates (the estimator's `project`), as those of the first samples.

        Parameters
        ----------
        data : DataFrame or Table
            As for `transform`.

        Returns
        -------
        places : DataFrame
            The embedding, the linear coordinates, ``projection0`` and so on, and what
            `branchwise.trajectory.Trajectory.project` returns: branch, pseudotime, distance from
            the graph. Without a root given, no times.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from branchwise import DDRTree, Preparation
        >>> from branchwise.pipeline import fit_pipeline
        >>> X = load_iris(as_frame=True).data
        >>> made = fit_pipeline(X, DDRTree(random_state=0), Preparation(), root={"node": "T2"})
        >>> places = made.place(X.iloc[:2] + 0.1)
        >>> bool((places["pseudotime"] > 0).all())
        True
        """
        return self._placed(self._embedded(as_table(data)))

    def place_chunks(self, data: Table) -> Iterator[Any]:
        """The same, chunk by chunk, of a table that was read lazily and is too large for memory.

        Parameters
        ----------
        data : Table
            As ``read_table(path, lazy=True)`` returns it.

        Yields
        ------
        places : DataFrame
            Of the rows of the next chunk, maybe of none.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sklearn.datasets import load_iris
        >>> from branchwise import DDRTree, Preparation
        >>> from branchwise.io import read_table
        >>> from branchwise.pipeline import fit_pipeline
        >>> X = load_iris(as_frame=True).data
        >>> made = fit_pipeline(X, DDRTree(random_state=0), Preparation(standardize=True))
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "iris.parquet"
        >>> X.to_parquet(path)
        >>> [len(places) for places in made.place_chunks(read_table(path, lazy=True))]
        [150]
        """
        for embedding in self._embedded_chunks(data):
            yield self._placed(embedding) if len(embedding) else embedding

    def _embedded_chunks(self, table: Table) -> Iterator[Any]:
        """What `embedded` makes of each chunk in turn; the workers are some chunks ahead."""
        dask, _ = import_dask()
        X = as_chunks(columns(table, self.features))
        blocks, first = X.to_delayed().ravel(), [*chunk_starts(X), X.shape[0]]
        given = dask.delayed(
            (table.source, self.features, self.preparation, self.estimator.for_workers()),
            traverse=False,
        )
        embed = dask.delayed(embedded_rows, pure=False)
        step = 2 * n_threads()
        for at in range(0, len(blocks), step):
            parts = [
                embed(
                    blocks[k], table.annotations.iloc[first[k] : first[k + 1]], k, first[k], given
                )
                for k in range(at, min(at + step, len(blocks)))
            ]
            with failures_in_words(X, X):
                done = dask.compute(*parts)
            yield from done

    def _placed(self, coordinates: Any) -> Any:
        """Rows with their places on the graph, by their linear coordinates."""
        projection = coordinates.iloc[:, len(self.estimator.components_) :]
        places = self.trajectory.project(projection)
        if not self.is_rooted:
            # Branches are named from the root outwards, and positions count from there.
            places = places[["edge", "source", "target", "position", "distance"]]
        return coordinates.assign(**places)

    def save(self, path: Any) -> None:
        """Write a model file, for `branchwise.load`.

        Parameters
        ----------
        path : path
            By custom with the ending ``.branchwise``.
        """
        from .persistence.format import write_state
        from .persistence.trajectory import trajectory_state

        state = {
            "kind": "pipeline",
            "features": list(self.features),
            "preparation": self.preparation.to_state(),
            "trajectory": trajectory_state(self.trajectory),
            "is_rooted": self.is_rooted,
            "reading": self.reading,
        }
        write_state(path, state)


def embedded(
    table: Table, features: Sequence[str], preparation: Preparation, estimator: Any
) -> Any:
    """Embedding and linear coordinates of a table in memory, prepared as the first one was."""
    table = drop_incomplete(table, features, preparation)
    rows = named_columns(table, features)
    X = knowing(preparation, None if sparse.issparse(rows) else features).transform(
        rows, covariates=covariates(table, preparation)
    )
    embedding, projection = np.asarray(estimator.transform(X)), np.asarray(estimator.project(X))
    return frame_of(estimator, embedding, projection, table.samples)


def knowing(preparation: Preparation, names: Sequence[str] | None) -> Preparation:
    """The preparation as if it had been fitted to columns of these names, or of none.

    Sparse or lazy data have none, and scikit-learn warns of one kind after the other, though the
    columns have been found by name. To ignore that is not for threads, which share all filters.
    """
    same = copy(preparation)
    if names is not None:
        same.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(same, "feature_names_in_"):
        del same.feature_names_in_
    return same


def frame_of(model: Any, embedding: Any, projection: Any, samples: Sequence[str]) -> Any:
    """Embedding and linear coordinates side by side, with the names of rows and columns."""
    pandas = import_pandas()
    index = pandas.Index(samples, name="sample")
    names = [f"projection{k}" for k in range(projection.shape[1])]
    drawn = pandas.DataFrame(embedding, index=index, columns=model.get_feature_names_out())
    linear = pandas.DataFrame(projection, index=index, columns=names)
    return pandas.concat([drawn, linear], axis=1)


def embedded_rows(rows: Any, annotations: Any, index: int, start: int, given: Any) -> Any:
    """What `embedded` makes of the rows of one chunk, on a worker."""
    source, features, preparation, estimator = given
    table = Table(as_rows(rows), features, list(annotations.index), annotations, source)
    X = table.X
    if preparation.impute is not None:
        keep = np.ones(X.shape[0], dtype=bool)
        if preparation.impute == "drop":
            keep = complete_rows(X, covariates(table, preparation))
        # Of a whole table this is an error, of a part of it not.
        if not keep.any():
            none = np.empty((0, len(estimator.components_)))
            return frame_of(estimator, none, none, [])
        X = without_gaps(X, keep)
    check_chunk(replace(table, X=X), index, start, preparation)
    return embedded(table, features, preparation, estimator)


def without_gaps(X: Matrix, keep: Bools) -> Matrix:
    """X with zeros for what is missing, and in the place of rows that are dropped.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.pipeline import without_gaps
    >>> without_gaps(np.array([[1.0, np.nan], [2.0, 3.0]]), np.array([True, False]))
    array([[1., 0.],
           [0., 0.]])
    """
    if sparse.issparse(X):
        known = np.repeat(keep, np.diff(X.indptr)) & ~np.isnan(X.data)
        return sparse.csr_array((np.where(known, X.data, 0.0), X.indices, X.indptr), X.shape)
    return np.where(keep[:, None] & ~np.isnan(X), X, 0.0)


def check_chunk(table: Table, index: int, start: int, preparation: Preparation) -> None:
    """Rows that the preparation can work with; the complaint names feature, row and chunk."""
    values = table.X.data if sparse.issparse(table.X) else table.X
    if not np.isfinite(values).all():
        row, column, value = first_cell(table.X, lambda values: ~np.isfinite(values))
        raise ChunkError(
            f"{table.source} has {'NaN' if np.isnan(value) else value} in "
            f"{table.features[column]!r} of sample {table.samples[row]!r}, row "
            f"{start + row} (row {row} of chunk {index}), but every value must be finite; drop "
            "such rows or replace such values."
        )
    if preparation.log1p:
        check_logarithms(table.X, index, start, table.features)


def n_threads() -> int:
    """How many chunks are worked on at a time."""
    client = current_client()
    if client is None:
        return os.cpu_count() or 1
    return max(1, sum(client.nthreads().values()))


def learn_trajectory(
    X: Any,
    *,
    n_components: Any = "auto",
    level: float = LEVEL,
    support: int = N_RESAMPLES,
    names: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Trajectory:
    """Learn a tree from noisy samples, with the branches that there is evidence of.

    This is the default of the whole package: `branchwise fit` and `branchwise.tl.trajectory` do the
    same. A `DDRTree` of samples that were averaged with their neighbours proposes a tree; twigs go,
    the shortest first, that samples do not leave a gap beside; and what is left is fitted to the
    samples again, with a weak pull, so that they lie along it (`branchwise.trajectory.learning`
    has the steps, `branchwise.trajectory.evidence` the test). No chance is in it, and the result
    depends neither on the order of the rows nor on their unit. Where the samples have no branches,
    as in a cloud or a plane, it is a single path, and `Trajectory.describe` says what explains them
    as well.

    Parameters
    ----------
    X : array-like, sparse matrix or Dask array of shape (n_samples, n_features)
        Standardise columns that are measured in different units; take logarithms of counts.
        Of more than 3,000 samples so many tell the shape and the evidence; the course is
        fitted to all.
    n_components : int, float or "auto", default="auto"
        Number of components, or the part of the variance that they have to keep. "auto" is 10, or
        fewer if the data have fewer dimensions.
    level : float, default=0.05
        A twig stays if a gap as empty as the one beside it has at most this probability where
        nothing forks.
    support : int, default=20
        Resamples to learn again from, for ``support_``; 0 for none. Not for Dask arrays.
    names : sequence of length n_samples or None, default=None
        Names of the samples; None: the index of a DataFrame.
    random_state : int, RandomState or None, default=0
        Seeds the resamples, and nothing else.
    n_jobs : int or None, default=None
        Number of threads of a fit, or of resamples that are made at the same time; the result does
        not depend on it.
    verbose : int, default=0
        Show the progress of the fit when positive.

    Returns
    -------
    trajectory : Trajectory
        With ``evidence_``, ``support_``, and ``p`` and ``support`` in ``branch_table_``. The
        fitted `DDRTree` is its ``estimator_``; `Trajectory.place` places new samples.

    Examples
    --------
    >>> from branchwise import learn_trajectory
    >>> from branchwise.datasets import make_tree
    >>> data = make_tree(500, 30, topology="bifurcation", random_state=0)  # simulated
    >>> found = learn_trajectory(data.X, support=3)
    >>> found.branch_table_.index.tolist()
    ['T1-F1', 'F1-T2', 'F1-T3']
    >>> print(found.describe())
    3 branches, 3 tips and 1 fork (p < 0.001 for gaps as empty as these where nothing forks).
    A tree explains the samples better than a curve, the next best: by ...
    Of 3 resamples, 3 have 3 tips.
    The fork was found again: F1 in 3 of 3 resamples.
    """
    check_resamples(support)
    path = learn(
        X, n_components=n_components, level=level, names=names, n_jobs=n_jobs, verbose=verbose
    )
    message = occupancy_message(path)
    if message is not None:
        warnings.warn(message, stacklevel=2)
    return resampled(path, X, support, random_state=random_state, n_jobs=n_jobs, show=verbose > 0)


def resampled(
    path: Trajectory, X: Any, n_resamples: int, *, show: bool = False, **options: Any
) -> Trajectory:
    """The trajectory with the support of its branches, if resamples are wanted."""
    if n_resamples and is_dask(X):
        warnings.warn(
            "The rows of a Dask array stay where they are, so that nothing is learned again from "
            "resamples of them; pass support=0 to be content with that, or some rows in memory.",
            stacklevel=3,
        )
    if not n_resamples or is_dask(X):
        return path
    found = path.support(X, n_resamples=n_resamples, progress=show, **options)
    return path.with_support(found)


def check_resamples(support: Any) -> None:
    """None, or two and more."""
    if isinstance(support, bool) or not isinstance(support, Integral) or support < 0:
        raise ValueError(f"support={support!r} must be a number of resamples, or 0 for none.")
    if support == 1:
        raise ValueError("support=1 must be at least 2, or 0 for none; 20 is usual.")
