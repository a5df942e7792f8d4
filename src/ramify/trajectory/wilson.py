"""Intervals for rates."""

from typing import Any

import numpy as np
from scipy.special import ndtri

from .._typing import Floats


def wilson_interval(count: Any, n: Any, level: float) -> tuple[Floats, Floats]:
    """The rates p that a score test does not reject: |count − n·p| ≤ z·√(n·p·(1 − p)).

    From 0 to 1 where n is 0. Wilson (*JASA* 22, 1927).

    Examples
    --------
    >>> from ramify.trajectory.wilson import wilson_interval
    >>> lower, upper = wilson_interval([0, 9, 0], [2, 10, 0], 0.95)
    >>> lower.round(3), upper.round(3)
    (array([0.   , 0.596, 0.   ]), array([0.658, 0.982, 1.   ]))
    """
    count, n = np.asarray(count, dtype=np.float64), np.asarray(n, dtype=np.float64)
    z = ndtri((1 + level) / 2)
    centre = (count + z**2 / 2) / (n + z**2)
    half = z * np.sqrt(count * (n - count) / np.maximum(n, 1) + z**2 / 4) / (n + z**2)
    # Exact at the ends, but for rounding.
    lower = np.where(count > 0, np.maximum(centre - half, 0.0), 0.0)
    upper = np.where(count < n, np.minimum(centre + half, 1.0), 1.0)
    return lower, upper
