"""Dask arrays: asking what they are, and bringing them into chunks of whole rows."""

from typing import Any

import numpy as np
from scipy import sparse

from .._compat import empty_block, import_extra
from .masked import unmasked

# What an array of objects looks like to Dask.
OBJECTS = np.empty((0, 0), dtype=object)


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array or DataFrame, without importing Dask.

    Examples
    --------
    >>> import dask.array as da
    >>> from branchwise.data.dask import is_dask
    >>> is_dask(da.ones((4, 2), chunks=2)), is_dask([[1.0]])
    (True, False)
    """
    return any(
        kind.__module__.partition(".")[0] == "dask" and kind.__name__ in {"Array", "DataFrame"}
        for kind in type(X).__mro__
    )


def check_not_dask(X: Any, name: str = "X", remedy: str | None = None) -> None:
    """No matrix that may be larger than memory is loaded unasked."""
    if not is_dask(X):
        return
    kind, some = "array", "[::10]"
    if hasattr(X, "columns"):
        kind, some = "DataFrame", ".sample(frac=0.1)"
    remedy = remedy or (
        f"pass {name}.compute() if it fits there, or some of the rows, for instance "
        f"{name}{some}.compute()"
    )
    raise ValueError(
        f"{name} is a Dask {kind}, but its values are needed in memory here; {remedy}."
    )


def has_sparse_blocks(X: Any) -> bool:
    """Whether the blocks of a Dask array are sparse matrices.

    Examples
    --------
    >>> import dask.array as da
    >>> from scipy import sparse
    >>> from branchwise.data.dask import has_sparse_blocks
    >>> X = da.ones((4, 2), chunks=2)
    >>> has_sparse_blocks(X), has_sparse_blocks(X.map_blocks(sparse.csr_array))
    (False, True)
    """
    return sparse.issparse(empty_block(X))


def as_chunks(X: Any, name: str = "X") -> Any:
    """A Dask array of numbers with known numbers of rows, and one chunk along the features.

    A Dask DataFrame becomes an array, for which the rows of its partitions are counted; with
    columns of pandas' own types of numbers, such as Int64, it is one of float64. Chunks that are
    split along the features are put together, and divided along the rows where they would then be
    larger than Dask's setting array.chunk-size. Chunks of whole rows stay as they are.

    Examples
    --------
    >>> import dask.array as da
    >>> from branchwise.data.dask import as_chunks
    >>> as_chunks(da.ones((4, 6), chunks=(2, 3))).chunks
    ((2, 2), (6,))
    """
    import_dask()
    if hasattr(X, "to_dask_array"):
        X = frame_of_numbers(X, name).to_dask_array(lengths=True)
    if isinstance(empty_block(X), np.ma.MaskedArray):
        dtype = X.dtype if X.dtype.kind == "f" else np.dtype(np.float64)
        X = X.map_blocks(unmasked, dtype=dtype, meta=np.empty((0,) * X.ndim, dtype))
    if X.ndim != 2:
        raise ValueError(
            f"{name} is a Dask array of {X.ndim} dimensions but must have two, samples and "
            f"features; reshape it, for instance with {name}.reshape(len({name}), -1)."
        )
    if np.isnan(X.shape[0]) or np.isnan(X.shape[1]):
        raise ValueError(
            f"{name} is a Dask array of chunks of unknown size, but the number of rows must be "
            f"known; call {name}.compute_chunk_sizes() first, or make it from a DataFrame with "
            "to_dask_array(lengths=True)."
        )
    if X.dtype.kind not in "buif":
        raise TypeError(
            f"{name} is a Dask array of {X.dtype} but must hold numbers; convert it, for instance "
            f"with {name}.astype(float)."
        )
    if len(X.chunks[1]) > 1:
        X = X.rechunk((bounded_chunks(X), -1))
    return X


def frame_of_numbers(frame: Any, name: str) -> Any:
    """A Dask DataFrame of columns that make an array of numbers."""
    wrong = [str(column) for column, kind in frame.dtypes.items() if kind.kind not in "buif"]
    if wrong:
        raise TypeError(
            f"{name} has columns that are not numbers ({', '.join(map(repr, wrong[:5]))}); drop "
            f"them: {name}.select_dtypes(['number', 'bool'], exclude=['timedelta', "
            "'complexfloating'])."
        )
    # Columns that can miss values would make an array of objects, and so would truth values among
    # numbers.
    is_plain = all(isinstance(kind, np.dtype) for kind in frame.dtypes)
    are_alike = len({kind.kind == "b" for kind in frame.dtypes}) <= 1
    return frame if is_plain and are_alike else frame.astype(np.float64)


def bounded_chunks(X: Any) -> tuple[int, ...]:
    """Chunks along the rows that, with all features, are no larger than Dask wants chunks to be.

    What is stored by features, as CSC matrices are, would otherwise be one chunk of all rows.

    Examples
    --------
    >>> import dask.array as da
    >>> from branchwise.data.dask import bounded_chunks
    >>> bounded_chunks(da.zeros((20_000, 2000), chunks=(20_000, 100)))
    (6666, 6667, 6667)
    """
    most = max(1, chunk_bytes() // max(1, X.shape[1] * X.dtype.itemsize))
    return tuple(part for size in X.chunks[0] for part in equal_parts(size, most))


def equal_parts(size: int, most: int) -> list[int]:
    """A number as a sum of about equal ones, none of them above a limit.

    Examples
    --------
    >>> from branchwise.data.dask import equal_parts
    >>> equal_parts(7, 3), equal_parts(3, 3), equal_parts(0, 3)
    ([2, 2, 3], [3], [0])
    """
    n_parts = max(1, -(-size // most))
    return np.diff(np.arange(n_parts + 1) * size // n_parts).tolist()


def chunk_starts(X: Any) -> list[int]:
    """The number of the first row of each chunk.

    Examples
    --------
    >>> import dask.array as da
    >>> from branchwise.data.dask import chunk_starts
    >>> chunk_starts(da.ones((5, 2), chunks=(2, 2)))
    [0, 2, 4]
    """
    return [0, *np.cumsum(X.chunks[0])[:-1].tolist()]


def chunk_bytes() -> int:
    """How large chunks may be: Dask's own setting, 128 MiB unless it was changed."""
    dask = import_extra("dask", "reading lazily", "dask")
    utils = import_extra("dask.utils", "reading lazily", "dask")
    return int(utils.parse_bytes(dask.config.get("array.chunk-size")))


def import_dask() -> tuple[Any, Any]:
    """`dask` and `dask.array`."""
    dask, array = (import_extra(name, "a Dask array", "dask") for name in ("dask", "dask.array"))
    return dask, array


def import_distributed() -> Any:
    """`distributed`, for what Dask itself cannot ask of a cluster."""
    return import_extra("distributed", "a cluster", "dask")


def current_client() -> Any:
    """The `distributed.Client` that Dask would use now, or None for a scheduler of this process."""
    base = import_extra("dask.base", "a Dask array", "dask")
    scheduler = base.get_scheduler()
    owner = getattr(scheduler, "__self__", None)
    return owner if hasattr(owner, "scheduler_info") else None
