"""The transformer: parameters, the order of the steps, and how they meet a table."""

import warnings
from collections.abc import Sequence
from copy import copy
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from .._compat import Interval, StrOptions, validate_parameter_constraints
from .._memory import check_memory
from .._messages import listed, setting
from .._typing import Floats, Matrix
from ..data.categories import column_names
from ..data.checks import check_finite, check_not_huge, check_numbers, remedies
from ..data.dask import check_not_dask, is_dask
from ..data.selection import exact, expand, select
from ..estimators.base import all_or_nothing
from ..estimators.chunks import dask_as_it_is
from .columns import canonical, check_none_missing, check_some_known, columns_by_name
from .covariates import Residuals, check_covariates, check_given
from .dask import as_whole_rows, check_can_learn, check_can_repeat, learn_from_chunks, repeat_lazily
from .encoding import (
    Encoding,
    Plan,
    check_encoding_parameters,
    in_list,
    make_plan,
    named_columns_of,
)
from .steps import (
    BLOCK,
    Axes,
    Logarithms,
    Medians,
    NormalScores,
    Scales,
    TreeMeans,
    before_steps,
    dense_steps,
    fills_late,
    in_double,
    largest_known,
    repeat_steps,
)

# What to do about rows that lack a value.
DROP = (
    "drop such rows, from the covariates too (branchwise.preprocessing.complete_rows marks the "
    "others)"
)


def learn_steps(
    preparation: "Preparation",
    table: Matrix,
    covariates: Any,
    index: Any,
    encoding: Encoding | None = None,
) -> dict[str, Any]:
    """What `Preparation.steps_` holds: each step from what those before it make of the table.

    With impute="model" gaps go through all steps up to those of the axes, NaN as they are.
    """
    names, steps = preparation._names, dict[str, Any]()
    precision = float(np.finfo(table.dtype).eps)
    carries_gaps = preparation.impute == "model"
    is_number = is_contrast = None
    if encoding is not None:
        steps["encode"] = encoding
        names, is_number, is_contrast = encoding.names, encoding.is_number, encoding.is_contrast
    if preparation.impute == "median":
        steps["impute"] = Medians.fit(table, names, is_contrast)
    elif carries_gaps:
        check_some_known(table, names, setting("impute", "model"))
    if preparation.log1p:
        steps["log1p"] = Logarithms(is_number)
    table = in_double(known_values(table, steps, preparation.impute, names, carries_gaps))
    if preparation.log1p:
        table = steps["log1p"].apply(table)
    if preparation.rank_normalize:
        table = as_dense(table, "rank_normalize")
        steps["rank_normalize"] = NormalScores.fit(table, is_contrast)
        table = steps["rank_normalize"].apply(table)
    if preparation.adjust:
        check_given(covariates, expand(preparation.adjust))
        known = [str(name) for name in column_names(covariates)]
        adjusted = adjusted_names(preparation.adjust, known, "the table of covariates")
        check_covariates(covariates, adjusted, table.shape[0], index)
        table = as_dense(table, "adjust")
        steps["adjust"] = Residuals.fit(table, covariates, adjusted, precision)
        table = steps["adjust"].apply(table, steps["adjust"].design(covariates))
    if preparation.standardize:
        steps["standardize"] = Scales.fit(table, is_contrast)
        table = steps["standardize"].apply(table)
    elif is_contrast is not None and is_contrast.any():
        steps["weigh"] = Scales.weights(table, is_contrast)
        table = steps["weigh"].apply(table)
    if carries_gaps:
        # It hands its table to the analysis, which learns a tree from it.
        from ..placing.filling import learn_filling

        found = learn_filling(table, is_contrast)
        steps["impute"] = TreeMeans(*found.model, found.low, found.high)
        table = steps["impute"].apply(table)
    if preparation.pca is not None:
        steps["pca"] = Axes.fit(table, int(preparation.pca))
    return steps


def adjusted_names(patterns: Any, known: Sequence[str], source: str) -> list[str]:
    """The covariates that names and patterns mean; names alone keep their order.

    Examples
    --------
    >>> from branchwise.preprocessing.core import adjusted_names
    >>> adjusted_names(["sex", "age"], ["age", "sex"], "X"), adjusted_names(["s*"], ["sex"], "X")
    (['sex', 'age'], ['sex'])
    """
    given = expand(patterns)
    names = list(dict.fromkeys(name if name in known else exact(name) for name in given))
    return names if set(names) <= set(known) else select(given, known, "adjust", source)


def known_values(
    X: Matrix, steps: dict[str, Any], impute: str | None, names: Any, carries_gaps: bool = False
) -> Matrix:
    """X with its gaps filled, in its own precision; every step can work with these numbers."""
    if "impute" not in steps and not carries_gaps:
        is_dropped = impute == "drop"
        remedy = (
            f"with impute='drop', {DROP} before"
            if is_dropped
            else f"{DROP}, or set impute='model' or impute='median'"
        )
        check_no_gaps(X, steps, names, remedy)
    X = X if carries_gaps else filled(X, steps)
    check_not_huge(X, largest_known(X, "X") if carries_gaps else check_finite(X, "X"), "X")
    if "log1p" in steps:
        steps["log1p"].check(X, names)
    return X


def check_no_gaps(X: Matrix, steps: dict[str, Any], names: Any, remedy: str) -> None:
    """Missing values are told by column of the table, not by what it was encoded to."""
    if "encode" in steps:
        sources, parts = steps["encode"].sources, steps["encode"].parts
        X, names = X[:, parts], [sources[j] for j in parts]
    check_none_missing(X, names, remedy)


def filled(X: Matrix, steps: dict[str, Any]) -> Matrix:
    """X with its gaps filled, if that is one of the steps."""
    is_early = "impute" in steps and not fills_late(steps)
    return steps["impute"].apply(X) if is_early else X


def check_dense(X: Matrix) -> None:
    """A tree fills gaps of dense tables: in sparse ones hardly a zero is a measurement."""
    if sparse.issparse(X):
        raise ValueError(
            "impute='model' is for dense tables, but X is a sparse matrix; pass X.toarray() if its "
            "zeros are measurements, or set impute='median'."
        )


def warn_of_empty_rows(X: Matrix, index: Any, filled_with: str = "the mean of the tree") -> None:
    """Of rows without any known value a tree says only where most samples are."""
    if sparse.issparse(X):
        cells = sparse.coo_array(X)
        n_missing = np.bincount(cells.row[np.isnan(cells.data)])
        rows = np.flatnonzero(n_missing == X.shape[1])
    else:
        rows = np.flatnonzero(np.isnan(X).all(axis=1))
    if len(rows):
        names = [repr(index[i]) if index is not None else str(i) for i in rows]
        warnings.warn(
            f"X has no known value in {'row' if len(rows) == 1 else 'rows'} {listed(names, 5)}, so "
            f"that {'it is' if len(rows) == 1 else 'they are'} filled with {filled_with}, which "
            f"{'say' if filled_with.endswith('s') else 'says'} nothing about "
            f"{'it; leave such a row' if len(rows) == 1 else 'them; leave such rows'} out.",
            stacklevel=4,
        )


def as_dense(X: Matrix, step: str) -> Floats:
    """X for a step that needs it dense."""
    check_dense_fits(X, step)
    return X.toarray() if sparse.issparse(X) else X


def check_dense_fits(X: Matrix, step: str) -> None:
    """Say at once that a sparse matrix does not fit as a dense one, with a copy of it."""
    if sparse.issparse(X):
        check_memory(
            16 * X.shape[0] * X.shape[1],
            f"{step} of {X.shape[0]:,} sparse samples of {X.shape[1]:,} features, which makes "
            "them dense,",
            "select features first, or leave it out",
        )


class Preparation(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """What is usually done to a table before a fit, frozen so that a new cohort is treated alike.

    The steps that are asked for are done in this order, each learned from what the one before it
    made of the training data:

    1. encode: categories, dates and ages become numbers, if any are named;
    2. impute: missing values become medians (with "model" this comes after 6);
    3. log1p: x becomes log(1 + x);
    4. rank_normalize: each feature becomes the normal scores of its ranks;
    5. adjust: each feature becomes its residual of a linear regression on covariates, plus its
       mean, so that units stay;
    6. standardize: each feature gets mean 0 and standard deviation 1;
    7. pca: the features become coordinates along their principal axes.

    `transform` repeats them with the numbers learned in `fit`: what becomes of a row does not
    depend on the others, and the training data become what `fit_transform` made of them. The
    columns of a DataFrame are found by their names: their order does not matter and further
    columns are ignored. Sparse data stay sparse but for rank_normalize, adjust and pca, which make
    them dense.

    Dask arrays, also of sparse blocks, and Dask DataFrames are prepared by log1p, standardize and
    pca: `fit` passes over the chunks, `transform` gives a lazy Dask array in chunks of the same
    rows. Nothing of the size of the data is kept in between; if reading them takes long and the
    workers have room for them, ``X = X.persist()`` before. What was fitted in memory, to a sample
    for instance, transforms Dask arrays, and the other way round. Encoding is for tables in memory
    only.

    **What categories weigh** is as in factor analysis of mixed data. A category of K levels becomes
    K − 1 columns, ``sex=m`` of two levels, ``ward=B`` and ``ward=C`` of three: each level beside
    those that are more frequent (weighted Helmert contrasts). Each has mean 0 and variance 1 over
    the known values of the training data, and no two are correlated; samples are as far apart as by
    indicators that are divided by the roots of their shares. The variance is 1 in every direction,
    so that no axis has more of a category than of a number, and K − 1 in all, where a standardised
    number has 1: in squared distances it counts as much as K − 1 numbers. Beside five numbers these
    are 17 % with 2 levels, 44 % with 5 and 79 % with 20, and a category of 20 that has nothing to
    do with the course can hide it. Join rare levels, use ``ordinal`` where they have an order, or
    leave it out. A category of two levels is the same column, written as 0 and 1 (of the rarer
    level) and standardised. ``standardize`` does not scale contrasts again. Without it they are
    multiplied by the root mean square of the standard deviations of all other columns (as log1p,
    rank_normalize and adjust leave them), so that a category of two levels weighs as much as the
    average number in whatever unit. ``log1p`` leaves all encoded columns alone, ``rank_normalize``
    the contrasts; ``adjust`` takes from them what the covariates explain, and they keep the rest of
    their weight; ``pca`` treats all columns alike.

    Parameters
    ----------
    categorical : str, list of str or None, default=None
        Columns of a DataFrame that are categories: text, truth values, numbers that are names of
        groups. Names or patterns (``"*_status"``; ``"@file"`` for those in a file, one a line). The
        levels are those that occur in training, in the order of a pandas categorical or as people
        would sort them; whole numbers are the same level as 1 and as 1.0; blank text is missing. A
        level that was not there is an error in `transform`. More than 10 levels, a single one,
        which becomes a column of 0, and decimals, as measurements have, are told by a warning; a
        level for every other row, as names have, is an error, and so are dates.
    ordinal : dict or None, default=None
        Columns of ordered categories with all their levels in order,
        ``{"grade": ["low", "mid", "high"]}``, which become 0, 1, 2, … under the same name. Any
        other level is an error.
    dates : str, list of str or None, default=None
        Columns of dates, as such or as text (2024-03-31, 31.03.2024, 31 Mar 2024, 31/03/2024 if
        the column tells which is the day; with a time or without), which become days since the
        first one in training, under the same name: negative before it. Dates with a time zone are
        taken in UTC.
    ages : dict or None, default=None
        New columns of years (of 365.25 days) between two columns of dates,
        ``{"age": ("born", "seen")}``. These columns themselves are left out, but for those in
        ``dates``.
    log1p : bool, default=False
        Take log(1 + x), which needs values above −1: for counts, for instance.
    impute : {"median", "model", "drop"} or None, default=None
        Missing values: "median" replaces them by the medians of the training data (with the zeros
        of a sparse matrix). "model" learns a tree from the known values and replaces what is
        missing of a row by what the tree makes likely, given what is known of the row: after the
        other steps and before pca, in dense tables in memory, from at most 2,000 rows
        (`branchwise.placing.filling` has the steps). A row without any known value gets the mean
        of the tree, and a warning; each contrast of a missing category gets its conditional mean.
        With None they are an error that counts them by column. "drop" says that whoever calls drops
        rows that lack a value, in the covariates, too (`branchwise.preprocessing.complete_rows`
        marks the others); such a value is then an error here. With "median" a missing category
        becomes neither of its levels but their mean, 0 in all of its columns: that is neutral,
        while the most common level would be a guess that counts as known; ordered categories, dates
        and ages get medians, as numbers do.
    rank_normalize : bool, default=False
        Give rank r among N the standard normal quantile of (r − 3/8)/(N + 1/4) (Blom), equal
        values their mean rank. New values are interpolated; beyond the training data they get the
        extreme scores. Of a feature with more than 1,000 distinct values at most 1,000 are kept,
        and the scores of the others are reproduced to within 0.02.
    adjust : str, list of str or None, default=None
        Names of covariates, or patterns as in ``categorical``. Numbers are taken as they are; truth
        values, categories and text as indicators of every level but a reference: the first category
        that occurs of a pandas categorical, the first in alphabetical order otherwise (False before
        True). Covariates that depend on one another are no obstacle. Text of which most is numbers
        is an error. A feature that they determine becomes constant.
    standardize : bool, default=False
        Subtract the mean and divide by the standard deviation (of N, not N − 1). A feature that
        was constant in training becomes 0, in every later table as well. Sparse data are not
        centred, which makes no difference to a fit: the estimators centre them. Later tables are
        treated as that of `fit` was: sparse rows become dense if it was dense, and dense rows are
        not centred if it was sparse.
    pca : int or None, default=None
        The number of principal components, at most min(n_samples, n_features). The entry of
        largest size of each axis is positive. Those of a Dask array take no further pass over the
        data up to 2,048 features, and are the exact ones. Beyond, they are found by iteration from
        random directions (block Krylov with Rayleigh–Ritz), in at most 12 passes. Measured on
        simulated data of 3,000 features: axes that stand out from noise took 4 to 9 passes and
        were the exact ones to 1e-8; axes amid noise, whose variances are nearly equal, differed
        from the exact ones by up to 0.06, but all of them together kept the largest possible
        variance to within 4e-6 of it. With the same `random_state` the chunks make no difference
        above 1e-8.
    random_state : int, RandomState or None, default=None
        Where the iteration for pca on Dask arrays of more than 2,048 features starts. Nothing else
        is random.

    Attributes
    ----------
    steps_ : dict
        The numbers learned, by the name of the step: ``encode.levels``, ``.shares`` (of the
        levels of all categories) and ``.firsts`` (the first dates); ``impute.medians``,
        or with "model" ``impute.axes``, ``.mean``, ``.places``, ``.weights``, ``.spread``,
        ``.noise``, ``.low`` and ``.high``;
        ``rank_normalize.values`` and ``.scores`` (those of feature j from ``.offsets[j]`` on);
        ``adjust.levels``, ``.center`` (means of the encoded covariates), ``.coefficients``,
        ``.mean`` and ``.is_explained``; ``standardize.mean`` and ``.scale`` (0 for constants), or
        ``weigh`` likewise if contrasts are scaled without it; ``pca.mean``, ``.components`` and
        ``.variance_ratio``.
    n_features_in_ : int
        Columns of X, before they are encoded.
    feature_names_in_ : array of shape (n_features_in_,)
        Only if the columns of X had names in `fit`.

    Examples
    --------
    A simulated cohort in which the marker rises with age.

    >>> import pandas as pd
    >>> from branchwise import Preparation
    >>> X = pd.DataFrame({"marker": [3.0, 5.2, 6.8, 9.1], "other": [1.0, 4.0, 2.0, 5.0]})
    >>> clinic = pd.DataFrame({"age": [30, 40, 50, 60], "sex": ["f", "m", "m", "f"]})
    >>> preparation = Preparation(adjust=["age"], standardize=True)
    >>> preparation.fit_transform(X, covariates=clinic).round(2)
    array([[-0.27, -0.45],
           [ 1.15,  1.34],
           [-1.49, -1.34],
           [ 0.61,  0.45]])
    >>> new = pd.DataFrame({"site": ["b"], "other": [3.0], "marker": [6.0]})
    >>> preparation.transform(new, covariates={"age": [45]}).round(2)
    array([[-0.17,  0.  ]])

    Categories and dates as features:

    >>> visits = pd.DataFrame({
    ...     "sex": ["f", "m", "m", "f"],
    ...     "grade": ["low", "high", "mid", "low"],
    ...     "born": ["1950-05-01", "1961-02-03", "1948-11-30", "1970-07-07"],
    ...     "seen": ["2020-05-01", "2021-02-03", "2022-11-30", "2023-07-07"],
    ... })
    >>> preparation = Preparation(
    ...     categorical=["sex"],
    ...     ordinal={"grade": ["low", "mid", "high"]},
    ...     ages={"age": ("born", "seen")},
    ...     standardize=True,
    ... ).set_output(transform="pandas")
    >>> preparation.fit_transform(visits).round(2)
       sex=m  grade   age
    0   -1.0  -0.90  0.70
    1    1.0   1.51 -0.51
    2    1.0   0.30  1.18
    3   -1.0  -0.90 -1.36
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "categorical": [str, list, tuple, None],
        "ordinal": [dict, None],
        "dates": [str, list, tuple, None],
        "ages": [dict, None],
        "log1p": ["boolean"],
        "impute": [StrOptions({"median", "model", "drop"}), None],
        "rank_normalize": ["boolean"],
        "adjust": [str, list, tuple, None],
        "standardize": ["boolean"],
        "pca": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        categorical: str | list[str] | None = None,
        ordinal: dict[str, list[str]] | None = None,
        dates: str | list[str] | None = None,
        ages: dict[str, tuple[str, str]] | None = None,
        log1p: bool = False,
        impute: str | None = None,
        rank_normalize: bool = False,
        adjust: str | list[str] | None = None,
        standardize: bool = False,
        pca: int | None = None,
        random_state: Any = None,
    ):
        self.categorical = categorical
        self.ordinal = ordinal
        self.dates = dates
        self.ages = ages
        self.log1p = log1p
        self.impute = impute
        self.rank_normalize = rank_normalize
        self.adjust = adjust
        self.standardize = standardize
        self.pca = pca
        self.random_state = random_state

    def adjusted(self, known: Sequence[str], source: str) -> list[str]:
        """Which of the columns of a table are covariates.

        Parameters
        ----------
        known : sequence of str
            The columns of the table.
        source : str
            What to call the table in a message.

        Returns
        -------
        names : list of str

        Examples
        --------
        >>> from branchwise import Preparation
        >>> Preparation(adjust=["site_*"]).adjusted(["age", "site_a", "site_b"], "the table")
        ['site_a', 'site_b']
        """
        self.check_parameters()
        return adjusted_names(self.adjust, known, source) if self.adjust else []

    def fit(self, X: Any, y: Any = None, *, covariates: Any = None) -> Self:
        """Learn the numbers that the steps need.

        Parameters
        ----------
        X : array-like, DataFrame, sparse matrix, or Dask array or DataFrame
            Of shape (n_samples, n_features).
        y : ignored
        covariates : DataFrame, dict of columns, or None, default=None
            One value per row of X, in the same order, of each covariate in ``adjust``; other
            columns are ignored.

        Returns
        -------
        self

        Examples
        --------
        >>> from branchwise import Preparation
        >>> Preparation(standardize=True).fit([[1.0], [3.0]]).steps_["standardize"].scale
        array([1.])
        """
        if is_dask(X):
            self._fit_chunks(X)
        else:
            self._fit_table(X, covariates)
        return self

    @all_or_nothing
    def _fit_table(self, X: Any, covariates: Any) -> Matrix:
        """Fit to a table in memory, and return it as it was checked, maybe with gaps."""
        self.check_parameters()
        encoding = None
        if self.encodes:
            encoding = Encoding.fit(X, self.plan(named_columns_of(X), "X"))
        table = self._numbers(X, encoding, reset=True)
        if encoding is not None:
            encoding.warn_of_ages(table, getattr(X, "index", None))
        if self.impute == "model":
            check_dense(table)
        # One thread, as in the fits: more get in each other's way on a busy machine.
        with threadpool_limits(limits=1):
            self.steps_ = learn_steps(self, table, covariates, getattr(X, "index", None), encoding)
        return table

    def _numbers(self, X: Any, encoding: Encoding | None, *, reset: bool) -> Matrix:
        """A table in memory as numbers, maybe with gaps, once it is encoded."""
        with remedies():
            if encoding is None:
                table = canonical(check_numbers(X, self))
            else:
                named_columns_of(X)
                table = encoding.apply(X)
            validate_data(self, X, reset=reset, skip_check_array=True)
        return table

    @property
    def encodes(self) -> bool:
        """Whether any column is to be encoded."""
        return bool(self.categorical or self.ordinal or self.dates or self.ages)

    def asked(self) -> dict[str, list[str]]:
        """The names and patterns of columns, by parameter.

        Returns
        -------
        asked : dict of str to list of str

        Examples
        --------
        >>> from branchwise import Preparation
        >>> Preparation(adjust="age", categorical=["sex"], ages={"age": ("born", "seen")}).asked()
        {'categorical': ['sex'], 'ages': ['born', 'seen'], 'adjust': ['age']}
        """
        self.check_parameters()
        asked = {
            "categorical": expand(self.categorical or ()),
            "ordinal": expand(list(self.ordinal or ())),
            "dates": expand(self.dates or ()),
            "ages": [name for pair in (self.ages or {}).values() for name in pair],
            "adjust": expand(self.adjust or ()),
        }
        return {name: patterns for name, patterns in asked.items() if patterns}

    def plan(self, known: Sequence[str], source: str) -> Plan:
        """Which of the columns of a table are to be encoded, and how.

        Parameters
        ----------
        known : sequence of str
            The columns of the table.
        source : str
            What to call the table in a message.

        Returns
        -------
        plan : Plan

        Examples
        --------
        >>> from branchwise import Preparation
        >>> Preparation(categorical=["*_status"]).plan(["age", "er_status"], "the table").columns
        ['er_status']
        """
        self.check_parameters()
        return make_plan(
            known,
            source,
            categorical=self.categorical,
            ordinal=self.ordinal,
            dates=self.dates,
            ages=self.ages,
        )

    @all_or_nothing
    def _fit_chunks(self, X: Any) -> Any:
        """Fit to a Dask array or DataFrame, and return it in chunks of whole rows."""
        self.check_parameters()
        check_can_learn(self)
        X = as_whole_rows(self, X, reset=True)
        with threadpool_limits(limits=1):
            self.steps_ = learn_from_chunks(
                X,
                log1p=self.log1p,
                standardize=self.standardize,
                pca=None if self.pca is None else int(self.pca),
                random_state=self.random_state,
                names=self._names,
            )
        return X

    def transform(self, X: Any, *, covariates: Any = None) -> Matrix:
        """Repeat the steps on new data, row by row.

        Parameters
        ----------
        X : array-like, DataFrame, sparse matrix, or Dask array or DataFrame
            Of shape (n_samples, n_features). The columns of a DataFrame are found by their names if
            those of `fit` had any.
        covariates : DataFrame, dict of columns, or None, default=None
            As in `fit`; a level that was not there is an error.

        Returns
        -------
        X_new : array or sparse matrix of shape (n_samples, n_features or pca)
            For a Dask array or DataFrame a lazy Dask array, in chunks of the same rows; nothing is
            computed but the number of rows of a DataFrame. What is wrong with a chunk is told when
            it is computed. `set_output` does not apply to it.

        Examples
        --------
        >>> from branchwise import Preparation
        >>> Preparation(standardize=True).fit([[1.0], [3.0]]).transform([[5.0]])
        array([[3.]])
        """
        check_is_fitted(self)
        index = getattr(X, "index", None)
        X = columns_by_name(X, self._names)
        if is_dask(X):
            check_can_repeat(self.steps_)
            return repeat_lazily(self.steps_, as_whole_rows(self, X, reset=False), self._names)
        encoding = self.steps_.get("encode")
        table = self._numbers(X, encoding, reset=False)
        names = self._names if encoding is None else encoding.names
        if fills_late(self.steps_):
            check_dense(table)
        table = known_values(table, self.steps_, self.impute, names, fills_late(self.steps_))
        return self._repeat(self.steps_, table, covariates, index)

    def transform_known(self, X: Any, *, covariates: Any = None) -> Floats:
        """Repeat the steps on rows with gaps, which stay gaps.

        These are the steps before the axes, without that which fills gaps: what is known of a row,
        in the units in which an estimator without pca knows it.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n_samples, n_features)
            NaN, or an empty cell, where a value is not known.
        covariates : DataFrame, dict of columns, or None, default=None
            As in `transform`: these have to be known.

        Returns
        -------
        X_new : array of shape (n_samples, n_encoded_features)
            NaN where a value is not known, in all columns of a category.

        Examples
        --------
        >>> from branchwise import Preparation
        >>> fitted = Preparation(impute="median", standardize=True).fit([[1.0, 2.0], [3.0, 6.0]])
        >>> fitted.transform_known([[5.0, None]])
        array([[ 3., nan]])
        """
        check_is_fitted(self)
        index = getattr(X, "index", None)
        X = columns_by_name(X, self._names)
        check_not_dask(X, "X")
        steps = {k: step for k, step in self.steps_.items() if k not in ("impute", "pca")}
        encoding = steps.get("encode")
        table = self._numbers(X, encoding, reset=False)
        names = self._names if encoding is None else encoding.names
        table = known_values(table, steps, None, names, carries_gaps=True)
        return as_dense(self._repeat(steps, table, covariates, index), "transform_known")

    def encode(self, X: Any) -> Matrix:
        """The columns of a table as numbers, maybe with gaps: the first step, if it is one.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        X_encoded : array or sparse matrix of shape (n_samples, n_encoded)
            What `after_encoding` goes on from.

        Examples
        --------
        >>> import pandas as pd
        >>> from branchwise import Preparation
        >>> X = pd.DataFrame({"grade": ["low", "high"], "crp": [1.0, 3.0]})
        >>> fitted = Preparation(ordinal={"grade": ["low", "high"]}).fit(X)
        >>> fitted.encode(X)
        array([[0., 1.],
               [1., 3.]])
        """
        check_is_fitted(self)
        X = columns_by_name(X, self._names)
        return self._numbers(X, self.steps_.get("encode"), reset=False)

    def after_encoding(self) -> Self:
        """The same preparation for rows that `encode` has made, whose columns have no names.

        Returns
        -------
        preparation : Preparation

        Examples
        --------
        >>> import pandas as pd
        >>> from branchwise import Preparation
        >>> X = pd.DataFrame({"grade": ["low", "high"], "crp": [1.0, 3.0]})
        >>> fitted = Preparation(ordinal={"grade": ["low", "high"]}, standardize=True).fit(X)
        >>> fitted.after_encoding().transform(fitted.encode(X))
        array([[-1., -1.],
               [ 1.,  1.]])
        """
        check_is_fitted(self)
        rest = copy(self)
        if self._names is not None:
            del rest.feature_names_in_
        rest.steps_ = {name: step for name, step in self.steps_.items() if name != "encode"}
        if "encode" in self.steps_:
            rest.categorical = rest.ordinal = rest.dates = rest.ages = None
            rest.n_features_in_ = len(self.steps_["encode"].names)
        return rest

    def raw_values(self, values: Any, columns: Any, *, covariates: Any = None) -> Floats:
        """Prepared values of single columns, before any pca, in the units of the table.

        Parameters
        ----------
        values : array of shape (n,)
        columns : array of int, shape (n,)
            The column of each, all of them numbers of the table.
        covariates : DataFrame, dict of columns, or None, default=None
            Of the row of each.

        Returns
        -------
        raw : array of shape (n,)

        Examples
        --------
        >>> from branchwise import Preparation
        >>> fitted = Preparation(standardize=True).fit([[1.0, 0.0], [3.0, 4.0]])
        >>> fitted.raw_values([3.0, 0.0], [0, 1])
        array([5., 2.])
        """
        check_is_fitted(self)
        values, columns = np.asarray(values, dtype=np.float64), np.asarray(columns, dtype=np.intp)
        return before_steps(
            self.steps_, values, columns, self._design(covariates, len(values), None)
        )

    def _design(self, covariates: Any, n_rows: int, index: Any) -> Floats | None:
        """The encoded covariates, if the preparation adjusts for any."""
        if "adjust" not in self.steps_:
            return None
        residuals = self.steps_["adjust"]
        check_covariates(covariates, residuals.names, n_rows, index)
        return np.asarray(residuals.design(covariates))

    def _repeat(self, steps: dict[str, Any], table: Matrix, covariates: Any, index: Any) -> Matrix:
        """The steps on a table that has been checked."""
        if fills_late(steps):
            warn_of_empty_rows(table, index)
        Z = self._design(covariates, table.shape[0], index)
        if "pca" not in steps:
            for name in dense_steps(steps, table):
                check_dense_fits(table, name)
        return repeat_steps(steps, table, Z, BLOCK)

    def fit_transform(self, X: Any, y: Any = None, *, covariates: Any = None) -> Matrix:
        """Learn the steps from X, and repeat them on it.

        Parameters
        ----------
        X : array-like, DataFrame, sparse matrix, or Dask array or DataFrame
            Of shape (n_samples, n_features).
        y : ignored
        covariates : DataFrame, dict of columns, or None, default=None

        Returns
        -------
        X_new : array or sparse matrix of shape (n_samples, n_features or pca)
            For a Dask array or DataFrame a lazy Dask array, as in `transform`.

        Examples
        --------
        >>> from branchwise import Preparation
        >>> Preparation(impute="median").fit_transform([[1.0], [None], [3.0], [7.0]]).ravel()
        array([1., 3., 3., 7.])
        """
        if is_dask(X):
            # The rows of a DataFrame are counted only once.
            X = self._fit_chunks(X)
            return repeat_lazily(self.steps_, X, self._names)
        table, index = self._fit_table(X, covariates), getattr(X, "index", None)
        if self.impute == "median" and table.shape[1] > 1:
            warn_of_empty_rows(table, index, "the medians")
        return self._repeat(self.steps_, filled(table, self.steps_), covariates, index)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The names of the prepared columns: those of X, encoded; with pca, pca0, pca1 and so on.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names for the columns of an X that had none.

        Returns
        -------
        names : array of str

        Examples
        --------
        >>> from branchwise import Preparation
        >>> Preparation(pca=1).fit([[1.0, 2.0], [3.0, 5.0]]).get_feature_names_out().tolist()
        ['pca0']
        """
        names = super().get_feature_names_out(input_features)
        if "pca" not in self.steps_:
            step = self.steps_.get("encode")
            return names if step is None else np.array(step.names, dtype=object)
        return np.array([f"pca{k}" for k in range(len(self.steps_["pca"].components))], object)

    def settings(self) -> dict[str, Any]:
        """The parameters; once fitted, with the columns that patterns and files stood for.

        Returns
        -------
        settings : dict

        Examples
        --------
        >>> import pandas as pd
        >>> from branchwise import Preparation
        >>> X = pd.DataFrame({"er_status": ["+", "-"], "age": [50.0, 60.0]})
        >>> Preparation(categorical=["*_status"]).fit(X).settings()["categorical"]
        ['er_status']
        """
        found = dict(self.get_params(deep=False))
        steps = getattr(self, "steps_", {})
        if "encode" in steps:
            found |= {name: value or None for name, value in steps["encode"].plan._asdict().items()}
        if "adjust" in steps:
            found["adjust"] = list(steps["adjust"].names)
        return found

    def to_state(self) -> dict[str, Any]:
        """All that was learned, as a nested dict of JSON values and arrays.

        Returns
        -------
        state : dict

        Examples
        --------
        >>> from branchwise import Preparation
        >>> state = Preparation(standardize=True).fit([[1.0], [3.0]]).to_state()
        >>> state["steps"]["standardize"]["mean"]
        array([2.])
        """
        check_is_fitted(self)
        from ..persistence.preprocessing import to_state

        return to_state(self)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """What `to_state` returned, checked throughout, as a fitted preparation.

        Parameters
        ----------
        state : dict

        Returns
        -------
        preparation : Preparation

        Examples
        --------
        >>> from branchwise import Preparation
        >>> fitted = Preparation(standardize=True).fit([[1.0], [3.0]])
        >>> Preparation.from_state(fitted.to_state()).transform([[5.0]])
        array([[3.]])
        """
        from ..persistence.preprocessing import read_learned, read_parameters

        self = cls(**read_parameters(state))
        self.check_parameters()
        self.n_features_in_, names, self.steps_ = read_learned(state)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        return self

    @property
    def _names(self) -> Any:
        """Of the columns of X in fit, or None if they had none."""
        return getattr(self, "feature_names_in_", None)

    def check_parameters(self) -> None:
        """Complain of parameters that cannot be right, whatever the data.

        Examples
        --------
        >>> from branchwise import Preparation
        >>> Preparation(adjust=["age", "age"]).check_parameters()
        Traceback (most recent call last):
        ...
        ValueError: adjust=['age', 'age'] must be a list of different names of covariates; pass ...
        """
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), type(self).__name__
        )
        names = in_list(self.adjust)
        if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise ValueError(
                f"{setting('adjust', self.adjust)} must be a list of different names of "
                'covariates; pass text, for instance ["age", "sex"].'
            )
        check_encoding_parameters(self.categorical, self.ordinal, self.dates, self.ages)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self.encodes and self.impute != "model"
        tags.input_tags.string = tags.input_tags.categorical = self.encodes
        tags.input_tags.allow_nan = self.impute in ("median", "model")
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


# After the class: scikit-learn wraps its methods when it is made.
for _name in ("transform", "fit_transform"):
    setattr(Preparation, _name, dask_as_it_is(getattr(Preparation, _name)))
