"""Dask arrays as the estimators meet them: input, landmarks, and places chunk by chunk."""

import functools
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from sklearn.utils.validation import validate_data

from .._compat import import_pandas
from .._typing import Floats, Matrix
from ..data.checks import (
    check_finite,
    check_kernel_params,
    check_not_huge,
    check_numbers,
    remedies,
)
from ..data.dask import as_chunks, is_dask
from ..data.dask_errors import check_rows
from ..data.kernels import is_precomputed
from ..data.landmarks import choose_landmarks, gather

if TYPE_CHECKING:
    from .base import StructureLearner

Method = TypeVar("Method", bound=Callable[..., Any])

Model = TypeVar("Model", bound="StructureLearner")

# What new samples are placed without: it stays behind when a model is sent to the workers.
STAYS_BEHIND = {
    "assignments_",
    "edges_",
    "feature_names_in_",
    "graph_",
    "labels_",
    "landmarks_",
    "loo_log_likelihood_",
    "objective_history_",
    "posterior_std_",
    "posterior_std_error_",
    "projection_",
    "skeleton_",
    "training_data_",
    "tree_",
}


def dask_as_it_is(method: Method) -> Method:
    """What comes of a Dask array stays one, whatever `set_output` says.

    scikit-learn has wrapped the method and would compute the array, to put it into a table.
    """
    unwrapped = method.__wrapped__  # type: ignore[attr-defined]

    @functools.wraps(method)
    def chosen(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        return (unwrapped if is_dask(X) else method)(self, X, *args, **options)

    return cast(Method, chosen)


def landmarks_of(model: "StructureLearner", X: Any, pairs: str | None = None) -> Any:
    """What DRTree and SPL fit: X as it is or, of a Dask array, its landmarks, in memory.

    `pairs` names a parameter that says something of pairs of samples, if there is one.
    """
    model.__dict__.pop("landmarks_", None)
    if not is_dask(X):
        return X
    model.check_parameters()
    check_kernel_params(model.kernel, model.kernel_params)
    chunks = checked_chunks(model, X, reset=True)
    n_samples = chunks.shape[0]
    if n_samples <= model.n_landmarks:
        rows, model.landmarks_ = gather(chunks), np.arange(n_samples)
    else:
        pairs = "kernel='precomputed'" if is_precomputed(model.kernel) else pairs
        if pairs is not None:
            raise ValueError(
                f"{pairs} is about pairs of samples, but of the {n_samples:,} rows of a Dask "
                f"array only n_landmarks={model.n_landmarks:,} are fitted, and which is not "
                "known beforehand; raise n_landmarks, or choose rows with "
                "branchwise.data.landmarks.choose_landmarks and fit these."
            )
        rows, model.landmarks_ = choose_landmarks(chunks, model.n_landmarks, model.random_state)
        if rows.shape[0] == 1:
            raise ValueError(
                f"X has one distinct row only, {n_samples:,} times, but {type(model).__name__} "
                "needs two at least of a Dask array with more rows than "
                f"n_landmarks={model.n_landmarks:,}; look where the others were lost, or fit "
                "some of the rows in memory, for instance X[:100].compute()."
            )
    return import_pandas().DataFrame(rows, columns=X.columns) if hasattr(X, "columns") else rows


def light_copy(fitted: "Model") -> "Model":
    """A copy that can place samples, and has little else to carry to other processes."""
    model = copy(fitted)
    for name, value in list(vars(model).items()):
        if name in STAYS_BEHIND or is_dask(value):
            delattr(model, name)
    # The chunks are worked on side by side already.
    model.n_jobs = 1
    for name in {"callback", "structure", "init"} & set(vars(model)):
        setattr(model, name, None)
    return model


def checked_chunks(estimator: Any, X: Any, *, reset: bool) -> Any:
    """A Dask array or DataFrame in chunks of whole rows, with the right columns.

    Number and names of the features are looked at before anything is computed.
    """
    is_table = hasattr(X, "columns")
    if not is_table:
        X = as_chunks(X)
    with remedies():
        header = import_pandas().DataFrame(columns=X.columns) if is_table else X
        validate_data(estimator, header, reset=reset, skip_check_array=True)
    return as_chunks(X) if is_table else X


def float_type(dtype: Any) -> Any:
    """The type in which numbers of that type are computed with."""
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)


def checked_rows(rows: Any, index: int, starts: list[int], n_features: int) -> Matrix:
    """Rows of a chunk as numbers that can be computed with, or a complaint that names the chunk."""
    rows = check_numbers(rows)
    check_rows(rows, index, starts[index], n_features)
    check_not_huge(rows, check_finite(rows, "X"), "X")
    return rows


def place_chunk(rows: Any, index: int, model: "StructureLearner", starts: list[int]) -> Floats:
    """The places of the rows of a chunk."""
    return model._placed(checked_rows(rows, index, starts, model.n_features_in_))


def project_chunk(rows: Any, index: int, model: "StructureLearner", starts: list[int]) -> Floats:
    """The rows of a chunk along the components."""
    return model._projected(checked_rows(rows, index, starts, model.n_features_in_))


def map_back(rows: Any, index: int, back: Floats, mean: Floats, starts: list[int]) -> Floats:
    """The points of a chunk in the space of the data."""
    rows = checked_rows(rows, index, starts, len(back))
    return np.asarray(rows @ back + mean)
