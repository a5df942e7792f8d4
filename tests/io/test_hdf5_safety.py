"""Hostile .h5ad files are refused before a value is read, and the secret stays where it is."""

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from branchwise.io import InputError, read_anndata, read_table

SECRET = 1234567.0


@pytest.fixture
def cells(tmp_path):
    """A small file with a bit of everything."""
    adata = anndata.AnnData(
        np.arange(12.0).reshape(4, 3),
        obs=pd.DataFrame({"type": pd.Categorical(list("abab"))}, index=list("wxyz")),
        var=pd.DataFrame(index=["g1", "g2", "g3"]),
        uns={"nested": {"value": 1}},
        layers={"counts": sparse.csr_matrix(np.eye(4, 3))},
    )
    path = tmp_path / "cells.h5ad"
    adata.write_h5ad(path)
    return path


@pytest.fixture
def secret(tmp_path):
    """A file of the reader's own, in HDF5 and as plain bytes."""
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["X"] = np.full((4, 3), SECRET)
    np.full((4, 3), SECRET).tofile(tmp_path / "secret.bin")
    return tmp_path


def external_link(file, folder):
    del file["X"]
    file["X"] = h5py.ExternalLink(str(folder / "secret.h5"), "/X")
    return "/X in .* is an external link"


def external_link_deep_in_uns(file, folder):
    file["uns/nested/deep/er"] = h5py.ExternalLink("secret.h5", "/")
    return "/uns/nested/deep/er in .* is an external link"


def soft_link_through_an_external_one(file, folder):
    del file["X"]
    file["elsewhere"] = h5py.ExternalLink("secret.h5", "/")
    file["X"] = h5py.SoftLink("/elsewhere/X")
    return "/elsewhere in .* is an external link"


def external_storage(file, folder):
    del file["X"]
    X = file.create_dataset(
        "X", (4, 3), "f8", external=[(str(folder / "secret.bin"), 0, h5py.h5f.UNLIMITED)]
    )
    X.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
    assert X[0, 0] == SECRET  # h5py itself reads the other file without a word
    return "/X in .* keeps its values in another file"


def virtual_dataset(file, folder):
    del file["X"]
    layout = h5py.VirtualLayout((4, 3), "f8")
    layout[:] = h5py.VirtualSource(folder / "secret.h5", "X", (4, 3))
    X = file.create_virtual_dataset("X", layout)
    X.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
    assert X[0, 0] == SECRET
    return "/X in .* is a virtual dataset"


def hidden_behind_a_reference(file, folder):
    """AnnData follows the reference in `categories`, as old versions wrote it."""
    hidden = file.create_group("hidden")
    hidden["itself"] = hidden  # keeps the group alive when its name is gone
    dataset = hidden.create_dataset(
        "categories", (2,), "f8", external=[(str(folder / "secret.bin"), 0, 16)]
    )
    assert dataset[0] == SECRET
    obs = file["obs"]
    obs.attrs["encoding-version"] = "0.1.0"
    del obs["type"]
    obs["type"] = np.array([0, 1, 0, 1], dtype="i1")
    obs["type"].attrs["categories"] = dataset.ref
    del file["hidden"]
    return "/obs/type .by its attribute 'categories'. in .* keeps its values in another file"


def huge_and_empty(file, folder):
    file["uns"].create_dataset("zeros", (10**15,), "f8", chunks=(1024,))
    return r"/uns/zeros in .* declares a shape of \(1000000000000000,\), but only 0 bytes"


def many_huge_and_empty(file, folder):
    for i in range(20):
        file["uns"].create_dataset(f"zeros{i}", (10**7,), "f8", chunks=(1024,))
    return "declare far more values than are stored"


def huge_sparse(file, folder):
    file["layers/counts"].attrs["shape"] = np.array([10**15, 3])
    return "/layers/counts in .* declares a sparse matrix of shape"


def hard_link_in_a_circle(file, folder):
    file["uns/nested/up"] = file["uns"]
    return "/uns/nested/up in .* links back to a group that holds it"


def soft_link_in_a_circle(file, folder):
    file["uns/nested/up"] = h5py.SoftLink("/uns")
    return "/uns/nested/up in .* links back to a group that holds it"


def paths_without_number(file, folder):
    group = file["uns/nested"]
    for _ in range(40):
        below = group.create_group("one")
        group["other"] = below
        group = below
    return "reached by more than 1000000 paths"


HOSTILE = [
    external_link,
    external_link_deep_in_uns,
    soft_link_through_an_external_one,
    external_storage,
    virtual_dataset,
    hidden_behind_a_reference,
    huge_and_empty,
    many_huge_and_empty,
    huge_sparse,
    hard_link_in_a_circle,
    soft_link_in_a_circle,
    paths_without_number,
]


@pytest.mark.parametrize("reader", [read_anndata, read_table])
@pytest.mark.parametrize("attack", HOSTILE, ids=lambda attack: attack.__name__)
def test_hostile_files_are_refused(cells, secret, attack, reader):
    with h5py.File(cells, "r+") as file:
        message = attack(file, secret)
    with pytest.raises(InputError, match=message):
        reader(cells)


@pytest.mark.parametrize(
    "attack",
    [external_link, external_storage, virtual_dataset, hidden_behind_a_reference],
    ids=lambda attack: attack.__name__,
)
def test_the_other_file_is_not_even_opened(cells, secret, attack):
    """Without the other file the sentence is the same: nobody looked for it."""
    with h5py.File(cells, "r+") as file:
        message = attack(file, secret)
    for path in (secret / "secret.h5", secret / "secret.bin"):
        path.unlink()
    with pytest.raises(InputError, match=message):
        read_anndata(cells)


def test_links_of_user_defined_kinds_are_refused(cells):
    """h5py cannot write one: change the kind of an external link, a byte before its name."""
    with h5py.File(cells, "r+") as file:
        file["uns/strange"] = h5py.ExternalLink("secret.h5", "/X")
    content = bytearray(cells.read_bytes())
    name = content.index(b"strange")
    content[content.rindex(b"\x40", name - 8, name)] = 77
    cells.write_bytes(content)
    with pytest.raises(InputError, match=r"/uns/strange in .* is a link of a user-defined kind"):
        read_anndata(cells)


def test_soft_links_within_the_file_are_followed(cells):
    with h5py.File(cells, "r+") as file:
        file["layers/same"] = h5py.SoftLink("/X")
        file["uns/loose"] = h5py.SoftLink("/nowhere")
    table = read_table(cells, layer="same")
    np.testing.assert_array_equal(table.X, np.arange(12.0).reshape(4, 3))


def test_soft_links_to_themselves_end_in_a_sentence(cells):
    with h5py.File(cells, "r+") as file:
        del file["X"]
        file["X"] = h5py.SoftLink("/X")
    with pytest.raises(InputError, match="cannot be read as AnnData"):
        read_table(cells)


def test_sparse_indices_beyond_the_shape_are_refused(cells):
    with h5py.File(cells, "r+") as file:
        file["layers/counts/indices"][0] = 10**6
    for read in (read_anndata, lambda path: read_table(path, layer="counts")):
        with pytest.raises(InputError, match="broken sparse matrix"):
            read(cells)


def test_references_to_objects_of_the_file_are_fine(cells):
    """The old way to write categories."""
    with h5py.File(cells, "r+") as file:
        obs = file["obs"]
        obs.attrs["encoding-version"] = "0.1.0"
        del obs["type"]
        kinds = obs.create_dataset("__categories/type", data=["a", "b"])
        obs.create_dataset("type", data=np.array([0, 1, 0, 1], dtype="i1"))
        obs["type"].attrs["categories"] = kinds.ref
        del obs["_index"]
        obs.create_dataset("_index", data=["w", "x", "y", "z"])
    assert read_table(cells).annotations["type"].tolist() == ["a", "b", "a", "b"]


@pytest.mark.parametrize("kept", [0, 100, 2000, -1])
def test_files_cut_short_get_one_sentence(cells, kept):
    cells.write_bytes(cells.read_bytes()[:kept])
    for read in (read_anndata, read_table):
        with pytest.raises(InputError, match=r"cannot be read as AnnData .*copy or write it again"):
            read(cells)


def test_values_that_cannot_be_unpacked_get_one_sentence(cells):
    read_anndata(cells).write_h5ad(cells, compression="gzip")
    with h5py.File(cells) as file:
        chunk = file["X"].id.get_chunk_info(0)
    content = bytearray(cells.read_bytes())
    content[chunk.byte_offset : chunk.byte_offset + chunk.size] = bytes(chunk.size)
    cells.write_bytes(content)
    for read in (read_anndata, read_table):
        with pytest.raises(InputError, match="cannot be read as AnnData"):
            read(cells)
