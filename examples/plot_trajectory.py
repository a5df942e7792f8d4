"""From counts of cells to an answer: order, branches, support, and genes that change.

All data are simulated. Run it with

    python examples/plot_trajectory.py [picture.png]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from branchwise import learn_trajectory
from branchwise.datasets import make_cells

COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]


def normalised(counts):
    """Logarithms of counts, as if all cells had the same number of them."""
    depth = counts.sum(axis=1, keepdims=True)
    return np.log1p(counts / depth * np.median(depth))


def main(picture: str) -> None:
    """Learn, root, test and draw."""
    cells = make_cells(800, 300, topology="binary", random_state=0)
    X = normalised(np.asarray(cells.X, dtype=float))
    # The labels of real cells would come from the day on which they were taken.
    day = np.where(cells.pseudotime < 0.15 * cells.pseudotime.max(), "day 0", "later")
    path = learn_trajectory(X).rooted(labels=day, value="day 0")
    print(path.describe())
    print(path.branch_table_[["length", "n_samples", "p", "support"]].round(3).to_string())

    figure, axes = plt.subplots(2, 2, figsize=(11, 8.5), layout="constrained")
    draw_places(axes[0, 0], path, path.pseudotime_, "viridis", "pseudotime")
    draw_branches(axes[0, 1], path)
    genes = [f"gene {k}" for k in range(X.shape[1])]
    forks = path.milestones_.query("kind == 'fork'").sort_values("pseudotime").index
    tests = path.branch_differences(forks[0], X, genes)
    draw_trends(axes[1, 0], path, X, genes, tests["feature"].iloc[0])
    draw_support(axes[1, 1], path)
    figure.suptitle("Simulated counts of 800 differentiating cells: what branchwise makes of them")
    figure.savefig(picture, dpi=110)
    plt.close(figure)


def plane(path):
    """The two principal axes of the tree, for drawing."""
    return PCA(2).fit(path.nodes_)


def draw_tree(ax, path):
    """The edges, and the names of the milestones."""
    to_plane = plane(path)
    nodes = to_plane.transform(path.nodes_)
    for a, b in path.edges_:
        ax.plot(*nodes[[a, b]].T, color="black", lw=1.5, zorder=3)
    for name, row in path.milestones_.iterrows():
        text = f"{name} (root)" if row["is_root"] else name
        ax.annotate(
            text,
            nodes[row["node"]],
            xytext=(6, 6),
            textcoords="offset points",
            weight="bold",
            zorder=4,
            bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.7},
        )
    ax.set(xlabel="first axis of the tree", ylabel="second axis")
    ax.spines[["top", "right"]].set_visible(False)
    return to_plane.transform(path.estimator_.projection_)


def draw_places(ax, path, values, cmap, label):
    """Cells, coloured by a number."""
    places = draw_tree(ax, path)
    points = ax.scatter(*places.T, c=values, s=9, cmap=cmap, linewidths=0)
    ax.figure.colorbar(points, ax=ax, label=label, shrink=0.8)
    ax.set_title("Cells in order")


def draw_branches(ax, path):
    """Cells, coloured by their branch."""
    places = draw_tree(ax, path)
    for colour, branch in zip(COLOURS, path.branch_table_.index, strict=False):
        ax.scatter(*places[path.branches_ == branch].T, s=9, color=colour, label=branch, lw=0)
    ax.legend(markerscale=2, frameon=False, fontsize=8)
    ax.set_title("Branches")


def draw_trends(ax, path, X, genes, gene):
    """The gene that differs most at the first fork, with bands of 95 %."""
    trends = path.trends(X[:, [genes.index(gene)]], [gene])
    for colour, branch in zip(COLOURS, path.branch_table_.index, strict=False):
        part = trends[trends["branch"] == branch]
        ax.plot(part["pseudotime"], part["mean"], color=colour, label=branch)
        ax.fill_between(part["pseudotime"], part["lower"], part["upper"], color=colour, alpha=0.2)
    ax.set(xlabel="pseudotime", ylabel=f"{gene} (log counts)")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(f"{gene}, which differs most after the first fork")


def draw_support(ax, path):
    """How often branches are found again."""
    table = path.branch_table_[::-1]
    ax.barh(table.index, table["support"], color="#0072B2")
    ax.set(xlim=(0, 1), xlabel="part of 20 resamples in which it is found again")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title("Support of the branches")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "trajectory.png")
