"""Checks that depend on the data, and their messages: name, value, constraint, remedy."""

import math
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from ._typing import Floats, Matrix, Sparse

# What to do about scikit-learn's complaints, by a piece of their text.
REMEDIES = {
    "could not convert": "X must hold numbers: drop columns of text or encode them, for instance "
    "with sklearn.preprocessing.OneHotEncoder",
    "must be a string or a real number": "X must hold numbers: drop such columns or encode them",
    "Complex data": "X must hold real numbers: pass real and imaginary parts as two columns",
    "with dim 3": "pass one row per sample and one column per feature",
    "sample(s)": "add samples",
    "feature(s)": "add features",
    "features, but": "pass the columns that were passed to fit",
    "feature names should match": "pass the columns that were passed to fit, in that order",
}


def check_samples(estimator: Any, X: Any, **options: Any) -> Matrix:
    """Samples as an array or CSR matrix of finite numbers whose squares can be summed.

    Shape, type and number of features follow scikit-learn's rules, with its messages and
    what to do about them.
    """
    try:
        X = validate_data(
            estimator,
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            **options,
        )
    except (TypeError, ValueError) as error:
        # The values themselves, which some messages end with, tell the user nothing.
        complaint = str(error).partition("\n[")[0].rstrip(". \n")
        for symptom, remedy in REMEDIES.items():
            if symptom in complaint:
                raise type(error)(f"{complaint}; {remedy}.") from error
        raise
    size, limit = check_finite(X, "X"), math.sqrt(np.finfo(float).max / (4 * math.prod(X.shape)))
    if size > limit:
        raise ValueError(
            f"X holds a value of size {size:.3g}, but values must be at most {limit:.1e} in size "
            f"for sums of their squares not to overflow; divide X by {size:.0e}, for instance."
        )
    return X


def check_not_tiny(X: Matrix) -> None:
    """Values whose squares vanish would silently count as zero."""
    size, limit = check_finite(X, "X"), math.sqrt(np.finfo(float).tiny)
    if 0 < size < limit:
        raise ValueError(
            f"The largest value of X has size {size:.3g}, but must be at least {limit:.1e} in size "
            f"for its square not to vanish; divide X by {size:.0e}, for instance."
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
        "finite; drop such rows or replace such values (sklearn.impute.SimpleImputer fills in NaN)."
    )


def check_n_components(n_components: int, n_samples: int, n_features: int) -> None:
    """There are at most as many components as samples and as features."""
    limit = min(n_samples, n_features)
    if n_components > limit:
        lacking = "samples" if n_samples < n_features else "features"
        raise ValueError(
            f"n_components={n_components} must be at most min(n_samples, n_features)={limit} "
            f"(n_samples={n_samples}, n_features={n_features}); "
            f"lower n_components or add {lacking}."
        )


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
        init,
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
    X = check_array(X, dtype=[np.float64, np.float32], ensure_all_finite=False, input_name="X")
    if X.shape[1] != n_components:
        raise ValueError(
            f"Expected an array of shape (n_samples, {n_components}), one column per component, "
            f"got {X.shape}; pass what transform returned."
        )
    check_finite(X, "X")
    return X
