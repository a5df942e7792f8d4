"""Four pictures of one trajectory: tree, graph of branches, trends, and features along a way.

All data are simulated. Run it with

    python examples/plot_results.py [picture.png]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from branchwise import learn_trajectory
from branchwise.datasets import make_cells
from branchwise.plotting import plot_branch_graph, plot_heatmap, plot_layout, plot_trends


def main(picture: str) -> None:
    """Learn a trajectory from counts of cells, and draw it."""
    cells = make_cells(800, 300, topology="binary", random_state=0)
    depth = cells.X.sum(axis=1, keepdims=True)
    X = np.log1p(cells.X / depth * np.median(depth))
    genes = [f"gene {k}" for k in range(X.shape[1])]
    # The labels of real cells would come from the day on which they were taken.
    part = cells.pseudotime / cells.pseudotime.max()
    day = np.array(["day 0", "day 2", "day 4", "day 8"])[np.digitize(part, [0.2, 0.45, 0.7])]
    path = learn_trajectory(X, support=0).rooted(labels=day, value="day 0")

    figure = plt.figure(figsize=(13, 9), layout="constrained")
    first, second, third, fourth = (part.subplots() for part in figure.subfigures(2, 2).ravel())
    plot_layout(path, color=day, color_name="day", ax=first)
    first.set_title("Cells beside their branches")
    support = path.support(X, n_resamples=10, random_state=0, progress=False)
    plot_branch_graph(path, labels=day, label_name="day", support=support, ax=second)
    second.set_title("Branches: number of cells, support, and days")

    fork = path.milestones_.query("kind == 'fork'")["pseudotime"].idxmin()
    differing = path.branch_differences(fork, X, genes)["feature"].iloc[0]
    plot_trends(path, X, genes, features=differing, ax=third)
    third.set_title(f"The gene that differs most after {fork}, with bands of 95 %")
    changing = path.associated_features(X, genes)["feature"].head(40)
    tip = path.milestones_["pseudotime"].idxmax()
    plot_heatmap(path, X, genes, features=changing, to=tip, ax=fourth)
    fourth.set_title(f"The 40 genes that change most, on the way to {tip}")

    figure.suptitle("Simulated counts of 800 differentiating cells: pictures of a trajectory")
    figure.savefig(picture, dpi=95)
    plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "results.png")
