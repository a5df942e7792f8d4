"""What the methods share that model each feature as a Gaussian vector with one entry per sample."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._typing import Floats


def centred_with_variance(X: Floats) -> tuple[Floats, float]:
    """Centred samples and the mean variance of their features, the unit of what is unit-free.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.baselines._gaussian import centred_with_variance
    >>> Y, variance = centred_with_variance(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> Y.tolist(), variance
    ([[-1.0, 0.0], [1.0, 0.0]], 0.5)
    """
    Y = X - X.mean(axis=0)
    variance = float(np.mean(np.square(Y)))
    # What rounding leaves of a large mean is no variance.
    if variance <= (8 * np.finfo(float).eps * np.abs(X).max()) ** 2:
        raise ValueError(
            f"X has {len(X)} samples that are all equal, so that there are no distances to keep; "
            "pass samples that differ."
        )
    return Y, variance


def warn_unconverged(name: str, n_iter: int, max_iter: int, gap: float, tol: float) -> None:
    """Say how far from its optimum a fit stopped, and what to change."""
    remedy = "raise max_iter or tol" if n_iter >= max_iter else "raise tol"
    warnings.warn(
        f"{name} stopped after {n_iter} of max_iter={max_iter} iterations at a relative distance "
        f"to the optimum of at most {gap:.1e}, above tol={tol:.1e}; {remedy}.",
        ConvergenceWarning,
        stacklevel=4,
    )
