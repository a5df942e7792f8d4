"""Random graphs in space with samples near them, and slow answers about them."""

import networkx as nx
import numpy as np

from branchwise.trajectory import Trajectory

from ..graph.test_placement import with_points


def drawn(seed, *, n_nodes=9, extra=0, n_cut=0, n_points=12, n_dims=2, doubled=0, noise=0.2):
    """A random forest with more edges, some nodes at the same place, and samples near it."""
    rng = np.random.default_rng(seed)
    parent = np.array([rng.integers(k) for k in range(1, n_nodes)], dtype=int)
    edges = np.column_stack([np.arange(1, n_nodes), parent])
    n_cut = min(n_cut, n_nodes - 1)
    edges = edges[rng.permutation(len(edges))[n_cut:]]
    edges = np.vstack([edges, rng.integers(n_nodes, size=(extra, 2))]).astype(int)
    edges = np.unique(np.sort(edges, axis=1), axis=0)
    edges = rng.permutation(edges[edges[:, 0] != edges[:, 1]])
    nodes = rng.normal(size=(n_nodes, n_dims))
    for _ in range(doubled if len(edges) else 0):
        a, b = edges[rng.integers(len(edges))]
        nodes[a] = nodes[b]
    points = nodes[rng.integers(n_nodes, size=n_points)]
    ends = edges[rng.integers(len(edges), size=n_points)] if len(edges) else None
    if ends is not None:
        part = rng.uniform(size=(n_points, 1))
        points = (1 - part) * nodes[ends[:, 0]] + part * nodes[ends[:, 1]]
    points = points + noise * rng.normal(size=points.shape)
    points[rng.integers(n_points)] = points[0]
    return edges, nodes, points


def trajectory(seed, **kwargs):
    return Trajectory(*drawn(seed, **kwargs))


def slow_times(found):
    """From the roots to every sample, along the graph broken up at the samples."""
    reached = nx.multi_source_dijkstra_path_length(
        with_points(found.placement_), set(found.roots_.tolist())
    )
    return np.array([reached["p", i] for i in range(len(found.names_))])


def slow_distances(found):
    reached = dict(nx.all_pairs_dijkstra_path_length(with_points(found.placement_)))
    n = len(found.names_)
    return np.array([[reached["p", i].get(("p", j), np.inf) for j in range(n)] for i in range(n)])


def slow_segments(edges, n_nodes, keep=()):
    """The number of the segment that each edge is part of: edges that meet at a node between."""
    degree = np.bincount(edges.ravel(), minlength=n_nodes)
    G = nx.Graph()
    G.add_nodes_from(range(len(edges)))
    for node in np.flatnonzero(degree == 2):
        if node not in keep:
            here = np.flatnonzero((edges == node).any(axis=1)).tolist()
            G.add_edge(here[0], here[-1])
    segment = np.zeros(len(edges), dtype=int)
    for k, together in enumerate(nx.connected_components(G)):
        segment[list(together)] = k
    return segment


def same_partition(a, b):
    pairs = set(zip(a, b, strict=True))
    return len(pairs) == len(set(a)) == len(set(b))
