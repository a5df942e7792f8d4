"""A table of clinical or other columns by branch and position on it."""

from typing import Any

import numpy as np
from scipy import stats
from scipy.special import ndtri

from .._compat import import_pandas
from .._messages import listed
from .._typing import Floats
from ..data.checks import check_count
from ..graph.placement import Placement
from .trends import check_branches, check_level, pseudotimes

# More levels than this are names or numbers of samples rather than groups of them.
MAX_LEVELS = 50
ORDER = [
    "branch",
    "bin",
    "from_position",
    "to_position",
    "from_pseudotime",
    "to_pseudotime",
    "column",
    "level",
    "n",
    "n_missing",
    "count",
    "estimate",
    "lower",
    "upper",
    "sd",
    "q25",
    "median",
    "q75",
]


def branch_summaries(
    placed: Placement,
    start_time: Any,
    branch_names: Any,
    data: Any,
    columns: Any = None,
    *,
    n_bins: int = 4,
    level: float = 0.95,
    min_samples: int = 1,
    end_time: Any = None,
) -> Any:
    """Summaries of columns for every branch, and for equal parts of it, with intervals.

    A column of truth values, categories or text gives rates: of true values, or of each level, with
    the interval of Wilson (*JASA* 22, 1927), which keeps to [0, 1] and stays wide for few
    samples. A column of numbers gives a mean with Student's t interval (none for a single value)
    and quartiles. A column of numbers that are all 0 or 1 gives the rate of 1, which is their mean:
    Student's interval for no event in five would be from 0 to 0.

    Each interval is for one number; of many of them, some will not hold what they are for.

    Parameters
    ----------
    placed, start_time, branch_names
        As for `tree_trends`.
    data : DataFrame
        One row per sample, in the order of the samples; its index is not used.
    columns : sequence of names, or a name, optional
        The columns to summarise; by default all.
    n_bins : int, default=4
        Parts of equal length of each branch.
    level : float, default=0.95
        Probability of the intervals.
    min_samples : int, default=1
        With fewer values than this there is only their number, and everything else is NaN.
    end_time
        As for `tree_trends`.

    Returns
    -------
    DataFrame
        One row per branch, bin, column and level. ``branch``; ``bin``, "all" for the whole branch
        or "1", "2", … from its start; ``from_position``, ``to_position`` (the last bin includes its
        end), ``from_pseudotime``, ``to_pseudotime``; ``column``; ``level``, None for numbers;
        ``n`` (values), ``n_missing``; ``count`` (of the level), ``estimate`` (rate or mean),
        ``lower``, ``upper``; and for numbers ``sd``, ``q25``, ``median``, ``q75``. Bins without
        samples are kept, with n = 0. ``to_csv("table.csv", index=False)`` writes it to a
        file.

    Examples
    --------
    Simulated: an outcome that becomes more frequent along a path.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from branchwise.graph.placement import Placement
    >>> from branchwise.trajectory.summaries import branch_summaries
    >>> rng = np.random.default_rng(0)
    >>> placed = Placement(2, np.array([[0, 1]]), np.array([8.0]),
    ...                    np.zeros(60, int), rng.random(60))
    >>> data = pd.DataFrame({"relapse": rng.random(60) < placed.position})
    >>> table = branch_summaries(placed, [0.0], ["path"], data, n_bins=2)
    >>> table[["bin", "to_pseudotime", "n", "count", "estimate", "lower", "upper"]].round(2)
       bin  to_pseudotime   n  count  estimate  lower  upper
    0  all            8.0  60     30      0.50   0.38   0.62
    1    1            4.0  28      8      0.29   0.15   0.47
    2    2            8.0  32     22      0.69   0.51   0.82
    >>> print(table[["bin", "n", "estimate"]].round(2).to_csv(index=False).strip())
    bin,n,estimate
    all,60,0.5
    1,28,0.29
    2,32,0.69
    """
    pd = import_pandas()
    start_time, branch_names = check_branches(placed, start_time, branch_names)
    chosen = check_columns(data, columns, len(placed.edge))
    check_count(n_bins, "n_bins")
    check_count(min_samples, "min_samples")
    check_level(level)
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    bin_of = np.clip(np.searchsorted(edges, placed.position, side="right"), 1, n_bins)
    bins = [("all", 0.0, 1.0), *((str(k + 1), edges[k], edges[k + 1]) for k in range(n_bins))]
    rows: list[dict[str, Any]] = []
    of_branch, bound = np.indices((len(branch_names), n_bins + 1))
    times = pseudotimes(placed, start_time, end_time, of_branch.ravel(), edges[bound.ravel()])
    times = times.reshape(bound.shape)
    for branch, name in enumerate(branch_names):
        for number, (label, start, stop) in enumerate(bins):
            inside = (placed.edge == branch) & ((number == 0) | (bin_of == number))
            cell = {
                "branch": name,
                "bin": label,
                "from_position": start,
                "to_position": stop,
                "from_pseudotime": times[branch, max(number - 1, 0)],
                "to_pseudotime": times[branch, number or n_bins],
            }
            for column, (values, levels) in chosen.items():
                part = values[inside]
                found = part[~pd.isna(part)]
                about = {"column": column, "n": len(found), "n_missing": len(part) - len(found)}
                for value in [None] if levels is None else levels:
                    row = cell | about | {"level": value}
                    if len(found) >= min_samples:
                        row |= describe(found, value, level)
                    rows.append(row)
    table = pd.DataFrame(rows, columns=ORDER)
    # A count is a whole number also in a file, though it may be missing.
    return table.astype(dict.fromkeys(ORDER[-7:], np.float64) | {"count": "Int64"})


def describe(values: Any, wanted: Any, level: float) -> dict[str, float]:
    """Rate of a wanted value, or mean and quartiles if none is wanted, with an interval.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.summaries import describe
    >>> describe(np.array(["a", "b", "b", "b"]), "b", 0.95)["estimate"]
    0.75
    """
    n = len(values)
    if wanted is not None:
        count = int(np.sum(values == wanted))
        lower, upper = wilson_interval(count, n, level)
        return {"count": count, "estimate": count / n, "lower": float(lower), "upper": float(upper)}
    mean = float(np.mean(values))
    sd = float(np.std(values, ddof=1)) if n > 1 else np.nan
    half = stats.t.ppf((1 + level) / 2, n - 1) * sd / np.sqrt(n) if n > 1 else np.nan
    q25, median, q75 = np.quantile(values, [0.25, 0.5, 0.75])
    return {
        "estimate": mean,
        "lower": mean - half,
        "upper": mean + half,
        "sd": sd,
        "q25": q25,
        "median": median,
        "q75": q75,
    }


def check_columns(data: Any, columns: Any, n_samples: int) -> dict[Any, tuple[Any, Any]]:
    """The values of each column to summarise, and its levels, or None for numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.trajectory.summaries import check_columns
    >>> check_columns(pd.DataFrame({"stage": ["I", "III", "I"]}), "stage", 3)["stage"][1]
    ['I', 'III']
    """
    pd = import_pandas()
    if not isinstance(data, pd.DataFrame):
        raise TypeError(
            f"data must be a DataFrame, got {type(data).__name__}; pass pandas.DataFrame(data)."
        )
    if len(data) != n_samples:
        raise ValueError(
            f"data has {len(data)} rows, but there are n_samples={n_samples} on the tree; pass one "
            "row per sample, in the same order."
        )
    names = list(data.columns)
    if len(set(names)) < len(names):
        raise ValueError("data has columns of the same name; make their names unique.")
    if columns is None:
        columns = names
    elif isinstance(columns, str):
        columns = [columns]
    for name in columns:
        if name not in names:
            raise ValueError(
                f"columns names {name!r}, which data does not have; choose from {listed(names)}."
            )
    return {name: values_and_levels(data[name]) for name in columns}


def values_and_levels(series: Any) -> tuple[Any, Any]:
    """The values as an array with missing ones, and the levels whose rates are wanted.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.trajectory.summaries import values_and_levels
    >>> values_and_levels(pd.Series([True, None, False]))[1]
    [True]
    """
    types = import_pandas().api.types
    known = series.dropna()
    if types.is_bool_dtype(series.dtype) or (
        len(known) > 0 and all(isinstance(value, (bool, np.bool_)) for value in known)
    ):
        return series.to_numpy(dtype=object), [True]
    if types.is_numeric_dtype(series.dtype) and not types.is_complex_dtype(series.dtype):
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isinf(values).any():
            raise ValueError(
                f"column {series.name!r} holds an infinite number, but every number must be "
                "finite or missing; replace it, for instance by NaN."
            )
        known = values[~np.isnan(values)]
        is_outcome = len(known) > 0 and bool(np.isin(known, [0, 1]).all())
        return values, [1] if is_outcome else None
    if isinstance(series.dtype, import_pandas().CategoricalDtype):
        levels = list(series.cat.categories)
    elif types.is_string_dtype(series.dtype) or types.is_object_dtype(series.dtype):
        levels = sorted(known.unique(), key=str)
    else:
        raise TypeError(
            f"column {series.name!r} has type {series.dtype}, but must hold truth values, "
            "categories, text or numbers; convert it, for instance to days since the first visit."
        )
    if len(levels) > MAX_LEVELS:
        raise ValueError(
            f"column {series.name!r} has {len(levels)} levels but must have at most {MAX_LEVELS} "
            "for a rate of each; leave it out of columns, or group its levels."
        )
    return series.to_numpy(dtype=object), levels


def wilson_interval(count: Any, n: Any, level: float) -> tuple[Floats, Floats]:
    """The rates p that a score test does not reject: |count − n·p| ≤ z·√(n·p·(1 − p)).

    From 0 to 1 where n is 0. Wilson (*JASA* 22, 1927).

    Examples
    --------
    >>> from branchwise.trajectory.summaries import wilson_interval
    >>> lower, upper = wilson_interval([0, 9, 0], [2, 10, 0], 0.95)
    >>> lower.round(3), upper.round(3)
    (array([0.   , 0.596, 0.   ]), array([0.658, 0.982, 1.   ]))
    """
    count, n = np.asarray(count, dtype=np.float64), np.asarray(n, dtype=np.float64)
    z = ndtri((1 + level) / 2)
    centre = (count + z**2 / 2) / (n + z**2)
    half = z * np.sqrt(count * (n - count) / np.maximum(n, 1) + z**2 / 4) / (n + z**2)
    # Exact at the ends, but for rounding.
    lower = np.where(count > 0, np.maximum(centre - half, 0.0), 0.0)
    upper = np.where(count < n, np.minimum(centre + half, 1.0), 1.0)
    return lower, upper
