"""Checkpoints of a fit of DDRTree: a small file, whatever the number of samples.

Where the points are is not in it: it follows from the data and the steps of all iterations, which
are small, in one pass.
"""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from .._typing import Floats
from ..solvers.ddrtree import Axes, Saved, Step
from ..structures import FixedGraph, as_structure
from .fields import HUGE, Fields
from .format import ModelFileError, Unsound, read_state, write_state

KIND = "checkpoint of DDRTree"
# Means and spread of equal data agree that far, however their sums are ordered.
SAME_RTOL = 1e-9
# Directions in which the spread is looked at.
N_SEEN = 8


@dataclass(frozen=True)
class Begun:
    """What the first iteration started from, and what the next one starts from."""

    W: Floats
    C: Floats
    sigma: float
    saved: Saved

    def in_basis(self, Y: Any) -> "Begun":
        """The same with axes in the basis that a fit has for the rows of Y."""
        steps = [step._replace(W=Y.lower(step.W)) for step in self.saved.steps]
        axes = Axes(Y.lower(self.saved.axes.block), self.saved.axes.solved)
        return replace(self, W=Y.lower(self.W), saved=self.saved._replace(steps=steps, axes=axes))


@dataclass(frozen=True)
class Checkpoint:
    """A file to write after every iteration, and to go on from; or none, and nothing is done."""

    path: Path | None
    is_resumed: bool

    @classmethod
    def of(cls, model: Any, resume: bool) -> "Checkpoint":
        """As the parameters of an estimator and its `fit` say."""
        model.check_parameters("checkpoint")
        if model.checkpoint is None:
            if resume:
                raise ValueError(
                    "resume=True needs the file that an earlier fit has written; set "
                    "checkpoint=PATH, as in that fit."
                )
            return cls(None, is_resumed=False)
        path = Path(model.checkpoint)
        wrong = ""
        if path.is_dir():
            wrong = "is a folder"
        elif not path.parent.is_dir():
            wrong = "is in a folder that does not exist"
        elif not os.access(path.parent, os.W_OK):
            wrong = "is in a folder that cannot be written to"
        if wrong:
            raise ValueError(
                f"checkpoint={str(path)!r} {wrong}, but must be the name of a file that can be "
                "written; choose another."
            )
        if not resume and path.exists() and not is_checkpoint(path):
            raise ValueError(
                f"checkpoint={str(path)!r} is a file already, and no checkpoint of DDRTree or a "
                "damaged one; choose another name, or delete it."
            )
        return cls(path, resume)

    def begin(self, model: Any, Y: Any, n_components: int, n_centers: int, lam: float) -> "Run":
        """A fit of the model to the rows of Y, which may go on from an earlier one."""
        if self.path is None:
            return Run(None, {}, Y, None)
        facts = facts_of(model, Y, n_components, n_centers, lam)
        begun = read_begun(self.path, facts, Y) if self.is_resumed else None
        return Run(self.path, facts, Y, begun)


@dataclass(frozen=True)
class Run:
    """One fit: what it goes on from, if there is such, and what it writes."""

    path: Path | None
    facts: dict[str, Any]
    Y: Any
    begun: Begun | None

    @property
    def saved(self) -> Saved | None:
        """What the next iteration starts from."""
        return None if self.begun is None else self.begun.saved

    def writer(self, W: Floats, sigma: float) -> Callable[[Saved], None] | None:
        """What writes the file after an iteration, whole or not at all.

        Axes are written in the features, whatever basis this fit has for the rows of Y.
        """
        if self.path is None:
            return None
        path, Y = self.path, self.Y
        given = {"kind": KIND, "facts": self.facts, "mean": Y.mean, "seen": seen(Y)}

        def write(saved: Saved) -> None:
            state = {
                **given,
                "W": Y.lift(W),
                "sigma": sigma,
                "steps_C": np.array([step.C for step in saved.steps]),
                "steps_W": np.array([Y.lift(step.W) for step in saved.steps]),
                "steps_A": np.array([step.A for step in saved.steps]),
                "block": Y.lift(saved.axes.block),
                "solved": saved.axes.solved,
                "C": saved.C,
                "history": np.array(saved.history),
            }
            write_state(path, state)

        return write


def read_begun(path: Path, facts: dict[str, Any], Y: Any) -> Begun | None:
    """What the file says, if it is of the same fit; None if there is none."""
    if not path.exists():
        return None
    state = read_state(path)
    try:
        found, found_mean, found_seen, begun = parse(state)
    except Unsound as error:
        raise ModelFileError(
            f"{path} {error}; it cannot be resumed from: delete it and fit again."
        ) from error
    for name, value in facts.items():
        if not is_same(found.get(name), value):
            raise ValueError(
                f"checkpoint={str(path)!r} is of a fit with {name}={found.get(name)}, but "
                f"this one has {name}={value}; resume with the same data and parameters, or "
                "fit again without resume=True."
            )
    scale = np.sqrt(Y.energy / Y.n_rows) + np.abs(Y.mean).max()
    if not (
        np.abs(found_mean - Y.mean).max() <= SAME_RTOL * scale
        and np.abs(found_seen - seen(Y)).max() <= SAME_RTOL * Y.energy
    ):
        raise ValueError(
            f"checkpoint={str(path)!r} is of a fit to other data; resume with the same "
            "data, or fit again without resume=True."
        )
    return begun.in_basis(Y)


def is_checkpoint(path: Path) -> bool:
    """Whether a file is a checkpoint, which the next one may replace."""
    try:
        return bool(read_state(path).get("kind") == KIND)
    except ModelFileError:
        return False


def seen(Y: Any) -> Floats:
    """How far the rows spread in a few directions, by which one table is told from another.

    Means and variances would not do: standardised tables have them in common. Nor would the
    values themselves, of which rounding changes some when they are prepared again.
    """
    V = np.random.default_rng(0).standard_normal((Y.n_features, N_SEEN))
    V = Y.lower(V / np.linalg.norm(V, axis=0))
    return np.append(np.einsum("ij,ij->j", V, Y.apply_gram(V)), Y.energy)


def parse(state: dict[str, Any]) -> tuple[dict[str, Any], Floats, Floats, Begun]:
    """What `Checkpoint.writer` has written, every part of it checked."""
    fields = Fields(state, "the file")
    fields.choice("kind", (KIND,))
    facts = fields.take("facts")
    if not isinstance(facts, dict):
        raise Unsound("has no facts")
    mean = fields.floats("mean", "n_features")
    directions = fields.floats("seen", "n_seen")
    if len(directions) != N_SEEN + 1:
        raise Unsound(f"has {len(directions)} numbers in 'seen' but must have {N_SEEN + 1}")
    W = fields.floats("W", "n_features", "d")
    steps = [
        Step(*arrays)
        for arrays in zip(
            fields.floats("steps_C", "n_iter", "n_centers", "d"),
            fields.floats("steps_W", "n_iter", "n_features", "d"),
            fields.floats("steps_A", "n_iter", "n_centers", "d"),
            strict=True,
        )
    ]
    axes = Axes(
        fields.floats("block", "n_features", "n_block"),
        fields.floats("solved", "n_centers", "n_block"),
    )
    C = fields.floats("C", "n_centers", "d")
    history = fields.floats("history", "n_iter").tolist()
    sigma = fields.number("sigma", 0.0, HUGE)
    fields.finish()
    begun = Begun(W, steps[0].C, sigma, Saved(steps, axes, C, history))
    return facts, mean, directions, begun


def is_same(found: Any, value: Any) -> bool:
    """Equal, or numbers that differ by rounding."""
    if isinstance(value, float) and isinstance(found, float):
        return abs(found - value) <= SAME_RTOL * abs(value)
    return bool(found == value)


def facts_of(model: Any, Y: Any, n_components: int, n_centers: int, lam: float) -> dict[str, Any]:
    """What the data and the parameters of two runs have to agree in, to be one fit."""
    seed = model.random_state
    return {
        "n_samples": int(Y.n_rows),
        "n_features": int(Y.n_features),
        "n_components": None if model.n_components is None else int(n_components),
        "n_centers": int(n_centers),
        "gamma": float(model.gamma),  # before lam, which follows it where it is "auto"
        "lam": float(lam),
        "sigma": model.sigma if isinstance(model.sigma, str) else float(model.sigma),
        "assignment": model.assignment,
        "structure": described(as_structure(model.structure)),
        "init": None if model.init is None else f"an array ({digest(np.asarray(model.init))})",
        "random_state": int(seed) if isinstance(seed, Integral) else seed and type(seed).__name__,
    }


def described(structure: Any) -> str:
    """A structure with its parameters; of a graph, what tells it from others."""
    if isinstance(structure, FixedGraph):
        graph = structure.best_graph(np.empty((structure.n_nodes, 0)))
        return f"a graph ({digest(graph.edges, graph.weights)})"
    return repr(structure) if is_dataclass(structure) else type(structure).__name__


def digest(*arrays: Any) -> str:
    """A few letters that differ where the arrays do.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.persistence.checkpoints import digest
    >>> digest(np.arange(3)) == digest(np.arange(3)), digest(np.arange(3)) == digest(np.arange(4))
    (True, False)
    """
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(f"{array.dtype} {array.shape}".encode())
        whole.update(np.ascontiguousarray(array).tobytes())
    return whole.hexdigest()[:12]
