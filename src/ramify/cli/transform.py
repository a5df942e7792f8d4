"""`ramify transform`: new rows on the graph of a model."""

import argparse
import sys
from pathlib import Path
from typing import Any

from ..io import Table, UnknownNameError, read_table
from ..io.tables import ANNDATA
from ..workflow import Workflow
from .console import Console
from .fit import check_missing
from .results import TABLE_ENDINGS, check_file, load_workflow, write_frame


def run(options: argparse.Namespace, console: Console) -> None:
    """Read the model, then the table, and write where the rows fall."""
    out = None if options.out == "-" else Path(options.out)
    if out is not None:
        check_file(out, TABLE_ENDINGS, force=options.force)
    model = load_workflow(options.model)
    table = read_new(options, model, console)
    remedy = "fill them in, or run ramify fit with --impute median or --impute drop"
    check_missing(table, model.preparation, remedy)
    places = model.place(table)
    kept = set(places.index)
    dropped = [name for name in table.samples if name not in kept]
    if dropped:
        console.note(
            f"{len(dropped)} of {len(table.samples)} rows miss a value and were dropped, as in the "
            f"fit: {', '.join(dropped[:10])}{', …' if len(dropped) > 10 else ''}."
        )
    facts = {
        "n_samples": len(places),
        "dropped": dropped,
        "columns": list(places.columns),
        "out": None if out is None else str(out),
    }
    if out is not None:
        write_frame(places, out)
        console.result(facts, f"{len(places):,} rows placed in {out}")
    elif options.json:
        rows = places.reset_index().to_dict(orient="records")
        console.result({**facts, "places": rows}, "")
    else:
        places.to_csv(sys.stdout, lineterminator="\n")


def read_new(options: argparse.Namespace, model: Workflow, console: Console) -> Table:
    """The new table, read as the first one was."""
    # Other formats have their columns by name only.
    usual = model.reading if options.new.lower().rstrip("/").endswith(ANNDATA) else {}
    reading: dict[str, Any] = {
        "use_rep": options.use_rep or usual.get("use_rep"),
        "layer": options.layer or usual.get("layer"),
        "features": model.features,
        "exclude": model.preparation.adjust or (),
    }
    id = options.id or model.reading.get("id")
    try:
        return read_table(options.new, id=id, **reading)
    except UnknownNameError as error:
        if options.id is not None or error.name != id:
            raise
        console.note(f"{options.new} has no column {id!r} as in the fit; --id names another one.")
        return read_table(options.new, **reading)
