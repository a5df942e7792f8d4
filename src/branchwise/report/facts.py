"""The record of a run in its page: parameters, outcome, versions, and no path or machine."""

import math
import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import PurePath
from typing import Any

import numpy as np
from scipy import sparse

from .._messages import listed
from ..graph import adjacency, count_branches
from ..preprocessing import Preparation
from ..trajectory import Trajectory

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")

# What `model_facts` says of every fit.
WHOLE = {
    "method",
    "parameters",
    "fitted",
    "seed",
    "objective",
    "n_iter",
    "converged",
    "preparation",
    "graph",
    "root",
    "versions",
}

# Parameters that say how a fit was watched, not what was fitted.
NOT_FACTS = {"callback", "verbose", "n_jobs", "checkpoint"}


def model_facts(path: Trajectory, preparation: Preparation | None) -> dict[str, Any]:
    """Parameters and outcome of a fit, from the model itself.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.report.facts import model_facts
    >>> from branchwise.trajectory import Trajectory
    >>> model_facts(Trajectory([[0, 1]], np.array([[0.0], [4.0]])), None)["graph"]["tips"]
    2
    """
    model = path.estimator_
    facts: dict[str, Any] = {}
    if model is not None:
        parameters = model.get_params(deep=False)
        facts = {
            "method": type(model).__name__,
            "parameters": {k: v for k, v in parameters.items() if k not in NOT_FACTS},
            "fitted": fitted_facts(model),
            "seed": parameters["random_state"],
            "objective": float(model.objective_),
            "n_iter": int(model.n_iter_),
            "converged": bool(model.converged_),
        }
        if hasattr(model, "optimality_gap_"):
            facts["optimality_gap"] = float(model.optimality_gap_)
    if preparation is not None:
        facts["preparation"] = preparation.get_params(deep=False)
    facts["graph"] = graph_facts(path)
    facts["root"] = root_names(path)
    facts["versions"] = {
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in LIBRARIES},
    }
    return facts


def known_facts(
    path: Trajectory, preparation: Preparation | None, given: Mapping[str, Any]
) -> dict[str, Any]:
    """What was given of a run, and what the model says of the rest: a whole record has no rest."""
    if given.keys() >= WHOLE:
        return dict(given)
    return model_facts(path, preparation) | dict(given)


def root_names(path: Trajectory) -> str:
    """The milestones at which time starts."""
    branches = path.view.branches
    names = dict(zip(branches.found.milestones.tolist(), branches.milestones, strict=True))
    return listed(names[node] for node in path.roots_.tolist())


def fitted_facts(model: Any) -> dict[str, float]:
    """The parameters that a fit has chosen."""
    names = ("lam_", "gamma_", "sigma_", "scale_")
    return {name: float(getattr(model, name)) for name in names if hasattr(model, name)}


def graph_facts(path: Trajectory) -> dict[str, Any]:
    """How large the graph is.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.report.facts import graph_facts
    >>> from branchwise.trajectory import Trajectory
    >>> graph_facts(Trajectory([[0, 1]], np.array([[0.0], [4.0]])))["length"]
    4.0
    """
    tips, forks, branches = count_branches(adjacency(path.edges_, len(path.nodes_)))
    return {
        "n_nodes": len(path.nodes_),
        "n_edges": len(path.edges_),
        "length": float(path.lengths_.sum()),
        "tips": tips,
        "forks": forks,
        "branches": branches,
        "occupied": path.occupied_,
    }


def shareable(value: Any) -> Any:
    """A fact as a page holds it: other objects by what they are, files by their names alone.

    Examples
    --------
    >>> import pathlib
    >>> import numpy as np
    >>> from branchwise.report.facts import shareable
    >>> shareable({"init": np.zeros((3, 2)), "input": pathlib.Path("/home/me/a.csv"), "C": np.inf})
    {'init': 'array of shape (3, 2)', 'input': 'a.csv', 'C': 'inf'}
    """
    if isinstance(value, Mapping):
        return {str(name): shareable(fact) for name, fact in value.items()}
    if isinstance(value, list | tuple):
        return [shareable(fact) for fact in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isinf(value):
        return str(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, PurePath):
        return value.name
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        return f"array of shape {value.shape}"
    return getattr(value, "__name__", type(value).__name__)
