"""DRTree and SPL are fitted to landmarks of a Dask array, which then place all of its rows."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import branchwise
from branchwise import SPL, DRTree
from branchwise.data.dask_errors import ChunkError
from branchwise.data.landmarks import choose_landmarks, gather
from branchwise.structures import FixedGraph
from branchwise.trajectory import Trajectory

from ..conftest import branching

da = pytest.importorskip("dask.array")

N, D, M = 200, 6, 60
X = branching(N, D)
CHUNKS = da.from_array(X, chunks=(45, 4))
MODELS = {
    "DRTree": DRTree(random_state=0),
    "DRTree rbf": DRTree(kernel="rbf", random_state=0),
    "DRTree forest": DRTree(structure="forest", random_state=0),
    "SPL": SPL(random_state=0),
    "SPL sketch": SPL(solver="sketch", tol=1e-3, random_state=0),
    "SPL rbf": SPL(kernel="rbf", random_state=0),
}
TWO = ["DRTree", "SPL"]


def model(name, **options):
    return clone(MODELS[name]).set_params(**options)


def assert_same_model(a, b):
    assert a.n_iter_ == b.n_iter_
    assert a.n_features_in_ == b.n_features_in_
    for name in ("embedding_", "components_", "mean_", "objective_history_"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    graph = "tree_" if isinstance(a, DRTree) else "graph_"
    assert (getattr(a, graph) != getattr(b, graph)).nnz == 0


@pytest.mark.parametrize("name", MODELS)
def test_the_model_is_that_of_the_landmarks(name):
    fitted = model(name, n_landmarks=M).fit(CHUNKS)
    rows, numbers = choose_landmarks(X, M, random_state=0)
    np.testing.assert_array_equal(fitted.landmarks_, numbers)
    assert_same_model(fitted, model(name).fit(rows))
    assert fitted.embedding_.shape == (M, 2)
    assert Trajectory.from_estimator(fitted).pseudotime_.shape == (M,)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_landmarks", [N, 5000])
def test_few_rows_are_fitted_whole(name, n_landmarks):
    fitted = model(name, n_landmarks=n_landmarks).fit(CHUNKS)
    np.testing.assert_array_equal(fitted.landmarks_, np.arange(N))
    assert_same_model(fitted, model(name).fit(X))


@pytest.mark.parametrize("name", MODELS)
def test_fit_transform_places_all_rows_lazily(name):
    estimator = model(name, n_landmarks=M).set_output(transform="pandas")
    lazy = estimator.fit_transform(CHUNKS)
    assert isinstance(lazy, da.Array)
    assert lazy.chunks == (CHUNKS.chunks[0], (2,))
    placed = lazy.compute()
    np.testing.assert_allclose(
        placed, estimator.set_output(transform="default").transform(X), rtol=0, atol=1e-12
    )
    np.testing.assert_array_equal(placed[estimator.landmarks_], estimator.embedding_)


@pytest.mark.parametrize("name", TWO)
def test_neither_chunks_nor_order_matter(name):
    fitted = model(name, n_landmarks=M).fit(CHUNKS)
    order = np.random.default_rng(0).permutation(N)
    other = model(name, n_landmarks=M).fit(da.from_array(X[order], chunks=(71, 6)))
    assert set(order[other.landmarks_]) == set(fitted.landmarks_)
    np.testing.assert_allclose(other.transform(X), fitted.transform(X), rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", TWO)
def test_the_seed_chooses_the_landmarks(name):
    chosen = [
        model(name, n_landmarks=M, random_state=seed, max_iter=2, tol=0).fit(CHUNKS).landmarks_
        for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(chosen[0], chosen[1])
    assert set(chosen[0]) != set(chosen[2])


@pytest.mark.parametrize("name", TWO)
def test_types_and_sparse_chunks_are_those_of_a_fit_in_memory(name):
    single = CHUNKS.astype(np.float32)
    fitted = model(name, n_landmarks=M).fit(single)
    assert fitted.embedding_.dtype == np.float32
    counts = X.round()
    sparse_chunks = da.from_array(counts, chunks=(45, 6)).map_blocks(sparse.csr_array)
    for n_landmarks in (M, N):
        fitted = model(name, n_landmarks=n_landmarks).fit(sparse_chunks)
        assert_same_model(fitted, model(name).fit(sparse.csr_array(counts)[fitted.landmarks_]))
    integers = da.from_array((10 * X).astype(int), chunks=(45, 6))
    fitted = model(name, n_landmarks=M).fit(integers)
    assert_same_model(fitted, model(name).fit((10 * X).astype(int)[fitted.landmarks_]))


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize("n_landmarks", [M, N])
def test_a_dask_dataframe_keeps_the_names_of_its_columns(name, n_landmarks):
    dd = pytest.importorskip("dask.dataframe")
    table = pd.DataFrame(X, columns=list("abcdef"))
    chunks = dd.from_pandas(table, npartitions=3)
    fitted = model(name, n_landmarks=n_landmarks).fit(chunks)
    assert fitted.feature_names_in_.tolist() == list("abcdef")
    assert fitted.transform(chunks).shape == (N, 2)
    assert_same_model(fitted, model(name).fit(table.iloc[fitted.landmarks_]))


@pytest.mark.parametrize("name", TWO)
def test_a_fit_in_memory_knows_no_landmarks(name):
    fitted = model(name, n_landmarks=M).fit(CHUNKS)
    assert not hasattr(fitted.fit(X), "landmarks_")
    assert len(fitted.embedding_) == N  # n_landmarks is for Dask arrays


@pytest.mark.parametrize("name", TWO)
def test_a_fit_that_fails_leaves_the_model_as_it_was(name):
    fitted = model(name, n_landmarks=M).fit(CHUNKS)
    before = dict(vars(fitted))
    with pytest.raises(ChunkError, match=r"X\[100, 3\] is NaN, in row 10 of chunk 2"):
        fitted.fit(da.where(X[100, 3] == X, np.nan, CHUNKS))
    assert vars(fitted) == before


@pytest.mark.parametrize("n_landmarks", [M, N])
def test_a_missing_value_is_named_by_chunk_and_row(n_landmarks):
    chunks = da.where(X[100, 3] == X, np.nan, CHUNKS)
    with pytest.raises(ChunkError, match=r"X\[100, 3\] is NaN, in row 10 of chunk 2, but .* drop"):
        DRTree(n_landmarks=n_landmarks).fit(chunks)


@pytest.mark.parametrize("wrong", [1, 0, 2.5, None, "all"])
@pytest.mark.parametrize("name", TWO)
def test_wrong_numbers_of_landmarks_are_told(name, wrong):
    for data in (X, CHUNKS):
        with pytest.raises(ValueError, match=r"'n_landmarks' parameter of .* must be an int in"):
            model(name, n_landmarks=wrong).fit(data)


def test_too_few_landmarks_for_the_neighbours_are_told():
    with pytest.raises(ValueError, match=r"n_neighbors=10 must be less than n_samples=8"):
        SPL(n_landmarks=8, random_state=0).fit(CHUNKS)
    with pytest.raises(ValueError, match=r"0 sample\(s\).*add samples"):
        DRTree().fit(CHUNKS[:0])


@pytest.mark.parametrize("name", TWO)
def test_equal_rows_only_are_told(name):
    equal = np.full((N, D), 3.7)
    with pytest.raises(
        ValueError, match=r"^X has one distinct row only, 200 times, but .*=60; look .*\[:100\]"
    ):
        model(name, n_landmarks=M).fit(da.from_array(equal, chunks=(45, D)))
    model(name).fit(equal[:100])


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize("n_landmarks", [M, N])
def test_chunks_that_are_not_as_large_as_they_say_are_refused(name, n_landmarks):
    chunks = da.from_array(X, chunks=(45, D)).map_blocks(
        lambda rows: rows[1:], dtype=float, meta=np.empty((0, 0))
    )
    with pytest.raises(
        ChunkError,
        match=r"^X says that it has 200 rows, but its chunks have 195; call "
        r"X.compute_chunk_sizes\(\) first, or mend what the chunks are made by\.$",
    ):
        model(name, n_landmarks=n_landmarks).fit(chunks)


def test_what_is_about_pairs_of_samples_needs_all_of_them():
    graph = sparse.eye_array(N, k=1, format="csr") + sparse.eye_array(N, k=-1, format="csr")
    kernel = X @ X.T
    chunks = da.from_array(kernel, chunks=(45, N))
    cases = [
        (DRTree(kernel="precomputed"), chunks, kernel, {}, "kernel='precomputed'"),
        (DRTree(structure=graph), CHUNKS, X, {}, "structure's graph"),
        (DRTree(structure=FixedGraph(graph)), CHUNKS, X, {}, "structure's graph"),
        (SPL(), CHUNKS, X, {"neighbors": graph}, "neighbors"),
    ]
    for estimator, data, in_memory, options, name in cases:
        estimator.set_params(n_landmarks=M)
        with pytest.raises(
            ValueError, match=rf"{name} is about pairs .* 200 rows .*=60 are .*raise"
        ):
            estimator.fit(data, **options)
        estimator.set_params(n_landmarks=N).fit(data, **options)
        assert_same_model(estimator, clone(estimator).fit(in_memory, **options))


@pytest.mark.parametrize("name", TWO)
def test_the_parameter_and_the_places_are_in_the_file(name, tmp_path):
    fitted = model(name, n_landmarks=M).fit(CHUNKS)
    fitted.save(tmp_path / "model.branchwise")
    again = branchwise.load(tmp_path / "model.branchwise")
    assert again.n_landmarks == M
    np.testing.assert_array_equal(again.transform(CHUNKS).compute(), fitted.transform(X))


@pytest.mark.parametrize("name", TWO)
def test_the_landmarks_are_the_training_data(name, tmp_path):
    fitted = model(name, n_landmarks=M).fit(CHUNKS)
    with pytest.raises(ValueError, match=r"which there were 60; pass .*X\[model.landmarks_\]\.$"):
        fitted.save(tmp_path / "model.branchwise", include_training=X)
    fitted.save(tmp_path / "model.branchwise", include_training=X[fitted.landmarks_])
    again = branchwise.load(tmp_path / "model.branchwise")
    np.testing.assert_array_equal(again.training_data_, X[fitted.landmarks_])


@pytest.mark.parametrize("name", TWO)
def test_files_from_before_there_were_landmarks_are_read(name):
    stored = Path(__file__).parents[1] / "persistence" / "models" / f"{name.lower()}-v1.branchwise"
    again = branchwise.load(stored)
    assert again.n_landmarks == 5000
    assert not hasattr(again, "landmarks_")


def test_processes_of_a_cluster_fit_the_same():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        for name in TWO:
            fitted = model(name, n_landmarks=M)
            lazy = fitted.fit_transform(CHUNKS)
            placed = client.compute(lazy).result(timeout=60)
            alone = model(name).fit(X[fitted.landmarks_])
            np.testing.assert_array_equal(
                fitted.landmarks_, choose_landmarks(X, M, random_state=0)[1]
            )
            np.testing.assert_allclose(placed, alone.transform(X), rtol=0, atol=1e-12)


def test_rows_are_gathered_in_order():
    np.testing.assert_array_equal(gather(CHUNKS), X, strict=True)
    chunks = da.from_array(X, chunks=(3, 6))  # more than are merged at a time
    np.testing.assert_array_equal(gather(chunks), X)
    assert gather(CHUNKS[:0]).shape == (0, D)
