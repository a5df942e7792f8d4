"""One data set: read from a file or from OpenML, then scaled and labelled as the paper had it."""

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from branchwise._typing import Floats, Ints
from branchwise.data.table import InputError
from branchwise.io.npy import as_text, opened_npz

from .catalog import Entry, Remote

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
    >>> from branchwise_paper.datasets.dataset import read_arrays
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


class Unavailable(Exception):
    """Why a download did not work, to be put into a longer sentence."""


def download(entry: Entry, remote: Remote, data_home: Any = None) -> Stored:
    """Fetch a set of OpenML, or take it from scikit-learn's cache.

    Raises Unavailable without a connection, and where the download is not of the size for which it
    is known which rows the paper used.
    """
    bunch = _ask(remote, data_home)
    X = np.asarray(bunch.data, dtype=np.float64)
    y = as_labels([] if bunch.target is None else bunch.target)
    if X.shape not in [(n, entry.shape[1]) for n in remote.n_rows] or y.shape != (len(X),):
        raise Unavailable(
            f"OpenML's data set {remote.data_id} has {len(y)} labels and X of shape {X.shape}, but "
            f"{remote.n_rows[0]} samples of {entry.shape[1]} features were expected, so that it is "
            "not known which of them the paper used"
        )
    return Stored(X, False, y, f"OpenML {remote.data_id}; {entry.licence}.", "real", {})


def as_labels(target: Any) -> Any:
    """Labels without the quotes of ARFF files, and as integers if they are.

    Examples
    --------
    >>> from branchwise_paper.datasets.dataset import as_labels
    >>> as_labels(["'1'", "'2'"]), as_labels(["van", "bus"])
    (array([1, 2]), array(['van', 'bus'], dtype='<U3'))
    """
    words = np.array([str(value).strip("'\" ") for value in target])
    try:
        return words.astype(np.int64)
    except ValueError:
        return words


def _ask(remote: Remote, data_home: Any) -> Any:
    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            # It says so before each new try; what counts is whether the last one works.
            warnings.filterwarnings("ignore", message="A network error occurred")
            return fetch_openml(
                data_id=remote.data_id,
                data_home=data_home,
                as_frame=False,
                parser="pandas",
                n_retries=1,
            )
    except OSError as error:  # URLError and time-outs are among these
        reason = str(getattr(error, "reason", error)) or type(error).__name__
        raise Unavailable(f"there is no connection to OpenML ({reason})") from error
    except ValueError as error:
        reason = str(error).split("\n")[0].rstrip(". ")
        raise Unavailable(f"OpenML did not send what was asked for ({reason})") from error


# Pixels above this are of the range 0 to 255; other ranges in use end at 1 or 2.
MOST_UNSCALED_PIXEL = 16


class DatasetNotFound(ValueError):
    """A data set that is not there: where it was looked for, and what to do.

    Examples
    --------
    >>> from branchwise_paper.datasets import DatasetNotFound, fetch
    >>> try:
    ...     fetch("no such set", data_dir=".")
    ... except DatasetNotFound:
    ...     print("not there")
    not there
    """


class Dataset(NamedTuple):
    """Points of a data set, scaled as the paper had them, and what is known about them.

    Attributes
    ----------
    name : str
        The key, such as "iris"; the file's stem if the paper does not have the set.
    title : str
        The paper's name for it; the file's stem if it has none.
    X : ndarray of float64 of shape (n_samples, n_features)
        The samples.
    y : ndarray of shape (n_samples,) or None
        Their labels.
    n_components : int or None
        The paper's d.
    kind : {"real", "simulated", "stand-in"}
        What the data are: measured, simulated, or in the place of what could not be had.
    source : str
        Where they are from, under which licence, and how they differ from the paper's.
    extras : dict
        The file's other arrays, by name.

    Examples
    --------
    >>> from branchwise_paper.datasets import fetch_iris
    >>> iris = fetch_iris()
    >>> iris.title, iris.X.shape, iris.n_components, iris.kind
    ('Iris', (150, 4), 2, 'real')
    """

    name: str
    title: str
    X: Floats
    y: Any
    n_components: int | None
    kind: str
    source: str
    extras: dict[str, Any]


def part_rows(remote: Remote, n_rows: int) -> Ints:
    """Numbers of the rows that the paper used.

    Examples
    --------
    >>> from branchwise_paper.datasets.catalog import Remote
    >>> from branchwise_paper.datasets.dataset import part_rows
    >>> part_rows(Remote(1, (7,), first=2, last=1), 7)
    array([0, 1, 6])
    """
    rows = np.arange(n_rows)
    return np.concatenate([rows[: remote.first], rows[n_rows - remote.last :]])


def take_part(entry: Entry, stored: Stored) -> Stored:
    """The rows that the paper used, if these are all rows of the original.

    Where classes are not as frequent in them as they should be, the original is in another order
    and the rows are not the paper's: a stand-in, and the source says so.
    """
    remote, n_rows = entry.remote, len(stored.X)
    if remote is None or n_rows not in remote.n_rows or n_rows == entry.shape[0]:
        return stored
    chosen = part_rows(remote, n_rows)
    extras = {
        name: values[chosen] if values.shape[:1] == (n_rows,) else values
        for name, values in stored.extras.items()
    }
    y = None if stored.y is None else stored.y[chosen]
    source = f"{stored.source.rstrip('. ')} (the paper's {len(chosen)} of {n_rows} rows)."
    kind = stored.kind
    labels: Any = extras.get("y26", y)
    found = () if labels is None else np.unique(labels, return_counts=True)[1]
    # Another number of classes is another way to label the same rows, and tells nothing.
    if len(found) == len(remote.counts) and tuple(sorted(found)) != remote.counts:
        source = (
            f"{stored.source.rstrip('. ')} ({len(chosen)} of {n_rows} rows, which are in another "
            "order than the original's, so that these are not the paper's)."
        )
        kind = "stand-in"
    return stored._replace(X=stored.X[chosen], y=y, source=source, kind=kind, extras=extras)


def as_in_paper(entry: Entry, stored: Stored, where: str) -> Dataset:
    """The paper's rows, scaled, with its classes, and with what differs from its set."""
    stored = take_part(entry, stored._replace(source=stored.source or f"{where}; {entry.licence}."))
    y, extras = stored.y, stored.extras
    if entry.key == "isolet":
        y, extras = two_classes(y, extras, where)
    X = stored.X if stored.is_scaled else rescale(stored.X, entry.scaling)
    source = stored.source
    if X.shape != entry.shape:
        source = source.rstrip(". ") + (
            f". Here {X.shape[0]} samples × {X.shape[1]} features, of the paper's "
            f"{entry.shape[0]} × {entry.shape[1]}."
        )
    kind = stored.kind or ("simulated" if entry.make is not None else "real")
    return Dataset(entry.key, entry.title, X, y, entry.n_components, kind, source, extras)


def rescale(X: Floats, scaling: str) -> Floats:
    """Samples as the paper had them.

    "features": each feature to [−1, 1], a constant one to 0. "pixels": 0–255 to [0, 1]; "signed
    pixels": 0–255 to [−1, 1]; both leave other ranges alone. "as it is": nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.datasets.dataset import rescale
    >>> rescale(np.array([[1.0, 7.0], [2.0, 7.0], [5.0, 7.0]]), "features")
    array([[-1. ,  0. ], [-0.5,  0. ], [ 1. ,  0. ]])
    """
    if scaling == "features":
        low, high = X.min(axis=0), X.max(axis=0)
        # Halves, because the range of large numbers could overflow; both ends are exact.
        half = high / 2 - low / 2
        middle = np.full_like(X, 0.5)
        return 2 * np.divide(X / 2 - low / 2, half, out=middle, where=half > 0) - 1
    is_bytes = X.min() >= 0 and MOST_UNSCALED_PIXEL < X.max() <= 255
    if scaling == "pixels" and is_bytes:
        return X / 255
    if scaling == "signed pixels" and is_bytes:
        return X / 127.5 - 1
    return X


def two_classes(y: Any, extras: dict[str, Any], where: str) -> tuple[Any, dict[str, Any]]:
    """Isolet's A–M (0) against N–Z (1), if y is not two classes yet, and the letters as numbers."""
    has_two = y is not None and len(np.unique(y)) <= 2
    letters = extras.get("y26", None if has_two else y)
    if letters is None:
        return y, extras
    numbers = letter_numbers(letters)
    if numbers is None:
        raise InputError(
            f"{where} holds labels that are neither two classes nor the letters A to Z nor 1 to "
            "26; save y as one of these, and y26, if any, as letters."
        )
    return (y if has_two else (numbers > 13).astype(np.int64)), {**extras, "y26": numbers}


def letter_numbers(letters: Any) -> Ints | None:
    """1 for A to 26 for Z, from letters or numbers, which may count from 0; None from others.

    Examples
    --------
    >>> from branchwise_paper.datasets.dataset import letter_numbers
    >>> letter_numbers(["a", "B", "z"]), letter_numbers([0, 25]), letter_numbers(["ab"])
    (array([ 1,  2, 26]), array([ 1, 26]), None)
    """
    words = [str(letter).upper() for letter in letters]
    if all(len(word) == 1 and "A" <= word <= "Z" for word in words):
        return np.array([ord(word) - ord("A") + 1 for word in words])
    try:
        numbers = np.asarray(letters).astype(np.float64)
    except ValueError:
        return None
    numbers = numbers + (numbers.min() == 0)
    return numbers.astype(np.int64) if np.isin(numbers, np.arange(1, 27)).all() else None
