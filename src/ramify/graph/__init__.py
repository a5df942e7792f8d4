"""Graphs as arrays: spanning trees, Laplacians and exact solves on trees."""

from .laplacian import adjacency, laplacian
from .spanning_tree import euclidean_spanning_tree
from .tree_solve import tree_solver

__all__ = ["adjacency", "euclidean_spanning_tree", "laplacian", "tree_solver"]
