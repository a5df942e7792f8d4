"""Tables from AnnData, in HDF5 and zarr."""

import warnings

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from branchwise.io import InputError, read_anndata, read_table

X = np.arange(12).reshape(4, 3)


def cells(**changes):
    parts = {
        "X": sparse.csc_matrix(X),
        "obs": pd.DataFrame(
            {"type": pd.Categorical(list("abab")), "age": [4, 3, 2, 1], "code": list("jklm")},
            index=list("wxyz"),
        ),
        "var": pd.DataFrame({"chromosome": list("XY1")}, index=["g1", "g2", "g3"]),
        "layers": {"doubled": 2.0 * X},
        "obsm": {
            "X_pca": np.ones((4, 2), dtype="f4"),
            "scores": pd.DataFrame({"s": [1.0, 2, 3, 4]}, index=list("wxyz")),
        },
        "uns": {"nested": {"colours": np.array(["red", "blue"])}},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that are not unique
        return anndata.AnnData(**(parts | changes))


@pytest.fixture(params=[".h5ad", ".zarr"], ids=["h5ad", "zarr"])
def written(tmp_path, request):
    def write(**changes):
        path = tmp_path / f"cells{request.param}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of writing, which is not what is tested
            adata = cells(**changes)
            adata.write_h5ad(path) if path.suffix == ".h5ad" else adata.write_zarr(path)
        return path

    return write


def test_x_obs_and_names(written):
    table = read_table(written())
    assert table.X.format == "csr"
    assert table.X.dtype == np.float64
    np.testing.assert_array_equal(table.X.toarray(), X)
    assert (table.samples, table.features) == (list("wxyz"), ["g1", "g2", "g3"])
    assert list(table.annotations.columns) == ["type", "age", "code"]
    assert table.annotations["type"].cat.categories.tolist() == ["a", "b"]
    assert table.annotations["age"].tolist() == [4, 3, 2, 1]


def test_layers_and_representations(written):
    path = written()
    np.testing.assert_array_equal(read_table(path, layer="doubled").X, 2 * X)
    table = read_table(path, use_rep="X_pca")
    assert table.features == ["X_pca1", "X_pca2"]
    assert table.X.dtype == np.float64
    assert read_table(path, use_rep="scores").features == ["s"]
    np.testing.assert_array_equal(read_table(path, use_rep="X").X.toarray(), X)


def test_names_from_obs_and_excluded_genes(written):
    table = read_table(written(), id="code", exclude=["g2", "age"])
    assert table.samples == list("jklm")
    assert table.features == ["g1", "g3"]
    assert table.annotations.loc["k", "g2"] == 4
    assert sorted(table.annotations.columns) == ["age", "g2", "type"]


def test_repeated_genes_are_numbered_as_scanpy_does(written):
    path = written(var=pd.DataFrame(index=["g", "h", "g"]))
    assert read_table(path).features == ["g", "h", "g-1"]


def test_the_whole_object(written):
    adata = read_anndata(written())
    np.testing.assert_array_equal(adata.X.toarray(), X)
    assert adata.uns["nested"]["colours"].tolist() == ["red", "blue"]
    assert sorted(adata.obsm) == ["X_pca", "scores"]  # a folder has no order


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({}, {"use_rep": "X_pac"}, "has no representation 'X_pac'; did you mean 'X_pca'"),
        ({}, {"layer": "counts"}, "has no layer 'counts'; it has 'doubled'"),
        ({}, {"layer": "doubled", "use_rep": "X_pca"}, "both say what to read; leave one out"),
        ({}, {"id": "cod"}, "has no column 'cod'; did you mean 'code'"),
        ({}, {"exclude": ["g4"]}, "has no column 'g4'; it has 'g1', 'g2', 'g3', 'type'"),
        ({"X": None}, {}, "has no X; read layer 'doubled', use_rep 'X_pca', use_rep 'scores'"),
        ({"X": X + np.inf}, {}, "has infinite values in 'g1', 'g2', 'g3', the first for .* 'w'"),
        (
            {"obs": pd.DataFrame(index=list("wxxz")), "obsm": {}},
            {},
            "samples of .* must be unique, but 'x' is repeated",
        ),
    ],
    ids=["use_rep", "layer", "both", "id", "exclude", "no-x", "infinity", "samples"],
)
def test_what_is_wrong_is_said_in_a_sentence(written, changes, options, message):
    with pytest.raises(InputError, match=message):
        read_table(written(**changes), **options)


def test_what_is_not_needed_is_not_read(tmp_path):
    path = tmp_path / "cells.h5ad"
    cells().write_h5ad(path, compression="gzip")
    with h5py.File(path) as file:
        chunk = file["layers/doubled"].id.get_chunk_info(0)
    content = bytearray(path.read_bytes())
    content[chunk.byte_offset : chunk.byte_offset + chunk.size] = bytes(chunk.size)
    path.write_bytes(content)
    assert read_table(path, use_rep="X_pca").X.shape == (4, 2)
    with pytest.raises(InputError, match="cannot be read as AnnData"):
        read_table(path, layer="doubled")


def test_files_of_before_anndata_07(tmp_path):
    """Data frames were compound datasets, and categories lay in uns."""
    path = tmp_path / "old.h5ad"
    with h5py.File(path, "w") as file:
        file["X"] = X.astype("f4")
        file["obs"] = np.array(
            list(zip([b"w", b"x", b"y", b"z"], [0, 1, 0, 1], strict=True)),
            dtype=[("index", "S1"), ("type", "i1")],
        )
        file["var"] = np.array([(b"g1",), (b"g2",), (b"g3",)], dtype=[("index", "S2")])
        file["uns/type_categories"] = ["a", "b"]
    table = read_table(path)
    np.testing.assert_array_equal(table.X, X)
    assert (table.samples, table.features) == (list("wxyz"), ["g1", "g2", "g3"])
    assert table.annotations["type"].tolist() == ["a", "b", "a", "b"]
    with pytest.raises(InputError, match="has no representation 'X_pca'; it has none"):
        read_table(path, use_rep="X_pca")


def test_other_things_under_the_name(tmp_path):
    (tmp_path / "a.h5ad").mkdir()
    (tmp_path / "b.zarr").write_text("no folder")
    for name in ("a.h5ad", "b.zarr"):
        with pytest.raises(InputError, match="cannot be read as AnnData"):
            read_table(tmp_path / name)
    with h5py.File(tmp_path / "c.h5ad", "w") as file:
        file["x"] = 1
    with pytest.raises(InputError, match="cannot be read as AnnData"):
        read_table(tmp_path / "c.h5ad")


def test_of_a_gene_and_a_column_of_one_name_the_column_is_kept(tmp_path):
    adata = anndata.AnnData(np.eye(3), obs=pd.DataFrame({"age": [70, 60, 50]}, index=list("pqr")))
    adata.var_names = ["age", "b", "c"]
    adata.write_h5ad(tmp_path / "a.h5ad")
    table = read_table(tmp_path / "a.h5ad", exclude=["age"])
    assert table.features == ["b", "c"]
    assert table.annotations["age"].tolist() == [70, 60, 50]
