"""Choosing parameters by what a learned structure says of samples that it has not seen."""

import itertools
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy import optimize
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold
from sklearn.utils import indexable
from sklearn.utils.validation import check_is_fitted

from ._compat import rows_of
from ._typing import Floats, Ints
from .data.checks import check_grid, check_samples
from .data.dask import check_not_dask
from .estimators import SPL, DDRTree
from .estimators.base import StructureLearner, without_checkpoint
from .graph.placement import length_matrix

Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]

# Combinations within so many standard errors of the most likely are about as likely.
N_ERRORS = 2

# Squared distances that are held at a time (128 MiB).
MAX_HELD = 2**24

# Samples between which distances along the trees of two fits are compared.
N_COMPARED = 300


def held_out_log_likelihood(estimator: StructureLearner, X: Any, y: Any = None) -> float:
    """Mean log-likelihood of samples around the structure that was learned from others.

    Every node of the structure is the centre of an isotropic normal in the space of the data:

        log p(x) = log Σ_k π_k·N(x | r_k, τ²I)

    with the nodes r_k of the skeleton (`SPL`) or tree (`DRTree`, `DDRTree`), weights π_k that are
    equal or, in `DDRTree`, the mean assignments, and the τ² that makes X most likely. It is a
    scorer in the sense of scikit-learn: pass it as ``scoring`` to ``GridSearchCV``. Higher is
    better. Unlike the model's own likelihood it does not depend on how well γ or σ happen to
    match the noise, so that all parameters of all estimators can be compared by it, except those of
    the kernel: with one the density is that of kernel values, and every kernel has its own.

    Parameters
    ----------
    estimator : fitted SPL, DRTree or DDRTree
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Samples that the estimator was not fitted to; the samples that it was fitted to flatter
        whatever follows their noise.
    y : ignored

    Returns
    -------
    score : float
        Natural logarithm of a density in units of the data, per sample.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV, KFold
    >>> from branchwise import SPL, held_out_log_likelihood
    >>> search = GridSearchCV(SPL(gamma=10.0), {"n_components": [1, 2]},
    ...                       scoring=held_out_log_likelihood,
    ...                       cv=KFold(3, shuffle=True, random_state=0))
    >>> search.fit(load_iris().data).best_params_
    {'n_components': 2}
    """
    return float(_log_likelihood(estimator, X)[0].mean())


def check_learner(estimator: Any) -> None:
    """Only what learns a structure can be asked for its nodes."""
    if not isinstance(estimator, StructureLearner):
        name = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        raise TypeError(
            f"estimator must be an SPL, DRTree or DDRTree object, got {name}; "
            "pass one of these, and data that have been through any other steps."
        )


def _log_likelihood(estimator: StructureLearner, X: Any) -> tuple[Floats, float]:
    check_learner(estimator)
    check_is_fitted(estimator)
    projected, across = estimator.coordinates(X)
    nodes, weights = estimator.nodes()
    n_features = estimator.components_.shape[1]
    return mixture_log_likelihood(projected, across, nodes, weights / weights.sum(), n_features)


def mixture_log_likelihood(
    projected: Floats, across: Floats, nodes: Floats, weights: Floats, n_features: int
) -> tuple[Floats, float]:
    """Log p(y) of each sample, with the τ² that makes the samples most likely; and that τ².

    p(y) = Σ_k π_k·N(y | r_k, τ²I), where r_k are the nodes in the space of the data. A structure
    that misses the samples needs a large τ². One that follows the noise of its training samples
    is not nearer to others for it, and wastes its nodes where no others are.

    Parameters
    ----------
    projected : array of shape (n_samples, d)
        The samples in the space of the nodes.
    across : array of shape (n_samples,)
        Their squared distances from that space.
    nodes : array of shape (n_nodes, d)
    weights : array of shape (n_nodes,)
        π, non-negative, with sum one.
    n_features : int
        Dimension of y.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.model_selection import mixture_log_likelihood
    >>> y = np.array([[-1.0], [1.0]])
    >>> logs, noise = mixture_log_likelihood(y, np.zeros(2), np.zeros((1, 1)), np.ones(1), 1)
    >>> round(noise, 4), logs.round(4)  # one normal of variance 1
    (1.0, array([-1.4189, -1.4189]))
    """
    used = weights > 0
    nodes, log_weights = nodes[used], np.log(weights[used])
    step = max(1, MAX_HELD // len(nodes))
    # The noise is one number: where not all distances can be held, some samples tell it.
    some = slice(None, None, -(-len(projected) // step))
    squared = squared_distances_to(nodes, projected[some], across[some])

    def logs(noise: float, squared: Floats) -> Floats:
        exponent = logsumexp(log_weights - squared / (2 * noise), axis=1)
        return np.asarray(exponent) - n_features / 2 * np.log(2 * np.pi * noise)

    # At the best τ² it is the mean squared distance of the samples from the nodes that they
    # belong to, per feature: between that from the nearest and that from all nodes.
    low = max(float(squared.min(axis=1).mean()) / n_features, np.finfo(float).tiny ** 0.5)
    high = max(float((squared @ weights[used]).mean()) / n_features, 2 * low)
    best = optimize.minimize_scalar(
        lambda t: -logs(np.exp(t), squared).mean(),
        bounds=(np.log(low), np.log(high)),
        method="bounded",
        options={"xatol": 1e-6},
    )
    noise = float(np.exp(best.x))
    if len(squared) == len(projected):
        return logs(noise, squared), noise
    blocks = [slice(start, start + step) for start in range(0, len(projected), step)]
    likelihood = [
        logs(noise, squared_distances_to(nodes, projected[rows], across[rows])) for rows in blocks
    ]
    return np.concatenate(likelihood), noise


def squared_distances_to(nodes: Floats, projected: Floats, across: Floats) -> Floats:
    """‖y − r_k‖² for all samples and nodes."""
    return np.asarray(cdist(projected, nodes, "sqeuclidean")) + across[:, np.newaxis]


@dataclass(frozen=True)
class Selection:
    """The outcome of `select`.

    Attributes
    ----------
    best_estimator_ : estimator
        Fitted to all samples with the chosen parameters.
    best_params_ : dict
    best_index_ : int
        Its row in ``results_``.
    results_ : dict of arrays
        One entry per combination, ready for ``pandas.DataFrame(selection.results_)``:
        ``param_*``, ``log_likelihood`` and its standard error ``log_likelihood_error``, ``noise``
        (τ, in units of the data), ``stability`` (trees only, else NaN), ``converged`` (part of
        the fits that did), ``fit_seconds`` and ``error`` (why a combination could not be fitted,
        else empty).
    """

    best_estimator_: StructureLearner
    best_params_: dict[str, Any]
    best_index_: int
    results_: dict[str, Any]


def select(
    estimator: StructureLearner,
    X: Any,
    param_grid: Grid | None = None,
    *,
    n_folds: int = 3,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Selection:
    """Choose parameters by the likelihood of left-out samples and, for trees, by stability.

    Every combination is fitted ``n_folds`` times without a part of the samples, and judged by the
    `held_out_log_likelihood` of that part. For `SPL` the most likely combination wins. Trees
    that differ in small twigs are almost equally likely; among the combinations within two
    standard errors of the most likely, the most stable wins: the one whose fits without different
    parts agree best on the distances along the tree between samples (mean correlation).

    A number for ``lam`` in the grid is meant for all samples; a fit to some of them takes as much
    less as they are fewer, because the other terms of the objective are sums over the samples.

    Parameters
    ----------
    estimator : SPL, DRTree or DDRTree
        With the parameters that are not searched over.
    X : array-like or sparse matrix of shape (n_samples, n_features)
    param_grid : dict of lists, list of such dicts, or None, default=None
        Combinations to try. None takes those of `default_grid`.
    n_folds : int, default=3
        Parts that are left out in turn.
    random_state : int, RandomState or None, default=0
        Seed of the division into parts.
    n_jobs : int or None, default=None
        Fits that run at the same time, in processes of their own. The result does not depend
        on it.
    verbose : int, default=0
        Report progress when positive, as joblib does.

    Returns
    -------
    selection : Selection

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise import SPL, select
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, size=150)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle), *np.zeros((3, 150))])
    >>> X = ring + 0.1 * rng.normal(size=ring.shape)  # simulated
    >>> selection = select(SPL(gamma=10.0), X, {"n_components": [1, 2, 3]})
    >>> selection.best_params_
    {'n_components': 2}
    >>> round(float(selection.results_["noise"][selection.best_index_]), 1)
    0.1
    """
    check_learner(estimator)
    check_not_dask(X)
    # Said here of all samples, complaints name rows as the user knows them.
    n_samples = check_samples(clone(estimator), X, ensure_min_samples=2).shape[0]
    (X,) = indexable(X)
    grid = default_grid(estimator, X) if param_grid is None else param_grid
    candidates = check_grid(estimator, grid, n_folds, n_samples)
    folds = list(KFold(n_folds, shuffle=True, random_state=random_state).split(np.empty(n_samples)))
    compared = np.arange(0, n_samples, -(-n_samples // N_COMPARED))
    runs = Parallel(n_jobs=n_jobs, verbose=verbose)(
        delayed(_run)(estimator, X, parameters, train, test, compared)
        for parameters, (train, test) in itertools.product(candidates, folds)
    )
    results = _tabulate(candidates, [runs[i : i + n_folds] for i in range(0, len(runs), n_folds)])
    best = _choose(results)
    chosen = clone(estimator).set_params(**candidates[best]).fit(X)
    return Selection(chosen, candidates[best], best, results)


class Run(NamedTuple):
    """One fit without a part of the samples."""

    likelihood: Floats  # of each left-out sample
    noise: float
    distances: Floats | None  # along the tree, between the compared samples
    converged: bool
    seconds: float
    error: str


def _run(
    estimator: StructureLearner,
    X: Any,
    parameters: dict[str, Any],
    train: Ints,
    test: Ints,
    compared: Ints,
) -> Run:
    """Fit one combination without one part, and see what it says of that part."""
    start = time.perf_counter()
    model = without_checkpoint(clone(estimator)).set_params(**parameters)
    weigh_tree(model, len(train) / (len(train) + len(test)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # reported in the table
            model.fit(rows_of(model, X, train))
    except (ValueError, MemoryError) as error:
        return Run(np.full(len(test), np.nan), np.nan, None, False, 0.0, str(error))
    likelihood, noise = _log_likelihood(model, rows_of(model, X, test, train))
    distances = None
    if hasattr(model, "tree_"):
        distances = tree_distances(model, rows_of(model, X, compared, train))
    seconds = time.perf_counter() - start
    return Run(likelihood, np.sqrt(noise), distances, model.converged_, seconds, "")


def weigh_tree(model: Any, part: float) -> None:
    """Set a ``lam`` that was meant for all samples to what it means for a part of them.

    The other terms of the objective are sums over the samples. An automatic one sees to itself.

    Examples
    --------
    >>> from branchwise import DRTree
    >>> from branchwise.model_selection import weigh_tree
    >>> model = DRTree(lam=10)
    >>> weigh_tree(model, 0.5)
    >>> model.lam
    5.0
    """
    lam = getattr(model, "lam", None)
    if isinstance(lam, Real):
        model.set_params(lam=float(lam) * part)


def tree_distances(model: Any, X: Any) -> Floats:
    """Distances along the tree between the nodes nearest to samples, one per pair.

    Between samples on unconnected parts of a forest, twice the largest of the others.
    """
    nodes = model.centers_.astype(np.float64)
    nearest = KDTree(nodes).query(model.coordinates(X)[0])[1]
    edges = np.column_stack(model.tree_.nonzero())
    length = np.linalg.norm(nodes[edges[:, 0]] - nodes[edges[:, 1]], axis=1)
    graph = length_matrix(edges, length, len(nodes))
    starts, place = np.unique(nearest, return_inverse=True)
    between = dijkstra(graph, directed=False, indices=starts)[place][:, nearest]
    i, j = np.triu_indices(len(nearest), 1)
    pairs = between[i, j]
    reached = np.isfinite(pairs)
    return np.where(reached, pairs, 2 * pairs[reached].max(initial=0.0))


def stability(distances: list[Floats]) -> float:
    """Mean correlation of the distances between samples along the trees of two fits.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.model_selection import stability
    >>> round(stability([np.array([1.0, 2.0, 4.0]), np.array([2.0, 4.0, 8.0])]), 6)
    1.0
    """
    # Trees shrunk to a point agree on nothing.
    if any(np.ptp(d) == 0 for d in distances):
        return 0.0
    pairs = itertools.combinations(distances, 2)
    return float(np.mean([np.corrcoef(a, b)[0, 1] for a, b in pairs]))


def _tabulate(candidates: list[dict[str, Any]], runs: list[list[Run]]) -> dict[str, Any]:
    names = sorted({name for parameters in candidates for name in parameters})
    table: dict[str, Any] = {f"param_{name}": _column(name, candidates) for name in names}
    samples = [np.concatenate([run.likelihood for run in folds]) for folds in runs]
    table["log_likelihood"] = np.array([values.mean() for values in samples])
    table["log_likelihood_error"] = np.array(
        [values.std(ddof=1) / np.sqrt(len(values)) for values in samples]
    )
    table["noise"] = np.array([np.mean([run.noise for run in folds]) for folds in runs])
    table["stability"] = np.array(
        [
            np.nan
            if any(run.distances is None for run in folds)
            else stability([run.distances for run in folds if run.distances is not None])
            for folds in runs
        ]
    )
    table["converged"] = np.array([np.mean([run.converged for run in folds]) for folds in runs])
    table["fit_seconds"] = np.array([np.mean([run.seconds for run in folds]) for folds in runs])
    table["error"] = np.array([next((run.error for run in f if run.error), "") for f in runs])
    return table


def _column(name: str, candidates: list[dict[str, Any]]) -> Any:
    column = np.empty(len(candidates), dtype=object)
    column[:] = [parameters.get(name) for parameters in candidates]
    return column


def _choose(results: dict[str, Any]) -> int:
    """The most likely; where trees can be compared, the most stable of about the most likely."""
    score, error, stable = (
        results[name] for name in ("log_likelihood", "log_likelihood_error", "stability")
    )
    if np.isnan(score).all():
        raise ValueError(f"No combination of parameters could be fitted: {results['error'][0]}")
    best = int(np.nanargmax(score))
    near = np.flatnonzero(score >= score[best] - N_ERRORS * error[best])
    if np.isnan(stable[near]).any():
        return best
    return int(near[np.argmax(stable[near])])


def default_grid(estimator: StructureLearner, X: Any) -> Grid:
    """The combinations that `select` tries when it is given none.

    For `SPL` every mixture of n_components 1 to 4, n_neighbors 5, 10, 20, gamma 0.1 to 100 and C 1
    and 1e3; for the trees lam from 0.003 to 0.3 times the number of samples and, for `DDRTree`,
    n_centers 20, 60 and "auto" (with ``init``, its number of rows), each with 0.3, 1 and 3 times
    its own automatic sigma.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise import DRTree
    >>> from branchwise.model_selection import default_grid
    >>> default_grid(DRTree(), np.random.default_rng(0).normal(size=(100, 3)))
    {'lam': [0.3, 1.0, 3.0, 10.0, 30.0]}
    """
    n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
    if isinstance(estimator, SPL):
        n_features = X.shape[1] if hasattr(X, "shape") else len(X[0])
        return {
            "n_components": list(range(1, min(4, n_features, n_samples) + 1)),
            "n_neighbors": [k for k in (5, 10, 20) if 2 * k < n_samples] or [1],
            "gamma": [0.1, 1.0, 10.0, 100.0],
            "C": [1.0, 1e3],
        }
    lam = [round(part * n_samples, 10) for part in (0.003, 0.01, 0.03, 0.1, 0.3)]
    if not isinstance(estimator, DDRTree):
        return {"lam": lam}
    if estimator.assignment == "hard":
        return {"lam": lam, "n_centers": _numbers_of_centers(estimator, n_samples)}
    return [
        {"lam": lam, "n_centers": [n], "sigma": [part * sigma for part in (0.3, 1.0, 3.0)]}
        for n in _numbers_of_centers(estimator, n_samples)
        for sigma in [automatic_sigma(clone(estimator).set_params(n_centers=n), X)]
    ]


def _numbers_of_centers(estimator: DDRTree, n_samples: int) -> list[Any]:
    if estimator.init is not None:
        return [estimator.n_centers]
    return [*(n for n in (20, 60) if 2 * n <= n_samples), "auto"]


def automatic_sigma(estimator: DDRTree, X: Any) -> float:
    """The σ that an estimator would choose for X.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise import DDRTree
    >>> from branchwise.model_selection import automatic_sigma
    >>> X = load_iris().data
    >>> automatic_sigma(DDRTree(random_state=0), X) == DDRTree(random_state=0).fit(X).sigma_
    True
    """
    first = without_checkpoint(clone(estimator))
    first.set_params(sigma="auto", max_iter=1, tol=0, verbose=0, callback=None)
    return float(first.fit(X).sigma_)
