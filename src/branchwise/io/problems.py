"""What is wrong with the columns of a table, all of it in one message, with what to do."""

import warnings
from collections.abc import Callable, Mapping, Sequence

from .._messages import listed
from ..data.errors import UnreadableColumns
from ..data.selection import MOST_WRITTEN, list_text, option_text, shortest
from .cells import Odd, WithUnit

# For each kind: what its columns have, and how to mend the cells.
KINDS = {
    "limit": (
        "limits such as {first!r}",
        "write a number in their place (half of the limit, for instance), or leave the cells empty",
    ),
    "comma": ("decimal commas", "write the decimal sign as a point"),
    "percent": ("per cent signs", "write the number alone"),
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
# Columns of a kind that a message names.
MOST_NAMED = 5


def raise_unreadable(
    odd: Sequence[Odd],
    others: Sequence[str] | None,
    source: str,
    missing: Mapping[str, int],
    n_samples: int,
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
    """
    if not odd:
        return
    if len(odd) == 1 and odd[0].kind != "text":
        message = one_column(odd[0], source, can_exclude=others is not None)
    else:
        kinds = [kind for kind in KINDS if any(each.kind == kind for each in odd)]
        groups = [[each for each in odd if each.kind == kind] for kind in kinds]
        lines = "\n".join(f"- {group_message(group, others)}" for group in groups)
        are = "column is" if len(odd) == 1 else "columns are"
        message = (
            f"{len(odd)} {are} meant as numbers in {source}, but cannot be read as such; nothing "
            f"was read.\n{lines}"
        )
    raise UnreadableColumns(message, missing, n_samples, source)


def one_column(odd: Odd, source: str, *, can_exclude: bool) -> str:
    """The message if there is only one such column."""
    is_category = odd.kind == "word" and odd.n_levels <= MOST_LEVELS
    category = f", or take it as a category ({way_out('categorical', [odd.name])})"
    exclude = f" or exclude the column ({way_out('exclude', [odd.name])})"
    return (
        f"column {odd.name!r} of {source} seems to hold numbers, but {odd.n_bad} of its "
        f"{odd.n_cells} cells cannot be read as such, the first {odd.first!r} in data row "
        f"{odd.row}; "
        "mend the cells (an empty cell is a missing value, a decimal sign is a point)"
        f"{exclude if can_exclude else ''}{category if is_category and can_exclude else ''}."
    )


def group_message(group: Sequence[Odd], others: Sequence[str] | None) -> str:
    """What columns of one kind have in common, and what to do about it."""
    names, first = [each.name for each in group], group[0]
    told = listed(map(repr, names), MOST_NAMED)
    column = "column" if len(names) == 1 else "columns"
    example = f"{first.name!r} has {first.n_bad} in {first.n_cells} cells, " * (len(names) > 1)
    if len(names) == 1:
        example = f"{first.n_bad} of {first.n_cells} cells, "
    return (
        f"{what_of(group)} in {len(names)} {column} ({told}): {example}the first "
        f"{first.first!r} in data row {first.row}. {capital(remedy_of(group, others, way_out))}"
    )


def what_of(group: Sequence[Odd]) -> str:
    """What columns of one kind have in their cells."""
    return KINDS[group[0].kind][0].format(first=group[0].first)


def capital(text: str) -> str:
    """Text as the start of a sentence.

    Examples
    --------
    >>> from branchwise.io.problems import capital
    >>> capital("write CSV.")
    'Write CSV.'
    """
    return text[:1].upper() + text[1:]


def remedy_of(
    group: Sequence[Odd], others: Sequence[str] | None, way: Callable[[str, Sequence[str]], str]
) -> str:
    """What to do about columns of one kind; without others only what to do in the file.

    Examples
    --------
    >>> from branchwise.io.cells import Odd
    >>> from branchwise.io.problems import command_line, remedy_of
    >>> remedy_of([Odd("hb", "comma", 1, 9, "1,5", 1, 9)], ["age"], command_line)
    'write the decimal sign as a point, or exclude: --exclude hb.'
    """
    mend = KINDS[group[0].kind][1]
    if others is None:
        return f"{mend}."
    patterns = shortest([each.name for each in group], others)
    text = f"{mend}, or exclude: {way('exclude', patterns)}."
    levels = {each.name: each.n_levels for each in group}
    few = [name for name in patterns if levels.get(name, MOST_LEVELS + 1) <= MOST_LEVELS]
    if group[0].kind in ("word", "text") and few:
        text += f" As categories: {way('categorical', few)}."
    return text


def way_out(option: str, names: Sequence[str]) -> str:
    """An option with names that can be copied, for the command line and for Python.

    Examples
    --------
    >>> from branchwise.io.problems import way_out
    >>> way_out("exclude", ["*_mut"])
    "--exclude '*_mut', in Python exclude=['*_mut']"
    """
    if len(names) > MOST_WRITTEN:
        return f"--{option} @FILE, in Python {option}='@FILE', where FILE has a name on each line"
    return f"{command_line(option, names)}, in Python {option}={list_text(names)}"


def command_line(option: str, names: Sequence[str]) -> str:
    """The same for the command line alone."""
    if len(names) > MOST_WRITTEN:
        return f"--{option} @FILE, where FILE has a name on each line"
    return f"--{option} {option_text(names)}"


def warn_of_units(columns: Sequence[WithUnit], source: str) -> None:
    """Say which columns are numbers with units, and so are not features."""
    if not columns:
        return
    shown = [f"{each.name!r} ({each.first!r} in data row {each.row})" for each in columns]
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


def warn_of_dates(notes: Mapping[str, str], source: str) -> None:
    """Say how dates were read that can be read in two ways."""
    ambiguous = {name: note for name, note in notes.items() if note.startswith("day first")}
    if ambiguous:
        [(name, note), *_] = ambiguous.items()
        warnings.warn(
            f"dates in {listed(map(repr, ambiguous), MOST_NAMED)} of {source} fit both with day "
            f"and with month first, and were read with the {note} ({name!r}); if the month is "
            "first, read them with --date-order mdy (in Python date_order='mdy').",
            stacklevel=2,
        )
    for name, note in notes.items():
        if name not in ambiguous:
            warnings.warn(f"{name!r} of {source} holds {note}; it stays text.", stacklevel=2)
