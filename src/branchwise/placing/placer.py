"""Rows, with gaps or without, at their places, and how much to trust these."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data
from threadpoolctl import threadpool_limits

from .._compat import some_rows
from .._typing import Bools, Floats, Ints, Matrix
from ..data.checks import check_finite, check_not_huge, check_numbers, remedies
from ..preprocessing import Preparation
from ..preprocessing.steps import fills_late
from ..solvers.conditional import TreeModel, condition, fill
from ..trajectory.view import View
from .places import Places, places_of
from .reference import Reference, axes_of
from .trust import BLOCK, blocks, trust_of
from .words import driver_words, range_words, to_name

TOO_OLD = (
    "only a model that knows how its training rows scatter can place rows with gaps, and this one "
    "does not: it has a kernel, its graph was given, its table stayed in its file (Dask), or it "
    "was saved by an earlier version; fill the gaps, or fit again"
)


class Columns(NamedTuple):
    """What the columns of encoded rows are made of."""

    names: list[str]  # of the features that they are made of
    parts: Ints  # a column of each feature: where gaps are counted
    is_measured: Bools  # columns that have a range: numbers, days and years
    day_zero: list[str | None]  # the date of day 0 of columns of days
    is_plain: bool  # whether they are the features


class Assessed(NamedTuple):
    """How much to trust the places of rows, one entry for each."""

    misfit: Floats
    p: Floats
    lower: Floats  # pseudotime
    upper: Floats
    branches: Floats  # (n, n_branches): probabilities
    out_of_range: Any  # words
    drivers: Any  # words
    missing: Ints  # features


class Placed(NamedTuple):
    """Rows at their places."""

    embedding: Floats
    projection: Floats  # NaN of a row of which nothing is known
    assessed: Assessed


@dataclass(frozen=True, eq=False)
class Placer:
    """What is needed to place rows; no row of the training table is in it.

    Attributes
    ----------
    columns : Columns
        Of the rows, which are encoded.
    preparation : Preparation or None
        What is done to encoded rows.
    model : SPL, DRTree or DDRTree
    reference : Reference or None
    places : Places
    n_branches : int
    """

    columns: Columns
    preparation: Preparation | None
    model: Any
    reference: Reference | None
    places: Places
    n_branches: int

    @classmethod
    def of(
        cls,
        view: View,
        model: Any,
        reference: Reference | None,
        names: Sequence[str],
        preparation: Preparation | None = None,
    ) -> "Placer":
        """That of a trajectory of these features."""
        columns = columns_of(names, preparation)
        if preparation is not None:
            preparation = preparation.after_encoding()
        n_branches, plain = len(view.branches.names), model.for_workers()
        # Columns are in order here, and scikit-learn warns of such as have no names.
        vars(plain).pop("feature_names_in_", None)
        return cls(columns, preparation, plain, reference, places_of(view), n_branches)

    @cached_property
    def tree(self) -> TreeModel | None:
        """The distribution of prepared rows, if it is known."""
        if self.reference is None:
            return None
        return self.reference.tree(*axes_of(self.model, self._pca), self.places)

    @property
    def _pca(self) -> Any:
        return None if self.preparation is None else self.preparation.steps_.get("pca")

    def place(self, X: Matrix, covariates: Any = None, absent: Sequence[str] = ()) -> Placed:
        """Rows at their places; what is missing is the mean of what the tree makes likely.

        A row without gaps is where the estimator has it. Where the fit had medians in the place of
        gaps, so have these rows, but in the columns that are absent from the whole table.
        """
        assessed = self.assess(X, covariates)
        gaps = assessed.missing > 0
        if not gaps.any() or (self.tree is None and self._fills_gaps(absent)):
            return Placed(*self._coordinates(self._prepared(X, covariates)), assessed)
        if self.tree is None:
            raise ValueError(f"{int(gaps.sum())} of {len(gaps)} rows have gaps, but {TOO_OLD}.")
        d = len(self.model.components_)
        embedding, projection = np.full((2, len(gaps), d), np.nan)
        empty = assessed.missing == len(self.columns.parts)
        for rows, is_whole in ((~gaps, True), (gaps & ~empty, False)):
            chosen = np.flatnonzero(rows)
            if len(chosen):
                some = some_rows(X, chosen), take(covariates, chosen)
                full = self._prepared(*some) if is_whole else self._filled(self.tree, *some, absent)
                embedding[chosen], projection[chosen] = self._coordinates(full)
        return Placed(embedding, projection, assessed)

    def assess(self, X: Matrix, covariates: Any = None) -> Assessed:
        """How much to trust the places of rows."""
        with threadpool_limits(limits=1):  # sums go the same way every time
            done = [self._assess(*part) for part in self._parts(X, covariates)]
        return Assessed(*(np.concatenate(column) for column in zip(*done, strict=True)))

    def _assess(self, X: Matrix, covariates: Any) -> Assessed:
        n, columns = X.shape[0], self.columns
        missing = missing_in(X if columns.is_plain else X[:, columns.parts])
        if self.reference is None or self.tree is None:
            return unknown(missing, self.n_branches)
        reference, tree = self.reference, self.tree
        dense = as_dense(X)
        known = np.where(reference.varies, self.known(dense, covariates), np.nan)
        found = trust_of(tree, self.places, self.n_branches, known)
        far = np.flatnonzero(found.largest > reference.usual)
        rows, named, expected = to_name(tree, known[far], reference.usual)
        if self.preparation is not None and len(rows):
            there = take(covariates, far[rows])
            expected = self.preparation.raw_values(expected, named, covariates=there)
        # Levels have no number that is in the table.
        values = np.where(columns.is_measured[named], dense[far[rows], named], np.nan)
        measured = np.flatnonzero(columns.is_measured)
        low, high = reference.low[measured], reference.high[measured]
        of = dense if columns.is_plain else dense[:, measured]
        names, day_zero = columns.names, columns.day_zero
        own = [names[j] for j in measured], [day_zero[j] for j in measured]
        return Assessed(
            found.misfit,
            reference.p_values(found.misfit, found.n_known),
            found.lower,
            found.upper,
            found.branches,
            range_words(of, low, high, reference.room, *own),
            driver_words(n, far[rows], named, names, values, expected, day_zero),
            missing,
        )

    def known(self, X: Matrix, covariates: Any = None) -> Floats:
        """Prepared rows before any pca, NaN where a value is not known."""
        if self.preparation is None:
            return as_dense(X)
        return self.preparation.transform_known(X, covariates=covariates)

    def _prepared(self, X: Matrix, covariates: Any) -> Matrix:
        if self.preparation is None:
            return X
        return self.preparation.transform(X, covariates=covariates)

    def _filled(self, tree: TreeModel, X: Matrix, covariates: Any, absent: Sequence[str]) -> Floats:
        """Prepared rows with gaps, filled; by the preparation where that is its way."""
        X = as_dense(X)
        if self.preparation is not None and fills_late(self.preparation.steps_):
            return as_dense(self._prepared(X, covariates))
        known = there = self.known(X, covariates)
        medians = None if self.preparation is None else self.preparation.steps_.get("impute")
        if medians is not None and hasattr(medians, "medians"):
            is_there = ~np.isin(self.columns.names, list(absent))
            there = self.known(np.where(is_there, medians.apply(X), np.nan), covariates)
        full = np.vstack([fill(tree, part, condition(tree, part)) for part in blocks(tree, known)])
        full = np.where(np.isnan(there), full, there)
        return full if self._pca is None else np.asarray(self._pca.apply(full))

    def _fills_gaps(self, absent: Sequence[str]) -> bool:
        """Whether the preparation fills gaps, and no column is absent."""
        return not absent and self.preparation is not None and "impute" in self.preparation.steps_

    def _coordinates(self, prepared: Matrix) -> tuple[Floats, Floats]:
        return np.asarray(self.model.transform(prepared)), np.asarray(self.model.project(prepared))

    def _parts(self, X: Matrix, covariates: Any) -> Iterator[tuple[Matrix, Any]]:
        """Some rows at a time, so that sparse ones may become dense; at least one part."""
        n_rows = max(1, BLOCK // X.shape[1])
        for start in range(0, max(X.shape[0], 1), n_rows):
            rows = np.arange(start, min(start + n_rows, X.shape[0]))
            yield X[start : start + n_rows], take(covariates, rows)


def columns_of(names: Sequence[str], preparation: Preparation | None = None) -> Columns:
    """What the columns of rows are made of, once they are encoded.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise import Preparation
    >>> from branchwise.placing.placer import columns_of
    >>> X = pd.DataFrame({"ward": ["A", "B", "C"], "crp": [1.0, 3.0, 2.0]})
    >>> columns_of(["ward", "crp"], Preparation(categorical=["ward"]).fit(X)).names
    ['ward', 'ward', 'crp']
    """
    step = None if preparation is None else preparation.steps_.get("encode")
    if step is None:
        every = np.arange(len(names))
        return Columns(list(names), every, every >= 0, [None] * len(names), True)
    return Columns(step.sources, step.parts, step.is_measured, step.day_zero, False)


def rows_of_samples(model: Any, X: Any) -> Matrix:
    """Samples as an estimator takes them, but maybe with gaps, which stay NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise import DDRTree
    >>> from branchwise.placing.placer import rows_of_samples
    >>> model = DDRTree(2).fit(np.random.default_rng(0).normal(size=(50, 3)))
    >>> rows_of_samples(model, [[1, None, 2]])
    array([[ 1., nan,  2.]])
    """
    with remedies():
        rows = check_numbers(X, model)
        validate_data(model, X, reset=False, skip_check_array=True)
    values = rows.data if sparse.issparse(rows) else rows
    known = np.where(np.isnan(values), 0.0, values)
    check_not_huge(known, check_finite(known, "X"), "X")
    return rows


def unknown(missing: Ints, n_branches: int) -> Assessed:
    """Nothing is said of rows, but how many features they lack.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.placing.placer import unknown
    >>> unknown(np.array([0, 2]), 1).p
    array([nan, nan])
    """
    n = len(missing)
    misfit, p, lower, upper = np.full((4, n), np.nan)
    beyond, drivers = np.full((2, n), "", dtype=object)
    branches = np.full((n, n_branches), np.nan)
    return Assessed(misfit, p, lower, upper, branches, beyond, drivers, missing)


def missing_in(X: Matrix) -> Ints:
    """How many values each row lacks.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.placing.placer import missing_in
    >>> missing_in(np.array([[1.0, np.nan], [2.0, 3.0]]))
    array([1, 0])
    """
    if not sparse.issparse(X):
        return np.isnan(X).sum(axis=1)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.bincount(rows[np.isnan(X.data)], minlength=X.shape[0])


def as_dense(X: Matrix) -> Floats:
    """In double precision."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def take(table: Any, rows: Any) -> Any:
    """Some rows of a table, or nothing of nothing."""
    return None if table is None else some_rows(table, rows)
