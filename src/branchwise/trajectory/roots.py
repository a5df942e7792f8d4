"""Where time starts: from what the user says to nodes or samples, also on another graph."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .._messages import listed
from .._typing import Floats
from ..graph.placement import Segments, distances_from, on_segments, to_points
from .checks import check_order, sample_rows
from .geometry import Geometry
from .starts import plain, starts_at_label
from .view import Root, View

# A method of Trajectory and what it was given, nodes as landmarks. All steps, the first of which
# made the trajectory, are what the bootstrap repeats with other fits.
Step = tuple[str, dict[str, Any]]
Steps = tuple[Step, ...]


def rerooted(
    view: View,
    names: Any,
    *,
    node: Any = None,
    sample: Any = None,
    labels: Any = None,
    value: Any = None,
    at: str = "auto",
    end: Any = None,
) -> tuple[View, dict[str, Any]]:
    """The view with another root, and how to find that root again on other graphs.

    `Trajectory.rooted` says what the arguments mean.
    """
    if sum(given is not None for given in (node, sample, labels)) > 1:
        raise ValueError(
            "rooted takes one of node=…, sample=…, or labels=… with value=…, not several."
        )
    if (labels is None) != (value is None):
        raise ValueError(
            "labels and value go together; pass a label for each sample as labels=…, and the "
            "label to start at as value=…."
        )
    if at not in {"auto", "tip", "node"}:
        raise ValueError(f"at={at!r} must be 'auto', 'tip' or 'node'.")
    roots: list[Root] = []
    asked: dict[str, Any] = {}
    if node is not None:
        nodes = node_numbers(node, view.milestone_names, len(view.base.nodes), "node")
        roots = [Root("node", k) for k in nodes]
        asked = {"near": landmarks(view.base, view.milestone_names, nodes)}
    elif sample is not None:
        rows = np.atleast_1d(sample_rows(sample, names, "sample"))
        if not len(rows):
            raise ValueError("sample is empty; name at least one, or leave sample out.")
        roots = [Root("sample", int(row)) for row in rows]
        asked = {"sample": rows}
    elif labels is not None:
        check_order(labels, names, "labels")
        nodes = starts_at_label(view, labels, value, at)
        roots = [Root("node", k) for k in nodes]
        near = landmarks(view.base, view.milestone_names, nodes)
        asked = {"labels": labels, "value": value, "at": at, "near": near}
    new = replace(view, roots=tuple(roots), end=None)
    return new if end is None else with_end(new, end), asked


def with_end(view: View, end: Any) -> View:
    """The view with a node at which progress ends, apart from the root but connected with it."""
    ends = node_numbers(end, view.milestone_names, len(view.base.nodes), "end")
    if len(ends) > 1:
        raise ValueError(f"end={end!r} must be one node or milestone, not {len(ends)}.")
    view = replace(view, end=ends[0])
    if view.roots and view.node_root[ends[0]] not in view.chosen_roots:
        raise ValueError(
            f"end={end!r} is not connected with the root; choose both in one part of the graph "
            "(see milestones_)."
        )
    if view.node_time[ends[0]] == 0:
        raise ValueError(f"end={end!r} is the root itself; choose another end or root.")
    return view


def progress(view: View) -> Floats:
    """The part of the path from the root to the end at which each sample's path leaves it."""
    if view.end is None:
        raise AttributeError(
            "progress_ needs an end; call rooted(..., end=...) with a node or milestone."
        )
    start, placement = view.node_root[view.end], view.placement
    from_start = to_points(placement, distances_from(placement, [start])[0])
    node_rest = distances_from(placement, [view.end])[0]
    rest, whole = to_points(placement, node_rest), node_rest[start]
    if whole == 0:
        raise AttributeError(
            "progress_ needs an end apart from the root, but they have become one; call "
            "rooted(..., end=...) again."
        )
    with np.errstate(invalid="ignore"):  # ∞ − ∞ on other parts: no path leads there
        return np.clip(0.5 + (from_start - rest) / (2 * whole), 0.0, 1.0)


def node_numbers(nodes: Any, named: dict[int, str], n_nodes: int, parameter: str) -> list[int]:
    """Nodes given by their number or by the name of a milestone."""
    by_name = {name: node for node, name in named.items()}
    valid = [f"the numbers 0 to {n_nodes - 1}", f"the milestones {listed(by_name)}"]
    found = []
    for node in np.atleast_1d(np.asarray(nodes, dtype=object)).tolist():
        if isinstance(node, str) and node in by_name:
            found.append(by_name[node])
        elif is_number(node) and 0 <= node < n_nodes:
            found.append(int(node))
        else:
            raise ValueError(
                f"{parameter}={plain(node)!r} is not a node of the graph; valid are "
                f"{' and '.join(valid[: 2 if by_name else 1])}."
            )
    if not found:
        raise ValueError(f"{parameter} is empty; name at least one, or leave {parameter} out.")
    return found


def is_number(node: Any) -> bool:
    """Whether this may be the number of a node."""
    return isinstance(node, int | np.integer) and not isinstance(node, bool)


class Landmark(NamedTuple):
    """A node, described by what other graphs of the same samples have too."""

    sample: int  # the nearest to it along the graph
    kind: str  # "T" for a tip, "F" for a fork, "" for any other node


def landmarks(geometry: Geometry, names: dict[int, str], nodes: Any) -> list[Landmark]:
    """The sample nearest to each node along the graph; of equals, that nearest to the graph.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.geometry import place
    >>> from branchwise.trajectory.roots import landmarks
    >>> path = place(np.array([[0.0], [4.0]]), np.array([[0, 1]]), np.array([[1.0], [3.0]]))
    >>> landmarks(path, {0: "T1", 1: "T2"}, [1])
    [Landmark(sample=1, kind='T')]
    """
    found = []
    for node in nodes:
        time = to_points(geometry.placement, distances_from(geometry.placement, [node])[0])
        nearest = int(np.lexsort((geometry.distance, time))[0])
        found.append(Landmark(nearest, names.get(int(node), "")[:1]))
    return found


def found_again(
    landmark: Landmark, geometry: Geometry, found: Segments, names: dict[int, str]
) -> Root:
    """The end of the branch that the sample is nearer to, if it is of the landmark's kind.

    Otherwise the sample's own place: the graph has no such tip or fork there.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.graph.placement import segments
    >>> from branchwise.trajectory.geometry import place
    >>> from branchwise.trajectory.roots import Landmark, found_again
    >>> path = place(np.array([[0.0], [4.0]]), np.array([[0, 1]]), np.array([[1.0], [3.0]]))
    >>> branches = segments(path.edges, path.lengths, 2)
    >>> found_again(Landmark(1, "T"), path, branches, {0: "T1", 1: "T2"})
    Root(kind='node', which=1)
    >>> found_again(Landmark(1, "F"), path, branches, {0: "T1", 1: "T2"})
    Root(kind='sample', which=1)
    """
    one = slice(landmark.sample, landmark.sample + 1)
    placement = geometry.placement
    placed = on_segments(
        placement._replace(edge=placement.edge[one], position=placement.position[one]), found
    )
    end = placed.edges[placed.edge[0], int(placed.position[0] > 0.5)]
    node = int(found.milestones[end])
    if landmark.kind and names.get(node, "")[:1] == landmark.kind:
        return Root("node", node)
    return Root("sample", landmark.sample)
