"""`branchwise report`: an interactive page of a result."""

import argparse
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from .._messages import listed
from ..data.selection import expand, select
from ..data.table import Table
from ..pipeline import Pipeline
from ..report import read_report
from ..report.content import COMPUTED
from .console import Console, Failure, Usage
from .pages import default_colors, without_features, write_page
from .results import (
    REPORT,
    Result,
    check_file,
    input_table,
    load_pipeline,
    named_features,
    read_result,
    rooted,
)

# What a page computes of samples, besides.
OF_PAGE = (
    "density",
    "distance from the tree",
    "uncertainty",
    "misfit when held out",
    "p when held out",
)


def run(options: argparse.Namespace, console: Console) -> None:
    """Write the page."""
    result = read_result(options.result)
    out = Path(options.out) if options.out else result.folder / REPORT
    check_file(out, (".html",), force=options.force or options.out is None)
    made = load_pipeline(result.folder)
    path = rooted(made, result, options.root, options.root_at)
    made = replace(made, trajectory=path, is_rooted=made.is_rooted or options.root is not None)
    annotations = result.samples[result.annotations]
    wanted = list(options.feature)
    if options.color is not None:
        known = [*COMPUTED, *OF_PAGE, *annotations.columns, *made.features]
        colors = select(expand([options.color]), known, "color", str(result.folder))
        if len(colors) > 1:
            raise Usage(
                f"--color {options.color} fits {len(colors)} columns "
                f"({listed(map(repr, colors), 5)}), but a page opens with one; name that one."
            )
        [options.color] = colors
    if options.color in made.numbers and options.color not in {*COMPUTED, *annotations.columns}:
        wanted.append(options.color)
    table, notes = read_input(result, made, wanted)
    if table is not None:
        options.feature = named_features(table, options.feature)
    if table is None and out.exists() and not options.force:
        check_nothing_lost(out)
    write_page(
        out,
        made,
        result.run | ({} if options.root is None else {"root": options.root}),
        annotations,
        table,
        color=options.color or color_of(made, result, annotations),
        show=options.feature,
        title=options.title,
        notes=notes,
    )
    facts = {"out": str(out), "bytes": out.stat().st_size, "features": table is not None}
    console.result(facts, f"report written in {out}")


def read_input(result: Result, made: Pipeline, wanted: list[str]) -> tuple[Table | None, list[str]]:
    """The input, or why the page has no features; if some were asked for, that is an error."""
    try:
        return input_table(result, made), []
    except Failure as error:
        if wanted:
            told = listed(map(repr, dict.fromkeys(wanted)))
            raise Failure(f"the report cannot have {told}: {error}") from error
        warnings.warn(f"the report is without features: {error}", stacklevel=2)
        return None, [without_features(error, result.run)]


def check_nothing_lost(out: Path) -> None:
    """A page that has features is not replaced by one that has none."""
    try:
        columns = read_report(out)["columns"]
    except (ValueError, KeyError, TypeError):  # no page of ours, or a damaged one
        return
    if any(column.get("group") == "feature" for column in columns):
        raise Failure(
            f"{out} has features, and the page in its place would be without; put the input back, "
            "choose another -o, or add --force to replace it."
        )


def color_of(made: Pipeline, result: Result, annotations: Any) -> str:
    """The colour of the fit."""
    given = result.run.get("command", {}).get("color") or []
    return str((given or default_colors(made.is_rooted, annotations))[0])
