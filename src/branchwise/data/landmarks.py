"""A few rows that stand for all: where many are, and where none has been chosen yet."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_random_state

from .._typing import Floats, Ints, Matrix
from .checks import check_count
from .dask import as_chunks, chunk_starts, is_dask
from .dask_errors import check_n_rows, check_rows
from .dask_passes import reduce_chunks
from .masked import unmasked
from .moments import extremes
from .row_order import canonical_keys, shift_and_range

Sums = TypeVar("Sums")

# Rows whose distances from the landmarks are computed at a time.
BLOCK = 4096


class Entries(NamedTuple):
    """The rows that lead a race, the fastest first."""

    time: Floats
    key: Ints
    number: Ints
    row: Matrix


def choose_landmarks(
    X: Any, n_landmarks: int, random_state: Any = None, *, cover: bool = True
) -> tuple[Matrix, Ints]:
    """Choose rows of X that stand for all, in four passes over it.

    Half of the landmarks follow the density: every row is as likely as any other. The other half
    goes to what is not covered yet, so that rare branches are kept: in two rounds, each of a
    quarter, the weight of a row is its squared distance from the nearest landmark so far, as in
    k-means++ with many rows at a time.

    Rows are drawn by a race. In each round, row x arrives after −log u(x)/w(x), where w is its
    weight and u a number in (0, 1) that a hash makes of its values and the seed; the first to
    arrive are taken. This is a draw without replacement, in which the next row is always x with a
    probability of w(x)/Σw over the rows that are left. The choice depends on the seed and on the
    values of the rows, neither on their order and units nor on the chunks. Equal rows (to nine
    digits of the range of X) are one, and are drawn as one.

    The first pass finds the extremes, and values that are not finite; each of the three others
    runs a race. A chunk sends at most as many rows as its round is to find, and so does a group of
    chunks after their results have been merged.

    Parameters
    ----------
    X : array, CSR matrix or Dask array of shape (n_samples, n_features)
        A Dask DataFrame will do, too.
    n_landmarks : int
        How many rows to choose. If there are fewer distinct rows, all of these are chosen.
    random_state : int, RandomState or None, default=None
    cover : bool, default=True
        False: all landmarks follow the density, in two passes.

    Returns
    -------
    rows : array of shape (n_landmarks, n_features)
        Of the type of X; a CSR matrix if X holds such.
    numbers : array of shape (n_landmarks,)
        Their numbers in X, in order; of equal rows, the number of the first.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from branchwise.data.landmarks import choose_landmarks
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> rows, numbers = choose_landmarks(da.from_array(X, chunks=(300, 3)), 10, random_state=0)
    >>> bool((rows == X[numbers]).all())
    True
    >>> bool((choose_landmarks(X, 10, random_state=0)[1] == numbers).all())
    True
    """
    n_landmarks = check_count(n_landmarks, "n_landmarks")
    X = as_chunks(X) if is_dask(X) else X if sparse.issparse(X) else np.asarray(unmasked(X))
    if X.shape[0] == 0:
        raise ValueError("X has no rows but must have one at least; look where they were lost.")
    first = np.array(chunk_starts(X) if is_dask(X) else [0])
    salts = check_random_state(random_state).randint(2**63, size=3, dtype=np.int64)
    n_rows, low, high = over(X, checked_extremes, wider, first=first, n_features=X.shape[1])
    check_n_rows(X, n_rows)
    shift, size = shift_and_range(low, high)
    chosen: Entries | None = None
    for salt, n_rows in zip(
        salts, rounds(n_landmarks) if cover else (n_landmarks, 0, 0), strict=True
    ):
        if n_rows == 0:
            break
        found = over(
            X,
            race,
            Leaders(n_rows),
            n_rows=n_rows,
            salt=int(salt),
            first=first,
            shift=shift,
            size=size,
            landmarks=None if chosen is None else chosen.row,
            taken=None if chosen is None else np.sort(chosen.key),
        )
        chosen = found if chosen is None else joined(chosen, found)
    assert chosen is not None  # the first round is never empty
    order = np.argsort(chosen.number)
    return chosen.row[order], chosen.number[order]


def gather(X: Any) -> Matrix:
    """All rows of a Dask array, checked: an array, or a CSR matrix if it holds such.

    Examples
    --------
    >>> import dask.array as da
    >>> from branchwise.data.landmarks import gather
    >>> gather(da.arange(6, chunks=2).reshape(3, 2))
    array([[0, 1],
           [2, 3],
           [4, 5]])
    """
    X = as_chunks(X)
    if X.shape[0] == 0:
        return np.empty(X.shape, dtype=X.dtype)
    parts = reduce_chunks(
        X, checked_part, list.__add__, first=np.array(chunk_starts(X)), n_features=X.shape[1]
    )
    check_n_rows(X, sum(part.shape[0] for part in parts))
    if sparse.issparse(parts[0]):
        return sparse.csr_array(sparse.vstack(parts))
    return np.concatenate(parts)


def checked_part(rows: Matrix, index: int, first: Ints, n_features: int) -> list[Matrix]:
    """The rows of a chunk, as a list of one part."""
    check_rows(rows, index, int(first[index]), n_features)
    return [rows]


def rounds(n_landmarks: int) -> tuple[int, int, int]:
    """How many rows to take in each round: a half, and two quarters.

    Examples
    --------
    >>> from branchwise.data.landmarks import rounds
    >>> rounds(10)
    (5, 3, 2)
    """
    half = (n_landmarks + 1) // 2
    quarter = (n_landmarks - half + 1) // 2
    return half, quarter, n_landmarks - half - quarter


def over(
    X: Any, function: Callable[..., Sums], merge: Callable[[Sums, Sums], Sums], **given: Any
) -> Sums:
    """One pass over the chunks of X, of which an array in memory has one."""
    if is_dask(X):
        return reduce_chunks(X, function, merge, **given)
    return function(sparse.csr_array(X) if sparse.issparse(X) else X, index=0, **given)


def checked_extremes(
    rows: Matrix, index: int, first: Ints, n_features: int
) -> tuple[int, Floats, Floats]:
    """Number of rows of a chunk of finite numbers; least and largest value of each column."""
    check_rows(rows, index, int(first[index]), n_features)
    return rows.shape[0], *extremes(rows)


def wider(
    a: tuple[int, Floats, Floats], b: tuple[int, Floats, Floats]
) -> tuple[int, Floats, Floats]:
    """Number of rows and extremes of two chunks together."""
    return a[0] + b[0], np.minimum(a[1], b[1]), np.maximum(a[2], b[2])


def race(
    rows: Matrix,
    index: int,
    n_rows: int,
    salt: int,
    first: Ints,
    shift: Floats,
    size: float,
    landmarks: Matrix | None,
    taken: Ints | None,
) -> Entries:
    """The first of a chunk to arrive; the weights are 1 as long as there are no landmarks."""
    keys = canonical_keys(rows, shift, size)
    # Of equal rows, the first.
    keys, numbers = np.unique(keys, return_index=True)
    if taken is not None:
        is_new = ~np.isin(keys, taken)
        keys, numbers = keys[is_new], numbers[is_new]
    weights = np.ones(len(keys))
    if landmarks is not None:
        weights = squared_distances(rows, numbers, landmarks, shift, size)
    with np.errstate(divide="ignore"):
        times = -np.log(uniform(keys, salt)) / weights
    best = np.lexsort((keys, times))[:n_rows]
    return Entries(times[best], keys[best], first[index] + numbers[best], rows[numbers[best]])


def squared_distances(
    rows: Matrix, numbers: Ints, landmarks: Matrix, shift: Floats, size: float
) -> Floats:
    """Squared distances of the numbered rows from the nearest landmark, in units of the range.

    The nearest is found by products of matrices, whose digits depend on what else is in the
    block; its distance is then computed again, by itself.
    """
    known = in_range(landmarks, shift, size)
    squares = np.empty(len(numbers))
    for start in range(0, len(numbers), BLOCK):
        block = slice(start, start + BLOCK)
        points = in_range(rows[numbers[block]], shift, size)
        apart = points - known[pairwise_distances_argmin(points, known)]
        if sparse.issparse(apart):
            squares[block] = np.asarray(apart.power(2).sum(axis=1)).ravel()
        else:
            squares[block] = np.einsum("ij,ij->i", apart, apart)
    return squares


def in_range(rows: Matrix, shift: Floats, size: float) -> Matrix:
    """Rows in units of the range; dense ones around its middle, which saves digits."""
    if sparse.issparse(rows):
        return sparse.csr_array(rows, dtype=np.float64) / size
    return (rows - shift) / size


def uniform(keys: Ints, salt: int) -> Floats:
    """A number in (0, 1) for each key, that another salt makes another number of.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.landmarks import uniform
    >>> u = uniform(np.arange(100_000, dtype=np.uint64), 0)
    >>> float(u.mean().round(1)), float((12 * u.var()).round(1))
    (0.5, 1.0)
    """
    bits = keys ^ np.uint64(salt)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return ((bits >> np.uint64(12)) + 0.5) / 2.0**52


@dataclass(frozen=True)
class Leaders:
    """Puts the leaders of two chunks together: the first so many of both."""

    n_rows: int

    def __call__(self, a: Entries, b: Entries) -> Entries:
        """Of rows that are in both, the one that stands first."""
        both = joined(a, b)
        by_number = np.argsort(both.number)
        distinct = by_number[np.unique(both.key[by_number], return_index=True)[1]]
        best = distinct[np.lexsort((both.key[distinct], both.time[distinct]))][: self.n_rows]
        return Entries(both.time[best], both.key[best], both.number[best], both.row[best])


def joined(a: Entries, b: Entries) -> Entries:
    """All entries of two races."""
    time, key, number = (np.concatenate(pair) for pair in zip(a[:3], b[:3], strict=True))
    if sparse.issparse(a.row):
        return Entries(time, key, number, sparse.csr_array(sparse.vstack([a.row, b.row])))
    return Entries(time, key, number, np.concatenate([a.row, b.row]))
