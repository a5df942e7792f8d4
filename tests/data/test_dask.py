"""Passes over Dask arrays: each chunk once, sums in a fixed order, failures by name."""

import logging
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from branchwise.data.dask import as_chunks, chunk_starts, current_client, is_dask
from branchwise.data.dask_errors import (
    ChunkError,
    check_rows,
    chunk_label,
    failed_chunk,
    failures_in_words,
    is_connection_lost,
)
from branchwise.data.dask_passes import computed, map_chunks, pass_over, reduce_chunks

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

X = np.arange(60.0).reshape(20, 3)


def divided(cuts, values=X):
    """Chunks between these rows; some may be empty."""
    sizes = tuple(np.diff([0, *sorted(cuts), len(values)]).tolist())
    return da.from_array(values, chunks=values.shape).rechunk((sizes, values.shape[1]))


def numbers(rows, index):
    """The number of the chunk, in a list."""
    return [index]


def join(a, b):
    a += b
    return a


def column_sums(rows, index, factor=1.0):
    return factor * np.asarray(rows.sum(axis=0)).ravel()


def counting(values, chunks):
    """An array that counts how often each of its chunks is made."""
    made = Counter()

    def make(block, block_id=None):
        made[block_id[0]] += 1
        return block

    array = da.from_array(values, chunks=chunks).map_blocks(
        make, dtype=values.dtype, meta=np.empty((0, 0))
    )
    return array, made


@given(st.lists(st.integers(0, 20), max_size=25))
def test_sums_do_not_depend_on_the_chunks(cuts):
    chunks = divided(cuts)
    np.testing.assert_array_equal(reduce_chunks(chunks, column_sums, np.add), X.sum(axis=0))
    # Merged in the order of the chunks, without those that have no rows.
    filled = [index for index, size in enumerate(chunks.chunks[0]) if size]
    assert reduce_chunks(chunks, numbers, join) == filled


@pytest.mark.parametrize("n_chunks", [1, 7, 8, 9, 64, 65, 200])
def test_many_chunks_are_merged_in_order(n_chunks):
    chunks = da.ones((n_chunks, 1), chunks=(1, 1))
    for scheduler in ("threads", "synchronous"):
        with dask.config.set(scheduler=scheduler):
            assert reduce_chunks(chunks, numbers, join) == list(range(n_chunks))


def test_every_chunk_is_made_once_in_a_pass():
    chunks, made = counting(X, (4, 3))

    def both(rows, index):
        return rows[:, :1], column_sums(rows, index)

    kept, sums = pass_over(chunks, both, np.add)
    assert made == dict.fromkeys(range(5), 1)
    np.testing.assert_array_equal(sums, X.sum(axis=0))

    def again(rows, first, index):
        np.testing.assert_array_equal(rows[:, :1], first)
        return float(first.sum())

    assert reduce_chunks(chunks, again, lambda a, b: a + b, kept) == X[:, 0].sum()
    assert made == dict.fromkeys(range(5), 2)
    # What was kept is not made again.
    assert reduce_chunks(kept, lambda rows, index: len(rows), lambda a, b: a + b) == 20
    assert made == dict.fromkeys(range(5), 2)


def test_what_is_merged_may_be_changed_without_harm_to_what_it_came_from():
    """A lost worker's part is added again: it must still be what it was."""
    parts = []

    def list_of(rows, index):
        parts.append([index])
        return parts[-1]

    with dask.config.set(scheduler="synchronous"):
        assert reduce_chunks(divided([5, 10]), list_of, join) == [0, 1, 2]
    assert sorted(parts) == [[0], [1], [2]]


def test_small_things_are_given_to_every_call():
    total = reduce_chunks(divided([3]), column_sums, np.add, factor=2.0)
    np.testing.assert_array_equal(total, 2 * X.sum(axis=0))


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_sparse_blocks_come_as_csr_arrays(kind):
    def is_csr(rows, index):
        return isinstance(rows, sparse.csr_array)

    chunks = divided([7]).map_blocks(kind)
    assert reduce_chunks(chunks, is_csr, lambda a, b: a and b)
    np.testing.assert_array_equal(reduce_chunks(chunks, column_sums, np.add), X.sum(axis=0))


def test_chunks_that_are_all_empty_against_their_word_are_refused():
    chunks = divided([7]).map_blocks(lambda rows: rows[:0], dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(
        ChunkError, match=r"^X says that it has 20 rows, but none of its chunks has"
    ):
        reduce_chunks(chunks, column_sums, np.add)


# Failures


def failing(error, at=(2,)):
    def fail(block, block_id=None):
        if block_id[0] in at:
            raise error
        return block

    return da.from_array(X, chunks=(4, 3)).map_blocks(fail, dtype=float, meta=np.empty((0, 0)))


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
@pytest.mark.parametrize("run", [lambda X: reduce_chunks(X, column_sums, np.add), computed])
def test_a_chunk_that_cannot_be_read_is_named(scheduler, run):
    chunks = failing(OSError("part 2 ends\nafter 7 bytes"))
    with (
        dask.config.set(scheduler=scheduler),
        pytest.raises(
            ChunkError,
            match=r"^chunk 2 \(rows 8 to 11 of X\) cannot be read or used \(OSError: part 2 ends "
            r"after 7 bytes\); mend what it is read from, or leave it out\.$",
        ) as told,
    ):
        run(chunks)
    assert isinstance(told.value.__cause__, OSError)


def test_the_reason_is_that_of_the_chunk_that_is_named():
    """Two chunks fail, each in its way."""

    def fail(block, block_id=None):
        if block_id[0] in (1, 3):
            raise OSError(f"part {block_id[0]}")
        return block

    chunks = da.from_array(X, chunks=(4, 3)).map_blocks(fail, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(ChunkError, match=r"^chunk (\d) .*OSError: part \1\)"):
        reduce_chunks(chunks, column_sums, np.add)


def test_an_error_without_words_is_still_told():
    with pytest.raises(ChunkError, match=r"chunk 2 .* \(MemoryError: no reason given\)"):
        reduce_chunks(failing(MemoryError()), column_sums, np.add)


def test_an_interrupt_is_no_failure_of_a_chunk():
    with dask.config.set(scheduler="synchronous"), pytest.raises(KeyboardInterrupt):
        reduce_chunks(failing(KeyboardInterrupt()), column_sums, np.add)


def test_a_failure_of_merging_is_left_as_it_is():
    def refuse(a, b):
        raise ArithmeticError("cannot be added")

    with pytest.raises(ArithmeticError, match="cannot be added"):
        reduce_chunks(divided([5]), column_sums, refuse)


def test_a_chunk_error_can_be_sent_between_processes():
    error = pickle.loads(pickle.dumps(ChunkError("chunk 2 is bad")))
    assert isinstance(error, ValueError)
    assert str(error) == "chunk 2 is bad"


@pytest.mark.parametrize(
    ("index", "name"),
    [
        (0, r"chunk 0 (rows 0 to 4 of X)"),
        (1, r"chunk 1 (no rows of X)"),
        (2, r"chunk 2 (row 5 of X)"),
        (3, r"chunk 3 (rows 6 to 19 of X)"),
    ],
)
def test_chunks_are_named_by_their_rows(index, name):
    chunks = divided([5, 5, 6])
    assert chunk_label(chunks, index) == name
    assert chunk_starts(chunks) == [0, 5, 5, 6]


# What comes in


def test_only_dask_is_chunked():
    assert is_dask(da.ones(3))
    assert not any(map(is_dask, (X, [1.0], None, sparse.csr_array(X), dask)))


@pytest.mark.parametrize(
    ("chunks", "error", "match"),
    [
        (da.ones(3), ValueError, r"^X is a Dask array of 1 dimensions but must have two.*reshape"),
        (da.ones((2, 2, 2)), ValueError, r"of 3 dimensions but must have two"),
        (
            da.ones((6, 2), chunks=2)[da.ones(6, chunks=2) > 0],
            ValueError,
            r"^X is a Dask array of chunks of unknown size, but .*X.compute_chunk_sizes\(\) first",
        ),
        (da.from_array(np.array([["a", "b"]])), TypeError, r"^X is a Dask array of <U1 but must"),
        (da.ones((2, 2), dtype=complex), TypeError, r"of complex128 but must hold numbers; conv"),
    ],
    ids=["1-D", "3-D", "unknown", "text", "complex"],
)
def test_what_is_no_table_of_numbers_is_refused(chunks, error, match):
    with pytest.raises(error, match=match):
        as_chunks(chunks)


def test_a_dataframe_becomes_an_array():
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b", "c"]), npartitions=3)
    chunks = as_chunks(frame)
    assert sum(chunks.chunks[0]) == 20
    np.testing.assert_array_equal(chunks.compute(), X)
    frame["cell"] = "T"
    with pytest.raises(TypeError, match=r"X has columns that are no numbers \('cell'\); drop them"):
        as_chunks(frame)


def test_the_remedy_for_columns_that_are_no_numbers_helps():
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
        flag=X[:, 0] > 9, text="T", complex=1j, time=pd.Timedelta("1s"), day=pd.Timestamp("2026")
    )
    frame = dd.from_pandas(table.assign(kind=pd.Categorical(table["text"])), npartitions=3)
    with pytest.raises(TypeError, match=r"\('text', 'complex', 'time', 'day', 'kind'\)") as error:
        as_chunks(frame)
    remedy = str(error.value).partition("drop them: ")[2].rstrip(".")
    assert as_chunks(eval(remedy, {"X": frame})).shape == (20, 4)


@pytest.mark.parametrize("kind", ["Int64", "UInt8", "Float32", "Float64", "boolean"])
def test_columns_that_can_miss_values_are_numbers(kind):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    table = pd.DataFrame({"a": X[:, 0], "b": pd.array(X[:, 1] > 30, dtype="boolean").astype(kind)})
    chunks = as_chunks(dd.from_pandas(table, npartitions=3))
    np.testing.assert_array_equal(
        chunks.compute(), np.c_[X[:, 0], X[:, 1] > 30].astype(float), strict=True
    )
    table.loc[9, "b"] = pd.NA
    chunks = as_chunks(dd.from_pandas(table, npartitions=3))
    np.testing.assert_array_equal(np.argwhere(np.isnan(chunks.compute())), [[9, 1]])


def test_features_that_are_split_are_put_together():
    chunks = as_chunks(da.from_array(X, chunks=(6, 1)))
    assert chunks.chunks == ((6, 6, 6, 2), (3,))
    np.testing.assert_array_equal(chunks.compute(), X)


def test_all_rows_of_some_features_do_not_become_one_chunk_of_all():
    chunks = as_chunks(da.zeros((1_000_000, 2000), chunks=(1_000_000, 100)))
    limit = dask.utils.parse_bytes(dask.config.get("array.chunk-size"))
    assert limit / 2 < max(chunks.chunks[0]) * 2000 * 8 <= limit
    assert chunks.chunks[1] == (2000,)


@given(st.lists(st.integers(0, 20), max_size=6), st.integers(1, 2000))
def test_split_features_are_put_together_in_chunks_of_bounded_size(cuts, limit):
    with dask.config.set({"array.chunk-size": limit}):
        whole, split = as_chunks(divided(cuts)), as_chunks(divided(cuts).rechunk({1: 2}))
    assert whole.chunks == divided(cuts).chunks  # nobody has to put these together
    most = max(1, limit // (3 * 8))
    assert max(split.chunks[0]) <= most
    # Chunks that are small enough are as they were.
    assert set(chunk_starts(whole)) <= set(chunk_starts(split))
    if max(whole.chunks[0]) <= most:
        assert split.chunks == whole.chunks
    np.testing.assert_array_equal(split.compute(), X)


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "-inf")])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_first_value_that_is_not_finite_is_named(value, name, kind):
    rows = X[:5].copy()
    rows[[2, 4], [1, 0]] = value
    with pytest.raises(ChunkError, match=rf"^X\[42, 1\] is {name}, in row 2 of chunk 7, but every"):
        check_rows(kind(rows), 7, 40, 3)
    check_rows(kind(X[:5]), 7, 40, 3)


def test_a_chunk_of_another_width_is_named():
    with pytest.raises(ChunkError, match=r"^chunk 7 of X has shape \(20, 3\) but must have 4 col"):
        check_rows(X, 7, 40, 4)


# Lazy arrays


@given(st.lists(st.integers(0, 20), max_size=6))
def test_lazy_maps_know_their_shape(cuts):
    chunks = divided(cuts)
    lazy = map_chunks(chunks, lambda rows, k: rows[:, :k], 2, np.float32, k=2)
    flat = map_chunks(chunks, lambda rows, index: rows[:, 0] * index, None, int, numbered=True)
    assert (lazy.shape, lazy.dtype, lazy.chunks[0]) == ((20, 2), np.float32, chunks.chunks[0])
    np.testing.assert_array_equal(lazy.compute(), X[:, :2])
    number = np.repeat(np.arange(len(chunks.chunks[0])), chunks.chunks[0])
    np.testing.assert_array_equal(flat.compute(), X[:, 0] * number)


def test_what_is_computed_is_kept():
    chunks, made = counting(X, (4, 3))
    kept = computed(chunks)
    np.testing.assert_array_equal(kept.compute(), X)
    np.testing.assert_array_equal(kept.sum().compute(), X.sum())
    assert made == dict.fromkeys(range(5), 1)


# Clusters


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1,
            processes=False,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


# Older versions of Dask say so to whoever asks.
@pytest.mark.filterwarnings("ignore:Running on a single-machine scheduler:UserWarning")
def test_the_client_is_the_one_that_dask_would_use(client):
    assert current_client() is None
    with client.as_current():
        assert current_client() is client
        with dask.config.set(scheduler="threads"):
            assert current_client() is None
    assert current_client() is None


def test_a_pass_warns_only_of_the_size_of_the_data(client):
    """What has to be given to every chunk is no mistake of the user's."""
    large = np.zeros(2_000_000)

    def size(rows, index, large):
        return len(large)

    with client.as_current():
        assert reduce_chunks(da.ones((4, 2), chunks=2), size, max, large=large) == 2_000_000
        data = da.from_array(np.zeros((2_000_000, 1)), chunks=(1_000_000, 1))
        with pytest.warns(UserWarning, match="Sending large graph"):
            reduce_chunks(data, column_sums, np.add)


def test_tasks_have_names_that_can_be_read(client):
    with client.as_current():
        reduce_chunks(da.ones((40, 2), chunks=2), numbers, join)
        kept, _ = pass_over(da.ones((40, 2), chunks=2), lambda rows, index: (1, 2), max)
    names = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.task_prefixes))
    assert {"branchwise-kept", "branchwise-join-aggregate"} <= set(names) | {
        name.rpartition("-")[0] for name in names
    }
    assert not [name for name in names if "<" in name]
    del kept


@pytest.mark.parametrize("name", ["CommClosedError", "FutureCancelledError", "ClosedClientError"])
def test_errors_of_a_lost_scheduler_are_known(name):
    distributed = pytest.importorskip("distributed")
    kinds = [distributed.client, distributed.comm.core]
    (kind,) = {getattr(module, name) for module in kinds if hasattr(module, name)}
    assert is_connection_lost(kind.__new__(kind))
    assert not is_connection_lost(OSError("no such file"))
    assert not is_connection_lost(RuntimeError("S3 Client: access denied"))


def test_a_scheduler_that_lacks_branchwise_is_told_from_a_lost_one():
    X = da.ones((4, 2), chunks=2)
    with (
        pytest.raises(RuntimeError, match=r"^The Dask scheduler cannot read what it is sent, most"),
        failures_in_words(X, X),
    ):
        raise RuntimeError("Error during deserialization of the task graph. This frequently\noccu")


@pytest.mark.parametrize("n_chunks", [1, 2, 3, 8, 13])
def test_the_first_of_several_bad_chunks_is_found_by_halves(n_chunks):
    """With as many computations as halves, rather than chunks."""
    for bad in ({0}, {n_chunks - 1}, {n_chunks // 2, n_chunks - 1}):

        def fail(block, block_id=None, bad=bad):
            if block_id[0] in bad:
                raise OSError(f"part {block_id[0]}")
            return block

        X = da.ones((n_chunks, 2), chunks=(1, 2)).map_blocks(fail, meta=np.empty((0, 0)))
        index, reason = failed_chunk(X)
        assert index == min(bad)
        assert str(reason) == f"part {min(bad)}"
    assert failed_chunk(da.ones((n_chunks, 2), chunks=(1, 2))) is None
