"""A learned graph with a root, and the samples' places on it."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.utils.validation import check_is_fitted

from .. import kdtree
from .._compat import effective_n_jobs, import_pandas
from .._typing import Bools, Floats, Ints
from ..graph import adjacency
from ..graph.nearest_edge import nearest_on_edges
from ..graph.placement import (
    Placement,
    distances_between,
    distances_from,
    length_matrix,
    on_segments,
    segments,
    to_points,
)
from ..solvers.assignments import assign
from .checks import check_geometry, check_new_points, check_points
from .milestones import default_roots, name_milestones
from .roots import Root, find_roots
from .twigs import rank_twigs


class Trajectory:
    """Samples on a graph: where they lie on it, in which order, on which branch.

    Every sample is moved to the nearest place on an edge of the graph. From the root, time runs
    along the edges: the pseudotime of a sample is the length of the shortest path from the root to
    its place. Branches are the segments between tips, forks and roots. A new object has the root
    that `rooted` takes when it is told nothing.

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
        Width of the soft assignments of samples to nodes, in squared units of the data, from which
        `branch_probabilities` come. 0: every sample is on its branch with probability one.
    n_jobs : int or None, default=None
        Number of threads for projections; the result does not depend on it.

    Attributes
    ----------
    nodes_ : array of shape (n_nodes, n_components)
        With the root, if that lies between two nodes, as one node more.
    edges_ : array of shape (n_edges, 2)
    lengths_ : array of shape (n_edges,)
    placement_ : Placement
        Edge and position of each sample (`ramify.graph.placement`).
    distance_ : array of shape (n_samples,)
        From each sample to its place on the graph.
    noise_ : float
        Root of the mean squared ``distance_`` in each direction across an edge.
    names_ : array of shape (n_samples,)
    roots_ : array of nodes, at least one in each connected part
    pseudotime_ : array of shape (n_samples,)
        In units of the data.
    pseudotime_scaled_ : array of shape (n_samples,)
        The same as a part of the latest sample's, from 0 to 1.
    progress_ : array of shape (n_samples,)
        If `rooted` was given an ``end``: the part of the way from the start to the end at which
        the path to the sample leaves that way.
    branches_ : array of shape (n_samples,)
        The name of each sample's branch: its two milestones, the one nearer to the root first.
    branch_time_, branch_position_ : array of shape (n_samples,)
        From the start of the branch, in units of the data and as a part of its length.
    milestones_ : DataFrame
        Tips T1, T2, …, forks F1, F2, … and roots elsewhere R1, R2, …: node, kind, number of
        branches, pseudotime, and connected part. T1 and T2 are the ends of the longest path, the
        others follow by the length of what would be lost with them. Names do not depend on the
        root, and short twigs that are pruned leave the others' names as they were.
    branch_table_ : DataFrame
        Start, end, length, times, parent branch, number of samples of each branch.
    samples_ : DataFrame
        What is said above of each sample, by its name.
    lineages_ : dict
        For each tip the branches that lead to it from its root.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.trajectory import Trajectory
    >>> nodes = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 2.0], [3.0, -1.0]])
    >>> samples = np.array([[0.5, 0.3], [1.8, -0.1], [3.2, 1.0], [2.6, -0.4]])
    >>> path = Trajectory([[0, 1], [1, 2], [1, 3]], nodes, samples)
    >>> path.branches_
    array(['T1-F1', 'T1-F1', 'F1-T2', 'F1-T3'], dtype='<U5')
    >>> path.pseudotime_.round(2)
    array([0.5 , 1.8 , 3.56, 2.71])
    >>> path.rooted(node="T3").pseudotime_.round(2)
    array([2.91, 1.61, 2.97, 0.71])
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
        base_nodes, base_edges = check_geometry(tree, nodes)
        samples, labels = check_points(points, base_nodes, names)
        self._start(base_nodes, base_edges, samples, labels, float(sigma), n_jobs, 1.0)

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
            Samples in the learned space; None: those that the model was fitted to
            (``embedding_``).
        structure : str, matrix, object or None, default=None
            For SPL, whose graph is no tree: None spans its skeleton with the shortest edges of its
            graph (`op:ebi-SW`), which cuts rings open. Otherwise a structure as in
            `DRTree`, such as "ring" or "graph", is found for the skeleton.
        names : sequence of length n_samples or None, default=None
        n_jobs : int or None, default=None

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ramify import DDRTree
        >>> from ramify.trajectory import Trajectory
        >>> model = DDRTree(random_state=0).fit(load_iris().data)
        >>> flowers = Trajectory.from_estimator(model)
        >>> flowers.pseudotime_.shape, float(flowers.pseudotime_scaled_.max())
        ((150,), 1.0)
        """
        check_is_fitted(model)
        nodes, edges, scale = graph_of_model(model, structure)
        given = model.embedding_ if points is None else points
        samples, labels = check_points(given, nodes, names)
        self = cls.__new__(cls)
        sigma = float(getattr(model, "sigma_", 0.0))
        self._start(nodes * scale, edges, samples * scale, labels, sigma, n_jobs, scale)
        return self

    def _start(
        self,
        nodes: Floats,
        edges: Ints,
        points: Floats,
        names: Any,
        sigma: float,
        n_jobs: int | None,
        scale: float,
    ) -> None:
        self._points, self.names_, self._sigma, self._n_jobs = points, names, sigma, n_jobs
        self._scale = scale  # of what is projected, to units of the data
        alone = np.setdiff1d(np.arange(len(nodes)), edges)
        # A node without neighbours has a loop, for samples to lie on.
        edges = np.vstack([edges, np.column_stack([alone, alone])]).astype(np.intp)
        n_threads = effective_n_jobs(n_jobs)
        edge, position, self.distance_ = nearest_on_edges(points, nodes, edges, n_threads)
        self._base = Base(nodes, edges, edge, position)
        self._set_roots([], None)
