"""A trajectory as a rooted tree: pseudotime along it, branches side by side."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.path import Path

from .._docs import PICTURES, documented
from .._typing import Bools, Floats
from ..trajectory import Trajectory
from ..trajectory.layout import TreeLayout, tree_layout
from .labels import add_label, milestone_labels, place_labels
from .points import draw_lines, draw_points, inches
from .scene import branch_labels, check_path, coloring_of, names_of_roots, unsure_branches
from .style import DASHES, UNSURE_NOTE, add_key, check_legend, foot_note, ink, new_axes, tidy

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
    root are equally long: its two halves are drawn at either end, and a dotted line joins the
    places that are one. Beside every branch stands how many samples it has and, after a bootstrap,
    its support; branches that were found again in fewer than 80 % of the resamples are dashed.

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
    >>> [text.get_text() for text in ax.texts][:4]
    ['T1\nroot', 'T2', 'T3', 'F1']
    >>> matplotlib.pyplot.close(ax.figure)
    """
    check_path(path)
    check_legend(legend)
    coloring = coloring_of(path, color, color_name, palette)
    found = tree_layout(path)
    height = found.room[:, 1].max()
    ax = new_axes(ax, figsize=(7.5, layout_height(path)))
    latest = found.times.max() or 1.0
    ax.set(xlim=(-0.07 * latest, 1.07 * latest), ylim=(-0.1, height + 0.1))
    draw_points(ax, found.samples, coloring, square=False)
    lines = draw_arms(ax, found, latest, unsure_branches(path))
    n_tips = sum(name[0] == "T" for name in found.names)
    fits = int(inches(ax)[1] / NAME_HEIGHT)
    most = len(found.names) if n_tips <= fits else fits
    roots = names_of_roots(path)
    labels = milestone_labels(ax, found.names, found.milestones, roots, most)
    if len(found.branch) <= fits:
        labels += arm_labels(ax, path, found)
    place_labels(ax, labels, found.samples, lines)
    ax.set(xlim=(-0.07 * latest, 1.07 * latest), ylim=(-0.1, height + 0.1))
    ax.set_xlabel("pseudotime")
    ax.set_yticks([])
    tidy(ax)
    ax.spines["left"].set_visible(False)
    if unsure_branches(path).any():
        foot_note(ax, UNSURE_NOTE, 30)  # below the name of the axis
    add_key(ax, coloring, found.samples, legend=legend)
    return ax


def layout_height(path: Trajectory) -> float:
    """Inches that a figure of the layout needs, with a name and a number beside every branch."""
    n_arms = sum(name[0] == "T" for name in path.view.branches.milestones)
    return float(np.clip(1.4 + 0.55 * n_arms, 2.5, 10.0))


def arm_labels(ax: Axes, path: Trajectory, found: TreeLayout) -> list[Any]:
    """The number of samples and the support beside the middle of every branch."""
    middle = np.column_stack([found.times.mean(axis=1), found.across])
    return [
        add_label(ax, label.text.replace("\n", ", "), middle[k], fontsize="x-small")
        for k, label in enumerate(branch_labels(path))
    ]


def draw_arms(ax: Axes, found: TreeLayout, latest: float, unsure: Bools) -> Floats:
    """Lines along the branches, across from fork to fork, and dotted where a cycle was cut."""
    (begin, stop), across = found.times.T, found.across
    forks = found.milestones[found.start]
    ends = np.column_stack([stop, across])
    corners = np.column_stack([begin, across])
    is_sure = ~unsure[found.branch]
    dark, _ = ink(ax)
    starts, stops = np.vstack([corners, forks]), np.vstack([ends, corners])
    both = np.tile(is_sure, 2)
    draw_lines(ax, starts[both], stops[both], color=dark)
    for arm in np.flatnonzero(~is_sure):
        course = np.array([forks[arm], corners[arm], ends[arm]])
        ax.plot(*course.T, color=dark, linewidth=1.4, linestyle=DASHES, zorder=3)
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
                edgecolors=dark,
                linewidths=1.2,
                linestyles=":",
                zorder=3,
                transform=ax.transData,
                clip_on=False,
            )
        )
    return np.stack([starts, stops], axis=1)
