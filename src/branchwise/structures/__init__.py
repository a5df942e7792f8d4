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
"""

from .base import Graph, Structure, choose_graph, prepare
from .fixed import FixedGraph
from .named import NAMES, as_structure, in_order
from .sparse import SparseGraph
from .tours import Curve, Ring
from .trees import Forest, Tree

__all__ = [
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
