"""The report as a person uses it, in a real browser."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from branchwise.report.page import read_static
from branchwise.trajectory import Trajectory


def test_the_page_loads_without_a_request_or_an_error(open_page, report):
    opened = open_page(report)
    page = opened.page
    assert page.title() == "Breast tumours"
    assert page.inner_text("h1") == "Breast tumours"
    assert "569 samples" in page.inner_text(".title p")
    assert opened.requests == [report.resolve().as_uri()]
    assert opened.run("return app.plots.embedding.painter !== null"), "WebGL was not used"


def test_the_page_works_without_a_network_and_as_a_copy(open_page, report, tmp_path):
    copy = tmp_path / "mailed report (1).html"
    copy.write_bytes(report.read_bytes())
    assert open_page(copy, offline=True).run("return app.nRows") == 569


def test_the_policy_lets_nothing_else_run_or_load(open_page, report, listener):
    opened = open_page(report, expects_problems=True)
    html = report.read_text("utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)[1]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    # After the call: what runs within one of the test's own is not under the policy.
    opened.page.evaluate(
        """(address) => {
            window.refused = [];
            document.addEventListener("securitypolicyviolation", (event) => {
                window.refused.push(event.effectiveDirective);
            });
            setTimeout(() => {
                const add = (tag, given) =>
                    document.body.append(Object.assign(document.createElement(tag), given));
                add("script", {textContent: "window.injected = true"});
                add("img", {src: `${address}/x.png`});
                add("link", {rel: "stylesheet", href: `${address}/x.css`});
                try { new Function("window.injected = true")(); } catch { /* as it should */ }
                fetch(address).catch(() => {});
                navigator.sendBeacon(address);
                window.tried = true;
            });
        }""",
        listener.address,
    )
    opened.until("return window.tried && window.refused.length >= 5")
    opened.page.wait_for_timeout(300)
    assert opened.page.evaluate("window.injected") is None
    refused = set(opened.page.evaluate("window.refused"))
    assert refused >= {"script-src-elem", "script-src", "img-src", "connect-src"}
    assert listener.calls == []


def test_without_the_data_the_page_is_small():
    size = sum(len(read_static(name).encode()) for name in ("report.js", "report.css"))
    assert size < 2_000_000


# Colours


def test_every_column_can_be_coloured_by(open_page, report):
    opened = open_page(report)
    control = opened.page.get_by_label("Colour by")
    names = control.locator("option").all_inner_texts()
    assert {"branch", "pseudotime", "diagnosis", "site", "density", "uncertainty"} <= set(names)
    assert "mean radius" in names
    pictures = set()
    for name in ("branch", "pseudotime", "diagnosis", "density", "uncertainty", "mean radius"):
        control.select_option(label=name)
        assert opened.page.inner_text(".legend-title") == name
        opened.page.wait_for_timeout(100)
        pictures.add(opened.page.locator("[data-view=embedding]").screenshot())
    assert len(pictures) == 6


def test_missing_values_are_counted_and_grey(open_page, report):
    opened = open_page(report)
    opened.page.get_by_label("Colour by").select_option(label="site")
    n_missing = opened.run("return app.coloring.nMissing")
    assert n_missing > 100
    assert f"missing\n{n_missing}" in opened.page.inner_text(".legend")


def test_colours_are_those_of_the_pictures(open_page, report):
    from matplotlib import colormaps

    from branchwise.plotting.coloring import MORE_COLORS, PALETTE

    opened = open_page(report)
    opened.page.get_by_label("Colour by").select_option(label="pseudotime")
    rgba = np.array(opened.run("return [...app.coloring.rgba]")).reshape(-1, 4)[:, :3]
    time = np.array(opened.run("return [...app.placed.pseudotime]"))
    wanted = 255 * colormaps["viridis"](time / time.max())[:, :3]
    assert np.abs(rgba - wanted).max() < 6  # sixteen straight pieces
    opened.page.get_by_label("Colour by").select_option(label="diagnosis")
    shown = opened.run("return app.coloring.styles.map((s) => s.color)")
    assert shown == list((*PALETTE, *MORE_COLORS)[:2])


def test_an_entry_of_the_legend_selects_its_samples(open_page, report, tumours):
    opened = open_page(report)
    opened.page.locator(".legend button", has_text="malignant").click()
    rows = opened.run("return app.selectedRows")
    assert rows == np.flatnonzero(tumours[2]["diagnosis"] == "malignant").tolist()
    opened.page.locator(".legend button", has_text="malignant").click()
    assert opened.run("return app.selection") is None


# Roots and branches


def test_a_click_on_a_node_makes_it_the_root(open_page, report, tumours):
    opened = open_page(report)
    path = tumours[0].trajectory
    for view, node in [("embedding", "T2"), ("tree", "F1")]:
        number = int(path.milestones_.loc[node, "node"])
        opened.page.mouse.click(*opened.node(view, number))
        assert opened.run("return app.rootName") == node
        rooted = path.rooted(node=node)
        assert opened.run("return app.tree.branches.map((b) => b.name)") == (
            rooted.branch_table_.index.tolist()
        )
        time = np.array(opened.run("return [...app.placed.pseudotime]"))
        np.testing.assert_allclose(time, rooted.pseudotime_, rtol=0, atol=1e-9)
    opened.page.get_by_role("button", name="Reset root").click()
    time = np.array(opened.run("return [...app.placed.pseudotime]"))
    np.testing.assert_allclose(time, path.pseudotime_, rtol=0, atol=1e-9)


def test_the_root_can_be_chosen_by_keyboard(open_page, report):
    opened = open_page(report)
    control = opened.page.get_by_label("Root", exact=True)
    control.focus()
    roots = [opened.run("return app.rootName")]
    for _ in range(2):  # the focus stays where it is
        opened.page.keyboard.press("ArrowDown")
        roots.append(opened.run("return app.rootName"))
    assert len(set(roots)) == 3
    assert "Root at" in opened.page.inner_text("[role=status]")


def test_the_focus_stays_with_what_was_chosen(open_page, report):
    opened = open_page(report)
    for place in (".legend button", "#panel-branches tbody button"):
        button = opened.page.locator(place).first
        button.focus()
        opened.page.keyboard.press("Enter")
        assert opened.run("return app.selection !== null")
        pressed = opened.page.evaluate("document.activeElement.ariaPressed")
        assert pressed == "true"
        opened.page.keyboard.press("Escape")  # wherever the focus is
        assert opened.run("return app.selection") is None


def test_equal_labels_of_two_columns_are_not_mixed_up(open_page, report):
    opened = open_page(report)
    opened.run("app.toggleCategory(app.columns.find((c) => c.name === 'site'), 0)")
    chosen = opened.run("return app.selectedRows.length")
    pressed = opened.page.locator(".legend [aria-pressed=true]").count()
    assert pressed == 0  # the legend is that of the diagnosis
    opened.page.locator(".legend button").first.click()
    assert opened.run("return app.selectedRows.length") != chosen


def test_branches_are_listed_with_sizes_composition_and_features(open_page, report, tumours):
    made, table, diagnosis = tumours
    path = made.trajectory
    opened = open_page(report)
    name = path.branch_table_.index[0]
    row = opened.page.locator("#panel-branches tr", has_text=name).first
    assert f"{path.branch_table_.loc[name, 'n_samples']}" in row.inner_text()
    row.get_by_role("button").click()
    on_it = path.branches_ == name
    assert opened.run("return app.selectedRows") == np.flatnonzero(on_it).tolist()
    detail = opened.page.inner_text("#panel-branches .detail")
    counts = diagnosis["diagnosis"][on_it].value_counts()
    for label, count in counts.items():
        assert re.search(rf"{label}\s+{count}\s+{100 * count / on_it.sum():.0f} %", detail)
    inside, outside = table[on_it], table[~on_it]
    pooled = np.sqrt(
        ((on_it.sum() - 1) * inside.var() + ((~on_it).sum() - 1) * outside.var()) / (len(table) - 2)
    )
    d = ((inside.mean() - outside.mean()) / pooled).abs().sort_values(ascending=False)
    listed = opened.page.locator("#panel-branches .tight tbody th").all_inner_texts()
    assert listed == d.index[: len(listed)].tolist()


# Selecting


def drawn_around(opened, view, rows):
    """Draw a rectangle around rows with the mouse."""
    spots = np.array([opened.row(view, i) for i in rows])
    low, high = spots.min(axis=0) - 12, spots.max(axis=0) + 12
    corners = [low, (high[0], low[1]), high, (low[0], high[1])]
    opened.page.mouse.move(*map(float, low))
    opened.page.mouse.down()
    for corner in [*corners[1:], low]:
        opened.page.mouse.move(*map(float, corner), steps=5)
    opened.page.mouse.up()
    positions = np.array(
        [opened.row(view, i) for i in range(opened.run("return app.nRows"))], dtype=float
    )
    return np.flatnonzero(((positions > low) & (positions < high)).all(axis=1))


@pytest.mark.parametrize("view", ["embedding", "tree"])
def test_the_lasso_selects_in_one_view_and_marks_the_other(open_page, report, view):
    opened = open_page(report)
    opened.page.get_by_role("radio", name="Lasso").click()
    other = {"embedding": "tree", "tree": "embedding"}[view]
    before = opened.page.locator(f"[data-view={other}]").screenshot()
    expected = drawn_around(opened, view, [0, 3])
    assert opened.run("return app.selectedRows") == expected.tolist()
    opened.page.mouse.move(5, 5)
    opened.page.wait_for_timeout(100)
    assert opened.page.locator(f"[data-view={other}]").screenshot() != before
    opened.page.get_by_role("tab", name="Selection").click()
    assert f"{len(expected)} samples" in opened.page.inner_text("#panel-selection")
    opened.page.locator(f"[data-view={view}] .plot").press("Escape")
    assert opened.run("return app.selection") is None


def test_shift_and_drag_is_a_lasso_too(open_page, report):
    opened = open_page(report)
    opened.page.keyboard.down("Shift")
    expected = drawn_around(opened, "embedding", [0, 3])
    opened.page.keyboard.up("Shift")
    assert opened.run("return app.selectedRows") == expected.tolist()


def test_the_pointer_on_a_sample_tells_its_name_and_values(open_page, report, tumours):
    made, _, diagnosis = tumours
    opened = open_page(report)
    # A sample with nothing else nearby.
    alone = int(np.argmax(made.trajectory.distance_))
    opened.page.mouse.move(*opened.row("embedding", alone))
    tip = opened.page.inner_text(".tip")
    assert tip.startswith(f"P{alone:03}")
    assert diagnosis["diagnosis"].iloc[alone] in tip
    assert made.trajectory.branches_[alone] in tip
    opened.page.mouse.click(*opened.row("embedding", alone))
    assert opened.run("return app.selectedRows") == [alone]
    opened.page.get_by_role("tab", name="Selection").click()
    values = opened.page.inner_text("#panel-selection")
    assert f"P{alone:03}" in values
    assert "worst texture" in values


@pytest.mark.parametrize("view", ["embedding", "tree"])
def test_samples_at_nodes_can_be_pointed_at_too(open_page, report, view):
    """But for those under the disc of a tip or fork, of which there are few."""
    opened = open_page(report)
    script = """
        const plot = app.plots[given], m = plot.camera.matrix(...plot.size);
        const {positions} = plot.scene;
        let n = 0;
        for (let i = 0; i < app.nRows; i += 1) {
            const [x, y, z] = positions.subarray(3 * i, 3 * i + 3);
            const {sample} = plot.under(m[0] * x + m[1] * y + m[2] * z + m[3],
                                        m[4] * x + m[5] * y + m[6] * z + m[7]);
            n += sample >= 0;
        }
        return n / app.nRows;
    """
    assert opened.run(script, view) > 0.9


def test_the_pointer_on_a_node_tells_what_a_click_does(open_page, report, tumours):
    opened = open_page(report)
    fork = int(tumours[0].trajectory.milestones_.loc["F1", "node"])
    opened.page.mouse.move(*opened.node("embedding", fork))
    tip = opened.page.locator(".tip")
    assert tip.is_visible()
    assert tip.inner_text().startswith("F1")
    assert "click to start time here" in tip.inner_text()


def test_a_node_within_a_branch_is_clicked_with_the_tool_for_roots(open_page, report, tumours):
    path = tumours[0].trajectory
    plain = next(k for k in range(len(path.nodes_)) if k not in set(path.milestones_["node"]))
    opened = open_page(report)
    opened.page.get_by_role("radio", name="Set root").click()
    opened.page.mouse.click(*opened.node("embedding", plain))
    chosen = opened.run("return app.wanted")
    rooted = path.rooted(node=chosen)
    assert np.linalg.norm(path.nodes_[chosen[0]] - path.nodes_[plain]) < 0.2
    time = np.array(opened.run("return [...app.placed.pseudotime]"))
    np.testing.assert_allclose(time, rooted.pseudotime_, atol=1e-9)
    assert opened.run("return app.tree.branches.map((b) => b.name)") == (
        rooted.branch_table_.index.tolist()
    )


def test_samples_are_found_by_name(open_page, report):
    opened = open_page(report)
    search = opened.page.get_by_label("Find a sample by its name")
    search.fill("p12")
    assert opened.page.locator(".found li").all_inner_texts() == [f"P12{k}" for k in range(10)]
    search.press("ArrowDown")
    search.press("Enter")
    assert opened.run("return app.selectedRows") == [121]
    box = opened.page.locator("[data-view=embedding] .plot").bounding_box()
    x, y = opened.row("embedding", 121)
    assert abs(x - box["x"] - box["width"] / 2) < 2
    assert abs(y - box["y"] - box["height"] / 2) < 2
    # The very name comes first, though others begin so.
    opened.run("app.state.samples.ids[500] = 'P1'")
    search.fill("p1")
    assert opened.page.locator(".found li").first.inner_text() == "P1"
    search.fill("nobody")
    assert opened.page.inner_text(".found") == "no such sample"


# Moving


def test_wheel_drag_and_keys_move_the_picture(open_page, report):
    opened = open_page(report)
    plot = opened.page.locator("[data-view=embedding] .plot")
    start = opened.row("embedding", 0)
    plot.hover(position={"x": 20, "y": 200})
    opened.page.mouse.wheel(0, -300)
    opened.until("return app.plots.embedding.camera.zoom > 1.2")
    plot.press("0")
    assert opened.row("embedding", 0) == pytest.approx(start)
    opened.page.mouse.move(300, 440)
    opened.page.mouse.down()
    opened.page.mouse.move(340, 420, steps=4)
    opened.page.mouse.up()
    moved = opened.row("embedding", 0)
    assert moved == pytest.approx([start[0] + 40, start[1] - 20])
    plot.press("ArrowRight")
    assert opened.row("embedding", 0)[0] == pytest.approx(moved[0] - 40)
    plot.press("+")
    assert opened.run("return app.plots.embedding.camera.zoom") == pytest.approx(1.25)
    opened.page.locator("[data-view=embedding]").get_by_label("See everything").click()
    assert opened.row("embedding", 0) == pytest.approx(start)


def test_three_dimensions_turn(open_page, report):
    opened = open_page(report)
    opened.page.get_by_role("radio", name="3-D").click()
    start = opened.row("embedding", 0)
    opened.page.mouse.move(300, 440)
    opened.page.mouse.down()
    opened.page.mouse.move(360, 420, steps=4)
    opened.page.mouse.up()
    assert opened.run("return app.plots.embedding.camera.yaw") == pytest.approx(0.6 + 0.6)
    assert opened.row("embedding", 0) != pytest.approx(start)
    # Lengths along the line of sight are the only ones that are lost.
    spans = opened.run(
        """
        const m = app.plots.embedding.camera.matrix(100, 100);
        return [0, 4].map((k) => Math.hypot(m[k], m[k + 1], m[k + 2]));
        """
    )
    assert spans[0] == pytest.approx(spans[1])


def test_without_webgl_the_canvas_draws_the_same(open_page, report):
    block = """
        const real = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
          return kind === "webgl2" ? null : real.call(this, kind, ...more);
        };
    """
    opened = open_page(report, scripts=[block])
    assert opened.run("return app.plots.embedding.painter") is None
    plain = opened.page.locator("[data-view=embedding] .plot").screenshot()
    fast = open_page(report).page.locator("[data-view=embedding] .plot").screenshot()
    drawn = [np.asarray(Image.open(file_of(png)).convert("RGB"), float) for png in (plain, fast)]
    # The same up to rims and smoothed edges.
    assert np.mean(np.abs(drawn[0] - drawn[1]).max(axis=2) > 90) < 0.01
    assert np.mean(np.abs(drawn[0] - 255).max(axis=2) > 90) > 0.005
    opened.page.get_by_role("radio", name="3-D").click()
    opened.page.mouse.click(*opened.node("tree", opened.run("return app.tree.milestones[1].node")))


def file_of(png):
    import io

    return io.BytesIO(png)


# Features and details


def test_trends_are_those_of_python(open_page, report, tumours):
    made, table, _ = tumours
    opened = open_page(report)
    opened.page.get_by_role("tab", name="Feature").click()
    opened.page.locator("#panel-feature select").select_option(label="mean texture")
    label = opened.page.locator("#panel-feature canvas").get_attribute("aria-label")
    trends = made.trajectory.trends(table[["mean texture"]], n_points=100)
    first = trends[trends["branch"] == made.trajectory.branch_table_.index[0]]
    words = f"{first['branch'].iloc[0]} from {first['mean'].iloc[0]:.3g}"
    assert words in label
    opened.page.get_by_role("button", name="Colour the views by it").click()
    assert opened.page.inner_text(".legend-title") == "mean texture"


def test_a_trend_is_interrupted_where_there_are_no_samples(open_page, tmp_path):
    time = np.concatenate([np.linspace(0, 4, 80), np.linspace(7, 10, 60)])
    path = Trajectory([[0, 1]], [[0.0, 0.0], [10.0, 0.0]], np.column_stack([time, 0 * time]))
    path.to_html(tmp_path / "gap.html", features=np.cos(time)[:, None], feature_names=["wave"])
    opened = open_page(tmp_path / "gap.html")
    opened.page.get_by_role("tab", name="Feature").click()
    assert "Where there are no samples" in opened.page.inner_text("#panel-feature")
    shapes = opened.page.evaluate(
        "branchwise.featureShapes(600, 300, branchwise.themeColors())"
        ".find((s) => s.kind === 'clip').shapes"
        ".filter((s) => s.kind === 'curve').map((s) => Array.from(s.xy))"
    )
    # Two bands, and two curves with their edges; none of them reaches into the gap.
    assert len(shapes) == 6
    middle = 52 + (600 - 52 - 12) * 0.55
    assert all(max(xy[::2]) < middle or min(xy[::2]) > middle for xy in shapes)


def test_the_drawer_tells_of_the_run(open_page, report, tumours):
    model = tumours[0].estimator
    opened = open_page(report)
    opened.page.get_by_role("button", name="Run details").click()
    text = opened.page.inner_text("dialog")
    assert "Convergence" in text
    assert f"in {len(model.objective_history_) - 1} steps" in text
    assert "standardize" in text
    assert "scikit-learn" in text
    opened.page.keyboard.press("Escape")
    assert not opened.page.locator("dialog").is_visible()


# Files


def exported(opened, menu, item, tmp_path):
    if menu:
        opened.page.locator("summary", has_text=menu).click()
    with opened.page.expect_download() as waiting:
        opened.page.get_by_role("button", name=item).first.click()
    file = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(file)
    return file


def test_a_view_that_is_hidden_is_exported_all_the_same(open_page, report, tmp_path):
    opened = open_page(report)
    opened.page.get_by_role("radio", name="Embedding").click()
    svg = exported(opened, "Export", "Tree as SVG", tmp_path)
    circles = ElementTree.parse(svg).findall(".//{http://www.w3.org/2000/svg}circle")
    spots = {(c.get("cx"), c.get("cy")) for c in circles}
    assert len(spots) > 200


@pytest.mark.parametrize("view", ["Embedding", "Tree", "Feature chart"])
def test_pictures_are_exported(open_page, report, tmp_path, view):
    opened = open_page(report)
    opened.page.get_by_role("tab", name="Feature").click()
    png = exported(opened, "Export", f"{view} as PNG", tmp_path)
    assert png.name.startswith("breast-tumours-")
    pixels = np.asarray(Image.open(png).convert("RGB"))
    assert pixels.shape[0] > 400
    assert pixels.shape[1] > 800
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 20
    svg = exported(opened, "Export", f"{view} as SVG", tmp_path)
    drawn = ElementTree.parse(svg)
    circles = drawn.findall(".//{http://www.w3.org/2000/svg}circle")
    assert len(circles) >= 569
    texts = {e.text for e in drawn.iter("{http://www.w3.org/2000/svg}text")}
    assert "Breast tumours" in texts


def test_the_selection_is_exported_as_csv(open_page, report, tumours, tmp_path):
    made, table, diagnosis = tumours
    opened = open_page(report)
    opened.page.locator(".legend button", has_text="malignant").click()
    opened.page.get_by_role("tab", name="Selection").click()
    file = exported(opened, None, "Selection as CSV", tmp_path)
    rows = pd.read_csv(file, index_col=0)
    wanted = made.trajectory.samples_[(diagnosis["diagnosis"] == "malignant").to_numpy()]
    assert rows.index.tolist() == wanted.index.tolist()
    assert (rows["branch"] == wanted["branch"]).all()
    np.testing.assert_allclose(rows["pseudotime"], wanted["pseudotime"], atol=1e-6)
    np.testing.assert_allclose(rows["mean area"], table.loc[rows.index, "mean area"], rtol=1e-6)
    assert (rows["diagnosis"] == "malignant").all()
