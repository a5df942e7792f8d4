"""What every solver reports while it runs and when it is done."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from .._typing import Floats, Ints


@dataclass(frozen=True)
class Progress:
    """One finished iteration, as handed to a callback."""

    iteration: int
    max_iter: int
    objective: float
    change: float
    elapsed: float


Callback = Callable[[Progress], None]


class Watch:
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

    def has_converged(self, objective: float) -> bool:
        """Note the objective of a finished iteration; say whether it is the last."""
        if self.history:
            self.change = abs(self.history[-1] - objective) / (self.scale or 1.0)
        self.history.append(objective)
        self.converged = self.tol > 0 and self.change <= self.tol
        if self.callback is not None:
            elapsed = time.perf_counter() - self._start
            n_done = len(self.history)
            self.callback(Progress(n_done, self.max_iter, objective, self.change, elapsed))
        return self.converged


@dataclass(frozen=True)
class TreeResult:
    """W, Z, C and the tree's edges after the last iteration, with the record of the run."""

    W: Floats
    Z: Floats
    C: Floats
    edges: Ints
    history: list[float]
    change: float
    converged: bool
