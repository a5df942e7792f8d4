"""Curves of features over pseudotime, with bands."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from scipy import sparse

from .._docs import PICTURES, documented
from .._messages import listed
from .._typing import Floats, Ints
from ..trajectory import Trajectory
from ..trajectory.checks import check_features, check_order, choose_features
from ..trajectory.lineage import lineage_to
from ..trajectory.sentences import SURE
from .coloring import Coloring
from .points import draw_points
from .scene import branch_coloring, branch_colors, check_path, unsure_branches
from .style import DASHES, check_legend, halo, new_axes, note, plain, tidy

# More curves in one new figure would be too small to read.
MOST_FEATURES = 24
# Features side by side in a new figure; of more than a dozen, four.
N_COLUMNS = 3
# Points of a curve: enough for a stroke wherever there is a sample, which stands for one percent
# of the tree (`branchwise.trajectory.occupancy`).
N_POINTS = 201
# Of the samples, what a panel shows in any case lies between these quantiles. Bands and other
# samples are shown as far as this part of the height beyond, and cut there.
QUANTILES, BEYOND = (0.005, 0.995), 0.5


@documented(PICTURES)
def plot_trends(
    path: Trajectory,
    values: Any,
    feature_names: Any = None,
    *,
    features: Any = None,
    branches: Any = None,
    to: Any = None,
    level: float = 0.95,
    samples: bool = True,
    legend: str = "auto",
    ax: Any = None,
) -> Any:
    """Draw features over pseudotime: a smooth curve for each branch, its band, and the samples.

    Curves and bands are those of `Trajectory.trends`, and are interrupted where there are no
    samples; a branch without any value of a feature has none. On a ring, pseudotime rises to the
    place opposite to the root by both ways, and there are two curves.

    Each panel is as high as its curves and the middle 99 % of the samples need. Bands and the other
    samples are shown up to half of that height above and below; what lies beyond is cut at the
    frame, so that one wide band or one far sample leaves the curves readable, and the panel
    says how many samples are outside.

    The legend has the number of samples of each branch and, where the path has support
    (`Trajectory.with_support`), the percentage of resamples that found the branch again. Curves
    of branches with less than 80 % are dashed.

    Parameters
    ----------
    path : Trajectory
    {values}
    {features}
    branches : name or sequence of names, optional
        Branches to draw; by default all.
    to : str, optional
        A tip, instead of ``branches``: those that lead to it.
    level : float, default=0.95
        Probability of the bands.
    samples : bool, default=True
        Draw the samples behind the curves.
    {legend}
        Several features have one legend, beside all of them.
    ax : matplotlib Axes, array of Axes or None, default=None
        One for each feature. None makes a new figure, with at most 24.

    Returns
    -------
    ax : matplotlib Axes, or array of Axes
        An array if several features were asked for, or if ``ax`` is one.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from branchwise.datasets import make_tree
    >>> from branchwise.plotting import plot_trends
    >>> from branchwise.trajectory import learn_trajectory
    >>> data = make_tree(300, 10, noise=0.1, random_state=0)  # simulated
    >>> path = learn_trajectory(data.X, support=0)
    >>> names = [f"gene {k}" for k in range(10)]
    >>> ax = plot_trends(path, data.X, names, features="gene 3")
    >>> ax.get_ylabel(), ax.get_xlabel()
    ('gene 3', 'pseudotime')
    >>> matplotlib.pyplot.close(ax.figure)
    """
    check_path(path)
    check_legend(legend)
    check_order(values, path.names_, "values")
    numbers, names = check_features(values, feature_names, len(path.names_))
    columns = choose_features(names, features)
    rows = choose_branches(path, branches, to)
    chosen = [names[column] for column in columns]
    table = path.trends(numbers[:, columns], chosen, level=level, n_points=N_POINTS)
    shape = len(chosen), len(path.view.branches.names), -1
    columns_of_table = ("pseudotime", "mean", "lower", "upper")
    curves = np.array([table[name].to_numpy().reshape(shape) for name in columns_of_table])
    count = table["n_samples"].to_numpy().reshape(shape)[:, :, 0]
    axes = axes_for(ax, chosen)
    coloring, colors = branch_coloring(path, rows), branch_colors(path, rows)
    sure = ~unsure_branches(path)[rows]
    shown = np.isin(path.view.branches.placed.edge, rows)
    for k, (one, name, column) in enumerate(zip(axes, chosen, columns, strict=True)):
        y = numbers[:, [column]]
        y = y.toarray()[:, 0] if sparse.issparse(y) else np.asarray(y, dtype=float)[:, 0]
        drawn = np.where(shown & samples, y, np.nan)
        drawn[~np.isfinite(drawn)] = np.nan
        low, high = heights(drawn, curves[1:, k, rows])
        draw_samples(one, path.pseudotime_, np.where(drawn < low, np.nan, drawn), high, coloring)
        for branch, color, is_solid in zip(rows, colors, sure, strict=True):
            if count[k, branch]:
                draw_curve(one, curves[:, k, branch], color, "-" if is_solid else DASHES)
        one.set(ylim=(low, high), ylabel=plain(name))
        n_outside = np.count_nonzero((drawn < low) | (drawn > high))
        if n_outside:
            note(one, f"{n_outside:,} sample{'' if n_outside == 1 else 's'} outside")
        tidy(one)
    for one in at_the_foot(axes):
        one.set_xlabel("pseudotime")
        one.tick_params(labelbottom=True)
    if legend != "none":
        add_branch_legend(axes, path, replace(coloring, values=coloring.values[shown]), legend)
    return axes if len(chosen) > 1 or np.ndim(ax) else axes[0]


def heights(y: Floats, curves: Floats) -> tuple[float, float]:
    """The lowest and the highest value that a panel shows.

    Parameters
    ----------
    y : array of shape (n_samples,)
        NaN for samples that are not drawn.
    curves : array of shape (3, n_branches, n_points)
        Means and the lower and upper edges of bands.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.plotting.trends import heights
    >>> mean = np.array([[0.0, 1.0]])
    >>> heights(np.full(1, np.nan), np.array([mean, mean - 0.1, mean + 70]))  # cut half above
    (-0.18..., 1.58...)
    """
    known = y[np.isfinite(y)]
    middle = np.quantile(known, QUANTILES) if len(known) else known
    needed = np.concatenate([curves[0][np.isfinite(curves[0])], middle])
    if len(needed) == 0:
        return 0.0, 1.0
    low, high = float(needed.min()), float(needed.max())
    reach = BEYOND * (high - low)
    present = np.concatenate([curves[np.isfinite(curves)], known])
    lowest, highest = max(present.min(), low - reach), min(present.max(), high + reach)
    edge = 0.05 * (highest - lowest) or 0.05 * abs(highest) or 0.05
    return float(lowest - edge), float(highest + edge)


def at_the_foot(axes: Any) -> list[Axes]:
    """The lowest of the Axes in each column of a grid, and those that are in none."""
    lowest: dict[Any, tuple[int, Axes]] = {}
    for ax in axes:
        place = ax.get_subplotspec()
        column, row = ax, 0
        if place is not None:
            column, row = (place.get_gridspec(), place.colspan.start), place.rowspan.stop
        if column not in lowest or row >= lowest[column][0]:
            lowest[column] = row, ax
    return [ax for _, ax in lowest.values()]


def add_branch_legend(axes: Any, path: Trajectory, coloring: Coloring, legend: str) -> None:
    """One legend for all panels: the branches, their samples and their support."""
    table = path.branch_table_
    support = table.get("support", {})
    sure = dict(zip(table.index, ~unsure_branches(path), strict=True))
    labels, handles = [], []
    for k in np.flatnonzero(coloring.counts):
        name = coloring.labels[k]
        found = support.get(name, np.nan)
        counted = f"{coloring.counts[k]:,}" + ("" if np.isnan(found) else f", {100 * found:.0f} %")
        labels.append(f"{plain(name)} ({counted})")
        style = "-" if sure.get(name, True) else DASHES
        marker, color = coloring.markers[k], coloring.colors[k]
        handles.append(Line2D([], [], color=color, ls=style, lw=1.8, marker=marker, markersize=5))
    if not handles:
        return
    if any(handle.get_linestyle() != "-" for handle in handles):
        labels.append(f"dashed: below {SURE:.0%}".replace("%", " %"))
        handles.append(Line2D([], [], color="0.45", ls=DASHES, lw=1.2))
    beside = corner_of(axes)
    engine = beside.figure.get_layout_engine()
    options: dict[str, Any] = {"loc": "upper right"}
    target: Any = beside
    is_outside = legend == "outside" or (legend == "auto" and engine is not None)
    if is_outside and len(axes) > 1 and isinstance(engine, ConstrainedLayoutEngine):
        target, options = beside.figure, {"loc": "outside right upper"}
    elif is_outside:
        options = {"loc": "upper left", "bbox_to_anchor": (1, 1), "borderaxespad": 0.3}
    target.legend(
        handles,
        labels,
        title=f"branch (samples{', support' if len(support) else ''})",
        frameon=not is_outside,
        handlelength=2.2,
        handletextpad=0.5,
        fontsize="small",
        title_fontsize="small",
        alignment="left",
        **options,
    )


def corner_of(axes: Any) -> Axes:
    """The Axes that are farthest to the right in the highest row."""
    boxes = [ax.get_position() for ax in axes]
    return axes[max(range(len(axes)), key=lambda k: (round(boxes[k].y1, 3), boxes[k].x1))]


def choose_branches(path: Trajectory, branches: Any, to: Any) -> Ints:
    """Rows of the branches that are asked for."""
    names = path.branch_table_.index.tolist()
    if to is not None and branches is not None:
        raise ValueError("plot_trends takes branches=… or to=…, not both.")
    if to is not None:
        return lineage_to(path, to).branches
    if branches is None:
        return np.arange(len(names))
    wanted = [branches] if isinstance(branches, str) else list(branches)
    unknown = [name for name in wanted if name not in names]
    if unknown or not wanted:
        told = f"names {unknown[0]!r}, which is not a branch" if unknown else "is empty"
        raise ValueError(f"branches {told}; there are {listed(names)}.")
    return np.array([names.index(name) for name in dict.fromkeys(wanted)])


def axes_for(ax: Any, features: list[Any]) -> Any:
    """Axes for each feature, the given ones or new ones."""
    if ax is None:
        return np.array([new_axes()]) if len(features) == 1 else panels(len(features))
    given = np.asarray(ax, dtype=object).ravel()
    if len(given) != len(features):
        raise ValueError(
            f"ax holds {len(given)} Axes, but there are {len(features)} features, "
            f"{listed(features)}; pass one for each, or choose some by features=…."
        )
    return np.array([new_axes(one) for one in given])


def panels(n_features: int, figure: Callable[..., Any] = plt.figure) -> Any:
    """Axes for several features in one new figure, over the same pseudotime.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from branchwise.plotting.trends import panels
    >>> len(panels(5, Figure))
    5
    """
    if n_features > MOST_FEATURES:
        raise ValueError(
            f"{n_features} features are too many for one picture, of at most {MOST_FEATURES}; "
            "choose some by features=…, or draw all with plot_heatmap."
        )
    n_columns = 2 if n_features == 4 else min(n_features, N_COLUMNS + (n_features > 12))
    n_rows = -(-n_features // n_columns)
    # With room for the legend on the right, and for labels below.
    size = (3.1 * n_columns + 1.9, max(2.1 * n_rows + 0.4, 3.4))
    grid = figure(figsize=size, layout="constrained").subplots(
        n_rows, n_columns, sharex=True, squeeze=False
    )
    for spare in grid.ravel()[n_features:]:
        spare.remove()
    return grid.ravel()[:n_features]


def draw_samples(ax: Axes, time: Floats, y: Floats, high: float, coloring: Coloring) -> None:
    """The samples that have a value which is shown."""
    rows = np.flatnonzero(y <= high)
    if len(rows):
        points = np.column_stack([time[rows], y[rows]])
        of_rows = replace(coloring, values=coloring.values[rows])
        draw_points(ax, points, of_rows, alpha=0.35, square=False)


def draw_curve(ax: Axes, curve: Floats, color: Any, style: Any) -> None:
    """Curve and band of one branch, in two pieces if time turns back on it."""
    time, mean, lower, upper = curve
    turn = int(np.argmax(time))
    for piece in (slice(None, turn + 1), slice(turn + 1, None)):
        if len(time[piece]) > 1:
            t, low, middle, high = (values[piece] for values in (time, lower, mean, upper))
            ax.fill_between(t, low, high, color=color, alpha=0.25, lw=0, zorder=3)
            effects = halo(ax, 3.0)
            ax.plot(t, middle, color=color, ls=style, lw=1.8, path_effects=effects, zorder=4)
