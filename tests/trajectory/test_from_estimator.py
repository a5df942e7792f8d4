"""Trajectories of fitted estimators, of every kind of structure, and the preset."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.spatial.distance import cdist

from branchwise import SPL, DDRTree, DRTree
from branchwise.datasets import make_tree
from branchwise.structures import Curve, Forest, Ring, SparseGraph
from branchwise.trajectory import Trajectory, learn_trajectory

from ..conftest import branching
from ..graph.test_nearest_edge import all_edges
from .drawn import slow_times

# Simulated points on three branches.
X = branching(90, 5, noise=0.1)


def ring(n_nodes):
    S = np.roll(np.eye(n_nodes), 1, axis=1)
    return S + S.T


def circle(n_samples):
    """Simulated points around a circle, in order."""
    angle = np.linspace(0, 2 * np.pi, n_samples, endpoint=False)
    noise = np.random.default_rng(0).normal(scale=0.02, size=(n_samples, 3))
    return np.column_stack([np.cos(angle), np.sin(angle), np.zeros(n_samples)]) + noise


MODELS = {
    "ddrtree": DDRTree(2, random_state=0),
    "ddrtree hard": DDRTree(2, random_state=0, assignment="hard"),
    "ddrtree all components": DDRTree(n_components=None, random_state=0),
    "ddrtree share of variance": DDRTree(n_components=0.8, random_state=0),
    "ddrtree one component": DDRTree(n_components=1, random_state=0),
    "ddrtree two centres": DDRTree(2, n_centers=2, random_state=0),
    "ddrtree one centre": DDRTree(2, n_centers=1, random_state=0),
    "ddrtree all centres": DDRTree(2, n_centers=None, random_state=0),
    "ddrtree forest": DDRTree(structure=Forest(3), n_centers=30, random_state=0),
    "ddrtree ring": DDRTree(structure=Ring(), n_centers=20, random_state=0),
    "ddrtree curve": DDRTree(structure=Curve(), n_centers=20, random_state=0),
    "ddrtree graph": DDRTree(structure=SparseGraph(), n_centers=20, random_state=0),
    "ddrtree fixed": DDRTree(structure=ring(90), random_state=0),
    "ddrtree sparse fixed": DDRTree(structure=sparse.csr_array(ring(90)), random_state=0),
    "ddrtree kernel": DDRTree(2, kernel="rbf", n_centers=20, random_state=0),
    "drtree": DRTree(random_state=0),
    "drtree all components": DRTree(n_components=None, random_state=0),
    "drtree curve": DRTree(structure="curve", random_state=0),
    "spl": SPL(random_state=0),
    "spl all components": SPL(n_components=None, random_state=0),
}


@pytest.fixture(scope="module", params=list(MODELS))
def model(request):
    return MODELS[request.param].fit(X)


def test_any_estimator_has_a_trajectory(model):
    found = Trajectory.from_estimator(model)
    assert found.estimator_ is model
    points = model.project(X)
    nodes = model.skeleton_ if isinstance(model, SPL) else model.centers_
    np.testing.assert_array_equal(found.nodes_, nodes)
    np.testing.assert_allclose(
        found.distance_, all_edges(points, nodes, found.edges_).min(axis=1), atol=1e-9
    )
    np.testing.assert_allclose(found.pseudotime_, slow_times(found), atol=1e-9)
    np.testing.assert_allclose(found.branch_probabilities().sum(axis=1), 1)
    assert found.branch_table_["n_samples"].sum() == len(X)
    pruned = found.prune(min_samples=5)
    np.testing.assert_allclose(pruned.pseudotime_, slow_times(pruned), atol=1e-9)


def test_the_graph_is_that_of_the_model(model):
    found = Trajectory.from_estimator(model)
    edges = found.edges_[found.edges_[:, 0] != found.edges_[:, 1]]
    if isinstance(model, SPL):
        graph = nx.from_scipy_sparse_array(model.graph_)
        assert nx.number_connected_components(graph) == len(found.roots_)
        for a, b in edges.tolist():
            graph.edges[a, b]["mine"] = True
        skeleton = nx.Graph(edge for *edge, mine in graph.edges(data="mine") if mine)
        assert nx.is_forest(skeleton)
    else:
        S = np.zeros(model.tree_.shape, dtype=bool)
        S[edges[:, 0], edges[:, 1]] = S[edges[:, 1], edges[:, 0]] = True
        np.testing.assert_array_equal(S, (model.tree_ != 0).toarray())


def test_the_projection_is_placed_where_the_samples_are(model):
    found = Trajectory.from_estimator(model)
    places = found.project(model.projection_)
    np.testing.assert_array_equal(places["pseudotime"], found.pseudotime_)
    np.testing.assert_array_equal(places["branch"], found.branches_)
    np.testing.assert_array_equal(places["distance"], found.distance_)
    some = Trajectory.from_estimator(model, points=model.projection_[10:20])
    np.testing.assert_array_equal(some.pseudotime_, found.pseudotime_[10:20])


def test_new_samples_are_placed(model):
    found = Trajectory.from_estimator(model)
    places = found.place(X[:7])
    expected = found.project(model.project(X[:7]))
    for name in ("branch", "pseudotime", "distance"):
        np.testing.assert_array_equal(places[name], expected[name])
    np.testing.assert_array_equal(places["position"], expected["branch_position"])
    assert places["branch"].isin(found.branch_table_.index).all()


def where(path, places):
    """The places on the graph as points."""
    start, end = path.nodes_[path.edges_[places["edge"]].T]
    return start + places["position"].to_numpy()[:, None] * (end - start)


def has_two_places(path, point):
    """Whether places far from one another are as near to a point as any."""
    a, b = path.nodes_[path.edges_.T]
    length = np.maximum(((b - a) ** 2).sum(axis=1), 1e-300)
    feet = a + np.clip(((point - a) * (b - a)).sum(axis=1) / length, 0, 1)[:, None] * (b - a)
    distance = np.linalg.norm(feet - point, axis=1)
    nearest = feet[distance < distance.min() + 1e-7]
    return np.ptp(nearest, axis=0).max() > 1e-3


# Likert scales, counts and rounded numbers: many ties.
TABLES = st.one_of(
    arrays(np.float64, (25, 4), elements=st.integers(1, 5).map(float)),
    arrays(np.float64, (25, 3), elements=st.integers(0, 30).map(lambda k: k / 10)),
    arrays(np.float64, (25, 2), elements=st.integers(0, 1).map(float)),
)


@settings(max_examples=40, deadline=None)
@given(
    table=TABLES,
    estimator=st.sampled_from(
        [
            DDRTree(2, n_centers=10, max_iter=10),
            DRTree(max_iter=10),
            SPL(n_neighbors=5, max_iter=10),
        ]
    ),
    signs=arrays(np.float64, (25, 1), elements=st.sampled_from([-1.0, 1.0])),
)
@pytest.mark.filterwarnings("ignore")  # few iterations, few different rows
def test_samples_that_hardly_differ_have_the_same_place(table, estimator, signs):
    """Old or new; but for those that are equally near to two places of the graph."""
    model = estimator.set_params(random_state=0).fit(table)
    found = Trajectory.from_estimator(model)
    same, near = found.place(table), found.place(table + 1e-9 * signs)
    np.testing.assert_array_equal(same["pseudotime"], found.pseudotime_)
    np.testing.assert_array_equal(same["branch"], found.branches_)
    same, near = (found.project(model.project(rows)) for rows in (table, table + 1e-9 * signs))
    moved = np.linalg.norm(where(found, near) - where(found, same), axis=1)
    for point in found.view.points[moved >= 1e-6]:
        assert has_two_places(found, point)
    np.testing.assert_allclose(near["distance"], same["distance"], atol=1e-8)


def test_probabilities_are_those_of_the_assignments():
    soft, hard = MODELS["ddrtree"].fit(X), MODELS["ddrtree hard"].fit(X)
    found = Trajectory.from_estimator(soft)
    weights = np.exp(-cdist(soft.projection_, soft.centers_, "sqeuclidean") / soft.sigma_)
    weights /= weights.sum(axis=1, keepdims=True)
    # The first branch: from T1 to the first node that has other than two neighbours.
    way = [found.milestones_.loc["T1", "node"]]
    while len(way) == 1 or np.sum(found.edges_ == way[-1]) == 2:
        near = found.edges_[(found.edges_ == way[-1]).any(axis=1)].ravel()
        way.append(next(node for node in near if node not in way))
    degree = np.sum(found.edges_ == way[-1])
    expected = weights[:, way[:-1]].sum(axis=1) + weights[:, way[-1]] / degree
    first = found.branch_table_.index[0]
    np.testing.assert_allclose(found.branch_probabilities()[first], expected, atol=1e-12)
    certain = Trajectory.from_estimator(hard).branch_probabilities()
    assert set(np.unique(certain)) == {0.0, 1.0}


def test_a_forest_has_a_root_in_each_tree():
    found = Trajectory.from_estimator(MODELS["ddrtree forest"].fit(X))
    assert len(found.roots_) == 3
    assert found.milestones_["part"].nunique() == 3
    rooted = found.rooted(sample=5)
    assert len(rooted.roots_) == 3
    assert rooted.pseudotime_[5] == 0


def test_a_curve_is_one_branch_and_a_ring_comes_back():
    curve = Trajectory.from_estimator(MODELS["ddrtree curve"].fit(X))
    assert curve.branch_table_.index.tolist() == ["T1-T2"]
    around = Trajectory.from_estimator(DDRTree(2, structure="ring", random_state=0).fit(circle(60)))
    assert around.branch_table_.index.tolist() == ["R1-R1"]
    order = np.argsort(around.rooted(sample=0).pseudotime_)
    assert set(order[:5]) <= {0, 1, 2, 3, 57, 58, 59}
    assert 27 <= order[-1] <= 33


@pytest.mark.parametrize("structure", ["ring", Ring(), ring(60), "graph", "tree"])
def test_a_structure_for_spl(structure):
    model = SPL(n_neighbors=5, random_state=0).fit(circle(60))
    found = Trajectory.from_estimator(model, structure=structure)
    kind = structure if isinstance(structure, str) else "ring"
    assert kind != "ring" or found.branch_table_.index.tolist() == ["R1-R1"]
    assert kind != "tree" or len(found.edges_) == 59
    np.testing.assert_allclose(found.pseudotime_, slow_times(found), atol=1e-9)


@pytest.mark.parametrize("estimator", [SPL, DRTree, DDRTree])
def test_a_precomputed_kernel(estimator):
    K = X @ X.T
    model = estimator(kernel="precomputed", random_state=0).fit(K)
    found = Trajectory.from_estimator(model)
    np.testing.assert_allclose(found.pseudotime_, slow_times(found), atol=1e-9)
    expected = found.project(model.project(K[:4]))
    assert found.place(K[:4])["pseudotime"].equals(expected["pseudotime"])


@pytest.mark.parametrize("estimator", [SPL, DRTree, DDRTree])
def test_single_precision(estimator):
    model = estimator(random_state=0).fit(X.astype(np.float32))
    found = Trajectory.from_estimator(model)
    assert found.pseudotime_.dtype == np.float64
    np.testing.assert_allclose(found.pseudotime_, slow_times(found), atol=1e-9)
    np.testing.assert_array_equal(found.project(model.projection_)["branch"], found.branches_)


@pytest.mark.parametrize("estimator", [DRTree, DDRTree])
def test_equal_samples(estimator):
    model = estimator(random_state=0).fit(np.repeat(X[:10], 5, axis=0))
    found = Trajectory.from_estimator(model)
    np.testing.assert_allclose(np.ptp(found.pseudotime_.reshape(10, 5), axis=1), 0, atol=1e-6)
    np.testing.assert_allclose(found.pseudotime_, slow_times(found), atol=1e-9)


def test_lengths_are_in_units_of_the_data():
    one = Trajectory.from_estimator(DDRTree(2, random_state=0).fit(X))
    larger = Trajectory.from_estimator(DDRTree(2, random_state=0).fit(4.0 * X))
    np.testing.assert_allclose(larger.pseudotime_, 4 * one.pseudotime_, rtol=1e-6)


def test_learning_takes_any_table_and_seeds_change_the_resamples_alone():
    pandas = pytest.importorskip("pandas")
    data = make_tree(150, 8, topology="bifurcation", noise=0.1, random_state=0).X  # simulated
    names = [f"cell {k}" for k in range(150)]
    table = pandas.DataFrame(data, index=names, columns=[f"gene {k}" for k in range(8)])
    found = learn_trajectory(data, support=0)
    for same in (
        learn_trajectory(data, support=0),
        learn_trajectory(data.tolist(), support=0),
        learn_trajectory(table, support=0),
        learn_trajectory(data, support=2, random_state=1, n_jobs=2),
        learn_trajectory(data, support=2, random_state=np.random.RandomState(0)),
        learn_trajectory(data, n_components=8, support=0),
    ):
        np.testing.assert_array_equal(same.pseudotime_, found.pseudotime_)
        np.testing.assert_array_equal(same.branches_, found.branches_)
    assert learn_trajectory(table, support=0).samples_.index.tolist() == names
    given = learn_trajectory(table, names=range(150, 300), support=0)
    assert given.samples_.index.tolist() == list(range(150, 300))
    thin = learn_trajectory(sparse.csr_array(data), support=0)
    np.testing.assert_allclose(thin.pseudotime_, found.pseudotime_, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", [(2, 5), (3, 5), (4, 1), (30, 1)])
def test_learning_takes_few_samples_and_few_features(shape):
    data = np.random.default_rng(0).normal(size=shape)
    found = learn_trajectory(data, support=0)
    n_samples, n_features = shape
    assert found.nodes_.shape[1] == min(n_samples - 1, n_features)
    np.testing.assert_allclose(found.pseudotime_, slow_times(found), atol=1e-9)
