"""What every solver reports while it runs and when it is done."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

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


class Monitor:
    """Objective history, stopping rule and clock of an alternating minimisation.

    The objective contains an entropy and may cross zero: its change is measured against
    `scale`, the energy ‖Y‖² of the centred data, never against itself.
    """

    def __init__(self, *, scale: float, tol: float, max_iter: int, callback: Callback | None):
        self.scale, self.tol, self.max_iter, self.callback = scale, tol, max_iter, callback
        self.history: list[float] = []
        self.change = float("inf")
        self.converged = False
        self._start = time.perf_counter()

    @property
    def is_over(self) -> bool:
        """Whether there is no iteration to come."""
        return self.converged or len(self.history) >= self.max_iter

    def has_converged(self, objective: float) -> bool:
        """Note the objective of a finished iteration; say whether it is the last."""
        self.note(objective)
        return self.converged

    def resume(self, history: list[float]) -> None:
        """Go on after these objectives."""
        for objective in history:
            self._compare(objective)

    def _compare(self, objective: float) -> None:
        if self.history:
            self.change = abs(self.history[-1] - objective) / (self.scale or 1.0)
        self.history.append(objective)
        self.converged = self.tol > 0 and self.change <= self.tol

    def note(self, objective: float) -> None:
        """Note the objective of a finished iteration."""
        self._compare(objective)
        if self.callback is not None:
            elapsed = time.perf_counter() - self._start
            n_done = len(self.history)
            self.callback(Progress(n_done, self.max_iter, objective, self.change, elapsed))


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
