"""The state of a trajectory: a graph in space, the samples on it, and where time starts."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from .. import _kdtree as kdtree
from .._typing import Floats, Ints
from ..graph.nearest_edge import nearest_on_edges
from ..graph.placement import Placement, Segments, distances_from, segments, to_points
from ..solvers.assignments import assign
from .branches import Branches, default_roots, name_milestones, outward_branches, shares
from .geometry import Geometry, insert_node, place
from .occupancy import empty_stretches, occupied_parts


class Root(NamedTuple):
    """A node of the graph, or the place of a sample on it."""

    kind: str  # "node" or "sample"
    which: int


class Rooted(NamedTuple):
    """A graph in which every root is a node."""

    geometry: Geometry
    nodes: list[int]  # the roots that were asked for
    inserted: list[tuple[int, float]]  # edge and position of the nodes that are new, in order


@dataclass(frozen=True, eq=False)
class View:
    """What drawing, writing and saving a trajectory needs of it; `Trajectory.view`.

    Nothing here changes. Another root is another view: ``dataclasses.replace(view, roots=…)``.

    Attributes
    ----------
    base : Geometry
        The graph as it was learned or pruned, without roots between nodes, and the samples on it.
    milestone_names : dict
        The names of tips and forks, by node of ``base``, the most important first.
    points : array of shape (n_samples, n_components)
        The samples, in units of the data.
    sigma : float
        The width of soft assignments; 0: none.
    n_jobs : int
        Number of threads.
    roots : tuple of Root
        Where time was asked to start: nodes of ``base``, or samples.
    end : int or None
        The node where progress ends.
    geometry : Geometry
        The graph with a node at every root: what ``nodes_`` and ``edges_`` show.
    chosen_roots : list of int
        The nodes of ``roots``.
    default_roots : array of nodes
        Roots of the connected parts for which none was asked.
    all_roots : array of nodes
        Both of these, sorted.
    parts : array of shape (n_nodes,)
        The connected part of each node.
    node_time, node_root : arrays of shape (n_nodes,)
        Pseudotime of each node, and the root from which it is reached.
    placement : Placement
        The samples on ``geometry``.
    pseudotime : array of shape (n_samples,)
    branches : Branches
        The graph of milestones, and the samples on it.
    occupied : array of shape (n_branches,)
        The part of each branch that has samples (`branchwise.trajectory.occupancy`).

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory import Trajectory
    >>> path = Trajectory([[0, 1], [1, 2]], np.array([[0.0], [1.0], [3.0]]))
    >>> path.view.milestone_names, path.view.chosen_roots, path.view.default_roots
    ({0: 'T1', 2: 'T2'}, [], array([0]))
    >>> path.rooted(node="T2").view.node_time
    array([3., 2., 0.])
    """

    base: Geometry
    milestone_names: dict[int, str]
    points: Floats
    sigma: float = 0.0
    n_jobs: int = 1
    roots: tuple[Root, ...] = ()
    end: int | None = None

    @classmethod
    def placed(
        cls, nodes: Floats, edges: Ints, points: Floats, n_jobs: int = 1, **rest: Any
    ) -> Self:
        """Points at the nearest places on the edges of a graph; the rest are other attributes."""
        base = place(nodes, edges, points, n_jobs)
        return cls(base, name_milestones(base), points, n_jobs=n_jobs, **rest)

    @cached_property
    def _rooted(self) -> Rooted:
        geometry, nodes, inserted = self.base, [], []
        for root in self.roots:
            if root.kind == "sample":
                where = int(geometry.edge[root.which]), float(geometry.position[root.which])
                n_nodes = len(geometry.nodes)
                geometry, node = insert_node(geometry, *where)
                inserted += [where] * (len(geometry.nodes) - n_nodes)
            else:
                node = root.which
            nodes.append(node)
        return Rooted(geometry, nodes, inserted)

    @property
    def geometry(self) -> Geometry:
        """The graph with a node at every root."""
        return self._rooted.geometry

    @property
    def chosen_roots(self) -> list[int]:
        """Nodes where time starts because that was asked for."""
        return self._rooted.nodes

    @property
    def inserted(self) -> list[tuple[int, float]]:
        """Edge and position of the nodes at roots between nodes, in order."""
        return self._rooted.inserted

    @cached_property
    def residuals(self) -> Floats:
        """From the place of each sample on ``base`` to the sample."""
        a, b = self.base.nodes[self.base.edges[self.base.edge]].transpose(1, 0, 2)
        return self.points - (a + self.base.position[:, np.newaxis] * (b - a))

    @cached_property
    def placement(self) -> Placement:
        """The samples on the graph, without the space."""
        return self.geometry.placement

    @cached_property
    def parts(self) -> Ints:
        """The connected part of each node."""
        return self.geometry.parts

    @cached_property
    def default_roots(self) -> Ints:
        """Roots of the connected parts for which none was asked."""
        nodes = default_roots(self.geometry, self.milestone_names)
        return nodes[~np.isin(self.parts[nodes], self.parts[self.chosen_roots])]

    @cached_property
    def all_roots(self) -> Ints:
        """Nodes where time starts, at least one in each connected part."""
        return np.unique(np.concatenate([self.chosen_roots, self.default_roots]).astype(np.intp))

    @cached_property
    def _times(self) -> tuple[Floats, Ints]:
        return distances_from(self.placement, self.all_roots)

    @property
    def node_time(self) -> Floats:
        """Pseudotime of each node."""
        return self._times[0]

    @cached_property
    def pseudotime(self) -> Floats:
        """Of each sample, in units of the data."""
        return to_points(self.placement, self.node_time)

    @property
    def node_root(self) -> Ints:
        """The root that is nearest to each node."""
        return self._times[1]

    @cached_property
    def branches(self) -> Branches:
        """The graph of milestones, and the samples on it."""
        return outward_branches(
            self.placement, self.all_roots, self.milestone_names, self.node_time
        )

    @cached_property
    def occupied(self) -> Floats:
        """The part of each branch that has samples."""
        placed = self.branches.placed
        return occupied_parts(empty_stretches(placed), placed)

    @cached_property
    def base_segments(self) -> Segments:
        """The branches of ``base``, which do not know of roots."""
        return segments(self.base.edges, self.base.lengths, len(self.base.nodes))

    def place(self, points: Floats) -> Geometry:
        """Points in units of the data on the graph, by the same steps as the samples."""
        nodes, edges = self.base.nodes, self.base.edges
        placed = Geometry(nodes, edges, *nearest_on_edges(points, nodes, edges, self.n_jobs))
        for where in self._rooted.inserted:
            placed, _ = insert_node(placed, *where)
        return placed

    def probabilities(self, points: Floats) -> Floats:
        """Of each branch, for points in units of the data (`Trajectory.branch_probabilities`)."""
        found = self.branches.found
        if self.sigma > 0:
            n_nodes = len(self.base.nodes)  # without roots between nodes
            weights = assign(points, kdtree.build(self.base.nodes), self.sigma).matrix(n_nodes)
            share = shares(self.geometry.edges, found, len(self.geometry.nodes))[:n_nodes]
            return np.asarray((weights @ share).toarray())
        branch = found.of_edge[self.place(points).edge]
        probabilities = np.zeros((len(points), len(found.ends)))
        probabilities[np.arange(len(points)), branch] = 1.0
        return probabilities
