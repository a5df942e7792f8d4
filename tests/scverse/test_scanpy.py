"""Together with scanpy: its pictures, its data, and what branchwise finds in them."""

import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

import branchwise

from .cells import simulated_cells

plt = pytest.importorskip("matplotlib.pyplot", reason="pictures")
plt.switch_backend("agg")
with warnings.catch_warnings():
    # What scanpy and its libraries announce when imported is not ours to settle.
    warnings.simplefilter("ignore")
    sc = pytest.importorskip("scanpy", reason="in the developers' group only")

EXAMPLE = Path(__file__).parents[2] / "examples" / "scanpy_trajectories.py"
FATES = ["Ery", "Mk", "Mo", "Neu"]


@pytest.fixture(autouse=True)
def no_figures_left():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(EXAMPLE))


@pytest.fixture(scope="module")
def myeloid(example):
    """Simulated cells of krumsiek11, analysed as in the example."""
    return example["myeloid_cells"](support=0)


# Scanpy's use of matplotlib.
@pytest.mark.filterwarnings("ignore:The set_bad function:PendingDeprecationWarning")
@pytest.mark.parametrize("color", [None, "ddrtree_pseudotime", "ddrtree_branch"])
def test_scanpy_draws_the_embedding(color):
    adata = simulated_cells()
    branchwise.tl.ddrtree(adata)
    branchwise.tl.pseudotime(adata, root="T1")
    colors = list(adata.uns["ddrtree_branch_colors"])
    ax = sc.pl.embedding(adata, basis="ddrtree", color=color, show=False)
    points = np.vstack([c.get_offsets() for c in ax.collections])
    wanted = adata.obsm["X_ddrtree"][:, :2]
    np.testing.assert_allclose(np.sort(points, axis=0), np.sort(wanted, axis=0), rtol=1e-6)
    # Scanpy keeps the colours that it finds, which colour-blind readers can tell apart.
    assert list(adata.uns["ddrtree_branch_colors"]) == colors
    assert len(colors) == len(adata.obs["ddrtree_branch"].cat.categories)


def test_pca_of_scanpy_is_the_default_and_new_cells_follow_it():
    adata = simulated_cells(160, 20)
    reference, new = adata[:120].copy(), adata[120:].copy()
    sc.pp.pca(reference, n_comps=5)
    branchwise.tl.ddrtree(reference)
    assert reference.uns["ddrtree"]["use_rep"] == "X_pca"
    branchwise.tl.pseudotime(reference, root={"day": "0"})
    branchwise.tl.place(new, reference)
    again = reference.copy()
    for slots, name in ((again.uns, "ddrtree"), (again.obsm, "X_ddrtree"), (again.obsm, "X_pca")):
        del slots[name]
    branchwise.tl.place(again, reference)
    # The coordinates of the PCA differ by rounding to single precision, and the places as little.
    before, after = reference.obs["ddrtree_pseudotime"], again.obs["ddrtree_pseudotime"]
    np.testing.assert_allclose(after, before, atol=1e-5 * before.max())


def test_every_simulated_fate_has_a_tip_of_its_own(myeloid):
    branches = myeloid.uns["trajectory"]["branches"]
    mature = myeloid.obs[myeloid.obs["cell_type"].isin(FATES)]
    count = mature.groupby(["cell_type", "trajectory_branch"], observed=True).size().unstack()
    count = count.fillna(0)
    home = count.idxmax(axis=1)
    assert home.loc[FATES].nunique() == 4
    assert branches.loc[home, "end"].str.startswith("T").all()
    of_fate = count.max(axis=1) / count.sum(axis=1)
    of_branch = count.max(axis=1) / count[home].sum(axis=0).to_numpy()
    assert of_fate.min() >= 0.95
    assert of_branch.min() >= 0.95
    # One more tip: that of the progenitors, where time starts.
    tips = myeloid.uns["trajectory"]["milestones"].query("kind == 'tip'")
    assert len(tips) == 5
    stem = branches.index[branches["start_time"] == 0]
    assert len(stem) == 1
    earliest = myeloid.obs[myeloid.obs["trajectory_branch"] == stem[0]]
    assert (earliest["cell_type"] == "progenitor").all()


@pytest.mark.parametrize("run", range(4))
def test_pseudotime_follows_the_order_of_each_simulated_run(myeloid, run):
    """The 640 cells are four runs of 160 steps, each from a progenitor to one fate."""
    one = myeloid.obs.iloc[160 * run : 160 * (run + 1)]
    assert one["cell_type"].iloc[0] == "progenitor"
    assert one["cell_type"].iloc[-1] in FATES
    assert spearmanr(np.arange(160), one["trajectory_pseudotime"]).statistic >= 0.9


def test_blood_cells_part_into_myeloid_and_lymphoid_ones(example):
    blood = example["blood_cells"]()
    obs = blood.obs
    first = obs.groupby("lineage")["ddrtree_pseudotime"].median().idxmin()
    assert first == "CD34+"
    pure = obs.groupby("ddrtree_branch", observed=True)["lineage"].agg(
        lambda types: types.isin(["monocytes", "dendritic cells"]).mean()
    )
    size = obs["ddrtree_branch"].value_counts()[pure.index]
    # Myeloid and lymphoid cells hardly share a branch.
    assert (np.maximum(pure, 1 - pure) * size).sum() / size.sum() >= 0.95


# Scanpy's use of matplotlib, and the names of krumsiek11's cells before they are made unique.
@pytest.mark.filterwarnings("ignore:The set_bad function:PendingDeprecationWarning")
@pytest.mark.filterwarnings("ignore:Observation names are not unique:UserWarning")
def test_what_the_documentation_shows_runs(tmp_path, monkeypatch):
    text = (EXAMPLE.parents[1] / "docs" / "scanpy.md").read_text("utf-8")
    whole, steps = (part.split("```")[0] for part in text.split("```python")[1:3])
    assert 'at="tip")' in whole
    assert "n_resamples=100" in steps
    monkeypatch.chdir(tmp_path)
    made = {}
    exec(whole.replace('at="tip")', 'at="tip", support=2)'), made)
    assert (tmp_path / "cells.h5ad").exists()
    steps = steps.replace("adata,", 'adata, key="ddrtree",').replace(
        "ddrtree(adata, key=", "ddrtree(adata, key_added="
    )
    exec(steps.replace("n_resamples=100", "n_resamples=2"), made)
    assert {"trajectory", "ddrtree"} <= set(made["adata"].uns)


def test_example_draws_its_picture(example, tmp_path, capsys):
    example["main"](str(tmp_path / "picture.png"), support=2)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert "Simulated myeloid cells by branch" in capsys.readouterr().out
