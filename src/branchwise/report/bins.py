"""Samples that are too many to draw, in bins: what lies close together on one branch."""

from typing import Any, NamedTuple

import numpy as np

from .._typing import Floats, Ints
from ..data.categories import largest
from ..trajectory import Trajectory
from ..trajectory.branches import Branches
from .columns import MOST_CATEGORIES, Column
from .encoding import double, indices, single

# More samples than this are not drawn one by one.
MAX_POINTS = 50_000
# About so many bins at most.
MAX_BINS = 30_000
# The first cells are this part of the picture; they grow until there are few enough bins.
FINEST, GROWTH = 1 / 1024, 1.25
# The names of all samples, and the bin of each, are in the page up to this many.
MAX_IDS = 500_000


class Bins(NamedTuple):
    """Which samples are drawn together.

    Attributes
    ----------
    of : array of shape (n_samples,)
        The bin of each sample.
    sizes : array of shape (n_bins,)
        How many samples each has.
    cell : float
        The side of a cell, in units of the data.
    """

    of: Ints
    sizes: Ints
    cell: float

    def mean(self, values: Floats) -> Floats:
        """Means over the known values of each bin; NaN where there are none.

        Examples
        --------
        >>> import numpy as np
        >>> from branchwise.report.bins import Bins
        >>> Bins(np.array([0, 0, 1]), np.array([2, 1]), 1.0).mean(np.array([1.0, 4.0, np.nan]))
        array([2.5, nan])
        """
        known = ~np.isnan(values)
        of, n_bins = self.of[known], len(self.sizes)
        total = np.bincount(of, weights=values[known], minlength=n_bins)
        number = np.bincount(of, minlength=n_bins)
        return np.divide(total, number, out=np.full(n_bins, np.nan), where=number > 0)

    def squares(self, values: Floats) -> Floats:
        """Σ(x − mean)² over the known values of each bin: with the means, the samples' variance.

        Examples
        --------
        >>> import numpy as np
        >>> from branchwise.report.bins import Bins
        >>> Bins(np.array([0, 0, 1]), np.array([2, 1]), 1.0).squares(np.array([1.0, 4.0, np.nan]))
        array([4.5, 0. ])
        """
        known = ~np.isnan(values)
        of = self.of[known]
        apart = values[known] - self.mean(values)[of]
        return np.bincount(of, weights=apart**2, minlength=len(self.sizes))

    def counts(self, codes: Ints, n_labels: int) -> Ints:
        """How many samples of each bin have each category.

        Examples
        --------
        >>> import numpy as np
        >>> from branchwise.report.bins import Bins
        >>> bins = Bins(np.array([0, 0, 1]), np.array([2, 1]), 1.0)
        >>> bins.counts(np.array([1, 1, -1]), 2)
        array([[0, 2],
               [0, 0]])
        """
        known = codes >= 0
        flat = self.of[known] * n_labels + codes[known]
        size = len(self.sizes) * n_labels
        return np.bincount(flat, minlength=size).reshape(len(self.sizes), n_labels)


def bins_of(path: Trajectory, points: Floats) -> Bins | None:
    """Bins of the samples, unless these are few: cells of a grid, apart for each branch.

    Where time turns within a branch, as on a ring, both ways have their own bins, so that the time
    of a bin is the mean of its samples' times.

    Parameters
    ----------
    path : Trajectory
    points : array of shape (n_samples, n_axes)
        The samples in the space that is drawn.
    """
    if len(points) <= MAX_POINTS:
        return None
    low = points.min(axis=0)
    extent = float((points.max(axis=0) - low).max()) or 1.0
    stretch = stretches(path.view.branches)
    cell = FINEST * extent
    while True:
        place = np.floor((points - low) / cell).astype(np.int64)
        key = stretch
        for column in place.T:
            key = key * (int(column.max()) + 1) + column
        _, of, count = np.unique(key, return_inverse=True, return_counts=True)
        if len(count) <= MAX_BINS or cell > extent:
            return Bins(of.ravel(), count, cell)
        cell *= GROWTH


def stretches(found: Branches) -> Ints:
    """For each sample a number of its branch, and of the end by which time reaches it."""
    placed = found.placed
    length = placed.lengths[placed.edge]
    forward = found.start_time[placed.edge] + placed.position * length
    backward = found.end_time[placed.edge] + (1 - placed.position) * length
    return 2 * placed.edge.astype(np.int64) + (backward < forward)


def binned_places(path: Trajectory, bins: Bins) -> tuple[Ints, Floats]:
    """Edge and position of each bin: the mean of its samples' places along their branch."""
    found = path.view.branches
    segments, placed = found.found, found.placed
    branch = np.zeros(len(bins.sizes), dtype=np.intp)
    branch[bins.of] = placed.edge
    along = bins.mean(placed.position * placed.lengths[placed.edge])
    # All branches one after the other on one line, and on it the edges in order.
    before = np.concatenate([[0.0], np.cumsum(segments.lengths)])
    first = np.minimum(segments.start, segments.start + segments.sign * path.lengths_)
    order = np.lexsort((first, segments.of_edge))
    bounds = np.searchsorted(segments.of_edge[order], np.arange(len(segments.ends) + 1))
    starts = before[segments.of_edge[order]] + first[order]
    at = np.searchsorted(starts, before[branch] + along, side="right") - 1
    edge = order[np.clip(at, bounds[branch], bounds[branch + 1] - 1)]
    length = path.lengths_[edge]
    position = segments.sign[edge] * (along - segments.start[edge])
    return edge, np.clip(position / np.where(length > 0, length, 1.0), 0.0, 1.0)


def binned_samples(path: Trajectory, bins: Bins, dims: int) -> dict[str, Any]:
    """The bins in the place of samples."""
    edge, position = binned_places(path, bins)
    points = [bins.mean(column) for column in path.view.points[:, :dims].T]
    return {
        "ids": None,
        "points": single(np.column_stack(points)),
        "edge": indices(edge),
        "position": double(position),
        "distance": single(bins.mean(path.distance_)),
    }


def bins_state(bins: Bins, names: list[str], dims: int) -> dict[str, Any]:
    """The bins themselves, as a page holds them."""
    has_names = len(bins.of) <= MAX_IDS
    return {
        "count": bins.sizes.astype(np.uint32),
        "ids": names if has_names else None,
        "of": bins.of.astype(np.uint32) if has_names else None,
        "cell": [bins.cell] * dims,
    }


def binned_column(column: Column, bins: Bins) -> dict[str, Any]:
    """A column of the bins: means of known numbers, and how many they are; counts of categories."""
    state: dict[str, Any] = {"name": column.name, "group": column.group}
    if column.labels is None:
        values = single(bins.mean(column.values))
        state |= {"kind": "number", "unit": column.unit, "values": values}
        if column.group == "feature":
            # Groups of samples are compared by features; without these there would be no p-value.
            state["squares"] = single(bins.squares(column.values))
        known = ~np.isnan(column.values)
        if not known.all():
            count = np.bincount(bins.of[known], minlength=len(bins.sizes))
            state["known"] = count.astype(np.uint32)
        return state
    codes, labels = column.values, column.labels
    if len(labels) > MOST_CATEGORIES:
        codes, labels = largest(codes, labels, MOST_CATEGORIES - 1)
    counts = bins.counts(codes, len(labels)).astype(np.uint32)
    return state | {"kind": "category", "labels": labels, "counts": counts}


def bins_notes(bins: Bins) -> list[str]:
    """What is drawn, and what is left out."""
    drawn = (
        f"{len(bins.of):,} samples are drawn as {len(bins.sizes):,} bins of those that lie "
        f"together on one branch, within {bins.cell:.3g} along each axis. A bin stands at the mean "
        "place of its samples and shows the mean of their numbers, or their most frequent "
        "category; the area of a disc tells the number of its samples."
    )
    if len(bins.of) <= MAX_IDS:
        return [drawn]
    return [drawn, f"The names of the samples are left out: a page holds at most {MAX_IDS:,}."]
