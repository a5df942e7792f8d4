"""Fitted estimators <-> states, which `branchwise.persistence.format` writes to files and reads.

What follows from the rest is not kept but computed again, so that it cannot contradict it: labels,
sorted keys, the matrices of graphs, an identity for ``components_``, the kernel matrix.
"""

from collections.abc import Callable
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .. import _kdtree as kdtree
from .._compat import effective_n_jobs, output_container
from .._memory import check_memory
from .._typing import Floats, Ints, Matrix, Sparse
from ..data.checks import check_kernel_params, check_samples
from ..data.dask import is_dask
from ..data.kernels import is_evaluated, is_precomputed
from ..data.row_order import row_keys
from ..estimators import SPL, DDRTree, DRTree, StructureLearner, TrainingRecord
from ..estimators.base import tree_and_parts
from ..graph import adjacency
from ..structures import KINDS, FixedGraph, Graph
from .fields import HUGE, Fields
from .format import Unsound

CLASSES: dict[str, type[StructureLearner]] = {cls.__name__: cls for cls in (SPL, DRTree, DDRTree)}
# Of SPL: numbers that its methods compute with, and the least of each; and such as only inform.
SPL_NUMBERS = {"scale_": 1e-300, "gamma_": 0.0}
SPL_INFORMATION = ("objective_error_", "optimality_gap_", "edge_violation_", "log_evidence_")
SPL_PER_SAMPLE = ("posterior_std_", "posterior_std_error_", "loo_log_likelihood_")


def estimator_state(model: Any, include_training: Any = False) -> dict[str, Any]:
    """A fitted estimator as nested dictionaries of plain values and arrays.

    Parameters
    ----------
    model : fitted SPL, DRTree or DDRTree
    include_training : False or X, default=False
        The X that was passed to `fit`, to be kept as well.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise import DDRTree
    >>> from branchwise.persistence.estimators import estimator_state
    >>> state = estimator_state(DDRTree().fit(load_iris().data))
    >>> state["class"], state["parameters"]["n_components"], state["fitted"]["mean_"].shape
    ('DDRTree', 'auto', (4,))
    """
    name = type(model).__name__
    if CLASSES.get(name) is not type(model):
        raise TypeError(
            f"{name} cannot be saved, only {', '.join(CLASSES)} can; save the model that it is "
            "made of, or use pickle or skops."
        )
    check_is_fitted(model)
    names = getattr(model, "feature_names_in_", None)
    state = {
        "kind": "estimator",
        "class": name,
        "parameters": parameters_state(model),
        "feature_names": None if names is None else [str(feature) for feature in names],
        "output": output_container(model),
        "fitted": {**shared_state(model), **STATES[type(model)](model)},
    }
    if include_training is not False:
        state["training"] = training_data(model, include_training)
    try:
        # What could not be loaded is not saved.
        restored(state)
    except Unsound as error:
        raise ValueError(
            f"{name} cannot be saved: it {error}; fit it again, as its parameters have changed "
            "since."
        ) from error
    return state


def estimator_from_state(state: dict[str, Any]) -> Any:
    """The fitted estimator that `estimator_state` was given; `Unsound` says why there is none.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise import DRTree
    >>> from branchwise.persistence.estimators import estimator_from_state, estimator_state
    >>> model = DRTree(lam=5.0).fit(load_iris().data)
    >>> estimator_from_state(estimator_state(model))
    DRTree(lam=5.0)
    """
    model, record = restored(state)
    try:
        # SPL computes its kernel matrix, as in the fit.
        model.training_record = record
    except ValueError as error:
        raise Unsound(f"has kernel_samples without a kernel ({error})") from error
    return model


def restored(state: dict[str, Any]) -> tuple[StructureLearner, TrainingRecord]:
    """The estimator, and what it is to remember of its training samples."""
    fields = Fields(state, "the file")
    fields.choice("kind", ("estimator",))
    cls = CLASSES[fields.choice("class", tuple(CLASSES))]
    model = restored_parameters(cls, fields.take("parameters"))
    output = fields.choice("output", (None, "default", "pandas", "polars"))
    if output is not None:
        model.set_output(transform=output)
    fitted = Fields(fields.take("fitted"), "fitted")
    record = replace(restored_record(model, fitted), **RESTORE[cls](model, fitted))
    fitted.finish()
    names = fields.take("feature_names")
    if names is not None:
        listed = Fields({"feature_names": names}, "the file")
        texts = listed.texts("feature_names", model.n_features_in_)
        model.feature_names_in_ = np.array(texts, dtype=object)
    if "training" in state:
        fitted = Fields({"training": fields.take("training")}, "the file")
        fitted.sizes = {"n_samples": len(model.embedding_), "n_features": model.n_features_in_}
        model.training_data_ = fitted.matrix("training", "n_samples", "n_features")
    fields.finish()
    return model, record


def shared_state(model: StructureLearner) -> dict[str, Any]:
    """What all estimators have learned."""
    record = model.training_record
    state = {
        # The points of a Dask array stay with the workers.
        "embedding_": without_rows(model.embedding_),
        "projection_": without_rows(model.projection_),
        "mean_": model.mean_,
        "row_keys": record.keys,
        "n_iter_": model.n_iter_,
        "converged_": bool(model.converged_),
        "objective_history_": model.objective_history_,
    }
    if model.n_components is not None:
        state["components_"] = model.components_
    if record.kernel_samples is not None:
        state["kernel_samples"] = record.kernel_samples
    return state


def without_rows(embedding: Any) -> Floats:
    """An embedding as it is, or none of the rows of a Dask array."""
    if is_dask(embedding):
        return np.empty((0, embedding.shape[1]), dtype=embedding.dtype)
    return np.asarray(embedding)


def size_names(model: Any) -> tuple[str, str]:
    """What the columns of the data, and those of the embedding, are as many as."""
    columns = "n_features" if model.kernel is None else "n_samples"
    return columns, columns if model.n_components is None else "n_components"


def restored_record(model: Any, fitted: Fields) -> TrainingRecord:
    """Set what all estimators have learned; sizes have to agree with the parameters.

    Returns what they remember of the training samples.
    """
    columns, dims = size_names(model)
    if isinstance(model.n_components, Integral):
        fitted.sizes["n_components"] = int(model.n_components)
    model.embedding_ = fitted.floats("embedding_", "n_placed", dims)
    n_placed = fitted.sizes["n_placed"]
    if n_placed or not isinstance(model, DDRTree):
        fitted.sizes["n_samples"] = n_placed
        if n_placed < 2:
            raise Unsound(f"has an embedding_ of {n_placed} sample(s) but it must have two or more")
    model.projection_ = fitted.floats("projection_", "n_projected", dims)
    n_projected = fitted.sizes["n_projected"]
    # Either may have stayed with the workers of Dask.
    is_away = isinstance(model, DDRTree) and 0 in (n_projected, n_placed)
    if n_projected != n_placed and not is_away:
        raise Unsound(f"has a projection_ of {n_projected} and an embedding_ of {n_placed} samples")
    model.mean_ = fitted.floats("mean_", columns)
    if model.n_components is None:
        size = len(model.mean_)
        check_memory(8 * size**2, f"components_ of {size:,} features", "reduce the features")
        model.components_ = np.eye(size, dtype=model.mean_.dtype)
    else:
        # Rows of length one, but for rounding.
        model.components_ = fitted.floats("components_", dims, columns, low=-1.001, high=1.001)
    kernel_samples = None
    if is_evaluated(model.kernel):
        kernel_samples = fitted.matrix("kernel_samples", "n_samples", "n_features")
    n_features = "n_samples" if is_precomputed(model.kernel) else "n_features"
    model.n_features_in_ = fitted.sizes[n_features]
    keys = fitted.keys("row_keys", "n_known")
    n_known = fitted.sizes["n_known"]
    if (n_known and n_known != n_placed) or (not n_known and not isinstance(model, DDRTree)):
        raise Unsound(f"has {n_known} row_keys for an embedding_ of {n_placed} samples")
    model.n_iter_ = fitted.count("n_iter_", 0)
    model.converged_ = fitted.flag("converged_")
    model.objective_history_ = fitted.doubles("objective_history_", "n_values")
    model.objective_ = float(model.objective_history_[-1])
    return TrainingRecord.of(keys, kernel_samples)


def graph_state(graph: Sparse) -> tuple[Ints, Floats]:
    """The edges of a symmetric matrix, in order, and their weights."""
    upper = sparse.triu(graph, format="coo")
    edges = np.column_stack([upper.row, upper.col]).astype(np.int32)
    order = np.lexsort(edges.T[::-1])
    return edges[order], upper.data[order]


def pairs(edges: Ints, n_nodes: int) -> Ints:
    """One number per edge, by which they are in order."""
    return edges[:, 0].astype(np.int64) * n_nodes + edges[:, 1]


def drtree_state(model: Any) -> dict[str, Any]:
    """What DRTree has learned besides."""
    edges, weights = graph_state(model.tree_)
    return {"edges": edges, "weights": weights, "lam_": model.lam_}


def restore_drtree(model: Any, fitted: Fields) -> dict[str, Any]:
    """Set what DRTree has learned besides."""
    model.lam_ = fitted.number("lam_", 0.0, HUGE)
    restore_tree(model, fitted, "n_samples")
    n_samples = fitted.sizes["n_samples"]
    model.centers_ = model.embedding_
    model.labels_ = np.arange(n_samples)
    model.assignments_ = sparse.eye_array(n_samples, format="csr")
    return {}


def ddrtree_state(model: Any) -> dict[str, Any]:
    """What DDRTree has learned besides."""
    numbers = {name: getattr(model, name) for name in ("gamma_", "sigma_")}
    return {"centers_": model.centers_, **drtree_state(model), **numbers}


def restore_ddrtree(model: Any, fitted: Fields) -> dict[str, Any]:
    """Set what DDRTree has learned besides."""
    model.centers_ = fitted.floats("centers_", "n_centers", size_names(model)[1])
    model.lam_ = fitted.number("lam_", 0.0, HUGE)
    model.gamma_ = fitted.number("gamma_", 0.0, HUGE)
    model.sigma_ = fitted.number("sigma_", 0.0, HUGE)
    restore_tree(model, fitted, "n_centers")
    centres, n_jobs = kdtree.build(model.centers_), effective_n_jobs(model.n_jobs)
    model.labels_ = kdtree.nearest(centres, model.embedding_, n_jobs)
    return {}


def restore_tree(model: Any, fitted: Fields, nodes: str) -> None:
    """Set tree_ and n_trees_."""
    edges, weights = fitted.edges("edges", nodes), fitted.weights("weights", 0.0)
    at = np.arange(fitted.sizes[nodes])
    model.tree_, model.n_trees_ = tree_and_parts(Graph(edges, weights), at)


def spl_state(model: Any) -> dict[str, Any]:
    """What SPL has learned besides, and the training data, for new samples to be tied to."""
    active, values = graph_state(model.graph_)
    weights = np.zeros(len(model.edges_))
    n_samples = len(model.embedding_)
    weights[np.searchsorted(pairs(model.edges_, n_samples), pairs(active, n_samples))] = values
    record = model.training_record
    state = {name: getattr(model, name) for name in SPL_NUMBERS}
    state["_edge_share"] = record.edge_share
    others = (*SPL_INFORMATION, *SPL_PER_SAMPLE, "skeleton_", "solver_")
    state |= {name: getattr(model, name) for name in others}
    state |= {"edges_": model.edges_.astype(np.int32), "weights": weights}
    state |= {"n_evaluations_": model.n_evaluations_, "n_ties": record.n_ties}
    if record.kernel_samples is None:
        state["search_rows"] = record.search_rows
    return state


def restore_spl(model: Any, fitted: Fields) -> dict[str, Any]:
    """Set what SPL has learned besides; return what it remembers besides."""
    columns, dims = size_names(model)
    model.skeleton_ = fitted.floats("skeleton_", "n_samples", dims)
    for name, low in SPL_NUMBERS.items():
        setattr(model, name, fitted.number(name, low, HUGE))
    ties: dict[str, Any] = {"edge_share": fitted.number("_edge_share", 0.0, HUGE)}
    for name in SPL_INFORMATION:
        setattr(model, name, fitted.number(name))
    for name in SPL_PER_SAMPLE:
        setattr(model, name, fitted.doubles(name, "n_samples"))
    model.solver_ = fitted.choice("solver_", ("exact", "sparse", "sketch"))
    model.n_evaluations_ = fitted.count("n_evaluations_", 0)
    model.edges_ = fitted.edges("edges_", "n_samples")
    # Only the dense solver knows weights of either sign.
    weights = fitted.weights("weights", -np.inf if model.solver_ == "exact" else 0.0)
    active = weights != 0
    model.graph_ = adjacency(model.edges_[active], fitted.sizes["n_samples"], weights[active])
    ties["n_ties"] = fitted.count("n_ties", 1, fitted.sizes["n_samples"])
    if not is_evaluated(model.kernel):
        ties["search_rows"] = fitted.matrix("search_rows", "n_samples", columns)
    return ties


def training_data(model: StructureLearner, X: Any) -> Matrix:
    """The rows that the model was fitted to, if these are they."""
    if X is True or X is None:
        raise ValueError(
            f"include_training={X} must be False or the training data: {type(model).__name__} "
            "keeps no copy of them; pass include_training=X."
        )
    known = model.training_record.keys
    if len(known) == 0:
        raise ValueError(
            f"include_training must be False for a {type(model).__name__} that was fitted to a "
            "Dask array, of which it knows no rows; leave it out or, if X fits into memory, fit "
            "to X.compute() first."
        )
    X = check_samples(model, X, reset=False)
    keys = row_keys(X, effective_n_jobs(model.n_jobs))
    if not np.array_equal(keys, known):
        wanted = "the X that was passed to fit, in the same order"
        if hasattr(model, "landmarks_"):
            wanted = "the landmarks of the Dask array, X[model.landmarks_]"
        raise ValueError(
            f"include_training has {len(keys)} rows that are not those of the fit, of which there "
            f"were {len(known)}; pass {wanted}."
        )
    return X


STATES: dict[type, Callable[[Any], dict[str, Any]]] = {
    SPL: spl_state,
    DRTree: drtree_state,
    DDRTree: ddrtree_state,
}
# They return what goes into the `TrainingRecord`.
RESTORE: dict[type, Callable[[Any, Fields], dict[str, Any]]] = {
    SPL: restore_spl,
    DRTree: restore_drtree,
    DDRTree: restore_ddrtree,
}

STRUCTURES: dict[str, Any] = {cls.__name__: cls for cls in KINDS}
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
    known = set(cls().get_params(deep=False)) - NOT_KEPT
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
    model.check_parameters()
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
