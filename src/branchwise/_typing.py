"""Array aliases used in annotations."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[Any]
Ints: TypeAlias = NDArray[np.integer[Any]]
Bools: TypeAlias = NDArray[np.bool_]
# SciPy's sparse containers carry no types.
Sparse: TypeAlias = Any
Matrix: TypeAlias = Any  # dense or sparse
