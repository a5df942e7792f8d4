"""Which branches, forks and tips of one graph are found again on another of the same samples."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components
from threadpoolctl import threadpool_limits

from .._memory import check_memory
from .._typing import Bools, Floats, Ints
from ..graph import adjacency
from .core import Trajectory

# Parts of forks that are compared with all parts of the other at a time.
BLOCK = 256


class Outline(NamedTuple):
    """What is compared of a trajectory: its graph of milestones, and the samples' branches."""

    branch: Ints  # (n_samples,)
    ends: Ints  # (n_branches, 2): milestones
    milestones: list[str]  # names; the first letter tells tips, forks and other roots


class Comparison(NamedTuple):
    """How well each branch and milestone of one trajectory is found again on another."""

    branches: Floats  # (n_branches,): similarity of the best match; NaN without samples
    match: Ints  # (n_branches,): the branch of the other that matches best; −1 for none
    milestones: Floats  # (n_milestones,): NaN for roots elsewhere, and where samples are missing


class Parts(NamedTuple):
    """The parts that the graph falls into when a fork is taken out, for all forks."""

    branches: Bools  # (n_parts, n_branches)
    fork: Ints  # (n_parts,): the milestone, ascending


def outline(trajectory: Trajectory) -> Outline:
    """The outline of a Trajectory.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory import Trajectory
    >>> from branchwise.trajectory.compare import outline
    >>> path = Trajectory([[0, 1], [1, 2]], np.array([[0.0], [1.0], [3.0]]))
    >>> outline(path)
    Outline(branch=array([0, 0, 0]), ends=array([[0, 1]]), milestones=['T1', 'T2'])
    """
    found = trajectory.view.branches
    return Outline(found.placed.edge, found.placed.edges, found.milestones)


def compare(reference: Trajectory, other: Trajectory) -> Comparison:
    """Look for each branch, fork and tip of a trajectory on another one of the same samples.

    Names and positions do not matter, only how the samples are divided. With the Jaccard
    similarity J(A, B) = |A ∩ B| / |A ∪ B| of two sets of samples,

    - a branch b is as similar as the most similar branch of the other: max over b' of J(b, b');
    - a tip is as similar as the most similar branch of the other that ends in a tip is to its own;
    - a fork divides the samples of its tree into the parts A₁, …, A_k that hang off it. They are
      matched with different parts of a fork of the other such that the sum of their similarities
      is the largest. Two forks are as similar as the worst match, 0 if the other has
      fewer parts, and a fork is as similar as the most similar fork of the other.

    On a graph with cycles, branches of a fork that meet again are one part of it.

    Parameters
    ----------
    reference, other : Trajectory
        Row i is the same sample for both.

    Returns
    -------
    comparison : Comparison
        Similarities from 0 to 1, in the order of ``branch_table_`` and of the milestones of
        `outline`. A branch without samples, and a fork with a part without samples, cannot be
        looked for: NaN.

    Notes
    -----
    Of the branches only pairs that share samples are visited. All pairs of parts of forks are, by
    products of matrices, some forks at a time: with B branches each, time grows as B³ and memory
    as B².

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory import Trajectory
    >>> from branchwise.trajectory.compare import compare
    >>> nodes = np.array([[0.0, 0.0], [5.0, 0.0], [9.0, 0.0], [5.0, 2.0]])
    >>> samples = np.array([[1.0, 0], [2.0, 0], [7.0, 0], [8.0, 0], [5.0, 1.5], [5.0, 2.0]])
    >>> fork = Trajectory([[0, 1], [1, 2], [1, 3]], nodes, samples)
    >>> compare(fork, fork).milestones, compare(fork, fork.prune(min_length=3.0)).branches.round(2)
    (array([1., 1., 1., 1.]), array([0.33, 0.33, 0.33]))
    """
    return compare_outlines(outline(reference), outline(other))


def compare_outlines(one: Outline, other: Outline) -> Comparison:
    """As `compare`, of outlines."""
    n_one, n_other = len(one.ends), len(other.ends)
    size_one = np.bincount(one.branch, minlength=n_one)
    size_other = np.bincount(other.branch, minlength=n_other)
    pairs, shared = np.unique(one.branch * n_other + other.branch, return_counts=True)
    i, j = np.divmod(pairs, n_other)
    similarity = shared / (size_one[i] + size_other[j] - shared)

    def best(allowed: Bools) -> Floats:
        result = np.where(size_one > 0, 0.0, np.nan)
        np.maximum.at(result, i[allowed], similarity[allowed])
        return result

    match = np.full(n_one, -1, dtype=np.intp)
    order = np.lexsort((-j, similarity))  # of equals, the first branch
    match[i[order]] = j[order]
    milestones = np.full(len(one.milestones), np.nan)
    of_tips = best(_ends_in_tip(other)[j])
    for milestone, name in enumerate(one.milestones):
        if name.startswith("T"):
            milestones[milestone] = of_tips[(one.ends == milestone).any(axis=1)][0]
    parts, candidates = parts_at_forks(one), parts_at_forks(other)
    members = candidates.branches.T.astype(float)
    size, candidate_size = parts.branches @ size_one, size_other @ members
    contingency = sparse.csr_array((shared, (i, j)), shape=(n_one, n_other))
    forks = np.unique(parts.fork)
    with threadpool_limits(limits=1):
        for some in np.array_split(forks, len(size) // BLOCK + 1):
            here = np.isin(parts.fork, some)
            common = (parts.branches[here].astype(float) @ contingency) @ members
            total = size[here][:, np.newaxis] + candidate_size - common
            similarity_of_parts = common / np.maximum(total, 1)
            for fork in some:
                its = parts.fork[here] == fork
                if size[here][its].min() > 0:
                    found = most_similar_fork(similarity_of_parts[its], candidates.fork)
                    milestones[fork] = found
    return Comparison(best(np.ones(len(i), dtype=bool)), match, milestones)


def most_similar_fork(similarity: Floats, fork: Ints) -> float:
    """The similarity of a fork with k parts to the most similar of other forks.

    Parameters
    ----------
    similarity : array of shape (k, n_parts)
        Of its parts to all parts of all others.
    fork : array of shape (n_parts,)
        The fork that each of those belongs to, ascending.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.compare import most_similar_fork
    >>> most_similar_fork(np.array([[0.9, 0.0, 0.7, 0.1], [0.8, 0.1, 0.2, 0.6]]),
    ...                   np.array([0, 0, 1, 1]))
    0.6
    """
    best = 0.0
    _, first = np.unique(fork, return_index=True)
    if not len(first):
        return best
    # No matching has a worst match better than the worst of the best matches.
    bound = np.maximum.reduceat(similarity, first, axis=1).min(axis=0)
    last = np.append(first[1:], len(fork))
    for k in np.argsort(-bound, kind="stable"):
        if bound[k] <= best:
            break
        matrix = similarity[:, first[k] : last[k]]
        row, column = linear_sum_assignment(matrix, maximize=True)
        if len(row) == len(matrix):
            best = max(best, float(matrix[row, column].min()))
    return best


def parts_at_forks(one: Outline) -> Parts:
    """What hangs off each fork.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.compare import Outline, parts_at_forks
    >>> ends = np.array([[0, 3], [1, 3], [3, 4], [4, 2], [4, 5]])
    >>> tree = Outline(np.zeros(1, dtype=int), ends, ["T1", "T2", "T3", "F1", "F2", "T4"])
    >>> parts_at_forks(tree).branches.astype(int)
    array([[1, 0, 0, 0, 0],
           [0, 1, 0, 0, 0],
           [0, 0, 1, 1, 1],
           [1, 1, 1, 0, 0],
           [0, 0, 0, 1, 0],
           [0, 0, 0, 0, 1]])
    """
    n_branches, n_milestones = len(one.ends), len(one.milestones)
    forks = [k for k, name in enumerate(one.milestones) if name.startswith("F")]
    check_memory(
        # Truth values of parts and branches, and the same as numbers in a product.
        2.0 * n_branches * 9 * n_branches,
        f"Comparing the forks of a graph of {n_branches:,} branches",
        "prune the trajectory first",
    )
    rows, owner = [np.zeros((0, n_branches), dtype=bool)], [np.zeros(0, dtype=np.intp)]
    for fork in forks:
        at_fork = one.ends == fork
        touches = at_fork.any(axis=1)
        rest = adjacency(one.ends[~touches], n_milestones)
        component = connected_components(rest, directed=False)[1]
        label = component[np.where(at_fork[:, 0], one.ends[:, 1], one.ends[:, 0])]
        labels = np.unique(label[touches])
        rows.append(label == labels[:, np.newaxis])
        owner.append(np.full(len(labels), fork))
    return Parts(np.vstack(rows), np.concatenate(owner))


def _ends_in_tip(one: Outline) -> Bools:
    is_tip = np.array([name.startswith("T") for name in one.milestones])
    return is_tip[one.ends[:, 0]] | is_tip[one.ends[:, 1]]
