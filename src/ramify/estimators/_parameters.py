"""Parameters of estimators <-> plain values and arrays."""

from dataclasses import fields as dataclass_fields
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from .._compat import validate_parameter_constraints
from .._validation import check_kernel_params
from ..io import Unsound
from ..structures import Curve, FixedGraph, Forest, Ring, SparseGraph, Tree
from ._base import StructureLearner
from ._fields import Fields

STRUCTURES = {cls.__name__: cls for cls in (Tree, Forest, Ring, Curve, SparseGraph, FixedGraph)}
# Of the run of a fit, not of the model.
NOT_KEPT = {"callback", "checkpoint"}


def parameters_state(model: StructureLearner) -> dict[str, Any]:
    """The parameters, if a file can keep them."""
    parameters = model.get_params(deep=False)
    if callable(parameters["kernel"]):
        raise ValueError(
            "kernel is a callable, which a file cannot keep; compute the kernel matrix and fit "
            "with kernel='precomputed', or use pickle."
        )
    if isinstance(parameters["random_state"], np.random.RandomState):
        raise ValueError(
            "random_state is a RandomState, which a file cannot keep; call "
            "set_params(random_state=0), which leaves the fit as it is."
        )
    if "structure" in parameters:
        parameters["structure"] = structure_state(parameters["structure"])
    if parameters.get("init") is not None:
        parameters["init"] = matrix_state(parameters["init"])
    return {name: value for name, value in parameters.items() if name not in NOT_KEPT}


def structure_state(structure: Any) -> Any:
    """A name or a matrix as it is; one of our objects by its class and what it was made with."""
    if isinstance(structure, str):
        return structure
    if not hasattr(structure, "best_graph"):
        return matrix_state(structure)
    name = type(structure).__name__
    if STRUCTURES.get(name) is not type(structure):
        raise ValueError(
            f"structure is an object of the class {name}, which a file cannot keep; call "
            "set_params(structure=model.tree_), which keeps the graph that it found, or use pickle."
        )
    options = {field.name: getattr(structure, field.name) for field in dataclass_fields(structure)}
    if "adjacency" in options:
        options["adjacency"] = matrix_state(options["adjacency"])
    return {"class": name, "options": options}


def matrix_state(matrix: Any) -> Any:
    """A matrix that may be given in many ways: lists stay lists, tables become arrays."""
    if sparse.issparse(matrix):
        return matrix
    array = np.asarray(matrix)
    return array.tolist() if isinstance(matrix, list | tuple) else array


def restored_parameters(cls: type[StructureLearner], values: Any) -> Any:
    """An estimator with these parameters, checked as they are before a fit."""
    if not isinstance(values, dict):
        raise Unsound("has no parameters")
    known = set(cls._get_param_names()) - NOT_KEPT
    unknown = sorted(set(values) - known)
    if unknown:
        raise Unsound(f"has the parameter {unknown[0][:80]!r}, which {cls.__name__} does not know")
    try:
        return _restored(cls, values)
    except Unsound:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        detail = str(error).rstrip(".")
        raise Unsound(f"has parameters that {cls.__name__} does not take ({detail})") from error


def _restored(cls: type[StructureLearner], values: dict[str, Any]) -> Any:
    values = dict(values)
    if isinstance(values.get("structure"), dict):
        values["structure"] = restored_structure(values["structure"])
    model = cls(**values)
    parameters = model.get_params(deep=False)
    validate_parameter_constraints(cls._parameter_constraints, parameters, cls.__name__)
    check_kernel_params(parameters["kernel"], parameters["kernel_params"])
    structure, init = parameters.get("structure", "tree"), parameters.get("init")
    if not isinstance(structure, str) and not hasattr(structure, "best_graph"):
        check_adjacency(structure)
    if init is not None and np.asarray(init).dtype.kind not in "biuf":
        raise Unsound("has an init that holds no numbers")
    return model


def restored_structure(value: dict[str, Any]) -> Any:
    """One of our structures."""
    fields = Fields(value, "structure")
    cls: Any = STRUCTURES[fields.choice("class", tuple(STRUCTURES))]
    options = fields.take("options")
    fields.finish()
    if not isinstance(options, dict):
        raise Unsound("has a structure without options")
    if cls is FixedGraph:
        check_adjacency(options.get("adjacency"))
    elif not all(isinstance(option, Real | str) for option in options.values()):
        raise Unsound(f"has options of {cls.__name__} that are neither numbers nor text")
    return cls(**options)


def check_adjacency(matrix: Any) -> None:
    """A matrix is a graph: square, symmetric, no weight negative."""
    if FixedGraph(matrix).n_nodes < 1:
        raise Unsound("has a structure without nodes")
