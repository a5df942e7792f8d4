"""Model files of every format version so far are read, on any machine."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import branchwise
from branchwise.persistence.format import VERSION, ModelFileError, write_state

from .make_models import with_covariates

DATA = Path(__file__).parent / "models"
VERSIONS = range(1, VERSION + 1)
MODELS = ["ddrtree", "ddrtree-rbf", "drtree", "spl"]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", MODELS)
def test_models_of_all_versions_place_samples_as_they_did(name, version):
    expected = json.loads((DATA / f"expected-v{version}.json").read_text("utf-8"))
    model = branchwise.load(DATA / f"{name}-v{version}.branchwise")
    assert repr(model) == expected[name]["repr"]
    placed = model.transform(np.array(expected["rows"]))
    # Other processors and libraries round differently; drtree's file holds single precision.
    rtol = 1e-5 if name == "drtree" else 1e-9
    wanted = np.array(expected[name]["transform"])
    np.testing.assert_allclose(placed, wanted, rtol=rtol, atol=rtol * np.abs(wanted).max())
    known = 0 if name == "ddrtree-rbf" else 2  # that one was fitted to rounded values
    if name != "drtree":
        np.testing.assert_array_equal(placed[:known], model.embedding_[:known])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", ["pipeline", "pipeline-scaled"])
def test_pipelines_of_all_versions_place_samples_as_they_did(kind, version):
    expected = json.loads((DATA / f"expected-v{version}.json").read_text("utf-8"))
    pipeline = branchwise.load(DATA / f"{kind}-v{version}.branchwise")
    rows = np.array(expected["rows"])
    if kind == "pipeline":
        new = with_covariates(rows)
    else:
        new = pd.DataFrame(rows, columns=pipeline.features)
        assert pipeline.preparation.steps_["standardize"].is_centred is False
    # What these versions said of edges is in `project`.
    placed = pipeline.place(new)
    on = pipeline.trajectory.project(placed.filter(like="projection").to_numpy())
    placed = placed.drop(columns=["position"], errors="ignore").assign(
        **{name: on[name].to_numpy() for name in on if name not in placed or name == "position"}
    )
    for name, wanted in expected[kind]["place"].items():
        if name == "branch":
            assert placed[name].tolist() == wanted
        else:
            np.testing.assert_allclose(placed[name], wanted, rtol=1e-9, atol=1e-9, err_msg=name)


def test_the_files_hold_what_the_format_says():
    with zipfile.ZipFile(DATA / "ddrtree-v1.branchwise") as archive:
        contents = json.loads(archive.read("contents.json"))
    assert contents["format"] == "branchwise model"
    assert contents["version"] == 1
    assert contents["state"]["feature_names"] == list("abcd")
    assert contents["state"]["fitted"]["centers_"] == {"$array": "006-centers_.npy"}


def test_a_file_that_holds_something_else_is_refused(tmp_path):
    write_state(tmp_path / "other.branchwise", {"a": 1})
    with pytest.raises(
        ModelFileError, match=r"other\.branchwise holds a 'None', which is none of est"
    ):
        branchwise.load(tmp_path / "other.branchwise")
    with pytest.raises(FileNotFoundError, match=r"away\.branchwise"):
        branchwise.load(tmp_path / "away.branchwise")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none.branchwise does not exist; check its name"):
        branchwise.load(tmp_path / "none.branchwise")
