"""DDRTree fitted to a Dask array is DDRTree fitted to the same samples in memory."""

import logging
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from branchwise import DDRTree, structures
from branchwise.data.dask_errors import ChunkError

from ..conftest import branching

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

D = 5
SIMULATED = branching(300, D)
SETTINGS = {"n_components": 2, "n_centers": 10, "max_iter": 6, "tol": 0, "random_state": 0}
SIZES = (70, 0, 1, 129, 100)


def learner(**others):
    return DDRTree(**{**SETTINGS, **others})


def divided(X, sizes=SIZES, widths=None):
    """X in chunks of these sizes, a last one with the rest."""
    sizes = (*sizes, len(X) - sum(sizes)) if sum(sizes) < len(X) else sizes
    return da.from_array(X, chunks=X.shape).rechunk((sizes, widths or X.shape[1]))


def assert_equal_models(model, expected, atol=1e-9):
    """The same numbers, but for rounding; the tests allow far less than the promised 1e-6."""
    scale = np.abs(expected.embedding_).max() or 1.0
    close = {"rtol": 0, "atol": atol * scale}
    for name in ("centers_", "embedding_"):
        found, wanted = np.asarray(getattr(model, name)), getattr(expected, name)
        np.testing.assert_allclose(found, wanted, **close, err_msg=name)
        assert found.dtype == wanted.dtype
    np.testing.assert_allclose(model.components_, expected.components_, rtol=0, atol=atol)
    np.testing.assert_allclose(model.mean_, expected.mean_, rtol=1e-12, atol=atol * scale)
    np.testing.assert_allclose(model.objective_history_, expected.objective_history_, rtol=1e-8)
    assert model.sigma_ == pytest.approx(expected.sigma_, rel=1e-9)
    assert (model.lam_, model.n_iter_) == (expected.lam_, expected.n_iter_)
    np.testing.assert_array_equal(model.tree_.toarray(), expected.tree_.toarray())
    assert model.n_features_in_ == expected.n_features_in_


@pytest.fixture(scope="module")
def in_memory():
    return learner().fit(SIMULATED)


# The result is that of a fit in memory


@settings(max_examples=15)
@given(
    st.lists(st.integers(0, 300), max_size=12),
    st.sampled_from([None, (2, 3), (1, 1, 1, 1, 1)]),
)
def test_the_chunking_does_not_matter(cuts, widths):
    """Chunks without rows, of one row, and split along the features are among them."""
    sizes = tuple(np.diff([0, *sorted(cuts), 300]).tolist())
    model = learner(max_iter=3).fit(divided(SIMULATED, sizes, widths))
    assert_equal_models(model, learner(max_iter=3).fit(SIMULATED))
    assert model.embedding_.chunks == (sizes, (2,))
    assert model.labels_.chunks == (sizes,)


def test_chunks_may_be_single_rows():
    X = SIMULATED[:120]
    model = learner(max_iter=2).fit(da.from_array(X, chunks=(1, D)))
    assert_equal_models(model, learner(max_iter=2).fit(X))


RING = sparse.csr_array(np.roll(np.eye(10), 1, axis=1) + np.roll(np.eye(10), -1, axis=1))


@pytest.mark.parametrize(
    "others",
    [
        {"assignment": "hard"},
        {"sigma": 0.5},
        {"gamma": 0.1, "lam": 3.0},
        {"lam": 0},
        {"n_components": 1},
        {"n_components": D},
        {"n_components": 0.8},
        {"n_components": None},
        {"structure": "forest"},
        {"structure": structures.Forest(n_trees=3)},
        {"structure": "ring"},
        {"structure": "curve"},
        {"structure": "graph"},
        {"n_centers": 1},
        {"n_centers": "auto"},
        {"n_centers": 299},
        {"tol": 1e-5, "max_iter": 200},
        {"n_jobs": 2},
        {"random_state": 5},
    ],
    ids=str,
)
def test_every_parameter_counts_as_in_memory(others):
    model, expected = learner(**others).fit(divided(SIMULATED)), learner(**others).fit(SIMULATED)
    assert_equal_models(model, expected)
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
    assert model.converged_ == expected.converged_


@pytest.mark.parametrize("others", [{}, {"structure": RING}, {"n_components": None}], ids=str)
def test_starting_centres_may_be_given(others):
    d = D if "n_components" in others else 2
    init = np.random.default_rng(1).normal(size=(10, d))
    model = learner(init=init, **others).fit(divided(SIMULATED))
    assert_equal_models(model, learner(init=init, **others).fit(SIMULATED))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "int8", "uint8", "bool"])
def test_every_type_of_number_will_do(dtype):
    X = (4 * SIMULATED).round().clip(0 if dtype == "uint8" else -9, 9).astype(dtype)
    assert_equal_models(learner().fit(divided(X)), learner().fit(X))
    default = {"n_components": "auto", "random_state": None}
    assert_equal_models(learner(**default).fit(divided(X)), learner(**default).fit(X))


def test_single_precision_stays_so():
    X = SIMULATED.astype(np.float32)
    model = learner().fit(divided(X))
    assert model.embedding_.dtype == model.embedding_.compute().dtype == np.float32
    assert_equal_models(model, learner().fit(X), atol=1e-6)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_blocks_may_be_sparse(kind):
    X = SIMULATED * (np.random.default_rng(0).uniform(size=SIMULATED.shape) < 0.4)
    assert_equal_models(learner().fit(divided(X).map_blocks(kind)), learner().fit(X))


def test_blocks_may_be_in_columns_order_or_read_only():
    def unusual(block):
        block = np.asfortranarray(block)
        block.flags.writeable = False
        return block

    X = divided(SIMULATED).map_blocks(unusual, dtype=float, meta=np.empty((0, 0)))
    assert_equal_models(learner().fit(X), learner().fit(SIMULATED))


@pytest.mark.parametrize("n_samples", [2, 3, 40, 100])
@pytest.mark.parametrize("n_centers", ["auto", None])
def test_few_samples_have_a_centre_each(n_samples, n_centers):
    X = branching(n_samples, D)
    model, expected = (
        learner(n_centers=n_centers).fit(x) for x in (da.from_array(X, chunks=(30, D)), X)
    )
    assert isinstance(model.embedding_, da.Array)
    assert isinstance(model.labels_, da.Array)
    assert_equal_models(model, expected)


@pytest.mark.parametrize("n_distinct", [1, 2, 7, 10, 12, 40])
def test_many_rows_may_be_equal(n_distinct):
    X = SIMULATED[np.arange(300) % n_distinct]
    # Most of the centres of two samples lie together, and which the tree joins is up to rounding; a
    # tree that weighs little leaves the samples where they are.
    weights = {"gamma": 10.0, "lam": 30.0}
    model, expected = learner(**weights).fit(divided(X)), learner(**weights).fit(X)
    np.testing.assert_allclose(
        model.objective_history_, expected.objective_history_, rtol=1e-8, atol=1e-8
    )
    np.testing.assert_allclose(model.embedding_.compute(), expected.embedding_, atol=1e-8)
    default = {"n_components": "auto", "random_state": None}
    model, expected = learner(**default).fit(divided(X)), learner(**default).fit(X)
    assert model.sigma_ == pytest.approx(expected.sigma_, rel=1e-9)
    if n_distinct > 1:  # rows that are all equal spread by rounding
        assert len(model.components_) == len(expected.components_) == min(n_distinct - 1, D)


def test_k_means_looks_at_the_same_samples():
    """More than fifty samples per centre: it does not look at all of them."""
    X = branching(2000, D)
    model = learner(n_centers=6, max_iter=2).fit(da.from_array(X, chunks=(333, D)))
    assert_equal_models(model, learner(n_centers=6, max_iter=2).fit(X))


@pytest.mark.parametrize(("shift", "size"), [(1e6, 1.0), (0.0, 1e100), (0.0, 1e-100), (-1e4, 1e3)])
def test_units_and_origin_do_not_matter(in_memory, shift, size):
    X = size * SIMULATED + shift * size
    model = learner().fit(divided(X))
    np.testing.assert_allclose(model.centers_ / size, in_memory.centers_, rtol=0, atol=1e-5)


@pytest.mark.parametrize("others", [{}, {"n_centers": None}], ids=["few", "one each"])
def test_a_dataframe_gives_names(others):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    names = list("abcde")
    frame = pd.DataFrame(SIMULATED, columns=names)
    model = learner(**others).fit(dd.from_pandas(frame, npartitions=4))
    assert_equal_models(model, learner(**others).fit(frame))
    assert list(model.feature_names_in_) == names
    # Both kinds of table are then placed without a warning.
    np.testing.assert_allclose(
        np.asarray(model.transform(dd.from_pandas(frame, npartitions=2))),
        model.transform(frame),
        atol=1e-12,
    )


def test_new_samples_are_placed_as_by_the_fit_in_memory(in_memory):
    model, new = learner().fit(divided(SIMULATED)), branching(50, D, seed=1)
    np.testing.assert_allclose(model.transform(new), in_memory.transform(new), atol=1e-9)
    lazy = model.transform(da.from_array(new, chunks=(20, D)))
    np.testing.assert_allclose(lazy.compute(), in_memory.transform(new), atol=1e-9)


def test_fit_transform_returns_the_embedding():
    model = learner()
    Z = model.fit_transform(divided(SIMULATED))
    assert Z is model.embedding_


def test_the_objective_never_rises():
    history = learner(max_iter=40).fit(divided(SIMULATED)).objective_history_
    energy = ((SIMULATED - SIMULATED.mean(axis=0)) ** 2).sum()
    assert len(history) == 40
    assert (np.diff(history) <= 1e-12 * energy).all()


# Schedulers


def attributes(model):
    names = ["centers_", "components_", "mean_", "objective_history_", "embedding_", "labels_"]
    return [np.asarray(getattr(model, name)) for name in names]


def assert_identical(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="module")
def on_threads():
    with dask.config.set(scheduler="threads"):
        return attributes(learner().fit(divided(SIMULATED)))


def test_one_thread_and_many_agree_to_the_last_bit(on_threads):
    with dask.config.set(scheduler="synchronous"):
        assert_identical(attributes(learner().fit(divided(SIMULATED))), on_threads)


def test_processes_and_threads_agree_to_the_last_bit(on_threads):
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        dask.config.set(scheduler="processes", pool=pool),
    ):
        assert_identical(attributes(learner().fit(divided(SIMULATED))), on_threads)


@pytest.mark.parametrize("n_workers", [1, 3])
def test_clusters_and_threads_agree_to_the_last_bit(on_threads, n_workers):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster),
    ):
        assert_identical(attributes(learner().fit(divided(SIMULATED))), on_threads)


# Passes


def counting(X, chunks):
    """X as a Dask array that counts how often each of its chunks is read."""
    reads = Counter()

    def read(block, block_id=None):
        reads[block_id[0]] += 1
        return block

    lazy = da.from_array(X, chunks=chunks).map_blocks(
        read, dtype=X.dtype, meta=np.empty((0, 0), X.dtype)
    )
    return lazy, reads


@pytest.mark.parametrize("others", [{}, {"assignment": "hard"}, {"structure": "ring"}], ids=str)
def test_the_data_are_read_once_per_iteration(others):
    """And three times more: for the moments, for the start, and for the embedding."""
    for max_iter in (1, 4):
        X, reads = counting(SIMULATED, (100, D))
        model = learner(max_iter=max_iter, **others).fit(X)
        assert reads == dict.fromkeys(range(3), max_iter + 3)
        before = Counter(reads)
        np.asarray(model.embedding_), np.asarray(model.labels_)
        assert reads == before


def test_going_on_reads_the_data_as_often_as_going_on_needs(tmp_path):
    path = tmp_path / "fit.branchwise"
    learner(max_iter=4, checkpoint=path).fit(divided(SIMULATED))
    X, reads = counting(SIMULATED, (100, D))
    learner(max_iter=6, checkpoint=path).fit(X, resume=True)
    assert reads == dict.fromkeys(range(3), 2 + 3)


# Bad input


@pytest.mark.parametrize(
    ("others", "X", "error", "match"),
    [
        ({}, da.ones(9), ValueError, r"^X is a Dask array of 1 dimensions but must have two, samp"),
        ({}, da.ones((9, 2))[da.ones(9) > 0], ValueError, r"unknown size.*X.compute_chunk_sizes"),
        ({}, np.full((9, 2), "a"), TypeError, r"^X is a Dask array of <U1 but must hold numbers;"),
        ({}, da.ones((1, 2)), ValueError, r"with 1 sample.s. while a minimum of 2 .*; add samples"),
        ({}, da.ones((0, 2)), ValueError, r"with 0 sample.s. while a minimum of 2 .*; add samples"),
        ({}, da.ones((9, 0)), ValueError, r"^Found array with 0 feature.s. .*; add features"),
        (
            {},
            da.ones((9, 5000)),
            ValueError,
            r"^X has 5,000 features, but a Dask array may have at most 4,096, as products of all "
            r"pairs of them are summed; reduce them first",
        ),
        ({"n_centers": 400}, da.ones((9, 2)), ValueError, r"n_centers=400 must be at most n_samp"),
        (
            {"n_centers": None},
            da.ones((5000, 2)),
            ValueError,
            r"^n_centers=None, which is one per sample, hence 5,000, must be at most 4,000 for a "
            r'Dask array.*; set a lower n_centers, or "auto"\.$',
        ),
        ({"n_centers": 4500}, da.ones((5000, 2)), ValueError, r"^n_centers=4,500 must be at most"),
        ({"n_components": 3}, da.ones((9, 2)), ValueError, r"^n_components=3 must be at most min"),
        (
            {"kernel": "rbf"},
            da.ones((9, 2)),
            ValueError,
            r"^kernel='rbf' needs a value for every pair of samples, .*; set kernel=None, or pass",
        ),
        ({"gamma": -1}, da.ones((9, 2)), ValueError, r"'gamma' parameter of DDRTree must be"),
        (
            {"checkpoint": 3},
            da.ones((9, 2)),
            ValueError,
            r"^The 'checkpoint' parameter of DDRTree must",
        ),
        ({"init": [[0.0]]}, SIMULATED, ValueError, r"^init has shape \(1, 1\) but must be"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_fitted_is_refused(others, X, error, match):
    X = da.asarray(X)
    with pytest.raises(error, match=match):
        learner(**{"n_centers": "auto", **others}).fit(X)


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "-inf")])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_value_that_is_not_finite_is_found_in_the_first_pass(value, name, kind):
    values = SIMULATED.copy()
    values[[217, 230], [3, 0]] = value
    X, reads = counting(values, (100, D))
    with pytest.raises(
        ChunkError,
        match=rf"^X\[217, 3\] is {name}, in row 17 of chunk 2, but every value must be finite; "
        r"drop such rows or replace such values \(da.where\(da.isnan\(X\), 0, X\) puts zeros "
        r"in the place of NaN\)\.$",
    ):
        learner().fit(X.map_blocks(kind))
    assert max(reads.values()) == 1


@pytest.mark.parametrize(
    ("size", "match"),
    [
        (1e160, r"^X holds a value of size .*e\+160, but values must be at most .*; divide X by"),
        (1e-170, r"^The largest value of X has size .*, but must be at least .*; divide X by"),
    ],
)
def test_values_whose_squares_are_no_numbers_are_refused(size, match):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=match):
            learner().fit(divided(size * SIMULATED))


def test_a_missing_value_of_a_nullable_column_is_named_by_chunk_and_row():
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(SIMULATED, columns=list("abcde"))
    frame["count"] = pd.array(np.arange(300), dtype="Int64")
    model = learner().fit(dd.from_pandas(frame, npartitions=4))
    assert_equal_models(model, learner().fit(frame.astype(float)))
    frame.loc[100, "count"] = pd.NA
    with pytest.raises(ChunkError, match=r"^X\[100, 5\] is NaN, in row 25 of chunk 1, but every"):
        learner().fit(dd.from_pandas(frame, npartitions=4))


def test_chunks_that_are_not_as_large_as_they_say_are_refused():
    X = divided(SIMULATED).map_blocks(lambda rows: rows[1:], dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(
        ChunkError,
        match=r"^X says that it has 300 rows, but its chunks have 296; call "
        r"X.compute_chunk_sizes\(\) first, or mend what the chunks are made by\.$",
    ):
        learner().fit(X)


def test_chunks_of_another_width_are_refused():
    X = divided(SIMULATED).map_blocks(lambda rows: rows[:, 1:], dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(
        ChunkError, match=r"^chunk \d of X has shape \(\d+, 4\) but must have 5 col"
    ):
        learner().fit(X)


def test_equal_rows_everywhere_are_fitted_as_in_memory():
    X = np.full((300, D), 3.7)
    model, expected = learner().fit(divided(X)), learner().fit(X)
    np.testing.assert_allclose(model.mean_, 3.7)
    np.testing.assert_allclose(model.embedding_.compute(), expected.embedding_, atol=1e-12)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = learner().fit(SIMULATED)
    before = vars(model).copy()
    values = SIMULATED[:, :4].copy()
    values[7, 1] = np.nan
    with pytest.raises(ChunkError):
        model.fit(divided(values))
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)

    def fail(progress):
        raise ArithmeticError("of the callback")

    model.set_params(callback=fail)
    with pytest.raises(ArithmeticError, match="of the callback"):
        model.fit(divided(values[10:], (100, 90)))
    assert model.n_features_in_ == D


def test_a_model_of_chunks_can_be_fitted_again_in_memory(in_memory):
    model = learner().fit(divided(SIMULATED))
    model.fit(SIMULATED)
    assert isinstance(model.embedding_, np.ndarray)
    np.testing.assert_array_equal(model.embedding_, in_memory.embedding_)
    np.testing.assert_array_equal(model.transform(SIMULATED), model.embedding_)


def test_the_checkpoint_is_a_parameter_like_others(tmp_path):
    model = learner(checkpoint=tmp_path / "fit.branchwise")
    assert model.get_params()["checkpoint"] == tmp_path / "fit.branchwise"
    assert clone(model).checkpoint == tmp_path / "fit.branchwise"
    assert clone(model).set_params(checkpoint=None).checkpoint is None
    model.fit(divided(SIMULATED))
    assert (tmp_path / "fit.branchwise").exists()
    # An estimator without one writes nothing, and the path may be a string.
    model.set_params(checkpoint=str(tmp_path / "other.branchwise")).fit(divided(SIMULATED))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fit.branchwise", "other.branchwise"]
