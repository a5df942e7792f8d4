"""From what a user may pass as ``structure=`` to the object that the solvers use."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Floats, Ints
from .base import Graph, check_graph, choose_graph, prepare
from .fixed import FixedGraph
from .sparse import SparseGraph
from .tours import Curve, Ring
from .trees import Forest, Tree

NAMES: dict[str, Any] = {
    "tree": Tree(),
    "forest": Forest(),
    "ring": Ring(),
    "curve": Curve(),
    "graph": SparseGraph(),
}

# These know the nodes by their places alone, in whatever order they come.
ORDERLESS = tuple(type(structure) for structure in NAMES.values())


def as_structure(structure: Any) -> Any:
    """The structure of that name, or of that matrix; any other object is returned as it is.

    Examples
    --------
    >>> from branchwise.structures import as_structure
    >>> as_structure("ring")
    Ring()
    """
    if isinstance(structure, str):
        if structure not in NAMES:
            raise ValueError(
                f"structure={structure!r} must be one of {', '.join(map(repr, NAMES))}, a matrix "
                "or an object of branchwise.structures."
            )
        return NAMES[structure]
    if isinstance(structure, type):
        name = structure.__name__
        raise TypeError(f"structure={name} is a class but must be an object; pass {name}().")
    return structure if hasattr(structure, "best_graph") else FixedGraph(structure)


def in_order(structure: Any, order: Ints) -> Any:
    """A structure that finds at place t what the given one expects at place order[t]."""
    return structure if isinstance(structure, ORDERLESS) else Reordered(structure, order)


@dataclass(frozen=True, eq=False)
class Reordered:
    """A structure whose nodes come in another order than it knows them by."""

    structure: Any
    order: Ints

    def prepare(self, points: Floats) -> "Reordered":
        """The structure, prepared for the points in its own order."""
        return Reordered(prepare(self.structure, self._own(points)), self.order)

    def best_graph(self, points: Floats) -> Graph:
        """Its graph, with the nodes numbered as they come."""
        graph = choose_graph(self.structure, self._own(points), None)
        graph = check_graph(graph, len(points), "best_graph's")
        place = np.argsort(self.order)
        edges = np.sort(place[graph.edges], axis=1)
        sorting = np.lexsort(edges.T[::-1])
        return Graph(edges[sorting], graph.weights[sorting], graph.penalty)

    def _own(self, points: Floats) -> Floats:
        own = np.empty_like(points)
        own[self.order] = points
        return own
