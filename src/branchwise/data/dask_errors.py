"""What goes wrong in the chunks of a Dask array, in words: which chunk, which row, what to do."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Bools, Floats, Matrix
from .dask import OBJECTS, chunk_starts, current_client, import_dask, import_distributed

# How the names of our own tasks begin, which are numbered like the chunks.
OWN_TASKS = "branchwise-"


class ChunkError(ValueError):
    """A chunk that cannot be read or used; the message names it."""


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
    >>> from branchwise.data.dask_errors import first_cell
    >>> row, column, value = first_cell(np.array([[1.0, 2.0], [3.0, -4.0]]), lambda x: x < 0)
    >>> row, column, float(value)
    (1, 1, -4.0)
    """
    cells = sparse.coo_array(rows)
    wrong = np.flatnonzero(is_wrong(cells.data))
    at = wrong[np.argmin(cells.row[wrong])]
    return int(cells.row[at]), int(cells.col[at]), cells.data[at]


def chunk_label(X: Any, index: int) -> str:
    """What to call a chunk in a message.

    Examples
    --------
    >>> import dask.array as da
    >>> from branchwise.data.dask_errors import chunk_label
    >>> chunk_label(da.ones((5, 2), chunks=(2, 2)), 1)
    'chunk 1 (rows 2 to 3 of X)'
    """
    first, n_rows = chunk_starts(X)[index], X.chunks[0][index]
    rows = {0: "no rows", 1: f"row {first}"}.get(n_rows, f"rows {first} to {first + n_rows - 1}")
    return f"chunk {index} ({rows} of X)"


@contextmanager
def failures_in_words(X: Any, made: Any) -> Iterator[None]:
    """Say which chunk failed, or that the scheduler is gone, in the place of Dask's own errors."""
    try:
        yield
    except ChunkError:
        raise
    except Exception as error:
        if is_connection_lost(error):
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
            raise ChunkError(killed_message(X, error)) from error
        failed = failed_chunk(made)
        if failed is None:
            raise
        index, reason = failed
        if isinstance(reason, ChunkError):
            raise reason from error
        words = " ".join(str(reason).split()) or "no reason given"
        raise ChunkError(
            f"{chunk_label(X, index)} cannot be read or used ({type(reason).__name__}: {words}); "
            "mend what it is read from, or leave it out."
        ) from reason


def is_connection_lost(error: BaseException) -> bool:
    """Whether an error says that the scheduler does not answer any more."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return not names.isdisjoint({"CommClosedError", "CancelledError", "ClosedClientError"})


def killed_message(X: Any, error: Any) -> str:
    """What to say of workers that died: of what, only they knew.

    Dask names one of the tasks that each of them had before it. To try these one by one would tell
    which it was, at the price of more workers.
    """
    task = f"the same part of X ({error.task})"
    match error.task:
        case (str(name), int(index), *_) if name == X.name or name.startswith(OWN_TASKS):
            task = chunk_label(X, index)
    return (
        f"{error.allowed_failures + 1} workers died one after another while they had {task} before "
        "them, most likely for want of memory, for it or for a chunk beside it; make the chunks "
        "smaller (X.rechunk), or give the workers more memory."
    )


def failed_chunk(made: Any) -> tuple[int, BaseException] | None:
    """The first chunk found that fails when it is computed again, and why.

    A scheduler of this process does not tell which it was: halves are computed, on all of its
    threads, until one is left.
    """
    dask, _ = import_dask()
    tried = made.map_blocks(discard, dtype=object, meta=OBJECTS)
    chunks, client = tried.to_delayed(optimize_graph=False).ravel().tolist(), current_client()
    if client is not None:
        futures = client.compute(chunks)
        for future in import_distributed().as_completed(futures):
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


def discard(block: Any) -> None:
    """What is to be kept of a chunk that was only tried."""


@contextmanager
def released_on_failure(*running: Any) -> Iterator[None]:
    """What has failed, or was interrupted, is not worked on any further.

    The cluster would go on as long as anything refers to the results, such as a traceback that a
    notebook keeps.
    """
    try:
        yield
    except BaseException:
        if current_client() is not None:
            for future in import_distributed().futures_of(running):
                future.release()
        raise
