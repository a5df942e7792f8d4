"""Branches lead away from the root; twigs cut off one after another, against doing it by hand."""

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from branchwise.graph import adjacency
from branchwise.trajectory import Trajectory
from branchwise.trajectory.branches import rank_twigs


def by_hand(edges, weights, n_nodes, keep):
    """Recompute every twig from scratch before every cut."""
    G = nx.MultiGraph()
    G.add_nodes_from(range(n_nodes))
    for e, (a, b) in enumerate(edges):
        G.add_edge(int(a), int(b), key=e)
    tips, forks, sizes, owner = [], [], [], np.full(len(edges), -1)
    while True:
        twigs = []
        for tip in [n for n in G if G.degree(n) == 1 and n not in keep]:
            node, path = tip, []
            while True:
                _, after, edge = next(x for x in G.edges(node, keys=True) if x[2] not in path)
                path.append(edge)
                node = after
                if G.degree(node) != 2:
                    break
            if G.degree(node) > 2:
                twigs.append((sum(weights[path]), -tip, node, path))
        if not twigs:
            return tips, forks, sizes, owner
        size, negative, node, path = min(twigs)
        owner[path] = len(tips)
        tips.append(-negative), forks.append(node), sizes.append(size)
        for e in path:
            G.remove_edge(*map(int, edges[e]), key=e)


@given(st.integers(0, 2**32 - 1), st.integers(1, 25), st.integers(0, 3), st.booleans())
def test_the_lightest_twig_goes_first(seed, n_nodes, extra, with_ties):
    rng = np.random.default_rng(seed)
    parent = np.array([rng.integers(k) for k in range(1, n_nodes)], dtype=int)
    edges = np.column_stack([np.arange(1, n_nodes), parent])
    edges = np.vstack([edges, rng.integers(n_nodes, size=(extra, 2))]).astype(int)
    # Small integers, whose sums are exact in any order.
    weights = rng.integers(0, 4 if with_ties else 10**6, size=len(edges)).astype(float)
    keep = list(rng.choice(n_nodes, size=min(n_nodes, rng.integers(3)), replace=False))
    twigs = rank_twigs(edges, weights, n_nodes, keep)
    tips, forks, sizes, owner = by_hand(edges, weights, n_nodes, keep)
    assert twigs.tips.tolist() == tips
    assert twigs.forks.tolist() == forks
    assert twigs.sizes.tolist() == sizes
    assert twigs.owner.tolist() == owner.tolist()


@given(st.integers(0, 2**32 - 1), st.integers(2, 40))
def test_the_ends_of_a_longest_path_are_left(seed, n_nodes):
    rng = np.random.default_rng(seed)
    parent = np.array([rng.integers(k) for k in range(1, n_nodes)], dtype=int)
    edges = np.column_stack([np.arange(1, n_nodes), parent])
    weights = rng.uniform(size=len(edges))
    twigs = rank_twigs(edges, weights, n_nodes)
    G = nx.Graph()
    G.add_weighted_edges_from((int(a), int(b), w) for (a, b), w in zip(edges, weights, strict=True))
    reach = dict(nx.all_pairs_dijkstra_path_length(G))
    longest = max(max(d.values()) for d in reach.values())
    assert np.isclose(weights[twigs.owner < 0].sum(), longest)
    assert (np.diff(twigs.sizes) >= 0).all()


@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_branches_without_length_lead_away_from_the_root(seed, n_nodes):
    rng = np.random.default_rng(seed)
    edges = np.array([(rng.integers(k), k) for k in range(1, n_nodes)])
    places = rng.normal(size=(n_nodes, 2))[rng.integers(n_nodes // 2 + 1, size=n_nodes)]
    root = int(rng.integers(n_nodes))
    tree = Trajectory(adjacency(edges, n_nodes), places).rooted(node=root)
    table = tree.branch_table_
    ends = dict(zip(table.index, table.end, strict=True))
    # Every branch begins at the root or where its parent ends, and no two end at one place.
    for start, parent in zip(table.start, table.parent, strict=True):
        assert (ends[parent] == start) if parent else tree.milestones_.is_root[start]
    assert table.end.is_unique
    assert not tree.milestones_.is_root[table.end].any()
