"""Trees as lists of edges: some with names, random ones, and those that a user gives."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import breadth_first_order

from .._typing import Ints
from .._validation import check_count
from ..graph.laplacian import adjacency
from ._checks import check_rng

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
    >>> from ramify.datasets import random_tree_topology
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
