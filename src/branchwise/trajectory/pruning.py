"""The graph with fewer branches: without twigs that noise can make, forks joined."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

from .._messages import listed
from .._typing import Floats, Ints
from ..data.checks import check_count
from ..graph import adjacency
from ..graph.placement import Segments, degrees, segments
from .branches import Twigs, rank_twigs
from .checks import check_amount
from .roots import landmarks
from .view import Root, View

# Twigs, and branches between forks, shorter than this many times the noise are not believed.
NOISE_LENGTHS = 2.0


class Reduced(NamedTuple):
    """What is left of a graph."""

    nodes: Floats  # (n_nodes, n_dims)
    edges: Ints  # (n_edges, 2)
    became: Ints  # what each node of the whole graph has become

    @property
    def lengths(self) -> Floats:
        """Of the edges."""
        return np.linalg.norm(self.nodes[self.edges[:, 1]] - self.nodes[self.edges[:, 0]], axis=1)


def pruned(
    view: View, min_length: float | None, min_samples: int | None, tips: Any
) -> tuple[View, dict[str, Any]]:
    """The view without short twigs, and how to do the same to other graphs (`Trajectory.prune`)."""
    asked: dict[str, Any] = {"min_length": min_length, "min_samples": min_samples}
    if min_length is None and min_samples is None and tips is None:
        min_length = least_length(view)
        if (
            noise(view) == 0
            and "F1" in view.milestone_names.values()
            and view.placement.lengths.any()
        ):
            warnings.warn(
                "prune() removes nothing: noise_ is 0, as the samples lie on the graph; pass "
                "min_length=… or min_samples=…, or call merge(n_branches=…).",
                UserWarning,
                stacklevel=3,
            )
    length = 0.0 if min_length is None else check_amount(min_length, "min_length")
    count = 0.0 if min_samples is None else check_amount(min_samples, "min_samples")
    graph = whole(view.base.nodes, view.base.edges)
    if tips is not None:
        asked["near"] = landmarks(view.base, view.milestone_names, tip_nodes(view, tips))
        graph = without_tips(view, tips)
    view = left(view, believable(graph, length, kept_nodes(view)))
    base = view.base
    n_samples = np.bincount(base.edge, minlength=len(base.edges)).astype(float)
    graph = whole(base.nodes, base.edges)
    return left(view, without_short_twigs(graph, n_samples, count, kept_nodes(view))), asked


def merged(view: View, n_branches: int) -> View:
    """The view with a given number of branches (`Trajectory.merge`)."""
    present = len(view.branches.names)
    if check_count(n_branches, "n_branches") > present:
        raise ValueError(
            f"n_branches={n_branches} must be at most {present}, the number of branches; twigs "
            "can be cut off but not added."
        )
    graph = whole(view.base.nodes, view.base.edges)
    twigs = rank_twigs(graph.edges, graph.lengths, len(graph.nodes), kept_nodes(view))

    def cut(n_cut: int) -> View:
        return left(view, without_twigs(graph, twigs, n_cut))

    # The number of branches falls with every twig.
    few, many = len(twigs.tips), 0
    while few > many:
        middle = (few + many) // 2
        if len(cut(middle).branches.names) <= n_branches:
            few = middle
        else:
            many = middle + 1
    result = cut(few)
    reached = [len(result.branches.names)]
    if reached[0] < n_branches:
        result = cut(few - 1)
        reached.append(len(result.branches.names))
    while reached[-1] > n_branches:
        joined = nearest_forks_joined(whole(result.base.nodes, result.base.edges))
        if joined is None:
            break
        result = left(result, joined)
        reached.append(len(result.branches.names))
    if reached[-1] == n_branches:
        return result
    nearest = sorted(n for n in reached if n < n_branches)[-1:]
    nearest += sorted(n for n in reached if n > n_branches)[:1]
    raise ValueError(
        f"n_branches={n_branches} cannot be reached by cutting off twigs and joining forks; "
        f"choose {' or '.join(map(str, nearest))}."
    )


def noise(view: View, rows: Any = slice(None)) -> float:
    """Spread of samples, or of some of them, in each direction across the graph."""
    across = max(view.base.nodes.shape[1] - 1, 1)
    return float(np.sqrt(np.mean(view.geometry.distance[rows] ** 2) / across))


def least_length(view: View, rows: Any = slice(None)) -> float:
    """Of a branch that is believed, by the noise of some samples; more than none at all."""
    return max(NOISE_LENGTHS * noise(view, rows), np.finfo(float).tiny)


def kept_nodes(view: View) -> Ints:
    """Nodes that are roots because that was asked for, and are not to be cut off."""
    nodes = np.array(view.chosen_roots, dtype=np.intp)
    return nodes[nodes < len(view.base.nodes)]


def left(view: View, graph: Reduced) -> View:
    """The view on what is left of its graph, with the samples placed again."""
    if len(graph.edges) == len(view.base.edges):
        return view
    return View.placed(
        graph.nodes,
        graph.edges,
        view.points,
        view.n_jobs,
        sigma=view.sigma,
        roots=tuple(
            Root(k, int(graph.became[i])) if k == "node" else Root(k, i) for k, i in view.roots
        ),
        end=None if view.end is None else int(graph.became[view.end]),
    )


def tip_nodes(view: View, tips: Any) -> list[int]:
    """Tips given by their names."""
    node_of = {name: k for k, name in view.milestone_names.items() if name.startswith("T")}
    wanted = np.atleast_1d(np.asarray(tips, dtype=object)).tolist()
    for tip in wanted:
        if not isinstance(tip, str) or tip not in node_of:
            raise ValueError(f"tips={tip!r} is not a tip; tips are {listed(node_of) or 'missing'}.")
    return [node_of[tip] for tip in wanted]


def without_tips(view: View, tips: Any) -> Reduced:
    """The graph without the twigs of some tips."""
    base, names, cut = view.base, view.milestone_names, tip_nodes(view, tips)
    for node in cut:
        if node in view.chosen_roots:
            raise ValueError(f"tips={names[node]!r} is the root; choose another with rooted first.")
    others = np.setdiff1d(np.arange(len(base.nodes)), cut)
    twigs = rank_twigs(base.edges, base.lengths, len(base.nodes), others)
    for node in cut:
        if node not in twigs.tips:
            raise ValueError(
                f"tips={tips!r} cannot all be cut off, as of each tree at least a path must "
                f"stay; leave out {names[node]!r}, for instance."
            )
    return without_twigs(whole(base.nodes, base.edges), twigs, len(twigs.tips))


def whole(nodes: Floats, edges: Ints) -> Reduced:
    """A graph that nothing has been taken from yet."""
    return Reduced(nodes, edges, np.arange(len(nodes)))


def without_twigs(graph: Reduced, twigs: Twigs, n_cut: int) -> Reduced:
    """The graph without the first twigs of a ranking; their nodes become the forks they hung from.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.pruning import whole, without_twigs
    >>> from branchwise.trajectory.branches import rank_twigs
    >>> edges = np.array([[0, 1], [1, 2], [1, 3]])
    >>> graph = whole(np.array([[0.0, 0], [2, 0], [5, 0], [2, 1]]), edges)
    >>> less = without_twigs(graph, rank_twigs(edges, graph.lengths, 4), 1)
    >>> less.edges.tolist(), less.became
    ([[0, 1], [1, 2]], array([0, 1, 2, 1]))
    """
    if n_cut == 0:
        return graph
    n_nodes = len(graph.nodes)
    is_kept = (twigs.owner < 0) | (twigs.owner >= n_cut)
    left = np.unique(graph.edges[is_kept])
    target = np.arange(n_nodes)
    # The last twig that went with a node led on; others may have been cut from it before.
    last = np.full(n_nodes, -1, dtype=np.intp)
    np.maximum.at(last, graph.edges.ravel(), np.repeat(twigs.owner, 2))
    gone = np.setdiff1d(target, left)
    target[gone] = twigs.forks[last[gone]]
    # A fork may have gone with a later twig, whose fork is met next.
    while not np.array_equal(further := target[target], target):
        target = further
    edges = np.searchsorted(left, graph.edges[is_kept])
    return Reduced(graph.nodes[left], edges, np.searchsorted(left, target)[graph.became])


def without_short_twigs(graph: Reduced, weights: Floats, least: float, keep: Ints) -> Reduced:
    """The graph without twigs that weigh less; nodes of the whole graph to keep are given."""
    twigs = rank_twigs(graph.edges, weights, len(graph.nodes), graph.became[keep])
    return without_twigs(graph, twigs, int(np.searchsorted(twigs.sizes, least)))


def inner_segments(graph: Reduced, found: Segments) -> Ints:
    """Segments that lead from a fork to another one."""
    degree = degrees(graph.edges, len(graph.nodes))[found.ends]
    is_inner = (degree > 2).all(axis=1) & (found.ends[:, 0] != found.ends[:, 1])
    return np.flatnonzero(is_inner)


def nearest_forks_joined(graph: Reduced) -> Reduced | None:
    """The graph with its two nearest forks made one, in the middle; None if there are no two.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.pruning import nearest_forks_joined, whole
    >>> nodes = np.array([[0.0, 0], [2, 0], [3, 0], [6, 1], [7, -1], [2, 4]])
    >>> graph = whole(nodes, np.array([[0, 1], [1, 2], [2, 3], [2, 4], [1, 5]]))
    >>> nearest_forks_joined(graph).nodes[1]
    array([2.5, 0. ])
    """
    found = segments(graph.edges, graph.lengths, len(graph.nodes))
    inner = inner_segments(graph, found)
    if not len(inner):
        return None
    return contracted(graph, found, inner[[np.argmin(found.lengths[inner])]])


def near_forks_joined(graph: Reduced, reach: float) -> Reduced | None:
    """Forks nearer than `reach`, and nearer to each other than to any other, made one.

    None if there are none.
    """
    found = segments(graph.edges, graph.lengths, len(graph.nodes))
    inner = inner_segments(graph, found)
    inner = inner[found.lengths[inner] < reach]
    if not len(inner):
        return None
    inner = inner[np.argsort(found.lengths[inner], kind="stable")]
    # The rank in that order of the shortest branch from each fork to another.
    first = np.full(len(graph.nodes), len(inner))
    np.minimum.at(first, found.ends[inner].ravel(), np.repeat(np.arange(len(inner)), 2))
    is_first = (first[found.ends[inner]] == np.arange(len(inner))[:, np.newaxis]).all(axis=1)
    return contracted(graph, found, inner[is_first])


def contracted(graph: Reduced, found: Segments, chosen: Ints) -> Reduced:
    """Every one of some segments that share no end as a node in its middle."""
    is_chosen = np.zeros(len(found.ends), dtype=bool)
    is_chosen[chosen] = True
    within = np.flatnonzero(is_chosen[found.of_edge])
    nodes = graph.nodes.copy()
    n_nodes = len(nodes)
    number = connected_components(adjacency(graph.edges[within], n_nodes), directed=False)[1]
    middles = middle_points(graph, found, within)
    left = np.unique(number, return_index=True)[1]
    nodes = nodes[left]
    nodes[number[found.ends[chosen, 0]]] = middles[chosen]
    edges = number[np.delete(graph.edges, within, axis=0)]
    # An edge parallel to a chosen segment has no length any more.
    edges = edges[edges[:, 0] != edges[:, 1]]
    return Reduced(nodes, edges, number[graph.became])


def middle_points(graph: Reduced, found: Segments, within: Ints) -> Floats:
    """The middle of each segment that the given edges are of, by the length along it."""
    segment, lengths = found.of_edge[within], graph.lengths[within]
    # As a part of each edge: from 0 to 1 on the edge where it is, but for rounding.
    ahead = (found.lengths[segment] / 2 - found.start[within]) * found.sign[within]
    outside = np.maximum(-ahead, ahead - lengths)
    order = np.lexsort((outside, segment))
    best = order[np.unique(segment[order], return_index=True)[1]]
    part = np.clip(ahead[best] / np.where(lengths[best] > 0, lengths[best], 1.0), 0.0, 1.0)
    a, b = graph.nodes[graph.edges[within[best]]].transpose(1, 0, 2)
    middles = np.full((len(found.ends), graph.nodes.shape[1]), np.nan)
    middles[segment[best]] = a + part[:, np.newaxis] * (b - a)
    return middles


def believable(graph: Reduced, least: float, keep: Ints) -> Reduced:
    """The graph without twigs, and without branches between forks, that are shorter."""
    while True:
        graph = without_short_twigs(graph, graph.lengths, least, keep)
        joined = near_forks_joined(graph, least)
        if joined is None:
            return graph
        # What is left of a twig that ends at a joined fork may be too short now.
        graph = joined
