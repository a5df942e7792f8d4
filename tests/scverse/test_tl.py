"""Results get where they are documented to be, whole or not at all."""

import inspect
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import branchwise
from branchwise import SPL, DDRTree, DRTree
from branchwise.scverse._keys import UNS, keys_of
from branchwise.trajectory import Trajectory

from .cells import METHODS, QUICK, simulated_cells


@pytest.fixture
def adata():
    return simulated_cells()


@pytest.fixture
def learned():
    adata = simulated_cells()
    branchwise.tl.ddrtree(adata, **QUICK["ddrtree"])
    return adata


def content(adata):
    """All slots, for comparison."""
    return {
        "obs": {name: column.tolist() for name, column in adata.obs.items()},
        "var": {name: column.tolist() for name, column in adata.var.items()},
        "obsm": {name: np.asarray(value).tolist() for name, value in adata.obsm.items()},
        "uns": sorted(adata.uns),
        "names": adata.obs_names.tolist(),
    }


@pytest.mark.parametrize(
    ("method", "estimator"), [("ddrtree", DDRTree), ("drtree", DRTree), ("spl", SPL)]
)
def test_fit_writes_what_the_estimator_finds(adata, method, estimator):
    tool = getattr(branchwise.tl, method)
    assert tool(adata, **QUICK[method]) is None
    model = estimator(**QUICK[method]).fit(adata.X)
    found = Trajectory.from_estimator(model)
    embedding = model.skeleton_ if method == "spl" else model.embedding_
    np.testing.assert_allclose(adata.obsm[f"X_{method}"], embedding, rtol=1e-12)
    entry = adata.uns[method]
    np.testing.assert_allclose(entry["centers"], found.nodes_, rtol=1e-12)
    assert entry["tree"].nnz == 2 * len(found.edges_)
    np.testing.assert_array_equal(entry["objective_history"], model.objective_history_)
    assert (entry["method"], entry["use_rep"]) == (method, "X")
    assert (entry["n_iter"], entry["converged"]) == (model.n_iter_, model.converged_)
    assert set(entry) <= set(vars(UNS).values())


@pytest.mark.parametrize(
    ("method", "estimator"), [("ddrtree", DDRTree), ("drtree", DRTree), ("spl", SPL)]
)
def test_signature_shows_every_parameter_of_the_estimator(method, estimator):
    shown = set(inspect.signature(getattr(branchwise.tl, method)).parameters)
    assert set(inspect.signature(estimator).parameters) <= shown
    assert {"use_rep", "layer", "key_added", "copy"} <= shown


def test_pca_is_taken_when_present_and_x_when_named(adata):
    adata.obsm["X_pca"] = adata.X[:, :3] * 2
    branchwise.tl.ddrtree(adata)
    branchwise.tl.ddrtree(adata, use_rep="X", key_added="genes")
    branchwise.tl.ddrtree(adata, layer="sparse", key_added="layer")
    assert [adata.uns[key]["use_rep"] for key in ("ddrtree", "genes", "layer")] == [
        "X_pca",
        "X",
        "X",
    ]
    assert adata.uns["layer"]["layer"] == "sparse"
    np.testing.assert_allclose(adata.obsm["X_layer"], adata.obsm["X_genes"], atol=1e-8)


def test_the_estimator_gets_sparse_x_as_it_is(adata, monkeypatch):
    adata.X = sparse.csr_matrix(adata.X)
    given = []
    fit = DDRTree.fit
    monkeypatch.setattr(DDRTree, "fit", lambda self, X: given.append(X) or fit(self, X))
    branchwise.tl.ddrtree(adata)
    assert given[0] is adata.X


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
def test_views_of_sparse_and_whole_numbers_are_fitted(adata, make):
    adata.X = make(np.round(10 * adata.X).astype(np.int64))
    adata.obsm["X_table"] = pd.DataFrame(adata.X.toarray()[:, :3], index=adata.obs_names)
    some = adata[::2]
    branchwise.tl.ddrtree(some, use_rep="X")
    branchwise.tl.ddrtree(some, use_rep="X_table", key_added="small")
    expected = DDRTree().fit(adata.X.toarray()[::2]).embedding_
    np.testing.assert_allclose(some.obsm["X_ddrtree"], expected, atol=1e-9)
    assert some.obsm["X_small"].shape == (60, 3)


def test_pseudotime_and_branches_write_what_the_trajectory_says(learned):
    branchwise.tl.pseudotime(learned, root={"day": "0"}, end="T2")
    model = DDRTree(**QUICK["ddrtree"]).fit(learned.X)
    path = Trajectory.from_estimator(model)
    path = path.rooted(labels=learned.obs["day"].to_numpy(), value="0", end="T2")
    obs = learned.obs
    np.testing.assert_allclose(obs["ddrtree_pseudotime"], path.pseudotime_, atol=1e-12)
    np.testing.assert_allclose(obs["ddrtree_progress"], path.progress_, atol=1e-12)
    assert obs["ddrtree_branch"].tolist() == path.branches_.tolist()
    assert obs["ddrtree_branch"].cat.categories.tolist() == path.branch_table_.index.tolist()
    np.testing.assert_allclose(obs["ddrtree_distance"], path.distance_, atol=1e-12)
    pd.testing.assert_frame_equal(learned.uns["ddrtree"]["milestones"], path.milestones_)
    pd.testing.assert_frame_equal(learned.uns["ddrtree"]["branches"], path.branch_table_)

    branchwise.tl.branches(learned, n_branches=3)
    labels = learned.obs["day"].to_numpy()
    fewer = Trajectory.from_estimator(model).merge(3).rooted(labels=labels, value="0", end="T2")
    assert len(fewer.branch_table_) < len(path.branch_table_)
    np.testing.assert_allclose(learned.obs["ddrtree_pseudotime"], fewer.pseudotime_, atol=1e-12)
    assert learned.obs["ddrtree_branch"].tolist() == fewer.branches_.tolist()
    branchwise.tl.branches(learned)
    assert learned.obs["ddrtree_branch"].tolist() == path.branches_.tolist()


def test_tips_are_cut_off_in_every_later_call(learned):
    branchwise.tl.branches(learned)
    tips = learned.uns["ddrtree"]["milestones"].query("kind == 'tip'").index[-2:].tolist()
    branchwise.tl.branches(learned, tips=tips)
    left = learned.obs["ddrtree_branch"].tolist()
    assert not set(tips) & set(learned.uns["ddrtree"]["milestones"].index)
    branchwise.tl.pseudotime(learned, root=[3, 5])
    time = learned.obs["ddrtree_pseudotime"].tolist()
    branchwise.tl.branches(learned, tips=tips)  # the same once more, with roots known by number
    assert learned.obs["ddrtree_pseudotime"].tolist() == time
    branchwise.tl.pseudotime(learned, root="T1")
    assert learned.obs["ddrtree_branch"].tolist() == left


def test_branches_without_a_root_say_nothing_of_time(learned):
    branchwise.tl.branches(learned)
    assert "ddrtree_branch" in learned.obs
    assert "ddrtree_pseudotime" not in learned.obs


@pytest.mark.parametrize(
    ("root", "given"),
    [
        ("T2", {"node": "T2"}),
        (4, {"node": 4}),
        ([3, 5], {"node": [3, 5]}),
        ("cell 7", {"sample": "cell 7"}),
        (("day", "0"), {"labels": "day", "value": "0"}),
        (None, {}),
    ],
    ids=["milestone", "node", "nodes", "cell", "label", "default"],
)
def test_every_kind_of_root(learned, root, given):
    path = Trajectory(
        learned.uns["ddrtree"]["tree"],
        learned.uns["ddrtree"]["centers"],
        learned.obsm["X_ddrtree_projection"],
        names=learned.obs_names,
    )
    if "labels" in given:
        given = given | {"labels": learned.obs["day"]}
    branchwise.tl.pseudotime(learned, root=root)
    expected = path.rooted(**given)
    np.testing.assert_allclose(learned.obs["ddrtree_pseudotime"], expected.pseudotime_, atol=1e-9)
    # A second tool starts from what was stored.
    branchwise.tl.branches(learned)
    np.testing.assert_allclose(learned.obs["ddrtree_pseudotime"], expected.pseudotime_, atol=1e-9)


def test_association_is_that_of_the_trajectory_in_the_order_of_the_genes(learned):
    branchwise.tl.pseudotime(learned, root="T1")
    learned.raw = learned.copy()
    branchwise.tl.test_association(learned, layer="sparse")
    table = learned.uns["ddrtree"]["association"]
    assert sorted(table.index) == sorted(learned.var_names)
    assert table["p_value"].is_monotonic_increasing
    for column in ("statistic", "p_value", "q_value", "r_squared", "amplitude", "correlation"):
        expected = table[column].loc[learned.var_names].tolist()
        assert learned.var[f"ddrtree_{column}"].tolist() == expected
    branchwise.tl.test_association(learned, use_raw=True, method="rank")
    assert not set(keys_of("ddrtree").tests) & set(learned.var)
    assert learned.uns["ddrtree"]["association"].shape == table.shape


@pytest.mark.parametrize("method", METHODS)
def test_bootstrap_writes_support_and_intervals(adata, method):
    getattr(branchwise.tl, method)(adata, **QUICK[method])
    branchwise.tl.branches(adata, n_branches=3)
    branchwise.tl.pseudotime(adata, root={"day": "0"})
    branchwise.tl.bootstrap(adata, n_resamples=2)
    support = adata.uns[method]["support"]
    assert support["branches"].index.tolist() == adata.uns[method]["branches"].index.tolist()
    assert support["branches"]["support"].between(0, 1).all()
    assert support["n_resamples"] + support["n_failed"] == 2
    obs = adata.obs
    assert (obs[f"{method}_pseudotime_lower"] <= obs[f"{method}_pseudotime"]).all()
    assert (obs[f"{method}_pseudotime"] <= obs[f"{method}_pseudotime_upper"]).all()
    assert obs[f"{method}_branch_agreement"].between(0, 1).all()


def test_what_is_out_of_date_is_removed(learned):
    keys = keys_of("ddrtree")
    branchwise.tl.pseudotime(learned, root="T1")
    branchwise.tl.test_association(learned)
    branchwise.tl.bootstrap(learned, n_resamples=2)
    branchwise.tl.pseudotime(learned, root="T2")
    assert not set(keys.support) & set(learned.obs)
    assert not set(keys.tests) & set(learned.var)
    assert {UNS.support, UNS.association}.isdisjoint(learned.uns["ddrtree"])
    branchwise.tl.ddrtree(learned)
    assert keys.branch_colors not in learned.uns
    assert not set(keys.order) & set(learned.obs)
    assert "day" in learned.obs


def calls():
    return {
        "ddrtree": lambda adata, **options: branchwise.tl.ddrtree(adata, **options),
        "drtree": lambda adata, **options: branchwise.tl.drtree(adata, **options),
        "spl": lambda adata, **options: branchwise.tl.spl(adata, n_neighbors=5, **options),
        "pseudotime": lambda adata, **options: branchwise.tl.pseudotime(adata, **options),
        "branches": lambda adata, **options: branchwise.tl.branches(adata, **options),
        "test_association": lambda adata, **options: branchwise.tl.test_association(
            adata, **options
        ),
        "bootstrap": lambda adata, **options: branchwise.tl.bootstrap(
            adata, n_resamples=2, **options
        ),
    }


@pytest.mark.parametrize("name", list(calls()))
def test_copy_leaves_the_original_as_it_was(learned, name):
    before = content(learned)
    entry = dict(learned.uns["ddrtree"])
    changed = calls()[name](learned, copy=True)
    assert content(learned) == before
    assert list(learned.uns["ddrtree"]) == list(entry)
    in_place = learned.copy()
    assert calls()[name](in_place) is None
    assert content(changed) == content(in_place)
    assert changed.obs_names.tolist() == learned.obs_names.tolist()


def arrays_in(entry):
    """All arrays of a nested dictionary, sparse ones by their values."""
    if isinstance(entry, dict):
        return [array for value in entry.values() for array in arrays_in(value)]
    entry = getattr(entry, "data", None) if sparse.issparse(entry) else entry
    return [entry] if isinstance(entry, np.ndarray) else []


@pytest.mark.parametrize("name", list(calls()))
def test_a_copy_shares_no_array_with_the_original(learned, name):
    changed = calls()[name](learned, copy=True)
    ours, theirs = (arrays_in(adata.uns["ddrtree"]) for adata in (learned, changed))
    assert len(theirs) > 5
    assert not any(np.shares_memory(one, other) for one in ours for other in theirs)


@pytest.mark.parametrize("name", [name for name in calls() if name != "bootstrap"])
def test_views_become_objects_of_their_own(learned, name):
    whole = content(learned)
    view = learned[:100]
    assert view.is_view
    calls()[name](view)
    assert not view.is_view
    own = learned[:100].copy()
    calls()[name](own)
    assert content(view) == content(own)
    assert content(learned) == whole


def test_a_failed_call_leaves_everything_as_it_was(learned):
    branchwise.tl.pseudotime(learned, root="T1")
    before = content(learned)
    for call in (
        lambda: branchwise.tl.ddrtree(learned, n_components=99),
        lambda: branchwise.tl.pseudotime(learned, root="nobody"),
        lambda: branchwise.tl.pseudotime(learned, root="T1", end="T1"),
        lambda: branchwise.tl.branches(learned, n_branches=999),
        lambda: branchwise.tl.test_association(learned, method="magic"),
        lambda: branchwise.tl.bootstrap(learned, n_resamples=1),
    ):
        with pytest.raises(ValueError, match=r".{10}"):
            call()
    assert content(learned) == before


def test_seeds_are_written_down_so_that_fits_can_be_repeated(adata):
    branchwise.tl.ddrtree(adata, random_state=np.random.RandomState(3), key_added="drawn")
    seed = adata.uns["drawn"]["params"]["random_state"]
    branchwise.tl.ddrtree(adata, random_state=seed, key_added="again")
    assert isinstance(seed, int)
    np.testing.assert_array_equal(adata.obsm["X_drawn"], adata.obsm["X_again"])


def test_several_analyses_live_side_by_side(learned):
    branchwise.tl.drtree(learned)
    branchwise.tl.ddrtree(learned, key_added="two", n_components=2)
    branchwise.tl.pseudotime(learned, key="two", root="T1")
    assert "two_pseudotime" in learned.obs
    assert "ddrtree_pseudotime" not in learned.obs
    with pytest.raises(ValueError, match="adata holds 'ddrtree', 'drtree', 'two'; choose one"):
        branchwise.tl.pseudotime(learned)


def test_importing_needs_no_anndata_and_a_call_says_how_to_get_it():
    code = (
        "import sys; sys.modules['anndata'] = None; import branchwise\n"
        "tool = branchwise.tl.ddrtree\n"
        "try: tool(None)\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (
        "work on AnnData objects needs anndata; "
        "run: pip install '.[anndata]' in a clone of branchwise"
    )
