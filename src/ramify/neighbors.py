"""One way to a symmetric neighbour graph, as a list of edges."""

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from ._typing import Ints, Matrix, Sparse

# Up to this many features a k-d tree finds neighbours by differences. Beyond, products of
# matrices do, where a large mean would cost the distances their digits.
MAX_KDTREE_DIM = 15


def neighbor_edges(X: Matrix, n_neighbors: int) -> Ints:
    """Edges of the union-symmetrised k-nearest-neighbour graph, each as (i, j) with i < j.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.neighbors import neighbor_edges
    >>> neighbor_edges(np.array([[0.0], [1.0], [3.0]]), 1)
    array([[0, 1],
           [1, 2]])
    """
    algorithm = "brute"
    if not sparse.issparse(X) and X.shape[1] <= MAX_KDTREE_DIM:
        algorithm = "kd_tree"
    elif not sparse.issparse(X):
        X = X - X.mean(axis=0)
    search = NearestNeighbors(n_neighbors=n_neighbors, algorithm=algorithm).fit(X)
    return graph_edges(search.kneighbors_graph(mode="connectivity"))


def graph_edges(graph: Sparse) -> Ints:
    """Edges of a sparse graph, in either direction, without loops; explicit zeros count.

    Examples
    --------
    >>> from scipy import sparse
    >>> from ramify.neighbors import graph_edges
    >>> graph_edges(sparse.csr_array([[0, 1, 0], [0, 0, 0], [0, 1, 0]]))
    array([[0, 1],
           [1, 2]])
    """
    coo = sparse.coo_array(graph)
    low, high = np.minimum(coo.row, coo.col), np.maximum(coo.row, coo.col)
    keys = np.unique(low.astype(np.int64) * graph.shape[0] + high)
    edges = np.column_stack([keys // graph.shape[0], keys % graph.shape[0]])
    return edges[edges[:, 0] < edges[:, 1]]
