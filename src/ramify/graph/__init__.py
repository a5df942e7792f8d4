"""Graphs as arrays: spanning trees, short tours, Laplacians and solves with them."""

from .branches import BranchCount, count_branches
from .graph_solve import graph_solver
from .laplacian import adjacency, incidence, laplacian, squared_distances
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
