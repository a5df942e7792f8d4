"""The matrix of a graph, sorted."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import CenteredNorm, ListedColormap, LogNorm, Normalize
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .._docs import PICTURES, documented
from .._typing import Floats, Ints, Sparse
from ..model_selection import check_learner
from .coloring import DIVERGING, Coloring, named_map, resolve_color
from .points import MOST_VECTOR_SHAPES, inches
from .style import color_bar, new_axes, plain

# More rows than this are thinner than the eye, or a screen, can tell apart: they are grouped.
MOST_NODES, MOST_CELLS = 400, 200
# Categories with a smaller part of the nodes leave no room for a name.
LEAST_WIDTH = 0.025
# More letters than these in a row have to stand upright.
MOST_LETTERS = 40


@documented(PICTURES)
def plot_adjacency(
    graph: Any,
    *,
    order: Any = None,
    order_name: str | None = None,
    kind: str | None = None,
    cmap: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the adjacency matrix of a graph, its nodes in a given order.

    Sorted by a good order, a chain is a line beside the diagonal, groups are blocks on it, and
    short cuts lie far from it. Up to 400 nodes each square is the weight of an edge; more nodes are
    taken together in 200 groups, one after the other, and squares count the entries of the matrix
    that are not zero. No dense matrix of n_nodes × n_nodes is made.

    Parameters
    ----------
    graph : fitted SPL, DRTree or DDRTree, or matrix of shape (n_nodes, n_nodes)
        Of SPL its ``graph_``, of the others their ``tree_``.
    order : sequence of length n_nodes or None, default=None
        A label or a number, as pseudotime, for each node, to sort them by (the nodes of SPL and
        DRTree are the samples, those of DDRTree the centres); ties stay in the order of the
        nodes, missing values come last. None: the order of the nodes.
    order_name : str or None, default=None
        What ``order`` is; None: the name of a pandas Series.
    kind : {"category", "number"} or None, default=None
        How to take ``order``; None: by its type. Categories are separated by lines and named.
    cmap : str, Colormap or None, default=None
        None: "viridis", dark for large values; a diverging one if weights have both signs.
    {ax}

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> from branchwise import SPL
    >>> from branchwise.plotting import plot_adjacency
    >>> iris = load_iris()
    >>> model = SPL().fit(iris.data)
    >>> ax = plot_adjacency(model, order=iris.target_names[iris.target], order_name="species")
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['setosa', 'versicolor', 'virginica']
    >>> matplotlib.pyplot.close(ax.figure)
    """
    matrix = matrix_of(graph)
    n_nodes = matrix.shape[0]
    coloring = resolve_color(
        order, n_nodes, name=order_name, kind=kind, most_categories=n_nodes, parameter="order"
    )
    rank = np.empty(n_nodes, dtype=np.intp)
    rank[sorted_nodes(coloring)] = np.arange(n_nodes)
    is_counted = n_nodes > MOST_NODES
    n_cells = MOST_CELLS if is_counted else n_nodes
    row, column, values = occupied_cells(matrix, rank, n_cells)
    norm, scale = colours(values, is_counted, cmap)
    ax = new_axes(ax, figsize=(6.0, 5.0))
    width = n_nodes / n_cells
    # Squares rather than an image: a cell smaller than a pixel would be lost.
    ax.scatter(
        (column + 0.5) * width,
        (row + 0.5) * width,
        c=scale(norm(values)),
        s=max(72 * inches(ax).min() / n_cells, 1.5) ** 2,
        marker="s",
        linewidths=0,
        rasterized=len(values) > MOST_VECTOR_SHAPES,
    )
    ax.set(xlim=(0, n_nodes), ylim=(n_nodes, 0))
    ax.set_aspect("equal", adjustable="box")
    if is_counted or (len(values) and np.ptp(values) > 0):
        counted = f"non-zero entries in {width:.4g} × {width:.4g}"
        color_bar(ax, norm, scale, counted if is_counted else "weight of edge")
    name_groups(ax, coloring)
    return ax


def matrix_of(graph: Any) -> Sparse:
    """The matrix of an estimator's graph, or a given one."""
    if hasattr(graph, "fit"):
        check_learner(graph)
        check_is_fitted(graph)
        graph = graph.graph_ if hasattr(graph, "graph_") else graph.tree_
    if not sparse.issparse(graph):
        graph = np.asarray(graph)
    if graph.ndim != 2 or graph.shape[0] != graph.shape[1] or graph.dtype.kind not in "biuf":
        raise ValueError(
            f"graph has shape {graph.shape} and type {graph.dtype} but must be a fitted estimator "
            "or a square matrix of numbers, with one row and one column per node."
        )
    matrix = sparse.coo_array(graph).astype(np.float64)
    if matrix.shape[0] == 0:
        raise ValueError("graph has no nodes; pass a matrix with at least one row.")
    if not np.isfinite(matrix.data).all():
        raise ValueError("graph has weights that are not finite; replace them by 0 for no edge.")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def sorted_nodes(coloring: Coloring) -> Ints:
    """The nodes from the first to the last, missing values at the end."""
    values = coloring.values.astype(np.float64)
    values[coloring.is_missing] = np.nan
    return np.argsort(values, kind="stable")


def occupied_cells(matrix: Sparse, rank: Ints, n_cells: int) -> tuple[Ints, Ints, Floats]:
    """Row, column and value of each cell with an edge in it.

    The value is the weight, or the number of entries if there are fewer cells than nodes.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from branchwise.plotting.adjacency import occupied_cells
    >>> chain = sparse.diags_array(np.ones(3), offsets=1, shape=(4, 4)).tocoo()
    >>> row, column, count = occupied_cells(chain, np.arange(4), 2)
    >>> row.tolist(), column.tolist(), count.tolist()
    ([0, 0, 1], [0, 1, 1], [1.0, 1.0, 1.0])
    """
    n_nodes = matrix.shape[0]
    row, column = (rank[end] * n_cells // n_nodes for end in (matrix.row, matrix.col))
    weights = matrix.data if n_cells == n_nodes else np.ones(matrix.nnz)
    cells = sparse.coo_array((weights, (row, column)), shape=(n_cells, n_cells))
    cells.sum_duplicates()
    order = np.lexsort((cells.col, cells.row))
    return cells.row[order], cells.col[order], cells.data[order]


def colours(values: Floats, is_counted: bool, cmap: Any) -> tuple[Any, Any]:
    """From weights or counts to colours."""
    low, high = (float(values.min()), float(values.max())) if len(values) else (1.0, 1.0)
    if low < 0 < high:
        return CenteredNorm(0.0, max(-low, high)), named_map(cmap or DIVERGING)
    if low == high:  # one weight, as in a tree: the darkest colour
        low = high - 1
    norm = LogNorm(1, max(high, 2)) if is_counted else Normalize(low, high)
    if cmap is not None:
        return norm, named_map(cmap)
    # Without the palest yellow, which nobody sees on white.
    return norm, ListedColormap(named_map("viridis")(np.linspace(0.88, 0, 256)))


def name_groups(ax: Axes, coloring: Coloring) -> None:
    """Names of the axes, and lines between categories that are wide enough for them."""
    how = f", sorted by {plain(coloring.name)}" if coloring.name else " in the given order"
    ax.set_xlabel("nodes" if coloring.kind == "none" else f"nodes{how}")
    ax.set_ylabel(ax.get_xlabel())
    if coloring.kind != "category":
        return
    counts = np.array([*coloring.counts, coloring.is_missing.sum()])
    names, ends = [*coloring.labels, "missing"], np.cumsum(counts)
    wide = np.flatnonzero(counts >= LEAST_WIDTH * ends[-1])
    for k in wide:
        for end in (ends[k] - counts[k], ends[k]):
            ax.axhline(end, color="0.7", linewidth=0.5, zorder=0.5)
            ax.axvline(end, color="0.7", linewidth=0.5, zorder=0.5)
    middle, labels = ends[wide] - counts[wide] / 2, [plain(names[k]) for k in wide]
    are_long = sum(map(len, labels)) > MOST_LETTERS
    ax.set_yticks(middle, labels)
    ax.set_xticks(middle, labels, rotation=90 if are_long else 0)
    ax.tick_params(length=0)
