"""A k-d tree as plain arrays, for compiled searches that need no interpreter.

The tree is complete and implicit: the children of node i are 2i + 1 and 2i + 2, and the nodes of
the second half of the list are its leaves. Each node owns a contiguous range of points and the
smallest box around them. Rounding is monotone, so that the computed distance to a box is
never above the computed distance to a point in it, and searches need no tolerance to be exact.
"""

from typing import NamedTuple

import numpy as np

from ._compat import kernel
from ._typing import Floats, Ints
from .parallel import ordered_map

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


def build(points: Floats) -> KDTree:
    """k-d tree of the rows of `points`; it depends on nothing else.

    Parameters
    ----------
    points : array of shape (n_points, n_dims)
        At least one point; finite. Points may coincide.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify import kdtree
    >>> tree = kdtree.build(np.array([[3.0, 0.0], [1.0, 5.0], [2.0, 2.0]]))
    >>> tree.low, tree.high
    (array([[1., 0.]]), array([[3., 5.]]))
    """
    points = np.array(points, dtype=np.float64, order="C")
    n_points, n_dims = points.shape
    n_leaves = 1
    while n_leaves * LEAF_SIZE < n_points:
        n_leaves *= 2
    n_nodes = 2 * n_leaves - 1
    tree = KDTree(
        points,
        np.arange(n_points, dtype=np.int32),
        np.empty((n_nodes, n_dims)),
        np.empty((n_nodes, n_dims)),
        np.zeros(n_nodes, dtype=np.intp),
        np.full(n_nodes, n_points),
    )
    divide(*tree)
    return tree


@kernel
def divide(points: Floats, order: Ints, low: Floats, high: Floats, start: Ints, stop: Ints) -> None:
    """Halve the points of node after node along the widest side of its box."""
    n_dims = points.shape[1]
    for node in range(len(start)):
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
    while first < last:
        # The pivot comes from a place that no usual order of the data makes a bad one.
        pivot = points[first + (first + last) * 7919 % (last - first + 1), axis]
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


@kernel
def squared_distance(A: Floats, i: int, B: Floats, j: int) -> float:
    """‖a_i − b_j‖², the same whichever of the two comes first."""
    total = 0.0
    for k in range(A.shape[1]):
        difference = A[i, k] - B[j, k]
        total += difference * difference
    return total


@kernel
def squared_gap(low: Floats, high: Floats, node: int, Z: Floats, row: int) -> float:
    """Squared distance from a row of Z to the box of a node, zero inside."""
    total = 0.0
    for k in range(Z.shape[1]):
        outside = max(low[node, k] - Z[row, k], Z[row, k] - high[node, k], 0.0)
        total += outside * outside
    return total


@kernel
def descend(
    low: Floats,
    high: Floats,
    node: int,
    gap: float,
    limit: float,
    Z: Floats,
    row: int,
    nodes: Ints,
    gaps: Floats,
    top: int,
) -> tuple[int, float, int]:
    """Go down to a leaf, or until the gap exceeds the limit, always to the nearer child.

    The other children are pushed on the stack `nodes`, with their `gaps`, if they are within
    the limit. Returns the node, its gap and the new top of the stack.
    """
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


def within(tree: KDTree, Z: Floats, extra: float, n_jobs: int = 1) -> tuple[Ints, Ints, Floats]:
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
    >>> from ramify import kdtree
    >>> tree = kdtree.build(np.array([[0.0], [1.0], [4.0]]))
    >>> indptr, indices, excess = kdtree.within(tree, np.array([[0.0], [3.0]]), 3.0)
    >>> indptr, indices, excess
    (array([0, 2, 4]), array([0, 1, 1, 2], dtype=int32), array([0., 1., 3., 0.]))
    """
    Z = np.ascontiguousarray(Z, dtype=np.float64)
    blocks = [Z[i : i + BLOCK] for i in range(0, max(len(Z), 1), BLOCK)]
    parts = ordered_map(lambda block: within_block(tree, block, float(extra)), blocks, n_jobs)
    if len(parts) == 1:
        return parts[0]
    indptr, indices, excess = zip(*parts, strict=True)
    counts = np.concatenate([np.diff(part) for part in indptr])
    return (
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate(indices),
        np.concatenate(excess),
    )


def within_block(tree: KDTree, Z: Floats, extra: float) -> tuple[Ints, Ints, Floats]:
    """`within` for as many queries as one thread should take at a time."""
    n_points = len(tree.points)
    indptr = np.zeros(len(Z) + 1, dtype=np.int64)
    capacity = n_points + 32 * len(Z)
    indices, excess = np.empty(capacity, dtype=np.int32), np.empty(capacity)
    done = 0
    while True:
        done = gather(*tree, Z, extra, done, indptr, indices, excess)
        n_found = indptr[done]
        if done == len(Z):
            return indptr, indices[:n_found], excess[:n_found]
        more = 2 * len(indices)
        indices = np.concatenate([indices, np.empty(more, dtype=np.int32)])
        excess = np.concatenate([excess, np.empty(more)])


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
    """Fill rows of `within` from `row` on; the row before which there was no room left for all."""
    nodes, gaps = np.empty(MAX_DEPTH, dtype=np.int64), np.empty(MAX_DEPTH)
    nearest, end = 0, indptr[row]
    while row < len(Z) and end + len(points) < len(indices):
        least = squared_distance(points, nearest, Z, row)
        limit = least + extra
        begin, top = end, 0
        nodes[0], gaps[0] = 0, 0.0
        while top >= 0:
            node, gap = nodes[top], gaps[top]
            top -= 1
            node, gap, top = descend(low, high, node, gap, limit, Z, row, nodes, gaps, top)
            if gap > limit:
                continue
            for i in range(start[node], stop[node]):
                distance = squared_distance(points, i, Z, row)
                indices[end], excess[end] = i, distance
                end += distance <= limit
                if distance < least:
                    nearest, least, limit = i, distance, distance + extra
        kept = begin
        for i in range(begin, end):
            distance = excess[i]
            indices[kept], excess[kept] = order[indices[i]], distance - least
            kept += distance <= limit
        end = kept
        row += 1
        indptr[row] = end
    return row
