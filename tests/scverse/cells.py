"""Simulated cells in an AnnData object."""

import numpy as np
import pytest
from scipy import sparse

from branchwise.datasets import make_tree

anndata = pytest.importorskip("anndata", reason="branchwise.tl works on AnnData objects")

METHODS = ("trajectory", "ddrtree", "drtree", "spl")
# Few centres and neighbours, and a twig to cut off: what is tested is where results go.
QUICK = {
    "trajectory": {"support": 0},
    "ddrtree": {"n_components": 4, "lam": 2.0, "n_centers": 40},
    "drtree": {},
    "spl": {"n_neighbors": 5},
}


def simulated_cells(n_cells=120, n_genes=6, *, seed=0):
    """A tree with three tips; the first cells of it are of day 0."""
    data = make_tree(n_cells, n_genes, noise=0.05, random_state=seed)
    adata = anndata.AnnData(data.X - data.X.min() + 0.1)
    adata.obs_names = [f"cell {k}" for k in range(n_cells)]
    adata.var_names = [f"gene {k}" for k in range(n_genes)]
    early = data.pseudotime < 0.2 * data.pseudotime.max()
    adata.obs["day"] = np.where(early, "0", "later")
    adata.layers["sparse"] = sparse.csr_matrix(adata.X)
    return adata
