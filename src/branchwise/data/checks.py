"""Checks that depend on the data, and their messages: name, value, constraint, remedy."""

import math
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.model_selection import ParameterGrid
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from .._typing import Floats, Ints, Matrix, Sparse
from .masked import unmasked

# What tables of numbers are kept as.
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
# What to do about scikit-learn's complaints, by a piece of their text.
REMEDIES = {
    "could not convert": "X must hold numbers: drop columns of text or encode them, for instance "
    "with sklearn.preprocessing.OneHotEncoder",
    "'NAType'": "X holds pandas.NA in a column of objects: make it one of numbers by "
    'X.astype("Float64"), whose missing values are known as such',
    "must be a string or a real number": "X must hold numbers: drop such columns or encode them",
    "Complex data": "X must hold real numbers: pass real and imaginary parts as two columns",
    "with dim 3": "pass one row per sample and one column per feature",
    "sample(s)": "add samples",
    "feature(s)": "add features",
    "features, but": "pass the columns that were passed to fit (with kernel='precomputed', one for "
    "each training sample)",
    "feature names should match": "pass the columns that were passed to fit, in that order",
}


def check_samples(
    estimator: Any,
    X: Any,
    *,
    ensure_min_samples: int = 1,
    reset: bool = True,
    must_count: bool = False,
) -> Matrix:
    """Samples as an array or CSR matrix of finite numbers whose squares can be summed.

    Shape, type and number of features follow scikit-learn's rules, with its messages and
    what to do about them. With `must_count` values whose squares all vanish are refused as well.
    """
    with remedies():
        checked = check_numbers(X, estimator, ensure_min_samples)
        size = check_finite(checked, "X")
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    check_not_huge(checked, size, "X")
    if must_count:
        check_size(size, "X")
    return checked


def check_numbers(X: Any, estimator: Any = None, ensure_min_samples: int = 1) -> Matrix:
    """An array or CSR matrix of numbers, finite or not.

    Examples
    --------
    >>> from branchwise.data.checks import check_numbers
    >>> check_numbers([[1, None]])
    array([[ 1., nan]])
    """
    # Of a kind that is known at once: abstract ones are slow to tell.
    names = [name for name in getattr(X, "columns", []) if isinstance(name, str | Hashable)]
    for name, number in Counter(names).items():
        if number > 1:
            raise ValueError(
                f"X has {number} columns named {name!r}, but names must be unique; rename or drop "
                "some."
            )
    return check_array(
        unmasked(as_array(X)),
        accept_sparse="csr",
        dtype=list(FLOATS),
        ensure_all_finite=False,
        ensure_min_samples=ensure_min_samples,
        estimator=estimator,
        input_name="X",
    )


def as_array(X: Any) -> Any:
    """A DataFrame of pandas as an array if all columns are plain numbers; others as they are.

    Scikit-learn would make the same array, but look at each column by itself first.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.data.checks import as_array
    >>> as_array(pd.DataFrame({"age": [50, 61], "crp": [1.5, 2.0]}))
    array([[50. ,  1.5],
           [61. ,  2. ]])
    """
    if not (hasattr(X, "iloc") and hasattr(X, "dtypes") and hasattr(X, "columns")):
        return X
    dtypes = list(X.dtypes)
    if not dtypes or not all(isinstance(of, np.dtype) and of.kind in "iuf" for of in dtypes):
        return X
    common = np.result_type(*set(dtypes))
    return X.to_numpy(dtype=common if common in FLOATS else np.float64)


@contextmanager
def remedies() -> Iterator[None]:
    """Add to scikit-learn's complaints about data what to do about them.

    Examples
    --------
    >>> from branchwise.data.checks import check_numbers, remedies
    >>> with remedies():
    ...     check_numbers([["a"]])
    Traceback (most recent call last):
    ...
    ValueError: could not convert string to float: 'a'; X must hold numbers: drop columns of ...
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        # The values themselves, which some messages end with, tell the user nothing.
        complaint = str(error).partition("\n[")[0].rstrip(". \n")
        for symptom, remedy in REMEDIES.items():
            if symptom in complaint:
                raise type(error)(f"{complaint}; {remedy}.") from error
        raise


def check_not_huge(X: Matrix, size: float, name: str) -> None:
    """Squares of all values can be summed, the largest value having that size."""
    limit = math.sqrt(np.finfo(float).max / (4 * math.prod(X.shape)))
    if size > limit:
        raise ValueError(
            f"{name} holds a value of size {size:.3g}, but values must be at most {limit:.1e} in "
            f"size for sums of their squares not to overflow; divide {name} by {size:.0e}, for "
            "instance."
        )


def check_not_tiny(X: Matrix, name: str = "X") -> None:
    """Values whose squares vanish would silently count as zero."""
    check_size(check_finite(X, name), name)


def check_size(size: float, name: str) -> None:
    """The same, for the size of the largest value."""
    limit = math.sqrt(np.finfo(float).tiny)
    if 0 < size < limit:
        raise ValueError(
            f"The largest value of {name} has size {size:.3g}, but must be at least {limit:.1e} in "
            f"size for its square not to vanish; divide {name} by {size:.0e}, for instance."
        )


def check_finite(X: Matrix, name: str) -> float:
    """Size of the largest value of a dense or sparse matrix, if all of them are finite."""
    size = float(np.max([X.max(), -X.min()]))
    if np.isfinite(size):
        return size
    cells = sparse.coo_array(X)
    first = np.flatnonzero(~np.isfinite(cells.data))[0]
    value = "NaN" if np.isnan(cells.data[first]) else str(cells.data[first])
    raise ValueError(
        f"{name}[{cells.row[first]}, {cells.col[first]}] is {value}, but every value must be "
        "finite; drop such rows or replace such values (branchwise.Preparation with "
        'impute="median" or impute="model" fills in NaN).'
    )


# Of 24 rules for the number of components none was surely better than a fixed one on 22 sets.
AUTO_COMPONENTS = 10


def auto_components(n_samples: int, n_features: int) -> int:
    """The number of components of n_components="auto": ten, or as many as the data can have.

    Examples
    --------
    >>> from branchwise.data.checks import auto_components
    >>> auto_components(1000, 50), auto_components(150, 4), auto_components(6, 50)
    (10, 4, 5)
    """
    return max(1, min(AUTO_COMPONENTS, n_features, n_samples - 1))


def check_n_components(
    n_components: int, n_samples: int, n_features: int, is_kernel: bool = False
) -> None:
    """There are at most as many components as samples and as features."""
    limit = min(n_samples, n_features)
    if n_components > limit and is_kernel:
        raise ValueError(
            f"n_components={n_components} must be at most n_samples={n_samples}, the number of "
            "columns of the kernel matrix; lower n_components or add samples."
        )
    if n_components > limit:
        lacking = "samples" if n_samples < n_features else "features"
        raise ValueError(
            f"n_components={n_components} must be at most min(n_samples, n_features)={limit} "
            f"(n_samples={n_samples}, n_features={n_features}); "
            f"lower n_components or add {lacking}."
        )


def check_kernel_params(kernel: Any, params: dict[str, Any] | None) -> None:
    """Parameters are those that the kernel takes; a callable may take any."""
    if callable(kernel) or not params:
        return
    unknown = sorted(str(name) for name in params if kernel != "rbf" or name != "gamma")
    if unknown:
        known = "takes only 'gamma'" if kernel == "rbf" else "takes no parameters"
        raise ValueError(
            f"kernel_params names {', '.join(unknown)}, but kernel={kernel!r} {known}; remove what "
            "it does not take, or set kernel to the one that takes it."
        )
    gamma = params["gamma"]
    is_number = isinstance(gamma, Real) and not isinstance(gamma, bool)
    if not (is_number and 0 < float(gamma) < math.inf):
        raise ValueError(
            f"kernel_params={{'gamma': {gamma!r}}} must have a positive finite gamma; leave it out "
            "for 1/n_features."
        )


def check_square(X: Matrix) -> None:
    """A kernel matrix to fit has one column per sample."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"X has shape {X.shape}, but with kernel='precomputed' must be the kernel matrix of "
            "the training samples, (n_samples, n_samples); compute it, or set kernel=None to fit "
            "X itself."
        )


def check_kernel_values(K: Any, shape: tuple[int, int], kernel: Any) -> Floats:
    """What a kernel returned: one finite real number per pair of samples."""
    name = f"kernel={kernel!r}" if isinstance(kernel, str) else "the callable kernel"
    K = K.toarray() if sparse.issparse(K) else np.asarray(K)
    if K.shape != shape:
        raise ValueError(
            f"{name} returned an array of shape {K.shape} for {shape[0]} and {shape[1]} samples, "
            f"but must return shape {shape}, one row per sample of its first argument and one "
            "column per sample of its second; change the callable."
        )
    if K.dtype.kind not in "buif":
        raise TypeError(
            f"{name} returned values of type {K.dtype}, but must return real numbers; change the "
            "callable."
        )
    K = K.astype(np.float64, copy=False)
    size = float(np.max([K.max(), -K.min()]))
    if not np.isfinite(size):
        value = "NaN" if np.isnan(size) else "an infinite value"
        raise ValueError(
            f"{name} returned {value}, but every value must be finite; change the kernel or its "
            "kernel_params."
        )
    check_not_huge(K, size, "the kernel matrix")
    return K


def check_n_neighbors(n_neighbors: int, n_samples: int) -> None:
    """A sample has at most n_samples − 1 neighbours."""
    if n_neighbors >= n_samples:
        raise ValueError(
            f"n_neighbors={n_neighbors} must be less than n_samples={n_samples}; "
            f"set n_neighbors to at most {n_samples - 1} or add samples."
        )


def check_neighbors(neighbors: Sparse, n_samples: int) -> Sparse:
    """A neighbour graph given by the user: sparse, square, one row per sample."""
    if not sparse.issparse(neighbors):
        raise TypeError(
            f"neighbors must be a SciPy sparse matrix or array, got {type(neighbors).__name__}; "
            "build one with sklearn.neighbors.kneighbors_graph."
        )
    if neighbors.shape != (n_samples, n_samples):
        raise ValueError(
            f"neighbors has shape {neighbors.shape} but must be (n_samples, n_samples)="
            f"({n_samples}, {n_samples}); build it from the rows that are passed to fit."
        )
    entries = sparse.coo_array(neighbors)
    if not (entries.row != entries.col).any():
        raise ValueError(
            "neighbors has no entry off its diagonal but must have at least one, for an edge "
            "between two samples; build it with sklearn.neighbors.kneighbors_graph."
        )
    return neighbors


def resolve_n_centers(n_centers: int | str | None, n_samples: int) -> int:
    """The number of centres: N, as given, or for "auto" the rule in DDRTree's docstring."""
    if n_centers is None:
        return n_samples
    if isinstance(n_centers, str):
        if n_samples <= 100:
            return n_samples
        return round(200 * math.log(n_samples) / (math.log(n_samples) + math.log(100)))
    if n_centers > n_samples:
        raise ValueError(
            f"n_centers={n_centers} must be at most n_samples={n_samples}; lower n_centers, "
            "or set n_centers=None for one centre per sample."
        )
    return int(n_centers)


def check_fixed_graph(n_nodes: int, n_centers: int | str | None, n_samples: int) -> int:
    """Without starting centres, the nodes of a graph given by the user are the samples."""
    wanted = n_samples if n_centers is None else n_centers
    if not isinstance(wanted, str) and wanted != n_nodes:
        raise ValueError(
            f"structure's graph has {n_nodes} nodes but n_centers={n_centers} asks for {wanted}; "
            "they must agree: pass a matrix with one row and one column per centre."
        )
    if n_nodes != n_samples:
        raise ValueError(
            f"structure's graph has {n_nodes} nodes and there are n_samples={n_samples}: which "
            "node starts where must be known; give init, whose row k is node k."
        )
    return n_nodes


def check_init(init: Any, n_centers: int | str | None, n_samples: int, n_components: int) -> Floats:
    """Starting centres given by the user: K×d, finite, K as in n_centers."""
    init = check_array(
        unmasked(init),
        dtype=np.float64,
        ensure_2d=False,
        allow_nd=True,
        ensure_all_finite=False,
        ensure_min_samples=0,
        input_name="init",
    )
    if init.ndim != 2 or init.shape[1] != n_components or len(init) == 0:
        raise ValueError(
            f"init has shape {init.shape} but must be (n_centers, n_components) with "
            f"n_components={n_components}; give one row per starting centre."
        )
    wanted = n_samples if n_centers is None else n_centers
    if not isinstance(wanted, str) and len(init) != wanted:
        raise ValueError(
            f"init has {len(init)} rows but n_centers={n_centers} asks for {wanted}; they must "
            'agree: set n_centers="auto" to take as many centres as init has rows.'
        )
    check_finite(init, "init")
    return init


def check_embedding(X: Any, n_components: int) -> Floats:
    """Points of the latent space, one column per component."""
    X = check_array(
        unmasked(X), dtype=[np.float64, np.float32], ensure_all_finite=False, input_name="X"
    )
    check_embedding_shape(X.shape, n_components)
    check_finite(X, "X")
    return X


def check_embedding_shape(shape: tuple[int, ...], n_components: int) -> None:
    """Points of the latent space have one column per component."""
    if shape[1] != n_components:
        raise ValueError(
            f"Expected an array of shape (n_samples, {n_components}), one column per component, "
            f"got {shape}; pass what transform returned."
        )


class Pairs(NamedTuple):
    """Pairs of rows, flat, and the shape in which they were asked for."""

    i: Ints
    j: Ints
    shape: tuple[int, ...]

    def shaped(self, values: Floats) -> Any:
        """One value per pair, in that shape; a plain number for a single pair."""
        return values.reshape(self.shape) if self.shape else float(values[0])


def check_pairs(i: Any, j: Any, n_samples: int) -> Pairs:
    """Pairs of rows of the training data, as integers or arrays that broadcast."""
    rows = []
    for name, value in (("i", i), ("j", j)):
        array = np.asarray(value)
        if array.dtype.kind not in "iu" and array.size:
            raise TypeError(
                f"{name} must hold row numbers, got {array.dtype}; pass integers from 0 to "
                f"{n_samples - 1}, for instance np.flatnonzero of a mask."
            )
        if array.size and not 0 <= array.min() <= array.max() < n_samples:
            wrong = array[(array < 0) | (array >= n_samples)].flat[0]
            raise ValueError(
                f"{name} holds {wrong}, but must hold row numbers from 0 to {n_samples - 1}; the "
                f"model was fitted to {n_samples} samples."
            )
        rows.append(array.astype(np.intp))
    try:
        both = np.broadcast_arrays(*rows)
    except ValueError as error:
        raise ValueError(
            f"i has shape {rows[0].shape} and j has shape {rows[1].shape}, but they must broadcast "
            "to one shape; pass pairs of equal length, or i[:, None] and j for all combinations."
        ) from error
    return Pairs(both[0].ravel(), both[1].ravel(), both[0].shape)


def check_count(value: Any, name: str) -> int:
    """A positive whole number."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name}={value!r} must be a positive integer; pass 1 or more.")
    return int(value)


def check_grid(estimator: Any, grid: Any, n_folds: Any, n_samples: int) -> list[dict[str, Any]]:
    """Combinations of parameters to try, each in several folds."""
    if check_count(n_folds, "n_folds") not in range(2, n_samples // 2 + 1):
        raise ValueError(
            f"n_folds={n_folds} must be at least 2 and at most half of n_samples={n_samples}; "
            "3 to 10 are usual."
        )
    try:
        candidates = list(ParameterGrid(grid))
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"param_grid must map names of parameters to lists of values: {error}"
        ) from error
    known = estimator.get_params(deep=False)
    unknown = sorted({name for parameters in candidates for name in parameters} - set(known))
    if unknown:
        raise ValueError(
            f"param_grid names {unknown[0]!r}, but the parameters of "
            f"{type(estimator).__name__} are {', '.join(known)}; choose from these."
        )
    if not candidates:
        raise ValueError("param_grid is empty, but must have a combination; pass None for some.")
    for name in ("kernel", "kernel_params"):
        if len({repr(parameters.get(name, known[name])) for parameters in candidates}) > 1:
            raise ValueError(
                f"param_grid has several values of {name!r}, but the likelihood is that of kernel "
                "values and comparable for one kernel only; call select for each kernel."
            )
    return candidates
