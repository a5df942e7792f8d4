from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import PathCollection

from branchwise.datasets import make_tree
from branchwise.plotting import plot_branch_graph
from branchwise.plotting.coloring import BRANCH_COLORS
from branchwise.trajectory import Trajectory, learn_trajectory

from . import scenes


def thirds(path):
    """Three stages, by time."""
    return np.array(["early", "middle", "late"])[(2.999 * path.pseudotime_scaled_).astype(int)]


def pies(ax):
    """The collection of wedges."""
    (found,) = [c for c in ax.collections if isinstance(c, PathCollection) and c.get_zorder() == 5][
        :1
    ]
    return found


def test_tree_of_discs(same_picture):
    same_picture(plot_branch_graph(scenes.tree()), "branch_graph_tree")


def test_pies_of_labels(same_picture):
    path = scenes.tree()
    same_picture(plot_branch_graph(path, labels=thirds(path)), "branch_graph_pies")


def test_graph_in_its_space(same_picture):
    path = scenes.cyclic()
    ax = plot_branch_graph(path, labels=thirds(path), layout="embedding")
    same_picture(ax, "branch_graph_space")


def test_cycle_is_closed_by_a_dotted_line(same_picture):
    same_picture(plot_branch_graph(scenes.cyclic()), "branch_graph_cyclic")


def test_ring(same_picture):
    same_picture(plot_branch_graph(scenes.ring()), "branch_graph_ring")


def test_area_is_proportional_to_the_number_of_samples():
    path = scenes.tree(500)
    sizes, counts = pies(plot_branch_graph(path)).get_sizes(), path.branch_table_.n_samples
    assert sizes / sizes.sum() == pytest.approx(np.sort(counts)[::-1] / 500)


@pytest.mark.parametrize("figsize", [(12, 2), (2, 9)], ids=["flat", "tall"])
def test_pies_are_round_and_apart_on_any_axes(figsize):
    path = scenes.tree()
    _, ax = plt.subplots(figsize=figsize)
    plot_branch_graph(path, labels=thirds(path), ax=ax)
    ax.figure.canvas.draw()
    found = pies(ax)
    scale = np.array([transform[[0, 1], [0, 1]] for transform in found.get_transforms()])
    assert scale[:, 0] == pytest.approx(scale[:, 1])
    centre, row = np.unique(found.get_offsets(), axis=0, return_index=True)
    centre, radius = ax.transData.transform(centre), scale[row, 0]
    apart = np.linalg.norm(centre[:, np.newaxis] - centre, axis=2)
    assert np.all((apart >= radius[:, np.newaxis] + radius)[~np.eye(len(radius), dtype=bool)])


def test_pies_are_whole_within_the_axes():
    ax = plot_branch_graph(scenes.tree())
    ax.figure.canvas.draw()
    found = pies(ax)
    radius = np.array([transform[0, 0] for transform in found.get_transforms()])[:, np.newaxis]
    centre = ax.transData.transform(found.get_offsets())
    assert np.all(centre - radius >= ax.bbox.min)
    assert np.all(centre + radius <= ax.bbox.max)


def test_wedges_have_the_angles_of_their_shares():
    nodes = np.array([[0.0, 0.0], [1.0, 0.0]])
    path = Trajectory([[0, 1]], nodes, np.linspace(nodes[0], nodes[1], 8))
    ax = plot_branch_graph(path, labels=["a", "a", "b", None, "b", "b", "b", "b"])
    wedges = [wedge.to_polygons()[0] for wedge in pies(ax).get_paths()]
    x, y = wedges[0].T
    area = np.abs(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1])) / 2
    assert area == pytest.approx(np.pi * 2 / 8, rel=0.01)
    assert np.all(x > -0.01)  # clockwise from the top
    entries = [text.get_text() for text in ax.get_legend().get_texts()]
    assert entries == ["a (2)", "b (5)", "missing (1)"]


def test_sizes_and_support_are_written():
    data = make_tree(300, 10, noise=0.1, random_state=0)  # simulated
    path = learn_trajectory(data.X, support=0)
    support = path.support(data.X, n_resamples=2, random_state=0, progress=False)
    table = support.branches_
    written = [text.get_text() for text in plot_branch_graph(path, support=support).texts]
    expected = [f"{row.n_samples:.0f}\n{100 * row.support:.0f} %" for _, row in table.iterrows()]
    assert [text for text in written if "%" in text and "dashed" not in text] == expected
    other = plot_branch_graph(path)
    assert [text.get_text() for text in other.texts[:3]] == [str(n) for n in table.n_samples]
    with pytest.raises(ValueError, match="support is about the branches T1-F1, F1-T2, F1-T3, but"):
        plot_branch_graph(scenes.tree(30), support=support)
    with pytest.raises(TypeError, match=r"support is a DataFrame but must be what path\.support"):
        plot_branch_graph(path, support=table)


def test_lines_are_the_wider_the_better_supported():
    path = scenes.tree(100)

    class Found:
        branches_ = path.branch_table_.assign(support=[1.0, 0.5, 0.0, 1.0, np.nan])

    ax = plot_branch_graph(path, support=Found())
    sure, unsure = (lines.get_linewidths() for lines in ax.collections[:2])
    # Each branch has a line before its disc and one after it.
    assert list(sure) == [3.5, 3.5, 0.8, 3.5, 3.5, 0.8]
    assert list(unsure) == pytest.approx([2.15, 0.8, 2.15, 0.8])
    assert [lines.get_linestyle()[0][1] is None for lines in ax.collections[:2]] == [True, False]
    assert not any("nan" in text.get_text() for text in ax.texts)


def test_a_trajectory_brings_its_own_support():
    path = scenes.tree(100)
    table = path.branch_table_.assign(support=[1.0, 0.5, 0.9, 1.0, 1.0])
    surer = path.with_support(SimpleNamespace(branches_=table))
    ax = plot_branch_graph(surer)
    assert f"{table.n_samples.iloc[1]}\n50 %" in [text.get_text() for text in ax.texts]
    words = [text.get_text() for text in ax.texts]
    assert "dashed: found again in fewer than 80 % of the resamples" in words
    assert not any("dashed" in text.get_text() for text in plot_branch_graph(path).texts)


def test_a_branch_without_samples_is_a_cross():
    path = scenes.tree(100, noise=0.0, counted=[0, 1, 2])
    assert (path.branch_table_.n_samples == 0).sum() == 2
    ax = plot_branch_graph(path)
    crosses = [c for c in ax.collections if c.get_zorder() == 5][1]
    assert len(crosses.get_offsets()) == 2
    assert [text.get_text() for text in ax.texts].count("0") == 2
    ax.figure.canvas.draw()


def test_branches_have_the_colours_of_other_pictures():
    path = scenes.tree(400)
    ax = plot_branch_graph(path)
    colors = pies(ax).get_facecolors()
    order = np.argsort(-path.branch_table_.n_samples.to_numpy(), kind="stable")
    expected = plt.matplotlib.colors.to_rgba_array(BRANCH_COLORS[:5])[order]
    assert np.array_equal(colors, expected)


def test_more_branches_than_colours_are_alike():
    ax = plot_branch_graph(scenes.comb(12, 200))
    assert len(np.unique(pies(ax).get_facecolors(), axis=0)) == 1
    assert ax.get_legend() is None


def test_one_sample():
    path = Trajectory([[0, 1], [1, 2], [1, 3]], np.eye(4), np.eye(4)[:1])
    ax = plot_branch_graph(path, labels=["only"])
    ax.figure.canvas.draw()
    assert len(pies(ax).get_paths()) == 1


def test_a_million_samples_are_a_few_shapes():
    path = scenes.tree(1_000_000)
    ax = plot_branch_graph(path, labels=path.branch_position_ > 0.5)
    assert len(pies(ax).get_paths()) == 10
    assert "missing" not in str([text.get_text() for text in ax.get_legend().get_texts()])


def test_hostile_labels_are_shown_as_they_are():
    path = scenes.tree(30)
    labels = np.array(["$x", "_a", "<b>"])[np.arange(30) % 3]
    ax = plot_branch_graph(path, labels=labels, label_name="$")
    ax.figure.canvas.draw()
    entries = {text.get_text().replace("\\", "") for text in ax.get_legend().get_texts()}
    assert entries == {"$x (10)", "_a (10)", "<b> (10)"}


def test_wrong_input_is_told():
    path = scenes.tree(30)
    with pytest.raises(ValueError, match=r"labels has shape \(3,\) but there are 30 points"):
        plot_branch_graph(path, labels=["a", "b", "c"])
    with pytest.raises(ValueError, match="layout='round' must be 'tree' or 'embedding'"):
        plot_branch_graph(path, layout="round")
    line = Trajectory([[0, 1]], [[0.0], [1.0]])
    with pytest.raises(ValueError, match=r"needs two dimensions .* pass layout='tree'"):
        plot_branch_graph(line, layout="embedding")
    plot_branch_graph(line)
