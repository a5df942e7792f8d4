"""The page as a whole: one file that needs no other, and lets nothing else in."""

import base64
import hashlib
import re
from collections.abc import Mapping
from html import escape
from importlib import resources
from typing import Any

from .encoding import encode

# What may not stand within the tags: it would end them, or keep them from ending.
ENDS = {"report.js": re.compile(r"</script|<!--", re.I), "report.css": re.compile(r"</style", re.I)}
# What HTML has no place for in text: control characters, halves of surrogate pairs.
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
# The page may run and look as it was built, make pictures, and do nothing else: no server is asked.
POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src blob: data:; "
    "base-uri 'none'; form-action 'none'"
)
PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>This page is a program that draws an interactive report: allow JavaScript for this \
file, and load it again.</noscript>
<div id="app"></div>
<script type="application/octet-stream" id="ramify-data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def render(state: Mapping[str, Any]) -> str:
    """The HTML of a page.

    Parameters
    ----------
    state : dict
        What `ramify.report.content.report_state` returns.

    Returns
    -------
    html : str
    """
    style, script = read_static("report.css"), read_static("report.js")
    policy = POLICY.format(script=digest(script), style=digest(style))
    return PAGE.format(
        policy=escape(policy, quote=False),  # it has single quotes, and stands in double ones
        title=escape(shown(str(state["title"]))),
        style=style,
        data=encode(state),
        script=script,
    )


def read_static(name: str) -> str:
    """The program or the style of the page, as it was built."""
    try:
        text = resources.files(__package__).joinpath("static", name).read_text("utf-8")
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"static/{name}, a part of every report, is not in this installation of ramify; in a "
            "clone, build it as CONTRIBUTING.md says, or else install ramify again."
        ) from error
    # A browser reads every end of line as this one, and takes the hash of what it has read.
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    wrong = ENDS[name].search(text)
    if wrong is not None or "\0" in text:
        what = "a NUL character" if wrong is None else repr(wrong[0])
        raise ValueError(
            f"static/{name} holds {what}, which cannot stand in a page; build it again without."
        )
    return text


def digest(text: str) -> str:
    """The hash by which a browser knows what it may run.

    Examples
    --------
    >>> from ramify.report.page import digest
    >>> digest("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    hashed = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(hashed).decode('ascii')}"


def shown(text: str) -> str:
    r"""Text without what cannot be seen.

    Examples
    --------
    >>> from ramify.report.page import shown
    >>> shown("two\nlines\0")
    'two lines�'
    """
    return UNSEEN.sub("\ufffd", " ".join(text.split()))
