"""A trajectory as a state that a model file holds, and back."""

from typing import Any

import numpy as np

from .._compat import import_pandas
from .._typing import Floats, Ints
from ..data.dask import is_dask
from ..trajectory.bootstrap import Support
from ..trajectory.checks import check_edges, check_points, check_positions, check_sigma
from ..trajectory.core import Trajectory
from ..trajectory.view import Root, View
from .estimators import estimator_from_state, estimator_state
from .format import Unsound
from .reference import reference_from_state, reference_state

# Columns of the tables of support.
NUMBERS = ("support", "similarity", "n_samples")


def trajectory_state(trajectory: Trajectory) -> dict[str, Any]:
    """Graph, roots, support and estimator; the samples only if the estimator does not hold them.

    Names of samples are not part of it.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory import Trajectory
    >>> from branchwise.persistence.trajectory import trajectory_from_state, trajectory_state
    >>> path = Trajectory([[0, 1], [1, 2]], np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 2.0]]))
    >>> trajectory_from_state(trajectory_state(path.rooted(node="T2")))
    <Trajectory: 3 samples, 1 branch, 2 tips, rooted at T2>
    """
    view, model = trajectory.view, trajectory.estimator_
    # The file of an estimator is without points that stay on the workers of Dask.
    is_fitted = (
        model is not None
        and not is_dask(model.projection_)
        and np.array_equal(view.points, model.projection_)
    )
    return {
        "kind": "trajectory",
        "estimator": None if model is None else estimator_state(model),
        "nodes": view.base.nodes,
        "edges": view.base.edges,
        "points": None if is_fitted else view.points,
        "roots": [[root.kind, int(root.which)] for root in view.roots],
        "end": view.end,
        "sigma": view.sigma,
        "support": None if trajectory.support_ is None else support_state(trajectory.support_),
        "reference": reference_state(trajectory.reference_),
    }


def trajectory_from_state(state: dict[str, Any]) -> Trajectory:
    """The trajectory of a state, with every part of it checked.

    `Trajectory.support` cannot repeat how it was made: that needs the trajectory itself.
    """
    try:
        model = None if state["estimator"] is None else estimator_from_state(state["estimator"])
        nodes = check_positions(state["nodes"], "nodes")
        edges = _edges(np.asarray(state["edges"]), len(nodes))
        given = state["points"]
        if given is None and model is not None:
            given = model.projection_
        points, names = check_points(given, nodes, None)
        roots = tuple(_root(root, len(nodes), len(points)) for root in state["roots"])
        end = None if state["end"] is None else _root(["node", state["end"]], len(nodes), 0).which
        sigma = check_sigma(state["sigma"])
        # Files of the first releases are without it.
        support = support_from_state(state.get("support"))
        reference = reference_from_state(state.get("reference"), _sizes(model, points))
    except Unsound:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Unsound(
            f"holds a trajectory that is not as branchwise writes it ({error})"
        ) from error
    view = View.placed(nodes, edges, points, sigma=sigma, roots=roots, end=end)
    trajectory = Trajectory.from_view(view, names=names, estimator=model).with_reference(reference)
    return trajectory if support is None else trajectory.with_support(support)


def _sizes(model: Any, points: Floats) -> tuple[int, int, int]:
    """Those that `reference_from_state` wants; there is none without an estimator."""
    d, n_features = (0, 0) if model is None else model.components_.shape
    return d, n_features, len(points)


def support_state(support: Support) -> dict[str, Any]:
    """How often branches, tips and forks were found again; not the times of single samples."""
    tables = {"branches": support.branches_, "milestones": support.milestones_}
    return {
        **{name: _table_state(table) for name, table in tables.items()},
        "n_tips": [[int(n), int(count)] for n, count in support.n_tips_.items()],
        "method": support.method_,
        "n_resamples": int(support.n_resamples_),
        "n_failed": int(support.n_failed_),
        "messages": list(support.messages_),
        "n_unconverged": int(support.n_unconverged_),
    }


def _table_state(table: Any) -> dict[str, Any]:
    state: dict[str, Any] = {"name": [str(name) for name in table.index]}
    state |= {name: table[name].to_numpy(dtype=float) for name in NUMBERS}
    if "kind" in table:
        state["kind"] = [str(kind) for kind in table["kind"]]
    return state


def support_from_state(state: Any) -> Support | None:
    """What a state says of a bootstrap; nothing without pandas, whose tables it is made of."""
    if state is None:
        return None
    if not isinstance(state, dict):
        raise Unsound(f"holds a support that is not a record, but {type(state).__name__}")
    try:
        pandas = import_pandas()
    except ImportError:
        return None
    branches = _table(pandas, state["branches"], "branch")
    milestones = _table(pandas, state["milestones"], "milestone")
    milestones.insert(0, "kind", _texts(state["milestones"]["kind"], len(milestones)))
    tips = dict(_counts(pair) for pair in state["n_tips"])
    counts = [state[name] for name in ("n_resamples", "n_failed", "n_unconverged")]
    if any(not isinstance(n, int) or isinstance(n, bool) or n < 0 for n in counts):
        raise Unsound(f"holds numbers of resamples that are not counts, {counts}")
    return Support(
        branches_=branches,
        milestones_=milestones,
        pseudotime_=pandas.DataFrame(),
        n_tips_=pandas.Series(
            list(tips.values()), pandas.Index(list(tips), name="n_tips"), name="count"
        ),
        method_=str(state["method"]),
        n_resamples_=counts[0],
        n_failed_=counts[1],
        messages_=tuple(map(str, state["messages"])),
        n_unconverged_=counts[2],
    )


def _table(pandas: Any, state: Any, index: str) -> Any:
    """A table of support, each part of the resamples from 0 to 1."""
    n_rows = len(state["name"])
    names = pandas.Index(_texts(state["name"], n_rows), name=index)
    columns = {name: np.asarray(state[name], dtype=float) for name in NUMBERS}
    shares = np.concatenate([columns["support"], columns["similarity"]])
    if any(column.shape != (n_rows,) for column in columns.values()):
        raise Unsound("holds a table of support with columns of several lengths")
    if ((shares < 0) | (shares > 1)).any() or not np.isfinite(columns["n_samples"]).all():
        raise Unsound("holds a support that is not a part of the resamples")
    columns["n_samples"] = columns["n_samples"].astype(int)
    return pandas.DataFrame(columns, index=names)


def _texts(given: Any, n: int) -> list[str]:
    if not isinstance(given, list) or len(given) != n or not all(isinstance(t, str) for t in given):
        raise Unsound(f"holds {given!r} in place of {n} names")
    return given


def _counts(pair: Any) -> tuple[int, int]:
    number, count = pair
    if not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in pair):
        raise Unsound(f"holds {pair!r} in place of a number of tips and how often it was found")
    return number, count


def _edges(edges: Any, n_nodes: int) -> Ints:
    """Edges in their own order, with the loops of nodes that stand alone."""
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise TypeError(f"edges of shape {edges.shape}")
    check_edges(edges, n_nodes)
    return edges.astype(np.intp)


def _root(given: Any, n_nodes: int, n_samples: int) -> Root:
    kind, which = given
    limit = {"node": n_nodes, "sample": n_samples}[kind]
    if not isinstance(which, int) or isinstance(which, bool) or not 0 <= which < limit:
        raise Unsound(f"holds a trajectory with {kind} {which!r} of {limit}")
    return Root(kind, which)
