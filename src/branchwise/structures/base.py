"""What a structure is, and how the solvers use one."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from .._typing import Floats, Ints, Matrix
from ..graph import squared_distances

# Costs that differ by less than this part of their terms are equal but for rounding.
ROUNDING = 1e-13


class Graph(NamedTuple):
    """Edges with their weights, and what the structure itself has to say about them.

    For nodes at C a graph costs Tr(CᵀLC) + penalty = Σ_e s_e‖c_i − c_j‖² + penalty; this, times
    λ, is its part of the objective.
    """

    edges: Ints  # (n_edges, 2), each as (smaller index, larger index)
    weights: Floats  # (n_edges,), the s_e ≥ 0
    penalty: float = 0.0

    @classmethod
    def unweighted(cls, edges: Ints) -> "Graph":
        """The graph whose every edge has weight one."""
        return cls(edges, np.ones(len(edges)))

    def terms(self, points: Floats) -> tuple[float, float]:
        """Tr(CᵀLC) and the penalty."""
        return float(self.weights @ squared_distances(points, self.edges)), self.penalty


class Structure(Protocol):
    """A set of graphs, in which the cheapest for given points can be found.

    This method is all that an object of your own needs. It may have one more:

    ``prepare(points)`` is called once with the starting nodes, and returns the object to use
    from then on: the place to fix whatever depends on the data, so that the set of
    graphs, and with it the objective, stays the same during the fit. It may also hold what
    makes the next search faster.

    A search need not find the cheapest graph: one that costs more than the present one is not
    taken, so that the objective never rises.

    Examples
    --------
    A star, at the best of all centres:

    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from branchwise import DDRTree
    >>> class Star:
    ...     def best_graph(self, points):
    ...         squared = ((points[:, None] - points) ** 2).sum(axis=2)
    ...         hub = squared.sum(axis=1).argmin()
    ...         S = np.zeros_like(squared)
    ...         S[hub] = S[:, hub] = 1
    ...         S[hub, hub] = 0
    ...         return S
    >>> model = DDRTree(n_centers=9, structure=Star(), random_state=0).fit(load_iris().data)
    >>> int(model.tree_.sum(axis=0).max())
    8
    """

    def best_graph(self, points: Floats) -> Graph | Matrix:
        """The cheapest graph for nodes at these points, as a `Graph` or as a matrix.

        Parameters
        ----------
        points : array of shape (n_nodes, n_components)

        Returns
        -------
        graph : array or sparse matrix of shape (n_nodes, n_nodes), or Graph
            Symmetric and non-negative: the weights of the edges.
        """


def prepare(structure: Any, points: Floats) -> Any:
    """The structure with everything that depends on the starting nodes settled."""
    return structure.prepare(points) if hasattr(structure, "prepare") else structure


def choose_graph(structure: Any, points: Floats, current: Graph | None) -> Graph:
    """The structure's graph for these points or, if that costs more, the current one.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.structures import Tree, choose_graph
    >>> choose_graph(Tree(), np.array([[0.0], [5.0], [1.0]]), None).edges
    array([[0, 2],
           [1, 2]])
    """
    found = structure.best_graph(points)
    graph = found if isinstance(found, Graph) else graph_of(found, len(points), "best_graph's")
    if current is None:
        return graph
    new, old = graph.terms(points), current.terms(points)
    is_dearer = sum(new) - sum(old) > ROUNDING * np.abs([new, old]).max()
    return current if is_dearer else graph


def check_graph(graph: Graph, n_nodes: int, whose: str) -> Graph:
    """The graph as arrays, if its edges are distinct pairs of nodes with weights."""
    edges, weights = np.asarray(graph.edges), np.asarray(graph.weights)
    if edges.dtype.kind not in "iu" or edges.shape != (len(weights), 2):
        raise ValueError(
            f"{whose} graph has edges of shape {edges.shape} and type {edges.dtype} for "
            f"{weights.size} weights but must have integers of shape (n_edges, 2) and one weight "
            "for each; return a matrix of weights if that is simpler."
        )
    edges = np.sort(edges, axis=1)
    i, j = edges.T
    is_wrong = (i < 0) | (i == j) | (j >= n_nodes)
    repeated = np.ones(len(edges), dtype=bool)
    repeated[np.unique(i * n_nodes + j, return_index=True)[1]] = False
    is_wrong |= repeated
    if is_wrong.any():
        i, j = edges[is_wrong][0]
        raise ValueError(
            f"{whose} graph has the edge ({i}, {j}) but edges must be distinct pairs of "
            f"different nodes from 0 to {n_nodes - 1}; add up the weights of equal edges."
        )
    check_weights(weights, whose)
    if not np.isfinite(graph.penalty):
        raise ValueError(
            f"{whose} graph has penalty {graph.penalty} but it must be finite; give 0 for none."
        )
    return Graph(edges, weights.astype(np.float64, copy=False), graph.penalty)


def check_weights(weights: Floats, whose: str) -> None:
    """Weights are finite and non-negative."""
    is_wrong = ~(np.isfinite(weights) & (weights >= 0))
    if is_wrong.any():
        raise ValueError(
            f"{whose} graph has an edge of weight {weights[is_wrong][0]} but weights must be "
            "finite and non-negative; give 0 where there is no edge."
        )


def graph_of(matrix: Matrix, n_nodes: int | None, whose: str) -> Graph:
    """The graph of a symmetric, non-negative matrix of weights; its diagonal does not count."""
    if not sparse.issparse(matrix):
        matrix = np.asarray(matrix)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise ValueError(
            f"{whose} graph has {matrix.ndim} dimension(s) and type {matrix.dtype} but must be a "
            "square matrix of numbers; give one row and one column per node."
        )
    if matrix.shape[0] != matrix.shape[1] or n_nodes not in (None, matrix.shape[0]):
        wanted = "(n_nodes, n_nodes)" if n_nodes is None else f"({n_nodes}, {n_nodes})"
        raise ValueError(
            f"{whose} graph has shape {matrix.shape} but must have shape {wanted}; give one row "
            "and one column per node."
        )
    S = sparse.csr_array(matrix, dtype=np.float64)
    S.sum_duplicates()
    check_weights(S.data, whose)
    if abs(S - S.T).max() > ROUNDING * S.max():
        raise ValueError(
            f"{whose} graph is not symmetric but must be: an edge has one weight in both "
            "directions; pass (S + S.T) / 2, for instance."
        )
    upper = sparse.triu(S, 1).tocoo()
    present = upper.data > 0
    edges = np.column_stack([upper.row[present], upper.col[present]]).astype(np.intp)
    return Graph(edges, upper.data[present])


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
