"""Which experiments there are, what all of them are told, and what each of them tells."""

import math
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

# In the order of the paper's table and figures.
# The weight of the clusters in DDRTree, which the paper does not print: its R package's.
DDRTREE_GAMMA = 10.0

EXPERIMENTS = {
    "table1": "leave-one-out accuracies of nine methods on ten data sets",
    "sensitivity": "Fig. 1: the parameters γ and C",
    "synthetic": "Fig. 2: six shapes, all methods",
    "real": "Fig. 3: a turning teapot and handwritten ones",
    "teapot": "Fig. 4: the principal curve of the teapot",
    "faces": "Fig. 5: a hierarchy of faces",
    "cancer": "Fig. 6: the progression of breast cancer",
}

Advance = Callable[[str], None]


@contextmanager
def no_bar(total: int, name: str) -> Iterator[Advance]:
    """Where nobody is looking."""
    yield lambda label: None


def silent(text: str) -> None:
    """Where nobody is listening."""


@dataclass(frozen=True)
class Settings:
    """Where to write, what to run and whom to tell."""

    out: Path
    data_dir: Path | None = None  # None: BRANCHWISE_DATA, if it is set
    quick: bool = False
    datasets: tuple[str, ...] = ()  # none: all
    methods: tuple[str, ...] = ()  # none: all
    images: bool = True  # whether pictures show images of the data, or dots alone
    n_processes: int = 2
    fresh: bool = False  # compute also what is on disk
    note: Callable[[str], None] = silent
    bar: Callable[[int, str], AbstractContextManager[Advance]] = no_bar


def data_folder(settings: Settings) -> Path | None:
    """The folder of data sets that was named, here or in the environment."""
    named = os.environ.get("BRANCHWISE_DATA")
    return settings.data_dir or (Path(named) if named else None)


class Check(NamedTuple):
    """A claim about a table or a figure, as a number and what it has to be.

    Examples
    --------
    >>> from branchwise_paper.experiments.settings import Check
    >>> Check("components of two moons", 2, "==", 2).passed
    True
    >>> Check("Spearman correlation", 0.98, ">=", 0.99).passed
    False
    """

    claim: str
    value: float
    relation: str  # ">=", "<=" or "=="
    bound: float
    data: str = ""  # the data set, and whether it is real, simulated or a stand-in

    @property
    def passed(self) -> bool:
        """Whether the number is what the claim says; NaN never is."""
        if math.isnan(self.value):
            return False
        return {
            ">=": self.value >= self.bound,
            "<=": self.value <= self.bound,
            "==": self.value == self.bound,
        }[self.relation]


class Outcome(NamedTuple):
    """What an experiment has to say.

    ``text`` is Markdown without a title, and names pictures and tables by the file names that
    the experiment wrote into the folder of results; ``files`` lists them.
    """

    name: str
    title: str
    text: str
    checks: list[Check]
    files: list[str]
