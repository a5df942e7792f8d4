"""Principal components: the common start, and the model with λ = 0."""

import numpy as np
from scipy import linalg

from .._typing import Floats
from ..data.centering import MAX_GRAM, CentredRows
from ..linalg import complete_basis, largest_eigenpairs, top_eigenvectors

# A singular value below 1e-7 of the largest cannot be told from rounding in YᵀY.
RANK_RTOL = 1e-14


def principal_axes(Y: CentredRows, n_components: int) -> tuple[Floats, int]:
    """Orthonormal axes W (D×d) of largest variance, and how many of them carry any.

    Columns beyond the rank of the data complete an orthonormal set; the data are zero
    along them.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.centering import CentredRows
    >>> from branchwise.solvers.pca import principal_axes
    >>> Y = CentredRows(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]))
    >>> W, rank = principal_axes(Y, 2)
    >>> rank, np.abs(W[:, 0]).round(6)
    (1, array([0.707107, 0.707107]))
    """
    n_kept = min(n_components, Y.n_dims)
    if Y.n_dims <= MAX_GRAM:
        values, W = largest_eigenpairs(Y.gram(), n_kept)
        values, W = values[::-1], W[:, ::-1]
    else:
        start = complete_basis(np.empty((Y.n_dims, 0)), n_kept)
        values, W, _ = top_eigenvectors(lambda V, _: Y.apply_gram(V), start, n_kept)
        W = W[:, :n_kept]
    rank = int((values > RANK_RTOL * max(values[0], 0.0)).sum())
    return np.ascontiguousarray(W), rank


def n_components_for(Y: CentredRows, fraction: float) -> int:
    """Smallest number of principal components that keep more than `fraction` of ‖Y‖².

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.centering import CentredRows
    >>> from branchwise.solvers.pca import n_components_for
    >>> X = np.random.default_rng(0).normal(size=(500, 3)) * [10.0, 1.0, 0.1]
    >>> n_components_for(CentredRows(X), 0.95), n_components_for(CentredRows(X), 0.999)
    (1, 2)
    """
    if Y.n_dims <= MAX_GRAM:
        values = linalg.eigvalsh(Y.gram())[::-1]
        kept = np.cumsum(np.maximum(values, 0.0)) / max(Y.energy, np.finfo(float).tiny)
        return int(min(np.searchsorted(kept, fraction, side="right") + 1, Y.n_dims))
    limit = min(Y.n_rows, Y.n_dims)
    size = 32
    start: Floats = np.empty((Y.n_dims, 0))
    while True:
        size = min(size, limit)
        start = complete_basis(start, size)
        values, start, _ = top_eigenvectors(lambda V, _: Y.apply_gram(V), start, size)
        kept = np.cumsum(np.maximum(values, 0.0)) / max(Y.energy, np.finfo(float).tiny)
        if kept[-1] > fraction or size == limit:
            return int(min(np.searchsorted(kept, fraction, side="right") + 1, size))
        size *= 2
