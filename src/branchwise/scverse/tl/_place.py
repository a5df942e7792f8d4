"""New cells on the graph of a reference."""

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._docs import CELLS, documented
from ..._messages import listed
from ..._typing import Floats, Matrix
from ...data.dask import is_dask
from ...data.dask_passes import map_chunks
from .._adata import Results, check_adata, in_memory, representation, write
from .._keys import UNS, keys_of
from .._uns import entry_of, find_key, model_of, trajectory_from, without
from ._fit import check_free, coordinates_of
from ._order import order_columns
from ._trust import genes_of_source, new_trust

if TYPE_CHECKING:
    from anndata import AnnData

# Coordinates of a PCA that agree to this part of their size are of that PCA.
SAME = 1e-3
# What is known of the reference's own cells.
OF_CELLS = (UNS.association, UNS.support, UNS.evidence, UNS.description)


@documented(CELLS)
def place(
    adata: "AnnData",
    reference: "AnnData",
    *,
    key: str | None = None,
    use_rep: str | None = None,
    layer: str | None = None,
    copy: bool = False,
) -> "AnnData | None":
    """Place new cells on the graph that was learned from a reference.

    The graph, its root and its branches stay as they are. Each cell is placed by itself.

    Parameters
    ----------
    adata : AnnData
        The new cells, prepared (normalised, logarithms taken, scaled) as the reference was. A Dask
        array is read chunk by chunk, and never loaded.
    reference : AnnData
        With results of `trajectory`, `ddrtree`, `drtree` or `spl`; its cells are needed only to
        check a PCA.
    key : str or None, default=None
        Name of the results in the reference, and in ``adata``; None: the only ones.
    use_rep : str or None, default=None
        An entry of ``obsm`` with the new cells in the very space that the reference was learned
        from. None: the genes are taken, found by name; if the reference was learned from "X_pca",
        they are projected by its loadings, ``varm["PCs"]``. A PCA of the new cells by themselves is
        another space, so that their own "X_pca" is not taken unless it is named here.
    layer : str or None, default=None
        Values of the genes; None: those that the reference was learned from.
    {copy}

    Returns
    -------
    {copied}

    Notes
    -----
    Writes the slots of `ddrtree` and `branches` for the new cells, and of `pseudotime` if the
    reference has them; ``uns[key]`` is the reference's, without its tests, evidence and
    support, so that
    `branchwise.pl` draws the new cells on its graph.

    If the reference was learned by `trajectory`, and no branch was removed since, also how much to
    trust the places: ``obs["{key}_p"]``, the part of cells like the reference's that lie as far
    from the tree (look at cells of 0.05 or less before you use their places), ``…_misfit``,
    ``…_out_of_range``, ``…_drivers``, ``…_branch_probability`` and ``…_likeliest_branch``
    (`branchwise.pipeline.Pipeline.place`).

    Examples
    --------
    >>> import anndata
    >>> import branchwise
    >>> from branchwise.datasets import make_tree
    >>> adata = anndata.AnnData(make_tree(300, 10, noise=0.05, random_state=0).X)  # simulated
    >>> reference, new = adata[:200].copy(), adata[200:].copy()
    >>> branchwise.tl.ddrtree(reference, n_components=3)
    >>> branchwise.tl.pseudotime(reference, root="T1")
    >>> branchwise.tl.place(new, reference)
    >>> new.obs["ddrtree_pseudotime"].shape
    (100,)
    """
    check_adata(adata)
    check_adata(reference, "reference")
    key = find_key(reference, key)
    check_free(adata, key)
    entry, keys = entry_of(reference, key), keys_of(key)
    X = new_rows(adata, reference, entry, use_rep, layer)
    model = model_of(reference, key)
    embedding, projection = coordinates_of(model, X)
    trajectory = trajectory_from(entry, projection, adata.obs_names)
    genes = genes_of_source(reference, X, entry[UNS.use_rep])
    trust = new_trust(entry, model, trajectory, X, genes, key)
    columns = order_columns(
        trajectory,
        key,
        has_root=keys.pseudotime in reference.obs,
        has_end=keys.progress in reference.obs,
    )
    from ...plotting.coloring import BRANCH_COLORS, category_colors

    tables = {UNS.milestones: trajectory.milestones_, UNS.branches: trajectory.branch_table_}
    colors = {keys.branch_colors: category_colors(len(trajectory.branch_table_), BRANCH_COLORS)}
    results = Results(
        obs=columns | trust,
        obsm={keys.embedding: embedding, keys.projection: projection},
        # Nothing is shared with the reference, which may change.
        uns={key: deepcopy(without(entry, *OF_CELLS)) | tables, **colors},
        stale_obs=keys.order + keys.support + keys.trust + keys.likely,
        stale_var=keys.tests,
    )
    return write(adata, results, copy)


def new_rows(
    adata: "AnnData",
    reference: "AnnData",
    entry: dict[str, Any],
    use_rep: str | None,
    layer: str | None,
) -> Matrix:
    """New cells in the space that the reference was learned from."""
    learned_from = entry[UNS.use_rep]
    if use_rep is not None and use_rep != "X":
        return representation(adata, use_rep, layer)[0]
    if learned_from == "X":
        return genes_of(adata, reference, layer or entry.get(UNS.layer))
    if learned_from == "X_pca" and "PCs" in reference.varm:
        axes, offset = loadings(reference)
        return projected(genes_of(adata, reference, layer), axes, offset)
    raise ValueError(
        f"The reference was learned from obsm[{learned_from!r}], and there is no way known from "
        f"genes to there; compute the same for the new cells and pass use_rep={learned_from!r}."
    )


def genes_of(adata: "AnnData", reference: "AnnData", layer: str | None) -> Matrix:
    """Values of the reference's genes in new cells, in the reference's order."""
    names = reference.var_names
    missing = [name for name in names if name not in adata.var_names]
    if missing:
        raise ValueError(
            f"adata lacks {len(missing)} of the {len(names)} genes of the reference: "
            f"{listed(map(repr, missing), most=5)}; add them, for instance as zeros, or learn the "
            "reference from genes that both have."
        )
    if not (adata.var_names.is_unique and names.is_unique):
        raise ValueError(
            "Names of genes must be unique to find them in both; call var_names_make_unique() on "
            "adata and on the reference first."
        )
    return representation(adata[:, names], "X", layer)[0]


def projected(values: Matrix, axes: Floats, offset: Floats | float) -> Any:
    """Values along axes, minus an offset; of a Dask array, lazily."""
    if is_dask(values):
        return map_chunks(values, projected, axes.shape[1], np.float64, axes=axes, offset=offset)
    return np.asarray(values @ axes) - offset


def loadings(reference: "AnnData") -> tuple[Floats, Floats]:
    """Axes of the reference's PCA, and what to take off after the projection to them."""
    coordinates = np.asarray(in_memory(reference.obsm["X_pca"]), dtype=np.float64)
    axes = np.asarray(in_memory(reference.varm["PCs"]), dtype=np.float64)[:, : coordinates.shape[1]]
    along = in_memory(projected(representation(reference, "X", None)[0], axes, 0.0))
    offset = along.mean(axis=0)
    size = np.abs(coordinates).max()
    for taken_off in (offset, np.zeros_like(offset)):  # scanpy's zero_center=True or False
        if np.abs(along - taken_off - coordinates).max() <= SAME * size:
            return axes, taken_off
    raise ValueError(
        "The reference's obsm['X_pca'] is not what varm['PCs'] makes of its X, which must have "
        "changed since; call scanpy.pp.pca(reference) and learn the graph again, or pass new cells "
        "in the same space with use_rep=…."
    )
