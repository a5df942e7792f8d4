"""The Hamming-Ipsen-Mikhailov similarity of two topologies with lengths."""

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from .._typing import Floats
from .topology import Topology, topologies

# Half the width of the peaks around the vibrations of a network, as Saelens et al. (2019) set it.
GAMMA = 0.1
# Eigenvalues that differ by less differ by rounding.
DIGITS = 10
# Nodes up to which two topologies are compared by all their eigenvalues.
MAX_NODES = 2000


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
    >>> from ramify.graph.placement import Placement
    >>> from ramify.metrics import him
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
