"""Checks of the generators' arguments, and their messages: name, value, constraint, remedy."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from .._typing import Floats


def check_rng(random_state: Any) -> np.random.Generator:
    """A generator of random numbers: of a seed, or as it is."""
    is_seed = isinstance(random_state, Integral) and int(random_state) >= 0
    if not (random_state is None or is_seed or isinstance(random_state, np.random.Generator)):
        raise ValueError(
            f"random_state={random_state!r} must be None, an integer of at least 0 or a "
            "numpy.random.Generator; pass 0, for instance."
        )
    return np.random.default_rng(random_state)


def check_number(
    value: Any, name: str, low: float, high: float = np.inf, *, is_open: bool = False
) -> float:
    """A finite number from low (not itself if open) to high."""
    is_real = isinstance(value, Real) and not isinstance(value, bool)
    if not (is_real and low <= value <= high and np.isfinite(value)) or (is_open and value == low):
        raise ValueError(f"{name}={value!r} must be {_range(low, high, is_open)}.")
    return float(value)


def check_each(
    value: Any,
    name: str,
    n: int,
    low: float,
    high: float = np.inf,
    *,
    is_open: bool = False,
    of: str = "branches",
) -> Floats:
    """One number for all branches (or what else there are n of), or one for each of them."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name}={value!r} must hold numbers; pass one for all {of}, or one for each of the {n}."
        ) from error
    if array.shape not in ((), (n,)):
        raise ValueError(
            f"{name} has shape {array.shape}, but there are {n} {of}; pass one number for all of "
            "them, or one for each, in their order."
        )
    wrong = ~(np.isfinite(array) & (array >= low) & (array <= high))
    if is_open:
        wrong |= array == low
    if wrong.any():
        raise ValueError(
            f"{name} holds {array[wrong].flat[0]:g}, but each value must be "
            f"{_range(low, high, is_open)}."
        )
    return np.broadcast_to(array, n).copy()


def _range(low: float, high: float, is_open: bool) -> str:
    if high < np.inf:
        return f"a number from {low:g} to {high:g}"
    if is_open:
        return f"a finite number above {low:g}"
    return f"a finite number of at least {low:g}"
