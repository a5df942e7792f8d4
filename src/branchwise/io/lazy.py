"""Tables whose values stay in their files: Dask arrays that the workers read, chunk by chunk.

Every task opens the file by its path, on whichever machine it runs. Names and annotations of the
samples are in memory.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._compat import import_extra
from ..data.dask import chunk_bytes
from ..data.table import InputError, as_floats

# A table is read in at least so many chunks, so that several workers have something to do, unless
# they would have fewer rows than this.
N_CHUNKS, MIN_ROWS = 16, 10_000


@dataclass(frozen=True)
class Rows:
    """Reads the rows of one chunk, wherever it is called."""

    read: Callable[..., Any]
    path: Path
    given: tuple[Any, ...]
    n_columns: int

    def __call__(self, block: Any) -> Any:
        """The rows that the only value of a block names, as numbers of double precision."""
        start, stop, *which = block[0, 0]
        where = f"rows {start} to {stop - 1} of {self.path}"
        try:
            rows = as_floats(self.read(self.path, start, stop, *self.given, *which), where)
        except (InputError, ImportError):
            raise
        except FileNotFoundError as error:
            raise InputError(
                f"{where} cannot be read: there is no {error.filename or self.path} on this "
                "machine; every worker needs the file at the same path, on a shared disk."
            ) from error
        # A damaged file fails anywhere in the libraries, with errors of any type.
        except Exception as error:
            reason = " ".join(str(error).split())[:200].rstrip(". ") or "no reason given"
            raise InputError(
                f"{where} cannot be read ({type(error).__name__}: {reason}); the file is cut "
                "short or damaged: copy or write it again."
            ) from error
        if rows.shape != (stop - start, self.n_columns):
            raise InputError(
                f"{where} have shape {rows.shape} now; the file has changed since it was opened: "
                "open it again."
            )
        return rows


def lazy_array(
    read: Callable[..., Any],
    path: Path,
    given: tuple[Any, ...],
    sizes: Sequence[int],
    n_columns: int,
    *,
    pieces: Sequence[Any] | None = None,
    is_sparse: bool = False,
) -> Any:
    """A Dask array of chunks of these numbers of rows, which `read` makes of a file.

    It is called with the path, the first row, the one after the last, what is `given`, and the
    piece of the chunk.
    """
    dask = import_extra("dask", "reading lazily", "dask")
    array = import_extra("dask.array", "reading lazily", "dask")
    path = path.resolve()
    stops = np.cumsum(sizes, dtype=np.int64).tolist()
    # Each task gets its own part of this array, and nothing of the others'.
    where = np.empty((len(sizes), 1), dtype=object)
    for k, (stop, size) in enumerate(zip(stops, sizes, strict=True)):
        where[k, 0] = (stop - size, stop) if pieces is None else (stop - size, stop, pieces[k])
    # The date, so that a file that was written again is not taken for what was read before.
    token = dask.base.tokenize(str(path), path.stat().st_mtime_ns, read, given, stops)
    meta: Any = sparse.csr_array((0, 0)) if is_sparse else np.empty((0, 0))
    return array.map_blocks(
        Rows(read, path, given, n_columns),
        array.from_array(where, chunks=1, name=f"rows-{token}"),
        chunks=(tuple(sizes), (n_columns,)),
        dtype=np.float64,
        meta=meta,
        name=f"read-{token}",
    )


def most_rows(n_rows: int, row_bytes: float) -> int:
    """How many rows a chunk may have: no more than `chunk_bytes` allow, and enough chunks for all.

    It does not depend on how many workers there are, nor does the result to the last digit.

    Examples
    --------
    >>> from branchwise.io.lazy import most_rows
    >>> most_rows(1_000_000, 400), most_rows(50_000, 400), most_rows(10**9, 400)
    (62500, 10000, 335544)
    """
    return min(int(chunk_bytes() / max(row_bytes, 1)), max(n_rows // N_CHUNKS, MIN_ROWS))


def row_sizes(n_rows: int, row_bytes: float, stored: int | None) -> list[int]:
    """Rows of each chunk: as many stored chunks as `most_rows` allows, and at least one.

    Examples
    --------
    >>> from branchwise.io.lazy import row_sizes
    >>> row_sizes(100_000, 400, 4_000)[:2], sum(row_sizes(100_000, 400, 4_000))
    ([8000, 8000], 100000)
    """
    step = min(stored or 1, max(n_rows, 1))
    size = max(1, most_rows(n_rows, row_bytes) // step) * step
    return [size] * (n_rows // size) + ([n_rows % size] if n_rows % size else [])


def stored_rows(array: Any) -> int | None:
    """Rows of what is stored, and has to be read, in one piece."""
    stored = getattr(array, "shards", None) or array.chunks
    return stored[0] if stored else None
