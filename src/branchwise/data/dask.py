"""Rows in chunks on Dask: passes over data that do not fit into memory, or lie on a cluster."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from .._compat import import_extra
from .._typing import Bools, Floats, Matrix

Sums = TypeVar("Sums")

# Sums of so many chunks are added up in one task.
SPLIT_EVERY = 8

# What the tasks of a pass are called that are numbered like the chunks.
OWN_TASKS = ("branchwise-", "second-")

# What an array of objects looks like to Dask.
OBJECTS = np.empty((0, 0), dtype=object)


class ChunkError(ValueError):
    """A chunk that cannot be read or used; the message names it."""


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
    dask_modules()
    if hasattr(X, "to_dask_array"):
        X = numbers_of(X, name).to_dask_array(lengths=True)
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
        X = X.rechunk((bounded(X), -1))
    return X


def numbers_of(frame: Any, name: str) -> Any:
    """A Dask DataFrame of columns that make an array of numbers."""
    wrong = [str(column) for column, kind in frame.dtypes.items() if kind.kind not in "buif"]
    if wrong:
        raise TypeError(
            f"{name} has columns that are no numbers ({', '.join(map(repr, wrong[:5]))}); drop "
            f"them: {name}.select_dtypes(['number', 'bool'], exclude=['timedelta', "
            "'complexfloating'])."
        )
    # Columns that can miss values would make an array of objects, and so would truth values among
    # numbers.
    is_plain = all(isinstance(kind, np.dtype) for kind in frame.dtypes)
    are_alike = len({kind.kind == "b" for kind in frame.dtypes}) <= 1
    return frame if is_plain and are_alike else frame.astype(np.float64)


def bounded(X: Any) -> tuple[int, ...]:
    """Chunks along the rows that, with all features, are no larger than Dask wants chunks to be.

    What is stored by features, as CSC matrices are, would otherwise be one chunk of all rows.

    Examples
    --------
    >>> import dask.array as da
    >>> from branchwise.data.dask import bounded
    >>> bounded(da.zeros((20_000, 2000), chunks=(20_000, 100)))
    (6666, 6667, 6667)
    """
    most = max(1, chunk_bytes() // max(1, X.shape[1] * X.dtype.itemsize))
    return tuple(part for size in X.chunks[0] for part in divided(size, most))


def divided(size: int, most: int) -> list[int]:
    """A number as a sum of about equal ones, none of them above a limit.

    Examples
    --------
    >>> from branchwise.data.dask import divided
    >>> divided(7, 3), divided(3, 3), divided(0, 3)
    ([2, 2, 3], [3], [0])
    """
    n_parts = max(1, -(-size // most))
    return np.diff(np.arange(n_parts + 1) * size // n_parts).tolist()


def dask_modules() -> tuple[Any, Any]:
    """`dask` and `dask.array`."""
    return import_extra("dask", "a Dask array", "dask"), import_extra(
        "dask.array", "a Dask array", "dask"
    )


def starts(X: Any) -> list[int]:
    """The number of the first row of each chunk.

    Examples
    --------
    >>> import dask.array as da
    >>> from branchwise.data.dask import starts
    >>> starts(da.ones((5, 2), chunks=(2, 2)))
    [0, 2, 4]
    """
    return [0, *np.cumsum(X.chunks[0])[:-1].tolist()]


def where(X: Any, index: int) -> str:
    """What to call a chunk in a message.

    Examples
    --------
    >>> import dask.array as da
    >>> from branchwise.data.dask import where
    >>> where(da.ones((5, 2), chunks=(2, 2)), 1)
    'chunk 1 (rows 2 to 3 of X)'
    """
    first, n_rows = starts(X)[index], X.chunks[0][index]
    rows = {0: "no rows", 1: f"row {first}"}.get(n_rows, f"rows {first} to {first + n_rows - 1}")
    return f"chunk {index} ({rows} of X)"


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
    >>> from branchwise.data.dask import reduce_chunks
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
    dask, array = dask_modules()
    visit = Visit(function, keep)
    made = array.map_blocks(
        visit,
        X,
        *others,
        given=dask.delayed(given, traverse=False),
        dtype=object,
        meta=OBJECTS,
        chunks=(X.chunks[0], (1,)),
    )
    total = array.reduction(
        made,
        chunk=second,
        combine=Merge(merge),
        aggregate=Merge(merge),
        axis=(0, 1),
        concatenate=False,
        dtype=object,
        split_every=SPLIT_EVERY,
        meta=np.empty((), dtype=object),
    )
    kept = [made.map_blocks(First(), dtype=object, meta=OBJECTS)] if keep else []
    with told(X, made), expected(given):
        *kept, total = dask.persist(*kept, total)
        with stopped_by_failure(*kept, total):
            sums = gathered(total)
    if sums is None:
        raise ChunkError(
            f"X says that it has {X.shape[0]:,} rows, but none of its chunks has any; mend what "
            "they are made by."
        )
    return (kept[0] if keep else None), sums.value


def gathered(total: Any) -> Any:
    """The one block of an array that is being computed.

    Of a cluster it is asked for directly: what went wrong there would otherwise come out as a
    dependency that was lost.
    """
    if current_client() is None:
        return total.compute()
    (future,) = import_extra("distributed", "a cluster", "dask").futures_of(total)
    return future.result()


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
    >>> from branchwise.data.dask import map_chunks
    >>> map_chunks(da.ones((4, 2), chunks=2), lambda rows: rows[:, :1], 1, float).compute().shape
    (4, 1)
    """
    dask, array = dask_modules()
    shape = (n_columns,) if n_columns is not None else ()
    return array.map_blocks(
        Lazily(function, shape, np.dtype(dtype), numbered),
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
    >>> from branchwise.data.dask import computed
    >>> computed(da.ones((4, 2), chunks=2)).sum(axis=0).compute()
    array([4., 4.])
    """
    dask, _ = dask_modules()
    with told(X, X):
        (kept,) = dask.persist(X)
        # A cluster returns at once; what goes wrong comes out when something is asked for.
        counts = kept.map_blocks(count, dtype=np.int64, chunks=((1,) * X.numblocks[0], (1,)))
        with stopped_by_failure(kept):
            counts.sum().compute()
    return kept


def count(block: Any) -> Any:
    """The number of rows, as an array."""
    return np.full((1, 1), len(block))


@dataclass(frozen=True)
class Result:
    """Something for Dask to carry that it does not take for an array or a list of results."""

    value: Any


@dataclass(frozen=True)
class Visit:
    """Calls a function with the rows of one chunk."""

    function: Callable[..., Any]
    keep: bool

    @property
    def __name__(self) -> str:
        """What Dask's dashboard calls it."""
        return f"branchwise-{getattr(self.function, '__name__', 'pass')}"

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
class Lazily:
    """The same for a lazy array, whose chunks may also be empty."""

    function: Callable[..., Any]
    shape: tuple[int, ...]
    dtype: Any
    numbered: bool

    @property
    def __name__(self) -> str:
        """What Dask's dashboard calls it."""
        return f"branchwise-{getattr(self.function, '__name__', 'map')}"

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
class Merge:
    """Puts the results of several chunks together, in their order."""

    merge: Callable[[Any, Any], Any]

    @property
    def __name__(self) -> str:
        """What Dask's dashboard calls it."""
        return f"branchwise-{getattr(self.merge, '__name__', 'merge')}"

    def __call__(self, parts: Any, axis: Any = None, keepdims: Any = None) -> Result | None:
        """One result, or None for nothing but empty chunks."""
        results = [part for part in flat(parts) if part is not None]
        if not results:
            return None
        # The first is changed; what it came from may be needed again if a worker is lost.
        total = results[0].value
        for k, result in enumerate(results[1:]):
            total = self.merge(deepcopy(total) if k == 0 else total, result.value)
        return Result(total)


def flat(parts: Any) -> list[Any]:
    """Lists within lists as one."""
    return [p for part in parts for p in flat(part)] if isinstance(parts, list) else [parts]


@dataclass(frozen=True)
class First:
    """What stays on the worker."""

    @property
    def __name__(self) -> str:
        """What Dask's dashboard calls it."""
        return "branchwise-kept"

    def __call__(self, pair: Any) -> Any:
        """The first of the two."""
        return pair[0]


def second(pair: Any, axis: Any = None, keepdims: Any = None) -> Any:
    """What is merged."""
    return pair[1]


def as_rows(block: Any) -> Any:
    """A block as the functions know it: an array or a CSR matrix."""
    return sparse.csr_array(block) if sparse.issparse(block) else block


def check_n_rows(X: Any, n_rows: int) -> None:
    """As many rows in the chunks as the array says: row numbers are counted by what it says."""
    if n_rows != X.shape[0]:
        raise ChunkError(
            f"X says that it has {X.shape[0]:,} rows, but its chunks have {n_rows:,}; call "
            "X.compute_chunk_sizes() first, or mend what the chunks are made by."
        )


def check_rows(rows: Matrix, index: int, start: int, n_features: int) -> None:
    """Rows of a chunk that a fit can work with; the complaint names the chunk and the row."""
    if rows.ndim != 2 or rows.shape[1] != n_features:
        raise ChunkError(
            f"chunk {index} of X has shape {rows.shape} but must have {n_features} columns, as X "
            "has; mend what it is made by."
        )
    values = rows.data if sparse.issparse(rows) else rows
    if values.size == 0 or np.isfinite([values.min(), values.max()]).all():
        return
    row, column, value = first_cell(rows, lambda values: ~np.isfinite(values))
    raise ChunkError(
        f"X[{start + row}, {column}] is {'NaN' if np.isnan(value) else value}, in row {row} of "
        f"chunk {index}, but every value must be finite; drop such rows or replace such values "
        "(da.where(da.isnan(X), 0, X) puts zeros in the place of NaN)."
    )


def first_cell(rows: Matrix, is_wrong: Callable[[Floats], Bools]) -> tuple[int, int, Any]:
    """Row, column and value of a cell in the first row that has a wrong one.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.dask import first_cell
    >>> row, column, value = first_cell(np.array([[1.0, 2.0], [3.0, -4.0]]), lambda x: x < 0)
    >>> row, column, float(value)
    (1, 1, -4.0)
    """
    cells = sparse.coo_array(rows)
    wrong = np.flatnonzero(is_wrong(cells.data))
    at = wrong[np.argmin(cells.row[wrong])]
    return int(cells.row[at]), int(cells.col[at]), cells.data[at]


@contextmanager
def told(X: Any, made: Any) -> Iterator[None]:
    """Say which chunk failed, or that the scheduler is gone, in the place of Dask's own errors."""
    try:
        yield
    except ChunkError:
        raise
    except Exception as error:
        if is_lost(error):
            raise ConnectionError(
                f"The connection to the Dask scheduler was lost ({type(error).__name__}); start "
                "the scheduler again and fit again. A fit with checkpoint=PATH goes on from its "
                "last finished iteration with fit(X, resume=True)."
            ) from error
        if isinstance(error, RuntimeError) and "deserialization of the task graph" in str(error):
            raise RuntimeError(
                "The Dask scheduler cannot read what it is sent, most likely because branchwise is "
                "missing where it runs, or other versions of Python or Dask are there; install the "
                "same as here."
            ) from error
        if type(error).__name__ == "KilledWorker":
            raise ChunkError(killed(X, error)) from error
        failed = failed_chunk(made)
        if failed is None:
            raise
        index, reason = failed
        if isinstance(reason, ChunkError):
            raise reason from error
        words = " ".join(str(reason).split()) or "no reason given"
        raise ChunkError(
            f"{where(X, index)} cannot be read or used ({type(reason).__name__}: {words}); mend "
            "what it is read from, or leave it out."
        ) from reason


def killed(X: Any, error: Any) -> str:
    """What to say of workers that died: of what, only they knew.

    Dask names one of the tasks that each of them had before it. To try these one by one would tell
    which it was, at the price of more workers.
    """
    task = f"the same part of X ({error.task})"
    match error.task:
        case (str(name), int(index), *_) if name == X.name or name.startswith(OWN_TASKS):
            task = where(X, index)
    return (
        f"{error.allowed_failures + 1} workers died one after another while they had {task} before "
        "them, most likely for want of memory, for it or for a chunk beside it; make the chunks "
        "smaller (X.rechunk), or give the workers more memory."
    )


@contextmanager
def stopped_by_failure(*running: Any) -> Iterator[None]:
    """What has failed, or was interrupted, is not worked on any further.

    The cluster would go on as long as anything refers to the results, such as a traceback that a
    notebook keeps.
    """
    try:
        yield
    except BaseException:
        if current_client() is not None:
            distributed = import_extra("distributed", "a cluster", "dask")
            for future in distributed.futures_of(running):
                future.release()
        raise


@contextmanager
def expected(given: dict[str, Any]) -> Iterator[None]:
    """Keep Dask from warning of the size of what has to be sent; of X it may."""
    # Not before distributed is imported: its settings would be lost with this one.
    if current_client() is None:
        yield
        return
    dask, _ = dask_modules()
    name = "distributed.admin.large-graph-warning-threshold"
    sizes, utils = (
        import_extra(f"dask.{part}", "a Dask array", "dask") for part in ("sizeof", "utils")
    )
    limit = utils.parse_bytes(dask.config.get(name, "10MB")) + 2 * sizes.sizeof(given)
    with dask.config.set({name: limit}):
        yield


def is_lost(error: BaseException) -> bool:
    """Whether an error says that the scheduler does not answer any more."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return not names.isdisjoint({"CommClosedError", "CancelledError", "ClosedClientError"})


def current_client() -> Any:
    """The `distributed.Client` that Dask would use now, or None for a scheduler of this process."""
    base = import_extra("dask.base", "a Dask array", "dask")
    scheduler = base.get_scheduler()
    owner = getattr(scheduler, "__self__", None)
    return owner if hasattr(owner, "scheduler_info") else None


def failed_chunk(made: Any) -> tuple[int, BaseException] | None:
    """The first chunk found that fails when it is computed anew, and why.

    A scheduler of this process does not tell which it was: halves are computed, on all of its
    threads, until one is left.
    """
    dask, _ = dask_modules()
    tried = made.map_blocks(nothing, dtype=object, meta=OBJECTS)
    chunks, client = tried.to_delayed(optimize_graph=False).ravel().tolist(), current_client()
    if client is not None:
        distributed = import_extra("distributed", "a cluster", "dask")
        futures = client.compute(chunks)
        for future in distributed.as_completed(futures):
            if future.status == "error":
                return futures.index(future), future.exception()
        return None
    low, high = 0, len(chunks)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            dask.compute(*chunks[low:middle])
        except Exception:
            high = middle
        else:
            low = middle
    try:
        dask.compute(chunks[low])
    except Exception as error:
        return low, error
    return None


def nothing(block: Any) -> None:
    """What is to be kept of a chunk that was only tried."""


def chunk_bytes() -> int:
    """How large chunks may be: Dask's own setting, 128 MiB unless it was changed."""
    dask = import_extra("dask", "reading lazily", "dask")
    utils = import_extra("dask.utils", "reading lazily", "dask")
    return int(utils.parse_bytes(dask.config.get("array.chunk-size")))
