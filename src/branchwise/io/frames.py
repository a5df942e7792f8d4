"""Columns of a data frame -> names of samples, features and annotations."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..data.table import (
    InputError,
    Table,
    check_features,
    check_known,
    check_unique,
    id_names,
    make_table,
    pandas_for_tables,
)

# What an empty cell is called, apart from what text_tables takes as missing in every column: in
# a column of words these may be words ("None" is a therapy), among numbers they are not.
MISSING_AMONG_NUMBERS = frozenset(
    [
        "-",
        "--",
        ".",
        "..",
        "?",
        "*",
        "none",
        "missing",
        "unknown",
        "nd",
        "n.d.",
        "n.a.",
        "#n/a",
        "#value!",
        "#div/0!",
        "#num!",
        "#ref!",
        "na",
        "nan",
    ]
)
ID_NAME = re.compile(
    r"(.+[ _.-])?id|index|row_?names"
    r"|(sample|cell|barcode|patient|subject|participant|donor)s?"
    r"([ _.-]?(id|name|barcode|no|nr|number))?"
)
# A number, or what was meant as one: "<5", "1,5", "1 234", "12 %".
MEANT_AS_NUMBER = re.compile(
    r"[<>≤≥=~±\s]*[+-]?"
    r"(\d+([.,]\d*)?|[.,]\d+|\d{1,3}([ ,.']\d{3})+([.,]\d+)?)"
    r"([eE][+-]?\d+)?\s*[%*]?"
)


def table_from_frame(
    frame: Any,
    source: str,
    *,
    id: str | None,
    exclude: Sequence[str],
    features: Sequence[str] | None = None,
    typed: bool,
) -> Table:
    """Numbers are features, everything else is an annotation; or these are the features.

    `typed` says that the file declares types, so that digits stored as text are text on purpose.
    """
    frame.columns = [str(name) for name in frame.columns]
    sorted_ = sort_columns(
        frame, list(frame.columns), source, id=id, exclude=exclude, features=features, typed=typed
    )
    found, converted = sorted_.features, sorted_.converted
    # All at once: a table of genes has too many columns to look at each.
    plain = [name for name in found if name not in converted]
    X = frame[plain].to_numpy(dtype=np.float64)
    if converted:
        joined = np.empty((len(frame), len(found)))
        position = {name: j for j, name in enumerate(found)}
        joined[:, [position[name] for name in plain]] = X
        for name, numbers in converted.items():
            joined[:, position[name]] = numbers
        X = joined
    return make_table(X, found, sorted_.samples, sorted_.annotations, source)


class Sorted(NamedTuple):
    """What the columns of a table are."""

    samples: list[str] | None
    features: list[str]
    converted: dict[str, Any]  # features that are not numbers in the file, as such
    annotations: Any


def sort_columns(
    frame: Any,
    names: Sequence[str],
    source: str,
    *,
    id: str | None,
    exclude: Sequence[str],
    features: Sequence[str] | None,
    typed: bool,
) -> Sorted:
    """Which columns name the samples, are features or are annotations.

    `names` are all columns in their order; those that the frame lacks are numbers that have not
    been read, and no annotations.
    """
    check_unique(names, f"column names of {source}", "rename them")
    check_known([*exclude, *([] if id is None else [id])], names, source)
    first = frame[[name for name in names[:1] if name in frame]]
    id = default_id(first) if id is None else id
    samples = None if id is None else id_names(frame[id], id, source)
    names = [name for name in names if name != id]
    left_out = set(exclude) if features is None else set(names) - set(features)
    if samples is None and features is None and has_names_first(first):
        left_out.add(names[0])  # of several rows each, such as visits of a patient
    found: list[str] = []
    annotations: list[str] = []
    converted: dict[str, Any] = {}
    kept: dict[str, Any] = {}
    dtypes = dict(zip(frame.columns, frame.dtypes, strict=True))
    for name in names:
        dtype = dtypes.get(name, np.dtype(np.float64))
        if name in left_out:
            if name in dtypes:
                annotations.append(name)
            if name in exclude:
                kept[name] = numbers_or_text(frame[name], source, typed=typed)
        elif isinstance(dtype, np.dtype) and dtype.kind in "iuf":
            found.append(name)
        elif (numbers := as_numbers(frame[name], source, typed=typed)) is not None:
            found.append(name)
            converted[name] = numbers
        else:
            annotations.append(name)
    check_features(found, features or (), source)
    if not found:
        raise InputError(
            f"{source} has no numeric column to learn from: its {len(annotations)} columns are "
            "annotations or excluded; write measurements as plain numbers, separate them by "
            "commas, semicolons or tabs, or exclude fewer."
        )
    return Sorted(samples, found, converted, frame[annotations].assign(**kept))


def is_unnamed(name: str) -> bool:
    """Whether pandas writes, or reads again, an index without a name like this."""
    return name in ("", "Unnamed: 0")


def default_id(frame: Any) -> str | None:
    """The first column, if it has no name, or holds names that tell samples apart."""
    if frame.shape[1] == 0:
        return None
    name = str(frame.columns[0])
    if is_unnamed(name):
        return name
    column = frame[name]
    tells_apart = has_names_first(frame) and column.notna().all() and column.is_unique
    return name if tells_apart else None


def has_names_first(frame: Any) -> bool:
    """Whether the first column is called like "patient" and holds words or whole numbers.

    Measurements with a fraction are no names, whatever the column is called.
    """
    if frame.shape[1] == 0 or not ID_NAME.fullmatch(frame.columns[0].lower()):
        return False
    pandas = pandas_for_tables()
    column = frame[frame.columns[0]].dropna()
    if pandas.api.types.infer_dtype(column) not in ("string", "integer"):
        return False
    numbers = pandas.to_numeric(column, errors="coerce").to_numpy(float)
    return not (np.isfinite(numbers).all() and (numbers != np.round(numbers)).any())


def as_numbers(column: Any, source: str, *, typed: bool) -> Any:
    """The column as float64 with NaN for missing values; None if it is an annotation.

    Text of which most was meant as numbers is neither, and an error.
    """
    types = pandas_for_tables().api.types
    if types.is_bool_dtype(column.dtype) or types.is_complex_dtype(column.dtype):
        return None
    if types.is_numeric_dtype(column.dtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if types.infer_dtype(column, skipna=True) not in ("string", "empty"):
        return None
    if isinstance(column.dtype, pandas_for_tables().CategoricalDtype):
        return None
    return text_as_numbers(column, source, typed=typed)


def numbers_or_text(column: Any, source: str, *, typed: bool) -> Any:
    """A column that is no feature: among numbers "unknown" is a gap, as it is in features.

    What is adjusted for would otherwise have a level for each number.
    """
    if pandas_for_tables().api.types.is_numeric_dtype(column.dtype):
        return column
    try:
        numbers = as_numbers(column, source, typed=typed)
    except InputError:
        return column
    return column if numbers is None else numbers


def text_as_numbers(column: Any, source: str, *, typed: bool) -> Any:
    """As `as_numbers`, for text: what a CSV file is made of."""
    pandas = pandas_for_tables()
    present = np.flatnonzero(column.notna().to_numpy())
    text = np.array([cell.strip() for cell in column.to_numpy(object)[present]], dtype=object)
    spelt = np.array([cell.lower() in MISSING_AMONG_NUMBERS or not cell for cell in text], bool)
    rows, text = present[~spelt], text[~spelt]
    good = ~np.isnan(pandas.to_numeric(pandas.Series(text, dtype=object), errors="coerce"))
    good = np.asarray(good, dtype=bool)
    if typed and (good.all() or not len(text)):
        return None
    if not good.all():
        meant = np.array([MEANT_AS_NUMBER.fullmatch(cell) is not None for cell in text])
        if np.mean(meant | good) <= 0.5:
            return None
        first = int(np.argmin(good))
        n_bad = int(np.sum(~good))
        raise InputError(
            f"column {column.name!r} of {source} seems to hold numbers, but {n_bad} of its "
            f"{len(column)} cells cannot be read as such, the first {text[first]!r} in data row "
            f"{rows[first] + 1}; "
            "mend the cells (an empty cell is a missing value, a decimal sign is a point) "
            "or exclude the column."
        )
    if not len(text) and spelt.any():
        return None
    numbers = np.full(len(column), np.nan)
    numbers[rows] = [float(cell) for cell in text]
    return numbers
