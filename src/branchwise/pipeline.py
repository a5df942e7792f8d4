"""From a table to an answer: preparation, estimator and trajectory together."""

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from ._compat import import_pandas
from ._memory import fits
from ._messages import counted, is_for_command_line, listed, parameter, setting
from ._typing import Floats, Matrix
from .data.advice import (
    advise_on_outcomes,
    advise_on_prepared,
    advise_on_size,
    advise_on_table,
)
from .data.columns import (
    check_numbers_there,
    column,
    columns,
    in_order,
    known_columns,
    named_columns,
    rows_of_table,
    with_features,
)
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
from .data.errors import near
from .data.gaps import count_missing, missing_by_column, missing_message
from .data.selection import Selection, check_asked, expand, literal, look_up
from .data.table import InputError, Table, as_table
from .placing.held_out import reference_of, with_own
from .placing.placer import Placed, Placer, rows_of_samples, unknown
from .placing.reference import Reference
from .placing.table import (
    OF_ROOTS,
    absent_message,
    nothing_there_message,
    table_of_places,
)
from .preprocessing import Preparation, complete_rows
from .preprocessing.dask import check_logarithms
from .preprocessing.encoding import CATEGORY, DATE, NUMBER, ORDINAL, Encoding
from .trajectory.clumps import groups_message
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
    include: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] = (),
    learning: dict[str, Any] | None = None,
    support: int = 0,
    random_state: Any = 0,
    root: dict[str, Any] | str | None = None,
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
        Numeric columns are features, but for those that the preparation adjusts for, and so are
        the columns that it encodes (categories, dates), whatever they hold. A table that was read
        lazily stays with the workers, but for the embedding, which is gathered; a model
        of landmarks places all of its rows.
    estimator : SPL, DRTree, DDRTree or None, default=None
        Not fitted; a clone is. None: the default way of `learn_trajectory`.
    preparation : Preparation or None, default=None
        Not fitted; a clone is. None: the features are taken as they are.
    include, exclude : str, list of str or None
        The only columns of numbers to learn from, and those not to: names, patterns such as
        ``"*_mut"``, or ``"@file"`` for the lines of a file. The others stay at hand, for a root or
        to adjust for.
    learning : dict or None, default=None
        Without an estimator: further arguments of `branchwise.trajectory.learning.learn`.
    support : int, default=0
        Resamples to learn again from, for the ``support_`` of the trajectory; none for a table
        that was read lazily.
    random_state : int, RandomState or None, default=0
        Seeds the resamples.
    root : dict, "auto" or None, default=None
        Where time starts: ``{"node": …}``, ``{"sample": …}``, or ``{"column": …, "value": …}`` for
        the label ``value`` in a column of the table, and if wanted ``"at"``: see
        `branchwise.trajectory.Trajectory.rooted`. "auto", or ``{}``, is T1, the first end of the
        longest path. None: places have no times.
    end : int or str, optional
        Node or milestone at which the way ends.
    prune : bool, default=False
        Remove twigs that cannot be told from noise.
    resume : bool, default=False
        Go on from the file ``checkpoint`` of a DDRTree.
    reading : dict or None, default=None
        How the table was read, to be kept; its ``date_order`` says what comes first in dates
        that are text in a DataFrame, as in `branchwise.io.read_table`.
    on_stage : callable
        Called with "prepare", "fit", "trajectory", "trust" and, if wanted, "support" when these
        begin.

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
    root = checked_root(root)
    preparation = Preparation() if preparation is None else clone(preparation)
    asked, order = selected(include, exclude, preparation), (reading or {}).get("date_order")
    check_is_table(data)
    table = as_table(data, asked, order)
    check_names(table, include, exclude, preparation, root or {})
    table = with_features(table, include, exclude)
    adjusted = adjusted_columns(table, preparation)
    features = features_of(table, preparation, adjusted)
    table = drop_incomplete(table, features, preparation, adjusted)
    check_gaps(table, features, preparation)
    start = start_of(table, root or {})
    rows, about = named_columns(table, features), covariates(table, adjusted)
    X = preparation.fit_transform(rows, covariates=about)
    if "encode" in preparation.steps_ and table.chosen.get("date_order"):
        step = preparation.steps_["encode"].with_order(table.chosen["date_order"])
        preparation.steps_["encode"] = step
    if getattr(estimator, "kernel", None) != "precomputed":
        for message in advice(table, features, preparation, adjusted, X):
            warnings.warn(message, stacklevel=2)
    on_stage("fit")
    X = held(X) if is_dask(X) else X
    names = np.array(table.samples)
    if estimator is None:
        path = learn(X, names=names, **(learning or {}))
        model = path.estimator_
        doubt = groups_message(path, rows, about, preparation, learning or {})
        if doubt is not None:
            warnings.warn(doubt, stacklevel=2)
    else:
        model = clone(estimator).fit(X, **({"resume": True} if resume else {}))
    on_stage("trajectory")
    points, embedding = gather_places(model, X) if is_dask(X) else (None, model.embedding_)
    if estimator is not None:
        path = Trajectory.from_estimator(model, points=points, names=names, n_jobs=model.n_jobs)
    if prune:
        path = path.prune()
    if root is not None or end is not None:
        with hint_at_root(root or {}, table):
            path = path.rooted(**start, end=end)
    on_stage("trust")
    reference = reference_of(path, rows, preparation, about, n_jobs=model.n_jobs)
    if support:
        on_stage("support")
        options = {"random_state": random_state, "n_jobs": model.n_jobs}
        path = resampled(path, X, support, **options)
    is_rooted, read = root is not None, reading or {}
    return Pipeline(features, preparation, path, is_rooted, read, embedding, reference)


def selected(include: Any, exclude: Any, preparation: Preparation) -> Selection:
    """What a fit is told of the columns of a table, as a reader of files takes it.

    Examples
    --------
    >>> from branchwise import Preparation
    >>> from branchwise.pipeline import selected
    >>> selected(None, "death", Preparation(adjust="age", categorical=["sex"]))
    Selection(id=None, include=None, exclude=['death', 'age'], annotate=['sex'], features=None)
    """
    asked = preparation.asked()
    adjusted = asked.pop("adjust", [])
    encoded = [name for names in asked.values() for name in names]
    kept = None if include is None else expand(include)
    return Selection(None, kept, [*expand(exclude), *adjusted], encoded)


def check_names(
    table: Table, include: Any, exclude: Any, preparation: Preparation, root: dict[str, Any]
) -> None:
    """All columns that are named and not there are told at once."""
    asked = {"include": expand(include or ()), "exclude": expand(exclude), **preparation.asked()}
    asked |= {"root": [str(root["column"])]} if "column" in root else {}
    check_asked(asked, names_of(table), table.source)
    check_left_out(asked["exclude"], preparation, names_of(table), table.source)


# The parameters that make features of columns.
MAKERS = {CATEGORY: "categorical", ORDINAL: "ordinal", DATE: "dates"}


def check_left_out(
    exclude: Sequence[str], preparation: Preparation, known: Sequence[str], source: str
) -> None:
    """What is left out is not to be a feature as well; the dates of an age are none themselves.

    Examples
    --------
    >>> from branchwise import Preparation
    >>> from branchwise.pipeline import check_left_out
    >>> check_left_out(["s*"], Preparation(categorical=["sex"]), ["sex", "hb"], "a.csv")
    Traceback (most recent call last):
    ...
    ValueError: exclude leaves out what is to be a feature: 'sex' (categorical); name it in one of
    the two.
    """
    if not (exclude and preparation.encodes):
        return
    plan, left_out = preparation.plan(known, source), set(look_up(exclude, known, "exclude")[0])
    kinds = plan.kinds
    both = [name for name in plan.columns if name in left_out and kinds[name] in MAKERS]
    if both:
        told = (f"{name!r} ({parameter(MAKERS[kinds[name]])})" for name in both)
        raise ValueError(
            f"{parameter('exclude')} leaves out what is to be a feature: {listed(told, 5)}; name "
            f"{'it' if len(both) == 1 else 'each of them'} in one of the two."
        )


def features_of(table: Table, preparation: Preparation, adjusted: Sequence[str]) -> list[str]:
    """The columns that a fit learns from: numbers, and what is encoded, in the table's order.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise import Preparation
    >>> from branchwise.data.table import as_table
    >>> from branchwise.pipeline import features_of
    >>> table = as_table(pd.DataFrame({"sex": ["f"], "age": [50], "site": ["a"], "crp": [1.5]}))
    >>> features_of(table, Preparation(categorical=["sex"]), ["age"])
    ['crp', 'sex']
    """
    encoded = encoded_columns(table, preparation)
    left_out = set(adjusted)
    both = [name for name in encoded if name in left_out]
    if both:
        raise ValueError(
            f"{listed(map(repr, both), 5)} cannot be adjusted for and be a feature; leave "
            f"{'it' if len(both) == 1 else 'them'} out of {parameter('adjust')}, or out of "
            f"{encoders()}."
        )
    if encoded and (is_dask(table.X) or sparse.issparse(table.X)):
        kind = "is read chunk by chunk" if is_dask(table.X) else "holds a sparse matrix"
        way = "give it as CSV or Parquet" if is_for_command_line() else "pass a DataFrame"
        raise ValueError(
            f"categories, dates and ages are encoded in a table in memory, but {table.source} "
            f"{kind}; leave {encoders()} out, or {way}."
        )
    others = set(encoded) - set(table.features)
    found = [
        *(name for name in table.features if name not in left_out),
        *(name for name in names_of(table) if name in others),
    ]
    if not found:
        raise ValueError(
            f"{table.source} has no column to learn from; give it columns of numbers, name "
            "categories or dates as features, or exclude and adjust for fewer."
        )
    return found


def encoders() -> str:
    """The parameters that name what is to be encoded."""
    *most, last = map(parameter, ("categorical", "ordinal", "dates", "ages"))
    return f"{', '.join(most)} and {last}"


def encoded_columns(table: Table, preparation: Preparation) -> list[str]:
    """The columns of a table that a preparation encodes, fitted or not."""
    if "encode" in getattr(preparation, "steps_", {}):
        step = preparation.steps_["encode"]
        return [n for n, kind in zip(step.columns, step.kinds, strict=True) if kind != NUMBER]
    if not preparation.encodes:
        return []
    return preparation.plan(names_of(table), table.source).columns


def names_of(table: Table) -> list[str]:
    """The columns of a table, features first."""
    return list(dict.fromkeys([*table.features, *map(str, table.annotations.columns)]))


def adjusted_columns(table: Table, preparation: Preparation) -> list[str]:
    """The columns of a table that a preparation adjusts for, fitted or not."""
    if "adjust" in getattr(preparation, "steps_", {}):
        return list(preparation.steps_["adjust"].names)
    return preparation.adjusted(names_of(table), table.source)


def advice(
    table: Table,
    features: Sequence[str],
    preparation: Preparation,
    adjusted: Sequence[str],
    X: Any,
) -> list[str]:
    """What a statistician would say of the features, and of X, what the preparation makes of them.

    Of a table that is not in memory only names and numbers are looked at. Codes and copies are
    looked for among the numbers of the table, not among what is encoded.
    """
    wide = [] if preparation.pca is not None else advise_on_size(len(table.samples), len(features))
    if is_dask(table.X):
        return [*advise_on_outcomes(features), *wide]
    encoded = encoded_columns(table, preparation)
    others = set(encoded)
    numbers = [name for name in features if name not in others]
    found = [*advise_on_table(columns(table, numbers), numbers, encoded), *wide]
    if not (preparation.standardize or preparation.rank_normalize):
        given = covariates(table, adjusted)
        if preparation.pca is not None:
            X = before_axes(preparation, named_columns(table, features), given)
        found += advise_on_prepared(*measured(preparation.steps_.get("encode"), X, features))
    return found


def before_axes(preparation: Preparation, X: Any, given: Any) -> Any:
    """Rows as they come to the last step, the principal axes."""
    if preparation.impute == "model":  # gaps need not be filled to see how wide a column is
        return preparation.transform_known(X, covariates=given)
    same = copy(preparation)
    same.steps_ = {name: step for name, step in same.steps_.items() if name != "pca"}
    return same.transform(X, covariates=given)


def measured(step: Encoding | None, X: Any, features: Sequence[str]) -> tuple[Any, list[str]]:
    """What has units of all that was prepared: contrasts of categories have none."""
    if step is None:
        return X, list(features)
    kept = np.flatnonzero(~step.is_contrast)
    names = step.names
    return X[:, kept], [names[j] for j in kept]


def drop_incomplete(
    table: Table, features: Sequence[str], preparation: Preparation, adjusted: Sequence[str]
) -> Table:
    """The table without rows that miss a value, if the preparation wants it so.

    It complains itself of a table that is not in memory.
    """
    if preparation.impute != "drop" or is_dask(table.X):
        return table
    keep = complete_rows(named_columns(table, features), covariates(table, adjusted))
    if not keep.any():
        raise ValueError(
            "Every row lacks a value: "
            + missing_message(
                missing_by_column(table, encoded_columns(table, preparation)),
                len(keep),
                table.source,
                f"pass {setting('impute', 'median')}, or leave columns out with "
                f"{parameter('exclude')}",
            )
        )
    return table if keep.all() else rows_of_table(table, keep)


def check_gaps(table: Table, features: Sequence[str], preparation: Preparation) -> None:
    """Missing values are told by column, with all that can be done about them.

    A preparation complains itself of a table that is not in memory.
    """
    if preparation.impute is not None or is_dask(table.X):
        return
    missing, wanted = missing_by_column(table, encoded_columns(table, preparation)), set(features)
    missing = {name: count for name, count in missing.items() if name in wanted}
    ways = " or ".join(setting("impute", way) for way in ("model", "median", "drop"))
    remedy = f"pass a Preparation with {ways}, or leave columns out ({parameter('exclude')})"
    if missing:
        raise InputError(missing_message(missing, len(table.samples), table.source, remedy))


def covariates(table: Table, names: Sequence[str]) -> Any:
    """What a preparation adjusts for."""
    if not names:
        return None
    return import_pandas().DataFrame({name: column(table, name) for name in names})


def check_is_table(data: Any) -> None:
    """A DataFrame, also of polars, or a Table; how to make one of what else people have.

    Examples
    --------
    >>> from branchwise.pipeline import check_is_table
    >>> check_is_table({"hb": 12.5})
    Traceback (most recent call last):
    ...
    TypeError: data is a dict but must be a pandas DataFrame, whose columns have names, or a Table;
    pass pandas.DataFrame([data]).
    """
    pandas = import_pandas()
    is_polars = type(data).__module__.partition(".")[0] == "polars"
    if is_polars or isinstance(data, Table | pandas.DataFrame):
        return
    kind, way = f"a {type(data).__name__}", "pandas.DataFrame(data, columns=names)"
    if isinstance(data, np.ndarray):
        kind = "an array"
    elif isinstance(data, pandas.Series):
        way = "rows as a DataFrame, such as new.iloc[[0]] for new.iloc[0]"
    elif isinstance(data, dict):
        is_row = all(map(pandas.api.types.is_scalar, data.values()))
        way = "pandas.DataFrame([data])" if is_row else "pandas.DataFrame(data)"
    elif isinstance(data, str | os.PathLike):
        kind, way = "a path", f"branchwise.io.read_table({os.fspath(data)!r})"
    raise TypeError(
        f"data is {kind} but must be a pandas DataFrame, whose columns have names, or a Table; "
        f"pass {way}."
    )


# What a root is given by.
ROOTS: list[set[str]] = [
    set(), {"node"}, {"sample"}, {"column", "value"}, {"column", "value", "at"}
]  # fmt: skip


def checked_root(root: Any) -> dict[str, Any] | None:
    """A root as a dict, with "auto" as one without a choice; how to write what is none of these.

    Examples
    --------
    >>> from branchwise.pipeline import checked_root
    >>> checked_root("auto"), checked_root({"node": "T1"})
    ({}, {'node': 'T1'})
    >>> checked_root("grade=low")
    Traceback (most recent call last):
    ...
    ValueError: root='grade=low' must be 'auto', {'node': 'T1'}, {'sample': 'P007'} or {'column':
    'grade', 'value': 'low'} (names and labels of yours); do you mean {'column': 'grade', 'value':
    'low'}?
    """
    if root is None or (isinstance(root, dict) and set(root) in ROOTS):
        return root
    if isinstance(root, str) and root == "auto":
        return {}
    meant = meant_root(root)
    raise ValueError(
        f"root={root!r} must be 'auto', {{'node': 'T1'}}, {{'sample': 'P007'}} or {{'column': "
        "'grade', 'value': 'low'} (names and labels of yours)"
        + (f"; do you mean {meant!r}?" if meant else ".")
    )


def meant_root(root: Any) -> dict[str, Any]:
    """What may be meant by a root that is written otherwise; nothing if that is not known."""
    if isinstance(root, str):
        name, is_pair, value = root.partition("=")
        root = {name: value} if is_pair else {"milestone": root}
    elif isinstance(root, Integral):
        root = {"node": root}
    if not isinstance(root, dict) or len(root) != 1:
        return {}
    [(name, value)] = root.items()
    if name in ("node", "sample"):
        return {name: value}
    if name == "milestone":
        return {"node": value}
    return {} if name in ("column", "value", "at") else {"column": name, "value": value}


def start_of(table: Table, root: dict[str, Any]) -> dict[str, Any]:
    """A root as arguments of `Trajectory.rooted`."""
    if "sample" in root and root["sample"] not in table.samples:
        raise ValueError(
            f"sample={root['sample']!r} is not a sample; the names are {listed(table.samples)}."
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
    elif labels.dtype.kind == "M":  # 2020-01-31 without its midnight
        labels, value = labels.astype(str).where(labels.notna(), None), str(value)
    else:
        labels, value = labels.astype(object).map(str, na_action="ignore"), str(value)
    if not (labels == value).any():
        present = [repr(label) for label in labels.dropna().unique()]
        raise ValueError(
            f"The root's value {value!r} is none of the labels in column {root['column']!r}; they "
            f"are {listed(present)}."
        )
    return {"labels": labels.to_numpy(), "value": value, "at": at}


@contextmanager
def hint_at_root(root: dict[str, Any], table: Table) -> Iterator[None]:
    """Say what a root is that is not a node of the graph: a sample or a column of the table.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.data.table import as_table
    >>> from branchwise.pipeline import hint_at_root
    >>> table = as_table(pd.DataFrame({"hb": [12.5]}, index=["P003"]))
    >>> with hint_at_root({"node": "P003"}, table):
    ...     raise ValueError("node='P003' is not a node of the graph.")
    Traceback (most recent call last):
    ...
    ValueError: node='P003' is not a node of the graph. It is a sample: root={'sample': 'P003'}.
    """
    try:
        yield
    except ValueError as error:
        node, is_command = root.get("node"), is_for_command_line()
        if not isinstance(node, str) or repr(node) not in str(error):
            raise
        if node in table.samples:
            way = f"--root sample={node}" if is_command else f"root={{'sample': {node!r}}}"
            raise ValueError(f"{error} It is a sample: {way}.") from error
        if node in names_of(table):
            way = f"root={{'column': {node!r}, 'value': …}}"
            way = f"--root {node}=LABEL" if is_command else way
            raise ValueError(f"{error} It is a column: name a label in it, {way}.") from error
        raise


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


@dataclass(frozen=True, repr=False)
class Pipeline:
    """A fitted preparation, estimator and trajectory, which place the rows of new tables.

    Made by `fit_pipeline` or `branchwise fit`; `branchwise.load` reads what `save` has written.

    Attributes
    ----------
    features : list of str
        Columns that the estimator learned from, before the preparation: numbers, and what it
        encodes. New tables may have them in any order, and further columns.
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
    reference : Reference or None
        How far the rows of the training table lie from the tree, in the units that they were
        prepared in; None with a kernel, and of a table that stayed in its file.
    """

    features: list[str]
    preparation: Preparation
    trajectory: Trajectory
    is_rooted: bool
    reading: dict[str, Any]
    embedding: Floats
    reference: Reference | None = None

    def __repr__(self) -> str:
        columns = counted(self.n_features, "feature")
        graph = repr(self.trajectory).removeprefix("<Trajectory: ").removesuffix(">")
        if not self.is_rooted:
            graph = f"{graph.rpartition(', ')[0]}, without a root"
        return f"<Pipeline: {type(self.estimator).__name__}, {columns}, {graph}>"

    @property
    def estimator(self) -> Any:
        """The fitted SPL, DRTree or DDRTree."""
        return self.trajectory.estimator_

    @property
    def numbers(self) -> list[str]:
        """The features that are numbers in the table."""
        step = self.preparation.steps_.get("encode")
        if step is None:
            return list(self.features)
        return [n for n, kind in zip(step.columns, step.kinds, strict=True) if kind == NUMBER]

    @property
    def n_features(self) -> int:
        """How many features it learned from: an age is one, and not its two dates."""
        step = self.preparation.steps_.get("encode")
        return len(self.features) if step is None else len(step.parts)

    @cached_property
    def placer(self) -> Placer:
        """What places rows; other processes need no more."""
        view, model = self.trajectory.view, self.estimator
        return Placer.of(view, model, self.reference, self.features, self.preparation)

    def transform(self, data: Any) -> Any:
        """Place samples in the learned space.

        Parameters
        ----------
        data : DataFrame or Table
            With the columns ``features``, and those that the preparation adjusts for. Values and
            columns may be missing, if there is a ``reference``. The rows of a table that was read
            lazily are placed by the workers, chunk by chunk.

        Returns
        -------
        embedding : DataFrame
            One row per sample; NaN if nothing is known of it.

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
        parts = [
            frame_of(self.estimator, found.embedding, found.projection, names)
            for found, names in self._parts(self._table_of(data))
        ]
        return import_pandas().concat(parts).iloc[:, : len(self.estimator.components_)]

    def place(self, data: Any) -> Any:
        """The places of samples on the graph, and how much to trust each.

        Places go by linear coordinates (the estimator's `project`), as those of the first samples.
        Of a sample with gaps these are the means of what the tree makes likely given the values
        that are there.

        Parameters
        ----------
        data : DataFrame or Table
            As for `transform`. Columns that it does not have are told in one warning. Of no rows
            the places are a table without any.

        Returns
        -------
        places : DataFrame
            By sample: ``branch``, ``position`` on it from 0 to 1, ``pseudotime``, ``distance`` from
            the graph, the conformal ``p`` and the ``misfit`` that it comes from,
            ``pseudotime_lower`` and ``pseudotime_upper`` (95 % of what is likely),
            ``branch_probability`` of the named branch and the ``likeliest_branch``, which may be
            another, ``out_of_range`` and ``drivers`` (columns,
            in words), ``missing`` (how many features); then embedding and linear coordinates,
            ``projection0`` and so on. docs/placing.md says what they mean. Without a root given,
            neither branches nor times.

        Examples
        --------
        A flower with a sepal measured in millimetres.

        >>> from sklearn.datasets import load_iris
        >>> from branchwise import DDRTree, Preparation
        >>> from branchwise.pipeline import fit_pipeline
        >>> X = load_iris(as_frame=True).data
        >>> made = fit_pipeline(X, DDRTree(random_state=0), Preparation(), root={"node": "T2"})
        >>> new = X.iloc[:2] + 0.1
        >>> new.iloc[0, 1] *= 10
        >>> places = made.place(new)
        >>> (places["p"] <= 0.05).tolist(), places["out_of_range"].iloc[0]
        ([True, False], 'sepal width (cm) 36 (2 to 4.4)')
        """
        return import_pandas().concat(list(self.place_chunks(self._table_of(data))))

    def place_chunks(self, data: Table) -> Iterator[Any]:
        """The same, chunk by chunk, of a table that was read lazily and is too large for memory.

        Parameters
        ----------
        data : Table
            As ``read_table(path, lazy=True)`` returns it; of one in memory, all at once.

        Yields
        ------
        places : DataFrame
            Of the rows of the next chunk.

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
        for found, names in self._parts(data):
            yield self._table(found, names)

    def branch_probabilities(self, data: Any) -> Any:
        """How likely each branch is for samples, given what is known of them.

        Parameters
        ----------
        data : DataFrame or Table
            As for `place`.

        Returns
        -------
        probabilities : DataFrame of shape (n_samples, n_branches)
            Rows sum to one; NaN if nothing is known of a sample.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from branchwise.pipeline import fit_pipeline
        >>> X = load_iris(as_frame=True).data
        >>> found = fit_pipeline(X).branch_probabilities(X[:3])
        >>> found.sum(axis=1).round(6).tolist()
        [1.0, 1.0, 1.0]
        """
        table = self._table_of(data)
        parts = [found.assessed.branches for found, _ in self._parts(table)]
        index = import_pandas().Index(table.samples, name="sample")
        names = self.trajectory.view.branches.names
        return import_pandas().DataFrame(np.vstack(parts), index=index, columns=names)

    def training_places(self, data: Any) -> Any:
        """What `place` says, of the rows of the training table that were not dropped.

        They are where the fit has them, and their ``p`` and ``misfit`` are those of trees that were
        learned without them, NaN where that failed. Of more than 4,000 rows so many were held out;
        the others have theirs from the tree itself.

        Parameters
        ----------
        data : DataFrame or Table

        Returns
        -------
        places : DataFrame

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from branchwise.pipeline import fit_pipeline
        >>> X = load_iris(as_frame=True).data
        >>> places = fit_pipeline(X, root={"node": "T1"}).training_places(X)
        >>> bool((places["p"] <= 0.05).mean() <= 0.05)
        True
        """
        table = self._table_of(data)
        adjusted = adjusted_columns(table, self.preparation)
        table = drop_incomplete(table, self.features, self.preparation, adjusted)
        points = self.trajectory.view.points
        if is_dask(table.X):
            n_missing = np.zeros(len(points), dtype=np.intp)
            assessed = unknown(n_missing, len(self.trajectory.view.branches.names))
        else:
            X, _ = self._known(table)
            assessed = self.placer.assess(X, covariates(table, adjusted))
        if self.reference is not None and len(assessed.p) == len(points):
            assessed = with_own(assessed, self.reference)
        return self._table(Placed(self.embedding, points, assessed), table.samples)

    def _table_of(self, data: Any) -> Table:
        """A new table, of which columns are numbers where those of the fit were."""
        check_is_table(data)
        wanted, orders = Selection(features=self.numbers), {}
        if "encode" in self.preparation.steps_:
            orders = self.preparation.steps_["encode"].orders_by_column
            wanted = wanted._replace(annotate=[literal(name) for name in orders])
        return as_table(data, wanted, {name: way for name, way in orders.items() if way})

    def _parts(self, table: Table) -> Iterator[tuple[Placed, list[str]]]:
        """Rows at their places, and their names: all at once, or chunk by chunk by the workers."""
        check_adjusted(table, self.preparation)
        if is_dask(table.X):
            yield from self._chunks(table)
            return
        if not table.samples:
            yield self._nowhere(), []
            return
        X, lacking = self._known(table)
        if "encode" in self.preparation.steps_:
            self.preparation.steps_["encode"].warn_of_ages(X, table.samples)
        absent = self._made_of(lacking)
        without = self._without_values(X)
        if X.shape[0] == 1 and len(without) < self.n_features:
            without = absent
        if without:
            spare = [name for name in names_of(table) if name not in self._wanted]
            message = absent_message(table.source, without, self.n_features, spare, self._ages)
            if message is not None:
                warnings.warn(message, stacklevel=4)
        about = covariates(table, adjusted_columns(table, self.preparation))
        yield self.placer.place(X, about, absent), table.samples

    def _nowhere(self) -> Placed:
        """The places of no rows."""
        none = np.empty((0, len(self.estimator.components_)))
        n_branches = len(self.trajectory.view.branches.names)
        return Placed(none, none, unknown(np.zeros(0, dtype=np.intp), n_branches))

    @property
    def _ages(self) -> dict[str, tuple[str, str]]:
        """The two columns of dates of each feature that is an age."""
        step = self.preparation.steps_.get("encode")
        return {} if step is None else {name: (start, end) for name, start, end in step.ages}

    def _made_of(self, lacking: Sequence[str]) -> list[str]:
        """The features that cannot be had without these columns: of an age both are needed."""
        gone, ages, made = set(lacking), self._ages, self.placer.columns
        names = (made.names[j] for j in made.parts)
        return [name for name in names if gone.intersection(ages.get(name, (name,)))]

    def _without_values(self, X: Matrix) -> list[str]:
        """The features of which the rows of a table, X once encoded, have no value at all."""
        made = self.placer.columns
        is_empty = count_missing(X) == max(X.shape[0], 1)
        return [made.names[j] for j in made.parts if is_empty[j]]

    def _known(self, table: Table) -> tuple[Matrix, list[str]]:
        """The features as numbers, NaN where they are not known, and those that a table lacks."""
        known = names_of(table)
        if self._wanted.isdisjoint(known):
            raise InputError(self.nothing_there(table.source, known))
        if "encode" not in self.preparation.steps_:
            return known_columns(table, self.features)
        has = set(known)
        present = [name for name in self.features if name in has]
        absent = [name for name in self.features if name not in has]
        check_numbers_there(table, [name for name in self.numbers if name in table.annotations])
        if sparse.issparse(table.X):
            table = replace(table, X=table.X.toarray())
        frame = named_columns(table, present).reindex(columns=self.features)
        return self.preparation.encode(frame), absent

    def nothing_there(self, source: str, known: Sequence[str]) -> str:
        """What to say of a table that has no feature, but the columns ``known``."""
        made = self.placer.columns
        return nothing_there_message(source, [made.names[j] for j in made.parts], known, self._ages)

    @cached_property
    def _wanted(self) -> set[str]:
        return set(self.features)

    def _chunks(self, table: Table) -> Iterator[tuple[Placed, list[str]]]:
        """The rows of each chunk in turn; the workers are some chunks ahead."""
        dask, _ = import_dask()
        if "encode" in self.preparation.steps_:
            raise ValueError(
                f"categories, dates and ages are encoded in a table in memory, but {table.source} "
                f"is read chunk by chunk; read it into memory (without {parameter('lazy')})."
            )
        has, about = set(table.features), table.annotations
        check_numbers_there(table, [n for n in self.features if n not in has and n in about])
        present = [name for name in self.features if name in has]
        absent = [n for n in self.features if n not in has and n not in about]
        if absent:
            columns(table, present or self.features)  # complains if nothing is there
            spare = [name for name in table.features if name not in self._wanted]
            message = absent_message(table.source, absent, len(self.features), spare)
            if message is not None:
                warnings.warn(message, stacklevel=5)
        X = as_chunks(columns(table, present))
        blocks, first = X.to_delayed().ravel(), [*chunk_starts(X), X.shape[0]]
        given = dask.delayed((table.source, self.placer, present, absent), traverse=False)
        place = dask.delayed(placed_rows, pure=False)
        step = 2 * n_threads()
        for at in range(0, len(blocks), step):
            abouts = [table.annotations.iloc[i:j] for i, j in pairwise(first[at : at + step + 1])]
            parts = [
                place(blocks[at + k], about, at + k, first[at + k], given)
                for k, about in enumerate(abouts)
            ]
            with failures_in_words(X, X):
                done = dask.compute(*parts)
            for found, about in zip(done, abouts, strict=True):
                yield found, list(about.index)

    def _table(self, found: Placed, names: Sequence[str]) -> Any:
        """Places on the graph, how much to trust them, and coordinates, side by side."""
        frame = frame_of(self.estimator, found.embedding, found.projection, names)
        view, points = self.trajectory.view, found.projection
        places = table_of_places(view, points, found.assessed, frame.index)
        if not self.is_rooted:
            places = places.drop(columns=list(OF_ROOTS))
        return import_pandas().concat([places, frame], axis=1)

    def save(self, path: Any) -> None:
        """Write a model file, for `branchwise.load`.

        Parameters
        ----------
        path : path
            By custom with the ending ``.branchwise``.
        """
        from .persistence.format import write_state
        from .persistence.reference import reference_state
        from .persistence.trajectory import trajectory_state

        state = {
            "kind": "pipeline",
            "features": list(self.features),
            "preparation": self.preparation.to_state(),
            "trajectory": trajectory_state(self.trajectory),
            "is_rooted": self.is_rooted,
            "reading": self.reading,
            "reference": reference_state(self.reference),
        }
        write_state(path, state)


def check_adjusted(table: Table, preparation: Preparation) -> None:
    """What a preparation adjusts for is known of every sample."""
    names = adjusted_columns(table, preparation)
    known = names_of(table)
    has = set(known)
    absent = [name for name in names if name not in has]
    if absent:
        close = [near(name, known)[:1] for name in absent]
        hint = f"; is it {listed([repr(each[0]) for each in close])}?" if all(close) else "."
        raise InputError(
            f"{table.source} lacks {listed(map(repr, absent))}, which the fit adjusts for; add "
            f"{'this column' if len(absent) == 1 else 'these columns'}, with a value in every "
            f"row{hint}"
        )
    gaps = {name: int(column(table, name).isna().sum()) for name in names}
    gaps = {name: count for name, count in gaps.items() if count}
    if gaps:
        remedy = (
            "the fit adjusts for these, which needs known values: fill them in, or leave such rows "
            "out"
        )
        raise InputError(missing_message(gaps, len(table.samples), table.source, remedy))


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


def placed_rows(rows: Any, annotations: Any, index: int, start: int, given: Any) -> Placed:
    """The rows of one chunk at their places, on a worker."""
    source, placer, present, absent = given
    samples, names = list(annotations.index), placer.columns.names
    table = Table(as_rows(rows), present, samples, annotations, source)
    check_chunk(table, index, start, placer.preparation)
    X = table.X if len(present) == len(names) else in_order(table.X, present, names)
    about = covariates(table, adjusted_columns(table, placer.preparation))
    return placer.place(X, about, absent)


def check_chunk(table: Table, index: int, start: int, preparation: Preparation) -> None:
    """Rows that the preparation can work with; the complaint names feature, row and chunk."""
    values = table.X.data if sparse.issparse(table.X) else table.X
    if np.isinf(values).any():
        row, column, value = first_cell(table.X, np.isinf)
        raise ChunkError(
            f"{table.source} has {value} in {table.features[column]!r} of sample "
            f"{table.samples[row]!r}, row {start + row} (row {row} of chunk {index}), but every "
            "value must be finite; drop such rows or replace such values."
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
        fitted `DDRTree` is its ``estimator_``; `Trajectory.place` places new samples, and says how
        much to trust each place by what its ``reference_`` knows.

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
    message = occupancy_message(path, is_default=True)
    if message is not None:
        warnings.warn(message, stacklevel=2)
    rows = X if is_dask(X) else rows_of_samples(path.estimator_, X)
    path = path.with_reference(reference_of(path, rows, n_jobs=n_jobs))
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
