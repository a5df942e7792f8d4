"""Learn a low-dimensional embedding together with the graph that the data lie on.

Three estimators with the scikit-learn interface:

- `DDRTree`: a tree of soft cluster centres, for noisy samples of a branching process;
- `DRTree`: a tree with one node per sample;
- `SPL`: a smooth skeleton of any shape, at the certified global optimum.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimators import SPL, DDRTree, DRTree

__version__ = "0.1.0"

__all__ = ["SPL", "DDRTree", "DRTree", "__version__"]


def __getattr__(name: str) -> Any:
    """Import the estimators, and scikit-learn with them, when one is first used."""
    if name in __all__:
        from . import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
