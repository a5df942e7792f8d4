"""What a statistician would say of a table before anything is learned from it.

Every piece of advice is one sentence with names and a remedy, and none is an error: the analyst
knows more than the numbers. The rules are meant to be quiet on tables that are as they should be.
"""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.special import gammaln
from scipy.stats import rankdata

from .._messages import is_for_command_line, listed, parameter, setting
from .._typing import Bools, Floats, Ints, Matrix
from .moments import have_variety
from .suspects import (
    Sentinel,
    find_far,
    find_sentinels,
    is_target,
    may_be_outcome,
    may_have_far,
    may_have_sentinels,
    names_samples,
    outcome_like,
)

# Values that are looked at together.
PIECE = 2**20
N_NAMED = 5

# One column carries most: more than half of the variance, and so many times the spread that is
# usual in the others. Alone, more than half is common where few columns have one unit: the length
# of petals has 68 % of iris, at 2.3 times the usual spread. Units differ by tens.
# Of two columns one always has more than half.
MOST, TIMES, LEAST_COLUMNS = 0.5, 3.0, 3
# Or several in other units than the rest: nearly all of the variance, and each by far the wider.
MOST_OF_SEVERAL, TIMES_OF_SEVERAL, SEVERAL = 0.9, 10.0, 5
# Or any number that has nearly all of it, if no spread lies between theirs and those of the rest,
# ten times as narrow; of the rest there are so many, as near constants are there in any table.
LEAST_REST = 0.25
# Numbers from zero on in so many columns may be counts, for which logarithms are usual, and some
# of which are zero in all rows.
COUNTED = 20
# Fewer samples are numbered by any ascending column, as in `branchwise.data.profile`.
LEAST_NAMED = 5

# Copies: columns with a correlation of 0.999 by values, and of 0.99 by ranks so that no outlier
# makes it: heights in cm and in inches, both rounded, are so alike. All pairs are compared if that
# is so much work at most.
ALIKE, ALIKE_BY_RANK = 0.999, 0.99
# Or of 0.99, if no row is farther from a line than the rounding of both explains, with so many
# different values that two observers would not agree so well on them.
ALIKE_ROUNDED, LEAST_LEVELS = 0.99, 10
MOST_COMPARED, MOST_WORK = 1000, 2e10
# Of columns with gaps the rows that both know are compared: first so many rows, so that likely
# copies are found; of wide tables the first so many such columns, with all others.
ROWS_COMPARED, MOST_WITH_GAPS, MAYBE_ALIKE = 200, 100, 0.98
# Columns of few different values agree by chance: so many pairs of a table may.
MOST_BY_CHANCE = 0.01
# In wider tables only those that are equal up to rounding in the sixth digit are found: columns u
# and v of length 1 are 2 (1 − |r|) apart, squared.
APART = 1e-5
N_PROJECTIONS = 4
N_NEIGHBOURS = 16

# Noise in D features of N samples hides a direction whose variance is below √(D/N) times that of
# the noise of a feature (Baik, Ben Arous and Péché): below three times at this ratio.
TOO_WIDE = 10


class Moments(NamedTuple):
    """Of each column, over its known values."""

    known: Floats  # how many
    low: Floats
    high: Floats
    mean: Floats
    squares: Floats  # sums of the squares of centred values
    projections: Floats  # (N_PROJECTIONS, D) of centred values
    products: Floats | None  # (D, D) of centred values, if that is not too much work
    is_whole: bool  # all values of the matrix


def advise_on_table(X: Matrix, names: Sequence[str], others: Sequence[str] = ()) -> list[str]:
    """What is odd about features as they were read: codes, outcomes, copies.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        NaN is missing.
    names : sequence of str
    others : sequence of str, default=()
        Features that are not numbers, such as categories.

    Returns
    -------
    advice : list of str

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.advice import advise_on_table
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 3))  # simulated
    >>> X[:, 2] = 2.54 * X[:, 0] + 1
    >>> print(*advise_on_table(X, ["inch", "age", "cm"]))
    1 feature is a copy of another (up to unit, offset and rounding), which therefore counts twice
    or more: 'cm' of 'inch'; keep one of each, and leave the rest out (exclude).
    """
    moments = moments_of(X)
    codes = codes_among(X, moments)
    fits = [may_be_outcome(low, codes.get(j, [])) for j, low in enumerate(moments.low.tolist())]
    return [
        *advise_on_names(X, names, moments),
        *advise_on_constants(names, moments),
        *advise_on_codes(names, codes),
        *advise_on_far_values(X, names, moments),
        *advise_on_outcomes([*names, *others], [*fits, *[True] * len(others)]),
        *advise_on_copies(X, names, moments),
    ]


def advise_on_prepared(X: Matrix, names: Sequence[str]) -> list[str]:
    """What is odd about features as the estimator will see them: one may carry most of all.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.advice import advise_on_prepared
    >>> X = np.random.default_rng(0).normal(size=(50, 3)) * [1, 60, 2]  # simulated
    >>> print(*advise_on_prepared(X, ["hb", "platelets", "crp"]))
    'platelets' carries nearly all of the variance of all 3 numeric features, so that the tree shows
    little but this one; if they are measured in different units, standardise them
    (standardize=True).
    """
    return advise_on_variance(moments_of(X), names)


# One column carries most


def advise_on_variance(moments: Moments, names: Sequence[str]) -> list[str]:
    """One column or a few have most of the variance, and spreads far beyond the usual one."""
    spread = np.sqrt(moments.squares)
    varying = np.flatnonzero(spread > 0)
    if len(varying) < 2:
        return []
    order = varying[np.argsort(-spread[varying], kind="stable")]
    n_wide, part = wide_columns(spread[order])
    if not n_wide:
        return []
    scale, log = setting("standardize"), setting("log1p")
    remedy = f"if they are measured in different units, standardise them ({scale})"
    if len(names) >= COUNTED and bool((moments.low >= 0).all()):
        remedy = (
            f"take logarithms of counts ({log})"
            if moments.is_whole
            else f"{remedy}; of amounts of one kind, such as expression, take logarithms ({log})"
        )
    wide = listed((repr(str(names[j])) for j in order[:n_wide]), N_NAMED)
    carries, these = ("carries", "this one") if n_wide == 1 else ("together carry", "these")
    share = "nearly all" if part >= 0.995 else f"{100 * part:.0f} %"
    return [
        f"{wide} {carries} {share} of the variance of all {len(names):,} numeric features, so that "
        f"the tree shows little but {these}; {remedy}."
    ]


def wide_columns(spread: Floats) -> tuple[int, float]:
    """How many of the first columns are far wider than the rest, and their part of the variance.

    Parameters
    ----------
    spread : array of shape (n_columns,)
        Descending and positive.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.advice import wide_columns
    >>> n, part = wide_columns(np.array([90.0, 60, 3, 2, 1]))
    >>> n, round(part, 3)
    (2, 0.999)
    >>> wide_columns(np.array([1.8, 1, 1, 1]))
    (0, 0.0)
    """
    # In units of the largest, so that no square overflows.
    relative = spread / spread[0]
    parts = np.cumsum(relative**2) / np.sum(relative**2)
    for n in range(2, min(SEVERAL, (len(spread) - 1) // 2) + 1):
        is_wide = relative[n - 1] > TIMES_OF_SEVERAL * float(np.median(relative[n:]))
        if is_wide and parts[n - 1] > MOST_OF_SEVERAL >= parts[0]:
            return n, float(parts[n - 1])
    is_wide = TIMES * float(np.median(relative[1:])) < 1
    if len(spread) >= LEAST_COLUMNS and parts[0] > MOST and is_wide:
        return 1, float(parts[0])
    return wide_group(relative, parts)


def wide_group(relative: Floats, parts: Floats) -> tuple[int, float]:
    """The same of two groups of columns, between whose spreads there is a gap.

    Parameters
    ----------
    relative, parts : array of shape (n_columns,)
        Descending spreads, and the parts of the variance of the first columns, summed.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.advice import wide_group
    >>> spread = np.array([1, 0.9, 0.8, 0.7, 0.03, 0.02])
    >>> n, part = wide_group(spread, np.cumsum(spread**2) / np.sum(spread**2))
    >>> n, round(part, 3)
    (4, 1.0)
    """
    most = len(relative) - max(1, int(np.ceil(LEAST_REST * len(relative))))
    with np.errstate(divide="ignore", invalid="ignore"):  # some vanish beside the widest
        gaps = np.nan_to_num(relative[:most] / relative[1 : most + 1])
    gaps[parts[:most] <= MOST_OF_SEVERAL] = 0.0
    n = int(np.argmax(gaps))
    return (n + 1, float(parts[n])) if gaps[n] > TIMES_OF_SEVERAL else (0, 0.0)


# Names, numbers and codes


def advise_on_outcomes(names: Sequence[str], fits: Sequence[bool] | None = None) -> list[str]:
    """Features that are called like what the tree shall explain.

    Parameters
    ----------
    names : sequence of str
    fits : sequence of bool or None, default=None
        Which of them may be one by their values; None: all of them.
    """
    maybe = [str(name) for j, name in enumerate(names) if fits is None or fits[j]]
    is_one = dict(zip(map(str, names), outcome_like(names), strict=True))
    likely = [name for name in maybe if is_one[name]]
    targets = [name for name in maybe if is_target(name)]
    return [*told_of_outcomes(likely), *told_of_targets(targets)]


def told_of_outcomes(likely: Sequence[str]) -> list[str]:
    """A sentence on these columns, if there are any."""
    if not likely:
        return []
    one = len(likely) == 1
    return [
        f"{listed(map(repr, likely), N_NAMED)} {'looks' if one else 'look'} like "
        f"{'an outcome or a time' if one else 'outcomes or times'} of follow-up, but "
        f"{'is a feature' if one else 'are features'}: the tree is built from what it shall "
        f"explain; leave {'it' if one else 'them'} out ({parameter('exclude')})."
    ]


def told_of_targets(likely: Sequence[str]) -> list[str]:
    """A milder one."""
    if not likely:
        return []
    one = len(likely) == 1
    return [
        f"{listed(map(repr, likely), N_NAMED)} may be what the tree is to explain, but "
        f"{'is a feature' if one else 'are features'}; if so, leave {'it' if one else 'them'} out "
        f"({parameter('exclude')})."
    ]


def advise_on_names(X: Matrix, names: Sequence[str], moments: Moments) -> list[str]:
    """Features that number the samples, such as the number of a patient."""
    n = X.shape[0]
    low, high = moments.low, moments.high
    # So many different whole numbers need room.
    with np.errstate(invalid="ignore", over="ignore"):
        maybe = (low == np.rint(low)) & (high == np.rint(high)) & (high - low >= n - 1)
    found = [
        repr(str(names[j]))
        for j in np.flatnonzero(maybe & (n >= LEAST_NAMED)).tolist()
        if is_numbering(column_of(X, j), str(names[j]))
    ]
    if not found:
        return []
    one = len(found) == 1
    remedy = (
        "name the samples by such a column (--id)"
        if is_for_command_line()
        else "make such a column the index"
    )
    return [
        f"{listed(found, N_NAMED)} {'seems to number' if one else 'seem to number'} the samples "
        f"rather than to measure them; leave {'it' if one else 'them'} out "
        f"({parameter('exclude')}), or {remedy}."
    ]


def is_numbering(values: Floats, name: str) -> bool:
    """Whether a column has a whole number of its own for each row, in order or called so.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.advice import is_numbering
    >>> weights = np.array([71.0, 64, 80, 93, 58])
    >>> is_numbering(weights, "weight"), is_numbering(weights, "patient_id")
    (False, True)
    """
    if np.isnan(values).any() or (values != np.rint(values)).any():
        return False
    return is_called_so(name, values) and len(np.unique(values)) == len(values)


def is_called_so(name: str, values: Floats) -> bool:
    """Whether the name is one for numbers of samples, or the values ascend."""
    return bool(names_samples(name) or (np.diff(values) > 0).all())


def advise_on_constants(names: Sequence[str], moments: Moments) -> list[str]:
    """Features that are the same in all rows; among many, as of genes, zeros are usual."""
    is_one = moments.low == moments.high
    if len(names) >= COUNTED:
        is_one &= moments.low != 0
    found = [repr(str(names[j])) for j in np.flatnonzero(is_one).tolist()]
    if not found:
        return []
    one = len(found) == 1
    return [
        f"{len(found):,} {'feature has' if one else 'features have'} the same value in all rows "
        f"and {'tells' if one else 'tell'} nothing: {listed(found, N_NAMED)}; leave "
        f"{'it' if one else 'them'} out ({parameter('exclude')})."
    ]


def advise_on_size(n_samples: int, n_features: int) -> list[str]:
    """Far more features than samples.

    Examples
    --------
    >>> from branchwise.data.advice import advise_on_size
    >>> print(*advise_on_size(300, 20_000))
    There are 20,000 features of 300 samples, 67 to 1: noise in so many hides the shape;
    reduce them (pca=20), or choose the features that matter.
    >>> advise_on_size(300, 2_000)
    []
    """
    if n_features <= TOO_WIDE * n_samples:
        return []
    n_axes = max(2, min(50, n_samples // 15))
    return [
        f"There are {n_features:,} features of {n_samples:,} samples, "
        f"{n_features / max(n_samples, 1):.0f} to 1: noise in so many hides the shape; reduce "
        f"them ({setting('pca', n_axes)}), or choose the features that matter."
    ]


def codes_among(X: Matrix, moments: Moments) -> dict[int, list[Sentinel]]:
    """Values that are likely codes for missing ones, by the place of their column."""
    maybe = np.flatnonzero(may_have_sentinels(moments.low, moments.high)).tolist()
    found = {j: find_sentinels(column_of(X, j)) for j in maybe}
    return {j: codes for j, codes in found.items() if codes}


def advise_on_codes(names: Sequence[str], found: dict[int, list[Sentinel]]) -> list[str]:
    """Values that are likely codes for missing ones."""
    told = []
    for j, codes in found.items():
        shown = " and ".join(f"{code.value:g} in {code.n_cells:,}" for code in codes)
        told.append(f"{str(names[j])!r} ({shown})")
    if not told:
        return []
    one = len(told) == 1
    return [
        f"{listed(told, N_NAMED)} {'has a value' if one else 'have values'} far from all others "
        f"that may stand for missing ones; if so, empty these cells of the table: "
        f"{'it is' if one else 'they are'} taken for measurements, and a few such samples "
        "stretch the whole tree."
    ]


def advise_on_far_values(X: Matrix, names: Sequence[str], moments: Moments) -> list[str]:
    """Values that are by far beyond all others of their column, as in a wrong unit."""
    told = []
    maybe = may_have_far(moments.low, moments.high, moments.mean)
    for j in np.flatnonzero(maybe).tolist():
        values = column_of(X, j)
        rows = find_far(values)
        # Codes for missing values are told as such.
        if len(rows) and not find_sentinels(values):
            rest = np.delete(values, rows)
            told.append(
                f"{str(names[j])!r} ({values[rows[0]]:.4g} in data row {rows[0] + 1:,}, elsewhere "
                f"{np.nanmin(rest):.4g} to {np.nanmax(rest):.4g})"
            )
    if not told:
        return []
    one = len(told) == 1
    return [
        f"{listed(told, N_NAMED)} {'has a value' if one else 'have values'} far from all others, "
        f"as in a wrong unit or by a slip; look at {'it' if one else 'them'}: a few such samples "
        "stretch the whole tree."
    ]


# Copies


def advise_on_copies(X: Matrix, names: Sequence[str], moments: Moments) -> list[str]:
    """Features that are equal, or differ by unit, offset and rounding only."""
    groups = find_copies(X, moments)
    if not groups:
        return []
    n_copies = sum(len(group) - 1 for group in groups)
    told = [
        f"{listed((repr(str(names[j])) for j in group[1:]), 3)} of {str(names[group[0]])!r}"
        for group in groups
    ]
    one = n_copies == 1
    return [
        f"{n_copies:,} {'feature is a copy of another' if one else 'features are copies of others'}"
        f" (up to unit, offset and rounding), which therefore {'counts' if one else 'count'} "
        f"twice or more: {listed(told, N_NAMED)}; keep one of each, and leave the rest out "
        f"({parameter('exclude')})."
    ]


def find_copies(X: Matrix, moments: Moments) -> list[list[int]]:
    """Groups of columns with correlation 1 or −1 to rounding, by their places.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.advice import find_copies, moments_of
    >>> X = np.random.default_rng(0).normal(size=(40, 5))  # simulated
    >>> X[:, 4] = 1 - 3 * X[:, 1]
    >>> find_copies(X, moments_of(X))
    [[1, 4]]
    """
    scale = np.maximum(np.abs(moments.low), np.abs(moments.high))
    length = np.sqrt(moments.squares)
    # A spread of no more than rounding is none.
    usable = np.flatnonzero(length > 1e-9 * scale * np.sqrt(X.shape[0]))
    if moments.products is None:
        pairs = alike_by_projections(moments.projections[:, usable] / length[usable])
    else:
        products = moments.products[np.ix_(usable, usable)]
        pairs = alike_by_products(products / np.outer(length[usable], length[usable]))
    has_gaps = moments.known[usable] < X.shape[0]
    if not (len(pairs) or has_gaps.any()):
        return []
    X = sparse.csc_array(X) if sparse.issparse(X) else X
    if has_gaps.any():
        most = MOST_WITH_GAPS if moments.products is None else None
        pairs = np.concatenate([pairs, alike_with_gaps(X, usable, np.flatnonzero(has_gaps)[:most])])
    if not len(pairs):
        return []
    compared = np.unique(pairs)
    varies = np.zeros(len(usable), dtype=bool)
    # Columns that are rarely something else agree by chance.
    varies[compared] = varied(X, usable[compared])
    first, n_pairs = np.arange(len(usable)), len(usable) * (len(usable) - 1) // 2
    for j, k in pairs:
        if first[j] == first[k] or not (varies[j] and varies[k]):
            continue
        if are_copies(X, int(usable[j]), int(usable[k]), n_pairs):
            first[first == first[k]] = first[j]
    joined, counts = np.unique(first, return_counts=True)
    return sorted(sorted(usable[first == one].tolist()) for one in joined[counts > 1])


def alike_by_products(correlations: Floats) -> Ints:
    """Pairs of columns that are likely copies: of each column the nearest of those behind it.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.advice import alike_by_products
    >>> alike_by_products(np.array([[1.0, 0.2, -0.9999], [0.2, 1.0, 0.1], [-0.9999, 0.1, 1.0]]))
    array([[0, 2]])
    """
    size = np.triu(np.abs(correlations), 1)
    found = [
        np.stack([np.full(len(near), j), near], axis=1)
        for j in np.flatnonzero((size >= ALIKE_ROUNDED).any(axis=1))
        for near in [np.argsort(-size[j], kind="stable")[:N_NEIGHBOURS]]
        for near in [near[size[j, near] >= ALIKE_ROUNDED]]
    ]
    return np.concatenate([np.empty((0, 2), dtype=np.intp), *found])


def alike_by_projections(projections: Floats) -> Ints:
    """The same in time and memory that grow with the columns, of those that are nearly equal.

    Columns of length 1 that are equal up to their signs have projections on any direction that are
    equal up to their signs. So columns are put in the order of their first projection, and compared
    with their next neighbours there by all projections.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.advice import alike_by_projections
    >>> alike_by_projections(np.array([[0.3, 0.1, -0.3], [0.2, 0.2, -0.2]]))
    array([[0, 2]])
    """
    placed = np.abs(projections)
    order = np.argsort(placed[0], kind="stable")
    placed = placed[:, order]
    pairs = [
        (order[k], order[k + apart])
        for apart in range(1, min(N_NEIGHBOURS, len(order) - 1) + 1)
        # A projection differs by as much as the columns do, times a normal number.
        for k in np.flatnonzero(
            (np.abs(placed[:, apart:] - placed[:, :-apart]) <= 6 * APART).all(axis=0)
        )
    ]
    return np.array(pairs, dtype=np.intp).reshape(-1, 2)


def alike_with_gaps(X: Matrix, columns: Ints, with_gaps: Ints) -> Ints:
    """Pairs of columns, one of them with gaps, that are likely copies where both are known.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    columns : array of int
        Those that are compared.
    with_gaps : array of int
        The places among these of columns with gaps: each is compared with all.

    Returns
    -------
    pairs : array of shape (n_pairs, 2)
        Places among the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.advice import alike_with_gaps
    >>> X = np.random.default_rng(0).normal(size=(40, 3))  # simulated
    >>> X[:, 2] = 1 - 3 * X[:, 0]
    >>> X[7, 0] = np.nan
    >>> alike_with_gaps(X, np.arange(3), np.array([0]))
    array([[0, 2]])
    """
    n = X.shape[0]
    rows = np.arange(n)
    if n > ROWS_COMPARED:
        rows = np.sort(np.random.default_rng(0).choice(n, ROWS_COMPARED, replace=False))
    a, in_a = scaled(X, rows, columns[with_gaps])
    step = max(1, PIECE // max(len(rows), 1))
    found = [np.empty((0, 2), dtype=np.intp)]
    for start in range(0, len(columns), step):
        size = known_correlations(a, in_a, *scaled(X, rows, columns[start : start + step]))
        size[with_gaps[:, None] == start + np.arange(size.shape[1])] = 0.0
        for j in np.flatnonzero((size >= MAYBE_ALIKE).any(axis=1)):
            near = np.argsort(-size[j], kind="stable")[:N_NEIGHBOURS]
            near = near[size[j, near] >= MAYBE_ALIKE] + start
            found.append(np.stack([np.full(len(near), with_gaps[j]), near], axis=1))
    return np.concatenate(found)


def scaled(X: Matrix, rows: Ints, columns: Ints) -> tuple[Any, Any]:
    """Centred columns with zeros in their gaps, and where they are known, in single precision."""
    part = X[rows][:, columns]
    values = np.array(part.toarray() if sparse.issparse(part) else part, dtype=np.float64)
    is_known = ~np.isnan(values)
    values[~is_known] = 0.0
    values /= np.maximum(np.abs(values).max(axis=0, initial=0.0), np.finfo(float).tiny)
    values -= values.sum(axis=0) / np.maximum(is_known.sum(axis=0), 1)
    values[~is_known] = 0.0
    values /= np.maximum(np.linalg.norm(values, axis=0), np.finfo(float).tiny)
    return values.astype(np.float32), is_known.astype(np.float32)


def known_correlations(a: Any, in_a: Any, b: Any, in_b: Any) -> Any:
    """Sizes of the correlations of two sets of scaled columns, over the rows that both know."""
    n = np.maximum(in_a.T @ in_b, 1)
    sum_a, sum_b = a.T @ in_b, in_a.T @ b
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = ((a**2).T @ in_b - sum_a**2 / n) * (in_a.T @ b**2 - sum_b**2 / n)
        return np.nan_to_num(np.abs(a.T @ b - sum_a * sum_b / n) / np.sqrt(squares), posinf=0.0)


def varied(X: Matrix, columns: Ints) -> Bools:
    """Which of these columns have rows enough that differ from the most frequent value."""
    step = max(1, PIECE // max(X.shape[0], 1))
    parts = (X[:, columns[start : start + step]] for start in range(0, len(columns), step))
    return np.concatenate(
        [have_variety(part.toarray() if sparse.issparse(part) else part) for part in parts]
    )


def are_copies(X: Matrix, i: int, j: int, n_pairs: int) -> bool:
    """Whether two columns are equal up to unit, offset and rounding in the rows that both know.

    They do not count as such if one of so many pairs may be alike by chance.
    """
    a, b = column_of(X, i), column_of(X, j)
    is_known = ~np.isnan(a), ~np.isnan(b)
    both = is_known[0] & is_known[1]
    if not both.all():
        a, b = a[both], b[both]
        is_enough = 2 * both.sum() >= min(known.sum() for known in is_known)
        if not (is_enough and have_variety(np.column_stack([a, b])).all()):
            return False
    if n_pairs * agree_by_chance(a) > MOST_BY_CHANCE:
        return False
    by_value = abs(float(unit(a) @ unit(b)))
    if by_value >= ALIKE:
        by_rank = abs(float(unit(rankdata(a)) @ unit(rankdata(b))))
        return by_rank >= ALIKE_BY_RANK or differ_by_rounding(a, b)
    return by_value >= ALIKE_ROUNDED and differ_by_rounding(a, b)


def agree_by_chance(values: Floats) -> float:
    """How likely a column of few different values equals another, or its opposite, by chance.

    That is, in how many of all orders of its values it is the same; 0 of a column with more
    different values than half of its rows, as of measurements.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.advice import agree_by_chance
    >>> is_treated = np.repeat([0.0, 1.0], 6)
    >>> round(1 / agree_by_chance(is_treated)), agree_by_chance(np.arange(12.0))
    (462, 0.0)
    """
    counts = np.unique(values, return_counts=True)[1]
    if 2 * len(counts) > len(values):
        return 0.0
    return float(2 * np.exp(gammaln(counts + 1).sum() - gammaln(len(values) + 1)))


def differ_by_rounding(a: Floats, b: Floats) -> bool:
    """Whether a line has all rows within half a step of rounding of both columns.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.advice import differ_by_rounding
    >>> cm = np.random.default_rng(0).normal(170, 10, size=100)  # simulated
    >>> inch = (cm / 2.54).round()
    >>> differ_by_rounding(cm.round(), inch), differ_by_rounding(cm.round(), inch + 3 * (cm > 180))
    (True, False)
    """
    (fine, step), (coarse, wide) = sorted(
        ((unit(x), step_of(x)) for x in (a, b)), key=itemgetter(1)
    )
    slope = float(fine @ coarse)
    most = (wide + abs(slope) * step) / 2 * (1 + 1e-3)

    def farthest(slope: float) -> float:
        return float(np.ptp(coarse - slope * fine)) / 2

    # The nearest line by squares is close to the one that has the least farthest row.
    if not farthest(slope) <= 2 * most:
        return False
    found = minimize_scalar(farthest, bounds=(slope - 0.1, slope + 0.1), method="bounded")
    return bool(found.fun <= most)


def step_of(values: Floats) -> float:
    """The least distance of different values, in units of the length of the centred column.

    It is 0, as of a column without rounding, if there are few different values.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.advice import step_of
    >>> step_of(np.arange(0, 40, 2.0)) > step_of(np.arange(0, 40, 1.0)) > 0
    True
    """
    levels = np.unique(values)
    if len(levels) < LEAST_LEVELS:
        return 0.0
    gaps = np.diff(levels)
    gaps = gaps[gaps >= 1e-9 * (levels[-1] - levels[0])]
    return float(gaps.min() / np.linalg.norm(values - values.mean()))


def unit(values: Floats) -> Floats:
    """Centred values of length 1."""
    values = values / np.abs(values).max()
    centred = values - values.mean()
    return centred / np.linalg.norm(centred)


# Passes over the table


def moments_of(X: Matrix) -> Moments:
    """Extremes, means, spreads and projections of all columns, in two passes over blocks of rows.

    Missing values count as the mean.
    """
    n_columns = X.shape[1]
    low, high = np.full(n_columns, np.inf), np.full(n_columns, -np.inf)
    total, known = np.zeros(n_columns), np.zeros(n_columns)
    is_whole = True
    for block in blocks(X):
        missing = np.isnan(block)
        some = bool(missing.any())
        low = np.fmin(low, np.fmin.reduce(block, axis=0))
        high = np.fmax(high, np.fmax.reduce(block, axis=0))
        total += np.where(missing, 0, block).sum(axis=0) if some else block.sum(axis=0)
        known += len(block) - missing.sum(axis=0) if some else len(block)
        is_whole = is_whole and bool((missing | (block == np.rint(block))).all())
    mean = total / np.maximum(known, 1)
    # A fixed seed: the same table gets the same advice.
    rng = np.random.default_rng(0)
    squares, projections = np.zeros(n_columns), np.zeros((N_PROJECTIONS, n_columns))
    is_small = n_columns <= MOST_COMPARED and X.shape[0] * n_columns**2 <= MOST_WORK
    products = np.zeros((n_columns, n_columns)) if is_small else None
    for block in blocks(X):
        centred = block - mean
        np.nan_to_num(centred, copy=False, nan=0.0)
        squares += np.einsum("ij,ij->j", centred, centred)
        projections += rng.standard_normal((len(centred), N_PROJECTIONS)).T @ centred
        if products is not None:
            products += centred.T @ centred
    return Moments(known, low, high, mean, squares, projections, products, is_whole)


def blocks(X: Matrix) -> Iterator[Floats]:
    """Dense blocks of rows."""
    step = max(1, PIECE // max(X.shape[1], 1))
    for start in range(0, X.shape[0], step):
        block = X[start : start + step]
        yield block.toarray() if sparse.issparse(block) else np.asarray(block, dtype=np.float64)


def column_of(X: Any, j: int) -> Floats:
    """One column in memory."""
    column = X[:, [j]]
    dense = column.toarray() if sparse.issparse(column) else np.asarray(column)
    return np.asarray(dense, dtype=np.float64).ravel()
