"""What a page needs to place new samples as `Trajectory.place` does: numbers, no training table."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .._compat import assigned
from .._typing import Floats, Ints, Matrix
from ..data.instants import instant
from ..data.row_order import row_keys
from ..pipeline import knowing
from ..placing.placer import columns_of
from ..placing.reference import Reference
from ..preprocessing import Preparation
from ..preprocessing.steps import fills_late
from ..trajectory import Trajectory
from .embedded_trust import trust_size, trust_state
from .encoding import double, indices, single
from .features import Features

# More than this is not put into a page (24 MiB), before it is compressed.
MAX_MODEL_BYTES = 24 * 2**20
# So many rows are prepared again, to see whether they are those that the model was fitted to.
N_CHECKED = 50
INSTEAD = "use branchwise transform, or Trajectory.place in Python, instead."


class CannotPlace(Exception):
    """Why a page cannot place new samples, in one sentence."""


def model_state(
    path: Trajectory,
    preparation: Preparation | None,
    names: Sequence[str] | None,
    given: Features | None,
    covariates: Any,
    reference: Reference | None = None,
    decimal: str | None = None,
) -> dict[str, Any]:
    """The model, or the reason why a page cannot have it.

    Parameters
    ----------
    path : Trajectory
    preparation : Preparation or None
        What was done to the features before the fit.
    names : sequence of str or None
        Names of the features, before the preparation; None: those that the model knows, or x0, x1
        and so on.
    given : Features or None
        The training samples, before the preparation.
    covariates : DataFrame or None
        What the preparation adjusts for, of the training samples.
    reference : Reference or None
        How far the training samples lie from the tree, before the preparation.
    decimal : str or None, default=None
        The decimal sign of the file that the model was fitted to, for new ones that do not tell.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.report.embedded_model import model_state
    >>> from branchwise.trajectory import Trajectory
    >>> path = Trajectory([[0, 1]], np.array([[0.0], [4.0]]))
    >>> model_state(path, None, None, None, None)["reason"][:60]
    'This graph was given, not learned by branchwise, so that new'
    """
    try:
        return _model_state(path, preparation, names, given, covariates, reference, decimal)
    except CannotPlace as error:
        return {"reason": str(error)}


def _model_state(
    path: Trajectory,
    preparation: Preparation | None,
    names: Sequence[str] | None,
    given: Features | None,
    covariates: Any,
    reference: Reference | None,
    decimal: str | None,
) -> dict[str, Any]:
    model = path.estimator_
    if model is None:
        raise CannotPlace(
            "This graph was given, not learned by branchwise, so that new samples cannot be placed "
            "on it in this page; place points in its own space with Trajectory.project in Python "
            "instead."
        )
    steps = {} if preparation is None else preparation.steps_
    n_numbers = check_size(model, steps)
    check_centring(model, steps)
    names = feature_names(model, preparation, names, given)
    if given is not None and is_of_fit(path):
        check_same(model, preparation, given, names, covariates)
    return {
        "features": list(names),
        "decimal": decimal or ".",
        "covariates": list(steps["adjust"].names) if "adjust" in steps else [],
        "drops_missing": preparation is not None and preparation.impute == "drop",
        "steps": [step_state(steps, name) for name in steps],
        "n_prepared": int(model.n_features_in_),
        "kernel": kernel_state(model),
        "mean": double(model.mean_),
        "components": None if model.n_components is None else double(model.components_),
        "distances": single(np.percentile(path.distance_, np.arange(101))),
        "latest": float(path.pseudotime_.max()),
        "columns": columns_state(names, preparation),
        "trust": trust_state(path, reference if has_room(n_numbers, reference) else None),
    }


def is_of_fit(path: Trajectory) -> bool:
    """Whether the samples are those that the model was fitted to, each with a known row."""
    view, model = path.view, path.estimator_
    if len(model.training_record) != len(view.points):
        return False
    return np.array_equal(view.points, model.projection_)


def columns_state(names: Sequence[str], preparation: Preparation | None) -> dict[str, Any] | None:
    """What the columns of encoded rows are made of; None if they are the features.

    Examples
    --------
    >>> from branchwise.report.embedded_model import columns_state
    >>> columns_state(["hb", "crp"], None) is None
    True
    """
    columns = columns_of(names, preparation)
    if columns.is_plain:
        return None
    return {
        "names": columns.names,
        "parts": indices(columns.parts),
        "is_measured": columns.is_measured.astype(np.uint8),
        "day_zero": columns.day_zero,
    }


def has_room(n_numbers: int, reference: Reference | None) -> bool:
    """Whether a page holds how far samples may lie besides so many numbers of the model."""
    return 8 * (n_numbers + trust_size(reference)) <= MAX_MODEL_BYTES


def check_size(model: Any, steps: dict[str, Any]) -> int:
    """A page holds what `project` needs only if that is not too much; how many numbers it is."""
    name = type(model).__name__
    if callable(model.kernel):
        raise CannotPlace(
            f"New samples cannot be placed in this page, because the kernel of this {name} is a "
            "function in Python, which a page cannot run; use Trajectory.place in Python instead."
        )
    n_data, n_features, d = len(model.mean_), int(model.n_features_in_), len(model.components_)
    n_numbers = 0 if model.n_components is None else d * n_data
    parts = [part for step in steps.values() for part in step]
    n_numbers += sum(part.size for part in parts if isinstance(part, np.ndarray))
    n_training = 0
    if model.training_record.kernel_samples is not None:
        n_training += n_data * n_features
    if 8 * (n_numbers + n_training) > MAX_MODEL_BYTES:
        what = "the training samples, which its kernel needs," if n_training else "its model"
        raise CannotPlace(
            f"New samples cannot be placed in this page, because {what} would take "
            f"{8 * (n_numbers + n_training) / 2**20:,.0f} MiB, and a page holds at most "
            f"{MAX_MODEL_BYTES // 2**20} MiB of it; {INSTEAD}"
        )
    return n_numbers + n_training


def check_centring(model: Any, steps: dict[str, Any]) -> None:
    """Earlier versions did not keep whether scaled rows were centred; those of a file would be."""
    step = steps.get("standardize")
    if step is None or step.is_centred is not None or "pca" in steps:
        return
    samples = model.training_record.kernel_samples
    mean = model.mean_ if samples is None else samples.mean(axis=0)
    if step.mean_after(np.empty((0, len(step.mean))), mean) is not mean:
        raise CannotPlace(
            "New samples cannot be placed in this page, because the model was fitted to a sparse "
            "table by an earlier version of branchwise, which did not keep that its rows were not "
            "centred; fit it again."
        )


def feature_names(
    model: Any,
    preparation: Preparation | None,
    names: Sequence[str] | None,
    given: Features | None,
) -> list[str]:
    """What the columns of a new table have to be called."""
    fitted = model if preparation is None else preparation
    n_features = int(fitted.n_features_in_)
    if names is not None:
        found = [str(name) for name in names]
    elif hasattr(fitted, "feature_names_in_"):
        found = [str(name) for name in fitted.feature_names_in_]
    elif given is not None and len(given.names) == n_features:
        found = given.names
    else:
        found = [f"x{k}" for k in range(n_features)]
    if len(found) != n_features or len(set(found)) < n_features:
        raise CannotPlace(
            "New samples cannot be placed in this page, because the columns of a table are found "
            f"by name, and {len(set(found)):,} different names are known of {n_features:,} "
            f"features; {INSTEAD}"
        )
    return found


def training_rows(given: Features, names: Sequence[str], rows: Ints, about: Any) -> Any:
    """Some rows of the features that the model was fitted to, if all of these are there.

    What was encoded is among the columns about the samples.
    """
    if list(names) == given.names:
        return given.values[rows]
    at = {name: k for k, name in enumerate(given.names)}
    others = [name for name in names if name not in at]
    if not {*others} <= set(map(str, getattr(about, "columns", ()))):
        return None
    numbers = given.take([at[name] for name in names if name in at]).values[rows]
    if not others:
        return numbers
    numbers = dense(numbers)
    frame = about[others].iloc[rows].reset_index(drop=True)
    known = [name for name in names if name in at]
    values = dict(zip(known, numbers.T, strict=True))
    return assigned(frame, values)[list(names)]


def encoded_covariates(step: Any, covariates: Any) -> Floats | None:
    """What was adjusted for, as columns of numbers, if it is known."""
    columns = set(map(str, getattr(covariates, "columns", ())))
    return step.design(covariates) if columns.issuperset(step.names) else None


def check_same(
    model: Any,
    preparation: Preparation | None,
    given: Features,
    names: Sequence[str],
    covariates: Any,
) -> None:
    """The given rows are those of the fit: if not, a new table would be placed wrongly."""
    rows = np.unique(np.linspace(0, given.values.shape[0] - 1, N_CHECKED).astype(np.intp))
    some = training_rows(given, names, rows, covariates)
    if some is None:
        return
    if preparation is not None:
        if "adjust" in preparation.steps_:
            step = preparation.steps_["adjust"]
            if encoded_covariates(step, covariates) is None:
                return
            covariates = covariates[step.names].iloc[rows]
        known = list(names) if hasattr(some, "columns") else None
        some = knowing(preparation, known).transform(some, covariates=covariates)
    some = some if sparse.issparse(some) else np.asarray(some)
    # The fit may have been to a copy in single precision.
    found = [row_keys(kind) for kind in (some, some.astype(np.float32))]
    record = model.training_record
    fitted = record.keys[rows]
    if any((keys == fitted).all() for keys in found):
        return
    if any(np.isin(keys, record.sorted_keys).all() for keys in found):
        raise ValueError(
            "features has the rows of the fit in another order; pass them in the order in which "
            "they were fitted, for instance features.loc[names]."
        )
    name = type(model).__name__
    why = (
        f"the features in it are not those that the {name} was fitted to, which may have been "
        "scaled; pass the preparation of the fit as well, if that was a branchwise.Preparation, or"
        if preparation is None
        else f"the preparation does not make of the features in it what the {name} was fitted to; "
        "pass the preparation and the features of the fit, or"
    )
    raise CannotPlace(f"New samples cannot be placed in this page, because {why} {INSTEAD}")


def step_state(steps: dict[str, Any], name: str) -> dict[str, Any]:
    """One step of the preparation, as it is done to dense rows."""
    step = steps[name]
    if name == "impute":
        numbers = {part: double(values) for part, values in step._asdict().items()}
    elif name == "encode":
        return {
            "name": name,
            "columns": list(step.columns),
            "kinds": list(step.kinds),
            "levels": [None if of is None else list(of) for of in step.levels],
            "shares": double(step.shares),
            "firsts": [None if first is None else instant(first) for first in step.firsts],
            "orders": list(step.orders),
            "ages": [list(age) for age in step.ages],
        }
    elif name == "log1p":
        is_number = None if step.is_number is None else step.is_number.astype(np.uint8)
        return {"name": name, "is_number": is_number}
    elif name == "rank_normalize":
        numbers = {
            "values": double(step.values),
            "scores": double(step.scores),
            "offsets": indices(step.offsets),
        }
    elif name == "adjust":
        return {
            "name": name,
            "names": list(step.names),
            "levels": [None if of is None else list(of) for of in step.levels],
            "center": double(step.center),
            "coefficients": double(step.coefficients),
            "mean": double(step.mean),
            "is_explained": step.is_explained.astype(np.uint8),
        }
    elif name in ("standardize", "weigh"):
        # With axes behind it, rows are centred as they are stored, and here they are dense.
        is_centred = "pca" in steps or step.is_centred is not False
        mean = step.mean if is_centred else np.zeros_like(step.mean)
        numbers = {"mean": double(mean), "scale": double(step.scale)}
    else:
        mean = step.mean
        if "standardize" in steps and not fills_late(steps):
            mean = steps["standardize"].mean_after(np.empty((0, len(mean))), mean)
        numbers = {"mean": double(mean), "components": double(step.components)}
    return {"name": name, **numbers}


def kernel_state(model: Any) -> dict[str, Any] | None:
    """The kernel between new samples and those of the fit, if there is one to evaluate."""
    samples = model.training_record.kernel_samples
    if samples is None:
        return None
    gamma = None
    if model.kernel == "rbf":
        gamma = float((model.kernel_params or {}).get("gamma", 1.0 / samples.shape[1]))
    return {
        "kind": model.kernel,
        "gamma": gamma,
        "samples": double(dense(samples)),
        "n": samples.shape[0],
    }


def dense(rows: Matrix) -> Floats:
    """A matrix as an array."""
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
