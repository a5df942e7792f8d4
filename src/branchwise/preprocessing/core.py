"""The transformer: parameters, the order of the steps, and how they meet a table."""

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from .._compat import Interval, StrOptions, validate_parameter_constraints
from .._memory import check_memory
from .._typing import Floats, Matrix
from ..data.checks import check_finite, check_not_huge, check_numbers, remedies
from ..data.dask import is_dask
from ..estimators.base import all_or_nothing
from ..estimators.chunks import dask_as_it_is
from .columns import canonical, check_none_missing, columns_by_name
from .covariates import Residuals, check_covariates
from .dask import as_whole_rows, check_can_learn, check_can_repeat, learn_from_chunks, repeat_lazily
from .steps import (
    BLOCK,
    Axes,
    Logarithms,
    Medians,
    NormalScores,
    Scales,
    dense_steps,
    in_double,
    repeat_steps,
)

# What to do about rows that lack a value.
DROP = (
    "drop such rows, from the covariates too (branchwise.preprocessing.complete_rows marks the "
    "others)"
)


def learn_steps(
    preparation: "Preparation", table: Matrix, covariates: Any, index: Any
) -> dict[str, Any]:
    """What `Preparation.steps_` holds: each step from what those before it make of the table."""
    names, steps = preparation._names, dict[str, Any]()
    precision = float(np.finfo(table.dtype).eps)
    if preparation.impute == "median":
        steps["impute"] = Medians.fit(table, names)
    if preparation.log1p:
        steps["log1p"] = Logarithms()
    table = in_double(known_values(table, steps, preparation.impute, names))
    if preparation.log1p:
        table = steps["log1p"].apply(table)
    if preparation.rank_normalize:
        table = as_dense(table, "rank_normalize")
        steps["rank_normalize"] = NormalScores.fit(table)
        table = steps["rank_normalize"].apply(table)
    if preparation.adjust:
        adjusted = list(preparation.adjust)
        check_covariates(covariates, adjusted, table.shape[0], index)
        table = as_dense(table, "adjust")
        steps["adjust"] = Residuals.fit(table, covariates, adjusted, precision)
        table = steps["adjust"].apply(table, steps["adjust"].design(covariates))
    if preparation.standardize:
        steps["standardize"] = Scales.fit(table)
        table = steps["standardize"].apply(table)
    if preparation.pca is not None:
        steps["pca"] = Axes.fit(table, int(preparation.pca))
    return steps


def known_values(X: Matrix, steps: dict[str, Any], impute: str | None, names: Any) -> Matrix:
    """X with its gaps filled, in its own precision; every step can work with these numbers."""
    if "impute" not in steps:
        is_dropped = impute == "drop"
        remedy = (
            f"with impute='drop', {DROP} before"
            if is_dropped
            else f"{DROP}, or set impute='median'"
        )
        check_none_missing(X, names, remedy)
    X = filled(X, steps)
    check_not_huge(X, check_finite(X, "X"), "X")
    if "log1p" in steps:
        steps["log1p"].check(X, names)
    return X


def filled(X: Matrix, steps: dict[str, Any]) -> Matrix:
    """X with its gaps filled, if that is one of the steps."""
    return steps["impute"].apply(X) if "impute" in steps else X


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

    1. impute: missing values become medians;
    2. log1p: x becomes log(1 + x);
    3. rank_normalize: each feature becomes the normal scores of its ranks;
    4. adjust: each feature becomes its residual of a linear regression on covariates, plus its
       mean, so that units stay;
    5. standardize: each feature gets mean 0 and standard deviation 1;
    6. pca: the features become coordinates along their principal axes.

    `transform` repeats them with the numbers learned in `fit`: what becomes of a row does not
    depend on the others, and the training data become what `fit_transform` made of them. The
    columns of a DataFrame are found by their names: their order does not matter and further
    columns are ignored. Sparse data stay sparse but for rank_normalize, adjust and pca, which make
    them dense.

    Dask arrays, also of sparse blocks, and Dask DataFrames are prepared by log1p, standardize and
    pca: `fit` passes over the chunks, `transform` gives a lazy Dask array in chunks of the same
    rows. Nothing of the size of the data is kept in between; if reading them takes long and the
    workers have room for them, ``X = X.persist()`` before. What was fitted in memory, to a sample
    for instance, transforms Dask arrays, and the other way round.

    Parameters
    ----------
    log1p : bool, default=False
        Take log(1 + x), which needs values above −1: for counts, for instance.
    impute : {"median", "drop"} or None, default=None
        Missing values: "median" replaces them by the medians of the training data (with the zeros
        of a sparse matrix); with None they are an error that counts them by column. "drop" says
        that whoever calls drops rows that lack a value, in the covariates, too
        (`branchwise.preprocessing.complete_rows` marks the others); such a value is then an error
        here.
    rank_normalize : bool, default=False
        Give rank r among N the standard normal quantile of (r − 3/8)/(N + 1/4) (Blom), equal
        values their mean rank. New values are interpolated; beyond the training data they get the
        extreme scores. Of a feature with more than 1,000 distinct values at most 1,000 are kept,
        and the scores of the others are reproduced to within 0.02.
    adjust : list of str or None, default=None
        Names of covariates. Numbers are taken as they are; truth values, categories and text as
        indicators of every level but a reference: the first category that occurs of a pandas
        categorical, the first in alphabetical order otherwise (False before True). Covariates that
        depend on one another are no obstacle. Text of which most is numbers is an error. A feature
        that they determine becomes constant.
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
        The numbers learned, by the name of the step: ``impute.medians``; ``rank_normalize.values``
        and ``.scores`` (those of feature j from ``.offsets[j]`` on); ``adjust.levels``,
        ``.center`` (means of the encoded covariates), ``.coefficients``, ``.mean`` and
        ``.is_explained``; ``standardize.mean`` and ``.scale`` (0 for constants); ``pca.mean``,
        ``.components`` and ``.variance_ratio``.
    n_features_in_ : int
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
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "log1p": ["boolean"],
        "impute": [StrOptions({"median", "drop"}), None],
        "rank_normalize": ["boolean"],
        "adjust": [list, tuple, None],
        "standardize": ["boolean"],
        "pca": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        log1p: bool = False,
        impute: str | None = None,
        rank_normalize: bool = False,
        adjust: list[str] | None = None,
        standardize: bool = False,
        pca: int | None = None,
        random_state: Any = None,
    ):
        self.log1p = log1p
        self.impute = impute
        self.rank_normalize = rank_normalize
        self.adjust = adjust
        self.standardize = standardize
        self.pca = pca
        self.random_state = random_state

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
        self._check_parameters()
        with remedies():
            table = canonical(check_numbers(X, self))
            validate_data(self, X, reset=True, skip_check_array=True)
        # One thread, as in the fits: more get in each other's way on a busy machine.
        with threadpool_limits(limits=1):
            self.steps_ = learn_steps(self, table, covariates, getattr(X, "index", None))
        return table

    @all_or_nothing
    def _fit_chunks(self, X: Any) -> Any:
        """Fit to a Dask array or DataFrame, and return it in chunks of whole rows."""
        self._check_parameters()
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
        with remedies():
            table = canonical(check_numbers(X, self))
            validate_data(self, X, reset=False, skip_check_array=True)
        table = known_values(table, self.steps_, self.impute, self._names)
        return self._repeat(table, covariates, index)

    def _repeat(self, table: Matrix, covariates: Any, index: Any) -> Matrix:
        """The steps on a table that has been checked."""
        Z = None
        if "adjust" in self.steps_:
            residuals = self.steps_["adjust"]
            check_covariates(covariates, residuals.names, table.shape[0], index)
            Z = residuals.design(covariates)
        if "pca" not in self.steps_:
            for name in dense_steps(self.steps_, table):
                check_dense_fits(table, name)
        return repeat_steps(self.steps_, table, Z, BLOCK)

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
        table = filled(self._fit_table(X, covariates), self.steps_)
        return self._repeat(table, covariates, getattr(X, "index", None))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The names of the prepared columns: those of X or, with pca, pca0, pca1 and so on.

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
            return names
        return np.array([f"pca{k}" for k in range(len(self.steps_["pca"].components))], object)

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
        self._check_parameters()
        self.n_features_in_, names, self.steps_ = read_learned(state)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        return self

    @property
    def _names(self) -> Any:
        """Of the columns of X in fit, or None if they had none."""
        return getattr(self, "feature_names_in_", None)

    def _check_parameters(self) -> None:
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), type(self).__name__
        )
        names = list(self.adjust or [])
        if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise ValueError(
                f"adjust={self.adjust!r} must be a list of different names of covariates; pass "
                'text, for instance ["age", "sex"].'
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.impute == "median"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


# After the class: scikit-learn wraps its methods when it is made.
for _name in ("transform", "fit_transform"):
    setattr(Preparation, _name, dask_as_it_is(getattr(Preparation, _name)))
