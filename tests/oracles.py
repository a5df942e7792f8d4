"""The paper's formulas as printed (or as corrected), dense and slow: the tests' ground truth."""

import numpy as np
from scipy.spatial.distance import cdist


def kruskal(points):
    """Minimum spanning tree by Kruskal's algorithm on all pairs."""
    n = len(points)
    i, j = np.triu_indices(n, 1)
    length = cdist(points, points)[i, j]
    parent = list(range(n))

    def root(a):
        while parent[a] != a:
            a = parent[a]
        return a

    edges = []
    for e in np.argsort(length, kind="stable"):
        a, b = root(i[e]), root(j[e])
        if a != b:
            parent[a] = b
            edges.append((i[e], j[e]))
    return np.array(edges, dtype=int).reshape(-1, 2)


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


def hard_assignments(Z, C):
    return np.eye(len(C))[cdist(Z, C, "sqeuclidean").argmin(axis=1)]


def ddrtree_objective(Y, W, Z, C, L, R, lam, gamma, sigma):
    """`op:dimred-kmeans-relax-tree`; with sigma = 0 `op:dimred-kmeans-tree`."""
    entropy = np.sum(R[R > 0] * np.log(R[R > 0]))
    return (
        np.sum((Y - Z @ W.T) ** 2)
        + lam * np.trace(C.T @ L @ C)
        + gamma * (np.sum(R * cdist(Z, C, "sqeuclidean")) + sigma * entropy)
    )


def forest(points, n_trees):
    """The n_trees trees that Kruskal's algorithm is left with when it stops early."""
    return kruskal(points)[: len(points) - n_trees]


def ddrtree_algorithm_2(Y, d, C, *, lam, gamma, sigma, n_iter, best_graph=kruskal, weights=None):
    """Algorithm 2 line by line, with the N×N matrix Q, for any rule to choose edges by."""
    N = len(Y)
    _, _, Vt = np.linalg.svd(Y, full_matrices=False)
    W = Vt[:d].T
    Z = Y @ W
    C = Z.copy() if C is None else C
    history = []
    for _ in range(n_iter):
        edges = best_graph(C)
        L = dense_laplacian(edges, len(C), weights)
        R = soft_assignments(Z, C, sigma) if sigma > 0 else hard_assignments(Z, C)
        P = lam / gamma * L + np.diag(R.sum(axis=0))
        M = (1 + gamma) / gamma * P - R.T @ R
        Q = (np.eye(N) + R @ np.linalg.solve(M, R.T)) / (1 + gamma)
        T = Y.T @ Q @ Y
        W = np.linalg.eigh((T + T.T) / 2)[1][:, ::-1][:, :d]
        Z = Q @ Y @ W
        C = np.linalg.solve(P, R.T @ Z)
        history.append(ddrtree_objective(Y, W, Z, C, L, R, lam, gamma, sigma))
    return W, Z, C, edges, np.array(history)


def drtree_objective(Y, W, Z, L, lam):
    """`op:dimred-tree`: λ/2 over ordered pairs is λ·Tr(ZᵀLZ)."""
    return np.sum((Y - Z @ W.T) ** 2) + lam * np.trace(Z.T @ L @ Z)


def drtree_alternation(Y, d, *, lam, n_iter, best_graph=kruskal, weights=None):
    N = len(Y)
    _, _, Vt = np.linalg.svd(Y, full_matrices=False)
    W = Vt[:d].T
    Z = Y @ W
    history = []
    for _ in range(n_iter):
        edges = best_graph(Z)
        L = dense_laplacian(edges, N, weights)
        inverse = np.linalg.inv(np.eye(N) + lam * L)
        W = np.linalg.eigh(Y.T @ inverse @ Y)[1][:, ::-1][:, :d]
        Z = inverse @ Y @ W
        history.append(drtree_objective(Y, W, Z, L, lam))
    return W, Z, edges, np.array(history)


def align(A, B):
    """B with the signs of its columns changed to fit A."""
    return B * np.where(np.sum(A * B, axis=0) < 0, -1.0, 1.0)


def spl_objective(Y, edges, phi, s, d, gamma, slack):
    """`op:ebi-SW` as printed, sums over ordered pairs, W at its optimum."""
    N = len(Y)
    L = dense_laplacian(edges, N, s)
    S = np.diag(np.diag(L)) - L
    A = (gamma + 1) * np.eye(N) + 4 * L
    Phi = np.zeros((N, N))
    Phi[edges[:, 0], edges[:, 1]] = Phi[edges[:, 1], edges[:, 0]] = phi
    captured = np.linalg.eigvalsh(Y.T @ np.linalg.solve(A, Y))[::-1][:d].sum()
    return (
        d / 2 * np.linalg.slogdet(A)[1]
        - np.sum(S * Phi)
        - np.sum(S**2) / (4 * slack)
        - gamma**2 / 2 * captured
    )


def spl_algorithm_1(Y, edges, phi, d, gamma, slack, n_iter):
    """Algorithm 1: projected subgradient ascent with steps 1/t, from S = 0."""
    N = len(Y)
    B = np.zeros((len(edges), N))
    B[np.arange(len(edges)), edges[:, 0]] = 1
    B[np.arange(len(edges)), edges[:, 1]] = -1
    s = np.zeros(len(edges))
    best = -np.inf
    for t in range(1, n_iter + 1):
        best = max(best, spl_objective(Y, edges, phi, s, d, gamma, slack))
        Qinv = np.linalg.inv(B.T @ (s[:, None] * B) + (gamma + 1) / 4 * np.eye(N))
        W = np.linalg.eigh(Y.T @ Qinv @ Y)[1][:, ::-1][:, :d]
        P = Y @ W @ W.T @ Y.T @ Qinv
        G = Qinv.T @ (d * np.eye(N) + gamma**2 / 4 * P)
        gradient = np.einsum("ei,ij,ej->e", B, G, B) / 2 - s / slack - 2 * phi
        s = np.maximum(s + gradient / t, 0)
    return max(best, spl_objective(Y, edges, phi, s, d, gamma, slack))


def reversed_graph_embedding(Y, *, lam, n_iter):
    """`op:dimred-graph` over spanning trees: F for the tree of the last F, no projection."""
    F = Y
    history = []
    for _ in range(n_iter):
        edges = kruskal(F)
        L = dense_laplacian(edges, len(Y))
        F = np.linalg.solve(np.eye(len(Y)) + lam * L, Y)
        history.append(np.sum((Y - F) ** 2) + lam * np.trace(F.T @ L @ F))
    return F, edges, np.array(history)


def simple_ppt(Y, C, *, lam, sigma, n_iter):
    """SimplePPT: min Σ r_ik‖y_i − c_k‖² + σ·Σ r_ik log r_ik + λ·Tr(CᵀLC), no projection."""
    history = []
    for _ in range(n_iter):
        edges = kruskal(C)
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


def posterior_distances(Y, edges, s, d, gamma):
    """E‖x_i − x_j‖² under the matrix normal of `eq:post`, W at its optimum."""
    Sigma = np.linalg.inv(4 * dense_laplacian(edges, len(Y), s) + (gamma + 1) * np.eye(len(Y)))
    W = np.linalg.eigh(Y.T @ Sigma @ Y)[1][:, ::-1][:, :d]
    X = gamma * Sigma @ Y @ W
    second = d * Sigma + X @ X.T
    return np.array([second[i, i] + second[j, j] - 2 * second[i, j] for i, j in edges])
