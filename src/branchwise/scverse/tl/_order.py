"""Order and branches: from a learned graph to a root, pseudotime and names of branches."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._compat import import_pandas
from ..._docs import CELLS, documented
from ..._messages import listed
from ...trajectory import Trajectory
from .._adata import Results, check_adata, column_of, write
from .._keys import UNS, keys_of
from .._uns import (
    Step,
    entry_of,
    find_key,
    follow,
    learned_trajectory,
    steps_of,
    trajectory_entry,
    without,
)

if TYPE_CHECKING:
    from anndata import AnnData

# They come before the root, in whichever order the tools are called.
REDUCING = ("prune", "merge")


@documented(CELLS)
def pseudotime(
    adata: "AnnData",
    *,
    root: Any = None,
    key: str | None = None,
    at: str = "auto",
    end: Any = None,
    copy: bool = False,
) -> "AnnData | None":
    """Order the cells along the learned graph, from a root.

    The pseudotime of a cell is the length of the way along the graph from the root to the place
    nearest to the cell. Nothing is fitted again, and branches that `branches` has removed stay so.

    Parameters
    ----------
    {adata}
    root : str, int, dict, tuple, list or None, default=None
        Where time starts:

        - the name of a milestone, as "T2" or "F1" (see `branches`), or the number of a node;
        - the name of a cell: its place on the graph;
        - ``{"cell_type": "HSC"}`` or ``("cell_type", "HSC")``: the place that cells with this value
          in a column of ``obs`` come first from (`branchwise.trajectory.Trajectory.rooted`);
        - a list of milestones or of nodes, for instance one for each tree of a forest.

        None: one end of the longest path, T1, which says nothing of the direction.
    {key}
    at : {"auto", "tip", "node"}, default="auto"
        Whether cells of a type are looked for at tips and inner nodes, at tips only, or at all
        nodes alike.
    end : str, int or None, default=None
        A milestone or node at which the way ends, to tell how far along it the cells are.
    {copy}

    Returns
    -------
    {copied}

    Notes
    -----
    Writes:

    - ``obs["{key}_pseudotime"]``: in units of the data that the graph was learned from;
    - ``obs["{key}_progress"]``, with ``end``: the part of the way from the root to it;
    - the slots of `branches`, as names and directions of branches depend on the root.

    Removes what `bootstrap` and `test_association` had written, and how likely the branches were
    (``obs["{key}_branch_probability"]``, ``…_likeliest_branch``).

    Examples
    --------
    >>> import anndata
    >>> import branchwise
    >>> from branchwise.datasets import make_tree
    >>> data = make_tree(200, 10, noise=0.05, random_state=0)  # simulated
    >>> adata = anndata.AnnData(data.X)
    >>> adata.obs["day"] = ["0" if time < 0.2 else "later" for time in data.pseudotime]
    >>> branchwise.tl.ddrtree(adata, n_components=3)
    >>> branchwise.tl.pseudotime(adata, root={"day": "0"})
    >>> bool(adata.obs["ddrtree_pseudotime"].corr(adata.obs["day"] == "0") < 0)
    True
    """
    check_adata(adata)
    key = find_key(adata, key)
    steps = [step for step in steps_of(entry_of(adata, key)) if step[0] in REDUCING]
    trajectory = follow(adata, learned_trajectory(adata, key), steps)
    given = root_arguments(root, adata, trajectory, at)
    if end is not None:
        given["end"] = end
    steps.append(("rooted", given))
    return _write(adata, key, follow(adata, trajectory, steps[-1:]), steps, copy)


@documented(CELLS)
def branches(
    adata: "AnnData",
    *,
    key: str | None = None,
    prune: bool = False,
    min_length: float | None = None,
    min_samples: int | None = None,
    tips: Any = None,
    n_branches: int | None = None,
    copy: bool = False,
) -> "AnnData | None":
    """Name the branches, and the branch of each cell; remove those that noise may have made.

    Branches are the ways between milestones: tips T1, T2, …, forks F1, F2, …, and a root
    elsewhere, R1. They are named by their two ends, the one nearer to the root first. Each call
    starts from the whole graph: without arguments it brings pruned branches back. A root that was
    chosen by a type of cells is chosen again.

    Parameters
    ----------
    {adata}
    {key}
    prune : bool, default=False
        Remove what is shorter than twice the spread of the cells around the graph (see
        `branchwise.trajectory.Trajectory.prune`).
    min_length, min_samples, tips
        Prune by these instead: the least length, the least number of cells on a twig, tips to cut
        off.
    n_branches : int or None, default=None
        Remove the shortest until so many are left.
    {copy}

    Returns
    -------
    {copied}

    Notes
    -----
    Writes:

    - ``obs["{key}_branch"]``: categorical, as "T1-F1"; ``obs["{key}_branch_position"]``: the part
      of the branch that lies behind the cell; ``obs["{key}_distance"]``: from the cell to its place
      on the graph;
    - ``obs["{key}_pseudotime"]`` and, with an end, ``obs["{key}_progress"]`` again, if `pseudotime`
      was called before;
    - ``uns[key]["milestones"]`` and ``uns[key]["branches"]``: tables with the numbers of nodes,
      times, lengths and numbers of cells;
    - ``uns["{key}_branch_colors"]``: colours of the branches for scanpy, those of `branchwise.pl`;
    - ``uns[key]["trajectory"]``: nodes, edges and roots of the graph as it is now, and the steps
      that led there.

    Removes what `bootstrap` and `test_association` had written, and how likely the branches were
    (``obs["{key}_branch_probability"]``, ``…_likeliest_branch``).

    Examples
    --------
    >>> import anndata
    >>> import branchwise
    >>> from branchwise.datasets import make_tree
    >>> adata = anndata.AnnData(make_tree(200, 10, noise=0.05, random_state=0).X)  # simulated
    >>> branchwise.tl.ddrtree(adata, n_components=3)
    >>> branchwise.tl.branches(adata, n_branches=3)
    >>> adata.obs["ddrtree_branch"].cat.categories.tolist()
    ['T1-F1', 'F1-T2', 'F1-T3']
    """
    check_adata(adata)
    key = find_key(adata, key)
    before = steps_of(entry_of(adata, key))
    steps = []
    tips = None if tips is None else np.atleast_1d(tips).tolist()
    given = {"min_length": min_length, "min_samples": min_samples, "tips": tips}
    given = {name: value for name, value in given.items() if value is not None}
    if prune or given:
        steps.append(("prune", given))
    if n_branches is not None:
        steps.append(("merge", {"n_branches": n_branches}))
    trajectory = follow(adata, learned_trajectory(adata, key), steps)
    rooted = [step for step in before if step[0] not in REDUCING]
    check_root_stays(rooted, trajectory, is_same=steps + rooted == before)
    return _write(adata, key, follow(adata, trajectory, rooted), steps + rooted, copy)


def check_root_stays(rooted: list[Step], trajectory: Trajectory, *, is_same: bool) -> None:
    """Nodes that were the root or the end before are nodes of the new graph."""
    for _, given in rooted:
        for name in ("node", "end"):
            for node in np.atleast_1d(given.get(name, [])).tolist():
                if isinstance(node, str) and node not in trajectory.milestones_.index:
                    raise ValueError(
                        f"{node}, the {'root' if name == 'node' else 'end'} of pseudotime, would "
                        "be cut off; choose another with branchwise.tl.pseudotime, or cut off less."
                    )
                if not isinstance(node, str) and not is_same:
                    raise ValueError(
                        f"Node {node} was named to branchwise.tl.pseudotime by its number, which "
                        "changes with the branches; call it with the name of a milestone or cell, "
                        "or call branchwise.tl.branches first."
                    )


def root_arguments(root: Any, adata: "AnnData", trajectory: Trajectory, at: str) -> dict[str, Any]:
    """What `Trajectory.rooted` is to be told, in terms that a file can hold."""
    if root is None:
        return {}
    label = check_label(root, adata)
    if label is not None:
        return {"labels": label[0], "value": label[1], "at": at}
    milestones = trajectory.milestones_.index.tolist()
    if not isinstance(root, str) or root in milestones:
        return {"node": root if isinstance(root, str) else np.asarray(root).tolist()}
    n_cells = int(np.count_nonzero(adata.obs_names == root))
    if n_cells > 1:
        raise ValueError(
            f"root={root!r} is the name of {n_cells} cells; call adata.obs_names_make_unique() "
            "first."
        )
    if n_cells == 0:
        raise ValueError(
            f"root={root!r} is neither a milestone nor a cell; milestones are "
            f"{listed(milestones)}, and cells have names as {str(adata.obs_names[0])!r}. A type of "
            "cells is given with its column, as {'cell_type': 'HSC'}."
        )
    return {"sample": root}


def check_label(root: Any, adata: "AnnData") -> tuple[Any, Any] | None:
    """Column and value of a root that is told by a label; of any other, None."""
    if not isinstance(root, dict | tuple):
        return None
    pairs = list(root.items()) if isinstance(root, dict) else [root]
    if len(pairs) != 1 or len(pairs[0]) != 2:
        raise ValueError(
            f"root={root!r} must be one column of adata.obs and one value, as "
            "{'cell_type': 'HSC'}."
        )
    column, value = pairs[0]
    column_of(adata, column, "root")
    return column, value


def _write(
    adata: "AnnData",
    key: str,
    trajectory: Trajectory,
    steps: list[Step],
    copy: bool,
) -> "AnnData | None":
    keys, entry = keys_of(key), entry_of(adata, key)
    results = order_results(trajectory, key, steps)
    results.uns[key] = without(entry, UNS.association, UNS.support) | results.uns[key]
    if UNS.evidence in entry:
        results.uns[key] |= evidence_entry(trajectory)
    results.stale_obs = keys.order + keys.support + keys.likely
    if any(call in REDUCING for call, _ in steps):  # cells are as far from another tree
        results.stale_obs += keys.trust
    results.stale_var = keys.tests
    return write(adata, results, copy)


def order_results(trajectory: Trajectory, key: str, steps: list[Step]) -> Results:
    """Where the cells are, and what is known of milestones and branches."""
    from ...plotting.coloring import BRANCH_COLORS, category_colors

    rooted = [given for call, given in steps if call == "rooted"]
    end = trajectory.view.end if rooted and "end" in rooted[0] else None
    entry = {
        UNS.trajectory: trajectory_entry(trajectory, steps, end),
        UNS.milestones: trajectory.milestones_,
        UNS.branches: trajectory.branch_table_,
    }
    colors = category_colors(len(trajectory.branch_table_), BRANCH_COLORS)
    return Results(
        obs=order_columns(trajectory, key, has_root=bool(rooted), has_end=end is not None),
        uns={key: entry, keys_of(key).branch_colors: colors},
    )


def evidence_entry(trajectory: Trajectory) -> dict[str, Any]:
    """What else may explain the cells, and all that was found, in sentences."""
    return {UNS.evidence: trajectory.evidence_, UNS.description: trajectory.describe()}


def order_columns(
    trajectory: Trajectory, key: str, *, has_root: bool, has_end: bool
) -> dict[str, Any]:
    """Columns of obs that say where the cells are."""
    pandas, keys = import_pandas(), keys_of(key)
    columns = {
        keys.branch: pandas.Categorical(
            trajectory.branches_, categories=trajectory.branch_table_.index.tolist()
        ),
        keys.branch_position: trajectory.branch_position_,
        keys.distance: trajectory.distance_,
    }
    if has_root:
        columns[keys.pseudotime] = trajectory.pseudotime_
    if has_end:
        columns[keys.progress] = trajectory.progress_
    return columns
