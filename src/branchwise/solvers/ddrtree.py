"""DDRTree: a tree, or another graph, on soft cluster centres (Algorithm 2)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components

from .. import _kdtree as kdtree
from .._memory import Workspace
from .._parallel import ordered_map
from .._typing import Floats, Ints
from ..data.centering import CentredRows
from ..graph import adjacency, graph_solver, incidence, laplacian
from ..linalg import N_GUARDS, Apply, block_cg, top_eigenvectors
from ..structures import Graph, Tree, choose_graph, prepare
from .assignments import MAX_DENSE, Assignments, Rows, assign, entries_per_row, update_assignments
from .convergence import Monitor, Stopping, TreeResult

if TYPE_CHECKING:
    from .ddrtree_dask import ChunkedPoints

# A part of the graph whose samples pull at it less than this, against the pull of its edges, is
# held by a weight of that size as well.
MIN_PULL = 1e-13


def ddrtree(
    Y: CentredRows,
    W: Floats,
    C: Floats | None,
    *,
    lam: float,
    gamma: float,
    sigma: float,
    structure: Any = Tree(),  # noqa: B008
    saved: "Saved | None" = None,
    save: "Callable[[Saved], None] | None" = None,
    **stopping: Unpack[Stopping],
) -> TreeResult:
    """Algorithm 2: minimise over W, Z, C, a set of graphs S and assignments R.

        ‖Y − ZWᵀ‖² + λ·Tr(CᵀLC) + γ·[Σ r_ik‖z_i − c_k‖² + σ·Σ r_ik log r_ik]

    A structure's own penalty counts λ times as well.

    Parameters
    ----------
    Y : CentredRows
    W : array of shape (n_dims, d)
        Orthonormal start, the principal axes; Z starts at YW.
    C : array of shape (K, d), or None
        Starting centres; None means K = N and C = Z.
    lam, gamma : float
        Weights of the graph (λ ≥ 0) and of the clusters (γ > 0).
    sigma : float
        Width of the soft assignments; 0 assigns each point to its nearest centre, which is
        the hard form `op:dimred-kmeans-tree`.
    structure : object
        The set of graphs, see `branchwise.structures.Structure`.
    saved, save
        See `solve`.
    **stopping
        max_iter, tol, callback: see `Monitor`.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.centering import CentredRows
    >>> from branchwise.solvers.ddrtree import ddrtree
    >>> Y = CentredRows(np.random.default_rng(0).normal(size=(20, 3)))
    >>> result = ddrtree(Y, np.eye(3)[:, :2], None, lam=1.0, gamma=10.0, sigma=0.1,
    ...                  max_iter=5, tol=0)
    >>> len(result.edges), bool((np.diff(result.history) <= 1e-10).all())
    (19, True)
    """
    points = Points(Y, Y.project(W), gamma, sigma)
    result = solve(
        points,
        W,
        points.Z.copy() if C is None else C,
        lam=lam,
        gamma=gamma,
        sigma=sigma,
        structure=structure,
        saved=saved,
        save=save,
        **stopping,
    )
    return replace(result, Z=points.Z)


class State(NamedTuple):
    """What an iteration starts from, besides the points, and the step that led there."""

    C: Floats
    axes: "Axes"
    graph: Graph | None = None
    step: "Step | None" = None


def alternate(
    points: "Points | ChunkedPoints",
    state: State,
    structure: Any,
    monitor: Monitor,
    *,
    lam: float,
    gamma: float,
    sigma: float,
) -> TreeResult:
    """The iterations of Algorithm 2, for points wherever they are.

    They are told where to move and asked for sums over them, both small whatever their number.
    """
    C, axes, graph, _ = state
    d = C.shape[1]
    while not monitor.is_over:
        graph = choose_graph(structure, C, graph)  # S, and with it L
        R = points.assign(C)  # and Γ
        axes, A, C_next, captured = update_centers(
            points.apply_gram, axes, C, R, graph.edges, lam, gamma, graph.weights
        )
        step = Step(C, W=axes.block[:, :d], A=A)
        points.move([step])  # Z
        C = C_next
        value = objective(
            points.energy - captured,
            R.negative_entropy,
            graph.penalty,
            lam=lam,
            gamma=gamma,
            sigma=sigma,
        )
        monitor.note(value, State(C, axes, graph, step))
    if graph is None or monitor.converged:
        graph = choose_graph(structure, C, graph)
    W = axes.block[:, :d]
    return TreeResult(W, None, C, graph, monitor.history, monitor.change, monitor.converged)


def objective(
    quadratic: float,
    negative_entropy: float,
    penalty: float = 0.0,
    *,
    lam: float,
    gamma: float,
    sigma: float,
) -> float:
    """What DDRTree minimises (`op:dimred-kmeans-relax-tree`), from the sums that it is made of.

    Parameters
    ----------
    quadratic : float
        ‖Y − ZWᵀ‖² + λ·Tr(CᵀLC) + γ·Σ r_ik‖z_i − c_k‖². Where W, Z and C are the best for S and R
        that is ‖Y‖² − Tr(WᵀYᵀQYW), which the update knows without looking at the points again.
    negative_entropy : float
        Σ r_ik log r_ik.
    penalty : float
        That of the graph, see `branchwise.structures.Graph`.

    Examples
    --------
    >>> from branchwise.solvers.ddrtree import objective
    >>> objective(7.0, -2.0, lam=1.0, gamma=10.0, sigma=0.1)
    5.0
    """
    return quadratic + gamma * sigma * negative_entropy + lam * penalty


class Step(NamedTuple):
    """What moves the points in an iteration: z ← [Wᵀy + Σ_k r_k(z)·a_k]/(1+γ), with r for C."""

    C: Floats
    W: Floats
    A: Floats  # M⁻¹(RᵀY)W


class Points:
    """The samples Y and their points Z in memory, for given γ and σ.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.centering import CentredRows
    >>> from branchwise.solvers.ddrtree import Points
    >>> Y = CentredRows(np.array([[0.0], [1.0], [5.0]]))
    >>> points = Points(Y, Y.project(np.eye(1)), gamma=1.0, sigma=0.0)
    >>> points.assign(np.array([[-1.5], [3.0]])).counts
    array([2., 1.])
    """

    def __init__(self, Y: CentredRows, Z: Floats, gamma: float, sigma: float):
        self.Y, self.Z, self.gamma, self.sigma = Y, Z, gamma, sigma
        self.apply_gram = Y.apply_gram
        self._R: Assignments | None = None

    @property
    def energy(self) -> float:
        """‖Y‖²."""
        return self.Y.energy

    def assign(self, C: Floats, *, sums_only: bool = False) -> Assignments:
        """R for the points where they are, and its sums."""
        self._R = update_assignments(self.Y, self.Z, C, self.sigma, sums_only=sums_only)
        return self._R

    def move(self, steps: Sequence[Step]) -> None:
        """Move the points, by one step from the centres they were last assigned to, or by more."""
        for step in steps:
            Z = np.empty((self.Y.n_rows, step.W.shape[1]))

            def place(
                rows: slice, R: Rows, workspace: Workspace, Z: Floats = Z, step: Step = step
            ) -> None:
                Z[rows] = (self.Y.project(step.W, rows, workspace) + R @ step.A) / (1 + self.gamma)

            if self._R is not None and self._R.for_each is not None:
                self._R.for_each(place)
            else:
                centres = kdtree.build(step.C)
                per_row = ceil(entries_per_row(self.Z, centres, self.sigma))

                def visit(part: slice, centres: Any = centres, per_row: int = per_row) -> None:
                    workspace = Workspace()
                    for rows in self.Y.blocks(part, per_row):
                        place(rows, assign(self.Z[rows], centres, self.sigma, workspace), workspace)

                ordered_map(visit, self.Y.parts(len(step.C)), self.Y.n_jobs)
            self.Z, self._R = Z, None


def working_bytes(n_rows: int, n_dims: int, n_centers: int, d: int, n_jobs: int) -> int:
    """Memory that a fit takes at least, besides the data.

    The sums RᵀY and RᵀR once for each thread, once in waiting and once in total; some ten
    arrays of d columns, and guards, for points and centres.
    """
    sums = n_centers * n_dims + (n_centers**2 if n_centers <= MAX_DENSE else 0)
    return 8 * (sums * (n_jobs + 2) + 10 * (n_rows + n_centers) * (d + N_GUARDS))


@dataclass(frozen=True)
class Axes:
    """W, followed by the guards of the eigensolver, and M⁻¹(RᵀY) times them if known.

    Both are where the next iteration starts from.
    """

    block: Floats
    solved: Floats | None


def update_centers(
    apply_gram: Apply,
    axes: Axes,
    C: Floats,
    R: Assignments,
    edges: Ints,
    lam: float,
    gamma: float,
    weights: Floats | None = None,
) -> tuple[Axes, Floats, Floats, float]:
    """Minimiser over W, Z and C for fixed S and R (`prop:ddr-WZY`), without the N×N matrix Q.

    With P = λ/γ·L + Γ and M = (1+γ)/γ·P − RᵀR (`lemma:psd`),

        YᵀQY = [YᵀY + (RᵀY)ᵀM⁻¹(RᵀY)]/(1+γ),   Z = [YW + R·A]/(1+γ),   C = P⁻¹RᵀZ = A/γ

    where A = M⁻¹(RᵀY)W; the last equation holds because RᵀR·A = (1+γ)/γ·PA − (RᵀY)W. At the
    minimum the quadratic part of the objective is ‖Y‖² − Tr(WᵀYᵀQYW).

    Returns W with its guards, A, from which Z follows point by point, C, and the trace.
    """
    d = C.shape[1]
    held, counts, is_connected = hold_unused(C, R.counts, edges, lam / gamma, weights)
    solve_M = centre_solver(R, counts, edges, lam, gamma, weights, is_connected=is_connected)
    solved: list[Floats] = []

    def apply(V: Floats, accuracy: float) -> Floats:
        guess = axes.solved if not solved else None
        solved.append(solve_M(R.RtY @ V, guess, accuracy))
        return (apply_gram(V) + R.RtY.T @ solved[-1]) / (1 + gamma)

    values, block, coefficients = top_eigenvectors(apply, axes.block, d)
    A_block = np.hstack(solved) @ coefficients
    W, A = block[:, :d], A_block[:, :d]
    C = A / gamma + held @ (axes.block[:, :d].T @ W)
    return Axes(block, A_block), A, C, float(values.sum())


def hold_unused(
    C: Floats, counts: Floats, edges: Ints, weight: float, weights: Floats | None
) -> tuple[Floats, Floats, bool]:
    """Where to hold centres that nothing pulls, and counts with which M is invertible.

    Third, whether the edges hold everything together that they pull at.

    A part of the graph that no sample uses is drawn together at its mean, which costs nothing,
    and stays there in the data space, as seen along the new axes. Samples may also use a part
    so little that their pull is lost in rounding beside that of its edges: then a little is added.
    """
    if weight == 0:
        n_parts, part = len(C), np.arange(len(C))
    else:
        n_parts, part = connected_components(adjacency(edges, len(C)), directed=False)
    if n_parts == 1:
        return np.zeros_like(C), counts, True
    size = np.bincount(part)
    used = np.bincount(part, counts)
    unused = (used == 0)[part]
    mean = np.column_stack([np.bincount(part, column) for column in C.T]) / size[:, np.newaxis]
    stiffness = weight * np.max(1.0 if weights is None else weights, initial=0.0)
    loose = np.where(used < MIN_PULL * stiffness * size, MIN_PULL * stiffness, 0.0)
    held = unused[:, np.newaxis] * mean[part]
    return held, counts + np.where(unused, 1.0, loose[part]), weight == 0


def centre_solver(
    R: Assignments,
    counts: Floats,
    edges: Ints,
    lam: float,
    gamma: float,
    weights: Floats | None = None,
    *,
    is_connected: bool = True,
) -> Callable[[Floats, Floats | None, float], Floats]:
    """Map (B, guess, accuracy) ↦ M⁻¹B.

    Rows of R sum to one, hence 0 ⪯ Γ − RᵀR ⪯ Γ. With Γ in the place of RᵀR, M becomes
    T = (1+γ)/γ·λ/γ·L + Γ/γ, a graph plus a diagonal that is solved directly. The eigenvalues of
    T⁻¹M lie in [1, 1+γ] whatever the data, most of them near 1, because RᵀR averages over
    neighbours: conjugate gradients need few steps.
    """
    n_centers, diagonal = len(counts), (1 + gamma) / gamma * counts
    weight = (1 + gamma) / gamma * lam / gamma
    s = np.ones(len(edges)) if weights is None else weights
    if is_connected:
        graph = weight * laplacian(edges, n_centers, s) + sparse.diags_array(diagonal)

        def apply_M(V: Floats) -> Floats:
            return graph @ V - R.overlap(V)
    else:
        # Every part of the graph is held in its place by its samples. Their weight is lost beside a
        # large λ in the sums of a matrix, but not where differences are taken first.
        D, pull = incidence(edges, n_centers), (weight * s)[:, np.newaxis]

        def apply_M(V: Floats) -> Floats:
            return diagonal[:, np.newaxis] * V + D.T @ (pull * (D @ V)) - R.overlap(V)

    if R.overlap_matrix is not None:
        degree = np.bincount(edges.ravel(), np.repeat(s, 2), minlength=n_centers)
        M = np.diag(diagonal + weight * degree) - R.overlap_matrix
        i, j = edges.T
        M[i, j] -= weight * s
        M[j, i] -= weight * s
        factor = linalg.cho_factor(M, overwrite_a=True)
        if is_connected:
            return lambda B, guess, accuracy: linalg.cho_solve(factor, B)

        def solve(B: Floats, guess: Floats | None, accuracy: float) -> Floats:
            X = linalg.cho_solve(factor, B)
            return X + linalg.cho_solve(factor, B - apply_M(X))

        return solve
    precondition = graph_solver(edges, weight * s, counts / gamma)
    return lambda B, guess, accuracy: block_cg(apply_M, B, precondition, guess=guess, rtol=accuracy)


class Saved(NamedTuple):
    """An unfinished run: all that the next iteration starts from, but for the data.

    Where the points are follows from the data and the steps.
    """

    steps: list[Step]
    axes: Axes
    C: Floats
    history: list[float]


def solve(
    points: "Points | ChunkedPoints",
    W: Floats,
    C: Floats,
    *,
    lam: float,
    gamma: float,
    sigma: float,
    structure: Any,
    saved: Saved | None = None,
    save: Callable[[Saved], None] | None = None,
    **stopping: Unpack[Stopping],
) -> TreeResult:
    """Algorithm 2 from its start, or from where an earlier run was.

    After every iteration `save` is given what `saved` takes to go on from there; W and C are then
    the start that the first iteration had.
    """
    structure, state = prepare(structure, C), State(C, Axes(W, None))
    steps: list[Step] = []

    def record(state: State, history: list[float]) -> None:
        assert save is not None
        assert state.step is not None
        steps.append(state.step)
        save(Saved(steps, state.axes, state.C, list(history)))

    monitor = Monitor(scale=points.energy, record=None if save is None else record, **stopping)
    if saved is not None:
        steps.extend(saved.steps)
        state = replay(saved, points, structure)
        monitor.resume(saved.history)
    return alternate(points, state, structure, monitor, lam=lam, gamma=gamma, sigma=sigma)


def replay(saved: Saved, points: "Points | ChunkedPoints", structure: Any) -> State:
    """Take points and structure through the steps of an earlier run, to where that was."""
    graph = None
    for step in saved.steps:
        graph = choose_graph(structure, step.C, graph)
    points.move(saved.steps)
    return State(saved.C, saved.axes, graph)
