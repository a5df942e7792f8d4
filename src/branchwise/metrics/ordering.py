"""How well the places of points on a learned graph agree with those on the true one."""

from typing import Any, Literal

import numpy as np
from scipy.stats import rankdata
from sklearn.utils import check_random_state

from .._typing import Floats, Ints
from ..data.checks import check_count
from ..graph.placement import Placement, distances_between, on_segments, segments
from .topology import same_points

# Pairs of points whose distances are computed at a time.
PAIRS = 2**20
# Distances that differ by less, as a part of the largest, differ by rounding.
DIGITS = 9


def tree_correlation(
    truth: Any,
    found: Any,
    n_waypoints: int = 100,
    method: Literal["spearman", "pearson"] = "spearman",
    random_state: Any = 0,
) -> float:
    """Correlation of the distances between points along the true graph and along the found one.

    The distances are those from some of the points, the waypoints, to all others; with no more
    points than waypoints, those of all pairs. This is the score "correlation" of Saelens et al.
    (2019), with three differences: waypoints are drawn uniformly from the points, the same ones for
    both graphs; the distance of a point to itself is left out; and a negative correlation is
    returned as such, not as zero.

    Parameters
    ----------
    truth, found : Placement, or object with a Placement as its ``placement_`` or ``truth``
        The same points on two graphs.
    n_waypoints : int, default=100
        Time and memory grow with n_waypoints · n_points.
    method : {"spearman", "pearson"}, default="spearman"
        Correlation of the ranks, with ties at their mean rank, or of the distances themselves.
    random_state : int, RandomState or None, default=0
        Seed of the choice of waypoints.

    Returns
    -------
    score : float
        From −1 to 1; 1 for the same distances (with ranks: in the same order). 0 where a
        graph has all points at one distance, which tells nothing.

    Notes
    -----
    Points on unconnected parts of a graph count as twice as far apart as the farthest that are
    connected (or, if these all coincide, as one apart). Ranks see only that they are farther.

    References
    ----------
    Saelens, Cannoodt, Todorov, Saeys (2019), "A comparison of single-cell trajectory inference
    methods", Nature Biotechnology 37, 547-554, doi:10.1038/s41587-019-0071-9.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.metrics import tree_correlation
    >>> edge = np.zeros(4, dtype=int)
    >>> line = Placement(2, np.array([[0, 1]]), np.ones(1), edge, np.array([0.0, 0.2, 0.5, 1.0]))
    >>> tree_correlation(line, line._replace(lengths=np.array([7.0])))
    1.0
    """
    one, other = same_points(truth, found, n_least=2)
    n_points, n_waypoints = len(one.edge), check_count(n_waypoints, "n_waypoints")
    if method not in ("spearman", "pearson"):
        raise ValueError(
            f"method={method!r} is not one of 'spearman', 'pearson'; choose one of these."
        )
    waypoints = np.arange(n_points)
    if n_waypoints < n_points:
        waypoints = check_random_state(random_state).choice(n_points, n_waypoints, replace=False)
    a, b = (_from_waypoints(placement, waypoints) for placement in (one, other))
    if method == "spearman":
        a, b = rankdata(a), rankdata(b)
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    a, b = a - a.mean(), b - b.mean()
    score = (a @ b) / np.sqrt((a @ a) * (b @ b))
    return float(np.clip(score, -1.0, 1.0))


def f1_branches(truth: Any, found: Any) -> float:
    """How well the branches of two graphs divide the points alike: F1 of the best matches.

    A branch is a path between tips and forks; nodes with two neighbours, and the directions of
    edges, do not matter. A ring without forks is one branch. With b(i) the set of points on true
    branch i, b'(j) that on found branch j, and J their Jaccard similarity |b ∩ b'| / |b ∪ b'|,

        recovery = mean over i of max over j of J(b(i), b'(j))
        relevance = mean over j of max over i of J(b(i), b'(j))
        F1 = 2 / (1/recovery + 1/relevance)

    Branches without points do not count. This is the score "F1 branches" of Saelens et al.
    (2019), except that they break up rings and double edges, at arbitrary places.

    Parameters
    ----------
    truth, found : Placement, or object with a Placement as its ``placement_`` or ``truth``
        The same points on two graphs.

    Returns
    -------
    score : float
        Above 0, up to 1: the branches divide the points into the same sets. Symmetric.

    References
    ----------
    Saelens, Cannoodt, Todorov, Saeys (2019), "A comparison of single-cell trajectory inference
    methods", Nature Biotechnology 37, 547-554, doi:10.1038/s41587-019-0071-9.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.metrics import f1_branches
    >>> edge, half = np.array([0, 0, 1, 1, 2, 2]), np.full(6, 0.5)
    >>> star = Placement(4, np.array([[0, 1], [0, 2], [0, 3]]), np.ones(3), edge, half)
    >>> line = Placement(4, np.array([[0, 1], [0, 2], [2, 3]]), np.ones(3), edge, half)
    >>> f1_branches(star, star), f1_branches(star, line)  # all points are on the line's one branch
    (1.0, 0.333...)
    """
    one, other = (_on_branches(placement) for placement in same_points(truth, found))
    return _f1(one.edge, other.edge)


def f1_milestones(truth: Any, found: Any) -> float:
    """How well the milestones of two graphs divide the points alike: F1 of the best matches.

    As `f1_branches`, for the sets of points that are nearest to the same milestone: a tip or fork,
    the nearer end of the point's branch (of two equally near ends, its first). A ring without forks
    has one milestone. This is the score "F1 milestones" of Saelens et al. (2019), except that they
    break up rings and double edges, at arbitrary places.

    Parameters
    ----------
    truth, found : Placement, or object with a Placement as its ``placement_`` or ``truth``
        The same points on two graphs.

    Returns
    -------
    score : float
        Above 0, up to 1: the milestones divide the points into the same sets. Symmetric.

    References
    ----------
    Saelens, Cannoodt, Todorov, Saeys (2019), "A comparison of single-cell trajectory inference
    methods", Nature Biotechnology 37, 547-554, doi:10.1038/s41587-019-0071-9.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.metrics import f1_milestones
    >>> edge, position = np.zeros(4, dtype=int), np.array([0.1, 0.2, 0.8, 0.9])
    >>> line = Placement(2, np.array([[0, 1]]), np.ones(1), edge, position)
    >>> f1_milestones(line, line), f1_milestones(line, line._replace(position=position / 9))
    (1.0, 0.5)
    """
    one, other = (_on_branches(placement) for placement in same_points(truth, found))
    return _f1(_nearer_end(one), _nearer_end(other))


def _from_waypoints(placement: Placement, waypoints: Ints) -> Floats:
    """Distances of each waypoint to each other point, as parts of the largest."""
    n_points = len(placement.edge)
    step = max(1, PAIRS // n_points)
    points = np.arange(n_points)
    blocks = []
    for start in range(0, len(waypoints), step):
        block = waypoints[start : start + step, None]
        between = distances_between(placement, block, points)
        blocks.append(between[block != points])
    distances = np.concatenate(blocks)
    connected = np.isfinite(distances)
    largest = distances[connected].max(initial=0.0) or 1.0
    return np.round(np.where(connected, distances / largest, 2.0), DIGITS)


def _on_branches(placement: Placement) -> Placement:
    """The same points on the graph whose nodes with two neighbours are dissolved."""
    found = segments(placement.edges, placement.lengths, placement.n_nodes)
    return on_segments(placement, found)


def _nearer_end(placement: Placement) -> Ints:
    """The end of its edge that each point is nearer to."""
    return placement.edges[placement.edge, (placement.position > 0.5).astype(np.intp)]


def _f1(a: Ints, b: Ints) -> float:
    """Harmonic mean of the mean best Jaccard similarities of the groups of two labellings."""
    (groups_a, a), (groups_b, b) = (np.unique(x, return_inverse=True) for x in (a, b))
    pairs, shared = np.unique(np.column_stack([a, b]), axis=0, return_counts=True)
    i, j = pairs.T
    jaccard = shared / (np.bincount(a)[i] + np.bincount(b)[j] - shared)
    best_a, best_b = np.zeros(len(groups_a)), np.zeros(len(groups_b))
    np.maximum.at(best_a, i, jaccard)
    np.maximum.at(best_b, j, jaccard)
    return float(2 / (1 / best_a.mean() + 1 / best_b.mean()))
