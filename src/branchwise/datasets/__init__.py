"""Simulated data with known structure: points, and the graph, branch, pseudotime and root."""

from ._simulated import Simulated
from .cells import make_cells
from .progression import Progression, make_progression
from .shapes import make_helix, make_shape
from .topologies import TOPOLOGIES, random_tree_topology
from .trees import make_forest, make_ring, make_tree

__all__ = [
    "TOPOLOGIES",
    "Progression",
    "Simulated",
    "make_cells",
    "make_forest",
    "make_helix",
    "make_progression",
    "make_ring",
    "make_shape",
    "make_tree",
    "random_tree_topology",
]
