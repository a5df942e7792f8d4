"""How smooth the branches of a skeleton are."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from .._typing import Floats, Ints
from ..data.checks import check_finite
from ..data.masked import unmasked
from ..graph.placement import degrees, segments


class Smoothness(NamedTuple):
    """The outcome of `skeleton_smoothness`, one entry per branch."""

    ends: Ints  # (n_branches, 2): the nodes where a branch begins and ends
    lengths: Floats  # (n_branches,)
    turning: Floats  # (n_branches,): sum of the angles between successive edges, in radians
    smoothness: Floats  # (n_branches,): 1 − mean angle / π
    mean: float  # of smoothness, with the lengths as weights


def skeleton_smoothness(tree: Any, nodes: Any) -> Smoothness:
    """Smoothness of each branch of a skeleton: how little its edges turn.

    A branch is a path between tips and forks, or a ring. At each of its inner nodes the next edge
    deviates by an angle θ, from 0 (straight on) to π (back), from the one before. Its total
    turning is Σθ, the discrete total curvature (Milnor 1950); its smoothness is

        1 − mean(θ)/π

    which is 1 for straight branches, 0 for branches that go to and fro, and does not depend on
    the scale. The mean turning of a zigzag stays as it is when nodes are added, whereas that of
    a smooth curve vanishes; the total turning of a smooth curve stays as it is. Edges without
    length have no direction and are passed over.

    Parameters
    ----------
    tree : sparse matrix or array of shape (n_nodes, n_nodes)
        Adjacency of the skeleton, of any shape; entries are edges, whatever their value.
    nodes : array-like of shape (n_nodes, n_components)
        Positions of the nodes.

    Returns
    -------
    smoothness : Smoothness
        Named tuple of ``ends``, ``lengths``, ``turning`` and ``smoothness`` of each branch, and the
        ``mean`` of the latter weighted by length (1 without any length).

    References
    ----------
    Milnor (1950), "On the total curvature of knots", Annals of Mathematics 52, 248-257,
    doi:10.2307/1969467.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph import adjacency
    >>> from branchwise.metrics import skeleton_smoothness
    >>> path = adjacency(np.array([[0, 1], [1, 2], [2, 3]]), 4)
    >>> corner = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> skeleton_smoothness(path, corner).smoothness  # a right angle and none
    array([0.75])
    """
    nodes = check_array(
        unmasked(nodes), dtype=np.float64, ensure_all_finite=False, input_name="nodes"
    )
    check_finite(nodes, "nodes")
    edges = _edges(tree, len(nodes))
    found = segments(edges, np.ones(len(edges)), len(nodes))
    n_branches = len(found.ends)
    steps = found.sign[:, None] * (nodes[edges[:, 1]] - nodes[edges[:, 0]])
    length = np.linalg.norm(steps, axis=1)
    # Along each branch, by the number of edges from its first end.
    place = np.minimum(found.start, found.start + found.sign)
    order = np.lexsort((place, found.of_edge))
    order = order[length[order] > 0]
    branch, directions = found.of_edge[order], steps[order] / length[order, None]
    following = np.arange(1, len(order) + 1)
    # A ring goes on where it began, unless there is a fork.
    is_last = np.ones(len(order), dtype=bool)
    is_last[:-1] = branch[1:] != branch[:-1]
    is_ring = (found.ends[:, 0] == found.ends[:, 1]) & (
        degrees(edges, len(nodes))[found.ends[:, 0]] == 2
    )
    first = np.searchsorted(branch, branch)
    following[is_last] = first[is_last]
    turns = ~is_last | is_ring[branch]
    a, b, branch = directions[turns], directions[following[turns]], branch[turns]
    # As accurate for small angles as for large ones.
    angle = 2 * np.arctan2(np.linalg.norm(a - b, axis=1), np.linalg.norm(a + b, axis=1))
    n_turns = np.bincount(branch, minlength=n_branches)
    turning = np.bincount(branch, weights=angle, minlength=n_branches)
    smoothness = 1 - turning / (np.pi * np.maximum(n_turns, 1))
    lengths = np.bincount(found.of_edge, weights=length, minlength=n_branches)
    total = lengths.sum()
    mean = float(lengths @ smoothness / total) if total > 0 else 1.0
    return Smoothness(found.ends, lengths, turning, smoothness, mean)


def _edges(tree: Any, n_nodes: int) -> Ints:
    """Edges of a symmetric adjacency matrix, or of one half of it, without loops."""
    if not sparse.issparse(tree):
        tree = sparse.csr_array(check_array(tree, input_name="tree"))
    if tree.shape != (n_nodes, n_nodes):
        raise ValueError(
            f"tree has shape {tree.shape} and nodes {n_nodes} rows; pass an adjacency matrix with "
            "one row and one column per node."
        )
    cells = sparse.coo_array(tree)
    ends = np.sort(np.column_stack([cells.row, cells.col]), axis=1).astype(np.intp)
    return np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0)
