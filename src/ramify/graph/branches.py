"""Shape of a tree: its tips, forks and branches."""

from typing import NamedTuple

import numpy as np

from .._typing import Sparse


class BranchCount(NamedTuple):
    """Nodes with one edge, nodes with three or more, and the paths between these."""

    tips: int
    forks: int
    branches: int


def count_branches(tree: Sparse) -> BranchCount:
    """Count the tips, forks and branches of a tree given by its adjacency matrix.

    A branch is a path whose ends are tips or forks and whose inner nodes are neither.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.graph import adjacency, count_branches
    >>> star = adjacency(np.array([[0, 1], [0, 2], [0, 3], [3, 4]]), 5)
    >>> count_branches(star)
    BranchCount(tips=3, forks=1, branches=3)
    """
    degree = np.diff(tree.tocsr().indptr)
    tips, forks = int((degree == 1).sum()), int((degree > 2).sum())
    return BranchCount(tips, forks, max(tips + forks - 1, 0))
