"""Euclidean minimum spanning trees, exact, without a K×K matrix.

Distances come from coordinate differences and never pass through a sparse matrix, where
a distance of zero would mean "no edge", nor through a threshold: two centres may be
arbitrarily close, or equal, and the edge between them is an edge like any other.

Among edges of equal length the one with the lower indices comes first. No two edges are equal
in this order: the minimum spanning tree is unique, and each algorithm finds the same one.
"""

import numpy as np

from .._compat import inlined, kernel
from .._kdtree import MAX_DEPTH, build, squared_distance, squared_gap
from .._typing import Floats, Ints

# A k-d tree pays from this many points on, times √2 for each dimension: about 500 in the
# plane, 8000 in ten dimensions. Points that fill the space make it pay later, points on curves
# earlier, by a factor of four either way.
MIN_KDTREE = 250


def euclidean_spanning_tree(points: Floats) -> Ints:
    """Minimum spanning tree of the rows of `points` (`op:RelaxLP` with Euclidean costs).

    Parameters
    ----------
    points : array of shape (n_points, n_dims)

    Returns
    -------
    edges : array of shape (n_points - 1, 2)
        Each edge as (smaller index, larger index), sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph import euclidean_spanning_tree
    >>> euclidean_spanning_tree(np.array([[0.0], [5.0], [1.0], [1.0]]))
    array([[0, 2],
           [1, 2],
           [2, 3]])
    """
    points = np.ascontiguousarray(points, dtype=np.float64)
    n_points, n_dims = points.shape
    if n_points < 2:
        return np.empty((0, 2), dtype=np.intp)
    # Squares must not overflow or vanish in any unit of length; powers of two keep all digits.
    points = np.ldexp(points, -np.frexp(np.abs(points).max())[1])
    # No number of points is that large; the power of an image's dimensions would overflow.
    least = MIN_KDTREE * 2 ** min(n_dims / 2, 60)
    return prim(points) if n_points < least else boruvka(points)


@inlined
def pair_of(i: int, j: int, n_points: int) -> int:
    """The edge between two points as one number, in the order of (smaller, larger index)."""
    return min(i, j) * n_points + max(i, j)


@inlined
def precedes(length: float, pair: int, other_length: float, other_pair: int) -> bool:
    """Whether the first of two edges is shorter, or as long and of lower indices."""
    return length < other_length or (length == other_length and pair < other_pair)


def sorted_edges(pairs: Ints, n_points: int) -> Ints:
    """The edges that `pair_of` has made numbers of."""
    return np.column_stack(np.divmod(np.sort(pairs), n_points))


def prim(points: Floats) -> Ints:
    """Prim's algorithm: O(K²) time, O(K) memory, any dimension."""
    n_points = len(points)
    pairs = np.empty(n_points - 1, dtype=np.int64)
    grow(
        points,
        points[1:].T.copy(),
        np.arange(1, n_points),
        np.empty(n_points - 1),
        np.full(n_points - 1, np.inf),
        np.zeros(n_points - 1, dtype=np.int64),
        pairs,
    )
    return sorted_edges(pairs, n_points)


@kernel
def grow(
    points: Floats,
    columns: Floats,
    outside: Ints,
    to_newest: Floats,
    length: Floats,
    pair: Ints,
    pairs: Ints,
) -> None:
    """Add to the tree of point 0 the nearest point outside, until there is none.

    `outside` are the points that have not joined, `columns` their coordinates, `length` and `pair`
    their first edges to the tree.
    """
    newest = 0
    for n_outside in range(len(pairs), 0, -1):
        for i in range(n_outside):
            to_newest[i] = 0.0
        for axis in range(len(columns)):
            column, position = columns[axis], points[newest, axis]
            for i in range(n_outside):
                to_newest[i] += (column[i] - position) * (column[i] - position)
        pick = 0
        for i in range(n_outside):
            if to_newest[i] <= length[i]:
                other = pair_of(outside[i], newest, len(points))
                if precedes(to_newest[i], other, length[i], pair[i]):
                    length[i], pair[i] = to_newest[i], other
            if precedes(length[i], pair[i], length[pick], pair[pick]):
                pick = i
        newest, last = outside[pick], n_outside - 1
        pairs[last] = pair[pick]
        # The last outside point takes the place of the one that joined.
        outside[pick], length[pick], pair[pick] = outside[last], length[last], pair[last]
        for axis in range(len(columns)):
            columns[axis, pick] = columns[axis, last]


def boruvka(points: Floats) -> Ints:
    """Borůvka's algorithm on a k-d tree: near-linear in few dimensions.

    In each round every component is joined to its nearest other component. The nearest point
    outside can only become farther as a component grows, so that what a point has found in one
    round is a bound in the next one.
    """
    n_points = len(points)
    tree = build(points)
    component, parent = np.arange(n_points), np.arange(n_points)
    shared = np.empty(len(tree.start), dtype=np.int64)
    # For each point, an edge that none from it to another component precedes, and the place to
    # which it leads, or its own place if the edge is that of another point.
    known, known_pair = np.full(n_points, -1.0), np.zeros(n_points, dtype=np.int64)
    target = np.arange(n_points)
    # For each component, the first of the edges to another one that have been looked at.
    best, best_pair = np.empty(n_points), np.zeros(n_points, dtype=np.int64)
    pairs = np.empty(n_points - 1, dtype=np.int64)
    place = np.empty(n_points, dtype=np.int64)
    place[tree.order] = np.arange(n_points)
    n_edges = 0
    while n_edges < n_points - 1:
        best.fill(np.inf)
        find_shared(tree.start, tree.stop, component, shared)
        recall(tree.points, tree.order, component, known, known_pair, target, best, best_pair)
        search(*tree, component, shared, known, known_pair, target, best, best_pair)
        n_edges = join(place, best, best_pair, parent, component, pairs, n_edges)
    return sorted_edges(pairs, n_points)


@kernel
def find_shared(start: Ints, stop: Ints, component: Ints, shared: Ints) -> None:
    """For each node the component of all its points, or −1 if there are several."""
    for node in range(len(start) - 1, -1, -1):
        left, right = 2 * node + 1, 2 * node + 2
        if right < len(start):
            shared[node] = shared[left] if shared[left] == shared[right] else -1
        else:
            shared[node] = component[start[node]]
            for i in range(start[node] + 1, stop[node]):
                if component[i] != shared[node]:
                    shared[node] = -1


@kernel
def recall(
    points: Floats,
    order: Ints,
    component: Ints,
    known: Floats,
    known_pair: Ints,
    target: Ints,
    best: Floats,
    best_pair: Ints,
) -> None:
    """Offer to each component the edges that need no search.

    These are the ones found in earlier rounds that still lead outside, and those between points
    that follow each other in the tree.
    """
    for i in range(len(points)):
        own = component[i]
        if component[target[i]] != own and precedes(
            known[i], known_pair[i], best[own], best_pair[own]
        ):
            best[own], best_pair[own] = known[i], known_pair[i]
        if i > 0 and component[i - 1] != own:
            length = squared_distance(points, i, points, i - 1)
            pair = pair_of(order[i], order[i - 1], len(points))
            for c in (own, component[i - 1]):
                if precedes(length, pair, best[c], best_pair[c]):
                    best[c], best_pair[c] = length, pair


@kernel
def search(
    points: Floats,
    order: Ints,
    low: Floats,
    high: Floats,
    start: Ints,
    stop: Ints,
    first: Ints,
    component: Ints,
    shared: Ints,
    known: Floats,
    known_pair: Ints,
    target: Ints,
    best: Floats,
    best_pair: Ints,
) -> None:
    """Find the first edge that leaves each component, starting from those in `best`."""
    nodes, gaps = np.empty(MAX_DEPTH, dtype=np.int64), np.empty(MAX_DEPTH)
    for i in range(len(points)):
        own = component[i]
        least, pair = best[own], best_pair[own]
        if component[target[i]] != own or not precedes(known[i], known_pair[i], least, pair):
            continue
        target[i] = i
        nodes[0], gaps[0], top = 0, 0.0, 0
        while top >= 0:
            node, gap = nodes[top], gaps[top]
            top -= 1
            # Among many points at the same distance, those of higher index need no visit.
            if gap > least or (
                gap == least and pair_of(order[i], first[node], len(points)) >= pair
            ):
                continue
            if node < len(start) // 2:
                near, far = 2 * node + 1, 2 * node + 2
                gap = squared_gap(low, high, near, points, i)
                far_gap = squared_gap(low, high, far, points, i)
                if far_gap < gap or (far_gap == gap and first[far] < first[near]):
                    near, far, gap, far_gap = far, near, far_gap, gap
                nodes[top + 1], gaps[top + 1] = far, far_gap
                top += far_gap <= least and shared[far] != own
                nodes[top + 1], gaps[top + 1] = near, gap
                top += gap <= least and shared[near] != own
                continue
            for j in range(start[node], stop[node]):
                if component[j] != own:
                    length = squared_distance(points, i, points, j)
                    if length <= least:
                        other = pair_of(order[i], order[j], len(points))
                        if precedes(length, other, least, pair):
                            least, pair, target[i] = length, other, j
        known[i], known_pair[i] = least, pair
        best[own], best_pair[own] = least, pair


@inlined
def find_root(parent: Ints, i: int) -> int:
    """The representative of a set; halves the path to it."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def join(
    place: Ints,
    best: Floats,
    best_pair: Ints,
    parent: Ints,
    component: Ints,
    pairs: Ints,
    n_edges: int,
) -> int:
    """Add the edges found in a round to `pairs` and merge what they connect."""
    n_points = len(component)
    for c in range(n_points):
        if best[c] < np.inf:
            i, j = place[best_pair[c] // n_points], place[best_pair[c] % n_points]
            a, b = find_root(parent, component[i]), find_root(parent, component[j])
            # Two components that chose each other share one edge.
            if a != b:
                parent[max(a, b)] = min(a, b)
                pairs[n_edges] = best_pair[c]
                n_edges += 1
    for i in range(n_points):
        component[i] = find_root(parent, component[i])
    return n_edges
