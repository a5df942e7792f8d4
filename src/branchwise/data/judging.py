"""What the columns of a data frame are: names, numbers, dates, words, or neither."""

import re
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from .._compat import import_pandas
from .._messages import parameter
from .cells import Looked, Odd, look_at_text
from .dates import DateOrder, as_dates, order_of
from .errors import InputError
from .instants import instants
from .selection import Selection

ID_NAME = re.compile(
    r"(.+[ _.-])?id|index|row_?names"
    r"|(sample|cell|barcode|patient|subject|participant|donor)s?"
    r"([ _.-]?(id|name|barcode|no|nr|number))?"
)


# What becomes of a column.
ID, FEATURE, ANNOTATION, ODD = "id", "feature", "annotation", "odd"


class Column(NamedTuple):
    """A column of a table, and what becomes of it.

    Attributes
    ----------
    name : str
    fate : str
        ID, FEATURE, ANNOTATION or ODD.
    looked : Looked
        What a column is that NumPy does not hold as numbers.
    is_left_out : bool
        Not a feature, whatever it holds.
    is_as_written : bool
        Numbers among its words are not looked for.
    """

    name: str
    fate: str
    looked: Looked = Looked()
    is_left_out: bool = False
    is_as_written: bool = False


def name_column(frame: Any, names: Sequence[str], selection: Selection) -> str | None:
    """The column that names the samples; `names` are all columns, also those that are not read."""
    if selection.id is not None:
        return selection.id
    return default_id(frame[[name for name in names[:1] if name in frame]])


def look_at_columns(
    frame: Any, names: Sequence[str], selection: Selection, id: str | None, *, typed: bool
) -> list[Column]:
    """What becomes of each column, in their order; nothing is wrong enough to stop here.

    Names that the frame lacks are of numbers that have not been read.
    """
    others = [name for name in names if name != id]
    left_out, as_written = left_out_by(selection, others), {*selection.annotate}
    first = frame[[name for name in names[:1] if name in frame]]
    if id is None and selection.features is None and has_names_first(first):
        left_out.add(names[0])  # of several rows each, such as visits of a patient
        as_written.add(names[0])
    types = import_pandas().api.types
    dtypes = dict(zip(frame.columns, frame.dtypes, strict=True))
    found = []
    for name in names:
        dtype = dtypes.get(name, np.dtype(np.float64))
        if name == id:
            found.append(Column(name, ID))
        elif isinstance(dtype, np.dtype) and dtype.kind in "iuf":
            is_out = name in left_out
            found.append(Column(name, ANNOTATION if is_out else FEATURE, Looked(), is_out))
        elif name in left_out:
            is_number = types.is_numeric_dtype(dtype) and not types.is_bool_dtype(dtype)
            keeps = name in as_written or is_number
            found.append(Column(name, ANNOTATION, look_at(frame[name], typed=typed), True, keeps))
        else:
            # What is asked for as a feature is not text on purpose.
            is_typed = typed and selection.include is None
            is_number = selection.features is not None
            looked = look_at(frame[name], typed=is_typed, is_number=is_number)
            if selection.include is not None and looked.numbers is None and looked.odd is None:
                looked = looked._replace(odd=described(frame[name]))
            fate = FEATURE if looked.numbers is not None else ANNOTATION
            found.append(Column(name, fate if looked.odd is None else ODD, looked))
    return found


def left_out_by(selection: Selection, names: Sequence[str]) -> set[str]:
    """The columns that are not features, whatever they hold."""
    out = {*selection.exclude, *selection.annotate}
    for chosen in (selection.features, selection.include):
        if chosen is not None:
            out |= set(names) - set(chosen)
    return out


def look_at(column: Any, *, typed: bool, is_number: bool = False) -> Looked:
    """A column that NumPy does not hold as numbers: numbers with NaN, or what it is otherwise."""
    pandas = import_pandas()
    types = pandas.api.types
    if types.is_bool_dtype(column.dtype) or types.is_complex_dtype(column.dtype):
        return Looked()
    if types.is_numeric_dtype(column.dtype):
        return Looked(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if isinstance(column.dtype, pandas.CategoricalDtype):
        return Looked()
    kind = types.infer_dtype(column, skipna=True)
    if kind not in ("string", "empty"):
        return Looked()
    return look_at_text(column, typed=typed, is_number=is_number)


def look_at_cells(column: Any, *, is_number: bool = False) -> Looked:
    """A column of a DataFrame of text, or of text beside numbers, as a file of text has it.

    Categories are not numbers unless the column is known to be one of numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.data.judging import look_at_cells
    >>> look_at_cells(pd.Series([12.7, "n/a", None, "13"])).numbers
    array([12.7,  nan,  nan, 13. ])
    """
    types = import_pandas().api.types
    if isinstance(column.dtype, import_pandas().CategoricalDtype) and is_number:
        column = column.astype(object).map(str, na_action="ignore")
    if not (types.is_object_dtype(column.dtype) or types.is_string_dtype(column.dtype)):
        return Looked()
    if types.infer_dtype(column, skipna=True) != "string":
        known = column.to_numpy(object)[column.notna().to_numpy()]
        is_text = [isinstance(cell, str) for cell in known]
        if not any(is_text) or not all(map(is_text_or_number, known)):
            return Looked()
        column = column.map(str, na_action="ignore")
    return look_at_text(column, typed=False, is_number=is_number)


def is_text_or_number(cell: Any) -> bool:
    """Whether a cell is text or a number; truth values and dates are neither."""
    return isinstance(cell, str | Real | Decimal) and not isinstance(cell, bool | np.bool_)


def described(column: Any) -> Odd:
    """A column of words that was to be a feature."""
    known = np.flatnonzero(column.notna().to_numpy())
    row = int(known[0]) if len(known) else 0
    texts = column.iloc[known].astype(str)
    first = texts.iloc[0] if len(known) else ""
    return Odd(
        str(column.name), "text", len(known), len(column), first, row + 1, int(texts.nunique())
    )


def unvarying(frame: Any) -> list[str]:
    """Columns of numbers that are the same in all rows, or empty.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.data.judging import unvarying
    >>> unvarying(pd.DataFrame({"a": [0, 0], "b": [1, 2], "c": [None, 1.5], "d": ["x", "x"]}))
    ['a', 'c']
    """
    numbers = frame.select_dtypes("number", exclude=["timedelta", "complex"])
    varies = numbers.min() != numbers.max()
    varies &= numbers.notna().any()
    return [str(name) for name in numbers.columns[~varies.to_numpy(bool)]]


def missing_values(frame: Any, found: Sequence[str], converted: dict[str, Any]) -> dict[str, int]:
    """How many values each feature lacks, most first; complete ones are left out."""
    plain = frame[[name for name in found if name in frame and name not in converted]].isna().sum()
    counts = {str(name): int(count) for name, count in plain.items()}
    counts |= {name: int(np.isnan(converted[name]).sum()) for name in found if name in converted}
    order = sorted((name for name in found if counts.get(name)), key=lambda name: -counts[name])
    return {name: counts[name] for name in order}


def dates_among(
    frame: Any, order: DateOrder
) -> tuple[dict[str, Any], dict[str, str], dict[str, str]]:
    """Columns of text that are dates, as such, what is to be said of them, and their orders.

    What does not fit the order of its own column is left to who knows that order.
    """
    types = import_pandas().api.types
    found, notes, orders = dict[str, Any](), dict[str, str](), dict[str, str]()
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        if types.is_object_dtype(dtype) or types.is_string_dtype(dtype):
            dates = as_dates(frame[name], order_of(order, name))
            found |= {} if dates.values is None else {name: dates.values}
            is_known = not isinstance(order, str | None) and name in order
            notes |= {name: dates.note} if dates.note and not is_known else {}
            orders |= {} if dates.order is None else {name: dates.order}
    return found, notes, orders


def usable_dates(dates: dict[str, Any], selection: Selection) -> dict[str, Any]:
    """Columns of dates but for those to be encoded that cannot be: cells are shown as written.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.data.judging import usable_dates
    >>> from branchwise.data.selection import Selection
    >>> found = {"seen": pd.Series(["9999-12-31"], dtype="datetime64[s]")}
    >>> [list(usable_dates(found, Selection(annotate=names))) for names in ([], ["seen"])]
    [['seen'], []]
    """
    asked = set(selection.annotate)
    return {
        name: values
        for name, values in dates.items()
        if name not in asked or not instants(values).is_wrong.any()
    }


def check_turned(notes: dict[str, str], selection: Selection, source: str) -> None:
    """Dates to be encoded are not read in another order than the one that was asked for.

    Examples
    --------
    >>> from branchwise.data.selection import Selection
    >>> from branchwise.data.judging import check_turned
    >>> notes = {"seen": "'31/01/2020', which is not a date with the month first"}
    >>> check_turned(notes, Selection(annotate=["seen"]), "a.csv")
    Traceback (most recent call last):
    ...
    branchwise.data.errors.InputError: 'seen' of a.csv holds '31/01/2020', which is not a date with
    the month first, as date_order says; write such dates as 2020-01-31, or leave date_order out ...
    """
    asked = set(selection.annotate)
    turned = [
        f"{name!r} of {source} holds {note}"
        for name, note in notes.items()
        if name in asked and note.endswith(" first")
    ]
    if turned:
        raise InputError(
            f"{'; '.join(turned)}, as {parameter('date_order')} says; write such dates as "
            f"2020-01-31, or leave {parameter('date_order')} out to let the values of each column "
            "tell."
        )


def worth_telling(notes: dict[str, str], selection: Selection) -> dict[str, str]:
    """Notes on dates, without what is wrong with those to be encoded, which is told there.

    Examples
    --------
    >>> from branchwise.data.selection import Selection
    >>> from branchwise.data.judging import worth_telling
    >>> worth_telling({"seen": "dates in 9 of 10 cells", "born": ""}, Selection(annotate=["seen"]))
    {'born': ''}
    """
    asked = set(selection.annotate)
    return {
        name: note
        for name, note in notes.items()
        if (note.startswith("day first") if name in asked else selection.features is None)
    }


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

    Measurements with a fraction are not names, whatever the column is called.
    """
    if frame.shape[1] == 0 or not ID_NAME.fullmatch(frame.columns[0].lower()):
        return False
    pandas = import_pandas()
    column = frame[frame.columns[0]].dropna()
    if pandas.api.types.infer_dtype(column) not in ("string", "integer"):
        return False
    numbers = pandas.to_numeric(column, errors="coerce").to_numpy(float)
    return not (np.isfinite(numbers).all() and (numbers != np.round(numbers)).any())
