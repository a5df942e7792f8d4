"""Trees as lists of edges, named, random or given; and their branches, laid out as arcs."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import breadth_first_order
from scipy.spatial.distance import cdist

from .._typing import Floats, Ints
from ..data.checks import check_count
from ..graph.laplacian import adjacency
from ._simulated import check_rng

# Edges away from the root, which is node 0 and a tip.
TOPOLOGIES: dict[str, tuple[tuple[int, int], ...]] = {
    # One branch.
    "linear": ((0, 1),),
    # One fork into two.
    "bifurcation": ((0, 1), (1, 2), (1, 3)),
    # One fork into three.
    "trifurcation": ((0, 1), (1, 2), (1, 3), (1, 4)),
    # Three forks on two levels, four ends.
    "binary": ((0, 1), (1, 2), (1, 3), (2, 4), (2, 5), (3, 6), (3, 7)),
    # Five forks, one after the other on one path.
    "caterpillar": (
        *((0, 1), (1, 2), (1, 3), (3, 4), (3, 5), (5, 6), (5, 7), (7, 8), (7, 9)),
        *((9, 10), (9, 11)),
    ),
    # Five forks on four levels, the first of them into three.
    "complex": (
        *((0, 1), (1, 2), (1, 3), (1, 4), (2, 5), (2, 6), (3, 7), (3, 8), (5, 9), (5, 10)),
        *((10, 11), (10, 12)),
    ),
}

# Directions to choose from for a branch, where not all branches can be orthogonal.
N_CANDIDATES = 32
# Where the clearance of a branch is measured.
STATIONS = np.linspace(0, 1, 9)[1:]
# Points to draw an arc by.
N_DRAWN = 65


class Topology(NamedTuple):
    """A rooted tree, or several with one root each."""

    n_nodes: int
    edges: Ints  # (n_edges, 2): away from the root
    root: int | Ints
    outwards: Ints  # (n_edges,): the edges, each after the one that leads to it


def random_tree_topology(n_tips: int, random_state: Any = None) -> Ints:
    """A random tree with that many tips besides the root.

    The tree grows from a single branch. Each further tip is attached to a random edge, which
    gets a new fork, or to a random fork, which gets a further branch; all edges and forks are
    equally likely. Without ties to forks this would give every binary tree the same chance.

    Parameters
    ----------
    n_tips : int
        Number of tips besides the root.
    random_state : int, numpy.random.Generator or None, default=None
        Seed of the random numbers.

    Returns
    -------
    edges : ndarray of shape (n_edges, 2)
        Edges away from the root, which is node 0. No node has degree two.

    Examples
    --------
    >>> from branchwise.datasets import random_tree_topology
    >>> random_tree_topology(3, random_state=0).tolist()
    [[0, 2], [2, 1], [2, 3], [2, 4]]
    """
    n_tips = check_count(n_tips, "n_tips")
    rng = check_rng(random_state)
    edges, forks, n_nodes = [(0, 1)], list[int](), 2
    for _ in range(n_tips - 1):
        choice = int(rng.integers(len(edges) + len(forks)))
        if choice < len(edges):
            fork, (above, below) = n_nodes, edges[choice]
            edges[choice] = (above, fork)
            edges.append((fork, below))
            forks.append(fork)
            n_nodes += 1
        else:
            fork = forks[choice - len(edges)]
        edges.append((fork, n_nodes))
        n_nodes += 1
    return np.array(edges, dtype=np.intp)


def check_topology(topology: Any) -> Topology:
    """A tree given by its name, by edges (root 0) or by each node's parent (−1 for the root)."""
    if isinstance(topology, str):
        if topology not in TOPOLOGIES:
            raise ValueError(
                f"topology={topology!r} must be one of {', '.join(map(repr, TOPOLOGIES))}, a list "
                "of edges or a list of parents; choose one of these."
            )
        topology = TOPOLOGIES[topology]
    edges, root = _given_edges(topology)
    n_nodes = int(edges.max()) + 1
    remedy = "pass edges that connect the nodes 0, 1, … with one path between any two."
    if len(edges) != n_nodes - 1:
        raise ValueError(
            f"topology has {len(edges)} edges and {n_nodes} nodes, but a tree has one edge fewer "
            f"than nodes; {remedy}"
        )
    order, parent = breadth_first_order(adjacency(edges, n_nodes), root, directed=False)
    if len(order) < n_nodes:
        unreached = np.setdiff1d(np.arange(n_nodes), order)[0]
        raise ValueError(
            f"topology is not a tree: node {unreached} cannot be reached from the root {root}; "
            f"{remedy}"
        )
    upwards = parent[edges[:, 0]] == edges[:, 1]
    edges[upwards] = edges[upwards, ::-1]
    rank = np.empty(n_nodes, dtype=np.intp)
    rank[order] = np.arange(n_nodes)
    return Topology(n_nodes, edges, root, np.argsort(rank[edges[:, 1]]))


def _given_edges(topology: Any) -> tuple[Ints, int]:
    """Edges and root of what a user gave."""
    try:
        array = np.asarray(topology)
    except ValueError:
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "iu" or array.ndim not in (1, 2) or not array.size:
        raise ValueError(
            f"topology={topology!r} must be the name of a tree, a list of edges (pairs of nodes "
            "0, 1, …) or a list of parents (−1 for the root), with at least one edge; "
            f"the names are {', '.join(map(repr, TOPOLOGIES))}."
        )
    array = array.astype(np.intp)
    if array.ndim == 2:
        if array.shape[1] != 2 or array.min() < 0:
            raise ValueError(
                f"topology has shape {array.shape} and smallest entry {array.min()}, but edges "
                "must be pairs of nodes 0, 1, …; pass [(0, 1), (1, 2), (1, 3)], for instance."
            )
        return array, 0
    roots = np.flatnonzero(array == -1)
    if len(roots) != 1 or len(array) < 2 or array.min() < -1 or array.max() >= len(array):
        raise ValueError(
            f"topology={topology!r} must, as a list of parents, hold −1 once, for the root, and "
            f"else nodes from 0 to {len(array) - 1}; pass [-1, 0, 1, 1], for instance."
        )
    children = np.flatnonzero(array >= 0)
    return np.column_stack([array[children], children]), int(roots[0])


# Branches as arcs


class Arcs(NamedTuple):
    """Branches from their beginnings, as arcs of circles of exactly known length.

    A branch begins at p in the direction u and turns towards v, orthogonal to u and both of length
    one, by the angle θ in all. With its length ℓ the point at its position t is
    p + ℓt·(sin(θt)/(θt)·u + (1 − cos(θt))/(θt)·v), on a straight line for θ = 0. Its speed is ℓ
    everywhere, so that t is the part of the length.
    """

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
    >>> from branchwise.datasets.topologies import Arcs, on_arcs
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
