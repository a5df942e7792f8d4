"""Pictures of results: take a result and an Axes, return the Axes, compute nothing.

Needs matplotlib: install ``ramify[plot]``.
"""

from .branch_graph import plot_branch_graph
from .embedding import plot_embedding
from .heatmap import plot_heatmap
from .layout import plot_layout
from .trends import plot_trends

__all__ = [
    "plot_branch_graph",
    "plot_embedding",
    "plot_heatmap",
    "plot_layout",
    "plot_trends",
]
