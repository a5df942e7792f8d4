"""The comparison of pictures can fail."""

import matplotlib.pyplot as plt
import pytest

from branchwise.plotting import plot_embedding

from .conftest import WRITE


@pytest.fixture
def compare_only(monkeypatch):
    monkeypatch.delenv(WRITE, raising=False)


def square(color):
    ax = plt.figure(figsize=(2, 2)).subplots()
    return plot_embedding([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]], color=color, ax=ax)


def test_the_same_picture_passes(same_picture):
    same_picture(square(["a", "b", "c"]), "three_points")


@pytest.mark.usefixtures("compare_only")
@pytest.mark.parametrize("color", [["a", "b", "a"], ["b", "a", "c"]], ids=["fewer", "exchanged"])
def test_another_colour_fails_and_leaves_the_difference(same_picture, tmp_path, color):
    with pytest.raises(AssertionError, match=r"three_points.png differs; if this is meant"):
        same_picture(square(color), "three_points")
    assert {path.name for path in tmp_path.iterdir()} == {
        "three_points.png",
        "three_points-expected.png",
        "three_points-failed-diff.png",
    }


@pytest.mark.usefixtures("compare_only")
def test_a_picture_that_is_not_stored_fails(same_picture):
    with pytest.raises(AssertionError, match=f"no stored picture unheard.png; .* {WRITE}=1"):
        same_picture(square(None), "unheard")
