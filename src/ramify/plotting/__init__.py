"""Pictures of results: take a result and an Axes, return the Axes, compute nothing.

Needs matplotlib: install ``ramify[plot]``.
"""

from .adjacency import plot_adjacency
from .convergence import plot_convergence
from .embedding import plot_embedding
from .uncertainty import plot_uncertainty

__all__ = ["plot_adjacency", "plot_convergence", "plot_embedding", "plot_uncertainty"]
