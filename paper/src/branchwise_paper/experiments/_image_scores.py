"""Numbers for pictures of images: slants, orders, places along curves. They know nothing of SPL."""

import numpy as np

from branchwise._typing import Floats, Ints
from branchwise.estimators import DDRTree
from branchwise.trajectory import Trajectory

# Most nodes of a curve through points.
N_CENTERS = 20


def slant(images: Floats) -> Floats:
    """How far a stroke leans to the right, in degrees: −arctan(μ₁₁/μ₂₀) of the ink's moments.

    μ₁₁/μ₂₀ is the slope of the line that predicts the column of the ink from its row, by least
    squares; rows are counted downwards.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.experiments._image_scores import slant
    >>> slant(np.stack([np.eye(5), np.eye(5)[::-1], np.eye(5)[[2] * 5]])).round(1) + 0.0
    array([-45.,  45.,   0.])
    """
    ink = images / np.maximum(images.sum(axis=(1, 2), keepdims=True), 1e-12)
    row, column = np.mgrid[: images.shape[1], : images.shape[2]]
    down = row - (ink * row).sum(axis=(1, 2))[:, None, None]
    right = column - (ink * column).sum(axis=(1, 2))[:, None, None]
    both, rows = (ink * down * right).sum(axis=(1, 2)), (ink * down**2).sum(axis=(1, 2))
    return -np.degrees(np.arctan2(both, np.maximum(rows, 1e-12)))


def consecutive(edges: Ints, n_frames: int) -> int:
    """How many edges join frames that follow one another, the last and the first among them.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.experiments._image_scores import consecutive
    >>> consecutive(np.array([[0, 1], [1, 3], [4, 0]]), 5)
    2
    """
    step = np.abs(edges[:, 0] - edges[:, 1])
    return int(np.count_nonzero(np.minimum(step, n_frames - step) == 1))


def roundness(points: Floats) -> float:
    """Agreement of the angle in the first two columns with the rotation: 1 for an even circle.

    The angle is that around the mean; see `turn_agreement`.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.experiments._image_scores import roundness
    >>> turn = np.linspace(0, 2 * np.pi, 20, endpoint=False)
    >>> round(roundness(np.column_stack([np.sin(turn), np.cos(turn)])), 6)
    1.0
    """
    x, y = (points[:, :2] - points[:, :2].mean(axis=0)).T
    return turn_agreement(np.arctan2(y, x))


def turn_agreement(angle: Floats) -> float:
    """Agreement of angles with the rotation: 1 if they go round once, evenly.

    The length of the mean of exp(i(a − θ)) over the samples, with θ running evenly once around in
    their order, in the better of the two directions.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.experiments._image_scores import turn_agreement
    >>> round(turn_agreement(np.linspace(7, 7 - 2 * np.pi, 20, endpoint=False)), 6)
    1.0
    """
    turn = 2 * np.pi * np.arange(len(angle)) / len(angle)
    return float(max(abs(np.exp(1j * (angle - way * turn)).mean()) for way in (1, -1)))


def places_along(points: Floats, lam: float) -> Floats:
    """The place of each point of the plane on a curve through all: from 0 at one end to 1.

    The curve is a principal one (`DDRTree` with ``structure="curve"``) of weight ``lam`` for each
    point.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.experiments._image_scores import places_along
    >>> t = np.linspace(0, 3, 60)
    >>> places = places_along(np.column_stack([np.cos(t), np.sin(t)]), 0.01)
    >>> bool(abs(np.corrcoef(places, t)[0, 1]) > 0.99)
    True
    """
    n_centers = min(N_CENTERS, len(points))
    model = DDRTree(
        2, n_centers=n_centers, lam=lam * len(points), structure="curve", random_state=0
    )
    return Trajectory.from_estimator(model.fit(points / points.std())).pseudotime_scaled_


def curve_by(values: Floats, points: Floats, width: float) -> Floats:
    """The mean point as a smooth function of a value: local lines with Gaussian weights.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.experiments._image_scores import curve_by
    >>> t = np.linspace(0, 9, 50)
    >>> curve = curve_by(t, np.column_stack([t, 2 * t]), 1.0)
    >>> bool(np.allclose(curve[:, 1], 2 * curve[:, 0]))
    True
    """
    low, high = np.percentile(values, [1, 99])
    at = np.linspace(low, high, 200)
    curve = np.empty((len(at), points.shape[1]))
    for k, value in enumerate(at):
        root = np.exp(-(((values - value) / width) ** 2) / 4)[:, None]
        line = np.column_stack([np.ones(len(values)), values - value])
        curve[k] = np.linalg.lstsq(root * line, root * points, rcond=None)[0][0]
    return curve


def sharpest_turn(corners: Floats, part: float = 0.1) -> float:
    """The largest change of a curve's direction within a part of its length, in degrees.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.experiments._image_scores import sharpest_turn
    >>> right_angle = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    >>> round(sharpest_turn(right_angle))
    90
    """
    n = 201
    length = np.r_[0, np.cumsum(np.linalg.norm(np.diff(corners, axis=0), axis=1))]
    at = np.linspace(0, length[-1], n)
    curve = np.column_stack([np.interp(at, length, column) for column in corners.T])
    step = np.diff(curve, axis=0)
    direction = np.unwrap(np.arctan2(step[:, 1], step[:, 0]))
    window = max(1, round(part * n))
    return float(np.degrees(np.abs(direction[window:] - direction[:-window]).max()))
