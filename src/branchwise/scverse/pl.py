"""Pictures of what `branchwise.tl` has written: they read slots and call `branchwise.plotting`."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .._compat import import_extra, import_pandas
from .._docs import CELLS, documented
from .._messages import listed
from ..data.dask import is_dask
from ..trajectory import Trajectory
from ._adata import check_adata, column_of, gene_values, in_memory
from ._keys import UNS
from ._uns import (
    entry_of,
    find_key,
    model_of,
    present_keys,
    support_of,
    trajectory_of,
)

import_extra("matplotlib", "branchwise.pl", "anndata")
import matplotlib.pyplot as plt  # noqa: E402  (the line above says how to get it)
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.colors import is_color_like  # noqa: E402

from .. import plotting  # noqa: E402
from ..plotting.embedding import embedding_panels, name_axes_once  # noqa: E402

if TYPE_CHECKING:
    from anndata import AnnData

# As scanpy has them.
MOST_COLUMNS = 4
# Genes that trends are drawn of when none are named.
N_TRENDS = 4

__all__ = [
    "adjacency",
    "branches",
    "convergence",
    "embedding",
    "heatmap",
    "report",
    "tree",
    "trends",
    "uncertainty",
]


@documented(CELLS)
def embedding(
    adata: "AnnData",
    *,
    color: Any = None,
    key: str | None = None,
    layer: str | None = None,
    use_raw: bool = False,
    **options: Any,
) -> Any:
    """Draw the cells in the learned space, and the graph with its milestones over them.

    Of more than two components, the tree is drawn flat, with true lengths, beside the linear axes
    that show it best. ``scanpy.pl.embedding(adata, basis="ddrtree_projection")`` draws the cells
    alone, and ``basis="ddrtree"`` the cells as the fit has drawn them to the tree.

    Parameters
    ----------
    {adata}
    color : str, list of str or None, default=None
        A column of ``obs``, a gene, or "pseudotime" or "branch" of this graph; of a list, one
        row each. Categories have the colours of scanpy's pictures,
        ``uns["{color}_colors"]``, if these are there.
    {key}
    {genes_from}
    **options
        Of `branchwise.plotting.plot_embedding`: view, dims, components, palette, legend, size, …

    Returns
    -------
    ax : matplotlib Axes, or array of them: two for both views, one row of them for each colour

    Examples
    --------
    >>> import anndata
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import branchwise
    >>> from branchwise.datasets import make_tree
    >>> adata = anndata.AnnData(make_tree(200, 10, random_state=0).X)  # simulated
    >>> branchwise.tl.ddrtree(adata)  # ten components
    >>> flat, axes = branchwise.pl.embedding(adata, color="branch")
    >>> axes.get_xlabel()
    'tree axis 1 (... %)'
    >>> branchwise.pl.embedding(adata, components=(0, 1)).get_xlabel()
    'ddrtree 1'
    >>> matplotlib.pyplot.close("all")
    """
    if isinstance(color, list | tuple):
        options |= {"key": key, "layer": layer, "use_raw": use_raw}
        return _panels(embedding, adata, list(color), **options)
    key, path = trajectory_in(adata, key)
    values = color_values(adata, color, layer, use_raw)
    # Columns as they are have the names of the slot; a view has names of its own.
    dims, components = options.get("dims", 2), options.get("components")
    as_it_is = options.get("view", "auto") == "auto" and path.nodes_.shape[1] <= dims
    if "axis_names" not in options and (as_it_is or components is not None):
        columns = range(dims) if components is None else components
        options["axis_names"] = [f"{key} {column + 1}" for column in columns]
    options.setdefault("palette", colors_of(adata, values))
    return plotting.plot_embedding(path, color=values, **options)


@documented(CELLS)
def tree(
    adata: "AnnData",
    *,
    color: Any = None,
    key: str | None = None,
    layer: str | None = None,
    use_raw: bool = False,
    **options: Any,
) -> Any:
    """Draw the graph as a rooted tree over pseudotime, with the cells beside their branches.

    Parameters
    ----------
    {adata}
    color : str, list of str or None, default=None
        A column of ``obs``, a gene, or "pseudotime" or "branch" of this graph; None: the branch;
        of a list, one picture each.
    {key}
    {genes_from}
    **options
        Of `branchwise.plotting.plot_layout`: palette, legend, ax, …

    Returns
    -------
    ax : matplotlib Axes, or array of them

    Examples
    --------
    >>> import anndata
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import branchwise
    >>> from branchwise.datasets import make_tree
    >>> adata = anndata.AnnData(make_tree(200, 10, random_state=0).X)  # simulated
    >>> branchwise.tl.ddrtree(adata, n_components=3)
    >>> branchwise.tl.pseudotime(adata, root="T1")
    >>> ax = branchwise.pl.tree(adata, color="0")  # the name of a gene
    >>> ax.get_xlabel()
    'pseudotime'
    >>> matplotlib.pyplot.close(ax.figure)
    """
    if isinstance(color, list | tuple):
        options |= {"key": key, "layer": layer, "use_raw": use_raw}
        return _panels(tree, adata, list(color), **options)
    key, path = trajectory_in(adata, key)
    values = color_values(adata, color, layer, use_raw)
    options.setdefault("palette", colors_of(adata, values))
    return plotting.plot_layout(path, color=values, **options)


@documented(CELLS)
def branches(
    adata: "AnnData", *, labels: str | None = None, key: str | None = None, **options: Any
) -> Axes:
    """Draw the branches as a graph of discs: their sizes, and which cells are in them.

    After `branchwise.tl.bootstrap` lines are the wider the more often their branch was found again.

    Parameters
    ----------
    {adata}
    labels : str or None, default=None
        A column of ``obs`` with types of cells: discs become pie charts.
    {key}
    **options
        Of `branchwise.plotting.plot_branch_graph`: layout, palette, legend, ax, …

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import anndata
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import branchwise
    >>> from branchwise.datasets import make_tree
    >>> adata = anndata.AnnData(make_tree(200, 10, random_state=0).X)  # simulated
    >>> adata.obs["half"] = ["first"] * 100 + ["second"] * 100
    >>> branchwise.tl.ddrtree(adata)
    >>> ax = branchwise.pl.branches(adata, labels="half")
    >>> ax.get_legend().get_title().get_text()
    'half'
    >>> matplotlib.pyplot.close(ax.figure)
    """
    key, path = trajectory_in(adata, key)
    if labels is not None:
        options["labels"] = column_of(adata, labels, "labels")
        options.setdefault("palette", colors_of(adata, options["labels"]))
    return plotting.plot_branch_graph(path, **options)


@documented(CELLS)
def trends(
    adata: "AnnData",
    genes: Any = None,
    *,
    key: str | None = None,
    layer: str | None = None,
    use_raw: bool = False,
    **options: Any,
) -> Any:
    """Draw genes over pseudotime: a smooth curve for each branch, its band, and the cells.

    Curves are interrupted where there are no cells. After `branchwise.tl.bootstrap` the legend has
    the support of the branches, and curves of those with less than 80 % are dashed.

    Parameters
    ----------
    {adata}
    genes : str, sequence of str or None, default=None
        None: the four that change most, by `branchwise.tl.test_association`.
    {key}
    {genes_from}
    **options
        Of `branchwise.plotting.plot_trends`: branches, to, level, samples, legend, ax, …

    Returns
    -------
    ax : matplotlib Axes, or array of Axes
        One for each gene.

    Examples
    --------
    >>> import anndata
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import branchwise
    >>> from branchwise.datasets import make_tree
    >>> adata = anndata.AnnData(make_tree(200, 10, random_state=0).X)  # simulated
    >>> branchwise.tl.ddrtree(adata, n_components=3)
    >>> branchwise.tl.branches(adata, n_branches=3)
    >>> ax = branchwise.pl.trends(adata, "3")
    >>> ax.get_ylabel()
    '3'
    >>> matplotlib.pyplot.close(ax.figure)
    """
    key, path = trajectory_in(adata, key)
    if genes is None:
        genes = strongest_genes(adata, key, N_TRENDS)
    support = support_of(adata, key)
    if support is not None:
        path = path.with_support(support)
    values, names = chosen_genes(adata, genes, layer, use_raw)
    features = names[0] if isinstance(genes, str) else names
    return plotting.plot_trends(path, values, names, features=features, **options)


@documented(CELLS)
def heatmap(
    adata: "AnnData",
    genes: Any = None,
    *,
    to: Any = None,
    n_genes: int = 30,
    key: str | None = None,
    layer: str | None = None,
    use_raw: bool = False,
    **options: Any,
) -> Any:
    """Draw genes along the way from the root to a tip, those with the earliest peak on top.

    Stretches without cells are blank.

    Parameters
    ----------
    {adata}
    genes : sequence of str or None, default=None
        None: those that change most by `branchwise.tl.test_association`, on the whole tree and not
        only along this way.
    to : str, sequence of str or None, default=None
        A tip, another milestone or a branch, or several, side by side; None: the first tip that is
        not the root.
    n_genes : int, default=30
        How many of those that change most.
    {key}
    {genes_from}
    **options
        Of `branchwise.plotting.plot_heatmap`: n_bins, standardize, cmap, ax, …

    Returns
    -------
    ax : matplotlib Axes, or array of Axes
        An array if ``to`` is a sequence.

    Examples
    --------
    >>> import anndata
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import branchwise
    >>> from branchwise.datasets import make_tree
    >>> adata = anndata.AnnData(make_tree(200, 10, random_state=0).X)  # simulated
    >>> branchwise.tl.ddrtree(adata, n_components=3)
    >>> branchwise.tl.branches(adata, n_branches=3)
    >>> branchwise.tl.test_association(adata)
    >>> ax = branchwise.pl.heatmap(adata, to="T3", n_genes=5)
    >>> len(ax.get_yticklabels())
    5
    >>> matplotlib.pyplot.close(ax.figure)
    """
    key, path = trajectory_in(adata, key)
    if genes is None:
        genes = strongest_genes(adata, key, n_genes)
    values, names = chosen_genes(adata, genes, layer, use_raw)
    return plotting.plot_heatmap(path, values, names, to=to, **options)


@documented(CELLS)
def adjacency(
    adata: "AnnData", *, order: str | None = None, key: str | None = None, **options: Any
) -> Axes:
    """Draw the adjacency matrix of the learned graph; of `spl`, its weights between cells.

    Parameters
    ----------
    {adata}
    order : str or None, default=None
        A column of ``obs`` to sort the nodes by, where these are the cells (`drtree`, `spl`). None:
        pseudotime.
    {key}
    **options
        Of `branchwise.plotting.plot_adjacency`: order_name, kind, cmap, ax.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import anndata
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import branchwise
    >>> from branchwise.datasets import make_tree
    >>> adata = anndata.AnnData(make_tree(150, 10, random_state=0).X)  # simulated
    >>> branchwise.tl.spl(adata, n_neighbors=5)
    >>> ax = branchwise.pl.adjacency(adata)
    >>> matplotlib.pyplot.close(ax.figure)
    """
    key, path = trajectory_in(adata, key)
    entry = entry_of(adata, key)
    graph = entry.get(UNS.graph, entry[UNS.tree])
    if order is None:
        values = path.project(entry[UNS.centers])["pseudotime"]
    else:
        values = column_of(adata, order, "order")
        if entry[UNS.method] == "ddrtree" or len(values) != graph.shape[0]:
            raise ValueError(
                f"order={order!r} has a value for each of {len(values)} cells, but the nodes of "
                f"{key!r} are {graph.shape[0]} others; leave order out."
            )
    return plotting.plot_adjacency(graph, order=values, **options)


@documented(CELLS)
def convergence(adata: "AnnData", *, key: Any = None, **options: Any) -> Axes:
    """Draw the objective of the fits after each iteration, and how they ended.

    Parameters
    ----------
    {adata}
    key : str, sequence of str or None, default=None
        Names of the results; None: all there are.
    **options
        Of `branchwise.plotting.plot_convergence`: scale, ax.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import anndata
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import branchwise
    >>> from branchwise.datasets import make_tree
    >>> adata = anndata.AnnData(make_tree(150, 10, random_state=0).X)  # simulated
    >>> branchwise.tl.ddrtree(adata)
    >>> ax = branchwise.pl.convergence(adata)
    >>> ax.get_xlabel()
    'iteration'
    >>> matplotlib.pyplot.close(ax.figure)
    """
    check_adata(adata)
    keys = present_keys(adata) if key is None else [key] if isinstance(key, str) else list(key)
    keys = [find_key(adata, name) for name in keys or [None]]
    return plotting.plot_convergence({name: model_of(adata, name) for name in keys}, **options)


@documented(CELLS)
def uncertainty(adata: "AnnData", *, key: str | None = None, **options: Any) -> Axes:
    """Draw how uncertain cells are: intervals of pseudotime, or regions in the learned space.

    Parameters
    ----------
    adata : AnnData
        With results of `branchwise.tl.bootstrap`, which are drawn as intervals, or else of
        `branchwise.tl.spl`, whose posterior is drawn as circles.
    {key}
    **options
        Of `branchwise.plotting.plot_uncertainty`: level, max_samples, samples, color, ax, …

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import anndata
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import branchwise
    >>> from branchwise.datasets import make_tree
    >>> adata = anndata.AnnData(make_tree(150, 10, random_state=0).X)  # simulated
    >>> branchwise.tl.ddrtree(adata)
    >>> branchwise.tl.bootstrap(adata, n_resamples=3)
    >>> ax = branchwise.pl.uncertainty(adata)
    >>> ax.get_ylabel()
    'pseudotime'
    >>> matplotlib.pyplot.close(ax.figure)
    """
    key, _ = trajectory_in(adata, key)
    support = support_of(adata, key)
    if support is None and adata.uns[key][UNS.method] != "spl":
        raise KeyError(
            f"adata.uns[{key!r}] has no support; call branchwise.tl.bootstrap(adata) first."
        )
    result = model_of(adata, key) if support is None else support
    return plotting.plot_uncertainty(result, **options)


@documented(CELLS)
def report(
    adata: "AnnData",
    path: Any = None,
    *,
    color: str | None = None,
    genes: Any = (),
    key: str | None = None,
    layer: str | None = None,
    use_raw: bool = False,
    title: str | None = None,
) -> str | None:
    """Write an interactive page about the cells: one HTML file that works without a network.

    It holds the columns of ``obs``, the genes that change most along the tree, and the
    names of the cells: mail it only to those who may see them (docs/report.md). New cells are
    placed by `branchwise.tl.place`, not by the page.

    Parameters
    ----------
    {adata}
    path : str, path or None, default=None
        Where to write it; None returns it as text.
    color : str or None, default=None
        What to colour by at first: a column of ``obs``, a gene, "pseudotime" or "branch".
    genes : str or sequence of str, default=()
        Genes to have in the page besides the 60 that change most.
    {key}
    {genes_from}
    title : str or None, default=None

    Returns
    -------
    html : str, or None if it was written to a file

    Examples
    --------
    >>> import anndata
    >>> import branchwise
    >>> from branchwise.datasets import make_tree
    >>> adata = anndata.AnnData(make_tree(200, 10, random_state=0).X)  # simulated
    >>> branchwise.tl.ddrtree(adata)
    >>> branchwise.pl.report(adata, genes="3").startswith("<!doctype html>")
    True
    """
    key, found = trajectory_in(adata, key)
    values, names, _ = gene_values(adata, layer, use_raw)
    return found.to_html(
        path,
        features=values if is_dask(values) else in_memory(values),
        feature_names=list(names),
        show=[genes] if isinstance(genes, str) else list(genes),
        annotations=in_memory(adata.obs),
        color=color,
        title=title,
    )


def _panels(draw: Any, adata: "AnnData", colors: list[str], ax: Any = None, **options: Any) -> Any:
    """One picture for each colour, side by side as scanpy draws them."""
    if not colors:
        raise ValueError("color=[] names nothing to colour by; name at least one, or leave it out.")
    if ax is None and draw is embedding and options.get("dims", 2) == 2:
        return _embedding_panels(adata, colors, **options)
    if ax is None:
        n_columns = min(len(colors), MOST_COLUMNS)
        n_rows = -(-len(colors) // n_columns)
        size = (5.0 * n_columns, 4.0 * n_rows)
        figure = plt.figure(figsize=size, layout="constrained")
        projection = "3d" if options.get("dims", 2) == 3 else None
        ax = [
            figure.add_subplot(n_rows, n_columns, k + 1, projection=projection)
            for k in range(len(colors))
        ]
    axes = np.ravel(ax)
    if len(axes) != len(colors):
        raise ValueError(
            f"ax holds {len(axes)} Axes for {len(colors)} colours; pass one for each, or leave ax "
            "out."
        )
    return np.array(
        [draw(adata, color=c, ax=a, **options) for c, a in zip(colors, axes, strict=True)]
    )


def _embedding_panels(adata: "AnnData", colors: list[str], **options: Any) -> Any:
    """One row for each colour, with the same views in all of them."""
    _, path = trajectory_in(adata, options["key"])
    if options.get("components") is not None:
        figure = plt.figure(figsize=(6.5, 4.0 * len(colors)), layout="constrained")
        axes = figure.subplots(len(colors), 1, squeeze=False)
    else:
        axes = embedding_panels(path, len(colors), view=options.get("view", "auto"))
    for row, color in zip(axes, colors, strict=True):
        embedding(adata, color=color, ax=row if len(row) > 1 else row[0], **options)
    name_axes_once(axes)
    return axes if axes.shape[1] > 1 else axes[:, 0]


def trajectory_in(adata: "AnnData", key: str | None) -> tuple[str, Trajectory]:
    """The name of the results, and the trajectory that they hold, with its support if there is."""
    check_adata(adata)
    key = find_key(adata, key)
    path, support = trajectory_of(adata, key), support_of(adata, key)
    return key, path if support is None else path.with_support(support)


def color_values(adata: "AnnData", color: Any, layer: str | None, use_raw: bool) -> Any:
    """What to colour cells by: a column of obs, a gene, or what the trajectory says itself."""
    if color is None or (color in ("pseudotime", "branch") and color not in adata.obs):
        return color
    if not isinstance(color, str):
        raise TypeError(
            f"color={color!r} must be the name of a column of adata.obs or of a gene; put other "
            "values into adata.obs first."
        )
    if color in adata.obs:
        return in_memory(adata.obs)[color]
    if color not in gene_values(adata, layer, use_raw)[1]:
        raise ValueError(
            f"color={color!r} is neither a column of adata.obs nor a gene; columns are "
            f"{listed(map(repr, adata.obs.columns))}."
        )
    column, name = chosen_genes(adata, color, layer, use_raw)
    return import_pandas().Series(column[:, 0], index=adata.obs_names, name=name[0])


def strongest_genes(adata: "AnnData", key: str, n_genes: int) -> list[str]:
    """The genes with the strongest evidence of a change along the graph, the strongest first."""
    table = entry_of(adata, key).get(UNS.association)
    if table is None:
        raise KeyError(
            f"adata.uns[{key!r}] has no tests to choose genes by; call "
            "branchwise.tl.test_association(adata) first, or pass genes=…."
        )
    return [str(name) for name in table.index[:n_genes]]


def chosen_genes(
    adata: "AnnData", genes: Any, layer: str | None, use_raw: bool
) -> tuple[Any, list[str]]:
    """Values of some genes, as an array, and their names."""
    values, known, _ = gene_values(adata, layer, use_raw)
    names = [genes] if isinstance(genes, str) else list(genes)
    missing = [name for name in names if name not in known]
    if missing:
        raise ValueError(
            f"genes names {listed(map(repr, missing), most=5)}, but adata has no such genes; they "
            f"are called as {known[0]!r}."
        )
    columns = known.get_indexer_for(names)
    if len(columns) > len(names):
        raise ValueError(
            "Several genes have the same name; call adata.var_names_make_unique() first."
        )
    chosen = in_memory(values[:, columns])
    return np.asarray(chosen.toarray() if hasattr(chosen, "toarray") else chosen), names


def colors_of(adata: "AnnData", values: Any) -> list[str] | None:
    """The colours that scanpy keeps for the categories of a column of obs, one for each.

    None where there are none, or where they are of other categories by now.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> import pandas as pd
    >>> from branchwise.scverse.pl import colors_of
    >>> adata = anndata.AnnData(np.ones((2, 1)), uns={"day_colors": ["#ff0000", "#0000ff"]})
    >>> adata.obs["day"] = pd.Categorical(["1", "2"])
    >>> colors_of(adata, adata.obs["day"])
    ['#ff0000', '#0000ff']
    """
    categories = getattr(getattr(values, "cat", None), "categories", None)
    if categories is None:
        return None
    colors = in_memory(adata.uns.get(f"{values.name}_colors"))
    colors = [] if colors is None else [str(color) for color in colors]
    is_whole = len(colors) >= len(categories) and all(map(is_color_like, colors))
    return colors if is_whole else None
