"""The graph that an estimator has learned, in the space of its embedding."""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree

from .._typing import Floats, Ints
from ..graph.laplacian import squared_distances
from ..graph.placement import length_matrix
from ..structures import as_structure, choose_graph, prepare


def graph_of_model(model: Any, structure: Any) -> tuple[Floats, Ints, float]:
    """Nodes and edges in the learned space, and the factor from there to units of the data."""
    if hasattr(model, "tree_"):
        if structure is not None:
            raise ValueError(
                f"structure={structure!r} is for SPL; {type(model).__name__} has learned its "
                "graph, so leave structure out."
            )
        edges = sparse.triu(model.tree_).tocoo()
        return model.centers_.astype(np.float64), np.column_stack([edges.row, edges.col]), 1.0
    nodes, scale = model.embedding_.astype(np.float64), data_scale(model)
    if structure is not None:
        chosen = prepare(as_structure(structure), nodes)
        return nodes, choose_graph(chosen, nodes, None).edges, scale
    active = sparse.triu(model.graph_).tocoo()
    edges = np.column_stack([active.row, active.col])
    lengths = np.sqrt(squared_distances(nodes, edges))
    tree = minimum_spanning_tree(length_matrix(edges, lengths, len(nodes))).tocoo()
    return nodes, np.column_stack([tree.row, tree.col]), scale


def data_scale(model: Any) -> float:
    """The factor from coordinates of an estimator to units of the data.

    Other than 1 for SPL alone, whose embedding, the posterior mean, is its skeleton, shrunk.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ramify import SPL
    >>> from ramify.trajectory.models import data_scale
    >>> data_scale(SPL(gamma=4.0).fit(load_iris().data))
    1.25
    """
    if getattr(model, "skeleton_", None) is None or model.gamma_ == 0:
        return 1.0
    return float((model.gamma_ + 1) / model.gamma_)
