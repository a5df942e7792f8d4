"""DRTree and DDRTree with ``structure=``."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from branchwise import DDRTree, DRTree
from branchwise.graph import adjacency
from branchwise.structures import NAMES, FixedGraph, Forest, Graph

from ..conftest import branching

BOTH = [DRTree(), DDRTree(2, n_centers=None), DDRTree(2, n_centers=20, random_state=0)]


def noisy_ring(n_samples, *, noise=0.05, seed=0):
    """Simulated samples around a circle in five dimensions, in the order of their angles."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(n_samples) / n_samples
    plane = np.linalg.qr(rng.normal(size=(5, 2)))[0].T
    circle = np.column_stack([np.cos(angle), np.sin(angle)]) @ plane
    return circle + noise * rng.normal(size=(n_samples, 5))


def chain(n_nodes):
    return sparse.diags_array(np.ones(n_nodes - 1), offsets=1) + sparse.diags_array(
        np.ones(n_nodes - 1), offsets=-1
    )


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize("name", NAMES)
def test_objective_never_rises_and_new_samples_are_placed(estimator, name):
    X = load_iris().data
    model = clone(estimator).set_params(structure=name, max_iter=30, tol=0).fit(X)
    history = model.objective_history_
    assert (np.diff(history) <= 1e-10 * np.abs(history[:-1])).all()
    assert (model.tree_ != model.tree_.T).nnz == 0
    assert np.isfinite(model.transform(X[:9] + 0.01)).all()


def test_tree_is_the_default():
    X = branching(80, 6)
    for estimator in BOTH:
        model, named = clone(estimator).fit(X), clone(estimator).set_params(structure="tree").fit(X)
        np.testing.assert_array_equal(model.embedding_, named.embedding_)
        assert model.n_trees_ == 1


@pytest.mark.parametrize("estimator", [DRTree(structure="ring"), DDRTree(2, structure="ring")])
def test_a_ring_recovers_the_cyclic_order(estimator):
    X = noisy_ring(80, noise=0.01)
    model = estimator.fit(X)
    edges = sparse.triu(model.tree_).tocoo()
    step = np.minimum((edges.col - edges.row) % 80, (edges.row - edges.col) % 80)
    assert len(step) == 80
    assert np.sum(step == 1) >= 76


@pytest.mark.parametrize("estimator", [DRTree(), DDRTree(2, n_centers=30, random_state=0)])
def test_rings_and_curves_have_no_branches(estimator):
    X = branching(80, 6)
    ring = clone(estimator).set_params(structure="ring").fit(X).tree_
    assert (ring.sum(axis=0) == 2).all()
    curve = clone(estimator).set_params(structure="curve").fit(X).tree_
    assert sorted(curve.sum(axis=0))[:3] == [1, 1, 2]
    assert curve.sum(axis=0).max() == 2


@pytest.mark.parametrize("estimator", [DRTree(), DDRTree(2, random_state=0)])
def test_a_forest_keeps_groups_apart(estimator):
    corners = 12 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]])
    X, group = make_blobs(150, centers=corners, random_state=0)
    model = clone(estimator).set_params(structure="forest").fit(X)
    assert model.n_trees_ == 3
    part = connected_components(model.tree_, directed=False)[1][model.labels_]
    assert adjusted_rand_score(part, group) == 1.0
    two = clone(estimator).set_params(structure=Forest(2)).fit(X)
    assert two.n_trees_ == 2


@pytest.mark.parametrize("estimator", [DRTree(), DDRTree(2, random_state=0)])
def test_a_graph_closes_the_ring_and_leaves_trees_alone(estimator):
    estimator = clone(estimator).set_params(structure="graph")
    tree = estimator.fit(noisy_ring(120)).tree_
    assert tree.nnz // 2 == tree.shape[0]  # one cycle
    tree = estimator.fit(branching(120, 6, noise=0.1)).tree_
    assert tree.nnz // 2 == tree.shape[0] - 1  # none


@pytest.mark.parametrize("estimator", [DRTree(), DDRTree(2, n_centers=None)])
@pytest.mark.parametrize("container", [np.array, sparse.csr_array, FixedGraph])
def test_fixed_graph_joins_the_samples_that_it_names(estimator, container, rng):
    X = branching(40, 5)
    S = 2.0 * chain(40).toarray()
    model = clone(estimator).set_params(structure=container(S)).fit(X)
    np.testing.assert_array_equal(model.tree_.toarray(), S)
    order = rng.permutation(40)
    other = clone(estimator).set_params(structure=container(S[np.ix_(order, order)])).fit(X[order])
    np.testing.assert_array_equal(other.embedding_, model.embedding_[order])
    # Nodes that follow each other in the chain are near each other.
    apart = np.linalg.norm(np.diff(model.centers_, axis=0), axis=1).mean()
    free = np.linalg.norm(np.diff(PCA(2).fit_transform(X), axis=0), axis=1).mean()
    assert apart < 0.5 * free


def test_automatic_number_of_centres_is_that_of_the_fixed_graph():
    X = branching(150, 5)
    model = DDRTree(structure=chain(150)).fit(X)
    assert model.centers_.shape == (150, 5)


def test_node_of_a_fixed_graph_is_the_row_of_init():
    X = branching(100, 5)
    init = np.array([[2.0, 0.0], [0.0, 0.0], [-2.0, 0.0]])
    model = DDRTree(init=init, structure=chain(3), max_iter=3, tol=0).fit(X)
    np.testing.assert_array_equal(model.tree_.toarray(), chain(3).toarray())


def test_own_structure_is_prepared_once_and_then_asked():
    calls = []

    class Pairs:
        """Each node and the next one."""

        def __init__(self, n_nodes=None):
            self.n_nodes = n_nodes

        def prepare(self, points):
            calls.append("prepare")
            return Pairs(len(points))

        def best_graph(self, points):
            calls.append("best_graph")
            edges = np.arange(self.n_nodes // 2 * 2).reshape(-1, 2)
            return Graph.unweighted(edges)

    model = DRTree(structure=Pairs(), max_iter=3, tol=0).fit(branching(41, 5))
    assert calls == ["prepare", "best_graph", "best_graph", "best_graph"]
    assert model.n_trees_ == 21
    np.testing.assert_array_equal(
        np.column_stack(sparse.triu(model.tree_).nonzero()), np.arange(40).reshape(-1, 2)
    )


# Bad input


@pytest.mark.parametrize("estimator", [DRTree(), DDRTree(2)])
@pytest.mark.parametrize("value", ["circle", None, 3, object()])
def test_structure_of_another_kind_is_refused(estimator, value):
    name = type(estimator).__name__
    message = rf"The 'structure' parameter of {name} must be a str among .*'ring'.*'best_graph'"
    with pytest.raises(ValueError, match=message):
        clone(estimator).set_params(structure=value).fit(branching(20, 3))


def test_fixed_graph_of_another_size_is_refused():
    X = branching(20, 3)
    with pytest.raises(ValueError, match=r"structure's graph has shape \(5, 5\) but must have sha"):
        DRTree(structure=chain(5)).fit(X)
    message = r"structure's graph has 5 nodes but n_centers=6 asks for 6; they must agree: pass a"
    with pytest.raises(ValueError, match=message):
        DDRTree(n_centers=6, structure=chain(5)).fit(X)
    with pytest.raises(ValueError, match=r"5 nodes but n_centers=None asks for 20; they must agr"):
        DDRTree(n_centers=None, structure=chain(5)).fit(X)
    message = r"5 nodes and there are n_samples=20: .* known; give init, whose row k is node k\."
    for n_centers in ("auto", 5):
        with pytest.raises(ValueError, match=message):
            DDRTree(n_centers=n_centers, structure=chain(5)).fit(X)
    with pytest.raises(ValueError, match=r"structure's graph has shape \(5, 5\) but must have sha"):
        DDRTree(init=np.zeros((4, 2)), structure=chain(5)).fit(X)


def test_fixed_graph_that_is_none_is_refused():
    X = branching(20, 3)
    for estimator in (DRTree(), DDRTree(2)):
        with pytest.raises(ValueError, match=r"structure's graph is not symmetric but must be"):
            estimator.set_params(structure=np.triu(np.ones((20, 20)))).fit(X)
        with pytest.raises(ValueError, match=r"structure's graph has shape \(3, 4\) but must have"):
            estimator.set_params(structure=np.ones((3, 4))).fit(X)


def test_more_trees_than_nodes_are_refused():
    with pytest.raises(ValueError, match=r"n_trees=30 must be an integer from 1 to .* nodes, 20"):
        DRTree(structure=Forest(30)).fit(branching(20, 3))


CHAIN = np.column_stack([np.arange(19), np.arange(1, 20)])


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (Graph(CHAIN, np.full(19, -1.0)), "has an edge of weight -1.0 but weights must be finite"),
        (Graph(CHAIN, np.full(19, np.nan)), "has an edge of weight nan but weights must be finite"),
        (Graph(CHAIN + 1, np.ones(19)), r"has the edge \(19, 20\) but edges must be distinct"),
        (Graph(CHAIN // 2, np.ones(19)), r"has the edge \(0, 0\) but edges must be distinct"),
        (Graph(CHAIN - 1, np.ones(19)), r"has the edge \(-1, 0\) but edges must be distinct"),
        # Twice the weight in one sum, and once in another: the objective would be wrong.
        (Graph.unweighted(np.vstack([CHAIN, CHAIN])), r"has the edge \(0, 1\) but edges must be d"),
        (Graph(CHAIN, np.ones(3)), r"edges of shape \(19, 2\) and type int64 for 3 weights"),
        (Graph(CHAIN + 0.5, np.ones(19)), "and type float64 for 19 weights but must have integers"),
        (Graph(CHAIN, np.ones(19), np.nan), "has penalty nan but it must be finite; give 0 for no"),
        (sparse.csr_array(1j * np.eye(20)), "type complex128 but must be a square matrix of numbe"),
    ],
)
@pytest.mark.parametrize("estimator", [DRTree(), DDRTree(2)])
def test_own_structure_must_return_a_graph(estimator, graph, message):
    class Own:
        def best_graph(self, points):
            return graph

    with pytest.raises(ValueError, match=rf"best_graph's graph .*{message}"):
        estimator.set_params(structure=Own()).fit(branching(20, 3))


def test_edges_of_an_own_structure_may_be_lists_in_either_direction():
    class Own:
        def best_graph(self, points):
            return Graph(CHAIN[:, ::-1].tolist(), [2] * 19)

    X = branching(20, 3)
    given = DRTree(structure=Own()).fit(X)
    np.testing.assert_array_equal(given.tree_.toarray(), 2 * chain(20).toarray())


def test_structure_that_is_a_class_is_refused():
    with pytest.raises(TypeError, match=r"structure=Forest is a class but must be .* Forest\(\)\."):
        DRTree(structure=Forest).fit(branching(20, 3))


def test_unconnected_rings_keep_their_places_at_large_weights(rng):
    """Only their samples hold them; their pull must not be lost beside that of the edges."""
    X = rng.normal(size=(120, 4))
    X[60:, 0] += 6
    ring = np.column_stack([np.arange(10), np.roll(np.arange(10), -1)])
    S = adjacency(np.vstack([ring, ring + 10]), 20)
    init = 0.5 * rng.normal(size=(20, 2)) + np.repeat([[-3, 0], [3, 0]], 10, axis=0)
    options = {"structure": S, "init": init, "sigma": 1.0, "max_iter": 3, "tol": 0}
    far, farther = (DDRTree(2, lam=lam, **options).fit(X).objective_ for lam in (1e9, 1e11))
    assert farther == pytest.approx(far, rel=1e-9)
