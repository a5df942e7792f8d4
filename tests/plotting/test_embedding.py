from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from matplotlib.text import Text

from branchwise import SPL, DDRTree, DRTree
from branchwise.graph import adjacency
from branchwise.plotting import plot_embedding
from branchwise.plotting.coloring import PALETTE
from branchwise.trajectory import Trajectory
from branchwise.trajectory.axes import tree_axes
from branchwise.trajectory.flat import flat_tree

from . import scenes

EDGES = np.array([[0, 1], [1, 2], [1, 3]])


@pytest.fixture
def fork(rng):
    """Simulated samples about a fork in three dimensions, and the fork."""
    nodes = np.array([[0.0, 0, 0], [2, 0, 0], [4, 2, 1], [3, -2, -1]])
    start, end = nodes[EDGES[rng.integers(3, size=90)]].transpose(1, 0, 2)
    samples = start + rng.uniform(size=(90, 1)) * (end - start) + 0.1 * rng.normal(size=(90, 3))
    return samples, nodes


@pytest.fixture
def path(fork):
    samples, nodes = fork
    return Trajectory(EDGES, nodes, samples)


@pytest.fixture(scope="module")
def models():
    X = np.random.default_rng(0).normal(size=(60, 4)) * [4, 2, 1, 1]
    return {
        "SPL": SPL().fit(X),
        "DRTree": DRTree().fit(X),
        "DDRTree": DDRTree(2, random_state=0).fit(X),
    }


def texts(ax):
    return {text.get_text() for text in ax.texts}


def box_of(text):
    """The box of a text, without the line to what it names."""
    return Text.get_window_extent(text)


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def drawn_segments(ax):
    segments = next(c for c in ax.collections[::-1] if hasattr(c, "get_segments")).get_segments()
    return {tuple(sorted(map(tuple, np.round(s, 9).tolist()))) for s in segments}


@pytest.mark.parametrize("form", ["matrix", "dense", "edges"])
def test_every_edge_is_drawn_between_its_nodes(fork, form):
    samples, nodes = fork
    matrix = adjacency(EDGES, 4)
    tree = {"matrix": matrix, "dense": matrix.toarray(), "edges": EDGES}[form]
    ax = plt.figure().subplots()
    assert plot_embedding(samples, nodes, tree, ax=ax) is ax
    ends = nodes[EDGES][..., :2]
    assert drawn_segments(ax) == {tuple(sorted(map(tuple, e.tolist()))) for e in ends}
    assert len(ax.collections[0].get_offsets()) == len(samples)


@pytest.mark.parametrize("name", ["SPL", "DRTree", "DDRTree"])
def test_a_fitted_estimator_is_drawn_with_its_graph(models, name):
    model = models[name]
    ax = plot_embedding(model)
    graph = model.graph_ if name == "SPL" else model.tree_
    assert len(drawn_segments(ax)) == graph.nnz // 2
    assert (ax.get_xlabel(), ax.get_ylabel()) == tuple(model.get_feature_names_out())


def test_of_too_many_edges_the_longest_are_drawn(fork, monkeypatch):
    monkeypatch.setattr("branchwise.plotting.embedding.MOST_LINES", 2)
    samples, nodes = fork
    drawn = drawn_segments(plot_embedding(samples, nodes, EDGES))
    assert drawn == {tuple(sorted(map(tuple, nodes[[1, k], :2].tolist()))) for k in (2, 3)}


def test_edges_of_spl_are_wider_the_larger_their_weights(models):
    model = models["SPL"]
    lines = plot_embedding(model).collections[-1]
    upper = np.triu(model.graph_.toarray())
    weights = upper[np.nonzero(upper)]
    assert np.argmax(lines.get_linewidths()) == np.argmax(weights)
    assert np.argmax(lines.get_colors()[:, 3]) == np.argmax(weights)


def test_a_graph_does_not_hide_samples_that_hug_it(fork):
    _, nodes = fork
    widths = []
    for noise in (0.001, 0.3):
        along = np.linspace(0, 1, 50)[:, np.newaxis]
        samples = np.vstack([nodes[a] + along * (nodes[b] - nodes[a]) for a, b in EDGES])
        samples = samples + noise * np.random.default_rng(0).normal(size=samples.shape)
        ax = plot_embedding(samples, nodes, EDGES)
        widths.append(max(line.get_linewidths()[0] for line in ax.collections[1:]))
    assert widths[0] < 1 < widths[1]


def test_a_root_that_nobody_gave_is_marked_only_where_time_starts_at_it(path):
    for ax in plot_embedding(path):
        assert "T1" in texts(ax)
    for ax in plot_embedding(path, color="pseudotime"):
        assert "T1\nroot" in texts(ax)


def test_a_trajectory_has_named_milestones_and_a_root(path):
    ax = plot_embedding(path.rooted(node="T2"), components=(0, 1))
    assert texts(ax) >= {"T1", "T2\nroot", "T3", "F1"}
    root = ax.collections[-1].get_offsets()
    np.testing.assert_array_equal(root, path.nodes_[[path.milestones_.node["T2"]], :2])
    assert not plot_embedding(path, components=(0, 1), milestones=False).texts


# Views of more than two components


def test_more_than_two_components_are_drawn_flat_and_in_the_best_axes(path):
    flat, axes = plot_embedding(path, color="branch")
    drawn = flat_tree(path)
    assert drawn_segments(flat) == {
        tuple(sorted(map(tuple, np.round(ends, 9).tolist()))) for ends in drawn.nodes[drawn.edges]
    }
    best = tree_axes(path.nodes_, path.edges_, path.view.points, int(path.roots_[0]))
    places = np.sort(axes.collections[0].get_offsets(), axis=0)
    np.testing.assert_allclose(places, np.sort(path.view.points @ best.axes, axis=0))
    shares = [f"tree axis {k + 1} ({100 * share:.0f} %)" for k, share in enumerate(best.shares)]
    assert [axes.get_xlabel(), axes.get_ylabel()] == shares
    assert flat.get_legend() is None, "one legend for both"
    assert axes.get_legend() is not None
    assert flat.get_aspect() == axes.get_aspect() == 1


def test_two_components_are_drawn_as_they_are(path):
    flat = Trajectory(EDGES, path.nodes_[:, :2], path.view.points[:, :2])
    ax = plot_embedding(flat)
    np.testing.assert_array_equal(
        np.sort(ax.collections[0].get_offsets(), axis=0), np.sort(flat.view.points, axis=0)
    )
    assert len(plot_embedding(flat, view="both")) == 2


def test_a_single_axes_gets_the_flat_drawing_and_two_get_both(path):
    figure = plt.figure()
    one = figure.add_subplot()
    assert plot_embedding(path, ax=one) is one
    assert one.get_xlabel() == ""
    two = plt.figure().subplots(1, 2)
    flat, axes = plot_embedding(path, ax=two)
    assert (flat, axes) == tuple(two)


def test_each_view_can_be_asked_for(path):
    assert not plot_embedding(path, view="flat").axison
    assert plot_embedding(path, view="axes").get_xlabel().startswith("tree axis 1 (")
    solid = plot_embedding(path, dims=3, view="axes")
    assert solid.get_zlabel().startswith("tree axis 3 (")
    assert plot_embedding(path, axis_names=["x", "y"])[1].get_ylabel() == "y"


def test_spl_has_no_tree_to_draw_flat():
    X = np.random.default_rng(0).normal(size=(60, 4)) * [4, 2, 1, 1]
    model = SPL(n_components=3).fit(X)
    assert plot_embedding(model).get_xlabel().startswith("tree axis 1 (")
    with pytest.raises(ValueError, match="view='flat' needs a Trajectory, DDRTree or DRTree"):
        plot_embedding(model, view="flat")


def test_the_number_of_samples_and_the_support_stand_beside_every_branch(path):
    counts = {f"n = {n}" for n in path.branch_table_["n_samples"]}
    assert {t for t in texts(plot_embedding(path)[0]) if t.startswith("n")} == counts
    solid = {t.strip() for t in texts(plot_embedding(path, dims=3))}
    assert {t for t in solid if t.startswith("n")} == counts
    table = path.branch_table_.assign(support=[1.0, 0.95, 0.5])
    surer = path.with_support(SimpleNamespace(branches_=table))
    flat, axes = plot_embedding(surer)
    told = {f"n = {row.n_samples}\n{100 * row.support:.0f} % support" for row in table.itertuples()}
    assert {t for t in texts(flat) if t.startswith("n")} == told
    assert not {t for t in texts(axes) if t.startswith("n")}, "the flat drawing beside it has them"
    for ax in (flat, axes):
        dashed = [line for line in ax.lines if line.get_linestyle() == "--"]
        assert len(dashed) == 1, "the branch with a support of 50 %"
    words = next(text for text in texts(flat) if "units of the data" in text)
    assert words.endswith("\ndashed: found again in fewer than 80 % of the resamples")
    drawn = flat_tree(surer)
    ends = drawn.nodes[surer.milestones_.node[table.index[2].split("-")]]
    line = next(line for line in flat.lines if line.get_linestyle() == "--").get_xydata()
    np.testing.assert_allclose(line[[0, -1]], ends)


def test_equal_units_do_not_leave_half_of_the_picture_blank(rng):
    points = np.column_stack([np.linspace(0, 40, 200), *0.3 * rng.normal(size=(3, 200))])
    nodes = points[[0, 100, 199]] * [1, 0, 0, 0]
    for ax in plot_embedding(Trajectory([[0, 1], [1, 2]], nodes, points)):
        ax.figure.draw_without_rendering()
        low, high = ax.transData.transform([ax.dataLim.min, ax.dataLim.max])
        assert ((high - low) / ax.bbox.size).max() > 0.8
        assert ax.bbox.height < 0.6 * ax.bbox.width


# Names


@pytest.mark.parametrize("view", ["flat", "axes"])
@pytest.mark.parametrize("dpi", [72, 150])
def test_names_cover_neither_one_another_nor_samples(path, view, dpi):
    ax = plot_embedding(path, view=view, color="branch")
    ax.figure.dpi = dpi
    ax.figure.draw_without_rendering()
    boxes = [box_of(text) for text in ax.texts if "units of the data" not in text.get_text()]
    assert len(boxes) == 7  # four milestones and three branches
    for k, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[:k])
    places = ax.transData.transform(ax.collections[0].get_offsets())
    assert not any(box.contains(*place) for box in boxes for place in places)


def test_names_on_a_crowd_are_still_apart_and_inside(rng):
    nodes = np.column_stack([np.arange(12.0), np.zeros(12), np.zeros(12)]) / 50
    comb = np.vstack([nodes, nodes[1:-1] + np.array([0, 0.02, 0])])
    edges = [[k, k + 1] for k in range(11)] + [[k, 11 + k] for k in range(1, 11)]
    path = Trajectory(edges, comb, rng.normal(size=(20_000, 3)))
    ax = plot_embedding(path, view="axes")
    ax.figure.draw_without_rendering()
    boxes = [box_of(text) for text in ax.texts]
    assert len(boxes) > 20
    for k, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[:k])
        assert one.x0 >= ax.bbox.x0 - 1
        assert one.x1 <= ax.bbox.x1 + 1


def test_a_trajectory_knows_what_to_colour_by(path):
    branches = plot_embedding(path, color="branch", view="flat")
    counts = path.branch_table_.n_samples
    assert legend_texts(branches) == [f"{name} ({counts[name]})" for name in counts.index]
    assert branches.get_legend().get_title().get_text() == "branch"
    times = plot_embedding(path, color="pseudotime", view="flat")
    bar = times.figure.axes[1]
    assert bar.get_ylabel() == "pseudotime"
    assert bar.get_ylim() == pytest.approx((path.pseudotime_.min(), path.pseudotime_.max()))


def test_a_series_in_another_order_is_refused(fork):
    samples, nodes = fork
    names = [f"cell {k}" for k in range(len(samples))]
    path = Trajectory(EDGES, nodes, samples, names=names)
    values = pd.Series(np.arange(90.0), index=names, name="age")
    assert plot_embedding(path, color=values)[0].figure.axes[2].get_ylabel() == "age"
    with pytest.raises(ValueError, match="color has 'cell 89' in row 0"):
        plot_embedding(path, color=values[::-1])


def test_labels_get_a_legend_with_counts(fork):
    ax = plot_embedding(fork[0], color=["b"] * 60 + ["a"] * 20 + [None] * 10, color_name="day")
    assert legend_texts(ax) == ["a (20)", "b (60)", "missing (10)"]
    offsets = ax.collections[0].get_offsets()
    rows = [int(np.argmin(np.abs(fork[0][:, :2] - place).sum(axis=1))) for place in offsets]
    expected = np.array([PALETTE[1]] * 60 + [PALETTE[0]] * 20 + ["#BDBDBD"] * 10)[rows]
    drawn = ax.collections[0].get_facecolors()
    np.testing.assert_allclose(drawn[:, :3], [to_rgba(color)[:3] for color in expected])


def test_missing_numbers_are_counted(fork):
    values = np.arange(90.0)
    values[:7] = np.nan
    bar = plot_embedding(fork[0], color=values, color_name="age").figure.axes[1]
    assert bar.get_ylabel() == "age; grey: missing (7)"


def test_hostile_names_are_shown_as_they_are(fork):
    names = ["$x", "_hidden", "<b>", "$a$ and $b$", "x" * 200]
    ax = plot_embedding(
        fork[0], color=np.resize(names, 90), color_name="$_{", axis_names=["$", "_"]
    )
    assert [text.replace(r"\$", "$") for text in legend_texts(ax)] == [
        "$a$ and $b$ (18)",
        "$x (18)",
        "<b> (18)",
        "_hidden (18)",
        "x" * 29 + "… (18)",
    ]
    ax.figure.draw_without_rendering()


@pytest.mark.parametrize("legend", ["outside", "inside", "none"])
def test_the_legend_is_where_it_is_wanted(fork, legend):
    ax = plot_embedding(fork[0], color=np.resize(["a", "b"], 90), legend=legend)
    ax.figure.draw_without_rendering()
    if legend == "none":
        assert ax.get_legend() is None
        return
    box, frame = ax.get_legend().get_window_extent(), ax.bbox
    assert (box.x0 >= frame.x1) == (legend == "outside")
    assert box.x1 <= ax.figure.bbox.x1


@pytest.mark.parametrize("labels", [["a", "b"], ["a longer name", "b"]], ids=["short", "long"])
def test_nothing_is_cut_off_beside_a_cube(fork, labels):
    ax = plot_embedding(fork[0], color=np.resize(labels, 90), dims=3)
    ax.figure.draw_without_rendering()
    box = ax.get_legend().get_window_extent()
    assert box.x1 <= ax.figure.bbox.x1
    assert ax.zaxis.get_tightbbox(ax.figure.canvas.get_renderer()).x1 <= box.x0 + 1


def test_a_cube_in_part_of_a_figure_leaves_the_other_parts_alone(fork):
    figure = plt.figure(layout="constrained")
    left, _ = figure.subfigures(1, 2)
    ax = left.add_subplot(projection="3d")
    plot_embedding(fork[0], color=np.resize(["a", "b"], 90), dims=3, ax=ax)
    assert figure.get_layout_engine().get()["rect"] == (0, 0, 1, 1)


def test_other_components_can_be_drawn(fork):
    ax = plot_embedding(fork[0], components=(2, 0))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("component 3", "component 1")
    drawn = ax.collections[0].get_offsets()
    np.testing.assert_allclose(np.sort(drawn[:, 0]), np.sort(fork[0][:, 2]))
    table = pd.DataFrame(fork[0], columns=["x", "y", "z"])
    assert plot_embedding(table, components=(2, 0)).get_xlabel() == "z"


def test_one_unit_is_as_long_on_either_axis(fork):
    assert plot_embedding(fork[0]).get_aspect() == 1


@pytest.mark.parametrize("n_samples", [1, 2])
@pytest.mark.parametrize("color", [None, "text", "number"])
@pytest.mark.parametrize("dims", [2, 3])
def test_few_samples_can_be_drawn(n_samples, color, dims):
    values = {None: None, "text": ["a"] * n_samples, "number": np.full(n_samples, 3.0)}[color]
    ax = plot_embedding(np.zeros((n_samples, 3)), color=values, dims=dims)
    ax.figure.draw_without_rendering()


def test_settings_of_matplotlib_are_left_alone(path):
    before = mpl.rcParams.copy()
    plot_embedding(path, color="branch", dims=3)
    assert dict(mpl.rcParams) == dict(before)


def test_what_is_over_dark_axes_is_white(path):
    figure = plt.figure()
    ax = plot_embedding(path, ax=figure.add_subplot(facecolor="black"))
    assert ax.texts[0].get_color() == "white"
    assert tuple(ax.collections[-2].get_colors()[0]) == to_rgba("white")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"dims": 4}, "dims=4 must be 2 or 3", id="dims"),
        pytest.param({"components": (0, 3)}, "components has 3, but the columns", id="component"),
        pytest.param({"components": (0, 1, 2)}, "must be 2 column numbers", id="components"),
        pytest.param({"axis_names": ["x"]}, r"axis_names=\['x'\] must be 2 names", id="names"),
        pytest.param({"legend": "top"}, "legend='top' must be 'auto', 'outside'", id="legend"),
        pytest.param({"view": "top"}, "view='top' must be 'auto', 'flat', 'axes'", id="view"),
        pytest.param({"view": "flat"}, "view='flat' needs a Trajectory", id="flat"),
        pytest.param({"view": "axes"}, "view='axes' needs a graph to show", id="axes"),
        pytest.param({"nodes": np.eye(3)}, "nodes are given without tree", id="nodes"),
        pytest.param({"nodes": np.eye(2), "tree": [[0, 1]]}, "2 column.*embedding has 3", id="dim"),
        pytest.param({"color": [1, 2]}, r"color has shape \(2,\) but there are 90", id="color"),
    ],
)
def test_bad_requests_are_refused(fork, options, message):
    with pytest.raises(ValueError, match=message):
        plot_embedding(fork[0], **options)
    assert not plt.get_fignums()


def test_one_component_cannot_be_drawn(fork):
    with pytest.raises(ValueError, match=r"1 column.*needs 2; fit with n_components=2"):
        plot_embedding(fork[0][:, :1])


def test_axes_must_have_as_many_dimensions_as_the_picture(fork):
    with pytest.raises(ValueError, match="ax has 2 dimensions but dims=3; pass Axes made with"):
        plot_embedding(fork[0], dims=3, ax=plt.figure().subplots())
    with pytest.raises(ValueError, match="ax has 3 dimensions but dims=2"):
        plot_embedding(fork[0], ax=plt.figure().add_subplot(projection="3d"))


def test_bad_results_are_refused(path, models):
    with pytest.raises(ValueError, match="color='age' is neither a column of samples_"):
        plot_embedding(path, color="age")
    with pytest.raises(ValueError, match="nodes and tree are those of the Trajectory"):
        plot_embedding(path, path.nodes_, path.edges_)
    with pytest.raises(ValueError, match="DDRTree instance is not fitted"):
        plot_embedding(DDRTree(2))


PICTURES = {
    "plain": {},
    "pseudotime": {"color": "pseudotime"},
    "branch": {"color": "branch"},
    "cube": {"color": "branch", "dims": 3},
    "missing": {"color": np.where(np.arange(90) % 4, np.arange(90.0), np.nan)},
    "categories": {"color": [f"type {k % 12}" for k in range(90)]},
}


@pytest.mark.parametrize("name", sorted(PICTURES))
def test_an_embedding_looks_as_it_did(path, same_picture, name):
    figure = plt.figure(figsize=(4, 3))
    projection = "3d" if "dims" in PICTURES[name] else None
    ax = figure.add_subplot(projection=projection)
    options = {"dims": 2, "components": (0, 1)} | PICTURES[name]
    if name == "cube":
        options["components"] = None
    same_picture(plot_embedding(path, ax=ax, **options), f"embedding_{name}")


@pytest.mark.parametrize("name", ["tree", "ring", "cyclic", "forest"])
def test_a_flat_drawing_looks_as_it_did(same_picture, name):
    path = getattr(scenes, name)()
    ax = plt.figure(figsize=(4, 3)).add_subplot()
    same_picture(plot_embedding(path, view="flat", color="pseudotime", ax=ax), f"flat_{name}")


def test_a_skeleton_looks_as_it_did(same_picture):
    angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    edges = np.column_stack([np.arange(40), np.roll(np.arange(40), -1)])
    graph = adjacency(edges, 40, 1.0 + np.arange(40.0))
    ax = plt.figure(figsize=(4, 3)).subplots()
    same_picture(plot_embedding(ring, tree=graph, ax=ax), "embedding_skeleton")
