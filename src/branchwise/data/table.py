"""`Table`, which every reader returns: the checks that all of them share, columns by name."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from .._compat import assigned, import_extra, import_pandas, pandas_of
from .._messages import counted, listed, parameter
from .._typing import Matrix
from .categories import INEXACT, are_numbers
from .categories import as_floats as numbers_of
from .composed import composed
from .dask import is_dask
from .dates import DateOrder
from .errors import InputError, Unknown, UnknownNameError
from .judging import (
    ID_NAME,
    check_turned,
    dates_among,
    has_names_first,
    left_out_by,
    look_at_cells,
    unvarying,
    usable_dates,
    worth_telling,
)
from .masked import unmasked
from .selection import EVERYTHING, Selection, look_up
from .unreadable import (
    raise_unreadable,
    warn_of_categories,
    warn_of_dates,
    warn_of_mixed,
    warn_of_units,
)

__all__ = ["InputError", "Table", "UnknownNameError"]


class MissingFeaturesError(InputError):
    """Features that were asked for and that the table does not have as numbers."""

    def __init__(self, message: str, names: list[str]):
        super().__init__(message)
        self.names = names


@dataclass(frozen=True, eq=False)
class Table:
    r"""Samples by features, with the names of both and what else is known of the samples.

    Attributes
    ----------
    X : ndarray of float64 or scipy.sparse.csr_array, shape (n_samples, n_features)
        The measurements; NaN is a missing value. Of a table that was read lazily, a Dask array
        of such chunks.
    features : list of str
        Names of the columns of X, without repeats.
    samples : list of str
        Names of the rows of X, without repeats.
    annotations : pandas.DataFrame
        One row for each sample, in the order of X, indexed by `samples`; maybe no column.
    source : str
        Where the table was read from.
    id : str or None
        The column of the file that named the samples.
    sha256 : str or None
        Of the file, where it was taken while the table was read (CSV and its kin).
    chosen : dict
        What `id`, `include`, `exclude` and `annotate` of `branchwise.io.read_table` were given,
        with the names of the columns in the place of patterns and files.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from branchwise.io import read_table
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "patients.csv"
    >>> _ = path.write_text("patient,age,crp,ward\nP1,71,3.5,A\nP2,64,,B\n")
    >>> table = read_table(path)
    >>> table.samples, table.features
    (['P1', 'P2'], ['age', 'crp'])
    >>> table.annotations["ward"].tolist()
    ['A', 'B']
    """

    X: Matrix
    features: list[str]
    samples: list[str]
    annotations: Any
    source: str
    sha256: str | None = None
    chosen: dict[str, Any] = field(default_factory=dict)
    id: str | None = None


def pandas_for_tables() -> Any:
    """Pandas, which holds the annotations of every table."""
    return import_extra("pandas", "reading a table", "cli")


def make_table(
    X: Matrix,
    features: Iterable[Any] | None,
    samples: Iterable[Any] | None,
    annotations: Any,
    source: str,
    selection: Selection = EVERYTHING,
    *,
    needs_features: bool = True,
) -> Table:
    """A table of float64 from a matrix with or without names.

    Missing names are numbers that count from 0. Columns of the matrix that are not included are
    left out unless they are excluded by name: there may be many thousands. The values of a Dask
    array are not looked at, but for columns that are excluded.
    """
    features = None if features is None else list(features)
    try:
        return checked_table(X, features, samples, annotations, source, selection, needs_features)
    except InputError as error:
        error.parts = (X, features, annotations)
        raise


def checked_table(
    X: Matrix,
    features: Iterable[Any] | None,
    samples: Iterable[Any] | None,
    annotations: Any,
    source: str,
    selection: Selection,
    needs_features: bool,
) -> Table:
    """The same, once everything fits together."""
    pandas = pandas_for_tables()
    X = X if is_dask(X) else as_floats(X, source)
    samples = numbered(X.shape[0]) if samples is None else [str(name) for name in samples]
    features = (
        numbered(X.shape[1]) if features is None else [composed(str(name)) for name in features]
    )
    for names, count, what in ((features, X.shape[1], "columns"), (samples, X.shape[0], "rows")):
        if len(names) != count:
            raise InputError(
                f"{source} names {len(names):,} {what}, but its matrix has {count:,}; "
                f"give one name for each."
            )
    check_unique(features, f"columns of {source}", "rename them")
    if annotations is None:
        annotations = pandas.DataFrame(index=range(X.shape[0]))
    selection = selection_in(selection, features, list(map(str, annotations.columns)), source)
    if selection.id is not None:
        annotations, samples = take_id(annotations, selection.id, source)
    check_unique(samples, f"samples of {source}", f"make them unique, or {other_id()}")
    moved = [*selection.exclude, *selection.annotate]
    if moved:
        X, features, annotations = move_to_annotations(X, features, annotations, moved)
    if selection.include is not None:
        wanted = [name for name in selection.include if name not in moved]
        at = {name: j for j, name in enumerate(features)}
        X, features = X[:, [at[name] for name in wanted]], wanted
    check_has_rows(len(samples), source)
    if not len(features) and not selection.annotate and needs_features:
        raise InputError(
            f"{source} has no numeric column left to learn from; "
            "give it one, or exclude fewer columns."
        )
    if not is_dask(X):
        check_no_infinity(X, features, samples, source)
    annotations = annotations.set_axis(pandas.Index(samples, dtype=object), axis=0)
    return Table(
        X, features, samples, annotations, source, chosen=selection.given(), id=selection.id
    )


def selection_in(
    selection: Selection, features: list[str], annotations: list[str], source: str
) -> Selection:
    """The selection with the names that its patterns mean; samples are named by an annotation."""
    ids = [] if selection.id is None else [selection.id]
    wrong = look_up(ids, annotations, "id")[1]
    found = selection._replace(id=None)
    if any((wrong, selection.include is not None, selection.exclude, selection.annotate)):
        found = found.among([*features, *annotations], source, wrong)
    if found.include is not None:
        present, asked = set(features), set(selection.include or ())
        words = [name for name in found.include if name not in present and name in asked]
        if words:
            raise InputError(
                f"include names {listed(map(repr, words), 5)}, which {source} has among the "
                "annotations of the samples; only measurements can be features: include others."
            )
        found = found._replace(include=[name for name in found.include if name in present])
    if selection.id is None:
        return found
    return found._replace(id=Selection(id=selection.id).among(annotations, source).id)


def check_has_rows(n_samples: int, source: str) -> None:
    """There is at least one row."""
    if n_samples == 0:
        raise InputError(f"{source} has no samples; it needs at least one row of values.")


def dense_columns(X: Any, columns: Sequence[int]) -> Any:
    """Some columns of a matrix as an array in memory; of a Dask array, nothing else is gathered."""
    if is_dask(X):
        return X.map_blocks(
            dense_columns,
            columns=columns,
            dtype=np.float64,
            chunks=(X.chunks[0], (len(columns),)),
            meta=np.empty((0, 0)),
        ).compute()
    values = X[:, columns]
    return values.toarray() if sparse.issparse(values) else values


def numbered(count: int) -> list[str]:
    """Names for what has none."""
    return [str(i) for i in range(count)]


def as_floats(X: Matrix, source: str) -> Matrix:
    """X as a float64 array, or as a sparse array in rows whose indices lie within its shape."""
    if sparse.issparse(X):
        if X.dtype.kind not in "biuf":
            raise InputError(f"{source} holds values of type {X.dtype}, which are not numbers.")
        check_indices(X, source)
        csr = sparse.csr_array(X)
        csr.sum_duplicates()
        return csr.astype(np.float64, copy=False)
    X = np.asarray(unmasked(X))
    check_matrix(X, source)
    return np.ascontiguousarray(X, dtype=np.float64)


def check_matrix(array: Any, source: str) -> None:
    """Two dimensions of real numbers, of an array in memory or in a file."""
    if len(array.shape) != 2:
        raise InputError(
            f"{source} holds an array of shape {array.shape}, but a table has two dimensions, "
            "samples by features; reshape it."
        )
    if array.dtype.kind not in "biuf":
        raise InputError(
            f"{source} holds values of type {array.dtype}, which are not real numbers; convert "
            "them."
        )


def check_indices(X: Any, source: str) -> None:
    """Compiled loops trust the indices of a sparse matrix: one from a file may lie."""
    try:
        if X.format in ("csr", "csc", "bsr"):
            X.check_format(full_check=True)
        elif X.format == "coo" and X.nnz:
            for index, size in ((X.row, X.shape[0]), (X.col, X.shape[1])):
                if index.min() < 0 or index.max() >= size:
                    raise ValueError(f"index {index.max()} in a dimension of {size}")
    except ValueError as error:
        raise InputError(
            f"{source} holds a broken sparse matrix ({error}); write it again."
        ) from error


def check_unique(names: Sequence[str], what: str, remedy: str) -> None:
    """Names must tell apart what they name."""
    if len(set(names)) == len(names):
        return
    seen: set[str] = set()
    repeated: dict[str, None] = {}
    for name in names:
        if name in seen:
            repeated[name] = None
        seen.add(name)
    are = "is" if len(repeated) == 1 else "are"
    raise InputError(
        f"{what} must be unique, but {listed(map(repr, repeated), 5)} {are} repeated; {remedy}."
    )


def check_known(
    names: Sequence[str], known: Sequence[str], source: str, kind: str = "column"
) -> None:
    """A name that is not there is likely misspelt: say which one is near."""
    present = set(known)
    unknown = [Unknown(str(name)) for name in names if name not in present]
    if unknown:
        raise UnknownNameError(unknown, known, source, kind)


def check_features(found: Sequence[str], wanted: Sequence[str], source: str) -> None:
    """Features that are asked for must be there as numbers."""
    present = set(found)
    missing = [name for name in wanted if name not in present]
    if missing:
        raise MissingFeaturesError(
            f"{source} lacks {len(missing):,} of {len(wanted):,} features as columns of numbers: "
            f"{listed(map(repr, missing), 10)}; add them.",
            missing,
        )


def keep_features(table: Table, wanted: Sequence[str]) -> Table:
    """The table with these features only, in its own order."""
    check_features(table.features, wanted, table.source)
    chosen = set(wanted)
    columns = [j for j, name in enumerate(table.features) if name in chosen]
    return replace(table, X=table.X[:, columns], features=[table.features[j] for j in columns])


def take_id(annotations: Any, id: str, source: str) -> tuple[Any, list[str]]:
    """The names of the samples, and the annotations without the column that held them."""
    check_known([id], [str(name) for name in annotations.columns], source)
    return annotations.drop(columns=id), id_names(annotations[id], id, source)


def other_id() -> str:
    """Another column may name the samples."""
    return f"name another column with {parameter('id')}"


def id_names(column: Any, id: str, source: str) -> list[str]:
    """A column as names of samples: none missing, none twice."""
    what = f"column {id!r} of {source}" if id else f"the first column of {source}, without a name,"
    missing = np.flatnonzero(column.isna().to_numpy())
    if len(missing):
        raise InputError(
            f"{what} must name every sample, but is empty in {len(missing):,} of "
            f"{counted(len(column), 'row')}, "
            f"first in data row {missing[0] + 1:,}; fill them in, or {other_id()}."
        )
    names = [str(name) for name in column]
    check_unique(names, f"names of samples in {what}", f"mend them, or {other_id()}")
    return names


def unique_names(names: Iterable[Any]) -> list[str]:
    """The names, with -1, -2, … after those that occurred before, as scanpy does.

    Gene symbols are not unique in most annotations of a genome.

    Examples
    --------
    >>> from branchwise.data.table import unique_names
    >>> unique_names(["MATR3", "TBCE", "MATR3", "MATR3-1"])
    ['MATR3', 'TBCE', 'MATR3-2', 'MATR3-1']
    """
    names = [str(name) for name in names]
    if len(set(names)) == len(names):
        return names
    taken, count, unique = set(names), dict.fromkeys(names, 0), []
    seen: set[str] = set()
    for name in names:
        new = name
        while new in seen or (new != name and new in taken):
            count[name] += 1
            new = f"{name}-{count[name]}"
        seen.add(new)
        unique.append(new)
    return unique


def move_to_annotations(
    X: Matrix, features: list[str], annotations: Any, names: Sequence[str]
) -> tuple[Matrix, list[str], Any]:
    """Features that are not to be learnt from, but may be coloured by."""
    moved = set(names)
    out = [j for j, name in enumerate(features) if name in moved]
    if not out:
        return X, features, annotations
    kept = [j for j, name in enumerate(features) if name not in moved]
    frame = pandas_for_tables().DataFrame(
        dense_columns(X, out), columns=[features[j] for j in out], index=annotations.index
    )
    # A gene may be called as a column of obs, which is then the one that is meant.
    clash = [name for name in frame.columns if name in annotations.columns]
    # By position: names of samples may be repeated.
    annotations = pandas_for_tables().concat([annotations, frame.drop(columns=clash)], axis=1)
    return X[:, kept], [features[j] for j in kept], annotations


def check_no_infinity(
    X: Matrix, features: Sequence[str], samples: Sequence[str], source: str
) -> None:
    """Infinity is not a measurement; say where it is."""
    values = X.data if sparse.issparse(X) else X
    # A sum is finite unless something is not; only then look for it, at the price of a mask.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return
    if not np.isinf(values).any():
        return
    if sparse.issparse(X):
        entries = X.tocoo()
        found = np.isinf(entries.data)
        rows, columns = entries.row[found], entries.col[found]
    else:
        rows, columns = np.nonzero(np.isinf(X))
    names = [features[j] for j in np.unique(columns)]
    raise InputError(
        f"{source} has infinite values in {listed(map(repr, names), 5)}, the first for sample "
        f"{samples[rows[0]]!r}; replace them by numbers, or leave the cells empty."
    )


def as_table(data: Any, selection: Selection = EVERYTHING, date_order: DateOrder = None) -> Table:
    """A table, also of a DataFrame: numeric columns are features, others annotations.

    Numbers that are written as text are features, too, as in a file of text. What the selection
    excludes, annotates or does not include is not looked at, but for dates among what it
    annotates.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.data.table import as_table
    >>> table = as_table(pd.DataFrame({"hb": ["12.7", "n/a"], "ward": ["A", "B"]}))
    >>> table.features, table.X.tolist()
    (['hb'], [[12.7], [nan]])
    """
    if isinstance(data, Table):
        return data
    pandas = import_pandas()
    data = pandas_of(data, "data")
    if not isinstance(data, pandas.DataFrame):
        raise TypeError(
            f"data is a {type(data).__name__} but must be a pandas DataFrame, whose columns have "
            "names, or a Table; pass pandas.DataFrame(data, columns=names)."
        )
    names = [composed(str(name)) for name in data.columns]
    check_unique(names, "columns of the DataFrame", "rename them")
    if names != list(data.columns):
        data = data.set_axis(names, axis=1)
    # A duration is a number to pandas, but in no unit that was chosen.
    numeric = data.select_dtypes("number", exclude=["timedelta", "complex"])
    # Numbers beside None or NA are objects to pandas.
    objects = data.select_dtypes("object")
    mixed = [name for name in objects if are_numbers(objects[name].to_numpy())]
    converted = {name: numbers_of(objects[name].to_numpy()) for name in mixed}
    others = data.drop(columns=[*numeric.columns, *mixed])
    known = data[[*numeric.columns, *mixed]]
    converted |= numbers_in_text(others, known, selection, names)
    if converted:
        kept = {*numeric.columns, *converted}
        numeric = assigned(data[[name for name in data.columns if name in kept]], converted)
    codes = long_codes(data[list(numeric.columns)])
    numeric = numeric.drop(columns=codes)
    others, orders = with_read_dates(
        data.drop(columns=numeric.columns), selection.present(names), date_order
    )
    return Table(
        X=numeric.to_numpy(dtype=np.float64, na_value=np.nan),
        features=[str(name) for name in numeric.columns],
        samples=[str(name) for name in data.index],
        annotations=others,
        source="the DataFrame",
        chosen={"date_order": orders} if orders else {},
    )


def with_read_dates(
    others: Any, selection: Selection, date_order: DateOrder
) -> tuple[Any, DateOrder]:
    """Text among what is to be encoded as dates, where it is that, and their orders."""
    asked = set(selection.annotate)
    words = others[[name for name in others if str(name) in asked]]
    dates, notes, orders = dates_among(words, date_order)
    if isinstance(date_order, str):
        check_turned(notes, selection, "the DataFrame")
    remedy = "pass reading={'date_order': 'mdy'}"
    warn_of_dates(worth_telling(notes, selection), "the DataFrame", remedy)
    dates = usable_dates(dates, selection)
    found = date_order if isinstance(date_order, str) else orders
    return (assigned(others, dates) if dates else others), found


def numbers_in_text(
    others: Any, numbers: Any, selection: Selection, names: Sequence[str]
) -> dict[Any, Any]:
    """Columns of a DataFrame that hold numbers written as text, as numbers.

    What seems to hold numbers and cannot be read is told, as for files of text.
    """
    spared = {str(name) for name in others} & left_out_by(selection.present(names), names)
    if names and has_names_first(others[[name for name in others if str(name) == names[0]]]):
        spared.add(names[0])  # text that names the samples
    wanted = [name for name in others if str(name) not in spared]
    looked = {
        name: look_at_cells(others[name], is_number=selection.features is not None)
        for name in wanted
    }
    found = {name: each.numbers for name, each in looked.items() if each.numbers is not None}
    odd = [each.odd for each in looked.values() if each.odd is not None]
    fine = [str(name) for name in [*numbers, *others] if name not in looked or name in found]
    can_exclude, source = selection.features is None, "the DataFrame"
    same = unvarying(numbers) if odd else []
    raise_unreadable(odd, fine if can_exclude else None, source, {}, len(others), same)
    if can_exclude:
        warn_of_units([each.unit for each in looked.values() if each.unit], source)
        mixed = [each.mixed for each in looked.values() if each.mixed]
        mixed = [each for each in mixed if not ID_NAME.fullmatch(each.name.lower())]
        warn_of_mixed(mixed, source, names)
        warn_of_categories(others[wanted])
    return found


def ends_of(numbers: Any) -> list[Any]:
    """The smallest and the largest, if there are any."""
    return [numbers.min(), numbers.max()] if len(numbers) else []


def long_codes(frame: Any) -> list[str]:
    """Columns of whole numbers that are too long for measurements: in decimals, digits are lost.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.data.table import long_codes
    >>> long_codes(pd.DataFrame({"age": [71, 64], "ward": [2**53, 2**53 + 1], "crp": [3.5, 1e20]}))
    ['ward']
    """
    whole = frame.select_dtypes("integer")
    known = {name: ends_of(whole[name].dropna()) for name in whole}
    for name, cells in frame.select_dtypes("object").items():
        known[name] = [cell for cell in cells if isinstance(cell, Integral)]
    return [
        name
        for name, cells in known.items()
        if cells and (max(cells) >= INEXACT or min(cells) <= -INEXACT)
    ]
