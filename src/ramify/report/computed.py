"""Columns that follow from the places of the samples: distance, density, uncertainty."""

import numpy as np
from scipy.spatial import KDTree

from .._typing import Floats
from ..rows import row_keys
from ..trajectory import Trajectory
from .columns import Column

# Density is that of so many neighbours.
N_NEIGHBORS = 30
# A ball of radius 1 in as many dimensions, and what its size is called.
BALLS = {1: (2.0, "length"), 2: (np.pi, "area"), 3: (4 * np.pi / 3, "volume")}
# Probabilities that are held at a time (32 MiB).
MAX_BLOCK = 2**22


def computed_columns(path: Trajectory, dims: int) -> list[Column]:
    """Distance from the tree, density and, where a model tells it, uncertainty.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.report.computed import computed_columns
    >>> from ramify.trajectory import Trajectory
    >>> path = Trajectory([[0, 1]], np.array([[0.0, 0.0], [4.0, 0.0]]), np.array([[1.0, 3.0]]))
    >>> [(column.name, column.values) for column in computed_columns(path, 2)]
    [('distance from the tree', array([3.]))]
    """
    distance = Column(
        "distance from the tree", "computed", path.distance_, unit="units of the data"
    )
    found = [distance, density(path._samples.points[:, :dims]), uncertainty(path)]
    return [column for column in found if column is not None]


def density(points: Floats) -> Column | None:
    """Neighbours of each sample per unit of what they lie in, on a logarithmic scale.

    None for fewer than two samples, and for samples that all lie in few places.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.report.computed import density
    >>> density(np.array([[0.0], [1.0], [3.0]])).values.round(3)  # 2 neighbours within 3, 2 and 3
    array([-0.477, -0.301, -0.477])
    """
    n_points, dims = points.shape
    k = min(N_NEIGHBORS, n_points - 1)
    if k < 1:
        return None
    # A search among many equal points would look at all of them; no more than these are needed.
    _, first, number, count = np.unique(
        row_keys(points), return_index=True, return_inverse=True, return_counts=True
    )
    some = points[np.repeat(first, np.minimum(count, k + 1))]
    # The first neighbour is the point itself.
    radius = KDTree(some).query(points[first], [k + 1])[0].ravel()[number]
    if not radius.any():
        return None
    # More equal points than neighbours: as dense as the densest that can be told.
    radius = np.maximum(radius, radius[radius > 0].min())
    size, name = BALLS[dims]
    values = np.log10(k / size) - dims * np.log10(radius)
    return Column("density", "computed", values, unit=f"log₁₀ of samples per unit of {name}")


def uncertainty(path: Trajectory) -> Column | None:
    """How sure the place of each sample is, if the model tells it."""
    model, samples = path.estimator_, path._samples
    spread = getattr(model, "posterior_std_", None)
    if spread is not None and model.gamma_ > 0 and len(spread) == len(samples.points):
        unit = "standard deviation, in units of the data"
        return Column("uncertainty", "computed", spread * samples.scale, unit=unit)
    if samples.sigma == 0:
        return None
    rest = np.empty(len(samples.points))
    step = max(1, MAX_BLOCK // len(path._branches.names))
    for start in range(0, len(rest), step):
        rows = slice(start, start + step)
        rest[rows] = 1 - path._probabilities(samples.points[rows]).max(axis=1)
    unit = "1 − probability of the branch"
    return Column("uncertainty", "computed", np.clip(rest, 0.0, 1.0), unit=unit)
