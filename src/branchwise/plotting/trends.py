"""Curves of features over pseudotime, with bands."""

from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from scipy import sparse

from .._docs import PICTURES, documented
from .._messages import listed
from .._typing import Floats, Ints
from ..trajectory import Trajectory
from ..trajectory.checks import check_features, check_order, choose_features
from ..trajectory.lineage import lineage_to
from .coloring import Coloring
from .points import draw_points
from .scene import branch_coloring, branch_colors, check_path
from .style import add_key, check_legend, halo, new_axes, plain, tidy

# More curves in one new figure would be too small to read.
MOST_FEATURES = 24
# Features side by side in a new figure.
N_COLUMNS = 3
# Points of a curve: enough for a stroke wherever there is a sample, which stands for one percent
# of the tree (`branchwise.trajectory.occupancy`).
N_POINTS = 201


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
        Of several features it is beside the last of the first row.
    ax : matplotlib Axes, array of Axes or None, default=None
        One for each feature. None makes a new figure.

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
    curves = [table[name].to_numpy().reshape(shape) for name in columns_of_table]
    count = table["n_samples"].to_numpy().reshape(shape)[:, :, 0]
    axes, n_columns = axes_for(ax, chosen)
    coloring, colors = branch_coloring(path, rows), branch_colors(path, rows)
    shown = np.isin(path.view.branches.placed.edge, rows)
    for k, (one, name, column) in enumerate(zip(axes, chosen, columns, strict=True)):
        y = numbers[:, [column]]
        y = y.toarray()[:, 0] if sparse.issparse(y) else np.asarray(y, dtype=float)[:, 0]
        if samples:
            draw_samples(one, path.pseudotime_, y, shown, coloring)
        for branch, color in zip(rows, colors, strict=True):
            if count[k, branch]:
                draw_curve(one, [curve[k, branch] for curve in curves], color)
        one.set(xlabel="pseudotime", ylabel=plain(name))
        tidy(one)
    # A legend beside the last of the first row takes no room from the others.
    beside = axes[n_columns - 1]
    add_key(beside, replace(coloring, values=coloring.values[shown]), legend=legend)
    return axes if len(chosen) > 1 or np.ndim(ax) else axes[0]


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
        told = f"names {unknown[0]!r}, which is no branch" if unknown else "is empty"
        raise ValueError(f"branches {told}; there are {listed(names)}.")
    return np.array([names.index(name) for name in dict.fromkeys(wanted)])


def axes_for(ax: Any, features: list[Any]) -> tuple[Any, int]:
    """Axes for each feature, the given ones or new ones, and how many are side by side."""
    n_features = len(features)
    if ax is None and n_features == 1:
        return np.array([new_axes()]), 1
    if ax is None:
        if n_features > MOST_FEATURES:
            raise ValueError(
                f"{n_features} features are too many for one picture, of at most {MOST_FEATURES}; "
                "choose some by features=…, or draw all with plot_heatmap."
            )
        n_columns = 2 if n_features == 4 else min(n_features, N_COLUMNS)
        n_rows = -(-n_features // n_columns)
        figure = plt.figure(figsize=(3.4 * n_columns + 1.4, 2.6 * n_rows), layout="constrained")
        grid = figure.subplots(n_rows, n_columns, squeeze=False)
        for spare in grid.ravel()[n_features:]:
            spare.remove()
        return grid.ravel()[:n_features], n_columns
    given = np.asarray(ax, dtype=object).ravel()
    if len(given) != n_features:
        raise ValueError(
            f"ax holds {len(given)} Axes, but there are {n_features} features, {listed(features)}; "
            "pass one for each, or choose some by features=…."
        )
    return np.array([new_axes(one) for one in given]), np.atleast_1d(np.asarray(ax)).shape[-1]


def draw_samples(ax: Axes, time: Floats, y: Floats, shown: Any, coloring: Coloring) -> None:
    """The samples of some branches that have a value."""
    rows = np.flatnonzero(shown & np.isfinite(y))
    if len(rows):
        points = np.column_stack([time[rows], y[rows]])
        of_rows = replace(coloring, values=coloring.values[rows])
        draw_points(ax, points, of_rows, alpha=0.35, square=False)


def draw_curve(ax: Axes, curve: list[Floats], color: Any) -> None:
    """Curve and band of one branch, in two pieces if time turns back on it."""
    time, mean, lower, upper = curve
    turn = int(np.argmax(time))
    for piece in (slice(None, turn + 1), slice(turn + 1, None)):
        if len(time[piece]) > 1:
            t, low, middle, high = (values[piece] for values in (time, lower, mean, upper))
            ax.fill_between(t, low, high, color=color, alpha=0.25, lw=0, zorder=3)
            ax.plot(t, middle, color=color, linewidth=1.8, path_effects=halo(ax, 3.0), zorder=4)
