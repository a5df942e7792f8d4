"""Values of cells that pictures show, and the colours that they have elsewhere."""

from typing import Any

import numpy as np

from .._compat import import_pandas
from .._messages import listed
from ._adata import gene_values, in_memory


def color_values(adata: Any, color: Any, key: str, layer: str | None, use_raw: bool) -> Any:
    """What to colour cells by: a column of obs, a gene, or what the trajectory says itself."""
    if color is None or (color in ("pseudotime", "branch") and color not in adata.obs):
        return color
    if not isinstance(color, str):
        raise TypeError(
            f"color={color!r} must be the name of a column of adata.obs or of a gene; put other "
            "values into adata.obs first."
        )
    if color in adata.obs:
        return in_memory(adata.obs)[color]
    if color not in gene_values(adata, layer, use_raw)[1]:
        raise ValueError(
            f"color={color!r} is neither a column of adata.obs nor a gene; columns are "
            f"{listed(map(repr, adata.obs.columns))}."
        )
    column, name = chosen_genes(adata, color, layer, use_raw)
    return import_pandas().Series(column[:, 0], index=adata.obs_names, name=name[0])


def chosen_genes(adata: Any, genes: Any, layer: str | None, use_raw: bool) -> tuple[Any, list[str]]:
    """Values of some genes, as an array, and their names."""
    values, known, _ = gene_values(adata, layer, use_raw)
    names = [genes] if isinstance(genes, str) else list(genes)
    missing = [name for name in names if name not in known]
    if missing:
        raise ValueError(
            f"genes names {listed(map(repr, missing), most=5)}, but adata has no such genes; they "
            f"are called as {known[0]!r}."
        )
    columns = known.get_indexer_for(names)
    if len(columns) > len(names):
        raise ValueError(
            "Several genes have the same name; call adata.var_names_make_unique() first."
        )
    chosen = in_memory(values[:, columns])
    return np.asarray(chosen.toarray() if hasattr(chosen, "toarray") else chosen), names


def colors_of(adata: Any, values: Any) -> list[str] | None:
    """The colours that scanpy keeps for the categories of a column of obs, one for each.

    None where there are none, or where they are of other categories by now.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> import pandas as pd
    >>> from branchwise.scverse._shown import colors_of
    >>> adata = anndata.AnnData(np.ones((2, 1)), uns={"day_colors": ["#ff0000", "#0000ff"]})
    >>> adata.obs["day"] = pd.Categorical(["1", "2"])
    >>> colors_of(adata, adata.obs["day"])
    ['#ff0000', '#0000ff']
    """
    from matplotlib.colors import is_color_like

    categories = getattr(getattr(values, "cat", None), "categories", None)
    if categories is None:
        return None
    colors = in_memory(adata.uns.get(f"{values.name}_colors"))
    colors = [] if colors is None else [str(color) for color in colors]
    is_whole = len(colors) >= len(categories) and all(map(is_color_like, colors))
    return colors if is_whole else None
