"""Coordinates for drawing a trajectory as a rooted tree: time along it, branches side by side."""

from typing import NamedTuple

import numpy as np

from .._typing import Bools, Floats, Ints
from .branches import came_from, importance, leading_branches
from .core import Trajectory

# Of the room between two neighbouring arms, the part on either side that samples may take.
REACH = 0.4
# Between connected parts, in units of the room of one arm.
GAP = 0.5
# Cells of the longest path from a root in which samples are counted for the width of an arm.
N_CELLS = 60
# The width of an arm is full where samples are as dense as around this part of them.
FULL_AT = 0.8
# Parts of a branch shorter than this part of it come from rounding.
ROUNDING = 1e-9
# Multiples of it fill an interval evenly, however many there are.
GOLDEN = (np.sqrt(5) - 1) / 2


class TreeLayout(NamedTuple):
    """Coordinates of milestones, branches and samples: pseudotime, and the position across.

    A branch is drawn as one arm, a straight line at a constant position across. One that closes a
    cycle is cut where both paths from the root are equally long, and is two arms, one at each of
    its milestones.
    """

    names: list[str]  # of the milestones
    milestones: Floats  # (n_milestones, 2)
    branch: Ints  # (n_arms,): row of branch_table_
    start: Ints  # (n_arms,): milestone that it leaves
    end: Ints  # (n_arms,): milestone that it leads to; −1 where it was cut
    times: Floats  # (n_arms, 2)
    across: Floats  # (n_arms,)
    room: Floats  # (n_arms, 2): across, for the arm and all that follows it
    closings: Floats  # (n_closings, 2, 2): pairs of positions that are one, on a cycle
    closing_branch: Ints  # (n_closings,)
    arm: Ints  # (n_samples,)
    samples: Floats  # (n_samples, 2)


class Arms(NamedTuple):
    """Arm b is branch b or its first half; second halves come last, as nothing follows them."""

    branch: Ints
    start: Ints
    end: Ints
    times: Floats
    parent: Ints  # the arm before it, which has a lower number; −1 at a root
    cut: Floats  # (n_branches,): position where the second half begins
    closes: Bools  # (n_branches,): whether the branch closes a cycle


def tree_layout(path: Trajectory) -> TreeLayout:
    """Lay out a trajectory as a tree: pseudotime along it, branches side by side, none crossing.

    Every arm without followers gets room of width one across, and every other arm lies in
    the middle between the first and the last of those that follow it, in their common room. Samples
    keep their pseudotime and are spread across their arm, as far as samples are dense there,
    so that they cover all arms about equally; the same trajectory gets the same layout. Connected
    parts lie side by side. Time is linear in branches and, but for one sort, in samples.

    Parameters
    ----------
    path : Trajectory

    Returns
    -------
    layout : TreeLayout

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory import Trajectory
    >>> from branchwise.trajectory.layout import tree_layout
    >>> nodes = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 2.0], [3.0, -1.0]])
    >>> path = Trajectory([[0, 1], [1, 2], [1, 3]], nodes)
    >>> found = tree_layout(path)
    >>> found.names, found.milestones.round(2).tolist()
    (['T1', 'F1', 'T2', 'T3'], [[0.0, 1.0], [2.0, 1.0], [4.83, 1.5], [3.41, 0.5]])
    >>> found.samples[:, 0].round(2), found.across
    (array([0.  , 2.  , 4.83, 3.41]), array([1. , 1.5, 0.5]))
    """
    found = path.view.branches
    nodes, placed = found.found.milestones, found.placed
    arms = _arms(path)
    part = path.view.parts[nodes]
    roots = sorted(
        np.searchsorted(nodes, path.roots_).tolist(),
        key=lambda k: (part[k], importance(found.milestones[k])),
    )
    room, across, at_roots = _side_by_side(arms, roots, part[roots])
    height = np.zeros(len(nodes))
    height[roots] = at_roots
    whole = arms.end >= 0
    height[arms.end[whole]] = across[whole]
    n_branches = len(found.names)
    second = np.full(n_branches, -1)
    second[arms.branch[n_branches:]] = np.arange(n_branches, len(arms.branch))
    is_second = (second[placed.edge] >= 0) & (placed.position > arms.cut[placed.edge])
    arm = np.where(is_second, second[placed.edge], placed.edge)
    offset = spread(arm, path.pseudotime_, arms.times)
    milestones = np.column_stack([path.view.node_time[nodes], height])
    ends = np.column_stack([arms.times[:, 1], across])
    closing = np.flatnonzero(arms.closes)
    other = second[closing][:, np.newaxis]
    there = np.where(other >= 0, ends[other[:, 0]], milestones[placed.edges[closing, 1]])
    return TreeLayout(
        names=found.milestones,
        milestones=milestones,
        branch=arms.branch,
        start=arms.start,
        end=arms.end,
        times=arms.times,
        across=across,
        room=room,
        closings=np.stack([ends[closing], there], axis=1),
        closing_branch=closing,
        arm=arm,
        samples=np.column_stack([path.pseudotime_, across[arm] + offset]),
    )


def _arms(path: Trajectory) -> Arms:
    """Branches by which time reaches a milestone are one arm, and the others two."""
    found = path.view.branches
    (start, end), length = found.placed.edges.T, found.placed.lengths
    leads = np.zeros(len(length), dtype=bool)
    leads[list(leading_branches(found.found, came_from(found.found, path.roots_)).values())] = True
    # A node without neighbours has a loop without length, which stays whole.
    closes = ~leads & ((length > 0) | (start != end))
    late = found.end_time - found.start_time
    divisor = np.where(length > 0, length, 1.0)
    cut = np.where(closes & (length > 0), np.clip((1 + late / divisor) / 2, 0.0, 1.0), 1.0)
    # Where both paths to a milestone are equally long, nothing is left for the second half.
    halved = np.flatnonzero(cut < 1 - ROUNDING)
    until = np.where(leads, found.end_time, found.start_time + cut * length)
    to = np.append(np.where(leads, end, -1), np.full(len(halved), -1))
    leading = np.full(found.placed.n_nodes, -1)
    leading[to[to >= 0]] = np.flatnonzero(to >= 0)
    leaves = np.append(start, end[halved])
    return Arms(
        branch=np.append(np.arange(len(length)), halved),
        start=leaves,
        end=to,
        times=np.column_stack(
            [np.append(found.start_time, found.end_time[halved]), np.append(until, until[halved])]
        ),
        parent=leading[leaves],
        cut=cut,
        closes=closes,
    )


def _side_by_side(arms: Arms, roots: list[int], part: Ints) -> tuple[Floats, Floats, Floats]:
    """Room of each arm, its position in it, and those of the roots; the first on top."""
    n_arms, parent = len(arms.parent), arms.parent.tolist()
    # A root is like an arm, of which no line is seen; it comes before all others.
    row = {root: n_arms + k for k, root in enumerate(roots)}
    above = [p if p >= 0 else row[s] for p, s in zip(parent, arms.start.tolist(), strict=True)]
    size = np.zeros(n_arms + len(roots)).tolist()
    for k in range(n_arms - 1, -1, -1):
        size[k] = size[k] or 1.0
        size[above[k]] += size[k]
    high = np.zeros(len(size)).tolist()
    top = sum(size[n_arms:]) + GAP * np.count_nonzero(np.diff(part))
    for k in range(len(roots)):
        top -= GAP if k and part[k] != part[k - 1] else 0.0
        high[n_arms + k] = top
        top -= size[n_arms + k]
    free = high.copy()
    for k in range(n_arms):
        high[k] = free[k] = free[above[k]]
        free[above[k]] -= size[k]
    low = np.array(high) - np.array(size)
    first, last = np.full((2, len(size)), np.nan)
    across = (low + high) / 2
    for k in range(n_arms - 1, -1, -1):
        if not np.isnan(first[k]):
            across[k] = (first[k] + last[k]) / 2
        first[above[k]] = across[k]
        if np.isnan(last[above[k]]):
            last[above[k]] = across[k]
    return np.column_stack([low, high])[:n_arms], across[:n_arms], (first + last)[n_arms:] / 2


def spread(arm: Ints, time: Floats, times: Floats) -> Floats:
    """Offsets of samples across their arms, within ±`REACH`, wider where samples are denser.

    Parameters
    ----------
    arm : array of shape (n_samples,)
    time : array of shape (n_samples,)
    times : array of shape (n_arms, 2)

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.layout import spread
    >>> time = np.array([0.5, 0.5, 0.5, 3.0])
    >>> spread(np.zeros(4, dtype=int), time, np.array([[0.0, 4.0]])).round(2)
    array([ 0.  , -0.31,  0.19, -0.05])
    """
    order = np.lexsort((time, arm))
    count = np.bincount(arm, minlength=len(times))
    rank = np.arange(len(arm)) - np.repeat(np.cumsum(count) - count, count)
    offset = np.empty(len(arm))
    offset[order] = 2 * np.modf(0.5 + GOLDEN * rank)[0] - 1
    dense = density(arm, time, times)
    full = np.quantile(dense, FULL_AT)
    return REACH * np.minimum(dense / full, 1.0) * offset


def density(arm: Ints, time: Floats, times: Floats) -> Floats:
    """Samples per time around each sample on its arm, from counts in cells of about equal length.

    Parameters
    ----------
    arm : array of shape (n_samples,)
    time : array of shape (n_samples,)
    times : array of shape (n_arms, 2)

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.layout import density
    >>> time = np.linspace(0, 2, 1001)
    >>> density(np.zeros(1001, dtype=int), time, np.array([[0.0, 2.0]])).round(-2)[[0, 500, 1000]]
    array([500., 500., 500.])
    """
    length = times[:, 1] - times[:, 0]
    cell = times.max() / N_CELLS or 1.0
    n_cells = np.maximum(np.rint(length / cell), 1).astype(np.intp)
    width = np.where(length > 0, length / n_cells, cell)
    # Each sample counts at the two borders of its cell, by its distance to them.
    first = np.cumsum(n_cells + 1) - (n_cells + 1)
    at = np.clip((time - times[arm, 0]) / width[arm], 0.0, n_cells[arm])
    left = np.minimum(at.astype(np.intp), n_cells[arm] - 1)
    part, left = at - left, left + first[arm]
    n_borders = int(first[-1] + n_cells[-1] + 1)
    count = np.bincount(left, weights=1 - part, minlength=n_borders)
    count += np.bincount(left + 1, weights=part, minlength=n_borders)
    owner = np.repeat(np.arange(len(times)), n_cells + 1)
    # Samples on an arm next to no length are as dense as on half a cell, not beyond all others.
    measure = np.maximum(width, cell / 2)[owner]
    measure[first] /= 2
    measure[first + n_cells] /= 2
    inner = owner[1:] == owner[:-1]
    per_time = _smoothed(count, inner) / _smoothed(measure, inner)
    return (1 - part) * per_time[left] + part * per_time[left + 1]


def _smoothed(values: Floats, inner: Floats) -> Floats:
    """Each with half of its neighbours on the same arm."""
    result = values.copy()
    result[1:] += np.where(inner, values[:-1], 0.0) / 2
    result[:-1] += np.where(inner, values[1:], 0.0) / 2
    return result


class GraphLayout(NamedTuple):
    """Coordinates of the graph of branches: each is a disc on the line between two milestones."""

    milestones: Floats  # (n_milestones, 2)
    branches: Floats  # (n_branches, 2): the discs
    lines: Floats  # (n_lines, 2, 2): ends of straight lines
    line_branch: Ints  # (n_lines,)
    curves: Floats  # (n_curves, 3, 2): start, control point and end of lines that close cycles
    curve_branch: Ints  # (n_curves,)


def stepwise_graph(path: Trajectory) -> GraphLayout:
    """The branches of a `tree_layout` with steps instead of times: all are equally long.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory import Trajectory
    >>> from branchwise.trajectory.layout import stepwise_graph
    >>> nodes = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 2.0], [3.0, -1.0]])
    >>> stepwise_graph(Trajectory([[0, 1], [1, 2], [1, 3]], nodes)).branches.tolist()
    [[0.5, 1.0], [1.5, 1.5], [1.5, 0.5]]
    """
    found = tree_layout(path)
    milestones = found.milestones.copy()
    depth = np.zeros(len(found.names))
    branches = path.view.branches
    n_branches = len(branches.names)
    for start, end in zip(found.start[:n_branches], found.end[:n_branches], strict=True):
        if end >= 0:
            depth[end] = depth[start] + 1
    milestones[:, 0] = depth
    start, across = found.start[:n_branches], found.across[:n_branches]
    discs = np.column_stack([depth[start] + 0.5, across])
    whole = np.flatnonzero(found.end[:n_branches] >= 0)
    closing = found.closing_branch
    back = milestones[branches.placed.edges[closing, 1]]
    away = discs[closing]
    is_loop = branches.placed.edges[closing, 1] == start[closing]
    control = np.column_stack(
        [
            np.maximum(away[:, 0], back[:, 0]) + 0.5,
            np.where(is_loop, 2 * back[:, 1] - away[:, 1], (away[:, 1] + back[:, 1]) / 2),
        ]
    )
    return GraphLayout(
        milestones,
        discs,
        np.concatenate(
            [
                np.stack([milestones[start], discs], axis=1),
                np.stack([discs[whole], milestones[found.end[whole]]], axis=1),
            ]
        ),
        np.append(np.arange(n_branches), whole),
        np.stack([away, control, back], axis=1),
        closing,
    )


def graph_in_space(path: Trajectory) -> GraphLayout:
    """The branches as they run in the first two dimensions, a disc at the middle of each.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory import Trajectory
    >>> from branchwise.trajectory.layout import graph_in_space
    >>> nodes = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 2.0], [3.0, -1.0]])
    >>> graph_in_space(Trajectory([[0, 1], [1, 2], [1, 3]], nodes)).branches.tolist()
    [[1.0, 0.0], [3.0, 1.0], [2.5, -0.5]]
    """
    found, nodes = path.view.branches.found, path.nodes_[:, :2]
    lines = nodes[path.edges_]
    edge, part = branch_middles(path)
    part = part[:, np.newaxis]
    return GraphLayout(
        nodes[found.milestones],
        (1 - part) * lines[edge, 0] + part * lines[edge, 1],
        lines,
        found.of_edge,
        np.empty((0, 3, 2)),
        np.empty(0, dtype=np.intp),
    )


def branch_middles(path: Trajectory) -> tuple[Ints, Floats]:
    """The edge on which half of each branch is reached, and the part of it at which it is.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory import Trajectory
    >>> from branchwise.trajectory.layout import branch_middles
    >>> branch_middles(Trajectory([[0, 1], [1, 2]], np.array([[0.0], [1.0], [4.0]])))
    (array([1]), array([0.33333333]))
    """
    found = path.view.branches.found
    early = np.minimum(found.start, found.start + found.sign * path.lengths_)
    half = found.lengths[found.of_edge] / 2
    order = np.lexsort((early, found.of_edge))
    order = order[(early <= half)[order]]
    edge = np.empty(len(found.lengths), dtype=np.intp)
    edge[found.of_edge[order]] = order
    length = np.where(path.lengths_ > 0, path.lengths_, 1.0)[edge]
    part = np.clip(found.sign[edge] * (half[edge] - found.start[edge]) / length, 0.0, 1.0)
    return edge, part
