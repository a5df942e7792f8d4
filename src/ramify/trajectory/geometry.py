"""A graph in space with samples on it, and what can be done to it: new nodes, fewer edges."""

from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

from .._typing import Bools, Floats, Ints
from ..graph import adjacency
from ..graph.nearest_edge import nearest_on_edges
from ..graph.placement import Placement


class Geometry(NamedTuple):
    """Nodes and edges in space, and the edge, position and distance of each sample."""

    nodes: Floats  # (n_nodes, n_dims)
    edges: Ints  # (n_edges, 2); a node without neighbours has a loop
    edge: Ints  # (n_samples,)
    position: Floats  # (n_samples,)
    distance: Floats  # (n_samples,)

    @property
    def lengths(self) -> Floats:
        """Of the edges, in units of the data."""
        return np.linalg.norm(self.nodes[self.edges[:, 1]] - self.nodes[self.edges[:, 0]], axis=1)

    @property
    def placement(self) -> Placement:
        """Without the space."""
        return Placement(len(self.nodes), self.edges, self.lengths, self.edge, self.position)

    @property
    def parts(self) -> Ints:
        """The connected part of each node."""
        return connected_components(adjacency(self.edges, len(self.nodes)), directed=False)[1]


def place(nodes: Floats, edges: Ints, points: Floats, n_jobs: int = 1) -> Geometry:
    """Samples at the nearest places on the edges.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.trajectory.geometry import place
    >>> placed = place(np.array([[0.0], [4.0]]), np.array([[0, 1]]), np.array([[1.0], [6.0]]))
    >>> placed.position, placed.distance
    (array([0.25, 1.  ]), array([0., 2.]))
    """
    alone = np.setdiff1d(np.arange(len(nodes)), edges)
    edges = np.vstack([edges, np.column_stack([alone, alone])]).astype(np.intp)
    return Geometry(nodes, edges, *nearest_on_edges(points, nodes, edges, n_jobs))


def insert_node(geometry: Geometry, edge: int, position: float) -> tuple[Geometry, int]:
    """A node at a place of an edge, unless there is one; the samples stay where they are.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.trajectory.geometry import insert_node, place
    >>> path = place(np.array([[0.0], [4.0]]), np.array([[0, 1]]), np.array([[1.0], [3.0]]))
    >>> longer, node = insert_node(path, 0, 0.5)
    >>> longer.edges.tolist(), node, longer.position
    ([[0, 2], [2, 1]], 2, array([0.5, 0.5]))
    """
    nodes, edges, on, along, distance = geometry
    a, b = edges[edge]
    if position in (0, 1) or a == b:
        return geometry, int(b if position == 1 else a)
    node, new_edge = len(nodes), len(edges)
    nodes = np.vstack([nodes, (1 - position) * nodes[a] + position * nodes[b]])
    edges = np.vstack([edges, [node, b]])
    edges[edge, 1] = node
    on, along = on.copy(), along.copy()
    first = (on == edge) & (along <= position)
    second = (on == edge) & (along > position)
    along[first] /= position
    along[second] = (along[second] - position) / (1 - position)
    on[second] = new_edge
    return Geometry(nodes, edges, on, along, distance), node


def keep_edges(
    geometry: Geometry, is_kept: Bools, points: Floats, n_jobs: int = 1
) -> tuple[Geometry, Ints]:
    """The graph of some edges only, with the samples placed anew; and the new number of each node.

    −1 for nodes that are gone.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.trajectory.geometry import keep_edges, place
    >>> points = np.array([[1.0], [5.0]])
    >>> path = place(np.array([[4.0], [0.0], [6.0]]), np.array([[1, 0], [0, 2]]), points)
    >>> shorter, number = keep_edges(path, np.array([True, False]), points)
    >>> number, shorter.position, shorter.distance
    (array([ 0,  1, -1]), array([0.25, 1.  ]), array([0., 1.]))
    """
    edges = geometry.edges[is_kept]
    left = np.unique(edges)
    number = np.full(len(geometry.nodes), -1, dtype=np.intp)
    number[left] = np.arange(len(left))
    return place(geometry.nodes[left], number[edges], points, n_jobs), number


def contract(
    geometry: Geometry, segment: Ints, where: Floats, points: Floats, n_jobs: int = 1
) -> tuple[Geometry, Ints]:
    """All nodes of some edges as one node at a given place; and the new number of each node.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.trajectory.geometry import contract, place
    >>> points = np.array([[2.0], [6.0]])
    >>> path = place(np.array([[0.0], [4.0], [6.0]]), np.array([[0, 1], [1, 2]]), points)
    >>> shorter, number = contract(path, np.array([1]), np.array([5.0]), points)
    >>> shorter.nodes.ravel(), number, shorter.distance
    (array([0., 5.]), array([0, 1, 1]), array([0., 1.]))
    """
    nodes, edges = geometry.nodes.copy(), geometry.edges
    together = np.unique(edges[segment])
    number = np.arange(len(nodes))
    number[together] = together[0]
    nodes[together[0]] = where
    left, number = np.unique(number, return_inverse=True)
    rest = number[np.delete(edges, segment, axis=0)]
    # An edge parallel to the segment has no length any more.
    rest = rest[rest[:, 0] != rest[:, 1]]
    return place(nodes[left], rest, points, n_jobs), number
