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
from ..trajectory.evidence import LEVEL, can_be_tested, segment_of_edge, segment_p
from ..trajectory.occupancy import empty_stretches, occupied_parts
from ..trajectory.sentences import SURE
from .encoding import double, indices

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

# Of graphs with more nodes nothing is said of other shapes: to compare takes too long.
MOST_NODES = 2000

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
        facts["preparation"] = preparation.settings()
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
    tips, forks, _ = count_branches(adjacency(path.edges_, len(path.nodes_)))
    return {
        "n_nodes": len(path.nodes_),
        "n_edges": len(path.edges_),
        "length": float(path.lengths_.sum()),
        "tips": tips,
        "forks": forks,
        "branches": len(path.view.branches.names),  # a root within a path makes two of it
        "occupied": path.occupied_,
    }


def evidence_state(path: Trajectory) -> dict[str, Any]:
    """How sure branches are, for whatever root: of the stretches between tips and forks.

    Resamples are told of the branches of the root that there was then, which may lie within a
    stretch; a page with another root says so.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.report.facts import evidence_state
    >>> from branchwise.trajectory import Trajectory
    >>> evidence_state(Trajectory([[0, 1]], np.array([[0.0], [4.0]])))["found"][0]
    '1 branch, 2 tips and no fork.'
    """
    view = path.view
    is_tested = can_be_tested(view)
    segment, p = segment_of_edge(view), segment_p(view)
    piece, support = support_of_pieces(path, segment)
    placed = path.placement_
    can_compare = is_tested and len(path.names_) > 1 and len(view.base.nodes) <= MOST_NODES
    return {
        "is_tested": is_tested,
        "level": LEVEL,
        "sure": SURE,
        "segment": indices(segment),
        "p": double(p),
        "piece": indices(piece),
        "support": None if support is None else double(support),
        "n_resamples": None if path.support_ is None else path.support_.n_resamples_,
        "occupied": double(occupied_parts(empty_stretches(placed), placed)),
        "found": path.describe().splitlines() if can_compare else [],
    }


def support_of_pieces(path: Trajectory, segment: Any) -> tuple[Any, Any]:
    """The piece of the graph that each edge is part of, and how often each was found again.

    A piece is a branch of the root at the time of the resamples, where that is the root now;
    otherwise a stretch between tips and forks.
    """
    if path.support_ is None:
        return segment, None
    branches, shares = path.view.branches, path.branch_table_["support"].to_numpy(dtype=float)
    of_edge = branches.found.of_edge
    if path.support_.branches_.index.tolist() == branches.names.tolist():
        return of_edge, shares
    of_segment = np.full(int(segment.max()) + 1, np.nan)
    of_segment[segment] = shares[of_edge]
    return segment, of_segment


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
