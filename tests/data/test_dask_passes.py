"""Passes over Dask arrays: each chunk once, sums in a fixed order."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from branchwise.data.dask_errors import ChunkError
from branchwise.data.dask_passes import computed, map_chunks, pass_over, reduce_chunks

from .test_dask import X, divided

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")


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
