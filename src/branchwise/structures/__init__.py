"""The sets of graphs that DRTree and DDRTree can choose from (`op:spl-graph`).

A structure answers one question: which graph in its set is the cheapest for these points? The
estimators take one as ``structure=``, by name or as an object:

- `Tree` ("tree"): spanning trees, the paper's own;
- `Forest` ("forest"): several trees, for groups that are not connected;
- `Ring` ("ring"): closed curves;
- `Curve` ("curve"): open curves, without branches;
- `SparseGraph` ("graph"): trees with cycles where the data have them;
- `FixedGraph`, or a matrix: the one graph that is given;
- any object with a method ``best_graph(points)``: see `Structure`.

A new one is a class in a file of its own, with a name and a description here.
"""

from typing import Any

from .._typing import Ints
from .base import Graph, Reordered, Structure, choose_graph, prepare
from .fixed import FixedGraph
from .sparse import SparseGraph
from .tours import Curve, Ring
from .trees import Forest, Tree

__all__ = [
    "DESCRIPTIONS",
    "KINDS",
    "NAMES",
    "Curve",
    "FixedGraph",
    "Forest",
    "Graph",
    "Ring",
    "SparseGraph",
    "Structure",
    "Tree",
    "as_structure",
    "choose_graph",
    "in_order",
    "prepare",
]

NAMES: dict[str, Any] = {
    "tree": Tree(),
    "forest": Forest(),
    "ring": Ring(),
    "curve": Curve(),
    "graph": SparseGraph(),
}

# What they are, for the documentation of the estimators.
DESCRIPTIONS = """
structure : str, matrix or object, default="tree"
    The set of graphs to choose from (`op:spl-graph`). By name:

    - "tree": spanning trees; the best is computed exactly;
    - "forest": several trees, for groups that are to stay unconnected. How many is
      seen from the gaps between the starting nodes, or is given as
      ``branchwise.structures.Forest(n_trees=3)``; exact;
    - "ring": closed curves. The best one is searched for, from scratch in the first
      iteration and then from the last one's ring: a heuristic;
    - "curve": curves from end to end, without branches; a heuristic like "ring";
    - "graph": trees with cycles where a long way round ends near its beginning
      (`branchwise.structures.SparseGraph`); a heuristic.

    Any object with a method ``best_graph(points)`` will do as well
    (`branchwise.structures.Structure`). The objective never rises with any of them: a graph
    that costs more than the last one is not taken.
"""

# These know the nodes by their places alone, in whatever order they come.
ORDERLESS = tuple(type(structure) for structure in NAMES.values())

# All classes of structures here.
KINDS = (*ORDERLESS, FixedGraph)


def as_structure(structure: Any) -> Any:
    """The structure of that name, or of that matrix; any other object is returned as it is.

    Examples
    --------
    >>> from branchwise.structures import as_structure
    >>> as_structure("ring")
    Ring()
    """
    if isinstance(structure, str):
        if structure not in NAMES:
            raise ValueError(
                f"structure={structure!r} must be one of {', '.join(map(repr, NAMES))}, a matrix "
                "or an object of branchwise.structures."
            )
        return NAMES[structure]
    if isinstance(structure, type):
        name = structure.__name__
        raise TypeError(f"structure={name} is a class but must be an object; pass {name}().")
    return structure if hasattr(structure, "best_graph") else FixedGraph(structure)


def in_order(structure: Any, order: Ints) -> Any:
    """A structure that finds at place t what the given one expects at place order[t]."""
    return structure if isinstance(structure, ORDERLESS) else Reordered(structure, order)
