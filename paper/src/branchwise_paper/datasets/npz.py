"""Data sets in files of NumPy, also of strangers: read without pickle, and checked."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from branchwise._typing import Floats
from branchwise.data.table import InputError
from branchwise.io.npy import as_text, opened_npz

KINDS = ("real", "simulated", "stand-in")


class Stored(NamedTuple):
    """The arrays of a file."""

    X: Floats
    is_scaled: bool  # whether X is the file's Xs
    y: Any  # labels or None
    source: str
    kind: str  # or "" if the file does not tell
    extras: dict[str, Any]


def read_arrays(path: Path) -> Stored:
    """Read X (or Xs, if it is there), labels, source and all other arrays of a file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from branchwise_paper.datasets.npz import read_arrays
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "mine.npz"
    >>> np.savez(path, X=np.eye(3), y=[0, 0, 1], t=[1.0, 2.0, 3.0])
    >>> stored = read_arrays(path)
    >>> stored.y, list(stored.extras)
    (array([0, 0, 1]), ['t'])
    """
    with opened_npz(path) as file:
        arrays = {name: as_text(file[name]) for name in file.files}
    if "X" not in arrays:
        held = f"no array X, only {', '.join(map(repr, arrays))}" if arrays else "no array at all"
        raise InputError(f"{path} holds {held}; save samples × features as X.")
    X = check_matrix(path, "X", arrays.pop("X"))
    scaled = arrays.pop("Xs", None)
    if scaled is not None:
        scaled = check_matrix(path, "Xs", scaled)
        if scaled.shape != X.shape:
            raise InputError(
                f"{path} holds Xs of shape {scaled.shape}, but X of shape {X.shape}; Xs has to be "
                "X, only scaled: save it anew, or leave it out."
            )
    y = arrays.pop("y", None)
    kind = _text(arrays, "kind")
    return Stored(
        X=X if scaled is None else scaled,
        is_scaled=scaled is not None,
        y=None if y is None else check_labels(path, y, len(X)),
        source=_text(arrays, "source"),
        kind=kind if kind in KINDS else "",
        extras=arrays,
    )


def check_matrix(path: Path, name: str, values: Any) -> Floats:
    """Samples × features, as float64, all finite."""
    if values.ndim != 2 or 0 in values.shape:
        raise InputError(
            f"{path} holds {name} of shape {values.shape}, but it must be samples × features, at "
            "least one of each; reshape it, images to rows."
        )
    if values.dtype.kind not in "biuf":
        raise InputError(
            f"{path} holds {name} of type {values.dtype}, but it must be real numbers; save them "
            "as float64."
        )
    with np.errstate(over="ignore"):  # what is too large for float64 becomes infinite
        X = values.astype(np.float64)
    n_wrong = X.size - int(np.isfinite(X).sum())
    if n_wrong:
        raise InputError(
            f"{path} holds {n_wrong} values in {name} that are NaN or infinite; fill them in or "
            "leave those samples out."
        )
    return X


def check_labels(path: Path, y: Any, n_samples: int, name: str = "y") -> Any:
    """One label for each sample; a row or column of them, as MATLAB saves it, will do."""
    if y.ndim == 2 and 1 in y.shape:
        y = y.ravel()
    if y.shape != (n_samples,):
        raise InputError(
            f"{path} holds labels {name} of shape {y.shape}, but X has {n_samples} samples; save "
            "one label for each."
        )
    if y.dtype.kind not in "biufU":
        raise InputError(
            f"{path} holds labels {name} of type {y.dtype}, but they must be numbers or text; save "
            "them as one of these."
        )
    if y.dtype.kind == "f" and np.isnan(y).any():
        raise InputError(f"{path} holds labels {name} that are NaN; give each sample a label.")
    return y


def _text(arrays: dict[str, Any], name: str) -> str:
    """A text that is stored beside the arrays; other things of that name stay among them."""
    if name in arrays and arrays[name].ndim == 0 and arrays[name].dtype.kind == "U":
        return str(arrays.pop(name)).strip()
    return ""
