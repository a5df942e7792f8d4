"""Masked arrays, whose masked values are missing."""

from typing import Any

import numpy as np


def unmasked(X: Any) -> Any:
    """A masked array as a plain one: NaN among numbers, and None among others, for what is masked.

    Anything else stays as it is. Scikit-learn would take the value below the mask for known.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.masked import unmasked
    >>> unmasked(np.ma.masked_equal([[1, -999]], -999))
    array([[ 1., nan]])
    >>> unmasked(np.ma.masked_array(["a", "b"], [False, True]))
    array(['a', None], dtype=object)
    """
    if isinstance(X, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in X):
        X = np.ma.stack([np.ma.asarray(row) for row in X])
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if not np.ma.getmaskarray(X).any():
        return X.data
    if X.dtype.kind in "biu":
        return np.ma.filled(X.astype(np.float64), np.nan)
    if X.dtype.kind in "fc":
        return np.ma.filled(X, np.nan)
    plain = X.data.astype(object)
    plain[np.ma.getmaskarray(X)] = None
    return plain
