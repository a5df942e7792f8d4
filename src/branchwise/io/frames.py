"""Columns of a data frame -> names of samples, features and annotations."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..data.composed import composed
from ..data.dates import DateOrder, check_order
from ..data.errors import InputError
from ..data.judging import (
    ANNOTATION,
    FEATURE,
    ID_NAME,
    ODD,
    Column,
    check_turned,
    dates_among,
    has_names_first,
    look_at_columns,
    missing_values,
    name_column,
    unvarying,
    usable_dates,
    worth_telling,
)
from ..data.selection import Selection
from ..data.table import (
    Table,
    check_features,
    check_unique,
    id_names,
    make_table,
)
from ..data.unreadable import (
    raise_unreadable,
    warn_of_dates,
    warn_of_mixed,
    warn_of_repeats,
    warn_of_stored,
    warn_of_units,
)


class Framed(NamedTuple):
    """A file as a data frame, before its columns are sorted.

    Attributes
    ----------
    frame : pandas.DataFrame
    typed : bool
        Whether the file declares types, so that digits stored as text are text on purpose.
    sha256 : str or None
        Of the file, where it was taken on the way.
    decimal : {".", ","}
        The decimal sign of a file of text.
    """

    frame: Any
    typed: bool = True
    sha256: str | None = None
    decimal: str = "."


def table_from_frame(
    framed: Framed, source: str, selection: Selection, *, date_order: DateOrder = None
) -> Table:
    """Numbers are features, everything else is an annotation; or as the selection says."""
    frame = framed.frame
    frame.columns = [composed(str(name)) for name in frame.columns]
    sorted_ = sort_columns(
        frame, list(frame.columns), source, selection, typed=framed.typed, date_order=date_order
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
    table = make_table(
        X,
        found,
        sorted_.samples,
        sorted_.annotations,
        source,
        needs_features=not sorted_.selection.annotate,
    )
    chosen = sorted_.chosen()
    if framed.decimal != ".":
        chosen["decimal"] = framed.decimal
    return replace(table, chosen=chosen, sha256=framed.sha256, id=sorted_.id)


class Sorted(NamedTuple):
    """What the columns of a table are."""

    samples: list[str] | None
    features: list[str]
    converted: dict[str, Any]  # features that are not numbers in the file, as such
    annotations: Any
    selection: Selection  # with names in the place of patterns
    id: str | None  # the column that names them
    date_order: DateOrder = None  # as given, or as the dates themselves tell

    def chosen(self) -> dict[str, Any]:
        """How the next table is to be read."""
        order = {} if self.date_order is None else {"date_order": self.date_order}
        return self.selection.given() | order


def sort_columns(
    frame: Any,
    names: Sequence[str],
    source: str,
    selection: Selection,
    *,
    typed: bool,
    date_order: DateOrder = None,
) -> Sorted:
    """Which columns name the samples, are features or are annotations.

    `names` are all columns in their order; those that the frame lacks are numbers that have not
    been read, and no annotations.
    """
    check_unique(names, f"column names of {source}", "rename them")
    check_order(date_order)
    selection = selection.among([name for name in names if name], source)
    id = name_column(frame, names, selection)
    samples = None if id is None else id_names(frame[id], id, source)
    columns = look_at_columns(frame, names, selection, id, typed=typed)
    # Of what is adjusted for, "unknown" is a gap among numbers, not one level of many.
    converted = {
        each.name: each.looked.numbers
        for each in columns
        if each.looked.numbers is not None and not each.is_as_written
    }
    found = [each.name for each in columns if each.fate == FEATURE]
    annotations = [each.name for each in columns if each.fate == ANNOTATION and each.name in frame]
    odd = [each.looked.odd for each in columns if each.fate == ODD and each.looked.odd is not None]
    left_out = {each.name for each in columns if each.is_left_out}
    units = [
        each.looked.unit
        for each in columns
        if each.looked.unit is not None and not each.is_left_out
    ]
    names = [name for name in names if name != id]
    gaps = missing_values(frame, found, converted) if odd else {}
    wrong = {each.name for each in odd}
    fine = [name for name in names if name not in wrong]
    others = fine if selection.features is None else None
    same = unvarying(frame[[name for name in found if name in frame]]) if odd else []
    raise_unreadable(odd, others, source, gaps, len(frame), same)
    check_features(found, selection.features or (), source)
    warn_of_units(units, source)
    warn_of_words(columns, source)
    if not found and not selection.annotate:
        left = (
            "its one column is an annotation"
            if len(annotations) == 1
            else f"its {len(annotations):,} columns are annotations"
        )
        raise InputError(
            f"{source} has no numeric column to learn from: {left} or excluded; write "
            "measurements as plain numbers, separate them by commas, semicolons or tabs, or "
            "exclude fewer."
        )
    if id is None:
        warn_of_first(frame, names, source, selection)
    kept = {name: numbers for name, numbers in converted.items() if name in left_out}
    words = frame[[name for name in annotations if name not in kept]]
    dates, notes, orders = dates_among(words, date_order)
    if isinstance(date_order, str):
        check_turned(notes, selection, source)
    warn_of_dates(worth_telling(notes, selection), source)
    dates = usable_dates(dates, selection)
    converted = {name: converted[name] for name in found if name in converted}
    about = frame[annotations].copy(deep=False)
    for name, values in (kept | dates).items():
        about[name] = values
    told = date_order if isinstance(date_order, str) else orders
    return Sorted(samples, found, converted, about, selection, id, told or None)


def warn_of_words(columns: Sequence[Column], source: str) -> None:
    """Say which columns of text have numbers, and are not features."""
    looked = [
        each
        for each in columns
        if not each.is_left_out and not ID_NAME.fullmatch(each.name.lower())
    ]
    mixed = [each.looked.mixed for each in looked if each.looked.mixed is not None]
    warn_of_mixed(mixed, source, [each.name for each in columns])
    warn_of_stored([each.name for each in looked if each.looked.is_stored], source)


def warn_of_first(frame: Any, names: Sequence[str], source: str, selection: Selection) -> None:
    """Say why the first column does not name the samples, if it is called like that.

    Of one that options name as something else nothing is said.
    """
    is_named = {*selection.exclude, *selection.annotate}
    first = frame[[name for name in names[:1] if name in frame and name not in is_named]]
    if has_names_first(first):
        warn_of_repeats(first[names[0]], source, is_fit=selection.features is None)
