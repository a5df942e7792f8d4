"""The one default way from samples to a trajectory.

1. The shape: samples averaged with their nearest neighbours, a `DDRTree` from Ward's clusters.
   Its strong pull makes few branches; those shorter than the noise go at once.
2. The evidence: that graph kept fixed and fitted to the samples themselves with a weak pull, the
   shortest twig that the samples give no evidence of cut off, and again, until none is left.
3. The course: what is left fitted to all samples.

No step draws anything by chance. The first two see the samples in a form that depends neither on
their order nor on their units, and at most `SHAPE_ROWS` of them.
"""

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors

from .._typing import Floats, Matrix
from ..data.checks import check_samples, resolve_n_centers
from ..data.dask import is_dask
from ..data.dask_errors import failures_in_words
from ..data.landmarks import choose_landmarks
from ..estimators import DDRTree
from ..graph import adjacency
from ..solvers.initialization import ward
from .core import Trajectory
from .evidence import LEVEL, tip_to_cut
from .pruning import Reduced, believable, whole, without_tips
from .roots import Steps
from .view import View

# How these were chosen: benchmarks/answers.md.
N_COMPONENTS = 10
# Principal components in which the shape is looked for.
SHAPE_COMPONENTS = 20
# Samples that the shape and the evidence are looked for in, and neighbours to average with.
SHAPE_ROWS, N_NEIGHBORS = 3000, 10
# Twigs shorter than so many times the largest standard deviation across the tree are noise.
NOISE_LENGTHS = 0.5
# The pull of the shape, and of the course; the weights of their trees per sample.
SHAPE_GAMMA, SHAPE_LAM = 10.0, 0.1
GAMMA, LAM = 1.0, 0.03
# Coordinates are rounded to this part of their spread, so that units and order leave no trace.
GRID = 2.0**-20
# Rows that differ by no more than this part of their size are equal.
ROUNDING = 8 * np.finfo(np.float64).eps
# Centres that have less than this part of their first variance have fallen together.
COLLAPSED = 0.01
# While the shape is looked for nobody sees the last digits.
TOL, MAX_ITER = 1e-4, 100


class Start(NamedTuple):
    """Some samples in principal components, whatever their order, place and unit."""

    points: Floats  # (n_rows, n_dims): sorted, their spread is one
    unit: float  # of the points, in units of the data
    mean: Floats  # (n_features,)
    axes: Floats  # (n_dims, n_features)


def learn(
    X: Any,
    *,
    n_components: Any = "auto",
    level: float = LEVEL,
    names: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    callback: Any = None,
) -> Trajectory:
    """The trajectory that `branchwise.learn_trajectory` returns, without its bootstrap.

    Examples
    --------
    >>> from branchwise.datasets import make_tree
    >>> from branchwise.trajectory.learning import learn
    >>> data = make_tree(500, 30, topology="bifurcation", noise=0.1, random_state=0)  # simulated
    >>> learn(data.X).branch_table_.index.tolist()
    ['T1-F1', 'F1-T2', 'F1-T3']
    """
    check_level(level)
    model = DDRTree(gamma=GAMMA, n_jobs=n_jobs, verbose=verbose, callback=callback)
    given = X
    if not is_dask(X):
        names = getattr(X, "index", None) if names is None else names
        X = check_samples(model, X, ensure_min_samples=2)
    rows = shape_rows(model, X)
    d = resolve_components(n_components, rows)
    start = starting_form(rows, d)
    d = min(d, start.points.shape[1])
    first = candidate(start, d)
    graph = believed(first, start, d, level)
    n_nodes = len(first.nodes)
    # From the form that has no units to the features.
    graph = graph._replace(nodes=start.unit * graph.nodes @ start.axes + start.mean)
    model.set_params(n_components=d)
    while True:
        last = course(model, X, graph, len(graph.nodes) / n_nodes, given)
        path = Trajectory.from_estimator(last, points=points_of(last), names=names)
        tip = tip_to_cut(path.view, level)
        if tip is None:
            steps: Steps = (("learn", {"n_components": n_components, "level": level}),)
            return Trajectory.from_view(path.view, names=path.names_, estimator=last, steps=steps)
        graph = to_space(last, cut(path.view, tip))


def shape_rows(model: DDRTree, X: Any) -> Matrix:
    """The samples that the shape is looked for in, in memory: all, or some of many."""
    if X.shape[0] > SHAPE_ROWS:
        return choose_landmarks(X, SHAPE_ROWS, 0, cover=False)[0]
    if not is_dask(X):
        return X
    return check_samples(model, gathered(X), ensure_min_samples=2)


def starting_form(rows: Matrix, n_components: int) -> Start:
    """Samples along their principal axes, in units of their spread, rounded and sorted."""
    n_dims = max(n_components, min(SHAPE_COMPONENTS, rows.shape[1], max(rows.shape[0] - 1, 1)))
    mean, axes = DDRTree(n_dims).starting_axes(rows)
    points = np.asarray(rows @ axes.T - mean @ axes.T, dtype=np.float64)
    unit = float(np.sqrt(np.mean(np.sum(points**2, axis=1))))
    # Equal rows differ from their mean by its rounding.
    if not unit > ROUNDING * np.linalg.norm(mean):
        raise ValueError(
            "All rows of X are equal, so that there is nothing to put in order; look whether the "
            "right columns were read."
        )
    points = np.round(points / unit / GRID) * GRID
    return Start(points[np.lexsort(points.T[::-1])], unit, mean, axes)


def resolve_components(n_components: Any, rows: Matrix) -> int:
    """As many as asked for, or `N_COMPONENTS`; no more than the samples have."""
    if isinstance(n_components, str) and n_components == "auto":
        return max(1, min(N_COMPONENTS, rows.shape[1], rows.shape[0] - 1))
    is_number = isinstance(n_components, Real) and not isinstance(n_components, bool)
    is_count = is_number and isinstance(n_components, Integral)
    if not is_number or not (n_components >= 1 if is_count else 0 < n_components < 1):
        raise ValueError(
            f"n_components={n_components!r} must be a positive whole number, a part of the "
            'variance between 0 and 1, or "auto".'
        )
    if is_count:
        return max(1, min(int(n_components), rows.shape[1], rows.shape[0] - 1))
    return len(DDRTree(n_components).starting_axes(rows)[1])


def check_level(level: Any) -> None:
    """A probability."""
    if isinstance(level, bool) or not isinstance(level, Real) or not 0 <= float(level) <= 1:
        raise ValueError(f"level={level!r} must be a probability from 0 to 1; 0.05 is usual.")


def candidate(start: Start, n_components: int) -> Reduced:
    """A tree with more branches than there are, in the space of the start's points."""
    points = start.points
    averaged = averages(points)
    n_centers = resolve_n_centers("auto", len(points))
    model = quick(n_components, gamma=SHAPE_GAMMA, lam=SHAPE_LAM * len(points))
    model.set_params(init=from_space(model, averaged, ward_means(averaged, n_centers)))
    model = fitted(model, averaged)
    path = Trajectory.from_estimator(model, points=model.project(points))
    least = NOISE_LENGTHS * largest_deviation(path.view)
    graph = whole(path.view.base.nodes, path.view.base.edges)
    return to_space(model, believable(graph, least, np.array([], dtype=np.intp)))


def believed(shape: Reduced, start: Start, n_components: int, level: float) -> Reduced:
    """The tree without the twigs that the start's points give no evidence of."""
    n_nodes = len(shape.nodes)
    while True:
        share = len(shape.nodes) / n_nodes
        model = course(quick(n_components, gamma=GAMMA), start.points, shape, share)
        view = Trajectory.from_estimator(model).view
        tip = tip_to_cut(view, level)
        if tip is None:
            return shape
        shape = to_space(model, cut(view, tip))


def averages(points: Floats) -> Floats:
    """Every sample averaged with its nearest neighbours, a tenth of all at most."""
    n_neighbors = max(1, min(N_NEIGHBORS, len(points) // 10))
    found = NearestNeighbors(n_neighbors=n_neighbors).fit(points)
    return points[found.kneighbors(points, return_distance=False)].mean(axis=1)


def ward_means(points: Floats, n_centers: int) -> Floats:
    """The means of Ward's clusters."""
    if n_centers >= len(points):
        return points
    labels = ward(points, np.ones(len(points)), n_centers)
    sums = sparse.csr_array((np.ones(len(labels)), (labels, np.arange(len(labels))))) @ points
    return sums / np.bincount(labels)[:, np.newaxis]


def quick(n_components: int, **options: Any) -> DDRTree:
    """A model whose last digits nobody sees."""
    return DDRTree(n_components, tol=TOL, max_iter=MAX_ITER, **options)


def course(model: DDRTree, X: Any, shape: Reduced, share: float, named: Any = None) -> DDRTree:
    """The model with a fixed graph, fitted to samples in whose space its nodes are given.

    ``named`` are the same samples as the user has them, with the names of the features.
    """
    tree = adjacency(shape.edges, len(shape.nodes))
    model = clone(model).set_params(
        structure=tree,
        init=from_space(model, X, shape.nodes),
        lam=LAM * GAMMA * X.shape[0] * share,
    )
    with warnings.catch_warnings():
        if model.max_iter == MAX_ITER:
            warnings.simplefilter("ignore", ConvergenceWarning)
        return fitted(model, X if named is None else named)


def fitted(model: DDRTree, X: Any) -> DDRTree:
    """The model fitted to samples, with narrower assignments if its centres fall together.

    The usual width is that of samples around their centres: of few samples in many dimensions it
    is as large as the whole.
    """
    model.fit(X)
    least = COLLAPSED * np.var(model.init, axis=0).sum()
    while np.var(model.centers_, axis=0).sum() < least:
        model.set_params(sigma=model.sigma_ / 2).fit(X)
    return model


def from_space(model: DDRTree, X: Any, nodes: Floats) -> Floats:
    """Nodes in the space of the samples as a fit to these wants its starting centres."""
    mean, axes = model.starting_axes(X)
    centers = np.zeros((len(nodes), model.n_components))
    centers[:, : len(axes)] = (nodes - mean) @ axes.T
    return centers


def to_space(model: DDRTree, graph: Reduced) -> Reduced:
    """The graph with its nodes in the space of the samples."""
    return graph._replace(nodes=graph.nodes @ model.components_ + model.mean_)


def cut(view: View, tip: int) -> Reduced:
    """The graph of a view without the twig of a tip; all nodes count that it ever had."""
    return without_tips(view, [view.milestone_names[tip]])


def points_of(model: DDRTree) -> Floats:
    """The samples along the components, gathered from the workers if they are there."""
    return np.asarray(gathered(model.projection_), dtype=np.float64)


def gathered(values: Any) -> Any:
    """What a Dask array holds, in memory; everything else as it is."""
    if not is_dask(values):
        return values
    with failures_in_words(values, values):
        return values.compute()


def largest_deviation(view: View) -> float:
    """The largest standard deviation of the samples across the graph, of all directions."""
    apart = view.residuals
    return float(np.sqrt(np.linalg.eigvalsh(apart.T @ apart / len(apart))[-1]))
