"""Simulated curves with noise: a circle, a spiral, a helix and others."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import make_interp_spline

from .._typing import Floats, Ints
from ..data.checks import check_count
from ..graph.placement import Placement
from ._simulated import (
    Simulated,
    add_noise,
    check_flag,
    check_number,
    check_rng,
    draw_places,
    with_truth,
)

# Panels between two knots, and nodes of the Gauss–Legendre rule on each: the lengths of the
# curves in use are right to about fifteen digits.
N_PANELS = 32
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)

# Points to draw a curve by.
N_DRAWN = 257


class Curve(NamedTuple):
    """A curve t ↦ c(t) from the first of its knots to the last, smooth between them."""

    point: Callable[[Floats], Floats]  # (n,) → (n, n_features)
    speed: Callable[[Floats], Floats]  # ‖c'(t)‖
    knots: Floats


class Ruler(NamedTuple):
    """Lengths of a curve up to the ends of panels."""

    bounds: Floats  # (n_panels + 1,): parameters
    lengths: Floats  # (n_panels + 1,)


def measure(curve: Curve) -> Ruler:
    """Lengths from the beginning of a curve, by Gauss–Legendre quadrature.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.datasets.shapes import Curve, measure
    >>> parabola = Curve(lambda t: np.column_stack([t, t**2]), lambda t: np.hypot(1, 2 * t),
    ...                  np.array([0.0, 1.0]))
    >>> bool(np.isclose(measure(parabola).lengths[-1], np.sqrt(5) / 2 + np.arcsinh(2) / 4))
    True
    """
    steps = np.linspace(0, 1, N_PANELS, endpoint=False)
    inner = curve.knots[:-1, None] + np.diff(curve.knots)[:, None] * steps
    bounds = np.append(inner.ravel(), curve.knots[-1])
    parts = _integrate(curve, bounds[:-1], bounds[1:])
    return Ruler(bounds, np.append(0.0, np.cumsum(parts)))


def positions(curve: Curve, ruler: Ruler, t: Floats) -> Floats:
    """The part of the curve's length that is before each parameter t.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.datasets.shapes import Curve, measure, positions
    >>> line = Curve(lambda t: t[:, None] ** 2, lambda t: 2 * t, np.array([0.0, 1.0]))
    >>> positions(line, measure(line), np.array([0.5])).round(12)
    array([0.25])
    """
    panel = np.clip(np.searchsorted(ruler.bounds, t, side="right") - 1, 0, len(ruler.bounds) - 2)
    walked = ruler.lengths[panel] + _integrate(curve, ruler.bounds[panel], t)
    return np.clip(walked / ruler.lengths[-1], 0.0, 1.0)


def parameters(ruler: Ruler, position: Floats) -> Floats:
    """Parameters at about some parts of the length: linear within a panel."""
    return np.interp(position * ruler.lengths[-1], ruler.lengths, ruler.bounds)


def _integrate(curve: Curve, low: Floats, high: Floats) -> Floats:
    """Length between two parameters of one panel, pair by pair."""
    half, middle = (high - low) / 2, (high + low) / 2
    total = np.zeros(len(low))
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        total += weight * curve.speed(middle + half * node)
    return half * total


class Shape(NamedTuple):
    """Curves between milestones, and how samples spread over them."""

    edges: tuple[tuple[int, int], ...]
    curves: tuple[Curve, ...]
    noise: float
    root: int | tuple[int, ...] = 0
    weights: tuple[float, ...] | None = None  # of the edges; their lengths if None
    gradient: float | tuple[float, ...] = 0.0
    at_ends: float = 0.0  # the part of the samples that moves to the nearer end of its edge


def through(*points: tuple[float, float], degree: int = 3) -> Curve:
    """A spline through points, whose parameter is the length of the lines that join them."""
    given = np.array(points)
    steps = np.linalg.norm(np.diff(given, axis=0), axis=1)
    knots = np.append(0.0, np.cumsum(steps))
    spline = make_interp_spline(knots, given, k=min(degree, len(given) - 1))
    velocity = spline.derivative()
    return Curve(spline, lambda t: np.linalg.norm(velocity(t), axis=1), knots)


def _spiral(first: float, growth: float, turns: float) -> Curve:
    """Radius first + growth·t at the angle t."""

    def point(t: Floats) -> Floats:
        return (first + growth * t)[:, None] * np.column_stack([np.cos(t), np.sin(t)])

    def speed(t: Floats) -> Floats:
        return np.hypot(first + growth * t, growth)

    return Curve(point, speed, np.array([0.0, 2 * np.pi * turns]))


def _half_circle(centre: tuple[float, float], sign: float) -> Curve:
    """The upper (sign 1) or lower (−1) half of a circle of radius 1, beginning outside."""

    def point(t: Floats) -> Floats:
        return np.array(centre) + sign * np.column_stack([-np.cos(t), np.sin(t)])

    return Curve(point, np.ones_like, np.array([0.0, np.pi]))


def _helix(stop: float) -> Curve:
    """The paper's helix up to that parameter; ‖c'(p)‖² = 64 + (2 + cos 8p)²."""

    def point(p: Floats) -> Floats:
        radius = 2 + np.cos(8 * p)
        return np.column_stack([radius * np.cos(p), radius * np.sin(p), np.sin(8 * p)])

    def speed(p: Floats) -> Floats:
        return np.hypot(8.0, 2 + np.cos(8 * p))

    return Curve(point, speed, np.linspace(0, stop, 9))


SHAPES: dict[str, Shape] = {
    "distorted_s": Shape(
        ((0, 1),),
        (
            through(
                *((-0.36, -0.04), (-0.26, -0.10), (-0.17, -0.16), (-0.03, -0.17), (0.08, -0.13)),
                *((0.05, -0.02), (-0.05, 0.05), (-0.06, 0.12), (0.06, 0.15), (0.20, 0.13)),
                (0.29, 0.08),
            ),
        ),
        noise=0.015,
    ),
    "spiral": Shape(((0, 1),), (_spiral(0.12, 0.065, 2.2),), noise=0.04),
    "zigzag": Shape(
        ((0, 1),),
        (through((0, 0), (0.25, 0.25), (0, 0.5), (0.25, 0.75), (0, 1), degree=1),),
        noise=0.008,
    ),
    "three_clusters": Shape(
        ((0, 1), (1, 2)),
        (through((0.43, 0.78), (0.2, 0.25)), through((0.2, 0.25), (0.72, 0.25))),
        noise=0.075,
        # A third of the samples at each of the three ends.
        weights=(0.5, 0.5),
        gradient=(-2 / 3, 2 / 3),
        at_ends=0.94,
    ),
    "tree": Shape(
        ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (1, 6), (2, 7), (3, 8), (4, 9)),
        (
            through((0.42, 0.0), (0.41, 0.14)),
            through((0.41, 0.14), (0.42, 0.32)),
            through((0.42, 0.32), (0.41, 0.5)),
            through((0.41, 0.5), (0.42, 0.66)),
            through((0.42, 0.66), (0.41, 1.0)),
            through((0.41, 0.14), (0.18, 0.15), (0.05, 0.3), (0.0, 0.6)),
            through((0.42, 0.32), (0.65, 0.31), (0.87, 0.45), (1.0, 0.78)),
            through((0.41, 0.5), (0.28, 0.58), (0.18, 0.75), (0.12, 1.0)),
            through((0.42, 0.66), (0.54, 0.72), (0.67, 0.84), (0.73, 1.0)),
        ),
        noise=0.02,
    ),
    "two_moons": Shape(
        ((0, 1), (2, 3)),
        (_half_circle((0.0, 0.0), 1.0), _half_circle((1.1, 0.3), -1.0)),
        noise=0.12,
        root=(0, 2),
    ),
}


def make_shape(
    name: str,
    n_samples: int = 300,
    *,
    noise: float | None = None,
    random_state: Any = None,
) -> Simulated:
    """Simulate points along one of the paper's shapes in the plane, with Gaussian noise.

    The paper shows these sets and does not print how they were made: the curves here are our own,
    with the form and about the scale and noise of those that it shows. Samples are uniform along
    the curves, except for the three clusters.

    - "distorted_s": a spline in the form of an S that leans over;
    - "spiral": 2.2 turns, the radius growing evenly with the angle;
    - "zigzag": four straight strokes, which are one branch with three corners;
    - "three_clusters": three milestones in a row, 94 % of the samples at one of them and the rest
      on the lines between them, the weak connections;
    - "tree": a straight trunk with four bent branches;
    - "two_moons": a forest of two half circles.

    Parameters
    ----------
    name : str
        A name in this list.
    n_samples : int, default=300
        Number of points.
    noise : float, default=None
        Standard deviation of the noise in both features; if None, about that of the paper's set.
    random_state : int, numpy.random.Generator or None, default=None
        Seed of the random numbers.

    Returns
    -------
    Simulated
        Points and truth.

    Examples
    --------
    >>> from branchwise.datasets import make_shape
    >>> made = make_shape("two_moons", 200, random_state=0)
    >>> made.root, made.truth.lengths.round(3)
    (array([0, 2]), array([3.142, 3.142]))
    """
    if not isinstance(name, str) or name not in SHAPES:
        raise ValueError(
            f"name={name!r} must be one of {', '.join(map(repr, SHAPES))}; choose one of these "
            "(make_helix makes the helix)."
        )
    shape = SHAPES[name]
    n_samples = check_count(n_samples, "n_samples")
    noise = shape.noise if noise is None else check_number(noise, "noise", 0)
    rng = check_rng(random_state)
    rulers = [measure(curve) for curve in shape.curves]
    lengths = np.array([ruler.lengths[-1] for ruler in rulers])
    gradient = np.broadcast_to(np.asarray(shape.gradient, dtype=float), len(lengths))
    weights = lengths if shape.weights is None else np.array(shape.weights)
    edge, position = draw_places(rng, n_samples, weights, gradient)
    moves = rng.random(n_samples) < shape.at_ends
    position[moves] = np.round(position[moves])
    parameter = np.empty(n_samples)
    for e, ruler in enumerate(rulers):
        parameter[edge == e] = parameters(ruler, position[edge == e])
    kind = f"the paper's shape {name!r} (a curve of our own)"
    return _on_curves(rng, shape, edge, parameter, noise, kind)


def make_helix(
    n_samples: int = 1000,
    *,
    noise: float = 0.05,
    full_turn: bool = True,
    random_state: Any = None,
) -> Simulated:
    r"""Simulate points along the paper's helix in space, with Gaussian noise.

    .. math::
        y = [(2 + \cos 8p) \cos p,\; (2 + \cos 8p) \sin p,\; \sin 8p]

    with p uniform, so that samples are a little denser where the curve is nearer to the axis.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of points.
    noise : float, default=0.05
        Standard deviation of the noise in each feature; the paper mentions none.
    full_turn : bool, default=True
        Whether p is from 0 to 2π: a closed curve, whose true graph is one milestone with an edge
        from there back to it. The paper's text has p from 0 to 1: an open curve, of about a sixth
        of the full one.
    random_state : int, numpy.random.Generator or None, default=None
        Seed of the random numbers.

    Returns
    -------
    Simulated
        Points and truth.

    Examples
    --------
    >>> from branchwise.datasets import make_helix
    >>> make_helix(100, random_state=0).truth.edges.tolist()
    [[0, 0]]
    >>> make_helix(100, full_turn=False, random_state=0).truth.edges.tolist()
    [[0, 1]]
    """
    n_samples = check_count(n_samples, "n_samples")
    noise = check_number(noise, "noise", 0)
    full_turn = check_flag(full_turn, "full_turn")
    rng = check_rng(random_state)
    stop = 2 * np.pi if full_turn else 1.0
    shape = Shape(((0, 0) if full_turn else (0, 1),), (_helix(stop),), noise)
    edge = np.zeros(n_samples, dtype=np.intp)
    parameter = rng.uniform(0, stop, size=n_samples)
    kind = f"the paper's helix, p uniform from 0 to {'2π' if full_turn else '1'}"
    return _on_curves(rng, shape, edge, parameter, noise, kind)


def _on_curves(
    rng: np.random.Generator,
    shape: Shape,
    edge: Ints,
    parameter: Floats,
    noise: float,
    kind: str,
) -> Simulated:
    """Noisy points on the curves of a shape, at some parameters of some of them."""
    edges = np.array(shape.edges, dtype=np.intp)
    n_nodes = int(edges.max()) + 1
    rulers = [measure(curve) for curve in shape.curves]
    curve = tuple(
        c.point(np.union1d(np.linspace(c.knots[0], c.knots[-1], N_DRAWN), c.knots))
        for c in shape.curves
    )
    n_features = curve[0].shape[1]
    milestones, clean = np.empty((n_nodes, n_features)), np.empty((len(edge), n_features))
    position = np.empty(len(edge))
    for e, (c, ruler) in enumerate(zip(shape.curves, rulers, strict=True)):
        milestones[edges[e]] = curve[e][[0, -1]]
        on_it = edge == e
        clean[on_it] = c.point(parameter[on_it])
        position[on_it] = positions(c, ruler, parameter[on_it])
    lengths = np.array([ruler.lengths[-1] for ruler in rulers])
    return with_truth(
        Placement(n_nodes, edges, lengths, edge, position),
        shape.root if isinstance(shape.root, int) else np.array(shape.root),
        X=add_noise(rng, clean, noise),
        clean=clean,
        milestones=milestones,
        curve=curve,
        description=f"simulated: {len(edge)} points along {kind}, with Gaussian noise of standard "
        f"deviation {noise:g}",
    )
