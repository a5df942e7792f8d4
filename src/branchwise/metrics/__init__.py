"""Scores: of embeddings, of learned graphs against true ones, and of skeletons.

- Embeddings: `loo_1nn`, `trustworthiness`, `continuity`, `coranking`.
- Points on a learned graph against those on the true one: `tree_correlation`, `f1_branches`,
  `f1_milestones`.
- The graphs themselves: `him`, `edge_flip`, `isomorphic`.
- Skeletons: `skeleton_smoothness`.

Every function cites the definition that it follows, and says where it leaves it.
"""

from .edge_flip import edge_flip
from .embedding import CoRanking, continuity, coranking, loo_1nn, trustworthiness
from .ordering import f1_branches, f1_milestones, tree_correlation
from .skeleton import Smoothness, skeleton_smoothness
from .topology import him, isomorphic

__all__ = [
    "CoRanking",
    "Smoothness",
    "continuity",
    "coranking",
    "edge_flip",
    "f1_branches",
    "f1_milestones",
    "him",
    "isomorphic",
    "loo_1nn",
    "skeleton_smoothness",
    "tree_correlation",
    "trustworthiness",
]
