"""Algorithm 1 of the paper (`alg:spl`): SPL by projected subgradient steps of length 1/t.

The baseline that branchwise's solvers replace, in plain dense NumPy.
"""

import time

import numpy as np


def algorithm_1(
    Y: np.ndarray,
    edges: np.ndarray,
    phi: np.ndarray,
    *,
    d: int,
    gamma: float,
    slack: float,
    target: float,
    max_seconds: float,
    max_steps: int | None = None,
) -> dict[str, float | int | bool]:
    """Ascend from S = 0 until the objective (`op:ebi-SW`) is at least `target`.

    The paper asks for the objective in no step, only for convergence: the clock stands still
    while it is evaluated. One weight per edge; the paper's sums run over ordered pairs.

    Returns
    -------
    record : dict
        Steps taken, seconds without the evaluations, the best objective, and whether it
        reached the target.
    """
    n = len(Y)
    i, j = edges[:, 0], edges[:, 1]
    s = np.zeros(len(edges))
    best, seconds, step = -np.inf, 0.0, 0
    while True:
        start = time.perf_counter()
        Q = np.zeros((n, n))
        Q[i, j] = Q[j, i] = -s
        Q[np.diag_indices(n)] = (gamma + 1) / 4 - Q.sum(axis=1)
        Qinv = np.linalg.inv(Q)
        values, U = np.linalg.eigh(Y.T @ Qinv @ Y)
        W = U[:, ::-1][:, :d]
        seconds += time.perf_counter() - start

        best = max(
            best,
            d / 2 * float(np.linalg.slogdet(Q)[1])
            - 2 * float(phi @ s)
            - float(s @ s) / (2 * slack)
            - gamma**2 / 8 * float(values[::-1][:d].sum()),
        )
        if best >= target or seconds >= max_seconds or step == max_steps:
            break

        start = time.perf_counter()
        step += 1
        # `eq:subgradient`: the trace against A_ij picks G_ii + G_jj − G_ij − G_ji.
        QinvYW = Qinv @ (Y @ W)
        G = d * Qinv + gamma**2 / 4 * QinvYW @ QinvYW.T
        gradient = (G[i, i] + G[j, j] - G[i, j] - G[j, i]) / 2 - s / slack - 2 * phi
        s = np.maximum(s + gradient / step, 0.0)
        seconds += time.perf_counter() - start
    return {
        "steps": step,
        "seconds": seconds,
        "objective": best,
        "reached": bool(best >= target),
    }
