"""Checks that depend on the data, and their messages: name, value, constraint, remedy."""

import math

import numpy as np
from scipy import sparse

from ._typing import Floats, Sparse
from .rows import CentredRows
from .solvers.pca import n_components_for


def resolve_n_components(n_components: int | float, Y: CentredRows) -> int:
    """The number of components: as given, or enough for the given fraction of energy."""
    if not isinstance(n_components, int | np.integer):
        return n_components_for(Y, float(n_components))
    limit = min(Y.n_rows, Y.n_features)
    if n_components > limit:
        lacking = "samples" if Y.n_rows < Y.n_features else "features"
        raise ValueError(
            f"n_components={n_components} must be at most min(n_samples, n_features)={limit} "
            f"(n_samples={Y.n_rows}, n_features={Y.n_features}); "
            f"lower n_components or add {lacking}."
        )
    return int(n_components)


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


def check_init(init: Floats, n_centers: int | str | None, n_components: int) -> Floats:
    """Starting centres given by the user: K×d, finite, K as in n_centers."""
    init = np.asarray(init, dtype=np.float64)
    if init.ndim != 2 or init.shape[1] != n_components or len(init) == 0:
        raise ValueError(
            f"init has shape {init.shape} but must be (n_centers, n_components) with "
            f"n_components={n_components}; give one row per starting centre."
        )
    if isinstance(n_centers, int | np.integer) and len(init) != n_centers:
        raise ValueError(
            f"init has {len(init)} rows but n_centers={n_centers}; they must agree: "
            'set n_centers="auto" to take as many centres as init has rows.'
        )
    if not np.isfinite(init).all():
        raise ValueError("init contains NaN or infinity; every starting centre must be finite.")
    return init


def check_embedding(X: Floats, n_components: int) -> Floats:
    """Points of the latent space, one column per component."""
    X = np.asarray(X)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if X.ndim != 2 or X.shape[1] != n_components:
        raise ValueError(
            f"Expected an array of shape (n_samples, {n_components}), one column per component, "
            f"got {X.shape}; pass what transform returned."
        )
    return X
