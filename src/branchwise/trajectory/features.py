"""Values of the samples along the branches: the methods of `Trajectory` that look at them."""

from typing import TYPE_CHECKING, Any

from .association import (
    associated_features,
    branch_differences,
    branch_markers,
    check_fork,
    forks_of,
)
from .branches import importance
from .checks import check_order
from .roots import node_numbers
from .summaries import branch_summaries
from .trends import tree_trends
from .view import View

if TYPE_CHECKING:
    from pandas import DataFrame


class FeaturesMixin:
    """Trends, tests and summaries of features and other columns."""

    view: View
    names_: Any

    def trends(self, values: Any, feature_names: Any = None, **options: Any) -> "DataFrame":
        """Smooth trends of features along the branches, with confidence bands.

        Parameters
        ----------
        values : array, sparse array or data frame of shape (n_samples, n_features)
            In the order of the samples; an index with their names has to agree.
        feature_names : sequence of n_features str, optional
            By default the columns of a data frame, or 0, 1, 2, …
        **options
            n_points, n_knots, lam and level of `branchwise.trajectory.trends.tree_trends`.

        Returns
        -------
        trends : DataFrame
            feature, branch, position, pseudotime, mean, lower, upper, n_samples.

        Examples
        --------
        >>> from branchwise.datasets import make_tree
        >>> from branchwise.trajectory import learn_trajectory
        >>> data = make_tree(300, 10, noise=0.1, random_state=0)  # simulated
        >>> path = learn_trajectory(data.X, support=0)
        >>> path.trends(data.X[:, :2], ["GATA1", "SPI1"], n_points=20).shape
        (120, 8)
        """
        found = self.view.branches
        check_order(values, self.names_, "values")
        return tree_trends(
            found.placed,
            found.start_time,
            found.names,
            values,
            feature_names,
            end_time=found.end_time,
            **options,
        )

    def associated_features(
        self, values: Any, feature_names: Any = None, **options: Any
    ) -> "DataFrame":
        """Test which features change along the graph, with false-discovery rates.

        Parameters
        ----------
        values, feature_names
            As for `trends`.
        **options
            df, method and sort of `branchwise.trajectory.association.associated_features`, which
            says what the test is and when its p-values are too small.

        Returns
        -------
        tests : DataFrame
            One row per feature, the most significant first.

        Examples
        --------
        >>> import numpy as np
        >>> from branchwise.trajectory import Trajectory
        >>> rng = np.random.default_rng(0)
        >>> time = rng.uniform(0, 5, size=200)
        >>> path = Trajectory([[0, 1]], [[0.0], [5.0]], time[:, np.newaxis])
        >>> values = np.column_stack([np.sin(time), np.ones(200)]) + [[0.0, 3.0]]  # simulated
        >>> path.associated_features(values, ["wave", "constant"])["p_value"].round(3).tolist()
        [0.0, 1.0]
        """
        found = self.view.branches
        check_order(values, self.names_, "values")
        return associated_features(
            found.placed,
            found.start_time,
            values,
            feature_names,
            end_time=found.end_time,
            **options,
        )

    def branch_differences(
        self, fork: Any, values: Any, feature_names: Any = None, **options: Any
    ) -> "DataFrame":
        """Test which features differ between the branches that leave a fork.

        Parameters
        ----------
        fork : str or int
            A milestone of ``milestones_``, by name or by node; with more than one branch that
            leads away from it.
        values, feature_names
            As for `trends`.
        **options
            subtrees, df, method and sort of `branchwise.trajectory.association.branch_differences`.

        Returns
        -------
        tests : DataFrame
            One row per feature, the most significant first.

        Examples
        --------
        >>> from branchwise.datasets import make_tree
        >>> from branchwise.trajectory import learn_trajectory
        >>> data = make_tree(300, 10, noise=0.1, random_state=0)  # simulated
        >>> path = learn_trajectory(data.X, support=0)
        >>> tests = path.branch_differences("F1", data.X)
        >>> bool(tests["q_value"].min() < 0.01)
        True
        """
        found = self.view.branches
        nodes = found.found.milestones.tolist()
        name = dict(zip(nodes, found.milestones, strict=True))
        named = dict(sorted(name.items(), key=lambda item: importance(item[1])))
        node = node_numbers(fork, named, len(self.view.geometry.nodes), "fork")[0]
        forks = sorted((found.milestones[k] for k in forks_of(found.placed)), key=importance)
        check_fork(fork, name.get(node) in forks, forks)
        check_order(values, self.names_, "values")
        return branch_differences(
            found.placed,
            found.start_time,
            found.names,
            values,
            feature_names,
            fork=nodes.index(node),
            **options,
        )

    def branch_markers(self, values: Any, feature_names: Any = None, **options: Any) -> "DataFrame":
        """Compare the samples of each branch with all others, feature by feature.

        Parameters
        ----------
        values, feature_names
            As for `trends`.
        **options
            method and sort of `branchwise.trajectory.association.branch_markers`.

        Returns
        -------
        tests : DataFrame
            One row per branch and feature.

        Examples
        --------
        >>> from branchwise.datasets import make_tree
        >>> from branchwise.trajectory import learn_trajectory
        >>> data = make_tree(300, 10, noise=0.1, random_state=0)  # simulated
        >>> path = learn_trajectory(data.X, support=0)
        >>> len(path.branch_markers(data.X))  # three branches, ten features
        30
        """
        found = self.view.branches
        check_order(values, self.names_, "values")
        return branch_markers(found.placed, found.names, values, feature_names, **options)

    def summary(self, data: Any, columns: Any = None, **options: Any) -> "DataFrame":
        """Summaries of columns, outcomes for instance, by branch and position, with intervals.

        Parameters
        ----------
        data : DataFrame
            One row per sample, in the order of the samples; an index with their names has to
            agree.
        columns : str or sequence of str, optional
            By default all.
        **options
            n_bins, level and min_samples of `branchwise.trajectory.summaries.branch_summaries`.

        Returns
        -------
        table : DataFrame
            One row per branch, bin, column and level; ``to_csv`` writes it to a file.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.preprocessing import StandardScaler
        >>> from branchwise.trajectory import learn_trajectory
        >>> table = load_breast_cancer(as_frame=True)
        >>> tumours = learn_trajectory(StandardScaler().fit_transform(table.data), support=0)
        >>> malignant = (table.target == 0).to_frame("malignant")
        >>> rates = tumours.summary(malignant, n_bins=1)  # with Wilson's intervals
        >>> bool((rates["lower"] <= rates["estimate"]).all())
        True
        """
        found = self.view.branches
        check_order(data, self.names_, "data")
        return branch_summaries(
            found.placed,
            found.start_time,
            found.names,
            data,
            columns,
            end_time=found.end_time,
            **options,
        )
