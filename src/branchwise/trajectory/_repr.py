"""What a trajectory looks like at a prompt and in a notebook."""

from html import escape
from typing import TYPE_CHECKING, cast

from .._messages import listed

if TYPE_CHECKING:
    from .core import Trajectory


class ShownMixin:
    """One line of text, and a small table in HTML."""

    def __repr__(self) -> str:
        facts = main_facts(cast("Trajectory", self))
        counts = ", ".join(f"{facts[name]} {name}" for name in ("samples", "branches", "tips"))
        return f"<{type(self).__name__}: {counts}, rooted at {facts['root']}>"

    def _repr_html_(self) -> str:
        facts = main_facts(cast("Trajectory", self))
        rows = "".join(
            f'<tr><th scope="row" style="text-align: left">{escape(name)}</th>'
            f'<td style="text-align: left">{escape(value)}</td></tr>'
            for name, value in facts.items()
        )
        name = escape(type(self).__name__)
        return (
            '<table><caption style="text-align: left; font-weight: bold">'
            f"{name}</caption><tbody>{rows}</tbody></table>"
        )


def main_facts(trajectory: "Trajectory") -> dict[str, str]:
    """Numbers of samples, branches, tips and forks, the root, and the length of all branches.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory import Trajectory
    >>> from branchwise.trajectory._repr import main_facts
    >>> main_facts(Trajectory([[0, 1], [1, 2]], np.array([[0.0], [1.0], [2.5]])))
    {'samples': '3', 'branches': '1', 'tips': '2', 'forks': '0', 'root': 'T1', 'length': '2.5'}
    """
    found, names = trajectory.view.branches, list(trajectory.view.milestone_names.values())
    called = dict(zip(found.found.milestones, found.milestones, strict=True))
    return {
        "samples": str(len(trajectory.names_)),
        "branches": str(trajectory._n_branches),
        "tips": str(sum(name.startswith("T") for name in names)),
        "forks": str(sum(name.startswith("F") for name in names)),
        "root": listed(called[node] for node in trajectory.roots_),
        "length": f"{trajectory.lengths_.sum():.4g}",
    }
