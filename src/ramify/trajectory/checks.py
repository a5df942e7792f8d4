"""Checks of what a trajectory is made from, and their messages."""

import math
import re
from collections import Counter
from collections.abc import Hashable
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from .._compat import effective_n_jobs
from .._messages import listed
from .._typing import Floats, Ints
from .._validation import check_finite, check_not_huge
from ..structures.base import graph_of


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


def as_array(values: Any) -> Any:
    """An array; of objects where rows differ in length."""
    try:
        return np.asarray(values)
    except ValueError:
        return np.asarray(values, dtype=object)


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
        checked = check_array(points, dtype=np.float64, ensure_all_finite=False, input_name=name)
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

    Numbers from 0 on are no names, and an index without any of the names is another one.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from ramify.trajectory.checks import check_order
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
                    f"{parameter}={name!r} is no sample; the names are "
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
            f"{parameter}={wrong.ravel()[0]} is no sample; row numbers go from 0 to "
            f"{len(names) - 1}."
        )
    return wanted.astype(np.intp)
