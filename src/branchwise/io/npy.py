"""NumPy's files."""

import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from scipy import sparse

from ..data.selection import Selection
from ..data.table import (
    InputError,
    Table,
    check_has_rows,
    check_matrix,
    make_table,
    pandas_for_tables,
)
from .lazy import lazy_array, row_sizes
from .safety import check_stored


def read_npy(path: Path, selection: Selection) -> Table:
    """Read a two-dimensional array, samples by features; names are numbers from 0."""
    try:
        # Mapped, not read: an absurd shape does not fit the file, and is refused by that.
        X = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise unreadable(path, error) from error
    return make_table(np.array(X), None, None, None, str(path), selection)


def lazy_npy(path: Path, selection: Selection) -> Table:
    """A two-dimensional array in a .npy file, mapped into memory by each task."""
    try:
        X = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise unreadable(path, error) from error
    check_matrix(X, str(path))
    check_has_rows(X.shape[0], str(path))
    sizes = row_sizes(X.shape[0], 8 * X.shape[1], None)
    rows = lazy_array(npy_rows, path, (), sizes, X.shape[1])
    return make_table(rows, None, None, None, str(path), selection)


def npy_rows(path: Path, start: int, stop: int) -> Any:
    """Some rows of a .npy file."""
    return np.load(path, mmap_mode="r", allow_pickle=False)[start:stop]


def read_npz(path: Path, selection: Selection) -> Table:
    """Read one two-dimensional array, arrays with agreed names, or a sparse matrix of SciPy.

    Agreed names are X (samples by features), and if present `features`, `samples` and `y`, the
    annotation "label". Other arrays with one value for each sample are annotations by their own
    name; the rest is left alone.
    """
    with opened_npz(path) as file:
        keys = list(file.files)
        if "indptr" in keys or {"row", "col"} <= set(keys):
            X = load_sparse(path, file)
            return make_table(X, None, None, None, str(path), selection)
        key = choose_matrix(path, keys)
        X = file[key]
        rest = {name: as_text(file[name]) for name in keys if name != key}
    features, samples = rest.pop("features", None), rest.pop("samples", None)
    n_rows = len(X) if X.ndim else 0
    annotations = {
        "label" if name == "y" and "label" not in rest else name: values
        for name, values in rest.items()
        if values.shape == (n_rows,) and values.dtype.kind != "V"
    }
    frame = pandas_for_tables().DataFrame(annotations, index=range(n_rows))
    return make_table(X, features, samples, frame, str(path), selection)


@contextmanager
def opened_npz(path: Path) -> Iterator[Any]:
    """The arrays of a file, once their headers are plausible; InputError if they cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                check_member(archive, member, path)
        with np.load(path, allow_pickle=False) as file:
            yield file
    except InputError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, KeyError, ValueError) as error:
        raise unreadable(path, error) from error
    except (MemoryError, NotImplementedError, RuntimeError, SyntaxError, TokenError) as error:
        # An array that does not fit, an unknown or encrypted archive, a header beyond literals.
        raise unreadable(path, error) from error


def as_text(values: Any) -> Any:
    """Bytes as the text that they stand for; other values as they are."""
    return np.char.decode(values, "utf-8") if values.dtype.kind == "S" else values


def check_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> None:
    """The header of an array must agree with the bytes that follow it, before room is made."""
    if not member.filename.endswith(".npy"):
        raise InputError(f"{path} holds {member.filename!r}, which is not an array of NumPy.")
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        read = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = read(file)
    if dtype.hasobject:
        raise InputError(
            f"{path} holds Python objects in {member.filename!r}, which could run code; save "
            "numbers, or text by .astype(str)."
        )
    what = f"{member.filename!r} in {path}"
    check_stored(shape, dtype.itemsize, min(member.compress_size, path.stat().st_size), what)


def choose_matrix(path: Path, keys: Sequence[str]) -> str:
    """The array that is the table."""
    if "X" in keys:
        return "X"
    if len(keys) == 1:
        return keys[0]
    raise InputError(
        f"{path} holds {len(keys)} arrays ({', '.join(keys)}), but none of the name X; "
        "name the table X, or store it alone."
    )


def load_sparse(path: Path, file: Any) -> Any:
    """A matrix of scipy.sparse.save_npz, once its shape is plausible."""
    shape = file["shape"]
    if shape.shape != (2,):
        raise InputError(f"{path} holds a sparse array of shape {shape.tolist()}, not a table.")
    check_stored([int(shape.max()) + 1], 8, path.stat().st_size, f"the sparse matrix in {path}")
    return sparse.load_npz(path)


def unreadable(path: Path, error: Exception) -> InputError:
    """One sentence for the many ways in which a file of NumPy can be broken."""
    reason = str(error).split("\n")[0].rstrip(". ") or type(error).__name__
    if "allow_pickle" in reason or "Python objects" in reason:
        reason = "it holds pickled Python objects, which could run code"
    return InputError(
        f"{path} cannot be read as a NumPy file ({reason}); save numbers, or text by .astype(str)."
    )
