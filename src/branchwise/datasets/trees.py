"""Simulated trees, forests and rings in any number of dimensions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._typing import Floats
from ..data.checks import check_count
from ..graph.placement import Placement
from ._simulated import (
    Simulated,
    add_noise,
    check_features,
    check_lengths,
    check_number,
    check_rng,
    check_sampling,
    check_space,
    draw_places,
    with_truth,
)
from .topologies import (
    N_DRAWN,
    Arcs,
    Topology,
    check_topology,
    drawn,
    lay_out,
    milestones_of,
    on_arcs,
)


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
    fewer, if there are more than 300 branches); in the plane, those of a large tree can cross.

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
    >>> from branchwise.datasets import make_tree
    >>> made = make_tree(1000, 20, topology="binary", random_state=0)
    >>> made.X.shape, len(made.truth.edges), made.names[made.root]
    ((1000, 20), 7, 'root')
    """
    tree = check_topology(topology)
    rng = check_rng(random_state)
    n_features, angle = check_space(n_features, curvature)
    length = check_lengths(rng, lengths, len(tree.edges))
    arcs = lay_out(rng, tree, length, n_features, angle)
    return _sampled(rng, tree, arcs, n_samples, weights, gradient, noise, kind="a tree")


def make_forest(
    n_samples: int = 500,
    n_features: int = 10,
    *,
    topologies: Any = ("bifurcation", "linear"),
    separation: float = 1.0,
    lengths: Any = None,
    curvature: float = 0.0,
    weights: Any = None,
    gradient: Any = 0.0,
    noise: float = 0.05,
    random_state: Any = None,
) -> Simulated:
    """Simulate points along several unconnected trees, with Gaussian noise.

    Each tree is that of ``make_tree``. They are lined up in a random direction: between one tree
    and the next is a slab of space, `separation` wide, without a true curve in it.

    Parameters
    ----------
    n_samples : int, default=500
        Number of points, of all trees together.
    n_features : int, default=10
        Number of dimensions, at least 2.
    topologies : sequence, default=("bifurcation", "linear")
        A topology for each tree, as in ``make_tree``.
    separation : float, default=1
        Width of the slab between a tree and the next.
    lengths, weights, gradient : optional
        As in ``make_tree``; the branches are those of the first tree, then those of the second, …
    curvature, noise, random_state : optional
        As in ``make_tree``.

    Returns
    -------
    Simulated
        Points and truth; `root` has one milestone of each tree.

    Examples
    --------
    >>> from branchwise.datasets import make_forest
    >>> made = make_forest(300, 5, topologies=["linear", "bifurcation"], random_state=0)
    >>> made.root, made.truth.edges.tolist()
    (array([0, 2]), [[0, 1], [2, 3], [3, 4], [3, 5]])
    """
    if isinstance(topologies, str) or not isinstance(topologies, Sequence) or not topologies:
        raise ValueError(
            f"topologies={topologies!r} must be a list of at least one topology; pass "
            "['bifurcation', 'linear'], for instance."
        )
    trees = [check_topology(topology) for topology in topologies]
    rng = check_rng(random_state)
    gap = check_number(separation, "separation", 0)
    n_features, angle = check_space(n_features, curvature)
    bounds = np.cumsum([0] + [len(tree.edges) for tree in trees])
    length = check_lengths(rng, lengths, int(bounds[-1]))
    parts = [
        lay_out(rng, tree, length[first:last], n_features, angle)
        for tree, first, last in zip(trees, bounds[:-1], bounds[1:], strict=True)
    ]
    direction = rng.standard_normal(n_features)
    direction /= np.linalg.norm(direction)
    low, high = np.array([_extent(part, direction) for part in parts]).T
    offset = np.append(0.0, np.cumsum(high[:-1] + gap - low[1:]))
    arcs = Arcs(
        np.vstack([part.start + x * direction for part, x in zip(parts, offset, strict=True)]),
        np.vstack([part.along for part in parts]),
        np.vstack([part.across for part in parts]),
        length,
        angle,
    )
    before = np.cumsum([0] + [tree.n_nodes for tree in trees])
    forest = Topology(
        int(before[-1]),
        np.vstack([tree.edges + n for tree, n in zip(trees, before[:-1], strict=True)]),
        np.array([tree.root + n for tree, n in zip(trees, before[:-1], strict=True)]),
        np.concatenate([tree.outwards + n for tree, n in zip(trees, bounds[:-1], strict=True)]),
    )
    kind = f"{len(trees)} trees"
    return _sampled(rng, forest, arcs, n_samples, weights, gradient, noise, kind=kind)


def make_ring(
    n_samples: int = 500,
    n_features: int = 2,
    *,
    radius: float = 1.0,
    gradient: float = 0.0,
    noise: float = 0.05,
    random_state: Any = None,
) -> Simulated:
    """Simulate points along a circle, with Gaussian noise.

    The circle is in a random plane through the origin, its centre. Its true graph is one
    milestone, the root, with an edge from there back to it; the pseudotime is the distance from the
    root by the shorter way.

    Parameters
    ----------
    n_samples : int, default=500
        Number of points.
    n_features : int, default=2
        Number of dimensions, at least 2.
    radius : float, default=1
        Radius of the circle.
    gradient : float, default=0
        Density of samples around the circle from the root, as along a branch in ``make_tree``.
    noise : float, default=0.05
        Standard deviation of the noise in each feature.
    random_state : int, numpy.random.Generator or None, default=None
        Seed of the random numbers.

    Returns
    -------
    Simulated
        Points and truth.

    Examples
    --------
    >>> from branchwise.datasets import make_ring
    >>> made = make_ring(100, 3, random_state=0)
    >>> made.X.shape, made.truth.edges.tolist(), made.truth.lengths.round(3)
    ((100, 3), [[0, 0]], array([6.283]))
    """
    rng = check_rng(random_state)
    n_features, angle = check_features(n_features), 2 * np.pi
    radius = check_number(radius, "radius", 0, is_open=True)
    along, across = np.linalg.qr(rng.standard_normal((n_features, 2)))[0].T[:, None]
    arcs = Arcs(-radius * across, along, across, np.array([angle * radius]), angle)
    loop = Topology(1, np.zeros((1, 2), dtype=np.intp), 0, np.zeros(1, dtype=np.intp))
    return _sampled(rng, loop, arcs, n_samples, None, gradient, noise, kind="a circle")


def _sampled(
    rng: np.random.Generator,
    tree: Topology,
    arcs: Arcs,
    n_samples: Any,
    weights: Any,
    gradient: Any,
    noise: Any,
    *,
    kind: str,
) -> Simulated:
    """Noisy points on branches that are laid out."""
    n_samples = check_count(n_samples, "n_samples")
    noise = check_number(noise, "noise", 0)
    edge, position = draw_places(rng, n_samples, *check_sampling(weights, gradient, arcs.lengths))
    clean = on_arcs(arcs, edge, position)
    return with_truth(
        Placement(tree.n_nodes, tree.edges, arcs.lengths, edge, position),
        tree.root,
        X=add_noise(rng, clean, noise),
        clean=clean,
        milestones=milestones_of(arcs, tree),
        curve=drawn(arcs),
        description=f"simulated: {n_samples} points along {kind} in {clean.shape[1]} dimensions, "
        f"with Gaussian noise of standard deviation {noise:g}",
    )


def _extent(arcs: Arcs, direction: Floats) -> tuple[float, float]:
    """Bounds of the coordinate of all branches in a direction.

    Between two of the drawn points an arc leaves the line that joins them by no more than
    r(1 − cos(δ/2)), with its radius r and the angle δ between them.
    """
    along = np.concatenate([points @ direction for points in drawn(arcs)])
    delta = arcs.angle / (N_DRAWN - 1)
    bulge = arcs.lengths.max() / arcs.angle * (1 - np.cos(delta / 2)) if arcs.angle else 0.0
    return float(along.min() - bulge), float(along.max() + bulge)
