"""What `describe` says, and the support of branches whatever the root."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from branchwise.trajectory import Trajectory
from branchwise.trajectory.bootstrap import Support
from branchwise.trajectory.sentences import found_again

pd = pytest.importorskip("pandas")

NODES = np.array([[-9.0, 0], [0, 0], [6, 5], [6, -4], [10, 8], [10, 1]])
EDGES = {
    0: [[0, 1]],
    1: [[0, 1], [1, 2], [1, 3]],
    2: [[0, 1], [1, 2], [1, 3], [2, 4], [2, 5]],
}


def path(n_forks, n=60, width=0.3):
    """Samples along a tree with so many forks, and many nodes on each of its branches."""
    edges = EDGES[n_forks]
    nodes = NODES[: len(edges) + 1]
    chains, places = [], list(nodes)
    for a, b in edges:
        inner = list(range(len(places), len(places) + 9))
        places += [nodes[a] + k / 10 * (nodes[b] - nodes[a]) for k in range(1, 10)]
        chains += pairwise([a, *inner, b])
    rng = np.random.default_rng(0)
    t = rng.uniform(size=(n, 1))
    points = np.vstack([nodes[a] + t * (nodes[b] - nodes[a]) for a, b in edges])
    return Trajectory(chains, places, points + width * rng.normal(size=points.shape))


def with_shares(found, shares, n_tips, fork_shares=()):
    """The trajectory as if resamples had found its branches again so often."""
    n = sum(n_tips.values())
    index = found.branch_table_.index
    branches = pd.DataFrame({"support": shares, "similarity": shares, "n_samples": 1}, index=index)
    forks = [name for name in found.milestones_.index if name.startswith("F")]
    milestones = pd.DataFrame(
        {"kind": "fork", "support": np.array(fork_shares, dtype=float)}, index=forks
    )
    counts = pd.Series(n_tips, name="n_tips")
    times = pd.DataFrame({"pseudotime": found.pseudotime_})
    return found.with_support(
        Support(branches, milestones, times, counts, "bootstrap", n, 0, (), 0)
    )


@pytest.mark.parametrize(
    ("n_forks", "told"),
    [
        (0, "1 branch, 2 tips and no fork."),
        (1, "3 branches, 3 tips and 1 fork (p < 0.001 for gaps"),
        (2, "5 branches, 4 tips and 2 forks (p < 0.001 for gaps"),
    ],
)
def test_branches_tips_and_forks(n_forks, told):
    lines = path(n_forks).describe().split("\n")
    assert len(lines) == 2
    assert lines[0].startswith(told)
    assert lines[1].startswith("A tree explains" if n_forks else "There is no evidence of a fork.")


def test_a_fork_without_a_gap_is_not_sure():
    rng = np.random.default_rng(0)
    points = rng.uniform(-9, 9, size=(300, 2))
    found = Trajectory(EDGES[1], NODES[:4], points)
    assert found.branch_table_["p"].max() > 0.05
    assert found.describe().split("\n")[0].endswith(": not every fork is sure.")


def test_what_resamples_found():
    sure = with_shares(path(1), [1.0, 0.95, 0.9], {3: 19, 4: 1}, [0.95])
    assert sure.describe().split("\n")[2:] == [
        "Of 20 resamples, 19 have 3 tips, 1 has 4 tips.",
        "The fork was found again: F1 in 19 of 20 resamples.",
    ]
    line = with_shares(path(0), [1.0], {2: 20})
    assert line.describe().split("\n")[2:] == ["Of 20 resamples, 20 have 2 tips."]


def test_resamples_that_disagree_are_told():
    found = path(2)
    shares = np.where(found.branch_table_["end"] == "T3", 0.3, 1.0)
    told = with_shares(found, shares, {3: 14, 4: 6}, [1.0, 0.3]).describe().split("\n")
    assert told[3] == "The forks were found again: F1 in 20 of 20, F2 in 6 of 20 resamples."
    (name,) = found.branch_table_.index[shares < 0.5]
    assert told[4] == "Resamples disagree about the number of tips."
    assert told[5] == f"Resamples disagree about {name}: found again in fewer than 80%."


def by_ends(found):
    return {frozenset(name.split("-")): value for name, value in found.items()}


@pytest.mark.parametrize("n_forks", [0, 1, 2])
def test_support_goes_with_the_branch_when_the_root_is_another(n_forks):
    found = path(n_forks)
    n = len(found.branch_table_)
    found = with_shares(found, np.arange(1, n + 1) / n, {n_forks + 2: 2}, np.ones(n_forks))
    known = by_ends(found.branch_table_["support"])
    assert len(known) == n
    turned = found.rooted(node="T2")
    assert turned.branch_table_.index.tolist() != found.branch_table_.index.tolist()
    assert by_ends(turned.branch_table_["support"]) == known
    back = turned.rooted(node="T1")
    pd.testing.assert_frame_equal(back.branch_table_, found.branch_table_)


@pytest.mark.parametrize("n_forks", [0, 1, 2])
def test_both_parts_of_a_branch_with_a_root_in_it_have_its_support(n_forks):
    found = path(n_forks)
    n = len(found.branch_table_)
    found = with_shares(found, np.arange(1, n + 1) / n, {n_forks + 2: 2}, np.ones(n_forks))
    known = by_ends(found.branch_table_["support"])
    middle = found.rooted(sample=int(np.argmin(np.abs(found.branch_position_ - 0.5))))
    table = middle.branch_table_
    parts = table.query("start == 'R1'")
    assert len(table) == n + 1
    assert len(parts) == 2
    assert (parts["support"] == known[frozenset(parts["end"])]).all()
    for name, value in table.drop(parts.index)["support"].items():
        assert value == known[frozenset(name.split("-"))]
    np.testing.assert_array_equal(found_again(middle), table["support"])


def test_parts_of_a_branch_at_another_inner_root_do_not_take_over_shares_by_their_names():
    found = path(0)
    position = found.branch_position_
    one, other = (found.rooted(sample=int(np.argmin(np.abs(position - p)))) for p in (0.3, 0.7))
    table = one.branch_table_.assign(support=[1.0, 0.4])
    one = one.with_support(SimpleNamespace(branches_=table))
    assert one.branch_table_["support"].tolist() == [1.0, 0.4]
    other = other.with_support(one.support_)
    assert other.branch_table_.index.tolist() == table.index.tolist()
    assert other.branch_table_["support"].isna().all(), "nobody has looked at these"


def test_another_graph_has_no_support_yet():
    found = with_shares(path(2), np.ones(5), {4: 2}, [1.0, 1.0])
    assert found.rooted(node="T2").support_ is found.support_
    merged = found.merge(3)
    assert merged.support_ is None
    assert "support" not in merged.branch_table_
    assert "resamples" not in merged.describe()
