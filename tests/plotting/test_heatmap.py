import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex

from branchwise.plotting import plot_heatmap
from branchwise.plotting.coloring import BRANCH_COLORS
from branchwise.trajectory import Trajectory

from . import scenes

pytestmark = pytest.mark.usefixtures("one_thread")


def rows(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def tip_of(path):
    """The tip with the longest way."""
    return path.milestones_.pseudotime.idxmax()


def fixed_axes():
    """At a place that no layout engine chooses: each release of matplotlib has another."""
    return plt.figure(figsize=(5, 4)).subplots()


def test_features_along_a_way(same_picture):
    path = scenes.tree()
    ax = plot_heatmap(path, scenes.waves(path, 20), to=tip_of(path), ax=fixed_axes())
    same_picture(ax, "heatmap_tree")


def test_ring_in_units_of_the_features(same_picture):
    path = scenes.ring()
    ax = plot_heatmap(path, path.view.points, ["x", "y"], standardize=False, ax=fixed_axes())
    assert ax.get_xlabel() == "length of the way from the root"
    same_picture(ax, "heatmap_ring")


def test_features_that_are_constant_or_missing_come_last(same_picture):
    path = scenes.tree()
    values = np.column_stack([np.full(300, np.nan), np.full(300, 2.0), scenes.waves(path, 3)])
    ax = plot_heatmap(path, values, list("abcde"), ax=fixed_axes())
    assert sorted(rows(ax)[3:]) == ["a (no trend)", "b (constant)"]
    same_picture(ax, "heatmap_constant")


def test_rows_are_in_the_order_of_their_peaks():
    path = scenes.tree(500)
    values, tip = scenes.waves(path, 6), tip_of(path)
    names = [f"gene {k}" for k in range(6)]
    shuffled = [3, 0, 5, 1, 4, 2]
    ax = plot_heatmap(path, values[:, shuffled], [names[k] for k in shuffled], to=tip)
    assert rows(ax) == names


def test_the_strip_shows_the_branches_of_the_way():
    path = scenes.tree()
    tip = tip_of(path)
    ax = plot_heatmap(path, scenes.waves(path, 5), to=tip)
    way = path.lineages_[tip]
    colors = dict(zip(path.branch_table_.index, BRANCH_COLORS[:5], strict=True))
    assert [to_hex(p.get_facecolor()).upper() for p in ax.patches] == [colors[b] for b in way]
    assert [patch.get_width() for patch in ax.patches] == pytest.approx(
        path.branch_table_.length[way].tolist()
    )
    (names,) = ax.child_axes
    assert [label.get_text() for label in names.get_xticklabels()] == way


def test_a_title_is_above_the_names_of_the_branches():
    path = scenes.tree(60)
    ax = plot_heatmap(path, scenes.waves(path, 3))
    ax.set_title("title")
    ax.figure.canvas.draw()
    names = [label.get_window_extent() for label in ax.child_axes[0].get_xticklabels()]
    assert ax.title.get_window_extent().y0 > max(box.y1 for box in names)


def test_stretches_without_samples_are_blank_and_named():
    time = np.concatenate([np.linspace(0, 4, 80), np.linspace(7, 10, 60)])
    path = Trajectory([[0, 1]], [[0.0], [10.0]], time[:, np.newaxis])
    ax = plot_heatmap(path, np.column_stack([time, np.sin(time)]), n_bins=20)
    blank = np.ma.getmaskarray(ax.collections[0].get_array()).reshape(2, 20)
    # Bins of half a unit, whose middles lie farther than 0.05 from all samples.
    assert np.array_equal(np.flatnonzero(blank[0]), np.arange(8, 14))
    assert np.array_equal(blank[0], blank[1])
    assert ax.get_xlim() == (0.0, 10.0)
    (entry,) = ax.figure.axes[1].get_legend().get_texts()
    assert entry.get_text() == "no samples"
    full = plot_heatmap(scenes.tree(), scenes.waves(scenes.tree(), 2))
    assert full.figure.axes[1].get_legend() is None


def test_two_hundred_features_stay_readable():
    path = scenes.tree()
    ax = plot_heatmap(path, scenes.waves(path, 200))
    ax.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    heights = [box.height / ax.figure.dpi * 72 for box in boxes]
    assert min(heights) >= 4
    apart = -np.diff([(box.y0 + box.y1) / 2 for box in boxes])
    assert np.all(apart >= 0.8 * boxes[0].height)
    assert ax.get_ylabel() == "200 features, every 2nd named"


def test_given_axes_are_used():
    path = scenes.tree(60)
    figure, ax = plt.subplots()
    assert plot_heatmap(path, scenes.waves(path, 3), ax=ax) is ax
    assert len(figure.axes) == 2  # with the colour bar
    assert figure.axes[1].get_ylabel() == "trend (z-score)"
    assert len(plt.get_fignums()) == 1


def test_the_picture_does_not_grow_with_the_samples():
    path = scenes.tree(100_000)
    ax = plot_heatmap(path, path.pseudotime_[:, np.newaxis], ["time"], n_bins=30)
    assert ax.collections[0].get_array().size == 30


def test_one_sample_has_no_trend():
    single = Trajectory([[0, 1]], [[0.0, 0.0], [1.0, 0.0]], [[0.5, 0.0]])
    ax = plot_heatmap(single, [[2.0]], ["a"])
    ax.figure.canvas.draw()
    assert rows(ax) == ["a (no trend)"]


def test_a_branch_without_samples_is_drawn():
    path = scenes.tree(100, noise=0.0, counted=[0, 1, 2])
    ax = plot_heatmap(path, path.pseudotime_[:, np.newaxis], to=tip_of(path))
    ax.figure.canvas.draw()
    assert len(ax.patches) == 3


def test_hostile_names_are_shown_as_they_are():
    path = scenes.tree(30)
    ax = plot_heatmap(path, scenes.waves(path, 3), ["$x", "_a", "<b>"])
    ax.figure.canvas.draw()
    assert sorted(name.replace("\\", "") for name in rows(ax)) == ["$x", "<b>", "_a"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"features": ["1", 99]}, "features names '1', which is not a feature"),
        ({"to": "T77"}, "to='T77' is not a tip; choose one of T"),
        ({"n_bins": 0}, "n_bins"),
        ({"cmap": "no such"}, "cmap='no such' is not a colour map"),
    ],
    ids=["feature", "tip", "bins", "cmap"],
)
def test_wrong_choices_are_told(given, message):
    path = scenes.tree(30)
    with pytest.raises(ValueError, match=message):
        plot_heatmap(path, scenes.waves(path, 3), **given)


def test_wrong_values_are_told():
    with pytest.raises(ValueError, match=r"values has shape \(7, 2\) but must be"):
        plot_heatmap(scenes.tree(30), np.ones((7, 2)))


def test_names_of_short_branches_are_left_out():
    path = scenes.tree(60)
    _, ax = plt.subplots(figsize=(0.8, 2.0))
    plot_heatmap(path, path.pseudotime_[:, np.newaxis], to=tip_of(path), ax=ax)
    ax.figure.canvas.draw()
    assert len(ax.patches) == 3
    assert len(ax.child_axes[0].get_xticklabels()) == 0


def test_ways_to_several_tips_are_side_by_side_with_one_order_and_one_scale():
    path = scenes.tree()
    tips = list(path.lineages_)
    assert len(tips) == 3
    values = scenes.waves(path, 6)
    axes = plot_heatmap(path, values, to=tips)
    figure = axes[0].figure
    assert [ax.get_title() for ax in axes] == [f"to {tip}" for tip in tips]
    assert [len(ax.patches) for ax in axes] == [len(path.lineages_[tip]) for tip in tips]
    assert len(rows(axes[0])) == 6
    assert not rows(axes[1]) + rows(axes[2])
    assert len(figure.axes) == 4  # with one colour bar
    meshes = [ax.collections[0] for ax in axes]
    assert len({(mesh.norm.vmin, mesh.norm.vmax) for mesh in meshes}) == 1
    # One label for the row of panels.
    assert figure.get_supxlabel() == "pseudotime"
    assert not any(ax.get_xlabel() for ax in axes)
    # The stem is the same in all of them, and each feature has mean 0 over all.
    columns = [np.asarray(mesh.get_array()).reshape(6, -1) for mesh in meshes]
    together = np.hstack(columns)
    assert together.mean(axis=1) == pytest.approx(0, abs=1e-9)
    assert together.std(axis=1) == pytest.approx(1)
    assert columns[1][:, 0] == pytest.approx(columns[0][:, 0], abs=0.05)
    # Bins are as long in all panels.
    lengths = [ax.get_xlim()[1] for ax in axes]
    assert [c.shape[1] for c in columns] == [round(100 * n / max(lengths)) for n in lengths]


def test_one_way_in_a_list_is_an_array_of_one():
    path = scenes.tree(60)
    axes = plot_heatmap(path, scenes.waves(path, 3), to=[tip_of(path)])
    assert len(axes) == 1
    assert axes[0].get_xlabel() == "pseudotime"


def test_given_axes_take_one_way_each():
    path = scenes.tree(60)
    figure, axes = plt.subplots(1, 3)
    tips = list(path.lineages_)[:2]
    found = plot_heatmap(path, scenes.waves(path, 3), to=tips, ax=axes[:2])
    assert found.tolist() == axes[:2].tolist()
    # Another picture is in the figure: each has its own label.
    assert [ax.get_xlabel() for ax in found] == ["pseudotime"] * 2
    assert figure.get_supxlabel() == ""
    with pytest.raises(ValueError, match="ax holds 3 Axes, but to names 2 ways; pass one for each"):
        plot_heatmap(path, scenes.waves(path, 3), to=tips, ax=axes)
    with pytest.raises(ValueError, match="names no way; name at least one tip"):
        plot_heatmap(path, scenes.waves(path, 3), to=[])


@pytest.mark.parametrize("standardize", [True, False])
def test_a_branch_without_samples_is_blank(standardize):
    path = scenes.tree(100, noise=0.0, counted=[0, 1, 2])
    tip = next(tip for tip, way in path.lineages_.items() if len(way) == 3)
    ax = plot_heatmap(path, path.pseudotime_[:, np.newaxis], to=tip, standardize=standardize)
    blank = np.ma.getmaskarray(ax.collections[0].get_array()).ravel()
    middle = (np.arange(100) + 0.5) / 100 * ax.get_xlim()[1]
    after = path.branch_table_.start_time[path.lineages_[tip][-1]]
    latest = path.pseudotime_.max()
    assert blank[middle > latest + 0.02 * ax.get_xlim()[1]].all()
    assert not blank[middle < after - 0.02 * ax.get_xlim()[1]].all()


def test_a_stretch_of_a_ring_without_samples_is_blank():
    ring = scenes.ring(400)
    keep = ring.view.points[:, 0] > -0.5
    path = Trajectory(ring.edges_, ring.nodes_, ring.view.points[keep])
    ax = plot_heatmap(path, path.view.points, standardize=False)
    blank = np.ma.getmaskarray(ax.collections[0].get_array()).reshape(2, -1)[0]
    assert 0.2 < blank.mean() < 0.45
