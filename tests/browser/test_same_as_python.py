"""What the page computes is what Python computes."""

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from branchwise import SPL, DDRTree, DRTree, Preparation
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
    "dropped": (DDRTree(2, random_state=0), Preparation(impute="drop", standardize=True)),
    "ring": (DDRTree(2, structure="ring", random_state=0), Preparation(standardize=True)),
    "drtree": (DRTree(), Preparation(standardize=True)),
    "spl": (SPL(), Preparation(standardize=True)),
    "spl hard": (SPL(loss="hard"), Preparation(pca=3)),
    "spl absolute": (SPL(loss="absolute", C=10.0), Preparation(standardize=True)),
    "rbf": (DDRTree(2, kernel="rbf", random_state=0), Preparation(standardize=True)),
    "linear kernel": (SPL(kernel="linear"), Preparation(standardize=True)),
}


@pytest.mark.parametrize("case", CASES)
def test_new_samples_are_placed_as_python_places_them(open_page, tmp_path, case):
    estimator, preparation = CASES[case]
    frame = patients()
    adjusted = list(preparation.adjust or ())
    table = frame if adjusted else frame.drop(columns=["age", "sex"])
    made = fit_pipeline(
        table, estimator, preparation, root={"node": "T1"} if case != "ring" else {}
    )
    file = tmp_path / "report.html"
    features = [name for name in table if name.startswith("lab")]
    write_report(
        file, made, features=table[features], annotations=table[adjusted] if adjusted else None
    )
    rng = np.random.default_rng(2)
    new = table.iloc[:40].copy()
    new[features] *= rng.uniform(0.8, 1.25, size=(40, len(features)))
    # Training samples as they are, values beyond all others, and gaps where they may be.
    new = pd.concat([new, table.iloc[60:70]]).set_axis([f"N{k:02}" for k in range(50)])
    new.loc["N05", features] *= 3
    if preparation.impute == "median":
        new.loc["N07", "lab 3"] = np.nan
    opened = open_page(file)
    opened.page.get_by_role("tab", name="New sample").click()
    opened.page.locator("textarea").fill(new[new.columns[::-1]].to_csv(index_label="patient"))
    opened.page.get_by_role("button", name="Place on the tree").click()
    assert opened.page.inner_text(".problem") == ""
    with opened.page.expect_download() as waiting:
        opened.page.get_by_role("button", name="Places as CSV").click()
    placed = pd.read_csv(io.BytesIO(waiting.value.path().read_bytes()), index_col=0)
    wanted = made.place(new).drop(columns=made.transform(new).columns)
    assert placed.index.tolist() == wanted.index.tolist()
    assert set(wanted.columns) <= set(placed.columns)
    for name in wanted:
        if name == "branch":
            assert (placed[name] == wanted[name]).all()
        else:
            np.testing.assert_allclose(
                placed[name], wanted[name], rtol=1e-6, atol=1e-6, err_msg=name
            )


def test_a_model_alone_places_samples_of_a_table_without_names(open_page, tmp_path):
    X = load_iris().data
    model = DDRTree(2, random_state=0).fit(X[::2])
    model.to_html(tmp_path / "iris.html", X=X[::2])
    opened = open_page(tmp_path / "iris.html")
    rows = "\n".join(",".join(map(repr, map(float, row))) for row in X[1:20:2])
    opened.run("app.addSamples(given)", rows)
    placed = np.array(opened.run("return app.added.map((sample) => [...sample.projection])"))
    np.testing.assert_allclose(placed, model.project(X[1:20:2]), atol=1e-9)
