"""Fewer branches: what is cut off and joined, and what stays."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise import DDRTree
from branchwise.trajectory import Trajectory

from .drawn import drawn, slow_times, trajectory
from .test_branches import by_hand
from .test_core import forests, graphs, in_general_position, trees
from .test_roots import some_roots

seeds = st.integers(0, 2**32 - 1)
least = st.sampled_from([0.3, 0.8, 1.5])
FORK = [[0, 1], [1, 2], [1, 3]]
NODES = np.array([[0.0, 0.0], [5.0, 0.0], [9.0, 0.0], [5.0, 0.5]])


def lengths_between_forks(found):
    """Of the branches that lead from one fork to another."""
    table = found.branch_table_
    is_inner = table["start"].str.startswith("F") & table["end"].str.startswith("F")
    return table["length"][is_inner & (table["start"] != table["end"])]


@given(in_general_position, least)
def test_twigs_go_as_if_cut_by_hand(settings, min_length):
    """A star of paths has no two forks to join."""
    n_nodes = settings["n_nodes"] + 2
    nodes = np.random.default_rng(settings["seed"]).normal(size=(n_nodes, settings["n_dims"]))
    edges = np.array([[max(k - 3, 0), k] for k in range(1, n_nodes)])
    found = Trajectory(edges, nodes).prune(min_length=min_length)
    lengths = np.linalg.norm(nodes[edges[:, 1]] - nodes[edges[:, 0]], axis=1)
    _, _, sizes, owner = by_hand(edges, lengths, n_nodes, [])
    n_cut = sum(size < min_length for size in sizes)
    kept = edges[(owner < 0) | (owner >= n_cut)]
    left = np.unique(kept)
    np.testing.assert_array_equal(found.nodes_, nodes[left])
    np.testing.assert_array_equal(left[found.edges_], kept)
    assert (found.milestones_["kind"] == "tip").sum() == min(n_nodes - 1, 3) - n_cut


@given(graphs, least)
def test_nothing_short_is_left_and_pruning_again_does_nothing(settings, min_length):
    found = trajectory(**settings).prune(min_length=min_length)
    np.testing.assert_allclose(found.pseudotime_, slow_times(found), atol=1e-12)
    assert (lengths_between_forks(found) >= min_length).all()
    table, milestones = found.branch_table_, found.milestones_
    for _, branch in table.iterrows():
        kinds = sorted(milestones.loc[[branch["start"], branch["end"]], "kind"])
        assert kinds != ["fork", "tip"] or branch["length"] >= min_length
    again = found.prune(min_length=min_length)
    assert again.samples_.equals(found.samples_)
    np.testing.assert_array_equal(again.nodes_, found.nodes_)


@given(graphs)
def test_a_least_length_of_zero_does_nothing(settings):
    found = trajectory(**settings)
    for same in (found.prune(0), found.prune(min_samples=0), found.prune(tips=[])):
        assert same.samples_.equals(found.samples_)


@given(graphs, seeds)
def test_parts_and_roots_stay(settings, seed):
    found = trajectory(**settings)
    rooted = found.rooted(**some_roots(found, seed))
    pruned = rooted.prune(min_length=np.inf)
    np.testing.assert_allclose(pruned.pseudotime_, slow_times(pruned), atol=1e-12)
    n_parts = nx.number_connected_components(nx.Graph(found.edges_.tolist()))
    assert nx.number_connected_components(nx.Graph(pruned.edges_.tolist())) == n_parts
    for node in rooted.view.chosen_roots:
        is_tip = np.sum(rooted.edges_ == node) == 1
        where = pruned.nodes_[pruned.view.chosen_roots]
        assert not is_tip or (where == rooted.nodes_[node]).all(axis=1).any()


@given(forests)
def test_what_stays_keeps_its_name(settings):
    """Without joining forks: what is cut is shorter than any way between two forks."""
    found = trajectory(**settings)
    between = lengths_between_forks(found).min() if len(lengths_between_forks(found)) else np.inf
    pruned = found.prune(min_length=between)
    old, new = found.milestones_, pruned.milestones_
    names = [name for name in new.index if name[0] != "R"]
    assert len(names) <= len(old)
    for name in names:
        np.testing.assert_array_equal(
            found.nodes_[old.loc[name, "node"]], pruned.nodes_[new.loc[name, "node"]]
        )


def test_forks_of_a_ring_keep_their_names():
    """A fork of two rings with a twig is one without the twig, too."""
    nodes = np.array([[0.0, 0], [4, 0], [2, 2], [2, -2], [-0.1, 0], [4.2, 0.0], [2, 5]])
    edges = [[0, 1], [0, 2], [2, 1], [0, 3], [3, 1], [0, 4], [1, 5], [2, 6]]
    found = Trajectory(edges, nodes)
    pruned = found.prune(min_length=1.0)
    for name in ("F1", "F2", "F3", "T1"):
        np.testing.assert_array_equal(
            found.nodes_[found.milestones_.loc[name, "node"]],
            pruned.nodes_[pruned.milestones_.loc[name, "node"]],
        )


@given(graphs, st.integers(1, 6))
def test_every_twig_has_samples_enough(settings, min_samples):
    found = trajectory(**settings).prune(min_samples=min_samples)
    table, milestones = found.branch_table_, found.milestones_
    for _, branch in table.iterrows():
        kinds = sorted(milestones.loc[[branch["start"], branch["end"]], "kind"])
        assert kinds != ["fork", "tip"] or branch["n_samples"] >= min_samples
    assert found.prune(min_samples=min_samples).samples_.equals(found.samples_)


@given(trees)
def test_every_tip_but_two_can_be_cut_off(settings):
    found = trajectory(**settings)
    tips = found.milestones_.index[found.milestones_["kind"] == "tip"]
    for tip in tips if len(tips) > 2 else ():
        pruned = found.prune(tips=tip)
        assert (pruned.milestones_["kind"] == "tip").sum() == len(tips) - 1
        gone = found.nodes_[found.milestones_.loc[tip, "node"]]
        assert not (pruned.nodes_ == gone).all(axis=1).any() or settings["doubled"]
    if len(tips) > 2:
        assert len(found.prune(tips=tips[2:]).branch_table_) == 1
    if len(tips):
        with pytest.raises(ValueError, match=r"cannot all be cut off.*a path must stay; leave out"):
            found.prune(tips=tips)


def test_a_root_that_was_asked_for_cannot_be_cut_off():
    found = Trajectory(FORK, NODES).rooted(node="T3")
    with pytest.raises(ValueError, match="tips='T3' is the root; choose another with rooted first"):
        found.prune(tips="T3")


@pytest.mark.parametrize("root", [{"node": "T3"}, {"node": 3}, {"sample": 3}])
def test_a_short_twig_with_the_root_at_its_tip_stays(root):
    found = Trajectory(FORK, NODES).rooted(**root)
    for pruned in (found.prune(min_length=1.0), found.prune(min_samples=3), found.merge(1)):
        np.testing.assert_array_equal(pruned.nodes_[pruned.roots_], NODES[[3]])
        assert pruned.milestones_.query("is_root")["kind"].tolist() == ["tip"]


def test_a_root_on_a_twig_of_twigs_moves_to_where_they_branched_off():
    """The root is a fork, and everything around it is cut, the first edge at it first."""
    nodes = np.array([[3.0, 0.5], [3.1, 0.7], [2.9, 0.8], [0, 0], [3, 0], [6, 0]])
    found = Trajectory([[0, 1], [0, 2], [0, 4], [3, 4], [4, 5]], nodes).rooted(node=0)
    pruned = found.prune(min_length=2.0)
    np.testing.assert_array_equal(pruned.nodes_[pruned.roots_], nodes[[4]])


def test_samples_of_a_cut_twig_move_to_the_nearest_place():
    pruned = Trajectory(FORK, NODES).prune(min_length=1.0)
    np.testing.assert_array_equal(pruned.distance_, [0, 0, 0, 0.5])
    np.testing.assert_array_equal(pruned.pseudotime_, [0, 5, 9, 5])


def test_the_middle_of_a_way_between_forks():
    """Forks joined in the middle of the way along the nodes between them."""
    nodes = np.array([[0.0, 9], [0, -9], [0, 0], [1, 1], [2, 0], [3, 1], [4, 0], [4, 9], [4, -9]])
    edges = np.array([[0, 2], [1, 2], [3, 2], [3, 4], [5, 4], [5, 6], [6, 7], [6, 8]])
    for turned in (edges, edges[:, ::-1], edges[::-1]):
        joined = Trajectory(turned, nodes).prune(min_length=6.0)
        assert len(joined.branch_table_) == 4
        fork = joined.milestones_.loc["F1", "node"]
        np.testing.assert_allclose(joined.nodes_[fork], [2, 0], atol=1e-12)


def test_without_arguments_the_noise_is_the_measure():
    edges, nodes, points = drawn(5, n_nodes=30, n_points=200, noise=0.6)
    found = Trajectory(edges, nodes, points)
    assert found.prune().samples_.equals(found.prune(min_length=2 * found.noise_).samples_)
    assert len(found.prune().branch_table_) < len(found.branch_table_)


def test_samples_on_the_graph_tell_no_noise():
    with pytest.warns(UserWarning, match=r"prune\(\) removes nothing: noise_ is 0.*; pass min_len"):
        same = Trajectory(FORK, NODES).prune()
    assert len(same.branch_table_) == 3
    assert len(Trajectory([[0, 1]], NODES[:2]).prune().branch_table_) == 1


def merged_or_message(found, n_branches):
    try:
        return found.merge(n_branches)
    except ValueError as error:
        return str(error)


@given(graphs, st.booleans())
def test_merging_reaches_any_number_or_says_so(settings, with_root):
    found = trajectory(**settings)
    found = found.rooted(**some_roots(found, settings["seed"])) if with_root else found
    for n_branches in range(1, len(found.branch_table_) + 1):
        merged = merged_or_message(found, n_branches)
        if isinstance(merged, str):
            assert "cannot be reached by cutting off twigs and joining forks; choose" in merged
            is_tree = settings["extra"] == settings["n_cut"] == 0
            assert not is_tree or with_root or n_branches == 2
        else:
            assert len(merged.branch_table_) == n_branches
            np.testing.assert_allclose(merged.pseudotime_, slow_times(merged), atol=1e-12)


def test_two_branches_are_no_tree():
    with pytest.raises(ValueError, match=r"n_branches=2 cannot be reached .* choose 1 or 3"):
        Trajectory(FORK, NODES).merge(2)


def test_a_root_between_forks_makes_a_number_unreachable():
    """Joining the forks takes both halves of the way between them."""
    nodes = np.array([[0.0, 0], [2, 0], [-3, 3], [-3, -3], [5, 3], [5, -3]])
    points = np.vstack([nodes, [[1.0, 0.0]]])
    found = Trajectory([[0, 1], [0, 2], [0, 3], [1, 4], [1, 5]], nodes, points).rooted(sample=6)
    assert len(found.branch_table_) == 6
    with pytest.raises(ValueError, match=r"n_branches=5 cannot be reached .* choose 4 or 6\."):
        found.merge(5)


def test_a_forest_has_a_branch_for_each_tree():
    nodes = np.arange(12.0).reshape(6, 2)
    paths = Trajectory([[0, 1], [2, 3], [4, 5]], nodes)
    with pytest.raises(ValueError, match=r"n_branches=1 cannot be reached .* choose 3\."):
        paths.merge(1)


@pytest.mark.parametrize("n_branches", [0, -1, 1.0, 2.5, np.nan, True, "one", None])
def test_the_number_of_branches_is_a_positive_integer(n_branches):
    with pytest.raises(ValueError, match=r"n_branches=.* must be a positive integer; pass 1"):
        Trajectory(FORK, NODES).merge(n_branches)


def test_branches_cannot_be_added():
    with pytest.raises(ValueError, match="n_branches=4 must be at most 3, the number of branches"):
        Trajectory(FORK, NODES).merge(4)
    assert len(Trajectory(FORK, NODES).merge(np.int64(3)).branch_table_) == 3


@pytest.mark.parametrize("name", ["min_length", "min_samples"])
@pytest.mark.parametrize("value", [np.nan, -1, "long", True, [1]])
def test_least_sizes_are_numbers_from_zero_on(name, value):
    with pytest.raises(ValueError, match=f"{name}=.* must be a number of at least 0; 0 removes"):
        Trajectory(FORK, NODES).prune(**{name: value})


@pytest.mark.parametrize("tips", ["T9", "F1", 3, ["T1", None], [["T1"]]])
def test_tips_are_names_of_tips(tips):
    with pytest.raises(ValueError, match=r"tips=.* is not a tip; tips are T1, T2, T3\."):
        Trajectory(FORK, NODES).prune(tips=tips)


def test_contracting_one_of_two_ways_between_forks():
    """The other, direct way has no length then, and goes."""
    nodes = np.array([[0.5, 0], [0.0, 0], [1, 0], [-5, 0], [6, 0]])
    found = Trajectory([[0, 1], [0, 2], [1, 2], [1, 3], [2, 4]], nodes)
    pruned = found.prune(min_length=1.5)
    assert pruned.branch_table_.index.tolist() == ["T1-T2"]
    assert (pruned.lengths_ > 0).all()


def test_a_twig_that_joining_made_too_short_goes_as_well():
    nodes = np.array([[0.0, 0], [1, 0], [1, 0.9], [-5, 3], [6, 3], [6, -3]])
    found = Trajectory([[0, 1], [0, 2], [0, 3], [1, 4], [1, 5]], nodes)
    assert np.hypot(1, 0.9) > 1.2 > np.hypot(0.5, 0.9)
    assert len(found.prune(min_length=1.2).branch_table_) == 3


def test_equal_samples_have_one_branch_without_length():
    model = DDRTree(2, random_state=0).fit(np.ones((30, 3)))
    found = Trajectory.from_estimator(model).prune()
    assert found.branch_table_["length"].tolist() == [0.0]
    assert not found.pseudotime_scaled_.any()
