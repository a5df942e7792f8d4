"""What every generator returns, how it places samples on the true graph, and its parameters."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from .._typing import Floats, Ints, Matrix
from ..data.checks import check_count
from ..graph.placement import Placement, degrees, distances_from, to_points

# Lengths of branches when none are given: uniform between these.
LENGTHS = (0.7, 1.3)


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
    >>> from branchwise.datasets import make_tree
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
    >>> from branchwise.datasets._simulated import draw_places
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


# Parameters of the generators


def check_rng(random_state: Any) -> np.random.Generator:
    """A generator of random numbers: of a seed, or as it is."""
    is_seed = isinstance(random_state, Integral) and int(random_state) >= 0
    if not (random_state is None or is_seed or isinstance(random_state, np.random.Generator)):
        raise ValueError(
            f"random_state={random_state!r} must be None, an integer of at least 0 or a "
            "numpy.random.Generator; pass 0, for instance."
        )
    return np.random.default_rng(random_state)


def check_number(
    value: Any, name: str, low: float, high: float = np.inf, *, is_open: bool = False
) -> float:
    """A finite number from low (not itself if open) to high."""
    is_real = isinstance(value, Real) and not isinstance(value, bool)
    largest = min(high, float(np.finfo(float).max))
    if not (is_real and low <= value <= largest) or (is_open and value == low):
        raise ValueError(f"{name}={value!r} must be {_range(low, high, is_open)}.")
    return float(value)


def check_each(
    value: Any,
    name: str,
    n: int,
    low: float,
    high: float = np.inf,
    *,
    is_open: bool = False,
    of: str = "branches",
) -> Floats:
    """One number for all branches (or what else there are n of), or one for each of them."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{name}={value!r} must hold numbers; pass one for all {of}, or one for each of "
            f"the {n}."
        ) from error
    if array.shape not in ((), (n,)):
        raise ValueError(
            f"{name} has shape {array.shape}, but there are {n} {of}; pass one number for all of "
            "them, or one for each, in their order."
        )
    wrong = ~(np.isfinite(array) & (array >= low) & (array <= high))
    if is_open:
        wrong |= array == low
    if wrong.any():
        raise ValueError(
            f"{name} holds {array[wrong].flat[0]:g}, but each value must be "
            f"{_range(low, high, is_open)}."
        )
    return np.broadcast_to(array, n).copy()


def check_flag(value: Any, name: str) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r} must be True or False; pass one of these.")
    return bool(value)


def check_features(n_features: Any) -> int:
    """At least a plane."""
    if check_count(n_features, "n_features") < 2:
        raise ValueError(
            f"n_features={n_features} must be at least 2, for branches to leave a line; pass 2 or "
            "more."
        )
    return int(n_features)


def check_space(n_features: Any, curvature: Any) -> tuple[int, float]:
    """Number of dimensions, and the angle by which branches turn."""
    return check_features(n_features), check_number(curvature, "curvature", 0, np.pi)


def check_lengths(rng: np.random.Generator, lengths: Any, n_edges: int) -> Floats:
    """Lengths as given, or random ones."""
    if lengths is None:
        return rng.uniform(*LENGTHS, size=n_edges)
    return check_each(lengths, "lengths", n_edges, 0, is_open=True)


def check_sampling(weights: Any, gradient: Any, lengths: Floats) -> tuple[Floats, Floats]:
    """Relative numbers of samples of the branches, and the slopes of the density along them."""
    n_edges = len(lengths)
    weight = lengths if weights is None else check_each(weights, "weights", n_edges, 0)
    if not weight.any():
        raise ValueError("weights are all 0, but at least one must be positive; raise one of them.")
    return weight, check_each(gradient, "gradient", n_edges, -1, 1)


def _range(low: float, high: float, is_open: bool) -> str:
    """The numbers that are allowed, and one of them."""
    if is_open:
        end = f" and at most {high:g}" if high < np.inf else ""
        return f"a finite number above {low:g}{end}; pass 1, for instance"
    if high < np.inf:
        return f"a number from {low:g} to {high:g}; pass 0, for instance"
    return f"a finite number of at least {low:g}; pass {low:g}, for instance"
