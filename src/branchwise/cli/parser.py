"""A parser whose complaints say how to write it."""

import argparse
import difflib
import os
import shutil
from collections.abc import Sequence
from typing import Any, NoReturn

from .console import Usage


class Help(argparse.RawDescriptionHelpFormatter):
    """Paragraphs as they are written, and room for long options."""

    def __init__(self, prog: str) -> None:
        width = min(100, shutil.get_terminal_size().columns - 2)
        super().__init__(prog, max_help_position=36, width=width)


class Parser(argparse.ArgumentParser):
    """A parser that leaves it to `main` how a wrong call is told.

    Examples
    --------
    >>> from branchwise.cli.parser import Parser
    >>> parser = Parser(prog="fit", allow_abbrev=False)
    >>> _ = parser.add_argument("--standardize", action="store_true")
    >>> parser.parse_args(["--standard"])
    Traceback (most recent call last):
    ...
    branchwise.cli.console.Usage: there is no option --standard (did you mean --standardize?); ...
    """

    def error(self, message: str) -> NoReturn:
        """Complain in one sentence."""
        raise Usage(f"{message}; see {self.prog} --help.")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """What is left over is told here, where all options are known."""
        given = None if args is None else self.in_order(list(args))
        found, left = super().parse_known_args(given, namespace)
        if left:
            self.error("; ".join(self.strange(text) for text in left))
        return found, left

    def in_order(self, given: list[str]) -> list[str]:
        """The arguments with files first that an option of several names would take for one.

        Of `--exclude age sex a.csv` the last is the table if none is named elsewhere.
        """
        runs, n_free, k = list[list[int]](), 0, 0
        options = self._option_string_actions
        while k < len(given):
            name, sign, _ = given[k].partition("=")
            k += 1
            if name not in options:
                n_free += not name.startswith("-")
                continue
            n_values = 0 if sign or options[name].nargs == 0 else 1
            first = k + n_values
            while k < len(given) and not given[k].startswith("--") and given[k] not in options:
                k += 1
            if options[name].nargs == "+":
                runs.append(list(range(first, k)))
            else:
                n_free += max(k - first, 0)
        needed = sum(action.required for action in self._get_positional_actions())
        ends = [run[-1] for run in runs if run]
        likely = sorted(ends, key=lambda k: (not os.path.exists(given[k]), -k))
        taken = set(likely[: max(needed - n_free, 0)])
        return [given[k] for k in sorted(taken)] + [
            text for k, text in enumerate(given) if k not in taken
        ]

    def strange(self, text: str) -> str:
        """What is wrong with an argument that nobody has asked for."""
        if not text.startswith("-"):
            return f"nothing is expected where {text!r} stands"
        name = text.partition("=")[0]
        known = [option for option in self._option_string_actions if option.startswith("--")]
        close = difflib.get_close_matches(name, known, n=1)
        return f"there is no option {name}" + (f" (did you mean {close[0]}?)" if close else "")


class Names(argparse.Action):
    """Names of columns after one option, in several arguments or between commas."""

    def __call__(
        self, parser: Any, namespace: Any, values: Any, option_string: str | None = None
    ) -> None:
        """Add them to those that were named before."""
        before: Sequence[str] = getattr(namespace, self.dest)
        setattr(namespace, self.dest, [*before, *(name for part in values for name in part)])
