"""DDRTree on the chunks of a Dask array: the points stay on the workers, sums come back.

Every chunk is a small problem of its own for given centres, and the sums that the centres need add
up (`prop:ddr-WZY`): Γ, RᵀR (K×K) and RᵀY (K×D) in one pass per iteration. Where the last iteration
moved the points to is worked out in the next pass, from the rows that are read there anyway.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _kdtree as kdtree
from .._typing import Floats, Ints, Matrix
from ..data.centering import CentredRows
from ..data.dask import chunk_starts
from ..data.dask_errors import check_n_rows, check_rows
from ..data.dask_passes import map_chunks, pass_over, reduce_chunks
from ..data.moments import Moments, extremes, merge_moments
from ..data.row_order import canonical_keys
from .assignments import Assignments
from .ddrtree import Points, Step
from .initialization import (
    Candidates,
    SpreadSums,
    candidates,
    merge_candidates,
    merge_spread,
    nearest_sizes,
    nearest_two,
    spread_per_point,
    spread_sums,
)


def chunk_moments(rows: Matrix, *, index: int, starts: list[int], n_features: int) -> Moments:
    """Moments of one chunk, whose values are looked through first."""
    check_rows(rows, index, starts[index], n_features)
    low, high = extremes(rows)
    # Values too large for their squares are refused when the largest of all chunks is known.
    with np.errstate(over="ignore", invalid="ignore"):
        Y = CentredRows(as_floats(rows), is_part=True)
        lost = np.zeros_like(Y.mean)
        if not Y.is_sparse:
            lost = Y.weigh(np.full((Y.n_rows, 1), 1 / Y.n_rows))[0]
        return Moments(Y.n_rows, Y.mean, Y.gram(), low, high, lost)


class ChunkedRows:
    """What a fit has to know of the rows of a Dask array, from one pass over them.

    The same as `branchwise.data.centering.CentredRows` as far as the principal axes are concerned.

    Examples
    --------
    >>> import dask.array as da
    >>> from branchwise.solvers.ddrtree_dask import ChunkedRows
    >>> Y = ChunkedRows(da.from_array([[1.0, 2.0], [3.0, 6.0]], chunks=(1, 2)))
    >>> Y.mean, float(Y.energy)
    (array([2., 4.]), 10.0)
    """

    def __init__(self, X: Any):
        self.X = X
        self.n_rows, self.n_features = X.shape
        self.n_dims, self.n_jobs = self.n_features, 1
        moments = reduce_chunks(
            X, chunk_moments, merge_moments, starts=chunk_starts(X), n_features=self.n_features
        )
        check_n_rows(X, moments.n_rows)
        self.mean, self.low, self.high = moments.mean, moments.low, moments.high
        self._gram = moments.products
        self.energy = float(np.trace(moments.products))

    def gram(self) -> Floats:
        """YᵀY."""
        return self._gram

    def apply_gram(self, V: Floats) -> Floats:
        """YᵀY @ V."""
        return self._gram @ V

    def lift(self, W: Floats) -> Floats:
        """Columns in the original features: as they are."""
        return W

    def lower(self, W: Floats) -> Floats:
        """Columns in the internal basis, which is that of the features."""
        return W


@dataclass(frozen=True)
class Placed:
    """The points of a chunk, near one another in memory as in space, and their rows in it."""

    Z: Floats
    places: Ints

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array of rows."""
        return self.Z.shape


def place_at_start(
    rows: Matrix,
    *,
    index: int,
    mean: Floats,
    W: Floats,
    shift: Floats,
    size: float,
    n_kept: int,
) -> tuple[Placed, Candidates]:
    """The points YW of a chunk, and those of them that k-means may look at."""
    rows = as_floats(rows)
    Z = CentredRows(rows, mean=mean, is_part=True).project(np.ascontiguousarray(W))
    keys = canonical_keys(rows, shift, size) if n_kept else np.empty(0, dtype=np.uint64)
    drawn = candidates(keys, Z[: len(keys)], n_kept)
    places = kdtree.build(Z).order
    return Placed(Z[places], places), drawn


@dataclass
class Sums:
    """What the update of the centres needs of the assignments of some points."""

    counts: Floats
    RtY: Floats
    RtR: Floats
    negative_entropy: float


def merge_sums(a: Sums, b: Sums) -> Sums:
    """Add b to a."""
    a.counts += b.counts
    a.RtY += b.RtY
    a.RtR += b.RtR
    a.negative_entropy += b.negative_entropy
    return a


def advance(
    rows: Matrix,
    placed: Placed,
    *,
    index: int,
    mean: Floats,
    steps: Sequence[Step],
    C: Floats,
    gamma: float,
    sigma: float,
) -> tuple[Placed, Sums]:
    """Move the points of a chunk to where the last iteration left them, and assign them again."""
    points = moved(rows, placed, mean, steps, gamma, sigma)
    R = points.assign(C, sums_only=True)
    assert R.overlap_matrix is not None
    sums = Sums(R.counts, R.RtY, R.overlap_matrix, R.negative_entropy)
    return Placed(points.Z, placed.places), sums


def settle(
    rows: Matrix,
    placed: Placed,
    *,
    mean: Floats,
    steps: Sequence[Step],
    gamma: float,
    sigma: float,
    along: Floats,
) -> Floats:
    """The points of a chunk after the last iteration, along the components, in the rows' order."""
    points = moved(rows, placed, mean, steps, gamma, sigma)
    Z = np.empty((len(points.Z), along.shape[1]))
    Z[placed.places] = points.Z @ np.ascontiguousarray(along)
    return Z


def moved(
    rows: Matrix,
    placed: Placed,
    mean: Floats,
    steps: Sequence[Step],
    gamma: float,
    sigma: float,
) -> Points:
    """The points of a chunk after some steps."""
    Y = CentredRows(as_floats(rows), placed.places, mean=mean, is_part=True)
    points = Points(Y, placed.Z, gamma, sigma)
    # What has come from another process may lie in memory in another order, which products would
    # show in their last digit.
    points.move([Step(*map(np.ascontiguousarray, step)) for step in steps])
    return points


def as_floats(rows: Matrix) -> Matrix:
    """Rows as the kernels know them: row after row, in single or double precision."""
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    return rows if hasattr(rows, "tocsr") else np.ascontiguousarray(rows)


class ChunkedPoints:
    """The points of the samples in a Dask array, on the workers; see `Points`."""

    def __init__(self, Y: ChunkedRows, placed: Any, gamma: float, sigma: float):
        self.Y, self.energy, self.apply_gram = Y, Y.energy, Y.apply_gram
        self._placed = placed
        self._steps: list[Step] = []
        self._given: dict[str, Any] = {"mean": Y.mean, "gamma": gamma, "sigma": sigma}

    def assign(self, C: Floats) -> Assignments:
        """R for the points where they are now, summed in one pass over the data."""
        self._placed, sums = pass_over(
            self.Y.X, advance, merge_sums, self._placed, steps=self._steps, C=C, **self._given
        )
        self._steps = []
        RtR = sums.RtR
        return Assignments(sums.counts, sums.RtY, sums.negative_entropy, lambda B: RtR @ B, RtR)

    def move(self, steps: Sequence[Step]) -> None:
        """Move the points, in the next pass."""
        self._steps = [*self._steps, *steps]

    def settled(self, along: Floats, dtype: Any) -> Any:
        """The points in the order of the rows, times a matrix, as a lazy Dask array."""
        return map_chunks(
            self.Y.X,
            settle,
            along.shape[1],
            dtype,
            self._placed,
            steps=self._steps,
            along=along,
            **self._given,
        )


def start_points(
    Y: ChunkedRows, W: Floats, shift: Floats, size: float, n_kept: int
) -> tuple[Any, Candidates]:
    """The points YW, kept on the workers, and candidates for the start of k-means."""
    return pass_over(
        Y.X,
        place_at_start,
        merge_candidates,
        mean=Y.mean,
        W=W,
        shift=shift,
        size=size,
        n_kept=n_kept,
    )


def spread_of_points(placed: Any, C: Floats, n_points: int) -> tuple[float, float]:
    """`branchwise.solvers.initialization.spread_around` for points on the workers."""
    sizes = reduce_chunks(placed, chunk_sizes, np.add, C=C)
    sums = reduce_chunks(placed, chunk_spread, merge_spread, C=C, sizes=sizes, n_points=n_points)
    return spread_per_point(sums, n_points)


def chunk_sizes(placed: Placed, *, index: int, C: Floats) -> Ints:
    """How many points of a chunk each centre is nearest to."""
    return nearest_sizes(nearest_two(placed.Z, C), len(C))


def chunk_spread(
    placed: Placed, *, index: int, C: Floats, sizes: Ints, n_points: int
) -> SpreadSums:
    """How far the points of a chunk spread around the centres."""
    return spread_sums(placed.Z, C, nearest_two(placed.Z, C), sizes, n_points)
