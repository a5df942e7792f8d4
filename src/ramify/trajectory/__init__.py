"""From a tree to an answer: roots, branches, pseudotime, trends, support."""

from .core import Trajectory

__all__ = ["Trajectory"]
