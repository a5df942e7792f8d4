"""A solver's run as its user sees it: a line of progress, the record, a warning at the end."""

import sys
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..solvers.convergence import Callback, Progress, SolverResult, Stopping

if TYPE_CHECKING:
    from .base import StructureLearner

Result = TypeVar("Result", bound=SolverResult)

WIDTH = 24
SECONDS_BETWEEN_LINES = 5.0


def run_solver(model: "StructureLearner", solve: Callable[[Stopping], Result]) -> Result:
    """Run a solver with progress, until the model's parameters say, and keep its record."""
    name = type(model).__name__
    start = time.perf_counter()
    try:
        result = solve(stopping_of(model))
    except KeyboardInterrupt:
        finish(name, model.verbose, "was interrupted")
        raise
    except Exception:
        finish(name, model.verbose, "failed")
        raise
    model.n_iter_ = result.n_iter
    model.converged_ = result.converged
    model.objective_history_ = np.array(result.history)
    model.objective_ = result.history[-1]
    outcome = "converged" if model.converged_ else "stopped"
    seconds = time.perf_counter() - start
    finish(name, model.verbose, f"{outcome} after {model.n_iter_} iterations in {seconds:.1f} s")
    if not model.converged_ and model.tol > 0:
        remedy = "raise max_iter or tol" if model.n_iter_ == model.max_iter else "raise tol"
        warnings.warn(
            f"{name} stopped after {model.n_iter_} of max_iter={model.max_iter} iterations with "
            f"a relative {result.criterion} of {result.change:.1e}, above tol={model.tol:.1e}; "
            f"{remedy}.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return result


def stopping_of(model: "StructureLearner") -> Stopping:
    """When the model's solver ends: those of its parameters that `Stopping` names."""
    given = model.get_params(deep=False)
    stopping = {name: given[name] for name in Stopping.__annotations__ if name in given}
    stopping["callback"] = reporter(type(model).__name__, model.verbose, model.callback)
    return cast(Stopping, stopping)


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
