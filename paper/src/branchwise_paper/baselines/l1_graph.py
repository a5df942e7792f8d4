"""The ℓ1 graph: each sample written by few others, with few errors."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from branchwise._typing import Floats

from ._sparse_codes import SparseCodeBaseline, distinct_rows

# Samples that enter a linear programme at a time.
BATCH = 40
# Of the linear programmes, the least that HiGHS accepts. Coefficients that small are zero.
FEASIBILITY = 1e-10
# By how much a constraint of the dual may be violated by samples that are left out.
VIOLATION = 1e-9
# Samples of unit length that agree to so many decimals are the same.
N_DECIMALS = 12


class Code(NamedTuple):
    """Solution of a linear programme, and the proof that it is one."""

    x: Floats  # (n,): coefficients
    u: Floats  # (n_features,): solution of the dual
    cost: float  # ‖x‖₁ + ‖y − Aᵀx‖₁
    gap: float  # cost minus the value of the dual at u, shrunk until it is feasible
    n_iter: int  # linear programmes that were solved


def l1_code(A: Floats, y: Floats) -> Code:
    """Minimise ‖x‖₁ + ‖y − Aᵀx‖₁ over x, exactly.

    Its dual is max yᵀu subject to ‖u‖∞ ≤ 1 and ‖Au‖∞ ≤ 1. A linear programme over some of the
    rows of A gives an x that is best for these, and a u that says which other rows would
    lower the sum: those with |a_jᵀu| > 1. They enter, until there are none.

    Parameters
    ----------
    A : array of shape (n, n_features)
    y : array of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.l1_graph import l1_code
    >>> A = np.array([[0.6, 0.8, 0.0], [0.8, -0.6, 0.0]])
    >>> l1_code(A, np.array([0.6, 0.8, 0.1])).x
    array([1., 0.])
    """
    x, u, n_iter = np.zeros(len(A)), np.sign(y), 0
    chosen = np.argsort(-np.abs(A @ y), kind="stable")[:BATCH]
    entering = chosen if y.any() else chosen[:0]
    while len(entering):
        x[chosen], u = solve_restricted(A[chosen], y)
        n_iter += 1
        excess = np.abs(A @ u) - 1.0
        excess[chosen] = 0.0
        entering = np.argsort(-excess, kind="stable")[:BATCH]
        entering = entering[excess[entering] > VIOLATION]
        chosen = np.concatenate([chosen, entering])
    x[np.abs(x) <= FEASIBILITY] = 0.0
    cost = float(np.abs(x).sum() + np.abs(y - x @ A).sum())
    shrunk = u / max(np.abs(u).max(), np.abs(A @ u).max(initial=1.0))
    return Code(x, u, cost, cost - float(y @ shrunk), n_iter)


def solve_restricted(A: Floats, y: Floats) -> tuple[Floats, Floats]:
    """X and u of `l1_code` by one linear programme over all rows of A."""
    n, n_features = A.shape
    eye, rows = sparse.eye_array(n_features), sparse.csc_array(A.T)
    # x and the errors, each as the difference of two variables that are not negative.
    found = linprog(
        np.ones(2 * (n + n_features)),
        A_eq=sparse.hstack([rows, -rows, eye, -eye], format="csc"),
        b_eq=y,
        method="highs-ds",
        options={
            "primal_feasibility_tolerance": FEASIBILITY,
            "dual_feasibility_tolerance": FEASIBILITY,
            "presolve": False,
        },
    )
    if not found.success:
        raise RuntimeError(
            f"a linear programme of {n} samples has status {found.status} in place of 0 "
            f"({found.message}); scale features to comparable sizes."
        )
    return found.x[:n] - found.x[n : 2 * n], found.eqlin.marginals


class L1Graph(SparseCodeBaseline):
    """The ℓ1 graph (Cheng, Yang, Yan, Fu and Huang, 2010), and its Laplacian eigenmap.

    Each sample y_i, scaled to unit length, is written by the others and by errors e,

        min ‖x‖₁ + ‖e‖₁   subject to y_i = Σ_{j ≠ i} x_j·y_j + e

    over x and e: a linear programme, solved exactly. It chooses how many neighbours a sample has,
    and a few features that are wrong altogether cost little. The weight of an edge is the larger
    of |x_j| of sample i and |x_i| of sample j; the embedding consists of the bottom eigenvectors
    of the graph's normalised Laplacian. Choose it for samples near a union of linear subspaces
    through the origin, such as images of some objects under varying light, with outlying features.
    For curved manifolds choose `SMCE`, which is also far faster.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        Eigenvectors of L·v = μ·D·v for the smallest μ but for the constant one, where D are the
        degrees and L = D − W; scaled to Σ d_i·v_i² = Σ d_i. If the graph is in k pieces, the first
        k − 1 columns tell these apart, the largest first, and every further column belongs to one
        piece. Samples without an edge, such as those of length zero, are at the origin.
    eigenvalues_ : array of shape (n_components,)
        The μ of the columns, from 0 to 2; fewer if distinct samples with edges are too few, in
        which case the columns without one are zero.
    graph_ : sparse array of shape (n_samples, n_samples)
        Symmetric weights W. Positive multiples of a sample are one node, whose weights they
        share equally; no edge joins them with each other.
    codes_ : sparse array of shape (n_samples, n_samples)
        Row i is x of sample i, of either sign.
    n_connected_components_ : int
        Pieces of the graph, also those of a single node.
    objective_ : float
        Sum of the minima over the distinct samples.
    duality_gap_ : float
        Proven upper bound on how far the cost of any sample is from its minimum.
    n_iter_ : int
        Most linear programmes that a sample needed.
    n_features_in_ : int

    Notes
    -----
    **What was hard.** The linear programme of a sample has as many variables as there are samples
    and features, twice, and there is one for every sample. Here each begins with the samples
    that correlate most with it, and the dual solution tells which others have to enter: three to
    ten small programmes in the place of a large one, with a proof of optimality over all
    samples. It still takes about 0.01 s a sample for 150 samples of 4 features, 0.06 s for 3,500
    of 16, 1 s for 2,000 of 256 and 5 s for 3,100 of 617: a few thousand samples of up to some
    tens of features, or a few hundred of up to a thousand, are practical.

    The ℓ1 norm of the errors depends on the choice of axes, unlike all else, so that the data
    cannot be rotated into fewer dimensions. Data are not centred, because subspaces go
    through the origin. A copy of a sample, or a positive multiple, would be its perfect code,
    and the two would see no one else: they count as one. A negative multiple is a code as
    perfect, and is left to be one.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines import L1Graph
    >>> rng = np.random.default_rng(0)
    >>> first = rng.normal(size=(12, 2)) @ rng.normal(size=(2, 8))
    >>> second = rng.normal(size=(12, 2)) @ rng.normal(size=(2, 8))
    >>> model = L1Graph().fit(np.vstack([first, second]))
    >>> model.graph_[:12, 12:].nnz, model.n_connected_components_
    (0, 2)
    """

    objective_: float
    duality_gap_: float
    n_iter_: int

    def __init__(self, n_components: int = 2):
        self.n_components = n_components

    def _fit(self, X: Floats) -> None:
        # The largest entry first, so that squares neither overflow nor vanish.
        largest = np.abs(X).max(axis=1, keepdims=True)
        X = X / np.where(largest > 0, largest, 1.0)
        # Now a length is zero, or one at least.
        X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.0)
        distinct = distinct_rows(X, N_DECIMALS)
        n = len(distinct.rows)
        x = np.zeros((n, n))
        solved = []
        for i, y in enumerate(distinct.rows):
            others = np.arange(n) != i
            solved.append(l1_code(distinct.rows[others], y))
            x[i, others] = solved[-1].x
        codes = sparse.csr_array(x)
        self.n_iter_ = max(code.n_iter for code in solved)
        self.objective_ = float(sum(code.cost for code in solved))
        self.duality_gap_ = max(code.gap for code in solved)
        self._embed(codes, abs(codes), distinct)
