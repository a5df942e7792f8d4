"""Features along one way through a trajectory, as a picture of rows."""

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.patches import Rectangle

from .._docs import PICTURES, documented
from ..trajectory import Trajectory
from ..trajectory.lineage import Lineage, LineageTrends, trends_along_all
from .coloring import DIVERGING, MISSING, SEQUENTIAL, named_map
from .points import inches
from .scene import branch_colors, check_path
from .style import color_bar, new_axes, plain

# Of a name, in points of typography: the least that can be read, and the usual.
LEAST_FONT, USUAL_FONT = 5.0, 9.0
# Standardised values beyond this are drawn as this.
MOST_Z = 2.5
# Of the width of the longest of several ways: what a panel has at least.
LEAST_WIDTH = 0.35


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
    ax: Any = None,
) -> Any:
    """Draw smooth trends of features along the way from the root to a tip, as a heat map.

    Each row is a feature, by `Trajectory.trends`; those whose peak comes first are on top, and
    constant ones at the bottom. The strip above shows the branches of the way in their colours.
    Stretches without samples are blank, in a light grey that no value has, and the colour bar says
    so. Ways to several tips are side by side, to compare: rows have one order, that of the highest
    peak in any of them, and colours mean the same.

    Parameters
    ----------
    path : Trajectory
    {values}
    to : str or sequence of str, optional
        Where the way leads: a tip, another milestone, or a branch; of several, one panel each. By
        default the first tip that is not the root; on a ring, once around.
    {features}
    n_bins : int, default=100
        Columns of the picture, or of the longest of several ways.
    standardize : bool, default=True
        Give each trend mean 0 and standard deviation 1 along all ways that are drawn; colours end
        at ±2.5. Otherwise values are in units of the features.
    cmap : str, Colormap or None, default=None
        Colours; None: "RdBu_r" for standardised values, "viridis" for others.
    {ax}
        For several ways an array of Axes.

    Returns
    -------
    ax : matplotlib Axes, or array of Axes
        An array if ``to`` is a sequence.

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
    is_one = to is None or isinstance(to, str)
    found = trends_along_all(
        path,
        values,
        feature_names,
        to=[to] if is_one else check_ways(to),
        features=features,
        n_bins=n_bins,
        standardize=standardize,
    )
    if ax is None:
        axes = panels([part.lineage for part in found], len(found[0].features))
    else:
        axes = given_axes(ax, len(found))
    all_values = np.hstack([part.values for part in found])
    norm, scale = color_scale(all_values, standardize, cmap)
    for k, (one, part) in enumerate(zip(axes, found, strict=True)):
        draw_rows(one, path, part, norm, scale)
        if k == 0:
            name_rows(one, part, np.isnan(all_values).all(axis=1))
        else:
            one.set_yticks([])
        if len(found) > 1:
            one.set_title(f"to {part.lineage.to}", fontsize="medium")
    label_time(axes, [part.lineage for part in found])
    known = np.isfinite(all_values)
    label = "trend (z-score)" if standardize else "trend"
    beside = axes[0] if len(axes) == 1 else list(axes)
    bar = color_bar(beside, norm, scale, label, values=all_values[known])
    if not known.all():
        name_blank(bar.ax)
    return axes[0] if is_one else np.array(axes)


def check_ways(to: Any) -> list[Any]:
    """Some ends, each once."""
    ends = list(dict.fromkeys(to))
    if not ends:
        raise ValueError("to=[] names no way; name at least one tip, or leave it out.")
    return ends


def given_axes(ax: Any, n_ways: int) -> list[Axes]:
    """The Axes that were passed, one for each way."""
    given = np.asarray(ax, dtype=object).ravel().tolist()
    if len(given) != n_ways:
        raise ValueError(
            f"ax holds {len(given)} Axes, but to names {n_ways} ways; pass one for each."
        )
    return [new_axes(one) for one in given]


def panels(
    lineages: Sequence[Lineage], n_features: int, figure: Callable[..., Any] = plt.figure
) -> list[Axes]:
    """Axes in one new figure, as wide as the ways are long.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from branchwise.plotting.heatmap import panels
    >>> from branchwise.trajectory import Trajectory
    >>> from branchwise.trajectory.lineage import lineage_to
    >>> path = Trajectory([[0, 1]], np.array([[0.0], [1.0]]))
    >>> len(panels([lineage_to(path, "T2")], 30, Figure))
    1
    """
    lengths = np.array([lineage.borders[-1] for lineage in lineages])
    # A short way has room for its names, too.
    widths = np.maximum(lengths / (lengths.max() or 1.0), LEAST_WIDTH)
    height = float(np.clip(1.4 + 0.17 * n_features, 2.4, 10.0))
    size = (2.3 + 4.2 * float(widths.sum()) ** 0.7, height + 0.2 * (len(lineages) > 1))
    new = figure(figsize=size, layout="constrained")
    return list(new.subplots(1, len(lineages), squeeze=False, width_ratios=widths)[0])


def label_time(axes: list[Axes], lineages: Sequence[Lineage]) -> None:
    """Say what runs from left to right: once, for panels that have a figure to themselves."""
    labels = [
        "pseudotime" if lineage.is_shortest else "length of the way from the root"
        for lineage in lineages
    ]
    figure = axes[0].figure
    if len(axes) > 1 and len(set(labels)) == 1 and figure.axes == axes:
        figure.supxlabel(labels[0], fontsize="medium")
        return
    for ax, label in zip(axes, labels, strict=True):
        ax.set_xlabel(label)


def draw_rows(ax: Axes, path: Trajectory, found: LineageTrends, norm: Any, scale: Any) -> None:
    """The trends along one way, and its branches above."""
    n_features, n_bins = found.values.shape
    end = found.lineage.borders[-1] or 1.0
    # A mesh rather than an image, whose pixels each release of matplotlib chooses in its own way.
    borders = np.linspace(0.0, end, n_bins + 1)
    values = np.ma.masked_invalid(found.values)
    ax.pcolormesh(
        borders, np.arange(n_features + 1), values, norm=norm, cmap=scale, rasterized=True
    )
    ax.set_ylim(n_features, 0.0)
    draw_strip(ax, path, found, end)
    ax.set_xlim(0.0, end)
    for side in ("top", "right", "left", "bottom"):
        ax.spines[side].set_visible(False)


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


def name_rows(ax: Axes, found: LineageTrends, missing: Any) -> None:
    """The names of the features, of as many as can be read, and which have no trend."""
    n_features = len(found.features)
    row_height = 72 * inches(ax)[1] / n_features
    step = int(np.ceil(LEAST_FONT / (0.95 * row_height)))
    rows = range(0, n_features, step)
    remark = np.where(missing, " (no trend)", np.where(found.is_flat, " (constant)", ""))
    names = [f"{plain(found.features[k])}{remark[k]}" for k in rows]
    size = float(np.clip(0.9 * step * row_height, LEAST_FONT, USUAL_FONT))
    ax.set_yticks([k + 0.5 for k in rows], names, fontsize=size)
    ax.tick_params(axis="y", length=0 if step == 1 else 2)
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
