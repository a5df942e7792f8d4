"""How a trajectory was made, in terms that hold for another graph of the same samples."""

from typing import Any, NamedTuple

import numpy as np

from ..graph.placement import Segments, distances_from, on_segments, to_points
from .geometry import Geometry
from .roots import Root

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
    >>> from ramify.trajectory.geometry import place
    >>> from ramify.trajectory.recipe import landmarks
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
    >>> from ramify.graph.placement import segments
    >>> from ramify.trajectory.geometry import place
    >>> from ramify.trajectory.recipe import Landmark, found_again
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
