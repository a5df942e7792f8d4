"""What else may explain the samples: a curve, a plane or a cloud, beside the tree."""

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse.csgraph import dijkstra
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from .._compat import import_pandas
from .._typing import Floats, Ints
from ..estimators import DDRTree
from ..graph import adjacency
from ..graph.placement import length_matrix
from .view import View

if TYPE_CHECKING:
    from pandas import DataFrame

# Samples that are looked at, and samples for every dimension that they are looked at in.
MOST_ROWS, ROWS_PER_DIMENSION = 3000, 20
# The pull of the fits, and the weight of their graphs per sample.
GAMMA, LAM = 1.0, 0.03
# Nodes along each side of the plane.
SIDE = 10
TOL, MAX_ITER = 1e-4, 50
NONE = np.empty((0, 2), dtype=np.intp)
# Steps in which the weights of the nodes and the spread around them are found.
N_STEPS = 5
# Of fewer samples no half can tell anything of the other.
LEAST_ROWS = 20
# So many standard errors are a difference.
SURE = 2.0
# A larger difference in log-likelihood comes from samples far from all others.
OF_FEW = 100.0
# A smaller difference is none, however sure.
NO_DIFFERENCE = 0.01


class Graph(NamedTuple):
    """Nodes in space, and edges between them."""

    nodes: Floats
    edges: Ints  # without any, the nodes stay where they are


def evidence_table(view: View) -> "DataFrame":
    """How well tree, curve, plane and cloud explain samples that they were not fitted to.

    Each is a mixture of normal distributions of one covariance whose means are the nodes of a
    graph: the tree, its longest path, a square grid in the plane of the two largest variances, or
    a single node. The nodes of tree and curve are fitted to one half of the samples, with the graph
    as it is (`DDRTree` with a fixed structure), and so are the weights of all nodes and the
    covariance; the other half tells the log-likelihood; and the other way round.

    Parameters
    ----------
    view : View

    Returns
    -------
    evidence : DataFrame
        ``log_likelihood`` per sample; ``difference``, the tree's minus that; ``std_error`` of the
        difference; and ``n_samples`` that were looked at, for tree, curve, plane and cloud.

    Examples
    --------
    >>> from branchwise.datasets import make_tree
    >>> from branchwise.trajectory.alternatives import evidence_table
    >>> from branchwise.trajectory.learning import learn
    >>> data = make_tree(400, 10, random_state=0)  # simulated
    >>> table = evidence_table(learn(data.X).view)
    >>> table["log_likelihood"].idxmax()
    'tree'
    """
    points, nodes = common_form(view)
    found = {name: held_out(points, graph) for name, graph in graphs(view, points, nodes).items()}
    table = import_pandas().DataFrame(
        {
            "log_likelihood": {name: values.mean() for name, values in found.items()},
            "difference": {name: (found["tree"] - each).mean() for name, each in found.items()},
            "std_error": {
                name: float(np.std(found["tree"] - each) / np.sqrt(len(each)))
                for name, each in found.items()
            },
        }
    )
    table.index.name = "shape"
    return table.assign(n_samples=len(points))


def common_form(view: View) -> tuple[Floats, Floats]:
    """Samples and nodes along the samples' principal axes, whatever the order of the samples."""
    n, d = view.points.shape
    mean = view.points.mean(axis=0)
    _, axes = np.linalg.eigh(np.cov(view.points.T).reshape(d, d))
    axes = axes[:, ::-1][:, : max(1, min(d, n // ROWS_PER_DIMENSION))]
    points, nodes = (view.points - mean) @ axes, (view.base.nodes - mean) @ axes
    unit = np.sqrt(np.mean(points**2)) or 1.0
    order = np.lexsort(np.round(points / unit, 6).T[::-1])
    some = np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(np.intp)
    return points[order[some]] / unit, nodes / unit


def graphs(view: View, points: Floats, nodes: Floats) -> dict[str, Graph]:
    """What is compared."""
    edges = view.base.edges[view.base.edges[:, 0] != view.base.edges[:, 1]]
    path = longest_path(view)
    steps = np.column_stack([np.arange(len(path) - 1), np.arange(1, len(path))])
    result = {
        "tree": Graph(nodes, edges),
        "curve": Graph(nodes[path], steps),
    }
    if points.shape[1] > 1:
        result["plane"] = Graph(grid(points), NONE)
    return result | {"cloud": Graph(np.zeros((1, points.shape[1])), NONE)}


def longest_path(view: View) -> Ints:
    """The nodes between the first two tips, or of the whole graph if it has none."""
    node_of = {name: node for node, name in view.milestone_names.items()}
    if "T2" not in node_of:
        return np.arange(len(view.base.nodes))
    base = view.base
    matrix = length_matrix(base.edges, base.lengths, len(base.nodes))
    start, node = node_of["T1"], node_of["T2"]
    before = dijkstra(matrix, directed=False, indices=start, return_predecessors=True)[1]
    path = [node]
    # T2 is in another part of a forest of which T1 is a part of its own.
    while before[path[-1]] >= 0:
        path.append(int(before[path[-1]]))
    return np.array(path)


def grid(points: Floats) -> Floats:
    """A square grid over the plane of the two largest variances."""
    side = min(SIDE, max(2, int(np.sqrt(len(points) / 4))))
    low, high = np.quantile(points[:, :2], [0.02, 0.98], axis=0)
    ranges = [np.linspace(low[k], high[k], side) for k in (0, 1)]
    nodes = np.zeros((side**2, points.shape[1]))
    nodes[:, :2] = np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1).reshape(-1, 2)
    return nodes


def held_out(points: Floats, graph: Graph) -> Floats:
    """Log-likelihood of every sample under a fit to the half that it is not in."""
    result = np.full(len(points), np.nan)
    if len(points) < LEAST_ROWS:
        return result
    for half in (0, 1):
        known, new = points[1 - half :: 2], points[half::2]
        result[half::2] = log_likelihood(known, new, fitted_nodes(known, graph))
    return result


def fitted_nodes(points: Floats, graph: Graph) -> Floats:
    """The nodes of a graph, fitted to samples."""
    mean = points.mean(axis=0)
    if not len(graph.edges):
        return graph.nodes + mean
    model = DDRTree(
        None,
        structure=adjacency(graph.edges, len(graph.nodes)),
        init=graph.nodes - mean,
        gamma=GAMMA,
        lam=LAM * GAMMA * len(points),
        tol=TOL,
        max_iter=MAX_ITER,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(points).centers_ + mean


def log_likelihood(known: Floats, new: Floats, nodes: Floats) -> Floats:
    """Of new samples, under normal distributions around the nodes with one covariance.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from branchwise.trajectory.alternatives import log_likelihood
    >>> known = np.array([[-1.0], [1.0]])
    >>> log_likelihood(known, np.zeros((1, 1)), np.zeros((1, 1))).round(3), norm.logpdf(0).round(3)
    (array([-0.919]), np.float64(-0.919))
    """
    n = len(known)
    weights = np.full(len(nodes), 1 / len(nodes))
    nearest = np.argmin(((known[:, np.newaxis] - nodes) ** 2).sum(axis=2), axis=1)
    covariance = regular((known - nodes[nearest]).T @ (known - nodes[nearest]) / n)
    if len(nodes) > 1:
        for _ in range(N_STEPS):
            terms = log_terms(known, nodes, weights, covariance)
            part = np.exp(terms - logsumexp(terms, axis=1)[:, np.newaxis])
            weights = (part.sum(axis=0) + 0.5) / (n + 0.5 * len(nodes))
            cross = known.T @ (part @ nodes)
            inner = (nodes * part.sum(axis=0)[:, np.newaxis]).T @ nodes
            covariance = regular((known.T @ known - cross - cross.T + inner) / n)
    return logsumexp(log_terms(new, nodes, weights, covariance), axis=1)


def log_terms(points: Floats, nodes: Floats, weights: Floats, covariance: Floats) -> Floats:
    """The logarithm of each node's part of the density at each point."""
    root = np.linalg.cholesky(covariance)
    points, nodes = (solve_triangular(root, each.T, lower=True).T for each in (points, nodes))
    squares = ((points[:, np.newaxis] - nodes) ** 2).sum(axis=2)
    constant = np.log(np.diag(root)).sum() + 0.5 * points.shape[1] * np.log(2 * np.pi)
    return np.log(weights) - 0.5 * squares - constant


def regular(covariance: Floats) -> Floats:
    """The covariance, not quite flat in any direction."""
    d = len(covariance)
    size = np.trace(covariance) / d
    return covariance + (1e-6 * size or 1e-12) * np.eye(d)


def evidence_sentence(table: "DataFrame", n_forks: int) -> str:
    """What the table says.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.trajectory.alternatives import evidence_sentence
    >>> table = pd.DataFrame(
    ...     {"log_likelihood": [1.0, 0.2, 0.1, -1.0], "difference": [0, 0.8, 0.9, 2.0],
    ...      "std_error": [0, 0.1, 0.1, 0.1]}, index=["tree", "curve", "plane", "cloud"])
    >>> evidence_sentence(table, 1)
    'A tree explains the samples better than a curve, the next best: by 0.80 ± 0.10 in ...'
    """
    own = "tree" if n_forks else "curve"
    if table["log_likelihood"].isna().all():
        n_samples = int(table["n_samples"].iloc[0])
        return f"{n_samples} samples are too few to compare a {own} with other shapes."
    others = table.drop(index=list({"tree", own} - ({"curve"} if own == "tree" else set())))
    other = others["log_likelihood"].idxmax()
    difference, error = others.loc[other, ["difference", "std_error"]]
    size = f"{readable(abs(difference))} ± {readable(error)} in log-likelihood per sample left out"
    # A sample that goes with the others has some units per dimension.
    few = " So large a difference is that of a few samples far from all others."
    end = few if abs(difference) > OF_FEW else ""
    nothing = "" if n_forks else "There is no evidence of a fork. "
    if abs(difference) <= max(SURE * error, NO_DIFFERENCE):
        same = f"A {other} explains the samples as well as a {own} does"
        return f"{nothing}{same}: the difference is {size}.{end}"
    if difference > 0:
        best = f"A {own} explains the samples better than a {other}, the next best"
        return f"{nothing}{best}: by {size}.{end}"
    return f"{nothing}A {other} explains the samples better than a {own}: by {size}.{end}"


def readable(size: float) -> str:
    """Two decimals, or none of large numbers.

    Examples
    --------
    >>> from branchwise.trajectory.alternatives import readable
    >>> readable(0.8), readable(4251921.35)
    ('0.80', '4,251,921')
    """
    return f"{size:.2f}" if abs(size) < 1000 else f"{size:,.0f}"
