"""Where a browser for the tests of the report is."""

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = (
    "no Chromium was found; install one (Debian: apt-get install chromium), or name it in the "
    "environment variable BRANCHWISE_BROWSER"
)

# Software rendering, so that WebGL is there without a graphics card; nothing else runs behind it.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def find_browser():
    """The path of a browser, or None."""
    given = os.environ.get("BRANCHWISE_BROWSER")
    return given or next(filter(None, map(shutil.which, NAMES)), None)
