"""The paper's sets that OpenML keeps."""

import importlib.util
import warnings
from typing import Any

import numpy as np

from .catalog import Entry, Remote
from .npz import Stored


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
    >>> from branchwise_paper.datasets.openml import as_labels
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
