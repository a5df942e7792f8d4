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
from ..data.table import (
    InputError,
    Table,
    as_floats,
    check_matrix,
    check_samples,
    make_table,
    pandas_for_tables,
)
from .anndata import columns_of, find_part, opened, read_anndata_table
from .frames import ID_NAME, is_unnamed, sort_columns
from .npy import read_npy, unreadable
from .parquet import look_at, read_frame, read_parquet, readable
from .zarr import open_array, read_zarr_array

# Sparse rows count as if at least this part of their values were stored: some steps of a
# preparation make a chunk dense.
LEAST_STORED = 1 / 8

# A table is read in at least so many chunks, so that several workers have something to do, unless
# they would have fewer rows than this.
N_CHUNKS, MIN_ROWS = 16, 10_000

# A stored value of a sparse matrix, and its column.
SPARSE_BYTES = 16


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
    # The date, so that a file that was written anew is not taken for what was read before.
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


def lazy_npy(path: Path, *, id: str | None, exclude: Sequence[str]) -> Table:
    """A two-dimensional array in a .npy file, mapped into memory by each task."""
    try:
        X = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise unreadable(path, error) from error
    check_matrix(X, str(path))
    check_samples(X.shape[0], str(path))
    sizes = row_sizes(X.shape[0], 8 * X.shape[1], None)
    rows = lazy_array(npy_rows, path, (), sizes, X.shape[1])
    return make_table(rows, None, None, None, str(path), exclude=exclude, id=id)


def npy_rows(path: Path, start: int, stop: int) -> Any:
    """Some rows of a .npy file."""
    return np.load(path, mmap_mode="r", allow_pickle=False)[start:stop]


def lazy_zarr_array(path: Path, *, id: str | None, exclude: Sequence[str]) -> Table:
    """A plain array in zarr format."""
    array = open_array(path)
    check_samples(array.shape[0], str(path))
    sizes = row_sizes(array.shape[0], 8 * array.shape[1], stored_rows(array))
    rows = lazy_array(zarr_rows, path, (), sizes, array.shape[1])
    return make_table(rows, None, None, None, str(path), exclude=exclude, id=id)


def zarr_rows(path: Path, start: int, stop: int) -> Any:
    """Some rows of a plain array in zarr format, which was looked through when it was opened."""
    zarr = import_extra("zarr", "reading .zarr", "anndata")
    return zarr.open_array(str(path), mode="r")[start:stop]


def stored_rows(array: Any) -> int | None:
    """Rows of what is stored, and has to be read, in one piece."""
    stored = getattr(array, "shards", None) or array.chunks
    return stored[0] if stored else None


def lazy_anndata(
    path: Path,
    *,
    id: str | None,
    exclude: Sequence[str],
    use_rep: str | None = None,
    layer: str | None = None,
) -> Table:
    """X, a layer or a representation of an AnnData file, an array or sparse by rows."""
    with opened(path) as root:
        if not hasattr(root["obs"], "keys") or not hasattr(root["var"], "keys"):
            raise InputError(
                f"{path} is of a format before AnnData 0.7, which is not read lazily; write it "
                "again with a newer AnnData."
            )
        read = import_extra("anndata", "reading AnnData", "anndata").io.read_elem
        obs = read(root["obs"])
        key, part, features = find_part(root, read, path, use_rep, layer)
        check_samples(len(obs), str(path))
        rows = lazy_part(path, key, part)
    features = columns_of(use_rep, rows) if features is None else features
    annotations = obs.set_axis([str(name) for name in obs.columns], axis=1)
    return make_table(rows, features, obs.index, annotations, str(path), exclude=exclude, id=id)


def lazy_part(path: Path, key: str, part: Any) -> Any:
    """A matrix of an AnnData file as a Dask array."""
    what = f"{key} in {path}"
    if hasattr(part, "shape"):
        check_matrix(part, what)
        sizes = row_sizes(part.shape[0], 8 * part.shape[1], stored_rows(part))
        return lazy_array(anndata_rows, path, (key,), sizes, part.shape[1])
    kind = part.attrs.get("encoding-type", part.attrs.get("h5sparse_format", "data frame"))
    if "csr" not in str(kind):
        remedy = "convert it with .tocsr()" if "csc" in str(kind) else "store an array"
        raise InputError(
            f"{what} is a {kind}, whose rows are not stored one after the other, and is not read "
            f"lazily; {remedy} and write the file again."
        )
    shape = part.attrs.get("shape", part.attrs.get("h5sparse_shape"))
    n_rows, n_columns = (int(size) for size in shape)
    entries = part["data"].shape[0] / max(n_rows, 1)
    row_bytes = max(SPARSE_BYTES * entries, 8 * LEAST_STORED * n_columns)
    sizes = row_sizes(n_rows, row_bytes, None)
    return lazy_array(anndata_csr_rows, path, (key,), sizes, n_columns, is_sparse=True)


def anndata_rows(path: Path, start: int, stop: int, key: str) -> Any:
    """Some rows of an array in an AnnData file."""
    if path.is_dir():
        return open_group(path)[key][start:stop]
    h5py = import_extra("h5py", "reading .h5ad", "anndata")
    with h5py.File(path, "r") as file:
        return file[key][start:stop]


def anndata_csr_rows(path: Path, start: int, stop: int, key: str) -> Any:
    """Some rows of a sparse matrix in an AnnData file."""
    if path.is_dir():
        return csr_rows(open_group(path)[key], start, stop)
    h5py = import_extra("h5py", "reading .h5ad", "anndata")
    with h5py.File(path, "r") as file:
        return csr_rows(file[key], start, stop)


def csr_rows(group: Any, start: int, stop: int) -> Any:
    """Some rows of a sparse matrix of three stored arrays; its indices are checked later."""
    pointers = np.asarray(group["indptr"][start : stop + 1])
    first, last = int(pointers[0]), int(pointers[-1])
    shape = group.attrs.get("shape", group.attrs.get("h5sparse_shape"))
    parts = group["data"][first:last], group["indices"][first:last], pointers - first
    return sparse.csr_array(parts, shape=(stop - start, int(shape[1])))


def open_group(path: Path) -> Any:
    """A folder in zarr format, which was looked through when it was opened."""
    zarr = import_extra("zarr", "reading .zarr", "anndata")
    options = {} if zarr.__version__.startswith("2.") else {"use_consolidated": False}
    return zarr.open_group(str(path), mode="r", **options)


def lazy_parquet(
    path: Path, *, id: str | None, exclude: Sequence[str], features: Sequence[str] | None = None
) -> Table:
    """Numbers of a Parquet file or folder in groups of rows; the other columns are in memory."""
    arrow = import_extra("pyarrow", "reading Parquet", "cli")
    types = arrow.types
    with readable(path):
        described = look_at(path)
        names = described.names
        is_number = [
            types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
            for kind in (described.schema.field(field).type for field in described.fields)
        ]
        read_now = {*exclude, *([] if id is None else [id])}
        if names and (is_unnamed(names[0]) or ID_NAME.fullmatch(names[0].lower())):
            read_now.add(names[0])
        read_now |= {name for name, number in zip(names, is_number, strict=True) if not number}
        frame = read_frame(described, [name for name in names if name in read_now])
        n_rows = sum(file.num_rows for file in described.metadata)
        check_samples(n_rows, str(path))
        if not frame.shape[1]:
            pandas = pandas_for_tables()
            frame = pandas.DataFrame(index=range(n_rows), columns=pandas.Index([], dtype=object))
    found = sort_columns(
        frame, names, str(path), id=id, exclude=exclude, features=features, typed=True
    )
    fields = dict(zip(names, described.fields, strict=True))
    chosen = [fields[name] for name in found.features]
    pieces, sizes = parquet_pieces(described, 8 * len(chosen))
    rows = lazy_array(parquet_rows, path, (chosen,), sizes, len(chosen), pieces=pieces)
    return make_table(rows, found.features, found.samples, found.annotations, str(path))


def parquet_pieces(described: Any, row_bytes: int) -> tuple[list[Any], list[int]]:
    """What each chunk consists of, (file, group) after (file, group), and its number of rows."""
    limit = most_rows(sum(file.num_rows for file in described.metadata), row_bytes)
    pieces: list[Any] = []
    sizes: list[int] = []
    for path, file in zip(described.paths, described.metadata, strict=True):
        for group in range(file.num_row_groups):
            n_rows = file.row_group(group).num_rows
            if pieces and sizes[-1] + n_rows <= limit:
                pieces[-1], sizes[-1] = (*pieces[-1], (path.name, group)), sizes[-1] + n_rows
            elif n_rows:
                pieces.append(((path.name, group),))
                sizes.append(n_rows)
    return pieces, sizes


def parquet_rows(path: Path, start: int, stop: int, chosen: Sequence[str], groups: Any) -> Any:
    """Groups of rows, (file, group) after (file, group), as numbers."""
    arrow = import_extra("pyarrow", "reading Parquet", "cli")
    parquet = import_extra("pyarrow.parquet", "reading Parquet", "cli")
    parts = []
    for name, group in groups:
        with parquet.ParquetFile(path / name if path.is_dir() else path) as file:
            part = file.read_row_group(group, columns=chosen)
        numbers = [part[field].cast(arrow.float64(), safe=False).to_numpy() for field in chosen]
        parts.append(np.column_stack(numbers))
    return np.concatenate(parts)


LAZY: dict[Callable[..., Table], Callable[..., Table]] = {
    read_anndata_table: lazy_anndata,
    read_npy: lazy_npy,
    read_zarr_array: lazy_zarr_array,
    read_parquet: lazy_parquet,
}
