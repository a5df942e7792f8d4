"""What is wrong with a file of data, in words that name it."""

import difflib
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .._messages import flag, is_for_command_line, listed, parameter


class InputError(ValueError):
    """What is wrong with a file of data, in one sentence that names it.

    Examples
    --------
    >>> from branchwise.io import InputError
    >>> issubclass(InputError, ValueError)
    True
    """

    # Matrix, features and annotations of what `make_table` refuses, for those who only look.
    parts: tuple[Any, Any, Any] | None = None


class Unknown(NamedTuple):
    """A name, or a pattern that fits no name, and the parameter that it was given to, if any."""

    name: str
    option: str = ""
    is_pattern: bool = False


class UnknownNameError(InputError):
    """Names that the table does not have, all of them in one message.

    Examples
    --------
    >>> from branchwise.data.errors import Unknown, UnknownNameError
    >>> print(UnknownNameError([Unknown("agee", "exclude")], ["age", "sex"], "a.csv"))
    exclude: a.csv has no column 'agee'; did you mean 'age'?
    >>> wrong = [Unknown("agee", "exclude"), Unknown("x", "exclude"), Unknown("*_a", "color", True)]
    >>> print(UnknownNameError(wrong, ["age", "sex"], "a.csv"))
    a.csv lacks 3 of the columns that were named: exclude 'agee' (did you mean 'age'?), 'x';
    color '*_a' (no column fits this pattern); it has 'age', 'sex'.
    """

    def __init__(
        self, unknown: Sequence[Unknown], known: Sequence[str], source: str, kind: str = "column"
    ):
        message = unknown_message(unknown, known, source, kind)
        super().__init__(f"{message}{with_comma(unknown, known)}")
        self.unknown = list(unknown)
        self.is_column = kind == "column"
        self.known = list(known)
        self.source = source
        self.names = [each.name for each in unknown]


# Names that are looked at for one that is near; more would take seconds.
MOST_NAMES, MOST_COMPARED = 10, 20_000


def unknown_message(
    unknown: Sequence[Unknown], known: Sequence[str], source: str, kind: str
) -> str:
    """Say which names are not there, by the parameter that they were given to, and what is near."""
    has = f"it has {listed(map(repr, known), 10)}" if known else "it has none"
    if len(unknown) == 1:
        [(name, option, is_pattern)] = unknown
        before = f"{parameter(option)}: " if option else ""
        if is_pattern:
            return f"{before}{source} has no {kind} that fits {name!r}; {has}."
        close = near(name, known)
        hint = f"did you mean {listed(map(repr, close))}?" if close else f"{has}."
        return f"{before}{source} has no {kind} {name!r}; {hint}"
    by_option: dict[str, list[str]] = {}
    for name, option, is_pattern in unknown[:MOST_NAMES]:
        close = [] if is_pattern else near(name, known)
        hint = f" (did you mean {listed(map(repr, close))}?)" if close else ""
        hint = f" (no {kind} fits this pattern)" if is_pattern else hint
        by_option.setdefault(parameter(option) if option else "", []).append(f"{name!r}{hint}")
    told = [f"{option} {', '.join(names)}".strip() for option, names in by_option.items()]
    more = len(unknown) - MOST_NAMES
    rest = f" and {more:,} more" if more > 0 else ""
    return (
        f"{source} lacks {len(unknown):,} of the {kind}s that were named: "
        f"{'; '.join(told)}{rest}; {has}."
    )


def with_comma(unknown: Sequence[Unknown], known: Sequence[str]) -> str:
    """How to name one column whose name was taken for several, on the command line.

    Examples
    --------
    >>> from branchwise._messages import for_command_line
    >>> from branchwise.data.errors import Unknown, with_comma
    >>> with for_command_line():
    ...     print(with_comma([Unknown("d", "include"), Unknown("e", "include")], ["age", "d,e"]))
     Column 'd,e' has a comma in its name: --include '"d,e"'.
    """
    if not is_for_command_line():
        return ""
    by_option: dict[str, list[str]] = {}
    for each in unknown:
        by_option.setdefault(each.option, []).append(str(each.name))
    for option, names in by_option.items():
        same = [name for name in known if "," in str(name) and parts_of(name) == names]
        if option and same:
            written = shlex.quote(f'"{same[0]}"')
            return f" Column {same[0]!r} has a comma in its name: {flag(option)} {written}."
    return ""


def parts_of(name: str) -> list[str]:
    """What a name with commas is taken for."""
    return [part.strip() for part in str(name).split(",")]


def near(name: str, known: Sequence[str]) -> list[str]:
    """Names that look alike; those that are the same but for capitals alone, if there are any.

    Examples
    --------
    >>> from branchwise.data.errors import near
    >>> near("age", ["stage", "Age"]), near("agee", ["stage", "age"])
    (['Age'], ['age', 'stage'])
    """
    same = [each for each in known if str(each).casefold() == str(name).casefold()]
    return same or difflib.get_close_matches(str(name), known[:MOST_COMPARED], n=3)


class UnreadableColumns(InputError):
    """Columns that seem to hold numbers and cannot be read as such, a line for each kind.

    Attributes
    ----------
    missing : dict of str to int
        Missing values of the columns that can be read.
    n_samples : int
    source : str
    """

    def __init__(self, message: str, missing: Mapping[str, int], n_samples: int, source: str):
        super().__init__(message)
        self.missing = dict(missing)
        self.n_samples = n_samples
        self.source = source

    def also(self, text: str) -> "UnreadableColumns":
        """The same, with something else that is wrong."""
        return UnreadableColumns(f"{self}\n{text}", self.missing, self.n_samples, self.source)


def raise_unknown(unknown: Iterable[Unknown], known: Sequence[str], source: str) -> None:
    """Complain of all of them at once, if there are any."""
    wrong = list(dict.fromkeys(unknown))
    if wrong:
        raise UnknownNameError(wrong, known, source)
