"""What methods on graphs of sparse codes share: copies of samples, symmetry, the embedding."""

from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh
from sklearn.cluster import KMeans

from branchwise._typing import Floats, Ints, Sparse
from branchwise.linalg import column_signs

from ._base import Baseline

# Up to this many nodes a dense eigensolver is faster than a sparse one.
MAX_DENSE = 600
# Shift of the sparse eigensolver: below the spectrum, which starts at zero, so that the shifted
# matrix can be factored, and near enough that the smallest eigenvalues stand out.
SHIFT = -1e-3


class Distinct(NamedTuple):
    """The different rows of a table, and which of them each row is."""

    rows: Floats  # (n_distinct, n_features), in the order of their first occurrence
    node: Ints  # (n_samples,): the table is rows[node]
    copies: Ints  # (n_distinct,): how often each occurs


def distinct_rows(X: Floats, n_decimals: int | None = None) -> Distinct:
    """Take each row once; with `n_decimals`, rows that agree after rounding are the same.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines._sparse_codes import distinct_rows
    >>> distinct_rows(np.array([[2.0], [1.0], [2.0]])).node
    array([0, 1, 0])
    """
    # + 0.0, because rows are compared by their bits and −0 has others than 0.
    keys = (X if n_decimals is None else X.round(n_decimals)) + 0.0
    _, first, inverse, counts = np.unique(
        keys, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return Distinct(X[first[order]], place[inverse.ravel()], counts[order])


def share_among_copies(W: Sparse, distinct: Distinct, *, rows: bool) -> Sparse:
    """From weights between distinct rows to weights between samples.

    Copies share the weight of their row equally, as columns and, with `rows`, as rows. Then
    sums of weights over copies are those of `W`, and an eigenvector of the Laplacian of a
    symmetric `W`, repeated for the copies, is one of the result, with the same eigenvalue.
    """
    n_samples, n_distinct = len(distinct.node), len(distinct.copies)
    entries = (np.ones(n_samples), (np.arange(n_samples), distinct.node))
    one = sparse.csr_array(entries, shape=(n_samples, n_distinct))
    shared = one @ sparse.diags_array(1.0 / distinct.copies)
    return ((shared if rows else one) @ W @ shared.T).tocsr()


def symmetrised(W: Sparse) -> Sparse:
    """The larger of w_ij and w_ji, without explicit zeros.

    Examples
    --------
    >>> from scipy import sparse
    >>> from branchwise_paper.baselines._sparse_codes import symmetrised
    >>> symmetrised(sparse.csr_array([[0.0, 2.0], [1.0, 0.0]])).toarray()
    array([[0., 2.],
           [2., 0.]])
    """
    graph = sparse.csr_array(W.maximum(W.T))
    graph.eliminate_zeros()
    return graph


def eigenmap_by_components(W: Sparse, n_components: int) -> tuple[Floats, Floats]:
    """Bottom eigenvectors of (D − W)·v = μ·D·v, where D holds the row sums of W.

    These are v = D^(−1/2)·u for the eigenvectors u of the normalised Laplacian
    I − D^(−1/2)·W·D^(−1/2), in ascending order of μ, without the constant one, scaled to
    Σ d_i·v_i² = Σ d_i and with the largest entry of each positive.

    A graph of k components has k eigenvalues of zero. Their eigenvectors are constant on each
    component, and after the constant one are taken as the contrasts of the second component
    against the first, of the third against both, and so on, from the largest Σ d_i to the
    least. All further eigenvectors live on a single component, and are zero on the others.
    Nodes without an edge are at the origin; columns beyond the last eigenvector are zero.
    `spectral.laplacian_eigenmap` is the plain one, of a dense matrix and a connected graph.

    Parameters
    ----------
    W : sparse array of shape (n, n)
        Symmetric, not negative, without a diagonal or explicit zeros.
    n_components : int

    Returns
    -------
    values : array of shape (at most n_components,)
    vectors : array of shape (n, n_components)

    Examples
    --------
    >>> from scipy import sparse
    >>> from branchwise_paper.baselines._sparse_codes import eigenmap_by_components
    >>> chain = sparse.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> values, vectors = eigenmap_by_components(chain, 1)
    >>> values.round(12), abs(vectors.round(6)).ravel()
    (array([1.]), array([1.41421..., 0.        , 1.41421...]))
    """
    n_nodes = W.shape[0]
    degree = np.asarray(W.sum(axis=1)).ravel()
    groups = component_nodes(W, degree)
    volume = np.array([degree[nodes].sum() for nodes in groups])
    values, vectors = np.zeros(n_components), np.zeros((n_nodes, n_components))
    n_found = min(max(len(groups) - 1, 0), n_components)
    for m in range(n_found):
        before = volume[: m + 1].sum()
        vectors[np.concatenate(groups[: m + 1]), m] = np.sqrt(volume[m + 1] / before)
        vectors[groups[m + 1], m] = -np.sqrt(before / volume[m + 1])
        vectors[:, m] *= np.sqrt(volume.sum() / (before + volume[m + 1]))
    n_more = n_components - n_found
    pairs = [component_eigenpairs(W[nodes][:, nodes], n_more) for nodes in groups if n_more]
    found = sorted(
        (float(mu), which, column)
        for which, (some, _) in enumerate(pairs)
        for column, mu in enumerate(some)
    )
    for mu, which, column in found[:n_more]:
        scaled = pairs[which][1][:, column] * np.sqrt(volume.sum())
        values[n_found], vectors[groups[which], n_found] = mu, scaled
        n_found += 1
    return values[:n_found], vectors * column_signs(vectors)


def component_nodes(W: Sparse, degree: Floats) -> list[Ints]:
    """Nodes of each component that has an edge, from the largest sum of degrees to the least."""
    _, labels = connected_components(W, directed=False)
    order = np.argsort(labels, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(labels))[:-1])
    return sorted((g for g in groups if len(g) > 1), key=lambda g: -round(degree[g].sum(), 9))


def component_eigenpairs(W: Sparse, n_pairs: int) -> tuple[Floats, Floats]:
    """Smallest eigenvalues μ > 0 of (D − W)·v = μ·D·v on a connected graph, with Σ d_i·v_i² = 1."""
    n_nodes = W.shape[0]
    n_pairs = min(n_pairs, n_nodes - 1)
    root = np.sqrt(np.asarray(W.sum(axis=1)).ravel())
    scale = sparse.diags_array(1.0 / root)
    normalised = sparse.eye_array(n_nodes) - scale @ W @ scale
    if n_nodes <= max(MAX_DENSE, 3 * n_pairs):
        values, vectors = linalg.eigh(normalised.toarray())
    else:
        # A fixed start, so that the same graph has the same eigenvectors to the last digit.
        start = root + np.random.default_rng(0).standard_normal(n_nodes)
        values, vectors = eigsh(normalised.tocsc(), n_pairs + 1, sigma=SHIFT, v0=start)
        order = np.argsort(values)
        values, vectors = values[order], vectors[:, order]
    chosen = slice(1, n_pairs + 1)
    return values[chosen], vectors[:, chosen] / root[:, np.newaxis]


class SparseCodeBaseline(Baseline):
    """Base of the methods that write each sample by few others, and embed the graph of that."""

    eigenvalues_: Floats
    graph_: Sparse
    codes_: Sparse
    n_connected_components_: int

    def _embed(self, codes: Sparse, weights: Sparse, distinct: Distinct) -> Sparse:
        """Set what is learned from codes and weights of distinct rows; returns their graph."""
        graph = symmetrised(weights)
        self.n_connected_components_ = int(connected_components(graph, directed=False)[0])
        self.eigenvalues_, embedding = eigenmap_by_components(graph, self.n_components)
        self.embedding_ = embedding[distinct.node]
        self.graph_ = share_among_copies(graph, distinct, rows=True)
        self.codes_ = share_among_copies(codes, distinct, rows=False)
        return graph


def spectral_labels(W: Sparse, n_clusters: int, seed: np.random.RandomState) -> Ints:
    """Spectral clustering: k-means of the rows, of unit length, of `n_clusters` eigenvectors."""
    coordinates = np.ones((W.shape[0], n_clusters))
    coordinates[:, 1:] = eigenmap_by_components(W, n_clusters - 1)[1]
    coordinates /= np.linalg.norm(coordinates, axis=1, keepdims=True)
    return KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(coordinates)
