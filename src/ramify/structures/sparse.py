"""Weighted graphs of neighbours."""

from dataclasses import dataclass
from .._typing import Floats
from .base import Graph
from .trees import Tree


@dataclass(frozen=True)
class SparseGraph:
    """To come."""

    n_neighbors: int = 10

    def best_graph(self, points: Floats) -> Graph:
        """To come."""
        return Tree().best_graph(points)
