"""Columns by name, by pattern, or by a file of these."""

import csv
import io
import re
import shlex
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import translate
from heapq import heapify, heappop, heappush
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from .._messages import flag, is_for_command_line, listed, setting
from .composed import composed
from .errors import InputError, Unknown, raise_unknown

# What makes a pattern of a name.
WILDCARD = re.compile(r"[*?\[]")
# One of these signs that stands for itself.
ESCAPED = re.compile(r"\[([*?\[])\]")


def expand(patterns: str | Sequence[str]) -> list[str]:
    r"""Names and patterns, with those that stand in files in the place of ``@file``.

    A file has a name or pattern on each line; blank lines, and lines that begin with #, do not
    count. A name that begins with @ itself is written with two of them. What comes out is not to
    be expanded again.

    Parameters
    ----------
    patterns : str or sequence of str

    Returns
    -------
    list of str

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from branchwise.data.selection import expand
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "genes.txt"
    >>> _ = path.write_text("# of the panel\nbrca1\n\ntp53*\n")
    >>> expand(["age", f"@{path}", "@@home"])
    ['age', 'brca1', 'tp53*', '@home']
    """
    found: list[str] = []
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        if not isinstance(pattern, str) or not pattern.startswith("@"):
            found.append(pattern)
        elif pattern.startswith("@@"):
            found.append(pattern[1:])
        else:
            found.extend(names_in(pattern))
    return found


def names_in(pattern: str) -> list[str]:
    """The lines of the file that ``@file`` names."""
    path = Path(pattern[1:])
    if not path.is_file():
        raise FileNotFoundError(
            f"{pattern} stands for the names in the file {str(path)!r}, which is not there; check "
            f"its name and folder, or write @{pattern} for a column of that name."
        )
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not a list of names in UTF-8 text; save it as text, one name a line."
        ) from error
    names = [line.strip() for line in lines]
    names = [name for name in names if name and not name.startswith("#")]
    if not names:
        raise InputError(f"{path} names no column; write one name or pattern a line.")
    return names


def select(patterns: Sequence[str], known: Sequence[str], option: str, source: str) -> list[str]:
    """The columns that names and shell patterns mean, in the table's order, without repeats.

    ``*`` stands for any text, ``?`` for one character, ``[ab]`` for one of these; capitals count.
    A column whose name is the pattern itself wins over those that fit it.

    Parameters
    ----------
    patterns : sequence of str
        As `expand` returns them.
    known : sequence of str
        The columns of the table.
    option : str
        Where the patterns were given, for messages.
    source : str
        Where the table came from, for messages.

    Returns
    -------
    list of str

    Raises
    ------
    UnknownNameError
        If names are not there, or patterns fit nothing: all of them in one message.

    Examples
    --------
    >>> from branchwise.data.selection import select
    >>> select(["*_mut", "age"], ["age", "sex", "tp53_mut", "atm_mut"], "exclude", "a.csv")
    ['age', 'tp53_mut', 'atm_mut']
    """
    found, unknown = look_up(patterns, known, option)
    raise_unknown(unknown, known, source)
    return found


def select_in_turn(
    patterns: Sequence[str], known: Sequence[str], option: str, source: str
) -> list[str]:
    """The same in the order in which they were named: for pictures side by side.

    Examples
    --------
    >>> from branchwise.data.selection import select_in_turn
    >>> select_in_turn(["sex", "a*"], ["age", "sex", "apo"], "color", "a.csv")
    ['sex', 'age', 'apo']
    """
    select(patterns, known, option, source)
    each = [look_up([pattern], known, option)[0] for pattern in patterns]
    return list(dict.fromkeys(name for names in each for name in names))


def look_up(
    patterns: Sequence[str], known: Sequence[str], option: str
) -> tuple[list[str], list[Unknown]]:
    """The columns that are meant, and what means none.

    Examples
    --------
    >>> from branchwise.data.selection import look_up
    >>> look_up(["a*", "z", "y?"], ["a1", "a*"], "color")[0]
    ['a*']
    >>> look_up(["z", "y?"], ["a1"], "color")[1]
    [Unknown(name='z', option='color', is_pattern=False),
     Unknown(name='y?', option='color', is_pattern=True)]
    """
    if not patterns:
        return [], []
    present, chosen = set(map(composed, known)), set[str]()
    unknown = []
    for pattern in map(composed, patterns):
        if pattern in present:
            chosen.add(pattern)
            continue
        is_text = isinstance(pattern, str)
        name = exact(pattern) if is_text else pattern
        if name in present:
            chosen.add(name)
            continue
        is_pattern = is_text and name == pattern and WILDCARD.search(pattern) is not None
        fits = re.compile(translate(pattern)).match if is_pattern else None
        more = {name for name in present if fits(name)} if fits else set()
        if not more:
            unknown.append(Unknown(name, option, is_pattern))
        chosen |= more
    return [name for name in dict.fromkeys(known) if composed(name) in chosen], unknown


def protected(pattern: str) -> str:
    """A name or pattern that `expand` leaves as it is.

    Examples
    --------
    >>> from branchwise.data.selection import expand, protected
    >>> expand([protected("@home"), protected("age*")])
    ['@home', 'age*']
    """
    return f"@{pattern}" if pattern.startswith("@") else pattern


def literal(name: str) -> str:
    """What means the column of this name and no other, whatever signs are in the name.

    Examples
    --------
    >>> from branchwise.data.selection import literal
    >>> literal("@home"), literal("age*"), literal("age")
    ('@@home', 'age[*]', 'age')
    """
    return protected(WILDCARD.sub(lambda found: f"[{found[0]}]", name))


def exact(pattern: str) -> str:
    """The name that a pattern means in which every sign stands for itself; else the pattern.

    Examples
    --------
    >>> from branchwise.data.selection import exact
    >>> exact("age[*]"), exact("a*[*]")
    ('age*', 'a*[*]')
    """
    return pattern if WILDCARD.search(ESCAPED.sub("", pattern)) else ESCAPED.sub(r"\1", pattern)


def check_asked(
    asked: Mapping[str, Sequence[str]],
    known: Sequence[str],
    source: str,
    also: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> None:
    """All names that a table does not have, of all parameters that name columns, are told at once.

    Parameters
    ----------
    asked : mapping of str to sequence of str
        Names and patterns by parameter, as `expand` returns them.
    known : sequence of str
        The columns of the table.
    source : str
        Where the table came from, for the message.
    also : mapping of str to sequence of str
        What else may be named, by parameter.

    Examples
    --------
    >>> from branchwise.data.selection import check_asked
    >>> check_asked({"exclude": ["agee"], "adjust": ["sx"]}, ["age", "sex"], "a.csv")
    Traceback (most recent call last):
    ...
    branchwise.data.errors.UnknownNameError: a.csv lacks 2 of the columns that were named:
    exclude 'agee' (did you mean 'age'?); adjust 'sx' (did you mean 'sex'?); it has 'age', 'sex'.
    """
    wrong = [
        each
        for option, patterns in asked.items()
        for each in look_up(patterns, [*also.get(option, ()), *known], option)[1]
    ]
    raise_unknown(wrong, known, source)


class Selection(NamedTuple):
    """Which columns of a table are what, as the user says it.

    Attributes
    ----------
    id : str or None
        The column of the names of the samples.
    include : list of str or None
        The only features; None: all columns of numbers.
    exclude : list of str
        Columns that are not features.
    annotate : list of str
        Columns that are annotations as they were written.
    features : list of str or None
        Names of the features of an earlier table.
    """

    id: str | None = None
    include: list[str] | None = None
    exclude: Sequence[str] = ()
    annotate: Sequence[str] = ()
    features: Sequence[str] | None = None

    def among(
        self, known: Sequence[str], source: str, beside: Iterable[Unknown] = ()
    ) -> "Selection":
        """With the names that the patterns mean; all that mean none are told at once.

        `beside` is what is wrong besides.

        Examples
        --------
        >>> from branchwise.data.selection import Selection
        >>> Selection(id="*_id", exclude=["x?"]).among(["p_id", "x1", "x2", "y"], "a.csv")
        Selection(id='p_id', include=None, exclude=['x1', 'x2'], annotate=[], features=None)
        """
        wrong = list(beside)

        def found(patterns: Sequence[str], option: str) -> list[str]:
            names, unknown = look_up(patterns, known, option)
            wrong.extend(unknown)
            return names

        ids = [] if self.id is None else found([self.id], "id")
        include = None if self.include is None else found(self.include, "include")
        chosen = Selection(
            ids[0] if ids else None,
            include,
            found(self.exclude, "exclude"),
            found(self.annotate, "annotate"),
            self.features,
        )
        raise_unknown(wrong, known, source)
        if len(ids) > 1:
            raise InputError(
                f"{setting('id', self.id)} fits {len(ids)} columns of {source} "
                f"({listed(map(repr, ids), 5)}), but one column has the names of the samples; "
                "name that one."
            )
        return chosen

    def present(self, known: Sequence[str]) -> "Selection":
        """The part of it that a table of these columns has; nothing is complained of.

        Examples
        --------
        >>> from branchwise.data.selection import Selection
        >>> Selection(exclude=["x?", "z"]).present(["x1", "y"]).exclude
        ['x1']
        """

        def found(patterns: Sequence[str]) -> list[str]:
            return look_up(patterns, known, "")[0]

        ids = [] if self.id is None else found([self.id])
        return Selection(
            ids[0] if len(ids) == 1 else None,
            None if self.include is None else found(self.include),
            found(self.exclude),
            found(self.annotate),
            self.features,
        )

    def given(self) -> dict[str, str | list[str]]:
        """What was chosen, as arguments of `branchwise.io.read_table`.

        Examples
        --------
        >>> from branchwise.data.selection import Selection
        >>> Selection(id="patient", exclude=["site"]).given()
        {'id': 'patient', 'exclude': ['site']}
        """
        found: dict[str, str | list[str]] = {} if self.id is None else {"id": self.id}
        if self.include is not None:
            found["include"] = self.include
        found |= {"exclude": list(self.exclude)} if self.exclude else {}
        return found | ({"annotate": list(self.annotate)} if self.annotate else {})


EVERYTHING = Selection()


def selection(
    id: str | None,
    include: str | Sequence[str] | None,
    exclude: str | Sequence[str],
    annotate: str | Sequence[str],
    features: Sequence[str] | None,
) -> Selection:
    """What was given, with the names in files.

    Examples
    --------
    >>> from branchwise.data.selection import selection
    >>> selection(None, None, "site", (), None)
    Selection(id=None, include=None, exclude=['site'], annotate=[], features=None)
    """
    ids = [] if id is None else expand([id])
    if len(ids) > 1:
        raise InputError(
            f"{setting('id', id)} names {len(ids)} columns, but one column has the names of the "
            "samples; name that one."
        )
    return Selection(
        ids[0] if ids else None,
        None if include is None else expand(include),
        expand(exclude),
        expand(annotate),
        features,
    )


# Ways to say it again: what a message can offer to be copied.

SEPARATOR = re.compile(r"[_ .:-]")
# As many names are written out; more are better put into a file.
MOST_WRITTEN = 12
MOST_LISTED = 5
# Names that a pattern is worth its place for.
LEAST_SHARED = 3


def shortest(names: Sequence[str], known: Iterable[str]) -> list[str]:
    """Patterns and names that mean these columns, and no others of the known ones.

    A pattern stands for at least three columns that share what is before, or after, the first or
    last separator of their names.

    Examples
    --------
    >>> from branchwise.data.selection import shortest
    >>> shortest(["a_mut", "b_mut", "c_mut", "stage"], ["age"])
    ['*_mut', 'stage']
    """
    shared: dict[tuple[str, bool], list[int]] = {}
    whole: dict[str, list[int]] = {}  # a name that is nothing but the end fits, too
    for k, name in enumerate(names):
        whole.setdefault(name, []).append(k)
        for end in ends_of(name):
            shared.setdefault(end, []).append(k)
    forward = sorted(known)
    backward = sorted(name[::-1] for name in forward)
    # Most names first, then those that stand first.
    waiting = [
        (-len(rows), rows[0], is_start, part)
        for (part, is_start), rows in shared.items()
        if len(rows) >= LEAST_SHARED and not WILDCARD.search(part)
        if not (begins(forward, part) if is_start else begins(backward, part[::-1]))
    ]
    heapify(waiting)
    left, found = dict(enumerate(names)), list[str]()
    while waiting:
        count, first, is_start, part = heappop(waiting)
        rows = [k for k in shared[part, is_start] if k in left]
        if len(rows) < LEAST_SHARED:
            continue
        if (-len(rows), rows[0]) != (count, first):  # others took some of its names
            heappush(waiting, (-len(rows), rows[0], is_start, part))
            continue
        for k in [*rows, *(k for k in whole.get(part, ()) if k in left)]:
            del left[k]
        found.append(f"{part}*" if is_start else f"*{part}")
    return [*found, *left.values()]


def ends_of(name: str) -> list[tuple[str, bool]]:
    """What is from the last separator on, and up to the first, and which of both it is.

    Examples
    --------
    >>> from branchwise.data.selection import ends_of
    >>> ends_of("tp53_exon_mut"), ends_of("age")
    ([('_mut', False), ('tp53_', True)], [])
    """
    places = [found.start() for found in SEPARATOR.finditer(name, 1, max(1, len(name) - 1))]
    return [(name[places[-1] :], False), (name[: places[0] + 1], True)] if places else []


def begins(ordered: Sequence[str], part: str) -> bool:
    """Whether any of these names, which are sorted, begins like this."""
    k = bisect_left(ordered, part)
    return k < len(ordered) and ordered[k].startswith(part)


def option_text(names: Sequence[str]) -> str:
    """Names as an argument on the command line, with the quotation marks that it needs.

    Examples
    --------
    >>> from branchwise.data.selection import option_text
    >>> option_text(["*_mut", "stage"]), option_text(["age"])
    ("'*_mut,stage'", 'age')
    """
    written = [protected(name) for name in names]
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(written)
    return shlex.quote(text.getvalue())


def list_text(names: Sequence[str]) -> str:
    """The same names as a list in Python.

    Examples
    --------
    >>> from branchwise.data.selection import list_text
    >>> list_text(["*_mut", "@home"])
    "['*_mut', '@@home']"
    """
    return repr([protected(name) for name in names])


def way_out(option: str, names: Sequence[str]) -> str:
    """An option with names that can be copied.

    Examples
    --------
    >>> from branchwise.data.selection import way_out
    >>> way_out("exclude", ["*_mut"])
    "exclude=['*_mut']"
    """
    if len(names) > MOST_WRITTEN:
        return (
            f"{setting(option, '@FILE')}, a file with these names, one on each line: "
            f"{listed(names, MOST_LISTED)}"
        )
    if is_for_command_line():
        text = option_text(names)
        # What begins with a hyphen would be taken for an option.
        is_dashed = text.lstrip("'\"").startswith("-")
        return f"{flag(option)}{'=' if is_dashed else ' '}{text}"
    return f"{option}={list_text(names)}"
