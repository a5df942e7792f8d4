"""Pictures of an embedding: estimators, trajectories, uncertainty, a million samples.

All data are simulated. Run it with

    python examples/plot_embedding.py [picture.png]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from branchwise import SPL, DDRTree, learn_trajectory
from branchwise.datasets import make_tree
from branchwise.plotting import plot_adjacency, plot_convergence, plot_embedding, plot_uncertainty


def main(picture: str) -> None:
    """Fit and draw."""
    data = make_tree(400, 10, topology="binary", noise=0.05, random_state=0)
    time = data.pseudotime
    path = learn_trajectory(data.X, n_components=3, support=0)
    skeleton = SPL(gamma=30.0).fit(data.X)

    # Parts of a figure have layouts of their own: no legend takes room from other pictures.
    figure = plt.figure(figsize=(13.5, 11), layout="constrained")
    parts = iter(figure.subfigures(3, 3).flat)

    ax = plot_embedding(path, color="pseudotime", ax=next(parts).subplots())
    ax.set_title("A trajectory drawn flat")
    ax = plot_embedding(path, color="branch", view="axes", ax=next(parts).subplots())
    ax.set_title("In the linear axes that show it best")
    ax = next(parts).add_subplot(projection="3d", computed_zorder=False)
    plot_embedding(path, color="branch", dims=3, legend="none", ax=ax)
    ax.set_title("In three dimensions")

    some = np.where(np.arange(len(time)) % 5, time, np.nan)
    ax = plot_embedding(skeleton, color=some, color_name="true time", ax=next(parts).subplots())
    ax.set_title("The weighted graph of SPL")
    ax = plot_embedding(skeleton, color="0.35", ax=next(parts).subplots())
    plot_uncertainty(skeleton, max_samples=40, ax=ax)
    ax = plot_adjacency(skeleton, order=time, order_name="true time", ax=next(parts).subplots())
    ax.set_title("Its adjacency matrix")

    fits = {"DDRTree": DDRTree(2).fit(data.X), "SPL": skeleton}
    ax = plot_convergence(fits, ax=next(parts).subplots())
    ax.set_title("Convergence")

    many = make_tree(1_000_000, 2, noise=0.12, random_state=0)
    time = many.pseudotime
    ax = plot_embedding(many.X, color=time, color_name="true time", ax=next(parts).subplots())
    ax.set_title("A million samples: means")
    groups = np.array([f"group {k + 1}" for k in range(12)])
    group = groups[(11.99 * time / time.max()).astype(int)]
    ax = plot_embedding(many.X, color=group, ax=next(parts).subplots())
    ax.set_title("The most frequent of twelve groups")

    figure.suptitle("Simulated samples on trees, and what branchwise draws of them")
    figure.savefig(picture, dpi=66)
    plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "embedding.png")
