"""Pictures of results: take a result and an Axes, return the Axes, compute nothing.

Needs matplotlib: ``pip install '.[plot]'`` in a clone of branchwise.
"""

from .adjacency import plot_adjacency
from .branch_graph import plot_branch_graph
from .convergence import plot_convergence
from .embedding import plot_embedding
from .heatmap import plot_heatmap
from .layout import plot_layout
from .trends import plot_trends
from .uncertainty import plot_uncertainty

__all__ = [
    "plot_adjacency",
    "plot_branch_graph",
    "plot_convergence",
    "plot_embedding",
    "plot_heatmap",
    "plot_layout",
    "plot_trends",
    "plot_uncertainty",
]
