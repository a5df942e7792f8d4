"""What is compared besides time: growth, trees and embeddings."""

import numpy as np
from scipy import sparse, stats
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import procrustes

# Rows between which distances along a tree are compared.
N_SAMPLED = 2000


def loglog_slope(sizes: list[float], costs: list[float]) -> float:
    """Slope of the least-squares line through (log size, log cost)."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def share_growing(sizes: list[float], costs: list[float]) -> float:
    """Part of the last cost that grows with the size: b·n/(a + b·n), from the last two.

    What does not grow (the tree of a fixed number of centres, small matrices) is a.
    """
    (n0, n1), (t0, t1) = sizes[-2:], costs[-2:]
    slope = (t1 - t0) / (n1 - n0)
    return float(np.clip(slope * n1 / t1, 0.0, 1.0))


def tree_distances(points: np.ndarray, nodes: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Distances along a tree between points, each moved to the nearest point of an edge."""
    a, b = nodes[edges[:, 0]], nodes[edges[:, 1]]
    length = np.linalg.norm(b - a, axis=1)
    best = np.full(len(points), np.inf)
    where = np.zeros(len(points), dtype=int)
    along = np.zeros(len(points))
    for e, (start, step) in enumerate(zip(a, b - a, strict=True)):
        part = np.clip((points - start) @ step / max(length[e] ** 2, np.finfo(float).tiny), 0, 1)
        distance = np.linalg.norm(points - start - part[:, np.newaxis] * step, axis=1)
        nearer = distance < best
        best[nearer], where[nearer] = distance[nearer], e
        along[nearer] = part[nearer] * length[e]
    # Zero would be read as no edge.
    weights = np.maximum(length, np.finfo(float).tiny)
    # Old versions of SciPy's graph routines take indices of 32 bits only.
    graph = sparse.csr_array((weights, edges.astype(np.int32).T), shape=(len(nodes),) * 2)
    between = dijkstra(graph, directed=False)
    ends = [(edges[where, 0], along), (edges[where, 1], length[where] - along)]
    through = [
        offset[:, np.newaxis] + between[np.ix_(end, other)] + rest
        for end, offset in ends
        for other, rest in ends
    ]
    result = np.minimum.reduce(through)
    same = where[:, np.newaxis] == where
    result[same] = np.abs(along[:, np.newaxis] - along)[same]
    return result


def tree_correlation(
    points: np.ndarray, nodes: np.ndarray, edges: np.ndarray, true: np.ndarray
) -> dict[str, float]:
    """Correlations, over all pairs of points, of distances along a tree with the true ones."""
    pairs = np.triu_indices(len(points), 1)
    found, true = tree_distances(points, nodes, edges)[pairs], true[pairs]
    return {
        "pearson": float(np.corrcoef(found, true)[0, 1]),
        "spearman": float(stats.spearmanr(found, true).statistic),
    }


def sampled_rows(n: int, seed: int = 0) -> np.ndarray:
    """The rows that trees are compared on."""
    return np.random.default_rng(seed).choice(n, size=min(n, N_SAMPLED), replace=False)


def procrustes_correlation(A: np.ndarray, B: np.ndarray) -> float:
    """Correlation of two embeddings after the best shift, rotation and scaling."""
    return float(np.sqrt(max(1 - procrustes(A, B)[2], 0.0)))
