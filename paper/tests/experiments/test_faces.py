import numpy as np
import pytest

from branchwise_paper.datasets import make_faces
from branchwise_paper.experiments import faces
from branchwise_paper.experiments.settings import Settings


def chained(blocks):
    """Blocks of three nodes, each a chain, one after the other."""
    n = 3 * len(blocks)
    subject = np.repeat([b[0] for b in blocks], 3)
    expression = np.repeat([b[1] for b in blocks], 3)
    return np.column_stack([np.arange(n - 1), np.arange(1, n)]), subject, expression


NINE = [(s, e) for s in ("a", "b", "c") for e in ("x", "y", "z")]


def test_nine_chained_blocks_are_the_ideal():
    assert faces.blocks_of(*chained(NINE)) == faces.Blocks(8, 2, 3, 9, 26)


def test_blocks_out_of_order_are_seen():
    edges, subject, expression = chained([NINE[k] for k in (0, 3, 1, 2, 4, 5, 6, 7, 8)])
    found = faces.blocks_of(edges, subject, expression)
    assert found.between_blocks == 8
    assert found.between_subjects == 4
    assert found.whole_subjects == 1
    mixed = expression.copy()
    mixed[[0, 6]] = mixed[[6, 0]]
    assert faces.blocks_of(edges, subject, mixed).whole_blocks < 9


def test_middle_of_a_star_is_its_hub():
    edges = np.array([[4, k] for k in (0, 1, 2, 3, 5, 6)])
    assert faces.middle(edges, 7) == 4


def test_light_is_taken_away_and_faces_are_left():
    made = make_faces(2, noise=0, random_state=0)
    images = made.X.reshape(-1, 77, 54, 3)
    light = 1 + 0.2 * np.linspace(-1, 1, 54)[:, None]
    plain, lit = (
        faces.evenly_lit(images),
        faces.evenly_lit(np.concatenate([images, images * light])),
    )
    before = np.abs(images * light - images).mean()
    assert np.abs(lit[: len(images)] - lit[len(images) :]).mean() < 0.1 * before
    assert plain.std() > 0.1


def run(tmp_path, folder):
    out = tmp_path / "out"
    out.mkdir()
    return faces.run(Settings(out=out, data_dir=folder, quick=True, n_processes=1)), out


def test_stand_in_says_so_everywhere(tmp_path):
    outcome, out = run(tmp_path, tmp_path)
    assert "stand-in (rendered)" in outcome.title
    assert "stand-in (rendered)" in outcome.text
    assert all("stand-in (rendered)" in check.data for check in outcome.checks)
    assert all((out / name).stat().st_size > 0 for name in outcome.files)
    checks = {check.claim: check for check in outcome.checks}
    assert checks["edges between subjects"].passed


def photographs(folder, **arrays):
    """Plain images of the right size: one colour for each block, and a little noise."""
    rng = np.random.default_rng(0)
    subject = np.repeat(["CH", "AR", "LE"], 9)
    expression = np.tile(np.repeat(["NE", "HA", "SO"], 3), 3)
    level = {"CH": 40, "AR": 120, "LE": 200}
    shade = {"NE": 0, "HA": 15, "SO": 30}
    base = np.array([level[s] + shade[e] for s, e in zip(subject, expression, strict=True)])
    X = base[:, None] + rng.integers(0, 5, (27, 3 * 308 * 217))
    everything = {"X": X.astype(np.uint8), "subject": subject, "expression": expression} | arrays
    kept = {name: array for name, array in everything.items() if array is not None}
    np.savez(folder / "faces.npz", **kept)


def test_photographs_are_used_when_there(tmp_path):
    photographs(tmp_path)
    outcome, _ = run(tmp_path, tmp_path)
    assert "stand-in" not in outcome.title + outcome.text
    assert all("real" in check.data for check in outcome.checks)
    assert all(check.passed for check in outcome.checks)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"expression": None}, "no array expression"),
        ({"X": np.ones((27, 300))}, "images of 300 values, but they must have"),
    ],
)
def test_files_that_lack_something_are_told(tmp_path, arrays, message):
    photographs(tmp_path, **arrays)
    with pytest.raises(ValueError, match=message):
        run(tmp_path, tmp_path)
