"""`branchwise transform`: new rows on the graph of a model."""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._messages import counted
from ..data.errors import InputError, UnknownNameError
from ..data.selection import literal
from ..data.table import MissingFeaturesError, Table
from ..io import read_table
from ..io.safety import check_path
from ..io.tables import find_format
from ..pipeline import Pipeline, names_of
from .cluster import check_address, scheduler, showing_passes
from .console import Console, Failure, Usage
from .results import (
    TABLE_ENDINGS,
    check_file,
    check_no_result,
    check_spared,
    is_model,
    load_pipeline,
    write_frames,
    write_text,
)
from .samples import Doubts, readable, samples_table


def run(options: argparse.Namespace, console: Console) -> None:
    """Read the model, then the table, and write where the rows fall."""
    out = None if options.out == "-" else Path(options.out)
    if out is not None:
        check_spared(out, options.new)
        check_no_result(out)
        check_file(out, TABLE_ENDINGS, force=options.force)
    if options.scheduler is not None:
        check_address(options.scheduler)
    if is_model(options.new) and not is_model(options.model):
        raise Usage(
            f"{options.new} is a model and stands where the table should be; the model comes "
            f"first: branchwise transform {options.new} {options.model}"
        )
    model = load_pipeline(options.model)
    check_path(options.new)  # before a cluster is started
    doubts = Doubts([*model.features, *model.placer.columns.names])
    with scheduler(options.scheduler, console) as work:
        with showing_passes(work)("read"):
            table = read_new(options, model, console, lazy=work is not None)
        with console.counting(len(table.samples), "placed") as count, columns_may_go():
            parts = joined(model, table, doubts, count)
            written = write_parts(parts, out, options)
    for sentence in doubts.sentences():
        console.note(sentence)
    facts = {**written, **doubts.facts(), "out": None if out is None else str(out)}
    text = "" if out is None else f"{counted(facts['n_samples'], 'row')} placed in {out}"
    if out is not None or options.json:
        console.result(facts, text)


def joined(
    model: Pipeline, table: Table, doubts: Doubts, count: Callable[[int], Any]
) -> Iterator[tuple[Any, list[str]]]:
    """The table of samples in parts as they come, and what our columns are called in it."""
    start = 0
    for places in model.place_chunks(table):
        doubts.add(places)
        about = table.annotations.iloc[start : start + len(places)]
        part, names = samples_table(places, about)
        start += len(places)
        count(len(places))
        yield part, list(names.values())
    if doubts.n_unknown == len(table.samples):
        raise Failure(f"no row of {table.source} has a value of any feature; nothing was placed.")


def write_parts(
    parts: Iterator[tuple[Any, list[str]]], out: Path | None, options: argparse.Namespace
) -> dict[str, Any]:
    """Write the parts one after the other; tell how many rows there were, and the columns."""
    done: dict[str, Any] = {"n_samples": 0, "columns": []}
    is_full = options.full_precision or (out is not None and out.suffix == ".parquet")

    def told() -> Iterator[Any]:
        for part, ours in parts:
            done["n_samples"] += len(part)
            done["columns"] = list(part.columns)
            yield part if is_full else readable(part, ours)

    if out is not None:
        write_frames(told(), out)
    elif options.json:
        done["places"] = [
            row for part in told() for row in as_written(part.reset_index()).to_dict("records")
        ]
    else:
        for k, part in enumerate(told()):
            write_text(part, sys.stdout, header=k == 0)
    return done


def as_written(part: Any) -> Any:
    """The table with dates as they are in CSV: without a time if none of them has one.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.cli.transform import as_written
    >>> as_written(pd.DataFrame({"born": pd.to_datetime(["1960-09-07", None])}))["born"].tolist()
    ['1960-09-07', None]
    """
    dates = [name for name, dtype in part.dtypes.items() if dtype.kind == "M"]
    texts = {name: part[name].astype(str).astype(object) for name in dates}
    return part.assign(**{n: text.where(part[n].notna(), None) for n, text in texts.items()})


@contextmanager
def columns_may_go() -> Iterator[None]:
    """New rows are placed without a column that the file does not have, so that is a remedy."""
    remedy, ours = "leave the column out", "remove the column from the file: the rows are then "
    try:
        yield
    except ValueError as error:
        if remedy not in str(error):
            raise
        raise Failure(str(error).replace(remedy, f"{ours}placed without it")) from error


def dialect(options: argparse.Namespace, model: Pipeline) -> dict[str, Any]:
    """What the new file does not say itself, as in the fit where it can be of that."""
    known = (*find_format(check_path(options.new)).options, "date_order")
    usual = {name: model.reading.get(name) for name in known}
    names = ("use_rep", "layer", "sheet", "encoding", "decimal", "date_order")
    return {name: getattr(options, name, None) or usual.get(name) for name in names}


def read_new(
    options: argparse.Namespace, model: Pipeline, console: Console, *, lazy: bool
) -> Table:
    """The new table, read as the first one was."""
    numbers, adjust = set(model.numbers), model.preparation.steps_.get("adjust")
    reading: dict[str, Any] = {
        "id": options.id or model.reading.get("id"),
        **dialect(options, model),
        "features": model.numbers,
        "exclude": [] if adjust is None else [literal(name) for name in adjust.names],
        "annotate": [literal(name) for name in model.features if name not in numbers],
        "lazy": lazy,
    }
    while True:
        try:
            return read_table(options.new, **reading)
        except (MissingFeaturesError, UnknownNameError) as error:
            less = without(reading, error, keeps_id=options.id is not None)
            if less == reading and isinstance(error, MissingFeaturesError):
                known = columns_there(options.new, reading)
                raise Failure(model.nothing_there(options.new, known)) from error
            if less == reading:
                raise
            if less["id"] != reading["id"]:
                console.note(
                    f"{options.new} has no column {reading['id']!r} as in the fit; --id names "
                    "another one."
                )
            reading = less


def columns_there(path: str, reading: dict[str, Any]) -> list[str]:
    """The columns of a table that has none of those that are needed, if it can be read at all."""
    try:
        return names_of(read_table(path, **reading | {"features": None, "exclude": []}))
    except ValueError:
        return []


def without(reading: dict[str, Any], error: InputError, *, keeps_id: bool) -> dict[str, Any]:
    """How to read a table without the columns that it lacks and that a model can do without.

    Examples
    --------
    >>> from branchwise.cli.transform import without
    >>> from branchwise.data.errors import Unknown, UnknownNameError
    >>> lacks = UnknownNameError([Unknown("sex", "annotate")], ["hb"], "new.csv")
    >>> reading = {"id": None, "features": ["hb"], "exclude": [], "annotate": ["sex", "site"]}
    >>> without(reading, lacks, keeps_id=False)
    {'id': None, 'features': ['hb'], 'exclude': [], 'annotate': ['site']}
    """
    if isinstance(error, MissingFeaturesError):
        missing = set(error.names)
        left = [name for name in reading["features"] if name not in missing]
        return reading | ({"features": left} if left or reading["annotate"] else {})
    if not isinstance(error, UnknownNameError):
        return reading
    lacking = {(each.option, literal(each.name)) for each in error.unknown}
    others = {
        kind: [name for name in reading[kind] if (kind, name) not in lacking]
        for kind in ("exclude", "annotate")
    }
    is_named = keeps_id or reading["id"] is None or ("id", reading["id"]) not in lacking
    return reading | others | {"id": reading["id"] if is_named else None}
