"""The features in a page: which of many, their values, and their trends along the branches."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._compat import import_extra, pandas_of
from .._typing import Floats, Ints, Matrix
from ..data.dask import check_not_dask
from ..trajectory import Trajectory
from ..trajectory.association import associated_features
from ..trajectory.checks import check_features, check_order, choose_features, feature_blocks
from .encoding import single

# So many features are in a page if nobody names others, and so many numbers in all.
MAX_FEATURES = 60
MAX_FEATURE_VALUES = 8_000_000
# Which features change most is seen from so many samples.
MAX_COMPARED = 20_000
# Functions on a graph of more branches take long to fit, and nobody would look at all of them.
MAX_BRANCHES = 60
# Points of all trends, about: so close that wherever there are samples there is one. A short branch
# has at least as many as a smooth curve needs, and a long one at most as many as can be seen.
N_POINTS = 300
LEAST_POINTS, MOST_POINTS = 25, 101
LEVEL = 0.95


class Features(NamedTuple):
    """Values of features as in the input, dense or CSC, and their names."""

    values: Matrix
    names: list[str]

    def column(self, k: int) -> Floats:
        """The values of one feature."""
        column = self.values[:, [k]]
        dense = column.toarray() if sparse.issparse(column) else column
        return np.asarray(dense, dtype=np.float64).ravel()

    def take(self, columns: Sequence[int] | Ints) -> "Features":
        """Some of them."""
        chosen = np.asarray(columns, dtype=np.intp)
        return Features(self.values[:, chosen], [self.names[k] for k in chosen])


def given_features(path: Trajectory, values: Any, names: Any, show: Any = ()) -> Features | None:
    """What the user passed, checked.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.report.features import given_features
    >>> from branchwise.trajectory import Trajectory
    >>> path = Trajectory([[0, 1]], np.array([[0.0], [4.0]]))
    >>> given_features(path, np.zeros((2, 2)), None).names
    ['x0', 'x1']
    """
    if values is None:
        for option, given in (("feature_names", names), ("show", show)):
            if given is not None and len(given):
                raise ValueError(
                    f"{option} names features, but there are none; pass their values as well "
                    "(features, or X of an estimator's to_html)."
                )
        return None
    import_extra("pandas", "a report with features", "trajectory")
    check_not_dask(values, "features")
    values = pandas_of(values, "features")
    check_order(values, path.names_, "features")
    has_names = names is not None or hasattr(values, "columns")
    checked, found = check_features(values, names, len(path.names_), "features")
    # As scikit-learn calls features without names.
    return Features(checked, [str(name) if has_names else f"x{name}" for name in found])


def features_in_page(
    path: Trajectory, given: Features, n_rows: int, show: Any = ()
) -> tuple[Features, dict[str, Any] | None, list[str]]:
    """Features for a page (see `chosen_features`), their trends, and what to say about both."""
    chosen, notes = chosen_features(path, given, n_rows, show)
    trends, more = trends_state(path, chosen)
    return chosen, trends, [*notes, *more]


def chosen_features(
    path: Trajectory, given: Features, n_rows: int, show: Any = ()
) -> tuple[Features, list[str]]:
    """The features for a page, those that change most first, and what there is to say about them.

    Parameters
    ----------
    path : Trajectory
    given : Features
    n_rows : int
        Numbers of each feature in the page.
    show : sequence of str
        Features that have to be there; they come first.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.report.features import chosen_features, given_features
    >>> from branchwise.trajectory import Trajectory
    >>> time = np.arange(9.0)
    >>> path = Trajectory([[0, 1]], np.array([[0.0], [8.0]]), time[:, np.newaxis])
    >>> given = given_features(path, np.column_stack([np.cos(5 * time), time**2]), ["a", "b"])
    >>> chosen_features(path, given, 9)[0].names
    ['b', 'a']
    """
    wanted = choose_features(given.names, show, "show") if len(show) else []
    room = MAX_FEATURE_VALUES // max(n_rows, 1)
    if len(wanted) > room:
        raise ValueError(
            f"show names {len(wanted):,} features of {n_rows:,} values each, but a page holds at "
            f"most {MAX_FEATURE_VALUES:,} such numbers; name at most {room:,}."
        )
    order, how = ranking(path, given)
    is_wanted = np.isin(order, wanted)
    others = order[~is_wanted].tolist()
    n_others = min(MAX_FEATURES, room - len(wanted))
    chosen = given.take([*wanted, *others[:n_others]])
    n_shown, n_given = len(chosen.names), len(given.names)
    if n_shown == n_given:
        return chosen, []
    asked = " those that were asked for, and" if wanted else ""
    note = (
        f"{n_shown:,} of {n_given:,} features are in this page:{asked} those that {how}. Others "
        "can be added by name: branchwise report OUT --feature NAME, or show=[…] in Python."
    )
    return chosen, [note]


def ranking(path: Trajectory, given: Features) -> tuple[Ints, str]:
    """All features, those that change most first, and in which sense they do."""
    rows = some_rows(len(path.names_))
    if len(path.view.branches.names) > MAX_BRANCHES:
        # Of few components: enough of them would explain everything.
        explained = explained_by(path.view.points[:, :3], given.values, rows)
        return np.argsort(-explained, kind="stable"), "change most across the embedding"
    found = path.view.branches
    placed = found.placed._replace(
        edge=found.placed.edge[rows], position=found.placed.position[rows]
    )
    values = given.values if len(rows) == given.values.shape[0] else given.values[rows]
    tests = associated_features(placed, found.start_time, values, end_time=found.end_time)
    return tests["feature"].to_numpy(dtype=np.intp), "change most along the tree"


def some_rows(n_samples: int) -> Ints:
    """All samples, or as many as are compared, evenly.

    Examples
    --------
    >>> from branchwise.report.features import some_rows
    >>> len(some_rows(10)), len(some_rows(1_000_000))
    (10, 20000)
    """
    n_rows = min(n_samples, MAX_COMPARED)
    return np.linspace(0, n_samples - 1, n_rows).round().astype(np.intp)


def explained_by(points: Floats, values: Matrix, rows: Ints) -> Floats:
    """The part of each feature's variance that a linear function of the points explains.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.report.features import explained_by
    >>> points = np.array([[0.0], [1.0], [2.0]])
    >>> explained_by(points, np.array([[0.0, 1.0], [2.0, 0.0], [4.0, 1.0]]), np.arange(3))
    array([1., 0.])
    """
    explained = np.zeros(values.shape[1])
    for block in feature_blocks(values, rows):
        kept, Y = points[rows][block.rows], block.values
        if len(Y) == 0:
            continue
        Y, A = Y - Y.mean(axis=0), kept - kept.mean(axis=0)
        along = np.linalg.qr(A)[0].T @ Y
        total = np.einsum("ij,ij->j", Y, Y)
        least = np.finfo(float).tiny
        part = np.einsum("ij,ij->j", along, along) / np.maximum(total, least)
        explained[block.columns] = np.where(total > least, np.minimum(part, 1.0), 0.0).round(12)
    return explained


def trends_state(path: Trajectory, chosen: Features) -> tuple[dict[str, Any] | None, list[str]]:
    """Trends of the features along the branches, unless there are too many of these."""
    branches = path.view.branches.names.tolist()
    if len(branches) > MAX_BRANCHES:
        note = (
            f"Trends of features are left out: the graph has {len(branches):,} branches, of which "
            f"at most {MAX_BRANCHES} are drawn; remove those that cannot be told from noise first "
            "(branchwise fit --prune, or Trajectory.prune in Python)."
        )
        return None, [note]
    numbers = list(range(len(chosen.names)))
    n_points = min(max(N_POINTS // len(branches), LEAST_POINTS), MOST_POINTS)
    table = path.trends(chosen.values, numbers, n_points=n_points, level=LEVEL)
    curves = {name: single(table[name].to_numpy()) for name in ("mean", "lower", "upper")}
    return {"n_points": n_points, **curves, "branches": branches, "level": LEVEL}, []
