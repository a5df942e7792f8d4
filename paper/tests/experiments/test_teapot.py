import numpy as np
import pytest

from branchwise_paper.datasets import DatasetNotFound
from branchwise_paper.experiments import teapot
from branchwise_paper.experiments._images import turn_agreement
from branchwise_paper.experiments._rows import markdown, write_csv
from branchwise_paper.experiments.settings import Settings
from tests.experiments.test_real import turning


def ring_kernel(n):
    turn = 2 * np.pi * np.arange(n) / n
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    return np.exp(-((circle[:, None] - circle) ** 2).sum(axis=2))


def test_ring_of_a_circle_joins_consecutive_frames_whatever_their_order():
    n = 20
    shuffle = np.random.default_rng(0).permutation(n)
    kernel = ring_kernel(n)[np.ix_(shuffle, shuffle)]
    found = teapot.principal_graph(kernel, structure="ring", weight=0.1, n_components=4)
    step = np.abs(np.diff(shuffle[found["edges"]], axis=1))
    assert len(found["edges"]) == n
    assert set(step.ravel()) == {1, n - 1}


def run(tmp_path, rows, **arrays):
    folder, out = tmp_path / "data", tmp_path / "out"
    folder.mkdir()
    out.mkdir()
    np.savez(folder / "teapot.npz", X=(255 * rows).astype(np.uint8), **arrays)
    return teapot.run(Settings(out=out, data_dir=folder, quick=True, n_processes=1)), out


def test_teapot_finds_the_chain_and_the_ring(tmp_path):
    outcome, out = run(tmp_path, turning(40))
    assert outcome.files == ["teapot.png", "teapot.csv"]
    assert all((out / name).stat().st_size > 0 for name in outcome.files)
    values = {check.claim: check for check in outcome.checks}
    assert values["ring, λ = 0.1·N, d = 95%: edges that join consecutive frames"].passed
    assert "40 of the 400 frames" in outcome.text
    assert "quick" in outcome.text


def test_pictures_can_do_without_images_of_the_data(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(teapot, "draw_images", lambda *given, **options: drawn.append(given))
    _, out = run(tmp_path, turning(40))
    assert len(drawn) == 2
    dots = Settings(out=out, data_dir=tmp_path / "data", quick=True, n_processes=1, images=False)
    teapot.run(dots)
    assert len(drawn) == 2


def test_turn_agreement_tells_a_turn_from_going_to_and_fro():
    turn = 2 * np.pi * np.arange(40) / 40
    assert turn_agreement(turn) == pytest.approx(1)
    assert turn_agreement(5 - turn) == pytest.approx(1)
    to_and_fro = np.minimum(turn, 2 * np.pi - turn)
    assert turn_agreement(to_and_fro) == pytest.approx(0.5, abs=0.05)


def test_labels_of_cluhsic_follow_a_spot_that_goes_round():
    found = teapot.ring_labels(turning(40), width=0.0, narrower=1.0)
    assert turn_agreement(2 * np.pi * found["labels"] / teapot.N_LABELS) > 0.9


def test_teapot_says_so_when_frames_are_out_of_order(tmp_path):
    shuffle = np.random.default_rng(0).permutation(30)
    outcome, _ = run(tmp_path, turning(30)[shuffle])
    failed = [check for check in outcome.checks if "consecutive" in check.claim]
    assert not any(check.passed for check in failed)


def test_teapot_sorts_frames_by_the_order_of_the_file(tmp_path):
    shuffle = np.random.default_rng(0).permutation(30)
    outcome, _ = run(tmp_path, turning(30)[shuffle], order=shuffle)
    ring = [check for check in outcome.checks if check.claim.startswith("ring")]
    assert ring[0].passed


def test_teapot_needs_its_frames(tmp_path):
    with pytest.raises(DatasetNotFound, match="Teapot"):
        teapot.run(Settings(out=tmp_path, data_dir=tmp_path, n_processes=1))


def test_frames_of_another_size_are_refused(tmp_path):
    with pytest.raises(ValueError, match="Teapot has images of 300 values, but they must have"):
        run(tmp_path, np.random.default_rng(0).random((20, 300)))


def test_rows_as_markdown_and_csv(tmp_path):
    assert markdown(["a"], [[None], [1e-4]]).splitlines()[2:] == ["|  |", "| 0.0001 |"]
    write_csv(tmp_path / "t.csv", ["a", "b"], [[1.5, "x, y"], [None, 2]])
    assert (tmp_path / "t.csv").read_text() == 'a,b\n1.5,"x, y"\n,2\n'
