"""Neighbour graphs that are connected, and the eigenproblems of Isomap, LE and LLE."""

import numpy as np
from scipy.sparse.csgraph import connected_components, shortest_path

from branchwise._typing import Floats, Ints
from branchwise.graph import adjacency, euclidean_spanning_tree, squared_distances
from branchwise.linalg import column_signs, largest_eigenpairs
from branchwise.neighbors import neighbor_edges


def join_parts(edges: Ints, X: Floats) -> tuple[Ints, int]:
    """Edges that join the parts of a graph on the rows of X, and how many parts it has.

    These are the edges of the Euclidean minimum spanning tree that lead from part to part.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.spectral import join_parts
    >>> join_parts(np.array([[0, 1], [2, 3]]), np.array([[0.0], [1.0], [8.0], [9.0]]))
    (array([[1, 2]]), 2)
    """
    n_parts, part = connected_components(adjacency(edges, len(X)), directed=False)
    if n_parts == 1:
        return np.empty((0, 2), dtype=np.intp), 1
    tree = euclidean_spanning_tree(X)
    return tree[part[tree[:, 0]] != part[tree[:, 1]]], int(n_parts)


def connected_neighbors(X: Floats, n_neighbors: int) -> tuple[Ints, int]:
    """Edges of the symmetrised neighbour graph, its parts joined, and how many they were.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.spectral import connected_neighbors
    >>> connected_neighbors(np.array([[0.0], [1.0], [8.0], [9.0]]), 1)
    (array([[0, 1],
           [2, 3],
           [1, 2]]), 2)
    """
    edges = neighbor_edges(X, n_neighbors)
    bridges, n_parts = join_parts(edges, X)
    return np.concatenate([edges, bridges]), n_parts


def geodesics(X: Floats, edges: Ints) -> Floats:
    """Lengths of the shortest paths between all samples along some edges.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.spectral import geodesics
    >>> geodesics(np.array([[0.0], [1.0], [3.0]]), np.array([[0, 1], [1, 2]]))[0]
    array([0., 1., 3.])
    """
    # Copies of a sample are joined by edges of length 0, which `adjacency` keeps.
    lengths = np.sqrt(squared_distances(X, edges))
    return np.asarray(shortest_path(adjacency(edges, len(X), lengths), method="D"))


def laplacian_eigenmap(S: Floats, n_components: int) -> Floats:
    """Solutions v of Lv = μDv of smallest μ but the constant one, with vᵀDv = 1.

    S holds the weights of a connected graph, D their row sums and L = D − S.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.spectral import laplacian_eigenmap
    >>> path = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> np.abs(laplacian_eigenmap(path, 1)).round(6).ravel()
    array([0.707107, 0.      , 0.707107])
    """
    root = np.sqrt(S.sum(axis=0))
    # With v = D^(-1/2)u these are the largest eigenvalues 1 − μ of D^(-1/2)·S·D^(-1/2), which lie
    # in [−1, 1]. The known first, 1, is moved to −1: of a graph that hardly hangs together, the
    # others may be as large in double precision.
    A = S / np.outer(root, root) - 2 * np.outer(root, root) / (root @ root)
    return leading_vectors(A, n_components) / root[:, np.newaxis]


def reconstruction_weights(X: Floats, neighbors: list[Ints], reg: float) -> Floats:
    """Weights W, rows summing to one, by which their neighbours reconstruct the samples best.

    Row i minimises ‖x_i − Σ_j w_j·x_j‖² + reg·(Σ_j ‖x_i − x_j‖²)·‖w‖² over the neighbours j.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.spectral import reconstruction_weights
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> neighbors = [np.array([1, 2]), np.array([0, 2]), np.array([0, 1])]
    >>> reconstruction_weights(X, neighbors, 1e-9)[1].round(6)
    array([0.666667, 0.      , 0.333333])
    """
    W = np.zeros((len(X), len(X)))
    for i, near in enumerate(neighbors):
        offsets = X[near] - X[i]
        G = offsets @ offsets.T
        # If all neighbours are copies of the sample, any weights will do: equal ones.
        G.flat[:: len(G) + 1] += reg * (np.trace(G) or 1.0)
        w = np.linalg.solve(G, np.ones(len(G)))
        W[i, near] = w / w.sum()
    return W


def locally_linear(W: Floats, n_components: int) -> Floats:
    """Orthonormal columns Z, orthogonal to 1, of smallest ‖Z − WZ‖²; rows of W sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.spectral import locally_linear
    >>> W = np.array([[0.0, 2.0, -1.0], [0.5, 0.0, 0.5], [-1.0, 2.0, 0.0]])
    >>> np.abs(locally_linear(W, 1)).round(6).ravel()  # three points on a line
    array([0.707107, 0.      , 0.707107])
    """
    n = len(W)
    rest = np.eye(n) - W
    M = rest.T @ rest
    # The constant vector is known to have eigenvalue 0, and is moved above all others: where there
    # are more such vectors, a solver returns any basis of them.
    M += np.abs(M).sum(axis=0).max() / n
    return leading_vectors(-M, n_components)


def leading_vectors(A: Floats, n_components: int) -> Floats:
    """Leading eigenvectors of a symmetric matrix, first the first, with fixed signs."""
    vectors = largest_eigenpairs(A, n_components)[1][:, ::-1]
    return vectors * column_signs(vectors)
