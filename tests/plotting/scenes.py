"""Small simulated trajectories for pictures."""

import numpy as np

from branchwise.trajectory import Trajectory


def near(edges, nodes, n_samples, *, noise=0.1, seed=0, counted=None):
    """Samples near the edges of a graph, of some of them if these are counted."""
    rng = np.random.default_rng(seed)
    edges, nodes = np.asarray(edges), np.asarray(nodes, dtype=float)
    some = edges if counted is None else edges[counted]
    ends, part = some[rng.integers(len(some), size=n_samples)], rng.random((n_samples, 1))
    points = (1 - part) * nodes[ends[:, 0]] + part * nodes[ends[:, 1]]
    return Trajectory(edges, nodes, points + noise * rng.normal(size=points.shape))


def tree(n_samples=300, **kwargs):
    """A stem with two branches, one of which forks again."""
    nodes = [[0, 0], [2, 0], [4, 2], [5, -2], [7, -1], [6.5, -4]]
    edges = [[0, 1], [1, 2], [1, 3], [3, 4], [3, 5]]
    return near(edges, nodes, n_samples, **kwargs).rooted(node=0)


def ring(n_samples=120):
    angle = 2 * np.pi * np.arange(16) / 16
    nodes = np.column_stack([np.cos(angle), np.sin(angle)])
    return near([[k, (k + 1) % 16] for k in range(16)], nodes, n_samples, noise=0.03)


def cyclic(n_samples=200):
    """A cycle of two unequal ways between forks, with a tip at either end and one on a way."""
    nodes = [[0, 0], [2, 0], [3, 1], [3, -1], [4.6, 0], [6, 0], [3.2, 2.5]]
    edges = [[0, 1], [1, 2], [1, 3], [2, 4], [3, 4], [4, 5], [2, 6]]
    return near(edges, nodes, n_samples, noise=0.03).rooted(node=0)


def forest(n_samples=200):
    """Two trees and a node alone."""
    nodes = [[0, 0], [2, 0], [4, 2], [4, -2], [10, 0], [12, 0], [13, 1], [13, -2], [20, 20]]
    edges = [[0, 1], [1, 2], [1, 3], [4, 5], [5, 6], [5, 7]]
    return near(edges, nodes, n_samples)


def comb(n_teeth, n_samples):
    """A long stem with a branch at every step."""
    stem = np.column_stack([np.arange(n_teeth + 2), np.zeros(n_teeth + 2)])
    edges = [[k, k + 1] for k in range(n_teeth + 1)]
    edges += [[k, n_teeth + 1 + k] for k in range(1, n_teeth + 1)]
    return near(edges, np.vstack([stem, stem[1:-1] + np.array([0.2, 1])]), n_samples).rooted(node=0)


def waves(path, n_features):
    """Features that peak one after the other, with noise."""
    rng = np.random.default_rng(0)
    time = path.pseudotime_scaled_[:, np.newaxis]
    peaks = np.linspace(0, 1, n_features)
    return np.exp(-15 * (time - peaks) ** 2) + 0.05 * rng.normal(size=(len(time), n_features))
