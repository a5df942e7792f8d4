"""Centred data, read in blocks of rows: the one thing of size N×D that a fit touches."""

import itertools
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TypeVar

import numpy as np
from scipy import linalg, sparse

from .._compat import kernel
from .._memory import Workspace
from .._parallel import ordered
from .._typing import Floats, Ints, Matrix

Result = TypeVar("Result")

# Up to this many numbers a centred copy in double precision is kept (128 MiB).
MAX_COPIED = 2**24
# Numbers in a block (2 MiB): it should stay in the cache between two uses.
MAX_BLOCK = 2**18
# The work is divided into so many parts, of at least so many rows, on any number of threads.
N_PARTS = 16
MIN_PART = 2048
# The Gram matrix is formed up to this many features; beyond, it is applied.
MAX_GRAM = 1024


class CentredRows:
    """Y = X[order] − 1·meanᵀ with the products that the solvers need, in double precision.

    Small data are centred once, as a dense array. Large dense data stay as they are, also in single
    precision, and are put in order and centred block by block. Large sparse data are never centred:
    the mean is taken out of the products. Small data with more features than rows are rewritten in
    an orthonormal basis of their row space, which changes no solution (`lift` maps back).

    Sums over the rows are taken on `n_jobs` threads and do not depend on their number.

    With `is_part` the rows are a part of a table whose mean is given, or else their own: they are
    neither copied nor rewritten.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.centering import CentredRows
    >>> Y = CentredRows(np.array([[1.0, 2.0], [3.0, 6.0]]))
    >>> Y.mean
    array([2., 4.])
    >>> Y.project(np.eye(2))
    array([[-1., -2.],
           [ 1.,  2.]])
    >>> float(Y.energy)
    10.0
    """

    def __init__(
        self,
        X: Matrix,
        order: Ints | None = None,
        n_jobs: int = 1,
        *,
        mean: Floats | None = None,
        is_part: bool = False,
    ):
        self.n_rows, self.n_features = X.shape
        self.n_jobs, self.is_part = n_jobs, is_part
        self.basis: Floats | None = None
        self._gram: Floats | None = None
        self._centred: Floats | None = None
        is_small = self.n_rows * self.n_features <= MAX_COPIED and not is_part
        self.is_sparse = sparse.issparse(X) and not is_small
        if order is not None and (is_small or sparse.issparse(X)):
            X, order = X[order], None
        self._X = X
        self._order = np.arange(self.n_rows) if order is None else order
        self.n_dims = self.n_features
        self.mean = self._mean() if mean is None else mean
        if is_small:
            Y = (X.toarray() if sparse.issparse(X) else X).astype(np.float64) - self.mean
            if self.n_features > self.n_rows:
                self.basis, R = linalg.qr(Y.T, mode="economic")
                Y = np.ascontiguousarray(R.T)
                self.n_dims = self.n_rows
            self._centred = Y

    def reorder(self, places: Ints) -> None:
        """Put the rows in another order."""
        if self._centred is not None:
            self._centred = self._centred[places]
        elif self.is_sparse:
            self._X = self._X[places]
        else:
            self._order = self._order[places]

    def parts(self, n_sums: int = 0) -> list[slice]:
        """Slices of rows that may be worked on at the same time.

        A part has at least a quarter as many rows as the sums that it ends with, so that adding
        these up costs little. What is part of a table already is not divided any further.
        """
        if self.is_part:
            return [slice(0, self.n_rows)]
        n_parts = min(N_PARTS, max(1, self.n_rows // max(MIN_PART, n_sums // 4)))
        ends = np.linspace(0, self.n_rows, n_parts + 1).astype(int).tolist()
        return [slice(*pair) for pair in itertools.pairwise(ends)]

    def blocks(self, part: slice, n_columns: int = 0) -> Iterator[slice]:
        """Slices of a part so that a block with `n_columns` more columns stays small."""
        step = max(1, MAX_BLOCK // (self.n_dims + n_columns))
        for start in range(part.start, part.stop, step):
            yield slice(start, min(start + step, part.stop))

    def dense(self, rows: slice | Ints, workspace: Workspace | None = None) -> Floats:
        """The chosen rows of Y as a dense array, which may lie in the workspace until the next."""
        if self._centred is not None:
            return self._centred[rows]
        if self.is_sparse:
            return self._X[rows].toarray() - self.mean
        index = self._order[rows]
        size = len(index) * self.n_features
        memory = (workspace or Workspace()).take("rows", size)
        out = memory[:size].reshape(len(index), self.n_features)
        subtract_mean(self._X, index, self.mean, out)
        return out

    def project(
        self, W: Floats, rows: slice = slice(None), workspace: Workspace | None = None
    ) -> Floats:
        """Y[rows] @ W."""
        if self.is_sparse:
            return np.asarray(self._X[rows] @ W - self.mean @ W)
        if self._centred is not None:
            return self._centred[rows] @ W
        if rows != slice(None):
            return self.dense(rows, workspace) @ W
        return np.concatenate(list(self._over_blocks(lambda block: self.dense(block) @ W)))

    def weigh(self, V: Matrix, rows: slice = slice(None)) -> Floats:
        """V.T @ Y[rows], for dense or sparse V with one row per row of Y[rows]."""
        if self.is_sparse:
            product = V.T @ self._X[rows]
            product = product.toarray() if sparse.issparse(product) else np.asarray(product)
            return product - np.outer(np.asarray(V.sum(axis=0)).ravel(), self.mean)
        if self._centred is not None or rows != slice(None):
            return np.asarray(V.T @ self.dense(rows))
        return np.asarray(sum(self._over_blocks(lambda block: V[block].T @ self.dense(block))))

    def apply_gram(self, V: Floats) -> Floats:
        """YᵀY @ V."""
        if self.n_dims > MAX_GRAM:
            return self.weigh(self.project(V)).T
        return self.gram() @ V

    def gram(self) -> Floats:
        """YᵀY, kept after the first call."""
        if self._gram is None:
            if self.is_sparse:
                outer = np.outer(self.mean, self.mean)
                X = self._X.astype(np.float64, copy=False)
                self._gram = (X.T @ X).toarray() - self.n_rows * outer
            else:

                def product(block: slice) -> Floats:
                    Y = self.dense(block)
                    return Y.T @ Y

                self._gram = np.asarray(sum(self._over_blocks(product)))
        return self._gram

    def _over_blocks(self, function: Callable[[slice], Result]) -> Iterator[Result]:
        return ordered(function, self.blocks(slice(0, self.n_rows)), self.n_jobs)

    def _mean(self) -> Floats:
        if sparse.issparse(self._X):
            # The mean method of sparse matrices sums in their own precision.
            return self._X.T @ np.ones(self.n_rows) / self.n_rows
        sums = self._over_blocks(
            lambda block: self._X[self._order[block]].sum(axis=0, dtype=np.float64)
        )
        return np.asarray(sum(sums)) / self.n_rows

    def lift(self, W: Floats) -> Floats:
        """Columns in the original features, for columns in the internal basis."""
        return W if self.basis is None else self.basis @ W

    def lower(self, W: Floats) -> Floats:
        """Columns in the internal basis, for columns in the original features."""
        return W if self.basis is None else self.basis.T @ W

    @cached_property
    def energy(self) -> float:
        """‖Y‖², summed over centred values so that a large mean costs no digits."""
        if self.is_sparse:
            X = sparse.csc_array(self._X, copy=True)
            X.sum_duplicates()
            n_stored = np.diff(X.indptr)
            stored = X.data - np.repeat(self.mean, n_stored)
            return float(stored @ stored + (self.n_rows - n_stored) @ self.mean**2)
        if self.n_dims <= MAX_GRAM:
            return float(np.trace(self.gram()))

        def squares(block: slice) -> float:
            Y = self.dense(block)
            return float(np.vdot(Y, Y))

        return float(sum(self._over_blocks(squares)))


@kernel
def subtract_mean(X: Floats, index: Ints, mean: Floats, out: Floats) -> None:
    """Set out to X[index] − mean, without a copy between."""
    for i in range(len(index)):
        row = X[index[i]]
        for j in range(len(mean)):
            out[i, j] = row[j] - mean[j]
