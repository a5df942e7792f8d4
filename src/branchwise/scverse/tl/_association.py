"""Which genes change along the graph."""
# ruff: noqa: PT028 (a tool of this name, not a test)

from typing import TYPE_CHECKING

from ..._docs import CELLS, documented
from ...data.dask import check_not_dask
from .._adata import Results, check_adata, finite_matrix, gene_values, write
from .._keys import UNS, keys_of
from .._uns import entry_of, find_key, trajectory_of

if TYPE_CHECKING:
    from anndata import AnnData


@documented(CELLS)
def test_association(
    adata: "AnnData",
    *,
    key: str | None = None,
    layer: str | None = None,
    use_raw: bool = False,
    method: str = "linear",
    df: int | None = None,
    copy: bool = False,
) -> "AnnData | None":
    """Test each gene for a change along the graph.

    An F test of a smooth function on the graph against a constant, with false discovery rates
    (`branchwise.trajectory.Trajectory.associated_features`). Where the graph was learned from the
    same genes, as usual, p-values are too small: take them for a ranking.

    Parameters
    ----------
    {adata}
    {key}
    layer : str or None, default=None
        Values of the genes; None: ``X``. Take logarithms of counts. Dask arrays are refused: load
        some of the genes or cells.
    use_raw : bool, default=False
        Test the genes of ``adata.raw``.
    method : {"linear", "rank"}, default="linear"
        Whether values are fitted or their ranks, which outliers and the skewness of counts do not
        move.
    df : int or None, default=None
        Degrees of freedom of the change; None: 2 + 2·(number of branches).
    {copy}

    Returns
    -------
    {copied}

    Notes
    -----
    Writes:

    - ``uns[key]["association"]``: a table with one row per gene, the most significant first:
      statistic, df_num, df_den, p_value, q_value, r_squared, amplitude, correlation with
      pseudotime, n_samples;
    - ``var["{key}_statistic"]``, ``…_p_value``, ``…_q_value``, ``…_r_squared``, ``…_amplitude`` and
      ``…_correlation``; with ``use_raw`` these are removed, as the genes are others.

    Examples
    --------
    >>> import anndata
    >>> import branchwise
    >>> from branchwise.datasets import make_tree
    >>> adata = anndata.AnnData(make_tree(200, 10, noise=0.05, random_state=0).X)  # simulated
    >>> branchwise.tl.ddrtree(adata, n_components=3)
    >>> branchwise.tl.test_association(adata)
    >>> bool((adata.var["ddrtree_q_value"] < 0.01).all())
    True
    """
    check_adata(adata)
    key = find_key(adata, key)
    values, names, source = gene_values(adata, layer, use_raw)
    if not names.is_unique:
        twice = names[names.duplicated()][0]
        owner = "adata.raw" if use_raw else "adata"
        raise ValueError(
            f"{owner} has several genes named {twice!r}; call adata.var_names_make_unique() first"
            f"{', and set adata.raw again' if use_raw else ''}."
        )
    check_not_dask(
        values,
        source,
        "load some genes, adata[:, genes].to_memory(), or some cells, adata[::10].to_memory(), and "
        "test these",
    )
    trajectory = trajectory_of(adata, key)
    values = finite_matrix(values, source, adata)
    table = trajectory.associated_features(values, list(names), method=method, df=df)
    table = table.set_index("feature")
    keys = keys_of(key)
    columns = {}
    if not use_raw:
        in_order = table.loc[list(names)]
        columns = {
            f"{key}_{column}": in_order[column].to_numpy()
            for column in table
            if f"{key}_{column}" in keys.tests
        }
    entry = {**entry_of(adata, key), UNS.association: table}
    return write(adata, Results(var=columns, uns={key: entry}, stale_var=keys.tests), copy)
