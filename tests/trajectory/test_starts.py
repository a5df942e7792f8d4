"""Roots by labels: which tip or inner node is the start, and when that is close."""

import re

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from branchwise._messages import for_command_line
from branchwise.trajectory import Trajectory, starts
from branchwise.trajectory.starts import choose, rival, weigh

from .drawn import trajectory
from .test_core import in_general_position, trees
from .test_roots import FORK, NODES, seeds


def labelled():
    """A fork with ten samples at each tip; the labels depend on the tip."""
    points = np.repeat(NODES[[0, 2, 3]], 10, axis=0)
    return Trajectory(FORK, NODES, points), np.repeat(np.array(["day 9", "day 4", "day 0"]), 10)


@pytest.mark.parametrize("at", ["auto", "tip", "node"])
def test_the_root_is_where_the_label_is_frequent(at):
    found, labels = labelled()
    for value, node in (("day 9", 0), ("day 4", 2), ("day 0", 3)):
        assert found.rooted(labels=labels, value=value, at=at).roots_.tolist() == [node]


@pytest.mark.parametrize(
    "convert",
    [
        lambda pd, at: pd.Series(at),
        lambda pd, at: pd.Series(at).map({0: "a", 1: "b", 2: "c"}).astype("category"),
        lambda pd, at: pd.array(at, dtype="Int64"),
        lambda pd, at: at.astype(float),
        lambda pd, at: pd.to_datetime(pd.Series(at), unit="D"),
        lambda pd, at: at.tolist(),
        lambda pd, at: at == 2,
        lambda pd, at: pd.Series(at == 2),
        lambda pd, at: [(k if k else "first") for k in at.tolist()],
    ],
)
@pytest.mark.parametrize("missing", [False, True])
def test_labels_of_any_type_some_missing(convert, missing):
    pandas = pytest.importorskip("pandas")
    found, _ = labelled()
    labels = convert(pandas, np.repeat([0, 1, 2], 10))
    value = list(labels)[-1]
    if missing:
        labels = pandas.Series(labels, dtype=object)
        labels[[0, 11, 21]] = [None, np.nan, pandas.NA]
    assert found.rooted(labels=labels, value=value).roots_.tolist() == [3]
    assert found.rooted(labels=list(labels), value=value, at="node").roots_.tolist() == [3]


@pytest.mark.parametrize("value", [2, np.int64(2), np.uint8(2), np.float32(2), 2.0])
def test_a_value_is_a_number_of_any_type(value):
    found, _ = labelled()
    labels = np.repeat([0, 1, 2], 10)
    assert found.rooted(labels=labels, value=value).roots_.tolist() == [3]


def slow_weights(found, has_it, is_known):
    """For each node, pair by pair: score, mean distance, share of the label, whether it occurs."""
    n, rows = is_known.sum(), np.flatnonzero(is_known)
    weights = []
    for node in range(len(found.nodes_)):
        time = found.rooted(node=node).pseudotime_
        early, late = time[has_it], time[is_known & ~has_it]
        pairs = [(a < b) + (a == b) / 2 for a in early for b in late]
        n_first = max(int(min(max(10, 0.05 * n), 0.2 * n)), 1)
        last = np.sort(time[rows])[n_first - 1]
        n_there, n_early = (time[rows] <= last).sum(), (early <= last).sum()
        share = n_early / min(n_there, len(early))
        weights.append((np.mean(pairs or [0.5]), early.mean(), share, n_early > 0))
    return [np.array(column) for column in zip(*weights, strict=True)]


@pytest.mark.filterwarnings("ignore:Time starts where")
@given(in_general_position, seeds, st.sampled_from(["auto", "tip", "node"]))
def test_the_best_place_by_counting_pairs(settings, seed, at):
    found = trajectory(**(settings | {"n_points": 30}))
    rng = np.random.default_rng(seed)
    labels = rng.choice(np.array(["a", "b", "c", None], dtype=object), size=30)
    if seed % 2:  # somewhere in particular
        labels[np.argsort(found.geodesic(0, np.arange(30)))[:8]] = "a"
    labels[0] = "a"
    part = base_parts(found)
    part_of_row = part[found.edges_[found.placement_.edge, 0]]
    tips = found.milestones_["node"][found.milestones_["kind"] == "tip"].to_numpy()
    wanted = {}
    for k in np.unique(part_of_row[labels == "a"]):
        is_there = part_of_row == k
        known = np.array([label is not None for label in labels])
        score, away, share, occurs = slow_weights(
            found, (labels == "a") & is_there, known & is_there
        )
        allowed = occurs & (part == k)
        is_tip = np.isin(np.arange(len(part)), tips)
        if at == "tip":
            allowed &= is_tip
        if not allowed.any():
            continue
        if at == "auto":
            top = score[allowed].max()
            good = allowed & is_tip & (share >= 0.5) & (2 * score - 1 >= top - 0.5 - 1e-12)
            allowed = good if good.any() else allowed
        best = allowed & np.isclose(score, score[allowed].max(), rtol=0, atol=1e-11)
        wanted[k] = np.flatnonzero(best & np.isclose(away, away[best].min())).tolist()
    if not wanted:
        with pytest.raises(ValueError, match=r"No (tip|node) has a sample labelled 'a' among"):
            found.rooted(labels=labels, value="a", at=at)
        return
    chosen = found.rooted(labels=labels, value="a", at=at).view.chosen_roots
    assert len(chosen) == len(wanted)
    assert all(node in wanted[part[node]] for node in chosen)


def base_parts(found):
    """The connected part of each node."""
    G = nx.Graph(found.edges_.tolist())
    part = np.empty(len(found.nodes_), dtype=int)
    for k, nodes in enumerate(nx.connected_components(G)):
        part[list(nodes)] = k
    return part


def test_every_tree_of_a_forest_has_its_root_at_the_label():
    nodes = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 9.0], [3.0, 9.0], [0.0, 18.0], [1.0, 18.0]])
    found = Trajectory([[0, 1], [2, 3], [4, 5]], nodes)
    day = ["late", "day 0", "late", "day 0", "late", "late"]
    for at in ("auto", "tip", "node"):
        rooted = found.rooted(labels=day, value="day 0", at=at)
        assert rooted.roots_.tolist() == [1, 3, 4]
        np.testing.assert_array_equal(rooted.pseudotime_, [5, 0, 3, 0, 0, 1])


def line(n_nodes, n_samples):
    """Nodes 0, 1, … in a row, and samples evenly along them."""
    nodes = np.arange(float(n_nodes))[:, np.newaxis]
    points = np.linspace(0, n_nodes - 1, n_samples)[:, np.newaxis]
    return Trajectory([[k, k + 1] for k in range(n_nodes - 1)], nodes, points), points[:, 0]


def test_a_label_inside_starts_inside_and_one_that_begins_at_a_tip_starts_there():
    path, at = line(21, 200)
    assert path.rooted(labels=np.abs(at - 8) < 2, value=True).roots_.tolist() == [8]
    # Nodes 0 to 4 put it first alike; time starts where it begins.
    assert path.rooted(labels=at < 8, value=True).roots_.tolist() == [0]
    assert path.rooted(labels=at < 8, value=True, at="node").roots_.tolist() == [4]


def test_a_few_strays_at_a_tip_are_not_the_start():
    path, at = line(21, 300)
    labels = (at < 0.8) | (np.abs(at - 14) < 4)  # all of the first ten, but a tenth of the label
    assert path.rooted(labels=labels, value=True).roots_[0] in {13, 14, 15}


def test_a_tip_without_the_label_is_refused_with_where_it_is():
    path, at = line(21, 200)
    says = (
        "No tip has a sample labelled True among its first samples: they lie on the branches "
        "T1-T2 (40); pass at='auto' to look at inner nodes too, or name a node "
        "or a sample to start at."
    )
    with pytest.raises(ValueError, match=re.escape(says)):
        path.rooted(labels=np.abs(at - 10) < 2, value=True, at="tip")


def test_one_labelled_sample_is_enough():
    path, _ = line(21, 200)
    for row, node in ((0, 0), (199, 20), (100, 10)):
        assert path.rooted(labels=np.arange(200) == row, value=True).roots_.tolist() == [node]


def test_a_close_choice_is_told_with_both_places():
    path, at = line(21, 200)
    labels = np.where(np.minimum(at, 20 - at) < 3, "a", "b")
    labels[-1] = "b"
    with pytest.warns(UserWarning, match="the choice is close") as told:
        rooted = path.rooted(labels=labels, value="a")
    assert len(told) == 1
    assert told[0].filename == __file__
    here, there = re.search(r"at (T\d), but .* and from (T\d) in", str(told[0].message)).groups()
    assert {here, there} == {"T1", "T2"}
    assert rooted.milestones_["node"][here] == rooted.roots_[0]
    assert str(told[0].message).endswith(f"use rooted(node='{there}').")
    with pytest.warns(UserWarning, match=f"use --root {there}"), for_command_line():
        path.rooted(labels=labels, value="a")


def test_labels_of_all_samples_tell_nothing():
    path, _ = line(5, 20)
    with pytest.warns(UserWarning, match="all samples there have that label, which tells nothing"):
        rooted = path.rooted(labels=["a"] * 20, value="a")
    assert len(rooted.roots_) == 1


def slow_error(one, other, has_it):
    """The standard error of the difference of two areas, by DeLong's pair by pair formula."""
    psi = [
        np.array([[(a < b) + (a == b) / 2 for b in t[~has_it]] for a in t[has_it]])
        for t in (one, other)
    ]
    rows, columns = (np.cov([p.mean(axis=k) for p in psi]) for k in (1, 0))
    m, n = psi[0].shape
    covariance = rows / m + columns / n
    return np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])


@given(trees, seeds)
def test_the_rival_is_within_the_error_and_has_another_order(settings, seed):
    found = trajectory(**(settings | {"n_points": 25, "doubled": 0}))
    has_it = np.random.default_rng(seed).random(25) < 0.4
    has_it[:2], has_it[2:4] = True, False
    nodes = np.arange(len(found.nodes_))
    weighed = weigh(found.view, nodes, np.arange(25), has_it)
    best = choose(weighed, "auto")
    other = rival(weighed, best)
    times = [found.rooted(node=int(k)).pseudotime_ for k in nodes]
    graph = nx.Graph()
    graph.add_weighted_edges_from(zip(*found.edges_.T.tolist(), found.lengths_, strict=True))
    possible = []
    for k in nodes:
        error = 1.96 * slow_error(times[best], times[k], has_it)
        difference = weighed.score[k] - weighed.score[best]
        if abs(difference + error) < 1e-9 or abs(difference - error) < 1e-9:
            return  # rounding decides
        if k == best or not weighed.occurs[k] or difference < -error:
            continue
        between = nx.shortest_path(graph, best, k, weight="weight")
        dips = min(weighed.score[between]) < weighed.score[k]
        same_order = spearmanr(times[best], times[k]).statistic >= 0.9
        if (dips or difference > error) and not same_order:
            possible.append(k)
    if other is None:
        assert not possible
    else:
        assert other in possible
        tips = [k for k in possible if weighed.is_tip[k]]
        assert weighed.score[other] == weighed.score[tips or possible].max()


def test_of_a_large_graph_the_nodes_next_to_the_label_are_compared(monkeypatch):
    path, at = line(41, 400)
    labels = np.abs(at - 8) < 2
    whole = path.rooted(labels=labels, value=True).roots_
    monkeypatch.setattr(starts, "MOST_NODES", 12)
    monkeypatch.setattr(starts, "MOST_ROWS", 30)
    assert abs(path.rooted(labels=labels, value=True).roots_[0] - whole[0]) <= 1
    assert path.rooted(labels=at < 5, value=True).roots_.tolist() == [0]


def test_a_ring_starts_where_the_label_is():
    angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    nodes = np.column_stack([np.cos(angle), np.sin(angle)])
    ring = Trajectory([[k, (k + 1) % 24] for k in range(24)], nodes, np.repeat(nodes, 4, axis=0))
    labels = np.repeat((np.arange(24) >= 5) & (np.arange(24) <= 9), 4)
    assert ring.rooted(labels=labels, value=True).roots_.tolist() == [7]


def test_the_order_of_the_rows_does_not_matter():
    path, at = line(21, 200)
    rng = np.random.default_rng(0)
    labels = rng.random(200) < np.exp(-at / 4)
    order = rng.permutation(200)
    again = Trajectory(path.edges_, path.nodes_, path.view.points[order])
    for where in ("auto", "tip", "node"):
        one = path.rooted(labels=labels, value=True, at=where)
        other = again.rooted(labels=labels[order], value=True, at=where)
        np.testing.assert_array_equal(one.roots_, other.roots_)
