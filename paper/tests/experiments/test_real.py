import numpy as np
import pytest

from branchwise_paper.datasets import DatasetNotFound
from branchwise_paper.experiments import _images, real
from branchwise_paper.experiments._images import (
    consecutive,
    curve_by,
    places_along,
    roundness,
    sharpest_turn,
    slant,
)
from branchwise_paper.experiments.settings import Settings


def strokes(n, size=16):
    """Ones that lean by known angles, drawn as lines of ink with soft edges."""
    lean = np.linspace(-40, 40, n)
    row, column = np.mgrid[:size, :size] - (size - 1) / 2
    off = column + np.tan(np.radians(lean))[:, None, None] * row
    return lean, np.exp(-((off / 0.9) ** 2))


def turning(n, size=(76, 101)):
    """Frames of a bright spot that goes round, as rows in the order of Matlab's arrays."""
    row, column = np.mgrid[: size[0], : size[1]]
    turn = 2 * np.pi * np.arange(n) / n
    spot = [
        np.exp(-((row - 38 - 25 * np.sin(a)) ** 2 + (column - 50 - 35 * np.cos(a)) ** 2) / 400)
        for a in turn
    ]
    frames = np.stack([np.stack([s, 0.5 * s, 1 - s]) for s in spot])
    return frames.transpose(0, 1, 3, 2).reshape(n, -1)


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "data"
    place.mkdir()
    np.savez(place / "teapot.npz", X=(255 * turning(24)).astype(np.uint8))
    rng = np.random.default_rng(0)
    _, images = strokes(80)
    images = np.clip(images + 0.05 * rng.standard_normal(images.shape), 0, 1)
    np.savez(place / "usps_ones.npz", X=(255 * images.transpose(0, 2, 1)).reshape(80, 256))
    return place


def test_slant_is_that_of_drawn_strokes():
    lean, images = strokes(17)
    # A stroke that leaves the image is cut off, which draws the steepest a little upright.
    assert np.allclose(slant(images), lean, atol=2)
    assert np.allclose(slant(images[:, :, ::-1]), -slant(images))


def test_consecutive_counts_steps_of_one_also_around_the_end():
    edges = np.array([[0, 1], [2, 1], [0, 9], [3, 5]])
    assert consecutive(edges, 10) == 3
    assert consecutive(edges, 11) == 2


def test_roundness_falls_when_frames_are_out_of_order():
    turn = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    assert roundness(circle) == pytest.approx(1)
    assert roundness(circle[::-1]) == pytest.approx(1)
    assert roundness(circle[np.random.default_rng(0).permutation(40)]) < 0.5


def test_sharpest_turn_of_polygon_and_circle():
    corner = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 2.0]])
    assert sharpest_turn(corner) == pytest.approx(90, abs=1)
    turn = np.linspace(0, np.pi, 400)
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    assert sharpest_turn(circle, 0.1) == pytest.approx(18, abs=1)


def test_places_along_a_curve_are_in_order():
    t = np.linspace(0, np.pi, 100)
    points = np.column_stack([np.cos(t), np.sin(t)])
    places = places_along(points, 0.01)
    assert abs(np.corrcoef(places, t)[0, 1]) > 0.99
    assert places.min() == pytest.approx(0, abs=1e-9)
    assert places.max() == pytest.approx(1)


def test_curve_by_a_value_follows_noisy_points():
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 10, 2000)
    points = np.column_stack([np.cos(t / 4), np.sin(t / 4)])
    curve = curve_by(t, points + 0.1 * rng.standard_normal(points.shape), 0.5)
    assert np.allclose(np.linalg.norm(curve, axis=1), 1, atol=0.05)


def test_spaced_images_never_overlap_and_leave_no_room():
    places = np.random.default_rng(0).random((300, 2))
    chosen = _images.spaced(places, 0.1, 0.2)
    gap = np.abs(places[chosen, None] - places[chosen])
    covers = ((gap < (0.1, 0.2)).all(axis=2)).sum(axis=1)
    assert (covers == 1).all()  # itself
    gap = np.abs(places[:, None] - places[chosen])
    assert (gap < (0.1, 0.2)).all(axis=2).any(axis=1).all()


def test_images_are_laid_beside_points():
    turn = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    points = 100 * np.column_stack([np.cos(turn), np.sin(turn)])
    boxes = _images.beside(points[::6], points, 30, 20)
    gap = np.abs(boxes[:, None] - boxes) - (30, 20)
    assert ((gap < -0.1).all(axis=2)).sum() == len(boxes)
    assert not (np.abs(boxes[:, None] - points) < (15, 10)).all(axis=2).any()


def test_image_kernel_is_the_papers():
    X = np.random.default_rng(0).random((6, 20))
    Y = (X - X.mean(axis=0)) / X.std(axis=0)
    for i in range(6):
        for j in range(6):
            value = np.exp(-((Y[i] - Y[j]) ** 2).sum() / 20)
            assert _images.image_kernel(X)[i, j] == pytest.approx(value, rel=1e-10)


def test_rgb_undoes_the_order_of_matlab():
    image = np.random.default_rng(0).random((4, 5, 3))
    assert np.array_equal(_images.rgb(image.ravel(order="F")[None], 4, 5)[0], image)


def test_units_of_pixels_decide_whether_anything_is_learned():
    X = np.random.default_rng(0).random((30, 40))
    arguments = {"gamma": 1e-3, "n_neighbors": 4, "n_components": 2}
    with pytest.warns(UserWarning, match="scale"):
        raw = real.skeleton(X, scaling="pixels 0–255", **arguments)
    assert raw["n_active"] == 0
    assert real.skeleton(X, scaling="auto", **arguments)["n_active"] > 0


def test_real_draws_measures_and_tells(folder, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    outcome = real.run(Settings(out=out, data_dir=folder, quick=True, n_processes=1))
    assert outcome.files == ["real.png", "real.csv"]
    assert all((out / name).stat().st_size > 0 for name in outcome.files)
    assert "quick" in outcome.text
    assert "24 of the paper's 400 frames" in outcome.text
    checks = {check.claim: check for check in outcome.checks}
    # A spot that goes round and strokes that lean: the truth is plain here.
    tours = [check for claim, check in checks.items() if "tour" in claim]
    assert [check.value for check in tours] == [24, 24]
    ranks = [check.value for claim, check in checks.items() if "rank" in claim]
    assert len(ranks) == 2
    assert min(ranks) > 0.95


def test_real_takes_what_is_there(folder, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (folder / "teapot.npz").unlink()
    outcome = real.run(Settings(out=out, data_dir=folder, quick=True, n_processes=1))
    assert not any("teapot" in check.claim for check in outcome.checks)
    (folder / "usps_ones.npz").unlink()
    with pytest.raises(DatasetNotFound, match="Teapot"):
        real.run(Settings(out=out, data_dir=folder, quick=True, n_processes=1))


def test_images_of_another_size_are_refused(folder, tmp_path):
    np.savez(folder / "usps_ones.npz", X=np.random.default_rng(0).random((40, 100)))
    with pytest.raises(ValueError, match="USPS ones has images of 100 values, but they must have"):
        real.run(Settings(out=tmp_path, data_dir=folder, datasets=("USPS ones",)))


def test_a_fit_that_fails_is_a_claim_that_fails(folder):
    data = real._found(Settings(out=folder, data_dir=folder, datasets=("usps_ones",)))
    good = {"spearman": 0.95, "off_middle": 0.1, "turns": [9.0] * len(real.WIDTHS)}
    best = {("usps_ones", 0.0): good, ("usps_ones", 1e-3): {"error": "ValueError: no"}}
    assert [check.passed for check in real._checks(data, best)] == [True, True, False, False, False]


def test_units_without_active_edges_are_named():
    rows = [{"dataset": "Teapot", "scaling": "pixels 0–1", "active": 0}, {"error": "no"}]
    assert "None is active here: Teapot in pixels 0–1. Then" in real._idle_words(rows)
    assert real._idle_words(rows[1:]) == ""


def test_images_stay_within_the_frame_and_beside_each_other():
    places = np.array([[5.0, 9.0], [5.0, 9.5]])
    frame = np.array([[0.0, 0.0], [10.0, 10.0]])
    boxes = _images.beside(places, places, 2.0, 2.0, within=frame)
    assert (boxes >= 1).all()
    assert (boxes <= 9).all()
    assert np.abs(boxes[0] - boxes[1]).max() >= 1.99
