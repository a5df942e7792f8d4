"""Numbers in the types that a page holds them in."""

import numpy as np

from .._typing import Floats, Ints

# Beyond these sizes single precision has no numbers, or few digits.
LARGEST, SMALLEST = float(np.finfo(np.float32).max), 1e-30
# It may round values by this part of the range that they lie in.
ROUNDING = 1e-5


def single(values: Floats) -> Floats:
    """Numbers in single precision, or in double if that has too few digits for them.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.report.arrays import single
    >>> single(np.array([0.5, np.nan])).dtype, single(np.array([1e300])).dtype
    (dtype('float32'), dtype('float64'))
    >>> single(1e9 + np.array([0.5, 1.5])).dtype
    dtype('float64')
    """
    values = np.asarray(values, dtype=np.float64)
    known = values[np.isfinite(values)]
    if not len(known):
        return values.astype(np.float32)
    low, high = float(known.min()), float(known.max())
    size = max(-low, high)
    is_fine = (
        size * float(np.finfo(np.float32).eps) <= ROUNDING * (high / 2 - low / 2) or low == high
    )
    is_held = size == 0 or SMALLEST <= size <= LARGEST
    return values.astype(np.float32) if is_held and is_fine else values


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
