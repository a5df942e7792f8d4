"""`branchwise fit`: from a table to a folder of results."""

import argparse
import platform
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .. import __version__
from .._compat import import_pandas
from .._messages import counted, listed
from ..data.columns import column, named_columns
from ..data.dask import is_dask
from ..data.errors import UnknownNameError, UnreadableColumns
from ..data.gaps import gaps_message, missing_by_column, missing_message
from ..data.table import Table
from ..estimators import DDRTree
from ..estimators.ddrtree_dask import MAX_FEATURES
from ..io import file_hash, read_table
from ..io.safety import check_path
from ..persistence.checkpoints import Checkpoint
from ..persistence.loading import MODEL
from ..pipeline import Pipeline, adjusted_columns, encoded_columns, encoders, fit_pipeline, names_of
from ..preprocessing import Preparation
from ..preprocessing.encoding import Encoding
from ..report.content import COMPUTED
from ..report.facts import fitted_facts, graph_facts
from ..trajectory import Trajectory
from ..trajectory.occupancy import occupancy_message
from .cluster import scheduler, showing_passes
from .console import Console, Failure
from .pages import NO_PAGE, colored_panels, default_colors, save_figure, write_page
from .request import STEPS, Request, check_columns, parse_request, resolved, root_in
from .results import (
    REPORT,
    RUN,
    check_out,
    check_spared,
    kept_rows,
    new_folder,
    write_frame,
    write_json,
)
from .samples import Doubts, our_columns, readable, samples_table

AT_THE_FIT = (
    "pass --impute model, --impute median or --impute drop, or leave columns out with --exclude"
)
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "pandas", "matplotlib")


def run(options: argparse.Namespace, console: Console) -> None:
    """Check everything that can be wrong before the work, do it, and tell what came out."""
    request = parse_request(options)
    check_source_outside(request)
    check_out(request.out, force=request.force)
    check_path(request.source)
    # After the parent of the results was made, where it may be.
    check_checkpoint(request)
    console.stage("connect" if request.scheduler else "read")
    is_kept = getattr(request.estimator, "checkpoint", None) is not None
    remedy = "run the command again" + (
        " with --resume"
        if is_kept
        else "; with --checkpoint PATH a fit of ddrtree could go on from its last iteration"
    )
    with scheduler(request.scheduler, console, remedy) as work:
        console.stage("read")
        with showing_passes(work)("read"):
            table = read(request, lazy=work is not None)
        facts = fit(table, resolved(request, table), console, work)
    console.result(facts, describe(facts, request.out))


def read(request: Request, *, lazy: bool) -> Table:
    """The table; all that is wrong with it, and with the names of its columns, is told at once."""
    try:
        return read_table(request.source, lazy=lazy, **request.reading)
    except UnknownNameError as error:
        if error.is_column:
            check_columns(request.asked, request.root, error.known, error.source)
        raise
    except UnreadableColumns as error:
        raise with_gaps(error, request.preparation) from error


def with_gaps(error: UnreadableColumns, preparation: Preparation) -> UnreadableColumns:
    """What is wrong with columns, and what the others lack."""
    remedy = AT_THE_FIT if preparation.impute is None else None
    gaps = gaps_message(error.missing, error.n_samples, "Besides, the rest", remedy)
    return error.also(gaps) if gaps else error


def check_source_outside(request: Request) -> None:
    """The input is not among what --force replaces."""
    source, out = Path(request.source), request.out.resolve()
    if source.exists() and source.resolve().is_relative_to(out):
        raise Failure(
            f"the input {request.source} lies within -o {request.out}, which would be replaced; "
            "choose another -o."
        )
    checkpoint = getattr(request.estimator, "checkpoint", None)
    if checkpoint is not None:
        check_spared(Path(checkpoint), request.source, "--checkpoint")


def check_checkpoint(request: Request) -> None:
    """Say before anything is read that its file cannot be written, or would be lost."""
    if getattr(request.estimator, "checkpoint", None) is None:
        return
    try:
        checkpoint = Checkpoint.of(request.estimator, request.resume)
    except ValueError as error:
        raise Failure(f"--{error}") from error
    is_replaced = request.resume or request.force
    if checkpoint.path is not None and checkpoint.path.exists() and not is_replaced:
        raise Failure(
            f"--checkpoint={str(checkpoint.path)!r} has the iterations of an earlier fit; go on "
            "from them with --resume, replace them with --force, or choose another name."
        )


def fit(
    table: Table, request: Request, console: Console, work: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Fit a table and write all results into the folder; return what run.json says.

    `work` is what `scheduler` says of Dask, if the table is read by it.
    """
    check_table(table, request, work)
    console.stage("hash")
    # One machine would read for hours what many share.
    is_hashed = work is None and Path(request.source).exists()
    sha256 = (table.sha256 or file_hash(request.source)) if is_hashed else None
    started = datetime.now(UTC)
    made = learn(table, request, console, work)
    warn_of_other_roots(made.trajectory)
    warn_of_empty_stretches(made.trajectory, is_default=request.estimator is None)
    console.stage("write")
    with new_folder(request.out, force=request.force) as folder:
        places = made.training_places(table)
        doubts = Doubts(made.features)
        doubts.add(places)
        tables, columns = tables_of(made, places, table, request.colors)
        about = tables["samples"][columns["annotations"]]
        colors = request.colors or default_colors(made.is_rooted, about)
        files = write_results(folder, made, tables, columns, colors, request)
        console.stage("report" if request.has_report else None)
        told = told_by(console)
        facts = record(made, table, request, work, told, sha256, started, columns, files)
        facts["between_branches"] = doubts.n_between
        facts["doubts"] = [doubts.of_between()] if doubts.n_between else []
        if request.has_report and add_report(folder, made, table, facts, about, colors[0]):
            files["report"] = REPORT
        console.stage(None)
        facts |= told_by(console)
        write_json(facts, folder / RUN)
    return facts


def check_table(table: Table, request: Request, work: dict[str, Any] | None) -> None:
    """What of the request does not fit the table is said before the fit."""
    if work is not None:
        check_n_features(table, request)
    preparation = request.preparation
    with showing_passes(work)("read"):
        check_missing(table, preparation)


def check_n_features(table: Table, request: Request) -> None:
    """Of a table that stays in its file, products of all pairs of features are summed."""
    n_features = len(table.features)
    is_summed = isinstance(request.estimator, DDRTree) and request.preparation.pca is None
    if is_summed and n_features > MAX_FEATURES:
        raise Failure(
            f"{table.source} has {n_features:,} features, but --method ddrtree takes at most "
            f"{MAX_FEATURES:,} with --scheduler; reduce them first, for instance with --pca 50."
        )


def check_missing(table: Table, preparation: Preparation) -> None:
    """Missing values are named by column unless the user said what to do with them."""
    encoded = encoded_columns(table, preparation)
    missing = missing_by_column(table, encoded)
    check_encoded_known(table, [name for name in encoded if name in missing], missing)
    remedy = AT_THE_FIT if preparation.impute is None else None
    told = gaps_message(missing, len(table.samples), table.source, remedy)
    if told:
        raise Failure(f"{told}{problems_of_encoding(table, preparation, encoded)}")
    if preparation.impute != "drop":
        adjusted = adjusted_columns(table, preparation)
        gaps = {name: int(column(table, name).isna().sum()) for name in adjusted}
        gaps = {name: count for name, count in gaps.items() if count}
        remedy = "--adjust needs known values: fill them in, or fit with --impute drop"
        if gaps:
            raise Failure(missing_message(gaps, len(table.samples), table.source, remedy))


def problems_of_encoding(table: Table, preparation: Preparation, encoded: Sequence[str]) -> str:
    """What else is wrong with the columns to be encoded, as the end of a message."""
    if not encoded:
        return ""
    try:
        Encoding.fit(named_columns(table, encoded), preparation.plan(names_of(table), table.source))
    except ValueError as error:
        return f" Also: {error}"
    return ""


def check_encoded_known(table: Table, encoded: Sequence[str], missing: dict[str, int]) -> None:
    """What is to be encoded has some value: to exclude it would not help."""
    empty = [name for name in encoded if missing[name] == len(table.samples)]
    if empty:
        raise Failure(
            f"{table.source} has no value at all in {listed(map(repr, empty))}; leave "
            f"{'it' if len(empty) == 1 else 'them'} out of {encoders()}."
        )


def learn(
    table: Table, request: Request, console: Console, work: dict[str, Any] | None
) -> Pipeline:
    """The fitted pipeline, with a bar for those who wait for it."""
    estimator = request.estimator
    shown = DDRTree() if estimator is None else estimator
    with (
        ExitStack() as passes,
        console.progress(type(shown).__name__, shown.max_iter) as callback,
    ):

        def begin(stage: str) -> None:
            passes.close()
            passes.enter_context(showing_passes(work)(stage))
            console.stage(stage)

        made = fit_pipeline(
            table,
            None if estimator is None else estimator.set_params(callback=callback),
            request.preparation,
            learning=request.learning | {"callback": callback},
            support=request.support,
            random_state=request.random_state,
            root=root_in(request, table),
            end=request.end,
            prune=request.prune,
            resume=request.resume,
            reading=request.reading,
            on_stage=begin,
        )
    made.estimator.set_params(callback=None)
    return made


def warn_of_other_roots(path: Trajectory) -> None:
    """Say where time starts in parts of a forest that the given root is not in."""
    starts = path.milestones_.query("is_root")
    others = starts.index[~starts["node"].isin(path.view.chosen_roots)].tolist()
    if path.view.chosen_roots and others:
        warnings.warn(
            f"{len(others)} of {len(starts)} parts of the graph are without the given root; their "
            f"own times start at {listed(others)}.",
            stacklevel=2,
        )


def warn_of_empty_stretches(path: Trajectory, *, is_default: bool) -> None:
    """Say that less than half of the tree has samples."""
    message = occupancy_message(path, is_default=is_default)
    if message is not None:
        warnings.warn(message, stacklevel=2)


def write_results(
    folder: Path,
    made: Pipeline,
    tables: dict[str, Any],
    columns: dict[str, list[str]],
    colors: Sequence[str],
    request: Request,
) -> dict[str, Any]:
    """Write tables, model and pictures; return the names of the files by what they hold."""
    files: dict[str, Any] = {name: f"{name}.{request.ending}" for name in tables}
    is_short = request.ending != "parquet" and not request.is_full
    ours = [name for kind in ("places", "embedding", "projection") for name in columns[kind]]
    for name, frame in tables.items():
        numbers = ours if name == "samples" else list(frame.columns)
        short = readable(frame, numbers) if is_short else frame
        write_frame(short, folder / files[name])
    made.save(folder / MODEL)
    files["model"] = MODEL
    if request.pictures:
        figure = colored_panels("embedding", made.trajectory, tables["samples"], colors)
        files["figure"] = [f"figure.{ending}" for ending in request.pictures]
        save_figure(figure, [folder / name for name in files["figure"]])
    return files


def add_report(
    folder: Path, made: Pipeline, table: Table, facts: dict[str, Any], about: Any, color: str
) -> bool:
    """Write the interactive page, if that can be done: a fit is never lost for it."""
    given, notes = None, []
    if is_dask(table.X):
        notes = ["Features are not in this page: the table was read chunk by chunk (--scheduler)."]
    else:
        given = kept_rows(table, about.index)
    try:
        write_page(folder / REPORT, made, facts, about, given, color=color, notes=notes)
    except Exception as error:  # whatever it is, the results are there
        warnings.warn(
            f"{NO_PAGE} ({type(error).__name__}: {' '.join(str(error).split())}); all other "
            f"results are complete, and branchwise report {facts['command']['out']} tries again.",
            stacklevel=2,
        )
        return False
    return True


def tables_of(
    made: Pipeline, places: Any, table: Table, colors: Sequence[str]
) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """The tables to write, and the columns of the first by kind."""
    model, path, pandas = made.estimator, made.trajectory, import_pandas()
    if made.is_rooted and path.view.end is not None:
        places = places.copy(deep=False)
        places.insert(3, "progress", path.progress_)
    names = places.index.tolist()
    kept = table.annotations.loc[names] if len(names) < len(table.samples) else table.annotations
    annotations = {name: kept[name].to_numpy() for name in kept.columns}
    for name in colors:
        if name not in COMPUTED and name not in annotations:
            annotations[name] = column(table, name).loc[names].to_numpy()
    about = pandas.DataFrame(annotations, index=places.index)
    samples, called = samples_table(places, about)
    kind_of = pandas.api.types.infer_dtype
    columns = {
        "annotations": list(annotations),
        "text": [name for name, values in annotations.items() if kind_of(values) == "string"],
        "dates": [name for name in annotations if annotations[name].dtype.kind == "M"],
        **our_columns(made, called),
    }
    nodes = getattr(model, "centers_", None)
    graph = model.tree_ if nodes is not None else model.graph_
    nodes = model.skeleton_ if nodes is None else nodes
    centers = pandas.DataFrame(nodes, columns=list(model.get_feature_names_out()))
    centers.index.name = "center"
    edges = sparse.coo_array(sparse.triu(graph))
    tree = pandas.DataFrame(
        {
            "source": edges.row,
            "target": edges.col,
            "length": np.linalg.norm(nodes[edges.row] - nodes[edges.col], axis=1),
            "weight": edges.data,
        }
    ).set_index("source")
    tables = {"samples": samples, "centers": centers, "tree": tree}
    if made.is_rooted:
        tables |= {
            "branches": path.branch_table_,
            "milestones": path.milestones_,
            "evidence": path.evidence_,
        }
        if path.support_ is not None:
            tables["support"] = path.support_.milestones_
    return tables, columns


def record(
    made: Pipeline,
    table: Table,
    request: Request,
    work: dict[str, Any] | None,
    told: dict[str, Any],
    sha256: str | None,
    started: datetime,
    columns: dict[str, list[str]],
    files: dict[str, Any],
) -> dict[str, Any]:
    """What was done, with what, and what came of it: for run.json, the page and the summary."""
    model, path = made.estimator, made.trajectory
    given = model.get_params(deep=False)
    kept = set(path.names_.tolist())
    # The default way gives the estimator a graph and starting centres, which the model holds.
    fixed = {"structure", "init"} if request.estimator is None else set()
    libraries = LIBRARIES if work is None else (*LIBRARIES, "dask")
    return {
        "branchwise": __version__,
        "command": request.command,
        "versions": {
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in libraries},
        },
        "platform": platform.platform(),
        "method": type(model).__name__,
        "way": "auto" if request.estimator is None else "estimator",
        "parameters": {k: v for k, v in given.items() if k not in {"callback", "verbose", *fixed}},
        "fitted": fitted_facts(model),
        "seed": given["random_state"],
        "preparation": made.preparation.settings(),
        "input": {
            "path": str(request.source),
            "n_samples": len(table.samples),
            "n_features": made.n_features,
            "n_annotations": table.annotations.shape[1],
            "dropped": [name for name in table.samples if name not in kept],
            "sha256": sha256,
        },
        "n_components": int(model.embedding_.shape[1]),
        "objective": float(model.objective_),
        "n_iter": int(model.n_iter_),
        "converged": bool(model.converged_),
        "optimality_gap": getattr(model, "optimality_gap_", None),
        "graph": graph_facts(path),
        "root": request.root,
        "found": path.describe().splitlines() if made.is_rooted else [],
        "support": support_facts(path),
        **told,
        **({} if work is None else {"scheduler": work | chunk_facts(table)}),
        "started": started.isoformat(timespec="seconds"),
        "columns": columns,
        "files": files,
    }


def support_facts(path: Trajectory) -> dict[str, Any] | None:
    """How many resamples there were, and how many tips they have."""
    found = path.support_
    if found is None:
        return None
    tips = {str(n): int(count) for n, count in found.n_tips_.items()}
    return {"resamples": found.n_resamples_, "failed": found.n_failed_, "tips": tips}


def chunk_facts(table: Table) -> dict[str, Any]:
    """How a table was read that stays in its file."""
    sizes = list(table.X.chunks[0])
    return {"chunks": len(sizes), "rows per chunk": max(sizes)}


def told_by(console: Console) -> dict[str, Any]:
    """Warnings so far, and the seconds of each stage that has ended."""
    return {
        "warnings": list(console.messages),
        "seconds": {name: round(value, 3) for name, value in console.seconds.items()},
    }


# What is counted in the summary rather than called by the name of the parameter.
COUNTED = {
    "categorical": ("category", "categories"),
    "ordinal": ("ordered category", "ordered categories"),
    "dates": ("date", "dates"),
    "ages": ("age", "ages"),
}


def step_in_words(name: str, value: Any) -> str:
    """A step of the preparation for the summary; empty if it was not asked for.

    Examples
    --------
    >>> from branchwise.cli.fit import step_in_words
    >>> step_in_words("categorical", ["sex", "site"]), step_in_words("standardize", True)
    ('2 categories', 'standardize')
    """
    if not value or name not in COUNTED:
        return name if value else ""
    return counted(len(value), *COUNTED[name])


def describe(facts: dict[str, Any], out: Path) -> str:
    """The same in a few lines for people."""
    given, graph, seconds = facts["input"], facts["graph"], facts["seconds"]
    iterations = counted(facts["n_iter"], "iteration")
    steps = [step_in_words(name, facts["preparation"].get(name)) for name in STEPS]
    dropped = f", {len(given['dropped']):,} dropped" if given["dropped"] else ""
    ended = "converged" if facts["converged"] else "stopped"
    files = [name for file in facts["files"].values() for name in np.atleast_1d(file).tolist()]
    found = "".join(f"{'' if k else 'found':<11}{line}\n" for k, line in enumerate(facts["found"]))
    return (
        f"data       {counted(given['n_samples'], 'sample')}{dropped} x "
        f"{counted(given['n_features'], 'feature')}, "
        f"{counted(given['n_annotations'], 'annotation')}\n"
        f"prepared   {', '.join(filter(None, steps)) or 'as they are'}\n"
        f"tree       {counted(graph['n_nodes'], 'node')}, {counted(graph['n_edges'], 'edge')}, "
        f"{graph['length']:.4g} long in all, {100 * graph['occupied']:.0f} % of it with samples\n"
        f"branches   {graph['branches']:,} between {counted(graph['tips'], 'tip')} and "
        f"{counted(graph['forks'], 'fork')}\n"
        f"{found}"
        + "".join(f"places     {line}\n" for line in facts["doubts"])
        + f"objective  {facts['objective']:.6g} ({ended} after {iterations})\n"
        f"time       {seconds['fit']:.2f} s to fit, {sum(seconds.values()):.2f} s in all\n"
        f"written    {', '.join([*files, RUN])} in {out}/"
    )
