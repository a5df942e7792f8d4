"""Where the points of the paper's synthetic data lie on their true structure, by geometry alone.

The files have no such places, but for the sides of the two moons and the parameter of the helix.
The rules below know the shapes, and nothing of any embedding.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from branchwise._typing import Floats, Ints
from branchwise.graph.nearest_edge import nearest_on_edges
from branchwise.graph.placement import (
    Placement,
    degrees,
    distances_between,
    distances_from,
    to_points,
)

# Corners of the zigzag, which its generator has at these places.
ZIGZAG = np.array([[0, 0], [0.25, 0.25], [0, 0.5], [0.25, 0.75], [0, 1]])
# The tree as read off a plot of its 300 points: a trunk, and two branches on either side of it.
TREE_NODES = np.array(
    [
        *[[0.42, 0.03], [0.41, 0.13], [0.42, 0.29], [0.41, 0.53], [0.42, 0.60], [0.41, 1.0]],
        *[[0.20, 0.20], [0.08, 0.30], [0.02, 0.55]],
        *[[0.55, 0.30], [0.75, 0.36], [0.90, 0.48], [0.98, 0.73]],
        *[[0.27, 0.64], [0.19, 0.80], [0.10, 1.0]],
        *[[0.55, 0.73], [0.65, 0.83], [0.74, 1.0]],
    ]
)
TREE_PATHS = (
    (0, 1, 2, 3, 4, 5),
    (1, 6, 7, 8),
    (2, 9, 10, 11, 12),
    (3, 13, 14, 15),
    (4, 16, 17, 18),
)


class Truth(NamedTuple):
    """What an embedding should keep of the data."""

    part: Ints  # (n_points,): the connected part of the structure, from 0
    branch: Ints  # (n_points,): the branch, from 0; the part, where there are no branches
    position: Floats  # (n_points,): along the branch; NaN for clusters, which have no order
    place: Placement | None  # on the structure as a graph; None for clusters
    tips: Ints  # points near the ends; on a ring, at its quarters; none for clusters

    @property
    def n_parts(self) -> int:
        """How many connected parts the structure has."""
        return int(self.part.max()) + 1

    def distances(self, points: Ints) -> Floats:
        """Of some points to all, along the structure; infinite between its parts."""
        if self.place is None:
            return np.where(self.part[points][:, None] == self.part, 0.0, np.inf)
        return distances_between(self.place, points[:, None], np.arange(len(self.part)))


def truth_of(name: str, X: Floats, *, y: Any = None, t: Any = None) -> Truth:
    """The places of the points of a toy data set.

    Parameters
    ----------
    name : str
        "distorted_sshape": t or, without it, the rows, which the file has in order along the S.
        "spiral": t or, without it, the angle, unwrapped by an Archimedean spiral (`spiral_angle`).
        "zigzag", "tree": the nearest place on a polyline, ``ZIGZAG`` or ``TREE_NODES``.
        "two_moons": the side y and, on it, the angle around the mean of the circle that fits best.
        "helix": t, around the ring.
        "three_clusters": the nearest of three means (Lloyd's algorithm, started from the corners).
    X : array of shape (n_points, n_features)
    y, t : array of shape (n_points,) or None
        Labels of the two moons, and the place on the curve where the data know it: always the
        parameter of the helix.

    Returns
    -------
    truth : Truth

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.experiments._truth import truth_of
    >>> truth_of("zigzag", np.array([[0.05, 0.05], [0.1, 0.4], [0.2, 0.8]])).position.round(2)
    array([0.07, 0.57, 1.13])
    """
    nothing = np.zeros(len(X), dtype=np.intp)
    if name == "distorted_sshape":
        position = np.arange(len(X), dtype=np.float64) if t is None else np.asarray(t, float)
        return _curves(nothing, position)
    if name == "spiral":
        return _curves(nothing, spiral_angle(X) if t is None else np.asarray(t, float))
    if name == "zigzag":
        path = [tuple(range(len(ZIGZAG)))]
        _, position, place = _on_paths(X, ZIGZAG, path)
        return Truth(nothing, nothing, position, place, _nearest(place, [0, len(ZIGZAG) - 1]))
    if name == "tree":
        branch, position, place = _on_paths(X, TREE_NODES, list(TREE_PATHS))
        tips = np.flatnonzero(degrees(place.edges, place.n_nodes) == 1)
        return Truth(nothing, branch, position, place, _nearest(place, tips))
    if name == "two_moons":
        part: Ints = np.unique(np.asarray(y), return_inverse=True)[1].astype(np.intp)
        position = np.empty(len(X))
        for side in np.unique(part):
            position[part == side] = arc_angle(X[part == side])
        return _curves(part, position)
    if name == "helix":
        angle = np.asarray(t, dtype=np.float64) % (2 * np.pi)
        ring = Placement(
            1, np.zeros((1, 2), dtype=np.intp), np.array([2 * np.pi]), nothing, angle / (2 * np.pi)
        )
        quarters = np.pi / 2 * np.arange(4)[:, None]
        tips = np.abs(np.angle(np.exp(1j * (angle - quarters)))).argmin(axis=1)
        return Truth(nothing, nothing, angle, ring, tips)
    if name == "three_clusters":
        part = three_means(X)
        return Truth(part, part, np.full(len(X), np.nan), None, nothing[:0])
    raise ValueError(f"name={name!r} has no known true structure.")


def spiral_angle(X: Floats) -> Floats:
    """The unwrapped angle t of points near a spiral r = a + b·t around the origin.

    The angle of a point is known up to turns; of these the number is taken whose radius on the
    spiral is nearest to the point's. a, b and the sense of rotation are those of the least squares
    (r − a − b·t)²/b², over a grid and then by linear regression in turns with the choice of turns.
    The division by b² is needed: a spiral of very narrow turns comes near to every point.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.experiments._truth import spiral_angle
    >>> t = np.linspace(0, 12, 50)
    >>> X = (0.1 + 0.07 * t[:, None]) * np.column_stack([np.cos(t), np.sin(t)])
    >>> bool(np.ptp(spiral_angle(X) - t) < 1e-6)
    True
    """
    radius, angle = np.hypot(X[:, 0], X[:, 1]), np.arctan2(X[:, 1], X[:, 0])
    size = radius.max()

    def unwrapped(a: float, b: float, sense: int) -> Floats:
        one = sense * angle % (2 * np.pi)
        return np.asarray(one + 2 * np.pi * np.round(((radius - a) / b - one) / (2 * np.pi)))

    tried = [
        (float(np.mean((radius - a - b * unwrapped(a, b, sense)) ** 2)) / b**2, a, b, sense)
        for sense in (1, -1)
        for b in size * np.linspace(0.03, 0.2, 35)
        for a in size * np.linspace(-0.5, 0.5, 41)
    ]
    _, a, b, sense = min(tried)
    for _ in range(50):
        b, a = np.polyfit(unwrapped(a, b, sense), radius, 1)
    return unwrapped(a, b, sense)


def arc_angle(X: Floats) -> Floats:
    """The angle of points near an arc around the centre of the circle that fits them best.

    The circle minimises Σ(‖x‖² − 2cᵀx − e)², a linear least-squares problem (Kåsa 1976). Angles
    are counted from the middle of the widest gap, so that none jumps on the arc.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.experiments._truth import arc_angle
    >>> t = np.linspace(2, 5, 7)
    >>> bool(np.ptp(arc_angle(np.column_stack([1 + np.cos(t), np.sin(t)])) - t) < 1e-9)
    True
    """
    columns = np.column_stack([2 * X, np.ones(len(X))])
    centre = np.linalg.lstsq(columns, (X**2).sum(axis=1), rcond=None)[0][:2]
    angle = np.arctan2(X[:, 1] - centre[1], X[:, 0] - centre[0])
    known = np.sort(angle)
    gaps = np.diff(np.append(known, known[0] + 2 * np.pi))
    cut = known[np.argmax(gaps)] + gaps.max() / 2
    return np.asarray((angle - cut) % (2 * np.pi))


def three_means(X: Floats) -> Ints:
    """The nearest of three means; Lloyd's algorithm from three points far from each other."""
    means = [X[np.argmax(X[:, 0])]]
    for _ in range(2):
        gap = np.min([((X - mean) ** 2).sum(axis=1) for mean in means], axis=0)
        means.append(X[np.argmax(gap)])
    centres = np.array(means)
    for _ in range(100):
        nearest = ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        centres = np.array([X[nearest == k].mean(axis=0) for k in range(3)])
    return np.asarray(nearest, dtype=np.intp)


def _on_paths(
    X: Floats, nodes: Floats, paths: list[tuple[int, ...]]
) -> tuple[Ints, Floats, Placement]:
    """Nearest places on polylines: which of them, how far along it, and on their graph."""
    edges = np.array([pair for path in paths for pair in pairwise(path)])
    lengths = np.linalg.norm(nodes[edges[:, 1]] - nodes[edges[:, 0]], axis=1)
    edge, position, _ = nearest_on_edges(X, nodes, edges)
    of_edge = np.repeat(np.arange(len(paths)), [len(path) - 1 for path in paths])
    each = [lengths[of_edge == k] for k in range(len(paths))]
    start = np.concatenate([np.cumsum(own) - own for own in each])
    along = start[edge] + position * lengths[edge]
    return of_edge[edge], along, Placement(len(nodes), edges, lengths, edge, position)


def _curves(part: Ints, position: Floats) -> Truth:
    """Curves without forks, each an edge as long as the range of its positions."""
    n_parts = int(part.max()) + 1
    each = [np.flatnonzero(part == k) for k in range(n_parts)]
    low, high = np.array([[position[of].min(), position[of].max()] for of in each]).T
    edges = np.arange(2 * n_parts).reshape(-1, 2)
    along = (position - low[part]) / (high - low)[part]
    place = Placement(2 * n_parts, edges, high - low, part, along)
    return Truth(part, part, position, place, _nearest(place, range(2 * n_parts)))


def _nearest(place: Placement, nodes: Any) -> Ints:
    """The third point from each of some ends: the first may be an outlier, as the spiral's is."""
    far = [to_points(place, distances_from(place, [node])[0]) for node in nodes]
    return np.argsort(far, axis=1)[:, :3][:, -1]
