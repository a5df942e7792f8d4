"""Dask arrays as they come in: what they are, and their chunks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from branchwise.data.dask import as_chunks, chunk_starts, current_client, is_dask

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

X = np.arange(60.0).reshape(20, 3)


def divided(cuts, values=X):
    """Chunks between these rows; some may be empty."""
    sizes = tuple(np.diff([0, *sorted(cuts), len(values)]).tolist())
    return da.from_array(values, chunks=values.shape).rechunk((sizes, values.shape[1]))


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
    with pytest.raises(
        TypeError, match=r"X has columns that are not numbers \('cell'\); drop them"
    ):
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


# Older versions of Dask say so to whoever asks.
@pytest.mark.filterwarnings("ignore:Running on a single-machine scheduler:UserWarning")
def test_the_client_is_the_one_that_dask_would_use(client):
    assert current_client() is None
    with client.as_current():
        assert current_client() is client
        with dask.config.set(scheduler="threads"):
            assert current_client() is None
    assert current_client() is None
