"""The views: what they mark, say and leave free, for mouse and finger, on screens of any size."""

import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from branchwise import DDRTree, Preparation
from branchwise.datasets import make_tree
from branchwise.pipeline import fit_pipeline
from branchwise.report import write_report
from branchwise.trajectory import Trajectory

PHONE = {
    "viewport": {"width": 390, "height": 844},
    "has_touch": True,
    "is_mobile": True,
    "device_scale_factor": 2,
}
VIEWS = ("embedding", "tree")
# Support of branches, as the panels tell it: every second one is in doubt.
SUPPORT = """
    app.branchSure = (k) => ({support: k % 2 ? 0.55 : 0.95, n: 20, p: 0.01,
                              words: `Found in ${k % 2 ? 11 : 19} of 20 resamples.`});
    app.emit("root");
"""
UNKNOWN = "app.branchSure = () => ({support: null, words: ''}); app.emit('root')"


def drawn(opened, view):
    """Names and marks of a view, in its own pixels."""
    return opened.run(
        """
        const plot = app.plots[given], m = plot.camera.matrix(...plot.size);
        return plot.scene.decorate(plot.view(m, plot.options.covers?.() ?? []));
        """,
        view,
    )


def inside(opened, view, x, y):
    """A pixel of a view on the screen."""
    box = opened.page.locator(f"[data-view={view}] .plot").bounding_box()
    return box["x"] + x, box["y"] + y


def rings_at(opened, view, x, y):
    """Rings around a place on the screen, in the ink of the page."""
    ink = opened.run("return app.themeColors().ink")
    left, top = inside(opened, view, 0, 0)
    return [
        shape
        for shape in drawn(opened, view)
        if shape["kind"] == "disc"
        and shape.get("stroke") == ink
        and np.hypot(shape["x"] + left - x, shape["y"] + top - y) < 0.5
    ]


def place(opened, row, name="far one"):
    """Place a new sample by its values."""
    text = pd.DataFrame([row]).set_axis([name]).to_csv(index_label="sample")
    opened.run("app.addSamples(given)", text)


def place_far(opened, table):
    place(opened, table.mean() + 40 * table.std())


@pytest.fixture(scope="module")
def forked(tmp_path_factory):
    """A simulated tree with a fork, few samples and sparse ones."""
    data = make_tree(150, 6, noise=0.2, random_state=3)
    table = pd.DataFrame(data.X, columns=[f"gene {k}" for k in range(6)])
    table.index = [f"c{k}" for k in range(len(table))]
    made = fit_pipeline(
        table, DDRTree(n_components=3, random_state=0), Preparation(), root={"node": "T1"}
    )
    path = tmp_path_factory.mktemp("forked") / "report.html"
    write_report(path, made, features=table, title="Forked")
    return path, made, table


# The root


@pytest.mark.parametrize("view", VIEWS)
def test_a_tooltip_has_the_new_time_without_a_move_of_the_pointer(open_page, report, tumours, view):
    opened = open_page(report)
    fork = int(tumours[0].trajectory.milestones_.loc["F1", "node"])
    opened.page.mouse.move(*opened.node(view, fork))
    tip = opened.page.locator(".tip")
    assert "click to start time here" in tip.inner_text()
    opened.page.mouse.down()
    opened.page.mouse.up()
    assert opened.run("return app.rootName") == "F1"
    if view == "embedding":
        assert tip.inner_text().split("\n") == ["F1", "pseudotime 0", "time starts here"]
    # In the flat tree something else may be there now: it is told as it is, or nothing is.
    told = re.search(r"pseudotime\s+(\S+)", tip.inner_text()) if tip.is_visible() else None
    now = opened.run(
        """
        const plot = app.plots[given], found = plot.find(plot.pointer.x, plot.pointer.y);
        if (!found) return null;
        return found.kind === "node" ? app.tree.nodeTime[found.id]
             : found.kind === "branch" ? app.tree.branches[found.id].startTime
             : app.placed.pseudotime[found.id];
        """,
        view,
    )
    assert (told is None) == (now is None)
    assert told is None or float(told[1]) == pytest.approx(now, rel=1e-3)


@pytest.mark.parametrize("view", VIEWS)
def test_a_root_by_keyboard_changes_the_tooltip_of_a_resting_pointer(
    open_page, report, tumours, view
):
    path = tumours[0].trajectory
    opened = open_page(report)
    alone = int(np.argmax(path.distance_))
    opened.page.mouse.move(*opened.row(view, alone))
    tip = opened.page.locator(".tip")
    before = tip.inner_text()
    opened.page.get_by_label("Root", exact=True).focus()
    opened.page.keyboard.press("ArrowDown")
    name = opened.run("return app.rootName")
    assert name != "T1"
    if view == "embedding":  # the sample stays where it is
        assert tip.inner_text() != before
        time = path.rooted(node=name).pseudotime_[alone]
        assert float(re.search(r"pseudotime\s+(\S+)", tip.inner_text())[1]) == pytest.approx(time)
    else:
        assert not tip.is_visible() or tip.inner_text() != before


def test_axes_and_tables_have_the_new_time(open_page, report, tumours):
    path = tumours[0].trajectory
    opened = open_page(report)
    opened.page.get_by_label("Colour by").select_option(label="pseudotime")
    opened.page.get_by_role("tab", name="Feature").click()
    chart = opened.page.locator("#panel-feature canvas")
    before = chart.get_attribute("aria-label")
    opened.page.mouse.click(*opened.node("tree", int(path.milestones_.loc["F1", "node"])))
    rooted = path.rooted(node="F1")
    latest = rooted.pseudotime_.max()
    ticks = [s["text"] for s in drawn(opened, "tree") if s["kind"] == "text" and s["size"] == 11]
    numbers = [float(t.replace("−", "-")) for t in ticks if re.fullmatch(r"[\d.]+", t)]
    assert latest * 0.6 < max(numbers) <= 1.02 * latest
    assert max(numbers) < 0.9 * path.pseudotime_.max()
    high = opened.page.locator(".legend .ends span").last.inner_text()
    assert float(high) == pytest.approx(latest, rel=1e-3)
    assert chart.get_attribute("aria-label") != before
    opened.page.get_by_role("tab", name="Branches").click()
    rows = opened.page.locator("#panel-branches table").first.locator("tbody th").all_inner_texts()
    assert [row.strip() for row in rows] == rooted.branch_table_.index.tolist()


# Samples that were looked for, and new ones


def test_a_sample_that_was_looked_for_keeps_its_ring_in_every_view(open_page, report):
    opened = open_page(report)
    search = opened.page.get_by_label("Find a sample by its name")
    search.fill("P121")
    search.press("Enter")
    opened.page.mouse.move(300, 300)
    opened.page.mouse.move(310, 320)
    for view in VIEWS:
        assert len(rings_at(opened, view, *opened.row(view, 121))) == 1
    opened.page.get_by_role("radio", name="3-D").click()
    assert len(rings_at(opened, "embedding", *opened.row("embedding", 121))) == 1
    opened.page.get_by_role("radio", name="Tree").click()
    opened.page.get_by_role("radio", name="Both").click()
    opened.page.get_by_label("Root", exact=True).select_option(index=1)
    for view in VIEWS:
        assert len(rings_at(opened, view, *opened.row(view, 121))) == 1
    texts = [s["text"] for s in drawn(opened, "embedding") if s["kind"] == "text"]
    assert "P121" in texts
    # Another one takes it over, and a clear selection ends it.
    search.fill("P300")
    search.press("Enter")
    assert rings_at(opened, "tree", *opened.row("tree", 121)) == []
    assert len(rings_at(opened, "tree", *opened.row("tree", 300))) == 1
    opened.page.locator("[data-view=tree] .plot").press("Escape")
    assert rings_at(opened, "tree", *opened.row("tree", 300)) == []


def test_the_ring_is_on_the_screen(open_page, report):
    opened = open_page(report)
    opened.page.get_by_role("radio", name="3-D").click()
    opened.run("app.find(121, 'P121')")
    opened.page.wait_for_timeout(150)
    x, y = opened.row("embedding", 121)
    (ring,) = rings_at(opened, "embedding", x, y)
    dark = opened.run(
        """
        const plot = app.plots.embedding, box = plot.element.getBoundingClientRect();
        const context = plot.overlay.getContext("2d");
        const [x, y, r] = given, n = 24, side = 100;
        const [left, top] = [Math.round(x - box.left) - 50, Math.round(y - box.top) - 50];
        const {data} = context.getImageData(left, top, side, side);
        let dark = 0;
        for (let k = 0; k < n; k += 1) {
            const angle = 2 * Math.PI * k / n;
            const px = Math.floor(x - box.left - left + r * Math.cos(angle));
            const py = Math.floor(y - box.top - top + r * Math.sin(angle));
            dark += data[4 * (side * py + px) + 3] > 200 && data[4 * (side * py + px)] < 90;
        }
        return dark / n;
        """,
        [x, y, ring["r"]],
    )
    assert dark > 0.9


def test_a_hidden_view_goes_to_the_sample_when_it_is_shown(open_page, report):
    opened = open_page(report)
    opened.page.get_by_role("radio", name="Embedding").click()
    opened.run("app.find(121, 'P121')")
    opened.page.get_by_role("radio", name="Tree").click()
    opened.until("return app.plots.tree.size[0] > 0 && app.plots.tree.camera.zoom > 1")
    box = opened.page.locator("[data-view=tree] .plot").bounding_box()
    x, y = opened.row("tree", 121)
    assert abs(x - box["x"] - box["width"] / 2) < 2
    assert abs(y - box["y"] - box["height"] / 2) < 2


def test_the_newest_placed_sample_has_a_ring_in_every_view(open_page, report, tumours):
    _, table, _ = tumours
    opened = open_page(report)
    place(opened, table.iloc[7] * 1.01, "first")
    place(opened, table.iloc[30] * 1.01, "second")
    for step in ("2-D", "3-D"):
        opened.page.get_by_role("radio", name=step).click()
        for view in VIEWS:
            spots = opened.run(
                """
                const plot = app.plots[given];
                return app.placesOfAdded().map((s) => plot.scene.placeOf(s));
                """,
                view,
            )
            first, second = (opened.pixel(view, spot) for spot in spots)
            assert rings_at(opened, view, *first) == []
            assert len(rings_at(opened, view, *second)) == 1
    opened.run("app.clearAdded()")
    assert not [s for s in drawn(opened, "tree") if s["kind"] == "star"]


@pytest.mark.parametrize("picture", ["Flat", "2-D", "3-D"])
def test_where_a_placed_sample_may_be_is_a_band_on_the_tree(open_page, report, tumours, picture):
    _, table, _ = tumours
    opened = open_page(report)
    opened.page.get_by_role("radio", name=picture).click()
    place(opened, table.iloc[30].iloc[:4], "four columns")
    place(opened, table.iloc[30] * 1.01, "whole")
    for k in (0, 1):
        opened.run("app.showAdded(given)", k)
        sure = opened.run(
            "const s = app.placesOfAdded()[given].sure; return {...s, branches: [...s.branches]}", k
        )
        likely = [i for i in range(3) if sure["branches"][i] >= 0.05]
        bands = yellow(opened, "tree")
        # The likeliest branch comes last, above the others, and is not faint.
        strength = [float(band["color"].split(",")[-1].strip(" )")) for band in bands]
        assert strength == sorted(strength)
        assert strength[-1] == 1
        assert len(bands) == len(yellow(opened, "embedding")) == len(likely)
        left = inside(opened, "tree", 0, 0)[0]
        order = sorted(likely, key=lambda i: sure["branches"][i])
        for i, band in zip(order, bands, strict=True):
            times = sure["spans"][i]
            assert sure["lower"] <= times[0] <= times[1] <= sure["upper"]
            ends = [opened.pixel("tree", [time, 0, 0])[0] - left for time in times]
            np.testing.assert_allclose(
                [min(band["xy"][::2]), max(band["xy"][::2])], ends, atol=0.01
            )
        [star] = [s for s in drawn(opened, "tree") if s["kind"] == "star" and s["target"]["k"] == k]
        x, y = inside(opened, "tree", star["x"], star["y"])
        assert len(rings_at(opened, "tree", x, y)) == 1
    opened.run("app.clearAdded()")
    assert yellow(opened, "tree") == []


def yellow(opened, view):
    """Bands on the tree, in the colour of the stars."""
    return [s for s in drawn(opened, view) if s["kind"] == "lines" and s["width"] == 8]


@pytest.mark.parametrize("dims", ["2-D", "3-D"])
def test_a_placed_sample_outside_has_an_arrow_and_the_view_goes_there(
    open_page, report, tumours, dims
):
    opened = open_page(report)
    opened.page.get_by_role("radio", name=dims).click()
    place_far(opened, tumours[1])
    opened.page.wait_for_timeout(100)
    (arrow,) = [s for s in drawn(opened, "embedding") if s["kind"] == "polyline" and "target" in s]
    assert arrow["target"] == {"kind": "added", "k": 0, "isOutside": True}
    texts = {s["text"]: s for s in drawn(opened, "embedding") if s["kind"] == "text"}
    assert "far one" in texts
    # It points to the sample, from within the picture.
    left, top, right, bottom = arrow["box"]
    x, y = inside(opened, "embedding", (left + right) / 2, (top + bottom) / 2)
    place_of = (
        "return app.plots[given].scene.placeOf(app.placesOfAdded()[0])"  # in the scene's units
    )
    goal = opened.pixel("embedding", opened.run(place_of, "embedding"))
    tip = np.array(arrow["xy"][:2])
    way = tip - [(left + right) / 2, (top + bottom) / 2]
    wanted = np.array(goal) - (x, y)
    assert way @ wanted > 0.98 * np.linalg.norm(way) * np.linalg.norm(wanted)
    opened.page.mouse.move(x, y)
    assert "far one" in opened.page.inner_text(".tip")
    opened.page.mouse.click(x, y)
    for view in VIEWS:
        box = opened.page.locator(f"[data-view={view}] .plot").bounding_box()
        nodes = opened.run("return app.tree.milestones.map((m) => m.node)")
        spots = [opened.pixel(view, opened.run(place_of, view))]
        spots += [opened.node(view, node) for node in nodes]
        for px, py in spots:
            assert box["x"] < px < box["x"] + box["width"]
            assert box["y"] < py < box["y"] + box["height"]
        assert not [s for s in drawn(opened, view) if (s.get("target") or {}).get("isOutside")]
    assert "far one is shown with the whole tree" in opened.page.inner_text("[role=status]")
    # And back.
    opened.page.locator("[data-view=embedding] .plot").press("0")
    assert [s for s in drawn(opened, "embedding") if (s.get("target") or {}).get("isOutside")]


def test_a_sample_far_from_the_tree_is_marked_and_told_as_such(open_page, report, tumours):
    _, table, _ = tumours
    opened = open_page(report)
    place(opened, table.iloc[7] * 1.001, "near one")
    place_far(opened, table)
    opened.run("app.showAdded(1)")
    opened.page.wait_for_timeout(100)
    for view in VIEWS:
        dashed = [s for s in drawn(opened, view) if s["kind"] == "disc" and s.get("dash")]
        stars = {s["target"]["k"]: s for s in drawn(opened, view) if s["kind"] == "star"}
        assert [(s["x"], s["y"]) for s in dashed] == [(stars[1]["x"], stars[1]["y"])]
        opened.page.mouse.move(*inside(opened, view, stars[1]["x"], stars[1]["y"]))
        words = opened.page.inner_text(".tip")
        sample = opened.run("return app.placesOfAdded()[1]")
        assert "far one" in words
        assert sample["branchName"] in words
        assert re.search(r"pseudotime\s+[\d.]+", words)
        assert re.search(r"distance\s+[\d.]+, farther than all of", words)
        assert "Far from the tree" in words
    star = {s["target"]["k"]: s for s in drawn(opened, "tree") if s["kind"] == "star"}[0]
    opened.page.mouse.move(*inside(opened, "tree", star["x"], star["y"]))
    words = opened.page.inner_text(".tip")
    assert "near one" in words
    assert "Far from the tree" not in words


def test_the_newest_sample_is_shown_by_keyboard_too(open_page, report, tumours):
    opened = open_page(report)
    button = opened.page.locator("[data-view=embedding]").get_by_label("Show the newest new sample")
    assert not button.is_visible()
    place_far(opened, tumours[1])
    button.focus()
    opened.page.keyboard.press("Enter")
    opened.page.wait_for_timeout(100)
    marks = drawn(opened, "embedding")
    assert not [s for s in marks if (s.get("target") or {}).get("isOutside")]
    assert [s for s in marks if s["kind"] == "star"]


# Branches


@pytest.mark.parametrize("view", VIEWS)
def test_the_pointer_on_a_branch_tells_its_size_and_support(open_page, forked, view):
    path, _, _ = forked
    opened = open_page(path)
    opened.run(SUPPORT)
    found = opened.run(
        """
        const plot = app.plots[given], [width, height] = plot.size, seen = {};
        for (let x = 60; x < width - 230; x += 2) {
            for (let y = 10; y < height - 30; y += 2) {
                const found = plot.find(x, y);
                if (found?.kind === "branch") seen[found.id] ??= [x, y];
            }
        }
        return seen;
        """,
        view,
    )
    assert len(found) >= 2
    for k, spot in found.items():
        opened.page.mouse.move(*inside(opened, view, *spot))
        words = opened.page.inner_text(".tip")
        assert opened.run("return app.tree.branches[given].name", k) in words
        assert f"{opened.run('return app.branchSizes[given]', int(k))} samples" in words
        assert f"Found in {11 if int(k) % 2 else 19} of 20 resamples." in words


def test_without_support_a_branch_is_told_without_it(open_page, forked):
    opened = open_page(forked[0])
    opened.run(UNKNOWN)
    words = opened.run(
        """
        const tip = document.querySelector(".tip"), plot = app.plots.tree;
        plot.options.onHover({kind: "branch", id: 0}, {clientX: 300, clientY: 300});
        return tip.innerText;
        """
    )
    assert "samples" in words
    assert "resamples" not in words


@pytest.mark.parametrize("view", VIEWS)
def test_branches_in_doubt_are_dashed_and_the_legend_says_why(open_page, forked, view):
    opened = open_page(forked[0])
    opened.run(UNKNOWN)
    legend = opened.page.locator(".legend")
    lines = """
        const plot = app.plots[given], m = plot.camera.matrix(...plot.size);
        const {lines} = plot.cutLines(m), found = {};
        const n = lines.length / 6;
        let length = 0;
        for (let k = 0; k < n; k += 1) {
            const [ax, ay, bx, by] = [0, 1, 3, 4].map((c) => lines[6 * k + c]);
            length += Math.hypot(m[0] * (bx - ax), m[5] * (by - ay));
        }
        return {n, length};
    """
    whole = opened.run(lines, view)
    assert "Dashed" not in legend.inner_text()
    opened.run(SUPPORT)
    cut = opened.run(lines, view)
    assert cut["length"] < 0.9 * whole["length"], "there are gaps"
    assert "Dashed line: branch found in less than 80 % of the resamples" in legend.inner_text()
    # Nearer, dashes are as long on the screen: there are more of them.
    opened.run("app.plots[given].zoom(4)", view)
    assert opened.run(lines, view)["n"] > 1.3 * cut["n"]


@pytest.mark.parametrize("view", ["Embedding", "Tree"])
def test_dashes_are_in_exported_pictures_too(open_page, forked, view, tmp_path):
    opened = open_page(forked[0])
    opened.run(SUPPORT)
    opened.page.locator("summary", has_text="Export").click()
    with opened.page.expect_download() as waiting:
        opened.page.get_by_role("button", name=f"{view} as SVG").click()
    drawing = ElementTree.parse(waiting.value.path())
    texts = [e.text for e in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert "Dashed line: branch found in" in texts
    paths = [e.get("d") for e in drawing.iter("{http://www.w3.org/2000/svg}path")]
    assert max(d.count("M") for d in paths) > 20


def test_the_number_of_samples_stands_beside_every_branch(open_page, report, forked):
    for path in (report, forked[0]):
        opened = open_page(path)
        texts = [s["text"] for s in drawn(opened, "tree") if s["kind"] == "text"]
        sizes = opened.run("return app.branchSizes")
        assert sorted(t for t in texts if t.startswith("n = ")) == sorted(f"n = {n}" for n in sizes)


# Names


def named_boxes(opened, view):
    return [s["box"] for s in drawn(opened, view) if s["kind"] == "text" and s.get("box")]


def test_names_never_lie_on_one_another(open_page, report, tmp_path):
    rng = np.random.default_rng(0)
    tips = 40
    angle = np.linspace(0, 2 * np.pi, tips, endpoint=False)
    nodes = np.vstack([[0, 0], np.column_stack([np.cos(angle), np.sin(angle)])])
    edges = np.column_stack([np.zeros(tips, int), 1 + np.arange(tips)])
    points = nodes[rng.integers(0, tips, 300) + 1] * rng.uniform(size=(300, 1))
    star = Trajectory(edges, nodes, points + rng.normal(scale=0.02, size=points.shape))
    star.to_html(tmp_path / "star.html")
    for path, least in ((report, 3), (tmp_path / "star.html", 30)):
        opened = open_page(path)
        for view in VIEWS:
            boxes = np.array(named_boxes(opened, view))
            size = opened.run("return app.plots[given].size", view)
            assert len(boxes) >= least
            assert boxes.min() >= 0
            assert (boxes[:, 2] <= size[0]).all()
            assert (boxes[:, 3] <= size[1]).all()
            apart = (
                (boxes[:, None, 2] <= boxes[None, :, 0])
                | (boxes[:, None, 0] >= boxes[None, :, 2])
                | (boxes[:, None, 3] <= boxes[None, :, 1])
                | (boxes[:, None, 1] >= boxes[None, :, 3])
            )
            assert (apart | np.eye(len(boxes), dtype=bool)).all()


def test_names_keep_away_from_points_where_there_is_room(open_page, report):
    opened = open_page(report)
    for view in VIEWS:
        box = opened.page.locator(f"[data-view={view}] .plot").bounding_box()
        n = opened.run("return app.nRows")
        spots = np.array([opened.row(view, i) for i in range(n)]) - (box["x"], box["y"])
        boxes = named_boxes(opened, view)
        under = [
            ((spots > box[:2]).all(axis=1) & (spots < box[2:]).all(axis=1)).sum() for box in boxes
        ]
        # In the middle of the cloud there may be none; most names cover nothing.
        assert np.median(under) == 0
        assert max(under) <= 3


# Space


def covered(opened, view, selector):
    """Samples, tips and forks that lie under an element."""
    box = opened.page.locator(selector).bounding_box()
    nodes = opened.run("return app.tree.milestones.map((m) => m.node)")
    rows = range(opened.run("return app.nRows"))
    spots = np.array([opened.row(view, i) for i in rows])
    ends = np.array([opened.node(view, node) for node in nodes])

    def under(places):
        low = (box["x"], box["y"])
        high = (box["x"] + box["width"], box["y"] + box["height"])
        return int(((places > low).all(axis=1) & (places < high).all(axis=1)).sum())

    return under(spots), under(ends)


@pytest.mark.parametrize("size", [(1366, 768), (1920, 1080)])
def test_the_views_have_the_space_of_the_screen(open_page, report, size):
    opened = open_page(report, viewport={"width": size[0], "height": size[1]})
    views = opened.page.locator(".views").bounding_box()
    assert views["width"] * views["height"] > 0.65 * size[0] * size[1]
    assert views["y"] <= 76
    for view in VIEWS:
        box = opened.page.locator(f"[data-view={view}] .plot").bounding_box()
        rows = range(opened.run("return app.nRows"))
        spots = np.array([opened.row(view, i) for i in rows])
        spans = np.ptp(spots, axis=0) / (box["width"], box["height"])
        # The flat tree fills its view; the embedding, of which both axes are alike, one of them.
        assert spans.max() > 0.85
        assert view == "embedding" or spans.min() > 0.7
    legend, ends = covered(opened, "embedding", ".legend")
    assert legend <= 2
    assert ends == 0


def test_the_legend_takes_no_room_where_nothing_lies_under_it(open_page, tmp_path):
    rng = np.random.default_rng(0)
    wide = np.column_stack([np.linspace(0, 100, 200), rng.normal(size=200)])
    path = Trajectory([[0, 1]], [[0.0, 0.0], [100.0, 0.0]], wide)
    path.to_html(tmp_path / "wide.html")
    opened = open_page(tmp_path / "wide.html", viewport={"width": 1366, "height": 768})
    opened.page.get_by_role("radio", name="Embedding").click()
    box = opened.page.locator("[data-view=embedding] .plot").bounding_box()
    last = opened.row("embedding", 199)[0]
    assert last > box["x"] + box["width"] - 40


# A phone


@pytest.fixture
def phone(open_page, report):
    return open_page(report, **PHONE)


def test_on_a_phone_nothing_covers_the_tree(phone):
    wide = phone.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390
    assert phone.page.evaluate("document.documentElement.scrollHeight") <= 844
    views = phone.page.locator(".views").bounding_box()
    assert views["height"] > 0.75 * 844
    for view in VIEWS:
        plot = phone.page.locator(f"[data-view={view}] .plot").bounding_box()
        assert plot["width"] == 390
        assert plot["height"] > 240
        for selector in (".legend", f"[data-view={view}] .zoom", ".bars-inner", "[role=tablist]"):
            assert covered(phone, view, selector) == (0, 0)
    # Also with the legend open.
    phone.page.locator(".legend summary").tap()
    assert phone.page.locator(".legend button").first.is_visible()
    phone.page.wait_for_timeout(100)
    assert covered(phone, "embedding", ".legend") == (0, 0)


def test_on_a_phone_panels_are_sheets(phone):
    sheet = phone.page.locator(".sheet")
    assert not sheet.is_visible()
    for tab in ("Branches", "Feature", "New sample", "Selection"):
        phone.page.get_by_role("tab", name=tab).tap()
        assert sheet.is_visible()
        box = sheet.bounding_box()
        assert box["height"] < 0.6 * 844
        assert box["width"] == 390
        foot = phone.page.get_by_role("tab", name=tab).bounding_box()
        assert box["y"] + box["height"] <= foot["y"] + 1
    phone.page.get_by_role("button", name="Close the panel").tap()
    assert not sheet.is_visible()
    phone.page.get_by_role("tab", name="Feature").tap()
    assert phone.page.locator("#panel-feature").is_visible()
    phone.page.get_by_role("tab", name="Feature").tap()
    assert not sheet.is_visible()
    phone.page.get_by_role("tab", name="Feature").tap()
    phone.page.keyboard.press("Escape")
    assert not sheet.is_visible()
    # What was searched for is seen, not a sheet above it.
    phone.page.get_by_role("button", name="Controls").tap()
    search = phone.page.get_by_label("Find a sample by its name")
    search.fill("P121")
    search.press("Enter")
    assert not sheet.is_visible()
    assert phone.run("return app.looked.row") == 121


def test_on_a_phone_all_controls_are_there_and_large_enough(phone):
    page = phone.page
    fold = page.get_by_role("button", name="Controls")
    assert not page.get_by_label("Colour by").is_visible()
    fold.tap()
    assert fold.get_attribute("aria-expanded") == "true"
    page.get_by_label("Colour by").select_option(label="pseudotime")
    assert page.get_by_label("Root", exact=True).is_visible()
    small = page.evaluate(
        """() => [...document.querySelectorAll("button, select, summary, input")]
            .filter((e) => e.offsetParent && e.getBoundingClientRect().height < 40
                           && !e.classList.contains("visually-hidden"))
            .map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert small == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.touchscreen.tap(200, 700)
    assert fold.get_attribute("aria-expanded") == "false"


def fingers(opened, *steps):
    """Fingers that touch, move and leave: lists of places, one after the other."""
    session = opened.page.context.new_cdp_session(opened.page)

    def send(kind, places):
        points = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(places)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    send("touchStart", steps[0])
    for places in steps[1:]:
        send("touchMove", places)
    send("touchEnd", [])
    session.detach()


def test_one_finger_moves_the_picture(phone):
    start = phone.row("embedding", 0)
    x, y = inside(phone, "embedding", 200, 100)
    fingers(phone, [(x, y)], [(x + 20, y + 10)], [(x + 40, y + 30)], [(x + 60, y + 30)])
    moved = np.array(phone.row("embedding", 0)) - start
    assert moved == pytest.approx([60, 30], abs=1)
    assert phone.run("return app.selection") is None


def test_two_fingers_zoom_about_their_middle(phone):
    x, y = inside(phone, "embedding", 200, 130)
    near = phone.run(
        """
        const plot = app.plots.embedding, box = plot.element.getBoundingClientRect();
        const m = plot.camera.matrix(...plot.size);
        return [(given[0] - box.left - m[3]) / m[0], (given[1] - box.top - m[7]) / m[5], 0];
        """,
        [x, y],
    )
    fingers(
        phone,
        [(x - 20, y), (x + 20, y)],
        [(x - 30, y), (x + 30, y)],
        [(x - 50, y), (x + 50, y)],
        [(x - 60, y), (x + 60, y)],
    )
    assert phone.run("return app.plots.embedding.camera.zoom") == pytest.approx(3, rel=0.02)
    assert phone.pixel("embedding", near) == pytest.approx([x, y], abs=1.5)
    assert phone.run("return app.selection") is None
    assert phone.run("return app.plots.embedding.fingers.size") == 0


def test_a_tap_selects_and_a_long_press_tells(phone, tumours):
    alone = int(np.argmax(tumours[0].trajectory.distance_))
    x, y = phone.row("embedding", alone)
    phone.page.touchscreen.tap(x, y)
    assert phone.run("return app.selectedRows") == [alone]
    phone.run("app.clearSelection()")
    session = phone.page.context.new_cdp_session(phone.page)
    touch = {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]}
    session.send("Input.dispatchTouchEvent", touch)
    tip = phone.page.locator(".tip")
    tip.wait_for(state="visible")
    assert tip.inner_text().startswith(f"P{alone:03}")
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    # It stays, and selects nothing.
    phone.page.wait_for_timeout(100)
    assert tip.is_visible()
    assert phone.run("return app.selection") is None
    box = tip.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    phone.page.get_by_role("tab", name="Branches").tap()
    assert not tip.is_visible()


@pytest.mark.parametrize("view", VIEWS)
def test_a_finger_draws_the_lasso(phone, view):
    phone.page.get_by_role("radio", name="Lasso").tap()
    spots = np.array([phone.row(view, i) for i in (0, 3)])
    low, high = spots.min(axis=0) - 12, spots.max(axis=0) + 12
    corners = [low, (high[0], low[1]), high, (low[0], high[1]), low]
    steps = [
        [tuple(float(v) for v in np.array(a) + (np.array(b) - a) * t)]
        for a, b in pairwise(corners)
        for t in np.linspace(0, 1, 5)
    ]
    fingers(phone, *steps)
    all_spots = np.array([phone.row(view, i) for i in range(phone.run("return app.nRows"))])
    expected = np.flatnonzero(((all_spots > low) & (all_spots < high)).all(axis=1))
    assert phone.run("return app.selectedRows") == expected.tolist()


# Long names


@pytest.fixture(scope="module")
def lengthy(tmp_path_factory):
    """Names of 200 letters everywhere."""
    data = make_tree(80, 4, noise=0.05, random_state=0)
    long = ("a_name_that_goes_on_and_on_" * 8)[:200]
    table = pd.DataFrame(data.X, columns=[f"{k}{long}"[:200] for k in range(4)])
    table.index = [f"{k}{long}"[:200] for k in range(80)]
    notes = pd.DataFrame(
        {f"column {long}"[:200]: [f"{k % 3} {long}"[:200] for k in range(80)]}, index=table.index
    )
    made = fit_pipeline(table, DDRTree(2, random_state=0), Preparation(), root={"node": "T1"})
    path = tmp_path_factory.mktemp("lengthy") / "report.html"
    write_report(path, made, features=table, annotations=notes, title=long, color=notes.columns[0])
    return path, table, notes


def padding_is_free(control, width):
    """Whether the right padding of a list looks the same without the text of what is chosen."""
    control.scroll_into_view_if_needed()
    box = control.bounding_box()
    strip = {"x": box["x"] + box["width"] - width, "y": box["y"], "width": width}
    strip["height"] = box["height"]
    seen = control.page.screenshot(clip=strip)
    text = control.evaluate(
        "(e) => { const [o] = e.selectedOptions, t = o.text; o.text = ''; return t }"
    )
    bare = control.page.screenshot(clip=strip)
    control.evaluate("(e, text) => { e.selectedOptions[0].text = text }", text)
    return seen == bare


@pytest.mark.parametrize("options", [{"viewport": {"width": 1366, "height": 768}}, PHONE])
def test_long_names_end_before_what_is_beside_them(open_page, lengthy, options):
    path, table, notes = lengthy
    opened = open_page(path, **options)
    page, wide = opened.page, options["viewport"]["width"]
    opened.run("app.legendElement.open = true; document.querySelector('.fold').click()")
    place(opened, table.iloc[0], table.index[0])
    opened.run("app.find(3, app.label(3))")
    assert page.locator("h1").get_attribute("title") == page.inner_text("h1")
    for control in page.locator("select:visible").all():
        # Text ends where the padding begins, and the arrow lies in the padding.
        room = control.evaluate(
            """(e) => { const s = getComputedStyle(e);
                 return [parseFloat(s.paddingRight), s.textOverflow,
                         Math.max(...s.backgroundPosition.match(/[\\d.]+px/g).map(parseFloat))
                           + parseFloat(s.backgroundSize)] }"""
        )
        assert room[0] > room[2] + 4
        assert room[1] == "ellipsis"
        assert padding_is_free(control, room[0])
        assert control.bounding_box()["x"] + control.bounding_box()["width"] <= wide
    assert page.get_by_label("Colour by").get_attribute("title") == notes.columns[0]
    legend = page.locator(".legend").bounding_box()
    for entry in page.locator(".legend li button").all():
        name, count = entry.locator(".name").bounding_box(), entry.locator(".count").bounding_box()
        assert name["x"] + name["width"] <= count["x"] + 0.5
        assert count["x"] + count["width"] <= legend["x"] + legend["width"]
        assert len(entry.get_attribute("title")) == 200
    opened.run("document.querySelector('.fold').click()")
    for tab in ("branches", "feature", "new", "selection"):
        opened.run("app.openTab(given)", tab)
        panel = page.locator(f"#panel-{tab}")
        over = panel.evaluate(
            """(panel) => [...panel.querySelectorAll("*")].filter((e) => e.offsetParent
                 && e.getBoundingClientRect().right > panel.getBoundingClientRect().right + 1)
                 .map((e) => e.outerHTML.slice(0, 60))"""
        )
        assert over == []
    for tab in page.get_by_role("tab").all():
        assert tab.bounding_box()["x"] + tab.bounding_box()["width"] <= wide + 0.5
    assert page.evaluate("document.documentElement.scrollWidth") <= wide


# Charts


def test_exported_trends_are_smooth_curves(open_page, report, tumours):
    opened = open_page(report)
    opened.page.locator("summary", has_text="Export").click()
    with opened.page.expect_download() as waiting:
        opened.page.get_by_role("button", name="Feature chart as SVG").click()
    paths = [
        e.get("d") for e in ElementTree.parse(waiting.value.path()).iter() if e.tag.endswith("path")
    ]
    curves = [d for d in paths if "C" in d]
    # A band, and a line with its edge, for each branch and more where there are gaps.
    assert len(curves) >= 3 * len(tumours[0].trajectory.branch_table_)
    assert all("L" not in d for d in curves)
    points = opened.run("return app.state.trends.n_points")
    assert max(d.count("C") for d in curves) > 0.5 * points


def test_bands_stay_in_the_panel(open_page, tmp_path):
    rng = np.random.default_rng(0)
    time = np.sort(rng.uniform(0, 10, 40))
    path = Trajectory([[0, 1]], [[0.0, 0.0], [10.0, 0.0]], np.column_stack([time, 0 * time]))
    values = np.column_stack([np.sin(time) + rng.normal(scale=0.5, size=40), rng.normal(size=40)])
    path.to_html(tmp_path / "few.html", features=values, feature_names=["wave", "noise"])
    opened = open_page(tmp_path / "few.html")
    for k in range(2):
        found = opened.run(
            """
            app.showFeature(app.features[given].key);
            const shapes = app.featureShapes(600, 300, app.themeColors());
            const clip = shapes.find((s) => s.kind === "clip");
            return {clip: [clip.y, clip.y + clip.height],
                    bands: clip.shapes.filter((s) => s.kind === "curve" && s.closed)
                               .map((s) => Array.from(s.xy))};
            """,
            k,
        )
        assert found["bands"]
        heights = np.concatenate([band[1::2] for band in found["bands"]])
        assert heights.min() >= found["clip"][0]
        assert heights.max() <= found["clip"][1]


# In words


def described(opened):
    """The views in the accessibility tree: names and descriptions."""
    session = opened.page.context.new_cdp_session(opened.page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    return {
        node["name"]["value"]: node.get("description", {}).get("value", "")
        for node in nodes
        if node.get("role", {}).get("value") == "application"
    }


def test_the_tree_is_told_in_words_to_those_who_hear_it(open_page, report, tumours):
    path = tumours[0].trajectory
    opened = open_page(report)
    for root in ("T1", "F1"):
        if root != "T1":
            opened.page.mouse.click(*opened.node("tree", int(path.milestones_.loc["F1", "node"])))
        rooted = path.rooted(node=root)
        kinds = rooted.milestones_["kind"].value_counts()
        found = described(opened)
        assert len(found) == 2
        for words in found.values():
            assert words.startswith(f"Tree with {kinds['tip']} tips and {kinds['fork']} fork")
            assert f"Root {root}." in words
            for name, branch in rooted.branch_table_.iterrows():
                end = branch["end"]
                told = f"Branch {name}: {branch['n_samples']} samples, length "
                assert told in words
                assert f"leads to {end}" in words
