"""A graph in space with samples on it."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from .._typing import Floats, Ints
from ..graph import adjacency
from ..graph.laplacian import squared_distances
from ..graph.nearest_edge import nearest_on_edges
from ..graph.placement import Placement, length_matrix
from ..structures import as_structure, choose_graph, prepare


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
    >>> from branchwise.trajectory.geometry import place
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
    >>> from branchwise.trajectory.geometry import insert_node, place
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


def graph_of_model(model: Any, structure: Any) -> tuple[Floats, Ints]:
    """Nodes along the components, in units of the data, and edges; SPL's are of its skeleton."""
    if hasattr(model, "tree_"):
        if structure is not None:
            raise ValueError(
                f"structure={structure!r} is for SPL; {type(model).__name__} has learned its "
                "graph, so leave structure out."
            )
        edges = sparse.triu(model.tree_).tocoo()
        return model.centers_.astype(np.float64), np.column_stack([edges.row, edges.col])
    nodes = model.skeleton_.astype(np.float64)
    if structure is not None:
        chosen = prepare(as_structure(structure), nodes)
        return nodes, choose_graph(chosen, nodes, None).edges
    active = sparse.triu(model.graph_).tocoo()
    edges = np.column_stack([active.row, active.col])
    lengths = np.sqrt(squared_distances(nodes, edges))
    tree = minimum_spanning_tree(length_matrix(edges, lengths, len(nodes))).tocoo()
    return nodes, np.column_stack([tree.row, tree.col])


def data_scale(model: Any) -> float:
    """The factor from coordinates of an estimator to units of the data.

    Other than 1 for SPL alone, whose embedding, the posterior mean, is its skeleton, shrunk.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise import SPL
    >>> from branchwise.trajectory.geometry import data_scale
    >>> data_scale(SPL(gamma=4.0).fit(load_iris().data))
    1.25
    """
    if getattr(model, "skeleton_", None) is None or model.gamma_ == 0:
        return 1.0
    return float((model.gamma_ + 1) / model.gamma_)
