import base64
import json
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from branchwise.report import read_report
from branchwise.report.encoding import MARK, TYPES, decode, encode

ARRAYS = st.sampled_from(sorted(TYPES)).flatmap(
    lambda name: npst.arrays(TYPES[name], npst.array_shapes(max_dims=2, min_side=0, max_side=9))
)
# Text of any kind, also halves of surrogate pairs.
TEXTS = st.text(st.characters(), max_size=9)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
    ARRAYS,
)
STATES = st.dictionaries(
    TEXTS.filter(lambda key: key != MARK),
    st.recursive(
        LEAVES,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.dictionaries(TEXTS.filter(lambda key: key != MARK), inner, max_size=4),
        ),
        max_leaves=12,
    ),
    max_size=5,
)


def assert_same(found, expected):
    if isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected.ravel())
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        for key, value in expected.items():
            assert_same(found[key], value)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    else:
        assert found == expected
        assert type(found) is type(expected)


@given(STATES)
def test_there_and_back(state):
    text = encode(state)
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
    assert_same(decode(text), state)
    assert encode(state) == text


def blob_of(text):
    blob = zlib.decompress(base64.b64decode(text))
    size = int.from_bytes(blob[:4], "little")
    return json.loads(blob[4 : 4 + size]), blob[4 + size + -(4 + size) % 8 :]


def test_bytes_are_as_a_browser_reads_them():
    """Header, padding, planes of bytes: spelt out once."""
    state = {"a": np.array([1, 258], dtype=np.uint16), "b": np.array([[1.5], [2.5]])}
    header, data = blob_of(encode(state))
    assert header == {
        "state": {"a": {"$array": 0}, "b": {"$array": 1}},
        "arrays": [["u2", 0, 2], ["f8", 8, 2]],
    }
    assert data[:8] == bytes([1, 2, 0, 1, 0, 0, 0, 0])
    planes = np.frombuffer(data[8:], np.uint8).reshape(8, 2)
    assert planes.T.tobytes() == np.array([1.5, 2.5]).tobytes()


def test_numbers_that_json_lacks_are_null_and_stay_in_arrays():
    state = {
        "gap": np.nan,
        "limit": -np.inf,
        "n": np.int64(3),
        "values": np.array([np.nan, np.inf]),
    }
    found = decode(encode(state))
    assert found["gap"] is None
    assert found["limit"] is None
    assert found["n"] == 3
    np.testing.assert_array_equal(found["values"], [np.nan, np.inf])


def test_equal_arrays_are_kept_once():
    one, other = np.arange(5.0), np.arange(5.0)
    header, _ = blob_of(encode({"a": one, "b": other, "c": other.astype(np.float32)}))
    assert header["state"]["a"] == header["state"]["b"] != header["state"]["c"]
    assert len(header["arrays"]) == 2


def test_arrays_in_other_orders_and_of_other_machines():
    state = {"a": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "b": np.arange(3, dtype=">f8")}
    found = decode(encode(state))
    np.testing.assert_array_equal(found["a"], np.arange(6.0))
    np.testing.assert_array_equal(found["b"], np.arange(3.0))


def test_what_a_page_cannot_hold():
    with pytest.raises(TypeError, match=r"state\.a\.b is an array of type int64, but a page holds"):
        encode({"a": {"b": np.arange(3)}})
    with pytest.raises(TypeError, match=r"state\.a\[1\] is a set, but a page holds only text"):
        encode({"a": [1, {2}]})
    with pytest.raises(ValueError, match=r"state\.a has the key '\$array', which stands for"):
        encode({"a": {"$array": 0}})


def packed(blob):
    return base64.b64encode(zlib.compress(blob)).decode()


def headed(header, data=b""):
    text = json.dumps(header).encode()
    start = len(text).to_bytes(4, "little") + text
    return packed(start + bytes(-len(start) % 8) + data)


@pytest.mark.parametrize(
    "text",
    [
        "no base64",
        "",
        packed(b""),
        packed(b"\xff\xff\xff\xff{}"),
        headed([]),
        headed({"state": {}}),
        headed({"state": {"$array": 0}, "arrays": []}),
        headed({"state": {}, "arrays": [["f8", 0, 2**40]]}),
        headed({"state": {}, "arrays": [["f8", -8, 1]]}),
        headed({"state": {}, "arrays": [["x9", 0, 0]]}),
        encode({"a": np.arange(9.0)})[:40],
        headed({"state": {}, "arrays": [["u1", 0, 8], ["u1", 0, 8]]}, bytes(8)),
        packed(b"\x40\x0d\x03\x00" + 100_000 * b"[" + 100_000 * b"]"),
    ],
    ids=range(13),
)
def test_other_text_is_refused(text):
    with pytest.raises(ValueError, match="are not as a page of branchwise holds them"):
        decode(text)


def test_the_reason_is_told():
    text = headed({"state": {}, "arrays": [["u1", 0, 8]] * 2}, bytes(8))
    with pytest.raises(ValueError, match=r"\(its arrays are larger than the data\); take a file"):
        decode(text)
    with pytest.raises(ValueError, match="recursion"):
        decode(packed((200_000).to_bytes(4, "little") + 100_000 * b"[" + 100_000 * b"]"))


def test_other_files_are_refused(tmp_path):
    (tmp_path / "other.html").write_text("<html></html>")
    with pytest.raises(
        ValueError, match=r"other\.html is not a page of branchwise: it has no data"
    ):
        read_report(tmp_path / "other.html")
