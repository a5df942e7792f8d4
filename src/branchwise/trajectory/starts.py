"""Where time starts, told by a label: tips and inner nodes, weighed by what they put first."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from .._messages import is_for_command_line, listed, setting
from .._typing import Bools, Floats, Ints
from ..graph.placement import distances_from, on_segments, to_points
from .view import View

# The first samples are this part of them, and at least so many, but never more than every fifth.
FIRST, LEAST_FIRST, MOST_FIRST = 0.05, 10, 0.2

# A tip is taken if so much of its first samples has the label, and if it puts the label first at
# least so well, as a part of what the best place does.
ENOUGH = 0.5

# Two places are close if their scores differ by less than so many standard errors, and count as
# one if the rank correlation of their times is at least this.
ERRORS, SAME_ORDER = 1.96, 0.9

# At most so many nodes, and of the samples with the label and of the others so many, are compared.
MOST_NODES, MOST_ROWS = 200, 5000
# A place that puts the label first in so many more of the pairs is better, not close.
CLOSE = 0.05


class Weighed(NamedTuple):
    """Nodes of one connected part, and how well time from each of them puts a label first."""

    nodes: Ints
    is_tip: Bools
    score: Floats  # part of the pairs (with the label, without it) that are in this order
    later: Floats  # (n_nodes, n_with): part of the others that are later than each with the label
    earlier: Floats  # (n_nodes, n_without): part of those with it that are earlier than each other
    order: Floats  # (n_nodes, n_rows): ranks of the times from each node
    away: Floats  # mean distance of the samples with the label
    between: Floats  # (n_nodes, n_nodes): distances between them
    first: Ints  # (n_nodes, 2): first samples, and how many of them have the label
    share: Floats  # of the label among the first samples
    occurs: Bools  # whether any of the first samples has it


def starts_at_label(view: View, labels: Any, value: Any, at: str) -> list[int]:
    """The node where time starts, of each connected part in which a label occurs.

    `Trajectory.rooted` says how it is chosen. Warns if the choice is close, or if most of the first
    samples have another label.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory import Trajectory
    >>> from branchwise.trajectory.starts import starts_at_label
    >>> path = Trajectory([[0, 1], [1, 2], [2, 3], [3, 4]], np.arange(5.0)[:, np.newaxis])
    >>> starts_at_label(path.view, ["late", "late", "mid", "early", "early"], "early", "auto")
    [4]
    >>> starts_at_label(path.view, ["late", "late", "early", "late", "late"], "early", "auto")
    [2]
    """
    base = view.base
    has_it, is_known = matches(labels, value, len(base.edge))
    part_of_row = base.parts[base.edges[base.edge, 0]]
    chosen, doubts = [], []
    for part in np.unique(part_of_row[has_it]):
        rows = np.flatnonzero(is_known & (part_of_row == part))
        nodes = candidates(view, rows[has_it[rows]], at)
        if not len(nodes):  # a ring has no tips
            continue
        found = weigh(view, nodes, rows, has_it[rows])
        best = choose(found, at)
        if best is not None:
            chosen.append(int(found.nodes[best]))
            doubts.append(doubt(view, found, best, value))
    if not chosen:
        raise ValueError(nowhere_first(view, has_it, value, at))
    for message in [text for text in doubts if text][:1]:
        warnings.warn(message, stacklevel=4)  # of who calls Trajectory.rooted
    return chosen


def nowhere_first(view: View, has_it: Bools, value: Any, at: str) -> str:
    """Why there is no root at a label, where the label is instead, and what to do."""
    number = np.bincount(view.branches.placed.edge[has_it], minlength=len(view.branches.names))
    most = np.argsort(-number, kind="stable")[: np.count_nonzero(number)]
    where = listed((f"{view.branches.names[k]} ({number[k]})" for k in most), most=5)
    kind = "tip" if at == "tip" else "node"
    inner = f"pass {setting('at', 'auto')} to look at inner nodes too, or "
    return (
        f"No {kind} has a sample labelled {plain(value)!r} among its first samples: they lie on "
        f"the branches {where}; {inner if at == 'tip' else ''}name a node or a sample to start at."
    )


def plain(value: Any) -> Any:
    """A NumPy scalar as Python writes it."""
    return value.item() if isinstance(value, np.generic) else value


def matches(labels: Any, value: Any, n_samples: int) -> tuple[Bools, Bools]:
    """Which samples have a label, and of which it is known (None, NaN and NA are missing).

    Examples
    --------
    >>> from branchwise.trajectory.starts import matches
    >>> matches(["a", None, "b", float("nan")], "a", 4)
    (array([ True, False, False, False]), array([ True, False,  True, False]))
    """
    # As objects, so that numbers among strings stay numbers, and missing labels what they are.
    given = np.asarray(labels, dtype=object)
    if given.shape != (n_samples,):
        raise ValueError(
            f"labels has shape {given.shape}, but there are {n_samples} samples; give one label "
            "for each."
        )
    # What compares to neither true nor false is missing (pandas.NA), and what is not itself (NaN).
    has_it = np.array([is_true(label == value) for label in given.tolist()], dtype=bool)
    is_known = np.array([label is not None and is_true(label == label) for label in given.tolist()])
    if not has_it.any():
        present = dict.fromkeys(repr(plain(label)) for label in given.tolist())
        raise ValueError(
            f"value={plain(value)!r} is none of the labels; they are {listed(present)}."
        )
    return has_it, is_known


def is_true(answer: Any) -> bool:
    """Whether a comparison says yes."""
    return isinstance(answer, bool | np.bool_) and bool(answer)


def candidates(view: View, rows: Ints, at: str) -> Ints:
    """Nodes of the part of some samples with a label; of a large graph, those next to them."""
    base = view.base
    ends = base.edges[base.edge[rows], (base.position[rows] > 0.5).astype(int)]
    nodes = np.flatnonzero(base.parts == base.parts[ends[0]])
    tips = nodes[[view.milestone_names.get(int(k), "")[:1] == "T" for k in nodes]]
    if len(nodes) > MOST_NODES:
        placed = on_segments(
            base.placement._replace(edge=base.edge[rows], position=base.position[rows]),
            view.base_segments,
        )
        nearer = placed.edges[placed.edge, (placed.position > 0.5).astype(int)]
        number = np.bincount(view.base_segments.milestones[nearer], minlength=len(base.nodes))
        tips = tips[np.argsort(-number[tips], kind="stable")][: MOST_NODES // 2]
        nodes = np.union1d(tips, thinned(np.unique(ends), MOST_NODES // 2))
    return tips if at == "tip" else nodes


def thinned(values: Ints, most: int) -> Ints:
    """At most so many of them, evenly."""
    return values[:: max(-(-len(values) // most), 1)]


def weigh(view: View, nodes: Ints, rows: Ints, has_it: Bools) -> Weighed:
    """How well time from each node puts the samples with a label before the others.

    Parameters
    ----------
    view : View
    nodes : array of nodes
        In one connected part.
    rows : array of rows
        The samples of that part whose label is known.
    has_it : array of bool
        Which of these have the label.
    """
    base = view.base
    along = np.lexsort((base.position[rows], base.edge[rows]))  # not as the table has them
    some = [thinned(along[has_it[along] == which], MOST_ROWS) for which in (True, False)]
    n_first = max(int(min(max(LEAST_FIRST, FIRST * len(rows)), MOST_FIRST * len(rows))), 1)
    graph = base.placement._replace(edge=base.edge[rows], position=base.position[rows])
    times, between, first = np.empty((len(nodes), sum(map(len, some)))), [], []
    for k, node in enumerate(nodes):
        from_node, _ = distances_from(graph, [node])
        time = to_points(graph, from_node)
        times[k] = time[np.concatenate(some)]
        between.append(from_node[nodes])
        first.append(first_samples(time, has_it, n_first))
    n_with = len(some[0])
    order = rankdata(times, axis=1)
    if some[1].size:
        # A rank among all minus that among one's own is the number of others that are earlier.
        among = rankdata(times[:, :n_with], axis=1), rankdata(times[:, n_with:], axis=1)
        later = 1 - (order[:, :n_with] - among[0]) / len(some[1])
        earlier = (order[:, n_with:] - among[1]) / n_with
    else:
        later, earlier = np.full((len(nodes), n_with), 0.5), np.empty((len(nodes), 0))
    return Weighed(
        nodes=nodes,
        is_tip=np.array([view.milestone_names.get(int(k), "")[:1] == "T" for k in nodes], bool),
        score=later.mean(axis=1).round(12),  # equal but for rounding: equal
        later=later,
        earlier=earlier,
        order=order,
        away=times[:, :n_with].mean(axis=1),
        between=np.array(between),
        first=np.array(first),
        # Of a rare label no more can be expected there than there are.
        share=np.array([n_with_it / min(n, has_it.sum()) for n, n_with_it in first]),
        occurs=np.array([n_with_it > 0 for _, n_with_it in first], dtype=bool),
    )


def first_samples(time: Floats, has_it: Bools, n_first: int) -> tuple[int, int]:
    """How many samples are the first, with all that are as early as the last, and have a label.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.starts import first_samples
    >>> time, has_it = np.array([0.0, 1.0, 1.0, 2.0]), np.array([True, True, False, True])
    >>> first_samples(time, has_it, 2)  # two of them at one place
    (3, 2)
    """
    is_first = time <= np.partition(time, n_first - 1)[n_first - 1]
    return int(is_first.sum()), int((is_first & has_it).sum())


def choose(found: Weighed, at: str) -> int | None:
    """Which of the nodes is the root, if the label occurs at any."""
    if not found.occurs.any():
        return None
    ranked = np.lexsort((found.away, -found.score))
    ranked = ranked[found.occurs[ranked]]
    if at != "auto":
        return int(ranked[0])
    # An inner node in the middle of the label puts it first as well as, or better than, the tip
    # where the label begins: the tip wins if the label is there at all.
    first = 2 * found.score - 1
    is_good = found.is_tip & (found.share >= ENOUGH) & (first >= ENOUGH * first[ranked[0]])
    return int(ranked[np.argmax(is_good[ranked])])  # the first of all, if there is none


def rival(found: Weighed, best: int) -> int | None:
    """The best of the other nodes, tips first, that may be as good and give another order.

    A node on the slope up to the chosen one is not another place: between two places there are
    nodes that are worse than both. One that is clearly better, and yielded to a tip, always counts.
    """
    difference = found.score - found.score[best]
    variance = np.zeros(len(found.nodes))
    for parts in (found.later, found.earlier):
        if parts.shape[1] > 1:
            variance += (parts - parts[best]).var(axis=1, ddof=1) / parts.shape[1]
    error = ERRORS * np.sqrt(variance)
    centred = found.order - found.order.mean(axis=1, keepdims=True)
    norm = np.sqrt((centred**2).sum(axis=1))
    is_other = centred @ centred[best] < SAME_ORDER * norm * norm[best]
    away = found.between
    for k in np.lexsort((found.away, -found.score, ~found.is_tip)):
        if is_other[k] and found.occurs[k] and difference[k] >= -error[k]:
            is_between = away[best] + away[k] <= away[best, k] * (1 + 1e-9)
            if difference[k] > error[k] or found.score[is_between].min() < found.score[k]:
                return int(k)
    return None


def doubt(view: View, found: Weighed, best: int, value: Any) -> str | None:
    """What to know about the choice, in one sentence."""
    here, _ = node_names(view, found.nodes[best])
    start = f"Time starts where {plain(value)!r} comes first, at {here}, but "
    if not found.earlier.size:
        return start + "all samples there have that label, which tells nothing; name a root."
    other = rival(found, best)
    if other is not None:
        there, argument = node_names(view, found.nodes[other])
        is_close = found.score[other] - found.score[best] < CLOSE
        return start + (
            f"{'the choice is close' if is_close else 'that is only the best tip'}: from there it "
            f"comes before others in {found.score[best]:.0%} of "
            f"the pairs of samples, and from {there} in {found.score[other]:.0%}; to start at "
            f"{there} instead, use {root_at_node(argument)}."
        )
    if found.share[best] < ENOUGH:
        n_first, n_with = found.first[best]
        return start + (
            f"of the {n_first} first samples only {n_with} have that label; look at the picture, "
            "and name another root if that is wrong."
        )
    return None


def root_at_node(node: str | int) -> str:
    """How a node becomes the root."""
    if not is_for_command_line():
        return f"rooted(node={node!r})"
    return setting("root", node if isinstance(node, str) else f"node={node}")


def node_names(view: View, node: Any) -> tuple[str, str | int]:
    """A node as a sentence names it, and as an argument."""
    name = view.milestone_names.get(int(node))
    return (f"node {node}", int(node)) if name is None else (name, name)
