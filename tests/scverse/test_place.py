"""New cells on the tree of a reference."""

import anndata
import numpy as np
import pytest
from sklearn.decomposition import PCA

import branchwise
from branchwise.trajectory import Trajectory

from .cells import METHODS, QUICK, simulated_cells

ESTIMATORS = {"ddrtree": branchwise.DDRTree, "drtree": branchwise.DRTree, "spl": branchwise.SPL}


@pytest.fixture
def cohorts():
    """A reference, and other cells of the same process with the genes in another order."""
    adata = simulated_cells(180)
    new = adata[120:].copy()
    return adata[:120].copy(), new[:, new.var_names[::-1]].copy()


@pytest.mark.parametrize("method", METHODS)
def test_new_cells_are_where_the_estimator_puts_them(cohorts, method):
    reference, new = cohorts
    getattr(branchwise.tl, method)(reference, **QUICK[method])
    branchwise.tl.pseudotime(reference, root="T1", end="T2")
    assert branchwise.tl.place(new, reference) is None
    if method == "trajectory":
        path = branchwise.learn_trajectory(reference.X, **QUICK[method])
    else:
        estimator = ESTIMATORS[method](**QUICK[method])
        path = Trajectory.from_estimator(estimator.fit(reference.X))
    path = path.rooted(node="T1", end="T2")
    expected = path.place(new[:, reference.var_names].X)
    np.testing.assert_allclose(new.obs[f"{method}_pseudotime"], expected["pseudotime"], atol=1e-9)
    assert new.obs[f"{method}_branch"].tolist() == expected["branch"].tolist()
    assert f"{method}_progress" in new.obs
    branches = new.uns[method]["branches"]
    assert branches["n_samples"].sum() == new.n_obs
    before = reference.uns[method]["centers"].copy()
    new.uns[method]["centers"] += 1.0
    np.testing.assert_array_equal(reference.uns[method]["centers"], before)
    new.uns[method]["centers"] -= 1.0
    # Tools go on with the new cells.
    branchwise.tl.test_association(new)
    branchwise.tl.pseudotime(new, root="T2")
    with pytest.raises(ValueError, match=f"call branchwise.tl.{method} again"):
        branchwise.tl.bootstrap(new, n_resamples=2)


def test_how_much_to_trust_a_place_is_what_python_says(cohorts, tmp_path):
    reference, new = cohorts
    wrong = new.var_names[2]
    new.X[0, 2] *= 30
    branchwise.tl.trajectory(reference, root="T2", support=0)
    path = branchwise.learn_trajectory(reference.X, support=0).rooted(node="T2")
    reference.write_h5ad(tmp_path / "reference.h5ad")
    stored = anndata.read_h5ad(tmp_path / "reference.h5ad")
    # The reference's own cells are not needed.
    for known in (reference, stored, stored[:3].copy()):
        branchwise.tl.place(new, known)
        expected = path.place(new[:, reference.var_names].X)
        for name in ("p", "misfit", "branch_probability"):
            np.testing.assert_allclose(new.obs[f"trajectory_{name}"], expected[name], atol=1e-9)
        likeliest = new.obs["trajectory_likeliest_branch"]
        assert likeliest.tolist() == expected["likeliest_branch"].tolist()
        far = new.obs.iloc[0]
        assert far["trajectory_p"] < 0.01
        assert far["trajectory_drivers"].startswith(f"{wrong} ")
        assert far["trajectory_out_of_range"].startswith(f"{wrong} ")
    new.write_h5ad(tmp_path / "new.h5ad")


def test_cells_of_the_reference_have_the_p_of_trees_without_them(cohorts):
    reference, _ = cohorts
    branchwise.tl.trajectory(reference, support=0)
    own = branchwise.learn_trajectory(reference.X, support=0).reference_
    np.testing.assert_array_equal(reference.obs["trajectory_p"], own.own_p)
    np.testing.assert_array_equal(reference.obs["trajectory_misfit"], own.misfit)
    # Another root names other branches; far stays far.
    branchwise.tl.pseudotime(reference, root="T2")
    assert "trajectory_p" in reference.obs
    assert "trajectory_branch_probability" not in reference.obs


def test_of_a_tree_with_fewer_branches_nothing_is_known(cohorts):
    reference, new = cohorts
    branchwise.tl.trajectory(reference, support=0)
    branchwise.tl.branches(reference, n_branches=1)
    assert "trajectory_p" not in reference.obs
    branchwise.tl.place(new, reference)
    assert "trajectory_p" not in new.obs
    branchwise.tl.branches(reference)
    branchwise.tl.place(new, reference)
    assert new.obs["trajectory_p"].notna().all()


def test_a_damaged_reference_is_told(cohorts):
    reference, new = cohorts
    branchwise.tl.trajectory(reference, support=0)
    reference.uns["trajectory"]["reference"]["noise"][0] = -1.0
    with pytest.raises(ValueError, match=r"\['reference'\] is damaged .* call branchwise.tl.traj"):
        branchwise.tl.place(new, reference)


def with_pca(adata, *, centred):
    """As scanpy.pp.pca writes it."""
    shift = adata.X.mean(axis=0) if centred else np.zeros(adata.n_vars)
    axes = PCA(3, random_state=0).fit(adata.X).components_.T
    adata.obsm["X_pca"] = (adata.X - shift) @ axes
    adata.varm["PCs"] = axes


@pytest.mark.parametrize("centred", [True, False], ids=["centred", "not centred"])
def test_new_cells_are_projected_by_the_reference_s_loadings(cohorts, centred):
    reference, new = cohorts
    with_pca(reference, centred=centred)
    with_pca(new, centred=True)  # another space, not to be mistaken for the reference's
    branchwise.tl.ddrtree(reference)
    branchwise.tl.pseudotime(reference, root="T1")
    branchwise.tl.place(new, reference)
    shift = reference.X.mean(axis=0) if centred else 0.0
    coordinates = (new[:, reference.var_names].X - shift) @ reference.varm["PCs"]
    model = branchwise.DDRTree().fit(reference.obsm["X_pca"])
    np.testing.assert_allclose(new.obsm["X_ddrtree"], model.transform(coordinates), atol=1e-9)
    named = new.copy()
    named.obsm["X_same"] = coordinates
    branchwise.tl.place(named, reference, use_rep="X_same")
    np.testing.assert_allclose(named.obsm["X_ddrtree"], new.obsm["X_ddrtree"], atol=1e-9)


def test_a_pca_that_is_not_of_the_values_is_noticed(cohorts):
    reference, new = cohorts
    with_pca(reference, centred=True)
    reference.X = reference.X * 2
    branchwise.tl.ddrtree(reference)
    with pytest.raises(ValueError, match=r"not what varm\['PCs'\] makes of its X"):
        branchwise.tl.place(new, reference)


def test_bad_references_are_explained(cohorts):
    reference, new = cohorts
    with pytest.raises(KeyError, match=r"adata holds no tree; call branchwise\.tl\.trajectory"):
        branchwise.tl.place(new, reference)
    branchwise.tl.ddrtree(reference)
    with pytest.raises(ValueError, match="adata lacks 1 of the 6 genes of the reference: 'gene 0'"):
        branchwise.tl.place(new[:, new.var_names != "gene 0"].copy(), reference)
    reference.obsm["X_latent"] = reference.X[:, :3]
    branchwise.tl.ddrtree(reference, use_rep="X_latent", key_added="other")
    with pytest.raises(ValueError, match="no way known from genes to there"):
        branchwise.tl.place(new, reference, key="other")
    reference.var_names = ["gene 1", "gene 1", *reference.var_names[2:]]
    with pytest.raises(ValueError, match=r"call var_names_make_unique\(\)"):
        branchwise.tl.place(new, reference, key="ddrtree")
