"""Euclidean minimum spanning trees, exact, without a K×K matrix.

Distances come from coordinate differences and never pass through a sparse matrix, where
a distance of zero would mean "no edge", nor through a threshold: two centres may be
arbitrarily close, or equal, and the edge between them is an edge like any other.
"""

import numpy as np
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial import KDTree

from .._typing import Bools, Floats, Ints
from .laplacian import adjacency

# Above this dimension a k-d tree visits nearly every point, and Prim is faster.
MAX_KDTREE_DIM = 10
N_LISTED = 8
LONGER_LISTS = (32, 128)
N_SCOUTS = 32


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
    >>> from ramify.graph import euclidean_spanning_tree
    >>> euclidean_spanning_tree(np.array([[0.0], [5.0], [1.0], [1.0]]))
    array([[0, 2],
           [1, 2],
           [2, 3]])
    """
    points = np.ascontiguousarray(points, dtype=np.float64)
    if len(points) < 2:
        return np.empty((0, 2), dtype=np.intp)
    edges = boruvka(points) if points.shape[1] <= MAX_KDTREE_DIM else prim(points)
    edges = np.sort(edges, axis=1)
    return edges[np.lexsort((edges[:, 1], edges[:, 0]))]


def prim(points: Floats) -> Ints:
    """Prim's algorithm: O(K²) time, O(K) memory, any dimension."""
    n_points = len(points)
    edges = np.empty((n_points - 1, 2), dtype=np.intp)
    outside = np.arange(1, n_points)
    coordinates = points[1:].copy()
    nearest = np.zeros(n_points - 1, dtype=np.intp)
    distance = np.full(n_points - 1, np.inf)
    newest = 0
    for step in range(n_points - 1):
        difference = coordinates - points[newest]
        to_newest = np.einsum("ij,ij->i", difference, difference)
        closer = to_newest < distance
        distance[closer] = to_newest[closer]
        nearest[closer] = newest
        pick = int(np.argmin(distance))
        newest = int(outside[pick])
        edges[step] = nearest[pick], newest
        # The last outside point takes the place of the one that joined.
        last = len(outside) - 1
        for array in (outside, nearest, distance, coordinates):
            array[pick] = array[last]
        outside, nearest = outside[:last], nearest[:last]
        distance, coordinates = distance[:last], coordinates[:last]
    return edges


def boruvka(points: Floats) -> Ints:
    """Borůvka's algorithm on a k-d tree: near-linear in few dimensions.

    A round joins components to their nearest other component. The answer is read off
    lists of a few nearest neighbours while these suffice: the nearest listed neighbour
    outside the component is right if no exhausted list of the component ends before it.
    For the other components an exact search follows.
    """
    n_points = len(points)
    n_listed = min(N_LISTED + 1, n_points)
    kdtree = KDTree(points)
    distance, neighbour = kdtree.query(points, k=n_listed)
    reach = distance[:, -1] if n_listed < n_points else np.full(n_points, np.inf)

    component = np.arange(n_points)
    n_components = n_points
    forest: list[Ints] = []
    while n_components > 1:
        found, target = first_outside(distance, neighbour, component, component)
        best = np.full(n_components, np.inf)
        np.minimum.at(best, component, found)
        # A list that ended inside the component hides whatever lies beyond its reach.
        doubtful = np.isinf(found) & (reach < best[component])
        settled = np.ones(n_components, dtype=bool)
        settled[component[doubtful]] = False
        if settled.sum() < n_components / 4:
            settled[:] = True
            settled[np.bincount(component).argmax()] = False
            asks = doubtful & settled[component]
            search_outside(kdtree, component, found, target, asks)
        source = nearest_per_component(found, component)
        source = source[settled]
        joins = np.column_stack([source, target[source]])
        joins = joins[np.argsort(found[source], kind="stable")]
        forest.append(joins[acyclic(component[joins], n_components)])
        n_components, merged = connected_components(adjacency(component[joins], n_components))
        component = merged[component]
    return np.concatenate(forest)


def first_outside(
    distance: Floats, neighbour: Ints, component: Ints, own: Ints
) -> tuple[Floats, Ints]:
    """In each row of sorted neighbour lists, the first one of a component not its own.

    The distance is infinite where the list holds none.
    """
    outside = component[neighbour] != own[:, np.newaxis]
    rows = np.arange(len(neighbour))
    first = outside.argmax(axis=1)
    found = np.where(outside[rows, first], distance[rows, first], np.inf)
    return found, neighbour[rows, first]


def nearest_per_component(found: Floats, component: Ints) -> Ints:
    """For each component, the index of its point with the smallest `found`."""
    order = np.argsort(found, kind="stable")
    _, first = np.unique(component[order], return_index=True)
    return order[first]


def acyclic(joins: Ints, n_components: int) -> Ints:
    """Positions of joins that form a spanning forest, earlier ones first.

    Components that choose one another close a cycle only through equal distances; any
    one of these may go.
    """
    low, high = joins.min(axis=1), joins.max(axis=1)
    # SciPy numbers components in 32 bits, in which this product would overflow.
    _, position = np.unique(low.astype(np.int64) * n_components + high, return_index=True)
    # Ranks start at one: the sparse routine would drop a zero.
    graph = adjacency(joins[position], n_components, position + 1.0)
    return np.sort(minimum_spanning_tree(graph).data.astype(np.intp) - 1)


def search_outside(
    kdtree: KDTree, component: Ints, found: Floats, target: Ints, asks: Bools
) -> None:
    """Complete `found` and `target`, in place, with the exact answers of the points that ask.

    A component of m points is left behind within m + 1 neighbours: longer lists settle the
    small ones. Two different component numbers differ in some binary digit: for the large
    ones it is enough to search, digit by digit, the points with a 0 among those with a 1
    and the reverse.
    """
    size = np.bincount(component)[component]
    for length in LONGER_LISTS:
        askers = np.flatnonzero(asks & (size < length) & np.isinf(found))
        if len(askers) and length <= kdtree.n:
            distance, neighbour = kdtree.query(kdtree.data[askers], k=length)
            found[askers], target[askers] = first_outside(
                distance, neighbour, component, component[askers]
            )
    asks = asks & np.isinf(found)
    if not asks.any():
        return
    best = np.full(component.max() + 1, np.inf)
    np.minimum.at(best, component, found)
    # A few points of each component first: their answers bound the search of the others.
    everyone = np.flatnonzero(asks)
    everyone = everyone[np.argsort(component[everyone], kind="stable")]
    _, first, count = np.unique(component[everyone], return_index=True, return_counts=True)
    scout = np.arange(len(everyone)) - np.repeat(first, count) < N_SCOUTS
    for askers in (everyone[scout], everyone[~scout]):
        for digit in range(int(component.max()).bit_length()):
            one = (component >> digit) & 1 == 1
            for side in (True, False):
                here = askers[one[askers] == side]
                there = np.flatnonzero(one != side)
                if len(here) == 0 or len(there) == 0:
                    continue
                limit = best[component[here]].max() * (1 + 1e-12)
                distance, index = KDTree(kdtree.data[there]).query(
                    kdtree.data[here], distance_upper_bound=limit
                )
                closer = distance < found[here]
                found[here[closer]] = distance[closer]
                target[here[closer]] = there[index[closer]]
                np.minimum.at(best, component[here], found[here])
