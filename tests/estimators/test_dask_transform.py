"""New samples in a Dask array are placed lazily, chunk by chunk, as they would be in memory."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from branchwise import SPL, DDRTree, DRTree
from branchwise.data.dask_errors import ChunkError
from branchwise.estimators import TrainingRecord

from ..conftest import branching

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

N, D = 60, 6
TRAINING, NEW = branching(N, D), branching(31, D, seed=1)
MODELS = {
    "DDRTree": DDRTree(2, random_state=0),
    "DDRTree hard": DDRTree(2, n_centers=12, assignment="hard", random_state=0),
    "DDRTree features": DDRTree(None, n_centers=12, random_state=0),
    "DDRTree rbf": DDRTree(2, n_centers=12, kernel="rbf", random_state=0),
    "DRTree": DRTree(),
    "DRTree linear": DRTree(kernel="linear"),
    "SPL": SPL(),
    "SPL gamma=0": SPL(gamma=0.0),
    "SPL rbf": SPL(kernel="rbf"),
}
THREE = ["DDRTree", "DRTree", "SPL"]


@pytest.fixture(scope="module")
def fitted():
    return {name: clone(model).fit(TRAINING) for name, model in MODELS.items()}


def no_scheduler(*args, **options):
    raise AssertionError("something was computed")


def lazily(method, X):
    """What comes back without a single task being run."""
    with dask.config.set(scheduler=no_scheduler):
        return method(X)


@pytest.mark.parametrize("name", MODELS)
def test_lazy_places_are_those_in_memory(fitted, name):
    model = fitted[name]
    X = np.concatenate([NEW, TRAINING[:9]])
    lazy = lazily(model.transform, da.from_array(X, chunks=(7, D)))
    assert isinstance(lazy, da.Array)
    assert lazy.shape == (40, len(model.components_))
    assert lazy.chunks[0] == (7, 7, 7, 7, 7, 5)
    expected = model.transform(X)
    assert lazy.dtype == expected.dtype
    np.testing.assert_allclose(lazy.compute(), expected, rtol=0, atol=1e-12)
    # Rows of the training data keep their place, to the last digit.
    np.testing.assert_array_equal(lazy[31:].compute(), model.embedding_[:9])


@pytest.mark.parametrize("name", MODELS)
def test_the_way_back_is_lazy_as_well(fitted, name):
    model = fitted[name]
    Z = model.transform(NEW)
    lazy = lazily(model.inverse_transform, da.from_array(Z, chunks=(7, 1)))
    expected = model.inverse_transform(Z)
    assert lazy.shape == expected.shape
    assert lazy.chunks[0] == (7, 7, 7, 7, 3)
    assert lazy.dtype == expected.dtype
    np.testing.assert_allclose(lazy.compute(), expected, rtol=1e-12, atol=1e-12)


@given(st.lists(st.integers(0, 31), max_size=5))
def test_the_chunking_does_not_matter(cuts):
    """Chunks without rows are among them."""
    model = DDRTree(2, n_centers=8, random_state=0, max_iter=3, tol=0).fit(TRAINING)
    sizes = tuple(np.diff([0, *sorted(cuts), 31]).tolist())
    lazy = model.transform(da.from_array(NEW).rechunk((sizes, D)))
    assert lazy.chunks[0] == sizes
    np.testing.assert_allclose(lazy.compute(), model.transform(NEW), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int32", "bool"])
@pytest.mark.parametrize("name", THREE)
def test_the_type_is_that_of_a_transform_in_memory(fitted, name, dtype):
    X = NEW.round().astype(dtype)
    chunks = da.from_array(X, chunks=(10, D))
    for method in (fitted[name].transform, fitted[name].inverse_transform):
        expected, lazy = method(X), method(chunks)
        assert lazy.dtype == lazy.compute().dtype == expected.dtype
        np.testing.assert_allclose(lazy.compute(), expected, rtol=1e-5, atol=1e-5)
        X, chunks = X[:, :2], chunks[:, :2]


@pytest.mark.parametrize("name", THREE)
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_chunks_may_be_sparse(fitted, name, kind):
    X = NEW.round()
    chunks = da.from_array(X, chunks=(10, D)).map_blocks(kind)
    lazy = lazily(fitted[name].transform, chunks)
    np.testing.assert_allclose(lazy.compute(), fitted[name].transform(X), rtol=0, atol=1e-10)


def test_features_may_be_split(fitted):
    lazy = fitted["DRTree"].transform(da.from_array(NEW, chunks=(10, 2)))
    assert lazy.chunks == ((10, 10, 10, 1), (2,))
    np.testing.assert_array_equal(lazy.compute(), fitted["DRTree"].transform(NEW))


@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", THREE)
def test_rows_of_a_precomputed_kernel_are_placed(name, as_sparse):
    K, new = TRAINING @ TRAINING.T, NEW @ TRAINING.T
    model = clone(MODELS[name]).set_params(kernel="precomputed").fit(K)
    chunks = da.from_array(new, chunks=(10, 20))
    if as_sparse:
        chunks = chunks.rechunk((10, N)).map_blocks(sparse.csr_array)
    np.testing.assert_allclose(
        model.transform(chunks).compute(), model.transform(new), rtol=1e-9, atol=1e-9
    )


def test_a_kernel_of_ones_own_is_sent_along():
    def cube(a, b):
        return (a @ b.T) ** 3

    model = DRTree(kernel=cube).fit(TRAINING)
    lazy = model.transform(da.from_array(NEW, chunks=(10, D)))
    np.testing.assert_allclose(lazy.compute(), model.transform(NEW), rtol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_the_wrong_number_of_features_is_told_at_once(fitted, name):
    X = da.from_array(NEW[:, :5], chunks=(10, 5))
    with pytest.raises(ValueError, match=r"X has 5 features, but .* is expecting 6 features.*pass"):
        lazily(fitted[name].transform, X)
    n_components = len(fitted[name].components_)
    with pytest.raises(ValueError, match=rf"shape \(n_samples, {n_components}\), one column per"):
        lazily(fitted[name].inverse_transform, X[:, :1])


@pytest.mark.parametrize("method", ["transform", "inverse_transform"])
@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", THREE)
def test_a_missing_value_is_named_by_chunk_and_row(fitted, name, as_sparse, method):
    X = NEW[:, : D if method == "transform" else 2].copy()
    X[25, 1] = np.nan
    chunks = da.from_array(X, chunks=(10, -1))
    if as_sparse:
        chunks = chunks.map_blocks(sparse.csr_array)
    lazy = lazily(getattr(fitted[name], method), chunks)
    with pytest.raises(ChunkError, match=r"X\[25, 1\] is NaN, in row 5 of chunk 2, but .* drop"):
        lazy.compute()
    np.testing.assert_allclose(
        lazy[:20].compute(), getattr(fitted[name], method)(X[:20]), rtol=0, atol=1e-10
    )


def test_values_whose_squares_overflow_are_told(fitted):
    X = NEW.copy()
    X[3, 0] = 1e200
    lazy = fitted["SPL"].transform(da.from_array(X, chunks=(10, D)))
    with pytest.raises(ValueError, match=r"X holds a value of size 1e\+200, but .*divide X by"):
        lazy.compute()


def test_what_is_no_table_of_numbers_is_told_at_once(fitted):
    X = da.from_array(NEW, chunks=(10, D))
    place = fitted["DDRTree"].transform
    with pytest.raises(ValueError, match=r"unknown size, .*compute_chunk_sizes\(\)"):
        lazily(place, X[X[:, 0] > 0])
    with pytest.raises(ValueError, match="1 dimensions but must have two"):
        lazily(place, X[:, 0])
    with pytest.raises(TypeError, match="must hold numbers"):
        lazily(place, X.astype(str))
    with pytest.raises(NotFittedError):
        lazily(DDRTree(2).transform, X)


def test_a_dask_dataframe_is_placed_by_its_columns(fitted):
    dd = pytest.importorskip("dask.dataframe")
    columns = list("abcdef")
    model = DRTree().fit(pd.DataFrame(TRAINING, columns=columns))
    table = pd.DataFrame(NEW, columns=columns, index=[f"s{i}" for i in range(31)])
    lazy = model.transform(dd.from_pandas(table, npartitions=3, sort=False))
    assert isinstance(lazy, da.Array)
    assert lazy.shape == (31, 2)
    np.testing.assert_allclose(lazy.compute(), model.transform(table), rtol=0, atol=1e-12)
    wrong = dd.from_pandas(table[columns[::-1]], npartitions=3, sort=False)
    with pytest.raises(ValueError, match="in the same order as they were in fit; pass the columns"):
        lazily(model.transform, wrong)
    with pytest.raises(ValueError, match="names seen at fit time, yet now missing"):
        lazily(model.transform, wrong[["a", "b"]])
    with pytest.warns(UserWarning, match="X has feature names, but DRTree was fitted without"):
        fitted["DRTree"].transform(dd.from_pandas(table, npartitions=3, sort=False))
    with pytest.warns(UserWarning, match="does not have valid feature names, but DRTree"):
        lazily(model.transform, da.from_array(NEW, chunks=(10, D)))


@pytest.mark.parametrize("container", ["pandas", "default"])
@pytest.mark.parametrize("name", THREE)
def test_set_output_leaves_a_dask_array_as_it_is(fitted, name, container):
    model = clone(MODELS[name]).fit(TRAINING).set_output(transform=container)
    lazy = lazily(model.transform, da.from_array(NEW, chunks=(10, D)))
    assert isinstance(lazy, da.Array)
    np.testing.assert_allclose(lazy.compute(), fitted[name].transform(NEW), rtol=0, atol=1e-12)
    assert isinstance(model.transform(NEW), pd.DataFrame if container == "pandas" else np.ndarray)
    again = model.fit_transform(TRAINING)
    assert isinstance(again, pd.DataFrame if container == "pandas" else np.ndarray)


@pytest.mark.parametrize("name", THREE)
def test_little_but_what_places_samples_is_sent_to_the_workers(fitted, name):
    class Huge:
        """It says no when it is to be sent."""

        def __reduce__(self):
            raise AssertionError("sent")

    model = clone(MODELS[name]).set_params(callback=lambda progress: None, n_jobs=-1)
    model.fit(TRAINING)
    for sent in ("labels_", "objective_history_", "training_data_"):
        setattr(model, sent, Huge())
    before = dict(vars(model))
    small = model.for_workers()
    assert len(pickle.dumps(small)) < 30_000
    assert vars(model) == before
    expected = fitted[name].transform(NEW)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(small))._placed(NEW), expected)


def test_a_dask_embedding_stays_on_the_workers(fitted):
    """As after DDRTree has been fitted to a Dask array: there are no known rows."""
    model = clone(MODELS["DDRTree"]).fit(TRAINING)
    model.embedding_ = da.from_array(model.embedding_, chunks=(10, 2))
    model.labels_ = da.from_array(model.labels_, chunks=10)
    model.training_record = TrainingRecord.of(np.empty(0, dtype=np.uint64), None)
    assert not {"embedding_", "labels_"} & set(vars(model.for_workers()))
    X = np.concatenate([NEW, TRAINING[:5]])
    lazy = lazily(model.transform, da.from_array(X, chunks=(10, D)))
    np.testing.assert_allclose(lazy.compute(), model.transform(X), rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        lazy[:31].compute(), fitted["DDRTree"].transform(NEW), rtol=0, atol=1e-12
    )


def test_processes_of_a_cluster_place_the_same(fitted):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        for name in THREE:
            lazy = fitted[name].transform(da.from_array(NEW, chunks=(5, D)))
            placed = client.compute(lazy).result(timeout=60)
            np.testing.assert_allclose(placed, fitted[name].transform(NEW), rtol=0, atol=1e-12)
        X = da.from_array(NEW, chunks=(5, D))
        lazy = fitted["DRTree"].transform(da.where(NEW[17, 3] == X, np.inf, X))
        with pytest.raises(ChunkError, match=r"X\[17, 3\] is inf, in row 2 of chunk 3"):
            client.compute(lazy).result(timeout=60)
