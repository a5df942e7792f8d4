"""Between `uns` and objects: what h5ad and zarr can hold, and what is made of it again."""

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._compat import import_pandas
from .._messages import listed
from ..persistence.estimators import estimator_from_state
from ..persistence.format import Unsound
from ..trajectory import Trajectory
from ..trajectory.bootstrap import Support
from ..trajectory.geometry import data_scale
from ._adata import column_of, in_memory
from ._keys import PLACED, UNS, keys_of

if TYPE_CHECKING:
    from anndata import AnnData

METHODS = ("trajectory", "ddrtree", "drtree", "spl")
# Stands for None, which files of older versions of AnnData cannot hold.
NONE = "None"
# A method of Trajectory and its arguments, with the name of a column for labels.
Step = tuple[str, dict[str, Any]]


def storable(value: Any) -> Any:
    """A value as h5ad and zarr can hold it; an object as its text.

    Examples
    --------
    >>> from branchwise.scverse._uns import storable
    >>> storable({"lam": None, "gamma": 10.0, "kernel": min})
    {'lam': 'None', 'gamma': 10.0, 'kernel': '<built-in function min>'}
    """
    if value is None:
        return NONE
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, dict):
        return {str(name): storable(entry) for name, entry in value.items()}
    if sparse.issparse(value):
        return sparse.csr_array(value)
    if isinstance(value, np.ndarray | list | tuple):
        array = np.asarray(value)
        return array if array.dtype.kind in "biufU" else repr(value)
    return repr(value)


def restored(value: Any) -> Any:
    """The inverse of `storable`, but for objects, also of what a file made of it.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.scverse._uns import restored
    >>> restored({"lam": "None", "gamma": np.float64(10.0)})
    {'lam': None, 'gamma': 10.0}
    """
    if isinstance(value, dict):
        return {name: restored(entry) for name, entry in value.items()}
    if isinstance(value, str) and value == NONE:
        return None
    if isinstance(value, np.generic):
        return value.item()
    return value


def is_fit(entry: Any) -> bool:
    """Whether an entry of uns is one of ours."""
    return isinstance(entry, dict) and entry.get(UNS.method) in METHODS and UNS.centers in entry


def present_keys(adata: "AnnData") -> list[str]:
    """Names of all our analyses."""
    return [name for name, entry in adata.uns.items() if is_fit(entry)]


def find_key(adata: "AnnData", key: str | None) -> str:
    """The analysis that is meant: the one that is named, or the only one."""
    present = present_keys(adata)
    calls = "branchwise.tl.trajectory(adata), or ddrtree, drtree or spl,"
    if key is None:
        if len(present) == 1:
            return present[0]
        if not present:
            raise KeyError(f"adata holds no tree; call {calls} first.")
        raise ValueError(f"adata holds {listed(map(repr, present))}; choose one with key=….")
    if key not in present:
        raise KeyError(
            f"key={key!r} is not a tree of adata, which has "
            f"{listed(map(repr, present)) or 'none'}; call {calls} first."
        )
    return key


def entry_of(adata: "AnnData", key: str) -> dict[str, Any]:
    """What ``uns`` holds of an analysis, read if the object was read lazily."""
    entry: dict[str, Any] = in_memory(adata.uns[key])
    return entry


def projection_of(adata: "AnnData", key: str) -> Any:
    """Linear coordinates of the cells, at which trajectories have them."""
    name = keys_of(key).projection
    if name not in adata.obsm:
        raise KeyError(
            f"adata.obsm[{name!r}] is missing, while adata.uns[{key!r}] is there; call "
            f"branchwise.tl.{adata.uns[key][UNS.method]} again."
        )
    return in_memory(adata.obsm[name])


def in_units_of_data(model: Any, embedding: Any) -> Any:
    """Coordinates in the learned space; SPL's, the posterior mean, as those of the skeleton."""
    return (embedding.astype(np.float64) * data_scale(model)).astype(embedding.dtype)


def model_of(adata: "AnnData", key: str) -> Any:
    """The fitted estimator."""
    entry = entry_of(adata, key)
    again = f"call branchwise.tl.{entry[UNS.method]} again"
    if UNS.model not in entry:
        raise KeyError(f"adata.uns[{key!r}] has no {UNS.model!r}; {again}.")
    try:
        return estimator_from_state(restored(entry[UNS.model]))
    except Unsound as error:
        raise ValueError(f"adata.uns[{key!r}][{UNS.model!r}] {error}; {again}.") from error


def learned_trajectory(adata: "AnnData", key: str) -> Trajectory:
    """The cells on the graph as it was learned, with the root that comes first."""
    return trajectory_from(
        entry_of(adata, key), projection_of(adata, key), adata.obs_names, as_learned=True
    )


def trajectory_of(adata: "AnnData", key: str) -> Trajectory:
    """The cells on the graph as `tl.branches` and `tl.pseudotime` left it.

    Nothing is fitted or searched for: cells that were left out since are not missed.
    """
    return trajectory_from(entry_of(adata, key), projection_of(adata, key), adata.obs_names)


def trajectory_from(
    entry: dict[str, Any], points: Any, names: Any, *, as_learned: bool = False
) -> Trajectory:
    """Cells on the graph of an entry of uns."""
    left = None if as_learned else entry.get(UNS.trajectory)
    trajectory = Trajectory(
        entry[UNS.tree] if left is None else left[PLACED.edges],
        entry[UNS.centers] if left is None else left[PLACED.nodes],
        points,
        names=np.asarray(names, dtype=object),
        sigma=float(entry.get(UNS.sigma, 0.0)),
    )
    if left is None:
        return trajectory
    end = int(left[PLACED.end]) if PLACED.end in left else None
    return trajectory.rooted(node=[int(node) for node in left[PLACED.roots]], end=end)


def support_of(adata: "AnnData", key: str) -> Support | None:
    """What `tl.bootstrap` has found, if it was called."""
    entry, keys = entry_of(adata, key).get(UNS.support), keys_of(key)
    if entry is None:
        return None
    pandas = import_pandas()
    columns = {
        "std": keys.pseudotime_std,
        "lower": keys.pseudotime_lower,
        "upper": keys.pseudotime_upper,
        "branch_agreement": keys.branch_agreement,
    }
    obs = in_memory(adata.obs)
    times = {name: obs[column] for name, column in columns.items()}
    time = trajectory_of(adata, key).pseudotime_
    return Support(
        branches_=entry["branches"],
        milestones_=entry["milestones"],
        pseudotime_=pandas.DataFrame({"pseudotime": time, **times}, index=adata.obs_names),
        n_tips_=entry["n_tips"].set_index("n_tips")["n_resamples"],
        method_=str(entry["method"]),
        n_resamples_=int(entry["n_resamples"]),
        n_failed_=int(entry["n_failed"]),
        messages_=(),
        n_unconverged_=int(entry["n_unconverged"]),
    )


def steps_of(entry: dict[str, Any]) -> list[Step]:
    """Calls of methods of `Trajectory` that led from the learned graph to the stored one."""
    numbered = entry.get(UNS.trajectory, {}).get(PLACED.steps, {})
    steps = [restored(numbered[number]) for number in sorted(numbered)]
    # Lists, which can be compared, as they were given.
    steps = [{name: np.asarray(value).tolist() for name, value in step.items()} for step in steps]
    return [(step.pop("call"), step) for step in steps]


def numbered_steps(steps: list[Step]) -> dict[str, Any]:
    """The same for `uns`, which keeps no order."""
    return {str(k): {"call": call, **storable(given)} for k, (call, given) in enumerate(steps)}


def follow(adata: "AnnData", trajectory: Trajectory, steps: Any) -> Trajectory:
    """What the steps make of a trajectory."""
    for call, given in steps:
        if call == "rooted" and "labels" in given:
            given = {**given, "labels": column_of(adata, given["labels"], "The stored root")}
        trajectory = getattr(trajectory, call)(**given)
    return trajectory


def trajectory_entry(trajectory: Trajectory, steps: list[Step], end: int | None) -> dict[str, Any]:
    """A trajectory for `uns`."""
    entry = {
        PLACED.nodes: trajectory.nodes_,
        PLACED.edges: trajectory.edges_.astype(np.int64),
        PLACED.roots: trajectory.roots_.astype(np.int64),
        PLACED.steps: numbered_steps(steps),
    }
    return entry if end is None else {**entry, PLACED.end: end}


def without(entry: dict[str, Any], *names: str) -> dict[str, Any]:
    """An entry but for some of its items."""
    return {name: value for name, value in entry.items() if name not in names}
