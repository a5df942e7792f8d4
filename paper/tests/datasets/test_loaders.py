"""The paper's data: names, scaling and parts; files of all kinds; OpenML, but no connection."""

import os
import pickle
import zipfile
from pathlib import Path
from types import SimpleNamespace
from urllib.error import HTTPError, URLError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.decomposition import PCA

from branchwise.io import InputError
from branchwise.metrics import loo_1nn
from branchwise_paper import datasets
from branchwise_paper.datasets import DatasetNotFound, fetch, fetch_toy, found_datasets
from branchwise_paper.datasets.catalog import (
    CATALOG,
    ENTRIES,
    NAMES,
    TABLE1,
    TOYS,
    plain,
    understand,
)
from branchwise_paper.datasets.dataset import part_rows, rescale

DATA = os.environ.get("BRANCHWISE_DATA")
needs_data = pytest.mark.skipif(
    not DATA, reason="BRANCHWISE_DATA names no folder with the paper's data"
)


@pytest.fixture(autouse=True)
def _no_data_of_the_user(monkeypatch):
    monkeypatch.delenv("BRANCHWISE_DATA", raising=False)


def save(folder, stem, **arrays):
    np.savez(folder / f"{stem}.npz", **arrays)
    return folder


def points(n_samples, n_features, seed=0):
    return np.random.default_rng(seed).uniform(0, 100, size=(n_samples, n_features)).round()


# Names.


def test_table_is_that_of_the_paper():
    printed = {CATALOG[key].title: CATALOG[key].printed for key in TABLE1}
    assert printed == {
        "Iris": (150, 3, 4, 2),
        "CMU-PIE": (3329, 68, 1024, 39),
        "COIL20": (1440, 20, 2014, 84),
        "Isolet": (3119, 2, 617, 165),
        "Pendigits": (3498, 10, 16, 9),
        "Satimage": (4435, 6, 36, 6),
        "USPS": (2007, 10, 256, 32),
        "Vehicle": (846, 4, 18, 6),
        "Segment": (231, 7, 19, 7),
        "Letter": (5000, 26, 16, 12),
    }
    corrected = {"COIL20": (1440, 20, 1024, 84), "Segment": (2310, 7, 19, 7)}
    for key in TABLE1:
        entry = CATALOG[key]
        (N, D), c, d = entry.shape, entry.n_classes, entry.n_components
        assert (N, c, D, d) == corrected.get(entry.title, entry.printed)


def test_parts_have_the_samples_and_classes_of_the_paper():
    cut = [entry for entry in ENTRIES if entry.remote and entry.remote.n_rows[0] != entry.shape[0]]
    assert [entry.key for entry in cut] == ["isolet", "pendigits", "satimage", "usps", "letter"]
    for entry in cut:
        for n_rows in entry.remote.n_rows:
            assert len(part_rows(entry.remote, n_rows)) == entry.shape[0]
        if entry.remote.counts:
            assert sum(entry.remote.counts) == entry.shape[0]
            n_classes = 26 if entry.key == "isolet" else entry.n_classes
            assert len(entry.remote.counts) == n_classes


def test_no_name_means_two_sets():
    for entry in ENTRIES:
        for name in (entry.key, entry.title, *entry.aliases):
            assert NAMES[plain(name)] == entry.key


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("isolet15", "isolet"),
        ("pendigits_test", "pendigits"),
        ("usps_test", "usps"),
        ("USPS", "usps"),
        ("usps_digit1", "usps_ones"),
        ("usps_ones", "usps_ones"),
        ("teapot100", "teapot"),
        ("teapots400", "teapot"),
        ("toy_2moons", "two_moons"),
        ("toy_tree_300", "tree"),
        ("toy_distorted_sshape", "distorted_sshape"),
        ("DistortedSShape", "distorted_sshape"),
        ("Three-clusters", "three_clusters"),
        ("satimage_train", "satimage"),
        ("satimage.scale", "satimage"),
        ("letter.npz", "letter"),
        ("CMU-PIE", "cmu_pie"),
        ("PIE", "cmu_pie"),
        ("PIE_32x32", "cmu_pie"),
        ("coil-20", "coil20"),
        ("image segmentation", "segment"),
        ("usps_digit2", None),
        ("isolet1", None),
        ("coil100", None),
        ("usps_kernel", None),
        ("iris2", None),
        ("toy_iris", None),
        ("sc_lung", None),
        ("", None),
    ],
)
def test_names_of_sets_and_files(name, key):
    assert understand(name).key == key


# Scaling.


def libsvm_scaled(X):
    """Feature by feature, with LIBSVM's formula and its omission of constant features."""
    scaled = np.zeros(X.shape)
    for j in range(X.shape[1]):
        low, high = min(X[:, j]), max(X[:, j])
        if high > low:
            scaled[:, j] = [-1 + 2 * (x - low) / (high - low) for x in X[:, j]]
    return scaled


def test_features_are_scaled_as_libsvm_does():
    X = points(40, 3)
    X[:, 1] = 7
    np.testing.assert_allclose(rescale(X, "features"), libsvm_scaled(X), rtol=0, atol=1e-14)


@given(arrays(np.float64, (5, 2), elements=st.floats(-1e308, 1e308)))
def test_scaled_features_reach_from_minus_one_to_one(X):
    scaled = rescale(X, "features")
    constant = X.min(axis=0) / 2 == X.max(axis=0) / 2
    np.testing.assert_array_equal(scaled.min(axis=0), np.where(constant, 0, -1))
    np.testing.assert_array_equal(scaled.max(axis=0), np.where(constant, 0, 1))
    np.testing.assert_allclose(rescale(scaled, "features"), scaled, rtol=0, atol=1e-15)


def test_only_bytes_are_divided():
    X = np.array([[0.0, 51.0], [255.0, 102.0]])
    np.testing.assert_allclose(rescale(X, "pixels"), [[0, 0.2], [1, 0.4]])
    np.testing.assert_allclose(rescale(X, "signed pixels"), [[-1, -0.6], [1, -0.2]])
    for other in (X / 255, X / 127.5 - 1, X - 100, 10 * X):
        np.testing.assert_array_equal(rescale(other, "pixels"), other)
        np.testing.assert_array_equal(rescale(other, "signed pixels"), other)


# Iris and the toys need nothing.


def test_iris_is_there_without_files_and_connection():
    iris = fetch("iris", download=False)
    assert iris[:2] == ("iris", "Iris")
    assert iris.X.shape == (150, 4)
    assert iris.n_components == 2
    assert iris.kind == "real"
    np.testing.assert_array_equal(np.bincount(iris.y), [50, 50, 50])
    assert "load_iris" in iris.source


@pytest.mark.parametrize("name", TOYS)
def test_toys_are_simulated_where_no_file_is(name):
    toy, again = fetch_toy(name), fetch(f"toy_{name}", download=False)
    np.testing.assert_array_equal(toy.X, again.X)
    assert toy.X.shape == CATALOG[name].shape
    assert (toy.kind, toy.n_components) == ("simulated", 2)
    assert toy.source.startswith("Generated here, in the place of the paper's file: ")
    assert "simulated" not in toy.source
    assert all(len(values) == len(toy.X) for values in toy.extras.values())
    assert (toy.y is not None) == (name == "two_moons")


def test_helix_comes_with_its_parameter():
    helix = fetch_toy("helix")
    p = helix.extras["t"]
    radius = 2 + np.cos(8 * p)
    clean = np.column_stack([radius * np.cos(p), radius * np.sin(p), np.sin(8 * p)])
    assert np.abs(helix.X - clean).max() < 6 * 0.05


def test_toys_of_a_file_come_first(tmp_path):
    X = points(50, 2)
    save(tmp_path, "toy_spiral", X=X, source="by hand")
    spiral = fetch_toy("spiral", data_dir=tmp_path)
    np.testing.assert_array_equal(spiral.X, X)
    assert spiral.kind == "simulated"
    assert spiral.source == "by hand. Here 50 samples × 2 features, of the paper's 200 × 2."


@pytest.mark.parametrize("name", ["iris", "hexagon", 3])
def test_other_toys_are_an_error(name):
    with pytest.raises(ValueError, match="must be one of 'distorted_sshape', 'spiral'"):
        fetch_toy(name)


# Files.


def test_files_are_found(tmp_path, monkeypatch):
    assert found_datasets() == []
    save(tmp_path, "b", X=np.eye(2))
    save(tmp_path, "a", X=np.eye(2))
    (tmp_path / "notes.txt").write_text("no data")
    (tmp_path / "folder.npz").mkdir()
    (tmp_path / "._a.npz").write_bytes(b"of another system")
    assert found_datasets(tmp_path) == found_datasets(str(tmp_path)) == ["a", "b"]
    monkeypatch.setenv("BRANCHWISE_DATA", str(tmp_path))
    assert found_datasets() == ["a", "b"]
    assert fetch("a").X.shape == (2, 2)
    monkeypatch.setenv("BRANCHWISE_DATA", "")
    assert found_datasets() == []


def test_folders_that_are_none_are_named(tmp_path, monkeypatch):
    with pytest.raises(DatasetNotFound, match=r"data_dir=.*nowhere is not a folder; name one"):
        found_datasets(tmp_path / "nowhere")
    for strange in ("~nobody-of-this-name/data", "x" * 5000, "a\0b"):
        with pytest.raises(DatasetNotFound, match="is not a folder"):
            fetch("iris", data_dir=strange)
    monkeypatch.setenv("BRANCHWISE_DATA", str(tmp_path / "gone"))
    with pytest.raises(DatasetNotFound, match=r"BRANCHWISE_DATA=.*gone is not a folder"):
        fetch("iris")


def test_a_file_that_the_paper_does_not_know_is_taken_as_it_is(tmp_path):
    X = points(6, 3)
    y = np.array(["a", "b"] * 3)
    save(tmp_path, "My cells", X=X.astype(np.uint8), y=y, t=np.arange(6.0), genes=["x", "y", "z"])
    for name in ("My cells", "my-cells", "My cells.npz"):
        mine = fetch(name, data_dir=tmp_path)
        assert (mine.name, mine.title) == ("My cells", "My cells")
        assert (mine.n_components, mine.kind) == (None, "real")
        assert mine.X.dtype == np.float64
        np.testing.assert_array_equal(mine.X, X)
        np.testing.assert_array_equal(mine.y, y)
        assert sorted(mine.extras) == ["genes", "t"]
        assert mine.source == "My cells.npz, which does not tell where it is from."


def test_names_without_a_latin_letter_work(tmp_path):
    for stem in ("数据", "__"):
        save(tmp_path, stem, X=np.eye(2))
        assert fetch(stem, data_dir=tmp_path).name == stem


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ({}, "real"),
        ({"source": "simulated by hand"}, "simulated"),
        ({"kind": "stand-in"}, "stand-in"),
        ({"source": "simulated", "kind": "real"}, "real"),
        ({"kind": "who knows"}, "real"),
    ],
)
def test_a_file_may_tell_what_it_is(tmp_path, told, kind):
    save(tmp_path, "mine", X=np.eye(2), **told)
    mine = fetch("mine", data_dir=tmp_path)
    assert mine.kind == kind
    assert "kind" not in mine.extras
    assert mine.source == told.get("source", mine.source)


def test_scaled_data_of_a_file_are_taken_at_their_word(tmp_path):
    X = points(8, 18)
    save(tmp_path, "vehicle", X=X, Xs=X / 7, y=np.arange(8) % 4)
    np.testing.assert_array_equal(fetch("vehicle", data_dir=tmp_path).X, X / 7)
    save(tmp_path, "mine", X=X, Xs=X / 7)
    np.testing.assert_array_equal(fetch("mine", data_dir=tmp_path).X, X / 7)


def test_known_sets_are_scaled_and_told_apart_from_the_papers(tmp_path):
    X = points(8, 18)
    save(tmp_path, "Vehicle_scale", X=X, y=np.arange(8)[:, None] % 4)
    vehicle = fetch("vehicle", data_dir=tmp_path)
    assert (vehicle.name, vehicle.title, vehicle.n_components) == ("vehicle", "Vehicle", 6)
    np.testing.assert_allclose(vehicle.X, libsvm_scaled(X), rtol=0, atol=1e-14)
    np.testing.assert_array_equal(vehicle.y, np.arange(8) % 4)
    assert vehicle.source == (
        "Vehicle_scale.npz; UCI repository, CC BY 4.0. Here 8 samples × 18 features, of the "
        "paper's 846 × 18."
    )


def test_images_of_bytes_are_divided(tmp_path):
    X = np.array([[0, 255], [51, 102]], dtype=np.uint8)
    save(tmp_path, "PIE", X=X, y=[0, 1])
    save(tmp_path, "coil20", X=X / 255, y=[0, 1])
    for name in ("cmu_pie", "coil20"):
        found = fetch(name, data_dir=tmp_path)
        np.testing.assert_allclose(found.X, [[0, 1], [0.2, 0.4]])


def test_the_papers_part_is_preferred_and_the_other_one_only_taken_by_its_name(tmp_path):
    save(tmp_path, "usps_train", X=np.eye(3), y=[0, 1, 2])
    with pytest.raises(DatasetNotFound, match=r"holds no usps\.npz, and download=False"):
        fetch("USPS", data_dir=tmp_path, download=False)
    assert len(fetch("usps_train", data_dir=tmp_path).X) == 3
    save(tmp_path, "usps_scale", X=np.eye(4), y=[0, 1, 2, 3])
    assert len(fetch("USPS", data_dir=tmp_path).X) == 4
    save(tmp_path, "usps_scaled_test", X=np.eye(5), y=[0, 1, 2, 3, 4])
    assert len(fetch("USPS", data_dir=tmp_path).X) == 5
    save(tmp_path, "usps", X=np.eye(6), y=[0, 1, 2, 3, 4, 5])
    assert len(fetch("USPS", data_dir=tmp_path).X) == 6


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Pendigits (train)", "the train part of Pendigits, but the paper has the test part: ask"),
        ("segment_test", "the test part of Segment, but the paper has all of it: ask for 'segm"),
    ],
)
def test_the_other_part_is_not_replaced_by_the_papers(tmp_path, monkeypatch, name, words):
    asked = as_if_online(monkeypatch, None, None)
    save(tmp_path, "pendigits_test", X=np.eye(3), y=[0, 1, 2])
    save(tmp_path, "segment", X=np.eye(3), y=[0, 1, 2])
    for folder in (tmp_path, None):
        with pytest.raises(DatasetNotFound, match=words + r".*Put \w+_t\w+\.npz with X"):
            fetch(name, data_dir=folder)
    assert asked == []


def test_ones_are_not_usps(tmp_path):
    save(tmp_path, "usps_digit1", X=np.eye(3))
    assert fetch("usps_ones", data_dir=tmp_path).name == "usps_ones"
    with pytest.raises(DatasetNotFound):
        fetch("usps", data_dir=tmp_path, download=False)


def test_somebodys_own_tree_is_not_the_papers(tmp_path):
    save(tmp_path, "tree", X=np.eye(10))
    tree = fetch("tree", data_dir=tmp_path)
    assert (tree.kind, tree.n_components) == ("real", None)


def test_all_rows_of_the_original_are_cut_to_the_papers(tmp_path):
    X = points(20000, 16)
    y = np.arange(20000) % 26
    save(tmp_path, "letter", X=X, y=y, number=np.arange(20000), names=np.arange(16))
    letter = fetch("Letter", data_dir=tmp_path)
    np.testing.assert_allclose(letter.X, libsvm_scaled(X[15000:]), rtol=0, atol=1e-14)
    np.testing.assert_array_equal(letter.y, y[15000:])
    np.testing.assert_array_equal(letter.extras["number"], np.arange(15000, 20000))
    assert len(letter.extras["names"]) == 16
    assert "(the paper's 5000 of 20000 rows)" in letter.source
    assert letter.kind == "real"


@pytest.mark.parametrize(
    "labels",
    [
        np.arange(1, 27),
        np.arange(26),
        np.array(list("abcdefghijklmnopqrstuvwxyz")),
        np.array([str(i) for i in range(1, 27)]),
        np.arange(1.0, 27.0)[:, None],
    ],
)
def test_letters_of_isolet_become_two_classes(tmp_path, labels):
    save(tmp_path, "isolet", X=np.zeros((26, 2)), y=labels)
    isolet = fetch("isolet", data_dir=tmp_path)
    np.testing.assert_array_equal(isolet.y, [0] * 13 + [1] * 13)
    np.testing.assert_array_equal(isolet.extras["y26"], np.arange(1, 27))


def test_two_classes_of_isolet_stay(tmp_path):
    save(tmp_path, "isolet15", X=np.zeros((4, 2)), y=[1, 0, 0, 1], y26=[1, 2, 3, 4])
    isolet = fetch("isolet", data_dir=tmp_path)
    np.testing.assert_array_equal(isolet.y, [1, 0, 0, 1])
    save(tmp_path, "isolet15", X=np.zeros((4, 2)), y=[1, 0, 0, 1], y26=[0, 2, 14, 25])
    isolet = fetch("isolet", data_dir=tmp_path)
    np.testing.assert_array_equal(isolet.y, [1, 0, 0, 1])
    np.testing.assert_array_equal(isolet.extras["y26"], [1, 3, 15, 26])
    save(tmp_path, "isolet15", X=np.zeros((4, 2)), y26=[1, 2, 14, 26])
    np.testing.assert_array_equal(fetch("isolet", data_dir=tmp_path).y, [0, 0, 1, 1])
    save(tmp_path, "isolet15", X=np.zeros((4, 2)))
    assert fetch("isolet", data_dir=tmp_path).y is None


@pytest.mark.parametrize("labels", [["A", "B", "?"], ["a", "bc", "d"], [1, 2, 27], [0.5, 1, 2]])
def test_other_labels_of_isolet_are_an_error(tmp_path, labels):
    save(tmp_path, "isolet", X=np.zeros((3, 2)), y=labels)
    with pytest.raises(InputError, match=r"isolet\.npz holds labels that are neither two classes"):
        fetch("isolet", data_dir=tmp_path)


def test_faces_and_metabric_need_what_their_figures_show(tmp_path):
    X = np.full((3, 4), 255, dtype=np.uint8)
    save(tmp_path, "faces", X=X, subject=["CH", "AR", "LE"])
    with pytest.raises(InputError, match=r"faces\.npz holds no array expression; Faces needs X"):
        fetch("faces", data_dir=tmp_path)
    save(tmp_path, "faces", X=X, subject=["CH", "AR", "LE"], expression=["NE"])
    with pytest.raises(InputError, match=r"labels expression of shape \(1,\), but X has 3"):
        fetch("faces", data_dir=tmp_path)
    save(tmp_path, "faces", X=X, subject=["CH", "AR", "LE"], expression=["NE", "HA", "SO"])
    faces = datasets.fetch_faces(data_dir=tmp_path)
    assert faces.X.max() == 1
    assert faces.extras["expression"].tolist() == ["NE", "HA", "SO"]
    save(tmp_path, "teapot", X=X, order=[1, 2])
    with pytest.raises(InputError, match=r"labels order of shape \(2,\), but X has 3"):
        fetch("teapot", data_dir=tmp_path)
    save(tmp_path, "metabric", X=X)
    with pytest.raises(InputError, match=r"metabric\.npz holds no array y; METABRIC needs"):
        fetch("metabric", data_dir=tmp_path)


@pytest.mark.parametrize("name", [*CATALOG])
def test_each_set_has_one_call(tmp_path, name):
    X = np.zeros((3, CATALOG[name].shape[1] if name in TOYS else 5))
    labels = ["a", "b", "c"]
    save(tmp_path, name, X=X, y=[0, 1, 1], subject=labels, expression=labels)
    call = getattr(datasets, f"fetch_{name}", None)
    found = fetch_toy(name, data_dir=tmp_path) if name in TOYS else call(data_dir=tmp_path)
    assert (found.name, found.title) == (name, CATALOG[name].title)
    assert found.n_components == CATALOG[name].n_components


# Broken and hostile files.


@pytest.mark.parametrize(
    ("held", "words"),
    [
        ({"y": [0, 1]}, "holds no array X, only 'y'; save samples × features as X"),
        ({}, "holds no array at all; save samples × features as X"),
        ({"X": np.arange(3.0)}, r"holds X of shape \(3,\), but it must be samples × features"),
        ({"X": np.zeros((2, 3, 3))}, r"holds X of shape \(2, 3, 3\).* images to rows"),
        ({"X": np.zeros((0, 3))}, r"holds X of shape \(0, 3\)"),
        ({"X": np.array([["a"]])}, "holds X of type <U1, but it must be real numbers"),
        ({"X": np.eye(2) * 1j}, "holds X of type complex128"),
        ({"X": [[0, np.nan], [np.inf, 1]]}, "holds 2 values in X that are NaN or infinite"),
        ({"X": np.full((2, 2), np.longdouble("1e309"))}, "holds 4 values in X that are NaN or"),
        ({"X": np.eye(3), "Xs": np.eye(2)}, r"holds Xs of shape \(2, 2\), but X of shape \(3, 3\)"),
        ({"X": np.eye(2), "Xs": [[np.nan, 0], [0, 0]]}, "holds 1 values in Xs that are NaN"),
        (
            {"X": np.eye(3), "y": [0, 1]},
            r"holds labels y of shape \(2,\), but X has 3 samples",
        ),
        ({"X": np.eye(3), "y": np.eye(3)}, r"holds labels y of shape \(3, 3\)"),
        (
            {"X": np.eye(2), "y": [1, 1j]},
            "holds labels y of type complex128",
        ),
        (
            {"X": np.eye(2), "y": [1, np.nan]},
            "holds labels y that are NaN",
        ),
    ],
)
@pytest.mark.parametrize("stem", ["mine", "vehicle"])
def test_what_is_wrong_with_a_file_is_one_sentence(tmp_path, stem, held, words):
    save(tmp_path, stem, **held)
    with pytest.raises(InputError, match=rf"{stem}\.npz {words}") as caught:
        fetch(stem, data_dir=tmp_path)
    assert "\n" not in str(caught.value)


class Bomb:
    def __reduce__(self):
        return (os.system, ("touch exploded",))


def test_pickles_are_not_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    held = np.empty((1, 1), dtype=object)
    held[0, 0] = Bomb()
    np.savez("mine.npz", X=np.eye(2), y=held, allow_pickle=True)
    (tmp_path / "other.npz").write_bytes(pickle.dumps(Bomb()))
    for stem in ("mine", "other"):
        with pytest.raises(InputError, match=rf"{stem}\.npz (holds Python objects|cannot be read)"):
            fetch(stem, data_dir=tmp_path)
    assert not Path("exploded").exists()


def test_damaged_files_are_named(tmp_path):
    save(tmp_path, "whole", X=points(50, 4))
    content = (tmp_path / "whole.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(content[: len(content) // 2])
    (tmp_path / "empty.npz").write_bytes(b"")
    (tmp_path / "text.npz").write_text("X = 1")
    middle = len(content) // 2
    (tmp_path / "flipped.npz").write_bytes(
        content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]
    )
    with zipfile.ZipFile(tmp_path / "zip.npz", "w") as archive:
        archive.writestr("readme.txt", "no array")
    with zipfile.ZipFile(tmp_path / "header.npz", "w") as archive:
        archive.writestr("X.npy", b"\x93NUMPY\x01\x00\x76\x00{'descr': (((((" + b" " * 104)
    for stem in ("cut", "empty", "text", "flipped", "zip", "header"):
        with pytest.raises(InputError, match=rf"{stem}\.npz"):
            fetch(stem, data_dir=tmp_path)


def test_an_array_that_claims_to_be_huge_is_refused(tmp_path):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }".ljust(117)
    with zipfile.ZipFile(tmp_path / "huge.npz", "w") as archive:
        archive.writestr("X.npy", b"\x93NUMPY\x01\x00\x76\x00" + header.encode() + b"\n")
    with pytest.raises(InputError, match=r"huge\.npz"):
        fetch("huge", data_dir=tmp_path)


def test_names_do_not_lead_out_of_the_folder(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    save(tmp_path, "secret", X=np.eye(2))
    with pytest.raises(DatasetNotFound, match="neither a data set of the paper"):
        fetch("../secret", data_dir=inner)


# OpenML, of which nothing is asked in fact.


def as_if_online(monkeypatch, X, target):
    """Let scikit-learn's fetcher answer with this, and keep what it was asked."""
    asked = []

    def fetch_openml(**options):
        asked.append(options)
        return SimpleNamespace(data=X, target=target)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    return asked


def in_original_order(entry):
    """Labels of all rows of an original, with the known frequencies in the paper's part."""
    remote = entry.remote
    labels = np.ones(remote.n_rows[0], dtype=int)
    rows = part_rows(remote, len(labels)) if entry.part or entry.key == "isolet" else slice(None)
    if remote.counts:
        labels[rows] = np.repeat(np.arange(1, len(remote.counts) + 1), remote.counts)
    else:
        labels[rows] = np.arange(len(labels[rows])) % entry.n_classes + 1
    return labels, rows


@pytest.mark.parametrize(
    "key", [e.key for e in ENTRIES if e.remote is not None and e.key != "iris"]
)
def test_openml_is_asked_for_the_set_and_cut_to_the_papers_part(key, monkeypatch, tmp_path):
    entry = CATALOG[key]
    labels, rows = in_original_order(entry)
    X = points(len(labels), entry.shape[1])
    X = X / 50 - 1 if key in ("usps", "isolet") else X
    quoted = np.array([f"'{label}'" for label in labels], dtype=object)
    asked = as_if_online(monkeypatch, X, quoted)
    found = fetch(entry.title, data_home=tmp_path)
    assert [(a["data_id"], a["data_home"], a["as_frame"]) for a in asked] == [
        (entry.remote.data_id, tmp_path, False)
    ]
    assert found.X.shape == entry.shape
    expected = X[rows] if key in ("usps", "isolet") else libsvm_scaled(X[rows])
    np.testing.assert_allclose(found.X, expected, rtol=0, atol=1e-14)
    letters = found.extras["y26"] if key == "isolet" else found.y
    np.testing.assert_array_equal(letters, labels[rows])
    assert len(np.unique(found.y)) == entry.n_classes
    assert (found.kind, found.n_components) == ("real", entry.n_components)
    assert found.source.startswith(f"OpenML {entry.remote.data_id}; ")


def test_isolet_is_the_first_and_the_last_rows(monkeypatch):
    labels, _ = in_original_order(CATALOG["isolet"])
    X = np.repeat(np.arange(7797.0)[:, None], 617, axis=1)
    as_if_online(monkeypatch, X, labels.astype(str))
    found = datasets.fetch_isolet().X[:, 0]
    np.testing.assert_array_equal(found, [*range(1560), *range(6238, 7797)])


def test_rows_in_another_order_are_called_a_stand_in(monkeypatch, rng):
    labels, _ = in_original_order(CATALOG["pendigits"])
    as_if_online(monkeypatch, points(10992, 16), rng.permutation(labels).astype(str))
    found = fetch("pendigits")
    assert found.kind == "stand-in"
    assert "3498 of 10992 rows, which are in another order than the original's" in found.source
    # OpenML describes its copy of Satimage with five rows less.
    labels, _ = in_original_order(CATALOG["satimage"])
    as_if_online(monkeypatch, points(6430, 36), np.delete(labels, range(4000, 4005)).astype(str))
    found = fetch("satimage")
    assert (found.kind, found.X.shape) == ("stand-in", (4435, 36))


@pytest.mark.parametrize("shape", [(845, 18), (846, 17), (846,)])
def test_a_download_of_another_size_is_refused(monkeypatch, shape):
    as_if_online(monkeypatch, np.zeros(shape), ["van"] * shape[0])
    with pytest.raises(DatasetNotFound, match=r"OpenML's data set 54 has .* 846 samples of 18"):
        fetch("vehicle")


def test_a_download_without_labels_is_refused(monkeypatch):
    as_if_online(monkeypatch, np.zeros((846, 18)), None)
    with pytest.raises(DatasetNotFound, match="OpenML's data set 54 has 0 labels and X of shape"):
        fetch("vehicle")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (URLError("Name or service not known"), r"no connection to OpenML \(Name or service not"),
        (HTTPError("x", 503, "busy", None, None), r"no connection to OpenML \(busy\)"),
        (TimeoutError(), r"no connection to OpenML \(TimeoutError\)"),
        (ConnectionResetError("reset by peer"), r"no connection to OpenML \(reset by peer\)"),
        (ValueError("md5 checksum differs.\nMore."), r"did not send .* \(md5 checksum differs\)"),
    ],
)
def test_without_connection_one_sentence_says_what_to_do(monkeypatch, tmp_path, error, words):
    def fail(**_):
        raise error

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fail)
    advice = r".*Put vehicle\.npz with X \(846 × 18\) and y .* into "
    with pytest.raises(DatasetNotFound, match=words + advice + "a folder, and pass it as data_dir"):
        fetch("vehicle")
    with pytest.raises(DatasetNotFound, match=words + advice) as caught:
        fetch("vehicle", data_dir=tmp_path)
    assert str(caught.value).endswith(f"into {tmp_path}.")


@pytest.mark.parametrize("name", ["cmu_pie", "coil20", "teapot", "usps_ones", "faces", "metabric"])
def test_sets_that_nobody_serves_say_which_file_to_put_where(name, tmp_path, monkeypatch):
    asked = as_if_online(monkeypatch, None, None)
    title = CATALOG[name].title
    with pytest.raises(DatasetNotFound, match=f"{title} is not here: no folder of data is set"):
        fetch(name)
    with pytest.raises(DatasetNotFound, match=rf"{title} .*\. Put {name}\.npz with X \(.* into /"):
        fetch(name, data_dir=tmp_path)
    assert asked == []


def test_nothing_is_downloaded_unasked(monkeypatch):
    asked = as_if_online(monkeypatch, None, None)
    with pytest.raises(DatasetNotFound, match=r"Segment is not here: .* and download=False"):
        fetch("segment", download=False)
    assert asked == []


def test_unknown_names_list_what_there_is(tmp_path):
    save(tmp_path, "mine", X=np.eye(2))
    with pytest.raises(DatasetNotFound, match=r"name='yours' is neither .* holds mine; choose one"):
        fetch("yours", data_dir=tmp_path)
    with pytest.raises(DatasetNotFound, match="no folder of data is set"):
        fetch("yours")
    for name in ("", "  ", None, 3):
        with pytest.raises(ValueError, match="must be the name of a data set; pass 'iris'"):
            fetch(name)


# The real files.


def accuracy(X, y):
    """Leave-one-out 1-NN from all distances at once."""
    squares = np.einsum("ij,ij->i", X, X)
    distances = squares[:, None] + squares - 2 * X @ X.T
    np.fill_diagonal(distances, np.inf)
    return np.mean(y[distances.argmin(axis=1)] == y)


@needs_data
@pytest.mark.parametrize(
    ("name", "raw", "reduced"),
    [
        ("Iris", 0.9533, 0.9333),
        ("COIL20", 1.0, 1.0),
        ("Isolet", 0.9381, 0.9400),
        ("Pendigits", 0.9926, 0.9866),
        ("USPS", 0.9352, 0.9347),
        ("Segment", 0.9740, 0.9688),
    ],
)
def test_real_files_give_the_known_accuracies(name, raw, reduced):
    found = fetch(name, data_dir=DATA, download=False)
    entry = CATALOG[found.name]
    assert found.X.shape == entry.shape
    assert len(np.unique(found.y)) == entry.n_classes
    assert found.kind == "real"
    Z = PCA(found.n_components, svd_solver="covariance_eigh").fit_transform(found.X)
    # The library's own score takes long in hundreds of dimensions.
    score = loo_1nn if found.X.shape[1] <= 256 else accuracy
    assert round(score(found.X, found.y), 4) == raw
    assert round(score(Z, found.y), 4) == reduced


@needs_data
def test_iris_of_scikit_learn_is_that_of_the_file():
    with np.load(Path(DATA) / "iris.npz") as file:
        X, scaled = file["X"].astype(float), file["Xs"]
    np.testing.assert_allclose(rescale(X, "features"), scaled, rtol=0, atol=1e-6)
    np.testing.assert_allclose(fetch("iris").X, scaled, rtol=0, atol=1e-6)


@needs_data
def test_every_file_can_be_fetched_by_its_stem():
    stems = found_datasets(DATA)
    assert stems
    for stem in stems:
        found = fetch(stem, data_dir=DATA, download=False)
        assert found.X.dtype == np.float64
        assert found.name == (understand(stem).key or stem)
        if found.name in CATALOG:  # other files say themselves what they are
            assert found.kind == ("simulated" if found.name in TOYS else "real")


@needs_data
def test_images_of_the_figures_are_between_zero_and_one():
    for name, n_features in (("teapot", 23028), ("usps_ones", 256)):
        X = fetch(name, data_dir=DATA).X
        assert (X.shape[1], X.min(), X.max()) == (n_features, 0, 1)
