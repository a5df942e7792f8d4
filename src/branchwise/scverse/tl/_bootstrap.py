"""How far branches and pseudotime are to be believed."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._compat import import_pandas
from ..._docs import CELLS, documented
from ...data.dask import check_not_dask
from ...trajectory import Trajectory
from ...trajectory.bootstrap import Support
from .._adata import Results, check_adata, representation, write
from .._keys import UNS, keys_of
from .._uns import (
    entry_of,
    find_key,
    follow,
    model_of,
    projection_of,
    restored,
    steps_of,
    trajectory_of,
)
from ._order import evidence_entry

if TYPE_CHECKING:
    from anndata import AnnData

# Of the size of coordinates or times: what rounding to single precision may cost.
SAME = 1e-6


@documented(CELLS)
def bootstrap(
    adata: "AnnData",
    *,
    key: str | None = None,
    n_resamples: int = 100,
    method: str = "auto",
    level: float = 0.95,
    min_jaccard: float = 0.5,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: bool = True,
    copy: bool = False,
) -> "AnnData | None":
    """Support of branches and tips, and how much pseudotime varies, from repeated fits.

    The graph is learned again from cells drawn with replacement, pruned and rooted as it was by
    `branches` and `pseudotime`, and compared (`branchwise.trajectory.Trajectory.support` says how,
    and how far intervals are to be trusted).

    Parameters
    ----------
    {adata}
        Cells and values have to be the same as then.
    {key}
    n_resamples : int, default=100
    method : {"auto", "bootstrap", "posterior"}, default="auto"
        "posterior", for `spl`, draws cells from the posterior instead of fitting again. "auto" is
        the bootstrap.
    level : float, default=0.95
        Probability of the intervals of pseudotime.
    min_jaccard : float, default=0.5
        What is found again has a Jaccard similarity above this.
    random_state : int, RandomState or None, default=0
    n_jobs : int or None, default=None
        Number of processes; the result does not depend on it.
    progress : bool, default=True
        Show a progress bar if standard error is a terminal.
    {copy}

    Returns
    -------
    {copied}

    Notes
    -----
    Writes:

    - ``obs["{key}_pseudotime_std"]``, ``obs["{key}_pseudotime_lower"]`` and
      ``obs["{key}_pseudotime_upper"]``: standard deviation and interval of each cell's time;
      ``obs["{key}_branch_agreement"]``: the part of the resamples in which the cell is on its
      branch again;
    - ``uns[key]["support"]``: tables "branches" and "milestones" with support and similarity,
      "n_tips" (how many resamples have so many tips), "method", "level", "n_resamples", "n_failed"
      and "n_unconverged";
    - the column "support" of ``uns[key]["branches"]``, if `branches` or `pseudotime` was called.

    Examples
    --------
    >>> import anndata
    >>> import branchwise
    >>> from branchwise.datasets import make_tree
    >>> adata = anndata.AnnData(make_tree(200, 10, noise=0.05, random_state=0).X)  # simulated
    >>> branchwise.tl.ddrtree(adata, n_components=3)
    >>> branchwise.tl.branches(adata, n_branches=3)
    >>> branchwise.tl.bootstrap(adata, n_resamples=3)
    >>> adata.uns["ddrtree"]["support"]["branches"]["support"].tolist()
    [1.0, 1.0, 1.0]
    """
    check_adata(adata)
    key = find_key(adata, key)
    entry = entry_of(adata, key)
    X = representation(adata, entry[UNS.use_rep], entry.get(UNS.layer))[0]
    again = f"call branchwise.tl.{entry[UNS.method]} again"
    check_not_dask(
        X,
        f"What {key!r} was learned from",
        f"load some cells, some = adata[::10].to_memory(), {again} on these and bootstrap them",
    )
    if entry.get(UNS.from_dask, False):
        raise ValueError(
            f"{key!r} was learned from a Dask array, chunk by chunk, which resamples in memory "
            f"cannot be compared with; {again}, on the values in memory."
        )
    model = model_of(adata, key)
    if len(model.embedding_) != adata.n_obs or not is_close(
        np.asarray(model.project(X)), projection_of(adata, key)
    ):
        raise ValueError(
            f"adata does not hold the cells or values any more that {key!r} was learned from; "
            f"{again}."
        )
    trajectory = made_again(model, entry, np.asarray(adata.obs_names, dtype=object))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # `pseudotime` has told of a close root
        trajectory = follow(adata, trajectory, steps_of(entry))
    if not is_close(trajectory.pseudotime_, trajectory_of(adata, key).pseudotime_):
        raise ValueError(
            f"The root or the branches of {key!r} would be others now, as the labels that the root "
            "was chosen by have changed; call branchwise.tl.pseudotime again."
        )
    found = trajectory.support(
        X,
        n_resamples=n_resamples,
        method=method,
        level=level,
        min_jaccard=min_jaccard,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )
    results = support_results(found, key, level)
    results.uns[key] = entry | results.uns[key]
    if UNS.branches in entry:
        trajectory = trajectory.with_support(found)
        results.uns[key][UNS.branches] = trajectory.branch_table_
    if UNS.evidence in entry:
        results.uns[key] |= evidence_entry(trajectory)
    return write(adata, results, copy)


def made_again(model: Any, entry: dict[str, Any], names: Any) -> Trajectory:
    """The cells on the graph as it was learned, with the way to learn it again."""
    path = Trajectory.from_estimator(model, structure=entry.get(UNS.structure), names=names)
    if entry[UNS.method] != "trajectory":
        return path
    params = restored(entry[UNS.params])
    options = {name: params[name] for name in ("n_components", "level")}
    steps = (("learn", options),)
    return Trajectory.from_view(path.view, names=path.names_, estimator=model, steps=steps)


def support_results(found: Support, key: str, level: float) -> Results:
    """What was found again, and how much the time of each cell varies."""
    keys, times = keys_of(key), found.pseudotime_
    support = {
        "branches": found.branches_,
        "milestones": found.milestones_,
        "n_tips": import_pandas().DataFrame(
            {"n_tips": found.n_tips_.index.to_numpy(), "n_resamples": found.n_tips_.to_numpy()},
            index=found.n_tips_.index.astype(str).rename(None),
        ),
        "method": found.method_,
        "level": float(level),
        "n_resamples": found.n_resamples_,
        "n_failed": found.n_failed_,
        "n_unconverged": found.n_unconverged_,
    }
    return Results(
        obs={
            keys.pseudotime_std: times["std"].to_numpy(),
            keys.pseudotime_lower: times["lower"].to_numpy(),
            keys.pseudotime_upper: times["upper"].to_numpy(),
            keys.branch_agreement: times["branch_agreement"].to_numpy(),
        },
        uns={key: {UNS.support: support}},
    )


def is_close(one: Any, other: Any) -> bool:
    """Whether coordinates or times agree, but for rounding."""
    return np.allclose(one, other, rtol=0, atol=SAME * float(np.abs(other).max()))
