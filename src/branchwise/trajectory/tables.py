"""What is known of milestones, branches and samples, as tables; and a trajectory in a few words."""

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from .._compat import import_pandas
from .._messages import listed
from .._typing import Floats
from ..graph.placement import degrees, on_segments, to_points
from .branches import importance
from .view import View

if TYPE_CHECKING:
    from pandas import DataFrame

KINDS = {"T": "tip", "F": "fork", "R": "root"}


def milestone_table(view: View) -> "DataFrame":
    """Tips, forks and roots, by name (``milestones_``)."""
    pandas = import_pandas()
    found = view.branches
    node, names = found.found.milestones, found.milestones
    table = pandas.DataFrame(
        {
            "node": node,
            "kind": [KINDS[name[0]] for name in names],
            "is_root": np.isin(node, view.all_roots),
            "n_branches": degrees(found.placed.edges, len(node)),
            "pseudotime": view.node_time[node],
            "part": view.parts[node],
        },
        index=pandas.Index(names, name="milestone"),
    )
    return table.loc[sorted(names, key=importance)]


def branch_table(view: View) -> "DataFrame":
    """The branches, from the root outwards (``branch_table_``)."""
    pandas = import_pandas()
    found = view.branches
    ends, names = found.found.ends, np.array(found.milestones)[found.placed.edges]
    return pandas.DataFrame(
        {
            "start": names[:, 0],
            "end": names[:, 1],
            "length": found.found.lengths,
            "start_time": found.start_time,
            "end_time": found.end_time,
            "parent": found.parents,
            "n_samples": np.bincount(found.placed.edge, minlength=len(names)),
            "occupied": view.occupied,
            "part": view.parts[ends[:, 0]],
        },
        index=pandas.Index(found.names, name="branch"),
    )


def sample_table(view: View, names: Any) -> "DataFrame":
    """One row per sample (``samples_``)."""
    pandas = import_pandas()
    placed, time = view.branches.placed, view.pseudotime
    return pandas.DataFrame(
        {
            "branch": view.branches.names[placed.edge],
            "branch_position": placed.position,
            "branch_time": placed.position * placed.lengths[placed.edge],
            "pseudotime": time,
            "pseudotime_scaled": scaled(time, time.max()),
            "distance": view.geometry.distance,
            "part": view.parts[view.geometry.edges[view.placement.edge, 0]],
        },
        index=pandas.Index(names, name="sample"),
    )


def placed_table(view: View, points: Floats, index: Any) -> "DataFrame":
    """New points, in units of the data, on the graph (`Trajectory.project`)."""
    placed = view.place(points)
    placement, edge = placed.placement, placed.edge
    on_branch = on_segments(placement, view.branches.found)
    time = to_points(placement, view.node_time)
    return import_pandas().DataFrame(
        {
            "edge": edge,
            "source": placed.edges[edge, 0],
            "target": placed.edges[edge, 1],
            "position": placed.position,
            "distance": placed.distance,
            "branch": view.branches.names[on_branch.edge],
            "branch_position": on_branch.position,
            "pseudotime": time,
            "pseudotime_scaled": scaled(time, view.pseudotime.max()),
        },
        index=index,
    )


def scaled(time: Floats, latest: float) -> Floats:
    """Pseudotime as a part of the latest sample's; all of it 0 if that is."""
    return time / latest if latest > 0 else time.copy()


def main_facts(view: View) -> dict[str, str]:
    """Numbers of samples, branches, tips and forks, the root, and the length of all branches.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory import Trajectory
    >>> from branchwise.trajectory.tables import main_facts
    >>> main_facts(Trajectory([[0, 1], [1, 2]], np.array([[0.0], [1.0], [2.5]])).view)
    {'samples': '3', 'branches': '1', 'tips': '2', 'forks': '0', 'root': 'T1', 'length': '2.5'}
    """
    found, names = view.branches, list(view.milestone_names.values())
    called = dict(zip(found.found.milestones, found.milestones, strict=True))
    return {
        "samples": str(len(view.points)),
        "branches": str(len(found.names)),
        "tips": str(sum(name.startswith("T") for name in names)),
        "forks": str(sum(name.startswith("F") for name in names)),
        "root": listed(called[node] for node in view.all_roots),
        "length": f"{view.placement.lengths.sum():.4g}",
    }


def html_table(title: str, facts: dict[str, str]) -> str:
    """Facts for a notebook."""
    rows = "".join(
        f'<tr><th scope="row" style="text-align: left">{escape(name)}</th>'
        f'<td style="text-align: left">{escape(value)}</td></tr>'
        for name, value in facts.items()
    )
    return (
        '<table><caption style="text-align: left; font-weight: bold">'
        f"{escape(title)}</caption><tbody>{rows}</tbody></table>"
    )
