"""What the panels say: selections and their comparison, how sure branches are, new samples."""

import numpy as np
import pytest

from branchwise import learn_trajectory
from branchwise.datasets import make_tree
from branchwise.report import write_report

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
