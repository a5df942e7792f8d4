"""The objective of a fit, iteration by iteration."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from sklearn.utils.validation import check_is_fitted

from .._docs import PICTURES, documented
from .._typing import Floats
from ..model_selection import check_learner
from .coloring import category_colors
from .style import new_axes, plain, tidy


@documented(PICTURES)
def plot_convergence(models: Any, *, scale: str = "auto", ax: Axes | None = None) -> Axes:
    """Draw the objective of fits after each iteration, and how they ended.

    Parameters
    ----------
    models : fitted SPL, DRTree or DDRTree, a list of these, or a dict of names and these
    scale : {"auto", "gap", "objective"}, default="auto"
        "gap": distance of the objective from its last value, which is therefore not drawn, on a
        logarithmic scale; for an SPL with a proof, from the upper bound that was proven.
        "objective": its values. "auto" is "gap" unless a fit has fewer than three different values.
    {ax}

    Returns
    -------
    ax : matplotlib Axes
        The last point of a fit is a filled circle if it has converged, a cross if it was stopped.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> from branchwise import DDRTree
    >>> from branchwise.plotting import plot_convergence
    >>> ax = plot_convergence(DDRTree(random_state=0).fit(load_iris().data))
    >>> ax.get_yscale(), ax.get_legend().get_texts()[0].get_text()
    ('log', 'DDRTree: converged after ... iterations')
    >>> matplotlib.pyplot.close(ax.figure)
    """
    named = check_models(models)
    if scale not in {"auto", "gap", "objective"}:
        raise ValueError(f"scale={scale!r} must be 'auto', 'gap' or 'objective'.")
    if scale == "auto":
        n_values = [len(np.unique(model.objective_history_)) for _, model in named]
        scale = "gap" if min(n_values) >= 3 else "objective"
    ax = new_axes(ax, figsize=(6.5, 4.0))
    handles = []
    for (_, model), color in zip(named, category_colors(len(named)), strict=True):
        history = np.asarray(model.objective_history_, dtype=np.float64)
        # SPL's begins with the value at the start.
        iteration = np.arange(len(history)) + (model.n_iter_ + 1 - len(history))
        values = gaps(model, history) if scale == "gap" else history
        drawn = np.flatnonzero(np.isfinite(values))
        last = [len(drawn) - 1] if len(drawn) else []
        end: dict[str, Any] = {
            "marker": "o" if model.converged_ else "X",
            "markersize": 7,
            "markevery": last,
        }
        handles += ax.plot(iteration[drawn], values[drawn], color=color, linewidth=1.6, **end)
    if scale == "gap":
        ax.set_yscale("log")
    ax.set(xlabel="iteration", ylabel=axis_name(scale, [model for _, model in named]))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    tidy(ax)
    ax.grid(axis="y", color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)
    legend = ax.legend(handles, [""] * len(handles), frameon=False, fontsize="small")
    # Labels that start with an underscore would be left out if they were given at once.
    for text, (name, model) in zip(legend.get_texts(), named, strict=True):
        text.set_text(f"{plain(name)}: {outcome(model)}")
    return ax


def check_models(models: Any) -> list[tuple[str, Any]]:
    """Fitted estimators and their names; numbered if there are several of a kind."""
    if isinstance(models, dict):
        named = [(str(name), model) for name, model in models.items()]
    else:
        several = list(models) if isinstance(models, list | tuple) else [models]
        kinds = [type(model).__name__ for model in several]
        number = [f" {kinds[: k + 1].count(kind)}" for k, kind in enumerate(kinds)]
        named = [
            (kind + (number[k] if kinds.count(kind) > 1 else ""), several[k])
            for k, kind in enumerate(kinds)
        ]
    if not named:
        raise ValueError("models is empty; pass at least one fitted estimator.")
    for _, model in named:
        check_learner(model)
        check_is_fitted(model)
    return named


def gaps(model: Any, history: Floats) -> Floats:
    """Distances from the last value, or from a proven bound; NaN where rounding is all there is."""
    proven = float(getattr(model, "optimality_gap_", np.nan))
    goal = history[-1] + (proven if np.isfinite(proven) else 0.0)
    gap = np.abs(goal - history)
    gap[gap <= 1e-15 * np.abs(history).max()] = np.nan
    return gap


def axis_name(scale: str, models: list[Any]) -> str:
    """What the vertical axis shows."""
    if scale == "objective":
        return "objective"
    n_proven = sum(np.isfinite(getattr(model, "optimality_gap_", np.nan)) for model in models)
    if n_proven == 0:
        return "distance of the objective from its last value"
    if n_proven == len(models):
        return "distance of the objective from its proven bound"
    return "distance of the objective from its last value\n(SPL: from its proven bound)"


def outcome(model: Any) -> str:
    """How a fit ended."""
    ended = "converged" if model.converged_ else "stopped"
    plural = "" if model.n_iter_ == 1 else "s"
    return f"{ended} after {model.n_iter_:,} iteration{plural}"
