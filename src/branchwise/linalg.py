"""Leading eigenvectors, their signs, and conjugate gradients on blocks of vectors."""

from collections.abc import Callable

import numpy as np
from scipy import linalg

from ._typing import Floats

Apply = Callable[[Floats], Floats]

N_GUARDS = 2
# Relative residual below which a guard's eigenvalue is known well enough to be dismissed.
GUARD_RTOL = 0.1
# A product this inaccurate still points the right way.
MAX_INACCURACY = 1e-3
# Entries of a vector that differ by less than this part are equally large but for rounding.
SAME_SIZE = 1e-6


def top_eigenvectors(
    apply: Callable[[Floats, float], Floats],
    start: Floats,
    n_components: int,
    *,
    rtol: float = 1e-10,
) -> tuple[Floats, Floats, Floats]:
    """Leading eigenpairs of a symmetric positive semidefinite operator.

    Rayleigh–Ritz in a growing block Krylov space. It contains `start` from the beginning,
    so the captured sum of eigenvalues never falls below that of `start`: this keeps an
    alternating minimisation monotone. A few guards stand by for the eigenvectors that may
    overtake the wanted ones: the further columns of `start` or, where it has none, random
    directions, so that an eigenvector orthogonal to everything in `start` is found too. The
    space grows by the residuals until these vanish; in the worst case it becomes the whole
    space and the answer is that of a dense eigensolver.

    Parameters
    ----------
    apply : callable
        Maps an array of shape (n, m), and a relative accuracy, to the operator times it. The
        product may be as inaccurate as that: directions that enter late enter with small
        coefficients, and so do their errors.
    start : array of shape (n, at least n_components)
        Orthonormal columns, for instance the solution of a nearby problem.
    n_components : int
    rtol : float
        Residual norms, relative to the largest eigenvalue, at which to stop.

    Returns
    -------
    values : array of shape (n_components,)
        In descending order.
    vectors : array of shape (n, n_components + number of guards)
        Orthonormal. The guards come after the eigenvectors; the whole makes a good start for
        a nearby problem.
    coefficients : array of shape (m, n_components + number of guards)
        The vectors in terms of all the m columns that were passed to `apply`, in order: what
        `apply` computed of these on the way need not be computed again for the vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.linalg import top_eigenvectors
    >>> A = np.diag([1.0, 5.0, 3.0])
    >>> values, vectors, _ = top_eigenvectors(lambda V, accuracy: A @ V, np.eye(3)[:, :1], 1)
    >>> values.round(6), np.abs(vectors[:, 0]).round(6)
    (array([5.]), array([0., 1., 0.]))
    """
    n = len(start)
    V = start
    if start.shape[1] == n_components:
        V = extend_basis(start, np.random.default_rng(0).standard_normal((n, N_GUARDS)))
    n_block = V.shape[1]
    AV = apply(V, rtol / 100)
    H = V.T @ AV
    while True:
        values, vectors = linalg.eigh((H + H.T) / 2)
        values, vectors = values[::-1], vectors[:, ::-1][:, :n_block]
        ritz = V @ vectors
        # Relative to the largest eigenvalue, so that the squares in its norm cannot overflow.
        scale = max(float(values[0]), np.finfo(float).tiny)
        residual = (AV @ vectors - ritz * values[:n_block]) / scale
        size = np.linalg.norm(residual, axis=0)
        unsettled = size > rtol
        # A guard matters only while it may still rise above the wanted eigenvalues; how far it
        # may rise is unknown until it is near some eigenvector.
        guard, error = values[n_components:n_block], scale * size[n_components:]
        is_rival = (guard + error > values[n_components - 1]) | (error > GUARD_RTOL * guard)
        unsettled[n_components:] &= is_rival
        if V.shape[1] == n or not unsettled.any():
            break
        new = extend_basis(V, residual[:, unsettled])[:, V.shape[1] :]
        if new.shape[1] == 0:
            break
        accuracy = min(rtol / 100 / float(size[unsettled].max()), MAX_INACCURACY)
        A_new = apply(new, accuracy)
        # What couples the new directions to the old is taken from the more accurate products.
        coupling = AV.T @ new
        H = np.block([[H, coupling], [coupling.T, new.T @ A_new]])
        V, AV = np.hstack([V, new]), np.hstack([AV, A_new])
    return values[:n_components], ritz, vectors


def largest_eigenpairs(A: Floats, n_pairs: int) -> tuple[Floats, Floats]:
    """The largest eigenvalues of a symmetric matrix, in ascending order, and eigenvectors.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.linalg import largest_eigenpairs
    >>> largest_eigenpairs(np.diag([1.0, 5.0, 3.0]), 2)[0]
    array([3., 5.])
    """
    n = len(A)
    values, vectors = linalg.eigh(A, subset_by_index=(n - n_pairs, n - 1))
    if len(values) < n_pairs:
        # LAPACK may lose the wanted few among many that are equal, as those of an identity.
        values, vectors = linalg.eigh(A)
    return values[-n_pairs:], vectors[:, -n_pairs:]


def extend_basis(V: Floats, new: Floats) -> Floats:
    """Append to orthonormal columns what `new` adds to their span."""
    room = V.shape[0] - V.shape[1]
    length = np.linalg.norm(new, axis=0)
    kept = length > 0
    if room == 0 or not kept.any():
        return V
    new = new[:, kept] / length[kept]
    # Twice is enough; what is left after the first pass may be mostly rounding error.
    for _ in range(2):
        new = new - V @ (V.T @ new)
        length = np.linalg.norm(new, axis=0)
        kept = length > 1e-10
        new = new[:, kept] / length[kept]
    Q, R, _ = linalg.qr(new, mode="economic", pivoting=True)
    rank = min(room, int((np.abs(np.diag(R)) > 1e-10).sum()))
    Q = Q[:, :rank] - V @ (V.T @ Q[:, :rank])
    return np.hstack([V, np.linalg.qr(Q)[0]]) if rank else V


def complete_basis(V: Floats, n_columns: int) -> Floats:
    """Append orthonormal columns, always the same ones, up to `n_columns`."""
    seed = np.random.default_rng(0)
    while V.shape[1] < n_columns:
        missing = n_columns - V.shape[1]
        V = extend_basis(V, seed.standard_normal((len(V), missing)))[:, :n_columns]
    return V


def column_signs(W: Floats) -> Floats:
    """Signs that make the entry of largest size in each column of W positive.

    Of entries that are equally large but for rounding, the first.
    """
    size = np.abs(W)
    is_largest = size >= (1 - SAME_SIZE) * size.max(axis=0)
    largest = W[is_largest.argmax(axis=0), np.arange(W.shape[1])]
    return np.where(largest < 0, -1.0, 1.0)


def block_cg(
    apply: Apply,
    B: Floats,
    precondition: Apply,
    *,
    guess: Floats | None = None,
    rtol: float = 1e-12,
    max_iter: int = 1000,
) -> Floats:
    """Preconditioned conjugate gradients for several right-hand sides at once.

    Each column follows its own recurrence; the operator is applied to all of them
    together. Columns stop when their residual, in the norm of the preconditioner, is `rtol`
    of that of B. `guess` is where to start.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.linalg import block_cg
    >>> A = np.array([[4.0, 1.0], [1.0, 3.0]])
    >>> block_cg(lambda V: A @ V, np.array([[5.0], [4.0]]), lambda V: V).round(12).ravel()
    array([1., 1.])
    """
    step = z = precondition(B)
    residual = B
    rho = np.einsum("ij,ij->j", residual, z)
    target = rtol**2 * rho
    X = np.zeros_like(B)
    if guess is not None:
        X = guess.copy()
        residual = B - apply(X)
        step = z = precondition(residual)
        rho = np.einsum("ij,ij->j", residual, z)
    for _ in range(max_iter):
        if (rho <= target).all():
            break
        A_step = apply(step)
        curvature = np.einsum("ij,ij->j", step, A_step)
        alpha = np.divide(rho, curvature, out=np.zeros_like(rho), where=curvature > 0)
        X += alpha * step
        # Not in place: a preconditioner may have returned the residual itself as `step`.
        residual = residual - alpha * A_step
        z = precondition(residual)
        rho_new = np.einsum("ij,ij->j", residual, z)
        step = z + np.divide(rho_new, rho, out=np.zeros_like(rho), where=rho > 0) * step
        rho = rho_new
    return X


def centred_kernel(K: Floats) -> Floats:
    """HKH, where H subtracts the mean: the kernel of samples that are centred in its space."""
    return K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()


def kernel_pca(K: Floats, n_components: int) -> Floats:
    """Scores of kernel PCA: leading eigenvectors of the centred kernel, times √eigenvalue.

    Columns are in descending order, with signs that do not depend on the eigensolver.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.linalg import kernel_pca
    >>> line = np.array([[0.0], [1.0], [5.0]])
    >>> kernel_pca(line @ line.T, 1).round(6)
    array([[-2.],
           [-1.],
           [ 3.]])
    """
    values, vectors = largest_eigenpairs(centred_kernel(K), n_components)
    scores = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0))
    return scores * column_signs(scores)
