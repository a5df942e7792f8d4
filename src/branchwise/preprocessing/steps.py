"""The steps of a preparation: medians, a tree's means, logarithms, normal scores, scales, axes."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import ndtri
from sklearn.impute import SimpleImputer
from sklearn.utils.sparsefuncs import mean_variance_axis

from .._compat import kernel
from .._messages import setting
from .._typing import Bools, Floats, Ints, Matrix
from ..data.centering import CentredRows
from ..data.checks import check_finite
from ..data.moments import extremes
from ..linalg import column_signs, complete_basis, largest_eigenpairs
from ..solvers.conditional import TreeModel
from ..solvers.filling import fill_rows
from ..solvers.pca import RANK_RTOL, principal_axes
from .columns import check_some_known, column_label

# A spread below this part of the largest value is rounding.
CONSTANT_RTOL = 10 * np.finfo(np.float64).eps
# Symmetric matrices up to this size are decomposed as a whole. Components that are mostly noise,
# as the last of fifty usually are, lie so near to one another that an iteration takes longer.
MAX_DECOMPOSED = 4096


class Medians(NamedTuple):
    """Missing values become the median of the training data.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.steps import Medians
    >>> Medians(np.array([5.0, 7.0])).apply(np.array([[1.0, np.nan]]))
    array([[1., 7.]])
    """

    medians: Floats

    @classmethod
    def fit(cls, X: Matrix, names: Any = None, is_contrast: Bools | None = None) -> "Medians":
        """Medians of the known values; of a sparse matrix, with its zeros.

        Indicators, which are centred, get their mean 0.
        """
        check_some_known(X, names, setting("impute", "median"))
        check_finite(cls(np.zeros(X.shape[1])).apply(X), "X")
        medians = SimpleImputer(strategy="median").fit(X).statistics_.astype(np.float64)
        return cls(medians if is_contrast is None else np.where(is_contrast, 0.0, medians))

    def apply(self, X: Matrix) -> Matrix:
        """X with its missing values filled in, in its own precision."""
        medians = self.medians.astype(X.dtype)
        if not sparse.issparse(X):
            return np.where(np.isnan(X), medians, X)
        values = np.where(np.isnan(X.data), medians[X.indices], X.data)
        return type(X)((values, X.indices, X.indptr), shape=X.shape)


class TreeMeans(NamedTuple):
    """Missing values become what a tree makes likely of them, given what is known of their row.

    The first fields are those of `branchwise.solvers.conditional.TreeModel`; values beyond ``low``
    and ``high`` stay, but tell nothing of others.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.steps import TreeMeans
    >>> axes, places = np.array([[0.6, 0.8]]), np.array([[0.0], [10.0]])
    >>> tree = (axes, np.zeros(2), places, np.ones(2) / 2, np.eye(1), np.ones(2))
    >>> step = TreeMeans(*tree, low=np.full(2, -50.0), high=np.full(2, 50.0))
    >>> step.apply(np.array([[6.0, np.nan]])).round(3)
    array([[6., 8.]])
    """

    axes: Floats
    mean: Floats
    places: Floats
    weights: Floats
    spread: Floats
    noise: Floats
    low: Floats
    high: Floats

    def apply(self, X: Floats) -> Floats:
        """X with its missing values filled in, row by row."""
        *tree, low, high = self
        return fill_rows(X, TreeModel(*tree), low, high)


class Logarithms(NamedTuple):
    """log(1 + x), for counts and other values above −1; zero stays zero.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.steps import Logarithms
    >>> Logarithms().apply(np.array([[0.0, 1.0]])).round(3)
    array([[0.   , 0.693]])
    """

    # The columns that are numbers of the table, if some are encoded.
    is_number: Bools | None = None

    def check(self, X: Matrix, names: Any = None) -> None:
        """Values are above −1."""
        values = X.data if sparse.issparse(X) else X
        if not (values <= -1).any():  # a minimum would be NaN for one gap
            return
        cells = sparse.coo_array(X)
        is_wrong = cells.data <= -1
        if self.is_number is not None:
            is_wrong &= self.is_number[cells.col]
        wrong = np.flatnonzero(is_wrong)
        if len(wrong) == 0:
            return
        first = wrong[np.argmin(cells.col[wrong])]
        raise ValueError(
            f"X holds {cells.data[first]:.6g} in {column_label(names, cells.col[first])}, row "
            f"{cells.row[first]}, but log1p=True needs values above -1; leave log1p out for data "
            "that are logarithms or scores already."
        )

    def apply(self, X: Matrix) -> Matrix:
        """X on the logarithmic scale."""
        if sparse.issparse(X):
            return X.log1p()
        if self.is_number is None:
            return np.log1p(X)
        X = X.copy()
        X[:, self.is_number] = np.log1p(X[:, self.is_number])
        return X


def unit_of(low: Floats, high: Floats) -> Floats:
    """The largest value of each column: in units of this no square can vanish."""
    unit = np.maximum(-low, high)
    unit[unit == 0] = 1.0
    return unit


def scale_of(low: Floats, high: Floats, unit: Floats, variance: Floats) -> Floats:
    """The standard deviation by the variance in these units; 0 for a constant."""
    sd = np.sqrt(variance)
    is_constant = (low == high) | (sd <= CONSTANT_RTOL)
    return np.where(is_constant, 0.0, sd * unit)


class Scales(NamedTuple):
    """Every feature in units of its standard deviation (of the N samples, not of N − 1).

    Data are centred as well if those of the training were dense. Sparse ones were not, and no later
    rows are, dense or sparse: a row has to come out the same however it is stored. A feature that
    was constant in training has no scale: it becomes 0, there and in every later table.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.steps import Scales
    >>> X = np.array([[1.0, 3.0], [5.0, 3.0]])
    >>> Scales.fit(X).apply(X)
    array([[-1.,  0.],
           [ 1.,  0.]])
    """

    mean: Floats
    scale: Floats  # 0 for a constant
    # None: as the rows are stored, of which older files do not know, and which the axes make up for
    is_centred: bool | None = None

    @classmethod
    def fit(cls, X: Matrix, is_contrast: Bools | None = None) -> "Scales":
        """Means and standard deviations of the known values; contrasts stay as they are."""
        if not sparse.issparse(X) and np.isnan(X).any():
            return cls.of_known(X).sparing(is_contrast)
        low, high = extremes(X)
        unit = unit_of(low, high)
        if sparse.issparse(X):
            parts = sparse.csr_array((X.data / unit[X.indices], X.indices, X.indptr), X.shape)
            mean, variance = mean_variance_axis(parts, axis=0)
        else:
            parts = X / unit
            mean, variance = parts.mean(axis=0), parts.var(axis=0)
        scale = scale_of(low, high, unit, variance)
        return cls(mean * unit, scale, is_centred=not sparse.issparse(X)).sparing(is_contrast)

    @classmethod
    def of_known(cls, X: Floats) -> "Scales":
        """The same of each column of a table with gaps, from its known values."""
        columns = np.ascontiguousarray(X.T)
        is_known = ~np.isnan(columns)
        counts = is_known.sum(axis=1)
        mean, scale = np.empty((2, len(columns)))
        for count in np.unique(counts):  # as many at a time as fill a matrix without gaps
            some = counts == count
            known = columns[some][is_known[some]].reshape(-1, count)
            low, high = known.min(axis=1), known.max(axis=1)
            unit = unit_of(low, high)
            parts = known / unit[:, np.newaxis]
            mean[some] = parts.mean(axis=1) * unit
            scale[some] = scale_of(low, high, unit, parts.var(axis=1))
        return cls(mean, scale, is_centred=True)

    def sparing(self, columns: Bools | None) -> "Scales":
        """These scales, but for some columns that stay as they are."""
        if columns is None:
            return self
        mean, scale = np.where(columns, 0.0, self.mean), np.where(columns, 1.0, self.scale)
        return self._replace(mean=mean, scale=scale)

    @classmethod
    def weights(cls, X: Floats, is_contrast: Bools) -> "Scales":
        """Only contrasts change: times the root mean square of the others' deviations.

        Examples
        --------
        >>> import numpy as np
        >>> from branchwise.preprocessing.steps import Scales
        >>> X = np.array([[-1.0, 3.0], [1.0, 7.0]])
        >>> Scales.weights(X, np.array([True, False])).apply(X)
        array([[-2.,  3.],
               [ 2.,  7.]])
        """
        deviations = cls.fit(X[:, ~is_contrast]).scale if not is_contrast.all() else np.zeros(1)
        size = deviations.max()
        unit = size * np.sqrt(np.mean((deviations / size) ** 2)) if size > 0 else 1.0
        scale = np.where(is_contrast, 1.0 / unit, 1.0)
        return cls(np.zeros(len(scale)), scale, is_centred=False)

    def makes_dense(self, X: Matrix) -> bool:
        """Whether X is sparse and does not stay so."""
        return sparse.issparse(X) and bool(self.is_centred)

    def apply(self, X: Matrix) -> Matrix:
        """X in these units."""
        has_scale = self.scale > 0
        scale = np.where(has_scale, self.scale, 1.0)
        if sparse.issparse(X) and not self.is_centred:
            values = np.where(has_scale[X.indices], X.data / scale[X.indices], 0.0)
            return type(X)((values, X.indices, X.indptr), shape=X.shape)
        rows = X.toarray() if sparse.issparse(X) else X
        if self.is_centred is not False:
            rows = rows - self.mean
        rows = rows / scale
        if not has_scale.all():
            rows[:, ~has_scale] = np.where(np.isnan(rows[:, ~has_scale]), np.nan, 0.0)
        return rows

    def divide(self, values: Floats) -> Floats:
        """Values of the features in these units, not centred; 0 for constants."""
        return np.divide(values, self.scale, out=np.zeros_like(values), where=self.scale > 0)

    def mean_after(self, X: Matrix, learned: Floats) -> Floats:
        """The mean of the training data in these units, as `apply` would give them stored as X is.

        `learned` is their mean as they were stored, sparse or not: 0 but for rounding if not.
        """
        mean = self.divide(self.mean)
        was_sparse = np.abs(learned).sum() > np.abs(mean).sum() / 2
        if was_sparse == sparse.issparse(X):
            return learned
        return np.zeros_like(mean) if was_sparse else mean


class Axes(NamedTuple):
    """Coordinates along the principal axes of the training data.

    The entry of largest size of each axis is positive. Axes beyond the rank of the data are
    arbitrary; the training data are zero along them.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.steps import Axes
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> axes = Axes.fit(X, 1)
    >>> axes.apply(X).round(6).ravel(), axes.variance_ratio.round(6)
    (array([-5.,  0.,  5.]), array([1.]))
    """

    mean: Floats
    components: Floats
    variance_ratio: Floats

    @classmethod
    def fit(cls, X: Matrix, n_components: int) -> "Axes":
        """The axes of largest variance."""
        check_n_axes(n_components, X.shape)
        Y = CentredRows(X)
        W = complete_basis(Y.lift(leading_axes(Y, n_components)), n_components)
        W = W * column_signs(W)
        along = Y.project(Y.lower(W))
        ratio = np.einsum("ij,ij->j", along, along) / max(Y.energy, np.finfo(float).tiny)
        return cls(Y.mean, np.ascontiguousarray(W.T), ratio)

    def apply(self, X: Matrix) -> Floats:
        """X along the axes, by the same sums for one row as for many."""
        W = np.ascontiguousarray(self.components.T)
        if sparse.issparse(X):
            return np.asarray(X @ W - self.mean @ W)
        return centred_product(X, self.mean, W)


def check_n_axes(n_components: int, shape: tuple[int, int]) -> None:
    """There are at most as many axes as samples and as features."""
    if n_components > min(shape):
        raise ValueError(
            f"pca={n_components} must be at most min(n_samples, n_features)={min(shape)} "
            f"(n_samples={shape[0]}, n_features={shape[1]}); lower pca."
        )


def leading_axes(Y: CentredRows, n_components: int) -> Floats:
    """Orthonormal axes of largest variance, but none without any, at least one.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.steps import leading_axes
    >>> from branchwise.data.centering import CentredRows
    >>> Y = CentredRows(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]))
    >>> np.abs(leading_axes(Y, 2)).round(6)
    array([[0.707107],
           [0.707107]])
    """
    if min(Y.n_rows, Y.n_dims) > MAX_DECOMPOSED:
        W, rank = principal_axes(Y, n_components)
        return W[:, : max(rank, 1)]
    if Y.n_dims <= MAX_DECOMPOSED:
        values, W = largest_eigenpairs(Y.gram(), min(n_components, Y.n_dims))
    else:
        rows = Y.dense(slice(0, Y.n_rows))
        values, U = largest_eigenpairs(rows @ rows.T, n_components)
        W = rows.T @ U
    return axes_with_variance(values[::-1], W[:, ::-1])


def axes_with_variance(values: Floats, W: Floats) -> Floats:
    """Eigenvectors, orthonormal or nearly, whose eigenvalues are more than rounding; or one axis.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.steps import axes_with_variance
    >>> axes_with_variance(np.array([3.0, 1e-20]), np.eye(2)).shape
    (2, 1)
    """
    W = W[:, values > RANK_RTOL * max(values[0], 0.0)]
    if W.shape[1] == 0:
        return np.eye(len(W), 1)
    # Orthonormal but for rounding, or times a singular value each.
    Q, R = np.linalg.qr(W)
    return Q * np.where(np.diag(R) < 0, -1.0, 1.0)


# Normal scores of ranks

# So many values are kept of a feature at most.
MAX_KNOTS = 1000
# Blom's: the score of rank r among N is the normal quantile of (r − 3/8)/(N + 1/4).
BLOM = 0.375


class NormalScores(NamedTuple):
    """The normal score of each value's rank in the training data.

    Between two values of the table scores are interpolated; beyond it they are those of its ends.
    The values of feature j are ``values[offsets[j]:offsets[j + 1]]``; without any, it stays as it
    is, as contrasts do.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.steps import NormalScores
    >>> table = NormalScores.fit(np.array([[1.0], [10.0], [100.0]]))
    >>> table.apply(np.array([[1.0], [10.0], [100.0], [55.0], [1e6]])).round(2).ravel()
    array([-0.87,  0.  ,  0.87,  0.43,  0.87])
    """

    values: Floats
    scores: Floats
    offsets: Ints

    @classmethod
    def fit(cls, X: Floats, is_contrast: Bools | None = None) -> "NormalScores":
        """The table of each feature, from its known values."""
        spared = np.zeros(X.shape[1], dtype=bool) if is_contrast is None else is_contrast
        none = np.empty(0), np.empty(0)
        tables = [
            none if spared[j] else knots(*blom_scores(column[~np.isnan(column)]))
            for j, column in enumerate(X.T)
        ]
        values, scores = (np.concatenate(parts) for parts in zip(*tables, strict=True))
        sizes = [len(table[0]) for table in tables]
        return cls(values, scores, np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp))

    def apply(self, X: Floats) -> Floats:
        """The scores of the values of X."""
        out = np.empty(X.shape)
        for j, column in enumerate(X.T):
            part = slice(self.offsets[j], self.offsets[j + 1])
            out[:, j] = interpolate(column, self.values[part], self.scores[part])
        return out


def blom_scores(x: Floats) -> tuple[Floats, Floats]:
    """The distinct values in order, and the normal scores of their ranks; equals share one.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.steps import blom_scores
    >>> values, scores = blom_scores(np.array([3.0, 1.0, 3.0, 4.0]))
    >>> values, scores.round(3)
    (array([1., 3., 4.]), array([-1.049,  0.   ,  1.049]))
    """
    values, counts = np.unique(x, return_counts=True)
    rank = np.cumsum(counts) - (counts - 1) / 2
    return values, ndtri((rank - BLOM) / (len(x) + 1 - 2 * BLOM))


def knots(values: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """At most `MAX_KNOTS` of the values, so that interpolation misses no score by a step or more.

    A step is the range of the scores divided into ``MAX_KNOTS / 2 − 1``: below 0.02 for a million
    samples. The values next to every multiple of it are kept, on either side, so that a value that
    was left out lies between two whose scores are within one step. That holds for any distribution,
    as scores never fall; a jump at a value that many samples share stays one.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.steps import blom_scores, knots
    >>> values, scores = blom_scores(np.random.default_rng(0).normal(size=5000))
    >>> len(knots(values, scores)[0]) <= 1000
    True
    """
    if len(values) <= MAX_KNOTS:
        return values, scores
    grid = np.linspace(scores[0], scores[-1], MAX_KNOTS // 2)
    above = np.searchsorted(scores, grid, side="left")
    below = np.searchsorted(scores, grid, side="right") - 1
    kept = np.unique(np.concatenate([above, below]))
    return values[kept], scores[kept]


def interpolate(x: Floats, values: Floats, scores: Floats) -> Floats:
    """Scores at x: exact at the values, constant beyond them.

    Unlike `numpy.interp`, it divides by no gap before it has multiplied: values may be as near to
    each other as numbers get.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.steps import interpolate
    >>> interpolate(np.array([-1.0, 0.5, 9.0]), np.array([0.0, 1.0]), np.array([-2.0, 2.0]))
    array([-2.,  0.,  2.])
    """
    if len(values) == 0:
        return x
    if len(values) == 1:
        return np.where(np.isnan(x), np.nan, scores[0])
    x = np.clip(x, values[0], values[-1])
    k = np.minimum(np.searchsorted(values, x, side="right") - 1, len(values) - 2)
    part = (x - values[k]) / (values[k + 1] - values[k])
    return (1 - part) * scores[k] + part * scores[k + 1]


# Rows after the steps, a block at a time: what becomes of one does not depend on the others


def centred_product(X: Floats, center: Floats, W: Floats) -> Floats:
    """(X − 1·centerᵀ) @ W, row by row.

    A product of matrices rounds a row as its place in the batch suggests; here every row goes the
    same way, and is the same to the last bit in any company.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.steps import centred_product
    >>> centred_product(np.array([[2.0, 3.0]]), np.array([1.0, 1.0]), np.eye(2))
    array([[1., 2.]])
    """
    out = np.zeros((len(X), W.shape[1]))
    add_products(np.ascontiguousarray(X), center, np.ascontiguousarray(W), out)
    return out


@kernel
def add_products(X: Floats, center: Floats, W: Floats, out: Floats) -> None:
    """Add (X − center) @ W to out, feature after feature."""
    for i in range(len(X)):
        for j in range(len(center)):
            x = X[i, j] - center[j]
            for k in range(W.shape[1]):
                out[i, k] += x * W[j, k]


# Rows that are worked on at a time, in double precision.
BLOCK = 8192
# Steps whose result is dense whatever they are given.
DENSE = {"rank_normalize", "adjust"}


def repeat_steps(
    steps: dict[str, Any], X: Matrix, Z: Floats | None = None, n_rows: int = BLOCK
) -> Matrix:
    """X, at least one row, after all steps, in its own precision; gaps go through as NaN.

    Parameters
    ----------
    steps : dict
        As in `Preparation.steps_`.
    X : array or CSR matrix of shape (n_samples, n_features)
    Z : array of shape (n_samples, n_columns) or None
        The encoded covariates, for adjust.
    n_rows : int
        So many are worked on at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.steps import repeat_steps
    >>> from branchwise.preprocessing.steps import Scales
    >>> steps = {"standardize": Scales(np.array([2.0]), np.array([0.5]))}
    >>> repeat_steps(steps, np.array([[3.0]], dtype=np.float32))
    array([[2.]], dtype=float32)
    """
    blocks = [slice(start, start + n_rows) for start in range(0, X.shape[0], n_rows)]
    done = [
        after_steps(steps, X[rows], None if Z is None else Z[rows]).astype(X.dtype)
        for rows in blocks
    ]
    return sparse.vstack(done, format="csr") if sparse.issparse(done[0]) else np.vstack(done)


def after_steps(steps: dict[str, Any], X: Matrix, Z: Floats | None = None) -> Matrix:
    """Some rows after all steps but those that encode them or put in medians, in double precision.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.steps import after_steps
    >>> from branchwise.preprocessing.steps import Logarithms
    >>> after_steps({"log1p": Logarithms()}, np.zeros((1, 2)))
    array([[0., 0.]])
    """
    X = in_double(X)
    for name, step in steps.items():
        if name in DENSE and sparse.issparse(X):
            X = X.toarray()
        if name == "standardize" and "pca" in steps:
            step = step._replace(is_centred=None)  # so that sparse rows stay sparse until then
        if name == "pca" and "standardize" in steps and not fills_late(steps):
            # Which has centred X, or not, as the training data may have not been, or been.
            step = step._replace(mean=steps["standardize"].mean_after(X, step.mean))
        if name == "adjust":
            X = step.apply(X, Z)
        elif name == "impute":
            X = step.apply(X) if fills_late(steps) else X
        elif name != "encode":
            X = step.apply(X)
    return X


def fills_late(steps: dict[str, Any]) -> bool:
    """Whether gaps go through the other steps, and are filled in the prepared units.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.steps import Medians, fills_late
    >>> fills_late({"impute": Medians(np.zeros(1))})
    False
    """
    return isinstance(steps.get("impute"), TreeMeans)


def before_steps(
    steps: dict[str, Any], values: Floats, columns: Ints, Z: Floats | None = None
) -> Floats:
    """Prepared values of single columns, before any pca, as they were before all steps.

    Parameters
    ----------
    steps : dict
        As in `Preparation.steps_`, for columns that are numbers of the table.
    values : array of shape (n,)
    columns : array of int, shape (n,)
        The column of each.
    Z : array of shape (n, n_columns) or None
        The encoded covariates of the row of each.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.steps import Logarithms, Scales, before_steps
    >>> steps = {"log1p": Logarithms(), "standardize": Scales(np.array([2.0]), np.array([0.5]))}
    >>> before_steps(steps, np.array([3.0]), np.array([0])).round(3)
    array([32.115])
    """
    if "standardize" in steps:
        scales = steps["standardize"]
        center = 0.0 if scales.is_centred is False else scales.mean[columns]
        values = values * scales.scale[columns] + center
    if "adjust" in steps and Z is not None:
        residuals = steps["adjust"]
        values = values + np.einsum(
            "nk,nk->n", Z - residuals.center, residuals.coefficients[:, columns].T
        )
    if "rank_normalize" in steps:
        table, values = steps["rank_normalize"], values.copy()
        for j in np.unique(columns):
            part, of = slice(table.offsets[j], table.offsets[j + 1]), columns == j
            if part.start == part.stop:  # contrasts have no ranks
                continue
            values[of] = np.interp(values[of], table.scores[part], table.values[part])
    if "log1p" in steps:
        is_number = steps["log1p"].is_number
        was_taken = True if is_number is None else is_number[columns]
        values = np.where(was_taken, np.expm1(values, where=was_taken, out=values.copy()), values)
    return values


def dense_steps(steps: dict[str, Any], X: Matrix) -> list[str]:
    """The steps after which sparse rows are dense, but for the axes.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from branchwise.preprocessing.steps import dense_steps
    >>> from branchwise.preprocessing.steps import Scales
    >>> fitted = {"standardize": Scales.fit(np.array([[1.0], [3.0]]))}
    >>> dense_steps(fitted, sparse.csr_array([[2.0]]))
    ['standardize']
    """
    found = [name for name in steps if name in DENSE]
    if "standardize" in steps and steps["standardize"].makes_dense(X):
        found.append("standardize")
    return found


def largest_known(X: Matrix, name: str) -> float:
    """The size of the largest value that is known, if all of these are finite.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.steps import largest_known
    >>> largest_known(np.array([[1.0, np.nan], [-3.0, 2.0]]), "X")
    3.0
    """
    return check_finite(Medians(np.zeros(X.shape[1])).apply(X), name)


def in_double(X: Matrix) -> Matrix:
    """In double precision and row after row: how sums are rounded depends on the order in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.steps import in_double
    >>> in_double(np.ones((2, 3), dtype=np.float32, order="F")).flags.c_contiguous
    True
    """
    return X.astype(np.float64) if sparse.issparse(X) else X.astype(np.float64, order="C")
