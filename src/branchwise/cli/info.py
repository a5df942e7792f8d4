"""`branchwise info`: what a model or a table holds."""

import argparse
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._messages import listed
from ..data.advice import (
    advise_on_copies,
    advise_on_far_values,
    advise_on_prepared,
    advise_on_size,
    advise_on_variance,
    moments_of,
)
from ..data.columns import columns, named_columns
from ..data.errors import UnknownNameError, UnreadableColumns
from ..data.profile import ANNOTATION, EXCLUDED, FEATURE, ID, STOPS, ColumnProfile, kind_of
from ..io.raw import Cells, profile_cells, read_cells
from ..persistence.loading import MODEL
from ..pipeline import check_left_out, features_of, measured
from ..preprocessing import Preparation
from ..preprocessing.encoding import CATEGORY, DATE, END, ORDINAL, Encoding
from .console import Console, Failure, Usage
from .profiles import describe_table, terminal_width
from .request import STEPS, asked_for, check_columns, check_not_id, encodings, reading_of
from .results import RUN


def run(options: argparse.Namespace, console: Console) -> None:
    """Describe the file by its kind."""
    path = Path(options.path)
    if (path / RUN).is_file():
        path = path / MODEL
    if path.suffix == ".branchwise":
        facts = model_facts(path)
        width = max(len(name) for name in facts) + 2
        text = "\n".join(f"{name:<{width}}{show(value)}" for name, value in facts.items())
    else:
        facts, profiles = table_facts(path, options)
        text = describe_table(facts, profiles, terminal_width())
    console.result(facts, text)


def table_facts(
    path: Path, options: argparse.Namespace
) -> tuple[dict[str, Any], list[ColumnProfile]]:
    """What is in a table, and what `branchwise fit` would say of it."""
    cells = read_cells(path, **reading_of(options))
    preparation, encoded, problem = planned(cells, options)
    problem = misspelt(cells, asked_for(options, preparation)) or problem
    step, wrong, told = tried(cells, preparation, problem)
    notes = [*cells.notes, *told]
    profiles = profile_cells(cells, encoded)
    n_samples = len(cells.frame) if cells.frame is not None else 0
    n_samples = cells.X.shape[0] if cells.X is not None else n_samples
    of = {fate: [p for p in profiles if p.fate == fate] for fate in FATES}
    facts = {
        "table": str(path),
        "samples": n_samples,
        "sample names": [] if cells.table is None else cells.table.samples[:5],
        "id": of[ID][0].name if of[ID] else None,
        "features": len(of[FEATURE]),
        "annotations": [p.name for p in (*of[ANNOTATION], *of[EXCLUDED])],
        "stops": [p.name for p in of[STOPS]],
        "sparse": bool(sparse.issparse(cells.X)),
        "missing": sum(p.missing for p in of[FEATURE]),
        "fit": problem or said_by_fit(cells, preparation) or wrong,
        "advice": notes + advised(cells, encoded, step),
        "columns": [as_facts(p) for p in profiles],
    }
    return facts, profiles


# Letters of a parameter that are shown.
MOST_SHOWN = 100

FATES = (FEATURE, ANNOTATION, ID, EXCLUDED, STOPS)
ENCODED_AS = {
    CATEGORY: "category",
    ORDINAL: "ordered category",
    DATE: "date",
    END: "date of an age",
}


def planned(
    cells: Cells, options: argparse.Namespace
) -> tuple[Preparation, dict[str, str], str | None]:
    """What is to be encoded: by which preparation, which columns as what, and what is wrong."""
    preparation = Preparation(**encodings(options))
    if not preparation.encodes:
        return preparation, {}, None
    try:
        preparation.check_parameters()
        plan = preparation.plan(cells.names, cells.source)
        if cells.table is not None:
            check_not_id(preparation.asked(), cells.table.id, cells.source)
        check_left_out(options.exclude, preparation, cells.names, cells.source)
    except (ValueError, Usage) as error:
        return preparation, {}, None if cells.error is not None else str(error)
    kinds = plan.kinds
    encoded = {name: ENCODED_AS[kinds[name]] for name in plan.columns}
    return preparation, encoded, None


def tried(
    cells: Cells, preparation: Preparation, problem: str | None
) -> tuple[Encoding | None, str | None, list[str]]:
    """The encoding as asked, or why there is none, and what a fit would warn of."""
    if problem or cells.table is None or not preparation.encodes:
        return None, None, []
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            names = features_of(cells.table, preparation, [])
            frame = named_columns(cells.table, names)
            step = Encoding.fit(frame, preparation.plan(names, cells.source))
            step.warn_of_ages(step.apply(frame), cells.table.samples)
        except ValueError as error:
            return None, str(error), []
    return step, None, [str(each.message) for each in said if each.category is UserWarning]


def said_by_fit(cells: Cells, preparation: Preparation) -> str | None:
    """Why `branchwise fit` would stop without further options; None if it would not."""
    from .fit import check_missing, with_gaps

    if isinstance(cells.error, UnreadableColumns):
        return str(with_gaps(cells.error, preparation))
    if cells.error is not None or cells.table is None:
        return str(cells.error)
    try:
        check_missing(cells.table, preparation)
    except Failure as error:
        return str(error)
    return None


def misspelt(cells: Cells, asked: dict[str, list[str]]) -> str | None:
    """Which columns options name that are not there."""
    try:
        check_columns(asked, None, [name for name in cells.names if name], cells.source)
    except UnknownNameError as error:
        return str(error)
    return None


def advised(cells: Cells, encoded: Collection[str], step: Encoding | None) -> list[str]:
    """What `branchwise fit` would warn of that no single column shows.

    Copies are looked for among the numbers, and units among all that has some, encoded or not. Of
    a table at which a fit would stop, the columns that can be read are looked at.
    """
    table = cells.table
    if table is None:
        X, names = readable_numbers(cells, encoded)
    else:
        names = [name for name in table.features if name not in encoded]
        X = columns(table, names)
    if not X.shape[0]:
        return []
    moments = moments_of(X)
    on_variance = (
        advise_on_variance(moments, names)
        if step is None or table is None
        else advise_on_prepared(*measured(step, step.apply(named_columns(table, step.columns)), []))
    )
    return [
        *advise_on_far_values(X, names, moments),
        *advise_on_copies(X, names, moments),
        *on_variance,
        *advise_on_size(X.shape[0], len(names) + len(encoded)),
    ]


def readable_numbers(cells: Cells, encoded: Collection[str]) -> tuple[Any, list[str]]:
    """The columns of numbers of a table of which others cannot be read, and their names."""
    if cells.frame is None:
        X = np.empty((0, 0)) if cells.X is None else cells.X
        return without_infinite(X), cells.features
    frame, numbers = cells.frame, dict[int, Any]()
    is_number = [kind_of(dtype) is not None for dtype in frame.dtypes]
    for j, verdict in enumerate(cells.verdicts):
        if verdict.fate == FEATURE and str(frame.columns[j]) not in encoded:
            if verdict.numbers is not None:
                numbers[j] = verdict.numbers
            elif is_number[j]:
                numbers[j] = None
    plain = [j for j, read in numbers.items() if read is None]
    X = np.empty((len(frame), len(numbers)))
    at = {j: k for k, j in enumerate(numbers)}
    X[:, [at[j] for j in plain]] = frame.iloc[:, plain].to_numpy(np.float64, na_value=np.nan)
    for j, read in numbers.items():
        if read is not None:
            X[:, at[j]] = read
    return without_infinite(X), [str(frame.columns[j]) for j in numbers]


def without_infinite(X: Any) -> Any:
    """The same with infinite values as missing ones."""
    if sparse.issparse(X):
        X = X.copy()
        X.data[np.isinf(X.data)] = np.nan
        return X
    return np.where(np.isinf(X), np.nan, X)


def as_facts(profile: ColumnProfile) -> dict[str, Any]:
    """A profile for JSON; what does not apply to the column is left out."""
    # `asdict` would copy all that is inside, which takes seconds for a genome.
    facts = {name: value for name, value in vars(profile).items() if value not in (None, (), "")}
    facts["name"] = profile.name  # maybe empty
    if profile.sentinels:
        facts["sentinels"] = [code._asdict() for code in profile.sentinels]
    if profile.unreadable:
        facts["unreadable"] = profile.unreadable._asdict()
    return facts


def model_facts(path: Path) -> dict[str, Any]:
    """What a model file holds."""
    from ..persistence.loading import load
    from ..pipeline import Pipeline
    from ..trajectory import Trajectory

    found = load(path)
    facts: dict[str, Any] = {"model": str(path), "bytes": path.stat().st_size}
    model, n_samples = found, None
    if isinstance(found, Pipeline):
        given = found.preparation.settings()
        made = found.placer.columns  # an age is one, and not its two dates
        facts["features"] = found.n_features
        facts["feature names"] = [made.names[j] for j in made.parts[:20]]
        facts["preparation"] = {name: given[name] for name in STEPS if given[name]}
        facts["trajectory"] = repr(found.trajectory) if found.is_rooted else "no root was given"
        model, n_samples = found.estimator, len(found.trajectory.names_)
    elif isinstance(found, Trajectory):
        facts["trajectory"] = repr(found)
        model, n_samples = found.estimator_, len(found.names_)
    if model is None:
        return facts
    parameters = {k: v for k, v in model.get_params(deep=False).items() if k != "callback"}
    return facts | {
        "method": type(model).__name__,
        "parameters": {
            k: v if isinstance(v, int | float | str | None) else short(v)
            for k, v in parameters.items()
        },
        "samples": len(model.embedding_) if n_samples is None else n_samples,
        "components": model.embedding_.shape[1],
        "objective": float(model.objective_),
        "iterations": int(model.n_iter_),
        "converged": bool(model.converged_),
    }


def short(value: Any) -> str:
    """A parameter in a few words: of matrices, what they are and how large.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.cli.info import short
    >>> short(np.zeros((3, 2))), short({"gamma": 0.1})
    ('ndarray of 3 x 2', "{'gamma': 0.1}")
    >>> short({"R": np.zeros((3, 2))})
    '{R: ndarray of 3 x 2}'
    """
    shape = getattr(value, "shape", None)
    if shape is not None:
        return f"{type(value).__name__} of {' x '.join(f'{n:,}' for n in shape)}"
    if isinstance(value, dict) and any(hasattr(part, "shape") for part in value.values()):
        return f"{{{', '.join(f'{name}: {short(part)}' for name, part in value.items())}}}"
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else f"{type(value).__name__}(…)"


def in_words(value: Any) -> str:
    """A fact within a fact: which columns, and for an ordered category its levels.

    Examples
    --------
    >>> from branchwise.cli.info import in_words
    >>> in_words({"grade": ["low", "high"], "stage": ["I", "II"]}), in_words(["sex", "smoker"])
    ('grade (low, high) and stage (I, II)', 'sex and smoker')
    """
    if isinstance(value, dict):
        value = [f"{name} ({', '.join(map(str, parts))})" for name, parts in value.items()]
    if not isinstance(value, list | tuple):
        return f"{value:.6g}" if isinstance(value, float) else str(value)
    *most, last = map(str, value or ["none"])
    return f"{', '.join(most)} and {last}" if most else last


def show(value: Any) -> str:
    """A fact for people."""
    if isinstance(value, dict):
        return listed(f"{name}={in_words(fact)}" for name, fact in value.items()) or "none"
    if isinstance(value, list):
        return listed(value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return (
        f"{value:,}"
        if isinstance(value, int)
        else f"{value:.6g}"
        if isinstance(value, float)
        else str(value)
    )
