"""What the page computes is what Python computes."""

import io
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from branchwise import SPL, DDRTree, DRTree, Preparation
from branchwise.cli import main
from branchwise.datasets import make_tree
from branchwise.pipeline import fit_pipeline
from branchwise.report import write_report
from branchwise.trajectory import Trajectory
from branchwise.trajectory.layout import tree_layout

LAYOUT = """
    const {layout, tree} = app;
    return {
        names: tree.milestones.map((m) => m.name),
        branches: tree.branches.map((b) => [b.name, b.parent, b.length, b.startTime, b.endTime]),
        milestones: [...layout.milestones], across: [...layout.across], times: [...layout.times],
        samples: [...layout.samples], closings: [...layout.closings],
        branch: [...app.placed.branch], position: [...app.placed.branchPosition],
        time: [...app.placed.pseudotime],
    }
"""


def compare_rooting(opened, rooted):
    """Names, times and the flat layout of the page against those of a trajectory."""
    found = opened.run(LAYOUT)
    table = rooted.branch_table_
    assert found["names"] == rooted.milestones_.index.tolist()
    assert [row[0] for row in found["branches"]] == table.index.tolist()
    assert [row[1] for row in found["branches"]] == table["parent"].tolist()
    numbers = np.array([row[2:] for row in found["branches"]])
    np.testing.assert_allclose(numbers, table[["length", "start_time", "end_time"]], atol=1e-9)
    names = table.index.to_numpy()[found["branch"]]
    assert (names == rooted.branches_).all()
    np.testing.assert_allclose(found["position"], rooted.branch_position_, atol=1e-8)
    np.testing.assert_allclose(found["time"], rooted.pseudotime_, atol=1e-9)
    layout = tree_layout(rooted)
    order = [found["names"].index(name) for name in layout.names]
    milestones = np.array(found["milestones"]).reshape(-1, 2)[order]
    np.testing.assert_allclose(milestones, layout.milestones, atol=1e-9)
    np.testing.assert_allclose(found["across"], layout.across, atol=1e-9)
    np.testing.assert_allclose(found["times"], layout.times.ravel(), atol=1e-9)
    np.testing.assert_allclose(found["closings"], layout.closings.ravel(), atol=1e-9)
    np.testing.assert_allclose(found["samples"], layout.samples.ravel(), atol=1e-7)


def simulated_graphs():
    """Simulated: a pruned tree, a forest, a ring, and graphs with cycles drawn at random."""
    rng = np.random.default_rng(0)
    tree = make_tree(200, 5, topology="binary", noise=0.05, random_state=0)
    for structure in ("tree", "forest", "ring"):
        model = DDRTree(n_components=2, structure=structure, random_state=0).fit(tree.X)
        yield structure, Trajectory.from_estimator(model)
    for k in range(3):
        nodes = rng.normal(size=(12, 2))
        edges = [[a, rng.integers(a)] for a in range(1, 12) if a != 6]  # two parts
        edges += [[1, 3], [2, 5], [7, 9]]  # cycles
        edges = np.unique(np.sort(edges, axis=1), axis=0)
        edges = edges[edges[:, 0] != edges[:, 1]]
        yield f"cycles {k}", Trajectory(edges, nodes, rng.normal(size=(80, 2)))


@pytest.mark.parametrize(("name", "path"), list(simulated_graphs()), ids=lambda x: str(x)[:12])
def test_every_node_as_root_gives_the_branches_and_layout_of_python(
    open_page, tmp_path, name, path
):
    file = tmp_path / "graph.html"
    write_report(file, path)
    opened = open_page(file)
    compare_rooting(opened, path)
    milestones = path.milestones_["node"].tolist()
    others = [node for node in range(len(path.nodes_)) if node not in milestones]
    for node in [*milestones, *others[:8]]:
        opened.run("app.setRoot(given)", node)
        # Parts of a forest keep their own roots.
        wanted = opened.run("return app.wanted")
        assert wanted[-1] == node
        compare_rooting(opened, path.rooted(node=wanted))


def test_a_root_at_a_sample_stays_the_start(open_page, tmp_path):
    data = make_tree(150, 5, noise=0.05, random_state=0)  # simulated
    path = Trajectory.from_estimator(DDRTree(2, random_state=0).fit(data.X)).rooted(sample=7)
    file = tmp_path / "sample.html"
    write_report(file, path)
    opened = open_page(file)
    compare_rooting(opened, path)
    opened.run("app.setRoot(app.tree.milestones.find((m) => m.name === 'T2').node)")
    compare_rooting(opened, path.rooted(node="T2"))


# New samples


def patients():
    """Simulated: skewed positive values, with an age and a sex that change some of them."""
    rng = np.random.default_rng(1)
    data = make_tree(160, 6, noise=0.1, random_state=1)
    values = np.exp(data.X / 3)
    age, sex = rng.uniform(30, 80, 160).round(), rng.choice(["f", "m", "other"], 160)
    values[:, 1] += 0.02 * age
    values[:, 2] += 0.5 * (sex == "m")
    frame = pd.DataFrame(values, columns=[f"lab {k}" for k in range(6)])
    return frame.set_axis([f"P{k:03}" for k in range(160)]).assign(age=age, sex=sex)


CASES = {
    "plain": (DDRTree(2, random_state=0), Preparation()),
    "standardized": (DDRTree(n_components=3, random_state=0), Preparation(standardize=True)),
    "hard": (DDRTree(2, assignment="hard", random_state=0), Preparation(standardize=True)),
    "all dimensions": (DDRTree(n_components=None, random_state=0), Preparation(standardize=True)),
    "logarithms": (DDRTree(2, random_state=0), Preparation(log1p=True, standardize=True)),
    "ranks": (DDRTree(2, random_state=0), Preparation(rank_normalize=True)),
    "adjusted": (
        DDRTree(2, random_state=0),
        Preparation(impute="median", log1p=True, adjust=["age", "sex"], standardize=True, pca=4),
    ),
    "filled by the tree": (
        DDRTree(2, random_state=0),
        Preparation(impute="model", standardize=True, pca=4),
    ),
    "categories": (
        DDRTree(2, random_state=0),
        Preparation(categorical=["sex"], log1p=True, standardize=True),
    ),
    "categories and medians": (
        DDRTree(2, random_state=0),
        Preparation(categorical=["sex"], impute="median", standardize=True, pca=5),
    ),
    "dropped": (DDRTree(2, random_state=0), Preparation(impute="drop", standardize=True)),
    "ring": (DDRTree(2, structure="ring", random_state=0), Preparation(standardize=True)),
    "drtree": (DRTree(), Preparation(standardize=True)),
    "spl": (SPL(), Preparation(standardize=True)),
    "spl hard": (SPL(loss="hard"), Preparation(pca=3)),
    "spl absolute": (SPL(loss="absolute", C=10.0), Preparation(standardize=True)),
    "rbf": (DDRTree(2, kernel="rbf", random_state=0), Preparation(standardize=True)),
    "linear kernel": (SPL(kernel="linear"), Preparation(standardize=True)),
}


# Models that do not know how their samples scatter.
WITHOUT = {"rbf", "linear kernel"}


def placed_by_page(opened, table):
    """What the page says of a table: its file of places."""
    opened.run("app.clearAdded()")
    opened.page.get_by_role("tab", name="New sample").click()
    opened.page.locator("textarea").fill(table.to_csv(index_label="patient"))
    opened.page.get_by_role("button", name="Place on the tree").click()
    assert opened.page.inner_text(".problem") == ""
    with opened.page.expect_download() as waiting:
        opened.page.get_by_role("button", name="Places as CSV").click()
    return pd.read_csv(io.BytesIO(waiting.value.path().read_bytes()), index_col=0)


def compare_places(placed, wanted):
    """All columns but the embedding, which a page does not have."""
    assert placed.index.tolist() == wanted.index.tolist()
    drawn = [name for name in wanted if name not in placed]
    assert len(drawn) == sum(name.startswith("projection") for name in wanted)
    assert [name for name in wanted if name in placed] == placed.columns.tolist()
    for name in placed:
        if name in {"branch", "likeliest_branch", "out_of_range", "drivers"}:
            assert placed[name].fillna("").tolist() == wanted[name].fillna("").tolist(), name
        else:
            np.testing.assert_allclose(
                placed[name], wanted[name], rtol=1e-6, atol=1e-6, err_msg=name
            )


def page_of(made, table, file):
    """The report of a pipeline and its table."""
    texts = [name for name in ("age", "sex") if name in table]
    numbers = [name for name in table if name in made.features and name != "sex"]
    write_report(file, made, features=table[numbers], annotations=table[texts] if texts else None)


@pytest.mark.parametrize("case", CASES)
def test_new_samples_are_placed_as_python_places_them(open_page, tmp_path, case):
    estimator, preparation = CASES[case]
    frame = patients()
    uses_both = preparation.adjust or preparation.categorical
    table = frame if uses_both else frame.drop(columns=["age", "sex"])
    given = table.copy()
    if preparation.impute in ("median", "model"):
        given.iloc[::7, 2] = np.nan
    made = fit_pipeline(
        given, estimator, preparation, root={"node": "T1"} if case != "ring" else {}
    )
    page_of(made, given, tmp_path / "report.html")
    features = [name for name in table if name.startswith("lab")]
    rng = np.random.default_rng(2)
    new = table.iloc[:40].copy()
    new[features] *= rng.uniform(0.8, 1.25, size=(40, len(features)))
    # Training samples as they are, values beyond all others, and a wrong unit.
    new = pd.concat([new, table.iloc[60:70]]).set_axis([f"N{k:02}" for k in range(50)])
    new.loc["N05", features] *= 3
    new.loc["N06", "lab 2"] *= 10
    opened = open_page(tmp_path / "report.html")
    compare_places(placed_by_page(opened, new[new.columns[::-1]]), made.place(new))
    if case in WITHOUT:
        assert opened.run("return app.placesOfAdded().every((s) => s.sure === null)")
        return
    assert opened.run("return app.placesOfAdded()[6].isFar")
    gaps = new.copy()
    raw = list(made.features)
    gaps[raw] = gaps[raw].where(rng.random((50, len(raw))) < 0.6)
    some = gaps[raw].notna().any(axis=1)
    compare_places(placed_by_page(opened, gaps[some]), made.place(gaps[some]))
    # Columns that the table does not have.
    there = [name for name in new if name not in {"lab 1", "lab 4"}]
    with pytest.warns(UserWarning, match=f"has no values of 2 of the {len(raw)} features"):
        wanted = made.place(new[there])
    compare_places(placed_by_page(opened, new[there]), wanted)
    said = opened.page.inner_text(".lacking")
    assert said.startswith(f"The table has no values of 2 of the {len(raw)} features: 'lab 1', ")
    # One row alone, in which a column is empty.
    one = gaps[some].iloc[[3]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that of absent columns
        wanted = made.place(one)
    compare_places(placed_by_page(opened, one), wanted)
    # From another root.
    opened.run("app.setRoot(app.tree.milestones.at(-1).node)")
    node = opened.run("return app.wanted")
    rooted = replace(made, trajectory=made.trajectory.rooted(node=node))
    placed = placed_by_page(opened, gaps[some])
    compare_places(placed, rooted.place(gaps[some]))


def test_a_root_inside_a_branch_does_not_change_how_far_samples_are(open_page, tmp_path):
    table = patients().drop(columns=["age", "sex"])
    made = fit_pipeline(table, DDRTree(2, random_state=0), Preparation(standardize=True), root={})
    page_of(made, table, tmp_path / "report.html")
    opened = open_page(tmp_path / "report.html")
    new = (table.iloc[:20] * 1.02).where(np.random.default_rng(0).random((20, 6)) < 0.8)
    before = placed_by_page(opened, new)
    milestones = set(made.trajectory.milestones_["node"])
    node = next(k for k in range(len(made.trajectory.nodes_)) if k not in milestones)
    opened.run("app.setRoot(given)", node)
    after = placed_by_page(opened, new)
    pd.testing.assert_frame_equal(before[["p", "misfit"]], after[["p", "misfit"]])
    rooted = replace(made, trajectory=made.trajectory.rooted(node=opened.run("return app.wanted")))
    compare_places(after, rooted.place(new))


ENCODED = {
    "encoded": {"standardize": True, "impute": "median"},
    "encoded, not scaled": {"log1p": True},
    "encoded, ranks": {"rank_normalize": True, "adjust": ["age"], "pca": 5},
}


def visits():
    """Simulated: the same patients with categories, an ordered one, and dates."""
    rng = np.random.default_rng(3)
    seen = pd.Timestamp("2020-03-01") + pd.to_timedelta(rng.integers(0, 700, 160), "D")
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 9000, 160), "D")
    return patients().assign(
        smoker=rng.random(160) < 0.3,
        stage=rng.integers(1, 4, 160),
        grade=rng.choice(["low", "mid", "high"], 160),
        seen=seen.strftime("%d/%m/%Y"),
        born=born,
    )


def encoding(**options):
    return Preparation(
        categorical=["sex", "smoker", "stage"],
        ordinal={"grade": ["low", "mid", "high"]},
        dates=["seen"],
        ages={"years": ("born", "seen")},
        **options,
    )


# Days vary more than all else here, and a fit says so.
@pytest.mark.filterwarnings("ignore:.*'seen' carries")
@pytest.mark.parametrize("case", ENCODED)
def test_a_pasted_row_is_encoded_as_python_encodes_it(open_page, tmp_path, case):
    table = visits()
    preparation = encoding(**ENCODED[case])
    made = fit_pipeline(table, DDRTree(2, random_state=0), preparation, root={"node": "T1"})
    file = tmp_path / "report.html"
    write_report(
        file, made, features=table[made.numbers], annotations=table.drop(columns=made.numbers)
    )
    new = table.iloc[20:60].copy()
    new[made.numbers] *= np.random.default_rng(2).uniform(0.8, 1.25, size=(40, len(made.numbers)))
    new["seen"] = new["seen"].str.replace("/2020", "/2019")
    if preparation.impute == "median":
        new.loc["P025", ["sex", "seen", "grade"]] = None
    opened = open_page(file)
    opened.page.get_by_role("tab", name="New sample").click()
    with opened.page.expect_download() as waiting:
        opened.page.get_by_role("button", name="Header as CSV").click()
    header = waiting.value.path().read_text().strip().split(",")
    assert header == ["sample", *made.features, *(preparation.adjust or [])]
    opened.page.locator("textarea").fill(new[new.columns[::-1]].to_csv(index_label="patient"))
    opened.page.get_by_role("button", name="Place on the tree").click()
    assert opened.page.inner_text(".problem") == ""
    with opened.page.expect_download() as waiting:
        opened.page.get_by_role("button", name="Places as CSV").click()
    placed = pd.read_csv(io.BytesIO(waiting.value.path().read_bytes()), index_col=0)
    wanted = made.place(new).drop(columns=made.transform(new).columns)
    words = ["branch", "likeliest_branch", "out_of_range", "drivers"]
    for name in wanted.drop(columns=words):
        np.testing.assert_allclose(placed[name], wanted[name], rtol=1e-6, atol=1e-6, err_msg=name)
    for name in words:
        assert placed[name].fillna("").tolist() == wanted[name].fillna("").tolist()


# Days vary more than all else here, and a fit says so.
@pytest.mark.filterwarnings("ignore:.*'seen' carries")
@pytest.mark.parametrize(
    ("column", "cells"),
    [("sex", ["x", "y"]), ("grade", ["huge", "low"]), ("seen", ["soon", "31/31/2020"])],
)
def test_what_cannot_be_encoded_is_told_in_the_words_of_python(open_page, tmp_path, column, cells):
    table = visits()
    made = fit_pipeline(table, DDRTree(2, random_state=0), encoding())
    write_report(
        tmp_path / "report.html",
        made,
        features=table[made.numbers],
        annotations=table.drop(columns=made.numbers),
    )
    new = table.iloc[:5].copy()
    new.loc[new.index[2:4], column] = cells
    with pytest.raises(ValueError, match="data row 3") as told:
        made.place(new)
    opened = open_page(tmp_path / "report.html")
    opened.page.get_by_role("tab", name="New sample").click()
    opened.page.locator("textarea").fill(new.to_csv(index_label="patient"))
    opened.page.get_by_role("button", name="Place on the tree").click()
    assert opened.page.inner_text(".problem") == str(told.value)


def test_a_model_alone_places_samples_of_a_table_without_names(open_page, tmp_path):
    X = load_iris().data
    model = DDRTree(2, random_state=0).fit(X[::2])
    model.to_html(tmp_path / "iris.html", X=X[::2])
    opened = open_page(tmp_path / "iris.html")
    rows = "\n".join(",".join(map(repr, map(float, row))) for row in X[1:20:2])
    opened.run("app.addSamples(given)", rows)
    placed = np.array(opened.run("return app.added.map((sample) => [...sample.projection])"))
    np.testing.assert_allclose(placed, model.project(X[1:20:2]), atol=1e-9)


@pytest.mark.parametrize("cells", ["236.200;12", "236,200;12", "236.2;12", "1.236,2;12"])
def test_a_file_that_leaves_it_open_has_the_decimal_sign_of_the_fit(open_page, tmp_path, cells):
    """Fitted to decimal commas: a point may stand between thousands."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"plt": rng.normal(240, 40, 60), "hb": rng.normal(13, 2, 60)})
    frame.to_csv(tmp_path / "a.csv", sep=";", decimal=",", index_label="patient")
    given = ["fit", tmp_path / "a.csv", "-o", tmp_path / "out", "--root", "T1", "--standardize"]
    assert main([*map(str, given), "--no-support", "--figure", "none"]) == 0
    new = tmp_path / "new.csv"
    new.write_text(f"patient;plt;hb\nN1;{cells}\n")
    places = tmp_path / "places.csv"
    assert main(["transform", *map(str, (tmp_path / "out", new, "-o", places))]) == 0
    wanted = pd.read_csv(places, index_col=0)
    opened = open_page(tmp_path / "out" / "report.html")
    opened.run("app.clearAdded()")
    opened.page.get_by_role("tab", name="New sample").click()
    opened.page.locator("textarea").fill(new.read_text())
    opened.page.get_by_role("button", name="Place on the tree").click()
    assert opened.page.inner_text(".problem") == ""
    with opened.page.expect_download() as waiting:
        opened.page.get_by_role("button", name="Places as CSV").click()
    placed = pd.read_csv(io.BytesIO(waiting.value.path().read_bytes()), index_col=0)
    for name in ("pseudotime", "distance", "misfit", "p"):
        np.testing.assert_allclose(placed[name], wanted[name], rtol=1e-4, err_msg=name)
