import numpy as np
import pytest

from branchwise.datasets.progression import NORMAL, make_progression
from branchwise.graph.placement import Placement
from branchwise_paper.experiments import cancer
from branchwise_paper.experiments.settings import Settings


def fork(label):
    """Samples on a trunk of length 1 and two branches of length 1 each; time from the trunk."""
    edge = np.repeat([0, 1, 2], 2)
    position = np.tile([0.5, 1.0], 3)
    place = Placement(4, np.array([[0, 1], [1, 2], [1, 3]]), np.ones(3), edge, position)
    return place, position + (edge > 0), np.array(label)


def test_pairs_on_two_branches_are_apart_and_on_one_are_not():
    names = [NORMAL, NORMAL, "basal", "basal", "luminal A", "luminal B"]
    # Of the paths of 1.5 and 2, 1 is common.
    assert cancer.diverging(*fork(names)) == 1
    names = ["luminal A", "luminal A", "basal", "basal", NORMAL, NORMAL]
    assert cancer.diverging(*fork(names)) == 0
    assert np.isnan(cancer.diverging(*fork([NORMAL] * 6)))


def test_order_of_medians():
    median = dict(zip(cancer.PATH, [0.0, 0.1, 0.2, 0.3, 0.4], strict=True))
    assert cancer.in_order(median) == 4
    assert cancer.in_order(median | {"luminal B": 0.1}) == 3
    assert cancer.in_order(median | {"normal-like": np.nan}) == 2


def test_medians_are_parts_of_the_latest():
    label = np.array([NORMAL, "basal", "basal", "luminal A"])
    found = cancer.medians(np.array([0.0, 2.0, 4.0, 8.0]), label)
    assert found["basal"] == pytest.approx(3 / 8)
    assert np.isnan(found["HER2+"])


def test_names_of_subtypes_are_understood():
    names = ["LumB", "Basal-like", "Normal-like", "normal", "Normal Tissue", "claudin-low"]
    assert cancer.subtypes(names).tolist() == [
        *["luminal B", "basal", "normal-like", "normal-like", NORMAL, "other"]
    ]


def test_tree_follows_a_progression_without_noise():
    made = make_progression(40, 260, 50, noise=0.05, random_state=0)
    found = cancer.progression_tree(made.X, made.label, lam=0.1, n_centers="auto")
    time = np.argsort(np.argsort(found["pseudotime"]))
    truth = np.argsort(np.argsort(made.simulated.pseudotime))
    assert np.corrcoef(time, truth)[0, 1] > 0.95
    assert found["diverging"] > 0.7


@pytest.fixture
def out(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(cancer, "QUICK_NORMAL", 20)
    monkeypatch.setattr(cancer, "QUICK_TUMOURS", 130)


@pytest.mark.usefixtures("few")
def test_simulation_says_so_everywhere(tmp_path, out):
    outcome = cancer.run(Settings(out=out, data_dir=tmp_path, quick=True, n_processes=1))
    assert "simulated" in outcome.title
    assert "These samples are simulated" in outcome.text
    assert "— simulated](cancer.png)" in outcome.text
    assert all("simulated" in check.data for check in outcome.checks)
    assert any("rank correlation" in check.claim for check in outcome.checks)
    assert all((out / name).stat().st_size > 0 for name in outcome.files)
    lines = (out / "cancer.csv").read_text().splitlines()
    assert len(lines) == 1 + len(cancer.FITS)


@pytest.mark.usefixtures("few")
def test_metabric_is_used_when_there(tmp_path, out):
    made = make_progression(20, 100, 30, random_state=1)
    np.savez(tmp_path / "metabric.npz", X=made.X, y=made.label)
    outcome = cancer.run(Settings(out=out, data_dir=tmp_path, quick=True, n_processes=1))
    assert "simulated" not in outcome.title + outcome.text
    assert all("real" in check.data for check in outcome.checks)
    assert not any("true" in check.claim for check in outcome.checks)


def test_metabric_needs_normal_tissue(tmp_path, out):
    made = make_progression(20, 100, 30, random_state=1)
    np.savez(tmp_path / "metabric.npz", X=made.X[20:], y=made.label[20:])
    with pytest.raises(ValueError, match="no sample of METABRIC has the label 'normal tissue'"):
        cancer.run(Settings(out=out, data_dir=tmp_path, n_processes=1))
