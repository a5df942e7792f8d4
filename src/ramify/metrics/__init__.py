"""Scores: of embeddings, of learned graphs against true ones, and of skeletons.

Every function cites the definition that it follows, and says where it leaves it.
"""

from .ordering import f1_branches, f1_milestones, tree_correlation
from .topology import him

__all__ = ["f1_branches", "f1_milestones", "him", "tree_correlation"]
