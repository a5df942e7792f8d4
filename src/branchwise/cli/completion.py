"""`branchwise completion`: a script for the shell."""

import argparse

from .._compat import import_extra
from .arguments import build_parser, find_plugins
from .console import Console

# Arguments that are names of files or folders.
PATHS = {"input", "model", "new", "result", "path", "out", "checkpoint"}


def run(options: argparse.Namespace, console: Console) -> None:
    """Print the script."""
    shtab = import_extra("shtab", "shell completion", "cli")
    parser = build_parser(find_plugins())
    [commands] = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    for command in commands.choices.values():
        for action in command._actions:
            if action.dest in PATHS:
                action.complete = shtab.FILE
    script = shtab.complete(parser, shell=options.shell)
    console.result({"shell": options.shell, "script": script}, script)
