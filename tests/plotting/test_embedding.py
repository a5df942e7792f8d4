import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from ramify.graph import adjacency
from ramify.plotting import plot_tree

mpl.use("agg")


@pytest.fixture
def picture(rng):
    centers = rng.normal(size=(4, 2))
    tree = adjacency(np.array([[0, 1], [1, 2], [1, 3]]), 4)
    figure, ax = plt.subplots()
    yield rng.normal(size=(30, 2)), centers, tree, ax
    plt.close(figure)


def test_every_edge_is_drawn_between_its_centres(picture):
    embedding, centers, tree, ax = picture
    assert plot_tree(embedding, centers, tree, ax=ax) is ax
    drawn = {tuple(map(tuple, s)) for s in ax.collections[-1].get_segments()}
    assert drawn == {(tuple(centers[i]), tuple(centers[j])) for i, j in [(0, 1), (1, 2), (1, 3)]}


def test_labels_get_a_legend_with_counts(picture):
    embedding, centers, tree, ax = picture
    plot_tree(embedding, centers, tree, ax=ax, labels=["b"] * 20 + ["a"] * 10)
    assert {t.get_text() for t in ax.get_legend().get_texts()} == {"a (10)", "b (20)"}
    assert sum(len(c.get_offsets()) for c in ax.collections[:-1]) == 30


def test_one_component_cannot_be_drawn(picture):
    embedding, centers, tree, ax = picture
    with pytest.raises(ValueError, match=r"1 column.*needs 2; fit with n_components=2"):
        plot_tree(embedding[:, :1], centers, tree, ax=ax)


def test_more_categories_than_colours_is_an_error(picture):
    embedding, centers, tree, ax = picture
    with pytest.raises(ValueError, match=r"30 categories but at most 8.*merge"):
        plot_tree(embedding, centers, tree, ax=ax, labels=np.arange(30))


def test_many_points_are_rasterised(rng, picture):
    _, centers, tree, ax = picture
    plot_tree(rng.normal(size=(6000, 2)), centers, tree, ax=ax)
    assert ax.collections[0].get_rasterized()
