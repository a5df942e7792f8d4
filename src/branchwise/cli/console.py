"""What the user reads: results on standard output, everything else on standard error."""

import errno
import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ..data.errors import UnreadableColumns

if TYPE_CHECKING:
    from ..solvers.convergence import Progress

# A bar appears when a fit takes longer than this.
SECONDS_BEFORE_BAR = 1.0
# Errors of this kind say what is wrong in their own words.
EXPECTED = (ValueError, TypeError, OSError, ImportError, MemoryError, AttributeError)


class Failure(Exception):
    """A fit or data error: one sentence, exit code 1."""


class Usage(Exception):
    """A wrong call: one sentence, exit code 2."""


def as_json(facts: Any) -> str:
    """JSON, which knows neither NaN nor infinity: the one becomes null, the other a word.

    Examples
    --------
    >>> from branchwise.cli.console import as_json
    >>> print(as_json([1.5, float("nan"), float("-inf")]).replace(chr(10), ""))
    [  1.5,  null,  "-inf"]
    """
    return json.dumps(_plain(facts), indent=2, allow_nan=False, default=str)


def _plain(value: Any) -> Any:
    """The same with numbers that JSON can hold."""
    if isinstance(value, dict):
        return {name: _plain(fact) for name, fact in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(fact) for fact in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


class Console:
    """The streams of one command, its warnings and the seconds that its stages took.

    Examples
    --------
    >>> from branchwise.cli.console import Console, Failure
    >>> Console("fit").text(Failure("no such file"))
    'no such file'
    """

    def __init__(self, command: str, *, is_json: bool = False, is_debug: bool = False):
        self.command = command
        self.is_json = is_json
        self.is_debug = is_debug
        self.messages: list[str] = []
        self.stops: list[int] = []  # signals that have come
        self.interrupted = "interrupted; nothing was written."  # if one of these ends the command
        self.seconds: dict[str, float] = {}
        self._stage: tuple[str, float] | None = None

    def result(self, facts: dict[str, Any], text: str) -> None:
        """The outcome: for machines or for people."""
        if self.is_json:
            print(as_json(facts))
        elif text:
            print(text)

    def note(self, text: str) -> None:
        """Something to know that is not a result."""
        print(f"branchwise: {text}", file=sys.stderr)

    def fail(self, error: BaseException, code: int) -> int:
        """Say in one line why there is no result."""
        text = self.text(error)
        if self.is_json:
            with suppress(OSError):
                print(json.dumps({"error": text, "exit_code": code}, indent=2))
        print(f"{f'branchwise {self.command}'.strip()}: {text}", file=sys.stderr)
        try:
            sys.stdout.flush()
        except OSError:  # it was standard output that failed: nobody is to try again at the end
            sys.stdout = None
        return code

    def text(self, error: BaseException) -> str:
        """An error as one line; of columns that cannot be read, a line for each kind."""
        lines = str(error).split("\n") if isinstance(error, UnreadableColumns) else [str(error)]
        words = "\n".join(" ".join(line.split()) for line in lines)
        if isinstance(error, FileNotFoundError) and error.filename is not None:
            return f"there is no file or folder {error.filename}; check the path."
        if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
            return "there is no space left on the disk; free some, or write to another one."
        if isinstance(error, MemoryError) and not words:
            return "there is not enough memory; take fewer samples or features."
        if isinstance(error, (Failure, Usage, *EXPECTED)) and words:
            return words
        return (
            f"unexpected {type(error).__name__}{': ' if words else ''}{words}; run again with "
            "--debug for the traceback, and report it."
        )

    @contextmanager
    def warnings(self) -> Iterator[None]:
        """Show each warning as one line, and keep it for the record."""

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, DeprecationWarning | FutureWarning | ResourceWarning):
                return  # for the developers of libraries, not for users of a command
            text = " ".join(str(message).split())
            if text not in self.messages:
                self.messages.append(text)
                self.note(f"warning: {text}")

        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show
            yield

    def stage(self, name: str | None) -> None:
        """Begin a stage of the work; the seconds of the last one are kept."""
        now = time.perf_counter()
        if self._stage is not None:
            last, start = self._stage
            self.seconds[last] = self.seconds.get(last, 0.0) + now - start
        self._stage = None if name is None else (name, now)

    @contextmanager
    def progress(self, name: str, max_iter: int) -> Iterator[Any]:
        """A callback for a fit, which draws one bar if somebody is looking."""

        def heed(progress: "Progress") -> None:
            if self.stops:  # and something has swallowed the interrupt, as finalizers do
                raise KeyboardInterrupt

        if not sys.stderr.isatty():
            yield heed
            return
        from .._compat import import_extra

        tqdm = import_extra("tqdm", "the progress bar", "cli").tqdm
        with tqdm(
            total=max_iter,
            desc=name,
            unit="it",
            file=sys.stderr,
            leave=False,
            delay=SECONDS_BEFORE_BAR,
        ) as bar:

            def show(progress: "Progress") -> None:
                heed(progress)
                bar.set_postfix_str(
                    f"objective {progress.objective:.6g}, change {progress.change:.1e}",
                    refresh=False,
                )
                bar.update(progress.iteration - bar.n)

            yield show

    @contextmanager
    def counting(self, total: int, what: str) -> Iterator[Callable[[int], Any]]:
        """A function that counts rows, on one bar if somebody is looking."""
        if not sys.stderr.isatty():
            yield lambda n: None
            return
        from .._compat import import_extra

        tqdm = import_extra("tqdm", "the progress bar", "cli").tqdm
        with tqdm(
            total=total,
            desc=what,
            unit=" rows",
            unit_scale=True,
            file=sys.stderr,
            leave=False,
            delay=SECONDS_BEFORE_BAR,
        ) as bar:
            yield bar.update
