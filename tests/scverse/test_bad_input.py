"""What is wrong with an AnnData object is said in its own terms."""

import re

import numpy as np
import pytest
from scipy import sparse

import branchwise

from .cells import anndata, simulated_cells


@pytest.fixture
def adata():
    return simulated_cells()


@pytest.fixture
def learned():
    adata = simulated_cells()
    branchwise.tl.ddrtree(adata)
    return adata


def test_other_objects_are_refused(adata):
    with pytest.raises(TypeError, match="adata is of type ndarray but must be an AnnData object"):
        branchwise.tl.ddrtree(adata.X)


def test_backed_objects_are_refused(adata, tmp_path):
    adata.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    with pytest.raises(ValueError, match=r"adata is backed by a file.*adata\.to_memory\(\)"):
        branchwise.tl.ddrtree(backed)
    backed.file.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"use_rep": "X_pca"},
            r"use_rep='X_pca' is not in adata.obsm.*scanpy.pp.pca\(adata\) first",
        ),
        ({"use_rep": "X_scVI"}, "use_rep='X_scVI' is not in adata.obsm, which has none"),
        ({"layer": "counts"}, "layer='counts' is not in adata.layers, which has 'sparse'"),
        ({"layer": "sparse", "use_rep": "X_pca"}, "name two matrices; leave one out"),
        ({"key_added": "a/b"}, "key_added='a/b' must be a text without '/'"),
        ({"key_added": ""}, "key_added='' must be a text"),
        ({"n_components": 99}, "n_components=99 must be at most"),
    ],
    ids=["no pca", "no such rep", "no layer", "two matrices", "slash", "empty key", "parameter"],
)
def test_bad_arguments_of_a_fit(adata, options, message):
    with pytest.raises(ValueError, match=message):
        branchwise.tl.ddrtree(adata, **options)
    assert not adata.uns
    assert not adata.obsm


def test_an_unknown_structure_is_refused_before_the_fit(adata, monkeypatch):
    monkeypatch.setattr(branchwise.SPL, "fit", None)
    with pytest.raises(ValueError, match="structure='star' must be one of 'tree'"):
        branchwise.tl.spl(adata, structure="star")


def test_unknown_parameters_are_named_with_those_there_are(adata):
    with pytest.raises(
        TypeError, match="'n_neighbours' is not a parameter of SPL; they are n_comp"
    ):
        branchwise.tl.spl(adata, n_neighbours=3)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("value", [np.nan, np.inf], ids=["nan", "inf"])
def test_missing_values_are_named_by_cell(adata, make, value):
    X = adata.X.copy()
    X[3, 2] = value
    adata.X = make(X)
    message = f"adata.X is {value} in cell 'cell 3', column 2, but every value must be finite"
    with pytest.raises(ValueError, match=re.escape(message)):
        branchwise.tl.ddrtree(adata)
    adata.X = make(np.nan_to_num(X, posinf=0.0))
    adata.obsm["X_pca"] = X
    with pytest.raises(ValueError, match=r"adata\.obsm\['X_pca'\] is .* in cell 'cell 3'"):
        branchwise.tl.ddrtree(adata)


def test_large_finite_values_are_no_missing_ones(adata):
    adata.X = np.full(adata.shape, np.finfo(float).max)
    with pytest.raises(ValueError, match="not to overflow"):
        branchwise.tl.ddrtree(adata)


def test_what_holds_no_numbers_is_refused(adata):
    adata.obsm["X_text"] = np.full((adata.n_obs, 2), "a", dtype=object)
    with pytest.raises(TypeError, match=r"adata\.obsm\['X_text'\] holds values of type object"):
        branchwise.tl.ddrtree(adata, use_rep="X_text")
    empty = anndata.AnnData(obs=adata.obs)
    with pytest.raises(ValueError, match=r"adata\.X is None; say with use_rep"):
        branchwise.tl.ddrtree(empty)


def test_results_of_others_are_not_overwritten(adata):
    adata.obsm["X_pca"] = adata.X[:, :3]
    adata.uns["neighbors"] = {}
    with pytest.raises(ValueError, match=r"would overwrite adata\.obsm\['X_pca'\]"):
        branchwise.tl.ddrtree(adata, key_added="pca")
    with pytest.raises(ValueError, match=r"would overwrite adata\.uns\['neighbors'\]"):
        branchwise.tl.ddrtree(adata, key_added="neighbors")


@pytest.mark.parametrize("name", ["pseudotime", "branches", "test_association", "bootstrap"])
def test_a_missing_fit_names_the_call(adata, name):
    with pytest.raises(
        KeyError, match=r"adata holds no tree; call branchwise\.tl\.trajectory\(adata\)"
    ):
        getattr(branchwise.tl, name)(adata)
    with pytest.raises(KeyError, match="key='spl' is not a tree of adata, which has none"):
        getattr(branchwise.tl, name)(adata, key="spl")


def test_missing_coordinates_name_the_call(learned):
    del learned.obsm["X_ddrtree_projection"]
    with pytest.raises(KeyError, match=r"call branchwise\.tl\.ddrtree again"):
        branchwise.tl.branches(learned)


@pytest.mark.parametrize(
    ("root", "message"),
    [
        ("HSC", "root='HSC' is neither a milestone nor a cell; milestones are T1"),
        (
            {"type": "HSC"},
            "root names 'type', which is not a column of adata.obs; columns are 'day'",
        ),
        ({"day": "HSC"}, "value='HSC' is none of the labels; they are"),
        ({"day": "0", "type": "HSC"}, "must be one column of adata.obs and one value"),
        (("day",), "must be one column of adata.obs and one value"),
        (9999, "9999 is not a node of the graph"),
        ([], "node is empty"),
    ],
    ids=["name", "column", "value", "two columns", "no value", "node", "nothing"],
)
def test_bad_roots(learned, root, message):
    with pytest.raises(ValueError, match=message):
        branchwise.tl.pseudotime(learned, root=root)


def test_a_name_of_several_cells_is_no_root(learned):
    learned.obs_names = ["cell 0", "cell 0", *learned.obs_names[2:]]
    with pytest.raises(ValueError, match=r"name of 2 cells; call adata\.obs_names_make_unique"):
        branchwise.tl.pseudotime(learned, root="cell 0")


@pytest.mark.parametrize("name", ["branches", "bootstrap"])
def test_labels_of_the_root_are_missed_by_name(learned, name):
    branchwise.tl.pseudotime(learned, root={"day": "0"})
    del learned.obs["day"]
    with pytest.raises(
        ValueError, match="The stored root names 'day', which is not a column of ad"
    ):
        getattr(branchwise.tl, name)(learned)


def test_a_root_or_end_is_not_cut_off(learned):
    branchwise.tl.branches(learned)
    last = learned.uns["ddrtree"]["milestones"].query("kind == 'tip'").index[-1]
    branchwise.tl.pseudotime(learned, root=last)
    with pytest.raises(ValueError, match=f"{last}, the root of pseudotime, would be cut off"):
        branchwise.tl.branches(learned, n_branches=1)
    branchwise.tl.pseudotime(learned, root="T1", end=last)
    with pytest.raises(ValueError, match=f"{last}, the end of pseudotime, would be cut off"):
        branchwise.tl.branches(learned, n_branches=1)
    branchwise.tl.pseudotime(learned, root=7)
    branchwise.tl.branches(learned)
    with pytest.raises(
        ValueError, match=r"Node 7 was named to branchwise.tl.pseudotime by its number"
    ):
        branchwise.tl.branches(learned, n_branches=1)


def test_genes_of_the_same_name_cannot_be_tested(learned):
    learned.var_names = ["gene 1", "gene 1", *learned.var_names[2:]]
    with pytest.raises(ValueError, match=r"several genes named 'gene 1'; call adata\.var_names_"):
        branchwise.tl.test_association(learned)


def test_raw_values_must_be_there_and_the_only_ones(learned):
    with pytest.raises(ValueError, match=r"use_raw=True needs adata\.raw, which is None"):
        branchwise.tl.test_association(learned, use_raw=True)
    with pytest.raises(ValueError, match="name two matrices; leave one out"):
        branchwise.tl.test_association(learned, use_raw=True, layer="sparse")


def test_bootstrap_notices_other_cells_values_and_labels(learned):
    with pytest.raises(ValueError, match=r"call branchwise\.tl\.ddrtree again"):
        branchwise.tl.bootstrap(learned[:100].copy(), n_resamples=2)
    other = learned.copy()
    other.X = other.X[::-1]
    with pytest.raises(ValueError, match=r"call branchwise\.tl\.ddrtree again"):
        branchwise.tl.bootstrap(other, n_resamples=2)
    branchwise.tl.branches(learned, n_branches=3)
    branchwise.tl.pseudotime(learned, root={"day": "0"})
    latest = learned.obs["ddrtree_pseudotime"] > 0.8 * learned.obs["ddrtree_pseudotime"].max()
    learned.obs["day"] = np.where(latest, "0", "later")
    with pytest.raises(
        ValueError, match=r"labels .* have changed; call branchwise\.tl\.pseudotime"
    ):
        branchwise.tl.bootstrap(learned, n_resamples=2)


def test_what_no_file_can_keep_is_refused_before_the_fit(adata):
    with pytest.raises(ValueError, match="kernel is a callable, which a file cannot keep"):
        branchwise.tl.ddrtree(adata, kernel=lambda a, b: a @ b.T)
    assert not adata.uns


def test_a_damaged_model_names_the_call(learned):
    learned.uns["ddrtree"]["model"]["fitted"]["mean_"] = np.zeros(2)
    with pytest.raises(ValueError, match=r"\['model'\] has .* call branchwise\.tl\.ddrtree again"):
        branchwise.tl.bootstrap(learned, n_resamples=2)
    del learned.uns["ddrtree"]["model"]
    with pytest.raises(KeyError, match=r"has no 'model'; call branchwise\.tl\.ddrtree again"):
        branchwise.tl.place(simulated_cells(30), learned)
