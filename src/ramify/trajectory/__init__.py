"""From a tree to an answer: roots, branches, pseudotime, trends, support."""

from .core import Trajectory
from .learn import learn_trajectory

__all__ = ["Trajectory", "learn_trajectory"]
