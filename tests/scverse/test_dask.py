"""AnnData objects whose matrices are Dask arrays: read chunk by chunk, and never loaded."""

import contextlib
import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import branchwise

from .cells import QUICK, anndata, simulated_cells
from .test_files import FORMATS, assert_same, read_again

dask = pytest.importorskip("dask", reason="Dask arrays")
da = pytest.importorskip("dask.array", reason="Dask arrays")

DOCS = Path(__file__).parents[2] / "docs" / "scanpy.md"
# Chunks of several sizes, one of them without cells.
CHUNKS = (50, 0, 13, 57)
DDRTREE = QUICK["ddrtree"]


def chunked(values, chunks=CHUNKS):
    return da.from_array(np.asarray(values), chunks=(chunks, values.shape[1]))


KINDS = {
    "dense": chunked,
    "csr": lambda X: chunked(X).map_blocks(sparse.csr_matrix),
    "csr array": lambda X: chunked(X).map_blocks(sparse.csr_array),
    "split genes": lambda X: chunked(X).rechunk({1: 4}),
    "csc by genes": lambda X: da.from_array(X, chunks=(-1, 4)).map_blocks(sparse.csc_matrix),
}


def with_chunks(adata, make=chunked):
    """The same cells in an object whose X is a Dask array."""
    return anndata.AnnData(make(adata.X), obs=adata.obs.copy(), var=adata.var.copy())


def assert_same_tree(adata, other, key="ddrtree"):
    """The same result, but for rounding."""
    ours, theirs = adata.uns[key], other.uns[key]
    np.testing.assert_allclose(adata.obsm[f"X_{key}"], other.obsm[f"X_{key}"], atol=1e-6)
    np.testing.assert_allclose(ours["centers"], theirs["centers"], atol=1e-6)
    assert abs(ours["tree"] - theirs["tree"]).nnz == 0
    assert ours["params"] == theirs["params"]


@pytest.fixture
def adata():
    return simulated_cells()


@pytest.fixture
def learned():
    """The result in memory."""
    adata = simulated_cells()
    branchwise.tl.ddrtree(adata, **DDRTREE)
    return adata


@pytest.fixture
def lazy(adata):
    return with_chunks(adata)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_is_that_of_the_cells_in_memory(adata, learned, kind):
    lazy = with_chunks(adata, KINDS[kind])
    before = lazy.X
    branchwise.tl.ddrtree(lazy, **DDRTREE)
    assert_same_tree(lazy, learned)
    assert isinstance(lazy.obsm["X_ddrtree"], np.ndarray)
    # X is what it was, to the name of every task.
    assert lazy.X.name == before.name
    assert lazy.X.chunks == before.chunks


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["drtree", "spl"])
def test_few_cells_are_fitted_whole_by_the_other_methods(adata, method, kind):
    lazy = with_chunks(adata, KINDS[kind])
    for one in (adata, lazy):
        getattr(branchwise.tl, method)(one, **QUICK[method])
    assert_same_tree(lazy, adata, method)
    assert lazy.uns[method]["landmarks"].tolist() == list(range(120))
    for one in (adata, lazy):
        branchwise.tl.branches(one, n_branches=3)
        branchwise.tl.pseudotime(one, root={"day": "0"})
    pd.testing.assert_frame_equal(adata.obs, lazy.obs, rtol=1e-6)


ESTIMATORS = {"drtree": branchwise.DRTree, "spl": branchwise.SPL}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("method", ESTIMATORS)
def test_landmarks_are_the_nodes_and_place_all_cells(adata, lazy, method, kind, tmp_path):
    options = {**QUICK[method], "n_landmarks": 60}
    getattr(branchwise.tl, method)(lazy, **options)
    entry = lazy.uns[method]
    some = entry["landmarks"]
    assert len(some) == len(entry["centers"]) == entry["tree"].shape[0] == 60
    model = ESTIMATORS[method](random_state=0, **options).fit(adata.X[some])
    scale = 1.0 if method == "drtree" else (model.gamma_ + 1) / model.gamma_
    np.testing.assert_allclose(entry["centers"], model.embedding_ * scale, atol=1e-6)
    places = lazy.obsm[f"X_{method}"]
    np.testing.assert_allclose(places, model.transform(adata.X) * scale, atol=1e-6)
    np.testing.assert_allclose(places[some], entry["centers"], atol=1e-12)
    branchwise.tl.branches(lazy, n_branches=3)
    branchwise.tl.pseudotime(lazy, root={"day": "0"})
    assert lazy.obs[f"{method}_pseudotime"].notna().all()
    again = read_again(lazy, kind, tmp_path)
    assert_same(lazy.uns[method], again.uns[method])
    # The landmarks are in the file as well: cells are where they were.
    new = with_chunks(adata)
    branchwise.tl.place(new, again)
    np.testing.assert_array_equal(new.obsm[f"X_{method}"], places)
    pd.testing.assert_series_equal(
        new.obs[f"{method}_pseudotime"], lazy.obs[f"{method}_pseudotime"]
    )
    plt = pytest.importorskip("matplotlib.pyplot", reason="pictures")
    plt.switch_backend("agg")
    branchwise.pl.tree(again, color="day")
    branchwise.pl.adjacency(again)
    with pytest.raises(ValueError, match=r"of 120 cells, but the nodes of .* are 60 others"):
        branchwise.pl.adjacency(again, order="day")
    if method == "spl":
        branchwise.pl.uncertainty(again)
    plt.close("all")
    with pytest.raises(ValueError, match=f"{method!r} was learned from a Dask array, chunk by"):
        branchwise.tl.bootstrap(again, n_resamples=2)


def test_layers_and_entries_of_obsm_may_be_dask_arrays(adata, learned):
    adata.layers["counts"] = chunked(adata.X)
    adata.obsm["X_pca"] = chunked(adata.X)
    branchwise.tl.ddrtree(adata, layer="counts", **DDRTREE)
    assert_same_tree(adata, learned)
    assert adata.uns["ddrtree"]["layer"] == "counts"
    del adata.uns["ddrtree"], adata.obsm["X_ddrtree"]
    branchwise.tl.ddrtree(adata, **DDRTREE)
    assert_same_tree(adata, learned)
    assert adata.uns["ddrtree"]["use_rep"] == "X_pca"
    assert isinstance(adata.obsm["X_pca"], da.Array)


def test_nothing_of_the_size_of_x_leaves_the_workers():
    adata = simulated_cells(400, 40)
    lazy = with_chunks(adata, lambda X: da.from_array(X, chunks=(40, 40)))
    new = with_chunks(adata, lambda X: da.from_array(X, chunks=(40, 40)))
    sizes = []

    def spy(graph, keys, **options):
        made = dask.threaded.get(graph, keys, **options)
        sizes.append(len(pickle.dumps(made)))
        return made

    with dask.config.set(scheduler=spy):
        branchwise.tl.ddrtree(lazy, n_components=2, n_centers=10)
        branchwise.tl.pseudotime(lazy)
        branchwise.tl.place(new, lazy)
    assert sizes
    assert max(sizes) < adata.X.nbytes / 3


def test_what_needs_values_in_memory_says_so_before_a_chunk_is_read(adata):
    read = []

    def block(rows):
        read.append(len(rows))
        return rows

    lazy = with_chunks(
        adata, lambda X: chunked(X).map_blocks(block, dtype=X.dtype, meta=np.empty((0, 0)))
    )
    branchwise.tl.ddrtree(lazy, **DDRTREE)
    assert read
    read.clear()
    before = dict(lazy.uns["ddrtree"])
    with pytest.raises(
        ValueError, match=r"adata.X is a Dask array, but its values .*load some genes, adata\[:, ge"
    ):
        branchwise.tl.test_association(lazy)
    with pytest.raises(
        ValueError, match=r"What 'ddrtree' was learned from is a Dask array.*adata\[::10\]\.to_me"
    ):
        branchwise.tl.bootstrap(lazy, n_resamples=2)
    with pytest.raises(ValueError, match="kernel='rbf' needs a value for every pair"):
        branchwise.tl.ddrtree(lazy, kernel="rbf")
    with pytest.raises(ValueError, match="n_components=99 must be at most"):
        branchwise.tl.ddrtree(lazy, n_components=99)
    assert not read
    assert_same(before, lazy.uns["ddrtree"])
    assert "ddrtree_q_value" not in lazy.var


def test_the_remedies_work(adata, learned, lazy):
    branchwise.tl.ddrtree(lazy, **DDRTREE)
    genes = lazy[:, ["gene 1", "gene 4"]].to_memory()
    branchwise.tl.test_association(genes)
    branchwise.tl.test_association(learned)
    expected = learned.var["ddrtree_r_squared"][["gene 1", "gene 4"]]
    np.testing.assert_allclose(genes.var["ddrtree_r_squared"], expected, atol=1e-6)
    some = lazy[::2].to_memory()
    with pytest.raises(ValueError, match="'ddrtree' was learned from a Dask array, chunk by chunk"):
        branchwise.tl.bootstrap(some, n_resamples=2)
    branchwise.tl.ddrtree(some, **DDRTREE | {"n_centers": 20})
    branchwise.tl.bootstrap(some, n_resamples=2)
    assert "ddrtree_branch_agreement" in some.obs


def test_order_and_pictures_follow(learned, lazy):
    plt = pytest.importorskip("matplotlib.pyplot", reason="pictures")
    plt.switch_backend("agg")
    for one in (learned, lazy):
        if one is lazy:
            branchwise.tl.ddrtree(one, **DDRTREE)
        branchwise.tl.branches(one, n_branches=3)
        branchwise.tl.pseudotime(one, root={"day": "0"}, end="T2")
    for name in ("pseudotime", "progress", "branch_position", "distance"):
        column = f"ddrtree_{name}"
        np.testing.assert_allclose(lazy.obs[column], learned.obs[column], atol=1e-6)
    assert lazy.obs["ddrtree_branch"].tolist() == learned.obs["ddrtree_branch"].tolist()
    for color in ("day", "gene 3"):
        shown = [branchwise.pl.tree(one, color=color).collections for one in (learned, lazy)]
        assert len(shown[0]) == len(shown[1])
    branchwise.pl.trends(lazy, "gene 1")
    branchwise.pl.convergence(lazy)
    plt.close("all")


def test_genes_of_sparse_blocks_are_drawn_by_their_values(adata):
    from branchwise.scverse.pl import chosen_genes

    lazy = with_chunks(adata, KINDS["csr"])
    values, names = chosen_genes(lazy, ["gene 4", "gene 0"], None, False)
    np.testing.assert_array_equal(values, adata.X[:, [4, 0]])
    assert names == ["gene 4", "gene 0"]


@pytest.mark.parametrize("kind", ["dense", "csr", "csc by genes"])
def test_new_cells_in_chunks_are_placed_as_those_in_memory(kind):
    cells = simulated_cells(200)
    reference, new = cells[:80].copy(), cells[80:].copy()
    new = new[:, new.var_names[::-1]].copy()
    branchwise.tl.ddrtree(reference, **DDRTREE)
    branchwise.tl.pseudotime(reference, root="T1")
    in_chunks = with_chunks(new, KINDS[kind])
    branchwise.tl.place(new, reference)
    branchwise.tl.place(in_chunks, reference)
    np.testing.assert_allclose(in_chunks.obsm["X_ddrtree"], new.obsm["X_ddrtree"], atol=1e-6)
    pd.testing.assert_frame_equal(in_chunks.obs, new.obs)
    assert isinstance(in_chunks.X, da.Array)


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_new_cells_in_chunks_are_projected_by_loadings(kind):
    cells = simulated_cells(240)
    reference, new = cells[:120].copy(), cells[120:].copy()
    axes = np.linalg.svd(reference.X - reference.X.mean(axis=0))[2][:3].T
    reference.obsm["X_pca"] = (reference.X - reference.X.mean(axis=0)) @ axes
    reference.varm["PCs"] = axes
    branchwise.tl.ddrtree(reference)
    branchwise.tl.branches(reference)
    in_chunks = with_chunks(new, KINDS[kind])
    branchwise.tl.place(new, reference)
    # The cells of the reference may be in chunks as well.
    reference.X = KINDS[kind](reference.X)
    reference.obsm["X_pca"] = chunked(reference.obsm["X_pca"])
    branchwise.tl.place(in_chunks, reference)
    np.testing.assert_allclose(in_chunks.obsm["X_ddrtree"], new.obsm["X_ddrtree"], atol=1e-6)


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("kind", ["dense", "csr"])
# AnnData tells that a view becomes an object of its own.
@pytest.mark.filterwarnings("ignore::anndata.ImplicitModificationWarning")
def test_views_are_learned_from_and_their_object_is_left_alone(adata, kind, copy):
    whole = with_chunks(adata, KINDS[kind])
    some = np.arange(0, 120, 2)
    view = whole[some, ["gene 5", "gene 2", "gene 0", "gene 1"]]
    made = branchwise.tl.ddrtree(view, copy=copy, **DDRTREE)
    expected = adata[some, ["gene 5", "gene 2", "gene 0", "gene 1"]].copy()
    branchwise.tl.ddrtree(expected, **DDRTREE)
    result = made if copy else view
    assert_same_tree(result, expected)
    assert isinstance(result.X, da.Array)
    assert not whole.uns
    assert not whole.obsm
    assert ("ddrtree" in view.uns) is not copy


@pytest.mark.parametrize("value", [np.nan, np.inf], ids=["nan", "inf"])
def test_a_bad_value_is_named_by_chunk_and_row_and_nothing_is_written(adata, value):
    adata.X[70, 2] = value
    lazy = with_chunks(adata)
    with pytest.raises(ValueError, match=r"X\[70, 2\] is (NaN|inf), in row 7 of chunk 3"):
        branchwise.tl.ddrtree(lazy, **DDRTREE)
    assert not lazy.uns
    assert not lazy.obsm
    assert lazy.obs.columns.tolist() == ["day"]


def test_matrices_that_hold_no_numbers_are_named(adata):
    lazy = adata.copy()
    lazy.obsm["X_words"] = chunked(np.full((120, 2), "a"))
    with pytest.raises(TypeError, match=r"adata.obsm\['X_words'\] is a Dask array of <U1 but must"):
        branchwise.tl.ddrtree(lazy, use_rep="X_words")


def test_a_fit_goes_on_from_its_checkpoint(adata, learned, lazy, tmp_path):
    class Cut(Exception):
        pass

    def cut(progress):
        if progress.iteration == 3:
            raise Cut

    path = tmp_path / "fit.branchwise"
    with pytest.raises(Cut):
        branchwise.tl.ddrtree(lazy, checkpoint=path, callback=cut, **DDRTREE)
    assert not lazy.uns
    seen = []
    branchwise.tl.ddrtree(
        lazy,
        checkpoint=path,
        resume=True,
        callback=lambda progress: seen.append(progress.iteration),
        **DDRTREE,
    )
    assert seen[0] == 4
    assert_same_tree(lazy, learned)


@pytest.mark.parametrize("kind", FORMATS)
def test_files_hold_everything_and_tools_go_on(lazy, kind, tmp_path):
    branchwise.tl.ddrtree(lazy, **DDRTREE)
    branchwise.tl.branches(lazy, n_branches=3)
    again = read_again(lazy, kind, tmp_path)
    assert_same(lazy.uns["ddrtree"], again.uns["ddrtree"])
    np.testing.assert_array_equal(again.X, lazy.X.compute())
    np.testing.assert_array_equal(again.obsm["X_ddrtree"], lazy.obsm["X_ddrtree"])
    for one in (lazy, again):
        branchwise.tl.pseudotime(one, root={"day": "0"})
    pd.testing.assert_frame_equal(again.obs, lazy.obs, check_categorical=False, check_dtype=False)
    new, other = simulated_cells(30, seed=1), simulated_cells(30, seed=1)
    branchwise.tl.place(new, again)
    branchwise.tl.place(other, lazy)
    np.testing.assert_array_equal(new.obsm["X_ddrtree"], other.obsm["X_ddrtree"])
    with pytest.raises(ValueError, match="was learned from a Dask array, chunk by chunk"):
        branchwise.tl.bootstrap(again, n_resamples=2)


@pytest.mark.parametrize("kind", FORMATS)
# What AnnData and its libraries announce is not ours to settle.
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning:anndata")
def test_objects_that_are_read_lazily_go_through_every_tool(learned, kind, tmp_path):
    pytest.importorskip("xarray", reason="anndata.experimental.read_lazy")
    read_lazy = pytest.importorskip("anndata.experimental").read_lazy
    adata = simulated_cells()
    lazy = read_lazy(written(adata, kind, tmp_path))
    branchwise.tl.ddrtree(lazy, **DDRTREE)
    assert_same_tree(lazy, learned)
    assert isinstance(lazy.X, da.Array)
    branchwise.tl.branches(lazy, n_branches=3)
    folder = tmp_path / "learned"
    folder.mkdir()
    # Now uns and obsm are lazy as well.
    again = read_lazy(written(lazy, kind, folder))
    assert isinstance(again.uns["ddrtree"]["centers"], da.Array)
    new = simulated_cells(30, seed=1)
    branchwise.tl.place(new, again)
    for one in (lazy, again):
        branchwise.tl.pseudotime(one, root={"day": "0"})
    pd.testing.assert_frame_equal(again.obs, lazy.obs, check_categorical=False, check_dtype=False)
    assert_same(again.uns["ddrtree"]["branches"], lazy.uns["ddrtree"]["branches"])


# What scanpy and its libraries announce is not ours to settle.
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_what_the_documentation_shows_of_an_atlas_runs(tmp_path, monkeypatch):
    pytest.importorskip("scanpy", reason="in the developers' group only")
    plt = pytest.importorskip("matplotlib.pyplot", reason="pictures")
    plt.switch_backend("agg")
    rng, adata = np.random.default_rng(0), simulated_cells(1200, 60)
    # Simulated, and deep enough for day 0 to be seen at an end.
    counts = rng.poisson(100 * adata.X).astype(np.float32)
    atlas = anndata.AnnData(sparse.csr_matrix(counts), obs=adata.obs, var=adata.var)
    written(atlas, "zarr", tmp_path).rename(tmp_path / "atlas.zarr")
    monkeypatch.chdir(tmp_path)
    text = DOCS.read_text("utf-8").split("## An atlas")[1]
    code = text.split("```python")[1].split("```")[0]
    assert "chunks=(10_000, None)" in code
    made = {}
    exec(code.replace("10_000", "500"), made)
    plt.close("all")
    adata, new = made["adata"], made["new"]
    assert isinstance(adata.X, da.Array)
    assert isinstance(adata.obsm["X_pca"], da.Array)
    assert adata.X.numblocks == (3, 1)
    # The same in memory.
    size = counts.sum(axis=1, keepdims=True)
    prepared = branchwise.Preparation(log1p=True, pca=50).fit_transform(counts / size * 1e4)
    atlas.obsm["X_pca"] = prepared
    branchwise.tl.trajectory(atlas, root={"day": "0"}, support=0)
    # In single precision, of which a fit makes somewhat more.
    scale = np.abs(atlas.obsm["X_trajectory"]).max()
    np.testing.assert_allclose(
        adata.obsm["X_trajectory"], atlas.obsm["X_trajectory"], atol=1e-5 * scale, rtol=0
    )
    assert new.obs["trajectory_pseudotime"].shape == (1000,)
    assert (tmp_path / "order.csv").exists()


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="a cluster")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(processes=True, **options) as workers,
        distributed.Client(workers, set_as_default=False) as client,
    ):
        yield client


@pytest.mark.parametrize("kind", FORMATS)
def test_a_matrix_that_stays_in_its_file_is_read_by_the_processes_of_a_cluster(
    cluster, adata, kind, tmp_path
):
    quick = DDRTREE | {"tol": 1e-2}
    adata.X = adata.layers["sparse"]
    path = written(adata, kind, tmp_path)
    with opened(path, kind) as store, cluster.as_current():
        X = lazily(store["X"], (50, 6))
        lazy = anndata.AnnData(X, obs=adata.obs.copy(), var=adata.var.copy())
        branchwise.tl.ddrtree(lazy, **quick)
    branchwise.tl.ddrtree(adata, **quick)
    assert_same_tree(lazy, adata)
    assert sparse.issparse(lazy.X._meta)
    # What was written does not need the cluster.
    branchwise.tl.pseudotime(lazy, root={"day": "0"})


def written(adata, kind, folder):
    """A file of AnnData."""
    path = folder / f"raw.{kind}"
    with warnings.catch_warnings():
        # AnnData announces that it is going to write another version of zarr.
        warnings.filterwarnings("ignore", "Writing zarr v2 data", UserWarning)
        FORMATS[kind][0](adata, path)
    return path


def opened(path, kind):
    """An open file of AnnData."""
    if kind == "h5ad":
        return pytest.importorskip("h5py").File(path, "r")
    return contextlib.nullcontext(pytest.importorskip("zarr").open(path, mode="r"))


def lazily(element, chunks):
    """A matrix of a file as a Dask array, by the name that the function has in this version."""
    experimental = anndata.experimental
    read = getattr(experimental, "read_elem_lazy", None) or experimental.read_elem_as_dask
    return read(element, chunks=chunks)
