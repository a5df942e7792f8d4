"""Checks of what a trajectory is made from, and of features along it, with their messages."""

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterator
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from .._compat import effective_n_jobs, pandas_of
from .._messages import listed
from .._typing import Bools, Floats, Ints, Matrix
from ..data.checks import check_finite, check_not_huge
from ..data.dask import check_not_dask
from ..data.masked import unmasked
from ..structures.base import graph_of

# Numbers in a dense block of features (8 MiB).
MAX_BLOCK = 2**20


class Block(NamedTuple):
    """Some features, in double precision, without the samples in which they are missing."""

    columns: Ints
    rows: Bools | slice  # the samples that are there; all of them as a slice
    values: Floats  # (n_rows, n_columns)


def check_geometry(tree: Any, nodes: Any) -> tuple[Floats, Ints]:
    """Positions of the nodes, and the edges between them."""
    nodes = check_positions(nodes, "nodes")
    n_nodes = len(nodes)
    if not sparse.issparse(tree):
        tree = as_array(tree)
        if tree.size == 0 and tree.shape in ((0,), (0, 2)):
            tree = np.empty((0, 2), dtype=np.intp)
        if tree.ndim != 2:
            raise ValueError(
                f"tree has {tree.ndim} dimension(s) and type {tree.dtype} but must be a matrix "
                "with one row and one column per node, or a list of edges; of a networkx graph, "
                "pass networkx.to_scipy_sparse_array(G)."
            )
        if tree.shape[1] == 2 and tree.shape != (n_nodes, n_nodes):
            return nodes, check_edges(tree, n_nodes)
    return nodes, graph_of(tree, n_nodes, "The")[0]


def check_edges(edges: Any, n_nodes: int) -> Ints:
    """A list of edges between existing nodes, each once."""
    if edges.size and edges.dtype.kind not in "iu":
        raise ValueError(
            f"tree has type {edges.dtype} but a list of edges must hold node numbers; pass "
            "integers, or a matrix with one row and one column per node."
        )
    wrong = edges[(edges < 0) | (edges >= n_nodes)]
    if len(wrong):
        raise ValueError(
            f"tree names node {wrong[0]}, but the nodes are 0 to {n_nodes - 1}; number them as the "
            "rows of nodes."
        )
    edges = np.unique(np.sort(edges.astype(np.intp), axis=1), axis=0)
    return edges[edges[:, 0] != edges[:, 1]]


def check_positions(points: Any, name: str, n_dims: int | None = None) -> Floats:
    """A finite array of positions, of the right number of dimensions."""
    try:
        checked = check_array(
            unmasked(points), dtype=np.float64, ensure_all_finite=False, input_name=name
        )
    except (TypeError, ValueError) as error:
        complaint = re.split(r"\n(?:array=|\[)", str(error))[0].rstrip(":. \n")
        raise ValueError(
            f"{name} must be an array of numbers with one row per point: {complaint}."
        ) from error
    check_not_huge(checked, check_finite(checked, name), name)
    if n_dims not in (None, checked.shape[1]):
        raise ValueError(
            f"{name} has {checked.shape[1]} column(s), but the nodes lie in {n_dims} dimension(s); "
            "pass what the estimator's transform returns."
        )
    return checked


def check_points(points: Any, nodes: Floats, names: Any) -> tuple[Floats, Any]:
    """Positions of the samples, and their names."""
    if names is None:
        names = getattr(points, "index", None)
    checked = nodes if points is None else check_positions(points, "points", nodes.shape[1])
    names = np.arange(len(checked)) if names is None or callable(names) else as_array(names)
    if names.shape != (len(checked),):
        raise ValueError(
            f"names has shape {names.shape}, but there are {len(checked)} samples; give one name "
            "for each."
        )
    return checked, names


def check_order(table: Any, names: Any, parameter: str) -> None:
    """Rows with names of samples, in the order of the samples.

    Numbers from 0 on are not names, and an index without any of the names is another one.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from branchwise.trajectory.checks import check_order
    >>> check_order(pd.Series([1, 2], index=["a", "b"]), np.array(["b", "a"]), "labels")
    Traceback (most recent call last):
    ...
    ValueError: labels has 'a' in row 0, where the trajectory has 'b'; pass labels.loc[names] ...
    """
    index = getattr(table, "index", None)
    if index is None or callable(index) or len(index) != len(names):
        return
    numbers, own, given = list(range(len(names))), names.tolist(), index.tolist()
    if own in (numbers, given) or given == numbers or set(own).isdisjoint(given):
        return
    row = next(k for k in numbers if own[k] != given[k])
    raise ValueError(
        f"{parameter} has {given[row]!r} in row {row}, where the trajectory has {own[row]!r}; pass "
        f"{parameter}.loc[names] with the trajectory's names_ or, if only the names differ, "
        f"{parameter}.reset_index(drop=True)."
    )


def check_amount(value: Any, name: str) -> float:
    """A number from zero on; infinity is one."""
    if not isinstance(value, Real) or isinstance(value, bool) or not float(value) >= 0:
        raise ValueError(f"{name}={value!r} must be a number of at least 0; 0 removes nothing.")
    return float(value)


def check_n_jobs(n_jobs: Any) -> int:
    """The number of threads."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(f"n_jobs={n_jobs!r} must be an integer other than 0; -1 takes all cores.")
    return int(effective_n_jobs(n_jobs))


def check_sigma(sigma: Any) -> float:
    """The width of soft assignments."""
    if not isinstance(sigma, Real) or not 0 <= float(sigma) < math.inf:
        raise ValueError(
            f"sigma={sigma!r} must be a finite number of at least 0; pass 0 for hard assignments."
        )
    return float(sigma)


def sample_rows(samples: Any, names: Any, parameter: str) -> Ints:
    """Row numbers of samples that are given by row number (integers) or by name (anything else)."""
    wanted = as_array(samples)
    if wanted.dtype.kind == "b":
        raise ValueError(
            f"{parameter} must be row numbers or names of samples, not a mask; pass "
            "np.flatnonzero(mask)."
        )
    if wanted.dtype.kind not in "iu":
        row = {name: i for i, name in enumerate(names.tolist())}
        n_called = Counter(names.tolist())
        for name in wanted.ravel().tolist():
            if not isinstance(name, Hashable) or name not in row:
                raise ValueError(
                    f"{parameter}={name!r} is not a sample; the names are "
                    f"{listed(map(repr, names.tolist()))}."
                )
            if n_called[name] > 1:
                raise ValueError(
                    f"{parameter}={name!r} is the name of {n_called[name]} samples; pass a row "
                    "number."
                )
        found = [row[name] for name in wanted.ravel().tolist()]
        return np.array(found, dtype=np.intp).reshape(wanted.shape)
    wrong = wanted[(wanted < 0) | (wanted >= len(names))]
    if wrong.size:
        raise ValueError(
            f"{parameter}={wrong.ravel()[0]} is not a sample; row numbers go from 0 to "
            f"{len(names) - 1}."
        )
    return wanted.astype(np.intp)


def check_features(
    values: Any, feature_names: Any, n_samples: int, parameter: str = "values"
) -> tuple[Matrix, list[Any]]:
    """One row of numbers per sample, dense or CSC, and one name per feature.

    NaN stands for a missing value. Columns of a data frame bring their names; other features
    are numbered from 0 where no names are given. Messages call the values as the caller does.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.checks import check_features
    >>> check_features(np.zeros((3, 2)), None, 3)[1]
    [0, 1]
    """
    check_not_dask(values, parameter)
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
    >>> from branchwise.trajectory.checks import choose_features
    >>> choose_features(["GATA1", "SPI1", "CEBPA"], ["CEBPA", "GATA1"])
    [2, 0]
    >>> choose_features(["GATA1", "SPI1"], "GATA")
    Traceback (most recent call last):
    ...
    ValueError: features names 'GATA', which is not a feature; did you mean 'GATA1'?
    """
    if features is None:
        return list(range(len(names)))
    column = {name: number for number, name in enumerate(names)}
    one = isinstance(features, str) or not hasattr(features, "__iter__")
    chosen = [features] if one else list(features)
    for name in chosen:
        if not isinstance(name, Hashable) or name not in column:
            alike = get_close_matches(str(name), map(str, names), cutoff=0.5)
            hint = (
                f"did you mean {listed(map(repr, alike))}?"
                if alike
                else f"there are {listed(map(repr, names))}."
            )
            raise ValueError(f"{parameter} names {name!r}, which is not a feature; {hint}")
    if not chosen:
        raise ValueError(f"{parameter} is empty; name at least one, or leave {parameter} out.")
    return [column[name] for name in dict.fromkeys(chosen)]


def feature_blocks(values: Matrix, samples: Ints | slice = slice(None)) -> Iterator[Block]:
    """Blocks of features that lack the same samples; all features together hold every column once.

    Of all samples, or of some. Sparse values are made dense one block at a time. Features without
    missing values, the usual case, come many at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.checks import feature_blocks
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


def as_array(values: Any) -> Any:
    """An array; of objects where rows differ in length."""
    try:
        return np.asarray(values)
    except ValueError:
        return np.asarray(values, dtype=object)


def as_numbers(values: Any) -> Any:
    """An array of numbers, without a copy of one; missing ones of a data frame as NaN."""
    if hasattr(values, "to_numpy"):
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    is_numeric = isinstance(values, np.ndarray) and values.dtype.kind in "uif"
    return np.asarray(values, dtype=None if is_numeric else np.float64)
