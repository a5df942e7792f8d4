"""Names and words whose accents may be written in two ways."""

import unicodedata
from typing import Any


def composed(text: Any) -> Any:
    r"""Text with each letter and its accents as one character; anything else as it is.

    Some systems write them as two, which look the same and are not equal.

    Examples
    --------
    >>> from branchwise.data.composed import composed
    >>> composed("Ko\u0308ln") == "K\u00f6ln", composed(1)
    (True, 1)
    """
    if not isinstance(text, str) or text.isascii():
        return text
    return unicodedata.normalize("NFC", text)
