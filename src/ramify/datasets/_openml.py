"""The paper's sets that OpenML keeps, cut to the rows that the paper used."""

import importlib.util
import warnings
from typing import Any, NamedTuple

import numpy as np

from .._typing import Floats
from ._catalog import Entry, Remote


class Unavailable(Exception):
    """Why a download did not work, to be put into a longer sentence."""


class Download(NamedTuple):
    """Rows of OpenML."""

    X: Floats
    y: Any
    is_paper_part: bool  # False: classes are not as frequent as in the paper's rows


def download_part(entry: Entry, remote: Remote, data_home: Any = None) -> Download:
    """Fetch a set of OpenML (or take it from scikit-learn's cache) and cut it.

    Raises Unavailable without a connection, and where the download is not of the size that the
    cut was written for.
    """
    bunch = _ask(remote, data_home)
    X = np.asarray(bunch.data, dtype=np.float64)
    y = as_labels(bunch.target)
    if len(X) not in remote.n_rows or X.shape[1:] != entry.shape[1:] or y.shape != (len(X),):
        raise Unavailable(
            f"OpenML's data set {remote.data_id} has {len(X)} rows of "
            f"{X.shape[1] if X.ndim == 2 else 0} features, not {remote.n_rows[0]} of "
            f"{entry.shape[1]}, so that it is not known which of them the paper used"
        )
    chosen = part_rows(remote, len(X))
    X, y = X[chosen], y[chosen]
    found = tuple(sorted(np.unique(y, return_counts=True)[1].tolist()))
    return Download(X, y, not remote.counts or found == remote.counts)


def part_rows(remote: Remote, n_rows: int) -> Any:
    """Numbers of the rows that the paper used.

    Examples
    --------
    >>> from ramify.datasets._catalog import Remote
    >>> from ramify.datasets._openml import part_rows
    >>> part_rows(Remote(1, (7,), first=2, last=1), 7)
    array([0, 1, 6])
    >>> part_rows(Remote(1, (3,)), 3)
    array([0, 1, 2])
    """
    rows = np.arange(n_rows)
    if remote.first == remote.last == 0:
        return rows
    return np.concatenate([rows[: remote.first], rows[n_rows - remote.last :]])


def as_labels(target: Any) -> Any:
    """Labels without the quotes of ARFF files, and as integers if they are.

    Examples
    --------
    >>> from ramify.datasets._openml import as_labels
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

    # The parser of pandas is faster, but pandas may not be there.
    parser = "pandas" if importlib.util.find_spec("pandas") else "liac-arff"
    try:
        with warnings.catch_warnings():
            # It says so before each new try; what counts is whether the last one works.
            warnings.filterwarnings("ignore", message="A network error occurred")
            return fetch_openml(
                data_id=remote.data_id,
                data_home=data_home,
                as_frame=False,
                parser=parser,
                n_retries=1,
            )
    except OSError as error:  # URLError and time-outs are among these
        reason = str(getattr(error, "reason", error)) or type(error).__name__
        raise Unavailable(f"there is no connection to OpenML ({reason})") from error
    except ValueError as error:
        reason = str(error).split("\n")[0].rstrip(". ")
        raise Unavailable(f"OpenML did not send what was asked for ({reason})") from error
