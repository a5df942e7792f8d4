from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from scipy import sparse

from branchwise.plotting import plot_trends
from branchwise.plotting.coloring import BRANCH_COLORS
from branchwise.trajectory import Trajectory

from . import scenes

pytestmark = pytest.mark.usefixtures("one_thread")

NAMES = ["GATA1", "SPI1", "CEBPA", "KLF1"]


def test_one_feature(same_picture):
    path = scenes.tree()
    same_picture(plot_trends(path, scenes.waves(path, 4), NAMES, features="SPI1"), "trends_one")


def test_small_multiples(same_picture):
    path = scenes.tree()
    figure = plot_trends(path, scenes.waves(path, 4), NAMES)[0].figure
    assert figure.get_layout_engine() is not None
    # At places that no layout engine chooses: each release of matplotlib has others.
    axes = plt.figure(figsize=(8, 5)).subplots(2, 2).ravel()
    axes = plot_trends(path, scenes.waves(path, 4), NAMES, ax=axes)
    assert [ax.get_ylabel() for ax in axes] == NAMES
    same_picture(axes[0], "trends_four")


def test_ring_has_a_curve_for_either_way(same_picture):
    path = scenes.ring()
    height = path.view.points[:, [1]]
    ax = plot_trends(path, height, ["height"])
    assert len(ax.lines) == 2
    same_picture(ax, "trends_ring")


def test_curves_are_the_trends_in_the_colours_of_their_branches():
    path = scenes.tree()
    values = scenes.waves(path, 2)
    ax = plot_trends(path, values, features=1)
    table = path.trends(values[:, [1]], n_points=201)
    assert [to_hex(line.get_color()).upper() for line in ax.lines] == [*BRANCH_COLORS[:5]]
    for line, (_, one) in zip(ax.lines, table.groupby("branch", observed=True), strict=True):
        assert np.array_equal(line.get_xdata(), one.pseudotime)
        assert np.array_equal(line.get_ydata(), one["mean"])
    assert ax.get_xlabel() == "pseudotime"
    assert ax.get_ylabel() == "1"


def test_branches_are_chosen_by_name_or_by_tip():
    path = scenes.tree()
    values, tip = scenes.waves(path, 1), next(iter(path.lineages_))
    by_tip = plot_trends(path, values, to=tip)
    by_name = plot_trends(path, values, branches=path.lineages_[tip])
    assert len(by_tip.lines) == len(by_name.lines) == len(path.lineages_[tip])
    shown = path.branch_table_.n_samples[path.lineages_[tip]]
    entries = [text.get_text() for text in by_tip.get_legend().get_texts()]
    assert sorted(entries) == sorted(f"{name} ({n})" for name, n in shown.items())
    assert len(plot_trends(path, values, branches=path.lineages_[tip][0]).lines) == 1


def test_samples_are_drawn_where_they_have_a_value():
    path = scenes.tree(60)
    values = path.pseudotime_[:, np.newaxis].copy()
    values[::3] = np.nan
    ax = plot_trends(path, values)
    assert sum(len(points.get_offsets()) for points in ax.collections[:1]) == 40
    bare = plot_trends(path, values, samples=False)
    assert not any(len(c.get_offsets()) > 1 for c in bare.collections)


def test_sparse_values_look_like_dense_ones():
    path = scenes.tree(60)
    values = np.where(scenes.waves(path, 2) > 0.5, 1.0, 0.0)
    one = plot_trends(path, values, features=0)
    other = plot_trends(path, sparse.csr_array(values), features=0)
    assert np.array_equal(one.lines[1].get_ydata(), other.lines[1].get_ydata())
    assert np.array_equal(one.collections[0].get_offsets(), other.collections[0].get_offsets())


def test_given_axes_take_one_feature_each():
    path = scenes.tree(60)
    values = scenes.waves(path, 4)
    _, axes = plt.subplots(2, 2)
    found = plot_trends(path, values, NAMES, ax=axes)
    assert found.tolist() == axes.ravel().tolist()
    assert axes[0, 1].get_legend() is not None
    assert plot_trends(path, values, NAMES, features=["SPI1"], ax=axes[0, 0]) is axes[0, 0]
    assert len(plt.get_fignums()) == 1
    with pytest.raises(ValueError, match="ax holds 1 Axes, but there are 4 features, GATA1, SPI1"):
        plot_trends(path, values, NAMES, ax=axes[0, 0])


def test_a_branch_without_samples_has_no_curve():
    path = scenes.tree(100, noise=0.0, counted=[0, 1, 2])
    ax = plot_trends(path, path.pseudotime_[:, np.newaxis])
    assert len(ax.lines) == 3


def test_curves_and_bands_are_interrupted_where_there_are_no_samples():
    time = np.concatenate([np.linspace(0, 0.4, 80), np.linspace(0.7, 1, 60)])
    path = Trajectory([[0, 1]], [[0.0], [1.0]], time[:, np.newaxis])
    ax = plot_trends(path, np.sin(5 * time)[:, np.newaxis], samples=False)
    (line,), (band,) = ax.lines, ax.collections
    known = np.isfinite(line.get_ydata())
    assert np.array_equal(~known, (line.get_xdata() > 0.405) & (line.get_xdata() < 0.695))
    x = np.concatenate([piece.vertices[:, 0] for piece in band.get_paths()])
    assert len(band.get_paths()) == 2
    assert not ((x > 0.41) & (x < 0.69)).any()
    assert ax.get_xlim()[1] > 1


def test_a_constant_feature():
    ax = plot_trends(scenes.tree(60), np.full((60, 1), 3.0))
    ax.figure.canvas.draw()
    assert ax.lines[0].get_ydata() == pytest.approx(3.0)


def test_one_sample_has_no_trend():
    single = Trajectory([[0, 1]], [[0.0, 0.0], [1.0, 0.0]], [[0.5, 0.0]])
    ax = plot_trends(single, [[2.0]])
    ax.figure.canvas.draw()
    # Its value is known at its own place only, and one point makes no line.
    assert np.isfinite(ax.lines[0].get_ydata()).sum() == 1
    assert ax.collections[0].get_offsets().tolist() == [[0.5, 2.0]]


def test_a_feature_without_values_is_an_empty_picture():
    path = scenes.tree(20)
    ax = plot_trends(path, np.full((20, 1), np.nan))
    ax.figure.canvas.draw()
    assert not ax.lines


def test_many_samples_are_binned():
    path = scenes.tree(200_000)
    ax = plot_trends(path, path.pseudotime_[:, np.newaxis] * 1e6)
    (image,) = ax.images
    height, width = image.get_array().shape[:2]
    assert min(height, width) > 200


def test_hostile_names_are_shown_as_they_are():
    path = scenes.tree(30)
    names = ["$x", "_a", "<b>", r"\alpha^$2$"]
    axes = plot_trends(path, np.ones((30, 4)), names)
    axes[0].figure.canvas.draw()
    assert [ax.get_ylabel().replace(r"\$", "$") for ax in axes] == names


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"features": "GATA2"}, r"features names 'GATA2', .* did you mean 'GATA1'\?"),
        ({"to": "T77"}, "to='T77' is not a tip; choose one of"),
        ({"branches": "T1-T9"}, "branches names 'T1-T9', which is not a branch; there are"),
        ({"branches": []}, "branches is empty; there are"),
        ({"branches": "T1-F1", "to": "T1"}, "takes branches=… or to=…, not both"),
        ({"level": 2}, "level=2 must be between 0 and 1"),
        ({"legend": "left"}, "legend='left' must be"),
    ],
    ids=["feature", "tip", "branch", "no-branch", "both", "level", "legend"],
)
def test_wrong_choices_are_told(given, message):
    path = scenes.tree(30)
    with pytest.raises(ValueError, match=message):
        plot_trends(path, scenes.waves(path, 4), NAMES, **given)


def test_wrong_values_are_told():
    path = scenes.tree(30)
    with pytest.raises(ValueError, match=r"values has shape \(7, 2\) but must be"):
        plot_trends(path, np.ones((7, 2)))
    with pytest.raises(ValueError, match="30 features are too many for one picture"):
        plot_trends(path, np.ones((30, 30)))


def bands_of(ax):
    return [c for c in ax.collections if not len(c.get_offsets()) > 1 and len(c.get_paths())]


def test_panels_hold_curves_and_bands():
    path = scenes.tree()
    for ax in plot_trends(path, scenes.waves(path, 4), NAMES):
        low, high = ax.get_ylim()
        for line in ax.lines:
            assert low < np.nanmin(line.get_ydata()) <= np.nanmax(line.get_ydata()) < high
        y = np.concatenate([p.vertices[:, 1] for band in bands_of(ax) for p in band.get_paths()])
        assert low < y.min() <= y.max() < high


def test_a_band_that_is_far_too_wide_is_cut_at_the_frame(monkeypatch):
    path = scenes.tree()
    real = Trajectory.trends

    def wide(self, *args, **options):
        table = real(self, *args, **options)
        last = table["branch"] == table["branch"].iloc[-1]
        table.loc[last, "upper"] += 1e4
        table.loc[last, "lower"] -= 1e4
        return table

    plain_heights = [ax.get_ylim() for ax in plot_trends(path, scenes.waves(path, 2))]
    monkeypatch.setattr(Trajectory, "trends", wide)
    for ax, before in zip(plot_trends(path, scenes.waves(path, 2)), plain_heights, strict=True):
        low, high = ax.get_ylim()
        assert high - low <= 2.3 * (before[1] - before[0])
        assert any(max(p.vertices[:, 1].max() for p in b.get_paths()) > high for b in bands_of(ax))
        assert all(band.get_clip_on() for band in bands_of(ax))
        reach = [np.ptp(line.get_ydata()[np.isfinite(line.get_ydata())]) for line in ax.lines]
        assert max(reach) > 0.2 * (high - low)  # the curves can still be read


def test_one_far_sample_does_not_press_the_curves_flat_and_is_counted():
    path = scenes.tree()
    values = scenes.waves(path, 1)
    values[7] = 30.0
    ax = plot_trends(path, values)
    low, high = ax.get_ylim()
    assert high < 30
    assert max(np.nanmax(line.get_ydata()) for line in ax.lines) > low + 0.3 * (high - low)
    assert ax.get_title(loc="left") == "1 sample outside"
    assert plot_trends(path, scenes.waves(path, 1)).get_title(loc="left") == ""


def test_a_row_of_panels_has_one_label_and_one_legend():
    path = scenes.tree()
    axes = plot_trends(path, scenes.waves(path, 5))  # three above two
    figure = axes[0].figure
    assert [ax.get_xlabel() for ax in axes] == ["", "", "pseudotime", "pseudotime", "pseudotime"]
    figure.canvas.draw()
    ticks = [any(t.get_visible() for t in ax.get_xticklabels()) for ax in axes]
    assert ticks == [False, False, True, True, True]
    assert len({ax.get_xlim() for ax in axes}) == 1
    (legend,) = figure.legends
    assert not any(ax.get_legend() for ax in axes)
    box = legend.get_window_extent()
    assert all(ax.get_window_extent().x1 <= box.x0 for ax in axes)
    assert box.x1 <= figure.bbox.x1 + 1
    assert legend.get_title().get_text() == "branch (samples)"


@pytest.mark.parametrize("n_features", [2, 3, 4, 7, 12, 24])
def test_figures_of_many_features_have_a_sensible_size(n_features):
    path = scenes.tree(60)
    axes = plot_trends(path, np.tile(scenes.waves(path, 1), n_features))
    figure = axes[0].figure
    figure.canvas.draw()
    width, height = figure.get_size_inches()
    assert width <= 15
    assert height <= 15
    panels = [ax.get_window_extent() for ax in axes]
    assert min(box.width for box in panels) > 1.6 * figure.dpi
    assert min(box.height for box in panels) > 1.2 * figure.dpi


def supported(shares):
    """A tree whose branches were found again so often."""
    path = scenes.tree()
    found = SimpleNamespace(branches_=path.branch_table_.assign(support=shares))
    return path.with_support(found)


def test_support_is_in_the_legend_and_unsure_branches_are_dashed():
    path = supported([1.0, 0.8, 0.79, 0.5, np.nan])
    ax = plot_trends(path, scenes.waves(path, 1))
    legend = ax.get_legend()
    assert legend.get_title().get_text() == "branch (samples, support)"
    counts = path.branch_table_.n_samples
    names = counts.index
    shares = [", 100 %", ", 80 %", ", 79 %", ", 50 %", ""]
    expected = [f"{n} ({counts[n]}{share})" for n, share in zip(names, shares, strict=True)]
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts == [*expected, "dashed: below 80 %"]
    is_dashed = [line.get_linestyle() != "-" for line in ax.lines]
    assert is_dashed == [False, False, True, True, False]
    drawn = [handle.get_linestyle() != "-" for handle in legend.legend_handles]
    assert drawn == [False, False, True, True, False, True]


def test_without_support_all_curves_are_solid():
    ax = plot_trends(scenes.tree(60), np.ones((60, 1)))
    assert {line.get_linestyle() for line in ax.lines} == {"-"}
    assert ax.get_legend().get_title().get_text() == "branch (samples)"


def test_a_stretch_of_a_ring_without_samples_has_no_curve():
    ring = scenes.ring(400)
    path = Trajectory(ring.edges_, ring.nodes_, ring.view.points[ring.view.points[:, 0] > -0.5])
    ax = plot_trends(path, path.view.points[:, [1]], samples=False)
    blank = np.concatenate([np.isnan(line.get_ydata()) for line in ax.lines])
    assert 0.2 < blank.mean() < 0.45


def test_the_way_to_a_tip_is_blank_where_there_are_no_samples():
    path = scenes.tree(100, noise=0.0, counted=[0, 1, 2])
    tip = next(tip for tip, way in path.lineages_.items() if len(way) == 3)
    ax = plot_trends(path, path.pseudotime_[:, np.newaxis], to=tip, samples=False)
    assert len(ax.lines) == 2
    latest = max(np.nanmax(line.get_xdata()[np.isfinite(line.get_ydata())]) for line in ax.lines)
    # A sample stands for one percent of the tree.
    assert latest <= path.pseudotime_.max() + 0.01 * path.branch_table_.length.sum()
