"""What features of a few values do to a tree: make clumps of samples, or hide forks.

A category as a feature puts its levels at some distance from each other. Where it has little to do
with the numbers beside it, the samples become as many clumps, with empty space between them, and a
tree of them may have a branch to every clump; or they blur what the numbers say. So the default way
looks once more without such features, and says if that is another tree.
"""

import warnings
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from .._messages import listed
from .._typing import Bools, Floats
from ..data.dask import is_dask
from ..preprocessing import Preparation
from ..preprocessing.encoding import CATEGORY, END, NUMBER, ORDINAL
from .core import Trajectory
from .learning import learn

# So many names in a message.
N_NAMED = 5
# Fewer other features are not a table to learn from.
LEAST_LEFT = 2


def groups_message(
    path: Trajectory, rows: Any, about: Any, preparation: Preparation, learning: dict[str, Any]
) -> str | None:
    """What to say of a tree that has other tips without features of a few values.

    Nothing of sparse tables, those not in memory, and where fewer than two other features vary.

    Parameters
    ----------
    path : Trajectory
        Learned from the prepared rows.
    rows : DataFrame, sparse matrix or Dask array
        As they were before the preparation.
    about : DataFrame or None
        What is adjusted for.
    preparation : Preparation
        Fitted.
    learning : dict
        The arguments of `learn`.
    """
    if is_dask(rows) or sparse.issparse(rows):
        return None
    groups = groups_among(rows, preparation)
    if not groups or rows.shape[1] - len(groups) < LEAST_LEFT:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a fit that nobody asked for
        X = prepared_without(groups, rows, about, preparation)
        if np.count_nonzero(np.ptp(X, axis=0)) < min(LEAST_LEFT, X.shape[1]):
            return None
        options = {name: value for name, value in learning.items() if name != "callback"}
        if isinstance(options.get("n_components"), Integral):
            options["n_components"] = min(options["n_components"], *X.shape)
        return tips_message(groups, n_tips(path), n_tips(learn(X, **options)))


def groups_among(rows: Any, preparation: Preparation) -> list[str]:
    """The features that are categories, or have two values.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise import Preparation
    >>> from branchwise.trajectory.clumps import groups_among
    >>> rows = pd.DataFrame({"sex": list("fmf"), "er": [0, 1, 1], "age": [31, 45, 60]})
    >>> groups_among(rows, Preparation(categorical=["sex"]).fit(rows))
    ['sex', 'er']
    """
    step = preparation.steps_.get("encode")
    kinds = dict.fromkeys(rows.columns, NUMBER)
    found: set[str] = set()
    if step is not None:
        kinds = dict(zip(step.columns, step.kinds, strict=True))
        levels = dict(zip(step.columns, step.levels, strict=True))
        of_two = {n for n, of in levels.items() if of is not None and len(of) == 2}
        found = {n for n, kind in kinds.items() if kind == CATEGORY}
        found |= {n for n in of_two if kinds[n] == ORDINAL}
    numbers = [name for name in rows.columns if kinds[name] == NUMBER]
    is_few = two_valued(rows[numbers].to_numpy(np.float64))
    found |= {name for name, few in zip(numbers, is_few, strict=True) if few}
    return [name for name in rows.columns if name in found]


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


def prepared_without(
    groups: Sequence[str], rows: Any, about: Any, preparation: Preparation
) -> Floats:
    """The rows as the same preparation makes them without some features."""
    out, plan = set(groups), preparation.plan(list(rows.columns), "X")
    left = [name for name in rows.columns if name not in out]
    ordinal = {name: levels for name, levels in plan.ordinal.items() if name not in out}
    kinds = plan.kinds
    n_columns = sum(kinds.get(name) != END for name in left) + len(plan.ages)
    pca = None if preparation.pca is None else min(preparation.pca, n_columns, len(rows))
    same = clone(preparation).set_params(categorical=None, ordinal=ordinal or None, pca=pca)
    return np.asarray(same.fit_transform(rows[left], covariates=about))


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
    return sum(name.startswith("T") for name in path.view.milestone_names.values())


def tips_message(groups: Sequence[str], n_with: int, n_without: int) -> str | None:
    """What to say of other numbers of tips with these features and without them.

    Examples
    --------
    >>> from branchwise.trajectory.clumps import tips_message
    >>> print(tips_message(["site"], 3, 2))
    With 'site' among the features the tree has 3 tips, without it 2: a feature of a few values
    makes clumps of samples, which look like branches. Leave it out, or adjust for it, unless its
    groups are what you look for.
    >>> print(tips_message(["sex", "site"], 2, 3))
    With 'sex', 'site' among the features the tree has 2 tips, without them 3: features of a few
    values blur branches that the others show. Leave them out, or adjust for them, unless their
    groups are what you look for.
    >>> tips_message(["site"], 2, 2) is None
    True
    """
    if n_with == n_without:
        return None
    one = len(groups) == 1
    it, its = ("it", "its") if one else ("them", "their")
    what = (
        f"{'makes' if one else 'make'} clumps of samples, which look like branches"
        if n_with > n_without
        else f"{'blurs' if one else 'blur'} branches that the others show"
    )
    return (
        f"With {listed(map(repr, groups), N_NAMED)} among the features the tree has {n_with} tips, "
        f"without {it} {n_without}: {'a feature' if one else 'features'} of a few values {what}. "
        f"Leave {it} out, or adjust for {it}, unless {its} groups are what you look for."
    )
