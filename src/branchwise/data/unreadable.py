"""What is wrong with the columns of a table, all of it in one message, with what to do."""

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from .._compat import import_pandas
from .._messages import counted, listed, parameter, setting
from .categories import are_numbers
from .cells import Mixed, Odd, WithUnit
from .errors import UnreadableColumns
from .selection import look_up, shortest, way_out

# For each kind: what its columns have, and how to mend the cells.
KINDS = {
    "limit": (
        "limits such as {first!r}",
        "write a number in their place (half of the limit, for instance), or leave the cells empty",
    ),
    "comma": ("decimal commas", "write the decimal sign as a point"),
    "percent": ("per cent signs", "write the number alone"),
    "minus": ("minus signs of print", "write the hyphen of the keyboard in their place"),
    "thousands": ("signs between thousands", "write numbers without them"),
    "unit": ("units", "write the number alone"),
    "large": ("numbers beyond 1.8e308", "leave the cells empty if the value is not known"),
    "word": (
        "words among numbers",
        "leave the cells empty where a value is missing",
    ),
    "text": ("words", "include only columns of numbers"),
}
# Columns with at most so many different cells may be categories.
MOST_LEVELS = 12
# More columns of words than these are not categories that somebody meant.
MOST_CATEGORIES = 10
# Columns of a kind that a message names.
MOST_NAMED = 5


def raise_unreadable(
    odd: Sequence[Odd],
    others: Sequence[str] | None,
    source: str,
    missing: Mapping[str, int],
    n_samples: int,
    same: Collection[str] = (),
) -> None:
    """Complain of all columns that cannot be read, by kind, if there are any.

    Parameters
    ----------
    odd : sequence of Odd
    others : sequence of str
        The columns that are fine, which no suggestion must hit; None where nothing can be
        excluded, as what a model needs.
    source : str
    missing : mapping of str to int
        Missing values of these.
    n_samples : int
    same : collection of str
        Those of the others that are the same in all rows; a suggestion may hit these.
    """
    if not odd:
        return
    parts = [part for each in odd for part in each.parts or (each,)]
    kinds = [kind for kind in KINDS if any(each.kind == kind for each in parts)]
    groups = [[each for each in parts if each.kind == kind] for kind in kinds]
    lines = "\n".join(f"- {group_message(group, others, same)}" for group in groups)
    are = counted(len(odd), "column is", "columns are")
    message = (
        f"{are} meant as numbers in {source}, but cannot be read as such; nothing "
        f"was read.\n{lines}"
    )
    raise UnreadableColumns(message, missing, n_samples, source)


def group_message(
    group: Sequence[Odd], others: Sequence[str] | None, same: Collection[str] = ()
) -> str:
    """What columns of one kind have in common, and what to do about it."""
    names, first = [each.name for each in group], group[0]
    told = listed(map(repr, names), MOST_NAMED)
    cells = counted(first.n_cells, "cell")
    example = f"{first.n_bad:,} of {cells}"
    if len(names) > 1:
        example = f"{first.name!r} has {first.n_bad:,} in {cells}"
    remedy = capital(remedy_of(group, others, same))
    return (
        f"{what_of(group)} in {counted(len(names), 'column')} ({told}): {example}, the "
        f"first {first.first!r} in data row {first.row:,}. {remedy}"
    )


def what_of(group: Sequence[Odd]) -> str:
    """What columns of one kind have in their cells."""
    return KINDS[group[0].kind][0].format(first=group[0].first)


def capital(text: str) -> str:
    """Text as the start of a sentence.

    Examples
    --------
    >>> from branchwise.data.unreadable import capital
    >>> capital("write CSV.")
    'Write CSV.'
    """
    return text[:1].upper() + text[1:]


def remedy_of(
    group: Sequence[Odd], others: Sequence[str] | None, same: Collection[str] = ()
) -> str:
    """What to do about columns of one kind; without others only what to do in the file.

    Patterns may take along columns that are the `same` in all rows, of which nothing is learned.

    Examples
    --------
    >>> from branchwise.data.cells import Odd
    >>> from branchwise.data.unreadable import remedy_of
    >>> remedy_of([Odd("hb", "comma", 1, 9, "1,5", 1, 9)], ["age"])
    "write the decimal sign as a point, or leave the column out: exclude=['hb']."
    """
    mend = KINDS[group[0].kind][1]
    if others is None:
        return f"{mend}."
    is_same = set(same)
    patterns = shortest([each.name for each in group], [n for n in others if n not in is_same])
    column = "column" if len(group) == 1 else "columns"
    names = {each.name for each in group}
    also = look_up([each for each in patterns if each not in names], sorted(is_same - names), "")[0]
    hit = counted(len(also), "column that is", "columns that are")
    more = f" (with {hit} the same in all rows)" if also else ""
    text = f"{mend}, or leave the {column} out: {way_out('exclude', patterns)}{more}."
    levels = {each.name: each.n_levels for each in group}
    few = [name for name in patterns if levels.get(name, MOST_LEVELS + 1) <= MOST_LEVELS]
    if group[0].kind in ("word", "text") and 0 < len(few) <= MOST_CATEGORIES:
        text += f" As categories: {way_out('categorical', few)}."
    return text


def warn_of_units(columns: Sequence[WithUnit], source: str) -> None:
    """Say which columns are numbers with units, and so are not features."""
    if not columns:
        return
    shown = [f"{each.name!r} ({each.first!r} in data row {each.row:,})" for each in columns]
    has = "has numbers with a unit and is" if len(columns) == 1 else "have numbers with units, are"
    not_a = "not a feature" if len(columns) == 1 else "not features"
    mixed = [
        f"{each.name!r} has {listed([unit or 'none' for unit in each.units], MOST_NAMED)}"
        for each in columns
        if len(each.units) > 1
    ]
    also = f" Units differ within a column: {listed(mixed, MOST_NAMED)}." if mixed else ""
    warnings.warn(
        f"{listed(shown, MOST_NAMED)} of {source} {has} {not_a}; write the number alone "
        f"({columns[0].number}), and the unit into the name of the column.{also}",
        stacklevel=2,
    )


def warn_of_mixed(columns: Sequence[Mixed], source: str, names: Sequence[str]) -> None:
    """Say which columns of words have numbers, and so may have been meant as features.

    `names` are all columns of the table.
    """
    if not columns:
        return
    found = [each.name for each in columns]
    shown = [
        f"{each.name!r} (numbers in {each.n_numbers:,} of {counted(each.n_known, 'known cell')}, "
        f"but {each.first!r} in data row {each.row:,})"
        for each in columns
    ]
    one = len(columns) == 1
    is_not = "is not a feature" if one else "are not features"
    patterns = shortest(found, sorted(set(names).difference(found)))
    warnings.warn(
        f"{listed(shown, MOST_NAMED)} of {source} {is_not}; write each number alone and leave the "
        f"other cells empty, or say that {'this is' if one else 'these are'} no measurement"
        f"{'' if one else 's'} by {way_out('exclude', patterns)}.",
        stacklevel=2,
    )


def warn_of_stored(names: Sequence[str], source: str) -> None:
    """Say which columns are numbers, although the file has them as text.

    Examples
    --------
    >>> import warnings
    >>> from branchwise.data.unreadable import warn_of_stored
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     warn_of_stored(["hb"], "a.dta")
    >>> print(said[0].message)
    'hb' of a.dta holds numbers stored as text and is not a feature; store it as numbers, or name
    all features with include.
    """
    if names:
        one = len(names) == 1
        holds, them = ("holds", "it") if one else ("hold", "them")
        warnings.warn(
            f"{listed(map(repr, names), MOST_NAMED)} of {source} {holds} numbers stored as text "
            f"and {'is not a feature' if one else 'are not features'}; store {them} as numbers, or "
            f"name all features with {parameter('include')}.",
            stacklevel=2,
        )


def warn_of_repeats(column: Any, source: str, *, is_fit: bool) -> None:
    """Say why a column that is called like one of names does not name the samples."""
    name = str(column.name)
    known = column.dropna()
    twice = list(map(str, dict.fromkeys(known[known.duplicated()])))
    if not twice:
        return
    depend = (
        " Rows of one patient are not independent, but p of new rows and resamples take them as "
        f"such and are too sure: keep one row of each, or pass {setting('id', name)} for an error "
        "that names them."
    )
    warnings.warn(
        f"{name!r} of {source} names some rows twice ({listed(map(repr, twice), MOST_NAMED)}), so "
        f"that rows are numbered and it is an annotation.{depend if is_fit else ''}",
        stacklevel=2,
    )


def warn_of_categories(frame: Any) -> None:
    """Say which columns of a DataFrame are categories although they hold numbers.

    Examples
    --------
    >>> import warnings
    >>> import pandas as pd
    >>> from branchwise.data.unreadable import warn_of_categories
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     warn_of_categories(pd.DataFrame({"grade": pd.Categorical([1, 2, 1])}))
    >>> print(said[0].message)
    'grade' of the DataFrame has the type category, although its categories are numbers, and is not
    a feature; ...
    """
    pandas = import_pandas()
    found = [
        str(name)
        for name, dtype in frame.dtypes.items()
        if isinstance(dtype, pandas.CategoricalDtype) and is_of_numbers(dtype.categories)
    ]
    if found:
        has, are = ("has", "is not a feature") if len(found) == 1 else ("have", "are not features")
        its = "its" if len(found) == 1 else "their"
        warnings.warn(
            f"{listed(map(repr, found), MOST_NAMED)} of the DataFrame {has} the type category, "
            f"although {its} categories are numbers, and {are}; write measurements with "
            f"astype(float), or name categories in {parameter('categorical')}.",
            stacklevel=2,
        )


def is_of_numbers(categories: Any) -> bool:
    """Whether there are categories, and all are numbers."""
    return len(categories) > 0 and are_numbers(categories.to_numpy())


def warn_of_dates(notes: Mapping[str, str], source: str, remedy: str = "") -> None:
    """Say how dates were read that can be read in two ways."""
    remedy = remedy or f"read them with {setting('date_order', 'mdy')}"
    ambiguous = {name: note for name, note in notes.items() if note.startswith("day first")}
    if ambiguous:
        [(name, note), *_] = ambiguous.items()
        warnings.warn(
            f"dates in {listed(map(repr, ambiguous), MOST_NAMED)} of {source} fit both with day "
            f"and with month first, and were read with the {note} ({name!r}); if the month is "
            f"first, {remedy}.",
            stacklevel=2,
        )
    for name, note in notes.items():
        if name not in ambiguous:
            warnings.warn(f"{name!r} of {source} holds {note}; it stays text.", stacklevel=2)
