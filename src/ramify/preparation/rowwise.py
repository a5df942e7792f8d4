"""The fitted steps, repeated on rows: what becomes of one does not depend on the others."""

from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Floats, Matrix

# Rows that are worked on at a time, in double precision.
BLOCK = 8192
# Steps whose result is dense whatever they are given.
DENSE = {"rank_normalize", "adjust"}


def repeat_steps(
    steps: dict[str, Any], X: Matrix, Z: Floats | None = None, n_rows: int = BLOCK
) -> Matrix:
    """X, at least one row without gaps, after all steps, in its own precision.

    Parameters
    ----------
    steps : dict
        As in `Preparation.steps_`.
    X : array or CSR matrix of shape (n_samples, n_features)
    Z : array of shape (n_samples, n_columns) or None
        The encoded covariates, for adjust.
    n_rows : int
        So many are worked on at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.preparation.rowwise import repeat_steps
    >>> from ramify.preparation.steps import Scales
    >>> steps = {"standardize": Scales(np.array([2.0]), np.array([0.5]))}
    >>> repeat_steps(steps, np.array([[3.0]], dtype=np.float32))
    array([[2.]], dtype=float32)
    """
    blocks = [slice(start, start + n_rows) for start in range(0, X.shape[0], n_rows)]
    done = [
        after_steps(steps, X[rows], None if Z is None else Z[rows]).astype(X.dtype)
        for rows in blocks
    ]
    return sparse.vstack(done, format="csr") if sparse.issparse(done[0]) else np.vstack(done)


def after_steps(steps: dict[str, Any], X: Matrix, Z: Floats | None = None) -> Matrix:
    """Some rows after all steps but that which fills gaps, in double precision.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.preparation.rowwise import after_steps
    >>> from ramify.preparation.steps import Logarithms
    >>> after_steps({"log1p": Logarithms()}, np.zeros((1, 2)))
    array([[0., 0.]])
    """
    X = in_double(X)
    for name, step in steps.items():
        if name in DENSE and sparse.issparse(X):
            X = X.toarray()
        if name == "standardize" and "pca" in steps:
            step = step._replace(is_centred=None)  # so that sparse rows stay sparse until then
        if name == "pca" and "standardize" in steps:
            # Which has centred X, or not, as the training data may have not been, or been.
            step = step._replace(mean=steps["standardize"].mean_after(X, step.mean))
        if name == "adjust":
            X = step.apply(X, Z)
        elif name != "impute":
            X = step.apply(X)
    return X


def dense_steps(steps: dict[str, Any], X: Matrix) -> list[str]:
    """The steps after which sparse rows are dense, but for the axes.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from ramify.preparation.rowwise import dense_steps
    >>> from ramify.preparation.steps import Scales
    >>> fitted = {"standardize": Scales.fit(np.array([[1.0], [3.0]]))}
    >>> dense_steps(fitted, sparse.csr_array([[2.0]]))
    ['standardize']
    """
    found = [name for name in steps if name in DENSE]
    if "standardize" in steps and steps["standardize"].makes_dense(X):
        found.append("standardize")
    return found


def in_double(X: Matrix) -> Matrix:
    """In double precision and row after row: how sums are rounded depends on the order in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.preparation.rowwise import in_double
    >>> in_double(np.ones((2, 3), dtype=np.float32, order="F")).flags.c_contiguous
    True
    """
    return X.astype(np.float64) if sparse.issparse(X) else X.astype(np.float64, order="C")
