"""Curves given by a formula, and where along their length a point of them is."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._typing import Floats

# Panels between two knots, and nodes of the Gauss–Legendre rule on each: the lengths of the
# curves in use are right to about fifteen digits.
N_PANELS = 32
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


class Curve(NamedTuple):
    """A curve t ↦ c(t) from the first of its knots to the last, smooth between them."""

    point: Callable[[Floats], Floats]  # (n,) → (n, n_features)
    speed: Callable[[Floats], Floats]  # ‖c'(t)‖
    knots: Floats


class Ruler(NamedTuple):
    """Lengths of a curve up to the ends of panels."""

    bounds: Floats  # (n_panels + 1,): parameters
    lengths: Floats  # (n_panels + 1,)


def measure(curve: Curve) -> Ruler:
    """Lengths from the beginning of a curve, by Gauss–Legendre quadrature.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.datasets._curves import Curve, measure
    >>> parabola = Curve(lambda t: np.column_stack([t, t**2]), lambda t: np.hypot(1, 2 * t),
    ...                  np.array([0.0, 1.0]))
    >>> bool(np.isclose(measure(parabola).lengths[-1], np.sqrt(5) / 2 + np.arcsinh(2) / 4))
    True
    """
    steps = np.linspace(0, 1, N_PANELS, endpoint=False)
    inner = curve.knots[:-1, None] + np.diff(curve.knots)[:, None] * steps
    bounds = np.append(inner.ravel(), curve.knots[-1])
    parts = _integrate(curve, bounds[:-1], bounds[1:])
    return Ruler(bounds, np.append(0.0, np.cumsum(parts)))


def positions(curve: Curve, ruler: Ruler, t: Floats) -> Floats:
    """The part of the curve's length that is before each parameter t.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.datasets._curves import Curve, measure, positions
    >>> line = Curve(lambda t: t[:, None] ** 2, lambda t: 2 * t, np.array([0.0, 1.0]))
    >>> positions(line, measure(line), np.array([0.5])).round(12)
    array([0.25])
    """
    panel = np.clip(np.searchsorted(ruler.bounds, t, side="right") - 1, 0, len(ruler.bounds) - 2)
    walked = ruler.lengths[panel] + _integrate(curve, ruler.bounds[panel], t)
    return np.clip(walked / ruler.lengths[-1], 0.0, 1.0)


def parameters(ruler: Ruler, position: Floats) -> Floats:
    """Parameters at about some parts of the length: linear within a panel."""
    return np.interp(position * ruler.lengths[-1], ruler.lengths, ruler.bounds)


def _integrate(curve: Curve, low: Floats, high: Floats) -> Floats:
    """Length between two parameters of one panel, pair by pair."""
    half, middle = (high - low) / 2, (high + low) / 2
    total = np.zeros(len(low))
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        total += weight * curve.speed(middle + half * node)
    return half * total
