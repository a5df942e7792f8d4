"""What the methods share that model each feature as a Gaussian vector with one entry per sample."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from branchwise._typing import Floats


def centred(X: Floats) -> Floats:
    """Samples minus their mean: zeros if all are equal, and not what rounding leaves of the mean.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines._gaussian import centred
    >>> X = np.full((3, 1), 0.1)
    >>> bool((X - X.mean(axis=0)).any()), bool(centred(X).any())
    (True, False)
    """
    Y = X - X.mean(axis=0)
    is_rounding = np.mean(np.square(Y)) <= (8 * np.finfo(float).eps * np.abs(X).max()) ** 2
    return np.zeros_like(Y) if is_rounding else Y


def centred_with_variance(X: Floats) -> tuple[Floats, float]:
    """Centred samples and the mean variance of their features, the unit of what is unit-free.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines._gaussian import centred_with_variance
    >>> Y, variance = centred_with_variance(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> Y.tolist(), variance
    ([[-1.0, 0.0], [1.0, 0.0]], 0.5)
    """
    Y = centred(X)
    variance = float(np.mean(np.square(Y)))
    if variance == 0:
        raise ValueError(
            f"X has {len(X)} samples that are all equal, so that there are no distances to keep; "
            "pass samples that differ."
        )
    return Y, variance


def warn_unconverged(name: str, n_iter: int, max_iter: int, gap: float, tol: float) -> None:
    """Say how far from its optimum a fit stopped, and what to change."""
    remedy = "raise max_iter or tol" if n_iter >= max_iter else "raise tol"
    how_far = (
        f"of at most {gap:.1e}, above" if np.isfinite(gap) else "that is not known to be within"
    )
    warnings.warn(
        f"{name} stopped after {n_iter} of max_iter={max_iter} iterations at a relative distance "
        f"to the optimum {how_far} tol={tol:.1e}; {remedy}.",
        ConvergenceWarning,
        stacklevel=4,
    )
