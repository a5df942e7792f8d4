"""Values that a table lacks, counted by column and told."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .._messages import counted, listed
from .categories import is_blank
from .dask import is_dask
from .selection import way_out
from .table import Table

N_COLUMNS_SHOWN = 10


def missing_by_column(table: Table, others: Sequence[str] = ()) -> dict[str, int]:
    r"""How many values each feature lacks, most first; complete features are left out.

    `others` are annotations that count as well, such as categories that become features.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from branchwise.data.gaps import missing_by_column
    >>> from branchwise.io import read_table
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "patients.csv"
    >>> _ = path.write_text("age,crp,hb\n71,,12\n64,,n/a\n55,3,11\n")
    >>> missing_by_column(read_table(path))
    {'crp': 2, 'hb': 1}
    """
    known = set(table.features)
    others = [name for name in others if name not in known]
    gaps = [int(is_blank(table.annotations[name]).sum()) for name in others]
    counts = np.concatenate([count_missing(table.X), np.array(gaps, dtype=np.intp)])
    names = [*table.features, *others]
    order = np.argsort(-counts, kind="stable")
    return {names[j]: int(counts[j]) for j in order if counts[j]}


def count_missing(X: Any) -> Any:
    """Missing values by column; those of a Dask array are counted chunk by chunk."""
    if is_dask(X):
        n_chunks = len(X.chunks[0])
        counts = X.map_blocks(
            lambda rows: count_missing(rows)[None],
            dtype=np.int64,
            chunks=((1,) * n_chunks, X.chunks[1]),
            meta=np.empty((0, 0), dtype=np.int64),
        )
        return counts.sum(axis=0).compute()
    if sparse.issparse(X):
        return np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])
    return np.isnan(X).sum(axis=0)


def missing_message(missing: Mapping[str, int], n_samples: int, source: str, remedy: str) -> str:
    """Say which values are missing, and what to do, in the words of the caller.

    Parameters
    ----------
    missing : mapping of str to int
        As from `missing_by_column`.
    n_samples : int
        The number of rows of the table.
    source : str
        Where the table came from.
    remedy : str
        What to do, such as "pass --impute median or --impute drop".

    Examples
    --------
    >>> from branchwise.data.gaps import missing_message
    >>> missing_message({"crp": 2, "hb": 1}, 3, "a.csv", "pass --impute median or --impute drop")
    "a.csv has 3 missing values in 2 columns: 'crp' 2 of 3, 'hb' 1 of 3;
    pass --impute median or --impute drop."
    """
    shown = [f"{name!r} {count:,} of {n_samples:,}" for name, count in missing.items()]
    if len(shown) > N_COLUMNS_SHOWN:
        shown = grouped(missing, n_samples)
    values = counted(sum(missing.values()), "missing value")
    return (
        f"{source} has {values} in {counted(len(missing), 'column')}: {', '.join(shown)}; {remedy}."
    )


def gaps_message(
    missing: Mapping[str, int], n_samples: int, source: str, remedy: str | None
) -> str:
    """The same, but columns without any value are told by themselves: only to leave them out helps.

    Without a `remedy` the other gaps are no problem. It is empty if there is none.

    Examples
    --------
    >>> from branchwise.data.gaps import gaps_message
    >>> gaps_message({"crp": 3, "hb": 1}, 3, "a.csv", "fill them in")
    "a.csv has 1 column without any value ('crp'); leave it out: exclude=['crp'].
    Without it the table has 1 missing value in 1 column: 'hb' 1 of 3; fill them in."
    """
    empty = [name for name, count in missing.items() if count == n_samples]
    rest = {name: count for name, count in missing.items() if count < n_samples}
    told = []
    if empty:
        told.append(
            f"{source} has {counted(len(empty), 'column')} without any value "
            f"({listed(map(repr, empty), N_COLUMNS_SHOWN)}); leave "
            f"{'it' if len(empty) == 1 else 'them'} out: {way_out('exclude', empty)}."
        )
    if rest and remedy is not None:
        without = f"Without {'it' if len(empty) == 1 else 'them'} the table"
        told.append(missing_message(rest, n_samples, without if empty else source, remedy))
    return " ".join(told)


def grouped(missing: Mapping[str, int], n_samples: int) -> list[str]:
    """Missing values of many columns: those that lack as many are told together.

    Examples
    --------
    >>> from branchwise.data.gaps import grouped
    >>> grouped({"age": 5, "a": 1, "b": 1, "c": 1, "d": 1}, 9)
    ["'age' 5 of 9", "4 columns 1 of 9 each ('a', 'b', 'c' and 1 more)"]
    """
    by_count: dict[int, list[str]] = {}
    for name, count in missing.items():
        by_count.setdefault(count, []).append(name)
    shown, n_told = list[str](), 0
    for count, names in by_count.items():
        if len(names) < 3:
            told = [(f"{name!r} {count:,} of {n_samples:,}", 1) for name in names]
        else:
            some = listed(map(repr, names), 3)
            columns = f"{len(names):,} columns {count:,} of {n_samples:,} each ({some})"
            told = [(columns, len(names))]
        for text, n_columns in told:
            if len(shown) < N_COLUMNS_SHOWN:
                shown.append(text)
                n_told += n_columns
    rest = len(missing) - n_told
    return [*shown, f"and {counted(rest, 'more column')}"] if rest else shown
