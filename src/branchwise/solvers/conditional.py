"""The tree as a distribution of rows, and what it says of one of which only some columns are known.

A row y comes from a place c_t of the tree, taken with probability π_t:

    y = mean + Aᵀz + noise,   z ~ N(c_t, S),   noise_j ~ N(0, ψ_j)

where the rows of A are the estimator's axes, S is how samples scatter around the tree along them
and ψ what each column has beside. Given the tree, S and ψ are found by expectation–maximisation
from rows with gaps. Of a row with the columns O everything follows in closed form by way of

    G = A_O Ψ_O⁻¹ A_Oᵀ,  b = A_O Ψ_O⁻¹ (y_O − mean_O),  K = cov(z | y_O, t) = (S⁻¹ + G)⁻¹

all of the size of the axes, so that a row costs no more than its columns times that.
"""

from typing import NamedTuple

import numpy as np

from .._typing import Bools, Floats

# What a column has beside the tree is at least this part of its variance: a column that the axes
# explain wholly would otherwise be believed without limit.
LEAST_NOISE = 1e-3
# Rounds of expectation and maximisation, and the gain per row and round at which they end.
MAX_ITER, TOL = 200, 1e-5


class TreeModel(NamedTuple):
    """The distribution of rows that a tree makes.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.solvers.conditional import TreeModel
    >>> one = np.ones(1)
    >>> TreeModel(np.eye(1), 0 * one, np.array([[0.0], [4.0]]), one / 2, np.eye(1), one).places
    array([[0.],
           [4.]])
    """

    axes: Floats  # A, (d, D)
    mean: Floats  # (D,)
    places: Floats  # c_t, (T, d): along the axes
    weights: Floats  # π_t, (T,)
    spread: Floats  # S, (d, d)
    noise: Floats  # ψ, (D,), above 0


class Conditional(NamedTuple):
    """What a tree says of rows given the columns that are known."""

    probabilities: Floats  # (n, T): of the places
    mean: Floats  # (n, d): of z
    covariance: Floats  # (n, d, d): of z
    squared: Floats  # (n,): squared Mahalanobis distance to the nearest place
    n_known: Floats  # (n,): columns
    log_density: Floats  # (n,): of the known columns


def condition(model: TreeModel, rows: Floats) -> Conditional:
    """The distribution of z, and of the place, given what is known of each row.

    Parameters
    ----------
    model : TreeModel
    rows : array of shape (n, D)
        NaN where a value is not known.

    Examples
    --------
    A row that lies at the second of two places in the one column that is known.

    >>> import numpy as np
    >>> from branchwise.solvers.conditional import TreeModel, condition
    >>> axes, places = np.array([[0.6, 0.8]]), np.array([[0.0], [10.0]])
    >>> tree = TreeModel(axes, np.zeros(2), places, np.ones(2) / 2, np.eye(1), np.ones(2))
    >>> found = condition(tree, np.array([[6.0, np.nan]]))
    >>> found.probabilities.round(3), found.mean.round(3)
    (array([[0., 1.]]), array([[10.]]))
    """
    return condition_on(model, sums_over_columns(model, rows))


def condition_on(model: TreeModel, sums: "Sums") -> Conditional:
    """The same when the sums over the columns are known."""
    known, G, b, K = sums.known, sums.G, sums.b, sums.K
    C, d = model.places, len(model.axes)
    squared = squared_distances(model, sums)
    probabilities, log_evidence = shares_of_places(model, squared)
    c = probabilities @ C
    rest = np.eye(d) - K @ G
    between = spread_of_places(C, probabilities, c)
    # The determinant of the covariance of the known columns, by that of z.
    n_known = known.sum(axis=1).astype(np.float64)
    inner = np.eye(d) + G @ model.spread
    constant = n_known * np.log(2 * np.pi) + known @ np.log(model.noise)
    constant = constant + np.linalg.slogdet(inner)[1]
    return Conditional(
        probabilities,
        c + apply(K, b - apply(G, c)),
        K + rest @ between @ rest.transpose(0, 2, 1),
        squared.min(axis=1),
        n_known,
        log_evidence - constant / 2,
    )


def squared_distances(model: TreeModel, sums: "Sums") -> Floats:
    """Squared Mahalanobis distance of the known columns of each row to each place, (n, T)."""
    C, d = model.places, len(model.axes)
    _, G, b, q, K = sums
    GK = G @ K
    h = b - apply(GK, b)
    squared = (
        (q - np.einsum("nd,nd->n", b, apply(K, b)))[:, np.newaxis]
        - 2 * h @ C.T
        + (G - GK @ G).reshape(-1, d * d) @ products(C).T
    )
    return np.maximum(squared, 0.0)  # but for rounding


def shares_of_places(model: TreeModel, squared: Floats) -> tuple[Floats, Floats]:
    """The probability of each place, and the logarithm of what all of them add up to."""
    joint = np.log(model.weights) - squared / 2
    top = joint.max(axis=1, keepdims=True)
    shares = np.exp(joint - top)
    total = shares.sum(axis=1, keepdims=True)
    return shares / total, (top + np.log(total))[:, 0]


def fill(model: TreeModel, rows: Floats, found: Conditional) -> Floats:
    """Rows in which what is not known is its conditional mean.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.solvers.conditional import TreeModel, condition, fill
    >>> axes, places = np.array([[0.6, 0.8]]), np.array([[0.0], [10.0]])
    >>> tree = TreeModel(axes, np.zeros(2), places, np.ones(2) / 2, np.eye(1), np.ones(2))
    >>> row = np.array([[6.0, np.nan]])
    >>> fill(tree, row, condition(tree, row)).round(3)
    array([[6., 8.]])
    """
    return np.where(np.isnan(rows), model.mean + found.mean @ model.axes, rows)


def fit_tree_model(
    rows: Floats,
    axes: Floats,
    mean: Floats,
    places: Floats,
    weights: Floats,
    *,
    max_iter: int = MAX_ITER,
    tol: float = TOL,
) -> TreeModel:
    """Scatter and noise around a given tree, by expectation–maximisation from rows with gaps.

    Parameters
    ----------
    rows : array of shape (n, D)
        NaN where a value is not known; every column has some that are.
    axes, mean, places, weights
        As in `TreeModel`.
    max_iter : int
    tol : float
        It ends when a round raises the log-likelihood by less than this per row.

    Returns
    -------
    model : TreeModel
        No round makes the known values less likely.

    Examples
    --------
    Simulated rows around one place.

    >>> import numpy as np
    >>> from branchwise.solvers.conditional import fit_tree_model
    >>> rng = np.random.default_rng(0)
    >>> axes = np.array([[0.5, 0.5, 0.5, 0.5]])
    >>> rows = 3 * rng.normal(size=(2000, 1)) @ axes + 0.5 * rng.normal(size=(2000, 4))
    >>> found = fit_tree_model(rows, axes, np.zeros(4), np.zeros((1, 1)), np.ones(1))
    >>> found.spread.round(0), found.noise.round(1)
    (array([[9.]]), array([0.2, 0.2, 0.2, 0.3]))
    """
    model = starting_model(rows, axes, mean, places, weights)
    least = LEAST_NOISE * column_variances(rows)
    before = -np.inf
    for _ in range(max_iter):
        sums = sums_over_columns(model, rows)
        found = condition_on(model, sums)
        now = float(found.log_density.sum())
        if now - before < tol * len(rows):
            break
        before, model = now, maximised(model, rows, sums, found, least)
    return model


def starting_model(
    rows: Floats, axes: Floats, mean: Floats, places: Floats, weights: Floats
) -> TreeModel:
    """A first guess: half of each column's variance is noise."""
    noise = column_variances(rows) / 2
    spread = (axes * noise) @ axes.T
    return TreeModel(axes, mean, places, weights, spread, noise)


def maximised(
    model: TreeModel, rows: Floats, sums: "Sums", found: Conditional, least: Floats
) -> TreeModel:
    """The scatter and the noise that make what is expected most likely; at least so much noise."""
    known, G, b, _, K = sums
    c = found.probabilities @ model.places
    between = spread_of_places(model.places, found.probabilities, c)
    off = products(b - apply(G, c)).reshape(between.shape)
    scatter = K + K @ (off + G @ between @ G) @ K
    counts = known.sum(axis=0)
    gaps = np.where(known, rows - model.mean - found.mean @ model.axes, 0.0)
    flat = found.covariance.reshape(len(rows), -1)
    vague = np.einsum("ij,ij->i", known.T.astype(np.float64) @ flat, products(model.axes.T))
    noise = (np.einsum("ij,ij->j", gaps, gaps) + vague) / np.maximum(counts, 1)
    return model._replace(spread=symmetric(scatter.mean(axis=0)), noise=np.maximum(noise, least))


def column_variances(rows: Floats) -> Floats:
    """Of the known values of each column; for constants that of the average column."""
    known = ~np.isnan(rows)
    counts = np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, rows, 0.0)
    centred = np.where(known, rows - centred.sum(axis=0) / counts, 0.0)
    variances = np.einsum("ij,ij->j", centred, centred) / counts
    usual = float(variances.mean())
    smallest = np.finfo(np.float64).eps * usual
    return np.where(variances > smallest, variances, usual if usual > 0 else 1.0)


class Sums(NamedTuple):
    """What the columns say of z, row by row; where all is known, G and K are given once."""

    known: Bools  # (n, D)
    G: Floats  # (n or 1, d, d)
    b: Floats  # (n, d)
    q: Floats  # (n,): (y_O − mean_O)ᵀΨ_O⁻¹(y_O − mean_O)
    K: Floats  # (n or 1, d, d)


def sums_over_columns(model: TreeModel, rows: Floats) -> Sums:
    """What is known of each row, and the sums over its columns that all else comes from."""
    known = ~np.isnan(rows)
    d = len(model.axes)
    centred = np.where(known, rows - model.mean, 0.0)
    scaled = model.axes / model.noise
    if known.all():
        G = (scaled @ model.axes.T)[np.newaxis]
    else:
        G = (known @ (products(model.axes.T) / model.noise[:, np.newaxis])).reshape(-1, d, d)
    L = factor(model.spread)
    K = L @ np.linalg.solve(np.eye(d) + L.T @ G @ L, np.broadcast_to(L.T, G.shape))
    return Sums(known, G, centred @ scaled.T, (centred**2) @ (1 / model.noise), K)


def spread_of_places(places: Floats, probabilities: Floats, mean: Floats) -> Floats:
    """The covariance of the places of each row."""
    n, d = mean.shape
    return (probabilities @ products(places) - products(mean)).reshape(n, d, d)


def factor(spread: Floats) -> Floats:
    """L with LLᵀ = spread, which may be singular."""
    values, vectors = np.linalg.eigh(spread)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def products(x: Floats) -> Floats:
    """The products of all pairs of entries of each row, (n, d²)."""
    return (x[:, :, np.newaxis] * x[:, np.newaxis, :]).reshape(len(x), -1)


def apply(matrices: Floats, x: Floats) -> Floats:
    """Each matrix times its row of x."""
    return (matrices @ x[:, :, np.newaxis])[:, :, 0]


def symmetric(matrix: Floats) -> Floats:
    """Without what rounding made unequal."""
    return (matrix + matrix.T) / 2
