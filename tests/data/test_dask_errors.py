"""Failures of chunks and of schedulers, in words."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from branchwise.data.dask import chunk_starts
from branchwise.data.dask_errors import (
    ChunkError,
    check_rows,
    chunk_label,
    failed_chunk,
    failures_in_words,
    is_connection_lost,
)
from branchwise.data.dask_passes import computed, reduce_chunks

from .test_dask import X, divided
from .test_dask_passes import column_sums

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")


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


# Schedulers


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
