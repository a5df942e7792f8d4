"""Forks that come from features of a few values, which make clumps of samples.

A category as a feature puts its levels at some distance from each other. Where it has little to do
with the numbers beside it, the samples become as many clumps, with empty space between them: a
tree of them has a branch to every clump. That is what the numbers say, but seldom what people look
for.
"""

from collections.abc import Sequence

import numpy as np

from .._messages import listed
from .._typing import Bools, Floats
from .core import Trajectory

# So many names in a message.
N_NAMED = 5


def two_valued(X: Floats) -> Bools:
    """Which columns have two values, beside those that are missing.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.clumps import two_valued
    >>> two_valued(np.array([[0.0, 1.0, 5.0], [1.0, 2.0, 5.0], [np.nan, 3.0, 5.0]])).tolist()
    [True, False, False]
    """
    low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    return np.asarray((low < high) & ((low == X) | (high == X) | np.isnan(X)).all(axis=0))


def n_tips(path: Trajectory) -> int:
    """The tips of a trajectory.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory import Trajectory
    >>> from branchwise.trajectory.clumps import n_tips
    >>> n_tips(Trajectory([[0, 1], [1, 2]], np.array([[0.0], [1.0], [2.0]])))
    2
    """
    return sum(name.startswith("T") for name in path.milestones_.index)


def clumps_message(groups: Sequence[str], found: Trajectory, without: Trajectory) -> str | None:
    """What to say of a trajectory that has other tips without these features, if it has.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory import Trajectory
    >>> from branchwise.trajectory.clumps import clumps_message
    >>> points = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [1.0, 1.0]])
    >>> path = Trajectory([[0, 1], [1, 2]], points[:3])
    >>> fork = Trajectory([[0, 1], [1, 2], [1, 3]], points)
    >>> print(clumps_message(["site"], fork, path))
    With 'site' among the features the tree has 3 tips, without it 2: a feature of a few values
    makes clumps of samples, which look like branches. Leave it out, or adjust for it, unless its
    groups are what you look for.
    >>> clumps_message(["site"], path, path) is None
    True
    """
    one, many, few = len(groups) == 1, n_tips(found), n_tips(without)
    if many == few:
        return None
    return (
        f"With {listed(map(repr, groups), N_NAMED)} among the features the tree has {many} tips, "
        f"without {'it' if one else 'them'} {few}: "
        f"{'a feature' if one else 'features'} of a few values {'makes' if one else 'make'} clumps "
        f"of samples, which look like branches. Leave {'it' if one else 'them'} out, or adjust for "
        f"{'it' if one else 'them'}, unless {'its' if one else 'their'} groups are what you look "
        "for."
    )
