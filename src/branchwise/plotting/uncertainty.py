"""How far samples may be from where they are drawn."""

from numbers import Real
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection
from matplotlib.colors import to_rgba
from scipy import stats

from .._docs import PICTURES, documented
from .._typing import Floats, Ints
from ..data.checks import check_count
from ..trajectory import Trajectory
from ..trajectory.bootstrap import Support
from ..trajectory.geometry import data_scale
from .coloring import PALETTE, resolve_color
from .embedding import check_components, plot_embedding
from .points import MOST_VECTOR_SHAPES, draw_lines, draw_points
from .scene import scene_of
from .style import ink, new_axes, note, tidy


@documented(PICTURES)
def plot_uncertainty(
    result: Any,
    *,
    draws: Any = None,
    level: float = 0.95,
    max_samples: int = 100,
    samples: Any = None,
    components: Any = None,
    color: str = PALETTE[1],
    ax: Axes | None = None,
) -> Axes:
    """Draw ellipses that hold samples with a given probability, or intervals of pseudotime.

    Without ``draws`` the ellipses are circles, from the posterior of SPL: every column of its
    embedding is normal with the standard deviation s of ``posterior_std_``, independently of the
    others, so that two of them lie within √(χ²₂(level))·s, 2.45·s for 95 %, with the given
    probability. With n draws of the embedding, the ellipse of a sample is the region that holds
    another draw with that probability if draws are normal,

        (x − m)ᵀ S⁻¹ (x − m) ≤ 2(n − 1)(n + 1)/(n(n − 2))·F(level; 2, n − 2),

    with their mean m and covariance S. Each region is that of one sample: together, all hold less
    often.

    Parameters
    ----------
    result : SPL, Trajectory or Support
        A fitted SPL, or a trajectory made from one; with ``draws`` any fitted estimator. What
        `Trajectory.support` returns is drawn as intervals: samples in the order of their
        pseudotime, at the level that was asked for there.
    draws : array of shape (n_draws, n_samples, n_components) or None, default=None
        Embeddings as they might have been, in the same axes, for instance those of
        `SPL.sample_posterior`; at least 3.
    level : float, default=0.95
    max_samples : int, default=100
        Of more samples so many are chosen at random, and the picture says so.
    samples : array of int or None, default=None
        The samples to draw, instead.
    components : pair of int or None, default=None
        The columns to draw; None: the first two.
    color : str, default="#D55E00"
    {ax}
        A new one of an embedding has its samples in it.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> from branchwise import SPL
    >>> from branchwise.plotting import plot_uncertainty
    >>> model = SPL(gamma=10.0).fit(load_iris().data)
    >>> ax = plot_uncertainty(model, max_samples=50)
    >>> ax.get_title(loc="left")
    '95 % regions of 50 of 150 samples'
    >>> matplotlib.pyplot.close(ax.figure)
    """
    if isinstance(result, Support):
        if draws is not None:
            raise ValueError("draws are for an embedding; a Support has its own intervals.")
        return draw_intervals(result, new_axes(ax), max_samples, samples, color)
    if not isinstance(level, Real) or not 0 < level < 1:
        raise ValueError(f"level={level!r} must be above 0 and below 1.")
    points = scene_of(result).points
    columns = check_components(components, 2, points.shape[1])
    rows = chosen_rows(samples, max_samples, len(points))
    if draws is None:
        model = posterior_of(result)
        # The posterior mean and its spread, in units of the data.
        radius = np.sqrt(stats.chi2.ppf(level, 2)) * data_scale(model) * model.posterior_std_[rows]
        centers, widths = model.skeleton_[rows][:, columns], 2 * np.column_stack([radius, radius])
        angles = np.zeros(len(rows))
    else:
        model = result.estimator_ if isinstance(result, Trajectory) else result
        drawn = data_scale(model) * check_draws(draws, points.shape)[:, rows][:, :, columns]
        centers, widths, angles = ellipses(drawn, level)
    if ax is None:
        ax = plot_embedding(result, components=columns, color="0.35", milestones=False)
    else:
        new_axes(ax)
    ax.add_collection(
        EllipseCollection(
            *widths.T,
            angles,
            offsets=centers,
            units="xy",
            offset_transform=ax.transData,
            facecolors=to_rgba(color, float(np.clip(2 / len(rows), 0.02, 0.15))),
            edgecolors=to_rgba(color, 0.6),
            linewidths=0.6,
            rasterized=len(rows) > MOST_VECTOR_SHAPES,
            zorder=1,  # beneath the samples and their graph
        )
    )
    # Matplotlib takes the centres into account, not the widths.
    reach = widths.max(axis=1, keepdims=True) / 2
    ax.update_datalim(np.vstack([centers - reach, centers + reach]))
    ax.autoscale_view()
    note(ax, f"{percent(level)} regions of {part_of(len(rows), len(points))} samples")
    return ax


def posterior_of(result: Any) -> Any:
    """The SPL with the posterior that is to be drawn."""
    model = result.estimator_ if isinstance(result, Trajectory) else result
    if not hasattr(model, "posterior_std_"):
        raise ValueError(
            f"{type(model).__name__} has no posterior; pass draws of its embedding, for instance "
            "of fits to resampled data, or fit SPL."
        )
    if model.gamma_ == 0:
        raise ValueError(
            "gamma=0 leaves the posterior mean at zero, so that regions about embedding_ would "
            "mean nothing; fit with gamma above 0."
        )
    return model


def check_draws(draws: Any, shape: tuple[int, ...]) -> Floats:
    """Embeddings of the same samples."""
    drawn = np.asarray(draws, dtype=np.float64)
    if drawn.ndim != 3 or drawn.shape[1:] != shape or len(drawn) < 3:
        raise ValueError(
            f"draws has shape {drawn.shape} but must have shape (n_draws, {shape[0]}, {shape[1]}) "
            "with at least 3 draws; stack embeddings of all samples."
        )
    if not np.isfinite(drawn).all():
        raise ValueError("draws has values that are not finite; leave out draws that failed.")
    return drawn


def ellipses(draws: Floats, level: float) -> tuple[Floats, Floats, Floats]:
    """Centres, full axes and angles in degrees of the regions of each sample's draws.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.plotting.uncertainty import ellipses
    >>> cross = np.array([[1.0, 0], [-1, 0], [0, 2], [0, -2]])[:, np.newaxis]
    >>> centers, axes, angles = ellipses(cross, 0.5)
    >>> centers.tolist(), float(axes[0, 0] / axes[0, 1]), float(abs(angles[0]))
    ([[0.0, 0.0]], 2.0, 90.0)
    """
    n = len(draws)
    mean = draws.mean(axis=0)
    apart = draws - mean
    covariance = np.einsum("nsi,nsj->sij", apart, apart) / (n - 1)
    values, vectors = np.linalg.eigh(covariance)
    factor = 2 * (n - 1) * (n + 1) / (n * (n - 2)) * stats.f.ppf(level, 2, n - 2)
    widths = 2 * np.sqrt(factor * np.maximum(values[:, ::-1], 0.0))
    angles = np.degrees(np.arctan2(vectors[:, 1, 1], vectors[:, 0, 1]))
    return mean, widths, angles


def chosen_rows(samples: Any, max_samples: int, n_samples: int) -> Ints:
    """The rows that are asked for, or some at random."""
    if samples is None:
        check_count(max_samples, "max_samples")
        if n_samples <= max_samples:
            return np.arange(n_samples)
        return np.sort(np.random.default_rng(0).choice(n_samples, max_samples, replace=False))
    rows = np.asarray(samples)
    if rows.dtype == bool and rows.shape == (n_samples,):
        rows = np.flatnonzero(rows)
    valid = rows.ndim == 1 and rows.dtype.kind in "iu" and len(rows) > 0
    if not valid or rows.min() < -n_samples or rows.max() >= n_samples:
        raise ValueError(
            f"samples must be row numbers from 0 to {n_samples - 1}, at least one, or one truth "
            "value for each sample."
        )
    return np.arange(n_samples)[rows]


def draw_intervals(result: Support, ax: Axes, max_samples: int, samples: Any, color: str) -> Any:
    """Pseudotime of samples in order, each with its interval."""
    table = result.pseudotime_
    rows = chosen_rows(samples, max_samples, len(table))
    part = table.iloc[rows].sort_values("pseudotime", kind="stable")
    time, lower, upper = (part[name].to_numpy() for name in ("pseudotime", "lower", "upper"))
    place = np.arange(len(part)) + 1.0
    known = np.isfinite(lower) & np.isfinite(upper)
    draw_lines(
        ax,
        np.column_stack([place, lower])[known],
        np.column_stack([place, upper])[known],
        color=color,
        linewidths=1.2,
        alpha=0.5,
        zorder=1.5,
    )
    draw_points(ax, np.column_stack([place, time]), resolve_color(ink(ax)[0], len(part)), size=5)
    ax.autoscale_view()
    ax.set(xlabel="samples in the order of pseudotime", ylabel="pseudotime")
    tidy(ax)
    # The level is in the intervals: upper = time + z·std.
    spread = table["std"].to_numpy()
    reach = (table["upper"] - table["pseudotime"]).to_numpy()
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.nanmedian(reach / spread) if np.any(spread > 0) else np.nan
    name = f"{percent(2 * stats.norm.cdf(z) - 1)} intervals" if np.isfinite(z) else "No intervals"
    note(ax, f"{name} of {part_of(len(rows), len(table))} samples")
    return ax


def percent(level: float) -> str:
    """A level as it is written in a text: 95 %."""
    return f"{100 * level:.4g} %"


def part_of(n_drawn: int, n_all: int) -> str:
    """How many there are, and of how many."""
    return f"{n_all:,}" if n_drawn == n_all else f"{n_drawn:,} of {n_all:,}"
