"""A fitted preparation as nested dicts of JSON values and arrays, and back, with checks."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import Ints
from ..data.dates import ORDERS
from ..data.instants import instant
from ..data.selection import exact, literal
from ..preprocessing.covariates import Residuals
from ..preprocessing.encoding import CATEGORY, DATE, END, NUMBER, ORDINAL, Encoding, Plan, in_list
from ..preprocessing.steps import Axes, Logarithms, Medians, NormalScores, Scales, TreeMeans
from .fields import is_covariance

if TYPE_CHECKING:
    from ..preprocessing.core import Preparation

VERSION = 1
STATE = ("kind", "version", "parameters", "n_features", "features", "steps")
ENCODED = ("categorical", "ordinal", "dates", "ages")
PARAMETERS = (
    *ENCODED,
    *("log1p", "impute", "rank_normalize", "adjust", "standardize", "pca", "random_state"),
)
STEPS: dict[str, Any] = {
    "encode": Encoding,
    "impute": Medians,
    "log1p": Logarithms,
    "rank_normalize": NormalScores,
    "adjust": Residuals,
    "standardize": Scales,
    "weigh": Scales,
    "pca": Axes,
}
# Fields of which older files do not know.
NEW: dict[str, dict[str, Any]] = {
    "standardize": {"is_centred": None},
    "log1p": {"is_number": None},
}


def to_state(preparation: "Preparation") -> dict[str, Any]:
    """See `Preparation.to_state`."""
    names = getattr(preparation, "feature_names_in_", None)
    adjust, pca, seed = (
        in_list(preparation.adjust) or None,
        preparation.pca,
        preparation.random_state,
    )
    if "adjust" in preparation.steps_:
        adjust = [literal(name) for name in preparation.steps_["adjust"].names]
    return {
        "kind": "preparation",
        "version": VERSION,
        "parameters": {
            **encoded_parameters(preparation.steps_.get("encode")),
            "log1p": bool(preparation.log1p),
            "impute": preparation.impute,
            "rank_normalize": bool(preparation.rank_normalize),
            "adjust": None if adjust is None else [str(name) for name in adjust],
            "standardize": bool(preparation.standardize),
            "pca": None if pca is None else int(pca),
            # A generator of random numbers has no place in a file; what it decided is learned.
            "random_state": int(seed) if isinstance(seed, int | np.integer) else None,
        },
        "n_features": int(preparation.n_features_in_),
        "features": None if names is None else [str(name) for name in names],
        "steps": {name: step._asdict() for name, step in preparation.steps_.items()},
    }


def meant(parameter: str) -> str:
    """The name that such a parameter is."""
    return exact(parameter[1:] if parameter.startswith("@@") else parameter)


def encoded_parameters(step: Encoding | None) -> dict[str, Any]:
    """What was encoded, by the names that patterns and files stood for in the fit.

    In lists: the names of a table may be any text, those in a file may not.
    """
    if step is None:
        return dict.fromkeys(ENCODED)
    plan = step.plan
    return {
        "categorical": [literal(name) for name in plan.categorical],
        "ordinal": [[literal(name), levels] for name, levels in plan.ordinal.items()],
        "dates": [literal(name) for name in plan.dates],
        "ages": [list(age) for age in step.ages],
    }


def read_encoded(given: dict[str, Any]) -> dict[str, Any]:
    """The same as parameters of a preparation."""
    found = {name: given[name] for name in ENCODED}
    for name in ("categorical", "dates"):
        complaint = f"has parameters.{name} other than a list of names"
        _need(found[name] is None or _is_texts(found[name]), complaint)
    for name, width in (("ordinal", 2), ("ages", 3)):
        rows = found[name]
        fits = rows is None or (
            isinstance(rows, list)
            and all(isinstance(row, list) and len(row) == width for row in rows)
            and all(isinstance(row[0], str) for row in rows)
            and len({row[0] for row in rows}) == len(rows)
        )
        _need(fits, f"has parameters.{name} other than a list of lists, a name first in each")
    for name in ENCODED[:3]:
        single = [row if isinstance(row, str) else row[0] for row in found[name] or ()]
        is_file = any(text.startswith("@") and not text.startswith("@@") for text in single)
        _need(not is_file, f"has parameters.{name} with the name of a file")
    ordinal, ages = found["ordinal"], found["ages"]
    found["ordinal"] = None if ordinal is None else dict(ordinal)
    found["ages"] = None if ages is None else {name: list(ends) for name, *ends in ages}
    return {name: value or None for name, value in found.items()}


def read_parameters(state: Any) -> dict[str, Any]:
    """The parameters in a state, if it is one of ours; their values are not checked here."""
    kind, version, parameters, *_ = _fields(state, STATE, "keys")
    _need(isinstance(kind, str) and kind == "preparation", f"is of kind {kind!r}")
    _need(
        _is_whole(version) and version == VERSION,
        f"has version {version!r}, but this release reads version {VERSION}",
    )
    if isinstance(parameters, dict):
        parameters = {**dict.fromkeys(ENCODED), **parameters}  # unknown to older files
    found = dict(zip(PARAMETERS, _fields(parameters, PARAMETERS, "parameters"), strict=True))
    return found | read_encoded(found)


def read_learned(state: dict[str, Any]) -> tuple[int, list[str] | None, dict[str, Any]]:
    """Number and names of features, and steps, if they agree with the parameters and each other."""
    _, n_features, names, steps = (state[key] for key in STATE[2:])
    parameters = read_parameters(state)
    _need(
        _is_whole(n_features) and n_features > 0,
        f"has n_features={n_features!r}, which must be a positive integer",
    )
    _need(
        names is None or (_is_texts(names) and len(names) == n_features),
        f"has features other than a list of {n_features} names",
    )
    wanted = [name for name in STEPS if parameters.get(name) and parameters[name] != "drop"]
    if any(parameters[name] for name in ENCODED):
        wanted.insert(0, "encode")
        if parameters["categorical"] and not parameters["standardize"]:
            wanted.insert(len(wanted) - bool(parameters["pca"]), "weigh")
    if parameters["impute"] == "model":
        wanted.remove("impute")
        wanted.insert(len(wanted) - bool(parameters["pca"]), "impute")
    learned: dict[str, Any] = {}
    n_columns = int(n_features)
    for name, given in zip(wanted, _fields(steps, wanted, "steps"), strict=True):
        if name in NEW and isinstance(given, dict):
            given = {**NEW[name], **given}
        kind = TreeMeans if name == "impute" and parameters["impute"] == "model" else STEPS[name]
        learned[name] = kind(*_fields(given, kind._fields, name))
        if name == "encode":
            _check_encoding(learned[name], names, parameters)
            n_columns = len(learned[name].names)
        else:
            CHECKS[name](learned[name], n_columns, parameters, learned.get("encode"))
    return int(n_features), names, learned


def _check_encoding(step: Encoding, names: list[str] | None, parameters: dict[str, Any]) -> None:
    columns, kinds = step.columns, step.kinds
    _need(names is not None and columns == names, "has encode.columns other than its features")
    ages = [] if parameters["ages"] is None else [[n, *e] for n, e in parameters["ages"].items()]
    of_ages = all(_is_texts(age) and {*age[1:]} <= {*columns} for age in ages)
    _need(of_ages, "has parameters.ages that are not between two of its columns")
    plan = Plan(
        [meant(name) for name in parameters["categorical"] or ()],
        {meant(name): levels for name, levels in (parameters["ordinal"] or {}).items()},
        [meant(name) for name in parameters["dates"] or ()],
        {name: ends for name, *ends in ages},
    )
    _need({*plan.columns} <= {*columns}, "encodes other columns than its features")
    planned = plan.kinds
    fits = kinds == [planned.get(name, NUMBER) for name in columns]
    _need(fits, "has encode.kinds unlike parameters")
    _need(step.ages == ages, "has encode.ages unlike ages")
    for field in ("levels", "firsts", "orders"):
        values = getattr(step, field)
        fits = isinstance(values, list) and len(values) == len(columns)
        _need(fits, f"has encode.{field} other than a list of {len(columns)}")
    sizes = []
    for name, kind, of in zip(columns, kinds, step.levels, strict=True):
        has_levels = kind in (CATEGORY, ORDINAL)
        fits = _is_texts(of) if has_levels else of is None
        given = list(of or ())
        fits = fits and len(given) == len(set(given)) and bool(given) == has_levels
        _need(fits, "has encode.levels other than different levels of each category")
        _need(kind != ORDINAL or of == plan.ordinal[name], "has encode.levels unlike ordinal")
        sizes += [len(given)] if kind == CATEGORY else []
    _numbers(step.shares, (sum(sizes),), "encode.shares")
    ends = np.cumsum(sizes)
    sums = [float(part.sum()) for part in np.split(step.shares, ends[:-1])] if sizes else []
    fits = bool((step.shares > 0).all()) and np.allclose(sums, 1.0, rtol=0, atol=1e-6)
    _need(fits, "has encode.shares that are not shares of the levels of each category")
    for kind, first, order in zip(kinds, step.firsts, step.orders, strict=True):
        is_date = kind in (DATE, END)
        value = instant(first) if is_date and isinstance(first, str) else None
        fits = (value is not None and value == value) if is_date else first is None
        _need(fits, "has encode.firsts other than a date for each column of dates")
        fits = order is None or (is_date and order in ORDERS)
        _need(fits, "has encode.orders other than dmy, mdy or null")
    found = step.names
    _need(0 < len(found) == len(set(found)), "encodes to columns of the same name, or none")


def _check_impute(
    step: Medians | TreeMeans, n_features: int, parameters: dict[str, Any], encoding: Any
) -> None:
    if isinstance(step, TreeMeans):
        _check_tree_means(step, n_features)
        return
    _numbers(step.medians, (n_features,), "impute.medians")


def _check_tree_means(step: TreeMeans, n_features: int) -> None:
    for name in ("axes", "places"):
        values = getattr(step, name)
        fits = _is_array(values, "f", np.shape(values)) and values.ndim == 2 and values.size > 0
        _need(fits, f"has impute.{name} other than a table of numbers")
    d, n_places = len(step.axes), len(step.places)
    _numbers(step.axes, (d, n_features), "impute.axes")
    _numbers(step.mean, (n_features,), "impute.mean")
    _numbers(step.places, (n_places, d), "impute.places")
    _numbers(step.weights, (n_places,), "impute.weights")
    _numbers(step.spread, (d, d), "impute.spread")
    _numbers(step.noise, (n_features,), "impute.noise")
    _limits(step.low, step.high, n_features, "impute")
    is_share = bool((step.weights >= 0).all()) and abs(float(step.weights.sum()) - 1) <= 1e-6
    _need(is_share, "has impute.weights that are not shares of one")
    fits = is_covariance(step.spread)
    _need(fits, "has an impute.spread that is not the covariance of anything")
    _need((step.noise > 0).all(), "has an impute.noise that is not above 0")


def _check_logarithms(
    step: Logarithms, n_features: int, parameters: dict[str, Any], encoding: Any
) -> None:
    wanted = None if encoding is None else encoding.is_number
    fits = step.is_number is wanted or (
        wanted is not None
        and _is_array(step.is_number, "b", (n_features,))
        and (step.is_number == wanted).all()
    )
    _need(fits, "has log1p.is_number unlike encode.kinds")


def _check_scores(
    step: NormalScores, n_features: int, parameters: dict[str, Any], encoding: Any
) -> None:
    offsets = _whole_numbers(step.offsets, (n_features + 1,), "rank_normalize.offsets")
    is_spared = np.zeros(n_features, bool) if encoding is None else encoding.is_contrast
    rises = np.where(is_spared, offsets[1:] == offsets[:-1], offsets[1:] > offsets[:-1])
    _need(offsets[0] == 0 and rises.all(), "has rank_normalize.offsets that do not rise from 0")
    for name, values in (("values", step.values), ("scores", step.scores)):
        _numbers(values, (int(offsets[-1]),), f"rank_normalize.{name}")
        rises = values[1:] > values[:-1]
        inner = offsets[(offsets > 0) & (offsets < offsets[-1])]
        rises[inner - 1] = True  # from one feature to the next
        _need(rises.all(), f"has rank_normalize.{name} that do not rise")


def _check_residuals(
    step: Residuals, n_features: int, parameters: dict[str, Any], encoding: Any
) -> None:
    names, levels = step.names, step.levels
    wanted = [meant(name) for name in parameters["adjust"]]
    _need(_is_texts(names) and names == wanted, "has adjust.names unlike adjust")
    _need(
        isinstance(levels, list)
        and len(levels) == len(names)
        and all(of is None or (_is_texts(of) and 0 < len(of) == len(set(of))) for of in levels),
        "has adjust.levels that are not a list of different levels, or None, for each covariate",
    )
    n_columns = sum(1 if of is None else len(of) - 1 for of in levels)
    _numbers(step.center, (n_columns,), "adjust.center")
    _numbers(step.coefficients, (n_columns, n_features), "adjust.coefficients")
    _numbers(step.mean, (n_features,), "adjust.mean")
    _need(
        _is_array(step.is_explained, "b", (n_features,)),
        f"has adjust.is_explained other than {n_features} truth values",
    )


def _check_scales(step: Scales, n_features: int, parameters: dict[str, Any], encoding: Any) -> None:
    _numbers(step.mean, (n_features,), "standardize.mean")
    _numbers(step.scale, (n_features,), "standardize.scale")
    _need((step.scale >= 0).all(), "has a negative standardize.scale")
    _need(
        step.is_centred is None or isinstance(step.is_centred, bool),
        f"has standardize.is_centred={step.is_centred!r}, which must be true, false or null",
    )


def _check_axes(step: Axes, n_features: int, parameters: dict[str, Any], encoding: Any) -> None:
    n_components = parameters["pca"]
    _need(_is_whole(n_components), f"has pca={n_components!r}, which must be an integer")
    _numbers(step.mean, (n_features,), "pca.mean")
    _numbers(step.components, (n_components, n_features), "pca.components")
    _numbers(step.variance_ratio, (n_components,), "pca.variance_ratio")


CHECKS: dict[str, Any] = {
    "impute": _check_impute,
    "log1p": _check_logarithms,
    "rank_normalize": _check_scores,
    "adjust": _check_residuals,
    "standardize": _check_scales,
    "weigh": _check_scales,
    "pca": _check_axes,
}


def _need(holds: Any, complaint: str) -> None:
    if not holds:
        raise ValueError(
            f"The state of this preparation {complaint}; it is damaged or not one of ours: fit "
            "again, and save again."
        )


def _fields(given: Any, wanted: Iterable[str], name: str) -> list[Any]:
    """The values of a dict with exactly these keys."""
    keys = sorted(map(str, given)) if isinstance(given, dict) else type(given).__name__
    complaint = f"has {name} with {keys}, but they must be a dict with {sorted(wanted)}"
    _need(isinstance(given, dict) and set(given) == set(wanted), complaint)
    return [given[key] for key in wanted]


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _is_array(values: Any, kinds: str, shape: tuple[int, ...]) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind in kinds and values.shape == shape


def _numbers(values: Any, shape: tuple[int, ...], name: str) -> None:
    fits = _is_array(values, "f", shape)
    _need(fits, f"has {name} other than an array of numbers of shape {shape}")
    _need(np.isfinite(values).all(), f"has {name} that are not finite")


def _limits(low: Any, high: Any, n: int, name: str) -> None:
    for values in (low, high):
        fits = _is_array(values, "f", (n,)) and not np.isnan(values).any()
        _need(fits, f"has {name}.low and .high other than {n} limits")
    _need((low <= high).all(), f"has {name}.low above .high")


def _whole_numbers(values: Any, shape: tuple[int, ...], name: str) -> Ints:
    fits = _is_array(values, "iu", shape)
    _need(fits, f"has {name} other than an array of whole numbers of shape {shape}")
    return values
