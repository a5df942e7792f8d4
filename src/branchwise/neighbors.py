"""One way to a symmetric neighbour graph, as a list of edges."""

from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.spatial import KDTree
from sklearn.neighbors import NearestNeighbors

from ._parallel import ordered_map
from ._typing import Floats, Ints, Matrix, Sparse

# Up to this many features a k-d tree finds neighbours by differences. Beyond, products of
# matrices do, where a large mean would cost the distances their digits.
MAX_KDTREE_DIM = 15
# From this many samples on, neighbours are searched in blocks of rows, on several threads.
MIN_BLOCKED, BLOCK = 20_000, 2048
# A k-d tree is then faster than products, whatever the number of features, if the leading
# principal axes alone tell a sample from all but this part of the others.
MAX_FRACTION = 0.015
N_LEADING, N_PILOTS = 4, 100


def neighbor_edges(X: Matrix, n_neighbors: int, n_jobs: int = 1) -> Ints:
    """Edges of the union-symmetrised k-nearest-neighbour graph, each as (i, j) with i < j.

    The neighbours are exact, and do not depend on the number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.neighbors import neighbor_edges
    >>> neighbor_edges(np.array([[0.0], [1.0], [3.0]]), 1)
    array([[0, 1],
           [1, 2]])
    """
    algorithm = "brute"
    if not sparse.issparse(X) and X.shape[1] <= MAX_KDTREE_DIM:
        algorithm = "kd_tree"
    elif not sparse.issparse(X):
        X = X - X.mean(axis=0)
    search = NearestNeighbors(n_neighbors=n_neighbors + 1, algorithm=algorithm).fit(X)
    n_rows = X.shape[0]
    if n_rows < MIN_BLOCKED:
        return graph_edges(search.kneighbors_graph(n_neighbors=n_neighbors, mode="connectivity"))

    def by_products(rows: slice) -> Ints:
        return search.kneighbors(X[rows], return_distance=False)

    query: Callable[[slice], Ints] = by_products
    if algorithm == "brute" and not sparse.issparse(X):
        rotated = along_principal_axes(X)
        pilots = slice(0, None, n_rows // N_PILOTS)
        reach = search.kneighbors(X[pilots])[0][:, -1]
        if fraction_within(rotated, pilots, reach) <= MAX_FRACTION:
            tree = KDTree(rotated)

            def query(rows: slice) -> Ints:
                return np.asarray(tree.query(rotated[rows], k=n_neighbors + 1)[1])

    blocks = [slice(start, start + BLOCK) for start in range(0, n_rows, BLOCK)]
    found = without_self(np.concatenate(ordered_map(query, blocks, n_jobs)))
    row = np.repeat(np.arange(n_rows, dtype=np.int32), n_neighbors)
    entries = (np.ones(len(row), dtype=np.int8), (row, found.ravel()))
    return graph_edges(sparse.coo_array(entries, shape=(n_rows, n_rows)))


def along_principal_axes(X: Floats) -> Floats:
    """X in coordinates of descending variance, at the same distances."""
    axes = np.linalg.eigh(X.T @ X)[1][:, ::-1]
    return np.ascontiguousarray(X @ axes, dtype=np.float64)


def fraction_within(rotated: Floats, pilots: slice, reach: Floats) -> float:
    """The part of all points that the leading coordinates alone do not place beyond reach.

    A k-d tree divides the points by these coordinates, and has to visit about that part.
    """
    leading = np.ascontiguousarray(rotated[:, :N_LEADING])
    counts = [
        int((np.einsum("ij,ij->i", leading - z, leading - z) <= r**2).sum())
        for z, r in zip(leading[pilots], reach, strict=True)
    ]
    return float(np.mean(counts)) / len(rotated)


def without_self(found: Ints) -> Ints:
    """Rows of neighbours without the row's own number, or, among copies, without the last."""
    own = found == np.arange(len(found))[:, np.newaxis]
    own[~own.any(axis=1), -1] = True
    return found[~own].reshape(len(found), -1)


def graph_edges(graph: Sparse) -> Ints:
    """Edges of a sparse graph, in either direction, without loops; explicit zeros count.

    Examples
    --------
    >>> from scipy import sparse
    >>> from branchwise.neighbors import graph_edges
    >>> graph_edges(sparse.csr_array([[0, 1, 0], [0, 0, 0], [0, 1, 0]]))
    array([[0, 1],
           [1, 2]])
    """
    coo = sparse.coo_array(graph)
    low, high = np.minimum(coo.row, coo.col), np.maximum(coo.row, coo.col)
    keys = np.unique(low.astype(np.int64) * graph.shape[0] + high)
    edges = np.column_stack([keys // graph.shape[0], keys % graph.shape[0]])
    return edges[edges[:, 0] < edges[:, 1]]
