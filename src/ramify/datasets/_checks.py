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


def check_per_branch(
    value: Any, name: str, n_edges: int, low: float, high: float = np.inf, *, is_open: bool = False
) -> Floats:
    """One number for all branches, or one for each of them, in their order."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name}={value!r} must hold numbers; pass one for all branches, or one for each of "
            f"the {n_edges}."
        ) from error
    if array.shape not in ((), (n_edges,)):
        raise ValueError(
            f"{name} has shape {array.shape}, but there are {n_edges} branches; pass one number "
            "for all of them, or one for each, in the order of the edges."
        )
    wrong = ~(np.isfinite(array) & (array >= low) & (array <= high))
    if is_open:
        wrong |= array == low
    if wrong.any():
        raise ValueError(
            f"{name} holds {array[wrong].flat[0]:g}, but each value must be "
            f"{_range(low, high, is_open)}."
        )
    return np.broadcast_to(array, n_edges).copy()


def _range(low: float, high: float, is_open: bool) -> str:
    if high < np.inf:
        return f"a number from {low:g} to {high:g}"
    if is_open:
        return f"a finite number above {low:g}"
    return f"a finite number of at least {low:g}"
