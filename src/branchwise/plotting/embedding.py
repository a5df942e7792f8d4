"""Samples of an embedding with the learned graph over them."""

from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.ticker import MaxNLocator

from .._docs import PICTURES, documented
from ..graph.nearest_edge import nearest_on_edges
from ..trajectory import Trajectory
from ..trajectory.flat import has_cycle
from .coloring import PALETTE, Coloring, resolve_color
from .labels import add_label, place_labels
from .points import LEAST_BINNED_POINTS, draw_lines, draw_points
from .scene import (
    Scene,
    colors_for,
    flat_scene,
    scene_of,
    scene_on_axes,
    scene_on_columns,
    values_of,
)
from .style import (
    DASHES,
    UNSURE_NOTE,
    add_key,
    check_legend,
    foot_note,
    halo,
    ink,
    is_3d,
    new_axes,
    note,
    plain,
    tidy,
)

# More names than these would hide the picture: then the most important are left.
MOST_NAMES, LEAST_NAMES = 40, 12
# A line as thick as this part of the picture hides samples that are nearer to it; how near they
# are is measured on so many.
HUGGED, MOST_MEASURED = 0.006, 2000
# Of more edges the longest are drawn.
MOST_LINES = 100_000
VIEWS = ("auto", "flat", "axes", "both")
# Of a new figure, in inches: all panels, one of them, and the key beside them.
MOST_WIDTH, LEAST_HEIGHT, MOST_HEIGHT, KEY_WIDTH = 12.0, 3.2, 5.0, 1.5
# Width by height of a panel.
LEAST_RATIO, MOST_RATIO = 0.6, 3.0
# What stands beside the bar of a flat drawing, after its length.
FLAT_WORDS = "in units of the data: lengths along the tree and distances from it are true"


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
    view: str = "auto",
    components: Any = None,
    axis_names: Any = None,
    milestones: bool = True,
    legend: str = "auto",
    size: float | None = None,
    ax: Any = None,
) -> Any:
    """Draw an embedding, and the tree, curve or graph that was learned with it.

    A fit of more than two components is drawn twice, side by side. On the left the tree is drawn
    flat: branches are straight, as long as they are in space, and do not cross; samples lie at
    their place along the tree and at their distance from it, all on one side
    (`branchwise.trajectory.flat`). On the right are the two linear axes that show the tree
    best (`branchwise.trajectory.axes`). Beside every branch of a trajectory stands how many samples
    it has and, after a bootstrap, in how many of the resamples it was found again; branches that
    were found in fewer than 80 % are dashed.

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
    view : {"auto", "flat", "axes", "both"}, default="auto"
        The flat drawing, the linear axes that show the graph best, or both side by side. "auto": of
        a result with more components than the picture has dimensions, both, or the flat drawing
        if ``ax`` is one Axes; of a graph with cycles, which are cut in a flat drawing, only the
        axes; otherwise the columns as they are.
    components : sequence of ``dims`` ints or None, default=None
        The columns to draw as they are, in place of a view.
    axis_names : sequence of ``dims`` str or None, default=None
        None: the names of the estimator's or the table's columns.
    milestones : bool, default=True
        Name tips and forks of a trajectory, or the first twelve of more than 40, write numbers
        beside its branches, and mark its roots, if any was given or samples are coloured by
        pseudotime.
    {legend}
    size : float or None, default=None
        Area of a sample, in squared points of typography; None: by their number.
    ax : matplotlib Axes, array of two Axes, or None, default=None
        Where to draw: two Axes for both views. None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes, or array of two Axes if both views are drawn

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> from branchwise import DDRTree
    >>> from branchwise.plotting import plot_embedding
    >>> iris = load_iris()
    >>> model = DDRTree().fit(iris.data)  # four components
    >>> flat, axes = plot_embedding(model, color=iris.target_names[iris.target])
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['setosa (50)', 'versicolor (50)', 'virginica (50)']
    >>> axes.get_xlabel()
    'tree axis 1 (97 %)'
    >>> ax = plot_embedding(model, components=(0, 1))
    >>> ax.get_xlabel()
    'ddrtree0'
    >>> matplotlib.pyplot.close("all")
    """
    scene = scene_of(embedding, nodes, tree)
    check_legend(legend)
    views = check_view(view, embedding, scene, dims, components, ax)
    values = values_of(embedding, color)
    is_time = isinstance(color, str) and color.startswith("pseudotime")
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
    scenes = [scene_in(one, embedding, scene, dims, components, axis_names) for one in views]
    # Of two views the first has the numbers of the branches.
    scenes = scenes[:1] + [one._replace(branches=()) for one in scenes[1:]]
    if not scene.has_given_root and not is_time:
        scenes = [one._replace(roots=one.roots[:0]) for one in scenes]
    axes = axes_for(ax, scenes, dims)
    for one, drawn in zip(axes, scenes, strict=True):
        draw_scene(one, drawn, coloring, size=size, milestones=milestones)
    # One legend for all views.
    add_key(axes[-1], coloring, scenes[-1].points, legend=legend)
    return axes if len(axes) > 1 else axes[0]


def check_view(
    view: str, result: Any, scene: Scene, dims: int, components: Any, ax: Any
) -> list[str]:
    """What to draw side by side: "flat", "axes" or "columns"."""
    if view not in VIEWS:
        raise ValueError(f"view={view!r} must be 'auto', 'flat', 'axes' or 'both'.")
    n_columns = scene.points.shape[1]
    if dims not in (2, 3):
        raise ValueError(f"dims={dims!r} must be 2 or 3.")
    if components is not None and view != "auto":
        raise ValueError(f"view={view!r} and components={components!r} were both given; pass one.")
    has_flat = hasattr(result, "fit") and not hasattr(result, "graph_")
    has_flat = (has_flat or isinstance(result, Trajectory)) and dims == 2
    if view in {"flat", "both"} and not has_flat:
        raise ValueError(
            f"view={view!r} needs a Trajectory, DDRTree or DRTree, and dims=2; pass "
            "Trajectory.from_estimator(model), or view='axes'."
        )
    is_result = isinstance(result, Trajectory) or hasattr(result, "fit")
    if view == "axes" and scene.edges is None:
        raise ValueError("view='axes' needs a graph to show; pass nodes and tree as well.")
    if view == "axes":
        return ["axes"] if n_columns > 1 else ["columns"]
    if view == "flat" or (view == "both" and n_columns == 1):
        return ["flat"]
    # A picture of two columns shows all that there is; of more, the columns are nothing special.
    many = n_columns > dims and components is None and is_result
    if view == "auto" and not many:
        return ["columns"]
    # A cycle can only be drawn flat if it is cut.
    if view == "auto" and (not has_flat or has_cycle(scene.edges, len(scene.nodes))):
        return ["axes"]
    return ["flat"] if view == "auto" and ax is not None and np.ndim(ax) == 0 else ["flat", "axes"]


def scene_in(
    view: str, result: Any, scene: Scene, dims: int, components: Any, axis_names: Any
) -> Scene:
    """The samples and the graph in the coordinates of one view, with the names of the axes."""
    if view == "flat":
        return flat_scene(result, scene)
    if view == "axes":
        shown = scene_on_axes(scene, dims)
        columns = list(range(shown.points.shape[1]))
    else:
        columns = check_components(components, dims, scene.points.shape[1])
        shown = scene_on_columns(scene, columns)
    names = check_axis_names(axis_names, shown.axis_names, list(range(len(columns))))
    return shown._replace(axis_names=names)


def axes_for(ax: Any, scenes: list[Scene], dims: int) -> Any:
    """Axes for each view: the given ones, or those of a new figure without blank stretches."""
    if ax is not None:
        given = np.asarray(ax, dtype=object).ravel()
        if len(given) != len(scenes):
            raise ValueError(
                f"ax holds {len(given)} Axes, but {len(scenes)} are needed, one for each view."
            )
        return np.array([new_axes(one, dims) for one in given])
    if dims == 3:
        return np.array([new_axes(dims=3)])
    return panel_grid(scenes, 1)[0]


def embedding_panels(result: Any, n_rows: int, *, view: str = "auto", figure: Any = None) -> Any:
    """Axes for pictures of one result one below the other, each with the same views.

    Parameters
    ----------
    result : Trajectory or fitted estimator
    n_rows : int
    view : {"auto", "flat", "axes", "both"}, default="auto"
        As for `plot_embedding`.
    figure : matplotlib Figure or None, default=None
        A figure to fill, whose size is changed; None makes a new one.

    Returns
    -------
    axes : array of shape (n_rows, n_views)

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from branchwise.datasets import make_tree
    >>> from branchwise.plotting.embedding import embedding_panels
    >>> from branchwise.trajectory import learn_trajectory
    >>> path = learn_trajectory(make_tree(300, 10, random_state=0).X, support=0)  # simulated
    >>> axes = embedding_panels(path, 3)
    >>> axes.shape
    (3, 2)
    >>> matplotlib.pyplot.close("all")
    """
    scene = scene_of(result)
    views = check_view(view, result, scene, 2, None, None)
    return panel_grid(
        [scene_in(one, result, scene, 2, None, None) for one in views], n_rows, figure
    )


def panel_grid(scenes: list[Scene], n_rows: int, figure: Any = None) -> Any:
    """Axes in rows, each as wide as its view needs, and a figure that is as large as all."""
    ratios = [panel_ratio(scene) for scene in scenes]
    height = float(np.clip(MOST_WIDTH / sum(ratios), LEAST_HEIGHT, MOST_HEIGHT))
    size = (height * sum(ratios) + KEY_WIDTH, n_rows * height)
    figure = plt.figure(layout="constrained") if figure is None else figure
    figure.set_size_inches(size)
    return figure.subplots(n_rows, len(scenes), squeeze=False, width_ratios=ratios)


def name_axes_once(axes: Any) -> None:
    """Of rows with the same axes, name these below the last."""
    for ax in axes[:-1].ravel():
        ax.set_xlabel("")


def panel_ratio(scene: Scene) -> float:
    """Width by height of what is drawn, so that equal units leave nothing blank."""
    places = [scene.points] if scene.nodes is None else [scene.points, scene.nodes]
    low = np.min([one.min(axis=0) for one in places], axis=0)
    high = np.max([one.max(axis=0) for one in places], axis=0)
    width, height = high - low
    if not width > 0 or not height > 0:
        return MOST_RATIO if width > 0 else LEAST_RATIO if height > 0 else 1.0
    return float(np.clip(width / height, LEAST_RATIO, MOST_RATIO))


def draw_scene(
    ax: Axes, scene: Scene, coloring: Coloring, *, size: float | None, milestones: bool
) -> None:
    """Samples, graph and names in the coordinates of one view."""
    n_drawn = draw_points(ax, scene.points, coloring, size=size)
    if scene.edges is not None:
        draw_graph(ax, scene)
        if milestones and scene.milestones is not None:
            draw_milestones(ax, scene)
    told = [UNSURE_NOTE] if scene.branches and scene.courses else []
    if scene.is_flat:
        finish_flat(ax, scene, told)
    else:
        finish_axes(ax, scene)
        if told and not is_3d(ax):
            foot_note(ax, UNSURE_NOTE, 30)  # below the name of the axis
    if n_drawn < len(scene.points):
        note(ax, f"{n_drawn:,} of {len(scene.points):,} samples drawn")


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


def draw_graph(ax: Axes, scene: Scene) -> None:
    """The edges: over the samples, or beneath them if the samples are the nodes."""
    edges, weights = scene.edges, scene.weights
    if scene.courses:
        unsure = np.sort(np.concatenate([np.stack([c[:-1], c[1:]], 1) for c in scene.courses]), 1)
        known = set(map(tuple, unsure.tolist()))
        is_sure = [tuple(edge) not in known for edge in np.sort(edges, axis=1).tolist()]
        edges = edges[is_sure]
    ends = scene.nodes[edges]
    chosen = np.arange(len(ends))
    if len(ends) > MOST_LINES:
        # Of so many, most are within a pixel or two, and drawing them takes a minute.
        lengths = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
        chosen = np.sort(np.argsort(-lengths, kind="stable")[:MOST_LINES])
    starts, stops = ends[chosen].transpose(1, 0, 2)
    dark, pale = ink(ax)
    width = 1.4
    if weights is not None:
        weights = weights[chosen]
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
    elif len(scene.edges) and is_hugged(scene):
        width = 0.8
        draw_lines(ax, starts, stops, color=dark, linewidths=width, zorder=3)
    else:
        # A pale edge keeps the lines apart from dark samples.
        draw_lines(ax, starts, stops, color=pale, linewidths=2.8, alpha=0.8, zorder=2.9)
        draw_lines(ax, starts, stops, color=dark, zorder=3)
    for course in scene.courses:
        ax.plot(*scene.nodes[course].T, color=dark, linewidth=width, linestyle=DASHES, zorder=3)
    for pair in scene.closings:
        ax.plot(*scene.nodes[pair].T, color=dark, linewidth=0.8, linestyle=":", zorder=3)


def is_hugged(scene: Scene) -> bool:
    """Whether most samples lie so near to the graph that a thick line would hide them."""
    points = scene.points.astype(np.float64)
    some = points[:: -(-len(points) // MOST_MEASURED)]
    distance = nearest_on_edges(some, scene.nodes.astype(np.float64), scene.edges)[2]
    return bool(np.median(distance) < HUGGED * np.ptp(points, axis=0).max())


def draw_milestones(ax: Any, scene: Scene) -> None:
    """The names of tips and forks, a ring at each root, and numbers beside the branches."""
    nodes = scene.nodes
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
    names = list(scene.milestones.items())
    if len(names) > MOST_NAMES:
        names = names[:LEAST_NAMES]
    ends = nodes[scene.edges]
    middles = [
        (1 - part) * ends[edge, 0] + part * ends[edge, 1] for _, edge, part in scene.branches
    ]
    if is_3d(ax):
        # Which places are free changes with every turn: names stand to the right of theirs.
        style = {"color": dark, "va": "center", "zorder": 5, "path_effects": halo(ax)}
        for name, node in names:
            text = f"   {name} root" if node in scene.roots else f"   {name}"
            ax.text(*nodes[node], text, weight="bold", fontsize="small", **style)
        for (text, *_), middle in zip(scene.branches, middles, strict=True):
            ax.text(*middle, "  " + text.replace("\n", ", "), fontsize="x-small", **style)
        return
    ax.margins(0.08)  # room for names beside the tips
    labels = [
        add_label(ax, f"{name}\nroot" if node in scene.roots else name, nodes[node], weight="bold")
        for name, node in names
    ]
    for (text, *_), middle in zip(scene.branches, middles, strict=True):
        labels.append(add_label(ax, text, middle, fontsize="x-small"))
    place_labels(ax, labels, scene.points, ends)


def finish_axes(ax: Any, scene: Scene) -> None:
    """Names of the axes; one unit is as long on one as on another."""
    ax.set_xlabel(plain(scene.axis_names[0]))
    ax.set_ylabel(plain(scene.axis_names[1]))
    if is_3d(ax):
        ax.set_zlabel(plain(scene.axis_names[2]))
        for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
            axis.set_major_locator(MaxNLocator(5))
        ax.tick_params(labelsize="small")
        ax.set_aspect("equal")
    else:
        ax.set_aspect("equal", adjustable="datalim")
    tidy(ax)


def finish_flat(ax: Axes, scene: Scene, told: list[str]) -> None:
    """A flat drawing has no axes, but a bar as long as a round number, and words below it."""
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_axis_off()
    places = np.vstack([scene.points, scene.nodes])
    low, high = places.min(axis=0), places.max(axis=0)
    span = float((high - low).max())
    if not span > 0:
        return
    length = round_length(span / 6)
    foot = low - np.array([0.0, 0.05 * span])
    dark, _ = ink(ax)
    ax.plot([foot[0], foot[0] + length], [foot[1]] * 2, color=dark, linewidth=2.0, zorder=3)
    ax.annotate(
        "\n".join([f"{length:g} {FLAT_WORDS}", *told]),
        (foot[0], foot[1]),
        xytext=(0, -3),
        textcoords="offset points",
        va="top",
        fontsize="x-small",
        color=dark,
    )


def round_length(length: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is not longer.

    Examples
    --------
    >>> from branchwise.plotting.embedding import round_length
    >>> round_length(0.7), round_length(34.0)
    (0.5, 20.0)
    """
    power = 10.0 ** np.floor(np.log10(length))
    return float(max(k * power for k in (1.0, 2.0, 5.0) if k * power <= length * (1 + 1e-9)))
