import numpy as np
import pytest

from branchwise.graph import adjacency, count_branches


@pytest.mark.parametrize(
    ("edges", "n_nodes", "expected"),
    [
        ([], 1, (0, 0, 0)),
        ([(0, 1)], 2, (2, 0, 1)),
        ([(0, 1), (1, 2), (2, 3)], 4, (2, 0, 1)),
        ([(0, 1), (0, 2), (0, 3)], 4, (3, 1, 3)),
        ([(0, 1), (0, 2), (0, 3), (3, 4), (4, 5), (4, 6)], 7, (4, 2, 5)),
    ],
)
def test_tips_forks_and_branches(edges, n_nodes, expected):
    tree = adjacency(np.array(edges, dtype=int).reshape(-1, 2), n_nodes)
    assert tuple(count_branches(tree)) == expected
