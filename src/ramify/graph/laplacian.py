"""Adjacency and Laplacian of a graph given as a list of edges."""

import numpy as np
from scipy import sparse

from .._typing import Floats, Ints, Sparse


def adjacency(edges: Ints, n_nodes: int, weights: Floats | None = None) -> Sparse:
    """Symmetric sparse matrix S with one pair of entries per edge.

    Zero weights are kept as explicit entries: an edge of weight zero is still an edge.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.graph import adjacency
    >>> adjacency(np.array([[0, 1], [1, 2]]), 3).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    if weights is None:
        weights = np.ones(len(edges))
    # Old versions of SciPy's graph routines take indices of 32 bits only.
    i, j = edges.astype(np.int32).T
    rows, columns = np.concatenate([i, j]), np.concatenate([j, i])
    values = np.concatenate([weights, weights])
    return sparse.csr_array((values, (rows, columns)), shape=(n_nodes, n_nodes))


def laplacian(edges: Ints, n_nodes: int, weights: Floats | None = None) -> Sparse:
    """Graph Laplacian L = diag(S1) − S of `op:ebi-SW`.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.graph import laplacian
    >>> laplacian(np.array([[0, 1], [1, 2]]), 3).toarray()
    array([[ 1., -1.,  0.],
           [-1.,  2., -1.],
           [ 0., -1.,  1.]])
    """
    S = adjacency(edges, n_nodes, weights)
    return (sparse.diags_array(np.asarray(S.sum(axis=1)).ravel()) - S).tocsr()
