import numpy as np
import pytest
from matplotlib.colors import to_hex

from branchwise import DDRTree
from branchwise.plotting import (
    plot_branch_graph,
    plot_embedding,
    plot_heatmap,
    plot_layout,
    plot_trends,
)
from branchwise.plotting.coloring import BRANCH_COLORS, CATEGORY_COLORS, category_colors
from branchwise.plotting.scene import branch_coloring, branch_colors

from . import scenes


@pytest.mark.parametrize("plot", [plot_layout, plot_branch_graph], ids=lambda plot: plot.__name__)
def test_an_estimator_is_no_trajectory(plot):
    with pytest.raises(TypeError, match=r"path is a DDRTree but must be a Trajectory; make one"):
        plot(DDRTree(2))


@pytest.mark.parametrize("plot", [plot_trends, plot_heatmap], ids=lambda plot: plot.__name__)
def test_an_estimator_has_no_features_along_it(plot):
    with pytest.raises(TypeError, match=r"path is a DDRTree but must be a Trajectory; make one"):
        plot(DDRTree(2), np.ones((3, 1)))


def test_some_of_a_few_branches_keep_their_colours():
    path = scenes.tree(100)
    colors = branch_colors(path, np.arange(5))
    assert np.array_equal(branch_colors(path, np.array([3, 1])), colors[[3, 1]])


def test_some_of_many_branches_get_colours_of_their_own():
    path = scenes.comb(12, 200)
    assert len(path.branch_table_) == 25
    rows = np.array([20, 3, 11])
    coloring = branch_coloring(path, rows)
    assert coloring.labels == tuple(path.branch_table_.index[rows])
    assert len(np.unique(branch_colors(path, rows), axis=0)) == 3
    on_them = np.isin(path.view.branches.placed.edge, rows)
    assert np.array_equal(coloring.values >= 0, on_them)


def test_many_branches_share_the_last_colour():
    path = scenes.comb(12, 200)
    colors = branch_colors(path, np.arange(25))
    assert len(np.unique(colors, axis=0)) == len(category_colors(16))


def drawn_colors(ax):
    """The colours of points, lines, wedges and rectangles, without their transparency."""
    found = {to_hex(line.get_color()) for line in ax.get_lines()}
    found |= {to_hex(patch.get_facecolor()) for patch in ax.patches}
    for collection in ax.collections:
        for color in np.reshape(collection.get_facecolor(), (-1, 4)):
            found.add(to_hex(color))
    return {color.upper() for color in found}


@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(lambda path, _: plot_embedding(path, color="branch"), id="embedding"),
        pytest.param(lambda path, _: plot_layout(path), id="layout"),
        pytest.param(lambda path, _: plot_branch_graph(path), id="branch graph"),
        pytest.param(lambda path, X: plot_trends(path, X, features=0), id="trends"),
        pytest.param(lambda path, X: plot_heatmap(path, X, to="T3"), id="heat map"),
    ],
)
def test_branches_have_colours_that_no_category_has(draw):
    path = scenes.tree(100)
    values = np.random.default_rng(0).standard_normal((100, 2))
    colors = drawn_colors(draw(path, values))
    assert len(colors & set(BRANCH_COLORS)) >= 2
    assert not colors & (set(CATEGORY_COLORS) - {"#000000"})  # in black are lines and text


def test_categories_keep_their_colours():
    path = scenes.tree(100)
    colors = drawn_colors(plot_layout(path, color=np.array(["a", "b"])[np.arange(100) % 2]))
    assert {*CATEGORY_COLORS[:2]} <= colors
    assert not colors & set(BRANCH_COLORS)
