"""Simulated counts of differentiating cells."""

from typing import Any

import numpy as np
from scipy import sparse as sp
from scipy.integrate import simpson

from .._typing import Floats, Matrix
from ..data.checks import check_count
from ..graph.placement import Placement
from ._simulated import (
    Simulated,
    check_each,
    check_flag,
    check_lengths,
    check_number,
    check_rng,
    check_sampling,
    draw_places,
    with_truth,
)
from .topologies import Arcs, Topology, check_topology, drawn, join, milestones_of, on_arcs

# Counts at a time.
BLOCK = 2**21
# Points to draw a branch by, in as many dimensions as there are genes.
N_DRAWN = 17
# Largest mean of a count, and largest natural logarithm of a fold change.
LARGEST_MEAN, LARGEST_LOG = 1e12, 50.0


def make_cells(
    n_samples: int = 500,
    n_genes: int = 200,
    *,
    topology: Any = "bifurcation",
    lengths: Any = None,
    curvature: float = 1.0,
    responding: float = 0.3,
    weights: Any = None,
    gradient: Any = 0.0,
    mean_count: float = 1.0,
    dispersion: Any = 0.2,
    dropout: float = 0.1,
    library_sd: float = 0.3,
    sparse: bool = False,
    dtype: Any = np.int32,
    keep_means: bool | None = None,
    random_state: Any = None,
) -> Simulated:
    r"""Simulate counts of cells that differentiate along a tree: negative binomial, with dropout.

    The logarithm of the mean expression is on a tree of arcs, as in ``make_tree``, so that every
    gene changes smoothly along a branch and continuously at a fork; where a branch bends, a
    gene can rise and fall again. On each branch a random part of the genes responds. The averages
    of the genes over the tree differ by a log-normal factor with σ = 1.

    Cell i has a library of relative size :math:`s_i`, log-normal with mean 1. With the mean
    expression :math:`m_{ig}` of gene g and :math:`\mu_{ig} = s_i m_{ig}`, a count is negative
    binomial with mean :math:`\mu_{ig}` and variance
    :math:`\mu_{ig} + \phi_g \mu_{ig}^2`, and is lost, that is zero, with probability
    :math:`K / (K + \mu_{ig})`.

    Parameters
    ----------
    n_samples : int, default=500
        Number of cells.
    n_genes : int, default=200
        Number of genes, at least twice the number of branches.
    topology : str or array-like, default="bifurcation"
        As in ``make_tree``.
    lengths : float or array-like of shape (n_edges,), default=None
        Lengths of the branches; uniform between 0.7 and 1.3 if None. A unit of length is a change
        of the log mean expression (natural logarithm) by 1, as root mean square over all genes.
    curvature : float, default=1
        Angle in radians, from 0 to π, by which a branch turns.
    responding : float, default=0.3
        The part of the genes that respond on a branch, chosen for each branch on its own.
    weights, gradient : optional
        Uneven sampling, as in ``make_tree``.
    mean_count : float, default=1
        Mean expression, averaged over the genes and over the tree.
    dispersion : float or array-like of shape (n_genes,), default=0.2
        The φ of each gene; 0 for Poisson counts.
    dropout : float, default=0.1
        The K of the model: the mean count at which half of the counts are lost; 0 for none.
    library_sd : float, default=0.3
        Standard deviation of the logarithm of the library size, at most 3; 0 for equal ones.
    sparse : bool, default=False
        Whether the counts are a CSR array. They are drawn in blocks of cells: there is never a
        dense copy of all of them.
    dtype : dtype, default=numpy.int32
        Type of the counts.
    keep_means : bool, default=None
        Whether to return the mean expression `clean`, a dense array; if None, unless `sparse`.
    random_state : int, numpy.random.Generator or None, default=None
        Seed of the random numbers.

    Returns
    -------
    Simulated
        Counts `X`; mean expression m without library size and dropout in `clean`, `milestones`
        and `curve`; library sizes s in `size_factors`. The lengths of the truth are those of the
        curve of log m, divided by √n_genes.

    Examples
    --------
    >>> from branchwise.datasets import make_cells
    >>> made = make_cells(300, 50, topology="binary", sparse=True, random_state=0)
    >>> made.X.shape, made.X.dtype, made.names[:2]
    ((300, 50), dtype('int32'), ('root', 'fork 1'))
    """
    n_samples, n_genes = check_count(n_samples, "n_samples"), check_count(n_genes, "n_genes")
    tree = check_topology(topology)
    if n_genes < 2 * len(tree.edges):
        raise ValueError(
            f"n_genes={n_genes} must be at least twice the number of branches, "
            f"{2 * len(tree.edges)}, for these not to meet; raise n_genes."
        )
    angle = check_number(curvature, "curvature", 0, np.pi)
    share = check_number(responding, "responding", 0, 1, is_open=True)
    mean_count = check_number(mean_count, "mean_count", 0, is_open=True)
    spread = check_each(dispersion, "dispersion", n_genes, 0, of="genes")
    half = check_number(dropout, "dropout", 0)
    library_sd = check_number(library_sd, "library_sd", 0, 3)
    kind = _check_dtype(dtype)
    sparse = check_flag(sparse, "sparse")
    keep = not sparse if keep_means is None else check_flag(keep_means, "keep_means")
    rng = check_rng(random_state)
    length = check_lengths(rng, lengths, len(tree.edges))
    weight, slope = check_sampling(weights, gradient, length)

    arcs = _programmes(rng, tree, length, n_genes, angle, share)
    level = np.exp(rng.standard_normal(n_genes))
    level *= mean_count / level.mean()
    curve = tuple(np.exp(points) for points in drawn(arcs, N_DRAWN))
    level /= _averages(curve, length)
    curve = tuple(level * points for points in curve)
    largest = max(points.max() for points in curve)
    if largest > LARGEST_MEAN:
        raise ValueError(
            f"mean_count={mean_count:g} gives a gene of mean {largest:.1e}, but means must be at "
            f"most {LARGEST_MEAN:.0e}; lower mean_count or lengths."
        )
    edge, position = draw_places(rng, n_samples, weight, slope)
    sizes = np.exp(library_sd * rng.standard_normal(n_samples) - library_sd**2 / 2)

    clean = np.empty((n_samples, n_genes)) if keep else None
    dense = None if sparse else np.empty((n_samples, n_genes), dtype=kind)
    blocks = []
    step = max(1, BLOCK // n_genes)
    for first in range(0, n_samples, step):
        rows = slice(first, first + step)
        means = on_arcs(arcs, edge[rows], position[rows])
        np.exp(means, out=means)
        means *= level
        if clean is not None:
            clean[rows] = means
        means *= sizes[rows, None]
        counts = _fitting(_draw_counts(rng, means, spread, half), kind)
        if dense is None:
            blocks.append(sp.csr_array(counts))
        else:
            dense[rows] = counts
    X: Matrix = sp.vstack(blocks, format="csr") if dense is None else dense
    return with_truth(
        Placement(tree.n_nodes, tree.edges, length, edge, position),
        tree.root,
        X=X,
        clean=clean,
        milestones=level * np.exp(milestones_of(arcs, tree)),
        curve=curve,
        size_factors=sizes,
        description=f"simulated: negative binomial counts, with dropout, of {n_samples} cells and "
        f"{n_genes} genes along a tree of {len(length)} branches",
    )


def _programmes(
    rng: np.random.Generator,
    tree: Topology,
    lengths: Floats,
    n_genes: int,
    angle: float,
    share: float,
) -> Arcs:
    """The tree of log expression, with the root at the origin.

    Both directions of a branch are zero but for the genes that respond on it.
    """
    n_edges, n_responding = len(lengths), max(2, round(share * n_genes))
    along, across = np.zeros((2, n_edges, n_genes))
    for e in range(n_edges):
        genes = rng.choice(n_genes, size=n_responding, replace=False)
        directions = np.linalg.qr(rng.standard_normal((n_responding, 2)))[0]
        along[e, genes], across[e, genes] = directions.T
    start, arc_lengths = np.zeros((n_edges, n_genes)), lengths * np.sqrt(n_genes)
    arcs = join(Arcs(start, along, across, arc_lengths, angle), tree)
    largest = max(np.abs(points).max() for points in drawn(arcs, N_DRAWN))
    if not largest <= LARGEST_LOG:
        raise ValueError(
            f"lengths up to {lengths.max():g} change the log mean expression of a gene by "
            f"{largest:.3g}, but must change it by at most {LARGEST_LOG:g}; lower lengths or raise "
            "responding."
        )
    return arcs


def _averages(curve: tuple[Floats, ...], lengths: Floats) -> Floats:
    """Mean of each gene over the tree, by Simpson's rule along each branch."""
    averages = [simpson(points, dx=1 / (N_DRAWN - 1), axis=0) for points in curve]
    return np.average(averages, axis=0, weights=lengths)


def _draw_counts(rng: np.random.Generator, means: Floats, spread: Floats, half: float) -> Floats:
    """Negative binomial counts as a Poisson–gamma mixture, some of them lost."""
    varies = spread > 0
    rates = means.copy()
    shape = 1 / spread[varies]
    rates[:, varies] *= rng.standard_gamma(shape, size=(len(means), len(shape))) / shape
    counts = rng.poisson(rates)
    if half:
        counts[rng.random(means.shape) * (half + means) < half] = 0
    return counts


def _fitting(counts: Floats, kind: np.dtype[Any]) -> Floats:
    """Counts in their type, if the largest of them fits."""
    largest = int(counts.max())
    limit = np.iinfo(kind).max if kind.kind in "iu" else np.finfo(kind).max
    if largest > limit:
        raise ValueError(
            f"a count of {largest} is above {limit}, the largest of dtype={kind}; pass a wider "
            "dtype or lower mean_count."
        )
    return counts.astype(kind)


def _check_dtype(dtype: Any) -> np.dtype[Any]:
    """A type for counts."""
    try:
        kind = np.dtype(dtype)
    except TypeError as error:
        raise ValueError(
            f"dtype={dtype!r} must be a type of numbers; pass numpy.int32, for instance."
        ) from error
    if kind.kind not in "iuf":
        raise ValueError(
            f"dtype={kind} must be a type of integers or floats; pass numpy.int32, for instance."
        )
    return kind
