"""Simulated trees and forests in any number of dimensions."""

from typing import Any

import numpy as np

from .._typing import Floats
from .._validation import check_count
from ..graph.placement import Placement
from ._arcs import drawn, lay_out, milestones_of, on_arcs
from ._checks import check_number, check_per_branch, check_rng
from ._simulated import Simulated, add_noise, draw_places, with_truth
from .topologies import Topology, check_topology

# Lengths of branches when none are given: uniform between these.
LENGTHS = (0.7, 1.3)


def make_tree(
    n_samples: int = 500,
    n_features: int = 10,
    *,
    topology: Any = "bifurcation",
    lengths: Any = None,
    curvature: float = 0.0,
    weights: Any = None,
    gradient: Any = 0.0,
    noise: float = 0.05,
    random_state: Any = None,
) -> Simulated:
    """Simulate points along a tree, with Gaussian noise.

    The root is at the origin. Branches are straight or arcs of circles. Their directions are
    orthonormal, and turned at random, if there are as many features as branches (twice as many if
    they bend): then no two of them meet except at their fork. With fewer features each branch
    takes, of 32 random directions, the one that keeps it clearest of the branches before it (of
    fewer in a tree of more than 300 branches); in the plane, those of a large tree can cross.

    Parameters
    ----------
    n_samples : int, default=500
        Number of points.
    n_features : int, default=10
        Number of dimensions, at least 2.
    topology : str or array-like, default="bifurcation"
        A name in ``TOPOLOGIES`` ("linear", "bifurcation", "trifurcation", "binary", "caterpillar"
        or "complex"); a list of edges (pairs of nodes 0, 1, …; the root is 0), for instance from
        ``random_tree_topology``; or the list of each node's parent, with −1 for the root.
    lengths : float or array-like of shape (n_edges,), default=None
        Lengths of the branches; uniform between 0.7 and 1.3 if None.
    curvature : float, default=0
        Angle in radians, from 0 to π, by which a branch turns from its beginning to its end.
    weights : array-like of shape (n_edges,), default=None
        Relative numbers of samples of the branches (the numbers themselves are random); in
        proportion to the lengths if None.
    gradient : float or array-like of shape (n_edges,), default=0
        Density of samples along a branch: at position t from 0 to 1 it is 1 + gradient·(2t − 1),
        thus uniform for 0, and rising from nothing for 1, falling to nothing for −1.
    noise : float, default=0.05
        Standard deviation of the noise in each feature.
    random_state : int, numpy.random.Generator or None, default=None
        Seed of the random numbers.

    Returns
    -------
    Simulated
        Points and truth; edge k of the truth is edge k of the topology, turned away from the root.

    Examples
    --------
    >>> from ramify.datasets import make_tree
    >>> made = make_tree(1000, 20, topology="binary", random_state=0)
    >>> made.X.shape, len(made.truth.edges), made.names[made.root]
    ((1000, 20), 7, 'root')
    """
    n_samples = check_count(n_samples, "n_samples")
    n_features = check_features(n_features)
    tree = check_topology(topology)
    noise = check_number(noise, "noise", 0)
    angle = check_number(curvature, "curvature", 0, np.pi)
    rng = check_rng(random_state)
    length = check_lengths(rng, lengths, tree)
    weight, slope = check_sampling(weights, gradient, length)
    arcs = lay_out(rng, tree, length, n_features, angle)
    edge, position = draw_places(rng, n_samples, weight, slope)
    clean = on_arcs(arcs, edge, position)
    return with_truth(
        Placement(tree.n_nodes, tree.edges, length, edge, position),
        tree.root,
        X=add_noise(rng, clean, noise),
        clean=clean,
        milestones=milestones_of(arcs, tree),
        curve=drawn(arcs),
        description=f"simulated: a tree of {len(length)} branches in {n_features} dimensions, with "
        f"Gaussian noise of standard deviation {noise:g}",
    )


def check_features(n_features: Any) -> int:
    """At least a plane."""
    if check_count(n_features, "n_features") < 2:
        raise ValueError(
            f"n_features={n_features} must be at least 2, for branches to leave a line; pass 2 or "
            "more."
        )
    return int(n_features)


def check_lengths(rng: np.random.Generator, lengths: Any, tree: Topology) -> Floats:
    """Lengths as given, or random ones."""
    n_edges = len(tree.edges)
    if lengths is None:
        return rng.uniform(*LENGTHS, size=n_edges)
    return check_per_branch(lengths, "lengths", n_edges, 0, is_open=True)


def check_sampling(weights: Any, gradient: Any, lengths: Floats) -> tuple[Floats, Floats]:
    """Relative numbers of samples of the branches, and the slopes of the density along them."""
    n_edges = len(lengths)
    weight = lengths if weights is None else check_per_branch(weights, "weights", n_edges, 0)
    if not weight.sum() > 0:
        raise ValueError("weights are all 0, but at least one must be positive; raise one of them.")
    return weight, check_per_branch(gradient, "gradient", n_edges, -1, 1)
