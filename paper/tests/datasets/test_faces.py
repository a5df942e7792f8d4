import numpy as np
import pytest

from branchwise_paper.datasets import make_faces


@pytest.fixture(scope="module")
def faces():
    return make_faces(4, random_state=0)


def test_faces_are_images_of_three_by_three_blocks(faces):
    assert faces.X.shape == (36, 77 * 54 * 3)
    assert faces.X.min() >= 0
    assert faces.X.max() <= 1
    blocks = list(zip(faces.subject, faces.expression, strict=True))
    assert len(set(blocks)) == 9
    assert all(blocks.count(block) == 4 for block in set(blocks))
    assert "no photographs" in faces.description


def test_faces_are_decided_by_their_seed(faces):
    assert np.array_equal(make_faces(4, random_state=0).X, faces.X)
    assert not np.array_equal(make_faces(4, random_state=1).X, faces.X)


def test_repetitions_differ_less_than_subjects(faces):
    distance = np.linalg.norm(faces.X[:, None] - faces.X, axis=2)
    same = faces.subject[:, None] == faces.subject
    repeated = same & (faces.expression[:, None] == faces.expression)
    np.fill_diagonal(repeated, False)
    assert 0 < distance[repeated].mean() < distance[~same].mean()
    assert distance[repeated].min() > 1  # no image twice


def test_shock_opens_the_mouth_and_a_smile_lifts_its_corners():
    faces = make_faces(6, noise=0, random_state=0)
    images = faces.X.reshape(-1, 77, 54, 3)
    mouth = images[:, 45:60, 22:32].mean(axis=(1, 2, 3))
    for subject in np.unique(faces.subject):
        dark = {
            look: mouth[(faces.subject == subject) & (faces.expression == look)].mean()
            for look in ("NE", "HA", "SO")
        }
        assert dark["SO"] < dark["NE"]
        assert dark["SO"] < dark["HA"]


def test_noise_is_that_of_pixels():
    quiet, loud = (make_faces(1, noise=noise, random_state=0).X for noise in (0, 0.05))
    inner = (loud > 0) & (loud < 1)
    assert np.std((loud - quiet)[inner]) == pytest.approx(0.05, rel=0.05)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_repeats": 0}, "n_repeats=0 must be"),
        ({"noise": -1}, "noise=-1 must be a finite number of at least 0"),
        ({"random_state": "a"}, "random_state='a' must be"),
    ],
)
def test_wrong_arguments_are_told(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_faces(**arguments)
