"""The interactive report of a result."""

from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any

from ..data.table import Table
from ..pipeline import Pipeline
from ..report import write_report
from .inputs import with_columns

# How the warning of a fit begins whose page could not be made; a page that is there does not tell.
NO_PAGE = "the report could not be made"

# Options that are paths.
PATHS = ("input", "out", "checkpoint")

# What the page tells of the record in run.json. The rest is for those who have the folder.
FACTS = (
    "method",
    "parameters",
    "fitted",
    "seed",
    "preparation",
    "n_components",
    "objective",
    "n_iter",
    "converged",
    "optimality_gap",
    "graph",
    "root",
    "versions",
    "seconds",
    "warnings",
    "started",
)


def write_page(
    out: Path,
    made: Pipeline,
    run: dict[str, Any],
    annotations: Any,
    table: Table | None,
    *,
    color: str,
    show: Sequence[str] = (),
    title: str | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Write the page of a result.

    Parameters
    ----------
    out : Path
    made : Pipeline
    run : dict
        The record of the fit.
    annotations : DataFrame
        By sample, with their names.
    table : Table or None
        The input, the same samples in the same order; None if it is not at hand.
    color : str
    show : sequence of str
        Columns of numbers to have among the features.
    """
    features: dict[str, Any] = {}
    if table is not None:
        values, names = with_columns(table, made, list(show))
        features = {"features": values, "feature_names": names, "show": show}
        # A feature that was asked for as a colour is in the table of results, too.
        annotations = annotations.drop(columns=[n for n in annotations.columns if n in names])
    write_report(
        out,
        made,
        names=annotations.index,
        annotations=annotations,
        color=color,
        title=PurePath(run["input"]["path"]).name if title is None else title,
        facts=page_facts(run),
        notes=notes,
        **features,
    )


def page_facts(run: dict[str, Any]) -> dict[str, Any]:
    """What the page tells of a run: it is mailed, and says nothing of the machine it was made on.

    Examples
    --------
    >>> from branchwise.cli.pages import page_facts
    >>> given = {"path": "/home/me/patients.csv", "n_samples": 9, "dropped": ["P1"]}
    >>> page_facts({"method": "DDRTree", "platform": "Linux", "input": given})
    {'method': 'DDRTree', 'input': {'name': 'patients.csv', 'n_samples': 9, 'dropped': 1}}
    """
    facts = {name: run[name] for name in FACTS if run.get(name) is not None}
    given = run["input"]
    path = PurePath(given["path"])
    if "parameters" in facts:
        facts["parameters"] = {k: v for k, v in facts["parameters"].items() if k != "checkpoint"}
    if "warnings" in facts:
        told = [text for text in facts["warnings"] if not text.startswith(NO_PAGE)]
        facts["warnings"] = [without_paths(text, run) for text in told]
    rest = {k: v for k, v in given.items() if k not in {"path", "dropped"}}
    return facts | {"input": {"name": path.name, **rest, "dropped": len(given["dropped"])}}


def without_features(error: Exception, run: dict[str, Any]) -> str:
    """A note for the reader of a page that has no features: the reason, without the path."""
    return f"Features are not in this page: {without_paths(str(error), run)}"


def without_paths(text: str, run: dict[str, Any]) -> str:
    """A text in which files and folders of the command are called by their names alone.

    Examples
    --------
    >>> from branchwise.cli.pages import without_paths
    >>> run = {"input": {"path": "/home/me/patients.csv"}, "command": {"out": "/home/me/out"}}
    >>> without_paths("/home/me/patients.csv has gaps", run)
    'patients.csv has gaps'
    """
    command = run.get("command", {})
    given = [run["input"]["path"], *(command[name] for name in PATHS if command.get(name))]
    for path in (path for name in given for path in (Path(name).absolute(), PurePath(name))):
        text = text.replace(str(path), path.name) if path.name else text
    return text
