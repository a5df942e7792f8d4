"""The pictures of a page for more than two components: axes that show the tree, and a flat tree."""

from typing import Any, NamedTuple

import numpy as np

from .._typing import Floats
from ..trajectory import Trajectory
from ..trajectory.axes import TreeAxes, tree_axes
from ..trajectory.flat import FlatTree, flat_tree, has_cycle
from .bins import Bins
from .encoding import double, single


class Views(NamedTuple):
    """What `views_of` found, before samples are binned."""

    axes: TreeAxes
    points: Floats  # (n_samples, n_axes): the samples in these axes
    flat: FlatTree | None  # None for graphs with cycles, which would have to be cut


def views_of(path: Trajectory, dims: int) -> Views | None:
    """The linear axes that show the tree best, and its flat drawing; None for two components.

    Both are those of `branchwise.plotting.plot_embedding`.
    """
    if path.nodes_.shape[1] <= 2:
        return None
    start = int(path.roots_[0])
    axes = tree_axes(path.nodes_, path.edges_, path.view.points, start, dims)
    flat = None if has_cycle(path.edges_, len(path.nodes_)) else flat_tree(path)
    return Views(axes, path.view.points @ axes.axes, flat)


def views_state(path: Trajectory, views: Views | None, bins: Bins | None) -> dict[str, Any] | None:
    """What a page holds of them."""
    if views is None:
        return None
    state: dict[str, Any] = {
        "axes": {
            "names": [f"tree axis {k + 1}" for k in range(views.axes.axes.shape[1])],
            "shares": [float(share) for share in views.axes.shares],
            "matrix": double(views.axes.axes),
            "points": single(_of_rows(views.points, bins)),
            "nodes": single(path.nodes_ @ views.axes.axes),
        },
        "flat": None,
    }
    if views.flat is not None:
        state["flat"] = {
            "points": single(_of_rows(views.flat.samples, bins)),
            "ends": single(views.flat.nodes[views.flat.edges].reshape(-1, 4)),
            "sides": views.flat.sides.astype("i4"),
        }
    return state


def _of_rows(places: Floats, bins: Bins | None) -> Floats:
    """Places of samples, or the mean places of bins."""
    if bins is None:
        return places
    return np.column_stack([bins.mean(column) for column in places.T])
