"""Where a trajectory begins: from what the user says to nodes or samples."""

from typing import Any, NamedTuple

import numpy as np

from .._messages import listed
from .._typing import Bools, Floats, Ints
from ..graph.placement import Segments, degrees, distances_from, on_segments, to_points
from .branches import rank_twigs
from .geometry import Geometry
from .summaries import wilson_interval

# Richness of a label: the lower end of Wilson's interval of this level for its share.
LEVEL = 0.95


class Root(NamedTuple):
    """A node of the graph, or the place of a sample on it."""

    kind: str  # "node" or "sample"
    which: int


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
                f"{parameter}={plain(node)!r} is no node of the graph; valid are "
                f"{' and '.join(valid[: 2 if by_name else 1])}."
            )
    if not found:
        raise ValueError(f"{parameter} is empty; name at least one, or leave {parameter} out.")
    return found


def is_number(node: Any) -> bool:
    """Whether this may be the number of a node."""
    return isinstance(node, int | np.integer) and not isinstance(node, bool)


def plain(value: Any) -> Any:
    """A NumPy scalar as Python writes it."""
    return value.item() if isinstance(value, np.generic) else value


def richness(labels: Any, value: Any, at: str, groups: Ints, n_groups: int) -> tuple[Floats, Bools]:
    """How rich each group is in a label, and which samples have it.

    Share and size are weighed by the lower end of Wilson's interval for the share: nine of ten
    beat one of one.

    Parameters
    ----------
    labels : sequence of length n_samples
    value : label to look for
    at : what a group is called in a message
    groups : array of shape (n_samples,)
        The group that each sample counts for; −1 for none.
    n_groups : int

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.roots import richness
    >>> day = ["day 0"] * 9 + ["day 3"] + ["day 0"] + ["day 3"] * 4
    >>> richness(day, "day 0", "tip", np.repeat([0, 1, 2], [10, 1, 4]), 3)[0].round(3)
    array([0.596, 0.207, 0.   ])
    """
    # As objects, so that numbers among strings stay numbers, and missing labels what they are.
    given = np.asarray(labels, dtype=object)
    if given.shape != groups.shape:
        raise ValueError(
            f"labels has shape {given.shape}, but there are {len(groups)} samples; give one label "
            "for each."
        )
    # What compares to neither true nor false is missing (pandas.NA).
    is_same = [label == value for label in given.tolist()]
    has_it = np.array([isinstance(same, bool | np.bool_) and same for same in is_same], dtype=bool)
    if not has_it.any():
        present = dict.fromkeys(repr(plain(label)) for label in given.tolist())
        raise ValueError(
            f"value={plain(value)!r} is none of the labels; they are {listed(present)}."
        )
    counted = groups >= 0
    size = np.bincount(groups[counted], minlength=n_groups)
    rich = np.bincount(groups[counted & has_it], minlength=n_groups)
    if not rich.any():
        raise ValueError(
            f"No sample labelled {value!r} is next to a {at}; pass at='node' to look at all nodes."
        )
    return wilson_interval(rich, size, LEVEL)[0], has_it


def name_milestones(geometry: Geometry) -> dict[int, str]:
    """Tips T1, T2, … and forks F1, F2, … of a graph, by node, the most important first.

    The first two tips of a tree are the ends of its longest path, T1 being the one whose
    coordinates come first in the order of a dictionary. The other tips follow by the length of the
    twig that would be cut off with them (`rank_twigs`), the longest first; a fork follows
    by the first tip, T3 or later, that branches off there. Forks of cycles, which are forks
    without any twig, come first. So pruning the last tips leaves the names of the others as they
    were.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.geometry import place
    >>> from branchwise.trajectory.roots import name_milestones
    >>> nodes = np.array([[3.0, 0.0], [3.0, 1.0], [0.0, 0.0], [5.0, 0.0]])
    >>> name_milestones(place(nodes, np.array([[0, 1], [0, 2], [0, 3]]), nodes))
    {2: 'T1', 3: 'T2', 1: 'T3', 0: 'F1'}
    """
    edges, lengths, n_nodes = geometry.edges, geometry.lengths, len(geometry.nodes)
    twigs = rank_twigs(edges, lengths, n_nodes)
    degree, parts = degrees(edges, n_nodes), geometry.parts
    left = np.bincount(parts[edges[:, 0]], weights=np.where(twigs.owner < 0, lengths, 0.0))
    tips = np.setdiff1d(np.flatnonzero(degree == 1), twigs.tips)
    tips = tips[np.lexsort((*_in_reading_order(geometry.nodes[tips]), -left[parts[tips]]))]
    forks = np.flatnonzero(degrees(edges[twigs.owner < 0], n_nodes) > 2)
    forks = forks[np.lexsort(_in_reading_order(geometry.nodes[forks]))]
    # A fork is as important as the last twig that is cut from it.
    cut, first = np.unique(twigs.forks[::-1], return_index=True)
    cut = cut[np.argsort(first)]
    forks = np.concatenate([forks, cut[~np.isin(cut, forks)]])
    tips = np.concatenate([tips, twigs.tips[::-1]])
    names = {int(node): f"T{k}" for k, node in enumerate(tips, 1)}
    return names | {int(node): f"F{k}" for k, node in enumerate(forks, 1)}


def default_roots(geometry: Geometry, names: dict[int, str]) -> Ints:
    """For each connected part its first tip or, on a ring, the node that comes first in reading.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory.geometry import place
    >>> from branchwise.trajectory.roots import default_roots, name_milestones
    >>> path = place(np.array([[0.0], [1.0], [3.0]]), np.array([[0, 1], [1, 2]]), np.zeros((1, 1)))
    >>> default_roots(path, name_milestones(path))
    array([0])
    """
    parts = geometry.parts
    importance = np.full(len(parts), len(parts))
    for rank, (node, name) in enumerate(names.items()):
        if name.startswith("T"):
            importance[node] = rank
    order = np.lexsort((*_in_reading_order(geometry.nodes), importance, parts))
    return order[np.unique(parts[order], return_index=True)[1]]


def _in_reading_order(points: Floats) -> list[Floats]:
    """Keys for np.lexsort: the first column counts most."""
    return list(points.T[::-1])


# A method of Trajectory and what it was given, nodes as landmarks; the first made the trajectory.
Step = tuple[str, dict[str, Any]]

Recipe = tuple[Step, ...]


class Landmark(NamedTuple):
    """A node, told by what other graphs of the same samples have too."""

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
