"""Pictures of results: take arrays and an Axes, return the Axes, compute nothing.

Needs matplotlib: install ``ramify[plot]``.
"""

from .embedding import plot_tree

__all__ = ["plot_tree"]
