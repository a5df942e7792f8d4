"""Small simulated trees for the tests of features along a tree."""

import numpy as np

from branchwise.graph.placement import Placement


def forked(n_samples, seed=0, share=(0.4, 0.35, 0.25)):
    """Samples on a stem that forks into two branches, and the branches' start times."""
    rng = np.random.default_rng(seed)
    edges, lengths = np.array([[0, 1], [1, 2], [1, 3]]), np.array([1.0, 1.5, 0.8])
    edge = rng.choice(3, size=n_samples, p=share)
    return Placement(4, edges, lengths, edge, rng.random(n_samples)), np.array([0.0, 1.0, 1.0])


def path(position, length=1.0):
    position = np.asarray(position, dtype=float)
    edge = np.zeros(len(position), dtype=int)
    return Placement(2, np.array([[0, 1]]), np.array([length]), edge, position)


def times(placed, start_time):
    return start_time[placed.edge] + placed.position * placed.lengths[placed.edge]
