"""One graph, given by the user."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Floats
from .base import Graph, graph_of


@dataclass(frozen=True, eq=False)
class FixedGraph:
    """The set that holds one graph only, so that nothing but the places of its nodes is learned.

    Node k is sample k, where every sample is a node, and otherwise row k of ``init``.

    Parameters
    ----------
    adjacency : array or sparse matrix of shape (n_nodes, n_nodes)
        Symmetric and non-negative weights of the edges; the diagonal does not count.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.structures import FixedGraph
    >>> FixedGraph(np.array([[0, 2], [2, 0]])).best_graph(np.zeros((2, 1))).weights
    array([2.])
    """

    adjacency: Any

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        graph_of(self.adjacency, None, "structure's")
        return int(np.shape(self.adjacency)[0])

    def prepare(self, points: Floats) -> "Chosen":
        """Check the matrix against the number of nodes."""
        return Chosen(graph_of(self.adjacency, len(points), "structure's"))

    def best_graph(self, points: Floats) -> Graph:
        """The graph that was given."""
        return self.prepare(points).graph


@dataclass(frozen=True, eq=False)
class Chosen:
    """A graph, checked."""

    graph: Graph

    def best_graph(self, points: Floats) -> Graph:
        """That graph."""
        return self.graph
