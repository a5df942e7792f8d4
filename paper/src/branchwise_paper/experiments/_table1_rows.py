"""Fits of the table, the best of each method, and the files that hold them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from branchwise._compat import import_pandas
from branchwise._writing import replacing

from ..datasets import Dataset
from .cells import Computed
from .methods import Parameters
from .printed import ROUNDING, printed_accuracy


class Problem(NamedTuple):
    """A set with the number of components to embed it in."""

    name: str  # as it was asked for
    data: Dataset
    n_components: int
    n_all: int  # samples before --quick took some


class Fit(NamedTuple):
    """One method with one choice of parameters on one set, and what became of it."""

    problem: Problem
    method: str
    parameters: Parameters
    computed: Computed

    def number(self, name: str) -> float:
        """A number of the result; NaN if the fit failed."""
        return float(self.computed.result.get(name, np.nan))


class Row(NamedTuple):
    """The best of a method's fits on one set, as in the paper."""

    problem: Problem
    method: str
    accuracy: float
    printed: float | None
    seconds: float  # of the best fit
    parameters: Parameters
    objective: float
    seconds_all: float
    errors: tuple[str, ...]


def falls_short(row: Row) -> bool:
    """Whether SPL is below the printed accuracy, by more than its last digit."""
    return (
        row.method == "SPL" and row.printed is not None and (row.accuracy < row.printed - ROUNDING)
    )


def best_rows(fits: Sequence[Fit]) -> list[Row]:
    """The best fit of each method on each set; of equally good ones the first."""
    grouped: dict[tuple[str, str], list[Fit]] = {}
    for fit in fits:
        grouped.setdefault((fit.problem.name, fit.method), []).append(fit)
    rows = []
    for some in grouped.values():
        done = [fit for fit in some if not fit.computed.error]
        best = max(done, key=lambda fit: fit.number("accuracy"), default=some[0])
        errors = [fit.computed.error for fit in some if fit.computed.error]
        rows.append(
            Row(
                best.problem,
                best.method,
                best.number("accuracy"),
                printed_accuracy(best.problem.data.name, best.method),
                best.number("seconds"),
                best.parameters,
                best.number("objective"),
                sum(fit.number("seconds") for fit in done),
                tuple(dict.fromkeys(errors)),
            )
        )
    return rows


def write_tables(out: Path, fits: Sequence[Fit], rows: Sequence[Row]) -> None:
    """``table1.csv`` with the best of each method, and ``table1_fits.csv`` with all fits."""
    pandas = import_pandas()
    best = pandas.DataFrame(
        [
            {
                "dataset": row.problem.name,
                "method": row.method,
                "accuracy": row.accuracy,
                "printed": row.printed,
                "seconds": row.seconds,
                "parameters": json.dumps(row.parameters),
            }
            for row in rows
        ]
    )
    every = pandas.DataFrame(
        [
            {
                "dataset": fit.problem.name,
                "method": fit.method,
                "parameters": json.dumps(fit.parameters),
                "n_samples": len(fit.problem.data.X),
                "n_components": fit.problem.n_components,
                "accuracy": fit.number("accuracy"),
                "seconds": fit.number("seconds"),
                "objective": fit.number("objective"),
                "error": fit.computed.error,
                "warnings": " ".join(fit.computed.warnings),
            }
            for fit in fits
        ]
    )
    for name, frame in (("table1.csv", best), ("table1_fits.csv", every)):
        with replacing(out / name) as file:
            frame.to_csv(file, index=False, lineterminator="\n")
