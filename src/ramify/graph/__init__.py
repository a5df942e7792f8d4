"""Graphs as arrays: spanning trees, Laplacians and exact solves on trees."""

from .branches import BranchCount, count_branches
from .laplacian import adjacency, laplacian
from .spanning_tree import euclidean_spanning_tree
from .tree_solve import tree_solver

__all__ = [
    "BranchCount",
    "adjacency",
    "count_branches",
    "euclidean_spanning_tree",
    "laplacian",
    "tree_solver",
]
