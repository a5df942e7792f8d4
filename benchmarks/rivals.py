"""Other programs' answers: samples, and which of them have the root's label, to an `Answer`.

Each program has the setting that its documentation or its usual pipeline recommends, said where
it is (simpleppt has two: by itself, and as scFates runs it), and is told nothing but the samples
of the root's label. Programs are imported where they are run, so that the rest can be tested
without them.
"""

import contextlib
import os
import warnings
from collections.abc import Callable
from functools import wraps
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, dijkstra
from scipy.stats import rankdata
from sklearn.decomposition import PCA

from branchwise.graph.nearest_edge import nearest_on_edges
from branchwise.graph.placement import Placement, degrees, length_matrix, segments, to_points
from yardstick import Answer

Method = Callable[[np.ndarray, np.ndarray, int], Answer]

# Principal components for methods that do not say how many they want.
N_COMPONENTS = 20
# scFates' documentation asks for 100 to 2,000 nodes, and its tutorials take 200.
N_NODES = 200


# From what a program gives to an answer


def place(points: np.ndarray, nodes: np.ndarray, edges: np.ndarray) -> Placement:
    """Each point at the nearest place of an edge; nodes without edges are left out."""
    used, edges = np.unique(edges, return_inverse=True)
    nodes, edges = nodes[used], edges.reshape(-1, 2)
    lengths = np.linalg.norm(nodes[edges[:, 1]] - nodes[edges[:, 0]], axis=1)
    edge, position, _ = nearest_on_edges(points, nodes, edges)
    return Placement(len(nodes), edges, lengths, edge, position)


def trimmed(edges: np.ndarray, n_nodes: int, fewest: int = 3) -> np.ndarray:
    """Edges without twigs of less than `fewest` nodes, removed one by one, the shortest first."""
    while True:
        degree = degrees(edges, n_nodes)
        found = segments(edges, np.ones(len(edges)), n_nodes)
        at_ends = degree[found.ends]
        is_twig = (at_ends == 1).any(axis=1) & (at_ends > 2).any(axis=1)
        n_edges = np.where(is_twig, found.lengths, np.inf)
        if n_edges.min() >= fewest:
            return edges
        edges = edges[found.of_edge != n_edges.argmin()]


def of_placement(placement: Placement, is_root: np.ndarray) -> Answer:
    """Time from the node that the root's samples are nearest to; branches between forks and tips.

    Nearest: their mean rank among all samples, by distance along the tree, is the least. That
    serves the programs best: no other root puts the root's samples earlier.
    """
    matrix = length_matrix(placement.edges, placement.lengths, placement.n_nodes)
    from_nodes = dijkstra(matrix, directed=False)
    times = np.array([to_points(placement, row) for row in from_nodes])
    ranks = np.array([rankdata(time)[is_root].mean() for time in times])
    return on_tree(times[ranks.argmin()], placement)


def on_tree(time: np.ndarray, placement: Placement) -> Answer:
    """Samples on a tree: branches lie between forks and tips, and a root inside splits none."""
    branch = segments(placement.edges, placement.lengths, placement.n_nodes).of_edge
    tips = int((degrees(placement.edges, placement.n_nodes) == 1).sum())
    return Answer(time, branch[placement.edge], tips, placement)


def of_clusters(
    time: np.ndarray, cluster: np.ndarray, edges: np.ndarray, is_root: np.ndarray
) -> Answer:
    """Tips are the leaves of a tree of clusters, branches the paths between its forks.

    A cluster at a fork belongs to the branch that it is reached by, on the way from the cluster
    with the largest part of samples of the root's label.
    """
    n = int(cluster.max()) + 1
    degree = degrees(edges, n)
    graph = sparse.coo_array((np.ones(len(edges)), edges.T), shape=(n, n)).tocsr()
    share = np.bincount(cluster, is_root, n) / np.bincount(cluster, minlength=n)
    order, parent = breadth_first_order(graph, int(share.argmax()), directed=False)
    branch = np.arange(n)
    for k in order[1:]:
        if degree[parent[k]] <= 2:
            branch[k] = branch[parent[k]]
    return Answer(time, branch[cluster], max(int((degree <= 1).sum()), 2), None)


def medoid(X: np.ndarray, is_root: np.ndarray) -> int:
    """The row of the root's samples that is nearest to their mean: a root cell to tell."""
    rows = np.flatnonzero(is_root)
    return int(rows[np.linalg.norm(X[rows] - X[rows].mean(axis=0), axis=1).argmin()])


def rooted(fit: Callable[[np.ndarray, int], Placement]) -> Method:
    """A program that places samples on a tree, as a method."""

    @wraps(fit)
    def method(X: np.ndarray, is_root: np.ndarray, seed: int) -> Answer:
        return of_placement(fit(X, seed), is_root)

    return method


def components(X: np.ndarray, n_components: int, seed: int) -> np.ndarray:
    """At most so many principal components."""
    return PCA(min(n_components, *np.subtract(X.shape, 1)), random_state=seed).fit_transform(X)


def annotated(X: np.ndarray, seed: int):
    """The samples as scanpy wants them, with the 50 principal components that it takes itself."""
    import anndata

    data = anndata.AnnData(X.copy())
    data.obsm["X_pca"] = components(X, 50, seed)
    return data


# Programs


@rooted
def simpleppt(X: np.ndarray, seed: int) -> Placement:
    """A principal tree by simpleppt with its defaults, on 20 components."""
    return principal_tree(components(X, N_COMPONENTS, seed), seed)


@rooted
def simpleppt_diffusion(X: np.ndarray, seed: int) -> Placement:
    """A tree by simpleppt on Palantir's diffusion components, as in scFates' first tutorial."""
    from palantir.utils import determine_multiscale_space, run_diffusion_maps

    data = annotated(X, seed)
    run_diffusion_maps(data, seed=seed)
    determine_multiscale_space(data, n_eigs=4)
    Z = data.obsm["DM_EigenVectors_multiscaled"]
    return principal_tree(Z, seed, sigma=0.025, lam=100, nsteps=200)


def principal_tree(Z: np.ndarray, seed: int, **options: float) -> Placement:
    """The tree of simpleppt, without twigs of less than three nodes.

    simpleppt has no call that removes twigs; scFates, the pipeline it was taken out of, does so
    with at most three nodes by default.
    """
    import simpleppt as program

    program.settings.verbosity = 0
    n_nodes = min(N_NODES, len(Z) // 2)
    tree = program.ppt(Z, Nodes=n_nodes, seed=seed, progress=False, **options)
    edges = np.column_stack(sparse.triu(sparse.coo_array(tree.B), k=1).nonzero())
    return place(Z, tree.F.T, trimmed(edges, tree.F.shape[1]))


@rooted
def elpigraph(X: np.ndarray, seed: int) -> Placement:
    """An elastic principal tree with 50 nodes on 20 components.

    The penalty of branching and the collapse of small branches are its own remedies for twigs, with
    the values that STREAM, a pipeline built on it, takes; leaves are extended as there.
    """
    import elpigraph as program

    np.random.seed(seed)  # noqa: NPY002 (it draws from NumPy's global generator)
    Z = components(X, N_COMPONENTS, seed)
    tree = program.computeElasticPrincipalTree(
        Z, NumNodes=min(50, len(Z) // 2), alpha=0.02, FinalEnergy="Penalized", Do_PCA=False
    )[0]
    edges = np.asarray(tree["Edges"][0], dtype=int)
    # It cannot collapse what has no branches: version 0.3.4 ended with a ValueError on a path.
    if degrees(edges, len(tree["NodePositions"])).max() > 2:
        found = program.CollapseBranches(Z, tree, Mode="PointNumber", ControlPar=5)
        edges = [found["Edges"].astype(int), *tree["Edges"][1:]]
        tree = {**tree, "NodePositions": found["Nodes"], "Edges": edges}
    tree = program.ExtendLeaves(Z, tree, Mode="WeightedCentroid", ControlPar=1)
    return place(Z, np.asarray(tree["NodePositions"]), np.asarray(tree["Edges"][0], dtype=int))


@rooted
def ddrtree(X: np.ndarray, seed: int) -> Placement:
    """ddrtree-python with its defaults: two dimensions, and as many centres as Monocle 2 takes."""
    from ddrtree import DDRTree

    n = len(X)
    n_centers = round(200 * np.log(n) / (np.log(n) + np.log(100))) if n > 100 else n - 1
    np.random.seed(seed)  # noqa: NPY002
    # Its data are features × samples, and it does not centre them.
    found = DDRTree((X - X.mean(axis=0)).T, ncenter=n_centers)
    nodes = found.Y.T
    tree = sparse.coo_array(found.stree)
    edges = np.column_stack(sparse.triu(tree + tree.T, k=1).nonzero())
    return place(found.Z.T, nodes, trimmed(edges, len(nodes)))


def paga(X: np.ndarray, is_root: np.ndarray, seed: int) -> Answer:
    """Scanpy's defaults: Leiden clusters, the tree of PAGA, diffusion pseudotime from a cell."""
    import scanpy

    data = annotated(X, seed)
    scanpy.pp.neighbors(data, use_rep="X_pca", random_state=seed)
    scanpy.tl.diffmap(data, random_state=seed)
    scanpy.tl.leiden(data, flavor="igraph", n_iterations=2, random_state=seed)
    cluster = data.obs["leiden"].cat.codes.to_numpy().astype(np.intp)
    edges = np.empty((0, 2), dtype=np.intp)
    if cluster.max() > 0:
        scanpy.tl.paga(data, groups="leiden")
        edges = np.column_stack(data.uns["paga"]["connectivities_tree"].nonzero()).astype(np.intp)
    data.uns["iroot"] = medoid(data.obsm["X_pca"], is_root)
    scanpy.tl.dpt(data)
    time = data.obs["dpt_pseudotime"].to_numpy(dtype=float)
    return of_clusters(time, cluster, edges, is_root)


def palantir(X: np.ndarray, is_root: np.ndarray, seed: int) -> Answer:
    """Palantir as in its tutorial, told a cell to start from, with the fates that it finds itself.

    A tip for the start and one for each fate. A sample's branch is the set of fates that it is on
    the way to, by Palantir's own choice of the cells of each fate.
    """
    from palantir.core import run_palantir
    from palantir.presults import select_branch_cells
    from palantir.utils import determine_multiscale_space, run_diffusion_maps

    data = annotated(X, seed)
    run_diffusion_maps(data, n_components=5, seed=seed)
    determine_multiscale_space(data)
    start = data.obs_names[medoid(data.obsm["X_pca"], is_root)]
    run_palantir(data, start, num_waypoints=500, n_jobs=1, seed=seed)
    time = data.obs["palantir_pseudotime"].to_numpy(dtype=float)
    n_fates = data.obsm["palantir_fate_probabilities"].shape[1]
    branch = np.zeros(len(X), dtype=int)
    if n_fates:
        branch = select_branch_cells(data) @ (1 << np.arange(n_fates))
    return Answer(time, branch, 1 + max(n_fates, 1), None)


def slingshot(X: np.ndarray, is_root: np.ndarray, seed: int) -> Answer:
    """Slingshot (pyslingshot) on five components, with the clusters of its original's vignette.

    These are a Gaussian mixture, the number of its parts chosen by the Bayesian information
    criterion; the first cluster is that with the largest part of samples of the root's label. Where
    version 0.2.0 ends with an error, because several samples fall on the same end of a curve, it
    gets one component less, down to two.
    """
    for n_components in (5, 4, 3):
        with contextlib.suppress(ValueError):
            return curves(components(X, n_components, seed), is_root, seed)
    return curves(components(X, 2, seed), is_root, seed)


def curves(Z: np.ndarray, is_root: np.ndarray, seed: int) -> Answer:
    """Slingshot's curves through clusters."""
    from pyslingshot import Slingshot

    cluster = mixture(Z, seed)
    n = int(cluster.max()) + 1
    if n == 1:  # it wants two clusters at least
        order = Z[:, 0] if Z[is_root, 0].mean() < Z[:, 0].mean() else -Z[:, 0]
        return Answer(order, cluster, 2, None)
    share = np.bincount(cluster, is_root, n) / np.bincount(cluster, minlength=n)
    found = Slingshot(Z, np.eye(n)[cluster], start_node=int(share.argmax()))
    found.fit()
    edges = [(parent, child) for parent, children in found.tree.items() for child in children]
    return of_clusters(found.unified_pseudotime, cluster, np.array(edges), is_root)


def mixture(Z: np.ndarray, seed: int, most: int = 9) -> np.ndarray:
    """Parts of the best of the Gaussian mixtures with at most nine parts, numbered from 0."""
    from sklearn.mixture import GaussianMixture

    sizes = range(1, min(most, len(Z) // 10) + 1)
    fits = [GaussianMixture(n, random_state=seed).fit(Z) for n in sizes]
    best = min(fits, key=lambda fit: fit.bic(Z))
    return np.unique(best.predict(Z), return_inverse=True)[1]


@contextlib.contextmanager
def silence():
    """Without the programs' words and warnings."""
    with (
        open(os.devnull, "w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


class Program(NamedTuple):
    """A method, what the page calls it, and the distribution that it is of."""

    title: str
    distribution: str
    answer: Method
    again: Method | None = None  # a shorter way to the same answer, where no time is taken


RIVALS = {
    "simpleppt": Program("simpleppt", "simpleppt", simpleppt),
    "simpleppt-diffusion": Program("simpleppt, diffusion", "simpleppt", simpleppt_diffusion),
    "elpigraph": Program("elpigraph-python", "elpigraph-python", elpigraph),
    "paga": Program("PAGA + DPT", "scanpy", paga),
    "palantir": Program("Palantir", "palantir", palantir),
    "ddrtree": Program("ddrtree-python", "ddrtree-python", ddrtree),
    "slingshot": Program("Slingshot", "pyslingshot", slingshot),
}
