"""Places, how much to trust them and which columns make them far, as one table."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._compat import import_pandas
from .._messages import is_for_command_line, listed
from .._typing import Floats
from ..trajectory.tables import placed_table
from ..trajectory.view import View
from .placer import Assessed

if TYPE_CHECKING:
    from pandas import DataFrame

# So many columns are named that may be called otherwise.
N_ALIKE = 3
# Columns that mean nothing where no root was given: branches are named from the root outwards.
OF_ROOTS = (
    "branch",
    "position",
    "pseudotime",
    "pseudotime_lower",
    "pseudotime_upper",
    "branch_probability",
    "likeliest_branch",
)


def table_of_places(view: View, points: Floats, assessed: Assessed, index: Any) -> "DataFrame":
    """One row per sample (`branchwise.pipeline.Pipeline.place` says what the columns mean).

    Parameters
    ----------
    view : View
    points : array of shape (n, n_components)
        Linear coordinates; NaN for a sample of which nothing is known.
    assessed : Assessed
    index : pandas.Index

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.placing.placer import unknown
    >>> from branchwise.placing.table import table_of_places
    >>> from branchwise.trajectory import Trajectory
    >>> path = Trajectory([[0, 1]], np.array([[0.0], [4.0]]))
    >>> points = np.array([[1.0], [np.nan]])
    >>> found = table_of_places(path.view, points, unknown(np.array([0, 2]), 1), None)
    >>> found["branch"].tolist(), found["pseudotime"].tolist(), found["missing"].tolist()
    (['T1-T2', None], [1.0, nan], [0, 2])
    """
    pandas = import_pandas()
    is_known = np.asarray(~np.isnan(points).any(axis=1))
    places = placed_table(view, np.where(is_known[:, np.newaxis], points, 0.0), None)
    branch = pandas.Index(view.branches.names).get_indexer(places["branch"])
    numbers = {
        "position": places["branch_position"],
        "pseudotime": places["pseudotime"],
        "distance": places["distance"],
        "p": assessed.p,
        "misfit": assessed.misfit,
        # The place itself is always among those that are likely.
        "pseudotime_lower": np.minimum(assessed.lower, places["pseudotime"]),
        "pseudotime_upper": np.maximum(assessed.upper, places["pseudotime"]),
        "branch_probability": assessed.branches[np.arange(len(points)), branch],
    }
    numbers = {name: np.where(is_known, values, np.nan) for name, values in numbers.items()}
    names = np.where(is_known, places["branch"].to_numpy(dtype=object), None)
    words = {"out_of_range": assessed.out_of_range, "drivers": assessed.drivers}
    likeliest = likeliest_branches(assessed.branches, view.branches.names)
    columns = {"branch": names, **numbers, "likeliest_branch": likeliest, **words}
    columns["missing"] = assessed.missing
    return pandas.DataFrame(columns, index=index)


def likeliest_branches(probabilities: Floats, names: Sequence[str]) -> Any:
    """The branch of the largest probability; None where nothing is known.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.placing.table import likeliest_branches
    >>> likeliest_branches(np.array([[0.2, 0.8], [np.nan, np.nan]]), ["a", "b"]).tolist()
    ['b', None]
    """
    found = np.array([*names, None], dtype=object)
    is_known = ~np.isnan(probabilities).any(axis=1)
    best = np.where(is_known, np.nan_to_num(probabilities).argmax(axis=1), len(names))
    return found[best]


def folded(name: str) -> str:
    """A name without capitals, blanks and signs.

    Examples
    --------
    >>> from branchwise.placing.table import folded
    >>> folded("Hb (g/dl)")
    'hbgdl'
    """
    return re.sub(r"[\W_]+", "", name.lower())


def absent_message(
    source: str,
    absent: list[str],
    n_features: int,
    spare: Sequence[str] = (),
    ages: Mapping[str, Sequence[str]] | None = None,
) -> str | None:
    """Which features a table does not have, and which of its other columns may be meant.

    Parameters
    ----------
    source : str
    absent : list of str
        Features; an age is one.
    n_features : int
        Of the model.
    spare : sequence of str, default=()
        Columns of the table that the model does not know.
    ages : mapping or None, default=None
        The two columns that each age is computed from.

    Returns
    -------
    message : str or None
        None on the command line for a table without any feature: it ends with an error.

    Examples
    --------
    >>> from branchwise.placing.table import absent_message
    >>> absent_message("new.csv", ["hb", "crp"], 20)
    "new.csv has no values of 2 of the 20 features: 'hb', 'crp'; its samples are placed by the
    others."
    >>> print(absent_message("new.csv", ["hb"], 20, ["HB", "site"]))
    new.csv has no values of 1 of the 20 features: 'hb'; its samples are placed by the others. Is
    'hb' the column 'HB'? Then give it that name.
    >>> print(absent_message("new.csv", ["age"], 20, ["age"], {"age": ("born", "seen")}))
    new.csv has no values of 1 of the 20 features: 'age' (from 'born' and 'seen'); its samples are
    placed by the others. The age 'age' is computed from 'born' and 'seen', and the column 'age' is
    not used.
    """
    if len(absent) == n_features:
        told = f"{source} has no value of any of the {n_features:,} features; nothing is placed."
        return None if is_for_command_line() else told
    ages = {} if ages is None else ages
    called = {folded(name): name for name in reversed(spare)}
    ready = "".join(
        f" The age {name!r} is computed from {dates_of(ages[name])}, and the column "
        f"{called[folded(name)]!r} is not used."
        for name in absent
        if name in ages and folded(name) in called
    )
    return (
        f"{source} has no values of {len(absent):,} of the {n_features:,} features: "
        f"{listed(in_words(absent, ages), 10)}; its samples are placed by the others."
        + alike_hint(columns_for(absent, ages), spare)
        + ready
    )


def nothing_there_message(
    source: str, features: Sequence[str], known: Sequence[str], ages: Mapping[str, Sequence[str]]
) -> str:
    """That a table has no feature at all, but other columns, some of which may be meant.

    Examples
    --------
    >>> from branchwise.placing.table import nothing_there_message
    >>> print(nothing_there_message("new.csv", ["hb", "crp"], ["Hb", "site"], {}))
    new.csv lacks 2 of the 2 features of the model: 'hb', 'crp'; add these columns. Is 'hb' the
    column 'Hb'? Then give it that name.
    """
    n = len(features)
    return (
        f"{source} lacks {n:,} of the {n:,} features of the model: "
        f"{listed(in_words(features, ages), 10)}; add these columns."
        + alike_hint(columns_for(features, ages), known)
    )


def dates_of(age: Sequence[str]) -> str:
    """The two columns that an age is computed from."""
    return " and ".join(map(repr, age))


def in_words(features: Sequence[str], ages: Mapping[str, Sequence[str]]) -> list[str]:
    """Features in quotation marks, and what an age is computed from.

    Examples
    --------
    >>> from branchwise.placing.table import in_words
    >>> in_words(["hb", "age"], {"age": ("born", "seen")})
    ["'hb'", "'age' (from 'born' and 'seen')"]
    """
    return [
        f"{name!r} (from {dates_of(ages[name])})" if name in ages else repr(name)
        for name in features
    ]


def columns_for(features: Sequence[str], ages: Mapping[str, Sequence[str]]) -> list[str]:
    """The columns of a table that features are made of, each once."""
    return list(dict.fromkeys(name for each in features for name in ages.get(each, (each,))))


def alike_hint(absent: Sequence[str], spare: Sequence[str]) -> str:
    """Which other columns may be meant, with a blank before it; empty if there is none.

    Examples
    --------
    >>> from branchwise.placing.table import alike_hint
    >>> alike_hint(["hb", "crp"], ["HB", "site"])
    " Is 'hb' the column 'HB'? Then give it that name."
    """
    called = {folded(name): name for name in reversed(spare)}
    alike = [(name, called[folded(name)]) for name in absent if folded(name) in called][:N_ALIKE]
    if not alike:
        return ""
    pairs = " and ".join(f"{name!r} the column {found!r}" for name, found in alike)
    return f" Is {pairs}? Then give {'it that name' if len(alike) == 1 else 'them these names'}."
