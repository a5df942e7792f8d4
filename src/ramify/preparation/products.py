"""Products of rows with a matrix that are the same, to the last bit, in any company.

Estimators know the samples that they were fitted to by the bits of their rows. A product of
matrices rounds a row as its place in the batch suggests; here every row goes the same way.
"""

import numpy as np

from .._compat import kernel
from .._typing import Floats


def centred_product(X: Floats, center: Floats, W: Floats) -> Floats:
    """(X − 1·centerᵀ) @ W, row by row.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.preparation.products import centred_product
    >>> centred_product(np.array([[2.0, 3.0]]), np.array([1.0, 1.0]), np.eye(2))
    array([[1., 2.]])
    """
    out = np.zeros((len(X), W.shape[1]))
    add_products(np.ascontiguousarray(X), center, np.ascontiguousarray(W), out)
    return out


@kernel
def add_products(X: Floats, center: Floats, W: Floats, out: Floats) -> None:
    """Add (X − center) @ W to out, feature after feature."""
    for i in range(len(X)):
        for j in range(len(center)):
            x = X[i, j] - center[j]
            for k in range(W.shape[1]):
                out[i, k] += x * W[j, k]
