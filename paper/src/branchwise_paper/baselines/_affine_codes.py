"""Sparse codes whose coefficients sum to one, by an active-set method."""

import numpy as np

from branchwise._compat import kernel
from branchwise._typing import Floats, Ints

# A pivot of the factorisation, of a matrix with diagonal 2, that counts as zero.
SINGULAR = 1e-12


def affine_sparse_code(
    G: Floats, penalty: Floats, *, tol: float = 1e-9, max_iter: int = 10_000
) -> tuple[Floats, float, int]:
    """Minimise Σ p_j·|c_j| + ½·cᵀGc subject to Σ c_j = 1, exactly.

    Parameters
    ----------
    G : array of shape (n, n)
        Symmetric positive semidefinite with a unit diagonal: the directions' Gram matrix.
    penalty : array of shape (n,)
        p, positive.
    tol : float
        Largest violation of the optimality conditions |(Gc)_j − ν| ≤ p_j, with equality and
        opposite signs where c_j ≠ 0.
    max_iter : int
        Most steps.

    Returns
    -------
    c : array of shape (n,)
        With exact zeros.
    violation : float
        Of the conditions for the zeros, when it stopped; above `tol` only after `max_iter` steps.
    n_iter : int

    Examples
    --------
    Two opposite directions cancel; the third, at an angle, is not needed.

    >>> import numpy as np
    >>> from branchwise_paper.baselines._affine_codes import affine_sparse_code
    >>> X = np.array([[1.0, -1.0, 0.6], [0.0, 0.0, 0.8]])
    >>> affine_sparse_code(X.T @ X, np.full(3, 0.1))[0].round(12)
    array([0.5, 0.5, 0. ])
    """
    n = len(G)
    c = np.zeros(n)
    c[np.argmin(penalty)] = 1.0
    # On the constraint, 11ᵀ changes the objective by a constant; with it, the matrix of some
    # columns is positive definite whenever their problem has but one solution.
    violation, n_iter = descend(G + 1.0, np.asarray(penalty, dtype=np.float64), c, tol, max_iter)
    return c, float(violation), int(n_iter)


@kernel
def extend_factor(M: Floats, active: Ints, first: int, stop: int, L: Floats) -> None:
    """Rows first, …, stop − 1 of the Cholesky factor of M[active][:, active]."""
    for i in range(first, stop):
        for j in range(i + 1):
            total = M[active[i], active[j]]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if j < i:
                L[i, j] = total / L[j, j]
            else:
                L[i, i] = np.sqrt(max(total, SINGULAR / 4))


@kernel
def solve_factored(L: Floats, n: int, b: Floats) -> None:
    """Overwrite b[:n] by the solution of L·Lᵀ·x = b."""
    for i in range(n):
        for k in range(i):
            b[i] -= L[i, k] * b[k]
        b[i] /= L[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            b[i] -= L[k, i] * b[k]
        b[i] /= L[i, i]


@kernel
def descend(M: Floats, penalty: Floats, c: Floats, tol: float, max_iter: int) -> tuple[float, int]:
    """Active-set method from a vertex `c`, which becomes the solution.

    The signs of the active entries are fixed, which makes the objective quadratic. Each step goes
    to the minimum over the active entries, or until one of them is zero, which is then dropped.
    At the minimum, the entry that violates its condition most becomes active.
    """
    n = len(c)
    active, sign = np.empty(n, dtype=np.int64), np.zeros(n)
    L, target, slope = np.zeros((n, n)), np.empty(n), np.empty(n)
    n_active, first = 0, 0
    for j in range(n):
        if c[j] != 0.0:
            active[n_active], sign[j] = j, np.sign(c[j])
            n_active += 1
    has_moved = True
    violation, nu = np.inf, 0.0
    for step in range(max_iter):
        extend_factor(M, active, first, n_active, L)
        first = n_active
        last = n_active - 1
        is_singular = L[last, last] ** 2 < SINGULAR
        if is_singular:
            # No curvature along this direction: go down until an entry is zero.
            for i in range(last):
                target[i] = -M[active[i], active[last]]
            solve_factored(L, last, target)
            target[last] = 1.0
            change = 0.0
            for i in range(n_active):
                change += penalty[active[i]] * sign[active[i]] * target[i]
            for i in range(n_active):
                target[i] *= -np.sign(change)
        else:
            # M·c = ν1 − p∘sign, with ν such that Σc = 1.
            for i in range(n_active):
                target[i], slope[i] = 1.0, penalty[active[i]] * sign[active[i]]
            solve_factored(L, n_active, target)
            solve_factored(L, n_active, slope)
            nu = (1.0 + slope[:n_active].sum()) / target[:n_active].sum()
            for i in range(n_active):
                target[i] = nu * target[i] - slope[i] - c[active[i]]
        # `target` is now the step.
        length, blocking = (np.inf if is_singular else 1.0), -1
        for i in range(n_active):
            j = active[i]
            if sign[j] * target[i] < 0.0 and -c[j] / target[i] <= length:
                length, blocking = -c[j] / target[i], i
        if length == np.inf:
            return violation, step + 1
        for i in range(n_active):
            c[active[i]] += length * target[i]
        has_moved = has_moved or length > 0.0
        if blocking >= 0:
            j = active[blocking]
            c[j], sign[j] = 0.0, 0.0
            for i in range(blocking, last):
                active[i] = active[i + 1]
            n_active, first = last, blocking
            continue
        # At the minimum over the active entries.
        entering, violation, side = -1, 0.0, 0.0
        for j in range(n):
            if sign[j] == 0.0:
                gradient = -nu
                for i in range(n_active):
                    gradient += M[j, active[i]] * c[active[i]]
                excess = abs(gradient) - penalty[j]
                if excess > violation:
                    # After a step of no length the first violation is taken, lest it cycle.
                    if has_moved or violation <= tol:
                        entering, side = j, -np.sign(gradient)
                    violation = excess
        if violation <= tol:
            return violation, step + 1
        active[n_active], sign[entering] = entering, side
        n_active += 1
        has_moved = False
    return violation, max_iter
