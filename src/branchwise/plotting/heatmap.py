"""Features along one way through a trajectory, as a picture of rows."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.patches import Rectangle

from .._docs import PICTURES, documented
from ..trajectory import Trajectory
from ..trajectory.lineage import LineageTrends, trends_along
from .coloring import DIVERGING, MISSING, SEQUENTIAL, named_map
from .points import inches
from .scene import branch_colors, check_path
from .style import color_bar, new_axes, plain

# Of a name, in points of typography: the least that can be read, and the usual.
LEAST_FONT, USUAL_FONT = 5.0, 9.0
# Standardised values beyond this are drawn as this.
MOST_Z = 2.5


@documented(PICTURES)
def plot_heatmap(
    path: Trajectory,
    values: Any,
    feature_names: Any = None,
    *,
    to: Any = None,
    features: Any = None,
    n_bins: int = 100,
    standardize: bool = True,
    cmap: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw smooth trends of features along the way from the root to a tip, as a heat map.

    Each row is a feature, by `Trajectory.trends`; those whose peak comes first are on top, and
    constant ones at the bottom. The strip above shows the branches of the way in their colours.
    Stretches without samples are blank, in a light grey that no value has, and the colour bar says
    so.

    Parameters
    ----------
    path : Trajectory
    {values}
    to : str, optional
        Where the way leads: a tip, another milestone, or a branch. By default the first tip that is
        not the root; on a ring, once around.
    {features}
    n_bins : int, default=100
        Columns of the picture.
    standardize : bool, default=True
        Give each trend mean 0 and standard deviation 1 along the way; colours end at ±2.5.
        Otherwise values are in units of the features.
    cmap : str, Colormap or None, default=None
        Colours; None: "RdBu_r" for standardised values, "viridis" for others.
    {ax}

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from branchwise.datasets import make_tree
    >>> from branchwise.plotting import plot_heatmap
    >>> from branchwise.trajectory import learn_trajectory
    >>> data = make_tree(300, 10, noise=0.1, random_state=0)  # simulated
    >>> path = learn_trajectory(data.X, support=0)
    >>> ax = plot_heatmap(path, data.X, [f"gene {k}" for k in range(10)], to="T3")
    >>> len(ax.get_yticklabels()), ax.get_xlabel()
    (10, 'pseudotime')
    >>> matplotlib.pyplot.close(ax.figure)
    """
    check_path(path)
    found = trends_along(
        path,
        values,
        feature_names,
        to=to,
        features=features,
        n_bins=n_bins,
        standardize=standardize,
    )
    n_features = len(found.features)
    ax = new_axes(ax, figsize=(6.5, float(np.clip(1.4 + 0.17 * n_features, 2.4, 10.0))))
    norm, scale = color_scale(found.values, standardize, cmap)
    end = found.lineage.borders[-1] or 1.0
    # A mesh rather than an image, whose pixels each release of matplotlib chooses in its own way.
    borders = np.linspace(0.0, end, found.values.shape[1] + 1)
    values = np.ma.masked_invalid(found.values)
    ax.pcolormesh(
        borders, np.arange(n_features + 1), values, norm=norm, cmap=scale, rasterized=True
    )
    ax.set_ylim(n_features, 0.0)
    draw_strip(ax, path, found, end)
    name_rows(ax, found)
    ax.set_xlabel("pseudotime" if found.lineage.is_shortest else "length of the way from the root")
    ax.set_xlim(0.0, end)
    label = "trend (z-score)" if standardize else "trend"
    known = np.isfinite(found.values)
    bar = color_bar(ax, norm, scale, label, values=found.values[known])
    if not known.all():
        name_blank(bar.ax)
    return ax


def color_scale(values: Any, standardize: bool, cmap: Any) -> tuple[Any, Any]:
    """From values to colours, with zero in the middle of standardised ones."""
    scale = named_map(cmap or (DIVERGING if standardize else SEQUENTIAL))
    known = values[np.isfinite(values)]
    if standardize:
        norm = Normalize(-MOST_Z, MOST_Z)
    elif len(known) == 0 or known.min() == known.max():
        middle = float(known[0]) if len(known) else 0.0
        norm = Normalize(middle - 0.5, middle + 0.5)
    else:
        norm = Normalize(float(known.min()), float(known.max()))
    return norm, scale.with_extremes(bad=MISSING)


def name_blank(bar: Axes) -> None:
    """Say below the colour bar what the colour of blank cells means."""
    patch = Rectangle((0, 0), 1, 1, facecolor=MISSING)
    bar.legend(
        [patch],
        ["no samples"],
        loc="upper left",
        bbox_to_anchor=(0.0, -0.03),
        frameon=False,
        fontsize="small",
        handlelength=1.0,
        handleheight=1.0,
        handletextpad=0.5,
        borderpad=0.0,
        borderaxespad=0.3,
    )


def draw_strip(ax: Axes, path: Trajectory, found: LineageTrends, end: float) -> None:
    """The branches above the picture, in their colours, with names where these fit."""
    width, height = inches(ax)
    colors, names = branch_colors(path, found.lineage.branches), path.branch_table_.index
    across = ax.get_xaxis_transform()
    bottom, top = 1 + 0.03 / height, 1 + 0.13 / height
    for k, color in enumerate(colors):
        left, right = found.lineage.borders[k : k + 2]
        ax.add_patch(
            Rectangle(
                (left, bottom),
                right - left,
                top - bottom,
                transform=across,
                facecolor=color,
                edgecolor="white",
                linewidth=0.5,
                clip_on=False,
            )
        )
    for border in found.lineage.borders[1:-1]:
        ax.axvline(border, color="white", linewidth=0.8)
    wide = np.diff(found.lineage.borders) / end * width
    named = [k for k, b in enumerate(found.lineage.branches) if wide[k] > 0.08 * len(names[b])]
    # An axis of its own, which titles make room for.
    above = ax.secondary_xaxis(top)
    middle = (found.lineage.borders[1:] + found.lineage.borders[:-1])[named] / 2
    above.set_ticks(middle, list(names[found.lineage.branches[named]]), fontsize="small")
    above.tick_params(length=0, pad=2)
    above.spines[:].set_visible(False)


def name_rows(ax: Axes, found: LineageTrends) -> None:
    """The names of the features, of as many as can be read."""
    n_features = len(found.features)
    row_height = 72 * inches(ax)[1] / n_features
    step = int(np.ceil(LEAST_FONT / (0.95 * row_height)))
    rows = range(0, n_features, step)
    missing = np.isnan(found.values).all(axis=1)
    remark = np.where(missing, " (no trend)", np.where(found.is_flat, " (constant)", ""))
    names = [f"{plain(found.features[k])}{remark[k]}" for k in rows]
    size = float(np.clip(0.9 * step * row_height, LEAST_FONT, USUAL_FONT))
    ax.set_yticks([k + 0.5 for k in rows], names, fontsize=size)
    ax.tick_params(axis="y", length=0 if step == 1 else 2)
    for side in ("top", "right", "left", "bottom"):
        ax.spines[side].set_visible(False)
    if step > 1:
        ax.set_ylabel(f"{n_features:,} features, every {ordinal(step)} named", fontsize="small")


def ordinal(number: int) -> str:
    """The word for a place in a row.

    Examples
    --------
    >>> from branchwise.plotting.heatmap import ordinal
    >>> [ordinal(k) for k in (2, 3, 11, 22)]
    ['2nd', '3rd', '11th', '22nd']
    """
    last = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else last}"
