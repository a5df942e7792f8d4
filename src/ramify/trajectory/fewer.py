"""Fewer branches: what `Trajectory` makes of a pruned graph."""

import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._messages import listed
from .._typing import Floats, Ints
from .._validation import check_count
from .branches import Branches
from .checks import check_amount
from .geometry import Geometry, place
from .pruning import (
    Reduced,
    believable,
    nearest_forks_joined,
    whole,
    without_short_twigs,
    without_twigs,
)
from .recipe import landmarks
from .roots import Root
from .twigs import rank_twigs


class PruningMixin:
    """Methods of `Trajectory` that lead to one with fewer branches."""

    lengths_: Floats
    _base: Geometry
    _roots: list[Root]
    _wanted: list[int]
    _end: int | None
    _samples: Any
    if TYPE_CHECKING:

        @cached_property
        def _names(self) -> dict[int, str]: ...

        @cached_property
        def _branches(self) -> Branches: ...

        def _noise_of(self, rows: Any) -> float: ...

        def _least_length(self, rows: Any) -> float: ...

        def _view(self, base: Geometry, roots: list[Root], end: int | None) -> Self: ...

        def _recorded(self, method: str, given: dict[str, Any]) -> Self: ...

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
        >>> from ramify.trajectory import Trajectory
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
                and "F1" in self._names.values()
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
            asked["near"] = landmarks(self._base, self._names, self._tip_nodes(tips))
            graph = self._without_tips(tips)
        result = self._left(believable(graph, length, self._kept))
        n_samples = np.bincount(result._base.edge, minlength=len(result._base.edges)).astype(float)
        fewer = without_short_twigs(result._graph, n_samples, count, result._kept)
        return result._left(fewer)._recorded("prune", asked)

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
        >>> from ramify.trajectory import Trajectory
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
            return result._recorded("merge", {"n_branches": n_branches})
        nearest = sorted(n for n in reached if n < n_branches)[-1:]
        nearest += sorted(n for n in reached if n > n_branches)[:1]
        raise ValueError(
            f"n_branches={n_branches} cannot be reached by cutting off twigs and joining forks; "
            f"choose {' or '.join(map(str, nearest))}."
        )

    def _tip_nodes(self, tips: Any) -> list[int]:
        """Tips given by their names."""
        node_of = {name: node for node, name in self._names.items() if name.startswith("T")}
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
            if node in self._wanted:
                raise ValueError(
                    f"tips={self._names[node]!r} is the root; choose another with rooted first."
                )
        n_nodes = len(self._base.nodes)
        others = np.setdiff1d(np.arange(n_nodes), cut)
        twigs = rank_twigs(self._base.edges, self._base.lengths, n_nodes, others)
        for node in cut:
            if node not in twigs.tips:
                raise ValueError(
                    f"tips={tips!r} cannot all be cut off, as of each tree at least a path must "
                    f"stay; leave out {self._names[node]!r}, for instance."
                )
        return without_twigs(self._graph, twigs, len(twigs.tips))

    @property
    def _n_branches(self) -> int:
        return len(self._branches.names)

    @property
    def _graph(self) -> Reduced:
        return whole(self._base.nodes, self._base.edges)

    @property
    def _kept(self) -> Ints:
        """Nodes that are roots because that was asked for, and are not to be cut off."""
        nodes = np.array(self._wanted, dtype=np.intp)
        return nodes[nodes < len(self._base.nodes)]

    def _left(self, graph: Reduced) -> Self:
        """The trajectory on what is left of its graph, with the samples placed anew."""
        if len(graph.edges) == len(self._base.edges):
            return self
        base = place(graph.nodes, graph.edges, self._samples.points, self._samples.n_jobs)
        roots = [
            Root(k, int(graph.became[i])) if k == "node" else Root(k, i) for k, i in self._roots
        ]
        end = None if self._end is None else int(graph.became[self._end])
        return self._view(base, roots, end)
