"""Words for messages."""

from collections.abc import Iterable
from typing import Any


def listed(values: Iterable[Any], most: int = 20) -> str:
    """A list for a message, with an end.

    Examples
    --------
    >>> from branchwise._messages import listed
    >>> listed("abcdefg", most=3)
    'a, b, c and 4 more'
    """
    texts = [str(value) for value in values]
    rest = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + rest
