"""From a trajectory, and what is known of its samples, to all that a page holds."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import __version__
from .._messages import listed
from ..pipeline import Pipeline
from ..placing.reference import Reference
from ..preprocessing import Preparation
from ..trajectory import Trajectory
from ..trajectory.branches import default_roots
from ..trajectory.checks import check_points
from .bins import Bins, binned_column, binned_samples, bins_notes, bins_of, bins_state
from .columns import (
    Column,
    annotation_columns,
    as_frame,
    column_state,
    computed_columns,
    row_names,
    unique_names,
)
from .embedded_model import model_state
from .embedded_trust import held_out_columns
from .encoding import double, indices, single
from .facts import evidence_state, known_facts, shareable
from .features import Features, features_in_page, given_features
from .views import views_of, views_state

VERSION = 1
# What can be coloured by without being a column; a column of that name is not what is meant.
COMPUTED = ("pseudotime", "branch")


def report_state(
    result: Trajectory | Pipeline,
    *,
    features: Any = None,
    feature_names: Any = None,
    show: Any = (),
    annotations: Any = None,
    names: Any = None,
    preparation: Preparation | None = None,
    color: str | None = None,
    title: str | None = None,
    facts: Mapping[str, Any] | None = None,
    notes: Any = (),
) -> dict[str, Any]:
    """All that a page holds, as nested dicts of text, numbers and arrays (docs/report.md).

    Parameters
    ----------
    result, features, feature_names, show, annotations, names, preparation, color, title, facts
        As for `branchwise.report.write_report`.
    notes : str or sequence of str
        Further sentences for the reader of the page.

    Returns
    -------
    state : dict

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise import DDRTree
    >>> from branchwise.report.content import report_state
    >>> from branchwise.trajectory import Trajectory
    >>> X = load_iris(as_frame=True).data
    >>> path = Trajectory.from_estimator(DDRTree(random_state=0).fit(X))
    >>> state = report_state(path, features=X)
    >>> state["n_samples"], [column["name"] for column in state["columns"]][-1]
    (150, 'uncertainty')
    """
    path, preparation, known_features, is_rooted = parts_of(result, preparation)
    reference = reference_of(result, preparation)
    n_samples, d = path.view.points.shape
    evidence = evidence_state(path)
    about = None if annotations is None else as_frame(annotations)
    if names is None and np.array_equal(path.names_, np.arange(n_samples)):
        names = row_names(about, n_samples)
    if names is not None:
        path = renamed(path, names)
    dims = min(d, 3)
    views = views_of(path, dims)
    bins = bins_of(path, path.view.points[:, :dims] if views is None else views.points)
    given = given_features(path, features, feature_names, show)
    noted: list[str] = [] if bins is None else bins_notes(bins)
    columns, said = annotation_columns(about, path.names_)
    noted += said
    trends = None
    if given is not None:
        wanted = [show] if isinstance(show, str) else list(show)
        if color in given.names and color not in {*COMPUTED, *(c.name for c in columns)}:
            wanted.append(color)
        n_rows = n_samples if bins is None else len(bins.sizes)
        chosen, trends, said = features_in_page(path, given, n_rows, wanted)
        columns += feature_columns(chosen, columns)
        noted += said
    columns += computed_columns(path, dims) + held_out_columns(path, reference)
    model = path.estimator_
    decimal = result.reading.get("decimal") if isinstance(result, Pipeline) else None
    placing = model_state(path, preparation, known_features, given, about, reference, decimal)
    known = known_facts(path, preparation, facts or {})
    ids = [str(name) for name in path.names_.tolist()]
    return {
        "version": VERSION,
        "title": default_title(path) if title is None else str(title),
        "branchwise": __version__,
        "method": "Trajectory" if model is None else type(model).__name__,
        "n_samples": n_samples,
        "n_components": d,
        "dims": dims,
        "axes": axes_of(path),
        "is_rooted": is_rooted,
        "color": checked_color(color, columns, is_rooted),
        "notes": [*noted, *map(str, [notes] if isinstance(notes, str) else notes)],
        "samples": samples_state(path, ids, bins, dims),
        "views": views_state(path, views, bins),
        "bins": None if bins is None else bins_state(bins, ids, dims),
        "graph": graph_state(path, d if "reason" not in placing else dims),
        "columns": [
            column_state(column) if bins is None else binned_column(column, bins)
            for column in columns
        ],
        "trends": trends,
        "evidence": evidence,
        "model": placing,
        "facts": shareable(known),
        "objective_history": double(getattr(model, "objective_history_", np.empty(0))),
    }


def parts_of(
    result: Any, preparation: Preparation | None
) -> tuple[Trajectory, Preparation | None, list[str] | None, bool]:
    """Trajectory, preparation, names of the features before it, and whether a root was given."""
    if isinstance(result, Pipeline):
        if preparation is not None:
            raise ValueError(
                "preparation was passed with a Pipeline, which brings its own; leave it out, or "
                "pass the trajectory of the pipeline."
            )
        return result.trajectory, result.preparation, result.features, result.is_rooted
    if isinstance(result, Trajectory):
        check_preparation(result, preparation)
        return result, preparation, None, bool(result.view.chosen_roots)
    raise TypeError(
        f"a report is made of a Trajectory or a Pipeline, not of a {type(result).__name__}; call "
        "to_html of a fitted estimator, or Trajectory.from_estimator first."
    )


def reference_of(
    result: Pipeline | Trajectory, preparation: Preparation | None
) -> Reference | None:
    """How far the training samples lie from the tree, if that is known of the table itself.

    That of a trajectory is about what it was learned from, which a preparation has changed.
    """
    if isinstance(result, Pipeline):
        return result.reference
    return result.reference_ if preparation is None else None


def check_preparation(path: Trajectory, preparation: Any) -> None:
    """One that was fitted, and makes as many features as the model was fitted to."""
    if preparation is None:
        return
    if not isinstance(preparation, Preparation):
        raise TypeError(
            f"preparation is a {type(preparation).__name__}, but must be a branchwise.Preparation, "
            "which a page can repeat; leave it out, or fit the model to what one makes."
        )
    if not hasattr(preparation, "steps_"):
        raise ValueError(
            "preparation is not fitted; pass the one that made what the model was fitted to."
        )
    n_made, model = len(preparation.get_feature_names_out()), path.estimator_
    if model is not None and n_made != model.n_features_in_:
        raise ValueError(
            f"preparation makes {n_made:,} features, but the {type(model).__name__} was fitted to "
            f"{model.n_features_in_:,}; pass the one that made what it was fitted to."
        )


def renamed(path: Trajectory, names: Any) -> Trajectory:
    """The same with other names of the samples; model files do not hold them."""
    _, checked = check_points(path.view.points, path.nodes_, names)
    return Trajectory.from_view(path.view, names=checked, estimator=path.estimator_)


def default_title(path: Trajectory) -> str:
    """What the page is called if nobody says."""
    method = "graph" if path.estimator_ is None else type(path.estimator_).__name__
    n_samples = len(path.names_)
    return f"{method} of {n_samples:,} sample{'' if n_samples == 1 else 's'}"


def axes_of(path: Trajectory) -> list[str]:
    """The names of the components."""
    if path.estimator_ is None:
        return [f"component {k + 1}" for k in range(path.nodes_.shape[1])]
    return [str(name) for name in path.estimator_.get_feature_names_out()]


def checked_color(color: str | None, columns: list[Column], is_rooted: bool) -> str | None:
    """What is coloured by at the start: as asked for, time, or the first annotation in groups."""
    if color is None:
        groups = [c.name for c in columns if c.group == "annotation" and c.labels is not None]
        return "pseudotime" if is_rooted else groups[0] if groups else "branch"
    names = [*COMPUTED, *(column.name for column in columns)]
    if color not in names:
        raise ValueError(
            f"color={color!r} is not a column of this page; the columns are {listed(names)}."
        )
    return color


def samples_state(path: Trajectory, ids: list[str], bins: Bins | None, dims: int) -> dict[str, Any]:
    """The samples, or their bins, in the learned space and on the graph."""
    if bins is not None:
        return binned_samples(path, bins, dims)
    return {
        "ids": ids,
        "points": single(path.view.points[:, :dims]),
        "edge": indices(path.placement_.edge),
        "position": double(path.placement_.position),
        "distance": single(path.distance_),
    }


def graph_state(path: Trajectory, node_dims: int) -> dict[str, Any]:
    """The graph, with all that is needed to let time run from another root."""
    return {
        "nodes": double(path.nodes_[:, :node_dims]),
        "node_dims": node_dims,  # fewer than the components if nothing is placed on it
        "edges": indices(path.edges_),
        "lengths": double(path.lengths_),
        "named": {
            "node": indices(np.array(list(path.view.milestone_names), dtype=np.intp)),
            "name": list(path.view.milestone_names.values()),
        },
        "roots": indices(path.roots_),
        "wanted": indices(np.array(path.view.chosen_roots, dtype=np.intp)),
        "default_roots": indices(default_roots(path.view.base, path.view.milestone_names)),
    }


def feature_columns(chosen: Features, others: list[Column]) -> list[Column]:
    """The features as columns, with names of their own."""
    taken = [column.name for column in others]
    names = unique_names([*taken, *chosen.names])[len(taken) :]
    return [Column(name, "feature", chosen.column(k)) for k, name in enumerate(names)]
