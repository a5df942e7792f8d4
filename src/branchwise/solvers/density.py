"""How likely samples are around a learned structure: a mixture with one normal per node.

    p(y) = Σ_k π_k·N(y | r_k, τ²I)

where r_k are the nodes in the space of the data. A structure that misses the samples needs a large
τ²; one that follows the noise of its training samples is no nearer to others for it and wastes
its nodes where no others are: the likelihood of samples that it has not seen tells both from the
structure that the samples lie on.
"""

import numpy as np
from scipy import optimize
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from .._typing import Floats

# Squared distances that are held at a time (128 MiB).
MAX_HELD = 2**24


def mixture_log_likelihood(
    projected: Floats, across: Floats, nodes: Floats, weights: Floats, n_features: int
) -> tuple[Floats, float]:
    """Log p(y) of each sample, with the τ² that makes the samples most likely; and that τ².

    Parameters
    ----------
    projected : array of shape (n_samples, d)
        The samples in the space of the nodes.
    across : array of shape (n_samples,)
        Their squared distances from that space.
    nodes : array of shape (n_nodes, d)
    weights : array of shape (n_nodes,)
        π, non-negative, with sum one.
    n_features : int
        Dimension of y.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.solvers.density import mixture_log_likelihood
    >>> y = np.array([[-1.0], [1.0]])
    >>> logs, noise = mixture_log_likelihood(y, np.zeros(2), np.zeros((1, 1)), np.ones(1), 1)
    >>> round(noise, 4), logs.round(4)  # one normal of variance 1
    (1.0, array([-1.4189, -1.4189]))
    """
    used = weights > 0
    nodes, log_weights = nodes[used], np.log(weights[used])
    step = max(1, MAX_HELD // len(nodes))
    # The noise is one number: where not all distances can be held, some samples tell it.
    some = slice(None, None, -(-len(projected) // step))
    squared = squared_distances_to(nodes, projected[some], across[some])

    def logs(noise: float, squared: Floats) -> Floats:
        exponent = logsumexp(log_weights - squared / (2 * noise), axis=1)
        return np.asarray(exponent) - n_features / 2 * np.log(2 * np.pi * noise)

    # At the best τ² it is the mean squared distance of the samples from the nodes that they
    # belong to, per feature: between that from the nearest and that from all nodes.
    low = max(float(squared.min(axis=1).mean()) / n_features, np.finfo(float).tiny ** 0.5)
    high = max(float((squared @ weights[used]).mean()) / n_features, 2 * low)
    best = optimize.minimize_scalar(
        lambda t: -logs(np.exp(t), squared).mean(),
        bounds=(np.log(low), np.log(high)),
        method="bounded",
        options={"xatol": 1e-6},
    )
    noise = float(np.exp(best.x))
    if len(squared) == len(projected):
        return logs(noise, squared), noise
    blocks = [slice(start, start + step) for start in range(0, len(projected), step)]
    likelihood = [
        logs(noise, squared_distances_to(nodes, projected[rows], across[rows])) for rows in blocks
    ]
    return np.concatenate(likelihood), noise


def squared_distances_to(nodes: Floats, projected: Floats, across: Floats) -> Floats:
    """‖y − r_k‖² for all samples and nodes."""
    return np.asarray(cdist(projected, nodes, "sqeuclidean")) + across[:, np.newaxis]
