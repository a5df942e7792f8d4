"""Pictures of results: take a result and an Axes, return the Axes, compute nothing.

Needs matplotlib: install ``ramify[plot]``.
"""

from .embedding import plot_embedding

__all__ = ["plot_embedding"]
