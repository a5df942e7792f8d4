"""Graphs as their shapes, tips, forks and the paths between them: the same, or how similar."""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from .._typing import Bools, Floats, Ints
from ..graph.placement import Placement, degrees, segments

# Half the width of the peaks around the vibrations of a network, as Saelens et al. (2019) set it.
GAMMA = 0.1
# Eigenvalues that differ by less differ by rounding.
DIGITS = 10
# Nodes up to which two topologies are compared by all their eigenvalues.
MAX_NODES = 2000


# What may be compared


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
            raise ValueError(f"{rule}; place the points again.")


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


# The shape of a graph


class Topology(NamedTuple):
    """A simple graph: its tips, its forks, and what keeps loops and double edges apart."""

    n_nodes: int
    edges: Ints  # (n_edges, 2)
    lengths: Floats  # (n_edges,)


def topology(placement: Placement) -> Topology:
    """Tips, forks and the paths between them, as a graph without loops and double edges.

    A loop becomes three edges, each of several edges between two nodes becomes two, and so does
    the edge of a graph that has only one.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.metrics.topology import topology
    >>> ring = Placement(2, np.array([[0, 1], [1, 0]]), np.ones(2), np.array([0]), np.array([0.5]))
    >>> topology(ring).edges.tolist()
    [[0, 1], [1, 2], [2, 0]]
    """
    # A loop of length zero is only there for points to lie on.
    is_edge = (placement.edges[:, 0] != placement.edges[:, 1]) | (placement.lengths > 0)
    found = segments(placement.edges[is_edge], placement.lengths[is_edge], placement.n_nodes)
    ends = np.searchsorted(found.milestones, found.ends)
    _, pair, count = np.unique(
        np.sort(ends, axis=1), axis=0, return_inverse=True, return_counts=True
    )
    n_parts = np.where(count[pair.ravel()] > 1, 2, 1)
    n_parts[ends[:, 0] == ends[:, 1]] = 3
    if len(ends) == 1:
        n_parts = np.maximum(n_parts, 2)
    # Part k of an edge leads from its inner node k − 1 to its inner node k.
    part_of = np.repeat(np.arange(len(ends)), n_parts)
    last = np.cumsum(n_parts)
    k = np.arange(len(part_of)) - (last - n_parts)[part_of]
    inner = len(found.milestones) + (last - n_parts - np.arange(len(ends)))[part_of] + k
    left = np.where(k == 0, ends[part_of, 0], inner - 1)
    right = np.where(k == n_parts[part_of] - 1, ends[part_of, 1], inner)
    n_nodes = len(found.milestones) + int((n_parts - 1).sum())
    return Topology(n_nodes, np.column_stack([left, right]), (found.lengths / n_parts)[part_of])


def topologies(truth: Any, found: Any) -> tuple[Topology, Topology]:
    """The shapes of two graphs with points on them."""
    return topology(placement_of(truth, "truth")), topology(placement_of(found, "found"))


# The same topology or not


def isomorphic(truth: Any, found: Any) -> bool:
    """Whether two graphs have the same shape once nodes with two neighbours are dissolved.

    Lengths and points do not matter; unlike for `him` and `edge_flip`, nodes without edges do.

    Parameters
    ----------
    truth, found : Placement, or object with a Placement as its ``placement_`` or ``truth``

    Returns
    -------
    same : bool
        Whether the nodes of one graph can be renamed so that it becomes the other.

    Notes
    -----
    Nodes get colours that are refined until nodes of one colour have neighbours of the same
    colours. Forests are the same exactly if their colours are (Immerman, Lander 1990, "Describing
    graphs: a first-order approach to graph canonization", doi:10.1007/978-1-4612-4478-3_5). Among
    the nodes between which cycles lead, those of one colour are told apart by trial.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.metrics import isomorphic
    >>> none = np.array([], dtype=int), np.array([])
    >>> star = Placement(4, np.array([[0, 1], [0, 2], [0, 3]]), np.ones(3), *none)
    >>> line = Placement(4, np.array([[0, 1], [0, 2], [2, 3]]), np.ones(3), *none)
    >>> isomorphic(star, star), isomorphic(star, line)
    (True, False)
    """
    one, other = topologies(truth, found)
    if (one.n_nodes, len(one.edges)) != (other.n_nodes, len(other.edges)):
        return False
    both = np.vstack([one.edges, one.n_nodes + other.edges])
    neighbors: list[list[int]] = [[] for _ in range(2 * one.n_nodes)]
    for a, b in both.tolist():
        neighbors[a].append(b)
        neighbors[b].append(a)
    return _can_be_matched(neighbors, [0] * len(neighbors), _on_cycles(both, len(neighbors)))


def _can_be_matched(neighbors: list[list[int]], colors: list[int], on_cycles: Bools) -> bool:
    """Whether the first half of the nodes can be matched with the second, colour by colour."""
    colors, half = _refined(neighbors, colors), len(neighbors) // 2
    if sorted(colors[:half]) != sorted(colors[half:]):
        return False
    count = np.bincount(colors[:half], minlength=1)
    open_ = [v for v in range(half) if on_cycles[v] and count[colors[v]] > 1]
    if not open_:
        return True
    chosen, new = open_[0], max(colors) + 1
    for v in range(half, 2 * half):
        if colors[v] == colors[chosen]:
            trial = list(colors)
            trial[chosen] = trial[v] = new
            if _can_be_matched(neighbors, trial, on_cycles):
                return True
    return False


def _refined(neighbors: list[list[int]], colors: list[int]) -> list[int]:
    """Colours such that nodes of one colour have neighbours of the same colours."""
    n_colors = len(set(colors))
    while True:
        around = [
            (color, *sorted(colors[w] for w in near))
            for color, near in zip(colors, neighbors, strict=True)
        ]
        number = {key: k for k, key in enumerate(sorted(set(around)))}
        if len(number) == n_colors:
            return [number[key] for key in around]
        colors, n_colors = [number[key] for key in around], len(number)


def _on_cycles(edges: Ints, n_nodes: int) -> Bools:
    """Nodes that are left when tips are taken away until there are none."""
    while True:
        degree = degrees(edges, n_nodes)
        inner = (degree[edges] > 1).all(axis=1)
        if inner.all():
            return degree > 0
        edges = edges[inner]


# How similar two topologies are


def him(truth: Any, found: Any) -> float:
    """Similarity of two topologies with lengths: one minus the Hamming-Ipsen-Mikhailov distance.

    Both graphs are reduced to their tips, forks and the paths between them. A loop is broken up
    into three edges, each of several edges between two nodes into two, and so is the edge of
    a graph that has only one; the smaller graph is filled up with nodes without edges. With A, B
    the matrices of the edges' lengths, each divided by its sum, n the number of nodes, and ω_k the
    square roots of the eigenvalues, but the first, of a matrix's Laplacian,

        H = Σ_ij |A_ij − B_ij| / (n·(n − 1))
        ρ(ω) ∝ Σ_k γ / ((ω − ω_k)² + γ²), a density on ω ≥ 0, with γ = 0.1
        IM² = ∫ (ρ_A(ω) − ρ_B(ω))² dω
        him = 1 − √((H² + IM²) / 2), or 0 if that is negative

    as Saelens et al. (2019) compute it. H needs to know which node corresponds to which. They go by
    the names of the nodes; here the score depends on no names: H is the least that assigning
    nodes to nodes by the lengths of their edges alone allows, which no correspondence goes
    below. H cannot exceed 2/(n·(n − 1)), so that it matters only between small topologies.

    Parameters
    ----------
    truth, found : Placement, or object with a Placement as its ``placement_`` or ``truth``
        Only the graphs matter, not the points on them.

    Returns
    -------
    score : float
        From 0 to 1; 1 for the same topology with the same lengths, up to a common factor. Two
        graphs without any length have 1, one with and one without have 0. Nodes without
        edges are not seen, because the smaller graph is filled up with such. Symmetric.

    References
    ----------
    Jurman, Visintainer, Filosi, Riccadonna, Furlanello (2015), "The HIM glocal metric and kernel
    for network comparison and classification", IEEE International Conference on Data Science and
    Advanced Analytics, doi:10.1109/DSAA.2015.7344816.
    Ipsen, Mikhailov (2002), "Evolutionary reconstruction of networks", Physical Review E 66,
    046109, doi:10.1103/PhysRevE.66.046109.
    Saelens, Cannoodt, Todorov, Saeys (2019), "A comparison of single-cell trajectory inference
    methods", Nature Biotechnology 37, 547-554, doi:10.1038/s41587-019-0071-9.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.metrics import him
    >>> none = np.array([], dtype=int), np.array([])
    >>> star = Placement(4, np.array([[0, 1], [0, 2], [0, 3]]), np.ones(3), *none)
    >>> line = Placement(4, np.array([[0, 1], [0, 2], [2, 3]]), np.ones(3), *none)
    >>> him(star, star), round(him(star, line), 3)
    (1.0, 0.56)
    """
    one, other = topologies(truth, found)
    has_length = [bool(graph.lengths.sum() > 0) for graph in (one, other)]
    if not all(has_length):
        return float(has_length[0] == has_length[1])
    n_nodes = max(one.n_nodes, other.n_nodes)
    if n_nodes > MAX_NODES:
        name = "truth" if one.n_nodes == n_nodes else "found"
        raise ValueError(
            f"{name} has {n_nodes} tips and forks, but him compares at most {MAX_NODES}; prune it "
            "to the branches that matter."
        )
    A, B = _weights(one, n_nodes), _weights(other, n_nodes)
    hamming = 2 * (1 - _shared_weight(A, B)) / (n_nodes * (n_nodes - 1))
    spectral = _ipsen_mikhailov(_vibrations(A), _vibrations(B), GAMMA)
    return float(max(0.0, 1 - np.sqrt((hamming**2 + spectral**2) / 2)))


def _weights(graph: Topology, n_nodes: int) -> Floats:
    """Symmetric matrix of lengths, of so many nodes, whose entries sum to one."""
    matrix = np.zeros((n_nodes, n_nodes))
    i, j = graph.edges.T
    matrix[i, j] = matrix[j, i] = graph.lengths / (2 * graph.lengths.sum())
    return matrix


def _shared_weight(A: Floats, B: Floats) -> float:
    """Most that Σ_ij min(A_ij, B_π(i)π(j)) may reach, for a permutation π of the nodes.

    The part of it that node i has is largest when its longest edges meet the longest of node
    π(i); which node that is, is a linear assignment.
    """
    degree = max(int((M > 0).sum(axis=1).max()) for M in (A, B))
    rows_a, rows_b = (-np.sort(-M, axis=1)[:, :degree] for M in (A, B))
    gain = np.zeros(A.shape)
    for a, b in zip(rows_a.T, rows_b.T, strict=True):
        gain += np.minimum(a[:, None], b)
    i, j = linear_sum_assignment(gain, maximize=True)
    return min(1.0, float(gain[i, j].sum()))


def _vibrations(A: Floats) -> Floats:
    """Square roots of the eigenvalues, but the first, of the Laplacian of a matrix of weights."""
    eigenvalues = np.linalg.eigvalsh(np.diag(A.sum(axis=1)) - A)[1:]
    return np.sqrt(np.maximum(np.round(eigenvalues, DIGITS), 0.0))


def _ipsen_mikhailov(a: Floats, b: Floats, gamma: float) -> float:
    """√∫(ρ_a − ρ_b)² of the densities on [0, ∞) with Lorentz peaks of width γ at a and at b."""
    mass_a, mass_b = (np.sum(np.pi / 2 + np.arctan(x / gamma)) for x in (a, b))
    squared = (
        _product(a, a, gamma) / mass_a**2
        - 2 * _product(a, b, gamma) / (mass_a * mass_b)
        + _product(b, b, gamma) / mass_b**2
    )
    return float(np.sqrt(max(0.0, squared)))


def _product(a: Floats, b: Floats, gamma: float) -> float:
    """Σ_kl ∫_0^∞ γ/((ω − a_k)² + γ²) · γ/((ω − b_l)² + γ²) dω, in closed form."""
    a, b = a[:, None], b[None, :]
    gap = a - b
    # ln((γ² + a²)/(γ² + b²)) / (a − b), also where a and b are almost or entirely equal.
    slope = (a + b) / (gamma**2 + b**2)
    change = gap * slope
    near = np.where(change == 0, 1.0, change)
    logs = slope * np.where(change == 0, 1.0, np.log1p(change) / near)
    turns = (np.pi + np.arctan(a / gamma) + np.arctan(b / gamma)) / gamma
    return float(np.sum(gamma**2 * (logs + turns) / (4 * gamma**2 + gap**2)))
