"""Learn a low-dimensional embedding together with the graph that the data lie on.

Three estimators with the scikit-learn interface:

- `DDRTree`: a tree of soft cluster centres, for noisy samples of a branching process;
- `DRTree`: a tree with one node per sample;
- `SPL`: a smooth skeleton of any shape, at the certified global optimum.
"""

from .estimators import SPL, DDRTree, DRTree

__version__ = "0.1.0"

__all__ = ["SPL", "DDRTree", "DRTree", "__version__"]
