"""Columns as users have them: what is missing, which hold numbers, and which categories."""

import re
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from .._typing import Bools, Floats, Ints
from .composed import composed
from .masked import unmasked

# An empty cell by other names: in every column, as they are written …
MISSING = frozenset(["", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "<NA>"])
# Errors of formulas, as spreadsheets write them.
SPREADSHEET_ERRORS = frozenset(
    (
        *("#N/A", "#VALUE!", "#REF!", "#DIV/0!", "#NUM!", "#NAME?", "#NULL!"),
        *("#GETTING_DATA", "#SPILL!", "#CALC!"),
    )
)
# … and among numbers and dates, in small letters; beside words they may be words ("None" is a
# therapy).
MISSING_AMONG_NUMBERS = frozenset(
    (
        *("", "-", "--", ".", "..", "?", "*", "none", "missing", "unknown", "na", "nan"),
        *("n/a", "null", "<na>", "nd", "n.d.", "n.a."),
        *(error.lower() for error in SPREADSHEET_ERRORS),
    )
)
# From here on not every whole number is a floating one: digits are lost.
INEXACT = 2.0**53


# Columns


def column_names(covariates: Any) -> list[Any]:
    """The names of the columns of a DataFrame or dict.

    Examples
    --------
    >>> from branchwise.data.categories import column_names
    >>> column_names({"age": [31, 45], "sex": ["f", "m"]})
    ['age', 'sex']
    """
    if isinstance(covariates, dict):
        return list(covariates)
    if hasattr(covariates, "columns"):
        return list(covariates.columns)
    raise TypeError(
        f"covariates must be a DataFrame or a dict of columns, got {type(covariates).__name__}; "
        "pass pandas.DataFrame(covariates, columns=[…])."
    )


def column_values(column: Any) -> Any:
    """A column as an array of one dimension."""
    if not hasattr(column, "__len__"):
        raise TypeError(
            f"A covariate must be a column with a value for each row of X, got {column!r}; pass a "
            "list or an array."
        )
    values = unmasked(column.to_numpy() if hasattr(column, "to_numpy") else column)
    if isinstance(values, np.ndarray) and not has_lost_digits(column, values):
        return values.ravel()
    values = column if isinstance(values, np.ndarray) else values
    # A list of numbers and text would become text, and None be lost in it.
    objects = np.empty(len(values), dtype=object)
    objects[:] = list(values)
    return objects


def has_lost_digits(column: Any, values: Any) -> bool:
    """Whether whole numbers of a nullable type became decimals, and are too large for it."""
    is_nullable = not isinstance(getattr(column, "dtype", values.dtype), np.dtype)
    if not (is_nullable and values.dtype.kind == "f" and "int" in str(column.dtype).lower()):
        return False
    return bool((np.abs(values) >= INEXACT).any())


def is_missing(column: Any) -> Bools:
    """Which values of a column are None, NaN, NA or NaT.

    Examples
    --------
    >>> from branchwise.data.categories import is_missing
    >>> is_missing(["a", None, float("nan")])
    array([False,  True,  True])
    """
    values = column_values(column)
    if values.dtype.kind in "biuUS":
        return np.zeros(len(values), dtype=bool)
    if values.dtype.kind in "fcmM":
        return values != values
    return np.array([is_unknown(value) for value in values], dtype=bool)


def is_unknown(value: Any) -> bool:
    """Whether one value is missing."""
    # NA of pandas is neither equal nor unequal to anything, NaN unequal to itself.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def is_blank(column: Any) -> Bools:
    """Which cells have no value, or text that says so.

    Examples
    --------
    >>> from branchwise.data.categories import is_blank
    >>> is_blank(["a", " ", None, "NA"])
    array([False,  True,  True,  True])
    """
    values = column_values(column)
    blank = is_missing(values)
    if values.dtype.kind in "OUT":
        blank |= np.array([is_empty(value) for value in values], dtype=bool)
    return blank


def is_empty(cell: Any) -> bool:
    """Whether a cell is text that says that there is no value."""
    return isinstance(cell, str) and cell.strip() in MISSING


def is_no_number(cell: Any) -> bool:
    """Whether a cell is text that says so among numbers or dates.

    Examples
    --------
    >>> from branchwise.data.categories import is_no_number
    >>> is_no_number("Unknown"), is_no_number("N/A "), is_no_number("high")
    (True, True, False)
    """
    return isinstance(cell, str) and cell.strip().lower() in MISSING_AMONG_NUMBERS


def distinct(column: Any) -> tuple[Ints, list[Any]]:
    """Which of the different values each cell has, −1 where it has none, and these values.

    Of a million cells there are few; what is slow is done to these.

    Examples
    --------
    >>> from branchwise.data.categories import distinct
    >>> distinct(["b", None, "a", "b", " "])
    (array([ 0, -1,  1,  0, -1]), ['b', 'a'])
    """
    values = column_values(column)
    if values.dtype.kind in "biuf":
        found, codes = np.unique(values, return_inverse=True)
        # In single precision 0.1 is 0.100000001…
        is_short = values.dtype.kind == "f" and values.dtype.itemsize < 8
        cells = [float(str(value)) for value in found] if is_short else found.tolist()
    else:
        given = values.tolist()
        try:
            number: dict[Any, int] = {}
            if bool in set(map(type, given)):  # as keys, 1 and True are the same
                keys = list(zip(map(type, given), given, strict=True))
                codes = np.array([number.setdefault(k, len(number)) for k in keys], dtype=np.intp)
                cells = [cell for _, cell in number]
            else:
                codes = np.array([number.setdefault(k, len(number)) for k in given], dtype=np.intp)
                cells = list(number)
        except TypeError:  # lists, for instance
            codes, cells = np.arange(len(given)), given
    blank = [is_unknown(cell) or is_empty(cell) for cell in cells]
    new = np.where(blank, -1, np.cumsum(np.logical_not(blank)) - 1).astype(np.intp)
    known = [cell for cell, is_none in zip(cells, blank, strict=True) if not is_none]
    return (new[codes] if len(cells) else np.empty(0, dtype=np.intp)), known


# Numbers


def are_numbers(values: Any) -> bool:
    """Whether all values of an array are numbers or missing; truth values are not numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.categories import are_numbers
    >>> are_numbers(np.array([1, None], dtype=object)), are_numbers(np.array([True, False]))
    (True, False)
    """
    if values.dtype.kind != "O":
        return values.dtype.kind in "iuf"
    known = values[~is_missing(values)]
    return len(known) > 0 and all(
        isinstance(value, Real | Decimal) and not isinstance(value, bool | np.bool_)
        for value in known
    )


def as_floats(values: Any) -> Floats:
    """Numbers of any kind in double precision: NaN if missing, infinity if too large for it.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.categories import as_floats
    >>> as_floats(np.array([1, None, -(10**400)], dtype=object))
    array([  1.,  nan, -inf])
    """
    values = np.where(is_missing(values), np.nan, values)
    try:
        return values.astype(np.float64)
    except OverflowError:
        return np.array([as_float(value) for value in values])


def as_float(value: Any) -> float:
    """One number."""
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


# Categories


def as_text(value: Any) -> str:
    """The name of a level; a whole number has the same as integer and as float.

    Where a value was missing, the other integers of a column became floats.

    Examples
    --------
    >>> from branchwise.data.categories import as_text
    >>> as_text(2.0), as_text(2), as_text(2.5)
    ('2', '2', '2.5')
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    return str(value)


# As text these are read one by one; beside words a whole column of them stays text.
WHOLE = re.compile(r"[+-]?(?:0|[1-9]\d*)(?:\.0*)?")
DECIMAL = re.compile(r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
TRUTH = re.compile(r"true|TRUE|false|FALSE")


def as_level(value: Any) -> str:
    r"""The name of a level, the same however a number or a truth value is written.

    Whether a column was read as numbers depends on its other cells, and must not matter; nor do
    blanks around text. Codes such as 007 are not numbers.

    Examples
    --------
    >>> from branchwise.data.categories import as_level
    >>> [as_level(value) for value in (2.0, "2.0", "2", " 2", "TRUE", True, "1.50", "007", "II ")]
    ['2', '2', '2', '2', 'True', 'True', '1.5', '007', 'II']
    >>> as_level("1e5"), as_level(1e5), as_level("9007199254740993")
    ('100000', '100000', '9007199254740993')
    >>> as_level("Ko\u0308ln") == as_level("K\u00f6ln")
    True
    """
    word = composed(as_text(value).strip())
    if WHOLE.fullmatch(word):
        return word.partition(".")[0].removeprefix("+").replace("-0", "0")
    if DECIMAL.fullmatch(word):
        number = float(word)
        return as_text(number) if abs(number) < INEXACT else word
    return word.capitalize() if TRUTH.fullmatch(word) else word


def as_texts(values: list[Any]) -> list[str]:
    """Names of categories, so that any mixture can be sorted; whole numbers have no decimals.

    Examples
    --------
    >>> from branchwise.data.categories import as_texts
    >>> as_texts([1.0, "a", None])
    ['1', 'a', 'None']
    """
    kinds = set(map(type, values))
    if kinds <= {str}:
        return values
    if len(kinds) == 1 and kinds <= {bool, int, float}:
        names = {value: as_text(value) for value in set(values)}  # few of many
        return [names[value] for value in values]
    return [as_text(value) for value in values]


def natural(text: str) -> list[Any]:
    """A key that sorts text with numbers in it as people do.

    Examples
    --------
    >>> from branchwise.data.categories import natural
    >>> sorted(["day 10", "day 2"], key=natural)
    ['day 2', 'day 10']
    """
    return [
        # Of two whole numbers the longer one is larger; `int` takes no more than 4300 digits.
        (0, len(part.lstrip("0")), part.lstrip("0")) if part.isdecimal() else (1, 0, part)
        for part in re.split(r"(\d+)", text)
        if part
    ]


def declared_categories(values: Any) -> Any:
    """Those of a categorical of pandas, or of an enumeration of polars, in their order."""
    declared = getattr(getattr(values, "dtype", None), "categories", None)
    return declared if hasattr(declared, "__len__") else None


def numbered(values: Any, declared: Any = None) -> tuple[Ints, list[str]]:
    """The number of each value's category, −1 if it is missing, and the names of the categories.

    Parameters
    ----------
    values : array of shape (n_samples,)
    declared : sequence or None, default=None
        All categories in their order, if that is known; otherwise names that occur, in the order
        in which people would put them.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.categories import numbered
    >>> numbered(np.array(["day 10", "day 2", None, "day 2"], dtype=object))
    (array([ 1,  0, -1,  0]), ['day 2', 'day 10'])
    """
    missing = is_missing(values)
    texts = as_texts(values[~missing].tolist())
    if declared is None:
        labels = sorted(sorted(set(texts)), key=natural)  # also where 02 and 2 are alike
    else:
        labels = list(dict.fromkeys(as_texts(list(declared))))
    number = {label: code for code, label in enumerate(labels)}
    codes = np.full(len(values), -1, dtype=np.intp)
    codes[~missing] = [number[text] for text in texts]
    return codes, labels


def largest(codes: Ints, labels: list[str], n_kept: int) -> tuple[Ints, list[str]]:
    """The largest categories in their order, and one more for all the others.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.categories import largest
    >>> largest(np.array([0, 1, 2, 2, -1]), ["a", "b", "c"], 1)
    (array([ 1,  1,  0,  0, -1]), ['c', 'other: 2 categories'])
    """
    counts = np.bincount(codes[codes >= 0], minlength=len(labels))
    kept = np.sort(np.argsort(-counts, kind="stable")[:n_kept])
    new = np.full(len(labels) + 1, n_kept)
    new[kept] = np.arange(n_kept)
    new[-1] = -1  # where missing values look
    return new[codes], [labels[k] for k in kept] + [f"other: {len(labels) - n_kept} categories"]
