"""Levels of categories: which there are, what is odd about them, and the number of each."""

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._messages import counted, listed, parameter
from .._typing import Ints
from ..data.categories import (
    DECIMAL,
    INEXACT,
    WHOLE,
    as_level,
    declared_categories,
    distinct,
    natural,
)
from .columns import N_NAMED

# A category of more levels is told, and one with a level for every other row is a name. Beside five
# numbers, one of ten levels makes 64 % of squared distances.
MANY_LEVELS = 10
LEAST_NAMES = 20
# So many levels are named in a message.
N_LEVELS = 10
# Truth values as formats have them: text files and Excel the words, Stata and SPSS the numbers.
TRUTH = ({"False": "0", "True": "1"}, {"0": "False", "1": "True"})
# Ways to write no and yes, in small letters; which one is meant by another only a person knows.
NO_YES = (("0", "1"), ("false", "true"), ("no", "yes"), ("n", "y"))


def levels_in(column: Any, name: str) -> list[str]:
    """The levels that occur: declared ones in their order, others as people would sort them.

    Examples
    --------
    >>> from branchwise.preprocessing.levels import levels_in
    >>> levels_in(["day 10", None, "day 2"], "visit"), levels_in([2.0, 1, 2], "grade")
    (['day 2', 'day 10'], ['1', '2'])
    """
    codes, values = distinct(column)
    option = parameter("categorical")
    check_exact(values, name)
    seen, n_known = {as_level(value) for value in values}, int((codes >= 0).sum())
    if not seen:
        raise ValueError(
            f"column {name!r} is named in {option}, but none of its {len(codes)} cells has a "
            "value; leave it out."
        )
    declared = declared_categories(column)
    if declared is None:
        found = sorted(sorted(seen), key=natural)
    else:
        order = dict.fromkeys(map(as_level, declared))
        found = [text for text in order if text in seen]
    if len(seen) > max(LEAST_NAMES, n_known / 2):
        raise ValueError(
            f"column {name!r} is named in {option}, but has {len(seen):,} levels in "
            f"{n_known:,} rows ({listed(map(repr, found), 3)}), almost one for each, as names "
            "or measurements have; leave it out, or join its levels to fewer."
        )
    if len(seen) > MANY_LEVELS and are_decimals(found):
        warnings.warn(
            f"column {name!r} is named in {option}, but holds {len(seen)} different numbers, "
            f"some with decimals, as measurements do; leave it out of {option} to "
            "keep it a number.",
            stacklevel=2,
        )
    elif len(seen) > MANY_LEVELS:
        warnings.warn(
            f"category {name!r} has {len(seen)} levels, and counts as much as {len(seen) - 1} "
            f"numbers in squared distances; join rare levels, name it in {parameter('ordinal')} if "
            "they have an order, or leave it out.",
            stacklevel=2,
        )
    if len(seen) == 1:
        warnings.warn(
            f"category {name!r} has one level only, {found[0]!r}, and tells no samples apart; its "
            "column is 0 for all of them.",
            stacklevel=2,
        )
    alike = spelt_alike(found)
    if alike:
        warnings.warn(
            f"category {name!r} has levels that differ in capitals only "
            f"({listed(map(repr, alike), N_LEVELS)}), and are as different as others; write them "
            "alike if they mean the same.",
            stacklevel=2,
        )
    return found


def are_decimals(levels: Sequence[str]) -> bool:
    """Whether levels are numbers, some of them with decimals.

    Examples
    --------
    >>> from branchwise.preprocessing.levels import are_decimals
    >>> are_decimals(["1", "2.5"]), are_decimals(["1", "2"]), are_decimals(["1.5", "II"])
    (True, False, False)
    """
    return all(map(DECIMAL.fullmatch, levels)) and not all(map(WHOLE.fullmatch, levels))


def spelt_alike(levels: Sequence[str]) -> list[str]:
    """The levels that differ from others in capitals only.

    Examples
    --------
    >>> from branchwise.preprocessing.levels import spelt_alike
    >>> spelt_alike(["Male", "female", "male"])
    ['Male', 'male']
    """
    counts = Counter(level.casefold() for level in levels)
    return sorted((level for level in levels if counts[level.casefold()] > 1), key=str.casefold)


def check_exact(values: Sequence[Any], name: str) -> None:
    """Whole numbers that were read as decimals may have lost their last digits.

    Examples
    --------
    >>> from branchwise.preprocessing.levels import check_exact
    >>> check_exact([2.0, 2.0**53], "ward")
    Traceback (most recent call last):
    ...
    ValueError: column 'ward' is to be a category, but holds 9007199254740992, a number of more
    digits than decimals keep, so that different codes are the same one; write such codes as text
    (in a CSV file, without a point), or leave the column out.
    """
    long = next((v for v in values if isinstance(v, float) and abs(v) >= INEXACT), None)
    if long is not None:
        raise ValueError(
            f"column {name!r} is to be a category, but holds {long:.0f}, a number of more digits "
            "than decimals keep, so that different codes are the same one; write such codes as "
            "text (in a CSV file, without a point), or leave the column out."
        )


def codes_in(column: Any, levels: Sequence[str]) -> tuple[Ints, dict[str, Ints]]:
    """The number of each cell's level, −1 if it is missing; and the rows of all other levels.

    Examples
    --------
    >>> from branchwise.preprocessing.levels import codes_in
    >>> codes_in(["m", None, "x", "f"], ["f", "m"])
    (array([ 1, -1, -1,  0]), {'x': array([2])})
    >>> codes_in([1, 0], ["False", "True"])[0]
    array([1, 0])
    """
    cells, values = distinct(column)
    number = {as_level(level): k for k, level in enumerate(levels)}
    for other in TRUTH:
        if other.keys() == number.keys():
            number |= {other[level]: k for level, k in number.items()}
            break
    texts = [as_level(value) for value in values]
    # One more, for cells without a value.
    level_of = np.array([*(number.get(text, -1) for text in texts), -1], dtype=np.intp)
    others: dict[str, Ints] = {}
    for k in [k for k, text in enumerate(texts) if text not in number]:
        rows = np.flatnonzero(cells == k)
        others[texts[k]] = np.concatenate([others.get(texts[k], rows[:0]), rows])
    return level_of[cells], others


class UnknownLevels(NamedTuple):
    """Levels of a column that nobody told of, with their rows."""

    name: str
    others: dict[str, Ints]
    levels: list[str]


def check_levels(unknown: Sequence[UnknownLevels], n_rows: int, given_by: str) -> None:
    """Say in one sentence which levels of which columns are not known, and what to do.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.levels import UnknownLevels, check_levels
    >>> check_levels([UnknownLevels("sex", {"x": np.array([2])}, ["f", "m"])], 40, "fit")
    Traceback (most recent call last):
    ...
    ValueError: 1 of 40 rows has a level that the fit did not know: 'sex' has 'x' in 1 row, first
    in data row 3 (known: 'f', 'm'); mend ...
    """
    if not unknown:
        return
    rows = set[int]()
    told = []
    for name, others, levels in unknown:
        mine = np.unique(np.concatenate(list(others.values())))
        rows.update(mine.tolist())
        told.append(
            f"{name!r} has {listed(map(repr, others), N_NAMED)} in {counted(len(mine), 'row')}, "
            f"first in data row {mine[0] + 1:,} ({'known' if given_by == 'fit' else 'given'}: "
            f"{listed(map(repr, levels), N_LEVELS)})"
        )
    who = "the fit did not know" if given_by == "fit" else f"{parameter('ordinal')} does not name"
    more = (
        "or fit again with samples of these levels"
        if given_by == "fit"
        else f"or name these levels in {parameter('ordinal')}, too, in their place"
    )
    has = "has a level" if len(rows) == 1 else "have levels"
    raise ValueError(
        f"{len(rows):,} of {counted(n_rows, 'row')} {has} that {who}: "
        f"{listed(told, N_NAMED)}; mend these cells, empty them if the value is not known, leave "
        f"the rows out, {more}.{''.join(map(yes_no_hint, unknown))}"
    )


def yes_no_hint(unknown: UnknownLevels) -> str:
    """What levels may mean that are another way to write yes and no; nothing of all others.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.levels import UnknownLevels, yes_no_hint
    >>> yes_no_hint(UnknownLevels("er", {"1": np.array([4])}, ["no", "yes"]))
    " Are 0 and 1 of 'er' no and yes? Write them so."
    """
    levels, others = ({level.casefold() for level in of} for of in (unknown.levels, unknown.others))
    meant = [pair for pair in NO_YES if {*pair} == levels]
    written = [pair for pair in NO_YES if others <= {*pair}]
    if not meant or not written or len(unknown.levels) > 2:
        return ""
    no, yes = sorted(unknown.levels, key=lambda level: meant[0].index(level.casefold()))
    return f" Are {' and '.join(written[0])} of {unknown.name!r} {no} and {yes}? Write them so."
