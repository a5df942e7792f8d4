"""t-SNE in any number of dimensions, by products of matrices (van der Maaten & Hinton 2008)."""

import math

import numpy as np

from branchwise._compat import kernel
from branchwise._typing import Floats

# Rows of the N×N matrices that are worked on at a time, so that they stay in the cache.
BLOCK = 128
# The usual schedule: while the clusters form, all attraction is this much stronger.
EXAGGERATION, N_EXAGGERATED = 12.0, 100
MIN_GAIN = 0.01
# What the entropy of a row may miss its target by.
ENTROPY_TOL = 1e-10
# A width smaller than the mean distance by exp of half of this tells copies from all others.
MAX_LOG_BETA = 100.0


def affinities(X: Floats, perplexity: float) -> Floats:
    """Joint probabilities P = (p_j|i + p_i|j)/2N of Gaussian neighbourhoods, summing to one.

    The width around each sample is such that the entropy of its row is log(perplexity). A sample
    with more copies than that cannot have so little: its row is uniform on the copies.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.exact_tsne import affinities
    >>> affinities(np.array([[0.0], [1.0], [3.0]]), 1.5).round(3)
    array([[0.   , 0.287, 0.047],
           [0.287, 0.   , 0.167],
           [0.047, 0.167, 0.   ]])
    """
    X = X - X.mean(axis=0)
    squares = np.einsum("ij,ij->i", X, X)
    P = squares[:, np.newaxis] + squares - 2 * (X @ X.T)
    conditional(np.maximum(P, 0.0, out=P), math.log(perplexity))
    P += P.T.copy()
    return P / P.sum()


@kernel
def conditional(D2: Floats, entropy: float) -> None:
    """Replace squared distances by p_j|i ∝ exp(−β_i·d²_ij) of a given entropy in each row.

    Newton's method in log β, kept between the bounds that are known: the entropy falls in β, with
    slope −β²·(variance of d² in the row).
    """
    n = len(D2)
    weight = np.empty(n)
    for i in range(n):
        row = D2[i]
        row[i] = np.inf
        nearest = row.min()
        row[i] = nearest
        mean = row.mean() - nearest
        low, high = -np.inf, np.inf
        log_beta = -np.log(mean) if mean > 0 else 0.0
        limit = log_beta + MAX_LOG_BETA
        total = 1.0
        for _ in range(100):
            beta = np.exp(log_beta)
            total = first = second = 0.0
            for j in range(n):
                excess = beta * (row[j] - nearest)
                weight[j] = np.exp(-excess) if j != i else 0.0
                total += weight[j]
                first += weight[j] * excess
                second += weight[j] * excess * excess
            first /= total
            miss = np.log(total) + first - entropy
            if abs(miss) < ENTROPY_TOL:
                break
            if miss > 0:
                low = log_beta
            else:
                high = log_beta
            slope = second / total - first * first
            # Far from the solution the slope says little.
            step = miss / slope if slope > abs(miss) / 2 else np.sign(miss) * 2.0
            log_beta += step
            if not low < log_beta < high:
                log_beta = (low + high) / 2
            if log_beta > limit:
                break
        for j in range(n):
            row[j] = weight[j] / total


def gradient(P: Floats, Y: Floats, exaggeration: float = 1.0) -> Floats:
    """Gradient of KL(P‖Q) at the points Y, q_ij ∝ 1/(1 + ‖y_i − y_j‖²), in the precision of Y.

        4·Σ_j (p_ij − q_ij)·(y_i − y_j)/(1 + ‖y_i − y_j‖²)

    `exaggeration` multiplies P.
    """
    n = len(Y)
    squares = np.einsum("ij,ij->i", Y, Y)
    T = np.empty((n, n), dtype=Y.dtype)
    total = 0.0
    blocks = [slice(first, first + BLOCK) for first in range(0, n, BLOCK)]
    for rows in blocks:
        t = np.matmul(Y[rows], Y.T, out=T[rows])
        t *= -2
        t += squares
        t += (1 + squares[rows])[:, np.newaxis]
        np.maximum(t, 1, out=t)  # which rounding may have missed
        np.reciprocal(t, out=t)
        total += float(t.sum(dtype=np.float64)) - float(np.trace(t, offset=rows.start))
    result = np.empty_like(Y)
    for rows in blocks:
        t = T[rows]
        force = t * Y.dtype.type(-1 / total)
        force += Y.dtype.type(exaggeration) * P[rows]
        force *= t
        # The diagonal pulls a point to itself and needs no care.
        result[rows] = force.sum(axis=1)[:, np.newaxis] * Y[rows] - force @ Y
    return 4 * result


def exact_tsne(P: Floats, start: Floats, *, max_iter: int) -> Floats:
    """Gradient descent on KL(P‖Q) with momentum and a gain for every coordinate (Jacobs 1988).

    Parameters
    ----------
    P : array of shape (n_samples, n_samples)
        As of `affinities`.
    start : array of shape (n_samples, n_components)
        Starting points, much closer than 1 to each other.
    max_iter : int

    Returns
    -------
    Y : array of shape (n_samples, n_components)

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.exact_tsne import affinities, exact_tsne
    >>> X = np.repeat(np.eye(3), 10, axis=0) + np.random.default_rng(0).normal(size=(30, 3)) / 50
    >>> Y = exact_tsne(affinities(X, 5.0), 1e-4 * X, max_iter=300)
    >>> bool(np.ptp(Y[:10], axis=0).max() < np.linalg.norm(Y[0] - Y[10]))
    True
    """
    # Half the memory to walk through, and digits enough for a step downhill.
    P, Y = P.astype(np.float32), start.astype(np.float32)
    rate = np.float32(max(len(Y) / EXAGGERATION / 4, 50.0))
    step, gain = np.zeros_like(Y), np.ones_like(Y)
    for iteration in range(max_iter):
        early = iteration < N_EXAGGERATED
        slope = gradient(P, Y, EXAGGERATION if early else 1.0)
        if iteration == N_EXAGGERATED:
            step[:], gain[:] = 0.0, 1.0
        keeps_direction = slope * step < 0
        gain = np.where(keeps_direction, gain + np.float32(0.2), gain * np.float32(0.8))
        np.maximum(gain, np.float32(MIN_GAIN), out=gain)
        step = np.float32(0.5 if early else 0.8) * step - rate * gain * slope
        Y += step
    return (Y - Y.mean(axis=0)).astype(np.float64)
