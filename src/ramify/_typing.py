"""Array aliases used in annotations."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.floating[Any]]
Ints: TypeAlias = NDArray[np.integer[Any]]
Bools: TypeAlias = NDArray[np.bool_]
# SciPy ships no types; a sparse matrix or array of any format.
Sparse: TypeAlias = Any
