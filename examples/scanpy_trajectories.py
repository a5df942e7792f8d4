"""From scanpy's own data to trees, order, branches and genes, all inside AnnData objects.

Above, krumsiek11: a simulated model of myeloid differentiation (640 cells, 11 genes), in
which progenitors become erythrocytes, megakaryocytes, monocytes or neutrophils. Below,
pbmc68k_reduced: 700 real blood cells, almost all of them mature. Their types do not become one
another: that tree says which are alike, seen from the 13 progenitors (CD34+). Both data sets come
with scanpy. Run it with

    python examples/scanpy_trajectories.py [picture.png]
"""

import sys
import warnings

import matplotlib.pyplot as plt
import scanpy as sc

import branchwise

LINEAGE = {
    "CD14+ Monocyte": "monocytes",
    "CD19+ B": "B cells",
    "CD34+": "CD34+",
    "CD56+ NK": "NK cells",
    "Dendritic": "dendritic cells",
}


def myeloid_cells(support=20):
    """Simulated cells, ordered from the progenitors to four fates."""
    with warnings.catch_warnings():
        # The names of its cells are not unique, as those of four simulated runs were put together.
        warnings.filterwarnings("ignore", "Observation names are not unique", UserWarning)
        adata = sc.datasets.krumsiek11()
    adata.obs_names_make_unique()
    # Half of the cells are called progenitors: time starts at an end.
    branchwise.tl.trajectory(adata, root={"cell_type": "progenitor"}, at="tip", support=support)
    branchwise.tl.test_association(adata)
    return adata


def blood_cells():
    """Real cells: a tree in the principal components that come with them."""
    adata = sc.datasets.pbmc68k_reduced()
    adata.obs["lineage"] = adata.obs["bulk_labels"].astype(str).map(LINEAGE).fillna("T cells")
    # Step by step: mature cells do not fork, and are drawn as a tree of likeness all the same.
    branchwise.tl.ddrtree(adata, n_components=10)
    branchwise.tl.branches(adata, prune=True)
    branchwise.tl.pseudotime(adata, root={"lineage": "CD34+"})
    return adata


def main(picture: str, support: int = 20) -> None:
    """Learn both trees and draw them."""
    myeloid, blood = myeloid_cells(support), blood_cells()
    print(myeloid.uns["trajectory"]["description"])
    table = myeloid.obs.groupby("trajectory_branch", observed=True)["cell_type"]
    print("Simulated myeloid cells by branch:")
    print(table.value_counts().unstack().fillna(0).astype(int).to_string())

    figure, axes = plt.subplots(3, 2, figsize=(12, 14), layout="constrained")
    simulated = "krumsiek11, simulated:"
    branchwise.pl.embedding(myeloid, color="cell_type", size=45, ax=axes[0, 0])
    axes[0, 0].set_title(f"{simulated} two of ten components")
    branchwise.pl.tree(myeloid, color="cell_type", ax=axes[0, 1])
    axes[0, 1].set_title(f"{simulated} the tree from its root")
    branchwise.pl.trends(myeloid, "EKLF", ax=axes[1, 0])
    axes[1, 0].set_title(f"{simulated} a gene of erythrocytes")
    tip = tip_of(myeloid, "Ery")
    branchwise.pl.heatmap(myeloid, myeloid.var_names, to=tip, ax=axes[1, 1])
    axes[1, 1].set_title(f"{simulated} genes on the way to erythrocytes", pad=30)
    branchwise.pl.embedding(blood, color="lineage", size=45, ax=axes[2, 0])
    axes[2, 0].set_title("pbmc68k_reduced: two of ten components")
    branchwise.pl.branches(blood, labels="lineage", ax=axes[2, 1])
    axes[2, 1].set_title("pbmc68k_reduced: what is on each branch")
    figure.savefig(picture, dpi=110)
    plt.close(figure)


def tip_of(adata, cell_type):
    """The tip of the branch that most cells of a type are on."""
    branch = adata.obs["trajectory_branch"][adata.obs["cell_type"] == cell_type].mode()[0]
    return adata.uns["trajectory"]["branches"].loc[branch, "end"]


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "scanpy_trajectories.png")
