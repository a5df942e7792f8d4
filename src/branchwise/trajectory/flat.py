"""A flat drawing of a tree of any number of dimensions: true lengths, no branch across another."""

from collections import deque
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from .._typing import Floats, Ints
from .axes import tree_axes
from .core import Trajectory

# The part of the full turn that is left to the tips beyond a root that is a tip: time then runs
# mostly to the right.
FAN = 2 / 3
# Between parts that are not connected, in parts of the height of all.
GAP = 0.08
# A sample this near to the end of its edge, as a part of it, lies at its end.
AT_END = 1e-9


class FlatTree(NamedTuple):
    """A tree in the plane, and the samples beside it.

    A graph with cycles is cut into a tree: an edge that closes one ends at a node of its own, which
    comes after all others.
    """

    nodes: Floats  # (n_nodes + n_closings, 2)
    edges: Ints  # (n_edges, 2): as edges_ of the trajectory, but for those that close a cycle
    closings: Ints  # (n_closings, 2): pairs of nodes that are one
    sides: Floats  # (n_edges,): 1 if samples lie to the left of the edge, −1 if to its right
    samples: Floats  # (n_samples, 2)


class _Spanning(NamedTuple):
    """A tree of all nodes, from one node of each part on."""

    order: Ints  # nodes, each after its parent
    parent: Ints  # (n_nodes,): −1 at the first
    by: Ints  # (n_nodes,): the edge from the parent
    edges: Ints  # those of the graph, with own nodes where cycles are cut
    cut: Ints  # (n_closings,): the nodes at which these edges ended


def flat_tree(path: Trajectory) -> FlatTree:
    """Draw a trajectory flat, as it cannot be seen in two of many dimensions.

    Every branch is a straight line as long as the branch is, and no branch crosses another: all
    tips get equal angles, and a branch points to the middle of the tips beyond it. Around a fork
    branches follow one another as in the best linear axes (`tree_axes`). Every sample lies at its
    place on the tree and as far from it as it is in space, to the left of the way from the first
    tip: on one side only, so that a group of samples is seen once. Those that belong to a tip
    keep their angle to its branch, too. Lengths and distances have one unit. A root that is a tip
    is on the left.

    Parameters
    ----------
    path : Trajectory

    Returns
    -------
    FlatTree

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory import Trajectory
    >>> from branchwise.trajectory.flat import flat_tree
    >>> nodes = np.array([[0.0, 0, 0], [2.0, 0, 0], [2.0, 1, 1], [2.0, -1, 1]])
    >>> path = Trajectory([[0, 1], [1, 2], [1, 3]], nodes, [[1.0, 0.0, 0.5]])
    >>> drawn = flat_tree(path.rooted(node=0))
    >>> np.linalg.norm(np.diff(drawn.nodes[drawn.edges], axis=1)[:, 0], axis=1).round(3)
    array([2.   , 1.414, 1.414])
    >>> drawn.samples.round(3)  # half-way on the first branch, 0.5 beside it
    array([[1. , 0.5]])
    """
    tree = _spanning(path)
    direction = _directions(tree, path.nodes_ @ _plane(path))
    nodes = np.zeros((len(tree.parent), 2))
    for node in tree.order[tree.parent[tree.order] >= 0]:
        nodes[node] = nodes[tree.parent[node]] + path.lengths_[tree.by[node]] * direction[node]
    sides = np.where(tree.parent[tree.edges[:, 1]] == tree.edges[:, 0], 1.0, -1.0)
    placed = path.placement_
    samples = beside(
        placed.edge,
        placed.position,
        path.distance_,
        path.view.residuals,
        path.nodes_[path.edges_],
        nodes[tree.edges],
        sides,
        np.bincount(tree.edges.ravel())[tree.edges] == 1,
    )
    part = np.append(path.view.parts, path.view.parts[tree.cut])
    nodes, samples = _stacked(nodes, samples, part, part[tree.edges[placed.edge, 0]])
    own = np.arange(len(path.nodes_), len(nodes))
    return FlatTree(nodes, tree.edges, np.column_stack([own, tree.cut]), sides, samples)


def has_cycle(edges: Ints, n_nodes: int) -> bool:
    """Whether a graph has a cycle, which would have to be cut in a flat drawing.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.flat import has_cycle
    >>> has_cycle(np.array([[0, 1], [1, 2], [3, 3]]), 4)  # a node alone has a loop
    False
    >>> has_cycle(np.array([[0, 1], [1, 2], [2, 0], [3, 3]]), 4)
    True
    """
    between = edges[edges[:, 0] != edges[:, 1]]
    graph = sparse.coo_array((np.ones(len(between)), between.T), shape=(n_nodes, n_nodes))
    n_parts, _ = connected_components(graph, directed=False)
    return len(between) > n_nodes - n_parts


def _plane(path: Trajectory) -> Floats:
    """The best linear axes, (n_components, 2); of one component, it and nothing."""
    axes = tree_axes(path.nodes_, path.edges_, path.view.points, int(path.roots_[0])).axes
    return np.hstack([axes, np.zeros((len(axes), 2 - axes.shape[1]))])


def _starts(path: Trajectory) -> Ints:
    """Where the drawing of each part starts: at a root that is a tip, or the first tip, or a root.

    At another root the branches would leave to both sides, and samples would change theirs.
    """
    roots, named = path.roots_.tolist(), path.view.milestone_names
    tips = [node for node, name in named.items() if name.startswith("T")]
    ranked = [node for node in roots if node in tips] + tips + roots
    first: dict[int, int] = {}
    for node in ranked:
        first.setdefault(int(path.view.parts[node]), node)
    return np.array([first[part] for part in sorted(first)], dtype=np.intp)


def _spanning(path: Trajectory) -> _Spanning:
    """A tree by the fewest steps from its start; edges beyond it get an end of their own."""
    n_nodes, edges = len(path.nodes_), path.edges_.copy()
    around: list[list[tuple[int, int]]] = [[] for _ in range(n_nodes)]
    for edge, (a, b) in enumerate(edges.tolist()):
        around[a].append((b, edge))
        around[b].append((a, edge))
    parent, by = np.full(n_nodes, -1), np.full(n_nodes, -1)
    seen, used, order = np.zeros(n_nodes, dtype=bool), np.zeros(len(edges), dtype=bool), []
    starts = _starts(path)
    waiting = deque(starts.tolist())
    seen[starts] = True
    while waiting:
        node = waiting.popleft()
        order.append(node)
        for other, edge in around[node]:
            if not seen[other]:
                seen[other] = used[edge] = True
                parent[other], by[other] = node, edge
                waiting.append(other)
    beyond = np.flatnonzero(~used)
    own = n_nodes + np.arange(len(beyond))
    cut = edges[beyond, 1]
    edges[beyond, 1] = own
    return _Spanning(
        np.append(np.array(order, dtype=np.intp), own),
        np.append(parent, edges[beyond, 0]),
        np.append(by, beyond),
        edges,
        cut,
    )


def _directions(tree: _Spanning, plane: Floats) -> Floats:
    """Of each node from its parent, by equal angles between the tips of its part."""
    n_nodes = len(tree.parent)
    place = np.vstack([plane, plane[tree.cut]])
    children: list[list[int]] = [[] for _ in range(n_nodes)]
    for node in tree.order.tolist():
        if tree.parent[node] >= 0:
            children[tree.parent[node]].append(node)
    # Tips beyond each node, and where these lie in the plane, in the mean.
    count, total = np.zeros(n_nodes), np.zeros((n_nodes, 2))
    for node in tree.order[::-1].tolist():
        if not children[node]:
            count[node], total[node] = 1.0, place[node]
        if tree.parent[node] >= 0:
            count[tree.parent[node]] += count[node]
            total[tree.parent[node]] += total[node]
    low, turn = np.zeros(n_nodes), np.ones(n_nodes)
    angle = np.zeros(n_nodes)
    for node in tree.order.tolist():
        above = tree.parent[node]
        if above < 0:
            # A tip at which the drawing starts keeps a part of the turn free on its left.
            turn[node] = (FAN if len(children[node]) == 1 else 1.0) / count[node]
            back = np.array([-1.0, 0.0])
        else:
            angle[node] = 2 * np.pi * (low[node] + turn[node] * count[node] / 2)
            back = place[above] - place[node]
        around = _around(children[node], total, count, place[node], back)
        # The first branch of all points to the right.
        at = low[node] if above >= 0 or not around else -turn[node] * count[around[0]] / 2
        for child in around:
            low[child], turn[child] = at, turn[node]
            at += turn[node] * count[child]
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _around(
    children: list[int], total: Floats, count: Floats, here: Floats, back: Floats
) -> list[int]:
    """The children anticlockwise, as they lie in the plane, from the way back on."""
    if len(children) < 2:
        return children
    ahead = total[children] / count[children][:, np.newaxis] - here
    angles = np.arctan2(ahead[:, 1], ahead[:, 0]) - np.arctan2(back[1], back[0])
    # Rounded, so that ways in one direction keep their order.
    turned = np.round(np.mod(angles, 2 * np.pi), 9)
    return [children[k] for k in np.argsort(turned, kind="stable")]


def beside(
    edge: Ints,
    position: Floats,
    distance: Floats,
    residual: Floats,
    in_space: Floats,
    drawn: Floats,
    sides: Floats,
    is_tip: Floats,
) -> Floats:
    """Places in the drawing of samples on edges of a tree.

    Parameters
    ----------
    edge, position, distance : arrays of shape (n_samples,)
        The edge of each sample, how far along it, from 0 to 1, and how far from it.
    residual : array of shape (n_samples, n_components)
        From the place on the tree to the sample.
    in_space : array of shape (n_edges, 2, n_components)
        The ends of the edges.
    drawn : array of shape (n_edges, 2, 2)
        The same in the drawing.
    sides : array of shape (n_edges,)
        1 if samples lie to the left of the edge, −1 if to its right.
    is_tip : array of shape (n_edges, 2)
        Whether the ends are tips.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.flat import beside
    >>> line = np.array([[[0.0, 0.0], [2.0, 0.0]]])
    >>> beside(np.zeros(2, int), np.array([0.5, 1.0]), np.array([1.0, 5.0]),
    ...        np.array([[0.0, -1.0], [3.0, 4.0]]), line, line, np.ones(1), np.ones((1, 2), bool))
    array([[1., 1.],
           [5., 4.]])
    """
    a, b = drawn[edge].transpose(1, 0, 2)
    foot = a + position[:, np.newaxis] * (b - a)
    # An edge without length has no direction: any will do.
    along = np.where(((b - a) == 0).all(axis=1, keepdims=True), [1.0, 0.0], unit(b - a))
    across = np.column_stack([-along[:, 1], along[:, 0]])
    course = in_space[edge, 1] - in_space[edge, 0]
    # Beyond a tip nothing else is near: there a sample also keeps its angle to the branch.
    end = np.where(position >= 1 - AT_END, 1, 0)
    is_at_tip = is_tip[edge, end] & ((position <= AT_END) | (position >= 1 - AT_END))
    outward = np.where(end == 1, 1.0, -1.0)
    cosine = outward * np.einsum("ij,ij->i", residual, unit(course))
    cosine = np.where(is_at_tip & (distance > 0), cosine / np.where(distance > 0, distance, 1), 0.0)
    cosine = np.clip(cosine, 0.0, 1.0)
    sine = sides[edge] * np.sqrt(1 - cosine**2)
    offset = (outward * cosine)[:, np.newaxis] * along + sine[:, np.newaxis] * across
    return np.asarray(foot + distance[:, np.newaxis] * offset)


def unit(vectors: Floats) -> Floats:
    """Vectors of length one; those without length stay.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.flat import unit
    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(length > 0, length, 1.0))


def _stacked(nodes: Floats, samples: Floats, part: Ints, of_sample: Ints) -> tuple[Floats, Floats]:
    """Parts one below the other, the first on top; a single part is centred at its root."""
    n_parts = int(part.max()) + 1
    if n_parts == 1:
        return nodes, samples
    places, owner = np.vstack([nodes, samples]), np.concatenate([part, of_sample])
    low, high = np.full((n_parts, 2), np.inf), np.full((n_parts, 2), -np.inf)
    np.minimum.at(low, owner, places)
    np.maximum.at(high, owner, places)
    height = high[:, 1] - low[:, 1]
    gap = GAP * height.sum()
    top = -np.append(0.0, np.cumsum(height + gap)[:-1])
    shift = np.column_stack([-low[:, 0], top - high[:, 1]])
    return nodes + shift[part], samples + shift[of_sample]
