"""Values out of a model file, each checked when it is taken."""

import math
from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Floats, Ints, Matrix
from .format import Unsound

# Beyond, squares overflow.
HUGE = 1e154
# Columns of a sparse matrix, of which a file need hold none, while a key takes 8 bytes for each.
MAX_COLUMNS = 2**27

# Graphs and sparse matrices, and what a fit to a Dask array does not bring back from the workers.
MAY_BE_EMPTY = ("n_edges", "n_stored", "n_known", "n_placed", "n_projected", "n_scored")


class Fields:
    """A dictionary from a file. What is taken has the type, shape and range that it must have.

    Shapes are named: the first array with a size of some name decides it, and the others have to
    agree.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.persistence.fields import Fields
    >>> fields = Fields({"nodes": np.zeros((3, 2)), "weights": np.ones(4)}, "model")
    >>> fields.floats("nodes", "n_nodes", "n_components").shape
    (3, 2)
    >>> fields.floats("weights", "n_nodes")
    Traceback (most recent call last):
    ...
    branchwise.persistence.format.Unsound: has weights of shape (4,) but it must be ... = (3,)
    """

    def __init__(self, values: Any, name: str):
        if not isinstance(values, dict):
            raise Unsound(f"has no {name}")
        self._values = dict(values)
        self.name = name
        self.sizes: dict[str, int] = {}
        self.dtype: Any = None

    def take(self, name: str) -> Any:
        """The value of that name, whatever it is."""
        if name not in self._values:
            raise Unsound(f"lacks {name} in {self.name}")
        return self._values.pop(name)

    def finish(self) -> None:
        """Nothing is left over."""
        if self._values:
            raise Unsound(f"has an unknown {next(iter(self._values))[:80]!r} in {self.name}")

    def floats(self, name: str, *shape: str, low: float = -HUGE, high: float = HUGE) -> Floats:
        """Finite numbers in that range, in the precision of the first such array."""
        return self._within(name, self._array(name, self.take(name), shape), low, high)

    def matrix(self, name: str, *shape: str) -> Matrix:
        """The same, as an array or a sparse matrix."""
        value = self.take(name)
        if not sparse.issparse(value):
            return self._within(name, self._array(name, value, shape), -HUGE, HUGE)
        self._check_shape(name, value.shape, shape)
        if value.shape[1] > MAX_COLUMNS:
            raise Unsound(f"has {name} of {value.shape[1]:,} columns, more than {MAX_COLUMNS:,}")
        self._within(name, self._array(name, value.data, ("n_stored",)), -HUGE, HUGE)
        return value

    def doubles(self, name: str, *shape: str) -> Floats:
        """Numbers in double precision that nothing is computed from: NaN and infinity may be."""
        value = self.take(name)
        if not isinstance(value, np.ndarray) or value.dtype != np.float64:
            raise Unsound(f"has a {name} that is not an array of float64")
        self._check_shape(name, value.shape, shape)
        return value

    def keys(self, name: str, *shape: str) -> Ints:
        """Unsigned integers of 64 bits."""
        value = self.take(name)
        if not isinstance(value, np.ndarray) or value.dtype != np.uint64:
            raise Unsound(f"has a {name} that is not an array of uint64")
        self._check_shape(name, value.shape, shape)
        return value

    def edges(self, name: str, nodes: str) -> Ints:
        """Edges between nodes, each with the smaller end first, in order, none twice."""
        value = self.take(name)
        if not isinstance(value, np.ndarray) or value.dtype.kind != "i":
            raise Unsound(f"has {name} that are not an array of integers")
        self._check_shape(name, value.shape, ("n_edges", "2"))
        n_nodes = self.sizes[nodes]
        i, j = value.astype(np.int64).T
        if not ((i >= 0) & (i < j) & (j < n_nodes)).all():
            raise Unsound(f"has {name} that are not pairs of nodes from 0 to {n_nodes - 1}")
        if not (np.diff(i * n_nodes + j) > 0).all():
            raise Unsound(f"has {name} that are not in order")
        return np.column_stack([i, j]).astype(np.intp)

    def weights(self, name: str, low: float) -> Floats:
        """One finite weight per edge, in double precision."""
        return self._within(name, self.doubles(name, "n_edges"), low, np.inf)

    def number(self, name: str, low: float = -math.inf, high: float = math.inf) -> float:
        """A number in that range, or any number where no range is given."""
        value = self.take(name)
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        is_limited = (low, high) != (-math.inf, math.inf)
        if not is_number or (is_limited and not low <= value <= high):
            raise Unsound(f"has {name}={_short(value)} but it must be from {low:g} to {high:g}")
        return float(value)

    def count(self, name: str, low: int, high: float = math.inf) -> int:
        """An integer in that range."""
        value = self.take(name)
        is_count = isinstance(value, Integral) and not isinstance(value, bool)
        if not is_count or not low <= int(value) <= high:
            raise Unsound(f"has {name}={_short(value)} but it must be a count from {low} to {high}")
        return int(value)

    def flag(self, name: str) -> bool:
        """True or False."""
        return bool(self.choice(name, (True, False)))

    def choice(self, name: str, choices: Collection[Any]) -> Any:
        """One of the choices, of the same type."""
        value = self.take(name)
        if not any(type(value) is type(choice) and value == choice for choice in choices):
            listed = ", ".join(map(repr, choices))
            raise Unsound(f"has {name}={_short(value)} but it must be one of {listed}")
        return value

    def texts(self, name: str, length: int) -> list[str]:
        """So many strings."""
        value = self.take(name)
        is_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
        if not is_list or len(value) != length:
            raise Unsound(f"has {name} that are not a list of {length} strings")
        return value

    def _array(self, name: str, value: Any, shape: tuple[str, ...]) -> Floats:
        known = (np.float32, np.float64) if self.dtype is None else (self.dtype,)
        if not isinstance(value, np.ndarray) or value.dtype not in known:
            listed = " or ".join(np.dtype(dtype).name for dtype in known)
            raise Unsound(f"has a {name} that is not an array of {listed}")
        self.dtype = value.dtype
        self._check_shape(name, value.shape, shape)
        return value

    def _check_shape(self, name: str, found: tuple[int, ...], shape: tuple[str, ...]) -> None:
        """Sizes with a name agree with those of that name before; digits are themselves."""
        wanted = [int(size) if size.isdigit() else self.sizes.get(size) for size in shape]
        fits = len(found) == len(shape) and all(
            w in (None, f) for w, f in zip(wanted, found, strict=True)
        )
        fits = fits and all(
            f > 0 or size in MAY_BE_EMPTY for f, size in zip(found, shape, strict=True)
        )
        if not fits:
            sizes = ["any" if size is None else str(size) for size in wanted]
            raise Unsound(
                f"has {name} of shape {found} but it must be {_tuple(shape)} = {_tuple(sizes)}"
            )
        named = {size: f for size, f in zip(shape, found, strict=True) if size != "n_stored"}
        self.sizes.update(named)

    def _within(self, name: str, value: Floats, low: float, high: float) -> Floats:
        if value.size:
            least, greatest = float(value.min()), float(value.max())
            finite = math.isfinite(least) and math.isfinite(greatest)
            if not (finite and low <= least and greatest <= high):
                raise Unsound(f"has {name} with values that are not from {low:g} to {high:g}")
        return value


def _tuple(items: Collection[str]) -> str:
    return f"({', '.join(items)}{',' * (len(items) == 1)})"


def _short(value: Any) -> str:
    return repr(value)[:80]


def is_covariance(matrix: Any) -> bool:
    """Whether a square matrix of numbers may be the covariance of something, but for rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.persistence.fields import is_covariance
    >>> is_covariance(np.eye(2)), is_covariance(-np.eye(2)), is_covariance(np.zeros((2, 2)))
    (True, False, True)
    """
    size = float(np.abs(matrix).max())
    if np.abs(matrix - matrix.T).max() > 1e-9 * size:
        return False
    return bool(np.linalg.eigvalsh(matrix / (size or 1.0)).min() >= -1e-9)
