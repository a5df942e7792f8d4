"""A trajectory as a rooted tree: pseudotime along it, branches side by side."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.path import Path

from .._docs import PICTURES, documented
from ..trajectory import Trajectory
from ..trajectory.layout import TreeLayout, tree_layout
from .points import draw_lines, draw_points, inches
from .scene import check_path, coloring_of, names_of_roots
from .style import add_key, check_legend, name_milestones, new_axes, tidy

# Height of a name, in inches, with some room.
NAME_HEIGHT = 0.13


@documented(PICTURES)
def plot_layout(
    path: Trajectory,
    *,
    color: Any = None,
    color_name: str | None = None,
    palette: Any = None,
    legend: str = "auto",
    ax: Axes | None = None,
) -> Axes:
    r"""Draw a trajectory as a rooted tree, with its samples beside their branches.

    The horizontal axis is pseudotime. Branches lie side by side in the order of
    ``branch_table_``, and none crosses another; the distance between them means nothing. A branch
    is as wide as samples are dense on it, up to the room that there is. Parts that are not
    connected lie one below the other. A branch that closes a cycle is cut where both ways from the
    root are equally long: its two halves are drawn at either end, and a dashed line joins the
    places that are one.

    Parameters
    ----------
    path : Trajectory
    color : sequence of length n_samples, str or None, default=None
        What to colour samples by: categories, numbers, or a column of ``samples_``. None: their
        branch or, of more than 16 branches, nothing.
    {color_name}
    {palette}
    {legend}
    {ax}

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from branchwise.datasets import make_tree
    >>> from branchwise.plotting import plot_layout
    >>> from branchwise.trajectory import learn_trajectory
    >>> data = make_tree(300, 10, noise=0.1, random_state=0)  # simulated
    >>> ax = plot_layout(learn_trajectory(data.X, support=0))
    >>> [text.get_text() for text in ax.texts]
    ['T1\nroot', 'T2', 'T3', 'F1']
    >>> matplotlib.pyplot.close(ax.figure)
    """
    check_path(path)
    check_legend(legend)
    coloring = coloring_of(path, color, color_name, palette)
    found = tree_layout(path)
    height = found.room[:, 1].max()
    ax = new_axes(ax, figsize=(7.0, float(np.clip(1.2 + 0.42 * height, 2.5, 10.0))))
    latest = found.times.max() or 1.0
    ax.set(xlim=(-0.03 * latest, 1.03 * latest), ylim=(-0.1, height + 0.1))
    draw_points(ax, found.samples, coloring, square=False)
    draw_arms(ax, found, latest)
    roots = names_of_roots(path)
    n_tips = sum(name[0] == "T" for name in found.names)
    fits = int(inches(ax)[1] / NAME_HEIGHT)
    most = len(found.names) if n_tips <= fits else fits
    name_milestones(ax, found.names, found.milestones, roots, most, beside=True)
    ax.set(xlim=(-0.03 * latest, 1.03 * latest), ylim=(-0.1, height + 0.1))
    ax.set_xlabel("pseudotime")
    ax.set_yticks([])
    tidy(ax)
    ax.spines["left"].set_visible(False)
    add_key(ax, coloring, found.samples, legend=legend)
    return ax


def draw_arms(ax: Axes, found: TreeLayout, latest: float) -> None:
    """Lines along the branches, across from fork to fork, and dashed where a cycle was cut."""
    (begin, stop), across = found.times.T, found.across
    forks = found.milestones[found.start]
    ends = np.column_stack([stop, across])
    corners = np.column_stack([begin, across])
    draw_lines(ax, np.vstack([corners, forks]), np.vstack([ends, corners]), color="0.15")
    if len(found.closings):
        control = found.closings.mean(axis=1) + np.array([0.06 * latest, 0.0])
        codes = [Path.MOVETO, Path.CURVE3, Path.CURVE3]
        curves = [
            Path([one, middle, other], codes)
            for (one, other), middle in zip(found.closings, control, strict=True)
        ]
        ax.add_collection(
            PathCollection(
                curves,
                facecolors="none",
                edgecolors="0.15",
                linewidths=1.2,
                linestyles="--",
                zorder=3,
                transform=ax.transData,
                clip_on=False,
            )
        )
