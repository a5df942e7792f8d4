"""Samples of an embedding with the learned graph over them."""

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.ticker import MaxNLocator

from .._docs import PICTURES, documented
from .._typing import Floats, Ints
from ..graph.nearest_edge import nearest_on_edges
from .coloring import PALETTE, resolve_color
from .points import LEAST_BINNED_POINTS, draw_lines, draw_points
from .scene import Scene, colors_for, scene_of, values_of
from .style import add_key, check_legend, halo, ink, is_3d, new_axes, note, plain, tidy

# More names than these would hide the picture: then the most important are left.
MOST_NAMES, LEAST_NAMES = 40, 12
# A line as thick as this part of the picture hides samples that are nearer to it; how near they
# are is measured on so many.
HUGGED, MOST_MEASURED = 0.006, 2000
# Of more edges the longest are drawn.
MOST_LINES = 100_000


@documented(PICTURES)
def plot_embedding(
    embedding: Any,
    nodes: Any = None,
    tree: Any = None,
    *,
    color: Any = None,
    color_name: str | None = None,
    kind: str | None = None,
    palette: Any = None,
    cmap: Any = None,
    center: float | None = None,
    dims: int = 2,
    components: Any = None,
    axis_names: Any = None,
    milestones: bool = True,
    legend: str = "auto",
    size: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw an embedding, and the tree, curve or graph that was learned with it.

    Up to 5,000 samples are shapes in a vector file, more are rasterised, and from 200,000 on each
    pixel shows the mean or the most frequent category of its samples
    (`branchwise.plotting.points.draw_points`). Of more than 100,000 edges the longest are drawn.

    Parameters
    ----------
    embedding : Trajectory, fitted SPL, DRTree or DDRTree, or array of shape (n_samples, n_columns)
        A trajectory has milestones and roots, too, and its space is in units of the data. The graph
        of SPL has edges the wider and darker the larger their weights; with
        ``loss="equality"`` those with negative weights are orange.
    nodes : array of shape (n_nodes, n_columns) or None, default=None
        With an array of samples: the nodes of the graph; None: the samples.
    tree : matrix of shape (n_nodes, n_nodes), array of shape (n_edges, 2) or None, default=None
        With an array of samples: the graph, as `branchwise.trajectory.Trajectory` takes it.
    color : sequence of length n_samples, str or None, default=None
        Values to colour the samples by: text, booleans and categoricals are categories, with a
        legend of their counts; numbers have a colour bar; missing values are grey. For a
        trajectory also a column of its ``samples_``, as "pseudotime" or "branch". A colour of
        matplotlib's is that of all samples.
    {color_name}
    kind : {"category", "number"} or None, default=None
        How to take the values; None: by their type.
    {palette}
    cmap : str, Colormap or None, default=None
        Colours of the numbers; None: "viridis".
    center : float or None, default=None
        The number in the middle of a diverging scale; None: no such scale.
    dims : {2, 3}, default=2
        Dimensions of the picture.
    components : sequence of ``dims`` ints or None, default=None
        The columns to draw; None: the first ones.
    axis_names : sequence of ``dims`` str or None, default=None
        None: the names of the estimator's or the table's columns.
    milestones : bool, default=True
        Name tips and forks of a trajectory, or the first twelve of more than 40, and mark its
        roots, if any was given or samples are coloured by pseudotime.
    {legend}
    size : float or None, default=None
        Area of a sample, in squared points of typography; None: by their number.
    {ax}

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> from branchwise import DDRTree
    >>> from branchwise.plotting import plot_embedding
    >>> iris = load_iris()
    >>> model = DDRTree(random_state=0).fit(iris.data)
    >>> ax = plot_embedding(model, color=iris.target_names[iris.target], color_name="species")
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['setosa (50)', 'versicolor (50)', 'virginica (50)']
    >>> ax.get_xlabel()
    'ddrtree0'
    >>> matplotlib.pyplot.close(ax.figure)
    """
    scene = scene_of(embedding, nodes, tree)
    check_legend(legend)
    columns = check_components(components, dims, scene.points.shape[1])
    labels = check_axis_names(axis_names, scene.axis_names, columns)
    values = values_of(embedding, color)
    is_time = isinstance(color, str) and color.startswith("pseudotime")
    if not scene.has_given_root and not is_time:
        scene = scene._replace(roots=scene.roots[:0])
    if isinstance(color, str) and color_name is None and not isinstance(values, str):
        color_name = color.replace("_", " ")
    coloring = resolve_color(
        values,
        len(scene.points),
        name=color_name,
        kind=kind,
        palette=palette,
        colors=colors_for(embedding, color),
        cmap=cmap,
        center=center,
    )
    if dims == 2 and len(scene.points) >= LEAST_BINNED_POINTS:
        # Pixels have no markers.
        coloring = replace(coloring, markers=("o",) * len(coloring.markers))
    ax = new_axes(ax, dims)
    points = scene.points[:, columns]
    n_drawn = draw_points(ax, points, coloring, size=size)
    if scene.edges is not None:
        draw_graph(ax, scene, columns)
        if milestones and scene.milestones is not None:
            draw_milestones(ax, scene, columns)
    finish_axes(ax, labels)
    if n_drawn < len(points):
        note(ax, f"{n_drawn:,} of {len(points):,} samples drawn")
    add_key(ax, coloring, points, legend=legend)
    return ax


def check_components(components: Any, dims: int, n_columns: int) -> list[int]:
    """The columns to draw."""
    if dims not in (2, 3):
        raise ValueError(f"dims={dims!r} must be 2 or 3.")
    if n_columns < dims:
        raise ValueError(
            f"embedding has {n_columns} column(s) but the picture needs {dims}; fit with "
            f"n_components={dims} or more."
        )
    if components is None:
        return list(range(dims))
    chosen = np.asarray(components)
    if chosen.shape != (dims,) or chosen.dtype.kind not in "iu":
        raise ValueError(
            f"components={components!r} must be {dims} column numbers, as dims={dims}."
        )
    wrong = [int(k) for k in chosen if not 0 <= k < n_columns]
    if wrong:
        raise ValueError(
            f"components has {wrong[0]}, but the columns of the embedding are 0 to {n_columns - 1}."
        )
    return [int(k) for k in chosen]


def check_axis_names(given: Any, names: list[str], columns: list[int]) -> list[str]:
    """A name for each axis of the picture."""
    if given is None:
        return [names[k] for k in columns]
    if isinstance(given, str) or len(given) != len(columns):
        raise ValueError(
            f"axis_names={given!r} must be {len(columns)} names, one for each axis of the picture."
        )
    return [str(name) for name in given]


def draw_graph(ax: Axes, scene: Scene, columns: list[int]) -> None:
    """The edges: over the samples, or beneath them if the samples are the nodes."""
    ends = scene.nodes[:, columns][scene.edges]
    chosen = np.arange(len(ends))
    if len(ends) > MOST_LINES:
        # Of so many, most are within a pixel or two, and drawing them takes a minute.
        lengths = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
        chosen = np.sort(np.argsort(-lengths, kind="stable")[:MOST_LINES])
    starts, stops = ends[chosen].transpose(1, 0, 2)
    dark, pale = ink(ax)
    if scene.weights is not None:
        weights = scene.weights[chosen]
        part = np.sqrt(np.abs(weights) / np.abs(scene.weights).max())
        colors = np.where(weights[:, np.newaxis] < 0, to_rgb(PALETTE[1]), to_rgb(dark))
        draw_lines(
            ax,
            starts,
            stops,
            color=np.column_stack([colors, 0.15 + 0.75 * part]),
            linewidths=0.3 + 1.5 * part,
            zorder=1.5,
        )
    elif scene.samples_are_nodes:
        draw_lines(ax, starts, stops, color=dark, alpha=0.7, linewidths=0.8, zorder=1.5)
    elif len(ends) and is_hugged(scene, columns):
        draw_lines(ax, starts, stops, color=dark, linewidths=0.8, zorder=3)
    else:
        # A pale edge keeps the lines apart from dark samples.
        draw_lines(ax, starts, stops, color=pale, linewidths=2.8, alpha=0.8, zorder=2.9)
        draw_lines(ax, starts, stops, color=dark, zorder=3)


def is_hugged(scene: Scene, columns: list[int]) -> bool:
    """Whether most samples lie so near to the graph that a thick line would hide them."""
    points = scene.points[:, columns].astype(np.float64)
    some = points[:: -(-len(points) // MOST_MEASURED)]
    distance = nearest_on_edges(some, scene.nodes[:, columns].astype(np.float64), scene.edges)[2]
    return bool(np.median(distance) < HUGGED * np.ptp(points, axis=0).max())


def draw_milestones(ax: Any, scene: Scene, columns: list[int]) -> None:
    """The names of tips and forks beside them, and a ring at each root."""
    nodes = scene.nodes[:, columns]
    dark, pale = ink(ax)
    options = {"depthshade": False} if is_3d(ax) else {}
    ax.scatter(
        *nodes[scene.roots].T,
        s=55,
        facecolors=pale,
        edgecolors=dark,
        linewidths=1.6,
        zorder=4,
        **options,
    )
    style = {
        "color": dark,
        "weight": "bold",
        "fontsize": "small",
        "linespacing": 0.9,
        "path_effects": halo(ax),
        "zorder": 5,
    }
    if not is_3d(ax):  # room for names beside the tips
        low, high = nodes.min(axis=0), nodes.max(axis=0)
        ax.update_datalim(np.array([low - 0.1 * (high - low), high + 0.1 * (high - low)]))
    names = list(scene.milestones.items())
    for name, node in names if len(names) <= MOST_NAMES else names[:LEAST_NAMES]:
        shift = 9 * away(node, nodes, scene.edges)[:2]
        text = f"{name}\nroot" if node in scene.roots else name
        if is_3d(ax):
            ax.text(*nodes[node], "   " + text.replace("\n", " "), va="center", **style)
        else:
            ax.annotate(
                text,
                nodes[node],
                xytext=shift,
                textcoords="offset points",
                ha="left" if shift[0] > 3 else "right" if shift[0] < -3 else "center",
                va="center" if abs(shift[0]) > 3 else "bottom" if shift[1] > 0 else "top",
                **style,
            )


def away(node: int, nodes: Floats, edges: Ints) -> Floats:
    """The direction from a node that is farthest from all its edges.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.plotting.embedding import away
    >>> away(0, np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0, 1]])).round(2) + 0.0
    array([-1.,  0.])
    """
    here = edges[(edges == node).any(axis=1)]
    others = np.where(here[:, 0] == node, here[:, 1], here[:, 0])
    angles = np.sort(np.arctan2(*(nodes[others] - nodes[node]).T[1::-1]))
    if not len(angles):
        return np.array([np.sqrt(0.5), np.sqrt(0.5)])
    gaps = np.diff(angles, append=angles[0] + 2 * np.pi)
    widest = int(np.argmax(gaps))
    middle = angles[widest] + gaps[widest] / 2
    return np.array([np.cos(middle), np.sin(middle)])


def finish_axes(ax: Any, labels: list[str]) -> None:
    """Names of the axes; one unit is as long on one as on another."""
    ax.set_xlabel(plain(labels[0]))
    ax.set_ylabel(plain(labels[1]))
    if is_3d(ax):
        ax.set_zlabel(plain(labels[2]))
        for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
            axis.set_major_locator(MaxNLocator(5))
        ax.tick_params(labelsize="small")
        ax.set_aspect("equal")
    else:
        ax.set_aspect("equal", adjustable="datalim")
    tidy(ax)
