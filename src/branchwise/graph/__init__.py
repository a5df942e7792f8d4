"""Graphs as arrays: spanning trees, short tours, Laplacians, their solves and inverses, places."""

from .laplacian import adjacency, incidence, laplacian, squared_distances
from .placement import BranchCount, count_branches
from .solve import graph_solver
from .spanning_tree import euclidean_spanning_tree

__all__ = [
    "BranchCount",
    "adjacency",
    "count_branches",
    "euclidean_spanning_tree",
    "graph_solver",
    "incidence",
    "laplacian",
    "squared_distances",
]
