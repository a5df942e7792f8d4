"""What every fetcher returns: samples scaled and labelled as the paper had them."""

from typing import Any, NamedTuple

import numpy as np

from branchwise._typing import Floats, Ints
from branchwise.data.table import InputError

from .catalog import Entry, Remote
from .npz import Stored

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
