"""Hostile .zarr folders are refused before a chunk is read."""

import json
import pickle
import warnings
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
import zarr
from scipy import sparse

from branchwise.io import InputError, read_anndata, read_table
from branchwise.io.safety import METADATA

FORMATS = [2] if zarr.__version__.startswith("2.") else [2, 3]


@pytest.fixture(params=FORMATS, ids=lambda version: f"zarr{version}")
def cells(tmp_path, request):
    adata = anndata.AnnData(
        np.arange(12.0).reshape(4, 3),
        obs=pd.DataFrame({"type": pd.Categorical(list("abab"))}, index=list("wxyz")),
        var=pd.DataFrame(index=["g1", "g2", "g3"]),
        uns={"nested": {"value": 1}},
        layers={"counts": sparse.csr_matrix(np.eye(4, 3))},
    )
    path = tmp_path / "cells.zarr"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of writing, which is not what is tested
        if FORMATS == [2]:
            adata.write_zarr(path)
        else:
            with anndata.settings.override(zarr_write_format=request.param):
                adata.write_zarr(path)
    return path


def metadata(folder):
    """The file that describes the array, and what it says."""
    path = folder / (".zarray" if (folder / ".zarray").exists() else "zarr.json")
    return path, json.loads(path.read_text())


class Trap:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def pickle_codec(path, tmp_path):
    """In the way of zarr 2, which older versions of numcodecs obey."""
    folder = path / "uns" / "trap"
    folder.mkdir()
    codec = {"id": "pickle", "protocol": 5}
    document = {
        "zarr_format": 2,
        "shape": [1],
        "chunks": [1],
        "dtype": "|O",
        "fill_value": "",
        "order": "C",
        "filters": [{"id": "vlen-utf8"}, codec],
        "compressor": None,
    }
    (folder / ".zarray").write_text(json.dumps(document))
    (folder / "0").write_bytes(pickle.dumps(Trap(tmp_path / "mark")))
    return r"uns/trap/.zarray in .* asks for the codec 'pickle'"


def codec_as_compressor(path, tmp_path):
    file, document = metadata(path / "X")
    document["compressor"] = {"id": "pickle"}
    document["codecs"] = [{"name": "bytes"}, {"name": "numcodecs.pickle"}]
    file.write_text(json.dumps(document))
    return r"X/.* in .* asks for the codec '(numcodecs\.)?pickle'"


def codec_within_a_codec(path, tmp_path):
    file, document = metadata(path / "X")
    inner = {"codecs": [{"name": "mine"}], "index_codecs": [], "chunk_shape": [4, 3]}
    document["codecs"] = [{"name": "sharding_indexed", "configuration": inner}]
    file.write_text(json.dumps(document))
    return r"X/.* in .* asks for the codec 'mine'"


def link_to_a_file(path, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    chunk = next(p for p in (path / "X").rglob("*") if p.is_file() and p.name in "000.0")
    chunk.unlink()
    chunk.symlink_to(secret)
    return r"X/.* in .* is a symbolic link"


def link_to_a_folder(path, tmp_path):
    (tmp_path / "other").mkdir()
    (path / "uns" / "other").symlink_to(tmp_path / "other", target_is_directory=True)
    return r"uns/other in .* is a symbolic link"


def huge_and_empty(path, tmp_path):
    file, document = metadata(path / "obs" / "type" / "codes")
    document["shape"] = [10**15]
    file.write_text(json.dumps(document))
    return r"obs/type/codes in .* declares a shape of \(1000000000000000,\)"


def huge_chunk(path, tmp_path):
    file, document = metadata(path / "obs" / "type" / "codes")
    if "chunks" in document:
        document["chunks"] = [10**15]
    else:
        document["chunk_grid"]["configuration"]["chunk_shape"] = [10**15]
    file.write_text(json.dumps(document))
    return r"obs/type/codes in .* declares a shape of \(1000000000000000,\)"


def huge_sparse(path, tmp_path):
    folder = path / "layers" / "counts"
    file = folder / (".zattrs" if (folder / ".zattrs").exists() else "zarr.json")
    document = json.loads(file.read_text())
    document.get("attributes", document)["shape"] = [10**15, 3]
    file.write_text(json.dumps(document))
    return r"/layers/counts in .* declares a sparse matrix of shape"


def no_json(path, tmp_path):
    metadata(path / "X")[0].write_text("{")
    return r"X/.* in .* is not valid JSON"


HOSTILE = [
    pickle_codec,
    codec_as_compressor,
    codec_within_a_codec,
    link_to_a_file,
    link_to_a_folder,
    huge_and_empty,
    huge_chunk,
    huge_sparse,
    no_json,
]


@pytest.mark.parametrize("reader", [read_anndata, read_table])
@pytest.mark.parametrize("attack", HOSTILE, ids=lambda attack: attack.__name__)
def test_hostile_folders_are_refused(cells, tmp_path, attack, reader):
    message = attack(cells, tmp_path)
    with pytest.raises(InputError, match=message):
        reader(cells)
    assert not (tmp_path / "mark").exists()


def test_consolidated_metadata_are_not_believed(cells):
    """They are a second account of the arrays, which could contradict the one looked through."""
    for name in (".zmetadata", "zarr.json"):
        file = cells / name
        if file.exists():
            file.write_text(file.read_text().replace('"<f8"', '"<f4"').replace("float64", "int8"))
    np.testing.assert_array_equal(read_table(cells).X, np.arange(12.0).reshape(4, 3))
    np.testing.assert_array_equal(read_anndata(cells).X, np.arange(12.0).reshape(4, 3))


def test_folders_without_their_arrays_get_one_sentence(cells):
    for file in [p for p in (cells / "X").rglob("*") if p.is_file()]:
        file.unlink()
    for file in [p for p in (cells / "obs").rglob("*") if p.is_file()]:
        file.unlink()
    for read in (read_anndata, read_table):
        with pytest.raises(InputError, match="cannot be read as AnnData"):
            read(cells)


def test_chunks_that_cannot_be_unpacked_get_one_sentence(cells):
    for file in (cells / "X").rglob("*"):
        if file.is_file() and file.name not in METADATA:
            file.write_bytes(file.read_bytes()[:5])
    for read in (read_anndata, read_table):
        with pytest.raises(InputError, match="cannot be read as AnnData"):
            read(cells)
