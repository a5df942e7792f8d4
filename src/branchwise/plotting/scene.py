"""What there is to draw in a result: samples, nodes, edges, names, and what colours samples."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.colors import is_color_like
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .._compat import import_pandas
from .._messages import listed
from .._typing import Bools, Floats, Ints
from ..model_selection import check_learner
from ..trajectory import Trajectory
from ..trajectory.axes import tree_axes
from ..trajectory.checks import check_geometry, check_order, check_positions
from ..trajectory.flat import flat_tree
from ..trajectory.layout import branch_middles
from ..trajectory.sentences import SURE
from .coloring import (
    BRANCH_COLORS,
    CATEGORY_COLORS,
    MOST_CATEGORIES,
    PALETTE,
    Coloring,
    resolve_color,
)

# Beside more branches numbers would hide the picture.
MOST_BRANCH_LABELS = 40


class Scene(NamedTuple):
    """Samples in a space, and a graph in the same space."""

    points: Floats  # (n_samples, n_components)
    axis_names: list[str]
    nodes: Any = None  # (n_nodes, n_components), or None without a graph
    edges: Any = None  # (n_edges, 2)
    weights: Any = None  # (n_edges,), or None where all edges are alike
    samples_are_nodes: bool = False
    milestones: Any = None  # name -> node, the most important first
    roots: Ints = np.empty(0, dtype=np.intp)
    has_given_root: bool = False  # and not only one to start at for want of any other
    branches: tuple["BranchLabel", ...] = ()
    courses: tuple[Ints, ...] = ()  # nodes along branches that resamples do not find again
    closings: Ints = np.empty((0, 2), dtype=np.intp)  # pairs of nodes that are one
    is_flat: bool = False  # whether the tree is drawn flat, without axes


class BranchLabel(NamedTuple):
    """What is written beside a branch, and where: at a part of an edge."""

    text: str
    edge: int
    part: float


def scene_of(embedding: Any, nodes: Any = None, tree: Any = None) -> Scene:
    """What there is to draw in a trajectory, a fitted estimator, or arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.plotting.scene import scene_of
    >>> scene = scene_of(np.eye(3), np.eye(3), [[0, 1], [1, 2]])
    >>> scene.edges.tolist(), scene.axis_names
    ([[0, 1], [1, 2]], ['component 1', 'component 2', 'component 3'])
    """
    is_result = isinstance(embedding, Trajectory) or hasattr(embedding, "fit")
    if is_result and (nodes is not None or tree is not None):
        raise ValueError(
            f"nodes and tree are those of the {type(embedding).__name__}; leave them out, or pass "
            "an array of samples with them."
        )
    if isinstance(embedding, Trajectory):
        return of_trajectory(embedding)
    if is_result:
        return of_estimator(embedding)
    return of_arrays(embedding, nodes, tree)


def of_trajectory(path: Trajectory) -> Scene:
    """Samples, graph, milestones and roots of a trajectory."""
    points = path.view.points
    model = path.estimator_
    names = component_names(points) if model is None else list(model.get_feature_names_out())
    return Scene(
        points,
        names,
        path.nodes_,
        path.edges_,
        # As in a trajectory of SPL or DRTree, where edges would hide the samples.
        samples_are_nodes=np.array_equal(points, path.nodes_),
        milestones=path.milestones_["node"].to_dict(),
        roots=path.roots_,
        has_given_root=bool(path.view.roots),
        branches=branch_labels(path),
        courses=unsure_courses(path),
    )


def branch_labels(path: Trajectory) -> tuple[BranchLabel, ...]:
    """The number of samples on every branch and, if there are resamples, its support.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.plotting.scene import branch_labels
    >>> from branchwise.trajectory import Trajectory
    >>> [label.text for label in branch_labels(Trajectory([[0, 1]], np.eye(2)))]
    ['n = 2']
    """
    table = path.branch_table_
    if len(table) > MOST_BRANCH_LABELS:
        return ()
    support = table["support"] if "support" in table else np.full(len(table), np.nan)
    texts = [
        f"n = {n:,}" + ("" if np.isnan(part) else f"\n{100 * part:.0f} % support")
        for n, part in zip(table["n_samples"], support, strict=True)
    ]
    edge, part = branch_middles(path)
    return tuple(map(BranchLabel, texts, edge.tolist(), part.tolist()))


def unsure_branches(path: Trajectory) -> Bools:
    """Branches that are found again in fewer resamples than would make them sure."""
    table = path.branch_table_
    if "support" not in table:
        return np.zeros(len(table), dtype=bool)
    return np.asarray(table["support"].to_numpy(dtype=float) < SURE)


def unsure_courses(path: Trajectory) -> tuple[Ints, ...]:
    """The nodes along each branch that is not sure, in their order."""
    found, edges = path.view.branches.found, path.edges_
    courses = []
    for branch in np.flatnonzero(unsure_branches(path)):
        own = np.flatnonzero(found.of_edge == branch)
        ends = np.where(found.sign[own][:, np.newaxis] > 0, edges[own], edges[own][:, ::-1])
        early = np.minimum(found.start[own], (found.start + found.sign * path.lengths_)[own])
        ends = ends[np.argsort(early, kind="stable")]
        courses.append(np.append(ends[:, 0], ends[-1, 1]))
    return tuple(courses)


def of_estimator(model: Any) -> Scene:
    """Embedding and graph of a fitted estimator: its tree, or the weighted graph of SPL."""
    check_learner(model)
    check_is_fitted(model)
    points, names = model.projection_, list(model.get_feature_names_out())
    if len(points) == 0:
        raise ValueError(
            f"the {type(model).__name__} was fitted to a Dask array and does not have its points; "
            "draw Trajectory.from_estimator(model, points=model.project(X))."
        )
    is_spl = hasattr(model, "graph_")
    upper = sparse.triu(model.graph_ if is_spl else model.tree_, 1).tocoo()
    return Scene(
        points,
        names,
        model.skeleton_ if is_spl else model.centers_,
        np.column_stack([upper.row, upper.col]),
        varying(upper.data),
    )


def of_arrays(embedding: Any, nodes: Any, tree: Any) -> Scene:
    """Samples, and the graph if there is one."""
    points = check_positions(embedding, "embedding")
    columns = getattr(embedding, "columns", None)
    names = component_names(points) if columns is None else [str(name) for name in columns]
    if tree is None and nodes is None:
        return Scene(points, names)
    if tree is None:
        raise ValueError("nodes are given without tree; pass both, or neither.")
    positions, edges = check_geometry(tree, points if nodes is None else nodes)
    if positions.shape[1] != points.shape[1]:
        raise ValueError(
            f"nodes has {positions.shape[1]} column(s) but embedding has {points.shape[1]}; pass "
            "both in the same space."
        )
    is_matrix = sparse.issparse(tree) or np.shape(tree) == (len(positions),) * 2
    weights = sparse.csr_array(tree)[edges[:, 0], edges[:, 1]] if is_matrix else None
    return Scene(
        points,
        names,
        positions,
        edges,
        None if weights is None else varying(np.asarray(weights).ravel()),
        samples_are_nodes=nodes is None or np.array_equal(points, positions),
    )


def flat_scene(result: Any, scene: Scene) -> Scene:
    """The same scene as a flat drawing of the tree."""
    path = result if isinstance(result, Trajectory) else Trajectory.from_estimator(result)
    drawn = flat_tree(path)
    return scene._replace(
        points=drawn.samples,
        axis_names=["", ""],
        nodes=drawn.nodes,
        edges=drawn.edges,
        weights=None,
        closings=drawn.closings,
        is_flat=True,
    )


def scene_on_axes(scene: Scene, dims: int) -> Scene:
    """The same scene in the linear axes that show its graph best, named by what they show of it."""
    start = int(scene.roots[0]) if len(scene.roots) else None
    found = tree_axes(scene.nodes, scene.edges, scene.points, start, dims)
    return scene._replace(
        points=scene.points @ found.axes,
        nodes=scene.nodes @ found.axes,
        axis_names=[f"tree axis {k + 1} ({100 * s:.0f} %)" for k, s in enumerate(found.shares)],
    )


def scene_on_columns(scene: Scene, columns: list[int]) -> Scene:
    """The same scene in some of its columns."""
    return scene._replace(
        points=scene.points[:, columns],
        nodes=None if scene.nodes is None else scene.nodes[:, columns],
        axis_names=[scene.axis_names[k] for k in columns],
    )


def component_names(points: Floats) -> list[str]:
    """Names for columns that have none."""
    return [f"component {k + 1}" for k in range(points.shape[1])]


def varying(weights: Floats) -> Floats | None:
    """Weights that say something; none if all are the same."""
    return weights if len(weights) and np.ptp(weights) > 0 else None


def values_of(result: Any, color: Any) -> Any:
    """Values to colour the samples by; those of a trajectory have names.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.plotting.scene import values_of
    >>> from branchwise.trajectory import Trajectory
    >>> path = Trajectory([[0, 1]], np.array([[0.0, 0.0], [4.0, 0.0]]))
    >>> values_of(path, "pseudotime").tolist()
    [0.0, 4.0]
    """
    if not isinstance(result, Trajectory):
        return color
    if not isinstance(color, str):
        check_order(color, result.names_, "color")
        return color
    if color == "branch":
        pandas = import_pandas()
        order = result.branch_table_.index
        return pandas.Series(pandas.Categorical(result.branches_, order), name="branch")
    if color in result.samples_.columns:
        return result.samples_[color]
    if not is_color_like(color):
        raise ValueError(
            f"color={color!r} is neither a column of samples_ "
            f"({listed(result.samples_.columns)}) nor a colour; pass one of these, or one value "
            "for each sample."
        )
    return color


def colors_for(result: Any, color: Any) -> tuple[str, ...]:
    """Colours for the categories in `values_of`: branches have others than what users name.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.plotting.coloring import BRANCH_COLORS
    >>> from branchwise.plotting.scene import colors_for
    >>> from branchwise.trajectory import Trajectory
    >>> colors_for(Trajectory([[0, 1]], np.eye(2)), "branch") == BRANCH_COLORS
    True
    """
    is_branch = isinstance(result, Trajectory) and isinstance(color, str) and color == "branch"
    return BRANCH_COLORS if is_branch else CATEGORY_COLORS


def check_path(path: Any) -> None:
    """A trajectory, of which there are branches to draw."""
    if not isinstance(path, Trajectory):
        raise TypeError(
            f"path is a {type(path).__name__} but must be a Trajectory; make one with "
            "Trajectory.from_estimator or learn_trajectory."
        )


def coloring_of(
    path: Trajectory, color: Any = None, color_name: str | None = None, palette: Any = None
) -> Coloring:
    """What samples of a trajectory are coloured by.

    Parameters
    ----------
    path : Trajectory
    color : sequence of length n_samples, column of ``samples_``, a colour, or None, default=None
        None: the branch or, of more than 16 branches, nothing.
    color_name : str or None, default=None
    palette : dict, sequence of colours or None, default=None

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.plotting.scene import coloring_of
    >>> from branchwise.trajectory import Trajectory
    >>> path = Trajectory([[0, 1], [1, 2], [1, 3]], np.eye(4))
    >>> coloring_of(path).labels
    ('T1-F1', 'F1-T2', 'F1-T3')
    """
    if color is None:
        # Where branches are too many for colours, their places tell them apart.
        color = "branch" if len(path.branch_table_) <= MOST_CATEGORIES else PALETTE[0]
    return resolve_color(
        values_of(path, color),
        len(path.names_),
        name=color_name,
        palette=palette,
        colors=colors_for(path, color),
    )


def branch_coloring(path: Trajectory, rows: Ints | None = None) -> Coloring:
    """Samples by branch, each of these in the same colour in all pictures of a trajectory.

    Of more than 16 branches, though, some that are drawn by themselves get all the colours.

    Parameters
    ----------
    path : Trajectory
    rows : array of int or None, default=None
        Branches that are drawn; None: all.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.plotting.scene import branch_coloring
    >>> from branchwise.trajectory import Trajectory
    >>> branch_coloring(Trajectory([[0, 1]], np.eye(2))).colors.round(2)
    array([[0.41, 0.06, 0.47, 1.  ]])
    """
    names, codes = path.branch_table_.index, path.view.branches.placed.edge
    if rows is not None and len(names) > MOST_CATEGORIES:
        number = np.full(len(names), -1)
        number[rows] = np.arange(len(rows))
        names, codes = names[rows], number[codes]
    values = import_pandas().Categorical.from_codes(codes, categories=names)
    return resolve_color(values, len(codes), name="branch", colors=BRANCH_COLORS)


def branch_colors(path: Trajectory, rows: Ints) -> Floats:
    """The colours of some branches in `branch_coloring`.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.plotting.scene import branch_colors
    >>> from branchwise.trajectory import Trajectory
    >>> branch_colors(Trajectory([[0, 1]], np.eye(2)), np.array([0])).round(2)
    array([[0.41, 0.06, 0.47, 1.  ]])
    """
    coloring = branch_coloring(path, rows)
    row = {label: k for k, label in enumerate(coloring.labels)}
    # Branches that are too many for colours of their own share the last one.
    return coloring.colors[[row.get(name, -1) for name in path.branch_table_.index[rows]]]


def names_of_roots(path: Trajectory) -> set[str]:
    """The milestones at which time begins."""
    milestones = path.view.branches.found.milestones
    return {path.view.branches.milestones[k] for k in np.searchsorted(milestones, path.roots_)}
