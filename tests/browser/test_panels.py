"""What the panels say: selections and their comparison, how sure branches are, new samples."""

import io
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from branchwise import DDRTree, learn_trajectory
from branchwise.datasets import make_tree
from branchwise.report import bins, write_report
from branchwise.trajectory import Trajectory

from .test_kinds import FAINT

# Support and evidence


@pytest.fixture(scope="module")
def learned():
    """Simulated: a tree with two forks, learned from few samples, so that not all of it is sure."""
    data = make_tree(300, 10, topology="binary", noise=0.1, random_state=0)
    return learn_trajectory(data.X, support=3)


SURE = "return app.tree.branches.map((b, k) => ({name: b.name, ...app.branchSure(k)}))"


def check_sure(opened, path):
    """The page's numbers against those of a trajectory."""
    found = opened.run(SURE)
    table = path.branch_table_
    assert [row["name"] for row in found] == table.index.tolist()
    for row in found:
        for ours, theirs in (("p", "p"), ("support", "support"), ("occupied", "occupied")):
            wanted = table.loc[row["name"], theirs]
            if np.isnan(wanted):
                assert row[ours] is None
            else:
                assert row[ours] == pytest.approx(wanted, abs=1e-9)
        assert row["n"] == path.support_.n_resamples_


def test_support_and_evidence_stay_with_their_stretch_whatever_the_root(
    open_page, tmp_path, learned
):
    write_report(tmp_path / "page.html", learned)
    opened = open_page(tmp_path / "page.html")
    check_sure(opened, learned)
    milestones = learned.milestones_["node"].tolist()
    inner = [node for node in range(len(learned.nodes_)) if node not in milestones][:5]
    for node in [*milestones, *inner]:
        opened.run("app.setRoot(given)", node)
        check_sure(opened, learned.rooted(node=node))


def test_support_stays_with_its_stretch_from_a_root_at_a_sample(open_page, tmp_path, learned):
    path = learned.rooted(sample=5)
    write_report(tmp_path / "page.html", path)
    opened = open_page(tmp_path / "page.html")
    check_sure(opened, path)
    for name in ("T1", "T2", "F1"):
        opened.run("app.setRoot(app.tree.milestones.find((m) => m.name === given).node)", name)
        check_sure(opened, path.rooted(node=name))


def test_support_that_was_found_at_a_root_within_a_stretch_is_told_of_its_parts(
    open_page, tmp_path
):
    data = make_tree(300, 10, topology="binary", noise=0.1, random_state=0)  # simulated
    path = learn_trajectory(data.X, support=0)
    milestones = path.milestones_["node"].tolist()
    inner = next(node for node in range(len(path.nodes_)) if node not in milestones)
    path = path.rooted(node=inner)
    path = path.with_support(path.support(data.X, n_resamples=3, random_state=0))
    write_report(tmp_path / "page.html", path)
    opened = open_page(tmp_path / "page.html")
    check_sure(opened, path)
    parts = path.branch_table_["support"][path.branch_table_["parent"] == ""]
    opened.run("app.setRoot(app.tree.milestones.find((m) => m.name === 'T1').node)")
    (joined,) = [row for row in opened.run(SURE) if row["words"].startswith("Its parts")]
    assert joined["support"] is None
    for share in parts:
        assert f"{round(3 * share)}" in joined["words"]


def test_the_branch_panel_says_in_words_how_sure_a_branch_is(open_page, tmp_path, learned):
    write_report(tmp_path / "page.html", learned)
    opened = open_page(tmp_path / "page.html")
    panel = opened.page.locator("#panel-branches")
    whole = panel.get_by_role("region", name="How sure the tree is")
    for sentence in learned.describe().splitlines():
        assert sentence in whole.inner_text()
    assert "as at the first root" not in whole.inner_text()
    opened.run("app.setRoot(app.tree.milestones.find((m) => m.name === 'T2').node)")
    assert "as at the first root" in whole.inner_text()
    opened.run("app.resetRoot()")
    for name, row in learned.branch_table_.iterrows():
        times = f"{round(3 * row['support'])} of 3"
        listed = panel.get_by_role("row").filter(has=opened.page.get_by_role("button", name=name))
        assert times in listed.inner_text()
        listed.get_by_role("button").click()
        told = panel.locator(".sure").inner_text()
        assert f"Found again in {times} resamples" in told
        p = "p < 0.001" if row["p"] < 0.001 else f"p = {row['p']:.2g}"
        rare = "that is rare" if row["p"] <= 0.05 else "is not rare"
        assert re.search(rf"{rare} where nothing forks \({re.escape(p)}\)", told)
        assert ("of its length; the rest is a gap" in told) == (row["occupied"] < 0.95)


def test_a_page_without_resamples_says_so_and_has_no_column_of_them(open_page, report):
    opened = open_page(report)
    panel = opened.page.locator("#panel-branches")
    assert "found again" not in panel.inner_text()
    panel.locator("tbody button").first.click()
    assert "How often resamples find it again is not known." in panel.inner_text()


# Selections


def lasso(opened, view="embedding"):
    """Draw around the left half of a view."""
    opened.page.get_by_role("radio", name="Lasso").click()
    box = opened.page.locator(f"[data-view={view}] .plot").bounding_box()
    x, y = box["x"] + 2, box["y"] + 2
    opened.page.mouse.move(x, y)
    opened.page.mouse.down()
    right, low = box["width"] / 2, box["height"] - 4
    for dx, dy in ((right, 0), (right, low), (0, low)):
        opened.page.mouse.move(x + dx, y + dy, steps=3)
    opened.page.mouse.up()


def choose(opened, rows, name="chosen"):
    opened.run("app.select(given[0], given[1])", [[int(i) for i in rows], name])


@pytest.mark.parametrize("view", ["embedding", "tree"])
def test_a_lasso_opens_the_selection_with_its_count(open_page, report, view):
    opened = open_page(report)
    lasso(opened, view)
    panel = opened.page.get_by_role("tabpanel", name="Selection")
    assert panel.is_visible()
    n = opened.run("return app.selectedSize")
    assert 0 < n < 569
    assert f"lasso: {n} samples" in panel.inner_text()
    assert f"Selection ({n} samples) against all others ({569 - n} samples)" in panel.inner_text()


def test_a_lasso_around_nothing_opens_nothing(open_page, report):
    opened = open_page(report)
    opened.run("app.plots.tree.options.onLasso([], false)")
    assert opened.page.get_by_role("tabpanel", name="Branches").is_visible()


def compared(table, is_a, is_b):
    """An independent formula: scipy's test, and its adjusted p-values."""
    rows = {}
    for name, values in table.items():
        known = values.notna().to_numpy()
        a, b = values[is_a & known], values[is_b & known]
        pooled = np.sqrt(((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum())
        pooled /= np.sqrt(len(a) + len(b) - 2)
        rows[name] = {
            "nA": len(a),
            "nB": len(b),
            "meanA": a.mean(),
            "meanB": b.mean(),
            "difference": a.mean() - b.mean(),
            "effect": (a.mean() - b.mean()) / pooled,
            "p": stats.ttest_ind(a, b, equal_var=False).pvalue,
        }
    found = pd.DataFrame(rows).T
    is_known = found["p"].notna()
    found.loc[is_known, "adjusted"] = stats.false_discovery_control(found.loc[is_known, "p"])
    return found


NUMBERS = ["nA", "nB", "meanA", "meanB", "difference", "effect", "p", "adjusted"]
COMPARED = """
    const rows = app.compareFeatures(app.groups);
    return rows.map(({column, ...row}) => [column.name, ...given.map((name) => row[name])]);
"""


def page_values(opened):
    """The features of a page, with the digits that it has."""
    columns = opened.run("return app.features.map((c) => [c.name, [...c.values]])")
    return pd.DataFrame(dict(columns), dtype=float)


def found_by(opened):
    rows = opened.run(COMPARED, NUMBERS)
    return pd.DataFrame([row[1:] for row in rows], [row[0] for row in rows], NUMBERS).astype(float)


def check_same(found, wanted):
    assert set(found.index) == set(wanted.index)
    np.testing.assert_allclose(found.loc[wanted.index, NUMBERS], wanted[NUMBERS], rtol=1e-8)
    order = found["effect"].abs()
    assert order.tolist() == sorted(order, reverse=True)


def test_two_selections_are_compared_as_scipy_does(open_page, report):
    opened = open_page(report)
    opened.page.get_by_role("tab", name="Selection").click()
    table = page_values(opened)
    rows = np.arange(569)
    choose(opened, rows[:150])
    check_same(found_by(opened), compared(table, rows < 150, rows >= 150))  # the others
    opened.page.get_by_role("button", name="Keep as A").click()
    check_same(found_by(opened), compared(table, rows < 150, rows >= 150))
    choose(opened, rows[400:420])
    check_same(found_by(opened), compared(table, rows < 150, rows >= 150))  # still those of A
    opened.page.get_by_role("button", name="Keep as B").click()
    is_b = (rows >= 400) & (rows < 420)
    wanted = compared(table, rows < 150, is_b)
    check_same(found_by(opened), wanted)
    panel = opened.page.locator("#panel-selection")
    text = panel.inner_text()
    assert "A (150 samples) against B (20 samples)" in text
    assert "Welch's t-test" in text
    assert "chosen by looking at the same data, so p-values rank the features" in text
    first = wanted["effect"].abs().idxmax()
    assert panel.locator(".compared tbody").first.inner_text().startswith(first)
    opened.page.get_by_role("button", name="Show all 30 features").click()
    assert panel.locator(".compared tbody").count() == 30
    assert wanted.index.isin(panel.locator(".compared tbody th").all_inner_texts()).all()
    opened.page.get_by_role("button", name="Forget A and B").click()
    assert "Selection (20 samples) against all others" in panel.inner_text()


def test_samples_in_both_are_told_and_left_out(open_page, report):
    opened = open_page(report)
    opened.page.get_by_role("tab", name="Selection").click()
    table = page_values(opened)
    rows = np.arange(569)
    choose(opened, rows[:100])
    opened.run("app.keep('A')")
    choose(opened, rows[90:200])
    opened.run("app.keep('B')")
    check_same(found_by(opened), compared(table, rows < 90, (rows >= 100) & (rows < 200)))
    text = opened.page.inner_text("#panel-selection")
    assert "10 samples in both A and B are left out of the comparison." in text
    assert "A (90 samples) against B (100 samples)" in text
    # Of the same samples nothing is left, and nothing is made up.
    choose(opened, rows[:100])
    opened.run("app.keep('B')")
    assert found_by(opened)[["nA", "nB"]].sum().sum() == 0
    assert found_by(opened)[["effect", "p", "adjusted"]].isna().all(axis=None)


def hard_cases():
    """Simulated columns and groups: ties, missing values, constants, tiny groups, odd scales."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(8, 60))
        scale = 10.0 ** rng.integers(-8, 9)
        columns = {
            "plain": rng.normal(size=n) * scale,
            "far from zero": 1e4 * scale + rng.normal(size=n) * scale,
            "skewed": rng.exponential(size=n) ** 4,
            "ties": rng.integers(0, 3, n).astype(float),
            "some missing": np.where(rng.random(n) < 0.4, np.nan, rng.normal(size=n)),
            "all missing": np.full(n, np.nan),
            "constant": np.full(n, 0.1),
            "apart": np.where(np.arange(n) < n // 2, -5.0, 5.0) + 0.01 * rng.normal(size=n),
        }
        side = rng.choice([0, 1, 2], n, p=[0.2, 0.3, 0.5])
        if seed % 3 == 0:  # two samples in A, or one
            side = np.where(np.arange(n) < (2 if seed % 2 else 1), 1, 2)
        yield pd.DataFrame(columns), side


@pytest.mark.filterwarnings("ignore:Precision loss")
@pytest.mark.filterwarnings("ignore:invalid value|Mean of empty slice|Degrees of freedom")
@pytest.mark.filterwarnings("ignore:One or more sample arguments is too small")
def test_the_comparison_is_scipys_for_ties_missing_constant_and_few_values(open_page, report):
    opened = open_page(report)
    script = """
        const numbers = (values) => Float64Array.from(values, (v) => v ?? NaN);
        app.features = Object.entries(given.values)
            .map(([name, values]) => ({name, values: numbers(values)}));
        app.weights = null;
        return app.compareFeatures({side: Uint8Array.from(given.side)})
            .map(({column, ...row}) => [column.name, ...given.names.map((name) => row[name])]);
    """
    n_compared = 0
    for table, side in hard_cases():
        values = {name: [None if v != v else v for v in column] for name, column in table.items()}
        given = {"values": values, "side": side.tolist(), "names": NUMBERS}
        rows = opened.run(script, given)
        found = pd.DataFrame([row[1:] for row in rows], [row[0] for row in rows], NUMBERS)
        wanted = compared(table, side == 1, side == 2)
        # Rounding is all the spread of a constant: there is nothing to test or to divide by.
        wanted.loc["constant", ["effect", "p", "adjusted"]] = np.nan
        is_known = wanted["p"].notna()
        wanted.loc[is_known, "adjusted"] = stats.false_discovery_control(wanted.loc[is_known, "p"])
        np.testing.assert_allclose(
            found.loc[wanted.index].astype(float), wanted[NUMBERS], rtol=1e-8, atol=1e-12
        )
        n_compared += int(is_known.sum())
    assert n_compared > 150


BINS = """
    const lists = (c) => [[...c.values], [...c.squares], [...(c.known ?? app.weights)]];
    return app.features.map(lists);
"""


@pytest.fixture
def binned(tmp_path, monkeypatch):
    """Simulated: samples in bins, with features of which one has gaps and one is constant."""
    monkeypatch.setattr(bins, "MAX_POINTS", 500)
    monkeypatch.setattr(bins, "MAX_BINS", 200)
    rng = np.random.default_rng(0)
    data = make_tree(3000, 4, noise=0.15, random_state=0)
    table = pd.DataFrame(data.X, columns=list("abcd")).assign(e=0.1)
    table["f"] = np.where(rng.random(3000) < 0.3, np.nan, 50 + rng.exponential(size=3000))
    model = DDRTree(2, random_state=0, tol=1e-3).fit(data.X)
    site = pd.DataFrame({"site": rng.choice(["north", "south"], 3000)})
    file = tmp_path / "bins.html"
    path = Trajectory.from_estimator(model)
    write_report(file, path, features=table, annotations=site, color="site")
    return file, table, site["site"]


def test_bins_are_compared_as_their_samples_are(open_page, binned):
    file, table, site = binned
    opened = open_page(file)
    opened.page.get_by_role("tab", name="Selection").click()
    n_bins = opened.run("return app.nRows")
    choose(opened, range(0, n_bins, 3))
    opened.run("app.keep('A')")
    choose(opened, range(1, n_bins, 3))
    opened.run("app.keep('B')")
    of = np.array(opened.run("return [...app.state.bins.of]"))
    is_a, is_b = of % 3 == 0, of % 3 == 1
    found = found_by(opened)
    assert found.loc["e", ["effect", "p", "adjusted"]].isna().all()
    found = found.drop(index="e")
    # As of the samples themselves, to the digits of single precision that bins are kept with.
    wanted = compared(table.drop(columns="e"), is_a, is_b)
    assert (wanted["p"] > 1e-6).sum() >= 2
    np.testing.assert_allclose(found.loc[wanted.index], wanted[NUMBERS], rtol=1e-4, atol=1e-7)
    # And of what bins are kept with, to all digits.
    names = opened.run("return app.features.map((c) => c.name)")
    side = np.arange(n_bins) % 3
    for name, (means, squares, known) in zip(names, opened.run(BINS), strict=True):
        if name == "e":
            continue
        groups = []
        for which in (0, 1):
            mine = (side == which) & (np.array(known) > 0)
            mean, within, n = (np.array(x, dtype=float)[mine] for x in (means, squares, known))
            middle = (n @ mean) / n.sum()
            spread = within.sum() + n @ (mean - middle) ** 2
            groups += [middle, np.sqrt(spread / (n.sum() - 1)), n.sum()]
        p = stats.ttest_ind_from_stats(*groups, equal_var=False).pvalue
        assert found.loc[name, "p"] == pytest.approx(p, rel=1e-8)
    text = opened.page.inner_text("#panel-selection")
    assert "Bins are taken whole" in text
    assert "Medians cannot be told of bins" in text
    for label in ("north", "south"):
        a, b = ((site[group] == label).sum() for group in (is_a, is_b))
        assert re.search(rf"{label}\s+{a:,}\s+\d+ %\s+{b:,}\s+\d+ %", text)
    samples = saved(opened, "Compared samples as CSV")
    assert samples.groupby("group")["samples"].sum().to_dict() == {"A": is_a.sum(), "B": is_b.sum()}


def test_the_selection_and_what_is_kept_outlast_colour_and_root(open_page, report, tumours):
    opened = open_page(report)
    path = tumours[0].trajectory
    opened.page.get_by_role("tab", name="Selection").click()
    choose(opened, range(50), "some")
    opened.run("app.keep('A')")
    choose(opened, range(100, 130), "others")
    opened.run("app.keep('B')")
    before = found_by(opened)
    panel = opened.page.locator("#panel-selection")
    for change in (
        lambda: opened.page.get_by_label("Colour by").select_option(label="mean radius"),
        lambda: opened.run("app.setRoot(app.tree.milestones.find((m) => m.name === 'T2').node)"),
    ):
        change()
        assert opened.run("return app.selectedRows") == list(range(100, 130))
        pd.testing.assert_frame_equal(found_by(opened), before)
        assert "others: 30 samples" in panel.inner_text()
        assert "A (50 samples) against B (30 samples)" in panel.inner_text()
    assert "The selection is kept." in opened.page.inner_text("[role=status]")
    assert path.rooted(node="T2").branches_[100] in panel.inner_text()


def test_a_selected_branch_is_kept_as_what_it_was_when_the_root_moves(open_page, report):
    opened = open_page(report)
    name = opened.run("return app.tree.branches[0].name")
    opened.page.locator("#panel-branches tbody button").first.click()
    rows = opened.run("return app.selectedRows")
    opened.run("app.setRoot(app.tree.milestones.find((m) => m.name === 'T2').node)")
    assert opened.run("return app.selectedRows") == rows
    opened.page.get_by_role("tab", name="Selection").click()
    assert f"{name} (root T1): {len(rows)} samples" in opened.page.inner_text("#panel-selection")
    opened.page.get_by_role("tab", name="Branches").click()
    assert opened.page.locator("#panel-branches [aria-pressed=true]").count() == 0


def test_composition_starts_with_the_colour_and_stands_side_by_side(open_page, report, tumours):
    diagnosis = tumours[2]["diagnosis"]
    opened = open_page(report)  # coloured by the diagnosis
    opened.page.locator("#panel-branches tbody button").first.click()
    shown = "return document.querySelector(given).selectedOptions[0].textContent"
    assert opened.run(shown, "#panel-branches .detail select") == "diagnosis"
    opened.page.get_by_role("tab", name="Selection").click()
    choose(opened, range(100))
    opened.run("app.keep('A')")
    choose(opened, range(200, 260))
    opened.run("app.keep('B')")
    assert opened.run(shown, "#panel-selection select") == "diagnosis"
    text = opened.page.inner_text("#panel-selection .bars")
    for label in ("malignant", "benign"):
        a = (diagnosis[:100] == label).sum()
        b = (diagnosis[200:260] == label).sum()
        assert re.search(rf"{label}\s+{a}\s+{a:.0f} %\s+{b}\s+{100 * b / 60:.0f} %", text)
    opened.page.get_by_label("Colour by").select_option(label="site")
    for place in ("#panel-branches .detail select", "#panel-selection select"):
        if opened.run("return document.querySelector(given) !== null", place):
            assert opened.run(shown, place) == "site"
    # A number or the branch says nothing of what a branch is made of.
    opened.page.get_by_label("Colour by").select_option(label="mean radius")
    assert opened.run(shown, "#panel-selection select") == "site"


# Files


def saved(opened, button):
    with opened.page.expect_download() as waiting:
        opened.page.get_by_role("button", name=button).click()
    text = io.BytesIO(waiting.value.path().read_bytes())
    return pd.read_csv(text, index_col=0, float_precision="round_trip")


def test_samples_and_features_of_a_comparison_are_exported(open_page, report):
    opened = open_page(report)
    opened.page.get_by_role("tab", name="Selection").click()
    choose(opened, range(100))
    features = saved(opened, "Feature table as CSV")
    assert features.columns.tolist() == [
        "n_selection", "n_others", "mean_selection", "mean_others", "difference", "effect_d", "p",
        "p_adjusted",
    ]  # fmt: skip
    opened.run("app.keep('A')")
    alone = saved(opened, "Compared samples as CSV")
    assert alone["group"].value_counts().to_dict() == {"others": 469, "A": 100}
    choose(opened, range(90, 130))
    opened.run("app.keep('B')")
    samples = saved(opened, "Compared samples as CSV")
    wanted = ["A"] * 90 + ["A and B"] * 10 + ["B"] * 30
    assert samples["group"].tolist() == wanted
    assert samples.index.tolist() == [f"P{k:03}" for k in range(130)]
    assert {"branch", "pseudotime", "diagnosis", "mean radius"} <= set(samples.columns)
    features = saved(opened, "Feature table as CSV")
    found = found_by(opened)
    assert features.index.tolist() == found.index.tolist()
    np.testing.assert_allclose(features.to_numpy(), found[NUMBERS].to_numpy(), rtol=1e-12)
    assert features.columns[:2].tolist() == ["n_A", "n_B"]


def test_files_of_the_page_carry_no_formulas(open_page, tmp_path):
    data = make_tree(60, 3, noise=0.05, random_state=0)  # simulated
    names = ["=1+1", "+1 day", "-x", "@home", "-1.5", *(f"s{k}" for k in range(55))]
    table = pd.DataFrame(data.X, names, ["=f", "g", "-h"])
    notes = pd.DataFrame({"@note": ["=SUM(A1)", "-2", *["plain"] * 58]}, names)
    path = Trajectory.from_estimator(DDRTree(2, random_state=0).fit(table), names=names)
    write_report(tmp_path / "page.html", path, features=table, annotations=notes)
    opened = open_page(tmp_path / "page.html")
    opened.page.get_by_role("tab", name="Selection").click()
    rows = saved(opened, "All samples as CSV")
    assert rows.index[:5].tolist() == ["'=1+1", "'+1 day", "'-x", "'@home", "-1.5"]
    assert {"'=f", "g", "'-h", "'@note"} <= set(rows.columns)
    assert rows["'@note"].tolist()[:3] == ["'=SUM(A1)", "-2", "plain"]
    choose(opened, range(20))
    features = saved(opened, "Feature table as CSV")
    assert set(features.index) == {"'=f", "g", "'-h"}
    opened.page.get_by_role("tab", name="New sample").click()
    opened.page.locator("textarea").fill(table.iloc[:3].to_csv(index_label="sample"))
    opened.page.get_by_role("button", name="Place on the tree").click()
    placed = saved(opened, "Places as CSV")
    assert placed.index.tolist() == ["'=1+1", "'+1 day", "'-x"]
    # Such a file can be given back: names stay as they are written.
    opened.page.locator("textarea").fill(table.iloc[:3].set_axis(placed.index).to_csv())
    opened.page.get_by_role("button", name="Place on the tree").click()
    assert opened.run("return app.added.length") == 6


# Another root


def test_after_another_root_every_panel_and_file_has_the_new_time(open_page, report, tumours):
    made, table, _ = tumours
    opened = open_page(report)
    page = opened.page
    new = (table.iloc[[3]] * 1.01).set_axis(["N"])
    page.get_by_role("tab", name="New sample").click()
    page.locator("textarea").fill(new.to_csv(index_label="sample"))
    page.get_by_role("button", name="Place on the tree").click()
    choose(opened, [7], "P007")
    for root in ("T2", "F1"):
        node = int(made.trajectory.milestones_.loc[root, "node"])
        rooted = made.trajectory.rooted(node=root)
        opened.run("app.setRoot(given)", node)
        branches = rooted.branch_table_
        page.get_by_role("tab", name="Branches").click()
        rows = page.locator("#panel-branches tbody tr").all_inner_texts()
        assert [row.split("\t")[0].strip() for row in rows] == branches.index.tolist()
        for row, (_, wanted) in zip(rows, branches.iterrows(), strict=True):
            assert row.split("\t")[1] == str(wanted["n_samples"])
            assert row.split("\t")[4] == (wanted["parent"] or "–")
        page.locator("#panel-branches tbody button").first.click()
        end = branches["end_time"].iloc[0]
        assert f"pseudotime 0 to {end:.4g}" in page.inner_text("#panel-branches .detail")
        choose(opened, [7], "P007")
        page.get_by_role("tab", name="Selection").click()
        told = page.inner_text("#panel-selection")
        assert re.search(rf"pseudotime\s+{rooted.pseudotime_[7]:.6g}", told)
        assert re.search(rf"branch\s+{rooted.branches_[7]}", told)
        one = saved(opened, "Selection as CSV")
        assert one.loc["P007", "pseudotime"] == pytest.approx(rooted.pseudotime_[7], abs=1e-9)
        assert one.loc["P007", "branch"] == rooted.branches_[7]
        choose(opened, range(20))
        opened.run("app.keep('A')")
        several = saved(opened, "Compared samples as CSV")
        np.testing.assert_allclose(several["pseudotime"], rooted.pseudotime_, atol=1e-9)
        opened.run("app.forgetKept()")
        page.get_by_role("tab", name="New sample").click()
        place = rooted.place(made.preparation.transform(new))
        assert re.search(
            rf"pseudotime\s+{place['pseudotime'].iloc[0]:.4g}", page.inner_text("#panel-new")
        )
        placed = saved(opened, "Places as CSV")
        assert placed["pseudotime"].iloc[0] == pytest.approx(place["pseudotime"].iloc[0], abs=1e-6)
        assert placed["branch"].iloc[0] == place["branch"].iloc[0]
        page.get_by_role("tab", name="Feature").click()
        spots = opened.run(
            """
            const shapes = app.featureShapes(600, 300, app.themeColors());
            const clip = shapes.find((shape) => shape.kind === "clip");
            const {xy} = clip.shapes.find((shape) => shape.kind === "points");
            return [...xy].filter((_, k) => k % 2 === 0);
            """
        )
        time = rooted.pseudotime_ / rooted.pseudotime_.max()
        np.testing.assert_allclose(spots, 52 + (600 - 52 - 12) * time, atol=1e-3)
        opened.until("return document.querySelector('#panel-feature canvas').clientWidth > 0")
        name = branches.index[0]
        chart = "document.querySelector('#panel-feature canvas')"
        opened.until(f"return {chart}.ariaLabel.includes('{name} from')")
        assert "shown along the new one" in page.inner_text("#panel-feature")


# New samples


def test_the_warning_of_a_far_sample_stands_at_its_result(open_page, report, tumours):
    _, table, _ = tumours
    new = table.iloc[[20, 4]].copy().set_axis(["near", "far"])
    new.loc["far"] *= 8
    opened = open_page(report)
    opened.page.get_by_role("tab", name="New sample").click()
    opened.page.locator("textarea").fill(new.to_csv(index_label="sample"))
    opened.page.get_by_role("button", name="Place on the tree").click()
    assert opened.run("return app.placesOfAdded().map((s) => s.isFar)") == [False, True]
    far = opened.page.get_by_role("region", name="far")
    lines = far.inner_text().splitlines()
    assert lines[0] == "far"
    assert next(filter(None, lines[1:])).startswith("⚠ Far from the tree")
    assert "Far from" not in opened.page.get_by_role("region", name="near").inner_text()
    assert "1 of them far from the tree" in opened.page.inner_text("[role=status]")
    p = saved(opened, "Places as CSV")["p"]
    assert p["near"] > 0.05 >= p["far"]


def card_of(opened, name):
    """What is said of a new sample, as one line."""
    return " ".join(opened.page.get_by_role("region", name=name).inner_text().split())


def test_a_wrong_unit_is_flagged_and_the_column_named(open_page, report, tumours):
    _, table, _ = tumours
    new = table.iloc[[20]].set_axis(["wrong unit"])
    new["mean smoothness"] *= 10
    opened = open_page(report)
    opened.run("app.addSamples(given); app.openTab('new')", new.to_csv(index_label="sample"))
    said = card_of(opened, "wrong unit")
    assert "⚠ Far from the tree (p = " in said
    assert "Check the columns that are out of range, and their units." in said
    low, high = table["mean smoothness"].min(), table["mean smoothness"].max()
    value = new["mean smoothness"].iloc[0]
    wanted = f"out of range mean smoothness {value:.4g}: {low:.4g} to {high:.4g} in the fit"
    assert wanted in said
    assert f"what makes it far mean smoothness {value:.4g}:" in said
    assert "expected by the other columns" in said
    assert "farther than " in said
    assert " samples held out of the fit: p = 0.0" in said
    # The tip says the same.
    place = opened.run(
        "return app.plots.embedding.scene.placeOf(app.placesOfAdded()[0])",
    )
    x, y = opened.pixel("embedding", place)
    opened.page.mouse.move(x, y)
    tip = opened.page.locator(".tip").inner_text()
    assert "out of range" in tip
    assert "Far from the tree (p = " in tip


def test_a_sample_with_gaps_has_an_interval_and_says_what_is_missing(open_page, report, tumours):
    _, table, _ = tumours
    new = table.iloc[[20]].set_axis(["half"]).iloc[:, ::2]
    opened = open_page(report)
    opened.page.get_by_role("tab", name="New sample").click()
    assert "some may be missing" in opened.page.inner_text("#panel-new")
    opened.page.locator("textarea").fill(new.to_csv(index_label="sample"))
    opened.page.get_by_role("button", name="Place on the tree").click()
    said = card_of(opened, "half")
    assert "missing 15 of 30 features" in said
    assert "(probability " in said
    lower, upper = opened.run(
        "const {lower, upper} = app.placesOfAdded()[0].sure; return [lower, upper]"
    )
    assert lower < opened.run("return app.placesOfAdded()[0].pseudotime") < upper
    assert "with 95 % probability)" in said
    told = opened.page.inner_text(".lacking")
    assert told.startswith("The table has no values of 15 of the 30 features: ")
    opened.page.locator("textarea").fill("hb,crp\n1,2\n")
    opened.page.get_by_role("button", name="Place on the tree").click()
    assert "the table lacks 30 of the 30 columns" in opened.page.inner_text(".problem")
    assert opened.page.inner_text(".lacking") == ""


def test_samples_can_be_coloured_by_how_far_they_were_when_held_out(open_page, report, tumours):
    made, table, _ = tumours
    opened = open_page(report)
    found = opened.run(
        "return [...app.columns.find((c) => c.name === 'p when held out').values]",
    )
    np.testing.assert_allclose(found, made.training_places(table)["p"], rtol=1e-6)


# Words


def test_headers_are_explained_and_lead_to_the_glossary(open_page, report):
    opened = open_page(report)
    page = opened.page
    button = page.get_by_role("columnheader", name="share").get_by_role("button")
    assert "part of all samples" in button.get_attribute("title")
    button.focus()
    page.keyboard.press("Enter")
    drawer = page.get_by_role("dialog", name="Glossary")
    assert drawer.is_visible()
    assert page.evaluate("document.activeElement.dataset.term") == "share"
    for word in (
        "tip", "fork", "root", "pseudotime", "branch", "support", "distance", "evidence (p)",
        "effect d", "p-value", "adjusted p-value", "length", "after",
    ):  # fmt: skip
        assert drawer.get_by_role("term").get_by_text(word, exact=True).count() == 1, word
    assert opened.page.evaluate(FAINT) == []
    page.keyboard.press("Escape")
    assert drawer.count() == 0
    assert page.evaluate("document.activeElement.textContent") == "share"
    page.get_by_role("button", name="Glossary").click()
    drawer.get_by_role("button", name="Close").click()
    assert drawer.count() == 0


def test_every_header_of_numbers_is_plain_or_in_the_glossary(open_page, report):
    opened = open_page(report)
    page = opened.page
    page.locator("#panel-branches tbody button").first.click()
    plain = {"samples", "feature", "mean here", "median here", "mean, others", "mean, selection"}
    heads = page.locator("#panel-branches thead th").all_inner_texts()
    page.get_by_role("tab", name="Selection").click()
    heads += page.locator("#panel-selection .compared thead th").all_inner_texts()
    explained = set(page.locator(".explained").all_text_contents())
    assert {"comes after", "length", "effect d", "differs by", "p", "adjusted p"} <= explained
    assert {" ".join(head.split()) for head in heads} <= plain | explained


# For those who do not see it


def test_the_panels_can_be_read_by_role_and_name(open_page, report, tumours):
    _, table, _ = tumours
    opened = open_page(report)
    page = opened.page
    shown = page.locator("aside").aria_snapshot()
    assert '- tab "Branches" [selected]' in shown
    for name in ("branch", "samples", "share", "length", "comes after"):
        assert f'columnheader "{name}"' in shown
    assert '- region "How sure the tree is"' in shown
    lasso(opened)
    opened.page.get_by_role("button", name="Keep as A").click()
    choose(opened, range(300, 360))
    opened.page.get_by_role("button", name="Keep as B").click()
    shown = page.locator("aside").aria_snapshot()
    for part in (
        '- tab "Selection" [selected]',
        '- tabpanel "Selection"',
        '- region "Selections to compare"',
        '- button "Keep as A"',
        '- button "Keep as B"',
        '- button "Forget A and B"',
        '- region "Comparison"',
        '- combobox "Composition by"',
        '- button "Feature table as CSV"',
        '- columnheader "adjusted p"',
        '- rowheader "mean',
    ):
        assert part in shown, part
    page.get_by_role("tab", name="New sample").click()
    page.locator("textarea").fill((8 * table.iloc[[3]]).to_csv(index_label="sample"))
    page.get_by_role("button", name="Place on the tree").click()
    shown = page.locator("aside").aria_snapshot()
    assert '- region "P003"' in shown
    assert "Far from the tree" in shown
    page.get_by_role("button", name="Glossary").click()
    shown = page.get_by_role("dialog").aria_snapshot()
    assert '- dialog "Glossary"' in shown
    assert "- term: pseudotime" in shown
    assert '- button "Close"' in shown
