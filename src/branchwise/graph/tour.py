"""Short tours and paths through points, at squared Euclidean cost: a heuristic.

A tour is an order of the points, its last one being followed by the first. A path is a tour
through one more place that is at no distance from any point: the last index stands for it, and one
search serves both.

The search takes back crossings (2-opt) and moves up to three points at a time elsewhere (Or-opt)
until neither makes the tour cheaper, looking only at joining near points. Then it cuts the tour
at random into three pieces, swaps two of these and searches again, and keeps what is cheaper.
"""

import numpy as np
from scipy.spatial import KDTree

from .._compat import inlined, kernel
from .._typing import Floats, Ints
from .laplacian import adjacency
from .solve import root_forest
from .spanning_tree import euclidean_spanning_tree

# Points that a point may be joined to.
N_NEAR = 10
# Most points that move together.
MAX_MOVED = 3
# Random cuts in a search from scratch, and the number of points between them at most.
N_CUTS, MAX_CUT = 1000, 50
# A gain must be larger than this part of what it is a difference of.
ROUNDING = 1e-12


def short_tour(points: Floats, *, closed: bool, start: Ints | None = None) -> Ints:
    """A cheap closed tour, or open path, through all points; found by search, not proven best.

    Parameters
    ----------
    points : array of shape (n_points, n_dims)
    closed : bool
        Whether the tour returns to where it began.
    start : array of shape (n_points,) or None
        A tour to improve, for instance that of nearby points; None searches from scratch.

    Returns
    -------
    order : array of shape (n_points,)
        The points in the order of the tour.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.tour import short_tour
    >>> corners = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> order = short_tour(corners, closed=True)
    >>> np.abs(np.diff(corners[order], axis=0)).sum(axis=1)  # never across
    array([1., 1., 1.])
    """
    n_points = len(points)
    if n_points < 4 - (not closed):
        return np.arange(n_points)
    points = np.ascontiguousarray(points, dtype=np.float64)
    near = near_points(points, closed)
    if start is not None:
        tour, _ = improved(points, near, start, closed, n_cuts=0)
    else:
        starts = (along_the_tree(points), around_the_mean(points, closed))
        tours = [improved(points, near, order, closed, n_cuts=N_CUTS) for order in starts]
        (tour, first), (other, second) = tours
        tour = other if second < (1 - ROUNDING) * first else tour
    # A path begins after the place that is not a point.
    tour = tour if closed else np.roll(tour, -int(np.argmax(tour == n_points)))[1:]
    return with_equals_in_order(points, tour, closed)


def with_equals_in_order(points: Floats, tour: Ints, closed: bool) -> Ints:
    """The same tour, where among equal points in a row the lowest is next to the lower neighbour.

    All their orders cost the same, so that rounding would decide.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.tour import with_equals_in_order
    >>> points = np.array([[0.0], [1.0], [1.0], [2.0]])
    >>> with_equals_in_order(points, np.array([0, 2, 1, 3]), False)
    array([0, 1, 2, 3])
    """
    same = (points[tour] == points[np.roll(tour, -1)]).all(axis=1)  # as the next one
    if not closed:
        same[-1] = False
    if not same.any() or same.all():
        return tour
    shift = int(np.argmin(same)) + 1  # no equal points stand across the end
    tour, same = np.roll(tour, -shift), np.roll(same, -shift)
    begins = np.flatnonzero(same & ~np.roll(same, 1))
    for begin in begins:
        end = begin + int(np.argmin(same[begin:])) + 1
        before, after = tour[begin - 1], tour[end % len(tour)]
        tour[begin:end] = np.sort(tour[begin:end])[:: 1 if before < after else -1]
    return np.roll(tour, shift)


def tour_edges(order: Ints, *, closed: bool) -> Ints:
    """The edges of a tour or path, each as (smaller index, larger index), sorted."""
    pairs = np.column_stack([order, np.roll(order, -1)])
    if not closed or len(order) < 3:
        pairs = pairs[:-1]
    return np.unique(np.sort(pairs, axis=1), axis=0).reshape(-1, 2)


def near_points(points: Floats, closed: bool) -> Ints:
    """The points that each may be joined to, nearest first; of a path, its open end before all."""
    n_points = len(points)
    k = min(N_NEAR, n_points - 1)
    found = KDTree(points).query(points, k=k + 1)[1]
    # Points may coincide, so that a point need not be the first that is found near itself.
    others = found != np.arange(n_points)[:, np.newaxis]
    others[others.all(axis=1), -1] = False
    near = found[others].reshape(n_points, k)
    if closed:
        return near
    ends = np.full((n_points + 1, k + 1), n_points)
    ends[:n_points, 1:] = near
    return ends


def along_the_tree(points: Floats) -> Ints:
    """Depth first through the minimum spanning tree, from one of its ends, longest branch last."""
    n_points = len(points)
    edges = euclidean_spanning_tree(points)
    S = adjacency(edges, n_points)
    first = root_forest(edges, 1.0, n_points).order[-1]
    order, parent = np.empty(n_points, dtype=np.intp), np.full(n_points, -1, dtype=np.intp)
    descend(S.indptr, S.indices, int(first), order, parent)
    return order


def around_the_mean(points: Floats, closed: bool) -> Ints:
    """By angle in the plane of most variance; for a path, along the line of most variance."""
    centred = points - points.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    plane = centred @ axes.T
    if closed and plane.shape[1] == 2:
        return np.argsort(np.arctan2(plane[:, 1], plane[:, 0]), kind="stable")
    return np.argsort(plane[:, 0], kind="stable")


def improved(
    points: Floats, near: Ints, order: Ints, closed: bool, *, n_cuts: int
) -> tuple[Ints, float]:
    """The tour that the search ends at, and its cost."""
    tour = np.array(order if closed else np.append(order, len(points)), dtype=np.intp)
    n_places = len(tour)
    longest = max(min(MAX_CUT, n_places // 3), 1)
    seed = np.random.default_rng(0)
    cuts = seed.integers(1, longest + 1, size=(n_cuts if n_places >= 5 else 0, 3))
    cuts[:, 0] = seed.integers(n_places, size=len(cuts))
    return tour, search(points, near, tour, cuts)


@kernel
def descend(indptr: Ints, indices: Ints, root: int, order: Ints, parent: Ints) -> None:
    """Nodes of a tree depth first, smaller branches before larger ones."""
    n = len(order)
    size = np.ones(n, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    queue[0], last = root, 1
    for t in range(n):
        for p in range(indptr[queue[t]], indptr[queue[t] + 1]):
            if indices[p] != parent[queue[t]]:
                parent[indices[p]] = queue[t]
                queue[last] = indices[p]
                last += 1
    for t in range(n - 1, 0, -1):
        size[parent[queue[t]]] += size[queue[t]]
    # A node comes after its parent and after the siblings whose branches are smaller.
    offset = np.zeros(n, dtype=np.int64)
    for t in range(n):
        node = queue[t]
        order[offset[node]] = node
        children = indices[indptr[node] : indptr[node + 1]]
        children = children[children != parent[node]]
        place = offset[node] + 1
        for c in children[np.argsort(size[children], kind="mergesort")]:
            offset[c] = place
            place += size[c]


@inlined
def cost(points: Floats, i: int, j: int) -> float:
    """Squared distance; zero from and to the open end of a path."""
    total = 0.0
    if i < len(points) and j < len(points):
        for axis in range(points.shape[1]):
            total += (points[i, axis] - points[j, axis]) ** 2
    return total


@inlined
def step(tour: Ints, place: Ints, i: int, direction: int) -> int:
    """The point before (−1) or after (+1) another one."""
    t = place[i] + direction
    n = len(tour)
    return tour[t - n if t >= n else (t + n if t < 0 else t)]


@kernel
def exchange(tour: Ints, place: Ints, a: int, b: int, c: int, d: int) -> None:
    """Replace the edges (a, b) and (c, d) by (a, c) and (b, d).

    b follows a as d follows c, in either direction. The shorter of the two paths between them is
    turned round.
    """
    n = len(tour)
    first, last = (b, c) if place[b] == (place[a] + 1) % n else (a, d)
    i, j = place[first], place[last]
    length = (j - i) % n + 1
    if 2 * length > n:
        i, j, length = (j + 1) % n, (i - 1) % n, n - length
    for _ in range(length // 2):
        tour[i], tour[j] = tour[j], tour[i]
        place[tour[i]], place[tour[j]] = i, j
        i, j = i + 1 if i + 1 < n else 0, j - 1 if j > 0 else n - 1


@kernel
def uncross(points: Floats, near: Ints, tour: Ints, place: Ints, a: int, touched: Ints) -> bool:
    """Make the first 2-opt move that joins a to a near point and lowers the cost, if any."""
    for direction in (1, -1):
        b = step(tour, place, a, direction)
        old = cost(points, a, b)
        for c in near[a]:
            new = cost(points, a, c)
            if new >= old:
                break
            d = step(tour, place, c, direction)
            removed = old + cost(points, c, d)
            if removed - new - cost(points, b, d) > ROUNDING * removed:
                exchange(tour, place, a, b, c, d)
                touched[:4] = a, b, c, d
                touched[4:] = a
                return True
    return False


@kernel
def relocate(points: Floats, near: Ints, tour: Ints, place: Ints, a: int, touched: Ints) -> bool:
    """Make the first Or-opt move that joins a to a near point and lowers the cost, if any.

    The points that move, a first, stand between p and q and come to stand between c and d.
    """
    n = len(tour)
    for direction in (1, -1):
        p = step(tour, place, a, -direction)
        last = a
        for n_moved in range(1, min(MAX_MOVED, n - 3) + 1):
            if n_moved > 1:
                last = step(tour, place, last, direction)
            q = step(tour, place, last, direction)
            old = cost(points, p, a)
            gain = old + cost(points, last, q) - cost(points, p, q)
            for c in near[a]:
                new = cost(points, a, c)
                if new >= old:
                    break
                if (direction * (place[c] - place[a])) % n < n_moved:
                    continue
                for side in (direction, -direction):
                    d = step(tour, place, c, side)
                    if (direction * (place[d] - place[a])) % n < n_moved:
                        continue
                    removed = old + cost(points, last, q) + cost(points, c, d)
                    if gain + cost(points, c, d) - new - cost(points, last, d) > ROUNDING * removed:
                        if side == direction:
                            exchange(tour, place, p, a, c, d)
                            exchange(tour, place, p, c, q, last)
                            exchange(tour, place, c, last, a, d)
                        else:
                            exchange(tour, place, p, a, d, c)
                            exchange(tour, place, p, d, q, last)
                        touched[:] = p, a, last, q, c, d
                        return True
    return False


@kernel
def settle(
    points: Floats, near: Ints, tour: Ints, place: Ints, queue: Ints, waiting: Ints, n_queued: int
) -> None:
    """Search from the queued points, and from those whose edges change, until nothing gains."""
    n, head = len(tour), 0
    touched = np.empty(6, dtype=np.int64)
    while n_queued > 0:
        a = queue[head]
        head = head + 1 if head + 1 < n else 0
        n_queued -= 1
        waiting[a] = 0
        while uncross(points, near, tour, place, a, touched) or relocate(
            points, near, tour, place, a, touched
        ):
            for b in touched:
                if b != a and not waiting[b]:
                    queue[(head + n_queued) % n] = b
                    waiting[b] = 1
                    n_queued += 1


@kernel
def tour_cost(points: Floats, tour: Ints) -> float:
    """Sum of the squared lengths of the edges."""
    total = cost(points, tour[len(tour) - 1], tour[0])
    for t in range(len(tour) - 1):
        total += cost(points, tour[t], tour[t + 1])
    return total


@kernel
def search(points: Floats, near: Ints, tour: Ints, cuts: Ints) -> float:
    """Improve a tour until nothing gains, then after each cut; return the cost.

    A cut (t, k, m) exchanges the k points from place t on with the m points that follow them.
    """
    n = len(tour)
    place, waiting = np.empty(n, dtype=np.int64), np.ones(n, dtype=np.int64)
    queue = tour.astype(np.int64)
    for t in range(n):
        place[tour[t]] = t
    settle(points, near, tour, place, queue, waiting, n)
    best, kept = tour_cost(points, tour), tour.copy()
    for cut in range(len(cuts)):
        t, k, m = cuts[cut]
        n_queued = 0
        for u in range(k + m):
            source = (t + (u + k if u < m else u - m)) % n
            target = (t + u) % n
            tour[target] = kept[source]
            place[tour[target]] = target
            if u in (0, m - 1, m, k + m - 1) and not waiting[tour[target]]:
                queue[n_queued] = tour[target]
                waiting[tour[target]] = 1
                n_queued += 1
        settle(points, near, tour, place, queue, waiting, n_queued)
        total = tour_cost(points, tour)
        if total < best * (1 - ROUNDING):
            best = total
            kept[:] = tour
        else:
            tour[:] = kept
            for u in range(n):
                place[tour[u]] = u
    return best
