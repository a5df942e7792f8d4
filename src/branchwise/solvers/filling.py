"""What a tree makes of gaps, row by row: to the last bit the same in any company.

The same numbers as `condition` and `fill` give, whose products of matrices round a row as its place
in the batch suggests. The letters are those of `branchwise.solvers.conditional`.
"""

import numpy as np

from .._compat import kernel
from .._typing import Floats
from .conditional import TreeModel, factor


def fill_rows(
    rows: Floats, model: TreeModel, low: Floats | float = -np.inf, high: Floats | float = np.inf
) -> Floats:
    """Rows in which what is not known is its conditional mean.

    Parameters
    ----------
    rows : array of shape (n, D)
        NaN where a value is not known.
    model : TreeModel
    low, high : float or array of shape (D,)
        What is beyond stays as it is, but tells nothing about the gaps beside it.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.solvers.conditional import TreeModel
    >>> from branchwise.solvers.filling import fill_rows
    >>> axes, places = np.array([[0.6, 0.8]]), np.array([[0.0], [10.0]])
    >>> tree = TreeModel(axes, np.zeros(2), places, np.ones(2) / 2, np.eye(1), np.ones(2))
    >>> fill_rows(np.array([[6.0, np.nan]]), tree).round(3)
    array([[6., 8.]])
    """
    out = np.array(rows, dtype=np.float64, order="C")
    gaps = np.isnan(out)
    if gaps.any():
        axes = np.ascontiguousarray(model.axes.T)
        with np.errstate(divide="ignore"):
            logs = np.log(model.weights)
        places = np.ascontiguousarray(model.places)
        L = np.ascontiguousarray(factor(model.spread))
        numbers = np.flatnonzero(gaps.any(axis=1))
        limits = np.empty((2, out.shape[1]))
        limits[0], limits[1] = low, high
        fill_gaps(out, numbers, axes, model.mean, model.noise, places, logs, L, limits)
    return out


@kernel
def fill_gaps(
    out: Floats,
    numbers: Floats,
    axes: Floats,
    mean: Floats,
    noise: Floats,
    places: Floats,
    logs: Floats,
    L: Floats,
    limits: Floats,
) -> None:
    """Fill in the rows of these numbers; the axes are columns here."""
    D, d = axes.shape
    T = len(places)
    G, b, z = np.empty((d, d)), np.empty(d), np.empty(d)
    V, joint = np.empty((d, d)), np.empty(T)
    for i in numbers:
        G[:] = 0.0
        b[:] = 0.0
        for j in range(D):
            if limits[0, j] <= out[i, j] <= limits[1, j]:  # not NaN
                apart = (out[i, j] - mean[j]) / noise[j]
                for k in range(d):
                    b[k] += axes[j, k] * apart
                    scaled = axes[j, k] / noise[j]
                    for m in range(k + 1):
                        G[k, m] += scaled * axes[j, m]
        for k in range(d):
            for m in range(k):
                G[m, k] = G[k, m]
        latent_factor(G, L, V)
        posterior_mean(G, b, V, places, logs, joint, z)
        for j in range(D):
            if np.isnan(out[i, j]):
                value = mean[j]
                for k in range(d):
                    value += z[k] * axes[j, k]
                out[i, j] = value


@kernel
def latent_factor(G: Floats, L: Floats, V: Floats) -> None:
    """V with K = (S⁻¹ + G)⁻¹ = VᵀV: RV = Lᵀ, where RRᵀ = I + LᵀGL and LLᵀ = S."""
    d = len(G)
    GL, R = np.zeros((d, d)), np.zeros((d, d))
    for k in range(d):
        for m in range(d):
            for n in range(d):
                GL[k, n] += G[k, m] * L[m, n]
    for k in range(d):
        for m in range(k + 1):
            value = 1.0 if k == m else 0.0
            for n in range(d):
                value += L[n, k] * GL[n, m]
            for n in range(m):
                value -= R[k, n] * R[m, n]
            R[k, m] = np.sqrt(value) if k == m else value / R[m, m]
    for k in range(d):
        for m in range(d):
            value = L[m, k]
            for n in range(k):
                value -= R[k, n] * V[n, m]
            V[k, m] = value / R[k, k]


@kernel
def posterior_mean(
    G: Floats, b: Floats, V: Floats, places: Floats, logs: Floats, joint: Floats, z: Floats
) -> None:
    """Of z: c + K(b − Gc), c the mean of the places given what is known."""
    T, d = places.shape
    Vb, VG = np.zeros(d), np.zeros((d, d))
    for k in range(d):
        for m in range(d):
            Vb[k] += V[k, m] * b[m]
            for n in range(d):
                VG[k, n] += V[k, m] * G[m, n]
    h, rest = np.empty(d), np.empty((d, d))
    for k in range(d):
        h[k] = b[k]
        for m in range(d):
            h[k] -= VG[m, k] * Vb[m]
        for n in range(d):
            rest[k, n] = G[k, n]
            for m in range(d):
                rest[k, n] -= VG[m, k] * VG[m, n]
    # But for what is the same at all places.
    for t in range(T):
        squared = 0.0
        for k in range(d):
            along = -2.0 * h[k]
            for m in range(d):
                along += rest[k, m] * places[t, m]
            squared += places[t, k] * along
        joint[t] = logs[t] - squared / 2
    top, total = joint.max(), 0.0
    c, Gc = np.zeros(d), np.empty(d)
    for t in range(T):
        share = np.exp(joint[t] - top)
        total += share
        for k in range(d):
            c[k] += share * places[t, k]
    for k in range(d):
        c[k] /= total
    for k in range(d):
        Gc[k] = b[k]
        for m in range(d):
            Gc[k] -= G[k, m] * c[m]
    for k in range(d):
        z[k] = c[k]
    for k in range(d):
        along = 0.0
        for m in range(d):
            along += V[k, m] * Gc[m]
        for m in range(d):
            z[m] += V[k, m] * along
