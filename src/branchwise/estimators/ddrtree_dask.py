"""DDRTree fitted to a Dask array."""

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from .. import _kdtree as kdtree
from .._compat import import_pandas
from .._typing import Floats, Ints
from ..data.checks import check_n_components, check_not_huge, check_size
from ..data.dask import import_dask
from ..data.dask_passes import computed, map_chunks
from ..data.row_order import shift_and_range
from ..solvers.assignments import MAX_DENSE
from ..solvers.ddrtree import solve
from ..solvers.ddrtree_dask import ChunkedPoints, ChunkedRows, spread_of_points, start_points
from ..structures import as_structure
from .chunks import checked_chunks, float_type, project_chunk
from .progress import run_solver

if TYPE_CHECKING:
    from ..persistence.checkpoints import Checkpoint

# A sum of products of all pairs of features comes from every chunk (128 MiB).
MAX_FEATURES = 4096


def fit_chunks(model: Any, X: Any, checkpoint: "Checkpoint") -> Any:
    """`DDRTree.fit` for a Dask array: the same steps, with passes over the chunks."""
    model.check_parameters()
    check_can_be_chunked(model)
    X = checked_chunks(model, X, reset=True)
    check_shape(model, X.shape)
    dtype, n_samples = float_type(X.dtype), X.shape[0]
    structure, lam = as_structure(model.structure), model._resolve_lam(n_samples)
    n_centers = model._resolve_n_centers(n_samples, structure)
    check_n_centers(model, n_centers)
    with threadpool_limits(limits=1):
        Y = ChunkedRows(X)
        if n_centers == n_samples and model.init is None:
            return fit_whole(model, X, checkpoint)
        size = float(np.max([Y.high, -Y.low]))
        check_not_huge(X, size, "X")
        check_size(size, "X")
        d, W = model._principal_axes(Y)
        run = checkpoint.begin(model, Y, d, n_centers, lam)
        W = W if run.begun is None else run.begun.W
        draws = run.begun is None and model.init is None
        placed, drawn = start_points(
            Y,
            W,
            *shift_and_range(Y.low, Y.high),
            n_kept=model._n_drawn(n_centers) if draws else 0,
        )
        if run.begun is not None:
            C, sigma = run.begun.C, run.begun.sigma
        else:
            C = model._starting_centers(drawn, n_samples, n_centers, d, Y, W)
            sigma = model._resolve_sigma(lambda: spread_of_points(placed, C, n_samples), C)
        points = ChunkedPoints(Y, placed, float(model.gamma), sigma)
        placed = None  # the workers need not hold the first ones to the end
        result = run_solver(
            model,
            lambda stopping: solve(
                points,
                W,
                C,
                lam=lam,
                gamma=float(model.gamma),
                sigma=sigma,
                structure=structure,
                saved=run.saved,
                save=run.writer(W, sigma),
                **stopping,
            ),
        )
        along_components = model._set_axes(Y, result.W, d, dtype)
        model._forget_rows()
        # Both in one pass, and side by side: neither holds on to X.
        _, array = import_dask()
        parts = [
            points.settled(along_components, dtype),
            model._map_chunks(X, project_chunk),
        ]
        both = computed(array.concatenate(parts, axis=1).rechunk((X.chunks[0], -1)))
        model.embedding_, model.projection_ = both[:, :d], both[:, d:]
    model._set_centers(result, np.arange(n_centers), along_components, lam, sigma, dtype)
    model.labels_ = map_chunks(
        model.embedding_, nearest_center, None, np.int64, centers=model.centers_
    )
    return model


def fit_whole(model: Any, X: Any, checkpoint: "Checkpoint") -> Any:
    """One centre per sample: so few samples that they fit into memory."""
    rows, names = X.compute(), getattr(model, "feature_names_in_", None)
    if names is not None:
        # The fit takes its names from a table; there would be none after it.
        rows = import_pandas().DataFrame(rows, columns=names)
    model.fit(rows, resume=checkpoint.is_resumed)
    chunks = (X.chunks[0], -1)
    _, array = import_dask()
    model.embedding_ = array.from_array(model.embedding_, chunks=chunks)
    model.projection_ = array.from_array(model.projection_, chunks=chunks)
    model.labels_ = array.from_array(model.labels_, chunks=chunks[:1])
    model._forget_rows()
    return model


def nearest_center(points: Floats, *, centers: Floats) -> Ints:
    """Index of the nearest centre of each point of a chunk."""
    return kdtree.nearest(kdtree.build(centers), points)


def check_can_be_chunked(model: Any) -> None:
    """What needs all samples in one place is refused."""
    if model.kernel is not None:
        raise ValueError(
            f"kernel={model.kernel!r} needs a value for every pair of samples, which a Dask array "
            "is too large for; set kernel=None, or pass X.compute() if it fits into memory."
        )


def check_shape(model: Any, shape: Sequence[int]) -> None:
    """At least two samples, and not too many features."""
    n_samples, n_features = shape
    if n_samples < 2:
        raise ValueError(
            f"Found array with {n_samples} sample(s) while a minimum of 2 is required by "
            f"{type(model).__name__}; add samples."
        )
    if n_features < 1:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={tuple(shape)}) while a minimum of 1 is "
            f"required by {type(model).__name__}; add features."
        )
    if n_features > MAX_FEATURES:
        raise ValueError(
            f"X has {n_features:,} features, but a Dask array may have at most {MAX_FEATURES:,}, "
            "as products of all pairs of them are summed; reduce them first, for instance with "
            "branchwise.Preparation(pca=50)."
        )

    if isinstance(model.n_components, Integral):
        check_n_components(int(model.n_components), n_samples, n_features)


def check_n_centers(model: Any, n_centers: int) -> None:
    """Products of all pairs of centres are summed over the chunks."""
    if n_centers > MAX_DENSE:
        asked = f"n_centers={n_centers:,}"
        if model.n_centers is None:
            asked = f"n_centers=None, which is one per sample, hence {n_centers:,},"
        raise ValueError(
            f"{asked} must be at most {MAX_DENSE:,} for a Dask array, as products of all pairs of "
            'centres are summed; set a lower n_centers, or "auto".'
        )
