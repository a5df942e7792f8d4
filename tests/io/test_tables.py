"""What holds for tables of every format."""

import hashlib
import re
import sys

import anndata
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.io import mmwrite

from branchwise.data.gaps import missing_by_column, missing_message
from branchwise.io import InputError, Table, file_hash, read_table

NAMES = st.text("abcdefgh _.", min_size=1, max_size=8).map(str.strip).filter(bool)
# Words that cannot be mistaken for numbers or missing values.
WORDS = st.text("abcxyzäß ,;\"'", max_size=6).map(lambda text: f"w{text}w")


@st.composite
def tables(draw):
    """Numbers with gaps, one column of words, and names."""
    n, p = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    numbers = st.floats(allow_infinity=False, allow_nan=True, width=64)
    X = draw(arrays(np.float64, (n, p), elements=numbers))
    names = draw(st.lists(NAMES, min_size=p + 1, max_size=p + 1, unique=True))
    samples = draw(st.lists(WORDS, min_size=n, max_size=n, unique=True))
    words = draw(st.lists(WORDS, min_size=n, max_size=n))
    return X, names[:p], names[p], samples, words


def to_text(separator):
    def write(frame, path):
        frame.to_csv(path, sep=separator)

    return write


def to_npz(frame, path):
    *features, word = frame.columns
    np.savez(
        path,
        X=frame[features].to_numpy(),
        features=np.array(features),
        samples=np.array(frame.index, dtype=str),
        **{word: frame[word].to_numpy(dtype=str)},
    )


WRITERS = {
    "a.csv": to_text(","),
    "a.csv.gz": to_text(","),
    "a.tsv": to_text("\t"),
    "a.txt.gz": to_text("\t"),
    "semicolons.csv": to_text(";"),
    "a.parquet": lambda frame, path: frame.to_parquet(path),
    "a.npz": to_npz,
}


@pytest.mark.parametrize("name", WRITERS)
@given(table=tables())
def test_what_is_written_is_read_again(tmp_path_factory, name, table):
    X, features, word, samples, words = table
    frame = pd.DataFrame(X, columns=features, index=samples).assign(**{word: words})
    path = tmp_path_factory.mktemp("table") / name
    WRITERS[name](frame, path)
    result = read_table(path)
    np.testing.assert_array_equal(result.X, X)
    assert (result.features, result.samples) == (features, samples)
    assert result.annotations[word].tolist() == words
    assert result.annotations.index.tolist() == samples
    assert result.source == str(path)


def test_unknown_formats_are_told_the_known_ones(tmp_path):
    (tmp_path / "a.ods").touch()
    with pytest.raises(InputError, match=r"must end in .csv, .tsv, .*\.h5ad, .zarr, or be a fold"):
        read_table(tmp_path / "a.ods")


def test_a_path_to_nothing(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none.csv does not exist; check its name"):
        read_table(tmp_path / "none.csv")


def table_of(X):
    features = [f"f{j}" for j in range(X.shape[1])]
    return Table(X, features, [str(i) for i in range(X.shape[0])], None, "a.csv")


def test_missing_values_are_counted_most_first():
    X = np.ones((4, 3))
    X[:3, 2], X[0, 0] = np.nan, np.nan
    assert missing_by_column(table_of(X)) == {"f2": 3, "f0": 1}
    assert list(missing_by_column(table_of(X))) == ["f2", "f0"]
    assert missing_by_column(table_of(sparse.csr_array(X))) == {"f2": 3, "f0": 1}
    assert missing_by_column(table_of(np.ones((2, 2)))) == {}


def test_the_message_on_missing_values_groups_many_columns_and_has_the_callers_remedy():
    missing = missing_by_column(table_of(np.full((2, 13), np.nan)))
    assert missing_message(missing, 2, "a.csv", "pass impute='median'") == (
        "a.csv has 26 missing values in 13 columns: 13 columns 2 of 2 each ('f0', 'f1', 'f2' and "
        "10 more); pass impute='median'."
    )
    many = {f"f{j}": 50 - j for j in range(13)}
    message = missing_message(many, 99, "a.csv", "x")
    assert "'f0' 50 of 99, 'f1' 49 of 99, " in message
    assert message.endswith("'f9' 41 of 99, and 3 more columns; x.")
    assert missing_message({"f0": 1}, 2, "a.csv", "x") == (
        "a.csv has 1 missing value in 1 column: 'f0' 1 of 2; x."
    )


def test_hash_of_a_file_is_that_of_its_content(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"x,y\n")
    assert file_hash(tmp_path / "a.csv") == hashlib.sha256(b"x,y\n").hexdigest()


def test_hash_of_a_folder_depends_on_names_and_contents_only(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    for folder, order in ((one, ["b/c", "a"]), (other, ["a", "b/c"])):
        (folder / "b").mkdir(parents=True)
        for name in order:
            (folder / name).write_text(name)
    assert file_hash(one) == file_hash(other)
    (other / "a").rename(other / "d")
    assert file_hash(one) != file_hash(other)
    (other / "d").rename(other / "a")
    (other / "a").write_text("b")
    assert file_hash(one) != file_hash(other)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        file_hash(tmp_path / "none")


@pytest.mark.parametrize(
    ("library", "name", "message"),
    [
        (
            "pandas",
            "a.csv",
            "reading a table needs pandas; run: pip install '.[cli]' in a clone of branchwise",
        ),
        (
            "pyarrow",
            "a.parquet",
            "reading Parquet needs pyarrow; run: pip install '.[cli]' in a clone of branchwise",
        ),
        (
            "h5py",
            "a.h5ad",
            "reading .h5ad needs h5py; run: pip install '.[anndata]' in a clone of branchwise",
        ),
        (
            "zarr",
            "a.zarr",
            "reading .zarr needs zarr; run: pip install '.[anndata]' in a clone of branchwise",
        ),
    ],
    ids=["pandas", "pyarrow", "h5py", "zarr"],
)
def test_a_library_that_is_not_there_is_named(tmp_path, monkeypatch, library, name, message):
    path = tmp_path / name
    if name == "a.zarr":
        path.mkdir()
    else:
        path.touch()
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=re.escape(message)):
        read_table(path)


def to_cells(frame, path):
    (path.parent / "barcodes.tsv").write_text("\n".join(frame.index))
    (path.parent / "features.tsv").write_text("\n".join(frame.columns))
    mmwrite(path, sparse.coo_array(frame.to_numpy().T))


def to_numbers(frame, path):
    samples = np.array(frame.index, dtype=str)
    features = np.array(frame.columns, dtype=str)
    np.savez(path, X=frame.to_numpy(), features=features, samples=samples)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.csv", to_text(",")),
        ("a.parquet", lambda frame, path: frame.to_parquet(path)),
        ("a.npz", to_numbers),
        ("matrix.mtx", to_cells),
        ("a.h5ad", lambda frame, path: anndata.AnnData(frame).write_h5ad(path)),
    ],
    ids=["csv", "parquet", "npz", "mtx", "h5ad"],
)
def test_features_of_an_earlier_table_are_the_only_ones_in_every_format(tmp_path, name, write):
    frame = pd.DataFrame(np.eye(4), index=[*"pqrs"], columns=[*"dcba"])
    frame.loc["p", "c"] = np.nan
    write(frame, tmp_path / name)
    table = read_table(tmp_path / name, features=["a", "d"], exclude=["b"])
    assert table.features == ["d", "a"]
    X = table.X.toarray() if sparse.issparse(table.X) else table.X
    np.testing.assert_array_equal(X, frame[["d", "a"]])
    assert table.annotations["b"].tolist() == frame["b"].tolist()
    assert missing_by_column(table) == {}
    with pytest.raises(InputError, match="lacks 1 of 2 features as columns of numbers: 'z'; add"):
        read_table(tmp_path / name, features=["a", "z"])
