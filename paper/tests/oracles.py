"""Formulas behind the baselines as they are printed, dense and slow: the tests' ground truth."""

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist


def dense_laplacian(edges, n, weights=None):
    S = np.zeros((n, n))
    for e, (i, j) in enumerate(edges):
        S[i, j] = S[j, i] = 1.0 if weights is None else weights[e]
    return np.diag(S.sum(axis=1)) - S


def soft_assignments(Z, C, sigma):
    """`op:2-R`, shifted by the nearest distance so that no row underflows."""
    squared = cdist(Z, C, "sqeuclidean")
    squared -= squared.min(axis=1, keepdims=True)
    R = np.exp(-squared / sigma)
    return R / R.sum(axis=1, keepdims=True)


def simple_ppt(Y, C, *, lam, sigma, n_iter):
    """SimplePPT: min Σ r_ik‖y_i − c_k‖² + σ·Σ r_ik log r_ik + λ·Tr(CᵀLC), no projection."""
    history = []
    for _ in range(n_iter):
        edges = np.transpose(minimum_spanning_tree(cdist(C, C)).nonzero())
        L = dense_laplacian(edges, len(C))
        R = soft_assignments(Y, C, sigma)
        C = np.linalg.solve(lam * L + np.diag(R.sum(axis=0)), R.T @ Y)
        entropy = np.sum(R[R > 0] * np.log(R[R > 0]))
        cost = np.sum(R * cdist(Y, C, "sqeuclidean")) + sigma * entropy
        history.append(cost + lam * np.trace(C.T @ L @ C))
    return C, edges, np.array(history)


def structure_learning_objective(Y, edges, s, sigma2, beta):
    """`op:sl` as printed, at a given σ²; ‖S‖₁ counts every edge twice."""
    N, D = Y.shape
    L = dense_laplacian(edges, N, s)
    S = np.diag(np.diag(L)) - L
    Q = L + np.eye(N) / sigma2
    return np.linalg.slogdet(Q)[1] - np.trace(Q @ Y @ Y.T) / D - beta / D * np.abs(S).sum()
