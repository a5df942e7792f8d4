"""Columns that a page can colour by: what is known of the samples, as numbers or categories."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import KDTree

from .._compat import import_extra, import_pandas, pandas_of
from .._typing import Floats, Ints
from ..data.categories import are_numbers, as_floats, as_texts, declared_categories, numbered
from ..data.dask import check_not_dask
from ..data.row_order import row_keys
from ..trajectory import Trajectory
from ..trajectory.checks import check_order
from ..trajectory.geometry import data_scale
from .encoding import whole_or_single

# The value that stands for a missing category, by the type of the numbers.
MISSING = {"u1": 2**8 - 1, "u2": 2**16 - 1, "i4": -1}
# Categories that have colours of their own.
MOST_CATEGORIES = 16
DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?")


class Column(NamedTuple):
    """One value for each sample: a number, or the number of a category.

    Attributes
    ----------
    name, group : str
        Groups are "annotation", "feature" and "computed".
    values : array of shape (n_samples,)
        NaN is a missing number, −1 a missing category.
    labels : list of str, or None for numbers
    unit : str
    """

    name: str
    group: str
    values: Floats
    labels: list[str] | None = None
    unit: str = ""


def column_state(column: Column) -> dict[str, Any]:
    """A column as a page holds it.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.report.columns import Column, column_state
    >>> column_state(Column("sex", "annotation", np.array([0, -1]), ["f", "m"]))["codes"]
    array([  0, 255], dtype=uint8)
    """
    state: dict[str, Any] = {"name": column.name, "group": column.group}
    if column.labels is None:
        values = whole_or_single(column.values)
        return state | {"kind": "number", "unit": column.unit, "values": values}
    return state | {"kind": "category", "labels": column.labels, "codes": small_codes(column)}


def small_codes(column: Column) -> Ints:
    """The numbers of the categories in the smallest type that holds them."""
    n_labels = len(column.labels or ())
    name = "u1" if n_labels <= MISSING["u1"] else "u2" if n_labels <= MISSING["u2"] else "i4"
    return np.where(column.values < 0, MISSING[name], column.values).astype(name)


def annotation_columns(annotations: Any, names: Any) -> tuple[list[Column], list[str]]:
    """The columns of a table about the samples, and what there is to say about them.

    Parameters
    ----------
    annotations : DataFrame, Series, dict of columns or None
        One row for each sample, in their order; an index with their names has to agree.
    names : array of shape (n_samples,)
        The names of the samples.

    Returns
    -------
    columns : list of Column
    notes : list of str

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from branchwise.report.columns import annotation_columns
    >>> table = pd.DataFrame({"stage": ["II", "I"], "visit": pd.to_datetime(["2020-03-01", None])})
    >>> [stage, visit], _ = annotation_columns(table, np.array(["P1", "P2"]))
    >>> stage.labels, stage.values, visit.unit
    (['I', 'II'], array([1, 0]), 'days since 2020-03-01')
    """
    if annotations is None:
        return [], []
    frame = as_frame(annotations)
    if len(frame) != len(names):
        raise ValueError(
            f"annotations has {len(frame)} rows, but there are {len(names)} samples; pass one row "
            "for each, in their order."
        )
    check_order(frame, names, "annotations")
    found, notes = [], []
    for k, name in enumerate(unique_names(list(frame.columns))):
        column = annotation_column(name, frame.iloc[:, k])
        if column.labels is None and np.isinf(column.values).any():
            n_infinite = int(np.isinf(column.values).sum())
            notes.append(f"{n_infinite:,} infinite values of {name!r} are shown as missing.")
            column = column._replace(
                values=np.where(np.isinf(column.values), np.nan, column.values)
            )
        found.append(column)
    return found, notes


def as_frame(annotations: Any) -> Any:
    """A table of pandas, also of one column, a dict, or a table of polars."""
    pandas = import_extra("pandas", "a report with annotations", "trajectory")
    check_not_dask(annotations, "annotations")
    annotations = pandas_of(annotations, "annotations")
    if isinstance(annotations, pandas.Series):
        return annotations.to_frame()
    if isinstance(annotations, pandas.DataFrame):
        return annotations
    if isinstance(annotations, dict):
        try:
            return pandas.DataFrame(annotations)
        except OverflowError as error:
            raise ValueError(
                f"annotations holds a number that pandas cannot hold ({error}); pass it as text."
            ) from error
    raise TypeError(
        f"annotations is a {type(annotations).__name__}, but must be a DataFrame, a Series or a "
        "dict of columns, whose columns have names; pass pandas.DataFrame(annotations, columns=…)."
    )


def row_names(table: Any, n_rows: int) -> Any:
    """The index of a table of so many rows; None if it has none but numbers from 0 on.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.report.columns import row_names
    >>> row_names(pd.DataFrame({"sex": ["f", "m"]}, index=["P1", "P2"]), 2).tolist()
    ['P1', 'P2']
    """
    index = getattr(table, "index", None)
    if index is None or callable(index) or len(index) != n_rows:
        return None
    return None if index.tolist() == list(range(n_rows)) else index


def unique_names(names: Sequence[Any]) -> list[str]:
    """Names as text, those that are there already with a number.

    Examples
    --------
    >>> from branchwise.report.columns import unique_names
    >>> unique_names(["age", 1, "1", "age"])
    ['age', '1', '1 (2)', 'age (2)']
    """
    texts, taken = [str(name) for name in names], set[str]()
    seen, found = Counter[str](), []
    for text in texts:
        seen[text] += 1
        name = text if seen[text] == 1 else f"{text} ({seen[text]})"
        while name in taken:
            seen[text] += 1
            name = f"{text} ({seen[text]})"
        taken.add(name)
        found.append(name)
    return found


def annotation_column(name: str, series: Any) -> Column:
    """A column by its type: numbers, dates and durations in days, and all others as categories."""
    declared = declared_categories(series)
    if declared is not None:
        texts = np.array([*as_texts(list(declared)), None], dtype=object)
        codes, labels = numbered(texts[series.cat.codes.to_numpy()], declared)
        return Column(name, "annotation", codes, labels)
    days, unit = as_days(series)
    if days is not None:
        return Column(name, "annotation", days, unit=unit)
    values = series.to_numpy()
    if are_numbers(values):
        return Column(name, "annotation", as_floats(values))
    if values.dtype.kind not in "bOU":
        values = values.astype(object)
    codes, labels = numbered(values)
    return Column(name, "annotation", codes, labels)


def are_dates(texts: Any) -> bool:
    """Whether text is dates as a CSV file has them, too many to be told apart as categories.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.report.columns import are_dates
    >>> days = pd.Series(pd.date_range("2020-01-01", periods=30).strftime("%Y-%m-%d"))
    >>> are_dates(days), are_dates(days[:3])
    (True, False)
    """
    known = texts.dropna().unique()
    return len(known) > MOST_CATEGORIES and all(DATE.fullmatch(text) for text in known)


def as_days(series: Any) -> tuple[Floats | None, str]:
    """Dates as days since the first, durations as days, with their unit; None for all else."""
    pandas = import_pandas()
    kind = pandas.api.types.infer_dtype(series, skipna=True)
    day = pandas.Timedelta(days=1)
    if kind in {"timedelta", "timedelta64"}:
        return (pandas.to_timedelta(series) / day).to_numpy(np.float64), "days"
    if kind == "string" and are_dates(series):
        kind = "date"
    if kind not in {"date", "datetime", "datetime64"}:
        return None, ""
    try:
        dates = pandas.to_datetime(series, utc=True).dt.tz_localize(None)
    except (ValueError, TypeError):  # beyond the years that pandas knows
        return None, ""
    if dates.isna().all():
        return None, ""
    first = dates.min().normalize()
    return ((dates - first) / day).to_numpy(np.float64), f"days since {first.date().isoformat()}"


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
    >>> from branchwise.report.columns import computed_columns
    >>> from branchwise.trajectory import Trajectory
    >>> path = Trajectory([[0, 1]], np.array([[0.0, 0.0], [4.0, 0.0]]), np.array([[1.0, 3.0]]))
    >>> [(column.name, column.values) for column in computed_columns(path, 2)]
    [('distance from the tree', array([3.]))]
    """
    distance = Column(
        "distance from the tree", "computed", path.distance_, unit="units of the data"
    )
    found = [distance, density(path.view.points[:, :dims]), uncertainty(path)]
    return [column for column in found if column is not None]


def density(points: Floats) -> Column | None:
    """Neighbours of each sample per unit of what they lie in, on a logarithmic scale.

    None for fewer than two samples, and for samples that all lie in few places.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.report.columns import density
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
    model, view = path.estimator_, path.view
    spread = getattr(model, "posterior_std_", None)
    if spread is not None and model.gamma_ > 0 and len(spread) == len(view.points):
        unit = "standard deviation, in units of the data"
        return Column("uncertainty", "computed", spread * data_scale(model), unit=unit)
    if view.sigma == 0:
        return None
    rest = np.empty(len(view.points))
    step = max(1, MAX_BLOCK // len(view.branches.names))
    for start in range(0, len(rest), step):
        rows = slice(start, start + step)
        rest[rows] = 1 - view.probabilities(view.points[rows]).max(axis=1)
    unit = "1 − probability of the branch"
    return Column("uncertainty", "computed", np.clip(rest, 0.0, 1.0), unit=unit)
