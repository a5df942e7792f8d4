"""Points of an embedding with the learned tree drawn over them."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from scipy import sparse

from .._typing import Floats, Sparse

# Okabe and Ito's colours, which colour-blind readers can tell apart.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
# Beyond this many points a vector file would be slow to open: they become pixels.
MAX_VECTOR_POINTS = 5000


def plot_tree(
    embedding: Floats,
    centers: Floats,
    tree: Sparse,
    *,
    labels: Any = None,
    ax: Any = None,
    axis_names: tuple[str, str] = ("component 1", "component 2"),
) -> Any:
    """Draw the first two components of an embedding and the tree over it.

    Parameters
    ----------
    embedding : array of shape (n_samples, at least 2)
    centers : array of shape (n_centers, at least 2)
    tree : sparse array of shape (n_centers, n_centers)
        Adjacency matrix of the tree, or of any other graph.
    labels : array of shape (n_samples,) or None
        Categories to colour the samples by, at most eight; they get a legend.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.
    axis_names : pair of str

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> from ramify import DDRTree
    >>> from ramify.plotting import plot_tree
    >>> iris = load_iris()
    >>> model = DDRTree(random_state=0).fit(iris.data)
    >>> ax = plot_tree(model.embedding_, model.centers_, model.tree_,
    ...                labels=iris.target_names[iris.target])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['setosa (50)', 'versicolor (50)', 'virginica (50)']
    >>> matplotlib.pyplot.close(ax.figure)
    """
    if embedding.shape[1] < 2:
        raise ValueError(
            f"embedding has {embedding.shape[1]} column(s) but the picture needs 2; "
            "fit with n_components=2 or more."
        )
    if ax is None:
        ax = plt.figure(figsize=(7, 5.5), layout="constrained").subplots()
    groups = np.zeros(len(embedding), dtype=int) if labels is None else np.asarray(labels)
    names = np.unique(groups)
    if len(names) > len(PALETTE):
        raise ValueError(
            f"labels has {len(names)} categories but at most {len(PALETTE)} colours can be told "
            "apart; merge categories."
        )
    # Large groups first, so that small ones stay visible on top of them.
    for name in sorted(names, key=lambda name: -np.count_nonzero(groups == name)):
        chosen = groups == name
        ax.scatter(
            embedding[chosen, 0],
            embedding[chosen, 1],
            s=float(np.clip(8000 / len(embedding), 1, 18)),
            color=PALETTE[int(np.searchsorted(names, name))],
            alpha=0.65,
            linewidths=0,
            label=None if labels is None else f"{name} ({np.count_nonzero(chosen)})",
            rasterized=len(embedding) > MAX_VECTOR_POINTS,
        )
    edges = sparse.triu(tree).tocoo()
    segments = np.stack([centers[edges.row, :2], centers[edges.col, :2]], axis=1)
    ax.add_collection(LineCollection(list(segments), colors="black", linewidths=1.4, zorder=3))
    ax.set_xlabel(axis_names[0])
    ax.set_ylabel(axis_names[1])
    ax.set_aspect("equal", adjustable="datalim")
    ax.spines[["top", "right"]].set_visible(False)
    if labels is not None:
        ax.legend(frameon=False, markerscale=1.6)
    return ax
