"""A learned graph with a root, and the samples' places on it."""

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._compat import import_pandas
from .._typing import Floats, Ints
from ..data.checks import check_pairs
from ..graph.placement import (
    degrees,
    distances_between,
    distances_from,
    on_segments,
    to_points,
)
from ..model_selection import check_learner
from ._repr import ShownMixin
from .along import FeaturesMixin
from .branches import importance
from .checks import (
    check_geometry,
    check_n_jobs,
    check_order,
    check_points,
    check_positions,
    check_sigma,
    sample_rows,
)
from .export import ExportMixin
from .geometry import graph_of_model
from .pruning import PruningMixin
from .roots import Recipe, Root, Step, landmarks, node_numbers, richness
from .view import View

if TYPE_CHECKING:
    from .bootstrap import Support

# Of samples with a label, and of places equally rich in it, so many are compared.
MOST_COMPARED = 200

# Twigs and ways between forks that are shorter than this many times the noise are not believed.
NOISE_LENGTHS = 2.0


class Trajectory(PruningMixin, FeaturesMixin, ExportMixin, ShownMixin):
    """Samples on a graph: where they lie on it, in which order, on which branch.

    Every sample is moved to the nearest place on an edge of the graph. From the root, time runs
    along the edges: the pseudotime of a sample is the length of the shortest path from the root to
    its place. Branches are the segments between tips, forks and roots. An object never changes:
    `rooted`, `prune` and `merge` return new ones. A new trajectory has the root that `rooted` takes
    when it is told nothing.

    Parameters
    ----------
    tree : sparse or dense matrix of shape (n_nodes, n_nodes), or array of shape (n_edges, 2)
        The graph: a symmetric matrix with a positive entry for each edge, or the edges
        themselves. It may have several parts, and cycles.
    nodes : array-like of shape (n_nodes, n_components)
        The positions of its nodes; they give the edges their lengths.
    points : array-like of shape (n_samples, n_components) or None, default=None
        The samples, in the space of the nodes; None: the nodes themselves. The index of a pandas
        DataFrame names the samples.
    names : sequence of length n_samples or None, default=None
        Names of the samples; None: those of ``points``, or 0, 1, 2, …
    sigma : float, default=0.0
        Width of the soft assignments of samples to nodes, in squared units of the data, that
        `branch_probabilities` come from. 0: a sample belongs to its branch with probability one.
    n_jobs : int or None, default=None
        Number of threads for projections; the result does not depend on it.

    Attributes
    ----------
    nodes_ : array of shape (n_nodes, n_components)
        A root between two nodes is one node more.
    edges_ : array of shape (n_edges, 2)
    lengths_ : array of shape (n_edges,)
    placement_ : Placement
        Edge and position of each sample (`branchwise.graph.placement`).
    distance_ : array of shape (n_samples,)
        From each sample to its place on the graph.
    noise_ : float
        √(mean of ``distance_``²/(n_components − 1)): the spread in each direction across the graph.
    names_ : array of shape (n_samples,)
    roots_ : array of nodes
        At least one in each connected part.
    pseudotime_ : array of shape (n_samples,)
        In units of the data.
    pseudotime_scaled_ : array of shape (n_samples,)
        The same as a part of the latest sample's, from 0 to 1.
    progress_ : array of shape (n_samples,)
        With an ``end`` given to `rooted`: the part of the way from the root to the end at which
        the path to the sample leaves that way, ½ + (d(root, x) − d(x, end))/(2·d(root, end)).
    branches_ : array of shape (n_samples,)
        The name of each sample's branch: its two milestones, the one nearer to the root first.
    branch_time_, branch_position_ : array of shape (n_samples,)
        From the start of the branch, in units of the data and as a part of its length.
    milestones_ : DataFrame
        Tips T1, T2, …, forks F1, F2, … and roots elsewhere R1, R2, …: node, kind, number of
        branches, pseudotime, and connected part. T1 and T2 are the ends of the longest path, the
        others follow by the length of what would be lost with them. The names of tips and forks do
        not depend on the root, and pruning short twigs leaves the others' names as they were.
    branch_table_ : DataFrame
        Start, end, length, times, parent and number of samples of each branch.
    samples_ : DataFrame
        What is said above of each sample, by its name.
    estimator_ : SPL, DRTree, DDRTree or None
        The model that the trajectory was made from.
    lineages_ : dict
        For each tip the branches that lead to it from its root, in order.
    view : View
        What all of this comes from, for those that draw or save it: samples, graph, roots,
        branches; `branchwise.trajectory.view`.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory import Trajectory
    >>> nodes = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 2.0], [3.0, -1.0]])
    >>> samples = np.array([[0.5, 0.3], [1.8, 0.1], [3.2, 1.0], [2.6, -0.4]])
    >>> path = Trajectory([[0, 1], [1, 2], [1, 3]], nodes, samples)
    >>> path
    <Trajectory: 4 samples, 3 branches, 3 tips, rooted at T1>
    >>> path.branches_.tolist()
    ['T1-F1', 'T1-F1', 'F1-T2', 'F1-T3']
    >>> path.pseudotime_.round(2)
    array([0.5 , 1.8 , 3.56, 2.71])
    >>> path.rooted(node="T3").branches_.tolist()
    ['F1-T1', 'F1-T1', 'F1-T2', 'T3-F1']
    """

    def __init__(
        self,
        tree: Any,
        nodes: Any,
        points: Any = None,
        *,
        names: Any = None,
        sigma: float = 0.0,
        n_jobs: int | None = None,
    ):
        positions, edges = check_geometry(tree, nodes)
        samples, labels = check_points(points, positions, names)
        width, n_threads = check_sigma(sigma), check_n_jobs(n_jobs)
        self._show(View.placed(positions, edges, samples, n_threads, sigma=width), labels)

    @classmethod
    def from_view(cls, view: View, *, names: Any = None, estimator: Any = None) -> Self:
        """A trajectory of a view: of another one, or put together from a file.

        `support` cannot repeat how it was made.

        Parameters
        ----------
        view : View
        names : array of shape (n_samples,) or None, default=None
            Names of the samples; None: 0, 1, 2, …
        estimator : fitted SPL, DRTree or DDRTree, or None, default=None
            The model that it was made from.

        Returns
        -------
        trajectory : Trajectory

        Examples
        --------
        >>> import numpy as np
        >>> from branchwise.trajectory import Trajectory
        >>> path = Trajectory([[0, 1]], np.array([[0.0], [1.0]]))
        >>> Trajectory.from_view(path.view, names=np.array(["a", "b"])).samples_.index.tolist()
        ['a', 'b']
        """
        self = cls.__new__(cls)
        self._show(view, np.arange(len(view.points)) if names is None else names, estimator)
        return self

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        points: Any = None,
        structure: Any = None,
        names: Any = None,
        n_jobs: int | None = None,
    ) -> Self:
        """The trajectory of a fitted SPL, DRTree or DDRTree.

        Parameters
        ----------
        model : fitted SPL, DRTree or DDRTree
        points : array-like of shape (n_samples, n_components) or None, default=None
            Samples in the learned space; None: ``embedding_``, the samples that the model was
            fitted to.
        structure : str, matrix, object or None, default=None
            For SPL, whose graph is no tree: None spans its skeleton by the shortest edges of
            ``graph_``, which cuts rings open. Otherwise such a structure, for instance "ring" or
            "graph", is fitted to the skeleton (see `DRTree`).
        names : sequence of length n_samples or None, default=None
            Names of the samples. A model does not remember those of the table that it was fitted
            to: pass ``X.index``.
        n_jobs : int or None, default=None

        Returns
        -------
        trajectory : Trajectory

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from branchwise import DDRTree
        >>> from branchwise.trajectory import Trajectory
        >>> X = load_iris(as_frame=True).data
        >>> model = DDRTree(random_state=0).fit(X)
        >>> flowers = Trajectory.from_estimator(model, names=X.index)
        >>> flowers.pseudotime_.shape, float(flowers.pseudotime_scaled_.max())
        ((150,), 1.0)
        """
        check_learner(model)
        check_is_fitted(model)
        nodes, edges, scale = graph_of_model(model, structure)
        points = model.embedding_ if points is None else points
        if points is model.embedding_ and len(points) == 0:
            raise ValueError(
                f"the {type(model).__name__} was fitted to a Dask array and does not have its "
                "points; pass points=model.transform(X)."
            )
        samples, labels = check_points(points, nodes, names)
        sigma = float(getattr(model, "sigma_", 0.0))
        n_threads = check_n_jobs(n_jobs)
        view = View.placed(
            nodes * scale, edges, samples * scale, n_threads, scale=scale, sigma=sigma
        )
        self = cls.__new__(cls)
        self._show(view, labels, model, (("from_estimator", {"structure": structure}),))
        return self

    def _show(self, view: View, names: Any, estimator: Any = None, recipe: Recipe = ()) -> None:
        """Set all attributes."""
        geometry = view.geometry
        self.view, self.names_, self.estimator_, self._recipe = view, names, estimator, recipe
        self.nodes_, self.edges_, self.distance_ = geometry.nodes, geometry.edges, geometry.distance
        self.placement_, self.lengths_ = view.placement, view.placement.lengths
        self.roots_ = view.all_roots
        self.pseudotime_ = to_points(view.placement, view.node_time)

    def _with(self, view: View, *steps: Step) -> Self:
        """The same samples with another graph or root, and how that was done."""
        new = type(self).__new__(type(self))
        new._show(view, self.names_, self.estimator_, (*self._recipe, *steps))
        return new

    # Roots

    def rooted(
        self,
        node: Any = None,
        *,
        sample: Any = None,
        labels: Any = None,
        value: Any = None,
        at: str = "tip",
        end: Any = None,
    ) -> Self:
        """The same trajectory with another root; nothing is fitted again.

        Without arguments the root is T1, the first end of the longest path, or on a ring the node
        that comes first in the order of the coordinates. Connected parts for which no root is given
        get that one, too. With several roots in one part, time runs from the nearest.

        Parameters
        ----------
        node : int, str or sequence of these, optional
            Node number or name of a milestone.
        sample : int, str or sequence of these, optional
            Row number (integer) or name of a sample: time starts at its place on the graph.
        labels : sequence of length n_samples, optional
            A label for each sample. The root, in each connected part, is where samples with the
            label ``value`` are the most: share and number are weighed by the lower end of Wilson's
            95 % interval for the share. Of equals, the one whose mean distance to such samples is
            the least.
        value : label, optional
        at : {"tip", "node"}, default="tip"
            Where to look: at the tips, each with the samples that are nearer to it than to the
            other end of their branch, or at all nodes, each with the samples nearest to it.
        end : int or str, optional
            Where the way ends, as a node or milestone: see ``progress_``.

        Returns
        -------
        trajectory : Trajectory

        Examples
        --------
        >>> import numpy as np
        >>> from branchwise.trajectory import Trajectory
        >>> nodes = np.arange(5.0)[:, np.newaxis]
        >>> path = Trajectory([[0, 1], [1, 2], [2, 3], [3, 4]], nodes)
        >>> stage = ["late", "late", "mid", "early", "early"]
        >>> path.rooted(labels=stage, value="early").pseudotime_
        array([4., 3., 2., 1., 0.])
        >>> path.rooted(sample=2).branches_.tolist()
        ['R1-T1', 'R1-T1', 'R1-T1', 'R1-T2', 'R1-T2']
        >>> path.rooted(node=1, end=3).progress_
        array([0. , 0. , 0.5, 1. , 1. ])
        """
        if sum(given is not None for given in (node, sample, labels)) > 1:
            raise ValueError(
                "rooted takes one of node=…, sample=…, or labels=… with value=…, not several."
            )
        if (labels is None) != (value is None):
            raise ValueError(
                "labels and value go together; pass a label for each sample as labels=…, and the "
                "label to start at as value=…."
            )
        if at not in {"tip", "node"}:
            raise ValueError(f"at={at!r} must be 'tip' or 'node'.")
        n_nodes, names = len(self.view.base.nodes), self.view.milestone_names
        roots: list[Root] = []
        asked: dict[str, Any] = {}
        if node is not None:
            numbers = node_numbers(node, names, n_nodes, "node")
            roots = [Root("node", k) for k in numbers]
            asked = {"near": landmarks(self.view.base, names, numbers)}
        elif sample is not None:
            rows = np.atleast_1d(sample_rows(sample, self.names_, "sample"))
            if not len(rows):
                raise ValueError("sample is empty; name at least one, or leave sample out.")
            roots = [Root("sample", int(row)) for row in rows]
            asked = {"sample": rows}
        elif labels is not None:
            check_order(labels, self.names_, "labels")
            roots = [Root("node", k) for k in self._richest_nodes(labels, value, at)]
            asked = {"labels": labels, "value": value, "at": at}
        view = replace(self.view, roots=tuple(roots), end=None)
        if end is None:
            return self._with(view, ("rooted", asked))
        ends = node_numbers(end, names, n_nodes, "end")
        if len(ends) > 1:
            raise ValueError(f"end={end!r} must be one node or milestone, not {len(ends)}.")
        view = replace(view, end=ends[0])
        if roots and view.node_root[ends[0]] not in view.chosen_roots:
            raise ValueError(
                f"end={end!r} is not connected with the root; choose both in one part of the graph "
                "(see milestones_)."
            )
        if view.node_time[ends[0]] == 0:
            raise ValueError(f"end={end!r} is the root itself; choose another end or root.")
        return self._with(view, ("rooted", asked))

    def _richest_nodes(self, labels: Any, value: Any, at: str) -> list[int]:
        """One in each connected part that has the label at a place to look at."""
        base = self.view.base
        if at == "node":
            candidates = np.arange(len(base.nodes))
            groups = np.asarray(
                base.edges[base.edge, (base.position > 0.5).astype(int)], dtype=np.intp
            )
        else:
            placed = on_segments(base.placement, self.view.base_segments)
            nearest = placed.edges[placed.edge, (placed.position > 0.5).astype(int)]
            candidates = np.array(
                [k for k, name in self.view.milestone_names.items() if name[0] == "T"], int
            )
            number = np.full(len(base.nodes), -1)
            number[candidates] = np.arange(len(candidates))
            groups = number[self.view.base_segments.milestones[nearest]]
        scores, has_it = richness(labels, value, at, groups, len(candidates))
        part_of_row = base.parts[base.edges[base.edge, 0]]
        found = []
        for part in np.unique(base.parts[candidates[scores > 0]]):
            within = np.where(base.parts[candidates] == part, scores, -1.0)
            best = thinned(candidates[within == within.max()])
            if len(best) > 1:
                rows = thinned(np.flatnonzero(has_it & (part_of_row == part)))
                graph = base.placement
                mean = [to_points(graph, distances_from(graph, [k])[0])[rows].mean() for k in best]
                best = best[[int(np.argmin(mean))]]
            found.append(int(best[0]))
        return found

    # Branches

    @property
    def branches_(self) -> Any:
        """The name of each sample's branch."""
        return self.view.branches.names[self.view.branches.placed.edge]

    @property
    def branch_position_(self) -> Floats:
        """The part of the branch that lies behind each sample."""
        return self.view.branches.placed.position

    @property
    def branch_time_(self) -> Floats:
        """The length of the branch that lies behind each sample."""
        placed = self.view.branches.placed
        return placed.position * placed.lengths[placed.edge]

    @property
    def pseudotime_scaled_(self) -> Floats:
        """Pseudotime as a part of the latest sample's."""
        latest = self.pseudotime_.max()
        return self.pseudotime_ / latest if latest > 0 else self.pseudotime_.copy()

    @property
    def progress_(self) -> Floats:
        """The part of the way from the root to the end at which each sample's path leaves it."""
        if self.view.end is None:
            raise AttributeError(
                "progress_ needs an end; call rooted(..., end=...) with a node or milestone."
            )
        start = self.view.node_root[self.view.end]
        from_start = to_points(self.placement_, distances_from(self.placement_, [start])[0])
        node_rest = distances_from(self.placement_, [self.view.end])[0]
        rest, whole = to_points(self.placement_, node_rest), node_rest[start]
        if whole == 0:
            raise AttributeError(
                "progress_ needs an end apart from the root, but they have become one; call "
                "rooted(..., end=...) again."
            )
        with np.errstate(invalid="ignore"):  # ∞ − ∞ on other parts: no such way leads there
            return np.clip(0.5 + (from_start - rest) / (2 * whole), 0.0, 1.0)

    @property
    def noise_(self) -> float:
        """Spread of the samples in each direction across the graph."""
        return self._noise_of(slice(None))

    def _noise_of(self, rows: Any) -> float:
        across = max(self.view.base.nodes.shape[1] - 1, 1)
        return float(np.sqrt(np.mean(self.distance_[rows] ** 2) / across))

    def _least_length(self, rows: Any) -> float:
        """Of a branch that is believed, by the noise of some samples; more than none at all."""
        return max(NOISE_LENGTHS * self._noise_of(rows), np.finfo(float).tiny)

    @cached_property
    def milestones_(self) -> Any:
        """Tips, forks and roots, by name."""
        pandas = import_pandas()
        found = self.view.branches
        node, names = found.found.milestones, found.milestones
        table = pandas.DataFrame(
            {
                "node": node,
                "kind": [{"T": "tip", "F": "fork", "R": "root"}[name[0]] for name in names],
                "is_root": np.isin(node, self.roots_),
                "n_branches": degrees(found.placed.edges, len(node)),
                "pseudotime": self.view.node_time[node],
                "part": self.view.parts[node],
            },
            index=pandas.Index(names, name="milestone"),
        )
        return table.loc[sorted(names, key=importance)]

    @cached_property
    def branch_table_(self) -> Any:
        """The branches, from the root outwards."""
        pandas = import_pandas()
        found = self.view.branches
        ends, names = found.found.ends, np.array(found.milestones)[found.placed.edges]
        return pandas.DataFrame(
            {
                "start": names[:, 0],
                "end": names[:, 1],
                "length": found.found.lengths,
                "start_time": found.start_time,
                "end_time": found.end_time,
                "parent": found.parents,
                "n_samples": np.bincount(found.placed.edge, minlength=len(names)),
                "part": self.view.parts[ends[:, 0]],
            },
            index=pandas.Index(found.names, name="branch"),
        )

    @cached_property
    def samples_(self) -> Any:
        """One row per sample."""
        pandas = import_pandas()
        return pandas.DataFrame(
            {
                "branch": self.branches_,
                "branch_position": self.branch_position_,
                "branch_time": self.branch_time_,
                "pseudotime": self.pseudotime_,
                "pseudotime_scaled": self.pseudotime_scaled_,
                "distance": self.distance_,
                "part": self.view.parts[self.edges_[self.placement_.edge, 0]],
            },
            index=pandas.Index(self.names_, name="sample"),
        )

    @property
    def lineages_(self) -> dict[str, list[str]]:
        """The branches that lead to each tip from its root."""
        found = self.view.branches
        names = found.names.tolist()
        parent = dict(zip(names, found.parents, strict=True))
        ends = [found.milestones[k] for k in found.placed.edges[:, 1]]
        lineages = {}
        for end, branch in sorted(zip(ends, names, strict=True), key=lambda x: importance(x[0])):
            if end.startswith("T"):
                path = [branch]
                while parent[path[0]]:
                    path.insert(0, parent[path[0]])
                lineages[end] = path
        return lineages

    # Places and distances

    def project(self, new_embedding: Any) -> Any:
        """Place points, of new samples for instance, on the graph.

        Parameters
        ----------
        new_embedding : array-like of shape (n_points, n_components)
            In the learned space: what the estimator's ``transform`` returns. Each row is placed
            by itself. The index of a DataFrame is kept.

        Returns
        -------
        places : DataFrame
            ``edge`` (row of ``edges_``), ``source`` and ``target`` (its nodes), ``position`` (0 at
            the source, 1 at the target), ``distance`` from there, ``branch``, ``branch_position``,
            ``pseudotime`` and ``pseudotime_scaled``, above 1 for points later than all samples;
            lengths in units of the data.

        Examples
        --------
        >>> import numpy as np
        >>> from branchwise.trajectory import Trajectory
        >>> path = Trajectory([[0, 1]], np.array([[0.0, 0.0], [4.0, 0.0]]))
        >>> path.project([[1.0, 3.0]])[["edge", "position", "distance", "pseudotime"]]
           edge  position  distance  pseudotime
        0     0      0.25       3.0         1.0
        """
        pandas = import_pandas()
        points, index = self._new_points(new_embedding)
        placed = self.view.place(points)
        placement, edge = placed.placement, placed.edge
        on_branch = on_segments(placement, self.view.branches.found)
        time, latest = to_points(placement, self.view.node_time), self.pseudotime_.max()
        return pandas.DataFrame(
            {
                "edge": edge,
                "source": self.edges_[edge, 0],
                "target": self.edges_[edge, 1],
                "position": placed.position,
                "distance": placed.distance,
                "branch": self.view.branches.names[on_branch.edge],
                "branch_position": on_branch.position,
                "pseudotime": time,
                "pseudotime_scaled": time / latest if latest > 0 else time,
            },
            index=index,
        )

    def place(self, X: Any) -> Any:
        """Place new samples on the graph: `project` of what the estimator makes of them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples with the features that the estimator was fitted to; of another cohort, say.

        Returns
        -------
        places : DataFrame
            As `project` returns it.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from branchwise import DDRTree
        >>> from branchwise.trajectory import Trajectory
        >>> X = load_iris(as_frame=True).data
        >>> flowers = Trajectory.from_estimator(DDRTree(random_state=0).fit(X[::2]))
        >>> flowers.place(X[1::2]).index[:3].tolist()
        [1, 3, 5]
        """
        if self.estimator_ is None:
            raise AttributeError(
                "place needs the estimator; make the trajectory with Trajectory.from_estimator, or "
                "pass points in the space of the nodes to project."
            )
        places = self.project(np.asarray(self.estimator_.transform(X)))
        index = getattr(X, "index", None)
        return places if index is None or callable(index) else places.set_index(index)

    def _new_points(self, new_embedding: Any) -> tuple[Floats, Any]:
        """Points in units of the data, and the index of a table about them."""
        checked = check_positions(new_embedding, "new_embedding", self.nodes_.shape[1])
        index = getattr(new_embedding, "index", None)
        return checked * self.view.scale, None if callable(index) else index

    def geodesic(self, i: Any, j: Any) -> Floats:
        """Distances along the graph between samples, pair by pair.

        Parameters
        ----------
        i, j : int, str or arrays of these
            Row numbers (integers) or names of samples; shapes are broadcast.

        Returns
        -------
        distance : float or array
            In units of the data; infinity between unconnected parts.

        Examples
        --------
        >>> import numpy as np
        >>> from branchwise.trajectory import Trajectory
        >>> star = Trajectory([[0, 1], [0, 2]], np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]]))
        >>> star.geodesic(1, [0, 2])
        array([3., 7.])
        """
        rows = sample_rows(i, self.names_, "i"), sample_rows(j, self.names_, "j")
        pairs = check_pairs(*rows, len(self.names_))
        return pairs.shaped(distances_between(self.placement_, pairs.i, pairs.j))

    def branch_probabilities(self, new_embedding: Any = None) -> Any:
        """The probability with which samples belong to each branch.

        It is the weight of the soft assignments r_ik (`prop:R`) to the nodes of the branch; that
        of a milestone counts for its branches in equal parts. With hard assignments
        (``sigma=0``) the branch of the sample's place has probability one.

        Parameters
        ----------
        new_embedding : array-like of shape (n_points, n_components) or None, default=None
            None: the samples of the trajectory.

        Returns
        -------
        probabilities : DataFrame of shape (n_samples, n_branches)
            Rows sum to one.

        Examples
        --------
        >>> import numpy as np
        >>> from branchwise.trajectory import Trajectory
        >>> nodes = np.array([[-2.0, 0.0], [2.0, 0.0], [4.0, 2.0], [4.0, -2.0]])
        >>> fork = Trajectory([[0, 1], [1, 2], [1, 3]], nodes, sigma=1.0)
        >>> fork.branch_probabilities([[4.0, 0.0]]).round(2)
           T1-F1  F1-T2  F1-T3
        0   0.11   0.44   0.44
        """
        pandas = import_pandas()
        if new_embedding is None:
            points, index = self.view.points, pandas.Index(self.names_, name="sample")
        else:
            points, index = self._new_points(new_embedding)
        probabilities = self.view.probabilities(points)
        return pandas.DataFrame(probabilities, index=index, columns=self.view.branches.names)

    # Support

    def support(
        self,
        X: Any = None,
        *,
        n_resamples: int = 100,
        method: str = "auto",
        level: float = 0.95,
        min_jaccard: float = 0.5,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool = True,
    ) -> "Support":
        """How often branches, forks and tips are found again, and how much pseudotime varies.

        See `branchwise.trajectory.bootstrap.support` for what this means and how it is done.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples that the estimator was fitted to, in the same order.
        n_resamples : int, default=100
        method : {"auto", "bootstrap", "posterior"}, default="auto"
            Fits to rows drawn with replacement or, for SPL, samples drawn from the posterior.
            "auto" is the bootstrap.
        level : float, default=0.95
            Probability of the intervals of pseudotime.
        min_jaccard : float, default=0.5
            What is found again has a Jaccard similarity above this.
        random_state : int, RandomState or None, default=None
        n_jobs : int or None, default=None
            Number of processes; the result does not depend on it.
        progress : bool, default=True
            Show a progress bar if standard error is a terminal.

        Returns
        -------
        support : Support

        Examples
        --------
        >>> from branchwise.datasets import make_tree
        >>> from branchwise.trajectory import learn_trajectory
        >>> data = make_tree(600, 10, noise=0.05, random_state=0)  # simulated
        >>> found = learn_trajectory(data.X, random_state=0)
        >>> result = found.support(data.X, n_resamples=3, random_state=0)
        >>> result.milestones_.support.to_dict()
        {'T1': 1.0, 'T2': 1.0, 'T3': 1.0, 'F1': 1.0}
        """
        from .bootstrap import support

        return support(
            self,
            X,
            n_resamples=n_resamples,
            method=method,
            level=level,
            min_jaccard=min_jaccard,
            random_state=random_state,
            n_jobs=n_jobs,
            progress=progress,
        )


def thinned(values: Ints) -> Ints:
    """At most so many of them, evenly."""
    return values[:: -(-len(values) // MOST_COMPARED)]
