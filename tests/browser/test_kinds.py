"""Pages of all kinds: hostile text, many samples, bins, few dimensions; and who uses them how."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest

from branchwise import SPL, DDRTree, DRTree, Preparation
from branchwise.datasets import make_tree
from branchwise.pipeline import fit_pipeline
from branchwise.report import write_report
from branchwise.trajectory import Trajectory

HOSTILE = [
    "<script>window.hurt = 1</script>",
    "</script><script>window.hurt = 1</script>",
    '"><img src=x onerror="window.hurt = 1">',
    "' onmouseover='window.hurt = 1",
    "<!-- <![CDATA[ -->",
    "{{7*7}} ${window.hurt=1} `",
    "javascript:window.hurt=1",
    "line\nbreak\ttab\x00nul\u202eright to left",
    "__proto__",
    "=cmd|' /C calc'!A0",
]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Simulated samples whose names, columns, labels and features are all attacks."""
    data = make_tree(120, len(HOSTILE), noise=0.05, random_state=0)
    names = [f"{HOSTILE[k % len(HOSTILE)]} {k}" for k in range(120)]
    table = pd.DataFrame(data.X, columns=HOSTILE, index=names)
    notes = pd.DataFrame(
        {
            f"label {HOSTILE[0]}": [HOSTILE[k % len(HOSTILE)] for k in range(120)],
            f"number {HOSTILE[2]}": np.arange(120.0),
            "constructor": ["hasOwnProperty"] * 120,
        },
        index=names,
    )
    made = fit_pipeline(table, DDRTree(2, random_state=0), Preparation(), root={"node": "T1"})
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    write_report(
        path, made, features=table, annotations=notes, title=HOSTILE[1], notes=[HOSTILE[2]],
        facts={HOSTILE[0]: {HOSTILE[1]: HOSTILE[2]}}, color=f"label {HOSTILE[0]}",
    )  # fmt: skip
    return path, table, notes


def test_text_from_the_data_stays_text_everywhere(open_page, hostile):
    path, _, notes = hostile
    opened = open_page(path)
    page = opened.page
    assert page.title() == HOSTILE[1]
    assert page.inner_text("h1") == HOSTILE[1]
    assert HOSTILE[2] in page.inner_text(".notes")
    control = page.get_by_label("Colour by")
    values = control.locator("option").evaluate_all("(all) => all.map((o) => o.value)")
    for value in values:
        control.select_option(value)
    control.select_option(label=f"label {HOSTILE[0]}")
    labels = page.locator(".legend button").evaluate_all("(all) => all.map((b) => b.title)")
    assert set(labels) == set(notes[f"label {HOSTILE[0]}"])
    for tab in ("Branches", "Feature", "New sample", "Selection"):
        page.get_by_role("tab", name=tab).click()
    page.get_by_role("tab", name="Branches").click()
    page.locator("#panel-branches tbody button").first.click()
    page.get_by_role("tab", name="Feature").click()
    options = page.locator("#panel-feature option").all_text_contents()
    assert {text.strip() for text in options} == {clipped(name) for name in HOSTILE}
    for i in range(0, 120, 11):
        page.mouse.move(*opened.row("embedding", i))
        page.mouse.move(*opened.row("tree", i))
    search = page.get_by_label("Find a sample by its name")
    search.fill("<script>")
    search.press("Enter")
    page.get_by_role("button", name="Run details").click()
    assert HOSTILE[0] in page.inner_text("dialog")
    assert HOSTILE[2] in page.inner_text("dialog")
    page.keyboard.press("Escape")
    assert page.evaluate("window.hurt") is None
    assert page.locator("#app img, #app script, #app iframe").count() == 0


def clipped(text):
    return text if len(text) <= 60 else text[:59] + "…"


def test_hostile_text_stays_text_in_files_and_new_samples(open_page, hostile, tmp_path):
    path, table, _ = hostile
    opened = open_page(path)
    page = opened.page
    new = (table.iloc[:9] * 1.01).set_axis(HOSTILE[:9])
    page.get_by_role("tab", name="New sample").click()
    # Within cells a line break or a zero is no part of what can be pasted.
    text = new.to_csv(index_label="sample")
    page.locator("textarea").fill(text)
    page.get_by_role("button", name="Place on the tree").click()
    assert page.inner_text(".problem") == "" or "lacks" in page.inner_text(".problem")
    page.locator("textarea").fill("<img src=x onerror=window.hurt=1>,2\n3,4")
    page.get_by_role("button", name="Place on the tree").click()
    assert page.inner_text(".problem") != ""
    for view in ("Embedding", "Tree"):
        page.locator("summary", has_text="Export").click()
        with page.expect_download() as waiting:
            page.get_by_role("button", name=f"{view} as SVG").click()
        drawn = ElementTree.parse(waiting.value.path())
        assert not list(drawn.iter("{http://www.w3.org/2000/svg}script"))
    page.get_by_role("tab", name="Selection").click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="All samples as CSV").click()
    rows = pd.read_csv(waiting.value.path(), index_col=0, keep_default_na=False)
    assert rows.shape[0] == 120
    assert page.evaluate("window.hurt") is None


# Many samples


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Simulated: 50,000 samples, each of which is drawn."""
    return many_samples(50_000, tmp_path_factory.mktemp("many") / "many.html")


def many_samples(n, path):
    data = make_tree(n, 8, noise=0.15, random_state=0)
    model = DDRTree(n_components=3, random_state=0, max_iter=20, tol=1e-3).fit(data.X)
    rng = np.random.default_rng(0)
    notes = pd.DataFrame({"site": rng.choice(["a", "b", "c"], n), "age": rng.uniform(20, 90, n)})
    notes.loc[rng.random(n) < 0.3, "age"] = np.nan
    trajectory = Trajectory.from_estimator(model, names=[f"cell {k}" for k in range(n)])
    write_report(path, trajectory, features=data.X, annotations=notes, color="site")
    return path, trajectory, notes


def test_fifty_thousand_samples_can_be_used(open_page, many):
    path, trajectory, _ = many
    opened = open_page(path)
    assert opened.run("return [app.nRows, app.state.bins]") == [50_000, None]
    opened.page.get_by_label("Colour by").select_option(label="age")
    opened.page.get_by_role("radio", name="Lasso").click()
    box = opened.page.locator("[data-view=embedding] .plot").bounding_box()
    x, y = box["x"] + 60, box["y"] + 20
    opened.page.mouse.move(x, y)
    opened.page.mouse.down()
    for dx, dy in ((500, 0), (500, 330), (0, 330)):
        opened.page.mouse.move(x + dx, y + dy, steps=3)
    opened.page.mouse.up()
    assert opened.run("return app.selectedSize") > 1000
    opened.run("app.setRoot(app.tree.milestones[1].node)")
    rooted = trajectory.rooted(node=opened.run("return app.rootName"))
    time = np.array(opened.run("return [...app.placed.pseudotime]"))
    np.testing.assert_allclose(time, rooted.pseudotime_, atol=1e-9)
    search = opened.page.get_by_label("Find a sample by its name")
    search.fill("cell 49999")
    search.press("Enter")
    assert opened.run("return app.selectedRows") == [49_999]


def test_more_samples_are_drawn_as_bins_and_the_page_says_so(open_page, tmp_path):
    path, trajectory, notes = many_samples(60_000, tmp_path / "bins.html")
    opened = open_page(path)
    n_bins = opened.run("return app.nRows")
    assert 1_000 < n_bins <= 50_000
    assert "60,000" in opened.page.inner_text(".notes")
    assert opened.run("return app.weights.reduce((a, b) => a + b)") == 60_000
    # Every sample counts once, by its branch and its label.
    sizes = opened.run("return app.branchSizes")
    assert sizes == trajectory.branch_table_["n_samples"].tolist()
    shown = opened.page.inner_text(".legend")
    for label, count in notes["site"].value_counts().items():
        assert re.search(rf"{label}\s+{count:,}(\s|$)", shown)
    opened.page.get_by_role("tab", name="Selection").click()
    opened.run("app.select([...Array(app.nRows).keys()], 'all')")
    opened.page.locator("#panel-selection select").select_option(label="site")
    shown = opened.page.inner_text("#panel-selection .bars")
    for label, count in notes["site"].value_counts().items():
        assert re.search(rf"{label}\s+{count:,}\s", shown)
    # Times are parts of the latest sample's, not of the latest bin's.
    assert opened.run("return app.latest") == pytest.approx(trajectory.pseudotime_.max())
    # Where a number is missing for some, the others count, and the legend says how many lack it.
    opened.page.get_by_label("Colour by").select_option(label="age")
    n_missing = int(notes["age"].isna().sum())
    assert f"missing\n{n_missing:,}" in opened.page.inner_text(".legend")
    mean = opened.run(
        """
        const {values, known} = app.column(app.colorKey);
        let [sum, n] = [0, 0];
        values.forEach((v, i) => { if (known[i]) { sum += v * known[i]; n += known[i]; } });
        return sum / n;
        """
    )
    assert mean == pytest.approx(notes["age"].mean(), rel=1e-6)
    # The pseudotime of a bin is the mean of its samples', also from another root.
    for root in ("T1", "T2"):
        rooted = trajectory.rooted(node=root)
        opened.run("app.setRoot(app.tree.milestones.find((m) => m.name === given).node)", root)
        mean = opened.run(
            """
            let sum = 0;
            app.placed.pseudotime.forEach((time, i) => { sum += time * app.weights[i]; });
            return sum / 60000;
            """
        )
        assert mean == pytest.approx(rooted.pseudotime_.mean(), rel=1e-5)
    search = opened.page.get_by_label("Find a sample by its name")
    search.fill("cell 59999")
    search.press("Enter")
    assert len(opened.run("return app.selectedRows")) == 1
    assert "cell 59999" in opened.page.inner_text("#panel-selection")
    with opened.page.expect_download() as waiting:
        opened.page.get_by_role("button", name="Selection as CSV").click()
    header = waiting.value.path().read_text("utf-8").splitlines()[0]
    assert "site (most frequent),site (share),age (mean)" in header


# Other shapes of data


def test_one_component_opens_with_the_tree(open_page, tmp_path):
    data = make_tree(100, 4, noise=0.05, random_state=0)  # simulated
    DDRTree(n_components=1, random_state=0).fit(data.X).to_html(tmp_path / "one.html")
    opened = open_page(tmp_path / "one.html")
    assert opened.page.locator("[data-view=tree]").is_visible()
    assert not opened.page.locator("[data-view=embedding]").is_visible()
    opened.page.get_by_role("radio", name="Both").click()
    assert opened.page.locator("[data-view=embedding]").is_visible()
    assert opened.page.get_by_role("radio", name="3-D").count() == 0


def test_a_tree_with_a_node_per_sample_is_rooted_with_the_tool(open_page, tmp_path):
    data = make_tree(600, 4, noise=0.1, random_state=0)  # simulated
    model = DRTree(n_components=2).fit(data.X)
    model.to_html(tmp_path / "drtree.html", X=data.X)
    opened = open_page(tmp_path / "drtree.html")
    few = opened.run("return app.plots.embedding.scene.nodes.ids.length")
    opened.page.get_by_role("radio", name="Set root").click()
    assert opened.run("return app.plots.embedding.scene.nodes.ids.length") == 600
    assert few < 600
    path = Trajectory.from_estimator(model)
    plain = next(k for k in range(600) if k not in path.milestones_["node"].tolist())
    opened.run("app.find(given)", plain)
    opened.run("app.plots.embedding.camera.zoomAt(9, 400, 200, ...app.plots.embedding.size)")
    opened.run("app.plots.embedding.camera.lookAt(given, ...app.plots.embedding.size)",
               opened.run("const s = app.plots.embedding.scene.nodes.positions;"
                          "return [...s.subarray(3*given, 3*given+3)]", plain))  # fmt: skip
    opened.page.mouse.click(*opened.node("embedding", plain))
    assert opened.run("return app.wanted") == [plain]
    time = np.array(opened.run("return [...app.placed.pseudotime]"))
    np.testing.assert_allclose(time, path.rooted(node=plain).pseudotime_, atol=1e-9)


def test_a_page_without_features_model_or_notes_says_so(open_page, tmp_path):
    nodes = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 2.0], [3.0, -1.0]])
    path = Trajectory([[0, 1], [1, 2], [1, 3]], nodes)
    write_report(tmp_path / "bare.html", path)
    opened = open_page(tmp_path / "bare.html")
    opened.page.get_by_role("tab", name="Feature").click()
    assert "no values of features" in opened.page.inner_text("#panel-feature")
    opened.page.get_by_role("tab", name="New sample").click()
    assert opened.page.locator("textarea").count() == 0
    assert opened.page.inner_text("#panel-new").strip().endswith(".")


def test_a_root_that_nobody_chose_is_called_so(open_page, tmp_path):
    data = make_tree(100, 4, noise=0.05, random_state=0)  # simulated
    model = DDRTree(2, random_state=0).fit(data.X)
    for root, told in ((None, True), ("T2", False)):
        model.to_html(tmp_path / "root.html", root=root)
        opened = open_page(tmp_path / "root.html")
        assert ("by default" in opened.page.inner_text(".bar-row")) is told


def test_where_all_samples_are_on_the_tree_no_distance_is_called_far(open_page, tmp_path):
    data = make_tree(80, 4, noise=0.05, random_state=0)  # simulated
    model = DRTree().fit(data.X)
    path = Trajectory.from_estimator(model, points=model.centers_)
    write_report(tmp_path / "drtree.html", path)
    opened = open_page(tmp_path / "drtree.html")
    opened.page.get_by_role("tab", name="New sample").click()
    for _ in range(2):
        opened.page.locator("textarea").fill(",".join(map(repr, map(float, data.X[0] + 0.1))))
        opened.page.get_by_role("button", name="Place on the tree").click()
    told = opened.page.inner_text("#panel-new")
    assert "farther" not in told
    assert {"new 1", "new 2"} <= set(told.splitlines())


def test_spl_shows_its_posterior_as_uncertainty(open_page, tmp_path):
    data = make_tree(150, 4, noise=0.1, random_state=0)  # simulated
    model = SPL(gamma=10.0).fit(data.X)
    model.to_html(tmp_path / "spl.html", X=data.X)
    opened = open_page(tmp_path / "spl.html")
    opened.page.get_by_label("Colour by").select_option(label="uncertainty")
    shown = opened.run("return [...app.column(app.colorKey).values]")
    np.testing.assert_allclose(shown, 1.1 * model.posterior_std_, rtol=1e-6)  # (gamma + 1)/gamma


# Files and mistakes


def test_a_file_is_chosen_or_dropped(open_page, report, tumours, tmp_path):
    made, table, _ = tumours
    new = table.iloc[[3, 4]] * 1.1
    file = tmp_path / "new.csv"
    new.to_csv(file, index_label="patient")
    opened = open_page(report)
    opened.page.get_by_role("tab", name="New sample").click()
    opened.page.locator("input[type=file]").set_input_files(file)
    opened.until("return app.added.length === 2")
    wanted = made.place(new).filter(like="projection").to_numpy()
    placed = np.array(opened.run("return app.added.map((s) => [...s.projection])"))
    np.testing.assert_allclose(placed, wanted, atol=1e-9)
    assert "P003" in opened.page.inner_text("#panel-new")
    opened.page.get_by_role("button", name="Remove").click()
    opened.page.evaluate(
        """(text) => {
            const data = new DataTransfer();
            data.items.add(new File([text], "new.csv", {type: "text/csv"}));
            const event = new DragEvent("drop", {dataTransfer: data, bubbles: true});
            document.querySelector("[data-view=tree] .plot").dispatchEvent(event);
        }""",
        file.read_text(),
    )
    opened.until("return app.added.length === 2")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no text to read"),
        ("radius,texture\n1,2", "lacks 30 of the 30 columns"),
        ("1,2,3", "30"),
    ],
)
def test_a_table_that_cannot_be_placed_is_told_in_one_sentence(open_page, report, text, words):
    opened = open_page(report)
    opened.page.get_by_role("tab", name="New sample").click()
    opened.page.locator("textarea").fill(text)
    opened.page.get_by_role("button", name="Place on the tree").click()
    told = opened.page.inner_text(".problem")
    assert words in told
    assert told.endswith(".")
    assert opened.run("return app.added.length") == 0


# For everyone


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_both_themes(open_page, report, scheme):
    opened = open_page(report, color_scheme=scheme)
    assert opened.run("return app.theme") == scheme
    for tab in ("Feature", "New sample", "Selection", "Branches"):
        opened.page.get_by_role("tab", name=tab).click()
        assert opened.page.evaluate(FAINT) == []
    opened.page.get_by_role("button", name="Run details").click()
    assert opened.page.evaluate(FAINT) == []


# Text whose contrast to what lies behind it is below 4.5 (WCAG AA).
FAINT = """() => {
    const numbers = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
    const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
        .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
    const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const color = numbers(getComputedStyle(at).backgroundColor);
            if (color.length < 4 || color[3] > 0.5) return color;
        }
        return [255, 255, 255];
    };
    const faint = [];
    for (const element of document.querySelectorAll("body *")) {
        const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
        if (!own || !element.checkVisibility() || element.disabled) continue;
        if (element.closest(".visually-hidden, option")) continue;
        const [a, b] = [light(numbers(getComputedStyle(element).color)), light(behind(element))]
            .sort((x, y) => y - x);
        if ((a + 0.05) / (b + 0.05) < 4.5) faint.push(element.textContent.slice(0, 40));
    }
    return faint;
}"""


def test_everything_that_can_be_used_has_a_name_and_is_reached_by_tab(open_page, report):
    opened = open_page(report)
    nameless = opened.page.evaluate(
        """() => [...document.querySelectorAll("button, select, input, textarea, canvas[role]")]
            .filter((e) => !(e.textContent.trim() || e.labels?.length || e.ariaLabel))
            .map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert nameless == []
    seen = []
    for _ in range(40):
        opened.page.keyboard.press("Tab")
        seen.append(
            opened.page.evaluate(
                """() => {
                    const {ariaLabel, labels, textContent} = document.activeElement;
                    return ariaLabel || labels?.[0]?.textContent || textContent;
                }"""
            )
        )
    text = "\n".join(seen)
    for wanted in (
        "Find a sample", "Export", "Run details", "Dark", "Colour by", "Root", "Move", "2-D",
        "Both", "Embedding with its tree", "malignant", "Zoom in", "Tree laid out", "Branches",
    ):  # fmt: skip
        assert wanted in text, wanted
    opened.page.get_by_label("Colour by").focus()
    opened.page.keyboard.press("Tab")
    focus = opened.page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
    assert focus == "solid"


def test_tabs_and_tools_follow_the_arrow_keys(open_page, report):
    opened = open_page(report)
    opened.page.get_by_role("tab", name="Branches").focus()
    opened.page.keyboard.press("ArrowRight")
    assert opened.page.locator("#panel-feature").is_visible()
    opened.page.get_by_role("radio", name="Move").focus()
    opened.page.keyboard.press("ArrowRight")
    assert opened.run("return app.tool") == "lasso"


@pytest.mark.parametrize("size", [(1024, 600), (1280, 720), (1920, 1080), (700, 900)])
def test_nothing_is_cut_off_on_a_small_screen(open_page, report, size):
    opened = open_page(report, viewport={"width": size[0], "height": size[1]})
    wide = opened.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= size[0]
    hidden = opened.page.evaluate(
        """() => [...document.querySelectorAll(".top button:not(.fold), .bar-row button, "
              + ".bar-row select, [role=tab], summary")]
            .filter((e) => { const b = e.getBoundingClientRect();
                             return b.left < 0 || b.right > innerWidth || b.width === 0; })
            .map((e) => e.textContent)"""
    )
    assert hidden == []
    plot = opened.page.locator("[data-view=embedding] .plot").bounding_box()
    assert plot["height"] >= 200


def test_the_theme_can_be_changed(open_page, report):
    opened = open_page(report)
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = opened.run(ground)
    opened.page.get_by_role("button", name="Dark").click()
    assert opened.run(ground) != light
    opened.page.get_by_role("button", name="Light").click()
    assert opened.run(ground) == light


def test_a_damaged_page_says_so(browser, report, tmp_path):
    html = report.read_text("utf-8")
    at = html.index('id="branchwise-data">') + 400
    damaged = tmp_path / "damaged.html"
    damaged.write_text(html[:at] + html[at + 40 :], "utf-8")
    page = browser.new_page()
    page.goto(damaged.resolve().as_uri())
    alert = page.get_by_role("alert")
    alert.wait_for()
    assert "make it again with branchwise report" in alert.inner_text()
    page.close()
