"""`Trajectory`: a learned graph with a root, and the samples on it."""

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._compat import import_pandas
from .._messages import counted
from .._typing import Floats
from ..data.checks import check_pairs
from ..graph.placement import distances_between
from ..model_selection import check_learner
from .alternatives import evidence_table
from .branches import lineages
from .checks import (
    check_geometry,
    check_n_jobs,
    check_points,
    check_positions,
    check_sigma,
    sample_rows,
)
from .evidence import branch_p
from .export import ExportMixin
from .features import FeaturesMixin
from .geometry import graph_of_model
from .pruning import merged, noise, pruned
from .roots import Step, Steps, progress, rerooted
from .sentences import findings, found_again
from .tables import (
    branch_table,
    html_table,
    main_facts,
    milestone_table,
    placed_table,
    sample_table,
    scaled,
)
from .view import View

if TYPE_CHECKING:
    from pandas import DataFrame

    from ..placing.reference import Reference
    from .bootstrap import Support


class Trajectory(FeaturesMixin, ExportMixin):
    """Samples on a graph: where they lie on it, in which order, on which branch.

    Every sample is moved to the nearest place on an edge of the graph. From the root, time runs
    along the edges: the pseudotime of a sample is the length of the shortest path from the root to
    its place. Branches are the segments between tips, forks and roots. An object never changes:
    `rooted`, `prune` and `merge` return new ones. A new trajectory has the root that `rooted` takes
    without arguments.

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
        With an ``end`` given to `rooted`: the part of the path from the root to the end at which
        the path to the sample leaves it, ½ + (d(root, x) − d(x, end))/(2·d(root, end)).
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
        Start, end, length, times, parent and number of samples of each branch; ``p``, the
        probability of a gap beside it as empty as its own if there were no fork
        (`branchwise.trajectory.evidence`; NaN without a fork); ``support``, the part of resamples
        in which it was found again, if there was a bootstrap; and ``occupied``,
        the part of its length that has samples.
    occupied_ : float
        The part of the length of all branches that has samples, from 0 to 1: the rest leads through
        gaps longer than chance would leave (`branchwise.trajectory.occupancy`).
    samples_ : DataFrame
        What is said above of each sample, by its name.
    estimator_ : SPL, DRTree, DDRTree or None
        The model that the trajectory was made from.
    evidence_ : DataFrame
        How well the tree explains samples that it was not fitted to, beside a curve, a plane and a
        cloud (`branchwise.trajectory.alternatives`); computed when asked for.
    support_ : Support or None
        What the bootstrap of `learn_trajectory` found, or `with_support` was given: about the graph
        and, for times, the root that there was then.
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
        self._set(View.placed(positions, edges, samples, n_threads, sigma=width), labels)

    @classmethod
    def from_view(
        cls, view: View, *, names: Any = None, estimator: Any = None, steps: Steps = ()
    ) -> Self:
        """A trajectory of a view: of another one, or put together from a file.

        Without ``steps`` `support` cannot repeat how it was made.

        Parameters
        ----------
        view : View
        names : array of shape (n_samples,) or None, default=None
            Names of the samples; None: 0, 1, 2, …
        estimator : fitted SPL, DRTree or DDRTree, or None, default=None
            The model that it was made from.
        steps : tuple of (str, dict), default=()
            How it was made, for the bootstrap.

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
        self._set(view, np.arange(len(view.points)) if names is None else names, estimator, steps)
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
            Samples along the components, as ``model.project(X)`` gives them; None:
            ``projection_``, those of the samples that the model was fitted to.
        structure : str, matrix, object or None, default=None
            For SPL, whose graph is not a tree: None spans its skeleton by the shortest edges of
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
        nodes, edges = graph_of_model(model, structure)
        points = model.projection_ if points is None else points
        if points is model.projection_ and len(points) == 0:
            raise ValueError(
                f"the {type(model).__name__} was fitted to a Dask array and does not have its "
                "points; pass points=model.project(X)."
            )
        samples, labels = check_points(points, nodes, names)
        sigma = float(getattr(model, "sigma_", 0.0))
        n_threads = check_n_jobs(n_jobs)
        view = View.placed(nodes, edges, samples, n_threads, sigma=sigma)
        self = cls.__new__(cls)
        self._set(view, labels, model, (("from_estimator", {"structure": structure}),))
        return self

    def _set(self, view: View, names: Any, estimator: Any = None, steps: Steps = ()) -> None:
        """Set all attributes."""
        self.support_: Support | None = None
        self.reference_: Reference | None = None
        geometry = view.geometry
        self.view, self.names_, self.estimator_, self._steps = view, names, estimator, steps
        self.nodes_, self.edges_, self.distance_ = geometry.nodes, geometry.edges, geometry.distance
        self.placement_, self.lengths_ = view.placement, view.placement.lengths
        self.roots_ = view.all_roots
        self.pseudotime_ = view.pseudotime

    def _with(self, view: View, *steps: Step) -> Self:
        """The same samples with another graph or root, and how that was done."""
        new = type(self).__new__(type(self))
        new._set(view, self.names_, self.estimator_, (*self._steps, *steps))
        if view.base is self.view.base:
            new.support_, new.reference_ = self.support_, self.reference_
        return new

    def with_support(self, found: "Support") -> Self:
        """The same trajectory, with what a bootstrap found of it as ``support_``.

        Parameters
        ----------
        found : Support
            What `support` returned.

        Returns
        -------
        trajectory : Trajectory

        Examples
        --------
        >>> from branchwise.datasets import make_tree
        >>> from branchwise.trajectory import learn_trajectory
        >>> data = make_tree(300, 10, noise=0.05, random_state=0)  # simulated
        >>> path = learn_trajectory(data.X, support=0)
        >>> surer = path.with_support(path.support(data.X, n_resamples=2, random_state=0))
        >>> surer.branch_table_["support"].tolist()
        [1.0, 1.0, 1.0]
        """
        new = self._with(self.view)
        new.support_ = found
        return new

    def with_reference(self, found: "Reference | None") -> Self:
        """The same trajectory, with how far the rows that it was learned from lie from it.

        Parameters
        ----------
        found : Reference or None
            What `branchwise.placing.held_out.reference_of` returned.

        Returns
        -------
        trajectory : Trajectory

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from branchwise import DDRTree
        >>> from branchwise.placing.held_out import reference_of
        >>> from branchwise.trajectory import Trajectory
        >>> X = load_iris().data
        >>> path = Trajectory.from_estimator(DDRTree(random_state=0).fit(X)).prune()
        >>> surer = path.with_reference(reference_of(path, X))
        >>> bool((surer.place([[6.0, 30.0, 4.0, 1.2]]).p < 0.05).item())
        True
        """
        new = self._with(self.view)
        new.reference_ = found
        return new

    @property
    def steps(self) -> Steps:
        """How it was made, for what makes it again; nothing for one from a file."""
        return self._steps

    # Attributes that are computed when they are asked for

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
        return scaled(self.pseudotime_, self.pseudotime_.max())

    @property
    def progress_(self) -> Floats:
        """The part of the path from the root to the end at which each sample's path leaves it."""
        return progress(self.view)

    @property
    def noise_(self) -> float:
        """Spread of the samples in each direction across the graph."""
        return noise(self.view)

    @property
    def occupied_(self) -> float:
        """The part of the graph's length that has samples."""
        lengths, parts = self.view.branches.placed.lengths, self.view.occupied
        return float(parts @ lengths / lengths.sum()) if lengths.any() else 1.0

    @cached_property
    def milestones_(self) -> "DataFrame":
        """Tips, forks and roots, by name."""
        return milestone_table(self.view)

    @cached_property
    def branch_table_(self) -> "DataFrame":
        """The branches, from the root outwards."""
        table = branch_table(self.view).assign(p=branch_p(self.view))
        return table if self.support_ is None else table.assign(support=found_again(self))

    @cached_property
    def evidence_(self) -> "DataFrame":
        """How well the tree explains samples left out, beside a curve, a plane and a cloud."""
        return evidence_table(self.view)

    def describe(self) -> str:
        """What was found, and how sure it is, in a few sentences.

        Returns
        -------
        text : str
            A line each for the number of branches, the evidence, and the bootstrap if there was
            one.

        Examples
        --------
        >>> from branchwise.datasets import make_tree
        >>> from branchwise.trajectory import learn_trajectory
        >>> data = make_tree(300, 10, noise=0.05, random_state=0)  # simulated
        >>> print(learn_trajectory(data.X, support=0).describe())
        3 branches, 3 tips and 1 fork (p < 0.001 for gaps as empty as these where nothing forks).
        A tree explains the samples better than a curve, the next best: by ...
        """
        return "\n".join(findings(self))

    @cached_property
    def samples_(self) -> "DataFrame":
        """One row per sample."""
        return sample_table(self.view, self.names_)

    @property
    def lineages_(self) -> dict[str, list[str]]:
        """The branches that lead to each tip from its root."""
        return lineages(self.view.branches)

    # Another root, fewer branches

    def rooted(
        self,
        node: Any = None,
        *,
        sample: Any = None,
        labels: Any = None,
        value: Any = None,
        at: str = "auto",
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
            A label for each sample; missing ones tell nothing. The root, in each connected part
            that has the label ``value``, is chosen by evidence: see the notes.
        value : label, optional
        at : {"auto", "tip", "node"}, default="auto"
            Where to look: at tips and inner nodes, at tips only, or at all nodes alike.
        end : int or str, optional
            Where progress ends, as a node or milestone: see ``progress_``.

        Returns
        -------
        trajectory : Trajectory

        Notes
        -----
        A place is as good a start for a label as the part of the pairs of samples, one with the
        label and one without it, of which the first is earlier if time starts there: the area
        under the ROC curve (Mann and Whitney's statistic). Of equals, the one whose mean distance
        to the samples with the label is the least. With ``at="auto"`` the best tip wins if at least
        half of the first samples from there have the label, or half of all that have it are among
        them, and if it is half as good as the best place of all, 0 being a half of the pairs;
        otherwise the root is the best place of all. The first samples are 5 % of those in the part,
        at least 10, but at most every fifth.

        The label must occur among the first samples from the root; where it does not, that is an
        error. A warning tells if the choice is close: if another place with another order of
        the samples (a rank correlation below 0.9) is not worse by more than 1.96 standard errors of
        the difference (DeLong, DeLong & Clarke-Pearson, *Biometrics* 44, 1988); or if there are
        fewer samples with the label among the first ones than that.

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
        options = {"node": node, "sample": sample, "labels": labels, "value": value}
        view, asked = rerooted(self.view, self.names_, **options, at=at, end=end)
        return self._with(view, ("rooted", asked))

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
        middle between them, and again, until no twig and no branch between two forks is too short.
        Samples move to the nearest place on what is left. Of each tree at least a path stays, and
        a tip that was asked for as a root stays.

        Parameters
        ----------
        min_length : float or None, default=None
            Least length of a twig, and of a branch between two forks, in units of the data. None,
            if ``min_samples`` and ``tips`` are None too: twice ``noise_``. A twig no longer
            than the samples scatter around the graph is what noise looks like. If the
            samples are the nodes and do not scatter, give a length or a number of samples, or call
            `merge`.
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
        view, asked = pruned(self.view, min_length, min_samples, tips)
        return self._with(view, ("prune", asked))

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
        return self._with(merged(self.view, n_branches), ("merge", {"n_branches": n_branches}))

    # New samples, and distances

    def project(self, new_embedding: Any) -> "DataFrame":
        """Place points, of new samples for instance, on the graph.

        Parameters
        ----------
        new_embedding : array-like of shape (n_points, n_components)
            Along the components: what the estimator's ``project`` returns. Each row is placed
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
        return placed_table(self.view, *self._new_points(new_embedding))

    def place(self, X: Any) -> "DataFrame":
        """Place new samples on the graph, as the samples of the fit were placed.

        That is where their linear coordinates (``estimator_.project(X)``) are nearest to it. Of a
        sample with gaps these are the means of what the tree makes likely given the values that are
        there.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples with the features that the estimator was fitted to; of another cohort, say. NaN
            where a value is missing, if there is a ``reference_``.

        Returns
        -------
        places : DataFrame
            By sample: ``branch``, ``position`` on it from 0 to 1, ``pseudotime``, ``distance`` from
            the graph, ``p``, ``misfit``, ``pseudotime_lower``, ``pseudotime_upper``,
            ``branch_probability``, ``likeliest_branch``, ``out_of_range``, ``drivers`` and
            ``missing``, as from
            `branchwise.pipeline.Pipeline.place`; NaN without a ``reference_``. `project` says on
            which edge a point is.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from branchwise import learn_trajectory
        >>> X = load_iris(as_frame=True).data
        >>> flowers = learn_trajectory(X[::2], support=0)
        >>> flowers.place(X[1::2]).index[:3].tolist()
        [1, 3, 5]
        """
        if self.estimator_ is None:
            raise AttributeError(
                "place needs the estimator; make the trajectory with Trajectory.from_estimator, or "
                "pass points in the space of the nodes to project."
            )
        from ..placing.placer import Placer, rows_of_samples
        from ..placing.table import table_of_places

        model, pandas = self.estimator_, import_pandas()
        index, rows = getattr(X, "index", None), rows_of_samples(model, X)
        names = getattr(model, "feature_names_in_", None)
        names = [f"x{j}" for j in range(rows.shape[1])] if names is None else list(names)
        found = Placer.of(self.view, model, self.reference_, names).place(rows)
        index = pandas.RangeIndex(rows.shape[0]) if index is None or callable(index) else index
        return table_of_places(self.view, found.projection, found.assessed, index)

    def _new_points(self, new_embedding: Any) -> tuple[Floats, Any]:
        """Points that have been checked, and the index of a table about them."""
        checked = check_positions(new_embedding, "new_embedding", self.nodes_.shape[1])
        index = getattr(new_embedding, "index", None)
        return checked, None if callable(index) else index

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

    def branch_probabilities(self, new_embedding: Any = None) -> "DataFrame":
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
        >>> found = learn_trajectory(data.X, support=0)
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

    # Files and notebooks

    def save(self, path: Any) -> None:
        """Write graph, roots and estimator to a model file, for `branchwise.load`.

        What is loaded can `place` new samples and be rooted or pruned again, and knows the support
        of its branches, tips and forks. The names of the samples are not in the file, nor how sure
        their times are, nor how the trajectory was made, which `support` needs.

        Parameters
        ----------
        path : path
            File to write, by custom with the ending ``.branchwise``.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sklearn.datasets import load_iris
        >>> import branchwise
        >>> X = load_iris(as_frame=True).data
        >>> flowers = branchwise.trajectory.learn_trajectory(X, support=0)
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "flowers.branchwise"
        >>> flowers.save(file)
        >>> again = branchwise.load(file)
        >>> bool((again.place(X) == flowers.place(X)).all(axis=None))
        True
        """
        from ..persistence.format import write_state
        from ..persistence.trajectory import trajectory_state

        write_state(path, trajectory_state(self))

    def to_html(
        self,
        path: Any = None,
        *,
        features: Any = None,
        feature_names: Any = None,
        show: Any = (),
        annotations: Any = None,
        preparation: Any = None,
        color: str | None = None,
        title: str | None = None,
    ) -> str | None:
        """An interactive report: one HTML file that works without a network (docs/report.md).

        Parameters
        ----------
        path : path or None, default=None
            File to write; None returns the text.
        features : array, sparse matrix or DataFrame of shape (n_samples, n_features), optional
            Values to colour by and to draw along the branches. They are in the page: mail it only
            to those who may see them.
        feature_names : sequence of str, optional
            By default the columns of a DataFrame, or x0, x1, …
        show : sequence of str, optional
            Features to have in the page besides the 60 that change most along the tree.
        annotations : DataFrame, Series or dict of columns, optional
            What else is known of the samples, one row for each: numbers, categories, dates.
        preparation : Preparation, optional
            What was done to ``features`` before the fit, so that the page can place new samples.
        color : str, optional
            The column to colour by at first, also one that is computed: "pseudotime", "branch",
            "density", …
        title : str, optional

        Examples
        --------
        >>> from branchwise.datasets import make_tree
        >>> from branchwise.trajectory import learn_trajectory
        >>> data = make_tree(300, 10, noise=0.1, random_state=0)  # simulated
        >>> path = learn_trajectory(data.X, support=0)
        >>> html = path.to_html(features=data.X, annotations={"branch": data.branch})
        >>> html.startswith("<!doctype html>")
        True
        """
        from ..report.page import to_html

        return to_html(
            path,
            self,
            features=features,
            feature_names=feature_names,
            show=show,
            annotations=annotations,
            preparation=preparation,
            color=color,
            title=title,
        )

    def __repr__(self) -> str:
        facts = main_facts(self.view)
        words = (("sample", "samples"), ("branch", "branches"), ("tip", "tips"))
        counts = ", ".join(counted(int(facts[many]), one, many) for one, many in words)
        return f"<{type(self).__name__}: {counts}, rooted at {facts['root']}>"

    def _repr_html_(self) -> str:
        return html_table(type(self).__name__, main_facts(self.view))
