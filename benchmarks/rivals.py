"""The rivals of the trajectories' benchmark: points to the places on the graph that each learns.

Every rival is a function of the points and a seed, and knows nothing of the truth. Its settings are
those that its documentation or its usual pipeline recommends; where these leave a choice, there are
several settings, and the page shows all of them. Rivals are imported where they are run, so
that the rest can be tested without them.
"""

import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA

from branchwise.graph.nearest_edge import nearest_on_edges
from branchwise.graph.placement import Placement, degrees, segments

Fit = Callable[[np.ndarray, int], Placement]

# Principal components for methods that do not say how many they want.
N_COMPONENTS = 20


def place(points: np.ndarray, nodes: np.ndarray, edges: np.ndarray) -> Placement:
    """Each point at the nearest place of an edge; nodes without edges are left out."""
    used, edges = np.unique(edges, return_inverse=True)
    nodes, edges = nodes[used], edges.reshape(-1, 2)
    lengths = np.linalg.norm(nodes[edges[:, 1]] - nodes[edges[:, 0]], axis=1)
    edge, position, _ = nearest_on_edges(points, nodes, edges)
    return Placement(len(nodes), edges, lengths, edge, position)


def trimmed(edges: np.ndarray, n_nodes: int, fewest: int) -> np.ndarray:
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


def simpleppt(
    X: np.ndarray,
    random_state: int,
    *,
    n_nodes: int = 200,
    sigma: float = 0.1,
    lam: float = 1.0,
    n_components: int = N_COMPONENTS,
    n_steps: int = 50,
    fewest: int = 3,
) -> Placement:
    """A principal tree by simpleppt, without its short twigs.

    simpleppt has no call that removes twigs; scFates, the pipeline it was taken out of, does so
    with at most three nodes by default.
    """
    import simpleppt as program

    program.settings.verbosity = 0
    Z = PCA(n_components, random_state=random_state).fit_transform(X)
    tree = program.ppt(
        Z, Nodes=n_nodes, sigma=sigma, lam=lam, nsteps=n_steps, seed=random_state, progress=False
    )
    nodes = tree.F.T
    edges = np.column_stack(sparse.triu(sparse.coo_array(tree.B), k=1).nonzero())
    return place(Z, nodes, trimmed(edges, len(nodes), fewest))


def elpigraph(
    X: np.ndarray,
    random_state: int,
    *,
    n_components: int | None = None,
    n_nodes: int = 50,
    alpha: float = 0.0,
    collapse: bool = False,
    extend: bool = False,
) -> Placement:
    """An elastic principal tree by elpigraph-python; its small branches collapsed if wanted."""
    import elpigraph as program

    # It draws from NumPy's global generator.
    np.random.seed(random_state)  # noqa: NPY002
    Z = PCA(n_components, random_state=random_state).fit_transform(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = program.computeElasticPrincipalTree(
            Z, NumNodes=n_nodes, alpha=alpha, FinalEnergy="Penalized", Do_PCA=False
        )[0]
        # It cannot collapse what has no branches: version 0.3.4 ended with a ValueError on a path.
        if collapse and degrees(np.asarray(tree["Edges"][0], dtype=int), n_nodes).max() > 2:
            found = program.CollapseBranches(Z, tree, Mode="PointNumber", ControlPar=5)
            tree = {
                **tree,
                "NodePositions": found["Nodes"],
                "Edges": [found["Edges"].astype(int), *tree["Edges"][1:]],
            }
        if extend:
            tree = program.ExtendLeaves(Z, tree, Mode="WeightedCentroid", ControlPar=1)
    nodes, edges = np.asarray(tree["NodePositions"]), np.asarray(tree["Edges"][0], dtype=int)
    return place(Z, nodes, edges)


def paga(
    X: np.ndarray,
    random_state: int,
    *,
    n_neighbors: int = 15,
    n_pcs: int = 50,
    denoised: bool = False,
    resolution: float = 1.0,
    by: str = "pseudotime",
) -> Placement:
    """The tree of PAGA's clusters by scanpy; points on it by diffusion pseudotime or projection.

    Denoised: neighbours are searched a second time, in the diffusion map of the first.
    """
    import anndata
    import scanpy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = anndata.AnnData(X)
        n_pcs = min(n_pcs, X.shape[1] - 1)
        scanpy.pp.pca(data, n_comps=n_pcs, random_state=random_state)
        scanpy.pp.neighbors(data, n_neighbors, n_pcs, random_state=random_state)
        scanpy.tl.diffmap(data, random_state=random_state)
        if denoised:
            scanpy.pp.neighbors(data, 10, use_rep="X_diffmap", random_state=random_state)
            scanpy.tl.diffmap(data, random_state=random_state)
        scanpy.tl.leiden(
            data, resolution, flavor="igraph", n_iterations=2, random_state=random_state
        )
        scanpy.tl.paga(data, groups="leiden")
        # Pseudotime needs a first cell: an end of the first diffusion component.
        data.uns["iroot"] = int(data.obsm["X_diffmap"][:, 1].argmin())
        scanpy.tl.dpt(data)
    cluster = data.obs["leiden"].cat.codes.to_numpy().astype(np.intp)
    edges = np.column_stack(data.uns["paga"]["connectivities_tree"].nonzero()).astype(np.intp)
    if by == "projection":
        return between_centres(data.obsm["X_pca"], cluster, edges)
    time = data.obs["dpt_pseudotime"].to_numpy(dtype=float)
    # What pseudotime cannot reach comes last.
    time = np.where(np.isfinite(time), time, time[np.isfinite(time)].max())
    return clusters_as_branches(time, cluster, edges, int(cluster[data.uns["iroot"]]))


def between_centres(points: np.ndarray, cluster: np.ndarray, edges: np.ndarray) -> Placement:
    """Clusters are nodes at their means; a point lies on an edge that its cluster is an end of."""
    n_clusters = int(cluster.max()) + 1
    nodes = np.array([points[cluster == k].mean(axis=0) for k in range(n_clusters)])
    # A cluster without neighbours has a loop to lie on.
    alone = np.setdiff1d(np.arange(n_clusters), edges)
    edges = np.vstack([edges, np.column_stack([alone, alone])])
    lengths = np.linalg.norm(nodes[edges[:, 1]] - nodes[edges[:, 0]], axis=1)
    edge, position = np.empty(len(points), dtype=np.intp), np.empty(len(points))
    for k in range(n_clusters):
        own = np.flatnonzero((edges == k).any(axis=1))
        found, position[cluster == k], _ = nearest_on_edges(points[cluster == k], nodes, edges[own])
        edge[cluster == k] = own[found]
    return Placement(n_clusters, edges, lengths, edge, position)


def clusters_as_branches(
    time: np.ndarray, cluster: np.ndarray, edges: np.ndarray, root: int
) -> Placement:
    """Clusters are edges as long as their range of pseudotime, each after its parent in the tree.

    Node k is the later end of cluster k; the last node is the start of the root's cluster.
    """
    n_clusters = int(cluster.max()) + 1
    graph = sparse.coo_array((np.ones(len(edges)), edges.T), shape=(n_clusters,) * 2)
    _, parent = sparse.csgraph.breadth_first_order(graph.tocsr(), root, directed=False)
    before = np.where(parent >= 0, parent, n_clusters)
    branches = np.column_stack([before, np.arange(n_clusters)])
    first = np.array([time[cluster == k].min() for k in range(n_clusters)])
    lengths = np.array([time[cluster == k].max() for k in range(n_clusters)]) - first
    position = (time - first[cluster]) / np.where(lengths > 0, lengths, 1.0)[cluster]
    return Placement(n_clusters + 1, branches, lengths, cluster, np.clip(position, 0.0, 1.0))


RIVALS: dict[str, dict[str, Fit]] = {
    # scFates' documentation asks for 100 to 2,000 nodes, and its tutorials take 200.
    "simpleppt": {
        "defaults, 200 nodes": simpleppt,
        "200 nodes, λ = 10": partial(simpleppt, lam=10.0, n_steps=200),
        "200 nodes, λ = 100": partial(simpleppt, lam=100.0, n_steps=200),
        "30 nodes, λ = 10": partial(simpleppt, n_nodes=30, lam=10.0),  # of its README
    },
    # The penalty of branching α and the collapse of small branches are its own remedies for twigs,
    # with the values that STREAM, a pipeline built on it, takes.
    "elpigraph-python": {
        "defaults, 50 nodes": elpigraph,
        "50 nodes, 20 components, α = 0.02, collapsed": partial(
            elpigraph, n_components=N_COMPONENTS, alpha=0.02, collapse=True
        ),
        "50 nodes, 20 components, α = 0.02, collapsed, extended": partial(
            elpigraph, n_components=N_COMPONENTS, alpha=0.02, collapse=True, extend=True
        ),
    },
    # Denoised as in scanpy's tutorial on PAGA, with its numbers of neighbours and components.
    "scanpy": {
        "defaults, pseudotime": paga,
        "defaults, projection": partial(paga, by="projection"),
        "resolution 2, projection": partial(paga, resolution=2.0, by="projection"),
        "30 neighbours, projection": partial(paga, n_neighbors=30, by="projection"),
        "denoised, pseudotime": partial(paga, n_neighbors=4, n_pcs=20, denoised=True),
        "denoised, projection": partial(
            paga, n_neighbors=4, n_pcs=20, denoised=True, by="projection"
        ),
    },
}
