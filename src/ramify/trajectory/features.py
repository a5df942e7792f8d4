"""Features of the samples, dense or sparse, in blocks of columns with the same missing values."""

from collections.abc import Hashable, Iterator
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._compat import pandas_of
from .._messages import listed
from .._typing import Bools, Floats, Ints, Matrix
from .._validation import check_not_huge
from ..chunks import check_not_chunked

# Numbers in a dense block of features (8 MiB).
MAX_BLOCK = 2**20


class Block(NamedTuple):
    """Some features, in double precision, without the samples in which they are missing."""

    columns: Ints
    rows: Bools | slice  # the samples that are there; all of them as a slice
    values: Floats  # (n_rows, n_columns)


def check_features(
    values: Any, feature_names: Any, n_samples: int, parameter: str = "values"
) -> tuple[Matrix, list[Any]]:
    """One row of numbers per sample, dense or CSC, and one name per feature.

    NaN stands for a missing value. Columns of a data frame bring their names; other features
    are numbered from 0 where no names are given. Messages call the values as the caller does.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.trajectory.features import check_features
    >>> check_features(np.zeros((3, 2)), None, 3)[1]
    [0, 1]
    """
    check_not_chunked(values, parameter)
    values = pandas_of(values, parameter)
    if hasattr(values, "to_df"):
        raise TypeError(
            f"{parameter} is an {type(values).__name__}, but must be an array, a sparse matrix or "
            f"a DataFrame; pass {parameter}.to_df(), or {parameter}.X without names."
        )
    if feature_names is None and hasattr(values, "columns"):
        feature_names = list(values.columns)
    if sparse.issparse(values):
        # Columns are cut out of it, which is slow in any other format.
        values = sparse.csc_array(values).astype(np.float64, copy=False)
        entries = values.data
    else:
        try:
            values = entries = as_numbers(values)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{parameter} must hold numbers, but {error}; drop columns of text or encode them, "
                "for instance with sklearn.preprocessing.OneHotEncoder."
            ) from error
    if values.ndim == 1:
        raise ValueError(
            f"{parameter} has shape {values.shape} but must have two dimensions; pass a single "
            f"feature as {parameter}.reshape(-1, 1), or a pandas Series as {parameter}.to_frame()."
        )
    if values.ndim != 2 or values.shape[0] != n_samples or values.shape[1] == 0:
        raise ValueError(
            f"{parameter} has shape {values.shape} but must be (n_samples, n_features) with "
            f"n_samples={n_samples} and at least one feature; pass one row per sample on the tree, "
            "in the same order."
        )
    largest = float(np.fmax.reduce(entries, axis=None, initial=0))
    size = max(largest, -float(np.fmin.reduce(entries, axis=None, initial=0)))
    if not np.isfinite(size):
        raise ValueError(
            f"{parameter} holds an infinite number, but every value must be finite or NaN "
            "(missing); replace it, for instance by NaN."
        )
    if n_samples > 0:
        check_not_huge(values, size, parameter)
    names = list(range(values.shape[1])) if feature_names is None else list(feature_names)
    if len(names) != values.shape[1]:
        raise ValueError(
            f"feature_names has {len(names)} names, but {parameter} has {values.shape[1]} columns; "
            "pass one name per column."
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"feature_names holds {twice!r} more than once, but names must differ; make them "
            "unique, for instance by a suffix."
        )
    return values, names


def choose_features(
    names: list[Any], features: Any = None, parameter: str = "features"
) -> list[int]:
    """Columns of features that are chosen by name, in the order of the choice; None: all.

    Examples
    --------
    >>> from ramify.trajectory.features import choose_features
    >>> choose_features(["GATA1", "SPI1", "CEBPA"], ["CEBPA", "GATA1"])
    [2, 0]
    >>> choose_features(["GATA1", "SPI1"], "GATA")
    Traceback (most recent call last):
    ...
    ValueError: features names 'GATA', which is no feature; did you mean 'GATA1'?
    """
    if features is None:
        return list(range(len(names)))
    column = {name: number for number, name in enumerate(names)}
    one = isinstance(features, str) or not hasattr(features, "__iter__")
    chosen = [features] if one else list(features)
    for name in chosen:
        if not isinstance(name, Hashable) or name not in column:
            alike = get_close_matches(str(name), map(str, names), cutoff=0.5)
            told = (
                f"did you mean {listed(map(repr, alike))}?"
                if alike
                else f"there are {listed(map(repr, names))}."
            )
            raise ValueError(f"{parameter} names {name!r}, which is no feature; {told}")
    if not chosen:
        raise ValueError(f"{parameter} is empty; name at least one, or leave {parameter} out.")
    return [column[name] for name in dict.fromkeys(chosen)]


def as_numbers(values: Any) -> Any:
    """An array of numbers, without a copy of one; missing ones of a data frame as NaN."""
    if hasattr(values, "to_numpy"):
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    is_numeric = isinstance(values, np.ndarray) and values.dtype.kind in "uif"
    return np.asarray(values, dtype=None if is_numeric else np.float64)


def feature_blocks(values: Matrix, samples: Ints | slice = slice(None)) -> Iterator[Block]:
    """Blocks of features that lack the same samples; all features together hold every column once.

    Of all samples, or of some. Sparse values are made dense one block at a time. Features without
    missing values, the usual case, come many at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.trajectory.features import feature_blocks
    >>> for block in feature_blocks(np.array([[1.0, np.nan, 3.0], [4.0, 5.0, 6.0]])):
    ...     print(block.columns, block.values.tolist())
    [0 2] [[1.0, 3.0], [4.0, 6.0]]
    [1] [[5.0]]
    """
    n_samples, n_features = values.shape
    width = max(1, MAX_BLOCK // max(n_samples, 1))
    for start in range(0, n_features, width):
        cut = values[:, start : start + width]
        dense = (cut.toarray() if sparse.issparse(cut) else cut)[samples].astype(np.float64)
        columns = np.arange(start, start + dense.shape[1])
        missing = np.isnan(dense)
        has_missing = missing.any(axis=0)
        if not has_missing.any():
            yield Block(columns, slice(None), dense)
            continue
        if not has_missing.all():
            yield Block(columns[~has_missing], slice(None), dense[:, ~has_missing])
        gappy = np.flatnonzero(has_missing)
        patterns = np.packbits(missing[:, gappy], axis=0)
        _, pattern = np.unique(patterns, axis=1, return_inverse=True)
        for number in range(pattern.max() + 1):
            members = gappy[pattern.ravel() == number]
            rows = ~missing[:, members[0]]
            yield Block(columns[members], rows, dense[np.ix_(rows, members)])
