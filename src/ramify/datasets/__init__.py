"""Simulated data with known structure: points, and the graph, branch, pseudotime and root."""

from ._simulated import Simulated
from .topologies import TOPOLOGIES, random_tree_topology
from .trees import make_tree

__all__ = ["TOPOLOGIES", "Simulated", "make_tree", "random_tree_topology"]
