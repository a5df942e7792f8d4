"""What a loss is, and what the solvers of SPL ask of it."""

from typing import ClassVar

import numpy as np

from .._typing import Floats

# Steps from within twice the root of a cubic to the last digit.
N_NEWTON = 8


class Loss:
    """The price U(ξ) of the slack ξ of an edge, as the dual sees it.

    The multiplier of E‖x_i − x_j‖² ≤ φ_e + ξ_e is 2s_e. Hence a loss takes from the dual, for the
    weight s of each edge,

        cost(s) = −min over ξ of U(ξ) − 2sξ,

    which is convex: s²/(2·slack) for 0 ≤ s ≤ upper, and infinite elsewhere. This class is the
    loss of a slack that costs nothing in the dual, whatever `upper` is; a loss with another cost
    writes the methods that depend on it again, as `Squared` does.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.losses import Absolute
    >>> Absolute(10.0).weights(np.array([1.0, 1.0]), np.array([1.0, 0.01]))
    array([ 0.5, 10. ])
    """

    # Whether weights may be negative, as long as Q is positive definite.
    signed: ClassVar[bool] = False

    @property
    def slack(self) -> float:
        """The inverse of the cost's second derivative."""
        return np.inf

    @property
    def upper(self) -> float:
        """The bound of every weight."""
        return np.inf

    @property
    def forbids_slack(self) -> bool:
        """Whether an edge cannot give way at any price."""
        return bool(np.isinf(self.slack) and np.isinf(self.upper))

    @property
    def bears_zero_distances(self) -> bool:
        """Whether an edge of length zero has a best weight."""
        return bool(np.isfinite(self.slack))

    def cost(self, s: Floats) -> float:
        """Σ cost(s_e)."""
        return 0.0

    def slope(self, s: Floats) -> Floats:
        """Derivatives of the cost by each weight: twice the slack, 2ξ_e."""
        return np.zeros_like(s)

    def conjugate(self, slope: Floats) -> float:
        """The largest Σ slope_e·s_e − cost(s), over all s ≥ 0 within the bound; slopes ≥ 0."""
        if self.forbids_slack:
            return np.inf if (slope > 0).any() else 0.0
        return self.upper * float(slope.sum())

    def possible_gain(self, gradient: Floats, s: Floats) -> float:
        """How much a concave function minus the cost can rise from s, given its gradient there.

        Without curvature the tangent plane is highest at a corner of the box.
        """
        return float(gradient @ np.where(gradient > 0, self.upper - s, -s))

    def weights(self, a: Floats, phi: Floats, kappa: Floats | None = None) -> Floats:
        """Maximiser over 0 < s ≤ upper of a·log s − κ/s − 2φs − cost(s); κ = 0 if not given."""
        s = self._weights_without_kappa(a, phi)
        if kappa is None:
            return np.minimum(s, self.upper)
        # The root of s³/slack + 2φs² − as − κ, which is convex. It lies between the larger of the
        # roots without κ and without a, and their sum: from there Newton's steps lead down to it.
        with np.errstate(divide="ignore", invalid="ignore"):
            s = s + np.fmin(np.sqrt(kappa / (2 * phi)), np.cbrt(kappa * self.slack))
        for _ in range(N_NEWTON):
            value = ((s / self.slack + 2 * phi) * s - a) * s - kappa
            slope = (3 * s / self.slack + 4 * phi) * s - a
            s = s - np.divide(value, slope, out=np.zeros_like(s), where=slope > 0)
        return np.minimum(s, self.upper)  # the function is concave

    def _weights_without_kappa(self, a: Floats, phi: Floats) -> Floats:
        return a / (2 * phi)

    def violation(self, excess: Floats, s: Floats) -> Floats:
        """By how much the constraint of each edge is broken, from E‖x_i − x_j‖² − φ_e."""
        return excess
