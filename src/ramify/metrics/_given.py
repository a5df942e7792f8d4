"""What the scores of trajectories are given: points placed on a graph, in any of their guises."""

from typing import Any

import numpy as np

from ..graph.placement import Placement


def placement_of(given: Any, name: str) -> Placement:
    """The placement that an object is, or has as its ``placement_`` or ``truth``, checked."""
    for candidate in (given, getattr(given, "placement_", None), getattr(given, "truth", None)):
        if isinstance(candidate, Placement):
            check_placement(candidate, name)
            return candidate
    raise TypeError(
        f"{name} is of type {type(given).__name__}, but must be a Placement, or have one as its "
        "attribute placement_ or truth; pass a Trajectory, or points placed on a graph."
    )


def check_placement(placement: Placement, name: str) -> None:
    """Every edge joins two nodes, and every point lies on an edge."""
    n_nodes, edges, lengths, edge, position = placement
    rules = {
        f"edges of {name} must be pairs of nodes from 0 to {n_nodes - 1}": edges.ndim == 2
        and edges.shape[1:] == (2,)
        and (edges.size == 0 or (edges.min() >= 0 and edges.max() < n_nodes)),
        f"lengths of {name} must be finite, not negative, and one per edge": lengths.shape
        == edges.shape[:1]
        and bool(np.all(np.isfinite(lengths) & (lengths >= 0))),
        f"edge of {name} must be an edge from 0 to {len(edges) - 1} for each point": edge.ndim == 1
        and (edge.size == 0 or (edge.min() >= 0 and edge.max() < len(edges))),
        f"position of {name} must be a part from 0 to 1 for each point": position.shape
        == edge.shape
        and bool(np.all((position >= 0) & (position <= 1))),
    }
    for rule, holds in rules.items():
        if not holds:
            raise ValueError(f"{rule}; place the points anew.")


def same_points(truth: Any, found: Any, n_least: int = 1) -> tuple[Placement, Placement]:
    """Two placements of the same points."""
    one, other = placement_of(truth, "truth"), placement_of(found, "found")
    if len(one.edge) != len(other.edge):
        raise ValueError(
            f"truth has {len(one.edge)} points and found {len(other.edge)}; place the same points "
            "on both, in the same order."
        )
    if len(one.edge) < n_least:
        raise ValueError(
            f"truth and found have {len(one.edge)} points, but need at least {n_least}; place more "
            "points on both."
        )
    return one, other
