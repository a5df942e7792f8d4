"""Words for messages, in the language of who reads them: of Python or of the command line."""

import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_is_command_line = ContextVar("_is_command_line", default=False)

# Parameters whose options are called otherwise.
FLAGS = {"dates": "date", "ages": "age", "lazy": "scheduler", "at": "root_at"}


@contextmanager
def for_command_line() -> Iterator[None]:
    """Messages name options in the place of parameters of Python.

    Examples
    --------
    >>> from branchwise._messages import for_command_line, parameter, setting
    >>> parameter("dates"), setting("impute", "median"), setting("log1p")
    ('dates', "impute='median'", 'log1p=True')
    >>> with for_command_line():
    ...     parameter("dates"), setting("impute", "median"), setting("log1p")
    ('--date', '--impute median', '--log1p')
    """
    token = _is_command_line.set(True)
    try:
        yield
    finally:
        _is_command_line.reset(token)


def is_for_command_line() -> bool:
    """Whether who reads the messages has called a command."""
    return _is_command_line.get()


def flag(name: str) -> str:
    """A parameter as an option of the command line.

    Examples
    --------
    >>> from branchwise._messages import flag
    >>> flag("rank_normalize"), flag("dates")
    ('--rank-normalize', '--date')
    """
    return f"--{FLAGS.get(name, name).replace('_', '-')}"


def parameter(name: str) -> str:
    """What a parameter is called."""
    return flag(name) if is_for_command_line() else name


def setting(name: str, value: Any = True) -> str:
    """How a parameter is given a value."""
    if not is_for_command_line():
        return f"{name}={value!r}"
    return flag(name) if value is True else f"{flag(name)} {shlex.quote(str(value))}"


def listed(values: Iterable[Any], most: int = 20) -> str:
    """A list for a message, with an end.

    Examples
    --------
    >>> from branchwise._messages import listed
    >>> listed("abcdefg", most=3)
    'a, b, c and 4 more'
    """
    texts = [str(value) for value in values]
    rest = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + rest


def counted(n: int, one: str, many: str | None = None) -> str:
    """A number of things.

    Examples
    --------
    >>> from branchwise._messages import counted
    >>> counted(1, "fork"), counted(1200, "branch", "branches")
    ('1 fork', '1,200 branches')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"
