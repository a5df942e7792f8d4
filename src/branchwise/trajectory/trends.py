"""Smooth trends of features along the branches of a graph, with bands."""

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse, stats
from scipy.sparse.csgraph import connected_components
from threadpoolctl import threadpool_limits

from .._compat import import_pandas
from .._memory import check_memory
from .._typing import Bools, Floats, Ints, Matrix, Sparse
from ..data.checks import check_count
from ..graph.placement import Placement
from .checks import check_features, feature_blocks
from .occupancy import empty_stretches, is_empty

# Parts of the graph's whole length: below, a branch counts as a point; its penalty would drown
# all others in rounding errors.
MIN_LENGTH = 1e-4
# Intervals between the knots of even the shortest branch.
MIN_INTERVALS = 5
# Singular values of the penalty below this part of the largest one are zeros.
RANK_TOLERANCE = 1e-10
# The same for squared values at the samples, compared with those of all functions together.
GAIN_TOLERANCE = 1e-13

# Penalties to average over, evenly on a log scale: neighbours differ by a factor of about two.
N_PENALTIES = 25
# Bytes per row of the result, about: four numbers, three codes, and copies on the way.
ROW_BYTES = 100
# Bytes per pair of knots: some matrices and the work space of their decompositions.
MATRIX_BYTES = 80


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


def tree_trends(
    placed: Placement,
    start_time: Any,
    branch_names: Any,
    values: Any,
    feature_names: Any = None,
    *,
    n_points: int = 50,
    n_knots: int = 200,
    lam: float | None = None,
    level: float = 0.95,
    end_time: Any = None,
) -> Any:
    r"""Trend of each feature along every branch, continuous at the forks, with pointwise bands.

    For each feature y, the function f on the tree that minimises

    .. math:: \sum_i (y_i - f(x_i))^2 + \lambda \int f''^2

    where the integral runs along every branch and through every milestone into the branches that
    start there. It is the smoothing spline of a path, made for trees: branches share
    their value at a fork and leave it in the direction in which the branch before it arrives, so
    that a branch with few samples continues the one before it, with wide bands. Branches that
    start at the root share its value only. Where the tree is empty nothing is known of f, whatever
    the bands say of smooth functions, and it is left blank (`branchwise.trajectory.occupancy`).

    f is piecewise linear between `n_knots` knots, which limits how fast it can bend; the
    penalty, not the number of knots, decides how smooth it is.
    The trend is an average over a grid of penalties λ, each with its restricted likelihood
    for the feature (Wood, *JRSS B* 73, 2011) as weight. The bands are those of the posterior
    distribution under the prior that the penalty stands for (Wahba, *JRSS B* 45, 1983), and
    include the doubt about λ: about `level` of all points of a smooth curve lie in them, fewer
    where it bends more sharply than elsewhere (Nychka, *JASA* 83, 1988). On simulated forks with 60
    to 2,000 samples, bands of 95 % held from 92 % (noise three times the signal) to 98 % of the
    points; on a branch with two samples, 88 %. They treat the tree and
    the places of the samples as known, and the noise as equal everywhere: take logarithms of counts
    (``np.log1p``) or other values whose noise grows with their mean.

    Parameters
    ----------
    placed : Placement
        The samples on the branches; branch b leads from milestone ``edges[b, 0]``, the one nearer
        to the root, to ``edges[b, 1]``.
    start_time : array of shape (n_branches,)
        Pseudotime at the start of each branch.
    branch_names : sequence of n_branches str
        Names of the branches.
    values : array, sparse array or data frame of shape (n_samples, n_features)
        Features. Samples in which a feature is NaN are left out for this feature; features that
        lack different samples are fitted one by one, all others together.
    feature_names : sequence of n_features names, optional
        By default the columns' names or numbers.
    n_points : int, default=50
        Points on each branch, from its start to its end.
    n_knots : int, default=200
        Knots on the whole tree, about; short branches get at least six.
    lam : float, optional
        The penalty λ, with pseudotime as the unit of length, instead of the average.
    level : float, default=0.95
        Probability of the bands.
    end_time : array of shape (n_branches,), optional
        Pseudotime at the end of each branch, where another path may lead sooner: on a ring, or
        between two roots. By default that along the branch.

    Returns
    -------
    DataFrame
        One row per feature, branch and point: ``feature``, ``branch``, ``position`` (0 to 1
        along the branch), ``pseudotime``, ``mean``, ``lower``, ``upper``, and ``n_samples``, the
        number of values on the branch. ``mean``, ``lower`` and ``upper`` are NaN where there are
        no samples: on stretches of the tree that are empty of samples with a value.
        The bands are NaN if there are not more samples than straight trends on the tree.

    Examples
    --------
    Simulated: a feature that rises after a fork on one branch only.

    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.trajectory.trends import tree_trends
    >>> rng = np.random.default_rng(0)
    >>> placed = Placement(4, np.array([[0, 1], [1, 2], [1, 3]]), np.ones(3),
    ...                    rng.integers(3, size=300), rng.random(300))
    >>> rise = np.where(placed.edge == 1, placed.position**2, 0.0)
    >>> table = tree_trends(placed, [0.0, 1.0, 1.0], ["stem", "up", "flat"],
    ...                     rise[:, None] + 0.1 * rng.standard_normal((300, 1)), n_points=2)
    >>> table.drop(columns=["feature", "position"]).round(2)
      branch  pseudotime  mean  lower  upper  n_samples
    0   stem         0.0 -0.04  -0.12   0.05         90
    1   stem         1.0 -0.01  -0.04   0.02         90
    2     up         1.0 -0.01  -0.04   0.02         95
    3     up         2.0  1.01   0.92   1.09         95
    4   flat         1.0 -0.01  -0.04   0.02        115
    5   flat         2.0 -0.02  -0.07   0.04        115
    """
    pd = import_pandas()
    start_time, branch_names = check_branches(placed, start_time, branch_names)
    values, names = check_features(values, feature_names, len(placed.edge))
    check_count(n_points, "n_points")
    n_branches, n_features = len(placed.edges), len(names)
    n_rows = n_branches * n_points
    check_memory(
        ROW_BYTES * n_rows * n_features,
        f"The table of {n_features:,} trends at {n_rows:,} points",
        "pass fewer features or lower n_points",
    )
    position = np.tile(np.linspace(0.0, 1.0, n_points), n_branches)
    branch = np.repeat(np.arange(n_branches), n_points)
    places = placed._replace(edge=branch, position=position)
    curves, count = curves_at(placed, places, values, n_knots=n_knots, lam=lam, level=level)
    return pd.DataFrame(
        {
            "feature": _repeated(names, np.repeat(np.arange(n_features), n_rows)),
            "branch": _repeated(branch_names, np.tile(branch, n_features)),
            "position": np.tile(position, n_features),
            "pseudotime": np.tile(
                pseudotimes(placed, start_time, end_time, branch, position), n_features
            ),
            "mean": curves[0].ravel(),
            "lower": curves[1].ravel(),
            "upper": curves[2].ravel(),
            "n_samples": np.repeat(count.ravel(), n_points),
        }
    )


def curves_at(
    placed: Placement,
    places: Placement,
    values: Matrix,
    *,
    n_knots: int = 200,
    lam: float | None = None,
    level: float = 0.95,
) -> tuple[Floats, Ints]:
    """Trends (`tree_trends`) at some places: mean and band, and the values on each branch.

    Parameters
    ----------
    placed : Placement
        The samples on the branches.
    places : Placement
        Where to give the trends, on the same branches.
    values : array or sparse array of shape (n_samples, n_features)
    n_knots, lam, level
        As for `tree_trends`.

    Returns
    -------
    curves : array of shape (3, n_features, n_places)
        Mean, lower and upper end of the band; NaN where there are no samples.
    count : array of shape (n_features, n_branches)

    Examples
    --------
    A path whose second half is empty:

    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.trajectory.trends import curves_at
    >>> half = Placement(2, np.array([[0, 1]]), np.array([8.0]), np.zeros(80, int),
    ...                  np.linspace(0, 0.5, 80))
    >>> places = half._replace(edge=np.zeros(3, int), position=np.array([0.0, 0.25, 0.75]))
    >>> curves_at(half, places, half.position[:, None])[0][0].round(2) + 0.0
    array([[0.  , 0.25,  nan]])
    """
    check_count(n_knots, "n_knots")
    check_level(level)
    if lam is not None and not (isinstance(lam, Real) and 0 < float(lam) < np.inf):
        raise ValueError(
            f"lam={lam!r} must be a positive finite number; leave it out for an average."
        )
    n_branches, n_features = len(placed.edges), values.shape[1]
    knots = knots_along(placed, n_knots)
    check_memory(
        MATRIX_BYTES * knots.n_knots**2, f"Smoothing with {knots.n_knots:,} knots", "lower n_knots"
    )
    B = hat_values(knots, placed.edge, placed.position)
    at = hat_values(knots, places.edge, places.position)
    bases = straight_and_bent(roughness(knots))
    # The knots' distances are parts of the whole length.
    scaled = None if lam is None else lam / knots.scale**3
    curves = np.empty((3, n_features, len(places.edge)))
    count = np.empty((n_features, n_branches), dtype=np.intp)
    with threadpool_limits(limits=1):  # threads cost more than such small matrices take
        shared = diagonalise(*bases, B)
        for block in feature_blocks(values):
            rows, edge = B[block.rows], placed.edge[block.rows]
            smoother = shared if isinstance(block.rows, slice) else diagonalise(*bases, rows)
            mean, half = smooth(smoother, rows, at, block.values, level, scaled)
            known = placed._replace(edge=edge, position=placed.position[block.rows])
            mean[is_empty(empty_stretches(known), places)] = np.nan
            curves[:, block.columns] = [mean.T, (mean - half).T, (mean + half).T]
            count[block.columns] = np.bincount(edge, minlength=n_branches)
    return curves, count


def smooth(
    smoother: Smoother, B: Sparse, at: Sparse, Y: Floats, level: float, lam: float | None = None
) -> tuple[Floats, Floats]:
    """Posterior means at some places, and half the widths of the bands there, per column of Y.

    Given λ, the posterior is diagonal in the smoother's basis: coefficient i has mean gᵢ/(sᵢ + λ)
    and variance σ²/(sᵢ + λ), where gᵢ = φᵢᵀBᵀy and sᵢ is the gain. Without λ, the moments of the
    mixture over `penalties`.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from branchwise.trajectory.trends import diagonalise, straight_and_bent
    >>> from branchwise.trajectory.trends import smooth
    >>> D, B = np.array([[1.0, -2.0, 1.0]]), sparse.eye_array(3).tocsr()
    >>> smoother = diagonalise(*straight_and_bent(D), B)
    >>> mean, _ = smooth(smoother, B, B, np.array([[0.0], [1.0], [0.0]]), 0.95, lam=1e6)
    >>> mean.T.round(3)
    array([[0.333, 0.333, 0.333]])
    """
    n, degrees = len(Y), len(Y) - smoother.free.shape[1]
    centre = Y.mean(axis=0) if n else np.full(Y.shape[1], np.nan)
    Y = Y - centre
    score = B.T @ Y
    straight, g = smoother.free.T @ score, smoother.bent.T @ score
    total = np.sum(Y**2, axis=0)
    left = total - np.sum(straight**2, axis=0)
    grid = penalties(smoother.gain, degrees) if lam is None else np.array([lam])
    shrink = 1 / (smoother.gain + grid[:, None])
    # The residuals' squares and λ times the penalty, at their least; less would be rounding.
    energy = np.maximum(left - shrink @ g**2, np.finfo(float).eps * total)
    weight = likelihoods(energy, smoother.gain, grid, degrees)
    free_at, bent_at = at @ smoother.free, at @ smoother.bent
    bend = bent_at @ (g * (shrink.T @ weight))
    mean = centre + free_at @ straight + bend
    mean[~determined(smoother, at)] = np.nan
    if degrees <= 0:
        return mean, np.full_like(mean, np.nan)
    noise = weight * energy / degrees
    variance = np.sum(free_at**2, axis=1)[:, None] * np.sum(noise, axis=0)
    variance += bent_at**2 @ (shrink.T @ noise)
    for weights, factors in zip(weight, shrink, strict=True):
        variance += weights * (bent_at @ (g * factors[:, None]) - bend) ** 2
    return mean, stats.t.ppf((1 + level) / 2, degrees) * np.sqrt(variance)


def penalties(gain: Floats, degrees: int) -> Floats:
    """Penalties from one that leaves almost straight lines to one that uses half of the freedom.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.trends import penalties
    >>> penalties(np.array([100.0, 10.0, 1.0, 0.1]), degrees=50)[[0, -1]]
    array([1000.,    1.])
    """
    usable = gain[: max(degrees, 1)]
    usable = usable[usable > 0]
    if len(usable) == 0:
        return np.ones(1)
    return np.geomspace(10 * usable[0], usable[len(usable) // 2], N_PENALTIES)


def likelihoods(energy: Floats, gain: Floats, grid: Floats, degrees: int) -> Floats:
    """Restricted likelihood of each penalty (row) for each feature (column), with sum one.

    −2·log-likelihood = degrees·log(energy) + Σ log(1 + gainᵢ/λ), but for a constant.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.trends import likelihoods
    >>> energy = np.array([[9.0, 9.0], [1.0, 8.9]])
    >>> likelihoods(energy, np.ones(2), np.array([1.0, 0.1]), 5).round(2)
    array([[0.02, 0.84],
           [0.98, 0.16]])
    """
    # The logarithm of a constant feature's energy would be −∞.
    deviance = max(degrees, 0) * np.log(np.maximum(energy, np.finfo(float).tiny))
    deviance += np.sum(np.log1p(gain / grid[:, None]), axis=1)[:, None]
    weight = np.exp(-0.5 * (deviance - deviance.min(axis=0)))
    return weight / weight.sum(axis=0)


def determined(smoother: Smoother, at: Sparse) -> Bools:
    """Whether the samples determine a function's value at each place (a row of hat values)."""
    return (np.abs(at @ smoother.unknown) < 1e-6).all(axis=1)


def pseudotimes(
    placed: Placement, start_time: Floats, end_time: Any, branch: Ints, position: Floats
) -> Floats:
    """Pseudotime at places on branches: from the end of a branch, where that is the shorter path.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.trajectory.trends import pseudotimes
    >>> ring = Placement(1, np.array([[0, 0]]), np.array([8.0]), np.array([0]), np.array([0.5]))
    >>> pseudotimes(ring, np.zeros(1), np.zeros(1), np.zeros(3, int), np.array([0.25, 0.5, 0.75]))
    array([2., 4., 2.])
    """
    length = placed.lengths[branch]
    forward = start_time[branch] + position * length
    if end_time is None:
        return forward
    end_time, _ = check_branches(placed, end_time, range(len(placed.edges)), "end_time")
    return np.minimum(forward, end_time[branch] + (1 - position) * length)


def knots_along(placed: Placement, n_knots: int) -> Knots:
    """About `n_knots` knots, evenly along the graph and at least some on every branch.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.trajectory.trends import knots_along
    >>> fork = Placement(4, np.array([[0, 1], [1, 2], [1, 3]]), np.array([2.0, 1.0, 1.0]),
    ...                  np.array([], dtype=int), np.array([]))
    >>> knots = knots_along(fork, 40)
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
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.trajectory.trends import hat_values, knots_along
    >>> path = Placement(2, np.array([[0, 1]]), np.array([3.0]), np.array([0]), np.array([0.25]))
    >>> hat_values(knots_along(path, 5), path.edge, path.position).toarray().round(2)
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
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.trajectory.trends import knots_along, roughness
    >>> path = Placement(2, np.array([[0, 1]]), np.array([3.0]), np.array([0]), np.array([0.25]))
    >>> D = roughness(knots_along(path, 100))
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
    >>> from branchwise.trajectory.trends import straight_and_bent
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
    >>> from branchwise.trajectory.trends import diagonalise, straight_and_bent
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


def check_branches(
    placed: Placement, start_time: Any, branch_names: Any, parameter: str = "start_time"
) -> tuple[Floats, list[Any]]:
    """One pseudotime and one name per branch."""
    start_time, names = np.asarray(start_time, dtype=np.float64), list(branch_names)
    for name, size in ((parameter, start_time.shape), ("branch_names", (len(names),))):
        if size != (len(placed.edges),):
            raise ValueError(
                f"{name} has shape {size} but must have one value for each of the "
                f"{len(placed.edges)} branches; pass them in the order of placed.edges."
            )
    if len(set(names)) < len(names):
        raise ValueError("branch_names must differ from each other; make them unique.")
    return start_time, names


def check_level(level: Any) -> None:
    """A probability."""
    if not isinstance(level, Real) or not 0 < float(level) < 1:
        raise ValueError(f"level={level!r} must be between 0 and 1; 0.95 is usual.")


def _repeated(names: list[Any], codes: Ints) -> Any:
    """Names by number, kept once each."""
    return import_pandas().Categorical.from_codes(codes, categories=names)
