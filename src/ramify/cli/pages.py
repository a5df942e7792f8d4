"""The interactive report of a result."""

from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any

from ..io import Table
from ..report import write_report
from ..workflow import Workflow
from .inputs import with_columns
from .pictures import COMPUTED

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
    made: Workflow,
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
    made : Workflow
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
    shown = list(show)
    features: dict[str, Any] = {}
    if table is not None:
        if color in made.features and color not in COMPUTED:
            shown.append(color)
        values, names = with_columns(table, made, shown)
        features = {"features": values, "feature_names": names, "show": list(dict.fromkeys(shown))}
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
    >>> from ramify.cli.pages import page_facts
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
        facts["warnings"] = [text.replace(str(path), path.name) for text in facts["warnings"]]
    told = {k: v for k, v in given.items() if k not in {"path", "dropped"}}
    return facts | {"input": {"name": path.name, **told, "dropped": len(given["dropped"])}}


def without_features(error: Exception, run: dict[str, Any]) -> str:
    """A note for the reader of a page that has no features: the reason, without the path."""
    path = PurePath(run["input"]["path"])
    return f"Features are not in this page: {str(error).replace(str(path), path.name)}"
