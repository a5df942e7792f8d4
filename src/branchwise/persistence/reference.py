"""How far training rows lie from a tree, as a state that a model file holds, and back."""

from typing import Any

import numpy as np

from .._typing import Floats
from ..placing.reference import Reference
from .fields import Fields, is_covariance
from .format import Unsound

NAMES = ("spread", "noise", "varies", "low", "high", "misfit")


def reference_state(reference: Reference | None) -> dict[str, Any] | None:
    """All numbers of it.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.persistence.reference import reference_from_state, reference_state
    >>> from branchwise.placing.reference import Reference
    >>> one, none = np.ones(1), np.array([], dtype=np.intp)
    >>> varies, low = one > 0, 0 * one
    >>> made = Reference(np.eye(1), one, varies, low, one, none, np.empty(0), none, np.inf, 0.1)
    >>> reference_from_state(reference_state(made), (1, 1, 5)).noise
    array([1.])
    """
    if reference is None:
        return None
    state: dict[str, Any] = {name: getattr(reference, name) for name in NAMES}
    state |= {name: getattr(reference, name).astype(np.int64) for name in ("rows", "n_known")}
    return state | {"usual": float(reference.usual), "room": float(reference.room)}


def reference_from_state(state: Any, sizes: tuple[int, int, int]) -> Reference | None:
    """The reference of a state, with every part of it checked; None of an older file.

    Parameters
    ----------
    state : dict or None
    sizes : (int, int, int)
        Components, prepared columns and samples of the model that it belongs to.
    """
    if state is None:
        return None
    fields = Fields(state, "reference")
    given = dict(zip(("n_axes", "n_prepared", "n_samples"), sizes, strict=True))
    fields.sizes |= given
    spread = fields.floats("spread", "n_axes", "n_axes")
    if not is_covariance(spread):
        raise Unsound("has a spread in reference that is not the covariance of anything")
    noise = fields.floats("noise", "n_prepared", low=float(np.finfo(np.float64).tiny))
    varies = fields.take("varies")
    if (
        not isinstance(varies, np.ndarray)
        or varies.dtype.kind != "b"
        or varies.shape != noise.shape
    ):
        raise Unsound(f"has varies in reference other than {len(noise)} truth values")
    low, high = fields.doubles("low", "n_prepared"), fields.doubles("high", "n_prepared")
    if not (low <= high).all():
        raise Unsound("has ranges in reference that end before they begin")
    rows, n_known = (_whole(fields, name) for name in ("rows", "n_known"))
    misfit = fields.floats("misfit", "n_scored", low=0.0)
    usual, room = fields.number("usual"), fields.number("room")
    fields.finish()
    if len(rows) and not (rows[0] >= 0 and (np.diff(rows) > 0).all() and rows[-1] < sizes[2]):
        raise Unsound(f"has rows in reference that are not rows, in order, of {sizes[2]}")
    if not ((n_known > 0) & (n_known <= sizes[1])).all():
        raise Unsound(
            f"has numbers of known columns in reference that are not from 1 to {sizes[1]}"
        )
    if not usual > 0:
        raise Unsound(f"has usual={usual!r} in reference but it must be above 0")
    if not 0 <= room < np.inf:
        raise Unsound(f"has room={room!r} in reference but it must be a number from 0")
    rows, n_known = rows.astype(np.intp), n_known.astype(np.intp)
    return Reference(spread, noise, varies, low, high, rows, misfit, n_known, usual, room)


def _whole(fields: Fields, name: str) -> Floats:
    """Whole numbers, one for each row that was held out."""
    values = fields.take(name)
    if not isinstance(values, np.ndarray) or values.dtype.kind != "i" or values.ndim != 1:
        raise Unsound(f"has {name} in reference that are not an array of integers")
    if fields.sizes.setdefault("n_scored", len(values)) != len(values):
        raise Unsound(f"has {len(values)} {name} in reference for others that were held out")
    return values
