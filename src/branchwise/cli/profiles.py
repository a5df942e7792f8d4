"""The columns of a table on the screen: what is wrong first, like columns in one line."""

import re
import shutil
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .._messages import listed
from ..data.profile import (
    ANNOTATION,
    DATE,
    EMPTY,
    EXCLUDED,
    FEATURE,
    ID,
    STOPS,
    WHOLE,
    ColumnProfile,
)
from ..data.suspects import is_target

NARROWEST, WIDEST, INDENT = 60, 110, 11
MOST_LINES = 60
# So many columns of one kind have a line each; fewer, if there would be too many lines in all.
ALONE = (60, 30, 12, 6, 3, 2, 1)
# Columns whose names share a part are told together from this number on.
LIKE = 4
# So many columns of one type that follow one another are, too.
RUN = 24
# Whole numbers of so few different values may be names of groups, if so few columns hold such.
MOST_GROUPS, MOST_HINTED = 5, 20
TYPE, MISSING, DISTINCT, RANGE = 9, 9, 12, 25
# What begins the rest of a message on cells that cannot be read.
BESIDES = "Besides, "
WORDS = {WHOLE: "whole"}


class Group(NamedTuple):
    """One column, or several that are told in one line."""

    label: str
    members: list[ColumnProfile]


class Concern(NamedTuple):
    """Something odd about features, and what to do."""

    title: str
    applies: Callable[[ColumnProfile], bool]


CONCERNS = (
    Concern(
        "Codes for missing values? They are taken for measurements: empty these cells",
        lambda p: bool(p.sentinels) and p.fate == FEATURE,
    ),
    Concern(
        "Outcomes or times of follow-up? The tree would be built from what it shall explain: "
        "leave them out with --exclude",
        lambda p: p.is_outcome_like and p.fate == FEATURE,
    ),
    Concern(
        "What the tree is to explain? If so, leave it out with --exclude",
        lambda p: p.fate == FEATURE and is_target(p.name),
    ),
    Concern(
        "Names rather than measurements? Use one with --id, leave the others out with --exclude",
        lambda p: p.is_id_like and p.fate == FEATURE,
    ),
    Concern(
        "Dates that are written as numbers: leave them out with --exclude",
        lambda p: p.type == DATE and p.fate == FEATURE and not p.encoding,
    ),
    Concern(
        "The same value in every cell: it tells nothing",
        lambda p: p.is_constant and p.fate == FEATURE,
    ),
    Concern(
        "Numbers with units, which are words for a fit: write the number alone to learn from them, "
        "and the unit into the name",
        lambda p: bool(p.units) and p.fate == ANNOTATION,
    ),
)


def terminal_width() -> int:
    """Letters in a line of the terminal; 80 where there is none."""
    return min(WIDEST, max(NARROWEST, shutil.get_terminal_size((80, 24)).columns))


def describe_table(facts: dict[str, Any], profiles: Sequence[ColumnProfile], width: int) -> str:
    """A table in at most some sixty lines.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.cli.profiles import describe_table
    >>> from branchwise.data.profile import profile_columns
    >>> found = profile_columns(pd.DataFrame({"age": [71, 64, 80], "death": [0, 1, 0]}))
    >>> facts = {"table": "a.csv", "samples": 3, "sample names": [], "id": None, "fit": None}
    >>> print(describe_table(facts, found, 80))
    table      a.csv
    samples    3
    columns    2: 2 features
    missing    none
    fit        would start
    <BLANKLINE>
    Outcomes or times of follow-up? The tree would be built from what it shall
    explain: leave them out with --exclude
      death                       2 values, 0 to 1
    <BLANKLINE>
    Features           type       missing    distinct  least … median … largest
      age              whole            0           3  64 … 71 … 80
    """
    for most in ALONE:
        lines = [
            *head(facts, profiles, width),
            *hint_at_groups(profiles, facts["samples"], width),
            *body(profiles, width, most),
        ]
        if len(lines) <= MOST_LINES:
            return "\n".join(lines)
    more = len(lines) - MOST_LINES + 1
    lines[MOST_LINES - 1 :] = [f"… and {more} more lines; --json has every column."]
    return "\n".join(lines)


def head(facts: dict[str, Any], profiles: Sequence[ColumnProfile], width: int) -> list[str]:
    """What matters of the table as a whole."""
    words = {FEATURE: "feature", ANNOTATION: "annotation", EXCLUDED: "left out by --exclude",
             ID: "id", STOPS: "where the fit stops"}  # fmt: skip
    counts = {fate: sum(p.fate == fate for p in profiles) for fate in words}
    kinds = [
        f"{count:,} {word}{'s' if count > 1 and fate in (FEATURE, ANNOTATION) else ''}"
        for fate, word in words.items()
        if (count := counts[fate])
    ]
    gaps = [p for p in profiles if p.missing and p.fate == FEATURE]
    n_missing = sum(p.missing for p in gaps)
    first = facts["sample names"][:3]
    some = ", …" if facts["samples"] > len(first) else ""
    named = f" ({', '.join(first)}{some})" if first else ""
    by = f", named by {facts['id']}" if facts["id"] else ""
    columns = f"{'column' if len(gaps) == 1 else 'columns'}"
    said = "would start"
    if facts["fit"] is not None:  # the columns of each kind are told below
        before, unreadable, rest = facts["fit"].partition("cannot be read as such")
        _, besides, gaps_there = rest.rpartition(BESIDES)
        more = f". {besides}{gaps_there}" if besides else ""
        said = f"would stop: {before}{unreadable}{more}"
    gaps_told = (
        f"{n_missing:,} value{'s' * (n_missing != 1)}, in {len(gaps):,} {columns} of features"
    )
    told = {
        "table": facts["table"],
        "samples": f"{facts['samples']:,}{by}{named}",
        "columns": f"{len(profiles):,}" + (f": {', '.join(kinds)}" if kinds else ""),
        "missing": gaps_told if gaps else "none",
        "fit": said,
    }
    lines = [line for name, text in told.items() for line in wrapped(text, width, INDENT, name)]
    for advice in facts.get("advice", ()):
        lines += wrapped(advice, width, INDENT, "warning")
    return lines


def hint_at_groups(profiles: Sequence[ColumnProfile], n_samples: int, width: int) -> list[str]:
    """Whole numbers of a few different values may be names of groups; of many, they are counts."""
    found = [
        printable(repr(p.name))
        for p in profiles
        if p.fate == FEATURE
        and p.type == WHOLE
        and not p.encoding
        and 3 <= p.distinct <= MOST_GROUPS
        and 2 * p.distinct <= n_samples - p.missing
    ]
    if not 0 < len(found) <= MOST_HINTED:
        return []
    one = len(found) == 1
    text = (
        f"{listed(found, 5)} {'has' if one else 'have'} 3 to {MOST_GROUPS} different whole "
        f"numbers, taken as {'a measurement' if one else 'measurements'}; if they are names of "
        "groups: --categorical; if they have an order, it is kept"
    )
    return wrapped(text, width, INDENT, "hint")


def body(profiles: Sequence[ColumnProfile], width: int, most: int) -> list[str]:
    """Problems, concerns, then the rest."""
    lines: list[str] = []
    told: set[int] = set()
    by_remedy: dict[str, list[ColumnProfile]] = {}
    for profile in profiles:
        if profile.fate == STOPS:
            by_remedy.setdefault(profile.remedy, []).append(profile)
            told.add(id(profile))
    for remedy, those in by_remedy.items():
        lines += ["", *wrapped(f"The fit stops here. {remedy[:1].upper()}{remedy[1:]}", width)]
        lines += [line_of(group, problem_of(group.members), width) for group in folded(those, most)]
    for concern in CONCERNS:
        those = [p for p in profiles if id(p) not in told and concern.applies(p)]
        told |= {id(p) for p in those}
        if those:
            lines += ["", *wrapped(concern.title, width)]
            lines += [line_of(g, concern_of(g.members), width) for g in folded(those, most)]
    for title, fates in (("Features", {FEATURE}), ("Others", {ANNOTATION, EXCLUDED, ID})):
        rest = [p for p in profiles if id(p) not in told and p.fate in fates]
        if rest:
            lines += ["", *table_of(title, rest, width, most)]
    return lines


# Lines


def table_of(title: str, profiles: Sequence[ColumnProfile], width: int, most: int) -> list[str]:
    """A line for each column, or for several of one type."""
    by_type: dict[str, list[ColumnProfile]] = {}
    for profile in profiles:
        by_type.setdefault(profile.type, []).append(profile)
    groups = [group for those in by_type.values() for group in folded(those, most)]
    groups.sort(key=lambda group: group.members[0].position)
    room = width - TYPE - MISSING - DISTINCT - RANGE - 5
    size = max(16, min(room, max(len(group.label) for group in groups)))
    ranges = "least … median … largest" if title == "Features" else "values"
    heads = f"{'type':<{TYPE}}{'missing':>{MISSING}}{'distinct':>{DISTINCT}}  {ranges}"
    lines = [shortened_end(f"{title:<{size + 2}} {heads}", width)]
    for label, members in groups:
        kind = members[0].type
        line = (
            f"  {shortened(label, size):<{size}} {WORDS.get(kind, kind):<{TYPE}}"
            f"{between([p.missing for p in members]):>{MISSING}}"
            f"{between([p.distinct for p in members]):>{DISTINCT}}  {shown_values(members)}"
        )
        lines.append(shortened_end(line, width))
    return lines


def shown_values(members: Sequence[ColumnProfile]) -> str:
    """Range and median, or some of the words."""
    kind = {ID: "id: ", EXCLUDED: "excluded: "}.get(members[0].fate, "")
    encoding = members[0].encoding
    if encoding == "date of an age":
        return "for an age"
    if encoding and members[0].type != DATE:
        kind = f"as {encoding}: "
    lows = [p.minimum for p in members if p.minimum is not None]
    if lows:
        highs = [p.maximum for p in members if p.maximum is not None]
        middle = sorted([p.median for p in members if p.median is not None], key=order)
        if isinstance(middle[0], str):  # two dates are what fits
            return f"{kind}{min(lows, key=order)} … {max(highs, key=order)}"
        parts = min(lows, key=order), middle[len(middle) // 2], max(highs, key=order)
        return kind + " … ".join(map(number, parts))
    return kind + listed(map(printable, members[0].examples), 3)


def order(value: Any) -> tuple[bool, Any]:
    """Numbers before dates, each in its own order."""
    return isinstance(value, str), value


def problem_of(members: Sequence[ColumnProfile]) -> str:
    """Why a fit stops at these columns."""
    bad = [p.unreadable for p in members if p.unreadable is not None]
    if bad:
        counts, first = between([each.n_cells for each in bad]), bad[0]
        cells = "cell is not a number" if counts == "1" else "cells are not numbers"
        such = f"{shortened(first.cell, 24)!r}"
        return (
            f"{counts} {cells}: {such} in data row {first.row:,}"
            if len(bad) == 1
            else (f"{counts} {cells}, such as {such}")
        )
    infinite = [p.n_infinite for p in members if p.n_infinite]
    if infinite:
        return f"{between(infinite)} infinite"
    return "no value at all" if members[0].type == EMPTY else members[0].type


def concern_of(members: Sequence[ColumnProfile]) -> str:
    """What is odd about these columns."""
    codes = [code for p in members for code in p.sentinels]
    if codes:
        one = {code.value for code in codes}
        cells = between([code.n_cells for code in codes])
        middle = number(members[0].median) if len(members) == 1 else ""
        return (
            f"{listed(map(number, sorted(one)), 4)} in {cells} "
            f"{'cell' if cells == '1' else 'cells'}{f'; median {middle}' if middle else ''}"
        )
    if members[0].units:
        units = dict.fromkeys(unit or "none" for p in members for unit in p.units)
        return f"{listed(units, 4)}, such as {printable(members[0].examples[0])!r}"
    distinct = between([p.distinct for p in members])
    values = f"{distinct} {'value' if distinct == '1' else 'values'}"
    lows = [p.minimum for p in members if p.minimum is not None]
    highs = [p.maximum for p in members if p.maximum is not None]
    if not lows:
        return values
    low, high = number(min(lows, key=order)), number(max(highs, key=order))
    return f"{values}, {low}" if low == high else f"{values}, {low} to {high}"


def line_of(group: Group, text: str, width: int) -> str:
    """A label and what is to be said of it."""
    size = max(16, min(36, width // 3))
    return shortened_end(f"  {shortened(group.label, size):<{size}}  {text}", width)


def number(value: Any) -> str:
    """A number in few digits; dates as they are.

    Examples
    --------
    >>> from branchwise.cli.profiles import number
    >>> number(3.14159), number(12345.0), number(1e9), number("2020-01-31")
    ('3.14', '12,345', '1e+09', '2020-01-31')
    """
    if isinstance(value, str):
        return value
    is_short = abs(value) < 1e7 and value == int(value) if abs(value) < 1e300 else False
    return f"{int(value):,}" if is_short else f"{value:.3g}"


def between(counts: Sequence[int]) -> str:
    """One count, or the least and the largest.

    Examples
    --------
    >>> from branchwise.cli.profiles import between
    >>> between([3, 1200, 5]), between([7])
    ('3–1,200', '7')
    """
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def wrapped(text: str, width: int, indent: int = 0, name: str = "") -> list[str]:
    """Text in lines, beside a name."""
    return textwrap.wrap(
        " ".join(text.split()) or "-",
        width,
        initial_indent=f"{name:<{indent}}",
        subsequent_indent=" " * indent,
        break_on_hyphens=False,  # options are to be copied
    )


def shortened(text: str, size: int) -> str:
    """Text of at most so many letters, without its middle.

    Examples
    --------
    >>> from branchwise.cli.profiles import shortened
    >>> shortened("er_status_measured_by_ihc", 16)
    'er_statu…_by_ihc'
    """
    text = printable(text)
    if len(text) <= size:
        return text
    left = size // 2
    return text[:left] + "…" + text[len(text) - (size - left - 1) :]


def printable(text: str) -> str:
    """Text in one line, without signs that a terminal would obey."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def shortened_end(text: str, size: int) -> str:
    """Text of at most so many letters, without its end."""
    return text if len(text) <= size else text[: size - 1] + "…"


# Folding


def folded(profiles: Sequence[ColumnProfile], most: int) -> list[Group]:
    """Each column alone if they are few; otherwise those with like names together.

    Examples
    --------
    >>> from branchwise.cli.profiles import folded
    >>> from branchwise.data.profile import ColumnProfile
    >>> names = ["age", "a_mut", "b_mut", "c_mut", "d_mut"]
    >>> made = [ColumnProfile(n, "text", 0, 2, position=k) for k, n in enumerate(names)]
    >>> [group.label for group in folded(made, 3)]
    ['age', '*_mut (4)']
    """
    groups, rest = list[Group](), list(profiles)
    for gather in (by_ending, by_run, by_beginning):
        if len(groups) + len(rest) > most:
            found = gather(rest)
            taken = {p.position for group in found for p in group.members}
            groups += found
            rest = [p for p in rest if p.position not in taken]
    if len(groups) + len(rest) > most and len(rest) > 1:
        groups.append(Group(f"{first_and_last(rest)} and others ({len(rest):,})", rest))
    else:
        groups += [Group(p.name, [p]) for p in rest]
    return sorted(groups, key=lambda group: group.members[0].position)


def by_ending(profiles: Sequence[ColumnProfile]) -> list[Group]:
    """Columns with one last part of their names."""
    return by_pattern(profiles, ending)


def by_beginning(profiles: Sequence[ColumnProfile]) -> list[Group]:
    """Columns with one first part of their names."""
    return by_pattern(profiles, beginning)


def by_pattern(profiles: Sequence[ColumnProfile], pattern_of: Callable[[str], str]) -> list[Group]:
    """Columns with a part of their names in common."""
    shared: dict[str, list[ColumnProfile]] = {}
    for profile in profiles:
        shared.setdefault(pattern_of(profile.name), []).append(profile)
    return [
        Group(f"{pattern} ({len(those):,})", those)
        for pattern, those in shared.items()
        if pattern and len(those) >= LIKE
    ]


def by_run(profiles: Sequence[ColumnProfile]) -> list[Group]:
    """Many columns that follow one another in the table."""
    runs: list[list[ColumnProfile]] = []
    for profile in profiles:
        if runs and profile.position == runs[-1][-1].position + 1:
            runs[-1].append(profile)
        else:
            runs.append([profile])
    return [Group(f"{first_and_last(run)} ({len(run):,})", run) for run in runs if len(run) >= RUN]


def first_and_last(profiles: Sequence[ColumnProfile]) -> str:
    """The names of the first and the last column, as a label."""
    return f"{shortened(profiles[0].name, 12)} … {shortened(profiles[-1].name, 12)}"


def ending(name: str) -> str:
    """A pattern of the last part of a name."""
    found = re.search(r"[_.\- ][A-Za-z][^_.\- ]*$", name)
    return "*" + found[0] if found and found.start() else ""


def beginning(name: str) -> str:
    """A pattern of the first part of a name, before a separator or a number."""
    found = re.match(r"([^_.\- \d]+[_.\- ])|([^_.\- \d]+)(?=\d+$)", name)
    return found[0] + "*" if found and found.end() < len(name) else ""
