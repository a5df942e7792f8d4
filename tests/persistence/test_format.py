"""What is written is read again, and equal states are equal files."""

import hashlib
import io
import json
import re
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from branchwise.persistence.format import (
    ModelFileError,
    npy_header,
    portable,
    read_state,
    write_state,
)

STATE = {
    "kind": "test",
    "numbers": [1, -2.5, True, None, "Zweig é", [float("nan"), float("-inf")]],
    "nothing": {},
    "inner": {
        "rows": np.arange(6.0).reshape(2, 3),
        "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "text": np.array(["é", "long"]),
        "scalar": np.array(3, dtype=np.int16),
        "empty": np.zeros((0, 4), dtype=np.float32),
        "flags": np.array([True, False]),
        "graph": sparse.csr_array(np.array([[0.0, 2.0], [2.0, 0.0]])),
    },
}

dtypes = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.floating_dtypes(sizes=(16, 32, 64), endianness="?"),
    hnp.unicode_string_dtypes(endianness="?", max_len=4),
)
arrays = dtypes.flatmap(lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, min_side=0)))
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(),
    st.lists,
    max_leaves=5,
)
keys = st.text(max_size=5).filter(lambda key: not key.startswith("$"))
states = st.recursive(
    st.dictionaries(keys, plain | arrays, max_size=4),
    lambda inner: st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)


def equal(a, b):
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, list):
        same = isinstance(b, list) and len(a) == len(b)
        return same and all(equal(x, y) for x, y in zip(a, b, strict=True))
    if sparse.issparse(a):
        return sparse.issparse(b) and a.shape == b.shape and equal(a.toarray(), b.toarray())
    if isinstance(a, np.ndarray):
        same = isinstance(b, np.ndarray) and a.shape == b.shape
        return same and a.astype(b.dtype.newbyteorder("=")).tobytes() == b.tobytes()
    return type(a) is type(b) and (a == b or (a != a and b != b))


@given(state=states)
def test_random_states_come_back(state, tmp_path_factory):
    path = tmp_path_factory.mktemp("states") / "state"
    write_state(path, state)
    assert equal(state, read_state(path))


def test_types_layouts_and_values_come_back(tmp_path):
    write_state(tmp_path / "state", STATE)
    again = read_state(tmp_path / "state")
    assert equal(STATE, again)
    for name, array in STATE["inner"].items():
        assert type(again["inner"][name]) is type(array)
        assert again["inner"][name].dtype == array.dtype
    assert again["inner"]["columns"].flags.f_contiguous
    assert all(again["inner"][name].flags.writeable for name in ("rows", "scalar"))


def test_equal_states_are_equal_files_on_any_day_and_machine(tmp_path, monkeypatch):
    """The digest was written down once: another date, library or platform changes no byte."""
    monkeypatch.setattr("branchwise.persistence.format.__version__", "0")
    state = {"a": np.arange(3, dtype=np.int32), "b": [1.5, "é"], "c": np.zeros((2, 0), order="F")}
    write_state(tmp_path / "one", state)
    swapped = {**state, "a": state["a"].astype(">i4")}
    write_state(tmp_path / "two", swapped)
    one = (tmp_path / "one").read_bytes()
    assert one == (tmp_path / "two").read_bytes()
    assert hashlib.sha256(one).hexdigest()[:16] == "2a1353f864f6e799"


def test_numpy_reads_the_arrays(tmp_path):
    write_state(tmp_path / "state.npz", STATE)
    with np.load(tmp_path / "state.npz", allow_pickle=False) as read:
        assert equal(STATE["inner"]["columns"], read["001-columns"])
        assert equal(STATE["inner"]["text"], read["002-text"])


@pytest.mark.parametrize("order", ["<", ">"])
def test_arrays_that_numpy_wrote_are_read(tmp_path, order):
    contents = {"format": "branchwise model", "version": 1, "branchwise": "0", "state": {"a": None}}
    contents["state"]["a"] = {"$array": "000-a.npy"}
    member = io.BytesIO()
    np.save(member, np.arange(4.0).astype(f"{order}f8"))
    with zipfile.ZipFile(tmp_path / "state", "w") as archive:
        archive.writestr("contents.json", json.dumps(contents))
        archive.writestr("000-a.npy", member.getvalue())
    assert equal(read_state(tmp_path / "state"), {"a": np.arange(4.0)})


@given(array=arrays)
def test_headers_are_numpys(array):
    array = portable(array)
    header = io.BytesIO(npy_header(array))
    assert np.lib.format.read_magic(header) == (1, 0)
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(header)
    assert (shape, by_columns, dtype) == (array.shape, not array.flags.c_contiguous, array.dtype)
    assert len(npy_header(array)) % 64 == 0


def test_numpy_scalars_become_plain_numbers(tmp_path):
    write_state(tmp_path / "s", {"a": np.float32(0.5), "b": np.int8(3), "c": [np.bool_(True)]})
    assert equal(read_state(tmp_path / "s"), {"a": 0.5, "b": 3, "c": [True]})


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"a": {"b": object()}}, r"a/b is of type object, which a model file cannot keep"),
        ({"a": np.array([{}])}, r"a is an array of type object cannot be kept.*convert it"),
        ({"a": np.zeros(2, "M8[s]")}, r"a is an array of type datetime64\[s\]"),
        ({"a": np.zeros(2, "i4,f8")}, r"a is an array of type"),
        ({"a": [np.zeros(2)]}, r"a is of type ndarray"),
        ({"a": 2**64}, r"a is of type int, which"),
        ({"a": (1, 2)}, r"a is of type tuple"),
        ({1: 2}, r"has the key 1, but keys must be strings"),
        ({"$csr": 2}, r"has the key '\$csr', but keys must be strings without a leading \$"),
        ({"a": ["x" * 2**25]}, r"take 33,554,\d+ bytes but may take 33,554,432; keep long lists"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "state",
)
def test_what_cannot_be_kept_is_named_and_nothing_is_written(tmp_path, state, message):
    with pytest.raises((TypeError, ValueError), match=message):
        write_state(tmp_path / "state", state)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "state"
    write_state(path, {"a": np.zeros(2)})

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("branchwise.persistence.format.write_npy", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_state(path, {"a": np.ones(2)})
    monkeypatch.undo()
    assert equal(read_state(path), {"a": np.zeros(2)})
    assert list(tmp_path.iterdir()) == [path]


@settings(max_examples=300)
@given(data=st.data())
def test_a_damaged_file_loads_equal_or_is_refused(data, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "whole.state"
    if not path.exists():
        write_state(path, STATE)
    whole = bytearray(path.read_bytes())
    where = st.integers(0, len(whole) - 1)
    for place, value in data.draw(st.lists(st.tuples(where, st.integers(0, 255)), max_size=3)):
        whole[place] = value
    length = data.draw(st.just(len(whole)) | where)
    damaged = path.with_suffix(".damaged")
    damaged.write_bytes(bytes(whole[:length]))
    if not whole_or_refused(damaged):
        with pytest.raises(ModelFileError, match=rf"{re.escape(str(damaged))} .*; .*\."):
            read_state(damaged)


@pytest.mark.parametrize("size", [20, 2000])
def test_bytes_of_a_damaged_file_are_not_told(size, tmp_path):
    """Headers of zip files name their members, and errors the bytes that stand in their place."""
    path = tmp_path / "bad.branchwise"
    write_state(path, {"a": np.zeros(2)})
    whole = path.read_bytes()
    name = (b"\x1b[2J\x00\x07" * size)[: len("contents.json")]
    at = whole.index(b"contents.json")
    path.write_bytes(whole[:at] + name + whole[at + len(name) :])
    # A longer name than there was reaches into what follows.
    if size > 100:
        length = (600).to_bytes(2, "little")
        again = bytearray(path.read_bytes())
        again[26:28] = length
        path.write_bytes(bytes(again))
    with pytest.raises(ModelFileError, match="is damaged") as error:
        read_state(path)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < len(str(path)) + 300


def whole_or_refused(path):
    try:
        again = read_state(path)
    except ModelFileError:
        return False
    assert equal(STATE, again)
    return True
