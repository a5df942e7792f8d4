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
    >>> from branchwise.graph import adjacency
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
    S = sparse.csr_array((values, (rows, columns)), shape=(n_nodes, n_nodes))
    S.sort_indices()  # which old versions of SciPy leave as they come
    return S


def laplacian(edges: Ints, n_nodes: int, weights: Floats | None = None) -> Sparse:
    """Graph Laplacian L = diag(S1) − S of `op:ebi-SW`.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph import laplacian
    >>> laplacian(np.array([[0, 1], [1, 2]]), 3).toarray()
    array([[ 1., -1.,  0.],
           [-1.,  2., -1.],
           [ 0., -1.,  1.]])
    """
    S = adjacency(edges, n_nodes, weights)
    return (sparse.diags_array(np.asarray(S.sum(axis=1)).ravel()) - S).tocsr()


def incidence(edges: Ints, n_nodes: int) -> Sparse:
    """Sparse matrix D whose rows take the difference along each edge: L = DᵀSD.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph import incidence
    >>> incidence(np.array([[0, 1], [1, 2]]), 3).toarray()
    array([[ 1., -1.,  0.],
           [ 0.,  1., -1.]])
    """
    n_edges = len(edges)
    signs = np.repeat([1.0, -1.0], n_edges)
    rows = np.tile(np.arange(n_edges), 2)
    return sparse.csr_array((signs, (rows, edges.T.ravel())), shape=(n_edges, n_nodes))


def squared_distances(points: Floats, edges: Ints) -> Floats:
    """‖p_i − p_j‖² for every edge (i, j), from differences, in blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph import squared_distances
    >>> squared_distances(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[0, 1]]))
    array([25.])
    """
    squared = np.empty(len(edges))
    step = max(1, 2**22 // points.shape[1])
    for first in range(0, len(edges), step):
        i, j = edges[first : first + step].T
        difference = points[i] - points[j]
        squared[first : first + step] = np.einsum("ij,ij->i", difference, difference)
    return squared
