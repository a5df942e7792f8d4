"""Trees of the same samples compared, against sets and loops over all matchings."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.graph import adjacency
from branchwise.trajectory import Trajectory
from branchwise.trajectory.compare import compare, outline
from branchwise.trajectory.pruning import Reduced, left, nearest_forks_joined

pytest.importorskip("pandas")


def jaccard(a, b):
    return len(a & b) / len(a | b) if a | b else 0.0


def sets_of(trajectory):
    """Branches, branches of tips, and the parts of forks, as sets of samples."""
    one = outline(trajectory)
    on = [set(np.flatnonzero(one.branch == k).tolist()) for k in range(len(one.ends))]
    G = nx.MultiGraph()
    G.add_nodes_from(range(len(one.milestones)))
    for k, (a, b) in enumerate(one.ends.tolist()):
        G.add_edge(a, b, key=k)
    tips, forks = {}, {}
    for node, name in enumerate(one.milestones):
        keys = [k for *_, k in G.edges(node, keys=True)]
        if name[0] == "T":
            tips[node] = on[keys[0]]
        if name[0] == "F":
            rest = G.copy()
            rest.remove_node(node)
            parts = []
            for component in nx.connected_components(rest):
                inside = {k for a, b, k in G.edges(keys=True) if {a, b} - {node} <= component}
                inside -= {k for a, b, k in G.edges(keys=True) if a == b == node}
                if inside & set(keys):
                    parts.append(set().union(*(on[k] for k in inside)))
            loops = [k for k in keys if (one.ends[k] == node).all()]
            if loops:
                parts.append(set().union(*(on[k] for k in loops)))
            forks[node] = parts
    return on, tips, forks


def by_hand(reference, other, choose=min):
    """Similarities of branches and milestones; of matchings of one sum, the chosen one."""
    on, tips, forks = sets_of(reference)
    on_other, tips_other, forks_other = sets_of(other)
    branches = [max(jaccard(a, b) for b in on_other) if a else np.nan for a in on]
    milestones = np.full(len(outline(reference).milestones), np.nan)
    for node, a in tips.items():
        if a:
            milestones[node] = max((jaccard(a, b) for b in tips_other.values()), default=0.0)
    for node, parts in forks.items():
        if all(parts):
            found = [worst(parts, others, choose) for others in forks_other.values()]
            milestones[node] = max(found, default=0.0)
    return branches, milestones


def worst(parts, others, choose):
    """The worst match of the matching with the largest sum, of all matchings."""
    found = [
        [jaccard(a, b) for a, b in zip(parts, chosen, strict=True)]
        for chosen in itertools.permutations(others, len(parts))
    ]
    largest = max(map(sum, found), default=0.0)
    return choose((min(m) for m in found if sum(m) > largest - 1e-12), default=0.0)


def random_graph(rng, n_nodes, points=None, n_parts=1, extra=0):
    """A tree, several, or with cycles, in three dimensions, where no edges cross."""
    parent = [(k, rng.integers(k)) for k in range(n_parts, n_nodes)]
    edges = np.vstack([np.array(parent), rng.integers(n_nodes, size=(extra, 2))]).astype(int)
    edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
    nodes = rng.normal(size=(n_nodes, 3))
    if points is None:
        edge, part = rng.integers(len(edges), size=60), rng.uniform(0.05, 0.95, size=(60, 1))
        points = (1 - part) * nodes[edges[edge, 0]] + part * nodes[edges[edge, 1]]
    return Trajectory(adjacency(edges, n_nodes), nodes, points)


@given(st.integers(0, 2**32 - 1), st.integers(4, 12), st.integers(1, 2), st.integers(0, 2))
def test_comparison_is_that_of_sets_and_all_matchings(seed, n_nodes, n_parts, extra):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(40, 3))
    one = random_graph(rng, n_nodes, points, n_parts, extra)
    # Similar graphs, so that there is something to find.
    near = one.nodes_ + 0.2 * rng.normal(size=one.nodes_.shape)
    two = Trajectory(adjacency(one.edges_, len(near)), near, points)
    for a, b in [(one, two), (two, one), (one, random_graph(rng, n_nodes, points))]:
        found = compare(a, b)
        (branches, least), (_, most) = by_hand(a, b, min), by_hand(a, b, max)
        np.testing.assert_allclose(found.branches, branches, atol=1e-12)
        assert np.array_equal(np.isnan(found.milestones), np.isnan(least))
        known = ~np.isnan(least)
        assert (found.milestones >= least - 1e-12)[known].all()
        assert (found.milestones <= most + 1e-12)[known].all()


@given(st.integers(0, 2**32 - 1), st.integers(3, 15), st.integers(0, 2))
def test_a_graph_is_found_again_on_itself_whatever_its_nodes_are_called(seed, n_nodes, extra):
    rng = np.random.default_rng(seed)
    one = random_graph(rng, n_nodes, extra=extra)
    number = rng.permutation(n_nodes)
    renamed = adjacency(number[one.edges_], n_nodes)
    two = Trajectory(renamed, one.nodes_[np.argsort(number)], one.view.points)
    two = two.rooted(node=number[one.roots_])
    found, here = compare(one, two), outline(one)
    has_samples = np.bincount(here.branch, minlength=len(here.ends)) > 0
    assert (found.branches[has_samples] == 1).all()
    assert np.isnan(found.branches[~has_samples]).all()
    assert (found.milestones[~np.isnan(found.milestones)] == 1).all()
    assert np.array_equal(found.match[here.branch], outline(two).branch)


# A comb: a path along x with teeth of length 3 at x = 4, 6 and 12, with a sample every ½.
TEETH = (4.0, 6.0, 12.0)
PATH = [(x, 0.0) for x in np.arange(0.25, 16, 0.5)]
COMB = np.array([*PATH, *((x, y) for x in TEETH for y in np.arange(0.25, 3, 0.5))])


def comb(teeth):
    ends = [(0.0, 0.0), *((x, 0.0) for x in teeth), (16.0, 0.0), *((x, 3.0) for x in teeth)]
    n = len(teeth)
    edges = [(k, k + 1) for k in range(n + 1)] + [(k + 1, n + 2 + k) for k in range(n)]
    return Trajectory(edges, np.array(ends), COMB)


def similarity_at(found, trajectory, where):
    """Of the milestone at a place."""
    nodes = trajectory.nodes_[trajectory.view.branches.found.milestones]
    return found.milestones[np.argmin(np.linalg.norm(nodes - where, axis=1))]


def test_a_tooth_that_is_gone_takes_its_fork_along_and_leaves_the_others():
    whole, without = comb(TEETH), comb(TEETH[:2])
    found = compare(whole, without)
    assert similarity_at(found, whole, (12, 3)) < 0.5
    assert similarity_at(found, whole, (12, 0)) < 0.5
    for place in [(4, 0), (6, 0), (4, 3), (6, 3), (0, 0)]:
        assert similarity_at(found, whole, place) == 1.0
    # Of the 26 samples on the last branch now, 8 are on the last one of the whole.
    assert similarity_at(compare(without, whole), without, (16, 0)) == pytest.approx(8 / 26)


def test_of_two_forks_made_one_the_branch_between_them_is_not_found_again():
    whole = comb(TEETH)
    graph = nearest_forks_joined(Reduced(*whole.view.base[:2], np.arange(len(whole.nodes_))))
    joined = Trajectory.from_view(left(whole.view, graph))
    found = compare(whole, joined)
    lost = np.flatnonzero(found.branches < 0.5)
    assert sorted(whole.nodes_[whole.view.branches.found.ends[lost], 0].tolist()) == [[4.0, 6.0]]
    assert similarity_at(found, whole, (12, 0)) == 1.0
    np.testing.assert_allclose(found.milestones, by_hand(whole, joined)[1], atol=1e-12)
    # Seen from the fork of four, a part is missing wherever one looks.
    back = compare(joined, whole)
    assert np.sum(back.milestones == 0) == 1


def test_roots_elsewhere_and_empty_branches_have_no_similarity():
    rooted = comb(TEETH).rooted(sample=3)
    found = compare(rooted, rooted)
    is_root = [name.startswith("R") for name in outline(rooted).milestones]
    assert np.isnan(found.milestones).tolist() == is_root
    nodes = np.array([[0.0, 0.0], [4.0, 0.0], [8.0, 0.0], [4.0, 9.0]])
    bare = Trajectory([[0, 1], [1, 2], [1, 3]], nodes, nodes[[0, 2]])
    found = compare(bare, bare)
    # The twig without samples, its tip and its fork.
    assert np.isnan(found.branches).sum() == 1
    assert np.isnan(found.milestones).sum() == 2
