"""Models out of files."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeGuard

from ..data.dates import ORDERS
from ..pipeline import Pipeline
from ..placing.reference import axes_of
from ..preprocessing import Preparation
from .estimators import estimator_from_state
from .format import ModelFileError, Unsound, read_state
from .reference import reference_from_state
from .trajectory import trajectory_from_state


def pipeline_from_state(state: dict[str, Any]) -> Pipeline:
    """The pipeline of a model file, with every part of it checked."""
    features, reading, is_rooted = (state.get(key) for key in ("features", "reading", "is_rooted"))
    if (
        not isinstance(features, list)
        or not all(isinstance(name, str) for name in features)
        or len(set(features)) < len(features)
        or not is_reading(reading)
        or not isinstance(is_rooted, bool)
        or not isinstance(state.get("preparation"), dict)
        or not isinstance(state.get("trajectory"), dict)
    ):
        raise Unsound("holds a pipeline that is not as branchwise writes it")
    try:
        preparation = Preparation.from_state(state["preparation"])
    except (TypeError, ValueError) as error:
        raise Unsound(f"holds a pipeline whose preparation is damaged ({error})") from error
    trajectory = trajectory_from_state(state["trajectory"])
    n_given, model = len(features), trajectory.estimator_
    if (
        model is None
        or preparation.n_features_in_ != n_given
        or list(getattr(preparation, "feature_names_in_", features)) != features
        or model.n_features_in_ != len(preparation.get_feature_names_out())
    ):
        raise Unsound(f"holds a pipeline with {n_given} features, but its parts have others")
    axes, _ = axes_of(model, preparation.steps_.get("pca"))
    sizes = (*axes.shape, len(trajectory.view.points))
    reference = reference_from_state(state.get("reference"), sizes)
    return Pipeline(
        features, preparation, trajectory, is_rooted, reading, model.embedding_, reference
    )


# What is said of reading in words, and in lists of names.
WORDS = ("id", "sheet", "encoding", "use_rep", "layer")
LISTS = ("include", "exclude", "annotate", "features")


def is_reading(reading: Any) -> TypeGuard[dict[str, Any]]:
    """Whether it says how to read a table, and sends nobody to other files.

    Examples
    --------
    >>> from branchwise.persistence.loading import is_reading
    >>> is_reading({"id": "patient", "sheet": None}), is_reading({"id": "@/etc/hosts"})
    (True, False)
    >>> is_reading({"decimal": ","}), is_reading({"decimal": ";"})
    (True, False)
    """
    if not isinstance(reading, dict):
        return False
    words, orders = [reading.get(name) for name in WORDS], reading.get("date_order")
    by_column = list(orders.values()) if isinstance(orders, dict) else [orders]
    if not all(order in (None, *ORDERS) for order in by_column):
        return False
    if reading.get("decimal") not in (None, ".", ","):
        return False
    lists = [reading.get(name) or [] for name in LISTS]
    if not all(isinstance(names, list) for names in lists):
        return False
    names = [reading.get("id") or "", *(name for of in lists for name in of)]
    if not all(isinstance(word, str | None) for word in words):
        return False
    return all(isinstance(n, str) and not (n[:1] == "@" and n[:2] != "@@") for n in names)


# What a file may hold, and what makes it out of its state.
KINDS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "estimator": estimator_from_state,
    "trajectory": trajectory_from_state,
    "pipeline": pipeline_from_state,
}


# What `branchwise fit` calls the model in its folder.
MODEL = "model.branchwise"


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` has written.

    A file from a stranger can do no harm: it holds numbers and text, nothing in it is
    executed, and what it says is checked before it is used or memory is taken for it
    (docs/model-files.md). Files of all earlier versions of branchwise can be read.

    Parameters
    ----------
    path : str or path
        A file, or the folder of results that `branchwise fit` has written.

    Returns
    -------
    model : fitted SPL, DRTree or DDRTree, Trajectory, or Pipeline
        As it was saved; `branchwise fit` writes a `branchwise.pipeline.Pipeline`.

    Raises
    ------
    branchwise.persistence.format.ModelFileError
        If the file is not a model file, is damaged, says what cannot be, or was written by a later
        version of branchwise with another format.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import load_iris
    >>> import branchwise
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "iris.branchwise"
    >>> branchwise.SPL(n_neighbors=8).fit(load_iris().data).save(path)
    >>> branchwise.load(path)
    SPL(n_neighbors=8)
    """
    path = file_of_model(path)
    state = read_state(path)
    kind = state.get("kind")
    try:
        if not isinstance(kind, str) or kind not in KINDS:
            raise Unsound(f"holds a {str(kind)[:80]!r}, which is none of {', '.join(KINDS)}")
        return KINDS[kind](state)
    except Unsound as error:
        raise ModelFileError(f"{path} {error}; {error.remedy}.") from error


def file_of_model(path: str | os.PathLike[str]) -> Path:
    """The file that holds the model, also of a folder of results.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from branchwise.persistence.loading import file_of_model
    >>> file_of_model(tempfile.mkdtemp())
    Traceback (most recent call last):
    ...
    branchwise.persistence.format.ModelFileError: ... is a folder that holds no model.branchwise;
    pass a model file, or a folder that branchwise fit wrote.
    """
    path = Path(path)
    if not path.is_dir():
        return path
    if not (path / MODEL).exists():
        raise ModelFileError(
            f"{path} is a folder that holds no {MODEL}; pass a model file, or a folder that "
            "branchwise fit wrote."
        )
    return path / MODEL
