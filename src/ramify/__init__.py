"""Learn a low-dimensional embedding together with the graph that the data lie on.

Three estimators with the scikit-learn interface:

- `DDRTree`: a tree of soft cluster centres, for noisy samples of a branching process;
- `DRTree`: a tree with one node per sample;
- `SPL`: a smooth skeleton of any shape, at the certified global optimum.

`Preparation` does to a table what is usual before a fit. `select` chooses parameters by samples
that were left out, scored by `held_out_log_likelihood`. `load` reads a model that its `save` has
written. `ramify.trajectory` leads from a tree to an answer: order, branches, trends, support.
`ramify.plotting` draws, `ramify.report` writes an interactive page, `ramify.metrics` scores,
`ramify.datasets` simulates and fetches, and `ramify.structures` holds the sets of graphs to choose
from. `ramify.baselines` has the methods that the paper compares with. `ramify.tl` and `ramify.pl`
work on AnnData objects, as scanpy does.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import baselines, datasets, metrics, preparation, report, structures, trajectory
    from . import plotting as plotting
    from .estimators import SPL, DDRTree, DRTree
    from .loading import load
    from .model_selection import held_out_log_likelihood, select
    from .preparation import Preparation
    from .scverse import pl as pl
    from .scverse import tl as tl

__version__ = "0.1.0"

__all__ = [
    "SPL",
    "DDRTree",
    "DRTree",
    "Preparation",
    "__version__",
    "baselines",
    "datasets",
    "held_out_log_likelihood",
    "load",
    "metrics",
    "preparation",
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
    "Preparation": "preparation",
    "held_out_log_likelihood": "model_selection",
    "load": "loading",
    "select": "model_selection",
}
# These need extras, so that `from ramify import *` leaves them out.
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
