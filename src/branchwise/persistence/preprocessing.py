"""A fitted preparation as nested dicts of JSON values and arrays, and back, with checks."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import Ints
from ..preprocessing.covariates import Residuals
from ..preprocessing.steps import Axes, Logarithms, Medians, NormalScores, Scales

if TYPE_CHECKING:
    from ..preprocessing.core import Preparation

VERSION = 1
STATE = ("kind", "version", "parameters", "n_features", "features", "steps")
PARAMETERS = ("log1p", "impute", "rank_normalize", "adjust", "standardize", "pca", "random_state")
STEPS: dict[str, Any] = {
    "impute": Medians,
    "log1p": Logarithms,
    "rank_normalize": NormalScores,
    "adjust": Residuals,
    "standardize": Scales,
    "pca": Axes,
}


def to_state(preparation: "Preparation") -> dict[str, Any]:
    """See `Preparation.to_state`."""
    names = getattr(preparation, "feature_names_in_", None)
    adjust, pca, seed = preparation.adjust, preparation.pca, preparation.random_state
    return {
        "kind": "preparation",
        "version": VERSION,
        "parameters": {
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


def read_parameters(state: Any) -> dict[str, Any]:
    """The parameters in a state, if it is one of ours; their values are not checked here."""
    kind, version, parameters, *_ = _fields(state, STATE, "keys")
    _need(isinstance(kind, str) and kind == "preparation", f"is of kind {kind!r}")
    _need(
        _is_whole(version) and version == VERSION,
        f"has version {version!r}, but this release reads version {VERSION}",
    )
    return dict(zip(PARAMETERS, _fields(parameters, PARAMETERS, "parameters"), strict=True))


def read_learned(state: dict[str, Any]) -> tuple[int, list[str] | None, dict[str, Any]]:
    """Number and names of features, and steps, if they agree with the parameters and each other."""
    parameters, n_features, names, steps = (state[key] for key in STATE[2:])
    _need(
        _is_whole(n_features) and n_features > 0,
        f"has n_features={n_features!r}, which must be a positive integer",
    )
    _need(
        names is None or (_is_texts(names) and len(names) == n_features),
        f"has features other than a list of {n_features} names",
    )
    wanted = [name for name in STEPS if parameters[name] and parameters[name] != "drop"]
    learned: dict[str, Any] = {}
    for name, given in zip(wanted, _fields(steps, wanted, "steps"), strict=True):
        if name == "standardize" and isinstance(given, dict):
            given = {"is_centred": None, **given}  # unknown to older files
        learned[name] = STEPS[name](*_fields(given, STEPS[name]._fields, name))
        CHECKS[name](learned[name], n_features, parameters)
    return int(n_features), names, learned


def _check_medians(step: Medians, n_features: int, parameters: dict[str, Any]) -> None:
    _numbers(step.medians, (n_features,), "impute.medians")


def _check_logarithms(step: Logarithms, n_features: int, parameters: dict[str, Any]) -> None:
    pass  # nothing is learned


def _check_scores(step: NormalScores, n_features: int, parameters: dict[str, Any]) -> None:
    offsets = _whole_numbers(step.offsets, (n_features + 1,), "rank_normalize.offsets")
    starts_at_zero = offsets[0] == 0 and (offsets[1:] > offsets[:-1]).all()
    _need(starts_at_zero, "has rank_normalize.offsets that do not rise from 0")
    for name, values in (("values", step.values), ("scores", step.scores)):
        _numbers(values, (int(offsets[-1]),), f"rank_normalize.{name}")
        rises = values[1:] > values[:-1]
        rises[offsets[1:-1] - 1] = True  # from one feature to the next
        _need(rises.all(), f"has rank_normalize.{name} that do not rise")


def _check_residuals(step: Residuals, n_features: int, parameters: dict[str, Any]) -> None:
    names, levels = step.names, step.levels
    _need(_is_texts(names) and names == parameters["adjust"], "has adjust.names unlike adjust")
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


def _check_scales(step: Scales, n_features: int, parameters: dict[str, Any]) -> None:
    _numbers(step.mean, (n_features,), "standardize.mean")
    _numbers(step.scale, (n_features,), "standardize.scale")
    _need((step.scale >= 0).all(), "has a negative standardize.scale")
    _need(
        step.is_centred is None or isinstance(step.is_centred, bool),
        f"has standardize.is_centred={step.is_centred!r}, which must be true, false or null",
    )


def _check_axes(step: Axes, n_features: int, parameters: dict[str, Any]) -> None:
    n_components = parameters["pca"]
    _need(_is_whole(n_components), f"has pca={n_components!r}, which must be an integer")
    _numbers(step.mean, (n_features,), "pca.mean")
    _numbers(step.components, (n_components, n_features), "pca.components")
    _numbers(step.variance_ratio, (n_components,), "pca.variance_ratio")


CHECKS: dict[str, Any] = {
    "impute": _check_medians,
    "log1p": _check_logarithms,
    "rank_normalize": _check_scores,
    "adjust": _check_residuals,
    "standardize": _check_scales,
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


def _whole_numbers(values: Any, shape: tuple[int, ...], name: str) -> Ints:
    fits = _is_array(values, "iu", shape)
    _need(fits, f"has {name} other than an array of whole numbers of shape {shape}")
    return values
