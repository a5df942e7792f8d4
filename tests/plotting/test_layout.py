import io
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.text import Text

from branchwise.plotting import plot_layout
from branchwise.trajectory import Trajectory
from branchwise.trajectory.layout import tree_layout

from . import scenes


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_tree_by_branch(same_picture):
    same_picture(plot_layout(scenes.tree()), "layout_tree")


def test_ring_with_its_closing(same_picture):
    same_picture(plot_layout(scenes.ring(), color="pseudotime"), "layout_ring")


def test_cycle_with_twigs(same_picture):
    same_picture(plot_layout(scenes.cyclic()), "layout_cyclic")


def test_forest(same_picture):
    path = scenes.forest()
    labels = np.where(path.distance_ > 0.1, "far", "near")
    same_picture(plot_layout(path, color=labels), "layout_forest")


def test_forty_branches(same_picture):
    same_picture(plot_layout(scenes.comb(20, 1000)), "layout_comb")


def test_samples_are_at_their_places_and_their_branch_has_its_colour():
    path = scenes.tree(50)
    ax = plot_layout(path)
    drawn = ax.collections[0].get_offsets()
    assert sorted(drawn.tolist()) == sorted(tree_layout(path).samples.tolist())
    entries = [text.get_text() for text in ax.get_legend().get_texts()]
    counts = path.branch_table_.n_samples
    assert entries == [f"{name} ({n})" for name, n in counts.items() if n]


def test_milestones_are_named_and_roots_marked():
    path = scenes.forest()
    named = [f"{name}\nroot" if row.is_root else name for name, row in path.milestones_.iterrows()]
    counted = [f"n = {n}" for n in path.branch_table_["n_samples"]]
    assert sorted(texts(plot_layout(path))) == sorted(named + counted)


def test_support_is_written_beside_branches_and_unsure_ones_are_dashed():
    path = scenes.tree()
    table = path.branch_table_.assign(support=[1.0, 0.9, 0.4, 0.8, 0.79])
    ax = plot_layout(path.with_support(SimpleNamespace(branches_=table)))
    told = {f"n = {row.n_samples}, {100 * row.support:.0f} % support" for row in table.itertuples()}
    assert told <= set(texts(ax))
    dashed = [line.get_ydata()[-1] for line in ax.lines if line.get_linestyle() == "--"]
    assert sorted(dashed) == sorted(tree_layout(path).across[[2, 4]])
    words = [text.get_text() for text in ax.texts]
    assert "dashed: found again in fewer than 80 % of the resamples" in words


def test_names_cover_neither_one_another_nor_samples():
    ax = plot_layout(scenes.tree(120))
    ax.figure.draw_without_rendering()
    boxes = [Text.get_window_extent(text) for text in ax.texts]
    for k, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[:k])
    places = ax.transData.transform(ax.collections[0].get_offsets())
    assert not any(box.contains(*place) for box in boxes for place in places)


def test_of_too_many_milestones_the_first_are_named():
    ax = plot_layout(scenes.comb(300, 600))
    assert "T2" in texts(ax)
    assert "T300" not in texts(ax)
    assert ax.get_title(loc="left").endswith("of 602 milestones are named")


def test_given_axes_are_used_and_no_figure_made():
    _, ax = plt.subplots()
    n_figures = len(plt.get_fignums())
    assert plot_layout(scenes.tree(20), ax=ax) is ax
    assert len(plt.get_fignums()) == n_figures
    assert ax.get_xlabel() == "pseudotime"


def test_settings_stay_as_they_are():
    before = dict(plt.rcParams)
    plot_layout(scenes.tree(20))
    assert dict(plt.rcParams) == before


def test_a_million_samples_make_a_small_file():
    path = scenes.tree(1_000_000)
    ax = plot_layout(path, color=path.distance_)
    file = io.BytesIO()
    ax.figure.savefig(file, format="svg")
    assert len(file.getvalue()) < 500_000
    height, width = ax.images[0].get_array().shape[:2]
    assert width > 300
    assert height > 100


@pytest.mark.parametrize("n_samples", [1, 2])
def test_few_samples(n_samples):
    path = Trajectory([[0, 1], [1, 2], [1, 3]], np.eye(4), np.eye(4)[:n_samples])
    ax = plot_layout(path)
    assert len(ax.collections[0].get_offsets()) == n_samples


def test_a_trajectory_without_length():
    path = Trajectory(np.empty((0, 2), dtype=int), [[1.0, 2.0]], [[0.0, 0.0], [1.0, 1.0]])
    ax = plot_layout(path)
    ax.figure.canvas.draw()
    assert np.array_equal(ax.collections[0].get_offsets()[:, 0], [0, 0])


def test_hostile_labels_are_shown_as_they_are():
    path = scenes.tree(30)
    labels = np.array(["$x", "_a", "<b>"])[np.arange(30) % 3]
    ax = plot_layout(path, color=labels, color_name="$cost")
    ax.figure.canvas.draw()
    entries = {text.get_text().replace("\\", "") for text in ax.get_legend().get_texts()}
    assert entries == {"$x (10)", "_a (10)", "<b> (10)"}


def test_wrong_colours_are_told():
    with pytest.raises(ValueError, match=r"color has shape \(7,\) but there are 30 points"):
        plot_layout(scenes.tree(30), color=np.arange(7))
    with pytest.raises(ValueError, match="color='stage' is neither a column of samples_"):
        plot_layout(scenes.tree(30), color="stage")
    with pytest.raises(ValueError, match="legend='left' must be"):
        plot_layout(scenes.tree(30), legend="left")
