"""The linear axes that show a tree best: its own principal axes, not those of the samples."""

from typing import NamedTuple

import numpy as np

from .._typing import Floats, Ints

# What samples weigh beside the tree: enough to choose among axes along which the tree has no
# extent, too little to turn those along which it has.
SAMPLES = 1e-6


class TreeAxes(NamedTuple):
    """Orthonormal axes of the space, those along which the tree is most extended first."""

    axes: Floats  # (n_components, n_axes)
    shares: Floats  # (n_axes,): parts of the tree's squared extent


def tree_axes(
    nodes: Floats, edges: Ints, points: Floats, start: int | None = None, n_axes: int = 2
) -> TreeAxes:
    r"""Axes in which a projection shows as much of a tree as linear axes can.

    They are the principal axes of a mass that is spread evenly along the edges: every piece of the
    tree weighs as its length, however many samples are there, and however far they lie from it. An
    edge from :math:`a` to :math:`b` of length :math:`\ell` has the second moment
    :math:`\ell\,(aa^\top + bb^\top + (a + b)(a + b)^\top)/6`.

    Parameters
    ----------
    nodes : array of shape (n_nodes, n_components)
    edges : array of shape (n_edges, 2)
    points : array of shape (n_samples, n_components)
        They choose among the axes along which the tree has no extent.
    start : int or None, default=None
        A node that is to lie to the left; None: that of the first edge.
    n_axes : int, default=2
        At most as many as components.

    Returns
    -------
    TreeAxes

    Examples
    --------
    A tree in the first and the third component, and noise in the second:

    >>> import numpy as np
    >>> from branchwise.trajectory.axes import tree_axes
    >>> nodes = np.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [4.0, 0.0, 3.0]])
    >>> noise = np.random.default_rng(0).normal(size=(100, 3)) * [0.0, 9.0, 0.0]
    >>> found = tree_axes(nodes, np.array([[0, 1], [1, 2]]), noise)
    >>> np.abs(found.axes).round(2).tolist()
    [[0.87, 0.5], [0.0, 0.0], [0.5, 0.87]]
    >>> found.shares.round(2)
    array([0.83, 0.17])
    """
    n_axes = min(n_axes, nodes.shape[1])
    start = (int(edges[0, 0]) if len(edges) else 0) if start is None else start
    middle, spread = _moments(nodes, edges)
    about = points - points.mean(axis=0)
    others = about.T @ about / len(points)
    size = np.trace(spread) or 1.0
    mixed = spread / size + SAMPLES * others / (np.trace(others) or 1.0)
    axes = np.linalg.eigh(mixed)[1][:, ::-1][:, :n_axes]
    # Of the two ways that an axis can point, the first goes away from the start.
    largest = np.argmax(np.abs(axes), axis=0)
    sign = np.sign(axes[largest, np.arange(n_axes)])
    away = (nodes[start] - middle) @ axes[:, 0]
    if n_axes and abs(away) > 1e-9 * np.sqrt(size):
        sign[0] = -np.sign(away)
    axes = axes * sign
    along = np.einsum("ik,ij,jk->k", axes, spread, axes)
    return TreeAxes(axes, np.maximum(along, 0.0) / size)


def _moments(nodes: Floats, edges: Ints) -> tuple[Floats, Floats]:
    """Mean and covariance of a mass that is spread evenly along the edges."""
    a, b = nodes[edges[:, 0]], nodes[edges[:, 1]]
    length = np.linalg.norm(b - a, axis=1)
    total = length.sum()
    if not total > 0:
        return nodes.mean(axis=0), np.zeros((nodes.shape[1],) * 2)
    weight = (length / total)[:, np.newaxis]
    mean = (weight * (a + b) / 2).sum(axis=0)
    a, b = a - mean, b - mean
    weight = weight / 6
    moment = (weight * a).T @ a + (weight * b).T @ b + (weight * (a + b)).T @ (a + b)
    return mean, moment
