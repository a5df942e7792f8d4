"""Topologies: named, random and given ones are trees, and what is not one is refused."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.datasets import TOPOLOGIES, random_tree_topology
from branchwise.datasets.topologies import check_topology


def degrees_of(edges):
    return np.bincount(np.asarray(edges).ravel())


@pytest.mark.parametrize(
    ("name", "forks", "tips"),
    [
        ("linear", 0, 2),
        ("bifurcation", 1, 3),
        ("trifurcation", 1, 4),
        ("binary", 3, 5),
        ("caterpillar", 5, 7),
        ("complex", 5, 8),
    ],
)
def test_named_topologies_have_their_forks_and_tips(name, forks, tips):
    degree = degrees_of(TOPOLOGIES[name])
    assert nx.is_tree(nx.Graph(TOPOLOGIES[name]))
    assert (degree > 2).sum() == forks
    assert (degree == 1).sum() == tips
    assert degree[0] == 1


def test_every_named_topology_is_tested():
    marks = test_named_topologies_have_their_forks_and_tips.pytestmark
    assert {case[0] for case in marks[0].args[1]} == set(TOPOLOGIES)


@given(st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_random_topologies_are_trees_with_as_many_tips_as_asked(n_tips, seed):
    edges = random_tree_topology(n_tips, seed)
    degree = degrees_of(edges)
    assert nx.is_tree(nx.Graph(edges.tolist()))
    assert (degree == 1).sum() == n_tips + 1
    assert degree[0] == 1
    assert not (degree == 2).any()
    np.testing.assert_array_equal(edges, random_tree_topology(n_tips, seed))
    directed = nx.DiGraph(edges.tolist())
    assert nx.is_arborescence(directed)
    assert next(iter(nx.topological_sort(directed))) == 0


def test_random_topologies_differ_and_reach_multifurcations():
    drawn = [random_tree_topology(6, seed) for seed in range(50)]
    assert len({edges.tobytes() for edges in drawn}) > 25
    assert max(degrees_of(edges).max() for edges in drawn) > 3


@given(st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_edges_in_any_order_and_direction_give_the_same_rooted_tree(n_tips, seed):
    rng = np.random.default_rng(seed)
    edges = random_tree_topology(n_tips, rng)
    shuffled = edges[rng.permutation(len(edges))]
    order = rng.permutation(len(edges))
    flip = rng.uniform(size=len(edges)) < 0.5
    turned = np.where(flip[:, None], shuffled[:, ::-1], shuffled)
    tree = check_topology(turned.tolist())
    np.testing.assert_array_equal(tree.edges, shuffled)
    assert tree.root == 0
    parents = np.full(tree.n_nodes, -1)
    parents[edges[order, 1]] = edges[order, 0]
    by_parents = check_topology(parents.tolist())
    assert by_parents.root == 0
    assert set(map(tuple, by_parents.edges)) == set(map(tuple, edges))
    # Outwards: every edge begins at the root or where an earlier one ends.
    reached = {0}
    for start, end in tree.edges[tree.outwards]:
        assert start in reached
        reached.add(end)


def test_the_root_of_a_list_of_parents_is_where_it_says():
    tree = check_topology([1, 2, -1, 2])
    assert tree.root == 2
    assert tree.edges.tolist() == [[1, 0], [2, 1], [2, 3]]


@pytest.mark.parametrize(
    ("topology", "message"),
    [
        ("star", "topology='star' must be one of 'linear', .*'complex', a list of edges"),
        ([(0, 1), (1, 2), (2, 0)], "3 edges and 3 nodes, but a tree has one edge fewer"),
        ([(0, 1), (0, 1), (2, 3)], "node 2 cannot be reached from the root 0"),
        ([(0, 1), (1, 10**12)], "2 edges and 1000000000001 nodes"),
        ([(0, 1), (2, 2)], "node 2 cannot be reached"),
        ([(0, -1)], "smallest entry -1, but edges must be pairs"),
        ([(0, 1, 2)], r"shape \(1, 3\)"),
        ([(0, 1), (1,)], "must be the name of a tree, a list of edges"),
        ([], "with at least one edge"),
        (None, "topology=None must be the name of a tree"),
        ([(0.5, 1.0)], "pairs of nodes"),
        ([-1, -1], "hold −1 once"),
        ([0, 1], "hold −1 once"),
        ([-1], "hold −1 once"),
        ([-1, 5], "nodes from 0 to 1"),
        ([-1, 2, 1], "cannot be reached from the root 0"),
    ],
)
def test_what_is_not_a_tree_is_refused(topology, message):
    with pytest.raises(ValueError, match=message):
        check_topology(topology)


@pytest.mark.parametrize("n_tips", [0, -1, 1.5, True])
def test_a_random_topology_needs_a_tip(n_tips):
    with pytest.raises(ValueError, match=r"n_tips=.* must be a positive integer"):
        random_tree_topology(n_tips)
