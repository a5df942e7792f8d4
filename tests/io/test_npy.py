"""NumPy's files."""

import io
import zipfile

import numpy as np
import pytest
from scipy import sparse

from branchwise.io import InputError, read_table

X = np.arange(6.0).reshape(3, 2)


def test_npy_is_named_by_numbers(tmp_path):
    np.save(tmp_path / "a.npy", X.astype("i4"))
    table = read_table(tmp_path / "a.npy")
    np.testing.assert_array_equal(table.X, X)
    assert (table.samples, table.features) == (["0", "1", "2"], ["0", "1"])
    assert table.annotations.shape == (3, 0)
    assert table.X.flags.writeable


def test_npz_with_one_array(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", anything=X)
    np.testing.assert_array_equal(read_table(tmp_path / "a.npz").X, X)


def test_npz_with_names_labels_and_annotations(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(
        path,
        X=X,
        y=np.array(["u", "v", "u"]),
        features=np.array([b"g", b"h"]),
        samples=np.array(["p", "q", "r"]),
        age=np.array([1, 2, 3]),
        edges=np.zeros((2, 2)),
    )
    table = read_table(path, exclude=["h"])
    assert (table.samples, table.features) == (["p", "q", "r"], ["g"])
    assert table.annotations["label"].tolist() == ["u", "v", "u"]
    assert sorted(table.annotations.columns) == ["age", "h", "label"]
    assert table.annotations["h"].tolist() == [1, 3, 5]
    assert read_table(path, id="age").samples == ["1", "2", "3"]


def test_npz_keeps_label_and_y_apart(tmp_path):
    records = np.zeros(3, dtype=[("a", float), ("b", int)])
    np.savez(tmp_path / "a.npz", X=X, y=[1, 2, 3], label=["u", "v", "w"], records=records)
    annotations = read_table(tmp_path / "a.npz").annotations
    assert annotations["y"].tolist() == [1, 2, 3]
    assert annotations["label"].tolist() == ["u", "v", "w"]
    assert "records" not in annotations


def test_npz_with_a_single_number_is_no_table(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.array(5.0))
    with pytest.raises(InputError, match=r"array of shape \(\), but a table has two dimensions"):
        read_table(tmp_path / "a.npz")


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_npz_of_scipy(tmp_path, format):
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_array(X).asformat(format))
    table = read_table(tmp_path / "a.npz")
    assert table.X.format == "csr"
    np.testing.assert_array_equal(table.X.toarray(), X)


def npy(header, values=b""):
    """A file with any header."""
    text = str(header).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + values


HUGE = npy({"descr": "<f8", "fortran_order": False, "shape": (10**15, 2)}, bytes(16))

NEGATIVE = npy({"descr": "<f8", "fortran_order": False, "shape": (-1, 2)}, bytes(16))


def npz(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_npy", ".npy"), content)
    return file.getvalue()


def saved(save, *args, **kwargs):
    file = io.BytesIO()
    save(file, *args, **kwargs)
    return file.getvalue()


def wrong_indices():
    matrix = sparse.csr_array(X)
    matrix.indices[0] = 10**6
    return saved(sparse.save_npz, matrix)


OBJECTS = np.array([{"run": "me"}], dtype=object)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.npy", HUGE, "cannot be read as a NumPy file"),
        ("a.npy", NEGATIVE, "cannot be read as a NumPy file"),
        ("a.npz", npz(X_npy=NEGATIVE), "cannot be read as a NumPy file"),
        ("a.npy", b"", "cannot be read as a NumPy file"),
        ("a.npy", saved(np.save, X)[:-8], "cannot be read as a NumPy file"),
        ("a.npy", saved(np.save, OBJECTS), "pickled Python objects, which could run code"),
        ("a.npy", saved(np.save, np.zeros(3)), r"an array of shape \(3,\), but a table has two"),
        ("a.npy", saved(np.save, np.array([["a"]])), "values of type <U1, which are not real"),
        ("a.npy", saved(np.save, X + np.inf), "has infinite values in '0', '1', the first for"),
        ("a.npz", npz(X_npy=HUGE), r"'X.npy' in .* declares a shape of \(1000000000000000, 2\)"),
        ("a.npz", npz(note="hello"), "holds 'note', which is not an array of NumPy"),
        ("a.npz", npz(X_npy=b"hello"), "cannot be read as a NumPy file"),
        ("a.npz", npz(X_npy=npy("{'descr': (((((")), "cannot be read as a NumPy file"),
        ("a.npz", b"PK no archive", "cannot be read as a NumPy file"),
        ("a.npz", saved(np.savez, X=X)[:-30], "cannot be read as a NumPy file"),
        ("a.npz", saved(np.savez, X=X, y=OBJECTS), "Python objects in 'y.npy', which could run"),
        ("a.npz", saved(np.savez, a=X, b=X), r"holds 2 arrays \(a, b\), but none of the name X"),
        ("a.npz", saved(np.savez, X=X, features=["a"]), "names 1 columns, but its matrix has 2"),
        ("a.npz", saved(np.savez, X=X, samples=["a"]), "names 1 rows, but its matrix has 3"),
        ("a.npz", saved(np.savez, X=X, features=["a", "a"]), "columns of .* must be unique"),
        ("a.npz", saved(np.savez, X=np.zeros((0, 2))), "has no samples"),
        ("a.npz", wrong_indices(), "holds a broken sparse matrix"),
        (
            "a.npz",
            saved(sparse.save_npz, sparse.coo_array(([1.0], ([0], [0])), shape=(10**15, 2))),
            "the sparse matrix in .* declares a shape",
        ),
    ],
    ids=lambda value: "".join(filter(str.isalnum, value)) if isinstance(value, str) else "",
)
def test_broken_and_hostile_files_get_one_sentence(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / name)
