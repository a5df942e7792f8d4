"""How far an unfolding can be from the optimum: bounds from the dual `op:dual-mvu`."""

import numpy as np
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, eigsh

from branchwise._typing import Floats
from branchwise.graph import laplacian

from ._mvu_graph import Framework

# Parts of the negative multipliers to take away.
PARTS = (1.0, 0.3, 0.1, 0.03, 0.01)


def dual_feasible(bars: Framework, candidates: list[Floats]) -> Floats:
    """The best point of the dual that some multipliers lead to.

    If μ is the smallest value of xᵀL(w)x/xᵀJx over the x that are not constant, and positive, w/μ
    is feasible for the dual, and Σ w·φ/μ is an upper bound on the variance of any unfolding.
    Multipliers of either sign that are not quite optimal may have a negative μ. Without their
    negative part it is positive; to take away a few percents of that part is mostly enough, and
    costs the bound much less. The last candidate is tried in that way, too.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines._mvu_certificate import dual_feasible
    >>> from branchwise_paper.baselines._mvu_graph import framework
    >>> bars = framework(np.arange(3.0)[:, np.newaxis], np.array([[0, 1], [1, 2]]))
    >>> dual_feasible(bars, [np.array([5.0, 5.0])]).round(6)
    array([1., 1.])
    """
    w = candidates[-1]
    # Bars without tension hold nothing together, and the graph of the others may fall apart.
    taut = np.maximum(w, 1e-3 * (np.abs(w).mean() or 1.0))
    blends = [w + part * (taut - w) for part in PARTS]
    tried = [(w, smallest_ratio(bars, w)) for w in candidates + blends]
    return min((w / mu for w, mu in tried if mu > 0), key=lambda w: float(w @ bars.phi))


def smallest_ratio(bars: Framework, w: Floats) -> float:
    """The smallest xᵀL(w)x/xᵀJx, which is λ_{N−1}(L) where all masses are one.

    Found by Lanczos iterations on the inverse of a matrix shifted to be barely positive definite,
    which its Cholesky factor proves it to be.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines._mvu_certificate import smallest_ratio
    >>> from branchwise_paper.baselines._mvu_graph import framework
    >>> bars = framework(np.arange(3.0)[:, np.newaxis], np.array([[0, 1], [1, 2]]))
    >>> round(smallest_ratio(bars, np.array([1.0, 1.0])), 6)
    1.0
    """
    root = np.sqrt(bars.mass)
    n_nodes = len(root)
    A = laplacian(bars.edges, n_nodes, w).toarray() / np.outer(root, root)
    # The constant vector becomes the root of the masses: out of the way.
    A += (1 + np.abs(A).sum(axis=1).max()) * np.outer(root, root) / (root @ root)
    for shift in shifts(float(np.abs(A).sum(axis=1).max())):
        shifted = A.copy(order="F")
        shifted[np.diag_indices(n_nodes)] -= shift
        factor, info = lapack.dpotrf(shifted, lower=1, overwrite_a=1)
        if info == 0:
            break

    def solve(v: Floats) -> Floats:
        return np.asarray(lapack.dpotrs(factor, v, lower=1)[0])

    if n_nodes <= 10:
        return float(np.linalg.eigvalsh(A)[0])
    inverse = LinearOperator((n_nodes, n_nodes), matvec=solve, dtype=np.float64)
    start = np.random.default_rng(0).normal(size=n_nodes)
    largest = eigsh(inverse, k=1, which="LA", v0=start, tol=1e-6, return_eigenvectors=False)
    # Lanczos iterations err upwards in the value sought, by about their tolerance.
    return float(shift + (1 - 1e-6) / largest[0])


def shifts(radius: float) -> list[float]:
    """Shifts to try, in descending order: near the value one that is hoped for, then farther."""
    below = [0.99, 0.9, 0.5, 0.0]
    while below[-1] > -radius:
        below.append(min(-1.0, 4 * below[-1]))
    return below
