"""Models out of files."""

import os
from collections.abc import Callable
from typing import Any

from .estimators._files import estimator_from_state
from .io import ModelFileError, Unsound, read_state
from .trajectory.state import trajectory_from_state
from .workflow import workflow_from_state

# What a file may hold, and what makes it out of its state.
KINDS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "estimator": estimator_from_state,
    "trajectory": trajectory_from_state,
    "workflow": workflow_from_state,
}


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` has written.

    A file from a stranger can do no harm: it holds numbers and text, nothing in it is
    executed, and what it says is checked before it is used or memory is taken for it
    (docs/model-files.md). Files of all earlier versions of ramify can be read.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    model : fitted SPL, DRTree or DDRTree, Trajectory, or Workflow
        As it was saved; `ramify fit` writes a `ramify.workflow.Workflow`.

    Raises
    ------
    ramify.io.ModelFileError
        If the file is no model file, is damaged, says what cannot be, or was written by a later
        version of ramify with another format.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import load_iris
    >>> import ramify
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "iris.ramify"
    >>> ramify.SPL(n_neighbors=8).fit(load_iris().data).save(path)
    >>> ramify.load(path)
    SPL(n_neighbors=8)
    """
    state = read_state(path)
    kind = state.get("kind")
    try:
        if not isinstance(kind, str) or kind not in KINDS:
            raise Unsound(f"holds a {str(kind)[:80]!r}, which is none of {', '.join(KINDS)}")
        return KINDS[kind](state)
    except Unsound as error:
        raise ModelFileError(f"{path} {error}; {error.remedy}.") from error
