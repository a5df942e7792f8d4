"""The nearest place on any of many edges, exactly, without a distance for every pair."""

import numpy as np

from .. import _kdtree as kdtree
from .._compat import inlined, kernel
from .._parallel import ordered_map
from .._typing import Floats, Ints


def nearest_on_edges(
    points: Floats, nodes: Floats, edges: Ints, n_jobs: int = 1
) -> tuple[Ints, Floats, Floats]:
    """The edge nearest to each point, the place on it, and the distance from it.

    For the edge from a to b and a point p the nearest place is a + t·(b − a) with
    t = (p − a)ᵀ(b − a)/‖b − a‖², at least 0 and at most 1. The middles of the edges are put into a
    k-d tree, with boxes that hold the whole edges: boxes farther off than the best edge so far are
    not opened.

    Parameters
    ----------
    points : array of shape (n_points, n_dims)
    nodes : array of shape (n_nodes, n_dims)
    edges : array of shape (n_edges, 2)
        At least one. Edges may have length zero.
    n_jobs : int, default=1
        Threads; the result does not depend on it.

    Returns
    -------
    edge : array of shape (n_points,)
        Of several edges at the same distance, the first.
    position : array of shape (n_points,)
        t, from 0 at the edge's first end to 1 at its second.
    distance : array of shape (n_points,)

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.nearest_edge import nearest_on_edges
    >>> nodes = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 4.0]])
    >>> nearest_on_edges(np.array([[1.0, 2.0], [6.0, 5.0]]), nodes, np.array([[0, 1], [1, 2]]))
    (array([0, 1]), array([0.25, 1.  ]), array([2.        , 2.23606798]))
    """
    points = np.ascontiguousarray(points, dtype=np.float64)
    a, b = nodes[edges[:, 0]].astype(np.float64), nodes[edges[:, 1]].astype(np.float64)
    tree = kdtree.build((a + b) / 2)
    a, b = a[tree.order], b[tree.order]
    low, high = np.empty_like(tree.low), np.empty_like(tree.high)
    enclose(np.minimum(a, b), np.maximum(a, b), tree.start, tree.stop, low, high)
    edge = np.empty(len(points), dtype=np.intp)
    position, distance = np.empty(len(points)), np.empty(len(points))

    def search(rows: slice) -> None:
        find(
            a,
            b,
            tree.order,
            low,
            high,
            tree.start,
            tree.stop,
            points[rows],
            edge[rows],
            position[rows],
            distance[rows],
        )

    ordered_map(search, kdtree.blocks(len(points)), n_jobs)
    return edge, position, distance


@kernel
def enclose(
    least: Floats, greatest: Floats, start: Ints, stop: Ints, low: Floats, high: Floats
) -> None:
    """The smallest box around the edges of each node of the tree."""
    for node in range(len(start)):
        for k in range(least.shape[1]):
            low[node, k], high[node, k] = least[start[node], k], greatest[start[node], k]
            for i in range(start[node] + 1, stop[node]):
                low[node, k] = min(low[node, k], least[i, k])
                high[node, k] = max(high[node, k], greatest[i, k])


@inlined
def place_on(a: Floats, b: Floats, i: int, Z: Floats, row: int) -> tuple[float, float]:
    """The part of edge i at which it is nearest to a row of Z, and the squared distance there."""
    along = length = 0.0
    for k in range(Z.shape[1]):
        step = b[i, k] - a[i, k]
        along += (Z[row, k] - a[i, k]) * step
        length += step * step
    t = min(max(along / length, 0.0), 1.0) if length > 0 else 0.0
    total = 0.0
    for k in range(Z.shape[1]):
        # From the nearer end, so that the end itself is met exactly.
        step = b[i, k] - a[i, k]
        foot = a[i, k] + t * step if t < 0.5 else b[i, k] - (1 - t) * step
        total += (Z[row, k] - foot) * (Z[row, k] - foot)
    return t, total


@kernel
def find(
    a: Floats,
    b: Floats,
    order: Ints,
    low: Floats,
    high: Floats,
    start: Ints,
    stop: Ints,
    Z: Floats,
    edge: Ints,
    position: Floats,
    distance: Floats,
) -> None:
    """Fill in the answers of `nearest_on_edges`."""
    nodes, gaps = np.empty(kdtree.MAX_DEPTH, dtype=np.int64), np.empty(kdtree.MAX_DEPTH)
    best = 0
    for row in range(len(Z)):
        where, least = place_on(a, b, best, Z, row)
        nodes[0], gaps[0], top = 0, 0.0, 0
        while top >= 0:
            node, gap, top = kdtree.descend(low, high, Z, row, least, nodes, gaps, top)
            if gap > least:
                continue
            for i in range(start[node], stop[node]):
                t, squared = place_on(a, b, i, Z, row)
                if squared < least or (squared == least and order[i] < order[best]):
                    best, where, least = i, t, squared
        edge[row], position[row], distance[row] = order[best], where, np.sqrt(least)
