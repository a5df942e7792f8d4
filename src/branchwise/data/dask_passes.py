"""Passes over the chunks of a Dask array: what is large stays on the workers, sums come back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from .._compat import import_extra
from .dask import OBJECTS, current_client, import_dask, import_distributed
from .dask_errors import OWN_TASKS, ChunkError, failures_in_words, released_on_failure
from .masked import unmasked

Sums = TypeVar("Sums")

# Sums of so many chunks are added up in one task.
SPLIT_EVERY = 8


def reduce_chunks(
    X: Any,
    function: Callable[..., Sums],
    merge: Callable[[Sums, Sums], Sums],
    *others: Any,
    **given: Any,
) -> Sums:
    """Sums over all chunks in one pass: small things are gathered, in an order that is fixed.

    Parameters
    ----------
    X : Dask array
        As `as_chunks` returns it.
    function : callable
        Called on the workers as ``function(rows, *other_rows, index=…, **given)`` with the rows of
        a chunk, a NumPy array or CSR matrix, and the number of the chunk. Chunks without rows are
        left out. It must not change the rows.
    merge : callable
        Puts two results together; it may change the first, not the second.
    *others
        Further Dask arrays with the chunks of X: their blocks come along.
    **given
        Small things that every call gets; they are sent once to every worker.

    Examples
    --------
    >>> import dask.array as da
    >>> from branchwise.data.dask_passes import reduce_chunks
    >>> X = da.arange(12, chunks=4).reshape(6, 2)
    >>> reduce_chunks(X, lambda rows, index: rows.sum(axis=0), lambda a, b: a + b)
    array([30, 36])
    """
    return pass_over(X, function, merge, *others, keep=False, **given)[1]


def pass_over(
    X: Any,
    function: Callable[..., Any],
    merge: Callable[[Sums, Sums], Sums],
    *others: Any,
    keep: bool = True,
    **given: Any,
) -> tuple[Any, Sums]:
    """The same for a function of which a part stays on the workers.

    With `keep`, the function returns two things. The first stays where it was made, as a block of
    a Dask array of objects, which comes first in the result and can be among the `others` of the
    next pass; the second is merged, gathered and comes second.
    """
    dask, array = import_dask()
    task = ReduceTask(function, keep)
    made = array.map_blocks(
        task,
        X,
        *others,
        given=dask.delayed(given, traverse=False),
        dtype=object,
        meta=OBJECTS,
        chunks=(X.chunks[0], (1,)),
    )
    total = array.reduction(
        made,
        chunk=Part(1, "merged"),
        combine=MergeTask(merge),
        aggregate=MergeTask(merge),
        axis=(0, 1),
        concatenate=False,
        dtype=object,
        split_every=SPLIT_EVERY,
        meta=np.empty((), dtype=object),
    )
    kept = [made.map_blocks(Part(0, "kept"), dtype=object, meta=OBJECTS)] if keep else []
    with failures_in_words(X, made), graph_size_expected(given):
        *kept, total = dask.persist(*kept, total)
        with released_on_failure(*kept, total):
            sums = result_of(total)
    if sums is None:
        raise ChunkError(
            f"X says that it has {X.shape[0]:,} rows, but none of its chunks has any; mend what "
            "they are made by."
        )
    return (kept[0] if keep else None), sums.value


def result_of(total: Any) -> Any:
    """The one block of an array that is being computed.

    Of a cluster it is asked for directly: what went wrong there would otherwise come out as a
    dependency that was lost.
    """
    if current_client() is None:
        return total.compute()
    (future,) = import_distributed().futures_of(total)
    return future.result()


@contextmanager
def graph_size_expected(given: dict[str, Any]) -> Iterator[None]:
    """Keep Dask from warning of the size of what has to be sent; of X it may."""
    # Not before distributed is imported: its settings would be lost with this one.
    if current_client() is None:
        yield
        return
    dask, _ = import_dask()
    name = "distributed.admin.large-graph-warning-threshold"
    sizes, utils = (
        import_extra(f"dask.{part}", "a Dask array", "dask") for part in ("sizeof", "utils")
    )
    limit = utils.parse_bytes(dask.config.get(name, "10MB")) + 2 * sizes.sizeof(given)
    with dask.config.set({name: limit}):
        yield


def map_chunks(
    X: Any,
    function: Callable[..., Any],
    n_columns: int | None,
    dtype: Any,
    *others: Any,
    numbered: bool = False,
    **given: Any,
) -> Any:
    """A lazy Dask array of what a function makes of the rows of each chunk.

    Parameters
    ----------
    X : Dask array
    function : callable
        Called as ``function(rows, *other_rows, **given)``; not for chunks without rows.
    n_columns : int or None
        The number of columns of what it returns; None for an array of one dimension.
    dtype : dtype
    numbered : bool, default=False
        Whether the function also gets the number of the chunk, as ``index=…``.
    *others, **given
        As in `reduce_chunks`.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from branchwise.data.dask_passes import map_chunks
    >>> map_chunks(da.ones((4, 2), chunks=2), lambda rows: rows[:, :1], 1, float).compute().shape
    (4, 1)
    """
    dask, array = import_dask()
    shape = (n_columns,) if n_columns is not None else ()
    return array.map_blocks(
        MapTask(function, shape, np.dtype(dtype), numbered),
        X,
        *others,
        given=dask.delayed(given, traverse=False),
        dtype=dtype,
        meta=np.empty((0,) * (1 + len(shape)), dtype=dtype),
        chunks=(X.chunks[0], *((size,) for size in shape)),
        drop_axis=[] if shape else [1],
    )


def computed(X: Any) -> Any:
    """A lazy array of `map_chunks`, computed and kept where it was made.

    Examples
    --------
    >>> import dask.array as da
    >>> from branchwise.data.dask_passes import computed
    >>> computed(da.ones((4, 2), chunks=2)).sum(axis=0).compute()
    array([4., 4.])
    """
    dask, _ = import_dask()
    with failures_in_words(X, X):
        (kept,) = dask.persist(X)
        # A cluster returns at once; what goes wrong comes out when something is asked for.
        counts = kept.map_blocks(block_length, dtype=np.int64, chunks=((1,) * X.numblocks[0], (1,)))
        with released_on_failure(kept):
            counts.sum().compute()
    return kept


def block_length(block: Any) -> Any:
    """The number of rows, as an array."""
    return np.full((1, 1), len(block))


@dataclass(frozen=True)
class Result:
    """Something for Dask to carry that it does not take for an array or a list of results."""

    value: Any


@dataclass(frozen=True)
class ReduceTask:
    """Calls a function with the rows of one chunk."""

    function: Callable[..., Any]
    keep: bool

    @property
    def __name__(self) -> str:
        """What Dask's dashboard calls it."""
        return f"{OWN_TASKS}{getattr(self.function, '__name__', 'pass')}"

    def __call__(
        self, block: Any, *others: Any, given: dict[str, Any], block_id: Any = None
    ) -> tuple[Any, Result | None]:
        """What is kept, and what is merged."""
        if block is None or block.shape[0] == 0:
            return None, None
        rows = as_rows(block)
        made = self.function(rows, *others, index=block_id[0], **given)
        return (made[0], Result(made[1])) if self.keep else (None, Result(made))


@dataclass(frozen=True)
class MapTask:
    """Makes a block of a lazy array of the rows of one chunk, which may have none."""

    function: Callable[..., Any]
    shape: tuple[int, ...]
    dtype: Any
    numbered: bool

    @property
    def __name__(self) -> str:
        """What Dask's dashboard calls it."""
        return f"{OWN_TASKS}{getattr(self.function, '__name__', 'map')}"

    def __call__(
        self, block: Any, *others: Any, given: dict[str, Any], block_id: Any = None
    ) -> Any:
        """The rows of the result."""
        index = block_id[0] if block_id else 0
        if block.shape[0] == 0:
            return np.empty((0, *self.shape), dtype=self.dtype)
        number = {"index": index} if self.numbered else {}
        made = self.function(as_rows(block), *others, **number, **given)
        return np.asarray(made).astype(self.dtype, copy=False)


@dataclass(frozen=True)
class MergeTask:
    """Puts the results of several chunks together, in their order."""

    merge: Callable[[Any, Any], Any]

    @property
    def __name__(self) -> str:
        """What Dask's dashboard calls it."""
        return f"{OWN_TASKS}{getattr(self.merge, '__name__', 'merge')}"

    def __call__(self, parts: Any, axis: Any = None, keepdims: Any = None) -> Result | None:
        """One result, or None for nothing but empty chunks."""
        results = [part for part in flattened(parts) if part is not None]
        if not results:
            return None
        # The first is changed; what it came from may be needed again if a worker is lost.
        total = results[0].value
        for k, result in enumerate(results[1:]):
            total = self.merge(deepcopy(total) if k == 0 else total, result.value)
        return Result(total)


def flattened(parts: Any) -> list[Any]:
    """Lists within lists as one."""
    return [p for part in parts for p in flattened(part)] if isinstance(parts, list) else [parts]


@dataclass(frozen=True)
class Part:
    """One of the two things that a `ReduceTask` makes: what is kept, or what is merged."""

    index: int
    name: str

    @property
    def __name__(self) -> str:
        """What Dask's dashboard calls it."""
        return f"{OWN_TASKS}{self.name}"

    def __call__(self, pair: Any, axis: Any = None, keepdims: Any = None) -> Any:
        """That one of the two."""
        return pair[self.index]


def as_rows(block: Any) -> Any:
    """A block as the functions know it: an array or a CSR matrix."""
    return sparse.csr_array(block) if sparse.issparse(block) else unmasked(block)
