"""`ramify completion`: a script for the shell."""

import argparse

from .._compat import import_extra
from .arguments import build_parser
from .console import Console


def run(options: argparse.Namespace, console: Console) -> None:
    """Print the script."""
    shtab = import_extra("shtab", "shell completion", "cli")
    script = shtab.complete(build_parser(), shell=options.shell)
    console.result({"shell": options.shell, "script": script}, script)
