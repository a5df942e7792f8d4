"""Small graphs with points on them, and the changes that no score may notice."""

import numpy as np

from branchwise.graph.placement import Placement

NONE = np.array([], dtype=int), np.array([])


def graph(edges, lengths=None, n_nodes=None):
    """A graph without points."""
    edges = np.array(edges, dtype=int).reshape(-1, 2)
    lengths = np.ones(len(edges)) if lengths is None else np.array(lengths, dtype=float)
    return Placement(int(edges.max()) + 1 if n_nodes is None else n_nodes, edges, lengths, *NONE)


LINE = graph([[0, 1]])
FORK = graph([[0, 1], [0, 2], [0, 3]])
RING = graph([[0, 1], [1, 2], [2, 0]])
LOLLIPOP = graph([[0, 1], [1, 2], [2, 1]])
THETA = graph([[0, 1], [0, 1], [1, 0]])
DOUBLE_FORK = graph([[0, 1], [0, 2], [0, 3], [3, 4], [3, 5]])
FOREST = graph([[0, 1], [2, 3], [3, 4], [3, 5], [6, 6]], [1, 2, 1, 1, 0])
POINT = graph([[0, 0]], [0])
SHAPES = [LINE, FORK, RING, LOLLIPOP, THETA, DOUBLE_FORK, FOREST, POINT]
NAMES = ["line", "fork", "ring", "lollipop", "theta", "double fork", "forest", "point"]


def random_graph(seed, *, n_nodes=8, extra=0, n_cut=0, n_points=20):
    """A random forest with some more edges, loops and doubles, of positive lengths, with points."""
    rng = np.random.default_rng(seed)
    parent = np.array([rng.integers(k) for k in range(1, n_nodes)], dtype=int)
    edges = np.column_stack([np.arange(1, n_nodes), parent])
    cut = rng.choice(n_nodes - 1, min(n_cut, n_nodes - 1), replace=False)
    edges = np.vstack([np.delete(edges, cut, axis=0), rng.integers(n_nodes, size=(extra, 2))])
    lengths = rng.uniform(0.5, 2.0, size=len(edges))
    alone = np.flatnonzero(np.bincount(edges.ravel(), minlength=n_nodes) == 0)
    edges = np.vstack([edges, np.column_stack([alone, alone])]).astype(int)
    lengths = np.append(lengths, np.zeros(len(alone)))
    return with_points(Placement(n_nodes, edges, lengths, *NONE), rng, n_points)


def with_points(placement, rng, n_points):
    edge = rng.integers(len(placement.edges), size=n_points)
    return placement._replace(edge=edge, position=rng.uniform(size=n_points))


def relabelled(placement, rng):
    """Other numbers of the nodes, another order of the edges, some of them turned round."""
    n_nodes, edges, lengths, edge, position = placement
    edges = rng.permutation(n_nodes)[edges]
    turned = rng.uniform(size=len(edges)) < 0.5
    edges[turned] = edges[turned, ::-1]
    position = np.where(turned[edge], 1 - position, position)
    order = rng.permutation(len(edges))
    return Placement(n_nodes, edges[order], lengths[order], np.argsort(order)[edge], position)


def subdivided(placement, rng):
    """Every edge of some length broken up into two."""
    n_nodes, edges, lengths, edge, position = placement
    broken = np.flatnonzero(lengths > 0)
    part = np.ones(len(edges))
    part[broken] = rng.uniform(0.2, 0.8, size=len(broken))
    inner, second = np.full((2, len(edges)), -1)
    inner[broken] = n_nodes + np.arange(len(broken))
    second[broken] = len(edges) + np.arange(len(broken))
    first = np.where(lengths > 0, inner, edges[:, 1])
    new_edges = np.vstack(
        [
            np.column_stack([edges[:, 0], first]),
            np.column_stack([inner[broken], edges[broken, 1]]),
        ]
    )
    new_lengths = np.concatenate([lengths * part, (lengths * (1 - part))[broken]])
    beyond = (lengths[edge] > 0) & (position > part[edge])
    rest = np.where(part[edge] < 1, 1 - part[edge], 1.0)
    new_position = np.where(beyond, (position - part[edge]) / rest, position / part[edge])
    new_edge = np.where(beyond, second[edge], edge)
    n_new = n_nodes + len(broken)
    return Placement(n_new, new_edges, new_lengths, new_edge, np.clip(new_position, 0, 1))
