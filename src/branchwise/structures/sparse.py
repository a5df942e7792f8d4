"""Graphs with cycles: a spanning tree, closed where a long way round ends near its beginning."""

from dataclasses import dataclass

import numpy as np

from .._compat import kernel
from .._typing import Floats, Ints
from ..graph import euclidean_spanning_tree, squared_distances
from ..graph.solve import forest_solver, root_forest
from ..neighbors import neighbor_edges
from .base import Graph

# Edges of a tree that are longer than this part of them may be due to strays.
LONG = 0.95


@dataclass(frozen=True)
class SparseGraph:
    """Connected graphs, with cycles where the data have them.

    A graph with edges of weight one, E of them on K nodes, costs

        Σ_e ‖c_i − c_j‖² + β·(E − K + 1) − α·log τ

    where τ = det(L + 11ᵀ/K²) is the number of its spanning trees. The log-determinant and the
    price β of an edge are those of structure learning (`op:sl`), for weights that are 0 or 1. For a
    tree only the sum remains. An edge that closes a cycle of m nodes in a tree multiplies τ by m:
    it pays if its squared length is below α·log m − β = α·log(m/m₀). So a cycle of fewer than
    m₀ nodes never pays, a second edge beside the first hardly does, and a ring that the
    tree had to leave open is closed. The cost, times λ, is a part of the objective.

    The best graph is searched for: from the minimum spanning tree on, of the edges to
    near nodes the one that pays most is added until none does. A heuristic.

    Parameters
    ----------
    n_neighbors : int, default=10
        How many of the nearest nodes a node may be joined to, besides those in the tree.
    min_cycle : float, default=0.5
        m₀ as a part of the number of nodes on the longest path in the starting nodes' minimum
        spanning tree. Smaller values find smaller cycles, such as both of a figure eight, and
        more wrong ones.
    scale : float, default=5.0
        α in units of the squared length that 95 % of the edges in the starting nodes' minimum
        spanning tree do not exceed. Larger values close wider gaps, right and wrong ones.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.structures import SparseGraph
    >>> angle = np.linspace(0, 2 * np.pi, 30, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> len(SparseGraph().best_graph(ring).edges), len(SparseGraph().best_graph(ring[:25]).edges)
    (30, 24)
    """

    n_neighbors: int = 10
    min_cycle: float = 0.5
    scale: float = 5.0

    def prepare(self, points: Floats) -> "CycleSearch":
        """Settle α and β."""
        if not (self.n_neighbors >= 1 and self.min_cycle > 0 and self.scale >= 0):
            raise ValueError(
                f"n_neighbors={self.n_neighbors!r} must be at least 1, min_cycle="
                f"{self.min_cycle!r} positive and scale={self.scale!r} non-negative; "
                "set scale=0 for a tree."
            )
        tree = euclidean_spanning_tree(points)
        lengths = squared_distances(points, tree)
        alpha = self.scale * float(np.quantile(lengths, LONG)) if len(lengths) else 0.0
        smallest = max(self.min_cycle * longest_path(tree, len(points)), 2.0)
        return CycleSearch(int(self.n_neighbors), alpha, alpha * float(np.log(smallest)))

    def best_graph(self, points: Floats) -> Graph:
        """The cheapest graph that the search finds."""
        return self.prepare(points).best_graph(points)


@dataclass(frozen=True)
class CycleSearch:
    """The search, with the constants of the cost settled."""

    n_neighbors: int
    alpha: float
    beta: float

    def best_graph(self, points: Floats) -> Graph:
        """The minimum spanning tree and the edges that pay, one after the other.

        An edge multiplies τ by 1 + R, R being the resistance between its ends: in the tree
        the number of edges between. With potentials v = L⁻¹b_e it lowers the resistance of
        every other edge f by (b_fᵀv)²/(1 + R).
        """
        n_nodes = len(points)
        tree = euclidean_spanning_tree(points)
        if n_nodes < 3:
            return Graph.unweighted(tree)
        edges = neighbor_edges(points, min(self.n_neighbors, n_nodes - 1))
        forest = root_forest(tree, 1.0, n_nodes)
        resistance = hops(forest.order, forest.parent, edges).astype(float)
        cost = squared_distances(points, edges) + self.beta
        # The more edges there are, the less is another one worth: what does not pay never will.
        pays = self.alpha * np.log1p(resistance) > cost
        edges, resistance, cost = edges[pays], resistance[pays], cost[pays]
        # The root is held at zero. Currents that sum to zero leave nothing there.
        solve = forest_solver(forest, np.eye(1, n_nodes)[0])
        added, basis, penalty = [tree], np.empty((n_nodes, 0)), 0.0
        while len(edges):
            gain = self.alpha * np.log1p(resistance) - cost
            best = int(np.argmax(gain))
            if gain[best] <= 0:
                break
            i, j = edges[best]
            penalty += self.beta - self.alpha * float(np.log1p(resistance[best]))
            added.append(edges[best : best + 1])
            current = np.zeros((n_nodes, 1))
            current[i], current[j] = 1.0, -1.0
            potential = solve(current) - basis @ (basis[i] - basis[j])[:, np.newaxis]
            potential /= np.sqrt(1 + resistance[best])
            drop = potential[edges[:, 0], 0] - potential[edges[:, 1], 0]
            resistance = np.maximum(resistance - drop**2, 0.0)
            basis = np.hstack([basis, potential])
        edges = np.concatenate(added)
        edges = edges[np.lexsort(edges.T[::-1])]
        return Graph(edges, np.ones(len(edges)), penalty)


def longest_path(tree: Ints, n_nodes: int) -> int:
    """The number of nodes on the longest path in a tree."""
    forest = root_forest(tree, 1.0, n_nodes)
    # Of the two ends of a longest path one is as far from any node as a node can be.
    end = np.full(n_nodes, forest.order[-1])
    return int(hops(forest.order, forest.parent, np.column_stack([end, forest.order])).max()) + 1


@kernel
def hops(order: Ints, parent: Ints, pairs: Ints) -> Ints:
    """The number of edges between two nodes of a rooted tree, for each pair."""
    depth = np.zeros(len(parent), dtype=np.int64)
    for node in order[1:]:
        depth[node] = depth[parent[node]] + 1
    count = np.zeros(len(pairs), dtype=np.int64)
    for e in range(len(pairs)):
        i, j = pairs[e]
        while i != j:
            if depth[i] < depth[j]:
                i, j = j, i
            i = parent[i]
            count[e] += 1
    return count
