"""Twigs that are not believed: which they are, and the graph without them."""

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy.sparse.csgraph import connected_components

from .._messages import listed
from .._typing import Floats, Ints
from ..data.checks import check_count
from ..graph import adjacency
from ..graph.placement import Segments, degrees, segments
from .branches import Twigs, rank_twigs
from .checks import check_amount
from .roots import Root, Step, landmarks
from .view import View


class Reduced(NamedTuple):
    """What is left of a graph."""

    nodes: Floats  # (n_nodes, n_dims)
    edges: Ints  # (n_edges, 2)
    became: Ints  # what each node of the whole graph has become

    @property
    def lengths(self) -> Floats:
        """Of the edges."""
        return np.linalg.norm(self.nodes[self.edges[:, 1]] - self.nodes[self.edges[:, 0]], axis=1)


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
    # The place in that order of the shortest way from each fork.
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
    """The graph without twigs, and without ways between forks, that are shorter."""
    while True:
        graph = without_short_twigs(graph, graph.lengths, least, keep)
        joined = near_forks_joined(graph, least)
        if joined is None:
            return graph
        # What is left of a twig that ends at a joined fork may be too short now.
        graph = joined


class PruningMixin:
    """Methods of `Trajectory` that lead to one with fewer branches."""

    lengths_: Floats
    view: View
    if TYPE_CHECKING:

        def _noise_of(self, rows: Any) -> float: ...

        def _least_length(self, rows: Any) -> float: ...

        def _with(self, view: View, *steps: Step) -> Self: ...

    def prune(
        self,
        min_length: float | None = None,
        *,
        min_samples: int | None = None,
        tips: Any = None,
    ) -> Self:
        """Remove what cannot be told from noise: short twigs, and forks that are almost one.

        Twigs go one after another, the least first, and what is left of a fork with one twig
        less becomes one branch (`rank_twigs`). Then the two nearest forks become one, in the
        middle between them, and again, until no twig and no way between two forks is too short.
        Samples move to the nearest place on what is left. Of each tree at least a path stays, and
        a tip that was asked for as a root stays.

        Parameters
        ----------
        min_length : float or None, default=None
            Least length of a twig, and of a branch between two forks, in units of the data. None,
            if ``min_samples`` and ``tips`` are None too: twice ``noise_``. A twig no longer
            than the samples scatter around the graph is what noise looks like. The samples of
            SPL and DRTree are the nodes of the graph and do not scatter: give a length or
            a number of samples, or call `merge`.
        min_samples : int or None, default=None
            Least number of samples on a twig.
        tips : str or sequence of str, optional
            Names of tips to cut off, whatever their length.

        Returns
        -------
        trajectory : Trajectory

        Examples
        --------
        >>> import numpy as np
        >>> from branchwise.trajectory import Trajectory
        >>> nodes = np.array([[0.0, 0.0], [5.0, 0.0], [9.0, 0.0], [5.0, 0.5]])
        >>> fork = Trajectory([[0, 1], [1, 2], [1, 3]], nodes)
        >>> fork.prune(min_length=1.0).branches_.tolist()
        ['T1-T2', 'T1-T2', 'T1-T2', 'T1-T2']
        """
        asked: dict[str, Any] = {"min_length": min_length, "min_samples": min_samples}
        if min_length is None and min_samples is None and tips is None:
            min_length = self._least_length(slice(None))
            if (
                self._noise_of(slice(None)) == 0
                and "F1" in self.view.milestone_names.values()
                and self.lengths_.any()
            ):
                warnings.warn(
                    "prune() removes nothing: noise_ is 0, as the samples lie on the graph (those "
                    "of SPL and DRTree are its nodes); pass min_length=… or min_samples=…, or call "
                    "merge(n_branches=…).",
                    UserWarning,
                    stacklevel=2,
                )
        length = 0.0 if min_length is None else check_amount(min_length, "min_length")
        count = 0.0 if min_samples is None else check_amount(min_samples, "min_samples")
        graph = self._graph
        if tips is not None:
            asked["near"] = landmarks(
                self.view.base, self.view.milestone_names, self._tip_nodes(tips)
            )
            graph = self._without_tips(tips)
        result = self._left(believable(graph, length, self._kept))
        n_samples = np.bincount(
            result.view.base.edge, minlength=len(result.view.base.edges)
        ).astype(float)
        fewer = without_short_twigs(result._graph, n_samples, count, result._kept)
        return result._left(fewer, ("prune", asked))

    def merge(self, n_branches: int) -> Self:
        """Reduce the trajectory to a given number of branches.

        The shortest twigs are cut off, as in `prune`, until that number is reached. A fork of three
        that loses a twig makes two branches less; if only one is to go, the two nearest forks
        become one, in the middle between them.

        Parameters
        ----------
        n_branches : int

        Returns
        -------
        trajectory : Trajectory

        Examples
        --------
        >>> import numpy as np
        >>> from branchwise.trajectory import Trajectory
        >>> nodes = np.array([[0.0, 0.0], [2.0, 0], [3.0, 0], [6.0, 1], [7.0, -1], [2.0, 4]])
        >>> tree = Trajectory([[0, 1], [1, 2], [2, 3], [2, 4], [1, 5]], nodes)
        >>> [len(tree.merge(n).branch_table_) for n in (5, 4, 3, 1)]
        [5, 4, 3, 1]
        """
        present = self._n_branches
        if check_count(n_branches, "n_branches") > present:
            raise ValueError(
                f"n_branches={n_branches} must be at most {present}, the number of branches; twigs "
                "can be cut off but not added."
            )
        graph = self._graph
        twigs = rank_twigs(graph.edges, graph.lengths, len(graph.nodes), self._kept)

        def cut(n_cut: int) -> Reduced:
            return without_twigs(graph, twigs, n_cut)

        # The number of branches falls with every twig.
        few, many = len(twigs.tips), 0
        while few > many:
            middle = (few + many) // 2
            if self._left(cut(middle))._n_branches <= n_branches:
                few = middle
            else:
                many = middle + 1
        result = self._left(cut(few))
        reached = [result._n_branches]
        if reached[0] < n_branches:
            result = self._left(cut(few - 1))
            reached.append(result._n_branches)
        while reached[-1] > n_branches:
            joined = nearest_forks_joined(result._graph)
            if joined is None:
                break
            result = result._left(joined)
            reached.append(result._n_branches)
        if reached[-1] == n_branches:
            return result._with(result.view, ("merge", {"n_branches": n_branches}))
        nearest = sorted(n for n in reached if n < n_branches)[-1:]
        nearest += sorted(n for n in reached if n > n_branches)[:1]
        raise ValueError(
            f"n_branches={n_branches} cannot be reached by cutting off twigs and joining forks; "
            f"choose {' or '.join(map(str, nearest))}."
        )

    def _tip_nodes(self, tips: Any) -> list[int]:
        """Tips given by their names."""
        node_of = {
            name: node for node, name in self.view.milestone_names.items() if name.startswith("T")
        }
        wanted = np.atleast_1d(np.asarray(tips, dtype=object)).tolist()
        for tip in wanted:
            if not isinstance(tip, str) or tip not in node_of:
                raise ValueError(
                    f"tips={tip!r} is no tip; tips are {listed(node_of) or 'missing'}."
                )
        return [node_of[tip] for tip in wanted]

    def _without_tips(self, tips: Any) -> Reduced:
        """The graph without the twigs of some tips."""
        cut = self._tip_nodes(tips)
        for node in cut:
            if node in self.view.chosen_roots:
                raise ValueError(
                    f"tips={self.view.milestone_names[node]!r} is the root; choose another with rooted first."
                )
        n_nodes = len(self.view.base.nodes)
        others = np.setdiff1d(np.arange(n_nodes), cut)
        twigs = rank_twigs(self.view.base.edges, self.view.base.lengths, n_nodes, others)
        for node in cut:
            if node not in twigs.tips:
                raise ValueError(
                    f"tips={tips!r} cannot all be cut off, as of each tree at least a path must "
                    f"stay; leave out {self.view.milestone_names[node]!r}, for instance."
                )
        return without_twigs(self._graph, twigs, len(twigs.tips))

    @property
    def _n_branches(self) -> int:
        return len(self.view.branches.names)

    @property
    def _graph(self) -> Reduced:
        return whole(self.view.base.nodes, self.view.base.edges)

    @property
    def _kept(self) -> Ints:
        """Nodes that are roots because that was asked for, and are not to be cut off."""
        nodes = np.array(self.view.chosen_roots, dtype=np.intp)
        return nodes[nodes < len(self.view.base.nodes)]

    def _left(self, graph: Reduced, *steps: Step) -> Self:
        """The trajectory on what is left of its graph, with the samples placed again."""
        view = self.view
        if len(graph.edges) == len(view.base.edges):
            return self._with(view, *steps)
        left = View.placed(
            graph.nodes,
            graph.edges,
            view.points,
            view.n_jobs,
            scale=view.scale,
            sigma=view.sigma,
            roots=tuple(
                Root(k, int(graph.became[i])) if k == "node" else Root(k, i) for k, i in view.roots
            ),
            end=None if view.end is None else int(graph.became[view.end]),
        )
        return self._with(left, *steps)
