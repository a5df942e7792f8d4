"""Tests of features against the graph: which change along it, which differ between branches."""

from numbers import Integral
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import linalg, special, stats
from threadpoolctl import threadpool_limits

from .._compat import import_pandas
from .._messages import listed
from .._typing import Bools, Floats, Ints
from ..data.checks import check_count
from ..graph.placement import Placement
from .checks import check_features, feature_blocks
from .trends import (
    check_branches,
    diagonalise,
    hat_values,
    knots_along,
    pseudotimes,
    roughness,
    straight_and_bent,
)

# What others explain up to this part of its size is explained by them.
RANK_TOLERANCE = 1e-9
FLAT_TOLERANCE = 1e-13

Columns: TypeAlias = dict[str, Any]

METHODS = ("linear", "rank")
# Knots below the few smooth functions that the tests fit.
N_KNOTS = 100
# Smaller p-values are near the end of the numbers that there are, and lose digits.
LEAST_P = 1e-280


class FTest(NamedTuple):
    """F tests of two nested models by least squares, one per feature."""

    statistic: Floats
    df_num: int
    df_den: int
    p_value: Floats
    log_p: Floats  # its logarithm, which tells apart what is too small for a p-value
    explained: Floats  # part of the null model's residual squares
    fitted: Floats  # (n_samples, n_features): what the alternative adds to the null model


def associated_features(
    placed: Placement,
    start_time: Any,
    values: Any,
    feature_names: Any = None,
    *,
    df: int | None = None,
    method: str = "linear",
    sort: bool = True,
    end_time: Any = None,
) -> Any:
    """Test each feature for a change along the tree.

    An F test of two models by least squares: a constant, and a smooth function on the tree that is
    continuous at the forks, a combination of its `df` smoothest functions (those that the penalty
    of `tree_trends` shrinks least, straight lines first). False discovery rates after
    Benjamini & Hochberg (*JRSS B* 57, 1995).

    The p-values hold for pseudotime that was not learned from the tested features. Where it was,
    as usual, they are too small, for noise that helped to place the samples is found again: take
    them for a ranking. For valid ones learn the tree from half of the features and test
    the other half, or learn it from other measurements of the same samples. They are exact for
    normal noise; the smallest ones of very skewed values are too small, unless ranks are tested.

    Parameters
    ----------
    placed, start_time, values, feature_names
        As for `tree_trends`.
    df : int, optional
        Degrees of freedom of the change along the tree: by default 2 + 2·(number of branches), but
        not more than a quarter of the samples.
    method : {"linear", "rank"}, default="linear"
        Whether the values themselves are fitted, or their ranks, which outliers and the
        skewness of counts do not move.
    sort : bool, default=True
        Whether the rows come by the strength of the evidence, the strongest first, rather than in
        the order of the features. Of p-values too small for a number, all 0 in the table, the
        logarithms are compared.
    end_time
        As for `tree_trends`.

    Returns
    -------
    DataFrame
        One row per feature: ``feature``, ``statistic`` (F), ``df_num``, ``df_den``, ``p_value``,
        ``q_value``, ``r_squared`` (part of the variance that the tree explains), ``amplitude``
        (largest minus smallest fitted value of a sample), ``correlation`` with pseudotime
        (Pearson's, or with ranks Spearman's) and ``n_samples`` (values that are not NaN).
        A constant feature has statistic 0 and p-value 1; with too few samples to
        leave degrees of freedom the statistic is NaN and the p-value 1.

    Examples
    --------
    Simulated: of three features, one follows a path and one is constant.

    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.trajectory.association import associated_features
    >>> rng = np.random.default_rng(0)
    >>> placed = Placement(2, np.array([[0, 1]]), np.ones(1), np.zeros(50, int), rng.random(50))
    >>> values = rng.standard_normal((50, 3))
    >>> values[:, 1] += 3 * placed.position
    >>> values[:, 2] = 7
    >>> found = associated_features(placed, [0.0], values, ["noise", "signal", "constant"])
    >>> found[["feature", "p_value", "correlation"]].round(3)
        feature  p_value  correlation
    0    signal    0.000        0.637
    1     noise    0.698        0.177
    2  constant    1.000        0.000
    """
    start_time, _ = check_branches(placed, start_time, range(len(placed.edges)))
    values, names = check_features(values, feature_names, len(placed.edge))
    check_method(method)
    if df is None:
        n_branches = len(np.unique(placed.edge))
        df = max(1, min(2 + 2 * n_branches, len(placed.edge) // 4))
    basis = smooth_functions(placed, check_count(df, "df"))
    constant = np.ones((len(basis), 1))
    time = pseudotimes(placed, start_time, end_time, placed.edge, placed.position)
    columns: Columns = {}
    with threadpool_limits(limits=1):  # threads cost more than such small matrices take
        for block in feature_blocks(values):
            Y, t = block.values, time[block.rows]
            if method == "rank":
                Y, t = stats.rankdata(Y, axis=0), stats.rankdata(t)
            test = nested_test(constant[block.rows], basis[block.rows], Y)
            effects = {
                "r_squared": test.explained,
                "amplitude": np.ptp(test.fitted, axis=0) if len(Y) else 0.0,
                "correlation": correlations(t, Y),
                "n_samples": len(Y),
            }
            store(columns, block.columns, len(names), shared_columns(test) | effects)
    return result_table(names, columns, sort)


def branch_differences(
    placed: Placement,
    start_time: Any,
    branch_names: Any,
    values: Any,
    feature_names: Any = None,
    *,
    fork: int,
    subtrees: bool = True,
    df: int = 3,
    method: str = "linear",
    sort: bool = True,
) -> Any:
    """Test each feature for a difference between the branches that leave a fork.

    An F test of two models by least squares on the samples beyond the fork: one smooth function of
    the time since the fork, and one for each branch. Branches differ if they lie
    apart, or change differently. The p-values hold for branches that were not learned from the
    tested features; see `associated_features`.

    Parameters
    ----------
    placed, start_time, branch_names, values, feature_names
        As for `tree_trends`.
    fork : int
        A milestone at which two branches or more start.
    subtrees : bool, default=True
        Whether a branch includes all branches after it, or ends at the next milestone.
        What several of the branches lead to (on a graph with cycles) belongs to none.
    df : int, default=3
        Degrees of freedom of each function, besides the constant.
    method, sort
        As for `associated_features`.

    Returns
    -------
    DataFrame
        One row per feature: ``feature``, ``statistic`` (F), ``df_num``, ``df_den``, ``p_value``,
        ``q_value``, ``r_squared`` (part of the variance about the common function that the
        difference explains), ``difference`` (between the ``highest`` and the ``lowest`` branch, in
        the mean at equal times) and ``n_samples``. Constant features and too few samples
        are as in `associated_features`; with values on less than two branches there is no
        difference to test, and ``highest`` and ``lowest`` are missing.

    Examples
    --------
    Simulated: of two features, one rises on one branch only.

    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.trajectory.association import branch_differences
    >>> rng = np.random.default_rng(0)
    >>> placed = Placement(4, np.array([[0, 1], [1, 2], [1, 3]]), np.ones(3),
    ...                    rng.integers(3, size=90), rng.random(90))
    >>> values = rng.standard_normal((90, 2))
    >>> values[:, 1] += 5 * placed.position * (placed.edge == 2)
    >>> found = branch_differences(placed, [0, 1, 1], ["stem", "left", "right"], values, fork=1)
    >>> found[["feature", "p_value", "difference", "highest"]].round(3)
       feature  p_value  difference highest
    0        1    0.000       2.670   right
    1        0    0.665       0.113   right
    """
    start_time, branch_names = check_branches(placed, start_time, branch_names)
    values, names = check_features(values, feature_names, len(placed.edge))
    check_method(method)
    check_count(df, "df")
    leaving = branches_from(placed, fork)
    group = groups(placed, leaving, subtrees)[placed.edge]
    beyond = np.flatnonzero(group >= 0)
    group = group[beyond]
    time = start_time[placed.edge] + placed.position * placed.lengths[placed.edge]
    time = time[beyond] - start_time[leaving[0]]
    span = max(float(time.max(initial=0.0)), np.finfo(float).tiny)
    path = Placement(
        2, np.array([[0, 1]]), np.array([span]), np.zeros_like(beyond), np.clip(time / span, 0, 1)
    )
    common = smooth_functions(path, df)
    member = (group[:, None] == np.arange(len(leaving))).astype(np.float64)
    each = np.hstack([common * inside[:, None] for inside in member.T])
    columns: Columns = {}
    with threadpool_limits(limits=1):  # threads cost more than such small matrices take
        for block in feature_blocks(values, beyond):
            Y = stats.rankdata(block.values, axis=0) if method == "rank" else block.values
            test = nested_test(common[block.rows], each[block.rows], Y)
            effects = {
                "r_squared": test.explained,
                **extremes(common[block.rows], member[block.rows], Y),
                "n_samples": len(Y),
            }
            store(columns, block.columns, len(names), shared_columns(test) | effects)
    of_group = [branch_names[b] for b in leaving]
    for side in ("highest", "lowest"):
        columns[side] = import_pandas().Categorical.from_codes(columns[side], of_group)
    return result_table(names, columns, sort)


def branch_markers(
    placed: Placement,
    branch_names: Any,
    values: Any,
    feature_names: Any = None,
    *,
    method: str = "linear",
    sort: bool = True,
) -> Any:
    """Compare each branch's samples with all others: features whose mean marks a branch.

    Welch's t test, with false discovery rates over the features of each branch. The p-values hold
    for branches that were not learned from the tested features; see `associated_features`.

    Parameters
    ----------
    placed, branch_names, values, feature_names
        As for `tree_trends`.
    method : {"linear", "rank"}, default="linear"
        Whether means of the values are compared, or of their ranks.
    sort : bool, default=True
        Whether the rows of each branch come by the strength of the evidence, as in
        `associated_features`.

    Returns
    -------
    DataFrame
        One row per branch and feature: ``branch``, ``feature``, ``mean`` on the branch,
        ``mean_rest``, ``difference``, ``statistic`` (t), ``p_value``, ``q_value``, ``n_samples``
        and ``n_rest``. A constant feature has statistic 0 and p-value 1; with
        fewer than two samples on either side the statistic is NaN and the p-value 1.

    Examples
    --------
    Simulated: a feature that is higher on the second branch.

    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.trajectory.association import branch_markers
    >>> rng = np.random.default_rng(0)
    >>> placed = Placement(3, np.array([[0, 1], [0, 2]]), np.ones(2),
    ...                    np.repeat([0, 1], 20), rng.random(40))
    >>> values = rng.standard_normal((40, 2)) + 3 * np.outer(placed.edge, [0, 1])
    >>> found = branch_markers(placed, ["a", "b"], values)
    >>> found[["branch", "feature", "difference", "p_value"]].round(3)
      branch  feature  difference  p_value
    0      a        1      -2.942    0.000
    1      a        0       0.539    0.083
    2      b        1       2.942    0.000
    3      b        0      -0.539    0.083
    """
    pd = import_pandas()
    _, branch_names = check_branches(placed, np.zeros(len(placed.edges)), branch_names)
    values, names = check_features(values, feature_names, len(placed.edge))
    check_method(method)
    member = (placed.edge[:, None] == np.arange(len(placed.edges))).astype(np.float64)
    columns: list[Columns] = [{} for _ in branch_names]
    for block in feature_blocks(values):
        Y = stats.rankdata(block.values, axis=0) if method == "rank" else block.values
        for branch, found in enumerate(welch_tests(member[block.rows], Y)):
            store(columns[branch], block.columns, len(names), found)
    tables = [result_table(names, found, sort) for found in columns]
    for name, table in zip(branch_names, tables, strict=True):
        table.insert(0, "branch", name)
    return pd.concat(tables, ignore_index=True)


def smooth_functions(placed: Placement, df: int) -> Floats:
    """Values at the samples of the smoothest functions on the graph, `df` besides the constant.

    There may be fewer, if the samples lie in few places; and more, since functions without
    any bend are all included: a slope for every branch at the root, a constant for every tree.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.trajectory.association import smooth_functions
    >>> path = Placement(2, np.array([[0, 1]]), np.ones(1), np.zeros(9, int), np.arange(9) / 8)
    >>> smooth_functions(path, 3).shape  # with the constant
    (9, 4)
    """
    if len(placed.edge) == 0:
        return np.zeros((0, 1))
    knots = knots_along(placed, N_KNOTS)
    B = hat_values(knots, placed.edge, placed.position)
    smoother = diagonalise(*straight_and_bent(roughness(knots)), B)
    n_bent = max(0, df + 1 - smoother.free.shape[1])
    gain = smoother.gain[:n_bent]
    bent = smoother.bent[:, :n_bent][:, gain > 0] / np.sqrt(gain[gain > 0])
    return B @ np.column_stack([smoother.free, bent])


def branches_from(placed: Placement, fork: Any) -> Ints:
    """The branches that start at a milestone, if it is a fork."""
    forks = forks_of(placed)
    check_fork(fork, isinstance(fork, Integral) and fork in forks, forks)
    return np.flatnonzero(is_real(placed) & (placed.edges[:, 0] == fork))


def forks_of(placed: Placement) -> list[int]:
    """The milestones at which several branches start.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.trajectory.association import forks_of
    >>> tree = Placement(5, np.array([[0, 1], [1, 2], [1, 3], [3, 4]]), np.ones(4),
    ...                  np.array([], dtype=int), np.array([]))
    >>> forks_of(tree)
    [1]
    """
    starts, count = np.unique(placed.edges[is_real(placed), 0], return_counts=True)
    return [int(start) for start in starts[count > 1]]


def is_real(placed: Placement) -> Bools:
    """Which branches are not just a loop for samples to lie on."""
    return (placed.edges[:, 0] != placed.edges[:, 1]) | (placed.lengths > 0)


def groups(placed: Placement, leaving: Ints, subtrees: bool) -> Ints:
    """Which of the leaving branches each branch belongs to; −1 for none, or for several.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.trajectory.association import groups
    >>> tree = Placement(5, np.array([[0, 1], [1, 2], [1, 3], [3, 4]]), np.ones(4),
    ...                  np.array([], dtype=int), np.array([]))
    >>> groups(tree, np.array([1, 2]), subtrees=True)
    array([-1,  0,  1,  1])
    """
    reached = np.zeros((len(leaving), len(placed.edges)), dtype=bool)
    reached[np.arange(len(leaving)), leaving] = True
    fork = placed.edges[leaving[0], 0]
    if subtrees:
        for row in reached:
            n_before = 0
            while row.sum() > n_before:
                n_before = row.sum()
                ends = np.setdiff1d(placed.edges[row, 1], fork)
                row |= np.isin(placed.edges[:, 0], ends)
        reached[:, leaving] = np.eye(len(leaving), dtype=bool)
    return np.where(reached.sum(axis=0) == 1, np.argmax(reached, axis=0), -1)


def nested_test(null: Floats, alternative: Floats, Y: Floats) -> FTest:
    """F test of the columns of `null` against those of both matrices, for each column of Y.

    With RSS₀ and RSS₁ the residual squares of the models, F = ((RSS₀ − RSS₁)/df_num)/(RSS₁/df_den).

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.association import nested_test
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
        one, zero = np.ones(n_features), np.zeros(n_features)
        return FTest(nothing, df_num, max(df_den, 0), one, zero, explained, fitted)
    after = np.where(flat, 1.0, np.sum(residual**2, axis=0))
    with np.errstate(divide="ignore"):  # a perfect fit
        statistic = np.sum(fitted**2, axis=0) / df_num / (after / df_den)
    p_value = stats.f.sf(statistic, df_num, df_den)
    log_p = log_p_value(statistic, df_num, df_den)
    return FTest(statistic, df_num, df_den, p_value, log_p, explained, fitted)


def log_p_value(statistic: Any, df_num: Any, df_den: Any) -> Floats:
    """The logarithm of an F test's p-value, also where that is too small for a number.

    With a = df_num/2, b = df_den/2 and y = b/(b + aF), the p-value is the regularised incomplete
    beta function I_y(b, a) = yᵇ/(b B(a, b)) ∫ e⁻ᵘ (1 − y e^(−u/b))ᵃ⁻¹ du over u > 0. Far out, the
    integrand is smooth beside e⁻ᵘ, and Gauss and Laguerre's sum has all its digits.

    Examples
    --------
    >>> from branchwise.trajectory.association import log_p_value
    >>> log_p_value([1.0, 1e3, 1e4], 4, 1000).round(1).tolist()  # beyond -745 p-values are 0
    [-0.9, -798.7, -1850.6]
    """
    statistic, df_num, df_den = np.broadcast_arrays(
        *(np.asarray(given, dtype=np.float64) for given in (statistic, df_num, df_den))
    )
    p_value = stats.f.sf(statistic, df_num, df_den)
    far = p_value < LEAST_P
    log_p = np.log(np.where(far, 1.0, p_value))
    a, b = df_num[far] / 2, df_den[far] / 2
    nodes, weights = special.roots_laguerre(32)
    with np.errstate(divide="ignore"):  # a perfect fit
        log_y = -np.log1p(a / b * statistic[far])
        base = -np.expm1(log_y[:, None] - nodes / b[:, None])
        log_p[far] = b * log_y - np.log(b) - special.betaln(a, b)
        log_p[far] += np.log(base ** (a[:, None] - 1) @ weights)
    return log_p


def orthonormal(X: Floats, size: float | None = None) -> Floats:
    """Orthonormal basis of the columns of X, by QR; what is small beside `size` counts as zero.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.association import orthonormal
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
    >>> from branchwise.trajectory.association import extremes
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
            log_p = log_p_value(t**2, 1.0, welch_df(*sides))
        (mean, _, n), (mean_rest, _, n_rest) = sides
        found.append(
            {
                "mean": mean + centre,
                "mean_rest": mean_rest + centre,
                "difference": mean - mean_rest,
                "statistic": np.where(flat & np.isfinite(mean + mean_rest), 0.0, t),
                "p_value": np.where(flat | np.isnan(p), 1.0, p),
                "log_p": np.where(flat | np.isnan(p), 0.0, log_p),
                "n_samples": n,
                "n_rest": n_rest,
            }
        )
    return found


def welch_df(one: Any, other: Any) -> Floats:
    """Degrees of freedom of Welch's test of two (mean, standard deviation, number of samples).

    Examples
    --------
    >>> from branchwise.trajectory.association import welch_df
    >>> float(welch_df((0.0, 1.0, 5), (3.0, 1.0, 5)))
    8.0
    """
    (_, s, n), (_, s_rest, n_rest) = one, other
    squared, squared_rest = np.square(s) / n, np.square(s_rest) / n_rest
    return np.asarray(
        (squared + squared_rest) ** 2 / (squared**2 / (n - 1) + squared_rest**2 / (n_rest - 1))
    )


def correlations(t: Floats, Y: Floats) -> Floats:
    """Pearson's correlation of t with each column of Y; 0 where either is constant.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.association import correlations
    >>> correlations(np.arange(3.0), np.array([[0.0, 5.0], [-1.0, 5.0], [-2.0, 5.0]]))
    array([-1.,  0.])
    """
    if len(t) == 0:
        return np.zeros(Y.shape[1])
    t, centred = t - t.mean(), Y - Y.mean(axis=0)
    squares = np.sum(centred**2, axis=0)
    flat = is_flat(squares, Y) | (np.ptp(t) == 0)
    return np.where(flat, 0.0, t @ centred) / np.where(flat, 1.0, np.sqrt(squares * (t @ t)))


def check_fork(fork: Any, is_one: bool, forks: list[Any]) -> None:
    """A milestone at which several branches start."""
    if is_one:
        return
    rule = f"fork={fork!r} must be a milestone at which several branches start"
    if forks:
        raise ValueError(f"{rule}; choose from {listed(forks)}.")
    raise ValueError(
        f"{rule}, but there is none; root the tree elsewhere, or compare branches with "
        "branch_markers."
    )


def check_method(method: Any) -> None:
    """One of the known methods."""
    if method not in METHODS:
        raise ValueError(f"method={method!r} must be one of {', '.join(map(repr, METHODS))}.")


def shared_columns(test: FTest) -> Columns:
    """The part of a table that all F tests share."""
    shared = ("statistic", "df_num", "df_den", "p_value", "log_p")
    return {name: getattr(test, name) for name in shared}


def store(columns: Columns, where: Ints, n_features: int, found: Columns) -> None:
    """Put the results of a block of features into the columns of the whole table."""
    for name, values in found.items():
        if name not in columns:
            columns[name] = np.zeros(n_features, dtype=np.asarray(values).dtype)
        columns[name][where] = values


def result_table(names: list[Any], columns: Columns, sort: bool) -> Any:
    """The table of a test, with false discovery rates behind the p-values.

    Sorted, the strongest evidence comes first: by p-values, which also hold where features have
    different degrees of freedom, then by statistics, then as the features came.
    """
    log_p = columns.pop("log_p")
    table = import_pandas().DataFrame({"feature": names} | columns)
    q_values = stats.false_discovery_control(table["p_value"])
    table.insert(table.columns.get_loc("p_value") + 1, "q_value", q_values)
    if not sort:
        return table
    size = -np.abs(table["statistic"].to_numpy())
    order = np.lexsort((np.where(np.isnan(size), np.inf, size), log_p))
    return table.iloc[order].reset_index(drop=True)
