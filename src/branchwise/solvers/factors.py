"""Axes, mean and noise around given places, from rows with gaps.

In the model of `branchwise.solvers.conditional`,

    y = mean + Aᵀz + noise,   z ~ N(c_t, S) with probability π_t,   noise_j ~ N(0, ψ_j),

places c_t, their weights and the scatter S are given here, and A, mean and ψ are found. With a
single place 0 and S = I that is factor analysis, Tipping & Bishop's principal components with a
noise for each column: the start where values are missing and no tree is known. Expectation–
maximisation raises

    Σ_i log p(known values of row i) − Σ_j κ a_jᵀ M a_j/(2ψ_j),   M = Σ_t π_t c_t c_tᵀ + S,

where a_j is how column j depends on z, and κ the number of axes. The second term is the prior that
κ rows without any such dependence would be: with fewer rows than columns the axes would otherwise
follow single values.

One noise for all columns would ask that all have the same unit. With one for each, a column times
ten is filled with ten times the values, and nothing else changes.
"""

import numpy as np

from .._typing import Floats
from ..linalg import column_signs
from .conditional import LEAST_NOISE, Conditional, TreeModel, column_variances, condition, products

# Rounds of expectation and maximisation, and the gain per known value at which they end.
MAX_ITER, TOL = 100, 2e-5
# Columns that are regressed at a time.
BLOCK = 512


def fit_factors(rows: Floats, n_components: int) -> TreeModel:
    """Factor analysis of rows with gaps, as a tree of a single place.

    Parameters
    ----------
    rows : array of shape (n, D)
        NaN where a value is not known; every column has some that are.
    n_components : int

    Examples
    --------
    Simulated: the second column is twice the first.

    >>> import numpy as np
    >>> from branchwise.solvers.conditional import condition, fill
    >>> from branchwise.solvers.factors import fit_factors
    >>> rng = np.random.default_rng(0)
    >>> t = rng.normal(size=(200, 1))
    >>> rows = t * [1.0, 2.0, -1.0] + 0.1 * rng.normal(size=(200, 3))
    >>> rows[0] = [1.0, np.nan, -1.0]
    >>> model = fit_factors(rows, 1)
    >>> fill(model, rows[:1], condition(model, rows[:1])).round(1)
    array([[ 1.,  2., -1.]])
    """
    return fit_axes(starting_factors(rows, n_components), rows)


def fit_axes(
    model: TreeModel,
    rows: Floats,
    *,
    max_iter: int = MAX_ITER,
    tol: float = TOL,
) -> TreeModel:
    """The model with the axes, the mean and the noise that make the known values most likely.

    Parameters
    ----------
    model : TreeModel
        To start from; its places, weights and spread stay.
    rows : array of shape (n, D)
        NaN where a value is not known; every column has some that are.
    max_iter : int
    tol : float
        It ends when a round raises the objective by less than this per known value. No round
        lowers it.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.solvers.factors import fit_axes, starting_factors
    >>> rows = np.random.default_rng(0).normal(size=(50, 1)) * [1.0, 2.0]  # simulated
    >>> start = starting_factors(rows, 1)
    >>> bool(fit_axes(start, rows).noise[0] < start.noise[0])
    True
    """
    least = LEAST_NOISE * column_variances(rows)
    enough = tol * np.sum(~np.isnan(rows))
    before = -np.inf
    for _ in range(max_iter):
        found = condition(model, rows)
        now = objective(model, found)
        if now - before < enough:
            break
        before, model = now, maximised_axes(model, rows, found, least)
    return model


def objective(model: TreeModel, found: Conditional) -> float:
    """The log-likelihood of the known values, less the prior's term."""
    depends = np.einsum("kj,km,mj->j", model.axes, second_moment(model), model.axes)
    return float(found.log_density.sum() - len(model.axes) / 2 * np.sum(depends / model.noise))


def second_moment(model: TreeModel) -> Floats:
    """M, of z before anything of a row is known."""
    return (model.places.T * model.weights) @ model.places + model.spread


def maximised_axes(model: TreeModel, rows: Floats, found: Conditional, least: Floats) -> TreeModel:
    """What makes the expected objective largest; at least so much noise.

    Every column is regressed on z, and on a constant, over the rows in which it is known.
    """
    n, d = found.mean.shape
    z = np.column_stack([found.mean, np.ones(n)])
    second = products(z)
    second.reshape(n, d + 1, d + 1)[:, :d, :d] += found.covariance
    prior = np.zeros((d + 1, d + 1))
    prior[:d, :d] = d * second_moment(model)
    axes, mean, noise = (np.empty_like(of) for of in (model.axes, model.mean, model.noise))
    for start in range(0, rows.shape[1], BLOCK):
        part = slice(start, start + BLOCK)
        known = ~np.isnan(rows[:, part])
        apart = np.where(known, rows[:, part] - model.mean[part], 0.0)
        H = (known.T.astype(np.float64) @ second).reshape(-1, d + 1, d + 1) + prior
        r = apart.T @ z
        beta = np.linalg.solve(H, r[:, :, np.newaxis])[:, :, 0]
        axes[:, part] = beta[:, :d].T
        mean[part] = model.mean[part] + beta[:, d]
        left = np.einsum("ij,ij->j", apart, apart) - np.einsum("ij,ij->i", beta, r)
        noise[part] = np.maximum(left / known.sum(axis=0), least[part])
    return model._replace(axes=axes, mean=mean, noise=noise)


def starting_factors(rows: Floats, n_components: int) -> TreeModel:
    """Principal axes of the rows with column means for what is missing, as half of the variance."""
    known = ~np.isnan(rows)
    mean = np.where(known, rows, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    variances = column_variances(rows)
    scale = np.sqrt(variances)
    axes, sizes = leading_axes(np.where(known, (rows - mean) / scale, 0.0), n_components)
    axes = np.sqrt(sizes / len(rows) / 2)[:, np.newaxis] * axes
    noise = np.maximum(1 - np.einsum("ij,ij->j", axes, axes), 0.5)
    d = len(axes)
    return TreeModel(axes * scale, mean, np.zeros((1, d)), np.ones(1), np.eye(d), noise * variances)


def leading_axes(parts: Floats, n_components: int) -> tuple[Floats, Floats]:
    """The principal axes of centred rows, one a row, and the sums of squares along them."""
    is_wide = parts.shape[1] > parts.shape[0]
    values, vectors = np.linalg.eigh(parts @ parts.T if is_wide else parts.T @ parts)
    axes = vectors[:, ::-1][:, :n_components]
    if is_wide:
        axes = np.linalg.qr(parts.T @ axes)[0]
    return (axes * column_signs(axes)).T, np.maximum(values[::-1][:n_components], 0.0)
