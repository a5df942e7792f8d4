"""When a solver ends, and what it reports while it runs and when it is done."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NotRequired, Protocol, TypedDict

from .._typing import Floats, Ints
from ..structures import Graph


@dataclass(frozen=True)
class Progress:
    """One finished iteration, as handed to a callback."""

    iteration: int
    max_iter: int
    objective: float
    change: float
    elapsed: float


Callback = Callable[[Progress], None]


class Stopping(TypedDict):
    """When a solver ends, and who hears of its iterations: see `Monitor`."""

    max_iter: int
    tol: float
    callback: NotRequired[Callback | None]


class Monitor:
    """Objective history, stopping rule and clock of an alternating minimisation.

    A solver runs ``while not monitor.is_over`` and ends each iteration with ``monitor.note``.

    Parameters
    ----------
    scale : float
        What a change of the objective is measured against: the energy ‖Y‖² of the centred data.
        The objective itself contains an entropy and may cross zero.
    tol, max_iter
        The end: a relative change of at most `tol`, unless that is 0, or so many iterations.
    callback : callable or None
        Called after every iteration, with a `Progress`.
    record : callable or None
        Called before that with whatever the solver notes beside the objective, and the history.

    Examples
    --------
    >>> from branchwise.solvers.convergence import Monitor
    >>> monitor = Monitor(scale=100.0, tol=0.01, max_iter=50)
    >>> value = 64.0
    >>> while not monitor.is_over:
    ...     value /= 2
    ...     monitor.note(value)
    >>> monitor.history, monitor.converged
    ([32.0, 16.0, 8.0, 4.0, 2.0, 1.0], True)
    """

    def __init__(
        self,
        *,
        scale: float,
        tol: float,
        max_iter: int,
        callback: Callback | None = None,
        record: Callable[[Any, list[float]], None] | None = None,
    ):
        self.scale, self.tol, self.max_iter = scale, tol, max_iter
        self.callback, self.record = callback, record
        self.history: list[float] = []
        self.change = float("inf")
        self._start = time.perf_counter()

    @property
    def converged(self) -> bool:
        """The stopping rule: whether the last iteration has changed the objective hardly at all."""
        return bool(self.history) and 0 < self.tol >= self.change

    @property
    def is_over(self) -> bool:
        """Whether there is no iteration to come."""
        return self.converged or len(self.history) >= self.max_iter

    def note(self, objective: float, state: Any = None) -> None:
        """Note the objective of a finished iteration, and where it has led."""
        self._append(objective)
        if self.record is not None:
            self.record(state, self.history)
        if self.callback is not None:
            elapsed = time.perf_counter() - self._start
            n_done = len(self.history)
            self.callback(Progress(n_done, self.max_iter, objective, self.change, elapsed))

    def resume(self, history: list[float]) -> None:
        """Go on after these objectives."""
        for objective in history:
            self._append(objective)

    def _append(self, objective: float) -> None:
        if self.history:
            self.change = abs(self.history[-1] - objective) / (self.scale or 1.0)
        self.history.append(objective)


class SolverResult(Protocol):
    """What the estimators read off any solver's result."""

    @property
    def history(self) -> list[float]:
        """Objective after each iteration."""

    @property
    def n_iter(self) -> int:
        """Number of iterations."""

    @property
    def converged(self) -> bool:
        """Whether the stopping rule was met."""

    @property
    def change(self) -> float:
        """What the stopping rule compares with `tol`, at the end."""

    @property
    def criterion(self) -> str:
        """What that number is called."""


@dataclass(frozen=True)
class TreeResult:
    """W, Z, C and the graph after the last iteration, with the record of the run.

    After convergence the graph is the best one for C that its structure knows. A run that was
    cut off has the graph of its last iteration, from which C was computed.
    """

    W: Floats
    Z: Any  # None where the points are elsewhere
    C: Floats
    graph: Graph
    history: list[float]
    change: float
    converged: bool
    criterion: str = "change of the objective"

    @property
    def edges(self) -> Ints:
        """The edges of the graph."""
        return self.graph.edges

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return len(self.history)
