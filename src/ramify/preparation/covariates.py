"""Covariates as columns of a regression: numbers as they are, categories as indicators."""

from numbers import Number
from typing import Any

import numpy as np

from .._typing import Bools, Floats
from .._validation import check_not_huge

# The levels of a category in the order of their indicators, the first being the reference; None
# for numbers.
Levels = list[str] | None


def column_names(covariates: Any) -> list[Any]:
    """The names of the columns of a DataFrame or dict.

    Examples
    --------
    >>> from ramify.preparation.covariates import column_names
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


def is_missing(column: Any) -> Bools:
    """Which values of a column are None, NaN, NA or NaT.

    Examples
    --------
    >>> from ramify.preparation.covariates import is_missing
    >>> is_missing(["a", None, float("nan")])
    array([False,  True,  True])
    """
    values = _values(column)
    if values.dtype.kind in "biuUS":
        return np.zeros(len(values), dtype=bool)
    if values.dtype.kind in "fcmM":
        return values != values
    return np.array([_is_unknown(value) for value in values], dtype=bool)


def choose_levels(column: Any, name: str) -> Levels:
    """None for numbers; otherwise the levels that occur, the reference level first.

    The levels of a pandas categorical keep the order of its categories; others are sorted.

    Examples
    --------
    >>> from ramify.preparation.covariates import choose_levels
    >>> choose_levels(["m", "f", "m"], "sex"), choose_levels([31, 45], "age")
    (['f', 'm'], None)
    """
    categories = getattr(getattr(column, "cat", column), "categories", None)
    if categories is not None:
        seen = {as_text(value) for value in _values(column)}
        return [text for text in map(as_text, categories) if text in seen]
    values = _values(column)
    if values.dtype.kind in "iuf":
        return None
    if values.dtype.kind not in "bOUST":
        raise TypeError(
            f"covariate {name!r} has type {values.dtype}, but must hold numbers, truth values, "
            "categories or text; convert it, for instance to days since the first visit."
        )
    found = list(values.tolist())
    wrong = [v for v in found if not isinstance(v, str | bytes | Number | np.bool_)]
    wrong += [v for v in found if isinstance(v, complex | np.complexfloating)]
    if wrong:
        raise TypeError(
            f"covariate {name!r} holds {wrong[0]!r}, but must hold numbers, truth values, "
            "categories or text; convert it, for instance by astype(str)."
        )
    if all(isinstance(v, Number) and not isinstance(v, bool) for v in found):
        return None
    check_words([value for value in found if isinstance(value, str)], name)
    return sorted({as_text(value) for value in found})


def check_words(texts: list[str], name: str) -> None:
    """Text of which most is numbers, "71" and "<30", was not meant as a level for each."""
    words = [text for text in texts if not _is_number(text)]
    if 0 < len(words) < len(texts) / 2:
        raise ValueError(
            f"covariate {name!r} seems to hold numbers, but {len(words)} of {len(texts)} values "
            f"are none, the first {words[0]!r}; replace these by numbers, or name all levels by "
            "words, as 'grade 1'."
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def encode(column: Any, levels: Levels, name: str) -> Floats:
    """A column of numbers, or one indicator for each level but the first.

    Examples
    --------
    >>> from ramify.preparation.covariates import encode
    >>> encode(["b", "a", "c"], ["a", "b", "c"], "site")
    array([[1., 0.],
           [0., 0.],
           [0., 1.]])
    """
    values = _values(column)
    if levels is None:
        return _numbers(values, name)[:, np.newaxis]
    number = {level: k for k, level in enumerate(levels)}
    texts = [as_text(value) for value in values]
    unknown = next((text for text in texts if text not in number), None)
    if unknown is not None:
        raise ValueError(
            f"covariate {name!r} has the level {unknown!r}, but its levels in fit were "
            f"{', '.join(map(repr, levels))}; leave such rows out, or fit with samples of that "
            "level."
        )
    codes = np.array([number[text] for text in texts], dtype=np.intp)
    return (codes[:, np.newaxis] == np.arange(1, len(levels))).astype(np.float64)


def check_covariates(covariates: Any, names: list[str], n_rows: int, index: Any) -> None:
    """The wanted columns are there, with a known value for each row of X, in its order."""
    if covariates is None:
        raise ValueError(
            f"adjust={names} needs covariates, which are missing; pass covariates=… with these "
            "columns, a DataFrame or a dict."
        )
    given = column_names(covariates)
    for name in names:
        if given.count(name) != 1:
            raise ValueError(
                f"adjust names {name!r}, but covariates have {given.count(name)} such columns; "
                f"their columns are {', '.join(map(repr, given)) or 'none'}."
            )
        missing = is_missing(covariates[name])
        if len(missing) != n_rows:
            raise ValueError(
                f"covariate {name!r} has {len(missing)} values, but X has {n_rows} rows; pass one "
                "value for each row."
            )
        if missing.any():
            raise ValueError(
                f"covariate {name!r} is missing in {missing.sum()} of {n_rows} rows, first in row "
                f"{missing.argmax()}, but must be known for all; drop these rows from X and from "
                "the covariates (ramify.preparation.complete_rows marks the others)."
            )
    _check_order(getattr(covariates, "index", None), index)


def _check_order(given: Any, index: Any) -> None:
    """Rows with names are in the same order in both tables; numbers from 0 on are no names."""
    if given is None or index is None or callable(given) or callable(index):
        return
    numbers, theirs, ours = list(range(len(index))), list(given), list(index)
    if theirs in (numbers, ours) or ours == numbers:
        return
    row = next(k for k in numbers if theirs[k] != ours[k])
    raise ValueError(
        f"covariates have {theirs[row]!r} in row {row}, where X has {ours[row]!r}; pass "
        "covariates.loc[X.index] or, if only the names differ, "
        "covariates.reset_index(drop=True)."
    )


def _values(column: Any) -> Any:
    """A column as an array of one dimension."""
    if not hasattr(column, "__len__"):
        raise TypeError(
            f"A covariate must be a column with a value for each row of X, got {column!r}; pass a "
            "list or an array."
        )
    values = column.to_numpy() if hasattr(column, "to_numpy") else column
    if isinstance(values, np.ndarray):
        return values.ravel()
    # A list of numbers and text would become text, and None be lost in it.
    objects = np.empty(len(values), dtype=object)
    objects[:] = list(values)
    return objects


def _is_unknown(value: Any) -> bool:
    # NA of pandas is neither equal nor unequal to anything, NaN unequal to itself.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def as_text(value: Any) -> str:
    """The name of a level; a whole number has the same as integer and as float.

    Where a value was missing, the other integers of a column became floats.

    Examples
    --------
    >>> from ramify.preparation.covariates import as_text
    >>> as_text(2.0), as_text(2), as_text(2.5)
    ('2', '2', '2.5')
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    return str(value)


def _numbers(values: Any, name: str) -> Floats:
    try:
        numbers = values.astype(np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise TypeError(
            f"covariate {name!r} must hold numbers, as it did in fit, but {error}; convert it, or "
            "leave such rows out."
        ) from error
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        raise ValueError(
            f"covariate {name!r} is {numbers[wrong[0]]} in row {wrong[0]}, but must be finite; "
            "replace such values or drop the rows."
        )
    check_not_huge(numbers, float(np.abs(numbers).max()), f"covariate {name!r}")
    return numbers
