"""Simulated data with known structure. Nothing here was measured on anything real."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

# Rows made at a time, so that making single-precision data needs no double-precision copy of
# it: the peak memory of a run has to be the fit's.
BLOCK = 2**15


@dataclass(frozen=True)
class Simulated:
    """A table of samples, and the structure it was drawn from."""

    X: np.ndarray
    truth: dict[str, np.ndarray] = field(default_factory=dict)


def branching(
    n: int,
    n_features: int = 50,
    noise: float = 0.25,
    n_branches: int = 3,
    seed: int = 0,
    dtype: str = "float64",
) -> Simulated:
    """Straight branches of length 3 that leave the origin at right angles, with Gaussian noise.

    The same points as `branching` of the tests, together with the branch and the time
    (position in [0, 1]) of each.
    """
    rng = np.random.default_rng(seed)
    directions = np.linalg.qr(rng.normal(size=(n_features, n_branches)))[0].T
    branch = rng.integers(n_branches, size=n)
    time = rng.uniform(size=n)

    def block(rows: slice) -> np.ndarray:
        clean = 3 * time[rows, np.newaxis] * directions[branch[rows]]
        return clean + noise * rng.normal(size=clean.shape)

    X = in_blocks(block, n, n_features, dtype)
    return Simulated(X, {"branch": branch, "time": time})


def true_tree_distances(
    truth: dict[str, np.ndarray], rows: np.ndarray, length: float = 3.0
) -> np.ndarray:
    """Distances along the true tree: through the origin between different branches."""
    branch, time = truth["branch"][rows], truth["time"][rows]
    same = branch[:, np.newaxis] == branch
    along = np.abs(time[:, np.newaxis] - time)
    return length * np.where(same, along, time[:, np.newaxis] + time)


def surface(
    n: int, n_features: int = 50, noise: float = 0.01, seed: int = 0, dtype: str = "float64"
) -> Simulated:
    """A two-dimensional sheet bent to an S (4 high, 2 wide, 2 deep), turned into 50 dimensions.

    `noise` is the standard deviation in every one of the dimensions, as a part of the sheet's
    height: at 0.01 a point is pushed off the sheet by about 7 % of its height.
    """
    rng = np.random.default_rng(seed)
    frame = np.linalg.qr(rng.normal(size=(n_features, 3)))[0].T
    t = 3 * np.pi * (rng.uniform(size=n) - 0.5)
    across = 2 * rng.uniform(size=n)

    def block(rows: slice) -> np.ndarray:
        along = t[rows]
        sheet = [np.sin(along), across[rows], np.sign(along) * (np.cos(along) - 1)]
        clean = np.column_stack(sheet) @ frame
        return clean + 4 * noise * rng.normal(size=clean.shape)

    return Simulated(in_blocks(block, n, n_features, dtype), {"along": t, "across": across})


def intrinsic10(
    n: int,
    n_features: int = 50,
    noise: float = 0.01,
    n_dims: int = 10,
    seed: int = 0,
    dtype: str = "float64",
) -> Simulated:
    """Uniform points of a 10-dimensional cube, through a random smooth map to 50 dimensions.

    Every feature is a sine of a random linear form; `noise` is the standard deviation added to
    each.
    """
    rng = np.random.default_rng(seed)
    forms, phase = rng.normal(size=(n_dims, n_features)), rng.uniform(0, 2 * np.pi, n_features)

    def block(rows: slice) -> np.ndarray:
        cube = rng.uniform(size=(rows.stop - rows.start, n_dims))
        return np.sin(cube @ forms + phase) + noise * rng.normal(size=(len(cube), n_features))

    return Simulated(in_blocks(block, n, n_features, dtype))


def in_blocks(block: Any, n: int, n_features: int, dtype: str) -> np.ndarray:
    """Rows of `block(slice)`, written into one array of the given precision."""
    X = np.empty((n, n_features), dtype=dtype)
    for start in range(0, n, BLOCK):
        rows = slice(start, min(start + BLOCK, n))
        X[rows] = block(rows)
    return X


MAKERS = {"branching": branching, "surface": surface, "intrinsic10": intrinsic10}


def simulate(name: str, n: int, **options: Any) -> Simulated:
    """The simulated data called `name`, with `n` rows."""
    if name not in MAKERS:
        raise ValueError(f"no simulated data called {name!r}; choose from {sorted(MAKERS)}.")
    return MAKERS[name](n, **options)
