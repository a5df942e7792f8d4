"""The steps on Dask arrays: learned in passes over the chunks, repeated lazily.

Nothing of the size of the data is gathered: what leaves a chunk are moments, or products with a
few vectors.
"""

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from sklearn.utils import check_random_state

from .._compat import empty_block, import_pandas
from .._typing import Floats, Matrix
from ..data.checks import check_finite, check_not_huge, check_numbers, remedies
from ..data.dask import chunk_starts, has_sparse_blocks, import_dask
from ..data.dask_errors import ChunkError, check_rows, first_cell
from ..data.dask_passes import reduce_chunks
from ..data.moments import Moments, extremes, merge_moments
from ..estimators.chunks import checked_chunks, float_type
from ..linalg import column_signs, complete_basis, extend_basis, largest_eigenpairs
from .columns import canonical, column_label
from .steps import (
    BLOCK,
    CONSTANT_RTOL,
    Axes,
    Logarithms,
    Scales,
    after_steps,
    axes_with_variance,
    check_n_axes,
    dense_steps,
    fills_late,
    repeat_steps,
)

if TYPE_CHECKING:
    from .core import Preparation

# Numbers in double precision that are worked on at a time (32 MiB).
MAX_BLOCK = 2**22
# Up to so many features their covariances are formed: as many numbers for each chunk under way.
MAX_COVARIANCES = 2048
# A sparse product may lose so many times its result to the mean that is taken out of it.
MAX_CANCELLED = 1e3
# Passes over data of more features, at most, and residuals at which to stop earlier, relative to
# the largest eigenvalue.
MAX_PASSES = 12
RESIDUAL_RTOL = 1e-9
# Directions that are followed besides the wanted ones: as many, but at least so many.
MIN_GUARDS = 32
# Steps that no chunk can learn on its own, and what to do.
SAMPLE = (
    "fit the preparation to a sample of the rows in memory, for instance X[::100].compute(), and "
    "transform X with it"
)
REFUSED = {
    "impute='median'": SAMPLE,
    "impute='model'": "fit the preparation to a sample of the rows in memory, for instance "
    "X[::100].compute(), and transform some rows at a time with it",
    "impute='drop'": "drop rows that lack a value first, for instance with X = "
    "X[~da.isnan(X).any(axis=1)] and X.compute_chunk_sizes(), and leave impute out",
    "rank_normalize=True": SAMPLE,
    "adjust": "leave it out, or take the covariates out of the features before",
    "encoding": "leave categorical, ordinal, dates and ages out, or fit to a table in memory, a "
    "DataFrame",
}


def check_can_learn(preparation: "Preparation") -> None:
    """Medians, ranks and regressions are not learned from Dask arrays."""
    asked = {
        "impute='median'": preparation.impute == "median",
        "impute='model'": preparation.impute == "model",
        "impute='drop'": preparation.impute == "drop",
        "rank_normalize=True": preparation.rank_normalize,
        "adjust": preparation.adjust,
        "encoding": preparation.encodes,
    }
    for name, remedy in REFUSED.items():
        if asked[name]:
            raise ValueError(f"{name} is for tables in memory, but X is a Dask array; {remedy}.")


def check_can_repeat(steps: dict[str, Any]) -> None:
    """Covariates of a table in memory, and gaps for a tree to fill, do not go with chunks."""
    if fills_late(steps):
        raise ValueError(
            "impute='model' fills the gaps of tables in memory, but X is a Dask array; transform "
            "some of its rows at a time, for instance X[:100_000].compute()."
        )
    if "adjust" in steps:
        raise ValueError(
            "adjust needs a table in memory, with its covariates, but X is a Dask array; transform "
            "some of its rows at a time, for instance X[:100_000].compute()."
        )
    if "encode" in steps:
        raise ValueError(
            "categories, dates and ages are encoded in a table in memory, but X is a Dask "
            "collection; transform some of its rows at a time, for instance "
            "X.get_partition(0).compute()."
        )


def as_whole_rows(preparation: "Preparation", X: Any, *, reset: bool) -> Any:
    """A Dask array in chunks of whole rows, with at least one row and one column."""
    if hasattr(X, "columns"):
        check_numbers(import_pandas().DataFrame(columns=X.columns), ensure_min_samples=0)
    chunks = checked_chunks(preparation, X, reset=reset)
    with remedies():
        check_numbers(np.empty((min(chunks.shape[0], 1), chunks.shape[1])), preparation)
    return chunks


# Fit


def learn_from_chunks(
    X: Any,
    *,
    log1p: bool,
    standardize: bool,
    pca: int | None,
    random_state: Any = None,
    names: Any = None,
) -> dict[str, Any]:
    """What `Preparation.steps_` holds, from one pass over the data; axes may take some more.

    Parameters
    ----------
    X : Dask array
        As `branchwise.data.dask.as_chunks` returns it, of NumPy arrays or sparse matrices.
    log1p, standardize, pca, random_state
        As in `Preparation`.
    names : sequence of str or None
        Of the columns, for messages.

    Examples
    --------
    >>> import dask.array as da
    >>> from branchwise.preprocessing.dask import learn_from_chunks
    >>> X = da.arange(12, chunks=4).reshape(6, 2)
    >>> learn_from_chunks(X, log1p=False, standardize=True, pca=None)["standardize"].mean
    array([5., 6.])
    """
    if pca is not None:
        check_n_axes(pca, X.shape)
    steps: dict[str, Any] = {"log1p": Logarithms()} if log1p else {}
    learned = reduce_chunks(
        X,
        chunk_moments,
        merge_in_units,
        steps=steps,
        with_products=pca is not None and X.shape[1] <= MAX_COVARIANCES,
        wants_sparse=has_sparse_blocks(X),
        starts=chunk_starts(X),
        n_features=X.shape[1],
        names=names,
    )
    check_not_huge(X, learned.size, "X")
    if standardize:
        # A copy: the steps before it may still be on their way to the workers.
        scales = learned.scales()._replace(is_centred=not has_sparse_blocks(X))
        steps = {**steps, "standardize": scales}
    if pca is not None:
        steps = {**steps, "pca": axes(X, steps, learned, pca, random_state)}
    return steps


def axes(
    X: Any, steps: dict[str, Any], learned: "MomentsInUnits", pca: int, random_state: Any
) -> Axes:
    """Principal axes of what the steps make of X."""
    moments, unit = learned.moments, learned.unit
    mean = moments.mean * unit
    size = float(unit.max())
    if "standardize" in steps:
        scales = steps["standardize"]
        size = 1.0
        unit = scales.divide(unit)
        # Dense data have been centred already.
        mean = scales.divide(mean) if has_sparse_blocks(X) else np.zeros_like(mean)
    # So that no square vanishes.
    unit = unit / size
    energy = float(moments.squares() @ unit**2)
    if moments.products.ndim == 2:
        values, W = largest_eigenpairs(moments.products * np.outer(unit, unit), pca)
        values, W = values[::-1], W[:, ::-1]
    else:

        def apply(V: Floats) -> Floats:
            sums = reduce_chunks(
                X,
                chunk_products,
                np.add,
                steps=steps,
                wants_sparse=has_sparse_blocks(X),
                mean=mean,
                V=V / size,
            )
            return np.asarray(sums) / size

        start = check_random_state(random_state).standard_normal
        values, W = iterated_eigenpairs(apply, start, X.shape[1], pca)
    W = axes_with_variance(values, W)
    ratio = np.zeros(pca)
    ratio[: W.shape[1]] = np.maximum(values[: W.shape[1]], 0.0) / max(energy, np.finfo(float).tiny)
    W = complete_basis(W, pca)
    W = W * column_signs(W)
    return Axes(mean, np.ascontiguousarray(W.T), ratio)


class MomentsInUnits(NamedTuple):
    """What a pass learns of the features, each in a unit of its own: a power of two.

    No square overflows or vanishes in these units, and a change of unit is exact.
    """

    size: float  # of the largest value, as it was given
    unit: Floats
    moments: Moments

    def scales(self) -> Scales:
        """Means and standard deviations, by the rule of `Scales.fit` for constants."""
        n_rows, mean, _, low, high, _ = self.moments
        sd = np.sqrt(self.moments.squares() / n_rows)
        is_constant = (low == high) | (sd <= CONSTANT_RTOL * np.maximum(-low, high))
        return Scales(mean * self.unit, np.where(is_constant, 0.0, sd * self.unit))


def merge_in_units(a: MomentsInUnits, b: MomentsInUnits) -> MomentsInUnits:
    """The same of two sets of rows together, in the larger unit of each feature."""
    unit = np.maximum(a.unit, b.unit)
    moments = merge_moments(a.moments.times(a.unit / unit), b.moments.times(b.unit / unit))
    return MomentsInUnits(max(a.size, b.size), unit, moments)


def chunk_moments(
    rows: Matrix,
    index: int,
    *,
    steps: dict[str, Any],
    with_products: bool,
    wants_sparse: bool,
    starts: list[int],
    n_features: int,
    names: Any,
) -> MomentsInUnits:
    """The moments of a chunk, whose values are checked before anything else is done."""
    rows = as_table(rows, index, wants_sparse)
    check_rows(rows, index, starts[index], n_features)
    if "log1p" in steps:
        check_logarithms(rows, index, starts[index], names)
    size = check_finite(rows, "X")
    parts = (
        block_moments(after_steps(steps, rows[block]), size, with_products)
        for block in blocks_of(rows)
    )
    return reduce(merge_in_units, parts)


def block_moments(X: Matrix, size: float, with_products: bool) -> MomentsInUnits:
    """Moments of some rows, centred before they are squared."""
    low, high = extremes(X)
    unit = np.ldexp(1.0, np.frexp(np.maximum(-low, high))[1] - 1)
    if sparse.issparse(X):
        X = sparse.csr_array((X.data / unit[X.indices], X.indices, X.indptr), X.shape)
        mean = X.T @ np.ones(X.shape[0]) / X.shape[0]
        products = sparse_products(X, mean, with_products)
    else:
        X = X / unit
        mean = X.mean(axis=0)
        X -= mean
        products = X.T @ X if with_products else np.einsum("ij,ij->j", X, X)
    moments = Moments(X.shape[0], mean, products, low / unit, high / unit)
    return MomentsInUnits(size, unit, moments)


def sparse_products(X: Any, mean: Floats, with_products: bool) -> Floats:
    """Sums of squares, or products, of the centred columns of a CSR matrix."""
    n_rows, n_features = X.shape
    stored = np.bincount(X.indices, minlength=n_features)
    squares = np.bincount(X.indices, (X.data - mean[X.indices]) ** 2, minlength=n_features)
    squares = squares + (n_rows - stored) * mean**2
    if not with_products:
        return squares
    # The mean of a column that is far from sparse would cost too many digits.
    if (n_rows * mean**2 > MAX_CANCELLED * squares).any():
        Y = X.toarray() - mean
        return Y.T @ Y
    return np.asarray((X.T @ X).toarray() - n_rows * np.outer(mean, mean))


def chunk_products(
    rows: Matrix,
    index: int,
    *,
    steps: dict[str, Any],
    wants_sparse: bool,
    mean: Floats,
    V: Floats,
) -> Floats:
    """YᵀYV of a chunk, where Y is what the steps make of it, centred."""
    rows = as_table(rows, index, wants_sparse)
    total = np.zeros_like(V)
    for block in blocks_of(rows):
        Y = after_steps(steps, rows[block])
        if sparse.issparse(Y):
            # Over all chunks, what the mean would still take off is nothing: centred columns sum
            # to zero, and so do their products with V.
            total += Y.T @ (Y @ V - mean @ V)
        else:
            Y -= mean
            total += Y.T @ (Y @ V)
    return total


def iterated_eigenpairs(
    apply: Callable[[Floats], Floats],
    draw: Callable[[tuple[int, int]], Floats],
    n_features: int,
    n_pairs: int,
) -> tuple[Floats, Floats]:
    """Leading eigenpairs, in descending order, of a matrix that is only multiplied with.

    Rayleigh–Ritz in a block Krylov space that starts at random and grows by the residuals, so
    each product brings all that the earlier ones told to bear.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.dask import iterated_eigenpairs
    >>> draw = np.random.default_rng(0).standard_normal
    >>> A = np.diag(0.5 ** np.arange(100))
    >>> values, _ = iterated_eigenpairs(lambda V: A @ V, draw, 100, 3)
    >>> values.round(6)
    array([1.  , 0.5 , 0.25])
    """
    n_block = min(n_pairs + max(n_pairs, MIN_GUARDS), n_features)
    new = linalg.qr(draw((n_features, n_block)), mode="economic")[0]
    V = AV = np.empty((n_features, 0))
    for _ in range(MAX_PASSES):
        V, AV = np.hstack([V, new]), np.hstack([AV, apply(new)])
        H = V.T @ AV
        values, vectors = linalg.eigh((H + H.T) / 2)
        values, vectors = values[: -n_block - 1 : -1], vectors[:, : -n_block - 1 : -1]
        ritz = V @ vectors
        residual = AV @ vectors - ritz * values
        unsettled = np.linalg.norm(residual, axis=0) > RESIDUAL_RTOL * values[0]
        if not unsettled[:n_pairs].any():
            break
        new = extend_basis(V, residual[:, unsettled])[:, V.shape[1] :]
        if new.shape[1] == 0:
            break
    return values[:n_pairs], ritz[:, :n_pairs]


# Transform


def repeat_lazily(steps: dict[str, Any], X: Any, names: Any = None) -> Any:
    """A lazy Dask array of what the steps make of X, in chunks of the same rows.

    Examples
    --------
    >>> import dask.array as da
    >>> from branchwise.preprocessing.dask import repeat_lazily
    >>> from branchwise.preprocessing.steps import Logarithms
    >>> repeat_lazily({"log1p": Logarithms()}, da.ones((4, 1), chunks=2)).compute().round(2)
    array([[0.69],
           [0.69],
           [0.69],
           [0.69]])
    """
    dask, array = import_dask()
    dtype = float_type(X.dtype)
    n_columns = len(steps["pca"].components) if "pca" in steps else X.shape[1]
    stays_sparse = (
        has_sparse_blocks(X) and "pca" not in steps and not dense_steps(steps, empty_block(X))
    )
    meta = empty_block(X).astype(dtype).tocsr() if stays_sparse else np.empty((0, 0), dtype=dtype)
    given = {
        "steps": steps,
        "wants_sparse": has_sparse_blocks(X),
        "starts": chunk_starts(X),
        "n_features": X.shape[1],
        "names": names,
        "n_columns": n_columns,
        "stays_sparse": stays_sparse,
        "dtype": dtype,
    }
    return array.map_blocks(
        repeat_on_chunk,
        X,
        given=dask.delayed(given, traverse=False),
        dtype=dtype,
        meta=meta,
        chunks=(X.chunks[0], (n_columns,)),
    )


def repeat_on_chunk(block: Any, given: dict[str, Any], block_id: Any = None) -> Matrix:
    """What the steps make of the rows of a chunk, in the precision of the whole."""
    steps, index = given["steps"], block_id[0]
    start = given["starts"][index]
    rows = as_table(block, index, given["wants_sparse"]).astype(given["dtype"], copy=False)
    if rows.shape[0] == 0:
        return rows if given["stays_sparse"] else np.empty((0, given["n_columns"]), rows.dtype)
    if "impute" in steps:
        rows = steps["impute"].apply(rows)
    check_rows(rows, index, start, given["n_features"])
    if "log1p" in steps:
        check_logarithms(rows, index, start, given["names"])
    check_not_huge(rows, check_finite(rows, "X"), "X")
    return repeat_steps(steps, rows, n_rows=n_at_a_time(rows))


# Blocks


def blocks_of(rows: Matrix) -> list[slice]:
    """Slices of a chunk so that a copy in double precision of each is small."""
    step = n_at_a_time(rows)
    return [slice(start, start + step) for start in range(0, rows.shape[0], step)]


def n_at_a_time(rows: Matrix) -> int:
    """The number of rows in such a slice."""
    return BLOCK if sparse.issparse(rows) else min(BLOCK, max(1, MAX_BLOCK // rows.shape[1]))


def as_table(block: Any, index: int, wants_sparse: bool) -> Matrix:
    """A block as the array, or the CSR matrix with one entry per place, that it is said to be."""
    if sparse.issparse(block) and not wants_sparse:
        raise ChunkError(
            f"chunk {index} of X is a sparse matrix, but X is said to hold NumPy arrays, which "
            "decides whether values are centred; say so with X.map_blocks(scipy.sparse.csr_array), "
            "or make them dense with X.map_blocks(lambda block: block.toarray())."
        )
    if sparse.issparse(block):
        rows = canonical(block.tocsr())
    else:
        rows = sparse.csr_array(np.asarray(block)) if wants_sparse else np.asarray(block)
    return rows.astype(float_type(rows.dtype), copy=False)


def check_logarithms(rows: Matrix, index: int, start: int, names: Any) -> None:
    """Values are above −1; the complaint names chunk, row and column."""
    values = rows.data if sparse.issparse(rows) else rows
    if not (values <= -1).any():  # gaps are none of this
        return
    row, column, value = first_cell(rows, lambda values: values <= -1)
    raise ChunkError(
        f"X holds {value:.6g} in {column_label(names, column)}, row {start + row} (row {row} of "
        f"chunk {index}), but log1p=True needs values above -1; leave log1p out for data that are "
        "logarithms or scores already."
    )
