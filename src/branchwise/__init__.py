"""Learn a low-dimensional embedding together with the graph that the data lie on.

`learn_trajectory` leads from a table of samples to a tree with its branches, the order of the
samples, and how sure all of this is. Three estimators with the scikit-learn interface:

- `DDRTree`: a tree of soft cluster centres, for noisy samples of a branching process;
- `DRTree`: a tree with one node per sample;
- `SPL`: a smooth skeleton of any shape, at the certified global optimum.

`Preparation` does to a table what is usual before a fit. `select` chooses parameters by samples
that were left out, scored by `held_out_log_likelihood`. `load` reads a model that its `save` has
written. `branchwise.trajectory` leads from a tree to an answer: order, branches, trends, support.
`branchwise.plotting` draws, `branchwise.report` writes an interactive page, `branchwise.metrics`
scores, `branchwise.datasets` simulates, and `branchwise.structures` holds the sets of graphs to
choose from.
`branchwise.tl` and `branchwise.pl` work on AnnData objects, as scanpy does.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import datasets, metrics, preprocessing, report, structures, trajectory
    from . import plotting as plotting
    from .estimators import SPL, DDRTree, DRTree
    from .model_selection import held_out_log_likelihood, select
    from .persistence import load
    from .pipeline import learn_trajectory
    from .preprocessing import Preparation
    from .scverse import pl as pl
    from .scverse import tl as tl

__version__ = "0.1.0"

__all__ = [
    "SPL",
    "DDRTree",
    "DRTree",
    "Preparation",
    "__version__",
    "datasets",
    "held_out_log_likelihood",
    "learn_trajectory",
    "load",
    "metrics",
    "preprocessing",
    "report",
    "select",
    "structures",
    "trajectory",
]
# Where to find each: imported when it is first used, and scikit-learn with it.
HOMES = {
    "SPL": "estimators",
    "DDRTree": "estimators",
    "DRTree": "estimators",
    "Preparation": "preprocessing",
    "held_out_log_likelihood": "model_selection",
    "learn_trajectory": "pipeline",
    "load": "persistence",
    "select": "model_selection",
}
# These need extras, so that `from branchwise import *` leaves them out.
EXTRAS = {"pl": "scverse.pl", "plotting": "plotting", "tl": "scverse.tl"}


def __getattr__(name: str) -> Any:
    """Import what is asked for."""
    if name in HOMES:
        return getattr(importlib.import_module(f"{__name__}.{HOMES[name]}"), name)
    if name in __all__ or name in EXTRAS:
        return importlib.import_module(f"{__name__}.{EXTRAS.get(name, name)}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *EXTRAS])
