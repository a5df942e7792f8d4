"""`branchwise plot`: pictures of a result."""

import argparse
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from ..data.selection import expand, select_in_turn
from ..pipeline import Pipeline
from ..plotting import (
    heatmap,
    plot_adjacency,
    plot_branch_graph,
    plot_convergence,
    plot_heatmap,
    plot_trends,
    plot_uncertainty,
    trends,
)
from ..report.content import COMPUTED
from ..trajectory import Trajectory
from ..trajectory.branches import importance
from ..trajectory.lineage import lineage_to
from .console import Console, Usage
from .pages import PANEL, colored_panels, save_figure
from .request import separated
from .results import (
    PICTURE_ENDINGS,
    Result,
    check_file,
    feature_values,
    input_table,
    load_pipeline,
    named_features,
    read_result,
    rooted,
)

LEAST_DPI, MOST_DPI = 10, 2400
# Features to draw when none are named: those that change most along the tree.
MOST_FEATURES = {"trends": 4, "heatmap": 30}
# Ways from the root that a heat map draws side by side.
MOST_WAYS = 4


def run(options: argparse.Namespace, console: Console) -> None:
    """Draw what is asked for into a file."""
    result = read_result(options.result)
    out = Path(options.out) if options.out else result.folder / f"{options.kind}.png"
    check_file(out, PICTURE_ENDINGS, force=options.force or options.out is None)
    if not LEAST_DPI <= options.dpi <= MOST_DPI:
        raise Usage(f"--dpi {options.dpi} must be from {LEAST_DPI} to {MOST_DPI}.")
    if options.dims == 3 and options.view in {"flat", "both"}:
        raise Usage(
            f"--view {options.view} draws in two dimensions; leave out --dims 3, or take "
            "--view axes."
        )
    made = load_pipeline(result.folder)
    path = rooted(made, result, options.root, options.root_at)
    known = [*COMPUTED, *result.samples.columns]
    source = str(result.folder / result.run["files"]["samples"])
    colors = separated(expand(options.color), set(known))
    options.color = select_in_turn(colors, known, "color", source)
    figure = draw(options, result, made, path)
    save_figure(figure, [out], options.dpi)
    console.result({"out": str(out), "kind": options.kind}, f"{options.kind} drawn in {out}")


def draw(options: argparse.Namespace, result: Result, made: Pipeline, path: Trajectory) -> Any:
    """The figure of one kind."""
    kind, samples = options.kind, result.samples
    colors = options.color or ["pseudotime" if made.is_rooted or options.root else "branch"]
    if kind in {"embedding", "layout"}:
        return colored_panels(kind, path, samples, colors, dims=options.dims, view=options.view)
    if kind in {"trends", "heatmap"}:
        return draw_features(options, result, made, path)
    figure = Figure(figsize=PANEL, layout="constrained")
    ax = figure.add_subplot()
    if kind == "branches":
        if len(options.color) > 1 or set(options.color) & set(COMPUTED):
            raise Usage("--kind branches draws pies of one column of labels: --color COLUMN.")
        labels = samples[options.color[0]].to_numpy() if options.color else None
        plot_branch_graph(path, labels=labels, ax=ax)
    elif kind == "adjacency":
        time = path.project(made.estimator.nodes()[0])["pseudotime"]
        plot_adjacency(made.estimator, order=time, order_name="pseudotime", ax=ax)
    elif kind == "convergence":
        plot_convergence(made.estimator, ax=ax)
    else:
        plot_uncertainty(made.estimator, ax=ax)
    return figure


def draw_features(
    options: argparse.Namespace, result: Result, made: Pipeline, path: Trajectory
) -> Any:
    """Features along the tree: those that were named, or those that change most."""
    table = input_table(result, made)
    values, names = feature_values(table, made, named_features(table, options.feature))
    if not options.feature:
        tests = path.associated_features(values, feature_names=names)
        names = tests["feature"].tolist()[: MOST_FEATURES[options.kind]]
        values, names = feature_values(table, made, names)
    if options.kind == "heatmap":
        return draw_heatmap(path, values, names, options.to)
    axes = trends.panels(len(names), Figure)
    plot_trends(path, values, feature_names=names, to=options.to, ax=axes)
    return axes[0].figure


def draw_heatmap(path: Trajectory, values: Any, names: list[str], to: str | None) -> Any:
    """Features on the way to a tip or, side by side, to all tips up to four."""
    tips = sorted(path.lineages_, key=importance)
    ways = [to] if to is not None or not tips else tips[:MOST_WAYS]
    axes = heatmap.panels([lineage_to(path, way) for way in ways], len(names), Figure)
    plot_heatmap(path, values, feature_names=names, to=ways if ways[0] else None, ax=axes)
    figure = axes[0].figure
    if to is None and len(tips) > len(ways):
        left = f"{len(ways)} of {len(tips)} tips; another with --to TIP"
        figure.suptitle(left, fontsize="small", color="0.45")
    return figure
