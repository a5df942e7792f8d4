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


def linear(state, X, covariates=None):
    """The linear coordinates of each row."""
    model = state["model"]
    rows = prepared(model, X, covariates)
    data = rows if model["kernel"] is None else kernel_values(model["kernel"], rows)
    return projected(model, data)


def on_graph(state, points):
    """Edge, position and distance of the nearest place on the graph."""
    graph = state["graph"]
    nodes, edges = matrix(graph["nodes"], graph["node_dims"]), matrix(graph["edges"], 2)
    a, b = nodes[edges[:, 0]], nodes[edges[:, 1]]
    length = ((b - a) ** 2).sum(axis=1)
    found = []
    for p in points:
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
