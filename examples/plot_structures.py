"""Beyond a single tree: forest, ring, curve, graph, and the posterior of a skeleton.

All data are simulated. Run it with

    python examples/plot_structures.py [picture.png]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from branchwise import SPL, DDRTree
from branchwise.plotting import plot_embedding

N_SAMPLES, NOISE = 400, 0.08


def circle(rng, n, radius=1.0):
    """Points of a circle."""
    angle = rng.uniform(0, 2 * np.pi, n)
    return radius * np.column_stack([np.cos(angle), np.sin(angle)])


def star(rng, n):
    """Three straight branches."""
    angle = np.deg2rad([90, 210, 330])[rng.integers(3, size=n)]
    return 1.3 * rng.uniform(size=(n, 1)) * np.column_stack([np.cos(angle), np.sin(angle)])


def two_groups(rng, n):
    """A star and an arc that are not connected."""
    angle = rng.uniform(0.2 * np.pi, 1.2 * np.pi, n // 2)
    arc = np.column_stack([4.0 + np.cos(angle), np.sin(angle)])
    return np.vstack([star(rng, n - n // 2), arc])


def spiral(rng, n):
    """One and a half turns."""
    angle = 3 * np.pi * np.sqrt(rng.uniform(0.02, 1, n))
    return angle[:, None] / 6 * np.column_stack([np.cos(angle), np.sin(angle)])


def ring_with_tail(rng, n):
    """A circle and a straight branch that leaves it."""
    tail = np.column_stack([rng.uniform(1.0, 2.5, n // 3), np.zeros(n // 3)])
    return np.vstack([circle(rng, n - n // 3), tail])


def main(picture: str) -> None:
    """Fit and draw."""
    rng = np.random.default_rng(0)
    figure, axes = plt.subplots(2, 3, figsize=(12, 7.5), layout="constrained")
    shapes = [
        ("tree", star),
        ("forest", two_groups),
        ("ring", circle),
        ("curve", spiral),
        ("graph", ring_with_tail),
    ]
    for ax, (structure, make) in zip(axes.flat, shapes, strict=False):
        X = make(rng, N_SAMPLES) + NOISE * rng.normal(size=(N_SAMPLES, 2))
        model = DDRTree(n_components=None, structure=structure, lam=30.0).fit(X)
        plot_embedding(X - model.mean_, model.centers_, model.tree_, axis_names=("", ""), ax=ax)
        ax.set_title(f'DDRTree(structure="{structure}")')
    X = circle(rng, N_SAMPLES) + NOISE * rng.normal(size=(N_SAMPLES, 2))
    skeleton = SPL(n_components=None, gamma=30.0).fit(X)
    ax = axes.flat[-1]
    drawn = skeleton.sample_posterior(20, random_state=0).reshape(-1, 2)
    ax.scatter(*(X - skeleton.mean_).T, s=8, color="#0072B2", alpha=0.65, linewidths=0)
    ax.scatter(*drawn.T, s=3, color="#D55E00", alpha=0.2, linewidths=0)
    ax.scatter(*skeleton.embedding_.T, s=4, color="black")
    ax.set_aspect("equal", adjustable="datalim")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title("SPL: posterior mean, 20 draws (orange)")
    figure.suptitle("Simulated samples (blue), the structures learned from them (black)")
    figure.savefig(picture, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "structures.png")
