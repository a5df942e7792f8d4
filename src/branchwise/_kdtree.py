"""A k-d tree as plain arrays, for compiled searches that need no interpreter.

The tree is complete and implicit: the children of node i are 2i + 1 and 2i + 2, and the nodes of
the second half of the list are its leaves. Each node owns a contiguous range of points and the
smallest box around them. Rounding is monotone, so that the computed distance to a box is
never above the computed distance to a point in it, and searches need no tolerance to be exact.
"""

from typing import NamedTuple

import numpy as np

from ._compat import inlined, kernel
from ._memory import Workspace
from ._parallel import ordered_map
from ._typing import Floats, Ints

LEAF_SIZE = 10
# A path from the root has fewer nodes than an index has binary digits.
MAX_DEPTH = 64
# Queries per item of work; not to depend on the number of threads.
BLOCK = 8192


class KDTree(NamedTuple):
    """Points in the order of the leaves, and the nodes above them."""

    points: Floats  # (n_points, n_dims)
    order: Ints  # (n_points,): the row of the original array at each place
    low: Floats  # (n_nodes, n_dims): corners of the boxes
    high: Floats
    start: Ints  # (n_nodes,): the node's points are points[start:stop]
    stop: Ints
    first: Ints  # (n_nodes,): the least of order[start:stop]


def build(points: Floats) -> KDTree:
    """k-d tree of the rows of `points`; it depends on nothing else.

    Parameters
    ----------
    points : array of shape (n_points, n_dims)
        At least one point; finite. Points may coincide.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise import _kdtree as kdtree
    >>> tree = kdtree.build(np.array([[3.0, 0.0], [1.0, 5.0], [2.0, 2.0]]))
    >>> tree.low, tree.high
    (array([[1., 0.]]), array([[3., 5.]]))
    """
    points = np.array(points, dtype=np.float64, order="C")
    finite = np.isfinite(points).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise ValueError(
            f"points[{row}]={points[row]} must be finite; remove rows with NaN or infinity."
        )
    n_points, n_dims = points.shape
    n_leaves = 1
    while n_leaves * LEAF_SIZE < n_points:
        n_leaves *= 2
    n_nodes = 2 * n_leaves - 1
    tree = KDTree(
        points,
        np.arange(n_points),
        np.empty((n_nodes, n_dims)),
        np.empty((n_nodes, n_dims)),
        np.zeros(n_nodes, dtype=np.intp),
        np.full(n_nodes, n_points),
        np.empty(n_nodes, dtype=np.intp),
    )
    divide(*tree)
    return tree


@kernel
def divide(
    points: Floats, order: Ints, low: Floats, high: Floats, start: Ints, stop: Ints, first: Ints
) -> None:
    """Halve the points of node after node along the widest side of its box."""
    n_dims = points.shape[1]
    for node in range(len(start)):
        first[node] = order[start[node]]
        for i in range(start[node] + 1, stop[node]):
            first[node] = min(first[node], order[i])
        widest, width = 0, -1.0
        for axis in range(n_dims):
            least = greatest = points[start[node], axis]
            for i in range(start[node] + 1, stop[node]):
                least = min(least, points[i, axis])
                greatest = max(greatest, points[i, axis])
            low[node, axis], high[node, axis] = least, greatest
            if greatest - least > width:
                widest, width = axis, greatest - least
        left, right = 2 * node + 1, 2 * node + 2
        if right < len(start):
            middle = (start[node] + stop[node]) // 2
            start[left], stop[left] = start[node], middle
            start[right], stop[right] = middle, stop[node]
            select(points, order, start[node], stop[node] - 1, middle, widest)


@kernel
def select(points: Floats, order: Ints, first: int, last: int, middle: int, axis: int) -> None:
    """Hoare's quickselect: before `middle` nothing greater on `axis`, after it nothing less."""
    seed = 1
    while first < last:
        # Each pivot comes from another place, so that no order of the data makes all of them bad.
        seed = seed * 16807 % 2147483647
        pivot = points[first + seed % (last - first + 1), axis]
        i, j = first, last
        while i <= j:
            while points[i, axis] < pivot:
                i += 1
            while points[j, axis] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                for k in range(points.shape[1]):
                    points[i, k], points[j, k] = points[j, k], points[i, k]
                i += 1
                j -= 1
        if middle <= j:
            last = j
        elif middle >= i:
            first = i
        else:
            return


@inlined
def squared_distance(A: Floats, i: int, B: Floats, j: int) -> float:
    """‖a_i − b_j‖², the same whichever of the two comes first."""
    total = 0.0
    for k in range(A.shape[1]):
        difference = A[i, k] - B[j, k]
        total += difference * difference
    return total


@inlined
def squared_gap(low: Floats, high: Floats, node: int, Z: Floats, row: int) -> float:
    """Squared distance from a row of Z to the box of a node, zero inside."""
    total = 0.0
    for k in range(Z.shape[1]):
        outside = max(low[node, k] - Z[row, k], Z[row, k] - high[node, k], 0.0)
        total += outside * outside
    return total


@inlined
def descend(
    low: Floats,
    high: Floats,
    Z: Floats,
    row: int,
    limit: float,
    nodes: Ints,
    gaps: Floats,
    top: int,
) -> tuple[int, float, int]:
    """From the node on top of the stack to a leaf, always to the child nearer to a row of Z.

    The other children go on the stack, unless they lie beyond the limit. Returns the leaf, or
    the node at which the limit was exceeded, its squared gap, and the new top of the stack.
    """
    node, gap = nodes[top], gaps[top]
    top -= 1
    while node < len(low) // 2 and gap <= limit:
        near, far = 2 * node + 1, 2 * node + 2
        gap = squared_gap(low, high, near, Z, row)
        far_gap = squared_gap(low, high, far, Z, row)
        if far_gap < gap:
            near, far = far, near
            gap, far_gap = far_gap, gap
        node = near
        nodes[top + 1], gaps[top + 1] = far, far_gap
        top += far_gap <= limit
    return node, gap, top


def nearest(tree: KDTree, Z: Floats, n_jobs: int = 1) -> Ints:
    """For each row of Z, the nearest point; the lowest of those at the same distance.

    Parameters
    ----------
    tree : KDTree
    Z : array of shape (n_queries, n_dims)
    n_jobs : int, default=1
        Threads; the result does not depend on it.

    Returns
    -------
    index : array of shape (n_queries,)
        Points are numbered as they were given to `build`.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise import _kdtree as kdtree
    >>> tree = kdtree.build(np.array([[0.0], [4.0], [4.0]]))
    >>> kdtree.nearest(tree, np.array([[5.0], [1.0], [2.0]]))
    array([1, 0, 0], dtype=int32)
    """
    Z = np.ascontiguousarray(Z, dtype=np.float64)
    index = np.empty(len(Z), dtype=np.int32)
    ordered_map(lambda rows: search(*tree, Z[rows], index[rows]), blocks(len(Z)), n_jobs)
    return index


def within(
    tree: KDTree, Z: Floats, extra: float, n_jobs: int = 1, workspace: Workspace | None = None
) -> tuple[Ints, Ints, Floats]:
    """For each row of Z, the points whose squared distance exceeds the least by `extra` at most.

    Parameters
    ----------
    tree : KDTree
    Z : array of shape (n_queries, n_dims)
        Each query starts from the answer to the one before: queries that come in an order in
        which neighbours are near each other take less time.
    extra : float
        Zero leaves the nearest point, and those at the same distance.
    n_jobs : int, default=1
        Threads; the result does not depend on it.
    workspace : Workspace or None, default=None
        Where to put the result, which stays until the next one; on one thread.

    Returns
    -------
    indptr : array of shape (n_queries + 1,)
    indices : array of shape (indptr[-1],)
        The points of row i are indices[indptr[i]:indptr[i + 1]], numbered as they were given
        to `build`, in an order that depends on the tree and the query alone.
    excess : array of shape (indptr[-1],)
        ‖z_i − c_k‖² − min_l ‖z_i − c_l‖².

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise import _kdtree as kdtree
    >>> tree = kdtree.build(np.array([[0.0], [1.0], [4.0]]))
    >>> indptr, indices, excess = kdtree.within(tree, np.array([[0.0], [3.0]]), 3.0)
    >>> indptr, indices, excess
    (array([0, 2, 4]), array([0, 1, 1, 2], dtype=int32), array([0., 1., 3., 0.]))
    """
    Z = np.ascontiguousarray(Z, dtype=np.float64)
    if workspace is not None:
        return within_block(tree, Z, float(extra), workspace)
    parts = ordered_map(
        lambda rows: within_block(tree, Z[rows], float(extra), Workspace()), blocks(len(Z)), n_jobs
    )
    if len(parts) == 1:
        return parts[0]
    indptr, indices, excess = zip(*parts, strict=True)
    counts = np.concatenate([np.diff(part) for part in indptr])
    return (
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate(indices),
        np.concatenate(excess),
    )


def blocks(n_queries: int) -> list[slice]:
    """The rows of Z that a thread takes at a time; at least one block, which may be empty."""
    return [slice(i, i + BLOCK) for i in range(0, max(n_queries, 1), BLOCK)]


def within_block(
    tree: KDTree, Z: Floats, extra: float, workspace: Workspace
) -> tuple[Ints, Ints, Floats]:
    """`within` for as many queries as one thread should take at a time."""
    n_points = len(tree.points)
    indptr = np.zeros(len(Z) + 1, dtype=np.int64)
    capacity = n_points + 32 * len(Z)
    indices, excess = (
        workspace.take("indices", capacity, np.int32),
        workspace.take("excess", capacity),
    )
    done = 0
    while True:
        done = gather(*tree[:-1], Z, extra, done, indptr, indices, excess)
        n_found = indptr[done]
        if done == len(Z):
            return indptr, indices[:n_found], excess[:n_found]
        capacity = 3 * len(indices)
        indices = workspace.take("indices", capacity, np.int32, keep=n_found)
        excess = workspace.take("excess", capacity, keep=n_found)


@kernel
def search(
    points: Floats,
    order: Ints,
    low: Floats,
    high: Floats,
    start: Ints,
    stop: Ints,
    first: Ints,
    Z: Floats,
    index: Ints,
) -> None:
    """Fill `index` with the answers of `nearest`."""
    nodes, gaps = np.empty(MAX_DEPTH, dtype=np.int64), np.empty(MAX_DEPTH)
    place = 0
    for row in range(len(Z)):
        least = squared_distance(points, place, Z, row)
        nodes[0], gaps[0], top = 0, 0.0, 0
        while top >= 0:
            # Among many equal points, those of higher index need no visit.
            if gaps[top] == least and first[nodes[top]] >= order[place]:
                top -= 1
                continue
            node, gap, top = descend(low, high, Z, row, least, nodes, gaps, top)
            if gap > least:
                continue
            for i in range(start[node], stop[node]):
                distance = squared_distance(points, i, Z, row)
                if distance < least or (distance == least and order[i] < order[place]):
                    place, least = i, distance
        index[row] = order[place]


@kernel
def gather(
    points: Floats,
    order: Ints,
    low: Floats,
    high: Floats,
    start: Ints,
    stop: Ints,
    Z: Floats,
    extra: float,
    row: int,
    indptr: Ints,
    indices: Ints,
    excess: Floats,
) -> int:
    """Fill `within` from `row` on; the first row that might not have fitted into the arrays."""
    nodes, gaps = np.empty(MAX_DEPTH, dtype=np.int64), np.empty(MAX_DEPTH)
    place, end = 0, indptr[row]
    while row < len(Z) and end + len(points) < len(indices):
        least = squared_distance(points, place, Z, row)
        limit = least + extra
        begin, top = end, 0
        nodes[0], gaps[0] = 0, 0.0
        while top >= 0:
            node, gap, top = descend(low, high, Z, row, limit, nodes, gaps, top)
            if gap > limit:
                continue
            for i in range(start[node], stop[node]):
                distance = squared_distance(points, i, Z, row)
                # Written in any case and kept by advancing: half of the branches would surprise.
                indices[end], excess[end] = i, distance
                end += distance <= limit
                if distance < least:
                    place, least, limit = i, distance, distance + extra
        kept = begin
        for i in range(begin, end):
            distance = excess[i]
            indices[kept], excess[kept] = order[indices[i]], distance - least
            kept += distance <= limit
        end = kept
        row += 1
        indptr[row] = end
    return row
