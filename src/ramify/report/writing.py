"""The report of a result, as text or as a file."""

import os
from inspect import signature
from typing import Any

from ..chunks import check_not_chunked
from ..io import replacing_bytes
from ..trajectory import Trajectory
from .columns import row_names
from .content import report_state
from .page import render


def report_html(result: Any, **options: Any) -> str:
    """The report as text.

    Parameters
    ----------
    result : Trajectory or Workflow
    **options
        As for `write_report`.

    Returns
    -------
    html : str

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.report import report_html
    >>> from ramify.trajectory import Trajectory
    >>> report_html(Trajectory([[0, 1]], np.array([[0.0], [4.0]])), title="A path")[:15]
    '<!doctype html>'
    """
    return render(report_state(result, **options))


def write_report(path: str | os.PathLike[str], result: Any, **options: Any) -> None:
    """Write an interactive page about a result: one file that works without a network.

    Parameters
    ----------
    path : str or path
        By custom it ends in ".html". It is written whole or not at all, and replaced if it exists.
    result : Trajectory or Workflow
        A workflow (what `ramify fit` saves and `ramify.load` reads) brings its preparation along.
    features : array, sparse matrix or DataFrame of shape (n_samples, n_features), optional
        Values to colour by and to draw along the branches, before the preparation. They are in the
        page as numbers: mail it only to those who may see them. An index with names of
        samples has to agree.
    feature_names : sequence of str, optional
        By default the columns of a DataFrame, or x0, x1, …
    show : sequence of str, optional
        Features to have in the page besides the 60 that change most along the tree.
    annotations : DataFrame, Series or dict of columns, optional
        What else is known of the samples, one row for each: numbers, categories, dates.
    names : sequence of length n_samples, optional
        Names of the samples; by default those of the trajectory, which model files do not hold, or
        the index of ``annotations``.
    preparation : Preparation, optional
        What was done to ``features`` before the fit, so that the page can place new samples from
        a table of such features. Columns that it adjusts for are looked for in ``annotations``. A
        workflow has its own.
    color : str, optional
        The column to colour by at first, also one that is computed: "pseudotime", "branch",
        "density", …
    title : str, optional
    facts : dict, optional
        What to tell of the run besides parameters and outcome: text, numbers, lists, dicts.
    notes : str or sequence of str, optional
        Sentences for the reader of the page.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from ramify import DDRTree
    >>> from ramify.report import write_report
    >>> from ramify.trajectory import Trajectory
    >>> data = load_iris(as_frame=True)
    >>> flowers = Trajectory.from_estimator(DDRTree(random_state=0).fit(data.data))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "iris.html"
    >>> write_report(path, flowers, features=data.data, annotations=data.target, color="target")
    >>> path.read_text(encoding="utf-8").count("</html>")
    1
    """
    html = report_html(result, **options)
    with replacing_bytes(path) as file:
        file.write(html.encode("utf-8"))


def estimator_html(
    model: Any, path: Any, *, X: Any, names: Any, root: Any, **options: Any
) -> str | None:
    """The report of a fitted estimator (see its `to_html`)."""
    for name, table in (("X", X), ("annotations", options["annotations"])):
        check_not_chunked(table, name)
        names = row_names(table, len(model.embedding_)) if names is None else names
    found = Trajectory.from_estimator(model, names=names, n_jobs=model.n_jobs)
    if root is not None:
        root = root if isinstance(root, dict) else {"node": root}
        known = list(signature(found.rooted).parameters)
        unknown = [key for key in root if key not in known]
        if unknown:
            raise ValueError(
                f"root has the key {unknown[0]!r}, but its keys are arguments of "
                f"Trajectory.rooted: {', '.join(known)}; use these."
            )
        found = found.rooted(**root)
    return written(path, found, features=X, **options)


def written(path: Any, result: Any, **options: Any) -> str | None:
    """The report as text, or None once it is in a file."""
    if path is None:
        return report_html(result, **options)
    write_report(path, result, **options)
    return None
