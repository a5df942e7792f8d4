"""The input of a fit, read again for what the results do not hold."""

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._compat import import_pandas
from .._typing import Matrix
from ..data.table import Table, column, columns, rows_of_table
from ..io import file_hash, read_table
from ..pipeline import Pipeline
from .console import Failure
from .results import Result


def input_table(result: Result, made: Pipeline) -> Table:
    """The samples of a result with all their columns, if the input is still as it was."""
    source = Path(result.run["input"]["path"])
    if result.run.get("scheduler"):
        raise Failure(
            f"{source} was read chunk by chunk (--scheduler), but features along the tree are "
            "drawn of a table in memory; fit it, or a part of it, without --scheduler."
        )
    table = demo_table(str(source))
    if table is not None:
        return table
    if not source.exists():
        raise Failure(
            f"the input {source} is not there to read features from; run the command where branchwise "
            "fit was run."
        )
    if file_hash(source) != result.run["input"]["sha256"]:
        raise Failure(f"the input {source} has changed since the fit; run branchwise fit again.")
    return kept_rows(read_table(source, **made.reading), result.samples.index)


def kept_rows(table: Table, samples: Any) -> Table:
    """The rows of these samples: those that the preparation did not drop."""
    kept = import_pandas().Index(table.samples).isin(samples)
    return table if kept.all() else rows_of_table(table, kept)


def demo_table(source: str) -> Table | None:
    """That of `branchwise demo`, which is no file."""
    from .demo import SOURCE, tumours

    return tumours() if source == SOURCE else None


def feature_values(table: Table, made: Pipeline, names: list[str]) -> tuple[Matrix, list[str]]:
    """The features of a model or, by name, these or other columns of numbers."""
    if not names:
        return columns(table, made.features), made.features
    return np.column_stack([number_column(table, name) for name in names]), names


def with_columns(table: Table, made: Pipeline, names: list[str]) -> tuple[Matrix, list[str]]:
    """The features of a model, and after them these columns of numbers that are none."""
    more = [name for name in dict.fromkeys(names) if name not in made.features]
    X = columns(table, made.features)
    if not more:
        return X, made.features
    others = np.column_stack([number_column(table, name) for name in more])
    joined = sparse.hstack([X, others], format="csr") if sparse.issparse(X) else None
    return np.hstack([X, others]) if joined is None else joined, [*made.features, *more]


def number_column(table: Table, name: str) -> Any:
    """One column of numbers."""
    values = column(table, name)
    if values.dtype.kind not in "biuf":
        raise Failure(f"--feature {name!r} is no column of numbers; name another one.")
    return values.to_numpy(float)
