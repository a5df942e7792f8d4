"""Names for tips and forks that depend neither on the root nor on short twigs."""

import numpy as np

from .._typing import Floats, Ints
from ..graph.placement import degrees
from .geometry import Geometry
from .twigs import rank_twigs


def name_milestones(geometry: Geometry) -> dict[int, str]:
    """Tips T1, T2, … and forks F1, F2, … of a graph, by node, the most important first.

    The first two tips of a tree are the ends of its longest path, T1 being the one whose
    coordinates come first in the order of a dictionary. The other tips follow by the length of the
    twig that would be cut off with them (`rank_twigs`), the longest first; a fork follows
    by the first tip, T3 or later, that branches off there. Forks of cycles, which are forks
    without any twig, come first. So pruning the last tips leaves the names of the others as they
    were.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.trajectory.geometry import place
    >>> from ramify.trajectory.milestones import name_milestones
    >>> nodes = np.array([[3.0, 0.0], [3.0, 1.0], [0.0, 0.0], [5.0, 0.0]])
    >>> name_milestones(place(nodes, np.array([[0, 1], [0, 2], [0, 3]]), nodes))
    {2: 'T1', 3: 'T2', 1: 'T3', 0: 'F1'}
    """
    edges, lengths, n_nodes = geometry.edges, geometry.lengths, len(geometry.nodes)
    twigs = rank_twigs(edges, lengths, n_nodes)
    degree, parts = degrees(edges, n_nodes), geometry.parts
    left = np.bincount(parts[edges[:, 0]], weights=np.where(twigs.owner < 0, lengths, 0.0))
    tips = np.setdiff1d(np.flatnonzero(degree == 1), twigs.tips)
    tips = tips[np.lexsort((*_in_reading_order(geometry.nodes[tips]), -left[parts[tips]]))]
    forks = np.flatnonzero(degrees(edges[twigs.owner < 0], n_nodes) > 2)
    forks = forks[np.lexsort(_in_reading_order(geometry.nodes[forks]))]
    # A fork is as important as the last twig that is cut from it.
    cut, first = np.unique(twigs.forks[::-1], return_index=True)
    cut = cut[np.argsort(first)]
    forks = np.concatenate([forks, cut[~np.isin(cut, forks)]])
    tips = np.concatenate([tips, twigs.tips[::-1]])
    names = {int(node): f"T{k}" for k, node in enumerate(tips, 1)}
    return names | {int(node): f"F{k}" for k, node in enumerate(forks, 1)}


def default_roots(geometry: Geometry, names: dict[int, str]) -> Ints:
    """For each connected part its first tip or, on a ring, the node that comes first in reading.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.trajectory.geometry import place
    >>> from ramify.trajectory.milestones import default_roots, name_milestones
    >>> path = place(np.array([[0.0], [1.0], [3.0]]), np.array([[0, 1], [1, 2]]), np.zeros((1, 1)))
    >>> default_roots(path, name_milestones(path))
    array([0])
    """
    parts = geometry.parts
    importance = np.full(len(parts), len(parts))
    for rank, (node, name) in enumerate(names.items()):
        if name.startswith("T"):
            importance[node] = rank
    order = np.lexsort((*_in_reading_order(geometry.nodes), importance, parts))
    return order[np.unique(parts[order], return_index=True)[1]]


def _in_reading_order(points: Floats) -> list[Floats]:
    """Keys for np.lexsort: the first column counts most."""
    return list(points.T[::-1])
