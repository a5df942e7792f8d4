"""Places on a tree, evenly spaced where there are samples: what a distribution along it is of."""

from typing import NamedTuple

import numpy as np

from .._typing import Floats, Ints
from ..graph.placement import on_edges, on_segments, to_points
from ..trajectory.geometry import Geometry, insert_node
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
    >>> found = places_of(Trajectory([[0, 1], [1, 2]], nodes, [[0.1], [0.1], [1.9]]).view, 4)
    >>> found.points.ravel(), found.weights.round(2), found.pseudotime
    (array([0.1, 1.9]), array([0.67, 0.33]), array([0.1, 1.9]))
    >>> found.earliest, found.latest
    (array([0. , 1.5]), array([0.5, 2. ]))
    """

    points: Floats  # (T, d): along the components
    weights: Floats  # (T,): the share of the samples in the stretch
    branch: Ints  # (T,): number of the branch, as in `View.branches.names`
    pseudotime: Floats  # (T,)
    sample: Ints  # (T,): whose place it is
    earliest: Floats  # (T,): pseudotime within the stretch, wherever samples are
    latest: Floats


class Stretches(NamedTuple):
    """Equal parts of the branches, those that have samples."""

    sample: Ints  # (T,): the one nearest to the middle
    counts: Ints  # (T,): samples
    lengths: Floats  # (T,)
    edge: Ints  # (2, T): of `View.geometry`, where each begins and where it ends
    position: Floats  # (2, T)


def places_of(view: View, n_stretches: int = N_STRETCHES) -> Places:
    """The place of the sample nearest to the middle of each stretch, and how many are in it.

    They are the same wherever time starts, so that how far a row is does not depend on the root.
    """
    found, feet = stretches_of(view, n_stretches), view.points - view.residuals
    chosen = found.sample
    branch, time = view.branches.placed.edge[chosen], view.pseudotime[chosen]
    first, last = (
        to_points(view.placement._replace(edge=edge, position=position), view.node_time)
        for edge, position in zip(found.edge, found.position, strict=True)
    )
    within = times_within(first, last, found.lengths, time)
    return Places(feet[chosen], found.counts / len(feet), branch, time, chosen, *within)


def stretches_of(view: View, n_stretches: int = N_STRETCHES) -> Stretches:
    """Equal parts of the branches, which do not depend on the root."""
    base, segments = view.base, view.base_segments
    placed = on_segments(base.placement, segments)
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
    segment, length = placed.edge[chosen], (lengths / n_parts)[placed.edge[chosen]]
    marks = np.concatenate([part[chosen], part[chosen] + 1]) * np.tile(length, 2)
    edge, position = on_edges(segments, base.lengths, np.tile(segment, 2), marks)
    with_roots = Geometry(base.nodes, base.edges, edge, position, np.zeros(len(edge)))
    for where in view.inserted:
        with_roots, _ = insert_node(with_roots, *where)
    edge, position = with_roots.edge.reshape(2, -1), with_roots.position.reshape(2, -1)
    return Stretches(chosen, counts, length, edge, position)


def times_within(
    first: Floats, last: Floats, lengths: Floats, time: Floats
) -> tuple[Floats, Floats]:
    """The earliest and the latest time of stretches, by those at their ends and of a place between.

    Examples
    --------
    Time runs along, starts within, and comes from both sides.

    >>> import numpy as np
    >>> from branchwise.placing.places import times_within
    >>> first, last = np.array([3.0, 0.5, 3.0]), np.array([5.0, 1.5, 4.0])
    >>> times_within(first, last, np.full(3, 2.0), np.array([4.0, 0.0, 3.5]))
    (array([3., 0., 3.]), array([5. , 1.5, 4.5]))
    """
    # With several roots close by these are bounds. Rounding must not decide whether one is within.
    around, room = first + last, lengths * 1e-9
    earliest = np.where(around <= lengths + room, 0.0, np.minimum(first, last))
    has_one = np.abs(around - lengths) <= room
    latest = np.where(has_one, np.maximum(first, last), (around + lengths) / 2)
    return np.minimum(earliest, time), np.maximum(latest, time)
