"""Tests of many features at once, as products of matrices: F tests, Welch tests, correlations."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import linalg, stats

from .._typing import Bools, Floats

# What others explain up to this part of its size is explained by them.
RANK_TOLERANCE = 1e-9
FLAT_TOLERANCE = 1e-13

Columns: TypeAlias = dict[str, Any]


class FTest(NamedTuple):
    """F tests of two nested models by least squares, one per feature."""

    statistic: Floats
    df_num: int
    df_den: int
    p_value: Floats
    explained: Floats  # part of the null model's residual squares
    fitted: Floats  # (n_samples, n_features): what the alternative adds to the null model


def nested_test(null: Floats, alternative: Floats, Y: Floats) -> FTest:
    """F test of the columns of `null` against those of both matrices, for each column of Y.

    With RSS₀ and RSS₁ the residual squares of the models, F = ((RSS₀ − RSS₁)/df_num)/(RSS₁/df_den).

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.trajectory.statistics import nested_test
    >>> x = np.array([0.0, 1.0, 2.0, 3.0])
    >>> test = nested_test(np.ones((4, 1)), x[:, None], np.array([[0.0, 1.0, 2.0, 4.0]]).T)
    >>> test.statistic.round(3), test.df_num, test.df_den
    (array([56.333]), 1, 2)
    """
    n, n_features = Y.shape
    Q0 = orthonormal(null)
    Q1 = orthonormal(alternative - Q0 @ (Q0.T @ alternative), linalg.norm(alternative))
    df_num, df_den = Q1.shape[1], n - Q0.shape[1] - Q1.shape[1]
    residual = Y - Q0 @ (Q0.T @ Y)
    before = np.sum(residual**2, axis=0)
    flat = is_flat(before, Y)
    fitted = Q1 @ (Q1.T @ residual)
    fitted[:, flat] = 0.0
    residual -= fitted
    explained = np.sum(fitted**2, axis=0) / np.where(flat, 1.0, before)
    if df_num == 0 or df_den <= 0:
        nothing = np.full(n_features, np.nan)
        return FTest(nothing, df_num, max(df_den, 0), np.ones(n_features), explained, fitted)
    after = np.where(flat, 1.0, np.sum(residual**2, axis=0))
    with np.errstate(divide="ignore"):  # a perfect fit
        statistic = np.sum(fitted**2, axis=0) / df_num / (after / df_den)
    p_value = stats.f.sf(statistic, df_num, df_den)
    return FTest(statistic, df_num, df_den, p_value, explained, fitted)


def orthonormal(X: Floats, size: float | None = None) -> Floats:
    """Orthonormal basis of the columns of X, by QR; what is small beside `size` counts as zero.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.trajectory.statistics import orthonormal
    >>> orthonormal(np.array([[1.0, 2.0], [1.0, 2.0]])).shape
    (2, 1)
    """
    if X.size == 0:
        return np.zeros((len(X), 0))
    Q, R, _ = linalg.qr(X, mode="economic", pivoting=True)
    norm = linalg.norm(X) if size is None else size
    return Q[:, np.abs(np.diag(R)) > RANK_TOLERANCE * norm]


def is_flat(squares: Floats, Y: Floats) -> Bools:
    """Whether what is left of each column of Y, as a sum of squares, is only rounding."""
    return squares <= FLAT_TOLERANCE**2 * np.sum(Y**2, axis=0)


def extremes(common: Floats, member: Floats, Y: Floats) -> Columns:
    """The groups with the highest and the lowest mean at equal times, and their difference.

    The means are the groups' constants in the model with a common function of time.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.trajectory.statistics import extremes
    >>> member = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> extremes(np.ones((3, 1)), member, np.array([[1.0], [3.0], [7.0]]))
    {'difference': array([5.]), 'highest': array([1]), 'lowest': array([0])}
    """
    present = np.flatnonzero(member.any(axis=0))
    if len(present) < 2:
        return {"difference": 0.0, "highest": -1, "lowest": -1}
    model = np.column_stack([member[:, present], common])
    constants = (linalg.pinv(model) @ (Y - Y.mean(axis=0)))[: len(present)]
    high, low = np.argmax(constants, axis=0), np.argmin(constants, axis=0)
    return {
        "difference": np.ptp(constants, axis=0),
        "highest": present[high],
        "lowest": present[low],
    }


def welch_tests(member: Floats, Y: Floats) -> list[Columns]:
    """Welch's t test of the samples in each group against the others, for each column of Y."""
    centre = Y.mean(axis=0) if len(Y) else np.zeros(Y.shape[1])
    Y = Y - centre
    squares = Y**2
    total, total_squares = Y.sum(axis=0), squares.sum(axis=0)
    flat = is_flat(total_squares, Y + centre)
    found = []
    for inside in member.T:
        sides = []
        sums = inside @ Y, inside @ squares
        for n, first, second in (
            (inside.sum(), *sums),
            (len(Y) - inside.sum(), total - sums[0], total_squares - sums[1]),
        ):
            mean = first / n if n else np.full_like(first, np.nan)
            variance = np.maximum(second - n * mean**2, 0.0) / (n - 1) if n > 1 else mean * np.nan
            sides.append((mean, np.sqrt(variance), int(n)))
        # No variance on either side: certain if the means differ.
        with np.errstate(divide="ignore", invalid="ignore"):
            t, p = stats.ttest_ind_from_stats(*sides[0], *sides[1], equal_var=False)
        (mean, _, n), (mean_rest, _, n_rest) = sides
        found.append(
            {
                "mean": mean + centre,
                "mean_rest": mean_rest + centre,
                "difference": mean - mean_rest,
                "statistic": np.where(flat & np.isfinite(mean + mean_rest), 0.0, t),
                "p_value": np.where(flat | np.isnan(p), 1.0, p),
                "n_samples": n,
                "n_rest": n_rest,
            }
        )
    return found


def correlations(t: Floats, Y: Floats) -> Floats:
    """Pearson's correlation of t with each column of Y; 0 where either is constant.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.trajectory.statistics import correlations
    >>> correlations(np.arange(3.0), np.array([[0.0, 5.0], [-1.0, 5.0], [-2.0, 5.0]]))
    array([-1.,  0.])
    """
    if len(t) == 0:
        return np.zeros(Y.shape[1])
    t, centred = t - t.mean(), Y - Y.mean(axis=0)
    squares = np.sum(centred**2, axis=0)
    flat = is_flat(squares, Y) | (np.ptp(t) == 0)
    return np.where(flat, 0.0, t @ centred) / np.where(flat, 1.0, np.sqrt(squares * (t @ t)))
