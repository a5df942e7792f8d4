"""Names beside what they name: none over another, nor over samples while there is room."""

from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.text import Annotation

from .._typing import Bools, Floats
from ..trajectory.branches import importance
from .style import halo, ink, note

# Places that are tried around an anchor: distances in points of typography, then directions.
NEAREST = 6.0
DISTANCES = NEAREST * 1.25 ** np.arange(13)
N_DIRECTIONS = 24
# Beyond this many times the nearest distance a thin line joins a name with what it names.
JOINED = 2.0
# Sides of the cells in which it is counted what a name would cover, in pixels.
CELL = 2.0
# Free room around a name, in pixels.
ROOM = 2.0


def add_label(ax: Axes, text: str, anchor: Any, **style: Any) -> Annotation:
    """Text that `place_labels` moves, with a thin line to its anchor that is seen if it is far."""
    dark, _ = ink(ax)
    line = {"arrowstyle": "-", "color": dark, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 1.5}
    given: dict[str, Any] = {
        "fontsize": "small",
        "linespacing": 1.0,
        "color": dark,
        "path_effects": halo(ax),
        "zorder": 6,
    }
    label: Any = ax.annotate(
        text,
        anchor,
        xytext=(0.0, NEAREST),
        textcoords="offset points",
        ha="center",
        va="center",
        arrowprops=line,
        **(given | style),
    )
    label.arrow_patch.set_visible(False)
    return label


def milestone_labels(
    ax: Axes, names: list[str], places: Floats, roots: Any, most: int
) -> list[Annotation]:
    """The names of milestones, for `place_labels`; of too many, the most important.

    Parameters
    ----------
    ax : matplotlib Axes
    names : list of str
    places : array of shape (n_milestones, 2)
    roots : collection of str
    most : int
        Names that there is room for.
    """
    order = sorted(range(len(names)), key=lambda k: (names[k] not in roots, importance(names[k])))
    if most < len(names):
        note(ax, f"{most:,} of {len(names):,} milestones are named")
    return [
        add_label(
            ax, f"{names[k]}\nroot" if names[k] in roots else names[k], places[k], weight="bold"
        )
        for k in order[:most]
    ]


def place_labels(ax: Axes, labels: list[Annotation], covered: Any, lines: Any = None) -> None:
    """Move labels to free places around their anchors, each time that the picture is drawn.

    The first labels choose first. A label takes the nearest of its places at which it covers
    neither another label, nor the legend, a sample or a line; if there is none, the one that covers
    least.

    Parameters
    ----------
    ax : matplotlib Axes of two dimensions
    labels : list of Annotation
        From `add_label`.
    covered : array of shape (n_points, 2)
        What is better not covered, in coordinates of the data.
    lines : array of shape (n_lines, 2, 2) or None, default=None
        Ends of lines that are better not covered, in coordinates of the data.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import numpy as np
    >>> from branchwise.plotting.labels import add_label, place_labels
    >>> from branchwise.plotting.style import new_axes
    >>> ax = new_axes()
    >>> labels = [add_label(ax, "left", (0.5, 0.5)), add_label(ax, "right", (0.5, 0.5))]
    >>> place_labels(ax, labels, np.empty((0, 2)))
    >>> ax.figure.draw_without_rendering()
    >>> one, other = (label.get_window_extent() for label in labels)
    >>> bool(one.overlaps(other))
    False
    >>> matplotlib.pyplot.close(ax.figure)
    """
    if labels:
        ax.add_artist(_Placer(labels, np.asarray(covered, dtype=float), lines))


class _Placer(Artist):
    """Draws nothing: it is drawn before the labels, and moves them."""

    def __init__(self, labels: list[Any], covered: Floats, lines: Any) -> None:
        super().__init__()
        self.labels, self.covered, self.lines = labels, covered, lines
        self.set_zorder(min(label.get_zorder() for label in labels) - 0.1)
        self.set_in_layout(False)

    def draw(self, renderer: Any) -> None:
        """Find places for the labels in pixels, and move them there."""
        axes: Any = self.axes
        frame = axes.bbox
        corner, size = np.array([frame.x0, frame.y0]), np.array([frame.width, frame.height])
        counts = _counts(self._obstacles() - corner, size)
        taken = [box - np.tile(corner, 2) for box in self._boxes(renderer)]
        unit = axes.figure.dpi / 72
        for label in self.labels:
            if not label.get_visible():
                continue
            anchor = axes.transData.transform(label.xy) - corner
            extent = _extent(label, renderer)
            shifts, far = _places(extent, unit)
            boxes = np.hstack([anchor + shifts - extent / 2, anchor + shifts + extent / 2])
            boxes += ROOM * np.array([-1, -1, 1, 1])
            best = _best(boxes, counts, taken, size)
            taken.append(boxes[best])
            label.set_position(tuple(shifts[best] / unit))
            label.arrow_patch.set_visible(bool(far[best] > JOINED * NEAREST))

    def _obstacles(self) -> Floats:
        """Samples, and points along the lines, in pixels."""
        to_pixels = self.axes.transData.transform  # type: ignore[union-attr]
        found = [to_pixels(self.covered)] if len(self.covered) else []
        if self.lines is not None and len(self.lines):
            ends = to_pixels(np.asarray(self.lines).reshape(-1, 2))
            starts, stops = ends.reshape(-1, 2, 2).transpose(1, 0, 2)
            n_steps = np.maximum(np.linalg.norm(stops - starts, axis=1) / CELL, 1).astype(int) + 1
            line = np.repeat(np.arange(len(starts)), n_steps)
            step = np.arange(len(line)) - np.repeat(np.cumsum(n_steps) - n_steps, n_steps)
            part = (step / np.maximum(n_steps[line] - 1, 1))[:, np.newaxis]
            found.append(starts[line] + part * (stops - starts)[line])
        return np.vstack(found) if found else np.empty((0, 2))

    def _boxes(self, renderer: Any) -> list[Floats]:
        """What is there already: the legend."""
        legend = self.axes.get_legend()  # type: ignore[union-attr]
        if legend is None or not legend.get_visible():
            return []
        return [np.array(legend.get_window_extent(renderer).extents)]


def _extent(label: Annotation, renderer: Any) -> Floats:
    """Width and height of a text, wherever it is."""
    label.set_position((0.0, 0.0))
    # The line to the anchor is not part of the text.
    box = super(Annotation, label).get_window_extent(renderer)
    return np.array([box.width, box.height])


def _counts(places: Floats, size: Floats) -> Floats:
    """Sums of what lies to the left of and below each corner of a grid of cells."""
    shape = np.ceil(size / CELL).astype(int) + 1
    at = np.floor(places / CELL).astype(np.int64)
    at = at[((at >= 0) & (at < shape)).all(axis=1)]
    cells = np.bincount(at[:, 0] * shape[1] + at[:, 1], minlength=int(shape.prod()))
    sums = np.zeros(shape + 1)
    sums[1:, 1:] = cells.reshape(shape).cumsum(axis=0).cumsum(axis=1)
    return sums


def _places(extent: Floats, unit: float) -> tuple[Floats, Floats]:
    """Where the middle of a label may be, the nearest first, and how far its edge then is."""
    angle = 2 * np.pi * (np.arange(N_DIRECTIONS) / N_DIRECTIONS + 0.25)
    # Above first, then alternately to the left and to the right of it.
    order = np.argsort(np.minimum(np.arange(N_DIRECTIONS), N_DIRECTIONS - np.arange(N_DIRECTIONS)))
    ways = np.column_stack([np.cos(angle), np.sin(angle)])[order]
    # The label touches a circle around its anchor: half of it is beyond.
    shifts = unit * DISTANCES[:, np.newaxis, np.newaxis] * ways + extent / 2 * np.clip(
        1.6 * ways, -1, 1
    )
    return shifts.reshape(-1, 2), np.repeat(DISTANCES, N_DIRECTIONS)


def _best(boxes: Floats, counts: Floats, taken: list[Floats], size: Floats) -> int:
    """The first of the boxes that covers nothing, or the one that covers least."""
    limit = np.array(counts.shape) - 1
    low = np.clip(np.floor(boxes[:, :2] / CELL).astype(int), 0, limit)
    high = np.clip(np.ceil(boxes[:, 2:] / CELL).astype(int), 0, limit)
    (x0, y0), (x1, y1) = low.T, high.T
    covers = counts[x1, y1] - counts[x0, y1] - counts[x1, y0] + counts[x0, y0]
    outside = ((boxes[:, :2] < 0) | (boxes[:, 2:] > size)).any(axis=1)
    # Names on one another, or cut off, can be read even less than names on samples.
    price = covers + 1e6 * outside + 1e9 * _overlapping(boxes, taken)
    return int(np.argmin(price))


def _overlapping(boxes: Floats, taken: list[Floats]) -> Bools:
    """Which boxes overlap any of those that are taken."""
    if not taken:
        return np.zeros(len(boxes), dtype=bool)
    others = np.array(taken)
    inside: Any = (boxes[:, np.newaxis, :2] < others[:, 2:]) & (
        boxes[:, np.newaxis, 2:] > others[:, :2]
    )
    return np.asarray(inside.all(axis=2).any(axis=1))
