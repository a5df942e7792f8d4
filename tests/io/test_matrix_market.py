"""Matrix Market, with and without the names of 10x Genomics."""

import gzip

import numpy as np
import pytest
from scipy import sparse
from scipy.io import mmwrite

from branchwise.io import InputError, read_table

COUNTS = np.array([[1, 0, 2, 0], [0, 3, 0, 0], [4, 0, 0, 5]])  # three genes, four cells
BARCODES = "AAA-1\nCCC-1\nGGG-1\nTTT-1\n"
FEATURES = "ENSG1\tGATA1\tGene Expression\nENSG2\tSPI1\tGene Expression\nENSG3\tGATA1\tOther\n"


def write(folder, *, prefix="", packed=False, features="features", matrix=COUNTS):
    """A folder as cellranger writes it."""
    folder.mkdir(exist_ok=True)
    mmwrite(folder / "matrix.mtx", sparse.coo_array(matrix))
    content = (folder / "matrix.mtx").read_bytes()
    (folder / "matrix.mtx").unlink()
    files = {"matrix.mtx": content, "barcodes.tsv": BARCODES.encode()}
    files[f"{features}.tsv"] = FEATURES.encode()
    for name, data in files.items():
        path = folder / f"{prefix}{name}{'.gz' * packed}"
        path.write_bytes(gzip.compress(data) if packed else data)
    return folder


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
@pytest.mark.parametrize("features", ["features", "genes"])
def test_folders_of_10x_are_transposed(tmp_path, packed, features):
    table = read_table(write(tmp_path / "10x", packed=packed, features=features))
    assert table.X.format == "csr"
    assert table.X.dtype == np.float64
    np.testing.assert_array_equal(table.X.toarray(), COUNTS.T)
    assert table.samples == BARCODES.split()
    assert table.features == ["GATA1", "SPI1", "GATA1-1"]


def test_prefixed_files_as_in_public_archives(tmp_path):
    folder = write(tmp_path / "geo", prefix="GSM1_", packed=True)
    write(folder, prefix="GSM2_", packed=True)
    table = read_table(folder / "GSM2_matrix.mtx.gz")
    np.testing.assert_array_equal(table.X.toarray(), COUNTS.T)
    with pytest.raises(InputError, match=r"has 2 matrices \('GSM1_matrix.mtx.gz', .* pass one"):
        read_table(folder)


def test_cells_by_genes_are_taken_as_they_are(tmp_path):
    table = read_table(write(tmp_path / "other", matrix=COUNTS.T))
    np.testing.assert_array_equal(table.X.toarray(), COUNTS.T)


def test_a_lone_matrix_is_samples_by_features(tmp_path):
    mmwrite(tmp_path / "a.mtx", sparse.coo_array(COUNTS))
    table = read_table(tmp_path / "a.mtx")
    np.testing.assert_array_equal(table.X.toarray(), COUNTS)
    assert (table.samples, table.features) == (["0", "1", "2"], ["0", "1", "2", "3"])


def test_dense_matrices_are_read_too(tmp_path):
    mmwrite(tmp_path / "a.mtx", COUNTS / 2)
    np.testing.assert_array_equal(read_table(tmp_path / "a.mtx").X, COUNTS / 2)


def test_excluded_genes_become_annotations(tmp_path):
    table = read_table(write(tmp_path / "10x"), exclude=["SPI1"])
    assert table.features == ["GATA1", "GATA1-1"]
    assert table.annotations["SPI1"].tolist() == [0, 3, 0, 0]


def test_files_that_do_not_belong_together(tmp_path):
    folder = write(tmp_path / "10x")
    (folder / "barcodes.tsv").write_text("AAA-1\n")
    with pytest.raises(InputError, match=r"shape \(3, 4\), but barcodes.tsv names 1 cells and"):
        read_table(folder)
    (folder / "barcodes.tsv").unlink()
    with pytest.raises(FileNotFoundError, match=r"has features.tsv beside it, but no barcodes.tsv"):
        read_table(folder)


def test_a_folder_of_something_else(tmp_path):
    with pytest.raises(InputError, match=r"is a folder without a .mtx or .parquet file"):
        read_table(tmp_path)


HEADER = "%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read as Matrix Market"),
        ("a,b\n1,2\n", "cannot be read as Matrix Market"),
        (HEADER + "2 2 2\n1 1 5\n", "cannot be read as Matrix Market"),
        (HEADER + "2 2 1\n9 1 5\n", "cannot be read as Matrix Market"),
        (HEADER + "2 2 1\n1 1 x\n", "cannot be read as Matrix Market"),
        (HEADER + f"{10**15} 2 1\n1 1 5\n", "the header of .* declares a shape"),
        (HEADER + f"2 2 {10**15}\n1 1 5\n", "the header of .* declares a shape"),
        (HEADER.replace("coordinate", "array") + f"{10**9} {10**9}\n1\n", "the header of .* decl"),
        (HEADER.replace("real", "complex") + "2 2 1\n1 1 5 1\n", "it holds complex numbers"),
    ],
    ids=["empty", "csv", "short", "outside", "word", "rows", "entries", "array", "complex"],
)
def test_broken_and_hostile_matrices_get_one_sentence(tmp_path, text, message):
    (tmp_path / "a.mtx").write_text(text)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / "a.mtx")


def test_packed_files_cut_short_get_one_sentence(tmp_path):
    folder = write(tmp_path / "10x", packed=True)
    content = (folder / "matrix.mtx.gz").read_bytes()
    (folder / "matrix.mtx.gz").write_bytes(content[:-12])
    with pytest.raises(InputError, match="cannot be read as Matrix Market"):
        read_table(folder)
    (folder / "matrix.mtx.gz").write_bytes(content)
    (folder / "barcodes.tsv.gz").write_bytes(b"AAA")
    with pytest.raises(InputError, match=r"barcodes.tsv.gz cannot be read"):
        read_table(folder)
