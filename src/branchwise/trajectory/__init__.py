"""From a tree to an answer: roots, branches, pseudotime, trends, support."""

from typing import TYPE_CHECKING, Any

from .core import Trajectory

if TYPE_CHECKING:
    from ..pipeline import learn_trajectory

__all__ = ["Trajectory", "learn_trajectory"]


def __getattr__(name: str) -> Any:
    """`learn_trajectory` is in `branchwise.pipeline`, which needs this package."""
    if name == "learn_trajectory":
        from ..pipeline import learn_trajectory

        return learn_trajectory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
