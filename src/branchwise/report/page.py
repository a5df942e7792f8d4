"""The page of a result: its HTML, as text or as a file."""

import base64
import hashlib
import os
import re
from collections.abc import Mapping
from html import escape
from importlib import resources
from inspect import signature
from typing import Any

from .._writing import replacing_bytes
from ..data.dask import check_not_dask
from ..trajectory import Trajectory
from .columns import row_names
from .content import report_state
from .encoding import encode


def report_html(result: Any, **options: Any) -> str:
    """The report as text.

    Parameters
    ----------
    result : Trajectory or Pipeline
    **options
        As for `write_report`.

    Returns
    -------
    html : str

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.report import report_html
    >>> from branchwise.trajectory import Trajectory
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
    result : Trajectory or Pipeline
        A pipeline (what `branchwise fit` saves and `branchwise.load` reads) brings its
        preparation along.
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
        pipeline has its own.
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
    >>> from branchwise import DDRTree
    >>> from branchwise.report import write_report
    >>> from branchwise.trajectory import Trajectory
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


def estimator_to_html(
    model: Any, path: Any, *, X: Any, names: Any, root: Any, **options: Any
) -> str | None:
    """The report of a fitted estimator (see its `to_html`)."""
    for name, table in (("X", X), ("annotations", options["annotations"])):
        check_not_dask(table, name)
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
    return to_html(path, found, features=X, **options)


def to_html(path: Any, result: Any, **options: Any) -> str | None:
    """The report as text, or None once it is in a file."""
    if path is None:
        return report_html(result, **options)
    write_report(path, result, **options)
    return None


# What may not stand within the tags: it would end them, or keep them from ending.
ENDS = {"report.js": re.compile(r"</script|<!--", re.I), "report.css": re.compile(r"</style", re.I)}
# What HTML has no place for in text: control characters, halves of surrogate pairs.
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
# The page may run and look as it was built, make pictures, and do nothing else: no server is asked.
POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src blob: data:; "
    "base-uri 'none'; form-action 'none'"
)
PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>This page is a program that draws an interactive report: allow JavaScript for this \
file, and load it again.</noscript>
<div id="app"></div>
<script type="application/octet-stream" id="branchwise-data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def render(state: Mapping[str, Any]) -> str:
    """The HTML of a page.

    Parameters
    ----------
    state : dict
        What `branchwise.report.content.report_state` returns.

    Returns
    -------
    html : str
    """
    style, script = read_static("report.css"), read_static("report.js")
    policy = POLICY.format(script=digest(script), style=digest(style))
    return PAGE.format(
        policy=escape(policy, quote=False),  # it has single quotes, and stands in double ones
        title=escape(visible(str(state["title"]))),
        style=style,
        data=encode(state),
        script=script,
    )


def read_static(name: str) -> str:
    """The program or the style of the page, as it was built."""
    try:
        text = resources.files(__package__).joinpath("static", name).read_text("utf-8")
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"static/{name}, a part of every report, is not in this installation of branchwise; in "
            "a clone, build it as CONTRIBUTING.md says, or else install branchwise again."
        ) from error
    # A browser reads every end of line as this one, and takes the hash of what it has read.
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    wrong = ENDS[name].search(text)
    if wrong is not None or "\0" in text:
        what = "a NUL character" if wrong is None else repr(wrong[0])
        raise ValueError(
            f"static/{name} holds {what}, which cannot stand in a page; build it again without."
        )
    return text


def digest(text: str) -> str:
    """The hash by which a browser knows what it may run.

    Examples
    --------
    >>> from branchwise.report.page import digest
    >>> digest("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    hashed = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(hashed).decode('ascii')}"


def visible(text: str) -> str:
    r"""Text without what cannot be seen.

    Examples
    --------
    >>> from branchwise.report.page import visible
    >>> visible("two\nlines\0")
    'two lines�'
    """
    return UNSEEN.sub("\ufffd", " ".join(text.split()))
