"""Places on a tree, evenly spaced where there are samples: what a distribution along it is of."""

from typing import NamedTuple

import numpy as np

from .._typing import Floats, Ints
from ..graph.placement import on_segments
from ..trajectory.view import View

# The whole tree is divided into about so many stretches.
N_STRETCHES = 200


class Places(NamedTuple):
    """Places on a tree, one in each stretch that has samples.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.placing.places import places_of
    >>> from branchwise.trajectory import Trajectory
    >>> nodes = np.array([[0.0], [1.0], [2.0]])
    >>> found = places_of(Trajectory([[0, 1], [1, 2]], nodes, [[0.1], [0.1], [1.9]]).view)
    >>> found.points.ravel(), found.weights.round(2), found.pseudotime
    (array([0.1, 1.9]), array([0.67, 0.33]), array([0.1, 1.9]))
    """

    points: Floats  # (T, d): along the components
    weights: Floats  # (T,): the share of the samples in the stretch
    branch: Ints  # (T,): number of the branch, as in `View.branches.names`
    pseudotime: Floats  # (T,)
    sample: Ints  # (T,): whose place it is


def places_of(view: View, n_stretches: int = N_STRETCHES) -> Places:
    """The place of the sample nearest to the middle of each stretch, and how many are in it.

    They are the same wherever time starts, so that how far a row is does not depend on the root.
    """
    placed, feet = (
        on_segments(view.base.placement, view.base_segments),
        view.points - view.residuals,
    )
    lengths = placed.lengths
    longest = max(float(lengths.sum()) / n_stretches, np.finfo(np.float64).tiny)
    # Rounding must not decide how many parts an edge has.
    n_parts = np.maximum(1, np.ceil(lengths / longest - 1e-9)).astype(np.intp)
    along = placed.position * n_parts[placed.edge]
    part = np.minimum(along.astype(np.intp), n_parts[placed.edge] - 1)
    stretch = np.concatenate([[0], np.cumsum(n_parts)])[placed.edge] + part
    # The first of each stretch once they are sorted by their distance from its middle.
    order = np.lexsort((np.abs(along - part - 0.5), stretch))
    _, first, counts = np.unique(stretch[order], return_index=True, return_counts=True)
    chosen = order[first]
    branch, time = view.branches.placed.edge[chosen], view.pseudotime[chosen]
    return Places(feet[chosen], counts / len(feet), branch, time, chosen)
