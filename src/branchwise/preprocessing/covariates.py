"""Covariates as columns of a regression, numbers or indicators, and what it leaves of features."""

from collections.abc import Sequence
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from .._typing import Bools, Floats
from ..data.categories import as_level, column_names, column_values, is_missing
from ..data.checks import check_not_huge
from .steps import centred_product

# The levels of a category in the order of their indicators, the first being the reference; None
# for numbers.
Levels = list[str] | None


def choose_levels(column: Any, name: str) -> Levels:
    """None for numbers; otherwise the levels that occur, the reference level first.

    The levels of a pandas categorical keep the order of its categories; others are sorted.

    Examples
    --------
    >>> from branchwise.preprocessing.covariates import choose_levels
    >>> choose_levels(["m", "f", "m"], "sex"), choose_levels([31, 45], "age")
    (['f', 'm'], None)
    """
    categories = getattr(getattr(column, "cat", column), "categories", None)
    if categories is not None:
        seen = {as_level(value) for value in column_values(column)}
        return [text for text in dict.fromkeys(map(as_level, categories)) if text in seen]
    values = column_values(column)
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
    return sorted({as_level(value) for value in found})


def check_words(texts: list[str], name: str) -> None:
    """Text of which most is numbers, "71" and "<30", was not meant as a level for each."""
    words = [text for text in texts if not is_number(text)]
    if 0 < len(words) < len(texts) / 2:
        raise ValueError(
            f"covariate {name!r} seems to hold numbers, but {len(words)} of {len(texts)} values "
            f"are none, the first {words[0]!r}; replace these by numbers, or name all levels by "
            "words, as 'grade 1'."
        )


def is_number(text: str) -> bool:
    """Whether text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def encode(column: Any, levels: Levels, name: str) -> Floats:
    """A column of numbers, or one indicator for each level but the first.

    Examples
    --------
    >>> from branchwise.preprocessing.covariates import encode
    >>> encode(["b", "a", "c"], ["a", "b", "c"], "site")
    array([[1., 0.],
           [0., 0.],
           [0., 1.]])
    """
    values = column_values(column)
    if levels is None:
        return as_numbers(values, name)[:, np.newaxis]
    number = {as_level(level): k for k, level in enumerate(levels)}
    texts = [value if value in number else as_level(value) for value in values.tolist()]
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
    check_given(covariates, names)
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
                "the covariates (branchwise.preprocessing.complete_rows marks the others)."
            )
    check_order(getattr(covariates, "index", None), index)


def check_given(covariates: Any, names: Sequence[str]) -> None:
    """There are covariates at all."""
    if covariates is None:
        raise ValueError(
            f"adjust={list(names)} needs covariates, which are missing; pass covariates=… with "
            "these columns, a DataFrame or a dict."
        )


def check_order(given: Any, index: Any) -> None:
    """Rows with names are in the same order in both tables; numbers from 0 on are not names."""
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


def as_numbers(values: Any, name: str) -> Floats:
    """The values of a covariate of numbers, which must be finite."""
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


# What is left of a feature counts as rounding below this part of its spread, or so many units in
# the last place of its values.
SPREAD_RTOL = 1e-12
N_ULPS = 10


class Residuals(NamedTuple):
    """Every feature less what the covariates tell of it, plus its mean.

    x − (z − z̄)·B, where z are the encoded covariates, and z̄ and B their means and coefficients in
    the training data. A feature that the covariates determine but for rounding has no residual: it
    is its mean, in every table.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.covariates import Residuals
    >>> X = np.array([[1.0], [2.0], [3.0], [2.0]])
    >>> sex = {"sex": ["f", "m", "m", "f"]}
    >>> step = Residuals.fit(X, sex, ["sex"])
    >>> step.apply(X, step.design(sex)).ravel()
    array([1.5, 1.5, 2.5, 2.5])
    """

    names: list[str]
    levels: list[Levels]
    center: Floats
    coefficients: Floats
    mean: Floats
    is_explained: Bools

    @classmethod
    def fit(
        cls, X: Floats, covariates: Any, names: list[str], eps: float = np.finfo(np.float64).eps
    ) -> "Residuals":
        """Regress each feature on the covariates, in the rows in which it is known.

        `eps` is the precision that the data came in.
        """
        levels = [choose_levels(covariates[name], name) for name in names]
        Z = design(covariates, names, levels)
        gaps = np.isnan(X)
        if not gaps.any():
            return cls.of_rows(X, Z, names, levels, eps)
        # Column after column, each at the centre of its own rows and then moved to that of all.
        center, n_columns = Z.mean(axis=0), Z.shape[1]
        coefficients, mean = np.empty((n_columns, X.shape[1])), np.empty(X.shape[1])
        is_explained = np.empty(X.shape[1], dtype=bool)
        for j, rows in enumerate(~gaps.T):
            part = cls.of_rows(X[rows, j : j + 1], Z[rows], names, levels, eps)
            coefficients[:, j] = part.coefficients[:, 0]
            mean[j] = part.mean[0] + (center - part.center) @ part.coefficients[:, 0]
            is_explained[j] = part.is_explained[0]
        return cls(names, levels, center, coefficients, mean, is_explained)

    @classmethod
    def of_rows(
        cls, X: Floats, Z: Floats, names: list[str], levels: list[Levels], eps: float
    ) -> "Residuals":
        """The same where all values are known, with the covariates encoded."""
        center, mean = Z.mean(axis=0), X.mean(axis=0)
        size = np.abs(Z - center).max(axis=0, initial=0.0)
        size[size == 0] = 1.0
        A, Y = (Z - center) / size, X - mean
        # Columns that depend on one another, or none at all, are no obstacle.
        B, _, rank, _ = np.linalg.lstsq(A, Y, rcond=None)
        if rank + 1 >= len(X):
            raise ValueError(
                f"adjust={names} has {rank} independent columns, which explain n_samples={len(X)} "
                "completely and leave no residual; adjust for fewer covariates or levels, or add "
                "samples."
            )
        left = root_mean_square(Y - A @ B)
        is_explained = left <= SPREAD_RTOL * root_mean_square(Y) + N_ULPS * eps * root_mean_square(
            X
        )
        return cls(names, levels, center, B / size[:, np.newaxis], mean, is_explained)

    def design(self, covariates: Any) -> Floats:
        """The covariates, encoded as in fit."""
        return design(covariates, self.names, self.levels)

    def apply(self, X: Floats, Z: Floats) -> Floats:
        """What is left of X, given the encoded covariates, by the same sums for any rows."""
        left = X - centred_product(Z, self.center, self.coefficients)
        if not self.is_explained.any():
            return left
        return np.where(self.is_explained & ~np.isnan(X), self.mean, left)


def design(covariates: Any, names: list[str], levels: list[Levels]) -> Floats:
    """The encoded covariates side by side.

    Examples
    --------
    >>> from branchwise.preprocessing.covariates import design
    >>> design({"age": [31, 45], "sex": ["f", "m"]}, ["age", "sex"], [None, ["f", "m"]])
    array([[31.,  0.],
           [45.,  1.]])
    """
    columns = [encode(covariates[name], of, name) for name, of in zip(names, levels, strict=True)]
    return np.ascontiguousarray(np.hstack(columns))


def root_mean_square(X: Floats) -> Floats:
    """Of each column."""
    return np.sqrt(np.einsum("ij,ij->j", X, X) / len(X))
