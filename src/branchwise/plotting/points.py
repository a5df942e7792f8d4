"""Points and lines of any number: shapes while they can be told apart, then pixels."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba

from .._typing import Floats, Ints
from .coloring import MISSING, Coloring
from .style import is_3d

# Beyond this many shapes a vector file would be slow to open: they become pixels of a fixed size.
MOST_VECTOR_SHAPES = 5000
# From this many points on each pixel shows what all the points in it have in common.
LEAST_BINNED_POINTS = 200_000
# In three dimensions no pixel is nearest to the reader for good: so many of the points are drawn.
MOST_3D_POINTS = 50_000
# Pixels to an inch of the Axes: about as large as a small point of a scatter plot.
BINS_PER_INCH = 90
# The least opacity of a pixel with a point in it.
LEAST_ALPHA = 0.25


def draw_points(
    ax: Any,
    points: Floats,
    coloring: Coloring,
    *,
    size: float | None = None,
    alpha: float = 0.85,
    square: bool = True,
    zorder: float = 2,
) -> int:
    """Draw points in their colours, and return how many of them are drawn.

    Up to 5,000 points are shapes, more are rasterised. They are drawn in random order, missing
    values first, so that no category lies over the others because of its name. From 200,000 points
    on, the picture is binned into pixels: of numbers a pixel shows the mean, of categories the most
    frequent, the more opaque the more points there are. In three dimensions at most 50,000 points
    are drawn, chosen at random.

    Parameters
    ----------
    ax : matplotlib Axes
    points : array of shape (n_points, 2 or 3)
    coloring : Coloring
    size : float or None, default=None
        Area of a point, in squared points of typography; None: by the number of points.
    alpha : float, default=0.85
        Opacity of a point that is a shape.
    square : bool, default=True
        Whether one unit is to be as long on one axis as on the other, and so in a pixel.
    zorder : float, default=2

    Returns
    -------
    n_drawn : int

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import numpy as np
    >>> from branchwise.plotting.points import draw_points
    >>> from branchwise.plotting.coloring import resolve_color
    >>> from branchwise.plotting.style import new_axes
    >>> ax = new_axes()
    >>> draw_points(ax, np.zeros((3, 2)), resolve_color(["a", "b", "a"], 3))
    3
    >>> matplotlib.pyplot.close(ax.figure)
    """
    n_points = len(points)
    if n_points >= LEAST_BINNED_POINTS and not is_3d(ax):
        draw_binned(ax, points, coloring, square, zorder)
        return n_points
    order = np.random.default_rng(0).permutation(n_points)
    if is_3d(ax):
        order = order[:MOST_3D_POINTS]
    order = order[np.argsort(~coloring.is_missing[order], kind="stable")]
    rgba = coloring.rgba()
    markers = np.array([*coloring.markers, "o"])  # the last for missing values
    shape = markers[coloring.values] if coloring.kind == "category" else np.full(n_points, "o")
    for marker in np.unique(shape):
        rows = order[shape[order] == marker]
        options = {"depthshade": False} if is_3d(ax) else {}
        ax.scatter(
            *points[rows].T,
            s=point_size(ax, n_points) if size is None else size,
            c=rgba[rows],
            marker=str(marker),
            alpha=alpha,
            linewidths=0,
            rasterized=n_points > MOST_VECTOR_SHAPES,
            zorder=zorder,
            **options,
        )
    return len(order)


def inches(ax: Axes) -> Floats:
    """Width and height of the Axes."""
    box = ax.get_position()
    return np.array([box.width, box.height]) * ax.figure.bbox.size / ax.figure.dpi


def point_size(ax: Axes, n_points: int) -> float:
    """The area of a point: smaller the more there are, and the smaller the Axes."""
    return float(np.clip(70 * np.sqrt(np.prod(inches(ax)) / max(n_points, 1)), 0.8, 24))


def draw_binned(ax: Axes, points: Floats, coloring: Coloring, square: bool, zorder: float) -> Any:
    """An image whose pixels are squares, of the data or of the Axes."""
    low, high = points.min(axis=0), points.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    pixel = span / (inches(ax) * BINS_PER_INCH)
    if square:
        pixel[:] = pixel.max()
    shape = np.ceil(span / pixel).astype(int) + 1
    corner = (low + high - shape * pixel) / 2
    column, row = np.clip(((points - corner) / pixel).astype(int), 0, shape - 1).T
    image = binned_image(row * shape[0] + column, int(np.prod(shape)), coloring)
    end = corner + shape * pixel
    drawn = ax.imshow(
        image.reshape(shape[1], shape[0], 4),
        extent=(corner[0], end[0], corner[1], end[1]),
        origin="lower",
        interpolation="antialiased",  # else a coarser print would lose single pixels
        aspect="auto",
        zorder=zorder,
    )
    ax.update_datalim(np.array([corner, end]))
    ax.autoscale_view()
    return drawn


def binned_image(pixel: Ints, n_pixels: int, coloring: Coloring) -> Floats:
    """A colour for each pixel from the points in it; missing values show where nothing else is.

    Parameters
    ----------
    pixel : array of shape (n_points,)
    n_pixels : int
    coloring : Coloring

    Returns
    -------
    rgba : array of shape (n_pixels, 4)

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.plotting.points import binned_image
    >>> from branchwise.plotting.coloring import resolve_color
    >>> numbers = resolve_color([0.0, 1.0, 0.5, np.nan], 4)
    >>> image = binned_image(np.array([0, 0, 1, 1]), 3, numbers)
    >>> bool((image[0] == image[1]).all()), float(image[2, 3])  # equal means; nothing
    (True, 0.0)
    """
    known = ~coloring.is_missing
    count = np.bincount(pixel, minlength=n_pixels)
    n_known = np.bincount(pixel[known], minlength=n_pixels)
    seen = n_known > 0
    # Nothing is white and transparent: where pixels are blended, black would darken the rims.
    image = np.tile([1.0, 1.0, 1.0, 0.0], (n_pixels, 1))
    image[count > 0] = to_rgba(MISSING)
    if coloring.kind == "number":
        # Infinite values are as the ends of the scale, as they are for single points.
        values = np.clip(coloring.values[known], coloring.norm.vmin, coloring.norm.vmax)
        total = np.bincount(pixel[known], weights=values, minlength=n_pixels)
        image[seen] = coloring.cmap(coloring.norm(total[seen] / n_known[seen]))
        # Paler colours would not be those of the colour bar.
        return image
    best, most = np.zeros(n_pixels, dtype=np.intp), np.zeros(n_pixels, dtype=np.intp)
    for k in range(len(coloring.colors)):
        votes = np.bincount(pixel[coloring.values == k], minlength=n_pixels)
        ahead = votes > most
        best[ahead], most[ahead] = k, votes[ahead]
    image[seen] = coloring.colors[best[seen]]
    image[:, 3] *= opacity(count)
    return image


def opacity(count: Ints) -> Floats:
    """From a quarter for one point to one for as many as are in the fullest pixels."""
    occupied = count[count > 0]
    full = max(float(np.quantile(occupied, 0.98)), 2.0) if len(occupied) else 2.0
    part = np.log(np.maximum(count, 1)) / np.log(full)
    return np.where(count > 0, LEAST_ALPHA + (1 - LEAST_ALPHA) * np.minimum(part, 1.0), 0.0)


def draw_lines(
    ax: Any,
    starts: Floats,
    ends: Floats,
    *,
    color: Any = "black",
    linewidths: Any = 1.4,
    alpha: Any = None,
    zorder: float = 3,
) -> Any:
    """Straight lines between pairs of points; many become pixels.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import numpy as np
    >>> from branchwise.plotting.points import draw_lines
    >>> from branchwise.plotting.style import new_axes
    >>> ax = new_axes()
    >>> len(draw_lines(ax, np.zeros((2, 2)), np.ones((2, 2))).get_segments())
    2
    >>> matplotlib.pyplot.close(ax.figure)
    """
    options = {
        "colors": color,
        "linewidths": linewidths,
        "alpha": alpha,
        "zorder": zorder,
        "capstyle": "round",
        "rasterized": len(starts) > MOST_VECTOR_SHAPES,
    }
    segments: Any = np.stack([starts, ends], axis=1)
    if is_3d(ax):
        from mpl_toolkits.mplot3d.art3d import Line3DCollection  # type: ignore[import-untyped]

        lines = ax.add_collection3d(Line3DCollection(segments, **options))
        ax.auto_scale_xyz(*segments.reshape(-1, 3).T, had_data=True)
        return lines
    return ax.add_collection(LineCollection(segments, **options))
