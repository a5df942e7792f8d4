"""The graph of branches: a disc or pie for each, as large as it has samples."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_rgba
from matplotlib.path import Path
from matplotlib.transforms import IdentityTransform

from .._docs import PICTURES, documented
from .._messages import listed
from .._typing import Bools, Floats
from ..trajectory import Trajectory
from ..trajectory.checks import check_order
from ..trajectory.layout import GraphLayout, graph_in_space, stepwise_graph
from ..trajectory.sentences import SURE
from .coloring import MISSING, Coloring, resolve_color
from .labels import milestone_labels, place_labels
from .points import inches
from .scene import check_path, coloring_of, names_of_roots
from .style import DASHES, UNSURE_NOTE, add_key, check_legend, foot_note, halo, ink, new_axes, tidy

LAYOUTS = ("tree", "embedding")
# Of a disc, in points of typography.
MOST_RADIUS = 26.0
# Around the outermost discs, for text, in the same unit.
EDGE = 16.0
# More would be illegible.
MOST_NAMES = 60


@documented(PICTURES)
def plot_branch_graph(
    path: Trajectory,
    *,
    labels: Any = None,
    label_name: str | None = None,
    palette: Any = None,
    support: Any = None,
    layout: str = "tree",
    legend: str = "auto",
    ax: Axes | None = None,
) -> Axes:
    """Draw the branches of a trajectory as a graph of discs, with their sizes and what is in them.

    Every branch is a disc on the line between its two milestones. The area of the disc is
    proportional to the number of samples on the branch, which is written below it. With labels, the
    discs are pie charts. A branch without samples is a small cross.

    Parameters
    ----------
    path : Trajectory
    labels : sequence of length n_samples or None, default=None
        A category for each sample; missing ones are grey. None: discs in the colours of the
        branches, if there are no more than 16.
    label_name : str or None, default=None
        What the labels are; None: the name of a pandas Series.
    palette : dict, sequence of colours or None, default=None
        Colours of the labels, or of the branches.
    support : Support or None, default=None
        What ``path.support`` returned; None: what the trajectory knows itself. Lines are the wider
        the more often their branch was found again, dashed below 80 %, and the part of the
        resamples is written below the number of samples.
    layout : {"tree", "embedding"}, default="tree"
        "tree": from the root on the left, by steps, all branches equally long; lines that close a
        cycle are dotted. "embedding": as the graph runs in the first two dimensions.
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
    >>> from branchwise.plotting import plot_branch_graph
    >>> from branchwise.trajectory import learn_trajectory
    >>> data = make_tree(300, 10, noise=0.1, random_state=0)  # simulated
    >>> path = learn_trajectory(data.X, support=0)
    >>> ax = plot_branch_graph(path, labels=data.pseudotime > 0.5, label_name="late")
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['False (...)', 'True (...)']
    >>> matplotlib.pyplot.close(ax.figure)
    """
    check_path(path)
    check_legend(legend)
    if layout not in LAYOUTS:
        raise ValueError(f"layout={layout!r} must be 'tree' or 'embedding'.")
    if layout == "embedding" and path.nodes_.shape[1] < 2:
        raise ValueError(
            "layout='embedding' needs two dimensions but the nodes have one; pass layout='tree'."
        )
    strength = check_support(path, support)
    if labels is None:
        coloring = coloring_of(path, palette=palette)
    else:
        check_order(labels, path.names_, "labels")
        coloring = resolve_color(
            labels,
            len(path.names_),
            name=label_name,
            kind="category",
            palette=palette,
            parameter="labels",
        )
    found = stepwise_graph(path) if layout == "tree" else graph_in_space(path)
    spots = np.vstack([found.milestones, found.branches, found.curves.reshape(-1, 2)])
    span = np.maximum(np.ptp(spots, axis=0), 1.0 if layout == "tree" else 1e-12)
    ax = new_axes(ax, figsize=figure_size(span) if layout == "tree" else (6.5, 5.0))
    widths = np.full(len(found.branches), 1.6)
    if strength is not None:
        widths = 0.8 + 2.7 * np.nan_to_num(strength)
    unsure = np.zeros(len(widths), dtype=bool) if strength is None else strength < SURE
    draw_graph(ax, found, widths, unsure)
    if unsure.any():
        foot_note(ax, UNSURE_NOTE, 0 if layout == "tree" else 30)
    counts = np.bincount(path.view.branches.placed.edge, minlength=len(found.branches))
    room = inches(ax) * 72
    if layout == "tree":
        # A third of the distance between two of them, once there is room at the edges.
        most = float(np.clip((room - 2 * EDGE) / (3 * span + 2), 2.0, MOST_RADIUS).min())
    else:
        most = min(MOST_RADIUS, float(0.15 * np.sqrt(room.prod() / len(counts))))
    radii = most * np.sqrt(counts / max(counts.max(), 1))
    draw_pies(ax, found.branches, radii, shares_of(path, coloring, len(counts)), coloring)
    if len(counts) <= MOST_NAMES:
        write_sizes(ax, found.branches, radii, counts, strength)
    names = path.view.branches.milestones
    ax.scatter(found.milestones[:, 0], found.milestones[:, 1], s=14, color="0.15", zorder=4)
    labels = milestone_labels(ax, names, found.milestones, names_of_roots(path), MOST_NAMES)
    lines = np.concatenate([found.lines, found.curves[:, ::2]])
    place_labels(ax, labels, np.vstack([found.branches, found.milestones]), lines)
    # As a part of what is left without it.
    edge = np.clip((most + EDGE) / room, 0.0, 0.3)
    ax.margins(*edge / (1 - 2 * edge))
    ax.autoscale_view()
    if layout == "tree":
        ax.set_axis_off()
    else:
        ax.set(xlabel="component 1", ylabel="component 2")
        ax.set_aspect("equal", adjustable="datalim")
        tidy(ax)
    add_key(ax, coloring, found.branches, legend=legend)
    return ax


def figure_size(span: Floats) -> tuple[float, float]:
    """Of a new figure, for so many steps and so many branches side by side."""
    return (
        float(np.clip(1.8 + 1.25 * span[0], 4.5, 12.0)),
        float(np.clip(1.5 + 0.75 * span[1], 2.8, 10.0)),
    )


def check_support(path: Trajectory, support: Any) -> Floats | None:
    """The support of each branch, from a result about the same branches, or the trajectory's."""
    if support is None:
        known = path.branch_table_
        return known["support"].to_numpy(dtype=float) if "support" in known else None
    table = getattr(support, "branches_", None)
    if table is None or "support" not in table:
        raise TypeError(
            f"support is a {type(support).__name__} but must be what path.support(…) returns."
        )
    own = path.branch_table_.index
    if table.index.tolist() != own.tolist():
        raise ValueError(
            f"support is about the branches {listed(table.index)}, but the trajectory has "
            f"{listed(own)}; pass the support of this trajectory."
        )
    return table["support"].to_numpy(dtype=float)


def shares_of(path: Trajectory, coloring: Coloring, n_branches: int) -> Floats:
    """Samples of each category on each branch; the last column is of missing ones."""
    n_categories = len(coloring.colors) + 1
    category = np.where(coloring.values < 0, n_categories - 1, coloring.values)
    cell = path.view.branches.placed.edge * n_categories + category
    return np.bincount(cell, minlength=n_branches * n_categories).reshape(n_branches, -1)


def draw_graph(ax: Axes, found: GraphLayout, widths: Floats, unsure: Bools) -> None:
    """Lines along the branches; those that resamples do not find again are dashed."""
    for which, style in ((~unsure, "-"), (unsure, DASHES)):
        rows = np.flatnonzero(which[found.line_branch])
        ax.add_collection(
            LineCollection(
                list(found.lines[rows]),
                colors="0.55",
                linewidths=widths[found.line_branch[rows]],
                linestyles=[style],
                capstyle="butt" if style == DASHES else "round",
                zorder=2,
            )
        )
    codes = [Path.MOVETO, Path.CURVE3, Path.CURVE3]
    ax.add_collection(
        PathCollection(
            [Path(points, codes) for points in found.curves],
            facecolors="none",
            edgecolors="0.55",
            linewidths=widths[found.curve_branch],
            linestyles=":",
            zorder=2,
            transform=ax.transData,
        )
    )


def draw_pies(ax: Axes, places: Floats, radii: Floats, shares: Floats, coloring: Coloring) -> None:
    """Pie charts that are round on any axes: their size is in points of typography."""
    colors = np.vstack([coloring.colors, to_rgba(MISSING)])
    paths, offsets, sizes, faces = [], [], [], []
    # Large ones first, so that small ones stay visible on top of them.
    for k in np.argsort(-radii, kind="stable"):
        total = shares[k].sum()
        if not total:
            continue
        # Clockwise from the top, as a clock.
        angle = 90 - 360 * np.append(0, np.cumsum(shares[k])) / total
        for category in np.flatnonzero(shares[k]):
            whole = shares[k, category] == total
            wedge = Path.wedge(angle[category + 1], angle[category])
            paths.append(Path.unit_circle() if whole else wedge)
            offsets.append(places[k])
            sizes.append(radii[k] ** 2)
            faces.append(colors[category])
    ax.add_collection(
        PathCollection(
            paths,
            sizes=sizes,
            offsets=offsets,
            offset_transform=ax.transData,
            facecolors=faces,
            edgecolors="white",
            linewidths=0.6,
            zorder=5,
            transform=IdentityTransform(),
        ),
        autolim=False,
    )
    x, y = places[shares.sum(axis=1) == 0].T
    ax.scatter(x, y, s=24, marker="x", color="0.15", linewidths=1.0, zorder=5)
    ax.update_datalim(places)


def write_sizes(ax: Axes, places: Floats, radii: Floats, counts: Any, strength: Any) -> None:
    """The number of samples below each disc, and its support."""
    for k, place in enumerate(places):
        text = f"{counts[k]:,}"
        if strength is not None and not np.isnan(strength[k]):
            text += f"\n{100 * strength[k]:.0f} %"
        ax.annotate(
            text,
            place,
            xytext=(0, -radii[k] - 2),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize="x-small",
            color=ink(ax)[0],
            path_effects=halo(ax),
            zorder=6,
        )
