"""Plain two-dimensional arrays in zarr format, as `dask.array.to_zarr` writes them."""

from pathlib import Path
from typing import Any

import numpy as np

from .._compat import import_extra
from ..data.selection import Selection
from ..data.table import (
    InputError,
    Table,
    check_has_rows,
    check_matrix,
    make_table,
)
from .lazy import lazy_array, row_sizes, stored_rows
from .safety import check_array, check_zarr, read_json


def is_zarr_array(path: Path) -> bool:
    """Whether a folder is one array in zarr format, of version 2 or 3, rather than a group."""
    if (path / ".zarray").is_file():
        return True
    described = path / "zarr.json"
    if not described.is_file():
        return False
    found = read_json(described, path)
    return isinstance(found, dict) and found.get("node_type") == "array"


def open_array(path: Path) -> Any:
    """The array, looked through but not read."""
    zarr = import_extra("zarr", "reading .zarr", "anndata")
    check_zarr(path)
    try:
        array = zarr.open_array(str(path), mode="r")
    # Metadata that make no array fail in zarr with errors of any type.
    except Exception as error:
        raise unreadable(path, error) from error
    check_array(array, path, path)
    check_matrix(array, str(path))
    return array


def unreadable(path: Path, error: Exception) -> InputError:
    """One sentence for the many ways in which a folder can be damaged."""
    reason = " ".join(str(error).split())[:200].rstrip(". ") or type(error).__name__
    return InputError(
        f"{path} cannot be read as a zarr array ({reason}); it is cut short, damaged or of another "
        "format: copy or write it again."
    )


def read_zarr_array(path: Path, selection: Selection) -> Table:
    """Read a two-dimensional array, samples by features; names are numbers from 0."""
    array = open_array(path)
    try:
        X = np.asarray(array[:])
    except Exception as error:
        raise unreadable(path, error) from error
    return make_table(X, None, None, None, str(path), selection)


def lazy_zarr_array(path: Path, selection: Selection) -> Table:
    """A plain array in zarr format."""
    array = open_array(path)
    check_has_rows(array.shape[0], str(path))
    sizes = row_sizes(array.shape[0], 8 * array.shape[1], stored_rows(array))
    rows = lazy_array(zarr_rows, path, (), sizes, array.shape[1])
    return make_table(rows, None, None, None, str(path), selection)


def zarr_rows(path: Path, start: int, stop: int) -> Any:
    """Some rows of a plain array in zarr format, which was looked through when it was opened."""
    zarr = import_extra("zarr", "reading .zarr", "anndata")
    return zarr.open_array(str(path), mode="r")[start:stop]
