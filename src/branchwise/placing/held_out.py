"""Training rows as if they were new: everything is learned again without them, by fifths."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from .._compat import effective_n_jobs, import_pandas
from .._messages import listed, parameter
from .._typing import Bools, Floats, Ints
from ..data.dask import is_dask
from ..data.moments import extremes, have_variety
from ..data.row_order import canonical_order
from ..estimators.base import without_checkpoint
from ..preprocessing import Preparation
from ..solvers.conditional import TreeModel, fit_tree_model
from ..trajectory import Trajectory
from ..trajectory.bootstrap import check_method, fitted_again, repeated
from ..trajectory.roots import Step, Steps
from ..trajectory.view import View
from .placer import Assessed, take
from .places import places_of
from .reference import Reference, axes_of
from .trust import farthest, trust_of

N_FOLDS = 5
# Of more rows so many are held out, chosen by a fixed seed; of wide tables fewer are looked at
# for scatter and noise, so that these take no more numbers than that.
MOST_SCORED, MOST_FITTED, MOST_NUMBERS = 4000, 1000, 2**22
SEED = 0
# What is learned of scatter and noise is not needed to more digits, nor from more places.
TOL, N_STRETCHES = 1e-3, 60
# The part of the rows held out of which nothing is told, and the least that is: a residual, and how
# far a value lies beyond the range of its column, as a part of it.
USUAL, LEAST_TOLD, LEAST_ROOM = 0.95, 3.0, 0.1
# Rows from which on a p of 0.05 is possible: 1/(1 + 19).
LEAST_ROWS = 19


class Fold(NamedTuple):
    """All that is needed to learn again without some rows."""

    X: Any  # before the preparation
    covariates: Any  # DataFrame or None
    preparation: Preparation | None  # not fitted
    model: Any  # not fitted
    steps: Steps
    n_samples: int  # that the trajectory was learned from
    varies: Bools  # encoded columns that have a say in how far a row is


class Scores(NamedTuple):
    """Of rows that were held out; NaN where that failed."""

    misfit: Floats
    n_known: Floats
    largest: Floats
    away: Floats  # how far beyond the ranges of the others, as `farthest` has it
    within: Floats  # the median misfit of the rows that were learned from


def reference_of(
    path: Trajectory,
    X: Any,
    preparation: Preparation | None = None,
    covariates: Any = None,
    *,
    n_jobs: int | None = None,
    on_fold: Callable[[], None] = lambda: None,
) -> Reference | None:
    """What placing has to know of the table that a trajectory was learned from.

    Parameters
    ----------
    path : Trajectory
    X : array-like, DataFrame or sparse matrix
        The rows that it was learned from, in the same order, before the preparation.
    preparation : fitted Preparation or None, default=None
    covariates : DataFrame or None, default=None
        What the preparation adjusts for.
    n_jobs : int or None, default=None
        Number of processes; the result does not depend on it.
    on_fold : callable
        Called when one of the five fifths is done.

    Returns
    -------
    reference : Reference or None
        None for kernels, for graphs that were given, and for rows that stay in a file.

    Examples
    --------
    >>> from branchwise.datasets import make_tree
    >>> from branchwise.placing.held_out import reference_of
    >>> from branchwise.trajectory.learning import learn
    >>> data = make_tree(300, 10, noise=0.1, random_state=0)  # simulated
    >>> found = reference_of(learn(data.X), data.X)
    >>> len(found.rows), bool(0.8 < found.misfit.mean() < 1.2)
    (300, True)
    """
    model = path.estimator_
    if model is None or model.kernel is not None or is_dask(X) or len(path.names_) != n_rows(X):
        return None
    numbers = encoded(preparation, X)
    # From here on what is chosen depends on what rows hold, and not on where they stand.
    order = order_of(numbers)
    rows = order[chosen(len(order), MOST_SCORED)]
    varies = has_variety(numbers_in(take(numbers, rows)))
    low, high = ranges(numbers)
    # Of a column of one value another one is told; zeros are mostly of what is rare.
    is_told = varies | ((low == high) & (low != 0))
    low[~is_told], high[~is_told] = -np.inf, np.inf
    with threadpool_limits(limits=1):  # sums go the same way every time
        tree = around(path.view, model, preparation, X, covariates, order)
    scores = scores_of(path, X, preparation, covariates, rows, varies, n_jobs, on_fold)
    at = np.argsort(rows)
    at = at[~np.isnan(scores.misfit[at])]
    rows, scores = rows[at], Scores(*(column[at] for column in scores))
    has_scores = len(scores.misfit) > 0
    # Rows that were not learned from lie farther than those that were, by as much as axes and noise
    # follow the rows at hand. That goes with one over their number: of the excess in squared misfit
    # that a tree of a part of the rows has, one of all rows has this part.
    ratio, part = excess_of(scores), len(rows) / n_rows(X) * (1 - 1 / N_FOLDS)
    wider = 1 + part * (ratio**2 - 1)
    usual = np.quantile(scores.largest, USUAL) / np.sqrt(wider) if has_scores else np.inf
    return Reference(
        tree.spread * wider,
        tree.noise * wider,
        varies,
        low,
        high,
        rows,
        scores.misfit / ratio,
        scores.n_known.astype(np.intp),
        max(LEAST_TOLD, float(usual)),
        max(LEAST_ROOM, float(np.quantile(scores.away, USUAL)) if has_scores else LEAST_ROOM),
    )


def with_own(assessed: Assessed, reference: Reference) -> Assessed:
    """The training rows with the ``p`` and ``misfit`` of trees that were learned without them.

    Of more than `MOST_SCORED` rows so many were held out; the others keep those of the tree itself.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.placing.held_out import with_own
    >>> from branchwise.placing.placer import unknown
    >>> from branchwise.placing.reference import Reference
    >>> one, misfit = np.ones(1), np.array([0.5, 2.0])
    >>> varies, known, rows = one > 0, np.full(2, 10), np.array([0, 2])
    >>> found = Reference(np.eye(1), one, varies, 0 * one, one, rows, misfit, known, 3.0, 0.1)
    >>> with_own(unknown(np.zeros(3, dtype=int), 1), found).p
    array([1. , nan, 0.5])
    """
    p, misfit, rows = assessed.p.copy(), assessed.misfit.copy(), reference.rows
    if len(p) <= MOST_SCORED:  # of all rows that could be learned without
        p[:], misfit[:] = np.nan, np.nan
    p[rows], misfit[rows] = reference.own_p, reference.misfit
    return assessed._replace(p=p, misfit=misfit)


def scores_of(
    path: Trajectory,
    X: Any,
    preparation: Preparation | None,
    covariates: Any,
    rows: Ints,
    varies: Bools,
    n_jobs: int | None,
    on_fold: Callable[[], None],
) -> Scores:
    """What some rows score when all is learned without them."""
    steps = (*path.steps[:1], *filter(is_repeated, path.steps[1:]))
    scores = Scores(*np.full((5, len(rows)), np.nan))
    if not can_repeat(path, steps):
        return scores
    model = without_checkpoint(clone(path.estimator_)).set_params(verbose=0, callback=None)
    if effective_n_jobs(n_jobs) > 1:
        model.set_params(n_jobs=1)
    again = None if preparation is None else clone(preparation)
    some = take(X, rows), take(covariates, rows)
    fold = Fold(*some, again, model, steps, n_rows(X), varies)
    order = np.random.default_rng(SEED).permutation(len(rows))
    parts = np.array_split(order, min(N_FOLDS, len(rows)))
    found = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(scored)(fold, np.sort(part)) for part in parts
    )
    failed = dict[str, int]()
    for part, done in zip(parts, found, strict=True):
        if isinstance(done, str):
            failed[done] = failed.get(done, 0) + len(part)
        else:
            for column, values in zip(scores, done, strict=True):
                column[np.sort(part)] = values
        on_fold()
    # Of fewer rows no p is 0.05 or less, and nobody misses it.
    if failed and len(rows) >= LEAST_ROWS:
        warnings.warn(failure_message(failed, len(rows)), stacklevel=4)
    return scores


def failure_message(failed: dict[str, int], n_rows: int) -> str:
    """Of how many rows p is not known, by the reason.

    Examples
    --------
    >>> from branchwise.placing.held_out import failure_message
    >>> print(failure_message({"SVD did not converge": 12}, 60))
    p is known of 48 of 60 rows only: without the others the tree could not be learned (SVD did not
    converge). ...
    """
    n_known = n_rows - sum(failed.values())
    known = f"known of {n_known:,} of {n_rows:,} rows only" if n_known else "not known"
    without = "the others" if n_known else "a fifth of the rows"
    why = listed((reason.rstrip(". ") for reason in failed), 2)
    return (
        f"p is {known}: without {without} the tree could not be learned ({why}). New samples are "
        f"{'judged by these' if n_known else 'placed without p'}; leave out columns that hardly "
        f"vary or are seldom known ({parameter('exclude')}), or add samples."
    )


def excess_of(scores: Scores) -> float:
    """How many times as far rows lie that were not learned from; not less than once.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.placing.held_out import Scores, excess_of
    >>> excess_of(Scores(np.full(3, 1.2), *np.ones((4, 3))))
    1.2
    """
    if not len(scores.misfit):
        return 1.0
    within = float(np.median(scores.within))
    return max(1.0, float(np.median(scores.misfit)) / within) if within > 0 else 1.0


def scored(fold: Fold, out: Ints) -> Scores | str:
    """Rows by a tree that was learned without them, or why there is none."""
    with threadpool_limits(limits=1):
        return _scored(fold, out)


def _scored(fold: Fold, out: Ints) -> Scores | str:
    rest = np.setdiff1d(np.arange(n_rows(fold.X)), out)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", UserWarning)  # the fit itself has told
            view, model, preparation = learned_again(fold, rest)
            tree = around(view, model, preparation, *part_of(fold, rest), np.arange(len(rest)))
    except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        return str(error) or type(error).__name__
    places = places_of(view)
    n_branches = len(view.branches.names)
    varies = those_that_vary(fold, preparation)
    new, others = (numbers_in(encoded(preparation, part_of(fold, of)[0])) for of in (out, rest))
    away = farthest(new[:, varies], *ranges(others[:, varies]))
    some = rest[chosen(len(rest), len(out))]
    known = [one_by_one(preparation, *part_of(fold, of), len(tree.mean)) for of in (out, some)]
    known = [np.where(varies, rows, np.nan) for rows in known]
    found, own = (trust_of(tree, places, n_branches, rows) for rows in known)
    has_values = ~np.isnan(own.misfit)
    usual = np.median(own.misfit[has_values]) if has_values.any() else np.nan
    within = np.full(len(out), usual)
    return Scores(found.misfit, found.n_known.astype(np.float64), found.largest, away, within)


def those_that_vary(fold: Fold, preparation: Preparation | None) -> Bools:
    """Which columns have a say, in all rows; categories have others where other rows are learned.

    Without some rows there may be fewer levels, or another one is the most frequent.
    """
    if preparation is None or "encode" not in preparation.steps_:
        return fold.varies
    return has_variety(numbers_in(encoded(preparation, fold.X)))


def learned_again(fold: Fold, rows: Ints) -> tuple[View, Any, Preparation | None]:
    """The tree, the estimator and the preparation, from some rows and in the same way."""
    preparation, (X, covariates) = fold.preparation, part_of(fold, rows)
    if preparation is not None:
        preparation = clone(preparation)
        X = preparation.fit_transform(X, covariates=covariates)
    first, *later = fold.steps
    model = fitted_again(fold.model, X, first, SEED, len(rows) / fold.n_samples)
    path = Trajectory.from_estimator(model, **({} if first[0] == "learn" else first[1]))
    return repeated(path, later, np.arange(n_rows(X)), []).view, model, preparation


def around(
    view: View, model: Any, preparation: Preparation | None, X: Any, covariates: Any, order: Ints
) -> TreeModel:
    """Scatter and noise around a tree, from at most so many of its rows, chosen in this order."""
    pca = None if preparation is None else preparation.steps_.get("pca")
    axes, mean = axes_of(model, pca)
    most = max(2 * len(axes), min(MOST_FITTED, MOST_NUMBERS // axes.shape[1]))
    some = order[chosen(len(order), most)]
    known = prepared(preparation, take(X, some), take(covariates, some))
    coarse, fine = places_of(view, N_STRETCHES), places_of(view)
    found = fit_tree_model(known, axes, mean, coarse.points, coarse.weights, tol=TOL)
    return found._replace(places=fine.points, weights=fine.weights)


def is_repeated(step: Step) -> bool:
    """Fewer branches are made again; where time starts is of no account, nor are named twigs."""
    made, given = step
    return made == "merge" or (made == "prune" and given.get("near") is None)


def can_repeat(path: Trajectory, steps: Steps) -> bool:
    """Whether the way can be gone again with other rows."""
    if not steps or steps[0][0] not in {"learn", "from_estimator"}:
        return False
    try:
        check_method("bootstrap", path.estimator_, steps)
    except ValueError:
        return False
    return True


def one_by_one(preparation: Preparation | None, X: Any, covariates: Any, n_prepared: int) -> Floats:
    """Prepared rows; of one that cannot be prepared, as with a label that is new, nothing."""
    try:
        return prepared(preparation, X, covariates)
    except ValueError:
        if n_rows(X) == 1 or preparation is None:
            return np.full((n_rows(X), n_prepared), np.nan)
    alone = [(take(X, [k]), take(covariates, [k])) for k in range(n_rows(X))]
    return np.vstack([one_by_one(preparation, *one, n_prepared) for one in alone])


def prepared(preparation: Preparation | None, X: Any, covariates: Any) -> Floats:
    """Rows in prepared units before any pca, NaN where a value, or a level, is not known."""
    if preparation is None:
        return numbers_in(X)
    known = X
    if "encode" in preparation.steps_:
        known = preparation.steps_["encode"].with_known_levels(X)
    return preparation.transform_known(known, covariates=covariates)


def encoded(preparation: Preparation | None, X: Any) -> Any:
    """Rows as columns of numbers, in the units of the table; of a level not known, NaN."""
    if preparation is None or "encode" not in preparation.steps_:
        return X
    return preparation.encode(preparation.steps_["encode"].with_known_levels(X))


def part_of(fold: Fold, rows: Ints) -> tuple[Any, Any]:
    """Some rows, and their covariates."""
    return take(fold.X, rows), take(fold.covariates, rows)


def n_rows(X: Any) -> int:
    """Of an array, a matrix or a table."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def chosen(n: int, most: int) -> Ints:
    """Some of n rows by a fixed seed, in order; all if there are no more than that."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(SEED).choice(n, most, replace=False))


def order_of(X: Any) -> Ints:
    """An order of rows that depends on what they hold, in whatever unit each column is.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.placing.held_out import order_of
    >>> X = np.array([[3.0, 1.0], [np.nan, 1.0], [2.0, 5.0]])
    >>> other = X[::-1] * [1000, 1 / 3] + [0, 7]
    >>> np.array_equal(X[order_of(X)], X[::-1][order_of(other)], equal_nan=True)
    True
    """
    if sparse.issparse(X):
        filled = sparse.csr_array(X, dtype=np.float64, copy=True)
        filled.data = np.nan_to_num(filled.data, nan=0.0)
        # Without a shift, which would fill the matrix.
        filled.data /= widths(*extremes(filled))[filled.indices]
        return canonical_order(filled)
    numbers = numbers_in(X)
    low, high = ranges(numbers)
    has_none = np.isinf(low)
    low[has_none], high[has_none] = 0.0, 0.0
    parts = (numbers - low) / widths(low, high)
    # A gap is below all values of its column, by a whole range.
    return canonical_order(np.where(np.isnan(parts), -1.0, parts))


def widths(low: Floats, high: Floats) -> Floats:
    """The ranges of columns; infinite where rounding alone may tell values apart."""
    size = np.maximum(np.abs(low), np.abs(high))
    return np.where(high - low > 1e-9 * size, high - low, np.inf)


def has_variety(X: Floats) -> Bools:
    """Which columns have a say: those that vary, or all if none does.

    Without the one row that has a rare value, nothing is known of how it scatters, so that rows
    held out cannot tell how far a new row with it is.

    Parameters
    ----------
    X : array of shape (n_samples, n_columns)
        NaN is missing.
    """
    found = have_variety(X)
    return found if found.any() else np.ones(X.shape[1], dtype=bool)


def ranges(X: Any) -> tuple[Floats, Floats]:
    """The least and the largest known value of each column; of none, all numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.placing.held_out import ranges
    >>> ranges(np.array([[1.0, np.nan], [np.nan, np.nan], [3.0, np.nan]]))
    (array([  1., -inf]), array([ 3., inf]))
    """
    if sparse.issparse(X) and not np.isnan(X.data).any():
        return extremes(sparse.csc_array(X))
    numbers = numbers_in(X)
    low = np.fmin.reduce(numbers, axis=0, initial=np.inf)
    high = np.fmax.reduce(numbers, axis=0, initial=-np.inf)
    has_none = low > high
    low[has_none], high[has_none] = -np.inf, np.inf
    return low, high


def numbers_in(X: Any) -> Floats:
    """Rows as numbers, NaN where they have none, as in columns of text of a DataFrame."""
    if sparse.issparse(X):
        return np.asarray(X.toarray(), dtype=np.float64)
    if not (hasattr(X, "dtypes") and hasattr(X, "columns")):
        return np.asarray(X, dtype=np.float64)
    is_numeric = import_pandas().api.types.is_numeric_dtype
    # Those of NumPy are told at once, of many columns as well.
    kinds = [
        dtype.kind in "biufc" if isinstance(dtype, np.dtype) else is_numeric(dtype)
        for dtype in X.dtypes
    ]
    if all(kinds):
        return np.asarray(X.to_numpy(dtype=np.float64, na_value=np.nan))
    found = np.full(X.shape, np.nan)
    found[:, kinds] = X.loc[:, kinds].to_numpy(dtype=np.float64, na_value=np.nan)
    return found
