"""Files from strangers: each kind of damage has its sentence, before anything is read from it."""

import io
import json
import pickle
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from branchwise.persistence.format import ModelFileError, read_state, write_state


def contents(**changes):
    state = {"a": {"$array": "000-a.npy"}}
    return json.dumps(
        {
            "format": "branchwise model",
            "version": 1,
            "branchwise": "0.1.0",
            "state": state,
            **changes,
        }
    )


def npy(array, **options):
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def header(shape, descr="<f8", rest=b""):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + rest


def archive(*members, **options):
    """A zip file with these members, and a contents.json that refers to one array."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **options) as target:
        for name, data in members:
            target.writestr(name, data)
    return file.getvalue()


def with_array(data, **options):
    return archive(("contents.json", contents()), ("000-a.npy", data), **options)


def with_state(state, *members):
    return archive(("contents.json", contents(state=state)), *members)


GOOD = npy(np.arange(3.0))
WHOLE = with_array(GOOD)


def patched(place, value):
    return WHOLE[:place] + value + WHOLE[place + len(value) :]


def in_directory(name, offset, value):
    """Change a field of a member's entry in the zip file's directory, which stands at the end."""
    return patched(WHOLE.rindex(name) - 46 + offset, value)


def csr(**changes):
    parts = {"data": np.ones(2), "indices": np.arange(2), "indptr": np.array([0, 1, 2]), **changes}
    shape = parts.pop("shape", [2, 2])
    names = {name: f"{number:03d}-{name}.npy" for number, name in enumerate(parts)}
    state = {"$csr": {"shape": shape, **{name: {"$array": names[name]} for name in parts}}}
    return with_state({"g": state}, *((names[name], npy(parts[name])) for name in parts))


class Trap:
    def __reduce__(self):
        return pytest.fail, ("something of the file was executed",)


HOSTILE = {
    "empty": (b"", "is not a model file; pass a file that `save` wrote"),
    "text": (b"a,b\n1,2\n", "is not a model file; pass"),
    "pickle": (pickle.dumps(Trap()), "is not a model file; pass"),
    "only the start": (WHOLE[:40], r"is damaged \(File is not a zip file\); save the model again"),
    "cut off": (WHOLE[:-30], "is damaged"),
    "bad checksum": (patched(WHOLE.index(GOOD) + 130, b"\x07"), r"is damaged \(Bad CRC-32 for"),
    "other npz": (archive(("a.npy", GOOD)), "has a member of the strange name 'a.npy'"),
    "no contents": (archive(("000-a.npy", GOOD)), "lacks contents.json; pass a file"),
    "absolute path": (
        archive(("contents.json", contents()), ("/etc/000-a.npy", GOOD)),
        "has a member of the strange name '/etc/000-a.npy'",
    ),
    "path upwards": (
        archive(("contents.json", contents()), ("../000-a.npy", GOOD)),
        "has a member of the strange name",
    ),
    "backslash": (
        archive(("contents.json", contents()), ("..\\000-a.npy", GOOD)),
        "has a member of the strange name",
    ),
    "name with a zero": (
        WHOLE.replace(b"000-a.npy", b"000-a.np\x00"),
        "has a member of the strange name",
    ),
    "twice": (
        archive(("contents.json", contents()), ("000-a.npy", GOOD), ("000-b.npy", GOOD)).replace(
            b"000-b.npy", b"000-a.npy"
        ),
        "has two members named '000-a.npy'",
    ),
    "nobody's": (
        archive(("contents.json", contents()), ("000-a.npy", GOOD), ("001-b.npy", GOOD)),
        "has the array '001-b.npy' that nothing refers to",
    ),
    "missing array": (archive(("contents.json", contents())), "lacks the array '000-a.npy'"),
    "used twice": (
        with_state(
            {"a": {"$array": "000-a.npy"}, "b": {"$array": "000-a.npy"}}, ("000-a.npy", GOOD)
        ),
        "lacks the array '000-a.npy', or refers to it twice",
    ),
    "encrypted": (in_directory(b"000-a.npy", 8, b"\x01"), "has the encrypted member '000-a.npy'"),
    "compressed": (
        with_array(npy(np.zeros(100_000)), compression=zipfile.ZIP_DEFLATED),
        "has the compressed member 'contents.json'",
    ),
    "absurd size": (
        in_directory(b"000-a.npy", 20, struct.pack("<II", 2**31, 2**31)),
        r"claims to hold 2,147,\d+,\d+ bytes but has \d+",
    ),
    "pickled array": (
        with_array(npy(np.array([Trap()], dtype=object), allow_pickle=True)),
        "has the member '000-a.npy', which is not an array of numbers",
    ),
    "pickle as a member": (with_array(pickle.dumps(Trap())), "'000-a.npy', which is not an array"),
    "records": (with_array(npy(np.zeros(2, "i4,f8"))), "which is not an array of numbers"),
    "dates": (with_array(npy(np.zeros(2, "M8[s]"))), "which is not an array of numbers"),
    "long double": (with_array(header("(1,)", "<f16", bytes(16))), "has the unknown type f16"),
    "no characters": (with_array(header("(1,)", "<U0")), "has the unknown type U0"),
    "source code": (with_array(header("__import__('os').getpid()")), "which is not an array"),
    "negative shape": (with_array(header("(-1, -8)", rest=bytes(64))), "which is not an array"),
    "many dimensions": (
        with_array(header("(" + "1, " * 33 + "1)", rest=bytes(8))),
        "is not an array",
    ),
    "absurd shape": (
        with_array(header("(1000000000000,)")),
        "takes 8000000000000 bytes, but holds 0",
    ),
    "overflow": (
        with_array(header("(4294967296, 4294967296, 4294967296)")),
        "has the absurd shape",
    ),
    "nothing of absurd shape": (
        with_array(header("(0, 4294967296, 4294967296, 4294967296)")),
        "has the absurd shape",
    ),
    "shape too small": (with_array(header("(1,)", rest=bytes(16))), "takes 8 bytes, but holds 16"),
    "no text": (
        with_array(header("(1,)", "<U1", b"\xff\xff\xff\xff")),
        "holds text that is not Unicode",
    ),
    "maybe": (with_array(header("(1,)", "|b1", b"\x02")), "neither true nor false"),
    "no JSON": (archive(("contents.json", "{")), r"is damaged \(Expecting property name"),
    "not ASCII": (archive(("contents.json", b'{"\xff": 1}')), r"is damaged \('ascii' codec"),
    "nested": (archive(("contents.json", "[" * 100_000)), r"is damaged \(maximum recursion"),
    "long": (
        archive(("contents.json", " " * (2**25 + 1))),
        "has 33,554,433 bytes of contents.json",
    ),
    "digits": (with_state({"a": int("9" * 30)}), "has the number 9{20}… in contents.json"),
    "more digits": (
        archive(("contents.json", '{"a": ' + "9" * 5000 + "}")),
        "is damaged|has the number",
    ),
    "NaN": (archive(("contents.json", '{"a": NaN}')), "has the number NaN in contents.json"),
    "key twice": (archive(("contents.json", '{"a": 1, "a": 2}')), "has an entry twice"),
    "list": (archive(("contents.json", "[1]")), "is a file of another program"),
    "other format": (archive(("contents.json", contents(format="x"))), "is a file of another"),
    "no version": (
        archive(("contents.json", contents(version=True))),
        "version True, which is none",
    ),
    "later version": (
        archive(("contents.json", contents(version=7, branchwise="9.0", more=1))),
        "has format version 7, written by branchwise 9.0, but branchwise .* reads .* up to 1; "
        "upgrade",
    ),
    "other entries": (archive(("contents.json", contents(more=1))), "has other entries"),
    "no state": (with_state([1]), "holds no state"),
    "unknown tag": (with_state({"a": {"$pickle": "x"}}), r"has the unknown entry '\$pickle'"),
    "two tags": (with_state({"a": {"$float": "nan", "b": 1}}), r"has the unknown entry '\$float'"),
    "strange float": (with_state({"a": {"$float": "1"}}), r"has the unknown entry '\$float'"),
    "sparse without parts": (with_state({"a": {"$csr": {}}}), "that lacks a part"),
    "sparse shape": (csr(shape=[2, -1]), "a sparse matrix without a shape"),
    "sparse numbers": (csr(data=np.array(["a", "b"])), "whose data are not a vector of numbers"),
    "sparse floats": (csr(indices=np.ones(2)), "whose indices are not a vector of numbers"),
    "sparse beyond": (csr(indices=np.array([0, 2])), "whose indices do not fit its shape"),
    "sparse negative": (csr(indices=np.array([0, -1])), "whose indices do not fit its shape"),
    "sparse pointers": (csr(indptr=np.array([0, 5, 2])), "whose indices do not fit its shape"),
    "sparse end": (csr(indptr=np.array([0, 1, 9])), "whose indices do not fit its shape"),
}


def test_the_sound_file_is_read(tmp_path):
    (tmp_path / "model").write_bytes(WHOLE)
    assert read_state(tmp_path / "model")["a"].tolist() == [0, 1, 2]
    (tmp_path / "model").write_bytes(csr())
    assert read_state(tmp_path / "model")["g"].toarray().tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_one_sentence(tmp_path, name):
    data, message = HOSTILE[name]
    path = tmp_path / "stranger.branchwise"
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=f"stranger.branchwise.*({message})") as info:
        read_state(path)
    assert str(info.value).endswith(".")
    assert "\n" not in str(info.value)


@pytest.mark.parametrize("shape", ["(1000000000000,)", "(100000000,)"])
def test_no_memory_is_taken_for_a_claim(tmp_path, shape):
    (tmp_path / "model").write_bytes(with_array(header(shape)))
    tracemalloc.start()
    with pytest.raises(ModelFileError, match="bytes, but holds 0"):
        read_state(tmp_path / "model")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


def test_a_folder_and_a_missing_file_are_named(tmp_path):
    with pytest.raises(ModelFileError, match=r"is not a file; pass a file that `save` wrote"):
        read_state(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"away\.branchwise"):
        read_state(tmp_path / "away.branchwise")


def test_a_file_larger_than_the_memory_is_refused(tmp_path, monkeypatch):
    write_state(tmp_path / "model", {"a": np.zeros(10)})
    monkeypatch.setattr("branchwise._memory.available_bytes", lambda: 100)
    with pytest.raises(MemoryError, match=r"Reading .*model needs about"):
        read_state(tmp_path / "model")
