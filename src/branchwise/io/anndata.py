"""AnnData files, also from strangers: looked through first, then read."""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._compat import import_extra
from ..data.selection import EVERYTHING, Selection
from ..data.table import (
    InputError,
    Table,
    check_has_rows,
    check_indices,
    check_known,
    check_matrix,
    make_table,
    unique_names,
)
from .lazy import lazy_array, row_sizes, stored_rows
from .safety import check_hdf5, check_path, check_sizes, check_zarr


def read_anndata(path: str | os.PathLike[str]) -> Any:
    """Read an .h5ad file or a .zarr folder as AnnData, if it stands on its own.

    External links, external storage and virtual datasets of HDF5 are refused before any data
    are read, as are symbolic links and codecs that run code in zarr, and arrays that declare far
    more values than are stored.

    Parameters
    ----------
    path : path
        The file or folder.

    Returns
    -------
    anndata.AnnData

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import anndata, numpy as np
    >>> from branchwise.io import read_anndata
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "cells.h5ad"
    >>> anndata.AnnData(np.eye(3)).write_h5ad(path)
    >>> read_anndata(path).shape
    (3, 3)
    """
    path = check_path(path)
    with opened(path) as root:
        anndata = import_extra("anndata", "reading AnnData", "anndata")
        # The whole file by AnnData's own way, which knows its formats of old.
        adata = anndata.read_h5ad(path) if path.is_file() else anndata.io.read_zarr(root)
        for name in ("layers", "obsm", "varm", "obsp", "varp"):
            for key, values in getattr(adata, name).items():
                check_sparse(values, f"{name}/{key} in {path}")
        check_sparse(adata.X, f"X in {path}")
        if adata.raw is not None:
            check_sparse(adata.raw.X, f"raw/X in {path}")
        return adata


def check_sparse(values: Any, what: str) -> None:
    """AnnData itself trusts the indices of a sparse matrix."""
    if sparse.issparse(values):
        check_indices(values, what)


def is_zarr(path: Path) -> bool:
    """Whether a folder is in zarr format, by its content."""
    names = (".zgroup", ".zarray", "zarr.json")
    return path.is_dir() and any((path / name).is_file() for name in names)


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The root of a file that has been looked through; what goes wrong becomes one sentence."""
    try:
        with warnings.catch_warnings():
            # Old formats and repeated names: nothing that a reader of a stranger's file can mend.
            warnings.simplefilter("ignore")
            if path.is_dir():
                yield _open_zarr(path)
            else:
                h5py = import_extra("h5py", "reading .h5ad", "anndata")
                with h5py.File(path, "r") as file:
                    check_hdf5(file, path)
                    check_sparse_groups(file, path)
                    yield file
    except (InputError, ImportError):
        raise
    except MemoryError as error:
        raise InputError(
            f"{path} does not fit into memory; read fewer cells or genes, or a representation."
        ) from error
    # A damaged file fails anywhere in h5py, zarr or anndata, with errors of any type.
    except Exception as error:
        reason = " ".join(str(error).split())[:200].rstrip(". ") or type(error).__name__
        raise InputError(
            f"{path} cannot be read as AnnData ({reason}); "
            "it is cut short, damaged or of another format: copy or write it again."
        ) from error


def _open_zarr(path: Path) -> Any:
    check_zarr(path)
    group = open_group(path)
    check_sizes(group, path)
    check_sparse_groups(group, path)
    return group


def open_group(path: Path) -> Any:
    """A folder in zarr format, not looked through: workers open it again for every chunk."""
    zarr = import_extra("zarr", "reading .zarr", "anndata")
    # Consolidated metadata are a second account of the arrays; zarr 2 does not use it unasked.
    options = {} if zarr.__version__.startswith("2.") else {"use_consolidated": False}
    return zarr.open_group(str(path), mode="r", **options)


def check_sparse_groups(root: Any, path: Path) -> None:
    """The shape of a sparse matrix is an attribute of its own, for which AnnData makes room."""
    pending = [root]
    while pending:
        group = pending.pop()
        # A soft link may lead nowhere: get gives None then.
        pending.extend(part for key in group if hasattr(part := group.get(key), "keys"))
        attributes = group.attrs
        shape = attributes.get("shape", attributes.get("h5sparse_shape"))
        if shape is None or "indptr" not in group:
            continue
        kind = attributes.get("encoding-type", attributes.get("h5sparse_format", "csr"))
        major = int(shape[1 if "csc" in str(kind) else 0])
        if group["indptr"].shape != (major + 1,):
            raise InputError(
                f"{group.name} in {path} declares a sparse matrix of shape "
                f"{tuple(int(size) for size in shape)}, but stores {group['indptr'].shape[0]} "
                "row pointers; the file is damaged or hostile, and is not read."
            )


def read_anndata_table(
    path: Path,
    selection: Selection = EVERYTHING,
    *,
    use_rep: str | None = None,
    layer: str | None = None,
) -> Table:
    """A table of X, of a layer or of a representation; only these, obs and names are read."""
    with opened(path) as root:
        if hasattr(root["obs"], "keys") and hasattr(root["var"], "keys"):
            read = import_extra("anndata", "reading AnnData", "anndata").io.read_elem
            obs = read(root["obs"])
        else:
            # Written before AnnData 0.7, in a format that only it should know.
            adata = read_anndata(path)
            obs, root = adata.obs, {"X": adata.X, "obsm": adata.obsm, "layers": adata.layers}
            root["var"] = adata.var

            def read(part: Any) -> Any:
                return part

        _, part, names = find_part(root, read, path, use_rep, layer)
        X = read(part)
    if X is None:
        raise InputError(f"{path} has an empty X; read a layer or a representation instead.")
    if names is None:
        # Of a representation; one that is a data frame has names of its own.
        names = unique_names(X.columns) if hasattr(X, "columns") else columns_of(use_rep, X)
        X = X.to_numpy() if hasattr(X, "columns") else X
    annotations = obs.set_axis([str(name) for name in obs.columns], axis=1)
    return make_table(X, names, obs.index, annotations, str(path), selection)


def columns_of(use_rep: str | None, X: Any) -> list[str]:
    """Names for the columns of a representation.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.io.anndata import columns_of
    >>> columns_of("X_pca", np.zeros((4, 2)))
    ['X_pca1', 'X_pca2']
    """
    return [f"{use_rep}{j + 1}" for j in range(np.shape(X)[1])]


def find_part(
    root: Any, read: Any, path: Path, use_rep: str | None, layer: str | None
) -> tuple[str, Any, list[str] | None]:
    """Where the matrix is, what is there, and the names of its columns if var has them."""
    if use_rep is not None and layer is not None:
        raise InputError(
            f"use_rep={use_rep!r} and layer={layer!r} both say what to read; leave one out."
        )
    if use_rep is not None and use_rep != "X":
        found = sorted(root["obsm"]) if "obsm" in root else []
        check_known([use_rep], found, str(path), "representation")
        return f"obsm/{use_rep}", root["obsm"][use_rep], None
    names = unique_names(read(root["var"]).index)
    if layer is not None:
        found = sorted(root["layers"]) if "layers" in root else []
        check_known([layer], found, str(path), "layer")
        return f"layers/{layer}", root["layers"][layer], names
    if "X" not in root or root["X"] is None:
        others = [f"layer {key!r}" for key in sorted(root.get("layers", ()))]
        others += [f"use_rep {key!r}" for key in sorted(root.get("obsm", ()))]
        raise InputError(f"{path} has no X; read {', '.join(others) or 'another file'} instead.")
    return "X", root["X"], names


# Sparse rows count as if at least this part of their values were stored: some steps of a
# preparation make a chunk dense.
LEAST_STORED = 1 / 8

# A stored value of a sparse matrix, and its column.
SPARSE_BYTES = 16


def lazy_anndata(
    path: Path,
    selection: Selection = EVERYTHING,
    *,
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
        check_has_rows(len(obs), str(path))
        rows = lazy_part(path, key, part)
    features = columns_of(use_rep, rows) if features is None else features
    annotations = obs.set_axis([str(name) for name in obs.columns], axis=1)
    return make_table(rows, features, obs.index, annotations, str(path), selection)


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
