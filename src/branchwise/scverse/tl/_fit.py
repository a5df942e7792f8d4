"""Fits: from a matrix of an AnnData object to an embedding and a graph in it."""

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.utils import check_random_state

from ..._docs import CELLS, documented
from ..._messages import listed
from ...data.dask import is_dask
from ...estimators import SPL, DDRTree, DRTree
from ...graph import adjacency
from ...persistence.estimators import estimator_state, parameters_state
from ...structures import as_structure
from ...trajectory.geometry import graph_of_model
from .._adata import Results, check_adata, check_key, in_memory, representation, write
from .._keys import UNS, keys_of
from .._uns import in_units_of_data, is_fit, storable

if TYPE_CHECKING:
    from anndata import AnnData

Tool = TypeVar("Tool", bound=Callable[..., Any])

ESTIMATORS = {"ddrtree": DDRTree, "drtree": DRTree, "spl": SPL}
# They say how to run, not what; the result does not depend on them.
NOT_STORED = ("n_jobs", "verbose")


def takes_parameters_of(estimator: type) -> Callable[[Tool], Tool]:
    """Show the estimator's parameters in the signature, for help and completion."""

    def decorate(tool: Tool) -> Tool:
        own = inspect.signature(tool)
        ours = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        theirs = [
            parameter.replace(kind=parameter.KEYWORD_ONLY)
            for name, parameter in inspect.signature(estimator).parameters.items()
            if name not in own.parameters
        ]
        tool.__signature__ = own.replace(parameters=ours + theirs)  # type: ignore[attr-defined]
        return tool

    return decorate


@documented(CELLS)
@takes_parameters_of(DDRTree)
def ddrtree(
    adata: "AnnData",
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    key_added: str = "ddrtree",
    random_state: Any = None,
    resume: bool = False,
    copy: bool = False,
    **params: Any,
) -> "AnnData | None":
    """Learn a tree of cluster centres: for noisy cells of a branching process (`DDRTree`).

    This is the paper's model with its parameters; `trajectory` is the whole way to an answer.

    Parameters
    ----------
    {adata_to_fit}
        It is read once per iteration.
    {fit_from}
    key_added : str, default="ddrtree"
        Name of the results.
    random_state : int, RandomState or None, default=None
        None starts from Ward's clusters, without chance; a seed starts from k-means, and is written
        down.
    resume : bool, default=False
        Go on from the last iteration in the file ``checkpoint``, if there is one.
    {copy}
    **params
        Parameters of `branchwise.DDRTree` by their names. A callable kernel and structures of your
        own classes are refused, as no file could keep them.

    Returns
    -------
    {copied}

    Notes
    -----
    Writes, with ``key`` for ``key_added``:

    - ``obsm["X_{key}"]``: the cells in the learned space, drawn to the tree;
    - ``obsm["X_{key}_projection"]``: their linear coordinates there, at which pictures and
      pseudotime have them;
    - ``uns[key]``: "method"; "params" (None as the word), "use_rep", "layer" if given; "centers",
      the nodes, and "tree", their sparse adjacency matrix; "sigma"; "objective_history", "n_iter"
      and "converged"; "model", the fitted estimator, for `place` and `bootstrap`; "from_dask"
      after a fit to a Dask array.

    What other tools had written under that name is removed.

    Examples
    --------
    >>> import anndata
    >>> import branchwise
    >>> from branchwise.datasets import make_tree
    >>> adata = anndata.AnnData(make_tree(200, 10, random_state=0).X)  # simulated
    >>> branchwise.tl.ddrtree(adata, n_components=3)
    >>> adata.obsm["X_ddrtree"].shape, adata.uns["ddrtree"]["method"]
    ((200, 3), 'ddrtree')
    """
    fit_params = {"resume": True} if resume else {}
    return _fit(
        adata, "ddrtree", use_rep, layer, key_added, random_state, copy, params, None, fit_params
    )


@documented(CELLS)
@takes_parameters_of(DRTree)
def drtree(
    adata: "AnnData",
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    key_added: str = "drtree",
    random_state: Any = 0,
    copy: bool = False,
    **params: Any,
) -> "AnnData | None":
    """Learn a tree with one node per cell: for data with little noise (`DRTree`).

    Parameters
    ----------
    {adata_to_fit}
    {fit_from}
    key_added : str, default="drtree"
        Name of the results.
    random_state : int, RandomState or None, default=0
        Seeds the choice of landmarks from a Dask array; the method itself uses no random numbers.
    {copy}
    **params
        Parameters of `branchwise.DRTree` by their names.

    Returns
    -------
    {copied}

    Notes
    -----
    Writes the same slots as `ddrtree`; "centers" are the cells or, after a fit to a Dask array,
    the landmarks among them (``n_landmarks``), by which all cells are placed; "landmarks" are their
    numbers.

    Examples
    --------
    >>> import anndata
    >>> import branchwise
    >>> from branchwise.datasets import make_tree
    >>> adata = anndata.AnnData(make_tree(200, 10, random_state=0).X)  # simulated
    >>> branchwise.tl.drtree(adata)
    >>> adata.uns["drtree"]["tree"].shape
    (200, 200)
    """
    return _fit(adata, "drtree", use_rep, layer, key_added, random_state, copy, params)


@documented(CELLS)
@takes_parameters_of(SPL)
def spl(
    adata: "AnnData",
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    key_added: str = "spl",
    structure: str | None = None,
    random_state: Any = 0,
    copy: bool = False,
    **params: Any,
) -> "AnnData | None":
    """Learn a smooth skeleton of any shape, at the certified global optimum (`SPL`).

    Parameters
    ----------
    {adata_to_fit}
    {fit_from}
    key_added : str, default="spl"
        Name of the results.
    structure : str or None, default=None
        What time is to run along: None spans the skeleton by a tree of the shortest learned edges,
        which cuts rings open; otherwise such a structure, as "ring" or "graph", is
        fitted to the skeleton (see `branchwise.trajectory.Trajectory.from_estimator`).
    random_state : int, RandomState or None, default=0
        Seeds the random vectors of a sketch, and the choice of landmarks from a Dask array. The
        seed is written down; None draws one.
    {copy}
    **params
        Parameters of `branchwise.SPL` by their names.

    Returns
    -------
    {copied}

    Notes
    -----
    Writes, with ``key`` for ``key_added``:

    - ``obsm["X_{key}"]``: the skeleton, in units of the data;
    - ``obsm["X_{key}_projection"]``: linear coordinates of the cells, at which pictures and
      pseudotime have them;
    - ``uns[key]``: as `ddrtree`, without "sigma"; "structure" if given; "centers" are the cells,
      "tree" is the structure, and "graph" holds the learned weights between cells. "model" includes
      a copy of the data, to which new cells are tied. After a fit to a Dask array all three are of
      the landmarks (``n_landmarks``), by which all cells are placed; "landmarks" are their numbers.

    What other tools had written under that name is removed.

    Examples
    --------
    >>> import anndata
    >>> import branchwise
    >>> from branchwise.datasets import make_tree
    >>> adata = anndata.AnnData(make_tree(150, 10, random_state=0).X)  # simulated
    >>> branchwise.tl.spl(adata, n_neighbors=5)
    >>> adata.obsm["X_spl"].shape, adata.uns["spl"]["converged"]
    ((150, 2), True)
    """
    return _fit(adata, "spl", use_rep, layer, key_added, random_state, copy, params, structure)


def _fit(
    adata: "AnnData",
    method: str,
    use_rep: str | None,
    layer: str | None,
    key_added: str,
    random_state: Any,
    copy: bool,
    params: dict[str, Any],
    structure: str | None = None,
    fit_params: dict[str, Any] | None = None,
) -> "AnnData | None":
    check_adata(adata)
    check_free(adata, check_key(key_added))
    X, source = representation(adata, use_rep, layer)
    model = make_estimator(method, params)
    has_chance = method != "ddrtree" or random_state is not None
    model.set_params(random_state=as_seed(random_state) if has_chance else None)
    params = parameters_state(model)  # refuses before the fit what no file can keep
    if structure is not None:
        as_structure(structure)  # complains before the fit, too
    model.fit(X, **(fit_params or {}))
    embedding, projection = cells_of(model, X)
    keys = keys_of(key_added)
    entry = entry_of_model(model, structure) | {
        UNS.method: method,
        UNS.params: storable({k: v for k, v in params.items() if k not in NOT_STORED}),
        **source_of(X, source, layer),
    }
    results = Results(
        obsm={keys.embedding: embedding, keys.projection: projection},
        uns={key_added: entry},
        stale_obs=keys.order + keys.support + keys.trust + keys.likely,
        stale_var=keys.tests,
        stale_uns=(keys.branch_colors,),
    )
    return write(adata, results, copy)


def source_of(X: Any, source: str, layer: str | None) -> dict[str, Any]:
    """What an entry of uns says of the matrix that was learned from."""
    entry: dict[str, Any] = {UNS.use_rep: source}
    if is_dask(X):
        entry[UNS.from_dask] = True
    if layer is not None:
        entry[UNS.layer] = layer
    return entry


def entry_of_model(model: Any, structure: str | None = None) -> dict[str, Any]:
    """What an entry of uns holds of a fitted estimator."""
    nodes, edges = graph_of_model(model, structure)
    is_tree = hasattr(model, "tree_")
    entry = {
        UNS.centers: nodes,
        UNS.tree: model.tree_ if is_tree else adjacency(edges, len(nodes)),
        UNS.objective_history: model.objective_history_,
        UNS.n_iter: int(model.n_iter_),
        UNS.converged: bool(model.converged_),
        UNS.model: storable(estimator_state(model)),
    }
    if hasattr(model, "landmarks_"):
        entry[UNS.landmarks] = model.landmarks_
    if structure is not None:
        entry[UNS.structure] = structure
    if hasattr(model, "sigma_"):
        entry[UNS.sigma] = float(model.sigma_)
    if not is_tree:
        entry[UNS.graph] = model.graph_
    return entry


def cells_of(model: Any, X: Any) -> tuple[Any, Any]:
    """Embedding and linear coordinates of every cell, in memory.

    Those of the fit or, after a fit of landmarks, new ones. Points of a Dask array are gathered,
    once; they are small beside it.
    """
    if is_dask(X) and not is_dask(model.embedding_):
        return coordinates_of(model, X)
    return in_units_of_data(model, in_memory(model.embedding_)), in_memory(model.projection_)


def coordinates_of(model: Any, X: Any) -> tuple[Any, Any]:
    """Embedding and linear coordinates of new cells, in memory."""
    embedding = np.asarray(in_memory(model.transform(X)))
    return in_units_of_data(model, embedding), np.asarray(in_memory(model.project(X)))


def check_free(adata: "AnnData", key: str) -> None:
    """Nobody else's results are overwritten."""
    if is_fit(adata.uns.get(key)):
        return
    keys = keys_of(key)
    for place, name in (("uns", key), ("obsm", keys.embedding)):
        if name in getattr(adata, place):
            raise ValueError(
                f"key_added={key!r} would overwrite adata.{place}[{name!r}], which branchwise has "
                "not written; choose another name, or delete it first."
            )


def make_estimator(method: str, params: dict[str, Any]) -> Any:
    """An estimator from its parameters, if it has such."""
    estimator = ESTIMATORS[method]
    known = [name for name in inspect.signature(estimator).parameters if name != "random_state"]
    for name in params:
        if name not in known:
            raise TypeError(
                f"{name!r} is not a parameter of {estimator.__name__}; they are {listed(known)}."
            )
    return estimator(**params)


def as_seed(random_state: Any) -> Any:
    """A seed that can be written down; what is none, the estimator complains of."""
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return int(check_random_state(random_state).randint(2**31 - 1))
    return random_state
