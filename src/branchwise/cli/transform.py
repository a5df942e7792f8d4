"""`branchwise transform`: new rows on the graph of a model."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..data.table import Table, UnknownNameError
from ..io import read_table
from ..io.safety import check_path
from ..io.tables import ANNDATA_ENDINGS
from ..pipeline import Pipeline
from .cluster import check_address, scheduler, showing_passes
from .console import Console, Failure
from .fit import check_missing
from .results import TABLE_ENDINGS, check_file, load_pipeline, write_frames, write_text


def run(options: argparse.Namespace, console: Console) -> None:
    """Read the model, then the table, and write where the rows fall."""
    out = None if options.out == "-" else Path(options.out)
    if out is not None:
        check_file(out, TABLE_ENDINGS, force=options.force)
    if options.scheduler is not None:
        check_address(options.scheduler)
    model = load_pipeline(options.model)
    check_path(options.new)  # before a cluster is started
    dropped: list[str] = []
    with scheduler(options.scheduler, console) as work:
        with showing_passes(work)("read"):
            table = read_new(options, model, console, lazy=work is not None)
            remedy = "fill them in, or run branchwise fit with --impute median or --impute drop"
            check_missing(table, model.preparation, remedy)
        parts = model.place_chunks(table) if work else iter([model.place(table)])
        sizes = list(table.X.chunks[0]) if work else [len(table.samples)]
        with console.counting(len(table.samples), "placed") as count:
            written = write_parts(noted(parts, table, sizes, dropped, count), out, options)
    if dropped:
        console.note(
            f"{len(dropped)} of {len(table.samples)} rows miss a value and were dropped, as in the "
            f"fit: {', '.join(dropped[:10])}{', …' if len(dropped) > 10 else ''}."
        )
    facts = {**written, "dropped": dropped, "out": None if out is None else str(out)}
    text = "" if out is None else f"{facts['n_samples']:,} rows placed in {out}"
    if out is not None or options.json:
        console.result(facts, text)


def noted(
    parts: Iterator[Any],
    table: Table,
    sizes: Sequence[int],
    dropped: list[str],
    count: Callable[[int], Any],
) -> Iterator[Any]:
    """The parts as they come, once their rows are counted and those that miss are noted."""
    start = 0
    for part, size in zip(parts, sizes, strict=True):
        kept = set(part.index)
        dropped.extend(name for name in table.samples[start : start + size] if name not in kept)
        start += size
        count(size)
        if len(part):
            yield part
    if len(dropped) == len(table.samples):
        raise Failure(f"every row of {table.source} misses a value, and nothing was placed.")


def write_parts(
    parts: Iterator[Any], out: Path | None, options: argparse.Namespace
) -> dict[str, Any]:
    """Write the parts one after the other; tell how many rows there were, and the columns."""
    done: dict[str, Any] = {"n_samples": 0, "columns": []}

    def told() -> Iterator[Any]:
        for part in parts:
            done["n_samples"] += len(part)
            done["columns"] = list(part.columns)
            yield part

    if out is not None:
        write_frames(told(), out)
    elif options.json:
        done["places"] = [
            row for part in told() for row in part.reset_index().to_dict(orient="records")
        ]
    else:
        for k, part in enumerate(told()):
            write_text(part, sys.stdout, header=k == 0)
    return done


def read_new(
    options: argparse.Namespace, model: Pipeline, console: Console, *, lazy: bool
) -> Table:
    """The new table, read as the first one was."""
    # Other formats have their columns by name only.
    usual = model.reading if options.new.lower().rstrip("/").endswith(ANNDATA_ENDINGS) else {}
    reading: dict[str, Any] = {
        "use_rep": options.use_rep or usual.get("use_rep"),
        "layer": options.layer or usual.get("layer"),
        "features": model.features,
        "exclude": model.preparation.adjust or (),
        "lazy": lazy,
    }
    id = options.id or model.reading.get("id")
    try:
        return read_table(options.new, id=id, **reading)
    except UnknownNameError as error:
        if options.id is not None or error.name != id:
            raise
        console.note(f"{options.new} has no column {id!r} as in the fit; --id names another one.")
        return read_table(options.new, **reading)
