r"""Trees whose branches are arcs of circles, of exactly known length.

The branch e begins at :math:`p_e` in the direction :math:`u_e` and turns towards
:math:`v_e \perp u_e`, both of length one, by the angle θ in all. With the length ℓ of the branch,
the point at position t of it is

.. math::
    p_e + \ell t \Bigl(\frac{\sin θt}{θt} u_e + \frac{1 - \cos θt}{θt} v_e\Bigr),

on a straight line for θ = 0. Its speed is ℓ everywhere, so that t is the part of the length.
"""

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from .._typing import Floats, Ints
from .topologies import Topology

# Directions to choose from for a branch, where not all branches can be orthogonal.
N_CANDIDATES = 32
# Where the clearance of a branch is measured.
STATIONS = np.linspace(0, 1, 9)[1:]
# Points to draw an arc by.
N_DRAWN = 65


class Arcs(NamedTuple):
    """Branches from their beginnings."""

    start: Floats  # (n_edges, n_features)
    along: Floats  # (n_edges, n_features): unit vectors
    across: Floats  # (n_edges, n_features): unit vectors orthogonal to these
    lengths: Floats  # (n_edges,)
    angle: float  # that every branch turns by


def on_arcs(arcs: Arcs, edge: Ints, position: Floats) -> Floats:
    """Points at some positions of some branches.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.datasets._arcs import Arcs, on_arcs
    >>> u, v = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    >>> half = Arcs(0 * u, u, v, np.array([np.pi]), np.pi)  # half a circle of radius 1
    >>> on_arcs(half, np.array([0, 0]), np.array([0.5, 1.0])).round(9)
    array([[1., 1.],
           [0., 2.]])
    """
    x = arcs.angle * position
    walked = position * arcs.lengths[edge]
    points = arcs.along[edge]
    points *= (walked * np.sinc(x / np.pi))[:, None]
    points += arcs.start[edge]
    if arcs.angle:
        # (1 − cos x)/x, without cancellation.
        points += (walked * np.sin(x / 2) * np.sinc(x / (2 * np.pi)))[:, None] * arcs.across[edge]
    return points


def drawn(arcs: Arcs, n_points: int | None = None) -> tuple[Floats, ...]:
    """Points along each branch, to be joined by lines."""
    t = np.linspace(0, 1, n_points or (N_DRAWN if arcs.angle else 2))
    edges = range(len(arcs.lengths))
    return tuple(on_arcs(arcs, np.full(len(t), edge), t) for edge in edges)


def milestones_of(arcs: Arcs, tree: Topology) -> Floats:
    """Points of the nodes: the beginnings and ends of the branches."""
    n_edges, n_features = arcs.start.shape
    points = np.zeros((tree.n_nodes, n_features))
    points[tree.edges[:, 1]] = on_arcs(arcs, *_ends(n_edges))
    points[tree.edges[:, 0]] = arcs.start
    return points


def join(arcs: Arcs, tree: Topology) -> Arcs:
    """The same branches, each beginning where the one before it ends; the root is the origin."""
    ends, joined = np.zeros((tree.n_nodes, arcs.start.shape[1])), arcs.start.copy()
    steps = on_arcs(arcs._replace(start=0 * joined), *_ends(len(joined)))
    for e in tree.outwards:
        start, end = tree.edges[e]
        joined[e] = ends[start]
        ends[end] = ends[start] + steps[e]
    return arcs._replace(start=joined)


def lay_out(
    rng: np.random.Generator, tree: Topology, lengths: Floats, n_features: int, angle: float
) -> Arcs:
    """A tree in space, with its root at the origin.

    All directions are orthonormal, at random, if there are enough features for that. Otherwise
    each branch takes, of some random directions, the one that keeps it clearest of the others.
    """
    n_edges = len(tree.edges)
    n_directions = 2 * n_edges if angle else n_edges
    shape = (n_edges, n_features)
    arcs = Arcs(np.zeros(shape), np.zeros(shape), np.zeros(shape), lengths, angle)
    if n_directions <= n_features:
        directions = np.linalg.qr(rng.standard_normal((n_features, n_directions)))[0].T
        arcs.along[:] = directions[:n_edges]
        arcs.across[:] = directions[n_edges:] if angle else 0.0
        return join(arcs, tree)
    ends, laid = np.zeros((tree.n_nodes, n_features)), np.empty((0, n_features))
    for e in tree.outwards:
        start, end = tree.edges[e]
        arcs.start[e] = ends[start]
        arcs.along[e], arcs.across[e], stations = _clearest(rng, arcs, e, laid)
        ends[end] = stations[-1]
        laid = np.vstack([laid, stations])
    return arcs


def _clearest(
    rng: np.random.Generator, arcs: Arcs, edge: int, laid: Floats
) -> tuple[Floats, Floats, Floats]:
    """Directions along and across a branch, and points on it, with the widest angle to the others.

    The clearance of a point is its distance from the other branches over that from the branch's
    beginning. Fewer directions are tried for larger trees, to keep the time in bounds.
    """
    n_edges, n_features = arcs.start.shape
    n = int(np.clip(10_000 // n_edges, 1, N_CANDIDATES)) if len(laid) else 1
    along, across = rng.standard_normal((2, n, n_features))
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    across -= np.sum(along * across, axis=1, keepdims=True) * along
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    tried = Arcs(
        np.tile(arcs.start[edge], (n, 1)), along, across, np.full(n, arcs.lengths[edge]), arcs.angle
    )
    candidate, station = np.divmod(np.arange(n * len(STATIONS)), len(STATIONS))
    points = on_arcs(tried, candidate, STATIONS[station])
    best = 0
    if n > 1:
        clearance = cdist(points, laid).min(axis=1) / STATIONS[station]
        best = int(clearance.reshape(n, -1).min(axis=1).argmax())
    return along[best], across[best], points[candidate == best]


def _ends(n_edges: int) -> tuple[Ints, Floats]:
    """The places at the ends of all branches."""
    return np.arange(n_edges), np.ones(n_edges)
