"""Tables as users have them: columns by name, missing values by column."""

from typing import Any

import numpy as np
from scipy import sparse

from .._messages import listed
from .._typing import Bools, Ints, Matrix
from ..data.categories import column_names, is_missing
from ..data.checks import check_numbers, remedies

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
    with remedies():
        X = check_numbers(X)
    complete = np.ones(X.shape[0], dtype=bool)
    if sparse.issparse(X):
        complete[np.repeat(np.arange(len(complete)), np.diff(X.indptr))[np.isnan(X.data)]] = False
    else:
        complete = ~np.isnan(X).any(axis=1)
    for name in [] if covariates is None else column_names(covariates):
        missing = is_missing(covariates[name])
        if len(missing) != len(complete):
            raise ValueError(
                f"covariate {name!r} has {len(missing)} values, but X has {len(complete)} rows; "
                "pass one value for each row."
            )
        complete &= ~missing
    return complete
