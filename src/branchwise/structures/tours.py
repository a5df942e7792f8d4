"""Closed and open curves through all nodes."""

from dataclasses import dataclass

from .._typing import Floats, Ints
from ..graph.tour import short_tour, tour_edges
from .base import Graph


@dataclass(frozen=True)
class Ring:
    """Closed curves: every node has two neighbours.

    The cheapest is a shortest round trip with squared distances, which nobody can compute in
    reasonable time: it is searched for (`branchwise.graph.tour`), first from scratch and then from
    the last iteration's. With fewer than three nodes a ring is a curve.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.structures import Ring
    >>> Ring().best_graph(np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])).edges
    array([[0, 2],
           [0, 3],
           [1, 2],
           [1, 3]])
    """

    def prepare(self, points: Floats) -> "Tour":
        """The search, which remembers where it ended."""
        return Tour(closed=True)

    def best_graph(self, points: Floats) -> Graph:
        """The cheapest ring that a search from scratch finds."""
        return self.prepare(points).best_graph(points)


@dataclass(frozen=True)
class Curve:
    """Open curves: a path through all nodes, without branches.

    Searched for in the same way as a `Ring`.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.structures import Curve
    >>> Curve().best_graph(np.array([[0.0], [3.0], [1.0], [2.0]])).edges
    array([[0, 2],
           [1, 3],
           [2, 3]])
    """

    def prepare(self, points: Floats) -> "Tour":
        """The search, which remembers where it ended."""
        return Tour(closed=False)

    def best_graph(self, points: Floats) -> Graph:
        """The cheapest curve that a search from scratch finds."""
        return self.prepare(points).best_graph(points)


class Tour:
    """A search for tours that starts from the last one found."""

    def __init__(self, *, closed: bool):
        self.closed = closed
        self.order: Ints | None = None

    def best_graph(self, points: Floats) -> Graph:
        """The tour as a graph."""
        self.order = short_tour(points, closed=self.closed, start=self.order)
        return Graph.unweighted(tour_edges(self.order, closed=self.closed))
