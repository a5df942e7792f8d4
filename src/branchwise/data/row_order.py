"""An order of rows that depends on their values alone, and keys to find rows by."""

from typing import Any

import numpy as np
from scipy import sparse

from .._parallel import ordered
from .._typing import Floats, Ints, Matrix
from .centering import MAX_BLOCK
from .moments import extremes


def unit_free(X: Floats) -> Floats:
    """Dense data shifted and scaled to a range of one, rounded to nine digits.

    Shift and range come from the extremes of the columns, which do not depend on the order
    of the rows. Rounding hides the last digits, in which two units differ: what is equal in
    one unit is equal in the other.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.row_order import unit_free
    >>> X = np.array([[0.1, 1.0], [0.2, 1.1], [0.4, 1.3]])
    >>> bool((unit_free(X) == unit_free(1000 * X)).all())
    True
    """
    shift, size = shift_and_range(*extremes(X))
    return np.round((X - shift) / size, 9)


def shift_and_range(low: Floats, high: Floats) -> tuple[Floats, float]:
    """The middle of each column, and the range of the widest, from their extremes."""
    # Halved first: the sum of two extremes may overflow.
    return low / 2 + high / 2, float(np.max(high - low)) or 1.0


def canonical_order(X: Matrix, n_jobs: int = 1) -> Ints:
    """An order of the rows that depends on neither their given order nor their units.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.row_order import canonical_order
    >>> X = np.random.default_rng(0).normal(size=(5, 2))
    >>> order, reversed_order = canonical_order(X), canonical_order(1000 * X[::-1])
    >>> bool((X[order] == X[::-1][reversed_order]).all())
    True
    """
    keys = canonical_keys(X, *shift_and_range(*extremes(X)), n_jobs)
    return np.argsort(keys, kind="stable")


def canonical_keys(X: Matrix, shift: Floats, size: float, n_jobs: int = 1) -> Ints:
    """Keys of the rows in units of a range, after a shift, rounded to nine digits.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.row_order import canonical_keys
    >>> X, middle = np.array([[1.0], [2.0]]), np.array([1.5])
    >>> keys = canonical_keys(X, middle, 1.0)
    >>> bool((canonical_keys(9 * X, 9 * middle, 9.0) == keys).all())
    True
    """
    # Taken off again, so that zero stays zero and sparse rows need only their entries.
    zero = np.round(-shift / size, 9)
    if sparse.issparse(X):
        X = sparse.csr_array(X, dtype=np.float64, copy=True)
        X.data = np.round((X.data - shift[X.indices]) / size, 9) - zero[X.indices]
        return row_keys(X)

    def keys(block: Floats) -> Ints:
        return row_keys(np.round((block - shift) / size, 9) - zero)

    return np.concatenate(list(ordered(keys, _blocks(X), n_jobs)))


def first_alike(X: Matrix) -> Ints:
    """For each row the first of the rows before it that equal it and one another, or itself.

    In `canonical_order` equal rows follow one another.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.row_order import first_alike
    >>> first_alike(np.array([[1.0], [2.0], [2.0], [2.0], [1.0]]))
    array([0, 1, 1, 1, 4])
    """
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        differs = np.diff((X[1:] != X[:-1]).indptr) > 0
    else:
        differs = (X[1:] != X[:-1]).any(axis=1)
    first = np.arange(X.shape[0])
    first[1:][~differs] = 0
    return np.maximum.accumulate(first)


def row_keys(X: Matrix, n_jobs: int = 1) -> Ints:
    """A 64-bit key per row that depends on its values alone, not on where it stands.

    Sorting by it gives an order that a permutation of the rows does not change. Dense and
    sparse, single and double precision give the same key to the same numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.row_order import row_keys
    >>> keys = row_keys(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]))
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    odd = column_factors(X.shape[1])
    if sparse.issparse(X):
        keys = np.zeros(X.shape[0], dtype=np.uint64)
        X = sparse.csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()  # it shares its arrays with the caller's
            X.sum_duplicates()
        mixed = _mix(X.data, odd[X.indices])
        filled = np.flatnonzero(np.diff(X.indptr))
        keys[filled] = np.add.reduceat(mixed, X.indptr[filled]) if len(filled) else 0
        return keys
    parts = list(ordered(lambda block: _mix(block, odd).sum(axis=1), _blocks(X), n_jobs))
    return np.concatenate(parts)


def column_factors(n_features: int) -> Ints:
    """An odd number for each column, by which `row_keys` tells them apart.

    Examples
    --------
    >>> from branchwise.data.row_order import column_factors
    >>> bool((column_factors(5) % 2 == 1).all())
    True
    """
    return np.random.default_rng(0).integers(2**63, size=n_features, dtype=np.uint64) * 2 + 1


def _blocks(X: Floats) -> list[Floats]:
    """Views of some rows at a time, at least one."""
    step = max(1, MAX_BLOCK // X.shape[1])
    return [X[start : start + step] for start in range(0, max(len(X), 1), step)]


def _mix(values: Floats, odd: Any) -> Ints:
    """Scramble the bits of numbers; zero stays zero, so that sparse rows may omit it."""
    bits: Any = (values.astype(np.float64) + 0.0).view(np.uint64)  # −0 + 0 is +0
    # A small integer has bits at the upper end only, where a product keeps next to nothing
    # of `odd`: they are spread over the whole word first.
    bits = (bits ^ (bits >> np.uint64(32))) * np.uint64(0x94D049BB133111EB)
    bits = (bits ^ (bits >> np.uint64(29))) * odd
    bits = (bits ^ (bits >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return bits ^ (bits >> np.uint64(32))
