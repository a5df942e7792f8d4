"""Tables as users have them: columns by name, missing values by column."""

import re
from typing import Any

import numpy as np
from scipy import sparse

from .._messages import listed
from .._typing import Bools, Ints, Matrix
from ..data.categories import are_numbers, column_names, column_values, is_blank, is_missing
from ..data.checks import check_numbers, remedies

# Types of columns that hold numbers, of pandas and of polars.
NUMBERS = re.compile("u?int|float|double", re.IGNORECASE)
# So many columns are named in a message.
N_NAMED = 5


def columns_by_name(X: Any, names: Any) -> Any:
    """The columns of a table that were there in fit, in that order; other data as they are.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.preprocessing.columns import columns_by_name
    >>> columns_by_name(pd.DataFrame({"b": [1], "site": ["x"], "a": [2]}), ["a", "b"])
       a  b
    0  2  1
    """
    if names is None or not hasattr(X, "columns"):
        return X
    names, given = list(names), list(X.columns)
    # Names that are not text say nothing to scikit-learn either.
    if names == given or not any(isinstance(name, str) for name in given):
        return X
    present = set(given)
    missing = [name for name in names if name not in present]
    if missing:
        raise ValueError(
            f"X lacks {len(missing)} of the {len(names)} columns that were there in fit: "
            f"{listed(map(repr, missing), N_NAMED)}; add them, or name them as in fit."
        )
    return X[names]


def canonical(X: Matrix) -> Matrix:
    """A sparse matrix with one entry per place, in order; it may share its arrays with X.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from branchwise.preprocessing.columns import canonical
    >>> X = sparse.csr_array((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])))
    >>> canonical(X).data
    array([3.])
    """
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def missing_counts(X: Matrix) -> Ints:
    """The number of missing values in each column.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.columns import missing_counts
    >>> missing_counts(np.array([[1.0, np.nan], [2.0, np.nan]]))
    array([0, 2])
    """
    if sparse.issparse(X):
        return np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])
    return np.isnan(X).sum(axis=0)


def check_none_missing(X: Matrix, names: Any, remedy: str) -> None:
    """Missing values are an error that counts them by column."""
    counts = missing_counts(X)
    columns = np.flatnonzero(counts)
    if len(columns) == 0:
        return
    columns = columns[np.argsort(-counts[columns], kind="stable")]
    listing = listed((f"{column_label(names, j)}: {counts[j]:,}" for j in columns), N_NAMED)
    raise ValueError(
        f"X has {counts.sum():,} missing values (NaN) in {len(columns):,} of {X.shape[1]:,} "
        f"columns ({listing}), but every value must be known; {remedy}."
    )


def check_some_known(X: Matrix, names: Any, option: str) -> None:
    """Every column has at least one known value."""
    empty = np.flatnonzero(missing_counts(X) == X.shape[0])
    if len(empty):
        listing = listed((column_label(names, j) for j in empty), N_NAMED)
        raise ValueError(
            f"{option} needs a known value in every column, but X has none in {len(empty):,} "
            f"({listing}); leave such columns out."
        )


def column_label(names: Any, j: Any) -> str:
    """What to call a column in a message.

    Examples
    --------
    >>> from branchwise.preprocessing.columns import column_label
    >>> column_label(["age", "bmi"], 1), column_label(None, 1)
    ("'bmi'", 'column 1')
    """
    return f"column {j}" if names is None else repr(str(names[j]))


def complete_rows(X: Any, covariates: Any = None) -> Bools:
    """Which rows have no missing value, neither in X nor in any column of the covariates.

    Parameters
    ----------
    X : array-like, DataFrame or sparse matrix of shape (n_samples, n_features)
        Columns of a DataFrame may hold text, truth values and dates; blank text is missing.
    covariates : DataFrame, dict of columns, or None, default=None
        Pass only the columns that are to be adjusted for: ``covariates[["age", "sex"]]``.

    Returns
    -------
    mask : array of shape (n_samples,)

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing import complete_rows
    >>> X = np.array([[1.0, 2.0], [np.nan, 3.0], [4.0, 5.0]])
    >>> complete_rows(X, {"sex": ["f", "m", None]})
    array([ True, False, False])
    """
    others = other_columns(X)
    complete = np.logical_and.reduce([~is_blank(X[name]) for name in others]) if others else None
    if others:
        left_out = set(others)
        X = X[[name for name in X.columns if name not in left_out]]
    if complete is None or X.shape[1]:
        with remedies():
            known = all_known(check_numbers(X))
        complete = known if complete is None else complete & known
    for name in [] if covariates is None else column_names(covariates):
        missing = is_missing(covariates[name])
        if len(missing) != len(complete):
            raise ValueError(
                f"covariate {name!r} has {len(missing)} values, but X has {len(complete)} rows; "
                "pass one value for each row."
            )
        complete = complete & ~missing
    return np.asarray(complete)


def all_known(X: Matrix) -> Bools:
    """Which rows of a matrix have no gap."""
    if not sparse.issparse(X):
        return np.asarray(~np.isnan(X).any(axis=1))
    complete = np.ones(X.shape[0], dtype=bool)
    complete[np.repeat(np.arange(len(complete)), np.diff(X.indptr))[np.isnan(X.data)]] = False
    return complete


def other_columns(X: Any) -> list[Any]:
    """The columns of a DataFrame of pandas or polars that are not numbers."""
    if not hasattr(X, "columns") or not hasattr(X, "dtypes") or hasattr(X, "sparse"):
        return []
    found = []
    for name, kind in zip(X.columns, X.dtypes, strict=True):
        if not NUMBERS.match(str(kind)) and not are_numbers(column_values(X[name])):
            found.append(name)
    return found
