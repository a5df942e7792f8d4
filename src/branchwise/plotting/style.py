"""What all pictures share: axes, legends, colour bars and text.

Nothing here changes matplotlib's settings.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D

from ..trajectory.sentences import SURE
from .coloring import MISSING, Coloring

# Lines of branches that resamples do not find again, and what is said of them.
DASHES = (0, (4, 2))
UNSURE_NOTE = f"dashed: found again in fewer than {100 * SURE:.0f} % of the resamples"
# Longer names would leave no room for the picture.
MOST_LETTERS = 30


def plain(text: Any) -> str:
    r"""Text that matplotlib shows as it is: dollars start no formula, long names are cut.

    Examples
    --------
    >>> from branchwise.plotting.style import plain
    >>> print(plain("cost $5 to $10"))
    cost \$5 to \$10
    >>> len(plain("x" * 100))
    30
    """
    one_line = " ".join(str(text).split())
    if len(one_line) > MOST_LETTERS:
        one_line = one_line[: MOST_LETTERS - 1] + "…"
    return one_line.replace("$", r"\$")


def is_3d(ax: Axes) -> bool:
    """Whether Axes have three dimensions."""
    return getattr(ax, "name", "") == "3d"


def new_axes(
    ax: Axes | None = None, dims: int = 2, *, figsize: tuple[float, float] = (6.5, 5.0)
) -> Axes:
    """The given Axes if they have so many dimensions, or those of a new figure.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from branchwise.plotting.style import new_axes
    >>> ax = new_axes(dims=3)
    >>> ax.name
    '3d'
    >>> matplotlib.pyplot.close(ax.figure)
    """
    if dims not in (2, 3):
        raise ValueError(f"dims={dims!r} must be 2 or 3.")
    if ax is None:
        figure = plt.figure(figsize=figsize, layout="constrained")
        if dims == 3:
            # By depth, samples would hide the graph and its names.
            return figure.add_subplot(projection="3d", computed_zorder=False)
        return figure.add_subplot()
    if is_3d(ax) != (dims == 3):
        raise ValueError(
            f"ax has {3 if is_3d(ax) else 2} dimensions but dims={dims}; pass Axes made with "
            + ("projection='3d'." if dims == 3 else "no projection.")
        )
    return ax


def ink(ax: Axes) -> tuple[str, str]:
    """What can be read on the Axes, black or white, and their own colour."""
    face = to_rgb(ax.get_facecolor())
    return "black" if np.dot(face, [0.299, 0.587, 0.114]) > 0.5 else "white", to_hex(face)


def tidy(ax: Axes) -> None:
    """Take away the lines that say nothing."""
    if not is_3d(ax):
        ax.spines[["top", "right"]].set_visible(False)


def note(ax: Axes, text: str) -> None:
    """A remark in small print above the Axes, on the left, where titles seldom are."""
    ax.set_title(text, loc="left", fontsize="small", color="0.45")


def foot_note(ax: Axes, text: str, below: float) -> None:
    """A remark in small print so many points of typography below the Axes, on the left."""
    ax.annotate(
        text,
        (0.0, 0.0),
        xycoords="axes fraction",
        xytext=(0.0, -below),
        textcoords="offset points",
        va="top",
        fontsize="x-small",
        color="0.35",
        annotation_clip=False,
    )


def add_key(ax: Axes, coloring: Coloring, points: Any = None, *, legend: str = "auto") -> None:
    """Say what the colours mean: a legend with counts, or a thin colour bar.

    Parameters
    ----------
    ax : matplotlib Axes
    coloring : Coloring
    points : array of shape (n_points, 2) or None, default=None
        What a legend inside should not cover.
    legend : {"auto", "outside", "inside", "none"}, default="auto"
        Where a legend is; "auto": outside if the figure has a layout that makes room for it.
    """
    check_legend(legend)
    if legend == "none" or coloring.kind == "none":
        return
    n_missing = int(coloring.is_missing.sum())
    if coloring.kind == "number":
        label = plain(coloring.name)
        if n_missing:
            label = f"{label}; " if label else ""
            label += f"grey: missing ({n_missing:,})"
        color_bar(ax, coloring.norm, coloring.cmap, label, values=coloring.values)
        return
    shown = np.flatnonzero(coloring.counts)
    entries = [
        (f"{plain(coloring.labels[k])} ({coloring.counts[k]:,})", *style)
        for k, *style in zip(
            shown,
            coloring.colors[shown],
            [coloring.markers[k] for k in shown],
            strict=True,
        )
    ]
    if n_missing:
        entries.append((f"missing ({n_missing:,})", MISSING, "o"))
    add_legend(ax, entries, title=coloring.name, points=points, legend=legend)


def check_legend(legend: str) -> None:
    """One of the places that a legend can have."""
    if legend not in {"auto", "outside", "inside", "none"}:
        raise ValueError(f"legend={legend!r} must be 'auto', 'outside', 'inside' or 'none'.")


def add_legend(
    ax: Any,
    entries: list[tuple[str, Any, str]],
    *,
    title: str = "",
    points: Any = None,
    legend: str = "auto",
) -> Any:
    """A legend of (label, colour, marker), beside the picture or in its emptiest corner."""
    handles = [
        Line2D([], [], linestyle="none", marker=marker, markersize=6, color=color)
        for _, color, marker in entries
    ]
    engine = ax.figure.get_layout_engine()
    outside = legend == "outside" or (legend == "auto" and engine is not None)
    # A layout makes too little room beside a cube; alone in its figure, it can be told.
    is_alone = isinstance(ax.figure, Figure) and ax.figure.axes == [ax]
    is_constrained = isinstance(engine, ConstrainedLayoutEngine)
    beside_cube = outside and is_3d(ax) and is_alone and is_constrained
    where: dict[str, Any] = {"loc": emptiest_corner(points)}
    if beside_cube:
        where = {"loc": "upper right", "bbox_to_anchor": (1, 1)}
        where["bbox_transform"] = ax.figure.transFigure
    elif outside:
        where = {"loc": "upper left", "bbox_to_anchor": (1, 1)}
    drawn = ax.legend(
        handles,
        [""] * len(handles),
        title=plain(title) or None,
        frameon=not outside,
        borderaxespad=0.3,
        handletextpad=0.3,
        fontsize="small",
        title_fontsize="small",
        alignment="left",
        **where,
    )
    # Labels that start with an underscore would be left out if they were given at once.
    for text, (label, _, _) in zip(drawn.get_texts(), entries, strict=True):
        text.set_text(label)
    if beside_cube:
        drawn.set_in_layout(False)
        width = drawn.get_window_extent().width / ax.figure.bbox.width
        engine.set(rect=(0, 0, 1 - min(width + 0.1, 0.6), 1))
    return drawn


def emptiest_corner(points: Any) -> str:
    """The corner with the fewest points, by halves of either range."""
    if points is None or len(points) == 0:
        return "upper right"
    low, high = points.min(axis=0), points.max(axis=0)
    right, upper = (points > (low + high) / 2).T[:2]
    corners = {
        "upper right": right & upper,
        "upper left": ~right & upper,
        "lower right": right & ~upper,
        "lower left": ~right & ~upper,
    }
    return min(corners, key=lambda corner: np.count_nonzero(corners[corner]))


def color_bar(ax: Any, norm: Any, cmap: Any, label: str, *, values: Any = None) -> Any:
    """A thin colour bar beside one or several Axes; arrows at its ends stand for more beyond."""
    first = np.ravel(ax)[0]
    beyond = np.zeros(2, dtype=bool)
    if values is not None and len(values):
        beyond = np.array([np.any(values < norm.vmin), np.any(values > norm.vmax)])
    extend = {(0, 0): "neither", (1, 0): "min", (0, 1): "max", (1, 1): "both"}
    bar = first.figure.colorbar(
        ScalarMappable(norm, cmap),
        ax=ax,
        label=label,
        fraction=0.05,
        aspect=35,
        shrink=0.7,
        pad=0.12 if is_3d(first) else 0.02,
        extend=extend[tuple(beyond.astype(int).tolist())],
    )
    bar.outline.set_visible(False)
    return bar


def halo(ax: Axes, linewidth: float = 2.5) -> list[Any]:
    """An edge in the colour of the Axes that keeps text or a line apart from what is behind."""
    return [patheffects.withStroke(linewidth=linewidth, foreground=ink(ax)[1])]
