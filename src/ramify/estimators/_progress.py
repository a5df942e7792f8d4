"""One line on the terminal that tells how far a fit has come."""

import sys
import time

from ..solvers.record import Callback, Progress

WIDTH = 24
SECONDS_BETWEEN_LINES = 5.0


def reporter(name: str, verbose: int, callback: Callback | None) -> Callback | None:
    """What a solver should call after each iteration: a progress line, `callback`, or both.

    On a terminal one line is rewritten; in a log file a new line appears every few
    seconds.
    """
    if not verbose:
        return callback
    last = [0.0]

    def report(progress: Progress) -> None:
        done = min(progress.iteration / progress.max_iter, 1.0)
        filled = round(WIDTH * done)
        text = (
            f"{name} [{'#' * filled}{'.' * (WIDTH - filled)}] "
            f"{progress.iteration}/{progress.max_iter}  objective {progress.objective:.6g}  "
            f"change {progress.change:.1e}  {progress.elapsed:.1f} s"
        )
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{text}\x1b[K")  # and clear what a longer line left behind
            sys.stderr.flush()
        elif time.monotonic() - last[0] >= SECONDS_BETWEEN_LINES:
            print(text, file=sys.stderr)
            last[0] = time.monotonic()
        if callback is not None:
            callback(progress)

    return report


def finish(name: str, verbose: int, outcome: str) -> None:
    """Close the progress line with the outcome."""
    if verbose:
        start = "\n" if sys.stderr.isatty() else ""
        print(f"{start}{name} {outcome}.", file=sys.stderr)
