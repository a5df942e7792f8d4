"""The objective of DDRTree, by one plain formula for every program that claims to lower it."""

import numpy as np
from scipy.spatial.distance import cdist

from branchwise.solvers.ddrtree import objective


def ddrtree_objective(
    Y: np.ndarray,
    W: np.ndarray,
    Z: np.ndarray,
    C: np.ndarray,
    edges: np.ndarray,
    *,
    lam: float,
    gamma: float,
    sigma: float,
) -> float:
    """Value of `op:dimred-kmeans-relax-tree` at W, Z, C and a tree, with R at its best for them.

        ‖Y − ZWᵀ‖² + λ·Tr(CᵀLC) + γ·[Σ r_ik‖z_i − c_k‖² + σ·Σ r_ik log r_ik]

    Programs do not all return R, and one that does may return that of the step before. The
    minimiser r_ik ∝ exp(−‖z_i − c_k‖²/σ) (`prop:R`) is a function of Z and C: with it the
    value depends on nothing but what every program returns. Dense in N×K.

    Parameters
    ----------
    Y : array of shape (N, D)
        Centred data.
    W, Z, C : arrays of shape (D, d), (N, d), (K, d)
    edges : integer array of shape (K − 1, 2)
    """
    squared = cdist(Z, C, "sqeuclidean")
    log_R = -(squared - squared.min(axis=1, keepdims=True)) / sigma
    log_R -= np.log(np.exp(log_R).sum(axis=1, keepdims=True))
    R = np.exp(log_R)
    reconstruction = np.sum((Y - Z @ W.T) ** 2)
    tree = np.sum((C[edges[:, 0]] - C[edges[:, 1]]) ** 2)
    quadratic = reconstruction + lam * tree + gamma * np.sum(R * squared)
    return float(objective(quadratic, np.sum(R * log_R), lam=lam, gamma=gamma, sigma=sigma))
