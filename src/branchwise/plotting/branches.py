"""What pictures of a trajectory share: colours of its branches, and names of its milestones."""

from typing import Any

import numpy as np
from matplotlib import patheffects

from .._compat import import_pandas
from .._typing import Floats, Ints
from ..trajectory import Trajectory
from ..trajectory.branches import importance
from .coloring import MOST_CATEGORIES, PALETTE
from .scene import values_of
from .style import Coloring, ink, note, resolve_color


def check_path(path: Any) -> None:
    """A trajectory, of which there are branches to draw."""
    if not isinstance(path, Trajectory):
        raise TypeError(
            f"path is a {type(path).__name__} but must be a Trajectory; make one with "
            "Trajectory.from_estimator or learn_trajectory."
        )


def coloring_of(
    path: Any, color: Any = None, color_name: str | None = None, palette: Any = None
) -> Coloring:
    """What samples of a trajectory are coloured by.

    Parameters
    ----------
    path : Trajectory
    color : sequence of length n_samples, column of ``samples_``, a colour, or None, default=None
        None: the branch or, of more than 16 branches, nothing.
    color_name : str or None, default=None
    palette : dict, sequence of colours or None, default=None

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.plotting.branches import coloring_of
    >>> from branchwise.trajectory import Trajectory
    >>> path = Trajectory([[0, 1], [1, 2], [1, 3]], np.eye(4))
    >>> coloring_of(path).labels
    ('T1-F1', 'F1-T2', 'F1-T3')
    """
    if color is None:
        # Where branches are too many for colours, their places tell them apart.
        color = "branch" if len(path.branch_table_) <= MOST_CATEGORIES else PALETTE[0]
    values = values_of(path, color)
    return resolve_color(values, len(path.names_), name=color_name, palette=palette)


def branch_coloring(path: Any, rows: Ints | None = None) -> Coloring:
    """Samples by branch, each of these in the same colour in all pictures of a trajectory.

    Of more than 16 branches, though, some that are drawn by themselves get all the colours.

    Parameters
    ----------
    path : Trajectory
    rows : array of int or None, default=None
        Branches that are drawn; None: all.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.plotting.branches import branch_coloring
    >>> from branchwise.trajectory import Trajectory
    >>> branch_coloring(Trajectory([[0, 1]], np.eye(2))).colors.round(2)
    array([[0.  , 0.45, 0.7 , 1.  ]])
    """
    names, codes = path.branch_table_.index, path.view.branches.placed.edge
    if rows is not None and len(names) > MOST_CATEGORIES:
        number = np.full(len(names), -1)
        number[rows] = np.arange(len(rows))
        names, codes = names[rows], number[codes]
    values = import_pandas().Categorical.from_codes(codes, categories=names)
    return resolve_color(values, len(codes), name="branch")


def branch_colors(path: Any, rows: Ints) -> Floats:
    """The colours of some branches in `branch_coloring`.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.plotting.branches import branch_colors
    >>> from branchwise.trajectory import Trajectory
    >>> branch_colors(Trajectory([[0, 1]], np.eye(2)), np.array([0])).round(2)
    array([[0.  , 0.45, 0.7 , 1.  ]])
    """
    coloring = branch_coloring(path, rows)
    row = {label: k for k, label in enumerate(coloring.labels)}
    # Branches that are too many for colours of their own share the last one.
    return coloring.colors[[row.get(name, -1) for name in path.branch_table_.index[rows]]]


def name_milestones(
    ax: Any, names: list[str], places: Floats, roots: Any, most: int, *, beside: bool
) -> None:
    """Write the names of milestones beside or above them; of too many, the most important.

    Parameters
    ----------
    ax : Axes
    names : list of str
    places : array of shape (n_milestones, 2)
    roots : collection of str
    most : int
        Names that there is room for.
    beside : bool
        Whether tips are named to their right, where nothing follows.
    """
    order = sorted(range(len(names)), key=lambda k: (names[k] not in roots, importance(names[k])))
    dark, _ = ink(ax)
    for k in order[:most]:
        is_root = names[k] in roots
        right, left = beside and names[k][0] == "T" and not is_root, beside and is_root
        ax.annotate(
            f"{names[k]}\nroot" if is_root else names[k],
            places[k],
            xytext=(5, 0) if right else (-5, 0) if left else (0, 4),
            textcoords="offset points",
            ha="left" if right else "right" if left else "center",
            va="center" if right or left else "bottom",
            fontsize="small",
            weight="bold",
            linespacing=0.9,
            color=dark,
            path_effects=halo(ax),
            zorder=6,
        )
    if most < len(names):
        note(ax, f"{most:,} of {len(names):,} milestones are named")


def halo(ax: Any, linewidth: float = 2.5) -> list[Any]:
    """An edge in the colour of the Axes that keeps text or a line apart from what is behind."""
    return [patheffects.withStroke(linewidth=linewidth, foreground=ink(ax)[1])]


def names_of_roots(path: Any) -> set[str]:
    """The milestones at which time begins."""
    milestones = path.view.branches.found.milestones
    return {path.view.branches.milestones[k] for k in np.searchsorted(milestones, path.roots_)}
