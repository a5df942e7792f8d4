"""`branchwise info`: what a model or a table holds."""

import argparse
from pathlib import Path
from typing import Any

from scipy import sparse

from .._messages import listed
from ..data.table import missing_by_column
from ..io import read_table
from .console import Console
from .request import STEPS, reading_of
from .results import MODEL, RUN


def run(options: argparse.Namespace, console: Console) -> None:
    """Describe the file by its kind."""
    path = Path(options.path)
    if (path / RUN).is_file():
        path = path / MODEL
    facts = model_facts(path) if path.suffix == ".branchwise" else table_facts(path, options)
    width = max(len(name) for name in facts) + 2
    console.result(
        facts, "\n".join(f"{name:<{width}}{show(value)}" for name, value in facts.items())
    )


def table_facts(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """What `branchwise fit` would see in a table."""
    table = read_table(path, **reading_of(options))
    n_samples, n_features = table.X.shape
    missing = missing_by_column(table)
    return {
        "table": str(path),
        "samples": n_samples,
        "sample names": table.samples[:5],
        "features": n_features,
        "feature names": table.features[:20],
        "sparse": bool(sparse.issparse(table.X)),
        "annotations": {
            str(name): f"{count_values(values)} values, {int(values.isna().sum())} missing"
            for name, values in table.annotations.items()
        },
        "missing values": {name: f"{n} of {n_samples}" for name, n in missing.items()},
    }


def count_values(values: Any) -> int:
    """How many different values a column has; those of lists are told apart as they are printed."""
    try:
        return int(values.nunique())
    except TypeError:
        return int(values.dropna().astype(str).nunique())


def model_facts(path: Path) -> dict[str, Any]:
    """What a model file holds."""
    from ..persistence.loading import load
    from ..pipeline import Pipeline
    from ..trajectory import Trajectory

    found = load(path)
    facts: dict[str, Any] = {"model": str(path), "bytes": path.stat().st_size}
    model, n_samples = found, None
    if isinstance(found, Pipeline):
        given = found.preparation.get_params(deep=False)
        facts["features"] = len(found.features)
        facts["feature names"] = found.features[:20]
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
            k: v if isinstance(v, int | float | str | None) else str(v)
            for k, v in parameters.items()
        },
        "samples": len(model.embedding_) if n_samples is None else n_samples,
        "components": model.embedding_.shape[1],
        "objective": float(model.objective_),
        "iterations": int(model.n_iter_),
        "converged": bool(model.converged_),
    }


def show(value: Any) -> str:
    """A fact for people."""
    if isinstance(value, dict):
        return listed(f"{name}={fact}" for name, fact in value.items()) or "none"
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
