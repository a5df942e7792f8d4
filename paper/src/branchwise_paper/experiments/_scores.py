"""What an embedding keeps of a curve, a ring, a tree or clusters, and how thin it is: by numbers.

All are the same for every method: none looks at how an embedding was made, and none changes with
its units.
"""

from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.stats import rankdata
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

from branchwise._typing import Floats, Ints, Sparse
from branchwise.graph import adjacency, euclidean_spanning_tree
from branchwise.metrics import loo_1nn, skeleton_smoothness, trustworthiness
from branchwise.neighbors import neighbor_edges

from ._truth import Truth

# Neighbours that ways along an embedding go by, and that a local direction is measured on.
ALONG, LOCAL = (5, 10), 10


class Scores(NamedTuple):
    """Of one embedding; see the functions of the same names."""

    purity: float
    separated: float
    order: float
    shape: float
    noise: float
    turning: float
    trustworthiness: float


def scores_of(X: Floats, embedding: Floats, truth: Truth) -> Scores:
    """All scores of an embedding of X."""
    E = to_unit_size(embedding)
    smoothness = skeleton_smoothness(adjacency(euclidean_spanning_tree(E), len(E)), E)
    return Scores(
        purity=loo_1nn(E, truth.part) if truth.n_parts > 1 else 1.0,
        separated=separated(E, truth),
        order=order(E, truth),
        shape=shape(X, E, truth),
        noise=noise(E, truth),
        turning=1 - smoothness.mean,
        trustworthiness=trustworthiness(X, E, LOCAL),
    )


def to_unit_size(embedding: Floats) -> Floats:
    """The embedding, centred, with a mean square norm of one: posterior means can be tiny."""
    centred = embedding - embedding.mean(axis=0)
    size = float(np.sqrt(np.mean((centred**2).sum(axis=1))))
    return np.asarray(centred / (size or 1.0))


def separated(embedding: Floats, truth: Truth) -> float:
    """Whether gaps in the embedding divide it into the true parts.

    The adjusted Rand index of the true parts and of as many parts by single linkage, i.e. by
    cutting the longest edges of the minimum spanning tree: 1 if the true parts are farther
    from each other than any point from the next one of its own.
    """
    if truth.n_parts == 1:
        return 1.0
    found = fcluster(linkage(embedding, "single"), truth.n_parts, "maxclust")
    return float(adjusted_rand_score(truth.part, found))


def order(embedding: Floats, truth: Truth) -> float:
    """The worst rank correlation between the ways from a true tip along embedding and truth.

    Ways in the embedding go by the edges of its minimum spanning tree and to nearest neighbours:
    five, which may leave a ring open, or ten, which may join the turns of a spiral; what is better
    for the embedding counts. From each tip (`Truth.tips`), Spearman's correlation of the lengths of
    the ways to all points of its part, along the embedding and along the true structure; of these
    the least. 1 if all points come in the right order from all tips; a curve may be stretched at
    will. NaN for clusters.
    """
    if not len(truth.tips):
        return np.nan
    true = truth.distances(truth.tips)
    own = truth.part[truth.tips][:, None] == truth.part
    tree = euclidean_spanning_tree(embedding)
    found = []
    for n_neighbors in ALONG:
        edges = np.unique(np.vstack([neighbor_edges(embedding, n_neighbors), tree]), axis=0)
        lengths = np.linalg.norm(embedding[edges[:, 0]] - embedding[edges[:, 1]], axis=1)
        # A stored zero would be no edge.
        graph = adjacency(edges, len(embedding), np.maximum(lengths, 1e-15))
        ways = dijkstra(graph, directed=False, indices=truth.tips)
        found.append(min(spearman(a[of], b[of]) for a, b, of in zip(ways, true, own, strict=True)))
    return max(found)


def shape(X: Floats, embedding: Floats, truth: Truth) -> float:
    """The smallest canonical correlation between an embedding and the data's principal plane.

    1 if the embedding is the data, but for an affine map; about 0 if some direction of the
    principal plane is lost, e.g. if a zigzag has become a straight line. Of unconnected curves each
    is measured by itself, and the worst counts: nothing says where to put one beside another.
    """
    parts = [truth.part == k for k in range(truth.n_parts)]
    if not len(truth.tips):  # clusters are nothing by themselves
        parts = [np.ones(len(X), dtype=bool)]
    return min(_least_correlation(X[part], embedding[part]) for part in parts)


def _least_correlation(X: Floats, embedding: Floats) -> float:
    d = embedding.shape[1]
    data = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[0][:, :d]
    left, size, _ = np.linalg.svd(embedding - embedding.mean(axis=0), full_matrices=False)
    if size[-1] <= 1e-9 * size[0]:  # a line, but for rounding
        return 0.0
    return float(np.linalg.svd(data.T @ left, compute_uv=False)[-1])


def noise(points: Floats, truth: Truth) -> float:
    """How thick curves are (`thickness`); of clusters, the part of the variance within them."""
    if len(truth.tips):
        return thickness(points)
    means = np.array([points[truth.part == k].mean(axis=0) for k in range(truth.n_parts)])
    within = ((points - means[truth.part]) ** 2).sum()
    return float(within / ((points - points.mean(axis=0)) ** 2).sum())


def thickness(points: Floats, n_neighbors: int = LOCAL) -> float:
    """The median part of the variance among neighbours that is not along a parabola.

    The axis of the parabola is across the direction in which the neighbours vary most. 0 for a
    smooth curve without noise, however it bends (a line in its place would call the lobes of the
    helix noise), and about 0.3 for a shapeless cloud in the plane.
    """
    near = NearestNeighbors(n_neighbors=n_neighbors).fit(points).kneighbors(points)[1]
    parts = np.zeros(len(points))
    for i, local in enumerate(points[near]):
        left, size, _ = np.linalg.svd(local - local.mean(axis=0), full_matrices=False)
        if size[0] > 0:
            along, across = left[:, 0], left[:, 1:] * size[1:]
            curve = np.linalg.qr(np.column_stack([np.ones_like(along), along, along**2]))[0]
            rest = across - curve @ (curve.T @ across)
            parts[i] = (rest**2).sum() / (size**2).sum()
    return float(np.median(parts))


def spearman(a: Floats, b: Floats) -> float:
    """Rank correlation; 0 where one of both is constant."""
    a, b = rankdata(a), rankdata(b)
    a, b = a - a.mean(), b - b.mean()
    norm = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / norm) if norm > 0 else 0.0


def n_components(graph: Sparse) -> int:
    """Connected parts of a learned graph."""
    return int(connected_components(graph, directed=False)[0])


def learned_edges(graph: Sparse) -> tuple[Ints, Floats]:
    """Edges of a symmetric graph, and their weights."""
    upper = graph.tocoo()
    keep = upper.row < upper.col
    return np.column_stack([upper.row[keep], upper.col[keep]]), upper.data[keep]
