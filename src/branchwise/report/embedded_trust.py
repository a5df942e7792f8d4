"""What a page needs to say how much to trust a place, as `Placer.assess` does."""

from typing import Any

import numpy as np

from .._typing import Floats
from ..placing.places import places_of, stretches_of
from ..placing.reference import Reference
from ..placing.trust import LEVEL
from ..placing.words import N_NAMED
from ..trajectory import Trajectory
from .columns import Column
from .encoding import double, indices


def trust_size(reference: Reference | None) -> int:
    """How many numbers a page holds of it.

    Examples
    --------
    >>> from branchwise.report.embedded_trust import trust_size
    >>> trust_size(None)
    0
    """
    if reference is None:
        return 0
    kept = (reference.spread, reference.noise, reference.low, reference.high, reference.misfit)
    return sum(part.size for part in kept)


def trust_state(path: Trajectory, reference: Reference | None) -> dict[str, Any] | None:
    """Scatter and noise around the tree, its places, and the scores of rows that were held out.

    Places are told as those of samples, on the edges of the graph, and their stretches by both
    ends, so that branch and times of each follow from any root.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise import learn_trajectory
    >>> from branchwise.report.embedded_trust import trust_state
    >>> path = learn_trajectory(load_iris().data, support=0)
    >>> found = trust_state(path, path.reference_)
    >>> len(found["noise"]), len(found["scores"]), float(found["weights"].sum().round(6))
    (4, 150, 1.0)
    """
    if reference is None:
        return None
    places, placement, stretches = places_of(path.view), path.placement_, stretches_of(path.view)
    center, beyond = reference.calibration
    return {
        "spread": double(reference.spread),
        "noise": double(reference.noise),
        "varies": reference.varies.astype(np.uint8),
        "low": double(reference.low),
        "high": double(reference.high),
        "edge": indices(placement.edge[places.sample]),
        "position": double(placement.position[places.sample]),
        "end_edges": indices(stretches.edge.ravel()),  # the first ends of all, then the last
        "end_positions": double(stretches.position.ravel()),
        "lengths": double(stretches.lengths),
        "weights": double(places.weights),
        "scores": double(reference.sorted_scores),
        "center": center,
        "beyond": beyond,
        "room": reference.room,
        "usual": reference.usual if np.isfinite(reference.usual) else None,
        "level": LEVEL,
        "n_named": N_NAMED,
    }


def held_out_columns(path: Trajectory, reference: Reference | None) -> list[Column]:
    """Misfit and p of the samples by trees that were learned without them, where that was done.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise import learn_trajectory
    >>> from branchwise.report.embedded_trust import held_out_columns
    >>> path = learn_trajectory(load_iris().data, support=0)
    >>> [column.name for column in held_out_columns(path, path.reference_)]
    ['misfit when held out', 'p when held out']
    """
    if reference is None or not len(reference.rows):
        return []
    return [
        Column("misfit when held out", "computed", spread(path, reference, reference.misfit)),
        Column(
            "p when held out",
            "computed",
            spread(path, reference, reference.own_p),
            unit="part of the samples that lie as far; held out of the fit",
        ),
    ]


def spread(path: Trajectory, reference: Reference, values: Floats) -> Floats:
    """Values of the rows that were held out among all; NaN for the others."""
    found = np.full(len(path.view.points), np.nan)
    found[reference.rows] = values
    return found
