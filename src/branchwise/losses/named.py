"""The losses, and the names by which SPL takes them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._typing import Floats
from .base import Loss


@dataclass(frozen=True)
class Squared(Loss):
    """U(ξ) = 2Cξ² for both orders of a pair, so that cost(s) = s²/(2C) and ξ = s/(2C).

    C is finite; at an infinite price this is `Hard`.
    """

    C: float

    @property
    def slack(self) -> float:
        """C, the inverse of the cost's curvature."""
        return self.C

    def cost(self, s: Floats) -> float:
        """Σ s²/(2C)."""
        return float(s @ s) / (2 * self.C)

    def slope(self, s: Floats) -> Floats:
        """s/C."""
        return s / self.C

    def conjugate(self, slope: Floats) -> float:
        """C/2·Σ slope²."""
        return self.C / 2 * float(slope @ slope)

    def possible_gain(self, gradient: Floats, s: Floats) -> float:
        """The maximum of the quadratic model with curvature −1/C, which lies above.

        It is a step of C·g away from s, or at zero if that comes first.
        """
        reaches_zero = gradient <= -s / self.C
        free, bounded = gradient[~reaches_zero], s[reaches_zero]
        gain = free * self.C * free / 2
        loss = -gradient[reaches_zero] * bounded - bounded / self.C * bounded / 2
        return float(gain.sum() + loss.sum())

    def _weights_without_kappa(self, a: Floats, phi: Floats) -> Floats:
        return a / (phi + np.hypot(phi, np.sqrt(a / self.C)))

    def violation(self, excess: Floats, s: Floats) -> Floats:
        """The slack s/(2C) is allowed."""
        return excess - s / (2 * self.C)


@dataclass(frozen=True)
class Absolute(Loss):
    """U(ξ) = 2C|ξ| for both orders of a pair, so that cost(s) is zero for s ≤ C, infinite beyond.

    C is finite; at an infinite price this is `Hard`.
    """

    C: float

    @property
    def upper(self) -> float:
        """C: no weight is larger."""
        return self.C

    def violation(self, excess: Floats, s: Floats) -> Floats:
        """No slack but for weights at the bound: there it is whatever the constraint needs."""
        return np.where(s < self.upper, excess, 0.0)


@dataclass(frozen=True)
class Hard(Loss):
    """No slack: cost(s) = 0 for every s ≥ 0."""


@dataclass(frozen=True)
class Equality(Loss):
    """E‖x_i − x_j‖² = φ_e, from both sides: s may have either sign and costs nothing."""

    signed: ClassVar[bool] = True

    def violation(self, excess: Floats, s: Floats) -> Floats:
        """An equality is broken from either side."""
        return np.abs(excess)


# From a name and the price C to the loss.
NAMES: dict[str, Callable[[float], Loss]] = {
    "squared": lambda C: Squared(C) if np.isfinite(C) else Hard(),
    "absolute": lambda C: Absolute(C) if np.isfinite(C) else Hard(),
    "hard": lambda C: Hard(),
    "equality": lambda C: Equality(),
}


def as_loss(name: str, C: float) -> Loss:
    """The loss of that name, at the price C of a slack.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.losses import as_loss
    >>> as_loss("absolute", 10.0), as_loss("absolute", np.inf)
    (Absolute(C=10.0), Hard())
    """
    return NAMES[name](C)
