"""What each column of a table holds, and what is odd about it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._compat import import_pandas
from .._messages import parameter
from .._typing import Bools, Floats, Ints, Matrix
from .suspects import (
    LEAST_OTHERS,
    Sentinel,
    find_sentinels,
    may_be_outcome,
    may_have_sentinels,
    names_samples,
    outcome_like,
    words_of,
)

# Types of columns.
NUMBER, WHOLE, YES_NO, CATEGORY = "number", "whole number", "yes/no", "category"
TEXT, DATE, CODE, EMPTY, MIXED = "text", "date", "code", "empty", "mixed"
# What a fit does with a column.
FEATURE, ANNOTATION, ID, EXCLUDED, STOPS = "feature", "annotation", "id", "excluded", "stops"

# Cells that are sorted at a time.
PIECE = 2**23
# More words than these, or than half of the cells, are text rather than categories.
MOST_CATEGORIES = 30
# From this part of numbers among words on, a column is mixed.
PART_OF_NUMBERS = 0.1
LONGEST_NAME = 40
N_EXAMPLES = 3

# Letters have to be both there, since "n" alone may be anything.
BOTH_WORDS = tuple(map(words_of, ("y n", "t f", "j n", "o n", "0 1", "0.0 1.0")))
EITHER_WORD = tuple(map(words_of, ("yes no", "true false", "ja nein", "oui non")))
FIRST_DAY, LAST_DAY = 19000101, 21001231


class Unreadable(NamedTuple):
    """Cells that are not numbers in a column of numbers."""

    cell: str  # the first
    row: int  # of data, counted from 1
    n_cells: int
    kind: str  # as `branchwise.data.unreadable` tells them apart


class Verdict(NamedTuple):
    """What a fit would do with a column, and what its reader takes it for."""

    fate: str
    remedy: str = ""  # for what stops it
    numbers: Any = None  # those that text was read as
    dates: Any = None  # those that text was read as, a Series
    is_code: bool = False  # digits of which some begin with zeros
    units: tuple[str, ...] = ()  # that most cells have behind a number; "" for none
    unreadable: Unreadable | None = None
    encoding: str = ""  # of a feature: "category", "ordered category", "date", "date of an age"


@dataclass(frozen=True)
class ColumnProfile:
    """One column: what it holds, what is odd about it, what a fit would do with it.

    Attributes
    ----------
    name : str
    type : str
        "number", "whole number", "yes/no", "category", "text", "date", "code" (digits with leading
        zeros), "empty" or "mixed" (numbers and words).
    missing, distinct : int
        Cells without a value; different values.
    minimum, median, maximum : float, str or None
        Of numbers, and of dates as text.
    sentinels : tuple of Sentinel
        Values that are likely codes for missing ones.
    is_constant, is_id_like, is_outcome_like : bool
    n_infinite : int
    units : tuple of str
        That follow the numbers of most cells, the most frequent first; "" for cells without one.
    unreadable : Unreadable or None
        Cells that are not numbers in a column of numbers.
    examples : tuple of str
        Some of the words.
    fate : str
        "feature", "annotation", "id", "excluded" or "stops".
    remedy : str
        For what stops a fit.
    encoding : str
        As what a feature that is not a number is encoded, such as "category".
    position : int
        In the table, from 0.
    """

    name: str
    type: str
    missing: int
    distinct: int
    minimum: float | str | None = None
    median: float | str | None = None
    maximum: float | str | None = None
    sentinels: tuple[Sentinel, ...] = ()
    is_constant: bool = False
    is_id_like: bool = False
    is_outcome_like: bool = False
    n_infinite: int = 0
    units: tuple[str, ...] = ()
    unreadable: Unreadable | None = None
    examples: tuple[str, ...] = ()
    fate: str = FEATURE
    remedy: str = ""
    encoding: str = ""
    position: int = 0


def profile_columns(frame: Any, verdicts: Sequence[Verdict] | None = None) -> list[ColumnProfile]:
    """Describe every column of a data frame of cells, typed or as text.

    Parameters
    ----------
    frame : pandas.DataFrame
        Whatever is in it; names may be repeated.
    verdicts : sequence of Verdict or None, default=None
        What a fit would do with each column, and what it is read as; None: columns of numbers are
        features, all else annotations.

    Returns
    -------
    profiles : list of ColumnProfile
        In the order of the columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.data.profile import profile_columns
    >>> frame = pd.DataFrame({"age": [71, 64, None], "smoker": ["yes", "no", "yes"]})
    >>> [(found.type, found.missing, found.distinct) for found in profile_columns(frame)]
    [('whole number', 1, 2), ('yes/no', 0, 2)]
    """
    names = [str(name) for name in frame.columns]
    kinds = [kind_of(dtype) for dtype in frame.dtypes]
    if verdicts is None:
        verdicts = [Verdict(FEATURE if kind else ANNOTATION) for kind in kinds]
    found: dict[int, ColumnProfile] = {}
    plain = [j for j, kind in enumerate(kinds) if kind == "plain"]
    for at, columns in blocks_of(frame, plain):
        for j, profile in zip(at, profiles_of(columns, [names[j] for j in at]), strict=True):
            found[j] = profile
    for j, kind in enumerate(kinds):
        if kind == "nullable":
            numbers = frame.iloc[:, j].to_numpy(dtype=np.float64, na_value=np.nan)
            found[j] = profiles_of(numbers[None], [names[j]])[0]
        elif kind is None:
            found[j] = profile_of_words(frame.iloc[:, j], names[j], verdicts[j])
    likely = outcome_like(names, sum(each.fate == FEATURE for each in verdicts))
    return [with_verdict(found[j], verdicts[j], likely[j], j) for j in range(len(names))]


def profile_matrix(X: Matrix, names: Sequence[str]) -> list[ColumnProfile]:
    """The same for a matrix of numbers, dense or sparse, of which every column is a feature.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.profile import profile_matrix
    >>> profile_matrix(np.array([[1.5, 0], [2.5, 0]]), ["a", "b"])[1].is_constant
    True
    """
    found: list[ColumnProfile] = []
    if sparse.issparse(X):
        by_column = sparse.csc_array(X)
        n_rows = X.shape[0]
        for j, name in enumerate(names):
            stored = by_column.data[by_column.indptr[j] : by_column.indptr[j + 1]]
            facts = facts_of_sparse(stored, n_rows)
            suspected = bool(may_have_sentinels(facts.low, facts.high)[0])
            # The zeros that are not stored are one value more, and no code.
            values = np.append(stored, np.zeros(min(n_rows - len(stored), LEAST_OTHERS)))
            codes = find_sentinels(values) if suspected else []
            found += profiles_from(facts, [name], [codes], n_rows)
    else:
        step = max(1, PIECE // max(X.shape[0], 1))
        for start in range(0, X.shape[1], step):
            part = np.ascontiguousarray(X[:, start : start + step].T)
            found += profiles_of(part, names[start : start + step])
    likely = outcome_like(names)
    return [with_verdict(p, Verdict(FEATURE), likely[j], j) for j, p in enumerate(found)]


def with_verdict(
    profile: ColumnProfile, verdict: Verdict, is_likely: bool, position: int
) -> ColumnProfile:
    """The profile with what a fit would do, and whether it is of an outcome, by its name."""
    fate, remedy = verdict.fate, verdict.remedy
    if fate == FEATURE and profile.n_infinite:
        fate, remedy = STOPS, "replace infinite values by numbers, or leave the cells empty"
    elif fate == FEATURE and profile.type == EMPTY:
        fate, remedy = STOPS, f"leave the column out with {parameter('exclude')}"
    if profile.type in (NUMBER, WHOLE, YES_NO) and isinstance(profile.minimum, float):
        is_likely = is_likely and may_be_outcome(profile.minimum, profile.sentinels)
    return replace(
        profile,
        fate=fate,
        remedy=remedy,
        unreadable=verdict.unreadable,
        encoding=verdict.encoding,
        is_outcome_like=is_likely and profile.type != EMPTY,
        position=position,
    )


# Numbers


def kind_of(dtype: Any) -> str | None:
    """Whether a column holds numbers: "plain" of NumPy, "nullable" of pandas, or None."""
    if isinstance(dtype, np.dtype):
        return "plain" if dtype.kind in "iuf" else None
    types = import_pandas().api.types
    is_number = types.is_numeric_dtype(dtype) and not types.is_bool_dtype(dtype)
    return "nullable" if is_number and not types.is_complex_dtype(dtype) else None


def blocks_of(frame: Any, chosen: Sequence[int]) -> Iterator[tuple[list[int], Any]]:
    """Columns of one NumPy type each, as contiguous rows, some at a time."""
    step = max(1, PIECE // max(len(frame), 1))
    by_dtype: dict[Any, list[int]] = {}
    dtypes = list(frame.dtypes)
    for j in chosen:
        by_dtype.setdefault(dtypes[j], []).append(j)
    for places in by_dtype.values():
        for start in range(0, len(places), step):
            at = places[start : start + step]
            yield at, np.ascontiguousarray(frame.iloc[:, at].to_numpy().T)


class NumberFacts(NamedTuple):
    """Of some columns of numbers, an array each."""

    missing: Ints
    distinct: Ints
    low: Floats  # NaN without any value
    median: Floats
    high: Floats
    whole: Bools
    increasing: Bools
    infinite: Ints


def facts_of_numbers(columns: Any) -> NumberFacts:
    """Counts and quantiles of columns, which are the rows of an array."""
    n_columns, n_rows = columns.shape
    is_float = columns.dtype.kind == "f"
    if n_rows == 0:
        none, nan = np.zeros(n_columns, dtype=np.intp), np.full(n_columns, np.nan)
        yes = np.ones(n_columns, dtype=bool)
        return NumberFacts(none, none, nan, nan, nan, yes, yes, none)
    ordered = np.sort(columns, axis=1)  # NaN at the end
    missing = np.isnan(ordered).sum(axis=1) if is_float else np.zeros(n_columns, dtype=np.intp)
    known = n_rows - missing
    steps = ordered[:, 1:] != ordered[:, :-1]
    # Between NaN and what follows there is a step, too.
    distinct = steps.sum(axis=1) + 1 - missing
    at = np.arange(n_columns)
    last = np.maximum(known - 1, 0)
    low, high = ordered[:, 0].astype(np.float64), ordered[at, last].astype(np.float64)
    left, right = (ordered[at, middle].astype(np.float64) for middle in (last // 2, known // 2))
    right = np.where(known % 2 == 1, left, right)
    with np.errstate(invalid="ignore"):
        median = left / 2 + right / 2
        median = np.where(left == right, left, median)
        rounded = np.rint(ordered) if is_float else ordered
    whole = ((rounded == ordered) | (ordered != ordered)).all(axis=1)
    infinite = np.isinf(ordered).sum(axis=1) if is_float else np.zeros_like(missing)
    increasing = (columns[:, 1:] > columns[:, :-1]).all(axis=1)
    return NumberFacts(missing, distinct, low, median, high, whole, increasing, infinite)


def facts_of_sparse(stored: Floats, n_rows: int) -> NumberFacts:
    """The same of one column that holds zeros besides what is stored."""
    zeros = n_rows - len(stored)
    if zeros == 0:
        return facts_of_numbers(stored[None])
    # Quantiles and counts of a few zeros in their place; the rest of them shifts the middle.
    ordered = np.sort(stored)
    known = int(len(ordered) - np.isnan(ordered).sum())
    values = ordered[:known]
    below = int(np.searchsorted(values, 0.0))
    n_known = known + zeros

    def at(place: int) -> float:
        if place < below:
            return float(values[place])
        return 0.0 if place < below + zeros else float(values[place - zeros])

    left, right = at((n_known - 1) // 2), at(n_known // 2)
    median = left if left == right else left / 2 + right / 2
    distinct = len(np.unique(values)) + int(not (values == 0).any())
    return NumberFacts(
        np.array([len(stored) - known]),
        np.array([distinct]),
        np.array([at(0)]),
        np.array([median]),
        np.array([at(n_known - 1)]),
        np.array([bool((values == np.rint(values)).all())]),
        np.array([False]),
        np.array([int(np.isinf(values).sum())]),
    )


def profiles_of(columns: Any, names: Sequence[str]) -> list[ColumnProfile]:
    """Profiles of columns of numbers, which are the rows of an array."""
    facts = facts_of_numbers(columns)
    suspected = may_have_sentinels(facts.low, facts.high)
    found: list[list[Sentinel]] = [[] for _ in names]
    for j in np.flatnonzero(suspected):
        found[j] = find_sentinels(columns[j].astype(np.float64))
    made = profiles_from(facts, names, found, columns.shape[1])
    for j in np.flatnonzero(facts.whole & (facts.low >= FIRST_DAY) & (facts.high <= LAST_DAY)):
        made[j] = as_days(columns[j], made[j])
    return made


def profiles_from(
    facts: NumberFacts, names: Sequence[str], found: Sequence[list[Sentinel]], n_rows: int
) -> list[ColumnProfile]:
    """Profiles by what was counted."""
    made = []
    for j, name in enumerate(names):
        known = n_rows - int(facts.missing[j])
        distinct, whole = int(facts.distinct[j]), bool(facts.whole[j])
        low, median, high = (float(part[j]) for part in (facts.low, facts.median, facts.high))
        kind = WHOLE if whole else NUMBER
        if not known:
            kind = EMPTY
        elif distinct == 2 and (low, high) == (0.0, 1.0):
            kind = YES_NO
        is_named = bool(facts.increasing[j]) or names_samples(name)
        made.append(
            ColumnProfile(
                name,
                kind,
                int(facts.missing[j]),
                distinct if known else 0,
                minimum=low if known else None,
                median=median if known else None,
                maximum=high if known else None,
                sentinels=tuple(found[j]),
                is_constant=known > 1 and distinct == 1,
                is_id_like=whole and 5 <= n_rows == distinct == known and is_named,
                n_infinite=int(facts.infinite[j]),
            )
        )
    return made


def as_days(values: Any, profile: ColumnProfile) -> ColumnProfile:
    """Whole numbers that are all days, such as 20240131, as dates."""
    pandas = import_pandas()
    known = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    days = np.unique(known).astype(np.int64)
    parsed = pandas.to_datetime(pandas.Series(days.astype(str)), format="%Y%m%d", errors="coerce")
    if len(days) < 3 or parsed.isna().any():
        return profile
    middle = np.searchsorted(days, np.partition(known, len(known) // 2)[len(known) // 2])
    low, median, high = (day(parsed.iloc[k]) for k in (0, int(middle), -1))
    return replace(profile, type=DATE, minimum=low, median=median, maximum=high, is_id_like=False)


# Words, dates, and everything else


def profile_of_words(column: Any, name: str, verdict: Verdict) -> ColumnProfile:
    """A column that pandas does not hold as numbers."""
    pandas = import_pandas()
    types = pandas.api.types
    codes, values = distinct_values(column)
    n_rows, missing = len(column), int((codes < 0).sum())
    distinct, known = len(values), len(column) - missing
    profile = ColumnProfile(name, TEXT, missing, distinct, is_constant=known > 1 and distinct == 1)
    if not known:
        return replace(profile, type=EMPTY)
    if types.is_datetime64_any_dtype(column.dtype):
        return dated(profile, column)
    if types.is_bool_dtype(column.dtype):
        return replace(profile, type=YES_NO, examples=tuple(map(str, values[:N_EXAMPLES])))
    kind = types.infer_dtype(values, skipna=True)
    if kind in ("date", "datetime", "datetime64"):
        parsed = pandas.to_datetime(column, errors="coerce", utc=True)
        return dated(profile, parsed.dt.tz_localize(None))
    words = [str(value).strip() for value in values]
    profile = replace(profile, examples=tuple(word[:80] for word in words[:N_EXAMPLES]))
    if kind == "boolean":
        return replace(profile, type=YES_NO)
    counts = np.bincount(codes[codes >= 0], minlength=distinct)
    if kind in ("integer", "floating", "mixed-integer-float", "decimal"):
        return replace(profile, type=NUMBER)
    is_name = 3 <= n_rows == distinct and max(map(len, words)) <= LONGEST_NAME
    if verdict.is_code:
        return replace(profile, type=CODE, is_id_like=is_name)
    if verdict.numbers is not None:
        return profiles_of(verdict.numbers[None], [name])[0]
    if verdict.dates is not None:
        return dated(profile, verdict.dates)
    if verdict.unreadable is not None or verdict.units:
        return replace(profile, type=MIXED, units=verdict.units)
    return replace(profile, type=type_of_words(words, counts), is_id_like=is_name)


def distinct_values(column: Any) -> tuple[Ints, Any]:
    """The number of each cell's value, −1 if it is missing, and the different values."""
    pandas = import_pandas()
    try:
        codes, values = pandas.factorize(column)
    except TypeError:  # lists and dicts
        texts = column.astype(object).map(str, na_action="ignore")
        codes, values = pandas.factorize(texts)
    return codes, np.asarray(values, dtype=object) if not hasattr(values, "array") else values


def type_of_words(words: Sequence[str], counts: Ints) -> str:
    """Yes/no, category, text, or numbers and words."""
    lower = frozenset(word.lower() for word in words)
    if lower in BOTH_WORDS or any(lower <= pair for pair in EITHER_WORD):
        return YES_NO
    numbers = import_pandas().to_numeric(np.array(words, dtype=object), errors="coerce")
    part = counts[~np.isnan(numbers)].sum() / counts.sum()
    if PART_OF_NUMBERS <= part < 1:
        return MIXED
    few = len(words) <= MOST_CATEGORIES and 2 * len(words) <= counts.sum()
    return CATEGORY if few or len(words) <= 2 else TEXT


def dated(profile: ColumnProfile, values: Any) -> ColumnProfile:
    """The profile of dates, which may be missing."""
    days = values.dropna().sort_values()
    if not len(days):
        return replace(profile, type=DATE)
    low, median, high = (days.iloc[k] for k in (0, len(days) // 2, -1))
    return replace(profile, type=DATE, minimum=day(low), median=day(median), maximum=day(high))


def day(date: Any) -> str | None:
    """A date as text, of whatever year."""
    if date is None or date != date:
        return None
    # pandas has no `date` of the years that Python's own lacks.
    return str(np.datetime_as_string(date.tz_localize(None).to_datetime64(), unit="D"))
