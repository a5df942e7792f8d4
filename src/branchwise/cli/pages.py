"""The pictures and the interactive page of a result."""

from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from .._compat import import_pandas
from .._writing import replacing_bytes
from ..data.table import Table
from ..pipeline import Pipeline
from ..plotting import plot_embedding, plot_layout
from ..plotting.embedding import embedding_panels, name_axes_once
from ..plotting.layout import layout_height
from ..report import write_report
from ..report.content import COMPUTED
from ..report.facts import root_names
from ..trajectory import Trajectory
from .results import with_columns

PANEL = (6.5, 5.0)
DPI = 150
# More categories than this are rather names than groups.
MAX_CATEGORIES = 12
# What pandas calls columns that may be groups; dates and lists are none.
GROUPS = {"string", "categorical", "boolean", "integer", "floating"}

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
    "objective",
    "n_iter",
    "converged",
    "optimality_gap",
    "preparation",
    "graph",
    "root",
    "versions",
    "n_components",
    "seconds",
    "warnings",
    "started",
)


def default_colors(is_rooted: bool, annotations: Any) -> list[str]:
    """What to colour by when nobody said: time, or the first annotation with few categories.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.cli.pages import default_colors
    >>> default_colors(False, pd.DataFrame({"note": ["a", "a"], "sex": ["f", "m"]}))
    ['sex']
    """
    if is_rooted:
        return ["pseudotime", "branch"]
    kind_of = import_pandas().api.types.infer_dtype
    for name, values in annotations.items():
        if kind_of(values) in GROUPS and 2 <= values.nunique() <= MAX_CATEGORIES:
            return [name]
    return ["branch"]


def colored_panels(
    kind: str,
    path: Trajectory,
    samples: Any,
    colors: Sequence[str],
    *,
    dims: int = 2,
    view: str = "auto",
) -> Any:
    """A figure with one row for each column, or for the pseudotime or branch of the path.

    Parameters
    ----------
    kind : {"embedding", "layout"}
    path : Trajectory
    samples : DataFrame
        One row for each sample.
    colors : sequence of str
        Columns of it, "pseudotime" or "branch".
    dims, view
        As for `plot_embedding`.
    """
    # One component gives no plane to draw in, but a tree.
    is_embedding = kind == "embedding" and path.nodes_.shape[1] > 1
    figure = Figure(layout="constrained")
    if is_embedding and dims == 2:
        axes = embedding_panels(path, len(colors), view=view, figure=figure)
    else:
        height = PANEL[1] if is_embedding else layout_height(path)
        figure.set_size_inches(PANEL[0] + 1.0, height * len(colors))
        projection = {"projection": "3d", "computed_zorder": False} if is_embedding else {}
        axes = figure.subplots(len(colors), 1, squeeze=False, subplot_kw=projection)
    for row, name in zip(axes, colors, strict=True):
        color = name if name in COMPUTED else samples[name].to_numpy()
        label = name
        if not isinstance(color, str) and color.dtype.kind == "M":
            first = np.nanmin(color).astype("datetime64[D]")
            color, label = (color - first) / np.timedelta64(1, "D"), f"{name} (days since {first})"
        elif not isinstance(color, str) and is_flag(color):
            color = samples[name].map({0: "0", 1: "1"}).to_numpy(dtype=object)
        if is_embedding:
            where = row if len(row) > 1 else row[0]
            plot_embedding(path, color=color, color_name=label, dims=dims, view=view, ax=where)
        else:
            plot_layout(path, color=color, color_name=label, ax=row[0])
    if dims == 2:
        name_axes_once(axes)
    return figure


def is_flag(values: Any) -> bool:
    """Whether numbers are 0, 1 and missing ones: two groups, such as alive and dead.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.cli.pages import is_flag
    >>> is_flag(np.array([1.0, np.nan, 0.0])), is_flag(np.array([0, 1, 2]))
    (True, False)
    """
    if values.dtype.kind not in "iuf":
        return False
    known = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return len(known) > 0 and bool(np.isin(known, (0, 1)).all())


def save_figure(figure: Any, files: Sequence[Path], dpi: int = DPI) -> None:
    """Write a figure, whole or not at all, without the date: the same result, the same file."""
    with matplotlib.rc_context({"svg.hashsalt": "branchwise"}):
        for path in files:
            kind = path.suffix[1:]
            undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
            with replacing_bytes(path) as file:
                figure.savefig(file, format=kind, dpi=dpi, metadata=undated.get(kind))


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
    if run.get("root") is None:
        run = run | {"root": root_names(made.trajectory)}
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
