"""One lineage, from the root to a tip: its branches, and features along it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._messages import listed
from .._typing import Bools, Floats, Ints
from ..data.checks import check_count
from .branches import came_from, importance, leading_branches
from .checks import check_features, check_order, choose_features
from .core import Trajectory
from .trends import curves_at

# A feature is flat if its trend varies by less than this part of its size: rounding.
FLAT = 1e-9


class Lineage(NamedTuple):
    """The branches from a root to a milestone, or to the end of a branch."""

    to: str  # the milestone, or the branch
    branches: Ints  # rows of branch_table_
    borders: Floats  # (n_branches + 1,): distances from the root, of their starts and ends
    is_shortest: bool  # whether they are pseudotimes


class LineageTrends(NamedTuple):
    """Trends of features in bins along a lineage, those with the earliest peak first."""

    lineage: Lineage
    features: list[Any]
    position: Floats  # (n_bins,): distance from the root to the middle of each bin
    branch: Ints  # (n_bins,): its branch, as an index of lineage.branches
    values: Floats  # (n_features, n_bins)
    is_flat: Bools  # (n_features,): whether a feature is constant; these come last


def lineage_to(path: Trajectory, to: Any = None) -> Lineage:
    """The branches from the root to a tip.

    Parameters
    ----------
    path : Trajectory
    to : str or None, default=None
        A tip, another milestone, or a branch, which is gone to its end. None: the first tip that
        is not the root; without any, as on a ring, the longest branch.

    Returns
    -------
    lineage : Lineage

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory import Trajectory
    >>> from branchwise.trajectory.lineage import lineage_to
    >>> nodes = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 2.0], [3.0, -1.0]])
    >>> lineage_to(Trajectory([[0, 1], [1, 2], [1, 3]], nodes), "T3").borders.round(2)
    array([0.  , 2.  , 3.41])
    """
    found = path.view.branches
    names = found.names.tolist()
    row = {name: number for number, name in enumerate(names)}
    by_node = dict(zip(found.found.milestones.tolist(), found.milestones, strict=True))
    leading = leading_branches(found.found, came_from(found.found, path.roots_))
    step = {by_node[node]: branch for node, branch in leading.items()}
    tips = sorted((name for name in step if name.startswith("T")), key=importance)
    if to is None:
        to = tips[0] if tips else names[int(np.argmax(found.placed.lengths))]
    if to in [by_node[root] for root in path.roots_.tolist()]:
        raise ValueError(f"to={to!r} is the root itself; choose another tip: {listed(tips)}.")
    if not isinstance(to, str) or (to not in step and to not in row):
        raise ValueError(
            f"to={to!r} is not a tip; choose one of {listed(tips or names)}, another milestone, or "
            "a branch."
        )
    branches = [row[to] if to in row else step[to]]
    while found.parents[branches[-1]]:
        branches.append(row[found.parents[branches[-1]]])
    branches.reverse()
    borders = np.append(0.0, np.cumsum(found.placed.lengths[branches]))
    return Lineage(to, np.array(branches), borders, branches[-1] in step.values())


def trends_along(
    path: Trajectory,
    values: Any,
    feature_names: Any = None,
    *,
    to: Any = None,
    features: Any = None,
    n_bins: int = 100,
    standardize: bool = True,
) -> LineageTrends:
    """Smooth trends (`Trajectory.trends`) of features in bins along one lineage, in order of peaks.

    They are those at the middle of each bin, NaN where it has no samples.

    Parameters
    ----------
    path : Trajectory
    values : array, sparse array or data frame of shape (n_samples, n_features)
    feature_names : sequence of n_features names, optional
        By default the columns of a data frame, or 0, 1, 2, …
    to : str, optional
        Where the lineage leads: see `lineage_to`.
    features : name or sequence of names, optional
        Features to take; by default all.
    n_bins : int, default=100
        Bins of equal length.
    standardize : bool, default=True
        Each trend with mean 0 and standard deviation 1 over the bins; constant ones are 0.

    Returns
    -------
    trends : LineageTrends

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory import Trajectory
    >>> from branchwise.trajectory.lineage import trends_along
    >>> time = np.linspace(0, 1, 50)
    >>> path = Trajectory([[0, 1]], [[0.0], [1.0]], time[:, np.newaxis])
    >>> values = np.column_stack([time, 1 - time])  # simulated
    >>> found = trends_along(path, values, ["late", "early"], n_bins=3, standardize=False)
    >>> found.features, found.values.round(2).tolist()
    (['early', 'late'], [[0.83, 0.5, 0.17], [0.17, 0.5, 0.83]])
    """
    (found,) = trends_along_all(
        path,
        values,
        feature_names,
        to=[to],
        features=features,
        n_bins=n_bins,
        standardize=standardize,
    )
    return found


def trends_along_all(
    path: Trajectory,
    values: Any,
    feature_names: Any = None,
    *,
    to: Sequence[Any],
    features: Any = None,
    n_bins: int = 100,
    standardize: bool = True,
) -> list[LineageTrends]:
    """The same along several lineages, to compare: one order, one mean and standard deviation.

    Bins are as long in all of them, and `n_bins` are those of the longest.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory import Trajectory
    >>> from branchwise.trajectory.lineage import trends_along_all
    >>> time = np.linspace(0, 3, 50)
    >>> path = Trajectory([[0, 1], [1, 2]], [[0.0], [1.0], [3.0]], time[:, np.newaxis])
    >>> found = trends_along_all(path.rooted(node=1), time[:, np.newaxis], to=["T1", "T2"])
    >>> [part.values.shape for part in found]
    [(1, 50), (1, 100)]
    """
    check_count(n_bins, "n_bins")
    if n_bins < 2:
        raise ValueError(f"n_bins={n_bins} must be at least 2; 100 is usual.")
    lineages = [lineage_to(path, one) for one in to]
    check_order(values, path.names_, "values")
    numbers, names = check_features(values, feature_names, len(path.names_))
    columns = choose_features(names, features)
    chosen = [names[column] for column in columns]
    longest = max(lineage.borders[-1] for lineage in lineages) or 1.0
    parts = [
        bins_along(lineage, max(2, round(n_bins * lineage.borders[-1] / longest)))
        for lineage in lineages
    ]
    placed = path.view.branches.placed
    edge = np.concatenate([part.edge for part in parts])
    along = np.concatenate([part.along for part in parts])
    bins = placed._replace(edge=edge, position=along)
    (trends, _, _), _ = curves_at(placed, bins, numbers[:, columns])
    scaled, is_flat = standardized(trends)
    position = np.concatenate([part.position for part in parts])
    peak = position[np.where(np.isnan(scaled), -np.inf, scaled).argmax(axis=1)]
    order = np.lexsort((peak, is_flat))
    shown = (scaled if standardize else trends)[order]
    ends = np.cumsum([len(part.position) for part in parts])[:-1]
    return [
        LineageTrends(
            lineage,
            [chosen[k] for k in order],
            part.position,
            part.branch,
            of_part,
            is_flat[order],
        )
        for lineage, part, of_part in zip(
            lineages, parts, np.split(shown, ends, axis=1), strict=True
        )
    ]


class Bins(NamedTuple):
    """The middles of bins of equal length along a lineage."""

    position: Floats  # distance from the root
    branch: Ints  # an index of lineage.branches
    edge: Ints  # the same as a row of branch_table_
    along: Floats  # the part of the branch that lies behind


def bins_along(lineage: Lineage, n_bins: int) -> Bins:
    """So many bins of equal length."""
    position = lineage.borders[-1] * (np.arange(n_bins) + 0.5) / n_bins
    branch = np.minimum(
        np.searchsorted(lineage.borders[1:], position, side="right"), len(lineage.branches) - 1
    )
    length = np.diff(lineage.borders)[branch]
    along = (position - lineage.borders[branch]) / np.where(length > 0, length, 1.0)
    return Bins(position, branch, lineage.branches[branch], np.clip(along, 0.0, 1.0))


def standardized(trends: Floats) -> tuple[Floats, Bools]:
    """Rows with mean 0 and standard deviation 1, apart from NaN; and which rows are constant.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.lineage import standardized
    >>> scaled, is_flat = standardized(np.array([[1.0, 2.0, 3.0, np.nan], [5.0, 5.0, 5.0, 5.0]]))
    >>> scaled.round(2).tolist(), is_flat.tolist()
    ([[-1.22, 0.0, 1.22, nan], [0.0, 0.0, 0.0, 0.0]], [False, True])
    """
    known = ~np.isnan(trends)
    count = np.maximum(known.sum(axis=1, keepdims=True), 1)
    mean = np.sum(trends, axis=1, keepdims=True, where=known) / count
    apart = trends - mean
    std = np.sqrt(np.sum(apart**2, axis=1, keepdims=True, where=known) / count)
    size = np.max(np.abs(trends), axis=1, keepdims=True, where=known, initial=0.0)
    is_flat = std <= FLAT * size
    return np.where(is_flat, 0.0 * apart, apart / np.where(is_flat, 1.0, std)), is_flat[:, 0]
