"""SMCE: sparse manifold clustering and embedding."""

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from branchwise._compat import Interval, kernel
from branchwise._typing import Floats, Ints, Sparse

from ._sparse_codes import SparseCodeBaseline, distinct_rows, spectral_labels

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
    >>> from branchwise_paper.baselines.smce import affine_sparse_code
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


# Up to this many features a k-d tree finds the candidates.
MAX_KDTREE_DIM = 15


def nearest_rows(X: Floats, n_nearest: int) -> Ints:
    """For each row its nearest other rows, from near to far."""
    algorithm = "kd_tree" if X.shape[1] <= MAX_KDTREE_DIM else "brute"
    search = NearestNeighbors(n_neighbors=n_nearest, algorithm=algorithm).fit(X)
    return search.kneighbors(return_distance=False)


def directions(X: Floats, i: int, candidates: Ints) -> tuple[Floats, Floats]:
    """Unit vectors from row i of X to the candidates, as rows, and the distances."""
    differences = X[candidates] - X[i]
    distances = np.linalg.norm(differences, axis=1)
    return differences / distances[:, np.newaxis], distances


def sparse_neighbors(
    X: Floats, *, lam: float, n_candidates: int, tol: float, max_iter: int
) -> tuple[Sparse, Sparse, Floats, Floats, int]:
    """Codes of all rows of X, which are distinct, by the others.

    Returns
    -------
    codes : sparse array of shape (n, n)
        Row i is c of row i of X.
    weights : sparse array of shape (n, n)
        w_ij = (|c_j|/‖x_j − x_i‖)/Σ_k(|c_k|/‖x_k − x_i‖).
    objective : array of shape (n,)
    violation : array of shape (n,)
        Of the optimality conditions.
    n_iter : int
        The most steps that a row took.
    """
    n = len(X)
    nearest = nearest_rows(X, n_candidates)
    codes, weights = np.empty((n, n_candidates)), np.empty((n, n_candidates))
    objective, violation, n_iter = np.zeros(n), np.zeros(n), 0
    for i in range(n):
        vectors, distances = directions(X, i, nearest[i])
        penalty = lam * distances / distances.sum()
        c, violation[i], steps = affine_sparse_code(
            vectors @ vectors.T, penalty, tol=tol, max_iter=max_iter
        )
        n_iter = max(n_iter, steps)
        residual = c @ vectors
        objective[i] = penalty @ np.abs(c) + residual @ residual / 2
        # Times the least distance, so that no quotient can overflow.
        inverse = np.abs(c) * (distances.min() / distances)
        codes[i], weights[i] = c, inverse / inverse.sum()
    row, place = np.nonzero(codes)
    pairs = (row, nearest[row, place])
    return (
        sparse.csr_array((codes[row, place], pairs), shape=(n, n)),
        sparse.csr_array((weights[row, place], pairs), shape=(n, n)),
        objective,
        violation,
        n_iter,
    )


class SMCE(SparseCodeBaseline):
    """Sparse manifold clustering and embedding (Elhamifar and Vidal, 2011).

    Each sample chooses its neighbours itself: few, near, and such that it lies near the affine
    space through them. With the unit vectors x̃_j = (y_j − y_i)/‖y_j − y_i‖ to the candidates j
    and q_j = ‖y_j − y_i‖/Σ_k ‖y_k − y_i‖, sample i solves

        min λ·Σ q_j·|c_j| + ½·‖Σ c_j·x̃_j‖²   subject to Σ c_j = 1

    over c, a convex problem that is solved exactly. The weights of its edges are
    w_ij = (|c_j|/‖y_j − y_i‖)/Σ_k (|c_k|/‖y_k − y_i‖); an edge has the larger of w_ij and w_ji.
    The embedding consists of the bottom eigenvectors of the graph's normalised Laplacian. Choose it
    where several manifolds come close to each other, and neighbours by distance alone would join
    them; where one manifold is expected, `SPL` also smooths away the noise.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    lam : float, default=10.0
        Price λ of far neighbours against the distance from the affine space through them. Since
        the q_j sum to one, a price per candidate is about λ/``n_candidates``. With a large λ a
        sample is joined to its nearest neighbour alone; with a small one, to as many as have
        it in their affine hull. The paper that this package follows tried 0.01, 0.1, 1 and 10.
    n_candidates : int, default=50
        Nearest samples from which each chooses; all others if there are no more.
    n_clusters : int or None, default=None
        If given, spectral clustering divides the samples into so many manifolds.
    max_iter : int, default=10000
        Most steps of the active-set method for each sample.
    tol : float, default=1e-9
        Largest violation of the optimality conditions |x̃_jᵀ(Σ c_k·x̃_k) − ν| ≤ λ·q_j.
    random_state : int, RandomState or None, default=None
        Seed of the clustering, which starts at random; the embedding does not depend on it.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        Eigenvectors of L·v = μ·D·v for the smallest μ but for the constant one, where D are the
        degrees and L = D − W; scaled to Σ d_i·v_i² = Σ d_i. If the graph is in k pieces, the first
        k − 1 columns tell these apart, the largest first: each is constant on every piece. Every
        further column belongs to one piece, and is zero on the others. With no more than
        k − 1 columns the samples of a piece coincide: fit each piece by itself then, or take a
        smaller ``lam``.
    eigenvalues_ : array of shape (n_components,)
        The μ of the columns, from 0 to 2; fewer if the distinct samples are too few, in which case
        the columns without one are zero.
    graph_ : sparse array of shape (n_samples, n_samples)
        Symmetric weights W. Copies of a sample are one node, whose weights they share
        equally; no edge joins them with each other.
    codes_ : sparse array of shape (n_samples, n_samples)
        Row i is c of sample i, with a sum of one; of either sign.
    labels_ : array of shape (n_samples,)
        Cluster of each sample, only with ``n_clusters``.
    n_connected_components_ : int
        Pieces of the graph; copies are in one piece.
    objective_ : float
        Sum of the minima over the distinct samples.
    n_iter_ : int
        Most steps that a sample took.
    converged_ : bool
        Whether all samples meet the optimality conditions.
    n_features_in_ : int

    Notes
    -----
    **What was hard.** With more candidates than features, the matrix of the quadratic is
    singular and a problem may have many solutions; methods of first order, such as that of
    alternating directions, then end with many small coefficients that should be zero, and
    a rule is needed for which to discard. The active-set method here
    keeps the curvature on the constraint positive, follows directions without curvature
    until a coefficient vanishes, and so ends with exact zeros; nothing is discarded. Where
    solutions are not unique, as on a regular grid, which one it takes depends on the order
    of the samples.

    Decided here, since "the bottom eigenvectors" may mean several things: the larger of w_ij and
    w_ji, the eigenvectors divided by √d_i as in Laplacian eigenmaps, and all columns of the same
    scale. In a graph in several pieces the zero eigenvalue has as many eigenvectors as there
    are pieces, and a solver returns any mixture; here the mixture is fixed, as said under
    ``embedding_``. A sample has no direction to its copy; therefore copies are one node.

    That the neighbours come from a sample's own manifold holds inside of it, not at its ends.
    There all near samples lie on one side, their unit vectors cannot cancel, and a far
    sample on the other side, of whatever manifold, may be worth its price: with the default
    λ two arcs that are farther apart than they are long are joined at their ends, while two
    linked rings are not. Candidates fewer than a manifold's samples, or a larger λ, prevent it.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines import SMCE
    >>> t = 2 * np.pi * np.arange(40) / 40
    >>> ring = np.column_stack([np.cos(t), np.sin(t), np.zeros(40)])
    >>> linked = ring[:, [0, 2, 1]] + [1.0, 0.0, 0.0]
    >>> model = SMCE(n_clusters=2, random_state=0).fit(np.vstack([ring, linked]))
    >>> model.n_connected_components_, len(set(model.labels_[:40])), len(set(model.labels_[40:]))
    (2, 1, 1)
    """

    labels_: Ints
    objective_: float
    n_iter_: int
    converged_: bool

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SparseCodeBaseline._parameter_constraints,
        "lam": [Interval(Real, 0, None, closed="neither")],
        "n_candidates": [Interval(Integral, 1, None, closed="left")],
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        lam: float = 10.0,
        n_candidates: int = 50,
        n_clusters: int | None = None,
        max_iter: int = 10_000,
        tol: float = 1e-9,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.lam = lam
        self.n_candidates = n_candidates
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _fit(self, X: Floats) -> None:
        # Centred and of size one: distances between rows then lose no digits to a large mean,
        # and their squares neither overflow nor vanish.
        X = X - X.mean(axis=0)
        distinct = distinct_rows(X / (np.abs(X).max() or 1.0))
        n_distinct = len(distinct.rows)
        if self.n_clusters is not None and self.n_clusters > n_distinct:
            raise ValueError(
                f"n_clusters={self.n_clusters} must be at most {n_distinct}, the number of "
                "distinct samples; lower n_clusters or add samples."
            )
        codes = weights = sparse.csr_array((n_distinct, n_distinct))
        objective, violation, self.n_iter_ = np.zeros(1), np.zeros(1), 0
        if n_distinct > 1:
            codes, weights, objective, violation, self.n_iter_ = sparse_neighbors(
                distinct.rows,
                lam=self.lam,
                n_candidates=min(self.n_candidates, n_distinct - 1),
                tol=self.tol,
                max_iter=self.max_iter,
            )
        self.objective_ = float(objective.sum())
        self.converged_ = bool(violation.max() <= self.tol)
        if not self.converged_:
            warnings.warn(
                f"SMCE: {int((violation > self.tol).sum())} samples do not meet their optimality "
                f"conditions after max_iter={self.max_iter} steps, by up to {violation.max():.1e}, "
                f"more than tol={self.tol}; raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        graph = self._embed(codes, weights, distinct)
        if self.n_clusters is not None:
            seed = check_random_state(self.random_state)
            self.labels_ = spectral_labels(graph, self.n_clusters, seed)[distinct.node]
