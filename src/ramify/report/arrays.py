"""Numbers in the types that a page holds them in."""

import numpy as np

from .._typing import Floats, Ints

# Beyond these sizes single precision has no numbers, or few digits.
LARGEST, SMALLEST = float(np.finfo(np.float32).max), 1e-30


def single(values: Floats) -> Floats:
    """Numbers in single precision, or in double if they are too large or too small for it.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.report.arrays import single
    >>> single(np.array([0.5, np.nan])).dtype, single(np.array([1e300])).dtype
    (dtype('float32'), dtype('float64'))
    """
    values = np.asarray(values, dtype=np.float64)
    size = float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))
    return values.astype(np.float32) if size == 0 or SMALLEST <= size <= LARGEST else values


def whole_or_single(values: Floats) -> Floats:
    """The same, but for whole numbers that single precision would change.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.report.arrays import whole_or_single
    >>> whole_or_single(np.array([16777217.0, np.nan])).dtype  # 2**24 + 1
    dtype('float64')
    """
    values = np.asarray(values, dtype=np.float64)
    known = values[np.isfinite(values)]
    less = single(known)
    is_whole = np.array_equal(known, np.round(known))
    return values if is_whole and not np.array_equal(less, known) else single(values)


def double(values: Floats) -> Floats:
    """Numbers in double precision."""
    return np.ascontiguousarray(values, dtype=np.float64)


def indices(values: Ints) -> Ints:
    """Numbers of nodes, edges or rows."""
    return np.asarray(values, dtype=np.int32)
