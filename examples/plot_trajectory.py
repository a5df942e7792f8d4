"""From counts of cells to an answer: order, branches, support, and genes that change.

All data are simulated. Run it with

    python examples/plot_trajectory.py [picture.png]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from branchwise import learn_trajectory
from branchwise.datasets import make_cells
from branchwise.plotting import plot_embedding, plot_trends


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

    figure = plt.figure(figsize=(13, 9), layout="constrained")
    first, second, third, fourth = (part.subplots() for part in figure.subfigures(2, 2).ravel())
    plot_embedding(path, color="pseudotime", view="flat", ax=first).set_title("Cells in order")
    plot_embedding(path, color="branch", view="axes", ax=second).set_title("Branches")
    genes = [f"gene {k}" for k in range(X.shape[1])]
    forks = path.milestones_.query("kind == 'fork'").sort_values("pseudotime").index
    gene = path.branch_differences(forks[0], X, genes)["feature"].iloc[0]
    plot_trends(path, X, genes, features=gene, legend="none", ax=third)
    third.set_title(f"{gene} (log counts), which differs most after {forks[0]}")
    draw_support(fourth, path)
    figure.suptitle("Simulated counts of 800 differentiating cells: what branchwise makes of them")
    figure.savefig(picture, dpi=95)
    plt.close(figure)


def draw_support(ax, path):
    """How often branches are found again."""
    table = path.branch_table_[::-1]
    ax.barh(table.index, table["support"], color="0.5")
    ax.set(xlim=(0, 1), xlabel="part of 20 resamples in which it is found again")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title("Support of the branches")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "trajectory.png")
