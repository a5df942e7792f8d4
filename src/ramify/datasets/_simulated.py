"""What every generator returns, and how it places its samples on the true graph."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Floats, Ints, Matrix
from ..graph.placement import Placement, degrees, distances_from, to_points


@dataclass(frozen=True, eq=False)
class Simulated:
    """Simulated points and the truth about them: graph, branches, pseudotime and root.

    Attributes
    ----------
    X : ndarray or CSR array of shape (n_samples, n_features)
        The points with noise; for cells, their counts.
    clean : ndarray of shape (n_samples, n_features) or None
        The points without noise, on the true graph; for cells, their mean expression, or None if
        it was not kept.
    truth : Placement
        The graph of milestones, its edges' lengths along their curves, and the edge and position
        of each sample.
    milestones : ndarray of shape (n_milestones, n_features)
        Points of the graph's nodes.
    curve : tuple of ndarray
        For each edge, points along it from its first end to its second, to be joined by lines:
        the two ends for a straight one.
    root : int or ndarray
        The milestone where pseudotime is zero; for a forest, one of each tree.
    pseudotime : ndarray of shape (n_samples,)
        Distance from the root along the graph, in the units of `truth.lengths`.
    names : tuple of str
        A name for each milestone.
    description : str
        How the points were simulated.
    size_factors : ndarray of shape (n_samples,) or None
        For cells, the library size of each, relative to the average.

    Examples
    --------
    >>> from ramify.datasets import make_tree
    >>> made = make_tree(100, 3, topology="bifurcation", lengths=2.0, random_state=0)
    >>> made.names
    ('root', 'fork 1', 'tip 1', 'tip 2')
    >>> bool(made.pseudotime.max() <= 4.0)
    True
    """

    X: Matrix
    clean: Floats | None
    truth: Placement
    milestones: Floats
    curve: tuple[Floats, ...]
    root: int | Ints
    pseudotime: Floats
    names: tuple[str, ...]
    description: str
    size_factors: Floats | None = None

    @property
    def branch(self) -> Ints:
        """The edge of the true graph that each sample lies on."""
        return self.truth.edge


def with_truth(truth: Placement, root: int | Ints, **fields: Any) -> Simulated:
    """The record of a simulation, with the pseudotime and the names that follow from its graph."""
    from_root, _ = distances_from(truth, np.atleast_1d(root))
    return Simulated(
        truth=truth,
        root=root,
        pseudotime=to_points(truth, from_root),
        names=_names(truth, np.atleast_1d(root)),
        **fields,
    )


def _names(truth: Placement, roots: Ints) -> tuple[str, ...]:
    """Root, fork 1, tip 1, …: by degree, in the order of the nodes."""
    degree = degrees(truth.edges, truth.n_nodes)
    kinds = np.select([degree == 1, degree == 2], ["tip", "bend"], "fork").astype(object)
    kinds[roots] = "root"
    names = np.empty(truth.n_nodes, dtype=object)
    for kind in set(kinds):
        nodes = np.flatnonzero(kinds == kind)
        is_single = kind == "root" and len(nodes) == 1
        names[nodes] = [kind] if is_single else [f"{kind} {k}" for k in range(1, len(nodes) + 1)]
    return tuple(names)


def draw_places(
    rng: np.random.Generator, n_samples: int, weights: Floats, gradient: Floats
) -> tuple[Ints, Floats]:
    """Edges with probabilities in proportion to weights, and positions on them.

    The density along an edge is 1 + g(2t − 1), so that t solves (1 − g)t + gt² = u with u uniform.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.datasets._simulated import draw_places
    >>> rng, g = np.random.default_rng(0), np.array([1.0, -1.0])
    >>> edge, t = draw_places(rng, 1000, np.array([3.0, 1.0]), g)
    >>> np.bincount(edge), float(t[edge == 0].mean()) > 0.6, float(t[edge == 1].mean()) < 0.4
    (array([733, 267]), True, True)
    """
    weights = weights / weights.max()  # their sum might overflow
    edge = rng.choice(len(weights), size=n_samples, p=weights / weights.sum())
    g = gradient[edge]
    u = 1.0 - rng.random(n_samples)  # above 0, where the formula would be 0/0 for g = 1
    position = 2 * u / (1 - g + np.sqrt((1 - g) ** 2 + 4 * g * u))
    return edge, np.minimum(position, 1.0)


def add_noise(rng: np.random.Generator, clean: Floats, noise: float) -> Floats:
    """Isotropic Gaussian noise of that standard deviation per feature."""
    return clean + noise * rng.standard_normal(clean.shape)
