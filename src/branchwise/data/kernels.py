"""Kernel matrices, whose rows are then the data (the paper's experiments with images)."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from .._parallel import ordered
from .._typing import Floats, Matrix
from .checks import check_kernel_values
from .row_order import row_keys

# Numbers in a block of a kernel matrix (128 MiB).
MAX_BLOCK = 2**24


def is_precomputed(kernel: Any) -> bool:
    """Whether the samples are rows of a kernel matrix."""
    return isinstance(kernel, str) and kernel == "precomputed"


def is_evaluated(kernel: Any) -> bool:
    """Whether the kernel matrix has to be computed from the samples."""
    return kernel is not None and not is_precomputed(kernel)


def block_rows(n_columns: int) -> int:
    """Rows of a kernel matrix that are computed at a time."""
    return max(1, MAX_BLOCK // n_columns)


def kernel_matrix(
    X: Matrix, kernel: Any, params: dict[str, Any] | None = None, n_jobs: int = 1
) -> Floats:
    """Kernel between all pairs of samples, in the precision of X.

    Every distinct sample is evaluated once, and they are taken in an order that depends on
    their values alone. So equal samples have equal rows, and a permutation of the samples
    permutes rows and columns and changes no digit.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.kernels import kernel_matrix
    >>> kernel_matrix(np.array([[0.0], [1.0], [0.0]]), "rbf").round(3)
    array([[1.   , 0.368, 1.   ],
           [0.368, 1.   , 0.368],
           [1.   , 0.368, 1.   ]])
    """
    _, first, place = np.unique(row_keys(X, n_jobs), return_index=True, return_inverse=True)
    distinct = X[first]
    n = len(first)
    K = np.empty((n, n), dtype=X.dtype)
    step = block_rows(n)
    blocks = [slice(start, start + step) for start in range(0, n, step)]
    rows = ordered(
        lambda block: kernel_rows(distinct[block], distinct, kernel, params), blocks, n_jobs
    )
    for block, values in zip(blocks, rows, strict=True):
        K[block] = values
    return K[np.ix_(place, place)]


def kernel_rows(A: Matrix, B: Matrix, kernel: Any, params: dict[str, Any] | None = None) -> Floats:
    """Kernel between samples A and B, one row per sample of A, in double precision.

    Parameters
    ----------
    A, B : arrays or sparse matrices of shape (n_a, n_features) and (n_b, n_features)
    kernel : "linear", "rbf" or callable
        "rbf" is exp(−gamma·‖a − b‖²). A callable is passed A, B and the parameters.
    params : dict or None
        The gamma of "rbf", 1/n_features by default, or keyword arguments of a callable.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.kernels import kernel_rows
    >>> kernel_rows(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [0.0, 1.0]]), "linear")
    array([[11.,  2.]])
    """
    params = params or {}
    if callable(kernel):
        K = kernel(A, B, **params)
    else:
        A, B = A.astype(np.float64, copy=False), B.astype(np.float64, copy=False)
        K = A @ B.T if kernel == "linear" else _rbf(A, B, **params)
    return check_kernel_values(K, (A.shape[0], B.shape[0]), kernel)


def _rbf(A: Matrix, B: Matrix, gamma: float | None = None) -> Floats:
    if not (sparse.issparse(A) or sparse.issparse(B)):
        # A large mean would cost the distances their digits.
        shift = B.mean(axis=0)
        A, B = A - shift, B - shift
    return np.asarray(rbf_kernel(A, B, gamma=gamma))
