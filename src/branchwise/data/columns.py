"""Columns of a table by their names."""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from .._compat import import_pandas
from .._messages import listed
from .._typing import Bools, Matrix
from .categories import INEXACT, as_text, is_blank, is_no_number
from .dask import is_dask
from .errors import Unknown, UnknownNameError
from .selection import selection
from .table import Table, dense_columns, move_to_annotations, selection_in


def with_features(table: Table, include: Any, exclude: Any) -> Table:
    """The table with these columns as its only features; the others become annotations.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.data.columns import with_features
    >>> from branchwise.data.table import as_table
    >>> table = as_table(pd.DataFrame({"crp": [1.0], "hb": [12.0], "tp53_mut": [0], "age": [50]}))
    >>> with_features(table, None, ["*_mut", "age"]).features
    ['crp', 'hb']
    >>> with_features(table, ["c*", "hb"], "hb").annotations.columns.tolist()
    ['hb', 'tp53_mut', 'age']
    """
    if include is None and not exclude:
        return table
    words = [str(name) for name in table.annotations.columns]
    asked = selection(None, include, exclude, (), None)
    found = selection_in(asked, table.features, words, table.source)
    out = set(found.exclude)
    if found.include is not None:
        out |= set(table.features) - set(found.include)
    X, features, about = move_to_annotations(table.X, table.features, table.annotations, list(out))
    chosen = table.chosen | found.given()
    return replace(table, X=X, features=features, annotations=about, chosen=chosen)


def column(table: Table, name: str) -> Any:
    """One column of a table, feature or annotation, as a Series by sample.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.data.columns import column
    >>> from branchwise.data.table import as_table
    >>> table = as_table(pd.DataFrame({"age": [40.0, 50.0], "sex": ["f", "m"]}))
    >>> column(table, "age").tolist(), column(table, "sex").tolist()
    ([40.0, 50.0], ['f', 'm'])
    """
    if name in table.annotations.columns:
        return table.annotations[name]
    if name not in table.features:
        known = [*map(str, table.annotations.columns), *table.features]
        raise UnknownNameError([Unknown(name)], known, table.source)
    values = dense_columns(table.X, [table.features.index(name)])
    return import_pandas().Series(values.ravel(), index=table.annotations.index, name=name)


def columns(table: Table, names: Sequence[str]) -> Matrix:
    """The columns of these names, in this order, as one matrix."""
    if list(names) == list(table.features):
        return table.X
    at = {name: k for k, name in enumerate(table.features)}
    missing = [name for name in names if name not in at]
    if missing:
        raise ValueError(
            f"{table.source} lacks {len(missing):,} of the {len(names):,} features of the model as "
            f"numbers: {listed(missing, 10)}; add these columns."
        )
    return table.X[:, [at[name] for name in names]]


def known_columns(table: Table, names: Sequence[str]) -> tuple[Matrix, list[str]]:
    """The columns of these names that the table has, NaN in the others, and which these are.

    A column that is there without a value is not among these: what becomes of a row must not
    depend on the others.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.data.columns import known_columns
    >>> from branchwise.data.table import as_table
    >>> table = as_table(pd.DataFrame({"b": [1.0], "a": [2.0], "d": [float("nan")]}))
    >>> known_columns(table, ["a", "c", "d"])
    (array([[ 2., nan, nan]]), ['c'])
    """
    has, about = set(table.features), table.annotations
    check_numbers_there(table, [name for name in names if name not in has and name in about])
    present = [name for name in names if name in has]
    absent = [name for name in names if name not in has and name not in about]
    if len(absent) == len(names):
        columns(table, names)  # complains
    X = columns(table, present)
    return X if len(present) == len(names) else in_order(X, present, names), absent


def check_numbers_there(table: Table, names: Sequence[str]) -> None:
    """Annotations that a model needs as numbers have no value at all.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.data.columns import check_numbers_there
    >>> from branchwise.data.table import as_table
    >>> check_numbers_there(as_table(pd.DataFrame({"hb": ["high"], "age": [61.0]})), ["hb"])
    Traceback (most recent call last):
    ...
    ValueError: 'hb' of the DataFrame must hold numbers, as in the fit, but has 'high' in data row
    1; write numbers, or leave such cells empty.
    """
    told = list[str]()
    for name in names:
        known = np.flatnonzero(~is_blank(table.annotations[name]))
        if len(known):
            cells = table.annotations[name]
            row = next((k for k in known if is_odd(cells.iloc[k])), known[0])
            has = "has" if told else "must hold numbers, as in the fit, but has"
            why = ", which has too many digits" if is_long(cells.iloc[row]) else ""
            cell = as_text(cells.iloc[row])
            told.append(f"{name!r} of {table.source} {has} {cell!r} in data row {row + 1:,}{why}")
    if told:
        raise ValueError(f"{listed(told, 5)}; write numbers, or leave such cells empty.")


def is_odd(cell: Any) -> bool:
    """Whether a known cell cannot be read as a number.

    Examples
    --------
    >>> from branchwise.data.columns import is_odd
    >>> [is_odd(cell) for cell in ("3.6", "3.6 mg/l", "n.d.", 2**62, 2)]
    [False, True, False, True, False]
    """
    if is_no_number(cell):
        return False
    try:
        float(cell)
    except (TypeError, ValueError):
        return True
    return isinstance(cell, bool | np.bool_) or is_long(cell)


def is_long(cell: Any) -> bool:
    """Whether a cell is a whole number with more digits than a float has."""
    return isinstance(cell, Integral) and abs(int(cell)) >= INEXACT


def in_order(X: Matrix, present: Sequence[str], names: Sequence[str]) -> Matrix:
    """The columns that are present among those of all names, the others without a value.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.columns import in_order
    >>> in_order(np.array([[1.0, 2.0]]), ["b", "a"], ["a", "c", "b"])
    array([[ 2., nan,  1.]])
    """
    where = {name: k for k, name in enumerate(present)}
    order = [where.get(name, len(present)) for name in names]
    nothing = np.full((X.shape[0], 1), np.nan)
    if sparse.issparse(X):
        return sparse.csr_array(sparse.hstack([X, nothing], format="csr")[:, order])
    return np.hstack([X, nothing])[:, order]


def named_columns(table: Table, names: Sequence[str]) -> Any:
    """The same with their names, for messages, unless they are sparse or not in memory.

    Annotations may be among them, as they are.
    """
    known = set(table.features)
    others = [name for name in names if name not in known and name in table.annotations]
    is_other = set(others)
    if others and not is_dask(table.X) and not sparse.issparse(table.X):
        numbers = named_columns(table, [name for name in names if name not in is_other])
        # By position: names of samples may be repeated.
        about = table.annotations[others].set_axis(numbers.index, axis=0)
        return import_pandas().concat([numbers, about], axis=1)[list(names)]
    X = columns(table, names)
    if sparse.issparse(X) or is_dask(X):
        return X
    index = table.annotations.index
    return import_pandas().DataFrame(X, columns=list(names), index=index, copy=False)


def rows_of_table(table: Table, keep: Bools) -> Table:
    """Some rows of a table."""
    return replace(
        table,
        X=table.X[keep],
        samples=[name for name, kept in zip(table.samples, keep, strict=True) if kept],
        annotations=table.annotations.loc[keep],
    )
