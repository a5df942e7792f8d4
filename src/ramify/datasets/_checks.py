"""Checks of the generators' arguments, and their messages: name, value, constraint, remedy."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from .._typing import Floats
from .._validation import check_count

# Lengths of branches when none are given: uniform between these.
LENGTHS = (0.7, 1.3)


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
    largest = min(high, float(np.finfo(float).max))
    if not (is_real and low <= value <= largest) or (is_open and value == low):
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
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{name}={value!r} must hold numbers; pass one for all {of}, or one for each of "
            f"the {n}."
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


def check_flag(value: Any, name: str) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r} must be True or False; pass one of these.")
    return bool(value)


def check_features(n_features: Any) -> int:
    """At least a plane."""
    if check_count(n_features, "n_features") < 2:
        raise ValueError(
            f"n_features={n_features} must be at least 2, for branches to leave a line; pass 2 or "
            "more."
        )
    return int(n_features)


def check_space(n_features: Any, curvature: Any) -> tuple[int, float]:
    """Number of dimensions, and the angle by which branches turn."""
    return check_features(n_features), check_number(curvature, "curvature", 0, np.pi)


def check_lengths(rng: np.random.Generator, lengths: Any, n_edges: int) -> Floats:
    """Lengths as given, or random ones."""
    if lengths is None:
        return rng.uniform(*LENGTHS, size=n_edges)
    return check_each(lengths, "lengths", n_edges, 0, is_open=True)


def check_sampling(weights: Any, gradient: Any, lengths: Floats) -> tuple[Floats, Floats]:
    """Relative numbers of samples of the branches, and the slopes of the density along them."""
    n_edges = len(lengths)
    weight = lengths if weights is None else check_each(weights, "weights", n_edges, 0)
    if not weight.any():
        raise ValueError("weights are all 0, but at least one must be positive; raise one of them.")
    return weight, check_each(gradient, "gradient", n_edges, -1, 1)


def _range(low: float, high: float, is_open: bool) -> str:
    """The numbers that are allowed, and one of them."""
    if is_open:
        end = f" and at most {high:g}" if high < np.inf else ""
        return f"a finite number above {low:g}{end}; pass 1, for instance"
    if high < np.inf:
        return f"a number from {low:g} to {high:g}; pass 0, for instance"
    return f"a finite number of at least {low:g}; pass {low:g}, for instance"
