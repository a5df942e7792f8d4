"""The framework of bars that maximum variance unfolding keeps, without copies of nodes."""

from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

from branchwise._typing import Floats, Ints
from branchwise.graph import adjacency, squared_distances


class Framework(NamedTuple):
    """Nodes with masses, and bars of given length between them."""

    node: Ints
    """The node of each sample; copies that an edge of length zero joined share one."""
    mass: Floats
    """The number of samples of each node."""
    edges: Ints
    phi: Floats
    """Squared lengths of the edges, all positive."""
    edge: Ints
    """Which of the edges between samples they are."""


def framework(Y: Floats, edges: Ints) -> Framework:
    """Nodes and bars of a graph between samples.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines._mvu_graph import framework
    >>> bars = framework(np.array([[0.0], [0.0], [2.0]]), np.array([[0, 1], [0, 2], [1, 2]]))
    >>> bars.mass, bars.edges.tolist(), bars.phi
    (array([2., 1.]), [[0, 1]], array([4.]))
    """
    phi = squared_distances(Y, edges)
    # Shorter than what rounding leaves of the distance between two copies.
    none = phi <= (1e-14 * np.abs(Y).max(initial=0.0)) ** 2 * Y.shape[1]
    node = connected_components(adjacency(edges[none], len(Y)), directed=False)[1]
    ends = np.sort(node[edges[~none]], axis=1)
    ends, first = np.unique(ends, axis=0, return_index=True)
    proper = ends[:, 0] < ends[:, 1]
    edge = np.flatnonzero(~none)[first][proper]
    mass = np.bincount(node).astype(np.float64)
    return Framework(node, mass, ends[proper], phi[edge], edge)
