"""A trajectory made once more, from other data of the same samples, as the first one was."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from .._compat import rows_of
from .._typing import Ints
from ..model_selection import weigh_tree
from .core import Trajectory
from .geometry import place
from .recipe import Landmark, Recipe, Step, found_again
from .roots import Root


def bootstrapped(
    rng: np.random.Generator, model: Any, X: Any, recipe: Recipe, roots: list[Landmark]
) -> tuple[Trajectory, float, bool]:
    """A fit to the different ones of rows drawn with replacement, all samples on its graph."""
    n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
    rows = np.unique(rng.integers(n_samples, size=n_samples))
    seed = int(rng.integers(2**31 - 1))
    model = clone(model).set_params(random_state=seed)
    weigh_tree(model, len(rows) / n_samples)
    model.fit(rows_of(model, X, rows))
    points = np.asarray(model.transform(rows_of(model, X, np.arange(n_samples), rows)))
    (_, options), *steps = recipe
    fitted = Trajectory.from_estimator(model, points=points, **options)
    part = len(rows) / n_samples
    return repeated(fitted, steps, rows, roots), part, bool(model.converged_)


def drawn(rng: np.random.Generator, trajectory: Trajectory) -> tuple[Trajectory, float, bool]:
    """Samples drawn from the posterior on the graph as it is; nothing is fitted."""
    seed = int(rng.integers(2**31 - 1))
    points = trajectory.estimator_.sample_posterior(1, random_state=seed)[0]
    points = points.astype(np.float64) * trajectory._samples.scale
    roots = [Root("node", int(node)) for node in trajectory.roots_]
    placed = place(trajectory.nodes_, trajectory.edges_, points)
    return trajectory._view(placed, roots, None), 1.0, True


def repeated(
    trajectory: Trajectory,
    steps: Sequence[Step],
    rows: Ints,
    roots: list[Landmark],
) -> Trajectory:
    """What the recipe makes of another trajectory of the same samples.

    Parameters
    ----------
    trajectory : Trajectory
        As it comes from an estimator.
    steps : sequence of (method, arguments)
        Those of the recipe after the first one, the estimator.
    rows : array of rows
        The samples that the estimator was fitted to: they tell the noise.
    roots : list of Landmark
        Roots for connected parts that the recipe gives none.
    """
    for method, given in steps:
        if method == "merge":
            present = trajectory._n_branches
            trajectory = trajectory.merge(min(given["n_branches"], present))
        elif method == "prune":
            trajectory = _pruned(trajectory, rows, **given)
        elif "near" in given:
            there = [_found(trajectory, landmark) for landmark in given["near"]]
            trajectory = trajectory._view(trajectory._base, there, None)
        else:
            trajectory = trajectory.rooted(**given)
    base = trajectory._base
    has_root = base.parts[_nodes(trajectory, trajectory._roots)]
    there = [_found(trajectory, landmark) for landmark in roots]
    missing = ~np.isin(base.parts[_nodes(trajectory, there)], has_root)
    there = [root for root, is_missing in zip(there, missing, strict=True) if is_missing]
    return trajectory._view(base, [*trajectory._roots, *there], None)


def _pruned(
    trajectory: Trajectory,
    rows: Ints,
    min_length: float | None,
    min_samples: int | None,
    near: list[Landmark] | None = None,
) -> Trajectory:
    if near is not None:
        there = [_found(trajectory, landmark) for landmark in near]
        tips = [trajectory._names[root.which] for root in there if root.kind == "node"]
        return trajectory.prune(min_length, min_samples=min_samples, tips=sorted(set(tips)))
    if min_length is None and min_samples is None:
        min_length = trajectory._least_length(rows)
    return trajectory.prune(min_length, min_samples=min_samples)


def _found(trajectory: Trajectory, landmark: Landmark) -> Root:
    return found_again(landmark, trajectory._base, trajectory._base_segments, trajectory._names)


def _nodes(trajectory: Trajectory, roots: list[Root]) -> Ints:
    """A node of the connected part of each root."""
    base = trajectory._base
    nodes = [k if kind == "node" else base.edges[base.edge[k], 0] for kind, k in roots]
    return np.array(nodes, dtype=np.intp)
