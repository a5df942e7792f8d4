"""Learn a low-dimensional embedding together with the graph that the data lie on.

Three estimators with the scikit-learn interface:

- `DDRTree`: a tree of soft cluster centres, for noisy samples of a branching process;
- `DRTree`: a tree with one node per sample;
- `SPL`: a smooth skeleton of any shape, at the certified global optimum.

`select` chooses their parameters by samples that were left out, scored by
`held_out_log_likelihood`, and `load` reads a model that its `save` has written.
`ramify.trajectory` leads from a tree to an answer: order, branches, trends, support.
`ramify.metrics` scores, `ramify.datasets` simulates, and `ramify.structures` holds the sets of
graphs to choose from. `ramify.tl` and `ramify.pl` do all this on AnnData objects, as scanpy does.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import datasets, metrics, structures, trajectory
    from .estimators import SPL, DDRTree, DRTree
    from .loading import load
    from .model_selection import held_out_log_likelihood, select
    from .scverse import pl, tl

__version__ = "0.1.0"

__all__ = [
    "SPL",
    "DDRTree",
    "DRTree",
    "__version__",
    "datasets",
    "held_out_log_likelihood",
    "load",
    "metrics",
    "pl",
    "select",
    "structures",
    "tl",
    "trajectory",
]
SUBPACKAGES = {name: name for name in ("datasets", "metrics", "structures", "trajectory")} | {
    "pl": "scverse.pl",
    "tl": "scverse.tl",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, and scikit-learn with it, when it is first used."""
    if name in SUBPACKAGES:
        return importlib.import_module(f"{__name__}.{SUBPACKAGES[name]}")
    if name in __all__:
        from . import estimators, loading, model_selection

        homes = (estimators, model_selection, loading)
        return next(getattr(home, name) for home in homes if hasattr(home, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
