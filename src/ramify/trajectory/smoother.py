"""Smooth functions on a graph: knots, the roughness penalty, and the basis that it diagonalises."""

from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components

from .._typing import Bools, Floats, Ints, Sparse
from ..graph.placement import Placement

# Parts of the graph's whole length: below, a branch counts as a point; its penalty would drown
# all others in rounding errors.
MIN_LENGTH = 1e-4
# Intervals between the knots of even the shortest branch.
MIN_INTERVALS = 5
# Singular values of the penalty below this part of the largest one are zeros.
RANK_TOLERANCE = 1e-10
# The same for squared values at the samples, compared with those of all functions together.
GAIN_TOLERANCE = 1e-13


class Knots(NamedTuple):
    """Knots along every branch; the first ones are the milestones, which branches share."""

    n_knots: int
    n_intervals: Ints  # (n_branches,): 0 where a branch counts as a point
    ends: Ints  # (n_branches, 2): the knots at its ends
    first: Ints  # (n_branches,): the first knot within it, the others following
    lengths: Floats  # (n_branches,): as parts of the graph's whole length
    scale: float  # the whole length


class Smoother(NamedTuple):
    """Functions f = Σ aᵢφᵢ on the graph, by their values at the knots.

    With B the values of the knots' functions at the samples and P the penalty,
    φᵢᵀBᵀBφⱼ = δᵢⱼ·gain and φᵢᵀPφⱼ = δᵢⱼ for the penalised functions;
    the free ones, which the penalty leaves alone, are orthonormal at the samples.
    """

    free: Floats  # (n_knots, n_free)
    bent: Floats  # (n_knots, n_bent): penalised, from the smoothest to the roughest
    gain: Floats  # (n_bent,): descending
    unknown: Floats  # (n_knots, n_unknown): the straight functions that vanish at all samples


def place_knots(placed: Placement, n_knots: int) -> Knots:
    """About `n_knots` knots, evenly along the graph and at least some on every branch.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.graph.placement import Placement
    >>> from ramify.trajectory.smoother import place_knots
    >>> fork = Placement(4, np.array([[0, 1], [1, 2], [1, 3]]), np.array([2.0, 1.0, 1.0]),
    ...                  np.array([], dtype=int), np.array([]))
    >>> knots = place_knots(fork, 40)
    >>> knots.n_intervals, knots.n_knots
    (array([20, 10, 10]), 41)
    """
    lengths = np.asarray(placed.lengths, dtype=np.float64)
    scale = float(lengths.sum()) or 1.0
    lengths = lengths / scale
    is_point = lengths < MIN_LENGTH
    joined = sparse.coo_array(
        (np.ones(is_point.sum()), tuple(placed.edges[is_point].T)),
        shape=(placed.n_nodes, placed.n_nodes),
    )
    n_milestones, knot_of = connected_components(joined, directed=False)
    # Rounded first: 0.25·40 knots must not make 11 intervals by a last digit.
    wanted = np.ceil(np.round(lengths * n_knots, 6)).astype(np.intp)
    n_intervals = np.where(is_point, 0, np.maximum(wanted, MIN_INTERVALS))
    inner = np.maximum(n_intervals - 1, 0)
    first = n_milestones + np.cumsum(inner) - inner
    return Knots(
        int(n_milestones + inner.sum()), n_intervals, knot_of[placed.edges], first, lengths, scale
    )


def hat_values(knots: Knots, branch: Ints, position: Floats) -> Sparse:
    """B: values of the knots' hat functions at places on the graph, one row per place.

    A function with values f at the knots and straight lines between them has values B·f.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.graph.placement import Placement
    >>> from ramify.trajectory.smoother import hat_values, place_knots
    >>> path = Placement(2, np.array([[0, 1]]), np.array([3.0]), np.array([0]), np.array([0.25]))
    >>> hat_values(place_knots(path, 5), path.edge, path.position).toarray().round(2)
    array([[0.  , 0.  , 0.75, 0.25, 0.  , 0.  ]])
    """
    n_intervals = knots.n_intervals[branch]
    along = position * n_intervals
    left = np.clip(np.floor(along).astype(np.intp), 0, np.maximum(n_intervals - 1, 0))
    weight = along - left
    columns = np.stack([_knot(knots, branch, left), _knot(knots, branch, left + 1)], axis=1)
    rows = np.repeat(np.arange(len(branch)), 2)
    weights = np.stack([1 - weight, weight], axis=1)
    return sparse.csr_array(
        (weights.ravel(), (rows, columns.ravel())), shape=(len(branch), knots.n_knots)
    )


def _knot(knots: Knots, branch: Ints, step: Ints) -> Ints:
    """The knot that many intervals from the start of a branch."""
    last = knots.n_intervals[branch]
    within = knots.first[branch] + step - 1
    at_end = np.where(step == 0, knots.ends[branch, 0], knots.ends[branch, 1])
    return np.where((step == 0) | (step >= last), at_end, within)


def roughness(knots: Knots) -> Floats:
    """D with |D·f|² → ∫f''², along branches and from each branch into those that it leads to.

    One row for each three knots in a row, at distances h and k: the change of slope divided by
    √((h + k)/2). A milestone has a row for each pair of a branch that ends there and one that
    starts there, so that all ways on begin in the same direction; branches that start at
    one milestone share its value, but not a slope. Lengths are parts of the whole.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.graph.placement import Placement
    >>> from ramify.trajectory.smoother import place_knots, roughness
    >>> path = Placement(2, np.array([[0, 1]]), np.array([3.0]), np.array([0]), np.array([0.25]))
    >>> D = roughness(place_knots(path, 100))
    >>> t = np.append([0.0, 1.0], np.arange(1, 100) / 100)  # the ends are the first knots
    >>> round(float(np.sum((D @ t**2) ** 2)), 2)  # 4 but for half an interval at each end
    3.96
    """
    real = np.flatnonzero(knots.n_intervals)
    width = knots.lengths / np.maximum(knots.n_intervals, 1)
    branch = np.repeat(real, knots.n_intervals[real] - 1)
    n_milestones = knots.n_knots - len(branch)
    step = np.arange(n_milestones, knots.n_knots) - knots.first[branch] + 1
    triples = [_knot(knots, branch, step + shift) for shift in (-1, 0, 1)]
    before = after = width[branch]
    into, out = np.nonzero(knots.ends[real, 1][:, None] == knots.ends[real, 0])
    into, out = real[into], real[out]
    through = [
        _knot(knots, into, knots.n_intervals[into] - 1),
        knots.ends[out, 0],
        _knot(knots, out, np.ones_like(out)),
    ]
    left, middle, right = (np.concatenate(pair) for pair in zip(triples, through, strict=True))
    before = np.concatenate([before, width[into]])
    after = np.concatenate([after, width[out]])
    norm = np.sqrt((before + after) / 2)
    D = np.zeros((len(left), knots.n_knots))
    row = np.arange(len(left))
    # A ring's knots may coincide only if it had fewer than three; it has MIN_INTERVALS.
    D[row, left] = 1 / before / norm
    D[row, right] = 1 / after / norm
    D[row, middle] = -(1 / before + 1 / after) / norm
    return D


def straight_and_bent(D: Floats) -> tuple[Floats, Floats]:
    """Bases of the functions that are not penalised, and of the others with unit penalty.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.trajectory.smoother import straight_and_bent
    >>> straight, bent = straight_and_bent(np.array([[2.0, 0.0, 0.0]]))
    >>> straight.shape, abs(bent.T)
    ((3, 2), array([[0.5, 0. , 0. ]]))
    """
    if len(D) == 0:
        return np.eye(D.shape[1]), np.zeros((D.shape[1], 0))
    _, values, Vt = linalg.svd(D, full_matrices=True)
    rank = int(np.sum(values > RANK_TOLERANCE * values[0]))
    return Vt[rank:].T, Vt[:rank].T / values[:rank]


def diagonalise(straight: Floats, bent: Floats, B: Sparse) -> Smoother:
    """Demmler–Reinsch basis for samples at B: one generalised eigenproblem serves all features.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from ramify.trajectory.smoother import diagonalise, straight_and_bent
    >>> D = np.array([[1.0, -2.0, 1.0]])
    >>> found = diagonalise(*straight_and_bent(D), sparse.eye_array(3))
    >>> found.free.shape, found.gain.round(3)
    ((3, 2), array([0.167]))
    """
    C = (B.T @ B).toarray()
    values, vectors = linalg.eigh(straight.T @ C @ straight)
    known = values > RANK_TOLERANCE * values[-1]
    directions = straight @ vectors
    free = directions[:, known] / np.sqrt(values[known])
    if bent.shape[1] == 0:
        return Smoother(free, bent, np.zeros(0), directions[:, ~known])
    size = np.sum(bent * (C @ bent))
    bent = bent - free @ (free.T @ (C @ bent))
    gain, E = linalg.eigh(bent.T @ C @ bent)
    gain[gain < GAIN_TOLERANCE * size] = 0.0
    return Smoother(free, bent @ E[:, ::-1], gain[::-1], directions[:, ~known])


def determined(smoother: Smoother, at: Sparse) -> Bools:
    """Whether the samples determine a function's value at each place (a row of hat values)."""
    return (np.abs(at @ smoother.unknown) < 1e-6).all(axis=1)
