"""A trajectory as a state that a model file holds, and back."""

from typing import Any

import numpy as np

from .._typing import Ints
from ..data.dask import is_dask
from ..trajectory.checks import check_edges, check_points, check_positions, check_sigma
from ..trajectory.core import Trajectory
from ..trajectory.view import Root, View
from .estimators import estimator_from_state, estimator_state
from .format import Unsound


def trajectory_state(trajectory: Trajectory) -> dict[str, Any]:
    """Graph, roots and estimator; the samples only if the estimator does not hold them.

    Names of samples are not part of it.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory import Trajectory
    >>> from branchwise.persistence.trajectory import trajectory_from_state, trajectory_state
    >>> path = Trajectory([[0, 1], [1, 2]], np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 2.0]]))
    >>> trajectory_from_state(trajectory_state(path.rooted(node="T2")))
    <Trajectory: 3 samples, 1 branches, 2 tips, rooted at T2>
    """
    view, model = trajectory.view, trajectory.estimator_
    # The file of an estimator is without points that stay on the workers of Dask.
    is_fitted = (
        model is not None
        and not is_dask(model.projection_)
        and np.array_equal(view.points, model.projection_)
    )
    return {
        "kind": "trajectory",
        "estimator": None if model is None else estimator_state(model),
        "nodes": view.base.nodes,
        "edges": view.base.edges,
        "points": None if is_fitted else view.points,
        "roots": [[root.kind, int(root.which)] for root in view.roots],
        "end": view.end,
        "sigma": view.sigma,
    }


def trajectory_from_state(state: dict[str, Any]) -> Trajectory:
    """The trajectory of a state, with every part of it checked.

    `Trajectory.support` cannot repeat how it was made: that needs the trajectory itself.
    """
    try:
        model = None if state["estimator"] is None else estimator_from_state(state["estimator"])
        nodes = check_positions(state["nodes"], "nodes")
        edges = _edges(np.asarray(state["edges"]), len(nodes))
        given = state["points"]
        if given is None and model is not None:
            given = model.projection_
        points, names = check_points(given, nodes, None)
        roots = tuple(_root(root, len(nodes), len(points)) for root in state["roots"])
        end = None if state["end"] is None else _root(["node", state["end"]], len(nodes), 0).which
        sigma = check_sigma(state["sigma"])
    except Unsound:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Unsound(
            f"holds a trajectory that is not as branchwise writes it ({error})"
        ) from error
    view = View.placed(nodes, edges, points, sigma=sigma, roots=roots, end=end)
    return Trajectory.from_view(view, names=names, estimator=model)


def _edges(edges: Any, n_nodes: int) -> Ints:
    """Edges in their own order, with the loops of nodes that stand alone."""
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise TypeError(f"edges of shape {edges.shape}")
    check_edges(edges, n_nodes)
    return edges.astype(np.intp)


def _root(given: Any, n_nodes: int, n_samples: int) -> Root:
    kind, which = given
    limit = {"node": n_nodes, "sample": n_samples}[kind]
    if not isinstance(which, int) or isinstance(which, bool) or not 0 <= which < limit:
        raise Unsound(f"holds a trajectory with {kind} {which!r} of {limit}")
    return Root(kind, which)
