"""What a page does with a table of new samples, from its data alone, in NumPy.

This is the oracle of web/src/model: plain, slow, and independent of the estimators.
"""

import math

import numpy as np
import pandas as pd


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
    X = X if model["steps"] and model["steps"][0]["name"] == "encode" else np.array(X, dtype=float)
    for step in model["steps"]:
        name = step["name"]
        if name == "encode":
            X = encoded(step, X)
        elif name == "impute":
            X = np.where(np.isnan(X), step["medians"], X) if "medians" in step else filled(step, X)
        elif name == "log1p":
            taken = np.ones(X.shape[1]) if step["is_number"] is None else step["is_number"]
            X = np.where(taken == 1, np.log1p(np.where(taken == 1, X, 0.0)), X)
        elif name == "rank_normalize":
            X = ranked(step, X)
        elif name == "adjust":
            coefficients = matrix(step["coefficients"], X.shape[1])
            left = X - (design(step, covariates) - step["center"]) @ coefficients
            X = np.where(step["is_explained"] == 1, step["mean"], left)
        elif name in ("standardize", "weigh"):
            scale = step["scale"]
            safe = np.where(scale > 0, scale, 1.0)
            X = np.where((scale > 0) | np.isnan(X), (X - step["mean"]) / safe, 0.0)
        else:
            assert name == "pca"
            X = (X - step["mean"]) @ matrix(step["components"], X.shape[1]).T
    assert X.shape[1] == model["n_prepared"]
    return X


def filled(step, X):
    """What is missing by the normal equations of each place, dense and row by row."""
    D = X.shape[1]
    A = matrix(step["axes"], D)
    places, S = matrix(step["places"], len(A)), matrix(step["spread"], len(A))
    out = X.copy()
    for i, row in enumerate(X):
        known = np.flatnonzero((step["low"] <= row) & (row <= step["high"]))
        gaps = np.flatnonzero(np.isnan(row))
        B = A[:, known]
        covariance = B.T @ S @ B + np.diag(step["noise"][known])
        centers = step["mean"] + places @ A
        apart = row[known] - centers[:, known]
        solved = np.linalg.solve(covariance, apart.T).T
        logs = np.log(step["weights"]) - np.einsum("td,td->t", apart, solved) / 2
        shares = np.exp(logs - logs.max())
        means = centers[:, gaps] + solved @ B.T @ S @ A[:, gaps]
        out[i, gaps] = shares @ means / shares.sum()
    return out


def ranked(step, X):
    out = np.empty_like(X)
    for j in range(X.shape[1]):
        part = slice(step["offsets"][j], step["offsets"][j + 1])
        if part.start == part.stop:
            out[:, j] = X[:, j]
        else:
            out[:, j] = np.interp(X[:, j], step["values"][part], step["scores"][part])
    return out


def encoded(step, X):
    """The columns of a table of text and numbers, cell by cell; dates in the form of ISO."""
    columns, taken = {}, 0
    for name, kind, levels, first in zip(
        step["columns"], step["kinds"], step["levels"], step["firsts"], strict=True
    ):
        cells = [None if pd.isna(cell) else cell for cell in X[name].astype(object)]
        if kind == "category":
            shares = dict(zip(levels, step["shares"][taken : taken + len(levels)], strict=True))
            taken += len(levels)
            order = sorted(levels, key=shares.get, reverse=True)
            for j, level in enumerate(order[1:], 1):
                p, above = shares[level], sum(shares[other] for other in order[:j])
                at = dict.fromkeys(order[:j], -math.sqrt(p / (above * (above + p))))
                at[level] = math.sqrt(above / ((above + p) * p))
                columns[f"{name}={level}"] = [
                    math.nan if cell is None else at.get(str(cell), 0.0) for cell in cells
                ]
        elif kind == "ordinal":
            columns[name] = [math.nan if c is None else levels.index(str(c)) for c in cells]
        elif kind == "date":
            columns[name] = [(day_of(cell) - first / 86.4e9) for cell in cells]
        elif kind == "number":
            columns[name] = [math.nan if cell is None else cell for cell in cells]
    for name, start, end in step["ages"]:
        columns[name] = [
            (day_of(b) - day_of(a)) / 365.25 for a, b in zip(X[start], X[end], strict=True)
        ]
    return np.array(list(columns.values()), dtype=float).T


def day_of(cell):
    """Days since 1970 of a date as ISO writes it."""
    return math.nan if cell is None or pd.isna(cell) else pd.Timestamp(cell).timestamp() / 86400


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
