import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from branchwise.graph import adjacency
from branchwise.trajectory import Trajectory


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
