"""Images: drawn at their places in an embedding, their kernel, and how well turns are kept."""

from typing import Any

import numpy as np
from matplotlib.offsetbox import AnnotationBbox, OffsetImage

from branchwise._typing import Floats, Ints
from branchwise.estimators import DDRTree
from branchwise.trajectory import Trajectory

from ..datasets import Dataset
from .settings import DDRTREE_GAMMA

TEAPOT = (76, 101)  # height and width of a frame
TEAPOT_PIXELS = 3 * 76 * 101  # of three colours


def of_size(data: Dataset, n_pixels: int) -> Floats:
    """The images of a set, once they are known to have the size in which they are drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.datasets import Dataset
    >>> from branchwise_paper.experiments._images import of_size
    >>> ones = Dataset("ones", "Ones", np.zeros((2, 9)), None, 2, "real", "", {})
    >>> of_size(ones, 9).shape
    (2, 9)
    """
    if data.X.shape[1] != n_pixels:
        raise ValueError(
            f"{data.title} has images of {data.X.shape[1]} values, but they must have {n_pixels}; "
            "store them in the size of the originals."
        )
    return data.X


def spaced(places: Floats, width: float, height: float) -> Ints:
    """Places, in their order, that keep a box of that size free of the ones taken before.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.experiments._images import spaced
    >>> spaced(np.array([[0.0, 0.0], [0.4, 0.0], [1.0, 0.0], [0.4, 2.0]]), 0.5, 1.0)
    array([0, 2, 3])
    """
    taken: list[int] = []
    for i, (x, y) in enumerate(places):
        away = np.abs(places[taken] - (x, y)) >= (width, height)
        if away.any(axis=1).all():
            taken.append(i)
    return np.array(taken, dtype=np.intp)


def in_view(ax: Any, points: Floats) -> Floats:
    """Points of two or three dimensions as they are seen: in the plane of the picture."""
    if points.shape[1] == 2:
        return points
    seen = np.column_stack([points, np.ones(len(points))]) @ np.asarray(ax.get_proj()).T
    return seen[:, :2] / seen[:, 3:]


def draw_images(
    ax: Any,
    points: Floats,
    images: Any,
    *,
    zoom: float,
    away_from: Floats | None = None,
    colors: Any = None,
) -> None:
    """Draw images at points, or beside them and tied to them by a line.

    Parameters
    ----------
    ax : Axes, of two or three dimensions
        Their limits and their view have to be final.
    points : array of shape (n_images, 2) or (n_images, 3)
    images : sequence of arrays of shape (height, width, 3) or (height, width, 4)
        All of the same size.
    zoom : float
        Points of typography per pixel.
    away_from : array of shape (n_points, n_components) or None, default=None
        Points that no image should cover, if possible; None: every image is at its point.
    colors : sequence of n_images colours or None, default=None
        Of the frames; None: no frames.
    """
    seen = in_view(ax, points)
    push = np.zeros_like(seen)
    if away_from is not None:
        ax.figure.canvas.draw()  # a layout engine decides only now where the Axes are
        seen = in_view(ax, points)
        unit = 72 / ax.figure.dpi
        here = unit * ax.transData.transform(seen)
        others = unit * ax.transData.transform(in_view(ax, away_from))
        height, width = images[0].shape[:2]
        size = zoom * width + 6, zoom * height + 6
        frame = None  # of three dimensions: there is room outside the box, too
        if points.shape[1] == 2:
            frame = unit * np.asarray(ax.bbox.extents).reshape(2, 2)
        push = beside(here, others, *size, within=frame) - here
    for k, (place, offset, image) in enumerate(zip(seen, push, images, strict=True)):
        box = AnnotationBbox(
            OffsetImage(image, zoom=zoom),
            tuple(place),
            xybox=tuple(offset),
            boxcoords="offset points",
            frameon=colors is not None,
            pad=0.12,
            bboxprops=None if colors is None else {"edgecolor": colors[k], "linewidth": 1.4},
            arrowprops={"arrowstyle": "-", "color": "0.4", "linewidth": 0.6}
            if offset.any()
            else None,
        )
        box.set_in_layout(False)
        ax.add_artist(box)


def beside(
    places: Floats, others: Floats, width: float, height: float, *, within: Floats | None = None
) -> Floats:
    """Middles of boxes near places, such that none covers another or one of some points.

    Boxes start outwards of their places and move, a little at a time, away from what they cover;
    after 400 rounds they stay where they are. ``within`` are two opposite corners of a frame that
    they do not leave.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.experiments._images import beside
    >>> places = np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> moved = beside(places, places, 4.0, 4.0)
    >>> bool(np.abs(moved[0] - moved[1]).max() >= 3.99)
    True
    """
    size = np.array([width, height])
    middle = (others.min(axis=0) + others.max(axis=0)) / 2
    outwards = places - middle
    outwards /= np.maximum(np.linalg.norm(outwards, axis=1, keepdims=True), 1e-9)
    low, high = (-np.inf, np.inf) if within is None else within + [[0.5], [-0.5]] * size
    boxes = np.clip(places + outwards * size, low, high)
    for _ in range(400):
        moved = np.zeros_like(boxes)
        for k, box in enumerate(boxes):
            gap = box - np.delete(boxes, k, axis=0)
            deep = (size - np.abs(gap)).min(axis=1)
            for i in np.flatnonzero(deep > 1e-3):
                axis = int(np.argmin(size - np.abs(gap[i])))
                moved[k, axis] += 0.5 * deep[i] * (1 if gap[i, axis] >= 0 else -1)
            covered = (np.abs(others - box) < size / 2).all(axis=1)
            if covered.any():
                away = box - others[covered].mean(axis=0) + 0.5 * outwards[k]
                moved[k] += 2 * away / max(float(np.linalg.norm(away)), 1e-9)
        if not moved.any():
            break
        boxes = np.clip(boxes + moved, low, high)
    return boxes


def rgb(rows: Floats, height: int, width: int) -> Floats:
    """Images of three colours from rows in the order of columns, rows, colours (as Matlab's).

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.experiments._images import rgb
    >>> rgb(np.arange(12.0)[None] / 12, 1, 4).shape
    (1, 1, 4, 3)
    """
    return np.clip(rows.reshape(len(rows), 3, width, height).transpose(0, 3, 2, 1), 0.0, 1.0)


def pixels(X: Floats) -> Floats:
    """Pixels from 0 to 1, whatever unit they came in.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.experiments._images import pixels
    >>> pixels(np.array([[0.0, 51.0, 255.0]]))
    array([[0. , 0.2, 1. ]])
    """
    low, high = float(X.min()), float(X.max())
    return (X - low) / ((high - low) or 1.0)


def standardised(X: Floats) -> Floats:
    """Features of mean zero and standard deviation one; constant ones are zero.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.experiments._images import standardised
    >>> standardised(np.array([[1.0, 5.0], [3.0, 5.0]]))
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)


def image_kernel(X: Floats) -> Floats:
    """The paper's kernel of images, exp(−‖y_i − y_j‖²/D), of standardised features.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.experiments._images import image_kernel
    >>> image_kernel(np.array([[1.0, 5.0], [3.0, 5.0]])).round(3)
    array([[1.   , 0.135],
           [0.135, 1.   ]])
    """
    Y = standardised(X)
    size = np.einsum("ij,ij->i", Y, Y)
    squared = np.maximum(size[:, None] + size - 2 * Y @ Y.T, 0.0)
    squared = (squared + squared.T) / 2
    np.fill_diagonal(squared, 0.0)
    kernel: Floats = np.exp(-squared / X.shape[1])
    return kernel


def rotation(data: Dataset) -> Floats:
    """The order of the frames, as the file has it or says it."""
    for name in ("order", "angle", "t"):
        if name in data.extras:
            return np.asarray(data.extras[name], dtype=np.float64)
    return np.arange(len(data.X), dtype=np.float64)


# Most nodes of a curve through points.
N_CENTERS = 20


def slant(images: Floats) -> Floats:
    """How far a stroke leans to the right, in degrees: −arctan(μ₁₁/μ₂₀) of the ink's moments.

    μ₁₁/μ₂₀ is the slope of the line that predicts the column of the ink from its row, by least
    squares; rows are counted downwards.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.experiments._images import slant
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
    >>> from branchwise_paper.experiments._images import consecutive
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
    >>> from branchwise_paper.experiments._images import roundness
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
    >>> from branchwise_paper.experiments._images import turn_agreement
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
    >>> from branchwise_paper.experiments._images import places_along
    >>> t = np.linspace(0, 3, 60)
    >>> places = places_along(np.column_stack([np.cos(t), np.sin(t)]), 0.01)
    >>> bool(abs(np.corrcoef(places, t)[0, 1]) > 0.99)
    True
    """
    n_centers = min(N_CENTERS, len(points))
    model = DDRTree(
        2,
        n_centers=n_centers,
        lam=lam * len(points),
        gamma=DDRTREE_GAMMA,
        structure="curve",
        random_state=0,
    )
    return Trajectory.from_estimator(model.fit(points / points.std())).pseudotime_scaled_


def curve_by(values: Floats, points: Floats, width: float) -> Floats:
    """The mean point as a smooth function of a value: local lines with Gaussian weights.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.experiments._images import curve_by
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
    >>> from branchwise_paper.experiments._images import sharpest_turn
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
