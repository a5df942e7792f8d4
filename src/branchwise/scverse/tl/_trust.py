"""How much to trust the places of cells."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._compat import import_pandas
from ...data.dask import as_chunks, import_dask, is_dask
from ...data.dask_errors import failures_in_words
from ...data.dask_passes import as_rows
from ...persistence.format import Unsound
from ...persistence.reference import reference_from_state, reference_state
from ...placing.held_out import with_own
from ...placing.placer import Assessed, Placer, columns_of
from ...placing.places import Places, places_of
from ...placing.reference import Reference
from ...placing.table import table_of_places
from ...trajectory import Trajectory
from ...trajectory.tables import placed_table
from .._keys import UNS, Keys, keys_of
from .._uns import restored, steps_of, storable
from ._order import REDUCING

if TYPE_CHECKING:
    from anndata import AnnData

# What is kept beside a reference, so that its cells need not be at hand.
N_CELLS, POINTS, WEIGHTS = "n_cells", "points", "weights"


def reference_entry(path: Trajectory) -> dict[str, Any]:
    """What `place` has to know of the cells that a tree was learned from, for ``uns[key]``."""
    if path.reference_ is None:
        return {}
    places = places_of(path.view)
    kept = {N_CELLS: len(path.names_), POINTS: places.points, WEIGHTS: places.weights}
    return {UNS.reference: storable({**(reference_state(path.reference_) or {}), **kept})}


def own_trust(path: Trajectory, X: Any, genes: Sequence[str], key: str) -> dict[str, Any]:
    """Columns of obs for the cells that a tree was learned from."""
    found = path.reference_
    if found is None:
        return {}
    placer = placer_of(path, path.estimator_, found, places_of(path.view), genes)
    return trust_columns(path, with_own(placer.assess(X), found), keys_of(key))


def new_trust(
    entry: dict[str, Any], model: Any, path: Trajectory, X: Any, genes: Sequence[str], key: str
) -> dict[str, Any]:
    """Columns of obs for new cells, which ``path`` has; none if the reference cannot tell.

    It cannot for the other methods than `trajectory`, and for branches that were removed since.
    """
    if UNS.reference not in entry or is_reduced(steps_of(entry)):
        return {}
    state = restored(entry[UNS.reference])
    try:
        n_cells, points, weights = (state.pop(name) for name in (N_CELLS, POINTS, WEIGHTS))
        found = reference_from_state(state, (*model.components_.shape, n_cells))
    except (KeyError, Unsound) as error:
        raise ValueError(
            f"adata.uns[{key!r}][{UNS.reference!r}] is damaged ({error}); call "
            "branchwise.tl.trajectory again."
        ) from error
    if found is None:
        return {}
    on_tree = placed_table(path.view, points, None)
    names = import_pandas().Index(path.view.branches.names)
    branch, times = names.get_indexer(on_tree["branch"]), on_tree["pseudotime"].to_numpy()
    # Intervals of pseudotime are not written, so that no stretch needs its ends.
    places = Places(points, weights, branch, times, np.arange(len(points)), times, times)
    placer = placer_of(path, model, found, places, genes)
    return trust_columns(path, assessed_of(placer, X), keys_of(key))


def genes_of_source(adata: "AnnData", X: Any, source: str) -> list[str]:
    """Names of the columns that a tree was learned from: genes, or numbered ones of ``obsm``.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> from branchwise.scverse.tl._trust import genes_of_source
    >>> adata = anndata.AnnData(np.eye(3))
    >>> genes_of_source(adata, adata.X, "X"), genes_of_source(adata, np.eye(3, 2), "X_pca")
    (['0', '1', '2'], ['X_pca1', 'X_pca2'])
    """
    if source == "X":
        return [str(name) for name in adata.var_names]
    return [f"{source}{j + 1}" for j in range(X.shape[1])]


def is_reduced(steps: list[tuple[str, dict[str, Any]]]) -> bool:
    """Whether these steps remove branches."""
    return any(call in REDUCING for call, _ in steps)


def placer_of(
    path: Trajectory, model: Any, found: Reference, places: Places, genes: Sequence[str]
) -> Placer:
    """What assesses cells, of which all genes are known."""
    return Placer(columns_of(genes), None, model, found, places, len(path.view.branches.names))


def assessed_of(placer: Placer, X: Any) -> Assessed:
    """How much to trust the places of cells; those of a Dask array are assessed by its workers."""
    if not is_dask(X):
        return placer.assess(X)
    dask, _ = import_dask()
    X = as_chunks(X)
    assess = dask.delayed(assessed_rows, pure=False)
    given = dask.delayed(placer, traverse=False)
    with failures_in_words(X, X):
        done = dask.compute(*(assess(block, given) for block in X.to_delayed().ravel()))
    return Assessed(*(np.concatenate(column) for column in zip(*done, strict=True)))


def assessed_rows(rows: Any, placer: Placer) -> Assessed:
    """Those of one chunk."""
    return placer.assess(as_rows(rows))


def trust_columns(path: Trajectory, assessed: Assessed, keys: Keys) -> dict[str, Any]:
    """The columns of obs, by their slots."""
    found = table_of_places(path.view, path.view.points, assessed, None)
    likeliest = import_pandas().Categorical(
        found["likeliest_branch"], categories=list(path.view.branches.names)
    )
    plain = ("p", "misfit", "out_of_range", "drivers", "branch_probability")
    columns = {getattr(keys, name): found[name].to_numpy() for name in plain}
    return columns | {keys.likeliest_branch: likeliest}
