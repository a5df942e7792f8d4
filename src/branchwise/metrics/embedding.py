"""How well an embedding keeps classes apart, and neighbours together."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist
from sklearn.utils import check_array, column_or_1d

from .._typing import Floats, Ints
from ..data.checks import check_count, check_finite
from ..data.masked import unmasked
from ..neighbors import MAX_KDTREE_DIM

# Distances held at a time.
BLOCK = 2**22


class CoRanking(NamedTuple):
    """The outcome of `coranking`; entry K − 1 of a curve is its value at K neighbours."""

    counts: Ints  # (max_neighbors, max_neighbors)
    q_nx: Floats  # (max_neighbors,): mean part of the K nearest that stay among the K nearest
    r_nx: Floats  # (max_neighbors,): the same, 0 being chance and 1 perfect
    lcmc: Floats  # (max_neighbors,): q_nx above chance
    auc: float  # mean of r_nx with weights 1/K
    k_max: int  # the K of the largest lcmc
    q_local: float  # mean of q_nx up to k_max


def loo_1nn(embedding: Any, labels: Any) -> float:
    """Leave-one-out accuracy of the nearest neighbour's label.

    The part of the samples whose nearest other sample has the same label: the criterion by which
    Wang, "Probabilistic Dimensionality Reduction via Structure Learning", compares embeddings of
    labelled data. Of equally near samples the first counts; copies of a sample are samples. Memory
    is linear in the number of samples, and time about so; with more than 15 dimensions, time
    grows with its square.

    Parameters
    ----------
    embedding : array-like of shape (n_samples, n_components)
    labels : array-like of shape (n_samples,)

    Returns
    -------
    accuracy : float
        From 0 to 1.

    References
    ----------
    Cover, Hart (1967), "Nearest neighbor pattern classification", IEEE Transactions on Information
    Theory 13, 21-27, doi:10.1109/TIT.1967.1053964.

    Examples
    --------
    >>> from branchwise.metrics import loo_1nn
    >>> loo_1nn([[0.0], [1.0], [5.0], [7.0]], ["a", "a", "b", "a"])
    0.5
    """
    embedding = _samples(embedding, "embedding", n_least=2)
    labels = column_or_1d(labels)
    _check_same_length(embedding, labels, "labels")
    if np.any(labels != labels):
        raise ValueError(
            f"labels[{np.argmax(labels != labels)}] is NaN, but every sample must have a label; "
            "drop samples without one from labels and embedding."
        )
    few = embedding.shape[1] <= MAX_KDTREE_DIM
    nearest = _nearest_by_tree(embedding) if few else _nearest_by_blocks(embedding)
    return float(np.mean(labels[nearest] == labels))


def trustworthiness(X: Any, embedding: Any, n_neighbors: int = 5) -> float:
    """To what extent the neighbours in an embedding are neighbours in the data.

    With n samples, U(i) the k nearest to sample i in the embedding, and r(i, j) the rank of sample
    j among those nearest to sample i in the data,

        T(k) = 1 − 2 / (n·k·(2n − 3k − 1)) · Σ_i Σ_{j in U(i)} max(0, r(i, j) − k)

    Of samples at one distance each has the least rank. Distances are computed in blocks of rows;
    memory grows with the number of samples, time with its square.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    embedding : array-like of shape (n_samples, n_components)
    n_neighbors : int, default=5
        k; less than half the number of samples.

    Returns
    -------
    score : float
        From 0 to 1; 1 if no sample has come near that was not.

    References
    ----------
    Venna, Kaski (2006), "Local multidimensional scaling", Neural Networks 19, 889-899,
    doi:10.1016/j.neunet.2006.05.014.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.metrics import trustworthiness
    >>> square = np.array([[0.0, 0.0], [0.0, 9.0], [1.0, 0.0], [1.0, 9.0], [2.0, 0.0], [2.0, 9.0]])
    >>> trustworthiness(square, square, 1), trustworthiness(square, square[:, :1], 1)
    (1.0, 0.5)
    """
    X, embedding = _pair(X, embedding)
    n, k = len(X), check_count(n_neighbors, "n_neighbors")
    if 2 * k >= n:
        raise ValueError(
            f"n_neighbors={k} must be less than half of n_samples={n}; lower n_neighbors or add "
            "samples."
        )
    excess = 0
    for in_data, in_embedding in _distances(X, embedding):
        near = np.argpartition(in_embedding, k - 1, axis=1)[:, :k]
        for distance in np.take_along_axis(in_data, near, axis=1).T:
            closer = np.sum(in_data < distance[:, None], axis=1)
            excess += int(np.maximum(closer + 1 - k, 0).sum())
    return 1 - 2 * excess / (n * k * (2 * n - 3 * k - 1))


def continuity(X: Any, embedding: Any, n_neighbors: int = 5) -> float:
    """To what extent the neighbours in the data are neighbours in an embedding.

    The `trustworthiness` with the data and the embedding exchanged: neighbours in the data are
    judged by their ranks in the embedding.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    embedding : array-like of shape (n_samples, n_components)
    n_neighbors : int, default=5
        Less than half the number of samples.

    Returns
    -------
    score : float
        From 0 to 1; 1 if no neighbours were torn apart.

    References
    ----------
    Venna, Kaski (2006), "Local multidimensional scaling", Neural Networks 19, 889-899,
    doi:10.1016/j.neunet.2006.05.014.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.metrics import continuity
    >>> angle = np.arange(7.0)  # a ring, cut open between its last and first samples
    >>> continuity(np.column_stack([np.cos(angle), np.sin(angle)]), angle[:, None], 1)
    0.714...
    """
    return trustworthiness(*_pair(X, embedding)[::-1], n_neighbors)


def coranking(X: Any, embedding: Any, max_neighbors: int | None = None) -> CoRanking:
    """Summary of the co-ranking matrix: which neighbours stay neighbours, at every scale.

    Entry (k, l) of the matrix is the number of pairs of samples of which the second is the k-th
    nearest to the first in the data and the l-th nearest in the embedding. With n samples,

        Q_NX(K) = Σ_{k,l ≤ K} counts(k, l) / (K·n)
        LCMC(K) = Q_NX(K) − K / (n − 1)
        R_NX(K) = ((n − 1)·Q_NX(K) − K) / (n − 1 − K)
        AUC = Σ_K R_NX(K)/K / Σ_K 1/K

    Distances are computed in blocks of rows; memory grows with n_samples and with max_neighbors²,
    time with n_samples².

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    embedding : array-like of shape (n_samples, n_components)
    max_neighbors : int or None, default=None
        None: 100, or as many as there can be.
        The largest K, at most n_samples − 2. Curves and their summaries go up to it; published
        values of AUC mostly go up to n_samples − 2.

    Returns
    -------
    summary : CoRanking
        Named tuple of ``counts``, ``q_nx``, ``r_nx``, ``lcmc``, ``auc``, ``k_max`` and ``q_local``.
        Q_NX is from 0 to 1; R_NX and AUC are at most 1 and 0 by chance.

    References
    ----------
    Lee, Verleysen (2009), "Quality assessment of dimensionality reduction: Rank-based criteria",
    Neurocomputing 72, 1431-1443, doi:10.1016/j.neucom.2008.12.017 (matrix, Q_NX, local quality).
    Chen, Buja (2009), "Local multidimensional scaling for nonlinear dimension reduction, graph
    drawing, and proximity analysis", Journal of the American Statistical Association 104, 209-219
    (LCMC).
    Lee, Peluffo-Ordóñez, Verleysen (2015), "Multi-scale similarities in stochastic neighbour
    embedding: Reducing dimensionality while preserving both local and global structure",
    Neurocomputing 169, 246-261 (R_NX and AUC).

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.metrics import coranking
    >>> square = np.array([[0.0, 0.0], [0.0, 9.0], [1.0, 0.0], [1.1, 9.0], [3.0, 0.0]])
    >>> coranking(square, square[:, :1], max_neighbors=3).q_nx.round(2)
    array([0. , 0.5, 0.8])
    """
    X, embedding = _pair(X, embedding)
    n = len(X)
    K = min(100, max(n - 2, 1))
    if max_neighbors is not None:
        K = check_count(max_neighbors, "max_neighbors")
    if n - 2 < K:
        raise ValueError(
            f"max_neighbors={K} must be at most n_samples − 2 = {n - 2}; lower max_neighbors or "
            "add samples."
        )
    flat = np.zeros(K * K, dtype=np.int64)
    for in_data, in_embedding in _distances(X, embedding):
        near = _ranked(in_data, K)
        rank = np.full(in_data.shape, K)
        np.put_along_axis(rank, _ranked(in_embedding, K), np.arange(K)[None, :], axis=1)
        rank = np.take_along_axis(rank, near, axis=1)
        is_near = rank < K
        pairs = np.broadcast_to(np.arange(K), rank.shape)[is_near] * K + rank[is_near]
        flat += np.bincount(pairs, minlength=K * K)
    counts = flat.reshape(K, K)
    k = np.arange(1, K + 1)
    q_nx = np.diag(counts.cumsum(axis=0).cumsum(axis=1)) / (k * n)
    lcmc = q_nx - k / (n - 1)
    r_nx = lcmc * (n - 1) / (n - 1 - k)
    k_max = int(np.argmax(lcmc)) + 1
    auc = float(np.average(r_nx, weights=1 / k))
    return CoRanking(counts, q_nx, r_nx, lcmc, auc, k_max, float(q_nx[:k_max].mean()))


def _nearest_by_blocks(points: Floats) -> Ints:
    """The nearest other point of each; of equally near ones, the first."""
    return np.concatenate([distances.argmin(axis=1) for (distances,) in _distances(points)])


def _nearest_by_tree(points: Floats) -> Ints:
    """The same, by a search that spares most distances in few dimensions."""
    distinct, first, place, count = np.unique(
        points, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    place = place.ravel()
    nearest = first[place]
    # The first of several copies has the second as its nearest.
    own = np.flatnonzero(nearest == np.arange(len(points)))
    order = np.argsort(place, kind="stable")
    start = np.cumsum(count) - count
    copied = own[count[place[own]] > 1]
    nearest[copied] = order[start[place[copied]] + 1]
    alone, k = own[count[place[own]] == 1], 2
    tree = KDTree(distinct)
    while len(alone):
        k = min(k, len(distinct))
        distance, found = tree.query(points[alone], k=k)
        index = np.where(found == place[alone, None], len(points), first[found])
        distance[found == place[alone, None]] = np.inf
        least = distance.min(axis=1, keepdims=True)
        nearest[alone] = np.where(distance == least, index, len(points)).min(axis=1)
        # Whether the last of the k is as near as the nearest, so that there may be more of these.
        tied = (distance[:, -1:] == least).ravel() & (k < len(distinct))
        alone, k = alone[tied | (least.ravel() == np.inf)], 2 * k
    return nearest


def _distances(*spaces: Floats) -> Iterator[list[Floats]]:
    """Distances of some rows to all, in each space; a row is infinitely far from itself."""
    n_rows = len(spaces[0])
    step = max(1, BLOCK // n_rows)
    for start in range(0, n_rows, step):
        block = [cdist(points[start : start + step], points) for points in spaces]
        for distances in block:
            own = np.arange(len(distances))
            distances[own, start + own] = np.inf
        yield block


def _ranked(distances: Floats, k: int) -> Ints:
    """The k nearest of each row, in order."""
    near = np.sort(np.argpartition(distances, k - 1, axis=1)[:, :k], axis=1)
    order = np.argsort(np.take_along_axis(distances, near, axis=1), axis=1, kind="stable")
    return np.take_along_axis(near, order, axis=1)


def _pair(X: Any, embedding: Any) -> tuple[Floats, Floats]:
    X, embedding = _samples(X, "X"), _samples(embedding, "embedding")
    _check_same_length(X, embedding, "embedding")
    return X, embedding


def _samples(points: Any, name: str, n_least: int = 3) -> Floats:
    checked = check_array(
        unmasked(points),
        dtype=np.float64,
        ensure_all_finite=False,
        ensure_min_samples=n_least,
        input_name=name,
    )
    check_finite(checked, name)
    return checked


def _check_same_length(X: Floats, other: Any, name: str) -> None:
    if len(X) != len(other):
        raise ValueError(
            f"{'embedding' if name == 'labels' else 'X'} has {len(X)} rows and {name} "
            f"{len(other)}; pass one of each per sample."
        )
