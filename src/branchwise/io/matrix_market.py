"""Matrix Market files, alone or with the names that 10x Genomics puts beside them."""

import zlib
from pathlib import Path
from typing import Any

from scipy.io import mminfo, mmread

from .._messages import listed
from ..data.selection import Selection
from ..data.table import InputError, Table, make_table, unique_names
from .safety import check_stored
from .text import opened

# The shortest entry is "1 1" and a line end.
BYTES_PER_ENTRY = 4


def read_matrix_market(path: Path, selection: Selection) -> Table:
    """Read a .mtx file or a folder that holds one.

    Beside barcodes.tsv and features.tsv (or genes.tsv), with the same prefix and gzipped or not,
    it is a count matrix of 10x Genomics, features by cells, and is transposed. Without them, rows
    are samples and columns are features, named by numbers from 0.
    """
    path = find_matrix(path) if path.is_dir() else path
    prefix = path.name.removesuffix(".gz").removesuffix("matrix.mtx")
    barcodes = sibling(path, prefix, "barcodes")
    features = sibling(path, prefix, "features") or sibling(path, prefix, "genes")
    X = read_matrix(path)
    if barcodes is None and features is None:
        return make_table(X, None, None, None, str(path), selection)
    if barcodes is None or features is None:
        there, missing = (features, "barcodes") if barcodes is None else (barcodes, "features")
        raise FileNotFoundError(
            f"{path} has {there.name if there else ''} beside it, but no {prefix}{missing}.tsv; "
            "add it, or move the matrix to a folder of its own."
        )
    samples = [row[0] for row in read_names(barcodes)]
    # The second column has the names that people know, where there is one.
    names = unique_names(row[1] if len(row) > 1 else row[0] for row in read_names(features))
    if X.shape == (len(names), len(samples)):
        X = X.T
    elif X.shape != (len(samples), len(names)):
        raise InputError(
            f"{path} has shape {X.shape}, but {barcodes.name} names {len(samples)} cells and "
            f"{features.name} names {len(names)} features; these files do not belong together."
        )
    return make_table(X, names, samples, None, str(path), selection)


def find_matrix(folder: Path) -> Path:
    """The only Matrix Market file of a folder."""
    found = sorted(p for pattern in ("*.mtx", "*.mtx.gz") for p in folder.glob(pattern))
    if not found:
        raise InputError(
            f"{folder} is a folder without a .mtx or .parquet file and is not a .zarr; "
            "pass a file, or a folder with matrix.mtx, barcodes.tsv and features.tsv."
        )
    if len(found) > 1:
        names = listed((repr(p.name) for p in found), 5)
        raise InputError(f"{folder} has {len(found)} matrices ({names}); pass one of the files.")
    return found[0]


def sibling(path: Path, prefix: str, kind: str) -> Path | None:
    """The file of names beside the matrix, if there is one."""
    for suffix in (".tsv", ".tsv.gz"):
        candidate = path.with_name(f"{prefix}{kind}{suffix}")
        if candidate.is_file():
            return candidate
    return None


def read_names(path: Path) -> list[list[str]]:
    """The cells of a file without header."""
    try:
        with opened(path) as text:
            return [row for _, row in text.records("\t")]
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}); copy it again.") from error


def read_matrix(path: Path) -> Any:
    """A sparse or dense matrix of real numbers, once its size is plausible."""
    try:
        rows, columns, entries, _, field, _ = mminfo(path)
        stored = path.stat().st_size
        largest = max(rows + 1, columns + 1, entries)
        check_stored([largest], BYTES_PER_ENTRY, stored, f"the header of {path}")
        if field == "complex":
            raise ValueError("it holds complex numbers")
        return mmread(path)
    except InputError:
        raise
    except (ValueError, OSError, EOFError, OverflowError, zlib.error) as error:
        raise InputError(
            f"{path} cannot be read as Matrix Market ({str(error).rstrip('. ')}); "
            "it is cut short, damaged or of another format."
        ) from error
