"""What a page does with a table of new samples, from its data alone, in NumPy.

This is the oracle of web/src/model: plain, slow, and independent of the estimators.
"""

import math

import numpy as np


def matrix(flat, n_columns):
    return np.asarray(flat).reshape(-1, n_columns)


def design(step, covariates):
    """Covariates as they are, or as an indicator of each level but the first."""
    columns = []
    for name, levels in zip(step["names"], step["levels"], strict=True):
        values = list(covariates[name])
        if levels is None:
            columns.append([float(value) for value in values])
        else:
            assert set(map(str, values)) <= set(levels)
            columns += [[float(str(value) == level) for value in values] for level in levels[1:]]
    return np.array(columns).T


def prepared(model, X, covariates=None):
    """The rows after all steps."""
    X = np.array(X, dtype=float)
    for step in model["steps"]:
        name = step["name"]
        if name == "impute":
            X = np.where(np.isnan(X), step["medians"], X)
        elif name == "log1p":
            X = np.log1p(X)
        elif name == "rank_normalize":
            X = ranked(step, X)
        elif name == "adjust":
            coefficients = matrix(step["coefficients"], X.shape[1])
            left = X - (design(step, covariates) - step["center"]) @ coefficients
            X = np.where(step["is_explained"] == 1, step["mean"], left)
        elif name == "standardize":
            scale = step["scale"]
            safe = np.where(scale > 0, scale, 1.0)
            X = np.where(scale > 0, (X - step["mean"]) / safe, 0.0)
        else:
            assert name == "pca"
            X = (X - step["mean"]) @ matrix(step["components"], X.shape[1]).T
    assert X.shape[1] == model["n_prepared"]
    return X


def ranked(step, X):
    out = np.empty_like(X)
    for j in range(X.shape[1]):
        part = slice(step["offsets"][j], step["offsets"][j + 1])
        out[:, j] = np.interp(X[:, j], step["values"][part], step["scores"][part])
    return out


def kernel_values(kernel, X):
    samples = matrix(kernel["samples"], X.shape[1])
    assert len(samples) == kernel["n"]
    if kernel["kind"] == "linear":
        return X @ samples.T
    squares = ((X[:, None, :] - samples[None]) ** 2).sum(axis=2)
    return np.exp(-kernel["gamma"] * squares)


def projected(model, data):
    centred = data - model["mean"]
    if model["components"] is None:
        return centred
    return centred @ matrix(model["components"], data.shape[1]).T


def placed_by_ddrtree(place, z0):
    C, sigma, gamma = matrix(place["centers"], len(z0)), place["sigma"], place["gamma"]
    if sigma == 0:
        nearest = np.argmin(((C - z0) ** 2).sum(axis=1))
        return (z0 + gamma * C[nearest]) / (1 + gamma)
    small = place["rtol"] * max(np.abs(C).max(), math.sqrt(sigma))
    z = z0
    for _ in range(place["max_steps"]):
        squares = ((C - z) ** 2).sum(axis=1)
        weights = np.exp(-(squares - squares.min()) / sigma)
        new = (z0 + gamma * (weights @ C) / weights.sum()) / (1 + gamma)
        moved, z = np.abs(new - z).max(), new
        if moved <= small:
            break
    return z


def placed_by_drtree(place, z0):
    C = matrix(place["centers"], len(z0))
    nearest = np.argmin(((C - z0) ** 2).sum(axis=1))
    return (z0 + place["lam"] * C[nearest]) / (1 + place["lam"])


def placed_by_spl(place, z0, row, mean):
    rows, embedding = matrix(place["rows"], len(row)), matrix(place["embedding"], len(z0))
    at = row - mean if place["rows_centred"] else row
    distances = np.sqrt(((rows - at) ** 2).sum(axis=1))
    nearest = np.argsort(distances, kind="stable")[: place["n_ties"]]
    phi, a = (distances[nearest] * place["scale"]) ** 2, place["share"]
    if place["slack"] is None:
        s = a / (2 * np.maximum(phi, np.finfo(float).tiny ** 0.5))
    else:
        s = a / (phi + np.hypot(phi, math.sqrt(a / place["slack"])))
    if place["upper"] is not None:
        s = np.minimum(s, place["upper"])
    gamma = place["gamma"]
    return (4 * s @ embedding[nearest] + gamma * z0) / (4 * s.sum() + gamma + 1)


def mixed(values, odd):
    """The scrambled bits of numbers, as whole numbers below 2^64."""
    word = 2**64 - 1
    total = 0
    for value, factor in zip(values, odd, strict=True):
        value = math.nan if math.isnan(value) else float(value) + 0.0
        bits = int(np.array([value]).view(np.uint64)[0])
        if math.isnan(value):
            bits = 0x7FF8000000000000
        bits = (bits ^ (bits >> 32)) * 0x94D049BB133111EB & word
        bits = (bits ^ (bits >> 29)) * int(factor) & word
        bits = (bits ^ (bits >> 29)) * 0xBF58476D1CE4E5B9 & word
        total = (total + (bits ^ (bits >> 32))) & word
    return total


def known_place(known, values):
    """The number of the training row with these values, or None."""
    if known is None:
        return None
    key = mixed(values, known["odd"])
    at = int(np.searchsorted(known["keys"], np.uint64(key)))
    is_known = at < len(known["keys"]) and int(known["keys"][at]) == key
    return int(known["rows"][at]) if is_known else None


def embedded(state, X, covariates=None):
    """The place of each row in the learned space, and which rows are known."""
    model, d = state["model"], state["n_components"]
    rows = prepared(model, X, covariates)
    raw = np.asarray(X, dtype=float)
    adjusting = [step for step in model["steps"] if step["name"] == "adjust"]
    if adjusting:
        raw = np.hstack([raw, design(adjusting[0], covariates)])
    data = rows if model["kernel"] is None else kernel_values(model["kernel"], rows)
    found, known = [], []
    for row, given, values, z0 in zip(rows, raw, data, projected(model, data), strict=True):
        at = known_place(model["raw_known"], given)
        at = known_place(model["known"], row) if at is None else at
        known.append(at)
        place = model["place"]
        if at is not None:
            found.append(matrix(model["known"]["embedding"], d)[at])
        elif place["kind"] == "DDRTree":
            found.append(placed_by_ddrtree(place, z0))
        elif place["kind"] == "DRTree":
            found.append(placed_by_drtree(place, z0))
        else:
            found.append(placed_by_spl(place, z0, values, model["mean"]))
    return np.array(found), known


def on_graph(state, points):
    """Edge, position and distance of the nearest place on the graph."""
    graph = state["graph"]
    nodes, edges = matrix(graph["nodes"], graph["node_dims"]), matrix(graph["edges"], 2)
    a, b = nodes[edges[:, 0]], nodes[edges[:, 1]]
    length = ((b - a) ** 2).sum(axis=1)
    found = []
    for p in points * graph["scale"]:
        t = ((p - a) * (b - a)).sum(axis=1) / np.where(length > 0, length, 1.0)
        t = np.clip(t, 0.0, 1.0)
        squares = ((p - a - t[:, None] * (b - a)) ** 2).sum(axis=1)
        best = int(np.argmin(squares))
        found.append((best, t[best], math.sqrt(squares[best])))
    edge, position, distance = zip(*found, strict=True)
    return np.array(edge), np.array(position), np.array(distance)


def times(state, edge, position):
    """Pseudotime from the starting roots, by Bellman and Ford."""
    graph = state["graph"]
    edges, lengths = matrix(graph["edges"], 2), graph["lengths"]
    n_nodes = len(matrix(graph["nodes"], graph["node_dims"]))
    time = np.full(n_nodes, np.inf)
    time[graph["roots"]] = 0.0
    for _ in range(n_nodes):
        before = time.copy()
        np.minimum.at(time, edges[:, 1], time[edges[:, 0]] + lengths)
        np.minimum.at(time, edges[:, 0], time[edges[:, 1]] + lengths)
        if np.array_equal(before, time):
            break
    ends, length = edges[edge], lengths[edge]
    forward = time[ends[:, 0]] + position * length
    return np.minimum(forward, time[ends[:, 1]] + (1 - position) * length)
