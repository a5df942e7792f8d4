"""tl.trajectory writes what learn_trajectory finds in the same matrix, and the tools go on."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import branchwise
from branchwise.scverse._keys import UNS, keys_of

from .cells import anndata, simulated_cells

KEYS = keys_of("trajectory")


@pytest.fixture(scope="module")
def cells():
    """As it comes by default, but for the number of resamples."""
    adata = simulated_cells(200)
    branchwise.tl.trajectory(adata, support=3)
    return adata


@pytest.fixture(scope="module")
def rooted():
    """Rooted by a label, without resamples."""
    adata = simulated_cells(200)
    branchwise.tl.trajectory(adata, root={"day": "0"}, end="T2", support=0)
    return adata


def assert_is(adata, path, key="trajectory"):
    """Tree, branches and pseudotime in the slots are those of a trajectory."""
    entry, keys = adata.uns[key], keys_of(key)
    np.testing.assert_array_equal(entry["trajectory"]["nodes"], path.nodes_)
    np.testing.assert_array_equal(entry["trajectory"]["edges"], path.edges_)
    np.testing.assert_array_equal(entry["centers"], path.estimator_.centers_)
    assert abs(entry["tree"] - path.estimator_.tree_).nnz == 0
    np.testing.assert_array_equal(adata.obsm[keys.embedding], path.estimator_.embedding_)
    np.testing.assert_array_equal(adata.obsm[keys.projection], path.estimator_.projection_)
    np.testing.assert_array_equal(adata.obs[keys.pseudotime], path.pseudotime_)
    assert adata.obs[keys.branch].tolist() == path.branches_.tolist()
    pd.testing.assert_frame_equal(entry["branches"], path.branch_table_)
    pd.testing.assert_frame_equal(entry["milestones"], path.milestones_)
    pd.testing.assert_frame_equal(entry["evidence"], path.evidence_)
    assert entry["description"] == path.describe()


def test_it_is_what_learn_trajectory_finds(cells):
    path = branchwise.learn_trajectory(cells.X, support=3)
    assert len(path.branch_table_) == 3
    assert {"p", "support"} <= set(cells.uns["trajectory"]["branches"])
    assert_is(cells, path)
    found, times = cells.uns["trajectory"]["support"], path.support_.pseudotime_
    pd.testing.assert_frame_equal(found["branches"], path.support_.branches_)
    pd.testing.assert_frame_equal(found["milestones"], path.support_.milestones_)
    assert found["n_tips"]["n_resamples"].tolist() == path.support_.n_tips_.tolist()
    np.testing.assert_array_equal(cells.obs[KEYS.pseudotime_std], times["std"])
    np.testing.assert_array_equal(cells.obs[KEYS.branch_agreement], times["branch_agreement"])
    assert set(cells.uns["trajectory"]) <= set(vars(UNS).values())


def test_it_is_rooted_as_a_trajectory_is(rooted):
    path = branchwise.learn_trajectory(rooted.X, support=0)
    path = path.rooted(labels=rooted.obs["day"].to_numpy(), value="0", end="T2")
    assert_is(rooted, path)
    np.testing.assert_array_equal(rooted.obs[KEYS.progress], path.progress_)
    assert "support" not in rooted.uns["trajectory"]
    assert not set(KEYS.support) & set(rooted.obs)


@pytest.mark.parametrize("source", ["X_pca", "sparse layer", "single precision"])
def test_it_learns_from_the_matrix_that_ddrtree_would(source):
    adata = simulated_cells(150)
    layer = "sparse" if source == "sparse layer" else None
    if source == "X_pca":
        adata.obsm["X_pca"] = adata.X[:, :4] * 2
    if source == "single precision":
        adata.X = adata.X.astype(np.float32)
    branchwise.tl.trajectory(adata, layer=layer, support=0, key_added="way")
    X = {"X_pca": adata.obsm.get("X_pca"), "sparse layer": adata.layers["sparse"]}
    assert_is(adata, branchwise.learn_trajectory(X.get(source, adata.X), support=0), "way")
    assert adata.uns["way"]["use_rep"] == ("X_pca" if source == "X_pca" else "X")


def test_options_are_those_of_learn_trajectory(cells):
    adata = anndata.AnnData(cells.X, obs=cells.obs[["day"]])
    branchwise.tl.trajectory(adata, n_components=2, level=1e-9, support=0, root="cell 7")
    path = branchwise.learn_trajectory(
        adata.X, n_components=2, level=1e-9, support=0, names=adata.obs_names
    )
    assert len(path.branch_table_) == 1
    assert_is(adata, path.rooted(sample="cell 7"))
    assert adata.uns["trajectory"]["params"] == {
        "n_components": 2,
        "level": 1e-9,
        "support": 0,
        "random_state": 0,
    }


def test_another_root_is_that_of_the_trajectory_and_without_old_support(cells):
    adata = cells.copy()
    branchwise.tl.pseudotime(adata, root="T2")
    path = branchwise.learn_trajectory(adata.X, support=0).rooted(node="T2")
    np.testing.assert_allclose(adata.obs[KEYS.pseudotime], path.pseudotime_, atol=1e-12)
    entry = adata.uns["trajectory"]
    assert entry["description"] == path.describe() != cells.uns["trajectory"]["description"]
    pd.testing.assert_frame_equal(entry["evidence"], path.evidence_)
    assert "support" not in {*entry, *entry["branches"]}
    assert not set(KEYS.support) & set(adata.obs)


def test_fewer_branches_have_evidence_of_their_own(cells):
    adata = cells.copy()
    branchwise.tl.branches(adata, n_branches=1)
    path = branchwise.learn_trajectory(adata.X, support=0).merge(1)
    assert adata.uns["trajectory"]["description"] == path.describe()
    assert adata.uns["trajectory"]["description"].startswith("1 branch, 2 tips and no fork.")
    branchwise.tl.branches(adata)
    assert len(adata.uns["trajectory"]["branches"]) == 3


@pytest.mark.parametrize("root", [{"day": "0"}, "T2", "cell 7"], ids=["label", "tip", "cell"])
def test_bootstrap_learns_the_tree_again_as_it_was_learned(root):
    adata = simulated_cells(150)
    later = adata.copy()
    branchwise.tl.trajectory(adata, root=root, support=2)
    branchwise.tl.trajectory(later, root=root, support=0)
    branchwise.tl.bootstrap(later, n_resamples=2)
    entry, again = adata.uns["trajectory"], later.uns["trajectory"]
    for table in ("branches", "milestones", "n_tips"):
        pd.testing.assert_frame_equal(again["support"][table], entry["support"][table])
    pd.testing.assert_frame_equal(again["branches"], entry["branches"])
    assert again["description"] == entry["description"]
    columns = list(KEYS.support)
    pd.testing.assert_frame_equal(later.obs[columns], adata.obs[columns], atol=1e-9)


def test_new_cells_get_the_places_of_the_trajectory(rooted):
    new = simulated_cells(40, seed=3)
    branchwise.tl.place(new, rooted)
    path = branchwise.learn_trajectory(rooted.X, support=0)
    path = path.rooted(labels=rooted.obs["day"].to_numpy(), value="0", end="T2")
    expected = path.place(new.X)
    np.testing.assert_allclose(new.obs[KEYS.pseudotime], expected["pseudotime"], atol=1e-9)
    assert new.obs[KEYS.branch].tolist() == expected["branch"].tolist()
    # These are about the cells of the reference.
    assert {UNS.evidence, UNS.description}.isdisjoint(new.uns["trajectory"])


def test_pictures_draw_it_also_from_a_file(cells, tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot", reason="pictures")
    pytest.importorskip("h5py", reason="h5ad files")
    plt.switch_backend("agg")
    cells.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert again.uns["trajectory"]["description"] == cells.uns["trajectory"]["description"]
    for adata in (cells, again):
        ax = branchwise.pl.tree(adata, key="trajectory", color=KEYS.branch)
        names = [text.get_text().split(" ")[0] for text in ax.get_legend().get_texts()]
        assert sorted(names) == sorted(adata.uns["trajectory"]["branches"].index)
        assert branchwise.pl.embedding(adata, components=(0, 1)).get_xlabel() == "trajectory 1"
        assert branchwise.pl.embedding(adata)[1].get_xlabel().startswith("tree axis 1 (")
        branchwise.pl.branches(adata, labels="day")
        branchwise.pl.trends(adata, "gene 3")
        assert branchwise.pl.uncertainty(adata).get_ylabel() == "pseudotime"
        branchwise.pl.convergence(adata)
        plt.close("all")


def test_a_copy_is_written_and_the_original_kept():
    adata = simulated_cells()
    changed = branchwise.tl.trajectory(adata, support=0, copy=True)
    assert list(adata.obs) == ["day"]
    assert not adata.uns
    assert KEYS.pseudotime in changed.obs


def test_old_results_of_that_name_are_replaced(cells):
    adata = cells.copy()
    branchwise.tl.test_association(adata)
    branchwise.tl.trajectory(adata, support=0)
    assert not set(KEYS.support) & set(adata.obs)
    assert not set(KEYS.tests) & set(adata.var)
    assert {UNS.support, UNS.association}.isdisjoint(adata.uns["trajectory"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"support": -1}, "support=-1 must be a number of resamples, or 0 for none"),
        ({"support": 1}, "support=1 must be at least 2"),
        ({"n_components": 0}, "n_components=0 must be a positive whole number"),
        ({"root": {"week": "0"}}, "root names 'week', which is not a column of adata.obs"),
        ({"root": {"day": "0", "x": "1"}}, "must be one column of adata.obs and one value"),
        ({"root": "nobody"}, "root='nobody' is neither a milestone nor a cell"),
        ({"root": {"day": "9"}}, "'9'"),
        ({"at": "leaf", "root": {"day": "0"}}, "at='leaf' must be 'auto', 'tip' or 'node'"),
        ({"random_state": "dice"}, "'dice' cannot be used to seed"),
        ({"key_added": "a/b"}, "key_added='a/b' must be a text without '/'"),
        ({"use_rep": "X_umap"}, "use_rep='X_umap' is not in adata.obsm"),
        ({"layer": "counts"}, "layer='counts' is not in adata.layers"),
    ],
)
def test_bad_input_is_told_and_nothing_written(options, message):
    adata = simulated_cells(60)
    with pytest.raises(ValueError, match=message):
        branchwise.tl.trajectory(adata, **{"support": 0, **options})
    assert list(adata.obs) == ["day"]
    assert not adata.uns
    assert not adata.obsm


def test_cells_that_are_all_equal_are_refused():
    with pytest.raises(ValueError, match="All rows of X are equal"):
        branchwise.tl.trajectory(anndata.AnnData(np.ones((20, 3))), support=0)


def test_two_names_of_a_key_are_told_apart(cells):
    adata = cells.copy()
    branchwise.tl.ddrtree(adata, n_components=2)
    with pytest.raises(ValueError, match="adata holds 'trajectory', 'ddrtree'; choose one"):
        branchwise.tl.pseudotime(adata)
    with pytest.raises(KeyError, match=r"call branchwise\.tl\.trajectory\(adata\)"):
        branchwise.tl.branches(simulated_cells(10))


def test_a_dask_array_is_learned_from_and_has_no_resamples():
    da = pytest.importorskip("dask.array", reason="Dask arrays")
    adata = simulated_cells(150)
    chunks = da.from_array(adata.X, chunks=(60, adata.n_vars))
    for X in (chunks, chunks.map_blocks(sparse.csr_matrix)):
        lazy = anndata.AnnData(X, obs=adata.obs.copy(), var=adata.var.copy())
        with pytest.warns(UserWarning, match="No resamples were made, as .* is a Dask array"):
            branchwise.tl.trajectory(lazy, root={"day": "0"})
        branchwise.tl.trajectory(adata, root={"day": "0"}, support=0)
        assert lazy.obs[KEYS.branch].tolist() == adata.obs[KEYS.branch].tolist()
        np.testing.assert_allclose(lazy.obs[KEYS.pseudotime], adata.obs[KEYS.pseudotime], atol=1e-6)
        assert isinstance(lazy.obsm[KEYS.embedding], np.ndarray)
        assert UNS.support not in lazy.uns["trajectory"]
        with pytest.raises(ValueError, match=r"call branchwise\.tl\.trajectory again"):
            branchwise.tl.bootstrap(lazy, n_resamples=2)
